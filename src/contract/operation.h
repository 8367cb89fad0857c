// operation.h: one operation instance: what a helper emits, a profile's clause describes, a micro-oracle runs and the MLX reference computes.
//
// The operand list of every class is fixed here (mlxcel_operation_operands), so that emitter, oracle and reference agree on it. T is |dtype|, the activations'
// dtype; W is |weight_dtype|, the stored weights' (dense values, or scales and biases of affine ones). C is the dtype of the KV cache: T, unless |cache_dtype|
// says that it is stored narrower. Matrices are [out, in], rows are contiguous.
//
//   dequantize            codes u8[out, in * bits / 8], scales W[out, in / group], biases W[out, in / group]                -> W[out, in]
//   embedding             tokens i32[rows], positions i32[rows], table (dense: W[out, in]; affine: codes, scales, biases)   -> W[rows, in]
//   dense-matmul          x T[rows, in], w W[out, in] [, bias B[out]]                                                       -> P[rows, out]
//   quantized-matmul      x T[rows, in], codes, scales, biases [, bias B[out]]                                              -> P[rows, out]
//   layer-norm            x T[rows, in], weight W[in], bias W[in]                                                           -> P[rows, in]
//   rms-norm              x T[rows, in], weight W[in]                                                 -> P[rows, in] (single-rounding: T)
//   residual-add          a T[rows, in], b T[rows, in]                                                                      -> T[rows, in]
//   activation            x T[rows, in]                                                                                     -> T[rows, in]
//   silu-gate             gate T[rows, in], up T[rows, in] : act(gate) * up                                                 -> T[rows, in]
//   activation-projection x T[rows, in], gate matrix (dense w, or codes, scales, biases), up matrix : act(x Wg^T) * (x Wu^T) -> P[rows, out]
//   softmax               x T[rows, in], over the last axis                                                                 -> T[rows, in]
//   attention             q T[rows, heads * head_dim], k C[1, 1, kv_heads, keys, head_dim], v (same), slots i32[rows] (all 0), positions i32[rows]
//                         [, mask T[rows, keys] if additive]; causal: row r sees keys 0 .. positions[r] = keys - rows + r; else all keys
//                                                                                                                           -> T[rows, heads * head_dim]
//   rope                  x T[rows, heads * head_dim], positions i32[rows]; the first rope_dims of every head are rotated; profiles whose tables come from
//                         outside take cos f32[keys, rope_dims / 2] and sin (same) behind them; others, if has_frequencies, frequencies
//                         f32[rope_dims / 2]                                                                                -> T[rows, heads * head_dim]
//   qkv-rope              x T[rows, in], wq W[heads * head_dim, in], wk W[kv_heads * head_dim, in], wv (same), slots, positions,
//                         cos f32[keys, rope_dims / 2], sin, k_cache C[1, 1, kv_heads, keys, head_dim], v_cache : rotated q,
//                         then the caches with rotated k and with v at the positions, k before v, widened to T, all flat
//                                                                             -> T[rows * heads * head_dim + 2 * kv_heads * keys * head_dim]
//   kv-store              k T[rows, kv_heads * head_dim], v, slots, positions, k_cache C[1, 1, kv_heads, keys, head_dim], v_cache : both
//                         caches with the rows at their positions, k before v                               -> C[2, 1, kv_heads, keys, head_dim]
//   prefix-scan           x T[rows, in]: inclusive sums along the last axis (contiguous) or the first (strided)             -> T[rows, in]
//   cumulative-norm       x T[rows (time), in (frequency), out (channels)], weight W[out]                                   -> T[rows, in, out]
//   convolution           x T[batch, in_h, in_w, in], w W[out, kernel_h, kernel_w, in] (conv1d: in_h = kernel_h = 1)         -> T[batch, out_h, out_w, out]
// P = T if T = W, else f32; B = |bias_dtype|. [bias] is there if has_bias. Matrices of activation-projection are gate_w or gate_codes, gate_scales,
// gate_biases, and up_w ... ; those of qkv-rope are dense. A matmul with has_residual isn't an operation by itself: residual-add is.
#ifndef MLXCEL_CONTRACT_OPERATION_H_
#define MLXCEL_CONTRACT_OPERATION_H_

#include "base/base.h"

