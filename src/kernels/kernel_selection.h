// kernel_selection.h: which kernel objects a module's text asks for.
#ifndef MLXCEL_KERNELS_KERNEL_SELECTION_H_
#define MLXCEL_KERNELS_KERNEL_SELECTION_H_

#include "kernels/kernel_objects.h"
#include "kernels/kernel_table.h"

typedef struct mlxcel_named_object_t {
  const char* file_name;  // as the text names it
  iree_const_byte_span_t bytes;
} mlxcel_named_object_t;

// The objects whose file names occur in |module_text|, built for |level|. Returns how many.
size_t mlxcel_kernel_objects_named(iree_string_view_t module_text, mlxcel_kernel_level_t level, mlxcel_named_object_t out_objects[MLXCEL_KERNEL_OBJECT_COUNT]);

#endif  // MLXCEL_KERNELS_KERNEL_SELECTION_H_
