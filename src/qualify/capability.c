#include "qualify/capability.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "contract/contract_parse.h"
#include "emit/operation_emitter.h"
#include "kernels/kernel_objects.h"
#include "qualify/gate.h"

#define BUILT_IN_EVIDENCE "src/qualify/builtin_evidence.json"

static const char* or_none(const char* text) { return text ? text : "none"; }

// --- evidence of a profile -----------------------------------------------------------------------------------------------------------------

static iree_status_t load_store(const char* folder, mlxcel_evidence_list_t* out_list) {
  memset(out_list, 0, sizeof(*out_list));
  char* default_folder = NULL;
  if (!folder) {
    IREE_RETURN_IF_ERROR(mlxcel_evidence_default_folder(&default_folder));
  }
  iree_status_t status = mlxcel_evidence_read(folder ? folder : default_folder, out_list);
  free(default_folder);
  return status;
}

// The record of |clause| in |folder|, if there is one.
static iree_status_t add_store_record(const char* folder, const mlxcel_identity_t* identity, const mlxcel_clause_t* clause, mlxcel_evidence_list_t* list) {
  mlxcel_evidence_t key;
  IREE_RETURN_IF_ERROR(mlxcel_identity_fill(identity, MLXCEL_PROFILE_PINNED_F32, clause, MLXCEL_DECLARED_REFERENCE, NULL, &key));
  return mlxcel_evidence_read_key(folder, &key, list);
}

// The default profile lives on what is built in, so that a fresh clone works, without a store too; but what a run here has disproved counts.
static iree_status_t load_built_in(const char* folder, const mlxcel_identity_t* identity, const mlxcel_parsed_contract_t* contract,
                                   mlxcel_evidence_list_t* out_list) {
  IREE_RETURN_IF_ERROR(mlxcel_evidence_built_in(out_list));
  char* default_folder = NULL;
  if (!folder) iree_status_ignore(mlxcel_evidence_default_folder(&default_folder));
  iree_status_t status = iree_ok_status();
  for (size_t i = 0; (folder || default_folder) && i < contract->clause_count && iree_status_is_ok(status); ++i) {
    status = add_store_record(folder ? folder : default_folder, identity, &contract->clauses[i], out_list);
  }
  free(default_folder);
  if (!iree_status_is_ok(status)) mlxcel_evidence_list_deinitialize(out_list);
  return status;
}

static bool profile_is_pinned(const mlxcel_profile_t* profile) { return strcmp(profile->name, MLXCEL_PROFILE_PINNED_F32) == 0; }

// --- checking a module ---------------------------------------------------------------------------------------------------------------------

// The clauses that aren't open, by the first of them.
typedef struct closed_clauses_t {
  size_t count;
  const mlxcel_clause_t* first;
  mlxcel_gate_verdict_t verdict;  // of the first
} closed_clauses_t;

static iree_status_t judge_clauses(const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract, const mlxcel_identity_t* identity,
                                   const mlxcel_evidence_list_t* evidence, closed_clauses_t* out_closed) {
  memset(out_closed, 0, sizeof(*out_closed));
  for (size_t i = 0; i < contract->clause_count; ++i) {
    mlxcel_gate_verdict_t verdict;
    IREE_RETURN_IF_ERROR(mlxcel_gate_judge(profile, &contract->clauses[i], identity, evidence, &verdict));
    if (verdict.state == MLXCEL_GATE_OPEN) continue;
    if (out_closed->count++ > 0) continue;
    out_closed->first = &contract->clauses[i];
    out_closed->verdict = verdict;
  }
  return iree_ok_status();
}

#define REMEDY_BYTES 256

