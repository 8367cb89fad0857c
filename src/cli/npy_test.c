// The .npy writer: the bytes of the format, nothing before the end, nothing after a failure.
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/npy.h"

static char folder[64];
static char path[128];

static int make_folder(void** state) {
  (void)state;
  strcpy(folder, "/tmp/npy_test_XXXXXX");
  if (!mkdtemp(folder)) return -1;
  snprintf(path, sizeof(path), "%s/logits.npy", folder);
  return 0;
}

// Names in the folder, without "." and "..".
static size_t count_files(void) {
  size_t count = 0;
  DIR* directory = opendir(folder);
  assert_non_null(directory);
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

static int remove_folder(void** state) {
  (void)state;
  DIR* directory = opendir(folder);
  if (!directory) return -1;
  for (struct dirent* entry; (entry = readdir(directory)) != NULL;) {
    char name[512];
    snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.') unlink(name);
  }
  closedir(directory);
  return rmdir(folder);
}

static size_t read_file(const char* name, char* buffer, size_t capacity) {
  FILE* file = fopen(name, "rb");
  assert_non_null(file);
  size_t size = fread(buffer, 1, capacity, file);
  fclose(file);
  return size;
}

static void write_file(const char* name, const char* text) {
  FILE* file = fopen(name, "wb");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void npy_writes_header_and_rows_of_the_format(void** state) {
  (void)state;
  const float rows[2][3] = {{1.0f, -2.5f, 0.0f}, {3.0f, 4.0f, 1e-30f}};
  mlxcel_cli_npy_t writer;
  assert_true(mlxcel_cli_npy_open(path, &writer));
  assert_true(mlxcel_cli_npy_append(&writer, rows[0], 3));
  assert_true(mlxcel_cli_npy_append(&writer, rows[1], 3));
  assert_true(mlxcel_cli_npy_finish(&writer, 3));
  mlxcel_cli_npy_close(&writer);
  char bytes[512];
  assert_int_equal(read_file(path, bytes, sizeof(bytes)), 128 + sizeof(rows));
  assert_memory_equal(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);  // version 1.0, 118 bytes of text
  static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } ";
  assert_memory_equal(bytes + 10, text, strlen(text));
  for (size_t i = 10 + strlen(text); i < 127; ++i) assert_int_equal(bytes[i], ' ');
  assert_int_equal(bytes[127], '\n');
  assert_memory_equal(bytes + 128, rows, sizeof(rows));
  assert_int_equal(count_files(), 1);
}

static void npy_publishes_only_when_finished(void** state) {
  (void)state;
  write_file(path, "old");
  const float row[1] = {1.0f};
  mlxcel_cli_npy_t writer;
  assert_true(mlxcel_cli_npy_open(path, &writer));
  assert_true(mlxcel_cli_npy_append(&writer, row, 1));
  char bytes[16];
  assert_int_equal(read_file(path, bytes, sizeof(bytes)), 3);
  mlxcel_cli_npy_close(&writer);
  assert_int_equal(read_file(path, bytes, sizeof(bytes)), 3);
  assert_int_equal(count_files(), 1);
}

static void npy_without_rows_keeps_the_width(void** state) {
  (void)state;
  mlxcel_cli_npy_t writer;
  assert_true(mlxcel_cli_npy_open(path, &writer));
  assert_true(mlxcel_cli_npy_finish(&writer, 49152));
  mlxcel_cli_npy_close(&writer);
  char bytes[256] = "";
  assert_int_equal(read_file(path, bytes, sizeof(bytes) - 1), 128);
  assert_non_null(strstr(bytes + 10, "'shape': (0, 49152)"));
}

static void npy_refuses_rows_of_another_width(void** state) {
  (void)state;
  const float row[4] = {0};
  mlxcel_cli_npy_t writer;
  assert_true(mlxcel_cli_npy_open(path, &writer));
  assert_true(mlxcel_cli_npy_append(&writer, row, 4));
  assert_false(mlxcel_cli_npy_append(&writer, row, 3));
  assert_non_null(strstr(writer.message, "logits.npy"));
  mlxcel_cli_npy_close(&writer);
}

static void npy_refuses_devices_folders_and_missing_folders(void** state) {
  (void)state;
  static const char* const bad[] = {"/dev/null", "/tmp", "/tmp/no such folder/x.npy"};
  for (size_t i = 0; i < 3; ++i) {
    mlxcel_cli_npy_t writer;
    assert_false(mlxcel_cli_npy_open(bad[i], &writer));
    assert_non_null(strstr(writer.message, bad[i]));
    assert_non_null(strchr(writer.message, ';'));  // a remedy follows
    mlxcel_cli_npy_close(&writer);
  }
  struct stat info;
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
}

static void npy_writes_through_a_link(void** state) {
  (void)state;
  char link_path[160];
  snprintf(link_path, sizeof(link_path), "%s/link.npy", folder);
  write_file(path, "old");
  assert_int_equal(symlink(path, link_path), 0);
  mlxcel_cli_npy_t writer;
  assert_true(mlxcel_cli_npy_open(link_path, &writer));
  assert_true(mlxcel_cli_npy_finish(&writer, 1));
  mlxcel_cli_npy_close(&writer);
  struct stat info;
  assert_int_equal(lstat(link_path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  char bytes[256];
  assert_int_equal(read_file(path, bytes, sizeof(bytes)), 128);
}

// A full disk, by a limit on the size of files.
static void npy_full_disk_is_named_and_leaves_nothing(void** state) {
  (void)state;
  struct rlimit old_limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  signal(SIGXFSZ, SIG_IGN);
  float row[64] = {0};
  mlxcel_cli_npy_t writer;
  assert_true(mlxcel_cli_npy_open(path, &writer));
  struct rlimit limit = {256, old_limit.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
  bool ok = mlxcel_cli_npy_append(&writer, row, 64);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  assert_false(ok);
  assert_non_null(strstr(writer.message, "logits.npy"));
  mlxcel_cli_npy_close(&writer);
  assert_int_equal(count_files(), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(npy_writes_header_and_rows_of_the_format),
      CASE(npy_publishes_only_when_finished),
      CASE(npy_without_rows_keeps_the_width),
      CASE(npy_refuses_rows_of_another_width),
      CASE(npy_refuses_devices_folders_and_missing_folders),
      CASE(npy_writes_through_a_link),
      CASE(npy_full_disk_is_named_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
