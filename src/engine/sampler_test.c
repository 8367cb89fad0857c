#include "engine/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/philox.h"

enum { kVocabMax = 64 };

static mlxcel_sampling_t sampling_with_temperature(float temperature) {
  mlxcel_sampling_t sampling;
  mlxcel_sampling_initialize(&sampling);
  sampling.temperature = temperature;
  return sampling;
}

static mlxcel_sampler_t* open_sampler(const mlxcel_sampling_t* sampling, uint32_t vocab_size) {
  mlxcel_sampler_t* sampler = NULL;
  iree_status_t status = mlxcel_sampler_create(sampling, vocab_size, &sampler);
  assert_true(iree_status_is_ok(status));
  assert_non_null(sampler);
  return sampler;
}

static int32_t sample(mlxcel_sampler_t* sampler, const float* logits) {
  int32_t token = -1;
  assert_true(iree_status_is_ok(mlxcel_sampler_sample(sampler, logits, 0, &token)));
  return token;
}

// A sampler that has seen |prompt| and |generated|, and what it then chooses.
static int32_t sample_after(const mlxcel_sampling_t* sampling, const float* logits, uint32_t vocab_size, const int32_t* prompt, size_t prompt_count,
                            const int32_t* generated, size_t generated_count) {
  mlxcel_sampler_t* sampler = open_sampler(sampling, vocab_size);
  mlxcel_sampler_observe_prompt(sampler, prompt, prompt_count);
  for (size_t i = 0; i < generated_count; ++i) mlxcel_sampler_observe_generated(sampler, generated[i]);
  int32_t token = sample(sampler, logits);
  mlxcel_sampler_release(sampler);
  return token;
}

static int32_t sample_once(const mlxcel_sampling_t* sampling, const float* logits, uint32_t vocab_size) {
  return sample_after(sampling, logits, vocab_size, NULL, 0, NULL, 0);
}

// Draws of one sampler, counted by token.
static void count_draws(const mlxcel_sampling_t* sampling, const float* logits, uint32_t vocab_size, int draws, int counts[kVocabMax]) {
  memset(counts, 0, kVocabMax * sizeof(counts[0]));
  mlxcel_sampler_t* sampler = open_sampler(sampling, vocab_size);
  for (int i = 0; i < draws; ++i) ++counts[sample(sampler, logits)];
  mlxcel_sampler_release(sampler);
}

// |count| of |draws| is within 5 standard deviations of probability |p|.
static void check_share(int count, int draws, double p) {
  double deviation = sqrt((double)draws * p * (1.0 - p));
  assert_true(fabs((double)count - (double)draws * p) <= 5.0 * deviation + 1.0);
}

static float log_of(double p) { return (float)log(p); }

enum { kDraws = 20000 };

// --- greedy ------------------------------------------------------------------------------------------------------------------------------
static void sampler_greedy_takes_the_largest(void** state) {
  (void)state;
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  const float logits[] = {-3.0f, 1.5f, 9.25f, 9.0f, -INFINITY};
  assert_int_equal(sample_once(&sampling, logits, 5), 2);
}

static void sampler_greedy_tie_goes_to_the_lowest_id(void** state) {
  (void)state;
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  const float logits[] = {1.0f, 7.0f, 7.0f, 7.0f};
  assert_int_equal(sample_once(&sampling, logits, 4), 1);
  const float zeros[] = {-0.0f, 0.0f, -0.0f};
  assert_int_equal(sample_once(&sampling, zeros, 3), 0);
  // The same with a scratch row in between.
  const mlxcel_logit_bias_t bias[] = {{.token = 3, .bias = 6.0f}};
  sampling.logit_bias = bias;
  sampling.logit_bias_count = 1;
  const float tied_by_bias[] = {1.0f, 7.0f, 7.0f, 1.0f};
  assert_int_equal(sample_once(&sampling, tied_by_bias, 4), 1);
}

