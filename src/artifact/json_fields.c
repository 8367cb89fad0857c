#include "artifact/json_fields.h"

#include <stdlib.h>
#include <string.h>

static bool fields_name_is_known(const char* key, size_t name_count, const char* const* names) {
  for (size_t i = 0; i < name_count; ++i) {
    if (strcmp(key, names[i]) == 0) return true;
  }
  return false;
}

// A name out of a file goes into a message: shortened, and without bytes that a terminal would obey.
static void fields_printable(const char* key, char out_text[65]) {
  size_t size = strnlen(key, 64);
  for (size_t i = 0; i < size; ++i) out_text[i] = key[i] >= 0x20 && key[i] < 0x7f ? key[i] : '?';
  out_text[size] = 0;
}

static const char* fields_separator(const char* path) { return path[0] ? "." : ""; }

iree_status_t mlxcel_json_fields_error(const mlxcel_json_fields_t* fields, const char* name, const char* problem) {
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field '%s%s%s' %s", fields->path, fields_separator(fields->path), name, problem);
}

iree_status_t mlxcel_json_fields_open(const json_t* value, const char* path, size_t name_count, const char* const* names, mlxcel_json_fields_t* out_fields) {
  out_fields->object = value;
  out_fields->path = path;
  if (!json_is_object(value)) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field '%s' must be an object", path[0] ? path : "(top)");
  for (void* iterator = json_object_iter((json_t*)(uintptr_t)value); iterator; iterator = json_object_iter_next((json_t*)(uintptr_t)value, iterator)) {
    const char* key = json_object_iter_key(iterator);
    char printable[65];
    fields_printable(key, printable);
    if (!fields_name_is_known(key, name_count, names)) return mlxcel_json_fields_error(out_fields, printable, "is unknown");
  }
  for (size_t i = 0; i < name_count; ++i) {
    if (!json_object_get(value, names[i])) return mlxcel_json_fields_error(out_fields, names[i], "is missing");
  }
  return iree_ok_status();
}

iree_status_t mlxcel_json_fields_string(const mlxcel_json_fields_t* fields, const char* name, size_t min_bytes, size_t max_bytes, const char** out_text) {
  *out_text = NULL;
  const json_t* value = json_object_get(fields->object, name);
  if (!json_is_string(value)) return mlxcel_json_fields_error(fields, name, "must be a string");
  size_t size = json_string_length(value);
  if (size < min_bytes) return mlxcel_json_fields_error(fields, name, "is empty");
  if (size > max_bytes) return mlxcel_json_fields_error(fields, name, "is too long");
  *out_text = json_string_value(value);
  return iree_ok_status();
}

iree_status_t mlxcel_json_fields_copy_string(const mlxcel_json_fields_t* fields, const char* name, size_t min_bytes, size_t max_bytes, char** out_text) {
  *out_text = NULL;
  const char* text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(fields, name, min_bytes, max_bytes, &text));
  return mlxcel_artifact_text_copy(iree_make_cstring_view(text), out_text);
}

iree_status_t mlxcel_json_fields_unsigned(const mlxcel_json_fields_t* fields, const char* name, uint64_t min, uint64_t max, uint64_t* out_value) {
  *out_value = 0;
  const json_t* value = json_object_get(fields->object, name);
  if (!json_is_integer(value)) return mlxcel_json_fields_error(fields, name, "must be an integer");
  json_int_t number = json_integer_value(value);
  if (number < 0 || (uint64_t)number < min || (uint64_t)number > max) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field '%s%s%s' is %lld, outside %" PRIu64 " to %" PRIu64, fields->path,
                            fields_separator(fields->path), name, (long long)number, min, max);
  }
  *out_value = (uint64_t)number;
  return iree_ok_status();
}

bool mlxcel_artifact_is_digest(iree_string_view_t text) {
  if (text.size != 64) return false;
  for (size_t i = 0; i < text.size; ++i) {
    char c = text.data[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

iree_status_t mlxcel_json_fields_digest(const mlxcel_json_fields_t* fields, const char* name, bool may_be_empty, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  const char* text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(fields, name, 0, 64, &text));
  if (may_be_empty && json_string_length(json_object_get(fields->object, name)) == 0) return iree_ok_status();
  if (!mlxcel_artifact_is_digest(iree_make_cstring_view(text))) return mlxcel_json_fields_error(fields, name, "must be 64 lowercase hex digits");
  memcpy(out_digest->text, text, sizeof(out_digest->text));
  return iree_ok_status();
}

iree_status_t mlxcel_json_fields_array(const mlxcel_json_fields_t* fields, const char* name, size_t max_count, const json_t** out_array) {
  *out_array = NULL;
  const json_t* value = json_object_get(fields->object, name);
  if (!json_is_array(value)) return mlxcel_json_fields_error(fields, name, "must be an array");
  if (json_array_size(value) > max_count) return mlxcel_json_fields_error(fields, name, "has too many elements");
  *out_array = value;
  return iree_ok_status();
}

iree_status_t mlxcel_artifact_text_copy(iree_string_view_t text, char** out_text) {
  *out_text = malloc(text.size + 1);
  if (!*out_text) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a text of %zu bytes", text.size);
  if (text.size > 0) memcpy(*out_text, text.data, text.size);
  (*out_text)[text.size] = 0;
  return iree_ok_status();
}
