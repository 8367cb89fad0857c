// Fuzzes the safetensors parser. Each input is parsed twice: as it is, and with its length field made to point behind the last '}', so that
// mutations of the JSON aren't lost to a length that no longer fits. Afterwards the index must keep its promises: every byte of every tensor is inside
// the input, and the tensors cover the data exactly.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/safetensors.h"

#define LENGTH_FIELD_BYTES 8u

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool promise) {
  if (!promise) abort();
}

// Reads both ends of the tensor, for the sanitizer, and returns its size.
static uint64_t check_tensor(const mlxcel_tensor_t* tensor, const uint8_t* data) {
  volatile uint8_t sink = 0;
  uint64_t elements = 1;
  require(tensor->rank <= MLXCEL_TENSOR_RANK_MAX && tensor->name.size > 0 && tensor->name.size <= MLXCEL_TENSOR_NAME_BYTES_MAX);
  for (uint32_t i = 0; i < tensor->rank; ++i) require(mlxcel_checked_mul_u64(elements, tensor->shape[i], &elements));
  require(elements == tensor->element_count);
  require(mlxcel_checked_mul_u64(elements, mlxcel_tensor_dtype_byte_count(tensor->dtype), &elements) && elements == tensor->byte_count);
  require(tensor->data == data + tensor->file_offset);
  if (tensor->byte_count > 0) sink = (uint8_t)(tensor->data[0] ^ tensor->data[tensor->byte_count - 1]);
  (void)sink;
  return tensor->byte_count;
}

static void check_file(const mlxcel_safetensors_t* file, const uint8_t* data, size_t size) {
  uint64_t covered = 0, first = size;
  for (size_t i = 0; i < mlxcel_safetensors_tensor_count(file); ++i) {
    const mlxcel_tensor_t* tensor = mlxcel_safetensors_tensor_at(file, i);
    covered += check_tensor(tensor, data);
    if (tensor->file_offset < first) first = tensor->file_offset;
    require(mlxcel_safetensors_find(file, tensor->name) == tensor);
    if (i > 0) require(iree_string_view_compare(mlxcel_safetensors_tensor_at(file, i - 1)->name, tensor->name) < 0);
  }
  require(first + covered == size);
}

static void parse(const uint8_t* data, size_t size) {
  mlxcel_safetensors_t* file = NULL;
  iree_status_t status = mlxcel_safetensors_parse(data, size, "fuzz", &file);
  require(iree_status_is_ok(status) == (file != NULL));
  if (file) check_file(file, data, size);
  mlxcel_safetensors_close(file);
  iree_status_ignore(status);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  parse(data, size);
  const uint8_t* end = size > LENGTH_FIELD_BYTES ? memrchr(data + LENGTH_FIELD_BYTES, '}', size - LENGTH_FIELD_BYTES) : NULL;
  uint8_t* copy = end ? malloc(size) : NULL;
  if (!copy) return 0;
  memcpy(copy, data, size);
  uint64_t length = (uint64_t)(end + 1 - data) - LENGTH_FIELD_BYTES;
  for (size_t i = 0; i < LENGTH_FIELD_BYTES; ++i) copy[i] = (uint8_t)(length >> (8 * i));
  parse(copy, size);
  free(copy);
  return 0;
}
