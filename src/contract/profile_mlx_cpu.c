// Profile mlx-cpu-0.32.4: the orders of MLX's own x86-64 CPU build, by the sequential kernels of kernels/mlx_abi.h. One accumulator, index order, nothing fused
// outside of exp, erf, sin and cos. T is any of f32, f16, bf16; operands meet in P.
#include "contract/profile_rows.h"

#define ANY_T .dtypes = MLXCEL_D_ALL
#define ANY_W(kind) .source = MLXCEL_SOURCE_##kind, .weights = MLXCEL_D_ALL
#define EXACT .denormals = "keep"
// sigmoid: e = R(exp|x|); y = 1 / (1 + e) in f32; R(y or 1 - y).
#define SIGMOID "exp:T+one-plus:f32+quotient:f32+sigmoid:T"
#define ERF_STEPS "quotient:T+erf:T+one-plus:T+product:T+half:T"
#define TANH_STEPS "half:T+power:T+cubic:T+inner-sum:T+argument:T+tanh:T+one-plus:T+product:T"
#define ELEMENTWISE "mlxcel_mlx_elementwise"
#define ELEMENTWISE_HOST "mlxcel_mlx_elementwise+mlxcel_host_unary"

// activation and silu-gate: |rounding| of the activation, then the gate's product where there is one.
#define ACTIVATION(name, activation_rounding, activation_functions, kernels)                                                             \
  {.op = MLXCEL_OP_ACTIVATION,                                                                                                           \
   .variants = MLXCEL_V(name),                                                                                                           \
   ANY_T,                                                                                                                                \
   EXACT,                                                                                                                                \
   .operand_dtype = "T",                                                                                                                 \
   .result_dtype = "T",                                                                                                                  \
   .rounding = activation_rounding,                                                                                                      \
   .constants = "T-nearest",                                                                                                             \
   .functions = activation_functions,                                                                                                    \
   .algorithm = kernels},                                                                                                                \
  {                                                                                                                                      \
    .op = MLXCEL_OP_SILU_GATE, .variants = MLXCEL_V(name), ANY_T, EXACT, .operand_dtype = "T", .result_dtype = "T",                      \
    .rounding = activation_rounding "+gate-product:T", .constants = "T-nearest", .functions = activation_functions, .algorithm = kernels \
  }

#define SQUARES "square:f32+square-sum:f32+mean:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+"
#define RMS_NORM(name, operand, result, norm_rounding)                                                                                                        \
  {                                                                                                                                                           \
    .op = MLXCEL_OP_RMS_NORM, .variants = MLXCEL_V(name), ANY_T, ANY_W(DENSE), EXACT, .operand_dtype = operand, .accumulator = "f32", .result_dtype = result, \
    .rounding = norm_rounding, .association = "sequential", .dequantization = "exact-widen", .constants = "f32-nearest", .functions = "ieee-div+ieee-sqrt",   \
    .algorithm = "mlxcel_mlx_rms_norm"                                                                                                                        \
  }

#define SOFTMAX(name, A)                                                                                                            \
  {                                                                                                                                 \
    .op = MLXCEL_OP_SOFTMAX, .variants = MLXCEL_V(name), ANY_T, EXACT, .operand_dtype = "T", .accumulator = A, .result_dtype = "T", \
    .rounding = "difference:" A "+exp:" A "+sum:" A "+reciprocal:" A "+product:" A "+result:T", .association = "sequential",        \
    .functions = "mlx-exp-1+ieee-div", .algorithm = "mlxcel_mlx_softmax"                                                            \
  }

