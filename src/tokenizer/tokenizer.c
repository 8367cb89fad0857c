#include "tokenizer/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/log.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/text_status.h"
#include "tokenizer/tokenizer_internal.h"

// tokenizer_config.json may say whether a text gets a BOS; when it doesn't, tokenizer.json's post-processor alone decides.
typedef enum mlxcel_bos_rule_e { MLXCEL_BOS_AS_PROCESSED, MLXCEL_BOS_ALWAYS, MLXCEL_BOS_NEVER } mlxcel_bos_rule_t;

struct mlxcel_tokenizer_t {
  iree_allocator_t allocator;
  mlxcel_text_tokenizer_t* text;
  mlxcel_chat_template_t* chat_template;  // NULL if there is none
  char* path;                             // of tokenizer.json
  size_t id_limit;
  mlxcel_bos_rule_t bos_rule;
  int32_t bos_id;
  int32_t eos_ids[1];
  size_t eos_count;
};

const mlxcel_text_tokenizer_t* mlxcel_tokenizer_text(const mlxcel_tokenizer_t* tokenizer) { return tokenizer->text; }

const char* mlxcel_tokenizer_path(const mlxcel_tokenizer_t* tokenizer) { return tokenizer->path; }

// --- opening -------------------------------------------------------------------------------------------------------------------------------

static iree_status_t mlxcel_tokenizer_load_text(const char* folder, mlxcel_tokenizer_t* tokenizer) {
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, IREE_SV("tokenizer.json"), &tokenizer->path));
  if (!mlxcel_path_exists(tokenizer->path)) {
    return iree_make_status(IREE_STATUS_NOT_FOUND,
                            "%s does not exist; copy tokenizer.json from the model's original checkpoint into this folder (a GGUF file: run mlxcel import)",
                            tokenizer->path);
  }
  mlxcel_mapped_file_t file;
  IREE_RETURN_IF_ERROR(mlxcel_mapped_file_open(tokenizer->path, MLXCEL_TOKENIZER_FILE_BYTES_MAX, &file));
  char* error = NULL;
  int32_t code = mlxcel_text_tokenizer_create(file.data, file.size, &tokenizer->text, &error);
  mlxcel_mapped_file_close(&file);
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, tokenizer->path, error, "get the file again from the model's original checkpoint"));
  uint64_t id_limit = mlxcel_text_tokenizer_id_limit(tokenizer->text);
  if (id_limit > MLXCEL_VOCAB_MAX) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: token id %" PRIu64 " is above the limit of %u; the file is damaged or not a tokenizer's",
                            tokenizer->path, id_limit - 1, MLXCEL_VOCAB_MAX - 1);
  }
  tokenizer->id_limit = (size_t)id_limit;
  return iree_ok_status();
}

// Reads a JSON object of |folder|, or NULL if the file isn't there.
static iree_status_t mlxcel_tokenizer_read_optional(const char* folder, const char* name, json_t** out_object) {
  *out_object = NULL;
  char* path = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  iree_status_t status = iree_ok_status();
  if (mlxcel_path_exists(path)) status = mlxcel_json_read_file(path, MLXCEL_CONFIG_FILE_BYTES_MAX, out_object);
  if (iree_status_is_ok(status) && *out_object && !json_is_object(*out_object)) {
    status = iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s is no JSON object; get the file again from the model's original checkpoint", path);
    json_decref(*out_object);
    *out_object = NULL;
  }
  free(path);
  return status;
}

static int32_t mlxcel_tokenizer_named_id(const mlxcel_tokenizer_t* tokenizer, const json_t* tokens, const char* key) {
  const json_t* text = json_object_get(tokens, key);
  if (!text) return -1;
  int32_t id = mlxcel_tokenizer_token_id(tokenizer, iree_make_string_view(json_string_value(text), json_string_length(text)));
  if (id < 0) mlxcel_log(MLXCEL_LOG_WARNING, "%s: %s '%s' is not in the vocabulary and is ignored", tokenizer->path, key, json_string_value(text));
  return id;
}

static iree_status_t mlxcel_tokenizer_apply_config(const char* folder, const json_t* config, const json_t* map, mlxcel_tokenizer_t* tokenizer) {
  json_t* tokens = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_special_tokens_collect(config, map, folder, &tokens));
  tokenizer->bos_id = mlxcel_tokenizer_named_id(tokenizer, tokens, "bos_token");
  int32_t eos_id = mlxcel_tokenizer_named_id(tokenizer, tokens, "eos_token");
  if (eos_id >= 0) tokenizer->eos_ids[tokenizer->eos_count++] = eos_id;
  const json_t* adds_bos = json_object_get(config, "add_bos_token");
  if (json_is_boolean(adds_bos) && tokenizer->bos_id >= 0) tokenizer->bos_rule = json_is_true(adds_bos) ? MLXCEL_BOS_ALWAYS : MLXCEL_BOS_NEVER;
  iree_status_t status = mlxcel_chat_template_load(folder, config, tokens, tokenizer->allocator, &tokenizer->chat_template);
  json_decref(tokens);
  return status;
}

