// contract.h: numeric contracts. A clause states one operation instance's numerics; a contract is a profile name and the sorted set of a module's distinct
// clauses. Its canonical text (key=value lines in fixed order, LF, closed vocabularies, no floats) is hashed: that SHA-256 is the fingerprint, part of
// every artifact's key, of its manifest and of every exported function. Semantics only: compilers, flags and instruction sets are build identity.
#ifndef MLXCEL_CONTRACT_CONTRACT_H_
#define MLXCEL_CONTRACT_CONTRACT_H_

#include "base/sha256.h"
#include "base/strbuf.h"
#include "contract/contract_version.h"
#include "contract/operation.h"

// One operation instance. Every string is a static constant or outlives the clause; NULL reads as "none". The fields are the canonical keys, in order.
typedef struct mlxcel_clause_t {
  mlxcel_op_class_t op;
  mlxcel_op_variant_t variant;
  const char* source_dtype;    // what the checkpoint stores: f32 | f16 | bf16 | affine-u<bits>-g<group>-<metadata dtype> | none
  const char* operand_dtype;   // dtype in which operands meet
  const char* accumulator;     // f32 | none
  const char* result_dtype;    // f32
  const char* rounding;        // every rounding boundary, in order, '+'-separated
  const char* association;     // lanes(16,tree) | sequential | blocks(64)+... | none
  const char* dequantization;  // fma-f32 | exact-widen | none
  const char* constants;       // how constants were rounded
  const char* functions;       // elementary functions with their ids: mlxcel-exp-1, ieee-div, ieee-sqrt
  const char* denormals;       // keep | flush
  const char* algorithm;       // kernel or backend algorithm
  uint32_t algorithm_version;
  const char* source_digest;  // SHA-256 of the kernel's sources, or none
  const char* tolerance;      // exact, or a bound
  const char* derivation;     // where the tolerance comes from
  const char* representable;  // yes, or no:<what can't be expressed>: such a clause is declared only and can't be qualified
} mlxcel_clause_t;

// Appends the clause's canonical lines.
void mlxcel_clause_write(const mlxcel_clause_t* clause, mlxcel_strbuf_t* text);

typedef struct mlxcel_contract_t {
  const char* profile;
  size_t clause_count, clause_capacity;
  char** clauses;  // canonical texts, sorted, unique
} mlxcel_contract_t;

void mlxcel_contract_initialize(const char* profile, mlxcel_contract_t* out_contract);
void mlxcel_contract_deinitialize(mlxcel_contract_t* contract);
// Adds |clause| unless an identical one is there.
iree_status_t mlxcel_contract_add(mlxcel_contract_t* contract, const mlxcel_clause_t* clause);
// Writes the canonical text and its fingerprint. The text is freed by the caller.
iree_status_t mlxcel_contract_finish(const mlxcel_contract_t* contract, char** out_text, mlxcel_sha256_hex_t* out_fingerprint);

#endif  // MLXCEL_CONTRACT_CONTRACT_H_
