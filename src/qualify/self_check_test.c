// The self-check passes on this build's kernels for every storage, in a fraction of the time that loading may take, and fails on every wrong kernel.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/log.h"
#include "contract/profiles.h"
#include "emit/operation_emitter.h"
#include "qualify/capability.h"
#include "qualify/self_check.h"

#define NO_BIAS MLXCEL_SELF_CHECK_NO_BIAS
#define F32 MLXCEL_FORMAT(0, 0, MLXCEL_FORMAT_F32)
#define Q4 MLXCEL_FORMAT(4, 5, MLXCEL_FORMAT_F16)

static void assert_ok(iree_status_t status) {
  char text[2048] = "";
  if (iree_status_is_ok(status)) return;
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  fail_msg("%s", text);
}

static void assert_fails(iree_status_t status, iree_status_code_t code, const char* part) {
  char text[2048] = "";
  if (!iree_status_is_ok(status)) mlxcel_status_text(status, text, sizeof(text));
  if (iree_status_code(status) != code || !strstr(text, part)) fail_msg("code %d, '%s'; expected code %d and '%s'", iree_status_code(status), text, code, part);
  iree_status_free(status);
}

// --- right kernels -------------------------------------------------------------------------------------------------------------------------

#define FORMAT_COUNT (3 + 6 * 3 * 3)
static int32_t format_at(int i) {
  static const int32_t bits[] = {2, 3, 4, 5, 6, 8};
  if (i < 3) return MLXCEL_FORMAT(0, 0, i);
  i -= 3;
  return MLXCEL_FORMAT(bits[i / 9], 5 + i / 3 % 3, i % 3);
}

static size_t check_all_formats(const mlxcel_kernel_set_t* set) {
  static const mlxcel_kernel_id_t kernels[] = {MLXCEL_KERNEL_EMBED, MLXCEL_KERNEL_MATMUL, MLXCEL_KERNEL_GATE_UP, MLXCEL_KERNEL_QKV_ROPE};
  size_t count = 0;
  for (int f = 0; f < FORMAT_COUNT; ++f) {
    for (size_t k = 0; k < sizeof(kernels) / sizeof(kernels[0]); ++k) {
      for (int32_t bias = NO_BIAS; bias <= MLXCEL_FORMAT_BF16; ++bias, ++count) {
        const mlxcel_self_check_case_t check = {kernels[k], format_at(f), bias, F32};
        assert_ok(mlxcel_self_check_case_run(&check, set));
      }
    }
  }
  for (int32_t type = 0; type < 3; ++type, ++count) {
    const mlxcel_self_check_case_t check = {MLXCEL_KERNEL_RMS_NORM, MLXCEL_FORMAT(0, 0, type), NO_BIAS, F32};
    assert_ok(mlxcel_self_check_case_run(&check, set));
  }
  for (int32_t type = 0; type < 3; ++type, count += 2) {  // of the caches
    const mlxcel_self_check_case_t attention = {MLXCEL_KERNEL_ATTENTION, F32, NO_BIAS, type}, store = {MLXCEL_KERNEL_QKV_ROPE, F32, NO_BIAS, type};
    assert_ok(mlxcel_self_check_case_run(&attention, set));
    assert_ok(mlxcel_self_check_case_run(&store, set));
  }
  return count;
}

static void self_check_passes_on_every_kernel_storage_and_level(void** state) {
  (void)state;
  size_t count = 0;
  for (int level = 0; level < MLXCEL_KERNEL_LEVEL_COUNT; ++level) {
    if (!mlxcel_kernel_level_runs_here((mlxcel_kernel_level_t)level)) continue;
    count += check_all_formats(mlxcel_kernel_set_of_level((mlxcel_kernel_level_t)level));
  }
  print_message("%zu cases\n", count);
  assert_true(count >= 921);
}

