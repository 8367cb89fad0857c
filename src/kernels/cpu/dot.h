// dot.h: the projections: y[r][n] = dot(x[r], w[n]) in the order of kernel_abi.h, for one row (weights used as they are unpacked) and for many (four
// rows of weights unpacked once, used by every row of x).
#ifndef MLXCEL_KERNELS_CPU_DOT_H_
#define MLXCEL_KERNELS_CPU_DOT_H_

#include "kernels/cpu/weights.h"

#define DOT_OUTPUTS 4   // weight rows at a time: their accumulators stay in registers
#define DOT_BLOCK 1024  // elements of k at a time: four unpacked rows fit half of a 32 KiB first-level cache
#define DOT_ROWS 64     // rows of x at a time: bounds the accumulators kept on the stack to 16 KiB
#define DOT_GROUPS (DOT_BLOCK / 32)
// Weights stream from memory once a step. Four rows side by side are four short streams that the processor's own prefetcher doesn't follow well, so lines are
// asked for this many bytes ahead: rows are contiguous, so the place ahead of one row is some later row's. Reading ahead of a tensor's end is harmless.
#define PREFETCH_BYTES 4096
#define PREFETCH_GROUP_BYTES 512  // scales and biases: an eighth of the codes, or less
#define LINE_BYTES 64

MLXCEL_INLINE void prefetch_lines(const uint8_t* p, int bytes) {
  for (int i = 0; i < bytes; i += LINE_BYTES) _mm_prefetch((const char*)p + i, _MM_HINT_T0);
}

// Sums of dot for four weight rows over one block of k; scales and biases are widened once a block. |group_log2| and |bits| are constants at every call.
MLXCEL_INLINE void dot4_affine_group(const matrix_t* m, const size_t n[DOT_OUTPUTS], const float* x, int k0, int count, int bits, int group_log2,
                                     v16 acc[DOT_OUTPUTS]) {
  int type = MLXCEL_FORMAT_TYPE(m->format), group = 1 << group_log2;
  float scales[DOT_OUTPUTS][DOT_GROUPS], biases[DOT_OUTPUTS][DOT_GROUPS];
  const uint8_t* codes[DOT_OUTPUTS];
  v16 sum[DOT_OUTPUTS];  // not |acc| itself: stores through it might change the codes, as far as the compiler knows
  for (int o = 0; o < DOT_OUTPUTS; ++o) {
    size_t first_group = n[o] * (size_t)(m->width >> group_log2) + (size_t)(k0 >> group_log2);
    load_typed_many(m->s + first_group * (size_t)type_bytes(type), type, count >> group_log2, scales[o]);
    load_typed_many(m->b + first_group * (size_t)type_bytes(type), type, count >> group_log2, biases[o]);
    prefetch_lines(m->s + first_group * (size_t)type_bytes(type) + PREFETCH_GROUP_BYTES, (count >> group_log2) * type_bytes(type));
    prefetch_lines(m->b + first_group * (size_t)type_bytes(type) + PREFETCH_GROUP_BYTES, (count >> group_log2) * type_bytes(type));
    codes[o] = m->w + (n[o] * (size_t)m->width + (size_t)k0) * (size_t)bits / 8;
    sum[o] = lanes_to_codes(acc[o], bits);
  }
  const v16_unpack unpack = unpack_for(bits);
  for (int g = 0; g < count >> group_log2; ++g) {
    affine_t a[DOT_OUTPUTS];
    for (int o = 0; o < DOT_OUTPUTS; ++o) a[o] = affine_make(scales[o][g], biases[o][g], bits);
    if (group * bits / 8 >= LINE_BYTES || g % (LINE_BYTES * 8 / (group * bits)) == 0) {
      for (int o = 0; o < DOT_OUTPUTS; ++o) prefetch_lines(codes[o] + PREFETCH_BYTES, group * bits / 8);
    }
    for (int j = 0; j < group; j += 16, x += 16) {
      v16 xv = lanes_to_codes(v16_load(x), bits);
      for (int o = 0; o < DOT_OUTPUTS; ++o) {
        sum[o] = v16_fma(xv, affine_weights16_in_code_lanes(codes[o], bits, &unpack, &a[o]), sum[o]);
        codes[o] += 2 * bits;
      }
    }
  }
  for (int o = 0; o < DOT_OUTPUTS; ++o) acc[o] = lanes_from_codes(sum[o], bits);
}

MLXCEL_INLINE void dot4_affine(const matrix_t* m, const size_t n[DOT_OUTPUTS], const float* x, int k0, int count, int bits, v16 acc[DOT_OUTPUTS]) {
  switch (MLXCEL_FORMAT_GROUP_LOG2(m->format)) {
    case 5:
      dot4_affine_group(m, n, x, k0, count, bits, 5, acc);
      break;
    case 6:
      dot4_affine_group(m, n, x, k0, count, bits, 6, acc);
      break;
    default:
      dot4_affine_group(m, n, x, k0, count, bits, 7, acc);
      break;
  }
}

