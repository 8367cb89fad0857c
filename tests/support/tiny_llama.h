// tiny_llama.h: small Llama checkpoints with values from a seed, written as folders, for tests of what comes behind the checkpoint reader.
//
// A tensor's values depend on its name, the seed and nothing else: two checkpoints that share a tensor's name, shape and storage share its bits.
#ifndef MLXCEL_TESTS_SUPPORT_TINY_LLAMA_H_
#define MLXCEL_TESTS_SUPPORT_TINY_LLAMA_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tiny_override_t {
  const char* path;           // module
  uint32_t bits, group_size;  // bits 0: dense
} tiny_override_t;

typedef struct tiny_llama_t {
  const char* model_type;
  uint32_t layers, hidden, intermediate, heads, kv_heads, head_dim, vocab, context;
  const char* dtype;          // of dense tensors, norms and biases, and of scales and offsets: "F32", "F16", "BF16"
  uint32_t bits, group_size;  // storage of all matrices; bits 0: dense
  size_t override_count;
  const tiny_override_t* overrides;  // modules that are stored otherwise
  bool is_tied, has_head_copy;       // a tied model may still carry its embedding a second time
  bool has_attention_bias, has_mlp_bias;
  const char* left_out;  // tensor that isn't written; NULL: none
  const char* added;     // F32 [4] that no family knows; NULL: none
  bool is_unaligned;     // data begins 8 bytes behind a multiple of 64
  uint32_t seed;
} tiny_llama_t;

// Two layers, untied, dense F32, no biases, every tensor a multiple of 64 bytes.
void tiny_llama_initialize(tiny_llama_t* out_model);
// Writes config.json and model.safetensors into |folder|; fails the test if it can't.
void tiny_llama_write(const tiny_llama_t* model, const char* folder);

#endif  // MLXCEL_TESTS_SUPPORT_TINY_LLAMA_H_
