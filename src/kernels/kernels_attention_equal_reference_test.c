// Every build of qkv_rope and attention equals the scalar reference bit for bit: over head sizes, partly rotated heads, grouped heads, layers, slots, key
// counts at every edge of a block, operands of every magnitude, inactive rows and numbers of workgroups; cache cells that no active row owns keep their bytes.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/kernel_test_util.h"
#include "kernels/reference/reference.h"

#define DENSE_OF(type) MLXCEL_FORMAT(0, 0, type)
#define CACHE_TYPES 3  // MLXCEL_FORMAT_F32, _F16, _BF16

//===- qkv_rope -----------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct qkv_case_t {
  int32_t rows, width, heads, kv_heads, head_dim, rope_half;
  int32_t formats[3], flags[3];  // of q, k and v
  int32_t layers, layer, slots, context, kv_type;
  operand_style_t style;
  inactive_t inactive;
} qkv_case_t;

typedef struct qkv_arguments_t {
  qkv_case_t c;
  guarded_t x, cos, sin, slots, positions, k_cache, v_cache, out;
  test_matrix_t q, k, v;
} qkv_arguments_t;

static void call_qkv_rope(const void* arguments, const kernel_set_t* set, size_t group, size_t groups) {
  const qkv_arguments_t* a = arguments;
  set->mlxcel_pinned_qkv_rope(GUARDED_F32(a->x), GUARDED_MATRIX(a->q), GUARDED_MATRIX(a->k), GUARDED_MATRIX(a->v), GUARDED_F32(a->cos), GUARDED_F32(a->sin),
                              GUARDED_I32(a->slots), GUARDED_I32(a->positions), GUARDED_BYTES(a->k_cache), GUARDED_BYTES(a->v_cache), GUARDED_F32(a->out),
                              a->c.rows, a->c.width, a->c.heads, a->c.kv_heads, a->c.head_dim, a->c.rope_half, a->q.format, a->q.flags, a->k.format, a->k.flags,
                              a->v.format, a->v.flags, a->c.layer, a->c.slots, a->c.context, a->c.kv_type, group, groups);
}

// Rows fill the cells (slot, position) of the cache from its last one downwards, a cell a row; an inactive row names a slot that would crash.
static void qkv_place_rows(qkv_arguments_t* a) {
  a->slots = guarded_create((size_t)a->c.rows, sizeof(int32_t));
  a->positions = guarded_create((size_t)a->c.rows, sizeof(int32_t));
  for (int32_t r = 0; r < a->c.rows; ++r) {
    int32_t cell = a->c.slots * a->c.context - 1 - r;
    assert_true(cell >= 0);
    bool inactive = test_row_is_inactive(a->c.inactive, (size_t)r, (size_t)a->c.rows);
    guarded_ints(&a->slots)[r] = inactive ? INT32_MAX : cell / a->c.context;
    guarded_ints(&a->positions)[r] = inactive ? -1 : cell % a->c.context;
  }
  guarded_protect(&a->slots);
  guarded_protect(&a->positions);
}

static guarded_t qkv_cache_create(random_t* random, const qkv_case_t* c) {
  size_t count = (size_t)c->layers * (size_t)c->slots * (size_t)c->kv_heads * (size_t)c->context * (size_t)c->head_dim;
  guarded_t cache = guarded_create(count, format_type_bytes(c->kv_type));
  cache.type = c->kv_type;
  for (size_t i = 0; i < count; ++i) store_typed(cache.data, c->kv_type, i, random_float(random, STYLE_WIDE, i));
  return cache;
}

