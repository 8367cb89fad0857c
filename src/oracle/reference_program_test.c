// The client of the MLX reference with programs that aren't what they should be: shell scripts that die, hang or lie in its place. Needs no MLX.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "oracle/reference_process.h"
#include "oracle/reference_protocol.h"
#include "oracle/reference_test_support.h"

static const char* path_of(const char* name) {
  static char path[4200];
  snprintf(path, sizeof(path), "%s/%s", test_folder, name);
  return path;
}

static void write_file(const char* name, const void* data, size_t size, mode_t mode) {
  FILE* file = fopen(path_of(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path_of(name), mode), 0);
}

// |body| runs with $T = the tests' folder.
static void write_stub(const char* body) {
  char script[8192];
  int size = snprintf(script, sizeof(script), "#!/bin/sh\nT='%s'\n%s\n", test_folder, body);
  assert_true(size > 0 && (size_t)size < sizeof(script));
  write_file("stub", script, (size_t)size, 0755);
}

static void write_frame(const char* name, mlxcel_reference_frame_kind_t kind, const mlxcel_strbuf_t* payload, uint64_t announced) {
  mlxcel_strbuf_t bytes;
  mlxcel_strbuf_initialize(&bytes);
  uint8_t header[MLXCEL_REFERENCE_HEADER_BYTES];
  mlxcel_reference_frame_encode(&(mlxcel_reference_frame_t){kind, announced}, header);
  mlxcel_strbuf_append(&bytes, iree_make_string_view((const char*)header, sizeof(header)));
  mlxcel_strbuf_append(&bytes, mlxcel_strbuf_view(payload));
  write_file(name, bytes.data, bytes.size, 0644);
  mlxcel_strbuf_deinitialize(&bytes);
}

// Writes an identity frame to the tests' folder.
static void write_identity(const char* name, const char* version, char digest_digit) {
  mlxcel_reference_identity_t identity;
  memset(&identity, 0, sizeof(identity));
  snprintf(identity.version, sizeof(identity.version), "%s", version);
  snprintf(identity.build, sizeof(identity.build), "stub-%s", version);
  memset(identity.libmlx.text, digest_digit, 64);
  memset(identity.blas.text, '1', 64);
  memset(identity.libm.text, '2', 64);
  mlxcel_strbuf_t payload;
  mlxcel_strbuf_initialize(&payload);
  mlxcel_reference_identity_encode(&identity, &payload);
  write_frame(name, MLXCEL_REFERENCE_FRAME_IDENTITY, &payload, payload.size);
  mlxcel_strbuf_deinitialize(&payload);
}

static iree_status_t open_stub(uint32_t timeout_seconds, mlxcel_reference_t** out_reference) {
  char program[4200];
  snprintf(program, sizeof(program), "%s", path_of("stub"));
  return mlxcel_reference_open(&(mlxcel_reference_options_t){.program = program, .timeout_seconds = timeout_seconds}, out_reference);
}

// The stub's opening fails so, and leaves nothing: no process, no descriptor, no folder.
static void expect_open_failure(uint32_t timeout_seconds, iree_status_code_t code, const char* part) {
  size_t descriptors = count_descriptors(), folders = count_temporary_folders();
  mlxcel_reference_t* reference = NULL;
  expect_failure(open_stub(timeout_seconds, &reference), code, part);
  assert_null(reference);
  assert_int_equal(count_descriptors(), descriptors);
  assert_int_equal(count_temporary_folders(), folders);
}

static void a_program_that_ends_at_once_is_an_error_with_its_last_words(void** state) {
  (void)state;
  write_stub("echo 'these are dying words' >&2; exit 3");
  expect_open_failure(20, IREE_STATUS_ABORTED, "exit code was 3");
  expect_open_failure(20, IREE_STATUS_ABORTED, "these are dying words");
  write_stub("kill -SEGV $$");
  expect_open_failure(20, IREE_STATUS_ABORTED, "signal 11");
}

