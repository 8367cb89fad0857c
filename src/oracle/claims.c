#include "oracle/claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mlxcel_claim_t mlxcel_claim_needed(const mlxcel_profile_t* profile) {
  if (profile->reference) return MLXCEL_CLAIM_PRODUCTION;
  return strcmp(profile->name, MLXCEL_PROFILE_PINNED_F32) == 0 ? MLXCEL_CLAIM_CANONICAL : MLXCEL_CLAIM_CLOSENESS;
}

bool mlxcel_tolerance_parse(const char* text, uint32_t* out_ulp) {
  static const char prefix[] = "max-ulp(";
  *out_ulp = 0;
  if (!text || strcmp(text, "exact") == 0 || strcmp(text, "none") == 0) return true;
  if (strncmp(text, prefix, sizeof(prefix) - 1) != 0) return false;
  char* end = NULL;
  unsigned long value = strtoul(text + sizeof(prefix) - 1, &end, 10);
  if (end == text + sizeof(prefix) - 1 || strcmp(end, ")") != 0 || value == 0 || value > UINT32_MAX) return false;
  *out_ulp = (uint32_t)value;
  return true;
}

static void append_reason(mlxcel_claims_t* claims, const char* text) {
  size_t used = strlen(claims->reason);
  snprintf(claims->reason + used, sizeof(claims->reason) - used, "%s%s", used ? "; " : "", text);
}

static void decide_production(const mlxcel_claims_input_t* input, mlxcel_claims_t* claims) {
  char text[MLXCEL_CLAIM_REASON_BYTES];
  if (!input->reference) {
    snprintf(text, sizeof(text), "no reference: %s", input->reference_missing ? input->reference_missing : "not asked for");
    append_reason(claims, text);
  } else if (input->reference->mismatches) {
    snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " outputs differ from the reference", input->reference->mismatches, input->reference->outputs);
    append_reason(claims, text);
  } else {
    claims->earned[MLXCEL_CLAIM_PRODUCTION] = true;
  }
}

static void decide_canonical(const mlxcel_claims_input_t* input, mlxcel_claims_t* claims) {
  char text[MLXCEL_CLAIM_REASON_BYTES];
  if (!input->decomposition) {
    if (claims->earned[MLXCEL_CLAIM_PRODUCTION] || !input->decomposition_missing) return;
    snprintf(text, sizeof(text), "no evaluator of the declared decomposition: %s", input->decomposition_missing);
    append_reason(claims, text);
  } else if (input->decomposition->mismatches) {
    snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " outputs differ from the declared decomposition", input->decomposition->mismatches,
             input->decomposition->outputs);
    append_reason(claims, text);
  } else {
    claims->earned[MLXCEL_CLAIM_CANONICAL] = true;
  }
}

static void decide_closeness(const mlxcel_claims_input_t* input, mlxcel_claims_t* claims) {
  if (!input->reference) return;
  if (input->reference->mismatches == 0) {
    claims->earned[MLXCEL_CLAIM_CLOSENESS] = true;
    return;
  }
  claims->earned[MLXCEL_CLAIM_CLOSENESS] = input->tolerance_ulp > 0 && input->reference->row_excess <= 1;
  if (claims->earned[MLXCEL_CLAIM_CLOSENESS]) return;
  char text[MLXCEL_CLAIM_REASON_BYTES];
  if (input->tolerance_ulp == 0) {
    snprintf(text, sizeof(text), "the clause is exact: closeness isn't a claim of it");
  } else {
    snprintf(text, sizeof(text), "a row differs by %.3g times what the tolerance of %u ulp allows", input->reference->row_excess, input->tolerance_ulp);
  }
  append_reason(claims, text);
}

void mlxcel_claims_decide(const mlxcel_claims_input_t* input, mlxcel_claims_t* out_claims) {
  memset(out_claims, 0, sizeof(*out_claims));
  if (!input->repeats_agree) {
    append_reason(out_claims, "repeated calls gave different bits");
    return;
  }
  decide_production(input, out_claims);
  decide_canonical(input, out_claims);
  decide_closeness(input, out_claims);
  for (int claim = MLXCEL_CLAIM_NONE + 1; claim <= MLXCEL_CLAIM_PRODUCTION; ++claim) {
    if (out_claims->earned[claim]) out_claims->strongest = (mlxcel_claim_t)claim;
  }
}
