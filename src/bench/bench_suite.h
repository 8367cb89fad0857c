// bench_suite.h: all cases of a plan, one after the other: the roofline of their threads, an engine opened once for the cases that share it, the samples.
#ifndef MLXCEL_BENCH_BENCH_SUITE_H_
#define MLXCEL_BENCH_BENCH_SUITE_H_

#include "bench/bench_plan.h"
#include "bench/bench_record.h"
#include "mlxcel/mlxcel.h"

typedef struct mlxcel_bench_suite_options_t {
  const mlxcel_bench_plan_t* plan;
  const mlxcel_bench_model_t* models;
  const uint32_t* contexts;        // one for each model
  mlxcel_engine_options_t engine;  // model, threads, context, slots and chunk are set here for each case. |cancelled| also stops measurements, |progress| is
                                   // also called between them; both get |engine.user_data|
  uint32_t repetitions, delay_s;
  bool has_warmup;
  bool has_roofline;        // false: the machine isn't measured, records have no limits and no shares
  uint64_t roofline_bytes;  // of its buffer; 0 = mlxcel_roofline_buffer_bytes of each model
  bool times_dispatches;    // one repetition more of each case, with a profile of its dispatches
  // A finished case; false stops. What the record points to is gone afterwards. An interrupted case comes too if a repetition of it was completed.
  bool (*on_record)(void* user_data, const mlxcel_bench_record_t* record);
  // The engine of the next cases is open; may be NULL.
  void (*on_engine)(void* user_data, const mlxcel_engine_info_t* info);
  void* user_data;
} mlxcel_bench_suite_options_t;

// NULL when every case was measured or |on_record| stopped. Call it while this process has one thread (roofline.h).
mlxcel_error_t* mlxcel_bench_suite_run(const mlxcel_bench_suite_options_t* options);

#endif  // MLXCEL_BENCH_BENCH_SUITE_H_
