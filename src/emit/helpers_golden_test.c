// The helpers' texts and clauses, against tests/golden/*.mlir. MLXCEL_FREEZE_GOLDENS=1 writes those files instead of comparing.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "emit/golden_modules.h"
#include "support/comma_locale.h"

#define GOLDEN_FOLDER MLXCEL_SOURCE_DIR "/tests/golden"
#define GOLDEN_BYTES_MAX (1u << 20)

static void golden_path(const golden_module_t* module, char path[512]) { snprintf(path, 512, "%s/%s.mlir", GOLDEN_FOLDER, module->name); }

static bool is_freezing(void) {
  const char* value = getenv("MLXCEL_FREEZE_GOLDENS");
  return value && strcmp(value, "1") == 0;
}

static void freeze(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
  print_message("written: %s\n", path);
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

static void emit_texts_are_the_frozen_ones(void** state) {
  (void)state;
  for (size_t i = 0; golden_module_at(i); ++i) {
    char path[512];
    golden_path(golden_module_at(i), path);
    char* text = golden_module_file_text(golden_module_at(i));
    if (is_freezing()) {
      freeze(path, text);
    } else {
      char* golden = NULL;
      size_t size = 0;
      if (!iree_status_is_ok(mlxcel_file_read(path, GOLDEN_BYTES_MAX, &golden, &size))) {
        fail_msg("%s can't be read; write it with MLXCEL_FREEZE_GOLDENS=1", path);
      }
      expect_equal_lines(path, golden, text);
      assert_int_equal(size, strlen(text));
      free(golden);
    }
    free(text);
  }
}

static bool is_golden_module(const char* file_name) {
  for (size_t i = 0; golden_module_at(i); ++i) {
    char name[128];
    snprintf(name, sizeof(name), "%s.mlir", golden_module_at(i)->name);
    if (strcmp(file_name, name) == 0) return true;
  }
  return false;
}

static void emit_every_golden_file_has_its_module(void** state) {
  (void)state;
  DIR* folder = opendir(GOLDEN_FOLDER);
  assert_non_null(folder);
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    if (strstr(entry->d_name, ".mlir") && !is_golden_module(entry->d_name)) fail_msg("%s is frozen, but nothing emits it any more: remove it", entry->d_name);
  }
  closedir(folder);
}

#define MODULES_MAX 96

static size_t emit_all(golden_text_t texts[MODULES_MAX]) {
  size_t count = 0;
  for (; golden_module_at(count); ++count) {
    assert_true(count < MODULES_MAX);
    texts[count] = golden_module_emit(golden_module_at(count));
  }
  return count;
}

static void free_all(golden_text_t* texts, size_t count) {
  for (size_t i = 0; i < count; ++i) golden_text_deinitialize(&texts[i]);
}

static void expect_equal_texts(const golden_text_t* a, const golden_text_t* b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    assert_string_equal(a[i].mlir, b[i].mlir);
    assert_string_equal(a[i].contract, b[i].contract);
    assert_string_equal(a[i].fingerprint.text, b[i].fingerprint.text);
  }
}

static void emit_is_deterministic(void** state) {
  (void)state;
  golden_text_t first[MODULES_MAX], second[MODULES_MAX];
  size_t count = emit_all(first);
  emit_all(second);
  expect_equal_texts(first, second, count);
  free_all(first, count);
  free_all(second, count);
}

static void emit_ignores_the_locale(void** state) {
  (void)state;
  if (!test_comma_locale_enter()) skip();
  golden_text_t comma[MODULES_MAX], point[MODULES_MAX];
  size_t count = emit_all(comma);
  test_comma_locale_leave();
  emit_all(point);
  expect_equal_texts(comma, point, count);
  free_all(comma, count);
  free_all(point, count);
}

// Modules that differ in their numerics differ in their fingerprints: no helper states the clauses of another. An operation may be the very thing that a
// model's helper emits, so only those of one kind are compared.
static void emit_fingerprints_tell_modules_apart(void** state) {
  (void)state;
  golden_text_t texts[MODULES_MAX];
  size_t count = emit_all(texts);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < i; ++j) {
      if ((golden_module_at(i)->operation == NULL) != (golden_module_at(j)->operation == NULL)) continue;
      assert_string_not_equal(texts[i].fingerprint.text, texts[j].fingerprint.text);
    }
  }
  free_all(texts, count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(emit_texts_are_the_frozen_ones), cmocka_unit_test(emit_every_golden_file_has_its_module), cmocka_unit_test(emit_is_deterministic),
      cmocka_unit_test(emit_ignores_the_locale),        cmocka_unit_test(emit_fingerprints_tell_modules_apart),
  };
  return cmocka_run_group_tests_name("helpers_golden", tests, NULL, NULL);
}
