// Matrices: affine weights made dense, and products with dense and affine ones. Every sum over the input features is one f32 accumulator, in order of the
// features, rounded once at the end; a dense product is a dot_general, whose steps are fused multiply-adds.
#include "emit/canonical/canonical_common.h"

#define CODE_BITS_OF_A_BYTE 8

// How an affine matrix lies in bytes: [out, groups, bytes of a group], codes of a byte from its low bits up.
typedef struct affine_layout_t {
  int64_t out, groups, bytes, codes;  // codes in a byte
  uint32_t bits;
} affine_layout_t;

// Widths that don't divide a byte would need codes put together from two bytes.
static bool affine_layout_of(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, affine_layout_t* out_layout) {
  uint32_t bits = operation->bits;
  *out_layout = (affine_layout_t){.bits = bits};
  if (bits != 2 && bits != 4 && bits != 8) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                                                 "profile " MLXCEL_PROFILE_IREE_CANONICAL " defines affine weights of 2, 4 and 8 bits,"
                                                 " not of %" PRIu32 "; use profile " MLXCEL_PROFILE_PINNED_F32 " or " MLXCEL_PROFILE_MLX_CPU,
                                                 bits));
    return false;
  }
  out_layout->out = operation->out_features;
  out_layout->groups = operation->in_features / operation->group_size;
  out_layout->codes = CODE_BITS_OF_A_BYTE / bits;
  out_layout->bytes = operation->group_size / out_layout->codes;
  return true;
}

// In a body: the code of loop 3's position in |byte|. The widening is unsigned whatever the tensor's element type says.
static mlxcel_value_t code_of(mlxcel_module_builder_t* builder, const affine_layout_t* layout, mlxcel_value_t byte) {
  mlxcel_value_t code = mlxcel_body_cast(builder, "arith.extui", byte, MLXCEL_ELEMENT_I32);
  if (layout->bits < CODE_BITS_OF_A_BYTE) {
    mlxcel_value_t position = mlxcel_body_index(builder, 3);
    mlxcel_value_t shift = mlxcel_body_binary(builder, "arith.muli", position, mlxcel_body_i32(builder, (int32_t)layout->bits));
    code = mlxcel_body_binary(builder, "arith.shrui", code, shift);
    code = mlxcel_body_binary(builder, "arith.andi", code, mlxcel_body_i32(builder, (1 << layout->bits) - 1));
  }
  return mlxcel_body_cast(builder, "arith.uitofp", code, MLXCEL_ELEMENT_F32);
}

// w = R(R(scale * code) + bias) on the grid of |grid|, as elements of |element|: [out, groups, bytes, codes].
static mlxcel_value_t weights_of(mlxcel_module_builder_t* builder, const affine_layout_t* layout, mlxcel_dtype_t grid, mlxcel_element_t element,
                                 const mlxcel_value_t* matrix) {
  const int64_t byte_dims[] = {layout->out, layout->groups, layout->bytes}, dims[] = {layout->out, layout->groups, layout->bytes, layout->codes};
  mlxcel_value_t bytes = mlxcel_hlo_reshape(builder, matrix[0], 3, byte_dims);
  mlxcel_loop_t loop = {.iterators = "pppp"};
  mlxcel_loop_input(&loop, bytes, "012");
  mlxcel_loop_input(&loop, matrix[1], "01");
  mlxcel_loop_input(&loop, matrix[2], "01");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, element, 4, dims), "0123");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t scale = mlxcel_body_widen(builder, loop.in[1]);
  mlxcel_value_t bias = mlxcel_body_widen(builder, loop.in[2]);
  mlxcel_value_t code = code_of(builder, layout, loop.in[0]);
  mlxcel_value_t scaled = mlxcel_canonical_multiplied(builder, grid, scale, code);
  mlxcel_value_t weight = mlxcel_canonical_added(builder, grid, scaled, bias);
  if (element != MLXCEL_ELEMENT_F32) weight = mlxcel_body_cast(builder, "arith.truncf", weight, element);
  return mlxcel_loop_end(builder, &loop, &weight);
}

mlxcel_value_t mlxcel_canonical_dequantize(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  affine_layout_t layout;
  if (!affine_layout_of(builder, operation, &layout)) return operands[0];
  mlxcel_emit_clause(builder, operation);
  const int64_t dims[] = {operation->out_features, operation->in_features};
  mlxcel_value_t weights = weights_of(builder, &layout, operation->weight_dtype, mlxcel_element_of(operation->weight_dtype), operands);
  return mlxcel_hlo_reshape(builder, weights, 2, dims);
}

// value + bias, rounded to |dtype|.
static mlxcel_value_t bias_added(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t value, mlxcel_value_t bias) {
  mlxcel_loop_t loop = {.iterators = "pp"};
  mlxcel_loop_input(&loop, value, "01");
  mlxcel_loop_input(&loop, bias, "1");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, mlxcel_element_of(dtype), 2, value.dims), "01");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t left = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t right = mlxcel_body_widen(builder, loop.in[1]);
  mlxcel_value_t sum = mlxcel_body_narrow(builder, dtype, mlxcel_body_binary(builder, "arith.addf", left, right));
  return mlxcel_loop_end(builder, &loop, &sum);
}

