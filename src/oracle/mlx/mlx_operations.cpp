// Classes of contract/operation.h to functions, and what must hold for every result.
#include <cstring>
#include <iterator>

#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {

using function = mx::array (*)(const request&);

static function function_of(mlxcel_op_class_t op) {
  static constexpr struct {
    mlxcel_op_class_t op;
    function compute;
  } table[] = {
      {MLXCEL_OP_EMBEDDING, embedding},
      {MLXCEL_OP_DEQUANTIZE, dequantize},
      {MLXCEL_OP_DENSE_MATMUL, dense_matmul},
      {MLXCEL_OP_QUANTIZED_MATMUL, quantized_matmul},
      {MLXCEL_OP_LAYER_NORM, layer_norm},
      {MLXCEL_OP_RMS_NORM, rms_norm},
      {MLXCEL_OP_RESIDUAL_ADD, residual_add},
      {MLXCEL_OP_ACTIVATION, activation},
      {MLXCEL_OP_SILU_GATE, silu_gate},
      {MLXCEL_OP_SOFTMAX, softmax},
      {MLXCEL_OP_ATTENTION, attention},
      {MLXCEL_OP_ROPE, rope},
      {MLXCEL_OP_KV_STORE, kv_store},
      {MLXCEL_OP_PREFIX_SCAN, prefix_scan},
      {MLXCEL_OP_CUMULATIVE_NORM, cumulative_norm},
      {MLXCEL_OP_CONVOLUTION, convolution},
      {MLXCEL_OP_ACTIVATION_PROJECTION, activation_projection},
      {MLXCEL_OP_QKV_ROPE, qkv_rope},
  };
  static_assert(std::size(table) == MLXCEL_OP_COUNT, "one function a class");
  for (const auto& entry : table) {
    if (entry.op == op) return entry.compute;
  }
  throw failure(IREE_STATUS_UNIMPLEMENTED, "MLX has no such operation");
}

// The largest thing that MLX makes on the way: operands are bounded by the payload, these aren't. As doubles, which can't overflow here.
static double working_bytes(const mlxcel_operation_t& operation, const mlxcel_operand_t& result) {
  const double result_bytes = 4.0 * static_cast<double>(mlxcel_operand_element_count(&result));
  if (operation.op == MLXCEL_OP_ATTENTION) {
    return result_bytes + 4.0 * static_cast<double>(operation.heads) * static_cast<double>(operation.rows) * static_cast<double>(operation.keys);  // scores
  }
  if (operation.op == MLXCEL_OP_CONVOLUTION) {  // every output position's window, and the padded input
    const double window = static_cast<double>(operation.kernel_h * operation.kernel_w) * static_cast<double>(operation.in_features);
    const double height = static_cast<double>(operation.in_h + operation.pad_h_low + operation.pad_h_high);
    const double width = static_cast<double>(operation.in_w + operation.pad_w_low + operation.pad_w_high);
    const double padded = 4.0 * static_cast<double>(operation.batch) * height * width * static_cast<double>(operation.in_features);
    return result_bytes + result_bytes / static_cast<double>(operation.out_features) * window + padded;
  }
  return result_bytes;
}

static void check_working_size(const mlxcel_operation_t& operation, const mlxcel_operand_t& result) {
  if (working_bytes(operation, result) <= static_cast<double>(MLXCEL_REFERENCE_PAYLOAD_BYTES_MAX)) return;
  throw failure(IREE_STATUS_RESOURCE_EXHAUSTED, std::string(mlxcel_op_class_name(operation.op)) + " of this size needs too much memory; use a smaller shape");
}

static void check_type(const mx::array& array, const mlxcel_operand_t& type) {
  if (dtype_from(array.dtype()) != type.dtype) {
    throw failure(IREE_STATUS_UNIMPLEMENTED, std::string("MLX gives ") + mlxcel_dtype_name(dtype_from(array.dtype())) +
                                                 " for these dtypes where the operation is " + mlxcel_dtype_name(type.dtype));
  }
  bool same = array.ndim() == type.rank;
  for (uint32_t i = 0; same && i < type.rank; ++i) same = array.shape(static_cast<int>(i)) == type.dims[i];
  if (!same) throw failure(IREE_STATUS_INTERNAL, "MLX's result has another shape than the operation");
}

mx::array compute(const request& request, mlxcel_operand_t* out_type) {
  const mlxcel_operation_t& operation = request.operation();
  iree_status_t status = mlxcel_operation_result(&operation, out_type);
  if (!iree_status_is_ok(status)) {
    const iree_status_code_t code = iree_status_code(status);
    iree_status_ignore(status);
    throw failure(code, "the operation has no result type");
  }
  check_working_size(operation, *out_type);
  mx::array result = function_of(operation.op)(request);
  check_type(result, *out_type);
  result = mx::contiguous(result, false, kCpu);
  result.eval();
  return result;
}

}  // namespace mlxcel
