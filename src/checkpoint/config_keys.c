#include "checkpoint/config_keys.h"

#include <string.h>

// What a key may hold.
typedef enum key_rule_e {
  KEY_ANY,             // read by the parser, or without effect on the result
  KEY_ZERO,            // only 0 (or null, false, empty)
  KEY_ONE,             // only 1
  KEY_FALSE,           // only null, false or empty: the rule for unknown keys as well, stated where a key is worth naming
  KEY_FULL_ATTENTION,  // only a list of "full_attention"
  KEY_CAUSAL_LM,       // only a list of the architectures that we run
} key_rule_t;

typedef struct key_row_t {
  const char* name;
  key_rule_t rule;
} key_row_t;

static const key_row_t model_keys[] = {
    {"_attn_implementation", KEY_ANY},
    {"_attn_implementation_autoset", KEY_ANY},
    {"_attn_implementation_internal", KEY_ANY},
    {"_commit_hash", KEY_ANY},
    {"_experts_implementation", KEY_ANY},
    {"_flash_attn_2_enabled", KEY_ANY},
    {"_name_or_path", KEY_ANY},
    {"add_cross_attention", KEY_FALSE},
    {"alibi", KEY_FALSE},
    {"architectures", KEY_CAUSAL_LM},
    {"attention_bias", KEY_ANY},
    {"attention_dropout", KEY_ANY},
    {"attention_multiplier", KEY_FALSE},
    {"attention_probs_dropout_prob", KEY_ANY},
    {"attn_implementation", KEY_ANY},
    {"attn_logit_softcapping", KEY_FALSE},
    {"attn_pdrop", KEY_ANY},
    {"bad_words_ids", KEY_ANY},
    {"begin_suppress_tokens", KEY_ANY},
    {"bos_token_id", KEY_ANY},
    {"chunk_size_feed_forward", KEY_ANY},
    {"classifier_dropout", KEY_ANY},
    {"clip_qkv", KEY_FALSE},
    {"cross_attention_hidden_size", KEY_FALSE},
    {"decoder_start_token_id", KEY_ANY},
    {"diversity_penalty", KEY_ANY},
    {"do_sample", KEY_ANY},
    {"dtype", KEY_ANY},
    {"early_stopping", KEY_ANY},
    {"embd_pdrop", KEY_ANY},
    {"embedding_multiplier", KEY_ONE},
    {"encoder_no_repeat_ngram_size", KEY_ANY},
    {"eos_token_id", KEY_ANY},
    {"exponential_decay_length_penalty", KEY_ANY},
    {"final_logit_softcapping", KEY_FALSE},
    {"finetuning_task", KEY_ANY},
    {"forced_bos_token_id", KEY_ANY},
    {"forced_eos_token_id", KEY_ANY},
    {"gradient_checkpointing", KEY_ANY},
    {"head_dim", KEY_ANY},
    {"hidden_act", KEY_ANY},
    {"hidden_dropout", KEY_ANY},
    {"hidden_dropout_prob", KEY_ANY},
    {"hidden_size", KEY_ANY},
    {"id2label", KEY_ANY},
    {"initializer_range", KEY_ANY},
    {"intermediate_size", KEY_ANY},
    {"is_decoder", KEY_ANY},
    {"is_encoder_decoder", KEY_FALSE},
    {"is_llama_config", KEY_ANY},
    {"label2id", KEY_ANY},
    {"layer_types", KEY_FULL_ATTENTION},
    {"length_penalty", KEY_ANY},
    {"logit_scale", KEY_ONE},
    {"logits_scaling", KEY_ONE},
    {"max_length", KEY_ANY},
    {"max_position_embeddings", KEY_ANY},
    {"max_sequence_length", KEY_ANY},
    {"min_length", KEY_ANY},
    {"mlp_bias", KEY_ANY},
    {"model_max_length", KEY_ANY},
    {"model_type", KEY_ANY},
    {"no_repeat_ngram_size", KEY_ANY},
    {"num_attention_heads", KEY_ANY},
    {"num_beam_groups", KEY_ANY},
    {"num_beams", KEY_ANY},
    {"num_experts", KEY_ZERO},
    {"num_hidden_layers", KEY_ANY},
    {"num_key_value_heads", KEY_ANY},
    {"num_labels", KEY_ANY},
    {"num_local_experts", KEY_ZERO},
    {"num_return_sequences", KEY_ANY},
    {"output_attentions", KEY_ANY},
    {"output_hidden_states", KEY_ANY},
    {"output_scores", KEY_ANY},
    {"pad_token_id", KEY_ANY},
    {"partial_rotary_factor", KEY_ONE},
    {"prefix", KEY_ANY},
    {"pretraining_tp", KEY_ONE},
    {"problem_type", KEY_ANY},
    {"pruned_heads", KEY_FALSE},
    {"quantization", KEY_ANY},
    {"quantization_config", KEY_ANY},
    {"remove_invalid_values", KEY_ANY},
    {"repetition_penalty", KEY_ANY},
    {"resid_pdrop", KEY_ANY},
    {"residual_multiplier", KEY_ONE},
    {"return_dict", KEY_ANY},
    {"return_dict_in_generate", KEY_ANY},
    {"rms_norm_eps", KEY_ANY},
    {"rope_interleaved", KEY_FALSE},
    {"rope_parameters", KEY_ANY},
    {"rope_scaling", KEY_ANY},
    {"rope_theta", KEY_ANY},
    {"rope_traditional", KEY_FALSE},
    {"sep_token_id", KEY_ANY},
    {"sliding_window", KEY_ANY},
    {"suppress_tokens", KEY_ANY},
    {"task_specific_params", KEY_ANY},
    {"temperature", KEY_ANY},
    {"tf_legacy_loss", KEY_ANY},
    {"tie_encoder_decoder", KEY_FALSE},
    {"tie_word_embeddings", KEY_ANY},
    {"tokenizer_class", KEY_ANY},
    {"top_k", KEY_ANY},
    {"top_p", KEY_ANY},
    {"torch_dtype", KEY_ANY},
    {"torchscript", KEY_ANY},
    {"transformers.js_config", KEY_ANY},
    {"transformers_version", KEY_ANY},
    {"typical_p", KEY_ANY},
    {"unk_token_id", KEY_ANY},
    {"use_bfloat16", KEY_ANY},
    {"use_cache", KEY_ANY},
    {"use_sliding_window", KEY_FALSE},
    {"vocab_size", KEY_ANY},
};

