#include "checkpoint/generation_config.h"

#include <stdio.h>
#include <string.h>

#include "checkpoint/checkpoint_test_util.h"

#define VOCABULARY 128256u

static iree_status_t parse(const char* text, mlxcel_generation_config_t* out_generation) {
  json_t* object = json_loads(text, 0, NULL);
  assert_non_null(object);
  const mlxcel_config_fields_t fields = {.object = object, .origin = "generation_config.json", .scope = ""};
  iree_status_t status = mlxcel_generation_config_parse(&fields, VOCABULARY, out_generation);
  json_decref(object);
  return status;
}

static void generation_tells_absent_from_given(void** state) {
  (void)state;
  mlxcel_generation_config_t generation;
  expect_ok(parse("{\"_from_model_config\":true,\"transformers_version\":\"4.42.3\",\"bos_token_id\":1,\"pad_token_id\":2,\"temperature\":null}", &generation));
  assert_false(generation.do_sample || generation.has_temperature || generation.has_top_k || generation.has_top_p || generation.has_min_p ||
               generation.has_repetition_penalty);
  assert_int_equal(generation.eos_ids.count, 0);
  expect_ok(
      parse("{\"do_sample\":true,\"temperature\":0.6,\"top_p\":0.9,\"top_k\":50,\"min_p\":0.05,\"repetition_penalty\":1.1,\"max_length\":4096}", &generation));
  assert_true(generation.do_sample && generation.has_temperature && generation.has_top_k && generation.has_top_p && generation.has_min_p &&
              generation.has_repetition_penalty);
  assert_true(generation.temperature == 0.6 && generation.top_p == 0.9 && generation.min_p == 0.05 && generation.repetition_penalty == 1.1);
  assert_int_equal(generation.top_k, 50);
  expect_ok(parse("{\"do_sample\":null,\"temperature\":1,\"top_k\":0}", &generation));
  assert_false(generation.do_sample);
  assert_true(generation.has_temperature && generation.temperature == 1.0 && generation.has_top_k && generation.top_k == 0);
}

static void generation_reads_eos_as_integer_list_or_nothing(void** state) {
  (void)state;
  mlxcel_generation_config_t generation;
  expect_ok(parse("{\"eos_token_id\":128009}", &generation));
  assert_int_equal(generation.eos_ids.count, 1);
  assert_int_equal(generation.eos_ids.ids[0], 128009);
  expect_ok(parse("{\"eos_token_id\":[128009,128001,128009]}", &generation));
  assert_int_equal(generation.eos_ids.count, 2);
  assert_int_equal(generation.eos_ids.ids[0], 128001);
  assert_int_equal(generation.eos_ids.ids[1], 128009);
  expect_ok(parse("{\"eos_token_id\":[]}", &generation));
  assert_int_equal(generation.eos_ids.count, 0);
  static const char* const wrong[] = {"-1", "128256", "2.0", "\"2\"", "[2,null]", "[[2]]", "{\"a\":2}", "true", "[9223372036854775807]"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(wrong); ++i) {
    char text[96];
    snprintf(text, sizeof(text), "{\"eos_token_id\":%s}", wrong[i]);
    expect_error(parse(text, &generation), IREE_STATUS_INVALID_ARGUMENT, "generation_config.json: eos_token_id is ", wrong[i], "from 0 to 128255", NULL);
  }
}

static void generation_bounds_the_number_of_eos_ids(void** state) {
  (void)state;
  for (uint32_t count = MLXCEL_EOS_IDS_MAX; count <= MLXCEL_EOS_IDS_MAX + 1; ++count) {
    char text[1024];
    size_t size = (size_t)snprintf(text, sizeof(text), "{\"eos_token_id\":[0");
    for (uint32_t i = 1; i < count; ++i) size += (size_t)snprintf(text + size, sizeof(text) - size, ",%" PRIu32, i);
    snprintf(text + size, sizeof(text) - size, "]}");
    mlxcel_generation_config_t generation;
    iree_status_t status = parse(text, &generation);
    if (count == MLXCEL_EOS_IDS_MAX) {
      expect_ok(status);
      assert_int_equal(generation.eos_ids.count, count);
    } else {
      expect_error(status, IREE_STATUS_RESOURCE_EXHAUSTED, "more than 64 end-of-text ids", "generation_config.json: eos_token_id", NULL);
    }
  }
}