static void sampler_greedy_ignores_seed_top_k_top_p_and_min_p(void** state) {
  (void)state;
  const float logits[] = {0.0f, 0.5f, 0.25f};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
    sampling.seed = seed;
    sampling.top_k = 3;
    sampling.top_p = 0.9f;
    sampling.min_p = 0.1f;
    assert_int_equal(sample_once(&sampling, logits, 3), 1);
  }
}

// --- distribution ------------------------------------------------------------------------------------------------------------------------
static void sampler_draws_follow_the_softmax(void** state) {
  (void)state;
  const double p[] = {0.05, 0.5, 0.15, 0.3};
  const float logits[] = {log_of(p[0]) + 3.0f, log_of(p[1]) + 3.0f, log_of(p[2]) + 3.0f, log_of(p[3]) + 3.0f};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  int counts[kVocabMax];
  count_draws(&sampling, logits, 4, kDraws, counts);
  for (int i = 0; i < 4; ++i) check_share(counts[i], kDraws, p[i]);
}

static void sampler_temperature_sharpens_and_flattens(void** state) {
  (void)state;
  const float logits[] = {0.0f, 1.0f};
  const float temperatures[] = {0.25f, 0.5f, 2.0f, 100.0f};
  for (size_t i = 0; i < 4; ++i) {
    mlxcel_sampling_t sampling = sampling_with_temperature(temperatures[i]);
    int counts[kVocabMax];
    count_draws(&sampling, logits, 2, kDraws, counts);
    check_share(counts[1], kDraws, 1.0 / (1.0 + exp(-1.0 / (double)temperatures[i])));
  }
}

static void sampler_tiny_temperature_is_the_argmax(void** state) {
  (void)state;
  const float logits[] = {-3e38f, 1.0f, 1.0000001f, 3e38f, 2.99999e38f};
  mlxcel_sampling_t sampling = sampling_with_temperature(1e-45f);
  int counts[kVocabMax];
  count_draws(&sampling, logits, 5, 200, counts);
  assert_int_equal(counts[3], 200);
}

static void sampler_huge_spread_of_logits_stays_finite(void** state) {
  (void)state;
  const float logits[] = {3.4e38f, -3.4e38f, 3.4e38f};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  int counts[kVocabMax];
  count_draws(&sampling, logits, 3, 2000, counts);
  assert_int_equal(counts[1], 0);
  check_share(counts[0], 2000, 0.5);
}

static void sampler_never_draws_a_token_without_mass(void** state) {
  (void)state;
  const float logits[] = {-INFINITY, 0.0f, -27.9f, -900.0f, -28.1f};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  int counts[kVocabMax];
  count_draws(&sampling, logits, 5, 2000, counts);
  assert_int_equal(counts[1], 2000);
}

// --- seeds -------------------------------------------------------------------------------------------------------------------------------
static void draw_tokens(uint64_t seed, uint32_t choice, int32_t tokens[32]) {
  float logits[kVocabMax] = {0};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.seed = seed;
  sampling.choice = choice;
  mlxcel_sampler_t* sampler = open_sampler(&sampling, kVocabMax);
  for (int i = 0; i < 32; ++i) tokens[i] = sample(sampler, logits);
  mlxcel_sampler_release(sampler);
}

static void sampler_seed_and_choice_fix_every_draw(void** state) {
  (void)state;
  int32_t first[32], again[32], other_seed[32], other_choice[32], high_seed[32];
  draw_tokens(42, 0, first);
  draw_tokens(42, 0, again);
  draw_tokens(43, 0, other_seed);
  draw_tokens(42, 1, other_choice);
  draw_tokens(42 | (1ull << 40), 0, high_seed);
  assert_memory_equal(first, again, sizeof(first));
  assert_memory_not_equal(first, other_seed, sizeof(first));
  assert_memory_not_equal(first, other_choice, sizeof(first));
  assert_memory_not_equal(first, high_seed, sizeof(first));
}

// Over 64 equal logits a draw is the upper 6 bits: this pins seed, stream and numbering of draws.
static void sampler_draw_number_n_uses_bits_number_n(void** state) {
  (void)state;
  int32_t tokens[32];
  draw_tokens(7, 3, tokens);
  for (uint64_t i = 0; i < 32; ++i) assert_int_equal(tokens[i], (int32_t)(mlxcel_philox_bits(7, 3, i) >> 58));
}

