#include "oracle/candidate.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "build_identity.h"
#include "contract/contract_version.h"
#include "kernels/kernel_selection.h"

#define OBJECT_FILE_BYTES_MAX (64u << 20)  // as the artifact module takes them
#define MUTATION_ARROW "=>"

//===- Mutations ----------------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t mutation_split(const char* mutation, iree_string_view_t* out_pattern, const char** out_replacement) {
  *out_pattern = iree_string_view_empty();
  *out_replacement = "";
  const char* arrow = strstr(mutation, MUTATION_ARROW);
  if (!arrow || arrow == mutation) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "'%s' is no mutation; write 'PATTERN" MUTATION_ARROW "REPLACEMENT'", mutation);
  }
  *out_pattern = iree_make_string_view(mutation, (size_t)(arrow - mutation));
  *out_replacement = arrow + strlen(MUTATION_ARROW);
  return iree_ok_status();
}

// Replaces every occurrence in the emitted text.
static iree_status_t mutate(const char* mutation, mlxcel_emitted_operation_t* emitted) {
  iree_string_view_t pattern = iree_string_view_empty();
  const char* replacement = NULL;
  IREE_RETURN_IF_ERROR(mutation_split(mutation, &pattern, &replacement));
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  const char *at = emitted->mlir_text, *end = at + emitted->mlir_size;
  size_t count = 0;
  for (const char* hit; (hit = memmem(at, (size_t)(end - at), pattern.data, pattern.size)) != NULL; at = hit + pattern.size, ++count) {
    mlxcel_strbuf_append(&text, iree_make_string_view(at, (size_t)(hit - at)));
    mlxcel_strbuf_append_cstring(&text, replacement);
  }
  mlxcel_strbuf_append(&text, iree_make_string_view(at, (size_t)(end - at)));
  iree_status_t status = mlxcel_strbuf_take_status(&text);
  if (iree_status_is_ok(status) && count == 0) {
    status = iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "'%.*s' doesn't occur in the emitted text; the mutation would change nothing", MLXCEL_SV(pattern));
  }
  if (iree_status_is_ok(status)) {
    free(emitted->mlir_text);
    emitted->mlir_size = text.size;
    emitted->mlir_text = mlxcel_strbuf_release(&text);
  }
  mlxcel_strbuf_deinitialize(&text);
  return status;
}

//===- Compilation --------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct object_list_t {
  size_t count;
  mlxcel_artifact_object_t items[MLXCEL_KERNEL_OBJECT_COUNT];
  char* owned[MLXCEL_KERNEL_OBJECT_COUNT];  // contents of files that replace an object
} object_list_t;

static void objects_deinitialize(object_list_t* objects) {
  for (size_t i = 0; i < objects->count; ++i) free(objects->owned[i]);
}

static const char* override_of(const mlxcel_candidate_options_t* options, const char* file_name) {
  return strcmp(file_name, MLXCEL_KERNEL_OBJECT_FILE) == 0 ? options->pinned_object_path : options->mlx_object_path;
}

// The kernel objects that the text names.
static iree_status_t objects_collect(const mlxcel_candidate_options_t* options, iree_string_view_t text, object_list_t* objects) {
  mlxcel_named_object_t named[MLXCEL_KERNEL_OBJECT_COUNT];
  size_t count = mlxcel_kernel_objects_named(text, options->level, named);
  for (size_t i = 0; i < count; ++i) {
    mlxcel_artifact_object_t* object = &objects->items[i];
    *object = (mlxcel_artifact_object_t){.file_name = named[i].file_name, .data = named[i].bytes.data, .size = named[i].bytes.data_length};
    objects->count = i + 1;
    const char* path = override_of(options, named[i].file_name);
    if (!path) continue;
    IREE_RETURN_IF_ERROR(mlxcel_file_read(path, OBJECT_FILE_BYTES_MAX, &objects->owned[i], &object->size));
    object->data = objects->owned[i];
  }
  return iree_ok_status();
}

static iree_status_t obtain_from(const mlxcel_candidate_options_t* options, const mlxcel_profile_t* profile, const object_list_t* objects,
                                 mlxcel_candidate_t* candidate) {
  const mlxcel_emitted_operation_t* emitted = &candidate->emitted;
  const mlxcel_program_interface_t interface = {.kind = "operation", .module_name = "operation", .parameter_scope = "operation"};
  mlxcel_artifact_request_t request = {
      .mlir_text = iree_make_string_view(emitted->mlir_text, emitted->mlir_size),
      .contract_text = iree_make_cstring_view(emitted->contract_text),
      .contract_fingerprint = iree_make_cstring_view(emitted->fingerprint.text),
      .contract_version = MLXCEL_CONTRACT_VERSION,
      .profile = iree_make_cstring_view(profile->name),
      .target = iree_make_cstring_view(mlxcel_kernel_target(options->level)),
      .object_count = objects->count,
      .objects = objects->items,
      .interface = &interface,
      .compiler_path = mlxcel_compiler_choose(options->compiler, MLXCEL_DEFAULT_COMPILER),
  };
  request.flags = mlxcel_kernel_compile_flags(options->level, &request.flag_count);
  const mlxcel_artifact_progress_t progress = {.cancelled = options->cancelled, .user_data = options->user_data};
  char* default_root = NULL;
  if (!options->cache_folder) {
    IREE_RETURN_IF_ERROR(mlxcel_artifact_cache_default_root(&default_root));
  }
  iree_status_t status = mlxcel_artifact_obtain(default_root ? default_root : options->cache_folder, &request, &progress, &candidate->artifact);
  free(default_root);
  return status;
}

