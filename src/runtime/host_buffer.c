#include "runtime/host_buffer.h"

#include <string.h>
#include <sys/mman.h>

iree_status_t mlxcel_host_buffer_create(mlxcel_device_t* device, uint64_t size, mlxcel_host_buffer_t* out_buffer) {
  memset(out_buffer, 0, sizeof(*out_buffer));
  if (size == 0 || size > SIZE_MAX / 2)
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "a buffer of %" PRIu64 " bytes can't be made; use a smaller context", size);
  void* data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "no address space for %" PRIu64 " bytes; use a smaller context or fewer slots", size);
  }
  // Each layer and head has its own stretch of the cache: huge pages would make the first token of each cost 2 MiB.
  (void)madvise(data, (size_t)size, MADV_NOHUGEPAGE);
  out_buffer->data = data;
  out_buffer->size = (size_t)size;
  iree_hal_external_buffer_t external;
  memset(&external, 0, sizeof(external));
  external.type = IREE_HAL_EXTERNAL_BUFFER_TYPE_HOST_ALLOCATION;
  external.size = size;
  external.handle.host_allocation.ptr = data;
  iree_hal_buffer_params_t params = {
      .usage = IREE_HAL_BUFFER_USAGE_DEFAULT | IREE_HAL_BUFFER_USAGE_MAPPING,
      .access = IREE_HAL_MEMORY_ACCESS_ALL,
      .type = IREE_HAL_MEMORY_TYPE_HOST_LOCAL | IREE_HAL_MEMORY_TYPE_DEVICE_VISIBLE,
  };
  iree_status_t status = iree_hal_allocator_import_buffer(iree_hal_device_allocator(device->hal_device), params, &external,
                                                          iree_hal_buffer_release_callback_null(), &out_buffer->buffer);
  if (!iree_status_is_ok(status)) mlxcel_host_buffer_destroy(out_buffer);
  return status;
}

void mlxcel_host_buffer_destroy(mlxcel_host_buffer_t* buffer) {
  iree_hal_buffer_release(buffer->buffer);
  if (buffer->data) munmap(buffer->data, buffer->size);
  memset(buffer, 0, sizeof(*buffer));
}

iree_status_t mlxcel_host_buffer_view(const mlxcel_device_t* device, const mlxcel_host_buffer_t* buffer, iree_hal_element_type_t type, uint32_t rank,
                                      const iree_hal_dim_t* shape, iree_hal_buffer_view_t** out_view) {
  return iree_hal_buffer_view_create(buffer->buffer, rank, shape, type, IREE_HAL_ENCODING_TYPE_DENSE_ROW_MAJOR, device->allocator, out_view);
}
