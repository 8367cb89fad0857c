// vec16.h: sixteen f32 lanes for the pinned kernels: one AVX-512 register (v4) or two AVX2 registers (v3). Every operation is the IEEE one, lane by lane, so
// both give the same bits.
#ifndef MLXCEL_KERNELS_CPU_VEC16_H_
#define MLXCEL_KERNELS_CPU_VEC16_H_

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MLXCEL_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
typedef __m512 v16;
typedef __m512i v16i;

MLXCEL_INLINE v16 v16_zero(void) { return _mm512_setzero_ps(); }
MLXCEL_INLINE v16 v16_set1(float x) { return _mm512_set1_ps(x); }
MLXCEL_INLINE v16 v16_load(const float* p) { return _mm512_loadu_ps(p); }
// a, loaded once: without it compilers repeat the load in every operation that uses it.
MLXCEL_INLINE v16 v16_in_register(v16 a) {
  __asm__("" : "+v"(a));
  return a;
}
// Four lanes each to p, p + stride, ...
MLXCEL_INLINE void v16_store_quarters(float* p, size_t stride, v16 a) {
  _mm_storeu_ps(p, _mm512_castps512_ps128(a));
  _mm_storeu_ps(p + stride, _mm512_extractf32x4_ps(a, 1));
  _mm_storeu_ps(p + 2 * stride, _mm512_extractf32x4_ps(a, 2));
  _mm_storeu_ps(p + 3 * stride, _mm512_extractf32x4_ps(a, 3));
}
MLXCEL_INLINE void v16_store(float* p, v16 a) { _mm512_storeu_ps(p, a); }
MLXCEL_INLINE v16 v16_fma(v16 a, v16 b, v16 c) { return _mm512_fmadd_ps(a, b, c); }
MLXCEL_INLINE v16 v16_add(v16 a, v16 b) { return _mm512_add_ps(a, b); }
MLXCEL_INLINE v16 v16_sub(v16 a, v16 b) { return _mm512_sub_ps(a, b); }
MLXCEL_INLINE v16 v16_mul(v16 a, v16 b) { return _mm512_mul_ps(a, b); }
MLXCEL_INLINE v16 v16_div(v16 a, v16 b) { return _mm512_div_ps(a, b); }
// a < b ? a : b, so a NaN in b stays (and likewise for max).
MLXCEL_INLINE v16 v16_min(v16 a, v16 b) { return _mm512_min_ps(a, b); }
MLXCEL_INLINE v16 v16_max(v16 a, v16 b) { return _mm512_max_ps(a, b); }
MLXCEL_INLINE v16 v16_neg(v16 a) { return _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), _mm512_set1_epi32((int)0x80000000u))); }
MLXCEL_INLINE v16 v16_rint(v16 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
MLXCEL_INLINE v16i v16_to_int(v16 a) { return _mm512_cvtps_epi32(a); }
MLXCEL_INLINE v16 v16_from_int(v16i a) { return _mm512_cvtepi32_ps(a); }
MLXCEL_INLINE v16i v16i_sub(v16i a, v16i b) { return _mm512_sub_epi32(a, b); }
MLXCEL_INLINE v16i v16i_half(v16i a) { return _mm512_srai_epi32(a, 1); }
// 2^n by its bits, for n in [-126, 127].
MLXCEL_INLINE v16 v16_pow2(v16i n) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23)); }
// The first |count| (1..15) lanes of memory, the others zero; nothing beyond them is read.
MLXCEL_INLINE v16 v16_load_first(const float* p, int count) { return _mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1u), p); }
MLXCEL_INLINE void v16_store_first(float* p, v16 a, int count) { _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1u), a); }
// The first |count| lanes of a, the others of b.
MLXCEL_INLINE v16 v16_select_first(v16 a, v16 b, int count) { return _mm512_mask_blend_ps((__mmask16)((1u << count) - 1u), b, a); }
MLXCEL_INLINE v16 v16_from_f16(const void* p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }
MLXCEL_INLINE v16 v16_from_bf16(const void* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)), 16));
}
MLXCEL_INLINE v16i v16i_from_u8(const void* p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p)); }

