#include "engine/generation_defaults.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static mlxcel_model_config_t make_config(void) { return (mlxcel_model_config_t){.vocab_size = 128256, .max_position_embeddings = 8192, .bos_id = -1}; }

static mlxcel_token_set_t make_set(uint32_t count, uint32_t a, uint32_t b) { return (mlxcel_token_set_t){.count = count, .ids = {a, b}}; }

// The status has |code| and its text contains |words|.
static void check_error(iree_status_t status, iree_status_code_t code, const char* words) {
  char text[1024];
  iree_host_size_t length = 0;
  assert_int_equal(iree_status_code(status), code);
  assert_true(iree_status_format(status, sizeof(text), text, &length));
  assert_non_null(strstr(text, words));
  iree_status_ignore(status);
}

static void check_eos(const mlxcel_model_config_t* config, const int32_t* tokenizer_ids, size_t tokenizer_count, const int32_t* expected, size_t count) {
  mlxcel_eos_set_t set;
  assert_true(iree_status_is_ok(mlxcel_generation_eos_collect(config, tokenizer_ids, tokenizer_count, &set)));
  assert_int_equal(set.count, count);
  for (size_t i = 0; i < count; ++i) {
    assert_int_equal(set.ids[i], expected[i]);
    assert_true(mlxcel_eos_set_contains(&set, expected[i]));
  }
  assert_false(mlxcel_eos_set_contains(&set, 128255));
}

// shared/cases 8: config.json names 128001, generation_config.json names both.
static void generation_eos_is_the_union_of_config_and_generation_config(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  config.eos_ids = make_set(1, 128001, 0);
  config.generation.eos_ids = make_set(2, 128001, 128009);
  check_eos(&config, NULL, 0, (const int32_t[]){128001, 128009}, 2);
  config.generation.eos_ids = make_set(1, 128009, 0);
  check_eos(&config, NULL, 0, (const int32_t[]){128001, 128009}, 2);
  config.generation.eos_ids = make_set(0, 0, 0);
  check_eos(&config, NULL, 0, (const int32_t[]){128001}, 1);
}

static void generation_eos_includes_the_tokenizers(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  const int32_t tokenizer_ids[] = {128009, 2, 128001};
  check_eos(&config, tokenizer_ids, 3, (const int32_t[]){2, 128001, 128009}, 3);
  config.eos_ids = make_set(1, 0, 0);
  config.generation.eos_ids = make_set(1, 7, 0);
  check_eos(&config, tokenizer_ids, 3, (const int32_t[]){0, 2, 7, 128001, 128009}, 5);
  check_eos(&config, NULL, 0, (const int32_t[]){0, 7}, 2);
}

static void generation_eos_of_no_source_is_empty(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  check_eos(&config, NULL, 0, NULL, 0);
}

static void generation_eos_leaves_out_ids_beyond_the_vocabulary(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  const int32_t tokenizer_ids[] = {-1, 128256, 128254, INT32_MAX};
  check_eos(&config, tokenizer_ids, 4, (const int32_t[]){128254}, 1);
}

static void generation_eos_sources_may_all_be_full(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  int32_t tokenizer_ids[MLXCEL_EOS_IDS_MAX + 1], expected[MLXCEL_EOS_UNION_MAX];
  for (uint32_t i = 0; i < MLXCEL_EOS_IDS_MAX; ++i) {
    config.eos_ids.ids[i] = 3 * i;
    config.generation.eos_ids.ids[i] = 3 * i + 1;
    tokenizer_ids[i] = (int32_t)(3 * i + 2);
  }
  config.eos_ids.count = config.generation.eos_ids.count = MLXCEL_EOS_IDS_MAX;
  for (int32_t i = 0; i < (int32_t)MLXCEL_EOS_UNION_MAX; ++i) expected[i] = i;
  check_eos(&config, tokenizer_ids, MLXCEL_EOS_IDS_MAX, expected, MLXCEL_EOS_UNION_MAX);
  tokenizer_ids[MLXCEL_EOS_IDS_MAX] = 5;
  mlxcel_eos_set_t set;
  check_error(mlxcel_generation_eos_collect(&config, tokenizer_ids, MLXCEL_EOS_IDS_MAX + 1, &set), IREE_STATUS_RESOURCE_EXHAUSTED, "65 end-of-sequence tokens");
}

static mlxcel_sampling_t collect_sampling(const mlxcel_model_config_t* config) {
  mlxcel_sampling_t sampling;
  assert_true(iree_status_is_ok(mlxcel_generation_sampling_collect(config, &sampling)));
  return sampling;
}

