// Profile iree-canonical: what IREE compiles without a pinned kernel, as emit/canonical writes it, on CPU, at O2 with reassociation off. The order of every
// step is MLX's own, but: a dot_general and a convolution are one chain of fused multiply-adds an output; affine products accumulate in f32; exp, erf and tanh
// are IREE's polynomials; a cube is two products; subnormals of f32 are flushed. Where nothing of this is used, the tolerance is `exact`. Elsewhere it bounds
// the distance to that order with the functions and sums exchanged, in units of the result at its largest magnitude:
//   fma-contraction    the products' roundings are missing: K independent errors of half a unit of the partial sums, about sqrt(K) of them up to K = 4096
//   iree-polynomials   1 (exp), 6 (erf), 4 (tanh) units, what the other side's polynomial has, and the steps behind them
#include "contract/profile_rows.h"

#define ANY_T .dtypes = MLXCEL_D_ALL
#define ANY_W(kind) .source = MLXCEL_SOURCE_##kind, .weights = MLXCEL_D_ALL
#define CODE_WIDTHS .bits = MLXCEL_B(2) | MLXCEL_B(4) | MLXCEL_B(8)  // those that divide a byte
#define FLUSH .denormals = "flush"
#define WITHIN(bound, reason) .tolerance = "max-ulp(" #bound ")", .derivation = reason
#define FUSION "fma-contraction"
#define POLYNOMIALS "iree-polynomials"
#define BOTH "fma-contraction+iree-polynomials"

#define SIGMOID "exp:T+one-plus:f32+quotient:f32+sigmoid:T"
#define ERF_STEPS "quotient:T+erf:T+one-plus:T+product:T+half:T"
#define TANH_STEPS "square:f32+power:T+cubic:T+inner-sum:T+argument:T+tanh:T+one-plus:T+half:T+product:T"
#define ACTIVATION(name, activation_constants, activation_rounding, activation_functions)                                                                   \
  {.op = MLXCEL_OP_ACTIVATION,                                                                                                                              \
   .variants = MLXCEL_V(name),                                                                                                                              \
   ANY_T,                                                                                                                                                   \
   FLUSH,                                                                                                                                                   \
   .operand_dtype = "T",                                                                                                                                    \
   .result_dtype = "T",                                                                                                                                     \
   .rounding = activation_rounding,                                                                                                                         \
   .constants = activation_constants,                                                                                                                       \
   .functions = activation_functions,                                                                                                                       \
   .algorithm = "linalg:generic",                                                                                                                           \
   WITHIN(8, POLYNOMIALS)},                                                                                                                                 \
  {                                                                                                                                                         \
    .op = MLXCEL_OP_SILU_GATE, .variants = MLXCEL_V(name), ANY_T, FLUSH, .operand_dtype = "T", .result_dtype = "T",                                         \
    .rounding = activation_rounding "+gate-product:T", .constants = activation_constants, .functions = activation_functions, .algorithm = "linalg:generic", \
    WITHIN(8, POLYNOMIALS)                                                                                                                                  \
  }

#define SQUARES "square:f32+square-sum:f32+mean:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+"
#define RMS_NORM(name, operand, result, norm_rounding)                                                                                                        \
  {                                                                                                                                                           \
    .op = MLXCEL_OP_RMS_NORM, .variants = MLXCEL_V(name), ANY_T, ANY_W(DENSE), FLUSH, .operand_dtype = operand, .accumulator = "f32", .result_dtype = result, \
    .rounding = norm_rounding, .association = "sequential", .dequantization = "exact-widen", .constants = "f32-nearest", .functions = "ieee-div+ieee-sqrt",   \
    .algorithm = "linalg:generic"                                                                                                                             \
  }

#define SOFTMAX(name, A)                                                                                                                                     \
  {                                                                                                                                                          \
    .op = MLXCEL_OP_SOFTMAX, .variants = MLXCEL_V(name), ANY_T, FLUSH, .operand_dtype = "T", .accumulator = A, .result_dtype = "T",                          \
    .rounding = "difference:" A "+exp:" A "+sum:" A "+reciprocal:" A "+product:f32+result:T", .association = "sequential", .functions = "iree-exp+ieee-div", \
    .algorithm = "linalg:generic", WITHIN(16, POLYNOMIALS)                                                                                                   \
  }

// The scale goes into the queries; the probabilities are rounded to T before they meet the values.
#define ATTENTION(name, mask)                                                                                                                          \
  {                                                                                                                                                    \
    .op = MLXCEL_OP_ATTENTION, .variants = MLXCEL_V(name), ANY_T, FLUSH, .operand_dtype = "T", .accumulator = "f32", .result_dtype = "T",              \
    .rounding = "scale-before-dot:T+score-sum:fma-f32+score:T" mask                                                                                    \
                "+difference:f32+exp:f32+sum:f32+reciprocal:f32+quotient:f32+probability:T+value-sum:fma-f32+result:T",                                \
    .association = "scores:sequential-fma+softmax:sequential+values:sequential-fma", .constants = "scale:T-nearest", .functions = "iree-exp+ieee-div", \
    .algorithm = "stablehlo:dot-general+linalg:generic", WITHIN(32, BOTH)                                                                              \
  }

