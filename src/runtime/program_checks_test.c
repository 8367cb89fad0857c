// What a program refuses: modules and checkpoints that don't belong together, and rows that the kernels couldn't take. Needs the compiler.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "contract/contract_version.h"
#include "runtime/program_test_support.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct {
  compiled_model_t model;
  mlxcel_artifact_t artifact;
  test_run_t run;
} fixture;

static int fixture_setup(void** state) {
  if (compiled_models_setup(state) != 0) return 1;
  tiny_llama_t recipe = test_model_recipe();
  mlxcel_emit_options_t options;
  test_model_options(&options);
  compiled_model_open(&recipe, &options, &fixture.model);
  compiled_model_compile(&fixture.model, NULL, MLXCEL_KERNEL_LEVEL_V3, &fixture.artifact);
  fixture.run = test_run_open("local-sync", 0, &fixture.artifact, fixture.model.checkpoint);
  return 0;
}

static int fixture_teardown(void** state) {
  test_run_close(&fixture.run);
  mlxcel_artifact_deinitialize(&fixture.artifact);
  compiled_model_close(&fixture.model);
  return compiled_models_teardown(state);
}

static void expect_status(iree_status_t status, iree_status_code_t code, const char* const* parts) {
  char text[2048];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_code_t actual = iree_status_consume_code(status);
  if (actual != code) fail_msg("%s where %s was expected: %s", iree_status_code_string(actual), iree_status_code_string(code), text);
  for (; *parts; ++parts) {
    if (!strstr(text, *parts)) fail_msg("'%s' isn't in: %s", *parts, text);
  }
}
#define EXPECT_STATUS(status, code, ...) expect_status(status, code, (const char* const[]){__VA_ARGS__, NULL})

// --- rows --------------------------------------------------------------------------------------------------------------------------------------------

// Both calls refuse the rows in the same words, and nothing was written.
static void expect_rows_refused(const mlxcel_rows_t* rows, iree_status_code_t code, const char* const* parts) {
  static float logits[TEST_DECODE_MAX * TEST_VOCAB], untouched[TEST_DECODE_MAX * TEST_VOCAB];
  memset(logits, 0x5a, sizeof(logits));
  memset(untouched, 0x5a, sizeof(untouched));
  test_caches_t before = test_caches_copy(fixture.run.program);
  expect_status(mlxcel_program_prefill(fixture.run.program, rows), code, parts);
  expect_status(mlxcel_program_decode(fixture.run.program, rows, logits), code, parts);
  assert_memory_equal(logits, untouched, sizeof(logits));
  assert_int_equal(test_caches_compare(fixture.run.program, &before, -1, 0, 0), 0);
  test_caches_free(&before);
}
#define EXPECT_ROWS_REFUSED(rows, code, ...) expect_rows_refused(rows, code, (const char* const[]){__VA_ARGS__, NULL})

static void runtime_token_outside_of_the_vocabulary_is_refused(void** state) {
  (void)state;
  static const int32_t bad[] = {-1, TEST_VOCAB, TEST_VOCAB + 1, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < COUNT_OF(bad); ++i) {
    const int32_t tokens[] = {0, TEST_VOCAB - 1, bad[i]}, slots[] = {0, 1, 2}, positions[] = {0, 0, 0};
    const mlxcel_rows_t rows = {3, tokens, slots, positions};
    char id[48];
    snprintf(id, sizeof(id), "token id %d ", bad[i]);
    EXPECT_ROWS_REFUSED(&rows, IREE_STATUS_INVALID_ARGUMENT, "row 2", id, "vocabulary of 160");
  }
}

static void runtime_slot_that_does_not_exist_is_refused(void** state) {
  (void)state;
  static const int32_t bad[] = {-1, TEST_SLOTS, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < COUNT_OF(bad); ++i) {
    const int32_t tokens[] = {0, 0}, slots[] = {TEST_SLOTS - 1, bad[i]}, positions[] = {0, 0};
    const mlxcel_rows_t rows = {2, tokens, slots, positions};
    char slot[48];
    snprintf(slot, sizeof(slot), "slot %d ", bad[i]);
    EXPECT_ROWS_REFUSED(&rows, IREE_STATUS_INVALID_ARGUMENT, "row 1", slot, "4 slots");
  }
}

