// gguf_model.h: what the parts of the GGUF importer hand to each other. Internal to the importer.
//
// The order is: llama (hyperparameters from the metadata), plan (which output tensor comes from which tensor of the file), tokenizer, then the JSON
// files. Everything is checked before the first byte is written. None of this is thread-safe; one import uses one thread.
#ifndef MLXCEL_CHECKPOINT_GGUF_MODEL_H_
#define MLXCEL_CHECKPOINT_GGUF_MODEL_H_

#include "base/json.h"
#include "checkpoint/gguf_import.h"
#include "checkpoint/gguf_reader.h"
#include "checkpoint/model_config.h"
#include "checkpoint/tensor_dtype.h"

// --- hyperparameters (gguf_llama.c) ------------------------------------------------------------------------------------------------------

// Hyperparameters of general.architecture = llama, each within base/limits.h; head_count * head_dim and the like can't overflow.
typedef struct mlxcel_gguf_llama_t {
  uint64_t layer_count, hidden_size, intermediate_size, vocab_size;
  uint64_t head_count, kv_head_count, head_dim;
  uint64_t context_length;
  double rms_norm_eps;
  mlxcel_rope_config_t rope;  // LLAMA3 only after mlxcel_gguf_rope_read_factors
} mlxcel_gguf_llama_t;

// Refuses other architectures, every llama.* key that isn't understood (by key and value), split files and adapters.
iree_status_t mlxcel_gguf_llama_read(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* out_llama);

// Recognizes the per-frequency factors of rope_freqs.weight (gguf_rope.c): all ones change nothing, those of a llama3 scaling set |llama->rope|,
// anything else is refused by name.
iree_status_t mlxcel_gguf_rope_read_factors(const mlxcel_gguf_t* file, const mlxcel_gguf_tensor_t* tensor, mlxcel_gguf_llama_t* llama);

// --- weights (gguf_plan.c, gguf_convert.c) -----------------------------------------------------------------------------------------------

typedef enum mlxcel_gguf_part_e {
  MLXCEL_GGUF_PART_DENSE,   // rows as they are
  MLXCEL_GGUF_PART_F32,     // F32, F16 or BF16 widened to F32
  MLXCEL_GGUF_PART_CODES,   // U32: packed codes
  MLXCEL_GGUF_PART_SCALES,  // F16
  MLXCEL_GGUF_PART_BIASES,  // F16
} mlxcel_gguf_part_t;

// One tensor of model.safetensors, seen as |row_count| rows of |row_bytes|.
typedef struct mlxcel_gguf_output_t {
  char name[96];  // "model.layers.1023.post_attention_layernorm.weight" is the longest kind
  mlxcel_tensor_dtype_t dtype;
  uint32_t rank;  // 1 or 2
  uint64_t shape[2];
  uint64_t row_count, row_bytes;
  uint64_t byte_count;
  const mlxcel_gguf_tensor_t* source;
  mlxcel_gguf_part_t part;
  uint64_t rope_head_dim;  // not 0: rows of each head are interleaved for RoPE in the file and are put apart here
} mlxcel_gguf_output_t;

typedef struct mlxcel_gguf_plan_t {
  size_t output_count;
  mlxcel_gguf_output_t* outputs;  // in file order: sizes that are multiples of 64 first, then by name
  uint64_t byte_count;            // of all outputs together
  bool tie_word_embeddings, attention_bias, mlp_bias;
  uint32_t base_bits;  // 0: nothing is quantized
} mlxcel_gguf_plan_t;

// Maps every tensor of the file; one that has no place, or a missing one, is an error that names it. May set |llama->rope|. |*out_plan| refers to
// |file| and is freed with mlxcel_gguf_plan_deinitialize.
iree_status_t mlxcel_gguf_plan_initialize(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* llama, mlxcel_gguf_plan_t* out_plan);
void mlxcel_gguf_plan_deinitialize(mlxcel_gguf_plan_t* plan);
// Bits of a quantized tensor type, 0 for dense ones.
uint32_t mlxcel_gguf_tensor_type_bits(mlxcel_gguf_tensor_type_t type);

// Writes rows |first_row| to |first_row + count - 1| of |output| to |buffer| (count * row_bytes). A scale that isn't finite, or whose bias is no
// finite f16, is an error that names the tensor.
iree_status_t mlxcel_gguf_output_fill(const mlxcel_gguf_t* file, const mlxcel_gguf_output_t* output, uint64_t first_row, uint64_t count, uint8_t* buffer);

// --- tokenizer (gguf_tokenizer.c, gguf_pretokenizer.c) -----------------------------------------------------------------------------------

#define MLXCEL_GGUF_EOS_IDS_MAX 8u  // three keys and the known end-of-turn names

typedef struct mlxcel_gguf_tokenizer_t {
  json_t* tokenizer;         // tokenizer.json
  json_t* tokenizer_config;  // tokenizer_config.json
  int64_t bos_id, pad_id;    // -1 = absent
  int64_t eos_id;            // -1 = absent; tokenizer.ggml.eos_token_id
  size_t eos_count;
  uint32_t eos_ids[MLXCEL_GGUF_EOS_IDS_MAX];  // every id that ends an answer, ascending; holds eos_id
} mlxcel_gguf_tokenizer_t;

iree_status_t mlxcel_gguf_tokenizer_initialize(const mlxcel_gguf_t* file, const mlxcel_gguf_llama_t* llama, mlxcel_gguf_tokenizer_t* out_tokenizer);
void mlxcel_gguf_tokenizer_deinitialize(mlxcel_gguf_tokenizer_t* tokenizer);

typedef struct mlxcel_gguf_pretokenizer_t {
  json_t* json;        // tokenizer.json's pre_tokenizer; owned by the caller
  bool ignore_merges;  // a pre-token that is in the vocabulary is taken whole
  bool adds_bos;       // what holds when tokenizer.ggml.add_bos_token is absent
} mlxcel_gguf_pretokenizer_t;
// By the name in tokenizer.ggml.pre; others are refused with the list of known ones.
iree_status_t mlxcel_gguf_pretokenizer_create(const mlxcel_gguf_t* file, iree_string_view_t name, mlxcel_gguf_pretokenizer_t* out_pretokenizer);

// --- JSON files (gguf_config.c) ----------------------------------------------------------------------------------------------------------

iree_status_t mlxcel_gguf_config_create(const mlxcel_gguf_t* file, const mlxcel_gguf_llama_t* llama, const mlxcel_gguf_plan_t* plan,
                                        const mlxcel_gguf_tokenizer_t* tokenizer, json_t** out_config);
iree_status_t mlxcel_gguf_generation_config_create(const mlxcel_gguf_t* file, const mlxcel_gguf_tokenizer_t* tokenizer, json_t** out_config);

// --- output (gguf_writer.c) --------------------------------------------------------------------------------------------------------------

// Writes model.safetensors at |path| and syncs it. Every tensor whose size allows it starts at a multiple of 64 bytes.
iree_status_t mlxcel_gguf_weights_write(const mlxcel_gguf_t* file, const mlxcel_gguf_plan_t* plan, const char* path,
                                        const mlxcel_gguf_import_options_t* options);
// True if |path| is a safetensors file that mlxcel_gguf_weights_write made.
bool mlxcel_gguf_weights_are_ours(const char* path);

#endif  // MLXCEL_CHECKPOINT_GGUF_MODEL_H_
