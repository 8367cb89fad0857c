// The arithmetic itself: the scalar reference against literal values that only the stated order gives and against mathematics in double, mlxcel-exp-1 over its
// whole range, and subnormals under a caller that flushes them. (That the kernels equal the reference elsewhere: kernels_equal_reference_test.c.)
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include <cmocka.h>

#include "kernels/kernel_test_util.h"
#include "kernels/reference/reference.h"

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}
static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

//===- Stored numbers -----------------------------------------------------------------------------------------------------------------------------------===//

static void kernels_reference_widens_16_bit_floats_exactly(void** state) {
  (void)state;
  static const struct {
    uint16_t half;
    float f16, bf16;
  } rows[] = {{0x0000, 0.0f, 0.0f},
              {0x0001, 0x1p-24f, 0x1p-133f},
              {0x03ff, 0x1.ff8p-15f, 0x1.fep-120f},
              {0x0400, 0x1p-14f, 0x1p-119f},
              {0x3c00, 1.0f, 0x1p-7f},
              {0x3c01, 0x1.004p+0f, 0x1.02p-7f},
              {0x7bff, 65504.0f, 0x1.fep+120f},
              {0x7c00, INFINITY, 0x1p+121f},
              {0x8001, -0x1p-24f, -0x1p-133f},
              {0xc000, -2.0f, -2.0f},
              {0xfc00, -INFINITY, -0x1p+121f},
              {0x8000, -0.0f, -0.0f}};
  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    uint8_t bytes[4] = {0xff, 0xff, (uint8_t)rows[i].half, (uint8_t)(rows[i].half >> 8)};
    assert_int_equal(bits_of(mlxcel_reference_widen(bytes, MLXCEL_FORMAT_F16, 1)), bits_of(rows[i].f16));
    assert_int_equal(bits_of(mlxcel_reference_widen(bytes, MLXCEL_FORMAT_BF16, 1)), bits_of(rows[i].bf16));
  }
  const uint8_t nan[4] = {0x01, 0x7c, 0x81, 0x7f};
  assert_true(isnan(mlxcel_reference_widen(nan, MLXCEL_FORMAT_F16, 0)));
  assert_true(isnan(mlxcel_reference_widen(nan, MLXCEL_FORMAT_BF16, 1)));
  assert_int_equal(bits_of(mlxcel_reference_widen(nan, MLXCEL_FORMAT_F32, 0)), 0x7f817c01);
}

static void kernels_reference_reads_codes_from_the_lowest_bit_up(void** state) {
  (void)state;
  const uint8_t three_bits[3] = {0x88, 0xc6, 0xfa};  // 0, 1, 2, ... 7: one 24-bit little-endian number, the first code lowest
  for (uint32_t i = 0; i < 8; ++i) assert_int_equal(mlxcel_reference_code(three_bits, 3, i), i);
  for (int32_t bits = 2; bits <= 8; ++bits) {
    uint64_t word = 0;
    uint32_t codes[8];
    for (uint32_t i = 0; i < 8; ++i) {
      codes[i] = (i * 0x9e3779b9u >> 7) & ((1u << bits) - 1);
      word |= (uint64_t)codes[i] << (i * (uint32_t)bits);
    }
    uint8_t bytes[8];
    for (size_t b = 0; b < sizeof(bytes); ++b) bytes[b] = (uint8_t)(word >> (8 * b));
    for (uint32_t i = 0; i < 8; ++i) assert_int_equal(mlxcel_reference_code(bytes, bits, i), codes[i]);
  }
}

//===- Order --------------------------------------------------------------------------------------------------------------------------------------------===//

static const int32_t zero_position[1] = {0};
#define BYTES(pointer) (const uint8_t*)(const void*)(pointer)
#define ONE_MATRIX(w) BYTES(w), 0, BYTES(w), 0, BYTES(w), 0, BYTES(w), 0

