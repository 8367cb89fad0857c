// tensor_dtype.h: element types of safetensors files.
#ifndef MLXCEL_CHECKPOINT_TENSOR_DTYPE_H_
#define MLXCEL_CHECKPOINT_TENSOR_DTYPE_H_

#include "base/base.h"

typedef enum mlxcel_tensor_dtype_e {
  MLXCEL_TENSOR_DTYPE_F64,
  MLXCEL_TENSOR_DTYPE_F32,
  MLXCEL_TENSOR_DTYPE_F16,
  MLXCEL_TENSOR_DTYPE_BF16,
  MLXCEL_TENSOR_DTYPE_I64,
  MLXCEL_TENSOR_DTYPE_I32,
  MLXCEL_TENSOR_DTYPE_I16,
  MLXCEL_TENSOR_DTYPE_I8,
  MLXCEL_TENSOR_DTYPE_U64,
  MLXCEL_TENSOR_DTYPE_U32,
  MLXCEL_TENSOR_DTYPE_U16,
  MLXCEL_TENSOR_DTYPE_U8,
  MLXCEL_TENSOR_DTYPE_BOOL,
  MLXCEL_TENSOR_DTYPE_COUNT,
} mlxcel_tensor_dtype_t;

// The safetensors name ("F32", "BF16", ...).
const char* mlxcel_tensor_dtype_name(mlxcel_tensor_dtype_t dtype);
uint32_t mlxcel_tensor_dtype_byte_count(mlxcel_tensor_dtype_t dtype);
// False if |name| isn't a type we know (sub-byte and F8 types among them).
bool mlxcel_tensor_dtype_parse(iree_string_view_t name, mlxcel_tensor_dtype_t* out_dtype);
// True for the types that dense weights, norms, scales and biases may have: F32, F16, BF16.
bool mlxcel_tensor_dtype_is_float(mlxcel_tensor_dtype_t dtype);

#endif  // MLXCEL_CHECKPOINT_TENSOR_DTYPE_H_
