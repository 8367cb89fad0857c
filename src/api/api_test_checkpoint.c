#include "api/api_test_checkpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/strbuf.h"
#include "engine/philox.h"

enum { kHidden = 64, kIntermediate = 96, kLayers = 2, kHeads = 4, kKvHeads = 2, kHeadDim = 16 };

void test_checkpoint_write_text(const char* folder, const char* name, const char* text) {
  char* path = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(folder, iree_make_cstring_view(name), &path)));
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
  assert_int_equal(fclose(file), 0);
  free(path);
}

static void write_config(const char* folder, const char* model_type, uint32_t vocab, const char* more) {
  char text[1024];
  snprintf(text, sizeof(text),
           "{\"model_type\": \"%s\", \"hidden_size\": %d, \"intermediate_size\": %d, \"num_hidden_layers\": %d, \"num_attention_heads\": %d, "
           "\"num_key_value_heads\": %d, \"vocab_size\": %u, \"max_position_embeddings\": %d, \"rms_norm_eps\": 1e-5, \"rope_theta\": 10000.0, "
           "\"hidden_act\": \"silu\", \"bos_token_id\": %d, \"eos_token_id\": %d, %s}",
           model_type, kHidden, kIntermediate, kLayers, kHeads, kKvHeads, vocab, TEST_CONTEXT, TEST_BOS, TEST_EOS, more);
  test_checkpoint_write_text(folder, "config.json", text);
}

void test_checkpoint_write_config(const char* folder, const char* model_type) {
  write_config(folder, model_type, TEST_VOCAB, "\"tie_word_embeddings\": false");
}

// --- tokenizer -------------------------------------------------------------------------------------------------------------------------------
// The character that byte-level tokenizers write for |byte|: itself where printable, else the next free one from U+0100.
static unsigned byte_character(unsigned byte) {
  unsigned next = 256;
  for (unsigned b = 0;; ++b) {
    bool is_printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    if (b == byte) return is_printable ? b : next;
    if (!is_printable) ++next;
  }
}

static void write_tokenizer(const char* folder) {
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_strbuf_append_cstring(&text, "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [");
  static const char* const specials[] = {"<s>", "</s>", "<|end|>"};
  for (int i = 0; i < 3; ++i) {
    mlxcel_strbuf_append_format(&text,
                                "%s{\"id\": %d, \"content\": \"%s\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
                                "\"special\": true}",
                                i ? ", " : "", TEST_BOS + i, specials[i]);
  }
  mlxcel_strbuf_append_cstring(
      &text,
      "], \"normalizer\": null, \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true, "
      "\"use_regex\": true}, \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"<s>\", "
      "\"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"pair\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, "
      "{\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}], \"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [256], \"tokens\": "
      "[\"<s>\"]}}}, \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true}, "
      "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, \"continuing_subword_prefix\": null, "
      "\"end_of_word_suffix\": null, \"fuse_unk\": false, \"byte_fallback\": false, \"merges\": [], \"vocab\": {");
  for (unsigned byte = 0; byte < 256; ++byte) mlxcel_strbuf_append_format(&text, "%s\"\\u%04x\": %u", byte ? ", " : "", byte_character(byte), byte);
  mlxcel_strbuf_append_cstring(&text, "}}}");
  test_checkpoint_write_text(folder, "tokenizer.json", text.data);
  mlxcel_strbuf_deinitialize(&text);
  test_checkpoint_write_text(folder, "tokenizer_config.json",
                             "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"add_bos_token\": true, \"chat_template\": "
                             "\"{{ bos_token }}{% for m in messages %}{{ m.role }}:{{ m.content }}<|end|>{% endfor %}"
                             "{% if add_generation_prompt %}assistant:{% endif %}\"}");
}

// --- weights -----------------------------------------------------------------------------------------------------------------------------------
typedef struct weights_t {
  mlxcel_strbuf_t header, data;
  uint64_t stream;
} weights_t;

// A tensor [rows, columns] ([rows] if columns is 0) of evenly spread values around |center|.
static void add_tensor(weights_t* weights, const char* name, uint32_t rows, uint32_t columns, double center, double spread) {
  size_t count = (size_t)rows * (columns ? columns : 1);
  size_t start = weights->data.size;
  ++weights->stream;
  for (size_t i = 0; i < count; ++i) {
    float value = (float)(center + spread * ((double)(mlxcel_philox_bits(11, weights->stream, i) >> 11) * 0x1p-52 - 1.0));
    char bytes[sizeof(value)];
    memcpy(bytes, &value, sizeof(value));
    mlxcel_strbuf_append(&weights->data, iree_make_string_view(bytes, sizeof(bytes)));
  }
  char shape[48];
  snprintf(shape, sizeof(shape), columns ? "[%u,%u]" : "[%u]", rows, columns);
  mlxcel_strbuf_append_format(&weights->header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", weights->header.size > 1 ? "," : "",
                              name, shape, start, weights->data.size);
}

