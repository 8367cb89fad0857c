// checkpoint_weights.h: checkpoint tensors as the emitter's weights, and the account of which tensors a family used. For families only.
#ifndef MLXCEL_FAMILIES_CHECKPOINT_WEIGHTS_H_
#define MLXCEL_FAMILIES_CHECKPOINT_WEIGHTS_H_

#include "checkpoint/checkpoint.h"
#include "emit/helpers/helpers.h"

// A reader over one checkpoint. The first failure sticks; weights after it are empty.
typedef struct mlxcel_weight_reader_t {
  const mlxcel_checkpoint_t* checkpoint;
  bool* used;  // by tensor index
  iree_status_t status;
} mlxcel_weight_reader_t;

iree_status_t mlxcel_weight_reader_initialize(const mlxcel_checkpoint_t* checkpoint, mlxcel_weight_reader_t* out_reader);
void mlxcel_weight_reader_deinitialize(mlxcel_weight_reader_t* reader);

// The matrix of module |path|, with the vector `<path>.bias` if |has_bias|.
mlxcel_weight_t mlxcel_weight_reader_matrix(mlxcel_weight_reader_t* reader, const char* path, int64_t out_features, int64_t in_features, bool has_bias);
// The vector |name|.
mlxcel_weight_vector_t mlxcel_weight_reader_vector(mlxcel_weight_reader_t* reader, const char* name, int64_t size);
// Marks a redundant tensor as accounted for, if it exists.
void mlxcel_weight_reader_skip(mlxcel_weight_reader_t* reader, const char* name);
// The first failure, or an error that lists tensors that nothing used.
iree_status_t mlxcel_weight_reader_finish(mlxcel_weight_reader_t* reader);

#endif  // MLXCEL_FAMILIES_CHECKPOINT_WEIGHTS_H_
