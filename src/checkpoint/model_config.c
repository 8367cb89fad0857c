#include "checkpoint/model_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/json.h"
#include "checkpoint/config_fields.h"
#include "checkpoint/config_keys.h"
#include "checkpoint/generation_config.h"
#include "checkpoint/rope_config.h"
#include "checkpoint/token_set.h"

#define RMS_NORM_EPS_DEFAULT 1e-6
#define RMS_NORM_EPS_MIN 1e-30  // smaller ones don't keep an f32 sum of squares from being 0

// What Hugging Face's configuration classes assume where a file is silent.
typedef struct model_type_t {
  const char* name;
  uint32_t max_position_embeddings;
  uint32_t sliding_window;  // 0 = none
  bool has_biases;          // attention_bias and mlp_bias exist
} model_type_t;

static const model_type_t model_types[] = {
    {.name = "llama", .max_position_embeddings = 2048, .sliding_window = 0, .has_biases = true},
    {.name = "mistral", .max_position_embeddings = 131072, .sliding_window = 4096, .has_biases = false},
};

static iree_status_t model_config_read_type(const mlxcel_config_fields_t* fields, mlxcel_model_config_t* config, const model_type_t** out_type) {
  const char* name = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_require(fields, "model_type"));
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_string(fields, "model_type", &name));
  for (size_t i = 0; i < IREE_ARRAYSIZE(model_types); ++i) {
    if (strcmp(name, model_types[i].name) != 0) continue;
    memcpy(config->model_type, name, strlen(name) + 1);
    *out_type = &model_types[i];
    return iree_ok_status();
  }
  return mlxcel_config_fields_unsupported(fields, "model_type", mlxcel_config_fields_get(fields, "model_type"),
                                          "supported are llama and mistral: use such a model");
}

static iree_status_t model_config_read_dimensions(const mlxcel_config_fields_t* fields, const model_type_t* type, mlxcel_model_config_t* config) {
  const struct {
    const char* key;
    uint32_t max;
    uint32_t* value;
  } required[] = {
      {"num_hidden_layers", MLXCEL_LAYERS_MAX, &config->layer_count},
      {"hidden_size", MLXCEL_HIDDEN_MAX, &config->hidden_size},
      {"intermediate_size", MLXCEL_INTERMEDIATE_MAX, &config->intermediate_size},
      {"num_attention_heads", MLXCEL_HEADS_MAX, &config->head_count},
      {"vocab_size", MLXCEL_VOCAB_MAX, &config->vocab_size},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(required); ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_config_fields_require(fields, required[i].key));
    IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_u32(fields, required[i].key, 1, required[i].max, required[i].value));
  }
  config->max_position_embeddings = type->max_position_embeddings;
  return mlxcel_config_fields_read_u32(fields, "max_position_embeddings", 1, MLXCEL_CONTEXT_MAX, &config->max_position_embeddings);
}

static iree_status_t model_config_read_heads(const mlxcel_config_fields_t* fields, mlxcel_model_config_t* config) {
  config->kv_head_count = config->head_count;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_u32(fields, "num_key_value_heads", 1, MLXCEL_HEADS_MAX, &config->kv_head_count));
  if (config->head_count % config->kv_head_count != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: num_attention_heads (%u) isn't a multiple of num_key_value_heads (%u): correct the file",
                            fields->origin, config->head_count, config->kv_head_count);
  }
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_u32(fields, "head_dim", 1, MLXCEL_HEAD_DIM_MAX, &config->head_dim));
  if (config->head_dim == 0) {
    if (config->hidden_size % config->head_count != 0) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                              "%s: head_dim is missing and hidden_size (%u) isn't a multiple of num_attention_heads (%u): add head_dim", fields->origin,
                              config->hidden_size, config->head_count);
    }
    config->head_dim = config->hidden_size / config->head_count;
  }
  if (config->head_dim > MLXCEL_HEAD_DIM_MAX || config->head_dim % 2 != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: head_dim is %u; an even number up to %u is supported (rotary embedding turns pairs): use another model", fields->origin,
                            config->head_dim, MLXCEL_HEAD_DIM_MAX);
  }
  return iree_ok_status();
}

static iree_status_t model_config_read_window(const mlxcel_config_fields_t* fields, const model_type_t* type, mlxcel_model_config_t* config) {
  // An absent key means the class's default, null means none.
  uint32_t window = json_object_get(fields->object, "sliding_window") ? 0 : type->sliding_window;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_u32(fields, "sliding_window", 1, UINT32_MAX, &window));
  config->sliding_window = 0;
  if (window == 0 || window >= config->max_position_embeddings) return iree_ok_status();
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                          "%s: sliding_window is %u%s, below max_position_embeddings (%u), which isn't supported; use a model without a window, or set "
                          "max_position_embeddings to %u",
                          fields->origin, window, json_object_get(fields->object, "sliding_window") ? "" : " (the default where the key is absent)",
                          config->max_position_embeddings, window);
}

