// Comparisons of contracts: clauses that are equal go first, the rest is paired by likeness, so that one changed field reads as one changed field wherever the
// order of the text puts the clause.
#include <stdlib.h>
#include <string.h>

#include "contract/contract_parse.h"

#define UNPAIRED SIZE_MAX

// One difference. |field| NULL: the clause is only on one side.
typedef struct difference_t {
  size_t index;  // of the clause: in the left contract, or in the right one if it is only there; UNPAIRED: of the contract itself
  const mlxcel_clause_t* clause;
  const char *field, *left, *right;
} difference_t;

typedef struct comparison_t {
  const mlxcel_parsed_contract_t *left, *right;
  size_t* partner;  // of each left clause
  bool* is_taken;   // right clauses
  size_t difference_count;
  // Called with each difference; false stops.
  bool (*report)(void* user_data, const difference_t* difference);
  void* user_data;
} comparison_t;

static size_t equal_field_count(const mlxcel_clause_t* left, const mlxcel_clause_t* right) {
  char left_number[16], right_number[16];
  size_t count = 0;
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    count += strcmp(mlxcel_clause_field_get(left, field, left_number), mlxcel_clause_field_get(right, field, right_number)) == 0;
  }
  return count;
}

// The free right clause that has most fields in common with |clause|, at least |minimum|.
static size_t likest(const comparison_t* comparison, const mlxcel_clause_t* clause, size_t minimum) {
  size_t best = UNPAIRED, best_count = minimum;
  for (size_t i = 0; i < comparison->right->clause_count; ++i) {
    if (comparison->is_taken[i]) continue;
    size_t count = equal_field_count(clause, &comparison->right->clauses[i]);
    if (count < best_count || (best != UNPAIRED && count == best_count)) continue;
    best = i;
    best_count = count;
    if (count == MLXCEL_FIELD_COUNT) break;
  }
  return best;
}

static void pair_up(comparison_t* comparison, size_t minimum) {
  for (size_t i = 0; i < comparison->left->clause_count; ++i) {
    if (comparison->partner[i] != UNPAIRED) continue;
    size_t found = likest(comparison, &comparison->left->clauses[i], minimum);
    comparison->partner[i] = found;
    if (found != UNPAIRED) comparison->is_taken[found] = true;
  }
}

static bool report(comparison_t* comparison, const difference_t* difference) {
  ++comparison->difference_count;
  return comparison->report(comparison->user_data, difference);
}

static bool report_fields(comparison_t* comparison, size_t index) {
  const mlxcel_clause_t* left = &comparison->left->clauses[index];
  const mlxcel_clause_t* right = &comparison->right->clauses[comparison->partner[index]];
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    char left_number[16], right_number[16];
    difference_t difference = {.index = index,
                               .clause = left,
                               .field = mlxcel_clause_field_name(field),
                               .left = mlxcel_clause_field_get(left, field, left_number),
                               .right = mlxcel_clause_field_get(right, field, right_number)};
    if (strcmp(difference.left, difference.right) != 0 && !report(comparison, &difference)) return false;
  }
  return true;
}

static bool report_all(comparison_t* comparison) {
  const difference_t profile = {.index = UNPAIRED, .field = "profile", .left = comparison->left->profile, .right = comparison->right->profile};
  if (strcmp(profile.left, profile.right) != 0 && !report(comparison, &profile)) return false;
  for (size_t i = 0; i < comparison->left->clause_count; ++i) {
    const difference_t only = {.index = i, .clause = &comparison->left->clauses[i], .left = "there"};
    if (comparison->partner[i] == UNPAIRED ? !report(comparison, &only) : !report_fields(comparison, i)) return false;
  }
  for (size_t i = 0; i < comparison->right->clause_count; ++i) {
    const difference_t only = {.index = i, .clause = &comparison->right->clauses[i], .right = "there"};
    if (!comparison->is_taken[i] && !report(comparison, &only)) return false;
  }
  return true;
}

// Two thirds of the fields in common: a clause that was changed, not another one.
#define LIKE_FIELDS_MIN (MLXCEL_FIELD_COUNT * 2 / 3)

