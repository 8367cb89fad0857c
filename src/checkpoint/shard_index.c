#include "checkpoint/shard_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "checkpoint/excerpt.h"

#define FILE_NAME_BYTES_MAX 255u  // NAME_MAX on Linux

static iree_status_t shard_index_check_names(const char* origin, const char* tensor, const json_t* value) {
  const mlxcel_excerpt_t who = mlxcel_excerpt(iree_make_cstring_view(tensor));
  if (tensor[0] == 0 || strlen(tensor) > MLXCEL_TENSOR_NAME_BYTES_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: a tensor's name has %zu bytes (%s); 1 to %u are allowed: rename it", origin, strlen(tensor),
                            who.text, MLXCEL_TENSOR_NAME_BYTES_MAX);
  }
  const char* name = json_string_value(value);
  bool plain = name && name[0] != 0 && strlen(name) <= FILE_NAME_BYTES_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
  if (plain) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s: tensor %s is said to be in %s; only plain file names of the same folder are allowed: correct the file", origin, who.text,
                          mlxcel_excerpt_json(value).text);
}

static int shard_index_compare_strings(const void* left, const void* right) { return strcmp(*(const char* const*)left, *(const char* const*)right); }

static int shard_index_compare_entries(const void* left, const void* right) {
  return strcmp(((const mlxcel_shard_index_entry_t*)left)->tensor, ((const mlxcel_shard_index_entry_t*)right)->tensor);
}

// Leaves each of the sorted |names| once and returns their number.
static size_t shard_index_unique(const char** names, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0) names[kept++] = names[i];
  }
  return kept;
}

static iree_status_t shard_index_out_of_memory(const char* origin) {
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for its index", origin);
}

static iree_status_t shard_index_copy_shards(const char* origin, const char** names, size_t count, mlxcel_shard_index_t* index) {
  if (count > MLXCEL_SHARD_COUNT_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %zu shards are over the limit of %u; merge some of them", origin, count, MLXCEL_SHARD_COUNT_MAX);
  }
  index->shards = calloc(count + 1, sizeof(*index->shards));
  if (!index->shards) return shard_index_out_of_memory(origin);
  for (size_t i = 0; i < count; ++i) {
    index->shards[i] = strdup(names[i]);
    if (!index->shards[i]) return shard_index_out_of_memory(origin);
    ++index->shard_count;
  }
  return iree_ok_status();
}

static iree_status_t shard_index_fill_shards(const char* origin, const json_t* map, mlxcel_shard_index_t* index) {
  size_t count = 0;
  const char** names = calloc(json_object_size(map) + 1, sizeof(*names));
  if (!names) return shard_index_out_of_memory(origin);
  const char* tensor = NULL;
  json_t* value = NULL;
  json_object_foreach((json_t*)(uintptr_t)map, tensor, value) { names[count++] = json_string_value(value); }
  qsort(names, count, sizeof(*names), shard_index_compare_strings);
  iree_status_t status = shard_index_copy_shards(origin, names, shard_index_unique(names, count), index);
  free(names);
  return status;
}

static iree_status_t shard_index_fill_entries(const char* origin, const json_t* map, mlxcel_shard_index_t* index) {
  index->entries = calloc(json_object_size(map) + 1, sizeof(*index->entries));
  if (!index->entries) return shard_index_out_of_memory(origin);
  const char* tensor = NULL;
  json_t* value = NULL;
  json_object_foreach((json_t*)(uintptr_t)map, tensor, value) {
    const char* name = json_string_value(value);
    char** shard = bsearch(&name, index->shards, index->shard_count, sizeof(*index->shards), shard_index_compare_strings);
    mlxcel_shard_index_entry_t* entry = &index->entries[index->entry_count];
    entry->shard = (uint32_t)(shard - index->shards);
    entry->tensor = strdup(tensor);
    if (!entry->tensor) return shard_index_out_of_memory(origin);
    ++index->entry_count;
  }
  qsort(index->entries, index->entry_count, sizeof(*index->entries), shard_index_compare_entries);
  return iree_ok_status();
}

static iree_status_t shard_index_read(const json_t* root, const char* origin, mlxcel_shard_index_t* index) {
  const json_t* map = json_object_get(root, "weight_map");
  if (!json_is_object(map) || json_object_size(map) == 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: 'weight_map' isn't an object that maps tensors to files; take the file from the model's source",
                            origin);
  }
  if (json_object_size(map) > MLXCEL_TENSOR_COUNT_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %zu tensors are over the limit of %u; take the file from the model's source", origin,
                            json_object_size(map), MLXCEL_TENSOR_COUNT_MAX);
  }
  const char* tensor = NULL;
  json_t* value = NULL;
  json_object_foreach((json_t*)(uintptr_t)map, tensor, value) { IREE_RETURN_IF_ERROR(shard_index_check_names(origin, tensor, value)); }
  IREE_RETURN_IF_ERROR(shard_index_fill_shards(origin, map, index));
  return shard_index_fill_entries(origin, map, index);
}

iree_status_t mlxcel_shard_index_parse(iree_string_view_t text, const char* origin, mlxcel_shard_index_t* out_index) {
  memset(out_index, 0, sizeof(*out_index));
  json_t* root = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_parse(text, origin, &root));
  iree_status_t status = shard_index_read(root, origin, out_index);
  json_decref(root);
  if (!iree_status_is_ok(status)) mlxcel_shard_index_deinitialize(out_index);
  return status;
}

iree_status_t mlxcel_shard_index_initialize_single(const char* name, mlxcel_shard_index_t* out_index) {
  memset(out_index, 0, sizeof(*out_index));
  iree_status_t status = shard_index_copy_shards(name, &name, 1, out_index);
  if (!iree_status_is_ok(status)) mlxcel_shard_index_deinitialize(out_index);
  return status;
}

void mlxcel_shard_index_deinitialize(mlxcel_shard_index_t* index) {
  for (size_t i = 0; i < index->shard_count; ++i) free(index->shards[i]);
  for (size_t i = 0; i < index->entry_count; ++i) free(index->entries[i].tensor);
  free(index->shards);
  free(index->entries);
  memset(index, 0, sizeof(*index));
}

size_t mlxcel_shard_index_find(const mlxcel_shard_index_t* index, iree_string_view_t tensor) {
  size_t low = 0, high = index->entry_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = iree_string_view_compare(iree_make_cstring_view(index->entries[middle].tensor), tensor);
    if (order == 0) return middle;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return SIZE_MAX;
}
