// gguf_value.h: typed access to GGUF metadata.
//
// Every function that takes a file and a key leaves |*out_value| alone if the key is absent, so callers set the default first. A value of the wrong
// type or range is an error that names the file, the key and the value.
#ifndef MLXCEL_CHECKPOINT_GGUF_VALUE_H_
#define MLXCEL_CHECKPOINT_GGUF_VALUE_H_

#include "checkpoint/gguf_reader.h"

// Any integer type, 0 to |max|.
iree_status_t mlxcel_gguf_read_u64(const mlxcel_gguf_t* file, const char* key, uint64_t max, uint64_t* out_value);
// f32 or f64, finite.
iree_status_t mlxcel_gguf_read_f64(const mlxcel_gguf_t* file, const char* key, double* out_value);
iree_status_t mlxcel_gguf_read_bool(const mlxcel_gguf_t* file, const char* key, bool* out_value);
// A view into the file, at most |max_bytes| long.
iree_status_t mlxcel_gguf_read_string(const mlxcel_gguf_t* file, const char* key, uint64_t max_bytes, iree_string_view_t* out_value);
// An array whose elements have |element_type|, at most |max_count| of them; NULL if the key is absent.
iree_status_t mlxcel_gguf_read_array(const mlxcel_gguf_t* file, const char* key, mlxcel_gguf_value_type_t element_type, uint64_t max_count,
                                     const mlxcel_gguf_value_t** out_value);

// Walks an array of strings: |*cursor| starts at 0 and is advanced; call it value->count times. The reader has checked every length.
iree_string_view_t mlxcel_gguf_array_next_string(const mlxcel_gguf_value_t* value, uint64_t* cursor);

// The value as text for messages: "3 (u32)", "\"yarn\" (string)", "array of 12 strings"; long strings are cut, other than printable ASCII is "?".
void mlxcel_gguf_value_format(const mlxcel_gguf_value_t* value, char* buffer, size_t capacity);
// UNIMPLEMENTED: "<file>: <key> = <value> isn't supported; <remedy>".
iree_status_t mlxcel_gguf_value_refuse(const mlxcel_gguf_t* file, const mlxcel_gguf_value_t* value, const char* remedy);

#endif  // MLXCEL_CHECKPOINT_GGUF_VALUE_H_
