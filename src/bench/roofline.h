// roofline.h: what this machine can do at most, measured: bytes read from memory a second and f32 multiply-adds a second by a number of threads, each pinned
// to a processor of its own.
//
// Reading: the threads share one buffer (as large as small weights: what the last cache keeps between two passes counts, as it does for an engine) and each
// reads its own part over and over. Multiply-adds: independent chains in registers, enough of them to hide the latency. The best repetition counts: this is a
// limit, and noise only ever lowers it.
//
// The measurement runs in a process of its own, so that its buffer doesn't count in this one's peak memory. It is made by fork: call it while this process has
// one thread.
#ifndef MLXCEL_BENCH_ROOFLINE_H_
#define MLXCEL_BENCH_ROOFLINE_H_

#include "base/base.h"

#define MLXCEL_ROOFLINE_THREADS_MAX 256u                                         // as many as an engine may have
#define MLXCEL_ROOFLINE_BYTES_MIN ((uint64_t)MLXCEL_ROOFLINE_THREADS_MAX * 512)  // one round of the read loop for each thread
#define MLXCEL_ROOFLINE_BYTES_MAX ((uint64_t)16 << 30)                           // the buffer is resident; more tells nothing new
#define MLXCEL_ROOFLINE_BYTES_DEFAULT ((uint64_t)256 << 20)                      // far beyond what few processors share of a cache, read in tens of ms
#define MLXCEL_ROOFLINE_REPETITIONS_MAX 1000u
#define MLXCEL_ROOFLINE_REPETITIONS_DEFAULT 40u  // about a second for each width and number of threads
#define MLXCEL_ROOFLINE_WIDTHS 2u                // AVX2 and AVX-512

typedef struct mlxcel_roofline_options_t {
  uint32_t threads;                    // 1 to mlxcel_roofline_processor_count()
  uint64_t buffer_bytes;               // within MLXCEL_ROOFLINE_BYTES_MIN and _MAX
  uint32_t repetitions;                // 1 to MLXCEL_ROOFLINE_REPETITIONS_MAX
  bool (*cancelled)(void* user_data);  // asked when a signal arrives; true ends with CANCELLED; may be NULL
  void* user_data;
} mlxcel_roofline_options_t;

typedef struct mlxcel_roofline_width_t {
  char name[8];            // "avx2", "avx512"
  double read_gb_s;        // 10^9 bytes a second, of all threads together
  double f32_fma_gflop_s;  // 10^9 operations a second, a multiply-add counts as two
} mlxcel_roofline_width_t;

typedef struct mlxcel_roofline_row_t {
  uint32_t threads;
  uint32_t width_count;  // those that this processor has; 0 on one without AVX2
  mlxcel_roofline_width_t widths[MLXCEL_ROOFLINE_WIDTHS];
} mlxcel_roofline_row_t;

// How many processors this process may use, at most MLXCEL_ROOFLINE_THREADS_MAX; at least 1.
uint32_t mlxcel_roofline_processor_count(void);

// The buffer for an engine that reads |weight_bytes| a step: as many, within MLXCEL_ROOFLINE_BYTES_MIN and _DEFAULT. Larger weights are no faster to read than
// a buffer that no cache holds, so they need no larger one.
uint64_t mlxcel_roofline_buffer_bytes(uint64_t weight_bytes);

// INVALID_ARGUMENT for options out of range, RESOURCE_EXHAUSTED without memory or threads, CANCELLED.
iree_status_t mlxcel_roofline_measure(const mlxcel_roofline_options_t* options, mlxcel_roofline_row_t* out_row);

// The best of both kinds over the widths that kernels of |cpu_level| ("v3", "v4") use; 0 where there is none.
void mlxcel_roofline_best(const mlxcel_roofline_row_t* row, const char* cpu_level, double* out_read_gb_s, double* out_fma_gflop_s);

#endif  // MLXCEL_BENCH_ROOFLINE_H_