static void runtime_position_behind_the_context_is_refused(void** state) {
  (void)state;
  static const int32_t bad[] = {TEST_CONTEXT, TEST_CONTEXT + 1, INT32_MAX};
  for (size_t i = 0; i < COUNT_OF(bad); ++i) {
    const int32_t tokens[] = {0}, slots[] = {0}, positions[] = {bad[i]};
    const mlxcel_rows_t rows = {1, tokens, slots, positions};
    char position[48];
    snprintf(position, sizeof(position), "position %d ", bad[i]);
    EXPECT_ROWS_REFUSED(&rows, IREE_STATUS_OUT_OF_RANGE, "row 0", position, "context of 160", "larger -c");
  }
}

static void runtime_rows_of_a_slot_must_ascend(void** state) {
  (void)state;
  static const int32_t positions[][4] = {{5, 5, -1, -1}, {6, 5, 7, -1}, {1, -1, 2, 2}, {3, 4, -1, 3}};
  static const char* const rows_named[] = {"rows 0 and 1", "rows 0 and 1", "rows 2 and 3", "rows 0 and 3"};
  for (size_t i = 0; i < COUNT_OF(positions); ++i) {
    const int32_t tokens[] = {1, 2, 3, 4}, slots[] = {2, 2, 2, 2};
    const mlxcel_rows_t rows = {4, tokens, slots, positions[i]};
    EXPECT_ROWS_REFUSED(&rows, IREE_STATUS_INVALID_ARGUMENT, rows_named[i], "slot 2", "ascending");
  }
}

static void runtime_equal_positions_in_different_slots_are_fine(void** state) {
  (void)state;
  const int32_t tokens[] = {1, 2, 3, 4}, slots[] = {2, 0, 3, 1}, positions[] = {0, 0, 0, 0};
  const mlxcel_rows_t rows = {4, tokens, slots, positions};
  float logits[4 * TEST_VOCAB];
  compiled_model_expect_ok(mlxcel_program_prefill(fixture.run.program, &rows));
  compiled_model_expect_ok(mlxcel_program_decode(fixture.run.program, &rows, logits));
}

static void runtime_number_of_rows_is_bounded_by_the_compiled_sizes(void** state) {
  (void)state;
  int32_t tokens[TEST_PREFILL_MAX + 1] = {0}, slots[TEST_PREFILL_MAX + 1] = {0}, positions[TEST_PREFILL_MAX + 1];
  for (int32_t i = 0; i <= TEST_PREFILL_MAX; ++i) positions[i] = i;
  mlxcel_rows_t rows = {0, tokens, slots, positions};
  EXPECT_ROWS_REFUSED(&rows, IREE_STATUS_INVALID_ARGUMENT, "0 rows", "compiled for 1 to");
  rows.count = TEST_PREFILL_MAX + 1;
  EXPECT_ROWS_REFUSED(&rows, IREE_STATUS_INVALID_ARGUMENT, "17 rows", "compiled for 1 to");
  float logits[(TEST_DECODE_MAX + 1) * TEST_VOCAB];
  rows.count = TEST_DECODE_MAX + 1;
  EXPECT_STATUS(mlxcel_program_decode(fixture.run.program, &rows, logits), IREE_STATUS_INVALID_ARGUMENT, "5 rows", "1 to 4");
  rows.count = TEST_PREFILL_MAX;
  compiled_model_expect_ok(mlxcel_program_prefill(fixture.run.program, &rows));
}

