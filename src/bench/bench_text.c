#include "bench/bench_text.h"

#include <stdlib.h>
#include <string.h>

iree_status_t mlxcel_bench_text_json(const json_t* value, bool is_indented, mlxcel_strbuf_t* text) {
  char* dumped = value ? json_dumps(value, JSON_REAL_PRECISION(MLXCEL_BENCH_REAL_DIGITS) | (is_indented ? JSON_INDENT(2) : 0)) : NULL;
  if (!dumped) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the JSON output; free some");
  mlxcel_strbuf_append_cstring(text, dumped);
  free(dumped);
  return iree_ok_status();
}

void mlxcel_bench_text_quote(const char* value, mlxcel_strbuf_t* text) {
  mlxcel_strbuf_append_cstring(text, "\"");
  for (const char* quote = strchr(value, '"'); quote; quote = strchr(value, '"')) {
    mlxcel_strbuf_append(text, iree_make_string_view(value, (size_t)(quote + 1 - value)));
    mlxcel_strbuf_append_cstring(text, "\"");
    value = quote + 1;
  }
  mlxcel_strbuf_append_cstring(text, value);
  mlxcel_strbuf_append_cstring(text, "\"");
}

static bool text_is_column(const json_t* value) { return !json_is_array(value) && !json_is_object(value); }

void mlxcel_bench_text_csv_keys(json_t* object, mlxcel_strbuf_t* text) {
  const char* key;
  json_t* value;
  const char* separator = "";
  json_object_foreach(object, key, value) {
    if (!text_is_column(value)) continue;
    mlxcel_strbuf_append_format(text, "%s%s", separator, key);
    separator = ",";
  }
  mlxcel_strbuf_append_cstring(text, "\n");
}

static void text_csv_value(const json_t* value, mlxcel_strbuf_t* text) {
  if (json_is_string(value)) {
    mlxcel_bench_text_quote(json_string_value(value), text);
  } else if (json_is_integer(value)) {
    mlxcel_strbuf_append_format(text, "\"%" JSON_INTEGER_FORMAT "\"", json_integer_value(value));
  } else if (json_is_real(value)) {
    mlxcel_strbuf_append_format(text, "\"%.*g\"", MLXCEL_BENCH_REAL_DIGITS, json_real_value(value));
  } else {
    mlxcel_strbuf_append_cstring(text, "\"\"");  // null, the only other kind
  }
}

void mlxcel_bench_text_csv_values(json_t* object, mlxcel_strbuf_t* text) {
  const char* key;
  json_t* value;
  const char* separator = "";
  json_object_foreach(object, key, value) {
    if (!text_is_column(value)) continue;
    mlxcel_strbuf_append_cstring(text, separator);
    text_csv_value(value, text);
    separator = ",";
  }
  mlxcel_strbuf_append_cstring(text, "\n");
}
