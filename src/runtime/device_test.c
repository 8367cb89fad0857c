#include "runtime/device.h"

#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/log.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static iree_status_t open_device(const char* name, uint32_t threads, mlxcel_device_t** out_device) {
  const mlxcel_device_options_t options = {.name = iree_make_cstring_view(name), .thread_count = threads};
  return mlxcel_device_open(&options, out_device);
}

static mlxcel_device_t* open_or_fail(const char* name, uint32_t threads) {
  mlxcel_device_t* device = NULL;
  iree_status_t status = open_device(name, threads, &device);
  char text[512];
  mlxcel_status_text(status, text, sizeof(text));
  if (!iree_status_is_ok(status)) fail_msg("%s with %u threads: %s", name, threads, text);
  assert_non_null(device);
  return device;
}

static void expect_refusal(const char* name, uint32_t threads, iree_status_code_t code, const char* const* parts) {
  mlxcel_device_t* device = (mlxcel_device_t*)1;
  iree_status_t status = open_device(name, threads, &device);
  char text[512];
  mlxcel_status_text(status, text, sizeof(text));
  assert_int_equal(iree_status_code(status), code);
  iree_status_ignore(status);
  assert_null(device);
  for (; *parts; ++parts) {
    if (!strstr(text, *parts)) fail_msg("'%s' isn't in: %s", *parts, text);
  }
}
#define EXPECT_REFUSAL(name, threads, code, ...) expect_refusal(name, threads, code, (const char* const[]){__VA_ARGS__, NULL})

static size_t running_threads(void) {
  DIR* folder = opendir("/proc/self/task");
  assert_non_null(folder);
  size_t count = 0;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

static void runtime_unknown_device_lists_the_valid_ones(void** state) {
  (void)state;
  static const char* const unknown[] = {"", "cpu", "local", "local-task ", "LOCAL-TASK", "local-task://0"};
  for (size_t i = 0; i < COUNT_OF(unknown); ++i) {
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "unknown device '%s'", unknown[i]);
    EXPECT_REFUSAL(unknown[i], 0, IREE_STATUS_INVALID_ARGUMENT, quoted, "local-task, local-sync, cuda, hip, metal");
  }
}

static void runtime_device_that_this_build_lacks_is_unavailable(void** state) {
  (void)state;
  EXPECT_REFUSAL("cuda", 0, IREE_STATUS_UNAVAILABLE, "device cuda", "use local-task or local-sync");
  EXPECT_REFUSAL("hip", 0, IREE_STATUS_UNAVAILABLE, "device hip", "use local-task or local-sync");
  EXPECT_REFUSAL("metal", 0, IREE_STATUS_UNAVAILABLE, "device metal", "macOS", "use local-task or local-sync");
}

static void runtime_task_device_has_the_threads_asked_for(void** state) {
  (void)state;
  static const uint32_t counts[] = {1, 2, 4, 7};
  for (size_t i = 0; i < COUNT_OF(counts); ++i) {
    size_t before = running_threads();
    mlxcel_device_t* device = open_or_fail("local-task", counts[i]);
    assert_int_equal(mlxcel_device_thread_count(device), counts[i]);
    assert_true(running_threads() >= before + counts[i]);
    mlxcel_device_close(device);
  }
}

static void runtime_sync_device_works_on_the_caller_thread(void** state) {
  (void)state;
  static const uint32_t counts[] = {0, 1, 8};
  for (size_t i = 0; i < COUNT_OF(counts); ++i) {
    mlxcel_device_t* device = open_or_fail("local-sync", counts[i]);
    assert_int_equal(mlxcel_device_thread_count(device), 1);
    mlxcel_device_close(device);
  }
}

