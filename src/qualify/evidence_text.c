// evidence_text.c: records as JSON, strictly: exactly the known keys, every value in its range, one text a set of records.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/json_fields.h"
#include "base/json.h"
#include "base/log.h"
#include "qualify/evidence.h"
#include "qualify/evidence_internal.h"

// --- claims --------------------------------------------------------------------------------------------------------------------------------

static const char* const claim_names[] = {"none", "mathematical-closeness", "canonical-decomposition", "production-mlx"};
#define CLAIM_COUNT (sizeof(claim_names) / sizeof(claim_names[0]))

void mlxcel_claim_text(mlxcel_claim_t claim, const char* reference, char buffer[96]) {
  if (claim == MLXCEL_CLAIM_PRODUCTION) {
    snprintf(buffer, 96, "%s@%s", claim_names[claim], reference);
  } else {
    snprintf(buffer, 96, "%s", claim_names[claim]);
  }
}

// The claim whose text, with |reference|, is |text|.
static bool claim_parse(const char* text, const char* reference, mlxcel_claim_t* out_claim) {
  for (size_t i = 0; i < CLAIM_COUNT; ++i) {
    char expected[96];
    *out_claim = (mlxcel_claim_t)i;
    mlxcel_claim_text(*out_claim, reference, expected);
    if (strcmp(text, expected) == 0) return true;
  }
  *out_claim = MLXCEL_CLAIM_NONE;
  return false;
}

// --- fields --------------------------------------------------------------------------------------------------------------------------------

typedef struct text_field_t {
  const char* name;
  size_t offset, size;
} text_field_t;
#define TEXT(field) \
  { #field, offsetof(mlxcel_evidence_t, field), sizeof(((mlxcel_evidence_t*)0)->field) }
static const text_field_t text_fields[] = {
    TEXT(profile),   TEXT(op),     TEXT(variant),   TEXT(source_dtype),       TEXT(operand_dtype),    TEXT(algorithm),
    TEXT(reference), TEXT(device), TEXT(cpu_level), TEXT(reference_identity), TEXT(runtime_identity), TEXT(source_digest),
};

typedef struct digest_field_t {
  const char* name;
  size_t offset;
  bool may_be_empty;
} digest_field_t;
static const digest_field_t digest_fields[] = {
    {"clause_digest", offsetof(mlxcel_evidence_t, clause_digest), false},
    {"object_digest", offsetof(mlxcel_evidence_t, object_digest), true},
    {"compiler_digest", offsetof(mlxcel_evidence_t, compiler_digest), true},
    {"emitter_digest", offsetof(mlxcel_evidence_t, emitter_digest), false},
    {"host", offsetof(mlxcel_evidence_t, host), false},
};

typedef struct number_field_t {
  const char* name;
  size_t offset;
  bool is_wide;  // 64 bits
  uint64_t minimum;
} number_field_t;
static const number_field_t number_fields[] = {
    {"contract_version", offsetof(mlxcel_evidence_t, contract_version), false, 1},
    {"algorithm_version", offsetof(mlxcel_evidence_t, algorithm_version), false, 0},
    {"output_count", offsetof(mlxcel_evidence_t, output_count), true, 0},
    {"case_count", offsetof(mlxcel_evidence_t, case_count), true, 0},
    {"repeats", offsetof(mlxcel_evidence_t, repeats), false, 0},
    {"created_unix", offsetof(mlxcel_evidence_t, created_unix), true, 0},
};
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// Every key of a record.
static const char* const record_names[] = {
    "profile",
    "op",
    "variant",
    "source_dtype",
    "operand_dtype",
    "algorithm",
    "reference",
    "device",
    "cpu_level",
    "reference_identity",
    "runtime_identity",
    "source_digest",
    "clause_digest",
    "object_digest",
    "compiler_digest",
    "emitter_digest",
    "host",
    "claim",
    "contract_version",
    "algorithm_version",
    "output_count",
    "case_count",
    "repeats",
    "created_unix",
};
_Static_assert(COUNT_OF(record_names) == COUNT_OF(text_fields) + COUNT_OF(digest_fields) + COUNT_OF(number_fields) + 1, "every field has a key");

static const char* text_at(const mlxcel_evidence_t* evidence, const text_field_t* field) { return (const char*)evidence + field->offset; }
static const char* digest_at(const mlxcel_evidence_t* evidence, const digest_field_t* field) { return (const char*)evidence + field->offset; }

// As JSON has them; a number above INT64_MAX comes back negative.
static int64_t number_at(const mlxcel_evidence_t* evidence, const number_field_t* field) {
  const char* at = (const char*)evidence + field->offset;
  if (field->is_wide) return *(const int64_t*)(const void*)at;
  return *(const uint32_t*)(const void*)at;
}

// --- checks --------------------------------------------------------------------------------------------------------------------------------

static bool text_is_printable(const char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (text[i] < 0x20 || text[i] > 0x7e) return false;
  }
  return true;
}

