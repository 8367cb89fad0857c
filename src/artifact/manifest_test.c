#include "artifact/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "artifact/artifact_internal.h"
#include "artifact/artifact_key.h"
#include "artifact/artifact_test_support.h"
#include "base/json.h"
#include "base/limits.h"

// A complete manifest of the sample request.
static void sample_manifest(mlxcel_manifest_t* out_manifest) {
  test_request_t sample;
  test_request_initialize("", &sample);
  TEST_ASSERT_OK(mlxcel_artifact_draft_manifest(&sample.request, out_manifest));
  test_request_deinitialize(&sample);
  strcpy(out_manifest->compiler.version, "Sample compiler 1");
  TEST_ASSERT_OK(mlxcel_sha256_of("program", 7, &out_manifest->compiler.program_digest));
  TEST_ASSERT_OK(mlxcel_compiler_identity_combine(&out_manifest->compiler));
  TEST_ASSERT_OK(mlxcel_artifact_key_compute(&out_manifest->request_key, &out_manifest->compiler.digest, &out_manifest->key));
  TEST_ASSERT_OK(mlxcel_sha256_of("vmfb", 4, &out_manifest->vmfb_digest));
  out_manifest->vmfb_byte_count = 4;
  out_manifest->created_unix = 1700000000;
}

static char* sample_text(void) {
  mlxcel_manifest_t manifest;
  char* text = NULL;
  sample_manifest(&manifest);
  TEST_ASSERT_OK(mlxcel_manifest_to_text(&manifest, &text));
  mlxcel_manifest_deinitialize(&manifest);
  return text;
}

static iree_status_t parse(const char* text) {
  mlxcel_manifest_t manifest;
  iree_status_t status = mlxcel_manifest_parse(iree_make_cstring_view(text), "dir/manifest.json", &manifest);
  mlxcel_manifest_deinitialize(&manifest);
  return status;
}

static void manifest_survives_a_round_trip(void** state) {
  (void)state;
  char* text = sample_text();
  char* again = NULL;
  mlxcel_manifest_t manifest;
  TEST_ASSERT_OK(mlxcel_manifest_parse(iree_make_cstring_view(text), "m", &manifest));
  assert_string_equal(manifest.profile, "pinned-f32");
  char* contract = test_contract_make("pinned-f32", NULL, NULL);
  assert_string_equal(manifest.contract_text, contract);
  free(contract);
  assert_int_equal(manifest.flag_count, 2);
  assert_string_equal(manifest.flags[1], "--second-flag=it's 2");
  assert_string_equal(manifest.objects[0].name, "kernels.o");
  assert_int_equal(manifest.created_unix, 1700000000);
  assert_string_equal(manifest.compiler.library_digest.text, "");
  TEST_ASSERT_OK(mlxcel_manifest_to_text(&manifest, &again));
  assert_string_equal(text, again);
  mlxcel_manifest_deinitialize(&manifest);
  free(again);
  free(text);
}

static void manifest_every_changed_byte_is_noticed(void** state) {
  (void)state;
  char* text = sample_text();
  for (size_t i = 0; text[i]; ++i) {
    char kept = text[i];
    static const char replacements[] = {' ', '\n', '0', 'a', '"', '}'};
    for (size_t j = 0; j < sizeof(replacements); ++j) {
      if (replacements[j] == kept) continue;
      text[i] = replacements[j];
      iree_status_t status = parse(text);
      bool is_version = iree_status_is_failed_precondition(status);
      TEST_ASSERT_STATUS(status, is_version ? IREE_STATUS_FAILED_PRECONDITION : IREE_STATUS_DATA_LOSS, "dir/manifest.json");
    }
    text[i] = kept;
  }
  TEST_ASSERT_OK(parse(text));
  free(text);
}

static void manifest_every_cut_is_noticed(void** state) {
  (void)state;
  char* text = sample_text();
  for (size_t size = strlen(text); size > 0; --size) {
    text[size - 1] = 0;
    TEST_ASSERT_STATUS(parse(text), IREE_STATUS_DATA_LOSS, "dir/manifest.json");
  }
  free(text);
}

static void manifest_added_spaces_are_noticed(void** state) {
  (void)state;
  char* text = sample_text();
  char* longer = malloc(strlen(text) + 2);
  strcpy(longer, text);
  strcat(longer, "\n");
  TEST_ASSERT_STATUS(parse(longer), IREE_STATUS_DATA_LOSS, "spacing");
  free(longer);
  free(text);
}

