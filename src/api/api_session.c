#include <stdlib.h>

#include "api/api_engine.h"
#include "api/api_error.h"
#include "engine/sequence.h"
#include "tokenizer/detokenizer.h"

struct mlxcel_session_t {
  mlxcel_engine_t* engine;
  uint32_t slot;
  mlxcel_sequence_t* sequence;
};

static iree_status_t api_slot_take(mlxcel_engine_t* engine, uint32_t* out_slot) {
  *out_slot = 0;
  pthread_mutex_lock(&engine->slot_mutex);
  while (*out_slot < engine->slot_count && engine->slot_is_used[*out_slot]) ++*out_slot;
  bool is_found = *out_slot < engine->slot_count;
  if (is_found) engine->slot_is_used[*out_slot] = true;
  pthread_mutex_unlock(&engine->slot_mutex);
  if (is_found) return iree_ok_status();
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "all %u slots of the engine are in use; close a session or open the engine with more slots",
                          engine->slot_count);
}

static void api_slot_return(mlxcel_engine_t* engine, uint32_t slot) {
  pthread_mutex_lock(&engine->slot_mutex);
  engine->slot_is_used[slot] = false;
  pthread_mutex_unlock(&engine->slot_mutex);
}

static iree_status_t api_session_create(mlxcel_engine_t* engine, uint32_t slot, mlxcel_session_t** out_session) {
  mlxcel_session_t* session = calloc(1, sizeof(*session));
  if (!session) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a session; free some memory");
  session->engine = engine;
  session->slot = slot;
  const mlxcel_sequence_options_t options = {.slot = slot, .prefill_chunk = engine->prefill_chunk, .eos = engine->eos};
  iree_status_t status = mlxcel_sequence_create(&engine->backend, &options, &session->sequence);
  if (iree_status_is_ok(status)) {
    *out_session = session;
  } else {
    free(session);
  }
  return status;
}

mlxcel_error_t* mlxcel_session_open(mlxcel_engine_t* engine, mlxcel_session_t** out_session) {
  *out_session = NULL;
  uint32_t slot = 0;
  iree_status_t status = api_slot_take(engine, &slot);
  if (!iree_status_is_ok(status)) return mlxcel_api_error("session", status);
  status = api_session_create(engine, slot, out_session);
  if (!iree_status_is_ok(status)) api_slot_return(engine, slot);
  return mlxcel_api_error("session", status);
}

void mlxcel_session_close(mlxcel_session_t* session) {
  if (!session) return;
  mlxcel_sequence_release(session->sequence);
  api_slot_return(session->engine, session->slot);
  free(session);
}

static iree_status_t api_token_text_push(void* self, int32_t token, iree_string_view_t* out_text) { return mlxcel_detokenizer_push(self, token, out_text); }
static iree_status_t api_token_text_flush(void* self, iree_string_view_t* out_text) { return mlxcel_detokenizer_flush(self, out_text); }

mlxcel_error_t* mlxcel_session_generate(mlxcel_session_t* session, const mlxcel_request_t* request, mlxcel_result_t* out_result) {
  *out_result = (mlxcel_result_t){0};
  mlxcel_engine_t* engine = session->engine;
  mlxcel_detokenizer_options_t options;
  mlxcel_detokenizer_options_initialize(&options);
  options.begins_text = false;  // the text continues the prompt's
  mlxcel_detokenizer_t detokenizer;
  iree_status_t status = mlxcel_detokenizer_initialize(engine->tokenizer, &options, &detokenizer);
  if (!iree_status_is_ok(status)) return mlxcel_api_error("tokenizer", status);
  const mlxcel_token_text_t token_text = {.self = &detokenizer, .push = api_token_text_push, .flush = api_token_text_flush};
  pthread_mutex_lock(&engine->device_mutex);
  status = mlxcel_sequence_generate(session->sequence, request, &token_text, out_result);
  pthread_mutex_unlock(&engine->device_mutex);
  mlxcel_detokenizer_deinitialize(&detokenizer);
  return mlxcel_api_error(mlxcel_sequence_stage(session->sequence), status);
}
