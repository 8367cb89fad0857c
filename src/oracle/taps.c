#include "oracle/taps.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact_cache.h"
#include "base/fs.h"
#include "build_identity.h"
#include "checkpoint/checkpoint.h"
#include "families/family.h"
#include "kernels/kernel_selection.h"
#include "runtime/rope_table.h"
#include "runtime/runtime.h"

#define TAPS_ARGUMENTS 7  // tokens, slots, positions, cos, sin, k_cache, v_cache

typedef struct taps_run_t {
  mlxcel_kernel_level_t level;
  mlxcel_checkpoint_t* checkpoint;
  mlxcel_emitted_model_t emitted;
  mlxcel_artifact_t artifact;
  mlxcel_device_t* device;
  mlxcel_module_t* module;
  mlxcel_host_tensor_t arguments[TAPS_ARGUMENTS];
  mlxcel_host_tensor_t* results;  // [emitted.tap_count]
} taps_run_t;

static void taps_deinitialize(taps_run_t* run) {
  for (size_t i = 0; i < TAPS_ARGUMENTS; ++i) mlxcel_host_tensor_deinitialize(&run->arguments[i]);
  for (size_t i = 0; run->results && i < run->emitted.tap_count; ++i) mlxcel_host_tensor_deinitialize(&run->results[i]);
  free(run->results);
  mlxcel_module_unload(run->module);
  mlxcel_device_close(run->device);
  mlxcel_artifact_deinitialize(&run->artifact);
  mlxcel_emitted_model_deinitialize(&run->emitted);
  mlxcel_checkpoint_close(run->checkpoint);
}

// --- the module ------------------------------------------------------------------------------------------------------------------------------------

static iree_status_t taps_emit(const mlxcel_taps_options_t* options, taps_run_t* run) {
  IREE_RETURN_IF_ERROR(mlxcel_kernel_level_select(iree_make_cstring_view(options->cpu_level ? options->cpu_level : ""), &run->level));
  IREE_RETURN_IF_ERROR(mlxcel_checkpoint_open(options->model_folder, &run->checkpoint));
  mlxcel_emit_options_t emit_options;
  mlxcel_emit_options_initialize(&emit_options);
  if (options->profile) emit_options.profile = iree_make_cstring_view(options->profile);
  emit_options.tap_rows = (uint32_t)options->id_count;
  return mlxcel_family_emit(run->checkpoint, &emit_options, &run->emitted);
}

static iree_status_t taps_compile(const mlxcel_taps_options_t* options, taps_run_t* run) {
  iree_string_view_t text = iree_make_string_view(run->emitted.mlir_text, run->emitted.mlir_size);
  mlxcel_named_object_t named[MLXCEL_KERNEL_OBJECT_COUNT];
  mlxcel_artifact_object_t objects[MLXCEL_KERNEL_OBJECT_COUNT];
  size_t object_count = mlxcel_kernel_objects_named(text, run->level, named);
  for (size_t i = 0; i < object_count; ++i) {
    objects[i] = (mlxcel_artifact_object_t){.file_name = named[i].file_name, .data = named[i].bytes.data, .size = named[i].bytes.data_length};
  }
  mlxcel_artifact_request_t request = {
      .mlir_text = text,
      .contract_text = iree_make_cstring_view(run->emitted.contract_text),
      .contract_fingerprint = iree_make_cstring_view(run->emitted.fingerprint.text),
      .contract_version = run->emitted.contract_version,
      .profile = iree_make_cstring_view(options->profile ? options->profile : MLXCEL_PROFILE_PINNED_F32),
      .target = iree_make_cstring_view(mlxcel_kernel_target(run->level)),
      .object_count = object_count,
      .objects = objects,
      .interface = &run->emitted.interface,
      .compiler_path = mlxcel_compiler_choose(options->compiler, MLXCEL_DEFAULT_COMPILER),
  };
  request.flags = mlxcel_kernel_compile_flags(run->level, &request.flag_count);
  const mlxcel_artifact_progress_t progress = {0};
  char* root = NULL;
  if (!options->cache_folder) {
    IREE_RETURN_IF_ERROR(mlxcel_artifact_cache_default_root(&root));
  }
  iree_status_t status = mlxcel_artifact_obtain(root ? root : options->cache_folder, &request, &progress, &run->artifact);
  free(root);
  return status;
}

static iree_status_t taps_load(const mlxcel_taps_options_t* options, taps_run_t* run) {
  const mlxcel_device_options_t device_options = {.name = iree_make_cstring_view(options->device ? options->device : "local-task"),
                                                  .thread_count = options->threads};
  IREE_RETURN_IF_ERROR(mlxcel_device_open(&device_options, &run->device));
  const mlxcel_program_options_t program_options = {
      .slot_count = 1,
      .context = (uint32_t)options->id_count,
      .expected_fingerprint = iree_make_cstring_view(run->emitted.fingerprint.text),
      .expected_contract = iree_make_cstring_view(run->emitted.contract_text),
  };
  return mlxcel_module_load(run->device, &run->artifact, run->checkpoint, &program_options, &run->module);
}

// --- the call --------------------------------------------------------------------------------------------------------------------------------------

