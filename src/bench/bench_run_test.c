// One case on a model without weights: which calls are made, what is fed, what is timed, what comes of errors and interrupts.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench_run.h"

enum { VOCAB = 97, CONTEXT = 64, SLOTS = 8, CHUNK_ROWS = 16, DECODE_ROWS = 3, TEXT_BYTES = 4096 };

// A model whose answer depends on everything that a slot holds. It writes down its calls and keeps the time.
typedef struct fake_model_t {
  int32_t kv[SLOTS][CONTEXT];
  char calls[TEXT_BYTES];
  uint32_t prefill_slot, prefill_last;
  uint64_t now_ns;
  bool forgets;         // its answers depend on the time
  uint32_t calls_left;  // until |cancelled| says so; UINT32_MAX = never
  char observed[TEXT_BYTES];
} fake_model_t;
static fake_model_t* fake;  // what the clock, which takes no argument, belongs to

static uint64_t fake_now(void) { return fake->now_ns; }

static void write_call(char kind, const mlxcel_rows_t* rows) {
  const size_t used = strlen(fake->calls);
  snprintf(fake->calls + used, TEXT_BYTES - used, "%c%d:%d+%u ", kind, rows->slots[0], rows->positions[0], rows->count);
  fake->now_ns += 10;
}

static void write_rows(const mlxcel_rows_t* rows) {
  for (uint32_t r = 0; r < rows->count; ++r) {
    assert_in_range(rows->slots[r], 0, SLOTS - 1);
    assert_in_range(rows->positions[r], 0, CONTEXT - 1);
    assert_in_range(rows->tokens[r], 0, VOCAB - 1);
    fake->kv[rows->slots[r]][rows->positions[r]] = rows->tokens[r];
  }
}

// The likeliest id twice, so that the lower one has to be taken.
static void answer(uint32_t slot, uint32_t position, float* logits) {
  uint32_t hash = fake->forgets ? (uint32_t)fake->now_ns : 7;
  for (uint32_t i = 0; i <= position; ++i) hash = hash * 31 + (uint32_t)fake->kv[slot][i];
  for (uint32_t i = 0; i < VOCAB; ++i) logits[i] = -1;
  logits[hash % (VOCAB - 1)] = logits[VOCAB - 1] = 1;
}

static iree_status_t fake_prefill(void* self, const mlxcel_rows_t* rows) {
  (void)self;
  assert_in_range(rows->count, 1, CHUNK_ROWS);
  write_call('p', rows);
  write_rows(rows);
  fake->prefill_slot = (uint32_t)rows->slots[0];
  fake->prefill_last = (uint32_t)rows->positions[rows->count - 1];
  return iree_ok_status();
}

static iree_status_t fake_head(void* self, uint32_t row_count, const uint32_t* row_indices, float* out_logits) {
  (void)self;
  assert_int_equal(row_count, 1);
  const size_t used = strlen(fake->calls);
  snprintf(fake->calls + used, TEXT_BYTES - used, "h%u ", row_indices[0]);
  answer(fake->prefill_slot, fake->prefill_last, out_logits);
  return iree_ok_status();
}

static iree_status_t fake_decode(void* self, const mlxcel_rows_t* rows, float* out_logits) {
  (void)self;
  assert_in_range(rows->count, 1, DECODE_ROWS);
  write_call('d', rows);
  write_rows(rows);
  for (uint32_t r = 0; r < rows->count; ++r) answer((uint32_t)rows->slots[r], (uint32_t)rows->positions[r], out_logits + (size_t)r * VOCAB);
  return iree_ok_status();
}

static bool fake_cancelled(void* user_data) {
  (void)user_data;
  if (fake->calls_left == 0) return true;
  if (fake->calls_left != UINT32_MAX) --fake->calls_left;
  return false;
}

static iree_status_t fake_observe(void* user_data, bool begins) {
  (void)user_data;
  snprintf(fake->observed + strlen(fake->observed), 64, begins ? "[%zu" : " %zu]", strlen(fake->calls));
  return iree_ok_status();
}

static int make_fake(void** state) {
  (void)state;
  fake = calloc(1, sizeof(*fake));
  fake->calls_left = UINT32_MAX;
  return fake ? 0 : -1;
}

static int free_fake(void** state) {
  (void)state;
  free(fake);
  return 0;
}

