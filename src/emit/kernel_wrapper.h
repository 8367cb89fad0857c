// kernel_wrapper.h: the executables that hold the kernels, one a kernel object that a module uses, with one export for each kernel.
//
// An export takes the workgroup count as its workload. Its function turns every binding into a base pointer and an offset in elements (bytes for byte kinds);
// the memref's layout must say "offset: ?", otherwise the offset is folded to zero and the kernel silently works on the wrong place. Kernels of an embedded
// object are linked into the executable; those of the host have no object and become run-time imports, which the runtime's plugin resolves by symbol.
#ifndef MLXCEL_EMIT_KERNEL_WRAPPER_H_
#define MLXCEL_EMIT_KERNEL_WRAPPER_H_

#include "base/strbuf.h"
#include "kernels/kernel_table.h"

// "matmul" of "mlxcel_mlx_matmul": exports are named without the family. Points into the symbol.
const char* mlxcel_kernel_export_name(const mlxcel_kernel_info_t* kernel);

void mlxcel_kernel_wrappers_write(const bool used[MLXCEL_KERNEL_COUNT], mlxcel_strbuf_t* text);

#endif  // MLXCEL_EMIT_KERNEL_WRAPPER_H_
