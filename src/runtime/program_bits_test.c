// What a program computes, bit for bit: nothing but a text's own tokens decides its logits, whatever the KV cache is stored as. Needs the compiler.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/program_test_support.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
enum { kTexts = 3 };

static struct {
  mlxcel_dtype_t kv_dtype;
  compiled_model_t model;
  mlxcel_artifact_t artifact;
  float* expected[kTexts];  // decoded row by row on local-sync, each in a fresh slot
} fixture;

static int fixture_setup(void** state) {
  if (compiled_models_setup(state) != 0) return 1;
  tiny_llama_t recipe = test_model_recipe();
  mlxcel_emit_options_t options;
  test_model_options(&options);
  options.kv_dtype = fixture.kv_dtype;
  compiled_model_open(&recipe, &options, &fixture.model);
  compiled_model_compile(&fixture.model, NULL, MLXCEL_KERNEL_LEVEL_V3, &fixture.artifact);
  test_run_t run = test_run_open("local-sync", 0, &fixture.artifact, fixture.model.checkpoint);
  for (uint32_t t = 0; t < kTexts; ++t) {
    fixture.expected[t] = test_logits_create();
    test_decode(run.program, t, (int32_t)t, 0, TEST_TEXT, fixture.expected[t]);
  }
  test_run_close(&run);
  return 0;
}

static int fixture_teardown(void** state) {
  for (int t = 0; t < kTexts; ++t) free(fixture.expected[t]);
  mlxcel_artifact_deinitialize(&fixture.artifact);
  compiled_model_close(&fixture.model);
  return compiled_models_teardown(state);
}

static test_run_t open_run(const char* device, uint32_t threads) { return test_run_open(device, threads, &fixture.artifact, fixture.model.checkpoint); }

// The comparisons below would hold for a program that computes nothing.
static void runtime_logits_are_finite_and_tell_texts_and_positions_apart(void** state) {
  (void)state;
  const size_t row_bytes = TEST_VOCAB * sizeof(float);
  for (int t = 0; t < kTexts; ++t) {
    const float* logits = fixture.expected[t];
    for (size_t i = 0; i < (size_t)TEST_TEXT * TEST_VOCAB; ++i) assert_true(logits[i] > -1000.0f && logits[i] < 1000.0f);
    for (size_t p = 1; p < TEST_TEXT; ++p) {
      assert_memory_not_equal(logits + p * TEST_VOCAB, logits + (p - 1) * TEST_VOCAB, row_bytes);
      assert_memory_not_equal(logits + p * TEST_VOCAB, fixture.expected[(t + 1) % kTexts] + p * TEST_VOCAB, row_bytes);
    }
  }
}

// --- chunks ------------------------------------------------------------------------------------------------------------------------------------------

static const uint32_t chunkings[][6] = {{1}, {2}, {3}, {4}, {5}, {15}, {TEST_PREFILL_MAX}, {7, 16, 1, 2, 11}, {16, 16, 16, 16, 1}, {8}, {13}};

static void runtime_prefill_in_any_chunking_equals_decode(void** state) {
  (void)state;
  test_run_t run = open_run("local-task", 2);
  float* logits = test_logits_create();
  for (size_t c = 0; c < COUNT_OF(chunkings); ++c) {
    char what[64];
    snprintf(what, sizeof(what), "chunking %zu", c);
    int32_t slot = (int32_t)(c % TEST_SLOTS);  // with another text's content from the fifth on
    uint32_t text = (uint32_t)(c % kTexts);
    test_prefill(run.program, text, slot, 0, TEST_TEXT, chunkings[c], logits);
    test_expect_equal(fixture.expected[text], logits, 0, TEST_TEXT, what);
  }
  free(logits);
  test_run_close(&run);
}

static void runtime_prefill_and_decode_can_alternate(void** state) {
  (void)state;
  test_run_t run = open_run("local-sync", 0);
  float* logits = test_logits_create();
  test_prefill(run.program, 0, 2, 0, 61, chunkings[6], logits);
  test_decode(run.program, 0, 2, 61, 70, logits);
  test_prefill(run.program, 0, 2, 70, 131, chunkings[7], logits);
  test_decode(run.program, 0, 2, 131, TEST_TEXT, logits);
  test_expect_equal(fixture.expected[0], logits, 0, TEST_TEXT, "alternating");
  free(logits);
  test_run_close(&run);
}

