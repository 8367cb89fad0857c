// contract_parse.h: the strict reader of a contract's canonical text, and comparisons that name the field. What is read writes back to the same bytes.
#ifndef MLXCEL_CONTRACT_CONTRACT_PARSE_H_
#define MLXCEL_CONTRACT_CONTRACT_PARSE_H_

#include "contract/contract.h"

// A contract is a part of a manifest: a few hundred bytes a clause.
#define MLXCEL_CONTRACT_TEXT_BYTES_MAX (1u << 20)

// A parsed contract owns its strings.
typedef struct mlxcel_parsed_contract_t {
  uint32_t version;
  const char* profile;
  size_t clause_count;
  mlxcel_clause_t* clauses;  // in the text's (sorted) order; strings in |text|
  char* text;                // storage
} mlxcel_parsed_contract_t;
void mlxcel_parsed_contract_deinitialize(mlxcel_parsed_contract_t* contract);

// DATA_LOSS: malformed: the message has the line and the key (missing, repeated, unknown, out of order; a value outside its closed set; clauses unsorted or
// repeated; CR, trailing blanks, no final newline). FAILED_PRECONDITION: of an older or newer version, by name. |origin| names the text in messages.
iree_status_t mlxcel_contract_parse(iree_string_view_t text, const char* origin, mlxcel_parsed_contract_t* out_contract);

// Whether there is a clause at all and the contract's profile defines each of them, whatever the source digest and the dtype of a layer's bias are.
// FAILED_PRECONDITION: no clause, or names the clauses that the table doesn't have (the first few) and how many they are.
iree_status_t mlxcel_contract_check_profile(const mlxcel_parsed_contract_t* contract, const char* origin);

// OK if both texts say the same; else FAILED_PRECONDITION naming the first clause and field that differ, with both values. Malformed texts: as above.
iree_status_t mlxcel_contract_compare(iree_string_view_t expected, iree_string_view_t actual, const char* origin);

// One line a difference ("clause 3 (rms-norm plain): rounding: A -> B"; "only in A: ..."), appended to |out_text|. |*out_count| = how many.
iree_status_t mlxcel_contract_diff(iree_string_view_t left, iree_string_view_t right, mlxcel_strbuf_t* out_text, size_t* out_count);

// Checks every field of a clause against the closed sets (vocabulary.h), and that the variant is one of the op's. INVALID_ARGUMENT names field and value.
iree_status_t mlxcel_clause_check(const mlxcel_clause_t* clause);

// SHA-256 of one clause's canonical text: the identity under which evidence is recorded.
iree_status_t mlxcel_clause_digest(const mlxcel_clause_t* clause, mlxcel_sha256_hex_t* out_digest);

#endif  // MLXCEL_CONTRACT_CONTRACT_PARSE_H_
