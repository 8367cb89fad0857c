#include "checkpoint/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/huge_pages.h"
#include "checkpoint/excerpt.h"
#include "checkpoint/shard_index.h"

#define SINGLE_FILE "model.safetensors"
#define INDEX_FILE "model.safetensors.index.json"
#define FETCH "take the complete checkpoint from its source"

struct mlxcel_checkpoint_t {
  char* folder;
  mlxcel_model_config_t config;
  size_t shard_count;
  char** shard_paths;
  mlxcel_safetensors_t** shards;
  size_t tensor_count;
  mlxcel_tensor_t* tensors;  // sorted by name
  uint64_t tensor_bytes;
};

static iree_status_t checkpoint_out_of_memory(const mlxcel_checkpoint_t* checkpoint) {
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for the checkpoint's index", checkpoint->folder);
}

//===- opening ------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t checkpoint_read_index(const char* path, mlxcel_shard_index_t* out_index) {
  char* text = NULL;
  size_t size = 0;
  IREE_RETURN_IF_ERROR(mlxcel_file_read(path, MLXCEL_INDEX_FILE_BYTES_MAX, &text, &size));
  iree_status_t status = mlxcel_shard_index_parse(iree_make_string_view(text, size), path, out_index);
  free(text);
  return status;
}

static iree_status_t checkpoint_find_shards(const mlxcel_checkpoint_t* checkpoint, mlxcel_shard_index_t* out_index) {
  memset(out_index, 0, sizeof(*out_index));
  char* index_path = NULL;
  char* single_path = NULL;
  iree_status_t status = mlxcel_path_join(checkpoint->folder, IREE_SV(INDEX_FILE), &index_path);
  if (iree_status_is_ok(status)) status = mlxcel_path_join(checkpoint->folder, IREE_SV(SINGLE_FILE), &single_path);
  if (iree_status_is_ok(status)) {
    if (mlxcel_path_exists(index_path)) {
      status = checkpoint_read_index(index_path, out_index);
    } else if (mlxcel_path_exists(single_path)) {
      status = mlxcel_shard_index_initialize_single(SINGLE_FILE, out_index);
    } else {
      status =
          iree_make_status(IREE_STATUS_NOT_FOUND, "%s holds neither " SINGLE_FILE " nor " INDEX_FILE "; " FETCH ", in safetensors form", checkpoint->folder);
    }
  }
  free(single_path);
  free(index_path);
  return status;
}

// Joins the paths of all shards and refuses the folder if some are missing.
static iree_status_t checkpoint_locate_shards(mlxcel_checkpoint_t* checkpoint, const mlxcel_shard_index_t* index) {
  checkpoint->shard_paths = calloc(index->shard_count, sizeof(*checkpoint->shard_paths));
  checkpoint->shards = calloc(index->shard_count, sizeof(*checkpoint->shards));
  if (!checkpoint->shard_paths || !checkpoint->shards) return checkpoint_out_of_memory(checkpoint);
  checkpoint->shard_count = index->shard_count;
  mlxcel_name_list_t missing;
  mlxcel_name_list_initialize(&missing);
  iree_status_t status = iree_ok_status();
  for (size_t i = 0; i < index->shard_count && iree_status_is_ok(status); ++i) {
    status = mlxcel_path_join(checkpoint->folder, iree_make_cstring_view(index->shards[i]), &checkpoint->shard_paths[i]);
    if (iree_status_is_ok(status) && !mlxcel_path_exists(checkpoint->shard_paths[i])) {
      mlxcel_name_list_append(&missing, iree_make_cstring_view(index->shards[i]));
    }
  }
  if (iree_status_is_ok(status) && missing.count > 0) {
    status = iree_make_status(IREE_STATUS_NOT_FOUND, "%s: %zu of the %zu shards that " INDEX_FILE " names are missing: %s; " FETCH, checkpoint->folder,
                              missing.count, index->shard_count, mlxcel_name_list_finish(&missing));
  }
  mlxcel_name_list_deinitialize(&missing);
  return status;
}

static iree_status_t checkpoint_open_shards(mlxcel_checkpoint_t* checkpoint) {
  size_t count = 0;
  for (size_t i = 0; i < checkpoint->shard_count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_safetensors_open(checkpoint->shard_paths[i], &checkpoint->shards[i]));
    count += mlxcel_safetensors_tensor_count(checkpoint->shards[i]);
    if (count > MLXCEL_TENSOR_COUNT_MAX) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: more than %u tensors; use another model", checkpoint->folder, MLXCEL_TENSOR_COUNT_MAX);
    }
  }
  checkpoint->tensors = calloc(count + 1, sizeof(*checkpoint->tensors));
  return checkpoint->tensors ? iree_ok_status() : checkpoint_out_of_memory(checkpoint);
}

