// mlx_abi.h: the sequential kernels of profile `mlx-cpu-0.32.4`: names, arguments and the order of every operation, as MLX's own x86-64 CPU build computes it.
//
// Exact, not fast: one accumulator, index order, start at +0, nothing fused but what MLX fuses explicitly (std::fma in exp, sin, cos and erf). R is rounding to
// nearest even to the dtype T of the operation (f32: identity; a NaN becomes 0x7FC0 in bf16, sign | 0x7D00 in f16). Subnormals are kept: every kernel saves
// MXCSR, clears FTZ and DAZ and restores it. Dtype codes are MLXCEL_FORMAT_F32 / F16 / BF16; all tensor buffers are bytes, offsets count bytes; a group of
// |groups| computes its share of the outputs, any number of groups gives the same bits.
// An f32 result that is a NaN is some NaN, an f16 one has some sign (MLX's compiler chose them). In parentheses: the operation of MLX that is reproduced.
//
//   embed        affine: R(R(scale * code) + bias) with T = type of scale and bias (mx.dequantize); dense: copied. lookup 1: row tokens[r] of the table,
//   nothing
//                for positions[r] < 0 (row left as is); lookup 0: row r (tokens and positions aren't read)
//   matmul       x of dtype x_type [rows, in]; out dtype P = promote(x_type, type of format).
//                dense  (mx.matmul(x, w.T)): R_P(sum_k x[k] * w[k]) in f32, unfused; bias (mx.addmm): R_P(sum + bias). A bias's dtype must be P or
//                promote with P to P (MLX would compute all in f32 otherwise)
//                affine (mx.quantized_matmul, transpose): acc = R_P(acc + R_P(x[k] * d[k])), d = R_P(R_P(scale * code) + bias) with scale, bias and x widened
//                to P; bias of the layer: R_P(acc + bias) on its own
//   rms_norm     mode 0 (mx.fast.rms_norm): R_P(R_P(x * r) * w), r = 1 / sqrt(ss * (1 / N) + eps), ss = sum x * x in f32; mode 1 (Gemma): w' = R_W(1 + w)
//   first;
//                mode 2 (decomposed, one rounding): all f32: mean = R(sum) * (1 / N), (x * rsqrt(mean + eps)) * w, then R_T of x's dtype.
//                P = promote(x_type, weight_type); out has dtype P (mode 2: x_type)
//   layer_norm   (mx.fast.layer_norm) mu = sum * (1 / N); v = sum (x - mu)^2 * (1 / N); y = R_P((x - mu) * (1 / sqrt(v + eps))); R_P(y * w); R_P(+ b)
//                An absent weight is 1, an absent bias -0 everywhere, both of x's dtype if both are absent: exact, where +0 would turn a result of
//                -0. (rms_norm likewise: a weight of ones of x's dtype.)
//   elementwise  out[i] = R(op(a[i], b[(i / b_divide) % b_modulo])) or R(op(a[i], scalar)) with the scalar first rounded to T; see MLXCEL_MLX_ELEMENTWISE_*
//   softmax      (mx.softmax, last axis) A = f32 if precise else T: m = max; e = R_A(exp(R_A(x - m))); s = sum R_A(s + e); R_T(e * R_A(1 / s))
//   rope         (mx.fast.rope) theta = (position * scale) * exp(-j * (log(base) / half)) in f32 (with |frequencies|: * (1 / frequencies[j]));
//                c = R(cos theta), s = R(sin theta); R(R(x1 c) - R(x2 s)), R(R(x1 s) + R(x2 c)); log(base) / half comes from the emitter (log_base argument):
//                logf(base) and the division both in f32, which differs from rounding once. |theta| <= 2^23: beyond that MLX asks libm, the kernel can't
//   kv_store     copies k and v of every active row into the caches [layers, slots, kv_heads, context, head_dim] of |layer|
//   attention    (mx.fast.scaled_dot_product_attention as CPU MLX decomposes it) q' = R(R(scale) * q); S = R(sum_d q'[d] * k[d]); additive: S = R(S + mask);
//                P = R(softmax of S in f32: exp(S - m) * (1 / s)); O = R(sum_j P[j] * v[j]). mask_kind 0: keys 0 .. position; 1: keys 0 .. context - 1;
//                2: as 1, with mask T[rows, context]. A masked key contributes exactly +0 in MLX, so skipping it changes nothing
//                (unless every key that is seen scores -inf).
//   scan         (mx.cumsum) out = R(out_prev + x), sequential in T; [outer, length, inner], along length
//   row_sum      (mx.sum over the trailing axes) R(sum in f32); a row of one element is that element, -0 included
//   convolution  (mx.conv_general, groups 1) R(sum in f32 over kh, kw, c with c fastest), padding contributes 0 * w
//
// Host kernels (they run in the process, since their bits are those of the host's libm; the report names it):
//   host_unary   out[i] = R(f(x[i])): MLXCEL_HOST_TANH tanhf; MLXCEL_HOST_POWER powf(x, R(scalar))
#ifndef MLXCEL_KERNELS_MLX_ABI_H_
#define MLXCEL_KERNELS_MLX_ABI_H_

