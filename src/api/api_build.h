// api_build.h: the compile side of loading: options, checkpoint, emission, compiled artifact. Shared by engine_open, engine_compile and inspect.
//
// Fills one struct step by step; every step may fail and mlxcel_api_build_deinitialize frees whatever exists. One thread at a time.
#ifndef MLXCEL_API_API_BUILD_H_
#define MLXCEL_API_API_BUILD_H_

#include "artifact/artifact_cache.h"
#include "checkpoint/checkpoint.h"
#include "families/family.h"
#include "kernels/kernel_objects.h"
#include "mlxcel/mlxcel.h"

// More sequences never share one CPU's memory bandwidth with profit, and row counts stay far from 32-bit limits.
#define MLXCEL_API_SLOTS_MAX 1024u

// Options with the defaults filled in. Strings are borrowed from the caller's or static.
typedef struct mlxcel_api_settings_t {
  mlxcel_engine_options_t options;
  mlxcel_kernel_level_t level;
  mlxcel_dtype_t kv_dtype;  // F32 also where the checkpoint decides
} mlxcel_api_settings_t;

typedef struct mlxcel_api_build_t {
  const char* stage;  // static; what failed, if something did
  uint32_t workers;   // of the device; set before emitting
  mlxcel_checkpoint_t* checkpoint;
  mlxcel_emitted_model_t emitted;
  mlxcel_artifact_t artifact;
  bool has_emitted, has_artifact;
  const char* cache_root;               // once emitted: of the settings, or |default_root|
  char* default_root;                   // owned
  bool has_compiler;                    // there is one to compile with; else only what it has compiled before runs
  mlxcel_sha256_hex_t compiler_digest;  // of it
  bool is_judged;                       // the gate is open for this contract with that compiler (api_capability.h)
} mlxcel_api_build_t;

// Checks what can be checked without a file. INVALID_ARGUMENT lists the valid values.
iree_status_t mlxcel_api_settings_resolve(const mlxcel_engine_options_t* options, mlxcel_api_settings_t* out_settings);

// Opens the checkpoint.
iree_status_t mlxcel_api_build_open(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* out_build);
// Emits, and finds out which compiler there is.
iree_status_t mlxcel_api_build_emit(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build);
// Finds or compiles the artifact of what was emitted, and makes sure that it is this program's: text, target, flags, kernel objects and compiler (without one:
// the version that the build is pinned to).
iree_status_t mlxcel_api_build_obtain(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build);
// Both.
iree_status_t mlxcel_api_build_compile(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build);
void mlxcel_api_build_deinitialize(mlxcel_api_build_t* build);

// Calls the options' progress function, if any.
void mlxcel_api_notify(const mlxcel_api_settings_t* settings, const char* step, iree_time_t start);

#endif  // MLXCEL_API_API_BUILD_H_