// Not one for each processor of the machine: a container or taskset gives a process fewer.
static void runtime_default_thread_count_is_that_of_the_usable_processors(void** state) {
  (void)state;
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
  mlxcel_device_t* device = open_or_fail("local-task", 0);
  assert_int_equal(mlxcel_device_thread_count(device), CPU_COUNT(&all));
  mlxcel_device_close(device);
  CPU_ZERO(&one);
  for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
  device = open_or_fail("local-task", 0);
  uint32_t count = mlxcel_device_thread_count(device), foreseen = mlxcel_device_thread_count_for(&(mlxcel_device_options_t){.name = IREE_SV("local-task")});
  mlxcel_device_close(device);
  assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
  assert_int_equal(count, 1);
  assert_int_equal(foreseen, 1);
}

static uint32_t thread_count_for(const char* name, uint32_t threads) {
  const mlxcel_device_options_t options = {.name = iree_make_cstring_view(name), .thread_count = threads};
  return mlxcel_device_thread_count_for(&options);
}

// A module is emitted for so many workers before, or without, opening the device.
static void runtime_thread_count_is_known_before_the_device_is_open(void** state) {
  (void)state;
  static const uint32_t counts[] = {0, 1, 2, 3, 8};
  static const char* const names[] = {"local-task", "local-sync"};
  for (size_t i = 0; i < COUNT_OF(counts) * COUNT_OF(names); ++i) {
    const char* name = names[i % COUNT_OF(names)];
    uint32_t count = counts[i / COUNT_OF(names)];
    mlxcel_device_t* device = open_or_fail(name, count);
    assert_int_equal(thread_count_for(name, count), mlxcel_device_thread_count(device));
    mlxcel_device_close(device);
  }
  assert_int_equal(thread_count_for("local-task", MLXCEL_THREADS_MAX), MLXCEL_THREADS_MAX);
  assert_int_equal(thread_count_for("local-task", 8), 8);
  assert_int_equal(thread_count_for("local-sync", 8), 1);
}

static void runtime_too_many_threads_are_refused(void** state) {
  (void)state;
  EXPECT_REFUSAL("local-task", MLXCEL_THREADS_MAX + 1, IREE_STATUS_INVALID_ARGUMENT, "257 threads", "256", "use fewer");
  EXPECT_REFUSAL("local-task", UINT32_MAX, IREE_STATUS_INVALID_ARGUMENT, "4294967295", "256");
}

static void runtime_closed_device_leaves_no_thread(void** state) {
  (void)state;
  mlxcel_device_close(open_or_fail("local-task", 2));  // what the libraries start once stays
  size_t before = running_threads();
  for (int i = 0; i < 5; ++i) mlxcel_device_close(open_or_fail("local-task", 3));
  assert_int_equal(running_threads(), before);
  mlxcel_device_close(NULL);
}

static void runtime_devices_can_live_side_by_side(void** state) {
  (void)state;
  mlxcel_device_t *task = open_or_fail("local-task", 2), *sync = open_or_fail("local-sync", 0), *other = open_or_fail("local-task", 1);
  assert_ptr_not_equal(task->hal_device, other->hal_device);
  mlxcel_device_close(task);
  assert_int_equal(mlxcel_device_thread_count(other), 1);
  assert_int_equal(mlxcel_device_thread_count(sync), 1);
  mlxcel_device_close(sync);
  mlxcel_device_close(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runtime_unknown_device_lists_the_valid_ones),
      cmocka_unit_test(runtime_device_that_this_build_lacks_is_unavailable),
      cmocka_unit_test(runtime_task_device_has_the_threads_asked_for),
      cmocka_unit_test(runtime_sync_device_works_on_the_caller_thread),
      cmocka_unit_test(runtime_default_thread_count_is_that_of_the_usable_processors),
      cmocka_unit_test(runtime_thread_count_is_known_before_the_device_is_open),
      cmocka_unit_test(runtime_too_many_threads_are_refused),
      cmocka_unit_test(runtime_closed_device_leaves_no_thread),
      cmocka_unit_test(runtime_devices_can_live_side_by_side),
  };
  return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
