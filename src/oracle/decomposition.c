#include "oracle/decomposition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/reference/reference.h"
#include "oracle/decomposition_canonical.h"

//===- pinned-f32: the scalar reference kernels ---------------------------------------------------------------------------------------------------------===//

// A matrix among the operands, as kernel arguments take it; absent parts repeat the first buffer.
typedef struct pinned_matrix_t {
  const uint8_t *w, *s, *b, *v;
  int32_t format, flags;
} pinned_matrix_t;

static int32_t log2_of(uint32_t value) {
  int32_t result = 0;
  while ((1u << result) < value) ++result;
  return result;
}

// The matrix that begins at operand |*index|, which is moved behind it.
static pinned_matrix_t pinned_matrix(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, size_t* index) {
  pinned_matrix_t matrix = {
      .format = MLXCEL_FORMAT((int32_t)operation->bits, operation->bits ? log2_of(operation->group_size) : 0, (int32_t)operation->weight_dtype)};
  matrix.w = matrix.s = matrix.b = matrix.v = operands[(*index)++].data;
  if (operation->bits) {
    matrix.s = operands[(*index)++].data;
    matrix.b = operands[(*index)++].data;
  }
  if (operation->has_bias) {
    matrix.v = operands[(*index)++].data;
    matrix.flags = MLXCEL_MATRIX_FLAGS(1, 0, (int32_t)operation->bias_dtype);
  }
  return matrix;
}

#define MATRIX(m) (m).w, 0, (m).s, 0, (m).b, 0, (m).v, 0

// All rows active.
static int32_t* row_numbers(int64_t count) {
  int32_t* rows = calloc((size_t)count + 1, sizeof(*rows));
  for (int64_t i = 0; rows && i < count; ++i) rows[i] = (int32_t)i;
  return rows;
}

static void pinned_projection(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, const int32_t* rows, float* out) {
  size_t next = 1;
  const float* x = operands[0].data;
  int32_t row_count = (int32_t)operation->rows, width = (int32_t)operation->in_features, outputs = (int32_t)operation->out_features;
  pinned_matrix_t first = pinned_matrix(operation, operands, &next);
  if (operation->op == MLXCEL_OP_ACTIVATION_PROJECTION) {
    pinned_matrix_t up = pinned_matrix(operation, operands, &next);
    mlxcel_reference_gate_up(x, 0, MATRIX(first), MATRIX(up), rows, 0, out, 0, row_count, width, outputs, first.format, first.flags, up.format, up.flags, 0, 1);
  } else {
    mlxcel_reference_matmul(x, 0, MATRIX(first), x, 0, rows, 0, out, 0, row_count, width, outputs, first.format, first.flags, 0, 1);
  }
}

static void pinned_embedding(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, float* out) {
  size_t next = 2;
  pinned_matrix_t table = pinned_matrix(operation, operands, &next);
  mlxcel_reference_embed(operands[0].data, 0, operands[1].data, 0, MATRIX(table), out, 0, (int32_t)operation->rows, (int32_t)operation->in_features,
                         table.format, 0, 1);
}

static void pinned_dequantize(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, const int32_t* rows, float* out) {
  size_t next = 0;
  pinned_matrix_t table = pinned_matrix(operation, operands, &next);
  mlxcel_reference_embed(rows, 0, rows, 0, MATRIX(table), out, 0, (int32_t)operation->out_features, (int32_t)operation->in_features, table.format, 0, 1);
}

static void pinned_rms_norm(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, const int32_t* rows, float* out) {
  mlxcel_reference_rms_norm(operands[0].data, 0, rows, 0, operands[1].data, 0, out, 0, (int32_t)operation->rows, (int32_t)operation->in_features,
                            (int32_t)operation->weight_dtype, 0, operation->epsilon, 0, 1);
}

static void pinned_attention(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, float* out) {
  mlxcel_reference_attention(operands[0].data, 0, operands[1].data, 0, operands[2].data, 0, operands[3].data, 0, operands[4].data, 0, out, 0,
                             (int32_t)operation->rows, (int32_t)operation->heads, (int32_t)operation->kv_heads, (int32_t)operation->head_dim, 0, 1,
                             (int32_t)operation->keys, (int32_t)operation->cache_dtype, operation->scale, 0, 1);
}

// A cache's operand, copied, so that the kernel can write into it. The result holds it widened.
static iree_status_t copy_cache(const mlxcel_host_tensor_t* operand, mlxcel_host_tensor_t* out_copy) {
  IREE_RETURN_IF_ERROR(mlxcel_host_tensor_allocate(&operand->type, out_copy));
  memcpy(out_copy->data, operand->data, operand->size);
  return iree_ok_status();
}
static float* widen_cache(const mlxcel_host_tensor_t* cache, float* out) {
  uint64_t count = mlxcel_operand_element_count(&cache->type);
  for (uint64_t i = 0; i < count; ++i) out[i] = mlxcel_reference_widen(cache->data, (int32_t)cache->type.dtype, i);
  return out + count;
}

