#include "runtime/parameters.h"

#include <string.h>

#include "iree/io/parameter_index.h"
#include "iree/io/parameter_index_provider.h"
#include "iree/modules/io/parameters/module.h"

#define ZERO_COPY_ALIGNMENT 64  // IREE_HAL_HEAP_BUFFER_ALIGNMENT: below it IREE copies without a word

// The tensor that |parameter| means, if it is what the module was compiled for.
static iree_status_t find_tensor(const mlxcel_program_parameter_t* parameter, const mlxcel_checkpoint_t* checkpoint, const mlxcel_tensor_t** out_tensor) {
  *out_tensor = mlxcel_checkpoint_find(checkpoint, iree_make_cstring_view(parameter->key));
  if (!*out_tensor) {
    return iree_make_status(IREE_STATUS_NOT_FOUND,
                            "the module needs tensor %s, which %s lacks; the artifact was made for another checkpoint: remove it from the cache",
                            parameter->key, mlxcel_checkpoint_folder(checkpoint));
  }
  const char* dtype = mlxcel_tensor_dtype_name((*out_tensor)->dtype);
  if (strcmp(dtype, parameter->dtype) != 0 || (*out_tensor)->byte_count != parameter->byte_count) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "tensor %s is %s with %" PRIu64 " bytes, the module was compiled for %s with %" PRIu64
                            "; the artifact was made for another checkpoint: remove it from the cache",
                            parameter->key, dtype, (*out_tensor)->byte_count, parameter->dtype, parameter->byte_count);
  }
  return iree_ok_status();
}

static iree_status_t add_tensor(const mlxcel_device_t* device, const mlxcel_tensor_t* tensor, iree_io_parameter_index_t* index) {
  iree_io_file_handle_t* handle = NULL;
  // Read-only by the access bits; the span's type has no const form.
  iree_byte_span_t bytes = iree_make_byte_span((void*)(uintptr_t)tensor->data, (iree_host_size_t)tensor->byte_count);
  IREE_RETURN_IF_ERROR(
      iree_io_file_handle_wrap_host_allocation(IREE_IO_FILE_ACCESS_READ, bytes, iree_io_file_handle_release_callback_null(), device->allocator, &handle));
  iree_io_parameter_index_entry_t entry = {
      .key = tensor->name,
      .length = tensor->byte_count,
      .type = IREE_IO_PARAMETER_INDEX_ENTRY_STORAGE_TYPE_FILE,
      .storage = {.file = {.handle = handle, .offset = 0}},
  };
  iree_status_t status = iree_io_parameter_index_add(index, &entry);
  iree_io_file_handle_release(handle);
  return status;
}

static iree_status_t fill_index(const mlxcel_device_t* device, const mlxcel_program_interface_t* interface, const mlxcel_checkpoint_t* checkpoint,
                                uint64_t* out_copied_bytes, iree_io_parameter_index_t* index) {
  for (size_t i = 0; i < interface->parameter_count; ++i) {
    const mlxcel_tensor_t* tensor = NULL;
    IREE_RETURN_IF_ERROR(find_tensor(&interface->parameters[i], checkpoint, &tensor));
    IREE_RETURN_IF_ERROR(add_tensor(device, tensor, index));
    if ((uintptr_t)tensor->data % ZERO_COPY_ALIGNMENT != 0) *out_copied_bytes += tensor->byte_count;
  }
  return iree_ok_status();
}

iree_status_t mlxcel_parameters_module_create(mlxcel_device_t* device, const mlxcel_program_interface_t* interface, const mlxcel_checkpoint_t* checkpoint,
                                              uint64_t* out_copied_bytes, iree_vm_module_t** out_module) {
  *out_copied_bytes = 0;
  *out_module = NULL;
  iree_io_parameter_index_t* index = NULL;
  iree_io_parameter_provider_t* provider = NULL;
  IREE_RETURN_IF_ERROR(iree_io_parameter_index_create(device->allocator, &index));
  iree_status_t status = fill_index(device, interface, checkpoint, out_copied_bytes, index);
  if (iree_status_is_ok(status)) {
    status = iree_io_parameter_index_provider_create(iree_make_cstring_view(interface->parameter_scope), index,
                                                     IREE_IO_PARAMETER_INDEX_PROVIDER_DEFAULT_MAX_CONCURRENT_OPERATIONS, device->allocator, &provider);
  }
  if (iree_status_is_ok(status)) status = iree_io_parameters_module_create(device->instance, 1, &provider, device->allocator, out_module);
  iree_io_parameter_provider_release(provider);
  iree_io_parameter_index_release(index);
  return status;
}
