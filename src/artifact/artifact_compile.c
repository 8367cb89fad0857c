// artifact_compile.c: one compilation: inputs under fixed names into an empty folder (names and folder contents leak into the result), the compiler's
// process, and what is kept when it fails.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "artifact/artifact_internal.h"
#include "artifact/artifact_limits.h"
#include "artifact/compile_process.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/strbuf.h"

#define SEARCH_PATH_FLAG "--iree-hal-executable-object-search-path=."
#define FIXED_ARGUMENT_COUNT 4  // input, -o, output, search path

static iree_status_t compile_write_file(const char* folder, const char* name, const void* data, size_t size) {
  char* path = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  iree_status_t status = mlxcel_artifact_file_write_new(path, data, size);
  free(path);
  return status;
}

static iree_status_t compile_write_inputs(const mlxcel_artifact_build_t* build) {
  const mlxcel_artifact_request_t* request = build->request;
  IREE_RETURN_IF_ERROR(compile_write_file(build->work_folder, MLXCEL_MLIR_FILE_NAME, request->mlir_text.data, request->mlir_text.size));
  for (size_t i = 0; i < request->object_count; ++i) {
    const mlxcel_artifact_object_t* object = &request->objects[i];
    IREE_RETURN_IF_ERROR(compile_write_file(build->work_folder, object->file_name, object->data, object->size));
  }
  return iree_ok_status();
}

// --- the reproducer ----------------------------------------------------------------------------------------------------------------------

static void command_append_quoted(mlxcel_strbuf_t* text, const char* argument) {
  mlxcel_strbuf_append_cstring(text, " '");
  for (; *argument; ++argument) {
    if (*argument == '\'') {
      mlxcel_strbuf_append_cstring(text, "'\\''");
    } else {
      mlxcel_strbuf_append(text, iree_make_string_view(argument, 1));
    }
  }
  mlxcel_strbuf_append_cstring(text, "'");
}

static iree_status_t reproducer_write_command(const char* folder, const mlxcel_compile_process_options_t* options) {
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_strbuf_append_cstring(&text, "# run in this folder\nenv -i PATH=/usr/bin:/bin LC_ALL=C TMPDIR=.");
  command_append_quoted(&text, options->program);
  for (size_t i = 0; i < options->argument_count; ++i) command_append_quoted(&text, options->arguments[i]);
  mlxcel_strbuf_append_cstring(&text, "\n");
  iree_status_t status = mlxcel_strbuf_take_status(&text);
  if (iree_status_is_ok(status)) status = compile_write_file(folder, "command.txt", text.data, text.size);
  mlxcel_strbuf_deinitialize(&text);
  return status;
}

// Moves the work folder to where failures are kept, in place of an earlier one of the same key. Gives the folder that holds it in the end.
static const char* reproducer_move(const mlxcel_artifact_build_t* build) {
  if (!build->failed_folder) return build->work_folder;
  iree_status_ignore(mlxcel_directory_remove(build->failed_folder));
  return rename(build->work_folder, build->failed_folder) == 0 ? build->failed_folder : build->work_folder;
}

// Keeping it must not hide the error itself: what can't be written is left out.
static const char* reproducer_keep(const mlxcel_artifact_build_t* build, const mlxcel_compile_process_options_t* options,
                                   const mlxcel_compile_process_result_t* result) {
  iree_status_ignore(reproducer_write_command(build->work_folder, options));
  iree_status_ignore(compile_write_file(build->work_folder, "diagnostics.txt", result->output, result->output_size));
  return reproducer_move(build);
}

// --- what went wrong ---------------------------------------------------------------------------------------------------------------------

// The line with the first error, or the first line that isn't empty; printable, shortened.
static void diagnostics_pick_error(const char* output, char out_line[MLXCEL_COMPILE_ERROR_LINE_BYTES_MAX + 1]) {
  const char* line = strstr(output, "error:");
  if (!line) line = strstr(output, "ERROR:");
  while (line && line > output && line[-1] != '\n') --line;
  if (!line) line = output + strspn(output, " \t\r\n");
  size_t size = strcspn(line, "\r\n");
  if (size > MLXCEL_COMPILE_ERROR_LINE_BYTES_MAX) size = MLXCEL_COMPILE_ERROR_LINE_BYTES_MAX;
  for (size_t i = 0; i < size; ++i) out_line[i] = (unsigned char)line[i] >= 0x20 && line[i] != 0x7f ? line[i] : '?';
  out_line[size] = 0;
  if (size == 0) memcpy(out_line, "it printed nothing", sizeof("it printed nothing"));
}

static void failure_describe_end(const mlxcel_compile_process_options_t* options, const mlxcel_compile_process_result_t* result, char* out_text,
                                 size_t capacity) {
  if (result->was_timed_out) {
    snprintf(out_text, capacity, "was ended after the limit of %" PRIu64 " s", options->time_limit_milliseconds / 1000);
  } else if (result->signal_number) {
    snprintf(out_text, capacity, "was killed by signal %d (%s)", result->signal_number, strsignal(result->signal_number));
  } else if (result->exit_code) {
    snprintf(out_text, capacity, "failed with exit code %d", result->exit_code);
  } else {
    snprintf(out_text, capacity, "reported success without writing a usable %s", MLXCEL_VMFB_FILE_NAME);
  }
}

static bool failure_is_out_of_memory(const mlxcel_compile_process_result_t* result) {
  static const char* const words[] = {"out of memory", "bad_alloc", "pthread_create failed"};  // a thread's stack counts as well
  for (size_t i = 0; i < IREE_ARRAYSIZE(words); ++i) {
    if (strstr(result->output, words[i])) return true;
  }
  return false;
}

