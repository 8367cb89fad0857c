// artifact_tamper_test.c: entries that someone or something has changed: what an entry is refused for before anything of it could be loaded.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "artifact/artifact_cache.h"
#include "artifact/artifact_test_support.h"
#include "base/json.h"
#include "contract/contract_version.h"

#define COMPILES "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do cat model.mlir kernels.o; done > model.vmfb"
#define POSITIONS 500u  // of the module and the MLIR text, spread over them

typedef struct fixture_t {
  char* folder;
  char root[512], compiler[512];
  test_request_t sample;
  char* entry;                 // the sample's
  mlxcel_manifest_t manifest;  // of it, as it was
} fixture_t;

static char* make_entry(fixture_t* fixture) {
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact));
  char* folder = strdup(artifact.folder);
  mlxcel_artifact_deinitialize(&artifact);
  return folder;
}

static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  fixture->folder = test_folder_make();
  snprintf(fixture->root, sizeof(fixture->root), "%s/cache", fixture->folder);
  snprintf(fixture->compiler, sizeof(fixture->compiler), "%s", test_compiler_make(fixture->folder, "cc", COMPILES));
  test_request_initialize(fixture->compiler, &fixture->sample);
  fixture->entry = make_entry(fixture);
  test_manifest_read(fixture->entry, &fixture->manifest);
  *state = fixture;
  return 0;
}

static int fixture_teardown(void** state) {
  fixture_t* fixture = *state;
  mlxcel_manifest_deinitialize(&fixture->manifest);
  free(fixture->entry);
  test_request_deinitialize(&fixture->sample);
  test_folder_remove(fixture->folder);
  free(fixture);
  return 0;
}

// The status of loading |folder|; nothing is kept.
static iree_status_t load(const char* folder) {
  mlxcel_artifact_t artifact;
  iree_status_t status = mlxcel_artifact_load(folder, &artifact);
  if (!iree_status_is_ok(status)) assert_null(artifact.vmfb.data);  // no byte of it is given out
  mlxcel_artifact_deinitialize(&artifact);
  return status;
}

// --- one byte ------------------------------------------------------------------------------------------------------------------------------

// Flips a bit at |count| positions of the file, another one at each, and expects that the entry is refused every time.
static void expect_every_flip_refused(const fixture_t* fixture, const char* name, size_t count) {
  char path[700];
  snprintf(path, sizeof(path), "%s/%s", fixture->entry, name);
  size_t size = test_file_size(path);
  if (count > size) count = size;
  for (size_t i = 0; i < count; ++i) {
    size_t offset = (size_t)((unsigned long long)i * size / count);
    unsigned bit = (unsigned)(i % 8);
    test_file_flip_bit(path, offset, bit);
    iree_status_t status = load(fixture->entry);
    iree_status_code_t code = iree_status_code(status);
    iree_status_ignore(status);
    if (code != IREE_STATUS_DATA_LOSS && code != IREE_STATUS_FAILED_PRECONDITION) {
      fail_msg("bit %u of byte %zu of %s changed: %s", bit, offset, name, iree_status_code_string(code));
    }
    test_file_flip_bit(path, offset, bit);
  }
  TEST_ASSERT_OK(load(fixture->entry));
}

static void artifact_flipped_bit_in_any_byte_of_the_manifest_is_refused(void** state) { expect_every_flip_refused(*state, "manifest.json", SIZE_MAX); }

static void artifact_flipped_bit_in_the_module_is_refused(void** state) {
  const fixture_t* fixture = *state;
  assert_true(test_file_size(test_path(fixture->entry, "model.vmfb")) > POSITIONS);
  expect_every_flip_refused(fixture, "model.vmfb", POSITIONS);
}

static void artifact_flipped_bit_in_the_text_is_refused(void** state) { expect_every_flip_refused(*state, "model.mlir", POSITIONS); }

// --- contracts, in manifests that are signed anew --------------------------------------------------------------------------------------------

// Writes the manifest with another contract; digests and keys fit it. Only what the contract says is left to catch it.
static void sign_with_contract(fixture_t* fixture, char* contract, uint32_t version, char* profile) {
  mlxcel_manifest_t changed = fixture->manifest;
  changed.contract_text = contract;
  changed.contract_version = version;
  changed.profile = profile;
  test_manifest_sign(fixture->entry, &changed);
}

// |contract| is taken over.
static void expect_contract_refused(fixture_t* fixture, char* contract, uint32_t version, iree_status_code_t code, const char* const* parts) {
  sign_with_contract(fixture, contract, version, fixture->manifest.profile);
  test_assert_status(load(fixture->entry), code, parts);
  free(contract);
}
#define EXPECT_CONTRACT_REFUSED(contract, version, code, ...) \
  expect_contract_refused(fixture, contract, version, code, (const char* const[]){"manifest.json", __VA_ARGS__, NULL})