// --- top-k -------------------------------------------------------------------------------------------------------------------------------
static void sampler_top_k_keeps_the_k_largest(void** state) {
  (void)state;
  const float logits[] = {0.1f, 0.4f, 0.2f, 0.5f, 0.3f};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.top_k = 3;
  int counts[kVocabMax];
  count_draws(&sampling, logits, 5, 2000, counts);
  assert_int_equal(counts[0] + counts[2], 0);
  assert_true(counts[1] > 0 && counts[3] > 0 && counts[4] > 0);
}

static void sampler_top_k_tie_goes_to_the_lowest_ids(void** state) {
  (void)state;
  const float logits[] = {0.0f, 1.0f, 1.0f, 2.0f, 1.0f, 1.0f};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.top_k = 3;
  int counts[kVocabMax];
  count_draws(&sampling, logits, 6, 2000, counts);
  assert_int_equal(counts[0] + counts[4] + counts[5], 0);
  assert_true(counts[1] > 0 && counts[2] > 0 && counts[3] > 0);
}

static void sampler_top_k_of_one_is_the_argmax(void** state) {
  (void)state;
  const float logits[] = {1.0f, 1.5f, 1.5f, 1.25f};
  mlxcel_sampling_t sampling = sampling_with_temperature(5.0f);
  sampling.top_k = 1;
  int counts[kVocabMax];
  count_draws(&sampling, logits, 4, 500, counts);
  assert_int_equal(counts[1], 500);
}

static void sampler_top_k_of_the_vocabulary_or_more_is_off(void** state) {
  (void)state;
  float logits[kVocabMax];
  for (int i = 0; i < kVocabMax; ++i) logits[i] = (float)(i * 37 % 64) * 0.02f;
  int off[kVocabMax], all[kVocabMax], more[kVocabMax], most[kVocabMax];
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  count_draws(&sampling, logits, kVocabMax, 3000, off);
  sampling.top_k = kVocabMax;
  count_draws(&sampling, logits, kVocabMax, 3000, all);
  sampling.top_k = INT32_MAX;
  count_draws(&sampling, logits, kVocabMax, 3000, more);
  sampling.top_k = kVocabMax - 1;  // drops token 0, the smallest
  count_draws(&sampling, logits, kVocabMax, 3000, most);
  assert_memory_equal(off, all, sizeof(off));
  assert_memory_equal(off, more, sizeof(off));
  assert_true(off[0] > 0);
  assert_int_equal(most[0], 0);
}

static void sampler_top_k_over_fewer_possible_tokens_keeps_those(void** state) {
  (void)state;
  const float logits[] = {-INFINITY, 1.0f, -INFINITY, 1.0f, -INFINITY};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.top_k = 4;
  int counts[kVocabMax];
  count_draws(&sampling, logits, 5, 1000, counts);
  check_share(counts[1], 1000, 0.5);
  assert_int_equal(counts[1] + counts[3], 1000);
}

// --- top-p -------------------------------------------------------------------------------------------------------------------------------
// Which tokens can be drawn, as bits.
static unsigned find_support(const mlxcel_sampling_t* sampling, const float* logits, uint32_t vocab_size) {
  int counts[kVocabMax];
  count_draws(sampling, logits, vocab_size, 4000, counts);
  unsigned support = 0;
  for (uint32_t i = 0; i < vocab_size; ++i) support |= counts[i] > 0 ? 1u << i : 0u;
  return support;
}

static void sampler_top_p_keeps_the_shortest_run_that_reaches_p(void** state) {
  (void)state;
  const float logits[] = {log_of(0.1), log_of(0.4), log_of(0.2), log_of(0.3)};
  const struct {
    float top_p;
    unsigned support;
  } cases[] = {{0.0f, 2u},   {1e-6f, 2u}, {0.39f, 2u}, {0.41f, 2u | 8u}, {0.69f, 2u | 8u}, {0.71f, 2u | 8u | 4u}, {0.89f, 2u | 8u | 4u},
               {0.91f, 15u}, {1.0f, 15u}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
    sampling.top_p = cases[i].top_p;
    assert_int_equal(find_support(&sampling, logits, 4), cases[i].support);
  }
}

