#include "contract/operation.h"

#include <stdlib.h>
#include <string.h>

//===- Names ------------------------------------------------------------------------------------------------------------------------------------------===//

static const struct {
  const char* name;
  size_t size;
} dtype_table[] = {
    [MLXCEL_DTYPE_F32] = {"f32", 4}, [MLXCEL_DTYPE_F16] = {"f16", 2}, [MLXCEL_DTYPE_BF16] = {"bf16", 2},
    [MLXCEL_DTYPE_I32] = {"i32", 4}, [MLXCEL_DTYPE_U8] = {"u8", 1},
};
_Static_assert(IREE_ARRAYSIZE(dtype_table) == MLXCEL_DTYPE_COUNT, "one row for every dtype");

static const char* const op_class_names[] = {
    [MLXCEL_OP_EMBEDDING] = "embedding",
    [MLXCEL_OP_DEQUANTIZE] = "dequantize",
    [MLXCEL_OP_DENSE_MATMUL] = "dense-matmul",
    [MLXCEL_OP_QUANTIZED_MATMUL] = "quantized-matmul",
    [MLXCEL_OP_LAYER_NORM] = "layer-norm",
    [MLXCEL_OP_RMS_NORM] = "rms-norm",
    [MLXCEL_OP_RESIDUAL_ADD] = "residual-add",
    [MLXCEL_OP_ACTIVATION] = "activation",
    [MLXCEL_OP_SILU_GATE] = "silu-gate",
    [MLXCEL_OP_SOFTMAX] = "softmax",
    [MLXCEL_OP_ATTENTION] = "attention",
    [MLXCEL_OP_ROPE] = "rope",
    [MLXCEL_OP_KV_STORE] = "kv-store",
    [MLXCEL_OP_PREFIX_SCAN] = "prefix-scan",
    [MLXCEL_OP_CUMULATIVE_NORM] = "cumulative-norm",
    [MLXCEL_OP_CONVOLUTION] = "convolution",
    [MLXCEL_OP_ACTIVATION_PROJECTION] = "activation-projection",
    [MLXCEL_OP_QKV_ROPE] = "qkv-rope",
};
_Static_assert(IREE_ARRAYSIZE(op_class_names) == MLXCEL_OP_COUNT, "every op class has a name");

static const char* const variant_names[] = {
    [MLXCEL_VARIANT_NONE] = "none",
    [MLXCEL_VARIANT_QMV] = "qmv",
    [MLXCEL_VARIANT_QMM] = "qmm",
    [MLXCEL_VARIANT_PLAIN] = "plain",
    [MLXCEL_VARIANT_GEMMA] = "gemma",
    [MLXCEL_VARIANT_SINGLE_ROUNDING] = "single-rounding",
    [MLXCEL_VARIANT_SILU] = "silu",
    [MLXCEL_VARIANT_GELU_ERF] = "gelu-erf",
    [MLXCEL_VARIANT_GELU_TANH] = "gelu-tanh",
    [MLXCEL_VARIANT_GELU_SIGMOID] = "gelu-sigmoid",
    [MLXCEL_VARIANT_PRECISE] = "precise",
    [MLXCEL_VARIANT_SAME_DTYPE] = "same-dtype",
    [MLXCEL_VARIANT_MASK_NONE] = "mask-none",
    [MLXCEL_VARIANT_MASK_CAUSAL] = "mask-causal",
    [MLXCEL_VARIANT_MASK_ADDITIVE] = "mask-additive",
    [MLXCEL_VARIANT_HALF] = "half",
    [MLXCEL_VARIANT_INTERLEAVED] = "interleaved",
    [MLXCEL_VARIANT_CONTIGUOUS] = "contiguous",
    [MLXCEL_VARIANT_STRIDED] = "strided",
    [MLXCEL_VARIANT_CONV1D] = "conv1d",
    [MLXCEL_VARIANT_CONV2D] = "conv2d",
};
_Static_assert(IREE_ARRAYSIZE(variant_names) == MLXCEL_VARIANT_COUNT, "every variant has a name");

const char* mlxcel_dtype_name(mlxcel_dtype_t dtype) { return (uint32_t)dtype < MLXCEL_DTYPE_COUNT ? dtype_table[dtype].name : "?"; }

size_t mlxcel_dtype_size(mlxcel_dtype_t dtype) { return (uint32_t)dtype < MLXCEL_DTYPE_COUNT ? dtype_table[dtype].size : 0; }

const char* mlxcel_op_class_name(mlxcel_op_class_t op) { return (uint32_t)op < MLXCEL_OP_COUNT ? op_class_names[op] : "?"; }

const char* mlxcel_op_variant_name(mlxcel_op_variant_t variant) { return (uint32_t)variant < MLXCEL_VARIANT_COUNT ? variant_names[variant] : "?"; }

bool mlxcel_dtype_parse(iree_string_view_t name, mlxcel_dtype_t* out_dtype) {
  *out_dtype = MLXCEL_DTYPE_F32;
  for (uint32_t i = 0; i < MLXCEL_DTYPE_COUNT; ++i) {
    if (!iree_string_view_equal(name, iree_make_cstring_view(dtype_table[i].name))) continue;
    *out_dtype = (mlxcel_dtype_t)i;
    return true;
  }
  return false;
}

static bool name_find(iree_string_view_t name, const char* const* names, uint32_t count, uint32_t* out_index) {
  *out_index = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!iree_string_view_equal(name, iree_make_cstring_view(names[i]))) continue;
    *out_index = i;
    return true;
  }
  return false;
}

bool mlxcel_op_class_parse(iree_string_view_t name, mlxcel_op_class_t* out_op) {
  uint32_t index = 0;
  bool found = name_find(name, op_class_names, MLXCEL_OP_COUNT, &index);
  *out_op = (mlxcel_op_class_t)index;
  return found;
}

