#include "checkpoint/gguf_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char* const gguf_value_type_names[MLXCEL_GGUF_VALUE_TYPE_COUNT] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                                                "bool", "string", "array", "u64", "i64", "f64"};

// False unless |value| is an integer of 0 or more.
static bool gguf_value_as_u64(const mlxcel_gguf_value_t* value, uint64_t* out) {
  uint64_t bits = 0;
  memcpy(&bits, value->data, value->size <= sizeof(bits) ? value->size : 0);
  bool is_signed = false;
  switch (value->type) {
    case MLXCEL_GGUF_VALUE_U8:
    case MLXCEL_GGUF_VALUE_U16:
    case MLXCEL_GGUF_VALUE_U32:
    case MLXCEL_GGUF_VALUE_U64:
      break;
    case MLXCEL_GGUF_VALUE_I8:
    case MLXCEL_GGUF_VALUE_I16:
    case MLXCEL_GGUF_VALUE_I32:
    case MLXCEL_GGUF_VALUE_I64:
      is_signed = true;
      break;
    default:
      return false;
  }
  *out = bits;
  return !is_signed || (bits >> (8 * value->size - 1)) == 0;
}

static bool gguf_value_as_f64(const mlxcel_gguf_value_t* value, double* out) {
  if (value->type == MLXCEL_GGUF_VALUE_F32) {
    float single = 0;
    memcpy(&single, value->data, sizeof(single));
    *out = (double)single;
    return true;
  }
  if (value->type != MLXCEL_GGUF_VALUE_F64) return false;
  memcpy(out, value->data, sizeof(*out));
  return true;
}

static iree_status_t gguf_value_expected(const mlxcel_gguf_t* file, const mlxcel_gguf_value_t* value, const char* expected) {
  char text[128];
  mlxcel_gguf_value_format(value, text, sizeof(text));
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %.*s = %s, but it must be %s; the file is damaged or of another kind", mlxcel_gguf_origin(file),
                          MLXCEL_SV(value->key), text, expected);
}

iree_status_t mlxcel_gguf_read_u64(const mlxcel_gguf_t* file, const char* key, uint64_t max, uint64_t* out_value) {
  const mlxcel_gguf_value_t* value = mlxcel_gguf_find_value(file, iree_make_cstring_view(key));
  uint64_t number = 0;
  if (!value) return iree_ok_status();
  if (!gguf_value_as_u64(value, &number) || number > max) {
    char expected[64];
    snprintf(expected, sizeof(expected), "an integer from 0 to %" PRIu64, max);
    return gguf_value_expected(file, value, expected);
  }
  *out_value = number;
  return iree_ok_status();
}

iree_status_t mlxcel_gguf_read_f64(const mlxcel_gguf_t* file, const char* key, double* out_value) {
  const mlxcel_gguf_value_t* value = mlxcel_gguf_find_value(file, iree_make_cstring_view(key));
  double number = 0;
  if (!value) return iree_ok_status();
  if (!gguf_value_as_f64(value, &number) || !isfinite(number)) return gguf_value_expected(file, value, "a finite float");
  *out_value = number;
  return iree_ok_status();
}

iree_status_t mlxcel_gguf_read_bool(const mlxcel_gguf_t* file, const char* key, bool* out_value) {
  const mlxcel_gguf_value_t* value = mlxcel_gguf_find_value(file, iree_make_cstring_view(key));
  if (!value) return iree_ok_status();
  if (value->type != MLXCEL_GGUF_VALUE_BOOL || value->data[0] > 1) return gguf_value_expected(file, value, "a bool");
  *out_value = value->data[0] != 0;
  return iree_ok_status();
}

