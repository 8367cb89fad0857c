// Requests' bytes as MLX arrays.
#include <cstdlib>
#include <cstring>
#include <limits>

#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {

mx::Dtype dtype_of(mlxcel_dtype_t dtype) {
  switch (dtype) {
    case MLXCEL_DTYPE_F32:
      return mx::float32;
    case MLXCEL_DTYPE_F16:
      return mx::float16;
    case MLXCEL_DTYPE_BF16:
      return mx::bfloat16;
    case MLXCEL_DTYPE_I32:
      return mx::int32;
    case MLXCEL_DTYPE_U8:
      return mx::uint8;
    default:
      throw failure(IREE_STATUS_INVALID_ARGUMENT, "a dtype that this build doesn't know");
  }
}

mlxcel_dtype_t dtype_from(mx::Dtype dtype) {
  for (int i = 0; i < MLXCEL_DTYPE_COUNT; ++i) {
    const auto candidate = static_cast<mlxcel_dtype_t>(i);
    if (dtype_of(candidate) == dtype) return candidate;
  }
  throw failure(IREE_STATUS_UNIMPLEMENTED, "MLX's result has a dtype that no operation has");
}

mx::array scalar(double value, mx::Dtype dtype) { return mx::array(static_cast<float>(value), dtype); }

int size32(int64_t size) {
  if (size < 0 || size > std::numeric_limits<int32_t>::max()) throw failure(IREE_STATUS_INVALID_ARGUMENT, "a size is beyond MLX's 32-bit shapes");
  return static_cast<int>(size);
}

std::vector<run> runs_of(const std::vector<int32_t>& positions) {
  std::vector<run> runs;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (!runs.empty() && runs.back().position + runs.back().count == positions[i]) {
      ++runs.back().count;
    } else {
      runs.push_back({static_cast<int>(i), 1, positions[i]});
    }
  }
  return runs;
}

// An aligned copy of the payload's bytes.
static mx::array array_of(const mlxcel_reference_tensor_t& tensor, const mx::Shape& shape, mx::Dtype dtype) {
  void* copy = std::malloc(tensor.size);
  if (!copy) throw failure(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for an operand");
  std::memcpy(copy, tensor.data, tensor.size);
  return mx::array(copy, shape, dtype, [](void* data) { std::free(data); });
}

const mlxcel_reference_tensor_t& request::find(const char* name) const {
  for (size_t i = 0; i < decoded_.operand_count; ++i) {
    if (std::strcmp(decoded_.operands[i].type.name, name) == 0) return decoded_.operands[i];
  }
  throw failure(IREE_STATUS_INTERNAL, std::string("the operation has no operand ") + name + "; build the reference and the oracle from one tree");
}

bool request::has(const char* name) const {
  for (size_t i = 0; i < decoded_.operand_count; ++i) {
    if (std::strcmp(decoded_.operands[i].type.name, name) == 0) return true;
  }
  return false;
}

mx::array request::operand(const char* name) const {
  const mlxcel_reference_tensor_t& tensor = find(name);
  mx::Shape shape;
  for (uint32_t i = 0; i < tensor.type.rank; ++i) shape.push_back(size32(tensor.type.dims[i]));
  return array_of(tensor, shape, dtype_of(tensor.type.dtype));
}

mx::array request::codes(const char* name) const {
  const mlxcel_reference_tensor_t& tensor = find(name);
  const int64_t bytes = tensor.type.dims[1];
  if (bytes % 4 != 0) throw failure(IREE_STATUS_UNIMPLEMENTED, "MLX keeps codes in 32-bit words and a row has " + std::to_string(bytes) + " bytes");
  return array_of(tensor, {size32(tensor.type.dims[0]), size32(bytes / 4)}, mx::uint32);
}

std::vector<int32_t> request::integers(const char* name) const {
  const mlxcel_reference_tensor_t& tensor = find(name);
  std::vector<int32_t> values(tensor.size / sizeof(int32_t));
  std::memcpy(values.data(), tensor.data, values.size() * sizeof(int32_t));
  return values;
}

}  // namespace mlxcel