static void self_check_leaves_the_floating_point_mode_alone(void** state) {
  (void)state;
  const mlxcel_self_check_case_t check = {MLXCEL_KERNEL_MATMUL, Q4, NO_BIAS, F32};
  unsigned saved = __builtin_ia32_stmxcsr(), odd = saved | 0x2000u;  // rounding toward -infinity
  __builtin_ia32_ldmxcsr(odd);
  iree_status_t status = mlxcel_self_check_case_run(&check, mlxcel_kernel_set_of_level(MLXCEL_KERNEL_LEVEL_V3));
  unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(saved);
  assert_ok(status);
  assert_int_equal(after, odd);
}

// --- wrong kernels -------------------------------------------------------------------------------------------------------------------------

#define PASS(name) name##_base, name##_offset
#define PASS_MATRIX(name) PASS(name##_w), PASS(name##_s), PASS(name##_b), PASS(name##_v)
#define RIGHT (mlxcel_kernel_set_of_level(MLXCEL_KERNEL_LEVEL_V3))

static void embed_first_token(MLXCEL_KERNEL_EMBED_ARGS) {
  static const int32_t zeros[8] = {0};
  (void)tokens_base, (void)tokens_offset;
  RIGHT->mlxcel_pinned_embed(zeros, 0, PASS(positions), PASS_MATRIX(table), PASS(out), rows, width, format, group, groups);
}

static void embed_one_bit(MLXCEL_KERNEL_EMBED_ARGS) {
  RIGHT->mlxcel_pinned_embed(PASS(tokens), PASS(positions), PASS_MATRIX(table), PASS(out), rows, width, format, group, groups);
  float* last = MLXCEL_AT(out) + (size_t)rows * (size_t)width - 1;
  if (group == 0) *last = nextafterf(*last, 2.0f * *last);
  if (group == 1) *last = nextafterf(*last, 2.0f * *last);
}

static void rms_norm_without_epsilon(MLXCEL_KERNEL_RMS_NORM_ARGS) {
  (void)eps;
  RIGHT->mlxcel_pinned_rms_norm(PASS(x), PASS(index), PASS(weight), PASS(out), rows, width, weight_type, gather, 0.0f, group, groups);
}

// x / root in place of x * (1 / root): the same but for the last bit.
static void rms_norm_dividing(MLXCEL_KERNEL_RMS_NORM_ARGS) {
  RIGHT->mlxcel_pinned_rms_norm(PASS(x), PASS(index), PASS(weight), PASS(out), rows, width, weight_type, gather, eps, group, groups);
  for (int32_t r = 0; r < rows && group == groups - 1; ++r) {
    int32_t from = gather ? MLXCEL_AT(index)[r] : r;
    if (from < 0) continue;
    const float* row = MLXCEL_AT(x) + from * width;
    float lanes[16] = {0};
    for (int32_t k = 0; k < width; ++k) lanes[k % 16] = fmaf(row[k], row[k], lanes[k % 16]);
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    float root = sqrtf(lanes[0] / (float)width + eps);
    for (int32_t k = 0; k < width; ++k) {
      MLXCEL_AT(out)[r * width + k] = row[k] / root * mlxcel_dtype_widen((mlxcel_dtype_t)weight_type, MLXCEL_AT(weight), (uint64_t)k);
    }
  }
}

static void qkv_with_swapped_tables(MLXCEL_KERNEL_QKV_ROPE_ARGS) {
  RIGHT->mlxcel_pinned_qkv_rope(PASS(x), PASS_MATRIX(q), PASS_MATRIX(k), PASS_MATRIX(v), PASS(sin), PASS(cos), PASS(slots), PASS(positions), PASS(k_cache),
                                PASS(v_cache), PASS(out), rows, width, heads, kv_heads, head_dim, rope_half, q_format, q_flags, k_format, k_flags, v_format,
                                v_flags, layer, slot_count, context, kv_type, group, groups);
}

static void qkv_into_layer_zero(MLXCEL_KERNEL_QKV_ROPE_ARGS) {
  (void)layer;
  RIGHT->mlxcel_pinned_qkv_rope(PASS(x), PASS_MATRIX(q), PASS_MATRIX(k), PASS_MATRIX(v), PASS(cos), PASS(sin), PASS(slots), PASS(positions), PASS(k_cache),
                                PASS(v_cache), PASS(out), rows, width, heads, kv_heads, head_dim, rope_half, q_format, q_flags, k_format, k_flags, v_format,
                                v_flags, 0, slot_count, context, kv_type, group, groups);
}

