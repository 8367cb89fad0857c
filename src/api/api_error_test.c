#include "api/api_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check_code(iree_status_code_t status_code, mlxcel_error_code_t expected) {
  mlxcel_error_t* error = mlxcel_api_error("load", iree_make_status(status_code, "what happened; what to do"));
  assert_non_null(error);
  assert_int_equal(mlxcel_error_code(error), expected);
  mlxcel_error_free(error);
}

static void api_error_of_an_ok_status_is_null(void** state) {
  (void)state;
  assert_null(mlxcel_api_error("load", iree_ok_status()));
  mlxcel_error_free(NULL);
}

static void api_error_code_follows_the_status(void** state) {
  (void)state;
  check_code(IREE_STATUS_INVALID_ARGUMENT, MLXCEL_ERROR_INVALID_ARGUMENT);
  check_code(IREE_STATUS_OUT_OF_RANGE, MLXCEL_ERROR_INVALID_ARGUMENT);
  check_code(IREE_STATUS_ALREADY_EXISTS, MLXCEL_ERROR_INVALID_ARGUMENT);
  check_code(IREE_STATUS_NOT_FOUND, MLXCEL_ERROR_NOT_FOUND);
  check_code(IREE_STATUS_UNIMPLEMENTED, MLXCEL_ERROR_UNSUPPORTED);
  check_code(IREE_STATUS_INCOMPATIBLE, MLXCEL_ERROR_UNSUPPORTED);
  check_code(IREE_STATUS_DATA_LOSS, MLXCEL_ERROR_CORRUPT);
  check_code(IREE_STATUS_RESOURCE_EXHAUSTED, MLXCEL_ERROR_RESOURCES);
  check_code(IREE_STATUS_UNAVAILABLE, MLXCEL_ERROR_UNAVAILABLE);
  check_code(IREE_STATUS_PERMISSION_DENIED, MLXCEL_ERROR_UNAVAILABLE);
  check_code(IREE_STATUS_DEADLINE_EXCEEDED, MLXCEL_ERROR_UNAVAILABLE);
  check_code(IREE_STATUS_FAILED_PRECONDITION, MLXCEL_ERROR_UNAVAILABLE);
  check_code(IREE_STATUS_CANCELLED, MLXCEL_ERROR_CANCELLED);
  check_code(IREE_STATUS_ABORTED, MLXCEL_ERROR_CANCELLED);
  check_code(IREE_STATUS_INTERNAL, MLXCEL_ERROR_INTERNAL);
  check_code(IREE_STATUS_UNKNOWN, MLXCEL_ERROR_INTERNAL);
}

static void api_error_of_a_models_files_is_corrupt(void** state) {
  (void)state;
  static const struct {
    const char* stage;
    mlxcel_error_code_t code;
  } cases[] = {{"checkpoint", MLXCEL_ERROR_CORRUPT}, {"tokenizer", MLXCEL_ERROR_CORRUPT},        {"emit", MLXCEL_ERROR_CORRUPT},
               {"import", MLXCEL_ERROR_CORRUPT},     {"request", MLXCEL_ERROR_INVALID_ARGUMENT}, {"options", MLXCEL_ERROR_INVALID_ARGUMENT}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    mlxcel_error_t* error = mlxcel_api_error(cases[i].stage, iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "bad"));
    assert_int_equal(mlxcel_error_code(error), cases[i].code);
    mlxcel_error_free(error);
  }
}

static void api_error_message_has_words_but_no_source_lines(void** state) {
  (void)state;
  iree_status_t status = iree_make_status(IREE_STATUS_DATA_LOSS, "model.vmfb: digest differs; delete the entry");
  mlxcel_error_t* error = mlxcel_api_error("compile", iree_status_annotate(status, IREE_SV("while loading /cache/k")));
  assert_string_equal(mlxcel_error_stage(error), "compile");
  assert_non_null(strstr(mlxcel_error_message(error), "model.vmfb: digest differs; delete the entry"));
  assert_non_null(strstr(mlxcel_error_message(error), "while loading /cache/k"));
  assert_null(strstr(mlxcel_error_message(error), ".c:"));
  assert_null(strstr(mlxcel_error_message(error), "DATA_LOSS"));
  mlxcel_error_free(error);
}

static void api_error_message_does_not_repeat_its_stage(void** state) {
  (void)state;
  static const struct {
    const char *stage, *text, *message;
  } cases[] = {{"chat template", "chat template: line 3: no filter 'x'; fix it", "line 3: no filter 'x'; fix it"},
               {"chat template", "chat templates: none", "chat templates: none"},
               {"load", "load: ", "load:"},
               {"load", "overload: 3", "overload: 3"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    mlxcel_error_t* error = mlxcel_api_error(cases[i].stage, iree_make_status(IREE_STATUS_INTERNAL, "%s", cases[i].text));
    assert_string_equal(mlxcel_error_message(error), cases[i].message);
    mlxcel_error_free(error);
  }
}

static void api_error_message_holds_no_byte_that_a_terminal_obeys(void** state) {
  (void)state;
  mlxcel_error_t* error = mlxcel_api_error("load", iree_make_status(IREE_STATUS_DATA_LOSS, "tensor '%s'", "\033]0;x\007"));
  assert_string_equal(mlxcel_error_message(error), "tensor '\\x1b]0;x\\x07'");
  mlxcel_error_free(error);
}

static void api_error_keeps_long_messages_whole(void** state) {
  (void)state;
  char* text = malloc(9001);
  assert_non_null(text);
  memset(text, 'd', 9000);
  text[9000] = 0;
  mlxcel_error_t* error = mlxcel_api_error("compile", iree_make_status(IREE_STATUS_INTERNAL, "%s", text));
  assert_string_equal(mlxcel_error_message(error), text);
  mlxcel_error_free(error);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(api_error_of_an_ok_status_is_null),
      cmocka_unit_test(api_error_code_follows_the_status),
      cmocka_unit_test(api_error_of_a_models_files_is_corrupt),
      cmocka_unit_test(api_error_message_has_words_but_no_source_lines),
      cmocka_unit_test(api_error_keeps_long_messages_whole),
      cmocka_unit_test(api_error_message_does_not_repeat_its_stage),
      cmocka_unit_test(api_error_message_holds_no_byte_that_a_terminal_obeys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
