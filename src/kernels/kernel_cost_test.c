// Costs against numbers worked out by hand, for the shapes of SmolLM2-135M (hidden 576, 9 heads over 3, intermediate 1536; Q4 and Q8, group 32, f16 scales).
#include "kernels/kernel_cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernel_abi.h"

#define Q4 MLXCEL_FORMAT(4, 5, MLXCEL_FORMAT_F16)
#define Q8 MLXCEL_FORMAT(8, 5, MLXCEL_FORMAT_F16)
#define BF16 MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_BF16)

// A shape by names: the arguments in the order that the kernel declares today are the reader's business.
typedef struct named_value_t {
  mlxcel_kernel_value_t name;
  int32_t value;
} named_value_t;
static mlxcel_kernel_shape_t shape_of(mlxcel_kernel_id_t id, size_t count, const named_value_t* values) {
  mlxcel_kernel_shape_t shape = {.id = id};
  for (size_t i = 0; i < count; ++i) {
    shape.present |= 1u << values[i].name;
    shape.values[values[i].name] = values[i].value;
  }
  return shape;
}
#define SHAPE(id, ...) shape_of(id, sizeof((named_value_t[]){__VA_ARGS__}) / sizeof(named_value_t), (named_value_t[]){__VA_ARGS__})
#define N(name, value) \
  { MLXCEL_KERNEL_VALUE_##name, value }

static void expect(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows, uint64_t bytes, uint64_t flops, const char* label) {
  mlxcel_kernel_cost_t cost;
  mlxcel_kernel_cost(shape, rows, &cost);
  assert_true(cost.is_known);
  assert_int_equal(cost.bytes, bytes);
  assert_int_equal(cost.flops, flops);
  char text[96];
  mlxcel_kernel_label(shape, sizeof(text), text);
  assert_string_equal(text, label);
}

static void expect_unknown(const mlxcel_kernel_shape_t* shape, const mlxcel_kernel_rows_t* rows) {
  mlxcel_kernel_cost_t cost;
  mlxcel_kernel_cost(shape, rows, &cost);
  assert_false(cost.is_known);
  assert_int_equal(cost.bytes, 0);
  assert_int_equal(cost.flops, 0);
}

static void kernel_cost_of_matmul_counts_weights_once_and_activations_by_active_row(void** state) {
  (void)state;
  const mlxcel_kernel_rows_t three = {.active = 3}, none = {0};
  // Codes 576 * 288, scales and offsets 576 * 18 * 2 each: 207,360; x, out and residual: 3 * 576 * 4 a row.
  mlxcel_kernel_shape_t o_proj =
      SHAPE(MLXCEL_KERNEL_MATMUL, N(ROWS, 8), N(IN_FEATURES, 576), N(OUT_FEATURES, 576), N(FORMAT, Q4), N(FLAGS, MLXCEL_MATRIX_FLAGS(0, 1, MLXCEL_FORMAT_F32)));
  expect(&o_proj, &three, 207360 + 3 * 6912, 3 * 663552, "matmul 576x576 q4 g32 +residual rows=8");
  expect(&o_proj, NULL, 207360 + 8 * 6912, 8 * 663552, "matmul 576x576 q4 g32 +residual rows=8");
  expect(&o_proj, &none, 0, 0, "matmul 576x576 q4 g32 +residual rows=8");
  // Dense, with a bias of f16: 1536 * 576 * 2 + 576 * 2 + (1536 + 576) * 4.
  mlxcel_kernel_shape_t dense = SHAPE(MLXCEL_KERNEL_MATMUL, N(ROWS, 1), N(IN_FEATURES, 1536), N(OUT_FEATURES, 576), N(FORMAT, BF16),
                                      N(FLAGS, MLXCEL_MATRIX_FLAGS(1, 0, MLXCEL_FORMAT_F16)));
  expect(&dense, NULL, 1769472 + 1152 + 8448, 1769472, "matmul 1536x576 bf16 rows=1");
}

static void kernel_cost_of_gate_up_has_both_matrices(void** state) {
  (void)state;
  // Each 1536 * 288 + 1536 * 18 * 4 = 552,960 in Q4, 1536 * 576 + 110,592 = 995,328 in Q8; x and out (576 + 1536) * 4.
  mlxcel_kernel_shape_t shape =
      SHAPE(MLXCEL_KERNEL_GATE_UP, N(ROWS, 1), N(IN_FEATURES, 576), N(OUT_FEATURES, 1536), N(G_FORMAT, Q4), N(G_FLAGS, 0), N(U_FORMAT, Q8), N(U_FLAGS, 0));
  expect(&shape, NULL, 552960 + 995328 + 8448, 3538944, "gate_up 576x1536 q4 g32 q8 g32 rows=1");
}

static void kernel_cost_of_qkv_rope_has_three_matrices_tables_and_cache_cells(void** state) {
  (void)state;
  mlxcel_kernel_shape_t shape =
      SHAPE(MLXCEL_KERNEL_QKV_ROPE, N(ROWS, 1), N(WIDTH, 576), N(HEADS, 9), N(KV_HEADS, 3), N(HEAD_DIM, 64), N(ROPE_HALF, 32), N(Q_FORMAT, Q4), N(K_FORMAT, Q4),
            N(V_FORMAT, Q4), N(Q_FLAGS, 0), N(K_FLAGS, 0), N(V_FLAGS, 0), N(KV_TYPE, MLXCEL_FORMAT_F16));
  // 207,360 and twice 69,120; x, q and two rows of 32: (576 + 576 + 64) * 4; k and v: 2 * 192 * 2 in f16. 576 * 960 * 2 and 12 heads * 32 * 6.
  expect(&shape, NULL, 345600 + 4864 + 768, 1105920 + 2304, "qkv_rope 576 heads=9/3x64 q4 g32 kv=f16 rows=1");
}

static void kernel_cost_of_attention_follows_positions_and_is_unknown_without_them(void** state) {
  (void)state;
  mlxcel_kernel_shape_t shape = SHAPE(MLXCEL_KERNEL_ATTENTION, N(ROWS, 4), N(HEADS, 9), N(KV_HEADS, 3), N(HEAD_DIM, 64), N(KV_TYPE, MLXCEL_FORMAT_F32));
  // Positions 98 and 99 of one slot: 99 + 100 pairs, 100 keys. q and out 2 * 576 * 4 * 2; keys 100 * 192 * 2 * 4; 199 * 576 * 4.
  const mlxcel_kernel_rows_t two = {.active = 2, .keys_seen = 199, .keys_read = 100}, blind = {.active = 2}, none = {0};
  expect(&shape, &two, 9216 + 153600, 458496, "attention heads=9/3x64 rows=4");
  expect(&shape, &none, 0, 0, "attention heads=9/3x64 rows=4");
  expect_unknown(&shape, &blind);
  expect_unknown(&shape, NULL);
}

static void kernel_cost_of_norm_and_embedding(void** state) {
  (void)state;
  mlxcel_kernel_shape_t norm = SHAPE(MLXCEL_KERNEL_RMS_NORM, N(ROWS, 2), N(WIDTH, 576), N(WEIGHT_TYPE, MLXCEL_FORMAT_F16));
  expect(&norm, NULL, 2 * 4608 + 1152, 2 * 2304, "rms_norm 576 rows=2");
  mlxcel_kernel_shape_t embed = SHAPE(MLXCEL_KERNEL_EMBED, N(ROWS, 2), N(WIDTH, 576), N(FORMAT, Q8));
  expect(&embed, NULL, 2 * (576 + 72 + 2304), 0, "embed 576 q8 g32 rows=2");
}

static void kernel_cost_is_unknown_where_a_formula_or_an_argument_lacks(void** state) {
  (void)state;
  mlxcel_kernel_shape_t partial = SHAPE(MLXCEL_KERNEL_MATMUL, N(ROWS, 1), N(IN_FEATURES, 576), N(OUT_FEATURES, 576), N(FLAGS, 0));
  expect_unknown(&partial, NULL);
  mlxcel_kernel_shape_t softmax = SHAPE(MLXCEL_KERNEL_MLX_SOFTMAX, N(ROWS, 3), N(WIDTH, 7));
  expect_unknown(&softmax, NULL);
  char text[96], cut[9];
  mlxcel_kernel_label(&softmax, sizeof(text), text);
  assert_string_equal(text, "softmax 7 rows=3");
  mlxcel_kernel_label(&softmax, sizeof(cut), cut);
  assert_string_equal(cut, "softmax ");
}

// --- names -----------------------------------------------------------------------------------------------------------------------------------

// Every kernel's integers get their number as value: what a formula reads must be what is declared under that name.
static void kernel_shape_finds_arguments_by_their_declared_names(void** state) {
  (void)state;
  int32_t values[64];
  for (int i = 0; i < 64; ++i) values[i] = 100 + i;
  for (int id = 0; id < MLXCEL_KERNEL_COUNT; ++id) {
    size_t count = 0;
    for (const char* kind = mlxcel_kernel_info((mlxcel_kernel_id_t)id)->arguments; *kind; ++kind) count += *kind == 'n';
    mlxcel_kernel_shape_t shape;
    assert_true(mlxcel_kernel_shape_read((mlxcel_kernel_id_t)id, count, values, NULL, &shape));
    assert_false(mlxcel_kernel_shape_read((mlxcel_kernel_id_t)id, count + 1, values, NULL, &shape));
    assert_int_equal(shape.present, 0);
    assert_false(mlxcel_kernel_shape_read((mlxcel_kernel_id_t)id, count - 1, values, NULL, &shape));
    assert_int_equal(shape.id, id);
  }
}

// A kernel that loses an argument's name would lose its cost silently.
static void kernel_shape_of_every_pinned_kernel_has_a_cost(void** state) {
  (void)state;
  int32_t values[64];
  for (int i = 0; i < 64; ++i) values[i] = 0;
  const mlxcel_kernel_rows_t rows = {.active = 1, .keys_seen = 1, .keys_read = 1};
  for (int id = 0; id < MLXCEL_KERNEL_COUNT; ++id) {
    const mlxcel_kernel_info_t* info = mlxcel_kernel_info((mlxcel_kernel_id_t)id);
    if (info->object != MLXCEL_KERNEL_OBJECT_PINNED) continue;
    size_t count = 0;
    for (const char* kind = info->arguments; *kind; ++kind) count += *kind == 'n';
    mlxcel_kernel_shape_t shape;
    mlxcel_kernel_cost_t cost;
    assert_true(mlxcel_kernel_shape_read((mlxcel_kernel_id_t)id, count, values, NULL, &shape));
    mlxcel_kernel_cost(&shape, &rows, &cost);
    if (!cost.is_known) fail_msg("%s has no cost", info->symbol);
  }
}

static void kernel_shape_reads_rms_norm_as_kernel_abi_declares_it(void** state) {
  (void)state;
  mlxcel_kernel_shape_t shape;
  assert_true(mlxcel_kernel_shape_read(MLXCEL_KERNEL_RMS_NORM, 4, (const int32_t[]){3, 576, MLXCEL_FORMAT_BF16, 1}, NULL, &shape));
  assert_int_equal(shape.values[MLXCEL_KERNEL_VALUE_ROWS], 3);
  assert_int_equal(shape.values[MLXCEL_KERNEL_VALUE_WIDTH], 576);
  assert_int_equal(shape.values[MLXCEL_KERNEL_VALUE_WEIGHT_TYPE], MLXCEL_FORMAT_BF16);
  assert_int_equal(shape.present & (1u << MLXCEL_KERNEL_VALUE_FORMAT), 0);
  const bool is_known[] = {true, false, true, true};
  assert_true(mlxcel_kernel_shape_read(MLXCEL_KERNEL_RMS_NORM, 4, (const int32_t[]){3, 576, MLXCEL_FORMAT_BF16, 1}, is_known, &shape));
  assert_int_equal(shape.present, 1u << MLXCEL_KERNEL_VALUE_ROWS | 1u << MLXCEL_KERNEL_VALUE_WEIGHT_TYPE);
  expect_unknown(&shape, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernel_cost_of_matmul_counts_weights_once_and_activations_by_active_row),
      cmocka_unit_test(kernel_cost_of_gate_up_has_both_matrices),
      cmocka_unit_test(kernel_cost_of_qkv_rope_has_three_matrices_tables_and_cache_cells),
      cmocka_unit_test(kernel_cost_of_attention_follows_positions_and_is_unknown_without_them),
      cmocka_unit_test(kernel_cost_of_norm_and_embedding),
      cmocka_unit_test(kernel_cost_is_unknown_where_a_formula_or_an_argument_lacks),
      cmocka_unit_test(kernel_shape_finds_arguments_by_their_declared_names),
      cmocka_unit_test(kernel_shape_of_every_pinned_kernel_has_a_cost),
      cmocka_unit_test(kernel_shape_reads_rms_norm_as_kernel_abi_declares_it),
  };
  return cmocka_run_group_tests_name("kernel_cost", tests, NULL, NULL);
}
