#include "engine/sequence.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "engine/sampler.h"
#include "engine/stop.h"

struct mlxcel_sequence_t {
  mlxcel_backend_t backend;
  mlxcel_eos_set_t eos;
  uint32_t slot;
  uint32_t prefill_chunk;
  uint32_t kv_count;
  int32_t* kv_ids;         // [context]
  int32_t* row_slots;      // [prefill_chunk], all |slot|
  int32_t* row_positions;  // [prefill_chunk]
  float* logits;           // [vocab_size]
  const char* stage;
};

// One generate call.
typedef struct sequence_run_t {
  mlxcel_sequence_t* sequence;
  const mlxcel_request_t* request;
  const mlxcel_token_text_t* token_text;
  mlxcel_sampler_t* sampler;
  mlxcel_stop_t* stop;
  mlxcel_strbuf_t text;  // all that was shown
  int32_t* ids;
  size_t id_count, id_capacity;
  size_t token_limit;
  bool is_finished;
  mlxcel_result_t result;
  iree_time_t start;
} sequence_run_t;

static double sequence_seconds_since(iree_time_t start) { return (double)(iree_time_now() - start) * 1e-9; }

static iree_status_t sequence_allocate(mlxcel_sequence_t* sequence) {
  assert(sequence->backend.context > 0 && sequence->prefill_chunk > 0 && sequence->backend.vocab_size > 0);  // sequence_check_options saw to it
  sequence->kv_ids = calloc(sequence->backend.context, sizeof(*sequence->kv_ids));
  sequence->row_slots = calloc(sequence->prefill_chunk, sizeof(*sequence->row_slots));
  sequence->row_positions = calloc(sequence->prefill_chunk, sizeof(*sequence->row_positions));
  sequence->logits = calloc(sequence->backend.vocab_size, sizeof(*sequence->logits));
  if (!sequence->kv_ids || !sequence->row_slots || !sequence->row_positions || !sequence->logits) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a sequence of %u tokens; ask for a smaller context", sequence->backend.context);
  }
  for (uint32_t i = 0; i < sequence->prefill_chunk; ++i) sequence->row_slots[i] = (int32_t)sequence->slot;
  return iree_ok_status();
}

static iree_status_t sequence_check_options(const mlxcel_backend_t* backend, const mlxcel_sequence_options_t* options) {
  if (backend->context == 0 || backend->vocab_size == 0 || backend->prefill_rows_max == 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the program has context %u, vocabulary %u and prefill rows %u, none may be 0; compile it again",
                            backend->context, backend->vocab_size, backend->prefill_rows_max);
  }
  if (options->slot >= backend->slot_count) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "slot %u is asked for, there are %u; open the engine with more slots", options->slot,
                            backend->slot_count);
  }
  return iree_ok_status();
}

iree_status_t mlxcel_sequence_create(const mlxcel_backend_t* backend, const mlxcel_sequence_options_t* options, mlxcel_sequence_t** out_sequence) {
  *out_sequence = NULL;
  IREE_RETURN_IF_ERROR(sequence_check_options(backend, options));
  mlxcel_sequence_t* sequence = calloc(1, sizeof(*sequence));
  if (!sequence) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a sequence; free some memory");
  uint32_t chunk = options->prefill_chunk;
  sequence->backend = *backend;
  sequence->eos = options->eos;
  sequence->slot = options->slot;
  sequence->prefill_chunk = chunk == 0 || chunk > backend->prefill_rows_max ? backend->prefill_rows_max : chunk;
  sequence->stage = "request";
  iree_status_t status = sequence_allocate(sequence);
  if (iree_status_is_ok(status)) {
    *out_sequence = sequence;
  } else {
    mlxcel_sequence_release(sequence);
  }
  return status;
}

void mlxcel_sequence_release(mlxcel_sequence_t* sequence) {
  if (!sequence) return;
  free(sequence->kv_ids);
  free(sequence->row_slots);
  free(sequence->row_positions);
  free(sequence->logits);
  free(sequence);
}

