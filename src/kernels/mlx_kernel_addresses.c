// Makes the hidden kernels of kernels/mlx reachable from a shared object, for the comparison with MLX itself (tests/python/test_mlx_kernels.py).
#include <string.h>

#include "kernels/host/host_kernels.h"

#define DECLARE_KERNEL(name, arguments) extern void name(arguments);
MLXCEL_MLX_KERNELS(DECLARE_KERNEL)

typedef void (*kernel_fn_t)(void);  // called with the kernel's own arguments only
kernel_fn_t mlxcel_test_kernel_address(const char* symbol);

kernel_fn_t mlxcel_test_kernel_address(const char* symbol) {
#define KERNEL_ROW(name, arguments) {#name, (kernel_fn_t)name},
  static const struct {
    const char* symbol;
    kernel_fn_t address;
  } kernels[] = {MLXCEL_MLX_KERNELS(KERNEL_ROW) MLXCEL_HOST_KERNELS(KERNEL_ROW)};
  for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); ++i) {
    if (strcmp(kernels[i].symbol, symbol) == 0) return kernels[i].address;
  }
  return NULL;
}
