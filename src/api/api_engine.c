#include "api/api_engine.h"

#include <stdlib.h>
#include <string.h>

#include "api/api_capability.h"
#include "api/api_error.h"

void mlxcel_engine_options_initialize(mlxcel_engine_options_t* out_options) { *out_options = (mlxcel_engine_options_t){.size = sizeof(*out_options)}; }

// --- the tokenizer, read in a thread of its own while the module is looked up ----------------------------------------------------------------
typedef struct api_tokenizer_task_t {
  const char* folder;
  pthread_t thread;
  bool has_thread;
  mlxcel_tokenizer_t* tokenizer;
  iree_status_t status;
} api_tokenizer_task_t;

static void* api_tokenizer_task_run(void* argument) {
  api_tokenizer_task_t* task = argument;
  task->status = mlxcel_tokenizer_open(task->folder, iree_allocator_system(), &task->tokenizer);
  return NULL;
}

static void api_tokenizer_task_start(api_tokenizer_task_t* task, const char* folder) {
  *task = (api_tokenizer_task_t){.folder = folder};
  task->has_thread = pthread_create(&task->thread, NULL, api_tokenizer_task_run, task) == 0;
}

// Waits for the tokenizer; without a thread reads it now.
static iree_status_t api_tokenizer_task_finish(api_tokenizer_task_t* task, mlxcel_tokenizer_t** out_tokenizer) {
  if (task->has_thread) {
    pthread_join(task->thread, NULL);
  } else {
    api_tokenizer_task_run(task);
  }
  *out_tokenizer = task->tokenizer;
  return task->status;
}

// --- opening -----------------------------------------------------------------------------------------------------------------------------------
static iree_status_t api_engine_copy_text(const char* text, size_t size, char** out_text) {
  *out_text = strndup(text, size);
  return *out_text ? iree_ok_status() : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a name; free some memory");
}

// The last part of |path| that isn't empty.
static const char* api_find_last_part(const char* path, size_t* out_size) {
  size_t end = strlen(path);
  while (end > 1 && path[end - 1] == '/') --end;
  size_t start = end;
  while (start > 0 && path[start - 1] != '/') --start;
  *out_size = end - start;
  return path + start;
}

static iree_status_t api_engine_copy_names(mlxcel_engine_t* engine, const mlxcel_engine_options_t* options) {
  size_t size = 0;
  const char* name = api_find_last_part(options->model_folder, &size);
  IREE_RETURN_IF_ERROR(api_engine_copy_text(name, size, &engine->model_name));
  IREE_RETURN_IF_ERROR(api_engine_copy_text(options->device, strlen(options->device), &engine->device_name));
  return api_engine_copy_text(options->profile, strlen(options->profile), &engine->profile_name);
}

// Before anything that takes long: a device that can't be used is told at once.
static iree_status_t api_engine_open_device(mlxcel_engine_t* engine, const mlxcel_engine_options_t* options) {
  engine->build.stage = "device";
  const mlxcel_device_options_t device_options = {.name = iree_make_cstring_view(options->device), .thread_count = options->threads};
  return mlxcel_device_open(&device_options, &engine->device);
}

// What the checkpoint's own files say about options and defaults.
static iree_status_t api_engine_resolve(mlxcel_engine_t* engine, const mlxcel_engine_options_t* options, uint32_t* out_context) {
  const mlxcel_model_config_t* config = mlxcel_checkpoint_config(engine->build.checkpoint);
  IREE_RETURN_IF_ERROR(mlxcel_generation_sampling_collect(config, &engine->info.default_sampling));
  engine->build.stage = "options";
  return mlxcel_generation_context_resolve(options->context, config, out_context);
}

static iree_status_t api_engine_load(mlxcel_engine_t* engine, const mlxcel_api_settings_t* settings, uint32_t context) {
  mlxcel_api_build_t* build = &engine->build;
  const mlxcel_engine_options_t* options = &settings->options;
  iree_time_t start = iree_time_now();
  build->stage = "load";
  const mlxcel_program_options_t program_options = {
      .slot_count = options->slots,
      .context = context,
      .expected_fingerprint = iree_make_cstring_view(build->emitted.fingerprint.text),
      .expected_contract = iree_make_cstring_view(build->emitted.contract_text),
  };
  IREE_RETURN_IF_ERROR(mlxcel_program_load(engine->device, &build->artifact, build->checkpoint, &program_options, &engine->program));
  mlxcel_backend_initialize_from_program(engine->program, &engine->backend);
  engine->slot_count = options->slots;
  engine->prefill_chunk = options->prefill_chunk;
  engine->slot_is_used = calloc(options->slots, sizeof(*engine->slot_is_used));
  if (!engine->slot_is_used) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %u slots; ask for fewer", options->slots);
  mlxcel_api_notify(settings, "load", start);
  return iree_ok_status();
}

