#include "emit/helpers/helper_common.h"

// The kernels cut outputs into tiles of sixteen.
static uint32_t matmul_workgroups(int64_t out_features) { return mlxcel_workgroups_for((out_features + 15) / 16); }

mlxcel_value_t mlxcel_emit_matmul(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* weight, mlxcel_value_t x, mlxcel_value_t positions,
                                  const mlxcel_value_t* residual) {
  mlxcel_clause_projection(builder, MLXCEL_KERNEL_MATMUL, weight);
  if (residual) {
    mlxcel_clause_t clause = mlxcel_pinned_clause(MLXCEL_OP_RESIDUAL_ADD, MLXCEL_KERNEL_MATMUL);
    clause.accumulator = NULL;
    clause.constants = NULL;
    clause.rounding = "sum:f32";
    mlxcel_module_clause(builder, &clause);
  }
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MATMUL, .workgroups = matmul_workgroups(weight->out_features)};
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