// One output of one row, dense f32 weights.
static float dot_of(const kernel_set_t* set, const float* x, const float* w, int32_t width) {
  float y = NAN;
  set->mlxcel_pinned_matmul(x, 0, ONE_MATRIX(w), x, 0, zero_position, 0, &y, 0, 1, width, 1, 0, 0, 0, 1);
  return y;
}

// Calls |check| for the reference and for every build that runs here.
static void for_every_set(void (*check)(const kernel_set_t* set)) {
  check(kernel_set_reference());
  for (int level = 0; level < MLXCEL_KERNEL_LEVEL_COUNT; ++level) {
    if (mlxcel_kernel_level_runs_here((mlxcel_kernel_level_t)level)) check(kernel_set_of_level((mlxcel_kernel_level_t)level));
  }
}

static void check_dot_tree(const kernel_set_t* set) {
  float x[16], w[16];
  for (int k = 0; k < 16; ++k) x[k] = w[k] = 1.0f;
  w[0] = 0x1p+24f;
  // Lane 0 loses the 1 that comes at distance 8 (a tie to even), then meets 2, 4 and 8.
  assert_int_equal(bits_of(dot_of(set, x, w, 16)), bits_of(16777216.0f + 14.0f));
}

static void check_dot_lanes(const kernel_set_t* set) {
  float x[48] = {0}, w[48] = {0};
  x[3] = w[3] = x[19] = x[35] = 1.0f + 0x1p-23f;
  w[19] = -(1.0f + 0x1p-23f), w[35] = 0x1p-60f;
  // Fused: the second product takes off exactly what rounding the first one has lost, 2^-46, and leaves it with the sign turned.
  float want = -0x1p-46f + (0x1p-60f + 0x1p-83f);
  assert_int_equal(bits_of(dot_of(set, x, w, 48)), bits_of(want));
}

static void kernels_dot_adds_in_sixteen_lanes_and_a_tree(void** state) {
  (void)state;
  for_every_set(check_dot_tree);
}
static void kernels_dot_fuses_each_product_in_order_of_k(void** state) {
  (void)state;
  for_every_set(check_dot_lanes);
}

static void check_vanishing(const kernel_set_t* set) {
  // Every product vanishes to -0. Lanes 1 to 15 have no element behind the first sixteen: fma(0, 0, -0) in their place would turn them into +0.
  float x[2 * 17], w[17], y[2];
  uint16_t narrow[17];
  for (size_t k = 0; k < COUNT_OF(w); ++k) x[k] = x[17 + k] = 0x1p-100f, w[k] = -0x1p-100f, narrow[k] = (uint16_t)(bits_of(w[k]) >> 16);
  const int32_t positions[2] = {0, 1};
  for (int32_t rows = 1; rows <= 2; ++rows) {
    set->mlxcel_pinned_matmul(x, 0, ONE_MATRIX(w), x, 0, positions, 0, y, 0, rows, 17, 1, 0, 0, 0, 1);
    assert_int_equal(bits_of(y[rows - 1]), bits_of(-0.0f));
    set->mlxcel_pinned_matmul(x, 0, ONE_MATRIX(narrow), x, 0, positions, 0, y, 0, rows, 17, 1, MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_BF16), 0, 0, 1);
    assert_int_equal(bits_of(y[rows - 1]), bits_of(-0.0f));
  }
  assert_int_equal(bits_of(dot_of(set, x, w, 1)), bits_of(0.0f));  // here fifteen lanes are still at +0
}

static void kernels_dot_leaves_a_lane_without_an_element_untouched(void** state) {
  (void)state;
  for_every_set(check_vanishing);
}

static void check_affine(const kernel_set_t* set) {
  // One group of 32 codes of 8 bits: 129 * 131073 is odd and needs 25 bits. Rounded on its own it loses the 1, and the bias can't bring it back.
  uint8_t codes[32] = {0};
  codes[5] = 129;
  const float scale[1] = {131073.0f}, bias[1] = {0x1p-9f}, x[32] = {[5] = 1.0f};
  float y = NAN;
  set->mlxcel_pinned_matmul(x, 0, codes, 0, BYTES(scale), 0, BYTES(bias), 0, codes, 0, x, 0, zero_position, 0, &y, 0, 1, 32, 1, MLXCEL_FORMAT(8, 5, 0), 0, 0,
                            1);
  assert_int_equal(bits_of(y), bits_of(16908418.0f));
  assert_int_not_equal(bits_of(y), bits_of(129.0f * scale[0] + bias[0]));
}

