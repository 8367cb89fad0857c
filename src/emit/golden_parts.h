// golden_parts.h: the weights and arguments that golden modules are put together from. For tests.
#ifndef MLXCEL_EMIT_GOLDEN_PARTS_H_
#define MLXCEL_EMIT_GOLDEN_PARTS_H_

#include "emit/golden_modules.h"
#include "emit/helpers/helpers.h"

enum { kRows = 2, kHidden = 64, kInner = 96, kHeads = 4, kKvHeads = 2, kHeadDim = 16, kLayers = 3 };

mlxcel_weight_tensor_t golden_tensor(const char* key, const char* dtype, int64_t bytes);
mlxcel_weight_t golden_dense_weight(const char* key, mlxcel_weight_type_t type, int64_t out_features, int64_t in_features);
// Scales and biases of |type|; keys of codes, scales, biases.
mlxcel_weight_t golden_affine_weight(const char* const keys[3], mlxcel_weight_type_t type, uint32_t bits, uint32_t group_size, int64_t out_features,
                                     int64_t in_features);
extern const char* const golden_w_keys[3];
extern const char* const golden_v_keys[3];

mlxcel_value_t golden_row_argument(mlxcel_module_builder_t* builder);  // i32[kRows]
mlxcel_value_t golden_matrix_argument(mlxcel_module_builder_t* builder, mlxcel_element_t element, int64_t rows, int64_t columns);
mlxcel_value_t golden_cache_argument(mlxcel_module_builder_t* builder, mlxcel_element_t element, int output);
mlxcel_emit_rows_t golden_rows_arguments(mlxcel_module_builder_t* builder);  // slots, positions
void golden_function_end(mlxcel_module_builder_t* builder, mlxcel_value_t result, const char* name);

// The lists that golden_module_at walks; NULL behind the last.
const golden_module_t* golden_pinned_module_at(size_t index);
const golden_module_t* golden_mlx_module_at(size_t index);
const golden_module_t* golden_operation_at(size_t index);

#endif  // MLXCEL_EMIT_GOLDEN_PARTS_H_