static void a_program_without_its_libraries_is_unavailable(void** state) {
  (void)state;
  write_stub("echo 'libmlx.so: cannot open shared object file' >&2; exit 127");
  expect_open_failure(20, IREE_STATUS_UNAVAILABLE, "scripts/setup.sh");
}

static void a_program_that_is_missing_or_not_executable_is_unavailable(void** state) {
  (void)state;
  mlxcel_reference_t* reference = NULL;
  expect_failure(mlxcel_reference_open(&(mlxcel_reference_options_t){.program = "/nonexistent/reference"}, &reference), IREE_STATUS_UNAVAILABLE,
                 "/nonexistent/reference");
  write_file("stub", "no script", 9, 0644);
  expect_open_failure(20, IREE_STATUS_UNAVAILABLE, "cannot start");
}

static void a_program_that_speaks_garbage_another_version_or_too_much_is_refused(void** state) {
  (void)state;
  write_stub("echo 'Hello, what would you like to compute today?'; sleep 1000");
  expect_open_failure(20, IREE_STATUS_INVALID_ARGUMENT, "not a frame");
  write_stub("printf 'XMRF\\002\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000'; sleep 1000");
  expect_open_failure(20, IREE_STATUS_INVALID_ARGUMENT, "version 2");
  write_stub("printf 'XMRF\\001\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\377\\377\\377\\377\\377\\377\\377\\000'; sleep 1000");
  expect_open_failure(20, IREE_STATUS_RESOURCE_EXHAUSTED, "at most");
  write_stub("printf 'XMRF\\001\\000\\000\\000\\003\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000'; sleep 1000");
  expect_open_failure(20, IREE_STATUS_INVALID_ARGUMENT, "identity");
}

static void another_mlx_version_is_refused(void** state) {
  (void)state;
  write_identity("identity", "0.0.1", 'a');
  write_stub("cat $T/identity; sleep 1000");
  expect_open_failure(20, IREE_STATUS_FAILED_PRECONDITION, "MLX 0.0.1");
}

static bool process_is_gone(const char* pid_file) {
  char* text = NULL;
  size_t size = 0;
  expect_ok(mlxcel_file_read(path_of(pid_file), 64, &text, &size));
  pid_t pid = (pid_t)strtol(text, NULL, 10);
  free(text);
  assert_true(pid > 1);
  for (int left = 200; left > 0 && kill(pid, 0) == 0; --left) {  // an orphan's zombie stays until its new parent looks
    char stat_path[64], line[256] = "";
    snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", (int)pid);
    FILE* file = fopen(stat_path, "r");
    if (!file) return true;
    bool is_zombie = fgets(line, sizeof(line), file) && strstr(line, ") Z");
    fclose(file);
    if (is_zombie) return true;
    usleep(10000);
  }
  return kill(pid, 0) != 0;
}

static void a_program_that_hangs_at_its_start_is_killed_with_everything_it_started(void** state) {
  (void)state;
  write_stub("touch $TMPDIR/left-behind; sleep 1000 & echo $! >$T/grandchild; echo $$ >$T/child; trap '' TERM; sleep 1000");
  uint64_t begin = mlxcel_reference_process_now();
  expect_open_failure(1, IREE_STATUS_DEADLINE_EXCEEDED, "too long");
  assert_true(mlxcel_reference_process_now() - begin < 20000);
  assert_true(process_is_gone("child"));
  assert_true(process_is_gone("grandchild"));
}

static case_t stub_case(void) {
  mlxcel_operation_t operation = operation_of(MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F32);
  case_t c;
  case_open(&operation, 5, &c);
  return c;
}

// With an honest identity, a request to the stub fails so.
static void expect_compute_failure(const char* body, uint32_t timeout_seconds, iree_status_code_t code, const char* part) {
  size_t descriptors = count_descriptors(), folders = count_temporary_folders();
  write_identity("identity", MLXCEL_MLX_VERSION, 'a');
  write_stub(body);
  mlxcel_reference_t* reference = NULL;
  expect_ok(open_stub(timeout_seconds, &reference));
  case_t c = stub_case();
  mlxcel_host_tensor_t result;
  expect_failure(case_compute(reference, &c, &result), code, part);
  assert_null(result.data);
  case_close(&c);
  mlxcel_reference_close(reference);
  assert_int_equal(count_descriptors(), descriptors);
  assert_int_equal(count_temporary_folders(), folders);
}

