// What the public interface does without a loaded engine: options, reports, refusals.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api_test_checkpoint.h"
#include "base/fs.h"
#include "base/json.h"
#include "mlxcel/mlxcel.h"

typedef struct setting_t {
  char* root;
  char* folder;
} setting_t;

static int test_setup(void** state) {
  setting_t* setting = calloc(1, sizeof(*setting));
  *state = setting;
  const char* parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
  if (!setting || !iree_status_is_ok(mlxcel_directory_create_temporary(parent, "mlxcel-api-", &setting->root))) return -1;
  setting->folder = test_checkpoint_write(setting->root);
  return 0;
}

static int test_teardown(void** state) {
  setting_t* setting = *state;
  iree_status_t status = mlxcel_directory_remove(setting->root);
  iree_status_ignore(status);
  free(setting->root);
  free(setting->folder);
  free(setting);
  return 0;
}

static void expect_error(mlxcel_error_t* error, mlxcel_error_code_t code, const char* stage, const char* words) {
  assert_non_null(error);
  if (!strstr(mlxcel_error_message(error), words)) print_error("%s\n", mlxcel_error_message(error));
  assert_int_equal(mlxcel_error_code(error), code);
  assert_string_equal(mlxcel_error_stage(error), stage);
  assert_non_null(strstr(mlxcel_error_message(error), words));
  mlxcel_error_free(error);
}

// --- options -----------------------------------------------------------------------------------------------------------------------------------
static mlxcel_engine_options_t make_options(void** state) {
  const setting_t* setting = *state;
  mlxcel_engine_options_t options;
  mlxcel_engine_options_initialize(&options);
  options.model_folder = setting->folder;
  options.cache_folder = setting->root;
  return options;
}

static void expect_refused(const mlxcel_engine_options_t* options, mlxcel_error_code_t code, const char* stage, const char* words) {
  mlxcel_engine_t* engine = (mlxcel_engine_t*)&engine;
  mlxcel_error_t* error = mlxcel_engine_open(options, &engine);
  assert_null(engine);
  expect_error(error, code, stage, words);
}

static void api_options_out_of_range_are_refused_by_value(void** state) {
  mlxcel_engine_options_t options = make_options(state);
  options.profile = "fast";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "profile 'fast' is unknown; valid: pinned-f32");
  options = make_options(state);
  options.profile = "iree-canonical";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "profile 'iree-canonical' runs no models; valid: pinned-f32, mlx-cpu-0.32.4");
  options = make_options(state);
  options.precision = "bf16";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "precision 'bf16' isn't one of profile pinned-f32; valid: f32 (16-bit activations");
  options = make_options(state);
  options.kv_dtype = "q8";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "KV cache dtype 'q8' (kv_dtype, --kv-dtype) is unknown; valid: f32, f16, bf16");
  options = make_options(state);
  options.profile = "mlx-cpu-0.32.4";
  options.kv_dtype = NULL;
  options.huge_pages = "gigantic";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "huge pages 'gigantic' (huge_pages, --huge-pages) are unknown; valid: auto, off");
  options.huge_pages = NULL;
  options.kv_dtype = "f32";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "isn't a choice under profile mlx-cpu-0.32.4, where the checkpoint decides");
  options = make_options(state);
  options.slots = 1025;
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "1025 slots");
  options = make_options(state);
  options.cpu_level = "v9";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "v9");
  options = make_options(state);
  options.size = 3;
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "size 3");
  options = make_options(state);
  options.context = TEST_CONTEXT + 1;
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "context of 65 tokens is asked for, this model was made for at most 64");
}

static void api_device_is_checked_before_anything_is_compiled(void** state) {
  mlxcel_engine_options_t options = make_options(state);
  options.compiler = "/nonexistent/iree-compile";
  options.device = "quantum";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "device", "local-task, local-sync");
  options.device = "metal";
  expect_refused(&options, MLXCEL_ERROR_UNAVAILABLE, "device", "metal");
  options.device = "local-sync";
  options.threads = 100000;
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "device", "100000 threads");
}