static void runtime_head_refuses_rows_that_the_prefill_had_not(void** state) {
  (void)state;
  test_run_t run = test_run_open("local-sync", 0, &fixture.artifact, fixture.model.checkpoint);
  float logits[8 * TEST_VOCAB];
  const uint32_t first[] = {0}, behind[] = {0, 1, 2, 0, 1, 3}, far[] = {UINT32_MAX};
  EXPECT_STATUS(mlxcel_program_head(run.program, 1, first, logits), IREE_STATUS_FAILED_PRECONDITION, "before a prefill");
  const int32_t tokens[] = {1, 2, 3}, slots[] = {0, 0, 0}, positions[] = {0, 1, 2}, descending[] = {2, 1, 0};
  const mlxcel_rows_t rows = {3, tokens, slots, positions}, bad = {3, tokens, slots, descending};
  compiled_model_expect_ok(mlxcel_program_prefill(run.program, &rows));  // 3 rows in a chunk of 4
  EXPECT_STATUS(mlxcel_program_head(run.program, 6, behind, logits), IREE_STATUS_INVALID_ARGUMENT, "row 3", "had 3");
  EXPECT_STATUS(mlxcel_program_head(run.program, 1, far, logits), IREE_STATUS_INVALID_ARGUMENT, "row 4294967295", "had 3");
  compiled_model_expect_ok(mlxcel_program_head(run.program, 5, behind, logits));
  float again[TEST_VOCAB];
  EXPECT_STATUS(mlxcel_program_prefill(run.program, &bad), IREE_STATUS_INVALID_ARGUMENT, "ascending");
  compiled_model_expect_ok(mlxcel_program_head(run.program, 1, first, again));  // a refused prefill leaves the last one's rows
  assert_memory_equal(again, logits, sizeof(again));
  const int32_t second_inactive[] = {0, -1, 2};
  const uint32_t second[] = {1};
  const mlxcel_rows_t gap = {3, tokens, slots, second_inactive};
  compiled_model_expect_ok(mlxcel_program_prefill(run.program, &gap));
  EXPECT_STATUS(mlxcel_program_head(run.program, 1, second, logits), IREE_STATUS_INVALID_ARGUMENT, "row 1", "inactive");
  compiled_model_expect_ok(mlxcel_program_head(run.program, 1, first, logits));
  test_run_close(&run);
}

// --- loading -----------------------------------------------------------------------------------------------------------------------------------------

static void expect_load_refused(const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint, const mlxcel_program_options_t* options,
                                iree_status_code_t code, const char* const* parts) {
  mlxcel_program_t* program = (mlxcel_program_t*)1;
  expect_status(mlxcel_program_load(fixture.run.device, artifact, checkpoint, options, &program), code, parts);
  assert_null(program);
}
#define EXPECT_LOAD_REFUSED(artifact, checkpoint, options, code, ...) \
  expect_load_refused(artifact, checkpoint, options, code, (const char* const[]){__VA_ARGS__, NULL})

static void runtime_impossible_context_or_slots_are_refused(void** state) {
  (void)state;
  static const uint32_t sizes[][2] = {{0, 10}, {1, 0}, {1, 193}, {1, UINT32_MAX}};  // slots, context; the model allows 192
  for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
    mlxcel_program_options_t options = test_program_options(&fixture.artifact);
    options.slot_count = sizes[i][0];
    options.context = sizes[i][1];
    EXPECT_LOAD_REFUSED(&fixture.artifact, fixture.model.checkpoint, &options, IREE_STATUS_INVALID_ARGUMENT, "1 to 192 positions", "slots begin at 1");
  }
  mlxcel_program_options_t options = test_program_options(&fixture.artifact);
  options.slot_count = UINT32_MAX;  // 200 TB
  EXPECT_LOAD_REFUSED(&fixture.artifact, fixture.model.checkpoint, &options, IREE_STATUS_RESOURCE_EXHAUSTED, "smaller context or fewer slots");
}

static void runtime_contract_other_than_the_one_asked_for_is_refused(void** state) {
  (void)state;
  char other[65];
  memset(other, '0', 64);
  other[64] = 0;
  const char* const asked[] = {other, "", "abc"};
  for (size_t i = 0; i < COUNT_OF(asked); ++i) {
    mlxcel_program_options_t options = test_program_options(&fixture.artifact);
    options.expected_fingerprint = iree_make_cstring_view(asked[i]);
    EXPECT_LOAD_REFUSED(&fixture.artifact, fixture.model.checkpoint, &options, IREE_STATUS_FAILED_PRECONDITION, fixture.artifact.contract_fingerprint.text,
                        asked[i]);
  }
}

