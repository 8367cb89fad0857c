// weights.h: reading rows of a stored matrix: dense f32, f16, bf16, or affine codes of 2 to 8 bits with group scales and biases.
#ifndef MLXCEL_KERNELS_CPU_WEIGHTS_H_
#define MLXCEL_KERNELS_CPU_WEIGHTS_H_

#include "kernels/cpu/elementary.h"

typedef struct matrix_t {  // [*, width] of the storage |format|
  const uint8_t *w, *s, *b, *v;
  int32_t format, flags;
  int width;
} matrix_t;
#define MATRIX(name, format_, flags_, width_) \
  { MLXCEL_AT(name##_w), MLXCEL_AT(name##_s), MLXCEL_AT(name##_b), MLXCEL_AT(name##_v), format_, flags_, width_ }

MLXCEL_INLINE int type_bytes(int type) { return type == MLXCEL_FORMAT_F32 ? 4 : 2; }

// Sixteen stored values of |type|, widened.
MLXCEL_INLINE v16 load_typed16(const uint8_t* p, int type) {
  if (type == MLXCEL_FORMAT_F32) return v16_load((const float*)(const void*)p);
  return type == MLXCEL_FORMAT_F16 ? v16_from_f16(p) : v16_from_bf16(p);
}

MLXCEL_INLINE float load_typed(const uint8_t* p, int type) {
  if (type == MLXCEL_FORMAT_F32) return *(const float*)(const void*)p;
  uint16_t bits = *(const uint16_t*)(const void*)p;
  if (type == MLXCEL_FORMAT_F16) return _cvtsh_ss(bits);
  return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int)((uint32_t)bits << 16))));
}

// |count| (1..15) stored values in the first lanes, zeros behind; nothing beyond them is read.
MLXCEL_INLINE v16 load_typed_first(const uint8_t* p, int type, int count) {
  if (type == MLXCEL_FORMAT_F32) return v16_load_first((const float*)(const void*)p, count);
#if defined(__AVX512F__)
  __m256i values = _mm256_maskz_loadu_epi16((__mmask16)((1u << count) - 1u), p);
  return type == MLXCEL_FORMAT_F16 ? _mm512_cvtph_ps(values) : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(values), 16));
#else
  uint16_t values[16];
  _mm256_storeu_si256((__m256i*)values, _mm256_setzero_si256());
  for (int i = 0; i < count; ++i) values[i] = ((const uint16_t*)(const void*)p)[i];
  return load_typed16((const uint8_t*)values, type);
#endif
}

// |count| values of |type| into f32.
static void load_typed_many(const uint8_t* p, int type, int count, float* out) {
  int i = 0;
  for (; i + 16 <= count; i += 16) v16_store(out + i, load_typed16(p + i * type_bytes(type), type));
  for (; i < count; ++i) out[i] = load_typed(p + i * type_bytes(type), type);
}

// The sixteen bytes that hold the next sixteen |bits|-wide codes, read without touching anything behind those 2 * bits bytes.
MLXCEL_INLINE __m128i load_codes(const uint8_t* p, int bits) {
  typedef uint64_t __attribute__((aligned(1), may_alias)) u64_any;
  typedef uint32_t __attribute__((aligned(1), may_alias)) u32_any;
  typedef uint16_t __attribute__((aligned(1), may_alias)) u16_any;
  switch (bits) {
    case 2:
      return _mm_cvtsi32_si128((int)*(const u32_any*)p);
    case 3:
      return _mm_cvtsi64_si128((long long)((uint64_t) * (const u32_any*)p | (uint64_t) * (const u16_any*)(p + 4) << 32));
    case 4:
      return _mm_cvtsi64_si128((long long)*(const u64_any*)p);
    case 5:
      return _mm_set_epi64x((long long)*(const u16_any*)(p + 8), (long long)*(const u64_any*)p);
    case 6:
      return _mm_set_epi64x((long long)*(const u32_any*)(p + 8), (long long)*(const u64_any*)p);
    default:
      return _mm_loadu_si128((const __m128i*)p);
  }
}

