// Tokenizer, chat templates and sampling of a GGUF file.
#include <string.h>

#include "checkpoint/checkpoint_gguf_scene.h"
#include "checkpoint/checkpoint_test_util.h"

static void gguf_import_refuses_broken_vocabularies(void** state) {
  (void)state;
  static const char* const good[GGUF_TINY_VOCAB] = {"<s>", "<|im_end|>", "a", "b", "ab", "\xc4\xa0", "\xc4\xa0\x61", "<tool>"};
  static const struct {
    size_t index;
    const char *text, *part;
  } tokens[] = {
      {3, "", "token 3 is empty"},
      {3, "a", "token 3 occurs a second time"},
      {7, "\xc3", "token 7 isn't valid UTF-8"},
      {7, "\xed\xa0\x80", "token 7 isn't valid UTF-8"},
      {4, "abc", "merge 0 isn't two tokens"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(tokens); ++i) {
    const char* texts[GGUF_TINY_VOCAB];
    memcpy(texts, good, sizeof(texts));
    texts[tokens[i].index] = tokens[i].text;
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.tokens"}});
    gguf_add_strings(&scene.builder, "tokenizer.ggml.tokens", texts, GGUF_TINY_VOCAB);
    scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, tokens[i].part);
  }
  for (size_t count = GGUF_TINY_VOCAB - 1; count <= GGUF_TINY_VOCAB + 1; count += 2) {
    const char* texts[GGUF_TINY_VOCAB + 1] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.tokens"}});
    gguf_add_strings(&scene.builder, "tokenizer.ggml.tokens", texts, count);
    scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, "doesn't have one entry for each of the 8 rows");
  }
}

static void gguf_import_refuses_a_token_with_a_nul_or_too_long(void** state) {
  (void)state;
  static char long_token[MLXCEL_GGUF_TOKEN_BYTES_MAX + 2];
  memset(long_token, 'x', sizeof(long_token) - 1);
  const char* texts[GGUF_TINY_VOCAB] = {"0", "1", "2", "3", "4", "5", "6", long_token};
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.tokens"}});
  gguf_add_strings(&scene.builder, "tokenizer.ggml.tokens", texts, GGUF_TINY_VOCAB);
  scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, "token 7 is empty or too long");
  texts[7] = "nul?";
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.tokens"}});
  gguf_add_strings(&scene.builder, "tokenizer.ggml.tokens", texts, GGUF_TINY_VOCAB);
  scene.builder.values.data[scene.builder.values.size - 1] = 0;
  scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, "token 7 contains a NUL byte");
}

static void gguf_import_refuses_broken_token_types_and_merges(void** state) {
  (void)state;
  static const int32_t wrong[] = {0, 6, -1, 7};
  for (size_t i = 0; i < IREE_ARRAYSIZE(wrong); ++i) {
    const int32_t types[GGUF_TINY_VOCAB] = {3, 3, 1, 1, 1, wrong[i], 1, 4};
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.token_type"}});
    gguf_add_i32s(&scene.builder, "tokenizer.ggml.token_type", types, GGUF_TINY_VOCAB);
    scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, "token 5 has a type other than");
  }
  static const struct {
    const char *text, *part;
  } merges[] = {
      {"", "merge 1 isn't two tokens"},    {" ", "merge 1 isn't two tokens"},   {"ab", "merge 1 isn't two tokens"},
      {" a", "merge 1 isn't two tokens"},  {"a ", "merge 1 isn't two tokens"},  {"a  b", "merge 1 isn't two tokens"},
      {"a c", "merge 1 isn't two tokens"}, {"b a", "merge 1 isn't two tokens"}, {"a b", "merge 1 occurs a second time"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(merges); ++i) {
    const char* texts[] = {"a b", merges[i].text};
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.merges"}});
    gguf_add_strings(&scene.builder, "tokenizer.ggml.merges", texts, 2);
    scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, merges[i].part);
  }
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.merges"}});
  scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, "has no tokenizer.ggml.merges");
}

static void gguf_import_refuses_a_merge_with_two_spaces(void** state) {
  (void)state;
  static const char* const texts[GGUF_TINY_VOCAB] = {"<s>", "<|im_end|>", "a", "b c", "ab c", "5", "6", "7"};
  static const char* const merges[] = {"a b c"};
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.tokens", "tokenizer.ggml.merges"}});
  gguf_add_strings(&scene.builder, "tokenizer.ggml.tokens", texts, GGUF_TINY_VOCAB);
  gguf_add_strings(&scene.builder, "tokenizer.ggml.merges", merges, 1);
  scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, "merge 0 isn't two tokens");
}

