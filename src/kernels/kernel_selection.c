#include "kernels/kernel_selection.h"

#include <string.h>

size_t mlxcel_kernel_objects_named(iree_string_view_t module_text, mlxcel_kernel_level_t level, mlxcel_named_object_t out_objects[MLXCEL_KERNEL_OBJECT_COUNT]) {
  size_t count = 0;
  for (int i = 0; i < MLXCEL_KERNEL_OBJECT_COUNT; ++i) {
    const char* name = mlxcel_kernel_object_file((mlxcel_kernel_object_t)i);
    if (!name || !memmem(module_text.data, module_text.size, name, strlen(name))) continue;
    iree_const_byte_span_t bytes = i == MLXCEL_KERNEL_OBJECT_PINNED ? mlxcel_kernel_object_bytes(level) : mlxcel_kernel_mlx_object_bytes();
    out_objects[count++] = (mlxcel_named_object_t){.file_name = name, .bytes = bytes};
  }
  return count;
}
