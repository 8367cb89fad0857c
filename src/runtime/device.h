// device.h: inside of mlxcel_device_t, for the runtime's own sources.
#ifndef MLXCEL_RUNTIME_DEVICE_H_
#define MLXCEL_RUNTIME_DEVICE_H_

#include "iree/async/frontier_tracker.h"
#include "iree/async/util/proactor_pool.h"
#include "iree/hal/api.h"
#include "iree/vm/api.h"
#include "runtime/host_imports.h"
#include "runtime/runtime.h"

struct mlxcel_device_t {
  iree_allocator_t allocator;
  iree_vm_instance_t* instance;
  iree_async_proactor_pool_t* proactor_pool;
  iree_async_frontier_tracker_t* frontier_tracker;
  iree_hal_device_t* hal_device;
  iree_hal_device_group_t* group;
  uint32_t thread_count;
  mlxcel_host_imports_t imports;                // of every module on this device
  struct mlxcel_dispatch_recorder_t* recorder;  // NULL: no profile is open (dispatch_profile.h)
};

// As mlxcel_device_open, with other functions behind the names that kernels import; for tests.
iree_status_t mlxcel_device_open_with_imports(const mlxcel_device_options_t* options, mlxcel_host_kernel_find_fn_t find, mlxcel_device_t** out_device);

#endif  // MLXCEL_RUNTIME_DEVICE_H_
