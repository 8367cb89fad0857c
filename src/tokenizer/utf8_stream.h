// utf8_stream.h: bytes in, whole UTF-8 characters out; holds back at most three bytes of an incomplete one.
// Plain caller storage without resources; not thread-safe.
#ifndef MLXCEL_TOKENIZER_UTF8_STREAM_H_
#define MLXCEL_TOKENIZER_UTF8_STREAM_H_

#include "base/base.h"
#include "base/strbuf.h"

typedef struct mlxcel_utf8_stream_t {
  uint8_t tail[4];  // a valid beginning of one character
  size_t tail_size;
  // U+FFFD for every broken byte; otherwise one for each maximal broken beginning (Unicode's recommended practice, and Python's).
  bool replaces_each_byte;
} mlxcel_utf8_stream_t;

void mlxcel_utf8_stream_initialize(bool replaces_each_byte, mlxcel_utf8_stream_t* out_stream);
// Appends to |text| the characters that are complete after |bytes|.
void mlxcel_utf8_stream_push(mlxcel_utf8_stream_t* stream, iree_const_byte_span_t bytes, mlxcel_strbuf_t* text);
// Appends what was held back as U+FFFD and forgets it.
void mlxcel_utf8_stream_flush(mlxcel_utf8_stream_t* stream, mlxcel_strbuf_t* text);

#endif  // MLXCEL_TOKENIZER_UTF8_STREAM_H_
