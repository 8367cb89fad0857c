// The evidence store: what is written comes back, what was altered doesn't, and writers don't disturb each other or the readers.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/log.h"
#include "qualify/evidence.h"

#define DIGEST_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define DIGEST_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define DIGEST_0 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static mlxcel_evidence_t sample(const char* device) {
  mlxcel_evidence_t evidence = {
      .profile = "mlx-cpu-0.32.4",
      .op = "quantized-matmul",
      .variant = "qmv",
      .source_dtype = "affine-u4-g32-f16",
      .operand_dtype = "f16",
      .algorithm = "mlxcel_mlx_matmul",
      .clause_digest = {DIGEST_A},
      .source_digest = DIGEST_B,
      .contract_version = 2,
      .algorithm_version = 1,
      .claim = MLXCEL_CLAIM_PRODUCTION,
      .reference = "mlx-cpu-0.32.4",
      .output_count = UINT64_C(1) << 40,
      .case_count = 7,
      .repeats = 3,
      .cpu_level = "v3",
      .reference_identity = DIGEST_0,
      .object_digest = {DIGEST_B},
      .compiler_digest = {DIGEST_0},
      .emitter_digest = {DIGEST_A},
      .host = {DIGEST_B},
      .runtime_identity = "eerie-sys 0.5.0 " DIGEST_A,
      .created_unix = 1767225600,
  };
  snprintf(evidence.device, sizeof(evidence.device), "%s", device);
  return evidence;
}

static bool same_evidence(const mlxcel_evidence_t* left, const mlxcel_evidence_t* right) {
  const mlxcel_evidence_list_t lists[2] = {{1, (mlxcel_evidence_t*)(uintptr_t)left}, {1, (mlxcel_evidence_t*)(uintptr_t)right}};
  char* texts[2] = {NULL, NULL};
  for (int i = 0; i < 2; ++i) assert_true(iree_status_is_ok(mlxcel_evidence_list_to_text(&lists[i], &texts[i])));
  bool same = strcmp(texts[0], texts[1]) == 0;
  free(texts[0]);
  free(texts[1]);
  return same;
}

// Asserts code and a part of the message; frees the status.
static void assert_fails(iree_status_t status, iree_status_code_t code, const char* part) {
  char text[2048] = "";
  if (!iree_status_is_ok(status)) mlxcel_status_text(status, text, sizeof(text));
  if (iree_status_code(status) != code || !strstr(text, part)) fail_msg("code %d, '%s'; expected code %d and '%s'", iree_status_code(status), text, code, part);
  iree_status_free(status);
}

static void assert_ok(iree_status_t status) {
  char text[2048] = "";
  if (!iree_status_is_ok(status)) {
    mlxcel_status_text(status, text, sizeof(text));
    fail_msg("%s", text);
  }
}

// --- texts ---------------------------------------------------------------------------------------------------------------------------------

static mlxcel_evidence_list_t sample_list(mlxcel_evidence_t items[3]) {
  items[0] = sample("local-task");
  items[1] = sample("local-sync");
  items[2] = sample("local-sync");
  snprintf(items[2].op, sizeof(items[2].op), "embedding");
  items[2].claim = MLXCEL_CLAIM_CANONICAL;
  snprintf(items[2].reference, sizeof(items[2].reference), "declared-decomposition");
  snprintf(items[2].source_digest, sizeof(items[2].source_digest), "none");
  items[2].object_digest.text[0] = 0;
  return (mlxcel_evidence_list_t){3, items};
}

