// Every mutation of every case is noticed by a comparison with the frozen text, and no field of a clause is without one.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "emit/canonical/canonical_cases.h"
#include "emit/canonical/canonical_mutations.h"
#include "emit/golden_modules.h"
#include "emit/operation_emitter.h"

#define GOLDEN_FOLDER MLXCEL_SOURCE_DIR "/tests/golden/canonical"
#define GOLDEN_BYTES_MAX (1u << 20)
#define PROOFS_MAX 64

// Fields that a text can break; op, variant and dtypes of storage are structure, denormals are the runtime's, the rest is identity.
static const char* const fields[] = {"rounding", "accumulator", "result_dtype", "association", "dequantization", "constants", "functions"};
enum { kFieldCount = sizeof(fields) / sizeof(fields[0]) };

typedef struct run_t {
  const mlxcel_canonical_case_t* item;
  const char* golden;
  uint32_t count;
  uint32_t effective[MLXCEL_OP_COUNT][kFieldCount];  // mutations that can change results
  uint32_t proof_uses[PROOFS_MAX];
  uint32_t case_count;
} run_t;

static void note_field(run_t* run, const mlxcel_canonical_mutation_t* mutation) {
  for (int i = 0; i < kFieldCount; ++i) {
    if (strcmp(fields[i], mutation->field) != 0) continue;
    if (!mutation->proof) ++run->effective[run->item->operation.op][i];
  }
}

static void note_proof(run_t* run, const mlxcel_canonical_mutation_t* mutation) {
  if (!mutation->proof) return;
  for (size_t i = 0; mlxcel_canonical_proof_at(i); ++i) {
    const mlxcel_canonical_proof_t* proof = mlxcel_canonical_proof_at(i);
    bool here = strcmp(proof->rule, mutation->rule) == 0 && strncmp(run->item->name, proof->case_name, strlen(proof->case_name)) == 0;
    if (here && (proof->occurrence < 0 || (uint32_t)proof->occurrence == mutation->occurrence)) ++run->proof_uses[i];
  }
}

// The module of a frozen file, behind its comments.
static const char* module_of(const char* golden) { return strstr(golden, "module @"); }

static iree_status_t expect_noticed(void* user_data, const mlxcel_canonical_mutation_t* mutation, const char* mutated) {
  run_t* run = user_data;
  if (strcmp(run->golden, mutated) == 0) fail_msg("%s: mutation %s %u isn't noticed", run->item->name, mutation->rule, mutation->occurrence);
  ++run->count;
  ++run->case_count;
  note_field(run, mutation);
  note_proof(run, mutation);
  return iree_ok_status();
}

static void visit_all(run_t* run, mlxcel_canonical_mutation_visitor_t visit) {
  for (size_t i = 0; mlxcel_canonical_case_at(i); ++i) {
    run->item = mlxcel_canonical_case_at(i);
    run->case_count = 0;
    char path[512], *golden = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "%s/%s.mlir", GOLDEN_FOLDER, run->item->name);
    assert_true(iree_status_is_ok(mlxcel_file_read(path, GOLDEN_BYTES_MAX, &golden, &size)));
    run->golden = module_of(golden);
    assert_non_null(run->golden);
    assert_true(iree_status_is_ok(mlxcel_canonical_mutations_visit(run->item->name, run->golden, visit, run)));
    if (run->case_count == 0) fail_msg("%s has no mutation", run->item->name);
    free(golden);
  }
}

static run_t* run_of(void** state) { return *state; }

static void canonical_every_mutation_is_noticed(void** state) {
  run_t* run = run_of(state);
  memset(run, 0, sizeof(*run));
  visit_all(run, expect_noticed);
  print_message("iree-canonical: %u mutations\n", run->count);
  assert_true(run->count > 0);
}

