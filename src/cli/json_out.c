#include "cli/json_out.h"

#include <stdlib.h>

#include "cli/console.h"

json_t* mlxcel_cli_json_ids(const int32_t* ids, size_t count) {
  json_t* array = json_array();
  for (size_t i = 0; array && i < count; ++i) {
    if (json_array_append_new(array, json_integer(ids[i])) == 0) continue;
    json_decref(array);
    return NULL;
  }
  return array;
}

json_t* mlxcel_cli_json_text(const char* text, size_t size) { return json_stringn(size ? text : "", size); }

bool mlxcel_cli_json_set(json_t* object, const char* key, json_t* value) { return value && json_object_set_new(object, key, value) == 0; }

bool mlxcel_cli_json_print(json_t* value, size_t indent) {
  size_t flags = JSON_ENCODE_ANY | JSON_REAL_PRECISION(MLXCEL_CLI_JSON_REAL_DIGITS) | (indent ? JSON_INDENT(indent) : 0);
  char* text = value ? json_dumps(value, flags) : NULL;
  json_decref(value);
  if (!text) {
    mlxcel_cli_error("cannot make the JSON output: out of memory");
    return false;
  }
  mlxcel_cli_output_format("%s\n", text);
  free(text);
  return true;
}
