// Every build of the projections, of the embedding and of the norm equals the scalar reference bit for bit: over storage formats, shapes, flags, operands of
// every magnitude, inactive rows, numbers of workgroups, and whatever the caller's MXCSR says. (qkv_rope and attention have
// kernels_attention_equal_reference_test.c.)
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernel_test_util.h"
#include "kernels/reference/reference.h"

//===- Projections --------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct projection_case_t {
  int32_t rows, width, outputs;
  int32_t format, second_format;  // the second is gate_up's
  int32_t flags;
  operand_style_t style;
  inactive_t inactive;
} projection_case_t;

typedef struct projection_arguments_t {
  projection_case_t c;
  guarded_t x, residual, positions, out;
  test_matrix_t w, u;
} projection_arguments_t;

static void call_matmul(const void* arguments, const kernel_set_t* set, size_t group, size_t groups) {
  const projection_arguments_t* a = arguments;
  set->mlxcel_pinned_matmul(GUARDED_F32(a->x), GUARDED_MATRIX(a->w), GUARDED_F32(a->residual), GUARDED_I32(a->positions), GUARDED_F32(a->out), a->c.rows,
                            a->c.width, a->c.outputs, a->w.format, a->w.flags, group, groups);
}

static void call_gate_up(const void* arguments, const kernel_set_t* set, size_t group, size_t groups) {
  const projection_arguments_t* a = arguments;
  set->mlxcel_pinned_gate_up(GUARDED_F32(a->x), GUARDED_MATRIX(a->w), GUARDED_MATRIX(a->u), GUARDED_I32(a->positions), GUARDED_F32(a->out), a->c.rows,
                             a->c.width, a->c.outputs, a->w.format, a->w.flags, a->u.format, a->u.flags, group, groups);
}

static uint64_t projection_seed(const projection_case_t* c) {
  uint64_t seed = (uint64_t)c->rows << 40 ^ (uint64_t)c->width << 20 ^ (uint64_t)c->outputs;
  return seed ^ (uint64_t)c->format << 32 ^ (uint64_t)c->flags << 12 ^ (uint64_t)c->style << 56;
}

static void check_projection(const projection_case_t* c, bool gate_up) {
  random_t random = {projection_seed(c)};
  size_t rows = (size_t)c->rows, width = (size_t)c->width, outputs = (size_t)c->outputs;
  projection_arguments_t a = {.c = *c};
  a.positions = test_positions_create(c->inactive, rows);
  a.x = test_rows_create(&random, c->style, guarded_ints(&a.positions), rows, width);
  a.w = test_matrix_create(&random, c->style, c->format, c->flags, outputs, width);
  if (gate_up) a.u = test_matrix_create(&random, c->style, c->second_format, c->flags ^ MLXCEL_MATRIX_HAS_BIAS, outputs, width);
  a.residual = (c->flags & MLXCEL_MATRIX_HAS_RESIDUAL) ? test_rows_create(&random, c->style, guarded_ints(&a.positions), rows, outputs) : guarded_alias(&a.x);
  a.out = guarded_create(rows * outputs, sizeof(float));
  char what[160];
  snprintf(what, sizeof(what), "%s, %d rows, %d to %d, %s, flags %d, style %d, inactive %d", gate_up ? "gate_up" : "matmul", c->rows, c->width, c->outputs,
           test_format_name(c->format), (int)c->flags, (int)c->style, (int)c->inactive);
  const kernel_check_t check = {what, gate_up ? call_gate_up : call_matmul, &a, {&a.out}, guarded_ints(&a.positions), rows, outputs};
  kernel_check_run(&check);
  guarded_release(&a.x);
  guarded_release(&a.residual);
  guarded_release(&a.positions);
  guarded_release(&a.out);
  test_matrix_release(&a.w);
  if (gate_up) test_matrix_release(&a.u);
}

// Shapes at every edge of the tiles: rows round the powers of two up to eight, round 4, 6 and 128, outputs round 4 and 16, widths (in units of the format's
// least) within and across blocks of 1024, 4096 and 16384.
typedef struct shape_t {
  int32_t rows, width, outputs;
} shape_t;
static const shape_t shapes[] = {{1, 1, 33},    {1, 1056, 17}, {2, 1, 5},     {3, 64, 4},    {4, 1056, 3},  {5, 1, 16},    {6, 96, 17},
                                 {7, 1, 20},    {8, 1056, 18}, {9, 1, 5},     {11, 544, 7},  {63, 1, 5},    {64, 1, 3},    {65, 1, 4},
                                 {127, 1, 2},   {128, 64, 5},  {129, 1, 5},   {130, 1, 1},   {2, 2080, 2},  {1, 2080, 15}, {1, 8224, 3},
                                 {1, 16448, 2}, {2, 16448, 1}, {3, 33024, 1}, {8, 16448, 1}, {10, 16448, 1}};

