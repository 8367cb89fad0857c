// Hyperparameters of general.architecture = llama.
#include <string.h>

#include "base/limits.h"
#include "checkpoint/gguf_model.h"
#include "checkpoint/gguf_value.h"

// What a llama.* key may hold. Anything that isn't listed could change the mathematics and is refused.
typedef enum gguf_key_rule_e {
  GGUF_KEY_READ,  // read below
  GGUF_KEY_ZERO,  // 0, 0.0 or false: the feature is off
  GGUF_KEY_ONE,   // 1, 1.0 or true: a neutral factor
} gguf_key_rule_t;

static const struct {
  const char* key;
  gguf_key_rule_t rule;
} gguf_llama_keys[] = {
    {"llama.attention.causal", GGUF_KEY_ONE},
    {"llama.attention.clamp_kqv", GGUF_KEY_ZERO},
    {"llama.attention.head_count", GGUF_KEY_READ},
    {"llama.attention.head_count_kv", GGUF_KEY_READ},
    {"llama.attention.key_length", GGUF_KEY_READ},
    {"llama.attention.layer_norm_rms_epsilon", GGUF_KEY_READ},
    {"llama.attention.max_alibi_bias", GGUF_KEY_ZERO},
    {"llama.attention.sliding_window", GGUF_KEY_READ},
    {"llama.attention.value_length", GGUF_KEY_READ},
    {"llama.block_count", GGUF_KEY_READ},
    {"llama.context_length", GGUF_KEY_READ},
    {"llama.embedding_length", GGUF_KEY_READ},
    {"llama.expert_count", GGUF_KEY_ZERO},
    {"llama.expert_used_count", GGUF_KEY_ZERO},
    {"llama.feed_forward_length", GGUF_KEY_READ},
    {"llama.rope.dimension_count", GGUF_KEY_READ},
    {"llama.rope.freq_base", GGUF_KEY_READ},
    {"llama.rope.scale_linear", GGUF_KEY_READ},
    {"llama.rope.scaling.attn_factor", GGUF_KEY_ONE},
    {"llama.rope.scaling.factor", GGUF_KEY_READ},
    {"llama.rope.scaling.finetuned", GGUF_KEY_READ},                // says how the model was made; linear scaling doesn't need it
    {"llama.rope.scaling.original_context_length", GGUF_KEY_READ},  // the same
    {"llama.rope.scaling.type", GGUF_KEY_READ},
    {"llama.tensor_data_layout", GGUF_KEY_READ},
    {"llama.use_parallel_residual", GGUF_KEY_ZERO},
    {"llama.vocab_size", GGUF_KEY_READ},
};

static bool gguf_value_is_number(const mlxcel_gguf_t* file, const mlxcel_gguf_value_t* value, double expected) {
  uint64_t integer = 0;
  bool boolean = false;
  double real = 0;
  iree_status_t status = iree_ok_status();
  char key[MLXCEL_GGUF_KEY_BYTES_MAX + 1];
  memcpy(key, value->key.data, value->key.size);
  key[value->key.size] = 0;
  if (value->type == MLXCEL_GGUF_VALUE_BOOL) {
    status = mlxcel_gguf_read_bool(file, key, &boolean);
    real = boolean;
  } else if (value->type == MLXCEL_GGUF_VALUE_F32 || value->type == MLXCEL_GGUF_VALUE_F64) {
    status = mlxcel_gguf_read_f64(file, key, &real);
  } else {
    status = mlxcel_gguf_read_u64(file, key, UINT32_MAX, &integer);
    real = (double)integer;
  }
  bool is_equal = iree_status_is_ok(status) && real == expected;
  iree_status_ignore(status);
  return is_equal;
}

static iree_status_t gguf_check_key(const mlxcel_gguf_t* file, const mlxcel_gguf_value_t* value) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(gguf_llama_keys); ++i) {
    if (!iree_string_view_equal(value->key, iree_make_cstring_view(gguf_llama_keys[i].key))) continue;
    gguf_key_rule_t rule = gguf_llama_keys[i].rule;
    if (rule == GGUF_KEY_READ || gguf_value_is_number(file, value, rule == GGUF_KEY_ONE ? 1.0 : 0.0)) return iree_ok_status();
    break;
  }
  return mlxcel_gguf_value_refuse(file, value, "take a plain Llama model, or the model's Hugging Face folder");
}

// Every key that starts with "llama." is either read, neutral or refused.
static iree_status_t gguf_check_keys(const mlxcel_gguf_t* file) {
  for (size_t i = 0; i < mlxcel_gguf_value_count(file); ++i) {
    const mlxcel_gguf_value_t* value = mlxcel_gguf_value_at(file, i);
    if (!iree_string_view_starts_with(value->key, IREE_SV("llama."))) continue;
    IREE_RETURN_IF_ERROR(gguf_check_key(file, value));
  }
  return iree_ok_status();
}

