// self_check_cases.c: one kernel on small operands, against the scalar reference.
//
// Sizes are odd so that every tail is reached: dense widths that aren't a multiple of sixteen, outputs that fill neither a register nor a tile, keys over two
// blocks and a bit. A wrong order of additions or a missing rounding changes nearly every result of such operands, since their fractions are full.
#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract/operation.h"
#include "kernels/reference/reference.h"
#include "qualify/self_check.h"

#define ROWS_MAX 11
#define DENSE_WIDTH 77
#define OUTPUTS 19
#define TABLE_ROWS 7
#define LAYERS 2
#define LAYER 1
#define SLOTS 2
#define QKV_HEADS 3
#define QKV_KV_HEADS 1
#define QKV_HEAD_DIM 10
#define QKV_ROPE_HALF 4
#define QKV_CONTEXT (ROWS_MAX + 1)
#define QKV_CELLS (LAYERS * SLOTS * QKV_KV_HEADS * QKV_CONTEXT * QKV_HEAD_DIM)
#define ATTENTION_HEADS 2
#define ATTENTION_KV_HEADS 1
#define ATTENTION_HEAD_DIM 21
#define ATTENTION_CONTEXT (2 * MLXCEL_ATTENTION_BLOCK + 3)
#define SMALL 0x1p-128f        // sums of products with it are subnormal
#define SMALL_FACTOR 0x1p-68f  // likewise products of two such sums
#define SMALL_F16 0x1p-18f
#define RESULTS_MAX 3
#define ARENA_BYTES (512u << 10)  // the largest case, attention with two copies of two caches, needs a quarter of it

// --- kernels -------------------------------------------------------------------------------------------------------------------------------

#define DECLARE_LINKED(name, arguments) \
  extern void v3_##name(arguments);     \
  extern void v4_##name(arguments);
MLXCEL_KERNELS(DECLARE_LINKED)

const mlxcel_kernel_set_t* mlxcel_kernel_set_reference(void) {
  static const mlxcel_kernel_set_t set = {"reference",
                                          mlxcel_reference_embed,
                                          mlxcel_reference_rms_norm,
                                          mlxcel_reference_qkv_rope,
                                          mlxcel_reference_attention,
                                          mlxcel_reference_matmul,
                                          mlxcel_reference_gate_up};
  return &set;
}

const mlxcel_kernel_set_t* mlxcel_kernel_set_of_level(mlxcel_kernel_level_t level) {
#define V3_NAME(name, arguments) .name = v3_##name,
#define V4_NAME(name, arguments) .name = v4_##name,
  static const mlxcel_kernel_set_t sets[MLXCEL_KERNEL_LEVEL_COUNT] = {{"v3", MLXCEL_KERNELS(V3_NAME)}, {"v4", MLXCEL_KERNELS(V4_NAME)}};
  return &sets[level];
}

// --- operands ------------------------------------------------------------------------------------------------------------------------------

typedef struct matrix_t {
  uint8_t *w, *s, *b, *v;
} matrix_t;

typedef struct operands_t {
  uint8_t* arena;
  size_t used;
  uint64_t random;
  const mlxcel_self_check_case_t* check;
  int32_t rows, width, flags;
  float *x, *residual, *cos, *sin;
  uint8_t *weight, *keys, *values;
  int32_t *positions, *slots, *tokens;
  matrix_t matrices[3];
} operands_t;

static void* take_bytes(operands_t* operands, size_t bytes) {
  uint8_t* memory = operands->arena + operands->used;
  operands->used += (bytes + 63) / 64 * 64;
  if (operands->used > ARENA_BYTES) abort();  // the sizes above are constants
  return memory;
}

