// bench_run.h: one case on one loaded model, below its sessions: prompts of random ids in chunks, then greedy decode steps of all sequences together.
//
// Sequence s lives in slot s and draws its ids from its own stream of a fixed seed, so it computes the same whatever runs beside it. Its first |depth| ids lie
// in the slot before the clock runs. With a prompt the first generated token continues it; without one a random id is fed first. A step feeds every sequence
// the id that it chose before (the largest logit, the lowest id of equal ones); more sequences than the largest decode call takes are cut into several.
#ifndef MLXCEL_BENCH_BENCH_RUN_H_
#define MLXCEL_BENCH_BENCH_RUN_H_

#include "base/sha256.h"
#include "bench/bench_plan.h"
#include "engine/backend.h"

typedef struct mlxcel_bench_run_options_t {
  const mlxcel_backend_t* backend;                                         // slot_count >= parallel, context >= what the case needs
  uint32_t decode_rows_max;                                                // of the largest decode call
  uint32_t repetitions;                                                    // 1 to MLXCEL_BENCH_REPETITIONS_MAX
  bool has_warmup;                                                         // the whole prompt and a few steps before the first repetition
  uint64_t (*now_ns)(void);                                                // NULL = CLOCK_MONOTONIC
  bool (*cancelled)(void* user_data);                                      // polled between calls; may be NULL
  void (*progress)(void* user_data, uint32_t done, uint32_t repetitions);  // outside of the measured time; may be NULL
  // One more repetition behind the others, no sample, runs between two calls of this: |begins| true, then false (also when it failed). May be NULL.
  iree_status_t (*observe)(void* user_data, bool begins);
  void* user_data;
} mlxcel_bench_run_options_t;

typedef struct mlxcel_bench_samples_t {
  uint32_t count;                        // repetitions that were completed
  uint64_t* ns;                          // [count], owned
  uint32_t chunk;                        // rows of a prefill call, at most
  uint64_t prefill_calls, decode_calls;  // of one repetition
  uint32_t digest_count;                 // sequences; 0 unless a repetition was completed and the case generates
  mlxcel_sha256_hex_t* digests;          // [digest_count], owned: of each sequence's generated ids as little-endian i32
} mlxcel_bench_samples_t;

// Measures |item|. A cancellation is CANCELLED, and what was completed before stays in |out_samples|; so it does after any other error. INTERNAL if a
// repetition generates other ids than the first one: the engine's results don't depend on when they are computed. |out_samples| is freed by the caller in any
// case.
iree_status_t mlxcel_bench_run(const mlxcel_bench_case_t* item, const mlxcel_bench_run_options_t* options, mlxcel_bench_samples_t* out_samples);
void mlxcel_bench_samples_deinitialize(mlxcel_bench_samples_t* samples);

// Tokens that one repetition processes, all sequences together.
uint64_t mlxcel_bench_case_tokens(const mlxcel_bench_case_t* item);

#endif  // MLXCEL_BENCH_BENCH_RUN_H_
