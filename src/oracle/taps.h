// taps.h: a model's intermediate values: what every operation of every layer gives for a prompt, written as a safetensors file in the values' own dtypes. The
// module is a variant of prefill that returns them all; `mlxcel taps` compares models with it. A developer's measuring tool outside of the capability gate: it
// runs under any profile that runs models, with or without evidence.
#ifndef MLXCEL_ORACLE_TAPS_H_
#define MLXCEL_ORACLE_TAPS_H_

#include "base/base.h"

// The rows of one tapped call: every tapped value of every layer is held at once.
#define MLXCEL_TAPS_ROWS_MAX 128u

typedef struct mlxcel_taps_options_t {
  const char* model_folder;
  const char* profile;       // NULL = "pinned-f32"
  const char* device;        // NULL = "local-task"
  const char* cpu_level;     // NULL = best
  const char* cache_folder;  // NULL = default
  const char* compiler;
  uint32_t threads;  // 0 = all
  const int32_t* ids;
  size_t id_count;  // 1 to MLXCEL_TAPS_ROWS_MAX
  const char* output_path;
} mlxcel_taps_options_t;

// Runs the prompt once and publishes the file: tensors "embedding", "layers.<i>.<input_norm | keys, values (profiles that compute
// them by themselves) | queries | attention | attention_residual | post_norm | gated |
// output>", "norm", "logits", each [ids, width].
iree_status_t mlxcel_taps_write(const mlxcel_taps_options_t* options);

#endif  // MLXCEL_ORACLE_TAPS_H_