static iree_status_t taps_make_rows(const mlxcel_taps_options_t* options, taps_run_t* run) {
  const mlxcel_operand_t row = {.name = "row", .dtype = MLXCEL_DTYPE_I32, .rank = 1, .dims = {(int64_t)options->id_count}};
  for (size_t i = 0; i < 3; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_host_tensor_allocate(&row, &run->arguments[i]));
  }
  int32_t *tokens = run->arguments[0].data, *positions = run->arguments[2].data;  // slots stay 0
  uint32_t vocab_size = mlxcel_checkpoint_config(run->checkpoint)->vocab_size;
  for (size_t i = 0; i < options->id_count; ++i) {
    if (options->ids[i] < 0 || (uint32_t)options->ids[i] >= vocab_size) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "token id %d is outside the vocabulary of %u; give ids of this model's tokenizer", options->ids[i],
                              vocab_size);
    }
    tokens[i] = options->ids[i];
    positions[i] = (int32_t)i;
  }
  return iree_ok_status();
}

static iree_status_t taps_make_tables(const mlxcel_taps_options_t* options, taps_run_t* run) {
  const mlxcel_model_config_t* config = mlxcel_checkpoint_config(run->checkpoint);
  uint32_t half = config->head_dim / 2, context = (uint32_t)options->id_count;
  const mlxcel_operand_t table = {.name = "table", .dtype = MLXCEL_DTYPE_F32, .rank = 2, .dims = {context, half}};
  const mlxcel_operand_t cache = {
      .name = "cache", .dtype = run->emitted.kv_dtype, .rank = 5, .dims = {config->layer_count, 1, config->kv_head_count, context, config->head_dim}};
  for (size_t i = 3; i < TAPS_ARGUMENTS; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_host_tensor_allocate(i < 5 ? &table : &cache, &run->arguments[i]));
  }
  double* frequencies = calloc(half + 1, sizeof(*frequencies));
  if (!frequencies) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the rotary frequencies; free some memory");
  mlxcel_rope_frequencies(&config->rope, half, frequencies);
  mlxcel_rope_rows(frequencies, half, 0, context, run->arguments[3].data, run->arguments[4].data);
  free(frequencies);
  return iree_ok_status();
}

static iree_status_t taps_call(const mlxcel_taps_options_t* options, taps_run_t* run) {
  IREE_RETURN_IF_ERROR(taps_make_rows(options, run));
  IREE_RETURN_IF_ERROR(taps_make_tables(options, run));
  run->results = calloc(run->emitted.tap_count + 1, sizeof(*run->results));
  if (!run->results) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu taps; free some memory", run->emitted.tap_count);
  return mlxcel_module_call(run->module, TAPS_ARGUMENTS, run->arguments, run->emitted.tap_count, run->results);
}

// --- the file --------------------------------------------------------------------------------------------------------------------------------------

static json_t* taps_entry(const mlxcel_host_tensor_t* tensor, uint64_t begin) {
  static const char* const names[MLXCEL_DTYPE_COUNT] = {"F32", "F16", "BF16", "I32", "U8"};
  json_t* shape = json_array();
  for (uint32_t i = 0; shape && i < tensor->type.rank; ++i) json_array_append_new(shape, json_integer(tensor->type.dims[i]));
  return json_pack("{s:s, s:o, s:[I, I]}", "dtype", names[tensor->type.dtype], "shape", shape, "data_offsets", (json_int_t)begin,
                   (json_int_t)(begin + tensor->size));
}

// The header's text, padded so that the data is aligned; NULL if memory ran out.
static char* taps_header(const taps_run_t* run, size_t* out_data_size) {
  json_t* header = json_object();
  size_t offset = 0;
  bool good = header != NULL;
  for (size_t i = 0; good && i < run->emitted.tap_count; ++i) {
    good = json_object_set_new(header, run->emitted.taps[i].name, taps_entry(&run->results[i], offset)) == 0;
    offset += run->results[i].size;
  }
  char* text = good ? json_dumps(header, JSON_COMPACT) : NULL;
  json_decref(header);
  *out_data_size = offset;
  return text;
}

static iree_status_t taps_write_file(const char* path, const taps_run_t* run) {
  size_t data_size = 0;
  char* header = taps_header(run, &data_size);
  size_t header_size = header ? (strlen(header) + 7) / 8 * 8 : 0;
  uint8_t* file = header ? malloc(8 + header_size + data_size) : NULL;
  if (!file) {
    free(header);
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %s; free some memory", path);
  }
  for (int i = 0; i < 8; ++i) file[i] = (uint8_t)((uint64_t)header_size >> (8 * i));
  memset(file + 8, ' ', header_size);
  memcpy(file + 8, header, strlen(header));
  uint8_t* at = file + 8 + header_size;
  for (size_t i = 0; i < run->emitted.tap_count; at += run->results[i].size, ++i) memcpy(at, run->results[i].data, run->results[i].size);
  iree_status_t status = mlxcel_file_publish(path, file, 8 + header_size + data_size);
  free(file);
  free(header);
  return status;
}

iree_status_t mlxcel_taps_write(const mlxcel_taps_options_t* options) {
  if (options->id_count == 0 || options->id_count > MLXCEL_TAPS_ROWS_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%zu token ids are given; 1 to %u can be tapped at once", options->id_count, MLXCEL_TAPS_ROWS_MAX);
  }
  taps_run_t run = {0};
  iree_status_t status = taps_emit(options, &run);
  if (iree_status_is_ok(status)) status = taps_compile(options, &run);
  if (iree_status_is_ok(status)) status = taps_load(options, &run);
  if (iree_status_is_ok(status)) status = taps_call(options, &run);
  if (iree_status_is_ok(status)) status = taps_write_file(options->output_path, &run);
  taps_deinitialize(&run);
  return status;
}
