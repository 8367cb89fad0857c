// Fuzzes config.json and generation_config.json together: the input is the first, then, behind a line "%%", the second. What is accepted must be within
// the limits that everything behind the configuration relies on.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/model_config.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static const char separator[] = "\n%%\n";

static void require(bool promise) {
  if (!promise) abort();
}

static void check_ids(const mlxcel_token_set_t* set, uint32_t vocab_size) {
  require(set->count <= MLXCEL_EOS_IDS_MAX);
  for (uint32_t i = 0; i < set->count; ++i) {
    require(set->ids[i] < vocab_size && (i == 0 || set->ids[i - 1] < set->ids[i]) && mlxcel_token_set_contains(set, set->ids[i]));
  }
}

static void check_quantization(const mlxcel_quantization_table_t* table) {
  require(table->present || table->override_count == 0);
  for (size_t i = 0; i < table->override_count; ++i) {
    const mlxcel_quantization_override_t* entry = &table->overrides[i];
    require(mlxcel_quantization_table_find(table, iree_make_cstring_view(entry->path)) == entry);
    require(entry->value.bits <= 8 && entry->value.bits != 1 && entry->value.bits != 7);
    require(entry->value.bits == 0 || entry->value.group_size == 32 || entry->value.group_size == 64 || entry->value.group_size == 128);
  }
}

static void check_config(const mlxcel_model_config_t* config) {
  require(config->layer_count - 1 < MLXCEL_LAYERS_MAX && config->hidden_size - 1 < MLXCEL_HIDDEN_MAX);
  require(config->intermediate_size - 1 < MLXCEL_INTERMEDIATE_MAX && config->vocab_size - 1 < MLXCEL_VOCAB_MAX);
  require(config->head_count - 1 < MLXCEL_HEADS_MAX && config->kv_head_count > 0 && config->head_count % config->kv_head_count == 0);
  require(config->head_dim - 1 < MLXCEL_HEAD_DIM_MAX && config->head_dim % 2 == 0);
  require(config->max_position_embeddings - 1 < MLXCEL_CONTEXT_MAX && config->bos_id >= -1 && config->bos_id < (int64_t)config->vocab_size);
  require(config->rms_norm_eps > 0 && config->rms_norm_eps <= 1);
  require(isfinite(config->rope.theta) && config->rope.theta >= 1);
  if (config->rope.kind != MLXCEL_ROPE_DEFAULT) require(config->rope.factor >= 1);
  if (config->rope.kind == MLXCEL_ROPE_LLAMA3) require(config->rope.high_freq_factor > config->rope.low_freq_factor && config->rope.low_freq_factor > 0);
  check_ids(&config->eos_ids, config->vocab_size);
  check_ids(&config->generation.eos_ids, config->vocab_size);
  check_quantization(&config->quantization);
  require(config->generation.temperature >= 0 && config->generation.top_k >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  iree_string_view_t config_text = iree_make_string_view((const char*)data, size);
  iree_string_view_t generation_text = iree_string_view_empty();
  const char* split = size > 0 ? memmem(data, size, separator, sizeof(separator) - 1) : NULL;
  if (split) {
    config_text.size = (size_t)(split - config_text.data);
    const char* second = split + sizeof(separator) - 1;
    generation_text = iree_make_string_view(second, size - config_text.size - (sizeof(separator) - 1));
  }
  mlxcel_model_config_t config;
  iree_status_t status = mlxcel_model_config_parse(config_text, generation_text, &config);
  if (iree_status_is_ok(status)) check_config(&config);
  if (iree_status_is_ok(status)) mlxcel_model_config_deinitialize(&config);
  iree_status_ignore(status);
  return 0;
}
