#include "artifact/program_interface.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "artifact/artifact_test_support.h"
#include "base/json.h"

static json_t* sample_json(void) {
  test_request_t sample;
  test_request_initialize("", &sample);
  json_t* value = NULL;
  TEST_ASSERT_OK(mlxcel_program_interface_to_json(&sample.interface, &value));
  test_request_deinitialize(&sample);
  return value;
}

static void program_interface_survives_a_round_trip(void** state) {
  (void)state;
  json_t* value = sample_json();
  mlxcel_program_interface_t interface;
  TEST_ASSERT_OK(mlxcel_program_interface_from_json(value, &interface));
  assert_int_equal(interface.prefill_chunks.count, 2);
  assert_int_equal(interface.prefill_chunks.values[1], 64);
  assert_int_equal(interface.rope_width, 4);
  assert_string_equal(interface.kind, "decoder");
  json_t* again = NULL;
  TEST_ASSERT_OK(mlxcel_program_interface_to_json(&interface, &again));
  assert_true(json_equal(value, again));
  json_decref(again);
  json_decref(value);
  mlxcel_program_interface_deinitialize(&interface);
}

static void program_interface_keeps_parameters_sorted_and_unique(void** state) {
  (void)state;
  mlxcel_program_interface_t interface;
  memset(&interface, 0, sizeof(interface));
  static const char* const keys[] = {"m", "z", "a", "q", "b", "y", "c"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(keys); ++i) {
    TEST_ASSERT_OK(mlxcel_program_interface_add_parameter(&interface, iree_make_cstring_view(keys[i]), "F16", i));
  }
  assert_int_equal(interface.parameter_count, IREE_ARRAYSIZE(keys));
  for (size_t i = 1; i < interface.parameter_count; ++i) assert_true(strcmp(interface.parameters[i - 1].key, interface.parameters[i].key) < 0);
  assert_string_equal(interface.parameters[3].key, "m");
  assert_int_equal(interface.parameters[3].byte_count, 0);
  TEST_ASSERT_STATUS(mlxcel_program_interface_add_parameter(&interface, IREE_SV("q"), "F16", 1), IREE_STATUS_ALREADY_EXISTS, "'q'");
  TEST_ASSERT_STATUS(mlxcel_program_interface_add_parameter(&interface, IREE_SV(""), "F16", 1), IREE_STATUS_INVALID_ARGUMENT, "key");
  TEST_ASSERT_STATUS(mlxcel_program_interface_add_parameter(&interface, IREE_SV("r"), "not a dtype", 1), IREE_STATUS_INVALID_ARGUMENT, "'r'", "dtype");
  assert_int_equal(interface.parameter_count, IREE_ARRAYSIZE(keys));
  mlxcel_program_interface_deinitialize(&interface);
}

static void program_interface_names_an_unknown_field(void** state) {
  (void)state;
  json_t* value = sample_json();
  json_object_set_new(value, "surprise\x1b", json_true());
  mlxcel_program_interface_t interface;
  TEST_ASSERT_STATUS(mlxcel_program_interface_from_json(value, &interface), IREE_STATUS_INVALID_ARGUMENT, "interface.surprise?", "unknown");
  json_decref(value);
}

static void program_interface_names_every_missing_or_mistyped_field(void** state) {
  (void)state;
  json_t* whole = sample_json();
  for (void* field = json_object_iter(whole); field; field = json_object_iter_next(whole, field)) {
    const char* name = json_object_iter_key(field);
    mlxcel_program_interface_t interface;
    json_t* value = json_deep_copy(whole);
    json_object_set_new(value, name, json_null());
    TEST_ASSERT_STATUS(mlxcel_program_interface_from_json(value, &interface), IREE_STATUS_INVALID_ARGUMENT, name);
    json_object_del(value, name);
    TEST_ASSERT_STATUS(mlxcel_program_interface_from_json(value, &interface), IREE_STATUS_INVALID_ARGUMENT, name);
    json_decref(value);
  }
  json_decref(whole);
}

// Sets |name| to the JSON text |replacement| and expects a refusal that names |name|.
static void expect_refusal(const char* name, const char* replacement) {
  json_t* value = sample_json();
  json_object_set_new(value, name, json_loads(replacement, JSON_DECODE_ANY, NULL));
  mlxcel_program_interface_t interface;
  TEST_ASSERT_STATUS(mlxcel_program_interface_from_json(value, &interface), IREE_STATUS_INVALID_ARGUMENT, name);
  json_decref(value);
}

static void program_interface_refuses_values_out_of_range(void** state) {
  (void)state;
  static const char* const cases[][2] = {
      {"layer_count", "0"},
      {"layer_count", "1025"},
      {"layer_count", "-1"},
      {"head_dim", "513"},
      {"hidden_size", "65537"},
      {"vocab_size", "4194305"},
      {"rope_width", "-1"},
      {"kv_head_count", "1.0"},
      {"module_name", "\"\""},
      {"module_name", "\"1a\""},
      {"module_name", "\"a b\""},
      {"parameter_scope", "\"é\""},
      {"kv_dtype", "\"f32\""},
      {"kv_dtype", "\"FLOAT32X\""},
      {"kv_dtype", "\"I32\""},
      {"kv_dtype", "\"\""},
      {"kind", "\"\""},
      {"kind", "\"Decoder\""},
      {"kind", "\"a kind of twenty chars\""},
      {"prefill_chunks", "[2, 1]"},
      {"prefill_chunks", "[0]"},
      {"prefill_chunks", "[1, 1]"},
      {"decode_batches", "[true]"},
      {"head_rows", "{}"},
      {"head_rows", "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"},
      {"module_name", "\"a123456789012345678901234567890123\""},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) expect_refusal(cases[i][0], cases[i][1]);
}