static const mlxcel_backend_t backend = {.vocab_size = VOCAB,
                                         .context = CONTEXT,
                                         .slot_count = SLOTS,
                                         .prefill_rows_max = CHUNK_ROWS,
                                         .prefill = fake_prefill,
                                         .head = fake_head,
                                         .decode = fake_decode};

static mlxcel_bench_run_options_t make_options(uint32_t repetitions) {
  return (mlxcel_bench_run_options_t){
      .backend = &backend, .decode_rows_max = DECODE_ROWS, .repetitions = repetitions, .now_ns = fake_now, .cancelled = fake_cancelled};
}

static mlxcel_bench_samples_t run_case(mlxcel_bench_case_t item, uint32_t repetitions) {
  const mlxcel_bench_run_options_t options = make_options(repetitions);
  mlxcel_bench_samples_t samples;
  assert_true(iree_status_is_ok(mlxcel_bench_run(&item, &options, &samples)));
  return samples;
}

static void prompts_are_cut_into_chunks_and_end_in_logits(void** state) {
  (void)state;
  mlxcel_bench_samples_t samples = run_case((mlxcel_bench_case_t){.parallel = 1, .batch = 8, .prompt = 20}, 1);
  assert_string_equal(fake->calls, "p0:0+8 p0:8+8 p0:16+4 h3 ");
  assert_int_equal(samples.count, 1);
  assert_int_equal(samples.ns[0], 30);
  assert_int_equal(samples.chunk, 8);
  assert_int_equal(samples.prefill_calls, 3);
  assert_int_equal(samples.decode_calls, 0);
  assert_int_equal(samples.digest_count, 0);
  mlxcel_bench_samples_deinitialize(&samples);
}

static void chunks_are_no_longer_than_the_model_takes(void** state) {
  (void)state;
  mlxcel_bench_samples_t samples = run_case((mlxcel_bench_case_t){.parallel = 1, .batch = 1000, .prompt = 20}, 1);
  assert_string_equal(fake->calls, "p0:0+16 p0:16+4 h3 ");
  assert_int_equal(samples.chunk, CHUNK_ROWS);
  mlxcel_bench_samples_deinitialize(&samples);
}

static void depth_is_filled_once_and_not_timed(void** state) {
  (void)state;
  mlxcel_bench_samples_t samples = run_case((mlxcel_bench_case_t){.parallel = 1, .batch = 4, .depth = 18, .gen = 2}, 2);
  assert_string_equal(fake->calls, "p0:0+16 p0:16+2 d0:18+1 d0:19+1 d0:18+1 d0:19+1 ");
  assert_int_equal(samples.count, 2);
  assert_int_equal(samples.ns[0], 20);
  assert_int_equal(samples.ns[1], 20);
  assert_int_equal(samples.decode_calls, 2);
  assert_int_equal(samples.prefill_calls, 0);
  mlxcel_bench_samples_deinitialize(&samples);
}

static void steps_feed_back_the_likeliest_id(void** state) {
  (void)state;
  mlxcel_bench_samples_t samples = run_case((mlxcel_bench_case_t){.parallel = 1, .prompt = 3, .gen = 4}, 1);
  assert_string_equal(fake->calls, "p0:0+3 h2 d0:3+1 d0:4+1 d0:5+1 d0:6+1 ");
  int32_t ids[4];
  for (uint32_t i = 0; i < 4; ++i) {
    float logits[VOCAB];
    answer(0, 3 + i, logits);
    ids[i] = 0;
    while (logits[ids[i]] < 0) ++ids[i];
    if (i < 3) assert_int_equal(fake->kv[0][4 + i], ids[i]);
  }
  mlxcel_sha256_hex_t digest;
  assert_true(iree_status_is_ok(mlxcel_sha256_of(ids, sizeof(ids), &digest)));
  assert_int_equal(samples.digest_count, 1);
  assert_string_equal(samples.digests[0].text, digest.text);
  mlxcel_bench_samples_deinitialize(&samples);
}

static void sequences_have_slots_and_share_steps(void** state) {
  (void)state;
  const mlxcel_bench_case_t item = {.parallel = 4, .prompt = 2, .gen = 1};
  mlxcel_bench_samples_t samples = run_case(item, 1);
  assert_string_equal(fake->calls, "p0:0+2 h1 p1:0+2 h1 p2:0+2 h1 p3:0+2 h1 d0:2+3 d3:2+1 ");
  assert_int_equal(samples.decode_calls, 2);
  assert_int_equal(mlxcel_bench_case_tokens(&item), 12);
  assert_memory_not_equal(fake->kv[0], fake->kv[1], 2 * sizeof(int32_t));
  mlxcel_bench_samples_deinitialize(&samples);
}

