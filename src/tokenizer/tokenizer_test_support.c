#include "tokenizer/tokenizer_test_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/log.h"

void test_expect_ok(iree_status_t status) {
  if (iree_status_is_ok(status)) return;
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  fail_msg("%s", text);
}

void test_expect_status(iree_status_t status, iree_status_code_t code, const char* words) {
  char text[2048];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_code_t found = iree_status_code(status);
  iree_status_free(status);
  if (found != code) fail_msg("status %d instead of %d: %s", (int)found, (int)code, text);
  char* copy = strdup(words);
  char* rest = NULL;
  for (char* word = strtok_r(copy, "|", &rest); word; word = strtok_r(NULL, "|", &rest)) {
    if (!strstr(text, word)) fail_msg("'%s' is not in: %s", word, text);
  }
  free(copy);
}

mlxcel_tokenizer_t* test_tokenizer_open(const char* kind) {
  char folder[1024];
  snprintf(folder, sizeof(folder), "%s/tokenizer/%s", MLXCEL_TEST_DATA_DIR, kind);
  mlxcel_tokenizer_t* tokenizer = NULL;
  test_expect_ok(mlxcel_tokenizer_open(folder, iree_allocator_system(), &tokenizer));
  return tokenizer;
}

static void test_file_write(const char* folder, const char* name, const char* text, size_t size) {
  char* path = NULL;
  test_expect_ok(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  test_expect_ok(mlxcel_file_publish(path, text, size));
  free(path);
}

char* test_folder_create(const char* const* files, size_t count) {
  const char* parent = getenv("TMPDIR");
  char* folder = NULL;
  test_expect_ok(mlxcel_directory_create_temporary(parent ? parent : "/tmp", "mlxcel-tokenizer-", &folder));
  for (size_t i = 0; i < count; ++i) test_file_write(folder, files[2 * i], files[2 * i + 1], strlen(files[2 * i + 1]));
  return folder;
}

void test_folder_remove(char* folder) {
  test_expect_ok(mlxcel_directory_remove(folder));
  free(folder);
}

iree_status_t test_tokenizer_open_with(const char* kind, const char* const* files, size_t count, mlxcel_tokenizer_t** out_tokenizer) {
  char source[1024];
  snprintf(source, sizeof(source), "%s/tokenizer/%s/tokenizer.json", MLXCEL_TEST_DATA_DIR, kind);
  char* json = NULL;
  size_t size = 0;
  test_expect_ok(mlxcel_file_read(source, 1 << 20, &json, &size));
  char* folder = test_folder_create(files, count);
  test_file_write(folder, "tokenizer.json", json, size);
  free(json);
  iree_status_t status = mlxcel_tokenizer_open(folder, iree_allocator_system(), out_tokenizer);
  test_folder_remove(folder);
  return status;
}
