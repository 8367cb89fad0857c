// Operations as micro-oracles emit them: every class of contract/operation.h under the profiles that define it.
#include "emit/golden_parts.h"

#define T(dtype_name, weight_name) .dtype = MLXCEL_DTYPE_##dtype_name, .weight_dtype = MLXCEL_DTYPE_##weight_name, .bias_dtype = MLXCEL_DTYPE_##weight_name
#define V(name) .variant = MLXCEL_VARIANT_##name
#define AFFINE4 .bits = 4, .group_size = 32
#define ATTENTION_SIZES .rows = 3, .heads = 4, .kv_heads = 2, .head_dim = 16, .keys = 5, .scale = 0.25f
#define ROPE_SIZES .rows = 3, .heads = 4, .head_dim = 16, .keys = 8, .rope_base = 10000.0f, .scale = 1.0f

typedef const mlxcel_operation_t operation_t;
static operation_t dequantize = {.op = MLXCEL_OP_DEQUANTIZE, T(BF16, BF16), AFFINE4, .in_features = 64, .out_features = 5};
static operation_t dequantize_f32 = {.op = MLXCEL_OP_DEQUANTIZE, T(F32, F32), AFFINE4, .in_features = 64, .out_features = 5};
static operation_t embedding = {.op = MLXCEL_OP_EMBEDDING, T(F32, F32), AFFINE4, .rows = 3, .in_features = 64, .out_features = 5};
static operation_t dense_matmul = {.op = MLXCEL_OP_DENSE_MATMUL, T(F16, F16), .has_bias = true, .rows = 3, .in_features = 33, .out_features = 5};
static operation_t dense_matmul_f32 = {.op = MLXCEL_OP_DENSE_MATMUL, T(F32, BF16), .has_bias = true, .rows = 3, .in_features = 33, .out_features = 5};
static operation_t quantized_matmul = {
    .op = MLXCEL_OP_QUANTIZED_MATMUL, T(BF16, BF16), AFFINE4, .has_bias = true, .rows = 1, .in_features = 64, .out_features = 5};
static operation_t quantized_matmul_f32 = {.op = MLXCEL_OP_QUANTIZED_MATMUL, T(F32, F16), AFFINE4, .rows = 3, .in_features = 64, .out_features = 5};
static operation_t layer_norm = {.op = MLXCEL_OP_LAYER_NORM, T(BF16, F32), .rows = 3, .in_features = 33, .epsilon = 1e-5f};
static operation_t rms_norm_plain = {.op = MLXCEL_OP_RMS_NORM, V(PLAIN), T(F32, F32), .rows = 3, .in_features = 33, .epsilon = 1e-5f};
static operation_t rms_norm_gemma = {.op = MLXCEL_OP_RMS_NORM, V(GEMMA), T(BF16, BF16), .rows = 3, .in_features = 33, .epsilon = 1e-6f};
static operation_t rms_norm_single = {.op = MLXCEL_OP_RMS_NORM, V(SINGLE_ROUNDING), T(F16, F16), .rows = 3, .in_features = 33, .epsilon = 1e-6f};
static operation_t residual_add = {.op = MLXCEL_OP_RESIDUAL_ADD, T(BF16, BF16), .rows = 3, .in_features = 33};
static operation_t silu = {.op = MLXCEL_OP_ACTIVATION, V(SILU), T(BF16, BF16), .rows = 3, .in_features = 33};
static operation_t gelu_erf = {.op = MLXCEL_OP_ACTIVATION, V(GELU_ERF), T(F16, F16), .rows = 3, .in_features = 33};
static operation_t gelu_tanh = {.op = MLXCEL_OP_ACTIVATION, V(GELU_TANH), T(BF16, BF16), .rows = 3, .in_features = 33};
static operation_t gelu_sigmoid = {.op = MLXCEL_OP_ACTIVATION, V(GELU_SIGMOID), T(F32, F32), .rows = 3, .in_features = 33};
static operation_t silu_gate = {.op = MLXCEL_OP_SILU_GATE, V(SILU), T(F16, F16), .rows = 3, .in_features = 33};
static operation_t projection = {.op = MLXCEL_OP_ACTIVATION_PROJECTION, V(GELU_TANH), T(BF16, BF16), AFFINE4, .rows = 3, .in_features = 64, .out_features = 5};
static operation_t projection_f32 = {.op = MLXCEL_OP_ACTIVATION_PROJECTION, V(SILU), T(F32, F16), .rows = 3, .in_features = 64, .out_features = 5};
static operation_t softmax_precise = {.op = MLXCEL_OP_SOFTMAX, V(PRECISE), T(BF16, BF16), .rows = 3, .in_features = 33};
static operation_t softmax_same = {.op = MLXCEL_OP_SOFTMAX, V(SAME_DTYPE), T(F16, F16), .rows = 3, .in_features = 33};
static operation_t attention_none = {.op = MLXCEL_OP_ATTENTION, V(MASK_NONE), T(F16, F16), ATTENTION_SIZES};
static operation_t attention_causal = {.op = MLXCEL_OP_ATTENTION, V(MASK_CAUSAL), T(F32, F32), ATTENTION_SIZES};
static operation_t attention_additive = {.op = MLXCEL_OP_ATTENTION, V(MASK_ADDITIVE), T(BF16, BF16), ATTENTION_SIZES};
static operation_t rope_half = {.op = MLXCEL_OP_ROPE, V(HALF), T(F32, F32), ROPE_SIZES, .rope_dims = 16};
static operation_t rope_interleaved = {.op = MLXCEL_OP_ROPE, V(INTERLEAVED), T(BF16, BF16), ROPE_SIZES, .rope_dims = 8};
static operation_t rope_frequencies = {.op = MLXCEL_OP_ROPE, V(HALF), T(F16, F16), ROPE_SIZES, .rope_dims = 16, .has_frequencies = true};
static operation_t qkv_rope = {.op = MLXCEL_OP_QKV_ROPE, V(HALF), T(F32, F32), ATTENTION_SIZES, .in_features = 33, .rope_dims = 16, .rope_base = 10000.0f};
static operation_t attention_f16_cache = {.op = MLXCEL_OP_ATTENTION, V(MASK_CAUSAL), T(F32, F32), ATTENTION_SIZES, .cache_dtype = MLXCEL_DTYPE_F16};
static operation_t qkv_rope_bf16_cache = {.op = MLXCEL_OP_QKV_ROPE,
                                          V(HALF),
                                          T(F32, F32),
                                          ATTENTION_SIZES,
                                          .in_features = 33,
                                          .rope_dims = 16,
                                          .rope_base = 10000.0f,
                                          .cache_dtype = MLXCEL_DTYPE_BF16};
