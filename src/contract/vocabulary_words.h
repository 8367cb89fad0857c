// vocabulary_words.h: the words, one list a field. Only vocabulary.c includes this. Lists end with NULL; order has no meaning but that of alternatives.
#ifndef MLXCEL_CONTRACT_VOCABULARY_WORDS_H_
#define MLXCEL_CONTRACT_VOCABULARY_WORDS_H_

#include <stddef.h>

typedef const char* const word_t;

//===- Types ------------------------------------------------------------------------------------------------------------------------------------------===//

static word_t float_words[] = {"f32", "f16", "bf16", NULL};
static word_t operand_words[] = {"none", "f32", "f16", "bf16", "tf32", NULL};
static word_t result_words[] = {"none", "f32", "f16", "bf16", NULL};
static word_t accumulator_stages[] = {"slots", "lanes", NULL};

//===- Rounding ---------------------------------------------------------------------------------------------------------------------------------------===//

// Where a value is rounded, and how it is made: f32: one operation, rounded to f32; fma-f32: a fused multiply-add; mul-reciprocal-f32: multiplied by the
// rounded reciprocal; div-f32: divided; f32-fma: a product, then a fused multiply-add onto it; mma-f32: inside a matrix instruction.
static word_t rounding_words[] = {"f32", "f16", "bf16", "tf32", "fma-f32", "fma-f16", "fma-bf16", "div-f32", "mul-reciprocal-f32", "f32-fma", "mma-f32", NULL};
static word_t rounding_stages[] = {
    "angle",
    "argument",
    "bias",
    "block-sum",
    "combine",
    "cos-sin",
    "cubic",
    "difference",
    "epsilon",
    "erf",
    "exp",
    "exponent",
    "gate-product",
    "half",
    "inner-sum",
    "lane-sum",
    "mask",
    "mean",
    "negate",
    "one-plus",
    "operand",
    "position-scale",
    "power",
    "probability",
    "product",
    "product-sum",
    "quotient",
    "reciprocal",
    "rescale",
    "result",
    "root",
    "rsqrt",
    "scale",
    "scan-sum",
    "score",
    "score-sum",
    "scale-after-dot",
    "scale-before-dot",
    "sigmoid",
    "slot-sum",
    "square",
    "square-sum",
    "step-sum",
    "store",
    "sum",
    "tanh",
    "tree",
    "value",
    "value-sum",
    "variance",
    "weight",
    "weight-bias",
    "weight-product",
    NULL,
};

//===- Association ------------------------------------------------------------------------------------------------------------------------------------===//

// sequential: one accumulator, index order, from +0; sequential-fma: the same, the product fused into the sum; (kh,kw,c): the last index runs fastest;
// lanes(16,tree): element k into lane k mod 16, then halves 8, 4, 2, 1; butterfly: exchanges with lane XOR distance, zero-padded to the width; scan: its
// passes in order; opaque: chosen by the hardware or a library, can't be stated.
static word_t association_words[] = {
    "sequential",
    "sequential-fma",
    "sequential(kh,kw,c)",
    "sequential-fma(kh,kw,c)",
    "lanes(4,tree)",
    "lanes(8,tree)",
    "lanes(16,tree)",
    "butterfly(16-8-4-2-1)",
    "butterfly(32,zero-padded)",
    "scan(4-a-thread,shfl-up-1-2-4-8-16,warp-totals,4096-a-pass)",
    "scan(32-rows,shfl-up-1-2-4-8-16,carry)",
    "opaque(mma-m16n8k16)",
    "opaque(cublaslt)",
    "opaque(cudnn)",
    "opaque(iree)",
    NULL,
};
// Which sum, or how its elements are dealt out: slots(LxS): S accumulators a lane; threads(kernel,v): v consecutive elements a thread, by that kernel's rules.
static word_t association_stages[] = {
    "scores",
    "softmax",
    "values",
    "combine",
    "steps",
    "scan",
    "slot-sum",
    "lane-sum",
    "block-sum",
    "residue-first",
    "blocks(16,increasing)",
    "blocks(64,absolute)",
    "slots(32x8)",
    "slots(32x16)",
    "slots(32x4-2-1,by-width)",
    "threads(layer-norm,8)",
    "threads(rms-norm,4)",
    "threads(rms-norm,8)",
    "threads(softmax,online)",
    "keys(32-warps)",
    "keys(32-blocks,8-warps)",
    NULL,
};

//===- The rest ---------------------------------------------------------------------------------------------------------------------------------------===//

