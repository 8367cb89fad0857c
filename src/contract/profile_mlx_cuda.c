// Profiles mlx-cuda-0.32.4-sm80 and -sm90a: what MLX's CUDA build computes, from its sources and the machine code of its wheel. Declared only: nothing is
// emitted, no device has shown it. `representable` says what a clause can't express: the sums inside one MMA, the plans that cublasLt and cuDNN choose, what
// the sources leave to the compiler.
#include "contract/profile_rows.h"

#define DECLARED .denormals = "keep"
#define READ .derivation = "mlx-source"
#define READ_MACHINE_CODE .derivation = "mlx-source-and-machine-code"
#define CANNOT(reason) .tolerance = "unstated", .derivation = "opaque", .representable = "no:" reason
#define WARP "butterfly(16-8-4-2-1)"

//===- Dequantization: in registers, one scale and bias a group ---------------------------------------------------------------------------------------===//

#define DEQUANTIZE(set, weight_rounding, order)                                                                                      \
  {                                                                                                                                  \
    .op = MLXCEL_OP_DEQUANTIZE, .source = MLXCEL_SOURCE_AFFINE, .weights = set, DECLARED, .operand_dtype = "W", .result_dtype = "W", \
    .rounding = weight_rounding, .dequantization = order, .algorithm = "mlx-cuda:affine-dequantize", READ_MACHINE_CODE               \
  }

// qmv: one warp a row; slot i of lane L takes k = 32 e r + e L + i, e = 16 (16-bit T, codes of at most 4 bits) or 8; slots, then lanes are summed in f32.
#define QMV(set, widths, layout, slot, weight_rounding, order)                                                                                                 \
  {                                                                                                                                                            \
    .op = MLXCEL_OP_QUANTIZED_MATMUL, .variants = MLXCEL_V(QMV), .dtypes = set, .source = MLXCEL_SOURCE_AFFINE, .bits = widths, .has_no_bias = true, DECLARED, \
    .operand_dtype = "T", .accumulator = "slots:" slot "+lanes:f32", .result_dtype = "T",                                                                      \
    .rounding = weight_rounding "+product-sum:fma-" slot "+slot-sum:f32+lane-sum:f32+result:T",                                                                \
    .association = "slots(" layout "):sequential-fma+slot-sum:sequential+lane-sum:" WARP, .dequantization = order, .algorithm = "mlx-cuda:qmv",                \
    READ_MACHINE_CODE                                                                                                                                          \
  }
#define NARROW (MLXCEL_B(2) | MLXCEL_B(3) | MLXCEL_B(4))
#define MIDDLE (MLXCEL_B(5) | MLXCEL_B(6))

// qmm: weights dequantized to T, then mma.m16n8k16 with f32 accumulators, blocks of 16 in increasing k.
#define QMM_MMA(set, widths, condition, weight_rounding, order, kernel)                                                                                \
  {                                                                                                                                                    \
    .op = MLXCEL_OP_QUANTIZED_MATMUL, .variants = MLXCEL_V(QMM), .dtypes = set, .source = MLXCEL_SOURCE_AFFINE, .bits = widths, .when = condition,     \
    .has_no_bias = true, DECLARED, .operand_dtype = "T", .accumulator = "f32", .result_dtype = "T",                                                    \
    .rounding = weight_rounding "+product-sum:mma-f32+result:T", .association = "blocks(16,increasing):opaque(mma-m16n8k16)", .dequantization = order, \
    .algorithm = kernel, CANNOT("mma-internal-sum")                                                                                                    \
  }

#define FUSED_T "weight:fma-T", "fma-T"
#define FUSED_W "weight:fma-W", "fma-W"
#define TWO_ROUND_T "weight-product:T+weight-bias:T", "two-round-T"
#define TWO_ROUND_W "weight-product:W+weight-bias:W", "two-round-W"
// So that FUSED_T and TWO_ROUND_T count as two arguments.
#define APPLY(macro, ...) macro(__VA_ARGS__)

//===- Norms and softmax ------------------------------------------------------------------------------------------------------------------------------===//

