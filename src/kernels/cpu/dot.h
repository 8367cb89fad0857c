// dot.h: the projections: y[r][n] = dot(x[r], w[n]) in the order of kernel_abi.h, for one row (weights used as they are unpacked), a few (the same, by all rows
// at once) and many (four rows of weights unpacked once, then used by every row of x).
#ifndef MLXCEL_KERNELS_CPU_DOT_H_
#define MLXCEL_KERNELS_CPU_DOT_H_

#include "kernels/cpu/weights.h"

#define DOT_OUTPUTS 4  // weight rows at a time in a tile
// Elements of k at a time in a tile: four unpacked rows fit half of a 32 KiB first-level cache, on v3 the rows of x that meet them four times fit too.
#if defined(__AVX512F__)
#define DOT_BLOCK 1024
#else
#define DOT_BLOCK 512
#endif
#define DOT_ROWS 128    // rows of x at a time: bounds the accumulators kept on the stack to 34 KiB
#define DOT_FEW_ROWS 8  // up to here weights may be used as they are unpacked, by all rows of x at once
#if defined(__AVX512F__)
#define DOT_FEW_ROWS_MAX DOT_FEW_ROWS
#else
#define DOT_FEW_ROWS_MAX 1  // v3's registers don't hold more sums
#endif
#define DOT_ORDERED_MAX 32768  // elements of x that are put into the order of lanes that four-bit codes have: 128 KiB of the stack
#define DOT_FEW_SUMS 16
// A tile's sums stay in registers: 24 of v4's 32; on v3, half of the lanes of two outputs at a time, 12 of 16.
#define TILE_ROWS 6
#define PROJECT_OUTPUTS 16    // outputs of one call of project
#define PROJECT_SPARE_ROWS 3  // sums of four rows leave a tree together
// Rows of x that a tile's weights meet before the next weights are unpacked come from the second-level cache again and again: no more of them than fit there.
#define DOT_ROWS_BYTES (512 * 1024)
#define DOT_ROWS_MIN 24  // below, unpacking would cost more than it saves
// Scales and biases are widened before the dots that use them: a load right behind its store would wait for it. So many values fit beside x into the
// first-level cache; a row of more elements than DOT_LONG_BLOCK is cut, so that the most rows of w at a time fit too.
#define DOT_GROUP_VALUES 1024
#define DOT_LONG_BLOCK 16384
#define DOT_GROUP_VALUES_MAX (DOT_FEW_ROWS * DOT_LONG_BLOCK / 32)
// Weights stream from memory once a step, several rows side by side, which the processor's own prefetcher doesn't follow well: lines are asked for so many
// bytes of each row ahead, those of the rows that come next where a row ends. Reading ahead of a tensor's end is harmless.
#define PREFETCH_BYTES 2048
#define LINE_BYTES 64

MLXCEL_INLINE void prefetch_lines(const uint8_t* p, int bytes) {
  for (int i = 0; i < bytes; i += LINE_BYTES) _mm_prefetch((const char*)p + i, _MM_HINT_T0);
}

// --- rows of x against rows of w as they are unpacked ------------------------------------------------------------------------------------------

typedef struct dot_rows_t {  // what a block of dots reads
  const matrix_t* m;
  const size_t* n;  // [outputs]
  const float* x;   // of the block
  size_t x_stride;  // from one row of x to the next
  int k0, count;
  const float *scales, *biases;  // of n[0]'s groups in the block, widened; those of the next row |group_stride| values on
  int group_stride;
  size_t ahead, ahead_behind;  // bytes from what a row reads to what will be read PREFETCH_BYTES later: up to the row's |turn|th byte, and behind it
  size_t turn;
  bool first, last;  // of the blocks of k
  float* sums;       // [16]: trees of the sums, where a block of several rows of x is the last
} dot_rows_t;

