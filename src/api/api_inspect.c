// The report of `mlxcel inspect`: what a checkpoint folder holds, whether this program can run it, and if not, why.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_error.h"
#include "base/json.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "families/family.h"
#include "tokenizer/tokenizer.h"

static iree_status_t inspect_out_of_memory(void) { return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the report; free some memory"); }

// Adds |value| (consumed; NULL = out of memory) under |key|.
static iree_status_t inspect_set(json_t* object, const char* key, json_t* value) {
  return json_object_set_new(object, key, value) == 0 ? iree_ok_status() : inspect_out_of_memory();
}

// --- tensors -------------------------------------------------------------------------------------------------------------------------------
static json_t* inspect_make_shape(const mlxcel_tensor_t* tensor) {
  json_t* shape = json_array();
  for (uint32_t i = 0; i < tensor->rank; ++i) json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i]));
  return shape;
}

static json_t* inspect_make_quantization(mlxcel_quantization_t value) {
  if (value.bits == 0) return json_null();
  return json_pack("{s:i, s:i}", "bits", (int)value.bits, "group_size", (int)value.group_size);
}

// True for "<path>.weight" beside "<path>.scales"; |*out_path| is the view before the dot.
static bool inspect_is_quantized(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t name, iree_string_view_t* out_path) {
  const iree_string_view_t weight = IREE_SV(".weight");
  char scales[MLXCEL_TENSOR_NAME_BYTES_MAX + 8];
  if (!iree_string_view_ends_with(name, weight)) return false;
  *out_path = iree_make_string_view(name.data, name.size - weight.size);
  int size = snprintf(scales, sizeof(scales), "%.*s.scales", MLXCEL_SV(*out_path));
  return size > 0 && (size_t)size < sizeof(scales) && mlxcel_checkpoint_find(checkpoint, iree_make_string_view(scales, (size_t)size)) != NULL;
}

static json_t* inspect_make_tensor(const mlxcel_tensor_t* tensor) {
  return json_pack("{s:s%, s:s, s:o, s:I, s:i}", "name", tensor->name.data, tensor->name.size, "dtype", mlxcel_tensor_dtype_name(tensor->dtype), "shape",
                   inspect_make_shape(tensor), "bytes", (json_int_t)tensor->byte_count, "shard", (int)tensor->shard);
}

static iree_status_t inspect_add_tensors(const mlxcel_checkpoint_t* checkpoint, json_t* report) {
  json_t* list = json_array();
  IREE_RETURN_IF_ERROR(inspect_set(report, "tensors", list));
  const mlxcel_quantization_table_t* table = &mlxcel_checkpoint_config(checkpoint)->quantization;
  for (size_t i = 0; i < mlxcel_checkpoint_tensor_count(checkpoint); ++i) {
    const mlxcel_tensor_t* tensor = mlxcel_checkpoint_tensor_at(checkpoint, i);
    json_t* entry = inspect_make_tensor(tensor);
    if (!entry || json_array_append_new(list, entry) != 0) return inspect_out_of_memory();
    iree_string_view_t path;
    if (!inspect_is_quantized(checkpoint, tensor->name, &path)) continue;
    IREE_RETURN_IF_ERROR(inspect_set(entry, "quantization", inspect_make_quantization(mlxcel_quantization_table_lookup(table, path))));
  }
  return iree_ok_status();
}

// --- configuration -----------------------------------------------------------------------------------------------------------------------
static json_t* inspect_make_ids(const mlxcel_token_set_t* set) {
  json_t* list = json_array();
  for (uint32_t i = 0; i < set->count; ++i) json_array_append_new(list, json_integer((json_int_t)set->ids[i]));
  return list;
}

static const char* inspect_rope_name(mlxcel_rope_kind_t kind) {
  static const char* const names[] = {"default", "linear", "llama3"};
  return (unsigned)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

static json_t* inspect_make_config(const mlxcel_model_config_t* config) {
  return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:b, s:b, s:b, s:s, s:f, s:o}", "layers", (int)config->layer_count, "hidden_size",
                   (int)config->hidden_size, "intermediate_size", (int)config->intermediate_size, "vocab_size", (int)config->vocab_size, "heads",
                   (int)config->head_count, "kv_heads", (int)config->kv_head_count, "head_dim", (int)config->head_dim, "context",
                   (int)config->max_position_embeddings, "sliding_window", (int)config->sliding_window, "rms_norm_eps", (double)config->rms_norm_eps,
                   "tied_embeddings", (int)config->tie_word_embeddings, "attention_bias", (int)config->attention_bias, "mlp_bias", (int)config->mlp_bias,
                   "rope", inspect_rope_name(config->rope.kind), "rope_theta", config->rope.theta, "eos_ids", inspect_make_ids(&config->eos_ids));
}

