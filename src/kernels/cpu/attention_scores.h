// attention_scores.h: scores of the queries that share keys: products with keys as they are stored, for few queries, and with keys that were turned, for many.
#ifndef MLXCEL_KERNELS_CPU_ATTENTION_SCORES_H_
#define MLXCEL_KERNELS_CPU_ATTENTION_SCORES_H_

#include "kernels/cpu/kv.h"

// Queries side by side in registers, keys side by side where they aren't turned.
#if defined(__AVX512F__)
#define QUERY_TILE 4
#define KEY_TILE 4
#define VALUE_TILE 4
#else
#define QUERY_TILE 2
#define KEY_TILE 2
#define VALUE_TILE 2
#endif
#define TURNED_TILE 4  // queries side by side where keys are turned

// Sixteen elements of a row of |type| from element d on, zeros behind its end.
MLXCEL_INLINE v16 row_load(const uint8_t* row, int type, int d, int head_dim) {
  const uint8_t* p = row + d * type_bytes(type);
  return d + 16 <= head_dim ? load_typed16(p, type) : load_typed_first(p, type, head_dim - d);
}

#define CACHE_LINE 64
// GCC keeps an array in registers if all loops over it are unrolled early, which it must be told; clang does so by itself, and worse if told.
#if defined(__clang__)
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 4")
#endif

// The tree over lanes in two halves that meet in few registers: |tree_begin| takes the products of KEY_TILE keys, |tree_end| four of its results. Their keys
// are TREE_STRIDE apart, as the shuffles leave them.
#define TREE_STRIDE 4
#if defined(__AVX512F__)
typedef __m512 vector_t;
MLXCEL_INLINE vector_t tree_begin(const v16 a[KEY_TILE]) {
  __m512 p = _mm512_add_ps(_mm512_shuffle_f32x4(a[0], a[1], 0x44), _mm512_shuffle_f32x4(a[0], a[1], 0xEE));
  __m512 q = _mm512_add_ps(_mm512_shuffle_f32x4(a[2], a[3], 0x44), _mm512_shuffle_f32x4(a[2], a[3], 0xEE));
  return _mm512_add_ps(_mm512_shuffle_f32x4(p, q, 0x88), _mm512_shuffle_f32x4(p, q, 0xDD));
}
MLXCEL_INLINE vector_t tree_end(const vector_t t[4]) {
  __m512 p = _mm512_add_ps(_mm512_shuffle_ps(t[0], t[1], 0x44), _mm512_shuffle_ps(t[0], t[1], 0xEE));
  __m512 q = _mm512_add_ps(_mm512_shuffle_ps(t[2], t[3], 0x44), _mm512_shuffle_ps(t[2], t[3], 0xEE));
  return _mm512_add_ps(_mm512_shuffle_ps(p, q, 0x88), _mm512_shuffle_ps(p, q, 0xDD));
}
MLXCEL_INLINE void store_scaled(float* p, vector_t a, float scale) { _mm512_storeu_ps(p, _mm512_mul_ps(a, _mm512_set1_ps(scale))); }
#else
typedef __m256 vector_t;
MLXCEL_INLINE vector_t tree_begin(const v16 a[KEY_TILE]) { return v8_add_halves(_mm256_add_ps(a[0].lo, a[0].hi), _mm256_add_ps(a[1].lo, a[1].hi)); }
MLXCEL_INLINE vector_t tree_end(const vector_t t[4]) { return v8_add_odds(v8_add_pairs(t[0], t[1]), v8_add_pairs(t[2], t[3])); }
MLXCEL_INLINE void store_scaled(float* p, vector_t a, float scale) { _mm256_storeu_ps(p, _mm256_mul_ps(a, _mm256_set1_ps(scale))); }
#endif
#define TREE_KEYS (TREE_STRIDE * KEY_TILE)

// Asks for the lines of |bytes| bytes, |ahead| bytes from |p|: scores ask for the values of their keys, values for the keys of the next block, which both come
// from memory once a step. Into the second-level cache: the first holds little more than what is being worked on. Beyond a cache's end it is harmless.
MLXCEL_INLINE void fetch(const uint8_t* p, ptrdiff_t ahead, int bytes) {
  for (int i = 0; i < bytes; i += CACHE_LINE) _mm_prefetch((const char*)((uintptr_t)p + (uintptr_t)ahead) + i, _MM_HINT_T1);
}

