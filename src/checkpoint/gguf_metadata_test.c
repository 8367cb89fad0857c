// Tensors and hyperparameters of a GGUF file: what is understood, and what is refused by name.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_gguf_scene.h"
#include "checkpoint/checkpoint_test_util.h"

static void gguf_import_refuses_tensors_that_do_not_fit(void** state) {
  (void)state;
  static const struct {
    const char *skip, *name;
    uint32_t type, rank;
    uint64_t shape[2];
    iree_status_code_t code;
    const char* part;
  } cases[] = {
      {"blk.0.attn_q.weight", NULL, 0, 0, {0}, IREE_STATUS_NOT_FOUND, "tensor blk.0.attn_q.weight is missing"},
      {"output_norm.weight", NULL, 0, 0, {0}, IREE_STATUS_NOT_FOUND, "tensor output_norm.weight is missing"},
      {"token_embd.weight", NULL, 0, 0, {0}, IREE_STATUS_INVALID_ARGUMENT, "tensor token_embd.weight is missing"},
      {NULL, "blk.1.attn_q.weight", 0, 2, {32, 32}, IREE_STATUS_UNIMPLEMENTED, "tensor blk.1.attn_q.weight has no place"},
      {NULL, "blk.0.ffn_gate_exps.weight", 0, 2, {32, 32}, IREE_STATUS_UNIMPLEMENTED, "tensor blk.0.ffn_gate_exps.weight has no place"},
      {NULL, "rope_factors_long.weight", 0, 1, {8}, IREE_STATUS_UNIMPLEMENTED, "tensor rope_factors_long.weight has no place"},
      {NULL, "blk.0.attn_k.bias", 0, 1, {16}, IREE_STATUS_UNIMPLEMENTED, "tensor blk.0.attn_k.bias has no place"},
      {"blk.0.attn_k.weight", "blk.0.attn_k.weight", 0, 2, {32, 16}, IREE_STATUS_INVALID_ARGUMENT, "tensor blk.0.attn_k.weight has rank 2 and shape [32, 16]"},
      {"blk.0.attn_norm.weight", "blk.0.attn_norm.weight", 0, 2, {32, 1}, IREE_STATUS_INVALID_ARGUMENT, "tensor blk.0.attn_norm.weight has rank 2"},
      {"blk.0.attn_norm.weight", "blk.0.attn_norm.weight", 8, 1, {32}, IREE_STATUS_UNIMPLEMENTED, "tensor blk.0.attn_norm.weight is a vector of type Q8_0"},
      {NULL, "rope_freqs.weight", 0, 1, {7}, IREE_STATUS_INVALID_ARGUMENT, "rope_freqs.weight isn't a vector of 8 F32"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F32, .skip = {cases[i].skip}});
    if (cases[i].name) gguf_add_tensor(&scene.builder, cases[i].name, cases[i].type, cases[i].rank, cases[i].shape, NULL, 4096);
    scene_expect_refused(&scene, cases[i].code, cases[i].part);
  }
}

static void gguf_import_asks_for_all_biases_or_none(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F32, .has_biases = true, .skip = {"blk.0.attn_output.bias"}});
  scene_expect_refused(&scene, IREE_STATUS_NOT_FOUND, "tensor blk.0.attn_output.bias is missing");
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F32, .has_biases = true});
  expect_ok(scene_import(&scene, false));
  mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
  assert_true(mlxcel_checkpoint_config(checkpoint)->attention_bias);
  assert_true(mlxcel_checkpoint_config(checkpoint)->mlp_bias);
  mlxcel_checkpoint_close(checkpoint);
  scene_end(&scene);
}