static iree_status_t mlxcel_tokenizer_load_config(const char* folder, mlxcel_tokenizer_t* tokenizer) {
  json_t* config = NULL;
  json_t* map = NULL;
  iree_status_t status = mlxcel_tokenizer_read_optional(folder, "tokenizer_config.json", &config);
  if (iree_status_is_ok(status)) status = mlxcel_tokenizer_read_optional(folder, "special_tokens_map.json", &map);
  if (iree_status_is_ok(status)) status = mlxcel_tokenizer_apply_config(folder, config, map, tokenizer);
  json_decref(map);
  json_decref(config);
  return status;
}

iree_status_t mlxcel_tokenizer_open(const char* folder, iree_allocator_t allocator, mlxcel_tokenizer_t** out_tokenizer) {
  *out_tokenizer = NULL;
  mlxcel_tokenizer_t* tokenizer = NULL;
  IREE_RETURN_IF_ERROR(iree_allocator_malloc(allocator, sizeof(*tokenizer), (void**)&tokenizer));
  tokenizer->allocator = allocator;
  tokenizer->bos_id = -1;
  iree_status_t status = mlxcel_tokenizer_load_text(folder, tokenizer);
  if (iree_status_is_ok(status)) status = mlxcel_tokenizer_load_config(folder, tokenizer);
  if (iree_status_is_ok(status)) {
    *out_tokenizer = tokenizer;
  } else {
    mlxcel_tokenizer_close(tokenizer);
  }
  return status;
}

void mlxcel_tokenizer_close(mlxcel_tokenizer_t* tokenizer) {
  if (!tokenizer) return;
  mlxcel_chat_template_release(tokenizer->chat_template);
  mlxcel_text_tokenizer_free(tokenizer->text);
  free(tokenizer->path);
  iree_allocator_free(tokenizer->allocator, tokenizer);
}

// --- text to ids ---------------------------------------------------------------------------------------------------------------------------

// What the BOS rule makes of the ids that the shim gave: how many to drop in front, and whether to put a BOS there.
typedef struct mlxcel_bos_edit_t {
  size_t dropped;
  size_t added;
} mlxcel_bos_edit_t;

static mlxcel_bos_edit_t mlxcel_tokenizer_bos_edit(const mlxcel_tokenizer_t* tokenizer, const uint32_t* ids, size_t count, size_t leading_count) {
  mlxcel_bos_edit_t edit = {0, 0};
  if (tokenizer->bos_id < 0) return edit;
  uint32_t bos = (uint32_t)tokenizer->bos_id;
  bool starts = count > 0 && ids[0] == bos;
  bool is_doubled = starts && count > 1 && ids[1] == bos;
  // The post-processor put one in front of a text that has its own, as a template's or a careful user's text has.
  if (is_doubled && leading_count > 0) edit.dropped = 1;
  if (tokenizer->bos_rule == MLXCEL_BOS_ALWAYS && !starts) edit.added = 1;
  if (tokenizer->bos_rule == MLXCEL_BOS_NEVER && starts && leading_count > 0) edit.dropped = 1;
  return edit;
}

static iree_status_t mlxcel_tokenizer_copy_ids(const mlxcel_tokenizer_t* tokenizer, const uint32_t* ids, size_t count, mlxcel_bos_edit_t edit,
                                               int32_t** out_ids, size_t* out_count) {
  size_t total = count - edit.dropped + edit.added;
  if (total == 0) return iree_ok_status();
  int32_t* copy = NULL;
  IREE_RETURN_IF_ERROR(iree_allocator_malloc_array(tokenizer->allocator, total, sizeof(*copy), (void**)&copy));
  if (edit.added) copy[0] = tokenizer->bos_id;
  // Ids are below MLXCEL_VOCAB_MAX, checked when the tokenizer was opened.
  for (size_t i = edit.dropped; i < count; ++i) copy[i - edit.dropped + edit.added] = (int32_t)ids[i];
  *out_ids = copy;
  *out_count = total;
  return iree_ok_status();
}

iree_status_t mlxcel_tokenizer_encode(const mlxcel_tokenizer_t* tokenizer, iree_string_view_t text, mlxcel_tokenizer_encode_flags_t flags, int32_t** out_ids,
                                      size_t* out_count) {
  *out_ids = NULL;
  *out_count = 0;
  bool adds_special = (flags & MLXCEL_TOKENIZER_ENCODE_ADD_SPECIAL) != 0;
  bool parses_special = (flags & MLXCEL_TOKENIZER_ENCODE_PARSE_SPECIAL) != 0;
  uint32_t* ids = NULL;
  size_t count = 0;
  size_t leading_count = 0;
  char* error = NULL;
  int32_t code =
      mlxcel_text_tokenizer_encode(tokenizer->text, (const uint8_t*)text.data, text.size, adds_special, parses_special, &ids, &count, &leading_count, &error);
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, "text to encode", error, NULL));
  mlxcel_bos_edit_t edit = {0, 0};
  if (adds_special) edit = mlxcel_tokenizer_bos_edit(tokenizer, ids, count, leading_count);
  iree_status_t status = mlxcel_tokenizer_copy_ids(tokenizer, ids, count, edit, out_ids, out_count);
  mlxcel_text_ids_free(ids, count);
  return status;
}

