#include "checkpoint/gguf_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct mlxcel_gguf_t {
  char* origin;
  mlxcel_mapped_file_t map;  // empty when the bytes belong to the caller
  const uint8_t* data;
  uint64_t size;
  uint64_t alignment;
  size_t value_count;
  mlxcel_gguf_value_t* values;
  size_t tensor_count;
  mlxcel_gguf_tensor_t* tensors;
};

#define GGUF_ALIGNMENT_DEFAULT 32u
#define GGUF_VALUE_BYTES_MIN 13u   // an empty key's length, a type, one byte
#define GGUF_TENSOR_BYTES_MIN 32u  // an empty name's length, a rank, one dimension, a type, an offset

// --- tensor types ------------------------------------------------------------------------------------------------------------------------

typedef struct gguf_tensor_type_info_t {
  uint32_t id;
  uint32_t block_elements;  // 0: known by name only
  uint32_t block_bytes;
  const char* name;
} gguf_tensor_type_info_t;

static const gguf_tensor_type_info_t gguf_tensor_types[] = {
    {MLXCEL_GGUF_TENSOR_F32, 1, 4, "F32"},
    {MLXCEL_GGUF_TENSOR_F16, 1, 2, "F16"},
    {MLXCEL_GGUF_TENSOR_Q4_0, 32, 18, "Q4_0"},
    {MLXCEL_GGUF_TENSOR_Q4_1, 32, 20, "Q4_1"},
    {MLXCEL_GGUF_TENSOR_Q8_0, 32, 34, "Q8_0"},
    {MLXCEL_GGUF_TENSOR_BF16, 1, 2, "BF16"},
    {6, 0, 0, "Q5_0"},
    {7, 0, 0, "Q5_1"},
    {9, 0, 0, "Q8_1"},
    {10, 0, 0, "Q2_K"},
    {11, 0, 0, "Q3_K"},
    {12, 0, 0, "Q4_K"},
    {13, 0, 0, "Q5_K"},
    {14, 0, 0, "Q6_K"},
    {15, 0, 0, "Q8_K"},
    {16, 0, 0, "IQ2_XXS"},
    {17, 0, 0, "IQ2_XS"},
    {18, 0, 0, "IQ3_XXS"},
    {19, 0, 0, "IQ1_S"},
    {20, 0, 0, "IQ4_NL"},
    {21, 0, 0, "IQ3_S"},
    {22, 0, 0, "IQ2_S"},
    {23, 0, 0, "IQ4_XS"},
    {24, 0, 0, "I8"},
    {25, 0, 0, "I16"},
    {26, 0, 0, "I32"},
    {27, 0, 0, "I64"},
    {28, 0, 0, "F64"},
    {29, 0, 0, "IQ1_M"},
    {34, 0, 0, "TQ1_0"},
    {35, 0, 0, "TQ2_0"},
    {39, 0, 0, "MXFP4"},
    {40, 0, 0, "NVFP4"},
    {41, 0, 0, "Q1_0"},
};

static const gguf_tensor_type_info_t* gguf_tensor_type_find(uint32_t id) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(gguf_tensor_types); ++i) {
    if (gguf_tensor_types[i].id == id) return &gguf_tensor_types[i];
  }
  return NULL;
}

const char* mlxcel_gguf_tensor_type_name(mlxcel_gguf_tensor_type_t type) { return gguf_tensor_type_find((uint32_t)type)->name; }
uint32_t mlxcel_gguf_tensor_type_block_elements(mlxcel_gguf_tensor_type_t type) { return gguf_tensor_type_find((uint32_t)type)->block_elements; }
uint32_t mlxcel_gguf_tensor_type_block_bytes(mlxcel_gguf_tensor_type_t type) { return gguf_tensor_type_find((uint32_t)type)->block_bytes; }

// --- taking bytes ------------------------------------------------------------------------------------------------------------------------

typedef struct gguf_cursor_t {
  const char* origin;
  const uint8_t* data;
  uint64_t size;
  uint64_t offset;  // <= size
} gguf_cursor_t;

static uint64_t gguf_bytes_left(const gguf_cursor_t* cursor) { return cursor->size - cursor->offset; }

