#include "artifact/compiler_identity.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact_cache.h"
#include "artifact/artifact_test_support.h"

typedef struct fixture_t {
  char* folder;
  char root[512], program[512], library[512], linker[512];
} fixture_t;

// An age at which a file's digest may be remembered.
static void make_old(const char* path, time_t age_seconds) {
  struct timespec times[2] = {{.tv_sec = time(NULL) - age_seconds}, {.tv_sec = time(NULL) - age_seconds}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  fixture->folder = test_folder_make();
  snprintf(fixture->root, sizeof(fixture->root), "%s/cache", fixture->folder);
  snprintf(fixture->program, sizeof(fixture->program), "%s/iree-compile", fixture->folder);
  snprintf(fixture->library, sizeof(fixture->library), "%s/libIREECompiler.so", fixture->folder);
  snprintf(fixture->linker, sizeof(fixture->linker), "%s/iree-lld", fixture->folder);
  test_file_write(fixture->program, "program", 7, 0755);
  test_file_write(fixture->library, "library", 7, 0644);
  test_file_write(fixture->linker, "linker", 6, 0755);
  *state = fixture;
  return 0;
}

static int fixture_teardown(void** state) {
  fixture_t* fixture = *state;
  test_folder_remove(fixture->folder);
  free(fixture);
  return 0;
}

static mlxcel_sha256_hex_t digest_of(const fixture_t* fixture, const char* path) {
  mlxcel_sha256_hex_t digest;
  TEST_ASSERT_OK(mlxcel_compiler_digest(fixture->root, path, &digest));
  return digest;
}

static void compiler_identity_covers_program_library_and_linker(void** state) {
  fixture_t* fixture = *state;
  mlxcel_sha256_hex_t digests[4];
  digests[0] = digest_of(fixture, fixture->program);
  test_file_write(fixture->library, "LIBRARY", 7, 0644);
  digests[1] = digest_of(fixture, fixture->program);
  test_file_write(fixture->linker, "LINKER", 6, 0755);
  digests[2] = digest_of(fixture, fixture->program);
  assert_int_equal(unlink(fixture->linker), 0);
  digests[3] = digest_of(fixture, fixture->program);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < i; ++j) assert_string_not_equal(digests[i].text, digests[j].text);
  }
}

static void compiler_identity_does_not_depend_on_the_path(void** state) {
  fixture_t* fixture = *state;
  char command[2048], moved[600], link[600];
  snprintf(command, sizeof(command), "mkdir '%s/b' && cp '%s' '%s' '%s' '%s/b'", fixture->folder, fixture->program, fixture->library, fixture->linker,
           fixture->folder);
  assert_int_equal(system(command), 0);
  snprintf(moved, sizeof(moved), "%s/b/iree-compile", fixture->folder);
  snprintf(link, sizeof(link), "%s/b/a-link", fixture->folder);
  assert_int_equal(symlink(fixture->program, link), 0);
  assert_string_equal(digest_of(fixture, fixture->program).text, digest_of(fixture, moved).text);
  assert_string_equal(digest_of(fixture, fixture->program).text, digest_of(fixture, link).text);
}

// Replaces every remembered digest, so that a remembered answer can be told from a computed one.
static void poison_memory(const fixture_t* fixture) {
  char command[1024];
  snprintf(command, sizeof(command), "sed -i -E 's/\"sha256\": \"[0-9a-f]{60}/\"sha256\": \"%060d/' '%s/compilers.json'", 0, fixture->root);
  assert_int_equal(system(command), 0);
}

static void compiler_identity_is_remembered_until_a_file_changes(void** state) {
  fixture_t* fixture = *state;
  make_old(fixture->program, 100);
  make_old(fixture->library, 100);
  make_old(fixture->linker, 100);
  mlxcel_sha256_hex_t computed = digest_of(fixture, fixture->program);
  poison_memory(fixture);
  mlxcel_sha256_hex_t remembered = digest_of(fixture, fixture->program);
  assert_string_not_equal(computed.text, remembered.text);
  // Same size, same modification time, other contents: the change time gives it away.
  test_file_write(fixture->library, "LIBRARY", 7, 0644);
  make_old(fixture->library, 100);
  assert_string_not_equal(digest_of(fixture, fixture->program).text, remembered.text);
}

static void compiler_identity_of_fresh_files_is_not_remembered(void** state) {
  fixture_t* fixture = *state;
  mlxcel_sha256_hex_t computed = digest_of(fixture, fixture->program);
  assert_int_not_equal(access(test_path(fixture->root, "compilers.json"), F_OK), 0);
  assert_string_equal(digest_of(fixture, fixture->program).text, computed.text);
}

static void compiler_identity_survives_a_broken_memory(void** state) {
  fixture_t* fixture = *state;
  make_old(fixture->program, 100);
  mlxcel_sha256_hex_t computed = digest_of(fixture, fixture->program);
  static const char* const texts[] = {"", "{", "[]", "{\"version\": 1}", "{\"version\": 1, \"files\": 7}", "{\"version\": 2, \"files\": {}}"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(texts); ++i) {
    test_file_write(test_path(fixture->root, "compilers.json"), texts[i], strlen(texts[i]), 0644);
    assert_string_equal(digest_of(fixture, fixture->program).text, computed.text);
  }
}