static void api_model_folder_must_be_a_checkpoint(void** state) {
  const setting_t* setting = *state;
  mlxcel_engine_options_t options = make_options(state);
  options.model_folder = NULL;
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "no model folder");
  options.model_folder = "some/model.gguf";
  expect_refused(&options, MLXCEL_ERROR_INVALID_ARGUMENT, "options", "mlxcel import");
  options.model_folder = "/nonexistent/folder";
  expect_refused(&options, MLXCEL_ERROR_NOT_FOUND, "checkpoint", "/nonexistent/folder");
  options.model_folder = setting->root;
  expect_refused(&options, MLXCEL_ERROR_NOT_FOUND, "checkpoint", "config.json");
}

static void api_broken_files_are_named(void** state) {
  const setting_t* setting = *state;
  mlxcel_engine_options_t options = make_options(state);
  test_checkpoint_write_text(setting->folder, "model.safetensors", "short");
  expect_refused(&options, MLXCEL_ERROR_CORRUPT, "checkpoint", "model.safetensors");
  test_checkpoint_write_text(setting->folder, "config.json", "{");
  mlxcel_engine_t* engine = NULL;
  mlxcel_error_t* error = mlxcel_engine_open(&options, &engine);
  assert_non_null(error);
  assert_string_equal(mlxcel_error_stage(error), "checkpoint");
  assert_non_null(strstr(mlxcel_error_message(error), "config.json"));
  mlxcel_error_free(error);
}

static void api_unknown_family_is_unsupported(void** state) {
  const setting_t* setting = *state;
  mlxcel_engine_options_t options = make_options(state);
  test_checkpoint_write_config(setting->folder, "tortoise");
  expect_refused(&options, MLXCEL_ERROR_UNSUPPORTED, "checkpoint", "tortoise");
}

// --- reports -------------------------------------------------------------------------------------------------------------------------------------
static json_t* parse_report(char* text) {
  json_t* report = NULL;
  assert_true(iree_status_is_ok(mlxcel_json_parse(iree_make_cstring_view(text), "report", &report)));
  mlxcel_free(text);
  return report;
}

static json_t* inspect(const char* folder) {
  char* text = NULL;
  mlxcel_error_t* error = mlxcel_inspect(folder, &text);
  if (error) print_error("%s\n", mlxcel_error_message(error));
  assert_null(error);
  return parse_report(text);
}

static const json_t* find_tensor(const json_t* report, const char* name) {
  size_t index;
  json_t* tensor;
  json_array_foreach(json_object_get(report, "tensors"), index, tensor) {
    if (strcmp(json_string_value(json_object_get(tensor, "name")), name) == 0) return tensor;
  }
  return NULL;
}

static void api_inspect_describes_a_checkpoint_that_runs(void** state) {
  const setting_t* setting = *state;
  json_t* report = inspect(setting->folder);
  assert_string_equal(json_string_value(json_object_get(report, "family")), "llama");
  assert_true(json_is_true(json_object_get(report, "supported")));
  assert_int_equal(json_array_size(json_object_get(report, "reasons")), 0);
  assert_int_equal(json_array_size(json_object_get(report, "tensors")), 21);
  assert_int_equal(json_integer_value(json_object_get(report, "tensor_count")), 21);
  assert_true(json_is_null(json_object_get(report, "quantization")));
  assert_int_equal(json_integer_value(json_object_get(json_object_get(report, "config"), "context")), TEST_CONTEXT);
  const json_t* head = find_tensor(report, "lm_head.weight");
  assert_non_null(head);
  assert_string_equal(json_string_value(json_object_get(head, "dtype")), "F32");
  assert_int_equal(json_integer_value(json_array_get(json_object_get(head, "shape"), 0)), TEST_VOCAB);
  assert_int_equal(json_integer_value(json_object_get(head, "bytes")), TEST_VOCAB * 64 * 4);
  json_decref(report);
}

