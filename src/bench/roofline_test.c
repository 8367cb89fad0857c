// The roofline measures something plausible, refuses what it can't do, and leaves this process as it was.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "bench/bench_machine.h"
#include "bench/roofline.h"

static mlxcel_roofline_options_t make_options(void) { return (mlxcel_roofline_options_t){.threads = 1, .buffer_bytes = 1 << 20, .repetitions = 1}; }

static void rates_are_plausible(void** state) {
  (void)state;
  const mlxcel_roofline_options_t options = make_options();
  mlxcel_roofline_row_t row;
  assert_true(iree_status_is_ok(mlxcel_roofline_measure(&options, &row)));
  assert_int_equal(row.threads, 1);
  assert_in_range(row.width_count, 1, MLXCEL_ROOFLINE_WIDTHS);
  assert_string_equal(row.widths[0].name, "avx2");
  for (uint32_t i = 0; i < row.width_count; ++i) {
    assert_true(row.widths[i].read_gb_s > 0.1 && row.widths[i].read_gb_s < 1e4);  // from far below any memory to far above any cache
    assert_true(row.widths[i].f32_fma_gflop_s > 0.1 && row.widths[i].f32_fma_gflop_s < 1e4);
  }
}

static void the_buffer_does_not_count_in_this_process(void** state) {
  (void)state;
  mlxcel_roofline_options_t options = make_options();
  options.buffer_bytes = (uint64_t)96 << 20;
  const uint64_t before = mlxcel_bench_peak_memory();
  mlxcel_roofline_row_t row;
  assert_true(iree_status_is_ok(mlxcel_roofline_measure(&options, &row)));
  assert_true(before > 0 && mlxcel_bench_peak_memory() < before + options.buffer_bytes / 4);
}

static void large_weights_need_no_larger_buffer(void** state) {
  (void)state;
  assert_true(mlxcel_roofline_buffer_bytes(0) == MLXCEL_ROOFLINE_BYTES_MIN);
  assert_true(mlxcel_roofline_buffer_bytes((uint64_t)92 << 20) == (uint64_t)92 << 20);
  assert_true(mlxcel_roofline_buffer_bytes((uint64_t)2400 << 20) == MLXCEL_ROOFLINE_BYTES_DEFAULT);
}

static void options_out_of_range_are_refused(void** state) {
  (void)state;
  mlxcel_roofline_options_t wrong[6];
  for (size_t i = 0; i < 6; ++i) wrong[i] = make_options();
  wrong[0].threads = 0;
  wrong[1].threads = mlxcel_roofline_processor_count() + 1;
  wrong[2].buffer_bytes = MLXCEL_ROOFLINE_BYTES_MIN - 1;
  wrong[3].buffer_bytes = MLXCEL_ROOFLINE_BYTES_MAX + 1;
  wrong[4].repetitions = 0;
  wrong[5].repetitions = MLXCEL_ROOFLINE_REPETITIONS_MAX + 1;
  for (size_t i = 0; i < 6; ++i) {
    mlxcel_roofline_row_t row;
    iree_status_t status = mlxcel_roofline_measure(&wrong[i], &row);
    assert_true(iree_status_is_invalid_argument(status));
    iree_status_free(status);
    assert_int_equal(row.width_count, 0);
  }
}

static void best_rates_are_those_of_the_level(void** state) {
  (void)state;
  const mlxcel_roofline_row_t row = {.threads = 2, .width_count = 2, .widths = {{"avx2", 30, 100}, {"avx512", 20, 200}}};
  double read = 0, fma = 0;
  mlxcel_roofline_best(&row, "v3", &read, &fma);
  assert_true(read == 30 && fma == 100);
  mlxcel_roofline_best(&row, "v4", &read, &fma);
  assert_true(read == 30 && fma == 200);
  mlxcel_roofline_best(&(mlxcel_roofline_row_t){.threads = 2}, "v4", &read, &fma);
  assert_true(read == 0 && fma == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rates_are_plausible),
      cmocka_unit_test(the_buffer_does_not_count_in_this_process),
      cmocka_unit_test(large_weights_need_no_larger_buffer),
      cmocka_unit_test(options_out_of_range_are_refused),
      cmocka_unit_test(best_rates_are_those_of_the_level),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
