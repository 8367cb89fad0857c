// special_tokens.h: the special tokens that a checkpoint names in tokenizer_config.json and special_tokens_map.json. Private to src/tokenizer.
#ifndef MLXCEL_TOKENIZER_SPECIAL_TOKENS_H_
#define MLXCEL_TOKENIZER_SPECIAL_TOKENS_H_

#include "base/base.h"
#include "base/json.h"

// An object with those of bos_token, eos_token, unk_token, sep_token, pad_token, cls_token, mask_token (strings) and additional_special_tokens (an array of
// strings) that are set; |config| wins over |map|; either may be NULL. The caller owns *out_tokens (json_decref). |folder| is for messages.
iree_status_t mlxcel_special_tokens_collect(const json_t* config, const json_t* map, const char* folder, json_t** out_tokens);

#endif  // MLXCEL_TOKENIZER_SPECIAL_TOKENS_H_
