// mock_backend.h: a model for tests of sequences: no weights, checked calls, scripted or prefix-dependent answers.
//
// Tokens 0 to 255 are bytes of text, the rest has no text. Every call is checked against the rules of runtime.h (slots, order, positions written before,
// row counts) and recorded. The answer to a position depends on everything that was written up to it, as a real model's does.
#ifndef MLXCEL_ENGINE_MOCK_BACKEND_H_
#define MLXCEL_ENGINE_MOCK_BACKEND_H_

#include "engine/backend.h"
#include "engine/sequence.h"
#include "tokenizer/utf8_stream.h"

#define MOCK_VOCAB 260
#define MOCK_EOS_A 256
#define MOCK_EOS_B 257
#define MOCK_CONTEXT_MAX 64
#define MOCK_SLOTS 3
#define MOCK_CALLS_MAX 256

typedef struct mock_call_t {
  char kind;              // 'p'refill, 'h'ead, 'd'ecode
  uint32_t first, count;  // positions; head: row index, 1
} mock_call_t;

typedef struct mock_backend_t {
  uint32_t slot;          // the only slot that may be used
  const int32_t* script;  // answers from position |script_start| on; NULL = a hash of the prefix
  uint32_t script_start, script_count;
  int32_t kv[MOCK_CONTEXT_MAX];  // token written at each position
  bool is_written[MOCK_CONTEXT_MAX];
  uint32_t prefill_first;  // position of row 0 of the last prefill
  uint32_t prefill_count;
  mock_call_t calls[MOCK_CALLS_MAX];
  uint32_t call_count;
  uint32_t fail_call;     // this call (from 1) fails after having written half its rows; 0 = none
  uint32_t nan_position;  // the answer to this position has a NaN; 0 = none
  uint32_t context, prefill_rows_max;
} mock_backend_t;

void mock_backend_initialize(uint32_t context, uint32_t prefill_rows_max, mock_backend_t* out_mock);
// Answers |tokens| one after the other behind a prompt of |prompt_count| tokens; then zeros.
void mock_backend_set_script(mock_backend_t* mock, uint32_t prompt_count, const int32_t* tokens, uint32_t count);
void mock_backend_forget_calls(mock_backend_t* mock);
mlxcel_backend_t mock_backend_interface(mock_backend_t* mock);
// "p0+4 p4+1 h0 d5 d6": what was called.
void mock_backend_print_calls(const mock_backend_t* mock, char* buffer, size_t capacity);

// The text of byte tokens.
typedef struct mock_text_t {
  mlxcel_utf8_stream_t stream;
  mlxcel_strbuf_t piece;
  bool fails;
} mock_text_t;
void mock_text_initialize(mock_text_t* out_text);
void mock_text_deinitialize(mock_text_t* text);
mlxcel_token_text_t mock_text_interface(mock_text_t* text);

#endif  // MLXCEL_ENGINE_MOCK_BACKEND_H_
