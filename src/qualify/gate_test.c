// The predicate behind capabilities, case by case: a valid record, and everything that makes it worth less.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/contract_parse.h"
#include "kernels/kernel_table.h"
#include "qualify/gate.h"
#include "qualify/host_identity.h"

#define D(c) c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c
#define RECORDS_MAX 3

// Everything that a verdict depends on. Cases start from a scene whose verdict is "open" and change one thing.
typedef struct scene_t {
  mlxcel_profile_t profile;
  mlxcel_clause_t clause;
  mlxcel_identity_t identity;
  mlxcel_evidence_t records[RECORDS_MAX];
  size_t record_count;
} scene_t;

static void assert_ok(iree_status_t status) {
  if (iree_status_is_ok(status)) return;
  iree_status_fprint(stderr, status);
  iree_status_free(status);
  fail();
}

static void make_identity(mlxcel_identity_t* identity) {
  *identity = (mlxcel_identity_t){.device = "local-task",
                                  .cpu_level = "v3",
                                  .contract_version = 7,
                                  .pinned_object = {D("1")},
                                  .mlx_object = {D("2")},
                                  .host_object = {D("3")},
                                  .pinned_source = {D("4")},
                                  .scalar_reference = {D("5")},
                                  .mlx_reference = {D("b")},
                                  .emitter = {D("e")},
                                  .host = {D("f")},
                                  .compiler = {D("6")},
                                  .runtime = "runtime 1 " D("7")};
}

static scene_t mlx_scene(void) {
  scene_t scene = {.profile = {.name = "mlx-cpu-0.32.4", .reference = "mlx-cpu-0.32.4"}};
  scene.clause = (mlxcel_clause_t){.op = MLXCEL_OP_RMS_NORM,
                                   .variant = MLXCEL_VARIANT_PLAIN,
                                   .source_dtype = "f16",
                                   .operand_dtype = "f16",
                                   .accumulator = "f32",
                                   .result_dtype = "f16",
                                   .denormals = "keep",
                                   .algorithm = "mlxcel_mlx_rms_norm",
                                   .algorithm_version = 1,
                                   .source_digest = D("8"),
                                   .tolerance = "exact",
                                   .representable = "yes"};
  make_identity(&scene.identity);
  return scene;
}

static scene_t pinned_scene(void) {
  scene_t scene = mlx_scene();
  scene.profile = (mlxcel_profile_t){.name = "pinned-f32", .rope_tables = true};
  scene.clause.operand_dtype = scene.clause.result_dtype = "f32";
  scene.clause.rounding = "product-sum:fma-f32+tree:f32";
  scene.clause.association = "lanes(16,tree)";
  scene.clause.algorithm = "mlxcel_pinned_rms_norm";
  scene.clause.source_digest = D("4");
  return scene;
}

// Adds what the oracle would record of the scene now.
static mlxcel_evidence_t* add_record(scene_t* scene, mlxcel_claim_t claim, const char* reference) {
  mlxcel_evidence_t* record = &scene->records[scene->record_count++];
  bool known = mlxcel_identity_reference(&scene->identity, reference)[0] != 0;
  assert_ok(mlxcel_identity_fill(&scene->identity, scene->profile.name, &scene->clause, reference, known ? NULL : D("9"), record));
  record->claim = claim;
  record->output_count = 1000;
  record->case_count = 4;
  record->repeats = 3;
  assert_ok(mlxcel_evidence_check(record));
  return record;
}

static mlxcel_gate_verdict_t judge(scene_t* scene) {
  const mlxcel_evidence_list_t list = {scene->record_count, scene->records};
  mlxcel_gate_verdict_t verdict;
  assert_ok(mlxcel_gate_judge(&scene->profile, &scene->clause, &scene->identity, &list, &verdict));
  return verdict;
}

typedef struct case_t {
  const char* name;
  void (*change)(scene_t* scene);
  mlxcel_gate_state_t state;
  const char* claim;
  const char* reason;  // a part
} case_t;

static void check_cases(scene_t (*make)(void), mlxcel_claim_t claim, const char* reference, size_t count, const case_t* cases) {
  for (size_t i = 0; i < count; ++i) {
    scene_t scene = make();
    add_record(&scene, claim, reference);
    if (cases[i].change) cases[i].change(&scene);
    mlxcel_gate_verdict_t verdict = judge(&scene);
    bool right = verdict.state == cases[i].state && strcmp(verdict.claim, cases[i].claim) == 0 && strstr(verdict.reason, cases[i].reason) &&
                 (verdict.reason[0] == 0) == (verdict.state == MLXCEL_GATE_OPEN);
    if (!right) fail_msg("%s: %s, claim '%s', reason '%s'", cases[i].name, mlxcel_gate_state_name(verdict.state), verdict.claim, verdict.reason);
  }
}
#define CHECK(make, claim, reference, cases) check_cases(make, claim, reference, sizeof(cases) / sizeof((cases)[0]), cases)

