// Gemma 3n's cumulative group norm: statistics over frequencies and channels of all time steps so far. Everything in f32, one rounding at the end.
#include "emit/mlx/mlx_calls.h"

#define COUNT_EXACT_MAX (1 << 24)  // the element count of a step must be an f32

// Sums of the rows' elements, accumulated over the rows, divided by |counts|: f32[rows].
static mlxcel_value_t cumulative_mean(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t x, mlxcel_value_t counts) {
  mlxcel_value_t sums = mlxcel_mlx_row_sum(builder, x, operation->rows, operation->in_features * operation->out_features);
  return mlxcel_mlx_binary(builder, MLXCEL_MLX_DIVIDE, mlxcel_mlx_scan(builder, sums, 1, operation->rows, 1), counts);
}

// Elements up to and with every step, at least 1: MLX sums a mask of ones.
static mlxcel_value_t cumulative_counts(mlxcel_module_builder_t* builder, int64_t rows, int64_t elements) {
  if (elements > COUNT_EXACT_MAX) {
    mlxcel_module_fail(
        builder, iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                                  "cumulative-norm over %" PRId64 " elements a step: counts above %d aren't exact; use fewer frequencies or channels", elements,
                                  COUNT_EXACT_MAX));
  }
  mlxcel_value_t counts = mlxcel_mlx_scan(builder, mlxcel_mlx_constant_f32s(builder, rows, (float)elements), 1, rows, 1);
  return mlxcel_mlx_scalar(builder, MLXCEL_MLX_MAXIMUM, counts, 1.0);
}

mlxcel_value_t mlxcel_mlx_emit_cumulative_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t x, mlxcel_value_t weight) {
  mlxcel_emit_clause(builder, operation);
  int64_t step = operation->in_features * operation->out_features;
  mlxcel_value_t wide = mlxcel_mlx_convert(builder, x, MLXCEL_ELEMENT_F32), counts = cumulative_counts(builder, operation->rows, step);
  mlxcel_value_t centered = mlxcel_mlx_broadcast(builder, MLXCEL_MLX_SUBTRACT, wide, cumulative_mean(builder, operation, wide, counts), step);
  mlxcel_value_t variance = cumulative_mean(builder, operation, mlxcel_mlx_host(builder, MLXCEL_HOST_POWER, centered, 2.0), counts);
  mlxcel_value_t root = mlxcel_mlx_unary(builder, MLXCEL_MLX_RSQRT, mlxcel_mlx_scalar(builder, MLXCEL_MLX_ADD, variance, (double)operation->epsilon));
  mlxcel_value_t y = mlxcel_mlx_broadcast(builder, MLXCEL_MLX_MULTIPLY, centered, root, step);
  y = mlxcel_mlx_broadcast(builder, MLXCEL_MLX_MULTIPLY, y, mlxcel_mlx_convert(builder, weight, MLXCEL_ELEMENT_F32), 1);
  return mlxcel_mlx_convert(builder, y, x.element);
}
