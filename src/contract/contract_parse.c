#include "contract/contract_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/profiles.h"
#include "contract/vocabulary.h"

// 18 lines of a key, '=', a value and a newline are longer: a text can't hold more clauses than this allows.
#define CLAUSE_BYTES_MIN 128

static const char* const head_keys[] = {"mlxcel_contract", "profile", "clauses"};
#define CLAUSE_KEY "clause"

typedef struct reader_t {
  iree_string_view_t text;
  const char* origin;
  size_t position, line;
} reader_t;

static iree_status_t malformed(const reader_t* reader, const char* key, const char* format, ...) __attribute__((format(printf, 3, 4)));
static iree_status_t malformed(const reader_t* reader, const char* key, const char* format, ...) {
  char text[MLXCEL_CLAUSE_VALUE_BYTES_MAX * 2 + 256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return iree_make_status(IREE_STATUS_DATA_LOSS, "%s: contract, line %zu: %s: %s; what carries this contract is damaged or foreign: make it anew",
                          reader->origin, reader->line, key, text);
}

//===- Lines ------------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct line_t {
  iree_string_view_t key, value;
} line_t;

// The line at |position| without its newline; false at the end of the text or without a newline.
static bool line_at(iree_string_view_t text, size_t position, iree_string_view_t* out_line) {
  const char* start = text.data + position;
  const char* newline = position < text.size ? memchr(start, '\n', text.size - position) : NULL;
  *out_line = newline ? iree_make_string_view(start, (size_t)(newline - start)) : iree_make_cstring_view("");
  return newline != NULL;
}

static iree_string_view_t key_of(iree_string_view_t line) {
  const char* equal = line.size ? memchr(line.data, '=', line.size) : NULL;
  return iree_make_string_view(line.data, equal ? (size_t)(equal - line.data) : line.size);
}

static bool key_is(iree_string_view_t key, const char* name) { return iree_string_view_equal(key, iree_make_cstring_view(name)); }

// Place of a key in the order of a text with one clause; -1: unknown.
static int key_rank(iree_string_view_t key) {
  int head_count = (int)IREE_ARRAYSIZE(head_keys);
  for (int i = 0; i < head_count; ++i) {
    if (key_is(key, head_keys[i])) return i;
  }
  if (key_is(key, CLAUSE_KEY)) return head_count;
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    if (key_is(key, mlxcel_clause_field_name((mlxcel_clause_field_t)i))) return head_count + 1 + i;
  }
  return -1;
}

// Whether |key| comes before the next clause begins.
static bool key_is_ahead(const reader_t* reader, const char* key) {
  iree_string_view_t line;
  if (strcmp(key, CLAUSE_KEY) == 0) return false;
  for (size_t position = reader->position; line_at(reader->text, position, &line); position += line.size + 1) {
    if (key_is(key_of(line), key)) return true;
    if (key_is(key_of(line), CLAUSE_KEY)) return false;
  }
  return false;
}

// Why the line with |actual| isn't the one with |expected|.
static iree_status_t wrong_key(const reader_t* reader, const char* expected, iree_string_view_t actual) {
  char name[64];
  snprintf(name, sizeof(name), "%.*s", MLXCEL_SV(actual));
  int rank = key_rank(actual);
  bool is_behind = rank > key_rank(iree_make_cstring_view(expected)) || key_is(actual, CLAUSE_KEY);  // the next clause is behind everything
  if (rank < 0) return malformed(reader, expected, "expected here, but there is the unknown key \"%s\"", name);
  if (!is_behind) return malformed(reader, name, "repeated, in the place of %s", expected);
  if (key_is_ahead(reader, expected)) return malformed(reader, expected, "out of order: %s comes before it", name);
  return malformed(reader, expected, "missing: %s comes in its place", name);
}

static iree_status_t check_line(const reader_t* reader, const char* expected, iree_string_view_t line) {
  if (memchr(line.data, '\r', line.size)) return malformed(reader, expected, "a carriage return; lines end with LF alone");
  if (memchr(line.data, 0, line.size)) return malformed(reader, expected, "a NUL byte");
  if (line.size && (line.data[line.size - 1] == ' ' || line.data[line.size - 1] == '\t')) return malformed(reader, expected, "trailing blanks");
  if (!memchr(line.data, '=', line.size)) return malformed(reader, expected, "expected %s=<value>", expected);
  return iree_ok_status();
}

