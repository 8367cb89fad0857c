#include "emit/operation_emitter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "contract/contract_parse.h"
#include "emit/golden_modules.h"

static const mlxcel_profile_t* profile_named(const char* name) {
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(name));
  assert_non_null(profile);
  return profile;
}

static void expect_failure(const char* profile, const mlxcel_operation_t* operation, iree_status_code_t code, const char* part) {
  mlxcel_emitted_operation_t emitted;
  iree_status_t status = mlxcel_emit_operation_module(profile_named(profile), operation, &emitted);
  char message[2048];
  mlxcel_status_text(status, message, sizeof(message));
  iree_status_code_t actual = iree_status_code(status);
  iree_status_ignore(status);
  if (actual != code || !strstr(message, part)) fail_msg("expected '%s', got %d: %s", part, (int)actual, message);
  assert_null(emitted.mlir_text);
  assert_null(emitted.contract_text);
}

static const mlxcel_operation_t softmax = {.op = MLXCEL_OP_SOFTMAX, .variant = MLXCEL_VARIANT_PRECISE, .rows = 2, .in_features = 4};
static const mlxcel_operation_t matmul = {.op = MLXCEL_OP_DENSE_MATMUL, .rows = 2, .in_features = 4, .out_features = 3};
static const mlxcel_operation_t rope = {
    .op = MLXCEL_OP_ROPE, .variant = MLXCEL_VARIANT_HALF, .rows = 2, .heads = 1, .head_dim = 4, .rope_dims = 4, .keys = 8, .rope_base = 10000.0f};

// What a profile doesn't define is refused with what it does define.
static void emit_refuses_what_the_profile_does_not_define(void** state) {
  (void)state;
  expect_failure(MLXCEL_PROFILE_PINNED_F32, &softmax, IREE_STATUS_UNIMPLEMENTED, "it defines: embedding");
  mlxcel_operation_t half = matmul;
  half.dtype = MLXCEL_DTYPE_F16;
  expect_failure(MLXCEL_PROFILE_PINNED_F32, &half, IREE_STATUS_UNIMPLEMENTED, "it defines: none of f32");
  mlxcel_operation_t wide_bias = matmul;
  wide_bias.has_bias = true;
  wide_bias.dtype = wide_bias.weight_dtype = MLXCEL_DTYPE_BF16;
  expect_failure(MLXCEL_PROFILE_MLX_CPU, &wide_bias, IREE_STATUS_UNIMPLEMENTED, "bias f32");
  expect_failure("mlx-cuda-0.32.4-sm90a", &matmul, IREE_STATUS_UNIMPLEMENTED, "declared only");
}

// pinned-f32 computes some classes only inside others: the message names those.
static void emit_refuses_parts_of_fused_kernels_by_name(void** state) {
  (void)state;
  expect_failure(MLXCEL_PROFILE_PINNED_F32, &rope, IREE_STATUS_UNIMPLEMENTED, "run that");
  const mlxcel_operation_t add = {.op = MLXCEL_OP_RESIDUAL_ADD, .rows = 2, .in_features = 4};
  expect_failure(MLXCEL_PROFILE_PINNED_F32, &add, IREE_STATUS_UNIMPLEMENTED, "part of the matmuls");
  const mlxcel_operation_t gate = {.op = MLXCEL_OP_SILU_GATE, .variant = MLXCEL_VARIANT_SILU, .rows = 2, .in_features = 4};
  expect_failure(MLXCEL_PROFILE_PINNED_F32, &gate, IREE_STATUS_UNIMPLEMENTED, "activation-projection");
  mlxcel_operation_t projection = {.op = MLXCEL_OP_ACTIVATION_PROJECTION, .variant = MLXCEL_VARIANT_GELU_TANH, .rows = 2, .in_features = 4, .out_features = 3};
  expect_failure(MLXCEL_PROFILE_PINNED_F32, &projection, IREE_STATUS_UNIMPLEMENTED, "SiLU only");
  projection.dtype = MLXCEL_DTYPE_BF16;
  expect_failure(MLXCEL_PROFILE_PINNED_F32, &projection, IREE_STATUS_UNIMPLEMENTED, "f32 only");
  const mlxcel_operation_t table = {.op = MLXCEL_OP_EMBEDDING, .weight_dtype = MLXCEL_DTYPE_F16, .rows = 2, .in_features = 4, .out_features = 3};
  expect_failure(MLXCEL_PROFILE_PINNED_F32, &table, IREE_STATUS_UNIMPLEMENTED, "use f32 weights");
}

