// Free memory: the machine's, and what control groups of both versions leave of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/free_memory.h"
#include "base/fs.h"

#define GIB (1ull << 30)

typedef struct sample_file_t {
  const char *path, *text;
} sample_file_t;

// A folder that holds |count| files as proc and sys would.
static char* make_root(size_t count, const sample_file_t* files) {
  char* root = NULL;
  assert_true(iree_status_is_ok(mlxcel_directory_create_temporary("/tmp", "mlxcel-root-", &root)));
  for (size_t i = 0; i < count; ++i) {
    char path[512];
    snprintf(path, sizeof(path), "%s%s", root, files[i].path);
    char* name = strrchr(path, '/');
    *name = 0;
    assert_true(iree_status_is_ok(mlxcel_directory_create(path)));
    *name = '/';
    FILE* file = fopen(path, "w");
    assert_non_null(file);
    fputs(files[i].text, file);
    fclose(file);
  }
  return root;
}

static uint64_t free_of(size_t count, const sample_file_t* files) {
  char* root = make_root(count, files);
  uint64_t bytes = mlxcel_free_memory_bytes(root);
  assert_true(iree_status_is_ok(mlxcel_directory_remove(root)));
  free(root);
  return bytes;
}
#define FREE_OF(files) free_of(sizeof(files) / sizeof((files)[0]), files)

#define MEMINFO \
  { "/proc/meminfo", "MemTotal:       33554432 kB\nMemFree:  1 kB\nMemAvailable:   16777216 kB\n" }

static void without_groups_it_is_the_machines(void** state) {
  (void)state;
  const sample_file_t files[] = {MEMINFO};
  assert_int_equal(FREE_OF(files), 16 * GIB);
  const sample_file_t nothing[] = {{"/proc/version", "Linux\n"}};
  assert_int_equal(FREE_OF(nothing), 0);
  assert_true(mlxcel_free_memory_bytes("") > 0);
}

// 4 GiB, of which 2.5 are used, half a GiB of that by files.
static void a_containers_limit_counts_less_what_cannot_be_dropped(void** state) {
  (void)state;
  const sample_file_t files[] = {MEMINFO,
                                 {"/proc/self/cgroup", "0::/\n"},
                                 {"/sys/fs/cgroup/memory.max", "4294967296\n"},
                                 {"/sys/fs/cgroup/memory.current", "2684354560\n"},
                                 {"/sys/fs/cgroup/memory.stat", "anon 2147483648\nfile 536870912\nkernel 0\n"}};
  assert_int_equal(FREE_OF(files), 2 * GIB);
}

static void the_tightest_of_a_groups_ancestors_counts(void** state) {
  (void)state;
  const sample_file_t files[] = {MEMINFO,
                                 {"/proc/self/cgroup", "0::/system/service/part\n"},
                                 {"/sys/fs/cgroup/system/service/part/memory.max", "max\n"},
                                 {"/sys/fs/cgroup/system/service/part/memory.current", "1024\n"},
                                 {"/sys/fs/cgroup/system/service/memory.max", "8589934592\n"},
                                 {"/sys/fs/cgroup/system/service/memory.current", "1073741824\n"},
                                 {"/sys/fs/cgroup/system/memory.max", "3221225472\n"},
                                 {"/sys/fs/cgroup/system/memory.current", "1073741824\n"}};
  assert_int_equal(FREE_OF(files), 2 * GIB);
}

static void a_group_of_version_one_counts_wherever_it_is_seen(void** state) {
  (void)state;
  const sample_file_t outside[] = {MEMINFO,
                                   {"/proc/self/cgroup", "11:cpu,cpuacct:/docker/1f\n7:memory:/docker/1f\n0::/\n"},
                                   {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
                                   {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "17179869184\n"},
                                   {"/sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "2147483648\n"},
                                   {"/sys/fs/cgroup/memory/docker/1f/memory.usage_in_bytes", "2147483648\n"},
                                   {"/sys/fs/cgroup/memory/docker/1f/memory.stat", "cache 1\ntotal_cache 1073741824\n"}};
  assert_int_equal(FREE_OF(outside), GIB);
  // In the container its own group is the topmost.
  const sample_file_t inside[] = {MEMINFO,
                                  {"/proc/self/cgroup", "7:memory:/docker/1f\n"},
                                  {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n"},
                                  {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "3221225472\n"}};
  assert_int_equal(FREE_OF(inside), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_groups_it_is_the_machines),
      cmocka_unit_test(a_containers_limit_counts_less_what_cannot_be_dropped),
      cmocka_unit_test(the_tightest_of_a_groups_ancestors_counts),
      cmocka_unit_test(a_group_of_version_one_counts_wherever_it_is_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
