// kernel_objects.h: the compiled pinned kernels inside this program, one object file an x86-64 level, and the compile flags that go with them.
#ifndef MLXCEL_KERNELS_KERNEL_OBJECTS_H_
#define MLXCEL_KERNELS_KERNEL_OBJECTS_H_

#include "base/base.h"

typedef enum mlxcel_kernel_level_e { MLXCEL_KERNEL_LEVEL_V3, MLXCEL_KERNEL_LEVEL_V4, MLXCEL_KERNEL_LEVEL_COUNT } mlxcel_kernel_level_t;

const char* mlxcel_kernel_level_name(mlxcel_kernel_level_t level);  // "v3", "v4"
bool mlxcel_kernel_level_runs_here(mlxcel_kernel_level_t level);
// "" = the highest that this processor runs; a level that it doesn't run, or an unknown name, is an error that lists what is possible.
iree_status_t mlxcel_kernel_level_select(iree_string_view_t requested, mlxcel_kernel_level_t* out_level);

// The object's bytes (in this program's read-only data).
iree_const_byte_span_t mlxcel_kernel_object_bytes(mlxcel_kernel_level_t level);
// Those of kernels/mlx: one build, for x86-64-v3, for every level.
iree_const_byte_span_t mlxcel_kernel_mlx_object_bytes(void);
// "llvm-cpu x86-64-v3".
const char* mlxcel_kernel_target(mlxcel_kernel_level_t level);
// Flags of iree-compile for a module that runs on this level: reproducible arithmetic, see docs/internals/compile-flags.md.
const char* const* mlxcel_kernel_compile_flags(mlxcel_kernel_level_t level, size_t* out_count);

#endif  // MLXCEL_KERNELS_KERNEL_OBJECTS_H_
