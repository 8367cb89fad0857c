// artifact_compiler_test.c: the module with the real compiler (MLXCEL_XLA_IREE_COMPILE, or the one that this build was configured with).
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact_cache.h"
#include "artifact/artifact_test_support.h"
#include "artifact/compile_process.h"
#include "artifact/compiler_identity.h"
#include "build_identity.h"

static const char kAdd[] =
    "func.func @add(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "}\n";

static const char* const kFlags[] = {"--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                                     "--iree-llvmcpu-target-cpu=x86-64-v3", "--iree-opt-level=O2"};

typedef struct fixture_t {
  char* folder;
  char root[512];
  const char* compiler;
  test_request_t sample;
} fixture_t;

static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  const char* named = getenv("MLXCEL_XLA_IREE_COMPILE");
  fixture->compiler = named && named[0] ? named : MLXCEL_DEFAULT_COMPILER;
  fixture->folder = test_folder_make();
  snprintf(fixture->root, sizeof(fixture->root), "%s/cache", fixture->folder);
  test_request_initialize(fixture->compiler, &fixture->sample);
  fixture->sample.request.mlir_text = iree_make_cstring_view(kAdd);
  fixture->sample.request.flags = kFlags;
  fixture->sample.request.flag_count = IREE_ARRAYSIZE(kFlags);
  *state = fixture;
  if (mlxcel_compiler_is_present(fixture->compiler)) return 0;
  print_error("no compiler at '%s': run scripts/setup.sh or set MLXCEL_XLA_IREE_COMPILE\n", fixture->compiler);
  return 1;
}

static int fixture_teardown(void** state) {
  fixture_t* fixture = *state;
  test_request_deinitialize(&fixture->sample);
  test_folder_remove(fixture->folder);
  free(fixture);
  return 0;
}

static void compiler_result_is_reproducible_and_found_again(void** state) {
  fixture_t* fixture = *state;
  mlxcel_artifact_t first, hit, second;
  TEST_ASSERT_OK(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &first));
  TEST_ASSERT_OK(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &hit));
  TEST_ASSERT_OK(mlxcel_artifact_obtain(test_path(fixture->folder, "another cache"), &fixture->sample.request, NULL, &second));
  assert_false(first.was_cached);
  assert_true(hit.was_cached);
  assert_false(second.was_cached);
  assert_string_equal(first.key.text, second.key.text);
  assert_string_equal(first.vmfb_digest.text, hit.vmfb_digest.text);
  assert_string_equal(first.vmfb_digest.text, second.vmfb_digest.text);
  assert_memory_equal(first.vmfb.data, second.vmfb.data, first.vmfb.size);
  assert_non_null(strstr(first.manifest_text, "IREE compiler version"));
  fixture->sample.request.compiler_path = NULL;
  mlxcel_artifact_deinitialize(&hit);
  TEST_ASSERT_OK(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &hit));
  assert_memory_equal(first.vmfb.data, hit.vmfb.data, first.vmfb.size);
  mlxcel_artifact_deinitialize(&first);
  mlxcel_artifact_deinitialize(&hit);
  mlxcel_artifact_deinitialize(&second);
}

static void compiler_error_is_shown_with_its_line(void** state) {
  fixture_t* fixture = *state;
  fixture->sample.request.mlir_text = IREE_SV("func.func @f(%a: tensor<4xf3>) {\n  return\n}\n");
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact), IREE_STATUS_INTERNAL, "exit code 1",
                     "model.mlir:1:", "error:", "/failed/");
}

static void compiler_stops_at_the_memory_limit(void** state) {
  fixture_t* fixture = *state;
  test_file_write(test_path(fixture->folder, "model.mlir"), kAdd, sizeof(kAdd) - 1, 0644);
  const char* arguments[] = {"model.mlir", "-o", "model.vmfb", kFlags[0], kFlags[1], kFlags[2], kFlags[3]};
  mlxcel_compile_process_options_t options;
  mlxcel_compile_process_options_initialize(&options);
  options.program = fixture->compiler;
  options.folder = fixture->folder;
  options.argument_count = IREE_ARRAYSIZE(arguments);
  options.arguments = arguments;
  options.memory_limit_bytes = 24u << 20;
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(mlxcel_compile_process_run(&options, &result));
  assert_true(result.exit_code != 0 || result.signal_number != 0);
  mlxcel_compile_process_result_deinitialize(&result);
  options.memory_limit_bytes = UINT64_C(4) << 30;
  TEST_ASSERT_OK(mlxcel_compile_process_run(&options, &result));
  assert_true(result.exit_code == 0 && result.signal_number == 0);
  mlxcel_compile_process_result_deinitialize(&result);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

// A warm start must not hash the compiler's 340 MB again. The bound is far above what it takes and far below what hashing takes.
static void compiler_hit_costs_milliseconds(void** state) {
  fixture_t* fixture = *state;
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact));
  mlxcel_artifact_deinitialize(&artifact);
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    double start = seconds_now();
    TEST_ASSERT_OK(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact));
    double taken = seconds_now() - start;
    assert_true(artifact.was_cached);
    mlxcel_artifact_deinitialize(&artifact);
    if (taken < best) best = taken;
  }
  print_message("a hit takes %.3f ms\n", best * 1000);
  assert_true(best < 0.05);
}

static bool cancel_after_a_while(void* user_data) { return ++*(unsigned*)user_data >= 3; }

static void compiler_can_be_cancelled(void** state) {
  fixture_t* fixture = *state;
  // A text long enough to be compiling still when the third poll comes.
  size_t lines = 40000, size = 0;
  char* text = malloc(lines * 80 + 200);
  size += (size_t)sprintf(text, "func.func @f(%%x0: tensor<4xf32>) -> tensor<4xf32> {\n");
  for (size_t i = 0; i < lines; ++i) {
    size += (size_t)sprintf(text + size, "  %%x%zu = stablehlo.%s %%x%zu, %%x0 : tensor<4xf32>\n", i + 1, i % 2 ? "add" : "divide", i);
  }
  size += (size_t)sprintf(text + size, "  return %%x%zu : tensor<4xf32>\n}\n", lines);
  fixture->sample.request.mlir_text = iree_make_string_view(text, size);
  unsigned calls = 0;
  const mlxcel_artifact_progress_t progress = {.notify = NULL, .cancelled = cancel_after_a_while, .user_data = &calls};
  mlxcel_artifact_t artifact;
  double start = seconds_now();
  TEST_ASSERT_STATUS(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, &progress, &artifact), IREE_STATUS_CANCELLED, "cancelled");
  assert_true(seconds_now() - start < 30);
  assert_int_equal(test_folder_count(test_path(fixture->root, "tmp")), 0);
  free(text);
}

#define COMPILER_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      COMPILER_TEST(compiler_result_is_reproducible_and_found_again),
      COMPILER_TEST(compiler_error_is_shown_with_its_line),
      COMPILER_TEST(compiler_stops_at_the_memory_limit),
      COMPILER_TEST(compiler_hit_costs_milliseconds),
      COMPILER_TEST(compiler_can_be_cancelled),
  };
  return cmocka_run_group_tests_name("artifact_compiler", tests, NULL, NULL);
}
