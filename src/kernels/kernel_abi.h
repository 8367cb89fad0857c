// kernel_abi.h: the pinned CPU kernels of profile `pinned-f32`, version 1: names, arguments and the order of every operation.
//
// One text serves three builds: the optimized kernels (kernels/cpu, compiled for x86-64-v3 and v4, embedded into compiled modules), their scalar
// reference (kernels/reference, the arbiter: every optimized kernel equals it bit for bit) and the emitter, which writes the calls.
//
// Rules of version 1 (everything is IEEE binary32 with round-to-nearest-even, subnormals kept, no operation fused or split except as written):
//   dot(x, w, K)      16 lanes start at +0; for k = 0..K-1: lane[k mod 16] = fma(x[k], w[k], lane[k mod 16]); result tree16(lane)
//   tree16(l)         l[i] += l[i+8] for i < 8; l[i] += l[i+4] for i < 4; l[i] += l[i+2] for i < 2; l[0] + l[1]
//   weight            dense: the stored value widened exactly; affine: fma((float)code, scale, bias), scale and bias of group k / group size widened exactly.
//                     Code k of a row is its bits [k * bits, (k + 1) * bits), counted from the lowest bit of the row's first byte.
//   matmul            y = dot(x, w); then, where present, y = y + bias; then y = residual + y
//   rms_norm          ss = dot(x, x); y[k] = (x[k] * (1 / sqrt(ss / N + eps))) * weight[k]; N the width as binary32
//   silu_gate         g / (1 + exp(-g)) * u, the division first
//   rope              y[i] = fma(x[i], cos[i], -(x[i+h] * sin[i])); y[i+h] = fma(x[i+h], cos[i], x[i] * sin[i]); h = half the rotated width;
//                     elements behind 2h stay as they are
//   exp               see elementary functions below
//   kv-store          a cell of a cache gets R(value): value itself in f32; to f16 or bf16 rounded to nearest even, subnormals kept, beyond the largest finite
//                     value by half a unit or more: infinity; a NaN stays one. What is read from a cache is the stored value, widened exactly.
//   attention         a row at position p sees the keys 0..p of its slot, head i those of kv head i / (heads / kv_heads), in blocks of 64 absolute positions.
//                     Block: s[j] = dot(q, k[j]) * scale; m = max s; p[j] = exp(s[j] - m); l = tree16 of lanes (lane[j mod 16] += p[j], from +0);
//                     o[d] = fma(p[j], v[j][d], o[d]) from +0 in order of j.
//                     The first block's m, l and o are the start; later blocks combine in order:
//                     m' = max(m, mb); a = exp(m - m'); c = exp(mb - m'); l = fma(l, a, lb * c); o = fma(o, a, ob * c).
//                     Result o[d] / l.
//   embedding         the weight values of one row
// Elementary function exp (id mlxcel-exp-1): x = min(89, x), x = max(-105, x) (NaN stays); n = rint(x * 0x1.715476p+0);
//   r = fma(n, -MLXCEL_EXP_LN2_HI, x); r = fma(n, -MLXCEL_EXP_LN2_LO, r); Horner by fma with the six MLXCEL_EXP_C* in r; y = fma(p, r * r, r) + 1;
//   then y * 2^(n >> 1) * 2^(n - (n >> 1)), n >> 1 rounding down. At most 1.013 ulp, 0.751 where the result is subnormal (tried on every float).
// A result that is a NaN is some NaN: sign and payload are nobody's promise.
// A result depends on neither tile, thread count, batch, chunk nor instruction set.
//
// Rows: |positions| holds an absolute position a row, -1 for an inactive row. An inactive row writes no cache cell, its token and slot aren't used, its
// inputs may hold anything, and its row of |out| is unspecified: a kernel may skip or compute it. Distinct active rows name distinct cache cells.
// Buffers are aligned to their elements (matrices: to the stored type); nothing outside the elements named is read or written.
#ifndef MLXCEL_KERNELS_KERNEL_ABI_H_
#define MLXCEL_KERNELS_KERNEL_ABI_H_

