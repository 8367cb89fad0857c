#include "oracle/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "qualify/pinned_clause.h"

void mlxcel_recorder_deinitialize(mlxcel_recorder_t* recorder) {
  free(recorder->entries);
  memset(recorder, 0, sizeof(*recorder));
}

static iree_status_t recorder_reserve(mlxcel_recorder_t* recorder) {
  if (recorder->count < recorder->capacity) return iree_ok_status();
  size_t capacity = recorder->capacity ? recorder->capacity * 2 : 64;
  mlxcel_recorder_entry_t* entries = realloc(recorder->entries, capacity * sizeof(*entries));
  if (!entries) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu records; free memory and try again", capacity);
  recorder->entries = entries;
  recorder->capacity = capacity;
  return iree_ok_status();
}

static bool entry_is_of(const mlxcel_recorder_entry_t* entry, const mlxcel_profile_t* profile, const mlxcel_sha256_hex_t* clause) {
  return strcmp(entry->against_reference.clause_digest.text, clause->text) == 0 && strcmp(entry->profile->name, profile->name) == 0;
}

// The entry of this clause on this device, or a new one.
static iree_status_t recorder_find(mlxcel_recorder_t* recorder, const mlxcel_recorder_case_t* shown, const mlxcel_clause_t* clause,
                                   mlxcel_recorder_entry_t** out_entry) {
  mlxcel_sha256_hex_t digest;
  IREE_RETURN_IF_ERROR(mlxcel_clause_digest(clause, &digest));
  for (size_t i = 0; i < recorder->count; ++i) {
    *out_entry = &recorder->entries[i];
    if (entry_is_of(*out_entry, shown->profile, &digest) && strcmp((*out_entry)->against_reference.device, shown->identity->device) == 0) {
      return iree_ok_status();
    }
  }
  IREE_RETURN_IF_ERROR(recorder_reserve(recorder));
  mlxcel_recorder_entry_t* entry = &recorder->entries[recorder->count];
  *entry = (mlxcel_recorder_entry_t){.profile = shown->profile, .repeats = UINT32_MAX};
  const char* profile = shown->profile->name;
  IREE_RETURN_IF_ERROR(mlxcel_identity_fill(shown->identity, profile, clause, MLXCEL_MLX_REFERENCE, NULL, &entry->against_reference));
  IREE_RETURN_IF_ERROR(mlxcel_identity_fill(shown->identity, profile, clause, MLXCEL_DECLARED_REFERENCE, NULL, &entry->against_decomposition));
  for (int claim = MLXCEL_CLAIM_NONE + 1; claim <= MLXCEL_CLAIM_PRODUCTION; ++claim) entry->earned[claim] = true;
  ++recorder->count;
  *out_entry = entry;
  return iree_ok_status();
}

// Every case of a clause names the compiler of its own module; one without a module names none.
static void entry_note_compiler(mlxcel_recorder_entry_t* entry, const mlxcel_sha256_hex_t* compiler) {
  mlxcel_sha256_hex_t* known = &entry->against_reference.compiler_digest;
  if (!compiler->text[0]) return;
  if (known->text[0] && strcmp(known->text, compiler->text) != 0) entry->is_mixed = true;
  *known = entry->against_decomposition.compiler_digest = *compiler;
}

iree_status_t mlxcel_recorder_add(mlxcel_recorder_t* recorder, const mlxcel_recorder_case_t* shown) {
  for (size_t i = 0; i < shown->contract->clause_count; ++i) {
    mlxcel_recorder_entry_t* entry = NULL;
    IREE_RETURN_IF_ERROR(recorder_find(recorder, shown, &shown->contract->clauses[i], &entry));
    for (int claim = MLXCEL_CLAIM_NONE + 1; claim <= MLXCEL_CLAIM_PRODUCTION; ++claim) {
      entry->earned[claim] = entry->earned[claim] && shown->claims->earned[claim];
    }
    entry_note_compiler(entry, &shown->identity->compiler);
    entry->was_compared |= shown->was_compared;
    entry->outputs += shown->outputs;
    ++entry->cases;
    if (shown->repeats < entry->repeats) entry->repeats = shown->repeats;
  }
  return iree_ok_status();
}