bool mlxcel_op_variant_parse(iree_string_view_t name, mlxcel_op_variant_t* out_variant) {
  uint32_t index = 0;
  bool found = name_find(name, variant_names, MLXCEL_VARIANT_COUNT, &index);
  *out_variant = (mlxcel_op_variant_t)index;
  return found;
}

mlxcel_dtype_t mlxcel_operation_cache_dtype(const mlxcel_operation_t* operation) {
  return operation->cache_dtype == MLXCEL_DTYPE_F32 ? operation->dtype : operation->cache_dtype;
}

mlxcel_dtype_t mlxcel_dtype_promote(mlxcel_dtype_t left, mlxcel_dtype_t right) { return left == right ? left : MLXCEL_DTYPE_F32; }

//===- Elements ---------------------------------------------------------------------------------------------------------------------------------------===//
// Bits and integers only: the floating-point environment (FTZ and DAZ in a compiler's worker threads) has no say.

#define F32_SIGN 0x80000000u
#define F32_INFINITY 0x7f800000u
#define F32_FRACTION 0x007fffffu
#define F32_IMPLICIT 0x00800000u
#define F16_INFINITY 0x7c00u
#define F16_NAN 0x7d00u   // with the sign; MLX's
#define BF16_NAN 0x7fc0u  // without; MLX's

static uint32_t f16_to_f32_bits(uint32_t half) {
  uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
  if (exponent == 0x1fu) return sign | F32_INFINITY | fraction << 13;
  if (exponent != 0) return sign | (exponent + 112) << 23 | fraction << 13;
  if (fraction == 0) return sign;
  // fraction * 2^-24: normalized, the leading one drops out. 113 is the biased exponent of 2^-14.
  uint32_t shift = (uint32_t)__builtin_clz(fraction) - 21;
  return sign | (113 - shift) << 23 | (fraction << shift & 0x3ffu) << 13;
}

// |value| / 2^|shift|, to nearest, ties to even. 0 < shift < 32.
static uint32_t shift_to_nearest_even(uint32_t value, uint32_t shift) {
  uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

static uint16_t f32_to_f16_bits(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & ~F32_SIGN;
  if (magnitude > F32_INFINITY) return (uint16_t)(sign | F16_NAN);
  uint32_t exponent = magnitude >> 23;
  if (exponent >= 143) return (uint16_t)(sign | F16_INFINITY);  // 2^16 and above
  if (exponent < 102) return (uint16_t)sign;                    // below 2^-25: not even half of the smallest
  if (exponent < 113) {                                         // subnormal in f16
    return (uint16_t)(sign | shift_to_nearest_even((magnitude & F32_FRACTION) | F32_IMPLICIT, 126 - exponent));
  }
  return (uint16_t)(sign | (shift_to_nearest_even(magnitude, 13) - (112u << 10)));  // a carry goes on into the exponent, up to infinity
}

static uint16_t f32_to_bf16_bits(uint32_t bits) {
  if ((bits & ~F32_SIGN) > F32_INFINITY) return BF16_NAN;
  return (uint16_t)shift_to_nearest_even(bits, 16);
}

float mlxcel_dtype_widen(mlxcel_dtype_t dtype, const void* data, uint64_t index) {
  uint32_t bits = 0;
  if (dtype == MLXCEL_DTYPE_F32) {
    memcpy(&bits, (const char*)data + 4 * index, 4);
  } else if (dtype == MLXCEL_DTYPE_F16 || dtype == MLXCEL_DTYPE_BF16) {
    uint16_t half = 0;
    memcpy(&half, (const char*)data + 2 * index, 2);
    bits = dtype == MLXCEL_DTYPE_F16 ? f16_to_f32_bits(half) : (uint32_t)half << 16;
  }
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

void mlxcel_dtype_store(mlxcel_dtype_t dtype, void* data, uint64_t index, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  if (dtype == MLXCEL_DTYPE_F32) {
    memcpy((char*)data + 4 * index, &bits, 4);
  } else if (dtype == MLXCEL_DTYPE_F16 || dtype == MLXCEL_DTYPE_BF16) {
    uint16_t half = dtype == MLXCEL_DTYPE_F16 ? f32_to_f16_bits(bits) : f32_to_bf16_bits(bits);
    memcpy((char*)data + 2 * index, &half, 2);
  }
}

//===- Tensors ----------------------------------------------------------------------------------------------------------------------------------------===//

uint64_t mlxcel_operand_element_count(const mlxcel_operand_t* operand) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < operand->rank; ++i) {
    if (!mlxcel_checked_mul_u64(count, (uint64_t)operand->dims[i], &count)) return UINT64_MAX;
  }
  return count;
}

iree_status_t mlxcel_host_tensor_allocate(const mlxcel_operand_t* type, mlxcel_host_tensor_t* out_tensor) {
  memset(out_tensor, 0, sizeof(*out_tensor));
  uint64_t size = 0;
  bool fits = mlxcel_checked_mul_u64(mlxcel_operand_element_count(type), mlxcel_dtype_size(type->dtype), &size) && size <= SIZE_MAX;
  void* data = fits ? calloc(1, size ? (size_t)size : 1) : NULL;
  if (!data) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for operand %s of %" PRIu64 " elements; take smaller sizes", type->name,
                            mlxcel_operand_element_count(type));
  }
  out_tensor->type = *type;
  out_tensor->size = (size_t)size;
  out_tensor->data = data;
  return iree_ok_status();
}

void mlxcel_host_tensor_deinitialize(mlxcel_host_tensor_t* tensor) {
  free(tensor->data);
  memset(tensor, 0, sizeof(*tensor));
}