static void check_qkv_rope(const qkv_case_t* c) {
  random_t random = {(uint64_t)c->rows << 40 ^ (uint64_t)c->width << 24 ^ (uint64_t)c->head_dim << 8 ^ (uint64_t)c->style};
  size_t dim = (size_t)c->head_dim, width = (size_t)c->width, q_outputs = (size_t)c->heads * dim, kv_outputs = (size_t)c->kv_heads * dim;
  qkv_arguments_t a = {.c = *c};
  qkv_place_rows(&a);
  a.x = test_rows_create(&random, c->style, guarded_ints(&a.positions), (size_t)c->rows, width);
  a.q = test_matrix_create(&random, c->style, c->formats[0], c->flags[0], q_outputs, width);
  a.k = test_matrix_create(&random, c->style, c->formats[1], c->flags[1], kv_outputs, width);
  a.v = test_matrix_create(&random, c->style, c->formats[2], c->flags[2], kv_outputs, width);
  operand_style_t turn = c->style == STYLE_HUGE ? STYLE_PLAIN : c->style;  // cosines and sines, only larger
  a.cos = test_rows_create(&random, turn, NULL, (size_t)c->context, (size_t)c->rope_half);
  a.sin = test_rows_create(&random, turn, NULL, (size_t)c->context, (size_t)c->rope_half);
  a.k_cache = qkv_cache_create(&random, c);
  a.v_cache = qkv_cache_create(&random, c);
  a.out = guarded_create((size_t)c->rows * q_outputs, sizeof(float));
  char what[160];
  snprintf(what, sizeof(what), "qkv_rope, %d rows of %d, %d/%d heads of %d, half %d, layer %d, cache %s, style %d, inactive %d", c->rows, c->width, c->heads,
           c->kv_heads, c->head_dim, c->rope_half, c->layer, test_format_name(DENSE_OF(c->kv_type)), (int)c->style, (int)c->inactive);
  const kernel_check_t check = {what, call_qkv_rope, &a, {&a.out, &a.k_cache, &a.v_cache}, guarded_ints(&a.positions), (size_t)c->rows, q_outputs};
  kernel_check_run(&check);
  guarded_t* buffers[] = {&a.x, &a.cos, &a.sin, &a.slots, &a.positions, &a.k_cache, &a.v_cache, &a.out};
  for (size_t i = 0; i < COUNT_OF(buffers); ++i) guarded_release(buffers[i]);
  test_matrix_release(&a.q);
  test_matrix_release(&a.k);
  test_matrix_release(&a.v);
}

#define DENSE(type) MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_##type)
#define WITH_BIAS(type) MLXCEL_MATRIX_FLAGS(1, 0, MLXCEL_FORMAT_##type)

static const int32_t head_dims[] = {2, 10, 16, 22, 24, 32, 64, 80, 128, 512};

static void kernels_qkv_rope_equals_reference_for_every_head_size(void** state) {
  (void)state;
  static const int32_t rows[] = {1, 2, 5, 17};
  for (size_t d = 0; d < COUNT_OF(head_dims); ++d) {
    for (size_t r = 0; r < COUNT_OF(rows); ++r) {
      int32_t half = head_dims[d] / 2;
      int32_t halves[] = {half, half > 3 ? half / 2 : 0, half > 8 ? half - 3 : 1};  // all of the head, half of it (or nothing), an odd part
      for (size_t h = 0; h < COUNT_OF(halves); ++h) {
        qkv_case_t c = {.rows = rows[r], .width = 33, .heads = 3, .kv_heads = 1, .head_dim = head_dims[d], .rope_half = halves[h]};
        c.layers = 2, c.layer = (int32_t)(r % 2), c.slots = 2, c.context = 11;
        c.style = (operand_style_t)((d + r + h) % STYLE_COUNT);
        c.kv_type = (int32_t)((d + 2 * r + h) % CACHE_TYPES);
        if (halves[h] == 0) c.style = STYLE_PLAIN;
        check_qkv_rope(&c);
      }
    }
  }
}

