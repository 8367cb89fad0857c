// decomposition.h: the declared decomposition of a clause, computed by scalar code of its own: what claim `canonical-decomposition` compares with.
#ifndef MLXCEL_ORACLE_DECOMPOSITION_H_
#define MLXCEL_ORACLE_DECOMPOSITION_H_

#include "contract/profiles.h"

// Computes |operation| over |operands| (in its order, with tables where the profile has them) in the order that |profile| declares: pinned-f32 by the scalar
// reference kernels, iree-canonical by plain loops where its clause states everything. The result is freed by the caller. UNIMPLEMENTED: there is no such
// evaluator, with the reason; the claim can't be earned then.
iree_status_t mlxcel_decomposition_evaluate(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands,
                                            mlxcel_host_tensor_t* out_result);

#endif  // MLXCEL_ORACLE_DECOMPOSITION_H_
