// Norms. Sums are f32, sequential, each term rounded before it is added; means multiply by the rounded reciprocal of the count, as MLX does.
#include "emit/canonical/canonical_common.h"

// f32 zeros for sums over rows.
static mlxcel_value_t row_zeros(mlxcel_module_builder_t* builder, int64_t rows) {
  mlxcel_value_t zero = mlxcel_body_f32(builder, 0.0f);
  return mlxcel_hlo_filled(builder, zero, 1, &rows);
}

static mlxcel_value_t row_empty(mlxcel_module_builder_t* builder, int64_t rows) { return mlxcel_hlo_empty(builder, MLXCEL_ELEMENT_F32, 1, &rows); }

// In a body: sum * (1 / count).
static mlxcel_value_t mean_of(mlxcel_module_builder_t* builder, mlxcel_value_t sum, int64_t count) {
  return mlxcel_body_product(builder, sum, mlxcel_body_f32(builder, 1.0f / (float)count));
}

// In a body: 1 / sqrt(mean + epsilon).
static mlxcel_value_t inverse_deviation(mlxcel_module_builder_t* builder, mlxcel_value_t mean, float epsilon) {
  mlxcel_value_t shifted = mlxcel_body_binary(builder, "arith.addf", mean, mlxcel_body_f32(builder, epsilon));
  return mlxcel_canonical_reciprocal_root(builder, shifted);
}

// Per row: sum of x, f32 [rows].
static mlxcel_value_t sums_of(mlxcel_module_builder_t* builder, mlxcel_value_t x) {
  mlxcel_loop_t loop = {.iterators = "pr"};
  mlxcel_loop_input(&loop, x, "01");
  mlxcel_loop_output(&loop, row_zeros(builder, x.dims[0]), "0");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t element = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t sum = mlxcel_body_binary(builder, "arith.addf", loop.out[0], element);
  return mlxcel_loop_end(builder, &loop, &sum);
}

// Per row: sum of (x - center)^2; without |center|, of x^2.
static mlxcel_value_t square_sums_of(mlxcel_module_builder_t* builder, mlxcel_value_t x, const mlxcel_value_t* center) {
  mlxcel_loop_t loop = {.iterators = "pr"};
  mlxcel_loop_input(&loop, x, "01");
  if (center) mlxcel_loop_input(&loop, *center, "0");
  mlxcel_loop_output(&loop, row_zeros(builder, x.dims[0]), "0");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t element = mlxcel_body_widen(builder, loop.in[0]);
  if (center) element = mlxcel_body_binary(builder, "arith.subf", element, loop.in[1]);
  mlxcel_value_t square = mlxcel_body_product(builder, element, element);
  mlxcel_value_t sum = mlxcel_body_binary(builder, "arith.addf", loop.out[0], square);
  return mlxcel_loop_end(builder, &loop, &sum);
}

// Per row: sum * (1 / count), or 1 / sqrt of that plus epsilon.
static mlxcel_value_t row_statistic(mlxcel_module_builder_t* builder, mlxcel_value_t sums, int64_t count, const float* epsilon) {
  mlxcel_loop_t loop = {.iterators = "p"};
  mlxcel_loop_input(&loop, sums, "0");
  mlxcel_loop_output(&loop, row_empty(builder, sums.dims[0]), "0");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t value = mean_of(builder, loop.in[0], count);
  if (epsilon) value = inverse_deviation(builder, value, *epsilon);
  return mlxcel_loop_end(builder, &loop, &value);
}

mlxcel_value_t mlxcel_canonical_layer_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_emit_clause(builder, operation);
  mlxcel_dtype_t dtype = mlxcel_dtype_promote(operation->dtype, operation->weight_dtype);
  mlxcel_value_t x = operands[0];
  mlxcel_value_t means = row_statistic(builder, sums_of(builder, x), operation->in_features, NULL);
  mlxcel_value_t inverses = row_statistic(builder, square_sums_of(builder, x, &means), operation->in_features, &operation->epsilon);
  mlxcel_loop_t loop = {.iterators = "pp"};
  mlxcel_loop_input(&loop, x, "01");
  mlxcel_loop_input(&loop, means, "0");
  mlxcel_loop_input(&loop, inverses, "0");
  mlxcel_loop_input(&loop, operands[1], "1");
  mlxcel_loop_input(&loop, operands[2], "1");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, mlxcel_element_of(dtype), 2, x.dims), "01");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t element = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t weight = mlxcel_body_widen(builder, loop.in[3]);
  mlxcel_value_t bias = mlxcel_body_widen(builder, loop.in[4]);
  mlxcel_value_t centered = mlxcel_body_binary(builder, "arith.subf", element, loop.in[1]);
  mlxcel_value_t normed = mlxcel_canonical_multiplied(builder, dtype, centered, loop.in[2]);
  mlxcel_value_t weighted = mlxcel_canonical_multiplied(builder, dtype, normed, weight);
  mlxcel_value_t result = mlxcel_body_narrow(builder, dtype, mlxcel_body_binary(builder, "arith.addf", weighted, bias));
  return mlxcel_loop_end(builder, &loop, &result);
}

