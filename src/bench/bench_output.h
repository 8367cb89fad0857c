// bench_output.h: records as text, one after the other, in the formats of llama-bench.
//
// md: a table whose rows appear as they are measured, then a paragraph for each engine; csv: a header and quoted values, without the lists; json: an array;
// jsonl: an object a line. The text is complete after mlxcel_bench_output_end, however many records there were.
#ifndef MLXCEL_BENCH_BENCH_OUTPUT_H_
#define MLXCEL_BENCH_BENCH_OUTPUT_H_

#include "base/strbuf.h"
#include "bench/bench_record.h"

typedef enum mlxcel_bench_format_e { MLXCEL_BENCH_MD, MLXCEL_BENCH_CSV, MLXCEL_BENCH_JSON, MLXCEL_BENCH_JSONL } mlxcel_bench_format_t;

// The format called |name| ("md", "csv", "json", "jsonl").
mlxcel_bench_format_t mlxcel_bench_format_of(const char* name);

typedef struct mlxcel_bench_output_t {
  mlxcel_bench_format_t format;
  bool shows_batch, shows_parallel;  // columns of the table that some case needs
  size_t count;
  mlxcel_strbuf_t text;     // what the caller prints and clears after each call
  mlxcel_strbuf_t engines;  // md: the paragraphs of engines that are done
  mlxcel_strbuf_t engine;   // md: the paragraph of the last record's engine, and the peak so far
  uint64_t engine_peak_bytes;
  mlxcel_strbuf_t dispatches;  // md: the tables of cases whose dispatches were timed
} mlxcel_bench_output_t;

// |plan| tells which columns the table has.
void mlxcel_bench_output_initialize(mlxcel_bench_format_t format, const mlxcel_bench_plan_t* plan, mlxcel_bench_output_t* out_output);
void mlxcel_bench_output_deinitialize(mlxcel_bench_output_t* output);
// RESOURCE_EXHAUSTED without memory.
iree_status_t mlxcel_bench_output_add(mlxcel_bench_output_t* output, const mlxcel_bench_record_t* record);
iree_status_t mlxcel_bench_output_end(mlxcel_bench_output_t* output);

// The roofline alone. |bytes| and |repetitions|: what it was measured with. As JSON: {"buffer_bytes", "repetitions", "rows": [{"threads", "avx2": {"read_gb_s",
// "f32_fma_gflop_s"}, "avx512": {...}}]}.
iree_status_t mlxcel_bench_output_roofline(mlxcel_bench_format_t format, uint64_t bytes, uint32_t repetitions, size_t row_count,
                                           const mlxcel_roofline_row_t* rows, mlxcel_strbuf_t* text);

#endif  // MLXCEL_BENCH_BENCH_OUTPUT_H_
