#include "kernels/host/host_kernels.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/mlx/mlx_number.h"

// MLX rounds the exponent to the dtype, as it does every scalar operand.
void mlxcel_host_unary(MLXCEL_HOST_UNARY_ARGS) {
  unsigned saved = kernel_enter();
  size_t begin, end;
  share((size_t)count, group, groups, &begin, &end);
  float exponent = round_to(scalar, type);
  for (size_t i = begin; i < end; ++i) {
    float value = load_typed(MLXCEL_AT(x), i, type);
    store_typed(MLXCEL_AT(out), i, type, function == MLXCEL_HOST_POWER ? powf(value, exponent) : tanhf(value));
  }
  kernel_leave(saved);
}

// The arguments as a compiled module lays them out: a structure of exactly the C parameters, each at its natural alignment.
typedef struct host_unary_parameters_t {
  const uint8_t* x_base;
  size_t x_offset;
  uint8_t* out_base;
  size_t out_offset;
  int32_t function, count, type;
  float scalar;
  size_t group, groups;
} host_unary_parameters_t;

_Static_assert(offsetof(host_unary_parameters_t, scalar) == 44 && sizeof(host_unary_parameters_t) == 64, "the layout that iree-compile writes");

static int host_unary_import(void* parameters, void* context, void* reserved) {
  (void)context;
  (void)reserved;
  host_unary_parameters_t p;
  memcpy(&p, parameters, sizeof(p));
  bool known = (p.function == MLXCEL_HOST_TANH || p.function == MLXCEL_HOST_POWER) && p.type >= MLXCEL_FORMAT_F32 && p.type <= MLXCEL_FORMAT_BF16;
  if (!known || p.count < 0 || p.groups == 0) return 1;
  mlxcel_host_unary(p.x_base, p.x_offset, p.out_base, p.out_offset, p.function, p.count, p.type, p.scalar, p.group, p.groups);
  return 0;
}

mlxcel_host_kernel_fn_t mlxcel_host_kernel_find(const char* symbol) { return strcmp(symbol, "mlxcel_host_unary") == 0 ? host_unary_import : NULL; }
