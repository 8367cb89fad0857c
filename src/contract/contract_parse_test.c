#include "contract/contract_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/contract_test_util.h"
#include "contract/vocabulary.h"

// Two clauses: an RMSNorm and a quantized matmul of the reference profile.
static char* sample_text(void) {
  static const mlxcel_operation_t operations[] = {
      {.op = MLXCEL_OP_QUANTIZED_MATMUL, .dtype = MLXCEL_DTYPE_BF16, .weight_dtype = MLXCEL_DTYPE_BF16, .bits = 4, .group_size = 64},
      {.op = MLXCEL_OP_RMS_NORM, .variant = MLXCEL_VARIANT_PLAIN, .dtype = MLXCEL_DTYPE_BF16, .weight_dtype = MLXCEL_DTYPE_BF16},
  };
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(MLXCEL_PROFILE_MLX_CPU));
  mlxcel_contract_t contract;
  mlxcel_contract_initialize(profile->name, &contract);
  for (size_t i = 0; i < IREE_ARRAYSIZE(operations); ++i) {
    mlxcel_clause_storage_t storage;
    test_require_ok(mlxcel_profile_clause(profile, &operations[i], &storage));
    storage.clause.source_digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    test_require_ok(mlxcel_contract_add(&contract, &storage.clause));
  }
  char* text = NULL;
  mlxcel_sha256_hex_t fingerprint;
  test_require_ok(mlxcel_contract_finish(&contract, &text, &fingerprint));
  mlxcel_contract_deinitialize(&contract);
  return text;
}

