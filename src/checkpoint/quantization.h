// quantization.h: MLX's affine quantization as a checkpoint states it, per module.
//
// A quantized module `path` has three tensors: `path.weight` U32 [out, in*bits/32] (one little-endian, least-significant-bit-first stream of
// bits-wide codes a row), `path.scales` and `path.biases` [out, in/group_size] in F16, BF16 or F32. w = code * scale + bias.
#ifndef MLXCEL_CHECKPOINT_QUANTIZATION_H_
#define MLXCEL_CHECKPOINT_QUANTIZATION_H_

#include "base/base.h"
#include "base/json.h"

typedef struct mlxcel_quantization_t {
  uint32_t bits;        // 2, 3, 4, 5, 6, 8; 0 = the module is dense
  uint32_t group_size;  // 32, 64, 128
} mlxcel_quantization_t;

typedef struct mlxcel_quantization_override_t {
  char* path;                   // module path without ".weight"
  mlxcel_quantization_t value;  // bits 0: `false` in the file, i.e. left dense
} mlxcel_quantization_override_t;

typedef struct mlxcel_quantization_table_t {
  bool present;  // config.json has a `quantization` (or `quantization_config` of MLX form) object
  mlxcel_quantization_t base;
  size_t override_count;
  mlxcel_quantization_override_t* overrides;  // sorted by path
} mlxcel_quantization_table_t;

// Reads `quantization` and `quantization_config` of config.json's object |config|; mlx-lm writes the same table under both names. Absent or null is
// a table that isn't present. Refused by key and value: formats of Hugging Face (`quant_method`), modes other than affine, bits and group
// sizes outside the sets, overrides that are neither a boolean nor a complete object, two tables that differ.
// |*out_table| is freed by the caller also after an error.
iree_status_t mlxcel_quantization_table_parse(const json_t* config, const char* origin, mlxcel_quantization_table_t* out_table);

// The override for |path|; NULL if the table has none.
const mlxcel_quantization_override_t* mlxcel_quantization_table_find(const mlxcel_quantization_table_t* table, iree_string_view_t path);
// What the table says about |path|: its override, else the default. Whether the module is quantized at all is decided by the presence of
// `<path>.scales` (see checkpoint.h).
mlxcel_quantization_t mlxcel_quantization_table_lookup(const mlxcel_quantization_table_t* table, iree_string_view_t path);
void mlxcel_quantization_table_deinitialize(mlxcel_quantization_table_t* table);

#endif  // MLXCEL_CHECKPOINT_QUANTIZATION_H_