// |width| rounded up to what |format| can store.
static int32_t width_for(int32_t format, int32_t width) {
  int32_t unit = test_format_width_unit(format);
  return (width + unit - 1) / unit * unit;
}

static void kernels_matmul_equals_reference_in_every_format(void** state) {
  (void)state;
  for (size_t f = 0; f < TEST_FORMAT_COUNT; ++f) {
    for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
      projection_case_t c = {shapes[s].rows, width_for(test_format_at(f), shapes[s].width), shapes[s].outputs, test_format_at(f), 0, 0, STYLE_PLAIN,
                             INACTIVE_NONE};
      c.style = (operand_style_t)((f + s) % STYLE_COUNT);
      check_projection(&c, false);
    }
  }
}

static void kernels_matmul_equals_reference_for_operands_of_every_magnitude(void** state) {
  (void)state;
  for (size_t f = 0; f < TEST_FORMAT_COUNT; ++f) {
    for (int style = 0; style < STYLE_COUNT; ++style) {
      int32_t width = width_for(test_format_at(f), 96);
      const projection_case_t one = {1, width, 17, test_format_at(f), 0, 0, (operand_style_t)style, INACTIVE_NONE};
      const projection_case_t many = {3, width, 17, test_format_at(f), 0, 0, (operand_style_t)style, INACTIVE_NONE};
      check_projection(&one, false);
      check_projection(&many, false);
    }
  }
}

static void kernels_matmul_equals_reference_for_every_dense_width(void** state) {
  (void)state;
  static const int32_t widths[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 88, 150, 1023, 1024, 1025, 2049};
  static const int32_t rows[] = {1, 2, 5, 65};
  static const int32_t outputs[] = {1, 3, 4, 5, 15, 16, 17, 33};
  for (int32_t type = 0; type < 3; ++type) {
    for (size_t w = 0; w < COUNT_OF(widths); ++w) {
      for (size_t r = 0; r < COUNT_OF(rows); ++r) {
        for (size_t o = 0; o < COUNT_OF(outputs); ++o) {
          if (rows[r] == 65 && widths[w] > 150 && outputs[o] > 4) continue;  // nothing new, and the reference is slow
          projection_case_t c = {rows[r], widths[w], outputs[o], MLXCEL_FORMAT(0, 0, type), 0, 0, STYLE_PLAIN, INACTIVE_NONE};
          c.style = (operand_style_t)((w + r + o) % STYLE_COUNT);
          check_projection(&c, false);
        }
      }
    }
  }
}

static void kernels_matmul_equals_reference_with_bias_and_residual(void** state) {
  (void)state;
  static const int32_t formats[] = {MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_F32), MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_BF16), MLXCEL_FORMAT(4, 6, MLXCEL_FORMAT_F16),
                                    MLXCEL_FORMAT(8, 5, MLXCEL_FORMAT_F32)};
  static const int32_t rows[] = {1, 2, 64, 66};
  for (size_t f = 0; f < COUNT_OF(formats); ++f) {
    for (size_t r = 0; r < COUNT_OF(rows); ++r) {
      for (int style = 0; style < STYLE_COUNT; ++style) {
        for (int32_t use = 0; use < 8; ++use) {  // bit 0 residual, above it: no bias, bias of f32, f16, bf16
          int32_t flags = MLXCEL_MATRIX_FLAGS(use / 2 != 0, use % 2, use / 2 ? use / 2 - 1 : 0);
          const projection_case_t c = {rows[r], 64, 19, formats[f], 0, flags, (operand_style_t)style, INACTIVE_NONE};
          check_projection(&c, false);
        }
      }
    }
  }
}

static void kernels_projections_ignore_inactive_rows(void** state) {
  (void)state;
  static const int32_t rows[] = {1, 2, 3, 7, 64, 65, 130};
  static const int32_t formats[] = {MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_F32), MLXCEL_FORMAT(5, 5, MLXCEL_FORMAT_BF16)};
  for (size_t f = 0; f < COUNT_OF(formats); ++f) {
    for (size_t r = 0; r < COUNT_OF(rows); ++r) {
      for (int inactive = 0; inactive < INACTIVE_COUNT; ++inactive) {
        int32_t flags = MLXCEL_MATRIX_FLAGS(1, 1, MLXCEL_FORMAT_F32);
        projection_case_t c = {rows[r], 32, 18, formats[f], formats[1 - f], flags, STYLE_PLAIN, (inactive_t)inactive};
        check_projection(&c, false);
        c.flags = MLXCEL_MATRIX_FLAGS(0, 0, MLXCEL_FORMAT_F32);
        check_projection(&c, true);
      }
    }
  }
}