// Products of |queries| queries with KEY_TILE keys, summed up to where the keys' sums meet.
MLXCEL_INLINE void dot_tile(const float* const* q, const uint8_t* const key[KEY_TILE], int type, int queries, int head_dim, ptrdiff_t ahead,
                            vector_t out[QUERY_TILE]) {
  v16 acc[QUERY_TILE][KEY_TILE], kv[KEY_TILE];
  UNROLL for (int r = 0; r < queries; ++r) { UNROLL for (int i = 0; i < KEY_TILE; ++i) acc[r][i] = v16_zero(); }
  int d = 0;
  for (; d + 16 <= head_dim; d += 16) {
    UNROLL for (int i = 0; i < KEY_TILE; ++i) {
      kv[i] = load_typed16(key[i] + d * type_bytes(type), type);
      fetch(key[i] + d * type_bytes(type), ahead, 16 * type_bytes(type));
    }
    UNROLL for (int r = 0; r < queries; ++r) {
      v16 qv = v16_load(q[r] + d);
      UNROLL for (int i = 0; i < KEY_TILE; ++i) acc[r][i] = v16_fma(qv, kv[i], acc[r][i]);
    }
  }
  if (d < head_dim) {
    UNROLL for (int i = 0; i < KEY_TILE; ++i) kv[i] = row_load(key[i], type, d, head_dim);
    UNROLL for (int r = 0; r < queries; ++r) {
      v16 qv = v16_load_first(q[r] + d, head_dim - d);
      UNROLL for (int i = 0; i < KEY_TILE; ++i) acc[r][i] = v16_select_first(v16_fma(qv, kv[i], acc[r][i]), acc[r][i], head_dim - d);
    }
  }
  UNROLL for (int r = 0; r < queries; ++r) out[r] = tree_begin(acc[r]);
}

// Scores of TREE_KEYS keys, of which there are |count|: the others repeat the last and mean nothing.
MLXCEL_INLINE void scores_tile(const float* const* q, const uint8_t* keys, int type, int queries, int count, int head_dim, float scale, ptrdiff_t ahead,
                               float (*p)[MLXCEL_ATTENTION_BLOCK], int j0) {
  vector_t sums[QUERY_TILE][4], part[QUERY_TILE];
  size_t row_bytes = (size_t)head_dim * (size_t)type_bytes(type);
  UNROLL for (int k = 0; k < 4; ++k) {
    const uint8_t* key[KEY_TILE];
    UNROLL for (int i = 0; i < KEY_TILE; ++i) {
      int j = k + TREE_STRIDE * i;
      key[i] = keys + (size_t)(j < count ? j : count - 1) * row_bytes;
    }
    dot_tile(q, key, type, queries, head_dim, ahead, part);
    UNROLL for (int r = 0; r < queries; ++r) sums[r][k] = part[r];
  }
  UNROLL for (int r = 0; r < queries; ++r) store_scaled(p[r] + j0, tree_end(sums[r]), scale);
}

