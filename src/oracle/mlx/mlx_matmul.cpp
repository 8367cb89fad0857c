// Matrices, dense and affine: nn.Embedding, nn.QuantizedEmbedding, nn.Linear, nn.QuantizedLinear.
#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {

static mx::array transposed(const mx::array& w) { return mx::transpose(w, kCpu); }

// MLX finds this out only while it computes.
static void check_group_size(const mlxcel_operation_t& operation) {
  if (operation.group_size == 32 || operation.group_size == 64 || operation.group_size == 128) return;
  throw failure(IREE_STATUS_UNIMPLEMENTED, "MLX quantizes in groups of 32, 64 or 128, not " + std::to_string(operation.group_size));
}

mx::array dequantize(const request& request) {
  const mlxcel_operation_t& operation = request.operation();
  check_group_size(operation);
  return mx::dequantize(request.codes("codes"), request.operand("scales"), request.operand("biases"), static_cast<int>(operation.group_size),
                        static_cast<int>(operation.bits), "affine", std::nullopt, std::nullopt, kCpu);
}

// MLX's gather doesn't check its indices.
static void check_tokens(const request& request) {
  for (int32_t token : request.integers("tokens")) {
    if (token < 0 || token >= request.operation().out_features) {
      throw failure(IREE_STATUS_INVALID_ARGUMENT, "token " + std::to_string(token) + " isn't in the table");
    }
  }
}

mx::array embedding(const request& request) {
  const mlxcel_operation_t& operation = request.operation();
  check_tokens(request);
  const mx::array tokens = request.operand("tokens");
  if (operation.bits == 0) return mx::take(request.operand("table"), tokens, 0, kCpu);
  check_group_size(operation);
  return mx::dequantize(mx::take(request.codes("codes"), tokens, 0, kCpu), mx::take(request.operand("scales"), tokens, 0, kCpu),
                        mx::take(request.operand("biases"), tokens, 0, kCpu), static_cast<int>(operation.group_size), static_cast<int>(operation.bits),
                        "affine", std::nullopt, std::nullopt, kCpu);
}

static mx::array quantized_product(const request& request, const mx::array& x, const std::string& prefix) {
  const mlxcel_operation_t& operation = request.operation();
  check_group_size(operation);
  return mx::quantized_matmul(x, request.codes((prefix + "codes").c_str()), request.operand((prefix + "scales").c_str()),
                              request.operand((prefix + "biases").c_str()), true, static_cast<int>(operation.group_size), static_cast<int>(operation.bits),
                              "affine", kCpu);
}

mx::array projection(const request& request, const mx::array& x, const std::string& prefix) {
  if (request.operation().bits != 0) return quantized_product(request, x, prefix);
  return mx::matmul(x, transposed(request.operand((prefix + "w").c_str())), kCpu);
}

mx::array dense_matmul(const request& request) {
  const mx::array x = request.operand("x");
  if (!request.operation().has_bias) return projection(request, x, "");
  return mx::addmm(request.operand("bias"), x, transposed(request.operand("w")), 1.0f, 1.0f, kCpu);
}

mx::array quantized_matmul(const request& request) {
  const mx::array y = quantized_product(request, request.operand("x"), "");
  return request.operation().has_bias ? mx::add(y, request.operand("bias"), kCpu) : y;
}

}  // namespace mlxcel
