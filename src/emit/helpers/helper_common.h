// helper_common.h: shared by the helpers' sources only: weights as kernel operands and as operations, whose clauses the profile's table holds.
#ifndef MLXCEL_EMIT_HELPERS_HELPER_COMMON_H_
#define MLXCEL_EMIT_HELPERS_HELPER_COMMON_H_

#include "emit/helpers/helpers.h"
#include "emit/operation_emitter.h"

// Which helpers a module's profile uses. Another profile has none for models: the builder fails, and the pinned helper's text is written in vain.
bool mlxcel_emit_uses_mlx(mlxcel_module_builder_t* builder);

bool mlxcel_weight_tensor_is_present(const mlxcel_weight_tensor_t* tensor);
// The tensor as a value of the current function: its parameter, or the value that stands for it.
mlxcel_value_t mlxcel_weight_tensor_value(mlxcel_module_builder_t* builder, const mlxcel_weight_tensor_t* tensor);
mlxcel_dtype_t mlxcel_weight_dtype(mlxcel_weight_type_t type);

// x W^T [+ bias], x of dtype |dtype|: the operation whose clause a projection has.
mlxcel_operation_t mlxcel_weight_operation(const mlxcel_weight_t* weight, mlxcel_dtype_t dtype, int64_t rows);
// Operations of activations alone.
mlxcel_operation_t mlxcel_row_operation(mlxcel_op_class_t op, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype, int64_t rows, int64_t width);
mlxcel_operation_t mlxcel_embedding_operation(const mlxcel_weight_t* table, mlxcel_dtype_t dtype, int64_t rows);
mlxcel_operation_t mlxcel_rms_norm_operation(const mlxcel_weight_vector_t* weight, mlxcel_dtype_t dtype, int64_t rows, float epsilon);
// attention, rope and kv-store over a cache; |keys| is the least that holds the rows, since no clause depends on it.
mlxcel_operation_t mlxcel_attention_operation(mlxcel_op_class_t op, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype, int64_t rows,
                                              const mlxcel_attention_shape_t* shape);

// The element type of both caches, f32, f16 or bf16: the kernels' kv_type. The builder fails if they differ or are of another type.
mlxcel_dtype_t mlxcel_kv_cache_dtype(mlxcel_module_builder_t* builder, const mlxcel_kv_values_t* kv);

// Adds the matrix's four buffers; absent ones repeat the first.
void mlxcel_dispatch_add_weight(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, const mlxcel_weight_t* weight);
void mlxcel_dispatch_add_i32(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, int64_t value);
int32_t mlxcel_weight_format(const mlxcel_weight_t* weight);
int32_t mlxcel_weight_flags(const mlxcel_weight_t* weight, bool residual);
// Rows of a table by the pinned kernel, without a clause: f32[rows, in_features].
mlxcel_value_t mlxcel_pinned_embed(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_weight_t* table, mlxcel_value_t tokens);

#endif  // MLXCEL_EMIT_HELPERS_HELPER_COMMON_H_
