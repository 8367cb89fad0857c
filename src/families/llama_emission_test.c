// The Llama family: from a checkpoint's tensors to a module's text, contract and interface. No compiler is needed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "checkpoint/checkpoint_test_util.h"
#include "families/family.h"
#include "support/tiny_llama.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

typedef struct emission_t {
  char* folder;
  mlxcel_checkpoint_t* checkpoint;
  mlxcel_emitted_model_t emitted;
} emission_t;

static void small_options(mlxcel_emit_options_t* options) {
  mlxcel_emit_options_initialize(options);
  options->prefill_chunks = (mlxcel_program_sizes_t){.count = 2, .values = {1, 8}};
  options->decode_batches = (mlxcel_program_sizes_t){.count = 2, .values = {1, 4}};
  options->head_rows = (mlxcel_program_sizes_t){.count = 1, .values = {3}};
}

// Writes, opens and emits; |*out_status| is the emission's.
static emission_t try_emit_with(const tiny_llama_t* model, const mlxcel_emit_options_t* options, iree_status_t* out_status) {
  emission_t emission = {.folder = test_folder_create()};
  tiny_llama_write(model, emission.folder);
  expect_ok(mlxcel_checkpoint_open(emission.folder, &emission.checkpoint));
  *out_status = mlxcel_family_emit(emission.checkpoint, options, &emission.emitted);
  return emission;
}
static emission_t try_emit(const tiny_llama_t* model, iree_status_t* out_status) {
  mlxcel_emit_options_t options;
  small_options(&options);
  return try_emit_with(model, &options, out_status);
}

static emission_t emit(const tiny_llama_t* model) {
  iree_status_t status;
  emission_t emission = try_emit(model, &status);
  expect_ok(status);
  return emission;
}

static void emission_deinitialize(emission_t* emission) {
  mlxcel_emitted_model_deinitialize(&emission->emitted);
  mlxcel_checkpoint_close(emission->checkpoint);
  test_folder_remove(emission->folder);
}

static bool has_text(const emission_t* emission, const char* part) { return strstr(emission->emitted.mlir_text, part) != NULL; }
static bool has_clause(const emission_t* emission, const char* part) { return strstr(emission->emitted.contract_text, part) != NULL; }

static size_t count_of(const char* text, const char* part) {
  size_t count = 0;
  for (const char* at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) ++count;
  return count;
}

static void expect_same_module(const emission_t* a, const emission_t* b) {
  assert_string_equal(a->emitted.mlir_text, b->emitted.mlir_text);
  assert_int_equal(a->emitted.mlir_size, b->emitted.mlir_size);
  assert_string_equal(a->emitted.contract_text, b->emitted.contract_text);
  assert_string_equal(a->emitted.fingerprint.text, b->emitted.fingerprint.text);
}

// 4 bits by default, one projection of layer 0 in 8 bits, one of layer 1 dense.
static const tiny_override_t mixed_overrides[] = {{"model.layers.0.mlp.down_proj", 8, 32}, {"model.layers.1.self_attn.v_proj", 0, 0}};
static tiny_llama_t mixed_model(void) {
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  model.dtype = "F16";
  model.bits = 4;
  model.group_size = 32;
  model.overrides = mixed_overrides;
  model.override_count = COUNT_OF(mixed_overrides);
  return model;
}

// --- the text ----------------------------------------------------------------------------------------------------------------------------------------

static void families_emission_is_byte_identical(void** state) {
  (void)state;
  tiny_llama_t model = mixed_model();
  emission_t first = emit(&model), second = emit(&model);
  assert_string_not_equal(first.folder, second.folder);
  expect_same_module(&first, &second);
  assert_int_equal(first.emitted.mlir_size, strlen(first.emitted.mlir_text));
  emission_deinitialize(&first);
  emission_deinitialize(&second);
}

// What differs between devices and instruction sets is the compiler's command line, never the text.
static void families_text_knows_no_device(void** state) {
  (void)state;
  static const char* const words[] = {"v3", "v4", "avx", "cuda", "hip", "rocm", "metal", "vulkan", "local", "sync", "task", "target-cpu"};
  tiny_llama_t model = mixed_model();
  emission_t emission = emit(&model);
  for (size_t i = 0; i < COUNT_OF(words); ++i) {
    if (has_text(&emission, words[i]) || has_clause(&emission, words[i])) fail_msg("the text has the word '%s'", words[i]);
  }
  emission_deinitialize(&emission);
}

