// gguf_reader.h: a read-only index of the metadata and tensors of one GGUF file (versions 2 and 3, little-endian).
//
// The file is memory-mapped; keys, strings, arrays and tensors are views into the map and live as long as the mlxcel_gguf_t. Nothing is trusted:
// counts are bounded by the bytes that are left before anything is allocated, arrays of arrays are refused, products are checked, every tensor lies
// inside the file at a multiple of the alignment, no two overlap, and no key or tensor name occurs twice. Keys and tensor names are printable
// ASCII. Only tensor types that can be imported exactly are accepted. Immutable after opening, so any number of threads may read it.
#ifndef MLXCEL_CHECKPOINT_GGUF_READER_H_
#define MLXCEL_CHECKPOINT_GGUF_READER_H_

#include "base/base.h"
#include "base/fs.h"
#include "checkpoint/gguf_limits.h"

// The format's own numbers.
typedef enum mlxcel_gguf_value_type_e {
  MLXCEL_GGUF_VALUE_U8 = 0,
  MLXCEL_GGUF_VALUE_I8 = 1,
  MLXCEL_GGUF_VALUE_U16 = 2,
  MLXCEL_GGUF_VALUE_I16 = 3,
  MLXCEL_GGUF_VALUE_U32 = 4,
  MLXCEL_GGUF_VALUE_I32 = 5,
  MLXCEL_GGUF_VALUE_F32 = 6,
  MLXCEL_GGUF_VALUE_BOOL = 7,
  MLXCEL_GGUF_VALUE_STRING = 8,
  MLXCEL_GGUF_VALUE_ARRAY = 9,
  MLXCEL_GGUF_VALUE_U64 = 10,
  MLXCEL_GGUF_VALUE_I64 = 11,
  MLXCEL_GGUF_VALUE_F64 = 12,
  MLXCEL_GGUF_VALUE_TYPE_COUNT,
} mlxcel_gguf_value_type_t;

typedef struct mlxcel_gguf_value_t {
  iree_string_view_t key;
  mlxcel_gguf_value_type_t type;
  mlxcel_gguf_value_type_t element_type;  // of an array; otherwise equal to |type|
  uint64_t count;                         // elements of an array, otherwise 1
  const uint8_t* data;                    // the payload: a scalar, the bytes of a string, or an array's elements in file form
  uint64_t size;                          // bytes of |data|
} mlxcel_gguf_value_t;

// The format's own numbers; the other types are refused by name.
typedef enum mlxcel_gguf_tensor_type_e {
  MLXCEL_GGUF_TENSOR_F32 = 0,
  MLXCEL_GGUF_TENSOR_F16 = 1,
  MLXCEL_GGUF_TENSOR_Q4_0 = 2,
  MLXCEL_GGUF_TENSOR_Q4_1 = 3,
  MLXCEL_GGUF_TENSOR_Q8_0 = 8,
  MLXCEL_GGUF_TENSOR_BF16 = 30,
} mlxcel_gguf_tensor_type_t;

typedef struct mlxcel_gguf_tensor_t {
  iree_string_view_t name;
  mlxcel_gguf_tensor_type_t type;
  uint32_t rank;
  uint64_t shape[MLXCEL_GGUF_TENSOR_RANK_MAX];  // row-major, i.e. outermost first (the file has it the other way round)
  uint64_t element_count;
  uint64_t byte_count;
  uint64_t file_offset;  // absolute
  const uint8_t* data;   // byte_count bytes
} mlxcel_gguf_tensor_t;

typedef struct mlxcel_gguf_t mlxcel_gguf_t;

// Maps and checks |path|. |*out_file| is closed by the caller. INVALID_ARGUMENT for a broken file, UNIMPLEMENTED for a feature that isn't imported.
iree_status_t mlxcel_gguf_open(const char* path, mlxcel_gguf_t** out_file);
// The same over memory that the caller keeps alive (fuzzing, tests); |origin| names it in errors and is copied.
iree_status_t mlxcel_gguf_parse(const uint8_t* data, size_t size, const char* origin, mlxcel_gguf_t** out_file);
void mlxcel_gguf_close(mlxcel_gguf_t* file);

const char* mlxcel_gguf_origin(const mlxcel_gguf_t* file);

// Keys sorted bytewise.
size_t mlxcel_gguf_value_count(const mlxcel_gguf_t* file);
const mlxcel_gguf_value_t* mlxcel_gguf_value_at(const mlxcel_gguf_t* file, size_t index);
// NULL if there is none.
const mlxcel_gguf_value_t* mlxcel_gguf_find_value(const mlxcel_gguf_t* file, iree_string_view_t key);

// Tensors sorted by name, bytewise.
size_t mlxcel_gguf_tensor_count(const mlxcel_gguf_t* file);
const mlxcel_gguf_tensor_t* mlxcel_gguf_tensor_at(const mlxcel_gguf_t* file, size_t index);
// NULL if there is none.
const mlxcel_gguf_tensor_t* mlxcel_gguf_find_tensor(const mlxcel_gguf_t* file, iree_string_view_t name);

// "Q4_1", ...
const char* mlxcel_gguf_tensor_type_name(mlxcel_gguf_tensor_type_t type);
// Elements that share one block, and the bytes of a block.
uint32_t mlxcel_gguf_tensor_type_block_elements(mlxcel_gguf_tensor_type_t type);
uint32_t mlxcel_gguf_tensor_type_block_bytes(mlxcel_gguf_tensor_type_t type);

#endif  // MLXCEL_CHECKPOINT_GGUF_READER_H_
