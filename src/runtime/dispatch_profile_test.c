// Profiles of a tiny model: what is counted is what the module's text says, times fit together, and looking changes nothing. Needs the compiler.
#include "runtime/dispatch_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/dispatch_profile_report.h"
#include "runtime/program_test_support.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static struct {
  compiled_model_t model;
  mlxcel_artifact_t artifact;
  tiny_llama_t recipe;
} fixture;

static int fixture_setup(void** state) {
  if (compiled_models_setup(state) != 0) return 1;
  fixture.recipe = test_model_recipe();
  mlxcel_emit_options_t options;
  test_model_options(&options);
  compiled_model_open(&fixture.recipe, &options, &fixture.model);
  compiled_model_compile(&fixture.model, NULL, MLXCEL_KERNEL_LEVEL_V3, &fixture.artifact);
  return 0;
}

static int fixture_teardown(void** state) {
  mlxcel_artifact_deinitialize(&fixture.artifact);
  compiled_model_close(&fixture.model);
  return compiled_models_teardown(state);
}

static const struct {
  const char* name;
  uint32_t threads, workers;
} devices[] = {{"local-sync", 0, 1}, {"local-task", 1, 1}, {"local-task", 2, 2}};

static test_run_t open_run(size_t device) { return test_run_open(devices[device].name, devices[device].threads, &fixture.artifact, fixture.model.checkpoint); }

// A prefill of 10 rows in one call of prefill_16, the logits of its last row, three decodes. |logits|: of the positions 9 to 12.
enum { kPrefilled = 10, kDecoded = 3 };
static void run_some(mlxcel_program_t* program, float* logits) {
  int32_t tokens[kPrefilled], slots[kPrefilled], positions[kPrefilled];
  for (int32_t r = 0; r < kPrefilled; ++r) {
    tokens[r] = test_token(0, (uint32_t)r);
    slots[r] = 1;
    positions[r] = r;
  }
  const mlxcel_rows_t rows = {kPrefilled, tokens, slots, positions};
  compiled_model_expect_ok(mlxcel_program_prefill(program, &rows));
  compiled_model_expect_ok(mlxcel_program_head(program, 1, (const uint32_t[]){kPrefilled - 1}, logits + (kPrefilled - 1) * TEST_VOCAB));
  test_decode(program, 0, 1, kPrefilled, kPrefilled + kDecoded, logits);
}

static void expect_no_rows(const mlxcel_dispatch_profile_t* profile) {
  assert_int_equal(profile->row_count, 0);
  assert_int_equal(profile->calls, 0);
  assert_int_equal(profile->submissions, 0);
  assert_int_equal(profile->device_ns + profile->gap_ns + profile->busy_ns, 0);
}

// --- counts ----------------------------------------------------------------------------------------------------------------------------------

// Calls of |kernel| in the text of function |name|: found by searching, not by the reader under test.
static size_t count_in_text(const char* name, const char* kernel) {
  char begin[64], call[64];
  snprintf(begin, sizeof(begin), "\n  func.func @%s(", name);
  snprintf(call, sizeof(call), "@kernels::@%s[", kernel);
  const char* at = strstr(fixture.model.emitted.mlir_text, begin);
  assert_non_null(at);
  const char* end = strstr(at + 1, "\n  func.func @");
  size_t count = 0;
  for (at = strstr(at, call); at && (!end || at < end); at = strstr(at + 1, call)) ++count;
  return count;
}

static uint64_t calls_of(const mlxcel_dispatch_profile_t* profile, const char* kernel) {
  uint64_t calls = 0;
  for (size_t i = 0; i < profile->row_count; ++i) calls += strcmp(profile->rows[i].kernel, kernel) == 0 ? profile->rows[i].calls : 0;
  return calls;
}

static void expect_emitted_counts(const mlxcel_dispatch_profile_t* profile) {
  static const char* const kernels[] = {"embed", "rms_norm", "qkv_rope", "attention", "matmul", "gate_up"};
  uint64_t all = 0;
  for (size_t k = 0; k < COUNT_OF(kernels); ++k) {
    size_t expected = count_in_text("prefill_16", kernels[k]) + count_in_text("head_1", kernels[k]) + kDecoded * count_in_text("decode_1", kernels[k]);
    assert_true(expected > 0);
    assert_int_equal(calls_of(profile, kernels[k]), expected);
    all += expected;
  }
  assert_int_equal(profile->calls, all);
}

