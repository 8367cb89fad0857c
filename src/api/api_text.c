#include <stdlib.h>
#include <string.h>

#include "api/api_engine.h"
#include "api/api_error.h"

void mlxcel_free(void* pointer) { free(pointer); }

// A copy that mlxcel_free can free, whatever the tokenizer's allocator is.
static iree_status_t api_copy_out(const void* data, size_t size, void** out_copy) {
  char* copy = malloc(size + 1);
  if (!copy) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu bytes; free some memory", size);
  if (size > 0) memcpy(copy, data, size);
  copy[size] = 0;
  *out_copy = copy;
  return iree_ok_status();
}

static iree_status_t api_copy_text_out(const mlxcel_tokenizer_t* tokenizer, char* text, size_t size, char** out_text, size_t* out_size) {
  void* copy = NULL;
  iree_status_t status = api_copy_out(text, size, &copy);
  mlxcel_tokenizer_text_free(tokenizer, text);
  if (!iree_status_is_ok(status)) return status;
  *out_text = copy;
  *out_size = size;
  return status;
}

mlxcel_error_t* mlxcel_tokenize(mlxcel_engine_t* engine, const char* text, size_t text_size, bool add_special, int32_t** out_ids, size_t* out_count) {
  *out_ids = NULL;
  *out_count = 0;
  mlxcel_tokenizer_encode_flags_t flags = MLXCEL_TOKENIZER_ENCODE_PARSE_SPECIAL;
  if (add_special) flags |= MLXCEL_TOKENIZER_ENCODE_ADD_SPECIAL;
  int32_t* ids = NULL;
  size_t count = 0;
  void* copy = NULL;
  iree_status_t status = mlxcel_tokenizer_encode(engine->tokenizer, iree_make_string_view(text, text_size), flags, &ids, &count);
  if (iree_status_is_ok(status)) {
    status = api_copy_out(ids, count * sizeof(*ids), &copy);
    mlxcel_tokenizer_ids_free(engine->tokenizer, ids);
  }
  if (iree_status_is_ok(status)) {
    *out_ids = copy;
    *out_count = count;
  }
  return mlxcel_api_error("text", status);
}

mlxcel_error_t* mlxcel_detokenize(mlxcel_engine_t* engine, const int32_t* ids, size_t count, bool skip_special, char** out_text, size_t* out_size) {
  *out_text = NULL;
  *out_size = 0;
  char* text = NULL;
  size_t size = 0;
  iree_status_t status = mlxcel_tokenizer_decode(engine->tokenizer, ids, count, skip_special, &text, &size);
  if (iree_status_is_ok(status)) status = api_copy_text_out(engine->tokenizer, text, size, out_text, out_size);
  return mlxcel_api_error("text", status);
}

mlxcel_error_t* mlxcel_chat_render(mlxcel_engine_t* engine, const char* messages_json, bool add_generation_prompt, char** out_text, size_t* out_size) {
  *out_text = NULL;
  *out_size = 0;
  mlxcel_chat_options_t options;
  mlxcel_chat_options_initialize(&options);
  options.messages_json = iree_make_cstring_view(messages_json);
  options.adds_generation_prompt = add_generation_prompt;
  char* text = NULL;
  size_t size = 0;
  iree_status_t status = mlxcel_tokenizer_chat_render(engine->tokenizer, &options, &text, &size);
  if (iree_status_is_ok(status)) status = api_copy_text_out(engine->tokenizer, text, size, out_text, out_size);
  return mlxcel_api_error("chat template", status);
}
