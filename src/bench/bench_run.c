#include "bench/bench_run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/philox.h"

#define BENCH_SEED 20250601u  // any; fixed so that every run and every machine computes the same

// One case while it runs.
typedef struct bench_run_t {
  const mlxcel_bench_case_t* item;
  const mlxcel_bench_run_options_t* options;
  const mlxcel_backend_t* backend;
  mlxcel_bench_samples_t* samples;
  uint32_t chunk, group;                 // rows of a prefill call and of a decode call, at most
  int32_t *tokens, *slots, *positions;   // rows of the next call
  int32_t* next;                         // [parallel]: what each sequence is fed next
  int32_t *generated, *first_generated;  // [parallel, gen]: of this repetition, of the first one
  float* logits;                         // [group, vocab]
  uint64_t prefill_calls, decode_calls;  // of this repetition
} bench_run_t;

uint64_t mlxcel_bench_case_tokens(const mlxcel_bench_case_t* item) { return ((uint64_t)item->prompt + item->gen) * item->parallel; }

static uint64_t bench_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t run_clock(const bench_run_t* run) { return run->options->now_ns ? run->options->now_ns() : bench_now(); }

static iree_status_t run_poll(const bench_run_t* run) {
  if (!run->options->cancelled || !run->options->cancelled(run->options->user_data)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_CANCELLED, "the measurement was stopped");
}

// The id at |position| of a sequence's random text.
static int32_t run_random_id(const bench_run_t* run, uint32_t sequence, uint32_t position) {
  return (int32_t)(mlxcel_philox_bits(BENCH_SEED, sequence, position) % run->backend->vocab_size);
}

static int32_t run_best_id(const float* logits, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return (int32_t)best;
}

// --- prompts -------------------------------------------------------------------------------------------------------------------------------------

// Positions [first, last) of a sequence's random text, in calls of at most |chunk| rows. |*out_rows| is the last call's number of rows.
static iree_status_t run_prefill(bench_run_t* run, uint32_t sequence, uint32_t first, uint32_t last, uint32_t chunk, uint32_t* out_rows) {
  *out_rows = 0;
  for (uint32_t begin = first; begin < last; begin += chunk) {
    IREE_RETURN_IF_ERROR(run_poll(run));
    *out_rows = last - begin < chunk ? last - begin : chunk;
    for (uint32_t r = 0; r < *out_rows; ++r) {
      run->tokens[r] = run_random_id(run, sequence, begin + r);
      run->slots[r] = (int32_t)sequence;
      run->positions[r] = (int32_t)(begin + r);
    }
    const mlxcel_rows_t rows = {*out_rows, run->tokens, run->slots, run->positions};
    IREE_RETURN_IF_ERROR(run->backend->prefill(run->backend->self, &rows));
    ++run->prefill_calls;
  }
  return iree_ok_status();
}

// The prompts one after the other, each with the logits of its last row.
static iree_status_t run_prompts(bench_run_t* run) {
  const mlxcel_bench_case_t* item = run->item;
  for (uint32_t s = 0; s < item->parallel; ++s) {
    run->next[s] = run_random_id(run, s, item->depth);
    if (item->prompt == 0) continue;
    uint32_t row_count = 0;
    IREE_RETURN_IF_ERROR(run_prefill(run, s, item->depth, item->depth + item->prompt, run->chunk, &row_count));
    const uint32_t row = row_count - 1;
    IREE_RETURN_IF_ERROR(run->backend->head(run->backend->self, 1, &row, run->logits));
    run->next[s] = run_best_id(run->logits, run->backend->vocab_size);
  }
  return iree_ok_status();
}

static iree_status_t run_fill_depth(bench_run_t* run) {
  uint32_t ignored = 0;
  for (uint32_t s = 0; s < run->item->parallel; ++s) {
    IREE_RETURN_IF_ERROR(run_prefill(run, s, 0, run->item->depth, run->backend->prefill_rows_max, &ignored));
  }
  return iree_ok_status();
}

// --- steps -----------------------------------------------------------------------------------------------------------------------------------------

// One decode call for sequences [first, first + count).
static iree_status_t run_decode(bench_run_t* run, uint32_t first, uint32_t count, uint32_t step) {
  const mlxcel_bench_case_t* item = run->item;
  for (uint32_t r = 0; r < count; ++r) {
    run->tokens[r] = run->next[first + r];
    run->slots[r] = (int32_t)(first + r);
    run->positions[r] = (int32_t)(item->depth + item->prompt + step);
  }
  const mlxcel_rows_t rows = {count, run->tokens, run->slots, run->positions};
  IREE_RETURN_IF_ERROR(run->backend->decode(run->backend->self, &rows, run->logits));
  ++run->decode_calls;
  for (uint32_t r = 0; r < count; ++r) {
    const int32_t id = run_best_id(run->logits + (size_t)r * run->backend->vocab_size, run->backend->vocab_size);
    run->next[first + r] = id;
    run->generated[(size_t)(first + r) * item->gen + step] = id;
  }
  return iree_ok_status();
}

static iree_status_t run_steps(bench_run_t* run, uint32_t step_count) {
  for (uint32_t step = 0; step < step_count; ++step) {
    IREE_RETURN_IF_ERROR(run_poll(run));
    for (uint32_t first = 0; first < run->item->parallel; first += run->group) {
      const uint32_t left = run->item->parallel - first;
      IREE_RETURN_IF_ERROR(run_decode(run, first, left < run->group ? left : run->group, step));
    }
  }
  return iree_ok_status();
}

// --- repetitions -----------------------------------------------------------------------------------------------------------------------------------

