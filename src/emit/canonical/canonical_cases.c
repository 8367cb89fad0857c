#include "emit/canonical/canonical_cases.h"

#include <string.h>

#define T(dtype_name, weight_name) .dtype = MLXCEL_DTYPE_##dtype_name, .weight_dtype = MLXCEL_DTYPE_##weight_name, .bias_dtype = MLXCEL_DTYPE_##weight_name
#define OP(op_name, variant_name) .op = MLXCEL_OP_##op_name, .variant = MLXCEL_VARIANT_##variant_name
// 33 columns: the reciprocal of the width is inexact, and no vector width divides it.
#define ROWS .rows = 3, .in_features = 33
#define NORM ROWS, .epsilon = 1e-5f
#define AFFINE(code_bits) .bits = code_bits, .group_size = 32, .rows = 3, .in_features = 64, .out_features = 5
// The scale is no power of two: where it stands shows.
#define ATTENTION .rows = 3, .heads = 4, .kv_heads = 2, .head_dim = 36, .keys = 40, .scale = 0.3f
#define ROPE .rows = 3, .heads = 2, .head_dim = 10, .keys = 8, .rope_base = 10000.0f, .scale = 1.0f
#define CONV2D                                                                                                                                        \
  .batch = 1, .in_h = 7, .in_w = 9, .in_features = 3, .out_features = 4, .kernel_h = 3, .kernel_w = 3, .stride_h = 2, .stride_w = 2, .pad_h_high = 2, \
  .pad_w_low = 1, .pad_w_high = 1
#define CONV1D .batch = 1, .in_h = 1, .in_w = 9, .in_features = 3, .out_features = 2, .kernel_h = 1, .kernel_w = 3, .stride_h = 1, .stride_w = 2, .pad_w_low = 2