// Where the stream of |outputs| rows side by side, each |row_bytes| long, will be.
MLXCEL_INLINE void dot_rows_prepare_prefetch(dot_rows_t* d, size_t row_bytes, size_t outputs) {
  size_t rows = PREFETCH_BYTES / row_bytes, rest = PREFETCH_BYTES % row_bytes;
  d->turn = row_bytes - rest;
  d->ahead = PREFETCH_BYTES + rows * (outputs - 1) * row_bytes;
  d->ahead_behind = d->ahead + (outputs - 1) * row_bytes;
}
MLXCEL_INLINE size_t dot_rows_ahead(const dot_rows_t* d, size_t at) { return at < d->turn ? d->ahead : d->ahead_behind; }

// acc[r * outputs + o] += the block's elements. All but |d| and |acc| are constants at every call.
MLXCEL_INLINE void dot_affine(const dot_rows_t* d, int bits, int group_log2, int rows, int outputs, v16* acc) {
  const int group = 1 << group_log2, groups = d->count >> group_log2;
  const float *scales = d->scales, *biases = d->biases;
  const uint8_t* codes[DOT_FEW_ROWS];
  v16 sum[DOT_FEW_SUMS];  // not |acc| itself: stores through it might change the codes, as far as the compiler knows
  for (int o = 0; o < outputs; ++o) codes[o] = d->m->w + (d->n[o] * (size_t)d->m->width + (size_t)d->k0) * (size_t)bits / 8;
  const float* x = d->x;
  const size_t x_stride = d->x_stride;
  const v16_unpack unpack = unpack_for(bits);
  for (int i = 0; i < rows * outputs; ++i) sum[i] = d->first ? v16_zero() : acc[i];
  for (int g = 0; g < groups; ++g) {
    affine_t a[DOT_FEW_ROWS];
    for (int o = 0; o < outputs; ++o) a[o] = affine_make(scales[o * d->group_stride + g], biases[o * d->group_stride + g], bits);
    if (group * bits / 8 >= LINE_BYTES || g % (LINE_BYTES * 8 / (group * bits)) == 0) {
      size_t ahead = dot_rows_ahead(d, (size_t)(d->k0 + g * group) * (size_t)bits / 8);
      for (int o = 0; o < outputs; ++o) prefetch_lines(codes[o] + ahead, group * bits / 8);
    }
    for (int j = 0; j < group; j += 16, x += 16) {
      v16 w[DOT_FEW_ROWS];
      for (int o = 0; o < outputs; ++o) w[o] = affine_weights16_in_code_lanes(codes[o], bits, &unpack, &a[o]);
      for (int r = 0; r < rows; ++r) {
        v16 xv = v16_in_register(v16_load(x + (size_t)r * x_stride));
        for (int o = 0; o < outputs; ++o) sum[r * outputs + o] = v16_fma(xv, w[o], sum[r * outputs + o]);
      }
      for (int o = 0; o < outputs; ++o) codes[o] += 2 * bits;
    }
  }
  if (d->last && rows > 1) {
    v16_store(d->sums, tree_of_code_lanes(sum, bits));
  } else {
    for (int i = 0; i < rows * outputs; ++i) acc[i] = sum[i];
  }
}

MLXCEL_INLINE void dot_dense(const dot_rows_t* d, int type, int rows, int outputs, v16* acc) {
  const matrix_t* m = d->m;
  const uint8_t* w[DOT_FEW_ROWS];
  v16 sum[DOT_FEW_SUMS];
  for (int i = 0; i < rows * outputs; ++i) sum[i] = d->first ? v16_zero() : acc[i];
  for (int o = 0; o < outputs; ++o) w[o] = m->w + (d->n[o] * (size_t)m->width + (size_t)d->k0) * (size_t)type_bytes(type);
  const float* x = d->x;
  const size_t x_stride = d->x_stride;
  int k = 0;
  for (; k + 16 <= d->count; k += 16) {
    v16 wv[DOT_FEW_ROWS];
    if (outputs > 1 && (type == MLXCEL_FORMAT_F32 || k % 32 == 0)) {
      size_t ahead = (size_t)k * (size_t)type_bytes(type) + dot_rows_ahead(d, (size_t)(d->k0 + k) * (size_t)type_bytes(type));
      for (int o = 0; o < outputs; ++o) prefetch_lines(w[o] + ahead, LINE_BYTES);
    }
    for (int o = 0; o < outputs; ++o) wv[o] = load_typed16(w[o] + k * type_bytes(type), type);
    for (int r = 0; r < rows; ++r) {
      v16 xv = v16_load(x + (size_t)r * x_stride + k);
      if (rows > 1) xv = v16_in_register(xv);
      for (int o = 0; o < outputs; ++o) sum[r * outputs + o] = v16_fma(xv, wv[o], sum[r * outputs + o]);
    }
  }
  if (k < d->count) {
    int rest = d->count - k;
    for (int r = 0; r < rows; ++r) {
      v16 xv = v16_load_first(x + (size_t)r * x_stride + k, rest);
      for (int o = 0; o < outputs; ++o) {
        v16 wv = load_typed_first(w[o] + k * type_bytes(type), type, rest);
        sum[r * outputs + o] = v16_select_first(v16_fma(xv, wv, sum[r * outputs + o]), sum[r * outputs + o], rest);
      }
    }
  }
  if (d->last && rows > 1) {
    v16_store(d->sums, v16_tree_of_16(sum));
  } else {
    for (int i = 0; i < rows * outputs; ++i) acc[i] = sum[i];
  }
}

