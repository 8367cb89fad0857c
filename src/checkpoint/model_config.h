// model_config.h: config.json and generation_config.json as typed values.
//
// Only keys that are understood are used; a key that changes the mathematics and isn't implemented is refused by key and value
// (UNIMPLEMENTED), never ignored. Keys known to have no effect on inference (architectures, torch_dtype, transformers_version, ...) are listed in
// config_keys.c; any other unknown key is refused unless its value is null, false or empty. Model types: llama, mistral.
// Plain values; the quantization table owns memory. Immutable after reading, so any number of threads may use it.
#ifndef MLXCEL_CHECKPOINT_MODEL_CONFIG_H_
#define MLXCEL_CHECKPOINT_MODEL_CONFIG_H_

#include "base/base.h"
#include "base/limits.h"
#include "checkpoint/quantization.h"

typedef enum mlxcel_rope_kind_e {
  MLXCEL_ROPE_DEFAULT,
  MLXCEL_ROPE_LINEAR,  // positions divided by factor
  MLXCEL_ROPE_LLAMA3,  // frequency-dependent scaling
} mlxcel_rope_kind_t;

typedef struct mlxcel_rope_config_t {
  mlxcel_rope_kind_t kind;
  double theta;                             // base frequency, default 10000
  double factor;                            // linear, llama3
  double low_freq_factor;                   // llama3
  double high_freq_factor;                  // llama3
  double original_max_position_embeddings;  // llama3
} mlxcel_rope_config_t;

// The ids that end a text. Those of a configuration are below its vocab_size.
typedef struct mlxcel_token_set_t {
  uint32_t count;
  uint32_t ids[MLXCEL_EOS_IDS_MAX];  // ascending, no repetition
} mlxcel_token_set_t;

bool mlxcel_token_set_contains(const mlxcel_token_set_t* set, uint32_t id);
// Adds |id| unless it is there. RESOURCE_EXHAUSTED if the set is full.
iree_status_t mlxcel_token_set_insert(mlxcel_token_set_t* set, uint32_t id);
// Adds every id of |other|.
iree_status_t mlxcel_token_set_unite(mlxcel_token_set_t* set, const mlxcel_token_set_t* other);

// What generation_config.json suggests; absent values are told by the has_ flags.
typedef struct mlxcel_generation_config_t {
  bool do_sample;  // absent = false: greedy
  bool has_temperature, has_top_k, has_top_p, has_min_p, has_repetition_penalty;
  double temperature, top_p, min_p, repetition_penalty;
  int64_t top_k;
  mlxcel_token_set_t eos_ids;
} mlxcel_generation_config_t;

typedef struct mlxcel_model_config_t {
  char model_type[64];  // "llama", "mistral"
  uint32_t layer_count, hidden_size, intermediate_size, vocab_size;
  uint32_t head_count, kv_head_count, head_dim;
  uint32_t max_position_embeddings;  // context limit of the model
  uint32_t sliding_window;           // 0 = none
  float rms_norm_eps;
  bool tie_word_embeddings;  // absent = false, as in Hugging Face; mlxcel_checkpoint_head holds it against the tensors
  bool attention_bias;       // q, k, v and o have biases
  bool mlp_bias;             // gate, up and down have biases
  mlxcel_rope_config_t rope;
  mlxcel_token_set_t eos_ids;
  int64_t bos_id;  // -1 = absent
  mlxcel_quantization_table_t quantization;
  mlxcel_generation_config_t generation;
} mlxcel_model_config_t;

// Reads |folder|/config.json and, where present, generation_config.json. Free with mlxcel_model_config_deinitialize (after an error there is
// nothing to free).
iree_status_t mlxcel_model_config_read(const char* folder, mlxcel_model_config_t* out_config);
// The same over texts in memory; |generation_text|.data is NULL if there is no generation_config.json.
iree_status_t mlxcel_model_config_parse(iree_string_view_t config_text, iree_string_view_t generation_text, mlxcel_model_config_t* out_config);
void mlxcel_model_config_deinitialize(mlxcel_model_config_t* config);

#endif  // MLXCEL_CHECKPOINT_MODEL_CONFIG_H_