static void families_text_and_contract_do_not_depend_on_weight_values(void** state) {
  (void)state;
  tiny_llama_t model = mixed_model();
  emission_t first = emit(&model);
  model.seed = 2;
  emission_t second = emit(&model);
  expect_same_module(&first, &second);
  emission_deinitialize(&first);
  emission_deinitialize(&second);
}

static void families_contract_is_about_operations_not_sizes(void** state) {
  (void)state;
  tiny_llama_t model = mixed_model();
  emission_t first = emit(&model);
  model.vocab = 192;
  emission_t second = emit(&model);
  assert_string_not_equal(first.emitted.mlir_text, second.emitted.mlir_text);
  assert_string_equal(first.emitted.contract_text, second.emitted.contract_text);
  assert_string_equal(first.emitted.fingerprint.text, second.emitted.fingerprint.text);
  emission_deinitialize(&first);
  emission_deinitialize(&second);
}

static void families_module_has_a_function_for_every_size(void** state) {
  (void)state;
  static const char* const functions[] = {"prefill_1", "prefill_8", "head_3", "decode_1", "decode_4"};
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  emission_t emission = emit(&model);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    char text[64];
    snprintf(text, sizeof(text), "  func.func @%s(", functions[i]);
    assert_int_equal(count_of(emission.emitted.mlir_text, text), 1);
  }
  assert_int_equal(count_of(emission.emitted.mlir_text, "\n  func.func @"), COUNT_OF(functions));
  assert_int_equal(count_of(emission.emitted.mlir_text, emission.emitted.fingerprint.text), COUNT_OF(functions));
  emission_deinitialize(&emission);
}

static void families_mistral_is_the_same_computation(void** state) {
  (void)state;
  tiny_llama_t model = mixed_model();
  emission_t llama = emit(&model);
  model.model_type = "mistral";
  emission_t mistral = emit(&model);
  expect_same_module(&llama, &mistral);
  emission_deinitialize(&llama);
  emission_deinitialize(&mistral);
}

// --- tensors -----------------------------------------------------------------------------------------------------------------------------------------

static void families_unused_tensor_is_an_error_that_names_it(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  static const char* const unused[] = {"model.layers.0.self_attn.q_norm.weight", "model.layers.2.mlp.up_proj.weight", "vision.patch",
                                       "model.layers.1.mlp.up_proj.bias"};
  for (size_t i = 0; i < COUNT_OF(unused); ++i) {
    model.added = unused[i];
    iree_status_t status;
    emission_t emission = try_emit(&model, &status);
    expect_error(status, IREE_STATUS_UNIMPLEMENTED, "1 tensors", unused[i], emission.folder, NULL);
    assert_null(emission.emitted.mlir_text);
    emission_deinitialize(&emission);
  }
}

// More layers in the file than config.json says: hundreds of names would drown the message.
static void families_many_unused_tensors_are_counted(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  model.layers = 3;
  char* folder = test_folder_create();
  tiny_llama_write(&model, folder);
  char* shallow = test_folder_create();
  model.layers = 2;
  tiny_llama_write(&model, shallow);
  char from[512], to[512];
  snprintf(from, sizeof(from), "%s/config.json", shallow);
  snprintf(to, sizeof(to), "%s/config.json", folder);
  assert_int_equal(rename(from, to), 0);
  mlxcel_checkpoint_t* checkpoint = NULL;
  expect_ok(mlxcel_checkpoint_open(folder, &checkpoint));
  mlxcel_emit_options_t options;
  small_options(&options);
  mlxcel_emitted_model_t emitted;
  iree_status_t status = mlxcel_family_emit(checkpoint, &options, &emitted);
  char text[2048];
  mlxcel_status_text(status, text, sizeof(text));
  expect_error(status, IREE_STATUS_UNIMPLEMENTED, "9 tensors", "model.layers.2.input_layernorm.weight", ", ...", NULL);
  assert_null(strstr(text, "model.layers.2.self_attn.v_proj.weight"));  // the last of them
  mlxcel_checkpoint_close(checkpoint);
  test_folder_remove(folder);
  test_folder_remove(shallow);
}

