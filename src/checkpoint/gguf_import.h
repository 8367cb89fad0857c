// gguf_import.h: GGUF -> checkpoint folder (config.json, generation_config.json, tokenizer.json, tokenizer_config.json, model.safetensors).
//
// Q4_0, Q4_1, Q8_0 become MLX affine (4 or 8 bits, group 32), F16, F32, BF16 stay dense; all exact in f32. Norms are written F32. q and k rows of Llama
// files are un-permuted. Nothing of the file is trusted: every count, length and offset is bounded and checked before use. The result appears at once
// (temporary folder, rename) or not at all.
#ifndef MLXCEL_CHECKPOINT_GGUF_IMPORT_H_
#define MLXCEL_CHECKPOINT_GGUF_IMPORT_H_

#include "base/base.h"

typedef struct mlxcel_gguf_import_options_t {
  bool overwrite;                                                                // replace an existing output folder made by an earlier import
  void (*progress)(void* user_data, uint64_t done_bytes, uint64_t total_bytes);  // may be NULL
  bool (*is_cancelled)(void* user_data);  // may be NULL; asked between buffers, true ends the import with CANCELLED and leaves nothing
  void* user_data;
} mlxcel_gguf_import_options_t;
void mlxcel_gguf_import_options_initialize(mlxcel_gguf_import_options_t* out_options);

// Imports |gguf_path| as the folder |out_folder|, whose parents are made as needed. |options| may be NULL. Errors: INVALID_ARGUMENT for a damaged file,
// UNIMPLEMENTED for an architecture, key, tokenizer or tensor type that can't be imported exactly (named, with its value), ALREADY_EXISTS or
// FAILED_PRECONDITION for a folder that mustn't be replaced, CANCELLED, and what the file system says. Imports into different folders may run at the
// same time; of two into the same folder, the later one wins or fails as a whole.
iree_status_t mlxcel_gguf_import(const char* gguf_path, const char* out_folder, const mlxcel_gguf_import_options_t* options);

#endif  // MLXCEL_CHECKPOINT_GGUF_IMPORT_H_
