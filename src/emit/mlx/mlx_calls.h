// mlx_calls.h: one call of one kernel of kernels/mlx_abi.h, that is one primitive of MLX, as values of the module. Shared by emit/mlx only; no clauses here.
#ifndef MLXCEL_EMIT_MLX_MLX_CALLS_H_
#define MLXCEL_EMIT_MLX_MLX_CALLS_H_

#include "emit/helpers/helper_common.h"
#include "emit/mlx/mlx_helpers.h"

int64_t mlxcel_mlx_element_count(const mlxcel_value_t* value);  // of a static shape
mlxcel_element_t mlxcel_mlx_promote(mlxcel_element_t left, mlxcel_element_t right);
mlxcel_element_t mlxcel_mlx_weight_element(mlxcel_weight_type_t type);

// f32[count], every element |value|; f32[count] of |values|.
mlxcel_value_t mlxcel_mlx_constant_f32s(mlxcel_module_builder_t* builder, int64_t count, float value);
mlxcel_value_t mlxcel_mlx_constant_vector(mlxcel_module_builder_t* builder, int64_t count, const float* values);

// Elementwise; results have a's shape and dtype.
mlxcel_value_t mlxcel_mlx_unary(mlxcel_module_builder_t* builder, mlxcel_mlx_elementwise_t operation, mlxcel_value_t a);
mlxcel_value_t mlxcel_mlx_scalar(mlxcel_module_builder_t* builder, mlxcel_mlx_elementwise_t operation, mlxcel_value_t a, double scalar);
// b has a's dtype; element i of a meets element (i / divide) mod count(b).
mlxcel_value_t mlxcel_mlx_broadcast(mlxcel_module_builder_t* builder, mlxcel_mlx_elementwise_t operation, mlxcel_value_t a, mlxcel_value_t b, int64_t divide);
// Same counts; dtypes are promoted first, as MLX does.
mlxcel_value_t mlxcel_mlx_binary(mlxcel_module_builder_t* builder, mlxcel_mlx_elementwise_t operation, mlxcel_value_t a, mlxcel_value_t b);
// a itself if it has |element| already.
mlxcel_value_t mlxcel_mlx_convert(mlxcel_module_builder_t* builder, mlxcel_value_t a, mlxcel_element_t element);
mlxcel_value_t mlxcel_mlx_host(mlxcel_module_builder_t* builder, mlxcel_host_unary_t function, mlxcel_value_t x, double scalar);

mlxcel_value_t mlxcel_mlx_row_sum(mlxcel_module_builder_t* builder, mlxcel_value_t x, int64_t rows, int64_t width);  // [rows]
mlxcel_value_t mlxcel_mlx_scan(mlxcel_module_builder_t* builder, mlxcel_value_t x, int64_t outer, int64_t length, int64_t inner);
mlxcel_value_t mlxcel_mlx_softmax(mlxcel_module_builder_t* builder, mlxcel_value_t x, int64_t rows, int64_t width, bool precise);

// |lookup| false: all |rows| rows of the table, tokens and positions aren't read.
mlxcel_value_t mlxcel_mlx_embed(mlxcel_module_builder_t* builder, const mlxcel_weight_t* table, mlxcel_value_t tokens, mlxcel_value_t positions, int64_t rows,
                                bool lookup);
mlxcel_value_t mlxcel_mlx_matmul(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* weight, mlxcel_value_t x, mlxcel_value_t positions);

typedef enum mlxcel_mlx_norm_mode_e {  // the kernel's modes
  MLXCEL_MLX_NORM_PLAIN,
  MLXCEL_MLX_NORM_GEMMA,
  MLXCEL_MLX_NORM_SINGLE_ROUNDING,
} mlxcel_mlx_norm_mode_t;
typedef struct mlxcel_mlx_norm_t {
  int64_t rows, width;
  mlxcel_mlx_norm_mode_t mode;
  bool gather;
  float epsilon;
} mlxcel_mlx_norm_t;
mlxcel_value_t mlxcel_mlx_rms_norm(mlxcel_module_builder_t* builder, const mlxcel_mlx_norm_t* norm, mlxcel_value_t x, mlxcel_value_t index,
                                   mlxcel_value_t weight, mlxcel_element_t weight_element);
mlxcel_value_t mlxcel_mlx_layer_norm(mlxcel_module_builder_t* builder, const mlxcel_mlx_norm_t* norm, mlxcel_value_t x, mlxcel_value_t weight,
                                     mlxcel_value_t bias);

typedef struct mlxcel_mlx_rope_t {
  int64_t rows, heads, head_dim, rope_dims;
  bool interleaved;
  float base, scale;
  const mlxcel_value_t* frequencies;  // f32[rope_dims / 2]; NULL = from the base
} mlxcel_mlx_rope_t;
mlxcel_value_t mlxcel_mlx_rope(mlxcel_module_builder_t* builder, const mlxcel_mlx_rope_t* rope, mlxcel_value_t x, mlxcel_value_t positions);

// k and v of every active row go into the caches; |kv| becomes the updated ones.
void mlxcel_mlx_kv_store(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape, mlxcel_value_t k,
                         mlxcel_value_t v, mlxcel_kv_values_t* kv);
// |mask|: of MASK_ADDITIVE, T[rows, keys]; NULL otherwise.
mlxcel_value_t mlxcel_mlx_attention(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                    mlxcel_op_variant_t variant, mlxcel_value_t q, const mlxcel_kv_values_t* kv, const mlxcel_value_t* mask);
// |result|: the shape.
mlxcel_value_t mlxcel_mlx_convolution(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t x, mlxcel_value_t w,
                                      const mlxcel_operand_t* result);

// With their clauses; x, gate and up are matrices.
mlxcel_value_t mlxcel_mlx_emit_activation(mlxcel_module_builder_t* builder, mlxcel_op_variant_t variant, mlxcel_value_t x);
// act(gate) * up.
mlxcel_value_t mlxcel_mlx_emit_gate(mlxcel_module_builder_t* builder, mlxcel_op_variant_t variant, mlxcel_value_t gate, mlxcel_value_t up);
mlxcel_value_t mlxcel_mlx_emit_cumulative_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t x, mlxcel_value_t weight);

#endif  // MLXCEL_EMIT_MLX_MLX_CALLS_H_