static const mlxcel_canonical_case_t cases[] = {
    {"dequantize_u4_bf16", {OP(DEQUANTIZE, NONE), T(BF16, BF16), AFFINE(4)}},
    {"dequantize_u8_f32", {OP(DEQUANTIZE, NONE), T(F32, F32), AFFINE(8)}},
    {"dequantize_u2_f16", {OP(DEQUANTIZE, NONE), T(F16, F16), AFFINE(2)}},
    {"dense_matmul_f32", {OP(DENSE_MATMUL, NONE), T(F32, F32), ROWS, .out_features = 5}},
    {"dense_matmul_f16_bias", {OP(DENSE_MATMUL, NONE), T(F16, F16), ROWS, .out_features = 5, .has_bias = true}},
    {"dense_matmul_bf16", {OP(DENSE_MATMUL, NONE), T(BF16, BF16), ROWS, .out_features = 5}},
    {"dense_matmul_bf16_f32", {OP(DENSE_MATMUL, NONE), T(BF16, F32), ROWS, .out_features = 5}},
    {"quantized_matmul_u4_f32", {OP(QUANTIZED_MATMUL, NONE), T(F32, F32), AFFINE(4)}},
    {"quantized_matmul_u4_bf16_bias", {OP(QUANTIZED_MATMUL, NONE), T(BF16, BF16), AFFINE(4), .has_bias = true}},
    {"quantized_matmul_u8_f16", {OP(QUANTIZED_MATMUL, NONE), T(F16, F16), AFFINE(8)}},
    {"quantized_matmul_u4_f32_f16", {OP(QUANTIZED_MATMUL, NONE), T(F32, F16), AFFINE(4)}},
    {"layer_norm_f32", {OP(LAYER_NORM, NONE), T(F32, F32), NORM}},
    {"layer_norm_bf16", {OP(LAYER_NORM, NONE), T(BF16, BF16), NORM}},
    {"rms_norm_plain_f32", {OP(RMS_NORM, PLAIN), T(F32, F32), NORM}},
    {"rms_norm_plain_bf16", {OP(RMS_NORM, PLAIN), T(BF16, BF16), NORM}},
    {"rms_norm_gemma_bf16", {OP(RMS_NORM, GEMMA), T(BF16, BF16), NORM}},
    {"rms_norm_single_f16", {OP(RMS_NORM, SINGLE_ROUNDING), T(F16, F16), NORM}},
    {"residual_add_f32", {OP(RESIDUAL_ADD, NONE), T(F32, F32), ROWS}},
    {"residual_add_bf16", {OP(RESIDUAL_ADD, NONE), T(BF16, BF16), ROWS}},
    {"silu_f32", {OP(ACTIVATION, SILU), T(F32, F32), ROWS}},
    {"silu_bf16", {OP(ACTIVATION, SILU), T(BF16, BF16), ROWS}},
    {"gelu_erf_f32", {OP(ACTIVATION, GELU_ERF), T(F32, F32), ROWS}},
    {"gelu_erf_bf16", {OP(ACTIVATION, GELU_ERF), T(BF16, BF16), ROWS}},
    {"gelu_tanh_f32", {OP(ACTIVATION, GELU_TANH), T(F32, F32), ROWS}},
    {"gelu_tanh_bf16", {OP(ACTIVATION, GELU_TANH), T(BF16, BF16), ROWS}},
    {"gelu_sigmoid_f16", {OP(ACTIVATION, GELU_SIGMOID), T(F16, F16), ROWS}},
    {"silu_gate_f32", {OP(SILU_GATE, SILU), T(F32, F32), ROWS}},
    {"silu_gate_f16", {OP(SILU_GATE, SILU), T(F16, F16), ROWS}},
    {"projection_u4_bf16", {OP(ACTIVATION_PROJECTION, GELU_TANH), T(BF16, BF16), AFFINE(4)}},
    {"projection_f32", {OP(ACTIVATION_PROJECTION, SILU), T(F32, F32), ROWS, .out_features = 5}},
    {"softmax_precise_f32", {OP(SOFTMAX, PRECISE), T(F32, F32), ROWS}},
    {"softmax_precise_bf16", {OP(SOFTMAX, PRECISE), T(BF16, BF16), ROWS}},
    {"softmax_same_f16", {OP(SOFTMAX, SAME_DTYPE), T(F16, F16), ROWS}},
    {"attention_none_f16", {OP(ATTENTION, MASK_NONE), T(F16, F16), ATTENTION}},
    {"attention_causal_f32", {OP(ATTENTION, MASK_CAUSAL), T(F32, F32), ATTENTION}},
    {"attention_additive_bf16", {OP(ATTENTION, MASK_ADDITIVE), T(BF16, BF16), ATTENTION}},
    {"rope_half_f32", {OP(ROPE, HALF), T(F32, F32), ROPE, .rope_dims = 10}},
    {"rope_interleaved_bf16", {OP(ROPE, INTERLEAVED), T(BF16, BF16), ROPE, .rope_dims = 6}},
    {"scan_contiguous_f32", {OP(PREFIX_SCAN, CONTIGUOUS), T(F32, F32), ROWS}},
    {"scan_strided_bf16", {OP(PREFIX_SCAN, STRIDED), T(BF16, BF16), .rows = 33, .in_features = 3}},
    {"cumulative_norm_f32", {OP(CUMULATIVE_NORM, NONE), T(F32, F32), .rows = 5, .in_features = 8, .out_features = 4, .epsilon = 1e-3f}},
    {"cumulative_norm_bf16", {OP(CUMULATIVE_NORM, NONE), T(BF16, BF16), .rows = 5, .in_features = 8, .out_features = 4, .epsilon = 1e-3f}},
    {"conv1d_f16", {OP(CONVOLUTION, CONV1D), T(F16, F16), CONV1D}},
    {"conv2d_f32", {OP(CONVOLUTION, CONV2D), T(F32, F32), CONV2D}},
    {"conv2d_bf16", {OP(CONVOLUTION, CONV2D), T(BF16, BF16), CONV2D}},
};

const mlxcel_canonical_case_t* mlxcel_canonical_case_at(size_t index) { return index < IREE_ARRAYSIZE(cases) ? &cases[index] : NULL; }

const mlxcel_canonical_case_t* mlxcel_canonical_case_find(const char* name) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    if (strcmp(cases[i].name, name) == 0) return &cases[i];
  }
  return NULL;
}
