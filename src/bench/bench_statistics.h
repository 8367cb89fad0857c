// bench_statistics.h: what is said about the samples of one case. Pure functions.
#ifndef MLXCEL_BENCH_BENCH_STATISTICS_H_
#define MLXCEL_BENCH_BENCH_STATISTICS_H_

#include "base/base.h"

typedef struct mlxcel_bench_statistics_t {
  double mean, deviation;  // deviation of a sample (count - 1); 0 for one value
  double median, minimum, maximum;
} mlxcel_bench_statistics_t;

// Of |count| >= 1 finite values, which are sorted.
void mlxcel_bench_statistics_make(size_t count, double* values, mlxcel_bench_statistics_t* out_statistics);

#endif  // MLXCEL_BENCH_BENCH_STATISTICS_H_
