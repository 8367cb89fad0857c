#include "contract/contract.h"

#include <stdlib.h>
#include <string.h>


static void clause_line(mlxcel_strbuf_t* text, const char* key, const char* value) {
  mlxcel_strbuf_append_format(text, "%s=%s\n", key, value ? value : "none");
}

void mlxcel_clause_write(const mlxcel_clause_t* clause, mlxcel_strbuf_t* text) {
  clause_line(text, "op", mlxcel_op_class_name(clause->op));
  clause_line(text, "source_dtype", clause->source_dtype);
  clause_line(text, "operand_dtype", clause->operand_dtype);
  clause_line(text, "accumulator", clause->accumulator);
  clause_line(text, "result_dtype", clause->result_dtype);
  clause_line(text, "rounding", clause->rounding);
  clause_line(text, "association", clause->association);
  clause_line(text, "dequantization", clause->dequantization);
  clause_line(text, "constants", clause->constants);
  clause_line(text, "functions", clause->functions);
  clause_line(text, "denormals", clause->denormals);
  clause_line(text, "algorithm", clause->algorithm);
  mlxcel_strbuf_append_format(text, "algorithm_version=%" PRIu32 "\n", clause->algorithm_version);
  clause_line(text, "source_digest", clause->source_digest);
  clause_line(text, "tolerance", clause->tolerance);
  clause_line(text, "derivation", clause->derivation);
}

void mlxcel_contract_initialize(const char* profile, mlxcel_contract_t* out_contract) {
  memset(out_contract, 0, sizeof(*out_contract));
  out_contract->profile = profile;
}

void mlxcel_contract_deinitialize(mlxcel_contract_t* contract) {
  for (size_t i = 0; i < contract->clause_count; ++i) free(contract->clauses[i]);
  free(contract->clauses);
  memset(contract, 0, sizeof(*contract));
}

static iree_status_t contract_reserve(mlxcel_contract_t* contract) {
  if (contract->clause_count < contract->clause_capacity) return iree_ok_status();
  size_t capacity = contract->clause_capacity ? contract->clause_capacity * 2 : 16;
  char** clauses = realloc(contract->clauses, capacity * sizeof(*clauses));
  if (!clauses) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a contract");
  contract->clauses = clauses;
  contract->clause_capacity = capacity;
  return iree_ok_status();
}

iree_status_t mlxcel_contract_add(mlxcel_contract_t* contract, const mlxcel_clause_t* clause) {
  IREE_RETURN_IF_ERROR(contract_reserve(contract));
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_clause_write(clause, &text);
  iree_status_t status = mlxcel_strbuf_take_status(&text);
  if (!iree_status_is_ok(status)) {
    mlxcel_strbuf_deinitialize(&text);
    return status;
  }
  size_t at = 0;
  while (at < contract->clause_count && strcmp(contract->clauses[at], text.data) < 0) ++at;
  if (at < contract->clause_count && strcmp(contract->clauses[at], text.data) == 0) {
    mlxcel_strbuf_deinitialize(&text);
    return iree_ok_status();
  }
  memmove(contract->clauses + at + 1, contract->clauses + at, (contract->clause_count - at) * sizeof(*contract->clauses));
  contract->clauses[at] = mlxcel_strbuf_release(&text);
  ++contract->clause_count;
  return iree_ok_status();
}

iree_status_t mlxcel_contract_finish(const mlxcel_contract_t* contract, char** out_text, mlxcel_sha256_hex_t* out_fingerprint) {
  *out_text = NULL;
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_strbuf_append_format(&text, "mlxcel_contract=%d\nprofile=%s\nclauses=%zu\n", MLXCEL_CONTRACT_VERSION, contract->profile, contract->clause_count);
  for (size_t i = 0; i < contract->clause_count; ++i) {
    mlxcel_strbuf_append_format(&text, "clause=%zu\n", i);
    mlxcel_strbuf_append_cstring(&text, contract->clauses[i]);
  }
  iree_status_t status = mlxcel_strbuf_take_status(&text);
  if (iree_status_is_ok(status)) status = mlxcel_sha256_of(text.data, text.size, out_fingerprint);
  if (iree_status_is_ok(status)) *out_text = mlxcel_strbuf_release(&text);
  mlxcel_strbuf_deinitialize(&text);
  return status;
}