// The scale goes into the queries; the probabilities are rounded to T before they meet the values.
#define ATTENTION(name, mask)                                                                                                                   \
  {                                                                                                                                             \
    .op = MLXCEL_OP_ATTENTION, .variants = MLXCEL_V(name), ANY_T, EXACT, .operand_dtype = "T", .accumulator = "f32", .result_dtype = "T",       \
    .rounding = "scale-before-dot:T+product:f32+score-sum:f32+score:T" mask                                                                     \
                "+difference:f32+exp:f32+sum:f32+reciprocal:f32+quotient:f32+probability:T+product:f32+value-sum:f32+result:T",                 \
    .association = "scores:sequential+softmax:sequential+values:sequential", .constants = "scale:T-nearest", .functions = "mlx-exp-1+ieee-div", \
    .algorithm = "mlxcel_mlx_attention"                                                                                                         \
  }

// Angles in f32 on the spot; cos and sin rounded to T; two products and a sum, each rounded.
#define ROPE(from_frequencies, angle_rounding, angle_constants, angle_functions)                                                                   \
  {                                                                                                                                                \
    .op = MLXCEL_OP_ROPE, .variants = MLXCEL_V(HALF) | MLXCEL_V(INTERLEAVED), .frequencies = from_frequencies, ANY_T, EXACT, .operand_dtype = "T", \
    .result_dtype = "T", .rounding = angle_rounding "+cos-sin:T+product:T+sum:T", .constants = angle_constants,                                    \
    .functions = angle_functions "+mlx-sin-1+mlx-cos-1", .algorithm = "mlxcel_mlx_rope"                                                            \
  }

