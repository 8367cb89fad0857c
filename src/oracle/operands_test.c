// Operands: the same everywhere, and of the kinds that they claim to be.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/operands.h"

static mlxcel_operation_t matmul(mlxcel_dtype_t dtype, uint32_t bits) {
  return (mlxcel_operation_t){.op = bits ? MLXCEL_OP_QUANTIZED_MATMUL : MLXCEL_OP_DENSE_MATMUL,
                              .dtype = dtype,
                              .weight_dtype = dtype,
                              .bias_dtype = dtype,
                              .bits = bits,
                              .group_size = bits ? 32 : 0,
                              .rows = 5,
                              .in_features = 96,
                              .out_features = 8};
}

static void make(const mlxcel_operation_t* operation, uint64_t seed, mlxcel_oracle_operands_t* out_operands) {
  assert_true(iree_status_is_ok(mlxcel_oracle_operands_make(operation, false, seed, out_operands)));
}

static void a_seed_gives_the_same_bytes_and_another_seed_others(void** state) {
  (void)state;
  mlxcel_oracle_operands_t first, second, other;
  mlxcel_operation_t operation = matmul(MLXCEL_DTYPE_BF16, 4);
  make(&operation, 1, &first);
  make(&operation, 1, &second);
  make(&operation, 2, &other);
  assert_int_equal(first.count, 4);
  for (size_t i = 0; i < first.count; ++i) {
    assert_string_equal(first.digests[i].text, second.digests[i].text);
    assert_string_not_equal(first.digests[i].text, other.digests[i].text);
  }
  mlxcel_oracle_operands_deinitialize(&first);
  mlxcel_oracle_operands_deinitialize(&second);
  mlxcel_oracle_operands_deinitialize(&other);
}

// Evidence names the operands by seed only: these bytes may not change unnoticed.
static void digests_are_the_recorded_ones(void** state) {
  (void)state;
  static const struct {
    mlxcel_dtype_t dtype;
    uint32_t bits;
    const char* digests[4];
  } golden[] = {
      {MLXCEL_DTYPE_F32,
       0,
       {"d1000492690a6a599e05bd1633445a30d06424f84fa24ec56df7d639442fed85", "68f23f7b0cef3bfa1c8a952ceeb9b6756aad2bf3a6c2aa686d575e8ad06769a4"}},
      {MLXCEL_DTYPE_BF16,
       4,
       {"47f67c506836805c4d7404b3dd7543fd8c1e07856ba505a76c0120e0316fe912", "e8ba54dd90663ab0b8f20e4c7cef1e1374f9e6e7ada4e9906d702c68db056bef",
        "60eaa54b6f67fcbd6ad90dcbd372b587e9e3074e1df3564aa8eaeed1cb147dce", "f965e481bb9928a4087d70c11aca91e0cf6053a5d309126dbbc8c8786799bcb3"}},
      {MLXCEL_DTYPE_F16,
       8,
       {"7b8b432cb38cd25017b6df6d5a72b65b134922459e487480a8b17a3aa8a9ba8e", "4246f4eed8595c798a0430b97cd0c20c926efb1ed88e7673b4d5f5674f38efca",
        "6542e73407657b56f64f6c0a2c90daac3819d83f4848380c6fc9c146ea768614", "6f771ba74630e49078d4a7c2a3f313a541e273136bf16a6c579135f9ae17a052"}},
  };
  for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); ++i) {
    mlxcel_operation_t operation = matmul(golden[i].dtype, golden[i].bits);
    mlxcel_oracle_operands_t operands;
    make(&operation, 20260822, &operands);
    for (size_t k = 0; k < operands.count; ++k) assert_string_equal(operands.digests[k].text, golden[i].digests[k]);
    mlxcel_oracle_operands_deinitialize(&operands);
  }
}

static float at(const mlxcel_host_tensor_t* tensor, uint64_t index) { return mlxcel_dtype_widen(tensor->type.dtype, tensor->data, index); }

static void rows_of_kind_cancel_sum_to_almost_nothing(void** state) {
  (void)state;
  mlxcel_operation_t operation = matmul(MLXCEL_DTYPE_F32, 0);
  mlxcel_oracle_operands_t operands;
  make(&operation, 3, &operands);
  double sum = 0, size = 0;
  for (uint64_t k = 0; k < 96; ++k) {
    double product = (double)at(&operands.tensors[0], 96 * MLXCEL_OPERAND_CANCEL + k) * (double)at(&operands.tensors[1], 96 * 3 + k);  // a mirrored weight row
    sum += product;
    size += fabs(product);
  }
  assert_true(size > 1 && fabs(sum) < size / 1000);
  mlxcel_oracle_operands_deinitialize(&operands);
}

