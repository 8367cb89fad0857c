// llama_model.h: a Llama checkpoint's tensors, for the sources of this folder.
#ifndef MLXCEL_FAMILIES_LLAMA_LLAMA_MODEL_H_
#define MLXCEL_FAMILIES_LLAMA_LLAMA_MODEL_H_

#include "checkpoint/model_config.h"
#include "emit/helpers/helpers.h"

typedef struct mlxcel_llama_layer_t {
  mlxcel_weight_vector_t input_norm, post_norm;
  mlxcel_weight_t q, k, v, o, gate, up, down;
} mlxcel_llama_layer_t;

typedef struct mlxcel_llama_model_t {
  const mlxcel_model_config_t* config;
  mlxcel_weight_t embedding, head;
  mlxcel_weight_vector_t norm;
  mlxcel_llama_layer_t* layers;           // [config->layer_count]
  mlxcel_dtype_t kv_dtype, hidden_dtype;  // of the caches and of the last layer's output (llama_types.h)
} mlxcel_llama_model_t;

#endif  // MLXCEL_FAMILIES_LLAMA_LLAMA_MODEL_H_
