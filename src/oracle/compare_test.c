// Comparison: bits decide, and what differs is described exactly.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/compare.h"

#define WIDTH 3

// [2, 3] of |dtype|.
static mlxcel_host_tensor_t tensor_of(mlxcel_dtype_t dtype, const float values[2 * WIDTH]) {
  const mlxcel_operand_t type = {.name = "result", .dtype = dtype, .rank = 2, .dims = {2, WIDTH}};
  mlxcel_host_tensor_t tensor;
  assert_true(iree_status_is_ok(mlxcel_host_tensor_allocate(&type, &tensor)));
  for (uint64_t i = 0; i < 2 * WIDTH; ++i) mlxcel_dtype_store(dtype, tensor.data, i, values[i]);
  return tensor;
}

static mlxcel_comparison_t compare(mlxcel_dtype_t dtype, const float left[2 * WIDTH], const float right[2 * WIDTH]) {
  mlxcel_host_tensor_t reference = tensor_of(dtype, left), candidate = tensor_of(dtype, right);
  mlxcel_comparison_t comparison;
  const mlxcel_bound_t bound = {.f32_units = 1};
  assert_true(iree_status_is_ok(mlxcel_compare(&reference, &candidate, &bound, &comparison)));
  mlxcel_host_tensor_deinitialize(&reference);
  mlxcel_host_tensor_deinitialize(&candidate);
  return comparison;
}

static void equal_results_have_no_mismatch(void** state) {
  (void)state;
  const float values[] = {1, -2, 0, INFINITY, 1e-40f, NAN};
  mlxcel_comparison_t comparison = compare(MLXCEL_DTYPE_F32, values, values);
  assert_int_equal(comparison.outputs, 6);
  assert_int_equal(comparison.mismatches, 0);
  assert_true(comparison.max_abs == 0 && comparison.rms == 0 && comparison.max_magnitude == 2);
}

static void the_first_divergence_has_place_values_bits_and_steps(void** state) {
  (void)state;
  const float left[] = {1, 2, 3, 4, 5, 6}, right[] = {1, 2, 3, 4, nextafterf(nextafterf(5, 9), 9), 7};
  mlxcel_comparison_t comparison = compare(MLXCEL_DTYPE_F32, left, right);
  assert_int_equal(comparison.mismatches, 2);
  assert_int_equal(comparison.first.index, 4);
  assert_int_equal(comparison.first.rank, 2);
  assert_int_equal(comparison.first.coordinate[0], 1);
  assert_int_equal(comparison.first.coordinate[1], 1);
  assert_int_equal(comparison.first.ulp, 2);
  assert_int_equal(comparison.first.reference_bits, 0x40a00000);
  assert_int_equal(comparison.first.candidate_bits, 0x40a00002);
  assert_true(comparison.max_abs == 1);
  assert_true(fabs(comparison.rms - sqrt(1.0 / 6)) < 1e-9);
}

static void a_large_row_does_not_excuse_a_small_one(void** state) {
  (void)state;
  const float left[] = {1, 1, 1, 4096, 4096, 4096}, right[] = {1, 1.5f, 1, 4096, 4096, 4096};
  mlxcel_comparison_t comparison = compare(MLXCEL_DTYPE_F32, left, right);
  assert_true(comparison.max_magnitude == 4096 && comparison.max_abs == 0.5);
  assert_true(comparison.row_excess == 0x1p22);
}

static void nans_have_no_sign_in_half_precision_and_one_form_in_bf16(void** state) {
  (void)state;
  assert_true(mlxcel_element_is_equal(MLXCEL_DTYPE_F32, 0x7fc00000, 0xffc12345));
  assert_true(mlxcel_element_is_equal(MLXCEL_DTYPE_F16, 0x7d00, 0xfd00));
  assert_false(mlxcel_element_is_equal(MLXCEL_DTYPE_F16, 0x7d00, 0x7e00));
  assert_false(mlxcel_element_is_equal(MLXCEL_DTYPE_BF16, 0x7fc0, 0xffc0));
}

