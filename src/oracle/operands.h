// operands.h: deterministic operands of an operation, made so that a changed cast, order or rounding shows.
//
// Every number is a function of the seed, the operation, the operand's place and the element's index: no generator state, no libm (tables of rotary embeddings
// excepted), so they are the same everywhere. Rows of activations take turns in their kind:
//   normal   about the standard normal distribution
//   cancel   element K-1-k is the negative of element k, but for a little noise: sums are small, and the order of accumulation decides most of their bits
//   ties     few bits, chosen so that products and sums fall on midpoints between two values of the dtype
//   wide     a large first element, then ones that an accumulator of that size loses one by one, exponents over a wide range, signed zeros
//   tiny     at the edge of the subnormals: flushing them changes results
// Weights of every second output are mirrored (element K-1-k equals element k), so that the rows of kind cancel do cancel.
#ifndef MLXCEL_ORACLE_OPERANDS_H_
#define MLXCEL_ORACLE_OPERANDS_H_

#include "base/sha256.h"
#include "contract/operation.h"

typedef enum mlxcel_operand_kind_e {
  MLXCEL_OPERAND_NORMAL,
  MLXCEL_OPERAND_CANCEL,
  MLXCEL_OPERAND_TIES,
  MLXCEL_OPERAND_WIDE,
  MLXCEL_OPERAND_TINY,
  MLXCEL_OPERAND_KIND_COUNT,
} mlxcel_operand_kind_t;

typedef struct mlxcel_oracle_operands_t {
  size_t count;
  mlxcel_host_tensor_t tensors[MLXCEL_OPERANDS_MAX];
  mlxcel_sha256_hex_t digests[MLXCEL_OPERANDS_MAX];  // of the tensors' bytes
} mlxcel_oracle_operands_t;

// Operands in the order of mlxcel_operation_operands. Errors of that function, RESOURCE_EXHAUSTED.
iree_status_t mlxcel_oracle_operands_make(const mlxcel_operation_t* operation, bool with_tables, uint64_t seed, mlxcel_oracle_operands_t* out_operands);
void mlxcel_oracle_operands_deinitialize(mlxcel_oracle_operands_t* operands);
// Computes |digests| anew (for operands that were put together elsewhere).
iree_status_t mlxcel_oracle_operands_hash(mlxcel_oracle_operands_t* operands);

// Draw |index| of |stream| under |seed|: 64 even bits.
uint64_t mlxcel_oracle_random(uint64_t seed, uint64_t stream, uint64_t index);

#endif  // MLXCEL_ORACLE_OPERANDS_H_
