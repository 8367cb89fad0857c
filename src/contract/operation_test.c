#include "contract/operation.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include <cmocka.h>

//===- Elements ---------------------------------------------------------------------------------------------------------------------------------------===//

#define MXCSR_FTZ_DAZ 0x8040u

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}
static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// By definition, in double: every f16 and bf16 is one, and so is every midpoint of two.
static double value_of_half(mlxcel_dtype_t dtype, uint32_t half) {
  int fraction_bits = dtype == MLXCEL_DTYPE_F16 ? 10 : 7, bias = dtype == MLXCEL_DTYPE_F16 ? 15 : 127;
  uint32_t fraction = half & ((1u << fraction_bits) - 1), exponent = (half & 0x7fffu) >> fraction_bits;
  double magnitude =
      exponent ? ldexp((double)(fraction + (1u << fraction_bits)), (int)exponent - bias - fraction_bits) : ldexp((double)fraction, 1 - bias - fraction_bits);
  return half & 0x8000u ? -magnitude : magnitude;
}
static uint32_t infinity_of(mlxcel_dtype_t dtype) { return dtype == MLXCEL_DTYPE_F16 ? 0x7c00u : 0x7f80u; }

static uint16_t stored(mlxcel_dtype_t dtype, float value) {
  uint16_t half[2] = {0xdead, 0xdead};
  mlxcel_dtype_store(dtype, half, 1, value);
  assert_int_equal(half[0], 0xdead);
  return half[1];
}
static float widened(mlxcel_dtype_t dtype, uint16_t half) {
  const uint16_t data[2] = {0xffff, half};
  return mlxcel_dtype_widen(dtype, data, 1);
}

// Every finite value widens to itself and stores back to itself; every midpoint of neighbours goes to the even one, what is beside it to the nearer one.
static void check_all_halves(mlxcel_dtype_t dtype) {
  for (uint32_t half = 0; half < infinity_of(dtype); ++half) {
    double value = value_of_half(dtype, half);
    assert_int_equal(bits_of(widened(dtype, (uint16_t)half)), bits_of((float)value));
    assert_int_equal(bits_of(widened(dtype, (uint16_t)(half | 0x8000u))), bits_of((float)value) | 0x80000000u);
    assert_int_equal(stored(dtype, (float)value), half);
    assert_int_equal(stored(dtype, -(float)value), half | 0x8000u);
    float middle = float_of(bits_of((float)value) / 2 + bits_of((float)value_of_half(dtype, half + 1)) / 2);
    if ((double)middle != (value + value_of_half(dtype, half + 1)) / 2) middle = (float)((value + value_of_half(dtype, half + 1)) / 2);
    assert_int_equal(stored(dtype, middle), half + (half & 1));
    assert_int_equal(stored(dtype, float_of(bits_of(middle) + 1)), half + 1);
    assert_int_equal(stored(dtype, float_of(bits_of(middle) - 1)), half);
  }
}

static void dtype_halves_round_to_nearest_even(void** state) {
  (void)state;
  check_all_halves(MLXCEL_DTYPE_F16);
  check_all_halves(MLXCEL_DTYPE_BF16);
}

// What the double arithmetic of the test itself needs is normal, so that it may run under the compiler runtime's flags too; f32 subnormals are made of bits.
static void dtype_conversions_ignore_ftz_and_daz(void** state) {
  (void)state;
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | MXCSR_FTZ_DAZ);
  bool widens = true, stores = true;
  for (uint32_t half = 1; half < 0x80; ++half) {  // all subnormals of bf16 are subnormals of f32
    const uint16_t data = (uint16_t)half;
    float value = mlxcel_dtype_widen(MLXCEL_DTYPE_BF16, &data, 0);
    widens = widens && bits_of(value) == half << 16;
    uint16_t back = 0;
    mlxcel_dtype_store(MLXCEL_DTYPE_BF16, &back, 0, value);
    stores = stores && back == half;
    uint32_t word = 0, small = half;
    mlxcel_dtype_store(MLXCEL_DTYPE_F32, &word, 0, float_of(small));
    stores = stores && word == small;
    const uint16_t f16 = (uint16_t)half;
    mlxcel_dtype_store(MLXCEL_DTYPE_F16, &back, 0, mlxcel_dtype_widen(MLXCEL_DTYPE_F16, &f16, 0));
    stores = stores && back == half;
  }
  _mm_setcsr(saved);
  assert_true(widens);
  assert_true(stores);
}

