// pinned_operation.h: operations of profile pinned-f32 by the helpers that models use. Its kernels are fused: classes that exist only inside another one
// (residual-add, silu-gate, rope, kv-store) are refused by name.
#ifndef MLXCEL_EMIT_PINNED_OPERATION_H_
#define MLXCEL_EMIT_PINNED_OPERATION_H_

#include "emit/module_builder.h"

// As mlxcel_emit_operation. UNIMPLEMENTED (of the builder): the message says what pinned-f32 computes instead; the value returned then has no meaning.
mlxcel_value_t mlxcel_pinned_emit_operation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);

#endif  // MLXCEL_EMIT_PINNED_OPERATION_H_
