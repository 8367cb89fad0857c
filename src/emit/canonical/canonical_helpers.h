// canonical_helpers.h: helpers of profile iree-canonical: StableHLO (linalg where the clause says so) that IREE compiles without a pinned kernel.
#ifndef MLXCEL_EMIT_CANONICAL_CANONICAL_HELPERS_H_
#define MLXCEL_EMIT_CANONICAL_CANONICAL_HELPERS_H_

#include "emit/module_builder.h"

// Emits |operation| (operands and result as in contract/operation.h) with its clauses.
mlxcel_value_t mlxcel_canonical_emit_operation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);

#endif  // MLXCEL_EMIT_CANONICAL_CANONICAL_HELPERS_H_