// Lane i takes the four bytes that begin at bit i * bits of the sixteen loaded, then shifts. Bytes behind the sixteenth read as zero (bit 7 of the index set).
typedef struct unpack_table_t {
  int8_t bytes[64];
  int32_t shifts[16];
} unpack_table_t;
#define UNPACK_BYTE(bits, lane, i) (int8_t)((lane) * (bits) / 8 + (i) < 16 ? (lane) * (bits) / 8 + (i) : -128)
#define UNPACK_BYTES(bits, lane) UNPACK_BYTE(bits, lane, 0), UNPACK_BYTE(bits, lane, 1), UNPACK_BYTE(bits, lane, 2), UNPACK_BYTE(bits, lane, 3)
#define UNPACK_SHIFT(bits, lane) (lane) * (bits) % 8
#define UNPACK_LANES(item, bits)                                                                                                                        \
  item(bits, 0), item(bits, 1), item(bits, 2), item(bits, 3), item(bits, 4), item(bits, 5), item(bits, 6), item(bits, 7), item(bits, 8), item(bits, 9), \
      item(bits, 10), item(bits, 11), item(bits, 12), item(bits, 13), item(bits, 14), item(bits, 15)
#define UNPACK_TABLE(bits)                                                   \
  {                                                                          \
    {UNPACK_LANES(UNPACK_BYTES, bits)}, { UNPACK_LANES(UNPACK_SHIFT, bits) } \
  }
static const unpack_table_t unpack_tables[9] = {
    [2] = UNPACK_TABLE(2), [3] = UNPACK_TABLE(3), [4] = UNPACK_TABLE(4), [5] = UNPACK_TABLE(5), [6] = UNPACK_TABLE(6)};

MLXCEL_INLINE v16_unpack unpack_for(int bits) { return v16_unpack_make(unpack_tables[bits].bytes, unpack_tables[bits].shifts, (1 << bits) - 1); }

// fma(code, scale, bias) of a group, ready for sixteen codes. Where sixteen or 32 weights fit into registers (v4, up to five bits) they are computed once a
// group and then looked up: |low| and |high| hold the weights of codes 0..15 and 16..31, narrower codes' repeated, so that a code's neighbours above it don't
// matter. Else |low| is the scale, |high| the bias.
typedef struct affine_t {
  v16 low, high;
} affine_t;

#if defined(__AVX512F__)
#define AFFINE_IS_TABLE(bits) ((bits) <= 5)
MLXCEL_INLINE v16 code_values(int bits, int first) {
  const int mask = bits < 4 ? (1 << bits) - 1 : 15;
  __m512i lanes = _mm512_and_si512(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(mask));
  return _mm512_cvtepi32_ps(_mm512_add_epi32(lanes, _mm512_set1_epi32(first)));
}
#else
#define AFFINE_IS_TABLE(bits) 0
MLXCEL_INLINE v16 code_values(int bits, int first) {
  (void)bits, (void)first;
  return v16_zero();
}
#endif

MLXCEL_INLINE affine_t affine_make(float scale, float bias, int bits) {
  affine_t a = {v16_set1(scale), v16_set1(bias)};
  if (AFFINE_IS_TABLE(bits)) {
    affine_t table = {v16_fma(code_values(bits, 0), a.low, a.high), bits == 5 ? v16_fma(code_values(bits, 16), a.low, a.high) : v16_zero()};
    return table;
  }
  return a;
}

#if defined(__AVX512F__)
// The weights of sixteen codes in the low bits of their lanes.
MLXCEL_INLINE v16 affine_look_up(__m512i codes, int bits, const affine_t* a) {
  return bits == 5 ? _mm512_permutex2var_ps(a->low, codes, a->high) : _mm512_permutexvar_ps(codes, a->low);
}
#endif

// The weights of the sixteen codes at |codes|, in order.
MLXCEL_INLINE v16 affine_weights16(const uint8_t* codes, int bits, const v16_unpack* unpack, const affine_t* a) {
#if defined(__AVX512F__)
  if (bits == 4) {  // broadcast by the load: every quarter of the register has both words twice
    __m512i both = _mm512_shuffle_epi8(_mm512_broadcastq_epi64(load_codes(codes, 4)), unpack->bytes);
    return affine_look_up(_mm512_srlv_epi32(both, unpack->shifts), 4, a);
  }
  if (AFFINE_IS_TABLE(bits)) return affine_look_up(v16_unpack_shifted(unpack, load_codes(codes, bits)), bits, a);
#endif
  v16i values = bits == 8 ? v16i_from_u8(codes) : v16_unpack_codes(unpack, load_codes(codes, bits));
  return v16_fma(v16_from_int(values), a->low, a->high);
}