static void qkv_with_k_as_v(MLXCEL_KERNEL_QKV_ROPE_ARGS) {
  (void)v_w_base, (void)v_w_offset, (void)v_s_base, (void)v_s_offset, (void)v_b_base, (void)v_b_offset, (void)v_v_base, (void)v_v_offset;
  RIGHT->mlxcel_pinned_qkv_rope(PASS(x), PASS_MATRIX(q), PASS_MATRIX(k), PASS_MATRIX(k), PASS(cos), PASS(sin), PASS(slots), PASS(positions), PASS(k_cache),
                                PASS(v_cache), PASS(out), rows, width, heads, kv_heads, head_dim, rope_half, q_format, q_flags, k_format, k_flags, v_format,
                                v_flags, layer, slot_count, context, kv_type, group, groups);
}

static void attention_of_one_key_less(MLXCEL_KERNEL_ATTENTION_ARGS) {
  int32_t shorter[16];
  for (int32_t r = 0; r < rows; ++r) shorter[r] = MLXCEL_AT(positions)[r] > 0 ? MLXCEL_AT(positions)[r] - 1 : MLXCEL_AT(positions)[r];
  (void)positions_offset;
  RIGHT->mlxcel_pinned_attention(PASS(q), PASS(k_cache), PASS(v_cache), PASS(slots), shorter, 0, PASS(out), rows, heads, kv_heads, head_dim, layer, slot_count,
                                 context, kv_type, scale, group, groups);
}

// q scaled before the dot products in place of the scores after them. (Exact scales wouldn't tell.)
static void attention_scaling_q(MLXCEL_KERNEL_ATTENTION_ARGS) {
  float scaled[16 * 64];
  for (int32_t i = 0; i < rows * heads * head_dim; ++i) scaled[i] = MLXCEL_AT(q)[i] * scale;
  (void)q_offset;
  RIGHT->mlxcel_pinned_attention(scaled, 0, PASS(k_cache), PASS(v_cache), PASS(slots), PASS(positions), PASS(out), rows, heads, kv_heads, head_dim, layer,
                                 slot_count, context, kv_type, 1.0f, group, groups);
}

static void attention_of_the_other_half(MLXCEL_KERNEL_ATTENTION_ARGS) {
  int32_t other = kv_type == MLXCEL_FORMAT_F16 ? MLXCEL_FORMAT_BF16 : MLXCEL_FORMAT_F16;
  RIGHT->mlxcel_pinned_attention(PASS(q), PASS(k_cache), PASS(v_cache), PASS(slots), PASS(positions), PASS(out), rows, heads, kv_heads, head_dim, layer,
                                 slot_count, context, other, scale, group, groups);
}

// The last bit of every stored half cut off: rounded too coarsely.
static void qkv_truncating(MLXCEL_KERNEL_QKV_ROPE_ARGS) {
  RIGHT->mlxcel_pinned_qkv_rope(PASS(x), PASS_MATRIX(q), PASS_MATRIX(k), PASS_MATRIX(v), PASS(cos), PASS(sin), PASS(slots), PASS(positions), PASS(k_cache),
                                PASS(v_cache), PASS(out), rows, width, heads, kv_heads, head_dim, rope_half, q_format, q_flags, k_format, k_flags, v_format,
                                v_flags, layer, slot_count, context, kv_type, group, groups);
  for (int32_t r = 0; r < rows && group + 1 == groups && kv_type != MLXCEL_FORMAT_F32; ++r) {
    int32_t position = MLXCEL_AT(positions)[r];
    if (position < 0) continue;
    int32_t cell = ((layer * slot_count + MLXCEL_AT(slots)[r]) * kv_heads * context + position) * head_dim;
    for (int32_t i = 0; i < 2 * head_dim; i += 2) MLXCEL_AT(v_cache)[2 * cell + i] &= 0xfe;
  }
}