static void evidence_text_comes_back_sorted_and_writes_to_the_same_bytes(void** state) {
  (void)state;
  mlxcel_evidence_t items[3];
  const mlxcel_evidence_list_t list = sample_list(items);
  char *text = NULL, *again = NULL;
  assert_ok(mlxcel_evidence_list_to_text(&list, &text));
  mlxcel_evidence_list_t parsed;
  assert_ok(mlxcel_evidence_list_parse(iree_make_cstring_view(text), "sample", &parsed));
  assert_int_equal(parsed.count, 3);
  assert_true(same_evidence(&parsed.items[0], &items[2]));  // embedding comes before quantized-matmul, local-sync before local-task
  assert_true(same_evidence(&parsed.items[1], &items[1]));
  assert_true(same_evidence(&parsed.items[2], &items[0]));
  assert_int_equal(parsed.items[2].output_count, UINT64_C(1) << 40);
  assert_int_equal(parsed.items[2].claim, MLXCEL_CLAIM_PRODUCTION);
  assert_ok(mlxcel_evidence_list_to_text(&parsed, &again));
  assert_string_equal(text, again);
  mlxcel_evidence_list_deinitialize(&parsed);
  free(text);
  free(again);
}

static void evidence_text_with_any_changed_byte_is_refused(void** state) {
  (void)state;
  mlxcel_evidence_t items[3];
  const mlxcel_evidence_list_t list = sample_list(items);
  char* text = NULL;
  assert_ok(mlxcel_evidence_list_to_text(&list, &text));
  size_t size = strlen(text), refused = 0;
  for (size_t i = 0; i < size; ++i) {
    static const char flips[] = {1, 2, 4, 32};
    for (size_t f = 0; f < sizeof(flips); ++f) {
      text[i] ^= flips[f];
      mlxcel_evidence_list_t parsed;
      iree_status_t status = mlxcel_evidence_list_parse(iree_make_string_view(text, size), "sample", &parsed);
      if (iree_status_is_ok(status)) fail_msg("byte %zu ^ %d was accepted", i, flips[f]);
      assert_true(iree_status_is_data_loss(status) || iree_status_is_failed_precondition(status));
      iree_status_ignore(status);
      assert_int_equal(parsed.count, 0);
      text[i] ^= flips[f];
      ++refused;
    }
  }
  print_message("refused: %zu alterations of %zu bytes\n", refused, size);
  free(text);
}

static void evidence_text_cut_anywhere_or_with_something_behind_it_is_refused(void** state) {
  (void)state;
  mlxcel_evidence_t items[3];
  const mlxcel_evidence_list_t list = sample_list(items);
  char* text = NULL;
  assert_ok(mlxcel_evidence_list_to_text(&list, &text));
  size_t size = strlen(text);
  for (size_t i = 0; i < size; ++i) {
    mlxcel_evidence_list_t parsed;
    iree_status_t status = mlxcel_evidence_list_parse(iree_make_string_view(text, i), "sample", &parsed);
    assert_true(iree_status_is_data_loss(status));
    iree_status_ignore(status);
  }
  char* longer = calloc(1, size + 2);
  assert_non_null(longer);
  memcpy(longer, text, size);
  longer[size] = '\n';
  mlxcel_evidence_list_t parsed;
  assert_fails(mlxcel_evidence_list_parse(iree_make_cstring_view(longer), "sample", &parsed), IREE_STATUS_DATA_LOSS, "spaces or order");
  free(longer);
  free(text);
}