static void a_sequence_computes_the_same_alone_and_among_others(void** state) {
  (void)state;
  mlxcel_bench_samples_t alone = run_case((mlxcel_bench_case_t){.parallel = 1, .depth = 5, .gen = 6}, 1);
  mlxcel_bench_samples_t both = run_case((mlxcel_bench_case_t){.parallel = 5, .depth = 5, .gen = 6}, 1);
  assert_int_equal(both.digest_count, 5);
  assert_string_equal(both.digests[0].text, alone.digests[0].text);
  assert_string_not_equal(both.digests[1].text, alone.digests[0].text);
  mlxcel_bench_samples_deinitialize(&alone);
  mlxcel_bench_samples_deinitialize(&both);
}

static void warmup_runs_the_prompt_and_a_few_steps(void** state) {
  (void)state;
  mlxcel_bench_run_options_t options = make_options(1);
  options.has_warmup = true;
  const mlxcel_bench_case_t item = {.parallel = 1, .prompt = 1, .gen = 6};
  mlxcel_bench_samples_t samples;
  assert_true(iree_status_is_ok(mlxcel_bench_run(&item, &options, &samples)));
  assert_string_equal(fake->calls,
                      "p0:0+1 h0 d0:1+1 d0:2+1 d0:3+1 d0:4+1 "
                      "p0:0+1 h0 d0:1+1 d0:2+1 d0:3+1 d0:4+1 d0:5+1 d0:6+1 ");
  assert_int_equal(samples.ns[0], 70);
  mlxcel_bench_samples_deinitialize(&samples);
}

static void the_observed_run_is_no_sample(void** state) {
  (void)state;
  mlxcel_bench_run_options_t options = make_options(2);
  options.observe = fake_observe;
  const mlxcel_bench_case_t item = {.parallel = 1, .gen = 1};
  mlxcel_bench_samples_t samples;
  assert_true(iree_status_is_ok(mlxcel_bench_run(&item, &options, &samples)));
  assert_string_equal(fake->calls, "d0:0+1 d0:0+1 d0:0+1 ");
  assert_string_equal(fake->observed, "[14 21]");
  assert_int_equal(samples.count, 2);
  assert_int_equal(samples.decode_calls, 1);
  mlxcel_bench_samples_deinitialize(&samples);
}

static void an_interrupt_keeps_what_was_completed(void** state) {
  (void)state;
  const mlxcel_bench_run_options_t options = make_options(3);
  const mlxcel_bench_case_t item = {.parallel = 1, .gen = 4};
  fake->calls_left = 6;  // one repetition and a half
  mlxcel_bench_samples_t samples;
  iree_status_t status = mlxcel_bench_run(&item, &options, &samples);
  assert_true(iree_status_is_cancelled(status));
  iree_status_free(status);
  assert_int_equal(samples.count, 1);
  assert_int_equal(samples.decode_calls, 4);
  assert_int_equal(samples.digest_count, 1);
  mlxcel_bench_samples_deinitialize(&samples);
}

static void results_that_depend_on_the_repetition_are_an_error(void** state) {
  (void)state;
  fake->forgets = true;
  const mlxcel_bench_run_options_t options = make_options(3);
  const mlxcel_bench_case_t item = {.parallel = 1, .gen = 4};
  mlxcel_bench_samples_t samples;
  iree_status_t status = mlxcel_bench_run(&item, &options, &samples);
  assert_true(iree_status_is_internal(status));
  iree_status_free(status);
  assert_int_equal(samples.count, 1);
  mlxcel_bench_samples_deinitialize(&samples);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_fake, free_fake)
int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(prompts_are_cut_into_chunks_and_end_in_logits),
      CASE(chunks_are_no_longer_than_the_model_takes),
      CASE(depth_is_filled_once_and_not_timed),
      CASE(steps_feed_back_the_likeliest_id),
      CASE(sequences_have_slots_and_share_steps),
      CASE(a_sequence_computes_the_same_alone_and_among_others),
      CASE(warmup_runs_the_prompt_and_a_few_steps),
      CASE(the_observed_run_is_no_sample),
      CASE(an_interrupt_keeps_what_was_completed),
      CASE(results_that_depend_on_the_repetition_are_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