// Rows of two texts in one prefill, alternately.
static void runtime_prefill_rows_of_several_slots_do_not_meet(void** state) {
  (void)state;
  test_run_t run = open_run("local-task", 2);
  float* logits = test_logits_create();
  for (uint32_t begin = 0; begin + 8 <= TEST_TEXT; begin += 8) {
    int32_t tokens[TEST_PREFILL_MAX], slots[TEST_PREFILL_MAX], positions[TEST_PREFILL_MAX];
    for (uint32_t r = 0; r < TEST_PREFILL_MAX; ++r) {
      tokens[r] = test_token(r % 2, begin + r / 2);
      slots[r] = r % 2 ? 0 : 3;
      positions[r] = (int32_t)(begin + r / 2);
    }
    const mlxcel_rows_t rows = {TEST_PREFILL_MAX, tokens, slots, positions};
    compiled_model_expect_ok(mlxcel_program_prefill(run.program, &rows));
    for (uint32_t text = 0; text < 2; ++text) {
      const uint32_t indices[] = {text, text + 2, text + 4, text + 6, text + 8, text + 10, text + 12, text + 14};
      compiled_model_expect_ok(mlxcel_program_head(run.program, 8, indices, logits + (size_t)begin * TEST_VOCAB));
      test_expect_equal(fixture.expected[text], logits, begin, begin + 8, text ? "odd rows" : "even rows");
    }
  }
  free(logits);
  test_run_close(&run);
}

static void runtime_head_gives_the_rows_asked_for_in_their_order(void** state) {
  (void)state;
  test_run_t run = open_run("local-sync", 0);
  float* logits = test_logits_create();
  test_prefill(run.program, 1, 0, 0, 9, (const uint32_t[]){9, 0}, logits);
  const uint32_t indices[] = {8, 0, 3, 3, 7, 0, 1};
  float rows[COUNT_OF(indices)][TEST_VOCAB];
  for (uint32_t count = 1; count <= COUNT_OF(indices); ++count) {
    memset(rows, 0x5a, sizeof(rows));
    compiled_model_expect_ok(mlxcel_program_head(run.program, count, indices, rows[0]));
    for (uint32_t i = 0; i < count; ++i) {
      assert_memory_equal(rows[i], fixture.expected[1] + (size_t)indices[i] * TEST_VOCAB, sizeof(rows[i]));
    }
    for (size_t i = (size_t)count * sizeof(rows[0]); i < sizeof(rows); ++i) assert_int_equal(((const unsigned char*)rows)[i], 0x5a);
  }
  free(logits);
  test_run_close(&run);
}

// --- batches -----------------------------------------------------------------------------------------------------------------------------------------

typedef struct batch_row_t {
  int text;  // -1: an inactive row
  int32_t slot;
  uint32_t position;
} batch_row_t;

// One decode step; the logits of every active row are those of its text, inactive rows keep what the caller had there.
static void decode_batch(mlxcel_program_t* program, const batch_row_t* batch, uint32_t count) {
  int32_t tokens[TEST_DECODE_MAX], slots[TEST_DECODE_MAX], positions[TEST_DECODE_MAX];
  float logits[TEST_DECODE_MAX][TEST_VOCAB], untouched[TEST_VOCAB];
  memset(logits, 0x5a, sizeof(logits));
  memset(untouched, 0x5a, sizeof(untouched));
  for (uint32_t r = 0; r < count; ++r) {
    bool active = batch[r].text >= 0;
    tokens[r] = active ? test_token((uint32_t)batch[r].text, batch[r].position) : -7;
    slots[r] = active ? batch[r].slot : 99;
    positions[r] = active ? (int32_t)batch[r].position : -1;
  }
  const mlxcel_rows_t rows = {count, tokens, slots, positions};
  compiled_model_expect_ok(mlxcel_program_decode(program, &rows, logits[0]));
  for (uint32_t r = 0; r < count; ++r) {
    const float* expected = batch[r].text < 0 ? untouched : fixture.expected[batch[r].text] + (size_t)batch[r].position * TEST_VOCAB;
    if (memcmp(logits[r], expected, sizeof(logits[r])) != 0) {
      fail_msg("row %u of %u (text %d, slot %d, position %u) has other bits than alone", r, count, batch[r].text, batch[r].slot, batch[r].position);
    }
  }
  for (uint32_t r = count; r < TEST_DECODE_MAX; ++r) assert_memory_equal(logits[r], untouched, sizeof(logits[r]));
}

