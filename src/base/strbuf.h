// strbuf.h: a growable text with a limit, for emitted MLIR, canonical contracts, JSON and messages. Owns its storage; not thread-safe.
#ifndef MLXCEL_BASE_STRBUF_H_
#define MLXCEL_BASE_STRBUF_H_

#include "base/base.h"

typedef struct mlxcel_strbuf_t {
  char* data;   // NUL-terminated once anything was appended
  size_t size;  // bytes, without the NUL
  size_t capacity;
  iree_status_t status;  // the first failure; later appends are ignored. Taken by mlxcel_strbuf_take_status.
} mlxcel_strbuf_t;

void mlxcel_strbuf_initialize(mlxcel_strbuf_t* out_buffer);
void mlxcel_strbuf_deinitialize(mlxcel_strbuf_t* buffer);
void mlxcel_strbuf_append(mlxcel_strbuf_t* buffer, iree_string_view_t text);
void mlxcel_strbuf_append_cstring(mlxcel_strbuf_t* buffer, const char* text);
// Formats with the C library; use only %s %d %u %zu %x PRI* so that the text doesn't depend on the locale.
void mlxcel_strbuf_append_format(mlxcel_strbuf_t* buffer, const char* format, ...) __attribute__((format(printf, 2, 3)));
// Removes everything but keeps the storage.
void mlxcel_strbuf_clear(mlxcel_strbuf_t* buffer);
iree_string_view_t mlxcel_strbuf_view(const mlxcel_strbuf_t* buffer);
// Returns the first failure (out of memory, over MLXCEL_TEXT_BYTES_MAX) and resets it.
iree_status_t mlxcel_strbuf_take_status(mlxcel_strbuf_t* buffer);
// Hands the text (malloc'ed, NUL-terminated, never NULL) to the caller and empties the buffer.
char* mlxcel_strbuf_release(mlxcel_strbuf_t* buffer);

#endif  // MLXCEL_BASE_STRBUF_H_
