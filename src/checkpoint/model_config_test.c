#include "checkpoint/model_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "checkpoint/checkpoint_test_util.h"

static const char base_text[] =
    "{\"model_type\":\"llama\",\"hidden_size\":64,\"intermediate_size\":128,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"vocab_size\":100,\"max_position_embeddings\":512,\"rms_norm_eps\":1e-5}";

static iree_status_t parse_text(const char* text, mlxcel_model_config_t* out_config) {
  return mlxcel_model_config_parse(iree_make_cstring_view(text), iree_string_view_empty(), out_config);
}

// Parses the small configuration above without key |removed| (may be NULL) and with the keys of the object |edit|.
static iree_status_t parse_edited(const char* removed, const char* edit, mlxcel_model_config_t* out_config) {
  json_t* base = json_loads(base_text, 0, NULL);
  json_t* changes = json_loads(edit, 0, NULL);
  assert_non_null(base);
  assert_non_null(changes);
  if (removed) assert_int_equal(json_object_del(base, removed), 0);
  assert_int_equal(json_object_update(base, changes), 0);
  char* text = json_dumps(base, 0);
  assert_non_null(text);
  iree_status_t status = parse_text(text, out_config);
  free(text);
  json_decref(changes);
  json_decref(base);
  return status;
}

static void parse_fixture(const char* name, mlxcel_model_config_t* out_config) {
  char path[512];
  snprintf(path, sizeof(path), "%s/config/%s.json", MLXCEL_TEST_DATA_DIR, name);
  char* text = NULL;
  size_t size = 0;
  expect_ok(mlxcel_file_read(path, MLXCEL_CONFIG_FILE_BYTES_MAX, &text, &size));
  expect_ok(mlxcel_model_config_parse(iree_make_string_view(text, size), iree_string_view_empty(), out_config));
  free(text);
}

static void expect_refused(const char* edit, const char* key_and_value) {
  mlxcel_model_config_t config;
  expect_error(parse_edited(NULL, edit, &config), IREE_STATUS_UNIMPLEMENTED, "config.json: ", key_and_value, NULL);
}

static void expect_invalid(const char* edit, const char* part) {
  mlxcel_model_config_t config;
  expect_error(parse_edited(NULL, edit, &config), IREE_STATUS_INVALID_ARGUMENT, "config.json: ", part, NULL);
}

static void expect_accepted(const char* edit) {
  mlxcel_model_config_t config;
  expect_ok(parse_edited(NULL, edit, &config));
  mlxcel_model_config_deinitialize(&config);
}

//===- whole files --------------------------------------------------------------------------------------------------------------------------===//

static void config_reads_smollm2(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  parse_fixture("smollm2", &config);
  assert_string_equal(config.model_type, "llama");
  assert_int_equal(config.layer_count, 30);
  assert_int_equal(config.hidden_size, 576);
  assert_int_equal(config.intermediate_size, 1536);
  assert_int_equal(config.vocab_size, 49152);
  assert_int_equal(config.head_count, 9);
  assert_int_equal(config.kv_head_count, 3);
  assert_int_equal(config.head_dim, 64);
  assert_int_equal(config.max_position_embeddings, 8192);
  assert_int_equal(config.sliding_window, 0);
  assert_true(config.rms_norm_eps == 1e-5f);
  assert_true(config.tie_word_embeddings);
  assert_false(config.attention_bias);
  assert_false(config.mlp_bias);
  assert_int_equal(config.rope.kind, MLXCEL_ROPE_DEFAULT);
  assert_true(config.rope.theta == 100000.0);
  assert_int_equal(config.bos_id, 1);
  assert_int_equal(config.eos_ids.count, 1);
  assert_int_equal(config.eos_ids.ids[0], 2);
  assert_false(config.quantization.present);
  assert_false(config.generation.do_sample);
  mlxcel_model_config_deinitialize(&config);
}

static void expect_llama3_rope(const mlxcel_rope_config_t* rope, double factor) {
  assert_int_equal(rope->kind, MLXCEL_ROPE_LLAMA3);
  assert_true(rope->theta == 500000.0);
  assert_true(rope->factor == factor);
  assert_true(rope->low_freq_factor == 1.0);
  assert_true(rope->high_freq_factor == 4.0);
  assert_true(rope->original_max_position_embeddings == 8192.0);
}

