#include "checkpoint/checkpoint_gguf_builder.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_test_util.h"

void gguf_builder_initialize(gguf_builder_t* out_builder) {
  memset(out_builder, 0, sizeof(*out_builder));
  memcpy(out_builder->magic, "GGUF", 5);
  out_builder->version = 3;
  out_builder->alignment = 32;
  out_builder->claimed_value_count = out_builder->claimed_tensor_count = UINT64_MAX;
}

void gguf_builder_deinitialize(gguf_builder_t* builder) {
  free(builder->values.data);
  free(builder->tensors.data);
  free(builder->data.data);
}

static void gguf_bytes_append(gguf_bytes_t* bytes, const void* data, size_t size) {
  bytes->data = realloc(bytes->data, bytes->size + size + 1);
  assert_non_null(bytes->data);
  if (data) {
    memcpy(bytes->data + bytes->size, data, size);
  } else {
    memset(bytes->data + bytes->size, 0, size);
  }
  bytes->size += size;
}

static void gguf_bytes_append_u32(gguf_bytes_t* bytes, uint32_t value) { gguf_bytes_append(bytes, &value, sizeof(value)); }
static void gguf_bytes_append_u64(gguf_bytes_t* bytes, uint64_t value) { gguf_bytes_append(bytes, &value, sizeof(value)); }

static void gguf_bytes_append_string(gguf_bytes_t* bytes, const char* text) {
  gguf_bytes_append_u64(bytes, strlen(text));
  gguf_bytes_append(bytes, text, strlen(text));
}

uint8_t* gguf_builder_finish(const gguf_builder_t* builder, size_t* out_size) {
  gguf_bytes_t file = {0};
  gguf_bytes_append(&file, builder->magic, 4);
  gguf_bytes_append_u32(&file, builder->version);
  gguf_bytes_append_u64(&file, builder->claimed_tensor_count == UINT64_MAX ? builder->tensor_count : builder->claimed_tensor_count);
  gguf_bytes_append_u64(&file, builder->claimed_value_count == UINT64_MAX ? builder->value_count : builder->claimed_value_count);
  if (builder->values.size > 0) gguf_bytes_append(&file, builder->values.data, builder->values.size);
  if (builder->tensors.size > 0) gguf_bytes_append(&file, builder->tensors.data, builder->tensors.size);
  if (builder->data.size > 0) {
    gguf_bytes_append(&file, NULL, (builder->alignment - file.size % builder->alignment) % builder->alignment);
    gguf_bytes_append(&file, builder->data.data, builder->data.size);
  }
  uint8_t* exact = test_bytes_copy(file.data, file.size);
  free(file.data);
  *out_size = file.size;
  return exact;
}