const char* mlxcel_sequence_stage(const mlxcel_sequence_t* sequence) { return sequence->stage; }
uint32_t mlxcel_sequence_kv_count(const mlxcel_sequence_t* sequence) { return sequence->kv_count; }

static iree_status_t sequence_check_prompt(const mlxcel_sequence_t* sequence, const mlxcel_request_t* request) {
  if (request->prompt_count == 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the prompt has no tokens; give at least one (the model's BOS token for an empty text)");
  }
  if (request->prompt_count >= sequence->backend.context) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "the prompt has %zu tokens, the context holds %u and one must be left for the answer; shorten the prompt or open a larger context",
                            request->prompt_count, sequence->backend.context);
  }
  for (size_t i = 0; i < request->prompt_count; ++i) {
    int32_t id = request->prompt_ids[i];
    if (id < 0 || (uint32_t)id >= sequence->backend.vocab_size) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "prompt token %zu is id %d; ids of this model are 0 to %u", i, id,
                              sequence->backend.vocab_size - 1);
    }
  }
  return iree_ok_status();
}

static iree_status_t sequence_check_request(const mlxcel_sequence_t* sequence, const mlxcel_request_t* request) {
  if (request->size != sizeof(*request)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "the request has size %zu, this library's have %zu; start from mlxcel_request_initialize and rebuild against its header",
                            request->size, sizeof(*request));
  }
  return sequence_check_prompt(sequence, request);
}

static bool sequence_is_cancelled(const sequence_run_t* run) { return run->request->cancelled && run->request->cancelled(run->request->user_data); }

static void sequence_finish(sequence_run_t* run, mlxcel_finish_reason_t reason) {
  run->is_finished = true;
  run->result.finish_reason = reason;
}

// Prompt tokens that needn't run again. The last one always does: its logits are wanted.
static uint32_t sequence_find_reusable(const mlxcel_sequence_t* sequence, const mlxcel_request_t* request) {
  uint32_t limit = (uint32_t)request->prompt_count - 1;
  if (limit > sequence->kv_count) limit = sequence->kv_count;
  uint32_t common = 0;
  while (common < limit && sequence->kv_ids[common] == request->prompt_ids[common]) ++common;
  return common;
}

// Runs the prompt tokens from |sequence->kv_count| on, at most a chunk; |*out_rows| of them.
static iree_status_t sequence_prefill_chunk(mlxcel_sequence_t* sequence, const mlxcel_request_t* request, uint32_t* out_rows) {
  uint32_t first = sequence->kv_count;
  uint32_t left = (uint32_t)request->prompt_count - first;
  uint32_t count = left < sequence->prefill_chunk ? left : sequence->prefill_chunk;
  *out_rows = count;
  for (uint32_t i = 0; i < count; ++i) sequence->row_positions[i] = (int32_t)(first + i);
  const mlxcel_rows_t rows = {.count = count, .tokens = request->prompt_ids + first, .slots = sequence->row_slots, .positions = sequence->row_positions};
  IREE_RETURN_IF_ERROR(sequence->backend.prefill(sequence->backend.self, &rows));
  memcpy(sequence->kv_ids + first, request->prompt_ids + first, count * sizeof(*sequence->kv_ids));
  sequence->kv_count += count;
  return iree_ok_status();
}

// Brings the whole prompt into the slot and the logits of its last row into |sequence->logits|, unless cancelled.
static iree_status_t sequence_prefill(sequence_run_t* run) {
  mlxcel_sequence_t* sequence = run->sequence;
  sequence->stage = "prefill";
  iree_time_t start = iree_time_now();
  sequence->kv_count = sequence_find_reusable(sequence, run->request);
  run->result.reused_tokens = sequence->kv_count;
  uint32_t rows = 0;
  while (sequence->kv_count < run->request->prompt_count) {
    if (sequence_is_cancelled(run)) {
      sequence_finish(run, MLXCEL_FINISH_CANCELLED);
      return iree_ok_status();
    }
    IREE_RETURN_IF_ERROR(sequence_prefill_chunk(sequence, run->request, &rows));
    run->result.prefill_tokens += rows;
  }
  uint32_t last_row = rows - 1;
  IREE_RETURN_IF_ERROR(sequence->backend.head(sequence->backend.self, 1, &last_row, sequence->logits));
  run->result.prefill_seconds = sequence_seconds_since(start);
  return iree_ok_status();
}