// Sampling that isn't implemented is allowed only where it is switched off.
static const key_row_t generation_keys[] = {
    {"_from_model_config", KEY_ANY},
    {"assistant_confidence_threshold", KEY_ANY},
    {"assistant_early_exit", KEY_FALSE},
    {"assistant_lookbehind", KEY_ANY},
    {"bad_words_ids", KEY_FALSE},
    {"begin_suppress_tokens", KEY_FALSE},
    {"bos_token_id", KEY_ANY},
    {"cache_config", KEY_ANY},
    {"cache_implementation", KEY_ANY},
    {"chat_format", KEY_ANY},
    {"compile_config", KEY_ANY},
    {"constraints", KEY_FALSE},
    {"decoder_start_token_id", KEY_ANY},
    {"disable_compile", KEY_ANY},
    {"diversity_penalty", KEY_ZERO},
    {"do_sample", KEY_ANY},
    {"dola_layers", KEY_FALSE},
    {"early_stopping", KEY_ANY},
    {"encoder_no_repeat_ngram_size", KEY_ZERO},
    {"encoder_repetition_penalty", KEY_ONE},
    {"eos_token_id", KEY_ANY},
    {"epsilon_cutoff", KEY_ZERO},
    {"eta_cutoff", KEY_ZERO},
    {"exponential_decay_length_penalty", KEY_FALSE},
    {"force_words_ids", KEY_FALSE},
    {"forced_bos_token_id", KEY_FALSE},
    {"forced_eos_token_id", KEY_FALSE},
    {"guidance_scale", KEY_ONE},
    {"is_assistant", KEY_ANY},
    {"length_penalty", KEY_ANY},
    {"low_memory", KEY_ANY},
    {"max_length", KEY_ANY},
    {"max_matching_ngram_size", KEY_ANY},
    {"max_new_tokens", KEY_ANY},
    {"max_time", KEY_ANY},
    {"min_length", KEY_ZERO},
    {"min_new_tokens", KEY_ZERO},
    {"min_p", KEY_ANY},
    {"no_repeat_ngram_size", KEY_ZERO},
    {"num_assistant_tokens", KEY_ANY},
    {"num_assistant_tokens_schedule", KEY_ANY},
    {"num_beam_groups", KEY_ONE},
    {"num_beams", KEY_ONE},
    {"num_return_sequences", KEY_ONE},
    {"output_attentions", KEY_ANY},
    {"output_hidden_states", KEY_ANY},
    {"output_logits", KEY_ANY},
    {"output_scores", KEY_ANY},
    {"pad_token_id", KEY_ANY},
    {"penalty_alpha", KEY_ZERO},
    {"prefill_chunk_size", KEY_ANY},
    {"prompt_lookup_num_tokens", KEY_ANY},
    {"remove_invalid_values", KEY_ANY},
    {"renormalize_logits", KEY_FALSE},
    {"repetition_penalty", KEY_ANY},
    {"return_dict_in_generate", KEY_ANY},
    {"return_legacy_cache", KEY_ANY},
    {"sequence_bias", KEY_FALSE},
    {"stop_strings", KEY_FALSE},
    {"suppress_tokens", KEY_FALSE},
    {"target_lookbehind", KEY_ANY},
    {"temperature", KEY_ANY},
    {"token_healing", KEY_FALSE},
    {"top_h", KEY_FALSE},
    {"top_k", KEY_ANY},
    {"top_p", KEY_ANY},
    {"transformers_version", KEY_ANY},
    {"typical_p", KEY_ONE},
    {"use_cache", KEY_ANY},
    {"watermarking_config", KEY_FALSE},
};