static void program_interface_caches_have_one_of_three_dtypes(void** state) {
  (void)state;
  static const char* const names[] = {"F32", "F16", "BF16"};
  static const uint32_t bytes[] = {4, 2, 2};
  for (size_t i = 0; i < IREE_ARRAYSIZE(names); ++i) {
    json_t* value = sample_json();
    json_object_set_new(value, "kv_dtype", json_string(names[i]));
    mlxcel_program_interface_t interface;
    TEST_ASSERT_OK(mlxcel_program_interface_from_json(value, &interface));
    assert_int_equal(mlxcel_program_interface_kv_element_bytes(&interface), bytes[i]);
    mlxcel_program_interface_deinitialize(&interface);
    json_decref(value);
  }
}

static json_t* operation_json(void) {
  test_request_t sample;
  test_request_initialize("", &sample);
  test_request_set_operation(&sample);
  json_t* value = NULL;
  TEST_ASSERT_OK(mlxcel_program_interface_to_json(&sample.interface, &value));
  test_request_deinitialize(&sample);
  return value;
}

static void program_interface_of_an_operation_has_no_model(void** state) {
  (void)state;
  static const char* const fields[][2] = {{"kv_dtype", "\"F32\""}, {"layer_count", "1"},     {"kv_head_count", "1"}, {"head_dim", "1"},
                                          {"hidden_size", "1"},    {"vocab_size", "1"},      {"rope_width", "1"},    {"prefill_chunks", "[1]"},
                                          {"head_rows", "[1]"},    {"decode_batches", "[1]"}};
  json_t* value = operation_json();
  mlxcel_program_interface_t interface;
  TEST_ASSERT_OK(mlxcel_program_interface_from_json(value, &interface));
  assert_string_equal(interface.kind, "operation");
  mlxcel_program_interface_deinitialize(&interface);
  for (size_t i = 0; i < IREE_ARRAYSIZE(fields); ++i) {
    json_t* changed = json_copy(value);
    json_object_set_new(changed, fields[i][0], json_loads(fields[i][1], JSON_DECODE_ANY, NULL));
    TEST_ASSERT_STATUS(mlxcel_program_interface_from_json(changed, &interface), IREE_STATUS_INVALID_ARGUMENT, fields[i][0]);
    json_decref(changed);
  }
  json_decref(value);
}

static void program_interface_refuses_bad_parameters(void** state) {
  (void)state;
  static const char* const cases[] = {
      "[{\"key\":\"b\",\"dtype\":\"F32\",\"bytes\":1},{\"key\":\"a\",\"dtype\":\"F32\",\"bytes\":1}]",
      "[{\"key\":\"a\",\"dtype\":\"F32\",\"bytes\":1},{\"key\":\"a\",\"dtype\":\"F32\",\"bytes\":1}]",
      "[{\"key\":\"\",\"dtype\":\"F32\",\"bytes\":1}]",
      "[{\"key\":\"a\",\"dtype\":\"\",\"bytes\":1}]",
      "[{\"key\":\"a\",\"dtype\":\"F32\",\"bytes\":-1}]",
      "[{\"key\":\"a\",\"dtype\":\"F32\"}]",
      "[{\"key\":\"a\",\"dtype\":\"F32\",\"bytes\":1,\"more\":1}]",
      "[1]",
      "7",
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) expect_refusal("parameters", cases[i]);
}

static void program_interface_rejects_other_versions_by_name(void** state) {
  (void)state;
  json_t* value = sample_json();
  mlxcel_program_interface_t interface;
  json_object_set_new(value, "version", json_integer(MLXCEL_PROGRAM_INTERFACE_VERSION + 1));
  TEST_ASSERT_STATUS(mlxcel_program_interface_from_json(value, &interface), IREE_STATUS_FAILED_PRECONDITION, "interface.version", "newer");
  json_object_set_new(value, "version", json_integer(MLXCEL_PROGRAM_INTERFACE_VERSION - 1));
  TEST_ASSERT_STATUS(mlxcel_program_interface_from_json(value, &interface), IREE_STATUS_FAILED_PRECONDITION, "interface.version", "older");
  json_decref(value);
}

static void program_interface_refuses_to_write_what_cannot_be_read(void** state) {
  (void)state;
  test_request_t sample;
  test_request_initialize("", &sample);
  json_t* value = NULL;
  TEST_ASSERT_OK(mlxcel_program_interface_add_parameter(&sample.interface, IREE_SV("bad\xff"), "F32", 1));
  TEST_ASSERT_STATUS(mlxcel_program_interface_to_json(&sample.interface, &value), IREE_STATUS_INVALID_ARGUMENT, "UTF-8");
  assert_null(value);
  test_request_deinitialize(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(program_interface_caches_have_one_of_three_dtypes), cmocka_unit_test(program_interface_of_an_operation_has_no_model),
      cmocka_unit_test(program_interface_survives_a_round_trip),           cmocka_unit_test(program_interface_keeps_parameters_sorted_and_unique),
      cmocka_unit_test(program_interface_names_an_unknown_field),          cmocka_unit_test(program_interface_names_every_missing_or_mistyped_field),
      cmocka_unit_test(program_interface_refuses_values_out_of_range),     cmocka_unit_test(program_interface_refuses_bad_parameters),
      cmocka_unit_test(program_interface_rejects_other_versions_by_name),  cmocka_unit_test(program_interface_refuses_to_write_what_cannot_be_read),
  };
  return cmocka_run_group_tests_name("program_interface", tests, NULL, NULL);
}