static void sampler_top_p_reached_exactly_stops_there(void** state) {
  (void)state;
  const float logits[] = {0.0f, 0.0f, 0.0f, 0.0f};  // masses are exactly 1, 1, 1, 1
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.top_p = 0.5f;
  assert_int_equal(find_support(&sampling, logits, 4), 3u);
  sampling.top_p = nextafterf(0.5f, 1.0f);
  assert_int_equal(find_support(&sampling, logits, 4), 7u);
}

static void sampler_top_p_renormalizes_what_it_keeps(void** state) {
  (void)state;
  const float logits[] = {log_of(0.1), log_of(0.4), log_of(0.2), log_of(0.3)};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.top_p = 0.6f;
  int counts[kVocabMax];
  count_draws(&sampling, logits, 4, kDraws, counts);
  check_share(counts[1], kDraws, 0.4 / 0.7);
}

// --- min-p -------------------------------------------------------------------------------------------------------------------------------
static void sampler_min_p_is_relative_to_the_best(void** state) {
  (void)state;
  const float logits[] = {log_of(0.5), log_of(0.3), log_of(0.2)};
  const struct {
    float min_p;
    unsigned support;
  } cases[] = {{0.0f, 7u}, {0.39f, 7u}, {0.41f, 3u}, {0.59f, 3u}, {0.61f, 1u}, {1.0f, 1u}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
    sampling.min_p = cases[i].min_p;
    assert_int_equal(find_support(&sampling, logits, 3), cases[i].support);
  }
}

static void sampler_min_p_of_one_keeps_every_best(void** state) {
  (void)state;
  const float logits[] = {1.0f, 2.0f, 2.0f, 1.9f};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.min_p = 1.0f;
  assert_int_equal(find_support(&sampling, logits, 4), 2u | 4u);
}

// --- order of steps ----------------------------------------------------------------------------------------------------------------------
static void sampler_bias_comes_before_penalties(void** state) {
  (void)state;
  // Token 0: (1 - 2) * 2 = -2; the other way round 1 / 2 - 2 = -1.5 would win over -1.75.
  const float logits[] = {1.0f, -1.75f};
  const mlxcel_logit_bias_t bias[] = {{.token = 0, .bias = -2.0f}};
  const int32_t prompt[] = {0};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  sampling.logit_bias = bias;
  sampling.logit_bias_count = 1;
  sampling.repetition_penalty = 2.0f;
  assert_int_equal(sample_after(&sampling, logits, 2, prompt, 1, NULL, 0), 1);
}

static void sampler_repetition_comes_before_presence_and_frequency(void** state) {
  (void)state;
  // Token 0: 1 / 2 - 1 = -0.5; the other way round (1 - 1) * 2 = 0 would win over -0.25.
  const float logits[] = {1.0f, -0.25f};
  const int32_t generated[] = {0};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  sampling.repetition_penalty = 2.0f;
  sampling.presence_penalty = 1.0f;
  assert_int_equal(sample_after(&sampling, logits, 2, NULL, 0, generated, 1), 1);
  sampling.presence_penalty = 0.0f;
  sampling.frequency_penalty = 1.0f;
  assert_int_equal(sample_after(&sampling, logits, 2, NULL, 0, generated, 1), 1);
}

static void sampler_penalties_come_before_temperature(void** state) {
  (void)state;
  const float logits[] = {1.0f, 1.0f};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.5f);
  sampling.presence_penalty = 1.0f;
  mlxcel_sampler_t* sampler = open_sampler(&sampling, 2);
  mlxcel_sampler_observe_generated(sampler, 0);
  int zeros = 0;
  for (int i = 0; i < kDraws; ++i) zeros += sample(sampler, logits) == 0;
  mlxcel_sampler_release(sampler);
  check_share(zeros, kDraws, 1.0 / (1.0 + exp(2.0)));
}

