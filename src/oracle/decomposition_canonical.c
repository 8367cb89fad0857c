#include "oracle/decomposition_canonical.h"

#include <string.h>
#include <xmmintrin.h>

#define FLUSH_BOTH 0x8040u  // flush results to zero, read subnormals as zero: what IREE's workers run with

// One FMA instruction, whatever the build's own instruction set is.
__attribute__((target("fma"))) static float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

static float at(const mlxcel_host_tensor_t* tensor, uint64_t index) { return mlxcel_dtype_widen(tensor->type.dtype, tensor->data, index); }

// One chain of fused multiply-adds an output, in order of the features; the bias behind it; one rounding.
static void dense_matmul(const mlxcel_operation_t* operation, const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  uint64_t width = (uint64_t)operation->in_features, outputs = (uint64_t)operation->out_features;
  for (uint64_t i = 0; i < (uint64_t)operation->rows * outputs; ++i) {
    uint64_t row = i / outputs, output = i % outputs;
    float sum = 0;
    for (uint64_t k = 0; k < width; ++k) sum = fused(at(&operands[0], row * width + k), at(&operands[1], output * width + k), sum);
    if (operation->has_bias) sum = sum + at(&operands[2], output);
    mlxcel_dtype_store(result->type.dtype, result->data, i, sum);
  }
}

static void residual_add(const mlxcel_host_tensor_t* operands, mlxcel_host_tensor_t* result) {
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&result->type); ++i) {
    mlxcel_dtype_store(result->type.dtype, result->data, i, at(&operands[0], i) + at(&operands[1], i));
  }
}

iree_status_t mlxcel_canonical_evaluate(const mlxcel_operation_t* operation, size_t operand_count, const mlxcel_host_tensor_t* operands,
                                        mlxcel_host_tensor_t* result) {
  (void)operand_count;
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | FLUSH_BOTH);
  bool known = true;
  if (operation->op == MLXCEL_OP_DENSE_MATMUL) {
    dense_matmul(operation, operands, result);
  } else if (operation->op == MLXCEL_OP_RESIDUAL_ADD) {
    residual_add(operands, result);
  } else {
    known = false;
  }
  _mm_setcsr(saved);
  if (known) return iree_ok_status();
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "the clause of %s leaves part of its order or of its functions to the compiler",
                          mlxcel_op_class_name(operation->op));
}
