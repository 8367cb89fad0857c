#include "checkpoint/tensor_dtype.h"

static const struct {
  const char* name;
  uint32_t byte_count;
} dtype_table[] = {
    [MLXCEL_TENSOR_DTYPE_F64] = {"F64", 8},   [MLXCEL_TENSOR_DTYPE_F32] = {"F32", 4}, [MLXCEL_TENSOR_DTYPE_F16] = {"F16", 2},
    [MLXCEL_TENSOR_DTYPE_BF16] = {"BF16", 2}, [MLXCEL_TENSOR_DTYPE_I64] = {"I64", 8}, [MLXCEL_TENSOR_DTYPE_I32] = {"I32", 4},
    [MLXCEL_TENSOR_DTYPE_I16] = {"I16", 2},   [MLXCEL_TENSOR_DTYPE_I8] = {"I8", 1},   [MLXCEL_TENSOR_DTYPE_U64] = {"U64", 8},
    [MLXCEL_TENSOR_DTYPE_U32] = {"U32", 4},   [MLXCEL_TENSOR_DTYPE_U16] = {"U16", 2}, [MLXCEL_TENSOR_DTYPE_U8] = {"U8", 1},
    [MLXCEL_TENSOR_DTYPE_BOOL] = {"BOOL", 1},
};
_Static_assert(sizeof(dtype_table) / sizeof(dtype_table[0]) == MLXCEL_TENSOR_DTYPE_COUNT, "one row for every dtype");

const char* mlxcel_tensor_dtype_name(mlxcel_tensor_dtype_t dtype) { return dtype_table[dtype].name; }

uint32_t mlxcel_tensor_dtype_byte_count(mlxcel_tensor_dtype_t dtype) { return dtype_table[dtype].byte_count; }

bool mlxcel_tensor_dtype_parse(iree_string_view_t name, mlxcel_tensor_dtype_t* out_dtype) {
  *out_dtype = MLXCEL_TENSOR_DTYPE_F32;
  for (uint32_t i = 0; i < MLXCEL_TENSOR_DTYPE_COUNT; ++i) {
    if (iree_string_view_equal(name, iree_make_cstring_view(dtype_table[i].name))) {
      *out_dtype = (mlxcel_tensor_dtype_t)i;
      return true;
    }
  }
  return false;
}

bool mlxcel_tensor_dtype_is_float(mlxcel_tensor_dtype_t dtype) {
  return dtype == MLXCEL_TENSOR_DTYPE_F32 || dtype == MLXCEL_TENSOR_DTYPE_F16 || dtype == MLXCEL_TENSOR_DTYPE_BF16;
}