static void sampler_temperature_comes_before_top_p(void** state) {
  (void)state;
  const float logits[] = {log_of(0.6), log_of(0.2), log_of(0.1), log_of(0.1)};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.top_p = 0.55f;
  assert_int_equal(find_support(&sampling, logits, 4), 1u);
  sampling.temperature = 100.0f;  // nearly even: three are needed for 0.55
  assert_int_equal(find_support(&sampling, logits, 4), 7u);
}

static void sampler_top_k_comes_before_top_p(void** state) {
  (void)state;
  // Of the two that top-k keeps the first has 4/7 of the mass; of all four it has 0.4 and top-p would need a second.
  const float logits[] = {log_of(0.4), log_of(0.3), log_of(0.2), log_of(0.1)};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.top_k = 2;
  sampling.top_p = 0.5f;
  assert_int_equal(find_support(&sampling, logits, 4), 1u);
}

static void sampler_min_p_looks_at_temperature_scaled_masses(void** state) {
  (void)state;
  const float logits[] = {log_of(0.5), log_of(0.3), log_of(0.2)};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.5f);  // masses 1, 0.36, 0.16
  sampling.min_p = 0.4f;
  assert_int_equal(find_support(&sampling, logits, 3), 1u);
  sampling.temperature = 2.0f;  // masses 1, 0.77, 0.63
  assert_int_equal(find_support(&sampling, logits, 3), 7u);
}

static void sampler_top_p_and_min_p_both_cut(void** state) {
  (void)state;
  const float logits[] = {log_of(0.4), log_of(0.35), log_of(0.15), log_of(0.1)};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.top_p = 0.85f;
  assert_int_equal(find_support(&sampling, logits, 4), 7u);
  sampling.min_p = 0.5f;
  assert_int_equal(find_support(&sampling, logits, 4), 3u);
  sampling.top_p = 0.3f;
  assert_int_equal(find_support(&sampling, logits, 4), 1u);
}

// --- penalties ---------------------------------------------------------------------------------------------------------------------------
static void sampler_repetition_penalty_counts_prompt_and_generated_once(void** state) {
  (void)state;
  const float logits[] = {4.0f, 3.0f, 1.9f};
  const int32_t prompt[] = {0, 0, 0};
  const int32_t generated[] = {1, 1};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  sampling.repetition_penalty = 2.0f;
  // 4 / 2 = 2 and 3 / 2 = 1.5 against 1.9: applied once, however often a token was seen.
  assert_int_equal(sample_after(&sampling, logits, 3, prompt, 3, generated, 2), 0);
  sampling.repetition_penalty = 2.2f;  // 1.82
  assert_int_equal(sample_after(&sampling, logits, 3, prompt, 3, generated, 2), 2);
}

static void sampler_repetition_penalty_lowers_negative_logits(void** state) {
  (void)state;
  const float logits[] = {-1.0f, -1.5f};
  const int32_t prompt[] = {0};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  sampling.repetition_penalty = 1.6f;
  assert_int_equal(sample_after(&sampling, logits, 2, prompt, 1, NULL, 0), 1);
  sampling.repetition_penalty = 1.4f;
  assert_int_equal(sample_after(&sampling, logits, 2, prompt, 1, NULL, 0), 0);
}

static void sampler_repetition_penalty_below_one_rewards(void** state) {
  (void)state;
  const float logits[] = {1.0f, 1.5f};
  const int32_t prompt[] = {0};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  sampling.repetition_penalty = 0.5f;
  assert_int_equal(sample_after(&sampling, logits, 2, prompt, 1, NULL, 0), 0);
}

static void sampler_presence_penalty_ignores_the_prompt_and_the_count(void** state) {
  (void)state;
  const float logits[] = {2.0f, 1.5f};
  const int32_t zeros[] = {0, 0, 0};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  sampling.presence_penalty = 1.0f;
  assert_int_equal(sample_after(&sampling, logits, 2, zeros, 3, NULL, 0), 0);
  assert_int_equal(sample_after(&sampling, logits, 2, NULL, 0, zeros, 1), 1);
  sampling.presence_penalty = 0.4f;
  assert_int_equal(sample_after(&sampling, logits, 2, NULL, 0, zeros, 3), 0);
}