static void emit_refuses_operations_that_make_no_sense(void** state) {
  (void)state;
  mlxcel_operation_t empty = matmul;
  empty.in_features = 0;
  expect_failure(MLXCEL_PROFILE_MLX_CPU, &empty, IREE_STATUS_INVALID_ARGUMENT, "in_features");
  mlxcel_operation_t fused = matmul;
  fused.has_residual = true;
  expect_failure(MLXCEL_PROFILE_MLX_CPU, &fused, IREE_STATUS_INVALID_ARGUMENT, "residual");
  mlxcel_operation_t crowded = {.op = MLXCEL_OP_CUMULATIVE_NORM, .rows = 2, .in_features = 1 << 13, .out_features = (1 << 11) + 1};
  expect_failure(MLXCEL_PROFILE_MLX_CPU, &crowded, IREE_STATUS_UNIMPLEMENTED, "counts above");
}

// The function's signature is the operand list, in order, and the result.
static void emit_operands_and_result_are_the_operation_s(void** state) {
  (void)state;
  for (size_t i = 0; golden_module_at(i); ++i) {
    const golden_module_t* module = golden_module_at(i);
    if (!module->operation) continue;
    mlxcel_emitted_operation_t emitted;
    iree_status_t status = mlxcel_emit_operation_module(profile_named(module->profile), module->operation, &emitted);
    assert_true(iree_status_is_ok(status));
    mlxcel_strbuf_t signature;
    mlxcel_strbuf_initialize(&signature);
    mlxcel_strbuf_append_cstring(&signature, "func.func @operation(");
    for (size_t o = 0; o < emitted.operand_count; ++o) {
      const mlxcel_operand_t* operand = &emitted.operands[o];
      mlxcel_value_t type = mlxcel_value_of(mlxcel_element_of(operand->dtype), operand->rank, operand->dims);
      mlxcel_strbuf_append_format(&signature, "%s%%%zu: %s", o ? ", " : "", o, mlxcel_value_type(type).text);
    }
    mlxcel_value_t result = mlxcel_value_of(mlxcel_element_of(emitted.result.dtype), emitted.result.rank, emitted.result.dims);
    mlxcel_strbuf_append_format(&signature, ") -> (%s) ", mlxcel_value_type(result).text);
    if (!strstr(emitted.mlir_text, signature.data)) fail_msg("%s hasn't the signature %s", module->name, signature.data);
    mlxcel_strbuf_deinitialize(&signature);
    mlxcel_emitted_operation_deinitialize(&emitted);
  }
}

// Every contract that is emitted is one that the strict reader accepts.
static void emit_contracts_are_read_back(void** state) {
  (void)state;
  for (size_t i = 0; golden_module_at(i); ++i) {
    golden_text_t text = golden_module_emit(golden_module_at(i));
    mlxcel_parsed_contract_t parsed;
    iree_status_t status = mlxcel_contract_parse(iree_make_cstring_view(text.contract), golden_module_at(i)->name, &parsed);
    char message[1024];
    mlxcel_status_text(status, message, sizeof(message));
    if (!iree_status_is_ok(status)) fail_msg("%s: %s", golden_module_at(i)->name, message);
    assert_string_equal(parsed.profile, golden_module_at(i)->profile);
    assert_true(parsed.clause_count > 0);
    mlxcel_parsed_contract_deinitialize(&parsed);
    golden_text_deinitialize(&text);
  }
}