static iree_status_t gguf_check_left(const gguf_cursor_t* cursor, uint64_t size, const char* what) {
  if (size <= gguf_bytes_left(cursor)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s: the file ends inside %s: it needs %" PRIu64 " bytes at offset %" PRIu64 " of %" PRIu64
                          "; the file is cut short or damaged, fetch it again",
                          cursor->origin, what, size, cursor->offset, cursor->size);
}

static iree_status_t gguf_take(gguf_cursor_t* cursor, uint64_t size, const char* what, const uint8_t** out_data) {
  IREE_RETURN_IF_ERROR(gguf_check_left(cursor, size, what));
  *out_data = cursor->data + cursor->offset;
  cursor->offset += size;
  return iree_ok_status();
}

static iree_status_t gguf_take_bytes(gguf_cursor_t* cursor, size_t size, const char* what, void* out_bytes) {
  IREE_RETURN_IF_ERROR(gguf_check_left(cursor, size, what));
  memcpy(out_bytes, cursor->data + cursor->offset, size);
  cursor->offset += size;
  return iree_ok_status();
}

static iree_status_t gguf_take_u32(gguf_cursor_t* cursor, const char* what, uint32_t* out_value) {
  return gguf_take_bytes(cursor, sizeof(*out_value), what, out_value);
}

static iree_status_t gguf_take_u64(gguf_cursor_t* cursor, const char* what, uint64_t* out_value) {
  return gguf_take_bytes(cursor, sizeof(*out_value), what, out_value);
}

static iree_status_t gguf_take_string(gguf_cursor_t* cursor, const char* what, iree_string_view_t* out_text) {
  uint64_t size = 0;
  const uint8_t* data = NULL;
  IREE_RETURN_IF_ERROR(gguf_take_u64(cursor, what, &size));
  IREE_RETURN_IF_ERROR(gguf_take(cursor, size, what, &data));
  *out_text = iree_make_string_view((const char*)data, (iree_host_size_t)size);
  return iree_ok_status();
}

// Names appear in messages, paths of modules and JSON keys: printable ASCII keeps all three harmless.
static iree_status_t gguf_take_name(gguf_cursor_t* cursor, const char* what, uint64_t max_bytes, iree_string_view_t* out_name) {
  uint64_t offset = cursor->offset;
  IREE_RETURN_IF_ERROR(gguf_take_string(cursor, what, out_name));
  bool is_legal = out_name->size > 0 && out_name->size <= max_bytes;
  for (size_t i = 0; is_legal && i < out_name->size; ++i) is_legal = out_name->data[i] > 0x20 && out_name->data[i] < 0x7f;
  if (is_legal) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s: %s at offset %" PRIu64 " isn't 1 to %" PRIu64 " printable ASCII characters; the file is damaged, fetch it again", cursor->origin,
                          what, offset, max_bytes);
}

// --- metadata ----------------------------------------------------------------------------------------------------------------------------

// Bytes of one element; 0 for strings and arrays.
static uint32_t gguf_value_type_size(mlxcel_gguf_value_type_t type) {
  static const uint8_t sizes[MLXCEL_GGUF_VALUE_TYPE_COUNT] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return sizes[type];
}

static iree_status_t gguf_take_value_type(gguf_cursor_t* cursor, iree_string_view_t key, mlxcel_gguf_value_type_t* out_type) {
  uint32_t type = 0;
  IREE_RETURN_IF_ERROR(gguf_take_u32(cursor, "the type of a metadata value", &type));
  if (type >= MLXCEL_GGUF_VALUE_TYPE_COUNT) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: key %.*s: unknown value type %" PRIu32 "; the file is damaged or of a later format version",
                            cursor->origin, MLXCEL_SV(key), type);
  }
  *out_type = (mlxcel_gguf_value_type_t)type;
  return iree_ok_status();
}

static iree_status_t gguf_skip_strings(gguf_cursor_t* cursor, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    iree_string_view_t ignored;
    IREE_RETURN_IF_ERROR(gguf_take_string(cursor, "an array of strings", &ignored));
  }
  return iree_ok_status();
}

