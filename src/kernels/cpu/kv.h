// kv.h: cells of the KV cache, stored as f32, f16 or bf16: narrowed to nearest even as they are written, widened exactly as they are read.
#ifndef MLXCEL_KERNELS_CPU_KV_H_
#define MLXCEL_KERNELS_CPU_KV_H_

#include "kernels/cpu/weights.h"

// Eight f32 as f16: overflow to infinity, subnormals kept (the instruction ignores MXCSR's flush-to-zero).
MLXCEL_INLINE __m128i v8_to_f16(__m256 a) { return _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

// Eight f32 as bf16 by integers, so that neither the instruction set nor MXCSR has a say: half a unit and the last bit that stays are added to the bits; a
// carry goes on into the exponent, up to infinity. A NaN, whose fraction the sum could carry away, keeps its upper half and becomes quiet.
MLXCEL_INLINE __m128i v8_to_bf16(__m256 a) {
  __m256i bits = _mm256_castps_si256(a), kept = _mm256_srli_epi32(bits, 16);
  __m256i odd = _mm256_and_si256(kept, _mm256_set1_epi32(1));
  __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  __m256i halves = _mm256_blendv_epi8(rounded, _mm256_or_si256(kept, _mm256_set1_epi32(0x40)), is_nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

MLXCEL_INLINE __m128i v8_narrow(__m256 a, int type) { return type == MLXCEL_FORMAT_F16 ? v8_to_f16(a) : v8_to_bf16(a); }

// |count| values narrowed to |type| (f16 or bf16).
MLXCEL_INLINE void narrow_many(const float* from, int type, int count, uint16_t* to) {
  int i = 0;
  for (; i + 8 <= count; i += 8) _mm_storeu_si128((__m128i*)(void*)(to + i), v8_narrow(_mm256_loadu_ps(from + i), type));
  if (i == count) return;
  float rest[8] = {0};
  uint16_t halves[8];
  for (int k = 0; i + k < count; ++k) rest[k] = from[i + k];
  _mm_storeu_si128((__m128i*)(void*)halves, v8_narrow(_mm256_loadu_ps(rest), type));
  for (int k = 0; i + k < count; ++k) to[i + k] = halves[k];
}

// Stores one head of a row: |count| values of |type|.
static void kv_store(const float* from, int type, int count, uint8_t* to) {
  if (type == MLXCEL_FORMAT_F32) {
    for (int i = 0; i < count; ++i) ((float*)(void*)to)[i] = from[i];
  } else if (type == MLXCEL_FORMAT_F16) {
    narrow_many(from, MLXCEL_FORMAT_F16, count, (uint16_t*)(void*)to);
  } else {
    narrow_many(from, MLXCEL_FORMAT_BF16, count, (uint16_t*)(void*)to);
  }
}

// First byte of the cell of |position| in a cache [layers, slots, kv_heads, context, head_dim].
MLXCEL_INLINE size_t kv_cell(int32_t layer, int32_t slot_count, int32_t slot, int32_t kv_heads, size_t kv_head, int32_t context, int32_t position, int head_dim,
                             int type) {
  size_t row = (((size_t)layer * (size_t)slot_count + (size_t)slot) * (size_t)kv_heads + kv_head) * (size_t)context + (size_t)position;
  return row * (size_t)head_dim * (size_t)type_bytes(type);
}

#endif  // MLXCEL_KERNELS_CPU_KV_H_
