// host_imports.h: functions of this process that a module's kernels may call: the run-time imports of its executables. For the runtime's own sources.
#ifndef MLXCEL_RUNTIME_HOST_IMPORTS_H_
#define MLXCEL_RUNTIME_HOST_IMPORTS_H_

#include "iree/hal/local/executable_loader.h"
#include "kernels/host/host_kernels.h"

// The function behind a name, NULL if there is none.
typedef mlxcel_host_kernel_fn_t (*mlxcel_host_kernel_find_fn_t)(const char* symbol);

typedef struct mlxcel_host_imports_t {
  mlxcel_host_kernel_find_fn_t find;
  char missing[256];  // names that the last load asked for in vain, separated by ", " (cut if they are more); "" if none. Guarded by the lock of loading.
} mlxcel_host_imports_t;

// Serves |imports|, which must outlive every loader that has the provider. What isn't found is logged by name, because IREE's own error doesn't say it.
iree_hal_executable_import_provider_t mlxcel_host_imports_provider(mlxcel_host_imports_t* imports);

#endif  // MLXCEL_RUNTIME_HOST_IMPORTS_H_
