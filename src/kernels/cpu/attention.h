// attention.h: attention of the queries that share keys and values: the rows of one slot, the heads of one kv head. Block by block of MLXCEL_ATTENTION_BLOCK
// keys (the order is in kernel_abi.h), so that a block is read once for all of them; every query stops at its own length.
#ifndef MLXCEL_KERNELS_CPU_ATTENTION_H_
#define MLXCEL_KERNELS_CPU_ATTENTION_H_

#include "kernels/cpu/attention_scores.h"

#define HEAD_DIM_MAX 512  // MLXCEL_HEAD_DIM_MAX: scratch of a head lives on the stack
#define QUERIES_MAX 64    // at a time: bounds their probabilities on the stack to 16 KiB
#define RUN_ROWS 16       // rows of one slot in a unit of work: with grouped heads enough queries to pay for turned keys, few enough to make many units
// From so many queries on it pays to turn keys.
#define TURN_QUERIES_MIN 16

typedef struct queries_t {
  const uint8_t *keys, *values;  // of the slot and kv head, from position 0 on
  int type, head_dim, count;
  float scale;
  const float* q[QUERIES_MAX];
  float* o[QUERIES_MAX];  // running sums of values, at the end the result
  int length[QUERIES_MAX];
  float m[QUERIES_MAX], l[QUERIES_MAX];
  float p[QUERIES_MAX][MLXCEL_ATTENTION_BLOCK];  // scores of the block at hand, then its probabilities
} queries_t;

// Keys of the block at |first| that query |i| sees.
MLXCEL_INLINE int block_count(const queries_t* queries, int i, int first) {
  int count = queries->length[i] - first;
  return count > MLXCEL_ATTENTION_BLOCK ? MLXCEL_ATTENTION_BLOCK : count < 0 ? 0 : count;
}

// Queries from |i| on that a tile of |size| takes.
MLXCEL_INLINE int tile_count(const queries_t* queries, int i, int size) { return queries->count - i < size ? queries->count - i : size; }

//===- Scores -------------------------------------------------------------------------------------------------------------------------------------------===//

#define BY_TYPE(call, type) \
  ((type) == MLXCEL_FORMAT_F32 ? call(MLXCEL_FORMAT_F32) : (type) == MLXCEL_FORMAT_F16 ? call(MLXCEL_FORMAT_F16) : call(MLXCEL_FORMAT_BF16))

#if QUERY_TILE == 4
#define BY_SIZE(call, size, type) ((size) == 1 ? call(type, 1) : (size) == 2 ? call(type, 2) : (size) == 3 ? call(type, 3) : call(type, 4))
#else
#define BY_SIZE(call, size, type) ((size) == 1 ? call(type, 1) : call(type, 2))
#endif

// Scores of queries i .. i + size - 1 against the block's first |count| keys.
static void block_scores(queries_t* queries, int i, int size, int first, int count) {
  const uint8_t* keys = queries->keys + (size_t)first * (size_t)queries->head_dim * (size_t)type_bytes(queries->type);
  size_t step = TREE_KEYS * (size_t)queries->head_dim * (size_t)type_bytes(queries->type);
  ptrdiff_t ahead = (ptrdiff_t)((uintptr_t)queries->values - (uintptr_t)queries->keys);
  for (int j = 0; j < count; j += TREE_KEYS, keys += step) {
#define SCORES(type, size_) scores_tile(queries->q + i, keys, type, size_, count - j, queries->head_dim, queries->scale, ahead, queries->p + i, j)
#define SCORES_OF_SIZE(type) BY_SIZE(SCORES, size, type)
    BY_TYPE(SCORES_OF_SIZE, queries->type);
  }
}

static void turned_scores(queries_t* queries, int i, int size, const float* turned, int j) {
#define TURNED(size_, dim) turned_scores_tile(queries->q + i, turned, size_, dim, queries->scale, queries->p + i, j)
  if (size < TURNED_TILE) {
    for (int r = 0; r < size; ++r) turned_scores_tile(queries->q + i + r, turned, 1, queries->head_dim, queries->scale, queries->p + i + r, j);
  } else if (queries->head_dim == 64) {
    TURNED(TURNED_TILE, 64);
  } else if (queries->head_dim == 128) {
    TURNED(TURNED_TILE, 128);
  } else {
    TURNED(TURNED_TILE, queries->head_dim);
  }
}

MLXCEL_INLINE int longest(const queries_t* queries, int i, int size, int first) {
  int count = 0;
  for (int r = 0; r < size; ++r) count = block_count(queries, i + r, first) > count ? block_count(queries, i + r, first) : count;
  return count;
}

