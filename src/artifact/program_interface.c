#include "artifact/program_interface.h"

#include <stdlib.h>
#include <string.h>

#include "artifact/json_fields.h"
#include "base/limits.h"

void mlxcel_program_interface_deinitialize(mlxcel_program_interface_t* interface) {
  for (size_t i = 0; i < interface->parameter_count; ++i) free(interface->parameters[i].key);
  free(interface->parameters);
  memset(interface, 0, sizeof(*interface));
}

uint32_t mlxcel_program_interface_kv_element_bytes(const mlxcel_program_interface_t* interface) {
  if (strcmp(interface->kv_dtype, "F32") == 0) return 4;
  return strcmp(interface->kv_dtype, "F16") == 0 || strcmp(interface->kv_dtype, "BF16") == 0 ? 2 : 0;
}

static bool interface_dtype_is_legal(const char* dtype) {
  size_t size = strlen(dtype);
  if (size == 0 || size >= sizeof(((mlxcel_program_parameter_t*)0)->dtype)) return false;
  return strspn(dtype, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == size;
}

// The storage doubles whenever the count is a power of two, so no capacity has to be kept.
static iree_status_t interface_grow(mlxcel_program_interface_t* interface) {
  size_t count = interface->parameter_count;
  if (count >= MLXCEL_TENSOR_COUNT_MAX) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "a program has more than %u parameters", MLXCEL_TENSOR_COUNT_MAX);
  }
  if (count & (count - 1)) return iree_ok_status();
  size_t capacity = count ? 2 * count : 1;
  void* grown = realloc(interface->parameters, capacity * sizeof(*interface->parameters));
  if (!grown) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu parameters", capacity);
  interface->parameters = grown;
  return iree_ok_status();
}

// The first place whose key isn't below |key|. Keys mostly arrive in order, so the end is tried first.
static size_t interface_find(const mlxcel_program_interface_t* interface, const char* key) {
  size_t low = 0, high = interface->parameter_count;
  if (high > 0 && strcmp(interface->parameters[high - 1].key, key) < 0) return high;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (strcmp(interface->parameters[middle].key, key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static iree_status_t interface_check_parameter(iree_string_view_t key, const char* dtype) {
  if (key.size == 0 || key.size > MLXCEL_TENSOR_NAME_BYTES_MAX || memchr(key.data, 0, key.size)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a parameter's key must have 1 to %u bytes and no NUL, not %zu bytes", MLXCEL_TENSOR_NAME_BYTES_MAX,
                            key.size);
  }
  if (!interface_dtype_is_legal(dtype)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "parameter '%.*s': '%s' isn't the name of a dtype", MLXCEL_SV(key), dtype);
  }
  return iree_ok_status();
}

iree_status_t mlxcel_program_interface_add_parameter(mlxcel_program_interface_t* interface, iree_string_view_t key, const char* dtype, uint64_t byte_count) {
  IREE_RETURN_IF_ERROR(interface_check_parameter(key, dtype));
  IREE_RETURN_IF_ERROR(interface_grow(interface));
  char* copy = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_artifact_text_copy(key, &copy));
  size_t place = interface_find(interface, copy);
  mlxcel_program_parameter_t* slot = &interface->parameters[place];
  if (place < interface->parameter_count && strcmp(slot->key, copy) == 0) {
    free(copy);
    return iree_make_status(IREE_STATUS_ALREADY_EXISTS, "parameter '%.*s' was added before; a program names each tensor once", MLXCEL_SV(key));
  }
  memmove(slot + 1, slot, (interface->parameter_count - place) * sizeof(*slot));
  memset(slot, 0, sizeof(*slot));
  slot->key = copy;
  memcpy(slot->dtype, dtype, strlen(dtype));
  slot->byte_count = byte_count;
  ++interface->parameter_count;
  return iree_ok_status();
}

// --- writing -----------------------------------------------------------------------------------------------------------------------------