static void manifest_other_versions_are_rejected_by_name(void** state) {
  (void)state;
  TEST_ASSERT_STATUS(parse("{\"manifest_version\": 2}"), IREE_STATUS_FAILED_PRECONDITION, "dir/manifest.json", "manifest_version", "newer");
  TEST_ASSERT_STATUS(parse("{\"manifest_version\": 0}"), IREE_STATUS_FAILED_PRECONDITION, "manifest_version", "older");
  TEST_ASSERT_STATUS(parse("{\"manifest_version\": -7}"), IREE_STATUS_FAILED_PRECONDITION, "older");
  TEST_ASSERT_STATUS(parse("{\"manifest_version\": 1.0}"), IREE_STATUS_DATA_LOSS, "manifest_version", "integer");
}

static void manifest_hostile_texts_are_refused(void** state) {
  (void)state;
  static const char* const texts[] = {"",
                                      "null",
                                      "[]",
                                      "7",
                                      "\"x\"",
                                      "{}",
                                      "{\"manifest_version\": 1}",
                                      "{\"manifest_version\": 1, \"manifest_version\": 1}",
                                      "{\"manifest_version\": 1, \"manifest_sha256\": 5}",
                                      "{\"manifest_version\": 99999999999999999999}",
                                      "{\"manifest_version\": 1e999}",
                                      "\xff\xfe",
                                      "{\"manifest_version\": 1, \"a\\u0000b\": 1}"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(texts); ++i) TEST_ASSERT_STATUS(parse(texts[i]), IREE_STATUS_DATA_LOSS, "dir/manifest.json");
  size_t depth = 1u << 20;
  char* deep = malloc(depth + 1);
  memset(deep, '[', depth);
  deep[depth] = 0;
  TEST_ASSERT_STATUS(parse(deep), IREE_STATUS_DATA_LOSS, "nested");
  char* large = malloc(MLXCEL_MANIFEST_FILE_BYTES_MAX + 2);
  memset(large, ' ', MLXCEL_MANIFEST_FILE_BYTES_MAX + 1);
  large[MLXCEL_MANIFEST_FILE_BYTES_MAX + 1] = 0;
  TEST_ASSERT_STATUS(parse(large), IREE_STATUS_DATA_LOSS, "dir/manifest.json", "more than a manifest has");
  free(large);
  free(deep);
}

// Gives the sample's JSON to |change|, and expects the field checks to refuse the result by |name|.
static void expect_field_refused(const char* object_name, const char* name, const char* replacement) {
  char* text = sample_text();
  json_t* value = NULL;
  TEST_ASSERT_OK(mlxcel_json_parse(iree_make_cstring_view(text), "m", &value));
  json_t* object = object_name[0] ? json_object_get(value, object_name) : value;
  if (replacement) {
    json_object_set_new(object, name, json_loads(replacement, JSON_DECODE_ANY, NULL));
  } else {
    json_object_del(object, name);
  }
  mlxcel_manifest_t manifest;
  TEST_ASSERT_STATUS(mlxcel_manifest_from_json(value, &manifest), IREE_STATUS_INVALID_ARGUMENT, name);
  json_decref(value);
  free(text);
}

static void manifest_names_every_missing_or_mistyped_field(void** state) {
  (void)state;
  static const char* const top[] = {"manifest_version", "manifest_sha256", "key",    "request_key", "created_unix", "mlir",     "vmfb",
                                    "contract",         "profile",         "target", "flags",       "objects",      "compiler", "interface"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(top); ++i) {
    expect_field_refused("", top[i], NULL);
    expect_field_refused("", top[i], "true");
  }
  static const char* const nested[][2] = {{"mlir", "bytes"},
                                          {"mlir", "sha256"},
                                          {"vmfb", "bytes"},
                                          {"vmfb", "sha256"},
                                          {"contract", "version"},
                                          {"contract", "text"},
                                          {"contract", "fingerprint"},
                                          {"compiler", "version"},
                                          {"compiler", "sha256"},
                                          {"compiler", "program_sha256"},
                                          {"compiler", "library_sha256"},
                                          {"compiler", "linker_sha256"}};
  for (size_t i = 0; i < IREE_ARRAYSIZE(nested); ++i) {
    expect_field_refused(nested[i][0], nested[i][1], NULL);
    expect_field_refused(nested[i][0], nested[i][1], "[]");
  }
}

