#include "contract/vocabulary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/contract_test_util.h"

static void assert_legal(mlxcel_clause_field_t field, const char* value) { test_require_ok(mlxcel_vocabulary_check(field, iree_make_cstring_view(value))); }

// The message names field and |wrong|.
static void assert_illegal(mlxcel_clause_field_t field, const char* value, const char* wrong) {
  test_message_t message = test_message_of(mlxcel_vocabulary_check(field, iree_make_cstring_view(value)), IREE_STATUS_INVALID_ARGUMENT);
  if (!strstr(message.text, mlxcel_clause_field_name(field)) || !strstr(message.text, wrong)) fail_msg("%s names neither field nor value", message.text);
}

static void vocabulary_takes_words_of_its_lists_only(void** state) {
  (void)state;
  assert_legal(MLXCEL_FIELD_OP, "rms-norm");
  assert_illegal(MLXCEL_FIELD_OP, "rms_norm", "\"rms_norm\"");
  assert_legal(MLXCEL_FIELD_VARIANT, "qmv");
  assert_illegal(MLXCEL_FIELD_VARIANT, "QMV", "\"QMV\"");
  assert_legal(MLXCEL_FIELD_OPERAND_DTYPE, "bf16");
  assert_illegal(MLXCEL_FIELD_OPERAND_DTYPE, "f64", "\"f64\"");
  assert_illegal(MLXCEL_FIELD_RESULT_DTYPE, "", "\"\"");
  assert_illegal(MLXCEL_FIELD_DENORMALS, "keep ", "\"keep \"");
  assert_legal(MLXCEL_FIELD_TOLERANCE, "max-ulp(4)");
  assert_illegal(MLXCEL_FIELD_TOLERANCE, "max-ulp(3)", "max-ulp(3)");
  assert_legal(MLXCEL_FIELD_DERIVATION, "fma-contraction+iree-polynomials");
  assert_illegal(MLXCEL_FIELD_DERIVATION, "iree-polynomials+fma-contraction", "iree-polynomials+");
  assert_legal(MLXCEL_FIELD_REPRESENTABLE, "no:cudnn-plan");
  assert_illegal(MLXCEL_FIELD_REPRESENTABLE, "no", "\"no\"");
}

static void vocabulary_takes_parts_with_known_stages_and_words(void** state) {
  (void)state;
  assert_legal(MLXCEL_FIELD_ROUNDING, "none");
  assert_legal(MLXCEL_FIELD_ROUNDING, "product:f32+fma-f32");
  assert_legal(MLXCEL_FIELD_ASSOCIATION, "scores:lanes(16,tree)+blocks(64,absolute):lanes(16,tree)+values:sequential");
  assert_legal(MLXCEL_FIELD_CONSTANTS, "angle:f64+cos-sin:f64-to-f32");
  assert_legal(MLXCEL_FIELD_FUNCTIONS, "host-table(cos,sin)+ieee-div");
  assert_legal(MLXCEL_FIELD_ACCUMULATOR, "slots:bf16+lanes:f32");
  assert_legal(MLXCEL_FIELD_ALGORITHM, "stablehlo:reduce+stablehlo:elementwise");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "product:f32+sum:f31", "\"sum:f31\"");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "product:f32+soom:f32", "\"soom:f32\"");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "product:f32++sum:f32", "\"\" of");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "+sum:f32", "\"\" of");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "sum:f32+", "\"\" of");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "sum:f32+none", "\"none\"");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "sum:sum:f32", "\"sum:sum:f32\"");
  assert_illegal(MLXCEL_FIELD_ROUNDING, ":f32", "\":f32\"");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "sum:", "\"sum:\"");
  assert_illegal(MLXCEL_FIELD_ROUNDING, "", "\"\"");
  assert_illegal(MLXCEL_FIELD_ASSOCIATION, "lanes(12,tree)", "lanes(12,tree)");
  assert_illegal(MLXCEL_FIELD_FUNCTIONS, "exp", "\"exp\"");
  assert_illegal(MLXCEL_FIELD_FUNCTIONS, "sum:ieee-div", "\"sum:ieee-div\"");
  assert_illegal(MLXCEL_FIELD_ALGORITHM, "mlxcel_pinned_matmul2", "mlxcel_pinned_matmul2");
}

