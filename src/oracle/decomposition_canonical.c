#include "oracle/decomposition_canonical.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "kernels/reference/reference.h"

#define FLUSH_BOTH 0x8040u  // flush results to zero, read subnormals as zero: what IREE's workers run with

// One FMA instruction, whatever the build's own instruction set is: a library's substitute needn't obey the flags.
__attribute__((target("fma"))) static float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

static float at(const mlxcel_host_tensor_t* tensor, uint64_t index) { return mlxcel_dtype_widen(tensor->type.dtype, tensor->data, index); }

static float rounded(mlxcel_dtype_t dtype, float value) {
  uint8_t stored[sizeof(float)];
  mlxcel_dtype_store(dtype, stored, 0, value);
  return mlxcel_dtype_widen(dtype, stored, 0);
}

static void put(mlxcel_host_tensor_t* result, uint64_t index, float value) { mlxcel_dtype_store(result->type.dtype, result->data, index, value); }

//===- Matrices -----------------------------------------------------------------------------------------------------------------------------------------===//

// One chain of fused multiply-adds an output, in order of the features; the bias behind it; one rounding.
static iree_status_t dense_matmul(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  uint64_t width = (uint64_t)operation->in_features, outputs = (uint64_t)operation->out_features;
  for (uint64_t i = 0; i < (uint64_t)operation->rows * outputs; ++i) {
    uint64_t row = i / outputs, output = i % outputs;
    float sum = 0;
    for (uint64_t k = 0; k < width; ++k) sum = fused(at(&operands[0], row * width + k), at(&operands[1], output * width + k), sum);
    if (operation->has_bias) sum = sum + at(&operands[2], output);
    put(result, i, sum);
  }
  return iree_ok_status();
}

// Two roundings to |grid|. |matrix|: codes, scales, biases.
static float affine_weight(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* matrix, mlxcel_dtype_t grid, uint64_t row, uint64_t k) {
  uint64_t width = (uint64_t)operation->in_features, group = row * (width / operation->group_size) + k / operation->group_size;
  const uint8_t* codes = (const uint8_t*)matrix[0].data + row * (width * operation->bits / 8);
  float code = (float)mlxcel_reference_code(codes, (int32_t)operation->bits, k);
  return rounded(grid, rounded(grid, at(&matrix[1], group) * code) + at(&matrix[2], group));
}

static iree_status_t dequantize(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  uint64_t width = (uint64_t)operation->in_features;
  for (uint64_t i = 0; i < (uint64_t)operation->out_features * width; ++i) {
    put(result, i, affine_weight(operation, operands, result->type.dtype, i / width, i % width));
  }
  return iree_ok_status();
}

// The weights of one output are made once and used by every row.
static iree_status_t quantized_matmul(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  uint64_t width = (uint64_t)operation->in_features, outputs = (uint64_t)operation->out_features;
  float* weights = calloc(width, sizeof(*weights));
  if (!weights) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a row of weights; free memory and try again");
  for (uint64_t output = 0; output < outputs; ++output) {
    for (uint64_t k = 0; k < width; ++k) weights[k] = affine_weight(operation, operands + 1, result->type.dtype, output, k);
    for (uint64_t row = 0; row < (uint64_t)operation->rows; ++row) {
      float sum = 0;
      for (uint64_t k = 0; k < width; ++k) sum = sum + at(&operands[0], row * width + k) * weights[k];
      sum = rounded(result->type.dtype, sum);
      put(result, row * outputs + output, operation->has_bias ? sum + at(&operands[4], output) : sum);
    }
  }
  free(weights);
  return iree_ok_status();
}

//===- Norms --------------------------------------------------------------------------------------------------------------------------------------------===//

static float inverse_deviation(float variance, float epsilon) { return 1.0f / sqrtf(variance + epsilon); }

// Of |count| elements from |first| on: their sum, or that of the squares of their distances from |mean|, product and sum apart.
static float sum_of(const mlxcel_host_tensor_t* x, uint64_t first, uint64_t count) {
  float sum = 0;
  for (uint64_t k = 0; k < count; ++k) sum = sum + at(x, first + k);
  return sum;
}
static float square_sum_of(const mlxcel_host_tensor_t* x, uint64_t first, uint64_t count, const float* mean) {
  float sum = 0;
  for (uint64_t k = 0; k < count; ++k) {
    float value = mean ? at(x, first + k) - *mean : at(x, first + k);
    sum = sum + value * value;
  }
  return sum;
}

static iree_status_t rms_norm(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  uint64_t width = (uint64_t)operation->in_features;
  mlxcel_dtype_t grid = result->type.dtype;
  for (uint64_t row = 0; row < (uint64_t)operation->rows; ++row) {
    float inverse = inverse_deviation(square_sum_of(&operands[0], row * width, width, NULL) * (1.0f / (float)width), operation->epsilon);
    for (uint64_t k = 0; k < width; ++k) {
      float normed = at(&operands[0], row * width + k) * inverse, weight = at(&operands[1], k);
      if (operation->variant != MLXCEL_VARIANT_SINGLE_ROUNDING) normed = rounded(grid, normed);
      if (operation->variant == MLXCEL_VARIANT_GEMMA) weight = rounded(operation->weight_dtype, 1.0f + weight);
      put(result, row * width + k, normed * weight);
    }
  }
  return iree_ok_status();
}

