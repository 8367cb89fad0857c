// Ids, BOS and special tokens of the tokenizer's C face; texts by the hundred are compared with the reference in tests/python/test_tokenizer.py.
#include "tokenizer/tokenizer.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "tokenizer/tokenizer_test_support.h"

#define ADD MLXCEL_TOKENIZER_ENCODE_ADD_SPECIAL
#define PARSE MLXCEL_TOKENIZER_ENCODE_PARSE_SPECIAL

typedef struct ids_t {
  int32_t* values;
  size_t count;
} ids_t;

static ids_t encode(const mlxcel_tokenizer_t* tokenizer, const char* text, mlxcel_tokenizer_encode_flags_t flags) {
  ids_t ids;
  test_expect_ok(mlxcel_tokenizer_encode(tokenizer, iree_make_cstring_view(text), flags, &ids.values, &ids.count));
  return ids;
}

static size_t count_id(ids_t ids, int32_t id) {
  size_t count = 0;
  for (size_t i = 0; i < ids.count; ++i) count += ids.values[i] == id;
  return count;
}

static int32_t id_of(const mlxcel_tokenizer_t* tokenizer, const char* token) {
  int32_t id = mlxcel_tokenizer_token_id(tokenizer, iree_make_cstring_view(token));
  assert_true(id >= 0);
  return id;
}

// llama.cpp#7193: " Việt" is one entry of the vocabulary that no merge leads to.
static void tokenizer_takes_whole_words_before_merges(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("ignore_merges");
  ids_t ids = encode(tokenizer, " Việt", PARSE);
  assert_int_equal(ids.count, 1);
  assert_int_equal(ids.values[0], id_of(tokenizer, "ĠViá»ĩt"));
  mlxcel_tokenizer_ids_free(tokenizer, ids.values);
  mlxcel_tokenizer_close(tokenizer);
}

// Renders one user turn and counts the BOS ids of its encoding.
static size_t count_bos_of_chat(const mlxcel_tokenizer_t* tokenizer) {
  mlxcel_chat_options_t options;
  mlxcel_chat_options_initialize(&options);
  options.messages_json = IREE_SV("[{\"role\":\"user\",\"content\":\"hello\"}]");
  char* text = NULL;
  size_t size = 0;
  test_expect_ok(mlxcel_tokenizer_chat_render(tokenizer, &options, &text, &size));
  ids_t ids = encode(tokenizer, text, PARSE);
  size_t count = count_id(ids, mlxcel_tokenizer_bos_id(tokenizer));
  mlxcel_tokenizer_ids_free(tokenizer, ids.values);
  mlxcel_tokenizer_text_free(tokenizer, text);
  return count;
}

static size_t count_bos_of_completion(const mlxcel_tokenizer_t* tokenizer, const char* text) {
  ids_t ids = encode(tokenizer, text, ADD | PARSE);
  assert_true(ids.count > 1);
  assert_int_equal(ids.values[0], mlxcel_tokenizer_bos_id(tokenizer));
  size_t count = count_id(ids, mlxcel_tokenizer_bos_id(tokenizer));
  mlxcel_tokenizer_ids_free(tokenizer, ids.values);
  return count;
}

// DeepSeek-R1#151. A template without BOS gets none: its model was trained so.
static void tokenizer_gives_exactly_one_bos(void** state) {
  (void)state;
  mlxcel_tokenizer_t* with_bos = test_tokenizer_open("sentencepiece");
  assert_int_equal(count_bos_of_chat(with_bos), 1);
  assert_int_equal(count_bos_of_completion(with_bos, "hello"), 1);
  assert_int_equal(count_bos_of_completion(with_bos, "<s>hello"), 1);
  mlxcel_tokenizer_close(with_bos);
  mlxcel_tokenizer_t* without_bos = test_tokenizer_open("ignore_merges");
  assert_int_equal(count_bos_of_chat(without_bos), 0);
  assert_int_equal(count_bos_of_completion(without_bos, "hello"), 1);
  assert_int_equal(count_bos_of_completion(without_bos, "<|begin_of_text|>hello"), 1);
  mlxcel_tokenizer_close(without_bos);
}

