// artifact_storage_test.c: stores that can't be written: no folder possible, read-only, full.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact_cache.h"
#include "artifact/artifact_test_support.h"
#include "base/fs.h"

#define COMPILES "cat model.mlir kernels.o model.mlir > model.vmfb"

typedef struct fixture_t {
  char* folder;
  char root[512], scratch[512], compiler[512];
  test_request_t sample;
} fixture_t;

static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  fixture->folder = test_folder_make();
  snprintf(fixture->root, sizeof(fixture->root), "%s/cache", fixture->folder);
  snprintf(fixture->scratch, sizeof(fixture->scratch), "%s/scratch", fixture->folder);
  snprintf(fixture->compiler, sizeof(fixture->compiler), "%s", test_compiler_make(fixture->folder, "cc", COMPILES));
  TEST_ASSERT_OK(mlxcel_directory_create(fixture->root));
  TEST_ASSERT_OK(mlxcel_directory_create(fixture->scratch));
  test_request_initialize(fixture->compiler, &fixture->sample);
  *state = fixture;
  return 0;
}

static int fixture_teardown(void** state) {
  fixture_t* fixture = *state;
  test_request_deinitialize(&fixture->sample);
  test_folder_remove(fixture->folder);
  free(fixture);
  return 0;
}

// Obtains the sample with stderr caught. True if it works from memory, with a warning that contains |reason|, and leaves no scratch behind.
static bool obtains_from_memory(fixture_t* fixture, const char* root, const char* reason) {
  char caught[600];
  snprintf(caught, sizeof(caught), "%s/stderr", fixture->folder);
  int saved = dup(STDERR_FILENO);
  int file = open(caught, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  dup2(file, STDERR_FILENO);
  close(file);
  setenv("TMPDIR", fixture->scratch, 1);
  mlxcel_artifact_t artifact;
  iree_status_t status = mlxcel_artifact_obtain(root, &fixture->sample.request, NULL, &artifact);
  unsetenv("TMPDIR");
  dup2(saved, STDERR_FILENO);
  close(saved);
  size_t size = 0;
  char* warning = test_file_read(caught, &size);
  bool good = iree_status_is_ok(status) && !artifact.was_cached && artifact.folder[0] == 0 && artifact.vmfb.size > 100 &&
              artifact.interface.parameter_count == 2 && warning && strstr(warning, "warning:") && strstr(warning, reason) && strstr(warning, "from memory") &&
              test_folder_count(fixture->scratch) == 0;
  if (!good) {
    fprintf(stderr, "cached folder '%s', warning: %s\n", artifact.folder ? artifact.folder : "", warning ? warning : "");
    iree_status_fprint(stderr, status);
  }
  free(warning);
  iree_status_ignore(status);
  mlxcel_artifact_deinitialize(&artifact);
  return good;
}

static void artifact_store_that_cannot_exist_is_done_without(void** state) {
  fixture_t* fixture = *state;
  char below_file[700];
  snprintf(below_file, sizeof(below_file), "%s/cc/cache", fixture->folder);
  assert_true(obtains_from_memory(fixture, below_file, "Not a directory"));
  assert_true(obtains_from_memory(fixture, below_file, "Not a directory"));
  assert_int_equal(test_compiler_runs(fixture->folder, "cc"), 2);
}

static void artifact_failure_without_a_store_keeps_the_reproducer_in_scratch(void** state) {
  fixture_t* fixture = *state;
  char below_file[700];
  snprintf(below_file, sizeof(below_file), "%s/cc/cache", fixture->folder);
  test_compiler_make(fixture->folder, "cc", "echo 'error: no'; exit 1");
  setenv("TMPDIR", fixture->scratch, 1);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(mlxcel_artifact_obtain(below_file, &fixture->sample.request, NULL, &artifact), IREE_STATUS_INTERNAL, "error: no", fixture->scratch);
  unsetenv("TMPDIR");
  assert_int_equal(test_folder_count(fixture->scratch), 1);
}

static void artifact_without_any_folder_the_error_says_so(void** state) {
  fixture_t* fixture = *state;
  char below_file[700];
  snprintf(below_file, sizeof(below_file), "%s/cc/cache", fixture->folder);
  setenv("TMPDIR", below_file, 1);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(mlxcel_artifact_obtain(below_file, &fixture->sample.request, NULL, &artifact), IREE_STATUS_NOT_FOUND, below_file, "Not a directory");
  unsetenv("TMPDIR");
}

// Runs |body| in a child with its own mounts (they vanish with it). Skips where that isn't permitted.
static void run_with_own_mounts(fixture_t* fixture, bool (*body)(fixture_t* fixture)) {
  pid_t pid = fork();
  if (pid == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) _exit(77);
    _exit(body(fixture) ? 0 : 1);
  }
  int child_state = 0;
  assert_int_equal(waitpid(pid, &child_state, 0), pid);
  if (WIFEXITED(child_state) && WEXITSTATUS(child_state) == 77) {
    print_message("skipped: this account may not mount file systems (%s)\n", strerror(EPERM));
    skip();
  }
  assert_true(WIFEXITED(child_state) && WEXITSTATUS(child_state) == 0);
}

