// checkpoint_gguf_builder.h: GGUF files made in memory for tests: good ones, and ones broken in a single place.
#ifndef MLXCEL_CHECKPOINT_CHECKPOINT_GGUF_BUILDER_H_
#define MLXCEL_CHECKPOINT_CHECKPOINT_GGUF_BUILDER_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checkpoint/gguf_reader.h"

typedef struct gguf_bytes_t {
  uint8_t* data;
  size_t size;
} gguf_bytes_t;

typedef struct gguf_builder_t {
  char magic[5];
  uint32_t version;
  uint32_t alignment;  // of the data section as built; general.alignment is the test's business
  uint64_t value_count, tensor_count;
  uint64_t claimed_value_count, claimed_tensor_count;  // UINT64_MAX: the real ones
  gguf_bytes_t values, tensors, data;
} gguf_builder_t;

void gguf_builder_initialize(gguf_builder_t* out_builder);
void gguf_builder_deinitialize(gguf_builder_t* builder);
// The file as malloc'ed memory of exactly its size.
uint8_t* gguf_builder_finish(const gguf_builder_t* builder, size_t* out_size);
// Writes the file as <folder>/<name>; the path is malloc'ed.
char* gguf_builder_write(const gguf_builder_t* builder, const char* folder, const char* name);

void gguf_add_raw(gguf_builder_t* builder, const char* key, uint32_t type, const void* payload, size_t size);
void gguf_add_u32(gguf_builder_t* builder, const char* key, uint32_t value);
void gguf_add_f32(gguf_builder_t* builder, const char* key, float value);
void gguf_add_bool(gguf_builder_t* builder, const char* key, bool value);
void gguf_add_string(gguf_builder_t* builder, const char* key, const char* value);
void gguf_add_strings(gguf_builder_t* builder, const char* key, const char* const* values, size_t count);
void gguf_add_i32s(gguf_builder_t* builder, const char* key, const int32_t* values, size_t count);

// |shape| is row-major. Appends |size| bytes of |data| to the data section (zeros if NULL).
void gguf_add_tensor(gguf_builder_t* builder, const char* name, uint32_t type, uint32_t rank, const uint64_t* shape, const void* data, size_t size);
// Only the entry, with any offset.
void gguf_add_tensor_entry(gguf_builder_t* builder, const char* name, uint32_t type, uint32_t rank, const uint64_t* shape, uint64_t offset);

// A model of one layer: hidden 32, intermediate 64, 2 heads and 1 KV head of 16, vocabulary of GGUF_TINY_VOCAB, untied.
#define GGUF_TINY_VOCAB 8u
#define GGUF_TINY_HIDDEN 32u
typedef struct gguf_tiny_t {
  const char* skip[4];                 // keys and tensors that are left out, for the test to add its own
  mlxcel_gguf_tensor_type_t matrices;  // type of every matrix
  bool is_tied;
  bool has_biases;  // attention and MLP
} gguf_tiny_t;
void gguf_add_tiny(gguf_builder_t* builder, const gguf_tiny_t* options);
// Bytes of |rows| x |columns| elements with a fixed pattern, scales that are normal f16 numbers; malloc'ed.
uint8_t* gguf_tiny_matrix(mlxcel_gguf_tensor_type_t type, uint64_t rows, uint64_t columns, size_t* out_size);

#endif  // MLXCEL_CHECKPOINT_CHECKPOINT_GGUF_BUILDER_H_
