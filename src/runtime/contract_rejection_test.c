// A module whose contract isn't the one asked for, with digests and keys that fit: every field of a clause is told apart, and the error names it. The entries'
// modules are no modules at all: whatever came as far as looking at their bytes would fail in other words.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "artifact/artifact_test_support.h"
#include "base/log.h"
#include "contract/contract_parse.h"
#include "contract/vocabulary.h"
#include "runtime/device.h"

typedef struct fixture_t {
  char* folder;
  test_request_t sample;
  char* entry;
  mlxcel_manifest_t manifest;
  mlxcel_device_t* device;
} fixture_t;

static size_t host_lookups;
static mlxcel_host_kernel_fn_t count_lookup(const char* symbol) {
  (void)symbol;
  ++host_lookups;
  return NULL;
}

static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  fixture->folder = test_folder_make();
  test_request_initialize(test_compiler_make(fixture->folder, "cc", "cp model.mlir model.vmfb"), &fixture->sample);
  test_request_set_operation(&fixture->sample);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(mlxcel_artifact_obtain(test_path(fixture->folder, "cache"), &fixture->sample.request, NULL, &artifact));
  fixture->entry = strdup(artifact.folder);
  mlxcel_artifact_deinitialize(&artifact);
  test_manifest_read(fixture->entry, &fixture->manifest);
  const mlxcel_device_options_t options = {.name = IREE_SV("local-sync")};
  TEST_ASSERT_OK(mlxcel_device_open_with_imports(&options, count_lookup, &fixture->device));
  host_lookups = 0;
  *state = fixture;
  return 0;
}

static int fixture_teardown(void** state) {
  fixture_t* fixture = *state;
  mlxcel_device_close(fixture->device);
  mlxcel_manifest_deinitialize(&fixture->manifest);
  free(fixture->entry);
  test_request_deinitialize(&fixture->sample);
  test_folder_remove(fixture->folder);
  free(fixture);
  return 0;
}

// What the caller asks for: the sample's contract.
static mlxcel_program_options_t sample_options(const fixture_t* fixture) {
  return (mlxcel_program_options_t){.expected_fingerprint = fixture->sample.request.contract_fingerprint,
                                    .expected_contract = fixture->sample.request.contract_text};
}

// Loads the entry, which must pass, and its module, which must not.
static void expect_module_refused(const fixture_t* fixture, const mlxcel_program_options_t* options, iree_status_code_t code, const char* const* parts) {
  mlxcel_artifact_t artifact;
  mlxcel_module_t* module = (mlxcel_module_t*)1;
  TEST_ASSERT_OK(mlxcel_artifact_load(fixture->entry, &artifact));
  test_assert_status(mlxcel_module_load(fixture->device, &artifact, NULL, options, &module), code, parts);
  assert_null(module);
  assert_int_equal(host_lookups, 0);
  mlxcel_artifact_deinitialize(&artifact);
}
#define EXPECT_MODULE_REFUSED(options, code, ...) expect_module_refused(fixture, options, code, (const char* const[]){__VA_ARGS__, NULL})

static void sign_with_contract(const fixture_t* fixture, char* contract, char* profile) {
  mlxcel_manifest_t changed = fixture->manifest;
  changed.contract_text = contract;
  changed.profile = profile;
  test_manifest_sign(fixture->entry, &changed);
}

// --- every field ---------------------------------------------------------------------------------------------------------------------------------

typedef struct field_case_t {
  fixture_t* fixture;
  const char *name, *asked;
  size_t count, compared_count;
} field_case_t;

// The entry says |value| where |asked| is asked for, and the error names the field and both. An op class and a variant that don't belong together don't even
// make a contract.
static iree_status_t expect_value_refused(void* user_data, const char* value) {
  field_case_t* field = user_data;
  const fixture_t* fixture = field->fixture;
  const mlxcel_program_options_t options = sample_options(fixture);
  char* contract = test_contract_make("pinned-f32", field->name, value);
  sign_with_contract(fixture, contract, fixture->manifest.profile);
  mlxcel_parsed_contract_t parsed;
  iree_status_t status = mlxcel_contract_parse(iree_make_cstring_view(contract), "the contract", &parsed);
  if (iree_status_is_ok(status)) {
    EXPECT_MODULE_REFUSED(&options, IREE_STATUS_FAILED_PRECONDITION, field->name, field->asked, value, "contract_fingerprint", "remove the artifact");
    ++field->compared_count;
  } else {
    mlxcel_artifact_t artifact;
    TEST_ASSERT_STATUS(mlxcel_artifact_load(fixture->entry, &artifact), IREE_STATUS_DATA_LOSS, "contract.text", field->name, value);
  }
  iree_status_ignore(status);
  mlxcel_parsed_contract_deinitialize(&parsed);
  free(contract);
  ++field->count;
  return iree_ok_status();
}

