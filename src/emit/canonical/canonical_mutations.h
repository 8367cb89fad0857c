// canonical_mutations.h: changes of the emitted texts that would break a clause: what oracles and frozen texts must notice. Each is one edit of a module that
// the compiler still accepts, made by a rule: a pattern that names a kind of line, so that a new rounding boundary or a new sum gets its mutations by itself.
//
// Where an edit can't change any result, a proof is listed: only the text differs. FTZ and DAZ, which the field `denormals` states, are set by the runtime's
// threads: no text can change them.
#ifndef MLXCEL_EMIT_CANONICAL_CANONICAL_MUTATIONS_H_
#define MLXCEL_EMIT_CANONICAL_CANONICAL_MUTATIONS_H_

#include "base/base.h"

typedef struct mlxcel_canonical_mutation_t {
  const char* rule;   // "drop-round", "fuse-multiply-add" ...
  const char* field;  // the clause's field that it breaks: "rounding", "accumulator", "result_dtype", "association", "dequantization", "constants", "functions"
  uint32_t occurrence;  // which of the rule's places in the text, from 0
  const char* proof;    // NULL: it can change results; else why it can't
} mlxcel_canonical_mutation_t;

// Calls |visit| with every mutation of |text|, the module of the case |case_name| (canonical_cases.h), and the changed text, which lives until it returns.
// Stops at the first failure.
typedef iree_status_t (*mlxcel_canonical_mutation_visitor_t)(void* user_data, const mlxcel_canonical_mutation_t* mutation, const char* mutated);
iree_status_t mlxcel_canonical_mutations_visit(const char* case_name, const char* text, mlxcel_canonical_mutation_visitor_t visit, void* user_data);

// The listed proofs, for the test that each belongs to a mutation; false behind the last.
typedef struct mlxcel_canonical_proof_t {
  const char* case_name;  // a case, or the beginning of several cases' names; "" = all
  const char* rule;
  int32_t occurrence;  // -1 = all
  const char* text;
} mlxcel_canonical_proof_t;
const mlxcel_canonical_proof_t* mlxcel_canonical_proof_at(size_t index);  // NULL behind the last

#endif  // MLXCEL_EMIT_CANONICAL_CANONICAL_MUTATIONS_H_
