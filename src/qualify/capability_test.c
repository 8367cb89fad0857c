// Modules against the evidence of a folder and of this program: open, closed and why; and the list of it all.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/log.h"
#include "contract/contract_parse.h"
#include "emit/operation_emitter.h"
#include "qualify/capability.h"
#include "qualify/identity.h"

#define COMPILER "6666666666666666666666666666666666666666666666666666666666666666"
#define OTHER_COMPILER "7777777777777777777777777777777777777777777777777777777777777777"
#define LEVEL "v3"

static void assert_ok(iree_status_t status) {
  char text[2048] = "";
  if (iree_status_is_ok(status)) return;
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  fail_msg("%s", text);
}

// Asserts the code and that the message has each of |parts| (ends with NULL); frees the status.
static void assert_fails(iree_status_t status, iree_status_code_t code, const char* const* parts) {
  char text[2048] = "";
  if (!iree_status_is_ok(status)) mlxcel_status_text(status, text, sizeof(text));
  if (iree_status_code(status) != code) fail_msg("code %d, '%s'; expected code %d", iree_status_code(status), text, code);
  for (; *parts; ++parts) {
    if (!strstr(text, *parts)) fail_msg("'%s' lacks '%s'", text, *parts);
  }
  iree_status_free(status);
}
#define ASSERT_CLOSED(status, ...) assert_fails(status, IREE_STATUS_FAILED_PRECONDITION, (const char* const[]){__VA_ARGS__, NULL})

static const mlxcel_profile_t* find_profile(const char* name) {
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(name));
  assert_non_null(profile);
  return profile;
}

// --- scenes --------------------------------------------------------------------------------------------------------------------------------

#define OPERATIONS 3
// Three operations that every emitting profile defines: rms-norm, quantized matmul, residual add.
static mlxcel_operation_t operation_at(size_t index) {
  mlxcel_operation_t operation = {.op = MLXCEL_OP_RESIDUAL_ADD, .rows = 2, .in_features = 64, .out_features = 64};
  if (index == 0) {
    operation.op = MLXCEL_OP_RMS_NORM;
    operation.variant = MLXCEL_VARIANT_PLAIN;
    operation.epsilon = 1e-5f;
  } else if (index == 1) {
    operation.op = MLXCEL_OP_QUANTIZED_MATMUL;
    operation.bits = 4;
    operation.group_size = 32;
  }
  return operation;
}

static char* make_contract(const char* profile_name) {
  mlxcel_contract_t contract;
  mlxcel_contract_initialize(profile_name, &contract);
  for (size_t i = 0; i < OPERATIONS; ++i) {
    mlxcel_operation_t operation = operation_at(i);
    mlxcel_clause_storage_t storage;
    assert_ok(mlxcel_emit_clause_of(find_profile(profile_name), &operation, &storage));
    assert_ok(mlxcel_contract_add(&contract, &storage.clause));
  }
  char* text = NULL;
  mlxcel_sha256_hex_t fingerprint;
  assert_ok(mlxcel_contract_finish(&contract, &text, &fingerprint));
  mlxcel_contract_deinitialize(&contract);
  return text;
}

typedef struct scene_t {
  char* folder;
  char* contract;  // of profile mlx-cpu-0.32.4
} scene_t;

static mlxcel_evidence_t make_record(size_t index, const char* device, mlxcel_claim_t claim) {
  mlxcel_identity_t identity;
  mlxcel_operation_t operation = operation_at(index);
  mlxcel_clause_storage_t storage;
  mlxcel_evidence_t record;
  assert_ok(mlxcel_identity_query(device, LEVEL, COMPILER, &identity));
  assert_ok(mlxcel_emit_clause_of(find_profile(MLXCEL_PROFILE_MLX_CPU), &operation, &storage));
  assert_ok(mlxcel_identity_fill(&identity, MLXCEL_PROFILE_MLX_CPU, &storage.clause, MLXCEL_MLX_REFERENCE, NULL, &record));
  record.claim = claim;
  record.output_count = record.case_count = 1;
  record.repeats = 3;
  return record;
}

static void write_record(const scene_t* scene, size_t index, const char* device, mlxcel_claim_t claim) {
  mlxcel_evidence_t record = make_record(index, device, claim);
  assert_ok(mlxcel_evidence_write(scene->folder, &record));
}

