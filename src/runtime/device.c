#include "runtime/device.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "iree/hal/drivers/local_sync/sync_device.h"
#include "iree/hal/drivers/local_task/task_device.h"
#include "iree/hal/local/executable_plugin_manager.h"
#include "iree/hal/local/loaders/embedded_elf_loader.h"
#include "iree/modules/hal/module.h"
#include "iree/task/executor.h"
#include "iree/task/topology.h"
#include "runtime/dispatch_profile.h"

// The kernels keep accumulators and unpacked weights on a worker's stack: below 450 KiB (kernels/cpu/dot.h, pinned_f32.c), with the caller's frames.
#define WORKER_STACK_BYTES (1024 * 1024)

// Processors that this process may run on, not those of the machine.
static uint32_t usable_processor_count(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count < 1 ? 1 : count > (int)MLXCEL_THREADS_MAX ? MLXCEL_THREADS_MAX : (uint32_t)count;
}

static iree_status_t create_loader(mlxcel_device_t* device, iree_hal_executable_loader_t** out_loader) {
  iree_hal_executable_plugin_manager_t* plugins = NULL;
  IREE_RETURN_IF_ERROR(iree_hal_executable_plugin_manager_create(/*capacity=*/1, device->allocator, &plugins));
  iree_status_t status = iree_hal_executable_plugin_manager_register_provider(plugins, mlxcel_host_imports_provider(&device->imports));
  if (iree_status_is_ok(status)) status = iree_hal_embedded_elf_loader_create(plugins, device->allocator, out_loader);
  iree_hal_executable_plugin_manager_release(plugins);
  return status;
}

static iree_status_t create_task_device(mlxcel_device_t* device, iree_hal_executable_loader_t* loader, iree_hal_allocator_t* heap,
                                        const iree_hal_device_create_params_t* create_params) {
  iree_task_topology_t topology;
  iree_task_topology_initialize_from_group_count(device->thread_count, &topology);
  iree_task_executor_options_t options;
  iree_task_executor_options_initialize(&options);
  options.worker_stack_size = WORKER_STACK_BYTES;
  iree_task_executor_t* executor = NULL;
  iree_status_t status = iree_task_executor_create(options, &topology, device->allocator, &executor);
  iree_task_topology_deinitialize(&topology);
  if (!iree_status_is_ok(status)) return status;
  iree_hal_task_device_params_t params;
  iree_hal_task_device_params_initialize(&params);
  status = iree_hal_task_device_create(IREE_SV("local-task"), &params, 1, &executor, 1, &loader, heap, create_params, device->allocator, &device->hal_device);
  iree_task_executor_release(executor);
  return status;
}

static iree_status_t create_local_device(mlxcel_device_t* device, bool is_task) {
  iree_hal_executable_loader_t* loader = NULL;
  iree_hal_allocator_t* heap = NULL;
  iree_status_t status = create_loader(device, &loader);
  if (iree_status_is_ok(status)) status = iree_hal_allocator_create_heap(IREE_SV("local"), device->allocator, device->allocator, &heap);
  iree_hal_device_create_params_t create_params = iree_hal_device_create_params_default();
  create_params.proactor_pool = device->proactor_pool;
  if (iree_status_is_ok(status) && is_task) status = create_task_device(device, loader, heap, &create_params);
  if (iree_status_is_ok(status) && !is_task) {
    iree_hal_sync_device_params_t params;
    iree_hal_sync_device_params_initialize(&params);
    status = iree_hal_sync_device_create(IREE_SV("local-sync"), &params, &create_params, 1, &loader, heap, device->allocator, &device->hal_device);
  }
  iree_hal_allocator_release(heap);
  iree_hal_executable_loader_release(loader);
  return status;
}

// IREE keeps its HAL types in process-wide variables that registering them sets to zero for a moment: doing it a second time breaks every call that runs
// meanwhile. So the process has one instance, made once and kept.
static pthread_mutex_t instance_mutex = PTHREAD_MUTEX_INITIALIZER;
static iree_vm_instance_t* shared_instance;

static iree_status_t create_shared_instance(iree_allocator_t allocator) {
  iree_vm_instance_t* instance = NULL;
  IREE_RETURN_IF_ERROR(iree_vm_instance_create(IREE_VM_TYPE_CAPACITY_DEFAULT, allocator, &instance));
  iree_status_t status = iree_hal_module_register_all_types(instance);
  if (iree_status_is_ok(status)) {
    shared_instance = instance;
  } else {
    iree_vm_instance_release(instance);
  }
  return status;
}

