// candidate.h: our side of a micro-oracle: an operation emitted under a profile, compiled through the artifact cache and called through the runtime's loader,
// exactly as models are.
#ifndef MLXCEL_ORACLE_CANDIDATE_H_
#define MLXCEL_ORACLE_CANDIDATE_H_

#include "artifact/artifact_cache.h"
#include "artifact/manifest.h"
#include "emit/operation_emitter.h"
#include "kernels/kernel_objects.h"
#include "runtime/runtime.h"

typedef struct mlxcel_candidate_options_t {
  const char* cache_folder;  // NULL = the default one
  const char* compiler;      // NULL = the one that the build knows
  mlxcel_kernel_level_t level;
  // For mutation tests: the run goes the same way, and records no evidence.
  const char* pinned_object_path;      // this object file instead of the pinned one
  const char* mlx_object_path;         // instead of that of kernels/mlx
  const char* mutation;                // "PATTERN=>REPLACEMENT", applied to every occurrence in the emitted text
  bool (*cancelled)(void* user_data);  // may be NULL
  void* user_data;
} mlxcel_candidate_options_t;

typedef struct mlxcel_candidate_t {
  mlxcel_emitted_operation_t emitted;
  mlxcel_artifact_t artifact;
  mlxcel_manifest_t manifest;  // of the artifact: compiler, flags, objects
  bool is_altered;             // by one of the mutation options
} mlxcel_candidate_t;

// Emits and compiles. UNIMPLEMENTED: the profile has no emitted form of |operation|. INVALID_ARGUMENT: the mutation is malformed or its pattern doesn't occur.
iree_status_t mlxcel_candidate_build(const mlxcel_candidate_options_t* options, const mlxcel_profile_t* profile, const mlxcel_operation_t* operation,
                                     mlxcel_candidate_t* out_candidate);
void mlxcel_candidate_deinitialize(mlxcel_candidate_t* candidate);

typedef struct mlxcel_candidate_run_t {
  mlxcel_host_tensor_t result;  // of the first call
  bool repeats_agree;           // every later call gave the same bytes
  double run_seconds;           // all calls together, with their copies
  uint64_t bytes_transferred;   // operands and results of all calls
  uint64_t peak_memory_bytes;   // of this process since the first call; 0 if the system doesn't tell
} mlxcel_candidate_run_t;

// Loads the module and calls it |repeats| (>= 1) times over the same operands. The result is freed by mlxcel_candidate_run_deinitialize.
iree_status_t mlxcel_candidate_call(const mlxcel_candidate_t* candidate, mlxcel_device_t* device, size_t operand_count, const mlxcel_host_tensor_t* operands,
                                    uint32_t repeats, mlxcel_candidate_run_t* out_run);
void mlxcel_candidate_run_deinitialize(mlxcel_candidate_run_t* run);

#endif  // MLXCEL_ORACLE_CANDIDATE_H_
