// profiles.h: the table of numeric profiles: for every profile and operation that it defines, the clause. Helpers take their clauses from here and state none
// themselves; the emitter adds what only it knows (the kernel's source digest).
#ifndef MLXCEL_CONTRACT_PROFILES_H_
#define MLXCEL_CONTRACT_PROFILES_H_

#include "contract/contract.h"

#define MLXCEL_PROFILE_PINNED_F32 "pinned-f32"
#define MLXCEL_PROFILE_MLX_CPU "mlx-cpu-0.32.4"
#define MLXCEL_PROFILE_IREE_CANONICAL "iree-canonical"
#define MLXCEL_PROFILE_MLX_CUDA_SM80 "mlx-cuda-0.32.4-sm80"
#define MLXCEL_PROFILE_MLX_CUDA_SM90A "mlx-cuda-0.32.4-sm90a"

typedef struct mlxcel_profile_t {
  const char* name;
  const char*
      reference;  // what `production-mlx` means for it: "mlx-cpu-0.32.4", ... ; NULL = no production reference of its own (compared with mlx-cpu-0.32.4)
  bool is_declared_only;  // nothing is emitted for it
  bool rope_tables;       // rotary tables come from outside (cos and sin operands)
  bool runs_models;       // has all that a decoder needs, caches and rows too; others have single operations only
  const char* precision;  // of a model's activations, as --precision names it: "f32", "checkpoint" (the checkpoint's own dtypes); NULL if it runs no models
} mlxcel_profile_t;
const mlxcel_profile_t* mlxcel_profile_find(iree_string_view_t name);
const mlxcel_profile_t* mlxcel_profile_at(size_t index);  // NULL behind the last

// The names of all profiles, or of those that run models, in the table's order with ", " between them: for messages.
#define MLXCEL_PROFILE_NAMES_BYTES_MAX 256
void mlxcel_profile_names(bool only_models, char buffer[MLXCEL_PROFILE_NAMES_BYTES_MAX]);

// A clause with the storage of the texts that were put together for it.
#define MLXCEL_CLAUSE_TEXT_BYTES_MAX 1536  // the longest clause of the table has about 700 bytes
typedef struct mlxcel_clause_storage_t {
  mlxcel_clause_t clause;
  char text[MLXCEL_CLAUSE_TEXT_BYTES_MAX];
} mlxcel_clause_storage_t;

// The clause of |operation| (an op class with a clause of its own, i.e. not a composition) under |profile|; source_digest is NULL. Sizes are looked at only
// where they decide which kernel a backend takes (mlx-cuda). The storage must not be moved afterwards (the clause points into it). UNIMPLEMENTED: the profile
// doesn't define this operation, variant or dtype; the message says which it does.
iree_status_t mlxcel_profile_clause(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_clause_storage_t* out_storage);

// Every clause that the table holds, instance by instance (dtype, source dtype, variant), for `contract show`, mutations and tests: calls |visit| with each;
// stops at the first failure. Operations have no sizes but those that chose the clause; a bias of the layer has the weights' dtype. The clause is valid during
// the call.
typedef iree_status_t (*mlxcel_profile_visitor_t)(void* user_data, const mlxcel_operation_t* operation, const mlxcel_clause_t* clause);
iree_status_t mlxcel_profile_visit(const mlxcel_profile_t* profile, mlxcel_profile_visitor_t visit, void* user_data);

#endif  // MLXCEL_CONTRACT_PROFILES_H_
