// Which cases lists make, in which order, under which names, and how much context they need.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench_plan.h"
#include "bench/bench_test_util.h"

// "model/threads/parallel/batch name; " of every case.
static void print_plan(const mlxcel_bench_lists_t* lists, char* buffer, size_t capacity) {
  mlxcel_bench_plan_t plan;
  assert_true(iree_status_is_ok(mlxcel_bench_plan_make(lists, &plan)));
  size_t used = 0;
  for (size_t i = 0; i < plan.case_count; ++i) {
    const mlxcel_bench_case_t* item = &plan.cases[i];
    char name[MLXCEL_BENCH_TEST_NAME_BYTES];
    mlxcel_bench_case_name(item, name);
    used += (size_t)snprintf(buffer + used, capacity - used, "%u/%u/%u/%u %s; ", item->model, item->threads, item->parallel, item->batch, name);
    assert_true(used < capacity);
  }
  mlxcel_bench_plan_deinitialize(&plan);
}

#define REFUSED(status, ...) bench_assert_refused(status, (const char* const[]){__VA_ARGS__, NULL})

static void empty_lists_make_the_two_default_cases(void** state) {
  (void)state;
  char text[256];
  print_plan(&(mlxcel_bench_lists_t){.model_count = 1}, text, sizeof(text));
  assert_string_equal(text, "0/0/1/0 pp512; 0/0/1/0 tg128; ");
}

static void lists_make_every_combination_with_depth_innermost(void** state) {
  (void)state;
  const mlxcel_bench_lists_t lists = {.model_count = 2,
                                      .prompts = {2, {8, 16}},
                                      .gens = {1, {0}},
                                      .depths = {2, {4, 0}},
                                      .threads = {1, {2}},
                                      .parallels = {2, {1, 4}},
                                      .pair_count = 1,
                                      .pairs = {{8, 2}}};
  char text[1024];
  print_plan(&lists, text, sizeof(text));
  assert_string_equal(text,
                      "0/2/1/0 pp8 @ d4; 0/2/1/0 pp16 @ d4; 0/2/1/0 pp8+tg2 @ d4; 0/2/1/0 pp8; 0/2/1/0 pp16; 0/2/1/0 pp8+tg2; "
                      "0/2/4/0 pp8 @ d4; 0/2/4/0 pp16 @ d4; 0/2/4/0 pp8+tg2 @ d4; 0/2/4/0 pp8; 0/2/4/0 pp16; 0/2/4/0 pp8+tg2; "
                      "1/2/1/0 pp8 @ d4; 1/2/1/0 pp16 @ d4; 1/2/1/0 pp8+tg2 @ d4; 1/2/1/0 pp8; 1/2/1/0 pp16; 1/2/1/0 pp8+tg2; "
                      "1/2/4/0 pp8 @ d4; 1/2/4/0 pp16 @ d4; 1/2/4/0 pp8+tg2 @ d4; 1/2/4/0 pp8; 1/2/4/0 pp16; 1/2/4/0 pp8+tg2; ");
}

static void zeros_leave_cases_out_until_nothing_is_left(void** state) {
  (void)state;
  const mlxcel_bench_list_t zero = {1, {0}};
  char text[256];
  print_plan(&(mlxcel_bench_lists_t){.model_count = 1, .prompts = {2, {0, 4}}, .gens = zero}, text, sizeof(text));
  assert_string_equal(text, "0/0/1/0 pp4; ");
  mlxcel_bench_plan_t plan;
  REFUSED(mlxcel_bench_plan_make(&(mlxcel_bench_lists_t){.model_count = 1, .prompts = zero, .gens = zero}, &plan), "-p 0", "-n 0", "-pg");
  assert_null(plan.cases);
}

static void plans_are_bounded(void** state) {
  (void)state;
  mlxcel_bench_lists_t lists = {.model_count = 1};
  assert_true(iree_status_is_ok(mlxcel_bench_list_append(IREE_SV("1-64"), 0, 64, &lists.prompts)));
  lists.depths = lists.prompts;
  lists.gens = (mlxcel_bench_list_t){1, {0}};
  mlxcel_bench_plan_t plan;
  assert_true(iree_status_is_ok(mlxcel_bench_plan_make(&lists, &plan)));
  assert_int_equal(plan.case_count, MLXCEL_BENCH_CASES_MAX);
  mlxcel_bench_plan_deinitialize(&plan);
  lists.gens.values[0] = 1;
  REFUSED(mlxcel_bench_plan_make(&lists, &plan), "more than 4096");
}

static void context_is_what_the_largest_case_of_each_model_needs(void** state) {
  (void)state;
  const mlxcel_bench_model_t models[] = {{.folder = "a", .context = 100}, {.folder = "b", .context = 64}};
  mlxcel_bench_case_t cases[] = {{.prompt = 10, .gen = 20, .depth = 30}, {.gen = 7}, {.model = 1, .prompt = 64}};
  const mlxcel_bench_plan_t plan = {3, cases};
  uint32_t contexts[2];
  assert_true(iree_status_is_ok(mlxcel_bench_plan_contexts(&plan, 2, models, 0, contexts)));
  assert_int_equal(contexts[0], 60);
  assert_int_equal(contexts[1], 64);
  assert_true(iree_status_is_ok(mlxcel_bench_plan_contexts(&plan, 2, models, 64, contexts)));
  assert_int_equal(contexts[0], 64);
  REFUSED(mlxcel_bench_plan_contexts(&plan, 2, models, 63, contexts), "-p 64", "64 positions", "-c 63");
  REFUSED(mlxcel_bench_plan_contexts(&plan, 2, models, 65, contexts), "-c 65", "64 positions", "b");
  cases[2].depth = 1;
  REFUSED(mlxcel_bench_plan_contexts(&plan, 2, models, 0, contexts), "-d 1", "65 positions", "64 of the model in b");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_lists_make_the_two_default_cases),
      cmocka_unit_test(lists_make_every_combination_with_depth_innermost),
      cmocka_unit_test(zeros_leave_cases_out_until_nothing_is_left),
      cmocka_unit_test(plans_are_bounded),
      cmocka_unit_test(context_is_what_the_largest_case_of_each_model_needs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