static void kernels_qkv_rope_equals_reference_for_every_mix_of_formats(void** state) {
  (void)state;
  for (size_t f = 0; f < TEST_FORMAT_COUNT; ++f) {
    for (int use = 0; use < 2; ++use) {
      qkv_case_t c = {.rows = use ? 3 : 1, .width = 128, .heads = 2, .kv_heads = 2, .head_dim = 10, .rope_half = 5, .layers = 1, .slots = 3, .context = 4};
      for (size_t i = 0; i < 3; ++i) c.formats[i] = test_format_at((f + i * 19) % TEST_FORMAT_COUNT);
      c.flags[f % 3] = WITH_BIAS(F32), c.flags[(f + 1) % 3] = use ? WITH_BIAS(BF16) : 0, c.flags[(f + 2) % 3] = use ? 0 : WITH_BIAS(F16);
      c.style = (operand_style_t)(f % STYLE_COUNT);
      c.kv_type = (int32_t)((f / STYLE_COUNT) % CACHE_TYPES);
      check_qkv_rope(&c);
    }
  }
}

static void kernels_qkv_rope_equals_reference_for_every_cache_and_operands_of_every_magnitude(void** state) {
  (void)state;
  for (int32_t type = 0; type < CACHE_TYPES; ++type) {
    for (int style = 0; style < STYLE_COUNT; ++style) {
      qkv_case_t c = {.rows = 9, .width = 21, .heads = 4, .kv_heads = 2, .head_dim = 30, .rope_half = 15, .layers = 1, .slots = 2, .context = 5};
      c.kv_type = type, c.style = (operand_style_t)style;
      check_qkv_rope(&c);
    }
  }
}

#define ROUNDED_DIM 64
#define ROUNDED_NEIGHBOURS 4  // a value of the type, the midpoint to its neighbour, the floats around the midpoint
#define ROUNDED_ROWS (0x8000 * ROUNDED_NEIGHBOURS / ROUNDED_DIM)

// Finite values around every rounding decision of |type|, both signs by turns.
static void fill_rounded(int32_t type, float* values) {
  float below = 0;
  for (uint32_t code = 0; code < 0x8000; ++code) {
    uint16_t half = (uint16_t)(code + 1);
    float above = mlxcel_reference_widen((const uint8_t*)&half, type, 0), middle = below + (above - below) / 2;
    if (isnan(above) || isinf(above)) above = middle = FLT_MAX;
    const float around[ROUNDED_NEIGHBOURS] = {below, middle, nextafterf(middle, 0), nextafterf(middle, FLT_MAX)};
    for (uint32_t i = 0; i < ROUNDED_NEIGHBOURS; ++i) values[code * ROUNDED_NEIGHBOURS + i] = code % 2 ? -around[i] : around[i];
    below = above;
  }
}

// Values go through an identity matrix, one head of zeros and ones, unchanged into the cache.
static void kernels_kv_store_rounds_every_value_of_a_narrow_cache_as_the_reference(void** state) {
  (void)state;
  for (int32_t type = MLXCEL_FORMAT_F16; type <= MLXCEL_FORMAT_BF16; ++type) {
    qkv_case_t c = {.rows = ROUNDED_ROWS, .width = ROUNDED_DIM, .heads = 1, .kv_heads = 1, .head_dim = ROUNDED_DIM, .layers = 1, .slots = 1};
    c.context = ROUNDED_ROWS, c.kv_type = type;
    qkv_arguments_t a = {.c = c};
    random_t random = {(uint64_t)type};
    qkv_place_rows(&a);
    a.x = guarded_create((size_t)ROUNDED_ROWS * ROUNDED_DIM, sizeof(float));
    fill_rounded(type, guarded_floats(&a.x));
    a.q.w = guarded_create((size_t)ROUNDED_DIM * ROUNDED_DIM, sizeof(float));
    for (size_t i = 0; i < (size_t)ROUNDED_DIM * ROUNDED_DIM; ++i) guarded_floats(&a.q.w)[i] = i % (ROUNDED_DIM + 1) == 0 ? 1.0f : 0.0f;
    a.q.s = a.q.b = a.q.v = guarded_alias(&a.q.w);
    a.k = a.v = (test_matrix_t){.w = guarded_alias(&a.q.w), .s = guarded_alias(&a.q.w), .b = guarded_alias(&a.q.w), .v = guarded_alias(&a.q.w)};
    a.cos = a.sin = guarded_alias(&a.x);
    a.k_cache = qkv_cache_create(&random, &c);
    a.v_cache = qkv_cache_create(&random, &c);
    a.out = guarded_create((size_t)ROUNDED_ROWS * ROUNDED_DIM, sizeof(float));
    const kernel_check_t check = {"kv-store of every value",  call_qkv_rope, &a,         {&a.out, &a.k_cache, &a.v_cache},
                                  guarded_ints(&a.positions), ROUNDED_ROWS,  ROUNDED_DIM};
    kernel_check_run(&check);
    guarded_t* buffers[] = {&a.x, &a.slots, &a.positions, &a.k_cache, &a.v_cache, &a.out, &a.q.w};
    for (size_t i = 0; i < COUNT_OF(buffers); ++i) guarded_release(buffers[i]);
  }
}

