// trace_models.h: shared by the models of trace.h only.
#ifndef MLXCEL_ORACLE_TRACE_MODELS_H_
#define MLXCEL_ORACLE_TRACE_MODELS_H_

#include "oracle/trace.h"

// What a model works on.
typedef struct mlxcel_model_t {
  mlxcel_order_t order;
  const mlxcel_operation_t* operation;
  const mlxcel_host_tensor_t* operands;
  uint64_t index;
  mlxcel_dtype_t result;  // dtype of the result
  mlxcel_trace_t* trace;
} mlxcel_model_t;

float mlxcel_model_at(const mlxcel_model_t* model, size_t operand, uint64_t index);
// |value| rounded to |dtype|.
float mlxcel_model_round(mlxcel_dtype_t dtype, float value);
// exp of the model's order; for iree-canonical that of the C library, which its polynomial only approximates.
float mlxcel_model_exp(const mlxcel_model_t* model, float x);
float mlxcel_model_mlx_exp(float x);

// A running sum in the model's order: one accumulator, or the pinned kernels' 16 lanes.
typedef struct mlxcel_model_sum_t {
  float lanes[16];
  uint64_t count;
} mlxcel_model_sum_t;
// + a * b: unfused in MLX's order, fused in the others. Returns the accumulator that it went to.
float mlxcel_model_sum_product(const mlxcel_model_t* model, mlxcel_model_sum_t* sum, float a, float b);
float mlxcel_model_sum_value(const mlxcel_model_t* model, mlxcel_model_sum_t* sum, float value);
// The total; lanes are added up as a tree, step by step in the trace under |name|.
float mlxcel_model_sum_finish(const mlxcel_model_t* model, mlxcel_model_sum_t* sum, const char* name);

// One class each; the value of the output before it is stored (already on the grid of its dtype). false: no model in this order.
bool mlxcel_model_matmul(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_activation_projection(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_rms_norm(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_layer_norm(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_softmax(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_attention(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_scan(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_convolution(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_residual_add(const mlxcel_model_t* model, float* out_value);
bool mlxcel_model_dequantize(const mlxcel_model_t* model, float* out_value);

#endif  // MLXCEL_ORACLE_TRACE_MODELS_H_