MLXCEL_INLINE void dot_affine_of_group(const dot_rows_t* d, int bits, int rows, int outputs, v16* acc) {
  switch (MLXCEL_FORMAT_GROUP_LOG2(d->m->format)) {
    case 5:
      dot_affine(d, bits, 5, rows, outputs, acc);
      break;
    case 6:
      dot_affine(d, bits, 6, rows, outputs, acc);
      break;
    default:
      dot_affine(d, bits, 7, rows, outputs, acc);
      break;
  }
}

// |outputs| of w that are dense or have eight-bit codes; |narrow_outputs| of others.
MLXCEL_INLINE void dot_block(const dot_rows_t* d, int rows, int outputs, int narrow_outputs, v16* acc) {
  switch (MLXCEL_FORMAT_BITS(d->m->format)) {
    case 0:
      if (MLXCEL_FORMAT_TYPE(d->m->format) == MLXCEL_FORMAT_F32) dot_dense(d, MLXCEL_FORMAT_F32, rows, outputs, acc);
      if (MLXCEL_FORMAT_TYPE(d->m->format) == MLXCEL_FORMAT_F16) dot_dense(d, MLXCEL_FORMAT_F16, rows, outputs, acc);
      if (MLXCEL_FORMAT_TYPE(d->m->format) == MLXCEL_FORMAT_BF16) dot_dense(d, MLXCEL_FORMAT_BF16, rows, outputs, acc);
      break;
    case 2:
      dot_affine_of_group(d, 2, rows, narrow_outputs, acc);
      break;
    case 3:
      dot_affine_of_group(d, 3, rows, narrow_outputs, acc);
      break;
    case 4:
      dot_affine_of_group(d, 4, rows, narrow_outputs, acc);
      break;
    case 5:
      dot_affine_of_group(d, 5, rows, narrow_outputs, acc);
      break;
    case 6:
      dot_affine_of_group(d, 6, rows, narrow_outputs, acc);
      break;
    default:
      dot_affine_of_group(d, 8, rows, outputs, acc);
      break;
  }
}

// One row of x. Formats that memory bounds read one row of w at a time while x stays in the first-level cache: the processor's prefetcher follows it best, and
// one chain of sums is as fast as memory. Where x is wider, and for formats that unpacking bounds, two chains share it.
#define ROW_OUTPUTS 1
#define ROW_NARROW_OUTPUTS 2
#define ROW_WIDTH_MAX 4096  // of x, 16 KiB
static void dot_block_1(const dot_rows_t* d, v16* acc) { dot_block(d, 1, ROW_OUTPUTS, ROW_NARROW_OUTPUTS, acc); }
static void dot_block_1_wide(const dot_rows_t* d, v16* acc) { dot_block(d, 1, ROW_NARROW_OUTPUTS, ROW_NARROW_OUTPUTS, acc); }
MLXCEL_INLINE int row_outputs(const matrix_t* m) {
  int bits = MLXCEL_FORMAT_BITS(m->format);
  return (bits == 0 || bits == 8) && m->width <= ROW_WIDTH_MAX ? ROW_OUTPUTS : ROW_NARROW_OUTPUTS;
}

