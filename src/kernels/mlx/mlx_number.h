// mlx_number.h: the three dtypes of profile mlx-cpu-0.32.4: reading, rounding, storing, promotion; the floating-point environment and the share of a workgroup.
//
// A value is held in f32 while it is worked on. After rounding to bf16 or f16 it is a value of that type, still in f32.
#ifndef MLXCEL_KERNELS_MLX_MLX_NUMBER_H_
#define MLXCEL_KERNELS_MLX_MLX_NUMBER_H_

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/mlx_abi.h"

#define MLXCEL_INLINE static inline __attribute__((always_inline))

// Buffers are bytes at any address.
typedef uint64_t __attribute__((aligned(1), may_alias)) any_u64_t;
typedef uint32_t __attribute__((aligned(1), may_alias)) any_u32_t;
typedef uint16_t __attribute__((aligned(1), may_alias)) any_u16_t;

#define BF16_NAN 0x7fc0u
#define F16_NAN 0x7d00u

MLXCEL_INLINE float float_of_bits(uint32_t bits) { return _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int)bits))); }
MLXCEL_INLINE uint32_t bits_of_float(float x) { return (uint32_t)_mm_cvtsi128_si32(_mm_castps_si128(_mm_set_ss(x))); }

// IREE's workers run with flush-to-zero and denormals-are-zero; MLX keeps subnormals and rounds to nearest.
#define MXCSR_FLUSH_BITS 0x8040u
#define MXCSR_ROUNDING_BITS 0x6000u
MLXCEL_INLINE unsigned kernel_enter(void) {
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved & ~(MXCSR_FLUSH_BITS | MXCSR_ROUNDING_BITS));
  return saved;
}
MLXCEL_INLINE void kernel_leave(unsigned saved) { _mm_setcsr(saved); }

// The share of workgroup |group|: [*begin, *end) of |count| units.
MLXCEL_INLINE void share(size_t count, size_t group, size_t groups, size_t* begin, size_t* end) {
  *begin = count * group / groups;
  *end = count * (group + 1) / groups;
}

MLXCEL_INLINE size_t type_bytes(int type) { return type == MLXCEL_FORMAT_F32 ? 4 : 2; }
// The type in which MLX computes an operation on operands of both types.
MLXCEL_INLINE int promote(int a, int b) { return a == b ? a : MLXCEL_FORMAT_F32; }

// Element |i| of |p|, widened exactly.
MLXCEL_INLINE float load_typed(const uint8_t* p, size_t i, int type) {
  if (type == MLXCEL_FORMAT_F32) return float_of_bits(*(const any_u32_t*)(p + 4 * i));
  uint16_t bits = *(const any_u16_t*)(p + 2 * i);
  return type == MLXCEL_FORMAT_F16 ? _cvtsh_ss(bits) : float_of_bits((uint32_t)bits << 16);
}

MLXCEL_INLINE uint16_t bf16_bits(float x) {
  uint32_t bits = bits_of_float(x);
  return x != x ? BF16_NAN : (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}
MLXCEL_INLINE uint16_t f16_bits(float x) {
  return x != x ? (uint16_t)((bits_of_float(x) >> 16 & 0x8000u) | F16_NAN) : (uint16_t)_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
}

MLXCEL_INLINE void store_typed(uint8_t* p, size_t i, int type, float x) {
  if (type == MLXCEL_FORMAT_F32) {
    *(any_u32_t*)(p + 4 * i) = bits_of_float(x);
  } else {
    *(any_u16_t*)(p + 2 * i) = type == MLXCEL_FORMAT_F16 ? f16_bits(x) : bf16_bits(x);
  }
}

// R of the operation's description.
MLXCEL_INLINE float round_to(float x, int type) {
  if (type == MLXCEL_FORMAT_F32) return x;
  return type == MLXCEL_FORMAT_F16 ? _cvtsh_ss(f16_bits(x)) : float_of_bits((uint32_t)bf16_bits(x) << 16);
}

MLXCEL_INLINE float f32_sqrt(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }

#endif  // MLXCEL_KERNELS_MLX_MLX_NUMBER_H_