static char* contract_of_version(uint32_t version) {
  char text[16];
  snprintf(text, sizeof(text), "%u", version);
  return test_contract_make("pinned-f32", "mlxcel_contract", text);
}

static void artifact_contract_of_another_version_is_refused_by_name(void** state) {
  fixture_t* fixture = *state;
  enum { kVersion = MLXCEL_CONTRACT_VERSION };
  EXPECT_CONTRACT_REFUSED(contract_of_version(kVersion - 1), kVersion - 1, IREE_STATUS_FAILED_PRECONDITION, "contract.version", "older");
  EXPECT_CONTRACT_REFUSED(contract_of_version(kVersion + 1), kVersion + 1, IREE_STATUS_FAILED_PRECONDITION, "contract.version", "newer");
  EXPECT_CONTRACT_REFUSED(contract_of_version(kVersion - 1), kVersion, IREE_STATUS_FAILED_PRECONDITION, "contract.text", "older");
  EXPECT_CONTRACT_REFUSED(contract_of_version(kVersion + 1), kVersion, IREE_STATUS_FAILED_PRECONDITION, "contract.text", "newer");
}

static void artifact_contract_of_another_profile_than_its_manifest_is_refused(void** state) {
  fixture_t* fixture = *state;
  char profile[] = "iree-canonical";
  char* contract = test_contract_make("pinned-f32", NULL, NULL);
  sign_with_contract(fixture, contract, MLXCEL_CONTRACT_VERSION, profile);
  TEST_ASSERT_STATUS(load(fixture->entry), IREE_STATUS_DATA_LOSS, "'profile' is iree-canonical", "profile pinned-f32");
  free(contract);
  EXPECT_CONTRACT_REFUSED(test_contract_make("iree-canonical", NULL, NULL), MLXCEL_CONTRACT_VERSION, IREE_STATUS_DATA_LOSS, "'profile' is pinned-f32",
                          "profile iree-canonical");
}

static char* contract_head(size_t clause_count) {
  char text[128];
  snprintf(text, sizeof(text), "mlxcel_contract=%d\nprofile=pinned-f32\nclauses=%zu\n", MLXCEL_CONTRACT_VERSION, clause_count);
  return strdup(text);
}

static void artifact_contract_without_clauses_is_refused(void** state) {
  fixture_t* fixture = *state;
  EXPECT_CONTRACT_REFUSED(contract_head(0), MLXCEL_CONTRACT_VERSION, IREE_STATUS_DATA_LOSS, "contract.text", "no clauses");
  EXPECT_CONTRACT_REFUSED(contract_head(1), MLXCEL_CONTRACT_VERSION, IREE_STATUS_DATA_LOSS, "contract.text");
}

// The sample's contract with |from| replaced by |to|.
static char* contract_with(const char* from, const char* to) {
  char* text = test_contract_make("pinned-f32", NULL, NULL);
  char* at = strstr(text, from);
  assert_non_null(at);
  char* changed = malloc(strlen(text) + strlen(to) + 1);
  int size = sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  assert_true(size > 0);
  free(text);
  return changed;
}