// What index and shards disagree about.
typedef struct checkpoint_differences_t {
  mlxcel_name_list_t unnamed;    // in a shard, not in the index
  mlxcel_name_list_t misplaced;  // in another shard than the index says
  mlxcel_name_list_t absent;     // in the index, in no shard
} checkpoint_differences_t;

static iree_status_t checkpoint_report_differences(const mlxcel_checkpoint_t* checkpoint, checkpoint_differences_t* differences) {
  if (differences->misplaced.count > 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %zu tensors are in another shard than " INDEX_FILE " says: %s; " FETCH, checkpoint->folder,
                            differences->misplaced.count, mlxcel_name_list_finish(&differences->misplaced));
  }
  if (differences->absent.count > 0) {
    return iree_make_status(IREE_STATUS_NOT_FOUND, "%s: %zu tensors that " INDEX_FILE " names are missing from their shards: %s; " FETCH, checkpoint->folder,
                            differences->absent.count, mlxcel_name_list_finish(&differences->absent));
  }
  if (differences->unnamed.count > 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %zu tensors of the shards aren't named by " INDEX_FILE ": %s; " FETCH, checkpoint->folder,
                            differences->unnamed.count, mlxcel_name_list_finish(&differences->unnamed));
  }
  return iree_ok_status();
}

// Holds every tensor of every shard against the index; |seen| has one flag an entry.
static void checkpoint_compare_shards(const mlxcel_checkpoint_t* checkpoint, const mlxcel_shard_index_t* index, bool* seen,
                                      checkpoint_differences_t* differences) {
  for (size_t i = 0; i < checkpoint->tensor_count; ++i) {
    const mlxcel_tensor_t* tensor = &checkpoint->tensors[i];
    size_t position = mlxcel_shard_index_find(index, tensor->name);
    if (position == SIZE_MAX) {
      mlxcel_name_list_append(&differences->unnamed, tensor->name);
    } else if (index->entries[position].shard != tensor->shard) {
      mlxcel_name_list_append(&differences->misplaced, tensor->name);
    } else {
      seen[position] = true;
    }
  }
  for (size_t i = 0; i < index->entry_count; ++i) {
    if (!seen[i]) mlxcel_name_list_append(&differences->absent, iree_make_cstring_view(index->entries[i].tensor));
  }
}

static iree_status_t checkpoint_check_index(const mlxcel_checkpoint_t* checkpoint, const mlxcel_shard_index_t* index) {
  if (index->entry_count == 0) return iree_ok_status();  // a single file without index
  bool* seen = calloc(index->entry_count, sizeof(*seen));
  if (!seen) return checkpoint_out_of_memory(checkpoint);
  checkpoint_differences_t differences;
  mlxcel_name_list_initialize(&differences.unnamed);
  mlxcel_name_list_initialize(&differences.misplaced);
  mlxcel_name_list_initialize(&differences.absent);
  checkpoint_compare_shards(checkpoint, index, seen, &differences);
  iree_status_t status = checkpoint_report_differences(checkpoint, &differences);
  mlxcel_name_list_deinitialize(&differences.absent);
  mlxcel_name_list_deinitialize(&differences.misplaced);
  mlxcel_name_list_deinitialize(&differences.unnamed);
  free(seen);
  return status;
}

static int checkpoint_compare_tensors(const void* left, const void* right) {
  const mlxcel_tensor_t* a = left;
  const mlxcel_tensor_t* b = right;
  int order = iree_string_view_compare(a->name, b->name);
  return order != 0 ? order : (a->shard > b->shard) - (a->shard < b->shard);
}

static iree_status_t checkpoint_merge_shards(mlxcel_checkpoint_t* checkpoint, const mlxcel_shard_index_t* index) {
  for (size_t i = 0; i < checkpoint->shard_count; ++i) {
    for (size_t j = 0; j < mlxcel_safetensors_tensor_count(checkpoint->shards[i]); ++j) {
      mlxcel_tensor_t* tensor = &checkpoint->tensors[checkpoint->tensor_count++];
      *tensor = *mlxcel_safetensors_tensor_at(checkpoint->shards[i], j);
      tensor->shard = (uint32_t)i;
      // Can't overflow: no more bytes than the files have, which are mapped at once.
      checkpoint->tensor_bytes += tensor->byte_count;
    }
  }
  qsort(checkpoint->tensors, checkpoint->tensor_count, sizeof(*checkpoint->tensors), checkpoint_compare_tensors);
  return checkpoint_check_index(checkpoint, index);
}

static iree_status_t checkpoint_load_shards(mlxcel_checkpoint_t* checkpoint) {
  mlxcel_shard_index_t index;
  IREE_RETURN_IF_ERROR(checkpoint_find_shards(checkpoint, &index));
  iree_status_t status = checkpoint_locate_shards(checkpoint, &index);
  if (iree_status_is_ok(status)) status = checkpoint_open_shards(checkpoint);
  if (iree_status_is_ok(status)) status = checkpoint_merge_shards(checkpoint, &index);
  mlxcel_shard_index_deinitialize(&index);
  return status;
}

