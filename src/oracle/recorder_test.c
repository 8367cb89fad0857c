// What becomes a record: complete, repeated, compared by one compiler; and what a run disproves takes the place of what was believed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/operation_emitter.h"
#include "oracle/recorder.h"

#define D(c) c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c

static void assert_ok(iree_status_t status) {
  if (iree_status_is_ok(status)) return;
  iree_status_fprint(stderr, status);
  fail();
}

typedef struct scene_t {
  const mlxcel_profile_t* profile;
  mlxcel_parsed_contract_t contract;  // of one clause
  mlxcel_identity_t identity;
  mlxcel_recorder_t recorder;
} scene_t;

static void scene_begin(const char* profile, scene_t* scene) {
  memset(scene, 0, sizeof(*scene));
  scene->profile = mlxcel_profile_find(iree_make_cstring_view(profile));
  const mlxcel_operation_t operation = {.op = MLXCEL_OP_RMS_NORM, .variant = MLXCEL_VARIANT_PLAIN, .rows = 2, .in_features = 64, .epsilon = 1e-5f};
  mlxcel_emitted_operation_t emitted;
  assert_ok(mlxcel_emit_operation_module(scene->profile, &operation, &emitted));
  assert_ok(mlxcel_contract_parse(iree_make_cstring_view(emitted.contract_text), "the contract", &scene->contract));
  mlxcel_emitted_operation_deinitialize(&emitted);
  assert_int_equal(scene->contract.clause_count, 1);
  assert_ok(mlxcel_identity_query("local-sync", "v3", D("6"), &scene->identity));
}

static void scene_end(scene_t* scene) {
  mlxcel_parsed_contract_deinitialize(&scene->contract);
  mlxcel_recorder_deinitialize(&scene->recorder);
}

// A case that earned |strongest| and what is below it (canonical isn't below production).
static void show(scene_t* scene, mlxcel_claim_t strongest, uint32_t repeats, bool was_compared) {
  mlxcel_claims_t claims = {.strongest = strongest};
  claims.earned[strongest] = strongest != MLXCEL_CLAIM_NONE;
  claims.earned[MLXCEL_CLAIM_CLOSENESS] = strongest != MLXCEL_CLAIM_NONE;
  const mlxcel_recorder_case_t shown = {.profile = scene->profile,
                                        .contract = &scene->contract,
                                        .identity = &scene->identity,
                                        .claims = &claims,
                                        .was_compared = was_compared,
                                        .outputs = 100,
                                        .repeats = repeats};
  assert_ok(mlxcel_recorder_add(&scene->recorder, &shown));
}

// The only record, or claim -1 if there is none.
static mlxcel_evidence_t only_record(const scene_t* scene, bool* out_exists) {
  mlxcel_evidence_list_t list;
  size_t left_out = 0;
  assert_ok(mlxcel_recorder_list(&scene->recorder, NULL, &list, &left_out));
  assert_int_equal(list.count + left_out, 1);
  *out_exists = list.count == 1;
  mlxcel_evidence_t record = {0};
  if (*out_exists) record = list.items[0];
  mlxcel_evidence_list_deinitialize(&list);
  return record;
}

static void recorder_sums_the_cases_of_a_clause(void** state) {
  (void)state;
  scene_t scene;
  scene_begin(MLXCEL_PROFILE_MLX_CPU, &scene);
  show(&scene, MLXCEL_CLAIM_PRODUCTION, 5, true);
  show(&scene, MLXCEL_CLAIM_PRODUCTION, 3, true);
  bool exists = false;
  mlxcel_evidence_t record = only_record(&scene, &exists);
  assert_true(exists);
  assert_int_equal(record.claim, MLXCEL_CLAIM_PRODUCTION);
  assert_int_equal(record.output_count, 200);
  assert_int_equal(record.case_count, 2);
  assert_int_equal(record.repeats, 3);
  assert_string_equal(record.reference_identity, scene.identity.mlx_reference.text);
  assert_string_equal(record.emitter_digest.text, scene.identity.emitter.text);
  assert_string_equal(record.host.text, scene.identity.host.text);
  assert_ok(mlxcel_evidence_check(&record));
  scene_end(&scene);
}

