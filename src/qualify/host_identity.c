#include "qualify/host_identity.h"

#include <cpuid.h>
#include <string.h>

#include "kernels/host/host_kernels.h"

#define PROBE_VALUES 2048  // over all binades that matter, and below a millisecond

// Floats of both signs from 2^-20 to 2^7, fractions spread by a multiplication: tanhf has its branches below 2^5, powf takes them all.
static void fill_values(float values[PROBE_VALUES]) {
  for (uint32_t i = 0; i < PROBE_VALUES; ++i) {
    uint32_t mixed = i * 0x9e3779b9u;
    uint32_t bits = (i & 1u) << 31 | (107u + i % 28u) << 23 | mixed >> 9;
    memcpy(&values[i], &bits, sizeof(bits));
  }
}

static void probe_function(int32_t function, float exponent, const float* values, mlxcel_sha256_t* hash) {
  float results[PROBE_VALUES] = {0};
  mlxcel_host_unary((const uint8_t*)values, 0, (uint8_t*)results, 0, function, PROBE_VALUES, MLXCEL_FORMAT_F32, exponent, 0, 1);
  for (size_t i = 0; i < PROBE_VALUES; ++i) {
    if (results[i] != results[i]) memset(&results[i], 0xff, sizeof(results[i]));  // any NaN is a NaN
  }
  mlxcel_sha256_update(hash, results, sizeof(results));
}

iree_status_t mlxcel_host_probe_digest(mlxcel_sha256_hex_t* out_digest) {
  static const float exponents[] = {2.0f, 3.0f, -0.5f, 0.33333334f};
  memset(out_digest, 0, sizeof(*out_digest));
  float values[PROBE_VALUES];
  fill_values(values);
  mlxcel_sha256_t hash;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  probe_function(MLXCEL_HOST_TANH, 0, values, &hash);
  for (size_t i = 0; i < sizeof(exponents) / sizeof(exponents[0]); ++i) probe_function(MLXCEL_HOST_POWER, exponents[i], values, &hash);
  mlxcel_sha256_finish(&hash, out_digest);
  return iree_ok_status();
}

// Registers that say what the processor is; those that say which core answers, and how it is configured, are left out.
#define WORDS 12

static void processor_words(uint32_t words[WORDS]) {
  uint32_t a = 0, b = 0, c = 0, d = 0;
  memset(words, 0, WORDS * sizeof(*words));
  if (__get_cpuid(0, &a, &words[0], &words[1], &words[2])) {                                      // vendor
    if (__get_cpuid(1, &words[3], &b, &words[4], &words[5])) words[4] &= ~(uint32_t)bit_OSXSAVE;  // family, model, stepping; features
  }
  if (__get_cpuid_count(7, 0, &a, &words[6], &words[7], &words[8])) __get_cpuid_count(7, 1, &words[9], &b, &c, &d);
  __get_cpuid(0x80000001u, &a, &b, &words[10], &words[11]);
}

iree_status_t mlxcel_host_digest(const char* probe, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  uint32_t words[WORDS];
  processor_words(words);
  mlxcel_sha256_t hash;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  mlxcel_sha256_update(&hash, words, sizeof(words));
  mlxcel_sha256_update_field(&hash, iree_make_cstring_view(probe));
  mlxcel_sha256_finish(&hash, out_digest);
  return iree_ok_status();
}