// The value of the next line, which must have |key|.
static iree_status_t read_line(reader_t* reader, const char* key, iree_string_view_t* out_value) {
  iree_string_view_t line;
  *out_value = iree_make_cstring_view("");
  ++reader->line;
  if (!line_at(reader->text, reader->position, &line)) {
    if (reader->position >= reader->text.size) return malformed(reader, key, "missing: the text ends here");
    return malformed(reader, key, "the last line has no newline");
  }
  IREE_RETURN_IF_ERROR(check_line(reader, key, line));
  iree_string_view_t actual = key_of(line);
  if (!key_is(actual, key)) return wrong_key(reader, key, actual);
  reader->position += line.size + 1;
  *out_value = iree_make_string_view(line.data + actual.size + 1, line.size - actual.size - 1);
  return iree_ok_status();
}

static bool number_of(iree_string_view_t value, uint32_t* out_number) {
  *out_number = 0;
  if (value.size == 0 || value.size > 9 || (value.data[0] == '0' && value.size > 1)) return false;
  for (size_t i = 0; i < value.size; ++i) {
    if (value.data[i] < '0' || value.data[i] > '9') return false;
    *out_number = *out_number * 10 + (uint32_t)(value.data[i] - '0');
  }
  return true;
}

static iree_status_t read_number(reader_t* reader, const char* key, uint32_t* out_number) {
  iree_string_view_t value;
  *out_number = 0;
  IREE_RETURN_IF_ERROR(read_line(reader, key, &value));
  if (number_of(value, out_number)) return iree_ok_status();
  return malformed(reader, key, "\"%.*s\" is no number", (int)(value.size < 64 ? value.size : 64), value.data);
}

//===- The text ---------------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t read_version(reader_t* reader, uint32_t* out_version) {
  IREE_RETURN_IF_ERROR(read_number(reader, head_keys[0], out_version));
  if (*out_version == MLXCEL_CONTRACT_VERSION) return iree_ok_status();
  if (*out_version < MLXCEL_CONTRACT_VERSION) {
    return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "%s: mlxcel_contract: version %u is older than this program's version %d; make it anew",
                            reader->origin, *out_version, MLXCEL_CONTRACT_VERSION);
  }
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "%s: mlxcel_contract: version %u is newer than this program's version %d; use a newer mlxcel",
                          reader->origin, *out_version, MLXCEL_CONTRACT_VERSION);
}

// Ends |value|, which is followed by a newline inside |storage|, with a NUL.
static const char* keep(const reader_t* reader, char* storage, iree_string_view_t value) {
  char* start = storage + (value.data - reader->text.data);
  start[value.size] = 0;
  return start;
}

static iree_status_t check_value(const reader_t* reader, mlxcel_clause_field_t field, iree_string_view_t value) {
  iree_status_t status = mlxcel_vocabulary_check(field, value);
  if (iree_status_is_ok(status)) return status;
  iree_status_ignore(status);
  int shown = (int)(value.size < MLXCEL_CLAUSE_VALUE_BYTES_MAX ? value.size : MLXCEL_CLAUSE_VALUE_BYTES_MAX);
  return malformed(reader, mlxcel_clause_field_name(field), "\"%.*s\" isn't in its closed set", shown, value.data);
}

static iree_status_t read_clause(reader_t* reader, uint32_t index, char* storage, mlxcel_clause_t* out_clause) {
  uint32_t number = 0;
  IREE_RETURN_IF_ERROR(read_number(reader, CLAUSE_KEY, &number));
  if (number != index) return malformed(reader, CLAUSE_KEY, "%u; expected %u", number, index);
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    iree_string_view_t value;
    IREE_RETURN_IF_ERROR(read_line(reader, mlxcel_clause_field_name(field), &value));
    IREE_RETURN_IF_ERROR(check_value(reader, field, value));
    IREE_RETURN_IF_ERROR(mlxcel_clause_field_set(out_clause, field, keep(reader, storage, value)));
  }
  if (mlxcel_op_variant_belongs(out_clause->op, out_clause->variant)) return iree_ok_status();
  return malformed(reader, "op, variant", "%s has no variant %s", mlxcel_op_class_name(out_clause->op), mlxcel_op_variant_name(out_clause->variant));
}

// Clauses ascend strictly.
static iree_status_t check_order(const reader_t* reader, iree_string_view_t previous, iree_string_view_t current) {
  size_t common = previous.size < current.size ? previous.size : current.size;
  int order = memcmp(previous.data, current.data, common);
  if (order < 0 || (order == 0 && previous.size < current.size)) return iree_ok_status();
  return malformed(reader, CLAUSE_KEY, order == 0 && previous.size == current.size ? "the clause is repeated" : "clauses aren't sorted by their texts");
}

