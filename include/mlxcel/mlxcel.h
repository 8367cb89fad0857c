// mlxcel.h: the public interface of the mlxcel language-model engine.
//
// An engine is a loaded model on a device (thread-safe: calls are serialized inside). A session is one mutable token timeline with its own KV slot; it belongs
// to one thread at a time. Strings are UTF-8, pointer and length where they may hold any byte, NUL-terminated otherwise. Functions that can fail return NULL
// on success or an error that the caller frees with mlxcel_error_free. Structs that a caller fills start with `size`: set by their initializer, so that fields
// may be added at the end.
//
// Stack: kernels run on the thread that opens an engine, which checks them first, and with device "local-sync" on every thread that calls. They take less than
// 450 KiB: give such threads 1 MiB, more than some C libraries' default.
#ifndef MLXCEL_MLXCEL_H_
#define MLXCEL_MLXCEL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- errors ------------------------------------------------------------------------------------------------------------------------------
typedef enum mlxcel_error_code_e {
  MLXCEL_ERROR_INVALID_ARGUMENT = 1,  // the caller's value
  MLXCEL_ERROR_NOT_FOUND,             // a file, tensor, key or device that isn't there
  MLXCEL_ERROR_UNSUPPORTED,           // understood and refused by name
  MLXCEL_ERROR_CORRUPT,               // a file that contradicts itself or its digest
  MLXCEL_ERROR_RESOURCES,             // memory, disk, descriptors
  MLXCEL_ERROR_UNAVAILABLE,           // device, driver or compiler can't be used
  MLXCEL_ERROR_CANCELLED,
  MLXCEL_ERROR_INTERNAL,
} mlxcel_error_code_t;

typedef struct mlxcel_error_t mlxcel_error_t;
mlxcel_error_code_t mlxcel_error_code(const mlxcel_error_t* error);
// "options", "checkpoint", "tokenizer", "emit", "compile", "capability", "device", "load", "session", "request", "prefill", "decode", "sample", "text", "chat
// template", "import".
const char* mlxcel_error_stage(const mlxcel_error_t* error);
const char* mlxcel_error_message(const mlxcel_error_t* error);  // cause; then "; " and the remedy
void mlxcel_error_free(mlxcel_error_t* error);

// Several lines: project version, runtime crate and digest, compiler pin, C compiler. Static storage.
const char* mlxcel_version_text(void);

// --- engine ------------------------------------------------------------------------------------------------------------------------------
typedef struct mlxcel_engine_t mlxcel_engine_t;

typedef struct mlxcel_engine_options_t {
  size_t size;
  const char* model_folder;  // required
  const char* device;        // NULL = "local-task"
  const char* profile;       // NULL = "pinned-f32"
  const char* precision;     // NULL = "f32"
  const char* cache_folder;  // NULL = $XDG_CACHE_HOME/mlxcel
  const char* compiler;      // NULL = the one the build knows
  const char* cpu_level;     // NULL = best of this processor; "v3", "v4"
  uint32_t threads;          // 0 = one for each processor this process may run on; the module is compiled for so many (without a compiler any other serves)
  uint32_t context;          // 0 = the model's limit
  uint32_t slots;            // 0 = 1
  uint32_t prefill_chunk;    // 0 = largest compiled; else prompts are cut into chunks of at most this many tokens
  // Steps of loading ("read checkpoint", "compile", "load"); elapsed seconds of the step. May be NULL. Called on the opening thread.
  void (*progress)(void* user_data, const char* step, double elapsed_seconds);
  // Polled while compiling; true stops with MLXCEL_ERROR_CANCELLED. May be NULL.
  bool (*cancelled)(void* user_data);
  void* user_data;
  // What keys and values are stored as: "f32", "f16", "bf16"; NULL = "f32". f16 and bf16 take half the memory and round each value once. Profile pinned-f32
  // only: elsewhere the checkpoint decides, and any value but NULL is refused.
  const char* kv_dtype;
  // "auto" (NULL): packed weights move onto huge pages while the engine loads, where the machine has them and memory is free; they become this process's own.
  // "off": the mapped files stay, which several processes share.
  const char* huge_pages;
} mlxcel_engine_options_t;
void mlxcel_engine_options_initialize(mlxcel_engine_options_t* out_options);