typedef struct v16_unpack {  // how sixteen b-bit codes are picked out of sixteen bytes
  __m512i bytes, shifts, mask;
} v16_unpack;
MLXCEL_INLINE v16_unpack v16_unpack_make(const int8_t bytes[64], const int32_t shifts[16], int32_t mask) {
  v16_unpack unpack = {_mm512_loadu_si512(bytes), _mm512_loadu_si512(shifts), _mm512_set1_epi32(mask)};
  return unpack;
}
// Each code in the low bits of its lane; above it are bits of its neighbours.
MLXCEL_INLINE v16i v16_unpack_shifted(const v16_unpack* unpack, __m128i packed) {
  return _mm512_srlv_epi32(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(packed), unpack->bytes), unpack->shifts);
}
MLXCEL_INLINE v16i v16_unpack_codes(const v16_unpack* unpack, __m128i packed) { return _mm512_and_si512(v16_unpack_shifted(unpack, packed), unpack->mask); }

// Lanes 0, 8, 1, 9, ... of a, and the way back.
MLXCEL_INLINE v16 v16_interleave_halves(v16 a) { return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15), a); }
MLXCEL_INLINE v16 v16_part_halves(v16 a) { return _mm512_permutexvar_ps(_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), a); }
// Sixteen 4-bit codes, each in the low bits of a lane with its neighbours above it: 0, 8, 1, 9, ...
MLXCEL_INLINE v16i v16_spread_nibbles(const void* p) {
  __m512i both = _mm512_broadcastq_epi64(_mm_loadl_epi64((const __m128i*)p));
  return _mm512_srlv_epi32(both, _mm512_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28));
}

MLXCEL_INLINE float v16_tree(v16 a) {
  __m256 l8 = _mm256_add_ps(_mm512_castps512_ps256(a), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1)));
  __m128 l4 = _mm_add_ps(_mm256_castps256_ps128(l8), _mm256_extractf128_ps(l8, 1));
  __m128 l2 = _mm_add_ps(l4, _mm_movehl_ps(l4, l4));
  return _mm_cvtss_f32(_mm_add_ss(l2, _mm_shuffle_ps(l2, l2, 1)));
}

// tree16 of sixteen vectors at once: lane i of the result is the tree of a[i]. The same additions, transposed.
MLXCEL_INLINE v16 v16_tree_of_16(const v16* a) {
  v16 s[8], t[4];
  // Slot n = 4j + i of the network ends in lane 4i + j, so it is fed with vector 4i + j.
  for (int k = 0; k < 8; ++k) {
    int n0 = 2 * k, n1 = 2 * k + 1;
    v16 p = a[4 * (n0 & 3) + (n0 >> 2)], q = a[4 * (n1 & 3) + (n1 >> 2)];
    s[k] = _mm512_add_ps(_mm512_shuffle_f32x4(p, q, 0x44), _mm512_shuffle_f32x4(p, q, 0xEE));
  }
  for (int k = 0; k < 4; ++k) {
    t[k] = _mm512_add_ps(_mm512_shuffle_f32x4(s[2 * k], s[2 * k + 1], 0x88), _mm512_shuffle_f32x4(s[2 * k], s[2 * k + 1], 0xDD));
  }
  v16 u0 = _mm512_add_ps(_mm512_shuffle_ps(t[0], t[1], 0x44), _mm512_shuffle_ps(t[0], t[1], 0xEE));
  v16 u1 = _mm512_add_ps(_mm512_shuffle_ps(t[2], t[3], 0x44), _mm512_shuffle_ps(t[2], t[3], 0xEE));
  return _mm512_add_ps(_mm512_shuffle_ps(u0, u1, 0x88), _mm512_shuffle_ps(u0, u1, 0xDD));
}

#else  // AVX2, FMA, F16C

typedef struct v16 {
  __m256 lo, hi;
} v16;
typedef struct v16i {
  __m256i lo, hi;
} v16i;

#define MLXCEL_V16_OP1(name, op) \
  MLXCEL_INLINE v16 name(v16 a) { return (v16){op(a.lo), op(a.hi)}; }
#define MLXCEL_V16_OP2(name, op) \
  MLXCEL_INLINE v16 name(v16 a, v16 b) { return (v16){op(a.lo, b.lo), op(a.hi, b.hi)}; }

