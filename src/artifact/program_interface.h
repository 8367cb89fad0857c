// program_interface.h: what a compiled module offers and expects. The compile side writes it into the manifest, the run side reads it from there;
// nothing else crosses between them.
//
// Functions of a module (all exported; R rows a call; row r has a token id, a slot and an absolute position, position -1 = inactive row: it
// writes nothing, and its outputs are unspecified):
//   prefill_<C>(tokens i32[C], slots i32[C], positions i32[C], rope_cos f32[P, rope_width], rope_sin f32[P, rope_width], k_cache, v_cache)
//              -> (hidden [C, hidden], k_cache, v_cache)
//   decode_<B>(tokens i32[B], slots i32[B], positions i32[B], rope_cos, rope_sin, k_cache, v_cache) -> (logits f32[B, vocab], k_cache, v_cache)
//   head_<R>(hidden [rows, hidden], index i32[R]) -> (logits f32[R, vocab]); index[r] is the row of hidden, -1 = inactive
// The dtype of hidden is the module's own affair: the rows go from prefill to head as they are.
// A module of kind "operation" (micro-oracles, taps) exports one function, "operation", whose types its maker knows; model fields and sizes are 0 and empty,
// kv_dtype included.
// Caches: kv_dtype [layers, slots, kv_heads, context, head_dim], row-major, slots and context dynamic; each cache argument is consumed and comes back as
// the result that aliases it. Rope tables: P = context.
#ifndef MLXCEL_ARTIFACT_PROGRAM_INTERFACE_H_
#define MLXCEL_ARTIFACT_PROGRAM_INTERFACE_H_

#include <jansson.h>

#include "base/base.h"

#define MLXCEL_PROGRAM_INTERFACE_VERSION 2
#define MLXCEL_PROGRAM_SIZES_MAX 16u  // sizes of one kind of function in a module

#define MLXCEL_PROGRAM_KIND_DECODER "decoder"
#define MLXCEL_PROGRAM_KIND_OPERATION "operation"

typedef struct mlxcel_program_sizes_t {
  uint32_t count;
  uint32_t values[MLXCEL_PROGRAM_SIZES_MAX];  // ascending, unique, > 0
} mlxcel_program_sizes_t;

typedef struct mlxcel_program_parameter_t {
  char* key;      // tensor name in the checkpoint
  char dtype[8];  // safetensors name
  uint64_t byte_count;
} mlxcel_program_parameter_t;

typedef struct mlxcel_program_interface_t {
  char kind[16];             // "decoder" or "operation"
  char module_name[32];      // "model"
  char parameter_scope[32];  // "model"
  char kv_dtype[8];          // "F32", "F16", "BF16"; "" for kind "operation"
  uint32_t layer_count, kv_head_count, head_dim, hidden_size, vocab_size, rope_width;
  mlxcel_program_sizes_t prefill_chunks, decode_batches, head_rows;
  size_t parameter_count;
  mlxcel_program_parameter_t* parameters;  // sorted by key; owned
} mlxcel_program_interface_t;

void mlxcel_program_interface_deinitialize(mlxcel_program_interface_t* interface);
// Appends one parameter (copies |key|).
iree_status_t mlxcel_program_interface_add_parameter(mlxcel_program_interface_t* interface, iree_string_view_t key, const char* dtype, uint64_t byte_count);
iree_status_t mlxcel_program_interface_to_json(const mlxcel_program_interface_t* interface, json_t** out_value);
// Bytes of an element of kv_dtype; 0 if it isn't one of the three.
uint32_t mlxcel_program_interface_kv_element_bytes(const mlxcel_program_interface_t* interface);
// Strict: unknown, missing or mistyped keys and out-of-range values are errors that name the key.
iree_status_t mlxcel_program_interface_from_json(const json_t* value, mlxcel_program_interface_t* out_interface);

#endif  // MLXCEL_ARTIFACT_PROGRAM_INTERFACE_H_
