#include "api/api_build.h"

#include <stdlib.h>
#include <string.h>

#include "api/api_pages.h"
#include "artifact/compiler_identity.h"
#include "build_identity.h"
#include "contract/profiles.h"
#include "kernels/kernel_selection.h"

#define API_DEVICE_DEFAULT "local-task"

static iree_status_t api_precision_refused(const mlxcel_profile_t* profile, const char* precision) {
  bool has_checkpoints = strcmp(profile->precision, "checkpoint") == 0;
  return iree_make_status(
      IREE_STATUS_INVALID_ARGUMENT, "precision '%s' isn't one of profile %s; valid: %s%s", precision, profile->name, profile->precision,
      has_checkpoints ? "" : " (16-bit activations are what profile " MLXCEL_PROFILE_MLX_CPU " has for 16-bit checkpoints, precision checkpoint)");
}

static iree_status_t api_check_profile(const char* name, const char* precision, const char** out_precision) {
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(name));
  if (!profile || !profile->runs_models) {
    char names[MLXCEL_PROFILE_NAMES_BYTES_MAX];
    mlxcel_profile_names(/*only_models=*/true, names);
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "profile '%s' %s; valid: %s", name, profile ? "runs no models" : "is unknown", names);
  }
  *out_precision = precision && precision[0] ? precision : profile->precision;
  return strcmp(profile->precision, *out_precision) == 0 ? iree_ok_status() : api_precision_refused(profile, *out_precision);
}

static iree_status_t api_check_kv_dtype(const mlxcel_profile_t* profile, const char* name, mlxcel_dtype_t* out_dtype) {
  *out_dtype = MLXCEL_DTYPE_F32;
  if (!name || !name[0]) return iree_ok_status();
  if (strcmp(profile->precision, "checkpoint") == 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "KV cache dtype '%s' (kv_dtype, --kv-dtype) isn't a choice under profile %s, where the checkpoint decides; leave it out, or use "
                            "profile " MLXCEL_PROFILE_PINNED_F32,
                            name, profile->name);
  }
  if (mlxcel_dtype_parse(iree_make_cstring_view(name), out_dtype) && *out_dtype <= MLXCEL_DTYPE_BF16) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "KV cache dtype '%s' (kv_dtype, --kv-dtype) is unknown; valid: f32, f16, bf16", name);
}

static iree_status_t api_check_huge_pages(const char* mode) {
  if (strcmp(mode, MLXCEL_HUGE_PAGES_AUTO) == 0 || strcmp(mode, MLXCEL_HUGE_PAGES_OFF) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "huge pages '%s' (huge_pages, --huge-pages) are unknown; valid: auto, off", mode);
}

static bool api_ends_with(const char* text, const char* end) {
  size_t size = strlen(text), end_size = strlen(end);
  return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static iree_status_t api_check_model_folder(const char* folder) {
  if (!folder || !folder[0]) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "no model folder is given; name the folder of a checkpoint");
  if (api_ends_with(folder, ".gguf")) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s is a GGUF file, not a checkpoint folder; turn it into one with `mlxcel import` first", folder);
  }
  return iree_ok_status();
}

static const char* api_text_or(const char* text, const char* otherwise) { return text && text[0] ? text : otherwise; }

