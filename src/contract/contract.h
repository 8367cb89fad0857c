// contract.h: numeric contracts. A clause states one operation instance's numerics; a contract is a profile name and the sorted set of a module's distinct
// clauses. Its canonical text (key=value lines in fixed order, LF, closed vocabularies (vocabulary.h), no floats) is hashed: that SHA-256 is the fingerprint,
// part of every artifact's key, of its manifest and of every exported function. Semantics only: compilers, flags and instruction sets are build identity.
//
//   mlxcel_contract=<version>
//   profile=<name>
//   clauses=<count>
//   clause=0
//   op=...            the 18 keys of a clause, in the order of mlxcel_clause_field_t
//   ...
//   clause=1 ...      clauses ascend by their texts (bytes), none is there twice
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
  const char* source_dtype;    // what the checkpoint stores: f32 | f16 | bf16 | affine-u<bits>-g<group>-<metadata dtype>, [+bias-<dtype>] | none
  const char* operand_dtype;   // dtype in which operands meet
  const char* accumulator;     // dtype of sums: f32 | slots:bf16+lanes:f32 | none
  const char* result_dtype;    // f32
  const char* rounding;        // every rounding boundary, in order, '+'-separated: [stage:]how
  const char* association;     // lanes(16,tree) | sequential | blocks(64,absolute):... | none: [stage:]policy, '+'-separated
  const char* dequantization;  // fma-f32 | two-round-bf16 | exact-widen | none
  const char* constants;       // how constants were rounded
  const char* functions;       // elementary functions with their ids: mlxcel-exp-1, ieee-div, ieee-sqrt
  const char* denormals;       // keep | flush
  const char* algorithm;       // kernel or backend algorithm, several in order of use '+'-separated
  uint32_t algorithm_version;
  const char* source_digest;  // SHA-256 of the kernel's sources, or none
  const char* tolerance;      // exact, or a bound
  const char* derivation;     // where the tolerance comes from
  const char* representable;  // yes, or no:<what can't be expressed>: such a clause is declared only and can't be qualified
} mlxcel_clause_t;

// The canonical keys, in order.
typedef enum mlxcel_clause_field_e {
  MLXCEL_FIELD_OP,
  MLXCEL_FIELD_VARIANT,
  MLXCEL_FIELD_SOURCE_DTYPE,
  MLXCEL_FIELD_OPERAND_DTYPE,
  MLXCEL_FIELD_ACCUMULATOR,
  MLXCEL_FIELD_RESULT_DTYPE,
  MLXCEL_FIELD_ROUNDING,
  MLXCEL_FIELD_ASSOCIATION,
  MLXCEL_FIELD_DEQUANTIZATION,
  MLXCEL_FIELD_CONSTANTS,
  MLXCEL_FIELD_FUNCTIONS,
  MLXCEL_FIELD_DENORMALS,
  MLXCEL_FIELD_ALGORITHM,
  MLXCEL_FIELD_ALGORITHM_VERSION,
  MLXCEL_FIELD_SOURCE_DIGEST,
  MLXCEL_FIELD_TOLERANCE,
  MLXCEL_FIELD_DERIVATION,
  MLXCEL_FIELD_REPRESENTABLE,
  MLXCEL_FIELD_COUNT,
} mlxcel_clause_field_t;
const char* mlxcel_clause_field_name(mlxcel_clause_field_t field);
// The value as canonical text. |number| is storage for algorithm_version.
const char* mlxcel_clause_field_get(const mlxcel_clause_t* clause, mlxcel_clause_field_t field, char number[16]);
// Sets a field from canonical text; strings are kept by pointer. INVALID_ARGUMENT: no such op class or variant, or no number; names the field.
iree_status_t mlxcel_clause_field_set(mlxcel_clause_t* clause, mlxcel_clause_field_t field, const char* value);

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
