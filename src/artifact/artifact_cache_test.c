#include "artifact/artifact_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "artifact/artifact_test_support.h"
#include "artifact/manifest.h"
#include "base/log.h"
#include "contract/contract_version.h"

#define COMPILES "cat model.mlir kernels.o model.mlir > model.vmfb"

typedef struct fixture_t {
  char* folder;
  char root[512], compiler[512];
  test_request_t sample;
} fixture_t;

static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  fixture->folder = test_folder_make();
  snprintf(fixture->root, sizeof(fixture->root), "%s/cache", fixture->folder);
  snprintf(fixture->compiler, sizeof(fixture->compiler), "%s", test_compiler_make(fixture->folder, "cc", COMPILES));
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

static iree_status_t obtain(fixture_t* fixture, mlxcel_artifact_t* out_artifact) {
  return mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, NULL, out_artifact);
}

// Compiles the sample and gives the entry's folder, malloc'ed.
static char* make_entry(fixture_t* fixture) {
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(obtain(fixture, &artifact));
  char* folder = strdup(artifact.folder);
  mlxcel_artifact_deinitialize(&artifact);
  return folder;
}

static void artifact_hit_gives_the_bytes_of_the_miss(void** state) {
  fixture_t* fixture = *state;
  mlxcel_artifact_t miss, hit;
  TEST_ASSERT_OK(obtain(fixture, &miss));
  TEST_ASSERT_OK(obtain(fixture, &hit));
  assert_false(miss.was_cached);
  assert_true(hit.was_cached);
  assert_int_equal(miss.vmfb.size, hit.vmfb.size);
  assert_memory_equal(miss.vmfb.data, hit.vmfb.data, hit.vmfb.size);
  assert_string_equal(miss.vmfb_digest.text, hit.vmfb_digest.text);
  assert_string_equal(miss.key.text, hit.key.text);
  assert_string_equal(miss.manifest_text, hit.manifest_text);
  assert_string_equal(hit.contract_fingerprint.text, fixture->sample.fingerprint.text);
  assert_int_equal(hit.interface.parameter_count, 2);
  assert_string_equal(hit.interface.parameters[0].key, "model.embed_tokens.weight");
  assert_int_equal((uintptr_t)hit.vmfb.data % 64, 0);
  assert_true(hit.compile_seconds == 0);
  assert_int_equal(test_compiler_runs(fixture->folder, "cc"), 1);
  mlxcel_artifact_deinitialize(&miss);
  mlxcel_artifact_deinitialize(&hit);
}

static void artifact_entry_holds_exactly_its_three_files(void** state) {
  fixture_t* fixture = *state;
  char* entry = make_entry(fixture);
  assert_int_equal(test_folder_count(entry), 3);
  assert_int_equal(test_folder_count(test_path(fixture->root, "tmp")), 0);
  assert_int_equal(test_folder_count(test_path(fixture->root, "failed")), 0);
  size_t size = 0;
  char* text = test_file_read(test_path(entry, "model.mlir"), &size);
  assert_int_equal(size, fixture->sample.request.mlir_text.size);
  assert_memory_equal(text, fixture->sample.request.mlir_text.data, size);
  free(text);
  char* manifest = test_file_read(test_path(entry, "manifest.json"), &size);
  assert_null(strstr(manifest, fixture->folder));  // no path of this machine
  assert_non_null(strstr(manifest, "Sample compiler version 1.2"));
  free(manifest);
  free(entry);
}

static void artifact_compiler_sees_only_its_inputs_under_fixed_names(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc",
                     "echo $# > args; for a in \"$@\"; do echo \"$a\" >> args; done; ls >> args; env | sort | cut -d= -f1 >> args; cp args model.vmfb");
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(obtain(fixture, &artifact));
  char* seen = strndup((const char*)artifact.vmfb.data, artifact.vmfb.size);
  assert_string_equal(seen,
                      "6\nmodel.mlir\n-o\nmodel.vmfb\n--first-flag=1\n--second-flag=it's 2\n--iree-hal-executable-object-search-path=.\n"
                      "args\nkernels.o\nmodel.mlir\nLC_ALL\nPATH\nPWD\nTMPDIR\n");
  free(seen);
  mlxcel_artifact_deinitialize(&artifact);
}