// Written by a fine-tuning tool for itself.
#define UNSLOTH_PREFIX "unsloth_"

// NULL if |key| isn't known.
static const key_row_t* config_keys_find(const key_row_t* rows, size_t row_count, const char* key) {
  static const key_row_t unsloth = {UNSLOTH_PREFIX, KEY_ANY};
  if (strncmp(key, UNSLOTH_PREFIX, strlen(UNSLOTH_PREFIX)) == 0) return &unsloth;
  for (size_t i = 0; i < row_count; ++i) {
    if (strcmp(key, rows[i].name) == 0) return &rows[i];
  }
  return NULL;
}

static bool config_keys_is_empty(const json_t* value) {
  return json_is_null(value) || json_is_false(value) || (json_is_string(value) && json_string_length(value) == 0) ||
         (json_is_array(value) && json_array_size(value) == 0) || (json_is_object(value) && json_object_size(value) == 0);
}

static bool config_keys_is_one_of(const json_t* value, const char* const* accepted, size_t accepted_count) {
  for (size_t i = 0; i < accepted_count; ++i) {
    if (json_is_string(value) && strcmp(json_string_value(value), accepted[i]) == 0) return true;
  }
  return false;
}

static bool config_keys_is_list_of(const json_t* value, const char* const* accepted, size_t accepted_count) {
  bool legal = json_is_array(value);
  for (size_t i = 0; legal && i < json_array_size(value); ++i) legal = config_keys_is_one_of(json_array_get(value, i), accepted, accepted_count);
  return legal;
}

static bool config_keys_allow(key_rule_t rule, const json_t* value) {
  static const char* const full_attention[] = {"full_attention"};
  static const char* const causal_lm[] = {"LlamaForCausalLM", "LLaMAForCausalLM", "MistralForCausalLM"};
  if (rule == KEY_ANY || config_keys_is_empty(value)) return true;
  switch (rule) {
    case KEY_ZERO:
      return json_is_number(value) && json_number_value(value) == 0.0;
    case KEY_ONE:
      return json_is_number(value) && json_number_value(value) == 1.0;
    case KEY_FULL_ATTENTION:
      return config_keys_is_list_of(value, full_attention, IREE_ARRAYSIZE(full_attention));
    case KEY_CAUSAL_LM:
      return config_keys_is_list_of(value, causal_lm, IREE_ARRAYSIZE(causal_lm));
    default:
      return false;
  }
}

static const char* config_keys_remedy(const key_row_t* row) {
  if (!row) return "the key is unknown and may change what the model computes: use another model, or remove the key if it has no effect";
  switch (row->rule) {
    case KEY_ZERO:
      return "only 0 is";
    case KEY_ONE:
      return "only 1 is";
    case KEY_FULL_ATTENTION:
      return "only full_attention in every layer is: use another model";
    case KEY_CAUSAL_LM:
      return "supported are LlamaForCausalLM and MistralForCausalLM: use another model";
    default:
      return "only null, false or an empty value is";
  }
}

static iree_status_t config_keys_check(const mlxcel_config_fields_t* fields, const key_row_t* rows, size_t row_count) {
  const char* key = NULL;
  json_t* value = NULL;
  json_object_foreach((json_t*)(uintptr_t)fields->object, key, value) {
    const key_row_t* row = config_keys_find(rows, row_count, key);
    if (config_keys_allow(row ? row->rule : KEY_FALSE, value)) continue;
    return mlxcel_config_fields_unsupported(fields, key, value, config_keys_remedy(row));
  }
  return iree_ok_status();
}

iree_status_t mlxcel_config_keys_check_model(const mlxcel_config_fields_t* fields) { return config_keys_check(fields, model_keys, IREE_ARRAYSIZE(model_keys)); }

iree_status_t mlxcel_config_keys_check_generation(const mlxcel_config_fields_t* fields) {
  return config_keys_check(fields, generation_keys, IREE_ARRAYSIZE(generation_keys));
}