static void api_inspect_says_why_a_checkpoint_does_not_run(void** state) {
  const setting_t* setting = *state;
  test_checkpoint_write_config(setting->folder, "tortoise");
  json_t* report = inspect(setting->folder);
  assert_true(json_is_false(json_object_get(report, "supported")));
  const char* reason = json_string_value(json_array_get(json_object_get(report, "reasons"), 0));
  assert_non_null(reason);
  assert_non_null(strstr(reason, "tortoise"));
  assert_int_equal(json_array_size(json_object_get(report, "tensors")), 21);
  assert_non_null(find_tensor(report, "lm_head.weight"));
  json_decref(report);
}

static void api_inspect_says_that_the_tokenizer_is_missing(void** state) {
  const setting_t* setting = *state;
  char* path = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(setting->folder, IREE_SV("tokenizer.json"), &path)));
  assert_int_equal(remove(path), 0);
  json_t* report = inspect(setting->folder);
  assert_true(json_is_false(json_object_get(report, "supported")));
  const char* reason = json_string_value(json_array_get(json_object_get(report, "reasons"), 0));
  assert_non_null(reason);
  assert_non_null(strstr(reason, "tokenizer.json"));
  json_decref(report);
  free(path);
}

static void api_inspect_of_nothing_is_an_error(void** state) {
  (void)state;
  char* text = (char*)state;
  mlxcel_error_t* error = mlxcel_inspect("/nonexistent/folder", &text);
  assert_null(text);
  expect_error(error, MLXCEL_ERROR_NOT_FOUND, "checkpoint", "/nonexistent/folder");
}

static void api_devices_lists_every_name_with_its_state(void** state) {
  (void)state;
  char* text = NULL;
  assert_null(mlxcel_devices(&text));
  json_t* devices = parse_report(text);
  static const char* const names[] = {"local-task", "local-sync", "hip", "cuda", "metal"};
  assert_int_equal(json_array_size(devices), 5);
  for (size_t i = 0; i < 5; ++i) {
    const json_t* device = json_array_get(devices, i);
    assert_string_equal(json_string_value(json_object_get(device, "name")), names[i]);
    assert_true(strlen(json_string_value(json_object_get(device, "detail"))) > 0);
    if (i < 2) assert_true(json_is_true(json_object_get(device, "available")));
    if (i == 4) assert_true(json_is_false(json_object_get(device, "available")));
  }
  json_decref(devices);
}

static void api_version_names_everything_that_shapes_a_result(void** state) {
  (void)state;
  const char* text = mlxcel_version_text();
  assert_ptr_equal(strstr(text, "mlxcel "), text);
  assert_non_null(strstr(text, "\nruntime: "));
  assert_non_null(strstr(text, "SHA-256 "));
  assert_non_null(strstr(text, "\ncompiler: iree-base-compiler "));
  assert_non_null(strstr(text, "\nC compiler: "));
}

static void api_import_of_a_missing_file_is_an_error(void** state) {
  const setting_t* setting = *state;
  char out[4096];
  snprintf(out, sizeof(out), "%s/imported", setting->root);
  expect_error(mlxcel_import_gguf("/nonexistent/model.gguf", out, NULL), MLXCEL_ERROR_NOT_FOUND, "import", "/nonexistent/model.gguf");
  assert_false(mlxcel_path_exists(out));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(api_options_out_of_range_are_refused_by_value, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_device_is_checked_before_anything_is_compiled, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_model_folder_must_be_a_checkpoint, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_broken_files_are_named, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_unknown_family_is_unsupported, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_inspect_describes_a_checkpoint_that_runs, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_inspect_says_why_a_checkpoint_does_not_run, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_inspect_says_that_the_tokenizer_is_missing, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_inspect_of_nothing_is_an_error, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_devices_lists_every_name_with_its_state, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_version_names_everything_that_shapes_a_result, test_setup, test_teardown),
      cmocka_unit_test_setup_teardown(api_import_of_a_missing_file_is_an_error, test_setup, test_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