static const mlxcel_profile_row_t rows[] = {
    {.op = MLXCEL_OP_EMBEDDING, ANY_W(DENSE), EXACT, .operand_dtype = "W", .result_dtype = "W", .dequantization = "copy", .algorithm = "mlxcel_mlx_embed"},
    {.op = MLXCEL_OP_EMBEDDING,
     ANY_W(AFFINE),
     EXACT,
     .operand_dtype = "W",
     .result_dtype = "W",
     .rounding = "weight-product:W+weight-bias:W",
     .dequantization = "two-round-W",
     .algorithm = "mlxcel_mlx_embed"},
    {.op = MLXCEL_OP_DEQUANTIZE,
     ANY_W(AFFINE),
     EXACT,
     .operand_dtype = "W",
     .result_dtype = "W",
     .rounding = "weight-product:W+weight-bias:W",
     .dequantization = "two-round-W",
     .algorithm = "mlxcel_mlx_embed"},
    {.op = MLXCEL_OP_DENSE_MATMUL,
     ANY_T,
     ANY_W(DENSE),
     EXACT,
     .operand_dtype = "P",
     .accumulator = "f32",
     .result_dtype = "P",
     .rounding = "product:f32+sum:f32[+bias:f32]+result:P",
     .association = "sequential",
     .dequantization = "exact-widen",
     .algorithm = "mlxcel_mlx_matmul"},
    {.op = MLXCEL_OP_QUANTIZED_MATMUL,  // one kernel for few rows and many
     .variants = MLXCEL_V(NONE) | MLXCEL_V(QMV) | MLXCEL_V(QMM),
     .joins_variants = true,
     ANY_T,
     ANY_W(AFFINE),
     EXACT,
     .operand_dtype = "P",
     .accumulator = "P",
     .result_dtype = "P",
     .rounding = "weight-product:P+weight-bias:P+product:P+sum:P[+bias:P]",
     .association = "sequential",
     .dequantization = "two-round-P",
     .algorithm = "mlxcel_mlx_matmul"},
    {.op = MLXCEL_OP_LAYER_NORM,
     ANY_T,
     ANY_W(DENSE),
     EXACT,
     .operand_dtype = "P",
     .accumulator = "f32",
     .result_dtype = "P",
     .rounding = "sum:f32+mean:mul-reciprocal-f32+difference:f32+square:f32+square-sum:f32+variance:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+"
                 "scale:P+weight:P+bias:P",
     .association = "sequential",
     .dequantization = "exact-widen",
     .constants = "f32-nearest",
     .functions = "ieee-div+ieee-sqrt",
     .algorithm = "mlxcel_mlx_layer_norm"},
    RMS_NORM(PLAIN, "P", "P", SQUARES "scale:P+weight:P"),
    RMS_NORM(GEMMA, "P", "P", "one-plus:W+" SQUARES "scale:P+weight:P"),
    RMS_NORM(SINGLE_ROUNDING, "f32", "T", SQUARES "scale:f32+weight:f32+result:T"),
    {.op = MLXCEL_OP_RESIDUAL_ADD, ANY_T, EXACT, .operand_dtype = "T", .result_dtype = "T", .rounding = "sum:T", .algorithm = ELEMENTWISE},
    ACTIVATION(SILU, SIGMOID "+product:T", "mlx-exp-1+ieee-div", ELEMENTWISE),
    ACTIVATION(GELU_ERF, ERF_STEPS, "mlx-erf-1+ieee-div", ELEMENTWISE),
    ACTIVATION(GELU_TANH, TANH_STEPS, "host-powf+host-tanhf", ELEMENTWISE_HOST),
    ACTIVATION(GELU_SIGMOID, "argument:T+" SIGMOID "+product:T", "mlx-exp-1+ieee-div", ELEMENTWISE),
    SOFTMAX(PRECISE, "f32"),
    SOFTMAX(SAME_DTYPE, "T"),
    ATTENTION(MASK_NONE, ""),
    ATTENTION(MASK_CAUSAL, ""),
    ATTENTION(MASK_ADDITIVE, "+mask:T"),
    ROPE(false, "position-scale:f32+exponent:f32+exp:f32+angle:f32", "log-base:f32", "mlx-exp-1"),
    ROPE(true, "position-scale:f32+reciprocal:f32+angle:f32", "frequencies:f32-nearest", "ieee-div"),
    {.op = MLXCEL_OP_KV_STORE, ANY_T, EXACT, .operand_dtype = "T", .result_dtype = "T", .algorithm = "mlxcel_mlx_kv_store"},
    {.op = MLXCEL_OP_PREFIX_SCAN,
     .variants = MLXCEL_V(CONTIGUOUS) | MLXCEL_V(STRIDED),
     ANY_T,
     EXACT,
     .operand_dtype = "T",
     .accumulator = "T",
     .result_dtype = "T",
     .rounding = "sum:T",
     .association = "sequential",
     .algorithm = "mlxcel_mlx_scan"},
    // Sums over frequency and channel, their running sums over time, divided by running counts; the square is a power.
    {.op = MLXCEL_OP_CUMULATIVE_NORM,
     ANY_T,
     ANY_W(DENSE),
     EXACT,
     .operand_dtype = "f32",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "step-sum:f32+scan-sum:f32+mean:div-f32+difference:f32+power:f32+step-sum:f32+scan-sum:f32+variance:div-f32+epsilon:f32+root:f32+"
                 "reciprocal:f32+scale:f32+weight:f32+result:T",
     .association = "steps:sequential+scan:sequential",
     .dequantization = "exact-widen",
     .constants = "f32-nearest",
     .functions = "host-powf+ieee-div+ieee-sqrt",
     .algorithm = "mlxcel_mlx_row_sum+mlxcel_mlx_scan+mlxcel_mlx_elementwise+mlxcel_host_unary"},
    {.op = MLXCEL_OP_CONVOLUTION,
     .variants = MLXCEL_V(CONV1D) | MLXCEL_V(CONV2D),
     ANY_T,
     .source = MLXCEL_SOURCE_DENSE,
     EXACT,
     .operand_dtype = "T",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "product:f32+sum:f32+result:T",
     .association = "sequential(kh,kw,c)",
     .dequantization = "exact-widen",
     .algorithm = "mlxcel_mlx_convolution"},
};

const mlxcel_row_table_t mlxcel_rows_mlx_cpu = {IREE_ARRAYSIZE(rows), rows};