static iree_status_t retain_shared_instance(iree_allocator_t allocator, iree_vm_instance_t** out_instance) {
  pthread_mutex_lock(&instance_mutex);
  iree_status_t status = shared_instance ? iree_ok_status() : create_shared_instance(allocator);
  if (iree_status_is_ok(status)) {
    iree_vm_instance_retain(shared_instance);
    *out_instance = shared_instance;
  }
  pthread_mutex_unlock(&instance_mutex);
  return status;
}

static iree_status_t initialize_device(mlxcel_device_t* device, bool is_task) {
  IREE_RETURN_IF_ERROR(retain_shared_instance(device->allocator, &device->instance));
  IREE_RETURN_IF_ERROR(iree_async_proactor_pool_create(1, NULL, iree_async_proactor_pool_options_default(), device->allocator, &device->proactor_pool));
  IREE_RETURN_IF_ERROR(create_local_device(device, is_task));
  IREE_RETURN_IF_ERROR(iree_async_frontier_tracker_create(iree_async_frontier_tracker_options_default(), device->allocator, &device->frontier_tracker));
  return iree_hal_device_group_create_from_device(device->hal_device, device->frontier_tracker, device->allocator, &device->group);
}

iree_status_t mlxcel_device_check_name(iree_string_view_t name) {
  if (iree_string_view_equal(name, IREE_SV("local-task")) || iree_string_view_equal(name, IREE_SV("local-sync"))) return iree_ok_status();
  if (iree_string_view_equal(name, IREE_SV("metal"))) {
    return iree_make_status(IREE_STATUS_UNAVAILABLE, "device metal exists only in macOS builds; use local-task or local-sync");
  }
  if (iree_string_view_equal(name, IREE_SV("cuda")) || iree_string_view_equal(name, IREE_SV("hip"))) {
    return iree_make_status(IREE_STATUS_UNAVAILABLE, "device %.*s has no qualified profile in this version; use local-task or local-sync", MLXCEL_SV(name));
  }
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "unknown device '%.*s'; valid are local-task, local-sync, cuda, hip, metal", MLXCEL_SV(name));
}

static bool is_task_device(iree_string_view_t name) { return iree_string_view_equal(name, IREE_SV("local-task")); }

uint32_t mlxcel_device_thread_count_for(const mlxcel_device_options_t* options) {
  if (!is_task_device(options->name)) return 1;
  return options->thread_count ? options->thread_count : usable_processor_count();
}

iree_status_t mlxcel_device_open(const mlxcel_device_options_t* options, mlxcel_device_t** out_device) {
  return mlxcel_device_open_with_imports(options, mlxcel_host_kernel_find, out_device);
}

iree_status_t mlxcel_device_open_with_imports(const mlxcel_device_options_t* options, mlxcel_host_kernel_find_fn_t find, mlxcel_device_t** out_device) {
  *out_device = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_device_check_name(options->name));
  if (options->thread_count > MLXCEL_THREADS_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%u threads are over the limit of %u; use fewer", options->thread_count, MLXCEL_THREADS_MAX);
  }
  iree_allocator_t allocator = iree_allocator_system();
  mlxcel_device_t* device = NULL;
  IREE_RETURN_IF_ERROR(iree_allocator_malloc(allocator, sizeof(*device), (void**)&device));
  memset(device, 0, sizeof(*device));
  device->allocator = allocator;
  device->imports.find = find;
  bool is_task = is_task_device(options->name);
  if (!is_task && options->thread_count > 1)
    mlxcel_log(MLXCEL_LOG_WARNING, "local-sync runs on the calling thread; %u threads need local-task", options->thread_count);
  device->thread_count = mlxcel_device_thread_count_for(options);
  iree_status_t status = initialize_device(device, is_task);
  if (iree_status_is_ok(status)) {
    *out_device = device;
  } else {
    mlxcel_device_close(device);
  }
  return status;
}

// A profile that nobody ended.
static void drop_profile(mlxcel_device_t* device) {
  if (!device->recorder) return;
  mlxcel_dispatch_profile_t profile;
  iree_status_ignore(mlxcel_dispatch_profile_end(device, &profile));
  mlxcel_dispatch_profile_deinitialize(&profile);
}

void mlxcel_device_close(mlxcel_device_t* device) {
  if (!device) return;
  drop_profile(device);
  iree_hal_device_group_release(device->group);
  iree_async_frontier_tracker_release(device->frontier_tracker);
  iree_hal_device_release(device->hal_device);
  iree_async_proactor_pool_release(device->proactor_pool);
  iree_vm_instance_release(device->instance);
  iree_allocator_free(device->allocator, device);
}

uint32_t mlxcel_device_thread_count(const mlxcel_device_t* device) { return device->thread_count; }
