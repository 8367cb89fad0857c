// generation_defaults.h: what a checkpoint's own files say about generation, made effective: sampling, end tokens, context. Pure functions.
#ifndef MLXCEL_ENGINE_GENERATION_DEFAULTS_H_
#define MLXCEL_ENGINE_GENERATION_DEFAULTS_H_

#include "base/limits.h"
#include "checkpoint/model_config.h"
#include "mlxcel/mlxcel.h"

// End-of-sequence tokens of all three sources.
#define MLXCEL_EOS_UNION_MAX (3 * MLXCEL_EOS_IDS_MAX)
typedef struct mlxcel_eos_set_t {
  size_t count;
  int32_t ids[MLXCEL_EOS_UNION_MAX];  // ascending, no repetition, each below vocab_size
} mlxcel_eos_set_t;

// Union of config.json, generation_config.json and the tokenizer's |tokenizer_ids|. Ids that the model's vocabulary lacks can't be generated and are left out.
// RESOURCE_EXHAUSTED if the tokenizer names more than MLXCEL_EOS_IDS_MAX.
iree_status_t mlxcel_generation_eos_collect(const mlxcel_model_config_t* config, const int32_t* tokenizer_ids, size_t tokenizer_count,
                                            mlxcel_eos_set_t* out_set);
bool mlxcel_eos_set_contains(const mlxcel_eos_set_t* set, int32_t id);

// do_sample absent or false: greedy. True: its values, and transformers' defaults (temperature 1, top-k 50, top-p 1) where it names none. A repetition
// penalty holds in both cases, as in transformers. INVALID_ARGUMENT if a value can't be used.
iree_status_t mlxcel_generation_sampling_collect(const mlxcel_model_config_t* config, mlxcel_sampling_t* out_sampling);

// 0 = the model's limit; more than that is INVALID_ARGUMENT with both numbers.
iree_status_t mlxcel_generation_context_resolve(uint32_t requested, const mlxcel_model_config_t* config, uint32_t* out_context);

#endif  // MLXCEL_ENGINE_GENERATION_DEFAULTS_H_
