// pinned_clause.h: which clauses of profile pinned-f32 say the same but for the storage of weights.
//
// Its kernels widen every storage of a kind (dense, affine) to the same f32 before anything else is done, by conversions that are exact or one stated fma; the
// self-check of every process compares each storage that a module names. So a record of one storage stands for the others of its kind, if nothing else of the
// clause differs: not association, denormals, tolerance, result dtype, operation, variant or kernel.
#ifndef MLXCEL_QUALIFY_PINNED_CLAUSE_H_
#define MLXCEL_QUALIFY_PINNED_CLAUSE_H_

#include "contract/profiles.h"

// Both dense, both affine, or neither.
bool mlxcel_pinned_same_storage_kind(const char* left, const char* right);

// Whether |clause| has |digest| once its source_dtype is |source_dtype|. A bias of the layer adds one stage to the rounding, the f32 addition at its end: that
// stage goes with the bias.
bool mlxcel_pinned_digest_matches(const mlxcel_clause_t* clause, const char* source_dtype, const mlxcel_sha256_hex_t* digest);

// The kernel whose records stand for |clause| though no oracle runs its operation: residual-add is a flag of mlxcel_pinned_matmul, and quantized matmuls in
// front of rotations a storage of mlxcel_pinned_qkv_rope; the self-check runs both. NULL: it isn't one of these, or not exactly the op table's own clause (but
// for the storage) with kernel sources |source_digest|.
iree_status_t mlxcel_pinned_fused_kernel(const mlxcel_clause_t* clause, const char* source_digest, const char** out_kernel);

#endif  // MLXCEL_QUALIFY_PINNED_CLAUSE_H_
