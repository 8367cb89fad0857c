// The kernels of profile mlx-cpu-0.32.4 without MLX at hand: any number of workgroups, flushing and rounding modes of the caller give the same bits, nothing
// outside the buffers is touched, and a few results that only the written order gives. Equality with MLX itself: tests/python/test_mlx_kernels.py.
#include "kernels/mlx_abi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <xmmintrin.h>

#include "kernels/kernel_test_util.h"

#define DECLARE_KERNEL(name, arguments) extern void name(arguments);
MLXCEL_MLX_KERNELS(DECLARE_KERNEL)

//===- Running ------------------------------------------------------------------------------------------------------------------------------------------===//

#define BUFFERS_MAX 6
typedef struct case_t {
  const char* what;
  void (*call)(const struct case_t* c, size_t group, size_t groups);
  guarded_t in[BUFFERS_MAX];
  guarded_t out[2];
  int32_t type, other_type;  // dtype of x, and of weights, masks' users read |type|
  int32_t rows, format, flags, variant;
} case_t;

static size_t accessible_bytes(const guarded_t* buffer) { return (size_t)(buffer->data + buffer->bytes - buffer->mapping); }

static uint8_t* copy_of(const guarded_t* buffer) {
  uint8_t* copy = malloc(accessible_bytes(buffer));
  assert_non_null(copy);
  return memcpy(copy, buffer->mapping, accessible_bytes(buffer));
}

static void run_groups(const case_t* c, size_t groups, unsigned extra_mode) {
  unsigned usual = _mm_getcsr();
  for (size_t group = groups; group-- > 0;) {
    _mm_setcsr(usual | extra_mode);
    c->call(c, group, groups);
    unsigned after = _mm_getcsr();
    _mm_setcsr(usual);
    if ((after & ~0x3fu) != ((usual | extra_mode) & ~0x3fu)) fail_msg("%s left MXCSR 0x%x, it was 0x%x", c->what, after, usual | extra_mode);
  }
}

#define FLUSH_AND_ROUND_UP 0xC040u  // FZ, DAZ, rounding toward +infinity

// Runs |c| as one workgroup, then as several with every mode; all results and all bytes around them are the same. Releases the buffers.
static void expect_invariance(case_t* c) {
  static const size_t group_counts[] = {1, 2, 5, 211};
  uint8_t *before[2] = {NULL, NULL}, *expected[2] = {NULL, NULL};
  for (int o = 0; o < 2 && c->out[o].data; ++o) before[o] = copy_of(&c->out[o]);
  run_groups(c, 1, 0);
  for (int o = 0; o < 2 && c->out[o].data; ++o) {
    expected[o] = copy_of(&c->out[o]);
    size_t front = accessible_bytes(&c->out[o]) - c->out[o].bytes;
    if (memcmp(before[o], expected[o], front) != 0) fail_msg("%s wrote in front of its result", c->what);
    if (memcmp(before[o] + front, expected[o] + front, c->out[o].bytes) == 0) fail_msg("%s wrote nothing", c->what);
  }
  for (size_t g = 0; g < 2 * COUNT_OF(group_counts); ++g) {
    for (int o = 0; o < 2 && c->out[o].data; ++o) memcpy(c->out[o].mapping, before[o], accessible_bytes(&c->out[o]));
    run_groups(c, group_counts[g / 2], g % 2 ? FLUSH_AND_ROUND_UP : 0);
    for (int o = 0; o < 2 && c->out[o].data; ++o) {
      if (memcmp(c->out[o].mapping, expected[o], accessible_bytes(&c->out[o])) != 0) {
        fail_msg("%s, type %d, variant %d: %zu workgroups, flushing %zu, differ from one", c->what, (int)c->type, (int)c->variant, group_counts[g / 2], g % 2);
      }
    }
  }
  for (int o = 0; o < 2; ++o) {
    free(before[o]);
    free(expected[o]);
    guarded_release(&c->out[o]);
  }
  for (int i = 0; i < BUFFERS_MAX; ++i) guarded_release(&c->in[i]);
}