static void dtype_overflow_is_infinity_and_nans_stay(void** state) {
  (void)state;
  const mlxcel_dtype_t halves[] = {MLXCEL_DTYPE_F16, MLXCEL_DTYPE_BF16};
  for (size_t i = 0; i < IREE_ARRAYSIZE(halves); ++i) {
    assert_int_equal(stored(halves[i], INFINITY), infinity_of(halves[i]));
    assert_int_equal(stored(halves[i], -INFINITY), infinity_of(halves[i]) | 0x8000u);
    assert_true(isinf(widened(halves[i], (uint16_t)infinity_of(halves[i]))));
    assert_true(isnan(widened(halves[i], (uint16_t)(infinity_of(halves[i]) + 1))));
  }
  assert_int_equal(stored(MLXCEL_DTYPE_F16, 65520.0f), 0x7c00);
  assert_int_equal(stored(MLXCEL_DTYPE_F16, 65519.996f), 0x7bff);
  assert_int_equal(stored(MLXCEL_DTYPE_BF16, float_of(0x7f7fffffu)), 0x7f80);
  assert_int_equal(stored(MLXCEL_DTYPE_F16, float_of(0xff800001u)), 0xfd00);
  assert_int_equal(stored(MLXCEL_DTYPE_F16, float_of(0x7fffffffu)), 0x7d00);
  assert_int_equal(stored(MLXCEL_DTYPE_BF16, float_of(0xffffffffu)), 0x7fc0);
  uint32_t word = 0;
  mlxcel_dtype_store(MLXCEL_DTYPE_F32, &word, 0, float_of(0xffc01234u));
  assert_int_equal(word, 0xffc01234u);
}

//===- Names ------------------------------------------------------------------------------------------------------------------------------------------===//

static void operation_names_are_distinct_and_parse_back(void** state) {
  (void)state;
  for (int i = 0; i < MLXCEL_OP_COUNT; ++i) {
    mlxcel_op_class_t op;
    assert_true(mlxcel_op_class_parse(iree_make_cstring_view(mlxcel_op_class_name((mlxcel_op_class_t)i)), &op));
    assert_int_equal(op, i);
  }
  for (int i = 0; i < MLXCEL_VARIANT_COUNT; ++i) {
    mlxcel_op_variant_t variant;
    assert_true(mlxcel_op_variant_parse(iree_make_cstring_view(mlxcel_op_variant_name((mlxcel_op_variant_t)i)), &variant));
    assert_int_equal(variant, i);
  }
  for (int i = 0; i < MLXCEL_DTYPE_COUNT; ++i) {
    mlxcel_dtype_t dtype;
    assert_true(mlxcel_dtype_parse(iree_make_cstring_view(mlxcel_dtype_name((mlxcel_dtype_t)i)), &dtype));
    assert_int_equal(dtype, i);
  }
  mlxcel_op_class_t op;
  mlxcel_op_variant_t variant;
  mlxcel_dtype_t dtype;
  assert_false(mlxcel_op_class_parse(IREE_SV("Rms-norm"), &op));
  assert_false(mlxcel_op_variant_parse(IREE_SV("plain "), &variant));
  assert_false(mlxcel_dtype_parse(IREE_SV("F32"), &dtype));
}

