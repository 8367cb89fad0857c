// oracle_run.h: runs micro-oracles: every selected case under every profile that defines it, on every device, against the MLX reference and the declared
// decomposition; and records what was shown as evidence.
#ifndef MLXCEL_ORACLE_ORACLE_RUN_H_
#define MLXCEL_ORACLE_ORACLE_RUN_H_

#include "oracle/candidate.h"
#include "oracle/oracle_cases.h"
#include "oracle/report.h"

#define MLXCEL_ORACLE_REPEATS_MAX 1000u  // a race that a thousand calls don't show needs another tool

typedef struct mlxcel_oracle_options_t {
  size_t class_count;  // 0 = all classes
  const char* const* classes;
  const char* profile;  // NULL = all
  const char* dtype;    // of the activations; NULL = all
  const char* device;   // NULL = all local ones
  int64_t case_index;   // of every class; -1 = all. A run of single cases records no evidence
  uint32_t repeats;     // >= 1
  uint64_t seed;
  uint32_t threads;                     // compilations at a time; 0 = one for each processor
  const char* cpu_level;                // NULL or "" = best
  const char *cache_folder, *compiler;  // as in mlxcel_candidate_options_t
  const char *pinned_object_path, *mlx_object_path, *mutation;
  bool disable_compile;         // of MLX's own fused graphs
  const char* evidence_folder;  // NULL = the default one
  bool no_evidence;
  const char* record_path;                                                       // file that gets the records of profile pinned-f32; NULL = none
  const char* command_line;                                                      // for the reports
  void (*notify)(void* user_data, const char* step, size_t done, size_t total);  // may be NULL
  bool (*cancelled)(void* user_data);                                            // may be NULL
  void* user_data;
} mlxcel_oracle_options_t;

void mlxcel_oracle_options_initialize(mlxcel_oracle_options_t* out_options);

// Local devices that `run` uses; NULL behind the last.
const char* mlxcel_oracle_device_at(size_t index);

// INVALID_ARGUMENT: an unknown class, profile, dtype or device (the message lists the valid ones), or a mutation whose pattern doesn't occur; CANCELLED.
// A case that can't be run (it doesn't compile, the reference fails) is a report that earns nothing, not an error.
iree_status_t mlxcel_oracle_run(const mlxcel_oracle_options_t* options, mlxcel_oracle_reports_t* out_reports);

// The one case that |options| select (one class, case_index, profile; dtype is implied): INVALID_ARGUMENT if it isn't exactly one.
iree_status_t mlxcel_oracle_case_select(const mlxcel_oracle_options_t* options, const mlxcel_oracle_cases_t* cases, const mlxcel_profile_t** out_profile,
                                        const mlxcel_oracle_case_t** out_case, mlxcel_operation_t* out_operation);

// The candidate's options from |options|.
iree_status_t mlxcel_oracle_candidate_options(const mlxcel_oracle_options_t* options, mlxcel_candidate_options_t* out_options);

// The reference's result for |operation| from operands of |seed|.
iree_status_t mlxcel_oracle_reference_result(mlxcel_reference_t* reference, const mlxcel_operation_t* operation, uint64_t seed,
                                             mlxcel_host_tensor_t* out_result);

#endif  // MLXCEL_ORACLE_ORACLE_RUN_H_