// In a body: the normed element times the weight, with the variant's roundings; |grid| is P.
static mlxcel_value_t rms_weighted(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_dtype_t grid, mlxcel_value_t normed,
                                   mlxcel_value_t weight) {
  if (operation->variant == MLXCEL_VARIANT_SINGLE_ROUNDING) return mlxcel_body_product(builder, normed, weight);
  normed = mlxcel_body_round(builder, grid, normed);
  if (operation->variant == MLXCEL_VARIANT_GEMMA) {
    weight = mlxcel_canonical_added(builder, operation->weight_dtype, mlxcel_body_f32(builder, 1.0f), weight);
  }
  return mlxcel_body_product(builder, normed, weight);
}

mlxcel_value_t mlxcel_canonical_rms_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_operand_t type;
  iree_status_t status = mlxcel_operation_result(operation, &type);
  if (!iree_status_is_ok(status)) {
    mlxcel_module_fail(builder, status);
    return operands[0];
  }
  mlxcel_emit_clause(builder, operation);
  mlxcel_value_t x = operands[0];
  mlxcel_value_t inverses = row_statistic(builder, square_sums_of(builder, x, NULL), operation->in_features, &operation->epsilon);
  mlxcel_loop_t loop = {.iterators = "pp"};
  mlxcel_loop_input(&loop, x, "01");
  mlxcel_loop_input(&loop, inverses, "0");
  mlxcel_loop_input(&loop, operands[1], "1");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, mlxcel_element_of(type.dtype), 2, x.dims), "01");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t element = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t weight = mlxcel_body_widen(builder, loop.in[2]);
  mlxcel_value_t normed = mlxcel_body_product(builder, element, loop.in[1]);
  mlxcel_value_t weighted = rms_weighted(builder, operation, type.dtype, normed, weight);
  mlxcel_value_t result = mlxcel_body_narrow(builder, type.dtype, weighted);
  return mlxcel_loop_end(builder, &loop, &result);
}

// --- cumulative norm: statistics over everything up to a time step -----------------------------------------------------------------------------------

// Sequential sums over time: f32 [time].
static mlxcel_value_t running_sums(mlxcel_module_builder_t* builder, mlxcel_value_t sums) {
  mlxcel_scan_t scan;
  mlxcel_scan_begin(builder, sums, 0, &scan);
  mlxcel_value_t next = mlxcel_body_binary(builder, "arith.addf", scan.previous, scan.element);
  return mlxcel_scan_end(builder, &scan, next);
}

// Per time step t: sum / ((t + 1) * count), or 1 / sqrt of that plus epsilon. A division here: MLX divides two tensors.
static mlxcel_value_t running_statistic(mlxcel_module_builder_t* builder, mlxcel_value_t sums, int64_t count, const float* epsilon) {
  mlxcel_loop_t loop = {.iterators = "p"};
  mlxcel_loop_input(&loop, running_sums(builder, sums), "0");
  mlxcel_loop_output(&loop, row_empty(builder, sums.dims[0]), "0");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t step = mlxcel_body_index(builder, 0);
  step = mlxcel_body_binary(builder, "arith.addi", step, mlxcel_body_i32(builder, 1));
  step = mlxcel_body_binary(builder, "arith.muli", step, mlxcel_body_i32(builder, (int32_t)count));
  mlxcel_value_t elements = mlxcel_body_cast(builder, "arith.sitofp", step, MLXCEL_ELEMENT_F32);
  mlxcel_value_t value = mlxcel_body_binary(builder, "arith.divf", loop.in[0], elements);
  if (epsilon) value = inverse_deviation(builder, value, *epsilon);
  return mlxcel_loop_end(builder, &loop, &value);
}

// Counts of elements are exact in f32, and MLX's own running count too, up to here.
#define EXACT_COUNT_MAX (1 << 24)

mlxcel_value_t mlxcel_canonical_cumulative_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  int64_t time = operation->rows, width = operation->in_features * operation->out_features;
  if (time * width > EXACT_COUNT_MAX) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                                                 "a cumulative norm over %" PRId64 " elements: counts over %d aren't exact in f32;"
                                                 " cut the sequence",
                                                 time * width, EXACT_COUNT_MAX));
    return operands[0];
  }
  mlxcel_emit_clause(builder, operation);
  const int64_t flat_dims[] = {time, width};
  mlxcel_value_t flat = mlxcel_hlo_reshape(builder, operands[0], 2, flat_dims);
  mlxcel_value_t means = running_statistic(builder, sums_of(builder, flat), width, NULL);
  mlxcel_value_t inverses = running_statistic(builder, square_sums_of(builder, flat, &means), width, &operation->epsilon);
  mlxcel_loop_t loop = {.iterators = "ppp"};
  mlxcel_loop_input(&loop, operands[0], "012");
  mlxcel_loop_input(&loop, means, "0");
  mlxcel_loop_input(&loop, inverses, "0");
  mlxcel_loop_input(&loop, operands[1], "2");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, mlxcel_element_of(operation->dtype), 3, operands[0].dims), "012");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t element = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t weight = mlxcel_body_widen(builder, loop.in[3]);
  mlxcel_value_t centered = mlxcel_body_binary(builder, "arith.subf", element, loop.in[1]);
  mlxcel_value_t normed = mlxcel_body_product(builder, centered, loop.in[2]);
  mlxcel_value_t result = mlxcel_body_narrow(builder, operation->dtype, mlxcel_body_product(builder, normed, weight));
  return mlxcel_loop_end(builder, &loop, &result);
}
