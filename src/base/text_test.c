// Behaviour of digests, JSON, growable text and status texts.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// cmocka wants the headers above first.
#include <cmocka.h>

#include "base/fs.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/strbuf.h"

static void expect_failure(iree_status_t status, iree_status_code_t code, const char* part) {
  char text[1024];
  assert_int_equal(iree_status_code(status), code);
  mlxcel_status_text(status, text, sizeof(text));
  if (!strstr(text, part)) fail_msg("'%s' isn't in '%s'", part, text);
  iree_status_ignore(status);
}

static void sha256_equals_published_vectors(void** state) {
  (void)state;
  mlxcel_sha256_hex_t hex;
  assert_true(iree_status_is_ok(mlxcel_sha256_of("abc", 3, &hex)));
  assert_string_equal(hex.text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_true(iree_status_is_ok(mlxcel_sha256_of("", 0, &hex)));
  assert_string_equal(hex.text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void sha256_of_a_file_of_many_pieces_equals_that_of_its_bytes(void** state) {
  (void)state;
  char path[] = "/tmp/mlxcel-sha256-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  size_t size = (3u << 20) + 12345;  // more than three pieces
  char* data = malloc(size);
  for (size_t i = 0; i < size; ++i) data[i] = (char)(i * 131 >> 3);
  assert_true(iree_status_is_ok(mlxcel_file_publish(path, data, size)));
  mlxcel_sha256_hex_t of_file, of_bytes;
  assert_true(iree_status_is_ok(mlxcel_sha256_of_file(path, &of_file)));
  assert_true(iree_status_is_ok(mlxcel_sha256_of(data, size, &of_bytes)));
  assert_string_equal(of_file.text, of_bytes.text);
  remove(path);
  expect_failure(mlxcel_sha256_of_file(path, &of_file), IREE_STATUS_NOT_FOUND, path);
  free(data);
}

static void sha256_fields_do_not_run_into_each_other(void** state) {
  (void)state;
  const char* pairs[2][2] = {{"ab", "c"}, {"a", "bc"}};
  mlxcel_sha256_hex_t hex[2];
  for (int i = 0; i < 2; ++i) {
    mlxcel_sha256_t hash;
    assert_true(iree_status_is_ok(mlxcel_sha256_initialize(&hash)));
    for (int j = 0; j < 2; ++j) mlxcel_sha256_update_field(&hash, iree_make_cstring_view(pairs[i][j]));
    mlxcel_sha256_finish(&hash, &hex[i]);
  }
  assert_string_not_equal(hex[0].text, hex[1].text);
}

static void json_refuses_duplicate_keys_with_their_place(void** state) {
  (void)state;
  json_t* value = (json_t*)1;
  expect_failure(mlxcel_json_parse(IREE_SV("{\"a\": 1,\n \"a\": 2}"), "f.json", &value), IREE_STATUS_INVALID_ARGUMENT, "f.json: line 2");
  assert_null(value);
  expect_failure(mlxcel_json_parse(IREE_SV("{\"a\": 1, \"a\": 2}"), "f.json", &value), IREE_STATUS_INVALID_ARGUMENT, "duplicate key");
}

static void json_bounds_depth_but_not_brackets_in_strings(void** state) {
  (void)state;
  char deep[2 * MLXCEL_JSON_DEPTH_MAX + 3];
  memset(deep, '[', sizeof(deep));
  json_t* value = NULL;
  expect_failure(mlxcel_json_parse(iree_make_string_view(deep, MLXCEL_JSON_DEPTH_MAX + 1), "f.json", &value), IREE_STATUS_INVALID_ARGUMENT, "nested deeper");
  char text[300] = "{\"a\": \"";
  memset(text + 7, '[', 200);
  memcpy(text + 207, "\\\"[\"}", 6);
  assert_true(iree_status_is_ok(mlxcel_json_parse(iree_make_cstring_view(text), "f.json", &value)));
  json_decref(value);
}

static void json_errors_hold_no_control_bytes_of_the_file(void** state) {
  (void)state;
  json_t* value = NULL;
  iree_status_t status = mlxcel_json_parse(IREE_SV("{\"a\": \x1b[31m\x07}"), "f.json", &value);
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_ignore(status);
  for (const char* c = text; *c; ++c) assert_true(*c >= 0x20 || *c == '\n');
}

static void json_strings_of_any_bytes_are_valid(void** state) {
  (void)state;
  json_t* value = mlxcel_json_string_any("bad\xff \xc3\xa9");
  assert_non_null(value);
  assert_string_equal(json_string_value(value), "bad\\xff \\xc3\\xa9");
  json_decref(value);
  value = mlxcel_json_string_any("good \xc3\xa9");
  assert_string_equal(json_string_value(value), "good \xc3\xa9");
  json_decref(value);
}

static void strbuf_grows_formats_and_hands_over(void** state) {
  (void)state;
  mlxcel_strbuf_t buffer;
  mlxcel_strbuf_initialize(&buffer);
  assert_int_equal(mlxcel_strbuf_view(&buffer).size, 0);
  for (int i = 0; i < 1000; ++i) mlxcel_strbuf_append_format(&buffer, "%d,", i);
  assert_true(iree_status_is_ok(mlxcel_strbuf_take_status(&buffer)));
  assert_int_equal(buffer.size, 3890);
  char* text = mlxcel_strbuf_release(&buffer);
  assert_string_equal(text + 3882, "998,999,");
  free(text);
  text = mlxcel_strbuf_release(&buffer);  // empty, but a string
  assert_string_equal(text, "");
  free(text);
}

static void strbuf_keeps_its_first_failure_and_ignores_later_appends(void** state) {
  (void)state;
  mlxcel_strbuf_t buffer;
  mlxcel_strbuf_initialize(&buffer);
  mlxcel_strbuf_append_cstring(&buffer, "kept");
  mlxcel_strbuf_append(&buffer, iree_make_string_view("x", (size_t)MLXCEL_TEXT_BYTES_MAX));  // refused by its size, before it is read
  mlxcel_strbuf_append_cstring(&buffer, "ignored");
  assert_int_equal(buffer.size, 4);
  expect_failure(mlxcel_strbuf_take_status(&buffer), IREE_STATUS_RESOURCE_EXHAUSTED, "grew over");
  assert_true(iree_status_is_ok(mlxcel_strbuf_take_status(&buffer)));
  mlxcel_strbuf_deinitialize(&buffer);
}

static void status_text_is_the_message_without_source_places(void** state) {
  (void)state;
  iree_status_t status = iree_make_status(IREE_STATUS_DATA_LOSS, "the cause; the remedy");
  char text[256];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_ignore(status);
  assert_string_equal(text, "the cause; the remedy");
}

static void status_text_holds_no_byte_that_a_terminal_obeys(void** state) {
  (void)state;
  static const struct {
    const char *message, *shown;
  } cases[] = {
      {"a\033[31mb\007c\177d", "a\\x1b[31mb\\x07c\\x7fd"},
      {"line\n\tnext", "line\n\tnext"},
      {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\xb8", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\xb8"},
      {"\xc2\x9b"
       "31m \xc2\xa0.",
       "\\xc2\\x9b31m \xc2\xa0."},                                                    // the eight-bit CSI
      {"\x80 \xc3 \xc0\xaf \xed\xa0\x80", "\\x80 \\xc3 \\xc0\\xaf \\xed\\xa0\\x80"},  // stray, cut, overlong, surrogate
      {"\xe0\x80\xaf \xf4\x90\x80\x80 \xff", "\\xe0\\x80\\xaf \\xf4\\x90\\x80\\x80 \\xff"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    iree_status_t status = iree_make_status(IREE_STATUS_DATA_LOSS, "%s", cases[i].message);
    char text[256];
    mlxcel_status_text(status, text, sizeof(text));
    iree_status_ignore(status);
    assert_string_equal(text, cases[i].shown);
  }
}

static void printable_text_is_cut_between_characters(void** state) {
  (void)state;
  char buffer[16];
  memset(buffer, 'x', sizeof(buffer));
  mlxcel_text_printable("ab\033cd", buffer, 6);
  assert_string_equal(buffer, "ab");
  assert_int_equal(buffer[6], 'x');
  mlxcel_text_printable("ab\033cd", buffer, 7);
  assert_string_equal(buffer, "ab\\x1b");
  mlxcel_text_printable("a\xe2\x82\xac", buffer, 4);
  assert_string_equal(buffer, "a");
  mlxcel_text_printable("a\xe2\x82\xac", buffer, 5);
  assert_string_equal(buffer, "a\xe2\x82\xac");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sha256_equals_published_vectors),
      cmocka_unit_test(sha256_of_a_file_of_many_pieces_equals_that_of_its_bytes),
      cmocka_unit_test(sha256_fields_do_not_run_into_each_other),
      cmocka_unit_test(json_refuses_duplicate_keys_with_their_place),
      cmocka_unit_test(json_bounds_depth_but_not_brackets_in_strings),
      cmocka_unit_test(json_errors_hold_no_control_bytes_of_the_file),
      cmocka_unit_test(json_strings_of_any_bytes_are_valid),
      cmocka_unit_test(strbuf_grows_formats_and_hands_over),
      cmocka_unit_test(strbuf_keeps_its_first_failure_and_ignores_later_appends),
      cmocka_unit_test(status_text_is_the_message_without_source_places),
      cmocka_unit_test(status_text_holds_no_byte_that_a_terminal_obeys),
      cmocka_unit_test(printable_text_is_cut_between_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