static void operation_dtypes_meet_in_themselves_or_f32(void** state) {
  (void)state;
  assert_int_equal(mlxcel_dtype_promote(MLXCEL_DTYPE_BF16, MLXCEL_DTYPE_BF16), MLXCEL_DTYPE_BF16);
  assert_int_equal(mlxcel_dtype_promote(MLXCEL_DTYPE_F16, MLXCEL_DTYPE_F16), MLXCEL_DTYPE_F16);
  assert_int_equal(mlxcel_dtype_promote(MLXCEL_DTYPE_F16, MLXCEL_DTYPE_BF16), MLXCEL_DTYPE_F32);
  assert_int_equal(mlxcel_dtype_promote(MLXCEL_DTYPE_F32, MLXCEL_DTYPE_BF16), MLXCEL_DTYPE_F32);
}

//===- Operands ---------------------------------------------------------------------------------------------------------------------------------------===//

// An operation of any class and its first variant with sizes that fit.
static mlxcel_operation_t fitting(mlxcel_op_class_t op) {
  mlxcel_operation_t operation = {.op = op,
                                  .dtype = MLXCEL_DTYPE_BF16,
                                  .weight_dtype = MLXCEL_DTYPE_F16,
                                  .bias_dtype = MLXCEL_DTYPE_F32,
                                  .rows = 3,
                                  .in_features = 64,
                                  .out_features = 5,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .head_dim = 16,
                                  .keys = 7,
                                  .rope_dims = 8,
                                  .batch = 2,
                                  .in_h = 1,
                                  .in_w = 9,
                                  .kernel_h = 1,
                                  .kernel_w = 3,
                                  .stride_h = 1,
                                  .stride_w = 2,
                                  .pad_w_low = 1};
  while (!mlxcel_op_variant_belongs(op, operation.variant)) ++operation.variant;
  if (op == MLXCEL_OP_DEQUANTIZE || op == MLXCEL_OP_QUANTIZED_MATMUL) {
    operation.bits = 4;
    operation.group_size = 32;
  }
  return operation;
}

static void describe(const mlxcel_operand_t* operand, char* text, size_t size) {
  int used = snprintf(text, size, "%s %s[", operand->name, mlxcel_dtype_name(operand->dtype));
  for (uint32_t i = 0; i < operand->rank; ++i) used += snprintf(text + used, size - (size_t)used, "%s%" PRId64, i ? "," : "", operand->dims[i]);
  snprintf(text + used, size - (size_t)used, "]");
}

static void assert_types(const mlxcel_operation_t* operation, bool with_tables, const char* expected) {
  mlxcel_operand_t operands[MLXCEL_OPERANDS_MAX], result;
  size_t count = 0;
  iree_status_t status = mlxcel_operation_operands(operation, with_tables, operands, &count);
  if (!iree_status_is_ok(status)) {
    iree_status_fprint(stderr, status);
    fail_msg("%s has no operands", mlxcel_op_class_name(operation->op));
  }
  assert_true(iree_status_is_ok(mlxcel_operation_result(operation, &result)));
  char text[1024] = "", one[128];
  for (size_t i = 0; i <= count; ++i) {
    describe(i < count ? &operands[i] : &result, one, sizeof(one));
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, "%s%s", i == count ? " -> " : i ? "; " : "", one);
  }
  assert_string_equal(text, expected);
}