#define SET(field, text) snprintf(field, sizeof(field), "%s", text)
#define CHANGE(name, statement) \
  static void name(scene_t* s) { statement; }

// --- profiles that need production claims ----------------------------------------------------------------------------------------------------

CHANGE(without_record, s->record_count = 0)
CHANGE(record_of_device, SET(s->records[0].device, "local-sync"))
CHANGE(record_of_level, SET(s->records[0].cpu_level, "v4"))
CHANGE(record_of_contract_version, s->records[0].contract_version = 6)
CHANGE(record_of_algorithm_version, s->records[0].algorithm_version = 2; SET(s->records[0].clause_digest.text, D("a")))
CHANGE(record_of_algorithm, SET(s->records[0].algorithm, "other"); SET(s->records[0].clause_digest.text, D("a")))
CHANGE(record_of_sources, SET(s->records[0].source_digest, D("b")); SET(s->records[0].clause_digest.text, D("a")))
CHANGE(record_of_sibling_clause, SET(s->records[0].clause_digest.text, D("a")))
CHANGE(record_of_mlx_build, SET(s->records[0].reference_identity, D("c")))
CHANGE(record_of_unknown_reference, SET(s->records[0].reference, "mlx-cpu-0.32.3"))
CHANGE(record_of_emitter, SET(s->records[0].emitter_digest.text, D("a")))
CHANGE(record_of_host, SET(s->records[0].host.text, D("a")))
CHANGE(record_of_two_calls, s->records[0].repeats = 2)
CHANGE(record_of_no_output, s->records[0].output_count = 0)
CHANGE(record_of_object, SET(s->records[0].object_digest.text, D("d")))
CHANGE(record_without_object, s->records[0].object_digest.text[0] = 0)
CHANGE(record_of_compiler, SET(s->records[0].compiler_digest.text, D("e")))
CHANGE(record_without_compiler, s->records[0].compiler_digest.text[0] = 0)
CHANGE(compiler_unknown, s->identity.compiler.text[0] = 0)
CHANGE(compiler_unknown_to_both, s->identity.compiler.text[0] = 0; s->records[0].compiler_digest.text[0] = 0)
CHANGE(record_of_runtime, SET(s->records[0].runtime_identity, "runtime 1 " D("f")))
CHANGE(record_of_profile, SET(s->records[0].profile, "iree-canonical"))
CHANGE(record_of_variant, SET(s->records[0].variant, "gemma"))
CHANGE(record_of_source_dtype, SET(s->records[0].source_dtype, "bf16"))
CHANGE(claim_none, s->records[0].claim = MLXCEL_CLAIM_NONE)
CHANGE(claim_none_of_compiler, s->records[0].claim = MLXCEL_CLAIM_NONE; SET(s->records[0].compiler_digest.text, D("e")))
CHANGE(claim_none_beside_enough, add_record(s, MLXCEL_CLAIM_NONE, MLXCEL_MLX_REFERENCE))
CHANGE(claim_closeness, s->records[0].claim = MLXCEL_CLAIM_CLOSENESS)
CHANGE(claim_canonical, s->records[0].claim = MLXCEL_CLAIM_CANONICAL)
CHANGE(claim_canonical_of_declared, s->records[0].claim = MLXCEL_CLAIM_CANONICAL; SET(s->records[0].reference, MLXCEL_DECLARED_REFERENCE);
       SET(s->records[0].reference_identity, D("5")))
CHANGE(device_is_cuda, SET(s->identity.device, "cuda"); SET(s->records[0].device, "cuda"))
CHANGE(device_is_hip, SET(s->identity.device, "hip"); SET(s->records[0].device, "hip"))
CHANGE(profile_is_cuda, s->profile.name = s->profile.reference = "mlx-cuda-0.32.4-sm80"; SET(s->records[0].profile, "mlx-cuda-0.32.4-sm80"))
CHANGE(profile_is_declared, s->profile.is_declared_only = true)
CHANGE(profile_is_declared_and_stale, s->profile.is_declared_only = true; SET(s->records[0].device, "cuda"))
CHANGE(profile_without_reference, s->profile.reference = NULL)
CHANGE(clause_not_representable, s->clause.representable = "no:sum-inside-one-mma")
CHANGE(clause_of_no_statement, s->clause.representable = NULL)
CHANGE(stale_beside_valid, add_record(s, MLXCEL_CLAIM_CLOSENESS, MLXCEL_MLX_REFERENCE); s->records[1].contract_version = 6)
CHANGE(weaker_beside_enough, add_record(s, MLXCEL_CLAIM_CLOSENESS, MLXCEL_MLX_REFERENCE))
CHANGE(weaker_valid_beside_enough_but_stale, add_record(s, MLXCEL_CLAIM_CLOSENESS, MLXCEL_MLX_REFERENCE); s->records[0].contract_version = 6)
CHANGE(two_stale, add_record(s, MLXCEL_CLAIM_PRODUCTION, MLXCEL_MLX_REFERENCE); SET(s->records[0].device, "local-sync");
       SET(s->records[1].runtime_identity, "runtime 1 " D("f")))

