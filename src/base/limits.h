// limits.h: every bound of the project, each with its reason. Nothing that comes from a file, socket or flag is allocated or iterated
// without one of these.
#ifndef MLXCEL_BASE_LIMITS_H_
#define MLXCEL_BASE_LIMITS_H_

// --- files -------------------------------------------------------------------------------------------------------------------------------
#define MLXCEL_SAFETENSORS_HEADER_BYTES_MAX 100000000u  // the reference implementation's own limit
#define MLXCEL_CONFIG_FILE_BYTES_MAX (16u << 20)        // config.json and its kin are kilobytes; quantization tables reach a megabyte
#define MLXCEL_INDEX_FILE_BYTES_MAX (64u << 20)         // model.safetensors.index.json: a hundred bytes a tensor
#define MLXCEL_TOKENIZER_FILE_BYTES_MAX (256u << 20)    // the largest public tokenizer.json is about 35 MB
#define MLXCEL_MANIFEST_FILE_BYTES_MAX (1u << 20)       // ours: a few kilobytes
#define MLXCEL_VMFB_BYTES_MAX (1u << 30)                // ours hold no weights: below a megabyte
#define MLXCEL_PATH_BYTES_MAX 4096u                     // PATH_MAX on Linux
#define MLXCEL_JSON_DEPTH_MAX 64                        // configs nest 5 deep; deeper input only exhausts a stack
#define MLXCEL_SHARD_COUNT_MAX 4096u                    // the largest public checkpoint has under 200
#define MLXCEL_TENSOR_COUNT_MAX (1u << 20)              // stacked or not, no public model reaches 100,000
#define MLXCEL_TENSOR_RANK_MAX 8u                       // rank 5 is the highest seen in a checkpoint
#define MLXCEL_TENSOR_NAME_BYTES_MAX 1024u              // module paths are below 200 bytes
#define MLXCEL_TEXT_BYTES_MAX (1u << 30)                // any single growable text we build

// --- model dimensions (beyond them 32-bit index arithmetic in kernels and dispatches isn't safe) -------------------------------------------
#define MLXCEL_LAYERS_MAX 1024u
#define MLXCEL_HIDDEN_MAX 65536u
#define MLXCEL_INTERMEDIATE_MAX 262144u
#define MLXCEL_VOCAB_MAX (1u << 22)
#define MLXCEL_HEADS_MAX 1024u
#define MLXCEL_HEAD_DIM_MAX 512u       // attention keeps one head's accumulators on a worker's stack
#define MLXCEL_CONTEXT_MAX (1u << 24)  // positions travel as i32 and scale by head_dim
#define MLXCEL_THREADS_MAX 256u        // IREE cuts larger groups silently
#define MLXCEL_EOS_IDS_MAX 64u         // public lists hold up to 7
#define MLXCEL_STOP_STRINGS_MAX 64u
#define MLXCEL_STOP_STRING_BYTES_MAX 4096u

#endif  // MLXCEL_BASE_LIMITS_H_