static void kernels_affine_weight_is_rounded_once(void** state) {
  (void)state;
  for_every_set(check_affine);
}

//===- Mathematics --------------------------------------------------------------------------------------------------------------------------------------===//

static void assert_close(double got, double want, double bound) {
  if (!(fabs(got - want) <= bound)) fail_msg("%.9g is not within %.3g of %.9g", got, bound, want);
}

#define UNIT 0x1p-24  // unit roundoff

static void kernels_reference_attention_is_softmax_of_scaled_scores(void** state) {
  (void)state;
  enum { HEADS = 4, KV_HEADS = 2, DIM = 12, CONTEXT = 150, LENGTH = 140, SLOTS = 2, LAYERS = 2, LAYER = 1, SLOT = 1, CELLS = CONTEXT * DIM };
  random_t random = {7};
  guarded_t q = test_rows_create(&random, STYLE_PLAIN, NULL, HEADS, DIM);
  guarded_t k = test_rows_create(&random, STYLE_PLAIN, NULL, LAYERS * SLOTS * KV_HEADS, CELLS);
  guarded_t v = test_rows_create(&random, STYLE_PLAIN, NULL, LAYERS * SLOTS * KV_HEADS, CELLS);
  const int32_t slots[1] = {SLOT}, positions[1] = {LENGTH - 1};
  float out[HEADS * DIM];
  mlxcel_reference_attention(guarded_floats(&q), 0, k.data, 0, v.data, 0, slots, 0, positions, 0, out, 0, 1, HEADS, KV_HEADS, DIM, LAYER, SLOTS, CONTEXT,
                             MLXCEL_FORMAT_F32, 0.25f, 0, 1);
  for (size_t h = 0; h < HEADS; ++h) {
    size_t at = ((LAYER * SLOTS + SLOT) * KV_HEADS + h / 2) * CELLS;
    double weight[LENGTH], total = 0;
    for (size_t j = 0; j < LENGTH; ++j) {
      double score = 0;
      for (size_t d = 0; d < DIM; ++d) score += (double)guarded_floats(&q)[h * DIM + d] * (double)guarded_floats(&k)[at + j * DIM + d];
      total += weight[j] = exp(score * 0.25);
    }
    for (size_t d = 0; d < DIM; ++d) {
      double want = 0;
      for (size_t j = 0; j < LENGTH; ++j) want += weight[j] / total * (double)guarded_floats(&v)[at + j * DIM + d];
      // |v| < 4. Scores below 48 in magnitude (12 products under 16, times 1/4) carry at most 16 roundings each: e^s is off by 48 * 16 units, weights by twice
      // that.
      assert_close((double)out[h * DIM + d], want, 4 * 2 * 48 * 16 * UNIT);
    }
  }
  guarded_release(&q);
  guarded_release(&k);
  guarded_release(&v);
}

