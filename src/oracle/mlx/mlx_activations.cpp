// mlx.nn's activations. They are compiled there, without fixed shapes; so they are here (MLX_DISABLE_COMPILE turns that off).
#include <cmath>
#include <functional>
#include <numbers>

#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {

using arrays = std::vector<mx::array>;
using compiled = std::function<arrays(const arrays&)>;

static mx::array silu(const mx::array& x) { return mx::multiply(x, mx::sigmoid(x, kCpu), kCpu); }

// x * (1 + erf(x / sqrt(2))) / 2
static mx::array gelu(const mx::array& x) {
  const mx::array ratio = mx::divide(x, scalar(std::sqrt(2.0), x.dtype()), kCpu);
  const mx::array sum = mx::add(scalar(1, x.dtype()), mx::erf(ratio, kCpu), kCpu);
  return mx::divide(mx::multiply(x, sum, kCpu), scalar(2, x.dtype()), kCpu);
}

// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
static mx::array gelu_approx(const mx::array& x) {
  const auto number = [&](double value) { return scalar(value, x.dtype()); };
  const mx::array cube = mx::multiply(number(0.044715), mx::power(x, number(3), kCpu), kCpu);
  const mx::array inner = mx::multiply(number(std::sqrt(2.0 / std::numbers::pi)), mx::add(x, cube, kCpu), kCpu);
  return mx::multiply(mx::multiply(number(0.5), x, kCpu), mx::add(number(1), mx::tanh(inner, kCpu), kCpu), kCpu);
}

// x * sigmoid(1.702 * x)
static mx::array gelu_fast_approx(const mx::array& x) { return mx::multiply(x, mx::sigmoid(mx::multiply(scalar(1.702, x.dtype()), x, kCpu), kCpu), kCpu); }

static arrays silu_graph(const arrays& inputs) { return {silu(inputs[0])}; }
static arrays gelu_graph(const arrays& inputs) { return {gelu(inputs[0])}; }
static arrays gelu_approx_graph(const arrays& inputs) { return {gelu_approx(inputs[0])}; }
static arrays gelu_fast_approx_graph(const arrays& inputs) { return {gelu_fast_approx(inputs[0])}; }
static arrays swiglu_graph(const arrays& inputs) { return {mx::multiply(silu(inputs[0]), inputs[1], kCpu)}; }

static mx::array activate(mlxcel_op_variant_t variant, const mx::array& x) {
  static const compiled silu_compiled = mx::compile(silu_graph, true), gelu_compiled = mx::compile(gelu_graph, true);
  static const compiled approx_compiled = mx::compile(gelu_approx_graph, true), fast_compiled = mx::compile(gelu_fast_approx_graph, true);
  switch (variant) {
    case MLXCEL_VARIANT_SILU:
      return silu_compiled({x})[0];
    case MLXCEL_VARIANT_GELU_ERF:
      return gelu_compiled({x})[0];
    case MLXCEL_VARIANT_GELU_TANH:
      return approx_compiled({x})[0];
    case MLXCEL_VARIANT_GELU_SIGMOID:
      return fast_compiled({x})[0];
    default:
      throw failure(IREE_STATUS_UNIMPLEMENTED, "MLX has no such activation");
  }
}

// mlx-lm fuses SiLU's product (swiglu); models with another activation multiply outside of it.
static mx::array gate(mlxcel_op_variant_t variant, const mx::array& gate_rows, const mx::array& up_rows) {
  static const compiled swiglu_compiled = mx::compile(swiglu_graph, true);
  if (variant == MLXCEL_VARIANT_SILU) return swiglu_compiled({gate_rows, up_rows})[0];
  return mx::multiply(activate(variant, gate_rows), up_rows, kCpu);
}

mx::array residual_add(const request& request) { return mx::add(request.operand("a"), request.operand("b"), kCpu); }

mx::array activation(const request& request) { return activate(request.operation().variant, request.operand("x")); }

mx::array silu_gate(const request& request) { return gate(request.operation().variant, request.operand("gate"), request.operand("up")); }

mx::array activation_projection(const request& request) {
  const mx::array x = request.operand("x");
  return gate(request.operation().variant, projection(request, x, "gate_"), projection(request, x, "up_"));
}

}  // namespace mlxcel
