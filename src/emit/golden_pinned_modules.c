// Modules of profile pinned-f32, and those that are about the builder.
#include "emit/golden_parts.h"

// --- one module a helper ---------------------------------------------------------------------------------------------------------------------------

static void build_embedding_of(mlxcel_module_builder_t* builder, const mlxcel_weight_t* table) {
  mlxcel_function_begin(builder);
  mlxcel_value_t tokens = golden_row_argument(builder);
  mlxcel_emit_rows_t rows = golden_rows_arguments(builder);
  golden_function_end(builder, mlxcel_emit_embedding(builder, &rows, table, tokens), "embedding");
}
static void build_embedding_dense(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t table = golden_dense_weight("embed_tokens.weight", MLXCEL_WEIGHT_BF16, 10, kHidden);
  build_embedding_of(builder, &table);
}
static void build_embedding_affine(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t table = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_F16, 5, 64, 10, kHidden);
  build_embedding_of(builder, &table);
}

static void build_rms_norm(mlxcel_module_builder_t* builder) {
  const mlxcel_weight_vector_t weight = {golden_tensor("norm.weight", "F32", kHidden * 4), MLXCEL_WEIGHT_F32, kHidden};
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kHidden), positions = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_rms_norm(builder, kRows, &weight, 1e-5f, x, positions, false), "norm");
}
static void build_rms_norm_gather(mlxcel_module_builder_t* builder) {
  const mlxcel_weight_vector_t weight = {golden_tensor("norm.weight", "F16", kHidden * 2), MLXCEL_WEIGHT_F16, kHidden};
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, MLXCEL_DIM_DYNAMIC, kHidden), index = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_rms_norm(builder, kRows, &weight, 1e-6f, x, index, true), "norm_of_chosen_rows");
}

static void build_matmul_dense(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t weight = golden_dense_weight("proj.weight", MLXCEL_WEIGHT_F16, kInner, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kHidden), positions = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_matmul(builder, kRows, &weight, x, positions, NULL), "matmul");
}
static void build_matmul_affine(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t weight = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_F16, 4, 32, kHidden, kInner);
  weight.vector = golden_tensor("w.bias", "BF16", kHidden * 2);
  weight.vector_type = MLXCEL_WEIGHT_BF16;
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kInner),
                 residual = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kHidden), positions = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_matmul(builder, kRows, &weight, x, positions, &residual), "matmul_with_bias_and_residual");
}

static void build_silu_gate(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t gate = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_F16, 8, 64, kInner, kHidden),
                  up = golden_affine_weight(golden_v_keys, MLXCEL_WEIGHT_F16, 6, 32, kInner, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kHidden), positions = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_silu_gate(builder, kRows, &gate, &up, x, positions), "gate_up");
}

static const mlxcel_attention_shape_t attention_shape = {
    .heads = kHeads, .kv_heads = kKvHeads, .head_dim = kHeadDim, .rope_half = kHeadDim / 2, .layer = 1, .scale = 0.25f};

static void build_qkv_rope_of(mlxcel_module_builder_t* builder, mlxcel_element_t cache) {
  mlxcel_weight_t q = golden_dense_weight("q.weight", MLXCEL_WEIGHT_F32, kHeads * kHeadDim, kHidden);
  q.vector = golden_tensor("q.bias", "F32", kHeads * kHeadDim * 4);
  mlxcel_weight_t k = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_F16, 3, 64, kKvHeads * kHeadDim, kHidden),
                  v = golden_affine_weight(golden_v_keys, MLXCEL_WEIGHT_F16, 2, 32, kKvHeads * kHeadDim, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_emit_rows_t rows = golden_rows_arguments(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kHidden);
  mlxcel_value_t cos = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, MLXCEL_DIM_DYNAMIC, kHeadDim / 2),
                 sin = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, MLXCEL_DIM_DYNAMIC, kHeadDim / 2);
  mlxcel_kv_values_t kv;
  kv.k_cache = golden_cache_argument(builder, cache, 1);
  kv.v_cache = golden_cache_argument(builder, cache, 2);
  mlxcel_function_result(builder, mlxcel_emit_qkv_rope(builder, &rows, &attention_shape, &q, &k, &v, x, cos, sin, &kv));
  mlxcel_function_result(builder, kv.k_cache);
  golden_function_end(builder, kv.v_cache, "qkv_rope");
}