static iree_status_t model_config_read_switches(const mlxcel_config_fields_t* fields, const model_type_t* type, mlxcel_model_config_t* config) {
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_bool(fields, "tie_word_embeddings", &config->tie_word_embeddings));
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_bool(fields, "attention_bias", &config->attention_bias));
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_bool(fields, "mlp_bias", &config->mlp_bias));
  if (!type->has_biases && (config->attention_bias || config->mlp_bias)) {
    const char* key = config->attention_bias ? "attention_bias" : "mlp_bias";
    return mlxcel_config_fields_unsupported(fields, key, mlxcel_config_fields_get(fields, key), "this model type has no such biases: use model_type llama");
  }
  const char* activation = "silu";
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_string(fields, "hidden_act", &activation));
  if (strcmp(activation, "silu") != 0) {
    return mlxcel_config_fields_unsupported(fields, "hidden_act", mlxcel_config_fields_get(fields, "hidden_act"), "only silu is: use another model");
  }
  double epsilon = RMS_NORM_EPS_DEFAULT;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_double(fields, "rms_norm_eps", RMS_NORM_EPS_MIN, 1.0, "a number from 1e-30 to 1", &epsilon));
  config->rms_norm_eps = (float)epsilon;
  return iree_ok_status();
}

static iree_status_t model_config_read_fields(const mlxcel_config_fields_t* fields, mlxcel_model_config_t* config) {
  const model_type_t* type = NULL;
  IREE_RETURN_IF_ERROR(model_config_read_type(fields, config, &type));
  IREE_RETURN_IF_ERROR(mlxcel_config_keys_check_model(fields));
  IREE_RETURN_IF_ERROR(model_config_read_dimensions(fields, type, config));
  IREE_RETURN_IF_ERROR(model_config_read_heads(fields, config));
  IREE_RETURN_IF_ERROR(model_config_read_window(fields, type, config));
  IREE_RETURN_IF_ERROR(model_config_read_switches(fields, type, config));
  IREE_RETURN_IF_ERROR(mlxcel_rope_config_parse(fields, &config->rope));
  config->bos_id = -1;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_i64(fields, "bos_token_id", 0, (int64_t)config->vocab_size - 1, &config->bos_id));
  IREE_RETURN_IF_ERROR(mlxcel_token_set_read(fields, "eos_token_id", config->vocab_size, &config->eos_ids));
  return mlxcel_quantization_table_parse(fields->object, fields->origin, &config->quantization);
}

static iree_status_t model_config_require_object(const json_t* value, const char* origin) {
  if (json_is_object(value)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: not a JSON object; take the file from the model's source", origin);
}

static iree_status_t model_config_parse_model(iree_string_view_t text, const char* origin, mlxcel_model_config_t* config) {
  json_t* value = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_parse(text, origin, &value));
  const mlxcel_config_fields_t fields = {.object = value, .origin = origin, .scope = ""};
  iree_status_t status = model_config_require_object(value, origin);
  if (iree_status_is_ok(status)) status = model_config_read_fields(&fields, config);
  json_decref(value);
  return status;
}

static iree_status_t model_config_parse_generation(iree_string_view_t text, const char* origin, mlxcel_model_config_t* config) {
  if (!text.data) return iree_ok_status();
  json_t* value = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_parse(text, origin, &value));
  const mlxcel_config_fields_t fields = {.object = value, .origin = origin, .scope = ""};
  iree_status_t status = model_config_require_object(value, origin);
  if (iree_status_is_ok(status)) status = mlxcel_generation_config_parse(&fields, config->vocab_size, &config->generation);
  json_decref(value);
  return status;
}

static iree_status_t model_config_parse(iree_string_view_t config_text, const char* config_origin, iree_string_view_t generation_text,
                                        const char* generation_origin, mlxcel_model_config_t* out_config) {
  memset(out_config, 0, sizeof(*out_config));
  iree_status_t status = model_config_parse_model(config_text, config_origin, out_config);
  if (iree_status_is_ok(status)) status = model_config_parse_generation(generation_text, generation_origin, out_config);
  if (!iree_status_is_ok(status)) mlxcel_model_config_deinitialize(out_config);
  return status;
}

iree_status_t mlxcel_model_config_parse(iree_string_view_t config_text, iree_string_view_t generation_text, mlxcel_model_config_t* out_config) {
  return model_config_parse(config_text, "config.json", generation_text, "generation_config.json", out_config);
}

iree_status_t mlxcel_model_config_read(const char* folder, mlxcel_model_config_t* out_config) {
  memset(out_config, 0, sizeof(*out_config));
  char* config_path = NULL;
  char* generation_path = NULL;
  char* config_text = NULL;
  char* generation_text = NULL;
  size_t config_size = 0, generation_size = 0;
  iree_status_t status = mlxcel_path_join(folder, IREE_SV("config.json"), &config_path);
  if (iree_status_is_ok(status)) status = mlxcel_path_join(folder, IREE_SV("generation_config.json"), &generation_path);
  if (iree_status_is_ok(status)) status = mlxcel_file_read(config_path, MLXCEL_CONFIG_FILE_BYTES_MAX, &config_text, &config_size);
  if (iree_status_is_ok(status) && mlxcel_path_exists(generation_path)) {
    status = mlxcel_file_read(generation_path, MLXCEL_CONFIG_FILE_BYTES_MAX, &generation_text, &generation_size);
  }
  if (iree_status_is_ok(status)) {
    status = model_config_parse(iree_make_string_view(config_text, config_size), config_path, iree_make_string_view(generation_text, generation_size),
                                generation_path, out_config);
  }
  free(generation_text);
  free(config_text);
  free(generation_path);
  free(config_path);
  return status;
}

void mlxcel_model_config_deinitialize(mlxcel_model_config_t* config) {
  mlxcel_quantization_table_deinitialize(&config->quantization);
  memset(config, 0, sizeof(*config));
}