// What to do about a closed profile.
static void describe_remedy(const mlxcel_profile_t* profile, const mlxcel_identity_t* identity, bool compiler_differs, char buffer[REMEDY_BYTES]) {
  if (profile->is_declared_only || (!profile_is_pinned(profile) && !profile->reference)) {
    snprintf(buffer, REMEDY_BYTES, "use another profile: no evidence can open this one (see `mlxcel capabilities --profile %s`)", profile->name);
  } else if (!profile_is_pinned(profile)) {
    const char* compiler = compiler_differs ? " --compiler FILE` (FILE: the iree-compile that made this module)" : "`";
    snprintf(buffer, REMEDY_BYTES, "make the evidence here with `mlxcel oracle run --all --profile %s --device %s --cpu-level %s%s", profile->name,
             identity->device, identity->cpu_level, compiler);
  } else if (strncmp(identity->device, "local-", 6) == 0) {
    snprintf(buffer, REMEDY_BYTES,
             "after a change of kernels, make their records with `mlxcel oracle run --all --profile %s --cpu-level %s --record %s` and build again",
             profile->name, identity->cpu_level, BUILT_IN_EVIDENCE);
  } else {
    snprintf(buffer, REMEDY_BYTES, "use device local-task or local-sync");
  }
}

static iree_status_t closed_status(const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract, const mlxcel_identity_t* identity,
                                   const closed_clauses_t* closed) {
  const mlxcel_clause_t* first = closed->first;
  char remedy[REMEDY_BYTES];
  describe_remedy(profile, identity, closed->verdict.compiler_differs, remedy);
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION,
                          "profile %s is closed on %s at CPU level %s: %zu of %zu clauses have no valid evidence, the first is %s %s of %s in %s: %s: %s; %s",
                          profile->name, identity->device, identity->cpu_level, closed->count, contract->clause_count, mlxcel_op_class_name(first->op),
                          mlxcel_op_variant_name(first->variant), or_none(first->source_dtype), or_none(first->operand_dtype),
                          mlxcel_gate_state_name(closed->verdict.state), closed->verdict.reason, remedy);
}

static iree_status_t check_contract(const mlxcel_capability_request_t* request, const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract) {
  mlxcel_identity_t identity;
  mlxcel_evidence_list_t evidence;
  closed_clauses_t closed;
  if (contract->clause_count == 0) {
    return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "the module's contract has no clause: nothing says what it computes; compile it again");
  }
  IREE_RETURN_IF_ERROR(mlxcel_identity_query(request->device, request->cpu_level, request->compiler_digest, &identity));
  IREE_RETURN_IF_ERROR(profile_is_pinned(profile) ? load_built_in(request->evidence_folder, &identity, contract, &evidence)
                                                  : load_store(request->evidence_folder, &evidence));
  iree_status_t status = judge_clauses(profile, contract, &identity, &evidence, &closed);
  if (iree_status_is_ok(status) && closed.count > 0) status = closed_status(profile, contract, &identity, &closed);
  mlxcel_evidence_list_deinitialize(&evidence);
  if (iree_status_is_ok(status) && profile_is_pinned(profile)) status = mlxcel_self_check_run(request->contract_text, request->cpu_level);
  return status;
}

iree_status_t mlxcel_capability_check(const mlxcel_capability_request_t* request) {
  mlxcel_parsed_contract_t contract;
  IREE_RETURN_IF_ERROR(mlxcel_contract_parse(request->contract_text, "the module's contract", &contract));
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(contract.profile));
  iree_status_t status = profile ? check_contract(request, profile, &contract)
                                 : iree_make_status(IREE_STATUS_FAILED_PRECONDITION,
                                                    "profile '%s' is unknown, so closed; `mlxcel capabilities` lists those that are known", contract.profile);
  mlxcel_parsed_contract_deinitialize(&contract);
  return status;
}

// --- the list ------------------------------------------------------------------------------------------------------------------------------

typedef struct capability_list_t {
  size_t count, capacity;
  mlxcel_capability_t* items;
  const mlxcel_profile_t* profile;
  const mlxcel_identity_t* identity;
  const mlxcel_evidence_list_t* evidence;
  const char* failure;         // of the self-check, "" without; closes everything that it speaks for
  mlxcel_contract_t contract;  // the profile's clauses so far: operations that share one make one row
  bool only_collects;          // the clauses, no rows
} capability_list_t;

