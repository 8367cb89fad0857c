// Fuzzes model.safetensors.index.json. What is accepted must be safe to open: plain file names, sorted once each, and every tensor in one of them.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/shard_index.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool promise) {
  if (!promise) abort();
}

static void check_index(const mlxcel_shard_index_t* index) {
  require(index->shard_count > 0 && index->shard_count <= MLXCEL_SHARD_COUNT_MAX);
  for (size_t i = 0; i < index->shard_count; ++i) {
    const char* name = index->shards[i];
    require(name[0] != 0 && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strlen(name) < 256);
    if (i > 0) require(strcmp(index->shards[i - 1], name) < 0);
  }
  for (size_t i = 0; i < index->entry_count; ++i) {
    require(index->entries[i].shard < index->shard_count);
    require(mlxcel_shard_index_find(index, iree_make_cstring_view(index->entries[i].tensor)) == i);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mlxcel_shard_index_t index;
  iree_status_t status = mlxcel_shard_index_parse(iree_make_string_view((const char*)data, size), "fuzz", &index);
  if (iree_status_is_ok(status)) check_index(&index);
  if (iree_status_is_ok(status)) mlxcel_shard_index_deinitialize(&index);
  iree_status_ignore(status);
  return 0;
}