static const mlxcel_profile_row_t rows[] = {
    {.op = MLXCEL_OP_DEQUANTIZE,
     ANY_W(AFFINE),
     CODE_WIDTHS,
     FLUSH,
     .operand_dtype = "W",
     .result_dtype = "W",
     .rounding = "weight-product:W+weight-bias:W",
     .dequantization = "two-round-W",
     .algorithm = "linalg:generic"},
    {.op = MLXCEL_OP_DENSE_MATMUL,
     ANY_T,
     ANY_W(DENSE),
     FLUSH,
     .operand_dtype = "P",
     .accumulator = "f32",
     .result_dtype = "P",
     .rounding = "product-sum:fma-f32[+bias:f32]+result:P",
     .association = "sequential-fma",
     .dequantization = "exact-widen",
     .algorithm = "stablehlo:dot-general+linalg:generic",
     WITHIN(32, FUSION)},
    // f32 sums; mlx-cpu sums in P, which is why the tolerance isn't `exact`.
    {.op = MLXCEL_OP_QUANTIZED_MATMUL,
     .variants = MLXCEL_V(NONE) | MLXCEL_V(QMV) | MLXCEL_V(QMM),
     .joins_variants = true,
     ANY_T,
     ANY_W(AFFINE),
     CODE_WIDTHS,
     FLUSH,
     .operand_dtype = "P",
     .accumulator = "f32",
     .result_dtype = "P",
     .rounding = "weight-product:P+weight-bias:P+product:f32+sum:f32+result:P[+bias:P]",
     .association = "sequential",
     .dequantization = "two-round-P",
     .algorithm = "linalg:generic",
     WITHIN(64, "wider-accumulator")},
    {.op = MLXCEL_OP_LAYER_NORM,
     ANY_T,
     ANY_W(DENSE),
     FLUSH,
     .operand_dtype = "P",
     .accumulator = "f32",
     .result_dtype = "P",
     .rounding = "sum:f32+mean:mul-reciprocal-f32+difference:f32+square:f32+square-sum:f32+variance:mul-reciprocal-f32+epsilon:f32+root:f32+reciprocal:f32+"
                 "scale:P+weight:P+bias:P",
     .association = "sequential",
     .dequantization = "exact-widen",
     .constants = "f32-nearest",
     .functions = "ieee-div+ieee-sqrt",
     .algorithm = "linalg:generic"},
    RMS_NORM(PLAIN, "P", "P", SQUARES "scale:P+weight:P"),
    RMS_NORM(GEMMA, "P", "P", "one-plus:W+" SQUARES "scale:P+weight:P"),
    RMS_NORM(SINGLE_ROUNDING, "f32", "T", SQUARES "scale:f32+weight:f32+result:T"),
    {.op = MLXCEL_OP_RESIDUAL_ADD, ANY_T, FLUSH, .operand_dtype = "T", .result_dtype = "T", .rounding = "sum:T", .algorithm = "linalg:generic"},
    ACTIVATION(SILU, NULL, SIGMOID "+product:T", "iree-exp+ieee-div"),
    ACTIVATION(GELU_ERF, "T-nearest", ERF_STEPS, "iree-erf+ieee-div"),
    ACTIVATION(GELU_TANH, "T-nearest", TANH_STEPS, "iree-tanh"),
    ACTIVATION(GELU_SIGMOID, "T-nearest", "argument:T+" SIGMOID "+product:T", "iree-exp+ieee-div"),
    SOFTMAX(PRECISE, "f32"),
    SOFTMAX(SAME_DTYPE, "T"),
    ATTENTION(MASK_NONE, ""),
    ATTENTION(MASK_CAUSAL, ""),
    ATTENTION(MASK_ADDITIVE, "+mask:T"),
    {.op = MLXCEL_OP_ROPE,
     .variants = MLXCEL_V(HALF) | MLXCEL_V(INTERLEAVED),
     ANY_T,
     FLUSH,
     .operand_dtype = "T",
     .result_dtype = "T",
     .rounding = "cos-sin:T+product:T+sum:T",
     .constants = "angle:f64+cos-sin:f64-to-f32",  // the tables, made on the host
     .functions = "host-table(cos,sin)",
     .algorithm = "linalg:generic"},
    {.op = MLXCEL_OP_PREFIX_SCAN,
     .variants = MLXCEL_V(CONTIGUOUS) | MLXCEL_V(STRIDED),
     ANY_T,
     FLUSH,
     .operand_dtype = "T",
     .accumulator = "T",
     .result_dtype = "T",
     .rounding = "sum:T",
     .association = "sequential",
     .algorithm = "linalg-ext:scan"},
    // Sums over frequency and channel, their running sums over time, divided by running counts.
    {.op = MLXCEL_OP_CUMULATIVE_NORM,
     ANY_T,
     ANY_W(DENSE),
     FLUSH,
     .operand_dtype = "f32",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "step-sum:f32+scan-sum:f32+mean:div-f32+difference:f32+square:f32+step-sum:f32+scan-sum:f32+variance:div-f32+epsilon:f32+root:f32+"
                 "reciprocal:f32+scale:f32+weight:f32+result:T",
     .association = "steps:sequential+scan:sequential",
     .dequantization = "exact-widen",
     .constants = "f32-nearest",
     .functions = "ieee-div+ieee-sqrt",
     .algorithm = "linalg:generic+linalg-ext:scan"},
    {.op = MLXCEL_OP_CONVOLUTION,
     .variants = MLXCEL_V(CONV1D) | MLXCEL_V(CONV2D),
     ANY_T,
     .source = MLXCEL_SOURCE_DENSE,
     FLUSH,
     .operand_dtype = "T",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "product-sum:f32+result:T",
     .association = "opaque(iree)",  // whether products and sums are fused depends on the shape (one window alone isn't)
     .dequantization = "exact-widen",
     .algorithm = "stablehlo:convolution+linalg:generic",
     .representable = "no:compiler-order",
     WITHIN(32, FUSION)},
};

const mlxcel_row_table_t mlxcel_rows_canonical = {IREE_ARRAYSIZE(rows), rows};
