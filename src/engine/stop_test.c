#include "engine/stop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/limits.h"

static mlxcel_stop_t* open_stop(size_t count, const char* const* stops) {
  mlxcel_stop_t* stop = NULL;
  assert_true(iree_status_is_ok(mlxcel_stop_create(count, stops, &stop)));
  assert_non_null(stop);
  return stop;
}

static bool push(mlxcel_stop_t* stop, const char* text, mlxcel_strbuf_t* out) { return mlxcel_stop_push(stop, iree_make_cstring_view(text), out); }

// Pushes |text| in pieces of the given cut points (bit i of |cuts|: a cut after byte i), flushes, and checks the joined result.
static void check_cut(size_t count, const char* const* stops, const char* text, uint32_t cuts, const char* expected, bool expected_match) {
  mlxcel_stop_t* stop = open_stop(count, stops);
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  size_t size = strlen(text), start = 0;
  bool matched = false;
  for (size_t i = 0; i < size; ++i) {
    if (i + 1 < size && !(cuts >> i & 1u)) continue;
    matched = mlxcel_stop_push(stop, iree_make_string_view(text + start, i + 1 - start), &out);
    start = i + 1;
  }
  mlxcel_stop_flush(stop, &out);
  assert_int_equal(matched, expected_match);
  assert_string_equal(out.data ? out.data : "", expected);
  mlxcel_strbuf_deinitialize(&out);
  mlxcel_stop_release(stop);
}

// The same for every way to cut |text| into pieces.
static void check_every_cut(size_t count, const char* const* stops, const char* text, const char* expected, bool expected_match) {
  size_t size = strlen(text);
  assert_in_range(size, 1, 14);
  for (uint32_t cuts = 0; cuts < 1u << (size - 1); ++cuts) check_cut(count, stops, text, cuts, expected, expected_match);
}

static void stop_without_strings_passes_everything(void** state) {
  (void)state;
  mlxcel_stop_t* stop = open_stop(0, NULL);
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  assert_false(push(stop, "any text", &out));
  assert_string_equal(out.data, "any text");
  mlxcel_stop_flush(stop, &out);
  assert_string_equal(out.data, "any text");
  mlxcel_strbuf_deinitialize(&out);
  mlxcel_stop_release(stop);
}

// The case of shared/cases 7: by one-character tokens, and by every other cut.
static void stop_finds_the_longer_of_two_that_end_together(void** state) {
  (void)state;
  check_every_cut(2, (const char*[]){"aab", "ab"}, "aaab", "a", true);
  check_every_cut(2, (const char*[]){"ab", "aab"}, "aaab", "a", true);
}

static void stop_never_shows_any_part_of_a_stop_string(void** state) {
  (void)state;
  mlxcel_stop_t* stop = open_stop(1, (const char*[]){"DEFGHIJ"});
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  assert_false(push(stop, "ABC", &out));
  assert_string_equal(out.data, "ABC");
  assert_false(push(stop, "DEF", &out));
  assert_false(push(stop, "G", &out));
  assert_false(push(stop, "HI", &out));
  assert_string_equal(out.data, "ABC");
  assert_true(push(stop, "JKL", &out));
  assert_string_equal(out.data, "ABC");
  mlxcel_stop_flush(stop, &out);
  assert_string_equal(out.data, "ABC");
  mlxcel_strbuf_deinitialize(&out);
  mlxcel_stop_release(stop);
}

static void stop_flush_shows_a_half_stop_string(void** state) {
  (void)state;
  check_every_cut(1, (const char*[]){"please"}, "yes, pleas", "yes, pleas", false);
  check_every_cut(2, (const char*[]){"aab", "ab"}, "xaaa", "xaaa", false);
}

static void stop_holds_back_exactly_the_tail_that_may_still_match(void** state) {
  (void)state;
  mlxcel_stop_t* stop = open_stop(2, (const char*[]){"abcabd", "zz"});
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  static const struct {
    const char* text;
    const char* shown;
  } steps[] = {{"x", "x"},    {"a", "x"},    {"b", "x"},    {"c", "x"},         {"a", "x"},          {"b", "x"},
               {"c", "xabc"}, {"a", "xabc"}, {"b", "xabc"}, {"z", "xabcabcab"}, {"y", "xabcabcabzy"}};
  for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); ++i) {
    assert_false(push(stop, steps[i].text, &out));
    assert_string_equal(out.data ? out.data : "", steps[i].shown);
  }
  mlxcel_strbuf_deinitialize(&out);
  mlxcel_stop_release(stop);
}

