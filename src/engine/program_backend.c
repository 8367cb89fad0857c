#include "engine/backend.h"

static iree_status_t program_backend_prefill(void* self, const mlxcel_rows_t* rows) { return mlxcel_program_prefill(self, rows); }

static iree_status_t program_backend_head(void* self, uint32_t row_count, const uint32_t* row_indices, float* out_logits) {
  return mlxcel_program_head(self, row_count, row_indices, out_logits);
}

static iree_status_t program_backend_decode(void* self, const mlxcel_rows_t* rows, float* out_logits) { return mlxcel_program_decode(self, rows, out_logits); }

void mlxcel_backend_initialize_from_program(mlxcel_program_t* program, mlxcel_backend_t* out_backend) {
  const mlxcel_program_interface_t* interface = mlxcel_program_interface_of(program);
  const mlxcel_program_sizes_t* chunks = &interface->prefill_chunks;
  *out_backend = (mlxcel_backend_t){
      .self = program,
      .vocab_size = interface->vocab_size,
      .context = mlxcel_program_context(program),
      .slot_count = mlxcel_program_slot_count(program),
      .prefill_rows_max = chunks->count > 0 ? chunks->values[chunks->count - 1] : 0,
      .prefill = program_backend_prefill,
      .head = program_backend_head,
      .decode = program_backend_decode,
  };
}
