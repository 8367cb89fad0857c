// recorder.h: collects what a run has shown about every clause, and writes it as evidence: one record a clause, device and CPU level. A clause that a case of
// the run disproves gets a record that claims nothing, in the place of any older one.
#ifndef MLXCEL_ORACLE_RECORDER_H_
#define MLXCEL_ORACLE_RECORDER_H_

#include "contract/contract_parse.h"
#include "oracle/claims.h"
#include "qualify/identity.h"

typedef struct mlxcel_recorder_entry_t {
  const mlxcel_profile_t* profile;
  mlxcel_evidence_t against_reference, against_decomposition;  // without claim and counts
  bool earned[MLXCEL_CLAIM_PRODUCTION + 1];                    // by every case so far
  uint64_t outputs, cases;
  uint32_t repeats;   // the fewest of any case
  bool is_partial;    // cases of the clause weren't part of the run: nothing is written
  bool is_mixed;      // cases were compiled by different compilers: nothing is written
  bool was_compared;  // with what the profile needs, at least once: without MLX its profiles learn nothing
} mlxcel_recorder_entry_t;

typedef struct mlxcel_recorder_t {
  size_t count, capacity;
  mlxcel_recorder_entry_t* entries;
} mlxcel_recorder_t;

// What one case has shown on one device.
typedef struct mlxcel_recorder_case_t {
  const mlxcel_profile_t* profile;
  const mlxcel_parsed_contract_t* contract;  // of the case's module
  const mlxcel_identity_t* identity;         // with the compiler that made the module; "" if there is no module
  const mlxcel_claims_t* claims;
  bool was_compared;  // with what the profile needs
  uint64_t outputs;
  uint32_t repeats;
} mlxcel_recorder_case_t;

void mlxcel_recorder_deinitialize(mlxcel_recorder_t* recorder);

// Counts |shown| for every clause of its contract.
iree_status_t mlxcel_recorder_add(mlxcel_recorder_t* recorder, const mlxcel_recorder_case_t* shown);
// A case of |contract| under |profile| wasn't run: the run says too little of its clauses.
iree_status_t mlxcel_recorder_miss(mlxcel_recorder_t* recorder, const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract);

// The records, of |profile| (NULL = all): those of clauses all of whose cases were run, compared, by one compiler, and called MLXCEL_EVIDENCE_REPEATS_MIN times
// or more. The claim is the one that the profile needs, where it was earned and opens anything, else the strongest; none if nothing was. Freed by
// mlxcel_evidence_list_deinitialize. |*out_left_out|: clauses that get no record.
iree_status_t mlxcel_recorder_list(const mlxcel_recorder_t* recorder, const char* profile, mlxcel_evidence_list_t* out_list, size_t* out_left_out);
// Keeps, of records that only differ in the storage of their weights (pinned-f32, whose records stand for all storages of a kind), the one with the weakest
// claim, and of these the one with the most outputs.
void mlxcel_recorder_reduce(mlxcel_evidence_list_t* list);

#endif  // MLXCEL_ORACLE_RECORDER_H_
