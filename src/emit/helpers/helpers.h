// helpers.h: the emitter's helpers for models, one an operation class, each under the clauses of the module's profile: pinned-f32 (kernels/kernel_abi.h) or
// mlx-cpu-0.32.4 (kernels/mlx_abi.h). Any other profile is an error of the builder. Activations have the dtype of x; below, f32 stands for it.
//
// A helper states operand and result types and its clauses; it never casts what it wasn't given and knows no model. Shapes: R rows (static), sizes of the
// model static, slots and context dynamic. |positions| i32[R] marks inactive rows with -1.
#ifndef MLXCEL_EMIT_HELPERS_HELPERS_H_
#define MLXCEL_EMIT_HELPERS_HELPERS_H_

#include "emit/module_builder.h"

// A checkpoint tensor as raw bytes.
typedef struct mlxcel_weight_tensor_t {
  iree_string_view_t key;  // empty = absent, unless |value| is set
  const char* dtype;       // safetensors name
  uint64_t byte_count;
  const mlxcel_value_t* value;  // not NULL: a value of the module instead of a parameter (micro-oracles)
} mlxcel_weight_tensor_t;

typedef enum mlxcel_weight_type_e { MLXCEL_WEIGHT_F32, MLXCEL_WEIGHT_F16, MLXCEL_WEIGHT_BF16 } mlxcel_weight_type_t;  // values: MLXCEL_FORMAT_*

// A matrix [out_features, in_features], dense or affine, with an optional bias vector of the layer.
typedef struct mlxcel_weight_t {
  mlxcel_weight_tensor_t values, scales, biases, vector;
  mlxcel_weight_type_t type;         // of dense values, or of scales and biases
  mlxcel_weight_type_t vector_type;  // of the bias vector
  uint32_t bits, group_size;         // bits 0 = dense
  int64_t out_features, in_features;
} mlxcel_weight_t;

typedef struct mlxcel_weight_vector_t {
  mlxcel_weight_tensor_t values;
  mlxcel_weight_type_t type;
  int64_t size;
} mlxcel_weight_vector_t;

// What every row of a call shares.
typedef struct mlxcel_emit_rows_t {
  int64_t count;  // R
  mlxcel_value_t slots, positions;
} mlxcel_emit_rows_t;

// x[r] = table[tokens[r]]: f32[R, in_features of the table].
mlxcel_value_t mlxcel_emit_embedding(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_weight_t* table, mlxcel_value_t tokens);

// RMSNorm of f32[R, size]. With |gather| (is_scalar false, i32[R]): row r normalizes x[gather[r]].
mlxcel_value_t mlxcel_emit_rms_norm(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_vector_t* weight, float epsilon, mlxcel_value_t x,
                                    mlxcel_value_t index, bool gather);

// x W^T [+ bias] [+ residual]: f32[R, out_features]. |residual| may be NULL.
mlxcel_value_t mlxcel_emit_matmul(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* weight, mlxcel_value_t x, mlxcel_value_t positions,
                                  const mlxcel_value_t* residual);

// silu(x Wg^T) * (x Wu^T): f32[R, out_features].
mlxcel_value_t mlxcel_emit_silu_gate(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* gate, const mlxcel_weight_t* up, mlxcel_value_t x,
                                     mlxcel_value_t positions);

typedef struct mlxcel_attention_shape_t {
  int64_t heads, kv_heads, head_dim;
  int64_t rope_half;  // pairs rotated; the other dims pass through
  int32_t layer;
  float scale;  // applied to q.k
  // Rotary embedding, for profiles that compute the angles themselves; others get tables.
  float rope_base, rope_scale;    // positions are multiplied by rope_scale
  const float* rope_frequencies;  // f32[rope_half]: MLX's `freqs`; NULL = from the base
} mlxcel_attention_shape_t;

typedef struct mlxcel_kv_values_t {
  mlxcel_value_t k_cache, v_cache;  // [layers, slots, kv_heads, context, head_dim] of the dtype of x; pinned-f32: f32, f16 or bf16
} mlxcel_kv_values_t;

// q, k and v projections of x, rotary embedding of q and k by the tables, k and v stored at (layer, slot, position): returns q f32[R, heads * head_dim];
// |kv| becomes the updated caches.
mlxcel_value_t mlxcel_emit_qkv_rope(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                    const mlxcel_weight_t* q, const mlxcel_weight_t* k, const mlxcel_weight_t* v, mlxcel_value_t x, mlxcel_value_t cos,
                                    mlxcel_value_t sin, mlxcel_kv_values_t* kv);

// Causal attention of every row over positions 0 .. its own of its slot: f32[R, heads * head_dim].
mlxcel_value_t mlxcel_emit_attention(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape, mlxcel_value_t q,
                                     const mlxcel_kv_values_t* kv);

// x as f32, for logits: exact; x itself if it is f32.
mlxcel_value_t mlxcel_emit_widen(mlxcel_module_builder_t* builder, mlxcel_value_t x);

#endif  // MLXCEL_EMIT_HELPERS_HELPERS_H_