// Wrong in one element, for some numbers of rows alone.
#define MATMUL_WRONG_FOR(name, condition)                                                                                                                   \
  static void name(MLXCEL_KERNEL_MATMUL_ARGS) {                                                                                                             \
    RIGHT->mlxcel_pinned_matmul(PASS(x), PASS_MATRIX(w), PASS(residual), PASS(positions), PASS(out), rows, in_features, out_features, format, flags, group, \
                                groups);                                                                                                                    \
    if ((condition) && group + 1 == groups) MLXCEL_AT(out)[(size_t)rows * (size_t)out_features - 1] += 1.0f;                                                \
  }
MATMUL_WRONG_FOR(matmul_wrong_for_many_rows, rows > 8)
MATMUL_WRONG_FOR(matmul_wrong_for_eight_rows, rows == 8)
MATMUL_WRONG_FOR(matmul_wrong_for_four_rows, rows >= 4 && rows < 8)
MATMUL_WRONG_FOR(matmul_wrong_for_one_row, rows == 1)

// Wrong where sixteen queries or more share their keys.
static void attention_wrong_for_many_rows(MLXCEL_KERNEL_ATTENTION_ARGS) {
  RIGHT->mlxcel_pinned_attention(PASS(q), PASS(k_cache), PASS(v_cache), PASS(slots), PASS(positions), PASS(out), rows, heads, kv_heads, head_dim, layer,
                                 slot_count, context, kv_type, scale, group, groups);
  int32_t queries = 0;
  for (int32_t r = 2; r < rows; ++r) queries += heads / kv_heads * (MLXCEL_AT(slots)[r] == MLXCEL_AT(slots)[2] && MLXCEL_AT(positions)[r] >= 0);
  if (queries >= 16 && group + 1 == groups) MLXCEL_AT(out)[rows * heads * head_dim - 1] += 1.0f;
}

static void matmul_without_flags(MLXCEL_KERNEL_MATMUL_ARGS) {
  (void)flags;
  RIGHT->mlxcel_pinned_matmul(PASS(x), PASS_MATRIX(w), PASS(residual), PASS(positions), PASS(out), rows, in_features, out_features, format, 0, group, groups);
}

// The second workgroup never comes.
static void matmul_of_half(MLXCEL_KERNEL_MATMUL_ARGS) {
  if (group > 0) return;
  RIGHT->mlxcel_pinned_matmul(PASS(x), PASS_MATRIX(w), PASS(residual), PASS(positions), PASS(out), rows, in_features, out_features, format, flags, group,
                              groups);
}

typedef enum order_e { ORDER_SEQUENTIAL, ORDER_UNFUSED, ORDER_EIGHT_LANES, ORDER_WITHOUT_TAIL } order_e;
// Dense f32 matmul in another order than the contract's.
static void matmul_in_order(order_e order, const float* x, const float* w, const int32_t* positions, float* out, int32_t rows, int32_t width, int32_t outputs) {
  int32_t lane_count = order == ORDER_SEQUENTIAL ? 1 : order == ORDER_EIGHT_LANES ? 8 : 16;
  int32_t end = order == ORDER_WITHOUT_TAIL ? width / 16 * 16 : width;
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t n = 0; n < outputs && positions[r] >= 0; ++n) {
      float lanes[16] = {0};
      for (int32_t k = 0; k < end; ++k) {
        float* lane = &lanes[k % lane_count];
        float product = x[r * width + k] * w[n * width + k];
        *lane = order == ORDER_UNFUSED ? *lane + product : fmaf(x[r * width + k], w[n * width + k], *lane);
      }
      for (int32_t half = lane_count / 2; half > 0; half /= 2)
        for (int32_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
      out[r * outputs + n] = lanes[0];
    }
  }
}
#define MATMUL_IN_ORDER(name, order)                                                                                                                          \
  static void name(MLXCEL_KERNEL_MATMUL_ARGS) {                                                                                                               \
    if (format != F32 || flags != 0) {                                                                                                                        \
      RIGHT->mlxcel_pinned_matmul(PASS(x), PASS_MATRIX(w), PASS(residual), PASS(positions), PASS(out), rows, in_features, out_features, format, flags, group, \
                                  groups);                                                                                                                    \
    } else if (group == 0) {                                                                                                                                  \
      unsigned saved = __builtin_ia32_stmxcsr();                                                                                                              \
      __builtin_ia32_ldmxcsr(0x1f80u);                                                                                                                        \
      matmul_in_order(order, MLXCEL_AT(x), (const float*)(const void*)MLXCEL_AT(w_w), MLXCEL_AT(positions), MLXCEL_AT(out), rows, in_features, out_features); \
      __builtin_ia32_ldmxcsr(saved);                                                                                                                          \
    }                                                                                                                                                         \
  }
