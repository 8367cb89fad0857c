// self_check.c: which kernels and formats a contract names.
#include "qualify/self_check.h"

#include <stdlib.h>
#include <string.h>

#include "contract/contract_parse.h"
#include "contract/profiles.h"
#include "qualify/capability.h"

// --- storage -------------------------------------------------------------------------------------------------------------------------------

// Takes |prefix| off |*text|.
static bool take(const char** text, const char* prefix) {
  size_t size = strlen(prefix);
  if (strncmp(*text, prefix, size) != 0) return false;
  *text += size;
  return true;
}

static bool take_number(const char** text, int32_t* out_number) {
  *out_number = 0;
  const char* begin = *text;
  while (**text >= '0' && **text <= '9' && *out_number < 1000) *out_number = *out_number * 10 + (*(*text)++ - '0');
  return *text != begin;
}

static bool take_type(const char** text, int32_t* out_type) {
  static const char* const names[] = {[MLXCEL_FORMAT_F32] = "f32", [MLXCEL_FORMAT_F16] = "f16", [MLXCEL_FORMAT_BF16] = "bf16"};
  for (int32_t i = 0; i < 3; ++i) {
    *out_type = i;
    if (take(text, names[i])) return true;
  }
  return false;
}

static bool take_affine(const char** text, int32_t* out_format) {
  int32_t bits = 0, group = 0, group_log2 = 0, type = 0;
  if (!take_number(text, &bits) || !take(text, "-g") || !take_number(text, &group) || !take(text, "-") || !take_type(text, &type)) return false;
  while ((1 << group_log2) < group) ++group_log2;
  bool known_bits = (bits >= 2 && bits <= 6) || bits == 8;
  *out_format = MLXCEL_FORMAT(bits, group_log2, type);
  return known_bits && (group == 32 || group == 64 || group == 128);
}

bool mlxcel_self_check_source_parse(const char* source, int32_t* out_format, int32_t* out_bias_type) {
  *out_format = MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_F32);
  *out_bias_type = MLXCEL_SELF_CHECK_NO_BIAS;
  if (strcmp(source, "none") == 0) return true;
  int32_t type = 0;
  if (take(&source, "affine-u")) {
    if (!take_affine(&source, out_format)) return false;
  } else {
    if (!take_type(&source, &type)) return false;
    *out_format = MLXCEL_FORMAT(0, 0, type);
  }
  if (take(&source, "+bias-") && !take_type(&source, out_bias_type)) return false;
  return source[0] == 0;
}

// --- cases of a contract -------------------------------------------------------------------------------------------------------------------

static iree_status_t clause_error(const mlxcel_clause_t* clause, const char* problem) {
  return iree_make_status(IREE_STATUS_INTERNAL, "the self-check can't vouch for clause %s %s of %s with algorithm %s: %s; use another profile",
                          mlxcel_op_class_name(clause->op), mlxcel_op_variant_name(clause->variant), clause->source_dtype ? clause->source_dtype : "none",
                          clause->algorithm ? clause->algorithm : "none", problem);
}

static bool find_kernel(const char* symbol, mlxcel_kernel_id_t* out_kernel) {
  for (int i = 0; i < MLXCEL_KERNEL_COUNT; ++i) {
    *out_kernel = (mlxcel_kernel_id_t)i;
    const mlxcel_kernel_info_t* info = mlxcel_kernel_info(*out_kernel);
    if (info->object == MLXCEL_KERNEL_OBJECT_PINNED && strcmp(info->symbol, symbol) == 0) return true;
  }
  return false;
}

static iree_status_t case_of_clause(const mlxcel_clause_t* clause, mlxcel_self_check_case_t* out_case) {
  memset(out_case, 0, sizeof(*out_case));
  if (!clause->algorithm || !find_kernel(clause->algorithm, &out_case->kernel)) return clause_error(clause, "no pinned kernel has that name");
  if (!mlxcel_self_check_source_parse(clause->source_dtype ? clause->source_dtype : "none", &out_case->format, &out_case->bias_type)) {
    return clause_error(clause, "the kernels don't know this storage");
  }
  // Their storage is the cache's; matrices are then f32.
  if (clause->op == MLXCEL_OP_KV_STORE || clause->op == MLXCEL_OP_ATTENTION) {
    out_case->cache_type = MLXCEL_FORMAT_TYPE(out_case->format);
    out_case->format = MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_F32);
  }
  return iree_ok_status();
}

// The clauses' cases, each once. |cases| has room for all.
static iree_status_t collect_cases(const mlxcel_parsed_contract_t* contract, mlxcel_self_check_case_t* cases, size_t* out_count) {
  *out_count = 0;
  for (size_t i = 0; i < contract->clause_count; ++i) {
    mlxcel_self_check_case_t* added = &cases[*out_count];
    IREE_RETURN_IF_ERROR(case_of_clause(&contract->clauses[i], added));
    size_t at = 0;
    while (at < *out_count && memcmp(&cases[at], added, sizeof(*added)) != 0) ++at;
    if (at == *out_count) ++*out_count;
  }
  return iree_ok_status();
}

static iree_status_t run_contract(const mlxcel_parsed_contract_t* contract, const mlxcel_kernel_set_t* set) {
  if (strcmp(contract->profile, MLXCEL_PROFILE_PINNED_F32) != 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "profile %s has no scalar reference to check against; only %s has", contract->profile,
                            MLXCEL_PROFILE_PINNED_F32);
  }
  size_t count = 0;
  mlxcel_self_check_case_t* cases = calloc(contract->clause_count + 1, sizeof(*cases));
  if (!cases) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the self-check; free some memory");
  iree_status_t status = collect_cases(contract, cases, &count);
  for (size_t i = 0; i < count && iree_status_is_ok(status); ++i) status = mlxcel_self_check_case_run(&cases[i], set);
  free(cases);
  return status;
}

iree_status_t mlxcel_self_check_run_set(iree_string_view_t contract_text, const mlxcel_kernel_set_t* set) {
  mlxcel_parsed_contract_t contract;
  IREE_RETURN_IF_ERROR(mlxcel_contract_parse(contract_text, "the module's contract", &contract));
  iree_status_t status = run_contract(&contract, set);
  mlxcel_parsed_contract_deinitialize(&contract);
  return status;
}

iree_status_t mlxcel_self_check_run(iree_string_view_t contract_text, const char* cpu_level) {
  mlxcel_kernel_level_t level = MLXCEL_KERNEL_LEVEL_V3;
  IREE_RETURN_IF_ERROR(mlxcel_kernel_level_select(iree_make_cstring_view(cpu_level ? cpu_level : ""), &level));
  return mlxcel_self_check_run_set(contract_text, mlxcel_kernel_set_of_level(level));
}