static void kernels_gate_up_equals_reference_in_every_format(void** state) {
  (void)state;
  for (size_t f = 0; f < TEST_FORMAT_COUNT; ++f) {
    for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
      int32_t gate = test_format_at(f), up = test_format_at((f * 7 + s) % TEST_FORMAT_COUNT);
      int32_t width = width_for(gate, width_for(up, shapes[s].width));  // units are powers of two: the larger one wins
      if (test_format_width_unit(up) > test_format_width_unit(gate)) width = width_for(up, width);
      int32_t flags = MLXCEL_MATRIX_FLAGS((int32_t)(s % 2), 0, (int32_t)(f % 3));
      const projection_case_t c = {shapes[s].rows, width, shapes[s].outputs, gate, up, flags, (operand_style_t)((f + s) % STYLE_COUNT), INACTIVE_NONE};
      check_projection(&c, true);
    }
  }
}

//===- Embedding ----------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct embed_arguments_t {
  guarded_t tokens, positions, out;
  test_matrix_t table;
  int32_t rows, width;
} embed_arguments_t;

static void call_embed(const void* arguments, const kernel_set_t* set, size_t group, size_t groups) {
  const embed_arguments_t* a = arguments;
  set->mlxcel_pinned_embed(GUARDED_I32(a->tokens), GUARDED_I32(a->positions), GUARDED_MATRIX(a->table), GUARDED_F32(a->out), a->rows, a->width, a->table.format,
                           group, groups);
}

// Rows take tokens of |vocabulary| from its end; an inactive row's token is one that would crash.
static void check_embed(test_matrix_t table, int32_t vocabulary, int32_t rows, int32_t width, inactive_t inactive) {
  embed_arguments_t a = {.table = table, .rows = rows, .width = width};
  a.positions = test_positions_create(inactive, (size_t)rows);
  a.tokens = guarded_create((size_t)rows, sizeof(int32_t));
  for (int32_t r = 0; r < rows; ++r) guarded_ints(&a.tokens)[r] = guarded_ints(&a.positions)[r] < 0 ? INT32_MAX : vocabulary - 1 - r % vocabulary;
  guarded_protect(&a.tokens);
  a.out = guarded_create((size_t)rows * (size_t)width, sizeof(float));
  char what[128];
  snprintf(what, sizeof(what), "embed, %d rows of %d, %s, inactive %d", rows, width, test_format_name(table.format), (int)inactive);
  const kernel_check_t check = {what, call_embed, &a, {&a.out}, guarded_ints(&a.positions), (size_t)rows, (size_t)width};
  kernel_check_run(&check);
  guarded_release(&a.tokens);
  guarded_release(&a.positions);
  guarded_release(&a.out);
}

static void kernels_embed_equals_reference_in_every_format(void** state) {
  (void)state;
  static const int32_t widths[] = {1, 15, 17, 88, 288, 1056};
  static const int32_t rows[] = {1, 3, 5, 65};
  for (size_t f = 0; f < TEST_FORMAT_COUNT; ++f) {
    for (size_t w = 0; w < COUNT_OF(widths); ++w) {
      int32_t format = test_format_at(f), width = width_for(format, widths[w]);
      random_t random = {f * 100 + w};
      test_matrix_t table = test_matrix_create(&random, (operand_style_t)((f + w) % STYLE_COUNT), format, 0, 7, (size_t)width);
      check_embed(table, 7, rows[(f + w) % COUNT_OF(rows)], width, (inactive_t)(w % INACTIVE_COUNT));
      test_matrix_release(&table);
    }
  }
}

static void kernels_embed_widens_every_16_bit_value_exactly(void** state) {
  (void)state;
  for (int32_t type = MLXCEL_FORMAT_F16; type <= MLXCEL_FORMAT_BF16; ++type) {
    for (int32_t width = 256; width >= 8; width -= 248) {  // whole registers, and the tail of one
      test_matrix_t table = {.w = guarded_create(1 << 16, 2), .format = MLXCEL_FORMAT(0, 0, type)};
      for (uint32_t i = 0; i < 1 << 16; ++i) memcpy(table.w.data + 2 * i, &(uint16_t){(uint16_t)i}, 2);
      guarded_protect(&table.w);
      table.s = table.b = table.v = guarded_alias(&table.w);
      check_embed(table, (1 << 16) / width, (1 << 16) / width, width, INACTIVE_NONE);
      test_matrix_release(&table);
    }
  }
}