// Keys and values of every layer, for one sequence: what each dtype of the cache would take.
static json_t* inspect_make_kv_cache(const mlxcel_model_config_t* config) {
  static const mlxcel_dtype_t dtypes[] = {MLXCEL_DTYPE_F32, MLXCEL_DTYPE_F16, MLXCEL_DTYPE_BF16};
  json_t* report = json_object();
  for (size_t i = 0; i < IREE_ARRAYSIZE(dtypes); ++i) {
    json_int_t token =
        2 * (json_int_t)config->layer_count * (json_int_t)config->kv_head_count * (json_int_t)config->head_dim * (json_int_t)mlxcel_dtype_size(dtypes[i]);
    json_t* entry = json_pack("{s:I, s:I}", "bytes_per_1000_tokens", 1000 * token, "bytes_of_context", token * (json_int_t)config->max_position_embeddings);
    if (json_object_set_new(report, mlxcel_dtype_name(dtypes[i]), entry) == 0) continue;
    json_decref(report);
    return NULL;
  }
  return report;
}

static iree_status_t inspect_add_quantization(const mlxcel_quantization_table_t* table, json_t* report) {
  if (!table->present) return inspect_set(report, "quantization", json_null());
  return inspect_set(
      report, "quantization",
      json_pack("{s:i, s:i, s:I}", "bits", (int)table->base.bits, "group_size", (int)table->base.group_size, "overrides", (json_int_t)table->override_count));
}

static iree_status_t inspect_add_shards(const mlxcel_checkpoint_t* checkpoint, json_t* report) {
  json_t* list = json_array();
  IREE_RETURN_IF_ERROR(inspect_set(report, "shards", list));
  for (size_t i = 0; i < mlxcel_checkpoint_shard_count(checkpoint); ++i) {
    if (json_array_append_new(list, mlxcel_json_string_any(mlxcel_checkpoint_shard_path(checkpoint, i))) != 0) return inspect_out_of_memory();
  }
  return iree_ok_status();
}

// --- verdict -------------------------------------------------------------------------------------------------------------------------------
// Consumes |refusal|: a failure becomes the reason why the model can't run.
static iree_status_t inspect_add_verdict(iree_status_t refusal, json_t* report) {
  json_t* reasons = json_array();
  if (!iree_status_is_ok(refusal)) {
    char text[4096];
    mlxcel_status_text(refusal, text, sizeof(text));
    iree_status_ignore(refusal);
    if (json_array_append_new(reasons, mlxcel_json_string_any(text)) != 0) {
      json_decref(reasons);
      return inspect_out_of_memory();
    }
  }
  IREE_RETURN_IF_ERROR(inspect_set(report, "supported", json_boolean(json_array_size(reasons) == 0)));
  return inspect_set(report, "reasons", reasons);
}

// Emission reads every tensor that the model needs: it is the check.
static iree_status_t inspect_try_emission(const mlxcel_checkpoint_t* checkpoint) {
  mlxcel_emit_options_t options;
  mlxcel_emit_options_initialize(&options);
  mlxcel_emitted_model_t emitted;
  IREE_RETURN_IF_ERROR(mlxcel_family_emit(checkpoint, &options, &emitted));
  mlxcel_emitted_model_deinitialize(&emitted);
  return iree_ok_status();
}

// What `generate` needs of a folder: a computation, and a tokenizer for its text.
static iree_status_t inspect_try_run(const mlxcel_checkpoint_t* checkpoint) {
  IREE_RETURN_IF_ERROR(inspect_try_emission(checkpoint));
  mlxcel_tokenizer_t* tokenizer = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_tokenizer_open(mlxcel_checkpoint_folder(checkpoint), iree_allocator_system(), &tokenizer));
  mlxcel_tokenizer_close(tokenizer);
  return iree_ok_status();
}

