// The streaming detokenizer: whole characters only, and the same text as the full decode.
#include "tokenizer/detokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer/tokenizer_test_support.h"

static const char* const test_kinds[] = {"bytelevel", "ignore_merges", "sentencepiece", "unigram"};

static mlxcel_detokenizer_t detokenizer_of(const mlxcel_tokenizer_t* tokenizer, bool skips_special, bool begins_text) {
  mlxcel_detokenizer_options_t options;
  mlxcel_detokenizer_options_initialize(&options);
  options.skips_special = skips_special;
  options.begins_text = begins_text;
  mlxcel_detokenizer_t detokenizer;
  test_expect_ok(mlxcel_detokenizer_initialize(tokenizer, &options, &detokenizer));
  return detokenizer;
}

// Whether |text| is whole UTF-8: what a strict client's decoder accepts.
static bool is_utf8(iree_string_view_t text) {
  mlxcel_utf8_stream_t stream;
  mlxcel_utf8_stream_initialize(false, &stream);
  mlxcel_strbuf_t copy;
  mlxcel_strbuf_initialize(&copy);
  mlxcel_utf8_stream_push(&stream, iree_make_const_byte_span(text.data, text.size), &copy);
  bool is_same = stream.tail_size == 0 && iree_string_view_equal(mlxcel_strbuf_view(&copy), text);
  mlxcel_strbuf_deinitialize(&copy);
  return is_same;
}

// Streams |ids| and gives the joined text, malloc'ed; every piece must be whole characters.
static char* stream(const mlxcel_tokenizer_t* tokenizer, const int32_t* ids, size_t count, bool skips_special, bool begins_text) {
  mlxcel_detokenizer_t detokenizer = detokenizer_of(tokenizer, skips_special, begins_text);
  mlxcel_strbuf_t joined;
  mlxcel_strbuf_initialize(&joined);
  iree_string_view_t piece;
  for (size_t i = 0; i < count; ++i) {
    test_expect_ok(mlxcel_detokenizer_push(&detokenizer, ids[i], &piece));
    assert_true(is_utf8(piece));
    mlxcel_strbuf_append(&joined, piece);
  }
  test_expect_ok(mlxcel_detokenizer_flush(&detokenizer, &piece));
  assert_true(is_utf8(piece));
  mlxcel_strbuf_append(&joined, piece);
  mlxcel_detokenizer_deinitialize(&detokenizer);
  return mlxcel_strbuf_release(&joined);
}

static void expect_stream(const mlxcel_tokenizer_t* tokenizer, const int32_t* ids, size_t count, const char* wanted) {
  char* text = stream(tokenizer, ids, count, true, true);
  assert_string_equal(text, wanted);
  free(text);
}

static void detokenizer_joins_to_the_full_decode(void** state) {
  (void)state;
  static const char* const texts[] = {
      "", "a", "the quick  brown\n\nfox", " leading", "日本語 and 😀😃 and é", "it's 12345!", "<|im_start|>user\nhi<|im_end|>", "<s>x</s>"};
  for (size_t k = 0; k < IREE_ARRAYSIZE(test_kinds); ++k) {
    mlxcel_tokenizer_t* tokenizer = test_tokenizer_open(test_kinds[k]);
    for (size_t i = 0; i < 2 * IREE_ARRAYSIZE(texts); ++i) {
      bool skips_special = i % 2 == 0;
      int32_t* ids = NULL;
      size_t count = 0, size = 0;
      char* whole = NULL;
      mlxcel_tokenizer_encode_flags_t flags = MLXCEL_TOKENIZER_ENCODE_ADD_SPECIAL | MLXCEL_TOKENIZER_ENCODE_PARSE_SPECIAL;
      test_expect_ok(mlxcel_tokenizer_encode(tokenizer, iree_make_cstring_view(texts[i / 2]), flags, &ids, &count));
      test_expect_ok(mlxcel_tokenizer_decode(tokenizer, ids, count, skips_special, &whole, &size));
      char* joined = stream(tokenizer, ids, count, skips_special, true);
      assert_string_equal(joined, whole);
      free(joined);
      mlxcel_tokenizer_text_free(tokenizer, whole);
      mlxcel_tokenizer_ids_free(tokenizer, ids);
    }
    mlxcel_tokenizer_close(tokenizer);
  }
}

