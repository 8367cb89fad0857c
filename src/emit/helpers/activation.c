#include "emit/helpers/helper_common.h"

mlxcel_value_t mlxcel_emit_silu_gate(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* gate, const mlxcel_weight_t* up, mlxcel_value_t x,
                                     mlxcel_value_t positions) {
  mlxcel_clause_projection(builder, MLXCEL_KERNEL_GATE_UP, gate);
  mlxcel_clause_projection(builder, MLXCEL_KERNEL_GATE_UP, up);
  mlxcel_clause_t clause = mlxcel_pinned_clause(MLXCEL_OP_SILU_GATE, MLXCEL_KERNEL_GATE_UP);
  clause.accumulator = NULL;
  clause.rounding = "exp:f32+one-plus:f32+quotient:f32+product:f32";
  clause.functions = "mlxcel-exp-1+ieee-div";
  mlxcel_module_clause(builder, &clause);

  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_GATE_UP, .workgroups = mlxcel_workgroups_for((gate->out_features + 15) / 16)};
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