static random_t random_state = {20260101};

static guarded_t values(operand_style_t style, int32_t type, size_t count) { return typed_create(&random_state, style, type, count); }
static guarded_t room(int32_t type, size_t count) { return guarded_create(count, format_type_bytes(type)); }
// |count| numbers from |first| on, number |inactive| replaced by -1.
static guarded_t counting(int32_t first, size_t count, size_t inactive) {
  guarded_t buffer = guarded_create(count, sizeof(int32_t));
  for (size_t i = 0; i < count; ++i) guarded_ints(&buffer)[i] = i == inactive ? -1 : first + (int32_t)i;
  guarded_protect(&buffer);
  return buffer;
}
#define ALL_ACTIVE SIZE_MAX

#define FOR_EVERY_TYPE_AND_STYLE(type, style)                                \
  for (int32_t type = MLXCEL_FORMAT_F32; type <= MLXCEL_FORMAT_BF16; ++type) \
    for (operand_style_t style = STYLE_PLAIN; style < STYLE_HUGE; ++style)

//===- Cases --------------------------------------------------------------------------------------------------------------------------------------------===//

enum { ROWS = 5, WIDTH = 256, OUTPUTS = 75 };

static void call_embed(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_embed(GUARDED_I32(c->in[0]), GUARDED_I32(c->in[1]), GUARDED_BYTES(c->in[2]), GUARDED_BYTES(c->in[3]), GUARDED_BYTES(c->in[4]),
                   GUARDED_BYTES(c->out[0]), ROWS, WIDTH, c->format, c->variant, group, groups);
}

static void mlx_embed_is_invariant(void** state) {
  (void)state;
  for (size_t i = 0; i < TEST_FORMAT_COUNT; ++i) {
    for (int32_t lookup = 0; lookup <= 1; ++lookup) {
      int32_t format = test_format_at(i);
      test_matrix_t m = test_matrix_create(&random_state, STYLE_WIDE, format, 0, ROWS, WIDTH);
      case_t c = {.what = "embed", .call = call_embed, .in = {counting(0, ROWS, ALL_ACTIVE), counting(0, ROWS, 2), m.w, m.s, m.b}, .format = format};
      c.out[0] = room(MLXCEL_FORMAT_TYPE(format), ROWS * WIDTH);
      c.variant = lookup;
      expect_invariance(&c);
    }
  }
}

static void call_matmul(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_matmul(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->in[1]), GUARDED_BYTES(c->in[2]), GUARDED_BYTES(c->in[3]), GUARDED_BYTES(c->in[4]),
                    GUARDED_I32(c->in[5]), GUARDED_BYTES(c->out[0]), c->rows, c->variant, OUTPUTS, c->format, c->flags, c->type, group, groups);
}

static void check_matmul(int32_t format, int32_t x_type, int32_t rows, int32_t width, operand_style_t style) {
  int32_t type = x_type == MLXCEL_FORMAT_TYPE(format) ? x_type : MLXCEL_FORMAT_F32, flags = MLXCEL_MATRIX_FLAGS(rows % 2, 0, type);
  test_matrix_t m = test_matrix_create(&random_state, style, format, flags, OUTPUTS, (size_t)width);
  case_t c = {.what = "matmul", .call = call_matmul, .type = x_type, .rows = rows, .format = format, .flags = flags, .variant = width};
  c.in[0] = values(style, x_type, (size_t)(rows * width));
  c.in[1] = m.w, c.in[2] = m.s, c.in[3] = m.b, c.in[4] = m.v, c.in[5] = counting(0, (size_t)rows, ALL_ACTIVE);
  c.out[0] = room(type, (size_t)rows * OUTPUTS);
  expect_invariance(&c);
}