static void build_qkv_rope(mlxcel_module_builder_t* builder) { build_qkv_rope_of(builder, MLXCEL_ELEMENT_F32); }
static void build_qkv_rope_f16_cache(mlxcel_module_builder_t* builder) { build_qkv_rope_of(builder, MLXCEL_ELEMENT_F16); }

static void build_attention_of(mlxcel_module_builder_t* builder, mlxcel_element_t cache) {
  mlxcel_function_begin(builder);
  mlxcel_emit_rows_t rows = golden_rows_arguments(builder);
  mlxcel_value_t q = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kHeads * kHeadDim);
  mlxcel_kv_values_t kv;
  kv.k_cache = golden_cache_argument(builder, cache, -1);
  kv.v_cache = golden_cache_argument(builder, cache, -1);
  golden_function_end(builder, mlxcel_emit_attention(builder, &rows, &attention_shape, q, &kv), "attention");
}
static void build_attention(mlxcel_module_builder_t* builder) { build_attention_of(builder, MLXCEL_ELEMENT_F32); }
static void build_attention_bf16_cache(mlxcel_module_builder_t* builder) { build_attention_of(builder, MLXCEL_ELEMENT_BF16); }

// --- modules that are about the builder --------------------------------------------------------------------------------------------------------------

// Two functions share parameters: one global a tensor, in order of first use.
static void build_shared_parameters(mlxcel_module_builder_t* builder) {
  build_matmul_dense(builder);
  build_rms_norm(builder);
  mlxcel_weight_t weight = golden_dense_weight("proj.weight", MLXCEL_WEIGHT_F16, kInner, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kHidden), positions = golden_row_argument(builder);
  const mlxcel_weight_vector_t norm = {golden_tensor("norm.weight", "F32", kHidden * 4), MLXCEL_WEIGHT_F32, kHidden};
  mlxcel_value_t normed = mlxcel_emit_rms_norm(builder, kRows, &norm, 1e-5f, x, positions, false);
  golden_function_end(builder, mlxcel_emit_matmul(builder, kRows, &weight, normed, positions, NULL), "both");
}

static void build_hostile_names(mlxcel_module_builder_t* builder) {
  static const char* const names[] = GOLDEN_HOSTILE_NAMES;
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, kRows, kHidden), positions = golden_row_argument(builder);
  for (size_t i = 0; i < GOLDEN_HOSTILE_COUNT; ++i) {
    if (!names[i][0]) continue;  // an empty name means "absent" to the helpers
    mlxcel_weight_t weight = golden_dense_weight(names[i], MLXCEL_WEIGHT_F32, kHidden, kHidden);
    x = mlxcel_emit_matmul(builder, kRows, &weight, x, positions, NULL);
  }
  golden_function_end(builder, x, "hostile_names");
}

static const golden_module_t modules[] = {
    {.name = "embedding_dense", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_embedding_dense},
    {.name = "embedding_affine", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_embedding_affine},
    {.name = "rms_norm", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_rms_norm},
    {.name = "rms_norm_gather", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_rms_norm_gather},
    {.name = "matmul_dense", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_matmul_dense},
    {.name = "matmul_affine", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_matmul_affine},
    {.name = "silu_gate", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_silu_gate},
    {.name = "qkv_rope", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_qkv_rope},
    {.name = "qkv_rope_f16_cache", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_qkv_rope_f16_cache},
    {.name = "attention", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_attention},
    {.name = "attention_bf16_cache", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_attention_bf16_cache},
    {.name = "shared_parameters", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_shared_parameters},
    {.name = "hostile_names", .profile = MLXCEL_PROFILE_PINNED_F32, .build = build_hostile_names},
};

const golden_module_t* golden_pinned_module_at(size_t index) { return index < sizeof(modules) / sizeof(modules[0]) ? &modules[index] : NULL; }