static void config_reads_llama3_scaling_and_eos_list(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  parse_fixture("llama3_scaled", &config);
  expect_llama3_rope(&config.rope, 8.0);
  assert_int_equal(config.eos_ids.count, 3);
  assert_int_equal(config.eos_ids.ids[0], 128001);
  assert_int_equal(config.eos_ids.ids[2], 128009);
  assert_false(config.tie_word_embeddings);
  mlxcel_model_config_deinitialize(&config);
}

static void config_reads_transformers5_rope_parameters(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  parse_fixture("transformers5", &config);
  expect_llama3_rope(&config.rope, 32.0);
  assert_int_equal(config.head_dim, 64);
  mlxcel_model_config_deinitialize(&config);
}

static void config_reads_the_first_llama_without_kv_heads_and_theta(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  parse_fixture("llama_first", &config);
  assert_int_equal(config.kv_head_count, 32);
  assert_int_equal(config.head_dim, 128);
  assert_true(config.rope.theta == 10000.0);
  assert_int_equal(config.max_position_embeddings, 2048);
  assert_false(config.tie_word_embeddings);
  assert_int_equal(config.bos_id, 0);
  mlxcel_model_config_deinitialize(&config);
}

static void config_reads_mistral_with_explicit_head_dim(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  parse_fixture("mistral_wide_heads", &config);
  assert_string_equal(config.model_type, "mistral");
  assert_int_equal(config.head_dim, 128);
  assert_int_equal(config.hidden_size, 5120);
  assert_int_equal(config.sliding_window, 0);
  mlxcel_model_config_deinitialize(&config);
}

static void config_refuses_a_sliding_window_that_matters(void** state) {
  (void)state;
  char path[512];
  snprintf(path, sizeof(path), "%s/config/mistral_window.json", MLXCEL_TEST_DATA_DIR);
  char* folder = test_folder_create();
  char* text = NULL;
  size_t size = 0;
  expect_ok(mlxcel_file_read(path, MLXCEL_CONFIG_FILE_BYTES_MAX, &text, &size));
  test_file_write(folder, "config.json", text, size);
  free(text);
  mlxcel_model_config_t config;
  expect_error(mlxcel_model_config_read(folder, &config), IREE_STATUS_UNIMPLEMENTED, folder, "sliding_window is 4096", NULL);
  test_folder_remove(folder);
}

static void config_applies_the_window_default_of_mistral(void** state) {
  (void)state;
  expect_refused("{\"model_type\":\"mistral\",\"max_position_embeddings\":4097}", "sliding_window is 4096 (the default where the key is absent)");
  expect_accepted("{\"model_type\":\"mistral\",\"max_position_embeddings\":4096}");
  expect_accepted("{\"model_type\":\"mistral\",\"max_position_embeddings\":4097,\"sliding_window\":null}");
  expect_accepted("{\"model_type\":\"mistral\",\"max_position_embeddings\":4097,\"sliding_window\":4097}");
  expect_accepted("{\"max_position_embeddings\":4097}");
  expect_refused("{\"sliding_window\":511}", "sliding_window is 511");
  expect_accepted("{\"sliding_window\":512}");
  expect_invalid("{\"sliding_window\":0}", "sliding_window is 0; expected an integer from 1");
}

//===- heads, switches, numbers -------------------------------------------------------------------------------------------------------------===//

static void config_prefers_head_dim_and_derives_it_when_null_or_absent(void** state) {
  (void)state;
  static const struct {
    const char* edit;
    uint32_t head_dim;
  } cases[] = {{"{}", 16}, {"{\"head_dim\":null}", 16}, {"{\"head_dim\":32}", 32}, {"{\"head_dim\":24,\"hidden_size\":66}", 24}};
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_model_config_t config;
    expect_ok(parse_edited(NULL, cases[i].edit, &config));
    assert_int_equal(config.head_dim, cases[i].head_dim);
    mlxcel_model_config_deinitialize(&config);
  }
  expect_invalid("{\"hidden_size\":66}", "head_dim is missing and hidden_size (66) isn't a multiple of num_attention_heads (4)");
  expect_invalid("{\"head_dim\":15}", "head_dim is 15; an even number");
  expect_invalid("{\"hidden_size\":60}", "head_dim is 15; an even number");
  expect_invalid("{\"hidden_size\":4096,\"num_attention_heads\":4}", "head_dim is 1024");
}