// Runs the token drawn last, for the logits of the next.
static iree_status_t sequence_decode(sequence_run_t* run) {
  mlxcel_sequence_t* sequence = run->sequence;
  sequence->stage = "decode";
  int32_t token = run->ids[run->id_count - 1];
  int32_t slot = (int32_t)sequence->slot;
  int32_t position = (int32_t)sequence->kv_count;
  const mlxcel_rows_t rows = {.count = 1, .tokens = &token, .slots = &slot, .positions = &position};
  IREE_RETURN_IF_ERROR(sequence->backend.decode(sequence->backend.self, &rows, sequence->logits));
  sequence->kv_ids[sequence->kv_count++] = token;
  ++run->result.decode_tokens;
  return iree_ok_status();
}

static iree_status_t sequence_append_id(sequence_run_t* run, int32_t token) {
  if (run->id_count == run->id_capacity) {
    size_t capacity = run->id_capacity ? 2 * run->id_capacity : 64;
    int32_t* ids = realloc(run->ids, capacity * sizeof(*ids));
    if (!ids) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu generated tokens; ask for fewer", capacity);
    run->ids = ids;
    run->id_capacity = capacity;
  }
  run->ids[run->id_count++] = token;
  return iree_ok_status();
}

static iree_status_t sequence_sample(sequence_run_t* run, int32_t* out_token) {
  run->sequence->stage = "sample";
  IREE_RETURN_IF_ERROR(mlxcel_sampler_sample(run->sampler, run->sequence->logits, run->sequence->kv_count - 1, out_token));
  mlxcel_sampler_observe_generated(run->sampler, *out_token);
  return sequence_append_id(run, *out_token);
}

// Tells of the text from |first| on; false if the caller wants no more.
static bool sequence_notify(sequence_run_t* run, int32_t token, size_t first) {
  if (!run->request->on_event) return true;
  const mlxcel_event_t event = {
      .token = token,
      .text = run->text.data ? run->text.data + first : "",
      .text_size = run->text.size - first,
      .logits = token >= 0 ? run->sequence->logits : NULL,
      .index = token >= 0 ? run->id_count - 1 : run->id_count,
  };
  return run->request->on_event(run->request->user_data, &event);
}

// Shows |token|, which was just drawn, and decides whether it is the last.
static iree_status_t sequence_take(sequence_run_t* run, int32_t token) {
  run->sequence->stage = "text";
  size_t shown = run->text.size;
  iree_string_view_t piece = iree_string_view_empty();
  if (!run->request->ignore_eos && mlxcel_eos_set_contains(&run->sequence->eos, token)) {
    sequence_finish(run, MLXCEL_FINISH_STOP);
  } else {
    IREE_RETURN_IF_ERROR(run->token_text->push(run->token_text->self, token, &piece));
    if (mlxcel_stop_push(run->stop, piece, &run->text)) {
      sequence_finish(run, MLXCEL_FINISH_STOP);
    } else if (run->id_count == run->token_limit) {
      sequence_finish(run, MLXCEL_FINISH_LENGTH);
    }
  }
  IREE_RETURN_IF_ERROR(mlxcel_strbuf_take_status(&run->text));
  if (!sequence_notify(run, token, shown)) sequence_finish(run, MLXCEL_FINISH_CANCELLED);
  return iree_ok_status();
}

