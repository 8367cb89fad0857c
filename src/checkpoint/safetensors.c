#include "checkpoint/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "checkpoint/excerpt.h"

#define LENGTH_FIELD_BYTES 8u
#define METADATA_KEY "__metadata__"
#define REMEDY "the file is damaged or was written wrongly: restore it from its source"

struct mlxcel_safetensors_t {
  mlxcel_mapped_file_t map;  // empty if the bytes are the caller's
  size_t tensor_count;
  mlxcel_tensor_t* tensors;  // sorted by name
  char* names;               // all names, one after the other
};

// The bytes being parsed.
typedef struct safetensors_source_t {
  const char* origin;
  const uint8_t* data;
  size_t size;
  size_t header_size;  // without the length field
  uint64_t body_offset, body_size;
} safetensors_source_t;

static iree_status_t safetensors_locate_header(safetensors_source_t* source) {
  if (source->size < LENGTH_FIELD_BYTES) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %zu bytes are too short for a safetensors file, which starts with an 8-byte header length; %s",
                            source->origin, source->size, REMEDY);
  }
  uint64_t length = 0;
  for (size_t i = 0; i < LENGTH_FIELD_BYTES; ++i) length |= (uint64_t)source->data[i] << (8 * i);
  if (length > MLXCEL_SAFETENSORS_HEADER_BYTES_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: header length %" PRIu64 " is over the limit of %u bytes; it isn't a safetensors file, or %s",
                            source->origin, length, MLXCEL_SAFETENSORS_HEADER_BYTES_MAX, REMEDY);
  }
  if (length > source->size - LENGTH_FIELD_BYTES) {
    return iree_make_status(IREE_STATUS_DATA_LOSS, "%s: header length %" PRIu64 " is more than the %zu bytes that follow it: the file was cut off; %s",
                            source->origin, length, source->size - LENGTH_FIELD_BYTES, REMEDY);
  }
  if (length == 0 || source->data[LENGTH_FIELD_BYTES] != '{') {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: the header isn't a JSON object (it must start with '{'); it isn't a safetensors file, or %s",
                            source->origin, REMEDY);
  }
  source->header_size = (size_t)length;
  source->body_offset = LENGTH_FIELD_BYTES + length;
  source->body_size = source->size - source->body_offset;
  return iree_ok_status();
}

static iree_status_t safetensors_parse_dtype(const safetensors_source_t* source, const char* name, const json_t* value, mlxcel_tensor_t* tensor) {
  if (json_is_string(value) && mlxcel_tensor_dtype_parse(iree_make_string_view(json_string_value(value), json_string_length(value)), &tensor->dtype)) {
    return iree_ok_status();
  }
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s: tensor %s: dtype %s isn't known (known: F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL); convert the checkpoint",
                          source->origin, mlxcel_excerpt(iree_make_cstring_view(name)).text, value ? mlxcel_excerpt_json(value).text : "(missing)");
}

// False unless |value| is an integer from 0 to 2^63 - 1; no file is larger.
static bool safetensors_read_u64(const json_t* value, uint64_t* out_number) {
  *out_number = 0;
  if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
  *out_number = (uint64_t)json_integer_value(value);
  return true;
}

static iree_status_t safetensors_parse_shape(const safetensors_source_t* source, const char* name, const json_t* value, mlxcel_tensor_t* tensor) {
  const mlxcel_excerpt_t who = mlxcel_excerpt(iree_make_cstring_view(name));
  if (!json_is_array(value)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s: 'shape' isn't an array; %s", source->origin, who.text, REMEDY);
  }
  if (json_array_size(value) > MLXCEL_TENSOR_RANK_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s: rank %zu is over the limit of %u; %s", source->origin, who.text,
                            json_array_size(value), MLXCEL_TENSOR_RANK_MAX, REMEDY);
  }
  tensor->rank = (uint32_t)json_array_size(value);
  tensor->element_count = 1;
  bool fits = true;
  for (uint32_t i = 0; i < tensor->rank; ++i) {
    if (!safetensors_read_u64(json_array_get(value, i), &tensor->shape[i])) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s: shape %s has an entry that isn't a non-negative integer; %s", source->origin,
                              who.text, mlxcel_excerpt_json(value).text, REMEDY);
    }
    fits = fits && mlxcel_checked_mul_u64(tensor->element_count, tensor->shape[i], &tensor->element_count);
  }
  fits = fits && mlxcel_checked_mul_u64(tensor->element_count, mlxcel_tensor_dtype_byte_count(tensor->dtype), &tensor->byte_count);
  if (fits) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s: shape %s of %s is larger than 2^64 bytes; %s", source->origin, who.text,
                          mlxcel_excerpt_json(value).text, mlxcel_tensor_dtype_name(tensor->dtype), REMEDY);
}

