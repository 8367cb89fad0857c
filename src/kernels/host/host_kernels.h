// host_kernels.h: kernels that run in this process because their bits are those of the host's libm (tanhf, powf). A module reaches them as run-time imports;
// the runtime's static plugin resolves the names through mlxcel_host_kernel_find.
#ifndef MLXCEL_KERNELS_HOST_HOST_KERNELS_H_
#define MLXCEL_KERNELS_HOST_HOST_KERNELS_H_

#include "kernels/mlx_abi.h"

// IREE's import convention: |parameters| points to the arguments in order (pointer, offset pairs for buffers); returns 0 on success.
typedef int (*mlxcel_host_kernel_fn_t)(void* parameters, void* context, void* reserved);
// NULL if there is none of this name.
mlxcel_host_kernel_fn_t mlxcel_host_kernel_find(const char* symbol);

// The computation itself, for tests.
void mlxcel_host_unary(MLXCEL_HOST_UNARY_ARGS);

#endif  // MLXCEL_KERNELS_HOST_HOST_KERNELS_H_