typedef struct row_groups_t {
  _Alignas(64) float scales[DOT_GROUP_VALUES_MAX + 16], biases[DOT_GROUP_VALUES_MAX + 16];
} row_groups_t;

// Scales and biases of |rows| rows of w in a block of k, |groups| a row. Rows side by side are one run.
static void widen_rows(const matrix_t* m, const size_t* n, int rows, int k0, int groups, row_groups_t* out) {
  const int type = MLXCEL_FORMAT_TYPE(m->format), group_log2 = MLXCEL_FORMAT_GROUP_LOG2(m->format), row_groups = m->width >> group_log2;
  const bool is_run = groups == row_groups && n[rows - 1] == n[0] + (size_t)(rows - 1);
  const int step = is_run ? rows : 1;
  for (int o = 0; o < rows; o += step) {
    size_t first = (n[o] * (size_t)row_groups + (size_t)(k0 >> group_log2)) * (size_t)type_bytes(type);
    prefetch_lines(m->s + first + (size_t)(step * groups * type_bytes(type)), step * groups * type_bytes(type));  // what the next call reads
    prefetch_lines(m->b + first + (size_t)(step * groups * type_bytes(type)), step * groups * type_bytes(type));
    widen_values(m->s + first, type, step * groups, out->scales + o * groups);
    widen_values(m->b + first, type, step * groups, out->biases + o * groups);
  }
}

typedef void (*dot_block_fn)(const dot_rows_t* d, v16* acc);

// Whether |rows| rows of x meet the weights as they are unpacked.
MLXCEL_INLINE bool rows_are_few(const matrix_t* m, int rows) {
  return rows <= DOT_FEW_ROWS_MAX && (MLXCEL_FORMAT_BITS(m->format) != 4 || (size_t)rows * (size_t)m->width <= DOT_ORDERED_MAX);
}

// What project wants as x: x itself, or few rows for four-bit codes in |ordered| (DOT_ORDERED_MAX elements), in the order of lanes that those have.
MLXCEL_INLINE const float* rows_for(const matrix_t* m, const float* x, int rows, float* ordered) {
  if (MLXCEL_FORMAT_BITS(m->format) != 4 || !rows_are_few(m, rows)) return x;
  for (int k = 0; k < rows * m->width; k += 16) v16_store(ordered + k, v16_interleave_halves(v16_load(x + k)));
  return ordered;
}

// Rows of w whose scales are widened at a time: a multiple of |outputs| that divides PROJECT_OUTPUTS.
MLXCEL_INLINE int widened_rows(int groups, int outputs) {
  int rows = PROJECT_OUTPUTS;
  while (rows > outputs && rows * groups > DOT_GROUP_VALUES) rows /= 2;
  return rows;
}

// Sums of rows of x against PROJECT_OUTPUTS rows of w, |outputs| at a time by |block|: one row's into acc[o], several rows' trees into
// sums[o / outputs * 16 + r * outputs + o % outputs].
MLXCEL_INLINE void dot_outputs(const matrix_t* m, const float* x, const size_t n[PROJECT_OUTPUTS], dot_block_fn block, int outputs, v16* acc, int block_sums,
                               float* sums) {
  const int bits = MLXCEL_FORMAT_BITS(m->format), element_bits = bits ? bits : 8 * type_bytes(MLXCEL_FORMAT_TYPE(m->format));
  const int longest = DOT_LONG_BLOCK;
  row_groups_t widened;
  dot_rows_t d = {.m = m, .x_stride = (size_t)m->width};
  dot_rows_prepare_prefetch(&d, (size_t)m->width * (size_t)element_bits / 8, (size_t)outputs);
  for (d.k0 = 0; d.k0 < m->width; d.k0 += longest) {
    d.count = m->width - d.k0 < longest ? m->width - d.k0 : longest;
    d.first = d.k0 == 0;
    d.last = d.k0 + d.count == m->width;
    d.x = x + d.k0;
    d.group_stride = bits ? d.count >> MLXCEL_FORMAT_GROUP_LOG2(m->format) : 0;
    const int rows = widened_rows(d.group_stride, outputs);
    for (int o = 0; o < PROJECT_OUTPUTS; o += outputs) {
      if (bits && o % rows == 0) widen_rows(m, n + o, rows, d.k0, d.group_stride, &widened);
      d.n = n + o;
      d.scales = widened.scales + o % rows * d.group_stride;
      d.biases = widened.biases + o % rows * d.group_stride;
      d.sums = sums ? sums + o / outputs * DOT_FEW_SUMS : NULL;
      block(&d, acc + o / outputs * block_sums);
    }
  }
}

