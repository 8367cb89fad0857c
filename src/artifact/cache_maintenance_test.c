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
#include "artifact/artifact_internal.h"
#include "artifact/artifact_test_support.h"
#include "base/json.h"

#define DAY 86400

typedef struct fixture_t {
  char* folder;
  char root[512], compiler[512];
  char keys[2][65];
  test_request_t sample;
} fixture_t;

static void make_entry(fixture_t* fixture, const char* target, char out_key[65]) {
  fixture->sample.request.target = iree_make_cstring_view(target);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact));
  memcpy(out_key, artifact.key.text, 65);
  mlxcel_artifact_deinitialize(&artifact);
}

// A store with two entries.
static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  fixture->folder = test_folder_make();
  snprintf(fixture->root, sizeof(fixture->root), "%s/cache", fixture->folder);
  snprintf(fixture->compiler, sizeof(fixture->compiler), "%s", test_compiler_make(fixture->folder, "cc", "cp model.mlir model.vmfb"));
  test_request_initialize(fixture->compiler, &fixture->sample);
  make_entry(fixture, "target-a", fixture->keys[0]);
  make_entry(fixture, "target-b", fixture->keys[1]);
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

static void set_age(const char* path, time_t age_seconds) {
  struct timespec times[2] = {{.tv_sec = time(NULL) - age_seconds}, {.tv_sec = time(NULL) - age_seconds}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const char* entry_file(const fixture_t* fixture, size_t index, const char* name) {
  return test_path(test_path(fixture->root, fixture->keys[index]), name);
}

static void cache_list_describes_entries_by_last_use(void** state) {
  fixture_t* fixture = *state;
  set_age(entry_file(fixture, 1, "manifest.json"), 2 * DAY);
  set_age(entry_file(fixture, 0, "manifest.json"), 5 * DAY);
  TEST_ASSERT_OK(mlxcel_directory_create(test_path(fixture->root, "not-an-entry")));
  size_t count = 0;
  mlxcel_artifact_listing_t* entries = NULL;
  TEST_ASSERT_OK(mlxcel_artifact_cache_list(fixture->root, false, &count, &entries));
  assert_int_equal(count, 2);
  assert_string_equal(entries[0].key, fixture->keys[1]);
  assert_string_equal(entries[1].key, fixture->keys[0]);
  assert_string_equal(entries[0].model, "model pinned-f32 target-b");
  assert_true(llabs((long long)(time(NULL) - 5 * DAY - entries[1].used_unix)) <= 2);
  assert_true(llabs((long long)(time(NULL) - entries[1].created_unix)) <= 60);
  uint64_t bytes = test_file_size(entry_file(fixture, 1, "model.mlir")) + test_file_size(entry_file(fixture, 1, "model.vmfb")) +
                   test_file_size(entry_file(fixture, 1, "manifest.json"));
  assert_int_equal(entries[0].byte_count, bytes);
  mlxcel_artifact_cache_list_free(count, entries);
}

static void cache_use_is_recorded(void** state) {
  fixture_t* fixture = *state;
  set_age(entry_file(fixture, 1, "manifest.json"), 5 * DAY);
  char key[65];
  make_entry(fixture, "target-b", key);
  assert_string_equal(key, fixture->keys[1]);
  size_t count = 0;
  mlxcel_artifact_listing_t* entries = NULL;
  TEST_ASSERT_OK(mlxcel_artifact_cache_list(fixture->root, false, &count, &entries));
  for (size_t i = 0; i < count; ++i) assert_true(llabs((long long)(time(NULL) - entries[i].used_unix)) <= 60);
  mlxcel_artifact_cache_list_free(count, entries);
}

static void cache_verify_names_the_damaged_entry(void** state) {
  fixture_t* fixture = *state;
  test_file_flip_bit(entry_file(fixture, 0, "model.mlir"), 4, 2);
  size_t count = 0;
  mlxcel_artifact_listing_t* entries = NULL;
  TEST_ASSERT_OK(mlxcel_artifact_cache_list(fixture->root, true, &count, &entries));
  assert_int_equal(count, 2);
  for (size_t i = 0; i < count; ++i) {
    bool is_damaged = strcmp(entries[i].key, fixture->keys[0]) == 0;
    TEST_ASSERT_STATUS(iree_status_clone(entries[i].status), is_damaged ? IREE_STATUS_DATA_LOSS : IREE_STATUS_OK, is_damaged ? "model.mlir" : "");
  }
  mlxcel_artifact_cache_list_free(count, entries);
}

static void cache_lists_what_it_cannot_read(void** state) {
  fixture_t* fixture = *state;
  test_file_write(entry_file(fixture, 0, "manifest.json"), "{", 1, 0644);
  assert_int_equal(unlink(entry_file(fixture, 1, "manifest.json")), 0);
  size_t count = 0;
  mlxcel_artifact_listing_t* entries = NULL;
  TEST_ASSERT_OK(mlxcel_artifact_cache_list(fixture->root, false, &count, &entries));
  assert_int_equal(count, 2);
  for (size_t i = 0; i < count; ++i) assert_string_equal(entries[i].model, "(unreadable manifest)");
  mlxcel_artifact_cache_list_free(count, entries);
  TEST_ASSERT_OK(mlxcel_artifact_cache_list(test_path(fixture->root, "absent"), true, &count, &entries));
  assert_int_equal(count, 0);
}

// Writes the manifest of an entry anew, as an mlxcel that differs in |object|'s version would have done it.
static void make_foreign(const fixture_t* fixture, size_t index, const char* object, const char* name, int version) {
  const char* path = entry_file(fixture, index, "manifest.json");
  size_t size = 0;
  char *text = test_file_read(path, &size), *changed = NULL;
  json_t* value = NULL;
  TEST_ASSERT_OK(mlxcel_json_parse(iree_make_string_view(text, size), "manifest", &value));
  json_object_set_new(object ? json_object_get(value, object) : value, name, json_integer(version));
  json_object_set_new(value, "created_unix", json_integer(1700000000));
  json_object_del(value, "manifest_sha256");
  char* compact = NULL;
  mlxcel_sha256_hex_t digest;
  TEST_ASSERT_OK(mlxcel_json_write(value, true, &compact));
  TEST_ASSERT_OK(mlxcel_sha256_of(compact, strlen(compact), &digest));
  json_object_set_new(value, "manifest_sha256", json_string(digest.text));
  TEST_ASSERT_OK(mlxcel_json_write(value, false, &changed));
  test_file_write(entry_file(fixture, index, "manifest.json"), changed, strlen(changed), 0644);
  json_decref(value);
  free(changed);
  free(compact);
  free(text);
}

static void cache_entries_of_older_and_newer_versions_are_named_and_not_damaged(void** state) {
  fixture_t* fixture = *state;
  static const struct {
    const char *object, *name, *model;
    int version;
  } cases[] = {{NULL, "manifest_version", "of a newer mlxcel; `mlxcel cache prune`", MLXCEL_MANIFEST_VERSION + 1},
               {"interface", "version", "of an older mlxcel; `mlxcel cache prune`", MLXCEL_PROGRAM_INTERFACE_VERSION - 1},
               {"interface", "version", "of a newer mlxcel; `mlxcel cache prune`", MLXCEL_PROGRAM_INTERFACE_VERSION + 1},
               {"contract", "version", "of an older mlxcel; `mlxcel cache prune`", MLXCEL_CONTRACT_VERSION - 1}};
  size_t size = 0;
  char* original = test_file_read(entry_file(fixture, 0, "manifest.json"), &size);
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
    test_file_write(entry_file(fixture, 0, "manifest.json"), original, size, 0644);
    make_foreign(fixture, 0, cases[c].object, cases[c].name, cases[c].version);
    size_t count = 0;
    mlxcel_artifact_listing_t* entries = NULL;
    TEST_ASSERT_OK(mlxcel_artifact_cache_list(fixture->root, true, &count, &entries));
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; ++i) {
      bool is_changed = strcmp(entries[i].key, fixture->keys[0]) == 0;
      assert_int_equal(entries[i].is_foreign, is_changed);
      assert_int_equal(iree_status_code(entries[i].status), is_changed ? IREE_STATUS_FAILED_PRECONDITION : IREE_STATUS_OK);
      if (is_changed) assert_int_equal(entries[i].created_unix, 1700000000);
      if (is_changed) assert_ptr_equal(strstr(entries[i].model, cases[c].model), entries[i].model);
    }
    mlxcel_artifact_cache_list_free(count, entries);
  }
  free(original);
}