static void expect_times_fit(const mlxcel_dispatch_profile_t* profile, uint32_t workers) {
  uint64_t wall = 0, busy = 0;
  assert_int_equal(profile->worker_count, workers);
  for (size_t i = 0; i < profile->row_count; ++i) {
    const mlxcel_dispatch_row_t* row = &profile->rows[i];
    assert_true(row->wall_ns > 0 && row->busy_ns > 0 && row->busy_ns <= workers * row->wall_ns);
    assert_true(i == 0 || row->wall_ns <= profile->rows[i - 1].wall_ns);
    assert_true(row->workgroups >= row->calls);
    wall += row->wall_ns;
    busy += row->busy_ns;
  }
  assert_int_equal(busy, profile->busy_ns);
  // One part after the other on one worker; several may overlap.
  if (workers == 1) assert_int_equal(wall, profile->device_ns);
  assert_true(wall >= profile->device_ns && busy <= workers * profile->device_ns);
  assert_int_equal(profile->device_ns + profile->gap_ns + profile->outside_ns, profile->wall_ns);
  assert_true(profile->outside_ns > 0);
}

static void profile_counts_what_was_emitted_on_every_device(void** state) {
  (void)state;
  float* logits = test_logits_create();
  for (size_t d = 0; d < COUNT_OF(devices); ++d) {
    test_run_t run = open_run(d);
    mlxcel_dispatch_profile_t profile;
    compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
    run_some(run.program, logits);
    compiled_model_expect_ok(mlxcel_dispatch_profile_end(run.device, &profile));
    expect_emitted_counts(&profile);
    expect_times_fit(&profile, devices[d].workers);
    assert_int_equal(profile.submissions, 2 + kDecoded);
    assert_int_equal(profile.lost_calls, 0);
    for (size_t i = 0; i < profile.row_count; ++i) {
      if (profile.rows[i].known != (MLXCEL_DISPATCH_KNOWS_BYTES | MLXCEL_DISPATCH_KNOWS_FLOPS)) fail_msg("%s has no cost", profile.rows[i].label);
    }
    mlxcel_dispatch_profile_deinitialize(&profile);
    test_run_close(&run);
  }
  free(logits);
}

// --- costs -----------------------------------------------------------------------------------------------------------------------------------

static const mlxcel_dispatch_row_t* row_of(const mlxcel_dispatch_profile_t* profile, const char* label) {
  for (size_t i = 0; i < profile->row_count; ++i) {
    if (strcmp(profile->rows[i].label, label) == 0) return &profile->rows[i];
  }
  fail_msg("no row '%s'", label);
  return NULL;
}

static void profile_tells_shapes_apart_and_costs_follow_positions(void** state) {
  (void)state;
  float* logits = test_logits_create();
  test_run_t run = open_run(2);
  mlxcel_dispatch_profile_t profile;
  compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
  run_some(run.program, logits);
  compiled_model_expect_ok(mlxcel_dispatch_profile_end(run.device, &profile));
  const tiny_llama_t* model = &fixture.recipe;
  uint64_t q = model->heads * model->head_dim, kv = model->kv_heads * model->head_dim;
  char label[MLXCEL_DISPATCH_LABEL_BYTES];
  // Two layers; rows 0 to 9 see 1 to 10 keys, the decodes 11, 12 and 13.
  snprintf(label, sizeof(label), "attention heads=%u/%ux%u rows=16", model->heads, model->kv_heads, model->head_dim);
  const mlxcel_dispatch_row_t* row = row_of(&profile, label);
  assert_int_equal(row->calls, 2);
  assert_int_equal(row->flops, 2 * 55 * q * 4);
  assert_int_equal(row->bytes, 2 * (10 * q * 2 * 4 + 10 * kv * 2 * 4));
  snprintf(label, sizeof(label), "attention heads=%u/%ux%u rows=1", model->heads, model->kv_heads, model->head_dim);
  row = row_of(&profile, label);
  assert_int_equal(row->calls, 2 * kDecoded);
  assert_int_equal(row->flops, 2 * (11 + 12 + 13) * q * 4);
  assert_int_equal(row->bytes, 2 * (3 * q * 2 * 4 + (11 + 12 + 13) * kv * 2 * 4));
  // The head of 6 bits runs in head_1 and in each decode_1: codes, f16 scale and offset for each 64, x and out.
  snprintf(label, sizeof(label), "matmul %ux%u q6 g64 rows=1", model->hidden, model->vocab);
  row = row_of(&profile, label);
  assert_int_equal(row->calls, 1 + kDecoded);
  assert_int_equal(row->bytes, (1 + kDecoded) * (model->vocab * (model->hidden * 6 / 8 + model->hidden / 64 * 4) + (model->hidden + model->vocab) * 4));
  assert_int_equal(row->flops, (1 + kDecoded) * 2 * model->hidden * model->vocab);
  mlxcel_dispatch_profile_deinitialize(&profile);
  test_run_close(&run);
  free(logits);
}

