// Prefix sums and convolutions.
#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {

mx::array prefix_scan(const request& request) {
  const int axis = request.operation().variant == MLXCEL_VARIANT_STRIDED ? 0 : -1;
  return mx::cumsum(request.operand("x"), axis, false, true, std::nullopt, kCpu);
}

static mx::array convolution_1d(const mlxcel_operation_t& operation, const mx::array& x, const mx::array& w) {
  const mx::array y = mx::conv_general(mx::squeeze(x, 1, kCpu), mx::squeeze(w, 1, kCpu), {size32(operation.stride_w)}, {size32(operation.pad_w_low)},
                                       {size32(operation.pad_w_high)}, {1}, {1}, 1, false, kCpu);
  return mx::expand_dims(y, 1, kCpu);
}

mx::array convolution(const request& request) {
  const mlxcel_operation_t& operation = request.operation();
  const mx::array x = request.operand("x"), w = request.operand("w");
  if (operation.variant == MLXCEL_VARIANT_CONV1D) return convolution_1d(operation, x, w);
  const std::vector<int> stride = {size32(operation.stride_h), size32(operation.stride_w)};
  const std::vector<int> low = {size32(operation.pad_h_low), size32(operation.pad_w_low)};
  const std::vector<int> high = {size32(operation.pad_h_high), size32(operation.pad_w_high)};
  return mx::conv_general(x, w, stride, low, high, {1, 1}, {1, 1}, 1, false, kCpu);
}

}  // namespace mlxcel
