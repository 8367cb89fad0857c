// Modules whose inside doesn't fit their manifest, under digests that do: refused on the bare module. That nothing of them ran is shown by the host function
// that their initializers call. Needs the compiler.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/contract_version.h"
#include "runtime/operation_test_support.h"

static mlxcel_device_t* device;

static int device_setup(void** state) {
  (void)state;
  device = test_operation_device("local-sync", 0);
  return 0;
}

static int device_teardown(void** state) {
  (void)state;
  mlxcel_device_close(device);
  return 0;
}

static void expect_load(const mlxcel_artifact_t* artifact, iree_status_code_t code, const char* const* parts) {
  const mlxcel_program_options_t options = test_operation_options();
  mlxcel_module_t* module = NULL;
  test_assert_status(mlxcel_module_load(device, artifact, NULL, &options, &module), code, parts);
  assert_int_equal(module != NULL, code == IREE_STATUS_OK);
  assert_int_equal(test_host_call_count(), code == IREE_STATUS_OK ? 1 : 0);  // the initializer ran, or nothing did
  mlxcel_module_unload(module);
}
#define EXPECT_LOAD(artifact, code, ...) expect_load(artifact, code, (const char* const[]){__VA_ARGS__, NULL})

// |text| is freed.
static void expect_text_refused(char* text, const char* const* parts) {
  mlxcel_artifact_t artifact;
  test_operation_compile(text, NULL, &artifact);
  expect_load(&artifact, IREE_STATUS_DATA_LOSS, parts);
  mlxcel_artifact_deinitialize(&artifact);
  free(text);
}
#define EXPECT_TEXT_REFUSED(text, ...) expect_text_refused(text, (const char* const[]){__VA_ARGS__, NULL})

static char* operation_with(const char* attributes) { return test_operation_text("operation", attributes, "", TEST_HOST_FUNCTION); }

static char* operation_and(const char* extra) {
  return test_operation_text("operation", test_reflection(test_operation_fingerprint(), MLXCEL_CONTRACT_VERSION_TEXT), extra, TEST_HOST_FUNCTION);
}

// The control: without it the counts of 0 would say nothing.
static void runtime_module_of_the_contract_asked_for_runs(void** state) {
  (void)state;
  mlxcel_artifact_t artifact;
  test_operation_compile_good(&artifact);
  EXPECT_LOAD(&artifact, IREE_STATUS_OK, "");
  mlxcel_artifact_deinitialize(&artifact);
}

static void runtime_module_without_attributes_never_runs(void** state) {
  (void)state;
  EXPECT_TEXT_REFUSED(operation_with(""), "function operation carries no mlxcel.contract;", "wasn't made by mlxcel");
  EXPECT_TEXT_REFUSED(operation_with(test_reflection(test_operation_fingerprint(), NULL)), "carries no mlxcel.contract.version;");
  EXPECT_TEXT_REFUSED(operation_with(test_reflection(NULL, MLXCEL_CONTRACT_VERSION_TEXT)), "carries no mlxcel.contract;");
  EXPECT_TEXT_REFUSED(operation_with(test_reflection("", MLXCEL_CONTRACT_VERSION_TEXT)), "carries no mlxcel.contract;");
}

static void runtime_module_of_another_contract_never_runs(void** state) {
  (void)state;
  EXPECT_TEXT_REFUSED(operation_with(test_reflection(TEST_OTHER_FINGERPRINT, MLXCEL_CONTRACT_VERSION_TEXT)), "mlxcel.contract inside the module is",
                      TEST_OTHER_FINGERPRINT, test_operation_fingerprint());
}

static void runtime_module_of_another_contract_version_never_runs(void** state) {
  (void)state;
  static const char* const versions[] = {"0", "1", "3", "20", " 2", "v2"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(versions); ++i) {
    char expected[128];
    snprintf(expected, sizeof(expected), "mlxcel.contract.version inside the module is %s, expected " MLXCEL_CONTRACT_VERSION_TEXT, versions[i]);
    EXPECT_TEXT_REFUSED(operation_with(test_reflection(test_operation_fingerprint(), versions[i])), expected);
  }
}

static char* extra_function(const char* attributes) {
  static char text[512];
  snprintf(text, sizeof(text), "  func.func @extra(%%0: i32) -> i32 %s {\n    return %%0 : i32\n  }\n", attributes);
  return text;
}

static void runtime_export_that_the_interface_does_not_name_must_carry_the_contract_too(void** state) {
  (void)state;
  EXPECT_TEXT_REFUSED(operation_and(extra_function("")), "function extra carries no mlxcel.contract;");
  EXPECT_TEXT_REFUSED(operation_and(extra_function(test_reflection(TEST_OTHER_FINGERPRINT, MLXCEL_CONTRACT_VERSION_TEXT))),
                      "function extra: mlxcel.contract inside the module is", TEST_OTHER_FINGERPRINT);
  EXPECT_TEXT_REFUSED(operation_and(extra_function(test_reflection(test_operation_fingerprint(), "1"))), "function extra: mlxcel.contract.version");
  mlxcel_artifact_t artifact;
  char* text = operation_and(extra_function(test_reflection(test_operation_fingerprint(), MLXCEL_CONTRACT_VERSION_TEXT)));
  test_operation_compile(text, NULL, &artifact);
  EXPECT_LOAD(&artifact, IREE_STATUS_OK, "");
  mlxcel_artifact_deinitialize(&artifact);
  free(text);
}