static void mlx_matmul_is_invariant(void** state) {
  (void)state;
  for (size_t i = 0; i < TEST_FORMAT_COUNT; ++i) {
    int32_t format = test_format_at(i), unit = test_format_width_unit(format);
    for (int32_t x_type = MLXCEL_FORMAT_F32; x_type <= MLXCEL_FORMAT_BF16; ++x_type) {
      check_matmul(format, x_type, 1, unit == 1 ? 133 : unit, STYLE_SUBNORMAL);
      check_matmul(format, x_type, 2, unit == 1 ? 7 : 3 * unit, STYLE_WIDE);
    }
    check_matmul(format, MLXCEL_FORMAT_TYPE(format), 67, unit == 1 ? 9 : unit, STYLE_PLAIN);
  }
}

static void call_rms_norm(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_rms_norm(GUARDED_BYTES(c->in[0]), GUARDED_I32(c->in[1]), GUARDED_BYTES(c->in[2]), GUARDED_BYTES(c->out[0]), ROWS, OUTPUTS, c->type, c->type,
                      c->variant, c->flags, 1e-5f, group, groups);
}
static void call_layer_norm(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_layer_norm(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->in[1]), GUARDED_BYTES(c->in[2]), GUARDED_BYTES(c->out[0]), ROWS, OUTPUTS, c->type, c->type,
                        1e-5f, group, groups);
}

static void mlx_norms_are_invariant(void** state) {
  (void)state;
  FOR_EVERY_TYPE_AND_STYLE(type, style) {
    for (int32_t mode = 0; mode <= 2; ++mode) {
      case_t c = {.what = "rms_norm", .call = call_rms_norm, .type = type, .variant = mode, .flags = mode % 2};
      c.in[0] = values(style, type, ROWS * OUTPUTS), c.in[1] = counting(0, ROWS, 3), c.in[2] = values(style, type, OUTPUTS);
      c.out[0] = room(type, ROWS * OUTPUTS);
      expect_invariance(&c);
    }
    case_t c = {.what = "layer_norm", .call = call_layer_norm, .type = type};
    c.in[0] = values(style, type, ROWS * OUTPUTS), c.in[1] = values(style, type, OUTPUTS), c.in[2] = values(style, type, OUTPUTS);
    c.out[0] = room(type, ROWS * OUTPUTS);
    expect_invariance(&c);
  }
}

static void call_elementwise(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_elementwise(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->in[1]), GUARDED_BYTES(c->out[0]), c->variant, ROWS * OUTPUTS, c->type, c->other_type,
                         c->rows, c->format, c->flags, 0x1p-130f, group, groups);
}

static void mlx_elementwise_is_invariant(void** state) {
  (void)state;
  static const int32_t broadcasts[3][3] = {{1, ROWS * OUTPUTS, 0}, {1, OUTPUTS, 0}, {OUTPUTS, ROWS, 1}};  // divide, modulo, scalar
  FOR_EVERY_TYPE_AND_STYLE(type, style) {
    for (int32_t operation = MLXCEL_MLX_ADD; operation <= MLXCEL_MLX_CONVERT; ++operation) {
      const int32_t* broadcast = broadcasts[(operation + type) % 3];
      case_t c = {.what = "elementwise", .call = call_elementwise, .type = type, .other_type = type, .variant = operation};
      if (operation == MLXCEL_MLX_CONVERT) c.other_type = (type + 1) % 3;
      c.rows = broadcast[0], c.format = broadcast[1], c.flags = broadcast[2];
      c.in[0] = values(style, type, ROWS * OUTPUTS), c.in[1] = values(style, type, (size_t)broadcast[1]);
      c.out[0] = room(c.other_type, ROWS * OUTPUTS);
      expect_invariance(&c);
    }
  }
}

static void call_softmax(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_softmax(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->out[0]), ROWS, OUTPUTS, c->type, c->variant, group, groups);
}
static void call_scan(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_scan(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->out[0]), ROWS, c->variant ? OUTPUTS : 3, c->variant ? 1 : OUTPUTS / 3, c->type, group, groups);
}
static void call_row_sum(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_row_sum(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->out[0]), ROWS, OUTPUTS, c->type, group, groups);
}