// Everything but the tokenizer, which is being read meanwhile.
static iree_status_t api_engine_build(mlxcel_engine_t* engine, const mlxcel_api_settings_t* settings) {
  uint32_t context = 0;
  IREE_RETURN_IF_ERROR(api_engine_open_device(engine, &settings->options));
  IREE_RETURN_IF_ERROR(mlxcel_api_build_open(settings, &engine->build));
  if (strcmp(settings->options.huge_pages, MLXCEL_HUGE_PAGES_AUTO) == 0) mlxcel_api_pages_start(engine->build.checkpoint, &engine->pages);
  engine->build.workers = mlxcel_device_thread_count(engine->device);
  IREE_RETURN_IF_ERROR(api_engine_resolve(engine, &settings->options, &context));
  IREE_RETURN_IF_ERROR(mlxcel_api_build_emit(settings, &engine->build));
  IREE_RETURN_IF_ERROR(mlxcel_api_capability_foresee(settings, &engine->build));
  IREE_RETURN_IF_ERROR(mlxcel_api_build_obtain(settings, &engine->build));
  IREE_RETURN_IF_ERROR(mlxcel_api_capability_check(settings, &engine->build));
  return api_engine_load(engine, settings, context);
}

static void api_engine_fill_info(mlxcel_engine_t* engine, const mlxcel_api_settings_t* settings, iree_time_t start) {
  mlxcel_engine_info_t* info = &engine->info;
  const mlxcel_model_config_t* config = mlxcel_checkpoint_config(engine->build.checkpoint);
  int32_t bos_id = mlxcel_tokenizer_bos_id(engine->tokenizer);
  info->model_name = engine->model_name;
  info->model_type = config->model_type;
  info->device = engine->device_name;
  info->profile = engine->profile_name;
  info->contract_fingerprint = engine->build.artifact.contract_fingerprint.text;
  info->cpu_level = mlxcel_kernel_level_name(settings->level);
  info->vocab_size = engine->backend.vocab_size;
  info->context = engine->backend.context;
  info->model_context = config->max_position_embeddings;
  info->threads = mlxcel_device_thread_count(engine->device);
  info->weight_bytes = mlxcel_checkpoint_tensor_bytes(engine->build.checkpoint);
  info->kv_bytes = mlxcel_program_kv_bytes(engine->program);
  info->kv_dtype = mlxcel_dtype_name(engine->build.emitted.kv_dtype);
  info->kv_token_bytes = info->kv_bytes / ((uint64_t)engine->slot_count * info->context);
  info->copied_weight_bytes = mlxcel_program_copied_parameter_bytes(engine->program);
  info->cache_hit = engine->build.artifact.was_cached;
  info->has_chat_template = mlxcel_tokenizer_has_chat_template(engine->tokenizer);
  info->compile_seconds = engine->build.artifact.compile_seconds;
  info->load_seconds = (double)(iree_time_now() - start) * 1e-9 - info->compile_seconds;
  info->bos_id = bos_id >= 0 || config->bos_id > INT32_MAX ? bos_id : (int32_t)config->bos_id;
  info->eos_ids = engine->eos.ids;
  info->eos_count = engine->eos.count;
}

static iree_status_t api_engine_collect_eos(mlxcel_engine_t* engine) {
  size_t count = 0;
  const int32_t* ids = mlxcel_tokenizer_eos_ids(engine->tokenizer, &count);
  return mlxcel_generation_eos_collect(mlxcel_checkpoint_config(engine->build.checkpoint), ids, count, &engine->eos);
}

