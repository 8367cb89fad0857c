// helper_common.h: shared by the helpers' sources only: weights as kernel operands, and what all clauses of the pinned profile have in common.
#ifndef MLXCEL_EMIT_HELPERS_HELPER_COMMON_H_
#define MLXCEL_EMIT_HELPERS_HELPER_COMMON_H_

#include "emit/helpers/helpers.h"

#define MLXCEL_EXACT_DERIVATION "every-operation-and-its-order-is-stated"

typedef struct mlxcel_source_name_t {
  char text[64];
} mlxcel_source_name_t;
// "f16", "affine-u4-g32-f16", "bf16+bias-f32", ... as clauses name it.
mlxcel_source_name_t mlxcel_weight_source_name(const mlxcel_weight_t* weight);
const char* mlxcel_weight_type_name(mlxcel_weight_type_t type);

// A clause of a pinned kernel: f32 everywhere, subnormals kept, exact.
mlxcel_clause_t mlxcel_pinned_clause(mlxcel_op_class_t op, mlxcel_kernel_id_t kernel);
// The clause of a projection by |kernel|.
void mlxcel_clause_projection(mlxcel_module_builder_t* builder, mlxcel_kernel_id_t kernel, const mlxcel_weight_t* weight);

// Adds the matrix's four buffers; absent ones repeat the first.
void mlxcel_dispatch_add_weight(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, const mlxcel_weight_t* weight);
void mlxcel_dispatch_add_i32(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, int64_t value);
int32_t mlxcel_weight_format(const mlxcel_weight_t* weight);
int32_t mlxcel_weight_flags(const mlxcel_weight_t* weight, bool residual);
// How many shares |units| of work are cut into.
uint32_t mlxcel_workgroups_for(int64_t units);

#endif  // MLXCEL_EMIT_HELPERS_HELPER_COMMON_H_