static void gguf_import_writes_the_hyperparameters(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q8_0, .is_tied = true});
  gguf_add_f32(&scene.builder, "llama.rope.freq_base", 500000.0f);
  gguf_add_string(&scene.builder, "llama.rope.scaling.type", "linear");
  gguf_add_f32(&scene.builder, "llama.rope.scaling.factor", 2.5f);
  gguf_add_u32(&scene.builder, "llama.vocab_size", GGUF_TINY_VOCAB);
  gguf_add_u32(&scene.builder, "llama.expert_count", 0);
  gguf_add_u32(&scene.builder, "llama.attention.sliding_window", 128);  // the whole context: no window
  gguf_add_f32(&scene.builder, "llama.rope.scaling.attn_factor", 1.0f);
  expect_ok(scene_import(&scene, false));
  mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
  const mlxcel_model_config_t* config = mlxcel_checkpoint_config(checkpoint);
  assert_string_equal(config->model_type, "llama");
  assert_int_equal(config->layer_count, 1);
  assert_int_equal(config->hidden_size, 32);
  assert_int_equal(config->intermediate_size, 64);
  assert_int_equal(config->vocab_size, GGUF_TINY_VOCAB);
  assert_int_equal(config->head_count, 2);
  assert_int_equal(config->kv_head_count, 1);
  assert_int_equal(config->head_dim, 16);
  assert_int_equal(config->max_position_embeddings, 128);
  assert_true(config->rms_norm_eps == 1e-5f);
  assert_true(config->tie_word_embeddings);
  assert_false(config->attention_bias || config->mlp_bias);
  assert_int_equal(config->rope.kind, MLXCEL_ROPE_LINEAR);
  assert_true(config->rope.theta == 500000.0 && config->rope.factor == 2.5);
  assert_int_equal(config->quantization.base.bits, 8);
  assert_int_equal(config->bos_id, 0);
  assert_int_equal(config->eos_ids.count, 1);
  assert_int_equal(config->eos_ids.ids[0], 1);
  mlxcel_checkpoint_close(checkpoint);
  scene_end(&scene);
}

typedef enum addition_e { ADD_NOTHING, ADD_U32, ADD_F32, ADD_BOOL, ADD_STRING } addition_t;

