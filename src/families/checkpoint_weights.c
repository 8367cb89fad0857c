#include "families/checkpoint_weights.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/excerpt.h"

iree_status_t mlxcel_weight_reader_initialize(const mlxcel_checkpoint_t* checkpoint, mlxcel_weight_reader_t* out_reader) {
  memset(out_reader, 0, sizeof(*out_reader));
  out_reader->checkpoint = checkpoint;
  out_reader->used = calloc(mlxcel_checkpoint_tensor_count(checkpoint) + 1, sizeof(*out_reader->used));
  return out_reader->used ? iree_ok_status() : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the tensor account; free some memory");
}

void mlxcel_weight_reader_deinitialize(mlxcel_weight_reader_t* reader) {
  free(reader->used);
  iree_status_ignore(reader->status);
  memset(reader, 0, sizeof(*reader));
}

// Tensors are sorted by name, so the index is found by bisection.
static void mark_used(mlxcel_weight_reader_t* reader, iree_string_view_t name) {
  size_t low = 0, high = mlxcel_checkpoint_tensor_count(reader->checkpoint);
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = iree_string_view_compare(mlxcel_checkpoint_tensor_at(reader->checkpoint, middle)->name, name);
    if (order == 0) {
      reader->used[middle] = true;
      return;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
}

static mlxcel_weight_type_t weight_type(mlxcel_tensor_dtype_t dtype) {
  return dtype == MLXCEL_TENSOR_DTYPE_F16 ? MLXCEL_WEIGHT_F16 : dtype == MLXCEL_TENSOR_DTYPE_BF16 ? MLXCEL_WEIGHT_BF16 : MLXCEL_WEIGHT_F32;
}

static mlxcel_weight_tensor_t weight_tensor(mlxcel_weight_reader_t* reader, const mlxcel_tensor_t* tensor) {
  mlxcel_weight_tensor_t result = {.dtype = ""};
  if (!tensor) return result;
  mark_used(reader, tensor->name);
  result.key = tensor->name;
  result.dtype = mlxcel_tensor_dtype_name(tensor->dtype);
  result.byte_count = tensor->byte_count;
  return result;
}

mlxcel_weight_vector_t mlxcel_weight_reader_vector(mlxcel_weight_reader_t* reader, const char* name, int64_t size) {
  mlxcel_weight_vector_t vector = {.size = size};
  if (!iree_status_is_ok(reader->status)) return vector;
  const mlxcel_tensor_t* tensor = NULL;
  reader->status = mlxcel_checkpoint_vector(reader->checkpoint, iree_make_cstring_view(name), (uint64_t)size, &tensor);
  if (!iree_status_is_ok(reader->status)) return vector;
  vector.values = weight_tensor(reader, tensor);
  vector.type = weight_type(tensor->dtype);
  return vector;
}

mlxcel_weight_t mlxcel_weight_reader_matrix(mlxcel_weight_reader_t* reader, const char* path, int64_t out_features, int64_t in_features, bool has_bias) {
  mlxcel_weight_t weight = {.out_features = out_features, .in_features = in_features};
  if (!iree_status_is_ok(reader->status)) return weight;
  mlxcel_matrix_t matrix;
  reader->status = mlxcel_checkpoint_matrix(reader->checkpoint, iree_make_cstring_view(path), (uint64_t)out_features, (uint64_t)in_features, &matrix);
  if (!iree_status_is_ok(reader->status)) return weight;
  weight.values = weight_tensor(reader, matrix.weight);
  weight.scales = weight_tensor(reader, matrix.scales);
  weight.biases = weight_tensor(reader, matrix.biases);
  weight.bits = matrix.quantization.bits;
  weight.group_size = matrix.quantization.bits ? matrix.quantization.group_size : 0;
  weight.type = weight_type(matrix.scales ? matrix.scales->dtype : matrix.weight->dtype);
  if (!has_bias) return weight;
  char name[MLXCEL_TENSOR_NAME_BYTES_MAX];
  iree_snprintf(name, sizeof(name), "%s.bias", path);
  mlxcel_weight_vector_t vector = mlxcel_weight_reader_vector(reader, name, out_features);
  weight.vector = vector.values;
  weight.vector_type = vector.type;
  return weight;
}

void mlxcel_weight_reader_skip(mlxcel_weight_reader_t* reader, const char* name) { mark_used(reader, iree_make_cstring_view(name)); }

iree_status_t mlxcel_weight_reader_finish(mlxcel_weight_reader_t* reader) {
  iree_status_t status = reader->status;
  reader->status = iree_ok_status();
  if (!iree_status_is_ok(status)) return status;
  mlxcel_name_list_t unused;
  mlxcel_name_list_initialize(&unused);
  for (size_t i = 0; i < mlxcel_checkpoint_tensor_count(reader->checkpoint); ++i) {
    if (!reader->used[i]) mlxcel_name_list_append(&unused, mlxcel_checkpoint_tensor_at(reader->checkpoint, i)->name);
  }
  size_t count = unused.count;
  if (count > 0) {
    status =
        iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                         "%zu tensors of %s have no place in this family's computation: %s; the checkpoint is of another architecture than config.json says: "
                         "correct config.json (attention_bias, mlp_bias, ...) or remove them",
                         count, mlxcel_checkpoint_folder(reader->checkpoint), mlxcel_name_list_finish(&unused));
  }
  mlxcel_name_list_deinitialize(&unused);
  return status;
}