// Scores of all queries against the block at |first|; those behind a query's length mean nothing.
static void all_scores(queries_t* queries, int first) {
  if (queries->count < TURN_QUERIES_MIN) {
    for (int i = 0; i < queries->count; i += QUERY_TILE)
      block_scores(queries, i, tile_count(queries, i, QUERY_TILE), first, longest(queries, i, tile_count(queries, i, QUERY_TILE), first));
    return;
  }
  float turned[16 * HEAD_DIM_MAX];
  int count = longest(queries, 0, queries->count, first);
  for (int j = 0; j < count; j += 16) {
    const uint8_t* keys = queries->keys + (size_t)(first + j) * (size_t)queries->head_dim * (size_t)type_bytes(queries->type);
    turn_keys(keys, queries->type, count - j < 16 ? count - j : 16, queries->head_dim, turned);
    for (int i = 0; i < queries->count; i += TURNED_TILE) {
      int size = tile_count(queries, i, TURNED_TILE);
      if (longest(queries, i, size, first) > j) turned_scores(queries, i, size, turned, j);
    }
  }
}

//===- Probabilities ------------------------------------------------------------------------------------------------------------------------------------===//

// The largest lane; none is a NaN.
MLXCEL_INLINE float largest_lane(v16 a) {
  float lane[16];
  v16_store(lane, a);
  __m128 top = _mm_max_ps(_mm_max_ps(_mm_loadu_ps(lane), _mm_loadu_ps(lane + 4)), _mm_max_ps(_mm_loadu_ps(lane + 8), _mm_loadu_ps(lane + 12)));
  top = _mm_max_ps(top, _mm_movehl_ps(top, top));
  return _mm_cvtss_f32(_mm_max_ss(top, _mm_shuffle_ps(top, top, 1)));
}

// Scores become exp(s - m) for their maximum |*out_m| (a NaN isn't larger than anything), whose sum is |*out_l|.
static void probabilities(float* p, int count, float* out_m, float* out_l) {
  const v16 lowest = v16_set1(-__builtin_inff());
  v16 top = lowest, sum = v16_zero();
  for (int j = 0; j < count; j += 16) {
    v16 s = v16_load(p + j);
    top = v16_max(count - j >= 16 ? s : v16_select_first(s, lowest, count - j), top);
  }
  float m = largest_lane(top);
  for (int j = 0; j < count; j += 16) {
    v16 e = v16_exp(v16_sub(v16_load(p + j), v16_set1(m)));
    v16_store(p + j, e);
    v16 added = v16_add(sum, e);
    sum = count - j >= 16 ? added : v16_select_first(added, sum, count - j);
  }
  *out_m = m;
  *out_l = v16_tree(sum);
}

//===- Values -------------------------------------------------------------------------------------------------------------------------------------------===//

// o[d] += p[j] * v[j][d] over keys from .. to - 1 of a block, in order of j, for |vectors| registers of d and |queries| queries at once; key 0 starts at +0.
MLXCEL_INLINE void weigh(const float (*p)[MLXCEL_ATTENTION_BLOCK], const uint8_t* values, int type, int queries, int from, int to, int head_dim, int d,
                         int vectors, ptrdiff_t ahead, float* const* o) {
  v16 acc[QUERY_TILE][VALUE_TILE];
  UNROLL for (int r = 0; r < queries; ++r) { UNROLL for (int i = 0; i < vectors; ++i) acc[r][i] = from == 0 ? v16_zero() : v16_load(o[r] + d + 16 * i); }
  const uint8_t* row = values + ((size_t)from * (size_t)head_dim + (size_t)d) * (size_t)type_bytes(type);
  for (int j = from; j < to; ++j, row += (size_t)head_dim * (size_t)type_bytes(type)) {
    v16 value[VALUE_TILE];
    if (ahead) fetch(row, ahead, 16 * vectors * type_bytes(type));
    UNROLL for (int i = 0; i < vectors; ++i) value[i] = load_typed16(row + 16 * i * type_bytes(type), type);
    UNROLL for (int r = 0; r < queries; ++r) {
      v16 pv = v16_set1(p[r][j]);
      UNROLL for (int i = 0; i < vectors; ++i) acc[r][i] = v16_fma(pv, value[i], acc[r][i]);
    }
  }
  UNROLL for (int r = 0; r < queries; ++r) { UNROLL for (int i = 0; i < vectors; ++i) v16_store(o[r] + d + 16 * i, acc[r][i]); }
}

// The same for the last head_dim % 16 elements.
static void weigh_rest(const float* p, const uint8_t* values, int type, int from, int to, int head_dim, float* o) {
  int d = head_dim / 16 * 16;
  v16 acc = from == 0 ? v16_zero() : v16_load_first(o + d, head_dim - d);
  for (int j = from; j < to; ++j) {
    const uint8_t* row = values + (size_t)j * (size_t)head_dim * (size_t)type_bytes(type);
    acc = v16_fma(v16_set1(p[j]), row_load(row, type, d, head_dim), acc);
  }
  v16_store_first(o + d, acc, head_dim - d);
}