static void gguf_import_refuses_metadata_by_key_and_value(void** state) {
  (void)state;
  static const struct {
    const char *skip, *key;
    addition_t addition;
    uint32_t number;
    const char* text;
    iree_status_code_t code;
    const char* part;
  } cases[] = {
      {"general.architecture", NULL, ADD_NOTHING, 0, NULL, IREE_STATUS_INVALID_ARGUMENT, "has no general.architecture"},
      {"general.architecture", "general.architecture", ADD_STRING, 0, "qwen2", IREE_STATUS_UNIMPLEMENTED, "general.architecture = \"qwen2\""},
      {NULL, "general.type", ADD_STRING, 0, "adapter", IREE_STATUS_UNIMPLEMENTED, "general.type = \"adapter\""},
      {NULL, "split.count", ADD_U32, 2, NULL, IREE_STATUS_UNIMPLEMENTED, "split.count = 2"},
      {NULL, "general.quantization_version", ADD_U32, 1, NULL, IREE_STATUS_UNIMPLEMENTED, "general.quantization_version = 1"},
      {NULL, "llama.new_feature", ADD_F32, 2, NULL, IREE_STATUS_UNIMPLEMENTED, "llama.new_feature = 2 (f32)"},
      {NULL, "llama.expert_count", ADD_U32, 8, NULL, IREE_STATUS_UNIMPLEMENTED, "llama.expert_count = 8"},
      {NULL, "llama.attention.causal", ADD_BOOL, 0, NULL, IREE_STATUS_UNIMPLEMENTED, "llama.attention.causal = false"},
      {NULL, "llama.use_parallel_residual", ADD_BOOL, 1, NULL, IREE_STATUS_UNIMPLEMENTED, "llama.use_parallel_residual = true"},
      {NULL, "llama.attention.max_alibi_bias", ADD_F32, 8, NULL, IREE_STATUS_UNIMPLEMENTED, "llama.attention.max_alibi_bias = 8"},
      {NULL, "llama.attention.sliding_window", ADD_U32, 64, NULL, IREE_STATUS_UNIMPLEMENTED, "llama.attention.sliding_window = 64"},
      {NULL, "llama.rope.scaling.type", ADD_STRING, 0, "yarn", IREE_STATUS_UNIMPLEMENTED, "llama.rope.scaling.type = \"yarn\""},
      {NULL, "llama.rope.scaling.factor", ADD_F32, (uint32_t)-2, NULL, IREE_STATUS_INVALID_ARGUMENT, "llama.rope.scaling.factor"},
      {NULL, "llama.tensor_data_layout", ADD_STRING, 0, "other", IREE_STATUS_UNIMPLEMENTED, "llama.tensor_data_layout = \"other\""},
      {NULL, "llama.vocab_size", ADD_U32, 9, NULL, IREE_STATUS_INVALID_ARGUMENT, "llama.vocab_size = 9"},
      {NULL, "llama.attention.key_length", ADD_U32, 15, NULL, IREE_STATUS_INVALID_ARGUMENT, "heads of size 15"},
      {NULL, "llama.attention.value_length", ADD_U32, 8, NULL, IREE_STATUS_UNIMPLEMENTED, "llama.attention.value_length = 8 differs"},
      {"llama.rope.dimension_count", "llama.rope.dimension_count", ADD_U32, 8, NULL, IREE_STATUS_UNIMPLEMENTED, "llama.rope.dimension_count = 8 differs"},
      {"llama.block_count", NULL, ADD_NOTHING, 0, NULL, IREE_STATUS_INVALID_ARGUMENT, "llama.block_count is missing or 0"},
      {"llama.block_count", "llama.block_count", ADD_U32, 1u << 31, NULL, IREE_STATUS_INVALID_ARGUMENT, "llama.block_count = 2147483648"},
      {"llama.block_count", "llama.block_count", ADD_STRING, 0, "1", IREE_STATUS_INVALID_ARGUMENT, "llama.block_count = \"1\" (string)"},
      {"llama.attention.head_count", "llama.attention.head_count", ADD_U32, 3, NULL, IREE_STATUS_INVALID_ARGUMENT, "heads of size 10"},
      {"llama.attention.head_count_kv", "llama.attention.head_count_kv", ADD_U32, 0, NULL, IREE_STATUS_INVALID_ARGUMENT, "llama.attention.head_count_kv = 0"},
      {"llama.attention.layer_norm_rms_epsilon", NULL, ADD_NOTHING, 0, NULL, IREE_STATUS_INVALID_ARGUMENT, "layer_norm_rms_epsilon is missing"},
      {"tokenizer.ggml.model", NULL, ADD_NOTHING, 0, NULL, IREE_STATUS_INVALID_ARGUMENT, "has no tokenizer.ggml.model"},
      {"tokenizer.ggml.model", "tokenizer.ggml.model", ADD_STRING, 0, "llama", IREE_STATUS_UNIMPLEMENTED, "tokenizer.ggml.model = \"llama\""},
      {"tokenizer.ggml.model", "tokenizer.ggml.model", ADD_STRING, 0, "bert", IREE_STATUS_UNIMPLEMENTED, "tokenizer.ggml.model = \"bert\""},
      {"tokenizer.ggml.pre", NULL, ADD_NOTHING, 0, NULL, IREE_STATUS_INVALID_ARGUMENT, "has no tokenizer.ggml.pre"},
      {"tokenizer.ggml.pre", "tokenizer.ggml.pre", ADD_STRING, 0, "future", IREE_STATUS_UNIMPLEMENTED, "tokenizer.ggml.pre = \"future\""},
      {NULL, "tokenizer.ggml.add_space_prefix", ADD_BOOL, 1, NULL, IREE_STATUS_UNIMPLEMENTED, "tokenizer.ggml.add_space_prefix = true"},
      {NULL, "tokenizer.ggml.normalizer.lowercase", ADD_BOOL, 1, NULL, IREE_STATUS_UNIMPLEMENTED, "tokenizer.ggml.normalizer.lowercase = true"},
      {NULL, "tokenizer.ggml.padding_token_id", ADD_U32, GGUF_TINY_VOCAB, NULL, IREE_STATUS_INVALID_ARGUMENT, "tokenizer.ggml.padding_token_id = 8"},
      {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.add_bos_token", ADD_BOOL, 1, NULL, IREE_STATUS_INVALID_ARGUMENT,
       "tokenizer.ggml.bos_token_id is missing"},
      {NULL, "tokenizer.chat_template", ADD_STRING, 0, "\xff", IREE_STATUS_INVALID_ARGUMENT, "tokenizer.chat_template isn't valid UTF-8"},
      {NULL, "tokenizer.chat_template", ADD_U32, 0, NULL, IREE_STATUS_UNIMPLEMENTED, "tokenizer.chat_template = 0 (u32)"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_1, .skip = {cases[i].skip}});
    if (cases[i].addition == ADD_U32) gguf_add_u32(&scene.builder, cases[i].key, cases[i].number);
    if (cases[i].addition == ADD_F32) gguf_add_f32(&scene.builder, cases[i].key, (float)(int32_t)cases[i].number);
    if (cases[i].addition == ADD_BOOL) gguf_add_bool(&scene.builder, cases[i].key, cases[i].number != 0);
    if (cases[i].addition == ADD_STRING) gguf_add_string(&scene.builder, cases[i].key, cases[i].text);
    scene_expect_refused(&scene, cases[i].code, cases[i].part);
  }
}

