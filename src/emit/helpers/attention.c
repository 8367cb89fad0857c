#include "emit/helpers/helper_common.h"
#include "emit/mlx/mlx_helpers.h"

mlxcel_value_t mlxcel_emit_attention(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape, mlxcel_value_t q,
                                     const mlxcel_kv_values_t* kv) {
  if (mlxcel_emit_uses_mlx(builder)) return mlxcel_mlx_emit_attention(builder, rows, shape, q, kv);
  mlxcel_operation_t operation = mlxcel_attention_operation(MLXCEL_OP_ATTENTION, MLXCEL_VARIANT_MASK_CAUSAL, MLXCEL_DTYPE_F32, rows->count, shape);
  operation.cache_dtype = mlxcel_kv_cache_dtype(builder, kv);
  mlxcel_emit_clause(builder, &operation);

  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_ATTENTION, .units = rows->count * shape->kv_heads, .is_uneven = true};
  const mlxcel_value_t buffers[] = {q, kv->k_cache, kv->v_cache, rows->slots, rows->positions};
  for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); ++i) mlxcel_dispatch_add(&dispatch, buffers[i]);
  const int64_t sizes[] = {rows->count, shape->heads, shape->kv_heads, shape->head_dim, shape->layer};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) mlxcel_dispatch_add_i32(builder, &dispatch, sizes[i]);
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 1));
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 3));
  mlxcel_dispatch_add_i32(builder, &dispatch, (int64_t)operation.cache_dtype);
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, shape->scale));
  dispatch.result = mlxcel_value_f32(2, rows->count, shape->heads * shape->head_dim);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}
