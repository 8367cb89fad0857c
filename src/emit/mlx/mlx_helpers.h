// mlx_helpers.h: helpers of profile mlx-cpu-0.32.4: sequences of the sequential kernels, one MLX primitive each (kernels/mlx_abi.h).
#ifndef MLXCEL_EMIT_MLX_MLX_HELPERS_H_
#define MLXCEL_EMIT_MLX_MLX_HELPERS_H_

#include "emit/helpers/helpers.h"
#include "kernels/mlx_abi.h"

// Emits |operation| (operands and result as in contract/operation.h) with its clauses.
mlxcel_value_t mlxcel_mlx_emit_operation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);

// What helpers/ calls for models; contracts as in helpers.h.
mlxcel_value_t mlxcel_mlx_emit_embedding(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_weight_t* table, mlxcel_value_t tokens);
mlxcel_value_t mlxcel_mlx_emit_rms_norm(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_vector_t* weight, float epsilon, mlxcel_value_t x,
                                        mlxcel_value_t index, bool gather);
mlxcel_value_t mlxcel_mlx_emit_matmul(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* weight, mlxcel_value_t x, mlxcel_value_t positions,
                                      const mlxcel_value_t* residual);
mlxcel_value_t mlxcel_mlx_emit_silu_gate(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* gate, const mlxcel_weight_t* up,
                                         mlxcel_value_t x, mlxcel_value_t positions);
mlxcel_value_t mlxcel_mlx_emit_qkv_rope(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                        const mlxcel_weight_t* q, const mlxcel_weight_t* k, const mlxcel_weight_t* v, mlxcel_value_t x, mlxcel_kv_values_t* kv);
mlxcel_value_t mlxcel_mlx_emit_attention(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                         mlxcel_value_t q, const mlxcel_kv_values_t* kv);
// x as f32 (logits leave a module as f32; widening is exact).
mlxcel_value_t mlxcel_mlx_emit_widen(mlxcel_module_builder_t* builder, mlxcel_value_t x);

#endif  // MLXCEL_EMIT_MLX_MLX_HELPERS_H_
