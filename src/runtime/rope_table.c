#include "runtime/rope_table.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925286766559

static double llama3_frequency(const mlxcel_rope_config_t* config, double frequency) {
  double wavelength = TWO_PI / frequency;
  double low = config->original_max_position_embeddings / config->low_freq_factor;
  double high = config->original_max_position_embeddings / config->high_freq_factor;
  if (wavelength < high) return frequency;
  if (wavelength > low) return frequency / config->factor;
  double smooth = (config->original_max_position_embeddings / wavelength - config->low_freq_factor) / (config->high_freq_factor - config->low_freq_factor);
  return (1.0 - smooth) * frequency / config->factor + smooth * frequency;
}

void mlxcel_rope_frequencies(const mlxcel_rope_config_t* config, uint32_t width, double* out_frequencies) {
  for (uint32_t i = 0; i < width; ++i) {
    double frequency = pow(config->theta, -(double)i / (double)width);
    if (config->kind == MLXCEL_ROPE_LINEAR) frequency /= config->factor;
    if (config->kind == MLXCEL_ROPE_LLAMA3) frequency = llama3_frequency(config, frequency);
    out_frequencies[i] = frequency;
  }
}

void mlxcel_rope_rows(const double* frequencies, uint32_t width, uint32_t begin, uint32_t end, float* cos_table, float* sin_table) {
  for (uint32_t position = begin; position < end; ++position) {
    for (uint32_t i = 0; i < width; ++i) {
      double angle = (double)position * frequencies[i];
      cos_table[(size_t)position * width + i] = (float)cos(angle);
      sin_table[(size_t)position * width + i] = (float)sin(angle);
    }
  }
}
