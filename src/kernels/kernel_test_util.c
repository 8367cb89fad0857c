#include "kernels/kernel_test_util.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <cmocka.h>

#include "kernels/reference/reference.h"

//===- Buffers ------------------------------------------------------------------------------------------------------------------------------------------===//

#define PATTERN_BYTE 0xA5
#define FRONT_BYTES 64  // pattern in front of the data, at least

guarded_t guarded_create(size_t count, size_t element_bytes) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  guarded_t buffer = {.bytes = count * element_bytes};
  size_t usable = (FRONT_BYTES + buffer.bytes + page - 1) / page * page;
  buffer.mapping_bytes = usable + page;
  void* mapping = mmap(NULL, buffer.mapping_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(mapping != MAP_FAILED);
  assert_int_equal(mprotect((uint8_t*)mapping + usable, page, PROT_NONE), 0);
  memset(mapping, PATTERN_BYTE, usable);
  buffer.mapping = mapping;
  buffer.data = buffer.mapping + usable - buffer.bytes;
  buffer.offset = count % 7;
  return buffer;
}

void guarded_release(guarded_t* buffer) {
  if (buffer->mapping) munmap(buffer->mapping, buffer->mapping_bytes);
  memset(buffer, 0, sizeof(*buffer));
}

guarded_t guarded_alias(const guarded_t* buffer) {
  guarded_t alias = *buffer;
  alias.mapping = NULL;
  return alias;
}

// Everything accessible of |buffer|, pattern included, ends where its data ends.
static size_t guarded_accessible_bytes(const guarded_t* buffer) { return (size_t)(buffer->data + buffer->bytes - buffer->mapping); }

void guarded_protect(const guarded_t* buffer) { assert_int_equal(mprotect(buffer->mapping, guarded_accessible_bytes(buffer), PROT_READ), 0); }

//===- Operands -----------------------------------------------------------------------------------------------------------------------------------------===//

