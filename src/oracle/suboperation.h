// suboperation.h: the smallest operation that computes one output of another one, with its operands cut out: one row, one output feature, one head, the inputs
// of one convolution window.
#ifndef MLXCEL_ORACLE_SUBOPERATION_H_
#define MLXCEL_ORACLE_SUBOPERATION_H_

#include "oracle/operands.h"

typedef struct mlxcel_suboperation_t {
  mlxcel_operation_t operation;
  mlxcel_oracle_operands_t operands;
  uint64_t index;  // of the output within the result of |operation|
} mlxcel_suboperation_t;

// Cuts out what output |index| (flat) of |operation| needs; |with_tables| as the operands were made. UNIMPLEMENTED: an output that is only moved (kv-store;
// qkv-rope's cache where no row is stored).
iree_status_t mlxcel_suboperation_make(const mlxcel_operation_t* operation, bool with_tables, const mlxcel_oracle_operands_t* operands, uint64_t index,
                                       mlxcel_suboperation_t* out_sub);
void mlxcel_suboperation_deinitialize(mlxcel_suboperation_t* sub);

#endif  // MLXCEL_ORACLE_SUBOPERATION_H_
