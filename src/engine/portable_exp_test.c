#include "engine/portable_exp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void portable_exp_is_within_two_ulp(void** state) {
  (void)state;
  for (int i = 0; i <= 700000; ++i) {
    double x = -(double)i * 0.0009999;
    double exact = (double)expl((long double)x);
    double ulp = nextafter(exact, INFINITY) - exact;
    assert_true(fabs(mlxcel_portable_exp(x) - exact) <= 2.0 * ulp);
  }
}

static void portable_exp_ends_are_exact(void** state) {
  (void)state;
  assert_true(mlxcel_portable_exp(0.0) == 1.0);
  assert_true(mlxcel_portable_exp(-0.0) == 1.0);
  assert_true(mlxcel_portable_exp(MLXCEL_PORTABLE_EXP_MIN) > 0.0);
  assert_true(mlxcel_portable_exp(nextafter(MLXCEL_PORTABLE_EXP_MIN, -INFINITY)) == 0.0);
  assert_true(mlxcel_portable_exp(-1e300) == 0.0);
  assert_true(mlxcel_portable_exp(-INFINITY) == 0.0);
}

// Bits from an evaluation of the same formula in another language: any other order of operations, and any contraction, changes some of them.
static void portable_exp_bits_are_fixed(void** state) {
  (void)state;
  static const struct {
    double x;
    uint64_t bits;
  } cases[] = {
      {-0.1, 0x3fecf46d99d52b3aull},  {-0.25, 0x3fe8ebef9eac820bull},  {-0.3, 0x3fe7b4c869c37c05ull},   {-0.34657359027997264, 0x3fe6a09e667f3bccull},
      {-0.35, 0x3fe68cce09671f71ull}, {-0.5, 0x3fe368b2fc6f960aull},   {-0.7, 0x3fdfc80db9dd5542ull},   {-1.0, 0x3fd78b56362cef38ull},
      {-1.5, 0x3fcc8f87724b5c1dull},  {-2.3, 0x3fb9aa9046ec997cull},   {-3.7, 0x3f99511fc6871044ull},   {-5.25, 0x3f757e6bfe8de51aull},
      {-7.9, 0x3f384c0b61a85918ull},  {-10.0, 0x3f07cd79b5647c9aull},  {-17.3, 0x3e60772c096d61b7ull},  {-33.3, 0x3cef165bb9b59d94ull},
      {-64.7, 0x3a193d6625f252ffull}, {-100.1, 0x36e805628c2e465cull}, {-345.6, 0x20c52df10f35391full}, {-699.9, 0x00d32132bfae6577ull},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    double value = mlxcel_portable_exp(cases[i].x);
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    assert_true(bits == cases[i].bits);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(portable_exp_is_within_two_ulp),
      cmocka_unit_test(portable_exp_ends_are_exact),
      cmocka_unit_test(portable_exp_bits_are_fixed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
