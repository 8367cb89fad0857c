// rope_table.h: cosines and sines of the rotary embedding, made on the host in double and rounded once to f32 (in-graph sin and cos are wrong for large
// angles).
//
// Frequencies follow Hugging Face's definitions: theta^(-2i/d) for i < d/2; linear scaling divides them by the factor; llama3 scaling divides those of long
// wavelengths by the factor and interpolates in between. The product position * frequency and its cosine are computed in double.
#ifndef MLXCEL_RUNTIME_ROPE_TABLE_H_
#define MLXCEL_RUNTIME_ROPE_TABLE_H_

#include "checkpoint/model_config.h"

// |width| frequencies (head_dim / 2) into |out_frequencies|.
void mlxcel_rope_frequencies(const mlxcel_rope_config_t* config, uint32_t width, double* out_frequencies);
// Rows [begin, end) of |cos| and |sin|, each f32 [*, width].
void mlxcel_rope_rows(const double* frequencies, uint32_t width, uint32_t begin, uint32_t end, float* cos_table, float* sin_table);

#endif  // MLXCEL_RUNTIME_ROPE_TABLE_H_
