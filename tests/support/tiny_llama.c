#include "support/tiny_llama.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/strbuf.h"

void tiny_llama_initialize(tiny_llama_t* out_model) {
  *out_model = (tiny_llama_t){.model_type = "llama",
                              .layers = 2,
                              .hidden = 64,
                              .intermediate = 96,
                              .heads = 4,
                              .kv_heads = 2,
                              .head_dim = 16,
                              .vocab = 160,
                              .context = 192,
                              .dtype = "F32",
                              .seed = 1};
}

// --- values ------------------------------------------------------------------------------------------------------------------------------------------

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static uint64_t stream_of(const char* name, uint32_t seed) {
  uint64_t hash = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
  for (; *name; ++name) hash = mix(hash ^ (uint64_t)(unsigned char)*name);
  return hash;
}

// In [-1, 1).
static float value_at(uint64_t stream, uint64_t i) { return (float)((double)(mix(stream + i * UINT64_C(0x9e3779b97f4a7c15)) >> 11) * 0x1p-52 - 1.0); }

// --- storage -----------------------------------------------------------------------------------------------------------------------------------------

typedef struct writer_t {
  const tiny_llama_t* model;
  mlxcel_strbuf_t header, data;
} writer_t;

// Rounds toward zero; below the least normal number to zero.
static uint16_t half_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint32_t sign = (bits >> 16) & 0x8000u, exponent = (bits >> 23) & 0xffu;
  if (exponent < 113) return (uint16_t)sign;
  assert_true(exponent < 143);
  return (uint16_t)(sign | ((exponent - 112) << 10) | ((bits >> 13) & 0x3ffu));
}

static void append_value(writer_t* writer, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  char bytes[4];
  size_t size = 4;
  if (strcmp(writer->model->dtype, "F32") != 0) {
    size = 2;
    bits = strcmp(writer->model->dtype, "BF16") == 0 ? bits >> 16 : half_bits(value);
  }
  memcpy(bytes, &bits, sizeof(bytes));
  mlxcel_strbuf_append(&writer->data, iree_make_string_view(bytes, size));
}

// Header entry of a tensor whose data begin at |begin| and end here. |columns| 0: a vector.
static void add_entry(writer_t* writer, const char* name, const char* dtype, uint32_t rows, uint32_t columns, size_t begin) {
  char shape[48];
  snprintf(shape, sizeof(shape), columns ? "[%u,%u]" : "[%u]", rows, columns);
  mlxcel_strbuf_append_format(&writer->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}", writer->header.size > 1 ? "," : "", name,
                              dtype, shape, begin, writer->data.size);
}

static bool is_left_out(const writer_t* writer, const char* name) { return writer->model->left_out && strcmp(writer->model->left_out, name) == 0; }

static void add_floats(writer_t* writer, const char* name, uint64_t stream, uint32_t rows, uint32_t columns, float center, float spread) {
  if (is_left_out(writer, name)) return;
  size_t begin = writer->data.size, count = (size_t)rows * (columns ? columns : 1);
  for (size_t i = 0; i < count; ++i) append_value(writer, center + spread * value_at(stream, i));
  add_entry(writer, name, writer->model->dtype, rows, columns, begin);
}

static void add_codes(writer_t* writer, const char* name, uint64_t stream, uint32_t rows, uint32_t words) {
  if (is_left_out(writer, name)) return;
  size_t begin = writer->data.size;
  for (size_t i = 0; i < (size_t)rows * words; ++i) {
    uint32_t word = (uint32_t)mix(stream ^ (i + 1));
    char bytes[4];
    memcpy(bytes, &word, sizeof(word));
    mlxcel_strbuf_append(&writer->data, iree_make_string_view(bytes, sizeof(bytes)));
  }
  add_entry(writer, name, "U32", rows, words, begin);
}