static void mlx_reductions_are_invariant(void** state) {
  (void)state;
  FOR_EVERY_TYPE_AND_STYLE(type, style) {
    for (int32_t variant = 0; variant <= 1; ++variant) {
      case_t softmax = {.what = "softmax", .call = call_softmax, .type = type, .variant = variant};
      softmax.in[0] = values(style, type, ROWS * OUTPUTS), softmax.out[0] = room(type, ROWS * OUTPUTS);
      expect_invariance(&softmax);
      case_t scan = {.what = "scan", .call = call_scan, .type = type, .variant = variant};
      scan.in[0] = values(style, type, ROWS * OUTPUTS), scan.out[0] = room(type, ROWS * OUTPUTS);
      expect_invariance(&scan);
    }
    case_t sum = {.what = "row_sum", .call = call_row_sum, .type = type};
    sum.in[0] = values(style, type, ROWS * OUTPUTS), sum.out[0] = room(type, ROWS);
    expect_invariance(&sum);
  }
}

enum { HEADS = 4, KV_HEADS = 2, HEAD_DIM = 10, ROPE_DIMS = 6, LAYERS = 2, LAYER = 1, SLOTS = 3, SLOT = 1, CONTEXT = 19 };
#define CACHE_ELEMENTS (LAYERS * SLOTS * KV_HEADS * CONTEXT * HEAD_DIM)

static void call_rope(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_rope(GUARDED_BYTES(c->in[0]), GUARDED_I32(c->in[1]), GUARDED_BYTES(c->in[2]), GUARDED_BYTES(c->out[0]), ROWS, HEADS, HEAD_DIM, ROPE_DIMS,
                  c->variant % 2, c->variant / 2, c->type, 3.07f, 0.5f, group, groups);
}

static void mlx_rope_is_invariant(void** state) {
  (void)state;
  FOR_EVERY_TYPE_AND_STYLE(type, style) {
    for (int32_t variant = 0; variant < 4; ++variant) {
      case_t c = {.what = "rope", .call = call_rope, .type = type, .variant = variant};
      c.in[0] = values(style, type, ROWS * HEADS * HEAD_DIM), c.in[1] = counting(100, ROWS, 1), c.in[2] = values(STYLE_PLAIN, MLXCEL_FORMAT_F32, ROPE_DIMS / 2);
      c.out[0] = room(type, ROWS * HEADS * HEAD_DIM);
      expect_invariance(&c);
    }
  }
}

static guarded_t slots_of_rows(void) {
  guarded_t buffer = guarded_create(ROWS, sizeof(int32_t));
  for (size_t i = 0; i < ROWS; ++i) guarded_ints(&buffer)[i] = SLOT;
  guarded_protect(&buffer);
  return buffer;
}

static void call_kv_store(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_kv_store(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->in[1]), GUARDED_I32(c->in[2]), GUARDED_I32(c->in[3]), GUARDED_BYTES(c->out[0]),
                      GUARDED_BYTES(c->out[1]), ROWS, KV_HEADS, HEAD_DIM, LAYER, SLOTS, CONTEXT, c->type, group, groups);
}
static void call_attention(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_attention(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->in[1]), GUARDED_BYTES(c->in[2]), GUARDED_I32(c->in[3]), GUARDED_I32(c->in[4]),
                       GUARDED_BYTES(c->in[5]), GUARDED_BYTES(c->out[0]), ROWS, HEADS, KV_HEADS, HEAD_DIM, LAYER, SLOTS, CONTEXT, c->variant, c->type, 0.3f,
                       group, groups);
}

