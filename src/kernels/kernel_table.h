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
  MLXCEL_KERNEL_COUNT,
} mlxcel_kernel_id_t;

// Argument kinds, one character each, in the order of the C function (kernel_abi.h), which gets workgroup id and count behind them:
//   f i b  read-only buffer of f32, i32, bytes      t  f32 buffer updated in place      o  f32 result buffer      n  i32      e  f32
typedef struct mlxcel_kernel_info_t {
  const char* symbol;
  const char* arguments;
} mlxcel_kernel_info_t;

const mlxcel_kernel_info_t* mlxcel_kernel_info(mlxcel_kernel_id_t id);
// SHA-256 over the kernels' source files, as hex: part of every clause that names a pinned kernel.
const char* mlxcel_kernel_source_digest(void);
// File name under which the emitted text refers to the object.
#define MLXCEL_KERNEL_OBJECT_FILE "pinned_f32.o"

#endif  // MLXCEL_KERNELS_KERNEL_TABLE_H_
