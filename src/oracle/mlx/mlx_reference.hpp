// mlx_reference.hpp: the parts of mlxcel-mlx-reference. Every function below calls MLX's own operations on its CPU device, in the order in which MLX's Python
// layers and the models of mlx-lm and mlx-vlm call them; no arithmetic happens on this side. Failures are exceptions: `failure` with a status code, or MLX's
// own.
#ifndef MLXCEL_ORACLE_MLX_MLX_REFERENCE_HPP_
#define MLXCEL_ORACLE_MLX_MLX_REFERENCE_HPP_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "iree/base/api.h"  // before the headers below: it has templates
#include "mlx/mlx.h"
extern "C" {
#include "oracle/reference_protocol.h"
}

namespace mlxcel {

namespace mx = mlx::core;

inline constexpr mx::Device::DeviceType kCpu = mx::Device::cpu;

class failure : public std::runtime_error {
 public:
  failure(iree_status_code_t code, const std::string& message) : std::runtime_error(message), code_(code) {}
  iree_status_code_t code() const { return code_; }

 private:
  iree_status_code_t code_;
};

// One decoded request; the operands' bytes outlive it.
class request {
 public:
  explicit request(const mlxcel_reference_request_t& decoded) : decoded_(decoded) {}
  const mlxcel_operation_t& operation() const { return decoded_.operation; }
  bool has(const char* name) const;
  mx::array operand(const char* name) const;              // of the operand's own dtype and shape
  mx::array codes(const char* name) const;                // packed codes as MLX keeps them: uint32[out, words]
  std::vector<int32_t> integers(const char* name) const;  // of an i32 operand

 private:
  const mlxcel_reference_tensor_t& find(const char* name) const;
  const mlxcel_reference_request_t& decoded_;
};

// --- mlx_arrays.cpp ---
mx::Dtype dtype_of(mlxcel_dtype_t dtype);
mlxcel_dtype_t dtype_from(mx::Dtype dtype);
// A Python number beside an array of |dtype|: it takes that dtype, by way of f32.
mx::array scalar(double value, mx::Dtype dtype);
int size32(int64_t size);
// Consecutive positions, as one call of a model sees them.
struct run {
  int first, count, position;
};
std::vector<run> runs_of(const std::vector<int32_t>& positions);

// --- one file a concept ---
mx::array embedding(const request& request);
mx::array dequantize(const request& request);
mx::array dense_matmul(const request& request);
mx::array quantized_matmul(const request& request);
// x times a matrix of the request, dense or affine: |prefix| is "", "gate_" or "up_".
mx::array projection(const request& request, const mx::array& x, const std::string& prefix);

mx::array layer_norm(const request& request);
mx::array rms_norm(const request& request);
mx::array cumulative_norm(const request& request);

mx::array residual_add(const request& request);
mx::array activation(const request& request);
mx::array silu_gate(const request& request);
mx::array activation_projection(const request& request);

mx::array softmax(const request& request);
mx::array attention(const request& request);
mx::array kv_store(const request& request);
// Cache |name| of the request with |rows| [rows, kv_heads * head_dim] at the request's positions: [1, 1, kv_heads, keys, head_dim].
mx::array cache_with(const request& request, const char* name, const mx::array& rows);

mx::array rope(const request& request);
mx::array qkv_rope(const request& request);

mx::array prefix_scan(const request& request);
mx::array convolution(const request& request);

// --- mlx_operations.cpp: the operation of |request|, evaluated, contiguous, of the type that contract/operation.h gives it. ---
mx::array compute(const request& request, mlxcel_operand_t* out_type);

// --- mlx_identity.cpp ---
mlxcel_reference_identity_t identity();

}  // namespace mlxcel

#endif  // MLXCEL_ORACLE_MLX_MLX_REFERENCE_HPP_
