// gguf_limits.h: bounds of the GGUF reader and importer, each with its reason. They complement base/limits.h.
#ifndef MLXCEL_CHECKPOINT_GGUF_LIMITS_H_
#define MLXCEL_CHECKPOINT_GGUF_LIMITS_H_

#define MLXCEL_GGUF_FILE_BYTES_MAX (UINT64_C(1) << 42)  // 4 TiB: ten times the largest public checkpoint
#define MLXCEL_GGUF_KEY_COUNT_MAX 65536u                // files hold 20 to 200 keys
#define MLXCEL_GGUF_KEY_BYTES_MAX 1024u                 // the longest keys in use are below 100 bytes
#define MLXCEL_GGUF_TENSOR_NAME_BYTES_MAX 64u           // the format's own limit
#define MLXCEL_GGUF_TENSOR_RANK_MAX 4u                  // the format's own limit
#define MLXCEL_GGUF_ALIGNMENT_MAX (1u << 20)            // 32 in practice; a page or a huge page at most
#define MLXCEL_GGUF_TOKEN_BYTES_MAX 4096u               // the longest tokens in use are runs of a few hundred spaces
#define MLXCEL_GGUF_MERGE_COUNT_MAX (1u << 22)          // a merge makes one token, so no more than MLXCEL_VOCAB_MAX
#define MLXCEL_GGUF_CHAT_TEMPLATE_BYTES_MAX (1u << 20)  // the longest templates in use are about 30 KB
#define MLXCEL_GGUF_COPY_BYTES (1u << 20)               // the writer's buffer: large enough for full write speed

#endif  // MLXCEL_CHECKPOINT_GGUF_LIMITS_H_
