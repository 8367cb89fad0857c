// model_config.h: config.json and generation_config.json as typed values.
//
// Only keys that are understood are used; a key that changes the mathematics and isn't implemented is refused by key and value
// (UNIMPLEMENTED), never ignored. Keys known to have no effect on inference (architectures, torch_dtype, transformers_version, ...) are listed in
// the source; any other unknown key is reported by `inspect` and refused only if its value isn't null, false or empty.
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
  double theta;   // base frequency, default 10000
  double factor;  // linear, llama3
  double low_freq_factor;                    // llama3
  double high_freq_factor;                   // llama3
  double original_max_position_embeddings;   // llama3
} mlxcel_rope_config_t;

typedef struct mlxcel_token_set_t {
  uint32_t count;
  uint32_t ids[MLXCEL_EOS_IDS_MAX];  // ascending, no repetition
} mlxcel_token_set_t;

// What generation_config.json suggests; a negative/NaN "absent" is told by the has_ flags.
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
  bool tie_word_embeddings, attention_bias, mlp_bias;
  mlxcel_rope_config_t rope;
  mlxcel_token_set_t eos_ids;
  int64_t bos_id;  // -1 = absent
  mlxcel_quantization_table_t quantization;
  mlxcel_generation_config_t generation;
} mlxcel_model_config_t;

// Reads |folder|/config.json and, where present, generation_config.json. Free with mlxcel_model_config_deinitialize.
iree_status_t mlxcel_model_config_read(const char* folder, mlxcel_model_config_t* out_config);
void mlxcel_model_config_deinitialize(mlxcel_model_config_t* config);

#endif  // MLXCEL_CHECKPOINT_MODEL_CONFIG_H_