static void vocabulary_takes_source_types_of_known_widths_and_groups(void** state) {
  (void)state;
  static const char* const legal[] = {"none", "f32", "bf16+bias-f32", "affine-u2-g128-f16", "affine-u8-g32-bf16+bias-bf16"};
  static const char* const illegal[] = {"affine-u7-g64-f16",
                                        "affine-u4-g16-f16",
                                        "affine-u4-g64",
                                        "affine-u04-g64-f16",
                                        "f32+bias-",
                                        "f32+bias-f64",
                                        "none+bias-f32",
                                        "u8",
                                        "affine-u4-g64-f16+bias-f32+bias-f32"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(legal); ++i) assert_legal(MLXCEL_FIELD_SOURCE_DTYPE, legal[i]);
  for (size_t i = 0; i < IREE_ARRAYSIZE(illegal); ++i) assert_illegal(MLXCEL_FIELD_SOURCE_DTYPE, illegal[i], illegal[i]);
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void vocabulary_takes_versions_and_digests_in_one_spelling(void** state) {
  (void)state;
  assert_legal(MLXCEL_FIELD_ALGORITHM_VERSION, "1");
  assert_legal(MLXCEL_FIELD_ALGORITHM_VERSION, "99");
  static const char* const versions[] = {"0", "01", "100", "-1", "1 ", "one", ""};
  for (size_t i = 0; i < IREE_ARRAYSIZE(versions); ++i) assert_illegal(MLXCEL_FIELD_ALGORITHM_VERSION, versions[i], versions[i]);
  assert_legal(MLXCEL_FIELD_SOURCE_DIGEST, "none");
  assert_legal(MLXCEL_FIELD_SOURCE_DIGEST, DIGEST);
  assert_legal(MLXCEL_FIELD_SOURCE_DIGEST, DIGEST "+" DIGEST "+" DIGEST);
  assert_illegal(MLXCEL_FIELD_SOURCE_DIGEST, DIGEST "+" DIGEST "+" DIGEST "+" DIGEST, DIGEST);
  assert_illegal(MLXCEL_FIELD_SOURCE_DIGEST, DIGEST "+", DIGEST);
  assert_illegal(MLXCEL_FIELD_SOURCE_DIGEST, DIGEST "0" DIGEST, DIGEST);
  assert_illegal(MLXCEL_FIELD_SOURCE_DIGEST, DIGEST "0", DIGEST);
  assert_illegal(MLXCEL_FIELD_SOURCE_DIGEST, "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "ABCDEF");
  assert_illegal(MLXCEL_FIELD_SOURCE_DIGEST, "g123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "g123");
}

static void vocabulary_refuses_huge_values(void** state) {
  (void)state;
  char value[2 * MLXCEL_CLAUSE_VALUE_BYTES_MAX];
  memset(value, 'x', sizeof(value));
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    test_message_t message = test_message_of(mlxcel_vocabulary_check(field, iree_make_string_view(value, sizeof(value))), IREE_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(message.text, mlxcel_clause_field_name(field)));
    assert_true(strlen(message.text) < MLXCEL_CLAUSE_VALUE_BYTES_MAX);
  }
}

//===- Alternatives -----------------------------------------------------------------------------------------------------------------------------------===//

typedef struct collection_t {
  mlxcel_clause_field_t field;
  const char* value;
  size_t count;
  char* items[512];
} collection_t;

static iree_status_t collect(void* user_data, const char* value) {
  collection_t* collection = user_data;
  assert_true(collection->count < IREE_ARRAYSIZE(collection->items));
  collection->items[collection->count++] = strdup(value);
  return iree_ok_status();
}

static void collection_make(mlxcel_clause_field_t field, const char* value, collection_t* out_collection) {
  *out_collection = (collection_t){.field = field, .value = value};
  test_require_ok(mlxcel_vocabulary_alternatives(field, iree_make_cstring_view(value), collect, out_collection));
}
static bool collection_has(const collection_t* collection, const char* value) {
  for (size_t i = 0; i < collection->count; ++i) {
    if (strcmp(collection->items[i], value) == 0) return true;
  }
  return false;
}
static void collection_free(collection_t* collection) {
  for (size_t i = 0; i < collection->count; ++i) free(collection->items[i]);
}

// Legal, different from the value, each once, at least one.
static void check_collection(const collection_t* collection) {
  if (collection->count == 0) fail_msg("%s: \"%s\" has no alternatives", mlxcel_clause_field_name(collection->field), collection->value);
  for (size_t i = 0; i < collection->count; ++i) {
    assert_legal(collection->field, collection->items[i]);
    assert_string_not_equal(collection->items[i], collection->value);
    for (size_t j = 0; j < i; ++j) {
      if (strcmp(collection->items[i], collection->items[j]) == 0) {
        fail_msg("%s: \"%s\" is offered twice for \"%s\"", mlxcel_clause_field_name(collection->field), collection->items[i], collection->value);
      }
    }
  }
}

typedef struct seen_t {
  size_t count;
  char* values[512];
} seen_t;

static bool seen_before(seen_t* seen, const char* value) {
  for (size_t i = 0; i < seen->count; ++i) {
    if (strcmp(seen->values[i], value) == 0) return true;
  }
  assert_true(seen->count < IREE_ARRAYSIZE(seen->values));
  seen->values[seen->count++] = strdup(value);
  return false;
}

static iree_status_t check_clause_alternatives(void* user_data, const mlxcel_operation_t* operation, const mlxcel_clause_t* clause) {
  (void)operation;
  seen_t* seen = user_data;
  char number[16];
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    const char* value = mlxcel_clause_field_get(clause, field, number);
    if (seen_before(&seen[i], value)) continue;
    collection_t collection;
    collection_make(field, value, &collection);
    check_collection(&collection);
    collection_free(&collection);
  }
  return iree_ok_status();
}

static void vocabulary_offers_legal_alternatives_for_every_value_of_every_profile(void** state) {
  (void)state;
  static seen_t seen[MLXCEL_FIELD_COUNT];
  for (size_t i = 0; mlxcel_profile_at(i); ++i) test_require_ok(mlxcel_profile_visit(mlxcel_profile_at(i), check_clause_alternatives, seen));
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    for (size_t j = 0; j < seen[i].count; ++j) free(seen[i].values[j]);
  }
}

