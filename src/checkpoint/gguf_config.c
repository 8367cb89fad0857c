// config.json and generation_config.json of an imported model.
#include <string.h>

#include "checkpoint/gguf_model.h"
#include "checkpoint/gguf_value.h"

#define GGUF_GROUP 32

static iree_status_t gguf_out_of_memory(const mlxcel_gguf_t* file) {
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for config.json", mlxcel_gguf_origin(file));
}

static json_t* gguf_rope_json(const mlxcel_rope_config_t* rope) {
  if (rope->kind == MLXCEL_ROPE_LINEAR) return json_pack("{s:s, s:f}", "rope_type", "linear", "factor", rope->factor);
  if (rope->kind != MLXCEL_ROPE_LLAMA3) return json_null();
  return json_pack("{s:s, s:f, s:f, s:f, s:I}", "rope_type", "llama3", "factor", rope->factor, "low_freq_factor", rope->low_freq_factor, "high_freq_factor",
                   rope->high_freq_factor, "original_max_position_embeddings", (json_int_t)rope->original_max_position_embeddings);
}

static json_t* gguf_quantization_entry(uint32_t bits) { return json_pack("{s:i, s:i, s:s}", "group_size", GGUF_GROUP, "bits", (int)bits, "mode", "affine"); }

// The default, and an entry for each module with other bits. Dense modules need none: they have no scales.
static json_t* gguf_quantization_json(const mlxcel_gguf_plan_t* plan) {
  json_t* table = gguf_quantization_entry(plan->base_bits);
  for (size_t i = 0; table && i < plan->output_count; ++i) {
    const mlxcel_gguf_output_t* output = &plan->outputs[i];
    uint32_t bits = mlxcel_gguf_tensor_type_bits(output->source->type);
    if (output->part != MLXCEL_GGUF_PART_CODES || bits == plan->base_bits) continue;
    char path[sizeof(output->name)];
    memcpy(path, output->name, sizeof(path));
    path[strlen(path) - strlen(".weight")] = 0;
    if (json_object_set_new(table, path, gguf_quantization_entry(bits)) != 0) {
      json_decref(table);
      return NULL;
    }
  }
  return table;
}

static json_t* gguf_ids_json(const mlxcel_gguf_tokenizer_t* tokenizer) {
  if (tokenizer->eos_count == 1) return json_integer((json_int_t)tokenizer->eos_ids[0]);
  json_t* ids = json_array();
  for (size_t i = 0; ids && i < tokenizer->eos_count; ++i) {
    if (json_array_append_new(ids, json_integer((json_int_t)tokenizer->eos_ids[i])) == 0) continue;
    json_decref(ids);
    ids = NULL;
  }
  return ids;
}

static bool gguf_set_id(json_t* object, const char* key, int64_t id) { return id < 0 || json_object_set_new(object, key, json_integer((json_int_t)id)) == 0; }

static bool gguf_set_sizes(json_t* config, const mlxcel_gguf_llama_t* llama) {
  const struct {
    const char* key;
    uint64_t value;
  } sizes[] = {
      {"num_hidden_layers", llama->layer_count},
      {"hidden_size", llama->hidden_size},
      {"intermediate_size", llama->intermediate_size},
      {"vocab_size", llama->vocab_size},
      {"num_attention_heads", llama->head_count},
      {"num_key_value_heads", llama->kv_head_count},
      {"head_dim", llama->head_dim},
      {"max_position_embeddings", llama->context_length},
  };
  bool is_ok = true;
  for (size_t i = 0; i < IREE_ARRAYSIZE(sizes); ++i) is_ok = is_ok && json_object_set_new(config, sizes[i].key, json_integer((json_int_t)sizes[i].value)) == 0;
  return is_ok;
}

iree_status_t mlxcel_gguf_config_create(const mlxcel_gguf_t* file, const mlxcel_gguf_llama_t* llama, const mlxcel_gguf_plan_t* plan,
                                        const mlxcel_gguf_tokenizer_t* tokenizer, json_t** out_config) {
  *out_config = NULL;
  json_t* config =
      json_pack("{s:[s], s:s, s:s, s:f, s:f, s:o, s:b, s:b, s:b}", "architectures", "LlamaForCausalLM", "model_type", "llama", "hidden_act", "silu",
                "rms_norm_eps", llama->rms_norm_eps, "rope_theta", llama->rope.theta, "rope_scaling", gguf_rope_json(&llama->rope), "tie_word_embeddings",
                (int)plan->tie_word_embeddings, "attention_bias", (int)plan->attention_bias, "mlp_bias", (int)plan->mlp_bias);
  bool is_ok = config && gguf_set_sizes(config, llama) && gguf_set_id(config, "bos_token_id", tokenizer->bos_id) &&
               gguf_set_id(config, "eos_token_id", tokenizer->eos_id) && gguf_set_id(config, "pad_token_id", tokenizer->pad_id);
  if (is_ok && plan->base_bits != 0) is_ok = json_object_set_new(config, "quantization", gguf_quantization_json(plan)) == 0;
  if (!is_ok) {
    json_decref(config);
    return gguf_out_of_memory(file);
  }
  *out_config = config;
  return iree_ok_status();
}

// What the file recommends for sampling; files without recommendations stay greedy.
static iree_status_t gguf_set_sampling(const mlxcel_gguf_t* file, json_t* config) {
  static const struct {
    const char *source, *target;
  } reals[] = {
      {"general.sampling.temp", "temperature"},
      {"general.sampling.top_p", "top_p"},
      {"general.sampling.min_p", "min_p"},
      {"general.sampling.penalty_repeat", "repetition_penalty"},
  };
  bool samples = false, is_ok = true;
  for (size_t i = 0; i < IREE_ARRAYSIZE(reals); ++i) {
    double value = -1;
    IREE_RETURN_IF_ERROR(mlxcel_gguf_read_f64(file, reals[i].source, &value));
    if (value < 0) continue;
    is_ok = is_ok && json_object_set_new(config, reals[i].target, json_real(value)) == 0;
    samples = samples || (i == 0 && value > 0);
  }
  uint64_t top_k = 0;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, "general.sampling.top_k", INT32_MAX, &top_k));
  if (top_k > 0) is_ok = is_ok && json_object_set_new(config, "top_k", json_integer((json_int_t)top_k)) == 0;
  if (samples) is_ok = is_ok && json_object_set_new(config, "do_sample", json_true()) == 0;
  return is_ok ? iree_ok_status() : gguf_out_of_memory(file);
}

iree_status_t mlxcel_gguf_generation_config_create(const mlxcel_gguf_t* file, const mlxcel_gguf_tokenizer_t* tokenizer, json_t** out_config) {
  *out_config = NULL;
  json_t* config = json_object();
  bool is_ok = config && gguf_set_id(config, "bos_token_id", tokenizer->bos_id) && gguf_set_id(config, "pad_token_id", tokenizer->pad_id);
  if (is_ok && tokenizer->eos_count > 0) is_ok = json_object_set_new(config, "eos_token_id", gguf_ids_json(tokenizer)) == 0;
  iree_status_t status = is_ok ? gguf_set_sampling(file, config) : gguf_out_of_memory(file);
  if (iree_status_is_ok(status)) {
    *out_config = config;
  } else {
    json_decref(config);
  }
  return status;
}
