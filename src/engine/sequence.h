// sequence.h: one timeline of tokens in one KV slot: prompt in, tokens and text out.
//
// Invariant: the first |kv_count| positions of the slot hold K and V of kv_ids; after an error or a cancellation what was written completely still counts.
// A sequence belongs to one thread at a time; backend and token text are borrowed. Nothing is allocated per token once the buffers have grown.
#ifndef MLXCEL_ENGINE_SEQUENCE_H_
#define MLXCEL_ENGINE_SEQUENCE_H_

#include "engine/backend.h"
#include "engine/generation_defaults.h"
#include "mlxcel/mlxcel.h"

// Text of generated tokens, one after the other; views are valid until the next call. The real one is a detokenizer.
typedef struct mlxcel_token_text_t {
  void* self;
  iree_status_t (*push)(void* self, int32_t token, iree_string_view_t* out_text);  // complete UTF-8, possibly empty
  iree_status_t (*flush)(void* self, iree_string_view_t* out_text);                // what was still incomplete
} mlxcel_token_text_t;

typedef struct mlxcel_sequence_options_t {
  uint32_t slot;           // KV slot, below the backend's slot_count
  uint32_t prefill_chunk;  // rows a prefill call takes at most; 0 = as many as the backend does
  mlxcel_eos_set_t eos;
} mlxcel_sequence_options_t;

typedef struct mlxcel_sequence_t mlxcel_sequence_t;

iree_status_t mlxcel_sequence_create(const mlxcel_backend_t* backend, const mlxcel_sequence_options_t* options, mlxcel_sequence_t** out_sequence);
void mlxcel_sequence_release(mlxcel_sequence_t* sequence);

// Runs |request| to its end. Prompt and generated tokens together fill at most the context; the last generated token isn't run through the model. Order of
// ends: an EOS token (unless ignored), a stop string, max_tokens or a full context, a cancellation. The text is what the events carried, joined: after a
// cancellation nothing held back is shown. With max_tokens 0 nothing runs. *out_result is zeroed on error, else released by the caller.
iree_status_t mlxcel_sequence_generate(mlxcel_sequence_t* sequence, const mlxcel_request_t* request, const mlxcel_token_text_t* token_text,
                                       mlxcel_result_t* out_result);

// What the last generate call was at when it ended: "request", "prefill", "decode", "sample", "text". Static storage.
const char* mlxcel_sequence_stage(const mlxcel_sequence_t* sequence);
// Tokens whose K and V the slot holds.
uint32_t mlxcel_sequence_kv_count(const mlxcel_sequence_t* sequence);

#endif  // MLXCEL_ENGINE_SEQUENCE_H_