#include "kernels/kernel_abi.h"

typedef enum mlxcel_mlx_elementwise_e {
  MLXCEL_MLX_ADD,       // a + b
  MLXCEL_MLX_SUBTRACT,  // a - b
  MLXCEL_MLX_MULTIPLY,  // a * b
  MLXCEL_MLX_DIVIDE,    // a / b
  MLXCEL_MLX_MAXIMUM,   // a > b or a NaN ? a : b
  MLXCEL_MLX_SIGMOID,   // e = R(exp|a|); y = 1 / (1 + e); a < 0 ? y : 1 - y
  MLXCEL_MLX_EXP,       // MLX's own polynomial
  MLXCEL_MLX_ERF,       // MLX's own polynomial
  MLXCEL_MLX_SQRT,      // sqrt(a)
  MLXCEL_MLX_RSQRT,     // 1 / R(sqrt(a))
  MLXCEL_MLX_SQUARE,    // a * a
  MLXCEL_MLX_CONVERT,   // a, rounded to out_type
} mlxcel_mlx_elementwise_t;

typedef enum mlxcel_host_unary_e { MLXCEL_HOST_TANH, MLXCEL_HOST_POWER } mlxcel_host_unary_t;

#define MLXCEL_MLX_EMBED_ARGS                                                                                                                      \
  MLXCEL_BUFFER(const int32_t, tokens), MLXCEL_BUFFER(const int32_t, positions), MLXCEL_BUFFER(const uint8_t, w), MLXCEL_BUFFER(const uint8_t, s), \
      MLXCEL_BUFFER(const uint8_t, b), MLXCEL_BUFFER(uint8_t, out), int32_t rows, int32_t width, int32_t format, int32_t lookup, size_t group, size_t groups
// |flags|: MLXCEL_MATRIX_FLAGS (bias and its type; no residual).
#define MLXCEL_MLX_MATMUL_ARGS                                                                                                                                \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_MATRIX(m), MLXCEL_BUFFER(const int32_t, positions), MLXCEL_BUFFER(uint8_t, out), int32_t rows, int32_t in_features, \
      int32_t out_features, int32_t format, int32_t flags, int32_t x_type, size_t group, size_t groups
// gather and |index| as in the pinned kernel.
#define MLXCEL_MLX_RMS_NORM_ARGS                                                                                                                         \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_BUFFER(const int32_t, index), MLXCEL_BUFFER(const uint8_t, weight), MLXCEL_BUFFER(uint8_t, out), int32_t rows, \
      int32_t width, int32_t x_type, int32_t weight_type, int32_t mode, int32_t gather, float eps, size_t group, size_t groups
#define MLXCEL_MLX_LAYER_NORM_ARGS                                                                                                                      \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_BUFFER(const uint8_t, weight), MLXCEL_BUFFER(const uint8_t, bias), MLXCEL_BUFFER(uint8_t, out), int32_t rows, \
      int32_t width, int32_t x_type, int32_t weight_type, float eps, size_t group, size_t groups
// |use_scalar| 1: the second operand is |scalar| and b isn't read (b repeats a). out has dtype out_type, which is type but for CONVERT.
#define MLXCEL_MLX_ELEMENTWISE_ARGS                                                                                                              \
  MLXCEL_BUFFER(const uint8_t, a), MLXCEL_BUFFER(const uint8_t, b), MLXCEL_BUFFER(uint8_t, out), int32_t operation, int32_t count, int32_t type, \
      int32_t out_type, int32_t b_divide, int32_t b_modulo, int32_t use_scalar, float scalar, size_t group, size_t groups
