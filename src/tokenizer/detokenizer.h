// detokenizer.h: ids in, text out, one token at a time, always whole UTF-8 characters.
//
// A character cut across tokens is held back until it is complete. All pieces joined (the flushed one included) equal the full decode, as long as the ids
// spell valid UTF-8; where they don't, broken bytes come out as U+FFFD, as the full decode shows them.
// A detokenizer belongs to one sequence and one thread; it borrows the tokenizer.
#ifndef MLXCEL_TOKENIZER_DETOKENIZER_H_
#define MLXCEL_TOKENIZER_DETOKENIZER_H_

#include "base/base.h"
#include "base/strbuf.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8_stream.h"

typedef struct mlxcel_detokenizer_options_t {
  // Special tokens contribute no text.
  bool skips_special;
  // The ids begin a text of their own, so that the decoder's leading-space rule applies; false when they continue a prompt.
  bool begins_text;
} mlxcel_detokenizer_options_t;
// skips_special on, begins_text on: equal to a full decode of the same ids.
void mlxcel_detokenizer_options_initialize(mlxcel_detokenizer_options_t* out_options);

typedef struct mlxcel_detokenizer_t {
  const mlxcel_tokenizer_t* tokenizer;
  mlxcel_detokenizer_options_t options;
  mlxcel_utf8_stream_t stream;
  mlxcel_strbuf_t text;      // the piece handed out last
  uint32_t strip_codepoint;  // leading character that the decoder removes, up to strip_left times
  uint32_t strip_left;
  bool is_first;  // no token contributed yet
} mlxcel_detokenizer_t;

// UNIMPLEMENTED names a decoder of tokenizer.json that can't be streamed.
iree_status_t mlxcel_detokenizer_initialize(const mlxcel_tokenizer_t* tokenizer, const mlxcel_detokenizer_options_t* options,
                                            mlxcel_detokenizer_t* out_detokenizer);
void mlxcel_detokenizer_deinitialize(mlxcel_detokenizer_t* detokenizer);

// Adds a token; *out_text is the text that is complete now, possibly empty, valid until the next call. Ids outside the vocabulary (padding rows) are skipped.
iree_status_t mlxcel_detokenizer_push(mlxcel_detokenizer_t* detokenizer, int32_t id, iree_string_view_t* out_text);
// Ends the text: what was held back comes out as U+FFFD. Afterwards the detokenizer continues as if new tokens followed.
iree_status_t mlxcel_detokenizer_flush(mlxcel_detokenizer_t* detokenizer, iree_string_view_t* out_text);

#endif  // MLXCEL_TOKENIZER_DETOKENIZER_H_
