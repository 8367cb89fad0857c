// mlx_weights.h: stored matrices: a tile of weights for many outputs at once (matmul), and one row (embedding).
#ifndef MLXCEL_KERNELS_MLX_MLX_WEIGHTS_H_
#define MLXCEL_KERNELS_MLX_MLX_WEIGHTS_H_

#include "kernels/mlx/mlx_lanes.h"

typedef struct matrix_t {  // [*, width] of the storage |format|
  const uint8_t *w, *s, *b;
  int32_t format;
  size_t width;
} matrix_t;

#define CODES 8  // codes at a time: eight codes of b bits are b whole bytes, and every group is a multiple of eight

// The next eight codes, one a byte. Reads |bits| bytes.
MLXCEL_INLINE uint64_t unpack_codes(const uint8_t* p, int bits) {
  const uint64_t mask = 0x0101010101010101u * ((1u << bits) - 1u);
  switch (bits) {
    case 2:
      return _pdep_u64(*(const any_u16_t*)p, mask);
    case 3:
      return _pdep_u64(*(const any_u16_t*)p | (uint64_t)p[2] << 16, mask);
    case 4:
      return _pdep_u64(*(const any_u32_t*)p, mask);
    case 5:
      return _pdep_u64(*(const any_u32_t*)p | (uint64_t)p[4] << 32, mask);
    case 6:
      return _pdep_u64(*(const any_u32_t*)p | (uint64_t) * (const any_u16_t*)(p + 4) << 32, mask);
    default:
      return *(const any_u64_t*)p;
  }
}

// Eight codes of eight rows, by columns: out[8 * k + row].
MLXCEL_INLINE void transpose_codes(const uint64_t rows[LANES], uint8_t out[LANES * CODES]) {
  __m128i pairs[4];
  for (int i = 0; i < 4; ++i) {
    pairs[i] = _mm_unpacklo_epi8(_mm_cvtsi64_si128((long long)rows[2 * i]), _mm_cvtsi64_si128((long long)rows[2 * i + 1]));
  }
  __m128i low0 = _mm_unpacklo_epi16(pairs[0], pairs[1]), high0 = _mm_unpackhi_epi16(pairs[0], pairs[1]);
  __m128i low1 = _mm_unpacklo_epi16(pairs[2], pairs[3]), high1 = _mm_unpackhi_epi16(pairs[2], pairs[3]);
  _mm_storeu_si128((__m128i*)(void*)out, _mm_unpacklo_epi32(low0, low1));
  _mm_storeu_si128((__m128i*)(void*)(out + 16), _mm_unpackhi_epi32(low0, low1));
  _mm_storeu_si128((__m128i*)(void*)(out + 32), _mm_unpacklo_epi32(high0, high1));
  _mm_storeu_si128((__m128i*)(void*)(out + 48), _mm_unpackhi_epi32(high0, high1));
}

// Weights k0 .. k0 + count of eight rows, decoded in |type|: tile[k * stride + row].
MLXCEL_INLINE void decode_eight_rows(const matrix_t* m, const size_t n[LANES], size_t k0, size_t count, size_t stride, int bits, int type, float* tile) {
  int stored = MLXCEL_FORMAT_TYPE(m->format), group_log2 = MLXCEL_FORMAT_GROUP_LOG2(m->format);
  size_t groups = m->width >> group_log2, row_bytes = m->width * (size_t)bits / 8;
  for (size_t k = 0; k < count; k += CODES) {
    float scales[LANES], biases[LANES];
    uint64_t rows[LANES];
    uint8_t codes[LANES * CODES];
    for (int o = 0; o < LANES; ++o) {
      scales[o] = load_typed(m->s, n[o] * groups + ((k0 + k) >> group_log2), stored);
      biases[o] = load_typed(m->b, n[o] * groups + ((k0 + k) >> group_log2), stored);
      rows[o] = unpack_codes(m->w + n[o] * row_bytes + (k0 + k) * (size_t)bits / 8, bits);
    }
    transpose_codes(rows, codes);
    lanes_t scale = lanes_load(scales), bias = lanes_load(biases);
    for (size_t i = 0; i < CODES; ++i) {
      lanes_t product = lanes_round(lanes_mul(scale, lanes_from_codes(codes + LANES * i)), type);
      lanes_store(tile + (k + i) * stride, lanes_round(lanes_add(product, bias), type));
    }
  }
}