static void kernels_reference_qkv_rope_turns_pairs_half_a_head_apart(void** state) {
  (void)state;
  enum { DIM = 6, HALF = 2, CONTEXT = 3, SLOTS = 2, WIDTH = 6 };
  float identity[2 * DIM * WIDTH] = {0}, x[WIDTH] = {1, 2, 3, 4, 5, 6}, out[2 * DIM], k_cache[2 * SLOTS * CONTEXT * DIM] = {0};
  float v_cache[2 * SLOTS * CONTEXT * DIM] = {0};
  for (size_t i = 0; i < DIM; ++i) identity[i * WIDTH + i] = identity[(DIM + i) * WIDTH + i] = 1.0f;  // two heads, both x
  const float cos[CONTEXT * HALF] = {0, 0, 0, 0, 0.5f, 1}, sin[CONTEXT * HALF] = {0, 0, 0, 0, 2, 0};
  const int32_t slots[1] = {1}, positions[1] = {2};
  mlxcel_reference_qkv_rope(x, 0, ONE_MATRIX(identity), ONE_MATRIX(identity), ONE_MATRIX(identity), cos, 0, sin, 0, slots, 0, positions, 0, (uint8_t*)k_cache,
                            0, (uint8_t*)v_cache, 0, out, 0, 1, WIDTH, 2, 1, DIM, HALF, 0, 0, 0, 0, 0, 0, 1, SLOTS, CONTEXT, MLXCEL_FORMAT_F32, 0, 1);
  const float turned[DIM] = {0.5f - 6, 2, 1.5f + 2, 4, 5, 6};  // pairs (0, 2) and (1, 3); 4 and 5 stay
  size_t cell = ((1 * SLOTS + 1) * CONTEXT + 2) * DIM;         // layer 1, slot 1, one head, position 2
  for (size_t d = 0; d < DIM; ++d) {
    assert_int_equal(bits_of(out[d]), bits_of(turned[d]));
    assert_int_equal(bits_of(out[DIM + d]), bits_of(turned[d]));
    assert_int_equal(bits_of(k_cache[cell + d]), bits_of(turned[d]));
    assert_int_equal(bits_of(v_cache[cell + d]), bits_of(x[d]));
  }
  for (size_t i = 0; i < cell; ++i) assert_true(k_cache[i] == 0 && v_cache[i] == 0);
}

static void kernels_reference_norm_and_gate_follow_their_formulas(void** state) {
  (void)state;
  enum { WIDTH = 50 };
  random_t random = {11};
  guarded_t x = test_rows_create(&random, STYLE_PLAIN, NULL, 2, WIDTH);
  guarded_t w = test_rows_create(&random, STYLE_PLAIN, NULL, 2, WIDTH);
  const float *row = guarded_floats(&x) + WIDTH, *weight = guarded_floats(&w);
  const int32_t index[1] = {1};
  float out[WIDTH], gated;
  mlxcel_reference_rms_norm(guarded_floats(&x), 0, index, 0, BYTES(weight), 0, out, 0, 1, WIDTH, 0, 1, 0.5f, 0, 1);
  double squares = 0, gate = 0, up = 0, magnitude = 0;
  for (size_t i = 0; i < WIDTH; ++i) {
    squares += (double)row[i] * (double)row[i];
    gate += (double)row[i] * (double)weight[i];
    up += (double)row[i] * (double)weight[WIDTH + i];
    magnitude += fabs((double)row[i] * (double)weight[i]) + fabs((double)row[i] * (double)weight[WIDTH + i]);
  }
  for (size_t i = 0; i < WIDTH; ++i) {  // 4 fused steps and 4 additions, then 6 operations of which half the error of the sum counts
    double want = (double)row[i] / sqrt(squares / WIDTH + 0.5) * (double)weight[i];
    assert_close((double)out[i], want, fabs(want) * 12 * UNIT);
  }
  mlxcel_reference_gate_up(row, 0, ONE_MATRIX(weight), ONE_MATRIX(weight + WIDTH), zero_position, 0, &gated, 0, 1, WIDTH, 1, 0, 0, 0, 0, 0, 1);
  // |silu'| <= 1.1, so the errors of both sums pass with factors up to |up| + 1.1 |gate|; the rest is a few units of the result.
  assert_close((double)gated, gate / (1 + exp(-gate)) * up, 8 * UNIT * magnitude * (fabs(up) + 1.1 * fabs(gate)) + 8 * UNIT * fabs(gate * up));
  guarded_release(&x);
  guarded_release(&w);
}

static uint16_t narrowed(int32_t type, float value) {
  uint16_t half;
  mlxcel_reference_narrow((uint8_t*)&half, type, 0, value);
  return half;
}

