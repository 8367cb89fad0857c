#include "runtime/rope_table.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
enum { kWidthMax = 64 };

static const long double kTwoPi = 6.283185307179586476925286766559005768L;

// The definitions of Hugging Face's rope_utils over, in extended precision and in their own words: llama3 by wavelengths.
static long double expected_frequency(const mlxcel_rope_config_t* config, uint32_t width, uint32_t i) {
  long double frequency = 1.0L / powl((long double)config->theta, (long double)i / (long double)width);
  if (config->kind == MLXCEL_ROPE_LINEAR) return frequency / (long double)config->factor;
  if (config->kind == MLXCEL_ROPE_DEFAULT) return frequency;
  long double factor = (long double)config->factor, original = (long double)config->original_max_position_embeddings;
  long double turns = original * frequency / kTwoPi;  // of the original context
  if (turns > (long double)config->high_freq_factor) return frequency;
  if (turns < (long double)config->low_freq_factor) return frequency / factor;
  long double share = (turns - (long double)config->low_freq_factor) / ((long double)config->high_freq_factor - (long double)config->low_freq_factor);
  return frequency * (share + (1.0L - share) / factor);
}

// Relative, of a frequency in double: the exponent's rounding times ln(theta), a few operations, and the difference (turns - low), whose rounding weighs up to
// |factor| beside a small result.
static long double frequency_bound(const mlxcel_rope_config_t* config) {
  return 0x1p-52L * (logl((long double)config->theta) + 8.0L + (long double)config->factor);
}

static const mlxcel_rope_config_t configs[] = {
    {.kind = MLXCEL_ROPE_DEFAULT, .theta = 10000.0},
    {.kind = MLXCEL_ROPE_DEFAULT, .theta = 1000000.0},
    {.kind = MLXCEL_ROPE_LINEAR, .theta = 10000.0, .factor = 2.5},
    {.kind = MLXCEL_ROPE_LLAMA3, .theta = 500000.0, .factor = 8.0, .low_freq_factor = 1.0, .high_freq_factor = 4.0, .original_max_position_embeddings = 8192},
    {.kind = MLXCEL_ROPE_LLAMA3, .theta = 500000.0, .factor = 32.0, .low_freq_factor = 1.0, .high_freq_factor = 4.0, .original_max_position_embeddings = 8192},
    {.kind = MLXCEL_ROPE_LLAMA3, .theta = 10000.0, .factor = 3.0, .low_freq_factor = 0.5, .high_freq_factor = 7.0, .original_max_position_embeddings = 64},
};
static const uint32_t widths[] = {1, 4, 24, 32, 64};

static void runtime_rope_frequencies_follow_the_definitions(void** state) {
  (void)state;
  double frequencies[kWidthMax];
  for (size_t c = 0; c < COUNT_OF(configs); ++c) {
    for (size_t w = 0; w < COUNT_OF(widths); ++w) {
      mlxcel_rope_frequencies(&configs[c], widths[w], frequencies);
      for (uint32_t i = 0; i < widths[w]; ++i) {
        long double expected = expected_frequency(&configs[c], widths[w], i);
        if (fabsl((long double)frequencies[i] - expected) > expected * frequency_bound(&configs[c])) {
          fail_msg("config %zu, width %u, pair %u: %.17g, expected %.17Lg", c, widths[w], i, frequencies[i], expected);
        }
      }
    }
  }
}

// Values computed in decimal arithmetic of 50 digits: head_dim 128 of Llama 3.1, on both sides of both bounds.
static void runtime_rope_llama3_frequencies_are_the_known_ones(void** state) {
  (void)state;
  static const struct {
    uint32_t i;
    double plain, scaled;
  } rows[] = {
      {0, 1.0, 1.0},
      {1, 8.14617233856544720183e-01, 8.14617233856544720183e-01},
      {28, 3.21144599475259090102e-03, 3.21144599475259090102e-03},
      {29, 2.61609925292503528449e-03, 2.16657076350335866741e-03},
      {30, 2.13111953691196530369e-03, 1.37189356776113813123e-03},
      {35, 7.64496988317174661250e-04, 9.55621235396468326562e-05},
      {63, 2.45514079113160886653e-06, 3.06892598891451108316e-07},
  };
  double plain[64], scaled[64];
  mlxcel_rope_config_t config = configs[3];
  mlxcel_rope_frequencies(&config, 64, scaled);
  config.kind = MLXCEL_ROPE_DEFAULT;
  mlxcel_rope_frequencies(&config, 64, plain);
  for (size_t i = 0; i < COUNT_OF(rows); ++i) {
    assert_true(fabs(plain[rows[i].i] - rows[i].plain) <= rows[i].plain * 1e-14);
    assert_true(fabs(scaled[rows[i].i] - rows[i].scaled) <= rows[i].scaled * 1e-14);
  }
}

