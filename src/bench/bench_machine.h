// bench_machine.h: what of the machine and of this process belongs beside a number.
#ifndef MLXCEL_BENCH_BENCH_MACHINE_H_
#define MLXCEL_BENCH_BENCH_MACHINE_H_

#include "base/base.h"

#define MLXCEL_BENCH_CPU_BYTES 128u  // the kernel's own field has 64
#define MLXCEL_BENCH_TIME_BYTES 32u

// The processor's name as the kernel gives it; "unknown" where it gives none.
void mlxcel_bench_cpu_name(char buffer[MLXCEL_BENCH_CPU_BYTES]);
// Now, as "2025-06-01T12:00:00Z".
void mlxcel_bench_time_text(char buffer[MLXCEL_BENCH_TIME_BYTES]);
// The largest resident memory since this program began or the last reset, in bytes; 0 without /proc. Not getrusage's: that begins with what the process which
// started this one held, and no reset reaches it.
uint64_t mlxcel_bench_peak_memory(void);
// Begins anew at what is resident now; best effort: where the kernel refuses, the peak stays that of the whole run.
void mlxcel_bench_peak_memory_reset(void);

#endif  // MLXCEL_BENCH_BENCH_MACHINE_H_