iree_status_t mlxcel_recorder_miss(mlxcel_recorder_t* recorder, const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract) {
  for (size_t i = 0; i < contract->clause_count; ++i) {
    mlxcel_sha256_hex_t digest;
    IREE_RETURN_IF_ERROR(mlxcel_clause_digest(&contract->clauses[i], &digest));
    for (size_t k = 0; k < recorder->count; ++k) {
      if (entry_is_of(&recorder->entries[k], profile, &digest)) recorder->entries[k].is_partial = true;
    }
  }
  return iree_ok_status();
}

static bool entry_is_recordable(const mlxcel_recorder_entry_t* entry) {
  return !entry->is_partial && !entry->is_mixed && entry->was_compared && entry->repeats >= MLXCEL_EVIDENCE_REPEATS_MIN;
}

static void list_add(const mlxcel_recorder_entry_t* entry, mlxcel_evidence_list_t* list) {
  mlxcel_claim_t claim = MLXCEL_CLAIM_NONE, needed = mlxcel_claim_needed(entry->profile);
  for (int i = MLXCEL_CLAIM_NONE + 1; i <= MLXCEL_CLAIM_PRODUCTION; ++i) {
    if (entry->earned[i]) claim = (mlxcel_claim_t)i;
  }
  if (needed > MLXCEL_CLAIM_CLOSENESS && entry->earned[needed]) claim = needed;  // closeness opens nothing, so more is worth telling
  mlxcel_evidence_t* record = &list->items[list->count++];
  bool declared = claim == MLXCEL_CLAIM_CANONICAL || (claim == MLXCEL_CLAIM_NONE && needed == MLXCEL_CLAIM_CANONICAL);
  *record = declared ? entry->against_decomposition : entry->against_reference;
  record->claim = claim;
  record->output_count = entry->outputs;
  record->case_count = entry->cases;
  record->repeats = entry->repeats;
}

iree_status_t mlxcel_recorder_list(const mlxcel_recorder_t* recorder, const char* profile, mlxcel_evidence_list_t* out_list, size_t* out_left_out) {
  memset(out_list, 0, sizeof(*out_list));
  *out_left_out = 0;
  out_list->items = calloc(recorder->count + 1, sizeof(*out_list->items));
  if (!out_list->items) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the records; free memory and try again");
  for (size_t i = 0; i < recorder->count; ++i) {
    const mlxcel_recorder_entry_t* entry = &recorder->entries[i];
    if (profile && strcmp(profile, entry->profile->name) != 0) continue;
    if (entry_is_recordable(entry)) {
      list_add(entry, out_list);
    } else {
      ++*out_left_out;
    }
  }
  return iree_ok_status();
}

// Whether a clause says the same for every storage of a kind. A cache's says how it is rounded as it is written.
static bool storage_is_only_read(const mlxcel_evidence_t* record) { return strcmp(record->op, mlxcel_op_class_name(MLXCEL_OP_KV_STORE)) != 0; }

// Records of one place, operation and kernel, whose storages are of one kind. A bias of the layer is a storage.
static bool same_but_for_storage(const mlxcel_evidence_t* left, const mlxcel_evidence_t* right) {
  const char* const pairs[][2] = {{left->profile, right->profile},     {left->op, right->op},         {left->variant, right->variant},
                                  {left->algorithm, right->algorithm}, {left->device, right->device}, {left->operand_dtype, right->operand_dtype}};
  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
    if (strcmp(pairs[i][0], pairs[i][1]) != 0) return false;
  }
  if (!storage_is_only_read(left)) return strcmp(left->source_dtype, right->source_dtype) == 0;
  return mlxcel_pinned_same_storage_kind(left->source_dtype, right->source_dtype);
}

static bool stands_for(const mlxcel_evidence_t* left, const mlxcel_evidence_t* right) {
  return left->claim != right->claim ? left->claim < right->claim : left->output_count > right->output_count;
}

void mlxcel_recorder_reduce(mlxcel_evidence_list_t* list) {
  size_t kept = 0;
  for (size_t i = 0; i < list->count; ++i) {
    size_t same = 0;
    while (same < kept && !same_but_for_storage(&list->items[same], &list->items[i])) ++same;
    if (same == kept) {
      list->items[kept++] = list->items[i];
    } else if (stands_for(&list->items[i], &list->items[same])) {
      list->items[same] = list->items[i];
    }
  }
  list->count = kept;
}
