// text_driver.c: the tokenizer module as a filter for tests in other languages: one JSON request a line in, one JSON answer a line out.
//
//   {"op": "open", "folder": F}                                       -> {"bos_id", "eos_ids", "id_limit", "has_chat_template"}
//   {"op": "encode", "hex": H, "add_special": B, "parse_special": B}  -> {"ids"}
//   {"op": "decode", "ids": [..], "skip_special": B}                  -> {"hex"}
//   {"op": "stream", "ids": [..], "skip_special": B, "begins_text": B} -> {"pieces": [hex, ..]}
//   {"op": "chat", "messages": .., "tools": .., "variables": .., "add_generation_prompt": B, "name": S} -> {"hex"}
//   {"op": "render", "source": S, "variables": {..}}                  -> {"hex"}   any template, without a checkpoint
// A failure is {"error": message, "code": number}. Text travels as hex: it may hold any byte.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "mlxcel_text.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/text_status.h"
#include "tokenizer/tokenizer.h"

static mlxcel_tokenizer_t* driver_tokenizer = NULL;

static json_t* driver_hex(const char* data, size_t size) {
  static const char digits[] = "0123456789abcdef";
  char* hex = malloc(2 * size + 1);
  for (size_t i = 0; i < size; ++i) {
    hex[2 * i] = digits[(uint8_t)data[i] >> 4];
    hex[2 * i + 1] = digits[(uint8_t)data[i] & 15];
  }
  json_t* value = json_stringn(hex, 2 * size);
  free(hex);
  return value;
}

static int driver_nibble(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

// malloc'ed bytes of a request's "hex".
static char* driver_bytes(const json_t* request, size_t* out_size) {
  const char* hex = json_string_value(json_object_get(request, "hex"));
  *out_size = json_string_length(json_object_get(request, "hex")) / 2;
  char* bytes = malloc(*out_size + 1);
  for (size_t i = 0; i < *out_size; ++i) bytes[i] = (char)(driver_nibble(hex[2 * i]) * 16 + driver_nibble(hex[2 * i + 1]));
  return bytes;
}

static bool driver_flag(const json_t* request, const char* key) { return json_is_true(json_object_get(request, key)); }

static json_t* driver_ids(const int32_t* ids, size_t count) {
  json_t* list = json_array();
  for (size_t i = 0; i < count; ++i) json_array_append_new(list, json_integer(ids[i]));
  return list;
}

static int32_t* driver_read_ids(const json_t* request, size_t* out_count) {
  const json_t* list = json_object_get(request, "ids");
  *out_count = json_array_size(list);
  int32_t* ids = calloc(*out_count + 1, sizeof(*ids));
  for (size_t i = 0; i < *out_count; ++i) ids[i] = (int32_t)json_integer_value(json_array_get(list, i));
  return ids;
}

static iree_status_t driver_open(const json_t* request, json_t* answer) {
  mlxcel_tokenizer_close(driver_tokenizer);
  IREE_RETURN_IF_ERROR(mlxcel_tokenizer_open(json_string_value(json_object_get(request, "folder")), iree_allocator_system(), &driver_tokenizer));
  size_t eos_count = 0;
  const int32_t* eos_ids = mlxcel_tokenizer_eos_ids(driver_tokenizer, &eos_count);
  json_object_set_new(answer, "bos_id", json_integer(mlxcel_tokenizer_bos_id(driver_tokenizer)));
  json_object_set_new(answer, "eos_ids", driver_ids(eos_ids, eos_count));
  json_object_set_new(answer, "id_limit", json_integer((json_int_t)mlxcel_tokenizer_id_limit(driver_tokenizer)));
  json_object_set_new(answer, "has_chat_template", json_boolean(mlxcel_tokenizer_has_chat_template(driver_tokenizer)));
  return iree_ok_status();
}

static iree_status_t driver_encode(const json_t* request, json_t* answer) {
  mlxcel_tokenizer_encode_flags_t flags = MLXCEL_TOKENIZER_ENCODE_NONE;
  if (driver_flag(request, "add_special")) flags |= MLXCEL_TOKENIZER_ENCODE_ADD_SPECIAL;
  if (driver_flag(request, "parse_special")) flags |= MLXCEL_TOKENIZER_ENCODE_PARSE_SPECIAL;
  size_t size = 0;
  char* text = driver_bytes(request, &size);
  int32_t* ids = NULL;
  size_t count = 0;
  iree_status_t status = mlxcel_tokenizer_encode(driver_tokenizer, iree_make_string_view(text, size), flags, &ids, &count);
  free(text);
  IREE_RETURN_IF_ERROR(status);
  json_object_set_new(answer, "ids", driver_ids(ids, count));
  mlxcel_tokenizer_ids_free(driver_tokenizer, ids);
  return iree_ok_status();
}

static iree_status_t driver_decode(const json_t* request, json_t* answer) {
  size_t count = 0;
  int32_t* ids = driver_read_ids(request, &count);
  char* text = NULL;
  size_t size = 0;
  iree_status_t status = mlxcel_tokenizer_decode(driver_tokenizer, ids, count, driver_flag(request, "skip_special"), &text, &size);
  free(ids);
  IREE_RETURN_IF_ERROR(status);
  json_object_set_new(answer, "hex", driver_hex(text, size));
  mlxcel_tokenizer_text_free(driver_tokenizer, text);
  return iree_ok_status();
}

static iree_status_t driver_stream_ids(mlxcel_detokenizer_t* detokenizer, const int32_t* ids, size_t count, json_t* pieces) {
  iree_string_view_t text;
  for (size_t i = 0; i < count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_detokenizer_push(detokenizer, ids[i], &text));
    json_array_append_new(pieces, driver_hex(text.data, text.size));
  }
  IREE_RETURN_IF_ERROR(mlxcel_detokenizer_flush(detokenizer, &text));
  json_array_append_new(pieces, driver_hex(text.data, text.size));
  return iree_ok_status();
}