// x, wq, wk, wv, slots, positions, cos, sin, k_cache, v_cache.
static void pinned_qkv_rope(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t caches[2], float* out) {
  size_t next = 1;
  pinned_matrix_t q = pinned_matrix(operation, operands, &next);
  pinned_matrix_t k = pinned_matrix(operation, operands, &next);
  pinned_matrix_t v = pinned_matrix(operation, operands, &next);
  mlxcel_reference_qkv_rope(operands[0].data, 0, MATRIX(q), MATRIX(k), MATRIX(v), operands[next + 2].data, 0, operands[next + 3].data, 0, operands[next].data,
                            0, operands[next + 1].data, 0, caches[0].data, 0, caches[1].data, 0, out, 0, (int32_t)operation->rows,
                            (int32_t)operation->in_features, (int32_t)operation->heads, (int32_t)operation->kv_heads, (int32_t)operation->head_dim,
                            (int32_t)(operation->rope_dims / 2), q.format, q.flags, k.format, k.flags, v.format, v.flags, 0, 1, (int32_t)operation->keys,
                            (int32_t)operation->cache_dtype, 0, 1);
  out = widen_cache(&caches[0], out + operation->rows * operation->heads * operation->head_dim);
  widen_cache(&caches[1], out);
}

static iree_status_t pinned_qkv_rope_with_caches(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, float* out) {
  mlxcel_host_tensor_t caches[2] = {{.data = NULL}};
  iree_status_t status = iree_ok_status();
  for (size_t i = 0; i < 2 && iree_status_is_ok(status); ++i) status = copy_cache(&operands[8 + i], &caches[i]);
  if (iree_status_is_ok(status)) pinned_qkv_rope(operation, operands, caches, out);
  for (size_t i = 0; i < 2; ++i) mlxcel_host_tensor_deinitialize(&caches[i]);
  return status;
}

static bool pinned_covers(const mlxcel_operation_t* operation) {
  switch (operation->op) {
    case MLXCEL_OP_DENSE_MATMUL:
    case MLXCEL_OP_QUANTIZED_MATMUL:
    case MLXCEL_OP_EMBEDDING:
    case MLXCEL_OP_DEQUANTIZE:
      return true;
    case MLXCEL_OP_ACTIVATION_PROJECTION:
      return operation->variant == MLXCEL_VARIANT_SILU;
    case MLXCEL_OP_RMS_NORM:
      return operation->variant == MLXCEL_VARIANT_PLAIN;
    case MLXCEL_OP_ATTENTION:
      return operation->variant == MLXCEL_VARIANT_MASK_CAUSAL;
    case MLXCEL_OP_QKV_ROPE:
      return operation->variant == MLXCEL_VARIANT_HALF;
    default:
      return false;
  }
}

static void pinned_compute(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, const int32_t* rows, float* out) {
  switch (operation->op) {
    case MLXCEL_OP_EMBEDDING:
      pinned_embedding(operation, operands, out);
      break;
    case MLXCEL_OP_DEQUANTIZE:
      pinned_dequantize(operation, operands, rows, out);
      break;
    case MLXCEL_OP_RMS_NORM:
      pinned_rms_norm(operation, operands, rows, out);
      break;
    case MLXCEL_OP_ATTENTION:
      pinned_attention(operation, operands, out);
      break;
    default:
      pinned_projection(operation, operands, rows, out);
      break;
  }
}

static iree_status_t pinned_evaluate(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  if (result->type.dtype != MLXCEL_DTYPE_F32 || !pinned_covers(operation)) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "the scalar reference kernels have no %s (%s) with results in %s", mlxcel_op_class_name(operation->op),
                            mlxcel_op_variant_name(operation->variant), mlxcel_dtype_name(result->type.dtype));
  }
  if (operation->op == MLXCEL_OP_QKV_ROPE) return pinned_qkv_rope_with_caches(operation, operands, result->data);
  int64_t row_count = operation->op == MLXCEL_OP_DEQUANTIZE ? operation->out_features : operation->rows;
  int32_t* rows = row_numbers(row_count);
  if (!rows) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %" PRId64 " row numbers; free memory and try again", row_count);
  pinned_compute(operation, operands, rows, result->data);
  free(rows);
  return iree_ok_status();
}

//===- Dispatch -----------------------------------------------------------------------------------------------------------------------------------------===//

iree_status_t mlxcel_decomposition_evaluate(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands,
                                            mlxcel_host_tensor_t* out_result) {
  memset(out_result, 0, sizeof(*out_result));
  bool is_pinned = strcmp(profile->name, MLXCEL_PROFILE_PINNED_F32) == 0;
  if (!is_pinned && strcmp(profile->name, MLXCEL_PROFILE_IREE_CANONICAL) != 0) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "profile %s is its reference's own decomposition: only the reference can show it", profile->name);
  }
  mlxcel_operand_t type;
  IREE_RETURN_IF_ERROR(mlxcel_operation_result(operation, &type));
  IREE_RETURN_IF_ERROR(mlxcel_host_tensor_allocate(&type, out_result));
  iree_status_t status = is_pinned ? pinned_evaluate(operation, operands, out_result) : mlxcel_canonical_evaluate(operation, operands, out_result);
  if (!iree_status_is_ok(status)) mlxcel_host_tensor_deinitialize(out_result);
  return status;
}