// A module in no store has no text: counts and times stay, costs are unknown.
static void profile_without_the_modules_text_knows_no_costs(void** state) {
  (void)state;
  float* logits = test_logits_create();
  test_run_t run = open_run(0);
  char* folder = fixture.artifact.folder;
  mlxcel_dispatch_profile_t profile;
  fixture.artifact.folder = (char[]){""};
  compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
  run_some(run.program, logits);
  compiled_model_expect_ok(mlxcel_dispatch_profile_end(run.device, &profile));
  fixture.artifact.folder = folder;
  expect_emitted_counts(&profile);
  expect_times_fit(&profile, 1);
  assert_int_equal(profile.row_count, 6);
  for (size_t i = 0; i < profile.row_count; ++i) {
    assert_string_equal(profile.rows[i].label, profile.rows[i].kernel);
    assert_int_equal(profile.rows[i].known + profile.rows[i].bytes + profile.rows[i].flops, 0);
  }
  mlxcel_dispatch_profile_deinitialize(&profile);
  test_run_close(&run);
  free(logits);
}

// Changes the text behind |at| up to the end of its function, as |change| says.
enum { kRenameACall, kChangeWorkgroups };
static void change_function(char* at, int change) {
  char* end = strstr(at + 1, "\n  func.func @");
  static const char call[] = "@kernels::@matmul[", constant[] = " : index\n";
  const char* wanted = change == kRenameACall ? call : constant;
  for (at = strstr(at, wanted); at && (!end || at < end); at = strstr(at + 1, wanted)) {
    if (change == kRenameACall) {
      at[sizeof(call) - 3] = 'x';  // one call of "matmux", which is no kernel
      return;
    }
    at[-1] = (char)(at[-1] == '9' ? '8' : at[-1] + 1);
  }
}

// A text that isn't the module's, but has the same functions: what doesn't pair up call by call isn't trusted at all.
static void profile_with_another_text_knows_no_costs(void** state) {
  (void)state;
  float* logits = test_logits_create();
  char* own_folder = fixture.artifact.folder;
  for (int change = kRenameACall; change <= kChangeWorkgroups; ++change) {
    char *folder = compiled_models_new_folder(), *path = NULL, *copy = strdup(fixture.model.emitted.mlir_text);
    assert_non_null(copy);
    change_function(strstr(copy, "\n  func.func @decode_1("), change);
    compiled_model_expect_ok(mlxcel_path_join(folder, IREE_SV("model.mlir"), &path));
    compiled_model_expect_ok(mlxcel_file_publish(path, copy, strlen(copy)));
    test_run_t run = open_run(2);
    mlxcel_dispatch_profile_t profile;
    fixture.artifact.folder = folder;
    compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
    test_decode(run.program, 0, 1, 0, 2, logits);
    compiled_model_expect_ok(mlxcel_dispatch_profile_end(run.device, &profile));
    fixture.artifact.folder = own_folder;
    assert_int_equal(profile.row_count, 6);
    for (size_t i = 0; i < profile.row_count; ++i) assert_int_equal(profile.rows[i].known + profile.rows[i].bytes + profile.rows[i].flops, 0);
    mlxcel_dispatch_profile_deinitialize(&profile);
    test_run_close(&run);
    free(copy);
    free(path);
    free(folder);
  }
  free(logits);
}

// --- begin and end ---------------------------------------------------------------------------------------------------------------------------

static void expect_code(iree_status_t status, iree_status_code_t code) { assert_int_equal(iree_status_consume_code(status), code); }

