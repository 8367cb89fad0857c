// C ABI of the text shim: Hugging Face tokenizers and chat templates.
//
// Purpose: the only door between the C code and the Rust staticlib
// (libmlxcel_text.a). Nothing else in the project includes this header than
// src/tokenizer/.
//
// Invariants: no Rust panic crosses this boundary (it becomes
// MLXCEL_TEXT_INTERNAL); every function returns a code; text is UTF-8 given as
// pointer and length, never NUL-terminated unless said so; out_ parameters are
// zeroed first. `out_error` may be NULL; otherwise it receives NULL on success
// and a NUL-terminated message on failure, freed by the caller with
// mlxcel_text_string_free.
//
// Ownership: handles and buffers are freed by the function named beside the one
// that made them. Buffers are exact: the length that came out goes back in.
//
// Threads: a handle may be used by several threads at once; freeing it may not
// overlap with a use.
#ifndef MLXCEL_TEXT_H_
#define MLXCEL_TEXT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mlxcel_text_code_e {
  MLXCEL_TEXT_OK = 0,
  MLXCEL_TEXT_INVALID = 1,      // the input is malformed
  MLXCEL_TEXT_NOT_FOUND = 2,    // no such id or token
  MLXCEL_TEXT_UNSUPPORTED = 3,  // well formed, but refused by name
  MLXCEL_TEXT_LIMIT = 4,        // a named limit of this shim was reached
  MLXCEL_TEXT_RAISED = 5,       // the template called raise_exception
  MLXCEL_TEXT_SMALL = 6,        // the caller's buffer is too small
  MLXCEL_TEXT_INTERNAL = 7,     // a bug: a panic was caught
} mlxcel_text_code_t;

typedef struct mlxcel_text_tokenizer_t mlxcel_text_tokenizer_t;
typedef struct mlxcel_text_template_t mlxcel_text_template_t;

// How the bytes of single tokens are put together to equal the full decode.
typedef struct mlxcel_text_stream_plan_t {
  // Bytes that are no UTF-8 become one U+FFFD each (sentencepiece byte
  // fallback) instead of one for each maximal broken prefix (byte level).
  bool replaces_each_byte;
  // The decoder removes up to `strip_count` leading `strip_codepoint`
  // characters of the whole text.
  uint32_t strip_codepoint;
  uint32_t strip_count;
} mlxcel_text_stream_plan_t;

// Flags of one token's bytes.
enum mlxcel_text_token_flag_e {
  // The token stands for one raw byte; a run of such bytes is decoded together.
  MLXCEL_TEXT_TOKEN_RAW_BYTE = 1u << 0,
  // The bytes must be joined with their neighbours before they are decoded
  // (byte-level vocabularies cut characters anywhere).
  MLXCEL_TEXT_TOKEN_PARTIAL = 1u << 1,
  // A special token: skipped when special tokens are.
  MLXCEL_TEXT_TOKEN_SPECIAL = 1u << 2,
};

void mlxcel_text_string_free(char* string);
void mlxcel_text_ids_free(uint32_t* ids, size_t count);
void mlxcel_text_bytes_free(uint8_t* bytes, size_t size);

// Parses the bytes of a tokenizer.json. Truncation and padding settings in it
// are dropped: a prompt is never cut or padded silently. A model with BPE
// dropout is refused, for its ids would be random.
int32_t mlxcel_text_tokenizer_create(const uint8_t* json, size_t json_size, mlxcel_text_tokenizer_t** out_tokenizer, char** out_error);
void mlxcel_text_tokenizer_free(mlxcel_text_tokenizer_t* tokenizer);

// Encodes `text`. Bytes that are no UTF-8 are replaced first, as Python's
// bytes.decode("utf-8", "replace") does. `add_special` runs the post-processor
// (BOS, EOS); `parse_special` recognizes special tokens inside the text, else
// they are spelled out like any other text. `*out_ids` is NULL for no ids.
// `*out_leading_count` of them were put in front of the text by the post-processor.
int32_t mlxcel_text_tokenizer_encode(const mlxcel_text_tokenizer_t* tokenizer, const uint8_t* text, size_t text_size, bool add_special, bool parse_special,
                                     uint32_t** out_ids, size_t* out_count, size_t* out_leading_count, char** out_error);

// Decodes all ids at once exactly as Hugging Face's `decode` does; unknown ids
// are skipped, as there.
int32_t mlxcel_text_tokenizer_decode(const mlxcel_text_tokenizer_t* tokenizer, const uint32_t* ids, size_t count, bool skip_special, uint8_t** out_bytes,
                                     size_t* out_size, char** out_error);

// The rules for streaming; UNSUPPORTED names the decoder that has none.
int32_t mlxcel_text_tokenizer_stream_plan(const mlxcel_text_tokenizer_t* tokenizer, mlxcel_text_stream_plan_t* out_plan, char** out_error);

// The bytes that token `id` contributes; `is_first` says that no token before
// it contributed to the text. SMALL sets `*out_size` to the size needed.
int32_t mlxcel_text_tokenizer_token_bytes(const mlxcel_text_tokenizer_t* tokenizer, uint32_t id, bool is_first, uint8_t* buffer, size_t capacity,
                                          size_t* out_size, uint32_t* out_flags, char** out_error);

// Number of entries, added tokens included.
size_t mlxcel_text_tokenizer_vocab_size(const mlxcel_text_tokenizer_t* tokenizer);
// One more than the largest id (the vocabulary may have holes); 0 if empty.
uint64_t mlxcel_text_tokenizer_id_limit(const mlxcel_text_tokenizer_t* tokenizer);
bool mlxcel_text_tokenizer_is_special(const mlxcel_text_tokenizer_t* tokenizer, uint32_t id);
// The vocabulary's own spelling of `id` (byte-level alphabet and all).
int32_t mlxcel_text_tokenizer_id_to_token(const mlxcel_text_tokenizer_t* tokenizer, uint32_t id, uint8_t** out_bytes, size_t* out_size, char** out_error);
int32_t mlxcel_text_tokenizer_token_to_id(const mlxcel_text_tokenizer_t* tokenizer, const uint8_t* token, size_t token_size, uint32_t* out_id,
                                          char** out_error);

// Compiles a chat template.
int32_t mlxcel_text_template_create(const uint8_t* source, size_t source_size, mlxcel_text_template_t** out_template, char** out_error);
void mlxcel_text_template_free(mlxcel_text_template_t* chat_template);

// A variable of a rendering: a name and one JSON value. An empty name stands
// for all members of the JSON object `json`.
typedef struct mlxcel_text_variable_t {
  const char* name;
  size_t name_size;
  const char* json;
  size_t json_size;
} mlxcel_text_variable_t;

// Renders with `variables`; a later one replaces an earlier one of its name.
// Objects keep the order of their keys. RAISED carries the template's own text.
int32_t mlxcel_text_template_render(const mlxcel_text_template_t* chat_template, const mlxcel_text_variable_t* variables, size_t variable_count,
                                    uint8_t** out_bytes, size_t* out_size, char** out_error);

#ifdef __cplusplus
}
#endif

#endif  // MLXCEL_TEXT_H_