iree_status_t mlxcel_api_settings_resolve(const mlxcel_engine_options_t* options, mlxcel_api_settings_t* out_settings) {
  memset(out_settings, 0, sizeof(*out_settings));
  if (options->size != sizeof(*options)) {
    return iree_make_status(
        IREE_STATUS_INVALID_ARGUMENT,
        "the engine options have size %zu, this library's have %zu; start from mlxcel_engine_options_initialize and rebuild against its header", options->size,
        sizeof(*options));
  }
  mlxcel_engine_options_t* resolved = &out_settings->options;
  *resolved = *options;
  resolved->device = api_text_or(options->device, API_DEVICE_DEFAULT);
  resolved->profile = api_text_or(options->profile, MLXCEL_PROFILE_PINNED_F32);
  resolved->compiler = mlxcel_compiler_choose(options->compiler, MLXCEL_DEFAULT_COMPILER);  // NULL still allows a cache hit
  resolved->slots = options->slots == 0 ? 1 : options->slots;
  if (resolved->slots > MLXCEL_API_SLOTS_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%u slots are asked for; at most %u are possible", resolved->slots, MLXCEL_API_SLOTS_MAX);
  }
  IREE_RETURN_IF_ERROR(api_check_model_folder(options->model_folder));
  IREE_RETURN_IF_ERROR(api_check_profile(resolved->profile, options->precision, &resolved->precision));
  resolved->huge_pages = api_text_or(options->huge_pages, MLXCEL_HUGE_PAGES_AUTO);
  IREE_RETURN_IF_ERROR(api_check_huge_pages(resolved->huge_pages));
  IREE_RETURN_IF_ERROR(api_check_kv_dtype(mlxcel_profile_find(iree_make_cstring_view(resolved->profile)), options->kv_dtype, &out_settings->kv_dtype));
  return mlxcel_kernel_level_select(iree_make_cstring_view(api_text_or(options->cpu_level, "")), &out_settings->level);
}

void mlxcel_api_notify(const mlxcel_api_settings_t* settings, const char* step, iree_time_t start) {
  const mlxcel_engine_options_t* options = &settings->options;
  if (options->progress) options->progress(options->user_data, step, (double)(iree_time_now() - start) * 1e-9);
}

iree_status_t mlxcel_api_build_open(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* out_build) {
  memset(out_build, 0, sizeof(*out_build));
  out_build->stage = "checkpoint";
  iree_time_t start = iree_time_now();
  IREE_RETURN_IF_ERROR(mlxcel_checkpoint_open(settings->options.model_folder, &out_build->checkpoint));
  mlxcel_api_notify(settings, "read checkpoint", start);
  return iree_ok_status();
}

// The cache, and the compiler that a module not in it would be made with.
static iree_status_t api_build_find_compiler(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  build->stage = "compile";
  const mlxcel_engine_options_t* options = &settings->options;
  if (!options->cache_folder || !options->cache_folder[0]) {
    IREE_RETURN_IF_ERROR(mlxcel_artifact_cache_default_root(&build->default_root));
  }
  build->cache_root = build->default_root ? build->default_root : options->cache_folder;
  build->has_compiler = mlxcel_compiler_is_present(options->compiler);
  return build->has_compiler ? mlxcel_compiler_digest(build->cache_root, options->compiler, &build->compiler_digest) : iree_ok_status();
}

static iree_status_t api_build_emit_for(const mlxcel_api_settings_t* settings, const mlxcel_api_build_t* build, uint32_t workers,
                                        mlxcel_emitted_model_t* out_emitted) {
  mlxcel_emit_options_t emit_options;
  mlxcel_emit_options_initialize(&emit_options);
  emit_options.profile = iree_make_cstring_view(settings->options.profile);
  emit_options.workers = workers;
  emit_options.kv_dtype = settings->kv_dtype;
  return mlxcel_family_emit(build->checkpoint, &emit_options, out_emitted);
}

iree_status_t mlxcel_api_build_emit(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  build->stage = "emit";
  IREE_RETURN_IF_ERROR(api_build_emit_for(settings, build, build->workers, &build->emitted));
  build->has_emitted = true;
  return api_build_find_compiler(settings, build);
}