// A module with the functions of the interface, which do nothing. |odd| names one whose attributes are |attributes|; NULL attributes: it is missing.
static char* hollow_module_text(const char* odd, const char* attributes) {
  static const char* const names[] = {"prefill_4", "prefill_16", "decode_1", "decode_4", "head_1", "head_4"};
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_strbuf_append_cstring(&text, "module @model {\n");
  for (size_t i = 0; i < COUNT_OF(names); ++i) {
    bool is_odd = strcmp(names[i], odd) == 0;
    if (is_odd && !attributes) continue;
    mlxcel_strbuf_append_format(&text, "  func.func @%s(%%0: i32) -> i32 ", names[i]);
    if (is_odd) {
      mlxcel_strbuf_append_cstring(&text, attributes);
    } else {
      mlxcel_strbuf_append_format(
          &text, "attributes {iree.reflection = {\"mlxcel.contract\" = \"%s\", \"mlxcel.contract.version\" = \"" MLXCEL_CONTRACT_VERSION_TEXT "\"}}",
          fixture.artifact.contract_fingerprint.text);
    }
    mlxcel_strbuf_append_cstring(&text, " {\n    return %0 : i32\n  }\n");
  }
  mlxcel_strbuf_append_cstring(&text, "}\n");
  return mlxcel_strbuf_release(&text);
}

// Refused on the bare module: the checkpoint here lacks tensors, which a later step would find.
static void expect_hollow_module_refused(const char* odd, const char* attributes, iree_status_code_t code, const char* const* parts) {
  tiny_llama_t recipe = test_model_recipe();
  recipe.left_out = "model.norm.weight";
  char* folder = compiled_models_new_folder();
  tiny_llama_write(&recipe, folder);
  mlxcel_checkpoint_t* checkpoint = NULL;
  compiled_model_expect_ok(mlxcel_checkpoint_open(folder, &checkpoint));
  char* text = hollow_module_text(odd, attributes);
  mlxcel_artifact_t artifact;
  compiled_model_compile(&fixture.model, text, MLXCEL_KERNEL_LEVEL_V3, &artifact);
  const mlxcel_program_options_t options = test_program_options(&artifact);
  expect_load_refused(&artifact, checkpoint, &options, code, parts);
  mlxcel_artifact_deinitialize(&artifact);
  free(text);
  mlxcel_checkpoint_close(checkpoint);
  free(folder);
}
#define EXPECT_HOLLOW_MODULE_REFUSED(odd, attributes, code, ...) expect_hollow_module_refused(odd, attributes, code, (const char* const[]){__VA_ARGS__, NULL})

static void runtime_function_of_another_contract_is_refused_before_anything_runs(void** state) {
  (void)state;
  static const char other[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  static const char* const functions[] = {"prefill_16", "decode_4", "head_4"};  // the last of each kind: all are looked at
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    char attributes[256];
    snprintf(attributes, sizeof(attributes),
             "attributes {iree.reflection = {\"mlxcel.contract\" = \"%s\", \"mlxcel.contract.version\" = \"" MLXCEL_CONTRACT_VERSION_TEXT "\"}}", other);
    EXPECT_HOLLOW_MODULE_REFUSED(functions[i], attributes, IREE_STATUS_DATA_LOSS, functions[i], other, fixture.artifact.contract_fingerprint.text,
                                 "remove the artifact");
  }
}

static void runtime_function_without_a_contract_is_refused_before_anything_runs(void** state) {
  (void)state;
  EXPECT_HOLLOW_MODULE_REFUSED("head_1", "", IREE_STATUS_DATA_LOSS, "head_1", "carries no mlxcel.contract", "wasn't made by mlxcel");
  char attributes[256];
  snprintf(attributes, sizeof(attributes), "attributes {iree.reflection = {\"mlxcel.contract\" = \"%s\"}}", fixture.artifact.contract_fingerprint.text);
  EXPECT_HOLLOW_MODULE_REFUSED("decode_1", attributes, IREE_STATUS_DATA_LOSS, "decode_1", "carries no mlxcel.contract.version");
  snprintf(attributes, sizeof(attributes), "attributes {iree.reflection = {\"mlxcel.contract\" = \"%s\", \"mlxcel.contract.version\" = \"1\"}}",
           fixture.artifact.contract_fingerprint.text);
  EXPECT_HOLLOW_MODULE_REFUSED("prefill_4", attributes, IREE_STATUS_DATA_LOSS, "prefill_4",
                               "mlxcel.contract.version inside the module is 1, expected " MLXCEL_CONTRACT_VERSION_TEXT);
}

