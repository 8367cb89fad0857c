#include "emit/helpers/helper_common.h"
#include "emit/mlx/mlx_helpers.h"

mlxcel_value_t mlxcel_emit_silu_gate(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* gate, const mlxcel_weight_t* up, mlxcel_value_t x,
                                     mlxcel_value_t positions) {
  if (mlxcel_emit_uses_mlx(builder)) return mlxcel_mlx_emit_silu_gate(builder, rows, gate, up, x, positions);
  mlxcel_operation_t operations[] = {mlxcel_weight_operation(gate, MLXCEL_DTYPE_F32, rows), mlxcel_weight_operation(up, MLXCEL_DTYPE_F32, rows),
                                     mlxcel_row_operation(MLXCEL_OP_SILU_GATE, MLXCEL_VARIANT_SILU, MLXCEL_DTYPE_F32, rows, gate->out_features)};
  for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); ++i) {
    operations[i].within = MLXCEL_WITHIN_ACTIVATION_PROJECTION;
    mlxcel_emit_clause(builder, &operations[i]);
  }
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_GATE_UP, .units = (gate->out_features + 15) / 16};
  mlxcel_dispatch_add(&dispatch, x);
  mlxcel_dispatch_add_weight(builder, &dispatch, gate);
  mlxcel_dispatch_add_weight(builder, &dispatch, up);
  mlxcel_dispatch_add(&dispatch, positions);
  mlxcel_dispatch_add_i32(builder, &dispatch, rows);
  mlxcel_dispatch_add_i32(builder, &dispatch, gate->in_features);
  mlxcel_dispatch_add_i32(builder, &dispatch, gate->out_features);
  mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_format(gate));
  mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_flags(gate, false));
  mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_format(up));
  mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_flags(up, false));
  dispatch.result = mlxcel_value_f32(2, rows, gate->out_features);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}