// The artifact's request; views into |build| and |objects|.
static void api_build_make_request(const mlxcel_api_settings_t* settings, const mlxcel_api_build_t* build,
                                   mlxcel_artifact_object_t objects[MLXCEL_KERNEL_OBJECT_COUNT], mlxcel_artifact_request_t* out_request) {
  const mlxcel_emitted_model_t* emitted = &build->emitted;
  iree_string_view_t text = iree_make_string_view(emitted->mlir_text, emitted->mlir_size);
  mlxcel_named_object_t named[MLXCEL_KERNEL_OBJECT_COUNT];
  size_t object_count = mlxcel_kernel_objects_named(text, settings->level, named);
  for (size_t i = 0; i < object_count; ++i) {
    objects[i] = (mlxcel_artifact_object_t){.file_name = named[i].file_name, .data = named[i].bytes.data, .size = named[i].bytes.data_length};
  }
  *out_request = (mlxcel_artifact_request_t){
      .mlir_text = text,
      .contract_text = iree_make_cstring_view(emitted->contract_text),
      .contract_fingerprint = iree_make_cstring_view(emitted->fingerprint.text),
      .contract_version = emitted->contract_version,
      .profile = iree_make_cstring_view(settings->options.profile),
      .target = iree_make_cstring_view(mlxcel_kernel_target(settings->level)),
      .object_count = object_count,
      .objects = objects,
      .interface = &emitted->interface,
      .compiler_path = settings->options.compiler,
      .compiler_version = MLXCEL_COMPILER_VERSION,
      .compiler_revision = MLXCEL_COMPILER_REVISION,
  };
  out_request->flags = mlxcel_kernel_compile_flags(settings->level, &out_request->flag_count);
}

static iree_status_t api_build_obtain_emitted(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  const mlxcel_engine_options_t* options = &settings->options;
  mlxcel_artifact_object_t objects[MLXCEL_KERNEL_OBJECT_COUNT];
  mlxcel_artifact_request_t request;
  api_build_make_request(settings, build, objects, &request);
  const mlxcel_artifact_progress_t progress = {.notify = options->progress, .cancelled = options->cancelled, .user_data = options->user_data};
  IREE_RETURN_IF_ERROR(mlxcel_artifact_obtain(build->cache_root, &request, &progress, &build->artifact));
  build->has_artifact = true;
  return mlxcel_artifact_check_build(&build->artifact, &request, build->has_compiler ? &build->compiler_digest : NULL);
}

// Numbers of workers that a module may have been compiled for elsewhere, the likelier ones first. Each try costs an emission, some milliseconds.
static const uint32_t api_other_workers[] = {2, 4, 8, 1, 16, 6, 12, 3, 24, 32, 64};

// A module for another number of workers runs here too, with the same bits, only its work is cut less well.
static iree_status_t api_build_obtain_other(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  mlxcel_emitted_model_t wanted = build->emitted;
  for (size_t i = 0; i < IREE_ARRAYSIZE(api_other_workers); ++i) {
    if (api_other_workers[i] == build->workers) continue;
    iree_status_t status = api_build_emit_for(settings, build, api_other_workers[i], &build->emitted);
    if (iree_status_is_ok(status)) status = api_build_obtain_emitted(settings, build);
    if (iree_status_is_ok(status)) {
      mlxcel_emitted_model_deinitialize(&wanted);
      return status;
    }
    mlxcel_emitted_model_deinitialize(&build->emitted);
    build->emitted = wanted;
    if (!iree_status_is_not_found(status)) return status;
    iree_status_ignore(status);
  }
  return iree_status_from_code(IREE_STATUS_NOT_FOUND);
}

iree_status_t mlxcel_api_build_obtain(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  build->stage = "compile";
  iree_status_t status = api_build_obtain_emitted(settings, build);
  if (build->has_compiler || !iree_status_is_not_found(status)) return status;
  iree_status_t other = api_build_obtain_other(settings, build);
  if (iree_status_is_not_found(other)) {  // the message of the module that was asked for
    iree_status_ignore(other);
    return status;
  }
  iree_status_ignore(status);
  return other;
}

iree_status_t mlxcel_api_build_compile(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  IREE_RETURN_IF_ERROR(mlxcel_api_build_emit(settings, build));
  return mlxcel_api_build_obtain(settings, build);
}

void mlxcel_api_build_deinitialize(mlxcel_api_build_t* build) {
  if (build->has_artifact) mlxcel_artifact_deinitialize(&build->artifact);
  if (build->has_emitted) mlxcel_emitted_model_deinitialize(&build->emitted);
  mlxcel_checkpoint_close(build->checkpoint);
  free(build->default_root);
  memset(build, 0, sizeof(*build));
}
