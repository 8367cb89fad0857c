#include "contract/vocabulary.h"

#include <stdio.h>
#include <string.h>

#include "contract/vocabulary_words.h"

typedef enum rule_kind_e {
  RULE_NAMES,    // op, variant
  RULE_WORD,     // one of |words|
  RULE_PARTS,    // "none", or parts joined by '+': [stage:]word
  RULE_SOURCE,   // source_dtype
  RULE_VERSION,  // algorithm_version
  RULE_DIGEST,   // source_digest
} rule_kind_t;

static const struct {
  rule_kind_t kind;
  word_t* words;
  word_t* stages;  // NULL: none
} rules[] = {
    [MLXCEL_FIELD_OP] = {RULE_NAMES, NULL, NULL},
    [MLXCEL_FIELD_VARIANT] = {RULE_NAMES, NULL, NULL},
    [MLXCEL_FIELD_SOURCE_DTYPE] = {RULE_SOURCE, NULL, NULL},
    [MLXCEL_FIELD_OPERAND_DTYPE] = {RULE_WORD, operand_words, NULL},
    [MLXCEL_FIELD_ACCUMULATOR] = {RULE_PARTS, float_words, accumulator_stages},
    [MLXCEL_FIELD_RESULT_DTYPE] = {RULE_WORD, result_words, NULL},
    [MLXCEL_FIELD_ROUNDING] = {RULE_PARTS, rounding_words, rounding_stages},
    [MLXCEL_FIELD_ASSOCIATION] = {RULE_PARTS, association_words, association_stages},
    [MLXCEL_FIELD_DEQUANTIZATION] = {RULE_WORD, dequantization_words, NULL},
    [MLXCEL_FIELD_CONSTANTS] = {RULE_PARTS, constant_words, constant_stages},
    [MLXCEL_FIELD_FUNCTIONS] = {RULE_PARTS, function_words, NULL},
    [MLXCEL_FIELD_DENORMALS] = {RULE_WORD, denormal_words, NULL},
    [MLXCEL_FIELD_ALGORITHM] = {RULE_PARTS, algorithm_words, NULL},
    [MLXCEL_FIELD_ALGORITHM_VERSION] = {RULE_VERSION, NULL, NULL},
    [MLXCEL_FIELD_SOURCE_DIGEST] = {RULE_DIGEST, NULL, NULL},
    [MLXCEL_FIELD_TOLERANCE] = {RULE_WORD, tolerance_words, NULL},
    [MLXCEL_FIELD_DERIVATION] = {RULE_WORD, derivation_words, NULL},
    [MLXCEL_FIELD_REPRESENTABLE] = {RULE_WORD, representable_words, NULL},
};
_Static_assert(IREE_ARRAYSIZE(rules) == MLXCEL_FIELD_COUNT, "one rule for every field");

static const uint32_t code_widths[] = {2, 3, 4, 5, 6, 8};
static const uint32_t group_sizes[] = {32, 64, 128};

static bool word_is_in(iree_string_view_t value, word_t* words) {
  for (; words && *words; ++words) {
    if (iree_string_view_equal(value, iree_make_cstring_view(*words))) return true;
  }
  return false;
}

static bool is_none(iree_string_view_t value) { return iree_string_view_equal(value, iree_make_cstring_view("none")); }

//===- Parts ------------------------------------------------------------------------------------------------------------------------------------------===//

// Takes the next part of a joined value; false behind the last. Empty parts are parts: "a++b" has three.
static bool part_next(iree_string_view_t value, size_t* position, iree_string_view_t* out_part) {
  if (*position > value.size) return false;
  const char* start = value.data + *position;
  const char* plus = memchr(start, '+', value.size - *position);
  size_t size = plus ? (size_t)(plus - start) : value.size - *position;
  *out_part = iree_make_string_view(start, size);
  *position += size + 1;
  return true;
}

typedef struct part_t {
  iree_string_view_t stage, word;  // |stage| with its ':', or empty
} part_t;

static part_t part_split(iree_string_view_t part, bool has_stages) {
  const char* colon = has_stages && part.size ? memchr(part.data, ':', part.size) : NULL;
  size_t size = colon ? (size_t)(colon - part.data) + 1 : 0;
  return (part_t){iree_make_string_view(part.data, size), iree_make_string_view(part.data + size, part.size - size)};
}

