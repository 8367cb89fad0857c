// kernel_table.h: the pinned kernels as data: symbol, argument kinds, source digest. The emitter writes calls from it, tests enumerate it.
#ifndef MLXCEL_KERNELS_KERNEL_TABLE_H_
#define MLXCEL_KERNELS_KERNEL_TABLE_H_

#include "base/base.h"

typedef enum mlxcel_kernel_id_e {
  MLXCEL_KERNEL_EMBED,
  MLXCEL_KERNEL_RMS_NORM,
  MLXCEL_KERNEL_QKV_ROPE,
  MLXCEL_KERNEL_ATTENTION,
  MLXCEL_KERNEL_MATMUL,
  MLXCEL_KERNEL_GATE_UP,
  MLXCEL_KERNEL_MLX_EMBED,  // profile mlx-cpu-0.32.4 from here on (mlx_abi.h)
  MLXCEL_KERNEL_MLX_MATMUL,
  MLXCEL_KERNEL_MLX_RMS_NORM,
  MLXCEL_KERNEL_MLX_LAYER_NORM,
  MLXCEL_KERNEL_MLX_ELEMENTWISE,
  MLXCEL_KERNEL_MLX_SOFTMAX,
  MLXCEL_KERNEL_MLX_ROPE,
  MLXCEL_KERNEL_MLX_KV_STORE,
  MLXCEL_KERNEL_MLX_ATTENTION,
  MLXCEL_KERNEL_MLX_SCAN,
  MLXCEL_KERNEL_MLX_ROW_SUM,
  MLXCEL_KERNEL_MLX_CONVOLUTION,
  MLXCEL_KERNEL_HOST_UNARY,
  MLXCEL_KERNEL_COUNT,
} mlxcel_kernel_id_t;

// Where a kernel's code is.
typedef enum mlxcel_kernel_object_e {
  MLXCEL_KERNEL_OBJECT_PINNED,  // kernels/cpu, one build a CPU level
  MLXCEL_KERNEL_OBJECT_MLX,     // kernels/mlx, one build for all levels
  MLXCEL_KERNEL_OBJECT_HOST,    // kernels/host, in this process: a run-time import of the module
  MLXCEL_KERNEL_OBJECT_COUNT,
} mlxcel_kernel_object_t;
// File name under which the emitted text refers to the object: "pinned_f32.o", "mlx_cpu.o"; NULL for the host's.
const char* mlxcel_kernel_object_file(mlxcel_kernel_object_t object);
// Name of the executable that holds its kernels in an emitted module: "kernels", "mlx_kernels", "host_kernels".
const char* mlxcel_kernel_executable(mlxcel_kernel_object_t object);
// SHA-256 over the object's source files, as hex: part of every clause that names one of its kernels.
const char* mlxcel_kernel_object_source_digest(mlxcel_kernel_object_t object);

// Argument kinds, one character each, in the order of the C function (kernel_abi.h, mlx_abi.h), which gets workgroup id and count behind them:
//   f i b  read-only buffer of f32, i32, bytes      t T  f32 buffer, bytes updated in place      o B  result buffer of f32, bytes      n  i32      e  f32
// Byte kinds take tensors of any dtype; their offsets count bytes.
typedef struct mlxcel_kernel_info_t {
  const char* symbol;  // "mlxcel_pinned_", "mlxcel_mlx_" or "mlxcel_host_" and a name; exports are named without "mlxcel_" and the family
  const char* arguments;
  mlxcel_kernel_object_t object;
} mlxcel_kernel_info_t;

const mlxcel_kernel_info_t* mlxcel_kernel_info(mlxcel_kernel_id_t id);
// NULL if no kernel has this symbol.
const mlxcel_kernel_info_t* mlxcel_kernel_find(const char* symbol);
// The source digest of MLXCEL_KERNEL_OBJECT_PINNED.
const char* mlxcel_kernel_source_digest(void);
#define MLXCEL_KERNEL_OBJECT_FILE "pinned_f32.o"
#define MLXCEL_KERNEL_MLX_OBJECT_FILE "mlx_cpu.o"

#endif  // MLXCEL_KERNELS_KERNEL_TABLE_H_