// Partial sums of v consecutive elements a thread and chunk, butterflies over the warp, then over the zero-padded partial sums of the warps.
#define RMS_NORM(name, set, v, first)                                                                                                                         \
  {                                                                                                                                                           \
    .op = MLXCEL_OP_RMS_NORM, .variants = MLXCEL_V(name), .dtypes = set, .source = MLXCEL_SOURCE_DENSE, DECLARED, .operand_dtype = "T", .accumulator = "f32", \
    .result_dtype = "T", .rounding = first "square-sum:fma-f32+lane-sum:f32+block-sum:f32+mean:div-f32+epsilon:f32+rsqrt:f32+scale:T+weight:T",               \
    .association = "threads(rms-norm," v "):sequential-fma+lane-sum:" WARP "+block-sum:butterfly(32,zero-padded)", .constants = "f32-nearest",                \
    .functions = "ieee-div+cuda-rsqrt-approx", .algorithm = "mlx-cuda:rms-norm", READ_MACHINE_CODE                                                            \
  }
#define LAYER_NORM(set, affine)                                                                                                                              \
  {                                                                                                                                                          \
    .op = MLXCEL_OP_LAYER_NORM, .dtypes = set, .source = MLXCEL_SOURCE_DENSE, DECLARED, .operand_dtype = "T", .accumulator = "f32", .result_dtype = "T",     \
    .rounding = "sum:f32+block-sum:f32+mean:div-f32+difference:f32+square-sum:fma-f32+block-sum:f32+variance:div-f32+epsilon:f32+rsqrt:f32+scale:T+" affine, \
    .association = "threads(layer-norm,8):sequential+lane-sum:" WARP "+block-sum:butterfly(32,zero-padded)", .constants = "f32-nearest",                     \
    .functions = "ieee-div+cuda-rsqrt-approx", .algorithm = "mlx-cuda:layer-norm", READ_MACHINE_CODE                                                         \
  }
#define SOFTMAX(name, A)                                                                                                                                \
  {                                                                                                                                                     \
    .op = MLXCEL_OP_SOFTMAX, .variants = MLXCEL_V(name), .dtypes = MLXCEL_D_ALL, DECLARED, .operand_dtype = "T", .accumulator = A, .result_dtype = "T", \
    .rounding = "difference:" A "+exp:" A "+rescale:" A "+sum:" A "+reciprocal:" A "+product:" A "+result:T",                                           \
    .association = "threads(softmax,online):sequential+lane-sum:" WARP "+block-sum:butterfly(32,zero-padded)", .functions = "cuda-expf-fast+ieee-div",  \
    .algorithm = "mlx-cuda:softmax", READ                                                                                                               \
  }

//===- Elementwise ------------------------------------------------------------------------------------------------------------------------------------===//

// Every step in T, y rounded before 1 - y. exp of 16-bit types is the library's, its accuracy isn't established.
#define SIGMOID "exp:T+one-plus:T+quotient:T+sigmoid:T"
#define POINTWISE(operation, name, set, steps, used, ...)                                                                                           \
  {                                                                                                                                                 \
    .op = MLXCEL_OP_##operation, .variants = MLXCEL_V(name), .dtypes = set, DECLARED, .operand_dtype = "T", .result_dtype = "T", .rounding = steps, \
    .constants = "T-nearest", .functions = used, .algorithm = "mlx-cuda:elementwise", __VA_ARGS__                                                   \
  }
#define ACTIVATION(name, steps, wide, half)                                                          \
  POINTWISE(ACTIVATION, name, MLXCEL_D(F32), steps, wide, READ),                                     \
      POINTWISE(ACTIVATION, name, MLXCEL_D_HALVES, steps, half, CANNOT("function-not-established")), \
      POINTWISE(SILU_GATE, name, MLXCEL_D(F32), steps "+gate-product:T", wide, READ),                \
      POINTWISE(SILU_GATE, name, MLXCEL_D_HALVES, steps "+gate-product:T", half, CANNOT("function-not-established"))

//===- Attention --------------------------------------------------------------------------------------------------------------------------------------===//