// What a converter writes for factor 8, low 1, high 4, original context 8192, theta 10000, heads of 16 (wavelengths 2 pi 10^(i/2)).
static const float llama3_factors[8] = {1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 4.6814826f, 8.0f};

static void gguf_import_recognizes_a_llama3_scaling(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  gguf_add_tensor(&scene.builder, "rope_freqs.weight", 0, 1, (const uint64_t[]){8}, llama3_factors, sizeof(llama3_factors));
  expect_ok(scene_import(&scene, false));
  mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
  const mlxcel_rope_config_t* rope = &mlxcel_checkpoint_config(checkpoint)->rope;
  assert_int_equal(rope->kind, MLXCEL_ROPE_LLAMA3);
  assert_true(rope->factor == 8 && rope->low_freq_factor == 1 && rope->high_freq_factor == 4 && rope->original_max_position_embeddings == 8192);
  mlxcel_checkpoint_close(checkpoint);
  scene_end(&scene);
}

static void gguf_import_drops_factors_that_are_all_one(void** state) {
  (void)state;
  const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  gguf_add_tensor(&scene.builder, "rope_freqs.weight", 0, 1, (const uint64_t[]){8}, ones, sizeof(ones));
  expect_ok(scene_import(&scene, false));
  mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
  assert_int_equal(mlxcel_checkpoint_config(checkpoint)->rope.kind, MLXCEL_ROPE_DEFAULT);
  mlxcel_checkpoint_close(checkpoint);
  scene_end(&scene);
}

static void gguf_import_refuses_other_rope_factors(void** state) {
  (void)state;
  static const float replaced[] = {4.682f, 1.0f, 0.0f, -1.0f, __builtin_inff(), __builtin_nanf("")};
  for (size_t i = 0; i < IREE_ARRAYSIZE(replaced) + 2; ++i) {
    float factors[8];
    memcpy(factors, llama3_factors, sizeof(factors));
    if (i < IREE_ARRAYSIZE(replaced)) factors[6] = replaced[i];
    if (i == IREE_ARRAYSIZE(replaced)) factors[7] = __builtin_inff();
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
    gguf_add_tensor(&scene.builder, "rope_freqs.weight", 0, 1, (const uint64_t[]){8}, factors, sizeof(factors));
    if (i > IREE_ARRAYSIZE(replaced)) gguf_add_f32(&scene.builder, "llama.rope.scaling.factor", 2.0f);  // both at once
    scene_expect_refused(&scene, IREE_STATUS_UNIMPLEMENTED, "tensor rope_freqs.weight is no llama3 scaling");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gguf_import_refuses_tensors_that_do_not_fit), cmocka_unit_test(gguf_import_asks_for_all_biases_or_none),
      cmocka_unit_test(gguf_import_writes_the_hyperparameters),      cmocka_unit_test(gguf_import_refuses_metadata_by_key_and_value),
      cmocka_unit_test(gguf_import_recognizes_a_llama3_scaling),     cmocka_unit_test(gguf_import_drops_factors_that_are_all_one),
      cmocka_unit_test(gguf_import_refuses_other_rope_factors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