MATMUL_IN_ORDER(matmul_sequential, ORDER_SEQUENTIAL)
MATMUL_IN_ORDER(matmul_unfused, ORDER_UNFUSED)
MATMUL_IN_ORDER(matmul_eight_lanes, ORDER_EIGHT_LANES)
MATMUL_IN_ORDER(matmul_without_tail, ORDER_WITHOUT_TAIL)

static void gate_up_swapped(MLXCEL_KERNEL_GATE_UP_ARGS) {
  RIGHT->mlxcel_pinned_gate_up(PASS(x), PASS_MATRIX(u), PASS_MATRIX(g), PASS(positions), PASS(out), rows, in_features, out_features, u_format, u_flags,
                               g_format, g_flags, group, groups);
}

typedef struct mutant_t {
  const char* name;
  mlxcel_self_check_case_t check;
  mlxcel_kernel_set_t set;  // the wrong function alone; the others are the right ones
} mutant_t;
#define MUTANT(kernel_id, field, format, bias, function) MUTANT_OF_CACHE(kernel_id, field, format, bias, F32, function)
#define MUTANT_OF_CACHE(kernel_id, field, format, bias, cache, function) \
  {                                                                      \
#function, {kernel_id, format, bias, cache }, { .field = function }  \
  }
static const mutant_t mutants[] = {
    MUTANT(MLXCEL_KERNEL_EMBED, mlxcel_pinned_embed, Q4, NO_BIAS, embed_first_token),
    MUTANT(MLXCEL_KERNEL_EMBED, mlxcel_pinned_embed, F32, NO_BIAS, embed_one_bit),
    MUTANT(MLXCEL_KERNEL_RMS_NORM, mlxcel_pinned_rms_norm, F32, NO_BIAS, rms_norm_without_epsilon),
    MUTANT(MLXCEL_KERNEL_RMS_NORM, mlxcel_pinned_rms_norm, F32, NO_BIAS, rms_norm_dividing),
    MUTANT(MLXCEL_KERNEL_QKV_ROPE, mlxcel_pinned_qkv_rope, Q4, NO_BIAS, qkv_with_swapped_tables),
    MUTANT(MLXCEL_KERNEL_QKV_ROPE, mlxcel_pinned_qkv_rope, Q4, NO_BIAS, qkv_into_layer_zero),
    MUTANT(MLXCEL_KERNEL_QKV_ROPE, mlxcel_pinned_qkv_rope, Q4, NO_BIAS, qkv_with_k_as_v),
    MUTANT(MLXCEL_KERNEL_ATTENTION, mlxcel_pinned_attention, F32, NO_BIAS, attention_of_one_key_less),
    MUTANT(MLXCEL_KERNEL_ATTENTION, mlxcel_pinned_attention, F32, NO_BIAS, attention_scaling_q),
    MUTANT_OF_CACHE(MLXCEL_KERNEL_ATTENTION, mlxcel_pinned_attention, F32, NO_BIAS, MLXCEL_FORMAT_F16, attention_of_the_other_half),
    MUTANT_OF_CACHE(MLXCEL_KERNEL_ATTENTION, mlxcel_pinned_attention, F32, NO_BIAS, MLXCEL_FORMAT_BF16, attention_of_the_other_half),
    MUTANT_OF_CACHE(MLXCEL_KERNEL_QKV_ROPE, mlxcel_pinned_qkv_rope, F32, NO_BIAS, MLXCEL_FORMAT_F16, qkv_truncating),
    MUTANT_OF_CACHE(MLXCEL_KERNEL_QKV_ROPE, mlxcel_pinned_qkv_rope, F32, NO_BIAS, MLXCEL_FORMAT_BF16, qkv_truncating),
    MUTANT(MLXCEL_KERNEL_ATTENTION, mlxcel_pinned_attention, F32, NO_BIAS, attention_wrong_for_many_rows),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, Q4, NO_BIAS, matmul_wrong_for_many_rows),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, Q4, NO_BIAS, matmul_wrong_for_eight_rows),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, Q4, NO_BIAS, matmul_wrong_for_four_rows),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, Q4, NO_BIAS, matmul_wrong_for_one_row),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, Q4, NO_BIAS, matmul_without_flags),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, Q4, MLXCEL_FORMAT_F32, matmul_without_flags),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, Q4, NO_BIAS, matmul_of_half),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, F32, NO_BIAS, matmul_sequential),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, F32, NO_BIAS, matmul_unfused),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, F32, NO_BIAS, matmul_eight_lanes),
    MUTANT(MLXCEL_KERNEL_MATMUL, mlxcel_pinned_matmul, F32, NO_BIAS, matmul_without_tail),
    MUTANT(MLXCEL_KERNEL_GATE_UP, mlxcel_pinned_gate_up, Q4, NO_BIAS, gate_up_swapped),
};

