// artifact_sharing_test.c: several processes on one store, and owners that die.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact_cache.h"
#include "artifact/artifact_internal.h"
#include "artifact/artifact_test_support.h"

typedef struct fixture_t {
  char* folder;
  char root[512], compiler[512];
  test_request_t sample;
} fixture_t;

static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  fixture->folder = test_folder_make();
  snprintf(fixture->root, sizeof(fixture->root), "%s/cache", fixture->folder);
  snprintf(fixture->compiler, sizeof(fixture->compiler), "%s/cc", fixture->folder);
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

static void append_step(void* user_data, const char* step, double elapsed_seconds) {
  (void)elapsed_seconds;
  if (strstr(step, "waiting")) *(bool*)user_data = true;
}

#define CHILD_CACHED 10
#define CHILD_COMPILED 11
#define CHILD_WAITED 2  // added
#define CHILD_FAILED 20

// In a child process: obtains the sample; the exit code says how.
static pid_t start_child(fixture_t* fixture) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  bool has_waited = false;
  const mlxcel_artifact_progress_t progress = {.notify = append_step, .cancelled = NULL, .user_data = &has_waited};
  mlxcel_artifact_t artifact;
  iree_status_t status = mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, &progress, &artifact);
  if (!iree_status_is_ok(status)) _exit(CHILD_FAILED);
  _exit((artifact.was_cached ? CHILD_CACHED : CHILD_COMPILED) + (has_waited ? CHILD_WAITED : 0));
}

static int join_child(pid_t pid) {
  int state = 0;
  assert_int_equal(waitpid(pid, &state, 0), pid);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

static void wait_for_runs(const fixture_t* fixture, size_t count) {
  for (int i = 0; i < 1000 && test_compiler_runs(fixture->folder, "cc") < count; ++i) usleep(10000);
  assert_int_equal(test_compiler_runs(fixture->folder, "cc"), count);
}

static void artifact_two_processes_compile_one_key_once(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "sleep 0.5; cp model.mlir model.vmfb");
  pid_t first = start_child(fixture);
  wait_for_runs(fixture, 1);
  pid_t others[3];
  for (size_t i = 0; i < IREE_ARRAYSIZE(others); ++i) others[i] = start_child(fixture);
  assert_int_equal(join_child(first), CHILD_COMPILED);
  for (size_t i = 0; i < IREE_ARRAYSIZE(others); ++i) assert_int_equal(join_child(others[i]), CHILD_CACHED + CHILD_WAITED);
  assert_int_equal(test_compiler_runs(fixture->folder, "cc"), 1);
}

static void artifact_processes_that_start_together_compile_once(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "cp model.mlir model.vmfb");
  pid_t children[6];
  for (size_t i = 0; i < IREE_ARRAYSIZE(children); ++i) children[i] = start_child(fixture);
  size_t compiled = 0;
  for (size_t i = 0; i < IREE_ARRAYSIZE(children); ++i) {
    int code = join_child(children[i]);
    assert_in_range(code, CHILD_CACHED, CHILD_COMPILED + CHILD_WAITED);
    if (code == CHILD_COMPILED || code == CHILD_COMPILED + CHILD_WAITED) ++compiled;
  }
  assert_int_equal(compiled, 1);
  assert_int_equal(test_compiler_runs(fixture->folder, "cc"), 1);
}

static void artifact_different_keys_do_not_wait_for_each_other(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "grep -q slow model.mlir && exec sleep 30; cp model.mlir model.vmfb");
  fixture->sample.request.mlir_text = IREE_SV("slow");
  pid_t slow = start_child(fixture);
  wait_for_runs(fixture, 1);
  fixture->sample.request.mlir_text = IREE_SV("fast");
  assert_int_equal(join_child(start_child(fixture)), CHILD_COMPILED);
  assert_int_equal(kill(slow, SIGKILL), 0);
  assert_int_equal(join_child(slow), -SIGKILL);
}

// The state after an owner was killed in the middle of a compilation.
static void kill_an_owner(fixture_t* fixture) {
  test_compiler_make(fixture->folder, "cc", "test -e ../../../go || exec sleep 60; cp model.mlir model.vmfb");
  pid_t owner = start_child(fixture);
  wait_for_runs(fixture, 1);
  assert_int_equal(kill(owner, SIGKILL), 0);
  assert_int_equal(join_child(owner), -SIGKILL);
  assert_int_equal(test_folder_count(test_path(fixture->root, "tmp")), 1);
  test_file_write(test_path(fixture->folder, "go"), "", 0, 0644);
}

static void artifact_killed_owner_blocks_nobody(void** state) {
  fixture_t* fixture = *state;
  kill_an_owner(fixture);
  assert_int_equal(join_child(start_child(fixture)), CHILD_COMPILED);
  assert_int_equal(test_folder_count(test_path(fixture->root, "tmp")), 0);  // the next owner of the key cleans up
  assert_int_equal(join_child(start_child(fixture)), CHILD_CACHED);
}

