// elementary.h: mlxcel-exp-1 on sixteen lanes (definition: kernel_abi.h), and the floating-point environment of a kernel.
#ifndef MLXCEL_KERNELS_CPU_ELEMENTARY_H_
#define MLXCEL_KERNELS_CPU_ELEMENTARY_H_

#include "kernels/cpu/vec16.h"
#include "kernels/kernel_abi.h"

// IREE's workers run with flush-to-zero and denormals-are-zero; the contract keeps subnormals.
#define MLXCEL_MXCSR_FLUSH_BITS 0x8040u
#define MLXCEL_MXCSR_ROUNDING_BITS 0x6000u
MLXCEL_INLINE unsigned kernel_enter(void) {
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved & ~(MLXCEL_MXCSR_FLUSH_BITS | MLXCEL_MXCSR_ROUNDING_BITS));
  return saved;
}
MLXCEL_INLINE void kernel_leave(unsigned saved) { _mm_setcsr(saved); }

MLXCEL_INLINE v16 v16_exp(v16 x) {
  x = v16_max(v16_set1(MLXCEL_EXP_MIN), v16_min(v16_set1(MLXCEL_EXP_MAX), x));
  v16 n = v16_rint(v16_mul(x, v16_set1(MLXCEL_EXP_LOG2E)));
  v16 r = v16_fma(n, v16_set1(-MLXCEL_EXP_LN2_HI), x);
  r = v16_fma(n, v16_set1(-MLXCEL_EXP_LN2_LO), r);
  v16 p = v16_set1(MLXCEL_EXP_C5);
  p = v16_fma(p, r, v16_set1(MLXCEL_EXP_C4));
  p = v16_fma(p, r, v16_set1(MLXCEL_EXP_C3));
  p = v16_fma(p, r, v16_set1(MLXCEL_EXP_C2));
  p = v16_fma(p, r, v16_set1(MLXCEL_EXP_C1));
  p = v16_fma(p, r, v16_set1(MLXCEL_EXP_C0));
  v16 y = v16_add(v16_fma(p, v16_mul(r, r), r), v16_set1(1.0f));
  v16i whole = v16_to_int(n), half = v16i_half(whole);
  return v16_mul(v16_mul(y, v16_pow2(half)), v16_pow2(v16i_sub(whole, half)));
}

MLXCEL_INLINE float f32_exp(float x) {
  return _mm_cvtss_f32(
#if defined(__AVX512F__)
      _mm512_castps512_ps128(v16_exp(v16_set1(x)))
#else
      _mm256_castps256_ps128(v16_exp(v16_set1(x)).lo)
#endif
  );
}

#endif  // MLXCEL_KERNELS_CPU_ELEMENTARY_H_