static void gate_of_a_production_profile_opens_for_exactly_the_present_identity(void** state) {
  (void)state;
  static const char production[] = "production-mlx@mlx-cpu-0.32.4";
  const case_t cases[] = {
      {"valid record", NULL, MLXCEL_GATE_OPEN, production, ""},
      {"no record", without_record, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"device", record_of_device, MLXCEL_GATE_STALE, "none", "device local-sync"},
      {"level", record_of_level, MLXCEL_GATE_STALE, "none", "CPU level v4"},
      {"contract version", record_of_contract_version, MLXCEL_GATE_STALE, "none", "contract version 6, this is 7"},
      {"algorithm version", record_of_algorithm_version, MLXCEL_GATE_STALE, "none", "mlxcel_mlx_rms_norm version 2, this is mlxcel_mlx_rms_norm version 1"},
      {"algorithm", record_of_algorithm, MLXCEL_GATE_STALE, "none", "algorithm other version 1"},
      {"kernel sources", record_of_sources, MLXCEL_GATE_STALE, "none", "kernel sources bbbbbbbbbbbb, this has 888888888888"},
      {"another clause of the same names", record_of_sibling_clause, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"MLX build", record_of_mlx_build, MLXCEL_GATE_STALE, "none", "mlx-cpu-0.32.4 was build cccccccccccc, this version knows bbbbbbbbbbbb"},
      {"MLX version", record_of_unknown_reference, MLXCEL_GATE_STALE, "none", "mlx-cpu-0.32.3 was build bbbbbbbbbbbb, this version knows none"},
      {"object", record_of_object, MLXCEL_GATE_STALE, "none", "kernel object dddddddddddd, this has 222222222222"},
      {"no object", record_without_object, MLXCEL_GATE_STALE, "none", "kernel object"},
      {"emitter or flags", record_of_emitter, MLXCEL_GATE_STALE, "none", "emitter and compile flags aaaaaaaaaaaa, these are eeeeeeeeeeee"},
      {"another machine", record_of_host, MLXCEL_GATE_STALE, "none", "another machine"},
      {"two calls", record_of_two_calls, MLXCEL_GATE_CLOSED, production, "2 calls and 1000 outputs, 3 calls and an output are needed"},
      {"no output", record_of_no_output, MLXCEL_GATE_CLOSED, production, "0 outputs"},
      {"compiler", record_of_compiler, MLXCEL_GATE_STALE, "none", "compiler eeeeeeeeeeee, this is 666666666666"},
      {"record without compiler", record_without_compiler, MLXCEL_GATE_STALE, "none", "compiler"},
      {"compiler not known here", compiler_unknown, MLXCEL_GATE_STALE, "none", "this is unknown"},
      {"compiler not known at all", compiler_unknown_to_both, MLXCEL_GATE_STALE, "none", "this is unknown"},
      {"runtime", record_of_runtime, MLXCEL_GATE_STALE, "none", "runtime ...ffffffffffff, this is ...777777777777"},
      {"another profile", record_of_profile, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another variant", record_of_variant, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another storage", record_of_source_dtype, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"no claim", claim_none, MLXCEL_GATE_CLOSED, "none", "the last run found mismatches"},
      {"no claim, of another compiler", claim_none_of_compiler, MLXCEL_GATE_STALE, "none", "compiler eeeeeeeeeeee"},
      {"no claim beside enough", claim_none_beside_enough, MLXCEL_GATE_CLOSED, "none", "the last run found mismatches"},
      {"closeness", claim_closeness, MLXCEL_GATE_CLOSED, "mathematical-closeness", "mathematical-closeness is less than production-mlx@mlx-cpu-0.32.4"},
      {"canonical", claim_canonical, MLXCEL_GATE_CLOSED, "canonical-decomposition", "is less than production-mlx@mlx-cpu-0.32.4"},
      {"canonical against the declaration", claim_canonical_of_declared, MLXCEL_GATE_CLOSED, "canonical-decomposition", "is less than"},
      {"a CPU claim on cuda", device_is_cuda, MLXCEL_GATE_CLOSED, production, "production-mlx@mlx-cpu-0.32.4 on cuda"},
      {"a CPU claim on hip", device_is_hip, MLXCEL_GATE_CLOSED, production, "production-mlx@mlx-cpu-0.32.4 on hip"},
      {"a CPU claim for a CUDA profile", profile_is_cuda, MLXCEL_GATE_CLOSED, production,
       "production-mlx@mlx-cpu-0.32.4 is less than production-mlx@mlx-cuda-0.32.4-sm80"},
      {"declared only", profile_is_declared, MLXCEL_GATE_CLOSED, production, "declared only"},
      {"declared only, stale", profile_is_declared_and_stale, MLXCEL_GATE_STALE, "none", "device cuda"},
      {"no production reference", profile_without_reference, MLXCEL_GATE_CLOSED, production, "no production claim"},
      {"not representable", clause_not_representable, MLXCEL_GATE_CLOSED, "none", "sum-inside-one-mma"},
      {"representable left out", clause_of_no_statement, MLXCEL_GATE_CLOSED, "none", "can't be qualified"},
      {"a stale record beside", stale_beside_valid, MLXCEL_GATE_OPEN, production, ""},
      {"a weaker record beside", weaker_beside_enough, MLXCEL_GATE_OPEN, production, ""},
      {"weaker valid, enough stale", weaker_valid_beside_enough_but_stale, MLXCEL_GATE_CLOSED, "mathematical-closeness", "is less than"},
      {"the nearest of two is told", two_stale, MLXCEL_GATE_STALE, "none", "runtime ...ffffffffffff"},
  };
  CHECK(mlx_scene, MLXCEL_CLAIM_PRODUCTION, MLXCEL_MLX_REFERENCE, cases);
}