// |text| with the first |from| after |behind| replaced by |to|; freed by the caller.
static char* replaced(const char* text, const char* behind, const char* from, const char* to) {
  const char* start = strstr(text, behind);
  assert_non_null(start);
  const char* place = strstr(start, from);
  assert_non_null(place);
  size_t size = strlen(text) - strlen(from) + strlen(to) + 1;
  char* result = malloc(size);
  assert_non_null(result);
  snprintf(result, size, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
  return result;
}

static test_message_t parse_message(const char* text, iree_status_code_t code) {
  mlxcel_parsed_contract_t parsed;
  test_message_t message = test_message_of(mlxcel_contract_parse(iree_make_cstring_view(text), "sample.txt", &parsed), code);
  assert_null(parsed.text);
  assert_null(parsed.clauses);
  if (!strstr(message.text, "sample.txt")) fail_msg("%s doesn't name its origin", message.text);
  return message;
}

static void assert_rejected(const char* text, iree_status_code_t code, const char* key, const char* why) {
  test_message_t message = parse_message(text, code);
  if (!strstr(message.text, key) || !strstr(message.text, why)) fail_msg("\"%s\" doesn't say %s: %s", message.text, key, why);
}

static void contract_parse_reads_what_was_written(void** state) {
  (void)state;
  char* text = sample_text();
  mlxcel_parsed_contract_t parsed;
  test_require_ok(mlxcel_contract_parse(iree_make_cstring_view(text), "sample.txt", &parsed));
  assert_int_equal(parsed.version, MLXCEL_CONTRACT_VERSION);
  assert_string_equal(parsed.profile, MLXCEL_PROFILE_MLX_CPU);
  assert_int_equal(parsed.clause_count, 2);
  assert_int_equal(parsed.clauses[0].op, MLXCEL_OP_QUANTIZED_MATMUL);
  assert_int_equal(parsed.clauses[1].variant, MLXCEL_VARIANT_PLAIN);
  assert_string_equal(parsed.clauses[0].source_dtype, "affine-u4-g64-bf16");
  assert_string_equal(parsed.clauses[1].constants, "f32-nearest");
  mlxcel_parsed_contract_deinitialize(&parsed);
  assert_null(parsed.text);
  free(text);
}

static void contract_parse_takes_a_contract_without_clauses(void** state) {
  (void)state;
  mlxcel_parsed_contract_t parsed;
  test_require_ok(mlxcel_contract_parse(iree_make_cstring_view("mlxcel_contract=2\nprofile=pinned-f32\nclauses=0\n"), "sample.txt", &parsed));
  assert_int_equal(parsed.clause_count, 0);
  mlxcel_parsed_contract_deinitialize(&parsed);
}

//===- The rejection table ----------------------------------------------------------------------------------------------------------------------------===//

static void contract_parse_rejects_other_versions_by_name(void** state) {
  (void)state;
  char* text = sample_text();
  static const struct {
    const char* version;
    iree_status_code_t code;
    const char* why;
  } versions[] = {{"1", IREE_STATUS_FAILED_PRECONDITION, "older"},       {"0", IREE_STATUS_FAILED_PRECONDITION, "older"},
                  {"3", IREE_STATUS_FAILED_PRECONDITION, "newer"},       {"999999999", IREE_STATUS_FAILED_PRECONDITION, "newer"},
                  {"02", IREE_STATUS_DATA_LOSS, "is no number"},         {"two", IREE_STATUS_DATA_LOSS, "is no number"},
                  {"", IREE_STATUS_DATA_LOSS, "is no number"},           {"-2", IREE_STATUS_DATA_LOSS, "is no number"},
                  {"99999999999", IREE_STATUS_DATA_LOSS, "is no number"}};
  for (size_t i = 0; i < IREE_ARRAYSIZE(versions); ++i) {
    char line[64];
    snprintf(line, sizeof(line), "mlxcel_contract=%s\n", versions[i].version);
    char* other = replaced(text, "mlxcel_contract", "mlxcel_contract=2\n", line);
    assert_rejected(other, versions[i].code, "mlxcel_contract", versions[i].why);
    free(other);
  }
  free(text);
}

// A text of version 1 is refused for its version, not for the keys that it lacks.
static void contract_parse_rejects_a_whole_text_of_version_1_as_older(void** state) {
  (void)state;
  assert_rejected(
      "mlxcel_contract=1\nprofile=pinned-f32\nclauses=1\nclause=0\nop=kv-store\nsource_dtype=none\noperand_dtype=f32\naccumulator=none\nresult_dtype=f32\n"
      "rounding=none\nassociation=none\ndequantization=none\nconstants=none\nfunctions=none\ndenormals=keep\nalgorithm=mlxcel_pinned_qkv_rope\n"
      "algorithm_version=1\nsource_digest=none\ntolerance=exact\nderivation=every-operation-and-its-order-is-stated\n",
      IREE_STATUS_FAILED_PRECONDITION, "mlxcel_contract", "version 1 is older");
}

static const char* const head_keys[] = {"mlxcel_contract", "profile", "clauses"};
#define KEY_COUNT (3 + 1 + MLXCEL_FIELD_COUNT)

// All keys of a text in order: of the head, "clause", of a clause.
static const char* key_at(int i) { return i < 3 ? head_keys[i] : i == 3 ? "clause" : mlxcel_clause_field_name((mlxcel_clause_field_t)(i - 4)); }

// The line of key |i| in the first clause, with its newline.
static void line_of(const char* text, int i, char line[1024]) {
  char start[64];
  snprintf(start, sizeof(start), "%s%s=", i == 0 ? "" : "\n", key_at(i));
  const char* found = i == 0 ? text : strstr(text, start);
  assert_non_null(found);
  found += i == 0 ? 0 : 1;
  snprintf(line, 1024, "%.*s", (int)(strchr(found, '\n') - found + 1), found);
}

static void contract_parse_names_the_missing_key(void** state) {
  (void)state;
  char* text = sample_text();
  for (int i = 0; i < KEY_COUNT; ++i) {
    char line[1024];
    line_of(text, i, line);
    char* other = replaced(text, line, line, "");
    assert_rejected(other, IREE_STATUS_DATA_LOSS, key_at(i), i == 3 ? "missing: op" : "missing");
    free(other);
  }
  free(text);
}

static void contract_parse_names_the_repeated_key(void** state) {
  (void)state;
  char* text = sample_text();
  for (int i = 0; i < KEY_COUNT; ++i) {
    char line[1024], twice[2048];
    line_of(text, i, line);
    snprintf(twice, sizeof(twice), "%s%s", line, line);
    char* other = replaced(text, line, line, twice);
    // Behind "clause=0" a second one takes the place of op, behind the last key the next clause is expected.
    assert_rejected(other, IREE_STATUS_DATA_LOSS, key_at(i), i == 3 ? "op: missing" : i == KEY_COUNT - 1 ? "in its place" : "repeated");
    free(other);
  }
  free(text);
}

static void contract_parse_names_the_unknown_key(void** state) {
  (void)state;
  char* text = sample_text();
  for (int i = 0; i < KEY_COUNT; ++i) {
    char line[1024], both[2048];
    line_of(text, i, line);
    snprintf(both, sizeof(both), "speed=fast\n%s", line);
    char* other = replaced(text, line, line, both);
    assert_rejected(other, IREE_STATUS_DATA_LOSS, key_at(i), "unknown key \"speed\"");
    free(other);
  }
  free(text);
}

static void contract_parse_names_the_key_out_of_order(void** state) {
  (void)state;
  char* text = sample_text();
  for (int i = 4; i + 1 < KEY_COUNT; ++i) {
    char first[1024], second[1024], both[2048], exchanged[2048];
    line_of(text, i, first);
    line_of(text, i + 1, second);
    snprintf(both, sizeof(both), "%s%s", first, second);
    snprintf(exchanged, sizeof(exchanged), "%s%s", second, first);
    char* other = replaced(text, both, both, exchanged);
    assert_rejected(other, IREE_STATUS_DATA_LOSS, key_at(i), "out of order");
    free(other);
  }
  free(text);
}

static void contract_parse_names_the_key_of_a_malformed_line(void** state) {
  (void)state;
  char* text = sample_text();
  static const struct {
    const char *before, *after, *why;
  } faults[] = {{"=", " ", "expected"}, {"\n", "\r\n", "carriage return"}, {"\n", " \n", "trailing blanks"}, {"\n", "\t\n", "trailing blanks"}};
  for (int i = 0; i < KEY_COUNT; ++i) {
    for (size_t f = 0; f < IREE_ARRAYSIZE(faults); ++f) {
      char line[1024];
      line_of(text, i, line);
      char* other = replaced(text, line, faults[f].before, faults[f].after);
      assert_rejected(other, IREE_STATUS_DATA_LOSS, key_at(i), faults[f].why);
      free(other);
    }
  }
  free(text);
}

static void contract_parse_names_the_field_of_a_foreign_value(void** state) {
  (void)state;
  char* text = sample_text();
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    const char* name = mlxcel_clause_field_name((mlxcel_clause_field_t)i);
    char line[1024], other_line[128];
    line_of(text, i + 4, line);
    static const char* const values[] = {"mystery", "", "none+none"};
    for (size_t v = 0; v < IREE_ARRAYSIZE(values); ++v) {
      snprintf(other_line, sizeof(other_line), "%s=%s\n", name, values[v]);
      char* other = replaced(text, line, line, other_line);
      assert_rejected(other, IREE_STATUS_DATA_LOSS, name, "isn't in its closed set");
      free(other);
    }
  }
  free(text);
}

