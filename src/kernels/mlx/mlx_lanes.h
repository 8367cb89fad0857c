// mlx_lanes.h: eight f32 values side by side, each of another output: every operation is the scalar one, lane by lane, so an output keeps its own order.
#ifndef MLXCEL_KERNELS_MLX_MLX_LANES_H_
#define MLXCEL_KERNELS_MLX_MLX_LANES_H_

#include "kernels/mlx/mlx_number.h"

#define LANES 8

typedef __m256 lanes_t;

MLXCEL_INLINE lanes_t lanes_zero(void) { return _mm256_setzero_ps(); }
MLXCEL_INLINE lanes_t lanes_set1(float x) { return _mm256_set1_ps(x); }
MLXCEL_INLINE lanes_t lanes_load(const float* p) { return _mm256_loadu_ps(p); }
MLXCEL_INLINE void lanes_store(float* p, lanes_t a) { _mm256_storeu_ps(p, a); }
MLXCEL_INLINE lanes_t lanes_add(lanes_t a, lanes_t b) { return _mm256_add_ps(a, b); }
MLXCEL_INLINE lanes_t lanes_mul(lanes_t a, lanes_t b) { return _mm256_mul_ps(a, b); }
// Eight bytes as numbers.
MLXCEL_INLINE lanes_t lanes_from_codes(const uint8_t* p) { return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i*)(const void*)p))); }

// round_to of every lane, but a NaN becomes some NaN. Requires that a NaN among f32 values of bf16 has no bit below them: so it is for NaNs that were widened
// from bf16 and for the processor's own, and adding the rounding unit can't carry out of one.
MLXCEL_INLINE lanes_t lanes_round(lanes_t x, int type) {
  if (type == MLXCEL_FORMAT_F32) return x;
  if (type == MLXCEL_FORMAT_F16) return _mm256_cvtph_ps(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  __m256i bits = _mm256_castps_si256(x);
  __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  return _mm256_castsi256_ps(_mm256_and_si256(rounded, _mm256_set1_epi32((int)0xffff0000u)));
}

#endif  // MLXCEL_KERNELS_MLX_MLX_LANES_H_