static void sampler_frequency_penalty_grows_with_the_generated_count(void** state) {
  (void)state;
  const float logits[] = {2.0f, 1.5f};
  const int32_t zeros[] = {0, 0, 0};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  sampling.frequency_penalty = 0.2f;
  assert_int_equal(sample_after(&sampling, logits, 2, zeros, 3, NULL, 0), 0);
  assert_int_equal(sample_after(&sampling, logits, 2, zeros, 3, zeros, 2), 0);  // 2 - 0.4
  assert_int_equal(sample_after(&sampling, logits, 2, zeros, 3, zeros, 3), 1);  // 2 - 0.6
}

static void sampler_penalties_leave_banned_tokens_banned(void** state) {
  (void)state;
  const float logits[] = {-INFINITY, -5.0f};
  const int32_t zeros[] = {0};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.repetition_penalty = 0.5f;
  sampling.presence_penalty = -100.0f;
  sampling.frequency_penalty = -100.0f;
  assert_int_equal(sample_after(&sampling, logits, 2, zeros, 1, zeros, 1), 1);
}

// --- bias --------------------------------------------------------------------------------------------------------------------------------
static void sampler_bias_is_copied_and_adds_up(void** state) {
  (void)state;
  const float logits[] = {0.0f, 0.5f, 0.75f};
  mlxcel_logit_bias_t bias[] = {{.token = 0, .bias = 0.5f}, {.token = 0, .bias = 0.5f}};
  mlxcel_sampling_t sampling = sampling_with_temperature(0.0f);
  sampling.logit_bias = bias;
  sampling.logit_bias_count = 2;
  mlxcel_sampler_t* sampler = open_sampler(&sampling, 3);
  bias[0].token = 1;
  bias[1].token = 1;
  assert_int_equal(sample(sampler, logits), 0);
  mlxcel_sampler_release(sampler);
}

static void sampler_bias_of_minus_infinity_bans(void** state) {
  (void)state;
  const float logits[] = {9.0f, 1.0f, 0.5f};
  const mlxcel_logit_bias_t bias[] = {{.token = 0, .bias = -INFINITY}};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.logit_bias = bias;
  sampling.logit_bias_count = 1;
  assert_int_equal(find_support(&sampling, logits, 3), 6u);
  sampling.temperature = 0.0f;
  assert_int_equal(sample_once(&sampling, logits, 3), 1);
}

static void sampler_bias_of_a_hundred_forces(void** state) {
  (void)state;
  const float logits[] = {9.0f, 1.0f, -20.0f};
  const mlxcel_logit_bias_t bias[] = {{.token = 2, .bias = 100.0f}};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.logit_bias = bias;
  sampling.logit_bias_count = 1;
  assert_int_equal(find_support(&sampling, logits, 3), 4u);
}

// --- bad input ---------------------------------------------------------------------------------------------------------------------------
// The status has |code| and its text contains |words|.
static void check_error(iree_status_t status, iree_status_code_t code, const char* words) {
  char text[1024];
  iree_host_size_t length = 0;
  assert_int_equal(iree_status_code(status), code);
  assert_true(iree_status_format(status, sizeof(text), text, &length));
  assert_non_null(strstr(text, words));
  iree_status_ignore(status);
}

static void sampler_names_the_row_that_holds_nan(void** state) {
  (void)state;
  const float temperatures[] = {0.0f, 1.0f};
  const float bad[] = {NAN, -NAN, INFINITY};
  for (int i = 0; i < 6; ++i) {
    mlxcel_sampling_t sampling = sampling_with_temperature(temperatures[i % 2]);
    mlxcel_sampler_t* sampler = open_sampler(&sampling, 3);
    const float logits[] = {0.0f, 1.0f, bad[i / 2]};
    int32_t token = 0;
    iree_status_t status = mlxcel_sampler_sample(sampler, logits, 1717, &token);
    assert_int_equal(token, -1);
    check_error(status, IREE_STATUS_DATA_LOSS, "row 1717");
    mlxcel_sampler_release(sampler);
  }
}

