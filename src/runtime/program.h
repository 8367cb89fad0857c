// program.h: inside of mlxcel_program_t, for the runtime's own sources.
#ifndef MLXCEL_RUNTIME_PROGRAM_H_
#define MLXCEL_RUNTIME_PROGRAM_H_

#include "runtime/host_buffer.h"
#include "runtime/loaded_module.h"

typedef struct mlxcel_program_function_t {  // one size of prefill, decode or head
  iree_vm_function_t function;
  uint32_t rows;
  iree_hal_buffer_view_t *tokens, *slots, *positions;  // [rows] views of the program's row buffers; head uses |positions| for its row indices
} mlxcel_program_function_t;

typedef struct mlxcel_function_set_t {
  uint32_t count;
  mlxcel_program_function_t items[MLXCEL_PROGRAM_SIZES_MAX];  // ascending rows
} mlxcel_function_set_t;

struct mlxcel_program_t {
  mlxcel_device_t* device;
  const mlxcel_program_interface_t* interface;
  uint32_t slot_count, context;
  mlxcel_loaded_module_t module;
  mlxcel_function_set_t prefill, decode, head;
  mlxcel_host_buffer_t tokens, slots, positions;  // i32 [largest rows], filled before each call
  mlxcel_host_buffer_t k_cache, v_cache, rope_cos, rope_sin;
  iree_hal_buffer_view_t *k_view, *v_view, *cos_view, *sin_view;
  double* rope_frequencies;        // [rope_width]
  uint32_t rope_rows;              // rows of the tables that are filled
  iree_hal_buffer_view_t* hidden;  // of the last prefill; NULL before
  uint32_t hidden_rows;            // rows of it
  bool* hidden_is_active;          // [largest prefill chunk]: the rows whose values are defined
};

#endif  // MLXCEL_RUNTIME_PROGRAM_H_