static iree_status_t gguf_take_array(gguf_cursor_t* cursor, mlxcel_gguf_value_t* value) {
  IREE_RETURN_IF_ERROR(gguf_take_value_type(cursor, value->key, &value->element_type));
  IREE_RETURN_IF_ERROR(gguf_take_u64(cursor, "the length of an array", &value->count));
  if (value->element_type == MLXCEL_GGUF_VALUE_ARRAY) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s: key %.*s holds an array of arrays, which no model needs; fetch the file from another source",
                            cursor->origin, MLXCEL_SV(value->key));
  }
  value->data = cursor->data + cursor->offset;
  uint64_t start = cursor->offset;
  uint64_t size = 0;
  if (value->element_type == MLXCEL_GGUF_VALUE_STRING) {
    IREE_RETURN_IF_ERROR(gguf_skip_strings(cursor, value->count));
  } else if (!mlxcel_checked_mul_u64(value->count, gguf_value_type_size(value->element_type), &size)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: key %.*s: an array of %" PRIu64 " elements can't exist; the file is damaged, fetch it again",
                            cursor->origin, MLXCEL_SV(value->key), value->count);
  } else {
    IREE_RETURN_IF_ERROR(gguf_take(cursor, size, "an array", &value->data));
  }
  value->size = cursor->offset - start;
  return iree_ok_status();
}

static iree_status_t gguf_take_value(gguf_cursor_t* cursor, mlxcel_gguf_value_t* value) {
  IREE_RETURN_IF_ERROR(gguf_take_name(cursor, "a metadata key", MLXCEL_GGUF_KEY_BYTES_MAX, &value->key));
  IREE_RETURN_IF_ERROR(gguf_take_value_type(cursor, value->key, &value->type));
  if (value->type == MLXCEL_GGUF_VALUE_ARRAY) return gguf_take_array(cursor, value);
  value->element_type = value->type;
  value->count = 1;
  if (value->type == MLXCEL_GGUF_VALUE_STRING) {
    iree_string_view_t text = iree_string_view_empty();
    IREE_RETURN_IF_ERROR(gguf_take_string(cursor, "a string", &text));
    value->data = (const uint8_t*)text.data;
    value->size = text.size;
    return iree_ok_status();
  }
  value->size = gguf_value_type_size(value->type);
  return gguf_take(cursor, value->size, "a metadata value", &value->data);
}

static int gguf_value_compare(const void* a, const void* b) {
  return iree_string_view_compare(((const mlxcel_gguf_value_t*)a)->key, ((const mlxcel_gguf_value_t*)b)->key);
}

static iree_status_t gguf_take_values(gguf_cursor_t* cursor, uint64_t count, mlxcel_gguf_t* file) {
  if (count == 0) return iree_ok_status();
  file->values = calloc((size_t)count, sizeof(*file->values));
  if (!file->values) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for %" PRIu64 " metadata keys", cursor->origin, count);
  file->value_count = (size_t)count;
  for (size_t i = 0; i < file->value_count; ++i) {
    IREE_RETURN_IF_ERROR(gguf_take_value(cursor, &file->values[i]));
  }
  qsort(file->values, file->value_count, sizeof(*file->values), gguf_value_compare);
  for (size_t i = 1; i < file->value_count; ++i) {
    if (gguf_value_compare(&file->values[i - 1], &file->values[i]) != 0) continue;
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: duplicate key %.*s; the file is damaged, fetch it again", cursor->origin,
                            MLXCEL_SV(file->values[i].key));
  }
  return iree_ok_status();
}

// --- tensors -----------------------------------------------------------------------------------------------------------------------------

static iree_status_t gguf_take_tensor_shape(gguf_cursor_t* cursor, mlxcel_gguf_tensor_t* tensor) {
  IREE_RETURN_IF_ERROR(gguf_take_u32(cursor, "a tensor's rank", &tensor->rank));
  if (tensor->rank == 0 || tensor->rank > MLXCEL_GGUF_TENSOR_RANK_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: tensor %.*s has rank %" PRIu32 ", the format allows 1 to %u; the file is damaged, fetch it again", cursor->origin,
                            MLXCEL_SV(tensor->name), tensor->rank, MLXCEL_GGUF_TENSOR_RANK_MAX);
  }
  tensor->element_count = 1;
  for (uint32_t i = 0; i < tensor->rank; ++i) {
    uint64_t* dimension = &tensor->shape[tensor->rank - 1 - i];
    IREE_RETURN_IF_ERROR(gguf_take_u64(cursor, "a tensor's shape", dimension));
    if (*dimension == 0 || !mlxcel_checked_mul_u64(tensor->element_count, *dimension, &tensor->element_count)) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %.*s has an impossible dimension %" PRIu64 "; the file is damaged, fetch it again",
                              cursor->origin, MLXCEL_SV(tensor->name), *dimension);
    }
  }
  return iree_ok_status();
}