static void artifact_malformed_contract_is_refused_and_the_key_named(void** state) {
  fixture_t* fixture = *state;
  static const char* const cases[][3] = {
      // what is replaced, by what, what the message names
      {"accumulator=f32\n", "", "accumulator"},
      {"accumulator=f32\n", "accumulator=f32\naccumulator=f32\n", "accumulator"},
      {"accumulator=f32\n", "accumulator=f64\n", "accumulator"},
      {"denormals=keep\n", "denormals=perhaps\n", "denormals"},
      {"rounding=", "rounded=", "rounded"},
      {"association=lanes(16,tree)\n", "association=\n", "association"},
      {"op=dense-matmul\n", "op=dense-matmull\n", "op"},
      {"algorithm_version=1\n", "algorithm_version=01\n", "algorithm_version"},
      {"source_digest=0", "source_digest=G", "source_digest"},
      {"tolerance=exact\n", "tolerance=exact\r\n", "tolerance"},
      {"tolerance=exact\n", "tolerance=exact \n", "tolerance"},
      {"clause=0\n", "clause=1\n", "clause"},
      {"clauses=1\n", "clauses=2\n", "clause"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    EXPECT_CONTRACT_REFUSED(contract_with(cases[i][0], cases[i][1]), MLXCEL_CONTRACT_VERSION, IREE_STATUS_DATA_LOSS, "contract.text", cases[i][2]);
  }
  EXPECT_CONTRACT_REFUSED(strdup("not a contract\n"), MLXCEL_CONTRACT_VERSION, IREE_STATUS_DATA_LOSS, "contract.text", "line 1");
  EXPECT_CONTRACT_REFUSED(strdup("\n"), MLXCEL_CONTRACT_VERSION, IREE_STATUS_DATA_LOSS, "contract.text");
}

// The manifest's JSON with |name| of the contract taken out (NULL) or replaced, under a self digest that fits.
static void sign_json_with(const fixture_t* fixture, const char* name, json_t* replacement) {
  char path[700];
  size_t size = 0;
  snprintf(path, sizeof(path), "%s/manifest.json", fixture->entry);
  char* text = test_file_read(path, &size);
  json_t* manifest = json_loads(text, 0, NULL);
  free(text);
  json_t* contract = json_object_get(manifest, "contract");
  if (json_object_set_new(contract, name, replacement) != 0) json_object_del(contract, name);
  json_object_del(manifest, "manifest_sha256");
  mlxcel_sha256_hex_t digest;
  TEST_ASSERT_OK(mlxcel_json_write(manifest, /*compact=*/true, &text));
  TEST_ASSERT_OK(mlxcel_sha256_of(text, strlen(text), &digest));
  free(text);
  json_object_set_new(manifest, "manifest_sha256", json_string(digest.text));
  TEST_ASSERT_OK(mlxcel_json_write(manifest, /*compact=*/false, &text));
  test_file_write(path, text, strlen(text), 0644);
  free(text);
  json_decref(manifest);
}

static void artifact_missing_contract_is_refused_by_name(void** state) {
  fixture_t* fixture = *state;
  sign_json_with(fixture, "text", json_string(""));
  TEST_ASSERT_STATUS(load(fixture->entry), IREE_STATUS_DATA_LOSS, "contract.text", "empty");
  sign_json_with(fixture, "text", NULL);
  TEST_ASSERT_STATUS(load(fixture->entry), IREE_STATUS_DATA_LOSS, "contract.text", "missing");
  test_manifest_sign(fixture->entry, &fixture->manifest);
  sign_json_with(fixture, "fingerprint", NULL);
  TEST_ASSERT_STATUS(load(fixture->entry), IREE_STATUS_DATA_LOSS, "contract.fingerprint", "missing");
  test_manifest_sign(fixture->entry, &fixture->manifest);
  sign_json_with(fixture, "version", NULL);
  TEST_ASSERT_STATUS(load(fixture->entry), IREE_STATUS_DATA_LOSS, "contract.version", "missing");
  test_manifest_sign(fixture->entry, &fixture->manifest);
  TEST_ASSERT_OK(load(fixture->entry));
}

// --- builds ----------------------------------------------------------------------------------------------------------------------------------

static void artifact_module_of_another_entry_is_refused(void** state) {
  fixture_t* fixture = *state;
  fixture->sample.request.mlir_text = IREE_SV("module {}\n");
  char* other = make_entry(fixture);
  size_t size = 0;
  char* module = test_file_read(test_path(other, "model.vmfb"), &size);
  test_file_write(test_path(fixture->entry, "model.vmfb"), module, size, 0644);
  TEST_ASSERT_STATUS(load(fixture->entry), IREE_STATUS_DATA_LOSS, "model.vmfb", "'vmfb.bytes'");
  mlxcel_manifest_t changed = fixture->manifest;  // the size fits, the digest doesn't
  changed.vmfb_byte_count = size;
  test_manifest_sign(fixture->entry, &changed);
  TEST_ASSERT_STATUS(load(fixture->entry), IREE_STATUS_DATA_LOSS, "model.vmfb", "'vmfb.sha256'");
  free(module);
  free(other);
}

static mlxcel_sha256_hex_t digest_of(const char* text) {
  mlxcel_sha256_hex_t digest;
  TEST_ASSERT_OK(mlxcel_sha256_of(text, strlen(text), &digest));
  return digest;
}

static iree_status_t check_build(const fixture_t* fixture, const mlxcel_sha256_hex_t* compiler) {
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(mlxcel_artifact_load(fixture->entry, &artifact));
  iree_status_t status = mlxcel_artifact_check_build(&artifact, &fixture->sample.request, compiler);
  mlxcel_artifact_deinitialize(&artifact);
  return status;
}

static void artifact_of_the_build_asked_for_passes(void** state) {
  const fixture_t* fixture = *state;
  mlxcel_sha256_hex_t compiler;
  TEST_ASSERT_OK(mlxcel_compiler_digest(fixture->root, fixture->compiler, &compiler));
  TEST_ASSERT_OK(check_build(fixture, &compiler));
  TEST_ASSERT_OK(check_build(fixture, NULL));
}

static void artifact_of_another_compiler_is_named_when_the_compiler_is_asked_for(void** state) {
  fixture_t* fixture = *state;
  mlxcel_sha256_hex_t asked = fixture->manifest.compiler.digest;
  mlxcel_manifest_t changed = fixture->manifest;
  changed.compiler.linker_digest = digest_of("another linker");
  test_manifest_sign(fixture->entry, &changed);
  TEST_ASSERT_STATUS(check_build(fixture, &asked), IREE_STATUS_FAILED_PRECONDITION, "the compiler's digest is", changed.compiler.digest.text, asked.text);
  TEST_ASSERT_OK(check_build(fixture, NULL));
}

static void artifact_of_another_compiler_is_named_by_its_version_when_no_compiler_is_there(void** state) {
  fixture_t* fixture = *state;
  fixture->sample.request.compiler_version = "1.2";
  TEST_ASSERT_OK(check_build(fixture, NULL));
  fixture->sample.request.compiler_version = "1.3";
  TEST_ASSERT_STATUS(check_build(fixture, NULL), IREE_STATUS_FAILED_PRECONDITION, "the compiler is Sample compiler version 1.2, asked for was 1.3");
  TEST_ASSERT_OK(check_build(fixture, &fixture->manifest.compiler.digest));  // a digest says more
}

static void artifact_folder_without_manifest_is_named(void** state) {
  fixture_t* fixture = *state;
  TEST_ASSERT_STATUS(load(fixture->folder), IREE_STATUS_DATA_LOSS, fixture->folder, "isn't the folder of a compiled module", "mlxcel cache ls");
  TEST_ASSERT_STATUS(load(test_path(fixture->folder, "absent")), IREE_STATUS_NOT_FOUND, "absent");
}

static void artifact_of_other_kernel_objects_is_named(void** state) {
  fixture_t* fixture = *state;
  mlxcel_manifest_t changed = fixture->manifest;
  mlxcel_manifest_object_t object = changed.objects[0];
  const mlxcel_sha256_hex_t asked = object.digest;
  changed.objects = &object;
  object.digest = digest_of("another object");
  test_manifest_sign(fixture->entry, &changed);
  TEST_ASSERT_STATUS(check_build(fixture, NULL), IREE_STATUS_FAILED_PRECONDITION, "kernel object kernels.o is", object.digest.text, asked.text);
  char renamed[] = "other.o";
  object = (mlxcel_manifest_object_t){.name = renamed, .byte_count = 3, .digest = asked};
  test_manifest_sign(fixture->entry, &changed);
  TEST_ASSERT_STATUS(check_build(fixture, NULL), IREE_STATUS_FAILED_PRECONDITION, "kernel object kernels.o is absent, asked for was",
                     "kernel object other.o is", "asked for was none");
}

static void artifact_of_another_text_target_and_flag_is_named_with_all_differences(void** state) {
  fixture_t* fixture = *state;
  mlxcel_artifact_request_t* request = &fixture->sample.request;
  request->mlir_text = IREE_SV("module {}\n");
  request->target = IREE_SV("llvm-cpu x86-64-v4");
  fixture->sample.flags[1] = "--second-flag=3";
  TEST_ASSERT_STATUS(check_build(fixture, NULL), IREE_STATUS_FAILED_PRECONDITION, fixture->entry, "the digest of model.mlir is",
                     "the target is llvm-cpu x86-64-v3, asked for was llvm-cpu x86-64-v4",
                     "compile flag is --second-flag=it's 2, asked for was --second-flag=3");
  request->flag_count = 1;
  TEST_ASSERT_STATUS(check_build(fixture, NULL), IREE_STATUS_FAILED_PRECONDITION, "compile flag is --second-flag=it's 2, asked for was none");
}

#define TAMPER_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      TAMPER_TEST(artifact_flipped_bit_in_any_byte_of_the_manifest_is_refused),
      TAMPER_TEST(artifact_flipped_bit_in_the_module_is_refused),
      TAMPER_TEST(artifact_flipped_bit_in_the_text_is_refused),
      TAMPER_TEST(artifact_contract_of_another_version_is_refused_by_name),
      TAMPER_TEST(artifact_contract_of_another_profile_than_its_manifest_is_refused),
      TAMPER_TEST(artifact_contract_without_clauses_is_refused),
      TAMPER_TEST(artifact_malformed_contract_is_refused_and_the_key_named),
      TAMPER_TEST(artifact_missing_contract_is_refused_by_name),
      TAMPER_TEST(artifact_module_of_another_entry_is_refused),
      TAMPER_TEST(artifact_of_the_build_asked_for_passes),
      TAMPER_TEST(artifact_of_another_compiler_is_named_when_the_compiler_is_asked_for),
      TAMPER_TEST(artifact_of_another_compiler_is_named_by_its_version_when_no_compiler_is_there),
      TAMPER_TEST(artifact_folder_without_manifest_is_named),
      TAMPER_TEST(artifact_of_other_kernel_objects_is_named),
      TAMPER_TEST(artifact_of_another_text_target_and_flag_is_named_with_all_differences),
  };
  return cmocka_run_group_tests_name("artifact_tamper", tests, NULL, NULL);
}
