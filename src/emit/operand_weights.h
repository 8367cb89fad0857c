// operand_weights.h: an operation's operands as the weights, rows and shapes that the helpers for models take. For operation_emitter and its profiles.
#ifndef MLXCEL_EMIT_OPERAND_WEIGHTS_H_
#define MLXCEL_EMIT_OPERAND_WEIGHTS_H_

#include "emit/helpers/helper_common.h"

// A matrix [out_features, in_features] of the operation's weight dtype from the operands at |operands|: one if it is dense, three if affine. |out_weight|
// points to the operands. Returns how many they are.
size_t mlxcel_operand_weight(const mlxcel_operation_t* operation, const mlxcel_value_t* operands, int64_t out_features, mlxcel_weight_t* out_weight);
// The bias vector at |operand| for a matmul's weight.
void mlxcel_operand_weight_bias(const mlxcel_operation_t* operation, const mlxcel_value_t* operand, mlxcel_weight_t* weight);

mlxcel_attention_shape_t mlxcel_operand_attention_shape(const mlxcel_operation_t* operation);

// i32[count]: |start|, |start| + |step|, ...; positions of rows that are all active are 0, 0, ...
mlxcel_value_t mlxcel_operand_rows(mlxcel_module_builder_t* builder, int64_t count, int32_t start, int32_t step);

// The caches behind each other, k first: what a kv-store gives back. Bits are moved only.
mlxcel_value_t mlxcel_operand_caches(mlxcel_module_builder_t* builder, const mlxcel_kv_values_t* kv);
// q, then the caches, flat: what a qkv-rope gives back. Bits are moved only.
mlxcel_value_t mlxcel_operand_query_and_caches(mlxcel_module_builder_t* builder, mlxcel_value_t q, const mlxcel_kv_values_t* kv);

#endif  // MLXCEL_EMIT_OPERAND_WEIGHTS_H_
