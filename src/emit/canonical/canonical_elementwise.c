// Additions and activations, element by element. Constants are rounded to the activations' dtype first, as MLX does with a Python scalar.
#include "emit/canonical/canonical_common.h"

// |value| rounded to |dtype|.
static mlxcel_value_t constant_of(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, float value) {
  uint8_t stored[sizeof(float)];
  mlxcel_dtype_store(dtype, stored, 0, value);
  return mlxcel_body_f32(builder, mlxcel_dtype_widen(dtype, stored, 0));
}

// 1 / (1 + exp(-x)) from the side that can't overflow: e = R(exp|x|), y = 1 / (1 + e); x < 0 ? y : 1 - y.
static mlxcel_value_t sigmoid_of(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t x) {
  mlxcel_value_t magnitude = mlxcel_body_unary(builder, "math.absf", x);
  mlxcel_value_t power = mlxcel_body_round(builder, dtype, mlxcel_body_unary(builder, "math.exp", magnitude));
  mlxcel_value_t one = mlxcel_body_f32(builder, 1.0f);
  mlxcel_value_t low = mlxcel_canonical_reciprocal(builder, mlxcel_body_binary(builder, "arith.addf", one, power));
  mlxcel_value_t high = mlxcel_body_binary(builder, "arith.subf", one, low);
  mlxcel_value_t zero = mlxcel_body_f32(builder, 0.0f);
  return mlxcel_body_round(builder, dtype, mlxcel_body_select(builder, "arith.cmpf olt", x, zero, low, high));
}

// R(R(x * R(1 + R(erf(R(x / sqrt 2))))) / 2)
static mlxcel_value_t gelu_erf_of(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t x) {
  mlxcel_value_t root = constant_of(builder, dtype, 1.41421356237309504880f);
  mlxcel_value_t argument = mlxcel_body_round(builder, dtype, mlxcel_body_binary(builder, "arith.divf", x, root));
  mlxcel_value_t erf = mlxcel_body_round(builder, dtype, mlxcel_body_unary(builder, "math.erf", argument));
  mlxcel_value_t sum = mlxcel_canonical_added(builder, dtype, mlxcel_body_f32(builder, 1.0f), erf);
  mlxcel_value_t product = mlxcel_canonical_multiplied(builder, dtype, x, sum);
  return mlxcel_body_round(builder, dtype, mlxcel_body_binary(builder, "arith.divf", product, mlxcel_body_f32(builder, 2.0f)));
}

// R(R(0.5 x) * R(1 + R(tanh(R(c * R(x + R(0.044715 * R(x^3))))))))), c = sqrt(2 / pi); the cube is (x * x) * x in f32, rounded once.
static mlxcel_value_t gelu_tanh_of(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t x) {
  mlxcel_value_t square = mlxcel_body_product(builder, x, x);
  mlxcel_value_t cube = mlxcel_canonical_multiplied(builder, dtype, square, x);
  mlxcel_value_t bent = mlxcel_canonical_multiplied(builder, dtype, constant_of(builder, dtype, 0.044715f), cube);
  mlxcel_value_t sum = mlxcel_canonical_added(builder, dtype, x, bent);
  mlxcel_value_t argument = mlxcel_canonical_multiplied(builder, dtype, constant_of(builder, dtype, 0.79788456080286535588f), sum);
  mlxcel_value_t tanh = mlxcel_body_round(builder, dtype, mlxcel_body_unary(builder, "math.tanh", argument));
  mlxcel_value_t gate = mlxcel_canonical_added(builder, dtype, mlxcel_body_f32(builder, 1.0f), tanh);
  mlxcel_value_t half = mlxcel_canonical_multiplied(builder, dtype, mlxcel_body_f32(builder, 0.5f), x);
  return mlxcel_canonical_multiplied(builder, dtype, half, gate);
}

mlxcel_value_t mlxcel_canonical_activated(mlxcel_module_builder_t* builder, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype, mlxcel_value_t x) {
  mlxcel_value_t argument = x;
  switch (variant) {
    case MLXCEL_VARIANT_GELU_ERF:
      return gelu_erf_of(builder, dtype, x);
    case MLXCEL_VARIANT_GELU_TANH:
      return gelu_tanh_of(builder, dtype, x);
    case MLXCEL_VARIANT_GELU_SIGMOID:
      argument = mlxcel_canonical_multiplied(builder, dtype, constant_of(builder, dtype, 1.702f), x);
      break;
    default:
      break;
  }
  return mlxcel_canonical_multiplied(builder, dtype, x, sigmoid_of(builder, dtype, argument));
}

typedef mlxcel_value_t (*body_t)(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* elements);

// One loop over the rows: the body gets the operands' elements in f32 and returns a value on the grid of the operation's dtype.
static mlxcel_value_t elementwise(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, uint32_t count, const mlxcel_value_t* operands,
                                  body_t body) {
  mlxcel_emit_clause(builder, operation);
  mlxcel_loop_t loop = {.iterators = "pp"};
  for (uint32_t i = 0; i < count; ++i) mlxcel_loop_input(&loop, operands[i], "01");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, mlxcel_element_of(operation->dtype), 2, operands[0].dims), "01");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t elements[2];
  for (uint32_t i = 0; i < count; ++i) elements[i] = mlxcel_body_widen(builder, loop.in[i]);
  mlxcel_value_t result = body(builder, operation, elements);
  if (operation->dtype != MLXCEL_DTYPE_F32) result = mlxcel_body_cast(builder, "arith.truncf", result, mlxcel_element_of(operation->dtype));
  return mlxcel_loop_end(builder, &loop, &result);
}

static mlxcel_value_t residual_body(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* elements) {
  return mlxcel_canonical_added(builder, operation->dtype, elements[0], elements[1]);
}

static mlxcel_value_t activation_body(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* elements) {
  return mlxcel_canonical_activated(builder, operation->variant, operation->dtype, elements[0]);
}

static mlxcel_value_t gate_body(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* elements) {
  mlxcel_value_t gate = mlxcel_canonical_activated(builder, operation->variant, operation->dtype, elements[0]);
  return mlxcel_canonical_multiplied(builder, operation->dtype, gate, elements[1]);
}

mlxcel_value_t mlxcel_canonical_residual_add(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  return elementwise(builder, operation, 2, operands, residual_body);
}

mlxcel_value_t mlxcel_canonical_activation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  return elementwise(builder, operation, 1, operands, activation_body);
}

mlxcel_value_t mlxcel_canonical_silu_gate(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  return elementwise(builder, operation, 2, operands, gate_body);
}
