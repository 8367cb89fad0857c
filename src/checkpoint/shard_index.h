// shard_index.h: model.safetensors.index.json, i.e. which file of the folder holds which tensor.
//
// Names come from an untrusted file and become paths, so only plain file names are accepted. Owns its names; immutable after parsing.
#ifndef MLXCEL_CHECKPOINT_SHARD_INDEX_H_
#define MLXCEL_CHECKPOINT_SHARD_INDEX_H_

#include "base/base.h"
#include "base/limits.h"

typedef struct mlxcel_shard_index_entry_t {
  char* tensor;
  uint32_t shard;  // in |shards|
} mlxcel_shard_index_entry_t;

typedef struct mlxcel_shard_index_t {
  size_t shard_count;
  char** shards;  // sorted, no repetition
  size_t entry_count;
  mlxcel_shard_index_entry_t* entries;  // sorted by tensor
} mlxcel_shard_index_t;

// Parses the file's text; |origin| names it in errors. INVALID_ARGUMENT for another form, a name with a folder in it, or too many shards. After an
// error there is nothing to free.
iree_status_t mlxcel_shard_index_parse(iree_string_view_t text, const char* origin, mlxcel_shard_index_t* out_index);
// The one shard |name|, and no tensors, for a folder without index.
iree_status_t mlxcel_shard_index_initialize_single(const char* name, mlxcel_shard_index_t* out_index);
void mlxcel_shard_index_deinitialize(mlxcel_shard_index_t* index);

// The position of |tensor| in |entries|; SIZE_MAX if the index doesn't name it.
size_t mlxcel_shard_index_find(const mlxcel_shard_index_t* index, iree_string_view_t tensor);

#endif  // MLXCEL_CHECKPOINT_SHARD_INDEX_H_