// One row, PROJECT_OUTPUTS outputs, one tree.
static void project_row(const matrix_t* m, const float* x, const size_t n[PROJECT_OUTPUTS], float* y) {
  v16 acc[PROJECT_OUTPUTS];
  const int outputs = row_outputs(m);
  dot_outputs(m, x, n, m->width <= ROW_WIDTH_MAX ? dot_block_1 : dot_block_1_wide, outputs, acc, outputs, NULL);
  v16_store(y, tree_of_code_lanes(acc, MLXCEL_FORMAT_BITS(m->format)));
}

#if defined(__AVX512F__)
static void dot_block_2(const dot_rows_t* d, v16* acc) { dot_block(d, 2, 8, 8, acc); }
static void dot_block_4(const dot_rows_t* d, v16* acc) { dot_block(d, 4, 4, 4, acc); }
static void dot_block_8(const dot_rows_t* d, v16* acc) { dot_block(d, 8, 2, 2, acc); }

// Two, four or eight rows, sixteen sums a tree: 2 x 8, 4 x 4 or 8 x 2 of rows and outputs.
static void project_tile_of_few(const matrix_t* m, const float* x, int rows, const size_t n[PROJECT_OUTPUTS], float* y, size_t y_stride) {
  const int outputs = DOT_FEW_SUMS / rows;
  v16 acc[PROJECT_OUTPUTS * DOT_FEW_ROWS];
  float sums[PROJECT_OUTPUTS * DOT_FEW_ROWS];
  dot_outputs(m, x, n, rows == 2 ? dot_block_2 : rows == 4 ? dot_block_4 : dot_block_8, outputs, acc, DOT_FEW_SUMS, sums);
  for (int r = 0; r < rows; ++r) {
    float* row = y + (size_t)r * y_stride;
    for (int o = 0; o < PROJECT_OUTPUTS; ++o) row[o] = sums[o / outputs * DOT_FEW_SUMS + r * outputs + o % outputs];
  }
}

// Two to eight rows, in powers of two.
static void project_few(const matrix_t* m, const float* x, int rows, const size_t n[PROJECT_OUTPUTS], float* y, size_t y_stride) {
  for (int tile = DOT_FEW_ROWS; rows > 0; tile /= 2) {
    if (rows < tile) continue;
    if (tile == 1) {
      project_row(m, x, n, y);
    } else {
      project_tile_of_few(m, x, tile, n, y, y_stride);
    }
    rows -= tile;
    x += (size_t)tile * (size_t)m->width;
    y += (size_t)tile * y_stride;
  }
}
#endif

// --- many rows: weights unpacked once, used by every row of x ------------------------------------------------------------------------------------

// The elements behind the last whole sixteen of a block (dense rows only).
static void tile_rest(const float* const x[TILE_ROWS], const float* w, int k, int count, v16* acc) {
  for (int r = 0; r < TILE_ROWS; ++r) {
    v16 xv = v16_load_first(x[r] + k, count - k);
    for (int o = 0; o < DOT_OUTPUTS; ++o) {
      v16 wv = v16_load_first(w + o * DOT_BLOCK + k, count - k);
      v16* sum = acc + r * DOT_OUTPUTS + o;
      *sum = v16_select_first(v16_fma(xv, wv, *sum), *sum, count - k);
    }
  }
}