static void contract_parse_rejects_structure_faults(void** state) {
  (void)state;
  char* text = sample_text();
  static const struct {
    const char *behind, *from, *to, *key, *why;
  } faults[] = {
      {"profile", "mlx-cpu-0.32.4", "mlx-cpu-0.32.5", "profile", "is no profile"},
      {"clauses", "clauses=2", "clauses=1", "clauses", "there are more"},
      {"clauses", "clauses=2", "clauses=3", "clause", "missing: the text ends"},
      {"clauses", "clauses=2", "clauses=500000000", "clauses", "can't hold"},
      {"clauses", "clauses=2", "clauses=2x", "clauses", "is no number"},
      {"clause=0", "clause=0", "clause=1", "clause", "expected 0"},
      {"clause=1", "clause=1", "clause=0", "clause", "expected 1"},
      {"clause=0", "variant=none", "variant=half", "op, variant", "quantized-matmul has no variant half"},
      {"clause=1", "representable=yes\n", "representable=yes", "representable", "no newline"},
      {"clause=1", "representable=yes\n", "representable=yes\n\n", "clause", "behind the last clause"},
      {"clause=1", "representable=yes\n", "representable=yes\nclause=2\n", "clauses", "there are more"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(faults); ++i) {
    char* other = replaced(text, faults[i].behind, faults[i].from, faults[i].to);
    assert_rejected(other, IREE_STATUS_DATA_LOSS, faults[i].key, faults[i].why);
    free(other);
  }
  assert_rejected("", IREE_STATUS_DATA_LOSS, "mlxcel_contract", "missing");
  free(text);
}

// Clauses whose order or number isn't that of a set.
static void contract_parse_rejects_unsorted_and_repeated_clauses(void** state) {
  (void)state;
  char* text = sample_text();
  const char* first = strstr(text, "clause=0\n") + 9;
  const char* second = strstr(text, "clause=1\n") + 9;
  int first_size = (int)(second - 9 - first);
  char other[4096];
  int head_size = (int)(first - 9 - text);
  snprintf(other, sizeof(other), "%.*sclause=0\n%sclause=1\n%.*s", head_size, text, second, first_size, first);
  assert_rejected(other, IREE_STATUS_DATA_LOSS, "clause", "sorted");
  snprintf(other, sizeof(other), "%.*sclause=0\n%.*sclause=1\n%.*s", head_size, text, first_size, first, first_size, first);
  assert_rejected(other, IREE_STATUS_DATA_LOSS, "clause", "repeated");
  free(text);
}

static void contract_parse_rejects_bytes_that_are_no_text(void** state) {
  (void)state;
  char* text = sample_text();
  size_t size = strlen(text);
  char* nul = strstr(text, "keep");
  *nul = 0;
  mlxcel_parsed_contract_t parsed;
  test_message_t message = test_message_of(mlxcel_contract_parse(iree_make_string_view(text, size), "sample.txt", &parsed), IREE_STATUS_DATA_LOSS);
  assert_non_null(strstr(message.text, "denormals: a NUL byte"));
  free(text);
  size_t huge = (size_t)MLXCEL_CONTRACT_TEXT_BYTES_MAX + 1;
  text = malloc(huge);
  assert_non_null(text);
  memset(text, 'x', huge);
  message = test_message_of(mlxcel_contract_parse(iree_make_string_view(text, huge), "sample.txt", &parsed), IREE_STATUS_DATA_LOSS);
  assert_non_null(strstr(message.text, "largest contract"));
  free(text);
}

// Whatever byte is flipped: the text is refused, or it is another contract, and the comparison names the field.
static void contract_compare_notices_every_flipped_bit(void** state) {
  (void)state;
  char* text = sample_text();
  char* copy = strdup(text);
  size_t size = strlen(text);
  for (size_t i = 0; i < size; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      copy[i] = (char)(text[i] ^ (1 << bit));
      iree_status_t status = mlxcel_contract_compare(iree_make_string_view(text, size), iree_make_string_view(copy, size), "copy");
      if (iree_status_is_ok(status)) fail_msg("byte %zu, bit %d: not noticed", i, bit);
      iree_status_ignore(status);
      copy[i] = text[i];
    }
  }
  free(copy);
  free(text);
}

