// Behaviour of files, folders and locks.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// cmocka wants the headers above first.
#include <cmocka.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"

static char* scratch;

static int make_scratch(void** state) {
  (void)state;
  const char* parent = getenv("TMPDIR");
  iree_status_t status = mlxcel_directory_create_temporary(parent ? parent : "/tmp", "mlxcel-fs-test-", &scratch);
  return iree_status_is_ok(status) ? 0 : (iree_status_ignore(status), -1);
}
static int remove_scratch(void** state) {
  (void)state;
  iree_status_t status = mlxcel_directory_remove(scratch);
  bool ok = iree_status_is_ok(status) && !mlxcel_path_exists(scratch);
  iree_status_ignore(status);
  free(scratch);
  return ok ? 0 : -1;
}

static char* in_scratch(const char* name) {
  char* path = NULL;
  iree_status_t status = mlxcel_path_join(scratch, iree_make_cstring_view(name), &path);
  assert_true(iree_status_is_ok(status));
  return path;
}

// Takes a failed status: its code and a part of its message.
static void expect_failure(iree_status_t status, iree_status_code_t code, const char* part) {
  char text[1024];
  assert_int_equal(iree_status_code(status), code);
  mlxcel_status_text(status, text, sizeof(text));
  if (!strstr(text, part)) fail_msg("'%s' isn't in '%s'", part, text);
  iree_status_ignore(status);
}
static void expect_ok(iree_status_t status) {
  if (iree_status_is_ok(status)) return;
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_ignore(status);
  fail_msg("%s", text);
}

static size_t entry_count(const char* pattern) {
  char command[512];
  snprintf(command, sizeof(command), "ls -A '%s' | grep -c '%s'", scratch, pattern);
  FILE* pipe = popen(command, "r");
  size_t count = 0;
  assert_int_equal(fscanf(pipe, "%zu", &count), 1);
  pclose(pipe);
  return count;
}

static void fs_publish_replaces_a_file_at_once_and_leaves_nothing_else(void** state) {
  (void)state;
  char* path = in_scratch("published");
  expect_ok(mlxcel_file_publish(path, "old", 3));
  expect_ok(mlxcel_file_publish(path, "newer", 5));
  char* data = NULL;
  size_t size = 0;
  expect_ok(mlxcel_file_read(path, 100, &data, &size));
  assert_int_equal(size, 5);
  assert_string_equal(data, "newer");
  assert_int_equal(entry_count("published"), 1);
  free(data);
  free(path);
}

static void fs_publish_into_a_missing_folder_names_it_and_makes_nothing(void** state) {
  (void)state;
  char* path = in_scratch("nowhere/file");
  expect_failure(mlxcel_file_publish(path, "x", 1), IREE_STATUS_NOT_FOUND, "nowhere/file");
  free(path);
}

static void fs_publish_over_a_folder_fails_and_removes_its_temporary_file(void** state) {
  (void)state;
  char* path = in_scratch("a-folder");
  expect_ok(mlxcel_directory_create(path));
  iree_status_t status = mlxcel_file_publish(path, "x", 1);
  assert_false(iree_status_is_ok(status));
  iree_status_ignore(status);
  assert_int_equal(entry_count("a-folder"), 1);
  free(path);
}

static void fs_read_refuses_larger_files_folders_and_absent_ones(void** state) {
  (void)state;
  char* path = in_scratch("limited");
  char* data = (char*)1;
  size_t size = 1;
  expect_ok(mlxcel_file_publish(path, "12345", 5));
  expect_failure(mlxcel_file_read(path, 4, &data, &size), IREE_STATUS_INVALID_ARGUMENT, "over the limit of 4");
  assert_null(data);
  expect_failure(mlxcel_file_read(scratch, 100, &data, &size), IREE_STATUS_INVALID_ARGUMENT, "not a regular file");
  expect_failure(mlxcel_file_read("/nonexistent/mlxcel", 100, &data, &size), IREE_STATUS_NOT_FOUND, "/nonexistent/mlxcel");
  free(path);
}

