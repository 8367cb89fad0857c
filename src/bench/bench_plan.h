// bench_plan.h: from lists of values to the cases that are measured, in their order.
//
// As llama-bench: every combination of model, threads, sequences, chunk and depth; within one, a case for each prompt length, one for each number of generated
// tokens, one for each pair of both. The outer parameters are those that need another engine, so that each is opened once. 0 in the first two lists means: no
// such case.
#ifndef MLXCEL_BENCH_BENCH_PLAN_H_
#define MLXCEL_BENCH_BENCH_PLAN_H_

#include "base/base.h"
#include "bench/bench_list.h"
#include "bench/bench_model.h"

typedef struct mlxcel_bench_case_t {
  uint32_t model;     // index
  uint32_t threads;   // 0 = automatic
  uint32_t parallel;  // sequences side by side
  uint32_t batch;     // rows of one prefill call at most; 0 = as many as the module has
  uint32_t depth;     // tokens that lie in the slot before the clock runs
  uint32_t prompt, gen;
} mlxcel_bench_case_t;

typedef struct mlxcel_bench_pair_t {
  uint32_t prompt, gen;
} mlxcel_bench_pair_t;

// Lists that are empty get their default: 512 and 128 tokens, no pairs, depth 0, automatic threads and chunk, one sequence.
typedef struct mlxcel_bench_lists_t {
  size_t model_count;
  mlxcel_bench_list_t prompts, gens, depths, threads, batches, parallels;
  size_t pair_count;
  mlxcel_bench_pair_t pairs[MLXCEL_BENCH_VALUES_MAX];
} mlxcel_bench_lists_t;

typedef struct mlxcel_bench_plan_t {
  size_t case_count;
  mlxcel_bench_case_t* cases;  // owned
} mlxcel_bench_plan_t;

// INVALID_ARGUMENT when there is nothing to measure or too much.
iree_status_t mlxcel_bench_plan_make(const mlxcel_bench_lists_t* lists, mlxcel_bench_plan_t* out_plan);
void mlxcel_bench_plan_deinitialize(mlxcel_bench_plan_t* plan);

// Positions that |item| needs in a slot.
uint64_t mlxcel_bench_case_positions(const mlxcel_bench_case_t* item);
// "pp512", "tg128", "pp512+tg128", with " @ d1024" behind it.
void mlxcel_bench_case_name(const mlxcel_bench_case_t* item, char buffer[MLXCEL_BENCH_TEST_NAME_BYTES]);

// The context of each model's engines, into |out_contexts| [model_count]: |requested|, or with 0 what the model's largest case needs. INVALID_ARGUMENT names
// the flags, when a case needs more than |requested| or than the model has, or when |requested| is more than the model has.
iree_status_t mlxcel_bench_plan_contexts(const mlxcel_bench_plan_t* plan, size_t model_count, const mlxcel_bench_model_t* models, uint32_t requested,
                                         uint32_t* out_contexts);

#endif  // MLXCEL_BENCH_BENCH_PLAN_H_