static iree_status_t run_warm_up(bench_run_t* run) {
  const uint32_t gen = run->item->gen;
  IREE_RETURN_IF_ERROR(run_prompts(run));
  return run_steps(run, gen < MLXCEL_BENCH_WARMUP_STEPS ? gen : MLXCEL_BENCH_WARMUP_STEPS);
}

static iree_status_t run_compare(bench_run_t* run) {
  const size_t count = (size_t)run->item->parallel * run->item->gen;
  if (run->samples->count == 0) memcpy(run->first_generated, run->generated, count * sizeof(*run->generated));
  if (memcmp(run->first_generated, run->generated, count * sizeof(*run->generated)) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INTERNAL, "repetition %u generated other tokens than the first one; this is a bug of mlxcel, please report it",
                          run->samples->count + 1);
}

static iree_status_t run_whole(bench_run_t* run) {
  IREE_RETURN_IF_ERROR(run_prompts(run));
  return run_steps(run, run->item->gen);
}

static iree_status_t run_observed(bench_run_t* run) {
  const mlxcel_bench_run_options_t* options = run->options;
  if (!options->observe) return iree_ok_status();
  IREE_RETURN_IF_ERROR(options->observe(options->user_data, true));
  iree_status_t status = run_whole(run);
  iree_status_t end_status = options->observe(options->user_data, false);
  if (iree_status_is_ok(status)) return end_status;
  iree_status_ignore(end_status);
  return status;
}

static iree_status_t run_repetition(bench_run_t* run) {
  run->prefill_calls = run->decode_calls = 0;
  const uint64_t begin = run_clock(run);
  IREE_RETURN_IF_ERROR(run_whole(run));
  const uint64_t end = run_clock(run);
  IREE_RETURN_IF_ERROR(run_compare(run));
  run->samples->ns[run->samples->count++] = end - begin;
  run->samples->prefill_calls = run->prefill_calls;
  run->samples->decode_calls = run->decode_calls;
  return iree_ok_status();
}

static iree_status_t run_repetitions(bench_run_t* run) {
  const mlxcel_bench_run_options_t* options = run->options;
  IREE_RETURN_IF_ERROR(run_fill_depth(run));
  if (options->has_warmup) {
    IREE_RETURN_IF_ERROR(run_warm_up(run));
  }
  for (uint32_t i = 0; i < options->repetitions; ++i) {
    if (options->progress) options->progress(options->user_data, i, options->repetitions);
    IREE_RETURN_IF_ERROR(run_repetition(run));
  }
  return run_observed(run);
}

static iree_status_t run_make_digests(bench_run_t* run) {
  const mlxcel_bench_case_t* item = run->item;
  if (item->gen == 0 || run->samples->count == 0) return iree_ok_status();
  const size_t bytes = (size_t)item->gen * sizeof(int32_t);
  for (uint32_t s = 0; s < item->parallel; ++s) {
    IREE_RETURN_IF_ERROR(mlxcel_sha256_of(run->first_generated + (size_t)s * item->gen, bytes, &run->samples->digests[s]));
  }
  run->samples->digest_count = item->parallel;
  return iree_ok_status();
}

// --- memory ----------------------------------------------------------------------------------------------------------------------------------------

static iree_status_t run_allocate(bench_run_t* run) {
  const mlxcel_bench_case_t* item = run->item;
  const size_t rows = run->backend->prefill_rows_max > run->group ? run->backend->prefill_rows_max : run->group;
  const size_t ids = (size_t)item->parallel * item->gen;
  run->tokens = calloc(rows, sizeof(int32_t));
  run->slots = calloc(rows, sizeof(int32_t));
  run->positions = calloc(rows, sizeof(int32_t));
  run->next = calloc(item->parallel, sizeof(int32_t));
  run->generated = calloc(ids + 1, sizeof(int32_t));
  run->first_generated = calloc(ids + 1, sizeof(int32_t));
  run->logits = calloc((size_t)run->group * run->backend->vocab_size, sizeof(float));
  run->samples->ns = calloc(run->options->repetitions, sizeof(uint64_t));
  run->samples->digests = calloc(item->parallel, sizeof(*run->samples->digests));
  const bool ok = run->tokens && run->slots && run->positions && run->next && run->generated && run->first_generated && run->logits && run->samples->ns &&
                  run->samples->digests;
  return ok ? iree_ok_status() : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the rows of %u sequences; ask for fewer", item->parallel);
}

static void run_free(bench_run_t* run) {
  free(run->tokens);
  free(run->slots);
  free(run->positions);
  free(run->next);
  free(run->generated);
  free(run->first_generated);
  free(run->logits);
}

static uint32_t run_smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

iree_status_t mlxcel_bench_run(const mlxcel_bench_case_t* item, const mlxcel_bench_run_options_t* options, mlxcel_bench_samples_t* out_samples) {
  memset(out_samples, 0, sizeof(*out_samples));
  const mlxcel_backend_t* backend = options->backend;
  bench_run_t run = {.item = item, .options = options, .backend = backend, .samples = out_samples};
  run.chunk = item->batch ? run_smaller(item->batch, backend->prefill_rows_max) : backend->prefill_rows_max;
  run.group = run_smaller(item->parallel, options->decode_rows_max);
  out_samples->chunk = run.chunk;
  iree_status_t status = run_allocate(&run);
  if (iree_status_is_ok(status)) status = run_repetitions(&run);
  iree_status_t digest_status = run_make_digests(&run);
  run_free(&run);
  if (iree_status_is_ok(status)) return digest_status;
  iree_status_ignore(digest_status);
  return status;
}

void mlxcel_bench_samples_deinitialize(mlxcel_bench_samples_t* samples) {
  free(samples->ns);
  free(samples->digests);
  memset(samples, 0, sizeof(*samples));
}
