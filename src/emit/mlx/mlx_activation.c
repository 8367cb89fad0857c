// The activations of mlx.nn, operator by operator: every step is an operation of MLX and rounds to the dtype of x.
#include <math.h>

#include "emit/mlx/mlx_calls.h"

static mlxcel_value_t silu(mlxcel_module_builder_t* builder, mlxcel_value_t x) {
  return mlxcel_mlx_binary(builder, MLXCEL_MLX_MULTIPLY, x, mlxcel_mlx_unary(builder, MLXCEL_MLX_SIGMOID, x));
}

// x * (1 + erf(x / sqrt(2))) / 2
static mlxcel_value_t gelu_erf(mlxcel_module_builder_t* builder, mlxcel_value_t x) {
  mlxcel_value_t y = mlxcel_mlx_scalar(builder, MLXCEL_MLX_DIVIDE, x, sqrt(2.0));
  y = mlxcel_mlx_scalar(builder, MLXCEL_MLX_ADD, mlxcel_mlx_unary(builder, MLXCEL_MLX_ERF, y), 1.0);
  y = mlxcel_mlx_binary(builder, MLXCEL_MLX_MULTIPLY, x, y);
  return mlxcel_mlx_scalar(builder, MLXCEL_MLX_DIVIDE, y, 2.0);
}

// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))); the power and tanh are the host's.
static mlxcel_value_t gelu_tanh(mlxcel_module_builder_t* builder, mlxcel_value_t x) {
  mlxcel_value_t half = mlxcel_mlx_scalar(builder, MLXCEL_MLX_MULTIPLY, x, 0.5);
  mlxcel_value_t y = mlxcel_mlx_scalar(builder, MLXCEL_MLX_MULTIPLY, mlxcel_mlx_host(builder, MLXCEL_HOST_POWER, x, 3.0), 0.044715);
  y = mlxcel_mlx_binary(builder, MLXCEL_MLX_ADD, x, y);
  y = mlxcel_mlx_scalar(builder, MLXCEL_MLX_MULTIPLY, y, sqrt(2.0 / M_PI));
  y = mlxcel_mlx_scalar(builder, MLXCEL_MLX_ADD, mlxcel_mlx_host(builder, MLXCEL_HOST_TANH, y, 0.0), 1.0);
  return mlxcel_mlx_binary(builder, MLXCEL_MLX_MULTIPLY, half, y);
}

// x * sigmoid(1.702 * x)
static mlxcel_value_t gelu_sigmoid(mlxcel_module_builder_t* builder, mlxcel_value_t x) {
  mlxcel_value_t y = mlxcel_mlx_unary(builder, MLXCEL_MLX_SIGMOID, mlxcel_mlx_scalar(builder, MLXCEL_MLX_MULTIPLY, x, 1.702));
  return mlxcel_mlx_binary(builder, MLXCEL_MLX_MULTIPLY, x, y);
}

static mlxcel_value_t activation(mlxcel_module_builder_t* builder, mlxcel_op_variant_t variant, mlxcel_value_t x) {
  switch (variant) {
    case MLXCEL_VARIANT_GELU_ERF:
      return gelu_erf(builder, x);
    case MLXCEL_VARIANT_GELU_TANH:
      return gelu_tanh(builder, x);
    case MLXCEL_VARIANT_GELU_SIGMOID:
      return gelu_sigmoid(builder, x);
    default:
      return silu(builder, x);
  }
}

mlxcel_value_t mlxcel_mlx_emit_activation(mlxcel_module_builder_t* builder, mlxcel_op_variant_t variant, mlxcel_value_t x) {
  mlxcel_operation_t operation = mlxcel_row_operation(MLXCEL_OP_ACTIVATION, variant, mlxcel_element_dtype(x.element), x.dims[0], x.dims[1]);
  mlxcel_emit_clause(builder, &operation);
  return activation(builder, variant, x);
}

mlxcel_value_t mlxcel_mlx_emit_gate(mlxcel_module_builder_t* builder, mlxcel_op_variant_t variant, mlxcel_value_t gate, mlxcel_value_t up) {
  mlxcel_operation_t operation = mlxcel_row_operation(MLXCEL_OP_SILU_GATE, variant, mlxcel_element_dtype(gate.element), gate.dims[0], gate.dims[1]);
  mlxcel_emit_clause(builder, &operation);
  return mlxcel_mlx_binary(builder, MLXCEL_MLX_MULTIPLY, activation(builder, variant, gate), up);
}
