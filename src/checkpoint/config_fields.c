#include "checkpoint/config_fields.h"

#include <math.h>
#include <stdio.h>

#include "checkpoint/excerpt.h"

static mlxcel_excerpt_t config_fields_key(const char* key) { return mlxcel_excerpt(iree_make_cstring_view(key)); }

const json_t* mlxcel_config_fields_get(const mlxcel_config_fields_t* fields, const char* key) {
  const json_t* value = json_object_get(fields->object, key);
  return json_is_null(value) ? NULL : value;
}

iree_status_t mlxcel_config_fields_require(const mlxcel_config_fields_t* fields, const char* key) {
  if (mlxcel_config_fields_get(fields, key)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %s%s is missing; take the complete file from the model's source", fields->origin, fields->scope,
                          config_fields_key(key).text);
}

iree_status_t mlxcel_config_fields_mismatch(const mlxcel_config_fields_t* fields, const char* key, const json_t* value, const char* expected) {
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %s%s is %s; expected %s: correct the file", fields->origin, fields->scope,
                          config_fields_key(key).text, mlxcel_excerpt_json(value).text, expected);
}

iree_status_t mlxcel_config_fields_unsupported(const mlxcel_config_fields_t* fields, const char* key, const json_t* value, const char* remedy) {
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s: %s%s is %s, which isn't supported; %s", fields->origin, fields->scope, config_fields_key(key).text,
                          mlxcel_excerpt_json(value).text, remedy);
}

iree_status_t mlxcel_config_fields_read_bool(const mlxcel_config_fields_t* fields, const char* key, bool* inout_value) {
  const json_t* value = mlxcel_config_fields_get(fields, key);
  if (!value) return iree_ok_status();
  if (!json_is_boolean(value)) return mlxcel_config_fields_mismatch(fields, key, value, "true or false");
  *inout_value = json_is_true(value);
  return iree_ok_status();
}

iree_status_t mlxcel_config_fields_read_i64(const mlxcel_config_fields_t* fields, const char* key, int64_t min, int64_t max, int64_t* inout_value) {
  const json_t* value = mlxcel_config_fields_get(fields, key);
  if (!value) return iree_ok_status();
  if (json_is_integer(value) && json_integer_value(value) >= min && json_integer_value(value) <= max) {
    *inout_value = json_integer_value(value);
    return iree_ok_status();
  }
  char expected[80];
  snprintf(expected, sizeof(expected), "an integer from %" PRId64 " to %" PRId64, min, max);
  return mlxcel_config_fields_mismatch(fields, key, value, expected);
}

iree_status_t mlxcel_config_fields_read_u32(const mlxcel_config_fields_t* fields, const char* key, uint32_t min, uint32_t max, uint32_t* inout_value) {
  int64_t number = *inout_value;
  IREE_RETURN_IF_ERROR(mlxcel_config_fields_read_i64(fields, key, min, max, &number));
  *inout_value = (uint32_t)number;
  return iree_ok_status();
}

iree_status_t mlxcel_config_fields_read_double(const mlxcel_config_fields_t* fields, const char* key, double min, double max, const char* expected,
                                               double* inout_value) {
  const json_t* value = mlxcel_config_fields_get(fields, key);
  if (!value) return iree_ok_status();
  double number = json_is_number(value) ? json_number_value(value) : NAN;
  // Written so that NaN fails.
  if (!(number >= min && number <= max)) return mlxcel_config_fields_mismatch(fields, key, value, expected);
  *inout_value = number;
  return iree_ok_status();
}

iree_status_t mlxcel_config_fields_read_string(const mlxcel_config_fields_t* fields, const char* key, const char** inout_value) {
  const json_t* value = mlxcel_config_fields_get(fields, key);
  if (!value) return iree_ok_status();
  if (!json_is_string(value)) return mlxcel_config_fields_mismatch(fields, key, value, "a string");
  *inout_value = json_string_value(value);
  return iree_ok_status();
}