static tiny_override_t storage_of(const tiny_llama_t* model, const char* path) {
  for (size_t i = 0; i < model->override_count; ++i) {
    if (strcmp(model->overrides[i].path, path) == 0) return model->overrides[i];
  }
  return (tiny_override_t){path, model->bits, model->group_size};
}

// The matrix of module |path|, its values those of module |source|.
static void add_matrix(writer_t* writer, const char* path, const char* source, uint32_t rows, uint32_t columns, float spread) {
  tiny_override_t storage = storage_of(writer->model, path);
  uint64_t stream = stream_of(source, writer->model->seed);
  char name[160];
  snprintf(name, sizeof(name), "%s.weight", path);
  if (storage.bits == 0) {
    add_floats(writer, name, stream, rows, columns, 0.0f, spread);
    return;
  }
  add_codes(writer, name, stream, rows, columns * storage.bits / 32);
  float step = 2.0f * spread / (float)(1u << storage.bits);
  snprintf(name, sizeof(name), "%s.scales", path);
  add_floats(writer, name, stream + 1, rows, columns / storage.group_size, step, 0.25f * step);
  snprintf(name, sizeof(name), "%s.biases", path);
  add_floats(writer, name, stream + 2, rows, columns / storage.group_size, -spread, 0.25f * spread);
}

static void add_vector(writer_t* writer, const char* name, uint32_t size, float center, float spread) {
  add_floats(writer, name, stream_of(name, writer->model->seed), size, 0, center, spread);
}

// --- the model ---------------------------------------------------------------------------------------------------------------------------------------

static void add_linear(writer_t* writer, uint32_t layer, const char* module, uint32_t rows, uint32_t columns, bool has_bias) {
  char path[128];
  snprintf(path, sizeof(path), "model.layers.%u.%s", layer, module);
  add_matrix(writer, path, path, rows, columns, 2.0f / sqrtf((float)columns));
  if (!has_bias) return;
  char name[160];
  snprintf(name, sizeof(name), "%s.bias", path);
  add_vector(writer, name, rows, 0.0f, 0.25f);
}

static void add_layer(writer_t* writer, uint32_t layer) {
  const tiny_llama_t* model = writer->model;
  uint32_t q_size = model->heads * model->head_dim, kv_size = model->kv_heads * model->head_dim;
  add_linear(writer, layer, "self_attn.q_proj", q_size, model->hidden, model->has_attention_bias);
  add_linear(writer, layer, "self_attn.k_proj", kv_size, model->hidden, model->has_attention_bias);
  add_linear(writer, layer, "self_attn.v_proj", kv_size, model->hidden, model->has_attention_bias);
  add_linear(writer, layer, "self_attn.o_proj", model->hidden, q_size, model->has_attention_bias);
  add_linear(writer, layer, "mlp.gate_proj", model->intermediate, model->hidden, model->has_mlp_bias);
  add_linear(writer, layer, "mlp.up_proj", model->intermediate, model->hidden, model->has_mlp_bias);
  add_linear(writer, layer, "mlp.down_proj", model->hidden, model->intermediate, model->has_mlp_bias);
  static const char* const norms[] = {"input_layernorm", "post_attention_layernorm"};
  for (size_t i = 0; i < 2; ++i) {
    char name[128];
    snprintf(name, sizeof(name), "model.layers.%u.%s.weight", layer, norms[i]);
    add_vector(writer, name, model->hidden, 1.0f, 0.125f);
  }
}

static void add_tensors(writer_t* writer) {
  const tiny_llama_t* model = writer->model;
  add_matrix(writer, "model.embed_tokens", "model.embed_tokens", model->vocab, model->hidden, 1.0f);
  for (uint32_t i = 0; i < model->layers; ++i) add_layer(writer, i);
  add_vector(writer, "model.norm.weight", model->hidden, 1.0f, 0.125f);
  if (!model->is_tied) add_matrix(writer, "lm_head", "lm_head", model->vocab, model->hidden, 0.5f);
  if (model->is_tied && model->has_head_copy) add_matrix(writer, "lm_head", "model.embed_tokens", model->vocab, model->hidden, 1.0f);
  if (model->added) {
    size_t begin = writer->data.size;
    mlxcel_strbuf_append(&writer->data, iree_make_string_view("0123456789abcdef", 16));
    add_entry(writer, model->added, "F32", 4, 0, begin);
  }
}

