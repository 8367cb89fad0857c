// Traces: sub-operations take the right operands, and models end where the scalar reference does.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/compare.h"
#include "oracle/decomposition.h"
#include "oracle/oracle_cases.h"
#include "oracle/trace.h"

static const mlxcel_profile_t* pinned(void) { return mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_PINNED_F32)); }

// The pinned model of some outputs of |operation| against the scalar reference of the whole operation: cutting out and computing alone changes no bit.
static void check_pinned(const mlxcel_operation_t* operation) {
  mlxcel_oracle_operands_t operands;
  mlxcel_host_tensor_t whole;
  assert_true(iree_status_is_ok(mlxcel_oracle_operands_make(operation, true, 11, &operands)));
  assert_true(iree_status_is_ok(mlxcel_decomposition_evaluate(pinned(), operation, operands.tensors, &whole)));
  uint64_t count = mlxcel_operand_element_count(&whole.type);
  for (uint64_t index = 0; index < count; index += count / 13 + 1) {
    mlxcel_suboperation_t sub;
    mlxcel_trace_t trace;
    assert_true(iree_status_is_ok(mlxcel_suboperation_make(operation, true, &operands, index, &sub)));
    assert_true(iree_status_is_ok(mlxcel_trace_compute(MLXCEL_ORDER_PINNED, &sub, &trace)));
    assert_int_equal(trace.result_bits, mlxcel_element_bits(whole.type.dtype, whole.data, index));
    mlxcel_trace_deinitialize(&trace);
    mlxcel_suboperation_deinitialize(&sub);
  }
  mlxcel_host_tensor_deinitialize(&whole);
  mlxcel_oracle_operands_deinitialize(&operands);
}

static void pinned_models_end_at_the_scalar_references_bits(void** state) {
  (void)state;
  mlxcel_oracle_cases_t cases;
  assert_true(iree_status_is_ok(mlxcel_oracle_cases_make(&cases)));
  size_t checked = 0;
  for (size_t i = 0; i < cases.count; ++i) {
    const mlxcel_operation_t* operation = &cases.items[i].operation;
    mlxcel_operation_t adapted;
    bool has_model = operation->op == MLXCEL_OP_DENSE_MATMUL || operation->op == MLXCEL_OP_QUANTIZED_MATMUL || operation->op == MLXCEL_OP_RMS_NORM ||
                     operation->op == MLXCEL_OP_ATTENTION || operation->op == MLXCEL_OP_ACTIVATION_PROJECTION;
    bool is_small = mlxcel_oracle_output_count(operation) * (uint64_t)(operation->in_features + operation->keys) < 400000;
    if (!has_model || !is_small || !mlxcel_oracle_profile_defines(pinned(), operation, &adapted)) continue;
    check_pinned(&adapted);
    ++checked;
  }
  assert_true(checked > 20);
  mlxcel_oracle_cases_deinitialize(&cases);
}

static void a_suboperation_is_small_and_names_the_same_output(void** state) {
  (void)state;
  const mlxcel_operation_t operation = {.op = MLXCEL_OP_CONVOLUTION,
                                        .variant = MLXCEL_VARIANT_CONV2D,
                                        .dtype = MLXCEL_DTYPE_F32,
                                        .weight_dtype = MLXCEL_DTYPE_F32,
                                        .bias_dtype = MLXCEL_DTYPE_F32,
                                        .batch = 2,
                                        .in_h = 5,
                                        .in_w = 6,
                                        .in_features = 3,
                                        .out_features = 4,
                                        .kernel_h = 3,
                                        .kernel_w = 2,
                                        .stride_h = 2,
                                        .stride_w = 1,
                                        .pad_h_low = 1,
                                        .pad_w_high = 1};
  mlxcel_oracle_operands_t operands;
  mlxcel_suboperation_t sub;
  assert_true(iree_status_is_ok(mlxcel_oracle_operands_make(&operation, false, 1, &operands)));
  const int64_t out_h = 2, out_w = 6;  // (5 + 1 - 3) / 2 + 1, 6 + 1 - 2 + 1
  assert_int_equal(mlxcel_oracle_output_count(&operation), 2 * out_h * out_w * 4);
  uint64_t index = (uint64_t)(((1 * out_h + 0) * out_w + 5) * 4 + 3);  // batch 1, first row (its first kernel row is padding), last column, last channel
  assert_true(iree_status_is_ok(mlxcel_suboperation_make(&operation, false, &operands, index, &sub)));
  assert_int_equal(mlxcel_oracle_output_count(&sub.operation), 1);
  const float *window = sub.operands.tensors[0].data, *image = operands.tensors[0].data;
  for (size_t i = 0; i < 2 * 3; ++i) assert_true(window[i] == 0);  // kernel row 0 lies above the image
  for (size_t c = 0; c < 3; ++c) assert_true(window[2 * 3 + c] == image[((1 * 5 + 0) * 6 + 5) * 3 + c]);
  for (size_t c = 0; c < 3; ++c) assert_true(window[3 * 3 + c] == 0);  // right of the image
  assert_memory_equal(sub.operands.tensors[1].data, (const float*)operands.tensors[1].data + 3 * 18, 18 * sizeof(float));
  mlxcel_suboperation_deinitialize(&sub);
  mlxcel_oracle_operands_deinitialize(&operands);
}

