#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_error.h"
#include "base/json.h"
#include "base/log.h"
#include "build_identity.h"
#include "checkpoint/gguf_import.h"
#include "runtime/runtime.h"

const char* mlxcel_version_text(void) {
  return "mlxcel " MLXCEL_VERSION "\nruntime: " MLXCEL_RUNTIME_CRATE ", sources SHA-256 " MLXCEL_RUNTIME_DIGEST "\ncompiler: " MLXCEL_COMPILER_PIN
         "\nC compiler: " MLXCEL_C_COMPILER;
}

void mlxcel_import_options_initialize(mlxcel_import_options_t* out_options) {
  memset(out_options, 0, sizeof(*out_options));
  out_options->size = sizeof(*out_options);
}

mlxcel_error_t* mlxcel_import_gguf(const char* gguf_path, const char* out_folder, const mlxcel_import_options_t* options) {
  mlxcel_gguf_import_options_t import_options;
  mlxcel_gguf_import_options_initialize(&import_options);
  if (options && options->size != sizeof(*options)) {
    return mlxcel_api_error(
        "options",
        iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the import options have size %zu, this library's have %zu; start from mlxcel_import_options_initialize",
                         options->size, sizeof(*options)));
  }
  if (options) {
    import_options.overwrite = options->overwrite;
    import_options.progress = options->progress;
    import_options.is_cancelled = options->cancelled;
    import_options.user_data = options->user_data;
  }
  return mlxcel_api_error("import", mlxcel_gguf_import(gguf_path, out_folder, &import_options));
}

// Names that a user may try; what this build and machine can do with each is asked of the runtime.
static const char* const api_device_names[] = {"local-task", "local-sync", "hip", "cuda", "metal"};

// Opens the device with as little as possible; the detail says what it is or why it can't be used.
static iree_status_t api_device_describe(const char* name, json_t** out_entry) {
  const mlxcel_device_options_t options = {.name = iree_make_cstring_view(name)};
  mlxcel_device_t* device = NULL;
  iree_status_t status = mlxcel_device_open(&options, &device);
  bool is_available = iree_status_is_ok(status);
  char detail[1024];
  if (is_available) {
    snprintf(detail, sizeof(detail), "%u worker threads by default", mlxcel_device_thread_count(device));
    mlxcel_device_close(device);
  } else {
    mlxcel_status_text(status, detail, sizeof(detail));
    iree_status_ignore(status);
  }
  *out_entry = json_pack("{s:s, s:b, s:s}", "name", name, "available", (int)is_available, "detail", detail);
  return *out_entry ? iree_ok_status() : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the list of devices; free some memory");
}

static iree_status_t api_devices_fill(json_t* list) {
  for (size_t i = 0; i < sizeof(api_device_names) / sizeof(api_device_names[0]); ++i) {
    json_t* entry = NULL;
    IREE_RETURN_IF_ERROR(api_device_describe(api_device_names[i], &entry));
    if (json_array_append_new(list, entry) != 0)
      return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the list of devices; free some memory");
  }
  return iree_ok_status();
}

mlxcel_error_t* mlxcel_devices(char** out_json) {
  *out_json = NULL;
  json_t* list = json_array();
  iree_status_t status = list ? api_devices_fill(list) : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the list of devices");
  if (iree_status_is_ok(status)) status = mlxcel_json_write(list, false, out_json);
  json_decref(list);
  return mlxcel_api_error("device", status);
}
