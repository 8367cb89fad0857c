#include "engine/mock_backend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void mock_backend_initialize(uint32_t context, uint32_t prefill_rows_max, mock_backend_t* out_mock) {
  assert_true(context <= MOCK_CONTEXT_MAX);
  *out_mock = (mock_backend_t){.context = context, .prefill_rows_max = prefill_rows_max};
}

void mock_backend_set_script(mock_backend_t* mock, uint32_t prompt_count, const int32_t* tokens, uint32_t count) {
  mock->script = tokens;
  mock->script_start = prompt_count - 1;
  mock->script_count = count;
}

void mock_backend_forget_calls(mock_backend_t* mock) { mock->call_count = 0; }

static iree_status_t mock_record(mock_backend_t* mock, char kind, uint32_t first, uint32_t count, bool* out_fails) {
  assert_true(mock->call_count < MOCK_CALLS_MAX);
  mock->calls[mock->call_count++] = (mock_call_t){.kind = kind, .first = first, .count = count};
  *out_fails = mock->fail_call == mock->call_count;
  return *out_fails ? iree_make_status(IREE_STATUS_UNAVAILABLE, "the device is gone; open it again") : iree_ok_status();
}

// Writes the rows after checking them.
static void mock_write(mock_backend_t* mock, const mlxcel_rows_t* rows, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t position = (uint32_t)rows->positions[i];
    assert_int_equal(rows->slots[i], mock->slot);
    assert_in_range(rows->tokens[i], 0, MOCK_VOCAB - 1);
    assert_in_range(rows->positions[i], 0, mock->context - 1);
    assert_int_equal(position, (uint32_t)rows->positions[0] + i);
    for (uint32_t p = 0; p < position; ++p) assert_true(mock->is_written[p]);
    mock->kv[position] = rows->tokens[i];
    mock->is_written[position] = true;
  }
}

static int32_t mock_answer(const mock_backend_t* mock, uint32_t position) {
  if (mock->script) {
    uint32_t index = position - mock->script_start;
    return index < mock->script_count ? mock->script[index] : 0;
  }
  uint32_t hash = 2166136261u;
  for (uint32_t p = 0; p <= position; ++p) hash = (hash ^ (uint32_t)mock->kv[p]) * 16777619u;
  return 'a' + (int32_t)((hash >> 16) % 26);
}

static void mock_write_logits(const mock_backend_t* mock, uint32_t position, float* out_logits) {
  for (uint32_t i = 0; i < MOCK_VOCAB; ++i) out_logits[i] = -(float)i * 0.001f;
  out_logits[mock_answer(mock, position)] = 10.0f;
  if (mock->nan_position != 0 && position == mock->nan_position) out_logits[7] = NAN;
}

static iree_status_t mock_prefill(void* self, const mlxcel_rows_t* rows) {
  mock_backend_t* mock = self;
  bool fails = false;
  assert_in_range(rows->count, 1, mock->prefill_rows_max);
  iree_status_t status = mock_record(mock, 'p', (uint32_t)rows->positions[0], rows->count, &fails);
  mock_write(mock, rows, fails ? rows->count / 2 : rows->count);
  mock->prefill_first = (uint32_t)rows->positions[0];
  mock->prefill_count = fails ? 0 : rows->count;
  return status;
}

static iree_status_t mock_head(void* self, uint32_t row_count, const uint32_t* row_indices, float* out_logits) {
  mock_backend_t* mock = self;
  bool fails = false;
  assert_int_equal(row_count, 1);
  assert_true(row_indices[0] < mock->prefill_count);
  IREE_RETURN_IF_ERROR(mock_record(mock, 'h', row_indices[0], 1, &fails));
  mock_write_logits(mock, mock->prefill_first + row_indices[0], out_logits);
  return iree_ok_status();
}

static iree_status_t mock_decode(void* self, const mlxcel_rows_t* rows, float* out_logits) {
  mock_backend_t* mock = self;
  bool fails = false;
  assert_int_equal(rows->count, 1);
  IREE_RETURN_IF_ERROR(mock_record(mock, 'd', (uint32_t)rows->positions[0], 1, &fails));
  mock_write(mock, rows, 1);
  mock->prefill_count = 0;
  mock_write_logits(mock, (uint32_t)rows->positions[0], out_logits);
  return iree_ok_status();
}

mlxcel_backend_t mock_backend_interface(mock_backend_t* mock) {
  return (mlxcel_backend_t){
      .self = mock,
      .vocab_size = MOCK_VOCAB,
      .context = mock->context,
      .slot_count = MOCK_SLOTS,
      .prefill_rows_max = mock->prefill_rows_max,
      .prefill = mock_prefill,
      .head = mock_head,
      .decode = mock_decode,
  };
}

void mock_backend_print_calls(const mock_backend_t* mock, char* buffer, size_t capacity) {
  size_t used = 0;
  buffer[0] = 0;
  for (uint32_t i = 0; i < mock->call_count; ++i) {
    const mock_call_t* call = &mock->calls[i];
    const char* space = i == 0 ? "" : " ";
    int written = call->kind == 'p' ? snprintf(buffer + used, capacity - used, "%sp%u+%u", space, call->first, call->count)
                                    : snprintf(buffer + used, capacity - used, "%s%c%u", space, call->kind, call->first);
    assert_in_range(written, 1, capacity - used - 1);
    used += (size_t)written;
  }
}

void mock_text_initialize(mock_text_t* out_text) {
  *out_text = (mock_text_t){0};
  mlxcel_utf8_stream_initialize(false, &out_text->stream);
  mlxcel_strbuf_initialize(&out_text->piece);
}

void mock_text_deinitialize(mock_text_t* text) { mlxcel_strbuf_deinitialize(&text->piece); }

static iree_status_t mock_text_push(void* self, int32_t token, iree_string_view_t* out_text) {
  mock_text_t* text = self;
  mlxcel_strbuf_clear(&text->piece);
  if (text->fails) return iree_make_status(IREE_STATUS_INTERNAL, "no text for token %d", token);
  const uint8_t byte = (uint8_t)token;
  if (token < 256) mlxcel_utf8_stream_push(&text->stream, iree_make_const_byte_span(&byte, 1), &text->piece);
  *out_text = mlxcel_strbuf_view(&text->piece);
  return iree_ok_status();
}

static iree_status_t mock_text_flush(void* self, iree_string_view_t* out_text) {
  mock_text_t* text = self;
  mlxcel_strbuf_clear(&text->piece);
  mlxcel_utf8_stream_flush(&text->stream, &text->piece);
  *out_text = mlxcel_strbuf_view(&text->piece);
  return iree_ok_status();
}

mlxcel_token_text_t mock_text_interface(mock_text_t* text) { return (mlxcel_token_text_t){.self = text, .push = mock_text_push, .flush = mock_text_flush}; }