// The values of the first three are the kernels' MLXCEL_FORMAT_* codes.
typedef enum mlxcel_dtype_e { MLXCEL_DTYPE_F32, MLXCEL_DTYPE_F16, MLXCEL_DTYPE_BF16, MLXCEL_DTYPE_I32, MLXCEL_DTYPE_U8, MLXCEL_DTYPE_COUNT } mlxcel_dtype_t;
const char* mlxcel_dtype_name(mlxcel_dtype_t dtype);  // "f32", "f16", "bf16", "i32", "u8"
size_t mlxcel_dtype_size(mlxcel_dtype_t dtype);
bool mlxcel_dtype_parse(iree_string_view_t name, mlxcel_dtype_t* out_dtype);

typedef enum mlxcel_op_class_e {
  MLXCEL_OP_EMBEDDING,
  MLXCEL_OP_DEQUANTIZE,
  MLXCEL_OP_DENSE_MATMUL,
  MLXCEL_OP_QUANTIZED_MATMUL,
  MLXCEL_OP_LAYER_NORM,
  MLXCEL_OP_RMS_NORM,
  MLXCEL_OP_RESIDUAL_ADD,
  MLXCEL_OP_ACTIVATION,
  MLXCEL_OP_SILU_GATE,
  MLXCEL_OP_SOFTMAX,
  MLXCEL_OP_ATTENTION,
  MLXCEL_OP_ROPE,
  MLXCEL_OP_KV_STORE,
  MLXCEL_OP_PREFIX_SCAN,
  MLXCEL_OP_CUMULATIVE_NORM,
  MLXCEL_OP_CONVOLUTION,
  // Compositions that some profile computes in one kernel: their contract is the clauses of their parts.
  MLXCEL_OP_ACTIVATION_PROJECTION,
  MLXCEL_OP_QKV_ROPE,
  MLXCEL_OP_COUNT,
} mlxcel_op_class_t;
const char* mlxcel_op_class_name(mlxcel_op_class_t op);
bool mlxcel_op_class_parse(iree_string_view_t name, mlxcel_op_class_t* out_op);

typedef enum mlxcel_op_variant_e {
  MLXCEL_VARIANT_NONE,
  MLXCEL_VARIANT_QMV,              // quantized-matmul of few rows, where a profile treats them apart
  MLXCEL_VARIANT_QMM,              // of many
  MLXCEL_VARIANT_PLAIN,            // rms-norm: R(R(x * r) * w)
  MLXCEL_VARIANT_GEMMA,            // rms-norm with weight R(1 + w)
  MLXCEL_VARIANT_SINGLE_ROUNDING,  // rms-norm decomposed in f32, rounded once
  MLXCEL_VARIANT_SILU,
  MLXCEL_VARIANT_GELU_ERF,
  MLXCEL_VARIANT_GELU_TANH,
  MLXCEL_VARIANT_GELU_SIGMOID,
  MLXCEL_VARIANT_PRECISE,     // softmax in f32, rounded once
  MLXCEL_VARIANT_SAME_DTYPE,  // softmax with every step in T
  MLXCEL_VARIANT_MASK_NONE,
  MLXCEL_VARIANT_MASK_CAUSAL,
  MLXCEL_VARIANT_MASK_ADDITIVE,
  MLXCEL_VARIANT_HALF,         // rope pairs (i, i + half)
  MLXCEL_VARIANT_INTERLEAVED,  // rope pairs (2 i, 2 i + 1): "traditional"
  MLXCEL_VARIANT_CONTIGUOUS,
  MLXCEL_VARIANT_STRIDED,
  MLXCEL_VARIANT_CONV1D,
  MLXCEL_VARIANT_CONV2D,
  MLXCEL_VARIANT_COUNT,
} mlxcel_op_variant_t;
const char* mlxcel_op_variant_name(mlxcel_op_variant_t variant);
bool mlxcel_op_variant_parse(iree_string_view_t name, mlxcel_op_variant_t* out_variant);
// Whether operations of class |op| may have |variant|.
bool mlxcel_op_variant_belongs(mlxcel_op_class_t op, mlxcel_op_variant_t variant);

// The composition that an operation is a part of, where a profile computes that composition in one kernel: the part's clause then names that kernel.
typedef enum mlxcel_composition_e { MLXCEL_WITHIN_NONE, MLXCEL_WITHIN_ACTIVATION_PROJECTION, MLXCEL_WITHIN_QKV_ROPE, MLXCEL_WITHIN_COUNT } mlxcel_composition_t;

