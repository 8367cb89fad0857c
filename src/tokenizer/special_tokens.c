#include "tokenizer/special_tokens.h"

static const char* const mlxcel_special_token_keys[] = {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

// The text of a token, written as a string or as an object with "content"; NULL if it is neither.
static json_t* mlxcel_special_token_text(const json_t* value) {
  json_t* text = json_is_object(value) ? json_object_get(value, "content") : (json_t*)value;
  return json_is_string(text) ? text : NULL;
}

static iree_status_t mlxcel_special_token_error(const char* folder, const char* key) {
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "tokenizer_config.json or special_tokens_map.json in %s: %s is no token; write a string or an object with \"content\"", folder, key);
}

static iree_status_t mlxcel_special_tokens_add_list(const json_t* list, const char* folder, json_t* tokens) {
  json_t* texts = json_array();
  bool is_complete = json_is_array(list) && texts;
  for (size_t i = 0; i < json_array_size(list) && is_complete; ++i) {
    json_t* text = mlxcel_special_token_text(json_array_get(list, i));
    is_complete = text && json_array_append(texts, text) == 0;
  }
  // json_object_set_new takes |texts| in every case.
  if (is_complete)
    return json_object_set_new(tokens, "additional_special_tokens", texts) == 0 ? iree_ok_status() : iree_status_from_code(IREE_STATUS_RESOURCE_EXHAUSTED);
  json_decref(texts);
  return mlxcel_special_token_error(folder, "additional_special_tokens");
}

static iree_status_t mlxcel_special_tokens_fill(const json_t* config, const json_t* map, const char* folder, json_t* tokens) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(mlxcel_special_token_keys); ++i) {
    const char* key = mlxcel_special_token_keys[i];
    json_t* value = json_object_get(config, key);
    if (!value || json_is_null(value)) value = json_object_get(map, key);
    if (!value || json_is_null(value)) continue;
    json_t* text = mlxcel_special_token_text(value);
    if (!text) return mlxcel_special_token_error(folder, key);
    if (json_object_set(tokens, key, text) != 0) return iree_status_from_code(IREE_STATUS_RESOURCE_EXHAUSTED);
  }
  json_t* list = json_object_get(config, "additional_special_tokens");
  if (!list || json_is_null(list)) list = json_object_get(map, "additional_special_tokens");
  if (!list || json_is_null(list)) return iree_ok_status();
  return mlxcel_special_tokens_add_list(list, folder, tokens);
}

iree_status_t mlxcel_special_tokens_collect(const json_t* config, const json_t* map, const char* folder, json_t** out_tokens) {
  *out_tokens = NULL;
  json_t* tokens = json_object();
  if (!tokens) return iree_status_from_code(IREE_STATUS_RESOURCE_EXHAUSTED);
  iree_status_t status = mlxcel_special_tokens_fill(config, map, folder, tokens);
  if (iree_status_is_ok(status)) {
    *out_tokens = tokens;
  } else {
    json_decref(tokens);
  }
  return status;
}