MLXCEL_INLINE void weigh_all(const float (*p)[MLXCEL_ATTENTION_BLOCK], const uint8_t* values, int type, int queries, int from, int to, int head_dim,
                             ptrdiff_t ahead, float* const* o) {
  int d = 0;
  for (; d + 16 * VALUE_TILE <= head_dim; d += 16 * VALUE_TILE) weigh(p, values, type, queries, from, to, head_dim, d, VALUE_TILE, ahead, o);
  for (; d + 16 <= head_dim; d += 16) weigh(p, values, type, queries, from, to, head_dim, d, 1, ahead, o);
  if (d == head_dim) return;
  for (int r = 0; r < queries; ++r) weigh_rest(p[r], values, type, from, to, head_dim, o[r]);
}

// Values of queries i .. i + size - 1, keys from .. to - 1 of the block at |first|.
static void block_values(const queries_t* queries, int i, int size, int first, int from, int to, float* const* o) {
  size_t row_bytes = (size_t)queries->head_dim * (size_t)type_bytes(queries->type);
  const uint8_t* values = queries->values + (size_t)first * row_bytes;
  // Many queries read a block so often that nothing need be fetched ahead.
  ptrdiff_t ahead = (ptrdiff_t)((uintptr_t)queries->keys - (uintptr_t)queries->values + MLXCEL_ATTENTION_BLOCK * row_bytes);
  if (queries->count >= TURN_QUERIES_MIN) ahead = 0;
#define VALUES(type, size_) weigh_all((const float(*)[MLXCEL_ATTENTION_BLOCK])queries->p + i, values, type, size_, from, to, queries->head_dim, ahead, o)
#define VALUES_OF_SIZE(type) BY_SIZE(VALUES, size, type)
  BY_TYPE(VALUES_OF_SIZE, queries->type);
}

//===- Blocks -------------------------------------------------------------------------------------------------------------------------------------------===//

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

// Queries i .. i + size - 1 take the block at |first|, whose scores they have. Together as far as all of them see, then each for itself.
static void attention_tile(queries_t* queries, int i, int size, int first) {
  float block_o[QUERY_TILE][HEAD_DIM_MAX], mb[QUERY_TILE], lb[QUERY_TILE];
  float* o[QUERY_TILE];
  int shared = MLXCEL_ATTENTION_BLOCK;
  for (int r = 0; r < size; ++r) {
    int count = block_count(queries, i + r, first);
    if (count < shared) shared = count;
    if (count > 0) probabilities(queries->p[i + r], count, &mb[r], &lb[r]);
    o[r] = first == 0 ? queries->o[i + r] : block_o[r];
  }
  if (shared > 0) block_values(queries, i, size, first, 0, shared, o);
  for (int r = 0; r < size; ++r) {
    int count = block_count(queries, i + r, first);
    if (count > shared) block_values(queries, i + r, 1, first, shared, count, o + r);
    if (count > 0 && first > 0) attention_combine(mb[r], lb[r], o[r], queries->head_dim, &queries->m[i + r], &queries->l[i + r], queries->o[i + r]);
    if (first == 0) queries->m[i + r] = mb[r], queries->l[i + r] = lb[r];
  }
}

// All of it, block by block.
static void attend(queries_t* queries) {
  int length = 0, head_dim = queries->head_dim;
  for (int i = 0; i < queries->count; ++i) length = queries->length[i] > length ? queries->length[i] : length;
  for (int first = 0; first < length; first += MLXCEL_ATTENTION_BLOCK) {
    all_scores(queries, first);
    for (int i = 0; i < queries->count; i += QUERY_TILE) {
      if (longest(queries, i, tile_count(queries, i, QUERY_TILE), first) > 0) attention_tile(queries, i, tile_count(queries, i, QUERY_TILE), first);
    }
  }
  for (int i = 0; i < queries->count; ++i) {
    float *o = queries->o[i], l = queries->l[i];
    int d = 0;
    for (; d + 16 <= head_dim; d += 16) v16_store(o + d, v16_div(v16_load(o + d), v16_set1(l)));
    for (; d < head_dim; ++d) o[d] = o[d] / l;
  }
}

// Where the run begins that ends in front of |end|: active rows of one slot, at most RUN_ROWS, or one inactive row.
MLXCEL_INLINE size_t run_begin(const int32_t* slot, const int32_t* position, size_t end) {
  size_t begin = end - 1;
  while (position[end - 1] >= 0 && begin > 0 && end - begin < RUN_ROWS && position[begin - 1] >= 0 && slot[begin - 1] == slot[end - 1]) --begin;
  return begin;
}

// Runs of active rows.
MLXCEL_INLINE size_t run_count(const int32_t* slot, const int32_t* position, size_t rows) {
  size_t count = 0;
  for (size_t end = rows; end > 0; end = run_begin(slot, position, end)) count += position[end - 1] >= 0;
  return count;
}

#endif  // MLXCEL_KERNELS_CPU_ATTENTION_H_