MLXCEL_INLINE void decode_by_bits(const matrix_t* m, const size_t n[LANES], size_t k0, size_t count, size_t stride, int type, float* tile) {
  switch (MLXCEL_FORMAT_BITS(m->format)) {
    case 2:
      decode_eight_rows(m, n, k0, count, stride, 2, type, tile);
      break;
    case 3:
      decode_eight_rows(m, n, k0, count, stride, 3, type, tile);
      break;
    case 4:
      decode_eight_rows(m, n, k0, count, stride, 4, type, tile);
      break;
    case 5:
      decode_eight_rows(m, n, k0, count, stride, 5, type, tile);
      break;
    case 6:
      decode_eight_rows(m, n, k0, count, stride, 6, type, tile);
      break;
    default:
      decode_eight_rows(m, n, k0, count, stride, 8, type, tile);
      break;
  }
}

// Affine weights in the operation's type |type|.
static void weights_decode(const matrix_t* m, const size_t n[LANES], size_t k0, size_t count, size_t stride, int type, float* tile) {
  if (type == MLXCEL_FORMAT_F32) decode_by_bits(m, n, k0, count, stride, MLXCEL_FORMAT_F32, tile);
  if (type == MLXCEL_FORMAT_F16) decode_by_bits(m, n, k0, count, stride, MLXCEL_FORMAT_F16, tile);
  if (type == MLXCEL_FORMAT_BF16) decode_by_bits(m, n, k0, count, stride, MLXCEL_FORMAT_BF16, tile);
}

MLXCEL_INLINE void widen_eight_rows(const matrix_t* m, const size_t n[LANES], size_t k0, size_t count, size_t stride, int stored, float* tile) {
  for (int o = 0; o < LANES; ++o) {
    for (size_t k = 0; k < count; ++k) tile[k * stride + (size_t)o] = load_typed(m->w, n[o] * m->width + k0 + k, stored);
  }
}
// Dense weights, widened.
static void weights_widen(const matrix_t* m, const size_t n[LANES], size_t k0, size_t count, size_t stride, float* tile) {
  int stored = MLXCEL_FORMAT_TYPE(m->format);
  if (stored == MLXCEL_FORMAT_F32) widen_eight_rows(m, n, k0, count, stride, MLXCEL_FORMAT_F32, tile);
  if (stored == MLXCEL_FORMAT_F16) widen_eight_rows(m, n, k0, count, stride, MLXCEL_FORMAT_F16, tile);
  if (stored == MLXCEL_FORMAT_BF16) widen_eight_rows(m, n, k0, count, stride, MLXCEL_FORMAT_BF16, tile);
}

// Row |n| of the table as its own type: copied, or dequantized.
static void embed_row(const matrix_t* table, size_t n, uint8_t* out) {
  int bits = MLXCEL_FORMAT_BITS(table->format), type = MLXCEL_FORMAT_TYPE(table->format), group_log2 = MLXCEL_FORMAT_GROUP_LOG2(table->format);
  if (bits == 0) {
    const uint8_t* row = table->w + n * table->width * type_bytes(type);
    for (size_t i = 0; i < table->width * type_bytes(type); i += 2) *(any_u16_t*)(out + i) = *(const any_u16_t*)(row + i);
    return;
  }
  for (size_t k = 0; k < table->width; k += CODES) {
    uint64_t codes = unpack_codes(table->w + (n * table->width + k) * (size_t)bits / 8, bits);
    size_t group = n * (table->width >> group_log2) + (k >> group_log2);
    float scale = load_typed(table->s, group, type), bias = load_typed(table->b, group, type);
    for (size_t i = 0; i < CODES; ++i) store_typed(out, k + i, type, round_to(scale * (float)(uint8_t)(codes >> (8 * i)), type) + bias);
  }
}

#endif  // MLXCEL_KERNELS_MLX_MLX_WEIGHTS_H_
