// capability.h: what this build may run: predicates computed from evidence only, closed by default (C10).
//
// pinned-f32 is open on a device if every clause of the contract has a built-in record of this build's kernel sources, and the self-check (each kernel that the
// contract names against its scalar reference, on the formats it names) passes in this process. A record is of the clause itself, or inferred: of the clause
// with another storage of the same kind, everything else of it being equal. Two clauses are always inferred, since the kernels do them in passing and no oracle
// runs them alone: residual-add (a flag of mlxcel_pinned_matmul) and the quantized matmuls of mlxcel_pinned_qkv_rope. They stand on the records of their
// kernel, but only if they are word for word the op table's clause; the self-check runs the flag and the storage. A record of this machine that disproves a
// clause closes it. Any other profile is open if every clause of the contract has a record with the claim that the profile needs (production-mlx@<its
// reference>), made by the present compiler, emitter, kernel objects, runtime and reference, on this machine, device and level.
#ifndef MLXCEL_QUALIFY_CAPABILITY_H_
#define MLXCEL_QUALIFY_CAPABILITY_H_

#include "qualify/evidence.h"

typedef struct mlxcel_capability_request_t {
  iree_string_view_t contract_text;  // of the module that is to run
  const char* device;                // "local-task"
  const char* cpu_level;             // "v3"
  const char* compiler_digest;       // hex: of the compiler that made the module
  const char* evidence_folder;       // NULL = the default one
} mlxcel_capability_request_t;

// OK: may run. INTERNAL: the self-check failed. FAILED_PRECONDITION: closed; the message names the first clause without evidence (op, variant, dtypes), how
// many lack it, why (missing or stale: which identity differs) and the command that makes it.
iree_status_t mlxcel_capability_check(const mlxcel_capability_request_t* request);

// profile pinned-f32 only: each kernel named by |contract_text| against its scalar reference, under 50 ms. INTERNAL names kernel, format, first differing
// element. NULL or "" is the best level of this processor.
iree_status_t mlxcel_self_check_run(iree_string_view_t contract_text, const char* cpu_level);

// One row of `mlxcel capabilities`.
typedef struct mlxcel_capability_t {
  char profile[48], op[40], variant[40], source_dtype[64], operand_dtype[32], device[32], cpu_level[8];
  char claim[96];    // earned
  bool is_inferred;  // from a record of another clause
  char state[16];    // "open", "stale", "closed"
  char reason[160];  // of stale and closed
} mlxcel_capability_t;
// A folder of evidence that can't be read is told in the log and counts as empty.
// Every clause instance of every profile on the local devices, in the order of devices, profiles and their tables. |evidence_folder| NULL: the default one.
// |compiler_digest| NULL: no compiler is known, so nothing that was compiled counts. |cpu_level| NULL or "": the best of this processor. Freed by free().
iree_status_t mlxcel_capability_list(const char* evidence_folder, const char* compiler_digest, const char* cpu_level, size_t* out_count,
                                     mlxcel_capability_t** out_capabilities);

#endif  // MLXCEL_QUALIFY_CAPABILITY_H_