// --- iree-canonical --------------------------------------------------------------------------------------------------------------------------

static scene_t canonical_scene(void) {
  scene_t scene = mlx_scene();
  scene.profile = (mlxcel_profile_t){.name = "iree-canonical"};
  scene.clause.algorithm = "iree-stablehlo";
  scene.clause.source_digest = NULL;
  return scene;
}

static void gate_of_the_canonical_profile_stays_closed_and_tells_what_was_earned(void** state) {
  (void)state;
  const case_t canonical[] = {
      {"canonical", NULL, MLXCEL_GATE_CLOSED, "canonical-decomposition", "no production claim"},
      {"closeness", claim_closeness, MLXCEL_GATE_CLOSED, "mathematical-closeness", "no production claim"},
      {"no record", without_record, MLXCEL_GATE_CLOSED, "none", "no production claim"},
      {"compiler", record_of_compiler, MLXCEL_GATE_STALE, "none", "compiler eeeeeeeeeeee"},
      {"an object where none is", record_of_object, MLXCEL_GATE_STALE, "none", "kernel object dddddddddddd, this has none"},
  };
  CHECK(canonical_scene, MLXCEL_CLAIM_CANONICAL, MLXCEL_DECLARED_REFERENCE, canonical);
  const case_t production[] = {{"production", NULL, MLXCEL_GATE_CLOSED, "production-mlx@mlx-cpu-0.32.4", "no production claim"}};
  CHECK(canonical_scene, MLXCEL_CLAIM_PRODUCTION, MLXCEL_MLX_REFERENCE, production);
}

// --- the default profile ---------------------------------------------------------------------------------------------------------------------

CHANGE(clause_of_other_storage, s->clause.source_dtype = "bf16")
CHANGE(clause_of_other_kind, s->clause.source_dtype = "affine-u4-g32-f16")
CHANGE(clause_without_storage, s->clause.source_dtype = NULL)
CHANGE(clause_of_bias, s->clause.source_dtype = "bf16+bias-f32"; s->clause.rounding = "product-sum:fma-f32+tree:f32+bias:f32")
CHANGE(clause_of_bias_without_stage, s->clause.source_dtype = "bf16+bias-f32")
CHANGE(clause_of_bias_of_another_rounding, s->clause.source_dtype = "bf16+bias-f32"; s->clause.rounding = "product-sum:fma-f32+tree:f32+bias:bf16")
CHANGE(clause_of_stage_without_bias, s->clause.rounding = "product-sum:fma-f32+tree:f32+bias:f32")
CHANGE(record_of_bias, s->clause.rounding = "product-sum:fma-f32+tree:f32+bias:f32"; s->clause.source_dtype = "f32+bias-f16"; s->record_count = 0;
       add_record(s, MLXCEL_CLAIM_CANONICAL, MLXCEL_DECLARED_REFERENCE); s->clause.rounding = "product-sum:fma-f32+tree:f32"; s->clause.source_dtype = "bf16")