char* gguf_builder_write(const gguf_builder_t* builder, const char* folder, const char* name) {
  size_t size = 0;
  char* path = NULL;
  uint8_t* bytes = gguf_builder_finish(builder, &size);
  test_file_write(folder, name, bytes, size);
  free(bytes);
  expect_ok(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  return path;
}

void gguf_add_raw(gguf_builder_t* builder, const char* key, uint32_t type, const void* payload, size_t size) {
  gguf_bytes_append_string(&builder->values, key);
  gguf_bytes_append_u32(&builder->values, type);
  gguf_bytes_append(&builder->values, payload, size);
  ++builder->value_count;
}

void gguf_add_u32(gguf_builder_t* builder, const char* key, uint32_t value) { gguf_add_raw(builder, key, MLXCEL_GGUF_VALUE_U32, &value, sizeof(value)); }
void gguf_add_f32(gguf_builder_t* builder, const char* key, float value) { gguf_add_raw(builder, key, MLXCEL_GGUF_VALUE_F32, &value, sizeof(value)); }
void gguf_add_bool(gguf_builder_t* builder, const char* key, bool value) { gguf_add_raw(builder, key, MLXCEL_GGUF_VALUE_BOOL, &value, 1); }

void gguf_add_string(gguf_builder_t* builder, const char* key, const char* value) {
  gguf_bytes_t payload = {0};
  gguf_bytes_append_string(&payload, value);
  gguf_add_raw(builder, key, MLXCEL_GGUF_VALUE_STRING, payload.data, payload.size);
  free(payload.data);
}

void gguf_add_strings(gguf_builder_t* builder, const char* key, const char* const* values, size_t count) {
  gguf_bytes_t payload = {0};
  gguf_bytes_append_u32(&payload, MLXCEL_GGUF_VALUE_STRING);
  gguf_bytes_append_u64(&payload, count);
  for (size_t i = 0; i < count; ++i) gguf_bytes_append_string(&payload, values[i]);
  gguf_add_raw(builder, key, MLXCEL_GGUF_VALUE_ARRAY, payload.data, payload.size);
  free(payload.data);
}

void gguf_add_i32s(gguf_builder_t* builder, const char* key, const int32_t* values, size_t count) {
  gguf_bytes_t payload = {0};
  gguf_bytes_append_u32(&payload, MLXCEL_GGUF_VALUE_I32);
  gguf_bytes_append_u64(&payload, count);
  gguf_bytes_append(&payload, values, count * sizeof(*values));
  gguf_add_raw(builder, key, MLXCEL_GGUF_VALUE_ARRAY, payload.data, payload.size);
  free(payload.data);
}

void gguf_add_tensor_entry(gguf_builder_t* builder, const char* name, uint32_t type, uint32_t rank, const uint64_t* shape, uint64_t offset) {
  gguf_bytes_append_string(&builder->tensors, name);
  gguf_bytes_append_u32(&builder->tensors, rank);
  for (uint32_t i = 0; i < rank; ++i) gguf_bytes_append_u64(&builder->tensors, shape[rank - 1 - i]);
  gguf_bytes_append_u32(&builder->tensors, type);
  gguf_bytes_append_u64(&builder->tensors, offset);
  ++builder->tensor_count;
}

void gguf_add_tensor(gguf_builder_t* builder, const char* name, uint32_t type, uint32_t rank, const uint64_t* shape, const void* data, size_t size) {
  gguf_bytes_append(&builder->data, NULL, (builder->alignment - builder->data.size % builder->alignment) % builder->alignment);
  gguf_add_tensor_entry(builder, name, type, rank, shape, builder->data.size);
  gguf_bytes_append(&builder->data, data, size);
}

// --- the tiny model ----------------------------------------------------------------------------------------------------------------------

uint8_t* gguf_tiny_matrix(mlxcel_gguf_tensor_type_t type, uint64_t rows, uint64_t columns, size_t* out_size) {
  uint32_t elements = mlxcel_gguf_tensor_type_block_elements(type), bytes = mlxcel_gguf_tensor_type_block_bytes(type);
  *out_size = (size_t)(rows * columns / elements * bytes);
  uint8_t* data = malloc(*out_size);
  assert_non_null(data);
  for (size_t i = 0; i < *out_size; ++i) data[i] = (uint8_t)(i * 37 + i / 251);
  for (size_t i = 0; i < *out_size && elements > 1; i += bytes) {
    uint16_t scale = (uint16_t)(0x2c00u + i % 64), offset = (uint16_t)(0xb000u + i % 128);  // about 0.06 and -0.13
    memcpy(data + i, &scale, sizeof(scale));
    if (type == MLXCEL_GGUF_TENSOR_Q4_1) memcpy(data + i + 2, &offset, sizeof(offset));
  }
  for (size_t i = 0; i < *out_size && elements == 1; i += bytes) data[i + bytes - 1] = (uint8_t)(0x3c + i % 2);  // finite numbers around 1
  return data;
}

static bool gguf_is_skipped(const gguf_tiny_t* options, const char* name) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(options->skip); ++i) {
    if (options->skip[i] && strcmp(options->skip[i], name) == 0) return true;
  }
  return false;
}

static void gguf_add_tiny_tensor(gguf_builder_t* builder, const gguf_tiny_t* options, const char* name, uint64_t rows, uint64_t columns) {
  if (gguf_is_skipped(options, name)) return;
  mlxcel_gguf_tensor_type_t type = columns == 0 ? MLXCEL_GGUF_TENSOR_F32 : options->matrices;
  const uint64_t shape[] = {rows, columns};
  size_t size = 0;
  uint8_t* data = gguf_tiny_matrix(type, rows, columns == 0 ? 1 : columns, &size);
  gguf_add_tensor(builder, name, (uint32_t)type, columns == 0 ? 1 : 2, shape, data, size);
  free(data);
}

