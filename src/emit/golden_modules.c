#include "emit/golden_modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emit/helpers/helpers.h"

enum { kRows = 2, kHidden = 64, kInner = 96, kHeads = 4, kKvHeads = 2, kHeadDim = 16, kLayers = 3 };

// --- operands ------------------------------------------------------------------------------------------------------------------------------------

static mlxcel_weight_tensor_t tensor_of(const char* key, const char* dtype, int64_t bytes) {
  return (mlxcel_weight_tensor_t){iree_make_cstring_view(key), dtype, (uint64_t)bytes};
}

static mlxcel_weight_t dense_weight(const char* key, mlxcel_weight_type_t type, int64_t out_features, int64_t in_features) {
  static const char* const dtypes[] = {"F32", "F16", "BF16"};
  int64_t bytes = out_features * in_features * (type == MLXCEL_WEIGHT_F32 ? 4 : 2);
  return (mlxcel_weight_t){.values = tensor_of(key, dtypes[type], bytes), .type = type, .out_features = out_features, .in_features = in_features};
}

// Scales and biases are f16.
static mlxcel_weight_t affine_weight(const char* const keys[3], uint32_t bits, uint32_t group_size, int64_t out_features, int64_t in_features) {
  int64_t groups = out_features * in_features / group_size;
  return (mlxcel_weight_t){.values = tensor_of(keys[0], "U32", out_features * in_features * bits / 8),
                           .scales = tensor_of(keys[1], "F16", groups * 2),
                           .biases = tensor_of(keys[2], "F16", groups * 2),
                           .type = MLXCEL_WEIGHT_F16,
                           .bits = bits,
                           .group_size = group_size,
                           .out_features = out_features,
                           .in_features = in_features};
}
static const char* const w_keys[] = {"w.weight", "w.scales", "w.biases"};
static const char* const v_keys[] = {"v.weight", "v.scales", "v.biases"};

static mlxcel_value_t row_argument(mlxcel_module_builder_t* builder) {
  const int64_t dims[] = {kRows};
  return mlxcel_function_argument(builder, MLXCEL_ELEMENT_I32, 1, dims, -1);
}
static mlxcel_value_t matrix_argument(mlxcel_module_builder_t* builder, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return mlxcel_function_argument(builder, MLXCEL_ELEMENT_F32, 2, dims, -1);
}
static mlxcel_value_t cache_argument(mlxcel_module_builder_t* builder, int output) {
  const int64_t dims[] = {kLayers, MLXCEL_DIM_DYNAMIC, kKvHeads, MLXCEL_DIM_DYNAMIC, kHeadDim};
  return mlxcel_function_argument(builder, MLXCEL_ELEMENT_F32, 5, dims, output);
}
static mlxcel_emit_rows_t rows_arguments(mlxcel_module_builder_t* builder) {
  mlxcel_value_t slots = row_argument(builder);
  return (mlxcel_emit_rows_t){.count = kRows, .slots = slots, .positions = row_argument(builder)};
}
static void end_function(mlxcel_module_builder_t* builder, mlxcel_value_t result, const char* name) {
  mlxcel_function_result(builder, result);
  mlxcel_function_end(builder, name);
}

// --- one module a helper ---------------------------------------------------------------------------------------------------------------------------

static void build_embedding_of(mlxcel_module_builder_t* builder, const mlxcel_weight_t* table) {
  mlxcel_function_begin(builder);
  mlxcel_value_t tokens = row_argument(builder);
  mlxcel_emit_rows_t rows = rows_arguments(builder);
  end_function(builder, mlxcel_emit_embedding(builder, &rows, table, tokens), "embedding");
}
static void build_embedding_dense(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t table = dense_weight("embed_tokens.weight", MLXCEL_WEIGHT_BF16, 10, kHidden);
  build_embedding_of(builder, &table);
}
static void build_embedding_affine(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t table = affine_weight(w_keys, 5, 64, 10, kHidden);
  build_embedding_of(builder, &table);
}