static void vocabulary_changes_parts_drops_and_exchanges_them(void** state) {
  (void)state;
  collection_t rounding;
  collection_make(MLXCEL_FIELD_ROUNDING, "product:f32+sum:f32+result:bf16", &rounding);
  check_collection(&rounding);
  assert_true(collection_has(&rounding, "product:bf16+sum:f32+result:bf16"));
  assert_true(collection_has(&rounding, "product:f32+sum:fma-f32+result:bf16"));
  assert_true(collection_has(&rounding, "product:f32+sum:f32+result:f16"));
  assert_true(collection_has(&rounding, "sum:f32+result:bf16"));
  assert_true(collection_has(&rounding, "product:f32+result:bf16"));
  assert_true(collection_has(&rounding, "product:f32+sum:f32"));
  assert_true(collection_has(&rounding, "sum:f32+product:f32+result:bf16"));
  assert_true(collection_has(&rounding, "product:f32+result:bf16+sum:f32"));
  collection_free(&rounding);
  collection_t single;
  collection_make(MLXCEL_FIELD_ASSOCIATION, "sequential", &single);
  check_collection(&single);
  assert_true(collection_has(&single, "none"));
  assert_true(collection_has(&single, "lanes(16,tree)"));
  collection_free(&single);
}

static void vocabulary_changes_source_types_by_one_step(void** state) {
  (void)state;
  collection_t affine;
  collection_make(MLXCEL_FIELD_SOURCE_DTYPE, "affine-u4-g64-bf16", &affine);
  check_collection(&affine);
  static const char* const expected[] = {"affine-u8-g64-bf16", "affine-u4-g32-bf16", "affine-u4-g64-f16", "affine-u4-g64-bf16+bias-f32", "bf16"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(expected); ++i) assert_true(collection_has(&affine, expected[i]));
  assert_false(collection_has(&affine, "affine-u8-g32-bf16"));
  assert_false(collection_has(&affine, "none"));
  collection_free(&affine);
  collection_t none;
  collection_make(MLXCEL_FIELD_SOURCE_DTYPE, "none", &none);
  check_collection(&none);
  assert_int_equal(none.count, 3);
  collection_free(&none);
}