static void config_takes_kv_heads_from_heads_when_missing(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  expect_ok(parse_edited("num_key_value_heads", "{}", &config));
  assert_int_equal(config.kv_head_count, 4);
  mlxcel_model_config_deinitialize(&config);
  expect_ok(parse_edited(NULL, "{\"num_key_value_heads\":null}", &config));
  assert_int_equal(config.kv_head_count, 4);
  mlxcel_model_config_deinitialize(&config);
  expect_invalid("{\"num_key_value_heads\":3}", "num_attention_heads (4) isn't a multiple of num_key_value_heads (3)");
  expect_invalid("{\"num_key_value_heads\":8}", "num_attention_heads (4) isn't a multiple of num_key_value_heads (8)");
}

static void config_reads_bos_and_eos_below_the_vocabulary(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  expect_ok(parse_edited(NULL, "{}", &config));
  assert_int_equal(config.bos_id, -1);
  assert_int_equal(config.eos_ids.count, 0);
  mlxcel_model_config_deinitialize(&config);
  expect_ok(parse_edited(NULL, "{\"bos_token_id\":99,\"eos_token_id\":[99,0]}", &config));
  assert_int_equal(config.bos_id, 99);
  assert_int_equal(config.eos_ids.count, 2);
  mlxcel_model_config_deinitialize(&config);
  expect_invalid("{\"bos_token_id\":100}", "bos_token_id is 100; expected an integer from 0 to 99");
  expect_invalid("{\"bos_token_id\":-1}", "bos_token_id is -1");
  expect_invalid("{\"bos_token_id\":[1]}", "bos_token_id is [1]");
  expect_invalid("{\"eos_token_id\":100}", "eos_token_id is 100; expected an id or a list of ids from 0 to 99");
}

static void config_names_required_keys_that_are_missing(void** state) {
  (void)state;
  static const char* const keys[] = {"model_type", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(keys); ++i) {
    mlxcel_model_config_t config;
    char expected[64], edit[64];
    snprintf(expected, sizeof(expected), "config.json: %s is missing", keys[i]);
    snprintf(edit, sizeof(edit), "{\"%s\":null}", keys[i]);
    expect_error(parse_edited(keys[i], "{}", &config), IREE_STATUS_INVALID_ARGUMENT, expected, NULL);
    expect_error(parse_edited(NULL, edit, &config), IREE_STATUS_INVALID_ARGUMENT, expected, NULL);
  }
}

static void config_refuses_numbers_of_wrong_type_or_range(void** state) {
  (void)state;
  static const struct {
    const char* key;
    uint32_t max;
  } integers[] = {{"hidden_size", MLXCEL_HIDDEN_MAX},        {"intermediate_size", MLXCEL_INTERMEDIATE_MAX}, {"num_hidden_layers", MLXCEL_LAYERS_MAX},
                  {"num_attention_heads", MLXCEL_HEADS_MAX}, {"num_key_value_heads", MLXCEL_HEADS_MAX},      {"head_dim", MLXCEL_HEAD_DIM_MAX},
                  {"vocab_size", MLXCEL_VOCAB_MAX},          {"max_position_embeddings", MLXCEL_CONTEXT_MAX}};
  static const char* const wrong[] = {"0", "-1", "64.0", "\"64\"", "true", "[64]", "{}", "9223372036854775807", "4294967360"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(integers); ++i) {
    char edit[128], expected[128];
    snprintf(expected, sizeof(expected), "%s is ", integers[i].key);
    for (size_t j = 0; j < IREE_ARRAYSIZE(wrong); ++j) {
      snprintf(edit, sizeof(edit), "{\"%s\":%s}", integers[i].key, wrong[j]);
      expect_invalid(edit, expected);
    }
    snprintf(edit, sizeof(edit), "{\"%s\":%" PRIu32 "}", integers[i].key, integers[i].max + 1);
    snprintf(expected, sizeof(expected), "%s is %" PRIu32 "; expected an integer from 1 to %" PRIu32, integers[i].key, integers[i].max + 1, integers[i].max);
    expect_invalid(edit, expected);
  }
}

static void config_refuses_epsilons_that_are_not_small_positive_numbers(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  static const char* const wrong[] = {"0", "-1e-5", "1.5", "\"1e-5\"", "true", "1e-60"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(wrong); ++i) {
    char edit[64];
    snprintf(edit, sizeof(edit), "{\"rms_norm_eps\":%s}", wrong[i]);
    expect_invalid(edit, "rms_norm_eps is ");
  }
  expect_error(parse_text("{\"model_type\":\"llama\",\"rms_norm_eps\":NaN}", &config), IREE_STATUS_INVALID_ARGUMENT, "config.json: line 1", NULL);
  expect_error(parse_text("{\"model_type\":\"llama\",\"rms_norm_eps\":1e400}", &config), IREE_STATUS_INVALID_ARGUMENT, "config.json: line 1", NULL);
  expect_ok(parse_edited("rms_norm_eps", "{}", &config));
  assert_true(config.rms_norm_eps == 1e-6f);
  mlxcel_model_config_deinitialize(&config);
}

