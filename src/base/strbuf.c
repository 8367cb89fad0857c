#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

void mlxcel_strbuf_initialize(mlxcel_strbuf_t* out_buffer) { memset(out_buffer, 0, sizeof(*out_buffer)); }

void mlxcel_strbuf_deinitialize(mlxcel_strbuf_t* buffer) {
  free(buffer->data);
  iree_status_ignore(buffer->status);
  memset(buffer, 0, sizeof(*buffer));
}

static void strbuf_fail(mlxcel_strbuf_t* buffer, iree_status_t status) {
  if (iree_status_is_ok(buffer->status)) {
    buffer->status = status;
  } else {
    iree_status_ignore(status);
  }
}

// Makes room for |extra| bytes and the NUL.
static bool strbuf_reserve(mlxcel_strbuf_t* buffer, size_t extra) {
  if (!iree_status_is_ok(buffer->status)) return false;
  if (extra > MLXCEL_TEXT_BYTES_MAX - buffer->size) {
    strbuf_fail(buffer, iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "a text grew over %u bytes", MLXCEL_TEXT_BYTES_MAX));
    return false;
  }
  size_t needed = buffer->size + extra + 1;
  if (needed <= buffer->capacity) return true;
  size_t capacity = buffer->capacity ? buffer->capacity : 256;
  while (capacity < needed) capacity *= 2;
  char* data = realloc(buffer->data, capacity);
  if (!data) {
    strbuf_fail(buffer, iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu bytes of text", capacity));
    return false;
  }
  buffer->data = data;
  buffer->capacity = capacity;
  return true;
}

void mlxcel_strbuf_append(mlxcel_strbuf_t* buffer, iree_string_view_t text) {
  if (!strbuf_reserve(buffer, text.size)) return;
  if (text.size > 0) memcpy(buffer->data + buffer->size, text.data, text.size);
  buffer->size += text.size;
  buffer->data[buffer->size] = 0;
}

void mlxcel_strbuf_append_cstring(mlxcel_strbuf_t* buffer, const char* text) { mlxcel_strbuf_append(buffer, iree_make_cstring_view(text)); }

void mlxcel_strbuf_append_format(mlxcel_strbuf_t* buffer, const char* format, ...) {
  va_list args;
  va_start(args, format);
  va_list measured;
  va_copy(measured, args);
  int length = vsnprintf(NULL, 0, format, measured);
  va_end(measured);
  if (length >= 0 && strbuf_reserve(buffer, (size_t)length)) {
    vsnprintf(buffer->data + buffer->size, (size_t)length + 1, format, args);
    buffer->size += (size_t)length;
  }
  va_end(args);
}

void mlxcel_strbuf_clear(mlxcel_strbuf_t* buffer) {
  buffer->size = 0;
  if (buffer->data) buffer->data[0] = 0;
}

iree_string_view_t mlxcel_strbuf_view(const mlxcel_strbuf_t* buffer) { return iree_make_string_view(buffer->data ? buffer->data : "", buffer->size); }

iree_status_t mlxcel_strbuf_take_status(mlxcel_strbuf_t* buffer) {
  iree_status_t status = buffer->status;
  buffer->status = iree_ok_status();
  return status;
}

char* mlxcel_strbuf_release(mlxcel_strbuf_t* buffer) {
  char* data = buffer->data ? buffer->data : calloc(1, 1);
  buffer->data = NULL;
  mlxcel_strbuf_deinitialize(buffer);
  return data;
}