static void gguf_import_marks_added_tokens(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  expect_ok(scene_import(&scene, false));
  json_t* tokenizer = scene_json(&scene, "tokenizer.json");
  const json_t* added = json_object_get(tokenizer, "added_tokens");
  assert_int_equal(json_array_size(added), 3);
  static const struct {
    const char* content;
    int id;
    bool is_special;
  } expected[] = {{"<s>", 0, true}, {"<|im_end|>", 1, true}, {"<tool>", 7, false}};
  for (size_t i = 0; i < IREE_ARRAYSIZE(expected); ++i) {
    const json_t* token = json_array_get(added, i);
    assert_string_equal(json_string_value(json_object_get(token, "content")), expected[i].content);
    assert_int_equal(json_integer_value(json_object_get(token, "id")), expected[i].id);
    assert_int_equal(json_is_true(json_object_get(token, "special")), expected[i].is_special);
  }
  assert_true(json_is_null(json_object_get(tokenizer, "post_processor")));
  json_decref(tokenizer);
  scene_end(&scene);
}

static void gguf_import_adds_bos_and_eos_as_the_file_asks(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  gguf_add_bool(&scene.builder, "tokenizer.ggml.add_bos_token", true);
  gguf_add_bool(&scene.builder, "tokenizer.ggml.add_eos_token", true);
  expect_ok(scene_import(&scene, false));
  json_t* tokenizer = scene_json(&scene, "tokenizer.json");
  json_t* single = json_object_get(json_object_get(tokenizer, "post_processor"), "single");
  assert_int_equal(json_array_size(single), 3);
  assert_string_equal(json_string_value(json_object_get(json_object_get(json_array_get(single, 0), "SpecialToken"), "id")), "<s>");
  assert_string_equal(json_string_value(json_object_get(json_object_get(json_array_get(single, 1), "Sequence"), "id")), "A");
  assert_string_equal(json_string_value(json_object_get(json_object_get(json_array_get(single, 2), "SpecialToken"), "id")), "<|im_end|>");
  json_decref(tokenizer);
  scene_end(&scene);
}

static void gguf_import_joins_everything_that_ends_an_answer(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .skip = {"tokenizer.ggml.eos_token_id"}});
  gguf_add_u32(&scene.builder, "tokenizer.ggml.eos_token_id", 7);
  gguf_add_u32(&scene.builder, "tokenizer.ggml.eot_token_id", 0);
  expect_ok(scene_import(&scene, false));
  json_t* generation = scene_json(&scene, "generation_config.json");
  json_t* expected = json_pack("[i, i, i]", 0, 1, 7);  // 1 is <|im_end|>, a control token
  assert_true(json_equal(json_object_get(generation, "eos_token_id"), expected));
  json_decref(expected);
  json_decref(generation);
  json_t* config = scene_json(&scene, "config.json");
  assert_int_equal(json_integer_value(json_object_get(config, "eos_token_id")), 7);
  json_decref(config);
  scene_end(&scene);
}

static void gguf_import_keeps_named_chat_templates(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  static const char* const names[] = {"tool_use"};
  gguf_add_string(&scene.builder, "tokenizer.chat_template", "plain");
  gguf_add_strings(&scene.builder, "tokenizer.chat_templates", names, 1);
  gguf_add_string(&scene.builder, "tokenizer.chat_template.tool_use", "with tools");
  expect_ok(scene_import(&scene, false));
  json_t* config = scene_json(&scene, "tokenizer_config.json");
  json_t* expected = json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "default", "template", "plain", "name", "tool_use", "template", "with tools");
  assert_true(json_equal(json_object_get(config, "chat_template"), expected));
  json_decref(expected);
  json_decref(config);
  scene_end(&scene);
}

static void gguf_import_takes_over_recommended_sampling(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  gguf_add_f32(&scene.builder, "general.sampling.temp", 0.5f);
  gguf_add_u32(&scene.builder, "general.sampling.top_k", 20);
  expect_ok(scene_import(&scene, false));
  mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
  const mlxcel_generation_config_t* generation = &mlxcel_checkpoint_config(checkpoint)->generation;
  assert_true(generation->do_sample && generation->has_temperature && generation->temperature == 0.5);
  assert_true(generation->has_top_k && generation->top_k == 20);
  assert_false(generation->has_top_p);
  mlxcel_checkpoint_close(checkpoint);
  scene_end(&scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gguf_import_refuses_broken_vocabularies),
      cmocka_unit_test(gguf_import_refuses_a_token_with_a_nul_or_too_long),
      cmocka_unit_test(gguf_import_refuses_broken_token_types_and_merges),
      cmocka_unit_test(gguf_import_refuses_a_merge_with_two_spaces),
      cmocka_unit_test(gguf_import_marks_added_tokens),
      cmocka_unit_test(gguf_import_adds_bos_and_eos_as_the_file_asks),
      cmocka_unit_test(gguf_import_joins_everything_that_ends_an_answer),
      cmocka_unit_test(gguf_import_keeps_named_chat_templates),
      cmocka_unit_test(gguf_import_takes_over_recommended_sampling),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