//===- Comparisons ------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct mutation_t {
  const char* text;
  mlxcel_clause_field_t field;
  size_t clause;
  size_t count;
} mutation_t;

static char* rewritten(const mutation_t* mutation, const char* value) {
  mlxcel_parsed_contract_t parsed;
  mlxcel_contract_t contract;
  mlxcel_sha256_hex_t fingerprint;
  char* text = NULL;
  test_require_ok(mlxcel_contract_parse(iree_make_cstring_view(mutation->text), "sample.txt", &parsed));
  mlxcel_contract_initialize(parsed.profile, &contract);
  test_require_ok(mlxcel_clause_field_set(&parsed.clauses[mutation->clause], mutation->field, value));
  for (size_t i = 0; i < parsed.clause_count; ++i) test_require_ok(mlxcel_contract_add(&contract, &parsed.clauses[i]));
  test_require_ok(mlxcel_contract_finish(&contract, &text, &fingerprint));
  mlxcel_contract_deinitialize(&contract);
  mlxcel_parsed_contract_deinitialize(&parsed);
  return text;
}

// Each field with each other legal value is another contract; the message names field and values.
static iree_status_t check_mutation(void* user_data, const char* value) {
  mutation_t* mutation = user_data;
  char* text = rewritten(mutation, value);
  const char* name = mlxcel_clause_field_name(mutation->field);
  iree_status_t status = mlxcel_contract_compare(iree_make_cstring_view(mutation->text), iree_make_cstring_view(text), "copy");
  bool is_name = mutation->field <= MLXCEL_FIELD_VARIANT;  // most other names belong to another class: refused as such
  iree_status_code_t code = is_name && iree_status_is_data_loss(status) ? IREE_STATUS_DATA_LOSS : IREE_STATUS_FAILED_PRECONDITION;
  test_message_t message = test_message_of(status, code);
  if (!strstr(message.text, name) || !strstr(message.text, value)) fail_msg("%s=%s: \"%s\"", name, value, message.text);
  ++mutation->count;
  free(text);
  return iree_ok_status();
}