static bool has_field(const mlxcel_clause_t* clause, int field) {
  const char* values[] = {clause->rounding,       clause->accumulator, clause->result_dtype, clause->association,
                          clause->dequantization, clause->constants,   clause->functions};
  // exact-widen and copy are no arithmetic: nothing to change.
  return values[field] && strcmp(values[field], "none") != 0 && strcmp(values[field], "exact-widen") != 0 && strcmp(values[field], "copy") != 0;
}

static bool is_composition(mlxcel_op_class_t op) { return op == MLXCEL_OP_ACTIVATION_PROJECTION; }

// Constants that the text doesn't hold: rotary tables are operands.
static bool is_outside(mlxcel_op_class_t op, int field) { return op == MLXCEL_OP_ROPE && strcmp(fields[field], "constants") == 0; }

static void canonical_every_field_of_every_clause_has_a_mutation_with_effect(void** state) {
  run_t* run = run_of(state);
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(MLXCEL_PROFILE_IREE_CANONICAL));
  for (size_t i = 0; mlxcel_canonical_case_at(i); ++i) {
    const mlxcel_operation_t* operation = &mlxcel_canonical_case_at(i)->operation;
    if (is_composition(operation->op)) continue;
    mlxcel_clause_storage_t storage;
    assert_true(iree_status_is_ok(mlxcel_emit_clause_of(profile, operation, &storage)));
    for (int field = 0; field < kFieldCount; ++field) {
      if (!has_field(&storage.clause, field) || is_outside(operation->op, field) || run->effective[operation->op][field]) continue;
      fail_msg("%s: field %s has no mutation that can change a result", mlxcel_op_class_name(operation->op), fields[field]);
    }
  }
}

static void canonical_every_proof_belongs_to_a_mutation(void** state) {
  run_t* run = run_of(state);
  size_t count = 0;
  for (; mlxcel_canonical_proof_at(count); ++count) {
    assert_true(count < PROOFS_MAX);
    if (run->proof_uses[count] == 0) fail_msg("proof %zu (%s) is for nothing", count, mlxcel_canonical_proof_at(count)->text);
  }
  assert_true(count > 0);
}

static iree_status_t find_one(void* user_data, const mlxcel_canonical_mutation_t* mutation, const char* mutated) {
  const char** wanted = user_data;
  if (strcmp(mutation->rule, wanted[0]) == 0 && strstr(mutated, wanted[1])) wanted[2] = "found";
  return iree_ok_status();
}

// Two edits, spelled out: the engine replaces what the pattern says, and only there.
static void canonical_mutations_edit_the_line_that_they_name(void** state) {
  (void)state;
  static const char text[] = "(tensor<3xf32>) attributes\n    %1 = arith.addf %2, %3 : f32\n    %4 = math.sqrt %1 : f32\n";
  const char* swapped[] = {"swap-summands", "%1 = arith.addf %3, %2 : f32\n    %4", NULL};
  assert_true(iree_status_is_ok(mlxcel_canonical_mutations_visit("residual_add_f32", text, find_one, swapped)));
  assert_non_null(swapped[2]);
  const char* epsilon[] = {"other-epsilon", "%m0 = arith.constant 0x3F000000 : f32\n    %1 = arith.addf %2, %m0 : f32\n    %4 = math.sqrt %1", NULL};
  assert_true(iree_status_is_ok(mlxcel_canonical_mutations_visit("residual_add_f32", text, find_one, epsilon)));
  assert_non_null(epsilon[2]);
}

static int setup(void** state) {
  static run_t run;
  *state = &run;
  return 0;
}

int main(void) {
  // In this order: the second and third read what the first has counted.
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(canonical_every_mutation_is_noticed),
      cmocka_unit_test(canonical_every_field_of_every_clause_has_a_mutation_with_effect),
      cmocka_unit_test(canonical_every_proof_belongs_to_a_mutation),
      cmocka_unit_test(canonical_mutations_edit_the_line_that_they_name),
  };
  return cmocka_run_group_tests_name("canonical_mutation", tests, setup, NULL);
}