static void gguf_add_tiny_tensors(gguf_builder_t* builder, const gguf_tiny_t* options) {
  static const struct {
    const char* name;
    uint64_t rows, columns;
  } weights[] =
      {
          {"token_embd.weight", GGUF_TINY_VOCAB, 32},
          {"output_norm.weight", 32, 0},
          {"blk.0.attn_norm.weight", 32, 0},
          {"blk.0.ffn_norm.weight", 32, 0},
          {"blk.0.attn_q.weight", 32, 32},
          {"blk.0.attn_k.weight", 16, 32},
          {"blk.0.attn_v.weight", 16, 32},
          {"blk.0.attn_output.weight", 32, 32},
          {"blk.0.ffn_gate.weight", 64, 32},
          {"blk.0.ffn_up.weight", 64, 32},
          {"blk.0.ffn_down.weight", 32, 64},
      },
    biases[] = {
        {"blk.0.attn_q.bias", 32, 0},   {"blk.0.attn_k.bias", 16, 0}, {"blk.0.attn_v.bias", 16, 0},   {"blk.0.attn_output.bias", 32, 0},
        {"blk.0.ffn_gate.bias", 64, 0}, {"blk.0.ffn_up.bias", 64, 0}, {"blk.0.ffn_down.bias", 32, 0},
    };
  for (size_t i = 0; i < IREE_ARRAYSIZE(weights); ++i) gguf_add_tiny_tensor(builder, options, weights[i].name, weights[i].rows, weights[i].columns);
  for (size_t i = 0; options->has_biases && i < IREE_ARRAYSIZE(biases); ++i) gguf_add_tiny_tensor(builder, options, biases[i].name, biases[i].rows, 0);
  if (!options->is_tied) gguf_add_tiny_tensor(builder, options, "output.weight", GGUF_TINY_VOCAB, 32);
}

static void gguf_add_tiny_string(gguf_builder_t* builder, const gguf_tiny_t* options, const char* key, const char* value) {
  if (!gguf_is_skipped(options, key)) gguf_add_string(builder, key, value);
}

void gguf_add_tiny(gguf_builder_t* builder, const gguf_tiny_t* options) {
  static const struct {
    const char* key;
    uint32_t value;
  } numbers[] = {
      {"llama.block_count", 1},           {"llama.context_length", 128},      {"llama.embedding_length", GGUF_TINY_HIDDEN},
      {"llama.feed_forward_length", 64},  {"llama.attention.head_count", 2},  {"llama.attention.head_count_kv", 1},
      {"llama.rope.dimension_count", 16}, {"tokenizer.ggml.bos_token_id", 0}, {"tokenizer.ggml.eos_token_id", 1},
  };
  static const char* const tokens[GGUF_TINY_VOCAB] = {"<s>", "<|im_end|>", "a", "b", "ab", "\xc4\xa0", "\xc4\xa0\x61", "<tool>"};
  static const int32_t types[GGUF_TINY_VOCAB] = {3, 3, 1, 1, 1, 1, 1, 4};
  static const char* const merges[] = {"a b", "\xc4\xa0 a"};
  gguf_add_tiny_string(builder, options, "general.architecture", "llama");
  for (size_t i = 0; i < IREE_ARRAYSIZE(numbers); ++i) {
    if (!gguf_is_skipped(options, numbers[i].key)) gguf_add_u32(builder, numbers[i].key, numbers[i].value);
  }
  if (!gguf_is_skipped(options, "llama.attention.layer_norm_rms_epsilon")) gguf_add_f32(builder, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
  gguf_add_tiny_string(builder, options, "tokenizer.ggml.model", "gpt2");
  gguf_add_tiny_string(builder, options, "tokenizer.ggml.pre", "smollm");
  if (!gguf_is_skipped(options, "tokenizer.ggml.tokens")) gguf_add_strings(builder, "tokenizer.ggml.tokens", tokens, GGUF_TINY_VOCAB);
  if (!gguf_is_skipped(options, "tokenizer.ggml.token_type")) gguf_add_i32s(builder, "tokenizer.ggml.token_type", types, GGUF_TINY_VOCAB);
  if (!gguf_is_skipped(options, "tokenizer.ggml.merges")) gguf_add_strings(builder, "tokenizer.ggml.merges", merges, IREE_ARRAYSIZE(merges));
  gguf_add_tiny_tensors(builder, options);
}