static void manifest_names_fields_out_of_range_and_unknown(void** state) {
  (void)state;
  static const char* const cases[][3] = {
      {"", "surprise", "1"},
      {"mlir", "surprise", "1"},
      {"contract", "surprise", "1"},
      {"compiler", "surprise", "1"},
      {"vmfb", "bytes", "0"},
      {"vmfb", "bytes", "-1"},
      {"vmfb", "bytes", "1073741825"},
      {"", "created_unix", "-1"},
      {"", "key", "\"ABC\""},
      {"", "profile", "\"\""},
      {"", "flags", "[1]"},
      {"", "flags", "[\"\"]"},
      {"contract", "version", "0"},
      {"contract", "text", "\"\""},
      {"compiler", "version", "\"\""},
      {"compiler", "program_sha256", "\"\""},
      {"compiler", "library_sha256", "\"no\""},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) expect_field_refused(cases[i][0], cases[i][1], cases[i][2]);
}

static void manifest_object_names_cannot_leave_the_folder(void** state) {
  (void)state;
  static const char* const names[] = {"..", "../x", "a/b", "/etc/x", ".x", "-x", "model.vmfb", "a\\nb", ""};
  for (size_t i = 0; i < IREE_ARRAYSIZE(names); ++i) {
    char text[256];
    char* digits = malloc(65);
    memset(digits, '0', 64);
    digits[64] = 0;
    snprintf(text, sizeof(text), "[{\"name\": \"%s\", \"bytes\": 1, \"sha256\": \"%s\"}]", names[i], digits);
    expect_field_refused("", "objects", "7");
    char* sample = sample_text();
    json_t* value = NULL;
    TEST_ASSERT_OK(mlxcel_json_parse(iree_make_cstring_view(sample), "m", &value));
    json_object_set_new(value, "objects", json_loads(text, 0, NULL));
    mlxcel_manifest_t manifest;
    TEST_ASSERT_STATUS(mlxcel_manifest_from_json(value, &manifest), IREE_STATUS_INVALID_ARGUMENT, "objects[].name");
    json_decref(value);
    free(sample);
    free(digits);
  }
}

// Fields that follow from others can't be replaced, even by someone who renews the self digest.
static void manifest_inconsistent_fields_are_named(void** state) {
  (void)state;
  mlxcel_manifest_t manifest;
  char* text = NULL;
  sample_manifest(&manifest);
  mlxcel_manifest_t changed = manifest;
  changed.contract_fingerprint = manifest.mlir_digest;
  TEST_ASSERT_OK(mlxcel_manifest_to_text(&changed, &text));
  TEST_ASSERT_STATUS(parse(text), IREE_STATUS_DATA_LOSS, "contract.fingerprint");
  free(text);
  changed = manifest;
  changed.mlir_digest = manifest.vmfb_digest;
  TEST_ASSERT_OK(mlxcel_manifest_to_text(&changed, &text));
  TEST_ASSERT_STATUS(parse(text), IREE_STATUS_DATA_LOSS, "'request_key'");
  free(text);
  changed = manifest;
  changed.compiler.program_digest = manifest.vmfb_digest;
  TEST_ASSERT_OK(mlxcel_manifest_to_text(&changed, &text));
  TEST_ASSERT_STATUS(parse(text), IREE_STATUS_DATA_LOSS, "compiler.sha256");
  free(text);
  changed = manifest;
  changed.key = manifest.vmfb_digest;
  TEST_ASSERT_OK(mlxcel_manifest_to_text(&changed, &text));
  TEST_ASSERT_STATUS(parse(text), IREE_STATUS_DATA_LOSS, "'key'");
  free(text);
  mlxcel_manifest_deinitialize(&manifest);
}

static void manifest_text_that_is_not_utf8_is_not_written(void** state) {
  (void)state;
  mlxcel_manifest_t manifest;
  char* text = NULL;
  sample_manifest(&manifest);
  manifest.flags[0][2] = (char)0xff;
  TEST_ASSERT_STATUS(mlxcel_manifest_to_text(&manifest, &text), IREE_STATUS_INVALID_ARGUMENT, "UTF-8");
  assert_null(text);
  mlxcel_manifest_deinitialize(&manifest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(manifest_survives_a_round_trip),
      cmocka_unit_test(manifest_every_changed_byte_is_noticed),
      cmocka_unit_test(manifest_every_cut_is_noticed),
      cmocka_unit_test(manifest_added_spaces_are_noticed),
      cmocka_unit_test(manifest_other_versions_are_rejected_by_name),
      cmocka_unit_test(manifest_hostile_texts_are_refused),
      cmocka_unit_test(manifest_names_every_missing_or_mistyped_field),
      cmocka_unit_test(manifest_names_fields_out_of_range_and_unknown),
      cmocka_unit_test(manifest_object_names_cannot_leave_the_folder),
      cmocka_unit_test(manifest_inconsistent_fields_are_named),
      cmocka_unit_test(manifest_text_that_is_not_utf8_is_not_written),
  };
  return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