// Own kernel for few rows: keys split over warps, online softmax in base 2, one butterfly at the end.
#define ATTENTION_VECTOR(condition, split, kernel)                                                                                                        \
  {                                                                                                                                                       \
    .op = MLXCEL_OP_ATTENTION, .variants = MLXCEL_V(MASK_NONE) | MLXCEL_V(MASK_CAUSAL), .dtypes = MLXCEL_D_ALL, .when = condition, DECLARED,              \
    .operand_dtype = "f32", .accumulator = "f32", .result_dtype = "T",                                                                                    \
    .rounding =                                                                                                                                           \
        "scale-before-dot:f32+score:fma-f32+lane-sum:f32+difference:f32+exp:f32+rescale:f32+sum:fma-f32+value:fma-f32+combine:f32+quotient:f32+result:T", \
    .association = "scores:" WARP "+keys(" split "):sequential+combine:" WARP, .constants = "scale-log2e:f32", .functions = "cuda-exp2f+ieee-div",        \
    .algorithm = kernel, READ                                                                                                                             \
  }
#define ATTENTION_OTHER(masks, set, condition, order, kernel, reason)                                                                                          \
  {                                                                                                                                                            \
    .op = MLXCEL_OP_ATTENTION, .variants = masks, .dtypes = set, .when = condition, DECLARED, .operand_dtype = "T", .accumulator = "f32", .result_dtype = "T", \
    .rounding = "result:T", .association = order, .algorithm = kernel, CANNOT(reason)                                                                          \
  }
#define MASKS_NONE_CAUSAL (MLXCEL_V(MASK_NONE) | MLXCEL_V(MASK_CAUSAL))
#define MASKS_ALL (MASKS_NONE_CAUSAL | MLXCEL_V(MASK_ADDITIVE))