// |wrong| with the right functions where it has none.
static mlxcel_kernel_set_t completed_set(const mlxcel_kernel_set_t* wrong) {
  mlxcel_kernel_set_t set = *RIGHT;
  set.name = "mutant";
#define TAKE_WRONG(kernel, arguments) \
  if (wrong->kernel) set.kernel = wrong->kernel;
  MLXCEL_KERNELS(TAKE_WRONG)
  return set;
}

static void self_check_fails_on_every_wrong_kernel_and_names_it(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof(mutants) / sizeof(mutants[0]); ++i) {
    mlxcel_kernel_set_t set = completed_set(&mutants[i].set);
    iree_status_t status = mlxcel_self_check_case_run(&mutants[i].check, &set);
    if (iree_status_is_ok(status)) fail_msg("%s was not noticed", mutants[i].name);
    assert_fails(status, IREE_STATUS_INTERNAL, mlxcel_kernel_info(mutants[i].check.kernel)->symbol);
  }
  print_message("%zu mutants caught\n", sizeof(mutants) / sizeof(mutants[0]));
}

// The reference as candidate: the right order, but under the mode of the caller, which flushes subnormals.
static void self_check_fails_on_kernels_that_flush_subnormals(void** state) {
  (void)state;
  static const mlxcel_kernel_id_t kernels[] = {MLXCEL_KERNEL_RMS_NORM, MLXCEL_KERNEL_QKV_ROPE, MLXCEL_KERNEL_ATTENTION, MLXCEL_KERNEL_MATMUL,
                                               MLXCEL_KERNEL_GATE_UP};
  for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); ++i) {
    const mlxcel_self_check_case_t check = {kernels[i], F32, NO_BIAS, F32};
    assert_fails(mlxcel_self_check_case_run(&check, mlxcel_kernel_set_reference()), IREE_STATUS_INTERNAL, mlxcel_kernel_info(kernels[i])->symbol);
  }
}

// --- storage names -------------------------------------------------------------------------------------------------------------------------

static void self_check_reads_storage_as_clauses_name_it(void** state) {
  (void)state;
  static const struct {
    const char* text;
    int32_t format, bias;
  } cases[] = {
      {"none", F32, NO_BIAS},
      {"f32", F32, NO_BIAS},
      {"bf16", MLXCEL_FORMAT(0, 0, 2), NO_BIAS},
      {"f16+bias-f32", MLXCEL_FORMAT(0, 0, 1), 0},
      {"affine-u4-g32-f16", Q4, NO_BIAS},
      {"affine-u8-g128-bf16+bias-f16", MLXCEL_FORMAT(8, 7, 2), 1},
  };
  int32_t format = 0, bias = 0;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    assert_true(mlxcel_self_check_source_parse(cases[i].text, &format, &bias));
    assert_int_equal(format, cases[i].format);
    assert_int_equal(bias, cases[i].bias);
  }
  static const char* const wrong[] = {"",
                                      "f64",
                                      "f32 ",
                                      "affine-u4-g32",
                                      "affine-u7-g32-f16",
                                      "affine-u4-g48-f16",
                                      "affine-u4-g256-f16",
                                      "f32+bias-",
                                      "f32+bias-f32+",
                                      "affine-u4444444444444-g32-f16",
                                      "affine-u-g32-f16",
                                      "None"};
  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); ++i) {
    if (mlxcel_self_check_source_parse(wrong[i], &format, &bias)) fail_msg("'%s' was taken for a storage", wrong[i]);
  }
}