static void profile_of_nothing_has_no_rows(void** state) {
  (void)state;
  float* logits = test_logits_create();
  for (size_t d = 0; d < COUNT_OF(devices); ++d) {
    test_run_t run = open_run(d);
    mlxcel_dispatch_profile_t profile;
    run_some(run.program, logits);
    compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
    compiled_model_expect_ok(mlxcel_dispatch_profile_end(run.device, &profile));
    expect_no_rows(&profile);
    mlxcel_dispatch_profile_deinitialize(&profile);
    test_run_close(&run);
  }
  free(logits);
}

static void profile_begun_twice_or_ended_unbegun_is_an_error(void** state) {
  (void)state;
  test_run_t run = open_run(2);
  mlxcel_dispatch_profile_t profile;
  expect_code(mlxcel_dispatch_profile_end(run.device, &profile), IREE_STATUS_FAILED_PRECONDITION);
  expect_no_rows(&profile);
  compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
  expect_code(mlxcel_dispatch_profile_begin(run.device), IREE_STATUS_FAILED_PRECONDITION);
  compiled_model_expect_ok(mlxcel_dispatch_profile_end(run.device, &profile));
  mlxcel_dispatch_profile_deinitialize(&profile);
  expect_code(mlxcel_dispatch_profile_end(run.device, &profile), IREE_STATUS_FAILED_PRECONDITION);
  compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
  test_run_close(&run);  // a profile that nobody ends goes with its device
}

static void profile_leaves_results_as_they_are(void** state) {
  (void)state;
  float *plain = test_logits_create(), *profiled = test_logits_create();
  for (size_t d = 0; d < COUNT_OF(devices); ++d) {
    test_run_t run = open_run(d);
    mlxcel_dispatch_profile_t profile;
    run_some(run.program, plain);
    for (int repetition = 0; repetition < 2; ++repetition) {
      memset(profiled, 0, (size_t)TEST_TEXT * TEST_VOCAB * sizeof(float));
      compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
      run_some(run.program, profiled);
      compiled_model_expect_ok(mlxcel_dispatch_profile_end(run.device, &profile));
      expect_emitted_counts(&profile);
      mlxcel_dispatch_profile_deinitialize(&profile);
      test_expect_equal(plain, profiled, kPrefilled - 1, kPrefilled + kDecoded, "profiled");
    }
    memset(profiled, 0, (size_t)TEST_TEXT * TEST_VOCAB * sizeof(float));
    run_some(run.program, profiled);
    test_expect_equal(plain, profiled, kPrefilled - 1, kPrefilled + kDecoded, "after a profile");
    test_run_close(&run);
  }
  free(plain);
  free(profiled);
}

// More dispatches than the device's memory for them holds (4,096) are no loss: each call is taken in before the next one.
static void profile_of_many_calls_loses_none(void** state) {
  (void)state;
  float* logits = test_logits_create();
  test_run_t run = open_run(0);
  mlxcel_dispatch_profile_t profile;
  size_t of_a_decode = 0;
  static const char* const kernels[] = {"embed", "rms_norm", "qkv_rope", "attention", "matmul", "gate_up"};
  for (size_t k = 0; k < COUNT_OF(kernels); ++k) of_a_decode += count_in_text("decode_1", kernels[k]);
  uint32_t decodes = (uint32_t)(4096 / of_a_decode + 2);
  compiled_model_expect_ok(mlxcel_dispatch_profile_begin(run.device));
  for (uint32_t i = 0; i < decodes; ++i) test_decode(run.program, 0, 1, 0, 1, logits);
  compiled_model_expect_ok(mlxcel_dispatch_profile_end(run.device, &profile));
  assert_true(profile.calls > 4096);
  assert_int_equal(profile.calls, decodes * of_a_decode);
  assert_int_equal(profile.lost_calls, 0);
  mlxcel_dispatch_profile_deinitialize(&profile);
  test_run_close(&run);
  free(logits);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(profile_counts_what_was_emitted_on_every_device),
      cmocka_unit_test(profile_tells_shapes_apart_and_costs_follow_positions),
      cmocka_unit_test(profile_without_the_modules_text_knows_no_costs),
      cmocka_unit_test(profile_with_another_text_knows_no_costs),
      cmocka_unit_test(profile_of_nothing_has_no_rows),
      cmocka_unit_test(profile_begun_twice_or_ended_unbegun_is_an_error),
      cmocka_unit_test(profile_leaves_results_as_they_are),
      cmocka_unit_test(profile_of_many_calls_loses_none),
  };
  return cmocka_run_group_tests_name("dispatch_profile", tests, fixture_setup, fixture_teardown);
}