// Old exports carry the rotary frequencies; they follow from the configuration.
static void families_redundant_frequencies_change_nothing(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  emission_t without = emit(&model);
  model.added = "model.layers.1.self_attn.rotary_emb.inv_freq";
  emission_t with = emit(&model);
  expect_same_module(&without, &with);
  emission_deinitialize(&without);
  emission_deinitialize(&with);
}

// Takes each tensor of |model| away in turn.
static void expect_every_tensor_needed(const tiny_llama_t* model) {
  emission_t complete = emit(model);
  size_t count = mlxcel_checkpoint_tensor_count(complete.checkpoint);
  assert_true(count > 20);
  for (size_t i = 0; i < count; ++i) {
    char name[128];
    snprintf(name, sizeof(name), "%.*s", MLXCEL_SV(mlxcel_checkpoint_tensor_at(complete.checkpoint, i)->name));
    tiny_llama_t incomplete = *model;
    incomplete.left_out = name;
    iree_status_t status;
    emission_t emission = try_emit(&incomplete, &status);
    expect_error(status, IREE_STATUS_NOT_FOUND, name, NULL);
    assert_null(emission.emitted.mlir_text);
    emission_deinitialize(&emission);
  }
  emission_deinitialize(&complete);
}

static void families_missing_tensor_is_an_error_that_names_it(void** state) {
  (void)state;
  tiny_llama_t dense;
  tiny_llama_initialize(&dense);
  dense.has_attention_bias = dense.has_mlp_bias = true;
  expect_every_tensor_needed(&dense);
  tiny_llama_t quantized = mixed_model();
  quantized.layers = 1;
  quantized.override_count = 0;
  expect_every_tensor_needed(&quantized);
}

static void families_untied_head_is_a_parameter_of_its_own(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  emission_t emission = emit(&model);
  assert_int_equal(count_of(emission.emitted.mlir_text, "\"model\"::\"lm_head.weight\""), 1);
  assert_int_equal(count_of(emission.emitted.mlir_text, "\"model\"::\"model.embed_tokens.weight\""), 1);
  emission_deinitialize(&emission);
}

static void families_tied_head_is_the_embedding(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  model.is_tied = true;
  emission_t tied = emit(&model);
  assert_false(has_text(&tied, "lm_head"));
  assert_int_equal(count_of(tied.emitted.mlir_text, "@w0 = #flow.parameter.named<\"model\"::\"model.embed_tokens.weight\">"), 1);
  // In prefill for the tokens, in decode for tokens and head, in head for the head: 2 + 2 * 2 + 1 loads in the functions of this module.
  assert_int_equal(count_of(tied.emitted.mlir_text, "util.global.load immutable @w0 "), 7);
  model.has_head_copy = true;
  emission_t copied = emit(&model);
  expect_same_module(&tied, &copied);
  emission_deinitialize(&tied);
  emission_deinitialize(&copied);
}

static void families_biases_are_used_where_the_configuration_says_so(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  emission_t none = emit(&model);
  model.has_attention_bias = true;
  emission_t attention = emit(&model);
  model.has_mlp_bias = true;
  emission_t all = emit(&model);
  static const char clause[] = "+bias:f32";
  assert_false(has_text(&none, ".bias\"") || has_clause(&none, clause));
  assert_int_equal(count_of(attention.emitted.mlir_text, ".bias\">"), 2 * 4);
  assert_int_equal(count_of(all.emitted.mlir_text, ".bias\">"), 2 * 7);
  // The bias is a rounding boundary: of q, k, v (one kernel) and o, then of gate, up and down as well.
  assert_int_equal(count_of(attention.emitted.contract_text, clause), 2);
  assert_int_equal(count_of(all.emitted.contract_text, clause), 3);
  emission_deinitialize(&none);
  emission_deinitialize(&attention);
  emission_deinitialize(&all);
}

