// runtime.h: the run side: a device, and a program (compiled module + weights + KV cache) on it.
//
// Owns: the device handle with its worker threads; a program's VM context, parameter views (zero-copy from the checkpoint's maps where
// aligned to 64 bytes) and KV cache. Threads: a program is used by one thread at a time; loading is serialized inside. Everything that comes from a caller
// (ids, slots, positions, row counts) is checked before the device is called: kernels trust their arguments.
#ifndef MLXCEL_RUNTIME_RUNTIME_H_
#define MLXCEL_RUNTIME_RUNTIME_H_

#include "artifact/artifact_cache.h"
#include "base/base.h"
#include "checkpoint/checkpoint.h"
#include "contract/operation.h"

typedef struct mlxcel_device_t mlxcel_device_t;

typedef struct mlxcel_device_options_t {
  iree_string_view_t name;  // "local-task", "local-sync"
  uint32_t thread_count;    // workers of local-task; 0 = one for each processor this process may run on
} mlxcel_device_options_t;

// Why |name| can't be opened, or OK for the local devices: INVALID_ARGUMENT for an unknown name (the message lists the valid ones), UNAVAILABLE for one that
// this version doesn't run. Nothing is opened.
iree_status_t mlxcel_device_check_name(iree_string_view_t name);

// INVALID_ARGUMENT for an unknown name (the message lists the valid ones), UNAVAILABLE for a known one that this build lacks or whose driver fails.
iree_status_t mlxcel_device_open(const mlxcel_device_options_t* options, mlxcel_device_t** out_device);
void mlxcel_device_close(mlxcel_device_t* device);
uint32_t mlxcel_device_thread_count(const mlxcel_device_t* device);
// The workers that a device opened with |options| would have.
uint32_t mlxcel_device_thread_count_for(const mlxcel_device_options_t* options);

typedef struct mlxcel_program_options_t {
  uint32_t slot_count;                      // sequences whose KV may live side by side; >= 1
  uint32_t context;                         // positions a slot holds; >= 1, at most the model's max_position_embeddings
  iree_string_view_t expected_fingerprint;  // contract that the caller asks for; compared with the manifest's and with the one inside the vmfb
  iree_string_view_t expected_contract;     // its text: if the fingerprints differ, the error names the field; may be empty
} mlxcel_program_options_t;

typedef struct mlxcel_program_t mlxcel_program_t;

// Refuses another kind or contract than asked for (FAILED_PRECONDITION; with |expected_contract| the message names clause and field), verifies the fingerprint
// of every exported function on the bare module (DATA_LOSS), all before any of its code runs; then binds every parameter to its tensor (dtype and byte count
// checked), creates the VM context and a zeroed KV cache of the interface's kv_dtype. |device|, |artifact| and |checkpoint| are borrowed and must outlive the
// program.
iree_status_t mlxcel_program_load(mlxcel_device_t* device, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint,
                                  const mlxcel_program_options_t* options, mlxcel_program_t** out_program);
void mlxcel_program_unload(mlxcel_program_t* program);

const mlxcel_program_interface_t* mlxcel_program_interface_of(const mlxcel_program_t* program);
uint32_t mlxcel_program_context(const mlxcel_program_t* program);
uint32_t mlxcel_program_slot_count(const mlxcel_program_t* program);
uint64_t mlxcel_program_kv_bytes(const mlxcel_program_t* program);
// Tensors that had to be copied because their data isn't 64-byte aligned in the file.
uint64_t mlxcel_program_copied_parameter_bytes(const mlxcel_program_t* program);

// Rows of a call. Row r: token id, KV slot, absolute position (-1 = inactive). Rows of one slot must be in ascending order of position, and every
// position below a row's must have been written before, or be a row of this call.
typedef struct mlxcel_rows_t {
  uint32_t count;
  const int32_t* tokens;
  const int32_t* slots;
  const int32_t* positions;
} mlxcel_rows_t;

// Runs |rows| (count <= the largest prefill chunk; the smallest compiled chunk that holds them is used, padded with inactive rows): writes their K and V.
// The hidden rows stay on the device for mlxcel_program_head until the next prefill.
iree_status_t mlxcel_program_prefill(mlxcel_program_t* program, const mlxcel_rows_t* rows);
// Logits of |row_count| rows of the last prefill: |out_logits| f32 [row_count, vocab_size], caller's memory.
iree_status_t mlxcel_program_head(mlxcel_program_t* program, uint32_t row_count, const uint32_t* row_indices, float* out_logits);
// One decode step of up to the largest compiled batch: |out_logits| f32 [rows->count, vocab_size], caller's memory (inactive rows untouched).
iree_status_t mlxcel_program_decode(mlxcel_program_t* program, const mlxcel_rows_t* rows, float* out_logits);

// --- any module (interface kind "operation"): micro-oracles and taps ------------------------------------------------------------------------
typedef struct mlxcel_module_t mlxcel_module_t;

// Verifies kind, contract and fingerprint as mlxcel_program_load does (slots and context of |options| aren't read), binds parameters to |checkpoint| (NULL if
// the module has none) and creates the VM context. |device|, |artifact| and |checkpoint| are borrowed and must outlive the module.
iree_status_t mlxcel_module_load(mlxcel_device_t* device, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint,
                                 const mlxcel_program_options_t* options, mlxcel_module_t** out_module);
void mlxcel_module_unload(mlxcel_module_t* module);
// Calls the exported function "operation" with i32, u8, f32, f16 and bf16 tensors (u8 meets tensors of i8). Arguments are copied in (an argument that the
// module updates in place doesn't change here); results are allocated and freed by the caller (mlxcel_host_tensor_deinitialize). |result_count| is what the
// caller expects: INTERNAL otherwise. On error no result is left.
iree_status_t mlxcel_module_call(mlxcel_module_t* module, size_t argument_count, const mlxcel_host_tensor_t* arguments, size_t result_count,
                                 mlxcel_host_tensor_t* out_results);

#endif  // MLXCEL_RUNTIME_RUNTIME_H_
