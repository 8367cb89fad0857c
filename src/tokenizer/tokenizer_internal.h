// tokenizer_internal.h: what the other files of src/tokenizer need of a tokenizer.
#ifndef MLXCEL_TOKENIZER_TOKENIZER_INTERNAL_H_
#define MLXCEL_TOKENIZER_TOKENIZER_INTERNAL_H_

#include "mlxcel_text.h"
#include "tokenizer/tokenizer.h"

const mlxcel_text_tokenizer_t* mlxcel_tokenizer_text(const mlxcel_tokenizer_t* tokenizer);
// The path of tokenizer.json, for messages.
const char* mlxcel_tokenizer_path(const mlxcel_tokenizer_t* tokenizer);

#endif  // MLXCEL_TOKENIZER_TOKENIZER_INTERNAL_H_