static iree_status_t safetensors_parse_offsets(const safetensors_source_t* source, const char* name, const json_t* value, mlxcel_tensor_t* tensor) {
  const mlxcel_excerpt_t who = mlxcel_excerpt(iree_make_cstring_view(name));
  uint64_t begin = 0, end = 0;
  if (json_array_size(value) != 2 || !safetensors_read_u64(json_array_get(value, 0), &begin) || !safetensors_read_u64(json_array_get(value, 1), &end)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s: 'data_offsets' isn't an array of two non-negative integers; %s", source->origin,
                            who.text, REMEDY);
  }
  if (begin > end) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s: data_offsets begin (%" PRIu64 ") is after its end (%" PRIu64 "); %s", source->origin,
                            who.text, begin, end, REMEDY);
  }
  if (end - begin != tensor->byte_count) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s: data_offsets span %" PRIu64 " bytes, but its shape and dtype %s need %" PRIu64 "; %s",
                            source->origin, who.text, end - begin, mlxcel_tensor_dtype_name(tensor->dtype), tensor->byte_count, REMEDY);
  }
  if (end > source->body_size) {
    return iree_make_status(IREE_STATUS_DATA_LOSS,
                            "%s: tensor %s ends at byte %" PRIu64 " of the data, but the file holds only %" PRIu64 ": it was cut off, or its header lies; %s",
                            source->origin, who.text, end, source->body_size, REMEDY);
  }
  tensor->file_offset = source->body_offset + begin;
  tensor->data = source->data + tensor->file_offset;
  return iree_ok_status();
}

static iree_status_t safetensors_check_entry_keys(const safetensors_source_t* source, const char* name, const json_t* entry) {
  const char* key = NULL;
  json_t* value = NULL;
  json_object_foreach((json_t*)(uintptr_t)entry, key, value) {
    if (strcmp(key, "dtype") == 0 || strcmp(key, "shape") == 0 || strcmp(key, "data_offsets") == 0) continue;
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s: tensor %s: unknown key '%s'; only dtype, shape and data_offsets are defined: write the file anew",
                            source->origin, mlxcel_excerpt(iree_make_cstring_view(name)).text, mlxcel_excerpt(iree_make_cstring_view(key)).text);
  }
  return iree_ok_status();
}

static iree_status_t safetensors_parse_entry(const safetensors_source_t* source, const char* name, const json_t* entry, mlxcel_tensor_t* tensor) {
  if (!json_is_object(entry)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s: its entry isn't a JSON object; %s", source->origin,
                            mlxcel_excerpt(iree_make_cstring_view(name)).text, REMEDY);
  }
  IREE_RETURN_IF_ERROR(safetensors_check_entry_keys(source, name, entry));
  IREE_RETURN_IF_ERROR(safetensors_parse_dtype(source, name, json_object_get(entry, "dtype"), tensor));
  IREE_RETURN_IF_ERROR(safetensors_parse_shape(source, name, json_object_get(entry, "shape"), tensor));
  return safetensors_parse_offsets(source, name, json_object_get(entry, "data_offsets"), tensor);
}

// The optional free text of the writer: an object of strings, of no use to us.
static iree_status_t safetensors_check_metadata(const safetensors_source_t* source, const json_t* header) {
  json_t* metadata = json_object_get(header, METADATA_KEY);
  bool legal = !metadata || json_is_null(metadata) || json_is_object(metadata);
  const char* key = NULL;
  json_t* value = NULL;
  json_object_foreach(metadata, key, value) { legal = legal && json_is_string(value); }
  if (legal) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: '%s' isn't an object of strings; %s", source->origin, METADATA_KEY, REMEDY);
}

// Counts the tensors and the bytes of their names, within the limits.
static iree_status_t safetensors_measure(const safetensors_source_t* source, const json_t* header, size_t* out_count, size_t* out_name_bytes) {
  *out_count = 0;
  *out_name_bytes = 0;
  const char* name = NULL;
  json_t* entry = NULL;
  json_object_foreach((json_t*)(uintptr_t)header, name, entry) {
    if (strcmp(name, METADATA_KEY) == 0) continue;
    size_t size = strlen(name);
    if (size == 0 || size > MLXCEL_TENSOR_NAME_BYTES_MAX) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: a tensor's name has %zu bytes (%s); 1 to %u are allowed: rename it", source->origin, size,
                              mlxcel_excerpt(iree_make_cstring_view(name)).text, MLXCEL_TENSOR_NAME_BYTES_MAX);
    }
    *out_name_bytes += size;
    ++*out_count;
  }
  if (*out_count <= MLXCEL_TENSOR_COUNT_MAX) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %zu tensors are over the limit of %u; %s", source->origin, *out_count, MLXCEL_TENSOR_COUNT_MAX,
                          REMEDY);
}

static iree_status_t safetensors_fill(const safetensors_source_t* source, const json_t* header, mlxcel_safetensors_t* file) {
  size_t count = 0, name_bytes = 0;
  IREE_RETURN_IF_ERROR(safetensors_measure(source, header, &count, &name_bytes));
  file->tensors = calloc(count + 1, sizeof(*file->tensors));
  file->names = malloc(name_bytes + 1);
  if (!file->tensors || !file->names) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for %zu tensors", source->origin, count);
  char* next_name = file->names;
  const char* name = NULL;
  json_t* entry = NULL;
  json_object_foreach((json_t*)(uintptr_t)header, name, entry) {
    if (strcmp(name, METADATA_KEY) == 0) continue;
    mlxcel_tensor_t* tensor = &file->tensors[file->tensor_count];
    IREE_RETURN_IF_ERROR(safetensors_parse_entry(source, name, entry, tensor));
    size_t size = strlen(name);
    memcpy(next_name, name, size);
    tensor->name = iree_make_string_view(next_name, size);
    next_name += size;
    ++file->tensor_count;
  }
  return iree_ok_status();
}