static iree_status_t gguf_take_tensor_type(gguf_cursor_t* cursor, mlxcel_gguf_tensor_t* tensor) {
  uint32_t type = 0;
  IREE_RETURN_IF_ERROR(gguf_take_u32(cursor, "a tensor's type", &type));
  const gguf_tensor_type_info_t* info = gguf_tensor_type_find(type);
  if (!info || info->block_elements == 0) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                            "%s: tensor %.*s has type %s (%" PRIu32
                            "), which can't be imported exactly; take a file whose tensors are Q4_0, Q4_1, Q8_0, F16, BF16 or F32",
                            cursor->origin, MLXCEL_SV(tensor->name), info ? info->name : "unknown", type);
  }
  tensor->type = (mlxcel_gguf_tensor_type_t)type;
  uint64_t row = tensor->shape[tensor->rank - 1];
  if (row % info->block_elements != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: tensor %.*s has rows of %" PRIu64 " elements, which isn't a multiple of %s's block of %" PRIu32 "; the file is damaged",
                            cursor->origin, MLXCEL_SV(tensor->name), row, info->name, info->block_elements);
  }
  if (!mlxcel_checked_mul_u64(tensor->element_count / info->block_elements, info->block_bytes, &tensor->byte_count)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %.*s with %" PRIu64 " elements can't exist; the file is damaged, fetch it again",
                            cursor->origin, MLXCEL_SV(tensor->name), tensor->element_count);
  }
  return iree_ok_status();
}

static iree_status_t gguf_take_tensor(gguf_cursor_t* cursor, mlxcel_gguf_tensor_t* tensor) {
  IREE_RETURN_IF_ERROR(gguf_take_name(cursor, "a tensor name", MLXCEL_GGUF_TENSOR_NAME_BYTES_MAX, &tensor->name));
  IREE_RETURN_IF_ERROR(gguf_take_tensor_shape(cursor, tensor));
  IREE_RETURN_IF_ERROR(gguf_take_tensor_type(cursor, tensor));
  return gguf_take_u64(cursor, "a tensor's offset", &tensor->file_offset);
}

// Turns the offset into the data section, which starts at |base|, into an absolute one.
static iree_status_t gguf_place_tensor(const mlxcel_gguf_t* file, uint64_t base, mlxcel_gguf_tensor_t* tensor) {
  if (tensor->file_offset % file->alignment != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: tensor %.*s has offset %" PRIu64 ", not a multiple of the alignment %" PRIu64 "; the file is damaged, fetch it again",
                            file->origin, MLXCEL_SV(tensor->name), tensor->file_offset, file->alignment);
  }
  uint64_t begin = 0, end = 0;
  if (!mlxcel_checked_add_u64(base, tensor->file_offset, &begin) || !mlxcel_checked_add_u64(begin, tensor->byte_count, &end) || end > file->size) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: tensor %.*s (%" PRIu64 " bytes at offset %" PRIu64 " of the data) ends after the file's %" PRIu64
                            " bytes; the file is cut short or damaged, fetch it again",
                            file->origin, MLXCEL_SV(tensor->name), tensor->byte_count, tensor->file_offset, file->size);
  }
  tensor->file_offset = begin;
  tensor->data = file->data + begin;
  return iree_ok_status();
}

static int gguf_tensor_compare_offset(const void* a, const void* b) {
  const mlxcel_gguf_tensor_t *x = a, *y = b;
  return (x->file_offset > y->file_offset) - (x->file_offset < y->file_offset);
}

static int gguf_tensor_compare_name(const void* a, const void* b) {
  return iree_string_view_compare(((const mlxcel_gguf_tensor_t*)a)->name, ((const mlxcel_gguf_tensor_t*)b)->name);
}

