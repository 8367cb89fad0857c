#include "emit/helpers/helper_common.h"
#include "emit/mlx/mlx_helpers.h"

// The kernels cut outputs into tiles of sixteen.
static int64_t matmul_units(int64_t out_features) { return (out_features + 15) / 16; }

mlxcel_value_t mlxcel_emit_matmul(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* weight, mlxcel_value_t x, mlxcel_value_t positions,
                                  const mlxcel_value_t* residual) {
  if (mlxcel_emit_uses_mlx(builder)) return mlxcel_mlx_emit_matmul(builder, rows, weight, x, positions, residual);
  mlxcel_operation_t operation = mlxcel_weight_operation(weight, MLXCEL_DTYPE_F32, rows);
  operation.has_residual = residual != NULL;
  mlxcel_emit_clause(builder, &operation);
  if (residual) {
    operation = mlxcel_row_operation(MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F32, rows, weight->out_features);
    mlxcel_emit_clause(builder, &operation);
  }
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MATMUL, .units = matmul_units(weight->out_features)};
  mlxcel_dispatch_add(&dispatch, x);
  mlxcel_dispatch_add_weight(builder, &dispatch, weight);
  mlxcel_dispatch_add(&dispatch, residual ? *residual : x);
  mlxcel_dispatch_add(&dispatch, positions);
  mlxcel_dispatch_add_i32(builder, &dispatch, rows);
  mlxcel_dispatch_add_i32(builder, &dispatch, weight->in_features);
  mlxcel_dispatch_add_i32(builder, &dispatch, weight->out_features);
  mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_format(weight));
  mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_flags(weight, residual != NULL));
  dispatch.result = mlxcel_value_f32(2, rows, weight->out_features);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}