//===- Norm ---------------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct norm_arguments_t {
  guarded_t x, index, weight, out;
  int32_t rows, width, type, gather;
  float eps;
} norm_arguments_t;

static void call_rms_norm(const void* arguments, const kernel_set_t* set, size_t group, size_t groups) {
  const norm_arguments_t* a = arguments;
  set->mlxcel_pinned_rms_norm(GUARDED_F32(a->x), GUARDED_I32(a->index), GUARDED_BYTES(a->weight), GUARDED_F32(a->out), a->rows, a->width, a->type, a->gather,
                              a->eps, group, groups);
}

// Gathered rows come from three times as many, each named once; the last input row is always among them.
static void check_norm(int32_t rows, int32_t width, int32_t type, int32_t gather, operand_style_t style, inactive_t inactive) {
  random_t random = {(uint64_t)rows << 32 ^ (uint64_t)width << 8 ^ (uint64_t)style << 4 ^ (uint64_t)type};
  norm_arguments_t a = {.rows = rows, .width = width, .type = type, .gather = gather, .eps = style == STYLE_SUBNORMAL ? 0x1p-140f : 1e-5f};
  size_t source_rows = (size_t)(gather ? 3 * rows : rows);
  a.x = test_rows_create(&random, style, NULL, source_rows, (size_t)width);
  a.weight = typed_create(&random, style, type, (size_t)width);
  a.index = guarded_create((size_t)rows, sizeof(int32_t));
  for (int32_t r = 0; r < rows; ++r) {
    int32_t from = gather ? 3 * (rows - 1 - r) + 2 : 1000000;  // without gather the number means nothing but "active"
    guarded_ints(&a.index)[r] = test_row_is_inactive(inactive, (size_t)r, (size_t)rows) ? -1 : from;
  }
  guarded_protect(&a.index);
  a.out = guarded_create((size_t)rows * (size_t)width, sizeof(float));
  char what[128];
  snprintf(what, sizeof(what), "rms_norm, %d rows of %d, %s, gather %d, style %d, inactive %d", rows, width, test_format_name(MLXCEL_FORMAT(0, 0, type)),
           gather, (int)style, (int)inactive);
  const kernel_check_t check = {what, call_rms_norm, &a, {&a.out}, guarded_ints(&a.index), (size_t)rows, (size_t)width};
  kernel_check_run(&check);
  guarded_release(&a.x);
  guarded_release(&a.weight);
  guarded_release(&a.index);
  guarded_release(&a.out);
}

static void kernels_rms_norm_equals_reference(void** state) {
  (void)state;
  static const int32_t widths[] = {1, 2, 15, 16, 17, 88, 150, 576, 1023, 1024, 1025, 2049};
  static const int32_t rows[] = {1, 2, 3, 5, 65};
  for (size_t w = 0; w < COUNT_OF(widths); ++w) {
    for (size_t r = 0; r < COUNT_OF(rows); ++r) {
      for (int style = 0; style < STYLE_COUNT; ++style) {
        int32_t type = (int32_t)((w + r + (size_t)style) % 3), gather = (int32_t)((w + (size_t)style) % 2);
        check_norm(rows[r], widths[w], type, gather, (operand_style_t)style, (inactive_t)((r + (size_t)style) % INACTIVE_COUNT));
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_matmul_equals_reference_in_every_format),
      cmocka_unit_test(kernels_matmul_equals_reference_for_operands_of_every_magnitude),
      cmocka_unit_test(kernels_matmul_equals_reference_for_every_dense_width),
      cmocka_unit_test(kernels_matmul_equals_reference_with_bias_and_residual),
      cmocka_unit_test(kernels_projections_ignore_inactive_rows),
      cmocka_unit_test(kernels_gate_up_equals_reference_in_every_format),
      cmocka_unit_test(kernels_embed_equals_reference_in_every_format),
      cmocka_unit_test(kernels_embed_widens_every_16_bit_value_exactly),
      cmocka_unit_test(kernels_rms_norm_equals_reference),
  };
  return cmocka_run_group_tests(tests, kernel_levels_report, kernel_results_report);
}
