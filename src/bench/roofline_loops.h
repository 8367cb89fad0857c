// roofline_loops.h: the two loops of the roofline in each vector width. Compiled for its width by attributes, so check the processor first.
#ifndef MLXCEL_BENCH_ROOFLINE_LOOPS_H_
#define MLXCEL_BENCH_ROOFLINE_LOOPS_H_

#include "base/base.h"

enum {
  MLXCEL_ROOFLINE_READ_STEP = 512,  // bytes of one round of a read loop: eight cache lines
  MLXCEL_ROOFLINE_FMA_CHAINS = 12,  // latency of 4 cycles, 2 issued a cycle: 8 chains would do, 16 registers hold 12 and the two constants
};

typedef struct mlxcel_roofline_loops_t {
  const char* name;
  size_t lanes;                                      // floats of a register
  uint64_t (*read)(const char* data, size_t bytes);  // |data| is aligned to 64 bytes, |bytes| a multiple of MLXCEL_ROOFLINE_READ_STEP
  float (*fma)(size_t rounds);                       // each round: MLXCEL_ROOFLINE_FMA_CHAINS multiply-adds of |lanes| floats
} mlxcel_roofline_loops_t;

// The index-th that this processor can run; NULL behind the last.
const mlxcel_roofline_loops_t* mlxcel_roofline_loops_at(size_t index);

#endif  // MLXCEL_BENCH_ROOFLINE_LOOPS_H_