static void cache_prune_removes_what_is_unused_for_long(void** state) {
  fixture_t* fixture = *state;
  set_age(entry_file(fixture, 0, "manifest.json"), 31 * DAY);
  set_age(entry_file(fixture, 1, "manifest.json"), 29 * DAY);
  size_t removed = 0;
  uint64_t bytes = 0, expected = test_file_size(entry_file(fixture, 0, "model.mlir")) + test_file_size(entry_file(fixture, 0, "model.vmfb")) +
                                 test_file_size(entry_file(fixture, 0, "manifest.json"));
  TEST_ASSERT_OK(mlxcel_artifact_cache_prune(fixture->root, 30, &removed, &bytes));
  assert_int_equal(removed, 1);
  assert_int_equal(bytes, expected);
  assert_false(mlxcel_path_exists(test_path(fixture->root, fixture->keys[0])));
  assert_true(mlxcel_path_exists(test_path(fixture->root, fixture->keys[1])));
  assert_int_equal(test_folder_count(test_path(fixture->root, "requests")), 1);
  assert_int_equal(test_folder_count(test_path(fixture->root, "locks")), 1);
}

static void cache_prune_of_everything_leaves_no_trace_but_strangers(void** state) {
  fixture_t* fixture = *state;
  test_file_flip_bit(entry_file(fixture, 1, "manifest.json"), 40, 2);  // a damaged entry goes as well
  TEST_ASSERT_OK(mlxcel_directory_create(test_path(fixture->root, "strange/inside")));
  char outside[600], link[600];
  snprintf(outside, sizeof(outside), "%s/outside", fixture->folder);
  TEST_ASSERT_OK(mlxcel_directory_create(outside));
  test_file_write(test_path(outside, "precious"), "x", 1, 0644);
  snprintf(link, sizeof(link), "%s/%064d", fixture->root, 7);
  assert_int_equal(symlink(outside, link), 0);
  size_t removed = 0;
  uint64_t bytes = 0;
  TEST_ASSERT_OK(mlxcel_artifact_cache_prune(fixture->root, 0, &removed, &bytes));
  assert_int_equal(removed, 2);
  static const char* const kinds[] = {"requests", "locks", "tmp", "failed", "damaged"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(kinds); ++i) assert_int_equal(test_folder_count(test_path(fixture->root, kinds[i])), 0);
  assert_int_equal(test_folder_count(fixture->root), IREE_ARRAYSIZE(kinds) + 2);
  assert_true(mlxcel_path_exists(test_path(outside, "precious")));
  TEST_ASSERT_OK(mlxcel_artifact_cache_prune(test_path(fixture->root, "absent"), 0, &removed, &bytes));
  assert_int_equal(removed, 0);
}

