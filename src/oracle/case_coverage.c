#include "oracle/case_coverage.h"

#include <stdlib.h>
#include <string.h>

#include "contract/contract_parse.h"
#include "emit/operation_emitter.h"

typedef struct coverage_t {
  const mlxcel_profile_t* profile;
  mlxcel_op_class_t op;
  size_t count, capacity;
  mlxcel_sha256_hex_t* digests;  // of the clauses that cases have
  mlxcel_oracle_coverage_add_fn_t add;
  void* user_data;
} coverage_t;

static bool is_covered(const coverage_t* coverage, const mlxcel_sha256_hex_t* digest) {
  for (size_t i = 0; i < coverage->count; ++i) {
    if (strcmp(coverage->digests[i].text, digest->text) == 0) return true;
  }
  return false;
}

static iree_status_t note_covered(coverage_t* coverage, const mlxcel_sha256_hex_t* digest) {
  if (is_covered(coverage, digest)) return iree_ok_status();
  if (coverage->count == coverage->capacity) {
    size_t capacity = coverage->capacity ? coverage->capacity * 2 : 64;
    mlxcel_sha256_hex_t* digests = realloc(coverage->digests, capacity * sizeof(*digests));
    if (!digests) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the oracle's cases; free some memory");
    coverage->digests = digests;
    coverage->capacity = capacity;
  }
  coverage->digests[coverage->count++] = *digest;
  return iree_ok_status();
}

static iree_status_t note_case(coverage_t* coverage, const mlxcel_oracle_case_t* item) {
  mlxcel_operation_t parts[MLXCEL_ORACLE_PARTS_MAX];
  size_t count = mlxcel_oracle_operation_parts(&item->operation, parts);
  for (size_t i = 0; i < count; ++i) {
    if (parts[i].op != coverage->op) continue;
    mlxcel_clause_storage_t storage;
    iree_status_t status = mlxcel_profile_clause(coverage->profile, &parts[i], &storage);
    if (iree_status_is_unimplemented(status)) {
      iree_status_free(status);
      continue;
    }
    mlxcel_sha256_hex_t digest;
    if (iree_status_is_ok(status)) status = mlxcel_clause_digest(&storage.clause, &digest);
    if (iree_status_is_ok(status)) status = note_covered(coverage, &digest);
    IREE_RETURN_IF_ERROR(status);
  }
  return iree_ok_status();
}

// Small sizes that fit every class and group size.
static mlxcel_operation_t with_sizes(mlxcel_operation_t operation) {
  operation.rows = 5;
  operation.epsilon = 1e-5f;
  if (operation.op == MLXCEL_OP_ROPE) {
    operation.heads = 2;
    operation.head_dim = operation.rope_dims = 16;
    operation.keys = 50;
    operation.rope_base = 10000.0f;
    operation.scale = 1.0f;
  } else if (operation.op == MLXCEL_OP_CUMULATIVE_NORM) {
    operation.in_features = 3;
    operation.out_features = 5;
  } else {
    operation.in_features = 128;
    operation.out_features = 33;
  }
  return operation;
}

static iree_status_t visit_clause(void* user_data, const mlxcel_operation_t* operation, const mlxcel_clause_t* clause) {
  coverage_t* coverage = user_data;
  if (operation->op != coverage->op) return iree_ok_status();
  mlxcel_sha256_hex_t digest;
  IREE_RETURN_IF_ERROR(mlxcel_clause_digest(clause, &digest));
  if (is_covered(coverage, &digest)) return iree_ok_status();
  const mlxcel_operation_t sized = with_sizes(*operation);
  coverage->add(coverage->user_data, &sized);
  return note_covered(coverage, &digest);
}

iree_status_t mlxcel_oracle_coverage_visit(const mlxcel_oracle_cases_t* cases, mlxcel_op_class_t op, mlxcel_oracle_coverage_add_fn_t add, void* user_data) {
  coverage_t coverage = {.profile = mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_MLX_CPU)), .op = op, .add = add, .user_data = user_data};
  iree_status_t status = iree_ok_status();
  for (size_t i = 0; i < cases->count && iree_status_is_ok(status); ++i) status = note_case(&coverage, &cases->items[i]);
  if (iree_status_is_ok(status)) status = mlxcel_profile_visit(coverage.profile, visit_clause, &coverage);
  free(coverage.digests);
  return status;
}

// The contract of the module that |operation| makes. It is freed by the caller.
static iree_status_t contract_of(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_parsed_contract_t* out_contract) {
  mlxcel_emitted_operation_t emitted;
  IREE_RETURN_IF_ERROR(mlxcel_emit_operation_module(profile, operation, &emitted));
  iree_status_t status = mlxcel_contract_parse(iree_make_cstring_view(emitted.contract_text), "the emitted contract", out_contract);
  mlxcel_emitted_operation_deinitialize(&emitted);
  return status;
}

iree_status_t mlxcel_oracle_coverage_unselected(const mlxcel_oracle_cases_t* cases, const mlxcel_profile_t* profile, mlxcel_oracle_selected_fn_t is_selected,
                                                const void* selection, mlxcel_oracle_contract_fn_t visit, void* user_data) {
  for (size_t i = 0; i < cases->count; ++i) {
    mlxcel_operation_t operation;
    mlxcel_parsed_contract_t contract;
    if (is_selected(selection, &cases->items[i]) || !mlxcel_oracle_profile_runs(profile, &cases->items[i], &operation)) continue;
    IREE_RETURN_IF_ERROR(contract_of(profile, &operation, &contract));
    iree_status_t status = visit(user_data, profile, &contract);
    mlxcel_parsed_contract_deinitialize(&contract);
    IREE_RETURN_IF_ERROR(status);
  }
  return iree_ok_status();
}
