#include "oracle/trace_models.h"

#include <math.h>
#include <string.h>

#include "kernels/reference/reference.h"

#define LANES 16

//===- Numbers ------------------------------------------------------------------------------------------------------------------------------------------===//

float mlxcel_model_at(const mlxcel_model_t* model, size_t operand, uint64_t index) {
  const mlxcel_host_tensor_t* tensor = &model->operands[operand];
  return mlxcel_dtype_widen(tensor->type.dtype, tensor->data, index);
}

float mlxcel_model_round(mlxcel_dtype_t dtype, float value) {
  uint8_t stored[sizeof(float)];
  mlxcel_dtype_store(dtype, stored, 0, value);
  return mlxcel_dtype_widen(dtype, stored, 0);
}

// x * log2 e is cut into a whole number and a fraction, whose power of two is a polynomial.
float mlxcel_model_mlx_exp(float x) {
  static const float coefficients[] = {
      1.535336188319500e-4f, 1.339887440266574e-3f, 9.618437357674640e-3f, 5.550332471162809e-2f, 2.402264791363012e-1f, 6.931472028550421e-1f, 1.0f};
  if (isnan(x)) return x;
  if (x > 88.0f) return INFINITY;
  if (x < -88.0f) return 0.0f;
  float z = x * 1.442695f;
  float whole = (float)floor((double)z + 0.5), fraction = z - whole;
  float p = coefficients[0];
  for (size_t i = 1; i < sizeof(coefficients) / sizeof(coefficients[0]); ++i) p = fmaf(p, fraction, coefficients[i]);
  return whole < -126.0f ? 0.0f : ldexpf(1.0f, (int)whole) * p;
}

float mlxcel_model_exp(const mlxcel_model_t* model, float x) {
  if (model->order == MLXCEL_ORDER_PINNED) return mlxcel_reference_exp(x);
  return model->order == MLXCEL_ORDER_MLX ? mlxcel_model_mlx_exp(x) : expf(x);
}

//===- Sums ---------------------------------------------------------------------------------------------------------------------------------------------===//

static float* sum_lane(const mlxcel_model_t* model, mlxcel_model_sum_t* sum) {
  return &sum->lanes[model->order == MLXCEL_ORDER_PINNED ? sum->count++ % LANES : 0];
}

float mlxcel_model_sum_product(const mlxcel_model_t* model, mlxcel_model_sum_t* sum, float a, float b) {
  float* lane = sum_lane(model, sum);
  *lane = model->order == MLXCEL_ORDER_MLX ? *lane + a * b : fmaf(a, b, *lane);
  return *lane;
}

float mlxcel_model_sum_value(const mlxcel_model_t* model, mlxcel_model_sum_t* sum, float value) {
  float* lane = sum_lane(model, sum);
  *lane = *lane + value;
  return *lane;
}

float mlxcel_model_sum_finish(const mlxcel_model_t* model, mlxcel_model_sum_t* sum, const char* name) {
  for (size_t half = LANES / 2; model->order == MLXCEL_ORDER_PINNED && half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      sum->lanes[i] = sum->lanes[i] + sum->lanes[i + half];
      mlxcel_trace_add(model->trace, sum->lanes[i], "%s tree %zu+%zu", name, i, i + half);
    }
  }
  mlxcel_trace_add(model->trace, sum->lanes[0], "%s", name);
  return sum->lanes[0];
}

//===- Matrices -----------------------------------------------------------------------------------------------------------------------------------------===//

// Weight |k| of the one row that begins at operand |first|. |grid|: the dtype that MLX's two roundings go to.
static float weight_of(const mlxcel_model_t* model, size_t first, uint64_t k, mlxcel_dtype_t grid) {
  const mlxcel_operation_t* operation = model->operation;
  if (operation->bits == 0) return mlxcel_model_at(model, first, k);
  float code = (float)mlxcel_reference_code(model->operands[first].data, (int32_t)operation->bits, k);
  float scale = mlxcel_model_at(model, first + 1, k / operation->group_size), bias = mlxcel_model_at(model, first + 2, k / operation->group_size);
  if (model->order == MLXCEL_ORDER_PINNED) return fmaf(code, scale, bias);
  return mlxcel_model_round(grid, mlxcel_model_round(grid, scale * code) + bias);
}

