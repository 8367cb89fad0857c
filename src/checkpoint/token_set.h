// token_set.h: reading a set of token ids (EOS) from a configuration.
#ifndef MLXCEL_CHECKPOINT_TOKEN_SET_H_
#define MLXCEL_CHECKPOINT_TOKEN_SET_H_

#include "checkpoint/config_fields.h"
#include "checkpoint/model_config.h"

// Adds the ids of |key| (an integer, or a list of integers; absent or null: none) to |set|. Each must be below |vocab_size|: the model couldn't
// produce others, and they'd index past the logits.
iree_status_t mlxcel_token_set_read(const mlxcel_config_fields_t* fields, const char* key, uint32_t vocab_size, mlxcel_token_set_t* set);

#endif  // MLXCEL_CHECKPOINT_TOKEN_SET_H_
