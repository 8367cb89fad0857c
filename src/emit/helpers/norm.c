#include "emit/helpers/helper_common.h"
#include "emit/mlx/mlx_helpers.h"

mlxcel_value_t mlxcel_emit_rms_norm(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_vector_t* weight, float epsilon, mlxcel_value_t x,
                                    mlxcel_value_t index, bool gather) {
  if (mlxcel_emit_uses_mlx(builder)) return mlxcel_mlx_emit_rms_norm(builder, rows, weight, epsilon, x, index, gather);
  mlxcel_operation_t operation = mlxcel_rms_norm_operation(weight, MLXCEL_DTYPE_F32, rows, epsilon);
  mlxcel_emit_clause(builder, &operation);

  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_RMS_NORM, .units = rows};
  mlxcel_dispatch_add(&dispatch, x);
  mlxcel_dispatch_add(&dispatch, index);
  mlxcel_dispatch_add(&dispatch, mlxcel_weight_tensor_value(builder, &weight->values));
  mlxcel_dispatch_add_i32(builder, &dispatch, rows);
  mlxcel_dispatch_add_i32(builder, &dispatch, weight->size);
  mlxcel_dispatch_add_i32(builder, &dispatch, (int64_t)weight->type);
  mlxcel_dispatch_add_i32(builder, &dispatch, gather ? 1 : 0);
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, epsilon));
  dispatch.result = mlxcel_value_f32(2, rows, weight->size);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

mlxcel_value_t mlxcel_emit_widen(mlxcel_module_builder_t* builder, mlxcel_value_t x) {
  return mlxcel_emit_uses_mlx(builder) ? mlxcel_mlx_emit_widen(builder, x) : x;  // pinned-f32 has nothing but f32
}
