#include "contract/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/comma_locale.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// Fields whose values are texts.
static bool is_text(int field) { return field != MLXCEL_FIELD_OP && field != MLXCEL_FIELD_VARIANT && field != MLXCEL_FIELD_ALGORITHM_VERSION; }

static void set_field(mlxcel_clause_t* clause, int field, const char* value) {
  assert_true(iree_status_is_ok(mlxcel_clause_field_set(clause, (mlxcel_clause_field_t)field, value)));
}

static mlxcel_clause_t sample_clause(void) {
  return (mlxcel_clause_t){
      .op = MLXCEL_OP_QUANTIZED_MATMUL,
      .source_dtype = "affine-u4-g32-f16",
      .operand_dtype = "f32",
      .accumulator = "f32",
      .result_dtype = "f32",
      .rounding = "weight:fma-f32+product-sum:fma-f32+tree:f32",
      .association = "lanes(16,tree)",
      .dequantization = "fma-f32",
      .constants = "f32-nearest",
      .functions = "mlxcel-exp-1",
      .denormals = "keep",
      .algorithm = "sample_kernel",
      .algorithm_version = 1,
      .source_digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
      .tolerance = "exact",
      .derivation = "every-operation-and-its-order-is-stated",
      .representable = "yes",
  };
}

typedef struct finished_t {
  char* text;
  mlxcel_sha256_hex_t fingerprint;
} finished_t;

static finished_t finish(const char* profile, const mlxcel_clause_t* const* clauses, size_t count) {
  mlxcel_contract_t contract;
  mlxcel_contract_initialize(profile, &contract);
  for (size_t i = 0; i < count; ++i) assert_true(iree_status_is_ok(mlxcel_contract_add(&contract, clauses[i])));
  finished_t finished;
  assert_true(iree_status_is_ok(mlxcel_contract_finish(&contract, &finished.text, &finished.fingerprint)));
  mlxcel_contract_deinitialize(&contract);
  return finished;
}

static finished_t finish_one(const mlxcel_clause_t* clause) { return finish("pinned-f32", &clause, 1); }

static bool same_fingerprint(const finished_t* a, const finished_t* b) { return strcmp(a->fingerprint.text, b->fingerprint.text) == 0; }

// --- the text ----------------------------------------------------------------------------------------------------------------------------------

static const char golden_text[] =
    "mlxcel_contract=2\n"
    "profile=pinned-f32\n"
    "clauses=2\n"
    "clause=0\n"
    "op=kv-store\n"
    "variant=none\n"
    "source_dtype=none\n"
    "operand_dtype=none\n"
    "accumulator=none\n"
    "result_dtype=none\n"
    "rounding=none\n"
    "association=none\n"
    "dequantization=none\n"
    "constants=none\n"
    "functions=none\n"
    "denormals=none\n"
    "algorithm=none\n"
    "algorithm_version=0\n"
    "source_digest=none\n"
    "tolerance=none\n"
    "derivation=none\n"
    "representable=none\n"
    "clause=1\n"
    "op=quantized-matmul\n"
    "variant=none\n"
    "source_dtype=affine-u4-g32-f16\n"
    "operand_dtype=f32\n"
    "accumulator=f32\n"
    "result_dtype=f32\n"
    "rounding=weight:fma-f32+product-sum:fma-f32+tree:f32\n"
    "association=lanes(16,tree)\n"
    "dequantization=fma-f32\n"
    "constants=f32-nearest\n"
    "functions=mlxcel-exp-1\n"
    "denormals=keep\n"
    "algorithm=sample_kernel\n"
    "algorithm_version=1\n"
    "source_digest=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
    "tolerance=exact\n"
    "derivation=every-operation-and-its-order-is-stated\n"
    "representable=yes\n";
// sha256sum of the text above.
static const char golden_fingerprint[] = "b8372f71a13c693405e7902d807e2e03f9c4a40fa61755b670d223965fd3d2d9";

static finished_t finish_golden(void) {
  const mlxcel_clause_t sample = sample_clause(), store = {.op = MLXCEL_OP_KV_STORE};
  const mlxcel_clause_t* const clauses[] = {&sample, &store};
  return finish("pinned-f32", clauses, COUNT_OF(clauses));
}