static void cache_prune_keeps_what_somebody_is_compiling(void** state) {
  fixture_t* fixture = *state;
  mlxcel_file_lock_t lock;
  TEST_ASSERT_OK(mlxcel_artifact_lock_acquire(fixture->root, fixture->keys[0], 0, &lock));
  size_t removed = 0;
  uint64_t bytes = 0;
  TEST_ASSERT_OK(mlxcel_artifact_cache_prune(fixture->root, 0, &removed, &bytes));
  assert_int_equal(removed, 1);
  assert_true(mlxcel_path_exists(test_path(fixture->root, fixture->keys[0])));
  mlxcel_file_lock_release(&lock);
}

static void cache_prune_removes_old_reproducers(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "exit 1");
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, &artifact), IREE_STATUS_INTERNAL, "exit code 1");
  size_t removed = 0;
  uint64_t bytes = 0;
  TEST_ASSERT_OK(mlxcel_artifact_cache_prune(fixture->root, 30, &removed, &bytes));
  assert_int_equal(test_folder_count(test_path(fixture->root, "failed")), 1);
  TEST_ASSERT_OK(mlxcel_artifact_cache_prune(fixture->root, 0, &removed, &bytes));
  assert_int_equal(test_folder_count(test_path(fixture->root, "failed")), 0);
  assert_int_equal(removed, 3);
}

static void cache_prune_keeps_a_folder_that_holds_anything_else(void** state) {
  fixture_t* fixture = *state;
  char name[65];
  memset(name, 'a', 64);
  name[64] = 0;
  char* folder = NULL;
  char* precious = NULL;
  TEST_ASSERT_OK(mlxcel_path_join(fixture->root, iree_make_cstring_view(name), &folder));
  TEST_ASSERT_OK(mlxcel_directory_create(folder));
  TEST_ASSERT_OK(mlxcel_path_join(folder, IREE_SV("precious"), &precious));
  TEST_ASSERT_OK(mlxcel_file_publish(precious, "x", 1));
  size_t removed = 0;
  uint64_t bytes = 0;
  TEST_ASSERT_OK(mlxcel_artifact_cache_prune(fixture->root, 0, &removed, &bytes));
  assert_true(mlxcel_path_exists(precious));
  free(precious);
  free(folder);
}

#define MAINTENANCE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      MAINTENANCE_TEST(cache_list_describes_entries_by_last_use),
      MAINTENANCE_TEST(cache_use_is_recorded),
      MAINTENANCE_TEST(cache_verify_names_the_damaged_entry),
      MAINTENANCE_TEST(cache_entries_of_older_and_newer_versions_are_named_and_not_damaged),
      MAINTENANCE_TEST(cache_lists_what_it_cannot_read),
      MAINTENANCE_TEST(cache_prune_removes_what_is_unused_for_long),
      MAINTENANCE_TEST(cache_prune_of_everything_leaves_no_trace_but_strangers),
      MAINTENANCE_TEST(cache_prune_keeps_what_somebody_is_compiling),
      MAINTENANCE_TEST(cache_prune_removes_old_reproducers),
      MAINTENANCE_TEST(cache_prune_keeps_a_folder_that_holds_anything_else),
  };
  return cmocka_run_group_tests_name("cache_maintenance", tests, NULL, NULL);
}