static bool part_is_legal(mlxcel_clause_field_t field, iree_string_view_t part) {
  part_t split = part_split(part, rules[field].stages != NULL);
  bool stage = split.stage.size == 0 || word_is_in(iree_make_string_view(split.stage.data, split.stage.size - 1), rules[field].stages);
  return stage && word_is_in(split.word, rules[field].words);
}

// Finds the first part that isn't legal.
static bool parts_are_legal(mlxcel_clause_field_t field, iree_string_view_t value, iree_string_view_t* out_wrong) {
  size_t position = 0;
  if (is_none(value)) return true;
  while (part_next(value, &position, out_wrong)) {
    if (!part_is_legal(field, *out_wrong)) return false;
  }
  return true;
}

//===- Source types -----------------------------------------------------------------------------------------------------------------------------------===//

typedef struct source_t {
  uint32_t bits, group;      // 0: dense
  const char *dtype, *bias;  // NULL: no bias; dtype NULL: none
} source_t;

static void source_format(const source_t* source, char text[64]) {
  const char* joint = source->bias ? "+bias-" : "";
  const char* bias = source->bias ? source->bias : "";
  if (!source->dtype) {
    snprintf(text, 64, "none");
  } else if (source->bits == 0) {
    snprintf(text, 64, "%s%s%s", source->dtype, joint, bias);
  } else {
    snprintf(text, 64, "affine-u%u-g%u-%s%s%s", source->bits, source->group, source->dtype, joint, bias);
  }
}

typedef bool (*source_visitor_t)(void* user_data, const source_t* source);

// All source types, dense ones first; stops when |visit| returns true and says so.
static bool source_visit_all(source_visitor_t visit, void* user_data) {
  const source_t none = {0};
  if (visit(user_data, &none)) return true;
  for (size_t d = 0; d < IREE_ARRAYSIZE(float_words) - 1; ++d) {
    for (size_t b = 0; b < IREE_ARRAYSIZE(float_words); ++b) {  // the last one, NULL, is without
      source_t source = {.dtype = float_words[d], .bias = float_words[b]};
      if (visit(user_data, &source)) return true;
      for (size_t w = 0; w < IREE_ARRAYSIZE(code_widths); ++w) {
        for (size_t g = 0; g < IREE_ARRAYSIZE(group_sizes); ++g) {
          source.bits = code_widths[w];
          source.group = group_sizes[g];
          if (visit(user_data, &source)) return true;
        }
      }
    }
  }
  return false;
}

typedef struct source_search_t {
  iree_string_view_t value;
  source_t found;
} source_search_t;
static bool source_compare(void* user_data, const source_t* source) {
  source_search_t* search = user_data;
  char text[64];
  source_format(source, text);
  if (!iree_string_view_equal(search->value, iree_make_cstring_view(text))) return false;
  search->found = *source;
  return true;
}

//===- Checks -----------------------------------------------------------------------------------------------------------------------------------------===//

static bool name_is_legal(mlxcel_clause_field_t field, iree_string_view_t value) {
  mlxcel_op_class_t op;
  mlxcel_op_variant_t variant;
  return field == MLXCEL_FIELD_OP ? mlxcel_op_class_parse(value, &op) : mlxcel_op_variant_parse(value, &variant);
}

static bool version_is_legal(iree_string_view_t value) {
  if (value.size < 1 || value.size > 2 || value.data[0] == '0') return false;
  for (size_t i = 0; i < value.size; ++i) {
    if (value.data[i] < '0' || value.data[i] > '9') return false;
  }
  return true;
}
_Static_assert(MLXCEL_ALGORITHM_VERSION_MAX == 99, "versions have one or two digits");

// One digest, or several joined by '+': an algorithm's kernels may come from different objects.
#define DIGEST_SIZE 64
#define DIGESTS_MAX 3  // as many as there are kernel objects
static bool digest_is_legal(iree_string_view_t value) {
  if (is_none(value)) return true;
  if ((value.size + 1) % (DIGEST_SIZE + 1) != 0 || value.size >= DIGESTS_MAX * (DIGEST_SIZE + 1)) return false;
  for (size_t i = 0; i < value.size; ++i) {
    bool is_joint = i % (DIGEST_SIZE + 1) == DIGEST_SIZE;
    if (is_joint ? value.data[i] != '+' : !memchr("0123456789abcdef", value.data[i], 16)) return false;
  }
  return true;
}

