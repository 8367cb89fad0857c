#include "emit/helpers/helper_common.h"

mlxcel_value_t mlxcel_emit_rms_norm(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_vector_t* weight, float epsilon, mlxcel_value_t x,
                                    mlxcel_value_t index, bool gather) {
  mlxcel_clause_t clause = mlxcel_pinned_clause(MLXCEL_OP_RMS_NORM, MLXCEL_KERNEL_RMS_NORM);
  clause.source_dtype = mlxcel_weight_type_name(weight->type);
  clause.rounding = "square-sum:fma-f32+tree:f32+mean:div-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32";
  clause.association = "lanes(16,tree)";
  clause.dequantization = "exact-widen";
  clause.functions = "ieee-div+ieee-sqrt";
  mlxcel_module_clause(builder, &clause);

  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_RMS_NORM, .workgroups = mlxcel_workgroups_for(rows)};
  mlxcel_dispatch_add(&dispatch, x);
  mlxcel_dispatch_add(&dispatch, index);
  mlxcel_dispatch_add(&dispatch, mlxcel_parameter_bytes(builder, weight->values.key, weight->values.dtype, weight->values.byte_count));
  mlxcel_dispatch_add_i32(builder, &dispatch, rows);
  mlxcel_dispatch_add_i32(builder, &dispatch, weight->size);
  mlxcel_dispatch_add_i32(builder, &dispatch, (int64_t)weight->type);
  mlxcel_dispatch_add_i32(builder, &dispatch, gather ? 1 : 0);
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, epsilon));
  dispatch.result = mlxcel_value_f32(2, rows, weight->size);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}
