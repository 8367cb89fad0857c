#include "artifact/compile_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact_limits.h"
#include "artifact/artifact_test_support.h"
#include "base/fs.h"

static iree_status_t run_shell(const char* folder, const char* script, const mlxcel_artifact_progress_t* progress, uint64_t time_limit_milliseconds,
                               mlxcel_compile_process_result_t* out_result) {
  const char* arguments[] = {"-c", script};
  mlxcel_compile_process_options_t options;
  mlxcel_compile_process_options_initialize(&options);
  options.program = "/bin/sh";
  options.folder = folder;
  options.argument_count = 2;
  options.arguments = arguments;
  options.progress = progress;
  if (time_limit_milliseconds) options.time_limit_milliseconds = time_limit_milliseconds;
  return mlxcel_compile_process_run(&options, out_result);
}

static void compile_process_gives_output_and_exit_code(void** state) {
  (void)state;
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(run_shell("/", "echo out; echo err >&2; pwd; exit 5", NULL, 0, &result));
  assert_int_equal(result.exit_code, 5);
  assert_int_equal(result.signal_number, 0);
  assert_string_equal(result.output, "out\nerr\n/\n");
  mlxcel_compile_process_result_deinitialize(&result);
}

static void compile_process_gives_the_signal(void** state) {
  (void)state;
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(run_shell("/", "kill -ABRT $$", NULL, 0, &result));
  assert_int_equal(result.signal_number, SIGABRT);
  mlxcel_compile_process_result_deinitialize(&result);
}

static void compile_process_reads_nothing_from_us(void** state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);  // without O_CLOEXEC, as a careless library would
  assert_int_equal(setenv("MLXCEL_TEST_SECRET", "x", 1), 0);
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(run_shell("/", "wc -c; ls /proc/self/fd | wc -l; echo ${MLXCEL_TEST_SECRET:-unset}", NULL, 0, &result));
  assert_string_equal(result.output, "0\n4\nunset\n");  // 0, 1, 2 and the folder that ls reads
  mlxcel_compile_process_result_deinitialize(&result);
  close(ends[0]);
  close(ends[1]);
}

static void compile_process_bounds_what_it_keeps(void** state) {
  (void)state;
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(
      run_shell("/",
                "echo first; i=0; while [ $i -lt 2000 ]; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; "
                "i=$((i+1)); done; echo last",
                NULL, 0, &result));
  assert_true(result.output_size <= MLXCEL_COMPILE_DIAGNOSTICS_HEAD_BYTES + MLXCEL_COMPILE_DIAGNOSTICS_TAIL_BYTES + 96);
  assert_true(result.output_size >= MLXCEL_COMPILE_DIAGNOSTICS_HEAD_BYTES + MLXCEL_COMPILE_DIAGNOSTICS_TAIL_BYTES);
  assert_int_equal(strncmp(result.output, "first\nxxx", 9), 0);
  assert_string_equal(result.output + result.output_size - 6, "\nlast\n");
  size_t total = 6 + 5 + 2000 * 91;
  char note[64];
  snprintf(note, sizeof(note), "[... %zu bytes left out ...]", total - MLXCEL_COMPILE_DIAGNOSTICS_HEAD_BYTES - MLXCEL_COMPILE_DIAGNOSTICS_TAIL_BYTES);
  assert_non_null(strstr(result.output, note));
  mlxcel_compile_process_result_deinitialize(&result);
}

// True if |pid| belongs to |group| and isn't a zombie, which only waits for its parent.
static bool process_is_live_member(const char* pid, pid_t group) {
  char path[64], text[512];
  snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
  FILE* file = fopen(path, "re");
  if (!file) return false;
  size_t size = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[size] = 0;
  const char* end_of_name = strrchr(text, ')');
  char letter = 0;
  int parent = 0, member_group = 0;
  return end_of_name && sscanf(end_of_name + 1, " %c %d %d", &letter, &parent, &member_group) == 3 && member_group == group && letter != 'Z';
}