// Replaces the first |from| of the sample's text.
static void expect_refusal(const char* from, const char* to, iree_status_code_t code, const char* part) {
  mlxcel_evidence_t items[3];
  const mlxcel_evidence_list_t list = sample_list(items);
  char* text = NULL;
  assert_ok(mlxcel_evidence_list_to_text(&list, &text));
  char* at = strstr(text, from);
  assert_non_null(at);
  size_t capacity = strlen(text) + strlen(to) + 1;
  char* changed = malloc(capacity);
  assert_non_null(changed);
  snprintf(changed, capacity, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  mlxcel_evidence_list_t parsed;
  assert_fails(mlxcel_evidence_list_parse(iree_make_cstring_view(changed), "sample", &parsed), code, part);
  free(changed);
  free(text);
}

static void evidence_text_errors_name_the_field(void** state) {
  (void)state;
  expect_refusal("\"version\": 2", "\"version\": 3", IREE_STATUS_FAILED_PRECONDITION, "version 3 is newer");
  expect_refusal("\"version\": 2", "\"version\": 1", IREE_STATUS_FAILED_PRECONDITION, "version 1 is older");
  expect_refusal("\"version\": 2", "\"edition\": 1", IREE_STATUS_DATA_LOSS, "'version'");
  expect_refusal("\"records\"", "\"entries\"", IREE_STATUS_DATA_LOSS, "'entries' is unknown");
  expect_refusal("\"case_count\": 7,", "", IREE_STATUS_DATA_LOSS, "'records.case_count' is missing");
  expect_refusal("\"case_count\": 7,", "\"case_count\": 7, \"cases\": 7,", IREE_STATUS_DATA_LOSS, "'records.cases' is unknown");
  expect_refusal("\"case_count\": 7", "\"case_count\": -7", IREE_STATUS_DATA_LOSS, "'records.case_count' is -7");
  expect_refusal("\"case_count\": 7", "\"case_count\": \"7\"", IREE_STATUS_DATA_LOSS, "'records.case_count' must be an integer");
  expect_refusal("\"contract_version\": 2", "\"contract_version\": 4294967296", IREE_STATUS_DATA_LOSS, "'records.contract_version' is 4294967296");
  expect_refusal("\"contract_version\": 2", "\"contract_version\": 0", IREE_STATUS_DATA_LOSS, "'records.contract_version' is 0");
  expect_refusal("\"clause_digest\": \"" DIGEST_A, "\"clause_digest\": \"abc", IREE_STATUS_DATA_LOSS, "'records.clause_digest' must be 64");
  expect_refusal("\"cpu_level\": \"v3\"", "\"cpu_level\": \"\"", IREE_STATUS_DATA_LOSS, "'records.cpu_level' is empty");
  expect_refusal("\"cpu_level\": \"v3\"", "\"cpu_level\": \"x86-64-v3\"", IREE_STATUS_DATA_LOSS, "'records.cpu_level' is too long");
  expect_refusal("\"claim\": \"canonical-decomposition\"", "\"claim\": \"canonical\"", IREE_STATUS_DATA_LOSS, "'records.claim' is unknown");
  expect_refusal("production-mlx@mlx-cpu-0.32.4", "production-mlx@mlx-cuda-0.32.4-sm80", IREE_STATUS_DATA_LOSS, "another reference");
  expect_refusal("canonical-decomposition", "production-mlx@declared-decomposition", IREE_STATUS_DATA_LOSS, "'digest' isn't that of the records");
}

static void evidence_with_a_bad_field_is_not_written(void** state) {
  (void)state;
  mlxcel_evidence_t evidence = sample("local-task");
  evidence.op[0] = 0;
  assert_fails(mlxcel_evidence_check(&evidence), IREE_STATUS_INVALID_ARGUMENT, "'op' of a record is empty");
  evidence = sample("local-task");
  memset(evidence.variant, 'x', sizeof(evidence.variant));
  assert_fails(mlxcel_evidence_check(&evidence), IREE_STATUS_INVALID_ARGUMENT, "'variant' of a record is too long");
  evidence = sample("local\ntask");
  assert_fails(mlxcel_evidence_check(&evidence), IREE_STATUS_INVALID_ARGUMENT, "'device' of a record must be printable");
  evidence = sample("local-task");
  evidence.clause_digest.text[0] = 0;
  assert_fails(mlxcel_evidence_check(&evidence), IREE_STATUS_INVALID_ARGUMENT, "'clause_digest'");
  evidence = sample("local-task");
  evidence.output_count = UINT64_MAX;
  assert_fails(mlxcel_evidence_check(&evidence), IREE_STATUS_INVALID_ARGUMENT, "'output_count' of a record is out of range");
  evidence = sample("local-task");
  snprintf(evidence.source_digest, sizeof(evidence.source_digest), "%s+%s", DIGEST_A, DIGEST_B);
  assert_ok(mlxcel_evidence_check(&evidence));
  snprintf(evidence.source_digest, sizeof(evidence.source_digest), "%s+", DIGEST_A);
  assert_fails(mlxcel_evidence_check(&evidence), IREE_STATUS_INVALID_ARGUMENT, "'source_digest'");
}

// --- the store -----------------------------------------------------------------------------------------------------------------------------

static int folder_setup(void** state) {
  char* folder = NULL;
  if (!iree_status_is_ok(mlxcel_directory_create_temporary("/tmp", "mlxcel-evidence-", &folder))) return -1;
  *state = folder;
  return 0;
}

static int folder_teardown(void** state) {
  iree_status_ignore(mlxcel_directory_remove(*state));
  free(*state);
  return 0;
}

static size_t read_count(const char* folder) {
  mlxcel_evidence_list_t list;
  assert_ok(mlxcel_evidence_read(folder, &list));
  size_t count = list.count;
  mlxcel_evidence_list_deinitialize(&list);
  return count;
}

static void evidence_store_gives_back_what_was_written_sorted(void** state) {
  char folder[512];
  snprintf(folder, sizeof(folder), "%s/not/there/yet", (char*)*state);
  assert_int_equal(read_count(folder), 0);
  mlxcel_evidence_t task = sample("local-task"), sync = sample("local-sync");
  assert_ok(mlxcel_evidence_write(folder, &task));
  assert_ok(mlxcel_evidence_write(folder, &sync));
  mlxcel_evidence_list_t list;
  assert_ok(mlxcel_evidence_read(folder, &list));
  assert_int_equal(list.count, 2);
  assert_true(same_evidence(&list.items[0], &sync));
  assert_true(same_evidence(&list.items[1], &task));
  mlxcel_evidence_list_deinitialize(&list);
}

static void evidence_of_the_same_clause_device_and_level_replaces_the_older_whatever_it_claimed(void** state) {
  mlxcel_evidence_t evidence = sample("local-task");
  assert_ok(mlxcel_evidence_write(*state, &evidence));
  evidence.created_unix += 60;
  snprintf(evidence.compiler_digest.text, sizeof(evidence.compiler_digest.text), "%s", DIGEST_A);
  assert_ok(mlxcel_evidence_write(*state, &evidence));
  assert_int_equal(read_count(*state), 1);
  // A later run that shows less, or against another reference, is what counts.
  evidence.claim = MLXCEL_CLAIM_NONE;
  snprintf(evidence.reference, sizeof(evidence.reference), "declared-decomposition");
  assert_ok(mlxcel_evidence_write(*state, &evidence));
  mlxcel_evidence_list_t list;
  assert_ok(mlxcel_evidence_read(*state, &list));
  assert_int_equal(list.count, 1);
  assert_int_equal(list.items[0].claim, MLXCEL_CLAIM_NONE);
  mlxcel_evidence_list_deinitialize(&list);
  // Anything of the key that differs is another record.
  mlxcel_evidence_t others[4] = {evidence, evidence, evidence, evidence};
  snprintf(others[0].cpu_level, sizeof(others[0].cpu_level), "v4");
  snprintf(others[1].device, sizeof(others[1].device), "local-sync");
  snprintf(others[2].clause_digest.text, sizeof(others[2].clause_digest.text), "%s", DIGEST_B);
  snprintf(others[3].profile, sizeof(others[3].profile), "iree-canonical");
  for (size_t i = 0; i < 4; ++i) assert_ok(mlxcel_evidence_write(*state, &others[i]));
  assert_int_equal(read_count(*state), 5);
}

static void evidence_of_one_key_is_found_without_the_others(void** state) {
  mlxcel_evidence_t task = sample("local-task"), sync = sample("local-sync"), hip = sample("hip");
  assert_ok(mlxcel_evidence_write(*state, &task));
  assert_ok(mlxcel_evidence_write(*state, &sync));
  mlxcel_evidence_list_t list = {0};
  assert_ok(mlxcel_evidence_read_key(*state, &hip, &list));
  assert_int_equal(list.count, 0);
  sync.claim = MLXCEL_CLAIM_NONE;  // no part of the key
  assert_ok(mlxcel_evidence_read_key(*state, &sync, &list));
  assert_int_equal(list.count, 1);
  assert_string_equal(list.items[0].device, "local-sync");
  mlxcel_evidence_list_deinitialize(&list);
}

static void evidence_folder_that_cannot_be_written_is_told_beforehand(void** state) {
  char folder[600], file[600], below[700];
  snprintf(folder, sizeof(folder), "%s/new", (char*)*state);
  assert_ok(mlxcel_evidence_folder_prepare(folder));
  assert_int_equal(read_count(folder), 0);
  assert_int_equal(rmdir(folder), 0);  // nothing was left in it
  snprintf(file, sizeof(file), "%s/file", (char*)*state);
  snprintf(below, sizeof(below), "%s/evidence", file);
  FILE* stream = fopen(file, "wb");
  assert_non_null(stream);
  fclose(stream);
  assert_fails(mlxcel_evidence_folder_prepare(below), IREE_STATUS_NOT_FOUND, "cannot create folder");
}

// The path of the only file in |folder|.
static void only_file(const char* folder, char path[700]) {
  char pattern[600];
  snprintf(pattern, sizeof(pattern), "ls %s/*.json", folder);
  FILE* pipe = popen(pattern, "r");
  assert_non_null(pipe);
  assert_non_null(fgets(path, 700, pipe));
  pclose(pipe);
  path[strcspn(path, "\n")] = 0;
}

// Reads |folder| with stderr caught in |warnings|.
static size_t read_count_quietly(const char* folder, char* warnings, size_t capacity) {
  char caught[600];
  snprintf(caught, sizeof(caught), "%s/stderr", folder);
  int saved = dup(STDERR_FILENO);
  int file = open(caught, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  dup2(file, STDERR_FILENO);
  size_t count = read_count(folder);
  dup2(saved, STDERR_FILENO);
  close(saved);
  ssize_t size = pread(file, warnings, capacity - 1, 0);
  warnings[size > 0 ? size : 0] = 0;
  close(file);
  return count;
}

static void write_file(const char* path, const char* data, size_t size) {
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
}

static void evidence_file_that_was_edited_is_passed_over_with_a_warning(void** state) {
  mlxcel_evidence_t evidence = sample("local-task");
  evidence.claim = MLXCEL_CLAIM_CLOSENESS;
  assert_ok(mlxcel_evidence_write(*state, &evidence));
  char path[700], warnings[4096];
  only_file(*state, path);
  char* text = NULL;
  size_t size = 0;
  assert_ok(mlxcel_file_read(path, 1 << 20, &text, &size));
  // Somebody gives himself a better claim.
  char* at = strstr(text, "mathematical-closeness");
  assert_non_null(at);
  char forged[8192];
  snprintf(forged, sizeof(forged), "%.*sproduction-mlx@mlx-cpu-0.32.4%s", (int)(at - text), text, at + strlen("mathematical-closeness"));
  write_file(path, forged, strlen(forged));
  assert_int_equal(read_count_quietly(*state, warnings, sizeof(warnings)), 0);
  assert_non_null(strstr(warnings, "altered"));
  assert_non_null(strstr(warnings, path));
  free(text);
}

static void evidence_file_that_is_damaged_leaves_the_others_alone(void** state) {
  mlxcel_evidence_t evidence = sample("local-task");
  assert_ok(mlxcel_evidence_write(*state, &evidence));
  char path[700], other[900], warnings[8192];
  only_file(*state, path);
  char* text = NULL;
  size_t size = 0;
  assert_ok(mlxcel_file_read(path, 1 << 20, &text, &size));
  snprintf(other, sizeof(other), "%s/%s.json", (char*)*state, DIGEST_A);  // a true record under another's name
  write_file(other, text, size);
  snprintf(other, sizeof(other), "%s/%s.json", (char*)*state, DIGEST_B);  // half a record
  write_file(other, text, size / 2);
  snprintf(other, sizeof(other), "%s/%s.json", (char*)*state, DIGEST_0);  // nothing
  write_file(other, text, 0);
  snprintf(other, sizeof(other), "%s.Ab12Cd", path);  // what a killed writer leaves: no name of a record
  write_file(other, text, size / 2);
  assert_int_equal(read_count_quietly(*state, warnings, sizeof(warnings)), 1);
  assert_non_null(strstr(warnings, "its name stands for"));
  assert_non_null(strstr(warnings, DIGEST_B ".json"));
  assert_non_null(strstr(warnings, DIGEST_0 ".json"));
  assert_null(strstr(warnings, "Ab12Cd"));
  free(text);
}

#define WRITERS 4
#define ROUNDS 40

// Writes one shared and one own record over and over; the shared one differs in a field that isn't part of the key.
static void write_rounds(const char* folder, int writer) {
  char device[32];
  snprintf(device, sizeof(device), "device-%d", writer);
  mlxcel_evidence_t own = sample(device), shared = sample("local-task");
  for (int i = 0; i < ROUNDS; ++i) {
    own.created_unix = shared.created_unix = 1000 * writer + i;
    bool ok = iree_status_is_ok(mlxcel_evidence_write(folder, &own)) && iree_status_is_ok(mlxcel_evidence_write(folder, &shared));
    if (!ok) _exit(1);
  }
  _exit(0);
}

static void evidence_store_stays_whole_under_concurrent_writers(void** state) {
  const char* folder = *state;
  pid_t children[WRITERS];
  for (int i = 0; i < WRITERS; ++i) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) write_rounds(folder, i);
  }
  char warnings[4096];
  for (int i = 0; i < ROUNDS; ++i) {  // a reader meanwhile sees whole records only
    assert_true(read_count_quietly(folder, warnings, sizeof(warnings)) <= WRITERS + 1);
    assert_string_equal(warnings, "");
  }
  for (int i = 0; i < WRITERS; ++i) {
    int code = 0;
    assert_int_equal(waitpid(children[i], &code, 0), children[i]);
    assert_int_equal(code, 0);
  }
  assert_int_equal(read_count(folder), WRITERS + 1);
}

