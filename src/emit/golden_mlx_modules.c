// Modules of profile mlx-cpu-0.32.4 by the helpers that models use.
#include "emit/golden_parts.h"
#include "emit/mlx/mlx_helpers.h"

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
  mlxcel_weight_t table = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_F16, 4, 32, 10, kHidden);
  build_embedding_of(builder, &table);
}

static void build_rms_norm_gather(mlxcel_module_builder_t* builder) {
  const mlxcel_weight_vector_t weight = {golden_tensor("norm.weight", "BF16", kHidden * 2), MLXCEL_WEIGHT_BF16, kHidden};
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_BF16, MLXCEL_DIM_DYNAMIC, kHidden), index = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_rms_norm(builder, kRows, &weight, 1e-6f, x, index, true), "norm_of_chosen_rows");
}

// Logits: the product of 16-bit activations leaves as f32.
static void build_matmul_widened(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t weight = golden_dense_weight("head.weight", MLXCEL_WEIGHT_F16, kInner, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_F16, kRows, kHidden), positions = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_widen(builder, mlxcel_emit_matmul(builder, kRows, &weight, x, positions, NULL)), "logits");
}

static void build_matmul_affine(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t weight = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_BF16, 4, 32, kHidden, kInner);
  weight.vector = golden_tensor("w.bias", "BF16", kHidden * 2);
  weight.vector_type = MLXCEL_WEIGHT_BF16;
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_BF16, kRows, kInner);
  mlxcel_value_t residual = golden_matrix_argument(builder, MLXCEL_ELEMENT_BF16, kRows, kHidden), positions = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_matmul(builder, kRows, &weight, x, positions, &residual), "matmul_with_bias_and_residual");
}

// f16 scales widen the product to f32; the bf16 residual follows.
static void build_matmul_promoted(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t weight = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_F16, 4, 64, kHidden, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_BF16, kRows, kHidden), positions = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_matmul(builder, kRows, &weight, x, positions, &x), "matmul_of_mixed_dtypes");
}

static void build_silu_gate(mlxcel_module_builder_t* builder) {
  mlxcel_weight_t gate = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_BF16, 8, 64, kInner, kHidden);
  mlxcel_weight_t up = golden_dense_weight("up.weight", MLXCEL_WEIGHT_BF16, kInner, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_BF16, kRows, kHidden), positions = golden_row_argument(builder);
  golden_function_end(builder, mlxcel_emit_silu_gate(builder, kRows, &gate, &up, x, positions), "gate_up");
}

static void build_qkv_rope_of(mlxcel_module_builder_t* builder, const mlxcel_attention_shape_t* shape) {
  mlxcel_weight_t q = golden_dense_weight("q.weight", MLXCEL_WEIGHT_BF16, kHeads * kHeadDim, kHidden);
  q.vector = golden_tensor("q.bias", "BF16", kHeads * kHeadDim * 2);
  q.vector_type = MLXCEL_WEIGHT_BF16;
  mlxcel_weight_t k = golden_affine_weight(golden_w_keys, MLXCEL_WEIGHT_BF16, 4, 64, kKvHeads * kHeadDim, kHidden);
  mlxcel_weight_t v = golden_affine_weight(golden_v_keys, MLXCEL_WEIGHT_BF16, 2, 32, kKvHeads * kHeadDim, kHidden);
  mlxcel_function_begin(builder);
  mlxcel_emit_rows_t rows = golden_rows_arguments(builder);
  mlxcel_value_t x = golden_matrix_argument(builder, MLXCEL_ELEMENT_BF16, kRows, kHidden);
  mlxcel_value_t cos = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, MLXCEL_DIM_DYNAMIC, kHeadDim / 2);
  mlxcel_value_t sin = golden_matrix_argument(builder, MLXCEL_ELEMENT_F32, MLXCEL_DIM_DYNAMIC, kHeadDim / 2);
  mlxcel_kv_values_t kv;
  kv.k_cache = golden_cache_argument(builder, MLXCEL_ELEMENT_BF16, 1);
  kv.v_cache = golden_cache_argument(builder, MLXCEL_ELEMENT_BF16, 2);
  mlxcel_function_result(builder, mlxcel_emit_qkv_rope(builder, &rows, shape, &q, &k, &v, x, cos, sin, &kv));
  mlxcel_function_result(builder, kv.k_cache);
  golden_function_end(builder, kv.v_cache, "qkv_rope");
}
static void build_qkv_rope(mlxcel_module_builder_t* builder) {
  const mlxcel_attention_shape_t shape = {
      .heads = kHeads, .kv_heads = kKvHeads, .head_dim = kHeadDim, .rope_half = kHeadDim / 2, .layer = 1, .rope_base = 10000.0f, .rope_scale = 1.0f};
  build_qkv_rope_of(builder, &shape);
}
static void build_qkv_rope_frequencies(mlxcel_module_builder_t* builder) {
  static const float frequencies[] = {1.0f, 3.1622777f, 10.0f, 0x1.0p+5f};
  const mlxcel_attention_shape_t shape = {
      .heads = kHeads, .kv_heads = kKvHeads, .head_dim = kHeadDim, .rope_half = kHeadDim / 4, .layer = 2, .rope_scale = 0.25f, .rope_frequencies = frequencies};
  build_qkv_rope_of(builder, &shape);
}

static void build_attention(mlxcel_module_builder_t* builder) {
  const mlxcel_attention_shape_t shape = {.heads = kHeads, .kv_heads = kKvHeads, .head_dim = kHeadDim, .layer = 1, .scale = 0.25f};
  mlxcel_function_begin(builder);
  mlxcel_emit_rows_t rows = golden_rows_arguments(builder);
  mlxcel_value_t q = golden_matrix_argument(builder, MLXCEL_ELEMENT_F16, kRows, kHeads * kHeadDim);
  mlxcel_kv_values_t kv;
  kv.k_cache = golden_cache_argument(builder, MLXCEL_ELEMENT_F16, -1);
  kv.v_cache = golden_cache_argument(builder, MLXCEL_ELEMENT_F16, -1);
  golden_function_end(builder, mlxcel_emit_attention(builder, &rows, &shape, q, &kv), "attention");
}

#define MLX_MODULE(part) \
  { .name = "mlx_" #part, .profile = MLXCEL_PROFILE_MLX_CPU, .build = build_##part }
static const golden_module_t modules[] = {
    MLX_MODULE(embedding_dense), MLX_MODULE(embedding_affine), MLX_MODULE(rms_norm_gather), MLX_MODULE(matmul_widened),       MLX_MODULE(matmul_affine),
    MLX_MODULE(matmul_promoted), MLX_MODULE(silu_gate),        MLX_MODULE(qkv_rope),        MLX_MODULE(qkv_rope_frequencies), MLX_MODULE(attention),
};

const golden_module_t* golden_mlx_module_at(size_t index) { return index < sizeof(modules) / sizeof(modules[0]) ? &modules[index] : NULL; }
