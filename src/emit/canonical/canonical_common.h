// canonical_common.h: shared by the helpers of profile iree-canonical only.
#ifndef MLXCEL_EMIT_CANONICAL_CANONICAL_COMMON_H_
#define MLXCEL_EMIT_CANONICAL_CANONICAL_COMMON_H_

#include "emit/canonical/canonical_helpers.h"
#include "emit/canonical/hlo.h"
#include "emit/canonical/loop_body.h"
#include "emit/operation_emitter.h"

// One function an operation class; operands and results as contract/operation.h lists them. Each adds its own clauses.
mlxcel_value_t mlxcel_canonical_dequantize(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_dense_matmul(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_quantized_matmul(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_layer_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_rms_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_cumulative_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_residual_add(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_activation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_silu_gate(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_softmax(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_attention(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_rope(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_prefix_scan(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
mlxcel_value_t mlxcel_canonical_convolution(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
// Compositions of the above.
mlxcel_value_t mlxcel_canonical_activation_projection(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);

// The map of a tensor whose dimensions are walked by loops 0, 1, ...: "012".
const char* mlxcel_canonical_identity_map(uint32_t rank);
// One 'p' a dimension.
const char* mlxcel_canonical_parallel(uint32_t rank);
// f32 |value|, every element rounded to |dtype| and stored as that; f32 as it is.
mlxcel_value_t mlxcel_canonical_narrowed(mlxcel_module_builder_t* builder, mlxcel_value_t value, mlxcel_dtype_t dtype);
// In a body: round |a| to |dtype| after a multiplication or an addition.
mlxcel_value_t mlxcel_canonical_multiplied(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t a, mlxcel_value_t b);
mlxcel_value_t mlxcel_canonical_added(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t a, mlxcel_value_t b);
// In a body: 1 / a, and 1 / sqrt(a): two correctly rounded operations instead of an approximate one.
mlxcel_value_t mlxcel_canonical_reciprocal(mlxcel_module_builder_t* builder, mlxcel_value_t a);
mlxcel_value_t mlxcel_canonical_reciprocal_root(mlxcel_module_builder_t* builder, mlxcel_value_t a);
// In a body: f(x) of an activation variant with every rounding of the clause; |x| is f32 on the grid of |dtype|, and so is the result.
mlxcel_value_t mlxcel_canonical_activated(mlxcel_module_builder_t* builder, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype, mlxcel_value_t x);

typedef enum mlxcel_softmax_form_e { MLXCEL_SOFTMAX_PRECISE, MLXCEL_SOFTMAX_SAME_DTYPE } mlxcel_softmax_form_t;
// Softmax over the last dimension of |x| (of |dtype|).
mlxcel_value_t mlxcel_canonical_softmax_of(mlxcel_module_builder_t* builder, mlxcel_softmax_form_t form, mlxcel_dtype_t dtype, mlxcel_value_t x);

#endif  // MLXCEL_EMIT_CANONICAL_CANONICAL_COMMON_H_
