#include "emit/operation_emitter.h"

#include <stdlib.h>
#include <string.h>

#include "emit/canonical/canonical_helpers.h"
#include "emit/mlx/mlx_helpers.h"
#include "emit/pinned_operation.h"

static bool is_composition(mlxcel_op_class_t op) { return op == MLXCEL_OP_ACTIVATION_PROJECTION || op == MLXCEL_OP_QKV_ROPE; }

// The operation fits its class and the profile defines it. The parts of a composition say so themselves, when they add their clauses.
static iree_status_t check_operation(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_operand_t* out_result) {
  IREE_RETURN_IF_ERROR(mlxcel_operation_result(operation, out_result));
  if (is_composition(operation->op)) return iree_ok_status();
  mlxcel_clause_storage_t storage;
  return mlxcel_profile_clause(profile, operation, &storage);
}

static mlxcel_value_t emit_by_profile(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  const char* name = builder->profile->name;
  if (strcmp(name, MLXCEL_PROFILE_PINNED_F32) == 0) return mlxcel_pinned_emit_operation(builder, operation, operands);
  if (strcmp(name, MLXCEL_PROFILE_MLX_CPU) == 0) return mlxcel_mlx_emit_operation(builder, operation, operands);
  return mlxcel_canonical_emit_operation(builder, operation, operands);
}

static bool has_type(const mlxcel_value_t* value, const mlxcel_operand_t* type) {
  if (value->is_scalar || value->element != mlxcel_element_of(type->dtype) || value->rank != type->rank) return false;
  return memcmp(value->dims, type->dims, type->rank * sizeof(*type->dims)) == 0;
}

mlxcel_value_t mlxcel_emit_operation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_operand_t result;
  if (iree_status_is_ok(builder->status)) mlxcel_module_fail(builder, check_operation(builder->profile, operation, &result));
  if (!iree_status_is_ok(builder->status)) return operands[0];  // a module that has failed is never finished
  mlxcel_value_t value = emit_by_profile(builder, operation, operands);
  if (iree_status_is_ok(builder->status) && !has_type(&value, &result)) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_INTERNAL, "%s (%s) under %s came out as %s, not as the type that the operation has; report this",
                                                 mlxcel_op_class_name(operation->op), mlxcel_op_variant_name(operation->variant), builder->profile->name,
                                                 mlxcel_value_type(value).text));
  }
  return value;
}

static iree_status_t emit_function(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_emitted_operation_t* out_emitted) {
  IREE_RETURN_IF_ERROR(mlxcel_operation_operands(operation, builder->profile->rope_tables, out_emitted->operands, &out_emitted->operand_count));
  IREE_RETURN_IF_ERROR(mlxcel_operation_result(operation, &out_emitted->result));
  mlxcel_value_t values[MLXCEL_OPERANDS_MAX] = {{0}};
  mlxcel_function_begin(builder);
  for (size_t i = 0; i < out_emitted->operand_count; ++i) {
    const mlxcel_operand_t* operand = &out_emitted->operands[i];
    values[i] = mlxcel_function_argument(builder, mlxcel_element_of(operand->dtype), operand->rank, operand->dims, -1);
  }
  mlxcel_function_result(builder, mlxcel_emit_operation(builder, operation, values));
  mlxcel_function_end(builder, "operation");
  return mlxcel_module_finish(builder, &out_emitted->mlir_text, &out_emitted->mlir_size, &out_emitted->contract_text, &out_emitted->fingerprint);
}

iree_status_t mlxcel_emit_operation_module(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_emitted_operation_t* out_emitted) {
  memset(out_emitted, 0, sizeof(*out_emitted));
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("operation", profile->name, &builder);
  iree_status_t status = emit_function(&builder, operation, out_emitted);
  mlxcel_module_builder_deinitialize(&builder);
  if (!iree_status_is_ok(status)) mlxcel_emitted_operation_deinitialize(out_emitted);
  return status;
}

void mlxcel_emitted_operation_deinitialize(mlxcel_emitted_operation_t* emitted) {
  free(emitted->mlir_text);
  free(emitted->contract_text);
  memset(emitted, 0, sizeof(*emitted));
}