static int scene_setup(void** state) {
  scene_t* scene = calloc(1, sizeof(*scene));
  if (!scene || !iree_status_is_ok(mlxcel_directory_create_temporary("/tmp", "mlxcel-capability-", &scene->folder))) return -1;
  scene->contract = make_contract(MLXCEL_PROFILE_MLX_CPU);
  *state = scene;
  return 0;
}

static int scene_teardown(void** state) {
  scene_t* scene = *state;
  iree_status_ignore(mlxcel_directory_remove(scene->folder));
  free(scene->folder);
  free(scene->contract);
  free(scene);
  return 0;
}

static iree_status_t check(const scene_t* scene, const char* device, const char* level, const char* compiler) {
  const mlxcel_capability_request_t request = {iree_make_cstring_view(scene->contract), device, level, compiler, scene->folder};
  return mlxcel_capability_check(&request);
}

// --- one module ----------------------------------------------------------------------------------------------------------------------------

static void capability_without_evidence_names_the_clause_and_the_remedy(void** state) {
  ASSERT_CLOSED(check(*state, "local-task", LEVEL, COMPILER), "mlx-cpu-0.32.4 is closed on local-task at CPU level v3", "3 of 3 clauses",
                "quantized-matmul none of affine-u4-g32-f32 in f32: closed: no record",
                "`mlxcel oracle run --all --profile mlx-cpu-0.32.4 --device local-task --cpu-level v3`");
}

static void capability_with_a_record_for_every_clause_is_open_there_and_nowhere_else(void** state) {
  const scene_t* scene = *state;
  for (size_t i = 0; i < OPERATIONS; ++i) write_record(scene, i, "local-task", MLXCEL_CLAIM_PRODUCTION);
  assert_ok(check(scene, "local-task", LEVEL, COMPILER));
  ASSERT_CLOSED(check(scene, "local-sync", LEVEL, COMPILER), "3 of 3", "stale: the record is of device local-task");
  ASSERT_CLOSED(check(scene, "local-task", "v4", COMPILER), "3 of 3", "stale: the record is of CPU level v3");
  ASSERT_CLOSED(check(scene, "local-task", LEVEL, OTHER_COMPILER), "3 of 3", "stale: the record is of compiler 666666666666, this is 777777777777",
                "--cpu-level v3 --compiler FILE`");
  ASSERT_CLOSED(check(scene, "local-task", LEVEL, NULL), "this is unknown");
  ASSERT_CLOSED(check(scene, "cuda", LEVEL, COMPILER), "closed on cuda", "device local-task");
}

static void capability_with_one_clause_too_few_counts_it(void** state) {
  const scene_t* scene = *state;
  write_record(scene, 0, "local-task", MLXCEL_CLAIM_PRODUCTION);
  write_record(scene, 1, "local-task", MLXCEL_CLAIM_CLOSENESS);
  write_record(scene, 2, "local-task", MLXCEL_CLAIM_PRODUCTION);
  ASSERT_CLOSED(check(scene, "local-task", LEVEL, COMPILER), "1 of 3", "quantized-matmul", "mathematical-closeness is less than production-mlx@mlx-cpu-0.32.4");
}

static void capability_loses_a_record_that_was_tampered_with(void** state) {
  const scene_t* scene = *state;
  for (size_t i = 0; i < OPERATIONS; ++i) write_record(scene, i, "local-task", MLXCEL_CLAIM_PRODUCTION);
  char command[600];
  snprintf(command, sizeof(command), "sed -i 's/\"repeats\": 3/\"repeats\": 4/' %s/*.json", scene->folder);
  assert_int_equal(system(command), 0);
  ASSERT_CLOSED(check(scene, "local-task", LEVEL, COMPILER), "3 of 3", "no record");
}

static void capability_of_an_older_mlx_build_is_stale(void** state) {
  const scene_t* scene = *state;
  for (size_t i = 0; i < OPERATIONS; ++i) {
    mlxcel_evidence_t record = make_record(i, "local-task", MLXCEL_CLAIM_PRODUCTION);
    snprintf(record.reference_identity, sizeof(record.reference_identity), "%s", OTHER_COMPILER);
    assert_ok(mlxcel_evidence_write(scene->folder, &record));
  }
  ASSERT_CLOSED(check(scene, "local-task", LEVEL, COMPILER), "3 of 3", "stale: the reference mlx-cpu-0.32.4 was build 777777777777");
}