static void evidence_store_below_a_file_is_refused_by_name(void** state) {
  char file[600], below[700];
  snprintf(file, sizeof(file), "%s/file", (char*)*state);
  snprintf(below, sizeof(below), "%s/evidence", file);
  write_file(file, "x", 1);
  mlxcel_evidence_t evidence = sample("local-task");
  assert_fails(mlxcel_evidence_write(below, &evidence), IREE_STATUS_NOT_FOUND, "cannot create folder");
  mlxcel_evidence_list_t list;
  assert_fails(mlxcel_evidence_read(below, &list), IREE_STATUS_NOT_FOUND, below);
}

// In a child whose view of |folder| is mounted read-only: 0 = reading works and writing fails by name, 77 = can't be tried here.
static int check_read_only(const char* folder) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS) != 0) return 77;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount(folder, folder, NULL, MS_BIND, NULL) != 0) return 77;
  if (mount(NULL, folder, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0) return 77;
  mlxcel_evidence_list_t list;
  iree_status_t status = mlxcel_evidence_read(folder, &list);
  if (!iree_status_is_ok(status) || list.count != 1) return 1;
  status = mlxcel_evidence_write(folder, &list.items[0]);
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  bool good = iree_status_is_permission_denied(status) && strstr(text, "read-only") && strstr(text, folder);
  iree_status_ignore(status);
  mlxcel_evidence_list_deinitialize(&list);
  return good ? 0 : 2;
}

