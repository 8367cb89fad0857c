// Mean, deviation, median and range of few values, computed by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench/bench_statistics.h"

static mlxcel_bench_statistics_t statistics_of(size_t count, double* values) {
  mlxcel_bench_statistics_t statistics;
  mlxcel_bench_statistics_make(count, values, &statistics);
  return statistics;
}
#define STATISTICS(...) statistics_of(sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static void one_value_has_no_deviation(void** state) {
  (void)state;
  const mlxcel_bench_statistics_t one = STATISTICS(7.5);
  assert_true(one.mean == 7.5 && one.median == 7.5 && one.minimum == 7.5 && one.maximum == 7.5 && one.deviation == 0);
}

static void odd_count_takes_the_middle_value(void** state) {
  (void)state;
  const mlxcel_bench_statistics_t odd = STATISTICS(9, 1, 2);
  assert_true(odd.mean == 4 && odd.median == 2 && odd.minimum == 1 && odd.maximum == 9);
  assert_true(fabs(odd.deviation - sqrt((25.0 + 9.0 + 4.0) / 2)) < 1e-12);
}

static void even_count_takes_the_mean_of_both_in_the_middle(void** state) {
  (void)state;
  const mlxcel_bench_statistics_t even = STATISTICS(4, 1, 3, 10);
  assert_true(even.mean == 4.5 && even.median == 3.5 && even.minimum == 1 && even.maximum == 10);
}

static void deviation_of_near_values_does_not_cancel(void** state) {
  (void)state;
  const mlxcel_bench_statistics_t near = STATISTICS(1e9, 1e9 + 1, 1e9 + 2);
  assert_true(fabs(near.deviation - 1) < 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_value_has_no_deviation),
      cmocka_unit_test(odd_count_takes_the_middle_value),
      cmocka_unit_test(even_count_takes_the_mean_of_both_in_the_middle),
      cmocka_unit_test(deviation_of_near_values_does_not_cancel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