static void compiler_identity_refuses_the_python_script(void** state) {
  fixture_t* fixture = *state;
  mlxcel_sha256_hex_t digest;
  static const char* const scripts[] = {"#!/usr/bin/python3.11\nimport re\n", "#!/bin/sh\n'''exec' \"/a b/python3\" \"$0\" \"$@\"\n' '''\n"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(scripts); ++i) {
    test_file_write(fixture->program, scripts[i], strlen(scripts[i]), 0755);
    TEST_ASSERT_STATUS(mlxcel_compiler_digest(fixture->root, fixture->program, &digest), IREE_STATUS_INVALID_ARGUMENT, fixture->program, "Python",
                       "_mlir_libs/iree-compile");
  }
  TEST_ASSERT_STATUS(mlxcel_compiler_digest(fixture->root, "/nonexistent", &digest), IREE_STATUS_NOT_FOUND, "/nonexistent");
}

static void compiler_version_is_one_printable_line(void** state) {
  fixture_t* fixture = *state;
  mlxcel_compiler_identity_t identity;
  memset(&identity, 0, sizeof(identity));
  static const char script[] = "#!/bin/sh\nprintf 'NAME (url):\\n  NAME compiler version 3\\033[1m @ abc\\r\\n  other\\n'\n";
  test_file_write(fixture->program, script, strlen(script), 0755);
  TEST_ASSERT_OK(mlxcel_compiler_version_query(fixture->program, &identity));
  assert_string_equal(identity.version, "NAME compiler version 3?[1m @ abc");
  test_file_write(fixture->program, "#!/bin/sh\nexit 0\n", 17, 0755);
  TEST_ASSERT_OK(mlxcel_compiler_version_query(fixture->program, &identity));
  assert_string_equal(identity.version, "unknown");
  static const char broken[] = "#!/bin/sh\necho 'libIREECompiler.so: cannot open shared object file'; exit 127\n";
  test_file_write(fixture->program, broken, strlen(broken), 0755);
  TEST_ASSERT_STATUS(mlxcel_compiler_version_query(fixture->program, &identity), IREE_STATUS_FAILED_PRECONDITION, "exit code 127", "cannot open shared object",
                     "MLXCEL_XLA_IREE_COMPILE");
}

static void compiler_presence_needs_an_executable_file(void** state) {
  fixture_t* fixture = *state;
  assert_true(mlxcel_compiler_is_present(fixture->program));
  assert_false(mlxcel_compiler_is_present(fixture->library));
  assert_false(mlxcel_compiler_is_present(fixture->folder));
  assert_false(mlxcel_compiler_is_present(""));
  assert_false(mlxcel_compiler_is_present(NULL));
}

static void compiler_version_is_told_by_number_and_revision(void** state) {
  (void)state;
  mlxcel_compiler_identity_t identity = {.version = "IREE compiler version 3.13.0rc20261016 @ 89ece87b89852100"};
  assert_true(mlxcel_compiler_is_of_version(&identity, "3.13.0", "89ece87b"));
  assert_true(mlxcel_compiler_is_of_version(&identity, "3.13.0", NULL));
  assert_true(mlxcel_compiler_is_of_version(&identity, "3.13.0", ""));
  assert_false(mlxcel_compiler_is_of_version(&identity, "3.13", "89ece87b"));
  assert_false(mlxcel_compiler_is_of_version(&identity, "13.0", "89ece87b"));
  assert_false(mlxcel_compiler_is_of_version(&identity, "3.13.0", "89ece87c"));
  snprintf(identity.version, sizeof(identity.version), "IREE compiler version 3.13.01");
  assert_false(mlxcel_compiler_is_of_version(&identity, "3.13.0", NULL));
  assert_false(mlxcel_compiler_is_of_version(&identity, "3.13.01", "89ece87b"));
  snprintf(identity.version, sizeof(identity.version), "unknown");
  assert_false(mlxcel_compiler_is_of_version(&identity, "3.13.0", NULL));
}

static void compiler_choice_prefers_the_requested_one_and_needs_the_built_in_to_exist(void** state) {
  const fixture_t* fixture = *state;
  assert_string_equal(mlxcel_compiler_choose("/absent", fixture->program), "/absent");  // so that an error can name it
  assert_ptr_equal(mlxcel_compiler_choose(NULL, fixture->program), fixture->program);
  assert_ptr_equal(mlxcel_compiler_choose("", fixture->program), fixture->program);
  assert_null(mlxcel_compiler_choose(NULL, fixture->library));
  assert_null(mlxcel_compiler_choose("", ""));
  assert_null(mlxcel_compiler_choose(NULL, NULL));
}

#define IDENTITY_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      IDENTITY_TEST(compiler_identity_covers_program_library_and_linker),
      IDENTITY_TEST(compiler_identity_does_not_depend_on_the_path),
      IDENTITY_TEST(compiler_identity_is_remembered_until_a_file_changes),
      IDENTITY_TEST(compiler_identity_of_fresh_files_is_not_remembered),
      IDENTITY_TEST(compiler_identity_survives_a_broken_memory),
      IDENTITY_TEST(compiler_identity_refuses_the_python_script),
      IDENTITY_TEST(compiler_version_is_one_printable_line),
      IDENTITY_TEST(compiler_presence_needs_an_executable_file),
      IDENTITY_TEST(compiler_version_is_told_by_number_and_revision),
      IDENTITY_TEST(compiler_choice_prefers_the_requested_one_and_needs_the_built_in_to_exist),
  };
  return cmocka_run_group_tests_name("compiler_identity", tests, NULL, NULL);
}
