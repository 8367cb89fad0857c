// operation_emitter.h: emits any operation of contract/operation.h under the module's profile, from values that are its operands: what micro-oracles run. It
// calls the same helpers that models are made of.
#ifndef MLXCEL_EMIT_OPERATION_EMITTER_H_
#define MLXCEL_EMIT_OPERATION_EMITTER_H_

#include "emit/module_builder.h"

// Emits |operation| over |operands| (in the order of mlxcel_operation_operands, with_tables = builder->profile->rope_tables) and adds its clauses. The result
// has mlxcel_operation_result's type (flattened trailing dimensions are put back). A profile that doesn't define it: the builder fails with UNIMPLEMENTED.
mlxcel_value_t mlxcel_emit_operation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);

// A whole module with one function "operation" that takes the operands and returns the result.
typedef struct mlxcel_emitted_operation_t {
  char* mlir_text;
  size_t mlir_size;
  char* contract_text;
  mlxcel_sha256_hex_t fingerprint;
  size_t operand_count;
  mlxcel_operand_t operands[MLXCEL_OPERANDS_MAX];
  mlxcel_operand_t result;
} mlxcel_emitted_operation_t;
iree_status_t mlxcel_emit_operation_module(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_emitted_operation_t* out_emitted);
void mlxcel_emitted_operation_deinitialize(mlxcel_emitted_operation_t* emitted);

// The clause of |operation| with the source digest of its kernel, added to the module. Every helper calls this.
void mlxcel_emit_clause(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation);
// The same clause without a module: for evidence and for `contract show`.
iree_status_t mlxcel_emit_clause_of(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_clause_storage_t* out_storage);

#endif  // MLXCEL_EMIT_OPERATION_EMITTER_H_
