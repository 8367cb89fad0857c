#include "tokenizer/utf8_stream.h"

#include <string.h>

#define MLXCEL_UTF8_REPLACEMENT "\xEF\xBF\xBD"

void mlxcel_utf8_stream_initialize(bool replaces_each_byte, mlxcel_utf8_stream_t* out_stream) {
  memset(out_stream, 0, sizeof(*out_stream));
  out_stream->replaces_each_byte = replaces_each_byte;
}

// Bytes of the character that |lead| begins; 0 if it begins none.
static size_t mlxcel_utf8_length(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

// Whether |byte| may follow |size| bytes that begin with |lead|. The second byte excludes overlong forms, surrogates and what lies above U+10FFFF.
static bool mlxcel_utf8_continues(uint8_t lead, size_t size, uint8_t byte) {
  uint8_t low = 0x80, high = 0xBF;
  if (size == 1) {
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  return byte >= low && byte <= high;
}

void mlxcel_utf8_stream_flush(mlxcel_utf8_stream_t* stream, mlxcel_strbuf_t* text) {
  size_t count = stream->replaces_each_byte ? stream->tail_size : (stream->tail_size > 0);
  for (size_t i = 0; i < count; ++i) mlxcel_strbuf_append_cstring(text, MLXCEL_UTF8_REPLACEMENT);
  stream->tail_size = 0;
}

static void mlxcel_utf8_stream_push_byte(mlxcel_utf8_stream_t* stream, uint8_t byte, mlxcel_strbuf_t* text) {
  if (stream->tail_size > 0 && !mlxcel_utf8_continues(stream->tail[0], stream->tail_size, byte)) mlxcel_utf8_stream_flush(stream, text);
  if (stream->tail_size == 0 && mlxcel_utf8_length(byte) == 0) {
    mlxcel_strbuf_append_cstring(text, MLXCEL_UTF8_REPLACEMENT);
    return;
  }
  stream->tail[stream->tail_size++] = byte;
  if (stream->tail_size < mlxcel_utf8_length(stream->tail[0])) return;
  mlxcel_strbuf_append(text, iree_make_string_view((const char*)stream->tail, stream->tail_size));
  stream->tail_size = 0;
}

void mlxcel_utf8_stream_push(mlxcel_utf8_stream_t* stream, iree_const_byte_span_t bytes, mlxcel_strbuf_t* text) {
  for (size_t i = 0; i < bytes.data_length; ++i) mlxcel_utf8_stream_push_byte(stream, bytes.data[i], text);
}