static void a_program_that_dies_or_hangs_during_a_request_fails_that_request(void** state) {
  (void)state;
  expect_compute_failure("cat $T/identity; head -c 30 >/dev/null; echo gone >&2; exit 7", 20, IREE_STATUS_ABORTED, "exit code was 7");
  expect_compute_failure("cat $T/identity; kill -KILL $$", 20, IREE_STATUS_ABORTED, "signal 9");
  expect_compute_failure("cat $T/identity; echo $$ >$T/child; cat >/dev/null", 1, IREE_STATUS_DEADLINE_EXCEEDED, "too long");
  assert_true(process_is_gone("child"));
  expect_compute_failure("cat $T/identity; sleep 1000", 1, IREE_STATUS_DEADLINE_EXCEEDED, "too long");
}

static void write_result(const char* name, mlxcel_dtype_t dtype, int64_t rows, int64_t columns) {
  mlxcel_strbuf_t payload;
  mlxcel_strbuf_initialize(&payload);
  const mlxcel_operand_t type = {.dtype = dtype, .rank = 2, .dims = {rows, columns}};
  mlxcel_reference_result_encode(&type, &payload);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&type) * mlxcel_dtype_size(dtype); ++i) mlxcel_strbuf_append(&payload, iree_make_string_view("", 1));
  write_frame(name, MLXCEL_REFERENCE_FRAME_RESULT, &payload, payload.size);
  mlxcel_strbuf_deinitialize(&payload);
}

static void a_result_of_another_type_or_size_is_refused(void** state) {
  (void)state;
  write_result("result", MLXCEL_DTYPE_BF16, 3, 64);
  expect_compute_failure("cat $T/identity $T/result; cat >/dev/null", 20, IREE_STATUS_INTERNAL, "bf16");
  write_result("result", MLXCEL_DTYPE_F32, 64, 3);
  expect_compute_failure("cat $T/identity $T/result; cat >/dev/null", 20, IREE_STATUS_INTERNAL, "expected was f32");
  write_result("result", MLXCEL_DTYPE_F32, 300, 64);
  expect_compute_failure("cat $T/identity $T/result; cat >/dev/null", 20, IREE_STATUS_RESOURCE_EXHAUSTED, "at most");
  expect_compute_failure("cat $T/identity $T/identity; cat >/dev/null", 20, IREE_STATUS_INVALID_ARGUMENT, "wrong kind");
  write_result("result", MLXCEL_DTYPE_F32, 3, 64);
  expect_compute_failure("cat $T/identity; head -c 100 $T/result; exit 0", 20, IREE_STATUS_ABORTED, "exit code was 0");
}

static void a_right_result_of_a_talkative_program_is_taken(void** state) {
  (void)state;
  write_identity("identity", MLXCEL_MLX_VERSION, 'a');
  write_result("result", MLXCEL_DTYPE_F32, 3, 64);
  // More on its standard error than a pipe holds, before each answer.
  write_stub("head -c 300000 /dev/zero >&2; cat $T/identity; head -c 300000 /dev/zero >&2; cat $T/result; cat >/dev/null");
  mlxcel_reference_t* reference = NULL;
  expect_ok(open_stub(20, &reference));
  case_t c = stub_case();
  mlxcel_host_tensor_t result;
  expect_ok(case_compute(reference, &c, &result));
  assert_true(is_all_zero(&result));
  mlxcel_host_tensor_deinitialize(&result);
  case_close(&c);
  mlxcel_reference_close(reference);
}

