// attention.h: one row's attention over the live part of its slot's cache, block by block of MLXCEL_ATTENTION_BLOCK keys (the order is in kernel_abi.h).
#ifndef MLXCEL_KERNELS_CPU_ATTENTION_H_
#define MLXCEL_KERNELS_CPU_ATTENTION_H_

#include "kernels/cpu/elementary.h"

#define HEAD_DIM_MAX 512  // MLXCEL_HEAD_DIM_MAX: a head's accumulators live on the stack

// Scores of up to sixteen keys, the last |count| - 1 repeated behind the end.
MLXCEL_INLINE v16 scores16(const float* q, const float* keys, int count, int head_dim, float scale) {
  v16 acc[16];
  for (int j = 0; j < 16; j += 4) {
    const float* key[4];
    v16 part[4];
    for (int i = 0; i < 4; ++i) {
      key[i] = keys + (size_t)(j + i < count ? j + i : count - 1) * (size_t)head_dim;
      part[i] = v16_zero();
    }
    int d = 0;
    for (; d + 16 <= head_dim; d += 16) {
      v16 qv = v16_load(q + d);
      for (int i = 0; i < 4; ++i) part[i] = v16_fma(qv, v16_load(key[i] + d), part[i]);
    }
    if (d < head_dim) {
      v16 qv = v16_load_first(q + d, head_dim - d);
      for (int i = 0; i < 4; ++i) part[i] = v16_select_first(v16_fma(qv, v16_load_first(key[i] + d, head_dim - d), part[i]), part[i], head_dim - d);
    }
    for (int i = 0; i < 4; ++i) acc[j + i] = part[i];
  }
  return v16_mul(v16_tree_of_16(acc), v16_set1(scale));
}

// o[d] += p[j] * v[j][d] over the keys of a block, in order of j, for |lanes| registers of d at once.
MLXCEL_INLINE void weigh_values(const float* p, const float* values, int count, int head_dim, int d, int lanes, float* o) {
  v16 acc[4];
  for (int i = 0; i < lanes; ++i) acc[i] = v16_zero();
  for (int j = 0; j < count; ++j) {
    v16 pv = v16_set1(p[j]);
    const float* row = values + (size_t)j * (size_t)head_dim + d;
    for (int i = 0; i < lanes; ++i) acc[i] = v16_fma(pv, v16_load(row + 16 * i), acc[i]);
  }
  for (int i = 0; i < lanes; ++i) v16_store(o + d + 16 * i, acc[i]);
}
static void weigh_values_tail(const float* p, const float* values, int count, int head_dim, int d, float* o) {
  v16 acc = v16_zero();
  for (int j = 0; j < count; ++j) acc = v16_fma(v16_set1(p[j]), v16_load_first(values + (size_t)j * (size_t)head_dim + d, head_dim - d), acc);
  v16_store_first(o + d, acc, head_dim - d);
}

// One block of keys: its maximum, sum and weighted values.
static void attention_block(const float* q, const float* keys, const float* values, int count, int head_dim, float scale, float* out_max, float* out_sum,
                            float* o) {
  float p[MLXCEL_ATTENTION_BLOCK];
  float m = -__builtin_inff();
  for (int j = 0; j < count; j += 16) {
    v16_store(p + j, scores16(q, keys + (size_t)j * (size_t)head_dim, count - j, head_dim, scale));
    for (int i = j; i < count && i < j + 16; ++i) m = p[i] > m ? p[i] : m;
  }
  v16 sum = v16_zero();
  for (int j = 0; j < count; j += 16) {
    v16 e = v16_exp(v16_sub(v16_load(p + j), v16_set1(m)));
    v16_store(p + j, e);
    v16 added = v16_add(sum, e);
    sum = count - j >= 16 ? added : v16_select_first(added, sum, count - j);
  }
  int d = 0;
  for (; d + 64 <= head_dim; d += 64) weigh_values(p, values, count, head_dim, d, 4, o);
  for (; d + 16 <= head_dim; d += 16) weigh_values(p, values, count, head_dim, d, 1, o);
  if (d < head_dim) weigh_values_tail(p, values, count, head_dim, d, o);
  *out_max = m;
  *out_sum = v16_tree(sum);
}

// Folds a block's (mb, lb, ob) into the running (m, l, o).
static void attention_combine(float mb, float lb, const float* ob, int head_dim, float* m, float* l, float* o) {
  float top = *m < mb ? mb : *m;
  float a = f32_exp(*m - top), c = f32_exp(mb - top);
  *l = _mm_cvtss_f32(_mm_fmadd_ss(_mm_set_ss(*l), _mm_set_ss(a), _mm_set_ss(lb * c)));
  *m = top;
  v16 av = v16_set1(a), cv = v16_set1(c);
  int d = 0;
  for (; d + 16 <= head_dim; d += 16) v16_store(o + d, v16_fma(v16_load(o + d), av, v16_mul(v16_load(ob + d), cv)));
  if (d == head_dim) return;
  v16 tail = v16_fma(v16_load_first(o + d, head_dim - d), av, v16_mul(v16_load_first(ob + d, head_dim - d), cv));
  v16_store_first(o + d, tail, head_dim - d);
}

static void attention_row(const float* q, const float* keys, const float* values, int length, int head_dim, float scale, float* out) {
  float o[HEAD_DIM_MAX], ob[HEAD_DIM_MAX], m = 0, l = 0;
  for (int j = 0; j < length; j += MLXCEL_ATTENTION_BLOCK) {
    int count = length - j < MLXCEL_ATTENTION_BLOCK ? length - j : MLXCEL_ATTENTION_BLOCK;
    const float *k = keys + (size_t)j * (size_t)head_dim, *v = values + (size_t)j * (size_t)head_dim;
    if (j == 0) {
      attention_block(q, k, v, count, head_dim, scale, &m, &l, o);
    } else {
      float mb, lb;
      attention_block(q, k, v, count, head_dim, scale, &mb, &lb, ob);
      attention_combine(mb, lb, ob, head_dim, &m, &l, o);
    }
  }
  int d = 0;
  for (; d + 16 <= head_dim; d += 16) v16_store(out + d, v16_div(v16_load(o + d), v16_set1(l)));
  for (; d < head_dim; ++d) out[d] = o[d] / l;
}

#endif  // MLXCEL_KERNELS_CPU_ATTENTION_H_
