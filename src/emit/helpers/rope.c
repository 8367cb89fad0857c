#include "emit/helpers/helper_common.h"
#include "emit/mlx/mlx_helpers.h"

static void emit_clauses(mlxcel_module_builder_t* builder, const mlxcel_weight_t* const weights[3], int64_t rows, const mlxcel_attention_shape_t* shape,
                         mlxcel_dtype_t cache_dtype) {
  mlxcel_operation_t operations[5];
  for (int i = 0; i < 3; ++i) operations[i] = mlxcel_weight_operation(weights[i], MLXCEL_DTYPE_F32, rows);
  operations[3] = mlxcel_attention_operation(MLXCEL_OP_ROPE, MLXCEL_VARIANT_HALF, MLXCEL_DTYPE_F32, rows, shape);
  operations[4] = mlxcel_attention_operation(MLXCEL_OP_KV_STORE, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F32, rows, shape);
  operations[4].cache_dtype = cache_dtype;
  for (int i = 0; i < 5; ++i) {
    operations[i].within = MLXCEL_WITHIN_QKV_ROPE;
    mlxcel_emit_clause(builder, &operations[i]);
  }
}

mlxcel_value_t mlxcel_emit_qkv_rope(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                    const mlxcel_weight_t* q, const mlxcel_weight_t* k, const mlxcel_weight_t* v, mlxcel_value_t x, mlxcel_value_t cos,
                                    mlxcel_value_t sin, mlxcel_kv_values_t* kv) {
  if (mlxcel_emit_uses_mlx(builder)) return mlxcel_mlx_emit_qkv_rope(builder, rows, shape, q, k, v, x, kv);
  const mlxcel_weight_t* const weights[] = {q, k, v};
  mlxcel_dtype_t cache_dtype = mlxcel_kv_cache_dtype(builder, kv);
  emit_clauses(builder, weights, rows->count, shape, cache_dtype);
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_QKV_ROPE, .units = shape->heads + 2 * shape->kv_heads};
  mlxcel_dispatch_add(&dispatch, x);
  for (int i = 0; i < 3; ++i) mlxcel_dispatch_add_weight(builder, &dispatch, weights[i]);
  const mlxcel_value_t buffers[] = {cos, sin, rows->slots, rows->positions, kv->k_cache, kv->v_cache};
  for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); ++i) mlxcel_dispatch_add(&dispatch, buffers[i]);
  const int64_t sizes[] = {rows->count, q->in_features, shape->heads, shape->kv_heads, shape->head_dim, shape->rope_half};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) mlxcel_dispatch_add_i32(builder, &dispatch, sizes[i]);
  for (int i = 0; i < 3; ++i) {
    mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_format(weights[i]));
    mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_flags(weights[i], false));
  }
  mlxcel_dispatch_add_i32(builder, &dispatch, shape->layer);
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 1));
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 3));
  mlxcel_dispatch_add_i32(builder, &dispatch, (int64_t)cache_dtype);
  dispatch.result = mlxcel_value_f32(2, rows->count, shape->heads * shape->head_dim);
  mlxcel_value_t tied[2];
  mlxcel_value_t result = mlxcel_dispatch_emit(builder, &dispatch, tied);
  kv->k_cache = tied[0];
  kv->v_cache = tied[1];
  return result;
}