static json_t* interface_sizes_to_json(const mlxcel_program_sizes_t* sizes) {
  json_t* array = json_array();
  bool good = array && sizes->count <= MLXCEL_PROGRAM_SIZES_MAX;
  for (uint32_t i = 0; good && i < sizes->count; ++i) good = json_array_append_new(array, json_integer(sizes->values[i])) == 0;
  if (good) return array;
  json_decref(array);
  return NULL;
}

static json_t* interface_parameters_to_json(const mlxcel_program_interface_t* interface) {
  json_t* array = json_array();
  bool good = array != NULL;
  for (size_t i = 0; good && i < interface->parameter_count; ++i) {
    const mlxcel_program_parameter_t* parameter = &interface->parameters[i];
    json_t* entry = parameter->byte_count > INT64_MAX
                        ? NULL
                        : json_pack("{s:s, s:s, s:I}", "key", parameter->key, "dtype", parameter->dtype, "bytes", (json_int_t)parameter->byte_count);
    good = json_array_append_new(array, entry) == 0;
  }
  if (good) return array;
  json_decref(array);
  return NULL;
}

static bool interface_set(json_t* object, const char* name, json_t* value) { return json_object_set_new(object, name, value) == 0; }

static bool interface_fill_json(const mlxcel_program_interface_t* interface, json_t* object) {
  bool good = interface_set(object, "version", json_integer(MLXCEL_PROGRAM_INTERFACE_VERSION));
  good &= interface_set(object, "kind", json_string(interface->kind));
  good &= interface_set(object, "module_name", json_string(interface->module_name));
  good &= interface_set(object, "parameter_scope", json_string(interface->parameter_scope));
  good &= interface_set(object, "kv_dtype", json_string(interface->kv_dtype));
  good &= interface_set(object, "layer_count", json_integer(interface->layer_count));
  good &= interface_set(object, "kv_head_count", json_integer(interface->kv_head_count));
  good &= interface_set(object, "head_dim", json_integer(interface->head_dim));
  good &= interface_set(object, "hidden_size", json_integer(interface->hidden_size));
  good &= interface_set(object, "vocab_size", json_integer(interface->vocab_size));
  good &= interface_set(object, "rope_width", json_integer(interface->rope_width));
  good &= interface_set(object, "prefill_chunks", interface_sizes_to_json(&interface->prefill_chunks));
  good &= interface_set(object, "decode_batches", interface_sizes_to_json(&interface->decode_batches));
  good &= interface_set(object, "head_rows", interface_sizes_to_json(&interface->head_rows));
  good &= interface_set(object, "parameters", interface_parameters_to_json(interface));
  return good;
}

iree_status_t mlxcel_program_interface_to_json(const mlxcel_program_interface_t* interface, json_t** out_value) {
  *out_value = json_object();
  if (*out_value && interface_fill_json(interface, *out_value)) return iree_ok_status();
  json_decref(*out_value);
  *out_value = NULL;
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "the program interface can't be written as JSON; a name isn't valid UTF-8, a size is out of range, or memory ran out");
}

// --- reading -----------------------------------------------------------------------------------------------------------------------------

static bool interface_is_identifier(const char* text) {
  if (text[0] >= '0' && text[0] <= '9') return false;
  return text[0] && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(text);
}

static iree_status_t interface_read_identifier(const mlxcel_json_fields_t* fields, const char* name, size_t capacity, char* out_text) {
  const char* text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(fields, name, 1, capacity - 1, &text));
  if (!interface_is_identifier(text)) return mlxcel_json_fields_error(fields, name, "must be an identifier");
  memcpy(out_text, text, strlen(text) + 1);
  return iree_ok_status();
}

static iree_status_t interface_read_dtype(const mlxcel_json_fields_t* fields, const char* name, char out_dtype[8]) {
  const char* text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(fields, name, 1, 7, &text));
  if (!interface_dtype_is_legal(text)) return mlxcel_json_fields_error(fields, name, "isn't the name of a dtype");
  memcpy(out_dtype, text, strlen(text) + 1);
  return iree_ok_status();
}

static iree_status_t interface_read_u32(const mlxcel_json_fields_t* fields, const char* name, uint32_t min, uint32_t max, uint32_t* out_value) {
  uint64_t value = 0;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_unsigned(fields, name, min, max, &value));
  *out_value = (uint32_t)value;
  return iree_ok_status();
}

