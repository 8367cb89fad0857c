// kernel_cost.h: what a call of a kernel must do at least, from its integer arguments: bytes to read and write once, floating-point operations, and a label.
//
// Arguments are found by the names that kernel_abi.h and mlx_abi.h declare, not by place: one more argument, or another order, needs no change here. A kernel
// without a formula, or without an argument that its formula needs, has a label and no cost: never a guess.
// Pure functions: no state, no allocation, any thread.
#ifndef MLXCEL_KERNELS_KERNEL_COST_H_
#define MLXCEL_KERNELS_KERNEL_COST_H_

#include "kernels/kernel_table.h"

// Integer arguments that formulas and labels use.
typedef enum mlxcel_kernel_value_e {
  MLXCEL_KERNEL_VALUE_ROWS,
  MLXCEL_KERNEL_VALUE_WIDTH,
  MLXCEL_KERNEL_VALUE_IN_FEATURES,
  MLXCEL_KERNEL_VALUE_OUT_FEATURES,
  MLXCEL_KERNEL_VALUE_HEADS,
  MLXCEL_KERNEL_VALUE_KV_HEADS,
  MLXCEL_KERNEL_VALUE_HEAD_DIM,
  MLXCEL_KERNEL_VALUE_ROPE_HALF,
  MLXCEL_KERNEL_VALUE_KV_TYPE,
  MLXCEL_KERNEL_VALUE_WEIGHT_TYPE,
  MLXCEL_KERNEL_VALUE_FORMAT,
  MLXCEL_KERNEL_VALUE_Q_FORMAT,
  MLXCEL_KERNEL_VALUE_K_FORMAT,
  MLXCEL_KERNEL_VALUE_V_FORMAT,
  MLXCEL_KERNEL_VALUE_G_FORMAT,
  MLXCEL_KERNEL_VALUE_U_FORMAT,
  MLXCEL_KERNEL_VALUE_FLAGS,
  MLXCEL_KERNEL_VALUE_Q_FLAGS,
  MLXCEL_KERNEL_VALUE_K_FLAGS,
  MLXCEL_KERNEL_VALUE_V_FLAGS,
  MLXCEL_KERNEL_VALUE_G_FLAGS,
  MLXCEL_KERNEL_VALUE_U_FLAGS,
  MLXCEL_KERNEL_VALUE_COUNT,
} mlxcel_kernel_value_t;

typedef struct mlxcel_kernel_shape_t {
  mlxcel_kernel_id_t id;
  uint32_t present;                           // bit v: the kernel has an argument of the name of value v, and it is known
  int32_t values[MLXCEL_KERNEL_VALUE_COUNT];  // 0 if not present
} mlxcel_kernel_shape_t;

// |values|: the arguments of kind 'n' (kernel_table.h), in order; those that |is_known| calls false (NULL: none) are left out of the shape. False, and a shape
// without values, if the kernel doesn't have |count| of them.
bool mlxcel_kernel_shape_read(mlxcel_kernel_id_t id, size_t count, const int32_t* values, const bool* is_known, mlxcel_kernel_shape_t* out_shape);

// What no argument says: the rows' positions.
typedef struct mlxcel_kernel_rows_t {
  uint32_t active;     // rows with a position
  uint64_t keys_seen;  // sum over them of position + 1: (row, key) pairs of causal attention; 0 = not known
  uint64_t keys_read;  // distinct (slot, position) among them; 0 = not known
} mlxcel_kernel_rows_t;

// |bytes|: weights, activations (f32), tables and cache cells; not tokens, slots and positions. |flops|: those of dot products, weighted sums, norms and
// rotation, an fma as two; not of unpacking weights, softmax and activation. Only active rows count.
typedef struct mlxcel_kernel_cost_t {
  bool is_known;
  uint64_t bytes, flops;
} mlxcel_kernel_cost_t;

// |rows| NULL: all rows are active, and their positions aren't known (so isn't the cost of attention).
void mlxcel_kernel_cost(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, mlxcel_kernel_cost_t* out_cost);

// "matmul 576x1536 q4 g32 rows=1": name, sizes, storage of the matrices, and of the KV cache if it isn't f32, rows of the call (active or not). Cut at
// |capacity|.
void mlxcel_kernel_label(const mlxcel_kernel_shape_t* shape, size_t capacity, char* out_label);

#endif  // MLXCEL_KERNELS_KERNEL_COST_H_
