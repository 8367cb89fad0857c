// Choice of the template, its variables and errors; renderings are compared with jinja2 in tests/python/test_tokenizer.py.
#include "tokenizer/chat_template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_test_support.h"

#define USER "[{\"role\":\"user\",\"content\":\"hi\"}]"

static mlxcel_chat_options_t options_of(const char* messages) {
  mlxcel_chat_options_t options;
  mlxcel_chat_options_initialize(&options);
  options.messages_json = iree_make_cstring_view(messages);
  return options;
}

static void expect_text(const mlxcel_tokenizer_t* tokenizer, const mlxcel_chat_options_t* options, const char* wanted) {
  char* text = NULL;
  size_t size = 0;
  test_expect_ok(mlxcel_tokenizer_chat_render(tokenizer, options, &text, &size));
  assert_string_equal(text, wanted);
  assert_int_equal(size, strlen(wanted));
  mlxcel_tokenizer_text_free(tokenizer, text);
}

static void expect_failure(const mlxcel_tokenizer_t* tokenizer, const mlxcel_chat_options_t* options, iree_status_code_t code, const char* words) {
  char* text = NULL;
  size_t size = 0;
  iree_status_t status = mlxcel_tokenizer_chat_render(tokenizer, options, &text, &size);
  assert_null(text);
  test_expect_status(status, code, words);
}

static void chat_template_renders_turns_and_prompt(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  mlxcel_chat_options_t options = options_of(USER);
  expect_text(tokenizer, &options, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  options.adds_generation_prompt = false;
  expect_text(tokenizer, &options, "<|im_start|>user\nhi<|im_end|>\n");
  options.messages_json = iree_string_view_empty();
  expect_text(tokenizer, &options, "");
  mlxcel_tokenizer_close(tokenizer);
}

static void chat_template_file_wins_over_config(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("ignore_merges");
  mlxcel_chat_options_t options = options_of(USER);
  options.adds_generation_prompt = false;
  expect_text(tokenizer, &options, "<|start_header_id|>user<|end_header_id|>\n\nhi<|eot_id|>");
  mlxcel_tokenizer_close(tokenizer);
}

static void chat_template_is_chosen_by_name_or_tools(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("sentencepiece");
  mlxcel_chat_options_t options = options_of(USER);
  expect_text(tokenizer, &options, "<s>[user] hi</s>\n[assistant] ");
  options.tools_json = IREE_SV("[{\"a\":1}]");
  expect_text(tokenizer, &options, "<s>[{\"a\": 1}]");
  options.template_name = IREE_SV("default");
  expect_text(tokenizer, &options, "<s>[user] hi</s>\n[assistant] ");
  options.template_name = IREE_SV("nope");
  expect_failure(tokenizer, &options, IREE_STATUS_NOT_FOUND, "'nope'|default, tool_use");
  mlxcel_tokenizer_close(tokenizer);
}

static mlxcel_tokenizer_t* open_with_template(const char* source) {
  const char* files[] = {"chat_template.jinja", source, "tokenizer_config.json",
                         "{\"eos_token\":\"<|im_end|>\",\"additional_special_tokens\":[\"<|im_start|>\",{\"content\":\"[PAD]\"}]}"};
  mlxcel_tokenizer_t* tokenizer = NULL;
  test_expect_ok(test_tokenizer_open_with("bytelevel", files, 2, &tokenizer));
  return tokenizer;
}

static void chat_template_sees_special_tokens_and_variables(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = open_with_template(
      "{{ eos_token }}|{{ bos_token }}|{{ additional_special_tokens }}|{{ tools is none }}{{ documents is none }}|{{ mood }}|{{ deep.a[1] }}");
  mlxcel_chat_options_t options = options_of(USER);
  options.variables_json = IREE_SV("{\"mood\":\"gr\\u00fcn\",\"deep\":{\"a\":[1,2.50]}}");
  expect_text(tokenizer, &options, "<|im_end|>||['<|im_start|>', '[PAD]']|TrueTrue|grün|2.5");
  options.variables_json = IREE_SV("{\"eos_token\":\"E\",\"mood\":null,\"deep\":{\"a\":\"xy\"}}");
  expect_text(tokenizer, &options, "E||['<|im_start|>', '[PAD]']|TrueTrue|None|y");
  mlxcel_tokenizer_close(tokenizer);
}

static void chat_template_passes_its_own_words_on(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = open_with_template("{{ raise_exception('Roles must take turns') }}");
  mlxcel_chat_options_t options = options_of(USER);
  expect_failure(tokenizer, &options, IREE_STATUS_INVALID_ARGUMENT, "Roles must take turns");
  mlxcel_tokenizer_close(tokenizer);
}

static void chat_template_names_the_line_of_an_error(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = open_with_template("a\n{% if true %}\n{{ messages[0].content + 1 }}{% endif %}");
  mlxcel_chat_options_t options = options_of(USER);
  expect_failure(tokenizer, &options, IREE_STATUS_INVALID_ARGUMENT, "line 3|str|int");
  mlxcel_tokenizer_close(tokenizer);
}

static void chat_template_refuses_bad_json_by_name(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  mlxcel_chat_options_t options = options_of("[{\"role\":");
  expect_failure(tokenizer, &options, IREE_STATUS_INVALID_ARGUMENT, "messages|JSON");
  options = options_of("[],\"tools\":[]");
  expect_failure(tokenizer, &options, IREE_STATUS_INVALID_ARGUMENT, "messages|JSON");
  options = options_of(USER);
  options.variables_json = IREE_SV("[1]");
  expect_failure(tokenizer, &options, IREE_STATUS_INVALID_ARGUMENT, "variables|object");
  mlxcel_tokenizer_close(tokenizer);
}

static void chat_template_refuses_deep_json(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("bytelevel");
  char* deep = malloc(100001);
  memset(deep, '[', 100000);
  deep[100000] = 0;
  mlxcel_chat_options_t options = options_of(deep);
  expect_failure(tokenizer, &options, IREE_STATUS_INVALID_ARGUMENT, "messages|recursion");
  free(deep);
  mlxcel_tokenizer_close(tokenizer);
}

static void chat_template_bounds_endless_templates(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = open_with_template("{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}");
  mlxcel_chat_options_t options = options_of(USER);
  expect_failure(tokenizer, &options, IREE_STATUS_RESOURCE_EXHAUSTED, "bytes|refused");
  mlxcel_tokenizer_close(tokenizer);
}

static void chat_template_may_be_absent(void** state) {
  (void)state;
  mlxcel_tokenizer_t* tokenizer = test_tokenizer_open("unigram");
  assert_false(mlxcel_tokenizer_has_chat_template(tokenizer));
  mlxcel_chat_options_t options = options_of(USER);
  expect_failure(tokenizer, &options, IREE_STATUS_NOT_FOUND, "no chat template|chat_template.jinja");
  mlxcel_tokenizer_close(tokenizer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chat_template_renders_turns_and_prompt),   cmocka_unit_test(chat_template_file_wins_over_config),
      cmocka_unit_test(chat_template_is_chosen_by_name_or_tools), cmocka_unit_test(chat_template_sees_special_tokens_and_variables),
      cmocka_unit_test(chat_template_passes_its_own_words_on),    cmocka_unit_test(chat_template_names_the_line_of_an_error),
      cmocka_unit_test(chat_template_refuses_bad_json_by_name),   cmocka_unit_test(chat_template_refuses_deep_json),
      cmocka_unit_test(chat_template_bounds_endless_templates),   cmocka_unit_test(chat_template_may_be_absent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