static void contract_compare_names_every_field_with_every_other_value(void** state) {
  (void)state;
  char* text = sample_text();
  mlxcel_parsed_contract_t parsed;
  test_require_ok(mlxcel_contract_parse(iree_make_cstring_view(text), "sample.txt", &parsed));
  for (size_t c = 0; c < parsed.clause_count; ++c) {
    for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
      mutation_t mutation = {.text = text, .field = (mlxcel_clause_field_t)i, .clause = c};
      char number[16];
      const char* value = mlxcel_clause_field_get(&parsed.clauses[c], mutation.field, number);
      test_require_ok(mlxcel_vocabulary_alternatives(mutation.field, iree_make_cstring_view(value), check_mutation, &mutation));
      assert_true(mutation.count > 0);
    }
  }
  mlxcel_parsed_contract_deinitialize(&parsed);
  free(text);
}

static void contract_compare_takes_equal_texts(void** state) {
  (void)state;
  char *left = sample_text(), *right = sample_text();
  test_require_ok(mlxcel_contract_compare(iree_make_cstring_view(left), iree_make_cstring_view(right), "copy"));
  free(left);
  free(right);
}

static void contract_compare_names_profile_and_lone_clauses(void** state) {
  (void)state;
  char* text = sample_text();
  char* profile = replaced(text, "profile", "mlx-cpu-0.32.4", "iree-canonical");
  test_message_t message =
      test_message_of(mlxcel_contract_compare(iree_make_cstring_view(text), iree_make_cstring_view(profile), "copy"), IREE_STATUS_FAILED_PRECONDITION);
  assert_non_null(strstr(message.text, "copy: another contract than expected: profile: mlx-cpu-0.32.4 -> iree-canonical"));
  const char* empty = "mlxcel_contract=2\nprofile=mlx-cpu-0.32.4\nclauses=0\n";
  message = test_message_of(mlxcel_contract_compare(iree_make_cstring_view(text), iree_make_cstring_view(empty), "copy"), IREE_STATUS_FAILED_PRECONDITION);
  assert_non_null(strstr(message.text, "only in the expected contract: clause 0 (quantized-matmul none affine-u4-g64-bf16)"));
  message = test_message_of(mlxcel_contract_compare(iree_make_cstring_view(empty), iree_make_cstring_view(text), "copy"), IREE_STATUS_FAILED_PRECONDITION);
  assert_non_null(strstr(message.text, "only in this one: clause 0 (quantized-matmul"));
  message = test_message_of(mlxcel_contract_compare(iree_make_cstring_view(text), iree_make_cstring_view("x"), "copy"), IREE_STATUS_DATA_LOSS);
  assert_non_null(strstr(message.text, "copy"));
  free(profile);
  free(text);
}

static void assert_diff(const char* left, const char* right, size_t count, const char* expected) {
  mlxcel_strbuf_t text;
  size_t actual = 0;
  mlxcel_strbuf_initialize(&text);
  test_require_ok(mlxcel_contract_diff(iree_make_cstring_view(left), iree_make_cstring_view(right), &text, &actual));
  assert_int_equal(actual, count);
  assert_string_equal(text.data ? text.data : "", expected);
  mlxcel_strbuf_deinitialize(&text);
}

static void contract_diff_lists_every_difference(void** state) {
  (void)state;
  char* text = sample_text();
  assert_diff(text, text, 0, "");
  char* once = replaced(text, "op=rms-norm", "denormals=keep", "denormals=flush");
  assert_diff(text, once, 1, "clause 1 (rms-norm plain bf16): denormals: keep -> flush\n");
  char* twice = replaced(once, "op=quantized", "accumulator=bf16", "accumulator=f32");
  assert_diff(text, twice, 2,
              "clause 0 (quantized-matmul none affine-u4-g64-bf16): accumulator: bf16 -> f32\nclause 1 (rms-norm plain bf16): denormals: keep -> flush\n");
  assert_diff(twice, "mlxcel_contract=2\nprofile=pinned-f32\nclauses=0\n", 3,
              "profile: mlx-cpu-0.32.4 -> pinned-f32\nonly in A: clause 0 (quantized-matmul none affine-u4-g64-bf16)\n"
              "only in A: clause 1 (rms-norm plain bf16)\n");
  free(twice);
  free(once);
  free(text);
}