static iree_status_t candidate_compile(const mlxcel_candidate_options_t* options, const mlxcel_profile_t* profile, mlxcel_candidate_t* candidate) {
  object_list_t objects = {0};
  iree_string_view_t text = iree_make_string_view(candidate->emitted.mlir_text, candidate->emitted.mlir_size);
  iree_status_t status = objects_collect(options, text, &objects);
  if (iree_status_is_ok(status)) status = obtain_from(options, profile, &objects, candidate);
  objects_deinitialize(&objects);
  IREE_RETURN_IF_ERROR(status);
  return mlxcel_manifest_parse(iree_make_cstring_view(candidate->artifact.manifest_text), "the module's manifest", &candidate->manifest);
}

static iree_status_t candidate_build(const mlxcel_candidate_options_t* options, const mlxcel_profile_t* profile, const mlxcel_operation_t* operation,
                                     mlxcel_candidate_t* candidate) {
  IREE_RETURN_IF_ERROR(mlxcel_emit_operation_module(profile, operation, &candidate->emitted));
  candidate->is_altered = options->mutation || options->pinned_object_path || options->mlx_object_path;
  if (options->mutation) {
    IREE_RETURN_IF_ERROR(mutate(options->mutation, &candidate->emitted));
  }
  return candidate_compile(options, profile, candidate);
}

iree_status_t mlxcel_candidate_build(const mlxcel_candidate_options_t* options, const mlxcel_profile_t* profile, const mlxcel_operation_t* operation,
                                     mlxcel_candidate_t* out_candidate) {
  memset(out_candidate, 0, sizeof(*out_candidate));
  iree_status_t status = candidate_build(options, profile, operation, out_candidate);
  if (!iree_status_is_ok(status)) mlxcel_candidate_deinitialize(out_candidate);
  return status;
}

void mlxcel_candidate_deinitialize(mlxcel_candidate_t* candidate) {
  mlxcel_manifest_deinitialize(&candidate->manifest);
  mlxcel_artifact_deinitialize(&candidate->artifact);
  mlxcel_emitted_operation_deinitialize(&candidate->emitted);
  memset(candidate, 0, sizeof(*candidate));
}

//===- Calls --------------------------------------------------------------------------------------------------------------------------------------------===//

// The kernel starts its high-water mark anew; where that isn't allowed, the mark is the process's whole life's.
static void peak_memory_reset(void) {
  int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t written = write(file, "5", 1);
  (void)written;
  close(file);
}

static uint64_t peak_memory_read(void) {
  FILE* file = fopen("/proc/self/status", "re");
  uint64_t kilobytes = 0;
  char line[256];
  while (file && fgets(line, sizeof(line), file)) {
    if (strncmp(line, "VmHWM:", 6) == 0) kilobytes = strtoull(line + 6, NULL, 10);
  }
  if (file) fclose(file);
  struct rusage usage;
  if (kilobytes == 0 && getrusage(RUSAGE_SELF, &usage) == 0) kilobytes = (uint64_t)usage.ru_maxrss;
  return kilobytes * 1024;
}

static iree_status_t call_once(mlxcel_module_t* module, size_t operand_count, const mlxcel_host_tensor_t* operands, bool is_first,
                               mlxcel_candidate_run_t* run) {
  mlxcel_host_tensor_t result = {0};
  iree_time_t start = iree_time_now();
  IREE_RETURN_IF_ERROR(mlxcel_module_call(module, operand_count, operands, 1, &result));
  run->run_seconds += (double)(iree_time_now() - start) * 1e-9;
  for (size_t i = 0; i < operand_count; ++i) run->bytes_transferred += operands[i].size;
  run->bytes_transferred += result.size;
  if (is_first) {
    run->result = result;
    return iree_ok_status();
  }
  if (result.size != run->result.size || memcmp(result.data, run->result.data, result.size) != 0) run->repeats_agree = false;
  mlxcel_host_tensor_deinitialize(&result);
  return iree_ok_status();
}

static iree_status_t call_repeatedly(mlxcel_module_t* module, size_t operand_count, const mlxcel_host_tensor_t* operands, uint32_t repeats,
                                     mlxcel_candidate_run_t* run) {
  peak_memory_reset();
  for (uint32_t i = 0; i < repeats; ++i) {
    IREE_RETURN_IF_ERROR(call_once(module, operand_count, operands, i == 0, run));
  }
  run->peak_memory_bytes = peak_memory_read();
  return iree_ok_status();
}

iree_status_t mlxcel_candidate_call(const mlxcel_candidate_t* candidate, mlxcel_device_t* device, size_t operand_count, const mlxcel_host_tensor_t* operands,
                                    uint32_t repeats, mlxcel_candidate_run_t* out_run) {
  memset(out_run, 0, sizeof(*out_run));
  out_run->repeats_agree = true;
  const mlxcel_program_options_t options = {
      .slot_count = 1,
      .context = 1,
      .expected_fingerprint = iree_make_cstring_view(candidate->emitted.fingerprint.text),
      .expected_contract = iree_make_cstring_view(candidate->emitted.contract_text),
  };
  mlxcel_module_t* module = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_module_load(device, &candidate->artifact, NULL, &options, &module));
  iree_status_t status = call_repeatedly(module, operand_count, operands, repeats, out_run);
  mlxcel_module_unload(module);
  if (!iree_status_is_ok(status)) mlxcel_candidate_run_deinitialize(out_run);
  return status;
}

void mlxcel_candidate_run_deinitialize(mlxcel_candidate_run_t* run) { mlxcel_host_tensor_deinitialize(&run->result); }