static void write_file(const char* folder, const char* name, const void* data, size_t size) {
  char* path = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(folder, iree_make_cstring_view(name), &path)));
  assert_true(iree_status_is_ok(mlxcel_file_publish(path, data, size)));
  free(path);
}

static void write_weights(const tiny_llama_t* model, const char* folder) {
  writer_t writer = {.model = model};
  mlxcel_strbuf_append_cstring(&writer.header, "{");
  add_tensors(&writer);
  mlxcel_strbuf_append_cstring(&writer.header, "}");
  while (writer.header.size % 64 != (model->is_unaligned ? 0 : 56)) mlxcel_strbuf_append_cstring(&writer.header, " ");
  mlxcel_strbuf_t file;
  mlxcel_strbuf_initialize(&file);
  uint64_t header_size = writer.header.size;
  char length[8];
  memcpy(length, &header_size, sizeof(length));
  mlxcel_strbuf_append(&file, iree_make_string_view(length, sizeof(length)));
  mlxcel_strbuf_append(&file, mlxcel_strbuf_view(&writer.header));
  mlxcel_strbuf_append(&file, mlxcel_strbuf_view(&writer.data));
  assert_true(iree_status_is_ok(mlxcel_strbuf_take_status(&file)));
  write_file(folder, "model.safetensors", file.data, file.size);
  mlxcel_strbuf_deinitialize(&file);
  mlxcel_strbuf_deinitialize(&writer.header);
  mlxcel_strbuf_deinitialize(&writer.data);
}

static void append_quantization(const tiny_llama_t* model, mlxcel_strbuf_t* text) {
  mlxcel_strbuf_append_format(text, ", \"quantization\": {\"group_size\": %u, \"bits\": %u", model->group_size, model->bits);
  for (size_t i = 0; i < model->override_count; ++i) {
    const tiny_override_t* override = &model->overrides[i];
    if (override->bits == 0) {
      mlxcel_strbuf_append_format(text, ", \"%s\": false", override->path);
    } else {
      mlxcel_strbuf_append_format(text, ", \"%s\": {\"group_size\": %u, \"bits\": %u}", override->path, override->group_size, override->bits);
    }
  }
  mlxcel_strbuf_append_cstring(text, "}");
}

static void write_config(const tiny_llama_t* model, const char* folder) {
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_strbuf_append_format(
      &text,
      "{\"model_type\": \"%s\", \"hidden_size\": %u, \"intermediate_size\": %u, \"num_hidden_layers\": %u, \"num_attention_heads\": %u, "
      "\"num_key_value_heads\": %u, \"head_dim\": %u, \"vocab_size\": %u, \"max_position_embeddings\": %u, \"rms_norm_eps\": 1e-5, "
      "\"rope_theta\": 10000.0, \"tie_word_embeddings\": %s, \"attention_bias\": %s, \"mlp_bias\": %s, \"hidden_act\": \"silu\"",
      model->model_type, model->hidden, model->intermediate, model->layers, model->heads, model->kv_heads, model->head_dim, model->vocab, model->context,
      model->is_tied ? "true" : "false", model->has_attention_bias ? "true" : "false", model->has_mlp_bias ? "true" : "false");
  if (model->bits) append_quantization(model, &text);
  mlxcel_strbuf_append_cstring(&text, "}\n");
  assert_true(iree_status_is_ok(mlxcel_strbuf_take_status(&text)));
  write_file(folder, "config.json", text.data, text.size);
  mlxcel_strbuf_deinitialize(&text);
}

void tiny_llama_write(const tiny_llama_t* model, const char* folder) {
  write_config(model, folder);
  write_weights(model, folder);
}
