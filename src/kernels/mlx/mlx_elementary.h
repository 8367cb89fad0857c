// mlx_elementary.h: exp, sin, cos and erf as MLX 0.32.4 computes them in f32: these polynomials with these constants, fused exactly where written. None is
// libm's, and none is correctly rounded.
#ifndef MLXCEL_KERNELS_MLX_MLX_ELEMENTARY_H_
#define MLXCEL_KERNELS_MLX_MLX_ELEMENTARY_H_

#include "kernels/mlx/mlx_number.h"

MLXCEL_INLINE float f32_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MLXCEL_INLINE float f32_abs(float x) { return float_of_bits(bits_of_float(x) & 0x7fffffffu); }

#define EXP_LIMIT 88.0f  // beyond it: infinity, and 0 below its negative

// 2^n * p(f) with n = floor(x * log2 e + 1/2), that sum in double (in f32 it would differ for no x that can occur). Below about -87.7 the scale's exponent
// field is 0, so the result is 0 too: exp has no subnormal results.
MLXCEL_INLINE float mlx_exp(float x) {
  if (x != x) return x;
  if (x > EXP_LIMIT) return __builtin_inff();
  if (x < -EXP_LIMIT) return 0.0f;
  float z = x * 1.442695f;
  float whole = (float)_mm_cvtsd_f64(_mm_floor_sd(_mm_setzero_pd(), _mm_set_sd((double)z + 0.5)));
  float f = z - whole;
  float p = f32_fma(1.535336188319500e-4f, f, 1.339887440266574e-3f);
  p = f32_fma(p, f, 9.618437357674640e-3f);
  p = f32_fma(p, f, 5.550332471162809e-2f);
  p = f32_fma(p, f, 2.402264791363012e-1f);
  p = f32_fma(p, f, 6.931472028550421e-1f);
  p = f32_fma(p, f, 1.0f);
  return float_of_bits((uint32_t)((int32_t)whole + 127) << 23) * p;
}

// Sine and cosine of |x| <= 2^23: beyond that MLX asks the host's libm, which a freestanding kernel can't, and the result here is some number.
#define SINCOS_LIMIT 8388608.0f

// The octant of |x|, made even, and the remainder of |x| by that many quarter pi.
typedef struct octant_t {
  uint32_t index;
  float rest;
} octant_t;
MLXCEL_INLINE octant_t octant_of(float magnitude) {
  uint32_t index = ((uint32_t)_mm_cvttss_si64(_mm_set_ss(magnitude * 1.27323954473516f)) + 1) & ~1u;
  float turns = (float)index, rest = f32_fma(turns, -0.78515625f, magnitude);
  rest = f32_fma(turns, -2.4187564849853515625e-4f, rest);
  return (octant_t){index, f32_fma(turns, -3.77489497744594108e-8f, rest)};
}
// cos and sin of r in [-pi/4, pi/4].
MLXCEL_INLINE float cos_of_rest(float r) {
  float z = r * r;
  float p = f32_fma(f32_fma(z, 2.443315711809948e-5f, -1.388731625493765e-3f), z, 4.166664568298827e-2f);
  return f32_fma(z, -0.5f, p * z * z) + 1.0f;
}
MLXCEL_INLINE float sin_of_rest(float r) {
  float z = r * r;
  float p = f32_fma(f32_fma(z, -1.9515295891e-4f, 8.3321608736e-3f), z, -1.6666654611e-1f);
  return f32_fma(r, p * z, r);
}
MLXCEL_INLINE float mlx_sin(float x) {
  octant_t o = octant_of(f32_abs(x));
  float y = o.index & 2 ? cos_of_rest(o.rest) : sin_of_rest(o.rest);
  return (x < 0) != ((o.index & 4) != 0) ? -y : y;
}
MLXCEL_INLINE float mlx_cos(float x) {
  octant_t o = octant_of(f32_abs(x));
  float y = o.index & 2 ? sin_of_rest(o.rest) : cos_of_rest(o.rest);
  return (o.index - 2) & 4 ? y : -y;
}

// Abramowitz and Stegun 7.1.26, for the magnitude. The sign comes after the rounding to |type|, and what isn't above 0 gets it: erf(0) is -0.
MLXCEL_INLINE float mlx_erf(float x, int type) {
  float t = 1.0f / f32_fma(0.3275911f, f32_abs(x), 1.0f);
  float r = f32_fma(1.061405429f, t, -1.453152027f);
  r = f32_fma(r, t, 1.421413741f);
  r = f32_fma(r, t, -0.284496736f);
  r = f32_fma(r, t, 0.254829592f);
  float y = round_to(f32_fma(-mlx_exp(-x * x) * t, r, 1.0f), type);
  return x > 0 ? y : -y;
}

// e = R(exp |x|); the rest in f32.
MLXCEL_INLINE float mlx_sigmoid(float x, int type) {
  float y = 1.0f / (1.0f + round_to(mlx_exp(f32_abs(x)), type));
  return x < 0 ? y : 1.0f - y;
}

#endif  // MLXCEL_KERNELS_MLX_MLX_ELEMENTARY_H_