static iree_status_t list_reserve(capability_list_t* list) {
  if (list->count < list->capacity) return iree_ok_status();
  size_t capacity = list->capacity ? list->capacity * 2 : 256;
  mlxcel_capability_t* items = realloc(list->items, capacity * sizeof(*items));
  if (!items) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for capabilities; free some memory");
  list->items = items;
  list->capacity = capacity;
  return iree_ok_status();
}

static void fill_row(const capability_list_t* list, const mlxcel_clause_t* clause, const mlxcel_gate_verdict_t* verdict, mlxcel_capability_t* row) {
  memset(row, 0, sizeof(*row));
  snprintf(row->profile, sizeof(row->profile), "%s", list->profile->name);
  snprintf(row->op, sizeof(row->op), "%s", mlxcel_op_class_name(clause->op));
  snprintf(row->variant, sizeof(row->variant), "%s", mlxcel_op_variant_name(clause->variant));
  snprintf(row->source_dtype, sizeof(row->source_dtype), "%s", or_none(clause->source_dtype));
  snprintf(row->operand_dtype, sizeof(row->operand_dtype), "%s", or_none(clause->operand_dtype));
  snprintf(row->device, sizeof(row->device), "%s", list->identity->device);
  snprintf(row->cpu_level, sizeof(row->cpu_level), "%s", list->identity->cpu_level);
  bool failed = list->failure && list->failure[0] && verdict->state == MLXCEL_GATE_OPEN;
  snprintf(row->claim, sizeof(row->claim), "%s", verdict->claim);
  row->is_inferred = verdict->is_inferred;
  snprintf(row->state, sizeof(row->state), "%s", failed ? mlxcel_gate_state_name(MLXCEL_GATE_CLOSED) : mlxcel_gate_state_name(verdict->state));
  snprintf(row->reason, sizeof(row->reason), "%s", failed ? list->failure : verdict->reason);
}

// The clause as a module would carry it: with its kernel's source digest. Declared profiles emit nothing, so theirs stays as it is.
static iree_status_t visit_clause(void* user_data, const mlxcel_operation_t* operation, const mlxcel_clause_t* declared) {
  capability_list_t* list = user_data;
  mlxcel_clause_storage_t emitted;
  const mlxcel_clause_t* clause = declared;
  if (!list->profile->is_declared_only) {
    IREE_RETURN_IF_ERROR(mlxcel_emit_clause_of(list->profile, operation, &emitted));
    clause = &emitted.clause;
  }
  size_t count = list->contract.clause_count;
  IREE_RETURN_IF_ERROR(mlxcel_contract_add(&list->contract, clause));
  if (list->only_collects || list->contract.clause_count == count) return iree_ok_status();
  mlxcel_gate_verdict_t verdict;
  IREE_RETURN_IF_ERROR(mlxcel_gate_judge(list->profile, clause, list->identity, list->evidence, &verdict));
  IREE_RETURN_IF_ERROR(list_reserve(list));
  fill_row(list, clause, &verdict, &list->items[list->count++]);
  return iree_ok_status();
}

// Runs the self-check over every clause of the default profile; what it finds becomes |failure|.
static iree_status_t list_self_check(const char* cpu_level, char failure[160]) {
  failure[0] = 0;
  capability_list_t collector = {.profile = mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_PINNED_F32)), .only_collects = true};
  mlxcel_contract_initialize(MLXCEL_PROFILE_PINNED_F32, &collector.contract);
  char* text = NULL;
  mlxcel_sha256_hex_t fingerprint;
  iree_status_t status = mlxcel_profile_visit(collector.profile, visit_clause, &collector);
  if (iree_status_is_ok(status)) status = mlxcel_contract_finish(&collector.contract, &text, &fingerprint);
  mlxcel_contract_deinitialize(&collector.contract);
  IREE_RETURN_IF_ERROR(status);
  status = mlxcel_self_check_run(iree_make_cstring_view(text), cpu_level);
  free(text);
  if (iree_status_is_ok(status)) return status;
  char message[1024];
  mlxcel_status_text(status, message, sizeof(message));
  iree_status_ignore(status);
  snprintf(failure, 160, "%.150s", message);
  return iree_ok_status();
}