static iree_status_t inspect_fill(const mlxcel_checkpoint_t* checkpoint, json_t* report) {
  const mlxcel_model_config_t* config = mlxcel_checkpoint_config(checkpoint);
  IREE_RETURN_IF_ERROR(inspect_set(report, "family", mlxcel_json_string_any(config->model_type)));
  IREE_RETURN_IF_ERROR(inspect_add_verdict(inspect_try_run(checkpoint), report));
  IREE_RETURN_IF_ERROR(inspect_set(report, "config", inspect_make_config(config)));
  IREE_RETURN_IF_ERROR(inspect_set(report, "kv_cache", inspect_make_kv_cache(config)));
  IREE_RETURN_IF_ERROR(inspect_add_quantization(&config->quantization, report));
  IREE_RETURN_IF_ERROR(inspect_add_shards(checkpoint, report));
  IREE_RETURN_IF_ERROR(inspect_set(report, "tensor_count", json_integer((json_int_t)mlxcel_checkpoint_tensor_count(checkpoint))));
  IREE_RETURN_IF_ERROR(inspect_set(report, "tensor_bytes", json_integer((json_int_t)mlxcel_checkpoint_tensor_bytes(checkpoint))));
  return inspect_add_tensors(checkpoint, report);
}

// --- a checkpoint that was refused: its files still say what it holds ----------------------------------------------------------------------
static int inspect_is_safetensors(const struct dirent* entry) {
  return iree_string_view_ends_with(iree_make_cstring_view(entry->d_name), IREE_SV(".safetensors"));
}

static iree_status_t inspect_add_file(const char* folder, const char* name, json_t* shards, json_t* tensors) {
  char* path = NULL;
  mlxcel_safetensors_t* file = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  iree_status_t status = mlxcel_safetensors_open(path, &file);
  for (size_t i = 0; iree_status_is_ok(status) && i < mlxcel_safetensors_tensor_count(file); ++i) {
    json_t* entry = inspect_make_tensor(mlxcel_safetensors_tensor_at(file, i));
    if (entry) json_object_set_new(entry, "shard", json_integer((json_int_t)json_array_size(shards)));
    if (!entry || json_array_append_new(tensors, entry) != 0) status = inspect_out_of_memory();
  }
  if (iree_status_is_ok(status) && json_array_append_new(shards, mlxcel_json_string_any(path)) != 0) status = inspect_out_of_memory();
  mlxcel_safetensors_close(file);
  free(path);
  return status;
}

static iree_status_t inspect_add_files(const char* folder, json_t* report) {
  json_t* shards = json_array();
  json_t* tensors = json_array();
  iree_status_t status = inspect_set(report, "shards", shards);
  iree_status_t tensors_status = inspect_set(report, "tensors", tensors);
  if (!iree_status_is_ok(status) || !iree_status_is_ok(tensors_status)) return iree_status_join(status, tensors_status);
  struct dirent** entries = NULL;
  int count = scandir(folder, &entries, inspect_is_safetensors, alphasort);
  if (count < 0) return mlxcel_fs_errno_status(errno, "list", folder);
  for (int i = 0; i < count; ++i) {
    if (iree_status_is_ok(status)) status = inspect_add_file(folder, entries[i]->d_name, shards, tensors);
    free(entries[i]);
  }
  free(entries);
  return status;
}

// Only what is understood and refused gets a report; a broken or missing file stays an error. Consumes |refusal|.
static iree_status_t inspect_fill_refused(const char* folder, iree_status_t refusal, json_t* report) {
  if (!iree_status_is_unimplemented(refusal)) return refusal;
  IREE_RETURN_IF_ERROR(inspect_add_verdict(refusal, report));
  return inspect_add_files(folder, report);
}

static iree_status_t inspect_make_report(const char* folder, json_t* report) {
  IREE_RETURN_IF_ERROR(inspect_set(report, "folder", mlxcel_json_string_any(folder)));
  mlxcel_checkpoint_t* checkpoint = NULL;
  iree_status_t status = mlxcel_checkpoint_open(folder, &checkpoint);
  if (!iree_status_is_ok(status)) return inspect_fill_refused(folder, status, report);
  status = inspect_fill(checkpoint, report);
  mlxcel_checkpoint_close(checkpoint);
  return status;
}

mlxcel_error_t* mlxcel_inspect(const char* model_folder, char** out_json) {
  *out_json = NULL;
  json_t* report = json_object();
  iree_status_t status = report ? inspect_make_report(model_folder, report) : inspect_out_of_memory();
  if (iree_status_is_ok(status)) status = mlxcel_json_write(report, false, out_json);
  json_decref(report);
  return mlxcel_api_error("checkpoint", status);
}
