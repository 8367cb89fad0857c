#include "bench/bench_statistics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int statistics_order(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static double statistics_mean(size_t count, const double* values) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += values[i];
  return sum / (double)count;
}

// From the squared distances to the mean, which don't cancel.
static double statistics_deviation(size_t count, const double* values, double mean) {
  if (count < 2) return 0;
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += (values[i] - mean) * (values[i] - mean);
  return sqrt(sum / (double)(count - 1));
}

void mlxcel_bench_statistics_make(size_t count, double* values, mlxcel_bench_statistics_t* out_statistics) {
  assert(count > 0);
  memset(out_statistics, 0, sizeof(*out_statistics));
  out_statistics->mean = statistics_mean(count, values);
  out_statistics->deviation = statistics_deviation(count, values, out_statistics->mean);
  qsort(values, count, sizeof(*values), statistics_order);
  out_statistics->minimum = values[0];
  out_statistics->maximum = values[count - 1];
  out_statistics->median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}
