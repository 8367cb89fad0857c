// host_buffer.h: page-aligned anonymous host memory that a local device uses in place. Pages are zero and take memory only when touched, so a large context
// costs what is used of it. For the runtime's own sources.
#ifndef MLXCEL_RUNTIME_HOST_BUFFER_H_
#define MLXCEL_RUNTIME_HOST_BUFFER_H_

#include "runtime/device.h"

typedef struct mlxcel_host_buffer_t {
  void* data;
  size_t size;
  iree_hal_buffer_t* buffer;  // imported, not copied
} mlxcel_host_buffer_t;

iree_status_t mlxcel_host_buffer_create(mlxcel_device_t* device, uint64_t size, mlxcel_host_buffer_t* out_buffer);
void mlxcel_host_buffer_destroy(mlxcel_host_buffer_t* buffer);
// A view of the buffer's beginning with this shape.
iree_status_t mlxcel_host_buffer_view(const mlxcel_device_t* device, const mlxcel_host_buffer_t* buffer, iree_hal_element_type_t type, uint32_t rank,
                                      const iree_hal_dim_t* shape, iree_hal_buffer_view_t** out_view);

#endif  // MLXCEL_RUNTIME_HOST_BUFFER_H_
