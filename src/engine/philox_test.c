#include "engine/philox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void check_block(const uint32_t counter[4], const uint32_t key[2], const uint32_t expected[4]) {
  uint32_t words[4];
  mlxcel_philox_block(counter, key, words);
  for (int i = 0; i < 4; ++i) assert_int_equal(words[i], expected[i]);
}

// Known answers that the authors published with the generator.
static void philox_gives_the_published_answers(void** state) {
  (void)state;
  check_block((const uint32_t[]){0, 0, 0, 0}, (const uint32_t[]){0, 0}, (const uint32_t[]){0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  check_block((const uint32_t[]){~0u, ~0u, ~0u, ~0u}, (const uint32_t[]){~0u, ~0u}, (const uint32_t[]){0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
  check_block((const uint32_t[]){0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, (const uint32_t[]){0xa4093822u, 0x299f31d0u},
              (const uint32_t[]){0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

static void philox_bits_are_the_first_two_words(void** state) {
  (void)state;
  // Seed, stream and index 0: words 0x6627e8d5, 0xe169c58d of the first known answer.
  assert_true(mlxcel_philox_bits(0, 0, 0) == 0xe169c58d6627e8d5ull);
  // Key and counter of the third: seed in the key, index in the lower half of the counter, stream in the upper.
  assert_true(mlxcel_philox_bits(0x299f31d0a4093822ull, 0x0370734413198a2eull, 0x85a308d3243f6a88ull) == 0x94fdccebd16cfe09ull);
}

static void philox_bits_depend_on_every_half_of_seed_stream_and_index(void** state) {
  (void)state;
  const uint64_t high = 1ull << 32;
  const uint64_t draws[] = {mlxcel_philox_bits(0, 0, 0),    mlxcel_philox_bits(1, 0, 0), mlxcel_philox_bits(high, 0, 0), mlxcel_philox_bits(0, 1, 0),
                            mlxcel_philox_bits(0, high, 0), mlxcel_philox_bits(0, 0, 1), mlxcel_philox_bits(0, 0, high)};
  for (int i = 0; i < 7; ++i) {
    for (int j = i + 1; j < 7; ++j) assert_true(draws[i] != draws[j]);
  }
}

static void philox_bits_are_even(void** state) {
  (void)state;
  enum { kDraws = 100000, kBins = 10 };
  int bins[kBins] = {0};
  for (uint64_t i = 0; i < kDraws; ++i) {
    uint32_t upper = (uint32_t)(mlxcel_philox_bits(42, 7, i) >> 32);
    ++bins[(uint64_t)upper * kBins >> 32];
  }
  // Standard deviation of a bin is 95; 5 of them.
  for (int i = 0; i < kBins; ++i) assert_in_range(bins[i], kDraws / kBins - 475, kDraws / kBins + 475);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_gives_the_published_answers),
      cmocka_unit_test(philox_bits_are_the_first_two_words),
      cmocka_unit_test(philox_bits_depend_on_every_half_of_seed_stream_and_index),
      cmocka_unit_test(philox_bits_are_even),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
