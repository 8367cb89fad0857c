#include "emit/helpers/helper_common.h"

#include <string.h>

#include "kernels/kernel_abi.h"

_Static_assert((int)MLXCEL_WEIGHT_F32 == MLXCEL_FORMAT_F32 && (int)MLXCEL_WEIGHT_F16 == MLXCEL_FORMAT_F16 && (int)MLXCEL_WEIGHT_BF16 == MLXCEL_FORMAT_BF16,
               "weight types are the kernels' format types");

_Static_assert((int)MLXCEL_WEIGHT_F32 == (int)MLXCEL_DTYPE_F32 && (int)MLXCEL_WEIGHT_F16 == (int)MLXCEL_DTYPE_F16 &&
                   (int)MLXCEL_WEIGHT_BF16 == (int)MLXCEL_DTYPE_BF16,
               "weight types begin the dtypes");

bool mlxcel_emit_uses_mlx(mlxcel_module_builder_t* builder) {
  const char* name = builder->profile->name;
  if (strcmp(name, MLXCEL_PROFILE_MLX_CPU) == 0) return true;
  if (strcmp(name, MLXCEL_PROFILE_PINNED_F32) != 0) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_UNIMPLEMENTED, "profile '%s' has no helpers for models; use %s or %s", name,
                                                 MLXCEL_PROFILE_PINNED_F32, MLXCEL_PROFILE_MLX_CPU));
  }
  return false;
}

bool mlxcel_weight_tensor_is_present(const mlxcel_weight_tensor_t* tensor) { return tensor->value || !iree_string_view_is_empty(tensor->key); }

mlxcel_value_t mlxcel_weight_tensor_value(mlxcel_module_builder_t* builder, const mlxcel_weight_tensor_t* tensor) {
  return tensor->value ? *tensor->value : mlxcel_parameter_bytes(builder, tensor->key, tensor->dtype, tensor->byte_count);
}

mlxcel_dtype_t mlxcel_weight_dtype(mlxcel_weight_type_t type) { return (mlxcel_dtype_t)type; }

mlxcel_operation_t mlxcel_row_operation(mlxcel_op_class_t op, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype, int64_t rows, int64_t width) {
  return (mlxcel_operation_t){.op = op, .variant = variant, .dtype = dtype, .weight_dtype = dtype, .bias_dtype = dtype, .rows = rows, .in_features = width};
}

mlxcel_operation_t mlxcel_weight_operation(const mlxcel_weight_t* weight, mlxcel_dtype_t dtype, int64_t rows) {
  mlxcel_op_class_t op = weight->bits ? MLXCEL_OP_QUANTIZED_MATMUL : MLXCEL_OP_DENSE_MATMUL;
  mlxcel_operation_t operation = mlxcel_row_operation(op, MLXCEL_VARIANT_NONE, dtype, rows, weight->in_features);
  operation.weight_dtype = mlxcel_weight_dtype(weight->type);
  operation.out_features = weight->out_features;
  operation.bits = weight->bits;
  operation.group_size = weight->bits ? weight->group_size : 0;
  operation.has_bias = mlxcel_weight_tensor_is_present(&weight->vector);
  operation.bias_dtype = operation.has_bias ? mlxcel_weight_dtype(weight->vector_type) : operation.weight_dtype;
  return operation;
}

mlxcel_operation_t mlxcel_embedding_operation(const mlxcel_weight_t* table, mlxcel_dtype_t dtype, int64_t rows) {
  mlxcel_operation_t operation = mlxcel_weight_operation(table, dtype, rows);
  operation.op = MLXCEL_OP_EMBEDDING;
  return operation;
}

mlxcel_operation_t mlxcel_rms_norm_operation(const mlxcel_weight_vector_t* weight, mlxcel_dtype_t dtype, int64_t rows, float epsilon) {
  mlxcel_operation_t operation = mlxcel_row_operation(MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, dtype, rows, weight->size);
  operation.weight_dtype = mlxcel_weight_dtype(weight->type);
  operation.epsilon = epsilon;
  return operation;
}

mlxcel_operation_t mlxcel_attention_operation(mlxcel_op_class_t op, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype, int64_t rows,
                                              const mlxcel_attention_shape_t* shape) {
  mlxcel_operation_t operation = mlxcel_row_operation(op, variant, dtype, rows, 0);
  operation.heads = shape->heads;
  operation.kv_heads = shape->kv_heads;
  operation.head_dim = shape->head_dim;
  operation.keys = rows;
  operation.rope_dims = 2 * shape->rope_half;
  operation.scale = op == MLXCEL_OP_ROPE ? shape->rope_scale : shape->scale;
  operation.rope_base = shape->rope_base;
  operation.has_frequencies = op == MLXCEL_OP_ROPE && shape->rope_frequencies != NULL;
  return operation;
}

mlxcel_dtype_t mlxcel_kv_cache_dtype(mlxcel_module_builder_t* builder, const mlxcel_kv_values_t* kv) {
  mlxcel_dtype_t k = mlxcel_element_dtype(kv->k_cache.element), v = mlxcel_element_dtype(kv->v_cache.element);
  if (k != v || k > MLXCEL_DTYPE_BF16) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the caches of keys and values are %s and %s; give both one of f32, f16, bf16",
                                                 mlxcel_dtype_name(k), mlxcel_dtype_name(v)));
    return MLXCEL_DTYPE_F32;
  }
  return k;
}

int32_t mlxcel_weight_format(const mlxcel_weight_t* weight) {
  uint32_t group_log2 = 0;
  while ((1u << group_log2) < weight->group_size) ++group_log2;
  return MLXCEL_FORMAT((int32_t)weight->bits, (int32_t)(weight->bits ? group_log2 : 0), (int32_t)weight->type);
}

int32_t mlxcel_weight_flags(const mlxcel_weight_t* weight, bool residual) {
  bool has_bias = mlxcel_weight_tensor_is_present(&weight->vector);
  return MLXCEL_MATRIX_FLAGS(has_bias ? 1 : 0, residual ? 1 : 0, has_bias ? (int32_t)weight->vector_type : 0);
}

void mlxcel_dispatch_add_weight(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, const mlxcel_weight_t* weight) {
  const mlxcel_weight_tensor_t* tensors[] = {&weight->values, &weight->scales, &weight->biases, &weight->vector};
  mlxcel_value_t first = {0};
  for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); ++i) {
    mlxcel_value_t value = mlxcel_weight_tensor_is_present(tensors[i]) ? mlxcel_weight_tensor_value(builder, tensors[i]) : first;
    if (i == 0) first = value;
    mlxcel_dispatch_add(dispatch, value);
  }
}

void mlxcel_dispatch_add_i32(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, int64_t value) {
  if (value < INT32_MIN || value > INT32_MAX) {
    mlxcel_module_fail(builder,
                       iree_make_status(IREE_STATUS_UNIMPLEMENTED, "a kernel's size of %" PRId64 " is beyond 32 bits; use a smaller operation", value));
  }
  mlxcel_dispatch_add(dispatch, mlxcel_constant_i32(builder, (int32_t)value));
}