#include <stddef.h>
#include <stdint.h>

#define MLXCEL_EXP_C5 0x1.a0d2cep-13f
#define MLXCEL_EXP_C4 0x1.6e879cp-10f
#define MLXCEL_EXP_C3 0x1.111210p-7f
#define MLXCEL_EXP_C2 0x1.555382p-5f
#define MLXCEL_EXP_C1 0x1.555554p-3f
#define MLXCEL_EXP_C0 0x1.000000p-1f
#define MLXCEL_EXP_LOG2E 0x1.715476p+0f
#define MLXCEL_EXP_LN2_HI 0x1.62e430p-1f
#define MLXCEL_EXP_LN2_LO -0x1.05c610p-29f
#define MLXCEL_EXP_MAX 89.0f
#define MLXCEL_EXP_MIN -105.0f

#define MLXCEL_ATTENTION_BLOCK 64  // keys a block

// Storage of a matrix: bits 0..7 code width (0 = dense), 8..15 log2(group size), 16..23 element type of the dense values or of scales and biases.
#define MLXCEL_FORMAT_F32 0
#define MLXCEL_FORMAT_F16 1
#define MLXCEL_FORMAT_BF16 2
#define MLXCEL_FORMAT(bits, group_log2, type) ((int32_t)((bits) | ((group_log2) << 8) | ((type) << 16)))
#define MLXCEL_FORMAT_BITS(format) ((format)&0xff)
#define MLXCEL_FORMAT_GROUP_LOG2(format) (((format) >> 8) & 0xff)
#define MLXCEL_FORMAT_TYPE(format) (((format) >> 16) & 0xff)

