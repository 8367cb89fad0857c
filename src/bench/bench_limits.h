// bench_limits.h: bounds of the bench module, each with its reason.
#ifndef MLXCEL_BENCH_BENCH_LIMITS_H_
#define MLXCEL_BENCH_BENCH_LIMITS_H_

#define MLXCEL_BENCH_VALUES_MAX 64u         // values of one list; a longer sweep is a script's job
#define MLXCEL_BENCH_MODELS_MAX 16u         // checkpoints of one run
#define MLXCEL_BENCH_CASES_MAX 4096u        // of one run: at a second each over an hour
#define MLXCEL_BENCH_PARALLEL_MAX 1024u     // slots of an engine
#define MLXCEL_BENCH_REPETITIONS_MAX 1000u  // samples of a case, all of which are kept and printed
#define MLXCEL_BENCH_DELAY_MAX_S 3600u      // between cases
#define MLXCEL_BENCH_WARMUP_STEPS 4u        // decode steps before the clock runs: the first touches every weight, the others fill caches and wake workers
#define MLXCEL_BENCH_TEST_NAME_BYTES 64u    // "pp16777216+tg16777216 @ d16777216" and a NUL
#define MLXCEL_BENCH_TYPE_BYTES 128u        // "llama 4-bit g64"; the model type has up to 63 bytes

#endif  // MLXCEL_BENCH_BENCH_LIMITS_H_
