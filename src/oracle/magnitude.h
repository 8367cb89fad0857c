// magnitude.h: how large the terms are that an operation adds up to each output. A sum of large terms that cancel is as inexact as its terms, not as its
// result: the tolerance of a clause is counted at their magnitude.
#ifndef MLXCEL_ORACLE_MAGNITUDE_H_
#define MLXCEL_ORACLE_MAGNITUDE_H_

#include "contract/operation.h"

// |out_magnitudes|: [outputs of the operation], freed by the caller; NULL for classes whose results are as large as their terms (or have no tolerance).
//   activation |x|; silu-gate |gate * up|; convolution: sum of |x * w|; attention: the largest |v| of the head and dimension;
//   activation-projection: the product of both projections' sums of |x * w|
iree_status_t mlxcel_term_magnitudes(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, float** out_magnitudes);

#endif  // MLXCEL_ORACLE_MAGNITUDE_H_