static void token_set_unites_configuration_and_generation(void** state) {
  (void)state;
  mlxcel_token_set_t config = {.count = 0}, generation = {.count = 0};
  expect_ok(mlxcel_token_set_insert(&config, 128001));
  expect_ok(mlxcel_token_set_insert(&generation, 128009));
  expect_ok(mlxcel_token_set_insert(&generation, 128001));
  expect_ok(mlxcel_token_set_unite(&config, &generation));
  assert_int_equal(config.count, 2);
  assert_true(mlxcel_token_set_contains(&config, 128001));
  assert_true(mlxcel_token_set_contains(&config, 128009));
  assert_false(mlxcel_token_set_contains(&config, 0));
  assert_false(mlxcel_token_set_contains(&config, 128002));
  assert_false(mlxcel_token_set_contains(&config, 200000));
  mlxcel_token_set_t full = {.count = 0};
  for (uint32_t i = 0; i < MLXCEL_EOS_IDS_MAX; ++i) expect_ok(mlxcel_token_set_insert(&full, 2 * i));
  expect_ok(mlxcel_token_set_insert(&full, 4));
  expect_error(mlxcel_token_set_unite(&full, &config), IREE_STATUS_RESOURCE_EXHAUSTED, "more than 64", NULL);
}

static void generation_refuses_sampling_that_is_not_implemented(void** state) {
  (void)state;
  static const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"{\"num_beams\":4}", "num_beams is 4"},
      {"{\"typical_p\":0.9}", "typical_p is 0.9"},
      {"{\"epsilon_cutoff\":0.1}", "epsilon_cutoff is 0.1"},
      {"{\"no_repeat_ngram_size\":3}", "no_repeat_ngram_size is 3"},
      {"{\"bad_words_ids\":[[1]]}", "bad_words_ids is [[1]]"},
      {"{\"suppress_tokens\":[1]}", "suppress_tokens is [1]"},
      {"{\"guidance_scale\":1.5}", "guidance_scale is 1.5"},
      {"{\"forced_eos_token_id\":2}", "forced_eos_token_id is 2"},
      {"{\"stop_strings\":[\"x\"]}", "stop_strings is [\"x\"]"},
      {"{\"min_new_tokens\":5}", "min_new_tokens is 5"},
      {"{\"renormalize_logits\":true}", "renormalize_logits is true"},
      {"{\"a_new_sampler\":0.5}", "a_new_sampler is 0.5"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_generation_config_t generation;
    expect_error(parse(cases[i].text, &generation), IREE_STATUS_UNIMPLEMENTED, "generation_config.json: ", cases[i].part, NULL);
  }
  mlxcel_generation_config_t generation;
  expect_ok(
      parse("{\"num_beams\":1,\"typical_p\":1.0,\"epsilon_cutoff\":0.0,\"no_repeat_ngram_size\":0,\"bad_words_ids\":null,\"suppress_tokens\":[],"
            "\"guidance_scale\":1,\"min_length\":0,\"renormalize_logits\":false,\"early_stopping\":false,\"length_penalty\":1.0}",
            &generation));
}

static void generation_refuses_impossible_values(void** state) {
  (void)state;
  static const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"{\"do_sample\":1}", "do_sample is 1; expected true or false"},
      {"{\"temperature\":-0.1}", "temperature is -0.1"},
      {"{\"temperature\":\"1\"}", "temperature is \"1\""},
      {"{\"temperature\":1001}", "temperature is 1001"},
      {"{\"top_p\":1.01}", "top_p is 1.01"},
      {"{\"top_p\":-0.5}", "top_p is -0.5"},
      {"{\"min_p\":2}", "min_p is 2"},
      {"{\"top_k\":-1}", "top_k is -1"},
      {"{\"top_k\":50.0}", "top_k is 50.0"},
      {"{\"top_k\":2147483648}", "top_k is 2147483648"},
      {"{\"repetition_penalty\":0}", "repetition_penalty is 0"},
      {"{\"repetition_penalty\":false}", "repetition_penalty is false"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_generation_config_t generation;
    expect_error(parse(cases[i].text, &generation), IREE_STATUS_INVALID_ARGUMENT, "generation_config.json: ", cases[i].part, NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generation_tells_absent_from_given),
      cmocka_unit_test(generation_reads_eos_as_integer_list_or_nothing),
      cmocka_unit_test(generation_bounds_the_number_of_eos_ids),
      cmocka_unit_test(token_set_unites_configuration_and_generation),
      cmocka_unit_test(generation_refuses_sampling_that_is_not_implemented),
      cmocka_unit_test(generation_refuses_impossible_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