static void evidence_store_that_is_read_only_can_be_read(void** state) {
  mlxcel_evidence_t evidence = sample("local-task");
  assert_ok(mlxcel_evidence_write(*state, &evidence));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(check_read_only(*state));
  int code = 0;
  assert_int_equal(waitpid(child, &code, 0), child);
  assert_true(WIFEXITED(code));
  if (WEXITSTATUS(code) == 77) skip();
  assert_int_equal(WEXITSTATUS(code), 0);
}

static void evidence_folder_follows_the_environment(void** state) {
  (void)state;
  char* saved_home = strdup(getenv("HOME") ? getenv("HOME") : "");
  char* folder = NULL;
  setenv("MLXCEL_EVIDENCE_DIR", "/some/where", 1);
  assert_ok(mlxcel_evidence_default_folder(&folder));
  assert_string_equal(folder, "/some/where");
  free(folder);
  unsetenv("MLXCEL_EVIDENCE_DIR");
  setenv("XDG_DATA_HOME", "/data", 1);
  assert_ok(mlxcel_evidence_default_folder(&folder));
  assert_string_equal(folder, "/data/mlxcel/evidence");
  free(folder);
  setenv("XDG_DATA_HOME", "relative", 1);
  setenv("HOME", "/home/a", 1);
  assert_ok(mlxcel_evidence_default_folder(&folder));
  assert_string_equal(folder, "/home/a/.local/share/mlxcel/evidence");
  free(folder);
  unsetenv("XDG_DATA_HOME");
  unsetenv("HOME");
  assert_fails(mlxcel_evidence_default_folder(&folder), IREE_STATUS_FAILED_PRECONDITION, "MLXCEL_EVIDENCE_DIR");
  setenv("HOME", saved_home, 1);
  free(saved_home);
}

