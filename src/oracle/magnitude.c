#include "oracle/magnitude.h"

#include <math.h>
#include <stdlib.h>

static float magnitude_at(const mlxcel_host_tensor_t* tensor, int64_t index) {
  return fabsf(mlxcel_dtype_widen(tensor->type.dtype, tensor->data, (uint64_t)index));
}

static void elementwise(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, float* out) {
  bool gated = operation->op == MLXCEL_OP_SILU_GATE;
  for (int64_t i = 0; i < operation->rows * operation->in_features; ++i)
    out[i] = magnitude_at(&operands[0], i) * (gated ? magnitude_at(&operands[1], i) : 1.0f);
}

// Sum of |x * w| of one window and output channel.
static float window_magnitude(const mlxcel_operation_t* o, const mlxcel_host_tensor_t* operands, const int64_t place[3], int64_t channel) {
  float sum = 0;
  for (int64_t kh = 0; kh < o->kernel_h; ++kh) {
    for (int64_t kw = 0; kw < o->kernel_w; ++kw) {
      int64_t h = place[1] * o->stride_h - o->pad_h_low + kh, w = place[2] * o->stride_w - o->pad_w_low + kw;
      if (h < 0 || h >= o->in_h || w < 0 || w >= o->in_w) continue;
      int64_t pixel = ((place[0] * o->in_h + h) * o->in_w + w) * o->in_features;
      int64_t tap = ((channel * o->kernel_h + kh) * o->kernel_w + kw) * o->in_features;
      for (int64_t c = 0; c < o->in_features; ++c) sum += magnitude_at(&operands[0], pixel + c) * magnitude_at(&operands[1], tap + c);
    }
  }
  return sum;
}

static void convolution(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, const mlxcel_operand_t* result, float* out) {
  const int64_t* dims = result->dims;
  for (int64_t i = 0; i < (int64_t)mlxcel_operand_element_count(result); ++i) {
    const int64_t place[3] = {i / (dims[1] * dims[2] * dims[3]), i / (dims[2] * dims[3]) % dims[1], i / dims[3] % dims[2]};
    out[i] = window_magnitude(operation, operands, place, i % dims[3]);
  }
}

static void attention(const mlxcel_operation_t* o, const mlxcel_host_tensor_t* operands, float* out) {
  for (int64_t i = 0; i < o->rows * o->heads * o->head_dim; ++i) {
    int64_t d = i % o->head_dim, kv_head = i / o->head_dim % o->heads / (o->heads / o->kv_heads);
    out[i] = 0;
    for (int64_t j = 0; j < o->keys; ++j) out[i] = fmaxf(out[i], magnitude_at(&operands[2], (kv_head * o->keys + j) * o->head_dim + d));
  }
}

// The code of feature |k| of row |n|: codes of |bits| from a row's lowest bit up.
static float code_at(const mlxcel_operation_t* o, const mlxcel_host_tensor_t* codes, int64_t n, int64_t k) {
  const uint8_t* row = (const uint8_t*)codes->data + n * o->in_features * o->bits / 8;
  uint32_t code = 0;
  for (uint32_t bit = 0; bit < o->bits; ++bit) {
    int64_t at = k * o->bits + bit;
    code |= (uint32_t)(row[at / 8] >> (at % 8) & 1) << bit;
  }
  return (float)code;
}

static float weight_magnitude(const mlxcel_operation_t* o, const mlxcel_host_tensor_t* matrix, int64_t n, int64_t k) {
  if (o->bits == 0) return magnitude_at(&matrix[0], n * o->in_features + k);
  int64_t group = (n * o->in_features + k) / o->group_size;
  return magnitude_at(&matrix[1], group) * code_at(o, &matrix[0], n, k) + magnitude_at(&matrix[2], group);
}

// |gate| * |up| with every product of both projections taken by its magnitude.
static void activation_projection(const mlxcel_operation_t* o, const mlxcel_host_tensor_t* operands, float* out) {
  int64_t tensors = o->bits ? 3 : 1;
  for (int64_t i = 0; i < o->rows * o->out_features; ++i) {
    float sums[2] = {0, 0};
    for (int64_t k = 0; k < o->in_features; ++k) {
      float x = magnitude_at(&operands[0], i / o->out_features * o->in_features + k);
      for (int64_t side = 0; side < 2; ++side) sums[side] += x * weight_magnitude(o, &operands[1 + side * tensors], i % o->out_features, k);
    }
    out[i] = sums[0] * sums[1];
  }
}

iree_status_t mlxcel_term_magnitudes(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, float** out_magnitudes) {
  *out_magnitudes = NULL;
  bool is_elementwise = operation->op == MLXCEL_OP_ACTIVATION || operation->op == MLXCEL_OP_SILU_GATE;
  bool is_known = is_elementwise || operation->op == MLXCEL_OP_CONVOLUTION || operation->op == MLXCEL_OP_ATTENTION;
  if (!is_known && operation->op != MLXCEL_OP_ACTIVATION_PROJECTION) return iree_ok_status();
  mlxcel_operand_t result;
  IREE_RETURN_IF_ERROR(mlxcel_operation_result(operation, &result));
  float* magnitudes = calloc(mlxcel_operand_element_count(&result) + 1, sizeof(*magnitudes));
  if (!magnitudes) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the terms' magnitudes; free some memory");
  if (is_elementwise) elementwise(operation, operands, magnitudes);
  if (operation->op == MLXCEL_OP_CONVOLUTION) convolution(operation, operands, &result, magnitudes);
  if (operation->op == MLXCEL_OP_ATTENTION) attention(operation, operands, magnitudes);
  if (operation->op == MLXCEL_OP_ACTIVATION_PROJECTION) activation_projection(operation, operands, magnitudes);
  *out_magnitudes = magnitudes;
  return iree_ok_status();
}