static iree_status_t layer_norm(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  uint64_t width = (uint64_t)operation->in_features;
  mlxcel_dtype_t grid = result->type.dtype;
  float share = 1.0f / (float)width;
  for (uint64_t row = 0; row < (uint64_t)operation->rows; ++row) {
    float mean = sum_of(&operands[0], row * width, width) * share;
    float inverse = inverse_deviation(square_sum_of(&operands[0], row * width, width, &mean) * share, operation->epsilon);
    for (uint64_t k = 0; k < width; ++k) {
      float normed = rounded(grid, (at(&operands[0], row * width + k) - mean) * inverse);
      put(result, row * width + k, rounded(grid, normed * at(&operands[1], k)) + at(&operands[2], k));
    }
  }
  return iree_ok_status();
}

// Statistics over everything up to a time step: sums of the steps, their running sums, divided by running counts.
static iree_status_t cumulative_norm(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  uint64_t channels = (uint64_t)operation->out_features, width = (uint64_t)operation->in_features * channels;
  float sums = 0, square_sums = 0;
  for (uint64_t time = 0; time < (uint64_t)operation->rows; ++time) {
    float count = (float)((time + 1) * width), step = sum_of(&operands[0], time * width, width);
    sums = time ? sums + step : step;
    float mean = sums / count, squares = square_sum_of(&operands[0], time * width, width, &mean);
    square_sums = time ? square_sums + squares : squares;
    float inverse = inverse_deviation(square_sums / count, operation->epsilon);
    for (uint64_t k = 0; k < width; ++k) put(result, time * width + k, (at(&operands[0], time * width + k) - mean) * inverse * at(&operands[1], k % channels));
  }
  return iree_ok_status();
}

//===- The rest -----------------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t residual_add(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  (void)operation;
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&result->type); ++i) put(result, i, at(&operands[0], i) + at(&operands[1], i));
  return iree_ok_status();
}

static iree_status_t prefix_scan(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  uint64_t width = (uint64_t)operation->in_features;
  bool is_strided = operation->variant == MLXCEL_VARIANT_STRIDED;
  for (uint64_t i = 0; i < (uint64_t)operation->rows * width; ++i) {
    bool is_first = is_strided ? i < width : i % width == 0;
    float value = at(&operands[0], i);
    put(result, i, is_first ? value : at(result, i - (is_strided ? width : 1)) + value);
  }
  return iree_ok_status();
}

// x, positions, cos, sin: cosine and sine, both products and their sum are rounded.
static iree_status_t rope(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  mlxcel_dtype_t grid = result->type.dtype;
  uint64_t half = (uint64_t)operation->rope_dims / 2, dim = (uint64_t)operation->head_dim;
  bool is_interleaved = operation->variant == MLXCEL_VARIANT_INTERLEAVED;
  memcpy(result->data, operands[0].data, result->size);
  for (uint64_t head = 0; head < (uint64_t)(operation->rows * operation->heads); ++head) {
    uint64_t position = (uint64_t)((const int32_t*)operands[1].data)[head / (uint64_t)operation->heads];
    for (uint64_t i = 0; i < half; ++i) {
      uint64_t first = head * dim + (is_interleaved ? 2 * i : i), second = first + (is_interleaved ? 1 : half);
      float c = rounded(grid, at(&operands[2], position * half + i)), s = rounded(grid, at(&operands[3], position * half + i));
      float x1 = at(&operands[0], first), x2 = at(&operands[0], second);
      put(result, first, rounded(grid, x1 * c) - rounded(grid, x2 * s));
      put(result, second, rounded(grid, x1 * s) + rounded(grid, x2 * c));
    }
  }
  return iree_ok_status();
}

//===- Dispatch -----------------------------------------------------------------------------------------------------------------------------------------===//

typedef iree_status_t (*evaluate_fn_t)(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result);
static const evaluate_fn_t evaluators[MLXCEL_OP_COUNT] = {
    [MLXCEL_OP_DEQUANTIZE] = dequantize,
    [MLXCEL_OP_DENSE_MATMUL] = dense_matmul,
    [MLXCEL_OP_QUANTIZED_MATMUL] = quantized_matmul,
    [MLXCEL_OP_LAYER_NORM] = layer_norm,
    [MLXCEL_OP_RMS_NORM] = rms_norm,
    [MLXCEL_OP_RESIDUAL_ADD] = residual_add,
    [MLXCEL_OP_ROPE] = rope,
    [MLXCEL_OP_PREFIX_SCAN] = prefix_scan,
    [MLXCEL_OP_CUMULATIVE_NORM] = cumulative_norm,
};

iree_status_t mlxcel_canonical_evaluate(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  if (!evaluators[operation->op]) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                            "the clauses of %s leave something to the compiler: functions that are stated by their accuracy only, or an order of sums",
                            mlxcel_op_class_name(operation->op));
  }
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | FLUSH_BOTH);
  iree_status_t status = evaluators[operation->op](operation, operands, result);
  _mm_setcsr(saved);
  return status;
}
