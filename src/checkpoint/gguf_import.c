#include "checkpoint/gguf_import.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/gguf_folder.h"
#include "checkpoint/gguf_model.h"

void mlxcel_gguf_import_options_initialize(mlxcel_gguf_import_options_t* out_options) { memset(out_options, 0, sizeof(*out_options)); }

// Everything about the file, checked; what is left is writing.
typedef struct gguf_import_t {
  mlxcel_gguf_t* file;
  mlxcel_gguf_llama_t llama;
  mlxcel_gguf_plan_t plan;
  mlxcel_gguf_tokenizer_t tokenizer;
  json_t *config, *generation_config;
} gguf_import_t;

static iree_status_t gguf_import_prepare(gguf_import_t* import) {
  IREE_RETURN_IF_ERROR(mlxcel_gguf_llama_read(import->file, &import->llama));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_plan_initialize(import->file, &import->llama, &import->plan));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_tokenizer_initialize(import->file, &import->llama, &import->tokenizer));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_config_create(import->file, &import->llama, &import->plan, &import->tokenizer, &import->config));
  return mlxcel_gguf_generation_config_create(import->file, &import->tokenizer, &import->generation_config);
}

static void gguf_import_deinitialize(gguf_import_t* import) {
  json_decref(import->config);
  json_decref(import->generation_config);
  mlxcel_gguf_tokenizer_deinitialize(&import->tokenizer);
  mlxcel_gguf_plan_deinitialize(&import->plan);
  mlxcel_gguf_close(import->file);
}

// |compact| for the large one: it is parsed on every start.
static iree_status_t gguf_publish_json(const char* folder, const char* name, const json_t* value, bool compact) {
  char *text = NULL, *path = NULL;
  iree_status_t status = mlxcel_json_write(value, compact, &text);
  if (iree_status_is_ok(status)) status = mlxcel_path_join(folder, iree_make_cstring_view(name), &path);
  if (iree_status_is_ok(status)) status = mlxcel_file_publish(path, text, strlen(text));
  free(path);
  free(text);
  return status;
}

static iree_status_t gguf_import_write(const gguf_import_t* import, const char* folder, const mlxcel_gguf_import_options_t* options) {
  char* path = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, IREE_SV("model.safetensors"), &path));
  iree_status_t status = mlxcel_gguf_weights_write(import->file, &import->plan, path, options);
  free(path);
  if (iree_status_is_ok(status)) status = gguf_publish_json(folder, "config.json", import->config, false);
  if (iree_status_is_ok(status)) status = gguf_publish_json(folder, "generation_config.json", import->generation_config, false);
  if (iree_status_is_ok(status)) status = gguf_publish_json(folder, "tokenizer.json", import->tokenizer.tokenizer, true);
  if (iree_status_is_ok(status)) status = gguf_publish_json(folder, "tokenizer_config.json", import->tokenizer.tokenizer_config, false);
  return status;
}

static iree_status_t gguf_import_publish(const gguf_import_t* import, const char* out_folder, const mlxcel_gguf_import_options_t* options) {
  mlxcel_gguf_folder_t folder;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_folder_begin(out_folder, &folder));
  iree_status_t status = gguf_import_write(import, folder.temporary, options);
  if (iree_status_is_ok(status)) return mlxcel_gguf_folder_publish(&folder, options->overwrite);
  mlxcel_gguf_folder_abandon(&folder);
  return status;
}

iree_status_t mlxcel_gguf_import(const char* gguf_path, const char* out_folder, const mlxcel_gguf_import_options_t* options) {
  mlxcel_gguf_import_options_t defaults;
  mlxcel_gguf_import_options_initialize(&defaults);
  if (!options) options = &defaults;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_folder_check(out_folder, options->overwrite));
  gguf_import_t import;
  memset(&import, 0, sizeof(import));
  iree_status_t status = mlxcel_gguf_open(gguf_path, &import.file);
  if (iree_status_is_ok(status)) status = gguf_import_prepare(&import);
  if (iree_status_is_ok(status)) status = gguf_import_publish(&import, out_folder, options);
  gguf_import_deinitialize(&import);
  return status;
}