static bool value_is_legal(mlxcel_clause_field_t field, iree_string_view_t value, iree_string_view_t* out_wrong) {
  source_search_t search = {.value = value};
  *out_wrong = value;
  switch (rules[field].kind) {
    case RULE_NAMES:
      return name_is_legal(field, value);
    case RULE_WORD:
      return word_is_in(value, rules[field].words);
    case RULE_PARTS:
      return parts_are_legal(field, value, out_wrong);
    case RULE_SOURCE:
      return source_visit_all(source_compare, &search);
    case RULE_VERSION:
      return version_is_legal(value);
    case RULE_DIGEST:
      return digest_is_legal(value);
  }
  return false;
}

iree_status_t mlxcel_vocabulary_check(mlxcel_clause_field_t field, iree_string_view_t value) {
  const char* name = mlxcel_clause_field_name(field);
  if (value.size > MLXCEL_CLAUSE_VALUE_BYTES_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: a value of %zu bytes; the longest has %d", name, value.size, MLXCEL_CLAUSE_VALUE_BYTES_MAX);
  }
  iree_string_view_t wrong;
  if (value_is_legal(field, value, &wrong)) return iree_ok_status();
  if (wrong.size == value.size) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: \"%.*s\" isn't in its closed set", name, MLXCEL_SV(value));
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: \"%.*s\" of \"%.*s\" isn't in its closed set", name, MLXCEL_SV(wrong), MLXCEL_SV(value));
}

//===- Alternatives -----------------------------------------------------------------------------------------------------------------------------------===//

typedef struct alternatives_t {
  mlxcel_clause_field_t field;
  iree_string_view_t value;
  mlxcel_vocabulary_visitor_t visit;
  void* user_data;
  iree_status_t status;
} alternatives_t;

static iree_status_t visit_other(const alternatives_t* all, const char* candidate) {
  if (iree_string_view_equal(all->value, iree_make_cstring_view(candidate))) return iree_ok_status();
  return all->visit(all->user_data, candidate);
}

static iree_status_t visit_words(const alternatives_t* all, word_t* words) {
  for (; *words; ++words) {
    IREE_RETURN_IF_ERROR(visit_other(all, *words));
  }
  return iree_ok_status();
}

static iree_status_t visit_names(const alternatives_t* all) {
  int count = all->field == MLXCEL_FIELD_OP ? (int)MLXCEL_OP_COUNT : (int)MLXCEL_VARIANT_COUNT;
  for (int i = 0; i < count; ++i) {
    IREE_RETURN_IF_ERROR(
        visit_other(all, all->field == MLXCEL_FIELD_OP ? mlxcel_op_class_name((mlxcel_op_class_t)i) : mlxcel_op_variant_name((mlxcel_op_variant_t)i)));
  }
  return iree_ok_status();
}

// What is before |part|, |middle|, what is behind it.
static iree_status_t visit_replaced(const alternatives_t* all, iree_string_view_t part, iree_string_view_t stage, iree_string_view_t middle) {
  char text[2 * MLXCEL_CLAUSE_VALUE_BYTES_MAX];
  size_t before = (size_t)(part.data - all->value.data), behind = before + part.size;
  snprintf(text, sizeof(text), "%.*s%.*s%.*s%.*s", (int)before, all->value.data, MLXCEL_SV(stage), MLXCEL_SV(middle), (int)(all->value.size - behind),
           all->value.data + behind);
  return visit_other(all, text);
}

static iree_status_t visit_part_words(const alternatives_t* all, iree_string_view_t part) {
  part_t split = part_split(part, rules[all->field].stages != NULL);
  for (word_t* word = rules[all->field].words; *word; ++word) {
    IREE_RETURN_IF_ERROR(visit_replaced(all, part, split.stage, iree_make_cstring_view(*word)));
  }
  return iree_ok_status();
}

// The part goes together with the '+' before or behind it. Of equal neighbours only the first is left out: the result is the same.
static iree_status_t visit_part_dropped(const alternatives_t* all, iree_string_view_t part, iree_string_view_t previous) {
  iree_string_view_t empty = iree_make_cstring_view("");
  if (part.size == all->value.size) return visit_other(all, "none");
  if (iree_string_view_equal(part, previous)) return iree_ok_status();
  bool is_first = part.data == all->value.data;
  return visit_replaced(all, iree_make_string_view(part.data - (is_first ? 0 : 1), part.size + 1), empty, empty);
}