MLXCEL_INLINE void dot4_dense(const matrix_t* m, const size_t n[DOT_OUTPUTS], const float* x, int k0, int count, int type, v16 acc[DOT_OUTPUTS]) {
  const uint8_t* w[DOT_OUTPUTS];
  v16 sum[DOT_OUTPUTS] = {acc[0], acc[1], acc[2], acc[3]};
  for (int o = 0; o < DOT_OUTPUTS; ++o) w[o] = m->w + (n[o] * (size_t)m->width + (size_t)k0) * (size_t)type_bytes(type);
  int k = 0;
  for (; k + 16 <= count; k += 16) {
    v16 xv = v16_load(x + k);
    for (int o = 0; o < DOT_OUTPUTS; ++o) {
      prefetch_lines(w[o] + k * type_bytes(type) + PREFETCH_BYTES, 16 * type_bytes(type));
      sum[o] = v16_fma(xv, load_typed16(w[o] + k * type_bytes(type), type), sum[o]);
    }
  }
  for (int o = 0; o < DOT_OUTPUTS && k < count; ++o) {
    v16 xv = v16_load_first(x + k, count - k), wv = load_typed_first(w[o] + k * type_bytes(type), type, count - k);
    sum[o] = v16_select_first(v16_fma(xv, wv, sum[o]), sum[o], count - k);
  }
  for (int o = 0; o < DOT_OUTPUTS; ++o) acc[o] = sum[o];
}

static void dot4_block(const matrix_t* m, const size_t n[DOT_OUTPUTS], const float* x, int k0, int count, v16 acc[DOT_OUTPUTS]) {
  switch (MLXCEL_FORMAT_BITS(m->format)) {
    case 0:
      if (MLXCEL_FORMAT_TYPE(m->format) == MLXCEL_FORMAT_F32) dot4_dense(m, n, x, k0, count, MLXCEL_FORMAT_F32, acc);
      if (MLXCEL_FORMAT_TYPE(m->format) == MLXCEL_FORMAT_F16) dot4_dense(m, n, x, k0, count, MLXCEL_FORMAT_F16, acc);
      if (MLXCEL_FORMAT_TYPE(m->format) == MLXCEL_FORMAT_BF16) dot4_dense(m, n, x, k0, count, MLXCEL_FORMAT_BF16, acc);
      break;
    case 2:
      dot4_affine(m, n, x, k0, count, 2, acc);
      break;
    case 3:
      dot4_affine(m, n, x, k0, count, 3, acc);
      break;
    case 4:
      dot4_affine(m, n, x, k0, count, 4, acc);
      break;
    case 5:
      dot4_affine(m, n, x, k0, count, 5, acc);
      break;
    case 6:
      dot4_affine(m, n, x, k0, count, 6, acc);
      break;
    default:
      dot4_affine(m, n, x, k0, count, 8, acc);
      break;
  }
}

// One row: y[n - n_begin] for n in [n_begin, n_end), sixteen outputs a tree.
static void project_row(const matrix_t* m, const float* x, size_t n_begin, size_t n_end, float* y) {
  for (size_t n0 = n_begin; n0 < n_end; n0 += 16) {
    v16 acc[16];
    for (int i = 0; i < 16; i += DOT_OUTPUTS) {
      size_t n[DOT_OUTPUTS];
      v16 part[DOT_OUTPUTS];
      for (int o = 0; o < DOT_OUTPUTS; ++o) {
        n[o] = n0 + (size_t)(i + o) < n_end ? n0 + (size_t)(i + o) : n_end - 1;  // beyond the end: computed again, not stored
        part[o] = v16_zero();
      }
      if (n0 + (size_t)i < n_end) {
        for (int k = 0; k < m->width; k += DOT_BLOCK) dot4_block(m, n, x + k, k, m->width - k < DOT_BLOCK ? m->width - k : DOT_BLOCK, part);
      }
      for (int o = 0; o < DOT_OUTPUTS; ++o) acc[i + o] = part[o];
    }
    v16 sums = v16_tree_of_16(acc);
    if (n_end - n0 >= 16) {
      v16_store(y + (n0 - n_begin), sums);
    } else {
      v16_store_first(y + (n0 - n_begin), sums, (int)(n_end - n0));
    }
  }
}