static uint64_t random_next(operands_t* operands) {  // splitmix64
  uint64_t z = operands->random += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Either sign, all bits of the fraction, exponents -3 to 0.
static float random_float(operands_t* operands) {
  uint64_t bits = random_next(operands);
  uint32_t pattern = (uint32_t)(bits & 0x807fffffu) | (uint32_t)(124 + (bits >> 62)) << 23;
  float value;
  memcpy(&value, &pattern, sizeof(value));
  return value;
}

static float* take_floats(operands_t* operands, size_t count) {
  float* values = take_bytes(operands, count * sizeof(float));
  for (size_t i = 0; i < count; ++i) values[i] = random_float(operands);
  return values;
}

// The first |small_count| of them times |small|.
static uint8_t* take_typed_small(operands_t* operands, int32_t type, size_t count, float small, size_t small_count) {
  uint8_t* data = take_bytes(operands, count * 4);
  for (size_t i = 0; i < count; ++i) mlxcel_dtype_store((mlxcel_dtype_t)type, data, i, random_float(operands) * (i < small_count ? small : 1.0f));
  return data;
}
static uint8_t* take_typed(operands_t* operands, int32_t type, size_t count) { return take_typed_small(operands, type, count, 1.0f, 0); }

// [rows, width]; the last of several rows is |small|er: so that what it adds up to is subnormal.
static float* take_rows(operands_t* operands, size_t width, float small) {
  float* values = take_floats(operands, (size_t)operands->rows * width);
  size_t last = (size_t)(operands->rows - 1) * width;
  for (size_t i = 0; operands->rows > 1 && i < width; ++i) values[last + i] *= small;
  return values;
}

static matrix_t take_matrix(operands_t* operands, size_t rows) {
  int32_t format = operands->check->format, type = MLXCEL_FORMAT_TYPE(format), bits = MLXCEL_FORMAT_BITS(format);
  size_t width = (size_t)operands->width;
  matrix_t matrix = {0};
  if (bits == 0) {
    matrix.w = matrix.s = matrix.b = take_typed(operands, type, rows * width);
  } else {
    size_t bytes = rows * width * (size_t)bits / 8, groups = rows * (width >> MLXCEL_FORMAT_GROUP_LOG2(format));
    matrix.w = take_bytes(operands, bytes);
    for (size_t i = 0; i < bytes; ++i) matrix.w[i] = (uint8_t)random_next(operands);
    matrix.s = take_typed(operands, type, groups);
    matrix.b = take_typed(operands, type, groups);
  }
  matrix.v = operands->check->bias_type < 0 ? matrix.w : take_typed(operands, operands->check->bias_type, rows);
  return matrix;
}

// Two groups or more a row, so that a row has more than one scale.
static int32_t case_width(int32_t format) {
  if (MLXCEL_FORMAT_BITS(format) == 0) return DENSE_WIDTH;
  int32_t group = 1 << MLXCEL_FORMAT_GROUP_LOG2(format);
  return group < 64 ? 3 * group : 2 * group;
}

// Row 0 is at |first| of slot 1, the last row at |last| of slot 0, those before it one position further each; the second of several rows is inactive.
static void take_indices(operands_t* operands, int32_t first, int32_t last) {
  size_t bytes = (size_t)operands->rows * sizeof(int32_t);
  operands->positions = take_bytes(operands, bytes);
  operands->slots = take_bytes(operands, bytes);
  operands->tokens = take_bytes(operands, bytes);
  for (int32_t r = 0; r < operands->rows; ++r) {
    operands->positions[r] = r == 0 ? first : r == 1 ? -1 : last + operands->rows - 1 - r;
    operands->slots[r] = r == 0;
    operands->tokens[r] = r == 0 ? TABLE_ROWS - 1 : r == 1 ? 0 : r % TABLE_ROWS;
  }
}

// --- results -------------------------------------------------------------------------------------------------------------------------------

typedef struct results_t {
  size_t count;
  void* data[RESULTS_MAX];  // the first is [rows, width] of f32
  int32_t types[RESULTS_MAX];
  size_t sizes[RESULTS_MAX];  // elements
} results_t;

// Adds a result of |size| elements of |type| that starts as |initial|, or as a pattern.
static void take_result_typed(operands_t* operands, results_t* results, int32_t type, const void* initial, size_t size) {
  size_t bytes = size * mlxcel_dtype_size((mlxcel_dtype_t)type);
  void* data = take_bytes(operands, bytes);
  if (initial) {
    memcpy(data, initial, bytes);
  } else {
    memset(data, 0x5a, bytes);
  }
  results->data[results->count] = data;
  results->types[results->count] = type;
  results->sizes[results->count++] = size;
}
static void take_result(operands_t* operands, results_t* results, size_t size) { take_result_typed(operands, results, MLXCEL_FORMAT_F32, NULL, size); }

// --- the kernels' calls --------------------------------------------------------------------------------------------------------------------

#define AT0(pointer) (pointer), 0
#define MATRIX_AT0(matrix) AT0((matrix).w), AT0((matrix).s), AT0((matrix).b), AT0((matrix).v)

static void make_embed(operands_t* o) {
  take_indices(o, 4, 0);
  o->matrices[0] = take_matrix(o, TABLE_ROWS);
}
static void results_embed(operands_t* o, results_t* results) { take_result(o, results, (size_t)o->rows * (size_t)o->width); }
static void call_embed(const operands_t* o, const mlxcel_kernel_set_t* set, const results_t* results, size_t group, size_t groups) {
  set->mlxcel_pinned_embed(AT0(o->tokens), AT0(o->positions), MATRIX_AT0(o->matrices[0]), AT0(results->data[0]), o->rows, o->width, o->check->format, group,
                           groups);
}

static void make_rms_norm(operands_t* o) {
  take_indices(o, 0, 2);  // as the index: rows 0, none, the others from the last to 2
  o->width = DENSE_WIDTH;
  o->x = take_rows(o, DENSE_WIDTH, SMALL);
  o->weight = take_typed(o, MLXCEL_FORMAT_TYPE(o->check->format), DENSE_WIDTH);
}
static void call_rms_norm(const operands_t* o, const mlxcel_kernel_set_t* set, const results_t* results, size_t group, size_t groups) {
  set->mlxcel_pinned_rms_norm(AT0(o->x), AT0(o->positions), AT0(o->weight), AT0(results->data[0]), o->rows, o->width, MLXCEL_FORMAT_TYPE(o->check->format),
                              o->rows > 1, 0x1p-17f, group, groups);
}

static void make_qkv_rope(operands_t* o) {
  take_indices(o, QKV_CONTEXT - 1, 0);
  o->x = take_rows(o, (size_t)o->width, SMALL);
  o->matrices[0] = take_matrix(o, QKV_HEADS * QKV_HEAD_DIM);
  o->matrices[1] = take_matrix(o, QKV_KV_HEADS * QKV_HEAD_DIM);
  o->matrices[2] = take_matrix(o, QKV_KV_HEADS * QKV_HEAD_DIM);
  o->cos = take_floats(o, QKV_CONTEXT * QKV_ROPE_HALF);
  o->sin = take_floats(o, QKV_CONTEXT * QKV_ROPE_HALF);
  o->keys = take_typed(o, o->check->cache_type, QKV_CELLS);
  o->values = take_typed(o, o->check->cache_type, QKV_CELLS);
}
static void results_qkv_rope(operands_t* o, results_t* results) {
  take_result(o, results, (size_t)o->rows * QKV_HEADS * QKV_HEAD_DIM);
  take_result_typed(o, results, o->check->cache_type, o->keys, QKV_CELLS);
  take_result_typed(o, results, o->check->cache_type, o->values, QKV_CELLS);
}
static void call_qkv_rope(const operands_t* o, const mlxcel_kernel_set_t* set, const results_t* results, size_t group, size_t groups) {
  int32_t format = o->check->format;
  set->mlxcel_pinned_qkv_rope(AT0(o->x), MATRIX_AT0(o->matrices[0]), MATRIX_AT0(o->matrices[1]), MATRIX_AT0(o->matrices[2]), AT0(o->cos), AT0(o->sin),
                              AT0(o->slots), AT0(o->positions), AT0(results->data[1]), AT0(results->data[2]), AT0(results->data[0]), o->rows, o->width,
                              QKV_HEADS, QKV_KV_HEADS, QKV_HEAD_DIM, QKV_ROPE_HALF, format, o->flags, format, o->flags, format, o->flags, LAYER, SLOTS,
                              QKV_CONTEXT, o->check->cache_type, group, groups);
}

static void make_attention(operands_t* o) {
  take_indices(o, ATTENTION_CONTEXT - 1, MLXCEL_ATTENTION_BLOCK - 1);
  size_t cells = LAYERS * SLOTS * ATTENTION_KV_HEADS * ATTENTION_CONTEXT * ATTENTION_HEAD_DIM;
  o->x = take_floats(o, (size_t)o->rows * ATTENTION_HEADS * ATTENTION_HEAD_DIM);
  o->keys = take_typed(o, o->check->cache_type, cells);
  // Values are small in the last row's slot, the first of the layer; nobody reads the layer before it. f16's own subnormals are what it can store.
  float small = o->check->cache_type == MLXCEL_FORMAT_F16 ? SMALL_F16 : SMALL;
  o->values = take_typed_small(o, o->check->cache_type, cells, small, (LAYER * SLOTS + 1) * ATTENTION_KV_HEADS * ATTENTION_CONTEXT * ATTENTION_HEAD_DIM);
}
static void results_attention(operands_t* o, results_t* results) { take_result(o, results, (size_t)o->rows * ATTENTION_HEADS * ATTENTION_HEAD_DIM); }
static void call_attention(const operands_t* o, const mlxcel_kernel_set_t* set, const results_t* results, size_t group, size_t groups) {
  set->mlxcel_pinned_attention(AT0(o->x), AT0(o->keys), AT0(o->values), AT0(o->slots), AT0(o->positions), AT0(results->data[0]), o->rows, ATTENTION_HEADS,
                               ATTENTION_KV_HEADS, ATTENTION_HEAD_DIM, LAYER, SLOTS, ATTENTION_CONTEXT, o->check->cache_type, 2.5f, group, groups);
}

static void make_projection(operands_t* o) {
  float small = o->check->kernel == MLXCEL_KERNEL_GATE_UP ? SMALL_FACTOR : SMALL;
  take_indices(o, 4, 0);
  o->x = take_rows(o, (size_t)o->width, small);
  o->residual = take_rows(o, OUTPUTS, small);
  o->matrices[0] = take_matrix(o, OUTPUTS);
  o->matrices[1] = take_matrix(o, OUTPUTS);
}
static void results_projection(operands_t* o, results_t* results) { take_result(o, results, (size_t)o->rows * OUTPUTS); }
// With a residual where there are several rows, without where there is one.
static void call_matmul(const operands_t* o, const mlxcel_kernel_set_t* set, const results_t* results, size_t group, size_t groups) {
  int32_t flags = o->rows > 1 ? o->flags | MLXCEL_MATRIX_HAS_RESIDUAL : o->flags;
  set->mlxcel_pinned_matmul(AT0(o->x), MATRIX_AT0(o->matrices[0]), AT0(o->residual), AT0(o->positions), AT0(results->data[0]), o->rows, o->width, OUTPUTS,
                            o->check->format, flags, group, groups);
}
static void call_gate_up(const operands_t* o, const mlxcel_kernel_set_t* set, const results_t* results, size_t group, size_t groups) {
  set->mlxcel_pinned_gate_up(AT0(o->x), MATRIX_AT0(o->matrices[0]), MATRIX_AT0(o->matrices[1]), AT0(o->positions), AT0(results->data[0]), o->rows, o->width,
                             OUTPUTS, o->check->format, o->flags, o->check->format, o->flags, group, groups);
}

typedef struct kernel_case_t {
  void (*make)(operands_t* operands);
  void (*results)(operands_t* operands, results_t* results);
  void (*call)(const operands_t* operands, const mlxcel_kernel_set_t* set, const results_t* results, size_t group, size_t groups);
} kernel_case_t;
static const kernel_case_t kernel_cases[] = {
    [MLXCEL_KERNEL_EMBED] = {make_embed, results_embed, call_embed},
    [MLXCEL_KERNEL_RMS_NORM] = {make_rms_norm, results_embed, call_rms_norm},
    [MLXCEL_KERNEL_QKV_ROPE] = {make_qkv_rope, results_qkv_rope, call_qkv_rope},
    [MLXCEL_KERNEL_ATTENTION] = {make_attention, results_attention, call_attention},
    [MLXCEL_KERNEL_MATMUL] = {make_projection, results_projection, call_matmul},
    [MLXCEL_KERNEL_GATE_UP] = {make_projection, results_projection, call_gate_up},
};
#define KERNEL_CASE_COUNT (sizeof(kernel_cases) / sizeof(kernel_cases[0]))

// --- comparing -----------------------------------------------------------------------------------------------------------------------------

static uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// A NaN is some NaN.
static bool same_float(float left, float right) { return float_bits(left) == float_bits(right) || (isnan(left) && isnan(right)); }

// "affine-u4-g32-f16+bias-f32" as clauses name it.
static void storage_text(const mlxcel_self_check_case_t* check, char buffer[64]) {
  static const char* const types[] = {"f32", "f16", "bf16"};
  const char* type = types[MLXCEL_FORMAT_TYPE(check->format)];
  const char* bias = check->bias_type < 0 ? "" : "+bias-";
  const char* bias_type = check->bias_type < 0 ? "" : types[check->bias_type];
  int32_t bits = MLXCEL_FORMAT_BITS(check->format);
  if (bits > 0) {
    snprintf(buffer, 64, "affine-u%d-g%d-%s%s%s", (int)bits, 1 << MLXCEL_FORMAT_GROUP_LOG2(check->format), type, bias, bias_type);
  } else {
    snprintf(buffer, 64, "%s%s%s", type, bias, bias_type);
  }
}

static float result_at(const results_t* results, size_t result, size_t element) {
  return mlxcel_dtype_widen((mlxcel_dtype_t)results->types[result], results->data[result], element);
}

static iree_status_t difference(const operands_t* o, const mlxcel_kernel_set_t* set, size_t result, size_t element, float got, float expected) {
  char storage[64], values[96];
  storage_text(o->check, storage);
  // IREE's own formatting has no %a.
  snprintf(values, sizeof(values), "0x%08" PRIx32 " (%a) in place of 0x%08" PRIx32 " (%a)", float_bits(got), (double)got, float_bits(expected),
           (double)expected);
  return iree_make_status(
      IREE_STATUS_INTERNAL,
      "self-check: kernel %s of level %s, storage %s, cache %s, %d rows: result %zu element %zu is %s of the scalar reference; this build doesn't "
      "compute what its contract says: build mlxcel again, or use another CPU level",
      mlxcel_kernel_info(o->check->kernel)->symbol, set->name, storage, mlxcel_dtype_name((mlxcel_dtype_t)o->check->cache_type), (int)o->rows, result, element,
      values);
}

// What stands in an inactive row of the first result is nobody's business.
static iree_status_t compare_results(const operands_t* o, const mlxcel_kernel_set_t* set, const results_t* got, const results_t* expected) {
  for (size_t r = 0; r < expected->count; ++r) {
    size_t row_size = expected->sizes[r] / (size_t)o->rows;
    for (size_t i = 0; i < expected->sizes[r]; ++i) {
      if (r == 0 && o->positions[i / row_size] < 0) continue;
      float left = result_at(got, r, i), right = result_at(expected, r, i);
      if (!same_float(left, right)) return difference(o, set, r, i, left, right);
    }
  }
  return iree_ok_status();
}

#define MXCSR_DEFAULT 0x1f80u
#define MXCSR_FLUSH 0x8040u  // as IREE's workers have it: kernels undo it
#define GROUPS 2

static iree_status_t run_rows(const mlxcel_self_check_case_t* check, const mlxcel_kernel_set_t* set, uint8_t* arena, int32_t rows) {
  operands_t operands = {.arena = arena, .check = check, .rows = rows, .width = case_width(check->format)};
  operands.random = (uint64_t)check->kernel << 40 ^ (uint64_t)check->format << 8 ^ (uint64_t)rows;
  if (check->bias_type >= 0) operands.flags = MLXCEL_MATRIX_FLAGS(1, 0, check->bias_type);
  const kernel_case_t* kernel = &kernel_cases[check->kernel];
  results_t expected = {0}, got = {0};
  unsigned saved = _mm_getcsr();
  _mm_setcsr(MXCSR_DEFAULT);
  kernel->make(&operands);
  kernel->results(&operands, &expected);
  kernel->results(&operands, &got);
  kernel->call(&operands, mlxcel_kernel_set_reference(), &expected, 0, 1);
  _mm_setcsr(MXCSR_DEFAULT | MXCSR_FLUSH);
  for (size_t group = 0; group < GROUPS; ++group) kernel->call(&operands, set, &got, group, GROUPS);
  _mm_setcsr(saved);
  return compare_results(&operands, set, &got, &expected);
}

iree_status_t mlxcel_self_check_case_run(const mlxcel_self_check_case_t* check, const mlxcel_kernel_set_t* set) {
  if ((size_t)check->kernel >= KERNEL_CASE_COUNT) {
    return iree_make_status(IREE_STATUS_INTERNAL, "the self-check has no case for kernel %s; use another profile", mlxcel_kernel_info(check->kernel)->symbol);
  }
  uint8_t* arena = aligned_alloc(64, ARENA_BYTES);
  if (!arena) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the self-check; free some memory");
  // Kernels choose by the number of rows: one; four, two and one together; eight; so many that weights are unpacked, and keys turned, for all of them.
  static const int32_t row_counts[] = {1, 7, 8, ROWS_MAX};
  iree_status_t status = iree_ok_status();
  for (size_t i = 0; i < IREE_ARRAYSIZE(row_counts) && iree_status_is_ok(status); ++i) status = run_rows(check, set, arena, row_counts[i]);
  free(arena);
  return status;
}