static void the_first_step_that_differs_is_marked(void** state) {
  (void)state;
  mlxcel_trace_t left = {0}, right = {0};
  for (int k = 0; k < 100; ++k) {
    mlxcel_trace_add(&left, (float)k, "k %d", k);
    mlxcel_trace_add(&right, k < 60 ? (float)k : (float)k + 1, "k %d", k);
    if (k == 30) mlxcel_trace_add(&right, 5, "only here");
  }
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_trace_print(&left, "A", &right, "B", &text);
  const char* marked = strstr(text.data, "> k 60");
  assert_non_null(marked);
  assert_non_null(strstr(marked, "<- first difference"));
  assert_null(strstr(text.data, "> k 61"));
  assert_null(strstr(text.data, " k 30 "));  // left out
  assert_non_null(strstr(text.data, "steps\n"));
  assert_non_null(strstr(text.data, " k 99 "));
  mlxcel_strbuf_deinitialize(&text);
  mlxcel_trace_deinitialize(&left);
  mlxcel_trace_deinitialize(&right);
}

static void operations_that_only_move_data_have_no_suboperation(void** state) {
  (void)state;
  const mlxcel_operation_t operation = {.op = MLXCEL_OP_KV_STORE,
                                        .dtype = MLXCEL_DTYPE_F32,
                                        .weight_dtype = MLXCEL_DTYPE_F32,
                                        .bias_dtype = MLXCEL_DTYPE_F32,
                                        .rows = 2,
                                        .kv_heads = 1,
                                        .head_dim = 4,
                                        .keys = 3};
  mlxcel_oracle_operands_t operands;
  mlxcel_suboperation_t sub;
  assert_true(iree_status_is_ok(mlxcel_oracle_operands_make(&operation, false, 1, &operands)));
  iree_status_t status = mlxcel_suboperation_make(&operation, false, &operands, 0, &sub);
  assert_true(iree_status_is_unimplemented(status));
  iree_status_free(status);
  mlxcel_oracle_operands_deinitialize(&operands);
}

// Two heads read one k and v; rows 0 and 1 are at positions 0 and 4.
static void a_suboperation_of_qkv_rope_finds_the_row_that_a_cache_element_comes_from(void** state) {
  (void)state;
  const mlxcel_operation_t operation = {.op = MLXCEL_OP_QKV_ROPE,
                                        .variant = MLXCEL_VARIANT_HALF,
                                        .dtype = MLXCEL_DTYPE_F32,
                                        .weight_dtype = MLXCEL_DTYPE_F32,
                                        .bias_dtype = MLXCEL_DTYPE_F32,
                                        .rows = 2,
                                        .in_features = 33,
                                        .heads = 4,
                                        .kv_heads = 2,
                                        .head_dim = 5,
                                        .keys = 5,
                                        .rope_dims = 4,
                                        .rope_base = 10000.0f,
                                        .scale = 1.0f};
  mlxcel_oracle_operands_t operands;
  mlxcel_host_tensor_t whole, part;
  assert_true(iree_status_is_ok(mlxcel_oracle_operands_make(&operation, true, 1, &operands)));
  assert_true(iree_status_is_ok(mlxcel_decomposition_evaluate(pinned(), &operation, operands.tensors, &whole)));
  const uint64_t q_count = 2 * 4 * 5, cache_count = 2 * 5 * 5;
  size_t stored = 0;
  for (uint64_t i = 0; i < q_count + 2 * cache_count; ++i) {
    mlxcel_suboperation_t sub;
    iree_status_t status = mlxcel_suboperation_make(&operation, true, &operands, i, &sub);
    uint64_t position = i < q_count ? 0 : (i - q_count) / 5 % 5;
    assert_int_equal(iree_status_code(status), position % 4 == 0 ? IREE_STATUS_OK : IREE_STATUS_UNIMPLEMENTED);
    iree_status_ignore(status);
    if (position % 4 != 0) {  // what the cache held before
      const mlxcel_host_tensor_t* cache = &operands.tensors[i < q_count + cache_count ? 8 : 9];
      assert_memory_equal((const float*)whole.data + i, (const float*)cache->data + (i - q_count) % cache_count, sizeof(float));
      continue;
    }
    assert_true(iree_status_is_ok(mlxcel_decomposition_evaluate(pinned(), &sub.operation, sub.operands.tensors, &part)));
    assert_memory_equal((const float*)part.data + sub.index, (const float*)whole.data + i, sizeof(float));
    mlxcel_host_tensor_deinitialize(&part);
    mlxcel_suboperation_deinitialize(&sub);
    ++stored;
  }
  assert_int_equal(stored, q_count + 2 * 2 * 2 * 5);
  mlxcel_host_tensor_deinitialize(&whole);
  mlxcel_oracle_operands_deinitialize(&operands);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pinned_models_end_at_the_scalar_references_bits),
      cmocka_unit_test(a_suboperation_is_small_and_names_the_same_output),
      cmocka_unit_test(a_suboperation_of_qkv_rope_finds_the_row_that_a_cache_element_comes_from),
      cmocka_unit_test(the_first_step_that_differs_is_marked),
      cmocka_unit_test(operations_that_only_move_data_have_no_suboperation),
  };
  return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