static void zeros_of_either_sign_differ_and_nans_dont(void** state) {
  (void)state;
  const float left[] = {0, NAN, 1, 1, 1, 1}, right[] = {-0.0f, -NAN, 1, 1, 1, 1};
  mlxcel_comparison_t comparison = compare(MLXCEL_DTYPE_F32, left, right);
  assert_int_equal(comparison.mismatches, 1);
  assert_int_equal(comparison.first.index, 0);
  assert_int_equal(comparison.first.ulp, 1);
  assert_true(comparison.max_abs == 0);
}

static void a_nan_on_one_side_is_infinitely_far(void** state) {
  (void)state;
  const float left[] = {1, 1, 1, 1, 1, 1}, right[] = {1, 1, NAN, 1, 1, 1};
  mlxcel_comparison_t comparison = compare(MLXCEL_DTYPE_BF16, left, right);
  assert_int_equal(comparison.mismatches, 1);
  assert_true(isinf(comparison.max_abs));
  assert_true(comparison.first.ulp == UINT64_MAX);
}

static void steps_are_counted_in_the_stored_dtype_and_across_zero(void** state) {
  (void)state;
  assert_int_equal(mlxcel_element_ulp(MLXCEL_DTYPE_BF16, 0x3f80, 0x3f81), 1);
  assert_int_equal(mlxcel_element_ulp(MLXCEL_DTYPE_F16, 0x3c00, 0x3c02), 2);
  assert_int_equal(mlxcel_element_ulp(MLXCEL_DTYPE_F32, 0x00000001, 0x80000001), 3);  // over +0 and -0
  assert_int_equal(mlxcel_element_ulp(MLXCEL_DTYPE_F32, 0x80000001, 0x00000001), 3);
}

static void spacing_is_that_of_the_dtype_at_the_magnitude(void** state) {
  (void)state;
  assert_true(mlxcel_dtype_spacing(MLXCEL_DTYPE_F32, 1.0) == 0x1p-23);
  assert_true(mlxcel_dtype_spacing(MLXCEL_DTYPE_F32, 1.9) == 0x1p-23);
  assert_true(mlxcel_dtype_spacing(MLXCEL_DTYPE_BF16, 3.0) == 0x1p-6);
  assert_true(mlxcel_dtype_spacing(MLXCEL_DTYPE_F16, 0.0) == 0x1p-24);  // the smallest subnormal
  assert_true(mlxcel_dtype_spacing(MLXCEL_DTYPE_F16, 1e-6) == 0x1p-24);
}

static void results_of_different_types_are_an_error(void** state) {
  (void)state;
  const float values[] = {1, 2, 3, 4, 5, 6};
  mlxcel_host_tensor_t reference = tensor_of(MLXCEL_DTYPE_F32, values), candidate = tensor_of(MLXCEL_DTYPE_F32, values);
  candidate.type.dims[0] = 3;
  candidate.type.dims[1] = 2;
  mlxcel_comparison_t comparison;
  iree_status_t status = mlxcel_compare(&reference, &candidate, NULL, &comparison);
  assert_true(iree_status_is_internal(status));
  iree_status_free(status);
  mlxcel_host_tensor_deinitialize(&reference);
  mlxcel_host_tensor_deinitialize(&candidate);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_results_have_no_mismatch),
      cmocka_unit_test(the_first_divergence_has_place_values_bits_and_steps),
      cmocka_unit_test(a_large_row_does_not_excuse_a_small_one),
      cmocka_unit_test(nans_have_no_sign_in_half_precision_and_one_form_in_bf16),
      cmocka_unit_test(zeros_of_either_sign_differ_and_nans_dont),
      cmocka_unit_test(a_nan_on_one_side_is_infinitely_far),
      cmocka_unit_test(steps_are_counted_in_the_stored_dtype_and_across_zero),
      cmocka_unit_test(spacing_is_that_of_the_dtype_at_the_magnitude),
      cmocka_unit_test(results_of_different_types_are_an_error),
  };
  return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