static void tokenizer_follows_the_bos_switch_of_the_config(void** state) {
  (void)state;
  const char* never[] = {"tokenizer_config.json", "{\"bos_token\":\"<s>\",\"add_bos_token\":false}"};
  mlxcel_tokenizer_t* tokenizer = NULL;
  test_expect_ok(test_tokenizer_open_with("sentencepiece", never, 1, &tokenizer));
  ids_t ids = encode(tokenizer, "hello", ADD | PARSE);
  assert_int_equal(count_id(ids, 1), 0);
  mlxcel_tokenizer_ids_free(tokenizer, ids.values);
  mlxcel_tokenizer_close(tokenizer);
  // A post-processor that adds nothing, and a config that asks for it.
  const char* always[] = {"tokenizer_config.json", "{\"bos_token\":\"<|endoftext|>\",\"add_bos_token\":true}"};
  test_expect_ok(test_tokenizer_open_with("bytelevel", always, 1, &tokenizer));
  ids = encode(tokenizer, "hello", ADD | PARSE);
  assert_int_equal(ids.values[0], 0);
  assert_int_equal(count_id(ids, 0), 1);
  mlxcel_tokenizer_ids_free(tokenizer, ids.values);
  ids = encode(tokenizer, "", ADD | PARSE);
  assert_int_equal(ids.count, 1);
  mlxcel_tokenizer_ids_free(tokenizer, ids.values);
  mlxcel_tokenizer_close(tokenizer);
}

static void tokenizer_encodes_nothing_to_no_ids(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  ids_t ids = encode(tokenizer, "", PARSE);
  assert_null(ids.values);
  assert_int_equal(ids.count, 0);
  mlxcel_tokenizer_close(tokenizer);
}

static void tokenizer_parses_special_tokens_only_when_asked(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  int32_t special = id_of(tokenizer, "<|im_start|>");
  assert_true(mlxcel_tokenizer_is_special(tokenizer, special));
  assert_false(mlxcel_tokenizer_is_special(tokenizer, id_of(tokenizer, "a")));
  assert_false(mlxcel_tokenizer_is_special(tokenizer, -1));
  ids_t parsed = encode(tokenizer, "<|im_start|>x", PARSE);
  assert_int_equal(parsed.values[0], special);
  mlxcel_tokenizer_ids_free(tokenizer, parsed.values);
  ids_t plain = encode(tokenizer, "<|im_start|>x", MLXCEL_TOKENIZER_ENCODE_NONE);
  assert_true(plain.count > 2);
  assert_int_equal(count_id(plain, special), 0);
  mlxcel_tokenizer_ids_free(tokenizer, plain.values);
  mlxcel_tokenizer_close(tokenizer);
}

static void tokenizer_replaces_invalid_utf8(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  ids_t broken = encode(tokenizer, "a\xF0\x9F\x98z", PARSE);
  ids_t replaced = encode(tokenizer, "a\xEF\xBF\xBDz", PARSE);
  assert_int_equal(broken.count, replaced.count);
  assert_memory_equal(broken.values, replaced.values, broken.count * sizeof(int32_t));
  mlxcel_tokenizer_ids_free(tokenizer, broken.values);
  mlxcel_tokenizer_ids_free(tokenizer, replaced.values);
  mlxcel_tokenizer_close(tokenizer);
}

static void tokenizer_decodes_at_once(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("sentencepiece");
  ids_t ids = encode(tokenizer, "the fox 日", ADD | PARSE);
  char* text = NULL;
  size_t size = 0;
  test_expect_ok(mlxcel_tokenizer_decode(tokenizer, ids.values, ids.count, true, &text, &size));
  assert_string_equal(text, "the fox 日");
  assert_int_equal(size, strlen(text));
  mlxcel_tokenizer_text_free(tokenizer, text);
  test_expect_ok(mlxcel_tokenizer_decode(tokenizer, ids.values, ids.count, false, &text, &size));
  assert_string_equal(text, "<s> the fox 日");
  mlxcel_tokenizer_text_free(tokenizer, text);
  test_expect_ok(mlxcel_tokenizer_decode(tokenizer, NULL, 0, true, &text, &size));
  assert_string_equal(text, "");
  mlxcel_tokenizer_text_free(tokenizer, text);
  int32_t negative[] = {3, -7};
  test_expect_status(mlxcel_tokenizer_decode(tokenizer, negative, 2, true, &text, &size), IREE_STATUS_INVALID_ARGUMENT, "-7|position 1");
  assert_null(text);
  mlxcel_tokenizer_ids_free(tokenizer, ids.values);
  mlxcel_tokenizer_close(tokenizer);
}

