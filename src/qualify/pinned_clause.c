#include "qualify/pinned_clause.h"

#include <stdio.h>
#include <string.h>

#include "contract/contract_parse.h"

#define BIAS_STORAGE "+bias-"
#define BIAS_STAGE "+bias:f32"
#define ROUNDING_BYTES_MAX 256  // the longest rounding of the table has half of it

static bool is_none(const char* text) { return !text || strcmp(text, "none") == 0; }
static bool is_affine(const char* source_dtype) { return strncmp(source_dtype, "affine-", 7) == 0; }
static bool has_bias(const char* source_dtype) { return source_dtype && strstr(source_dtype, BIAS_STORAGE) != NULL; }

bool mlxcel_pinned_same_storage_kind(const char* left, const char* right) { return is_none(left) == is_none(right) && is_affine(left) == is_affine(right); }

// Takes the stage of a bias off the end of |rounding|. false: there is no such stage, or no room.
static bool without_bias_stage(const char* rounding, char buffer[ROUNDING_BYTES_MAX]) {
  size_t size = rounding ? strlen(rounding) : 0, stage = strlen(BIAS_STAGE);
  if (size <= stage || size >= ROUNDING_BYTES_MAX || strcmp(rounding + size - stage, BIAS_STAGE) != 0) return false;
  memcpy(buffer, rounding, size - stage);
  buffer[size - stage] = 0;
  return true;
}

bool mlxcel_pinned_digest_matches(const mlxcel_clause_t* clause, const char* source_dtype, const mlxcel_sha256_hex_t* digest) {
  mlxcel_clause_t changed = *clause;
  char rounding[ROUNDING_BYTES_MAX];
  bool had = has_bias(clause->source_dtype), has = has_bias(source_dtype);
  if (had && !has) {
    if (!without_bias_stage(clause->rounding, rounding)) return false;
    changed.rounding = rounding;
  } else if (!had && has) {
    snprintf(rounding, sizeof(rounding), "%s%s", clause->rounding ? clause->rounding : "", BIAS_STAGE);
    changed.rounding = rounding;
  }
  changed.source_dtype = is_none(source_dtype) ? NULL : source_dtype;
  mlxcel_sha256_hex_t actual;
  iree_status_t status = mlxcel_clause_digest(&changed, &actual);
  if (iree_status_is_ok(status)) return strcmp(actual.text, digest->text) == 0;
  iree_status_ignore(status);  // no clause: it matches nothing
  return false;
}

iree_status_t mlxcel_pinned_fused_kernel(const mlxcel_clause_t* clause, const char* source_digest, const char** out_kernel) {
  static const mlxcel_operation_t fused[] = {
      {.op = MLXCEL_OP_RESIDUAL_ADD},
      {.op = MLXCEL_OP_QUANTIZED_MATMUL, .within = MLXCEL_WITHIN_QKV_ROPE, .bits = 4, .group_size = 32},
  };
  *out_kernel = NULL;
  const mlxcel_profile_t* profile = mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_PINNED_F32));
  for (size_t i = 0; i < sizeof(fused) / sizeof(fused[0]); ++i) {
    if (clause->op != fused[i].op) continue;
    mlxcel_clause_storage_t table;
    mlxcel_sha256_hex_t digest;
    IREE_RETURN_IF_ERROR(mlxcel_profile_clause(profile, &fused[i], &table));
    table.clause.source_digest = source_digest;
    IREE_RETURN_IF_ERROR(mlxcel_clause_digest(&table.clause, &digest));
    const char* storage = table.clause.source_dtype ? table.clause.source_dtype : "none";
    bool same_kind = mlxcel_pinned_same_storage_kind(storage, clause->source_dtype ? clause->source_dtype : "none");
    if (!same_kind || !mlxcel_pinned_digest_matches(clause, storage, &digest)) continue;
    // The table's text doesn't outlive this call; the clause's equals it.
    *out_kernel = clause->algorithm;
  }
  return iree_ok_status();
}