static void artifact_waiter_takes_over_from_a_killed_owner(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "test -e ../../../go || exec sleep 60; cp model.mlir model.vmfb");
  pid_t owner = start_child(fixture);
  wait_for_runs(fixture, 1);
  pid_t waiter = start_child(fixture);
  usleep(300000);
  test_file_write(test_path(fixture->folder, "go"), "", 0, 0644);
  assert_int_equal(kill(owner, SIGKILL), 0);
  assert_int_equal(join_child(owner), -SIGKILL);
  assert_int_equal(join_child(waiter), CHILD_COMPILED + CHILD_WAITED);
}

static void artifact_prune_removes_leftovers_of_the_dead_only(void** state) {
  fixture_t* fixture = *state;
  kill_an_owner(fixture);
  assert_int_equal(unlink(test_path(fixture->folder, "go")), 0);
  fixture->sample.request.mlir_text = IREE_SV("another text");
  pid_t living = start_child(fixture);
  wait_for_runs(fixture, 2);
  size_t removed = 0;
  uint64_t bytes = 0;
  TEST_ASSERT_OK(mlxcel_artifact_cache_prune(fixture->root, 30, &removed, &bytes));
  assert_int_equal(removed, 1);
  assert_true(bytes > 0);
  assert_int_equal(test_folder_count(test_path(fixture->root, "tmp")), 1);
  assert_int_equal(test_folder_count(test_path(fixture->root, "locks")), 1);  // the dead one's lock is gone, the living one's isn't
  assert_int_equal(kill(living, SIGKILL), 0);
  assert_int_equal(join_child(living), -SIGKILL);
}

static bool cancel_now(void* user_data) {
  (void)user_data;
  return true;
}

static void artifact_waiting_can_be_cancelled(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "exec sleep 60");
  pid_t owner = start_child(fixture);
  wait_for_runs(fixture, 1);
  const mlxcel_artifact_progress_t progress = {.notify = NULL, .cancelled = cancel_now, .user_data = NULL};
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, &progress, &artifact), IREE_STATUS_CANCELLED, "waiting");
  assert_int_equal(test_compiler_runs(fixture->folder, "cc"), 1);
  assert_int_equal(kill(owner, SIGKILL), 0);
  assert_int_equal(join_child(owner), -SIGKILL);
}

// A lock file that lost its name while somebody waited for it protects nothing: the waiter must take the new one.
static void artifact_lock_on_an_unlinked_file_is_taken_anew(void** state) {
  fixture_t* fixture = *state;
  char key[65];
  memset(key, 'a', 64);
  key[64] = 0;
  char path[700];
  snprintf(path, sizeof(path), "%s/locks/%s.lock", fixture->root, key);
  TEST_ASSERT_OK(mlxcel_directory_create(test_path(fixture->root, "locks")));
  mlxcel_file_lock_t old_lock, new_lock;
  TEST_ASSERT_OK(mlxcel_artifact_lock_acquire(fixture->root, key, 0, &old_lock));
  TEST_ASSERT_STATUS(mlxcel_artifact_lock_acquire(fixture->root, key, 0, &new_lock), IREE_STATUS_DEADLINE_EXCEEDED, path);
  pid_t waiter = fork();
  if (waiter == 0) {
    close(old_lock.descriptor);  // a lock lasts as long as any copy of its descriptor
    mlxcel_file_lock_t lock, probe;
    iree_status_t status = mlxcel_artifact_lock_acquire(fixture->root, key, 5000, &lock);
    bool has_named_file = access(path, F_OK) == 0;
    iree_status_t second = mlxcel_file_lock_acquire(path, 0, &probe);
    _exit(iree_status_is_ok(status) && has_named_file && iree_status_is_deadline_exceeded(second) ? 0 : 1);
  }
  usleep(200000);
  assert_int_equal(unlink(path), 0);
  mlxcel_file_lock_release(&old_lock);
  assert_int_equal(join_child(waiter), 0);
}

#define SHARING_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      SHARING_TEST(artifact_two_processes_compile_one_key_once),
      SHARING_TEST(artifact_processes_that_start_together_compile_once),
      SHARING_TEST(artifact_different_keys_do_not_wait_for_each_other),
      SHARING_TEST(artifact_killed_owner_blocks_nobody),
      SHARING_TEST(artifact_waiter_takes_over_from_a_killed_owner),
      SHARING_TEST(artifact_prune_removes_leftovers_of_the_dead_only),
      SHARING_TEST(artifact_waiting_can_be_cancelled),
      SHARING_TEST(artifact_lock_on_an_unlinked_file_is_taken_anew),
  };
  return cmocka_run_group_tests_name("artifact_sharing", tests, NULL, NULL);
}