// Texts join and leave, their rows change places, inactive rows stand in between: B1.
static void decode_in_changing_batches(test_run_t* run, const int32_t slots[kTexts]) {
  static const uint32_t starts[kTexts] = {0, 5, 70};
  for (uint32_t step = 0; step < TEST_TEXT + starts[kTexts - 1]; ++step) {
    batch_row_t batch[TEST_DECODE_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < kTexts; ++i) {
      uint32_t text = (i + step) % kTexts;
      if (step < starts[text] || step - starts[text] >= TEST_TEXT) continue;
      if (step % 4 == i && count + kTexts - i < TEST_DECODE_MAX) batch[count++] = (batch_row_t){.text = -1};
      batch[count++] = (batch_row_t){(int)text, slots[text], step - starts[text]};
    }
    if (count > 0 && count < TEST_DECODE_MAX && step % 5 == 0) batch[count++] = (batch_row_t){.text = -1};
    if (count > 0) decode_batch(run->program, batch, count);
  }
}

static void runtime_batch_rows_equal_single_rows_in_any_composition(void** state) {
  (void)state;
  static const int32_t slots[][kTexts] = {{0, 1, 2}, {3, 0, 1}, {2, 3, 0}};
  test_run_t run = open_run("local-task", 2);
  for (size_t i = 0; i < COUNT_OF(slots); ++i) decode_in_changing_batches(&run, slots[i]);
  test_run_close(&run);
  run = open_run("local-sync", 0);
  decode_in_changing_batches(&run, slots[1]);
  test_run_close(&run);
}

// --- caches ------------------------------------------------------------------------------------------------------------------------------------------

enum { kCellsOfAPosition = 2 * 2 * 2 };  // K and V, layers, KV heads

static void runtime_prefill_writes_its_positions_and_nothing_else(void** state) {
  (void)state;
  test_run_t run = open_run("local-task", 2);
  float* logits = test_logits_create();
  for (int32_t slot = 0; slot < TEST_SLOTS; ++slot) test_prefill(run.program, 2, slot, 0, TEST_TEXT, chunkings[6], logits);
  test_caches_t before = test_caches_copy(run.program);
  test_prefill(run.program, 0, 1, 3, 10, (const uint32_t[]){5, 2, 0}, logits);  // padded to 16 and to 4 rows
  assert_int_equal(test_caches_compare(run.program, &before, 1, 3, 10), 7 * kCellsOfAPosition);
  test_caches_free(&before);
  free(logits);
  test_run_close(&run);
}

static void runtime_inactive_rows_write_nothing(void** state) {
  (void)state;
  test_run_t run = open_run("local-sync", 0);
  float* logits = test_logits_create();
  for (int32_t slot = 0; slot < TEST_SLOTS; ++slot) test_prefill(run.program, 2, slot, 0, TEST_TEXT, chunkings[6], logits);
  test_caches_t before = test_caches_copy(run.program);
  const int32_t tokens[] = {1, 2, 3, 4, 5}, slots[] = {0, 2, 0, 3, 0}, positions[] = {-1, 4, -1, -1, -1}, none[] = {-1, -1, INT32_MIN, -1, -2};
  const mlxcel_rows_t one = {5, tokens, slots, positions}, no = {5, tokens, slots, none};
  compiled_model_expect_ok(mlxcel_program_prefill(run.program, &no));
  assert_int_equal(test_caches_compare(run.program, &before, -1, 0, 0), 0);
  compiled_model_expect_ok(mlxcel_program_prefill(run.program, &one));
  assert_int_equal(test_caches_compare(run.program, &before, 2, 4, 5), kCellsOfAPosition);
  test_caches_free(&before);
  before = test_caches_copy(run.program);
  const mlxcel_rows_t none_of_four = {4, tokens, slots, none}, one_of_four = {4, tokens, slots, positions};
  compiled_model_expect_ok(mlxcel_program_decode(run.program, &none_of_four, logits));
  assert_int_equal(test_caches_compare(run.program, &before, -1, 0, 0), 0);
  compiled_model_expect_ok(mlxcel_program_decode(run.program, &one_of_four, logits));
  assert_int_equal(test_caches_compare(run.program, &before, -1, 0, 0), 0);  // the same token at the same place again
  test_caches_free(&before);
  free(logits);
  test_run_close(&run);
}