static void generation_without_do_sample_is_greedy(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  config.generation = (mlxcel_generation_config_t){
      .has_temperature = true, .temperature = 0.6, .has_top_k = true, .top_k = 20, .has_top_p = true, .top_p = 0.9, .has_min_p = true, .min_p = 0.1};
  mlxcel_sampling_t sampling = collect_sampling(&config);
  assert_true(sampling.temperature == 0.0f && sampling.top_p == 1.0f && sampling.min_p == 0.0f && sampling.repetition_penalty == 1.0f);
  assert_int_equal(sampling.top_k, 0);
  assert_int_equal(sampling.size, sizeof(sampling));
}

static void generation_with_do_sample_takes_the_files_values(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  config.generation = (mlxcel_generation_config_t){.do_sample = true,
                                                   .has_temperature = true,
                                                   .temperature = 0.6,
                                                   .has_top_k = true,
                                                   .top_k = 20,
                                                   .has_top_p = true,
                                                   .top_p = 0.9,
                                                   .has_min_p = true,
                                                   .min_p = 0.1,
                                                   .has_repetition_penalty = true,
                                                   .repetition_penalty = 1.1};
  mlxcel_sampling_t sampling = collect_sampling(&config);
  assert_true(sampling.temperature == 0.6f && sampling.top_p == 0.9f && sampling.min_p == 0.1f && sampling.repetition_penalty == 1.1f);
  assert_int_equal(sampling.top_k, 20);
}

static void generation_with_do_sample_alone_has_transformers_defaults(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  config.generation.do_sample = true;
  mlxcel_sampling_t sampling = collect_sampling(&config);
  assert_true(sampling.temperature == 1.0f && sampling.top_p == 1.0f && sampling.min_p == 0.0f && sampling.repetition_penalty == 1.0f);
  assert_int_equal(sampling.top_k, 50);
}

static void generation_repetition_penalty_holds_for_greedy(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  config.generation.has_repetition_penalty = true;
  config.generation.repetition_penalty = 1.25;
  mlxcel_sampling_t sampling = collect_sampling(&config);
  assert_true(sampling.temperature == 0.0f && sampling.repetition_penalty == 1.25f);
}

static void generation_top_k_is_clamped_to_what_exists(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  config.generation.do_sample = config.generation.has_top_k = true;
  const int64_t wanted[] = {-1, 0, 1, 1ll << 40};
  const int32_t effective[] = {0, 0, 1, 128256};
  for (size_t i = 0; i < 4; ++i) {
    config.generation.top_k = wanted[i];
    assert_int_equal(collect_sampling(&config).top_k, effective[i]);
  }
}

static void generation_config_out_of_range_is_named(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  config.generation.do_sample = config.generation.has_top_p = true;
  config.generation.top_p = 1.5;
  mlxcel_sampling_t sampling;
  check_error(mlxcel_generation_sampling_collect(&config, &sampling), IREE_STATUS_INVALID_ARGUMENT, "generation_config.json");
  config.generation.top_p = NAN;
  check_error(mlxcel_generation_sampling_collect(&config, &sampling), IREE_STATUS_INVALID_ARGUMENT, "top_p");
}

static void generation_context_of_zero_is_the_models(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  const uint32_t wanted[] = {0, 1, 8191, 8192};
  const uint32_t effective[] = {8192, 1, 8191, 8192};
  for (size_t i = 0; i < 4; ++i) {
    uint32_t context = 0;
    assert_true(iree_status_is_ok(mlxcel_generation_context_resolve(wanted[i], &config, &context)));
    assert_int_equal(context, effective[i]);
  }
}

static void generation_context_above_the_models_says_both_numbers(void** state) {
  (void)state;
  mlxcel_model_config_t config = make_config();
  uint32_t context = 1;
  iree_status_t status = mlxcel_generation_context_resolve(8193, &config, &context);
  assert_int_equal(context, 0);
  check_error(status, IREE_STATUS_INVALID_ARGUMENT, "context of 8193 tokens is asked for, this model was made for at most 8192");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(generation_eos_is_the_union_of_config_and_generation_config),
      cmocka_unit_test(generation_eos_includes_the_tokenizers),
      cmocka_unit_test(generation_eos_of_no_source_is_empty),
      cmocka_unit_test(generation_eos_leaves_out_ids_beyond_the_vocabulary),
      cmocka_unit_test(generation_eos_sources_may_all_be_full),
      cmocka_unit_test(generation_without_do_sample_is_greedy),
      cmocka_unit_test(generation_with_do_sample_takes_the_files_values),
      cmocka_unit_test(generation_with_do_sample_alone_has_transformers_defaults),
      cmocka_unit_test(generation_repetition_penalty_holds_for_greedy),
      cmocka_unit_test(generation_top_k_is_clamped_to_what_exists),
      cmocka_unit_test(generation_config_out_of_range_is_named),
      cmocka_unit_test(generation_context_of_zero_is_the_models),
      cmocka_unit_test(generation_context_above_the_models_says_both_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
