// mlx_attention.h: attention of one row of one head, as MLX's CPU backend decomposes it: scores, softmax in f32, weighted values, each rounded to the dtype.
#ifndef MLXCEL_KERNELS_MLX_MLX_ATTENTION_H_
#define MLXCEL_KERNELS_MLX_MLX_ATTENTION_H_

#include "kernels/mlx/mlx_reduce.h"

#define HEAD_DIM_MAX 512   // MLXCEL_HEAD_DIM_MAX: a head's query and accumulators live on the stack
#define SCORES_BLOCK 4096  // keys whose scores the stack holds (16 KiB); of longer rows the scores are computed in each of the three passes
#define SCORES_TOGETHER 8  // keys whose sums run side by side

typedef struct attention_row_t {
  const uint8_t *keys, *values;  // [length, head_dim]
  const uint8_t* mask;           // [length] or NULL
  size_t length, head_dim;
  int type;
  float q[HEAD_DIM_MAX];  // scaled and rounded
} attention_row_t;

MLXCEL_INLINE void scores_typed(const attention_row_t* a, size_t begin, size_t end, int type, float* scores) {
  for (size_t j = begin; j < end; j += SCORES_TOGETHER) {
    const uint8_t* key[SCORES_TOGETHER];
    float sum[SCORES_TOGETHER];
    for (size_t i = 0; i < SCORES_TOGETHER; ++i) {
      key[i] = a->keys + (j + i < end ? j + i : end - 1) * a->head_dim * type_bytes(type);  // beyond the end: computed again, not stored
      sum[i] = 0.0f;
    }
    for (size_t d = 0; d < a->head_dim; ++d) {
      for (size_t i = 0; i < SCORES_TOGETHER; ++i) sum[i] = sum[i] + a->q[d] * load_typed(key[i], d, type);
    }
    for (size_t i = 0; i < SCORES_TOGETHER && j + i < end; ++i) {
      float s = round_to(sum[i], type);
      scores[j + i - begin] = a->mask ? round_to(s + load_typed(a->mask, j + i, type), type) : s;
    }
  }
}
static void scores_of(const attention_row_t* a, size_t begin, size_t end, float* scores) {
  if (a->type == MLXCEL_FORMAT_F32) scores_typed(a, begin, end, MLXCEL_FORMAT_F32, scores);
  if (a->type == MLXCEL_FORMAT_F16) scores_typed(a, begin, end, MLXCEL_FORMAT_F16, scores);
  if (a->type == MLXCEL_FORMAT_BF16) scores_typed(a, begin, end, MLXCEL_FORMAT_BF16, scores);
}

MLXCEL_INLINE void weigh_typed(const attention_row_t* a, size_t begin, const float* weights, size_t count, int type, float* sums) {
  for (size_t j = 0; j < count; ++j) {
    const uint8_t* value = a->values + (begin + j) * a->head_dim * type_bytes(type);
    for (size_t d = 0; d < a->head_dim; ++d) sums[d] = sums[d] + weights[j] * load_typed(value, d, type);
  }
}
// sums += weights * values for keys begin .. begin + count, in order of the keys.
static void weigh_values(const attention_row_t* a, size_t begin, const float* weights, size_t count, float* sums) {
  if (a->type == MLXCEL_FORMAT_F32) weigh_typed(a, begin, weights, count, MLXCEL_FORMAT_F32, sums);
  if (a->type == MLXCEL_FORMAT_F16) weigh_typed(a, begin, weights, count, MLXCEL_FORMAT_F16, sums);
  if (a->type == MLXCEL_FORMAT_BF16) weigh_typed(a, begin, weights, count, MLXCEL_FORMAT_BF16, sums);
}

static void attention_row(const attention_row_t* a, uint8_t* out) {
  float scores[SCORES_BLOCK], sums[HEAD_DIM_MAX], maximum = -__builtin_inff(), total = 0.0f;
  bool once = a->length <= SCORES_BLOCK;
  for (size_t j = 0; j < a->length; j += SCORES_BLOCK) {
    size_t end = a->length - j < SCORES_BLOCK ? a->length : j + SCORES_BLOCK;
    scores_of(a, j, end, scores);
    for (size_t i = 0; i < end - j; ++i) maximum = running_maximum(scores[i], maximum);
  }
  for (size_t j = 0; j < a->length; j += SCORES_BLOCK) {
    size_t end = a->length - j < SCORES_BLOCK ? a->length : j + SCORES_BLOCK;
    if (!once) scores_of(a, j, end, scores);
    for (size_t i = 0; i < end - j; ++i) {
      scores[i] = mlx_exp(scores[i] - maximum);
      total = total + scores[i];
    }
  }
  float inverse = 1.0f / total;
  for (size_t d = 0; d < a->head_dim; ++d) sums[d] = 0.0f;
  for (size_t j = 0; j < a->length; j += SCORES_BLOCK) {
    size_t end = a->length - j < SCORES_BLOCK ? a->length : j + SCORES_BLOCK;
    if (!once) scores_of(a, j, end, scores);
    for (size_t i = 0; i < end - j; ++i) scores[i] = round_to((once ? scores[i] : mlx_exp(scores[i] - maximum)) * inverse, a->type);
    weigh_values(a, j, scores, end - j, sums);
  }
  for (size_t d = 0; d < a->head_dim; ++d) store_typed(out, d, a->type, sums[d]);
}

#endif  // MLXCEL_KERNELS_MLX_MLX_ATTENTION_H_