CHANGE(clause_of_other_op, s->clause.op = MLXCEL_OP_LAYER_NORM)
CHANGE(clause_of_other_variant, s->clause.variant = MLXCEL_VARIANT_GEMMA)
CHANGE(clause_of_other_operand, s->clause.operand_dtype = "f16")
CHANGE(clause_of_other_result, s->clause.result_dtype = "f16")
CHANGE(clause_of_other_association, s->clause.association = "sequential")
CHANGE(clause_that_flushes, s->clause.denormals = "flush")
CHANGE(clause_of_tolerance, s->clause.tolerance = "max-ulp(4)")
CHANGE(clause_of_other_accumulator, s->clause.accumulator = "f64")
CHANGE(clause_of_other_kernel, s->clause.algorithm = "mlxcel_pinned_embed")
CHANGE(claim_production, s->records[0].claim = MLXCEL_CLAIM_PRODUCTION; SET(s->records[0].reference, MLXCEL_MLX_REFERENCE);
       SET(s->records[0].reference_identity, D("b")))
CHANGE(disproved_here, add_record(s, MLXCEL_CLAIM_NONE, MLXCEL_DECLARED_REFERENCE))
CHANGE(disproved_elsewhere, add_record(s, MLXCEL_CLAIM_NONE, MLXCEL_DECLARED_REFERENCE); SET(s->records[1].host.text, D("a")))
CHANGE(record_of_canonical_reference, SET(s->records[0].reference_identity, D("c")))
CHANGE(both_of_foreign_sources, SET(s->records[0].source_digest, D("b")); s->clause.source_digest = D("b"))
CHANGE(device_is_cuda_here, SET(s->identity.device, "cuda"))