// Also at positions where single precision, and the compiler's own sine, have no digit left.
static void runtime_rope_rows_are_right_at_large_positions(void** state) {
  (void)state;
  static const uint32_t positions[] = {0, 1, 2, 63, 1000, 8191, 65535, 131071, 1000003};
  enum { kWidth = 16 };
  size_t rows = (size_t)positions[COUNT_OF(positions) - 1] + 1;
  float* cos_table = calloc(rows * kWidth, sizeof(float));
  float* sin_table = calloc(rows * kWidth, sizeof(float));
  assert_non_null(cos_table);
  assert_non_null(sin_table);
  double frequencies[kWidth];
  for (size_t c = 0; c < COUNT_OF(configs); ++c) {
    mlxcel_rope_frequencies(&configs[c], kWidth, frequencies);
    for (size_t p = 0; p < COUNT_OF(positions); ++p) {
      mlxcel_rope_rows(frequencies, kWidth, positions[p], positions[p] + 1, cos_table, sin_table);
      for (uint32_t i = 0; i < kWidth; ++i) {
        long double angle = (long double)positions[p] * expected_frequency(&configs[c], kWidth, i);
        // One rounding to f32 (2^-25 below 1; the double's own is far below), and an angle that is off by its rounding and by its frequency's.
        long double bound = 0x1.02p-25L + angle * (0x1p-53L + frequency_bound(&configs[c]));
        size_t at = (size_t)positions[p] * kWidth + i;
        assert_true(fabsl((long double)cos_table[at] - cosl(angle)) <= bound);
        assert_true(fabsl((long double)sin_table[at] - sinl(angle)) <= bound);
      }
    }
  }
  free(cos_table);
  free(sin_table);
}

static void runtime_rope_position_zero_rotates_nothing(void** state) {
  (void)state;
  double frequencies[4];
  float cos_table[4], sin_table[4];
  mlxcel_rope_frequencies(&configs[3], 4, frequencies);
  mlxcel_rope_rows(frequencies, 4, 0, 1, cos_table, sin_table);
  for (int i = 0; i < 4; ++i) assert_true(cos_table[i] == 1.0f && sin_table[i] == 0.0f && !signbit(sin_table[i]));
}

// A factor of 4 is exact: position 4p of the scaled model is position p of the plain one.
static void runtime_rope_linear_scaling_divides_positions(void** state) {
  (void)state;
  enum { kWidth = 8, kRows = 50 };
  const mlxcel_rope_config_t scaled = {.kind = MLXCEL_ROPE_LINEAR, .theta = 10000.0, .factor = 4.0};
  double plain_frequencies[kWidth], scaled_frequencies[kWidth];
  mlxcel_rope_frequencies(&configs[0], kWidth, plain_frequencies);
  mlxcel_rope_frequencies(&scaled, kWidth, scaled_frequencies);
  static float plain[2][kRows * kWidth], wide[2][4 * kRows * kWidth];
  mlxcel_rope_rows(plain_frequencies, kWidth, 0, kRows, plain[0], plain[1]);
  mlxcel_rope_rows(scaled_frequencies, kWidth, 0, 4 * kRows, wide[0], wide[1]);
  for (int t = 0; t < 2; ++t) {
    for (size_t p = 0; p < kRows; ++p) assert_memory_equal(&plain[t][p * kWidth], &wide[t][4 * p * kWidth], kWidth * sizeof(float));
  }
}

// Tables grow while a text does: pieces give the bits of one pass and touch nothing else.
static void runtime_rope_rows_can_be_filled_in_pieces(void** state) {
  (void)state;
  enum { kWidth = 6, kRows = 20, kFilled = 13 };
  double frequencies[kWidth];
  mlxcel_rope_frequencies(&configs[5], kWidth, frequencies);
  float whole[2][kRows * kWidth], pieces[2][kRows * kWidth];
  memset(whole, 0x5a, sizeof(whole));
  memset(pieces, 0x5a, sizeof(pieces));
  mlxcel_rope_rows(frequencies, kWidth, 0, kFilled, whole[0], whole[1]);
  static const uint32_t ends[] = {1, 1, 5, 12, kFilled};
  uint32_t begin = 0;
  for (size_t i = 0; i < COUNT_OF(ends); begin = ends[i++]) mlxcel_rope_rows(frequencies, kWidth, begin, ends[i], pieces[0], pieces[1]);
  assert_memory_equal(whole, pieces, sizeof(whole));
  unsigned char untouched[kRows * kWidth * sizeof(float)];
  memset(untouched, 0x5a, sizeof(untouched));
  for (int t = 0; t < 2; ++t) assert_memory_equal(&pieces[t][kFilled * kWidth], untouched, sizeof(pieces[t]) - kFilled * kWidth * sizeof(float));
  memset(pieces, 0x5a, sizeof(pieces));
  mlxcel_rope_rows(frequencies, kWidth, 5, kFilled, pieces[0], pieces[1]);
  for (int t = 0; t < 2; ++t) {
    assert_memory_equal(pieces[t], untouched, 5 * kWidth * sizeof(float));
    assert_memory_equal(&pieces[t][5 * kWidth], &whole[t][5 * kWidth], (kFilled - 5) * kWidth * sizeof(float));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runtime_rope_frequencies_follow_the_definitions), cmocka_unit_test(runtime_rope_llama3_frequencies_are_the_known_ones),
      cmocka_unit_test(runtime_rope_rows_are_right_at_large_positions),  cmocka_unit_test(runtime_rope_position_zero_rotates_nothing),
      cmocka_unit_test(runtime_rope_linear_scaling_divides_positions),   cmocka_unit_test(runtime_rope_rows_can_be_filled_in_pieces),
  };
  return cmocka_run_group_tests_name("rope_table", tests, NULL, NULL);
}