uint64_t random_next(random_t* random) {  // splitmix64
  uint64_t z = random->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int32_t random_below(random_t* random, int32_t bound) { return (int32_t)(random_next(random) % (uint64_t)bound); }

static float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// Any sign and fraction, exponent in [low, high].
static float random_magnitude(random_t* random, int low, int high) {
  uint64_t bits = random_next(random);
  float fraction = float_from_bits(0x3f800000u | (uint32_t)(bits & 0x807fffffu));
  return ldexpf(fraction, low + (int)((bits >> 32) % (uint64_t)(high - low + 1)));
}

// Rows of a canceling operand alternate between +a and -a every sixteen elements, apart from the last bits of a.
static float random_canceling(random_t* random, size_t index) {
  uint32_t lane_bits = (uint32_t)(index % 16) * 0x9e3779b9u;
  float value = float_from_bits(0x3f800000u | (lane_bits & 0x7ffff0u) | (uint32_t)random_below(random, 16));
  return index / 16 % 2 ? -value : value;
}

float random_float(random_t* random, operand_style_t style, size_t index) {
  switch (style) {
    case STYLE_PLAIN:
      return random_magnitude(random, -3, 1);
    case STYLE_WIDE:
      return random_below(random, 16) == 0 ? (random_below(random, 2) ? 0.0f : -0.0f) : random_magnitude(random, -20, 20);
    case STYLE_CANCELING:
      return random_canceling(random, index);
    case STYLE_SUBNORMAL:
      return random_below(random, 4) == 0 ? random_magnitude(random, -148, -127) : random_magnitude(random, -80, -60);
    default:
      return random_magnitude(random, 40, random_below(random, 64) ? 62 : 127);
  }
}

size_t format_type_bytes(int32_t type) { return type == MLXCEL_FORMAT_F32 ? 4 : 2; }

static uint16_t f16_toward_zero(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint32_t sign = bits >> 16 & 0x8000u, fraction = (bits & 0x7fffffu) | 0x800000u;
  int exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
  if (exponent >= 31) return (uint16_t)(sign | 0x7bffu);
  if (exponent > 0) return (uint16_t)(sign | (uint32_t)exponent << 10 | (fraction >> 13 & 0x3ffu));
  return (uint16_t)(sign | (exponent < -10 ? 0u : fraction >> (14 - exponent)));
}

void store_typed(uint8_t* data, int32_t type, size_t index, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint16_t half = type == MLXCEL_FORMAT_F16 ? f16_toward_zero(value) : (uint16_t)(bits >> 16);
  if (type == MLXCEL_FORMAT_F32) {
    memcpy(data + 4 * index, &value, sizeof(value));
  } else {
    memcpy(data + 2 * index, &half, sizeof(half));
  }
}

static void typed_fill(random_t* random, operand_style_t style, int32_t type, size_t rows, size_t width, uint8_t* data) {
  for (size_t r = 0; r < rows; ++r)
    for (size_t k = 0; k < width; ++k) store_typed(data, type, r * width + k, random_float(random, style, k));
}

guarded_t typed_create(random_t* random, operand_style_t style, int32_t type, size_t count) {
  guarded_t buffer = guarded_create(count, format_type_bytes(type));
  typed_fill(random, style, type, 1, count, buffer.data);
  guarded_protect(&buffer);
  return buffer;
}

bool test_row_is_inactive(inactive_t inactive, size_t row, size_t rows) {
  switch (inactive) {
    case INACTIVE_END:
      return row >= rows - rows / 3;
    case INACTIVE_MIDDLE:
      return row % 3 == 1;
    case INACTIVE_ALL:
      return true;
    default:
      return false;
  }
}

guarded_t test_positions_create(inactive_t inactive, size_t rows) {
  guarded_t buffer = guarded_create(rows, sizeof(int32_t));
  for (size_t r = 0; r < rows; ++r) guarded_ints(&buffer)[r] = test_row_is_inactive(inactive, r, rows) ? -1 : (int32_t)r;
  guarded_protect(&buffer);
  return buffer;
}

guarded_t test_rows_create(random_t* random, operand_style_t style, const int32_t* positions, size_t rows, size_t width) {
  guarded_t buffer = guarded_create(rows * width, sizeof(float));
  typed_fill(random, style, MLXCEL_FORMAT_F32, rows, width, buffer.data);
  for (size_t i = 0; positions && i < rows * width; ++i) {
    if (positions[i / width] < 0) guarded_floats(&buffer)[i] = NAN;
  }
  guarded_protect(&buffer);
  return buffer;
}

test_matrix_t test_matrix_create(random_t* random, operand_style_t style, int32_t format, int32_t flags, size_t rows, size_t width) {
  test_matrix_t matrix = {.format = format, .flags = flags};
  int32_t bits = MLXCEL_FORMAT_BITS(format), type = MLXCEL_FORMAT_TYPE(format);
  if (bits == 0) {
    matrix.w = guarded_create(rows * width, format_type_bytes(type));
    matrix.w.offset = matrix.w.bytes % 61;  // bytes: elements of the format don't matter to the base pointer
    typed_fill(random, style, type, rows, width, matrix.w.data);
    matrix.s = guarded_alias(&matrix.w);
    matrix.b = guarded_alias(&matrix.w);
  } else {
    matrix.w = guarded_create(rows * width * (size_t)bits / 8, 1);
    for (size_t i = 0; i < matrix.w.bytes; ++i) matrix.w.data[i] = (uint8_t)random_next(random);
    size_t groups_per_row = width >> MLXCEL_FORMAT_GROUP_LOG2(format);
    matrix.s = typed_create(random, style, type, rows * groups_per_row);
    matrix.b = typed_create(random, style, type, rows * groups_per_row);
  }
  guarded_protect(&matrix.w);
  matrix.v = guarded_alias(&matrix.w);
  if (flags & MLXCEL_MATRIX_HAS_BIAS) matrix.v = typed_create(random, style, MLXCEL_MATRIX_BIAS_TYPE(flags), rows);
  return matrix;
}

void test_matrix_release(test_matrix_t* matrix) {
  guarded_release(&matrix->w);
  guarded_release(&matrix->s);
  guarded_release(&matrix->b);
  guarded_release(&matrix->v);
}

int32_t test_format_at(size_t i) {
  static const int32_t bits[] = {2, 3, 4, 5, 6, 8};
  if (i < 3) return MLXCEL_FORMAT(0, 0, (int32_t)i);
  i -= 3;
  return MLXCEL_FORMAT(bits[i / 9], 5 + (int32_t)(i / 3 % 3), (int32_t)(i % 3));
}

int32_t test_format_width_unit(int32_t format) { return MLXCEL_FORMAT_BITS(format) ? 1 << MLXCEL_FORMAT_GROUP_LOG2(format) : 1; }

const char* test_format_name(int32_t format) {
  static char name[32];
  static const char* const types[] = {"f32", "f16", "bf16"};
  if (MLXCEL_FORMAT_BITS(format) == 0) return types[MLXCEL_FORMAT_TYPE(format)];
  snprintf(name, sizeof(name), "%d bits, group %d, %s", MLXCEL_FORMAT_BITS(format), 1 << MLXCEL_FORMAT_GROUP_LOG2(format), types[MLXCEL_FORMAT_TYPE(format)]);
  return name;
}

//===- Comparison ---------------------------------------------------------------------------------------------------------------------------------------===//

#define DECLARE_LINKED(name, arguments) \
  extern void v3_##name(arguments);     \
  extern void v4_##name(arguments);
MLXCEL_KERNELS(DECLARE_LINKED)

const kernel_set_t* kernel_set_reference(void) {
  static const kernel_set_t set = {"reference",
                                   mlxcel_reference_embed,
                                   mlxcel_reference_rms_norm,
                                   mlxcel_reference_qkv_rope,
                                   mlxcel_reference_attention,
                                   mlxcel_reference_matmul,
                                   mlxcel_reference_gate_up};
  return &set;
}

const kernel_set_t* kernel_set_of_level(mlxcel_kernel_level_t level) {
#define V3_NAME(name, arguments) .name = v3_##name,
#define V4_NAME(name, arguments) .name = v4_##name,
  static const kernel_set_t sets[MLXCEL_KERNEL_LEVEL_COUNT] = {{"v3", MLXCEL_KERNELS(V3_NAME)}, {"v4", MLXCEL_KERNELS(V4_NAME)}};
  return &sets[level];
}

int kernel_levels_report(void** state) {
  (void)state;
  for (int level = 0; level < MLXCEL_KERNEL_LEVEL_COUNT; ++level) {
    const char* name = mlxcel_kernel_level_name((mlxcel_kernel_level_t)level);
    if (!mlxcel_kernel_level_runs_here((mlxcel_kernel_level_t)level)) print_message("skipped: kernels for x86-64-%s, which this processor doesn't run\n", name);
  }
  // Without a level that runs, equality would hold of nothing.
  return mlxcel_kernel_level_runs_here(MLXCEL_KERNEL_LEVEL_V3) ? 0 : -1;
}

typedef struct output_copies_t {
  uint8_t* before;    // everything accessible, pattern included
  uint8_t* expected;  // likewise, after the reference
} output_copies_t;

static uint8_t* copy_output(const guarded_t* output) {
  uint8_t* copy = malloc(guarded_accessible_bytes(output));
  assert_non_null(copy);
  return memcpy(copy, output->mapping, guarded_accessible_bytes(output));
}

static void blank_inactive_rows(const kernel_check_t* check, const uint8_t* before) {
  const guarded_t* output = check->outputs[0];
  size_t front = (size_t)(output->data - output->mapping), row_bytes = check->row_floats * sizeof(float);
  for (size_t r = 0; r < check->rows; ++r) {
    if (check->positions[r] < 0) memcpy(output->data + r * row_bytes, before + front + r * row_bytes, row_bytes);
  }
}

static void compare_output(const kernel_check_t* check, const char* set, size_t groups, size_t o, const uint8_t* expected) {
  const guarded_t* output = check->outputs[o];
  size_t total = guarded_accessible_bytes(output), front = total - output->bytes;
  if (memcmp(output->mapping, expected, total) == 0) return;
  if (memcmp(output->mapping, expected, front) != 0) fail_msg("%s: %s wrote in front of output %zu", check->what, set, o);
  int32_t type = output->type;
  for (size_t i = 0; i < output->bytes / format_type_bytes(type); ++i) {
    float got = mlxcel_reference_widen(output->data, type, i), want = mlxcel_reference_widen(expected + front, type, i);
    if (memcmp(&got, &want, sizeof(got)) == 0 || (isnan(got) && isnan(want))) continue;
    fail_msg("%s: %s with %zu workgroups: output %zu element %zu is %a, the reference has %a", check->what, set, groups, o, i, (double)got, (double)want);
  }
}

#define MXCSR_FLUSH_AND_ROUND_UP 0xC040u  // FZ, DAZ, rounding toward +infinity: nothing of it may show in a result

static void run_groups(const kernel_check_t* check, const kernel_set_t* set, size_t groups, bool flush) {
  unsigned usual = _mm_getcsr(), before = flush ? usual | MXCSR_FLUSH_AND_ROUND_UP : usual, after = 0;
  for (size_t i = 0; i < groups; ++i) {
    size_t group = flush ? groups - 1 - i : i;  // in the other order, too
    _mm_setcsr(before);
    check->call(check->arguments, set, group, groups);
    after = _mm_getcsr();
    _mm_setcsr(usual);
    if (after != before) fail_msg("%s: %s left MXCSR 0x%x, it was 0x%x", check->what, set->name, after, before);
  }
}

static void check_set(const kernel_check_t* check, const kernel_set_t* set, const output_copies_t* copies) {
  static const size_t group_counts[] = {1, 2, 3, 7, 16, 211};  // the last is more than the work of most cases
  for (size_t g = 0; g < 2 * sizeof(group_counts) / sizeof(group_counts[0]); ++g) {
    for (size_t o = 0; o < CHECK_OUTPUTS_MAX && check->outputs[o]; ++o) {
      memcpy(check->outputs[o]->mapping, copies[o].before, guarded_accessible_bytes(check->outputs[o]));
    }
    run_groups(check, set, group_counts[g / 2], g % 2);
    blank_inactive_rows(check, copies[0].before);
    for (size_t o = 0; o < CHECK_OUTPUTS_MAX && check->outputs[o]; ++o) compare_output(check, set->name, group_counts[g / 2], o, copies[o].expected);
  }
}

typedef enum result_kind_e { RESULT_NORMAL, RESULT_SUBNORMAL, RESULT_ZERO, RESULT_INFINITE, RESULT_NAN, RESULT_KIND_COUNT } result_kind_t;
static size_t result_counts[RESULT_KIND_COUNT];

static result_kind_t result_kind(float value) {
  switch (fpclassify(value)) {
    case FP_NORMAL:
      return RESULT_NORMAL;
    case FP_SUBNORMAL:
      return RESULT_SUBNORMAL;
    case FP_ZERO:
      return RESULT_ZERO;
    case FP_INFINITE:
      return RESULT_INFINITE;
    default:
      return RESULT_NAN;
  }
}

static void count_results(const guarded_t* output) {
  for (size_t i = 0; i < output->bytes / sizeof(float); ++i) ++result_counts[result_kind(guarded_floats(output)[i])];
}

int kernel_results_report(void** state) {
  (void)state;
  print_message("results compared: %zu normal, %zu subnormal, %zu zero, %zu infinite, %zu NaN\n", result_counts[RESULT_NORMAL], result_counts[RESULT_SUBNORMAL],
                result_counts[RESULT_ZERO], result_counts[RESULT_INFINITE], result_counts[RESULT_NAN]);
  for (int kind = 0; kind < RESULT_KIND_COUNT; ++kind) {
    if (result_counts[kind] == 0) return -1;
  }
  return 0;
}

void kernel_check_run(const kernel_check_t* check) {
  output_copies_t copies[CHECK_OUTPUTS_MAX] = {{0}};
  for (size_t o = 0; o < CHECK_OUTPUTS_MAX && check->outputs[o]; ++o) copies[o].before = copy_output(check->outputs[o]);
  check->call(check->arguments, kernel_set_reference(), 0, 1);
  count_results(check->outputs[0]);
  for (size_t o = 0; o < CHECK_OUTPUTS_MAX && check->outputs[o]; ++o) copies[o].expected = copy_output(check->outputs[o]);
  for (int level = 0; level < MLXCEL_KERNEL_LEVEL_COUNT; ++level) {
    if (!mlxcel_kernel_level_runs_here((mlxcel_kernel_level_t)level)) continue;
    check_set(check, kernel_set_of_level((mlxcel_kernel_level_t)level), copies);
  }
  for (size_t o = 0; o < CHECK_OUTPUTS_MAX && check->outputs[o]; ++o) {
    memcpy(check->outputs[o]->mapping, copies[o].expected, guarded_accessible_bytes(check->outputs[o]));
    free(copies[o].before);
    free(copies[o].expected);
  }
}
