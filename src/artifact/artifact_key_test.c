#include "artifact/artifact_key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "artifact/artifact_internal.h"
#include "artifact/artifact_test_support.h"

static mlxcel_sha256_hex_t request_key(const test_request_t* sample) {
  mlxcel_manifest_t manifest;
  TEST_ASSERT_OK(mlxcel_artifact_draft_manifest(&sample->request, &manifest));
  mlxcel_sha256_hex_t key = manifest.request_key;
  mlxcel_manifest_deinitialize(&manifest);
  return key;
}

// The request key of the sample after |change|.
static mlxcel_sha256_hex_t changed_key(void (*change)(test_request_t* sample)) {
  test_request_t sample;
  test_request_initialize("", &sample);
  change(&sample);
  mlxcel_sha256_hex_t key = request_key(&sample);
  test_request_deinitialize(&sample);
  return key;
}

static void change_nothing(test_request_t* sample) { (void)sample; }
static void change_compiler(test_request_t* sample) { sample->request.compiler_path = "/another/path/iree-compile"; }
static void change_mlir(test_request_t* sample) { sample->request.mlir_text = IREE_SV("module {}\n"); }
static void change_contract(test_request_t* sample) { test_request_set_contract(sample, test_contract_make("pinned-f32", "denormals", "flush")); }
static void change_profile(test_request_t* sample) {
  test_request_set_contract(sample, test_contract_make("mlx-cpu-0.32.4", NULL, NULL));
  sample->request.profile = IREE_SV("mlx-cpu-0.32.4");
}
static void change_target(test_request_t* sample) { sample->request.target = IREE_SV("llvm-cpu x86-64-v4"); }
static void change_flag(test_request_t* sample) { sample->flags[1] = "--second-flag=3"; }
static void change_flag_order(test_request_t* sample) {
  const char* first = sample->flags[0];
  sample->flags[0] = sample->flags[1];
  sample->flags[1] = first;
}
static void change_flag_count(test_request_t* sample) { sample->request.flag_count = 1; }
static void change_flag_border(test_request_t* sample) {
  sample->flags[0] = "--first-flag=1-";
  sample->flags[1] = "-second-flag=it's 2";
}
static void change_object_name(test_request_t* sample) { sample->object.file_name = "kernels2.o"; }
static void change_object_bytes(test_request_t* sample) { sample->object.size -= 1; }
static void change_object_count(test_request_t* sample) { sample->request.object_count = 0; }
static void change_interface_size(test_request_t* sample) { sample->interface.prefill_chunks.values[1] = 32; }
static void change_interface_dimension(test_request_t* sample) { sample->interface.vocab_size = 33; }
static void change_interface_parameter(test_request_t* sample) { sample->interface.parameters[0].byte_count += 1; }

static void artifact_key_is_the_same_for_the_same_request(void** state) {
  (void)state;
  assert_string_equal(changed_key(change_nothing).text, changed_key(change_nothing).text);
  assert_string_equal(changed_key(change_nothing).text, changed_key(change_compiler).text);  // a path is no identity
}

static void artifact_key_changes_with_every_field(void** state) {
  (void)state;
  static void (*const changes[])(test_request_t*) = {change_nothing,
                                                     change_mlir,
                                                     change_contract,
                                                     change_profile,
                                                     change_target,
                                                     change_flag,
                                                     change_flag_order,
                                                     change_flag_count,
                                                     change_flag_border,
                                                     change_object_name,
                                                     change_object_bytes,
                                                     change_object_count,
                                                     change_interface_size,
                                                     change_interface_dimension,
                                                     change_interface_parameter};
  mlxcel_sha256_hex_t keys[IREE_ARRAYSIZE(changes)];
  for (size_t i = 0; i < IREE_ARRAYSIZE(changes); ++i) {
    keys[i] = changed_key(changes[i]);
    for (size_t j = 0; j < i; ++j) {
      if (strcmp(keys[i].text, keys[j].text) == 0) fail_msg("changes %zu and %zu give one key", i, j);
    }
  }
}

static void artifact_key_covers_request_and_compiler(void** state) {
  (void)state;
  mlxcel_sha256_hex_t a, b, first, other_request, other_compiler, swapped;
  TEST_ASSERT_OK(mlxcel_sha256_of("a", 1, &a));
  TEST_ASSERT_OK(mlxcel_sha256_of("b", 1, &b));
  TEST_ASSERT_OK(mlxcel_artifact_key_compute(&a, &a, &first));
  TEST_ASSERT_OK(mlxcel_artifact_key_compute(&b, &a, &other_request));
  TEST_ASSERT_OK(mlxcel_artifact_key_compute(&a, &b, &other_compiler));
  TEST_ASSERT_OK(mlxcel_artifact_key_compute(&a, &a, &swapped));
  assert_string_not_equal(first.text, other_request.text);
  assert_string_not_equal(first.text, other_compiler.text);
  assert_string_not_equal(other_request.text, other_compiler.text);
  assert_string_equal(first.text, swapped.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(artifact_key_is_the_same_for_the_same_request),
      cmocka_unit_test(artifact_key_changes_with_every_field),
      cmocka_unit_test(artifact_key_covers_request_and_compiler),
  };
  return cmocka_run_group_tests_name("artifact_key", tests, NULL, NULL);
}
