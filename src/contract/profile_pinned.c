// Profile pinned-f32: the kernels of kernels/kernel_abi.h, which states every order in full. T is f32; weights may be stored narrower.
#include "contract/profile_rows.h"

#define F32 .dtypes = MLXCEL_D(F32), .operand_dtype = "f32", .result_dtype = "f32", .denormals = "keep"
#define WEIGHTS(kind) .source = MLXCEL_SOURCE_##kind, .weights = MLXCEL_D_ALL
#define DENSE_MATMUL(place, kernel)                                                                                                              \
  {                                                                                                                                              \
    .op = MLXCEL_OP_DENSE_MATMUL, F32, WEIGHTS(DENSE), .within = MLXCEL_WITHIN_##place, .accumulator = "f32",                                    \
    .rounding = "product-sum:fma-f32+tree:f32[+bias:f32]", .association = "lanes(16,tree)", .dequantization = "exact-widen", .algorithm = kernel \
  }
#define QUANTIZED_MATMUL(place, kernel)                                                                                                         \
  {                                                                                                                                             \
    .op = MLXCEL_OP_QUANTIZED_MATMUL, .variants = MLXCEL_V(NONE) | MLXCEL_V(QMV) | MLXCEL_V(QMM), .joins_variants = true, F32, WEIGHTS(AFFINE), \
    .within = MLXCEL_WITHIN_##place, .accumulator = "f32", .rounding = "weight:fma-f32+product-sum:fma-f32+tree:f32[+bias:f32]",                \
    .association = "lanes(16,tree)", .dequantization = "fma-f32", .algorithm = kernel                                                           \
  }

// Rounds once, to nearest even, where the cache is narrower; an f32 cache gets the value itself.
#define KV_STORE(caches, store_rounding)                                                                                                              \
  {                                                                                                                                                   \
    .op = MLXCEL_OP_KV_STORE, .dtypes = MLXCEL_D(F32), .source = MLXCEL_SOURCE_CACHE, .weights = caches, .operand_dtype = "f32", .result_dtype = "C", \
    .rounding = store_rounding, .denormals = "keep", .algorithm = "mlxcel_pinned_qkv_rope"                                                            \
  }

static const mlxcel_profile_row_t rows[] = {
    {.op = MLXCEL_OP_EMBEDDING, F32, WEIGHTS(DENSE), .dequantization = "exact-widen", .algorithm = "mlxcel_pinned_embed"},
    {.op = MLXCEL_OP_EMBEDDING, F32, WEIGHTS(AFFINE), .rounding = "weight:fma-f32", .dequantization = "fma-f32", .algorithm = "mlxcel_pinned_embed"},
    {.op = MLXCEL_OP_DEQUANTIZE,  // every row of a table that is f32 itself
     F32,
     .source = MLXCEL_SOURCE_AFFINE,
     .weights = MLXCEL_D(F32),
     .rounding = "weight:fma-f32",
     .dequantization = "fma-f32",
     .algorithm = "mlxcel_pinned_embed"},
    DENSE_MATMUL(NONE, "mlxcel_pinned_matmul"),
    DENSE_MATMUL(ACTIVATION_PROJECTION, "mlxcel_pinned_gate_up"),
    DENSE_MATMUL(QKV_ROPE, "mlxcel_pinned_qkv_rope"),
    QUANTIZED_MATMUL(NONE, "mlxcel_pinned_matmul"),
    QUANTIZED_MATMUL(ACTIVATION_PROJECTION, "mlxcel_pinned_gate_up"),
    QUANTIZED_MATMUL(QKV_ROPE, "mlxcel_pinned_qkv_rope"),
    {.op = MLXCEL_OP_RMS_NORM,
     .variants = MLXCEL_V(PLAIN),
     F32,
     WEIGHTS(DENSE),
     .accumulator = "f32",
     .rounding = "square-sum:fma-f32+tree:f32+mean:div-f32+epsilon:f32+root:f32+reciprocal:f32+scale:f32+weight:f32",
     .association = "lanes(16,tree)",
     .dequantization = "exact-widen",
     .constants = "f32-nearest",
     .functions = "ieee-div+ieee-sqrt",
     .algorithm = "mlxcel_pinned_rms_norm"},
    {.op = MLXCEL_OP_RESIDUAL_ADD, F32, .rounding = "sum:f32", .algorithm = "mlxcel_pinned_matmul"},
    {.op = MLXCEL_OP_SILU_GATE,
     .variants = MLXCEL_V(SILU),
     F32,
     .rounding = "exp:f32+one-plus:f32+quotient:f32+product:f32",
     .constants = "f32-nearest",
     .functions = "mlxcel-exp-1+ieee-div",
     .algorithm = "mlxcel_pinned_gate_up"},
    {.op = MLXCEL_OP_ROPE,
     .variants = MLXCEL_V(HALF),
     F32,
     .rounding = "product:f32+fma-f32",
     .constants = "angle:f64+cos-sin:f64-to-f32",  // the tables, made on the host
     .functions = "host-table(cos,sin)",
     .algorithm = "mlxcel_pinned_qkv_rope"},
    KV_STORE(MLXCEL_D(F32), NULL),
    KV_STORE(MLXCEL_D_HALVES, "store:C"),
    {.op = MLXCEL_OP_ATTENTION,
     .variants = MLXCEL_V(MASK_CAUSAL),
     F32,
     .source = MLXCEL_SOURCE_CACHE,
     .weights = MLXCEL_D_ALL,
     .dequantization = "exact-widen",
     .accumulator = "f32",
     .rounding = "score:fma-f32+tree:f32+scale-after-dot:f32+difference:f32+exp:f32+sum:f32+tree:f32+value:fma-f32+combine:f32-fma+quotient:f32",
     .association = "scores:lanes(16,tree)+blocks(64,absolute):lanes(16,tree)+values:sequential+combine:sequential",
     .constants = "f32-nearest",
     .functions = "mlxcel-exp-1+ieee-div",
     .algorithm = "mlxcel_pinned_attention"},
};

const mlxcel_row_table_t mlxcel_rows_pinned = {IREE_ARRAYSIZE(rows), rows};