static void artifact_another_compiler_means_another_entry(void** state) {
  fixture_t* fixture = *state;
  char* first = make_entry(fixture);
  test_compiler_make(fixture->folder, "cc", COMPILES "; true");
  char* second = make_entry(fixture);
  assert_string_not_equal(first, second);
  free(first);
  free(second);
}

static void artifact_is_found_without_a_compiler(void** state) {
  fixture_t* fixture = *state;
  char* entry = make_entry(fixture);
  assert_int_equal(unlink(fixture->compiler), 0);
  const char* const paths[] = {fixture->compiler, "", NULL};
  for (size_t i = 0; i < IREE_ARRAYSIZE(paths); ++i) {
    fixture->sample.request.compiler_path = paths[i];
    mlxcel_artifact_t artifact;
    TEST_ASSERT_OK(obtain(fixture, &artifact));
    assert_true(artifact.was_cached);
    assert_string_equal(artifact.folder, entry);
    mlxcel_artifact_deinitialize(&artifact);
  }
  free(entry);
}

// "Sample compiler version 1.2" is what the samples say.
static void artifact_without_compiler_is_refused_if_another_version_made_it(void** state) {
  fixture_t* fixture = *state;
  mlxcel_artifact_request_t* request = &fixture->sample.request;
  char* entry = make_entry(fixture);
  mlxcel_artifact_t artifact;
  request->compiler_version = "1.3";
  TEST_ASSERT_OK(obtain(fixture, &artifact));  // the compiler is here and is the one asked for
  mlxcel_artifact_deinitialize(&artifact);
  request->compiler_path = NULL;
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_FAILED_PRECONDITION, entry, "Sample compiler version 1.2", "1.3", "MLXCEL_XLA_IREE_COMPILE");
  request->compiler_version = "1.2";
  TEST_ASSERT_OK(obtain(fixture, &artifact));
  mlxcel_artifact_deinitialize(&artifact);
  request->compiler_revision = "89ece87b";
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_FAILED_PRECONDITION, "1.2", "89ece87b");
  free(entry);
}

static void artifact_without_compiler_passes_over_entries_of_other_versions(void** state) {
  fixture_t* fixture = *state;
  char* good = make_entry(fixture);
  test_compiler_make(fixture->folder, "cc", COMPILES "; true");
  char* other = make_entry(fixture);
  mlxcel_manifest_t manifest;
  test_manifest_read(other, &manifest);
  snprintf(manifest.compiler.version, sizeof(manifest.compiler.version), "Sample compiler version 1.20");
  manifest.created_unix += 60;
  test_manifest_sign(other, &manifest);
  mlxcel_manifest_deinitialize(&manifest);
  fixture->sample.request.compiler_path = NULL;
  fixture->sample.request.compiler_version = "1.2";
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(obtain(fixture, &artifact));
  assert_string_equal(artifact.folder, good);
  mlxcel_artifact_deinitialize(&artifact);
  free(good);
  free(other);
}

static void artifact_without_compiler_and_entry_names_the_remedy(void** state) {
  fixture_t* fixture = *state;
  free(make_entry(fixture));
  assert_int_equal(unlink(fixture->compiler), 0);
  fixture->sample.request.target = IREE_SV("another-target");
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_NOT_FOUND, fixture->compiler, "MLXCEL_XLA_IREE_COMPILE", "scripts/setup.sh");
}

static void artifact_without_compiler_skips_a_damaged_entry(void** state) {
  fixture_t* fixture = *state;
  char* first = make_entry(fixture);
  test_compiler_make(fixture->folder, "cc", COMPILES "; true");
  char* second = make_entry(fixture);
  fixture->sample.request.compiler_path = NULL;
  test_file_flip_bit(test_path(first, "model.vmfb"), 3, 1);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(obtain(fixture, &artifact));
  assert_string_equal(artifact.folder, second);
  mlxcel_artifact_deinitialize(&artifact);
  test_file_flip_bit(test_path(second, "model.vmfb"), 3, 1);
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_NOT_FOUND, "MLXCEL_XLA_IREE_COMPILE");
  free(first);
  free(second);
}