// The file as a whole: a model of architecture llama, in one piece.
static iree_status_t gguf_check_general(const mlxcel_gguf_t* file) {
  iree_string_view_t architecture = iree_string_view_empty(), type = IREE_SV("model");
  uint64_t split_count = 1, quantization_version = 2;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_string(file, "general.architecture", 256, &architecture));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_string(file, "general.type", 256, &type));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, "split.count", UINT32_MAX, &split_count));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, "general.quantization_version", UINT32_MAX, &quantization_version));
  if (iree_string_view_is_empty(architecture)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s has no general.architecture; take a newer conversion of the model", mlxcel_gguf_origin(file));
  }
  if (!iree_string_view_equal(architecture, IREE_SV("llama"))) {
    const mlxcel_gguf_value_t* value = mlxcel_gguf_find_value(file, IREE_SV("general.architecture"));
    return mlxcel_gguf_value_refuse(file, value, "only llama is imported; take the model's Hugging Face folder");
  }
  if (!iree_string_view_equal(type, IREE_SV("model"))) {
    return mlxcel_gguf_value_refuse(file, mlxcel_gguf_find_value(file, IREE_SV("general.type")), "give the file of the model itself");
  }
  if (split_count > 1) {
    return mlxcel_gguf_value_refuse(file, mlxcel_gguf_find_value(file, IREE_SV("split.count")), "merge the pieces first (llama-gguf-split --merge)");
  }
  if (quantization_version != 2) {
    return mlxcel_gguf_value_refuse(file, mlxcel_gguf_find_value(file, IREE_SV("general.quantization_version")), "take a newer conversion of the model");
  }
  return iree_ok_status();
}

// A size that must be present and not 0.
static iree_status_t gguf_read_size(const mlxcel_gguf_t* file, const char* key, uint64_t max, uint64_t* out_value) {
  *out_value = 0;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, key, max, out_value));
  if (*out_value > 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %s is missing or 0; the file is damaged or no language model", mlxcel_gguf_origin(file), key);
}

static iree_status_t gguf_read_sizes(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* llama) {
  IREE_RETURN_IF_ERROR(gguf_read_size(file, "llama.block_count", MLXCEL_LAYERS_MAX, &llama->layer_count));
  IREE_RETURN_IF_ERROR(gguf_read_size(file, "llama.embedding_length", MLXCEL_HIDDEN_MAX, &llama->hidden_size));
  IREE_RETURN_IF_ERROR(gguf_read_size(file, "llama.feed_forward_length", MLXCEL_INTERMEDIATE_MAX, &llama->intermediate_size));
  IREE_RETURN_IF_ERROR(gguf_read_size(file, "llama.attention.head_count", MLXCEL_HEADS_MAX, &llama->head_count));
  IREE_RETURN_IF_ERROR(gguf_read_size(file, "llama.context_length", MLXCEL_CONTEXT_MAX, &llama->context_length));
  llama->kv_head_count = llama->head_count;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, "llama.attention.head_count_kv", MLXCEL_HEADS_MAX, &llama->kv_head_count));
  if (llama->kv_head_count == 0 || llama->head_count % llama->kv_head_count != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: llama.attention.head_count_kv = %" PRIu64 " doesn't divide llama.attention.head_count = %" PRIu64 "; the file is damaged",
                            mlxcel_gguf_origin(file), llama->kv_head_count, llama->head_count);
  }
  return iree_ok_status();
}

// Keys, values and rotated dimensions must all have one head's size.
static iree_status_t gguf_read_head_dim(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* llama) {
  llama->head_dim = llama->hidden_size / llama->head_count;
  bool is_given = mlxcel_gguf_find_value(file, IREE_SV("llama.attention.key_length")) != NULL;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, "llama.attention.key_length", MLXCEL_HEAD_DIM_MAX, &llama->head_dim));
  if ((!is_given && llama->hidden_size % llama->head_count != 0) || llama->head_dim == 0 || llama->head_dim % 2 != 0 || llama->head_dim > MLXCEL_HEAD_DIM_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: heads of size %" PRIu64 " (embedding_length %" PRIu64 ", %" PRIu64 " heads) aren't even and 2 to %u; the file is damaged",
                            mlxcel_gguf_origin(file), llama->head_dim, llama->hidden_size, llama->head_count, MLXCEL_HEAD_DIM_MAX);
  }
  static const char* const equal_keys[] = {"llama.attention.value_length", "llama.rope.dimension_count"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(equal_keys); ++i) {
    uint64_t other = llama->head_dim;
    IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, equal_keys[i], UINT32_MAX, &other));
    if (other != llama->head_dim) {
      return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                              "%s: %s = %" PRIu64 " differs from the head size %" PRIu64 ", which isn't supported; take another model",
                              mlxcel_gguf_origin(file), equal_keys[i], other, llama->head_dim);
    }
  }
  return iree_ok_status();
}