static iree_status_t api_engine_open(mlxcel_engine_t* engine, const mlxcel_api_settings_t* settings, iree_time_t start) {
  api_tokenizer_task_t task;
  api_tokenizer_task_start(&task, settings->options.model_folder);
  iree_status_t status = api_engine_build(engine, settings);
  iree_status_t tokenizer_status = api_tokenizer_task_finish(&task, &engine->tokenizer);
  if (!iree_status_is_ok(status)) {
    iree_status_ignore(tokenizer_status);
    return status;
  }
  engine->build.stage = "tokenizer";
  IREE_RETURN_IF_ERROR(tokenizer_status);
  IREE_RETURN_IF_ERROR(api_engine_collect_eos(engine));
  engine->build.stage = "load";
  IREE_RETURN_IF_ERROR(api_engine_copy_names(engine, &settings->options));
  api_engine_fill_info(engine, settings, start);
  mlxcel_emitted_model_deinitialize(&engine->build.emitted);
  engine->build.has_emitted = false;
  return iree_ok_status();
}

static iree_status_t api_engine_allocate(mlxcel_engine_t** out_engine) {
  mlxcel_engine_t* engine = calloc(1, sizeof(*engine));
  if (!engine) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for an engine; free some memory");
  pthread_mutex_init(&engine->device_mutex, NULL);
  pthread_mutex_init(&engine->slot_mutex, NULL);
  *out_engine = engine;
  return iree_ok_status();
}

mlxcel_error_t* mlxcel_engine_open(const mlxcel_engine_options_t* options, mlxcel_engine_t** out_engine) {
  *out_engine = NULL;
  iree_time_t start = iree_time_now();
  mlxcel_api_settings_t settings;
  mlxcel_engine_t* engine = NULL;
  iree_status_t status = mlxcel_api_settings_resolve(options, &settings);
  if (iree_status_is_ok(status)) status = api_engine_allocate(&engine);
  if (!iree_status_is_ok(status)) return mlxcel_api_error("options", status);
  status = api_engine_open(engine, &settings, start);
  if (iree_status_is_ok(status)) {
    *out_engine = engine;
    return NULL;
  }
  mlxcel_error_t* error = mlxcel_api_error(engine->build.stage, status);
  mlxcel_engine_close(engine);
  return error;
}

mlxcel_error_t* mlxcel_engine_compile(const mlxcel_engine_options_t* options, bool* out_cache_hit, double* out_compile_seconds) {
  if (out_cache_hit) *out_cache_hit = false;
  if (out_compile_seconds) *out_compile_seconds = 0.0;
  mlxcel_api_settings_t settings;
  iree_status_t status = mlxcel_api_settings_resolve(options, &settings);
  if (!iree_status_is_ok(status)) return mlxcel_api_error("options", status);
  status = mlxcel_device_check_name(iree_make_cstring_view(settings.options.device));
  if (!iree_status_is_ok(status)) return mlxcel_api_error("device", status);
  mlxcel_api_build_t build;
  status = mlxcel_api_build_open(&settings, &build);
  const mlxcel_device_options_t device_options = {.name = iree_make_cstring_view(settings.options.device), .thread_count = settings.options.threads};
  build.workers = mlxcel_device_thread_count_for(&device_options);
  if (iree_status_is_ok(status)) status = mlxcel_api_build_compile(&settings, &build);
  if (iree_status_is_ok(status) && out_cache_hit) *out_cache_hit = build.artifact.was_cached;
  if (iree_status_is_ok(status) && out_compile_seconds) *out_compile_seconds = build.artifact.compile_seconds;
  mlxcel_error_t* error = mlxcel_api_error(build.stage, status);
  mlxcel_api_build_deinitialize(&build);
  return error;
}

// What the program borrows goes after it: device, artifact, checkpoint.
void mlxcel_engine_close(mlxcel_engine_t* engine) {
  if (!engine) return;
  if (engine->program) mlxcel_program_unload(engine->program);
  if (engine->device) mlxcel_device_close(engine->device);
  mlxcel_tokenizer_close(engine->tokenizer);
  mlxcel_api_pages_finish(&engine->pages);
  mlxcel_api_build_deinitialize(&engine->build);
  pthread_mutex_destroy(&engine->device_mutex);
  pthread_mutex_destroy(&engine->slot_mutex);
  free(engine->slot_is_used);
  free(engine->model_name);
  free(engine->device_name);
  free(engine->profile_name);
  free(engine);
}

const mlxcel_engine_info_t* mlxcel_engine_info(const mlxcel_engine_t* engine) { return &engine->info; }