// A changed field can move its clause to another place; the pairs stay.
static void contract_diff_pairs_clauses_wherever_they_stand(void** state) {
  (void)state;
  char* text = sample_text();
  mutation_t mutation = {.text = text, .field = MLXCEL_FIELD_OP, .clause = 0};
  char* moved = rewritten(&mutation, "softmax");
  char* legal = replaced(moved, "op=softmax", "variant=none", "variant=precise");
  assert_true(strstr(moved, "op=rms-norm") < strstr(moved, "op=softmax"));
  assert_diff(text, legal, 2,
              "clause 0 (quantized-matmul none affine-u4-g64-bf16): op: quantized-matmul -> softmax\n"
              "clause 0 (quantized-matmul none affine-u4-g64-bf16): variant: none -> precise\n");
  free(legal);
  free(moved);
  free(text);
}

//===- Clauses ----------------------------------------------------------------------------------------------------------------------------------------===//

static void contract_clause_check_names_field_and_value(void** state) {
  (void)state;
  char* text = sample_text();
  mlxcel_parsed_contract_t parsed;
  test_require_ok(mlxcel_contract_parse(iree_make_cstring_view(text), "sample.txt", &parsed));
  mlxcel_clause_t* clause = &parsed.clauses[1];
  test_require_ok(mlxcel_clause_check(clause));
  for (int i = MLXCEL_FIELD_SOURCE_DTYPE; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_t other = *clause;
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    test_require_ok(mlxcel_clause_field_set(&other, field, field == MLXCEL_FIELD_ALGORITHM_VERSION ? "100" : "mystery"));
    test_message_t message = test_message_of(mlxcel_clause_check(&other), IREE_STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(message.text, mlxcel_clause_field_name(field)));
    assert_non_null(strstr(message.text, field == MLXCEL_FIELD_ALGORITHM_VERSION ? "100" : "mystery"));
  }
  clause->variant = MLXCEL_VARIANT_QMV;
  test_message_t message = test_message_of(mlxcel_clause_check(clause), IREE_STATUS_INVALID_ARGUMENT);
  assert_non_null(strstr(message.text, "rms-norm has no variant qmv"));
  mlxcel_parsed_contract_deinitialize(&parsed);
  free(text);
}

static void contract_clause_digest_is_that_of_its_text(void** state) {
  (void)state;
  const mlxcel_clause_t clause = {.op = MLXCEL_OP_KV_STORE};
  mlxcel_sha256_hex_t digest, expected;
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_clause_write(&clause, &text);
  test_require_ok(mlxcel_sha256_of(text.data, text.size, &expected));
  test_require_ok(mlxcel_clause_digest(&clause, &digest));
  assert_string_equal(digest.text, expected.text);
  mlxcel_strbuf_deinitialize(&text);
}

static iree_status_t check_profile(const char* text) {
  mlxcel_parsed_contract_t parsed;
  test_require_ok(mlxcel_contract_parse(iree_make_cstring_view(text), "sample.txt", &parsed));
  iree_status_t status = mlxcel_contract_check_profile(&parsed, "sample.txt");
  mlxcel_parsed_contract_deinitialize(&parsed);
  return status;
}

static void contract_of_a_profile_is_defined_by_it(void** state) {
  (void)state;
  for (size_t i = 0; mlxcel_profile_at(i); ++i) {
    mlxcel_sha256_hex_t fingerprint;
    char* text = test_profile_contract(mlxcel_profile_at(i), &fingerprint);
    test_require_ok(check_profile(text));
    free(text);
  }
  char* text = sample_text();  // with source digests, as modules have them
  test_require_ok(check_profile(text));
  free(text);
}