static iree_status_t check_error(const char* name, const char* problem) {
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field '%s' of a record %s", name, problem);
}

static iree_status_t check_text(const mlxcel_evidence_t* evidence, const text_field_t* field) {
  const char* text = text_at(evidence, field);
  size_t size = strnlen(text, field->size);
  if (size == 0) return check_error(field->name, "is empty");
  if (size == field->size) return check_error(field->name, "is too long");
  if (!text_is_printable(text, size)) return check_error(field->name, "must be printable ASCII");
  return iree_ok_status();
}

static iree_status_t check_digest(const mlxcel_evidence_t* evidence, const digest_field_t* field) {
  const char* text = digest_at(evidence, field);
  size_t size = strnlen(text, sizeof(mlxcel_sha256_hex_t));
  if (size == 0 && field->may_be_empty) return iree_ok_status();
  if (!mlxcel_artifact_is_digest(iree_make_string_view(text, size))) return check_error(field->name, "must be 64 lowercase hex digits");
  return iree_ok_status();
}

// Digests joined by '+', or "none".
static bool source_digest_is_legal(const char* text) {
  if (strcmp(text, "none") == 0) return true;
  for (;; text += 65) {
    size_t size = strcspn(text, "+");
    if (!mlxcel_artifact_is_digest(iree_make_string_view(text, size))) return false;
    if (text[size] == 0) return true;
  }
}

iree_status_t mlxcel_evidence_check(const mlxcel_evidence_t* evidence) {
  for (size_t i = 0; i < COUNT_OF(text_fields); ++i) {
    IREE_RETURN_IF_ERROR(check_text(evidence, &text_fields[i]));
  }
  for (size_t i = 0; i < COUNT_OF(digest_fields); ++i) {
    IREE_RETURN_IF_ERROR(check_digest(evidence, &digest_fields[i]));
  }
  for (size_t i = 0; i < COUNT_OF(number_fields); ++i) {
    int64_t value = number_at(evidence, &number_fields[i]);
    if (value < 0 || (uint64_t)value < number_fields[i].minimum) return check_error(number_fields[i].name, "is out of range");
  }
  if ((size_t)evidence->claim >= CLAIM_COUNT) return check_error("claim", "is unknown");
  if (!source_digest_is_legal(evidence->source_digest)) return check_error("source_digest", "must be none, or 64 lowercase hex digits an object, joined by +");
  return iree_ok_status();
}

// --- order ---------------------------------------------------------------------------------------------------------------------------------

int mlxcel_evidence_compare(const mlxcel_evidence_t* left, const mlxcel_evidence_t* right) {
  const char* const pairs[][2] = {
      {left->profile, right->profile}, {left->op, right->op},
      {left->variant, right->variant}, {left->clause_digest.text, right->clause_digest.text},
      {left->device, right->device},   {left->cpu_level, right->cpu_level},
  };
  for (size_t i = 0; i < COUNT_OF(pairs); ++i) {
    int order = strcmp(pairs[i][0], pairs[i][1]);
    if (order != 0) return order;
  }
  return 0;
}

static int compare_items(const void* left, const void* right) { return mlxcel_evidence_compare(left, right); }
static int compare_pointers(const void* left, const void* right) {
  return mlxcel_evidence_compare(*(const mlxcel_evidence_t* const*)left, *(const mlxcel_evidence_t* const*)right);
}

void mlxcel_evidence_list_sort(mlxcel_evidence_list_t* list) {
  if (list->count < 2) return;
  qsort(list->items, list->count, sizeof(*list->items), compare_items);
  size_t kept = 1;
  for (size_t i = 1; i < list->count; ++i) {
    if (mlxcel_evidence_compare(&list->items[kept - 1], &list->items[i]) != 0) list->items[kept++] = list->items[i];
  }
  list->count = kept;
}

// --- lists ---------------------------------------------------------------------------------------------------------------------------------

void mlxcel_evidence_list_deinitialize(mlxcel_evidence_list_t* list) {
  free(list->items);
  memset(list, 0, sizeof(*list));
}

iree_status_t mlxcel_evidence_list_add(mlxcel_evidence_list_t* list, const mlxcel_evidence_t* evidence) {
  if (list->count >= MLXCEL_EVIDENCE_RECORDS_MAX) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "over %u records of evidence; remove those that `mlxcel capabilities` calls stale",
                            MLXCEL_EVIDENCE_RECORDS_MAX);
  }
  // Grown in powers of two: the capacity is a function of the count.
  if ((list->count & (list->count - 1)) == 0) {
    size_t capacity = list->count ? list->count * 2 : 1;
    mlxcel_evidence_t* items = realloc(list->items, capacity * sizeof(*items));
    if (!items) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for evidence; free some memory");
    list->items = items;
  }
  list->items[list->count++] = *evidence;
  return iree_ok_status();
}

