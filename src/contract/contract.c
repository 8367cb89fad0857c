#include "contract/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRING_FIELD(name) \
  { #name, offsetof(mlxcel_clause_t, name) }
#define OTHER_FIELD(name) \
  { #name, SIZE_MAX }
static const struct {
  const char* name;
  size_t offset;  // of a string; SIZE_MAX: not a string
} field_table[] = {
    OTHER_FIELD(op),
    OTHER_FIELD(variant),
    STRING_FIELD(source_dtype),
    STRING_FIELD(operand_dtype),
    STRING_FIELD(accumulator),
    STRING_FIELD(result_dtype),
    STRING_FIELD(rounding),
    STRING_FIELD(association),
    STRING_FIELD(dequantization),
    STRING_FIELD(constants),
    STRING_FIELD(functions),
    STRING_FIELD(denormals),
    STRING_FIELD(algorithm),
    OTHER_FIELD(algorithm_version),
    STRING_FIELD(source_digest),
    STRING_FIELD(tolerance),
    STRING_FIELD(derivation),
    STRING_FIELD(representable),
};
_Static_assert(IREE_ARRAYSIZE(field_table) == MLXCEL_FIELD_COUNT, "one row for every field");
// A field that is added to the struct has to be added above, or this stops the build: 15 strings, op and variant in one word, the version in another.
_Static_assert(sizeof(mlxcel_clause_t) == 17 * sizeof(char*), "every field of a clause is a canonical key");

const char* mlxcel_clause_field_name(mlxcel_clause_field_t field) { return (uint32_t)field < MLXCEL_FIELD_COUNT ? field_table[field].name : "?"; }

const char* mlxcel_clause_field_get(const mlxcel_clause_t* clause, mlxcel_clause_field_t field, char number[16]) {
  if (field == MLXCEL_FIELD_OP) return mlxcel_op_class_name(clause->op);
  if (field == MLXCEL_FIELD_VARIANT) return mlxcel_op_variant_name(clause->variant);
  if (field == MLXCEL_FIELD_ALGORITHM_VERSION) {
    snprintf(number, 16, "%" PRIu32, clause->algorithm_version);
    return number;
  }
  const char* value;
  memcpy(&value, (const char*)clause + field_table[field].offset, sizeof(value));
  return value ? value : "none";
}

// Decimal digits alone: no sign, no leading zero.
static bool number_parse(const char* text, uint32_t* out_number) {
  *out_number = 0;
  if (text[0] == 0 || (text[0] == '0' && text[1] != 0)) return false;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9' || *out_number > (UINT32_MAX - 9) / 10) return false;
    *out_number = *out_number * 10 + (uint32_t)(*text - '0');
  }
  return true;
}

iree_status_t mlxcel_clause_field_set(mlxcel_clause_t* clause, mlxcel_clause_field_t field, const char* value) {
  if (field_table[field].offset != SIZE_MAX) {
    memcpy((char*)clause + field_table[field].offset, &value, sizeof(value));
    return iree_ok_status();
  }
  bool known = field == MLXCEL_FIELD_OP        ? mlxcel_op_class_parse(iree_make_cstring_view(value), &clause->op)
               : field == MLXCEL_FIELD_VARIANT ? mlxcel_op_variant_parse(iree_make_cstring_view(value), &clause->variant)
                                               : number_parse(value, &clause->algorithm_version);
  if (known) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: \"%s\" isn't in its closed set", mlxcel_clause_field_name(field), value);
}

void mlxcel_clause_write(const mlxcel_clause_t* clause, mlxcel_strbuf_t* text) {
  char number[16];
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    mlxcel_strbuf_append_format(text, "%s=%s\n", field_table[i].name, mlxcel_clause_field_get(clause, field, number));
  }
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