// acc[r * DOT_OUTPUTS + o] over one block of k for TILE_ROWS rows of x and DOT_OUTPUTS unpacked rows of w (stride DOT_BLOCK); the |first| block starts them.
#if defined(__AVX512F__)
MLXCEL_INLINE void tile_block(const float* const x[TILE_ROWS], const float* w, int count, bool first, v16* acc) {
  v16 sum[TILE_ROWS][DOT_OUTPUTS];
  for (int r = 0; r < TILE_ROWS; ++r)
    for (int o = 0; o < DOT_OUTPUTS; ++o) sum[r][o] = first ? v16_zero() : acc[r * DOT_OUTPUTS + o];
  int k = 0;
  for (; k + 16 <= count; k += 16) {
    v16 wv[DOT_OUTPUTS];
    for (int o = 0; o < DOT_OUTPUTS; ++o) wv[o] = v16_load(w + o * DOT_BLOCK + k);
    for (int r = 0; r < TILE_ROWS; ++r) {
      v16 xv = v16_in_register(v16_load(x[r] + k));
      for (int o = 0; o < DOT_OUTPUTS; ++o) sum[r][o] = v16_fma(xv, wv[o], sum[r][o]);
    }
  }
  for (int r = 0; r < TILE_ROWS; ++r)
    for (int o = 0; o < DOT_OUTPUTS; ++o) acc[r * DOT_OUTPUTS + o] = sum[r][o];
  if (k < count) tile_rest(x, w, k, count, acc);
}
#else
// Lanes |half| .. |half| + 7 of two outputs.
MLXCEL_INLINE void tile_half(const float* const x[TILE_ROWS], const float* w, int count, bool first, int half, __m256* acc) {
  __m256 sum[TILE_ROWS][2];
  for (int r = 0; r < TILE_ROWS; ++r)
    for (int o = 0; o < 2; ++o) sum[r][o] = first ? _mm256_setzero_ps() : acc[(r * DOT_OUTPUTS + o) * 2];
  for (int k = half; k + 8 <= count; k += 16) {
    __m256 w0 = _mm256_loadu_ps(w + k), w1 = _mm256_loadu_ps(w + DOT_BLOCK + k);
    for (int r = 0; r < TILE_ROWS; ++r) {
      __m256 xv = _mm256_loadu_ps(x[r] + k);
      sum[r][0] = _mm256_fmadd_ps(xv, w0, sum[r][0]);
      sum[r][1] = _mm256_fmadd_ps(xv, w1, sum[r][1]);
    }
  }
  for (int r = 0; r < TILE_ROWS; ++r)
    for (int o = 0; o < 2; ++o) acc[(r * DOT_OUTPUTS + o) * 2] = sum[r][o];
}
MLXCEL_INLINE void tile_block(const float* const x[TILE_ROWS], const float* w, int count, bool first, v16* acc) {
  int whole = count / 16 * 16;
  for (int o = 0; o < DOT_OUTPUTS; o += 2) {
    tile_half(x, w + o * DOT_BLOCK, whole, first, 0, &acc[o].lo);
    tile_half(x, w + o * DOT_BLOCK, whole, first, 8, &acc[o].hi);
  }
  if (whole < count) tile_rest(x, w, whole, count, acc);
}
#endif

// Up to DOT_ROWS rows and DOT_OUTPUTS outputs: y[r * y_stride + o], up to three rows more than |rows|.
static void project_tile(const matrix_t* m, const float* x, int rows, const size_t n[DOT_OUTPUTS], float* y, size_t y_stride) {
  v16 acc[(DOT_ROWS + TILE_ROWS) * DOT_OUTPUTS];
  _Alignas(64) float w[DOT_OUTPUTS * DOT_BLOCK];
  for (int k0 = 0; k0 < m->width; k0 += DOT_BLOCK) {
    int count = m->width - k0 < DOT_BLOCK ? m->width - k0 : DOT_BLOCK;
    for (int o = 0; o < DOT_OUTPUTS; ++o) weights_row(m, n[o], k0, count, w + o * DOT_BLOCK);
    for (int r = 0; r < rows; r += TILE_ROWS) {
      const float* xr[TILE_ROWS];
      for (int i = 0; i < TILE_ROWS; ++i) xr[i] = x + (size_t)(r + i < rows ? r + i : rows - 1) * (size_t)m->width + k0;
      tile_block(xr, w, count, k0 == 0, acc + r * DOT_OUTPUTS);
    }
  }
  // The rows behind the last tile have no sums: their trees read whatever is there, and nobody reads those.
  for (int r = 0; r < rows; r += 4) v16_store_quarters(y + (size_t)r * y_stride, y_stride, v16_tree_of_16(acc + r * DOT_OUTPUTS));
}

