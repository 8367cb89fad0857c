// The texts and clauses of iree-canonical, against tests/golden/canonical/*.mlir. MLXCEL_FREEZE_GOLDENS=1 writes those files instead of comparing.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "emit/canonical/canonical_cases.h"
#include "emit/golden_modules.h"
#include "emit/operation_emitter.h"
#include "support/comma_locale.h"

#define GOLDEN_FOLDER MLXCEL_SOURCE_DIR "/tests/golden/canonical"
#define GOLDEN_BYTES_MAX (1u << 20)

static golden_module_t golden_of(const mlxcel_canonical_case_t* item) {
  return (golden_module_t){.name = item->name, .profile = MLXCEL_PROFILE_IREE_CANONICAL, .operation = &item->operation};
}

static void golden_path(const char* name, char path[512]) { snprintf(path, 512, "%s/%s.mlir", GOLDEN_FOLDER, name); }

static void freeze(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
}

static void expect_equal_lines(const char* path, const char* golden, const char* text) {
  for (size_t line = 1; *golden || *text; ++line) {
    size_t golden_size = strcspn(golden, "\n"), size = strcspn(text, "\n");
    if (golden_size != size || memcmp(golden, text, size) != 0) {
      fail_msg("%s:%zu:\n  frozen:  %.*s\n  emitted: %.*s\nif the change is meant, refresh with MLXCEL_FREEZE_GOLDENS=1", path, line, (int)golden_size, golden,
               (int)size, text);
    }
    golden += golden_size + (golden[golden_size] != 0);
    text += size + (text[size] != 0);
  }
}

static void canonical_texts_are_the_frozen_ones(void** state) {
  (void)state;
  const char* freezing = getenv("MLXCEL_FREEZE_GOLDENS");
  for (size_t i = 0; mlxcel_canonical_case_at(i); ++i) {
    golden_module_t module = golden_of(mlxcel_canonical_case_at(i));
    char path[512], *golden = NULL, *text = golden_module_file_text(&module);
    size_t size = 0;
    golden_path(module.name, path);
    if (freezing && strcmp(freezing, "1") == 0) {
      freeze(path, text);
    } else {
      if (!iree_status_is_ok(mlxcel_file_read(path, GOLDEN_BYTES_MAX, &golden, &size)))
        fail_msg("%s can't be read; write it with MLXCEL_FREEZE_GOLDENS=1", path);
      expect_equal_lines(path, golden, text);
      assert_int_equal(size, strlen(text));
    }
    free(golden);
    free(text);
  }
}

static void canonical_every_golden_file_has_its_case(void** state) {
  (void)state;
  DIR* folder = opendir(GOLDEN_FOLDER);
  assert_non_null(folder);
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    char name[256];
    size_t size = strcspn(entry->d_name, ".");
    if (size == 0 || size >= sizeof(name)) continue;
    memcpy(name, entry->d_name, size);
    name[size] = 0;
    if (!mlxcel_canonical_case_find(name)) fail_msg("%s is frozen, but nothing emits it any more: remove it", entry->d_name);
  }
  closedir(folder);
}

// Classes that the profile doesn't define, and those that have no text of their own.
static bool is_without_case(mlxcel_op_class_t op) { return op == MLXCEL_OP_EMBEDDING || op == MLXCEL_OP_KV_STORE || op == MLXCEL_OP_QKV_ROPE; }

static void canonical_every_class_has_a_case(void** state) {
  (void)state;
  for (int op = 0; op < MLXCEL_OP_COUNT; ++op) {
    bool found = false;
    for (size_t i = 0; mlxcel_canonical_case_at(i); ++i) found = found || mlxcel_canonical_case_at(i)->operation.op == (mlxcel_op_class_t)op;
    if (found == is_without_case((mlxcel_op_class_t)op)) fail_msg("%s: a case is missing, or one too many", mlxcel_op_class_name((mlxcel_op_class_t)op));
  }
}

static void expect_same(bool comma) {
  for (size_t i = 0; mlxcel_canonical_case_at(i); ++i) {
    golden_module_t module = golden_of(mlxcel_canonical_case_at(i));
    if (comma && !test_comma_locale_enter()) skip();
    golden_text_t first = golden_module_emit(&module);
    if (comma) test_comma_locale_leave();
    golden_text_t second = golden_module_emit(&module);
    assert_string_equal(first.mlir, second.mlir);
    assert_string_equal(first.contract, second.contract);
    golden_text_deinitialize(&first);
    golden_text_deinitialize(&second);
  }
}

static void canonical_texts_are_deterministic(void** state) {
  (void)state;
  expect_same(false);
}

static void canonical_texts_ignore_the_locale(void** state) {
  (void)state;
  expect_same(true);
}

static void expect_refused(const mlxcel_operation_t* operation, const char* word) {
  mlxcel_emitted_operation_t emitted;
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(MLXCEL_PROFILE_IREE_CANONICAL));
  iree_status_t status = mlxcel_emit_operation_module(profile, operation, &emitted);
  assert_int_equal(iree_status_code(status), IREE_STATUS_UNIMPLEMENTED);
  char text[2048];
  iree_host_size_t size = 0;
  assert_true(iree_status_format(status, sizeof(text), text, &size));
  if (!strstr(text, word)) fail_msg("the message doesn't name '%s': %s", word, text);
  iree_status_ignore(status);
}

static void canonical_refuses_by_name_what_it_does_not_define(void** state) {
  (void)state;
  mlxcel_operation_t six_bits = mlxcel_canonical_case_find("quantized_matmul_u4_f32")->operation;
  six_bits.bits = 6;
  expect_refused(&six_bits, "6-bit");
  const mlxcel_operation_t embedding = {.op = MLXCEL_OP_EMBEDDING, .rows = 2, .in_features = 8, .out_features = 4};
  expect_refused(&embedding, "embedding");
  const mlxcel_operation_t caches = {.op = MLXCEL_OP_KV_STORE, .rows = 2, .kv_heads = 1, .head_dim = 4, .keys = 3};
  expect_refused(&caches, "kv-store");
  const mlxcel_operation_t projections = {.op = MLXCEL_OP_QKV_ROPE,
                                          .variant = MLXCEL_VARIANT_HALF,
                                          .rows = 2,
                                          .in_features = 8,
                                          .heads = 2,
                                          .kv_heads = 1,
                                          .head_dim = 4,
                                          .keys = 3,
                                          .rope_dims = 4,
                                          .rope_base = 10000.0f};
  expect_refused(&projections, "qkv-rope");
  mlxcel_operation_t frequencies = mlxcel_canonical_case_find("rope_half_f32")->operation;
  frequencies.has_frequencies = true;
  expect_refused(&frequencies, "frequencies");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(canonical_texts_are_the_frozen_ones), cmocka_unit_test(canonical_every_golden_file_has_its_case),
      cmocka_unit_test(canonical_every_class_has_a_case),    cmocka_unit_test(canonical_texts_are_deterministic),
      cmocka_unit_test(canonical_texts_ignore_the_locale),   cmocka_unit_test(canonical_refuses_by_name_what_it_does_not_define),
  };
  return cmocka_run_group_tests_name("canonical_golden", tests, NULL, NULL);
}
