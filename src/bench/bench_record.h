// bench_record.h: one measured case with everything that belongs beside its numbers, and what follows from them.
//
// Roofline: a call of prefill or decode reads all weights of the layers, logits those of the head; a row is multiplied with every matrix it passes (two
// operations a weight; prompts without the head, which only their last row meets; attention isn't counted). Divided by the median time and by what the machine
// can do at most, that are the shares: the larger one is the limit that the case is closer to. What wasn't measured is 0 here, null in JSON, empty as text.
#ifndef MLXCEL_BENCH_BENCH_RECORD_H_
#define MLXCEL_BENCH_BENCH_RECORD_H_

#include <jansson.h>

#include "bench/bench_machine.h"
#include "bench/bench_run.h"
#include "bench/bench_statistics.h"
#include "bench/roofline.h"
#include "mlxcel/mlxcel.h"
#include "runtime/dispatch_profile.h"

// Views, valid as long as what they were made from.
typedef struct mlxcel_bench_record_t {
  const mlxcel_bench_model_t* model;
  const mlxcel_bench_case_t* item;
  const mlxcel_bench_samples_t* samples;  // count >= 1
  const mlxcel_engine_info_t* info;
  const mlxcel_roofline_row_t* roofline;        // NULL = not measured
  const mlxcel_dispatch_profile_t* dispatches;  // of one repetition more; NULL = not asked for
  const char* kv_dtype;                         // "f32"
  const char* build;                            // "0.1.0"
  uint32_t build_number;
  uint32_t prefill_rows_max;
  uint64_t peak_rss_bytes;  // since the engine was opened
  char cpu[MLXCEL_BENCH_CPU_BYTES];
  char time[MLXCEL_BENCH_TIME_BYTES];
  char test[MLXCEL_BENCH_TEST_NAME_BYTES];
  // Derived.
  mlxcel_bench_statistics_t ns, ts;                 // of the samples: nanoseconds, tokens a second
  double roofline_read_gb_s, roofline_fma_gflop_s;  // what the machine can do at most
  double read_gb_s, fma_gflop_s;                    // what the median sample did
  double read_share, fma_share, roofline_share;     // 0 to 1
} mlxcel_bench_record_t;

// Fills what is derived from the fields before it. RESOURCE_EXHAUSTED without memory.
iree_status_t mlxcel_bench_record_derive(mlxcel_bench_record_t* record);

// Tokens a second of one sample.
double mlxcel_bench_record_sample_ts(const mlxcel_bench_record_t* record, uint32_t index);

// llama-bench's fields under its names, then our own; samples and digests last. NULL without memory.
json_t* mlxcel_bench_record_to_json(const mlxcel_bench_record_t* record);

#endif  // MLXCEL_BENCH_BENCH_RECORD_H_
