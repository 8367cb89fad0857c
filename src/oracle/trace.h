// trace.h: how one output comes about, step by step, in a stated order: scalar models of the orders of MLX's CPU build (kernels/mlx_abi.h), of the pinned
// kernels (kernels/kernel_abi.h) and of what IREE makes of plain StableHLO. `oracle explain` prints two of them side by side.
#ifndef MLXCEL_ORACLE_TRACE_H_
#define MLXCEL_ORACLE_TRACE_H_

#include "base/strbuf.h"
#include "contract/profiles.h"
#include "oracle/suboperation.h"

typedef enum mlxcel_order_e { MLXCEL_ORDER_MLX, MLXCEL_ORDER_PINNED, MLXCEL_ORDER_CANONICAL, MLXCEL_ORDER_COUNT } mlxcel_order_t;
mlxcel_order_t mlxcel_order_of(const mlxcel_profile_t* profile);
const char* mlxcel_order_name(mlxcel_order_t order);

typedef struct mlxcel_trace_step_t {
  char label[40];  // "k 12", "sum", "result"
  float value;     // of the accumulator (or what the label names) behind the step
} mlxcel_trace_step_t;

typedef struct mlxcel_trace_t {
  size_t count, capacity;
  mlxcel_trace_step_t* steps;
  bool failed;  // out of memory
  mlxcel_dtype_t dtype;
  uint32_t result_bits;  // stored
} mlxcel_trace_t;

void mlxcel_trace_deinitialize(mlxcel_trace_t* trace);
void mlxcel_trace_add(mlxcel_trace_t* trace, float value, const char* format, ...) __attribute__((format(printf, 3, 4)));

// The steps of output |sub->index|. UNIMPLEMENTED: there is no model of this class in this order; the message says which there are.
iree_status_t mlxcel_trace_compute(mlxcel_order_t order, const mlxcel_suboperation_t* sub, mlxcel_trace_t* out_trace);

// Both traces side by side, steps of the same name on one line, the first that differs marked; long equal or unequal stretches are left out around it.
void mlxcel_trace_print(const mlxcel_trace_t* left, const char* left_name, const mlxcel_trace_t* right, const char* right_name, mlxcel_strbuf_t* out_text);

#endif  // MLXCEL_ORACLE_TRACE_H_
