#include "bench/roofline_loops.h"

#include <immintrin.h>

enum { READ_STEP = MLXCEL_ROOFLINE_READ_STEP, FMA_CHAINS = MLXCEL_ROOFLINE_FMA_CHAINS };

// Where constants come from, so that no loop is computed by the compiler.
static volatile float constants[2] = {0.9999f, 0.0001f};

__attribute__((target("avx2"))) static uint64_t read_avx2(const char* data, size_t bytes) {
  __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
  for (size_t i = 0; i < bytes; i += READ_STEP) {
    for (size_t j = 0; j < READ_STEP / 32; ++j) sums[j % 4] = _mm256_xor_si256(sums[j % 4], _mm256_load_si256((const void*)(data + i + j * 32)));
  }
  const __m256i sum = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
  return (uint64_t)_mm256_extract_epi64(sum, 0);
}

__attribute__((target("avx512f"))) static uint64_t read_avx512(const char* data, size_t bytes) {
  __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
  for (size_t i = 0; i < bytes; i += READ_STEP) {
    for (size_t j = 0; j < READ_STEP / 64; ++j) sums[j % 4] = _mm512_xor_si512(sums[j % 4], _mm512_load_si512((const void*)(data + i + j * 64)));
  }
  const __m512i sum = _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3]));
  return (uint64_t)_mm512_reduce_add_epi64(sum);
}

__attribute__((target("avx2,fma"))) static float fma_avx2(size_t rounds) {
  const __m256 scale = _mm256_set1_ps(constants[0]);
  const __m256 step = _mm256_set1_ps(constants[1]);
  __m256 chains[FMA_CHAINS];
  for (size_t i = 0; i < FMA_CHAINS; ++i) chains[i] = _mm256_set1_ps((float)i);
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < FMA_CHAINS; ++i) chains[i] = _mm256_fmadd_ps(chains[i], scale, step);
  }
  __m256 sum = chains[0];
  for (size_t i = 1; i < FMA_CHAINS; ++i) sum = _mm256_add_ps(sum, chains[i]);
  return _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f"))) static float fma_avx512(size_t rounds) {
  const __m512 scale = _mm512_set1_ps(constants[0]);
  const __m512 step = _mm512_set1_ps(constants[1]);
  __m512 chains[FMA_CHAINS];
  for (size_t i = 0; i < FMA_CHAINS; ++i) chains[i] = _mm512_set1_ps((float)i);
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < FMA_CHAINS; ++i) chains[i] = _mm512_fmadd_ps(chains[i], scale, step);
  }
  __m512 sum = chains[0];
  for (size_t i = 1; i < FMA_CHAINS; ++i) sum = _mm512_add_ps(sum, chains[i]);
  return _mm512_cvtss_f32(sum);
}

static const mlxcel_roofline_loops_t loops[] = {
    {"avx2", 8, read_avx2, fma_avx2},
    {"avx512", 16, read_avx512, fma_avx512},
};

static bool loops_are_supported(const mlxcel_roofline_loops_t* width) {
  if (width->lanes == 16) return __builtin_cpu_supports("avx512f") != 0;
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

const mlxcel_roofline_loops_t* mlxcel_roofline_loops_at(size_t index) {
  for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); ++i) {
    if (loops_are_supported(&loops[i]) && index-- == 0) return &loops[i];
  }
  return NULL;
}