static void mlx_kv_store_and_attention_are_invariant(void** state) {
  (void)state;
  FOR_EVERY_TYPE_AND_STYLE(type, style) {
    case_t store = {.what = "kv_store", .call = call_kv_store, .type = type};
    store.in[0] = values(style, type, ROWS * KV_HEADS * HEAD_DIM), store.in[1] = values(style, type, ROWS * KV_HEADS * HEAD_DIM);
    store.in[2] = slots_of_rows(), store.in[3] = counting(CONTEXT - ROWS, ROWS, 0);
    store.out[0] = room(type, CACHE_ELEMENTS), store.out[1] = room(type, CACHE_ELEMENTS);
    expect_invariance(&store);
    for (int32_t kind = 0; kind <= 2; ++kind) {
      case_t c = {.what = "attention", .call = call_attention, .type = type, .variant = kind};
      c.in[0] = values(style, type, ROWS * HEADS * HEAD_DIM), c.in[1] = values(style, type, CACHE_ELEMENTS), c.in[2] = values(style, type, CACHE_ELEMENTS);
      c.in[3] = slots_of_rows(), c.in[4] = counting(CONTEXT - ROWS, ROWS, 4);
      c.in[5] = kind == 2 ? values(style, type, ROWS * CONTEXT) : guarded_alias(&c.in[0]);
      c.out[0] = room(type, ROWS * HEADS * HEAD_DIM);
      expect_invariance(&c);
    }
  }
}

enum { IN_H = 6, IN_W = 5, CHANNELS = 3, KERNELS = 11, OUT_H = 3, OUT_W = 2 };

static void call_convolution(const case_t* c, size_t group, size_t groups) {
  mlxcel_mlx_convolution(GUARDED_BYTES(c->in[0]), GUARDED_BYTES(c->in[1]), GUARDED_BYTES(c->out[0]), 2, IN_H, IN_W, CHANNELS, OUT_H, OUT_W, KERNELS, 3, 3, 2, 2,
                         1, 0, c->type, group, groups);
}

static void mlx_convolution_is_invariant(void** state) {
  (void)state;
  FOR_EVERY_TYPE_AND_STYLE(type, style) {
    case_t c = {.what = "convolution", .call = call_convolution, .type = type};
    c.in[0] = values(style, type, 2 * IN_H * IN_W * CHANNELS), c.in[1] = values(style, type, KERNELS * 9 * CHANNELS);
    c.out[0] = room(type, 2 * OUT_H * OUT_W * KERNELS);
    expect_invariance(&c);
  }
}

//===- Results of the written order ---------------------------------------------------------------------------------------------------------------------===//

enum { ONES = 320 };
static const int32_t row_zero[1] = {0};

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}
#define BYTES(array) (const uint8_t*)(const void*)(array), 0
#define RESULT(array) (uint8_t*)(void*)(array), 0

static void mlx_bf16_sums_stop_growing_only_where_mlx_keeps_them_in_bf16(void** state) {
  (void)state;
  uint16_t ones[ONES], scanned[ONES], y = 0;
  const uint8_t codes[ONES / 2] = {0};
  for (int i = 0; i < ONES; ++i) ones[i] = 0x3f80;
  const uint16_t scales[ONES / 32] = {0};
  // 256 + 1 is a tie that goes to the even 256.
  mlxcel_mlx_matmul(BYTES(ones), BYTES(codes), BYTES(scales), BYTES(ones), BYTES(codes), row_zero, 0, RESULT(&y), 1, ONES, 1,
                    MLXCEL_FORMAT(4, 5, MLXCEL_FORMAT_BF16), 0, MLXCEL_FORMAT_BF16, 0, 1);
  assert_int_equal(y, 0x4380);  // 256
  mlxcel_mlx_scan(BYTES(ones), RESULT(scanned), 1, ONES, 1, MLXCEL_FORMAT_BF16, 0, 1);
  assert_int_equal(scanned[ONES - 1], 0x4380);
  mlxcel_mlx_matmul(BYTES(ones), BYTES(ones), BYTES(ones), BYTES(ones), BYTES(ones), row_zero, 0, RESULT(&y), 1, ONES, 1,
                    MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_BF16), 0, MLXCEL_FORMAT_BF16, 0, 1);
  assert_int_equal(y, 0x43a0);  // 320
  mlxcel_mlx_row_sum(BYTES(ones), RESULT(&y), 1, ONES, MLXCEL_FORMAT_BF16, 0, 1);
  assert_int_equal(y, 0x43a0);
}

