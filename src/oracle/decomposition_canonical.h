// decomposition_canonical.h: scalar models of the clauses of profile iree-canonical that state their whole order.
#ifndef MLXCEL_ORACLE_DECOMPOSITION_CANONICAL_H_
#define MLXCEL_ORACLE_DECOMPOSITION_CANONICAL_H_

#include "contract/operation.h"

// Computes into |result|, which has the operation's type. UNIMPLEMENTED: the class has no model here, with the reason.
iree_status_t mlxcel_canonical_evaluate(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result);

#endif  // MLXCEL_ORACLE_DECOMPOSITION_CANONICAL_H_
