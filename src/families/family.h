// family.h: from an opened checkpoint to a module's text. A family is one folder with one mlxcel_family_t and one line in the registry (family_registry.c).
#ifndef MLXCEL_FAMILIES_FAMILY_H_
#define MLXCEL_FAMILIES_FAMILY_H_

#include "artifact/program_interface.h"
#include "base/sha256.h"
#include "checkpoint/checkpoint.h"
#include "emit/module_builder.h"

typedef struct mlxcel_emit_options_t {
  iree_string_view_t profile;  // "pinned-f32", "mlx-cpu-0.32.4"
  mlxcel_program_sizes_t prefill_chunks, decode_batches, head_rows;
  mlxcel_dtype_t kv_dtype;  // of the caches under profile pinned-f32: F32, F16, BF16; elsewhere the checkpoint's tensors decide: F32
  uint32_t workers;         // of the device that will run it, 0 = unknown: the work is cut for so many. It runs with any number, the bits don't depend on it
  uint32_t tap_rows;  // > 0: a module of kind "operation" instead, whose function takes prefill's arguments for so many rows and returns every tapped value
} mlxcel_emit_options_t;
void mlxcel_emit_options_initialize(mlxcel_emit_options_t* out_options);

typedef struct mlxcel_emitted_model_t {
  char* mlir_text;
  size_t mlir_size;
  char* contract_text;
  mlxcel_sha256_hex_t fingerprint;
  uint32_t contract_version;
  mlxcel_program_interface_t interface;
  mlxcel_dtype_t kv_dtype;  // of the caches
  size_t tap_count;         // 0 without tap_rows
  mlxcel_module_tap_t* taps;
} mlxcel_emitted_model_t;
void mlxcel_emitted_model_deinitialize(mlxcel_emitted_model_t* model);

typedef struct mlxcel_family_t {
  const char* model_type;  // config.json's
  // Emits the module. Every tensor of the checkpoint must be used or be one that the family knows to be redundant; others are an error that lists them.
  iree_status_t (*emit)(const mlxcel_checkpoint_t* checkpoint, const mlxcel_profile_t* profile, const mlxcel_emit_options_t* options,
                        mlxcel_emitted_model_t* out_model);
} mlxcel_family_t;

// NULL if |model_type| has no family.
const mlxcel_family_t* mlxcel_family_find(const char* model_type);
// The registry's entries, for reports; NULL behind the last.
const mlxcel_family_t* mlxcel_family_at(size_t index);

// Emits |checkpoint| with the family of its model_type. The same checkpoint, options and build give the same bytes everywhere.
iree_status_t mlxcel_family_emit(const mlxcel_checkpoint_t* checkpoint, const mlxcel_emit_options_t* options, mlxcel_emitted_model_t* out_model);

#endif  // MLXCEL_FAMILIES_FAMILY_H_