static void fs_read_of_a_pipe_does_not_wait_for_a_writer(void** state) {
  (void)state;
  char* path = in_scratch("pipe");
  char* data = NULL;
  size_t size = 0;
  assert_int_equal(mkfifo(path, 0600), 0);
  expect_failure(mlxcel_file_read(path, 100, &data, &size), IREE_STATUS_INVALID_ARGUMENT, "not a regular file");
  free(path);
}

static void fs_map_of_an_empty_file_has_no_bytes(void** state) {
  (void)state;
  char* path = in_scratch("empty");
  expect_ok(mlxcel_file_publish(path, "", 0));
  mlxcel_mapped_file_t file;
  expect_ok(mlxcel_mapped_file_open(path, 100, &file));
  assert_int_equal(file.size, 0);
  mlxcel_mapped_file_close(&file);
  free(path);
}

static void fs_paths_join_with_one_slash_and_have_a_limit(void** state) {
  (void)state;
  char* path = NULL;
  expect_ok(mlxcel_path_join("folder//", iree_make_cstring_view("name"), &path));
  assert_string_equal(path, "folder/name");
  free(path);
  char* name = malloc(MLXCEL_PATH_BYTES_MAX);
  memset(name, 'a', MLXCEL_PATH_BYTES_MAX);
  expect_failure(mlxcel_path_join("folder", iree_make_string_view(name, MLXCEL_PATH_BYTES_MAX), &path), IREE_STATUS_INVALID_ARGUMENT, "longer than");
  free(name);
}

static void fs_directory_create_says_when_a_file_is_in_the_way(void** state) {
  (void)state;
  char* file = in_scratch("in-the-way");
  char* below = in_scratch("in-the-way/sub/folder");
  expect_ok(mlxcel_file_publish(file, "x", 1));
  expect_failure(mlxcel_directory_create(below), IREE_STATUS_NOT_FOUND, "in-the-way");
  free(below);
  free(file);
}

// A child that takes the lock, tells so through |ready| and waits to be killed.
static pid_t lock_in_child(const char* path, int ready) {
  pid_t child = fork();
  if (child != 0) return child;
  mlxcel_file_lock_t lock;
  iree_status_t status = mlxcel_file_lock_acquire(path, 0, &lock);
  char answer = iree_status_is_ok(status) ? 'y' : 'n';
  if (write(ready, &answer, 1) != 1) _exit(1);
  for (;;) pause();
}

static void fs_lock_excludes_others_until_its_owner_dies(void** state) {
  (void)state;
  char* path = in_scratch("lock");
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  pid_t child = lock_in_child(path, ready[1]);
  char answer = 0;
  assert_int_equal(read(ready[0], &answer, 1), 1);
  assert_int_equal(answer, 'y');
  mlxcel_file_lock_t lock;
  expect_failure(mlxcel_file_lock_acquire(path, 50, &lock), IREE_STATUS_DEADLINE_EXCEEDED, "lock");
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  expect_ok(mlxcel_file_lock_acquire(path, 0, &lock));
  mlxcel_file_lock_release(&lock);
  mlxcel_file_lock_release(&lock);  // a second time is harmless
  close(ready[0]);
  close(ready[1]);
  free(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fs_publish_replaces_a_file_at_once_and_leaves_nothing_else),
      cmocka_unit_test(fs_publish_into_a_missing_folder_names_it_and_makes_nothing),
      cmocka_unit_test(fs_publish_over_a_folder_fails_and_removes_its_temporary_file),
      cmocka_unit_test(fs_read_refuses_larger_files_folders_and_absent_ones),
      cmocka_unit_test(fs_read_of_a_pipe_does_not_wait_for_a_writer),
      cmocka_unit_test(fs_map_of_an_empty_file_has_no_bytes),
      cmocka_unit_test(fs_paths_join_with_one_slash_and_have_a_limit),
      cmocka_unit_test(fs_directory_create_says_when_a_file_is_in_the_way),
      cmocka_unit_test(fs_lock_excludes_others_until_its_owner_dies),
  };
  return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