static void operation_operands_are_those_of_the_table(void** state) {
  (void)state;
  static const char* const expected[] = {
      [MLXCEL_OP_EMBEDDING] = "tokens i32[3]; positions i32[3]; table f16[5,64] -> result f16[3,64]",
      [MLXCEL_OP_DEQUANTIZE] = "codes u8[5,32]; scales f16[5,2]; biases f16[5,2] -> result f16[5,64]",
      [MLXCEL_OP_DENSE_MATMUL] = "x bf16[3,64]; w f16[5,64] -> result f32[3,5]",
      [MLXCEL_OP_QUANTIZED_MATMUL] = "x bf16[3,64]; codes u8[5,32]; scales f16[5,2]; biases f16[5,2] -> result f32[3,5]",
      [MLXCEL_OP_LAYER_NORM] = "x bf16[3,64]; weight f16[64]; bias f16[64] -> result f32[3,64]",
      [MLXCEL_OP_RMS_NORM] = "x bf16[3,64]; weight f16[64] -> result f32[3,64]",
      [MLXCEL_OP_RESIDUAL_ADD] = "a bf16[3,64]; b bf16[3,64] -> result bf16[3,64]",
      [MLXCEL_OP_ACTIVATION] = "x bf16[3,64] -> result bf16[3,64]",
      [MLXCEL_OP_SILU_GATE] = "gate bf16[3,64]; up bf16[3,64] -> result bf16[3,64]",
      [MLXCEL_OP_SOFTMAX] = "x bf16[3,64] -> result bf16[3,64]",
      [MLXCEL_OP_ATTENTION] = "q bf16[3,64]; k bf16[1,1,2,7,16]; v bf16[1,1,2,7,16]; slots i32[3]; positions i32[3] -> result bf16[3,64]",
      [MLXCEL_OP_ROPE] = "x bf16[3,64]; positions i32[3] -> result bf16[3,64]",
      [MLXCEL_OP_KV_STORE] =
          "k bf16[3,32]; v bf16[3,32]; slots i32[3]; positions i32[3]; k_cache bf16[1,1,2,7,16]; v_cache bf16[1,1,2,7,16] -> "
          "result bf16[2,1,2,7,16]",
      [MLXCEL_OP_PREFIX_SCAN] = "x bf16[3,64] -> result bf16[3,64]",
      [MLXCEL_OP_CUMULATIVE_NORM] = "x bf16[3,64,5]; weight f16[5] -> result bf16[3,64,5]",
      [MLXCEL_OP_CONVOLUTION] = "x bf16[2,1,9,64]; w f16[5,1,3,64] -> result bf16[2,1,4,5]",
      [MLXCEL_OP_ACTIVATION_PROJECTION] = "x bf16[3,64]; gate_w f16[5,64]; up_w f16[5,64] -> result f32[3,5]",
      [MLXCEL_OP_QKV_ROPE] =
          "x bf16[3,64]; wq f16[64,64]; wk f16[32,64]; wv f16[32,64]; slots i32[3]; positions i32[3]; cos f32[7,4]; sin f32[7,4]; "
          "k_cache bf16[1,1,2,7,16]; v_cache bf16[1,1,2,7,16] -> result bf16[640]",
  };
  _Static_assert(IREE_ARRAYSIZE(expected) == MLXCEL_OP_COUNT, "every class");
  for (int i = 0; i < MLXCEL_OP_COUNT; ++i) {
    mlxcel_operation_t operation = fitting((mlxcel_op_class_t)i);
    assert_types(&operation, false, expected[i]);
  }
}