static iree_status_t interface_read_sizes(const mlxcel_json_fields_t* fields, const char* name, uint32_t max_count, mlxcel_program_sizes_t* out_sizes) {
  const json_t* array = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_array(fields, name, max_count, &array));
  json_int_t previous = 0;
  for (size_t i = 0; i < json_array_size(array); ++i) {
    const json_t* element = json_array_get(array, i);
    json_int_t value = json_integer_value(element);
    if (!json_is_integer(element) || value <= previous || value > (json_int_t)MLXCEL_CONTEXT_MAX) {
      return mlxcel_json_fields_error(fields, name, "must hold ascending, different, positive integers");
    }
    out_sizes->values[i] = (uint32_t)value;
    previous = value;
  }
  out_sizes->count = (uint32_t)json_array_size(array);
  return iree_ok_status();
}

static iree_status_t interface_read_parameter(const json_t* value, mlxcel_program_interface_t* interface) {
  static const char* const names[] = {"key", "dtype", "bytes"};
  mlxcel_json_fields_t fields;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(value, "interface.parameters[]", IREE_ARRAYSIZE(names), names, &fields));
  const char* key = NULL;
  char dtype[8] = {0};
  uint64_t byte_count = 0;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(&fields, "key", 1, MLXCEL_TENSOR_NAME_BYTES_MAX, &key));
  IREE_RETURN_IF_ERROR(interface_read_dtype(&fields, "dtype", dtype));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_unsigned(&fields, "bytes", 0, INT64_MAX, &byte_count));
  // Required order: reading stays linear, and one interface has one text.
  size_t count = interface->parameter_count;
  if (count > 0 && strcmp(interface->parameters[count - 1].key, key) >= 0) {
    return mlxcel_json_fields_error(&fields, "key", "must come in ascending order, each once");
  }
  return mlxcel_program_interface_add_parameter(interface, iree_make_cstring_view(key), dtype, byte_count);
}

static iree_status_t interface_read_parameters(const mlxcel_json_fields_t* fields, mlxcel_program_interface_t* interface) {
  const json_t* array = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_array(fields, "parameters", MLXCEL_TENSOR_COUNT_MAX, &array));
  for (size_t i = 0; i < json_array_size(array); ++i) {
    IREE_RETURN_IF_ERROR(interface_read_parameter(json_array_get(array, i), interface));
  }
  return iree_ok_status();
}

static iree_status_t interface_read_kind(const mlxcel_json_fields_t* fields, mlxcel_program_interface_t* interface) {
  const char* text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(fields, "kind", 1, sizeof(interface->kind) - 1, &text));
  if (strcmp(text, MLXCEL_PROGRAM_KIND_DECODER) != 0 && strcmp(text, MLXCEL_PROGRAM_KIND_OPERATION) != 0) {
    return mlxcel_json_fields_error(fields, "kind", "must be \"" MLXCEL_PROGRAM_KIND_DECODER "\" or \"" MLXCEL_PROGRAM_KIND_OPERATION "\"");
  }
  memcpy(interface->kind, text, strlen(text) + 1);
  return iree_ok_status();
}

// F32, F16 or BF16 for a decoder, nothing for an operation.
static iree_status_t interface_read_kv_dtype(const mlxcel_json_fields_t* fields, bool is_decoder, mlxcel_program_interface_t* interface) {
  const char* text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(fields, "kv_dtype", 0, sizeof(interface->kv_dtype) - 1, &text));
  memcpy(interface->kv_dtype, text, strlen(text) + 1);
  if (!is_decoder) return text[0] ? mlxcel_json_fields_error(fields, "kv_dtype", "must be empty for kind \"operation\"") : iree_ok_status();
  if (mlxcel_program_interface_kv_element_bytes(interface)) return iree_ok_status();
  return mlxcel_json_fields_error(fields, "kv_dtype", "must be F32, F16 or BF16");
}

