// tokenizer.h: text <-> token ids of one checkpoint, as Hugging Face computes them, and its chat template.
//
// Reads, from the checkpoint's folder: tokenizer.json (required), tokenizer_config.json and special_tokens_map.json (optional: special tokens, BOS switch),
// chat_template.jinja or the template of tokenizer_config.json (optional).
//
// Invariants: immutable after opening, so one tokenizer may be used by any number of threads. Ids are int32_t, never negative; -1 says "none".
// Exactly one BOS: encode plain completions with ADD_SPECIAL and text rendered by the chat template without it (a template writes its own BOS, or its
// model wants none). A completion whose text already starts with the BOS token gets no second one.
#ifndef MLXCEL_TOKENIZER_TOKENIZER_H_
#define MLXCEL_TOKENIZER_TOKENIZER_H_

#include "base/base.h"
#include "tokenizer/chat_template.h"

// One encode call takes at most this much: far above any context, and the working memory of an encode is a multiple of it.
#define MLXCEL_TOKENIZER_ENCODE_BYTES_MAX (64u << 20)

typedef struct mlxcel_tokenizer_t mlxcel_tokenizer_t;

typedef enum mlxcel_tokenizer_encode_flag_e {
  MLXCEL_TOKENIZER_ENCODE_NONE = 0,
  // Add what the tokenizer puts around a text: BOS, for some models EOS.
  MLXCEL_TOKENIZER_ENCODE_ADD_SPECIAL = 1 << 0,
  // Special tokens spelled out inside the text become their ids; otherwise they are text like any other.
  MLXCEL_TOKENIZER_ENCODE_PARSE_SPECIAL = 1 << 1,
} mlxcel_tokenizer_encode_flag_t;
typedef uint32_t mlxcel_tokenizer_encode_flags_t;

// Opens the tokenizer of the checkpoint in |folder|. NOT_FOUND without a tokenizer.json. The caller owns *out_tokenizer.
iree_status_t mlxcel_tokenizer_open(const char* folder, iree_allocator_t allocator, mlxcel_tokenizer_t** out_tokenizer);
// NULL is fine.
void mlxcel_tokenizer_close(mlxcel_tokenizer_t* tokenizer);

// Ids of |text|; bytes that are no UTF-8 are read as U+FFFD, as Python's decode("utf-8", "replace") does. *out_ids comes from the tokenizer's allocator and is
// freed by mlxcel_tokenizer_ids_free; NULL for no ids.
iree_status_t mlxcel_tokenizer_encode(const mlxcel_tokenizer_t* tokenizer, iree_string_view_t text, mlxcel_tokenizer_encode_flags_t flags, int32_t** out_ids,
                                      size_t* out_count);
void mlxcel_tokenizer_ids_free(const mlxcel_tokenizer_t* tokenizer, int32_t* ids);

// The text of all |ids| at once, as Hugging Face decodes them: ids outside the vocabulary contribute nothing. For a stream use detokenizer.h.
// *out_text is NUL-terminated, never NULL on success, and freed by mlxcel_tokenizer_text_free.
iree_status_t mlxcel_tokenizer_decode(const mlxcel_tokenizer_t* tokenizer, const int32_t* ids, size_t count, bool skips_special, char** out_text,
                                      size_t* out_size);
void mlxcel_tokenizer_text_free(const mlxcel_tokenizer_t* tokenizer, char* text);

// The vocabulary's own spelling of |id|, or NOT_FOUND. Freed by mlxcel_tokenizer_text_free.
iree_status_t mlxcel_tokenizer_token_text(const mlxcel_tokenizer_t* tokenizer, int32_t id, char** out_text, size_t* out_size);
// The id whose spelling is |token|, or -1.
int32_t mlxcel_tokenizer_token_id(const mlxcel_tokenizer_t* tokenizer, iree_string_view_t token);

// One more than the largest id. A model's vocab_size may be larger: rows beyond are padding.
size_t mlxcel_tokenizer_id_limit(const mlxcel_tokenizer_t* tokenizer);
bool mlxcel_tokenizer_is_special(const mlxcel_tokenizer_t* tokenizer, int32_t id);
// -1 when tokenizer_config.json names none, or one that the vocabulary lacks.
int32_t mlxcel_tokenizer_bos_id(const mlxcel_tokenizer_t* tokenizer);
// The tokens that tokenizer_config.json calls EOS: a view, possibly empty. The model's own lists (config.json, generation_config.json) come on top.
const int32_t* mlxcel_tokenizer_eos_ids(const mlxcel_tokenizer_t* tokenizer, size_t* out_count);

bool mlxcel_tokenizer_has_chat_template(const mlxcel_tokenizer_t* tokenizer);
// Renders the conversation of |options| with the tokenizer's special tokens (bos_token, eos_token, ...) as variables. NOT_FOUND without a chat template.
// *out_text is freed by mlxcel_tokenizer_text_free; encode it without ADD_SPECIAL and with PARSE_SPECIAL.
iree_status_t mlxcel_tokenizer_chat_render(const mlxcel_tokenizer_t* tokenizer, const mlxcel_chat_options_t* options, char** out_text, size_t* out_size);

#endif  // MLXCEL_TOKENIZER_TOKENIZER_H_