// exact-widen: the stored value; copy: not even widened; fma: q * s + b fused; two-round: R(R(q * s) + b); f32-then-round: in f32, rounded once.
static word_t dequantization_words[] = {
    "none",
    "copy",
    "exact-widen",
    "fma-f32",
    "fma-f16",
    "fma-bf16",
    "two-round-f32",
    "two-round-f16",
    "two-round-bf16",
    "f32-then-round-f16",
    "f32-then-round-bf16",
    NULL,
};

static word_t constant_words[] = {"f32-nearest", "f16-nearest", "bf16-nearest", "f32", "f64", "f64-to-f32", NULL};
static word_t constant_stages[] = {"angle", "cos-sin", "frequencies", "log-base", "scale", "scale-log2e", NULL};

static word_t function_words[] = {
    "mlxcel-exp-1",
    "ieee-div",
    "ieee-sqrt",
    "host-table(cos,sin)",  // pinned
    "mlx-exp-1",
    "mlx-erf-1",
    "mlx-sin-1",
    "mlx-cos-1",
    "host-tanhf",
    "host-powf",  // mlx-cpu
    "iree-exp",
    "iree-erf",
    "iree-tanh",
    "iree-rsqrt",
    "iree-pow",  // iree-canonical
    "cuda-rsqrt-approx",
    "cuda-expf",
    "cuda-expf-fast",
    "cuda-exp2f",
    "cuda-exp-half",
    "cuda-erff",
    "cuda-cosf",
    "cuda-sinf",  // mlx-cuda
    NULL,
};

static word_t denormal_words[] = {"none", "keep", "flush", NULL};

static word_t algorithm_words[] = {
    "mlxcel_pinned_embed",
    "mlxcel_pinned_rms_norm",
    "mlxcel_pinned_qkv_rope",
    "mlxcel_pinned_attention",
    "mlxcel_pinned_matmul",
    "mlxcel_pinned_gate_up",
    "mlxcel_mlx_embed",
    "mlxcel_mlx_matmul",
    "mlxcel_mlx_rms_norm",
    "mlxcel_mlx_layer_norm",
    "mlxcel_mlx_elementwise",
    "mlxcel_mlx_softmax",
    "mlxcel_mlx_rope",
    "mlxcel_mlx_kv_store",
    "mlxcel_mlx_attention",
    "mlxcel_mlx_scan",
    "mlxcel_mlx_row_sum",
    "mlxcel_mlx_convolution",
    "mlxcel_host_unary",
    "stablehlo:elementwise",
    "stablehlo:dot-general",
    "stablehlo:reduce",
    "stablehlo:reduce-window",
    "stablehlo:convolution",
    "linalg:generic",
    "linalg-ext:scan",
    "mlx-cuda:affine-dequantize",
    "mlx-cuda:qmv",
    "mlx-cuda:qmm-sm80",
    "mlx-cuda:qmm-naive",
    "mlx-cuda:gemv",
    "mlx-cuda:rms-norm",
    "mlx-cuda:layer-norm",
    "mlx-cuda:softmax",
    "mlx-cuda:elementwise",
    "mlx-cuda:sdpa-vector",
    "mlx-cuda:sdpa-vector-2pass",
    "mlx-cuda:rope",
    "mlx-cuda:contiguous-scan",
    "mlx-cuda:strided-scan",
    "backend:cublaslt",
    "backend:cudnn-sdpa",
    "backend:cudnn-convolution",
    NULL,
};

static word_t tolerance_words[] = {"exact",       "max-ulp(1)",  "max-ulp(2)",   "max-ulp(4)", "max-ulp(8)", "max-ulp(16)",
                                   "max-ulp(32)", "max-ulp(64)", "max-ulp(128)", "unstated",   NULL};

// Why the tolerance holds. fma-contraction: a unit for each place where the compiler may fuse a product into a sum; iree-polynomials: the largest error of the
// functions named, in f32, observed; wider-accumulator: the sum has more digits than the reference's; mlx-source: read, not observed; opaque: nothing is known.
static word_t derivation_words[] = {
    "every-operation-and-its-order-is-stated",
    "fma-contraction",
    "fma-contraction+iree-polynomials",
    "iree-polynomials",
    "wider-accumulator",
    "mlx-source",
    "mlx-source-and-machine-code",
    "opaque",
    NULL,
};

static word_t representable_words[] = {
    "yes", "no:mma-internal-sum", "no:cublaslt-plan", "no:cudnn-plan", "no:compiler-order", "no:function-not-established", "no:contraction-not-established",
    NULL,
};

#endif  // MLXCEL_CONTRACT_VOCABULARY_WORDS_H_
