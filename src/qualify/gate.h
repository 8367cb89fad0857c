// gate.h: the predicate behind every capability: what the records say of one clause of a profile, here and now. Pure: nothing is read, run or asked.
#ifndef MLXCEL_QUALIFY_GATE_H_
#define MLXCEL_QUALIFY_GATE_H_

#include "qualify/identity.h"

typedef enum mlxcel_gate_state_e { MLXCEL_GATE_CLOSED, MLXCEL_GATE_STALE, MLXCEL_GATE_OPEN } mlxcel_gate_state_t;
const char* mlxcel_gate_state_name(mlxcel_gate_state_t state);  // "closed", "stale", "open"

typedef struct mlxcel_gate_verdict_t {
  mlxcel_gate_state_t state;
  char claim[96];         // the best that valid records hold, "none" without
  char reason[160];       // why not open; "" if open
  bool is_inferred;       // the claim is of another clause: pinned-f32, where another storage, or another operation of the same kernel, was run
  bool compiler_differs;  // stale, and the compiler is what differs
} mlxcel_gate_verdict_t;

// |clause| as the present build emits it (with its source digest). pinned-f32: a record of the clause, or of the clause with another storage of the same kind
// (qualify/pinned_clause.h), whose source digest, device, contract version and reference are the present ones, with canonical-decomposition; the self-check is
// the caller's. Other profiles: a record of this very clause, all of whose identities are the present ones, this machine among them, with
// production-mlx@<the profile's reference>. Either way of MLXCEL_EVIDENCE_REPEATS_MIN calls and at least one output. A record of the very clause and of all
// that is here, with claim none, closes: the last run found mismatches. Stale: there are records, none valid; the reason is what differs in the one that comes
// nearest. Closed whatever the records say: clauses that can't be represented, profiles that are declared only or have no production reference, and claims
// against an MLX back end of another kind than the device.
iree_status_t mlxcel_gate_judge(const mlxcel_profile_t* profile, const mlxcel_clause_t* clause, const mlxcel_identity_t* identity,
                                const mlxcel_evidence_list_t* evidence, mlxcel_gate_verdict_t* out_verdict);

#endif  // MLXCEL_QUALIFY_GATE_H_