// The sum over the row's features; |name| begins the labels. Affine weights in MLX's order round after every step.
static float project(const mlxcel_model_t* model, size_t first, const char* name) {
  mlxcel_model_sum_t sum = {0};
  bool rounds = model->order == MLXCEL_ORDER_MLX && model->operation->bits;
  for (uint64_t k = 0; k < (uint64_t)model->operation->in_features; ++k) {
    float x = mlxcel_model_at(model, 0, k), w = weight_of(model, first, k, model->result);
    float value;
    if (model->order == MLXCEL_ORDER_CANONICAL && model->operation->bits) {
      value = mlxcel_model_sum_value(model, &sum, x * w);  // its affine products are kept apart
    } else if (rounds) {
      value = sum.lanes[0] = mlxcel_model_round(model->result, sum.lanes[0] + mlxcel_model_round(model->result, x * w));
    } else {
      value = mlxcel_model_sum_product(model, &sum, x, w);
    }
    mlxcel_trace_add(model->trace, value, "%sk %zu", name, (size_t)k);
  }
  char label[32];
  snprintf(label, sizeof(label), "%ssum", name);
  return mlxcel_model_sum_finish(model, &sum, label);
}

static size_t weight_operand_count(const mlxcel_operation_t* operation) { return operation->bits ? 3 : 1; }

bool mlxcel_model_matmul(const mlxcel_model_t* model, float* out_value) {
  float value = project(model, 1, "");
  if (model->operation->has_bias) {
    // MLX rounds the affine sum before the bias is added on its own; a dense one gets it first.
    value = mlxcel_model_round(model->operation->bits ? model->result : MLXCEL_DTYPE_F32, value);
    value = value + mlxcel_model_at(model, 1 + weight_operand_count(model->operation), 0);
    mlxcel_trace_add(model->trace, value, "bias");
  }
  *out_value = mlxcel_model_round(model->result, value);
  return true;
}

bool mlxcel_model_activation_projection(const mlxcel_model_t* model, float* out_value) {
  if (model->operation->variant != MLXCEL_VARIANT_SILU) return false;
  mlxcel_dtype_t grid = model->result;
  float gate = mlxcel_model_round(grid, project(model, 1, "gate "));
  float up = mlxcel_model_round(grid, project(model, 1 + weight_operand_count(model->operation), "up "));
  float activated;
  if (model->order == MLXCEL_ORDER_PINNED) {
    activated = gate / (1.0f + mlxcel_model_exp(model, -gate));
  } else {
    float low = 1.0f / (1.0f + mlxcel_model_round(grid, mlxcel_model_exp(model, fabsf(gate))));
    float sigmoid = mlxcel_model_round(grid, gate < 0 ? low : 1.0f - low);
    mlxcel_trace_add(model->trace, sigmoid, "sigmoid");
    activated = mlxcel_model_round(grid, gate * sigmoid);
  }
  mlxcel_trace_add(model->trace, activated, "silu");
  *out_value = mlxcel_model_round(grid, activated * up);
  return true;
}

bool mlxcel_model_dequantize(const mlxcel_model_t* model, float* out_value) {
  *out_value = mlxcel_model_round(model->result, weight_of(model, 0, model->index, model->result));
  return true;
}

bool mlxcel_model_residual_add(const mlxcel_model_t* model, float* out_value) {
  mlxcel_trace_add(model->trace, mlxcel_model_at(model, 0, 0), "a");
  mlxcel_trace_add(model->trace, mlxcel_model_at(model, 1, 0), "b");
  *out_value = mlxcel_model_round(model->result, mlxcel_model_at(model, 0, 0) + mlxcel_model_at(model, 1, 0));
  return true;
}

//===- Norms --------------------------------------------------------------------------------------------------------------------------------------------===//

static float sum_of_squares(const mlxcel_model_t* model, float mean) {
  mlxcel_model_sum_t sum = {0};
  for (uint64_t k = 0; k < (uint64_t)model->operation->in_features; ++k) {
    float x = mlxcel_model_at(model, 0, k) - mean;
    bool fuses = model->order == MLXCEL_ORDER_PINNED;  // the canonical form keeps the product apart
    float value = fuses ? mlxcel_model_sum_product(model, &sum, x, x) : mlxcel_model_sum_value(model, &sum, x * x);
    mlxcel_trace_add(model->trace, value, "square %zu", (size_t)k);
  }
  return mlxcel_model_sum_finish(model, &sum, "square sum");
}