static void operation_optional_operands_follow_the_flags(void** state) {
  (void)state;
  mlxcel_operation_t matmul = fitting(MLXCEL_OP_DENSE_MATMUL);
  matmul.has_bias = true;
  matmul.weight_dtype = MLXCEL_DTYPE_BF16;
  assert_types(&matmul, false, "x bf16[3,64]; w bf16[5,64]; bias f32[5] -> result bf16[3,5]");
  mlxcel_operation_t store = fitting(MLXCEL_OP_KV_STORE);
  store.dtype = MLXCEL_DTYPE_F32;
  store.cache_dtype = MLXCEL_DTYPE_F16;
  assert_types(&store, false,
               "k f32[3,32]; v f32[3,32]; slots i32[3]; positions i32[3]; k_cache f16[1,1,2,7,16]; v_cache f16[1,1,2,7,16] -> result f16[2,1,2,7,16]");
  mlxcel_operation_t rope = fitting(MLXCEL_OP_ROPE);
  assert_types(&rope, true, "x bf16[3,64]; positions i32[3]; cos f32[7,4]; sin f32[7,4] -> result bf16[3,64]");
  rope.has_frequencies = true;
  assert_types(&rope, false, "x bf16[3,64]; positions i32[3]; frequencies f32[4] -> result bf16[3,64]");
  mlxcel_operation_t attention = fitting(MLXCEL_OP_ATTENTION);
  attention.variant = MLXCEL_VARIANT_MASK_ADDITIVE;
  assert_types(&attention, false, "q bf16[3,64]; k bf16[1,1,2,7,16]; v bf16[1,1,2,7,16]; slots i32[3]; positions i32[3]; mask bf16[3,7] -> result bf16[3,64]");
  mlxcel_operation_t projection = fitting(MLXCEL_OP_ACTIVATION_PROJECTION);
  projection.bits = 3;
  projection.group_size = 32;
  assert_types(&projection, false,
               "x bf16[3,64]; gate_codes u8[5,24]; gate_scales f16[5,2]; gate_biases f16[5,2]; up_codes u8[5,24]; up_scales f16[5,2]; up_biases f16[5,2] -> "
               "result f32[3,5]");
  mlxcel_operation_t embedding = fitting(MLXCEL_OP_EMBEDDING);
  embedding.bits = 8;
  embedding.group_size = 64;
  assert_types(&embedding, false, "tokens i32[3]; positions i32[3]; codes u8[5,64]; scales f16[5,1]; biases f16[5,1] -> result f16[3,64]");
  mlxcel_operation_t norm = fitting(MLXCEL_OP_RMS_NORM);
  norm.variant = MLXCEL_VARIANT_SINGLE_ROUNDING;
  assert_types(&norm, false, "x bf16[3,64]; weight f16[64] -> result bf16[3,64]");
}

static void assert_refused(const mlxcel_operation_t* operation, const char* name) {
  mlxcel_operand_t operands[MLXCEL_OPERANDS_MAX];
  size_t count = 1;
  iree_status_t status = mlxcel_operation_operands(operation, false, operands, &count);
  assert_true(iree_status_is_invalid_argument(status));
  assert_int_equal(count, 0);
  char text[1024];
  iree_host_size_t length = 0;
  iree_status_format(status, sizeof(text), text, &length);
  if (!strstr(text, name)) fail_msg("'%s' doesn't name %s", text, name);
  iree_status_ignore(status);
  mlxcel_operand_t result;
  status = mlxcel_operation_result(operation, &result);
  assert_true(iree_status_is_invalid_argument(status));
  iree_status_ignore(status);
  char shape[64];
  mlxcel_operation_shape_text(operation, shape, sizeof(shape));
  assert_string_equal(shape, "invalid");
}

#define REFUSED(class, field, value, name)                 \
  do {                                                     \
    mlxcel_operation_t refused_operation = fitting(class); \
    refused_operation.field = value;                       \
    assert_refused(&refused_operation, name);              \
  } while (0)