static int safetensors_compare_offsets(const void* left, const void* right) {
  const mlxcel_tensor_t* a = left;
  const mlxcel_tensor_t* b = right;
  if (a->file_offset != b->file_offset) return a->file_offset < b->file_offset ? -1 : 1;
  // Empty tensors come before the one that fills the same place.
  return (a->byte_count > b->byte_count) - (a->byte_count < b->byte_count);
}

static int safetensors_compare_names(const void* left, const void* right) {
  return iree_string_view_compare(((const mlxcel_tensor_t*)left)->name, ((const mlxcel_tensor_t*)right)->name);
}

// The data must be covered exactly once, from its first byte to the file's last.
static iree_status_t safetensors_check_layout(const safetensors_source_t* source, mlxcel_safetensors_t* file) {
  qsort(file->tensors, file->tensor_count, sizeof(*file->tensors), safetensors_compare_offsets);
  uint64_t covered = source->body_offset;
  for (size_t i = 0; i < file->tensor_count; ++i) {
    const mlxcel_tensor_t* tensor = &file->tensors[i];
    if (tensor->file_offset != covered) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                              "%s: tensor %s starts at byte %" PRIu64 " of the data, but the tensors before it end at %" PRIu64 " (%s); %s", source->origin,
                              mlxcel_excerpt(tensor->name).text, tensor->file_offset - source->body_offset, covered - source->body_offset,
                              tensor->file_offset < covered ? "they overlap" : "there is a hole", REMEDY);
    }
    covered += tensor->byte_count;
  }
  if (covered != source->size) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %" PRIu64 " bytes after the last tensor belong to none; %s", source->origin,
                            source->size - covered, REMEDY);
  }
  qsort(file->tensors, file->tensor_count, sizeof(*file->tensors), safetensors_compare_names);
  return iree_ok_status();
}

static iree_status_t safetensors_parse_into(safetensors_source_t* source, mlxcel_safetensors_t* file) {
  IREE_RETURN_IF_ERROR(safetensors_locate_header(source));
  json_t* header = NULL;
  iree_string_view_t text = iree_make_string_view((const char*)source->data + LENGTH_FIELD_BYTES, source->header_size);
  IREE_RETURN_IF_ERROR(mlxcel_json_parse(text, source->origin, &header));
  iree_status_t status = safetensors_check_metadata(source, header);
  if (iree_status_is_ok(status)) status = safetensors_fill(source, header, file);
  if (iree_status_is_ok(status)) status = safetensors_check_layout(source, file);
  json_decref(header);
  return status;
}

iree_status_t mlxcel_safetensors_parse(const uint8_t* data, size_t size, const char* origin, mlxcel_safetensors_t** out_file) {
  *out_file = NULL;
  mlxcel_safetensors_t* file = calloc(1, sizeof(*file));
  if (!file) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for its index", origin);
  safetensors_source_t source = {.origin = origin, .data = data, .size = size};
  iree_status_t status = safetensors_parse_into(&source, file);
  if (iree_status_is_ok(status)) {
    *out_file = file;
  } else {
    mlxcel_safetensors_close(file);
  }
  return status;
}

iree_status_t mlxcel_safetensors_open(const char* path, mlxcel_safetensors_t** out_file) {
  *out_file = NULL;
  mlxcel_mapped_file_t map;
  IREE_RETURN_IF_ERROR(mlxcel_mapped_file_open(path, INT64_MAX, &map));
  iree_status_t status = mlxcel_safetensors_parse(map.data, map.size, path, out_file);
  if (iree_status_is_ok(status)) {
    (*out_file)->map = map;
  } else {
    mlxcel_mapped_file_close(&map);
  }
  return status;
}

void mlxcel_safetensors_close(mlxcel_safetensors_t* file) {
  if (!file) return;
  mlxcel_mapped_file_close(&file->map);
  free(file->tensors);
  free(file->names);
  free(file);
}

const mlxcel_mapped_file_t* mlxcel_safetensors_map(const mlxcel_safetensors_t* file) { return &file->map; }

size_t mlxcel_safetensors_tensor_count(const mlxcel_safetensors_t* file) { return file->tensor_count; }

const mlxcel_tensor_t* mlxcel_safetensors_tensor_at(const mlxcel_safetensors_t* file, size_t index) {
  return index < file->tensor_count ? &file->tensors[index] : NULL;
}

const mlxcel_tensor_t* mlxcel_safetensors_find(const mlxcel_safetensors_t* file, iree_string_view_t name) {
  const mlxcel_tensor_t key = {.name = name};
  return bsearch(&key, file->tensors, file->tensor_count, sizeof(*file->tensors), safetensors_compare_names);
}