// Turned keys: [head_dim][16].
MLXCEL_INLINE void turn16(v16 row[16], float* to) {
#if defined(__AVX512F__)
  v16 t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(row[i], row[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(row[i], row[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {  // element c of every quarter of four rows
    for (int k = 0; k < 2; ++k) {
      row[i + 2 * k] = _mm512_shuffle_ps(t[i + k], t[i + 2 + k], 0x44);
      row[i + 2 * k + 1] = _mm512_shuffle_ps(t[i + k], t[i + 2 + k], 0xEE);
    }
  }
  for (int c = 0; c < 4; ++c) {
    v16 a = _mm512_shuffle_f32x4(row[c], row[4 + c], 0x88), b = _mm512_shuffle_f32x4(row[c], row[4 + c], 0xDD);
    v16 e = _mm512_shuffle_f32x4(row[8 + c], row[12 + c], 0x88), f = _mm512_shuffle_f32x4(row[8 + c], row[12 + c], 0xDD);
    v16_store(to + 16 * c, _mm512_shuffle_f32x4(a, e, 0x88));
    v16_store(to + 16 * (c + 4), _mm512_shuffle_f32x4(b, f, 0x88));
    v16_store(to + 16 * (c + 8), _mm512_shuffle_f32x4(a, e, 0xDD));
    v16_store(to + 16 * (c + 12), _mm512_shuffle_f32x4(b, f, 0xDD));
  }
#else
  for (int h = 0; h < 16; h += 8) {
    for (int part = 0; part < 2; ++part) {
      __m256 t[8], u[8];
      for (int i = 0; i < 8; i += 2) {
        __m256 a = part ? row[h + i].hi : row[h + i].lo, b = part ? row[h + i + 1].hi : row[h + i + 1].lo;
        t[i] = _mm256_unpacklo_ps(a, b);
        t[i + 1] = _mm256_unpackhi_ps(a, b);
      }
      for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 2; ++k) {
          u[i + 2 * k] = _mm256_shuffle_ps(t[i + k], t[i + 2 + k], 0x44);
          u[i + 2 * k + 1] = _mm256_shuffle_ps(t[i + k], t[i + 2 + k], 0xEE);
        }
      }
      for (int c = 0; c < 4; ++c) {
        _mm256_storeu_ps(to + 16 * (8 * part + c) + h, _mm256_permute2f128_ps(u[c], u[4 + c], 0x20));
        _mm256_storeu_ps(to + 16 * (8 * part + c + 4) + h, _mm256_permute2f128_ps(u[c], u[4 + c], 0x31));
      }
    }
  }
#endif
}

MLXCEL_INLINE void turn_keys_of_type(const uint8_t* keys, int type, int count, int head_dim, float* turned) {
  size_t row_bytes = (size_t)head_dim * (size_t)type_bytes(type);
  for (int d = 0; d < head_dim; d += 16) {
    v16 row[16];
    for (int j = 0; j < 16; ++j) row[j] = j < count ? row_load(keys + (size_t)j * row_bytes, type, d, head_dim) : v16_zero();
    turn16(row, turned + 16 * d);
  }
}

// |count| keys (1..16), zeros behind them; |turned| has room for whole sixteens of elements.
static void turn_keys(const uint8_t* keys, int type, int count, int head_dim, float* turned) {
  if (type == MLXCEL_FORMAT_F32) {
    turn_keys_of_type(keys, MLXCEL_FORMAT_F32, count, head_dim, turned);
  } else if (type == MLXCEL_FORMAT_F16) {
    turn_keys_of_type(keys, MLXCEL_FORMAT_F16, count, head_dim, turned);
  } else {
    turn_keys_of_type(keys, MLXCEL_FORMAT_BF16, count, head_dim, turned);
  }
}

typedef struct tile_t {  // sixteen keys' sums for each query of a tile
  v16 q[TURNED_TILE];
} tile_t;

MLXCEL_INLINE tile_t lane_sum(const float* const* q, const float* turned, int queries, int head_dim, int lane) {
  tile_t sum;
  UNROLL for (int r = 0; r < queries; ++r) sum.q[r] = v16_zero();
  for (int d = lane; d < head_dim; d += 16) {
    v16 kv = v16_load(turned + 16 * d);
    UNROLL for (int r = 0; r < queries; ++r) sum.q[r] = v16_fma(v16_set1(q[r][d]), kv, sum.q[r]);
  }
  return sum;
}

// The tree over lanes: each level adds what is |step| apart.
#define TREE_LEVEL(name, below, step)                                                                                  \
  MLXCEL_INLINE tile_t name(const float* const* q, const float* turned, int queries, int head_dim, int lane) {         \
    tile_t left = below(q, turned, queries, head_dim, lane), right = below(q, turned, queries, head_dim, lane + step); \
    UNROLL for (int r = 0; r < queries; ++r) left.q[r] = v16_add(left.q[r], right.q[r]);                               \
    return left;                                                                                                       \
  }
TREE_LEVEL(tree_step8, lane_sum, 8)
TREE_LEVEL(tree_step4, tree_step8, 4)
TREE_LEVEL(tree_step2, tree_step4, 2)
TREE_LEVEL(tree_step1, tree_step2, 1)

MLXCEL_INLINE void turned_scores_tile(const float* const* q, const float* turned, int queries, int head_dim, float scale, float (*p)[MLXCEL_ATTENTION_BLOCK],
                                      int j0) {
  tile_t sums = tree_step1(q, turned, queries, head_dim, 0);
  for (int r = 0; r < queries; ++r) v16_store(p[r] + j0, v16_mul(sums.q[r], v16_set1(scale)));
}

#endif  // MLXCEL_KERNELS_CPU_ATTENTION_SCORES_H_