static void runtime_module_without_its_function_never_runs(void** state) {
  (void)state;
  mlxcel_artifact_t artifact;
  char* text = test_operation_text("operations", test_reflection(test_operation_fingerprint(), MLXCEL_CONTRACT_VERSION_TEXT), "", TEST_HOST_FUNCTION);
  test_operation_compile(text, NULL, &artifact);
  EXPECT_LOAD(&artifact, IREE_STATUS_NOT_FOUND, "lacks function operation");
  mlxcel_artifact_deinitialize(&artifact);
  free(text);
}

// --- a module in another's place ---------------------------------------------------------------------------------------------------------------

// Puts |module|'s vmfb into the entry of |artifact|; with |signs| the manifest's size and digest fit it. Loads the entry.
static iree_status_t load_with_module_of(const mlxcel_artifact_t* artifact, const mlxcel_artifact_t* module, bool signs, mlxcel_artifact_t* out_artifact) {
  mlxcel_manifest_t manifest;
  test_manifest_read(artifact->folder, &manifest);
  test_file_write(test_path(artifact->folder, "model.vmfb"), module->vmfb.data, module->vmfb.size, 0644);
  manifest.vmfb_byte_count = module->vmfb.size;
  if (signs) manifest.vmfb_digest = module->vmfb_digest;
  test_manifest_sign(artifact->folder, &manifest);
  mlxcel_manifest_deinitialize(&manifest);
  return mlxcel_artifact_load(artifact->folder, out_artifact);
}

static void runtime_swapped_module_of_another_contract_is_caught_by_the_fingerprint_inside(void** state) {
  (void)state;
  mlxcel_artifact_t good, other, swapped;
  char* text = operation_with(test_reflection(TEST_OTHER_FINGERPRINT, MLXCEL_CONTRACT_VERSION_TEXT));
  test_operation_compile_good(&good);
  test_operation_compile(text, NULL, &other);
  TEST_ASSERT_OK(load_with_module_of(&good, &other, /*signs=*/true, &swapped));
  EXPECT_LOAD(&swapped, IREE_STATUS_DATA_LOSS, "mlxcel.contract inside the module is", TEST_OTHER_FINGERPRINT);
  mlxcel_artifact_deinitialize(&swapped);
  TEST_ASSERT_OK(load_with_module_of(&good, &good, /*signs=*/true, &swapped));  // as it was, for the tests behind this one
  mlxcel_artifact_deinitialize(&swapped);
  mlxcel_artifact_deinitialize(&other);
  mlxcel_artifact_deinitialize(&good);
  free(text);
}

static void runtime_swapped_module_of_the_same_contract_is_caught_by_its_digest(void** state) {
  (void)state;
  mlxcel_artifact_t good, other, swapped;
  char* text = operation_and(extra_function(test_reflection(test_operation_fingerprint(), MLXCEL_CONTRACT_VERSION_TEXT)));
  test_operation_compile_good(&good);
  test_operation_compile(text, NULL, &other);
  TEST_ASSERT_STATUS(load_with_module_of(&good, &other, /*signs=*/false, &swapped), IREE_STATUS_DATA_LOSS, "model.vmfb", "'vmfb.sha256'");
  TEST_ASSERT_OK(load_with_module_of(&good, &good, /*signs=*/true, &swapped));
  EXPECT_LOAD(&swapped, IREE_STATUS_OK, "");
  mlxcel_artifact_deinitialize(&swapped);
  mlxcel_artifact_deinitialize(&other);
  mlxcel_artifact_deinitialize(&good);
  free(text);
}

#define TAMPER_TEST(name) cmocka_unit_test_setup_teardown(name, device_setup, device_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TAMPER_TEST(runtime_module_of_the_contract_asked_for_runs),
      TAMPER_TEST(runtime_module_without_attributes_never_runs),
      TAMPER_TEST(runtime_module_of_another_contract_never_runs),
      TAMPER_TEST(runtime_module_of_another_contract_version_never_runs),
      TAMPER_TEST(runtime_export_that_the_interface_does_not_name_must_carry_the_contract_too),
      TAMPER_TEST(runtime_module_without_its_function_never_runs),
      TAMPER_TEST(runtime_swapped_module_of_another_contract_is_caught_by_the_fingerprint_inside),
      TAMPER_TEST(runtime_swapped_module_of_the_same_contract_is_caught_by_its_digest),
  };
  return cmocka_run_group_tests_name("module_tamper", tests, test_operations_setup, test_operations_teardown);
}