// Fixed order of keys, LF, absent values as "none", clauses sorted; the fingerprint is its SHA-256. A change of either makes every artifact's contract a
// different one: it needs a new MLXCEL_CONTRACT_VERSION.
static void contract_text_and_fingerprint_are_those_of_version_2(void** state) {
  (void)state;
  finished_t finished = finish_golden();
  assert_string_equal(finished.text, golden_text);
  assert_string_equal(finished.fingerprint.text, golden_fingerprint);
  free(finished.text);
}

static void contract_absent_value_reads_none(void** state) {
  (void)state;
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    if (!is_text(i)) continue;
    mlxcel_clause_t absent = sample_clause(), none = sample_clause();
    set_field(&absent, i, NULL);
    set_field(&none, i, "none");
    finished_t a = finish_one(&absent), b = finish_one(&none);
    assert_string_equal(a.text, b.text);
    assert_true(same_fingerprint(&a, &b));
    free(a.text);
    free(b.text);
  }
}

// Every canonical line is a field with its name, in the order of the fields; what is set comes back.
static void contract_fields_are_the_lines_of_a_clause(void** state) {
  (void)state;
  const mlxcel_clause_t sample = sample_clause();
  mlxcel_clause_t copy = {0};
  mlxcel_strbuf_t text, lines;
  mlxcel_strbuf_initialize(&text);
  mlxcel_strbuf_initialize(&lines);
  mlxcel_clause_write(&sample, &text);
  char number[16];
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    const char* value = mlxcel_clause_field_get(&sample, field, number);
    mlxcel_strbuf_append_format(&lines, "%s=%s\n", mlxcel_clause_field_name(field), value);
    set_field(&copy, i, value);
    char copied[16];
    assert_string_equal(mlxcel_clause_field_get(&copy, field, copied), value);
  }
  assert_string_equal(text.data, lines.data);
  mlxcel_strbuf_deinitialize(&text);
  mlxcel_strbuf_deinitialize(&lines);
}

static void contract_field_refuses_names_and_numbers_it_does_not_know(void** state) {
  (void)state;
  static const struct {
    mlxcel_clause_field_t field;
    const char *value, *name;
  } wrong[] = {{MLXCEL_FIELD_OP, "rms_norm", "op:"},
               {MLXCEL_FIELD_VARIANT, "", "variant:"},
               {MLXCEL_FIELD_ALGORITHM_VERSION, "01", "algorithm_version:"},
               {MLXCEL_FIELD_ALGORITHM_VERSION, "-1", "algorithm_version:"},
               {MLXCEL_FIELD_ALGORITHM_VERSION, "", "algorithm_version:"},
               {MLXCEL_FIELD_ALGORITHM_VERSION, "99999999999", "algorithm_version:"}};
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    mlxcel_clause_t clause = sample_clause();
    iree_status_t status = mlxcel_clause_field_set(&clause, wrong[i].field, wrong[i].value);
    assert_true(iree_status_is_invalid_argument(status));
    char text[512];
    iree_host_size_t length = 0;
    iree_status_format(status, sizeof(text), text, &length);
    assert_non_null(strstr(text, wrong[i].name));
    iree_status_ignore(status);
  }
}

static void contract_without_clauses_has_a_text(void** state) {
  (void)state;
  finished_t finished = finish("pinned-f32", NULL, 0);
  assert_string_equal(finished.text, "mlxcel_contract=2\nprofile=pinned-f32\nclauses=0\n");
  free(finished.text);
}

// --- the fingerprint -----------------------------------------------------------------------------------------------------------------------------

static void contract_fingerprint_changes_with_every_field(void** state) {
  (void)state;
  const mlxcel_clause_t sample = sample_clause();
  finished_t original = finish_one(&sample);
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_t changed = sample;
    char value[128], number[16];
    snprintf(value, sizeof(value), "%sx", mlxcel_clause_field_get(&changed, (mlxcel_clause_field_t)i, number));
    set_field(&changed, i, i == MLXCEL_FIELD_OP ? "rope" : i == MLXCEL_FIELD_VARIANT ? "qmv" : is_text(i) ? value : "7");
    finished_t finished = finish_one(&changed);
    if (same_fingerprint(&finished, &original)) fail_msg("%s isn't part of the fingerprint", mlxcel_clause_field_name((mlxcel_clause_field_t)i));
    free(finished.text);
  }
  free(original.text);
}

