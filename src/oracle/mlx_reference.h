// mlx_reference.h: the MLX reference: a child process (mlxcel-mlx-reference, linked with libmlx) that computes operations with MLX's own functions on its CPU
// device.
//
// The process gets a private TMPDIR and an environment that states every switch that changes bits (MLX_ENABLE_TF32=0, MLX_DISABLE_COMPILE as asked). It lives
// as long as the handle; one request at a time. A crash, a hang (time limit) or a foreign MLX version is an error of that request, never of this process.
#ifndef MLXCEL_ORACLE_MLX_REFERENCE_H_
#define MLXCEL_ORACLE_MLX_REFERENCE_H_

#include "base/sha256.h"
#include "contract/operation.h"

typedef struct mlxcel_reference_identity_t {
  char version[64];                        // mlx::core::version(), "0.32.4"
  char build[64];                          // "mlx-cpu-0.32.4": what claims name
  char libmlx_build_id[48];                // ELF build id, hex; "" if there is none
  mlxcel_sha256_hex_t libmlx, blas, libm;  // digests of the files that the process really loaded
  char revision[64];                       // commit if the version carries one, else "release"
  char patch[64];                          // known local patch identity, else "none"
  char architecture[64];                   // device_info(cpu)
} mlxcel_reference_identity_t;

typedef struct mlxcel_reference_t mlxcel_reference_t;

typedef struct mlxcel_reference_options_t {
  const char* program;       // NULL: $MLXCEL_MLX_REFERENCE, else the one this build made
  bool disable_compile;      // MLX_DISABLE_COMPILE=1 (MLX's fused graphs off); default false
  uint32_t timeout_seconds;  // of a request; 0 = 300
} mlxcel_reference_options_t;

// UNAVAILABLE: there is no such program, or its libraries are missing (the message says what to install).
iree_status_t mlxcel_reference_open(const mlxcel_reference_options_t* options, mlxcel_reference_t** out_reference);
void mlxcel_reference_close(mlxcel_reference_t* reference);
const mlxcel_reference_identity_t* mlxcel_reference_identity(const mlxcel_reference_t* reference);

// Computes |operation| over its operands (order and layouts of contract/operation.h, rope without tables; qkv-rope with its full list, tables and caches
// unused). The result is freed by the caller. UNIMPLEMENTED: MLX has no such operation, with the reason.
iree_status_t mlxcel_reference_compute(mlxcel_reference_t* reference, const mlxcel_operation_t* operation, size_t operand_count,
                                       const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* out_result);

#endif  // MLXCEL_ORACLE_MLX_REFERENCE_H_
