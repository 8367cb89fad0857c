// claims.h: what a comparison is worth.
//
// A row may earn several claims; the strongest is reported, and the row passes if it is at least what its profile needs:
//   production-mlx@<reference>   no bit differs from the reference's result, and repeats agree
//   canonical-decomposition      no bit differs from the declared decomposition, computed by other code, and repeats agree
//   mathematical-closeness       every row is within the clause's tolerance (vocabulary.h has its definition); a clause of tolerance `exact` knows no closeness
//                                short of equality
#ifndef MLXCEL_ORACLE_CLAIMS_H_
#define MLXCEL_ORACLE_CLAIMS_H_

#include "contract/profiles.h"
#include "oracle/compare.h"
#include "qualify/evidence.h"

#define MLXCEL_CLAIM_REASON_BYTES 512

typedef struct mlxcel_claims_input_t {
  bool repeats_agree;
  const mlxcel_comparison_t* reference;  // NULL: the reference gave no result; |reference_missing| says why
  const char* reference_missing;
  const mlxcel_comparison_t* decomposition;  // NULL: not evaluated; |decomposition_missing| says why
  const char* decomposition_missing;
  uint32_t tolerance_ulp;  // 0 = exact
} mlxcel_claims_input_t;

typedef struct mlxcel_claims_t {
  bool earned[MLXCEL_CLAIM_PRODUCTION + 1];  // by mlxcel_claim_t
  mlxcel_claim_t strongest;
  char reason[MLXCEL_CLAIM_REASON_BYTES];  // why nothing stronger was earned; "" for production
} mlxcel_claims_t;

// What |profile| needs before it may run anything.
mlxcel_claim_t mlxcel_claim_needed(const mlxcel_profile_t* profile);
void mlxcel_claims_decide(const mlxcel_claims_input_t* input, mlxcel_claims_t* out_claims);

// "exact" or "none": 0; "max-ulp(12)": 12. false: neither.
bool mlxcel_tolerance_parse(const char* text, uint32_t* out_ulp);

#endif  // MLXCEL_ORACLE_CLAIMS_H_