static void tokenizer_names_tokens_and_ids(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  char* text = NULL;
  size_t size = 0;
  test_expect_ok(mlxcel_tokenizer_token_text(tokenizer, 1, &text, &size));
  assert_string_equal(text, "<|im_start|>");
  mlxcel_tokenizer_text_free(tokenizer, text);
  test_expect_status(mlxcel_tokenizer_token_text(tokenizer, 1 << 21, &text, &size), IREE_STATUS_NOT_FOUND, "2097152|not in the vocabulary");
  test_expect_status(mlxcel_tokenizer_token_text(tokenizer, -1, &text, &size), IREE_STATUS_NOT_FOUND, "not in the vocabulary");
  assert_int_equal(mlxcel_tokenizer_token_id(tokenizer, IREE_SV("no such token")), -1);
  assert_int_equal(mlxcel_tokenizer_token_id(tokenizer, IREE_SV("\xFF")), -1);
  size_t limit = mlxcel_tokenizer_id_limit(tokenizer);
  assert_int_equal(id_of(tokenizer, "[PAD]") + 1, limit);
  mlxcel_tokenizer_close(tokenizer);
}

static void tokenizer_reads_special_tokens_of_config_and_map(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("sentencepiece");
  size_t count = 0;
  const int32_t* eos = mlxcel_tokenizer_eos_ids(tokenizer, &count);
  // special_tokens_map.json says <unk>; tokenizer_config.json wins.
  assert_int_equal(count, 1);
  assert_int_equal(eos[0], 2);
  assert_int_equal(mlxcel_tokenizer_bos_id(tokenizer), 1);
  mlxcel_tokenizer_close(tokenizer);
  const char* map[] = {"special_tokens_map.json", "{\"eos_token\":{\"content\":\"</s>\"}}"};
  test_expect_ok(test_tokenizer_open_with("sentencepiece", map, 1, &tokenizer));
  eos = mlxcel_tokenizer_eos_ids(tokenizer, &count);
  assert_int_equal(count, 1);
  assert_int_equal(eos[0], 2);
  assert_int_equal(mlxcel_tokenizer_bos_id(tokenizer), -1);
  mlxcel_tokenizer_close(tokenizer);
  tokenizer = test_tokenizer_open("unigram");
  mlxcel_tokenizer_eos_ids(tokenizer, &count);
  assert_int_equal(count, 0);
  mlxcel_tokenizer_close(tokenizer);
  const char* unknown[] = {"tokenizer_config.json", "{\"eos_token\":\"<nowhere>\",\"pad_token\":null}"};
  test_expect_ok(test_tokenizer_open_with("sentencepiece", unknown, 1, &tokenizer));
  mlxcel_tokenizer_eos_ids(tokenizer, &count);
  assert_int_equal(count, 0);
  mlxcel_tokenizer_close(tokenizer);
}

static void expect_open_fails(const char* const* files, size_t count, iree_status_code_t code, const char* words) {
  char* folder = test_folder_create(files, count);
  mlxcel_tokenizer_t* tokenizer = NULL;
  iree_status_t status = mlxcel_tokenizer_open(folder, iree_allocator_system(), &tokenizer);
  assert_null(tokenizer);
  test_folder_remove(folder);
  test_expect_status(status, code, words);
}

#define SMALL_BPE "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]"

static void tokenizer_refuses_bad_files_by_name(void** state) {
  (void)state;
  expect_open_fails(NULL, 0, IREE_STATUS_NOT_FOUND, "tokenizer.json|copy|import");
  const char* empty[] = {"tokenizer.json", ""};
  expect_open_fails(empty, 1, IREE_STATUS_INVALID_ARGUMENT, "tokenizer.json|original checkpoint");
  const char* cut[] = {"tokenizer.json", "{\"version\":\"1.0\","};
  expect_open_fails(cut, 1, IREE_STATUS_INVALID_ARGUMENT, "tokenizer.json|line 1");
  const char* kind[] = {"tokenizer.json", "{\"model\":{\"type\":\"Nonsense\"}}"};
  expect_open_fails(kind, 1, IREE_STATUS_INVALID_ARGUMENT, "tokenizer.json");
  const char* dropout[] = {"tokenizer.json", "{" SMALL_BPE ",\"dropout\":0.1}}"};
  expect_open_fails(dropout, 1, IREE_STATUS_UNIMPLEMENTED, "tokenizer.json|dropout");
  const char* large[] = {"tokenizer.json", "{\"added_tokens\":[],\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4294967295},\"merges\":[]}}"};
  expect_open_fails(large, 1, IREE_STATUS_RESOURCE_EXHAUSTED, "tokenizer.json|4294967295");
}