static void build_rms_norm(mlxcel_module_builder_t* builder) {
  const mlxcel_weight_vector_t weight = {tensor_of("norm.weight", "F32", kHidden * 4), MLXCEL_WEIGHT_F32, kHidden};
  mlxcel_function_begin(builder);
  mlxcel_value_t x = matrix_argument(builder, kRows, kHidden), positions = row_argument(builder);
  end_function(builder, mlxcel_emit_rms_norm(builder, kRows, &weight, 1e-5f, x, positions, false), "norm");
}
static void build_rms_norm_gather(mlxcel_module_builder_t* builder) {
  const mlxcel_weight_vector_t weight = {tensor_of("norm.weight", "F16", kHidden * 2), MLXCEL_WEIGHT_F16, kHidden};
  mlxcel_function_begin(builder);
  mlxcel_value_t x = matrix_argument(builder, MLXCEL_DIM_DYNAMIC, kHidden), index = row_argument(builder);
  end_function(builder, mlxcel_emit_rms_norm(builder, kRows, &weight, 1e-6f, x, index, true), "norm_of_chosen_rows");
}

static void build_matmul_dense(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t weight = dense_weight("proj.weight", MLXCEL_WEIGHT_F16, kInner, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = matrix_argument(builder, kRows, kHidden), positions = row_argument(builder);
  end_function(builder, mlxcel_emit_matmul(builder, kRows, &weight, x, positions, NULL), "matmul");
}
static void build_matmul_affine(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t weight = affine_weight(w_keys, 4, 32, kHidden, kInner);
  weight.vector = tensor_of("w.bias", "BF16", kHidden * 2);
  weight.vector_type = MLXCEL_WEIGHT_BF16;
  mlxcel_function_begin(builder);
  mlxcel_value_t x = matrix_argument(builder, kRows, kInner), residual = matrix_argument(builder, kRows, kHidden), positions = row_argument(builder);
  end_function(builder, mlxcel_emit_matmul(builder, kRows, &weight, x, positions, &residual), "matmul_with_bias_and_residual");
}

static void build_silu_gate(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t gate = affine_weight(w_keys, 8, 64, kInner, kHidden), up = affine_weight(v_keys, 6, 32, kInner, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = matrix_argument(builder, kRows, kHidden), positions = row_argument(builder);
  end_function(builder, mlxcel_emit_silu_gate(builder, kRows, &gate, &up, x, positions), "gate_up");
}

static const mlxcel_attention_shape_t attention_shape = {
    .heads = kHeads, .kv_heads = kKvHeads, .head_dim = kHeadDim, .rope_half = kHeadDim / 2, .layer = 1, .scale = 0.25f};

static void build_qkv_rope(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t q = dense_weight("q.weight", MLXCEL_WEIGHT_F32, kHeads * kHeadDim, kHidden);
  q.vector = tensor_of("q.bias", "F32", kHeads * kHeadDim * 4);
  mlxcel_weight_t k = affine_weight(w_keys, 3, 64, kKvHeads * kHeadDim, kHidden), v = affine_weight(v_keys, 2, 32, kKvHeads * kHeadDim, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_emit_rows_t rows = rows_arguments(builder);
  mlxcel_value_t x = matrix_argument(builder, kRows, kHidden);
  mlxcel_value_t cos = matrix_argument(builder, MLXCEL_DIM_DYNAMIC, kHeadDim / 2), sin = matrix_argument(builder, MLXCEL_DIM_DYNAMIC, kHeadDim / 2);
  mlxcel_kv_values_t kv;
  kv.k_cache = cache_argument(builder, 1);
  kv.v_cache = cache_argument(builder, 2);
  mlxcel_function_result(builder, mlxcel_emit_qkv_rope(builder, &rows, &attention_shape, &q, &k, &v, x, cos, sin, &kv));
  mlxcel_function_result(builder, kv.k_cache);
  end_function(builder, kv.v_cache, "qkv_rope");
}

static void build_attention(mlxcel_module_builder_t* builder) {
  mlxcel_function_begin(builder);
  mlxcel_emit_rows_t rows = rows_arguments(builder);
  mlxcel_value_t q = matrix_argument(builder, kRows, kHeads * kHeadDim);
  mlxcel_kv_values_t kv;
  kv.k_cache = cache_argument(builder, -1);
  kv.v_cache = cache_argument(builder, -1);
  end_function(builder, mlxcel_emit_attention(builder, &rows, &attention_shape, q, &kv), "attention");
}

// --- modules that are about the builder --------------------------------------------------------------------------------------------------------------

// Two functions share parameters: one global a tensor, in order of first use.
static void build_shared_parameters(mlxcel_module_builder_t* builder) {
  build_matmul_dense(builder);
  build_rms_norm(builder);
  mlxcel_weight_t weight = dense_weight("proj.weight", MLXCEL_WEIGHT_F16, kInner, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = matrix_argument(builder, kRows, kHidden), positions = row_argument(builder);
  const mlxcel_weight_vector_t norm = {tensor_of("norm.weight", "F32", kHidden * 4), MLXCEL_WEIGHT_F32, kHidden};
  mlxcel_value_t normed = mlxcel_emit_rms_norm(builder, kRows, &norm, 1e-5f, x, positions, false);
  end_function(builder, mlxcel_emit_matmul(builder, kRows, &weight, normed, positions, NULL), "both");
}

static void build_hostile_names(mlxcel_module_builder_t* builder) {
  static const char* const names[] = GOLDEN_HOSTILE_NAMES;
  mlxcel_function_begin(builder);
  mlxcel_value_t x = matrix_argument(builder, kRows, kHidden), positions = row_argument(builder);
  for (size_t i = 0; i < GOLDEN_HOSTILE_COUNT; ++i) {
    if (!names[i][0]) continue;  // an empty name means "absent" to the helpers
    mlxcel_weight_t weight = dense_weight(names[i], MLXCEL_WEIGHT_F32, kHidden, kHidden);
    x = mlxcel_emit_matmul(builder, kRows, &weight, x, positions, NULL);
  }
  end_function(builder, x, "hostile_names");
}

static const golden_module_t golden_modules[] = {
    {"embedding_dense", build_embedding_dense},
    {"embedding_affine", build_embedding_affine},
    {"rms_norm", build_rms_norm},
    {"rms_norm_gather", build_rms_norm_gather},
    {"matmul_dense", build_matmul_dense},
    {"matmul_affine", build_matmul_affine},
    {"silu_gate", build_silu_gate},
    {"qkv_rope", build_qkv_rope},
    {"attention", build_attention},
    {"shared_parameters", build_shared_parameters},
    {"hostile_names", build_hostile_names},
};

const golden_module_t* golden_module_at(size_t index) { return index < sizeof(golden_modules) / sizeof(golden_modules[0]) ? &golden_modules[index] : NULL; }

// --- texts -----------------------------------------------------------------------------------------------------------------------------------------

golden_text_t golden_module_emit(const golden_module_t* module) {
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
  module->build(&builder);
  golden_text_t text;
  size_t size = 0;
  assert_true(iree_status_is_ok(mlxcel_module_finish(&builder, &text.mlir, &size, &text.contract, &text.fingerprint)));
  assert_int_equal(strlen(text.mlir), size);
  mlxcel_module_builder_deinitialize(&builder);
  return text;
}

void golden_text_deinitialize(golden_text_t* text) {
  free(text->mlir);
  free(text->contract);
}

static void append_replacing(mlxcel_strbuf_t* out, const char* text, const char* old, const char* new) {
  for (const char* at; (at = strstr(text, old)) != NULL; text = at + strlen(old)) {
    mlxcel_strbuf_append(out, iree_make_string_view(text, (size_t)(at - text)));
    mlxcel_strbuf_append_cstring(out, new);
  }
  mlxcel_strbuf_append_cstring(out, text);
}

char* golden_module_file_text(const golden_module_t* module) {
  golden_text_t text = golden_module_emit(module);
  mlxcel_strbuf_t contract, out;
  mlxcel_strbuf_initialize(&contract);
  mlxcel_strbuf_initialize(&out);
  append_replacing(&contract, text.contract, mlxcel_kernel_source_digest(), "KERNEL-SOURCES");
  for (const char* line = contract.data; *line; line += strcspn(line, "\n") + 1) {
    mlxcel_strbuf_append_format(&out, "// %.*s\n", (int)strcspn(line, "\n"), line);
  }
  append_replacing(&out, text.mlir, text.fingerprint.text, "FINGERPRINT");
  assert_true(iree_status_is_ok(mlxcel_strbuf_take_status(&out)));
  char* result = mlxcel_strbuf_release(&out);
  mlxcel_strbuf_deinitialize(&out);
  mlxcel_strbuf_deinitialize(&contract);
  golden_text_deinitialize(&text);
  return result;
}