// |text| with the first |from| replaced.
static char* replaced(const char* text, const char* from, const char* to) {
  const char* at = strstr(text, from);
  assert_non_null(at);
  size_t capacity = strlen(text) + strlen(to) + 1;
  char* changed = malloc(capacity);
  assert_non_null(changed);
  snprintf(changed, capacity, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return changed;
}

static void capability_of_an_altered_contract_is_closed(void** state) {
  scene_t* scene = *state;
  for (size_t i = 0; i < OPERATIONS; ++i) write_record(scene, i, "local-task", MLXCEL_CLAIM_PRODUCTION);
  static const struct {
    const char *from, *to, *part;
  } cases[] = {
      {"profile=mlx-cpu-0.32.4", "profile=iree-canonical", "no production claim"},
      {"profile=mlx-cpu-0.32.4", "profile=mlx-cuda-0.32.4-sm80", "declared only"},
      {"denormals=keep", "denormals=flush", "1 of 3"},
      {"representable=yes", "representable=no:cudnn-plan", "1 of 3"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    char* changed = replaced(scene->contract, cases[i].from, cases[i].to);
    const mlxcel_capability_request_t request = {iree_make_cstring_view(changed), "local-task", LEVEL, COMPILER, scene->folder};
    ASSERT_CLOSED(mlxcel_capability_check(&request), cases[i].part);
    free(changed);
  }
}

static void capability_of_a_contract_without_clauses_is_closed(void** state) {
  const scene_t* scene = *state;
  char text[160];
  snprintf(text, sizeof(text), "mlxcel_contract=%d\nprofile=pinned-f32\nclauses=0\n", MLXCEL_CONTRACT_VERSION);
  const mlxcel_capability_request_t request = {iree_make_cstring_view(text), "local-task", LEVEL, COMPILER, scene->folder};
  iree_status_t status = mlxcel_capability_check(&request);
  assert_false(iree_status_is_ok(status));
  iree_status_ignore(status);
}

// --- the default profile -------------------------------------------------------------------------------------------------------------------

static void capability_of_the_default_profile_needs_nothing_but_the_program(void** state) {
  const scene_t* scene = *state;
  char* contract = make_contract(MLXCEL_PROFILE_PINNED_F32);
  char missing[600];
  snprintf(missing, sizeof(missing), "%s/missing", scene->folder);
  static const char* const devices[] = {"local-task", "local-sync"};
  for (size_t i = 0; i < 2; ++i) {
    const mlxcel_capability_request_t request = {iree_make_cstring_view(contract), devices[i], LEVEL, NULL, missing};
    assert_ok(mlxcel_capability_check(&request));
  }
  // What a run on this machine has disproved closes it.
  mlxcel_identity_t identity;
  mlxcel_operation_t operation = operation_at(0);
  mlxcel_clause_storage_t storage;
  mlxcel_evidence_t record;
  assert_ok(mlxcel_identity_query("local-task", LEVEL, COMPILER, &identity));
  assert_ok(mlxcel_emit_clause_of(find_profile(MLXCEL_PROFILE_PINNED_F32), &operation, &storage));
  assert_ok(mlxcel_identity_fill(&identity, MLXCEL_PROFILE_PINNED_F32, &storage.clause, MLXCEL_DECLARED_REFERENCE, NULL, &record));
  assert_ok(mlxcel_evidence_write(scene->folder, &record));
  const mlxcel_capability_request_t disproved = {iree_make_cstring_view(contract), "local-task", LEVEL, COMPILER, scene->folder};
  ASSERT_CLOSED(mlxcel_capability_check(&disproved), "1 of 3", "rms-norm", "the last run found mismatches");
  const mlxcel_capability_request_t elsewhere = {iree_make_cstring_view(contract), "local-sync", LEVEL, COMPILER, scene->folder};
  assert_ok(mlxcel_capability_check(&elsewhere));
  const mlxcel_capability_request_t request = {iree_make_cstring_view(contract), "hip", LEVEL, NULL, missing};
  ASSERT_CLOSED(mlxcel_capability_check(&request), "pinned-f32 is closed on hip", "use device local-task or local-sync");
  free(contract);
}

// --- the list ------------------------------------------------------------------------------------------------------------------------------

typedef struct list_t {
  size_t count;
  mlxcel_capability_t* rows;
} list_t;

static list_t make_list(const scene_t* scene) {
  list_t list;
  assert_ok(mlxcel_capability_list(scene->folder, COMPILER, LEVEL, &list.count, &list.rows));
  assert_true(list.count > 0);
  return list;
}

static size_t count_rows(const list_t* list, const char* profile, const char* device, const char* state) {
  size_t count = 0;
  for (size_t i = 0; i < list->count; ++i) {
    const mlxcel_capability_t* row = &list->rows[i];
    bool wanted = strcmp(row->profile, profile) == 0 && (!device || strcmp(row->device, device) == 0) && (!state || strcmp(row->state, state) == 0);
    if (wanted) ++count;
  }
  return count;
}

static void capability_list_of_a_fresh_clone_opens_the_default_profile_only(void** state) {
  list_t list = make_list(*state);
  const mlxcel_profile_t* profile = NULL;
  for (size_t i = 0; (profile = mlxcel_profile_at(i)) != NULL; ++i) {
    static const char* const devices[] = {"local-task", "local-sync"};
    for (size_t d = 0; d < 2; ++d) {
      size_t all = count_rows(&list, profile->name, devices[d], NULL), open = count_rows(&list, profile->name, devices[d], "open");
      print_message("%s on %s: %zu of %zu open\n", profile->name, devices[d], open, all);
      assert_true(all > 0);
      assert_int_equal(open, strcmp(profile->name, MLXCEL_PROFILE_PINNED_F32) == 0 ? all : 0);
    }
  }
  for (size_t i = 0; i < list.count; ++i) {
    assert_string_equal(list.rows[i].cpu_level, LEVEL);
    if (strncmp(list.rows[i].profile, "mlx-cuda-", 9) != 0) continue;
    assert_true(strstr(list.rows[i].reason, "declared only") || strstr(list.rows[i].reason, "can't be expressed"));
  }
  free(list.rows);
}

static void capability_list_shows_what_evidence_opens_and_what_it_leaves_stale(void** state) {
  const scene_t* scene = *state;
  write_record(scene, 1, "local-task", MLXCEL_CLAIM_PRODUCTION);
  mlxcel_evidence_t old = make_record(0, "local-task", MLXCEL_CLAIM_PRODUCTION);
  old.contract_version -= 1;
  assert_ok(mlxcel_evidence_write(scene->folder, &old));
  list_t list = make_list(scene);
  assert_int_equal(count_rows(&list, MLXCEL_PROFILE_MLX_CPU, "local-task", "open"), 1);
  assert_int_equal(count_rows(&list, MLXCEL_PROFILE_MLX_CPU, "local-sync", "open"), 0);
  bool found = false;
  for (size_t i = 0; i < list.count; ++i) {
    const mlxcel_capability_t* row = &list.rows[i];
    if (strcmp(row->profile, MLXCEL_PROFILE_MLX_CPU) != 0 || strcmp(row->device, "local-task") != 0) continue;
    if (strcmp(row->state, "open") == 0) {
      assert_string_equal(row->op, "quantized-matmul");
      assert_string_equal(row->source_dtype, "affine-u4-g32-f32");
      assert_string_equal(row->claim, "production-mlx@mlx-cpu-0.32.4");
      assert_string_equal(row->reason, "");
    }
    if (strcmp(row->state, "stale") == 0) {
      assert_string_equal(row->op, "rms-norm");
      assert_non_null(strstr(row->reason, "contract version"));
      assert_string_equal(row->claim, "none");
      found = true;
    }
  }
  assert_true(found);
  free(list.rows);
}

#define WITH_SCENE(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_SCENE(capability_without_evidence_names_the_clause_and_the_remedy),
      WITH_SCENE(capability_with_a_record_for_every_clause_is_open_there_and_nowhere_else),
      WITH_SCENE(capability_with_one_clause_too_few_counts_it),
      WITH_SCENE(capability_loses_a_record_that_was_tampered_with),
      WITH_SCENE(capability_of_an_older_mlx_build_is_stale),
      WITH_SCENE(capability_of_an_altered_contract_is_closed),
      WITH_SCENE(capability_of_a_contract_without_clauses_is_closed),
      WITH_SCENE(capability_of_the_default_profile_needs_nothing_but_the_program),
      WITH_SCENE(capability_list_of_a_fresh_clone_opens_the_default_profile_only),
      WITH_SCENE(capability_list_shows_what_evidence_opens_and_what_it_leaves_stale),
  };
  return cmocka_run_group_tests_name("qualify_capability", tests, NULL, NULL);
}