static iree_status_t gguf_check_overlap(mlxcel_gguf_t* file) {
  qsort(file->tensors, file->tensor_count, sizeof(*file->tensors), gguf_tensor_compare_offset);
  for (size_t i = 1; i < file->tensor_count; ++i) {
    const mlxcel_gguf_tensor_t *first = &file->tensors[i - 1], *second = &file->tensors[i];
    if (first->file_offset + first->byte_count <= second->file_offset) continue;
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensors %.*s and %.*s overlap; the file is damaged, fetch it again", file->origin,
                            MLXCEL_SV(first->name), MLXCEL_SV(second->name));
  }
  return iree_ok_status();
}

static iree_status_t gguf_sort_tensors(mlxcel_gguf_t* file) {
  qsort(file->tensors, file->tensor_count, sizeof(*file->tensors), gguf_tensor_compare_name);
  for (size_t i = 1; i < file->tensor_count; ++i) {
    if (gguf_tensor_compare_name(&file->tensors[i - 1], &file->tensors[i]) != 0) continue;
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: duplicate tensor %.*s; the file is damaged, fetch it again", file->origin,
                            MLXCEL_SV(file->tensors[i].name));
  }
  return iree_ok_status();
}

static iree_status_t gguf_take_tensors(gguf_cursor_t* cursor, uint64_t count, mlxcel_gguf_t* file) {
  if (count == 0)
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s holds no tensors; give the model's file, not a vocabulary or split header", cursor->origin);
  file->tensors = calloc((size_t)count, sizeof(*file->tensors));
  if (!file->tensors) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for %" PRIu64 " tensors", cursor->origin, count);
  file->tensor_count = (size_t)count;
  for (size_t i = 0; i < file->tensor_count; ++i) {
    IREE_RETURN_IF_ERROR(gguf_take_tensor(cursor, &file->tensors[i]));
  }
  uint64_t base = 0;
  if (!mlxcel_checked_add_u64(cursor->offset, file->alignment - 1, &base)) base = cursor->size;
  base -= base % file->alignment;
  for (size_t i = 0; i < file->tensor_count; ++i) {
    IREE_RETURN_IF_ERROR(gguf_place_tensor(file, base, &file->tensors[i]));
  }
  IREE_RETURN_IF_ERROR(gguf_check_overlap(file));
  return gguf_sort_tensors(file);
}

// --- the file ----------------------------------------------------------------------------------------------------------------------------

static iree_status_t gguf_take_version(gguf_cursor_t* cursor) {
  char magic[4] = {0};
  uint32_t version = 0;
  IREE_RETURN_IF_ERROR(gguf_take_bytes(cursor, sizeof(magic), "the magic number", magic));
  if (memcmp(magic, "GGUF", sizeof(magic)) != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s doesn't start with \"GGUF\"; give a .gguf file", cursor->origin);
  }
  IREE_RETURN_IF_ERROR(gguf_take_u32(cursor, "the version", &version));
  if (version == 2 || version == 3) return iree_ok_status();
  if ((version & 0xffffu) == 0) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s is a big-endian GGUF file; take the little-endian one", cursor->origin);
  }
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s has GGUF version %" PRIu32 ", only 2 and 3 are read; take a newer conversion of the model",
                          cursor->origin, version);
}

// A count is legal if it is below |limit| and the rest of the file could hold that many of |bytes_min| each.
static iree_status_t gguf_check_count(const gguf_cursor_t* cursor, const char* what, uint64_t count, uint64_t limit, uint64_t bytes_min) {
  if (count <= limit && count <= gguf_bytes_left(cursor) / bytes_min) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s claims %" PRIu64 " %s, more than its %" PRIu64 " bytes or the limit of %" PRIu64 " allow; the file is damaged, fetch it again",
                          cursor->origin, count, what, cursor->size, limit);
}

static iree_status_t gguf_read_alignment(mlxcel_gguf_t* file) {
  file->alignment = GGUF_ALIGNMENT_DEFAULT;
  const mlxcel_gguf_value_t* value = mlxcel_gguf_find_value(file, IREE_SV("general.alignment"));
  if (!value) return iree_ok_status();
  uint32_t alignment = 0;
  if (value->type == MLXCEL_GGUF_VALUE_U32) memcpy(&alignment, value->data, sizeof(alignment));
  if (alignment < 8 || alignment > MLXCEL_GGUF_ALIGNMENT_MAX || (alignment & (alignment - 1)) != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: general.alignment must be a u32 power of two from 8 to %u; the file is damaged, fetch it again",
                            file->origin, MLXCEL_GGUF_ALIGNMENT_MAX);
  }
  file->alignment = alignment;
  return iree_ok_status();
}