static void operation_that_does_not_fit_is_refused_by_name(void** state) {
  (void)state;
  REFUSED(MLXCEL_OP_RMS_NORM, rows, 0, "rows");
  REFUSED(MLXCEL_OP_RMS_NORM, in_features, -4, "in_features");
  REFUSED(MLXCEL_OP_RMS_NORM, in_features, MLXCEL_OPERATION_SIZE_MAX + 1, "in_features");
  REFUSED(MLXCEL_OP_DENSE_MATMUL, out_features, 0, "out_features");
  REFUSED(MLXCEL_OP_DENSE_MATMUL, bits, 4, "bits");
  REFUSED(MLXCEL_OP_DENSE_MATMUL, has_residual, true, "has_residual");
  REFUSED(MLXCEL_OP_RESIDUAL_ADD, bits, 4, "bits");
  REFUSED(MLXCEL_OP_RESIDUAL_ADD, has_bias, true, "has_bias");
  REFUSED(MLXCEL_OP_RESIDUAL_ADD, has_frequencies, true, "has_frequencies");
  REFUSED(MLXCEL_OP_QUANTIZED_MATMUL, bits, 7, "bits");
  REFUSED(MLXCEL_OP_QUANTIZED_MATMUL, bits, 9, "bits");
  REFUSED(MLXCEL_OP_QUANTIZED_MATMUL, bits, 0, "bits");
  REFUSED(MLXCEL_OP_QUANTIZED_MATMUL, group_size, 48, "group_size");
  REFUSED(MLXCEL_OP_QUANTIZED_MATMUL, group_size, 0, "group_size");
  REFUSED(MLXCEL_OP_SOFTMAX, dtype, MLXCEL_DTYPE_I32, "dtype");
  REFUSED(MLXCEL_OP_LAYER_NORM, weight_dtype, MLXCEL_DTYPE_U8, "weight_dtype");
  REFUSED(MLXCEL_OP_DENSE_MATMUL, bias_dtype, MLXCEL_DTYPE_COUNT, "bias_dtype");
  REFUSED(MLXCEL_OP_SOFTMAX, variant, MLXCEL_VARIANT_QMV, "variant");
  REFUSED(MLXCEL_OP_SOFTMAX, op, MLXCEL_OP_COUNT, "op class");
  REFUSED(MLXCEL_OP_ATTENTION, kv_heads, 3, "kv_heads");
  REFUSED(MLXCEL_OP_ATTENTION, keys, 0, "keys");
  REFUSED(MLXCEL_OP_ATTENTION, cache_dtype, MLXCEL_DTYPE_F16, "cache_dtype");  // of bf16 values
  REFUSED(MLXCEL_OP_KV_STORE, cache_dtype, MLXCEL_DTYPE_U8, "cache_dtype");
  REFUSED(MLXCEL_OP_SOFTMAX, cache_dtype, MLXCEL_DTYPE_BF16, "cache_dtype");
  REFUSED(MLXCEL_OP_ROPE, rope_dims, 7, "rope_dims");
  REFUSED(MLXCEL_OP_ROPE, rope_dims, 18, "rope_dims");
  REFUSED(MLXCEL_OP_CONVOLUTION, kernel_w, 11, "kernel_w");
  REFUSED(MLXCEL_OP_CONVOLUTION, pad_w_high, -1, "pad_w_high");
  REFUSED(MLXCEL_OP_CONVOLUTION, in_h, 2, "in_h");
  REFUSED(MLXCEL_OP_CONVOLUTION, stride_w, 0, "stride_w");
  mlxcel_operation_t causal = fitting(MLXCEL_OP_ATTENTION);
  causal.variant = MLXCEL_VARIANT_MASK_CAUSAL;
  causal.keys = 2;
  assert_refused(&causal, "keys");
  mlxcel_operation_t tall = fitting(MLXCEL_OP_CONVOLUTION);
  tall.variant = MLXCEL_VARIANT_CONV2D;
  tall.kernel_h = 2;
  assert_refused(&tall, "kernel_h");
}

static void operation_with_too_many_elements_is_refused(void** state) {
  (void)state;
  mlxcel_operation_t operation = fitting(MLXCEL_OP_RESIDUAL_ADD);
  operation.rows = operation.in_features = MLXCEL_OPERATION_SIZE_MAX;
  mlxcel_operand_t operands[MLXCEL_OPERANDS_MAX];
  size_t count = 0;
  iree_status_t status = mlxcel_operation_operands(&operation, false, operands, &count);
  assert_true(iree_status_is_invalid_argument(status));
  iree_status_ignore(status);
  mlxcel_operation_t caches = fitting(MLXCEL_OP_QKV_ROPE);
  caches.kv_heads = caches.heads = 1 << 10;
  caches.head_dim = 1 << 10;
  caches.keys = 1 << 10;
  mlxcel_operand_t result;
  status = mlxcel_operation_result(&caches, &result);  // every operand fits, both caches together don't
  assert_true(iree_status_is_invalid_argument(status));
  iree_status_ignore(status);
  const mlxcel_operand_t huge = {.name = "x", .rank = 3, .dims = {INT64_MAX, INT64_MAX, 2}};
  assert_true(mlxcel_operand_element_count(&huge) == UINT64_MAX);
  mlxcel_host_tensor_t tensor;
  status = mlxcel_host_tensor_allocate(&huge, &tensor);
  assert_true(iree_status_is_resource_exhausted(status));
  iree_status_ignore(status);
  assert_null(tensor.data);
}