static void contract_fingerprint_changes_with_op_version_and_profile(void** state) {
  (void)state;
  const mlxcel_clause_t sample = sample_clause();
  const mlxcel_clause_t* pointer = &sample;
  mlxcel_clause_t other_op = sample, other_version = sample;
  other_op.op = MLXCEL_OP_DENSE_MATMUL;
  other_version.algorithm_version = 2;
  finished_t variants[] = {finish_one(&sample),           finish_one(&other_op), finish_one(&other_version), finish("mlx-cpu-0.32.4", &pointer, 1),
                           finish("pinned-f32", NULL, 0), finish_golden()};
  for (size_t i = 0; i < COUNT_OF(variants); ++i) {
    for (size_t j = 0; j < i; ++j) assert_false(same_fingerprint(&variants[i], &variants[j]));
  }
  for (size_t i = 0; i < COUNT_OF(variants); ++i) free(variants[i].text);
}

// A value can't pass for the one beside it.
static void contract_swapped_values_are_another_contract(void** state) {
  (void)state;
  const mlxcel_clause_t sample = sample_clause();
  for (int i = 0; i + 1 < MLXCEL_FIELD_COUNT; ++i) {
    if (!is_text(i) || !is_text(i + 1)) continue;
    mlxcel_clause_t swapped = sample;
    set_field(&swapped, i, "p");
    set_field(&swapped, i + 1, "q");
    finished_t a = finish_one(&swapped);
    set_field(&swapped, i, "q");
    set_field(&swapped, i + 1, "p");
    finished_t b = finish_one(&swapped);
    assert_false(same_fingerprint(&a, &b));
    free(a.text);
    free(b.text);
  }
}

static void contract_is_the_set_of_its_clauses(void** state) {
  (void)state;
  enum { kCount = 40 };  // more than the first allocation
  mlxcel_clause_t clauses[kCount];
  const mlxcel_clause_t *forward[kCount], *backward[2 * kCount];
  for (uint32_t i = 0; i < kCount; ++i) {
    clauses[i] = sample_clause();
    clauses[i].algorithm_version = i;
    clauses[i].op = (mlxcel_op_class_t)(i % MLXCEL_OP_COUNT);
    forward[i] = &clauses[i];
    backward[kCount - 1 - i] = backward[kCount + (i * 7) % kCount] = &clauses[i];  // and every one twice
  }
  finished_t a = finish("pinned-f32", forward, kCount), b = finish("pinned-f32", backward, 2 * kCount);
  assert_string_equal(a.text, b.text);
  assert_true(same_fingerprint(&a, &b));
  assert_non_null(strstr(a.text, "\nclauses=40\n"));
  free(a.text);
  free(b.text);
}

static void contract_clauses_stand_in_ascending_order(void** state) {
  (void)state;
  finished_t finished = finish_golden();
  const char* store = strstr(finished.text, "op=kv-store");
  const char* matmul = strstr(finished.text, "op=quantized-matmul");
  assert_true(store && matmul && store < matmul);
  free(finished.text);
}

static void contract_text_ignores_the_locale(void** state) {
  (void)state;
  if (!test_comma_locale_enter()) skip();
  mlxcel_clause_t sample = sample_clause();
  sample.algorithm_version = 1234567;
  finished_t finished = finish_one(&sample), golden = finish_golden();
  test_comma_locale_leave();
  assert_non_null(strstr(finished.text, "\nalgorithm_version=1234567\n"));
  assert_string_equal(golden.fingerprint.text, golden_fingerprint);
  free(finished.text);
  free(golden.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contract_text_and_fingerprint_are_those_of_version_2),
      cmocka_unit_test(contract_absent_value_reads_none),
      cmocka_unit_test(contract_without_clauses_has_a_text),
      cmocka_unit_test(contract_fields_are_the_lines_of_a_clause),
      cmocka_unit_test(contract_field_refuses_names_and_numbers_it_does_not_know),
      cmocka_unit_test(contract_fingerprint_changes_with_every_field),
      cmocka_unit_test(contract_fingerprint_changes_with_op_version_and_profile),
      cmocka_unit_test(contract_swapped_values_are_another_contract),
      cmocka_unit_test(contract_is_the_set_of_its_clauses),
      cmocka_unit_test(contract_clauses_stand_in_ascending_order),
      cmocka_unit_test(contract_text_ignores_the_locale),
  };
  return cmocka_run_group_tests_name("contract", tests, NULL, NULL);
}