// An operation has none of them: 0.
static iree_status_t interface_read_dimensions(const mlxcel_json_fields_t* fields, bool is_decoder, mlxcel_program_interface_t* interface) {
  const uint32_t min = is_decoder ? 1 : 0;
  IREE_RETURN_IF_ERROR(interface_read_u32(fields, "layer_count", min, min * MLXCEL_LAYERS_MAX, &interface->layer_count));
  IREE_RETURN_IF_ERROR(interface_read_u32(fields, "kv_head_count", min, min * MLXCEL_HEADS_MAX, &interface->kv_head_count));
  IREE_RETURN_IF_ERROR(interface_read_u32(fields, "head_dim", min, min * MLXCEL_HEAD_DIM_MAX, &interface->head_dim));
  IREE_RETURN_IF_ERROR(interface_read_u32(fields, "hidden_size", min, min * MLXCEL_HIDDEN_MAX, &interface->hidden_size));
  IREE_RETURN_IF_ERROR(interface_read_u32(fields, "vocab_size", min, min * MLXCEL_VOCAB_MAX, &interface->vocab_size));
  return interface_read_u32(fields, "rope_width", 0, min * MLXCEL_HEAD_DIM_MAX, &interface->rope_width);  // 0: no rotary positions
}

static iree_status_t interface_read_model(const mlxcel_json_fields_t* fields, mlxcel_program_interface_t* interface) {
  bool is_decoder = strcmp(interface->kind, MLXCEL_PROGRAM_KIND_DECODER) == 0;
  const uint32_t max_count = is_decoder ? MLXCEL_PROGRAM_SIZES_MAX : 0;
  IREE_RETURN_IF_ERROR(interface_read_kv_dtype(fields, is_decoder, interface));
  IREE_RETURN_IF_ERROR(interface_read_dimensions(fields, is_decoder, interface));
  IREE_RETURN_IF_ERROR(interface_read_sizes(fields, "prefill_chunks", max_count, &interface->prefill_chunks));
  IREE_RETURN_IF_ERROR(interface_read_sizes(fields, "decode_batches", max_count, &interface->decode_batches));
  return interface_read_sizes(fields, "head_rows", max_count, &interface->head_rows);
}

static iree_status_t interface_check_version(const json_t* value) {
  const json_t* version = json_object_get(value, "version");
  if (!json_is_integer(version)) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field 'interface.version' must be an integer");
  json_int_t number = json_integer_value(version);
  if (number == MLXCEL_PROGRAM_INTERFACE_VERSION) return iree_ok_status();
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "field 'interface.version' is %lld, %s than the version %d that this mlxcel reads; compile again",
                          (long long)number, number > MLXCEL_PROGRAM_INTERFACE_VERSION ? "newer" : "older", MLXCEL_PROGRAM_INTERFACE_VERSION);
}

static iree_status_t interface_read(const json_t* value, mlxcel_program_interface_t* interface) {
  static const char* const names[] = {"version",     "kind",           "module_name",    "parameter_scope", "kv_dtype",
                                      "layer_count", "kv_head_count",  "head_dim",       "hidden_size",     "vocab_size",
                                      "rope_width",  "prefill_chunks", "decode_batches", "head_rows",       "parameters"};
  mlxcel_json_fields_t fields;
  IREE_RETURN_IF_ERROR(interface_check_version(value));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(value, "interface", IREE_ARRAYSIZE(names), names, &fields));
  IREE_RETURN_IF_ERROR(interface_read_kind(&fields, interface));
  IREE_RETURN_IF_ERROR(interface_read_identifier(&fields, "module_name", sizeof(interface->module_name), interface->module_name));
  IREE_RETURN_IF_ERROR(interface_read_identifier(&fields, "parameter_scope", sizeof(interface->parameter_scope), interface->parameter_scope));
  IREE_RETURN_IF_ERROR(interface_read_model(&fields, interface));
  return interface_read_parameters(&fields, interface);
}

iree_status_t mlxcel_program_interface_from_json(const json_t* value, mlxcel_program_interface_t* out_interface) {
  memset(out_interface, 0, sizeof(*out_interface));
  iree_status_t status = interface_read(value, out_interface);
  if (!iree_status_is_ok(status)) mlxcel_program_interface_deinitialize(out_interface);
  return status;
}