static bool make_read_only(const char* folder) {
  return mount(folder, folder, NULL, MS_BIND, NULL) == 0 && mount("none", folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}

static bool hits(fixture_t* fixture) {
  mlxcel_artifact_t artifact;
  iree_status_t status = mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact);
  bool good = iree_status_is_ok(status) && artifact.was_cached;
  iree_status_ignore(status);
  mlxcel_artifact_deinitialize(&artifact);
  return good;
}

static bool read_only_body(fixture_t* fixture) {
  mlxcel_artifact_t artifact;
  iree_status_t status = mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact);
  bool good = iree_status_is_ok(status);
  iree_status_ignore(status);
  mlxcel_artifact_deinitialize(&artifact);
  if (!good || !make_read_only(fixture->root)) return false;
  good = hits(fixture) && test_compiler_runs(fixture->folder, "cc") == 1;  // what is there is still used
  fixture->sample.request.target = IREE_SV("another-target");
  return good && obtains_from_memory(fixture, fixture->root, "Read-only file system");
}

static void artifact_read_only_store_gives_hits_and_is_done_without(void** state) { run_with_own_mounts(*state, read_only_body); }

static bool read_only_damaged_body(fixture_t* fixture) {
  mlxcel_artifact_t artifact;
  iree_status_t status = mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact);
  if (!iree_status_is_ok(status)) return false;
  test_file_flip_bit(test_path(artifact.folder, "model.vmfb"), 1, 1);
  mlxcel_artifact_deinitialize(&artifact);
  return make_read_only(fixture->root) && obtains_from_memory(fixture, fixture->root, "vmfb.sha256");
}

static void artifact_damaged_entry_in_a_read_only_store_is_not_used(void** state) { run_with_own_mounts(*state, read_only_damaged_body); }

// A file system with |free_bytes| left, one page at least.
static bool make_small_store(const fixture_t* fixture, size_t free_bytes) {
  if (mount("none", fixture->root, "tmpfs", 0, "size=64k") != 0) return false;
  char page[4096] = {0};
  int file = open(test_path(fixture->root, "filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  for (size_t size = 65536; size > free_bytes; size -= sizeof(page)) {
    if (write(file, page, sizeof(page)) != (ssize_t)sizeof(page)) return false;
  }
  return close(file) == 0;
}

// With ever more room the disk is full when the input is written, when the compiler writes, when the manifest is written: each time the module is used
// from memory, nothing half-written remains, and with enough room it is published.
static bool full_disk_body(fixture_t* fixture) {
  char entries_of[600];
  for (size_t pages = 0; pages <= 4; ++pages) {
    umount(fixture->root);
    if (!make_small_store(fixture, pages * 4096)) return false;
    snprintf(entries_of, sizeof(entries_of), "%s/tmp", fixture->root);
    mlxcel_artifact_listing_t* entries = NULL;
    size_t count = 0;
    bool good = pages == 4 ? !hits(fixture) && hits(fixture) : obtains_from_memory(fixture, fixture->root, "No space left on device");
    iree_status_t status = mlxcel_artifact_cache_list(fixture->root, true, &count, &entries);
    good = good && iree_status_is_ok(status) && count == (pages == 4 ? 1 : 0) && test_folder_count(entries_of) == 0;
    for (size_t i = 0; i < count; ++i) good = good && iree_status_is_ok(entries[i].status);
    mlxcel_artifact_cache_list_free(count, entries);
    iree_status_ignore(status);
    if (!good) fprintf(stderr, "with %zu pages: %zu entries\n", pages, count);
    if (!good) return false;
  }
  return true;
}

static void artifact_full_disk_is_done_without(void** state) { run_with_own_mounts(*state, full_disk_body); }

#define STORAGE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      STORAGE_TEST(artifact_store_that_cannot_exist_is_done_without),        STORAGE_TEST(artifact_failure_without_a_store_keeps_the_reproducer_in_scratch),
      STORAGE_TEST(artifact_without_any_folder_the_error_says_so),           STORAGE_TEST(artifact_read_only_store_gives_hits_and_is_done_without),
      STORAGE_TEST(artifact_damaged_entry_in_a_read_only_store_is_not_used), STORAGE_TEST(artifact_full_disk_is_done_without),
  };
  return cmocka_run_group_tests_name("artifact_storage", tests, NULL, NULL);
}