// Rows of x, |width| wide, to take at a time.
MLXCEL_INLINE int dot_rows_for(int width) {
  int rows = DOT_ROWS_BYTES / (4 * width);
  return rows < DOT_ROWS_MIN ? DOT_ROWS_MIN : rows > DOT_ROWS ? DOT_ROWS : rows;
}

// y[r * y_stride + i] = dot(x[r], w[n + i]) [+ bias[n + i]] for up to DOT_ROWS rows of x (rows_for; stride: the matrix's width) and |outputs| <=
// PROJECT_OUTPUTS. |y| is scratch: PROJECT_OUTPUTS values a row and PROJECT_SPARE_ROWS rows behind the last are written.
static void project(const matrix_t* m, const float* x, int rows, size_t first, size_t outputs, float* y, size_t y_stride) {
  size_t n[PROJECT_OUTPUTS];
  for (size_t i = 0; i < PROJECT_OUTPUTS; ++i) n[i] = first + (i < outputs ? i : outputs - 1);  // beyond the end: the last again
  if (!rows_are_few(m, rows)) {
    for (size_t i = 0; i < outputs; i += DOT_OUTPUTS) project_tile(m, x, rows, n + i, y + i, y_stride);
#if defined(__AVX512F__)
  } else if (rows > 1) {
    project_few(m, x, rows, n, y, y_stride);
#endif
  } else {
    project_row(m, x, n, y);
  }
  if (!(m->flags & MLXCEL_MATRIX_HAS_BIAS)) return;
  int type = MLXCEL_MATRIX_BIAS_TYPE(m->flags);
  for (int r = 0; r < rows; ++r)
    for (size_t i = 0; i < outputs; ++i) y[(size_t)r * y_stride + i] += load_typed(m->v + (first + i) * (size_t)type_bytes(type), type);
}

// One more than the last active row.
MLXCEL_INLINE int active_rows(const int32_t* positions, int rows) {
  while (rows > 0 && positions[rows - 1] < 0) --rows;
  return rows;
}

// The share of |group|: [*begin, *end) of |count| units. Workers take groups in order as they become free: shares fall from three halves of the mean to half of
// it, so that the last ones, which make the workers finish together, are small.
MLXCEL_INLINE size_t share_begin(size_t count, size_t group, size_t groups) { return count * group * (3 * groups - group) / (2 * groups * groups); }
MLXCEL_INLINE void share(size_t count, size_t group, size_t groups, size_t* begin, size_t* end) {
  *begin = share_begin(count, group, groups);
  *end = share_begin(count, group + 1, groups);
}

// Asks for the first rows of a share, all of them at once.
MLXCEL_INLINE void prefetch_share(const matrix_t* m, size_t n) {
  const int bits = MLXCEL_FORMAT_BITS(m->format), type = MLXCEL_FORMAT_TYPE(m->format);
  const size_t row_bytes = bits ? (size_t)m->width * (size_t)bits / 8 : (size_t)m->width * (size_t)type_bytes(type);
  const size_t bytes = PROJECT_OUTPUTS * row_bytes;
  prefetch_lines(m->w + n * row_bytes, bytes < PREFETCH_BYTES ? (int)bytes : PREFETCH_BYTES);
  if (!bits) return;
  const size_t group_bytes = (size_t)(m->width >> MLXCEL_FORMAT_GROUP_LOG2(m->format)) * (size_t)type_bytes(type);
  const int many = PROJECT_OUTPUTS * group_bytes < PREFETCH_BYTES / 2 ? (int)(PROJECT_OUTPUTS * group_bytes) : PREFETCH_BYTES / 2;
  prefetch_lines(m->s + n * group_bytes, many);
  prefetch_lines(m->b + n * group_bytes, many);
}

#endif  // MLXCEL_KERNELS_CPU_DOT_H_
