#include "engine/generation_defaults.h"

#include <stdlib.h>
#include <string.h>

#include "engine/sampler.h"

// What transformers samples with when generation_config.json says do_sample and no more.
#define GENERATION_TEMPERATURE_DEFAULT 1.0f
#define GENERATION_TOP_K_DEFAULT 50

static void eos_set_add(mlxcel_eos_set_t* set, int64_t id, uint32_t vocab_size) {
  if (id < 0 || id >= (int64_t)vocab_size) return;
  size_t at = 0;
  while (at < set->count && set->ids[at] < id) ++at;
  if (at < set->count && set->ids[at] == id) return;
  memmove(&set->ids[at + 1], &set->ids[at], (set->count - at) * sizeof(set->ids[0]));
  set->ids[at] = (int32_t)id;
  ++set->count;
}

iree_status_t mlxcel_generation_eos_collect(const mlxcel_model_config_t* config, const int32_t* tokenizer_ids, size_t tokenizer_count,
                                            mlxcel_eos_set_t* out_set) {
  memset(out_set, 0, sizeof(*out_set));
  if (tokenizer_count > MLXCEL_EOS_IDS_MAX) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED,
                            "the tokenizer names %zu end-of-sequence tokens, at most %u are supported; shorten the list in "
                            "tokenizer_config.json",
                            tokenizer_count, MLXCEL_EOS_IDS_MAX);
  }
  const mlxcel_token_set_t* sets[] = {&config->eos_ids, &config->generation.eos_ids};
  for (size_t s = 0; s < 2; ++s) {
    for (uint32_t i = 0; i < sets[s]->count; ++i) eos_set_add(out_set, (int64_t)sets[s]->ids[i], config->vocab_size);
  }
  for (size_t i = 0; i < tokenizer_count; ++i) eos_set_add(out_set, tokenizer_ids[i], config->vocab_size);
  return iree_ok_status();
}

bool mlxcel_eos_set_contains(const mlxcel_eos_set_t* set, int32_t id) {
  for (size_t i = 0; i < set->count; ++i) {
    if (set->ids[i] == id) return true;
  }
  return false;
}

iree_status_t mlxcel_generation_sampling_collect(const mlxcel_model_config_t* config, mlxcel_sampling_t* out_sampling) {
  const mlxcel_generation_config_t* generation = &config->generation;
  mlxcel_sampling_initialize(out_sampling);
  if (generation->has_repetition_penalty) out_sampling->repetition_penalty = (float)generation->repetition_penalty;
  if (generation->do_sample) {
    out_sampling->temperature = generation->has_temperature ? (float)generation->temperature : GENERATION_TEMPERATURE_DEFAULT;
    int64_t top_k = generation->has_top_k ? generation->top_k : GENERATION_TOP_K_DEFAULT;
    out_sampling->top_k = top_k <= 0 ? 0 : (int32_t)(top_k < (int64_t)config->vocab_size ? top_k : (int64_t)config->vocab_size);
    if (generation->has_top_p) out_sampling->top_p = (float)generation->top_p;
    if (generation->has_min_p) out_sampling->min_p = (float)generation->min_p;
  }
  iree_status_t status = mlxcel_sampling_validate(out_sampling, config->vocab_size);
  return iree_status_is_ok(status) ? status : iree_status_annotate(status, IREE_SV("in generation_config.json; correct the value there"));
}

iree_status_t mlxcel_generation_context_resolve(uint32_t requested, const mlxcel_model_config_t* config, uint32_t* out_context) {
  uint32_t limit = config->max_position_embeddings;
  *out_context = requested == 0 ? limit : requested;
  if (requested <= limit) return iree_ok_status();
  *out_context = 0;
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a context of %u tokens is asked for, this model was made for at most %u; ask for %u or less",
                          requested, limit, limit);
}