static void operation_rope_tables_need_keys(void** state) {
  (void)state;
  mlxcel_operation_t operation = fitting(MLXCEL_OP_ROPE);
  operation.keys = 0;
  mlxcel_operand_t operands[MLXCEL_OPERANDS_MAX];
  size_t count = 0;
  iree_status_t status = mlxcel_operation_operands(&operation, true, operands, &count);
  assert_true(iree_status_is_invalid_argument(status));
  iree_status_ignore(status);
  assert_types(&operation, false, "x bf16[3,64]; positions i32[3] -> result bf16[3,64]");
}

static void operation_shape_text_shows_the_sizes(void** state) {
  (void)state;
  char text[128], small[8];
  mlxcel_operation_t operation = fitting(MLXCEL_OP_DENSE_MATMUL);
  mlxcel_operation_shape_text(&operation, text, sizeof(text));
  assert_string_equal(text, "x=[3,64] w=[5,64]");
  mlxcel_operation_shape_text(&operation, small, sizeof(small));
  assert_string_equal(small, "x=[3,64");
  operation = fitting(MLXCEL_OP_ROPE);
  mlxcel_operation_shape_text(&operation, text, sizeof(text));
  assert_string_equal(text, "x=[3,64] heads=4 rope_dims=8");
  operation = fitting(MLXCEL_OP_CONVOLUTION);
  mlxcel_operation_shape_text(&operation, text, sizeof(text));
  assert_string_equal(text, "x=[2,1,9,64] w=[5,1,3,64] stride=[1,2] pad=[0,0,1,0]");
}

static void operation_tensors_start_as_zeros(void** state) {
  (void)state;
  const mlxcel_operand_t type = {.name = "x", .dtype = MLXCEL_DTYPE_BF16, .rank = 2, .dims = {3, 5}};
  mlxcel_host_tensor_t tensor;
  assert_true(iree_status_is_ok(mlxcel_host_tensor_allocate(&type, &tensor)));
  assert_int_equal(tensor.size, 30);
  for (size_t i = 0; i < tensor.size; ++i) assert_int_equal(((const char*)tensor.data)[i], 0);
  mlxcel_host_tensor_deinitialize(&tensor);
  assert_null(tensor.data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dtype_halves_round_to_nearest_even),           cmocka_unit_test(dtype_conversions_ignore_ftz_and_daz),
      cmocka_unit_test(dtype_overflow_is_infinity_and_nans_stay),     cmocka_unit_test(operation_names_are_distinct_and_parse_back),
      cmocka_unit_test(operation_dtypes_meet_in_themselves_or_f32),   cmocka_unit_test(operation_operands_are_those_of_the_table),
      cmocka_unit_test(operation_optional_operands_follow_the_flags), cmocka_unit_test(operation_that_does_not_fit_is_refused_by_name),
      cmocka_unit_test(operation_with_too_many_elements_is_refused),  cmocka_unit_test(operation_rope_tables_need_keys),
      cmocka_unit_test(operation_shape_text_shows_the_sizes),         cmocka_unit_test(operation_tensors_start_as_zeros),
  };
  return cmocka_run_group_tests_name("operation", tests, NULL, NULL);
}