void mlxcel_tokenizer_ids_free(const mlxcel_tokenizer_t* tokenizer, int32_t* ids) { iree_allocator_free(tokenizer->allocator, ids); }

// --- ids to text ---------------------------------------------------------------------------------------------------------------------------

// A NUL-terminated copy of the shim's buffer, which is freed.
static iree_status_t mlxcel_tokenizer_take_text(iree_allocator_t allocator, uint8_t* bytes, size_t size, char** out_text, size_t* out_size) {
  iree_status_t status = iree_allocator_malloc_uninitialized(allocator, size + 1, (void**)out_text);
  if (iree_status_is_ok(status)) {
    if (size > 0) memcpy(*out_text, bytes, size);
    (*out_text)[size] = 0;
    *out_size = size;
  }
  mlxcel_text_bytes_free(bytes, size);
  return status;
}

iree_status_t mlxcel_tokenizer_decode(const mlxcel_tokenizer_t* tokenizer, const int32_t* ids, size_t count, bool skips_special, char** out_text,
                                      size_t* out_size) {
  *out_text = NULL;
  *out_size = 0;
  for (size_t i = 0; i < count; ++i) {
    if (ids[i] < 0) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "token id %" PRId32 " at position %zu is negative; ids start at 0", ids[i], i);
  }
  uint8_t* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  // int32_t ids that aren't negative have the same bits as uint32_t.
  int32_t code = mlxcel_text_tokenizer_decode(tokenizer->text, (const uint32_t*)ids, count, skips_special, &bytes, &size, &error);
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, tokenizer->path, error, NULL));
  return mlxcel_tokenizer_take_text(tokenizer->allocator, bytes, size, out_text, out_size);
}

iree_status_t mlxcel_tokenizer_token_text(const mlxcel_tokenizer_t* tokenizer, int32_t id, char** out_text, size_t* out_size) {
  *out_text = NULL;
  *out_size = 0;
  uint8_t* bytes = NULL;
  size_t size = 0;
  char* error = NULL;
  int32_t code = mlxcel_text_tokenizer_id_to_token(tokenizer->text, (uint32_t)id, &bytes, &size, &error);
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, tokenizer->path, error, NULL));
  return mlxcel_tokenizer_take_text(tokenizer->allocator, bytes, size, out_text, out_size);
}

void mlxcel_tokenizer_text_free(const mlxcel_tokenizer_t* tokenizer, char* text) { iree_allocator_free(tokenizer->allocator, text); }

// --- questions -----------------------------------------------------------------------------------------------------------------------------

int32_t mlxcel_tokenizer_token_id(const mlxcel_tokenizer_t* tokenizer, iree_string_view_t token) {
  uint32_t id = 0;
  int32_t code = mlxcel_text_tokenizer_token_to_id(tokenizer->text, (const uint8_t*)token.data, token.size, &id, NULL);
  return code == MLXCEL_TEXT_OK ? (int32_t)id : -1;
}

size_t mlxcel_tokenizer_id_limit(const mlxcel_tokenizer_t* tokenizer) { return tokenizer->id_limit; }

bool mlxcel_tokenizer_is_special(const mlxcel_tokenizer_t* tokenizer, int32_t id) {
  return id >= 0 && mlxcel_text_tokenizer_is_special(tokenizer->text, (uint32_t)id);
}

int32_t mlxcel_tokenizer_bos_id(const mlxcel_tokenizer_t* tokenizer) { return tokenizer->bos_id; }

const int32_t* mlxcel_tokenizer_eos_ids(const mlxcel_tokenizer_t* tokenizer, size_t* out_count) {
  *out_count = tokenizer->eos_count;
  return tokenizer->eos_ids;
}

// --- chat ----------------------------------------------------------------------------------------------------------------------------------

bool mlxcel_tokenizer_has_chat_template(const mlxcel_tokenizer_t* tokenizer) { return tokenizer->chat_template != NULL; }

iree_status_t mlxcel_tokenizer_chat_render(const mlxcel_tokenizer_t* tokenizer, const mlxcel_chat_options_t* options, char** out_text, size_t* out_size) {
  *out_text = NULL;
  *out_size = 0;
  if (!tokenizer->chat_template) {
    return iree_make_status(IREE_STATUS_NOT_FOUND, "the checkpoint of %s has no chat template; add chat_template.jinja to the folder, or use plain completion",
                            tokenizer->path);
  }
  return mlxcel_chat_template_render(tokenizer->chat_template, options, out_text, out_size);
}
