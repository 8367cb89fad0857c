// Claims: nothing is earned that wasn't shown, and the report says why.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/claims.h"

static const mlxcel_comparison_t equal = {.outputs = 100, .max_magnitude = 1.0};
static const mlxcel_comparison_t close_by = {.outputs = 100, .mismatches = 3, .max_abs = 0x1p-22, .max_magnitude = 1.0, .row_excess = 0.5};
static const mlxcel_comparison_t far_off = {.outputs = 100, .mismatches = 3, .max_abs = 0.5, .max_magnitude = 1.0, .row_excess = 1000};

static mlxcel_claims_t decide(const mlxcel_comparison_t* reference, const mlxcel_comparison_t* decomposition, uint32_t tolerance, bool repeats_agree) {
  const mlxcel_claims_input_t input = {.repeats_agree = repeats_agree,
                                       .reference = reference,
                                       .reference_missing = "the program isn't there",
                                       .decomposition = decomposition,
                                       .decomposition_missing = "no model",
                                       .tolerance_ulp = tolerance};
  mlxcel_claims_t claims;
  mlxcel_claims_decide(&input, &claims);
  return claims;
}

static void equality_with_the_reference_earns_production_and_closeness(void** state) {
  (void)state;
  mlxcel_claims_t claims = decide(&equal, NULL, 0, true);
  assert_int_equal(claims.strongest, MLXCEL_CLAIM_PRODUCTION);
  assert_true(claims.earned[MLXCEL_CLAIM_CLOSENESS]);
  assert_false(claims.earned[MLXCEL_CLAIM_CANONICAL]);
  assert_string_equal(claims.reason, "");
}

static void the_declared_decomposition_earns_canonical_whatever_the_reference_says(void** state) {
  (void)state;
  mlxcel_claims_t claims = decide(&far_off, &equal, 0, true);
  assert_int_equal(claims.strongest, MLXCEL_CLAIM_CANONICAL);
  assert_non_null(strstr(claims.reason, "3 of 100 outputs differ from the reference"));
  assert_non_null(strstr(claims.reason, "exact"));
  claims = decide(NULL, &equal, 0, true);
  assert_int_equal(claims.strongest, MLXCEL_CLAIM_CANONICAL);
  assert_non_null(strstr(claims.reason, "the program isn't there"));
}

static void closeness_is_being_within_the_bound(void** state) {
  (void)state;
  assert_int_equal(decide(&close_by, NULL, 2, true).strongest, MLXCEL_CLAIM_CLOSENESS);
  mlxcel_claims_t claims = decide(&far_off, NULL, 2, true);
  assert_int_equal(claims.strongest, MLXCEL_CLAIM_NONE);
  assert_non_null(strstr(claims.reason, "what the tolerance of 2 ulp allows"));
}

static void an_exact_clause_knows_no_closeness(void** state) {
  (void)state;
  mlxcel_claims_t claims = decide(&close_by, &far_off, 0, true);
  assert_int_equal(claims.strongest, MLXCEL_CLAIM_NONE);
  assert_non_null(strstr(claims.reason, "differ from the declared decomposition"));
}

static void repeats_that_disagree_earn_nothing(void** state) {
  (void)state;
  mlxcel_claims_t claims = decide(&equal, &equal, 8, false);
  assert_int_equal(claims.strongest, MLXCEL_CLAIM_NONE);
  for (int claim = 0; claim <= MLXCEL_CLAIM_PRODUCTION; ++claim) assert_false(claims.earned[claim]);
  assert_non_null(strstr(claims.reason, "different bits"));
}

static void a_nan_on_one_side_is_never_close(void** state) {
  (void)state;
  const mlxcel_comparison_t comparison = {.outputs = 100, .mismatches = 1, .max_abs = INFINITY, .max_magnitude = 1.0, .row_excess = INFINITY};
  assert_int_equal(decide(&comparison, NULL, UINT32_MAX, true).strongest, MLXCEL_CLAIM_NONE);
}

static void each_profile_needs_its_own_claim(void** state) {
  (void)state;
  assert_int_equal(mlxcel_claim_needed(mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_PINNED_F32))), MLXCEL_CLAIM_CANONICAL);
  assert_int_equal(mlxcel_claim_needed(mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_MLX_CPU))), MLXCEL_CLAIM_PRODUCTION);
  assert_int_equal(mlxcel_claim_needed(mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_IREE_CANONICAL))), MLXCEL_CLAIM_CLOSENESS);
  assert_int_equal(mlxcel_claim_needed(mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_MLX_CUDA_SM80))), MLXCEL_CLAIM_PRODUCTION);
}

static void tolerances_are_read_strictly(void** state) {
  (void)state;
  uint32_t ulp = 7;
  assert_true(mlxcel_tolerance_parse("exact", &ulp));
  assert_int_equal(ulp, 0);
  assert_true(mlxcel_tolerance_parse("max-ulp(12)", &ulp));
  assert_int_equal(ulp, 12);
  static const char* const bad[] = {"max-ulp()", "max-ulp(0)", "max-ulp(12", "max-ulp(12) ", "max-ulp(-1)", "12", "max-ulp(99999999999)"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) assert_false(mlxcel_tolerance_parse(bad[i], &ulp));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equality_with_the_reference_earns_production_and_closeness),
      cmocka_unit_test(the_declared_decomposition_earns_canonical_whatever_the_reference_says),
      cmocka_unit_test(closeness_is_being_within_the_bound),
      cmocka_unit_test(an_exact_clause_knows_no_closeness),
      cmocka_unit_test(repeats_that_disagree_earn_nothing),
      cmocka_unit_test(a_nan_on_one_side_is_never_close),
      cmocka_unit_test(each_profile_needs_its_own_claim),
      cmocka_unit_test(tolerances_are_read_strictly),
  };
  return cmocka_run_group_tests_name("claims", tests, NULL, NULL);
}