static const mlxcel_profile_row_t shared_rows[] = {
    APPLY(DEQUANTIZE, MLXCEL_D(F32) | MLXCEL_D(F16), FUSED_W),
    APPLY(QMV, MLXCEL_D(F16), NARROW, "32x16", "T", FUSED_T),
    APPLY(QMV, MLXCEL_D(F16), MIDDLE, "32x8", "T", FUSED_T),
    APPLY(QMV, MLXCEL_D(F16), MLXCEL_B(8), "32x8", "f32", FUSED_T),
    APPLY(QMV, MLXCEL_D(F32), MLXCEL_B_ALL, "32x8", "f32", FUSED_T),
    {.op = MLXCEL_OP_QUANTIZED_MATMUL,  // f32 activations: one thread an output; a residue of k comes first
     .variants = MLXCEL_V(QMM),
     .dtypes = MLXCEL_D(F32),
     .source = MLXCEL_SOURCE_AFFINE,
     .has_no_bias = true,
     DECLARED,
     .operand_dtype = "f32",
     .accumulator = "f32",
     .result_dtype = "f32",
     .rounding = "weight:fma-f32+product-sum:fma-f32",
     .association = "residue-first:sequential-fma",
     .dequantization = "fma-f32",
     .algorithm = "mlx-cuda:qmm-naive",
     CANNOT("contraction-not-established")},
    // Own gemv for one row without a bias: 4, 2 or 1 consecutive elements a lane, by K and alignment.
    {.op = MLXCEL_OP_DENSE_MATMUL,
     .dtypes = MLXCEL_D_ALL,
     .source = MLXCEL_SOURCE_DENSE,
     .has_no_bias = true,
     .when = MLXCEL_WHEN_ONE_ROW,
     DECLARED,
     .operand_dtype = "T",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "product-sum:fma-f32+lane-sum:f32+result:T",
     .association = "slots(32x4-2-1,by-width):sequential-fma+lane-sum:" WARP,
     .dequantization = "exact-widen",
     .algorithm = "mlx-cuda:gemv",
     READ},
    // f32 operands are rounded to TF32 unless MLX_ENABLE_TF32 is 0.
    {.op = MLXCEL_OP_DENSE_MATMUL,
     .dtypes = MLXCEL_D(F32),
     .source = MLXCEL_SOURCE_DENSE,
     DECLARED,
     .operand_dtype = "tf32",
     .accumulator = "f32",
     .result_dtype = "f32",
     .rounding = "operand:tf32+product-sum:mma-f32[+bias:f32]",
     .association = "opaque(cublaslt)",
     .dequantization = "exact-widen",
     .algorithm = "backend:cublaslt",
     CANNOT("cublaslt-plan")},
    {.op = MLXCEL_OP_DENSE_MATMUL,
     .dtypes = MLXCEL_D_HALVES,
     .source = MLXCEL_SOURCE_DENSE,
     DECLARED,
     .operand_dtype = "T",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "product-sum:mma-f32[+bias:f32]+result:T",
     .association = "opaque(cublaslt)",
     .dequantization = "exact-widen",
     .algorithm = "backend:cublaslt",
     CANNOT("cublaslt-plan")},
    LAYER_NORM(MLXCEL_D(F32), "weight:fma-f32"),
    RMS_NORM(PLAIN, MLXCEL_D(F32), "4", ""),
    RMS_NORM(PLAIN, MLXCEL_D_HALVES, "8", ""),
    RMS_NORM(GEMMA, MLXCEL_D(F32), "4", "one-plus:T+"),
    RMS_NORM(GEMMA, MLXCEL_D_HALVES, "8", "one-plus:T+"),
    POINTWISE(RESIDUAL_ADD, NONE, MLXCEL_D_ALL, "sum:T", NULL, READ),
    ACTIVATION(SILU, SIGMOID "+product:T", "cuda-expf+ieee-div", "cuda-exp-half+ieee-div"),
    ACTIVATION(GELU_ERF, "quotient:T+erf:T+one-plus:T+product:T+half:T", "cuda-erff+ieee-div", "cuda-erff+ieee-div"),
    ACTIVATION(GELU_SIGMOID, "argument:T+" SIGMOID "+product:T", "cuda-expf+ieee-div", "cuda-exp-half+ieee-div"),
    SOFTMAX(PRECISE, "f32"),
    SOFTMAX(SAME_DTYPE, "T"),
    ATTENTION_VECTOR(MLXCEL_WHEN_ATTENTION_SHORT, "32-warps", "mlx-cuda:sdpa-vector"),
    ATTENTION_VECTOR(MLXCEL_WHEN_ATTENTION_LONG, "32-blocks,8-warps", "mlx-cuda:sdpa-vector-2pass"),
    ATTENTION_OTHER(MASKS_ALL, MLXCEL_D_HALVES, MLXCEL_WHEN_ATTENTION_PLAN, "opaque(cudnn)", "backend:cudnn-sdpa", "cudnn-plan"),
    ATTENTION_OTHER(MASKS_ALL, MLXCEL_D_ALL, MLXCEL_WHEN_ATTENTION_DECOMPOSED, "opaque(cublaslt)", "backend:cublaslt+mlx-cuda:softmax+backend:cublaslt",
                    "cublaslt-plan"),
    // Frequencies by exp2, the rotation in f32, one rounding. Whether nvcc fuses the products into the sums isn't established.
    {.op = MLXCEL_OP_ROPE,
     .variants = MLXCEL_V(HALF) | MLXCEL_V(INTERLEAVED),
     .dtypes = MLXCEL_D_ALL,
     DECLARED,
     .operand_dtype = "f32",
     .result_dtype = "T",
     .rounding = "position-scale:f32+exponent:f32+exp:f32+angle:f32+cos-sin:f32+product:f32+sum:f32+result:T",
     .constants = "log-base:f64-to-f32",
     .functions = "cuda-exp2f+cuda-cosf+cuda-sinf",
     .algorithm = "mlx-cuda:rope",
     CANNOT("contraction-not-established")},
    {.op = MLXCEL_OP_PREFIX_SCAN,  // four values a thread, Hillis-Steele over the warp, then over the warps; ((v + carry) + warps) + lanes
     .variants = MLXCEL_V(CONTIGUOUS),
     .dtypes = MLXCEL_D_ALL,
     DECLARED,
     .operand_dtype = "T",
     .accumulator = "T",
     .result_dtype = "T",
     .rounding = "sum:T+lane-sum:T+block-sum:T+combine:T",
     .association = "scan(4-a-thread,shfl-up-1-2-4-8-16,warp-totals,4096-a-pass)",
     .algorithm = "mlx-cuda:contiguous-scan",
     READ},
    {.op = MLXCEL_OP_PREFIX_SCAN,  // warps of 32 rows, the last row carried on
     .variants = MLXCEL_V(STRIDED),
     .dtypes = MLXCEL_D_ALL,
     DECLARED,
     .operand_dtype = "T",
     .accumulator = "T",
     .result_dtype = "T",
     .rounding = "lane-sum:T+combine:T",
     .association = "scan(32-rows,shfl-up-1-2-4-8-16,carry)",
     .algorithm = "mlx-cuda:strided-scan",
     READ},
    {.op = MLXCEL_OP_CONVOLUTION,
     .variants = MLXCEL_V(CONV1D) | MLXCEL_V(CONV2D),
     .dtypes = MLXCEL_D_ALL,
     .source = MLXCEL_SOURCE_DENSE,
     DECLARED,
     .operand_dtype = "T",
     .accumulator = "f32",
     .result_dtype = "T",
     .rounding = "product-sum:mma-f32+result:T",
     .association = "opaque(cudnn)",
     .dequantization = "exact-widen",
     .algorithm = "backend:cudnn-convolution",
     CANNOT("cudnn-plan")},
};