// A layer's bias may have another dtype than its weights.
static void contract_with_any_bias_of_the_profile_is_defined_by_it(void** state) {
  (void)state;
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(MLXCEL_PROFILE_PINNED_F32));
  const mlxcel_operation_t operation = {.op = MLXCEL_OP_DENSE_MATMUL, .weight_dtype = MLXCEL_DTYPE_BF16, .has_bias = true, .bias_dtype = MLXCEL_DTYPE_F16};
  mlxcel_contract_t contract;
  mlxcel_clause_storage_t storage;
  char* text = NULL;
  mlxcel_sha256_hex_t fingerprint;
  mlxcel_contract_initialize(profile->name, &contract);
  test_require_ok(mlxcel_profile_clause(profile, &operation, &storage));
  test_require_ok(mlxcel_contract_add(&contract, &storage.clause));
  test_require_ok(mlxcel_contract_finish(&contract, &text, &fingerprint));
  mlxcel_contract_deinitialize(&contract);
  assert_non_null(strstr(text, "+bias-f16"));
  test_require_ok(check_profile(text));
  free(text);
}

static void contract_clause_that_the_profile_does_not_define_is_named(void** state) {
  (void)state;
  char* text = sample_text();
  char* changed = replaced(text, "op=rms-norm", "denormals=keep", "denormals=flush");
  test_message_t message = test_message_of(check_profile(changed), IREE_STATUS_FAILED_PRECONDITION);
  assert_non_null(strstr(message.text, "sample.txt"));
  assert_non_null(strstr(message.text, "1 of 2 clauses: clause 1 (rms-norm plain of bf16 in bf16);"));
  free(changed);
  changed = replaced(text, "", "profile=" MLXCEL_PROFILE_MLX_CPU, "profile=" MLXCEL_PROFILE_PINNED_F32);
  message = test_message_of(check_profile(changed), IREE_STATUS_FAILED_PRECONDITION);
  assert_non_null(strstr(message.text, MLXCEL_PROFILE_PINNED_F32 " of this mlxcel doesn't define 2 of 2 clauses"));
  free(changed);
  free(text);
}

static void contract_without_clauses_says_nothing(void** state) {
  (void)state;
  test_message_t message = test_message_of(check_profile("mlxcel_contract=2\nprofile=pinned-f32\nclauses=0\n"), IREE_STATUS_FAILED_PRECONDITION);
  assert_non_null(strstr(message.text, "no clause"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(contract_parse_reads_what_was_written),
      cmocka_unit_test(contract_parse_takes_a_contract_without_clauses),
      cmocka_unit_test(contract_parse_rejects_other_versions_by_name),
      cmocka_unit_test(contract_parse_rejects_a_whole_text_of_version_1_as_older),
      cmocka_unit_test(contract_parse_names_the_missing_key),
      cmocka_unit_test(contract_parse_names_the_repeated_key),
      cmocka_unit_test(contract_parse_names_the_unknown_key),
      cmocka_unit_test(contract_parse_names_the_key_out_of_order),
      cmocka_unit_test(contract_parse_names_the_key_of_a_malformed_line),
      cmocka_unit_test(contract_parse_names_the_field_of_a_foreign_value),
      cmocka_unit_test(contract_parse_rejects_structure_faults),
      cmocka_unit_test(contract_parse_rejects_unsorted_and_repeated_clauses),
      cmocka_unit_test(contract_parse_rejects_bytes_that_are_no_text),
      cmocka_unit_test(contract_compare_notices_every_flipped_bit),
      cmocka_unit_test(contract_compare_names_every_field_with_every_other_value),
      cmocka_unit_test(contract_compare_takes_equal_texts),
      cmocka_unit_test(contract_compare_names_profile_and_lone_clauses),
      cmocka_unit_test(contract_diff_lists_every_difference),
      cmocka_unit_test(contract_diff_pairs_clauses_wherever_they_stand),
      cmocka_unit_test(contract_clause_check_names_field_and_value),
      cmocka_unit_test(contract_clause_digest_is_that_of_its_text),
      cmocka_unit_test(contract_of_a_profile_is_defined_by_it),
      cmocka_unit_test(contract_with_any_bias_of_the_profile_is_defined_by_it),
      cmocka_unit_test(contract_clause_that_the_profile_does_not_define_is_named),
      cmocka_unit_test(contract_without_clauses_says_nothing),
  };
  return cmocka_run_group_tests_name("contract_parse", tests, NULL, NULL);
}