static void recorder_writes_that_one_case_disproves_a_clause(void** state) {
  (void)state;
  scene_t scene;
  scene_begin(MLXCEL_PROFILE_MLX_CPU, &scene);
  show(&scene, MLXCEL_CLAIM_PRODUCTION, 3, true);
  show(&scene, MLXCEL_CLAIM_NONE, 3, true);
  bool exists = false;
  mlxcel_evidence_t record = only_record(&scene, &exists);
  assert_true(exists);
  assert_int_equal(record.claim, MLXCEL_CLAIM_NONE);
  assert_string_equal(record.reference, MLXCEL_MLX_REFERENCE);
  assert_ok(mlxcel_evidence_check(&record));
  scene_end(&scene);
}

static void recorder_writes_the_claim_that_the_profile_needs(void** state) {
  (void)state;
  scene_t scene;
  scene_begin(MLXCEL_PROFILE_PINNED_F32, &scene);
  mlxcel_claims_t claims = {.earned = {false, true, true, true}, .strongest = MLXCEL_CLAIM_PRODUCTION};
  const mlxcel_recorder_case_t shown = {scene.profile, &scene.contract, &scene.identity, &claims, true, 100, 3};
  assert_ok(mlxcel_recorder_add(&scene.recorder, &shown));
  bool exists = false;
  mlxcel_evidence_t record = only_record(&scene, &exists);
  assert_true(exists);
  assert_int_equal(record.claim, MLXCEL_CLAIM_CANONICAL);
  assert_string_equal(record.reference, MLXCEL_DECLARED_REFERENCE);
  scene_end(&scene);
}

static void miss(scene_t* scene) { assert_ok(mlxcel_recorder_miss(&scene->recorder, scene->profile, &scene->contract)); }
static void miss_of_another_profile(scene_t* scene) {
  assert_ok(mlxcel_recorder_miss(&scene->recorder, mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_IREE_CANONICAL)), &scene->contract));
}
static void show_by_another_compiler(scene_t* scene) {
  snprintf(scene->identity.compiler.text, sizeof(scene->identity.compiler.text), "%s", D("7"));
  show(scene, MLXCEL_CLAIM_PRODUCTION, 3, true);
}
static void show_without_module(scene_t* scene) {
  scene->identity.compiler.text[0] = 0;
  show(scene, MLXCEL_CLAIM_PRODUCTION, 3, true);
}

