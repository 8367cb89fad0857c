#include "bench/bench_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PROMPT = 512, DEFAULT_GEN = 128 };  // llama-bench's

// What varies outside of the cases of one combination.
typedef struct plan_builder_t {
  const mlxcel_bench_lists_t* lists;
  mlxcel_bench_list_t prompts, gens;
  mlxcel_bench_plan_t* plan;
  bool is_full;
} plan_builder_t;

static mlxcel_bench_list_t plan_list_or(const mlxcel_bench_list_t* list, uint32_t otherwise) {
  return list->count ? *list : (mlxcel_bench_list_t){.count = 1, .values = {otherwise}};
}

static void plan_add(plan_builder_t* builder, mlxcel_bench_case_t item, uint32_t prompt, uint32_t gen) {
  if (prompt == 0 && gen == 0) return;
  item.prompt = prompt;
  item.gen = gen;
  builder->is_full |= builder->plan->case_count == MLXCEL_BENCH_CASES_MAX;
  if (!builder->is_full) builder->plan->cases[builder->plan->case_count++] = item;
}

static void plan_add_combination(plan_builder_t* builder, mlxcel_bench_case_t item) {
  for (size_t i = 0; i < builder->prompts.count; ++i) plan_add(builder, item, builder->prompts.values[i], 0);
  for (size_t i = 0; i < builder->gens.count; ++i) plan_add(builder, item, 0, builder->gens.values[i]);
  for (size_t i = 0; i < builder->lists->pair_count; ++i) plan_add(builder, item, builder->lists->pairs[i].prompt, builder->lists->pairs[i].gen);
}

// The |index|-th combination of the outer parameters, the last one varying fastest; false behind the last.
static bool plan_combination_at(const mlxcel_bench_lists_t* lists, size_t index, mlxcel_bench_case_t* out_item) {
  memset(out_item, 0, sizeof(*out_item));
  const mlxcel_bench_list_t choices[] = {plan_list_or(&lists->threads, 0), plan_list_or(&lists->parallels, 1), plan_list_or(&lists->batches, 0),
                                         plan_list_or(&lists->depths, 0)};
  uint32_t* const fields[] = {&out_item->threads, &out_item->parallel, &out_item->batch, &out_item->depth};
  for (size_t i = sizeof(choices) / sizeof(choices[0]); i-- > 0;) {
    *fields[i] = choices[i].values[index % choices[i].count];
    index /= choices[i].count;
  }
  out_item->model = (uint32_t)index;
  return index < lists->model_count;
}

static iree_status_t plan_check(const plan_builder_t* builder) {
  if (builder->is_full) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the lists make more than %u cases; give shorter ones", MLXCEL_BENCH_CASES_MAX);
  }
  if (builder->plan->case_count > 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "nothing to measure: -p 0 leaves out prompts, -n 0 generation, and there is no -pg; give one of them");
}

iree_status_t mlxcel_bench_plan_make(const mlxcel_bench_lists_t* lists, mlxcel_bench_plan_t* out_plan) {
  memset(out_plan, 0, sizeof(*out_plan));
  out_plan->cases = calloc(MLXCEL_BENCH_CASES_MAX, sizeof(*out_plan->cases));
  if (!out_plan->cases) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the cases; free some");
  plan_builder_t builder = {
      .lists = lists, .prompts = plan_list_or(&lists->prompts, DEFAULT_PROMPT), .gens = plan_list_or(&lists->gens, DEFAULT_GEN), .plan = out_plan};
  mlxcel_bench_case_t item;
  // One combination has as many cases as the next: with none in the first there are none.
  for (size_t i = 0; !builder.is_full && (i == 0 || out_plan->case_count) && plan_combination_at(lists, i, &item); ++i) plan_add_combination(&builder, item);
  iree_status_t status = plan_check(&builder);
  if (!iree_status_is_ok(status)) mlxcel_bench_plan_deinitialize(out_plan);
  return status;
}

void mlxcel_bench_plan_deinitialize(mlxcel_bench_plan_t* plan) {
  free(plan->cases);
  memset(plan, 0, sizeof(*plan));
}

uint64_t mlxcel_bench_case_positions(const mlxcel_bench_case_t* item) { return (uint64_t)item->depth + item->prompt + item->gen; }

void mlxcel_bench_case_name(const mlxcel_bench_case_t* item, char buffer[MLXCEL_BENCH_TEST_NAME_BYTES]) {
  size_t used = 0;
  buffer[0] = 0;
  if (item->prompt) used += (size_t)snprintf(buffer, MLXCEL_BENCH_TEST_NAME_BYTES, "pp%u", item->prompt);
  if (item->gen) used += (size_t)snprintf(buffer + used, MLXCEL_BENCH_TEST_NAME_BYTES - used, "%stg%u", used ? "+" : "", item->gen);
  if (item->depth) snprintf(buffer + used, MLXCEL_BENCH_TEST_NAME_BYTES - used, " @ d%u", item->depth);
}

static iree_status_t plan_check_case(const mlxcel_bench_case_t* item, const mlxcel_bench_model_t* model, uint32_t requested) {
  const uint64_t needed = mlxcel_bench_case_positions(item);
  if (needed > model->context) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "-p %u, -n %u and -d %u together need %" PRIu64 " positions, over the %u of the model in %s; give less", item->prompt, item->gen,
                            item->depth, needed, model->context, model->folder);
  }
  if (requested == 0 || needed <= requested) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "-p %u, -n %u and -d %u together need %" PRIu64 " positions, over -c %u; give a larger one",
                          item->prompt, item->gen, item->depth, needed, requested);
}

iree_status_t mlxcel_bench_plan_contexts(const mlxcel_bench_plan_t* plan, size_t model_count, const mlxcel_bench_model_t* models, uint32_t requested,
                                         uint32_t* out_contexts) {
  for (size_t i = 0; i < model_count; ++i) {
    out_contexts[i] = requested;
    if (requested > models[i].context) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "-c %u is over the %u positions of the model in %s; give less", requested, models[i].context,
                              models[i].folder);
    }
  }
  for (size_t i = 0; i < plan->case_count; ++i) {
    const mlxcel_bench_case_t* item = &plan->cases[i];
    IREE_RETURN_IF_ERROR(plan_check_case(item, &models[item->model], requested));
    const uint32_t needed = (uint32_t)mlxcel_bench_case_positions(item);
    if (needed > out_contexts[item->model]) out_contexts[item->model] = needed;
  }
  return iree_ok_status();
}