// With every other value that the vocabulary has one step away.
static void runtime_every_field_of_a_clause_is_told_apart_by_name(void** state) {
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    char number[16];
    field_case_t field_case = {.fixture = *state, .name = mlxcel_clause_field_name(field), .asked = mlxcel_clause_field_get(test_clause(), field, number)};
    TEST_ASSERT_OK(mlxcel_vocabulary_alternatives(field, iree_make_cstring_view(field_case.asked), expect_value_refused, &field_case));
    bool is_joined = field == MLXCEL_FIELD_OP || field == MLXCEL_FIELD_VARIANT;
    if (field_case.count == 0) fail_msg("%s has no other value", field_case.name);
    if (!is_joined) assert_int_equal(field_case.compared_count, field_case.count);
  }
}

static void runtime_contract_of_another_profile_is_refused_by_name(void** state) {
  fixture_t* fixture = *state;
  char profile[] = "iree-canonical";
  char* contract = test_contract_make(profile, NULL, NULL);
  sign_with_contract(fixture, contract, profile);
  const mlxcel_program_options_t options = sample_options(fixture);
  EXPECT_MODULE_REFUSED(&options, IREE_STATUS_FAILED_PRECONDITION, "profile", "pinned-f32", "iree-canonical");
  free(contract);
}

static void runtime_without_the_text_asked_for_both_fingerprints_are_named(void** state) {
  fixture_t* fixture = *state;
  char* contract = test_contract_make("pinned-f32", "denormals", "flush");
  mlxcel_sha256_hex_t fingerprint;
  TEST_ASSERT_OK(mlxcel_sha256_of(contract, strlen(contract), &fingerprint));
  sign_with_contract(fixture, contract, fixture->manifest.profile);
  mlxcel_program_options_t options = sample_options(fixture);
  options.expected_contract = iree_string_view_empty();
  EXPECT_MODULE_REFUSED(&options, IREE_STATUS_FAILED_PRECONDITION, fingerprint.text, fixture->sample.fingerprint.text);
  free(contract);
}

static void runtime_module_of_another_kind_is_refused(void** state) {
  fixture_t* fixture = *state;
  test_request_t decoder;
  test_request_initialize("", &decoder);
  mlxcel_manifest_t changed = fixture->manifest;
  changed.interface = decoder.interface;
  test_manifest_sign(fixture->entry, &changed);
  const mlxcel_program_options_t options = sample_options(fixture);
  EXPECT_MODULE_REFUSED(&options, IREE_STATUS_FAILED_PRECONDITION, "interface.kind", "is decoder", "operation");
  test_request_deinitialize(&decoder);
}

// The control: with the contract that is asked for, what stops it are the bytes of the module.
static void runtime_bytes_that_are_no_module_are_refused_behind_the_contract(void** state) {
  fixture_t* fixture = *state;
  const mlxcel_program_options_t options = sample_options(fixture);
  mlxcel_artifact_t artifact;
  mlxcel_module_t* module = NULL;
  TEST_ASSERT_OK(mlxcel_artifact_load(fixture->entry, &artifact));
  iree_status_t status = mlxcel_module_load(fixture->device, &artifact, NULL, &options, &module);
  assert_null(module);
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  assert_int_not_equal(iree_status_consume_code(status), IREE_STATUS_OK);
  assert_null(strstr(text, "contract"));
  mlxcel_artifact_deinitialize(&artifact);
}

#define REJECTION_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      REJECTION_TEST(runtime_every_field_of_a_clause_is_told_apart_by_name),
      REJECTION_TEST(runtime_contract_of_another_profile_is_refused_by_name),
      REJECTION_TEST(runtime_without_the_text_asked_for_both_fingerprints_are_named),
      REJECTION_TEST(runtime_module_of_another_kind_is_refused),
      REJECTION_TEST(runtime_bytes_that_are_no_module_are_refused_behind_the_contract),
  };
  return cmocka_run_group_tests_name("contract_rejection", tests, NULL, NULL);
}
