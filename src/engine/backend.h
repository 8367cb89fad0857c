// backend.h: what a sequence needs of the model: three calls over rows. The real one is a loaded program; tests script their own.
//
// Plain values, copied freely; |self| is borrowed. Used by one thread at a time.
#ifndef MLXCEL_ENGINE_BACKEND_H_
#define MLXCEL_ENGINE_BACKEND_H_

#include "base/base.h"
#include "runtime/runtime.h"

typedef struct mlxcel_backend_t {
  void* self;
  uint32_t vocab_size;
  uint32_t context;  // positions a slot holds
  uint32_t slot_count;
  uint32_t prefill_rows_max;  // rows of the largest prefill call
  // As mlxcel_program_prefill, mlxcel_program_head and mlxcel_program_decode.
  iree_status_t (*prefill)(void* self, const mlxcel_rows_t* rows);
  iree_status_t (*head)(void* self, uint32_t row_count, const uint32_t* row_indices, float* out_logits);
  iree_status_t (*decode)(void* self, const mlxcel_rows_t* rows, float* out_logits);
} mlxcel_backend_t;

// |program| is borrowed.
void mlxcel_backend_initialize_from_program(mlxcel_program_t* program, mlxcel_backend_t* out_backend);

#endif  // MLXCEL_ENGINE_BACKEND_H_
