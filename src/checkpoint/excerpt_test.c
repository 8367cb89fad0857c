#include "checkpoint/excerpt.h"

#include <string.h>

#include "checkpoint/checkpoint_test_util.h"

static void excerpt_keeps_short_printable_text(void** state) {
  (void)state;
  assert_string_equal(mlxcel_excerpt(IREE_SV("model.layers.0 ~")).text, "model.layers.0 ~");
  assert_string_equal(mlxcel_excerpt(iree_string_view_empty()).text, "");
}

static void excerpt_escapes_everything_else(void** state) {
  (void)state;
  assert_string_equal(mlxcel_excerpt(iree_make_string_view("\x1b[2J\n\0\x7f\xc3\xa9", 9)).text, "\\x1b[2J\\x0a\\x00\\x7f\\xc3\\xa9");
}

static void excerpt_cuts_long_text_within_its_size(void** state) {
  (void)state;
  char text[400];
  for (size_t size = 0; size < sizeof(text); ++size) {
    for (size_t kind = 0; kind < 2; ++kind) {
      memset(text, kind ? '\n' : 'x', size);
      mlxcel_excerpt_t excerpt = mlxcel_excerpt(iree_make_string_view(text, size));
      size_t length = strnlen(excerpt.text, sizeof(excerpt.text));
      assert_true(length < sizeof(excerpt.text));
      size_t whole = kind ? 4 * size : size;
      if (whole <= MLXCEL_EXCERPT_BYTES - 4) {
        assert_int_equal(length, whole);
      } else {
        assert_string_equal(excerpt.text + length - 3, "...");
      }
    }
  }
}

static void excerpt_shows_json_compactly_and_in_ascii(void** state) {
  (void)state;
  json_t* value = json_loads("{\"a\": [1, 2.5, null, true], \"b\": \"\\u001b\xc3\xa9\"}", 0, NULL);
  assert_non_null(value);
  assert_string_equal(mlxcel_excerpt_json(value).text, "{\"a\":[1,2.5,null,true],\"b\":\"\\u001B\\u00E9\"}");
  json_decref(value);
  value = json_array();
  for (int i = 0; i < 100000; ++i) json_array_append_new(value, json_integer(i));
  mlxcel_excerpt_t excerpt = mlxcel_excerpt_json(value);
  assert_memory_equal(excerpt.text, "[0,1,2,", 7);
  assert_string_equal(excerpt.text + strlen(excerpt.text) - 3, "...");
  json_decref(value);
}

static void name_list_shows_the_first_and_counts_the_rest(void** state) {
  (void)state;
  mlxcel_name_list_t list;
  mlxcel_name_list_initialize(&list);
  for (size_t i = 0; i < MLXCEL_EXCERPT_LIST_MAX; ++i) mlxcel_name_list_append(&list, IREE_SV("n"));
  assert_string_equal(mlxcel_name_list_finish(&list), "n, n, n, n, n, n, n, n");
  mlxcel_name_list_append(&list, IREE_SV("m"));
  mlxcel_name_list_append(&list, IREE_SV("m"));
  assert_string_equal(mlxcel_name_list_finish(&list), "n, n, n, n, n, n, n, n, ... and 2 more");
  assert_int_equal(list.count, 10);
  mlxcel_name_list_deinitialize(&list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(excerpt_keeps_short_printable_text),
      cmocka_unit_test(excerpt_escapes_everything_else),
      cmocka_unit_test(excerpt_cuts_long_text_within_its_size),
      cmocka_unit_test(excerpt_shows_json_compactly_and_in_ascii),
      cmocka_unit_test(name_list_shows_the_first_and_counts_the_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
