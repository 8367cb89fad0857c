// mlx_elementwise.h: element by element: one rounding to the dtype an operation, but for those that MLX composes of several.
#ifndef MLXCEL_KERNELS_MLX_MLX_ELEMENTWISE_H_
#define MLXCEL_KERNELS_MLX_MLX_ELEMENTWISE_H_

#include "kernels/mlx/mlx_elementary.h"

typedef struct elementwise_t {
  const uint8_t *a, *b;
  uint8_t* out;
  uint32_t b_divide, b_modulo;
  int out_type;
  bool use_scalar;
  float scalar;  // rounded to the dtype
} elementwise_t;

// The value to be rounded to |type|.
MLXCEL_INLINE float elementwise_value(int operation, float a, float b, int type) {
  switch (operation) {
    case MLXCEL_MLX_ADD:
      return a + b;
    case MLXCEL_MLX_SUBTRACT:
      return a - b;
    case MLXCEL_MLX_MULTIPLY:
      return a * b;
    case MLXCEL_MLX_DIVIDE:
      return a / b;
    case MLXCEL_MLX_MAXIMUM:
      return a != a || a > b ? a : b;
    case MLXCEL_MLX_SIGMOID:
      return mlx_sigmoid(a, type);
    case MLXCEL_MLX_EXP:
      return mlx_exp(a);
    case MLXCEL_MLX_ERF:
      return mlx_erf(a, type);
    case MLXCEL_MLX_SQRT:
      return f32_sqrt(a);
    case MLXCEL_MLX_RSQRT:
      return 1.0f / round_to(f32_sqrt(a), type);
    case MLXCEL_MLX_SQUARE:
      return a * a;
    default:
      return a;
  }
}

MLXCEL_INLINE bool operation_is_binary(int operation) { return operation <= MLXCEL_MLX_MAXIMUM; }

MLXCEL_INLINE void elementwise_range(const elementwise_t* e, int operation, int type, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) {
    float a = load_typed(e->a, i, type), b = e->scalar;
    if (operation_is_binary(operation) && !e->use_scalar) b = load_typed(e->b, i / e->b_divide % e->b_modulo, type);
    store_typed(e->out, i, operation == MLXCEL_MLX_CONVERT ? e->out_type : type, elementwise_value(operation, a, b, type));
  }
}

static void elementwise_run(const elementwise_t* e, int operation, int type, uint32_t begin, uint32_t end) {
#define ELEMENTWISE_CASE(op)                                                                  \
  case op:                                                                                    \
    if (type == MLXCEL_FORMAT_F32) elementwise_range(e, op, MLXCEL_FORMAT_F32, begin, end);   \
    if (type == MLXCEL_FORMAT_F16) elementwise_range(e, op, MLXCEL_FORMAT_F16, begin, end);   \
    if (type == MLXCEL_FORMAT_BF16) elementwise_range(e, op, MLXCEL_FORMAT_BF16, begin, end); \
    break;
  switch (operation) {
    ELEMENTWISE_CASE(MLXCEL_MLX_ADD)
    ELEMENTWISE_CASE(MLXCEL_MLX_SUBTRACT)
    ELEMENTWISE_CASE(MLXCEL_MLX_MULTIPLY)
    ELEMENTWISE_CASE(MLXCEL_MLX_DIVIDE)
    ELEMENTWISE_CASE(MLXCEL_MLX_MAXIMUM)
    ELEMENTWISE_CASE(MLXCEL_MLX_SIGMOID)
    ELEMENTWISE_CASE(MLXCEL_MLX_EXP)
    ELEMENTWISE_CASE(MLXCEL_MLX_ERF)
    ELEMENTWISE_CASE(MLXCEL_MLX_SQRT)
    ELEMENTWISE_CASE(MLXCEL_MLX_RSQRT)
    ELEMENTWISE_CASE(MLXCEL_MLX_SQUARE)
    ELEMENTWISE_CASE(MLXCEL_MLX_CONVERT)
    default:
      break;
  }
#undef ELEMENTWISE_CASE
}

#endif  // MLXCEL_KERNELS_MLX_MLX_ELEMENTWISE_H_
