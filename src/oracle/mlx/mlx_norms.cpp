// nn.LayerNorm, nn.RMSNorm, Gemma's, and the two that mlx-vlm's Gemma3n writes out.
#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {

mx::array layer_norm(const request& request) {
  return mx::fast::layer_norm(request.operand("x"), request.operand("weight"), request.operand("bias"), request.operation().epsilon, kCpu);
}

// Gemma3nRMSNorm: everything in f32, the scale shift of 0 included, one rounding.
static mx::array single_rounding_norm(const mx::array& input, const mx::array& weight, float epsilon) {
  const mx::array x = mx::astype(input, mx::float32, kCpu);
  const mx::array mean = mx::mean(mx::square(x, kCpu), -1, true, kCpu);
  const mx::array normed = mx::multiply(x, mx::rsqrt(mx::add(mean, scalar(epsilon, mx::float32), kCpu), kCpu), kCpu);
  const mx::array scaled = mx::multiply(normed, mx::add(weight, scalar(0.0, weight.dtype()), kCpu), kCpu);
  return mx::astype(scaled, input.dtype(), kCpu);
}

mx::array rms_norm(const request& request) {
  const mlxcel_operation_t& operation = request.operation();
  const mx::array x = request.operand("x"), weight = request.operand("weight");
  if (operation.variant == MLXCEL_VARIANT_SINGLE_ROUNDING) return single_rounding_norm(x, weight, operation.epsilon);
  if (operation.variant == MLXCEL_VARIANT_GEMMA) {
    return mx::fast::rms_norm(x, mx::add(scalar(1.0, weight.dtype()), weight, kCpu), operation.epsilon, kCpu);
  }
  return mx::fast::rms_norm(x, weight, operation.epsilon, kCpu);
}

// Gemma3nCumulativeGroupNorm without a mask: it then multiplies by ones, and counts them.
mx::array cumulative_norm(const request& request) {
  const mx::array input = mx::expand_dims(request.operand("x"), 0, kCpu);
  const mx::array x = mx::astype(input, mx::float32, kCpu);
  const mx::array mask = mx::astype(mx::ones_like(x, kCpu), mx::float32, kCpu);
  const std::vector<int> axes = {2, 3};
  const auto running_sum = [&](const mx::array& values) { return mx::cumsum(mx::sum(values, axes, true, kCpu), 1, false, true, std::nullopt, kCpu); };
  const mx::array sums = running_sum(mx::multiply(x, mask, kCpu));
  const mx::array counts = mx::clip(running_sum(mask), scalar(1.0, mx::float32), std::nullopt, kCpu);
  const mx::array mean = mx::divide(sums, counts, kCpu);
  const mx::array centered = mx::subtract(x, mean, kCpu);
  const mx::array squares = mx::power(centered, scalar(2.0, mx::float32), kCpu);
  const mx::array variance = mx::divide(running_sum(mx::multiply(squares, mask, kCpu)), counts, kCpu);
  const mx::array inverse = mx::rsqrt(mx::add(variance, scalar(request.operation().epsilon, mx::float32), kCpu), kCpu);
  mx::array normed = mx::multiply(mx::subtract(x, mean, kCpu), inverse, kCpu);
  const mx::array weight = mx::astype(request.operand("weight"), mx::float32, kCpu);
  normed = mx::multiply(normed, mx::reshape(weight, {1, 1, 1, static_cast<int>(weight.size())}, kCpu), kCpu);
  return mx::squeeze(mx::astype(mx::multiply(normed, mask, kCpu), input.dtype(), kCpu), 0, kCpu);
}

}  // namespace mlxcel