static bool group_has_live_member(pid_t group) {
  DIR* directory = opendir("/proc");
  assert_non_null(directory);
  bool found = false;
  for (struct dirent* item = readdir(directory); item && !found; item = readdir(directory)) {
    found = item->d_name[0] >= '1' && item->d_name[0] <= '9' && process_is_live_member(item->d_name, group);
  }
  closedir(directory);
  return found;
}

// The process group that a script announced in "<folder>/group".
static pid_t group_of(const char* folder) {
  size_t size = 0;
  char* text = test_file_read(test_path(folder, "group"), &size);
  pid_t group = text ? (pid_t)atoi(text) : 0;
  free(text);
  assert_true(group > 1);
  return group;
}

// SIGKILL takes a moment to arrive.
static bool group_is_alive_after_a_moment(const char* folder) {
  pid_t group = group_of(folder);
  for (int i = 0; i < 500 && group_has_live_member(group); ++i) usleep(10000);
  return group_has_live_member(group);
}

static void compile_process_time_limit_ends_the_whole_group(void** state) {
  (void)state;
  char* folder = test_folder_make();
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(run_shell(folder, "echo $$ > group; sleep 100 & sleep 100; echo never", NULL, 300, &result));
  assert_true(result.was_timed_out);
  assert_false(result.was_cancelled);
  assert_int_equal(result.signal_number, SIGTERM);
  assert_string_equal(result.output, "");
  assert_true(result.seconds < 2.0);
  assert_false(group_is_alive_after_a_moment(folder));
  mlxcel_compile_process_result_deinitialize(&result);
  test_folder_remove(folder);
}

static bool cancel_on_second_call(void* user_data) { return ++*(unsigned*)user_data >= 2; }

static void compile_process_cancellation_kills_what_ignores_sigterm(void** state) {
  (void)state;
  char* folder = test_folder_make();
  unsigned calls = 0;
  const mlxcel_artifact_progress_t progress = {.notify = NULL, .cancelled = cancel_on_second_call, .user_data = &calls};
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(run_shell(folder, "trap '' TERM; echo $$ > group; while :; do sleep 0.1; done", &progress, 0, &result));
  assert_true(result.was_cancelled);
  assert_int_equal(result.signal_number, SIGKILL);
  assert_true(result.seconds * 1000 >= MLXCEL_COMPILE_GRACE_MILLISECONDS);
  assert_false(group_is_alive_after_a_moment(folder));
  mlxcel_compile_process_result_deinitialize(&result);
  test_folder_remove(folder);
}

static void compile_process_does_not_wait_for_what_it_left_running(void** state) {
  (void)state;
  char* folder = test_folder_make();
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(run_shell(folder, "echo $$ > group; sleep 100 & echo done", NULL, 0, &result));
  assert_int_equal(result.exit_code, 0);
  assert_string_equal(result.output, "done\n");
  assert_true(result.seconds < 5.0);
  assert_false(group_is_alive_after_a_moment(folder));
  mlxcel_compile_process_result_deinitialize(&result);
  test_folder_remove(folder);
}

static void compile_process_memory_limit_holds(void** state) {
  (void)state;
  const char* arguments[] = {"-c", "ulimit -d"};
  mlxcel_compile_process_options_t options;
  mlxcel_compile_process_options_initialize(&options);
  options.program = "/bin/sh";
  options.folder = "/";
  options.argument_count = 2;
  options.arguments = arguments;
  options.memory_limit_bytes = 512u << 20;
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_OK(mlxcel_compile_process_run(&options, &result));
  assert_string_equal(result.output, "524288\n");
  mlxcel_compile_process_result_deinitialize(&result);
}

