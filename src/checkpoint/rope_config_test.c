#include "checkpoint/rope_config.h"

#include "checkpoint/checkpoint_test_util.h"

static iree_status_t parse(const char* text, mlxcel_rope_config_t* out_rope) {
  json_t* object = json_loads(text, 0, NULL);
  assert_non_null(object);
  const mlxcel_config_fields_t fields = {.object = object, .origin = "config.json", .scope = ""};
  iree_status_t status = mlxcel_rope_config_parse(&fields, out_rope);
  json_decref(object);
  return status;
}

#define LLAMA3(type_key) "{\"" type_key "\":\"llama3\",\"factor\":8,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,\"original_max_position_embeddings\":8192}"

static void rope_reads_each_form(void** state) {
  (void)state;
  static const struct {
    const char* text;
    mlxcel_rope_kind_t kind;
    double theta, factor;
  } cases[] = {
      {"{}", MLXCEL_ROPE_DEFAULT, 10000, 0},
      {"{\"rope_theta\":null,\"rope_scaling\":null,\"rope_parameters\":null}", MLXCEL_ROPE_DEFAULT, 10000, 0},
      {"{\"rope_theta\":500000}", MLXCEL_ROPE_DEFAULT, 500000, 0},
      {"{\"rope_theta\":1e6,\"rope_scaling\":{}}", MLXCEL_ROPE_DEFAULT, 1e6, 0},
      {"{\"rope_scaling\":" LLAMA3("rope_type") "}", MLXCEL_ROPE_LLAMA3, 10000, 8},
      {"{\"rope_scaling\":" LLAMA3("type") "}", MLXCEL_ROPE_LLAMA3, 10000, 8},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.5}}", MLXCEL_ROPE_LINEAR, 10000, 2.5},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"rope_type\":\"linear\",\"factor\":4}}", MLXCEL_ROPE_LINEAR, 10000, 4},
      {"{\"rope_scaling\":{\"rope_type\":\"default\"}}", MLXCEL_ROPE_DEFAULT, 10000, 0},
      {"{\"rope_parameters\":{\"rope_type\":\"default\"}}", MLXCEL_ROPE_DEFAULT, 10000, 0},
      {"{\"rope_parameters\":{\"rope_theta\":250000.0}}", MLXCEL_ROPE_DEFAULT, 250000, 0},
      {"{\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":2.0,\"rope_theta\":3e4,\"partial_rotary_factor\":1.0}}", MLXCEL_ROPE_LINEAR, 3e4, 2},
      {"{\"rope_theta\":3e4,\"rope_parameters\":{\"rope_type\":\"default\"}}", MLXCEL_ROPE_DEFAULT, 3e4, 0},
      {"{\"rope_theta\":3e4,\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":30000}}", MLXCEL_ROPE_DEFAULT, 3e4, 0},
      {"{\"rope_scaling\":" LLAMA3("type") ",\"rope_parameters\":" LLAMA3("rope_type") "}", MLXCEL_ROPE_LLAMA3, 10000, 8},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_rope_config_t rope;
    expect_ok(parse(cases[i].text, &rope));
    assert_int_equal(rope.kind, cases[i].kind);
    assert_true(rope.theta == cases[i].theta);
    assert_true(rope.factor == cases[i].factor);
    assert_true(rope.original_max_position_embeddings == (rope.kind == MLXCEL_ROPE_LLAMA3 ? 8192.0 : 0.0));
  }
}

static void rope_names_unknown_types_and_settings(void** state) {
  (void)state;
  static const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"{\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4}}", "rope_scaling.rope_type is \"yarn\", which isn't supported; supported are default, linear"},
      {"{\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":4}}", "rope_scaling.type is \"dynamic\""},
      {"{\"rope_parameters\":{\"rope_type\":\"longrope\"}}", "rope_parameters.rope_type is \"longrope\""},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2,\"beta_fast\":32}}", "rope_scaling.beta_fast is 32"},
      {"{\"rope_scaling\":{\"type\":\"default\",\"factor\":2}}", "rope_scaling.factor is 2"},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2,\"low_freq_factor\":1}}", "rope_scaling.low_freq_factor is 1"},
      {"{\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1e6}}}", "rope_parameters.full_attention is "},
      {"{\"rope_parameters\":{\"partial_rotary_factor\":0.5}}", "rope_parameters.partial_rotary_factor is 0.5"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_rope_config_t rope;
    expect_error(parse(cases[i].text, &rope), IREE_STATUS_UNIMPLEMENTED, "config.json: ", cases[i].part, NULL);
  }
}

static void rope_names_missing_contradictory_and_impossible_values(void** state) {
  (void)state;
  static const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"{\"rope_theta\":0}", "rope_theta is 0; expected a number from 1"},
      {"{\"rope_theta\":-10000.0}", "rope_theta is -10000.0"},
      {"{\"rope_theta\":\"1e4\"}", "rope_theta is \"1e4\""},
      {"{\"rope_theta\":1e16}", "rope_theta is 1"},
      {"{\"rope_scaling\":[]}", "rope_scaling is []; expected an object or null"},
      {"{\"rope_scaling\":\"linear\"}", "rope_scaling is \"linear\""},
      {"{\"rope_parameters\":1}", "rope_parameters is 1; expected an object or null"},
      {"{\"rope_scaling\":{\"factor\":2}}", "rope_scaling.rope_type is missing"},
      {"{\"rope_scaling\":{\"type\":1}}", "rope_scaling.type is 1; expected a string"},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"rope_type\":\"llama3\",\"factor\":2}}", "rope_scaling.type is \"linear\"; expected the same as rope_type"},
      {"{\"rope_scaling\":{\"type\":\"linear\"}}", "rope_scaling.factor is missing"},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"factor\":0.5}}", "rope_scaling.factor is 0.5"},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"factor\":-2}}", "rope_scaling.factor is -2"},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"factor\":true}}", "rope_scaling.factor is true"},
      {"{\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4}}",
       "rope_scaling.original_max_position_embeddings is missing"},
      {"{\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"high_freq_factor\":4,\"original_max_position_embeddings\":8192}}",
       "rope_scaling.low_freq_factor is missing"},
      {"{\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":4,\"high_freq_factor\":4,\"original_max_position_embeddings\":8192}}",
       "rope_scaling.high_freq_factor is 4; expected a number above low_freq_factor"},
      {"{\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":0,\"high_freq_factor\":4,\"original_max_position_embeddings\":8192}}",
       "rope_scaling.low_freq_factor is 0"},
      {"{\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,\"original_max_position_embeddings\":0}}",
       "rope_scaling.original_max_position_embeddings is 0"},
      {"{\"rope_theta\":10000,\"rope_parameters\":{\"rope_theta\":20000}}", "rope_parameters is {\"rope_theta\":20000}; expected what rope_theta"},
      {"{\"rope_scaling\":{\"type\":\"linear\",\"factor\":2},\"rope_parameters\":{\"rope_type\":\"linear\",\"factor\":4}}", "rope_parameters is "},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_rope_config_t rope;
    expect_error(parse(cases[i].text, &rope), IREE_STATUS_INVALID_ARGUMENT, "config.json: ", cases[i].part, NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rope_reads_each_form),
      cmocka_unit_test(rope_names_unknown_types_and_settings),
      cmocka_unit_test(rope_names_missing_contradictory_and_impossible_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