static void add_layer(weights_t* weights, int layer) {
  static const struct {
    const char* name;
    uint32_t rows, columns;
  } matrices[] = {{"self_attn.q_proj", kHeads * kHeadDim, kHidden},   {"self_attn.k_proj", kKvHeads * kHeadDim, kHidden},
                  {"self_attn.v_proj", kKvHeads * kHeadDim, kHidden}, {"self_attn.o_proj", kHidden, kHeads * kHeadDim},
                  {"mlp.gate_proj", kIntermediate, kHidden},          {"mlp.up_proj", kIntermediate, kHidden},
                  {"mlp.down_proj", kHidden, kIntermediate}};
  char name[96];
  for (size_t i = 0; i < sizeof(matrices) / sizeof(matrices[0]); ++i) {
    snprintf(name, sizeof(name), "model.layers.%d.%s.weight", layer, matrices[i].name);
    add_tensor(weights, name, matrices[i].rows, matrices[i].columns, 0.0, 0.25);
  }
  snprintf(name, sizeof(name), "model.layers.%d.input_layernorm.weight", layer);
  add_tensor(weights, name, kHidden, 0, 1.0, 0.1);
  snprintf(name, sizeof(name), "model.layers.%d.post_attention_layernorm.weight", layer);
  add_tensor(weights, name, kHidden, 0, 1.0, 0.1);
}

// A tensor [TEST_PACKED_VOCAB, columns] of zeros behind all others; returns where it ends.
static size_t add_zeros(weights_t* weights, const char* name, const char* dtype, uint32_t columns, size_t start) {
  size_t end = start + (size_t)TEST_PACKED_VOCAB * columns * 4;
  mlxcel_strbuf_append_format(&weights->header, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%u,%u],\"data_offsets\":[%zu,%zu]}", name, dtype, TEST_PACKED_VOCAB,
                              columns, start, end);
  return end;
}

// Header, data, and a hole up to |data_size|.
static void write_file(const char* folder, weights_t* weights, size_t data_size) {
  mlxcel_strbuf_append_cstring(&weights->header, "}");
  while (weights->header.size % 64 != 56) mlxcel_strbuf_append_cstring(&weights->header, " ");
  char path[4096];
  snprintf(path, sizeof(path), "%s/model.safetensors", folder);
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  uint64_t header_size = weights->header.size;
  assert_int_equal(fwrite(&header_size, 1, 8, file), 8);
  assert_int_equal(fwrite(weights->header.data, 1, weights->header.size, file), weights->header.size);
  assert_int_equal(fwrite(weights->data.data, 1, weights->data.size, file), weights->data.size);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(truncate(path, (off_t)(8 + header_size + data_size)), 0);
  mlxcel_strbuf_deinitialize(&weights->header);
  mlxcel_strbuf_deinitialize(&weights->data);
}

static void write_weights(const char* folder) {
  weights_t weights = {0};
  mlxcel_strbuf_append_cstring(&weights.header, "{");
  add_tensor(&weights, "model.embed_tokens.weight", TEST_VOCAB, kHidden, 0.0, 1.0);
  for (int layer = 0; layer < kLayers; ++layer) add_layer(&weights, layer);
  add_tensor(&weights, "model.norm.weight", kHidden, 0, 1.0, 0.1);
  add_tensor(&weights, "lm_head.weight", TEST_VOCAB, kHidden, 0.0, 0.5);
  write_file(folder, &weights, weights.data.size);
}

static void write_packed_weights(const char* folder) {
  weights_t weights = {0};
  mlxcel_strbuf_append_cstring(&weights.header, "{");
  add_tensor(&weights, "model.norm.weight", kHidden, 0, 1.0, 0.1);
  for (int layer = 0; layer < kLayers; ++layer) add_layer(&weights, layer);
  size_t end = add_zeros(&weights, "model.embed_tokens.weight", "U32", kHidden / 8, weights.data.size);
  end = add_zeros(&weights, "model.embed_tokens.scales", "F32", 1, end);
  end = add_zeros(&weights, "model.embed_tokens.biases", "F32", 1, end);
  write_file(folder, &weights, end);
}

static char* create_folder(const char* parent, const char* name) {
  char* folder = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(parent, iree_make_cstring_view(name), &folder)));
  assert_int_equal(mkdir(folder, 0755), 0);
  char generation[64];
  snprintf(generation, sizeof(generation), "{\"eos_token_id\": [%d, %d]}", TEST_EOS, TEST_END);
  test_checkpoint_write_text(folder, "generation_config.json", generation);
  write_tokenizer(folder);
  return folder;
}

char* test_checkpoint_write(const char* parent) {
  char* folder = create_folder(parent, "tiny");
  test_checkpoint_write_config(folder, "llama");
  write_weights(folder);
  return folder;
}

char* test_checkpoint_write_packed(const char* parent) {
  char* folder = create_folder(parent, "packed");
  write_config(folder, "llama", TEST_PACKED_VOCAB, "\"tie_word_embeddings\": true, \"quantization\": {\"group_size\": 64, \"bits\": 4}");
  write_packed_weights(folder);
  return folder;
}
