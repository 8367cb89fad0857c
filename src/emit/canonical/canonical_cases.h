// canonical_cases.h: one small operation for every form that the helpers of iree-canonical emit, by name: what goldens freeze and mutations change.
#ifndef MLXCEL_EMIT_CANONICAL_CANONICAL_CASES_H_
#define MLXCEL_EMIT_CANONICAL_CANONICAL_CASES_H_

#include "contract/operation.h"

typedef struct mlxcel_canonical_case_t {
  const char* name;
  mlxcel_operation_t operation;
} mlxcel_canonical_case_t;

// NULL behind the last.
const mlxcel_canonical_case_t* mlxcel_canonical_case_at(size_t index);
// NULL if there is no such case.
const mlxcel_canonical_case_t* mlxcel_canonical_case_find(const char* name);

#endif  // MLXCEL_EMIT_CANONICAL_CANONICAL_CASES_H_