static iree_status_t visit_part_exchanged(const alternatives_t* all, iree_string_view_t previous, iree_string_view_t part) {
  if (previous.size == 0 || iree_string_view_equal(part, previous)) return iree_ok_status();
  char text[MLXCEL_CLAUSE_VALUE_BYTES_MAX + 1];
  snprintf(text, sizeof(text), "%.*s+%.*s", MLXCEL_SV(part), MLXCEL_SV(previous));
  iree_string_view_t both = iree_make_string_view(previous.data, previous.size + 1 + part.size);
  return visit_replaced(all, both, iree_make_cstring_view(""), iree_make_cstring_view(text));
}

static iree_status_t visit_parts(const alternatives_t* all) {
  if (is_none(all->value)) return visit_words(all, rules[all->field].words);
  iree_string_view_t part, previous = iree_make_cstring_view("");
  for (size_t position = 0; part_next(all->value, &position, &part); previous = part) {
    IREE_RETURN_IF_ERROR(visit_part_words(all, part));
    IREE_RETURN_IF_ERROR(visit_part_dropped(all, part, previous));
    IREE_RETURN_IF_ERROR(visit_part_exchanged(all, previous, part));
  }
  return iree_ok_status();
}

static bool texts_differ(const char* left, const char* right) { return left == right ? false : !left || !right || strcmp(left, right) != 0; }

// Sources that differ in one number or dtype; affine and dense of the same dtypes; none against the plain ones.
static bool source_visit_near(void* user_data, const source_t* source) {
  alternatives_t* all = user_data;
  source_search_t search = {.value = all->value};
  (void)source_visit_all(source_compare, &search);
  const source_t* value = &search.found;
  bool is_none_pair = (!value->dtype || !source->dtype) && !source->bias && !source->bits && !value->bias && !value->bits;
  bool is_other_storage = (value->bits == 0) != (source->bits == 0);
  int differences = (is_other_storage || value->bits != source->bits) + (!is_other_storage && value->group != source->group) +
                    texts_differ(value->dtype, source->dtype) + texts_differ(value->bias, source->bias);
  if (differences != 1 || ((!value->dtype || !source->dtype) && !is_none_pair)) return false;
  char text[64];
  source_format(source, text);
  all->status = visit_other(all, text);
  return !iree_status_is_ok(all->status);
}

static iree_status_t visit_sources(alternatives_t* all) {
  (void)source_visit_all(source_visit_near, all);
  return all->status;
}

static iree_status_t visit_versions(const alternatives_t* all) {
  int version = 0;
  char text[8];
  for (size_t i = 0; i < all->value.size; ++i) version = version * 10 + (all->value.data[i] - '0');
  for (int next = version - 1; next <= version + 1; next += 2) {
    if (next < 1 || next > MLXCEL_ALGORITHM_VERSION_MAX) continue;
    snprintf(text, sizeof(text), "%d", next);
    IREE_RETURN_IF_ERROR(visit_other(all, text));
  }
  return iree_ok_status();
}

static iree_status_t visit_digests(const alternatives_t* all) {
  char text[DIGESTS_MAX * (DIGEST_SIZE + 1)];
  size_t size = all->value.size;
  if (is_none(all->value)) return visit_other(all, "0000000000000000000000000000000000000000000000000000000000000000");
  IREE_RETURN_IF_ERROR(visit_other(all, "none"));
  for (size_t i = 0; i < size; i += size - 1) {  // the first and the last digit
    snprintf(text, sizeof(text), "%.*s", MLXCEL_SV(all->value));
    text[i] = text[i] == '0' ? '1' : '0';
    IREE_RETURN_IF_ERROR(visit_other(all, text));
  }
  return iree_ok_status();
}

iree_status_t mlxcel_vocabulary_alternatives(mlxcel_clause_field_t field, iree_string_view_t value, mlxcel_vocabulary_visitor_t visit, void* user_data) {
  IREE_RETURN_IF_ERROR(mlxcel_vocabulary_check(field, value));
  alternatives_t all = {.field = field, .value = value, .visit = visit, .user_data = user_data, .status = iree_ok_status()};
  switch (rules[field].kind) {
    case RULE_NAMES:
      return visit_names(&all);
    case RULE_WORD:
      return visit_words(&all, rules[field].words);
    case RULE_PARTS:
      return visit_parts(&all);
    case RULE_SOURCE:
      return visit_sources(&all);
    case RULE_VERSION:
      return visit_versions(&all);
    case RULE_DIGEST:
      return visit_digests(&all);
  }
  return iree_ok_status();
}