// Between a code's value and the next lies one midpoint, a float: at it the even code is taken, beside it the nearer one. Nothing else decides.
static void kernels_reference_narrow_takes_the_nearest_and_at_midpoints_the_even_code(void** state) {
  (void)state;
  static const uint16_t infinities[] = {[MLXCEL_FORMAT_F16] = 0x7c00, [MLXCEL_FORMAT_BF16] = 0x7f80};
  for (int32_t type = MLXCEL_FORMAT_F16; type <= MLXCEL_FORMAT_BF16; ++type) {
    for (uint16_t code = 0; code < infinities[type]; ++code) {
      uint16_t next = (uint16_t)(code + 1), even = code % 2 ? next : code;
      double below = (double)mlxcel_reference_widen((const uint8_t*)&code, type, 0), above = (double)mlxcel_reference_widen((const uint8_t*)&next, type, 0);
      // Infinity stands where the next value would be.
      if (next == infinities[type]) above = type == MLXCEL_FORMAT_F16 ? 65536.0 : 0x1p+128;
      float middle = (float)((below + above) / 2);
      assert_true((double)middle == (below + above) / 2);
      for (int negative = 0; negative < 2; ++negative) {
        uint16_t sign = negative ? 0x8000 : 0;
        float turn = negative ? -1.0f : 1.0f;
        assert_int_equal(narrowed(type, turn * (float)below), sign | code);
        assert_int_equal(narrowed(type, turn * middle), sign | even);
        assert_int_equal(narrowed(type, turn * nextafterf(middle, 0)), sign | code);
        assert_int_equal(narrowed(type, turn * nextafterf(middle, INFINITY)), sign | next);
      }
    }
    assert_int_equal(narrowed(type, INFINITY), infinities[type]);
    assert_int_equal(narrowed(type, -FLT_MAX), 0x8000 | infinities[type]);
    static const uint32_t nans[] = {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffc00000u};
    for (size_t i = 0; i < COUNT_OF(nans); ++i) {
      float value;
      memcpy(&value, &nans[i], sizeof(value));
      uint16_t half = narrowed(type, value);
      assert_true(isnan(mlxcel_reference_widen((const uint8_t*)&half, type, 0)));
    }
  }
}

// A NaN whose fraction rounds up would carry into the sign.
static void kernels_narrow_cache_keeps_nans(void** state) {
  (void)state;
  for (int level = 0; level < MLXCEL_KERNEL_LEVEL_COUNT; ++level) {
    if (!mlxcel_kernel_level_runs_here((mlxcel_kernel_level_t)level)) continue;
    for (int32_t type = MLXCEL_FORMAT_F16; type <= MLXCEL_FORMAT_BF16; ++type) {
      // One head of one element: v = x * 1.
      uint32_t bits = 0x7fffffffu;
      float x, one = 1, out = 0, table = 1;
      memcpy(&x, &bits, sizeof(x));
      uint16_t k_cache = 0, v_cache = 0;
      kernel_set_of_level((mlxcel_kernel_level_t)level)
          ->mlxcel_pinned_qkv_rope(&x, 0, ONE_MATRIX(&one), ONE_MATRIX(&one), ONE_MATRIX(&one), &table, 0, &table, 0, zero_position, 0, zero_position, 0,
                                   (uint8_t*)&k_cache, 0, (uint8_t*)&v_cache, 0, &out, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, type, 0, 1);
      assert_true(isnan(mlxcel_reference_widen((const uint8_t*)&v_cache, type, 0)));
      assert_true(isnan(mlxcel_reference_widen((const uint8_t*)&k_cache, type, 0)));
    }
  }
}

//===- mlxcel-exp-1 -------------------------------------------------------------------------------------------------------------------------------------===//

// Tried on every float of [-105, 89]: the largest errors are 1.01283 ulp (at 0x1.da72c4p+5) and, where the result is subnormal, 0.75013 (at -0x1.5fb4bap+6).
#define EXP_ULP_MAX 1.013
#define EXP_SUBNORMAL_ULP_MAX 0.751
#define EXP_FLOAT_MAX_ROUNDS_TO_INFINITY 0x1.ffffffp+127  // FLT_MAX and half a unit in its last place