static void gate_of_the_default_profile_goes_by_the_clause_but_for_its_storage(void** state) {
  (void)state;
  static const char canonical[] = "canonical-decomposition";
  const case_t cases[] = {
      {"valid record", NULL, MLXCEL_GATE_OPEN, canonical, ""},
      {"another storage", clause_of_other_storage, MLXCEL_GATE_OPEN, canonical, ""},
      {"another storage, with a bias", clause_of_bias, MLXCEL_GATE_OPEN, canonical, ""},
      {"a record with a bias", record_of_bias, MLXCEL_GATE_OPEN, canonical, ""},
      {"a bias without its stage", clause_of_bias_without_stage, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"a bias in another rounding", clause_of_bias_of_another_rounding, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"the stage without a bias", clause_of_stage_without_bias, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another kind of storage", clause_of_other_kind, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"no storage", clause_without_storage, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another operation", clause_of_other_op, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another variant", clause_of_other_variant, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another operand dtype", clause_of_other_operand, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another result dtype", clause_of_other_result, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another association", clause_of_other_association, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"flushed denormals", clause_that_flushes, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"a tolerance", clause_of_tolerance, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another accumulator", clause_of_other_accumulator, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"another emitter", record_of_emitter, MLXCEL_GATE_OPEN, canonical, ""},
      {"another machine", record_of_host, MLXCEL_GATE_OPEN, canonical, ""},
      {"two calls", record_of_two_calls, MLXCEL_GATE_CLOSED, canonical, "2 calls"},
      {"no output", record_of_no_output, MLXCEL_GATE_CLOSED, canonical, "0 outputs"},
      {"what MLX computes, not the declared order", claim_production, MLXCEL_GATE_CLOSED, "production-mlx@mlx-cpu-0.32.4", "is less than"},
      {"disproved on this machine", disproved_here, MLXCEL_GATE_CLOSED, "none", "the last run found mismatches"},
      {"disproved on another machine", disproved_elsewhere, MLXCEL_GATE_OPEN, canonical, ""},
      {"another object", record_of_object, MLXCEL_GATE_OPEN, canonical, ""},
      {"another compiler", record_of_compiler, MLXCEL_GATE_OPEN, canonical, ""},
      {"compiler not known", compiler_unknown, MLXCEL_GATE_OPEN, canonical, ""},
      {"another runtime", record_of_runtime, MLXCEL_GATE_OPEN, canonical, ""},
      {"another level", record_of_level, MLXCEL_GATE_OPEN, canonical, ""},
      {"another kernel", clause_of_other_kernel, MLXCEL_GATE_STALE, "none", "algorithm mlxcel_pinned_rms_norm version 1, this is mlxcel_pinned_embed"},
      {"no record", without_record, MLXCEL_GATE_CLOSED, "none", "no record"},
      {"device", record_of_device, MLXCEL_GATE_STALE, "none", "device local-sync"},
      {"on cuda", device_is_cuda_here, MLXCEL_GATE_STALE, "none", "device local-task"},
      {"contract version", record_of_contract_version, MLXCEL_GATE_STALE, "none", "contract version 6, this is 7"},
      {"algorithm version", record_of_algorithm_version, MLXCEL_GATE_STALE, "none", "version 2"},
      {"kernel sources", record_of_sources, MLXCEL_GATE_STALE, "none", "kernel sources bbbbbbbbbbbb, this has 444444444444"},
      {"scalar reference", record_of_canonical_reference, MLXCEL_GATE_STALE, "none",
       "declared-decomposition was build cccccccccccc, this version knows 555555555555"},
      {"module and record of other kernels than this build's", both_of_foreign_sources, MLXCEL_GATE_CLOSED, "none", "kernels of this build"},
      {"closeness", claim_closeness, MLXCEL_GATE_CLOSED, "mathematical-closeness", "is less than canonical-decomposition"},
      {"no claim", claim_none, MLXCEL_GATE_CLOSED, "none", "the last run found mismatches"},
  };
  CHECK(pinned_scene, MLXCEL_CLAIM_CANONICAL, MLXCEL_DECLARED_REFERENCE, cases);
}

// --- parts of the default profile's kernels that no oracle runs alone ------------------------------------------------------------------------

// The op table's own clause of |operation|, and a record of |op| by |algorithm|.
static scene_t fused_scene(const mlxcel_operation_t* operation, mlxcel_clause_storage_t* storage, mlxcel_op_class_t op, const char* algorithm) {
  scene_t scene = pinned_scene();
  scene.clause.op = op;
  scene.clause.variant = MLXCEL_VARIANT_NONE;
  scene.clause.algorithm = algorithm;
  add_record(&scene, MLXCEL_CLAIM_CANONICAL, MLXCEL_DECLARED_REFERENCE);
  assert_ok(mlxcel_profile_clause(mlxcel_profile_find(IREE_SV("pinned-f32")), operation, storage));
  storage->clause.source_digest = D("4");
  scene.clause = storage->clause;
  return scene;
}

CHANGE(fused_tolerance, s->clause.tolerance = "max-ulp(1)")
CHANGE(fused_flush, s->clause.denormals = "flush")
CHANGE(fused_rounding, s->clause.rounding = "sum:bf16")
CHANGE(fused_source, s->clause.source_dtype = "f32")
CHANGE(fused_result, s->clause.result_dtype = "bf16")
CHANGE(fused_other_kernel, SET(s->records[0].algorithm, "mlxcel_pinned_gate_up"))
CHANGE(fused_claim, s->records[0].claim = MLXCEL_CLAIM_CLOSENESS)

static void gate_of_a_fused_addition_stands_on_its_kernel_if_it_is_the_tables_clause(void** state) {
  (void)state;
  const struct {
    const char* name;
    void (*change)(scene_t* scene);
    bool is_open;
  } cases[] = {{"the table's", NULL, true},           {"tolerance", fused_tolerance, false}, {"flush", fused_flush, false},
               {"rounding", fused_rounding, false},   {"storage", fused_source, false},      {"result", fused_result, false},
               {"kernel", fused_other_kernel, false}, {"claim", fused_claim, false}};
  const mlxcel_operation_t residual = {.op = MLXCEL_OP_RESIDUAL_ADD};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    mlxcel_clause_storage_t storage;
    scene_t scene = fused_scene(&residual, &storage, MLXCEL_OP_DENSE_MATMUL, "mlxcel_pinned_matmul");
    if (cases[i].change) cases[i].change(&scene);
    mlxcel_gate_verdict_t verdict = judge(&scene);
    if ((verdict.state == MLXCEL_GATE_OPEN) != cases[i].is_open) fail_msg("%s: %s, '%s'", cases[i].name, mlxcel_gate_state_name(verdict.state), verdict.reason);
    if (cases[i].is_open) assert_true(verdict.is_inferred);
  }
}

static void gate_of_quantized_matmuls_before_rotations_stands_on_their_kernel(void** state) {
  (void)state;
  const mlxcel_operation_t matmul = {.op = MLXCEL_OP_QUANTIZED_MATMUL,
                                     .bits = 5,
                                     .group_size = 64,
                                     .weight_dtype = MLXCEL_DTYPE_BF16,
                                     .has_bias = true,
                                     .bias_dtype = MLXCEL_DTYPE_BF16,
                                     .within = MLXCEL_WITHIN_QKV_ROPE};
  mlxcel_clause_storage_t storage;
  scene_t scene = fused_scene(&matmul, &storage, MLXCEL_OP_DENSE_MATMUL, "mlxcel_pinned_qkv_rope");
  mlxcel_gate_verdict_t verdict = judge(&scene);
  assert_int_equal(verdict.state, MLXCEL_GATE_OPEN);
  assert_true(verdict.is_inferred);
  scene.clause.dequantization = "exact-widen";
  verdict = judge(&scene);
  assert_int_equal(verdict.state, MLXCEL_GATE_CLOSED);
}

