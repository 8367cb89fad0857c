// Rotary embedding by tables from outside: R(R(x1 c) - R(x2 s)), R(R(x1 s) + R(x2 c)), cos and sin rounded to the activations' dtype first.
#include "emit/canonical/canonical_common.h"

// The rows' lines of a table: f32 [rows, half]. A position outside is clamped: an element outside would be read from foreign memory.
static mlxcel_value_t table_rows(mlxcel_module_builder_t* builder, mlxcel_value_t table, mlxcel_value_t positions) {
  const int64_t dims[] = {positions.dims[0], table.dims[1]};
  mlxcel_loop_t loop = {.iterators = "pp"};
  mlxcel_loop_input(&loop, positions, "0");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, MLXCEL_ELEMENT_F32, 2, dims), "01");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t row = mlxcel_body_binary(builder, "arith.maxsi", loop.in[0], mlxcel_body_i32(builder, 0));
  row = mlxcel_body_binary(builder, "arith.minsi", row, mlxcel_body_i32(builder, (int32_t)table.dims[0] - 1));
  row = mlxcel_body_cast(builder, "arith.index_cast", row, MLXCEL_ELEMENT_INDEX);
  uint32_t column = builder->next_id++;
  mlxcel_module_text(builder, "%%%" PRIu32 " = linalg.index 1 : index", column);
  mlxcel_value_t element = {.id = builder->next_id++, .element = MLXCEL_ELEMENT_F32, .is_scalar = true};
  mlxcel_module_text(builder, "%%%" PRIu32 " = tensor.extract %%%" PRIu32 "[%%%" PRIu32 ", %%%" PRIu32 "] : %s", element.id, table.id, row.id, column,
                     mlxcel_value_type(table).text);
  return mlxcel_loop_end(builder, &loop, &element);
}

// Both rotated halves of T [rows, heads, half].
static void rotate(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t first, mlxcel_value_t second, mlxcel_value_t cos, mlxcel_value_t sin,
                   mlxcel_value_t out_halves[2]) {
  mlxcel_loop_t loop = {.iterators = "ppp"};
  mlxcel_loop_input(&loop, first, "012");
  mlxcel_loop_input(&loop, second, "012");
  mlxcel_loop_input(&loop, cos, "02");
  mlxcel_loop_input(&loop, sin, "02");
  for (int i = 0; i < 2; ++i) mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, first.element, 3, first.dims), "012");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t x1 = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t x2 = mlxcel_body_widen(builder, loop.in[1]);
  mlxcel_value_t c = mlxcel_body_round(builder, dtype, loop.in[2]);
  mlxcel_value_t s = mlxcel_body_round(builder, dtype, loop.in[3]);
  mlxcel_value_t x1c = mlxcel_canonical_multiplied(builder, dtype, x1, c);
  mlxcel_value_t x2s = mlxcel_canonical_multiplied(builder, dtype, x2, s);
  mlxcel_value_t x1s = mlxcel_canonical_multiplied(builder, dtype, x1, s);
  mlxcel_value_t x2c = mlxcel_canonical_multiplied(builder, dtype, x2, c);
  mlxcel_value_t results[2];
  results[0] = mlxcel_body_narrow(builder, dtype, mlxcel_body_binary(builder, "arith.subf", x1c, x2s));
  results[1] = mlxcel_body_narrow(builder, dtype, mlxcel_body_binary(builder, "arith.addf", x1s, x2c));
  mlxcel_loop_end(builder, &loop, results);
  out_halves[0] = loop.outputs[0];
  out_halves[1] = loop.outputs[1];
}

// T [rows, heads, half] as [rows, heads, half, 1].
static mlxcel_value_t as_column(mlxcel_module_builder_t* builder, mlxcel_value_t value) {
  const int64_t dims[] = {value.dims[0], value.dims[1], value.dims[2], 1};
  return mlxcel_hlo_reshape(builder, value, 4, dims);
}

// Element |parity| of every pair of neighbours of T [rows, heads, 2 half]: [rows, heads, half].
static mlxcel_value_t every_second(mlxcel_module_builder_t* builder, mlxcel_value_t value, int64_t parity) {
  const int64_t pairs[] = {value.dims[0], value.dims[1], value.dims[2] / 2, 2}, dims[] = {value.dims[0], value.dims[1], value.dims[2] / 2};
  mlxcel_value_t side = mlxcel_hlo_slice(builder, mlxcel_hlo_reshape(builder, value, 4, pairs), 3, parity, parity + 1);
  return mlxcel_hlo_reshape(builder, side, 3, dims);
}

mlxcel_value_t mlxcel_canonical_rope(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_emit_clause(builder, operation);
  int64_t half = operation->rope_dims / 2;
  bool is_interleaved = operation->variant == MLXCEL_VARIANT_INTERLEAVED;
  const int64_t head_dims[] = {operation->rows, operation->heads, operation->head_dim}, dims[] = {operation->rows, operation->heads * operation->head_dim};
  const int64_t rotated_dims[] = {operation->rows, operation->heads, operation->rope_dims};
  mlxcel_value_t x = mlxcel_hlo_reshape(builder, operands[0], 3, head_dims);
  mlxcel_value_t rotated = mlxcel_hlo_slice(builder, x, 2, 0, operation->rope_dims);
  mlxcel_value_t cos = table_rows(builder, operands[2], operands[1]);
  mlxcel_value_t sin = table_rows(builder, operands[3], operands[1]);
  mlxcel_value_t first = is_interleaved ? every_second(builder, rotated, 0) : mlxcel_hlo_slice(builder, rotated, 2, 0, half);
  mlxcel_value_t second = is_interleaved ? every_second(builder, rotated, 1) : mlxcel_hlo_slice(builder, rotated, 2, half, 2 * half);
  mlxcel_value_t halves[2];
  rotate(builder, operation->dtype, first, second, cos, sin, halves);
  if (is_interleaved) {
    for (int i = 0; i < 2; ++i) halves[i] = as_column(builder, halves[i]);
  }
  mlxcel_value_t parts[2] = {mlxcel_hlo_concatenate(builder, 2, halves, is_interleaved ? 3 : 2)};
  if (is_interleaved) parts[0] = mlxcel_hlo_reshape(builder, parts[0], 3, rotated_dims);
  if (operation->rope_dims < operation->head_dim) {
    parts[1] = mlxcel_hlo_slice(builder, x, 2, operation->rope_dims, operation->head_dim);
    parts[0] = mlxcel_hlo_concatenate(builder, 2, parts, 2);
  }
  return mlxcel_hlo_reshape(builder, parts[0], 2, dims);
}
