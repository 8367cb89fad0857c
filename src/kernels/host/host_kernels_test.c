// The host's kernels through IREE's import convention, and what they promise beyond libm's bits.
#include "kernels/host/host_kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <xmmintrin.h>

#define COUNT 37

typedef struct call_t {  // the arguments as a compiled module passes them
  const void* x;
  size_t x_offset;
  void* out;
  size_t out_offset;
  int32_t function, count, type;
  float scalar;
  size_t group, groups;
} call_t;

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

static int call(call_t* arguments) {
  mlxcel_host_kernel_fn_t fn = mlxcel_host_kernel_find("mlxcel_host_unary");
  assert_non_null(fn);
  return fn(arguments, NULL, NULL);
}

static void host_kernels_are_found_by_their_whole_name(void** state) {
  (void)state;
  assert_non_null(mlxcel_host_kernel_find("mlxcel_host_unary"));
  assert_null(mlxcel_host_kernel_find("mlxcel_host_unar"));
  assert_null(mlxcel_host_kernel_find("mlxcel_host_unary2"));
  assert_null(mlxcel_host_kernel_find("tanhf"));
  assert_null(mlxcel_host_kernel_find(""));
}

static void host_unary_gives_libms_bits_from_any_offset_and_groups(void** state) {
  (void)state;
  float x[COUNT + 2];
  for (int i = 0; i < COUNT + 2; ++i) x[i] = 0.37f * (float)(i - 17);
  for (int32_t function = MLXCEL_HOST_TANH; function <= MLXCEL_HOST_POWER; ++function) {
    for (size_t groups = 1; groups <= 5; groups += 2) {
      float out[COUNT + 2] = {0};
      for (size_t group = 0; group < groups; ++group) {
        call_t c = {x, sizeof(float), out, sizeof(float), function, COUNT, MLXCEL_FORMAT_F32, 3.0f, group, groups};
        assert_int_equal(call(&c), 0);
      }
      assert_true(out[0] == 0 && out[COUNT + 1] == 0);
      for (int i = 1; i <= COUNT; ++i) assert_int_equal(bits_of(out[i]), bits_of(function == MLXCEL_HOST_TANH ? tanhf(x[i]) : powf(x[i], 3.0f)));
    }
  }
}

static void host_unary_rounds_the_exponent_and_the_result_to_bf16(void** state) {
  (void)state;
  const uint16_t x = 0x4040;  // 3
  uint16_t out = 0;
  call_t c = {&x, 0, &out, 0, MLXCEL_HOST_POWER, 1, MLXCEL_FORMAT_BF16, 2.001f, 0, 1};  // the exponent is 2 in bf16
  assert_int_equal(call(&c), 0);
  assert_int_equal(out, 0x4110);  // 9
}

static void host_unary_keeps_subnormals_and_restores_mxcsr(void** state) {
  (void)state;
  const float x = 0x1p-140f;
  float out = 0;
  unsigned usual = _mm_getcsr(), flushing = usual | 0x8040u;
  call_t c = {&x, 0, &out, 0, MLXCEL_HOST_TANH, 1, MLXCEL_FORMAT_F32, 0.0f, 0, 1};
  _mm_setcsr(flushing);
  int result = call(&c);
  unsigned after = _mm_getcsr();
  _mm_setcsr(usual);
  assert_int_equal(result, 0);
  assert_int_equal(after & 0x8040u, 0x8040u);
  assert_int_equal(bits_of(out), bits_of(x));
}

static void host_unary_refuses_what_it_does_not_know(void** state) {
  (void)state;
  const float x = 1;
  float out = 0;
  const call_t good = {&x, 0, &out, 0, MLXCEL_HOST_TANH, 1, MLXCEL_FORMAT_F32, 0.0f, 0, 1};
  call_t function = good, type = good, count = good, groups = good;
  function.function = 2, type.type = 3, count.count = -1, groups.groups = 0;
  assert_int_not_equal(call(&function), 0);
  assert_int_not_equal(call(&type), 0);
  assert_int_not_equal(call(&count), 0);
  assert_int_not_equal(call(&groups), 0);
  assert_true(out == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_kernels_are_found_by_their_whole_name),
      cmocka_unit_test(host_unary_gives_libms_bits_from_any_offset_and_groups),
      cmocka_unit_test(host_unary_rounds_the_exponent_and_the_result_to_bf16),
      cmocka_unit_test(host_unary_keeps_subnormals_and_restores_mxcsr),
      cmocka_unit_test(host_unary_refuses_what_it_does_not_know),
  };
  return cmocka_run_group_tests_name("host_kernels", tests, NULL, NULL);
}