typedef struct mlxcel_operation_t {
  mlxcel_op_class_t op;
  mlxcel_op_variant_t variant;
  mlxcel_dtype_t dtype, weight_dtype, bias_dtype;  // T, W, dtype of the layer's bias vector
  mlxcel_dtype_t cache_dtype;                      // F16, BF16: what stores keys and values of T = f32; F32: a cache of T
  uint32_t bits, group_size;                       // bits 0 = dense
  bool has_bias;                                   // of the layer
  bool has_residual;                               // dense- and quantized-matmul of a model: + residual after everything (pinned kernels fuse it)
  bool has_frequencies;                            // rope: angles from a table of frequencies (MLX's `freqs`), not from the base
  mlxcel_composition_t within;
  // Sizes; those that a class doesn't name are 0.
  int64_t rows, in_features, out_features;
  int64_t heads, kv_heads, head_dim, keys, rope_dims;
  int64_t batch, in_h, in_w, kernel_h, kernel_w, stride_h, stride_w;
  int64_t pad_h_low, pad_h_high, pad_w_low, pad_w_high;  // explicit zero padding
  float epsilon;                                         // norms
  float scale;                                           // attention: applied to q.k; rope: position scale
  float rope_base;
} mlxcel_operation_t;

// Beyond these, 32-bit index arithmetic in kernels isn't safe.
#define MLXCEL_OPERATION_SIZE_MAX (INT64_C(1) << 24)
#define MLXCEL_OPERAND_ELEMENTS_MAX ((uint64_t)INT32_MAX)

#define MLXCEL_OPERANDS_MAX 12
#define MLXCEL_OPERAND_RANK_MAX 5

typedef struct mlxcel_operand_t {
  const char* name;  // static
  mlxcel_dtype_t dtype;
  uint32_t rank;
  int64_t dims[MLXCEL_OPERAND_RANK_MAX];
} mlxcel_operand_t;
uint64_t mlxcel_operand_element_count(const mlxcel_operand_t* operand);  // UINT64_MAX if it doesn't fit

// A tensor in this process's memory, row-major, dense.
typedef struct mlxcel_host_tensor_t {
  mlxcel_operand_t type;
  size_t size;  // bytes
  void* data;   // malloc'ed by whoever made the tensor
} mlxcel_host_tensor_t;
// Zeroed data. RESOURCE_EXHAUSTED without memory.
iree_status_t mlxcel_host_tensor_allocate(const mlxcel_operand_t* type, mlxcel_host_tensor_t* out_tensor);
void mlxcel_host_tensor_deinitialize(mlxcel_host_tensor_t* tensor);

// Element conversions between stored dtypes (f32, f16, bf16) and f32: widening is exact, rounding to nearest even; subnormals kept whatever MXCSR says.
// A stored NaN is 0x7FC0 in bf16 and sign | 0x7D00 in f16, as MLX stores it.
float mlxcel_dtype_widen(mlxcel_dtype_t dtype, const void* data, uint64_t index);
void mlxcel_dtype_store(mlxcel_dtype_t dtype, void* data, uint64_t index, float value);

// C: the dtype that a cache of |operation| has.
mlxcel_dtype_t mlxcel_operation_cache_dtype(const mlxcel_operation_t* operation);

// The dtype that T and W meet in.
mlxcel_dtype_t mlxcel_dtype_promote(mlxcel_dtype_t left, mlxcel_dtype_t right);

// Operands in order, as listed above. |with_tables|: rope takes cos and sin from outside. INVALID_ARGUMENT names the size, dtype or variant that doesn't fit
// the class (zero or negative sizes, group that doesn't divide the width, heads that aren't a multiple of kv_heads, a variant of another class ...).
iree_status_t mlxcel_operation_operands(const mlxcel_operation_t* operation, bool with_tables, mlxcel_operand_t out_operands[MLXCEL_OPERANDS_MAX],
                                        size_t* out_count);
// The result.
iree_status_t mlxcel_operation_result(const mlxcel_operation_t* operation, mlxcel_operand_t* out_result);
// "x=[3,64] w=[5,64]" style text of the sizes, for reports.
void mlxcel_operation_shape_text(const mlxcel_operation_t* operation, char* buffer, size_t size);

#endif  // MLXCEL_CONTRACT_OPERATION_H_
