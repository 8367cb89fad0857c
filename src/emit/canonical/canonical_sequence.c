// Prefix sums and convolutions.
#include "emit/canonical/canonical_common.h"

// The elements of |value| as f32.
static mlxcel_value_t widened(mlxcel_module_builder_t* builder, mlxcel_value_t value) { return mlxcel_hlo_convert(builder, value, MLXCEL_ELEMENT_F32); }

// y[0] = x[0], y[i] = R(y[i - 1] + x[i]): the scan runs over f32 and rounds every sum itself.
mlxcel_value_t mlxcel_canonical_prefix_scan(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_emit_clause(builder, operation);
  mlxcel_scan_t scan;
  mlxcel_scan_begin(builder, widened(builder, operands[0]), operation->variant == MLXCEL_VARIANT_STRIDED ? 0 : 1, &scan);
  mlxcel_value_t sum = mlxcel_canonical_added(builder, operation->dtype, scan.previous, scan.element);
  return mlxcel_hlo_convert(builder, mlxcel_scan_end(builder, &scan, sum), mlxcel_element_of(operation->dtype));
}

// The sum over kernel rows, kernel columns and channels, channels fastest, is one chain of fused multiply-adds in f32; a place outside contributes 0 * w.
mlxcel_value_t mlxcel_canonical_convolution(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_operand_t type;
  iree_status_t status = mlxcel_operation_result(operation, &type);
  if (!iree_status_is_ok(status)) {
    mlxcel_module_fail(builder, status);
    return operands[0];
  }
  mlxcel_emit_clause(builder, operation);
  mlxcel_dtype_t dtype = type.dtype;
  mlxcel_value_t x = mlxcel_hlo_convert(builder, operands[0], mlxcel_element_of(mlxcel_dtype_promote(operation->dtype, operation->weight_dtype)));
  mlxcel_value_t w = mlxcel_hlo_convert(builder, operands[1], x.element);
  return mlxcel_canonical_narrowed(builder, mlxcel_hlo_convolution(builder, operation, x, w, type.dims), dtype);
}