static iree_status_t read_clauses(reader_t* reader, mlxcel_parsed_contract_t* contract) {
  iree_string_view_t previous = iree_make_cstring_view("");
  for (size_t i = 0; i < contract->clause_count; ++i) {
    size_t start = reader->position;
    IREE_RETURN_IF_ERROR(read_clause(reader, (uint32_t)i, contract->text, &contract->clauses[i]));
    const char* body = (const char*)memchr(reader->text.data + start, '\n', reader->text.size - start) + 1;
    iree_string_view_t current = iree_make_string_view(body, reader->position - (size_t)(body - reader->text.data));
    if (i > 0) {
      IREE_RETURN_IF_ERROR(check_order(reader, previous, current));
    }
    previous = current;
  }
  if (reader->position == reader->text.size) return iree_ok_status();
  ++reader->line;
  iree_string_view_t line;
  (void)line_at(reader->text, reader->position, &line);
  if (key_is(key_of(line), CLAUSE_KEY)) return malformed(reader, head_keys[2], "%zu, but there are more", contract->clause_count);
  return malformed(reader, CLAUSE_KEY, "text behind the last clause");
}

static iree_status_t read_contract(reader_t* reader, mlxcel_parsed_contract_t* contract) {
  uint32_t count = 0;
  iree_string_view_t profile;
  IREE_RETURN_IF_ERROR(read_version(reader, &contract->version));
  IREE_RETURN_IF_ERROR(read_line(reader, head_keys[1], &profile));
  if (!mlxcel_profile_find(profile)) {
    return malformed(reader, head_keys[1], "\"%.*s\" is no profile of this program", (int)(profile.size < 64 ? profile.size : 64), profile.data);
  }
  contract->profile = keep(reader, contract->text, profile);
  IREE_RETURN_IF_ERROR(read_number(reader, head_keys[2], &count));
  if (count > reader->text.size / CLAUSE_BYTES_MIN) return malformed(reader, head_keys[2], "%u; the text can't hold so many", count);
  contract->clauses = calloc(count ? count : 1, sizeof(*contract->clauses));
  if (!contract->clauses) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a contract of %u clauses", count);
  contract->clause_count = count;
  return read_clauses(reader, contract);
}

void mlxcel_parsed_contract_deinitialize(mlxcel_parsed_contract_t* contract) {
  free(contract->clauses);
  free(contract->text);
  memset(contract, 0, sizeof(*contract));
}

iree_status_t mlxcel_contract_parse(iree_string_view_t text, const char* origin, mlxcel_parsed_contract_t* out_contract) {
  memset(out_contract, 0, sizeof(*out_contract));
  reader_t reader = {.text = text, .origin = origin};
  if (text.size > MLXCEL_CONTRACT_TEXT_BYTES_MAX)
    return malformed(&reader, "size", "%zu bytes; the largest contract has %u", text.size, MLXCEL_CONTRACT_TEXT_BYTES_MAX);
  out_contract->text = malloc(text.size + 1);
  if (!out_contract->text) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a contract of %zu bytes", text.size);
  if (text.size) memcpy(out_contract->text, text.data, text.size);
  out_contract->text[text.size] = 0;
  iree_status_t status = read_contract(&reader, out_contract);
  if (!iree_status_is_ok(status)) mlxcel_parsed_contract_deinitialize(out_contract);
  return status;
}

//===- One clause -------------------------------------------------------------------------------------------------------------------------------------===//

iree_status_t mlxcel_clause_check(const mlxcel_clause_t* clause) {
  char number[16];
  for (int i = 0; i < MLXCEL_FIELD_COUNT; ++i) {
    mlxcel_clause_field_t field = (mlxcel_clause_field_t)i;
    IREE_RETURN_IF_ERROR(mlxcel_vocabulary_check(field, iree_make_cstring_view(mlxcel_clause_field_get(clause, field, number))));
  }
  if (mlxcel_op_variant_belongs(clause->op, clause->variant)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "op, variant: %s has no variant %s", mlxcel_op_class_name(clause->op),
                          mlxcel_op_variant_name(clause->variant));
}

iree_status_t mlxcel_clause_digest(const mlxcel_clause_t* clause, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_clause_write(clause, &text);
  iree_status_t status = mlxcel_strbuf_take_status(&text);
  if (iree_status_is_ok(status)) status = mlxcel_sha256_of(text.data, text.size, out_digest);
  mlxcel_strbuf_deinitialize(&text);
  return status;
}

