// config_fields.h: typed reads of a JSON object's keys. Every error names file, key, value and what was expected. A key that is absent or null leaves
// the output as the caller set it, so that the caller's initial value is the default.
#ifndef MLXCEL_CHECKPOINT_CONFIG_FIELDS_H_
#define MLXCEL_CHECKPOINT_CONFIG_FIELDS_H_

#include "base/base.h"
#include "base/json.h"

typedef struct mlxcel_config_fields_t {
  const json_t* object;  // borrowed
  const char* origin;    // the file, for errors
  const char* scope;     // put before keys in errors, e.g. "rope_scaling."; "" at the top
} mlxcel_config_fields_t;

// The value of |key|; NULL if absent or null.
const json_t* mlxcel_config_fields_get(const mlxcel_config_fields_t* fields, const char* key);
// INVALID_ARGUMENT if |key| is absent or null.
iree_status_t mlxcel_config_fields_require(const mlxcel_config_fields_t* fields, const char* key);
// INVALID_ARGUMENT for |key|'s value: "<origin>: <scope><key> is <value>; expected <expected>".
iree_status_t mlxcel_config_fields_mismatch(const mlxcel_config_fields_t* fields, const char* key, const json_t* value, const char* expected);
// UNIMPLEMENTED for |key|'s value: "<origin>: <scope><key> is <value>, which isn't supported; <remedy>".
iree_status_t mlxcel_config_fields_unsupported(const mlxcel_config_fields_t* fields, const char* key, const json_t* value, const char* remedy);

iree_status_t mlxcel_config_fields_read_bool(const mlxcel_config_fields_t* fields, const char* key, bool* inout_value);
// An integer from |min| to |max|.
iree_status_t mlxcel_config_fields_read_i64(const mlxcel_config_fields_t* fields, const char* key, int64_t min, int64_t max, int64_t* inout_value);
iree_status_t mlxcel_config_fields_read_u32(const mlxcel_config_fields_t* fields, const char* key, uint32_t min, uint32_t max, uint32_t* inout_value);
// A finite number (integer or real) from |min| to |max|; |expected| describes that range in errors.
iree_status_t mlxcel_config_fields_read_double(const mlxcel_config_fields_t* fields, const char* key, double min, double max, const char* expected,
                                               double* inout_value);
// A string, borrowed from the object.
iree_status_t mlxcel_config_fields_read_string(const mlxcel_config_fields_t* fields, const char* key, const char** inout_value);

#endif  // MLXCEL_CHECKPOINT_CONFIG_FIELDS_H_