// --- contracts -----------------------------------------------------------------------------------------------------------------------------

// The clauses of a quantized Llama: every kernel, two storages of matrices, a KV cache of |cache|.
static char* model_contract_of(const char* profile_name, mlxcel_dtype_t cache) {
  const mlxcel_operation_t base = {.rows = 1,
                                   .in_features = 64,
                                   .out_features = 64,
                                   .heads = 2,
                                   .kv_heads = 1,
                                   .head_dim = 32,
                                   .keys = 8,
                                   .rope_dims = 32,
                                   .epsilon = 1e-5f,
                                   .scale = 1.0f,
                                   .rope_base = 1e4f};
  mlxcel_contract_t contract;
  mlxcel_contract_initialize(profile_name, &contract);
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(profile_name));
  assert_non_null(profile);
  static const struct {
    mlxcel_op_class_t op;
    mlxcel_op_variant_t variant;
    mlxcel_composition_t within;
    uint32_t bits, group;
    mlxcel_dtype_t weight;
  } rows[] = {
      {MLXCEL_OP_EMBEDDING, MLXCEL_VARIANT_NONE, MLXCEL_WITHIN_NONE, 8, 32, MLXCEL_DTYPE_F32},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_NONE, MLXCEL_WITHIN_NONE, 8, 32, MLXCEL_DTYPE_F32},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_NONE, MLXCEL_WITHIN_NONE, 4, 32, MLXCEL_DTYPE_F16},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_NONE, MLXCEL_WITHIN_ACTIVATION_PROJECTION, 4, 32, MLXCEL_DTYPE_F16},
      {MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_NONE, MLXCEL_WITHIN_QKV_ROPE, 4, 32, MLXCEL_DTYPE_F16},
      {MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, MLXCEL_WITHIN_NONE, 0, 0, MLXCEL_DTYPE_F32},
      {MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, MLXCEL_WITHIN_NONE, 0, 0, MLXCEL_DTYPE_F32},
      {MLXCEL_OP_SILU_GATE, MLXCEL_VARIANT_SILU, MLXCEL_WITHIN_NONE, 0, 0, MLXCEL_DTYPE_F32},
      {MLXCEL_OP_ROPE, MLXCEL_VARIANT_HALF, MLXCEL_WITHIN_NONE, 0, 0, MLXCEL_DTYPE_F32},
      {MLXCEL_OP_KV_STORE, MLXCEL_VARIANT_NONE, MLXCEL_WITHIN_NONE, 0, 0, MLXCEL_DTYPE_F32},
      {MLXCEL_OP_ATTENTION, MLXCEL_VARIANT_MASK_CAUSAL, MLXCEL_WITHIN_NONE, 0, 0, MLXCEL_DTYPE_F32},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    mlxcel_operation_t operation = base;
    operation.op = rows[i].op;
    operation.variant = rows[i].variant;
    operation.within = rows[i].within;
    operation.bits = rows[i].bits;
    operation.group_size = rows[i].group;
    operation.weight_dtype = rows[i].weight;
    operation.cache_dtype = rows[i].op == MLXCEL_OP_KV_STORE || rows[i].op == MLXCEL_OP_ATTENTION ? cache : MLXCEL_DTYPE_F32;
    mlxcel_clause_storage_t storage;
    assert_ok(mlxcel_emit_clause_of(profile, &operation, &storage));
    assert_ok(mlxcel_contract_add(&contract, &storage.clause));
  }
  char* text = NULL;
  mlxcel_sha256_hex_t fingerprint;
  assert_ok(mlxcel_contract_finish(&contract, &text, &fingerprint));
  mlxcel_contract_deinitialize(&contract);
  return text;
}

