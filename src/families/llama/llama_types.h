// llama_types.h: the dtypes that activations take on their way through the layers, under profiles that compute in the checkpoint's own dtypes.
#ifndef MLXCEL_FAMILIES_LLAMA_LLAMA_TYPES_H_
#define MLXCEL_FAMILIES_LLAMA_LLAMA_TYPES_H_

#include "families/llama/llama_model.h"

// Fills kv_dtype and hidden_dtype of |model|. Under pinned-f32 the caches have |kv_dtype|; other profiles follow every operation's promotion, and any
// |kv_dtype| but F32 (no wish) is INVALID_ARGUMENT. UNIMPLEMENTED, naming the layer: q, k and v of a layer, or gate and up, would meet in different dtypes;
// layers would cache K and V in different dtypes; a rotary scaling or context length that |profile| doesn't define.
iree_status_t mlxcel_llama_check_types(mlxcel_llama_model_t* model, const mlxcel_profile_t* profile, mlxcel_dtype_t kv_dtype);

#endif  // MLXCEL_FAMILIES_LLAMA_LLAMA_TYPES_H_