// The token that stands for |byte|, 0x7F or more, alone.
static int32_t byte_token(const mlxcel_tokenizer_t* tokenizer, bool is_byte_level, uint8_t byte) {
  char name[16];
  if (is_byte_level) {
    // The byte-level alphabet: printable Latin-1 characters stand for themselves; the others follow from U+0100 on, 33 of them below 0x7F.
    uint32_t codepoint = byte < 0xA1 ? 0x100u + 33 + (byte - 0x7Fu) : byte == 0xAD ? 0x143u : byte;
    snprintf(name, sizeof(name), "%c%c", (char)(0xC0 | codepoint >> 6), (char)(0x80 | (codepoint & 0x3F)));
  } else {
    snprintf(name, sizeof(name), "<0x%02X>", byte);
  }
  int32_t id = mlxcel_tokenizer_token_id(tokenizer, iree_make_cstring_view(name));
  assert_true(id >= 0);
  return id;
}

// llama.cpp#4036: a character cut across tokens is held back until it is whole. Every prefix of U+1F638's bytes is tried.
static void detokenizer_holds_back_every_cut_of_a_character(void** state) {
  (void)state;
  static const uint8_t cat[] = {0xF0, 0x9F, 0x98, 0xB8};
  for (size_t k = 0; k < 2; ++k) {
    mlxcel_tokenizer_t* tokenizer = test_tokenizer_open(k == 0 ? "bytelevel" : "sentencepiece");
    mlxcel_detokenizer_t detokenizer = detokenizer_of(tokenizer, true, true);
    iree_string_view_t piece;
    for (size_t round = 0; round < 3; ++round) {
      for (size_t i = 0; i < 3; ++i) {
        test_expect_ok(mlxcel_detokenizer_push(&detokenizer, byte_token(tokenizer, k == 0, cat[i]), &piece));
        assert_int_equal(piece.size, 0);
      }
      test_expect_ok(mlxcel_detokenizer_push(&detokenizer, byte_token(tokenizer, k == 0, cat[3]), &piece));
      assert_int_equal(piece.size, 4);
      assert_memory_equal(piece.data, cat, 4);
    }
    mlxcel_detokenizer_deinitialize(&detokenizer);
    mlxcel_tokenizer_close(tokenizer);
  }
}

// Cut after 1, 2 or 3 bytes: at the end, and before another character.
static void detokenizer_shows_broken_characters_as_the_full_decode_does(void** state) {
  (void)state;
  static const uint8_t cat[] = {0xF0, 0x9F, 0x98, 0xB8};
  for (size_t k = 0; k < 2; ++k) {
    mlxcel_tokenizer_t* tokenizer = test_tokenizer_open(k == 0 ? "bytelevel" : "sentencepiece");
    int32_t letter = mlxcel_tokenizer_token_id(tokenizer, IREE_SV("a"));
    for (size_t cut = 1; cut <= 3; ++cut) {
      int32_t ids[5];
      for (size_t i = 0; i < cut; ++i) ids[i] = byte_token(tokenizer, k == 0, cat[i]);
      ids[cut] = letter;
      for (size_t count = cut; count <= cut + 1; ++count) {
        char* whole = NULL;
        size_t size = 0;
        test_expect_ok(mlxcel_tokenizer_decode(tokenizer, ids, count, true, &whole, &size));
        assert_non_null(strstr(whole, "\xEF\xBF\xBD"));
        expect_stream(tokenizer, ids, count, whole);
        mlxcel_tokenizer_text_free(tokenizer, whole);
      }
    }
    mlxcel_tokenizer_close(tokenizer);
  }
}

static void detokenizer_strips_the_leading_space_only_of_a_whole_text(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("sentencepiece");
  int32_t ids[] = {1, mlxcel_tokenizer_token_id(tokenizer, IREE_SV("▁the")), mlxcel_tokenizer_token_id(tokenizer, IREE_SV("▁the"))};
  expect_stream(tokenizer, ids, 3, "the the");
  char* text = stream(tokenizer, ids, 3, true, false);
  assert_string_equal(text, " the the");
  free(text);
  text = stream(tokenizer, ids, 3, false, true);
  assert_string_equal(text, "<s> the the");
  free(text);
  mlxcel_tokenizer_close(tokenizer);
}

