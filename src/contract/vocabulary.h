// vocabulary.h: the closed sets of the contract: for every field of a clause the values that it may have. A value outside is an error of whoever states it and
// of every text that is read. New words go into the lists of vocabulary.c; a word that changes its meaning needs a new MLXCEL_CONTRACT_VERSION.
//
//   op, variant                                     operation.h
//   source_dtype                                    none | (f32|f16|bf16 | affine-u<bits>-g<group>-<dtype>)[+bias-<dtype>]
//   operand_dtype, result_dtype                     one word
//   dequantization, denormals, derivation,          one word
//   tolerance, representable
//   accumulator, rounding, association, constants   none, or parts joined by '+', each [stage:]word; stages are a list too
//   functions, algorithm                            none, or words joined by '+'
//   algorithm_version                               1 .. 99
//   source_digest                                   none, or digests of 64 lowercase hex digits, one a kernel object (up to 3), joined by '+'
//
// Tolerances: exact: bit for bit. max-ulp(N): at most N units in the last place of f32, and one of the result's dtype for each rounding
// boundary of the clause in a 16-bit dtype, at the largest magnitude in the row of results and of the terms that are summed into it. A composition's bound is
// the sum of its parts'; a clause that flushes may lose results of up to 2^-118. unstated: nothing is promised (clauses that can't be expressed).
#ifndef MLXCEL_CONTRACT_VOCABULARY_H_
#define MLXCEL_CONTRACT_VOCABULARY_H_

#include "contract/contract.h"

// No value of a clause is longer.
#define MLXCEL_CLAUSE_VALUE_BYTES_MAX 512
#define MLXCEL_ALGORITHM_VERSION_MAX 99  // two digits: a new version is a deliberate act

// INVALID_ARGUMENT names the field, the value and the word that isn't in the set.
iree_status_t mlxcel_vocabulary_check(mlxcel_clause_field_t field, iree_string_view_t value);

// Calls |visit| with every legal value of |field| that differs from |value| by one step, each once: for a list every other word; for joined values every part
// with another word, every part left out, every two neighbours exchanged; for numbers the next and the previous; and so on. Mutation tests are made of these.
// |value| must be legal. At least one alternative exists for every legal value. Stops at the first failure.
typedef iree_status_t (*mlxcel_vocabulary_visitor_t)(void* user_data, const char* value);
iree_status_t mlxcel_vocabulary_alternatives(mlxcel_clause_field_t field, iree_string_view_t value, mlxcel_vocabulary_visitor_t visit, void* user_data);

#endif  // MLXCEL_CONTRACT_VOCABULARY_H_