static void after_a_crash_the_next_request_needs_the_same_mlx(void** state) {
  (void)state;
  write_identity("identity", MLXCEL_MLX_VERSION, 'a');
  write_identity("identity2", MLXCEL_MLX_VERSION, 'b');
  write_result("result", MLXCEL_DTYPE_F32, 3, 64);
  write_stub(
      "n=$(cat $T/starts 2>/dev/null); echo $((n + 1)) >$T/starts\n"
      "case \"$n\" in '') cat $T/identity; exit 9;; 1) cat $T/identity $T/result; head -c 2000 >/dev/null; exit 9;; *) cat $T/identity2; cat >/dev/null;; "
      "esac");
  unlink(path_of("starts"));
  mlxcel_reference_t* reference = NULL;
  expect_ok(open_stub(20, &reference));
  case_t c = stub_case();
  mlxcel_host_tensor_t result;
  expect_failure(case_compute(reference, &c, &result), IREE_STATUS_ABORTED, "exit code was 9");
  expect_ok(case_compute(reference, &c, &result));  // a new process, the same MLX
  mlxcel_host_tensor_deinitialize(&result);
  expect_failure(case_compute(reference, &c, &result), IREE_STATUS_ABORTED, "exit code was 9");
  expect_failure(case_compute(reference, &c, &result), IREE_STATUS_FAILED_PRECONDITION, "changed");
  case_close(&c);
  mlxcel_reference_close(reference);
  assert_int_equal(count_temporary_folders(), 0);
}

static void the_environment_is_what_was_written_and_nothing_else(void** state) {
  (void)state;
  write_identity("identity", MLXCEL_MLX_VERSION, 'a');
  write_stub("tr '\\000' '\\n' </proc/$$/environ >$T/environment; cat $T/identity; cat >/dev/null");
  setenv("MLXCEL_TEST_SECRET", "leaked", 1);
  setenv("MLX_ENABLE_TF32", "1", 1);
  for (int disable_compile = 0; disable_compile < 2; ++disable_compile) {
    char program[4200];
    snprintf(program, sizeof(program), "%s", path_of("stub"));
    mlxcel_reference_t* reference = NULL;
    expect_ok(mlxcel_reference_open(&(mlxcel_reference_options_t){.program = program, .disable_compile = disable_compile != 0}, &reference));
    mlxcel_reference_close(reference);
    char* text = NULL;
    size_t size = 0;
    expect_ok(mlxcel_file_read(path_of("environment"), 4096, &text, &size));
    size_t lines = 0;
    for (size_t i = 0; i < size; ++i) lines += text[i] == '\n';
    assert_int_equal(lines, disable_compile ? 6 : 5);
    assert_non_null(strstr(text, "MLX_ENABLE_TF32=0\n"));
    assert_non_null(strstr(text, "LANG=C\n"));
    assert_non_null(strstr(text, "PATH=/usr/local/bin:/usr/bin:/bin\n"));
    assert_non_null(strstr(text, "/mlxcel-reference-"));
    assert_int_equal(strstr(text, "MLX_DISABLE_COMPILE=1\n") != NULL, disable_compile != 0);
    assert_null(strstr(text, "leaked"));
    free(text);
  }
  unsetenv("MLXCEL_TEST_SECRET");
  unsetenv("MLX_ENABLE_TF32");
}

static int open_group(void** state) {
  (void)state;
  test_folder_open();
  return 0;
}

static int close_group(void** state) {
  (void)state;
  test_folder_close();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_that_ends_at_once_is_an_error_with_its_last_words),
      cmocka_unit_test(a_program_without_its_libraries_is_unavailable),
      cmocka_unit_test(a_program_that_is_missing_or_not_executable_is_unavailable),
      cmocka_unit_test(a_program_that_speaks_garbage_another_version_or_too_much_is_refused),
      cmocka_unit_test(another_mlx_version_is_refused),
      cmocka_unit_test(a_program_that_hangs_at_its_start_is_killed_with_everything_it_started),
      cmocka_unit_test(a_program_that_dies_or_hangs_during_a_request_fails_that_request),
      cmocka_unit_test(a_result_of_another_type_or_size_is_refused),
      cmocka_unit_test(a_right_result_of_a_talkative_program_is_taken),
      cmocka_unit_test(after_a_crash_the_next_request_needs_the_same_mlx),
      cmocka_unit_test(the_environment_is_what_was_written_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, open_group, close_group);
}