// Shows what was held back for a character or a stop string that will not be completed.
static iree_status_t sequence_flush(sequence_run_t* run) {
  run->sequence->stage = "text";
  size_t shown = run->text.size;
  iree_string_view_t piece = iree_string_view_empty();
  IREE_RETURN_IF_ERROR(run->token_text->flush(run->token_text->self, &piece));
  if (mlxcel_stop_push(run->stop, piece, &run->text)) run->result.finish_reason = MLXCEL_FINISH_STOP;
  mlxcel_stop_flush(run->stop, &run->text);
  IREE_RETURN_IF_ERROR(mlxcel_strbuf_take_status(&run->text));
  if (run->text.size > shown) (void)sequence_notify(run, -1, shown);  // nothing is left to cancel
  return iree_ok_status();
}

// One token: model (but for the first, which the prompt's last row gives), sampler, text.
static iree_status_t sequence_step(sequence_run_t* run) {
  iree_time_t start = iree_time_now();
  bool is_first = run->id_count == 0;
  int32_t token = -1;
  if (!is_first) {
    IREE_RETURN_IF_ERROR(sequence_decode(run));
  }
  IREE_RETURN_IF_ERROR(sequence_sample(run, &token));
  if (is_first) {
    run->result.first_token_seconds = sequence_seconds_since(run->start);
  } else {
    run->result.decode_seconds += sequence_seconds_since(start);
  }
  return sequence_take(run, token);
}

static iree_status_t sequence_loop(sequence_run_t* run) {
  IREE_RETURN_IF_ERROR(sequence_prefill(run));
  while (!run->is_finished) {
    if (sequence_is_cancelled(run)) {
      sequence_finish(run, MLXCEL_FINISH_CANCELLED);
    } else {
      IREE_RETURN_IF_ERROR(sequence_step(run));
    }
  }
  return run->result.finish_reason == MLXCEL_FINISH_CANCELLED ? iree_ok_status() : sequence_flush(run);
}

static iree_status_t sequence_prepare(sequence_run_t* run) {
  const mlxcel_request_t* request = run->request;
  run->sequence->stage = "request";
  IREE_RETURN_IF_ERROR(sequence_check_request(run->sequence, request));
  size_t room = run->sequence->backend.context - request->prompt_count;
  run->token_limit = request->max_tokens < 0 || (uint64_t)request->max_tokens > room ? room : (size_t)request->max_tokens;
  IREE_RETURN_IF_ERROR(mlxcel_stop_create(request->stop_count, request->stops, &run->stop));
  IREE_RETURN_IF_ERROR(mlxcel_sampler_create(&request->sampling, run->sequence->backend.vocab_size, &run->sampler));
  mlxcel_sampler_observe_prompt(run->sampler, request->prompt_ids, request->prompt_count);
  return iree_ok_status();
}

// Hands ids and text over to the result.
static iree_status_t sequence_complete(sequence_run_t* run, mlxcel_result_t* out_result) {
  size_t text_size = run->text.size;
  char* text = mlxcel_strbuf_release(&run->text);
  if (!text) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the result; free some memory");
  *out_result = run->result;
  out_result->size = sizeof(*out_result);
  out_result->ids = run->ids;
  out_result->count = run->id_count;
  out_result->text = text;
  out_result->text_size = text_size;
  run->ids = NULL;
  return iree_ok_status();
}

iree_status_t mlxcel_sequence_generate(mlxcel_sequence_t* sequence, const mlxcel_request_t* request, const mlxcel_token_text_t* token_text,
                                       mlxcel_result_t* out_result) {
  memset(out_result, 0, sizeof(*out_result));
  sequence_run_t run = {.sequence = sequence, .request = request, .token_text = token_text, .start = iree_time_now()};
  mlxcel_strbuf_initialize(&run.text);
  iree_status_t status = sequence_prepare(&run);
  if (iree_status_is_ok(status)) {
    run.result.finish_reason = MLXCEL_FINISH_LENGTH;
    if (run.token_limit > 0) status = sequence_loop(&run);
  }
  if (iree_status_is_ok(status)) status = sequence_complete(&run, out_result);
  mlxcel_sampler_release(run.sampler);
  mlxcel_stop_release(run.stop);
  mlxcel_strbuf_deinitialize(&run.text);
  free(run.ids);
  return status;
}