static iree_status_t driver_stream(const json_t* request, json_t* answer) {
  mlxcel_detokenizer_options_t options;
  mlxcel_detokenizer_options_initialize(&options);
  options.skips_special = driver_flag(request, "skip_special");
  options.begins_text = driver_flag(request, "begins_text");
  mlxcel_detokenizer_t detokenizer;
  IREE_RETURN_IF_ERROR(mlxcel_detokenizer_initialize(driver_tokenizer, &options, &detokenizer));
  size_t count = 0;
  int32_t* ids = driver_read_ids(request, &count);
  json_t* pieces = json_array();
  iree_status_t status = driver_stream_ids(&detokenizer, ids, count, pieces);
  json_object_set_new(answer, "pieces", pieces);
  free(ids);
  mlxcel_detokenizer_deinitialize(&detokenizer);
  return status;
}

// The JSON text of a member, or NULL; freed by free.
static char* driver_member(const json_t* request, const char* key) {
  const json_t* value = json_object_get(request, key);
  return value && !json_is_null(value) ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
}

static iree_status_t driver_chat(const json_t* request, json_t* answer) {
  char* messages = driver_member(request, "messages");
  char* tools = driver_member(request, "tools");
  char* variables = driver_member(request, "variables");
  mlxcel_chat_options_t options;
  mlxcel_chat_options_initialize(&options);
  options.messages_json = iree_make_cstring_view(messages);
  options.tools_json = iree_make_cstring_view(tools);
  options.variables_json = iree_make_cstring_view(variables);
  options.template_name = iree_make_cstring_view(json_string_value(json_object_get(request, "name")));
  options.adds_generation_prompt = driver_flag(request, "add_generation_prompt");
  char* text = NULL;
  size_t size = 0;
  iree_status_t status = mlxcel_tokenizer_chat_render(driver_tokenizer, &options, &text, &size);
  free(variables);
  free(tools);
  free(messages);
  IREE_RETURN_IF_ERROR(status);
  json_object_set_new(answer, "hex", driver_hex(text, size));
  mlxcel_tokenizer_text_free(driver_tokenizer, text);
  return iree_ok_status();
}

static iree_status_t driver_render(const json_t* request, json_t* answer) {
  const json_t* source = json_object_get(request, "source");
  mlxcel_text_template_t* chat_template = NULL;
  char* error = NULL;
  int32_t code = mlxcel_text_template_create((const uint8_t*)json_string_value(source), json_string_length(source), &chat_template, &error);
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, "template", error, NULL));
  char* json = driver_member(request, "variables");
  mlxcel_text_variable_t variable = {.json = json, .json_size = json ? strlen(json) : 0};
  uint8_t* bytes = NULL;
  size_t size = 0;
  code = mlxcel_text_template_render(chat_template, &variable, json ? 1 : 0, &bytes, &size, &error);
  free(json);
  mlxcel_text_template_free(chat_template);
  IREE_RETURN_IF_ERROR(mlxcel_text_status(code, "template", error, NULL));
  json_object_set_new(answer, "hex", driver_hex((const char*)bytes, size));
  mlxcel_text_bytes_free(bytes, size);
  return iree_ok_status();
}

static const struct {
  const char* name;
  iree_status_t (*run)(const json_t* request, json_t* answer);
  bool needs_tokenizer;
} driver_ops[] = {
    {"open", driver_open, false},    {"encode", driver_encode, true}, {"decode", driver_decode, true},
    {"stream", driver_stream, true}, {"chat", driver_chat, true},     {"render", driver_render, false},
};

static iree_status_t driver_answer(const json_t* request, json_t* answer) {
  const char* op = json_string_value(json_object_get(request, "op"));
  for (size_t i = 0; i < IREE_ARRAYSIZE(driver_ops); ++i) {
    if (!op || strcmp(op, driver_ops[i].name) != 0) continue;
    if (driver_ops[i].needs_tokenizer && !driver_tokenizer) return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "open a tokenizer first");
    return driver_ops[i].run(request, answer);
  }
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "unknown op");
}

static void driver_line(const char* line) {
  json_t* request = json_loads(line, JSON_ALLOW_NUL, NULL);
  json_t* answer = json_object();
  iree_status_t status = driver_answer(request, answer);
  if (!iree_status_is_ok(status)) {
    char text[4096];
    mlxcel_status_text(status, text, sizeof(text));
    json_object_set_new(answer, "error", json_string(text));
    json_object_set_new(answer, "code", json_integer(iree_status_code(status)));
    iree_status_free(status);
  }
  char* out = json_dumps(answer, JSON_COMPACT);
  puts(out);
  fflush(stdout);
  free(out);
  json_decref(answer);
  json_decref(request);
}

int main(void) {
  char* line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, stdin) > 0) driver_line(line);
  free(line);
  mlxcel_tokenizer_close(driver_tokenizer);
  return 0;
}
