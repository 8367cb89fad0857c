// bench_model.h: what of a checkpoint counts for a measurement: how many bytes a step reads, how many weights a token is multiplied with. From the headers
// alone.
#ifndef MLXCEL_BENCH_BENCH_MODEL_H_
#define MLXCEL_BENCH_BENCH_MODEL_H_

#include "base/base.h"
#include "bench/bench_limits.h"
#include "checkpoint/checkpoint.h"

typedef struct mlxcel_bench_model_t {
  char* folder;                          // owned
  char type[MLXCEL_BENCH_TYPE_BYTES];    // "llama 4-bit g32", "llama BF16": by what most of the weights are
  uint32_t context;                      // the model's limit
  uint64_t bytes;                        // of all tensors
  uint64_t parameter_count;              // weights, however they are stored; scales and offsets of quantized ones aren't counted
  uint64_t layer_bytes;                  // read by every call of prefill or decode
  uint64_t head_bytes;                   // read once more for logits
  uint64_t layer_weights, head_weights;  // elements of the matrices that a row is multiplied with
} mlxcel_bench_model_t;

// Opens |folder|'s checkpoint and closes it again.
iree_status_t mlxcel_bench_model_read(const char* folder, mlxcel_bench_model_t* out_model);
void mlxcel_bench_model_deinitialize(mlxcel_bench_model_t* model);

// The numbers of an open checkpoint; |folder| stays NULL.
void mlxcel_bench_model_count(const mlxcel_checkpoint_t* checkpoint, mlxcel_bench_model_t* out_model);

#endif  // MLXCEL_BENCH_BENCH_MODEL_H_