static iree_status_t gguf_read_floats(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* llama) {
  llama->rms_norm_eps = 0;
  llama->rope.theta = 10000;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_f64(file, "llama.attention.layer_norm_rms_epsilon", &llama->rms_norm_eps));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_f64(file, "llama.rope.freq_base", &llama->rope.theta));
  if (llama->rms_norm_eps <= 0 || llama->rms_norm_eps >= 1 || llama->rope.theta <= 0) {
    return iree_make_status(
        IREE_STATUS_INVALID_ARGUMENT,
        "%s: llama.attention.layer_norm_rms_epsilon is missing or not in (0, 1), or llama.rope.freq_base isn't positive; the file is damaged",
        mlxcel_gguf_origin(file));
  }
  return iree_ok_status();
}

// "none" and "linear"; a factor without a type is linear, an old file calls it scale_linear.
static iree_status_t gguf_read_rope_scaling(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* llama) {
  iree_string_view_t type = IREE_SV("linear");
  double factor = 0;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_string(file, "llama.rope.scaling.type", 64, &type));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_f64(file, "llama.rope.scale_linear", &factor));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_f64(file, "llama.rope.scaling.factor", &factor));
  llama->rope.kind = MLXCEL_ROPE_DEFAULT;
  llama->rope.factor = 1;
  bool is_none = iree_string_view_equal(type, IREE_SV("none"));
  if (!is_none && !iree_string_view_equal(type, IREE_SV("linear"))) {
    return mlxcel_gguf_value_refuse(file, mlxcel_gguf_find_value(file, IREE_SV("llama.rope.scaling.type")),
                                    "only none and linear are imported; take the model's Hugging Face folder");
  }
  if (factor == 0 || factor == 1) return iree_ok_status();
  if (is_none || factor < 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: llama.rope.scaling.factor = %.9g contradicts llama.rope.scaling.type or is negative; take another conversion of the model",
                            mlxcel_gguf_origin(file), factor);
  }
  llama->rope.kind = MLXCEL_ROPE_LINEAR;
  llama->rope.factor = factor;
  return iree_ok_status();
}

// Keys that are legal only with a value that changes nothing, but need more than a number to tell.
static iree_status_t gguf_check_layout(const mlxcel_gguf_t* file, const mlxcel_gguf_llama_t* llama) {
  uint64_t window = 0;
  iree_string_view_t layout = IREE_SV("Meta AI original pth");
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, "llama.attention.sliding_window", UINT32_MAX, &window));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_string(file, "llama.tensor_data_layout", 256, &layout));
  if (window != 0 && window < llama->context_length) {
    return mlxcel_gguf_value_refuse(file, mlxcel_gguf_find_value(file, IREE_SV("llama.attention.sliding_window")), "take the model's Hugging Face folder");
  }
  if (!iree_string_view_equal(layout, IREE_SV("Meta AI original pth"))) {
    return mlxcel_gguf_value_refuse(file, mlxcel_gguf_find_value(file, IREE_SV("llama.tensor_data_layout")), "take a newer conversion of the model");
  }
  return iree_ok_status();
}

// The embedding's rows count; llama.vocab_size must agree where it is given.
static iree_status_t gguf_read_vocab_size(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* llama) {
  const mlxcel_gguf_tensor_t* embedding = mlxcel_gguf_find_tensor(file, IREE_SV("token_embd.weight"));
  if (!embedding || embedding->rank != 2 || embedding->shape[0] > MLXCEL_VOCAB_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: tensor token_embd.weight is missing or isn't a matrix of at most %u rows; the file is damaged or no language model",
                            mlxcel_gguf_origin(file), MLXCEL_VOCAB_MAX);
  }
  llama->vocab_size = embedding->shape[0];
  uint64_t stated = llama->vocab_size;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_read_u64(file, "llama.vocab_size", UINT32_MAX, &stated));
  if (stated == llama->vocab_size) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: llama.vocab_size = %" PRIu64 ", but token_embd.weight has %" PRIu64 " rows; the file is damaged",
                          mlxcel_gguf_origin(file), stated, llama->vocab_size);
}

iree_status_t mlxcel_gguf_llama_read(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* out_llama) {
  memset(out_llama, 0, sizeof(*out_llama));
  IREE_RETURN_IF_ERROR(gguf_check_general(file));
  IREE_RETURN_IF_ERROR(gguf_check_keys(file));
  IREE_RETURN_IF_ERROR(gguf_read_sizes(file, out_llama));
  IREE_RETURN_IF_ERROR(gguf_read_head_dim(file, out_llama));
  IREE_RETURN_IF_ERROR(gguf_read_floats(file, out_llama));
  IREE_RETURN_IF_ERROR(gguf_read_rope_scaling(file, out_llama));
  IREE_RETURN_IF_ERROR(gguf_check_layout(file, out_llama));
  return gguf_read_vocab_size(file, out_llama);
}