#define CODES_MMA (MLXCEL_B(4) | MLXCEL_B(8))
#define CODES_OTHER (MLXCEL_B(2) | MLXCEL_B(3) | MLXCEL_B(5) | MLXCEL_B(6))
#define F16_QMM                                                                                         \
  APPLY(QMM_MMA, MLXCEL_D(F16), CODES_MMA, MLXCEL_WHEN_QMM_TILES, FUSED_T, "mlx-cuda:qmm-sm80"),        \
      APPLY(QMM_MMA, MLXCEL_D(F16), CODES_MMA, MLXCEL_WHEN_QMM_RESIDUE, FUSED_T, "mlx-cuda:qmm-naive"), \
      APPLY(QMM_MMA, MLXCEL_D(F16), CODES_OTHER, MLXCEL_WHEN_ALWAYS, FUSED_T, "mlx-cuda:qmm-naive")

// bf16 is where the architectures part: sm_80 rounds the product and the sum of a dequantized weight, sm_90a fuses them, and the same goes for w * y + b.
#define BF16_ROWS(ORDER_T, ORDER_W)                                                                                              \
  APPLY(DEQUANTIZE, MLXCEL_D(BF16), ORDER_W), APPLY(QMV, MLXCEL_D(BF16), NARROW, "32x16", "T", ORDER_T),                         \
      APPLY(QMV, MLXCEL_D(BF16), MIDDLE, "32x8", "T", ORDER_T), APPLY(QMV, MLXCEL_D(BF16), MLXCEL_B(8), "32x8", "f32", ORDER_T), \
      APPLY(QMM_MMA, MLXCEL_D(BF16), CODES_MMA, MLXCEL_WHEN_QMM_TILES, ORDER_T, "mlx-cuda:qmm-sm80"),                            \
      APPLY(QMM_MMA, MLXCEL_D(BF16), CODES_MMA, MLXCEL_WHEN_QMM_RESIDUE, ORDER_T, "mlx-cuda:qmm-naive"),                         \
      APPLY(QMM_MMA, MLXCEL_D(BF16), CODES_OTHER, MLXCEL_WHEN_ALWAYS, ORDER_T, "mlx-cuda:qmm-naive")

static const mlxcel_profile_row_t sm80_rows[] = {
    BF16_ROWS(TWO_ROUND_T, TWO_ROUND_W),
    F16_QMM,
    LAYER_NORM(MLXCEL_D(BF16), "weight:T+bias:T"),
    LAYER_NORM(MLXCEL_D(F16), "weight:fma-T"),
};

static const mlxcel_profile_row_t sm90a_rows[] = {
    BF16_ROWS(FUSED_T, FUSED_W),
    F16_QMM,
    LAYER_NORM(MLXCEL_D_HALVES, "weight:fma-T"),
};

const mlxcel_row_table_t mlxcel_rows_mlx_cuda = {IREE_ARRAYSIZE(shared_rows), shared_rows};
const mlxcel_row_table_t mlxcel_rows_mlx_cuda_sm80 = {IREE_ARRAYSIZE(sm80_rows), sm80_rows};
const mlxcel_row_table_t mlxcel_rows_mlx_cuda_sm90a = {IREE_ARRAYSIZE(sm90a_rows), sm90a_rows};
