// Profile iree-canonical: what IREE makes of plain StableHLO (linalg where the row says so) without a pinned kernel, on CPU, at O2 with reassociation off: a
// dot is one chain of fused multiply-adds an output, a reduction runs in index order, a multiply that feeds an add is fused, elementary functions are IREE's
// polynomials, subnormals are flushed. Sums are f32 and rounded once at the end. The tolerance is counted in units of the last place of the result's dtype at
// the largest magnitude among the summands, against the row's own order.
#include "contract/profile_rows.h"

#define ANY_T .dtypes = MLXCEL_D_ALL
#define ANY_W(kind) .source = MLXCEL_SOURCE_##kind, .weights = MLXCEL_D_ALL
#define FLUSH .denormals = "flush"
#define WITHIN(bound, reason) .tolerance = "max-ulp(" #bound ")", .derivation = reason
// One unit for each place where the compiler may fuse a product into a sum.
#define FUSION "fma-contraction"
// The same, and the largest error of the polynomials that the row names.
#define POLYNOMIALS "fma-contraction+iree-polynomials"

#define SIGMOID "negate:f32+exp:f32+one-plus:f32+quotient:f32"
#define ERF_STEPS "argument:f32+erf:f32+one-plus:f32+half:f32+product:f32"
#define TANH_STEPS "square:f32+cubic:f32+inner-sum:f32+argument:f32+tanh:f32+one-plus:f32+half:f32+product:f32"
#define ACTIVATION(name, activation_rounding, activation_functions, bound)                                                       \
  {.op = MLXCEL_OP_ACTIVATION,                                                                                                   \
   .variants = MLXCEL_V(name),                                                                                                   \
   ANY_T,                                                                                                                        \
   FLUSH,                                                                                                                        \
   .operand_dtype = "f32",                                                                                                       \
   .result_dtype = "T",                                                                                                          \
   .rounding = activation_rounding "+result:T",                                                                                  \
   .constants = "f32-nearest",                                                                                                   \
   .functions = activation_functions,                                                                                            \
   .algorithm = "stablehlo:elementwise",                                                                                         \
   WITHIN(bound, POLYNOMIALS)},                                                                                                  \
  {                                                                                                                              \
    .op = MLXCEL_OP_SILU_GATE, .variants = MLXCEL_V(name), ANY_T, FLUSH, .operand_dtype = "f32", .result_dtype = "T",            \
    .rounding = activation_rounding "+gate-product:f32+result:T", .constants = "f32-nearest", .functions = activation_functions, \
    .algorithm = "stablehlo:elementwise", WITHIN(bound, POLYNOMIALS)                                                             \
  }

#define SQUARES "square-sum:fma-f32+mean:div-f32+epsilon:f32+rsqrt:f32+"
#define RMS_NORM(name, result, norm_rounding)                                                                                                                \
  {                                                                                                                                                          \
    .op = MLXCEL_OP_RMS_NORM, .variants = MLXCEL_V(name), ANY_T, ANY_W(DENSE), FLUSH, .operand_dtype = "f32", .accumulator = "f32", .result_dtype = result,  \
    .rounding = norm_rounding, .association = "sequential", .dequantization = "exact-widen", .constants = "f32-nearest", .functions = "ieee-div+iree-rsqrt", \
    .algorithm = "stablehlo:reduce+stablehlo:elementwise", WITHIN(4, POLYNOMIALS)                                                                            \
  }

#define SOFTMAX(name, A)                                                                                                                     \
  {                                                                                                                                          \
    .op = MLXCEL_OP_SOFTMAX, .variants = MLXCEL_V(name), ANY_T, FLUSH, .operand_dtype = "T", .accumulator = "f32", .result_dtype = "T",      \
    .rounding = "difference:" A "+exp:" A "+sum:f32+quotient:" A "+result:T", .association = "sequential", .functions = "iree-exp+ieee-div", \
    .algorithm = "stablehlo:reduce+stablehlo:elementwise", WITHIN(8, POLYNOMIALS)                                                            \
  }

#define ATTENTION(name, mask)                                                                                                                      \
  {                                                                                                                                                \
    .op = MLXCEL_OP_ATTENTION, .variants = MLXCEL_V(name), ANY_T, FLUSH, .operand_dtype = "f32", .accumulator = "f32", .result_dtype = "T",        \
    .rounding = "score:fma-f32+scale-after-dot:f32" mask "+difference:f32+exp:f32+sum:f32+quotient:f32+value:fma-f32+result:T",                    \
    .association = "scores:sequential-fma+softmax:sequential+values:sequential-fma", .constants = "f32-nearest", .functions = "iree-exp+ieee-div", \
    .algorithm = "stablehlo:dot-general+stablehlo:reduce+stablehlo:elementwise", WITHIN(8, POLYNOMIALS)                                            \
  }

