#include "emit/helpers/helper_common.h"
#include "emit/mlx/mlx_helpers.h"

mlxcel_value_t mlxcel_pinned_embed(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_weight_t* table, mlxcel_value_t tokens) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_EMBED, .units = rows->count};
  mlxcel_dispatch_add(&dispatch, tokens);
  mlxcel_dispatch_add(&dispatch, rows->positions);
  mlxcel_dispatch_add_weight(builder, &dispatch, table);
  mlxcel_dispatch_add_i32(builder, &dispatch, rows->count);
  mlxcel_dispatch_add_i32(builder, &dispatch, table->in_features);
  mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_format(table));
  dispatch.result = mlxcel_value_f32(2, rows->count, table->in_features);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

mlxcel_value_t mlxcel_emit_embedding(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_weight_t* table, mlxcel_value_t tokens) {
  if (mlxcel_emit_uses_mlx(builder)) return mlxcel_mlx_emit_embedding(builder, rows, table, tokens);
  mlxcel_operation_t operation = mlxcel_embedding_operation(table, MLXCEL_DTYPE_F32, rows->count);
  mlxcel_emit_clause(builder, &operation);
  return mlxcel_pinned_embed(builder, rows, table, tokens);
}
