// Lists and pairs of numbers as the command line writes them.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench_list.h"
#include "bench/bench_test_util.h"

static void assert_list(const char* text, size_t count, const uint32_t* values) {
  mlxcel_bench_list_t list = {.count = 0};
  assert_true(iree_status_is_ok(mlxcel_bench_list_append(iree_make_cstring_view(text), 0, 1000, &list)));
  assert_int_equal(list.count, count);
  assert_memory_equal(list.values, values, count * sizeof(*values));
}
#define LIST(text, ...) assert_list(text, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

static void lists_hold_numbers_and_ranges(void** state) {
  (void)state;
  LIST("0", 0);
  LIST("1000", 1000);
  LIST("1,2,4", 1, 2, 4);
  LIST("4,4", 4, 4);
  LIST("2-5", 2, 3, 4, 5);
  LIST("7-7", 7);
  LIST("8-32+8", 8, 16, 24, 32);
  LIST("8-30+8", 8, 16, 24);
  LIST("1-10*2", 1, 2, 4, 8);
  LIST("0,8-16*2,3", 0, 8, 16, 3);
}

static void lists_are_appended_to(void** state) {
  (void)state;
  mlxcel_bench_list_t list = {.count = 0};
  assert_true(iree_status_is_ok(mlxcel_bench_list_append(IREE_SV("1,2"), 0, 8, &list)));
  assert_true(iree_status_is_ok(mlxcel_bench_list_append(IREE_SV("8"), 0, 8, &list)));
  assert_int_equal(list.count, 3);
  assert_int_equal(list.values[2], 8);
}

static void lists_refuse_other_text_and_quote_it(void** state) {
  (void)state;
  static const char* const texts[] = {"",
                                      ",",
                                      "1,",
                                      ",1",
                                      "x",
                                      "1x",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1-",
                                      "-",
                                      "3-2",
                                      "1-2+",
                                      "1-2+0",
                                      "1-2*1",
                                      "1-2*0",
                                      "0-2*2",
                                      "1-2-3",
                                      "1+2",
                                      "1*2",
                                      "1-2+1*2",
                                      "1001",
                                      "1.5",
                                      "0x1",
                                      "1,1001",
                                      "900-1001",
                                      "99999999999999999999",
                                      "1-99999999999999999999"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    mlxcel_bench_list_t list = {.count = 0};
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "'%s'", texts[i]);
    bench_assert_refused(mlxcel_bench_list_append(iree_make_cstring_view(texts[i]), 0, 1000, &list), (const char* const[]){quoted, "from 0 to 1000", NULL});
  }
  mlxcel_bench_list_t list = {.count = 0};
  bench_assert_refused(mlxcel_bench_list_append(IREE_SV("0"), 1, 4, &list), (const char* const[]){"'0'", "from 1 to 4", NULL});
}

static void lists_are_bounded(void** state) {
  (void)state;
  mlxcel_bench_list_t list = {.count = 0};
  assert_true(iree_status_is_ok(mlxcel_bench_list_append(IREE_SV("1-64"), 0, 1000, &list)));
  assert_int_equal(list.count, MLXCEL_BENCH_VALUES_MAX);
  bench_assert_refused(mlxcel_bench_list_append(IREE_SV("65"), 0, 1000, &list), (const char* const[]){"more than 64", NULL});
}

static void pairs_are_two_numbers_above_zero(void** state) {
  (void)state;
  uint32_t prompt = 0, gen = 0;
  assert_true(iree_status_is_ok(mlxcel_bench_pair_parse(IREE_SV("512,128"), 1000, &prompt, &gen)));
  assert_int_equal(prompt, 512);
  assert_int_equal(gen, 128);
  static const char* const texts[] = {"", "5", "5,", ",5", "0,5", "5,0", "5,5,5", "5;5", "a,b", "1001,1", "1,1001", "1-2,3"};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) {
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "'%s'", texts[i]);
    bench_assert_refused(mlxcel_bench_pair_parse(iree_make_cstring_view(texts[i]), 1000, &prompt, &gen), (const char* const[]){quoted, "from 1 to 1000", NULL});
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_hold_numbers_and_ranges),        cmocka_unit_test(lists_are_appended_to),
      cmocka_unit_test(lists_refuse_other_text_and_quote_it), cmocka_unit_test(lists_are_bounded),
      cmocka_unit_test(pairs_are_two_numbers_above_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