// 1 / sqrt(sum / N + eps): the pinned order divides, the others multiply by 1 / N.
static float inverse_deviation(const mlxcel_model_t* model, float sum) {
  float width = (float)model->operation->in_features;
  float mean = model->order == MLXCEL_ORDER_PINNED ? sum / width : sum * (1.0f / width);
  mlxcel_trace_add(model->trace, mean, "mean square");
  float inverse = 1.0f / sqrtf(mean + model->operation->epsilon);
  mlxcel_trace_add(model->trace, inverse, "1/sqrt");
  return inverse;
}

bool mlxcel_model_rms_norm(const mlxcel_model_t* model, float* out_value) {
  const mlxcel_operation_t* operation = model->operation;
  float inverse = inverse_deviation(model, sum_of_squares(model, 0));
  float normed = mlxcel_model_at(model, 0, model->index) * inverse, weight = mlxcel_model_at(model, 1, model->index);
  if (operation->variant == MLXCEL_VARIANT_GEMMA) weight = mlxcel_model_round(operation->weight_dtype, 1.0f + weight);
  if (operation->variant != MLXCEL_VARIANT_SINGLE_ROUNDING) normed = mlxcel_model_round(model->result, normed);
  mlxcel_trace_add(model->trace, normed, "normed");
  *out_value = mlxcel_model_round(model->result, normed * weight);
  return true;
}

bool mlxcel_model_layer_norm(const mlxcel_model_t* model, float* out_value) {
  if (model->order == MLXCEL_ORDER_PINNED) return false;
  mlxcel_model_sum_t sum = {0};
  for (uint64_t k = 0; k < (uint64_t)model->operation->in_features; ++k) {
    mlxcel_trace_add(model->trace, mlxcel_model_sum_value(model, &sum, mlxcel_model_at(model, 0, k)), "k %zu", (size_t)k);
  }
  float mean = mlxcel_model_sum_finish(model, &sum, "sum") * (1.0f / (float)model->operation->in_features);
  mlxcel_trace_add(model->trace, mean, "mean");
  float inverse = inverse_deviation(model, sum_of_squares(model, mean));
  float normed = mlxcel_model_round(model->result, (mlxcel_model_at(model, 0, model->index) - mean) * inverse);
  mlxcel_trace_add(model->trace, normed, "normed");
  float weighted = mlxcel_model_round(model->result, normed * mlxcel_model_at(model, 1, model->index));
  mlxcel_trace_add(model->trace, weighted, "weighted");
  *out_value = mlxcel_model_round(model->result, weighted + mlxcel_model_at(model, 2, model->index));
  return true;
}

//===- Scans and convolutions ---------------------------------------------------------------------------------------------------------------------------===//

bool mlxcel_model_scan(const mlxcel_model_t* model, float* out_value) {
  if (model->order == MLXCEL_ORDER_PINNED) return false;
  float value = mlxcel_model_at(model, 0, 0);
  mlxcel_trace_add(model->trace, value, "k 0");
  for (uint64_t k = 1; k <= model->index; ++k) {
    value = mlxcel_model_round(model->result, value + mlxcel_model_at(model, 0, k));
    mlxcel_trace_add(model->trace, value, "k %zu", (size_t)k);
  }
  *out_value = value;
  return true;
}

bool mlxcel_model_convolution(const mlxcel_model_t* model, float* out_value) {
  if (model->order == MLXCEL_ORDER_PINNED) return false;
  const mlxcel_operation_t* operation = model->operation;
  uint64_t channels = (uint64_t)operation->in_features, taps = (uint64_t)(operation->kernel_h * operation->kernel_w);
  mlxcel_model_sum_t sum = {0};
  for (uint64_t i = 0; i < taps * channels; ++i) {
    float value = mlxcel_model_sum_product(model, &sum, mlxcel_model_at(model, 0, i), mlxcel_model_at(model, 1, i));
    uint64_t tap = i / channels;
    mlxcel_trace_add(model->trace, value, "kh %zu kw %zu c %zu", (size_t)(tap / (uint64_t)operation->kernel_w), (size_t)(tap % (uint64_t)operation->kernel_w),
                     (size_t)(i % channels));
  }
  *out_value = mlxcel_model_round(model->result, mlxcel_model_sum_finish(model, &sum, "sum"));
  return true;
}