static void gate_tells_a_record_of_the_clause_from_one_of_another_storage(void** state) {
  (void)state;
  scene_t scene = pinned_scene();
  add_record(&scene, MLXCEL_CLAIM_CANONICAL, MLXCEL_DECLARED_REFERENCE);
  assert_false(judge(&scene).is_inferred);
  scene.clause.source_dtype = "bf16";
  mlxcel_gate_verdict_t verdict = judge(&scene);
  assert_true(verdict.is_inferred);
  assert_int_equal(verdict.state, MLXCEL_GATE_OPEN);
}

static void gate_tells_that_the_compiler_is_what_differs(void** state) {
  (void)state;
  scene_t scene = mlx_scene();
  add_record(&scene, MLXCEL_CLAIM_PRODUCTION, MLXCEL_MLX_REFERENCE);
  assert_false(judge(&scene).compiler_differs);
  SET(scene.records[0].compiler_digest.text, D("e"));
  assert_true(judge(&scene).compiler_differs);
  SET(scene.records[0].cpu_level, "v4");
  assert_false(judge(&scene).compiler_differs);
}

// --- MLX's CUDA builds without the fix #923 --------------------------------------------------------------------------------------------------

static void gate_voids_qmm_evidence_of_cuda_builds_without_the_fix(void** state) {
  (void)state;
  static const struct {
    mlxcel_op_class_t op;
    mlxcel_op_variant_t variant;
    const char* reference;
    bool is_void;
  } cases[] = {
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-0.32.3-sm80", true},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-0.31.9-sm90a", true},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-0.9.5-sm80", true},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-13", true},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-sm80", true},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-0.32", true},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-0.32.4-sm80", false},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-0.33.0-sm80", false},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cuda-0.32.10-sm80", false},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMV, "mlx-cuda-0.32.3-sm80", false},
      {MLXCEL_OP_DENSE_MATMUL, MLXCEL_VARIANT_NONE, "mlx-cuda-0.32.3-sm80", false},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_QMM, "mlx-cpu-0.32.3", false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    scene_t scene = mlx_scene();
    scene.profile = (mlxcel_profile_t){.name = "mlx-cuda-0.32.4-sm80", .reference = "mlx-cuda-0.32.4-sm80", .is_declared_only = true};
    scene.clause.op = cases[i].op;
    scene.clause.variant = cases[i].variant;
    SET(scene.identity.device, "cuda");
    add_record(&scene, MLXCEL_CLAIM_PRODUCTION, cases[i].reference);
    mlxcel_gate_verdict_t verdict = judge(&scene);
    if (verdict.state != MLXCEL_GATE_STALE) fail_msg("%s: %s", cases[i].reference, mlxcel_gate_state_name(verdict.state));
    if ((strstr(verdict.reason, "#923") != NULL) != cases[i].is_void) fail_msg("%s: '%s'", cases[i].reference, verdict.reason);
  }
}

// --- native code of the host -----------------------------------------------------------------------------------------------------------------

static scene_t host_scene(void) {
  scene_t scene = mlx_scene();
  scene.clause.op = MLXCEL_OP_ACTIVATION;
  scene.clause.variant = MLXCEL_VARIANT_GELU_TANH;
  scene.clause.algorithm = "mlxcel_mlx_elementwise+mlxcel_host_unary";
  scene.clause.source_digest = D("8") "+" D("9");
  return scene;
}

CHANGE(other_math_library, SET(s->identity.host_object.text, D("a")))
CHANGE(no_math_library, s->identity.host_object.text[0] = 0)
CHANGE(no_math_library_twice, s->identity.host_object.text[0] = 0; s->records[0].object_digest.text[0] = 0)

static void gate_of_a_clause_with_host_functions_knows_the_math_library(void** state) {
  (void)state;
  const case_t cases[] = {
      {"the same", NULL, MLXCEL_GATE_OPEN, "production-mlx@mlx-cpu-0.32.4", ""},
      {"another", other_math_library, MLXCEL_GATE_STALE, "none", "kernel object 333333333333, this has aaaaaaaaaaaa"},
      {"not found", no_math_library, MLXCEL_GATE_STALE, "none", "this has none"},
      {"not found then and now", no_math_library_twice, MLXCEL_GATE_STALE, "none", "kernel object"},
  };
  CHECK(host_scene, MLXCEL_CLAIM_PRODUCTION, MLXCEL_MLX_REFERENCE, cases);
}

// --- identities of this build ----------------------------------------------------------------------------------------------------------------