// --- writing -------------------------------------------------------------------------------------------------------------------------------

static bool set_value(json_t* object, const char* name, json_t* value) { return value && json_object_set_new(object, name, value) == 0; }

// A new reference, NULL without memory.
static json_t* record_make(const mlxcel_evidence_t* evidence) {
  json_t* object = json_object();
  bool ok = object != NULL;
  for (size_t i = 0; ok && i < COUNT_OF(text_fields); ++i) ok = set_value(object, text_fields[i].name, json_string(text_at(evidence, &text_fields[i])));
  for (size_t i = 0; ok && i < COUNT_OF(digest_fields); ++i) ok = set_value(object, digest_fields[i].name, json_string(digest_at(evidence, &digest_fields[i])));
  for (size_t i = 0; ok && i < COUNT_OF(number_fields); ++i)
    ok = set_value(object, number_fields[i].name, json_integer(number_at(evidence, &number_fields[i])));
  char claim[96];
  mlxcel_claim_text(evidence->claim, evidence->reference, claim);
  if (ok && set_value(object, "claim", json_string(claim))) return object;
  json_decref(object);
  return NULL;
}

static iree_status_t out_of_memory(void) { return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for evidence; free some memory"); }

static iree_status_t records_make(const mlxcel_evidence_list_t* list, json_t** out_records) {
  *out_records = NULL;
  for (size_t i = 0; i < list->count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_evidence_check(&list->items[i]));
  }
  const mlxcel_evidence_t** sorted = malloc((list->count + 1) * sizeof(*sorted));
  json_t* records = json_array();
  bool ok = sorted && records;
  for (size_t i = 0; ok && i < list->count; ++i) sorted[i] = &list->items[i];
  if (ok) qsort(sorted, list->count, sizeof(const mlxcel_evidence_t*), compare_pointers);
  for (size_t i = 0; ok && i < list->count; ++i) ok = json_array_append_new(records, record_make(sorted[i])) == 0;
  free(sorted);
  if (ok) {
    *out_records = records;
    return iree_ok_status();
  }
  json_decref(records);
  return out_of_memory();
}

static iree_status_t records_digest(const json_t* records, mlxcel_sha256_hex_t* out_digest) {
  char* text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_write(records, true, &text));
  iree_status_t status = mlxcel_sha256_of(text, strlen(text), out_digest);
  free(text);
  return status;
}

iree_status_t mlxcel_evidence_list_to_text(const mlxcel_evidence_list_t* list, char** out_text) {
  *out_text = NULL;
  json_t* records = NULL;
  mlxcel_sha256_hex_t digest;
  IREE_RETURN_IF_ERROR(records_make(list, &records));
  iree_status_t status = records_digest(records, &digest);
  json_t* document = NULL;
  if (iree_status_is_ok(status)) {
    document = json_pack("{s:i, s:s, s:O}", "version", MLXCEL_EVIDENCE_VERSION, "digest", digest.text, "records", records);
    status = document ? mlxcel_json_write(document, false, out_text) : out_of_memory();
  }
  json_decref(document);
  json_decref(records);
  return status;
}

// --- reading -------------------------------------------------------------------------------------------------------------------------------

static iree_status_t read_text(const mlxcel_json_fields_t* fields, const text_field_t* field, mlxcel_evidence_t* evidence) {
  const char* text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(fields, field->name, 1, field->size - 1, &text));
  memcpy((char*)evidence + field->offset, text, strlen(text) + 1);
  return iree_ok_status();
}

static iree_status_t read_number(const mlxcel_json_fields_t* fields, const number_field_t* field, mlxcel_evidence_t* evidence) {
  uint64_t value = 0;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_unsigned(fields, field->name, field->minimum, field->is_wide ? (uint64_t)INT64_MAX : UINT32_MAX, &value));
  char* at = (char*)evidence + field->offset;
  if (field->is_wide) {
    *(uint64_t*)(void*)at = value;
  } else {
    *(uint32_t*)(void*)at = (uint32_t)value;
  }
  return iree_ok_status();
}

static iree_status_t read_record(const json_t* value, mlxcel_evidence_t* out_evidence) {
  memset(out_evidence, 0, sizeof(*out_evidence));
  mlxcel_json_fields_t fields;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(value, "records", COUNT_OF(record_names), record_names, &fields));
  for (size_t i = 0; i < COUNT_OF(text_fields); ++i) {
    IREE_RETURN_IF_ERROR(read_text(&fields, &text_fields[i], out_evidence));
  }
  for (size_t i = 0; i < COUNT_OF(digest_fields); ++i) {
    mlxcel_sha256_hex_t* digest = (mlxcel_sha256_hex_t*)(void*)((char*)out_evidence + digest_fields[i].offset);
    IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(&fields, digest_fields[i].name, digest_fields[i].may_be_empty, digest));
  }
  for (size_t i = 0; i < COUNT_OF(number_fields); ++i) {
    IREE_RETURN_IF_ERROR(read_number(&fields, &number_fields[i], out_evidence));
  }
  const char* claim = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(&fields, "claim", 1, 95, &claim));
  if (!claim_parse(claim, out_evidence->reference, &out_evidence->claim)) {
    return mlxcel_json_fields_error(&fields, "claim", "is unknown, or names another reference than field 'reference'");
  }
  return mlxcel_evidence_check(out_evidence);
}

