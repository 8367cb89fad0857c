// kernel_wrapper.h: the executable that holds the pinned kernels' objects, with one export for each kernel that a module uses.
//
// An export takes the workgroup count as its workload. Its function turns every binding into a base pointer and an offset in elements; the memref's layout must
// say "offset: ?", otherwise the offset is folded to zero and the kernel silently works on the wrong place.
#ifndef MLXCEL_EMIT_KERNEL_WRAPPER_H_
#define MLXCEL_EMIT_KERNEL_WRAPPER_H_

#include "base/strbuf.h"
#include "kernels/kernel_table.h"

#define MLXCEL_KERNEL_EXECUTABLE "kernels"
#define MLXCEL_KERNEL_PREFIX_SIZE 14  // strlen("mlxcel_pinned_"): exports are named without it

void mlxcel_kernel_wrappers_write(const bool used[MLXCEL_KERNEL_COUNT], mlxcel_strbuf_t* text);

#endif  // MLXCEL_EMIT_KERNEL_WRAPPER_H_