static char* model_contract(const char* profile_name) { return model_contract_of(profile_name, MLXCEL_DTYPE_F32); }

static double cpu_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIME_LIMIT_MS 2000.0  // not what is promised: the sanitizers' cost
#else
#define TIME_LIMIT_MS 50.0
#endif

static void self_check_of_a_model_takes_less_than_its_limit(void** state) {
  (void)state;
  char* text = model_contract(MLXCEL_PROFILE_PINNED_F32);
  for (int level = 0; level < MLXCEL_KERNEL_LEVEL_COUNT; ++level) {
    const char* name = mlxcel_kernel_level_name((mlxcel_kernel_level_t)level);
    if (!mlxcel_kernel_level_runs_here((mlxcel_kernel_level_t)level)) continue;
    double start = cpu_milliseconds();
    assert_ok(mlxcel_self_check_run(iree_make_cstring_view(text), name));
    double elapsed = cpu_milliseconds() - start;
    print_message("%s: %.2f ms\n", name, elapsed);
    assert_true(elapsed < TIME_LIMIT_MS);
  }
  free(text);
}

static void self_check_of_a_model_reaches_every_kernel_it_names(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof(mutants) / sizeof(mutants[0]); ++i) {
    char* text = model_contract_of(MLXCEL_PROFILE_PINNED_F32, (mlxcel_dtype_t)mutants[i].check.cache_type);
    assert_ok(mlxcel_self_check_run_set(iree_make_cstring_view(text), RIGHT));
    mlxcel_kernel_set_t set = completed_set(&mutants[i].set);
    assert_fails(mlxcel_self_check_run_set(iree_make_cstring_view(text), &set), IREE_STATUS_INTERNAL, mlxcel_kernel_info(mutants[i].check.kernel)->symbol);
    free(text);
  }
}

// |text| with the first |from| replaced.
static char* replaced(const char* text, const char* from, const char* to) {
  const char* at = strstr(text, from);
  assert_non_null(at);
  size_t capacity = strlen(text) + strlen(to) + 1;
  char* changed = malloc(capacity);
  assert_non_null(changed);
  snprintf(changed, capacity, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  return changed;
}

static void self_check_refuses_what_it_has_no_reference_for(void** state) {
  (void)state;
  char* text = model_contract(MLXCEL_PROFILE_PINNED_F32);
  char* other = replaced(text, "profile=pinned-f32", "profile=mlx-cpu-0.32.4");
  assert_fails(mlxcel_self_check_run_set(iree_make_cstring_view(other), RIGHT), IREE_STATUS_INVALID_ARGUMENT, "no scalar reference");
  free(other);
  other = replaced(text, "algorithm=mlxcel_pinned_attention", "algorithm=mlxcel_mlx_attention");
  assert_fails(mlxcel_self_check_run_set(iree_make_cstring_view(other), RIGHT), IREE_STATUS_INTERNAL, "no pinned kernel");
  free(other);
  assert_fails(mlxcel_self_check_run(iree_make_cstring_view(text), "v5"), IREE_STATUS_INVALID_ARGUMENT, "v5");
  assert_fails(mlxcel_self_check_run(iree_make_cstring_view("mlxcel_contract=1\n"), "v3"), IREE_STATUS_FAILED_PRECONDITION, "version");
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(self_check_passes_on_every_kernel_storage_and_level), cmocka_unit_test(self_check_leaves_the_floating_point_mode_alone),
      cmocka_unit_test(self_check_fails_on_every_wrong_kernel_and_names_it), cmocka_unit_test(self_check_fails_on_kernels_that_flush_subnormals),
      cmocka_unit_test(self_check_reads_storage_as_clauses_name_it),         cmocka_unit_test(self_check_of_a_model_takes_less_than_its_limit),
      cmocka_unit_test(self_check_of_a_model_reaches_every_kernel_it_names), cmocka_unit_test(self_check_refuses_what_it_has_no_reference_for),
  };
  return cmocka_run_group_tests_name("qualify_self_check", tests, NULL, NULL);
}