static void kernels_qkv_rope_writes_only_the_cells_of_active_rows(void** state) {
  (void)state;
  static const int32_t rows[] = {1, 3, 8, 16, 65, 130};
  for (size_t r = 0; r < COUNT_OF(rows); ++r) {
    for (int inactive = 0; inactive < INACTIVE_COUNT; ++inactive) {
      for (int32_t layer = 0; layer < 3; ++layer) {
        qkv_case_t c = {.rows = rows[r], .width = 17, .heads = 4, .kv_heads = 2, .head_dim = 6, .rope_half = 3, .layers = 3, .layer = layer, .slots = 3};
        c.context = 50, c.kv_type = (layer + inactive) % CACHE_TYPES, c.formats[1] = DENSE(F16), c.formats[2] = DENSE(BF16), c.flags[1] = WITH_BIAS(F32),
        c.inactive = (inactive_t)inactive;
        check_qkv_rope(&c);
      }
    }
  }
}

//===- attention ----------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct attention_case_t {
  int32_t rows, heads, kv_heads, head_dim, layers, layer, slots, context, kv_type;
  float scale;
  operand_style_t style;
} attention_case_t;

typedef struct attention_arguments_t {
  attention_case_t c;
  guarded_t q, k_cache, v_cache, slots, positions, out;
} attention_arguments_t;

static void call_attention(const void* arguments, const kernel_set_t* set, size_t group, size_t groups) {
  const attention_arguments_t* a = arguments;
  set->mlxcel_pinned_attention(GUARDED_F32(a->q), GUARDED_BYTES(a->k_cache), GUARDED_BYTES(a->v_cache), GUARDED_I32(a->slots), GUARDED_I32(a->positions),
                               GUARDED_F32(a->out), a->c.rows, a->c.heads, a->c.kv_heads, a->c.head_dim, a->c.layer, a->c.slots, a->c.context, a->c.kv_type,
                               a->c.scale, group, groups);
}

// The cache holds numbers up to each slot's last position in the layer at hand, and NaN everywhere else, where no kernel has any business.
static guarded_t attention_cache_create(random_t* random, const attention_arguments_t* a) {
  const attention_case_t* c = &a->c;
  size_t dim = (size_t)c->head_dim, context = (size_t)c->context, kv_heads = (size_t)c->kv_heads;
  size_t count = (size_t)c->layers * (size_t)c->slots * kv_heads * context * dim;
  guarded_t cache = guarded_create(count, format_type_bytes(c->kv_type));
  cache.type = c->kv_type;
  for (size_t i = 0; i < count; ++i) mlxcel_reference_narrow(cache.data, c->kv_type, i, NAN);
  for (int32_t r = 0; r < c->rows; ++r) {
    if (guarded_ints(&a->positions)[r] < 0) continue;
    size_t slot = (size_t)(c->layer * c->slots + guarded_ints(&a->slots)[r]);
    for (size_t h = 0; h < kv_heads; ++h) {
      size_t cell = (slot * kv_heads + h) * context * dim, live = ((size_t)guarded_ints(&a->positions)[r] + 1) * dim;
      for (size_t i = 0; i < live; ++i) store_typed(cache.data, c->kv_type, cell + i, random_float(random, c->style, i));
    }
  }
  guarded_protect(&cache);
  return cache;
}