// Makes an entry |seconds| older or younger, as if it had been compiled at another time.
static void shift_creation(const char* entry, int64_t seconds) {
  size_t size = 0;
  char path[1024];
  snprintf(path, sizeof(path), "%s/manifest.json", entry);
  char* text = test_file_read(path, &size);
  mlxcel_manifest_t manifest;
  TEST_ASSERT_OK(mlxcel_manifest_parse(iree_make_string_view(text, size), path, &manifest));
  free(text);
  manifest.created_unix += seconds;
  TEST_ASSERT_OK(mlxcel_manifest_to_text(&manifest, &text));
  test_file_write(path, text, strlen(text), 0644);
  mlxcel_manifest_deinitialize(&manifest);
  free(text);
}

static void artifact_without_compiler_the_newest_entry_is_taken(void** state) {
  fixture_t* fixture = *state;
  char* entries[3];
  for (size_t i = 0; i < IREE_ARRAYSIZE(entries); ++i) {
    char body[64];
    snprintf(body, sizeof(body), COMPILES "; true %zu", i);
    test_compiler_make(fixture->folder, "cc", body);
    entries[i] = make_entry(fixture);
  }
  fixture->sample.request.compiler_path = NULL;
  for (size_t i = 0; i < IREE_ARRAYSIZE(entries); ++i) {
    shift_creation(entries[i], 1000 * (int64_t)(i + 1));
    mlxcel_artifact_t artifact;
    TEST_ASSERT_OK(obtain(fixture, &artifact));
    assert_string_equal(artifact.folder, entries[i]);
    mlxcel_artifact_deinitialize(&artifact);
  }
  for (size_t i = 0; i < IREE_ARRAYSIZE(entries); ++i) free(entries[i]);
}

// One bit of every byte: the entry is refused, and the file is named.
static void expect_every_flip_noticed(const char* entry, const char* name) {
  const char* path = test_path(entry, name);
  char* kept = strdup(path);
  size_t size = test_file_size(kept);
  for (size_t offset = 0; offset < size; ++offset) {
    unsigned bit = (unsigned)(offset % 8);
    test_file_flip_bit(kept, offset, bit);
    mlxcel_artifact_t artifact;
    iree_status_t status = mlxcel_artifact_load(entry, &artifact);
    bool is_version = iree_status_is_failed_precondition(status);  // a flip in the digits of a version reads as another version
    TEST_ASSERT_STATUS(status, is_version ? IREE_STATUS_FAILED_PRECONDITION : IREE_STATUS_DATA_LOSS, kept);
    test_file_flip_bit(kept, offset, bit);
  }
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(mlxcel_artifact_load(entry, &artifact));
  mlxcel_artifact_deinitialize(&artifact);
  free(kept);
}

static void artifact_flipped_bit_anywhere_is_named(void** state) {
  fixture_t* fixture = *state;
  char* entry = make_entry(fixture);
  expect_every_flip_noticed(entry, "model.vmfb");
  expect_every_flip_noticed(entry, "model.mlir");
  expect_every_flip_noticed(entry, "manifest.json");
  free(entry);
}

static void artifact_cut_tail_is_named(void** state) {
  fixture_t* fixture = *state;
  char* entry = make_entry(fixture);
  char* path = strdup(test_path(entry, "model.vmfb"));
  size_t size = 0;
  char* whole = test_file_read(path, &size);
  assert_true(size > 64);
  for (size_t cut = 1; cut <= 64; ++cut) {
    assert_int_equal(truncate(path, (off_t)(size - cut)), 0);
    mlxcel_artifact_t artifact;
    TEST_ASSERT_STATUS(mlxcel_artifact_load(entry, &artifact), IREE_STATUS_DATA_LOSS, path, "vmfb.bytes", "cut");
    test_file_write(path, whole, size, 0644);
  }
  assert_int_equal(truncate(path, 0), 0);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(mlxcel_artifact_load(entry, &artifact), IREE_STATUS_DATA_LOSS, path);
  assert_int_equal(unlink(path), 0);
  TEST_ASSERT_STATUS(mlxcel_artifact_load(entry, &artifact), IREE_STATUS_DATA_LOSS, path, "missing");
  free(whole);
  free(path);
  free(entry);
}

