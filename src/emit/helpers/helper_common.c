#include "emit/helpers/helper_common.h"

#include <stdio.h>

#include "kernels/kernel_abi.h"

_Static_assert((int)MLXCEL_WEIGHT_F32 == MLXCEL_FORMAT_F32 && (int)MLXCEL_WEIGHT_F16 == MLXCEL_FORMAT_F16 && (int)MLXCEL_WEIGHT_BF16 == MLXCEL_FORMAT_BF16,
               "weight types are the kernels' format types");

// Enough shares that a slow worker doesn't hold up the others, few enough that handing them out costs nothing beside the work.
#define WORKGROUPS_MAX 32

const char* mlxcel_weight_type_name(mlxcel_weight_type_t type) {
  static const char* const names[] = {"f32", "f16", "bf16"};
  return names[type];
}

mlxcel_source_name_t mlxcel_weight_source_name(const mlxcel_weight_t* weight) {
  mlxcel_source_name_t name;
  const char* type = mlxcel_weight_type_name(weight->type);
  bool has_bias = !iree_string_view_is_empty(weight->vector.key);
  const char* bias = has_bias ? "+bias-" : "";
  const char* bias_type = has_bias ? mlxcel_weight_type_name(weight->vector_type) : "";
  if (weight->bits == 0) {
    snprintf(name.text, sizeof(name.text), "%s%s%s", type, bias, bias_type);
  } else {
    snprintf(name.text, sizeof(name.text), "affine-u%u-g%u-%s%s%s", weight->bits, weight->group_size, type, bias, bias_type);
  }
  return name;
}

mlxcel_clause_t mlxcel_pinned_clause(mlxcel_op_class_t op, mlxcel_kernel_id_t kernel) {
  mlxcel_clause_t clause = {
      .op = op,
      .operand_dtype = "f32",
      .accumulator = "f32",
      .result_dtype = "f32",
      .constants = "f32-nearest",
      .denormals = "keep",
      .algorithm = mlxcel_kernel_info(kernel)->symbol,
      .algorithm_version = 1,
      .source_digest = mlxcel_kernel_source_digest(),
      .tolerance = "exact",
      .derivation = MLXCEL_EXACT_DERIVATION,
  };
  return clause;
}

void mlxcel_clause_projection(mlxcel_module_builder_t* builder, mlxcel_kernel_id_t kernel, const mlxcel_weight_t* weight) {
  mlxcel_clause_t clause = mlxcel_pinned_clause(weight->bits ? MLXCEL_OP_QUANTIZED_MATMUL : MLXCEL_OP_DENSE_MATMUL, kernel);
  mlxcel_source_name_t source = mlxcel_weight_source_name(weight);
  clause.source_dtype = source.text;
  bool has_bias = !iree_string_view_is_empty(weight->vector.key);
  clause.rounding = weight->bits ? (has_bias ? "weight:fma-f32+product-sum:fma-f32+tree:f32+bias:f32" : "weight:fma-f32+product-sum:fma-f32+tree:f32")
                                 : (has_bias ? "product-sum:fma-f32+tree:f32+bias:f32" : "product-sum:fma-f32+tree:f32");
  clause.association = "lanes(16,tree)";
  clause.dequantization = weight->bits ? "fma-f32" : "exact-widen";
  clause.constants = NULL;
  mlxcel_module_clause(builder, &clause);
}

int32_t mlxcel_weight_format(const mlxcel_weight_t* weight) {
  uint32_t group_log2 = 0;
  while ((1u << group_log2) < weight->group_size) ++group_log2;
  return MLXCEL_FORMAT((int32_t)weight->bits, (int32_t)(weight->bits ? group_log2 : 0), (int32_t)weight->type);
}

int32_t mlxcel_weight_flags(const mlxcel_weight_t* weight, bool residual) {
  bool has_bias = !iree_string_view_is_empty(weight->vector.key);
  return MLXCEL_MATRIX_FLAGS(has_bias ? 1 : 0, residual ? 1 : 0, has_bias ? (int32_t)weight->vector_type : 0);
}

void mlxcel_dispatch_add_weight(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, const mlxcel_weight_t* weight) {
  const mlxcel_weight_tensor_t* tensors[] = {&weight->values, &weight->scales, &weight->biases, &weight->vector};
  mlxcel_value_t first = {0};
  for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); ++i) {
    bool absent = iree_string_view_is_empty(tensors[i]->key);
    mlxcel_value_t value = absent ? first : mlxcel_parameter_bytes(builder, tensors[i]->key, tensors[i]->dtype, tensors[i]->byte_count);
    if (i == 0) first = value;
    mlxcel_dispatch_add(dispatch, value);
  }
}

void mlxcel_dispatch_add_i32(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, int64_t value) {
  mlxcel_dispatch_add(dispatch, mlxcel_constant_i32(builder, (int32_t)value));
}

uint32_t mlxcel_workgroups_for(int64_t units) { return units < 1 ? 1 : units > WORKGROUPS_MAX ? WORKGROUPS_MAX : (uint32_t)units; }
