#include "tokenizer/detokenizer.h"

#include <string.h>

#include "tokenizer/text_status.h"
#include "tokenizer/tokenizer_internal.h"

// Longer tokens (some added ones) take the heap.
#define MLXCEL_DETOKENIZER_TOKEN_BYTES 256

void mlxcel_detokenizer_options_initialize(mlxcel_detokenizer_options_t* out_options) {
  *out_options = (mlxcel_detokenizer_options_t){.skips_special = true, .begins_text = true};
}

iree_status_t mlxcel_detokenizer_initialize(const mlxcel_tokenizer_t* tokenizer, const mlxcel_detokenizer_options_t* options,
                                            mlxcel_detokenizer_t* out_detokenizer) {
  memset(out_detokenizer, 0, sizeof(*out_detokenizer));
  mlxcel_text_stream_plan_t plan;
  char* error = NULL;
  int32_t code = mlxcel_text_tokenizer_stream_plan(mlxcel_tokenizer_text(tokenizer), &plan, &error);
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, mlxcel_tokenizer_path(tokenizer), error, NULL));
  out_detokenizer->tokenizer = tokenizer;
  out_detokenizer->options = *options;
  mlxcel_utf8_stream_initialize(plan.replaces_each_byte, &out_detokenizer->stream);
  mlxcel_strbuf_initialize(&out_detokenizer->text);
  out_detokenizer->strip_codepoint = plan.strip_codepoint;
  out_detokenizer->strip_left = options->begins_text ? plan.strip_count : 0;
  out_detokenizer->is_first = options->begins_text;
  return iree_ok_status();
}

void mlxcel_detokenizer_deinitialize(mlxcel_detokenizer_t* detokenizer) {
  if (!detokenizer->tokenizer) return;  // initialize failed or was never called on zeroed storage
  mlxcel_strbuf_deinitialize(&detokenizer->text);
  memset(detokenizer, 0, sizeof(*detokenizer));
}

// The UTF-8 form of |codepoint|, a valid one, in |out_bytes|; its length.
static size_t mlxcel_codepoint_encode(uint32_t codepoint, uint8_t out_bytes[4]) {
  if (codepoint < 0x80) {
    out_bytes[0] = (uint8_t)codepoint;
    return 1;
  }
  size_t count = codepoint < 0x800 ? 2 : codepoint < 0x10000 ? 3 : 4;
  for (size_t i = count - 1; i > 0; --i) {
    out_bytes[i] = (uint8_t)(0x80 | (codepoint & 0x3F));
    codepoint >>= 6;
  }
  out_bytes[0] = (uint8_t)((0xF00 >> count) | codepoint);
  return count;
}

// Takes the piece that was collected, without the leading characters that the decoder still owes to remove.
static iree_status_t mlxcel_detokenizer_take(mlxcel_detokenizer_t* detokenizer, iree_string_view_t* out_text) {
  IREE_RETURN_IF_ERROR(mlxcel_strbuf_take_status(&detokenizer->text));
  iree_string_view_t text = mlxcel_strbuf_view(&detokenizer->text);
  uint8_t strip[4];
  iree_string_view_t lead = iree_make_string_view((const char*)strip, mlxcel_codepoint_encode(detokenizer->strip_codepoint, strip));
  while (detokenizer->strip_left > 0 && text.size > 0) {
    if (!iree_string_view_starts_with(text, lead)) {
      detokenizer->strip_left = 0;
      break;
    }
    text = iree_string_view_remove_prefix(text, lead.size);
    --detokenizer->strip_left;
  }
  *out_text = text;
  return iree_ok_status();
}

static void mlxcel_detokenizer_append(mlxcel_detokenizer_t* detokenizer, iree_const_byte_span_t bytes, uint32_t flags) {
  if (flags & MLXCEL_TEXT_TOKEN_SPECIAL && detokenizer->options.skips_special) return;
  detokenizer->is_first = false;
  if (flags & MLXCEL_TEXT_TOKEN_PARTIAL) {
    mlxcel_utf8_stream_push(&detokenizer->stream, bytes, &detokenizer->text);
    return;
  }
  // A token that is text ends the run of raw bytes before it.
  mlxcel_utf8_stream_flush(&detokenizer->stream, &detokenizer->text);
  mlxcel_strbuf_append(&detokenizer->text, iree_make_string_view((const char*)bytes.data, bytes.data_length));
}

// A token whose bytes don't fit the small buffer.
static iree_status_t mlxcel_detokenizer_push_long(mlxcel_detokenizer_t* detokenizer, int32_t id, size_t size) {
  iree_allocator_t allocator = iree_allocator_system();
  uint8_t* buffer = NULL;
  IREE_RETURN_IF_ERROR(iree_allocator_malloc_uninitialized(allocator, size, (void**)&buffer));
  uint32_t flags = 0;
  char* error = NULL;
  int32_t code = mlxcel_text_tokenizer_token_bytes(mlxcel_tokenizer_text(detokenizer->tokenizer), (uint32_t)id, detokenizer->is_first, buffer, size, &size,
                                                   &flags, &error);
  if (code == MLXCEL_TEXT_OK) mlxcel_detokenizer_append(detokenizer, iree_make_const_byte_span(buffer, size), flags);
  iree_allocator_free(allocator, buffer);
  return mlxcel_text_status(code, mlxcel_tokenizer_path(detokenizer->tokenizer), error, NULL);
}

iree_status_t mlxcel_detokenizer_push(mlxcel_detokenizer_t* detokenizer, int32_t id, iree_string_view_t* out_text) {
  *out_text = iree_string_view_empty();
  mlxcel_strbuf_clear(&detokenizer->text);
  if (id < 0) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "token id %" PRId32 " is negative; ids start at 0", id);
  uint8_t buffer[MLXCEL_DETOKENIZER_TOKEN_BYTES];
  size_t size = 0;
  uint32_t flags = 0;
  char* error = NULL;
  int32_t code = mlxcel_text_tokenizer_token_bytes(mlxcel_tokenizer_text(detokenizer->tokenizer), (uint32_t)id, detokenizer->is_first, buffer, sizeof(buffer),
                                                   &size, &flags, &error);
  if (code == MLXCEL_TEXT_NOT_FOUND || code == MLXCEL_TEXT_SMALL) {
    mlxcel_text_string_free(error);
    if (code == MLXCEL_TEXT_NOT_FOUND) return iree_ok_status();
    IREE_RETURN_IF_ERROR(mlxcel_detokenizer_push_long(detokenizer, id, size));
    return mlxcel_detokenizer_take(detokenizer, out_text);
  }
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, mlxcel_tokenizer_path(detokenizer->tokenizer), error, NULL));
  mlxcel_detokenizer_append(detokenizer, iree_make_const_byte_span(buffer, size), flags);
  return mlxcel_detokenizer_take(detokenizer, out_text);
}

iree_status_t mlxcel_detokenizer_flush(mlxcel_detokenizer_t* detokenizer, iree_string_view_t* out_text) {
  *out_text = iree_string_view_empty();
  mlxcel_strbuf_clear(&detokenizer->text);
  mlxcel_utf8_stream_flush(&detokenizer->stream, &detokenizer->text);
  return mlxcel_detokenizer_take(detokenizer, out_text);
}