static iree_status_t compare(comparison_t* comparison) {
  size_t left_count = comparison->left->clause_count, right_count = comparison->right->clause_count;
  comparison->partner = malloc((left_count + 1) * sizeof(*comparison->partner));
  comparison->is_taken = calloc(right_count + 1, sizeof(*comparison->is_taken));
  bool has_memory = comparison->partner && comparison->is_taken;
  if (has_memory) {
    for (size_t i = 0; i < left_count; ++i) comparison->partner[i] = UNPAIRED;
    pair_up(comparison, MLXCEL_FIELD_COUNT);
    pair_up(comparison, LIKE_FIELDS_MIN);
    (void)report_all(comparison);
  }
  free(comparison->partner);
  free(comparison->is_taken);
  return has_memory ? iree_ok_status() : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a comparison of contracts");
}

static iree_status_t parse_and_compare(iree_string_view_t left, const char* left_origin, iree_string_view_t right, const char* right_origin,
                                       comparison_t* comparison) {
  mlxcel_parsed_contract_t parsed_left, parsed_right = {0};
  iree_status_t status = mlxcel_contract_parse(left, left_origin, &parsed_left);
  if (iree_status_is_ok(status)) status = mlxcel_contract_parse(right, right_origin, &parsed_right);
  comparison->left = &parsed_left;
  comparison->right = &parsed_right;
  if (iree_status_is_ok(status)) status = compare(comparison);
  comparison->left = comparison->right = NULL;  // they go with this call
  mlxcel_parsed_contract_deinitialize(&parsed_left);
  mlxcel_parsed_contract_deinitialize(&parsed_right);
  return status;
}

static void write_difference(mlxcel_strbuf_t* text, const difference_t* difference, const char* left_name, const char* right_name) {
  if (difference->index != UNPAIRED) {
    const mlxcel_clause_t* clause = difference->clause;
    if (!difference->field) mlxcel_strbuf_append_format(text, "only in %s: ", difference->left ? left_name : right_name);
    mlxcel_strbuf_append_format(text, "clause %zu (%s %s %s)", difference->index, mlxcel_op_class_name(clause->op), mlxcel_op_variant_name(clause->variant),
                                clause->source_dtype ? clause->source_dtype : "none");
  }
  if (difference->field && difference->index != UNPAIRED) mlxcel_strbuf_append_cstring(text, ": ");
  if (difference->field) mlxcel_strbuf_append_format(text, "%s: %s -> %s", difference->field, difference->left, difference->right);
}

static bool append_line(void* user_data, const difference_t* difference) {
  mlxcel_strbuf_t* text = user_data;
  write_difference(text, difference, "A", "B");
  mlxcel_strbuf_append_cstring(text, "\n");
  return true;
}

iree_status_t mlxcel_contract_diff(iree_string_view_t left, iree_string_view_t right, mlxcel_strbuf_t* out_text, size_t* out_count) {
  comparison_t comparison = {.report = append_line, .user_data = out_text};
  *out_count = 0;
  IREE_RETURN_IF_ERROR(parse_and_compare(left, "A", right, "B", &comparison));
  *out_count = comparison.difference_count;
  return iree_ok_status();
}

static bool append_first(void* user_data, const difference_t* difference) {
  write_difference(user_data, difference, "the expected contract", "this one");
  return false;
}

iree_status_t mlxcel_contract_compare(iree_string_view_t expected, iree_string_view_t actual, const char* origin) {
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  comparison_t comparison = {.report = append_first, .user_data = &text};
  iree_status_t status = parse_and_compare(expected, "expected contract", actual, origin, &comparison);
  if (iree_status_is_ok(status)) status = mlxcel_strbuf_take_status(&text);
  if (iree_status_is_ok(status) && comparison.difference_count) {
    status = iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "%s: another contract than expected: %.*s; compile it again under the expected one", origin,
                              MLXCEL_SV(mlxcel_strbuf_view(&text)));
  }
  mlxcel_strbuf_deinitialize(&text);
  return status;
}
