// mlx_rope.h: rotary embedding of all heads of one row.
#ifndef MLXCEL_KERNELS_MLX_MLX_ROPE_H_
#define MLXCEL_KERNELS_MLX_MLX_ROPE_H_

#include "kernels/mlx/mlx_elementary.h"

typedef struct rope_t {
  const uint8_t* frequencies;  // NULL: from |log_base|
  size_t heads, head_dim, half;
  int type;
  bool interleaved;
  float log_base, scale;
} rope_t;

static float rope_inverse_frequency(const rope_t* a, size_t j) {
  if (a->frequencies) return 1.0f / load_typed(a->frequencies, j, MLXCEL_FORMAT_F32);
  return mlx_exp(-(float)j * a->log_base);
}

static void rope_row(const rope_t* a, const uint8_t* x, int32_t position, uint8_t* out) {
  for (size_t j = 0; j < a->half; ++j) {
    float theta = (float)position * a->scale * rope_inverse_frequency(a, j);
    float c = round_to(mlx_cos(theta), a->type), s = round_to(mlx_sin(theta), a->type);
    for (size_t head = 0; head < a->heads; ++head) {
      size_t first = head * a->head_dim + (a->interleaved ? 2 * j : j), second = first + (a->interleaved ? 1 : a->half);
      float x1 = load_typed(x, first, a->type), x2 = load_typed(x, second, a->type);
      store_typed(out, first, a->type, round_to(x1 * c, a->type) - round_to(x2 * s, a->type));
      store_typed(out, second, a->type, round_to(x1 * s, a->type) + round_to(x2 * c, a->type));
    }
  }
  for (size_t head = 0; head < a->heads; ++head) {
    for (size_t d = 2 * a->half; d < a->head_dim; ++d) store_typed(out, head * a->head_dim + d, a->type, load_typed(x, head * a->head_dim + d, a->type));
  }
}

#endif  // MLXCEL_KERNELS_MLX_MLX_ROPE_H_