static void identity_of_this_build_is_complete_and_stable(void** state) {
  (void)state;
  mlxcel_identity_t first, second, other_level;
  assert_ok(mlxcel_identity_query("local-task", "v3", D("6"), &first));
  assert_ok(mlxcel_identity_query("local-task", "v3", D("6"), &second));
  assert_ok(mlxcel_identity_query("local-task", "v4", NULL, &other_level));
  assert_memory_equal(&first, &second, sizeof(first));
  const char* const digests[] = {first.pinned_object.text, first.mlx_object.text,       first.host_object.text,
                                 first.pinned_source.text, first.scalar_reference.text, first.compiler.text,
                                 first.mlx_reference.text, first.emitter.text,          first.host.text};
  for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); ++i) assert_int_equal(strlen(digests[i]), 64);
  assert_string_equal(first.pinned_source.text, mlxcel_kernel_source_digest());
  assert_string_not_equal(first.pinned_object.text, other_level.pinned_object.text);
  assert_string_equal(first.mlx_object.text, other_level.mlx_object.text);
  assert_string_not_equal(first.emitter.text, other_level.emitter.text);  // the flags name the level
  assert_string_equal(other_level.compiler.text, "");
  assert_int_equal(first.contract_version, MLXCEL_CONTRACT_VERSION);
  assert_true(strlen(first.runtime) > 64);
  mlxcel_identity_t none;
  iree_status_t status = mlxcel_identity_query("local-task", "v5", NULL, &none);
  assert_true(iree_status_is_invalid_argument(status));
  iree_status_ignore(status);
  status = mlxcel_identity_query("", "v3", NULL, &none);
  assert_true(iree_status_is_invalid_argument(status));
  iree_status_ignore(status);
}

static void identity_of_the_mlx_build_is_that_of_the_pins(void** state) {
  (void)state;
  char command[256], line[200];
  mlxcel_sha256_hex_t libmlx = {""}, blas = {""}, expected;
  snprintf(command, sizeof(command), "grep '^MLX_' %s/scripts/pins.env", MLXCEL_SOURCE_DIR);
  FILE* pipe = popen(command, "r");
  assert_non_null(pipe);
  char version[32] = "";
  while (fgets(line, sizeof(line), pipe)) {
    sscanf(line, "MLX_VERSION=%31s", version);
    sscanf(line, "MLX_CPU_LIBMLX_SHA256=%64s", libmlx.text);
    sscanf(line, "MLX_CPU_BLAS_SHA256=%64s", blas.text);
  }
  pclose(pipe);
  char build[64];
  snprintf(build, sizeof(build), "mlx-cpu-%s", version);
  assert_string_equal(build, MLXCEL_MLX_REFERENCE);
  assert_ok(mlxcel_identity_mlx(libmlx.text, blas.text, &expected));
  mlxcel_identity_t identity;
  assert_ok(mlxcel_identity_query("local-task", "v3", NULL, &identity));
  assert_string_equal(identity.mlx_reference.text, expected.text);
  assert_string_equal(mlxcel_identity_reference(&identity, MLXCEL_MLX_REFERENCE), expected.text);
  mlxcel_sha256_hex_t other_blas;
  assert_ok(mlxcel_identity_mlx(libmlx.text, libmlx.text, &other_blas));
  assert_string_not_equal(other_blas.text, expected.text);
}

static void identity_of_the_machine_depends_on_what_its_functions_return(void** state) {
  (void)state;
  mlxcel_sha256_hex_t probe, again, host, other;
  assert_ok(mlxcel_host_probe_digest(&probe));
  assert_ok(mlxcel_host_probe_digest(&again));
  assert_string_equal(probe.text, again.text);
  assert_ok(mlxcel_host_digest(probe.text, &host));
  assert_ok(mlxcel_host_digest(D("a"), &other));
  assert_string_not_equal(host.text, other.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gate_of_a_production_profile_opens_for_exactly_the_present_identity),
      cmocka_unit_test(gate_of_the_canonical_profile_stays_closed_and_tells_what_was_earned),
      cmocka_unit_test(gate_of_the_default_profile_goes_by_the_clause_but_for_its_storage),
      cmocka_unit_test(gate_voids_qmm_evidence_of_cuda_builds_without_the_fix),
      cmocka_unit_test(gate_of_a_clause_with_host_functions_knows_the_math_library),
      cmocka_unit_test(gate_of_a_fused_addition_stands_on_its_kernel_if_it_is_the_tables_clause),
      cmocka_unit_test(gate_of_quantized_matmuls_before_rotations_stands_on_their_kernel),
      cmocka_unit_test(gate_tells_a_record_of_the_clause_from_one_of_another_storage),
      cmocka_unit_test(gate_tells_that_the_compiler_is_what_differs),
      cmocka_unit_test(identity_of_this_build_is_complete_and_stable),
      cmocka_unit_test(identity_of_the_mlx_build_is_that_of_the_pins),
      cmocka_unit_test(identity_of_the_machine_depends_on_what_its_functions_return),
  };
  return cmocka_run_group_tests_name("qualify_gate", tests, NULL, NULL);
}