static const char* digest_of(const char* profile, const mlxcel_operation_t* operation) {
  mlxcel_clause_storage_t storage;
  assert_true(iree_status_is_ok(mlxcel_emit_clause_of(profile_named(profile), operation, &storage)));
  return storage.clause.source_digest;
}

// The digest is that of the objects whose kernels the algorithm names; a compiler's algorithm has none.
static void emit_clauses_name_the_sources_of_their_kernels(void** state) {
  (void)state;
  assert_string_equal(digest_of(MLXCEL_PROFILE_PINNED_F32, &matmul), mlxcel_kernel_object_source_digest(MLXCEL_KERNEL_OBJECT_PINNED));
  assert_string_equal(digest_of(MLXCEL_PROFILE_MLX_CPU, &matmul), mlxcel_kernel_object_source_digest(MLXCEL_KERNEL_OBJECT_MLX));
  assert_null(digest_of(MLXCEL_PROFILE_IREE_CANONICAL, &matmul));
  const mlxcel_operation_t gelu = {.op = MLXCEL_OP_ACTIVATION, .variant = MLXCEL_VARIANT_GELU_TANH, .rows = 2, .in_features = 4};
  char both[256];
  snprintf(both, sizeof(both), "%s+%s", mlxcel_kernel_object_source_digest(MLXCEL_KERNEL_OBJECT_MLX),
           mlxcel_kernel_object_source_digest(MLXCEL_KERNEL_OBJECT_HOST));
  assert_string_equal(digest_of(MLXCEL_PROFILE_MLX_CPU, &gelu), both);
}

// A composition's contract is the clauses of its parts, those of the kernel that computes it or of the primitives that it is made of.
static void emit_compositions_have_the_clauses_of_their_parts(void** state) {
  (void)state;
  static const mlxcel_operation_t operation = {.op = MLXCEL_OP_QKV_ROPE,
                                               .variant = MLXCEL_VARIANT_HALF,
                                               .rows = 2,
                                               .in_features = 4,
                                               .heads = 2,
                                               .kv_heads = 1,
                                               .head_dim = 4,
                                               .keys = 8,
                                               .rope_dims = 4,
                                               .rope_base = 10000.0f,
                                               .scale = 1.0f};
  static const char* const profiles[] = {MLXCEL_PROFILE_PINNED_F32, MLXCEL_PROFILE_MLX_CPU};
  static const char* const projections[] = {"algorithm=mlxcel_pinned_qkv_rope\n", "algorithm=mlxcel_mlx_matmul\n"};
  for (int i = 0; i < 2; ++i) {
    mlxcel_emitted_operation_t emitted;
    assert_true(iree_status_is_ok(mlxcel_emit_operation_module(profile_named(profiles[i]), &operation, &emitted)));
    assert_non_null(strstr(emitted.contract_text, "clauses=3\n"));
    static const char* const parts[] = {"op=dense-matmul\n", "op=rope\n", "op=kv-store\n"};
    for (int p = 0; p < 3; ++p) assert_non_null(strstr(emitted.contract_text, parts[p]));
    assert_non_null(strstr(emitted.contract_text, projections[i]));
    mlxcel_emitted_operation_deinitialize(&emitted);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(emit_refuses_what_the_profile_does_not_define),
      cmocka_unit_test(emit_refuses_parts_of_fused_kernels_by_name),
      cmocka_unit_test(emit_refuses_operations_that_make_no_sense),
      cmocka_unit_test(emit_operands_and_result_are_the_operation_s),
      cmocka_unit_test(emit_contracts_are_read_back),
      cmocka_unit_test(emit_clauses_name_the_sources_of_their_kernels),
      cmocka_unit_test(emit_compositions_have_the_clauses_of_their_parts),
  };
  return cmocka_run_group_tests_name("operation_emitter", tests, NULL, NULL);
}
