#include "runtime/host_imports.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void note_missing(mlxcel_host_imports_t* imports, const char* symbol) {
  mlxcel_log(MLXCEL_LOG_ERROR, "a kernel of the module calls the host function %s, which this build doesn't have", symbol);
  size_t size = strlen(imports->missing);
  snprintf(imports->missing + size, sizeof(imports->missing) - size, "%s%s", size ? ", " : "", symbol);
}

// True unless a required function is missing.
static bool resolve_one(mlxcel_host_imports_t* imports, const char* symbol, void** out_function, iree_hal_executable_import_resolution_t* resolution) {
  if (*out_function) return true;
  bool is_optional = iree_hal_executable_import_is_optional(symbol);
  if (is_optional) ++symbol;  // behind the mark
  mlxcel_host_kernel_fn_t function = imports->find(symbol);
  *out_function = (void*)(uintptr_t)function;
  if (function) return true;
  if (!is_optional) note_missing(imports, symbol);
  *resolution |= is_optional ? IREE_HAL_EXECUTABLE_IMPORT_RESOLUTION_MISSING_OPTIONAL : 0u;
  return is_optional;
}

static iree_status_t resolve(void* self, iree_host_size_t count, const char* const* symbols, void** out_functions, void** out_contexts,
                             iree_hal_executable_import_resolution_t* out_resolution) {
  (void)out_contexts;  // zeroed by the caller; host kernels have none
  iree_hal_executable_import_resolution_t resolution = 0;
  bool is_complete = true;
  for (iree_host_size_t i = 0; i < count; ++i) is_complete &= resolve_one(self, symbols[i], &out_functions[i], &resolution);
  if (out_resolution) *out_resolution = resolution;
  return is_complete ? iree_ok_status() : iree_make_status(IREE_STATUS_NOT_FOUND, "a host function is missing");
}

iree_hal_executable_import_provider_t mlxcel_host_imports_provider(mlxcel_host_imports_t* imports) {
  return (iree_hal_executable_import_provider_t){.self = imports, .resolve = resolve};
}
