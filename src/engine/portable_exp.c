#include "engine/portable_exp.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define EXP_LOG2E 0x1.71547652b82fep+0
// ln 2 in two parts; the first has 32 bits, so that n * EXP_LN2_HIGH is exact for every n that occurs (|n| <= 1010).
#define EXP_LN2_HIGH 0x1.62e42fee00000p-1
#define EXP_LN2_LOW 0x1.a39ef35793c76p-33

// 2^n for -1022 <= n <= 0.
static double exp_power_of_two(int n) {
  uint64_t bits = (uint64_t)(n + 1023) << 52;
  double power;
  memcpy(&power, &bits, sizeof(power));
  return power;
}

double mlxcel_portable_exp(double x) {
  assert(x <= 0.0);
  if (x < MLXCEL_PORTABLE_EXP_MIN) return 0.0;
  int n = (int)(x * EXP_LOG2E - 0.5);  // to nearest: the conversion cuts towards zero
  double r = (x - (double)n * EXP_LN2_HIGH) - (double)n * EXP_LN2_LOW;
  // Taylor to degree 13: for |r| <= ln(2)/2 the remainder is below 2^-57.
  static const double inverse_factorials[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                                              1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,      1.0 / 24.0,      1.0 / 6.0,      0.5};
  double p = inverse_factorials[0];
  for (unsigned i = 1; i < sizeof(inverse_factorials) / sizeof(inverse_factorials[0]); ++i) p = p * r + inverse_factorials[i];
  return (1.0 + (r + r * r * p)) * exp_power_of_two(n);
}