static void evidence_that_is_built_in_is_valid_and_of_the_default_profile(void** state) {
  (void)state;
  char *text = NULL, *again = NULL;
  size_t size = 0;
  mlxcel_evidence_list_t committed, built_in;
  assert_ok(mlxcel_file_read(MLXCEL_SOURCE_DIR "/src/qualify/builtin_evidence.json", MLXCEL_EVIDENCE_FILE_BYTES_MAX, &text, &size));
  assert_ok(mlxcel_evidence_list_parse(iree_make_string_view(text, size), "builtin_evidence.json", &committed));
  assert_ok(mlxcel_evidence_built_in(&built_in));
  assert_ok(mlxcel_evidence_list_to_text(&built_in, &again));
  assert_string_equal(text, again);
  for (size_t i = 0; i < built_in.count; ++i) assert_string_equal(built_in.items[i].profile, "pinned-f32");
  mlxcel_evidence_list_deinitialize(&committed);
  mlxcel_evidence_list_deinitialize(&built_in);
  free(text);
  free(again);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(evidence_text_comes_back_sorted_and_writes_to_the_same_bytes),
      cmocka_unit_test(evidence_text_with_any_changed_byte_is_refused),
      cmocka_unit_test(evidence_text_cut_anywhere_or_with_something_behind_it_is_refused),
      cmocka_unit_test(evidence_text_errors_name_the_field),
      cmocka_unit_test(evidence_with_a_bad_field_is_not_written),
      WITH_FOLDER(evidence_store_gives_back_what_was_written_sorted),
      WITH_FOLDER(evidence_of_the_same_clause_device_and_level_replaces_the_older_whatever_it_claimed),
      WITH_FOLDER(evidence_of_one_key_is_found_without_the_others),
      WITH_FOLDER(evidence_folder_that_cannot_be_written_is_told_beforehand),
      WITH_FOLDER(evidence_file_that_was_edited_is_passed_over_with_a_warning),
      WITH_FOLDER(evidence_file_that_is_damaged_leaves_the_others_alone),
      WITH_FOLDER(evidence_store_stays_whole_under_concurrent_writers),
      WITH_FOLDER(evidence_store_below_a_file_is_refused_by_name),
      WITH_FOLDER(evidence_store_that_is_read_only_can_be_read),
      cmocka_unit_test(evidence_folder_follows_the_environment),
      cmocka_unit_test(evidence_that_is_built_in_is_valid_and_of_the_default_profile),
  };
  return cmocka_run_group_tests_name("qualify_evidence", tests, NULL, NULL);
}