// Whatever stands in other slots, and what a text before left in the same one, leaves no trace.
static void runtime_slots_are_isolated_and_can_be_used_again(void** state) {
  (void)state;
  test_run_t run = open_run("local-task", 2);
  float* logits = test_logits_create();
  test_prefill(run.program, 1, 0, 0, TEST_TEXT, chunkings[6], logits);
  test_prefill(run.program, 2, 3, 0, TEST_TEXT, chunkings[6], logits);
  test_caches_t before = test_caches_copy(run.program);
  test_decode(run.program, 0, 1, 0, 40, logits);
  test_expect_equal(fixture.expected[0], logits, 0, 40, "between two full slots");
  assert_int_equal(test_caches_compare(run.program, &before, 1, 0, 40), 40 * kCellsOfAPosition);
  test_caches_free(&before);
  test_decode(run.program, 2, 0, 0, 40, logits);
  test_expect_equal(fixture.expected[2], logits, 0, 40, "behind a longer text");
  test_decode(run.program, 0, 1, 40, 50, logits);
  test_expect_equal(fixture.expected[0], logits, 40, 50, "after a pause");
  // Back to a shared beginning: positions 20 and up are written anew.
  test_decode(run.program, 0, 1, 20, 60, logits);
  test_expect_equal(fixture.expected[0], logits, 20, 60, "after a step back");
  free(logits);
  test_run_close(&run);
}

// --- devices, threads, instruction sets --------------------------------------------------------------------------------------------------------------

static void expect_fixture_bits(test_run_t* run, const char* what) {
  float* logits = test_logits_create();
  test_prefill(run->program, 0, 1, 0, 100, chunkings[7], logits);
  test_decode(run->program, 0, 1, 100, TEST_TEXT, logits);
  test_expect_equal(fixture.expected[0], logits, 0, TEST_TEXT, what);
  free(logits);
  decode_in_changing_batches(run, (const int32_t[]){0, 1, 2});
}

static void expect_bits_with_threads(const mlxcel_artifact_t* artifact, const char* module, uint32_t threads) {
  test_run_t run = test_run_open(threads ? "local-task" : "local-sync", threads, artifact, fixture.model.checkpoint);
  char what[64];
  snprintf(what, sizeof(what), "%s with %u threads", module, threads);
  expect_fixture_bits(&run, what);
  test_run_close(&run);
}

static const uint32_t thread_counts[] = {0, 1, 2, 3, 4, 8};  // 0 = local-sync

static void runtime_thread_count_and_device_do_not_show_in_the_bits(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(thread_counts); ++i) expect_bits_with_threads(&fixture.artifact, "the module for any device", thread_counts[i]);
}

static void runtime_repetition_gives_the_same_bits(void** state) {
  (void)state;
  test_run_t run = open_run("local-task", 8);
  for (int i = 0; i < 5; ++i) expect_fixture_bits(&run, "again");
  test_run_close(&run);
}

// Emits and compiles the fixture's model for so many workers.
static void compile_for_workers(uint32_t workers, mlxcel_kernel_level_t level, mlxcel_artifact_t* out_artifact) {
  tiny_llama_t recipe = test_model_recipe();
  mlxcel_emit_options_t options;
  test_model_options(&options);
  options.kv_dtype = fixture.kv_dtype;
  options.workers = workers;
  compiled_model_t model;
  compiled_model_open(&recipe, &options, &model);
  compiled_model_compile(&model, NULL, level, out_artifact);
  compiled_model_close(&model);
}

// Another module, cut otherwise, under the same contract; it runs on any device.
static void runtime_workers_of_a_module_do_not_show_in_the_bits(void** state) {
  (void)state;
  static const uint32_t workers[] = {1, 2, 3, 4, 8};
  for (size_t i = 0; i < COUNT_OF(workers); ++i) {
    mlxcel_artifact_t artifact;
    compile_for_workers(workers[i], MLXCEL_KERNEL_LEVEL_V3, &artifact);
    assert_string_not_equal(artifact.key.text, fixture.artifact.key.text);
    assert_string_equal(artifact.contract_fingerprint.text, fixture.artifact.contract_fingerprint.text);
    char what[32];
    snprintf(what, sizeof(what), "the module for %u workers", workers[i]);
    bool is_of_two = workers[i] == 2;  // on all devices; the others on theirs, and on the largest and the smallest
    for (size_t t = 0; t < COUNT_OF(thread_counts); ++t) {
      uint32_t threads = thread_counts[t];
      if (is_of_two || threads == workers[i] || threads == 8 || threads == 0) expect_bits_with_threads(&artifact, what, threads);
    }
    mlxcel_artifact_deinitialize(&artifact);
  }
}