static void runtime_missing_function_is_named(void** state) {
  (void)state;
  EXPECT_HOLLOW_MODULE_REFUSED("decode_4", NULL, IREE_STATUS_NOT_FOUND, "lacks function decode_4");
}

// The checkpoint of |recipe| under the module of the fixture.
static void expect_checkpoint_refused(const tiny_llama_t* recipe, iree_status_code_t code, const char* const* parts) {
  char* folder = compiled_models_new_folder();
  tiny_llama_write(recipe, folder);
  mlxcel_checkpoint_t* checkpoint = NULL;
  compiled_model_expect_ok(mlxcel_checkpoint_open(folder, &checkpoint));
  const mlxcel_program_options_t options = test_program_options(&fixture.artifact);
  expect_load_refused(&fixture.artifact, checkpoint, &options, code, parts);
  mlxcel_checkpoint_close(checkpoint);
  free(folder);
}
#define EXPECT_CHECKPOINT_REFUSED(recipe, code, ...) expect_checkpoint_refused(recipe, code, (const char* const[]){__VA_ARGS__, NULL})

static void runtime_missing_tensor_is_named(void** state) {
  (void)state;
  static const char* const names[] = {"model.layers.1.mlp.up_proj.scales", "lm_head.weight", "model.layers.0.self_attn.q_proj.bias"};
  for (size_t i = 0; i < COUNT_OF(names); ++i) {
    tiny_llama_t recipe = test_model_recipe();
    recipe.left_out = names[i];
    EXPECT_CHECKPOINT_REFUSED(&recipe, IREE_STATUS_NOT_FOUND, names[i], "made for another checkpoint");
  }
}

static void runtime_tensor_of_another_dtype_is_named(void** state) {
  (void)state;
  tiny_llama_t recipe = test_model_recipe();
  recipe.dtype = "BF16";  // as many bytes
  EXPECT_CHECKPOINT_REFUSED(&recipe, IREE_STATUS_INVALID_ARGUMENT, "tensor lm_head.biases is BF16 with", "compiled for F16 with", "another checkpoint");
}

static void runtime_tensor_of_another_size_is_named(void** state) {
  (void)state;
  tiny_llama_t recipe = test_model_recipe();
  recipe.intermediate = 128;
  EXPECT_CHECKPOINT_REFUSED(&recipe, IREE_STATUS_INVALID_ARGUMENT, "tensor model.layers.0.mlp.down_proj.biases is F16 with 512 bytes", "F16 with 384",
                            "another checkpoint");
}

// --- damaged modules (the store's digests keep them away; the loader must still not fall over them) -------------------------------------------------------

static void expect_bytes_refused(const uint8_t* data, size_t size) {
  // Its own allocation, so that a sanitizer sees a read behind the end.
  uint8_t* copy = NULL;
  assert_int_equal(posix_memalign((void**)&copy, 64, size ? size : 1), 0);
  if (size > 0) memcpy(copy, data, size);
  mlxcel_artifact_t artifact = fixture.artifact;
  artifact.vmfb = (mlxcel_mapped_file_t){copy, size};
  const mlxcel_program_options_t options = test_program_options(&artifact);
  mlxcel_program_t* program = NULL;
  iree_status_t status = mlxcel_program_load(fixture.run.device, &artifact, fixture.model.checkpoint, &options, &program);
  assert_null(program);
  assert_int_not_equal(iree_status_consume_code(status), IREE_STATUS_OK);
  free(copy);
}

// A vmfb is a zip file as well: behind the module lie the zip's directory, which the loader doesn't read, and in front of it up to 63 bytes of padding. Without
// them a module still is whole.
static void runtime_module_that_is_cut_short_is_refused(void** state) {
  (void)state;
  const mlxcel_mapped_file_t* whole = &fixture.artifact.vmfb;
  const uint8_t* directory = memmem(whole->data, whole->size, "PK\1\2", 4);
  size_t end = (directory ? (size_t)(directory - whole->data) : whole->size) - 64;
  const size_t sizes[] = {0, 1, 4, 7, 8, 16, 31, 64, 100, 1000, end / 4, end / 2, end / 4 * 3, end - 4096, end - 100, end - 1};
  for (size_t i = 0; i < COUNT_OF(sizes); ++i) expect_bytes_refused(whole->data, sizes[i]);
}