mlxcel_error_t* mlxcel_engine_open(const mlxcel_engine_options_t* options, mlxcel_engine_t** out_engine);
// Compiles (or finds) the module without loading weights or a device: `mlxcel compile`. |out_cache_hit| may be NULL.
mlxcel_error_t* mlxcel_engine_compile(const mlxcel_engine_options_t* options, bool* out_cache_hit, double* out_compile_seconds);
// All sessions must be closed before.
void mlxcel_engine_close(mlxcel_engine_t* engine);

// --- sampling ----------------------------------------------------------------------------------------------------------------------------
typedef struct mlxcel_logit_bias_t {
  int32_t token;
  float bias;  // added to the raw logit before anything else
} mlxcel_logit_bias_t;

// Order: logit bias, penalties, temperature, top-k, top-p, min-p, draw. Ties go to the lowest id. temperature 0 = greedy.
typedef struct mlxcel_sampling_t {
  size_t size;
  float temperature;
  int32_t top_k;                              // 0 = off
  float top_p;                                // 1 = off
  float min_p;                                // 0 = off
  float repetition_penalty;                   // 1 = off; over prompt and generated tokens
  float presence_penalty, frequency_penalty;  // 0 = off; over generated tokens
  uint64_t seed;                              // of this request's own generator
  uint32_t choice;                            // 0, 1, ...: the choices of one request draw from separate streams of its seed
  const mlxcel_logit_bias_t* logit_bias;
  size_t logit_bias_count;
} mlxcel_sampling_t;
void mlxcel_sampling_initialize(mlxcel_sampling_t* out_sampling);  // greedy, everything off, seed 0
const char* mlxcel_sampling_generator_name(void);                  // "philox4x32-10": the random generator; with seed and choice it fixes every draw

typedef struct mlxcel_engine_info_t {
  const char* model_name;  // last part of the folder's path
  const char* model_type;
  const char* device;
  const char* profile;
  const char* contract_fingerprint;
  const char* cpu_level;
  uint32_t vocab_size, context, model_context, threads;
  uint64_t weight_bytes, kv_bytes, copied_weight_bytes;
  bool cache_hit, has_chat_template;
  double load_seconds, compile_seconds;  // load includes everything from opening to ready, without compiling
  int32_t bos_id;                        // -1 = none
  const int32_t* eos_ids;                // union of config, generation config and tokenizer
  size_t eos_count;
  mlxcel_sampling_t default_sampling;  // from generation_config.json
  const char* kv_dtype;                // "f32", "f16", "bf16": kv_bytes hold keys and values of the whole context of every slot
  uint64_t kv_token_bytes;             // of kv_bytes, those of one position of one slot
} mlxcel_engine_info_t;
// Views into the engine.
const mlxcel_engine_info_t* mlxcel_engine_info(const mlxcel_engine_t* engine);

// --- text --------------------------------------------------------------------------------------------------------------------------------
// |*out_ids| is freed by mlxcel_free. add_special: plain completions true, text rendered by a chat template false. Special tokens spelled out in the text
// become their ids. May be called from callbacks and from any thread, as the two functions below.
mlxcel_error_t* mlxcel_tokenize(mlxcel_engine_t* engine, const char* text, size_t text_size, bool add_special, int32_t** out_ids, size_t* out_count);
mlxcel_error_t* mlxcel_detokenize(mlxcel_engine_t* engine, const int32_t* ids, size_t count, bool skip_special, char** out_text, size_t* out_size);
// |messages_json|: [{"role": ..., "content": ...}, ...]. The text is freed by mlxcel_free.
mlxcel_error_t* mlxcel_chat_render(mlxcel_engine_t* engine, const char* messages_json, bool add_generation_prompt, char** out_text, size_t* out_size);
void mlxcel_free(void* pointer);