static void check_attention(const attention_case_t* c, const int32_t* slots, const int32_t* positions) {
  random_t random = {(uint64_t)c->rows << 40 ^ (uint64_t)c->heads << 32 ^ (uint64_t)c->head_dim << 8 ^ (uint64_t)c->style};
  size_t rows = (size_t)c->rows, row_floats = (size_t)c->heads * (size_t)c->head_dim;
  attention_arguments_t a = {.c = *c};
  a.slots = guarded_create(rows, sizeof(int32_t));
  a.positions = guarded_create(rows, sizeof(int32_t));
  memcpy(a.slots.data, slots, a.slots.bytes);
  memcpy(a.positions.data, positions, a.positions.bytes);
  guarded_protect(&a.slots);
  guarded_protect(&a.positions);
  a.q = test_rows_create(&random, c->style, positions, rows, row_floats);
  a.k_cache = attention_cache_create(&random, &a);
  a.v_cache = attention_cache_create(&random, &a);
  a.out = guarded_create(rows * row_floats, sizeof(float));
  char what[160];
  snprintf(what, sizeof(what), "attention, %d rows, %d/%d heads of %d, cache %s, scale %a, style %d", c->rows, c->heads, c->kv_heads, c->head_dim,
           test_format_name(DENSE_OF(c->kv_type)), (double)c->scale, (int)c->style);
  const kernel_check_t check = {what, call_attention, &a, {&a.out}, guarded_ints(&a.positions), rows, row_floats};
  kernel_check_run(&check);
  guarded_t* buffers[] = {&a.q, &a.k_cache, &a.v_cache, &a.slots, &a.positions, &a.out};
  for (size_t i = 0; i < COUNT_OF(buffers); ++i) guarded_release(buffers[i]);
}

// Rows of every interesting length, each in a slot of its own, the longest at the very end of the cache; one row in three is inactive in the second pass.
static const int32_t lengths[] = {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 193, 300};
#define LENGTH_COUNT ((int32_t)COUNT_OF(lengths))

static void check_attention_lengths(int32_t heads, int32_t kv_heads, int32_t head_dim, int32_t kv_type, float scale, operand_style_t style,
                                    inactive_t inactive) {
  int32_t slots[LENGTH_COUNT], positions[LENGTH_COUNT];
  for (int32_t r = 0; r < LENGTH_COUNT; ++r) {
    bool off = test_row_is_inactive(inactive, (size_t)r, COUNT_OF(lengths));
    slots[r] = off ? INT32_MAX : r;
    positions[r] = off ? -1 : lengths[r] - 1;
  }
  const attention_case_t c = {.rows = LENGTH_COUNT,
                              .heads = heads,
                              .kv_heads = kv_heads,
                              .head_dim = head_dim,
                              .layers = 2,
                              .layer = 1,
                              .slots = LENGTH_COUNT,
                              .context = lengths[LENGTH_COUNT - 1],
                              .kv_type = kv_type,
                              .scale = scale,
                              .style = style};
  check_attention(&c, slots, positions);
}

static void kernels_attention_equals_reference_for_every_head_size_and_length(void** state) {
  (void)state;
  for (size_t d = 0; d < COUNT_OF(head_dims); ++d) {
    float scale = 1.0f / sqrtf((float)head_dims[d]);
    operand_style_t style = (operand_style_t)(d % STYLE_COUNT);
    for (int32_t type = 0; type < CACHE_TYPES; ++type) check_attention_lengths(1, 1, head_dims[d], type, scale, STYLE_PLAIN, INACTIVE_NONE);
    check_attention_lengths(3, 1, head_dims[d], (int32_t)(d % CACHE_TYPES), scale, style, INACTIVE_MIDDLE);
    if (head_dims[d] < 128) check_attention_lengths(6, 2, head_dims[d], (int32_t)((d + 1) % CACHE_TYPES), scale, STYLE_PLAIN, INACTIVE_END);
  }
}