// Flags of a projection's use: 1 bias, 2 residual, and the bias's type from bit 4 on.
static void families_biases_have_a_type_of_their_own(void** state) {
  (void)state;
  static const struct {
    const char* dtype;
    int with_residual, without;
  } rows[] = {{"F32", 3, 1}, {"F16", 19, 17}, {"BF16", 35, 33}};
  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    tiny_llama_t model;
    tiny_llama_initialize(&model);
    model.dtype = rows[i].dtype;
    model.has_attention_bias = model.has_mlp_bias = true;
    emission_t emission = emit(&model);
    char flags[2][64];
    snprintf(flags[0], sizeof(flags[0]), " = arith.constant %d : i32\n", rows[i].with_residual);
    snprintf(flags[1], sizeof(flags[1]), " = arith.constant %d : i32\n", rows[i].without);
    // Four functions (prefill and decode in two sizes) of two layers: o and down with residual; q, k, v, gate and up without.
    assert_true(count_of(emission.emitted.mlir_text, flags[0]) >= 4 * 2 * 2);
    assert_true(count_of(emission.emitted.mlir_text, flags[1]) >= 4 * 2 * 5);
    emission_deinitialize(&emission);
  }
}

// --- contract ----------------------------------------------------------------------------------------------------------------------------------------

static size_t clauses_of(const emission_t* emission, const char* op, const char* source, const char* algorithm) {
  size_t count = 0;
  for (const char* at = strstr(emission->emitted.contract_text, "\nclause="); at; at = strstr(at + 1, "\nclause=")) {
    const char* end = strstr(at + 1, "\nclause=");
    size_t size = end ? (size_t)(end - at) + 1 : strlen(at);
    char clause[2048], lines[3][128];
    assert_true(size < sizeof(clause));
    snprintf(clause, sizeof(clause), "%.*s", (int)size, at);
    snprintf(lines[0], sizeof(lines[0]), "\nop=%s\n", op);
    snprintf(lines[1], sizeof(lines[1]), "\nsource_dtype=%s\n", source);
    snprintf(lines[2], sizeof(lines[2]), "\nalgorithm=%s\n", algorithm);
    count += strstr(clause, lines[0]) && strstr(clause, lines[1]) && strstr(clause, lines[2]);
  }
  return count;
}

static void families_mixed_quantization_reaches_the_clauses(void** state) {
  (void)state;
  tiny_llama_t model = mixed_model();
  emission_t mixed = emit(&model);
  model.override_count = 0;
  emission_t uniform = emit(&model);
  assert_int_equal(clauses_of(&mixed, "quantized-matmul", "affine-u4-g32-f16", "mlxcel_pinned_qkv_rope"), 1);
  assert_int_equal(clauses_of(&mixed, "quantized-matmul", "affine-u4-g32-f16", "mlxcel_pinned_gate_up"), 1);
  assert_int_equal(clauses_of(&mixed, "quantized-matmul", "affine-u4-g32-f16", "mlxcel_pinned_matmul"), 1);
  assert_int_equal(clauses_of(&mixed, "quantized-matmul", "affine-u8-g32-f16", "mlxcel_pinned_matmul"), 1);
  assert_int_equal(clauses_of(&mixed, "dense-matmul", "f16", "mlxcel_pinned_qkv_rope"), 1);
  assert_int_equal(clauses_of(&mixed, "embedding", "affine-u4-g32-f16", "mlxcel_pinned_embed"), 1);
  assert_int_equal(clauses_of(&uniform, "quantized-matmul", "affine-u8-g32-f16", "mlxcel_pinned_matmul"), 0);
  assert_int_equal(clauses_of(&uniform, "dense-matmul", "f16", "mlxcel_pinned_qkv_rope"), 0);
  assert_string_not_equal(mixed.emitted.fingerprint.text, uniform.emitted.fingerprint.text);
  emission_deinitialize(&mixed);
  emission_deinitialize(&uniform);
}

