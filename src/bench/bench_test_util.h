// bench_test_util.h: what several tests of this folder check.
#ifndef MLXCEL_BENCH_BENCH_TEST_UTIL_H_
#define MLXCEL_BENCH_BENCH_TEST_UTIL_H_

#include "base/base.h"

// INVALID_ARGUMENT, and a text with every one of |words| (NULL behind the last). Frees |status|.
void bench_assert_refused(iree_status_t status, const char* const* words);

#endif  // MLXCEL_BENCH_BENCH_TEST_UTIL_H_
