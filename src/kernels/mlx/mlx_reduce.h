// mlx_reduce.h: softmax, cumulative and row sums of one line.
#ifndef MLXCEL_KERNELS_MLX_MLX_REDUCE_H_
#define MLXCEL_KERNELS_MLX_MLX_REDUCE_H_

#include "kernels/mlx/mlx_elementary.h"

// A NaN stays.
MLXCEL_INLINE float running_maximum(float value, float maximum) { return value != value || value > maximum ? value : maximum; }

// |work|: the type of every step.
MLXCEL_INLINE void softmax_row_typed(const uint8_t* x, size_t width, int type, int work, uint8_t* out) {
  float maximum = -__builtin_inff(), sum = 0.0f;
  for (size_t i = 0; i < width; ++i) maximum = running_maximum(load_typed(x, i, type), maximum);
  for (size_t i = 0; i < width; ++i) sum = round_to(sum + round_to(mlx_exp(round_to(load_typed(x, i, type) - maximum, work)), work), work);
  float inverse = round_to(1.0f / sum, work);
  for (size_t i = 0; i < width; ++i) {
    float e = round_to(mlx_exp(round_to(load_typed(x, i, type) - maximum, work)), work);
    store_typed(out, i, type, e * inverse);
  }
}
static void softmax_row(const uint8_t* x, size_t width, int type, bool precise, uint8_t* out) {
  if (type == MLXCEL_FORMAT_F32) softmax_row_typed(x, width, MLXCEL_FORMAT_F32, MLXCEL_FORMAT_F32, out);
  if (type == MLXCEL_FORMAT_F16 && precise) softmax_row_typed(x, width, MLXCEL_FORMAT_F16, MLXCEL_FORMAT_F32, out);
  if (type == MLXCEL_FORMAT_F16 && !precise) softmax_row_typed(x, width, MLXCEL_FORMAT_F16, MLXCEL_FORMAT_F16, out);
  if (type == MLXCEL_FORMAT_BF16 && precise) softmax_row_typed(x, width, MLXCEL_FORMAT_BF16, MLXCEL_FORMAT_F32, out);
  if (type == MLXCEL_FORMAT_BF16 && !precise) softmax_row_typed(x, width, MLXCEL_FORMAT_BF16, MLXCEL_FORMAT_BF16, out);
}

// Elements |first|, |first| + |stride| ...; the first is taken as it is.
static void scan_line(const uint8_t* x, size_t first, size_t stride, size_t length, int type, uint8_t* out) {
  float sum = length ? load_typed(x, first, type) : 0.0f;
  for (size_t i = 0; i < length; ++i) {
    if (i) sum = round_to(sum + load_typed(x, first + i * stride, type), type);
    store_typed(out, first + i * stride, type, sum);
  }
}

#endif  // MLXCEL_KERNELS_MLX_MLX_REDUCE_H_