static void stop_ends_at_the_first_complete_string(void** state) {
  (void)state;
  check_every_cut(2, (const char*[]){"abcd", "bc"}, "xabcd", "xa", true);  // "bc" is complete first
  check_every_cut(2, (const char*[]){"abce", "bc"}, "xabcd", "xa", true);
  check_every_cut(3, (const char*[]){"d", "cd", "bcd"}, "abcd", "a", true);
  check_every_cut(2, (const char*[]){"a", "ab"}, "xab", "x", true);
  check_every_cut(1, (const char*[]){"aa"}, "xaaa", "x", true);
}

static void stop_recovers_after_a_false_start(void** state) {
  (void)state;
  check_every_cut(1, (const char*[]){"aab"}, "aaaab!", "aa", true);
  check_every_cut(1, (const char*[]){"abab!"}, "ababab!x", "ab", true);
  check_every_cut(2, (const char*[]){"abcx", "bcy"}, "abcyz", "a", true);
  check_every_cut(1, (const char*[]){"\n\n"}, "a\nb\n\nc", "a\nb", true);
}

static void stop_keeps_characters_whole(void** state) {
  (void)state;
  check_every_cut(1, (const char*[]){"\xc3\xa9"}, "\xc3\xa8\xc3\xa9", "\xc3\xa8", true);
  check_every_cut(1, (const char*[]){"\xf0\x9f\x98\xb8"}, "a\xf0\x9f\x98\xb9\xf0\x9f\x98", "a\xf0\x9f\x98\xb9\xf0\x9f\x98", false);
}

static void stop_repeated_strings_count_once(void** state) {
  (void)state;
  check_every_cut(3, (const char*[]){"ab", "ab", "ab"}, "xabx", "x", true);
}

static void stop_ignores_everything_after_a_match(void** state) {
  (void)state;
  mlxcel_stop_t* stop = open_stop(1, (const char*[]){"."});
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  assert_true(push(stop, "a.b", &out));
  assert_true(push(stop, "more", &out));
  mlxcel_stop_flush(stop, &out);
  assert_string_equal(out.data, "a");
  mlxcel_strbuf_deinitialize(&out);
  mlxcel_stop_release(stop);
}

// What a plain search says: at every end position, the stop strings that end there; the first such position and the earliest start win.
static bool find_first_match(const char* text, size_t count, const char* const* stops, size_t* out_start) {
  for (size_t end = 1; end <= strlen(text); ++end) {
    bool found = false;
    for (size_t i = 0; i < count; ++i) {
      size_t size = strlen(stops[i]);
      if (size > end || strncmp(text + end - size, stops[i], size) != 0) continue;
      if (!found || end - size < *out_start) *out_start = end - size;
      found = true;
    }
    if (found) return true;
  }
  return false;
}

static void stop_agrees_with_a_plain_search_on_all_short_texts(void** state) {
  (void)state;
  static const char* const sets[][4] = {
      {"aab", "ab", NULL}, {"aba", "bab", "bb", NULL}, {"aaa", "abab", "ba", NULL}, {"abba", "bab", "aabb", NULL}, {"bbbb", NULL}};
  for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); ++s) {
    size_t count = 0;
    while (sets[s][count]) ++count;
    for (uint32_t bits = 0; bits < 1u << 10; ++bits) {
      char text[11] = {0}, expected[11] = {0};
      for (int i = 0; i < 10; ++i) text[i] = bits >> i & 1u ? 'b' : 'a';
      size_t start = strlen(text);
      bool matches = find_first_match(text, count, sets[s], &start);
      snprintf(expected, sizeof(expected), "%.*s", (int)start, text);
      check_cut(count, sets[s], text, ~0u, expected, matches);
      check_cut(count, sets[s], text, 0x155u, expected, matches);
    }
  }
}