//===- The profile ------------------------------------------------------------------------------------------------------------------------------------===//

#define FOREIGN_NAMED_MAX 5  // clauses that a message names

typedef struct definition_t {
  const mlxcel_profile_t* profile;
  mlxcel_contract_t clauses;  // all that the profile defines, without digests
} definition_t;

static iree_status_t define(void* user_data, const mlxcel_operation_t* operation, const mlxcel_clause_t* clause) {
  definition_t* definition = user_data;
  IREE_RETURN_IF_ERROR(mlxcel_contract_add(&definition->clauses, clause));
  if (!operation->has_bias) return iree_ok_status();
  // The table's visit takes one dtype of the bias; others make clauses as well, as far as the profile defines them.
  mlxcel_operation_t other = *operation;
  for (uint32_t dtype = MLXCEL_DTYPE_F32; dtype <= MLXCEL_DTYPE_BF16; ++dtype) {
    mlxcel_clause_storage_t storage;
    other.bias_dtype = (mlxcel_dtype_t)dtype;
    iree_status_t status = mlxcel_profile_clause(definition->profile, &other, &storage);
    if (iree_status_is_ok(status)) status = mlxcel_contract_add(&definition->clauses, &storage.clause);
    if (iree_status_is_unimplemented(status)) {
      iree_status_ignore(status);
    } else {
      IREE_RETURN_IF_ERROR(status);
    }
  }
  return iree_ok_status();
}

static int compare_texts(const void* key, const void* element) { return strcmp(key, *(char* const*)element); }

static iree_status_t definition_has(const definition_t* definition, const mlxcel_clause_t* clause, bool* out_has) {
  mlxcel_clause_t semantics = *clause;
  semantics.source_digest = NULL;
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_clause_write(&semantics, &text);
  iree_status_t status = mlxcel_strbuf_take_status(&text);
  const mlxcel_contract_t* all = &definition->clauses;
  *out_has = iree_status_is_ok(status) && all->clause_count && bsearch(text.data, all->clauses, all->clause_count, sizeof(*all->clauses), compare_texts);
  mlxcel_strbuf_deinitialize(&text);
  return status;
}

// Appends the names of clauses that aren't defined.
static iree_status_t find_foreign(const definition_t* definition, const mlxcel_parsed_contract_t* contract, mlxcel_strbuf_t* names, size_t* out_count) {
  *out_count = 0;
  for (size_t i = 0; i < contract->clause_count; ++i) {
    const mlxcel_clause_t* clause = &contract->clauses[i];
    bool has = false;
    IREE_RETURN_IF_ERROR(definition_has(definition, clause, &has));
    if (has || (*out_count)++ >= FOREIGN_NAMED_MAX) continue;
    mlxcel_strbuf_append_format(names, "%sclause %zu (%s %s of %s in %s)", *out_count > 1 ? ", " : "", i, mlxcel_op_class_name(clause->op),
                                mlxcel_op_variant_name(clause->variant), clause->source_dtype, clause->operand_dtype);
  }
  return mlxcel_strbuf_take_status(names);
}

static iree_status_t check_defined(const definition_t* definition, const mlxcel_parsed_contract_t* contract, const char* origin) {
  mlxcel_strbuf_t names;
  size_t count = 0;
  mlxcel_strbuf_initialize(&names);
  iree_status_t status = find_foreign(definition, contract, &names, &count);
  if (iree_status_is_ok(status) && count > 0) {
    status =
        iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "%s: profile %s of this mlxcel doesn't define %zu of %zu clauses: %s%s; compile the module again",
                         origin, contract->profile, count, contract->clause_count, names.data, count > FOREIGN_NAMED_MAX ? ", ..." : "");
  }
  mlxcel_strbuf_deinitialize(&names);
  return status;
}

iree_status_t mlxcel_contract_check_profile(const mlxcel_parsed_contract_t* contract, const char* origin) {
  if (contract->clause_count == 0) {
    return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "%s: the contract has no clause, so it says nothing; compile the module again", origin);
  }
  definition_t definition = {.profile = mlxcel_profile_find(iree_make_cstring_view(contract->profile))};  // the reader knows it
  mlxcel_contract_initialize(contract->profile, &definition.clauses);
  iree_status_t status = mlxcel_profile_visit(definition.profile, define, &definition);
  if (iree_status_is_ok(status)) status = check_defined(&definition, contract, origin);
  mlxcel_contract_deinitialize(&definition.clauses);
  return status;
}