static void kernels_attention_equals_reference_for_operands_of_every_magnitude(void** state) {
  (void)state;
  static const float scales[] = {0x1p-3f, 1.0f, 0.0f, -1.0f, 0x1p-120f, 0x1p-80f, 0x1p+60f};
  for (size_t s = 0; s < COUNT_OF(scales); ++s) {
    for (int style = 0; style < STYLE_COUNT; ++style) {
      check_attention_lengths(2, 2, 24, MLXCEL_FORMAT_F32, scales[s], (operand_style_t)style, (inactive_t)(s % INACTIVE_COUNT));
      check_attention_lengths(2, 1, 16, (int32_t)(s % CACHE_TYPES), scales[s], (operand_style_t)style, INACTIVE_NONE);
    }
  }
}

// Chunks of one slot, as prefill calls them: rows that share their keys, at every place of a block; few heads a kv head and many, up to more queries than are
// held at once.
static void kernels_attention_equals_reference_for_a_chunk_of_one_slot(void** state) {
  (void)state;
  static const struct { int32_t heads, kv_heads, head_dim; } shapes[] = {{4, 2, 32}, {9, 3, 64}, {2, 2, 128}, {5, 1, 21}, {72, 1, 16}};
  int32_t slots[70], positions[70];
  for (size_t i = 0; i < COUNT_OF(shapes); ++i) {
    for (int32_t first = 0; first <= 58; first += 29) {
      for (int32_t r = 0; r < 70; ++r) slots[r] = 1, positions[r] = first + r;
      attention_case_t c = {.rows = 70, .layers = 1, .slots = 2, .context = 128, .scale = 0.25f};
      c.heads = shapes[i].heads, c.kv_heads = shapes[i].kv_heads, c.head_dim = shapes[i].head_dim;
      c.kv_type = (int32_t)((i + (size_t)first / 29) % CACHE_TYPES), c.style = (operand_style_t)((size_t)first / 29 + i) % STYLE_COUNT;
      check_attention(&c, slots, positions);
    }
  }
}

// Rows of several slots in no order, with gaps between: what a run of rows may share ends where the slot does.
static void kernels_attention_equals_reference_for_runs_of_rows_in_any_order(void** state) {
  (void)state;
  enum { kRows = 37, kContext = 150 };
  for (int32_t type = 0; type < CACHE_TYPES; ++type) {
    random_t random = {(uint64_t)type + 7};
    int32_t slots[kRows], positions[kRows], slot = 0;
    for (int32_t r = 0; r < kRows; ++r) {
      if (random_below(&random, 5) == 0) slot = random_below(&random, 3);
      bool off = random_below(&random, 8) == 0;
      slots[r] = off ? INT32_MAX : slot;
      positions[r] = off ? -1 : random_below(&random, kContext);
    }
    attention_case_t c = {.rows = kRows, .heads = 6, .kv_heads = 2, .head_dim = 48, .layers = 1, .slots = 3, .context = kContext, .scale = 0.5f};
    c.kv_type = type;
    check_attention(&c, slots, positions);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_qkv_rope_equals_reference_for_every_head_size),
      cmocka_unit_test(kernels_qkv_rope_equals_reference_for_every_mix_of_formats),
      cmocka_unit_test(kernels_qkv_rope_equals_reference_for_every_cache_and_operands_of_every_magnitude),
      cmocka_unit_test(kernels_kv_store_rounds_every_value_of_a_narrow_cache_as_the_reference),
      cmocka_unit_test(kernels_qkv_rope_writes_only_the_cells_of_active_rows),
      cmocka_unit_test(kernels_attention_equals_reference_for_every_head_size_and_length),
      cmocka_unit_test(kernels_attention_equals_reference_for_operands_of_every_magnitude),
      cmocka_unit_test(kernels_attention_equals_reference_for_a_chunk_of_one_slot),
      cmocka_unit_test(kernels_attention_equals_reference_for_runs_of_rows_in_any_order),
  };
  return cmocka_run_group_tests(tests, kernel_levels_report, kernel_results_report);
}