static void recorder_leaves_out_what_was_shown_in_part(void** state) {
  (void)state;
  const struct {
    const char* name;
    uint32_t repeats;
    bool was_compared;
    void (*then)(scene_t* scene);
    bool is_recorded;
  } cases[] = {
      {"complete", 3, true, NULL, true},
      {"two calls", 2, true, NULL, false},
      {"a case of the clause left out", 3, true, miss, false},
      {"a case of another profile left out", 3, true, miss_of_another_profile, true},
      {"two compilers", 3, true, show_by_another_compiler, false},
      {"a case that has no module", 3, true, show_without_module, true},
      {"no reference", 3, false, NULL, false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    scene_t scene;
    scene_begin(MLXCEL_PROFILE_MLX_CPU, &scene);
    show(&scene, MLXCEL_CLAIM_PRODUCTION, cases[i].repeats, cases[i].was_compared);
    if (cases[i].then) cases[i].then(&scene);
    bool exists = false;
    mlxcel_evidence_t record = only_record(&scene, &exists);
    if (exists != cases[i].is_recorded) fail_msg("%s: recorded %d", cases[i].name, exists);
    if (exists) assert_string_equal(record.compiler_digest.text, D("6"));
    scene_end(&scene);
  }
}

static void recorder_names_the_compiler_of_every_clauses_own_module(void** state) {
  (void)state;
  scene_t scene;
  scene_begin(MLXCEL_PROFILE_MLX_CPU, &scene);
  show(&scene, MLXCEL_CLAIM_PRODUCTION, 3, true);
  scene_t other;
  scene_begin(MLXCEL_PROFILE_IREE_CANONICAL, &other);
  snprintf(other.identity.compiler.text, sizeof(other.identity.compiler.text), "%s", D("7"));
  other.recorder = scene.recorder;
  show(&other, MLXCEL_CLAIM_CANONICAL, 3, true);
  scene.recorder = other.recorder;
  memset(&other.recorder, 0, sizeof(other.recorder));
  mlxcel_evidence_list_t list;
  size_t left_out = 0;
  assert_ok(mlxcel_recorder_list(&scene.recorder, NULL, &list, &left_out));
  assert_int_equal(list.count, 2);
  assert_string_equal(list.items[0].compiler_digest.text, D("6"));
  assert_string_equal(list.items[1].compiler_digest.text, D("7"));
  mlxcel_evidence_list_deinitialize(&list);
  scene_end(&other);
  scene_end(&scene);
}

static void recorder_reduces_storages_of_a_kind_to_the_widest_record(void** state) {
  (void)state;
  const struct {
    const char *source, *algorithm;
    uint64_t outputs;
  } items[] = {{"f32", "a", 5}, {"f16", "a", 9}, {"affine-u4-g32-f32", "a", 3}, {"bf16", "a", 7}, {"f32", "b", 2}, {"affine-u8-g64-f16+bias-f16", "a", 1}};
  mlxcel_evidence_t records[6] = {0};
  for (size_t i = 0; i < 6; ++i) {
    snprintf(records[i].source_dtype, sizeof(records[i].source_dtype), "%s", items[i].source);
    snprintf(records[i].algorithm, sizeof(records[i].algorithm), "%s", items[i].algorithm);
    records[i].output_count = items[i].outputs;
  }
  mlxcel_evidence_list_t list = {6, records};
  mlxcel_recorder_reduce(&list);
  assert_int_equal(list.count, 3);
  assert_string_equal(records[0].source_dtype, "f16");
  assert_string_equal(records[1].source_dtype, "affine-u4-g32-f32");
  assert_string_equal(records[2].algorithm, "b");
  // One storage that was disproved stands for its kind.
  records[0].claim = MLXCEL_CLAIM_CANONICAL;
  records[1] = records[0];
  records[1].claim = MLXCEL_CLAIM_NONE;
  records[1].output_count = 1;
  list.count = 2;
  mlxcel_recorder_reduce(&list);
  assert_int_equal(list.count, 1);
  assert_int_equal(records[0].claim, MLXCEL_CLAIM_NONE);
}

static void recorder_keeps_every_storage_of_a_cache_that_is_written(void** state) {
  (void)state;
  static const char* const sources[] = {"f32", "f16", "bf16", "f16"};
  mlxcel_evidence_t records[4] = {0};
  for (size_t i = 0; i < 4; ++i) {
    snprintf(records[i].op, sizeof(records[i].op), "kv-store");
    snprintf(records[i].source_dtype, sizeof(records[i].source_dtype), "%s", sources[i]);
  }
  mlxcel_evidence_list_t list = {4, records};
  mlxcel_recorder_reduce(&list);
  assert_int_equal(list.count, 3);
  for (size_t i = 0; i < 3; ++i) assert_string_equal(records[i].source_dtype, sources[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorder_sums_the_cases_of_a_clause),
      cmocka_unit_test(recorder_writes_that_one_case_disproves_a_clause),
      cmocka_unit_test(recorder_writes_the_claim_that_the_profile_needs),
      cmocka_unit_test(recorder_leaves_out_what_was_shown_in_part),
      cmocka_unit_test(recorder_names_the_compiler_of_every_clauses_own_module),
      cmocka_unit_test(recorder_reduces_storages_of_a_kind_to_the_widest_record),
      cmocka_unit_test(recorder_keeps_every_storage_of_a_cache_that_is_written),
  };
  return cmocka_run_group_tests_name("oracle_recorder", tests, NULL, NULL);
}
