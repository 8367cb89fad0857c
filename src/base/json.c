#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/limits.h"
#include "base/strbuf.h"

// jansson recurses once a level, so depth is bounded by a scan that only needs to know strings from structure.
static bool json_depth_is_legal(iree_string_view_t text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size; ++i) {
    char c = text.data[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > MLXCEL_JSON_DEPTH_MAX) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

iree_status_t mlxcel_json_parse(iree_string_view_t text, const char* origin, json_t** out_value) {
  *out_value = NULL;
  if (!json_depth_is_legal(text)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: JSON nested deeper than %d levels; no checkpoint file needs that", origin,
                            MLXCEL_JSON_DEPTH_MAX);
  }
  json_error_t error;
  *out_value = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (*out_value) return iree_ok_status();
  // The parser's own text may quote bytes of the file: only its printable ASCII goes into a message.
  for (char* c = error.text; *c; ++c) {
    if (*c < 0x20 || *c > 0x7e) *c = '?';
  }
  const char* kind = json_error_code(&error) == json_error_duplicate_key ? "duplicate key: " : "";
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: line %d, column %d: not valid JSON: %s%s; restore the file from its source", origin, error.line,
                          error.column, kind, error.text);
}

iree_status_t mlxcel_json_read_file(const char* path, uint64_t max_bytes, json_t** out_value) {
  *out_value = NULL;
  char* text = NULL;
  size_t size = 0;
  IREE_RETURN_IF_ERROR(mlxcel_file_read(path, max_bytes, &text, &size));
  iree_status_t status = mlxcel_json_parse(iree_make_string_view(text, size), path, out_value);
  free(text);
  return status;
}

json_t* mlxcel_json_string_any(const char* text) {
  json_t* value = json_string(text);
  if (value) return value;
  mlxcel_strbuf_t escaped;
  mlxcel_strbuf_initialize(&escaped);
  for (const unsigned char* c = (const unsigned char*)text; *c; ++c) mlxcel_strbuf_append_format(&escaped, *c < 0x80 ? "%c" : "\\x%02x", *c);
  iree_status_t status = mlxcel_strbuf_take_status(&escaped);
  if (iree_status_is_ok(status)) value = json_string(escaped.data);
  iree_status_ignore(status);
  mlxcel_strbuf_deinitialize(&escaped);
  return value;
}

iree_status_t mlxcel_json_write(const json_t* value, bool compact, char** out_text) {
  size_t flags = JSON_SORT_KEYS | JSON_ENCODE_ANY | (compact ? JSON_COMPACT : JSON_INDENT(2));
  char* text = json_dumps(value, flags);
  *out_text = NULL;
  if (!text) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory while writing JSON; free some memory");
  size_t size = strlen(text);
  *out_text = malloc(size + 2);
  if (*out_text) {
    memcpy(*out_text, text, size);
    memcpy(*out_text + size, "\n", 2);
  }
  free(text);
  return *out_text ? iree_ok_status() : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory while writing JSON; free some memory");
}