static void artifact_missing_pieces_are_told_apart(void** state) {
  fixture_t* fixture = *state;
  char* entry = make_entry(fixture);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(mlxcel_artifact_load(test_path(fixture->root, "absent"), &artifact), IREE_STATUS_NOT_FOUND, "absent");
  assert_int_equal(unlink(test_path(entry, "manifest.json")), 0);
  TEST_ASSERT_STATUS(mlxcel_artifact_load(entry, &artifact), IREE_STATUS_DATA_LOSS, "manifest.json", "isn't the folder of a compiled module");
  free(entry);
}

static void artifact_damaged_entry_is_set_aside_and_replaced(void** state) {
  fixture_t* fixture = *state;
  char* entry = make_entry(fixture);
  test_file_flip_bit(test_path(entry, "model.vmfb"), 20, 0);
  mlxcel_log_set_level(MLXCEL_LOG_ERROR);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(obtain(fixture, &artifact));
  mlxcel_log_set_level(MLXCEL_LOG_WARNING);
  assert_false(artifact.was_cached);
  assert_string_equal(artifact.folder, entry);
  assert_int_equal(test_folder_count(test_path(fixture->root, "damaged")), 1);
  assert_int_equal(test_compiler_runs(fixture->folder, "cc"), 2);
  mlxcel_artifact_deinitialize(&artifact);
  TEST_ASSERT_OK(obtain(fixture, &artifact));
  assert_true(artifact.was_cached);
  mlxcel_artifact_deinitialize(&artifact);
  free(entry);
}

static void artifact_entry_under_a_foreign_name_is_not_used(void** state) {
  fixture_t* fixture = *state;
  char* first = make_entry(fixture);
  fixture->sample.request.target = IREE_SV("another-target");
  char* second = make_entry(fixture);
  char command[2048];
  snprintf(command, sizeof(command), "rm -r '%s' && cp -r '%s' '%s'", second, first, second);
  assert_int_equal(system(command), 0);
  mlxcel_log_set_level(MLXCEL_LOG_ERROR);
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(obtain(fixture, &artifact));
  mlxcel_log_set_level(MLXCEL_LOG_WARNING);
  assert_false(artifact.was_cached);
  assert_non_null(strstr(artifact.manifest_text, "another-target"));
  mlxcel_artifact_deinitialize(&artifact);
  free(first);
  free(second);
}

static void artifact_failing_compiler_keeps_a_reproducer(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "echo 'some note'; echo \"model.mlir:2:3: error: 'op' is wrong\" >&2; echo 'error: second'; exit 3");
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INTERNAL, "exit code 3", "model.mlir:2:3: error: 'op' is wrong", "/failed/", "command.txt");
  assert_int_equal(test_folder_count(test_path(fixture->root, "failed")), 1);
  assert_int_equal(test_folder_count(test_path(fixture->root, "tmp")), 0);
  char find[1024];
  snprintf(find, sizeof(find),
           "cd '%s'/failed/* && cat diagnostics.txt > ../../../d && test -f model.mlir -a -f kernels.o && sh command.txt > ../../../r 2>&1; test $? = 3",
           fixture->root);
  assert_int_equal(system(find), 0);
  size_t size = 0;
  char* diagnostics = test_file_read(test_path(fixture->folder, "d"), &size);
  char* repeated = test_file_read(test_path(fixture->folder, "r"), &size);
  assert_string_equal(diagnostics, "some note\nmodel.mlir:2:3: error: 'op' is wrong\nerror: second\n");
  assert_string_equal(repeated, diagnostics);  // command.txt repeats the failure
  free(diagnostics);
  free(repeated);
  // A second failure replaces the first; a success afterwards isn't hindered.
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INTERNAL, "exit code 3");
  assert_int_equal(test_folder_count(test_path(fixture->root, "failed")), 1);
  test_compiler_make(fixture->folder, "cc", COMPILES);
  free(make_entry(fixture));
}