static void sampler_refuses_a_row_without_any_token(void** state) {
  (void)state;
  const float logits[] = {-INFINITY, -INFINITY};
  const float temperatures[] = {0.0f, 1.0f};
  for (int i = 0; i < 2; ++i) {
    mlxcel_sampling_t sampling = sampling_with_temperature(temperatures[i]);
    mlxcel_sampler_t* sampler = open_sampler(&sampling, 2);
    int32_t token = 0;
    iree_status_t status = mlxcel_sampler_sample(sampler, logits, 5, &token);
    check_error(status, IREE_STATUS_INVALID_ARGUMENT, "row 5");
    assert_int_equal(token, -1);
    mlxcel_sampler_release(sampler);
  }
}

static void sampler_refuses_when_bias_bans_every_token(void** state) {
  (void)state;
  const float logits[] = {0.0f, 1.0f};
  const mlxcel_logit_bias_t bias[] = {{.token = 0, .bias = -INFINITY}, {.token = 1, .bias = -INFINITY}};
  const float temperatures[] = {0.0f, 1.0f};
  for (int i = 0; i < 2; ++i) {
    mlxcel_sampling_t sampling = sampling_with_temperature(temperatures[i]);
    sampling.logit_bias = bias;
    sampling.logit_bias_count = 2;
    mlxcel_sampler_t* sampler = open_sampler(&sampling, 2);
    int32_t token = 0;
    check_error(mlxcel_sampler_sample(sampler, logits, 5, &token), IREE_STATUS_INVALID_ARGUMENT, "logit bias");
    mlxcel_sampler_release(sampler);
  }
}

static void check_refused(const mlxcel_sampling_t* sampling, const char* words) {
  mlxcel_sampler_t* sampler = (mlxcel_sampler_t*)&sampler;
  check_error(mlxcel_sampler_create(sampling, 8, &sampler), IREE_STATUS_INVALID_ARGUMENT, words);
  assert_null(sampler);
}

#define CHECK_FIELD_REFUSED(field, value, words)                 \
  do {                                                           \
    mlxcel_sampling_t refused = sampling_with_temperature(1.0f); \
    refused.field = (value);                                     \
    check_refused(&refused, words);                              \
  } while (0)

static void sampler_refuses_values_out_of_range_by_name(void** state) {
  (void)state;
  CHECK_FIELD_REFUSED(temperature, -0.5f, "temperature is -0.5");
  CHECK_FIELD_REFUSED(temperature, NAN, "temperature");
  CHECK_FIELD_REFUSED(temperature, INFINITY, "temperature");
  CHECK_FIELD_REFUSED(top_k, -1, "top_k is -1");
  CHECK_FIELD_REFUSED(top_p, -0.1f, "top_p");
  CHECK_FIELD_REFUSED(top_p, 1.5f, "top_p is 1.5");
  CHECK_FIELD_REFUSED(top_p, NAN, "top_p");
  CHECK_FIELD_REFUSED(min_p, 1.5f, "min_p");
  CHECK_FIELD_REFUSED(min_p, NAN, "min_p");
  CHECK_FIELD_REFUSED(repetition_penalty, 0.0f, "repetition_penalty");
  CHECK_FIELD_REFUSED(repetition_penalty, -1.0f, "repetition_penalty");
  CHECK_FIELD_REFUSED(repetition_penalty, INFINITY, "repetition_penalty");
  CHECK_FIELD_REFUSED(presence_penalty, NAN, "presence_penalty");
  CHECK_FIELD_REFUSED(frequency_penalty, -INFINITY, "frequency_penalty");
  CHECK_FIELD_REFUSED(size, 8, "size 8");
}

