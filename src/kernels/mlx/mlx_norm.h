// mlx_norm.h: RMSNorm and LayerNorm of one row.
#ifndef MLXCEL_KERNELS_MLX_MLX_NORM_H_
#define MLXCEL_KERNELS_MLX_MLX_NORM_H_

#include "kernels/mlx/mlx_number.h"

typedef enum rms_mode_e { RMS_PLAIN, RMS_ONE_PLUS_WEIGHT, RMS_ONE_ROUNDING } rms_mode_t;  // argument |mode|

typedef struct norm_t {
  const uint8_t *weight, *bias;
  size_t width;
  int x_type, weight_type, out_type;
  rms_mode_t mode;
  float eps;
} norm_t;

// Sum of squares, or of squared distances from |center|.
MLXCEL_INLINE float sum_of_squares(const uint8_t* x, size_t width, int type, float center) {
  float sum = 0.0f;
  for (size_t i = 0; i < width; ++i) {
    float d = load_typed(x, i, type) - center;  // exact for a center of 0
    sum = sum + d * d;
  }
  return sum;
}
// A sum of one element is that element, where a sum that starts at +0 would lose the sign of -0.
MLXCEL_INLINE float sum_of(const uint8_t* x, size_t width, int type) {
  if (width == 1) return load_typed(x, 0, type);
  float sum = 0.0f;
  for (size_t i = 0; i < width; ++i) sum = sum + load_typed(x, i, type);
  return sum;
}
// MLX multiplies by the reciprocal of the width.
MLXCEL_INLINE float mean_of(float sum, size_t width) { return sum * (1.0f / (float)width); }

static void rms_norm_row(const norm_t* a, const uint8_t* x, uint8_t* out) {
  float r = 1.0f / f32_sqrt(mean_of(sum_of_squares(x, a->width, a->x_type, 0.0f), a->width) + a->eps);
  int step = a->mode == RMS_ONE_ROUNDING ? MLXCEL_FORMAT_F32 : a->out_type;
  for (size_t i = 0; i < a->width; ++i) {
    float w = load_typed(a->weight, i, a->weight_type);
    if (a->mode == RMS_ONE_PLUS_WEIGHT) w = round_to(1.0f + w, a->weight_type);
    store_typed(out, i, a->out_type, round_to(load_typed(x, i, a->x_type) * r, step) * w);
  }
}

static void layer_norm_row(const norm_t* a, const uint8_t* x, uint8_t* out) {
  float mu = mean_of(sum_of(x, a->width, a->x_type), a->width);
  float r = 1.0f / f32_sqrt(mean_of(sum_of_squares(x, a->width, a->x_type, mu), a->width) + a->eps);
  for (size_t i = 0; i < a->width; ++i) {
    float y = round_to((load_typed(x, i, a->x_type) - mu) * r, a->out_type);
    y = round_to(y * load_typed(a->weight, i, a->weight_type), a->out_type);
    store_typed(out, i, a->out_type, y + load_typed(a->bias, i, a->weight_type));
  }
}

#endif  // MLXCEL_KERNELS_MLX_MLX_NORM_H_