static void families_storage_type_is_part_of_the_contract(void** state) {
  (void)state;
  static const struct { const char *dtype, *source; } rows[] = {{"F32", "f32"}, {"F16", "f16"}, {"BF16", "bf16"}};
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    model.dtype = rows[i].dtype;
    emission_t emission = emit(&model);
    assert_int_equal(clauses_of(&emission, "dense-matmul", rows[i].source, "mlxcel_pinned_matmul"), 1);
    assert_int_equal(clauses_of(&emission, "rms-norm", rows[i].source, "mlxcel_pinned_rms_norm"), 1);
    assert_int_equal(count_of(emission.emitted.contract_text, "op=dense-matmul"), 3);
    emission_deinitialize(&emission);
  }
}

static void families_unknown_profile_lists_the_valid_ones(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  emission_t emission = emit(&model);
  static const char* const unknown[] = {"", "pinned", "pinned-f32 ", "mlx-cpu-0.32.3", "iree-canonical", "mlx-cuda-0.32.4-sm80"};
  for (size_t i = 0; i < COUNT_OF(unknown); ++i) {
    mlxcel_emit_options_t options;
    small_options(&options);
    options.profile = iree_make_cstring_view(unknown[i]);
    mlxcel_emitted_model_t emitted;
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "'%s'", unknown[i]);
    expect_error(mlxcel_family_emit(emission.checkpoint, &options, &emitted), IREE_STATUS_INVALID_ARGUMENT, quoted, "pinned-f32", NULL);
    assert_null(emitted.mlir_text);
  }
  emission_deinitialize(&emission);
}

static void families_registry_finds_what_it_lists(void** state) {
  (void)state;
  size_t count = 0;
  for (; mlxcel_family_at(count); ++count) assert_ptr_equal(mlxcel_family_find(mlxcel_family_at(count)->model_type), mlxcel_family_at(count));
  assert_true(count >= 2);
  assert_non_null(mlxcel_family_find("llama"));
  assert_non_null(mlxcel_family_find("mistral"));
  assert_null(mlxcel_family_find("llama2"));
  assert_null(mlxcel_family_find(""));
}

// --- interface ---------------------------------------------------------------------------------------------------------------------------------------

static void expect_complete_interface(const tiny_llama_t* model) {
  emission_t emission = emit(model);
  const mlxcel_program_interface_t* interface = &emission.emitted.interface;
  assert_int_equal(interface->parameter_count, mlxcel_checkpoint_tensor_count(emission.checkpoint));
  for (size_t i = 0; i < interface->parameter_count; ++i) {
    const mlxcel_program_parameter_t* parameter = &interface->parameters[i];
    const mlxcel_tensor_t* tensor = mlxcel_checkpoint_tensor_at(emission.checkpoint, i);  // sorted by name, so the interface is as well
    assert_int_equal(strlen(parameter->key), tensor->name.size);
    assert_memory_equal(parameter->key, tensor->name.data, tensor->name.size);
    assert_string_equal(parameter->dtype, mlxcel_tensor_dtype_name(tensor->dtype));
    assert_int_equal(parameter->byte_count, tensor->byte_count);
    char global[256];
    snprintf(global, sizeof(global), "\"model\"::\"%s\"> : tensor<%" PRIu64 "xi8>\n", parameter->key, parameter->byte_count);
    assert_int_equal(count_of(emission.emitted.mlir_text, global), 1);
  }
  emission_deinitialize(&emission);
}

static void families_interface_lists_every_parameter_in_order(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  model.layers = 12;  // "layers.10" sorts before "layers.2"
  expect_complete_interface(&model);
  model = mixed_model();
  model.is_tied = true;
  model.has_attention_bias = model.has_mlp_bias = true;
  expect_complete_interface(&model);
}

static void families_interface_states_the_sizes(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  model.head_dim = 32;
  emission_t emission = emit(&model);
  const mlxcel_program_interface_t* interface = &emission.emitted.interface;
  assert_string_equal(interface->module_name, "model");
  assert_string_equal(interface->parameter_scope, "model");
  assert_string_equal(interface->kv_dtype, "F32");
  assert_int_equal(interface->layer_count, 2);
  assert_int_equal(interface->kv_head_count, 2);
  assert_int_equal(interface->head_dim, 32);
  assert_int_equal(interface->rope_width, 16);
  assert_int_equal(interface->hidden_size, 64);
  assert_int_equal(interface->vocab_size, 160);
  mlxcel_emit_options_t options;
  small_options(&options);
  assert_memory_equal(&interface->prefill_chunks, &options.prefill_chunks, sizeof(options.prefill_chunks));
  assert_memory_equal(&interface->decode_batches, &options.decode_batches, sizeof(options.decode_batches));
  assert_memory_equal(&interface->head_rows, &options.head_rows, sizeof(options.head_rows));
  assert_true(has_text(&emission, "tensor<2x?x2x?x32xf32>"));
  emission_deinitialize(&emission);
}

