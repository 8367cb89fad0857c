#include "oracle/recorder.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_PER_ENTRY 2  // the strongest claim, and the one that the profile needs

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

// The entry of this clause on this device, or a new one.
static iree_status_t recorder_find(mlxcel_recorder_t* recorder, const mlxcel_profile_t* profile, const mlxcel_clause_t* clause,
                                   const mlxcel_identity_t* identity, const char* libmlx, mlxcel_recorder_entry_t** out_entry) {
  mlxcel_evidence_t against_reference, against_decomposition;
  IREE_RETURN_IF_ERROR(mlxcel_identity_fill(identity, profile->name, clause, MLXCEL_MLX_REFERENCE, libmlx, &against_reference));
  IREE_RETURN_IF_ERROR(mlxcel_identity_fill(identity, profile->name, clause, MLXCEL_DECLARED_REFERENCE, NULL, &against_decomposition));
  for (size_t i = 0; i < recorder->count; ++i) {
    const mlxcel_evidence_t* known = &recorder->entries[i].against_reference;
    *out_entry = &recorder->entries[i];
    bool same = strcmp(known->clause_digest.text, against_reference.clause_digest.text) == 0 && strcmp(known->device, against_reference.device) == 0;
    if (same && strcmp(known->profile, profile->name) == 0) return iree_ok_status();
  }
  IREE_RETURN_IF_ERROR(recorder_reserve(recorder));
  mlxcel_recorder_entry_t* entry = &recorder->entries[recorder->count++];
  *entry = (mlxcel_recorder_entry_t){
      .profile = profile, .against_reference = against_reference, .against_decomposition = against_decomposition, .repeats = UINT32_MAX};
  for (int claim = MLXCEL_CLAIM_NONE + 1; claim <= MLXCEL_CLAIM_PRODUCTION; ++claim) entry->earned[claim] = true;
  *out_entry = entry;
  return iree_ok_status();
}

iree_status_t mlxcel_recorder_add(mlxcel_recorder_t* recorder, const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract,
                                  const mlxcel_identity_t* identity, const char* libmlx, const mlxcel_claims_t* claims, uint64_t outputs, uint32_t repeats) {
  for (size_t i = 0; i < contract->clause_count; ++i) {
    mlxcel_recorder_entry_t* entry = NULL;
    IREE_RETURN_IF_ERROR(recorder_find(recorder, profile, &contract->clauses[i], identity, libmlx, &entry));
    for (int claim = MLXCEL_CLAIM_NONE + 1; claim <= MLXCEL_CLAIM_PRODUCTION; ++claim) entry->earned[claim] = entry->earned[claim] && claims->earned[claim];
    entry->outputs += outputs;
    ++entry->cases;
    if (repeats < entry->repeats) entry->repeats = repeats;
  }
  return iree_ok_status();
}

static void list_add(const mlxcel_recorder_entry_t* entry, mlxcel_claim_t claim, mlxcel_evidence_list_t* list) {
  mlxcel_evidence_t* record = &list->items[list->count++];
  *record = claim == MLXCEL_CLAIM_CANONICAL ? entry->against_decomposition : entry->against_reference;
  record->claim = claim;
  record->output_count = entry->outputs;
  record->case_count = entry->cases;
  record->repeats = entry->repeats;
}

iree_status_t mlxcel_recorder_list(const mlxcel_recorder_t* recorder, const char* profile, mlxcel_evidence_list_t* out_list) {
  memset(out_list, 0, sizeof(*out_list));
  out_list->items = calloc(recorder->count * RECORDS_PER_ENTRY + 1, sizeof(*out_list->items));
  if (!out_list->items) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the records; free memory and try again");
  for (size_t i = 0; i < recorder->count; ++i) {
    const mlxcel_recorder_entry_t* entry = &recorder->entries[i];
    if (profile && strcmp(profile, entry->profile->name) != 0) continue;
    mlxcel_claim_t strongest = MLXCEL_CLAIM_NONE, needed = mlxcel_claim_needed(entry->profile);
    for (int claim = MLXCEL_CLAIM_NONE + 1; claim <= MLXCEL_CLAIM_PRODUCTION; ++claim) {
      if (entry->earned[claim]) strongest = (mlxcel_claim_t)claim;
    }
    if (strongest != MLXCEL_CLAIM_NONE) list_add(entry, strongest, out_list);
    if (needed != strongest && entry->earned[needed]) list_add(entry, needed, out_list);
  }
  return iree_ok_status();
}

iree_status_t mlxcel_recorder_write(const mlxcel_recorder_t* recorder, const char* folder) {
  char* default_folder = NULL;
  if (!folder) {
    IREE_RETURN_IF_ERROR(mlxcel_evidence_default_folder(&default_folder));
  }
  mlxcel_evidence_list_t list;
  iree_status_t status = mlxcel_recorder_list(recorder, NULL, &list);
  for (size_t i = 0; iree_status_is_ok(status) && i < list.count; ++i) {
    status = mlxcel_evidence_write(folder ? folder : default_folder, &list.items[i]);
  }
  mlxcel_evidence_list_deinitialize(&list);
  free(default_folder);
  return status;
}