static void rows_of_kind_tiny_are_subnormal_or_next_to_it(void** state) {
  (void)state;
  mlxcel_operation_t operation = matmul(MLXCEL_DTYPE_F32, 0);
  mlxcel_oracle_operands_t operands;
  make(&operation, 3, &operands);
  size_t subnormal = 0;
  for (uint64_t k = 0; k < 96; ++k) subnormal += fpclassify(at(&operands.tensors[0], 96 * MLXCEL_OPERAND_TINY + k)) == FP_SUBNORMAL;
  assert_true(subnormal > 30);
  mlxcel_oracle_operands_deinitialize(&operands);
}

// a + b lies exactly between two neighbours: the sum in double isn't a float, and is half a step away from both.
static void sums_of_kind_ties_fall_on_midpoints(void** state) {
  (void)state;
  mlxcel_operation_t operation = {.op = MLXCEL_OP_RESIDUAL_ADD,
                                  .dtype = MLXCEL_DTYPE_BF16,
                                  .weight_dtype = MLXCEL_DTYPE_BF16,
                                  .bias_dtype = MLXCEL_DTYPE_BF16,
                                  .rows = 5,
                                  .in_features = 100};
  mlxcel_oracle_operands_t operands;
  make(&operation, 5, &operands);
  size_t ties = 0;
  for (uint64_t i = 100 * MLXCEL_OPERAND_TIES; i < 100 * (MLXCEL_OPERAND_TIES + 1); ++i) {
    float sum = at(&operands.tensors[0], i) + at(&operands.tensors[1], i);
    uint32_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    ties += (bits & 0xffff) == 0x8000;
  }
  assert_true(ties > 90);
  mlxcel_oracle_operands_deinitialize(&operands);
}

static void scales_in_f32_fit_no_narrower_dtype(void** state) {
  (void)state;
  mlxcel_operation_t operation = matmul(MLXCEL_DTYPE_F32, 4);
  mlxcel_oracle_operands_t operands;
  make(&operation, 7, &operands);
  size_t wide = 0;
  for (uint64_t i = 0; i < 3 * 8; ++i) {
    uint8_t stored[4];
    float scale = at(&operands.tensors[2], i);
    mlxcel_dtype_store(MLXCEL_DTYPE_F16, stored, 0, scale);
    wide += mlxcel_dtype_widen(MLXCEL_DTYPE_F16, stored, 0) != scale;
  }
  assert_true(wide >= 15);  // two rows of eight have powers of two
  mlxcel_oracle_operands_deinitialize(&operands);
}

static void codes_use_every_value_of_their_width(void** state) {
  (void)state;
  mlxcel_operation_t operation = matmul(MLXCEL_DTYPE_F32, 3);
  mlxcel_oracle_operands_t operands;
  make(&operation, 9, &operands);
  const uint8_t* bytes = operands.tensors[1].data;
  size_t counts[8] = {0};
  for (size_t k = 0; k < 96; ++k) {
    size_t bit = 3 * k;
    counts[(bytes[bit / 8] | (bit / 8 + 1 < 36 ? bytes[bit / 8 + 1] << 8 : 0)) >> (bit % 8) & 7]++;
  }
  for (size_t i = 0; i < 8; ++i) assert_true(counts[i] > 0);
  mlxcel_oracle_operands_deinitialize(&operands);
}

static void positions_reach_from_the_first_to_the_last_key(void** state) {
  (void)state;
  mlxcel_operation_t operation = {.op = MLXCEL_OP_ROPE,
                                  .variant = MLXCEL_VARIANT_HALF,
                                  .dtype = MLXCEL_DTYPE_F32,
                                  .weight_dtype = MLXCEL_DTYPE_F32,
                                  .bias_dtype = MLXCEL_DTYPE_F32,
                                  .rows = 4,
                                  .heads = 1,
                                  .head_dim = 8,
                                  .rope_dims = 8,
                                  .keys = 1001,
                                  .scale = 1.0f,
                                  .rope_base = 10000.0f};
  mlxcel_oracle_operands_t operands;
  assert_true(iree_status_is_ok(mlxcel_oracle_operands_make(&operation, true, 1, &operands)));
  const int32_t* positions = operands.tensors[1].data;
  assert_int_equal(positions[0], 0);
  assert_int_equal(positions[3], 1000);
  assert_float_equal(at(&operands.tensors[2], 1000 * 4), (float)cos(1000.0), 0);
  mlxcel_oracle_operands_deinitialize(&operands);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_seed_gives_the_same_bytes_and_another_seed_others),
      cmocka_unit_test(digests_are_the_recorded_ones),
      cmocka_unit_test(rows_of_kind_cancel_sum_to_almost_nothing),
      cmocka_unit_test(rows_of_kind_tiny_are_subnormal_or_next_to_it),
      cmocka_unit_test(sums_of_kind_ties_fall_on_midpoints),
      cmocka_unit_test(scales_in_f32_fit_no_narrower_dtype),
      cmocka_unit_test(codes_use_every_value_of_their_width),
      cmocka_unit_test(positions_reach_from_the_first_to_the_last_key),
  };
  return cmocka_run_group_tests_name("operands", tests, NULL, NULL);
}
