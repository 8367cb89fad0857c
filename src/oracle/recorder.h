// recorder.h: collects what a run has shown about every clause, and writes it as evidence: one record a clause, device and CPU level, if every case of the
// clause in the run earned the claim.
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
  uint32_t repeats;  // the fewest of any case
} mlxcel_recorder_entry_t;

typedef struct mlxcel_recorder_t {
  size_t count, capacity;
  mlxcel_recorder_entry_t* entries;
} mlxcel_recorder_t;

void mlxcel_recorder_deinitialize(mlxcel_recorder_t* recorder);

// One case on one device has shown |claims| for every clause of |contract|. |libmlx|: digest of the loaded reference, NULL without one.
iree_status_t mlxcel_recorder_add(mlxcel_recorder_t* recorder, const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract,
                                  const mlxcel_identity_t* identity, const char* libmlx, const mlxcel_claims_t* claims, uint64_t outputs, uint32_t repeats);

// The records: for every entry the strongest claim and, where it is another one, the claim that the profile needs. |profile| NULL = all. Freed by
// mlxcel_evidence_list_deinitialize.
iree_status_t mlxcel_recorder_list(const mlxcel_recorder_t* recorder, const char* profile, mlxcel_evidence_list_t* out_list);
// Writes them into |folder| (NULL = the default one).
iree_status_t mlxcel_recorder_write(const mlxcel_recorder_t* recorder, const char* folder);

#endif  // MLXCEL_ORACLE_RECORDER_H_