static const mlxcel_profile_row_t rows[] = {
    {.op = MLXCEL_OP_DEQUANTIZE,
     ANY_W(AFFINE),
     FLUSH,
     .operand_dtype = "f32",
     .result_dtype = "W",
     .rounding = "weight:fma-f32+result:W",
     .dequantization = "fma-f32",
     .algorithm = "linalg:generic",
     WITHIN(1, FUSION)},
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
     .algorithm = "stablehlo:dot-general",
     WITHIN(1, FUSION)},
    {.op = MLXCEL_OP_QUANTIZED_MATMUL,
     .variants = MLXCEL_V(NONE) | MLXCEL_V(QMV) | MLXCEL_V(QMM),
     .joins_variants = true,
     ANY_T,
     ANY_W(AFFINE),
     FLUSH,
     .operand_dtype = "f32",
     .accumulator = "f32",
     .result_dtype = "P",
     .rounding = "weight:fma-f32+product-sum:fma-f32[+bias:f32]+result:P",
     .association = "sequential-fma",
     .dequantization = "fma-f32",
     .algorithm = "linalg:generic",
     WITHIN(1, FUSION)},
    {.op = MLXCEL_OP_LAYER_NORM,
     ANY_T,
     ANY_W(DENSE),
     FLUSH,
     .operand_dtype = "f32",
     .accumulator = "f32",
     .result_dtype = "P",
     .rounding = "sum:f32+mean:div-f32+difference:f32+square-sum:fma-f32+variance:div-f32+epsilon:f32+rsqrt:f32+scale:f32+weight:fma-f32+result:P",
     .association = "sequential",
     .dequantization = "exact-widen",
     .constants = "f32-nearest",
     .functions = "ieee-div+iree-rsqrt",
     .algorithm = "stablehlo:reduce+stablehlo:elementwise",
     WITHIN(4, POLYNOMIALS)},
    RMS_NORM(PLAIN, "P", SQUARES "scale:f32+weight:f32+result:P"),
    RMS_NORM(GEMMA, "P", "one-plus:f32+" SQUARES "scale:f32+weight:f32+result:P"),
    RMS_NORM(SINGLE_ROUNDING, "T", SQUARES "scale:f32+weight:f32+result:T"),
    {.op = MLXCEL_OP_RESIDUAL_ADD,
     ANY_T,
     FLUSH,
     .operand_dtype = "T",
     .result_dtype = "T",
     .rounding = "sum:f32+result:T",
     .algorithm = "stablehlo:elementwise"},
    ACTIVATION(SILU, SIGMOID "+product:f32", "iree-exp+ieee-div", 8),
    ACTIVATION(GELU_ERF, ERF_STEPS, "iree-erf", 8),
    ACTIVATION(GELU_TANH, TANH_STEPS, "iree-tanh", 8),
    ACTIVATION(GELU_SIGMOID, "argument:f32+" SIGMOID "+product:f32", "iree-exp+ieee-div", 8),
    SOFTMAX(PRECISE, "f32"),
    SOFTMAX(SAME_DTYPE, "T"),
    ATTENTION(MASK_NONE, ""),
    ATTENTION(MASK_CAUSAL, ""),
    ATTENTION(MASK_ADDITIVE, "+mask:f32"),
    {.op = MLXCEL_OP_ROPE,
     .variants = MLXCEL_V(HALF) | MLXCEL_V(INTERLEAVED),
     ANY_T,
     FLUSH,
     .operand_dtype = "f32",
     .result_dtype = "T",
     .rounding = "product:f32+fma-f32+result:T",
     .constants = "angle:f64+cos-sin:f64-to-f32",  // the tables, made on the host
     .functions = "host-table(cos,sin)",
     .algorithm = "stablehlo:elementwise",
     WITHIN(1, FUSION)},
    {.op = MLXCEL_OP_PREFIX_SCAN,
     .variants = MLXCEL_V(CONTIGUOUS) | MLXCEL_V(STRIDED),
     ANY_T,
     FLUSH,
     .operand_dtype = "f32",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "sum:f32+result:T",
     .association = "sequential",
     .algorithm = "stablehlo:reduce-window",
     WITHIN(1, FUSION)},
    {.op = MLXCEL_OP_CUMULATIVE_NORM,
     ANY_T,
     ANY_W(DENSE),
     FLUSH,
     .operand_dtype = "f32",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "step-sum:f32+scan-sum:f32+mean:div-f32+difference:f32+square-sum:fma-f32+scan-sum:f32+variance:div-f32+epsilon:f32+rsqrt:f32+scale:f32+"
                 "weight:f32+result:T",
     .association = "steps:sequential+scan:sequential",
     .dequantization = "exact-widen",
     .constants = "f32-nearest",
     .functions = "ieee-div+iree-rsqrt",
     .algorithm = "stablehlo:reduce+stablehlo:reduce-window+stablehlo:elementwise",
     WITHIN(4, POLYNOMIALS)},
    {.op = MLXCEL_OP_CONVOLUTION,
     .variants = MLXCEL_V(CONV1D) | MLXCEL_V(CONV2D),
     ANY_T,
     .source = MLXCEL_SOURCE_DENSE,
     FLUSH,
     .operand_dtype = "T",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "product-sum:fma-f32+result:T",
     .association = "sequential-fma(kh,kw,c)",
     .dequantization = "exact-widen",
     .algorithm = "stablehlo:convolution",
     WITHIN(1, FUSION)},
};

const mlxcel_row_table_t mlxcel_rows_canonical = {IREE_ARRAYSIZE(rows), rows};