iree_status_t mlxcel_gguf_read_string(const mlxcel_gguf_t* file, const char* key, uint64_t max_bytes, iree_string_view_t* out_value) {
  const mlxcel_gguf_value_t* value = mlxcel_gguf_find_value(file, iree_make_cstring_view(key));
  if (!value) return iree_ok_status();
  if (value->type != MLXCEL_GGUF_VALUE_STRING || value->size > max_bytes) {
    char expected[64];
    snprintf(expected, sizeof(expected), "a string of at most %" PRIu64 " bytes", max_bytes);
    return gguf_value_expected(file, value, expected);
  }
  *out_value = iree_make_string_view((const char*)value->data, (iree_host_size_t)value->size);
  return iree_ok_status();
}

iree_status_t mlxcel_gguf_read_array(const mlxcel_gguf_t* file, const char* key, mlxcel_gguf_value_type_t element_type, uint64_t max_count,
                                     const mlxcel_gguf_value_t** out_value) {
  *out_value = NULL;
  const mlxcel_gguf_value_t* value = mlxcel_gguf_find_value(file, iree_make_cstring_view(key));
  if (!value) return iree_ok_status();
  if (value->type != MLXCEL_GGUF_VALUE_ARRAY || value->element_type != element_type || value->count > max_count) {
    char expected[96];
    snprintf(expected, sizeof(expected), "an array of at most %" PRIu64 " elements of type %s", max_count, gguf_value_type_names[element_type]);
    return gguf_value_expected(file, value, expected);
  }
  *out_value = value;
  return iree_ok_status();
}

iree_string_view_t mlxcel_gguf_array_next_string(const mlxcel_gguf_value_t* value, uint64_t* cursor) {
  uint64_t size = 0;
  memcpy(&size, value->data + *cursor, sizeof(size));
  const char* text = (const char*)value->data + *cursor + sizeof(size);
  *cursor += sizeof(size) + size;
  return iree_make_string_view(text, (iree_host_size_t)size);
}

static void gguf_string_format(const mlxcel_gguf_value_t* value, char* buffer, size_t capacity) {
  char text[65];
  size_t size = value->size < sizeof(text) - 1 ? (size_t)value->size : sizeof(text) - 1;
  for (size_t i = 0; i < size; ++i) text[i] = value->data[i] >= 0x20 && value->data[i] < 0x7f ? (char)value->data[i] : '?';
  text[size] = 0;
  snprintf(buffer, capacity, "\"%s\"%s (string)", text, size < value->size ? "..." : "");
}

void mlxcel_gguf_value_format(const mlxcel_gguf_value_t* value, char* buffer, size_t capacity) {
  const char* name = gguf_value_type_names[value->type];
  int64_t integer = 0;
  uint64_t natural = 0;
  double real = 0;
  if (value->type == MLXCEL_GGUF_VALUE_ARRAY) {
    snprintf(buffer, capacity, "array of %" PRIu64 " (%s)", value->count, gguf_value_type_names[value->element_type]);
  } else if (value->type == MLXCEL_GGUF_VALUE_STRING) {
    gguf_string_format(value, buffer, capacity);
  } else if (value->type == MLXCEL_GGUF_VALUE_BOOL) {
    snprintf(buffer, capacity, value->data[0] > 1 ? "%u (bool)" : (value->data[0] ? "true (bool)" : "false (bool)"), (unsigned)value->data[0]);
  } else if (gguf_value_as_f64(value, &real)) {
    snprintf(buffer, capacity, "%.9g (%s)", real, name);
  } else if (gguf_value_as_u64(value, &natural)) {
    snprintf(buffer, capacity, "%" PRIu64 " (%s)", natural, name);
  } else {
    memset(&integer, 0xff, sizeof(integer));  // negative: extend the sign
    memcpy(&integer, value->data, value->size);
    snprintf(buffer, capacity, "%" PRId64 " (%s)", integer, name);
  }
}

iree_status_t mlxcel_gguf_value_refuse(const mlxcel_gguf_t* file, const mlxcel_gguf_value_t* value, const char* remedy) {
  char text[128];
  mlxcel_gguf_value_format(value, text, sizeof(text));
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s: %.*s = %s isn't supported; %s", mlxcel_gguf_origin(file), MLXCEL_SV(value->key), text, remedy);
}