static iree_status_t read_records(const json_t* records, mlxcel_evidence_list_t* list) {
  for (size_t i = 0; i < json_array_size(records); ++i) {
    mlxcel_evidence_t evidence;
    IREE_RETURN_IF_ERROR(read_record(json_array_get(records, i), &evidence));
    if (i > 0 && mlxcel_evidence_compare(&list->items[i - 1], &evidence) >= 0) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field 'records' isn't sorted, or has a record twice");
    }
    IREE_RETURN_IF_ERROR(mlxcel_evidence_list_add(list, &evidence));
  }
  return iree_ok_status();
}

// Any other version is told by name, before its keys are looked at.
static iree_status_t check_version(const json_t* document) {
  const json_t* version = json_object_get(document, "version");
  if (!json_is_integer(version)) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field 'version' must be an integer");
  json_int_t number = json_integer_value(version);
  if (number == MLXCEL_EVIDENCE_VERSION) return iree_ok_status();
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "version %lld is %s than this mlxcel's %d", (long long)number,
                          number > MLXCEL_EVIDENCE_VERSION ? "newer" : "older", MLXCEL_EVIDENCE_VERSION);
}

static iree_status_t check_digest_of(const json_t* records, const mlxcel_sha256_hex_t* stated) {
  mlxcel_sha256_hex_t actual;
  IREE_RETURN_IF_ERROR(records_digest(records, &actual));
  if (strcmp(stated->text, actual.text) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field 'digest' isn't that of the records: they were altered");
}

static iree_status_t read_document(const json_t* document, bool is_own, mlxcel_evidence_list_t* list) {
  static const char* const names[] = {"version", "digest", "records"};
  mlxcel_json_fields_t fields;
  mlxcel_sha256_hex_t stated;
  const json_t* records = NULL;
  IREE_RETURN_IF_ERROR(check_version(document));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(document, "", COUNT_OF(names), names, &fields));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(&fields, "digest", false, &stated));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_array(&fields, "records", MLXCEL_EVIDENCE_RECORDS_MAX, &records));
  IREE_RETURN_IF_ERROR(read_records(records, list));
  return is_own ? iree_ok_status() : check_digest_of(records, &stated);
}

// The one text of |list| is |text|: nothing but the records, their spelling included, can differ.
static iree_status_t check_spelling(const mlxcel_evidence_list_t* list, iree_string_view_t text) {
  char* expected = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_evidence_list_to_text(list, &expected));
  bool same = iree_string_view_equal(text, iree_make_cstring_view(expected));
  free(expected);
  return same ? iree_ok_status() : iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "spaces or order were altered");
}

static iree_status_t parse_failure(iree_status_t status, const char* origin) {
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_code_t code = iree_status_code(status);
  iree_status_ignore(status);
  if (code == IREE_STATUS_RESOURCE_EXHAUSTED) return iree_make_status(code, "%s: %s", origin, text);
  return iree_make_status(code == IREE_STATUS_FAILED_PRECONDITION ? code : IREE_STATUS_DATA_LOSS,
                          "%s is no valid evidence: %s; remove it and make it again with `mlxcel oracle run`", origin, text);
}

static iree_status_t list_parse(iree_string_view_t text, const char* origin, bool is_own, mlxcel_evidence_list_t* out_list) {
  memset(out_list, 0, sizeof(*out_list));
  json_t* document = NULL;
  iree_status_t status = mlxcel_json_parse(text, origin, &document);
  if (iree_status_is_ok(status)) status = read_document(document, is_own, out_list);
  if (iree_status_is_ok(status) && !is_own) status = check_spelling(out_list, text);
  json_decref(document);
  if (iree_status_is_ok(status)) return status;
  mlxcel_evidence_list_deinitialize(out_list);
  return parse_failure(status, origin);
}

iree_status_t mlxcel_evidence_list_parse(iree_string_view_t text, const char* origin, mlxcel_evidence_list_t* out_list) {
  return list_parse(text, origin, false, out_list);
}

iree_status_t mlxcel_evidence_list_parse_own(iree_string_view_t text, const char* origin, mlxcel_evidence_list_t* out_list) {
  return list_parse(text, origin, true, out_list);
}
