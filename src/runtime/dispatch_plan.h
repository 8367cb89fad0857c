// dispatch_plan.h: the kernel calls of a module in the order in which its text has them, with their integer arguments.
//
// The compiler folds arguments that all calls of a kernel share into the executable, drops repeated ones and mixes offsets of buffers among the rest: what
// reaches a dispatch can't be told apart any more. The text that the module was compiled from says it, and the cache keeps it (model.mlir).
#ifndef MLXCEL_RUNTIME_DISPATCH_PLAN_H_
#define MLXCEL_RUNTIME_DISPATCH_PLAN_H_

#include "kernels/kernel_cost.h"

typedef struct mlxcel_planned_dispatch_t {
  const char* export_name;  // of the kernel; static
  uint32_t workgroups;
  bool has_shape;  // the call was understood, and its number of workgroups is a constant; of its integers the shape has those that are constants
  mlxcel_kernel_shape_t shape;
} mlxcel_planned_dispatch_t;

typedef struct mlxcel_planned_function_t {
  char* name;
  size_t count, capacity;
  mlxcel_planned_dispatch_t* dispatches;
} mlxcel_planned_function_t;

typedef struct mlxcel_dispatch_plan_t {
  size_t count, capacity;
  mlxcel_planned_function_t* functions;  // those that call a kernel
} mlxcel_dispatch_plan_t;

// Reads the text of a module as emit writes it. Calls of what is no kernel of the table aren't listed. RESOURCE_EXHAUSTED: out of memory; anything that isn't
// understood is left out, or has no shape.
iree_status_t mlxcel_dispatch_plan_read(iree_string_view_t text, mlxcel_dispatch_plan_t* out_plan);
// A zeroed one is a valid empty one.
void mlxcel_dispatch_plan_deinitialize(mlxcel_dispatch_plan_t* plan);
// NULL if no such function calls a kernel.
const mlxcel_planned_function_t* mlxcel_dispatch_plan_find(const mlxcel_dispatch_plan_t* plan, iree_string_view_t name);

#endif  // MLXCEL_RUNTIME_DISPATCH_PLAN_H_
