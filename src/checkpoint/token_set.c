#include "checkpoint/token_set.h"

#include <stdio.h>
#include <string.h>

// Where |id| is, or belongs.
static uint32_t token_set_position(const mlxcel_token_set_t* set, uint32_t id) {
  uint32_t position = 0;
  while (position < set->count && set->ids[position] < id) ++position;
  return position;
}

bool mlxcel_token_set_contains(const mlxcel_token_set_t* set, uint32_t id) {
  uint32_t position = token_set_position(set, id);
  return position < set->count && set->ids[position] == id;
}

iree_status_t mlxcel_token_set_insert(mlxcel_token_set_t* set, uint32_t id) {
  uint32_t position = token_set_position(set, id);
  if (position < set->count && set->ids[position] == id) return iree_ok_status();
  if (set->count >= MLXCEL_EOS_IDS_MAX) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "more than %u end-of-text ids; shorten the list", MLXCEL_EOS_IDS_MAX);
  }
  memmove(&set->ids[position + 1], &set->ids[position], (set->count - position) * sizeof(set->ids[0]));
  set->ids[position] = id;
  ++set->count;
  return iree_ok_status();
}

iree_status_t mlxcel_token_set_unite(mlxcel_token_set_t* set, const mlxcel_token_set_t* other) {
  for (uint32_t i = 0; i < other->count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_token_set_insert(set, other->ids[i]));
  }
  return iree_ok_status();
}

iree_status_t mlxcel_token_set_read(const mlxcel_config_fields_t* fields, const char* key, uint32_t vocab_size, mlxcel_token_set_t* set) {
  const json_t* value = mlxcel_config_fields_get(fields, key);
  if (!value) return iree_ok_status();
  size_t count = json_is_array(value) ? json_array_size(value) : 1;
  for (size_t i = 0; i < count; ++i) {
    const json_t* id = json_is_array(value) ? json_array_get(value, i) : value;
    if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= vocab_size) {
      char expected[96];
      snprintf(expected, sizeof(expected), "an id or a list of ids from 0 to %" PRIu32 " (vocab_size - 1)", vocab_size - 1);
      return mlxcel_config_fields_mismatch(fields, key, value, expected);
    }
    iree_status_t status = mlxcel_token_set_insert(set, (uint32_t)json_integer_value(id));
    if (!iree_status_is_ok(status)) return iree_status_annotate_f(status, "%s: %s%s", fields->origin, fields->scope, key);
  }
  return iree_ok_status();
}
