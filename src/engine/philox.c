#include "engine/philox.h"

#define PHILOX_ROUNDS 10
#define PHILOX_MULTIPLIER_0 0xD2511F53u
#define PHILOX_MULTIPLIER_1 0xCD9E8D57u
#define PHILOX_WEYL_0 0x9E3779B9u  // golden ratio
#define PHILOX_WEYL_1 0xBB67AE85u  // sqrt(3) - 1

void mlxcel_philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out_words[4]) {
  uint32_t words[4] = {counter[0], counter[1], counter[2], counter[3]};
  uint32_t round_key[2] = {key[0], key[1]};
  for (int round = 0; round < PHILOX_ROUNDS; ++round) {
    uint64_t product_0 = (uint64_t)PHILOX_MULTIPLIER_0 * words[0];
    uint64_t product_1 = (uint64_t)PHILOX_MULTIPLIER_1 * words[2];
    words[0] = (uint32_t)(product_1 >> 32) ^ words[1] ^ round_key[0];
    words[1] = (uint32_t)product_1;
    words[2] = (uint32_t)(product_0 >> 32) ^ words[3] ^ round_key[1];
    words[3] = (uint32_t)product_0;
    round_key[0] += PHILOX_WEYL_0;
    round_key[1] += PHILOX_WEYL_1;
  }
  for (int i = 0; i < 4; ++i) out_words[i] = words[i];
}

uint64_t mlxcel_philox_bits(uint64_t seed, uint64_t stream, uint64_t index) {
  const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t words[4];
  mlxcel_philox_block(counter, key, words);
  return ((uint64_t)words[1] << 32) | words[0];
}
