// bench_options.h: the options of `mlxcel bench` and what becomes of them: lists of values, models. Usage errors name flag and value.
#ifndef MLXCEL_CLI_BENCH_OPTIONS_H_
#define MLXCEL_CLI_BENCH_OPTIONS_H_

#include "bench/bench_plan.h"
#include "cli/engine_settings.h"
#include "cli/options.h"

// What is measured.
typedef struct mlxcel_cli_bench_tests_t {
  mlxcel_cli_list_t models, prompts, gens, pairs, depths, threads, batches, parallels;
  int64_t repetitions, delay;
  bool no_warmup;
} mlxcel_cli_bench_tests_t;
#define MLXCEL_CLI_BENCH_TEST_OPTION_COUNT 11
extern const mlxcel_cli_option_t mlxcel_cli_bench_test_options[MLXCEL_CLI_BENCH_TEST_OPTION_COUNT];

// Defaults: 5 repetitions.
void mlxcel_cli_bench_tests_initialize(mlxcel_cli_bench_tests_t* out_tests);

// Parses all lists but the models. Prints a usage error and returns its exit code if one is malformed.
int mlxcel_cli_bench_lists_parse(const mlxcel_cli_bench_tests_t* tests, mlxcel_bench_lists_t* out_lists);

// Opens every checkpoint that -m names: a folder that exists, or several separated by commas. |out_models| has room for MLXCEL_BENCH_MODELS_MAX; those counted
// in |out_count| are released by the caller also after an error, whose exit code is returned.
int mlxcel_cli_bench_models_read(const mlxcel_cli_list_t* list, mlxcel_bench_model_t* out_models, size_t* out_count);

#endif  // MLXCEL_CLI_BENCH_OPTIONS_H_
