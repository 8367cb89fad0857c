// json_fields.h: strict access to the fields of a JSON object: exactly the named keys, each of the right type and inside its range. Errors are
// INVALID_ARGUMENT and name the field by its full path. Borrowed results live as long as the JSON value.
#ifndef MLXCEL_ARTIFACT_JSON_FIELDS_H_
#define MLXCEL_ARTIFACT_JSON_FIELDS_H_

#include <jansson.h>

#include "base/base.h"
#include "base/sha256.h"

typedef struct mlxcel_json_fields_t {
  const json_t* object;  // borrowed
  const char* path;      // of the object inside its file, "" for the top; borrowed
} mlxcel_json_fields_t;

// |value| must be an object that has each of |names| and nothing else.
iree_status_t mlxcel_json_fields_open(const json_t* value, const char* path, size_t name_count, const char* const* names, mlxcel_json_fields_t* out_fields);

// A status "field '<path>.<name>' <problem>".
iree_status_t mlxcel_json_fields_error(const mlxcel_json_fields_t* fields, const char* name, const char* problem);

// A string of |min_bytes| to |max_bytes| bytes.
iree_status_t mlxcel_json_fields_string(const mlxcel_json_fields_t* fields, const char* name, size_t min_bytes, size_t max_bytes, const char** out_text);
// The same as a malloc'ed copy.
iree_status_t mlxcel_json_fields_copy_string(const mlxcel_json_fields_t* fields, const char* name, size_t min_bytes, size_t max_bytes, char** out_text);
iree_status_t mlxcel_json_fields_unsigned(const mlxcel_json_fields_t* fields, const char* name, uint64_t min, uint64_t max, uint64_t* out_value);
// 64 lowercase hex digits; with |may_be_empty| also "".
iree_status_t mlxcel_json_fields_digest(const mlxcel_json_fields_t* fields, const char* name, bool may_be_empty, mlxcel_sha256_hex_t* out_digest);
iree_status_t mlxcel_json_fields_array(const mlxcel_json_fields_t* fields, const char* name, size_t max_count, const json_t** out_array);

// malloc'ed copy with a NUL.
iree_status_t mlxcel_artifact_text_copy(iree_string_view_t text, char** out_text);
bool mlxcel_artifact_is_digest(iree_string_view_t text);

#endif  // MLXCEL_ARTIFACT_JSON_FIELDS_H_