static void compile_process_reports_what_cannot_start(void** state) {
  (void)state;
  mlxcel_compile_process_options_t options;
  mlxcel_compile_process_options_initialize(&options);
  options.program = "/nonexistent/compiler";
  options.folder = "/";
  mlxcel_compile_process_result_t result;
  TEST_ASSERT_STATUS(mlxcel_compile_process_run(&options, &result), IREE_STATUS_FAILED_PRECONDITION, "/nonexistent/compiler", "MLXCEL_XLA_IREE_COMPILE");
  assert_null(result.output);
  options.program = "/bin/sh";
  options.folder = "/nonexistent";
  TEST_ASSERT_STATUS(mlxcel_compile_process_run(&options, &result), IREE_STATUS_NOT_FOUND, "/nonexistent");
}

static void compile_process_works_with_closed_standard_descriptors(void** state) {
  (void)state;
  pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < 3; ++i) close(i);
    mlxcel_compile_process_result_t result;
    iree_status_t status = run_shell("/", "echo to-out; echo to-err >&2; cat", NULL, 0, &result);
    _exit(iree_status_is_ok(status) && strcmp(result.output, "to-out\nto-err\n") == 0 ? 0 : 1);
  }
  int exit_state = 0;
  assert_int_equal(waitpid(pid, &exit_state, 0), pid);
  assert_true(WIFEXITED(exit_state) && WEXITSTATUS(exit_state) == 0);
}

static void compile_process_dies_with_its_owner(void** state) {
  (void)state;
  char* folder = test_folder_make();
  pid_t pid = fork();
  if (pid == 0) {
    mlxcel_compile_process_result_t result;
    iree_status_ignore(run_shell(folder, "echo $$ > group.new; mv group.new group; while :; do read line; sleep 0.05; done", NULL, 0, &result));
    _exit(0);
  }
  for (int i = 0; i < 500 && !mlxcel_path_exists(test_path(folder, "group")); ++i) usleep(10000);
  assert_true(group_has_live_member(group_of(folder)));
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  assert_false(group_is_alive_after_a_moment(folder));
  test_folder_remove(folder);
}

static void* run_many(void* argument) {
  for (int i = 0; i < 10; ++i) {
    char script[64], expected[64];
    snprintf(script, sizeof(script), "echo %s %d", (const char*)argument, i);
    snprintf(expected, sizeof(expected), "%s %d\n", (const char*)argument, i);
    mlxcel_compile_process_result_t result;
    iree_status_t status = run_shell("/", script, NULL, 0, &result);
    bool good = iree_status_is_ok(status) && result.exit_code == 0 && strcmp(result.output, expected) == 0;
    iree_status_ignore(status);
    mlxcel_compile_process_result_deinitialize(&result);
    if (!good) return (void*)(uintptr_t)1;
  }
  return NULL;
}

static void compile_process_may_run_on_several_threads(void** state) {
  (void)state;
  pthread_t threads[4];
  static char* const names[] = {"a", "b", "c", "d"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(threads); ++i) assert_int_equal(pthread_create(&threads[i], NULL, run_many, names[i]), 0);
  for (size_t i = 0; i < IREE_ARRAYSIZE(threads); ++i) {
    void* failed = NULL;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compile_process_gives_output_and_exit_code),
      cmocka_unit_test(compile_process_gives_the_signal),
      cmocka_unit_test(compile_process_reads_nothing_from_us),
      cmocka_unit_test(compile_process_bounds_what_it_keeps),
      cmocka_unit_test(compile_process_time_limit_ends_the_whole_group),
      cmocka_unit_test(compile_process_cancellation_kills_what_ignores_sigterm),
      cmocka_unit_test(compile_process_does_not_wait_for_what_it_left_running),
      cmocka_unit_test(compile_process_memory_limit_holds),
      cmocka_unit_test(compile_process_reports_what_cannot_start),
      cmocka_unit_test(compile_process_works_with_closed_standard_descriptors),
      cmocka_unit_test(compile_process_dies_with_its_owner),
      cmocka_unit_test(compile_process_may_run_on_several_threads),
  };
  return cmocka_run_group_tests_name("compile_process", tests, NULL, NULL);
}
