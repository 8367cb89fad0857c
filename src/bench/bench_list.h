// bench_list.h: lists of numbers on the command line, written as llama-bench writes them. Pure functions; errors quote the text.
#ifndef MLXCEL_BENCH_BENCH_LIST_H_
#define MLXCEL_BENCH_BENCH_LIST_H_

#include "base/base.h"
#include "bench/bench_limits.h"

typedef struct mlxcel_bench_list_t {
  size_t count;
  uint32_t values[MLXCEL_BENCH_VALUES_MAX];
} mlxcel_bench_list_t;

// Appends the values of |text|: numbers and ranges, separated by commas. "8-32" counts by one, "8-32+8" by eight, "8-32*2" doubles; both ends are meant. Every
// value is within [minimum, maximum]. INVALID_ARGUMENT says what a value may be; |list| is then unspecified.
iree_status_t mlxcel_bench_list_append(iree_string_view_t text, uint32_t minimum, uint32_t maximum, mlxcel_bench_list_t* list);

// Reads "PROMPT,GEN": two numbers within [1, maximum].
iree_status_t mlxcel_bench_pair_parse(iree_string_view_t text, uint32_t maximum, uint32_t* out_prompt, uint32_t* out_gen);

#endif  // MLXCEL_BENCH_BENCH_LIST_H_