static void detokenizer_skips_ids_outside_the_vocabulary(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("unigram");
  int32_t the = mlxcel_tokenizer_token_id(tokenizer, IREE_SV("▁the"));
  int32_t ids[] = {2000000000, the, 1999999, the};
  expect_stream(tokenizer, ids, 4, "the the");
  mlxcel_detokenizer_t detokenizer = detokenizer_of(tokenizer, true, true);
  iree_string_view_t piece;
  test_expect_status(mlxcel_detokenizer_push(&detokenizer, -5, &piece), IREE_STATUS_INVALID_ARGUMENT, "-5");
  mlxcel_detokenizer_deinitialize(&detokenizer);
  mlxcel_tokenizer_close(tokenizer);
}

// A tokenizer of the tokens "a", "b" and one of 600 bytes, with |decoder| as its decoder.
static iree_status_t open_with_decoder(const char* decoder, mlxcel_tokenizer_t** out_tokenizer) {
  char longest[601];
  memset(longest, 'x', 600);
  longest[600] = 0;
  mlxcel_strbuf_t json;
  mlxcel_strbuf_initialize(&json);
  mlxcel_strbuf_append_format(&json, "{\"added_tokens\":[],\"decoder\":%s,\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"%s\":2},\"merges\":[]}}",
                              decoder, longest);
  const char* files[] = {"tokenizer.json", json.data};
  char* folder = test_folder_create(files, 1);
  iree_status_t status = mlxcel_tokenizer_open(folder, iree_allocator_system(), out_tokenizer);
  test_folder_remove(folder);
  mlxcel_strbuf_deinitialize(&json);
  return status;
}

static void detokenizer_joins_with_spaces_without_a_decoder(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = NULL;
  test_expect_ok(open_with_decoder("null", &tokenizer));
  expect_stream(tokenizer, (const int32_t[]){0, 1, 0}, 3, "a b a");
  char* text = stream(tokenizer, (const int32_t[]){0, 2}, 2, true, true);
  assert_int_equal(strlen(text), 602);
  free(text);
  mlxcel_tokenizer_close(tokenizer);
}

static void detokenizer_refuses_decoders_that_cannot_stream_by_name(void** state) {
  (void)state;
  static const struct {
    const char* decoder;
    const char* words;
  } cases[] = {
      {"{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true}", "WordPiece"},
      {"{\"type\":\"CTC\",\"pad_token\":\"a\",\"word_delimiter_token\":\"b\",\"cleanup\":true}", "CTC"},
      {"{\"type\":\"BPEDecoder\",\"suffix\":\"b\"}", "BPEDecoder"},
      {"{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\"a\",\"start\":0,\"stop\":1}]}",
       "Strip|end of the whole text"},
      {"{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"b\"}]}", "Replace"},
      {"{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a+\"},\"content\":\"b\"}", "Replace|regular expression"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_tokenizer_t* tokenizer = NULL;
    test_expect_ok(open_with_decoder(cases[i].decoder, &tokenizer));
    mlxcel_detokenizer_options_t options;
    mlxcel_detokenizer_options_initialize(&options);
    mlxcel_detokenizer_t detokenizer;
    test_expect_status(mlxcel_detokenizer_initialize(tokenizer, &options, &detokenizer), IREE_STATUS_UNIMPLEMENTED, cases[i].words);
    mlxcel_detokenizer_deinitialize(&detokenizer);
    mlxcel_tokenizer_close(tokenizer);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(detokenizer_joins_to_the_full_decode),
      cmocka_unit_test(detokenizer_holds_back_every_cut_of_a_character),
      cmocka_unit_test(detokenizer_shows_broken_characters_as_the_full_decode_does),
      cmocka_unit_test(detokenizer_strips_the_leading_space_only_of_a_whole_text),
      cmocka_unit_test(detokenizer_skips_ids_outside_the_vocabulary),
      cmocka_unit_test(detokenizer_joins_with_spaces_without_a_decoder),
      cmocka_unit_test(detokenizer_refuses_decoders_that_cannot_stream_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