// A buffer argument is a base pointer and an offset in elements: memrefs lose their offset otherwise.
#define MLXCEL_BUFFER(type, name) type *name##_base, size_t name##_offset
#define MLXCEL_AT(name) (name##_base + name##_offset)
// A matrix: codes or dense values, scales, biases (offsets of the quantization), bias vector of the layer (f32 bytes by format |vector type|). Absent ones
// repeat the first buffer and aren't read.
#define MLXCEL_MATRIX(name) \
  MLXCEL_BUFFER(const uint8_t, name##_w), MLXCEL_BUFFER(const uint8_t, name##_s), MLXCEL_BUFFER(const uint8_t, name##_b), MLXCEL_BUFFER(const uint8_t, name##_v)

// Flags of a matrix's use: has a bias vector of element type (flags >> 4) & 3; has a residual (matmul only).
#define MLXCEL_MATRIX_HAS_BIAS 1
#define MLXCEL_MATRIX_HAS_RESIDUAL 2
#define MLXCEL_MATRIX_FLAGS(has_bias, has_residual, bias_type) ((int32_t)((has_bias) | ((has_residual) << 1) | ((bias_type) << 4)))
#define MLXCEL_MATRIX_BIAS_TYPE(flags) (((flags) >> 4) & 3)

// The kernels, X(name, arguments). Workgroup |group| of |groups| does its share; any number of groups gives the same bits.
#define MLXCEL_KERNEL_EMBED_ARGS                                                                                                                               \
  MLXCEL_BUFFER(const int32_t, tokens), MLXCEL_BUFFER(const int32_t, positions), MLXCEL_MATRIX(table), MLXCEL_BUFFER(float, out), int32_t rows, int32_t width, \
      int32_t format, size_t group, size_t groups
// |index|: row r reads input row index[r] (-1 = inactive) if gather is 1; else it is |positions| and row r reads row r.
#define MLXCEL_KERNEL_RMS_NORM_ARGS                                                                                                                  \
  MLXCEL_BUFFER(const float, x), MLXCEL_BUFFER(const int32_t, index), MLXCEL_BUFFER(const uint8_t, weight), MLXCEL_BUFFER(float, out), int32_t rows, \
      int32_t width, int32_t weight_type, int32_t gather, float eps, size_t group, size_t groups
// Projects to q, k and v, rotates q and k, writes k and v into the caches of |layer|: [layers, slots, kv_heads, context, head_dim] of element type |kv_type|.
// cos, sin: [context, rope_half].
#define MLXCEL_KERNEL_QKV_ROPE_ARGS                                                                                                                      \
  MLXCEL_BUFFER(const float, x), MLXCEL_MATRIX(q), MLXCEL_MATRIX(k), MLXCEL_MATRIX(v), MLXCEL_BUFFER(const float, cos), MLXCEL_BUFFER(const float, sin), \
      MLXCEL_BUFFER(const int32_t, slots), MLXCEL_BUFFER(const int32_t, positions), MLXCEL_BUFFER(uint8_t, k_cache), MLXCEL_BUFFER(uint8_t, v_cache),    \
      MLXCEL_BUFFER(float, out), int32_t rows, int32_t width, int32_t heads, int32_t kv_heads, int32_t head_dim, int32_t rope_half, int32_t q_format,    \
      int32_t q_flags, int32_t k_format, int32_t k_flags, int32_t v_format, int32_t v_flags, int32_t layer, int32_t slot_count, int32_t context,         \
      int32_t kv_type, size_t group, size_t groups
#define MLXCEL_KERNEL_ATTENTION_ARGS                                                                                                                      \
  MLXCEL_BUFFER(const float, q), MLXCEL_BUFFER(const uint8_t, k_cache), MLXCEL_BUFFER(const uint8_t, v_cache), MLXCEL_BUFFER(const int32_t, slots),       \
      MLXCEL_BUFFER(const int32_t, positions), MLXCEL_BUFFER(float, out), int32_t rows, int32_t heads, int32_t kv_heads, int32_t head_dim, int32_t layer, \
      int32_t slot_count, int32_t context, int32_t kv_type, float scale, size_t group, size_t groups
// out = [residual +] x W^T [+ bias]; |residual| repeats |x| if absent. out may not overlap x.
#define MLXCEL_KERNEL_MATMUL_ARGS                                                                                                                            \
  MLXCEL_BUFFER(const float, x), MLXCEL_MATRIX(w), MLXCEL_BUFFER(const float, residual), MLXCEL_BUFFER(const int32_t, positions), MLXCEL_BUFFER(float, out), \
      int32_t rows, int32_t in_features, int32_t out_features, int32_t format, int32_t flags, size_t group, size_t groups
// out = silu(x Wg^T [+ bg]) * (x Wu^T [+ bu])
#define MLXCEL_KERNEL_GATE_UP_ARGS                                                                                                                     \
  MLXCEL_BUFFER(const float, x), MLXCEL_MATRIX(g), MLXCEL_MATRIX(u), MLXCEL_BUFFER(const int32_t, positions), MLXCEL_BUFFER(float, out), int32_t rows, \
      int32_t in_features, int32_t out_features, int32_t g_format, int32_t g_flags, int32_t u_format, int32_t u_flags, size_t group, size_t groups

#define MLXCEL_KERNELS(X)                                  \
  X(mlxcel_pinned_embed, MLXCEL_KERNEL_EMBED_ARGS)         \
  X(mlxcel_pinned_rms_norm, MLXCEL_KERNEL_RMS_NORM_ARGS)   \
  X(mlxcel_pinned_qkv_rope, MLXCEL_KERNEL_QKV_ROPE_ARGS)   \
  X(mlxcel_pinned_attention, MLXCEL_KERNEL_ATTENTION_ARGS) \
  X(mlxcel_pinned_matmul, MLXCEL_KERNEL_MATMUL_ARGS)       \
  X(mlxcel_pinned_gate_up, MLXCEL_KERNEL_GATE_UP_ARGS)

#endif  // MLXCEL_KERNELS_KERNEL_ABI_H_