static void tokenizer_refuses_bad_configs_by_name(void** state) {
  (void)state;
  const struct {
    const char* name;
    const char* text;
    const char* words;
  } cases[] = {
      {"tokenizer_config.json", "{", "tokenizer_config.json"},
      {"tokenizer_config.json", "[1]", "tokenizer_config.json|no JSON object"},
      {"tokenizer_config.json", "{\"eos_token\":7}", "eos_token"},
      {"special_tokens_map.json", "{\"additional_special_tokens\":[\"a\",1]}", "additional_special_tokens"},
      {"tokenizer_config.json", "{\"chat_template\":7}", "chat_template"},
      {"tokenizer_config.json", "{\"chat_template\":[{\"name\":\"default\"}]}", "chat_template[0]"},
      {"tokenizer_config.json", "{\"chat_template\":\"{% if %}\"}", "tokenizer_config.json|line 1|default"},
      {"chat_template.jinja", "a\n{{ 'b' }\n", "chat_template.jinja|line 2"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    const char* files[] = {cases[i].name, cases[i].text};
    mlxcel_tokenizer_t* tokenizer = NULL;
    test_expect_status(test_tokenizer_open_with("bytelevel", files, 1, &tokenizer), IREE_STATUS_INVALID_ARGUMENT, cases[i].words);
    assert_null(tokenizer);
  }
}

static void* encode_often(void* argument) {
  const mlxcel_tokenizer_t* tokenizer = argument;
  for (int i = 0; i < 200; ++i) {
    mlxcel_tokenizer_encode_flags_t flags = i % 2 ? PARSE : MLXCEL_TOKENIZER_ENCODE_NONE;
    int32_t* ids = NULL;
    size_t count = 0;
    iree_status_t status = mlxcel_tokenizer_encode(tokenizer, IREE_SV("<|im_start|>user"), flags, &ids, &count);
    bool is_special = iree_status_is_ok(status) && ids[0] == 1;
    mlxcel_tokenizer_ids_free(tokenizer, ids);
    if (is_special != (i % 2 == 1)) return argument;
  }
  return NULL;
}

static void tokenizer_serves_several_threads(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  pthread_t threads[4];
  for (size_t i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, encode_often, tokenizer), 0);
  for (size_t i = 0; i < 4; ++i) {
    void* failure = NULL;
    pthread_join(threads[i], &failure);
    assert_null(failure);
  }
  mlxcel_tokenizer_close(tokenizer);
}

static void tokenizer_refuses_texts_above_its_limit(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  size_t size = (size_t)MLXCEL_TOKENIZER_ENCODE_BYTES_MAX + 1;
  char* text = calloc(size, 1);
  int32_t* ids = NULL;
  size_t count = 0;
  iree_status_t status = mlxcel_tokenizer_encode(tokenizer, iree_make_string_view(text, size), PARSE, &ids, &count);
  free(text);
  test_expect_status(status, IREE_STATUS_RESOURCE_EXHAUSTED, "67108865|67108864");
  mlxcel_tokenizer_close(tokenizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tokenizer_takes_whole_words_before_merges),
      cmocka_unit_test(tokenizer_gives_exactly_one_bos),
      cmocka_unit_test(tokenizer_follows_the_bos_switch_of_the_config),
      cmocka_unit_test(tokenizer_encodes_nothing_to_no_ids),
      cmocka_unit_test(tokenizer_parses_special_tokens_only_when_asked),
      cmocka_unit_test(tokenizer_replaces_invalid_utf8),
      cmocka_unit_test(tokenizer_decodes_at_once),
      cmocka_unit_test(tokenizer_names_tokens_and_ids),
      cmocka_unit_test(tokenizer_reads_special_tokens_of_config_and_map),
      cmocka_unit_test(tokenizer_refuses_bad_files_by_name),
      cmocka_unit_test(tokenizer_refuses_bad_configs_by_name),
      cmocka_unit_test(tokenizer_serves_several_threads),
      cmocka_unit_test(tokenizer_refuses_texts_above_its_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