// --- generation --------------------------------------------------------------------------------------------------------------------------
typedef struct mlxcel_session_t mlxcel_session_t;
// RESOURCES when all slots are in use.
mlxcel_error_t* mlxcel_session_open(mlxcel_engine_t* engine, mlxcel_session_t** out_session);
void mlxcel_session_close(mlxcel_session_t* session);

typedef enum mlxcel_finish_reason_e { MLXCEL_FINISH_STOP, MLXCEL_FINISH_LENGTH, MLXCEL_FINISH_CANCELLED } mlxcel_finish_reason_t;
const char* mlxcel_finish_reason_name(mlxcel_finish_reason_t reason);  // "stop", "length", "cancelled"

typedef struct mlxcel_event_t {
  int32_t token;     // the token that was drawn; -1 for text flushed at the end
  const char* text;  // complete UTF-8 that may be shown now; may be empty (held back)
  size_t text_size;
  const float* logits;  // the raw row it was drawn from, f32[vocab_size], valid during the call; NULL when flushing
  size_t index;         // 0, 1, ... of the generated token
} mlxcel_event_t;

typedef struct mlxcel_request_t {
  size_t size;
  const int32_t* prompt_ids;
  size_t prompt_count;
  int64_t max_tokens;  // < 0: what the context leaves
  mlxcel_sampling_t sampling;
  const char* const* stops;  // stop strings; never part of the text
  size_t stop_count;
  bool ignore_eos;
  bool (*on_event)(void* user_data, const mlxcel_event_t* event);  // false cancels; may be NULL
  bool (*cancelled)(void* user_data);                              // polled between prefill chunks and steps; may be NULL
  void* user_data;
} mlxcel_request_t;
void mlxcel_request_initialize(mlxcel_request_t* out_request);

typedef struct mlxcel_result_t {
  size_t size;
  int32_t* ids;  // generated tokens, the stop token included
  size_t count;
  char* text;  // without the stop token or string; NUL-terminated
  size_t text_size;
  mlxcel_finish_reason_t finish_reason;
  size_t reused_tokens;  // prompt tokens whose KV was still in the session's slot
  size_t prefill_tokens, decode_tokens;
  double prefill_seconds, decode_seconds, first_token_seconds;
} mlxcel_result_t;
// Frees what a result holds.
void mlxcel_result_release(mlxcel_result_t* result);

// Runs one request in the session's slot. The longest common prefix with what the slot already holds isn't computed again (same bits). The prompt must leave
// room for one token, or INVALID_ARGUMENT says both numbers.
mlxcel_error_t* mlxcel_session_generate(mlxcel_session_t* session, const mlxcel_request_t* request, mlxcel_result_t* out_result);

// --- without an engine ----------------------------------------------------------------------------------------------------------------------
typedef struct mlxcel_import_options_t {
  size_t size;
  bool overwrite;                                                                // replace the folder of an earlier import
  void (*progress)(void* user_data, uint64_t done_bytes, uint64_t total_bytes);  // may be NULL
  bool (*cancelled)(void* user_data);                                            // polled between buffers; true ends with CANCELLED; may be NULL
  void* user_data;
} mlxcel_import_options_t;
void mlxcel_import_options_initialize(mlxcel_import_options_t* out_options);
// GGUF -> checkpoint folder: all of it appears at once, or nothing does. |options| may be NULL.
mlxcel_error_t* mlxcel_import_gguf(const char* gguf_path, const char* out_folder, const mlxcel_import_options_t* options);
// A report on a checkpoint folder, as JSON text (freed by mlxcel_free): config, tensors (name, dtype, shape, bytes, quantization), family, supported, reasons.
mlxcel_error_t* mlxcel_inspect(const char* model_folder, char** out_json);
// Devices that this build knows, as a JSON array of {name, available, detail}.
mlxcel_error_t* mlxcel_devices(char** out_json);

#ifdef __cplusplus
}
#endif
#endif  // MLXCEL_MLXCEL_H_