static iree_status_t failure_status(const mlxcel_artifact_build_t* build, const mlxcel_compile_process_options_t* options,
                                    const mlxcel_compile_process_result_t* result) {
  char line[MLXCEL_COMPILE_ERROR_LINE_BYTES_MAX + 1], end[128];
  diagnostics_pick_error(result->output, line);
  failure_describe_end(options, result, end, sizeof(end));
  const char* folder = reproducer_keep(build, options, result);
  if (result->was_timed_out) {
    return iree_make_status(IREE_STATUS_DEADLINE_EXCEEDED,
                            "the compiler %s: %s; compile on a faster or less busy machine and copy the cache; the input is kept in %s", end, line, folder);
  }
  if (result->signal_number == SIGKILL || failure_is_out_of_memory(result)) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "the compiler %s, probably for want of memory: %s; free some memory; its input is kept in %s", end,
                            line, folder);
  }
  return iree_make_status(IREE_STATUS_INTERNAL, "the compiler %s: %s; please report it with the folder %s (input, command.txt, diagnostics.txt)", end, line,
                          folder);
}

// The compiler deletes what it couldn't write whole, so free space alone doesn't tell; its words do.
static bool failure_is_full_disk(const mlxcel_artifact_build_t* build, const mlxcel_compile_process_result_t* result) {
  if (result->was_timed_out) return false;
  static const char* const words[] = {"No space left on device", "Disk quota exceeded", "Read-only file system"};  // the compiler runs with LC_ALL=C
  for (size_t i = 0; i < IREE_ARRAYSIZE(words); ++i) {
    if (strstr(result->output, words[i])) return true;
  }
  struct statvfs info;
  return statvfs(build->work_folder, &info) == 0 && info.f_bavail == 0;
}

// --- the compilation ---------------------------------------------------------------------------------------------------------------------

static iree_status_t compile_read_result(const mlxcel_artifact_build_t* build, mlxcel_mapped_file_t* out_vmfb) {
  char* path = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(build->work_folder, IREE_SV(MLXCEL_VMFB_FILE_NAME), &path));
  iree_status_t status = mlxcel_artifact_file_read(path, MLXCEL_VMFB_BYTES_MAX, out_vmfb);
  free(path);
  return status;
}

static iree_status_t compile_judge(const mlxcel_artifact_build_t* build, const mlxcel_compile_process_options_t* options,
                                   const mlxcel_compile_process_result_t* result, mlxcel_artifact_outcome_t* out_outcome, mlxcel_mapped_file_t* out_vmfb) {
  if (result->was_cancelled) return iree_make_status(IREE_STATUS_CANCELLED, "the compilation was cancelled; nothing was kept");
  bool has_succeeded = result->exit_code == 0 && result->signal_number == 0 && !result->was_timed_out;
  iree_status_t status = has_succeeded ? compile_read_result(build, out_vmfb) : iree_status_from_code(IREE_STATUS_UNKNOWN);
  if (iree_status_is_ok(status)) {
    *out_outcome = MLXCEL_ARTIFACT_COMPILED;
    return status;
  }
  iree_status_ignore(status);
  if (!failure_is_full_disk(build, result)) return failure_status(build, options, result);
  *out_outcome = MLXCEL_ARTIFACT_STORAGE_FAILED;
  return mlxcel_fs_errno_status(ENOSPC, "compile in", build->work_folder);
}

static iree_status_t compile_run(const mlxcel_artifact_build_t* build, const char* program, mlxcel_artifact_outcome_t* out_outcome,
                                 mlxcel_mapped_file_t* out_vmfb, double* out_seconds) {
  const mlxcel_artifact_request_t* request = build->request;
  const char* arguments[MLXCEL_ARTIFACT_FLAGS_MAX + FIXED_ARGUMENT_COUNT] = {MLXCEL_MLIR_FILE_NAME, "-o", MLXCEL_VMFB_FILE_NAME};
  for (size_t i = 0; i < request->flag_count; ++i) arguments[FIXED_ARGUMENT_COUNT - 1 + i] = request->flags[i];
  arguments[FIXED_ARGUMENT_COUNT - 1 + request->flag_count] = SEARCH_PATH_FLAG;
  mlxcel_compile_process_options_t options;
  mlxcel_compile_process_options_initialize(&options);
  options.program = program;
  options.folder = build->work_folder;
  options.argument_count = FIXED_ARGUMENT_COUNT + request->flag_count;
  options.arguments = arguments;
  options.progress = build->progress;
  mlxcel_compile_process_result_t result;
  IREE_RETURN_IF_ERROR(mlxcel_compile_process_run(&options, &result));
  *out_seconds = result.seconds;
  iree_status_t status = compile_judge(build, &options, &result, out_outcome, out_vmfb);
  mlxcel_compile_process_result_deinitialize(&result);
  return status;
}

iree_status_t mlxcel_artifact_compile(const mlxcel_artifact_build_t* build, mlxcel_artifact_outcome_t* out_outcome, mlxcel_mapped_file_t* out_vmfb,
                                      double* out_seconds) {
  *out_outcome = MLXCEL_ARTIFACT_STORAGE_FAILED;
  memset(out_vmfb, 0, sizeof(*out_vmfb));
  *out_seconds = 0;
  IREE_RETURN_IF_ERROR(compile_write_inputs(build));
  *out_outcome = MLXCEL_ARTIFACT_NOT_COMPILED;
  char* program = realpath(build->request->compiler_path, NULL);  // the child runs in another folder
  if (!program) return mlxcel_fs_errno_status(errno, "find the compiler", build->request->compiler_path);
  iree_status_t status = compile_run(build, program, out_outcome, out_vmfb, out_seconds);
  free(program);
  return status;
}