static iree_status_t gguf_parse_into(mlxcel_gguf_t* file) {
  gguf_cursor_t cursor = {.origin = file->origin, .data = file->data, .size = file->size, .offset = 0};
  uint64_t tensor_count = 0, value_count = 0;
  IREE_RETURN_IF_ERROR(gguf_take_version(&cursor));
  IREE_RETURN_IF_ERROR(gguf_take_u64(&cursor, "the tensor count", &tensor_count));
  IREE_RETURN_IF_ERROR(gguf_take_u64(&cursor, "the key count", &value_count));
  IREE_RETURN_IF_ERROR(gguf_check_count(&cursor, "tensors", tensor_count, MLXCEL_TENSOR_COUNT_MAX, GGUF_TENSOR_BYTES_MIN));
  IREE_RETURN_IF_ERROR(gguf_check_count(&cursor, "metadata keys", value_count, MLXCEL_GGUF_KEY_COUNT_MAX, GGUF_VALUE_BYTES_MIN));
  IREE_RETURN_IF_ERROR(gguf_take_values(&cursor, value_count, file));
  IREE_RETURN_IF_ERROR(gguf_read_alignment(file));
  return gguf_take_tensors(&cursor, tensor_count, file);
}

iree_status_t mlxcel_gguf_parse(const uint8_t* data, size_t size, const char* origin, mlxcel_gguf_t** out_file) {
  *out_file = NULL;
  mlxcel_gguf_t* file = calloc(1, sizeof(*file));
  if (!file) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory while opening %s", origin);
  file->data = data;
  file->size = size;
  file->origin = strdup(origin);
  iree_status_t status = file->origin ? gguf_parse_into(file) : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory while opening %s", origin);
  if (iree_status_is_ok(status)) {
    *out_file = file;
  } else {
    mlxcel_gguf_close(file);
  }
  return status;
}

iree_status_t mlxcel_gguf_open(const char* path, mlxcel_gguf_t** out_file) {
  *out_file = NULL;
  mlxcel_mapped_file_t map;
  IREE_RETURN_IF_ERROR(mlxcel_mapped_file_open(path, MLXCEL_GGUF_FILE_BYTES_MAX, &map));
  iree_status_t status = mlxcel_gguf_parse(map.data, map.size, path, out_file);
  if (*out_file) {
    (*out_file)->map = map;
  } else {
    mlxcel_mapped_file_close(&map);
  }
  return status;
}

void mlxcel_gguf_close(mlxcel_gguf_t* file) {
  if (!file) return;
  mlxcel_mapped_file_close(&file->map);
  free(file->values);
  free(file->tensors);
  free(file->origin);
  free(file);
}

const char* mlxcel_gguf_origin(const mlxcel_gguf_t* file) { return file->origin; }

size_t mlxcel_gguf_value_count(const mlxcel_gguf_t* file) { return file->value_count; }
const mlxcel_gguf_value_t* mlxcel_gguf_value_at(const mlxcel_gguf_t* file, size_t index) { return &file->values[index]; }

const mlxcel_gguf_value_t* mlxcel_gguf_find_value(const mlxcel_gguf_t* file, iree_string_view_t key) {
  if (file->value_count == 0) return NULL;
  mlxcel_gguf_value_t probe = {.key = key};
  return bsearch(&probe, file->values, file->value_count, sizeof(probe), gguf_value_compare);
}

size_t mlxcel_gguf_tensor_count(const mlxcel_gguf_t* file) { return file->tensor_count; }
const mlxcel_gguf_tensor_t* mlxcel_gguf_tensor_at(const mlxcel_gguf_t* file, size_t index) { return &file->tensors[index]; }

const mlxcel_gguf_tensor_t* mlxcel_gguf_find_tensor(const mlxcel_gguf_t* file, iree_string_view_t name) {
  mlxcel_gguf_tensor_t probe = {.name = name};
  return bsearch(&probe, file->tensors, file->tensor_count, sizeof(probe), gguf_tensor_compare_name);
}
