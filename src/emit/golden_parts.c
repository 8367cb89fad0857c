#include "emit/golden_parts.h"

static const char* const dtype_names[] = {"F32", "F16", "BF16"};
static int64_t type_size(mlxcel_weight_type_t type) { return type == MLXCEL_WEIGHT_F32 ? 4 : 2; }

const char* const golden_w_keys[3] = {"w.weight", "w.scales", "w.biases"};
const char* const golden_v_keys[3] = {"v.weight", "v.scales", "v.biases"};

mlxcel_weight_tensor_t golden_tensor(const char* key, const char* dtype, int64_t bytes) {
  return (mlxcel_weight_tensor_t){.key = iree_make_cstring_view(key), .dtype = dtype, .byte_count = (uint64_t)bytes};
}

mlxcel_weight_t golden_dense_weight(const char* key, mlxcel_weight_type_t type, int64_t out_features, int64_t in_features) {
  return (mlxcel_weight_t){.values = golden_tensor(key, dtype_names[type], out_features * in_features * type_size(type)),
                           .type = type,
                           .out_features = out_features,
                           .in_features = in_features};
}

mlxcel_weight_t golden_affine_weight(const char* const keys[3], mlxcel_weight_type_t type, uint32_t bits, uint32_t group_size, int64_t out_features,
                                     int64_t in_features) {
  int64_t groups = out_features * in_features / group_size;
  return (mlxcel_weight_t){.values = golden_tensor(keys[0], "U32", out_features * in_features * bits / 8),
                           .scales = golden_tensor(keys[1], dtype_names[type], groups * type_size(type)),
                           .biases = golden_tensor(keys[2], dtype_names[type], groups * type_size(type)),
                           .type = type,
                           .bits = bits,
                           .group_size = group_size,
                           .out_features = out_features,
                           .in_features = in_features};
}

mlxcel_value_t golden_row_argument(mlxcel_module_builder_t* builder) {
  return mlxcel_function_argument(builder, MLXCEL_ELEMENT_I32, 1, (const int64_t[]){kRows}, -1);
}

mlxcel_value_t golden_matrix_argument(mlxcel_module_builder_t* builder, mlxcel_element_t element, int64_t rows, int64_t columns) {
  return mlxcel_function_argument(builder, element, 2, (const int64_t[]){rows, columns}, -1);
}

mlxcel_value_t golden_cache_argument(mlxcel_module_builder_t* builder, mlxcel_element_t element, int output) {
  const int64_t dims[] = {kLayers, MLXCEL_DIM_DYNAMIC, kKvHeads, MLXCEL_DIM_DYNAMIC, kHeadDim};
  return mlxcel_function_argument(builder, element, 5, dims, output);
}

mlxcel_emit_rows_t golden_rows_arguments(mlxcel_module_builder_t* builder) {
  mlxcel_value_t slots = golden_row_argument(builder);
  return (mlxcel_emit_rows_t){.count = kRows, .slots = slots, .positions = golden_row_argument(builder)};
}

void golden_function_end(mlxcel_module_builder_t* builder, mlxcel_value_t result, const char* name) {
  mlxcel_function_result(builder, result);
  mlxcel_function_end(builder, name);
}