static void mlx_dense_products_are_rounded_before_they_are_added(void** state) {
  (void)state;
  const float x[2] = {1.0f + 0x1p-12f, 1.0f}, w[2] = {1.0f + 0x1p-12f, -1.0f};
  float y = NAN;
  mlxcel_mlx_matmul(BYTES(x), BYTES(w), BYTES(w), BYTES(w), BYTES(w), row_zero, 0, RESULT(&y), 1, 2, 1, 0, 0, MLXCEL_FORMAT_F32, 0, 1);
  assert_int_equal(bits_of(y), bits_of(0x1p-11f));  // a fused product would keep its 2^-24
}

static void elementwise_one(int32_t operation, float x, float* y) {
  mlxcel_mlx_elementwise(BYTES(&x), BYTES(&x), RESULT(y), operation, 1, MLXCEL_FORMAT_F32, MLXCEL_FORMAT_F32, 1, 1, 0, 0.0f, 0, 1);
}

static void mlx_elementary_functions_have_mlxs_edges(void** state) {
  (void)state;
  float y;
  elementwise_one(MLXCEL_MLX_EXP, 88.5f, &y);
  assert_true(isinf(y) && y > 0);  // though e^88.5 is finite
  elementwise_one(MLXCEL_MLX_EXP, -87.9f, &y);
  assert_int_equal(bits_of(y), 0);  // though e^-87.9 is a subnormal number
  elementwise_one(MLXCEL_MLX_EXP, 0.0f, &y);
  assert_int_equal(bits_of(y), bits_of(1.0f));
  elementwise_one(MLXCEL_MLX_ERF, 0.0f, &y);
  assert_int_equal(bits_of(y), bits_of(-0.0f));
  elementwise_one(MLXCEL_MLX_SIGMOID, -INFINITY, &y);
  assert_int_equal(bits_of(y), 0);
  elementwise_one(MLXCEL_MLX_SIGMOID, NAN, &y);
  assert_true(isnan(y));
}

static void mlx_results_that_are_subnormal_stay(void** state) {
  (void)state;
  const float x[1] = {0x1p-100f}, w[1] = {0x1.8p-30f};
  float y = NAN;
  unsigned usual = _mm_getcsr();
  _mm_setcsr(usual | FLUSH_AND_ROUND_UP);
  mlxcel_mlx_matmul(BYTES(x), BYTES(w), BYTES(w), BYTES(w), BYTES(w), row_zero, 0, RESULT(&y), 1, 1, 1, 0, 0, MLXCEL_FORMAT_F32, 0, 1);
  _mm_setcsr(usual);
  assert_int_equal(bits_of(y), bits_of(0x1.8p-130f));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mlx_embed_is_invariant),
      cmocka_unit_test(mlx_matmul_is_invariant),
      cmocka_unit_test(mlx_norms_are_invariant),
      cmocka_unit_test(mlx_elementwise_is_invariant),
      cmocka_unit_test(mlx_reductions_are_invariant),
      cmocka_unit_test(mlx_rope_is_invariant),
      cmocka_unit_test(mlx_kv_store_and_attention_are_invariant),
      cmocka_unit_test(mlx_convolution_is_invariant),
      cmocka_unit_test(mlx_bf16_sums_stop_growing_only_where_mlx_keeps_them_in_bf16),
      cmocka_unit_test(mlx_dense_products_are_rounded_before_they_are_added),
      cmocka_unit_test(mlx_elementary_functions_have_mlxs_edges),
      cmocka_unit_test(mlx_results_that_are_subnormal_stay),
  };
  return cmocka_run_group_tests_name("mlx_kernels", tests, kernel_levels_report, NULL);
}