static void sampler_refuses_bias_of_unknown_ids_and_values(void** state) {
  (void)state;
  const struct {
    mlxcel_logit_bias_t entry;
    const char* words;
  } cases[] = {{{.token = -1, .bias = 1.0f}, "token id -1"},
               {{.token = 8, .bias = 1.0f}, "token id 8; ids of this model are 0 to 7"},
               {{.token = 999999999, .bias = 1.0f}, "token id 999999999"},
               {{.token = 1, .bias = NAN}, "NaN"},
               {{.token = 1, .bias = INFINITY}, "+infinity"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
    sampling.logit_bias = &cases[i].entry;
    sampling.logit_bias_count = 1;
    check_refused(&sampling, cases[i].words);
  }
  mlxcel_logit_bias_t many[9] = {{0}};
  mlxcel_sampling_t sampling = sampling_with_temperature(1.0f);
  sampling.logit_bias = many;
  sampling.logit_bias_count = 9;
  check_refused(&sampling, "9 entries");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sampler_greedy_takes_the_largest),
      cmocka_unit_test(sampler_greedy_tie_goes_to_the_lowest_id),
      cmocka_unit_test(sampler_greedy_ignores_seed_top_k_top_p_and_min_p),
      cmocka_unit_test(sampler_draws_follow_the_softmax),
      cmocka_unit_test(sampler_temperature_sharpens_and_flattens),
      cmocka_unit_test(sampler_tiny_temperature_is_the_argmax),
      cmocka_unit_test(sampler_huge_spread_of_logits_stays_finite),
      cmocka_unit_test(sampler_never_draws_a_token_without_mass),
      cmocka_unit_test(sampler_seed_and_choice_fix_every_draw),
      cmocka_unit_test(sampler_draw_number_n_uses_bits_number_n),
      cmocka_unit_test(sampler_top_k_keeps_the_k_largest),
      cmocka_unit_test(sampler_top_k_tie_goes_to_the_lowest_ids),
      cmocka_unit_test(sampler_top_k_of_one_is_the_argmax),
      cmocka_unit_test(sampler_top_k_of_the_vocabulary_or_more_is_off),
      cmocka_unit_test(sampler_top_k_over_fewer_possible_tokens_keeps_those),
      cmocka_unit_test(sampler_top_p_keeps_the_shortest_run_that_reaches_p),
      cmocka_unit_test(sampler_top_p_reached_exactly_stops_there),
      cmocka_unit_test(sampler_top_p_renormalizes_what_it_keeps),
      cmocka_unit_test(sampler_min_p_is_relative_to_the_best),
      cmocka_unit_test(sampler_min_p_of_one_keeps_every_best),
      cmocka_unit_test(sampler_bias_comes_before_penalties),
      cmocka_unit_test(sampler_repetition_comes_before_presence_and_frequency),
      cmocka_unit_test(sampler_penalties_come_before_temperature),
      cmocka_unit_test(sampler_temperature_comes_before_top_p),
      cmocka_unit_test(sampler_top_k_comes_before_top_p),
      cmocka_unit_test(sampler_min_p_looks_at_temperature_scaled_masses),
      cmocka_unit_test(sampler_top_p_and_min_p_both_cut),
      cmocka_unit_test(sampler_repetition_penalty_counts_prompt_and_generated_once),
      cmocka_unit_test(sampler_repetition_penalty_lowers_negative_logits),
      cmocka_unit_test(sampler_repetition_penalty_below_one_rewards),
      cmocka_unit_test(sampler_presence_penalty_ignores_the_prompt_and_the_count),
      cmocka_unit_test(sampler_frequency_penalty_grows_with_the_generated_count),
      cmocka_unit_test(sampler_penalties_leave_banned_tokens_banned),
      cmocka_unit_test(sampler_bias_is_copied_and_adds_up),
      cmocka_unit_test(sampler_bias_of_minus_infinity_bans),
      cmocka_unit_test(sampler_bias_of_a_hundred_forces),
      cmocka_unit_test(sampler_names_the_row_that_holds_nan),
      cmocka_unit_test(sampler_refuses_a_row_without_any_token),
      cmocka_unit_test(sampler_refuses_when_bias_bans_every_token),
      cmocka_unit_test(sampler_refuses_values_out_of_range_by_name),
      cmocka_unit_test(sampler_refuses_bias_of_unknown_ids_and_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