MLXCEL_INLINE v16 v16_zero(void) { return (v16){_mm256_setzero_ps(), _mm256_setzero_ps()}; }
MLXCEL_INLINE v16 v16_set1(float x) { return (v16){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
MLXCEL_INLINE v16 v16_load(const float* p) { return (v16){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
MLXCEL_INLINE void v16_store(float* p, v16 a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}
MLXCEL_INLINE v16 v16_in_register(v16 a) { return a; }
MLXCEL_INLINE void v16_store_quarters(float* p, size_t stride, v16 a) {
  _mm_storeu_ps(p, _mm256_castps256_ps128(a.lo));
  _mm_storeu_ps(p + stride, _mm256_extractf128_ps(a.lo, 1));
  _mm_storeu_ps(p + 2 * stride, _mm256_castps256_ps128(a.hi));
  _mm_storeu_ps(p + 3 * stride, _mm256_extractf128_ps(a.hi, 1));
}
MLXCEL_INLINE v16 v16_fma(v16 a, v16 b, v16 c) { return (v16){_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)}; }
MLXCEL_V16_OP2(v16_add, _mm256_add_ps)
MLXCEL_V16_OP2(v16_sub, _mm256_sub_ps)
MLXCEL_V16_OP2(v16_mul, _mm256_mul_ps)
MLXCEL_V16_OP2(v16_div, _mm256_div_ps)
MLXCEL_V16_OP2(v16_min, _mm256_min_ps)
MLXCEL_V16_OP2(v16_max, _mm256_max_ps)
MLXCEL_INLINE __m256 v8_neg(__m256 a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32((int)0x80000000u))); }
MLXCEL_V16_OP1(v16_neg, v8_neg)
MLXCEL_INLINE __m256 v8_rint(__m256 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
MLXCEL_V16_OP1(v16_rint, v8_rint)
MLXCEL_INLINE v16i v16_to_int(v16 a) { return (v16i){_mm256_cvtps_epi32(a.lo), _mm256_cvtps_epi32(a.hi)}; }
MLXCEL_INLINE v16 v16_from_int(v16i a) { return (v16){_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
MLXCEL_INLINE v16i v16i_sub(v16i a, v16i b) { return (v16i){_mm256_sub_epi32(a.lo, b.lo), _mm256_sub_epi32(a.hi, b.hi)}; }
MLXCEL_INLINE v16i v16i_half(v16i a) { return (v16i){_mm256_srai_epi32(a.lo, 1), _mm256_srai_epi32(a.hi, 1)}; }
MLXCEL_INLINE __m256 v8_pow2(__m256i n) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23)); }
MLXCEL_INLINE v16 v16_pow2(v16i n) { return (v16){v8_pow2(n.lo), v8_pow2(n.hi)}; }

// Lane masks of the first |count| of eight lanes.
MLXCEL_INLINE __m256i v8_first(int count) { return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)); }
MLXCEL_INLINE v16 v16_load_first(const float* p, int count) {
  __m256i lo = v8_first(count), hi = v8_first(count - 8);
  return (v16){_mm256_maskload_ps(p, lo), count > 8 ? _mm256_maskload_ps(p + 8, hi) : _mm256_setzero_ps()};
}
MLXCEL_INLINE void v16_store_first(float* p, v16 a, int count) {
  _mm256_maskstore_ps(p, v8_first(count), a.lo);
  if (count > 8) _mm256_maskstore_ps(p + 8, v8_first(count - 8), a.hi);
}
MLXCEL_INLINE v16 v16_select_first(v16 a, v16 b, int count) {
  return (v16){_mm256_blendv_ps(b.lo, a.lo, _mm256_castsi256_ps(v8_first(count))), _mm256_blendv_ps(b.hi, a.hi, _mm256_castsi256_ps(v8_first(count - 8)))};
}
MLXCEL_INLINE v16 v16_from_f16(const void* p) {
  const __m128i* q = (const __m128i*)p;
  return (v16){_mm256_cvtph_ps(_mm_loadu_si128(q)), _mm256_cvtph_ps(_mm_loadu_si128(q + 1))};
}
MLXCEL_INLINE __m256 v8_from_bf16(__m128i a) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16)); }
MLXCEL_INLINE v16 v16_from_bf16(const void* p) {
  const __m128i* q = (const __m128i*)p;
  return (v16){v8_from_bf16(_mm_loadu_si128(q)), v8_from_bf16(_mm_loadu_si128(q + 1))};
}
MLXCEL_INLINE v16i v16i_from_u8(const void* p) {
  __m128i bytes = _mm_loadu_si128((const __m128i*)p);
  return (v16i){_mm256_cvtepu8_epi32(bytes), _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8))};
}