static double ulp_of(double value) {
  int exponent;
  frexp(value, &exponent);
  return ldexp(1.0, exponent - 24 < -149 ? -149 : exponent - 24);
}

static void exp_check(float x, double* worst, double* worst_subnormal) {
  float got = mlxcel_reference_exp(x);
  double want = exp((double)x);
  if (want >= EXP_FLOAT_MAX_ROUNDS_TO_INFINITY) {
    assert_true(isinf(got) && got > 0);
    return;
  }
  double error = fabs((double)got - want) / ulp_of(want);
  double* of = want < 0x1p-126 ? worst_subnormal : worst;
  if (!(error <= *of)) *of = error;
}

static void kernels_exp_is_within_1_013_ulp(void** state) {
  (void)state;
  double worst = 0, worst_subnormal = 0;
  for (uint32_t negative = 0; negative < 2; ++negative) {
    uint32_t last = bits_of(negative ? -MLXCEL_EXP_MIN : MLXCEL_EXP_MAX);
    for (uint32_t bits = 0; bits <= last; bits += 1021) exp_check(float_of(bits | negative << 31), &worst, &worst_subnormal);  // a prime step
  }
  exp_check(0x1.da72c4p+5f, &worst, &worst_subnormal);
  exp_check(-0x1.5fb4bap+6f, &worst, &worst_subnormal);
  print_message("mlxcel-exp-1: at most %.4f ulp, %.4f where the result is subnormal\n", worst, worst_subnormal);
  assert_true(worst > 0.5 && worst <= EXP_ULP_MAX);
  assert_true(worst_subnormal > 0.5 && worst_subnormal <= EXP_SUBNORMAL_ULP_MAX);
}

static void kernels_exp_has_the_right_limits(void** state) {
  (void)state;
  assert_int_equal(bits_of(mlxcel_reference_exp(0.0f)), bits_of(1.0f));
  assert_int_equal(bits_of(mlxcel_reference_exp(-0.0f)), bits_of(1.0f));
  assert_int_equal(bits_of(mlxcel_reference_exp(-INFINITY)), bits_of(0.0f));
  assert_int_equal(bits_of(mlxcel_reference_exp(-105.0f)), bits_of(0.0f));
  assert_int_equal(bits_of(mlxcel_reference_exp(-103.0f)), 1);  // 2^-148.6
  assert_true(isinf(mlxcel_reference_exp(INFINITY)) && isinf(mlxcel_reference_exp(89.0f)));
  assert_true(isnan(mlxcel_reference_exp(NAN)));
}

typedef struct gate_sweep_t {
  guarded_t x, one, zero, bias, positions, out;
  int32_t rows;
} gate_sweep_t;

static void call_gate_sweep(const void* arguments, const kernel_set_t* set, size_t group, size_t groups) {
  const gate_sweep_t* a = arguments;
  set->mlxcel_pinned_gate_up(GUARDED_F32(a->x), GUARDED_BYTES(a->one), GUARDED_BYTES(a->one), GUARDED_BYTES(a->one), GUARDED_BYTES(a->one),
                             GUARDED_BYTES(a->zero), GUARDED_BYTES(a->zero), GUARDED_BYTES(a->zero), GUARDED_BYTES(a->bias), GUARDED_I32(a->positions),
                             GUARDED_F32(a->out), a->rows, 1, 1, 0, 0, 0, MLXCEL_MATRIX_FLAGS(1, 0, MLXCEL_FORMAT_F32), group, groups);
}

static guarded_t floats_of(const float* values, size_t count) {
  guarded_t buffer = guarded_create(count, sizeof(float));
  memcpy(buffer.data, values, buffer.bytes);
  guarded_protect(&buffer);
  return buffer;
}

