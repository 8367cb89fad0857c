// llama.h: Llama and Mistral: pre-norm decoder layers with RMSNorm, rotary embedding, grouped-query attention and a SiLU-gated MLP.
//   x = embed(tokens); for each layer: x = x + o(attention(rope(qkv(norm1(x))))); x = x + down(silu(gate(norm2(x))) * up(norm2(x)));
//   logits = head(norm(x))
#ifndef MLXCEL_FAMILIES_LLAMA_LLAMA_H_
#define MLXCEL_FAMILIES_LLAMA_LLAMA_H_

#include "families/family.h"

iree_status_t mlxcel_llama_emit(const mlxcel_checkpoint_t* checkpoint, const mlxcel_profile_t* profile, const mlxcel_emit_options_t* options,
                                mlxcel_emitted_model_t* out_model);

#endif  // MLXCEL_FAMILIES_LLAMA_LLAMA_H_