static void config_reads_switches_and_refuses_other_types(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  expect_ok(parse_edited(NULL, "{\"attention_bias\":true,\"mlp_bias\":true,\"tie_word_embeddings\":true}", &config));
  assert_true(config.attention_bias && config.mlp_bias && config.tie_word_embeddings);
  mlxcel_model_config_deinitialize(&config);
  expect_ok(parse_edited(NULL, "{\"attention_bias\":null}", &config));
  assert_false(config.attention_bias || config.mlp_bias || config.tie_word_embeddings);
  mlxcel_model_config_deinitialize(&config);
  expect_invalid("{\"tie_word_embeddings\":1}", "tie_word_embeddings is 1; expected true or false");
  expect_invalid("{\"attention_bias\":\"false\"}", "attention_bias is \"false\"; expected true or false");
  expect_invalid("{\"mlp_bias\":0}", "mlp_bias is 0; expected true or false");
  expect_refused("{\"model_type\":\"mistral\",\"attention_bias\":true}", "attention_bias is true");
  expect_refused("{\"model_type\":\"mistral\",\"mlp_bias\":true}", "mlp_bias is true");
}

//===- refusals -----------------------------------------------------------------------------------------------------------------------------===//

static void config_refuses_other_model_types_by_name(void** state) {
  (void)state;
  expect_refused("{\"model_type\":\"qwen2\"}", "model_type is \"qwen2\", which isn't supported; supported are llama and mistral");
  expect_refused("{\"model_type\":\"\"}", "model_type is \"\"");
  expect_refused("{\"model_type\":\"llama4_text\"}", "model_type is \"llama4_text\"");
  expect_invalid("{\"model_type\":[\"llama\"]}", "model_type is [\"llama\"]; expected a string");
}