// gate_up of width 1 with weights 1 and 0 and an up bias of 1 is x / (1 + exp(-x)), so its bits follow exp's wherever exp(-x) isn't drowned by the 1.
static void kernels_exp_equals_reference_over_its_range(void** state) {
  (void)state;
  enum { ROWS = 1 << 15 };
  static const float specials[] = {0.0f,       -0.0f, INFINITY, -INFINITY, NAN,     0x1p-149f,  88.72284f,
                                   -88.72284f, 89.0f, -89.0f,   105.0f,    -105.0f, 103.97208f, -103.97208f};
  gate_sweep_t a = {.rows = ROWS};
  a.x = guarded_create(ROWS, sizeof(float));
  for (size_t i = 0; i < ROWS; ++i) guarded_floats(&a.x)[i] = i < COUNT_OF(specials) ? specials[i] : -107.0f + (float)i * (214.0f / ROWS) + 0x1p-12f;
  guarded_protect(&a.x);
  a.one = floats_of(&(float){1.0f}, 1), a.zero = floats_of(&(float){0.0f}, 1), a.bias = floats_of(&(float){1.0f}, 1);
  a.positions = test_positions_create(INACTIVE_NONE, ROWS);
  a.out = guarded_create(ROWS, sizeof(float));
  const kernel_check_t check = {"exp through gate_up", call_gate_sweep, &a, {&a.out}, guarded_ints(&a.positions), ROWS, 1};
  kernel_check_run(&check);
  guarded_t* buffers[] = {&a.x, &a.one, &a.zero, &a.bias, &a.positions, &a.out};
  for (size_t i = 0; i < COUNT_OF(buffers); ++i) guarded_release(buffers[i]);
}

//===- Subnormals ---------------------------------------------------------------------------------------------------------------------------------------===//

static void check_subnormals(const kernel_set_t* set) {
  const float x[1] = {0x1p-100f}, w[1] = {0x1.8p-30f}, tiny[1] = {0x1p-140f}, large[1] = {0x1p+20f};
  unsigned usual = _mm_getcsr();
  if (set != kernel_set_reference()) _mm_setcsr(usual | 0x8040u);  // flush to zero, denormals are zero
  float made = dot_of(set, x, w, 1), read = dot_of(set, tiny, large, 1);
  unsigned after = _mm_getcsr();
  _mm_setcsr(usual);
  assert_int_equal(bits_of(made), bits_of(0x1.8p-130f));
  assert_int_equal(bits_of(read), bits_of(0x1p-120f));
  if (set != kernel_set_reference()) assert_int_equal(after & 0x8040u, 0x8040u);
}

static void kernels_keep_subnormals_for_a_caller_that_flushes_them(void** state) {
  (void)state;
  for_every_set(check_subnormals);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_reference_widens_16_bit_floats_exactly),
      cmocka_unit_test(kernels_reference_reads_codes_from_the_lowest_bit_up),
      cmocka_unit_test(kernels_dot_adds_in_sixteen_lanes_and_a_tree),
      cmocka_unit_test(kernels_dot_fuses_each_product_in_order_of_k),
      cmocka_unit_test(kernels_dot_leaves_a_lane_without_an_element_untouched),
      cmocka_unit_test(kernels_affine_weight_is_rounded_once),
      cmocka_unit_test(kernels_reference_attention_is_softmax_of_scaled_scores),
      cmocka_unit_test(kernels_reference_qkv_rope_turns_pairs_half_a_head_apart),
      cmocka_unit_test(kernels_reference_narrow_takes_the_nearest_and_at_midpoints_the_even_code),
      cmocka_unit_test(kernels_narrow_cache_keeps_nans),
      cmocka_unit_test(kernels_reference_norm_and_gate_follow_their_formulas),
      cmocka_unit_test(kernels_exp_is_within_1_013_ulp),
      cmocka_unit_test(kernels_exp_has_the_right_limits),
      cmocka_unit_test(kernels_exp_equals_reference_over_its_range),
      cmocka_unit_test(kernels_keep_subnormals_for_a_caller_that_flushes_them),
  };
  return cmocka_run_group_tests(tests, kernel_levels_report, NULL);
}
