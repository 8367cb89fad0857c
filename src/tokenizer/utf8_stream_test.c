// Bytes to whole characters, for every way to cut them.
#include "tokenizer/utf8_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define R "\xEF\xBF\xBD"

// Pushes |bytes| one by one and flushes.
static void expect(bool replaces_each_byte, const char* bytes, const char* wanted) {
  mlxcel_utf8_stream_t stream;
  mlxcel_utf8_stream_initialize(replaces_each_byte, &stream);
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  for (size_t i = 0; i < strlen(bytes); ++i) mlxcel_utf8_stream_push(&stream, iree_make_const_byte_span(bytes + i, 1), &text);
  mlxcel_utf8_stream_flush(&stream, &text);
  mlxcel_strbuf_append_cstring(&text, "");
  assert_string_equal(text.data ? text.data : "", wanted);
  mlxcel_strbuf_deinitialize(&text);
}

static void utf8_stream_passes_valid_text(void** state) {
  (void)state;
  expect(false, "a\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF",
         "a\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
}

// One U+FFFD for each maximal broken beginning, as Python and Unicode have it.
static void utf8_stream_replaces_maximal_beginnings(void** state) {
  (void)state;
  static const struct {
    const char* bytes;
    const char* wanted;
  } cases[] = {
      {"\x80", R},
      {"\xFF"
       "a",
       R "a"},
      {"\xC0\x80", R R},
      {"\xC1\xBF", R R},
      {"\xC3", R},
      {"\xC3(", R "("},
      {"\xE2\x82", R},
      {"\xE2\x82"
       "A",
       R "A"},
      {"\xE0\x9F\xBF", R R R},
      {"\xED\xA0\x80", R R R},
      {"\xF0\x9F\x98", R},
      {"\xF0\x8F\xBF\xBF", R R R R},
      {"\xF4\x90\x80\x80", R R R R},
      {"\xF5\x80\x80\x80", R R R R},
      {"\xF0\x9F\x98\xF0\x9F\x98\xB8", R "\xF0\x9F\x98\xB8"},
      {"\xE4\xB8\xC3\xA9", R "\xC3\xA9"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) expect(false, cases[i].bytes, cases[i].wanted);
}

static void utf8_stream_replaces_each_byte_when_asked(void** state) {
  (void)state;
  expect(true, "\xF0\x9F\x98", R R R);
  expect(true,
         "\xE2\x82"
         "A",
         R R "A");
  expect(true, "\xFF\xF0\x9F\x98\xB8", R "\xF0\x9F\x98\xB8");
}

// However four bytes are grouped, nothing comes out before the last.
static void utf8_stream_holds_back_every_grouping(void** state) {
  (void)state;
  static const char cat[] = "\xF0\x9F\x98\xB8";
  for (unsigned cuts = 0; cuts < 8; ++cuts) {
    mlxcel_utf8_stream_t stream;
    mlxcel_utf8_stream_initialize(false, &stream);
    mlxcel_strbuf_t text;
    mlxcel_strbuf_initialize(&text);
    size_t start = 0;
    for (size_t end = 1; end <= 4; ++end) {
      if (end < 4 && !(cuts & (1u << (end - 1)))) continue;
      assert_int_equal(text.size, 0);
      mlxcel_utf8_stream_push(&stream, iree_make_const_byte_span(cat + start, end - start), &text);
      start = end;
    }
    assert_int_equal(stream.tail_size, 0);
    assert_string_equal(text.data, cat);
    mlxcel_strbuf_deinitialize(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(utf8_stream_passes_valid_text),
      cmocka_unit_test(utf8_stream_replaces_maximal_beginnings),
      cmocka_unit_test(utf8_stream_replaces_each_byte_when_asked),
      cmocka_unit_test(utf8_stream_holds_back_every_grouping),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
