// rope_freqs.weight: one divisor for each rotated pair of dimensions.
#include <math.h>
#include <string.h>

#include "checkpoint/gguf_model.h"

// Every llama3 scaling in use has these; only factor and original context differ.
#define GGUF_LLAMA3_LOW_FREQ_FACTOR 1.0
#define GGUF_LLAMA3_HIGH_FREQ_FACTOR 4.0
#define GGUF_LLAMA3_CONTEXT_MIN 1024u
#define GGUF_LLAMA3_CONTEXT_MAX 1048576u

// How far 1/divisor of a file may be from the formula's value. A converter evaluates it in f32, u = 2^-24: the exponent 2i/d carries a rounding, which
// the power turns into a relative ln(theta) * u; power (2), its reciprocal, the constant 2 pi and the division by it add 5 u, one more is spared. The
// blend is (original/wavelength - low) / (high - low) with original/wavelength <= high = 4, so that is at most 4/3 of it in absolute terms. Subtraction,
// division, mix and reciprocal round four numbers that are at most 1.
static double gguf_llama3_tolerance(const mlxcel_rope_config_t* rope) { return (4.0 / 3.0 * (fabs(log(rope->theta)) + 6.0) + 4.0) * 0x1p-24; }

// 1/divisor of pair |i|, as a llama3 scaling defines it.
static double gguf_llama3_reciprocal(const mlxcel_rope_config_t* rope, uint64_t i, uint64_t head_dim) {
  double wavelength = 2.0 * 3.14159265358979323846 * pow(rope->theta, 2.0 * (double)i / (double)head_dim);
  double original = rope->original_max_position_embeddings;
  if (wavelength < original / rope->high_freq_factor) return 1.0;
  if (wavelength > original / rope->low_freq_factor) return 1.0 / rope->factor;
  double blend = (original / wavelength - rope->low_freq_factor) / (rope->high_freq_factor - rope->low_freq_factor);
  return (1.0 - blend) / rope->factor + blend;
}

static float gguf_rope_factor(const mlxcel_gguf_tensor_t* tensor, uint64_t i) {
  float factor = 0;
  memcpy(&factor, tensor->data + i * sizeof(factor), sizeof(factor));
  return factor;
}

static bool gguf_rope_matches(const mlxcel_gguf_tensor_t* tensor, const mlxcel_rope_config_t* rope, uint64_t head_dim) {
  double tolerance = gguf_llama3_tolerance(rope);
  for (uint64_t i = 0; i < head_dim / 2; ++i) {
    double difference = 1.0 / (double)gguf_rope_factor(tensor, i) - gguf_llama3_reciprocal(rope, i, head_dim);
    if (!(fabs(difference) <= tolerance)) return false;
  }
  return true;
}

static bool gguf_rope_is_neutral(const mlxcel_gguf_tensor_t* tensor, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    if (gguf_rope_factor(tensor, i) != 1.0f) return false;
  }
  return true;
}

// Tries every original context in use. Two that fit differ in no frequency, so the first is as good as the other.
static bool gguf_rope_find_llama3(const mlxcel_gguf_tensor_t* tensor, mlxcel_gguf_llama_t* llama) {
  mlxcel_rope_config_t rope = llama->rope;
  rope.kind = MLXCEL_ROPE_LLAMA3;
  rope.factor = (double)gguf_rope_factor(tensor, llama->head_dim / 2 - 1);  // the longest wavelength
  rope.low_freq_factor = GGUF_LLAMA3_LOW_FREQ_FACTOR;
  rope.high_freq_factor = GGUF_LLAMA3_HIGH_FREQ_FACTOR;
  if (!(rope.factor > 1.0) || !isfinite(rope.factor)) return false;
  for (uint32_t context = GGUF_LLAMA3_CONTEXT_MIN; context <= GGUF_LLAMA3_CONTEXT_MAX; context *= 2) {
    rope.original_max_position_embeddings = (double)context;
    if (!gguf_rope_matches(tensor, &rope, llama->head_dim)) continue;
    llama->rope = rope;
    return true;
  }
  return false;
}

iree_status_t mlxcel_gguf_rope_read_factors(const mlxcel_gguf_t* file, const mlxcel_gguf_tensor_t* tensor, mlxcel_gguf_llama_t* llama) {
  bool is_legal = tensor->type == MLXCEL_GGUF_TENSOR_F32 && tensor->rank == 1 && tensor->shape[0] == llama->head_dim / 2;
  if (!is_legal) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "%s: tensor rope_freqs.weight isn't a vector of %" PRIu64 " F32 elements; the file is damaged or of another kind",
                            mlxcel_gguf_origin(file), llama->head_dim / 2);
  }
  if (gguf_rope_is_neutral(tensor, llama->head_dim / 2)) return iree_ok_status();
  if (llama->rope.kind == MLXCEL_ROPE_DEFAULT && gguf_rope_find_llama3(tensor, llama)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                          "%s: tensor rope_freqs.weight is no llama3 scaling (low 1, high 4, no other scaling beside it); take the model's Hugging Face folder",
                          mlxcel_gguf_origin(file));
}