typedef struct v16_unpack {
  __m256i bytes[2], shifts[2], mask;
} v16_unpack;
MLXCEL_INLINE v16_unpack v16_unpack_make(const int8_t bytes[64], const int32_t shifts[16], int32_t mask) {
  v16_unpack unpack;
  unpack.bytes[0] = _mm256_loadu_si256((const __m256i*)bytes);
  unpack.bytes[1] = _mm256_loadu_si256((const __m256i*)(bytes + 32));
  unpack.shifts[0] = _mm256_loadu_si256((const __m256i*)shifts);
  unpack.shifts[1] = _mm256_loadu_si256((const __m256i*)(shifts + 8));
  unpack.mask = _mm256_set1_epi32(mask);
  return unpack;
}
MLXCEL_INLINE v16i v16_unpack_codes(const v16_unpack* unpack, __m128i packed) {
  __m256i both = _mm256_broadcastsi128_si256(packed);
  __m256i lo = _mm256_srlv_epi32(_mm256_shuffle_epi8(both, unpack->bytes[0]), unpack->shifts[0]);
  __m256i hi = _mm256_srlv_epi32(_mm256_shuffle_epi8(both, unpack->bytes[1]), unpack->shifts[1]);
  return (v16i){_mm256_and_si256(lo, unpack->mask), _mm256_and_si256(hi, unpack->mask)};
}

MLXCEL_INLINE v16i v16i_and(v16i a, __m256i mask) { return (v16i){_mm256_and_si256(a.lo, mask), _mm256_and_si256(a.hi, mask)}; }
MLXCEL_INLINE v16 v16_interleave_halves(v16 a) {
  __m256 p = _mm256_unpacklo_ps(a.lo, a.hi), q = _mm256_unpackhi_ps(a.lo, a.hi);
  return (v16){_mm256_permute2f128_ps(p, q, 0x20), _mm256_permute2f128_ps(p, q, 0x31)};
}
MLXCEL_INLINE v16 v16_part_halves(v16 a) {
  __m256 p = _mm256_permute2f128_ps(a.lo, a.hi, 0x20), q = _mm256_permute2f128_ps(a.lo, a.hi, 0x31);
  return (v16){_mm256_shuffle_ps(p, q, 0x88), _mm256_shuffle_ps(p, q, 0xDD)};
}
MLXCEL_INLINE v16i v16_spread_nibbles(const void* p) {
  __m256i both = _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i*)p));
  return (v16i){_mm256_srlv_epi32(both, _mm256_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12)),
                _mm256_srlv_epi32(both, _mm256_setr_epi32(16, 16, 20, 20, 24, 24, 28, 28))};
}

MLXCEL_INLINE float v16_tree(v16 a) {
  __m256 l8 = _mm256_add_ps(a.lo, a.hi);
  __m128 l4 = _mm_add_ps(_mm256_castps256_ps128(l8), _mm256_extractf128_ps(l8, 1));
  __m128 l2 = _mm_add_ps(l4, _mm_movehl_ps(l4, l4));
  return _mm_cvtss_f32(_mm_add_ss(l2, _mm_shuffle_ps(l2, l2, 1)));
}

MLXCEL_INLINE __m256 v8_add_halves(__m256 p, __m256 q) { return _mm256_add_ps(_mm256_permute2f128_ps(p, q, 0x20), _mm256_permute2f128_ps(p, q, 0x31)); }
MLXCEL_INLINE __m256 v8_add_pairs(__m256 p, __m256 q) { return _mm256_add_ps(_mm256_shuffle_ps(p, q, 0x44), _mm256_shuffle_ps(p, q, 0xEE)); }
MLXCEL_INLINE __m256 v8_add_odds(__m256 p, __m256 q) { return _mm256_add_ps(_mm256_shuffle_ps(p, q, 0x88), _mm256_shuffle_ps(p, q, 0xDD)); }
// Trees of eight vectors: lane 4i + j of the result is the tree of a[4i + j].
MLXCEL_INLINE __m256 v8_tree_of_8(const v16* a) {
  __m256 t[4];
  for (int j = 0; j < 4; ++j) t[j] = v8_add_halves(_mm256_add_ps(a[j].lo, a[j].hi), _mm256_add_ps(a[4 + j].lo, a[4 + j].hi));
  return v8_add_odds(v8_add_pairs(t[0], t[1]), v8_add_pairs(t[2], t[3]));
}
MLXCEL_INLINE v16 v16_tree_of_16(const v16* a) { return (v16){v8_tree_of_8(a), v8_tree_of_8(a + 8)}; }
#endif

#endif  // MLXCEL_KERNELS_CPU_VEC16_H_
