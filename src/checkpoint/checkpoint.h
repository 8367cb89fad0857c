// checkpoint.h: a checkpoint folder, opened: its configuration and one index over all shards.
//
// If model.safetensors.index.json exists, it decides which shard holds which tensor (plain file names only); otherwise model.safetensors.
// A missing shard, a tensor that the index names and its shard lacks, or a tensor of a shard that the index doesn't name is an error that lists
// them. Immutable after opening, so any number of threads may read it; tensors are views into the maps and live as long as the checkpoint. The files
// must not be shortened while it is open: reading behind a mapped file's end ends the process (SIGBUS).
#ifndef MLXCEL_CHECKPOINT_CHECKPOINT_H_
#define MLXCEL_CHECKPOINT_CHECKPOINT_H_

#include <stdatomic.h>

#include "checkpoint/model_config.h"
#include "checkpoint/safetensors.h"

typedef struct mlxcel_checkpoint_t mlxcel_checkpoint_t;

// Opens |folder|: config, index and every shard's header. Whether the tensors are those that the configuration needs is asked with the functions below.
iree_status_t mlxcel_checkpoint_open(const char* folder, mlxcel_checkpoint_t** out_checkpoint);
void mlxcel_checkpoint_close(mlxcel_checkpoint_t* checkpoint);

const char* mlxcel_checkpoint_folder(const mlxcel_checkpoint_t* checkpoint);
const mlxcel_model_config_t* mlxcel_checkpoint_config(const mlxcel_checkpoint_t* checkpoint);
size_t mlxcel_checkpoint_tensor_count(const mlxcel_checkpoint_t* checkpoint);
const mlxcel_tensor_t* mlxcel_checkpoint_tensor_at(const mlxcel_checkpoint_t* checkpoint, size_t index);  // sorted by name
const mlxcel_tensor_t* mlxcel_checkpoint_find(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t name);
size_t mlxcel_checkpoint_shard_count(const mlxcel_checkpoint_t* checkpoint);
const char* mlxcel_checkpoint_shard_path(const mlxcel_checkpoint_t* checkpoint, size_t index);
// Bytes of all tensors together.
uint64_t mlxcel_checkpoint_tensor_bytes(const mlxcel_checkpoint_t* checkpoint);

// Moves the mapped files onto huge pages (base/huge_pages.h) if that suits: most of the bytes are packed codes, whose reading unpacking bounds and not memory,
// and enough memory is free. Any thread may read the tensors meanwhile. Returns the bytes moved, 0 if it doesn't suit.
uint64_t mlxcel_checkpoint_move_to_huge_pages(const mlxcel_checkpoint_t* checkpoint, const atomic_bool* stop);

// A module's matrix [out_features, in_features], dense or quantized, with every shape checked against each other.
typedef struct mlxcel_matrix_t {
  const mlxcel_tensor_t* weight;  // dense: F32, F16, BF16 [out, in]; quantized: U32 [out, in*bits/32]
  const mlxcel_tensor_t* scales;  // NULL if dense
  const mlxcel_tensor_t* biases;  // NULL if dense (quantization offsets, not the layer's bias)
  uint64_t out_features, in_features;
  mlxcel_quantization_t quantization;  // bits 0 if dense
} mlxcel_matrix_t;

// Resolves module |path|: override by full path, else quantized only if `<path>.scales` exists, else dense. Errors name the tensor, its shape and
// the expected one (also: scales without biases, dtype mismatch of scales and biases, quantized tensors without a `quantization` table).
iree_status_t mlxcel_checkpoint_matrix(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t path, uint64_t out_features, uint64_t in_features,
                                       mlxcel_matrix_t* out_matrix);
// The module whose matrix turns hidden rows into logits: |*out_path| is |embedding_path| if config.json ties them, else |head_path| (views of the
// arguments). Errors for every mismatch: untied without `<head_path>.weight`; tied, but the file also has a head that isn't bit for bit the
// embedding.
iree_status_t mlxcel_checkpoint_head(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t embedding_path, iree_string_view_t head_path,
                                     iree_string_view_t* out_path);
// A vector `name` of |size| elements in F32, F16 or BF16.
iree_status_t mlxcel_checkpoint_vector(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t name, uint64_t size, const mlxcel_tensor_t** out_tensor);

#endif  // MLXCEL_CHECKPOINT_CHECKPOINT_H_