static void families_caches_have_the_dtype_that_is_asked_for(void** state) {
  (void)state;
  static const struct {
    mlxcel_dtype_t dtype;
    const char *interface_name, *tensor, *clause;
  } cases[] = {
      {MLXCEL_DTYPE_F32, "F32", "tensor<2x?x2x?x16xf32>", "result_dtype=f32\nrounding=none"},
      {MLXCEL_DTYPE_F16, "F16", "tensor<2x?x2x?x16xf16>", "result_dtype=f16\nrounding=store:f16"},
      {MLXCEL_DTYPE_BF16, "BF16", "tensor<2x?x2x?x16xbf16>", "result_dtype=bf16\nrounding=store:bf16"},
  };
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_emit_options_t options;
    small_options(&options);
    options.kv_dtype = cases[i].dtype;
    iree_status_t status;
    emission_t emission = try_emit_with(&model, &options, &status);
    expect_ok(status);
    assert_string_equal(emission.emitted.interface.kv_dtype, cases[i].interface_name);
    assert_int_equal(emission.emitted.kv_dtype, cases[i].dtype);
    assert_true(has_text(&emission, cases[i].tensor));
    assert_non_null(strstr(emission.emitted.contract_text, cases[i].clause));
    emission_deinitialize(&emission);
  }
}

static void families_profile_of_the_checkpoints_dtypes_refuses_a_cache_dtype(void** state) {
  (void)state;
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  mlxcel_emit_options_t options;
  small_options(&options);
  options.profile = IREE_SV(MLXCEL_PROFILE_MLX_CPU);
  options.kv_dtype = MLXCEL_DTYPE_F16;
  iree_status_t status;
  emission_t emission = try_emit_with(&model, &options, &status);
  expect_error(status, IREE_STATUS_INVALID_ARGUMENT, "KV cache of f16 isn't part of profile mlx-cpu-0.32.4", "the checkpoint decides", NULL);
  emission_deinitialize(&emission);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(families_emission_is_byte_identical),
      cmocka_unit_test(families_text_knows_no_device),
      cmocka_unit_test(families_caches_have_the_dtype_that_is_asked_for),
      cmocka_unit_test(families_profile_of_the_checkpoints_dtypes_refuses_a_cache_dtype),
      cmocka_unit_test(families_text_and_contract_do_not_depend_on_weight_values),
      cmocka_unit_test(families_contract_is_about_operations_not_sizes),
      cmocka_unit_test(families_module_has_a_function_for_every_size),
      cmocka_unit_test(families_mistral_is_the_same_computation),
      cmocka_unit_test(families_unused_tensor_is_an_error_that_names_it),
      cmocka_unit_test(families_many_unused_tensors_are_counted),
      cmocka_unit_test(families_redundant_frequencies_change_nothing),
      cmocka_unit_test(families_missing_tensor_is_an_error_that_names_it),
      cmocka_unit_test(families_untied_head_is_a_parameter_of_its_own),
      cmocka_unit_test(families_tied_head_is_the_embedding),
      cmocka_unit_test(families_biases_are_used_where_the_configuration_says_so),
      cmocka_unit_test(families_biases_have_a_type_of_their_own),
      cmocka_unit_test(families_mixed_quantization_reaches_the_clauses),
      cmocka_unit_test(families_storage_type_is_part_of_the_contract),
      cmocka_unit_test(families_unknown_profile_lists_the_valid_ones),
      cmocka_unit_test(families_registry_finds_what_it_lists),
      cmocka_unit_test(families_interface_lists_every_parameter_in_order),
      cmocka_unit_test(families_interface_states_the_sizes),
  };
  return cmocka_run_group_tests_name("llama_emission", tests, NULL, NULL);
}