// Every byte but the last 4095 is let go by a false start: a search that starts over at each takes 4000 times as long.
static void stop_is_linear_in_long_text(void** state) {
  (void)state;
  char* long_stop = malloc(MLXCEL_STOP_STRING_BYTES_MAX + 1);
  char* text = malloc(1u << 20);
  assert_non_null(long_stop);
  assert_non_null(text);
  memset(long_stop, 'a', MLXCEL_STOP_STRING_BYTES_MAX);
  long_stop[MLXCEL_STOP_STRING_BYTES_MAX - 1] = 'b';
  long_stop[MLXCEL_STOP_STRING_BYTES_MAX] = 0;
  memset(text, 'a', 1u << 20);
  mlxcel_stop_t* stop = open_stop(1, (const char*[]){long_stop});
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  clock_t start = clock();
  for (int i = 0; i < 16; ++i) assert_false(mlxcel_stop_push(stop, iree_make_string_view(text, 1u << 20), &out));
  assert_int_equal(out.size, (16u << 20) - (MLXCEL_STOP_STRING_BYTES_MAX - 1));
  assert_true(push(stop, "b", &out));
  assert_int_equal(out.size, (16u << 20) - (MLXCEL_STOP_STRING_BYTES_MAX - 1));
  assert_true(clock() - start < 30 * CLOCKS_PER_SEC);  // a second with sanitizers
  mlxcel_strbuf_deinitialize(&out);
  mlxcel_stop_release(stop);
  free(long_stop);
  free(text);
}

static void check_refused(size_t count, const char* const* stops, const char* words) {
  mlxcel_stop_t* stop = (mlxcel_stop_t*)&stop;
  iree_status_t status = mlxcel_stop_create(count, stops, &stop);
  char text[1024];
  iree_host_size_t length = 0;
  assert_int_equal(iree_status_code(status), IREE_STATUS_INVALID_ARGUMENT);
  assert_true(iree_status_format(status, sizeof(text), text, &length));
  assert_non_null(strstr(text, words));
  assert_null(stop);
  iree_status_ignore(status);
}

static void stop_refuses_empty_long_and_too_many_strings(void** state) {
  (void)state;
  check_refused(1, (const char*[]){""}, "stop string 0 is empty");
  check_refused(2, (const char*[]){"a", NULL}, "stop string 1 is empty");
  char* long_stop = malloc(MLXCEL_STOP_STRING_BYTES_MAX + 2);
  assert_non_null(long_stop);
  memset(long_stop, 'x', MLXCEL_STOP_STRING_BYTES_MAX + 1);
  long_stop[MLXCEL_STOP_STRING_BYTES_MAX + 1] = 0;
  check_refused(1, (const char*[]){long_stop}, "longer than 4096");
  long_stop[MLXCEL_STOP_STRING_BYTES_MAX] = 0;
  mlxcel_stop_release(open_stop(1, (const char*[]){long_stop}));
  free(long_stop);
  const char* many[MLXCEL_STOP_STRINGS_MAX + 1];
  for (size_t i = 0; i < MLXCEL_STOP_STRINGS_MAX + 1; ++i) many[i] = "s";
  check_refused(MLXCEL_STOP_STRINGS_MAX + 1, many, "65 stop strings");
  mlxcel_stop_release(open_stop(MLXCEL_STOP_STRINGS_MAX, many));
}

static void stop_refuses_strings_that_are_not_utf8(void** state) {
  (void)state;
  static const char* const bad[] = {
      "a\xff", "\x80", "\xc3", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) check_refused(1, &bad[i], "isn't UTF-8");
  static const char* const good[] = {"\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); ++i) mlxcel_stop_release(open_stop(1, &good[i]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stop_without_strings_passes_everything),
      cmocka_unit_test(stop_finds_the_longer_of_two_that_end_together),
      cmocka_unit_test(stop_never_shows_any_part_of_a_stop_string),
      cmocka_unit_test(stop_flush_shows_a_half_stop_string),
      cmocka_unit_test(stop_holds_back_exactly_the_tail_that_may_still_match),
      cmocka_unit_test(stop_ends_at_the_first_complete_string),
      cmocka_unit_test(stop_recovers_after_a_false_start),
      cmocka_unit_test(stop_keeps_characters_whole),
      cmocka_unit_test(stop_repeated_strings_count_once),
      cmocka_unit_test(stop_ignores_everything_after_a_match),
      cmocka_unit_test(stop_agrees_with_a_plain_search_on_all_short_texts),
      cmocka_unit_test(stop_is_linear_in_long_text),
      cmocka_unit_test(stop_refuses_empty_long_and_too_many_strings),
      cmocka_unit_test(stop_refuses_strings_that_are_not_utf8),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