#define MLXCEL_MLX_SOFTMAX_ARGS \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_BUFFER(uint8_t, out), int32_t rows, int32_t width, int32_t type, int32_t precise, size_t group, size_t groups
// |frequencies| f32 [rope_dims / 2], read if has_frequencies; else it repeats positions. log_base: logf(base) / (float)half.
#define MLXCEL_MLX_ROPE_ARGS                                                                                                                        \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_BUFFER(const int32_t, positions), MLXCEL_BUFFER(const uint8_t, frequencies), MLXCEL_BUFFER(uint8_t, out), \
      int32_t rows, int32_t heads, int32_t head_dim, int32_t rope_dims, int32_t interleaved, int32_t has_frequencies, int32_t type, float log_base, \
      float scale, size_t group, size_t groups
#define MLXCEL_MLX_KV_STORE_ARGS                                                                                                                             \
  MLXCEL_BUFFER(const uint8_t, k), MLXCEL_BUFFER(const uint8_t, v), MLXCEL_BUFFER(const int32_t, slots), MLXCEL_BUFFER(const int32_t, positions),            \
      MLXCEL_BUFFER(uint8_t, k_cache), MLXCEL_BUFFER(uint8_t, v_cache), int32_t rows, int32_t kv_heads, int32_t head_dim, int32_t layer, int32_t slot_count, \
      int32_t context, int32_t type, size_t group, size_t groups
#define MLXCEL_MLX_ATTENTION_ARGS                                                                                                                              \
  MLXCEL_BUFFER(const uint8_t, q), MLXCEL_BUFFER(const uint8_t, k_cache), MLXCEL_BUFFER(const uint8_t, v_cache), MLXCEL_BUFFER(const int32_t, slots),          \
      MLXCEL_BUFFER(const int32_t, positions), MLXCEL_BUFFER(const uint8_t, mask), MLXCEL_BUFFER(uint8_t, out), int32_t rows, int32_t heads, int32_t kv_heads, \
      int32_t head_dim, int32_t layer, int32_t slot_count, int32_t context, int32_t mask_kind, int32_t type, float scale, size_t group, size_t groups
#define MLXCEL_MLX_SCAN_ARGS \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_BUFFER(uint8_t, out), int32_t outer, int32_t length, int32_t inner, int32_t type, size_t group, size_t groups
#define MLXCEL_MLX_ROW_SUM_ARGS \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_BUFFER(uint8_t, out), int32_t rows, int32_t width, int32_t type, size_t group, size_t groups
#define MLXCEL_MLX_CONVOLUTION_ARGS                                                                                                                    \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_BUFFER(const uint8_t, w), MLXCEL_BUFFER(uint8_t, out), int32_t batch, int32_t in_h, int32_t in_w,            \
      int32_t in_channels, int32_t out_h, int32_t out_w, int32_t out_channels, int32_t kernel_h, int32_t kernel_w, int32_t stride_h, int32_t stride_w, \
      int32_t pad_h, int32_t pad_w, int32_t type, size_t group, size_t groups
#define MLXCEL_HOST_UNARY_ARGS \
  MLXCEL_BUFFER(const uint8_t, x), MLXCEL_BUFFER(uint8_t, out), int32_t function, int32_t count, int32_t type, float scalar, size_t group, size_t groups

#define MLXCEL_MLX_KERNELS(X)                            \
  X(mlxcel_mlx_embed, MLXCEL_MLX_EMBED_ARGS)             \
  X(mlxcel_mlx_matmul, MLXCEL_MLX_MATMUL_ARGS)           \
  X(mlxcel_mlx_rms_norm, MLXCEL_MLX_RMS_NORM_ARGS)       \
  X(mlxcel_mlx_layer_norm, MLXCEL_MLX_LAYER_NORM_ARGS)   \
  X(mlxcel_mlx_elementwise, MLXCEL_MLX_ELEMENTWISE_ARGS) \
  X(mlxcel_mlx_softmax, MLXCEL_MLX_SOFTMAX_ARGS)         \
  X(mlxcel_mlx_rope, MLXCEL_MLX_ROPE_ARGS)               \
  X(mlxcel_mlx_kv_store, MLXCEL_MLX_KV_STORE_ARGS)       \
  X(mlxcel_mlx_attention, MLXCEL_MLX_ATTENTION_ARGS)     \
  X(mlxcel_mlx_scan, MLXCEL_MLX_SCAN_ARGS)               \
  X(mlxcel_mlx_row_sum, MLXCEL_MLX_ROW_SUM_ARGS)         \
  X(mlxcel_mlx_convolution, MLXCEL_MLX_CONVOLUTION_ARGS)

// In the process's own code (kernels/host/), reached as a run-time import.
#define MLXCEL_HOST_KERNELS(X) X(mlxcel_host_unary, MLXCEL_HOST_UNARY_ARGS)

#endif  // MLXCEL_KERNELS_MLX_ABI_H_