static void config_refuses_what_changes_the_mathematics(void** state) {
  (void)state;
  static const struct {
    const char* edit;
    const char* part;
  } cases[] = {
      {"{\"hidden_act\":\"gelu\"}", "hidden_act is \"gelu\""},
      {"{\"pretraining_tp\":2}", "pretraining_tp is 2"},
      {"{\"rope_interleaved\":true}", "rope_interleaved is true"},
      {"{\"rope_traditional\":true}", "rope_traditional is true"},
      {"{\"partial_rotary_factor\":0.5}", "partial_rotary_factor is 0.5"},
      {"{\"architectures\":[\"LlamaForSequenceClassification\"]}", "architectures is [\"LlamaForSequenceClassification\"]"},
      {"{\"architectures\":\"LlamaForCausalLM\"}", "architectures is \"LlamaForCausalLM\""},
      {"{\"layer_types\":[\"full_attention\",\"sliding_attention\"]}", "layer_types is "},
      {"{\"logits_scaling\":8}", "logits_scaling is 8"},
      {"{\"embedding_multiplier\":12.0}", "embedding_multiplier is 12.0"},
      {"{\"residual_multiplier\":0.22}", "residual_multiplier is 0.22"},
      {"{\"attention_multiplier\":0.0078125}", "attention_multiplier is 0.0078125"},
      {"{\"final_logit_softcapping\":30.0}", "final_logit_softcapping is 30.0"},
      {"{\"num_local_experts\":8}", "num_local_experts is 8"},
      {"{\"add_cross_attention\":true}", "add_cross_attention is true"},
      {"{\"pruned_heads\":{\"0\":[1]}}", "pruned_heads is "},
      {"{\"auto_map\":{\"AutoModel\":\"modeling.Model\"}}", "auto_map is {\"AutoModel\":\"modeling.Model\"}"},
      {"{\"use_qk_norm\":true}", "use_qk_norm is true"},
      {"{\"some_new_key\":0}", "some_new_key is 0"},
      {"{\"some_new_key\":{\"a\":1}}", "some_new_key is {\"a\":1}"},
      {"{\"\\u001b[31m\":1}", "\\x1b[31m is 1"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) expect_refused(cases[i].edit, cases[i].part);
}

static void config_accepts_keys_without_effect(void** state) {
  (void)state;
  expect_accepted("{\"hidden_act\":\"silu\",\"pretraining_tp\":1,\"partial_rotary_factor\":1.0,\"layer_types\":[\"full_attention\",\"full_attention\"]}");
  expect_accepted("{\"torch_dtype\":\"float16\",\"dtype\":\"bfloat16\",\"use_cache\":true,\"initializer_range\":0.02,\"_name_or_path\":\"x\"}");
  expect_accepted("{\"unsloth_fixed\":true,\"unsloth_version\":\"2025.1\",\"attention_dropout\":0.1,\"id2label\":{\"0\":\"a\"},\"max_length\":20}");
  expect_accepted("{\"new_a\":null,\"new_b\":false,\"new_c\":\"\",\"new_d\":[],\"new_e\":{}}");
  expect_accepted("{\"architectures\":null}");
}

static void config_refuses_files_that_are_not_objects(void** state) {
  (void)state;
  mlxcel_model_config_t config;
  static const char* const texts[] = {"[]", "1", "\"llama\"", "null"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(texts); ++i) {
    expect_error(parse_text(texts[i], &config), IREE_STATUS_INVALID_ARGUMENT, "config.json: not a JSON object", NULL);
  }
  expect_error(parse_text("", &config), IREE_STATUS_INVALID_ARGUMENT, "config.json: line 1", NULL);
  expect_error(parse_text("{\"model_type\":\"llama\",\"model_type\":\"mistral\"}", &config), IREE_STATUS_INVALID_ARGUMENT, "duplicate", "model_type", NULL);
}

//===- folders ------------------------------------------------------------------------------------------------------------------------------===//

static void config_reads_both_files_of_a_folder(void** state) {
  (void)state;
  char* folder = test_folder_create();
  mlxcel_model_config_t config;
  expect_error(mlxcel_model_config_read(folder, &config), IREE_STATUS_NOT_FOUND, folder, "config.json", NULL);
  test_text_write(folder, "config.json", base_text);
  expect_ok(mlxcel_model_config_read(folder, &config));
  assert_int_equal(config.generation.eos_ids.count, 0);
  mlxcel_model_config_deinitialize(&config);
  test_text_write(folder, "generation_config.json", "{\"eos_token_id\":7,\"do_sample\":true}");
  expect_ok(mlxcel_model_config_read(folder, &config));
  assert_true(config.generation.do_sample);
  assert_int_equal(config.generation.eos_ids.ids[0], 7);
  mlxcel_model_config_deinitialize(&config);
  test_text_write(folder, "generation_config.json", "");
  expect_error(mlxcel_model_config_read(folder, &config), IREE_STATUS_INVALID_ARGUMENT, "generation_config.json: line 1", NULL);
  test_text_write(folder, "config.json", "{");
  expect_error(mlxcel_model_config_read(folder, &config), IREE_STATUS_INVALID_ARGUMENT, folder, "/config.json: line 1", NULL);
  test_folder_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(config_reads_smollm2),
      cmocka_unit_test(config_reads_llama3_scaling_and_eos_list),
      cmocka_unit_test(config_reads_transformers5_rope_parameters),
      cmocka_unit_test(config_reads_the_first_llama_without_kv_heads_and_theta),
      cmocka_unit_test(config_reads_mistral_with_explicit_head_dim),
      cmocka_unit_test(config_refuses_a_sliding_window_that_matters),
      cmocka_unit_test(config_applies_the_window_default_of_mistral),
      cmocka_unit_test(config_prefers_head_dim_and_derives_it_when_null_or_absent),
      cmocka_unit_test(config_takes_kv_heads_from_heads_when_missing),
      cmocka_unit_test(config_reads_bos_and_eos_below_the_vocabulary),
      cmocka_unit_test(config_names_required_keys_that_are_missing),
      cmocka_unit_test(config_refuses_numbers_of_wrong_type_or_range),
      cmocka_unit_test(config_refuses_epsilons_that_are_not_small_positive_numbers),
      cmocka_unit_test(config_reads_switches_and_refuses_other_types),
      cmocka_unit_test(config_refuses_other_model_types_by_name),
      cmocka_unit_test(config_refuses_what_changes_the_mathematics),
      cmocka_unit_test(config_accepts_keys_without_effect),
      cmocka_unit_test(config_refuses_files_that_are_not_objects),
      cmocka_unit_test(config_reads_both_files_of_a_folder),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