static void artifact_silent_or_lying_compilers_are_reported(void** state) {
  fixture_t* fixture = *state;
  mlxcel_artifact_t artifact;
  test_compiler_make(fixture->folder, "cc", "exit 9");
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INTERNAL, "exit code 9", "printed nothing");
  test_compiler_make(fixture->folder, "cc", "exit 0");
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INTERNAL, "without writing", "model.vmfb");
  test_compiler_make(fixture->folder, "cc", ": > model.vmfb");
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INTERNAL, "without writing", "model.vmfb");
  test_compiler_make(fixture->folder, "cc", "mkdir model.vmfb");
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INTERNAL, "without writing", "model.vmfb");
}

static void artifact_killed_compiler_names_the_signal(void** state) {
  fixture_t* fixture = *state;
  mlxcel_artifact_t artifact;
  test_compiler_make(fixture->folder, "cc", "cp model.mlir model.vmfb; kill -SEGV $$");
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INTERNAL, "signal 11", "/failed/");
  test_compiler_make(fixture->folder, "cc", "kill -KILL $$");
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_RESOURCE_EXHAUSTED, "signal 9", "memory", "/failed/");
  assert_int_equal(test_folder_count(test_path(fixture->root, "tmp")), 0);
}

static bool cancel_at_once(void* user_data) {
  ++*(unsigned*)user_data;
  return true;
}

static void artifact_cancelled_compilation_leaves_nothing(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "cp model.mlir model.vmfb; exec sleep 60");
  unsigned calls = 0;
  const mlxcel_artifact_progress_t progress = {.notify = NULL, .cancelled = cancel_at_once, .user_data = &calls};
  mlxcel_artifact_t artifact;
  TEST_ASSERT_STATUS(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, &progress, &artifact), IREE_STATUS_CANCELLED, "cancelled");
  assert_int_equal(calls > 0, 1);
  assert_int_equal(test_folder_count(test_path(fixture->root, "tmp")), 0);
  assert_int_equal(test_folder_count(test_path(fixture->root, "failed")), 0);
  size_t count = 0;
  mlxcel_artifact_listing_t* entries = NULL;
  TEST_ASSERT_OK(mlxcel_artifact_cache_list(fixture->root, true, &count, &entries));
  assert_int_equal(count, 0);
  mlxcel_artifact_cache_list_free(count, entries);
}

static void count_steps(void* user_data, const char* step, double elapsed_seconds) {
  assert_string_equal(step, "compiling");
  assert_true(elapsed_seconds >= 0);
  ++*(unsigned*)user_data;
}

static void artifact_progress_is_reported_while_compiling(void** state) {
  fixture_t* fixture = *state;
  test_compiler_make(fixture->folder, "cc", "sleep 0.5; " COMPILES);
  unsigned calls = 0;
  const mlxcel_artifact_progress_t progress = {.notify = count_steps, .cancelled = NULL, .user_data = &calls};
  mlxcel_artifact_t artifact;
  TEST_ASSERT_OK(mlxcel_artifact_obtain(fixture->root, &fixture->sample.request, &progress, &artifact));
  assert_in_range(calls, 2, 6);
  assert_true(artifact.compile_seconds >= 0.5);
  mlxcel_artifact_deinitialize(&artifact);
}