typedef struct list_sources_t {
  const char* cpu_level;
  const char* compiler_digest;
  mlxcel_evidence_list_t built_in, store;
  char failure[160];  // of the self-check
} list_sources_t;

static iree_status_t list_profiles_on(const list_sources_t* sources, const char* device, capability_list_t* list) {
  mlxcel_identity_t identity;
  IREE_RETURN_IF_ERROR(mlxcel_identity_query(device, sources->cpu_level, sources->compiler_digest, &identity));
  list->identity = &identity;
  const mlxcel_profile_t* profile = NULL;
  for (size_t i = 0; (profile = mlxcel_profile_at(i)) != NULL; ++i) {
    bool pinned = profile_is_pinned(profile);
    list->profile = profile;
    list->evidence = pinned ? &sources->built_in : &sources->store;
    list->failure = pinned ? sources->failure : NULL;
    mlxcel_contract_initialize(profile->name, &list->contract);
    iree_status_t status = mlxcel_profile_visit(profile, visit_clause, list);
    mlxcel_contract_deinitialize(&list->contract);
    IREE_RETURN_IF_ERROR(status);
  }
  return iree_ok_status();
}

static iree_status_t list_fill(const list_sources_t* sources, capability_list_t* list) {
  static const char* const devices[] = {"local-task", "local-sync"};
  for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); ++i) {
    IREE_RETURN_IF_ERROR(list_profiles_on(sources, devices[i], list));
  }
  return iree_ok_status();
}

// A store that can't be read is an empty one: the list tells what is open without it.
static iree_status_t list_load_store(const char* folder, mlxcel_evidence_list_t* out_list) {
  iree_status_t status = load_store(folder, out_list);
  if (iree_status_is_ok(status) || iree_status_is_resource_exhausted(status)) return status;
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_ignore(status);
  mlxcel_log(MLXCEL_LOG_WARNING, "%s; the list is made without recorded evidence", text);
  return iree_ok_status();
}

// What is built in, and what the store says of the default profile.
static iree_status_t list_load_built_in(list_sources_t* sources) {
  iree_status_t status = mlxcel_evidence_built_in(&sources->built_in);
  for (size_t i = 0; i < sources->store.count && iree_status_is_ok(status); ++i) {
    if (strcmp(sources->store.items[i].profile, MLXCEL_PROFILE_PINNED_F32) == 0)
      status = mlxcel_evidence_list_add(&sources->built_in, &sources->store.items[i]);
  }
  return status;
}

iree_status_t mlxcel_capability_list(const char* evidence_folder, const char* compiler_digest, const char* cpu_level, size_t* out_count,
                                     mlxcel_capability_t** out_capabilities) {
  *out_count = 0;
  *out_capabilities = NULL;
  mlxcel_kernel_level_t level = MLXCEL_KERNEL_LEVEL_V3;
  IREE_RETURN_IF_ERROR(mlxcel_kernel_level_select(iree_make_cstring_view(cpu_level ? cpu_level : ""), &level));
  list_sources_t sources = {.cpu_level = mlxcel_kernel_level_name(level), .compiler_digest = compiler_digest};
  capability_list_t list = {0};
  iree_status_t status = list_load_store(evidence_folder, &sources.store);
  if (iree_status_is_ok(status)) status = list_load_built_in(&sources);
  if (iree_status_is_ok(status)) status = list_self_check(sources.cpu_level, sources.failure);
  if (iree_status_is_ok(status)) status = list_fill(&sources, &list);
  mlxcel_evidence_list_deinitialize(&sources.built_in);
  mlxcel_evidence_list_deinitialize(&sources.store);
  if (!iree_status_is_ok(status)) {
    free(list.items);
    return status;
  }
  *out_count = list.count;
  *out_capabilities = list.items;
  return status;
}