static void vocabulary_changes_numbers_and_digests(void** state) {
  (void)state;
  collection_t version, last, digest;
  collection_make(MLXCEL_FIELD_ALGORITHM_VERSION, "1", &version);
  assert_int_equal(version.count, 1);
  assert_true(collection_has(&version, "2"));
  collection_make(MLXCEL_FIELD_ALGORITHM_VERSION, "99", &last);
  assert_int_equal(last.count, 1);
  assert_true(collection_has(&last, "98"));
  collection_make(MLXCEL_FIELD_SOURCE_DIGEST, DIGEST, &digest);
  check_collection(&digest);
  assert_true(collection_has(&digest, "none"));
  assert_int_equal(digest.count, 3);
  collection_t joined;
  collection_make(MLXCEL_FIELD_SOURCE_DIGEST, DIGEST "+" DIGEST "+" DIGEST, &joined);
  check_collection(&joined);
  assert_int_equal(joined.count, 3);
  collection_free(&joined);
  collection_free(&version);
  collection_free(&last);
  collection_free(&digest);
}

static iree_status_t refuse(void* user_data, const char* value) {
  (void)value;
  ++*(int*)user_data;
  return iree_make_status(IREE_STATUS_ABORTED, "stop");
}

static void vocabulary_stops_at_the_first_failure_and_needs_a_legal_value(void** state) {
  (void)state;
  static const char* const values[MLXCEL_FIELD_COUNT] = {"rope", "half", "f32",  "f32",  "f32", "f32",  "sum:f32", "sequential", "none",
                                                         "none", "none", "keep", "none", "1",   DIGEST, "exact",   "opaque",     "yes"};
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    int calls = 0;
    iree_status_t status = mlxcel_vocabulary_alternatives((mlxcel_clause_field_t)i, iree_make_cstring_view(values[i]), refuse, &calls);
    assert_int_equal(iree_status_code(status), IREE_STATUS_ABORTED);
    iree_status_ignore(status);
    assert_int_equal(calls, 1);
    status = mlxcel_vocabulary_alternatives((mlxcel_clause_field_t)i, iree_make_cstring_view("no such word"), refuse, &calls);
    assert_true(iree_status_is_invalid_argument(status));
    iree_status_ignore(status);
    assert_int_equal(calls, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vocabulary_takes_words_of_its_lists_only),
      cmocka_unit_test(vocabulary_takes_parts_with_known_stages_and_words),
      cmocka_unit_test(vocabulary_takes_source_types_of_known_widths_and_groups),
      cmocka_unit_test(vocabulary_takes_versions_and_digests_in_one_spelling),
      cmocka_unit_test(vocabulary_refuses_huge_values),
      cmocka_unit_test(vocabulary_offers_legal_alternatives_for_every_value_of_every_profile),
      cmocka_unit_test(vocabulary_changes_parts_drops_and_exchanges_them),
      cmocka_unit_test(vocabulary_changes_source_types_by_one_step),
      cmocka_unit_test(vocabulary_changes_numbers_and_digests),
      cmocka_unit_test(vocabulary_stops_at_the_first_failure_and_needs_a_legal_value),
  };
  return cmocka_run_group_tests_name("vocabulary", tests, NULL, NULL);
}