static void runtime_garbage_is_refused(void** state) {
  (void)state;
  enum { kSize = 4096 };
  static uint8_t bytes[kSize];
  uint32_t x = 1;
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < kSize; ++i) bytes[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
    expect_bytes_refused(bytes, kSize);
  }
  memset(bytes, 0, kSize);
  expect_bytes_refused(bytes, kSize);
  memset(bytes, 0xff, kSize);
  expect_bytes_refused(bytes, kSize);
}

// --- memory ------------------------------------------------------------------------------------------------------------------------------------------

static void runtime_only_unaligned_tensors_are_copied(void** state) {
  (void)state;
  assert_int_equal(mlxcel_program_copied_parameter_bytes(fixture.run.program), 0);
  tiny_llama_t recipe = test_model_recipe();
  recipe.is_unaligned = true;
  char* folder = compiled_models_new_folder();
  tiny_llama_write(&recipe, folder);
  mlxcel_checkpoint_t* checkpoint = NULL;
  compiled_model_expect_ok(mlxcel_checkpoint_open(folder, &checkpoint));
  test_run_t run = test_run_open("local-sync", 0, &fixture.artifact, checkpoint);
  assert_int_equal(mlxcel_program_copied_parameter_bytes(run.program), mlxcel_checkpoint_tensor_bytes(checkpoint));
  float *aligned = test_logits_create(), *copied = test_logits_create();
  test_decode(fixture.run.program, 0, 0, 0, 10, aligned);
  test_decode(run.program, 0, 0, 0, 10, copied);
  test_expect_equal(aligned, copied, 0, 10, "copied tensors");
  free(aligned);
  free(copied);
  test_run_close(&run);
  mlxcel_checkpoint_close(checkpoint);
  free(folder);
}

static void runtime_program_reports_its_sizes(void** state) {
  (void)state;
  assert_int_equal(mlxcel_program_context(fixture.run.program), TEST_CONTEXT);
  assert_int_equal(mlxcel_program_slot_count(fixture.run.program), TEST_SLOTS);
  assert_int_equal(mlxcel_program_kv_bytes(fixture.run.program), 2u * 2 * TEST_SLOTS * 2 * TEST_CONTEXT * 16 * sizeof(float));
  assert_ptr_equal(mlxcel_program_interface_of(fixture.run.program), &fixture.artifact.interface);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runtime_token_outside_of_the_vocabulary_is_refused),
      cmocka_unit_test(runtime_slot_that_does_not_exist_is_refused),
      cmocka_unit_test(runtime_position_behind_the_context_is_refused),
      cmocka_unit_test(runtime_rows_of_a_slot_must_ascend),
      cmocka_unit_test(runtime_equal_positions_in_different_slots_are_fine),
      cmocka_unit_test(runtime_number_of_rows_is_bounded_by_the_compiled_sizes),
      cmocka_unit_test(runtime_head_refuses_rows_that_the_prefill_had_not),
      cmocka_unit_test(runtime_impossible_context_or_slots_are_refused),
      cmocka_unit_test(runtime_contract_other_than_the_one_asked_for_is_refused),
      cmocka_unit_test(runtime_function_of_another_contract_is_refused_before_anything_runs),
      cmocka_unit_test(runtime_function_without_a_contract_is_refused_before_anything_runs),
      cmocka_unit_test(runtime_missing_function_is_named),
      cmocka_unit_test(runtime_missing_tensor_is_named),
      cmocka_unit_test(runtime_tensor_of_another_dtype_is_named),
      cmocka_unit_test(runtime_tensor_of_another_size_is_named),
      cmocka_unit_test(runtime_module_that_is_cut_short_is_refused),
      cmocka_unit_test(runtime_garbage_is_refused),
      cmocka_unit_test(runtime_only_unaligned_tensors_are_copied),
      cmocka_unit_test(runtime_program_reports_its_sizes),
  };
  return cmocka_run_group_tests_name("program_checks", tests, fixture_setup, fixture_teardown);
}