// acc[r][o] over one block of k for four rows of x and four unpacked rows of w (stride DOT_BLOCK).
MLXCEL_INLINE void tile_block(const float* const x[4], const float* w, int count, v16* acc) {
  v16 sum[4][DOT_OUTPUTS];
  for (int r = 0; r < 4; ++r)
    for (int o = 0; o < DOT_OUTPUTS; ++o) sum[r][o] = acc[r * DOT_OUTPUTS + o];
  int k = 0;
  for (; k + 16 <= count; k += 16) {
    v16 wv[DOT_OUTPUTS];
    for (int o = 0; o < DOT_OUTPUTS; ++o) wv[o] = v16_load(w + o * DOT_BLOCK + k);
    for (int r = 0; r < 4; ++r) {
      v16 xv = v16_load(x[r] + k);
      for (int o = 0; o < DOT_OUTPUTS; ++o) sum[r][o] = v16_fma(xv, wv[o], sum[r][o]);
    }
  }
  if (k < count) {
    for (int r = 0; r < 4; ++r) {
      v16 xv = v16_load_first(x[r] + k, count - k);
      for (int o = 0; o < DOT_OUTPUTS; ++o) {
        v16 wv = v16_load_first(w + o * DOT_BLOCK + k, count - k);
        sum[r][o] = v16_select_first(v16_fma(xv, wv, sum[r][o]), sum[r][o], count - k);
      }
    }
  }
  for (int r = 0; r < 4; ++r)
    for (int o = 0; o < DOT_OUTPUTS; ++o) acc[r * DOT_OUTPUTS + o] = sum[r][o];
}

// Up to DOT_ROWS rows and DOT_OUTPUTS outputs from n0: y[r * y_stride + o].
static void project_tile(const matrix_t* m, const float* x, int rows, size_t n0, int outputs, float* y, size_t y_stride) {
  v16 acc[(DOT_ROWS + 3) * DOT_OUTPUTS];
  float w[DOT_OUTPUTS * DOT_BLOCK];
  for (int i = 0; i < (rows + 3) / 4 * 4 * DOT_OUTPUTS; ++i) acc[i] = v16_zero();
  for (int k0 = 0; k0 < m->width; k0 += DOT_BLOCK) {
    int count = m->width - k0 < DOT_BLOCK ? m->width - k0 : DOT_BLOCK;
    for (int o = 0; o < DOT_OUTPUTS; ++o) weights_row(m, n0 + (size_t)(o < outputs ? o : outputs - 1), k0, count, w + o * DOT_BLOCK);
    for (int r = 0; r < rows; r += 4) {
      const float* xr[4];
      for (int i = 0; i < 4; ++i) xr[i] = x + (size_t)(r + i < rows ? r + i : rows - 1) * (size_t)m->width + k0;
      tile_block(xr, w, count, acc + r * DOT_OUTPUTS);
    }
  }
  for (int r = 0; r < rows; r += 4) {
    float sums[16];
    v16_store(sums, v16_tree_of_16(acc + r * DOT_OUTPUTS));
    for (int i = 0; i < 4 && r + i < rows; ++i)
      for (int o = 0; o < outputs; ++o) y[(size_t)(r + i) * y_stride + (size_t)o] = sums[i * DOT_OUTPUTS + o];
  }
}

// y[r * y_stride + n - n_begin] = dot(x[r], w[n]) [+ bias[n]] for up to DOT_ROWS rows of x (stride: the matrix's width).
static void project(const matrix_t* m, const float* x, int rows, size_t n_begin, size_t n_end, float* y, size_t y_stride) {
  if (n_begin >= n_end) return;
  if (rows == 1) {
    project_row(m, x, n_begin, n_end, y);
  } else {
    for (size_t n = n_begin; n < n_end; n += DOT_OUTPUTS) {
      int outputs = n_end - n < DOT_OUTPUTS ? (int)(n_end - n) : DOT_OUTPUTS;
      project_tile(m, x, rows, n, outputs, y + (n - n_begin), y_stride);
    }
  }
  if (!(m->flags & MLXCEL_MATRIX_HAS_BIAS)) return;
  int type = MLXCEL_MATRIX_BIAS_TYPE(m->flags);
  for (int r = 0; r < rows; ++r)
    for (size_t n = n_begin; n < n_end; ++n) y[(size_t)r * y_stride + n - n_begin] += load_typed(m->v + n * (size_t)type_bytes(type), type);
}

// One more than the last active row.
MLXCEL_INLINE int active_rows(const int32_t* positions, int rows) {
  while (rows > 0 && positions[rows - 1] < 0) --rows;
  return rows;
}

// The share of |group|: [*begin, *end) of |count| units.
MLXCEL_INLINE void share(size_t count, size_t group, size_t groups, size_t* begin, size_t* end) {
  *begin = count * group / groups;
  *end = count * (group + 1) / groups;
}

#endif  // MLXCEL_KERNELS_CPU_DOT_H_