static operation_t kv_store = {.op = MLXCEL_OP_KV_STORE, T(BF16, BF16), .rows = 3, .kv_heads = 2, .head_dim = 16, .keys = 5};
static operation_t scan_contiguous = {.op = MLXCEL_OP_PREFIX_SCAN, V(CONTIGUOUS), T(BF16, BF16), .rows = 3, .in_features = 33};
static operation_t scan_strided = {.op = MLXCEL_OP_PREFIX_SCAN, V(STRIDED), T(F32, F32), .rows = 3, .in_features = 33};
static operation_t cumulative_norm = {.op = MLXCEL_OP_CUMULATIVE_NORM, T(BF16, BF16), .rows = 3, .in_features = 8, .out_features = 4, .epsilon = 1e-3f};
static operation_t conv1d = {.op = MLXCEL_OP_CONVOLUTION,
                             V(CONV1D),
                             T(F16, F16),
                             .batch = 1,
                             .in_h = 1,
                             .in_w = 9,
                             .in_features = 3,
                             .out_features = 2,
                             .kernel_h = 1,
                             .kernel_w = 3,
                             .stride_h = 1,
                             .stride_w = 2,
                             .pad_w_low = 2};
static operation_t conv2d = {.op = MLXCEL_OP_CONVOLUTION,
                             V(CONV2D),
                             T(BF16, BF16),
                             .batch = 1,
                             .in_h = 7,
                             .in_w = 9,
                             .in_features = 1,
                             .out_features = 4,
                             .kernel_h = 3,
                             .kernel_w = 3,
                             .stride_h = 2,
                             .stride_w = 2,
                             .pad_h_high = 2,
                             .pad_w_low = 1,
                             .pad_w_high = 1};

#define MLX(instance) \
  { .name = "mlx_op_" #instance, .profile = MLXCEL_PROFILE_MLX_CPU, .operation = &instance }
#define PINNED(instance) \
  { .name = "pinned_op_" #instance, .profile = MLXCEL_PROFILE_PINNED_F32, .operation = &instance }
static const golden_module_t modules[] = {
    MLX(dequantize),
    MLX(embedding),
    MLX(dense_matmul),
    MLX(dense_matmul_f32),
    MLX(quantized_matmul),
    MLX(quantized_matmul_f32),
    MLX(layer_norm),
    MLX(rms_norm_plain),
    MLX(rms_norm_gemma),
    MLX(rms_norm_single),
    MLX(residual_add),
    MLX(silu),
    MLX(gelu_erf),
    MLX(gelu_tanh),
    MLX(gelu_sigmoid),
    MLX(silu_gate),
    MLX(projection),
    MLX(softmax_precise),
    MLX(softmax_same),
    MLX(attention_none),
    MLX(attention_causal),
    MLX(attention_additive),
    MLX(rope_half),
    MLX(rope_interleaved),
    MLX(rope_frequencies),
    MLX(qkv_rope),
    MLX(kv_store),
    MLX(scan_contiguous),
    MLX(scan_strided),
    MLX(cumulative_norm),
    MLX(conv1d),
    MLX(conv2d),
    PINNED(dequantize_f32),
    PINNED(embedding),
    PINNED(dense_matmul_f32),
    PINNED(quantized_matmul_f32),
    PINNED(rms_norm_plain),
    PINNED(projection_f32),
    PINNED(attention_causal),
    PINNED(attention_f16_cache),
    PINNED(qkv_rope),
    PINNED(qkv_rope_bf16_cache),
};

const golden_module_t* golden_operation_at(size_t index) { return index < sizeof(modules) / sizeof(modules[0]) ? &modules[index] : NULL; }