static iree_status_t checkpoint_check_folder(const char* folder) {
  if (mlxcel_path_is_directory(folder)) return iree_ok_status();
  if (!mlxcel_path_exists(folder)) {
    return iree_make_status(IREE_STATUS_NOT_FOUND, "there is no folder %s; give the folder of a checkpoint (config.json and safetensors files)", folder);
  }
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s isn't a folder; give the folder of a checkpoint (config.json and safetensors files), and turn a GGUF file into one with "
                          "`mlxcel import`",
                          folder);
}

iree_status_t mlxcel_checkpoint_open(const char* folder, mlxcel_checkpoint_t** out_checkpoint) {
  *out_checkpoint = NULL;
  IREE_RETURN_IF_ERROR(checkpoint_check_folder(folder));
  mlxcel_checkpoint_t* checkpoint = calloc(1, sizeof(*checkpoint));
  if (!checkpoint) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for the checkpoint", folder);
  checkpoint->folder = strdup(folder);
  iree_status_t status = checkpoint->folder ? mlxcel_model_config_read(folder, &checkpoint->config)
                                            : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory", folder);
  if (iree_status_is_ok(status)) status = checkpoint_load_shards(checkpoint);
  if (iree_status_is_ok(status)) {
    *out_checkpoint = checkpoint;
  } else {
    mlxcel_checkpoint_close(checkpoint);
  }
  return status;
}

void mlxcel_checkpoint_close(mlxcel_checkpoint_t* checkpoint) {
  if (!checkpoint) return;
  for (size_t i = 0; i < checkpoint->shard_count; ++i) {
    mlxcel_safetensors_close(checkpoint->shards[i]);
    free(checkpoint->shard_paths[i]);
  }
  free(checkpoint->shards);
  free(checkpoint->shard_paths);
  free(checkpoint->tensors);
  mlxcel_model_config_deinitialize(&checkpoint->config);
  free(checkpoint->folder);
  free(checkpoint);
}

//===- reading ------------------------------------------------------------------------------------------------------------------------------===//

const char* mlxcel_checkpoint_folder(const mlxcel_checkpoint_t* checkpoint) { return checkpoint->folder; }

const mlxcel_model_config_t* mlxcel_checkpoint_config(const mlxcel_checkpoint_t* checkpoint) { return &checkpoint->config; }

size_t mlxcel_checkpoint_tensor_count(const mlxcel_checkpoint_t* checkpoint) { return checkpoint->tensor_count; }

const mlxcel_tensor_t* mlxcel_checkpoint_tensor_at(const mlxcel_checkpoint_t* checkpoint, size_t index) {
  return index < checkpoint->tensor_count ? &checkpoint->tensors[index] : NULL;
}

static int checkpoint_compare_name(const void* name, const void* tensor) {
  return iree_string_view_compare(*(const iree_string_view_t*)name, ((const mlxcel_tensor_t*)tensor)->name);
}

const mlxcel_tensor_t* mlxcel_checkpoint_find(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t name) {
  return bsearch(&name, checkpoint->tensors, checkpoint->tensor_count, sizeof(*checkpoint->tensors), checkpoint_compare_name);
}

size_t mlxcel_checkpoint_shard_count(const mlxcel_checkpoint_t* checkpoint) { return checkpoint->shard_count; }

const char* mlxcel_checkpoint_shard_path(const mlxcel_checkpoint_t* checkpoint, size_t index) {
  return index < checkpoint->shard_count ? checkpoint->shard_paths[index] : NULL;
}

uint64_t mlxcel_checkpoint_tensor_bytes(const mlxcel_checkpoint_t* checkpoint) { return checkpoint->tensor_bytes; }

// Dense tensors are read in one stream that the processor's prefetcher follows across pages: copying them brings nothing.
static bool checkpoint_is_mostly_packed(const mlxcel_checkpoint_t* checkpoint) {
  uint64_t packed = 0;
  for (size_t i = 0; i < checkpoint->tensor_count; ++i) {
    if (checkpoint->tensors[i].dtype == MLXCEL_TENSOR_DTYPE_U32) packed += checkpoint->tensors[i].byte_count;
  }
  return packed > checkpoint->tensor_bytes / 2;
}

uint64_t mlxcel_checkpoint_move_to_huge_pages(const mlxcel_checkpoint_t* checkpoint, const atomic_bool* stop) {
  if (!checkpoint_is_mostly_packed(checkpoint) || !mlxcel_huge_pages_suit(checkpoint->tensor_bytes)) return 0;
  uint64_t moved = 0;
  for (size_t i = 0; i < checkpoint->shard_count; ++i) moved += mlxcel_mapped_file_move_to_huge_pages(mlxcel_safetensors_map(checkpoint->shards[i]), stop);
  return moved;
}