static void artifact_bad_requests_are_refused_by_name(void** state) {
  fixture_t* fixture = *state;
  mlxcel_artifact_request_t* request = &fixture->sample.request;
  const mlxcel_artifact_request_t good = *request;
  mlxcel_artifact_t artifact;
  request->mlir_text = iree_string_view_empty();
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INVALID_ARGUMENT, "MLIR");
  *request = good;
  request->contract_fingerprint = IREE_SV("0000");
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INVALID_ARGUMENT, "fingerprint", "0000");
  *request = good;
  request->contract_version = MLXCEL_CONTRACT_VERSION + 1;
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INVALID_ARGUMENT, "contract.version", "newer");
  *request = good;
  request->profile = IREE_SV("mlx-cpu-0.32.4");
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INVALID_ARGUMENT, "'profile' is mlx-cpu-0.32.4", "profile pinned-f32");
  *request = good;
  request->profile = iree_make_string_view("a\0b", 3);
  TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INVALID_ARGUMENT, "profile", "NUL");
  *request = good;
  TEST_ASSERT_STATUS(mlxcel_artifact_obtain("", request, NULL, &artifact), IREE_STATUS_INVALID_ARGUMENT, "MLXCEL_CACHE_DIR");
  static const char* const names[] = {"../k.o", "a/b", "model.mlir", "model.vmfb", ".hidden", "-o", "", "entry", "a b"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(names); ++i) {
    fixture->sample.object.file_name = names[i];
    TEST_ASSERT_STATUS(obtain(fixture, &artifact), IREE_STATUS_INVALID_ARGUMENT, "kernel object", names[i]);
  }
  assert_int_equal(test_compiler_runs(fixture->folder, "cc"), 0);
}

static void artifact_default_root_follows_the_environment(void** state) {
  (void)state;
  char* root = NULL;
  setenv("MLXCEL_CACHE_DIR", "/a/b", 1);
  setenv("XDG_CACHE_HOME", "/x", 1);
  TEST_ASSERT_OK(mlxcel_artifact_cache_default_root(&root));
  assert_string_equal(root, "/a/b");
  free(root);
  setenv("MLXCEL_CACHE_DIR", "", 1);
  TEST_ASSERT_OK(mlxcel_artifact_cache_default_root(&root));
  assert_string_equal(root, "/x/mlxcel");
  free(root);
  setenv("XDG_CACHE_HOME", "relative", 1);
  setenv("HOME", "/h", 1);
  TEST_ASSERT_OK(mlxcel_artifact_cache_default_root(&root));
  assert_string_equal(root, "/h/.cache/mlxcel");
  free(root);
  unsetenv("HOME");
  TEST_ASSERT_STATUS(mlxcel_artifact_cache_default_root(&root), IREE_STATUS_FAILED_PRECONDITION, "MLXCEL_CACHE_DIR");
  assert_null(root);
}

#define CACHE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      CACHE_TEST(artifact_hit_gives_the_bytes_of_the_miss),
      CACHE_TEST(artifact_entry_holds_exactly_its_three_files),
      CACHE_TEST(artifact_compiler_sees_only_its_inputs_under_fixed_names),
      CACHE_TEST(artifact_another_compiler_means_another_entry),
      CACHE_TEST(artifact_is_found_without_a_compiler),
      CACHE_TEST(artifact_without_compiler_and_entry_names_the_remedy),
      CACHE_TEST(artifact_without_compiler_skips_a_damaged_entry),
      CACHE_TEST(artifact_without_compiler_is_refused_if_another_version_made_it),
      CACHE_TEST(artifact_without_compiler_passes_over_entries_of_other_versions),
      CACHE_TEST(artifact_without_compiler_the_newest_entry_is_taken),
      CACHE_TEST(artifact_flipped_bit_anywhere_is_named),
      CACHE_TEST(artifact_cut_tail_is_named),
      CACHE_TEST(artifact_missing_pieces_are_told_apart),
      CACHE_TEST(artifact_damaged_entry_is_set_aside_and_replaced),
      CACHE_TEST(artifact_entry_under_a_foreign_name_is_not_used),
      CACHE_TEST(artifact_failing_compiler_keeps_a_reproducer),
      CACHE_TEST(artifact_silent_or_lying_compilers_are_reported),
      CACHE_TEST(artifact_killed_compiler_names_the_signal),
      CACHE_TEST(artifact_cancelled_compilation_leaves_nothing),
      CACHE_TEST(artifact_progress_is_reported_while_compiling),
      CACHE_TEST(artifact_bad_requests_are_refused_by_name),
      cmocka_unit_test(artifact_default_root_follows_the_environment),
  };
  return cmocka_run_group_tests_name("artifact_cache", tests, NULL, NULL);
}
