// json.h: jansson with our rules: duplicate keys are refused, nesting is bounded before parsing, errors name file, line and column.
#ifndef MLXCEL_BASE_JSON_H_
#define MLXCEL_BASE_JSON_H_

#include <jansson.h>

#include "base/base.h"

// Parses one JSON value of |text|; |origin| names it in errors. The caller owns *out_value (json_decref).
iree_status_t mlxcel_json_parse(iree_string_view_t text, const char* origin, json_t** out_value);
// Reads and parses a file of at most |max_bytes|. NOT_FOUND if there is none.
iree_status_t mlxcel_json_read_file(const char* path, uint64_t max_bytes, json_t** out_value);
// A JSON string of any text: bytes that aren't UTF-8 become \xNN, as paths may hold them. NULL if out of memory.
json_t* mlxcel_json_string_any(const char* text);
// The text of |value| with sorted keys and an indent, ending in LF; malloc'ed.
iree_status_t mlxcel_json_write(const json_t* value, bool compact, char** out_text);

#endif  // MLXCEL_BASE_JSON_H_
