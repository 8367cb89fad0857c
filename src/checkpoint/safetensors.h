// safetensors.h: a read-only index of the tensors of one safetensors file.
//
// The file is memory-mapped; tensors are views into the map and live as long as the mlxcel_safetensors_t. Every rule of the format is enforced:
// header limit, UTF-8 JSON object, known dtypes, checked shape products, offsets that match shape x dtype, no overlap, no hole, exact end,
// no duplicate key. Zero-size tensors and scalars are legal. Immutable after opening, so any number of threads may read it.
#ifndef MLXCEL_CHECKPOINT_SAFETENSORS_H_
#define MLXCEL_CHECKPOINT_SAFETENSORS_H_

#include "base/fs.h"
#include "base/limits.h"
#include "checkpoint/tensor_dtype.h"

typedef struct mlxcel_tensor_t {
  iree_string_view_t name;  // owned by the file's index
  mlxcel_tensor_dtype_t dtype;
  uint32_t rank;
  uint64_t shape[MLXCEL_TENSOR_RANK_MAX];  // row-major
  uint64_t element_count;
  uint64_t byte_count;
  uint64_t file_offset;  // absolute, in bytes
  const uint8_t* data;   // mapped bytes, little-endian; not NULL even for zero-size tensors
  uint32_t shard;        // index of the file in its checkpoint; 0 for a single file
} mlxcel_tensor_t;

typedef struct mlxcel_safetensors_t mlxcel_safetensors_t;

// Opens and checks the whole header. |*out_file| is closed by the caller.
iree_status_t mlxcel_safetensors_open(const char* path, mlxcel_safetensors_t** out_file);
// The same over memory that the caller keeps alive (fuzzing, tests); |origin| names it in errors.
iree_status_t mlxcel_safetensors_parse(const uint8_t* data, size_t size, const char* origin, mlxcel_safetensors_t** out_file);
void mlxcel_safetensors_close(mlxcel_safetensors_t* file);

// The mapped file; empty if the bytes are the caller's.
const mlxcel_mapped_file_t* mlxcel_safetensors_map(const mlxcel_safetensors_t* file);

size_t mlxcel_safetensors_tensor_count(const mlxcel_safetensors_t* file);
// Sorted by name (bytewise).
const mlxcel_tensor_t* mlxcel_safetensors_tensor_at(const mlxcel_safetensors_t* file, size_t index);
// NULL if there is none.
const mlxcel_tensor_t* mlxcel_safetensors_find(const mlxcel_safetensors_t* file, iree_string_view_t name);

#endif  // MLXCEL_CHECKPOINT_SAFETENSORS_H_