// Four-bit codes are cheapest in another order of lanes: both words of a sixteen are spread over all lanes and shifted, which leaves codes 0, 8, 1, 9, ... in
// lanes 0, 1, 2, 3. A dot's lanes only meet in its tree, so activations and accumulators can take that order meanwhile.
MLXCEL_INLINE v16 lanes_from_codes(v16 a, int bits) { return bits == 4 ? v16_part_halves(a) : a; }
MLXCEL_INLINE v16 affine_weights16_in_code_lanes(const uint8_t* codes, int bits, const v16_unpack* unpack, const affine_t* a) {
  if (bits != 4) return affine_weights16(codes, bits, unpack, a);
  v16i shifted = v16_spread_nibbles(codes);
#if defined(__AVX512F__)
  return affine_look_up(shifted, 4, a);
#else
  return v16_fma(v16_from_int(v16i_and(shifted, unpack->mask)), a->low, a->high);
#endif
}

// |count| values of |type|, widened; |out| has room for whole sixteens.
MLXCEL_INLINE void widen_values(const uint8_t* p, int type, int count, float* out) {
  int i = 0;
  for (; i + 16 <= count; i += 16) v16_store(out + i, load_typed16(p + i * type_bytes(type), type));
  if (i < count) v16_store(out + i, load_typed_first(p + i * type_bytes(type), type, count - i));
}

#define ROW_GROUPS 64  // groups of a row whose scales are widened at a time

// |groups| groups of codes into f32.
MLXCEL_INLINE void affine_groups(const uint8_t* codes, const float* scales, const float* biases, int groups, int bits, int group, float* out) {
  const v16_unpack unpack = unpack_for(bits);
  for (int g = 0; g < groups; ++g) {
    affine_t a = affine_make(scales[g], biases[g], bits);
    for (int j = 0; j < group; j += 16, codes += 2 * bits, out += 16) v16_store(out, affine_weights16(codes, bits, &unpack, &a));
  }
}

// Weights k0 .. k0+count of row |n| into f32 (quantized: k0 and count multiples of the group).
MLXCEL_INLINE void affine_row(const matrix_t* m, size_t n, int k0, int count, int bits, float* out) {
  const int group_log2 = MLXCEL_FORMAT_GROUP_LOG2(m->format), type = MLXCEL_FORMAT_TYPE(m->format);
  const int all = count >> group_log2;
  const size_t first = n * (size_t)(m->width >> group_log2) + (size_t)(k0 >> group_log2);
  const uint8_t* codes = m->w + (n * (size_t)m->width + (size_t)k0) * (size_t)bits / 8;
  for (int done = 0; done < all; done += ROW_GROUPS) {
    _Alignas(64) float scales[ROW_GROUPS], biases[ROW_GROUPS];
    int groups = all - done < ROW_GROUPS ? all - done : ROW_GROUPS;
    size_t at = (first + (size_t)done) * (size_t)type_bytes(type), element = (size_t)done << group_log2;
    widen_values(m->s + at, type, groups, scales);
    widen_values(m->b + at, type, groups, biases);
    affine_groups(codes + element * (size_t)bits / 8, scales, biases, groups, bits, 1 << group_log2, out + element);
  }
}

static void weights_row(const matrix_t* m, size_t n, int k0, int count, float* out) {
  int type = MLXCEL_FORMAT_TYPE(m->format);
  switch (MLXCEL_FORMAT_BITS(m->format)) {
    case 0:
      load_typed_many(m->w + (n * (size_t)m->width + (size_t)k0) * (size_t)type_bytes(type), type, count, out);
      break;
    case 2:
      affine_row(m, n, k0, count, 2, out);
      break;
    case 3:
      affine_row(m, n, k0, count, 3, out);
      break;
    case 4:
      affine_row(m, n, k0, count, 4, out);
      break;
    case 5:
      affine_row(m, n, k0, count, 5, out);
      break;
    case 6:
      affine_row(m, n, k0, count, 6, out);
      break;
    default:
      affine_row(m, n, k0, count, 8, out);
      break;
  }
}

#endif  // MLXCEL_KERNELS_CPU_WEIGHTS_H_
