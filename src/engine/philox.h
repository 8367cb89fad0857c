// philox.h: Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
//
// A draw is a pure function of seed, stream and draw number: no state is shared or carried, so a request draws the same numbers alone or among
// others, and streams never overlap. Pure functions: any thread.
#ifndef MLXCEL_ENGINE_PHILOX_H_
#define MLXCEL_ENGINE_PHILOX_H_

#include <stdint.h>

#define MLXCEL_PHILOX_NAME "philox4x32-10"

// One block of the generator: four words from a counter and a key, word 0 the least significant.
void mlxcel_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out_words[4]);

// Draw number |index| of |stream| under |seed|: 64 even bits. Key = seed, counter = (index, stream); words 0 and 1 of the block.
uint64_t mlxcel_philox_bits(uint64_t seed, uint64_t stream, uint64_t index);

#endif  // MLXCEL_ENGINE_PHILOX_H_