// A dot_general of one output alone is the one shape whose steps aren't fused: it is spelled out.
static mlxcel_value_t single_output(mlxcel_module_builder_t* builder, mlxcel_value_t x, mlxcel_value_t w) {
  const int64_t dims[] = {1, 1};
  mlxcel_value_t zero = mlxcel_body_f32(builder, 0.0f);
  mlxcel_loop_t loop = {.iterators = "ppr"};
  mlxcel_loop_input(&loop, x, "02");
  mlxcel_loop_input(&loop, w, "12");
  mlxcel_loop_output(&loop, mlxcel_hlo_filled(builder, zero, 2, dims), "01");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t left = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t right = mlxcel_body_widen(builder, loop.in[1]);
  mlxcel_value_t sum = mlxcel_body_fma(builder, left, right, loop.out[0]);
  return mlxcel_loop_end(builder, &loop, &sum);
}

mlxcel_value_t mlxcel_canonical_dense_matmul(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_emit_clause(builder, operation);
  mlxcel_dtype_t dtype = mlxcel_dtype_promote(operation->dtype, operation->weight_dtype);
  mlxcel_element_t element = mlxcel_element_of(dtype);
  mlxcel_value_t x = mlxcel_hlo_convert(builder, operands[0], element), w = operands[1];
  w = mlxcel_hlo_convert(builder, w, element);
  bool is_single = operation->rows == 1 && operation->out_features == 1;
  mlxcel_value_t sum = is_single ? single_output(builder, x, w) : mlxcel_hlo_dot_general(builder, x, w, 0, 1, 1);
  if (operation->has_bias) return bias_added(builder, dtype, sum, operands[2]);
  return mlxcel_canonical_narrowed(builder, sum, dtype);
}

// The contraction over groups, bytes and codes: [rows, out] in f32.
static mlxcel_value_t contracted(mlxcel_module_builder_t* builder, const affine_layout_t* layout, mlxcel_value_t x, mlxcel_value_t weights) {
  const int64_t x_dims[] = {x.dims[0], layout->groups, layout->bytes, layout->codes}, dims[] = {x.dims[0], layout->out};
  x = mlxcel_hlo_reshape(builder, x, 4, x_dims);
  mlxcel_value_t zero = mlxcel_body_f32(builder, 0.0f);
  mlxcel_loop_t loop = {.iterators = "pprrr"};
  mlxcel_loop_input(&loop, x, "0234");
  mlxcel_loop_input(&loop, weights, "1234");
  mlxcel_loop_output(&loop, mlxcel_hlo_filled(builder, zero, 2, dims), "01");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t element = mlxcel_body_widen(builder, loop.in[0]);
  // The product is kept apart. Written as a plain multiplication it would be fused into the sum for many rows (there the loop becomes a matrix product) and not
  // for one row (there it is vectorized together with the dequantization): a row's bits would depend on the batch.
  mlxcel_value_t product = mlxcel_body_product(builder, element, loop.in[1]);
  mlxcel_value_t sum = mlxcel_body_binary(builder, "arith.addf", loop.out[0], product);
  return mlxcel_loop_end(builder, &loop, &sum);
}

mlxcel_value_t mlxcel_canonical_quantized_matmul(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  affine_layout_t layout;
  if (!affine_layout_of(builder, operation, &layout)) return operands[0];
  mlxcel_emit_clause(builder, operation);
  mlxcel_dtype_t dtype = mlxcel_dtype_promote(operation->dtype, operation->weight_dtype);
  mlxcel_value_t weights = weights_of(builder, &layout, dtype, MLXCEL_ELEMENT_F32, operands + 1);
  mlxcel_value_t product = mlxcel_canonical_narrowed(builder, contracted(builder, &layout, operands[0], weights), dtype);
  return operation->has_bias ? bias_added(builder, dtype, product, operands[4]) : product;
}

// act(x Wg^T) * (x Wu^T): two products and a gate, each with its own clause and roundings.
mlxcel_value_t mlxcel_canonical_activation_projection(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_operation_t product = *operation;
  product.op = operation->bits ? MLXCEL_OP_QUANTIZED_MATMUL : MLXCEL_OP_DENSE_MATMUL;
  product.variant = MLXCEL_VARIANT_NONE;
  uint32_t matrix_operands = operation->bits ? 3 : 1;
  mlxcel_value_t sides[2];
  for (uint32_t side = 0; side < 2; ++side) {
    mlxcel_value_t parts[4] = {operands[0]};
    for (uint32_t i = 0; i < matrix_operands; ++i) parts[1 + i] = operands[1 + side * matrix_operands + i];
    sides[side] = mlxcel_canonical_emit_operation(builder, &product, parts);
  }
  mlxcel_operation_t gate = {.op = MLXCEL_OP_SILU_GATE,
                             .variant = operation->variant,
                             .dtype = mlxcel_dtype_promote(operation->dtype, operation->weight_dtype),
                             .rows = operation->rows,
                             .in_features = operation->out_features};
  gate.weight_dtype = gate.bias_dtype = gate.dtype;
  return mlxcel_canonical_silu_gate(builder, &gate, sides);
}