static void runtime_v3_and_v4_kernels_give_the_same_bits(void** state) {
  (void)state;
  if (!mlxcel_kernel_level_runs_here(MLXCEL_KERNEL_LEVEL_V4)) {
    print_message("skipped: this processor doesn't run x86-64-v4\n");
    skip();
  }
  mlxcel_artifact_t v4;
  compiled_model_compile(&fixture.model, NULL, MLXCEL_KERNEL_LEVEL_V4, &v4);
  assert_string_not_equal(v4.key.text, fixture.artifact.key.text);
  assert_string_equal(v4.contract_fingerprint.text, fixture.artifact.contract_fingerprint.text);
  for (size_t i = 0; i < COUNT_OF(thread_counts); ++i) expect_bits_with_threads(&v4, "v4", thread_counts[i]);
  mlxcel_artifact_deinitialize(&v4);
  compile_for_workers(2, MLXCEL_KERNEL_LEVEL_V4, &v4);
  expect_bits_with_threads(&v4, "v4 for 2 workers", 2);
  expect_bits_with_threads(&v4, "v4 for 2 workers", 8);
  mlxcel_artifact_deinitialize(&v4);
}

static void runtime_two_programs_on_one_device_do_not_meet(void** state) {
  (void)state;
  test_run_t run = open_run("local-task", 2);
  const mlxcel_program_options_t options = test_program_options(&fixture.artifact);
  mlxcel_program_t* second = NULL;
  compiled_model_expect_ok(mlxcel_program_load(run.device, &fixture.artifact, fixture.model.checkpoint, &options, &second));
  float *a = test_logits_create(), *b = test_logits_create();
  for (uint32_t p = 0; p < 20; ++p) {
    test_decode(run.program, 0, 0, p, p + 1, a);
    test_decode(second, 1, 0, p, p + 1, b);
  }
  mlxcel_program_unload(second);
  test_decode(run.program, 0, 0, 20, 30, a);
  test_expect_equal(fixture.expected[0], a, 0, 30, "first program");
  test_expect_equal(fixture.expected[1], b, 0, 20, "second program");
  free(a);
  free(b);
  test_run_close(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runtime_logits_are_finite_and_tell_texts_and_positions_apart),
      cmocka_unit_test(runtime_prefill_in_any_chunking_equals_decode),
      cmocka_unit_test(runtime_prefill_and_decode_can_alternate),
      cmocka_unit_test(runtime_prefill_rows_of_several_slots_do_not_meet),
      cmocka_unit_test(runtime_head_gives_the_rows_asked_for_in_their_order),
      cmocka_unit_test(runtime_batch_rows_equal_single_rows_in_any_composition),
      cmocka_unit_test(runtime_prefill_writes_its_positions_and_nothing_else),
      cmocka_unit_test(runtime_inactive_rows_write_nothing),
      cmocka_unit_test(runtime_slots_are_isolated_and_can_be_used_again),
      cmocka_unit_test(runtime_thread_count_and_device_do_not_show_in_the_bits),
      cmocka_unit_test(runtime_repetition_gives_the_same_bits),
      cmocka_unit_test(runtime_workers_of_a_module_do_not_show_in_the_bits),
      cmocka_unit_test(runtime_v3_and_v4_kernels_give_the_same_bits),
      cmocka_unit_test(runtime_two_programs_on_one_device_do_not_meet),
  };
  static const struct {
    mlxcel_dtype_t dtype;
    const char* name;
  } caches[] = {{MLXCEL_DTYPE_F32, "program_bits"}, {MLXCEL_DTYPE_F16, "program_bits, f16 cache"}, {MLXCEL_DTYPE_BF16, "program_bits, bf16 cache"}};
  int failed = 0;
  for (size_t i = 0; i < COUNT_OF(caches); ++i) {
    fixture.kv_dtype = caches[i].dtype;
    failed += cmocka_run_group_tests_name(caches[i].name, tests, fixture_setup, fixture_teardown);
  }
  return failed;
}
