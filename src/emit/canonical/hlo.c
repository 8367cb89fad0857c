#include "emit/canonical/hlo.h"

#include <assert.h>
#include <string.h>

// Lists of sizes and positions inside an operation's attributes: "1, 2, 3".
typedef struct list_text_t {
  char text[96];
} list_text_t;

static list_text_t list_of(uint32_t count, const int64_t* values) {
  list_text_t list = {""};
  size_t size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    size += (size_t)snprintf(list.text + size, sizeof(list.text) - size, "%s%" PRId64, i ? ", " : "", values[i]);
    assert(size < sizeof(list.text));
  }
  return list;
}

static mlxcel_type_text_t type_of(mlxcel_value_t value) { return mlxcel_value_type(value); }

// --- tensors -------------------------------------------------------------------------------------------------------------------------------------

mlxcel_value_t mlxcel_hlo_reshape(mlxcel_module_builder_t* builder, mlxcel_value_t value, uint32_t rank, const int64_t* dims) {
  mlxcel_value_t result = mlxcel_value_new(builder, value.element, rank, dims);
  mlxcel_module_text(builder, "%%%" PRIu32 " = stablehlo.reshape %%%" PRIu32 " : (%s) -> %s", result.id, value.id, type_of(value).text, type_of(result).text);
  return result;
}

mlxcel_value_t mlxcel_hlo_transpose(mlxcel_module_builder_t* builder, mlxcel_value_t value, const uint32_t* permutation) {
  int64_t dims[MLXCEL_VALUE_RANK_MAX] = {0}, order[MLXCEL_VALUE_RANK_MAX] = {0};
  for (uint32_t i = 0; i < value.rank; ++i) {
    dims[i] = value.dims[permutation[i]];
    order[i] = permutation[i];
  }
  mlxcel_value_t result = mlxcel_value_new(builder, value.element, value.rank, dims);
  mlxcel_module_text(builder, "%%%" PRIu32 " = stablehlo.transpose %%%" PRIu32 ", dims = [%s] : (%s) -> %s", result.id, value.id,
                     list_of(value.rank, order).text, type_of(value).text, type_of(result).text);
  return result;
}

mlxcel_value_t mlxcel_hlo_slice(mlxcel_module_builder_t* builder, mlxcel_value_t value, uint32_t dim, int64_t start, int64_t limit) {
  int64_t dims[MLXCEL_VALUE_RANK_MAX];
  memcpy(dims, value.dims, sizeof(dims));
  dims[dim] = limit - start;
  char ranges[128];
  size_t size = 0;
  for (uint32_t i = 0; i < value.rank; ++i) {
    size +=
        (size_t)snprintf(ranges + size, sizeof(ranges) - size, "%s%" PRId64 ":%" PRId64, i ? ", " : "", i == dim ? start : 0, i == dim ? limit : value.dims[i]);
    assert(size < sizeof(ranges));
  }
  mlxcel_value_t result = mlxcel_value_new(builder, value.element, value.rank, dims);
  mlxcel_module_text(builder, "%%%" PRIu32 " = stablehlo.slice %%%" PRIu32 " [%s] : (%s) -> %s", result.id, value.id, ranges, type_of(value).text,
                     type_of(result).text);
  return result;
}

mlxcel_value_t mlxcel_hlo_concatenate(mlxcel_module_builder_t* builder, uint32_t count, const mlxcel_value_t* values, uint32_t dim) {
  mlxcel_value_t result = mlxcel_value_new(builder, values[0].element, values[0].rank, values[0].dims);
  for (uint32_t i = 1; i < count; ++i) result.dims[dim] += values[i].dims[dim];
  mlxcel_strbuf_t names, types;
  mlxcel_strbuf_initialize(&names);
  mlxcel_strbuf_initialize(&types);
  for (uint32_t i = 0; i < count; ++i) {
    mlxcel_strbuf_append_format(&names, "%s%%%" PRIu32, i ? ", " : "", values[i].id);
    mlxcel_strbuf_append_format(&types, "%s%s", i ? ", " : "", type_of(values[i]).text);
  }
  mlxcel_module_fail(builder, mlxcel_strbuf_take_status(&names));
  mlxcel_module_fail(builder, mlxcel_strbuf_take_status(&types));
  mlxcel_module_text(builder, "%%%" PRIu32 " = stablehlo.concatenate %s, dim = %" PRIu32 " : (%s) -> %s", result.id, names.data ? names.data : "", dim,
                     types.data ? types.data : "", type_of(result).text);
  mlxcel_strbuf_deinitialize(&names);
  mlxcel_strbuf_deinitialize(&types);
  return result;
}

mlxcel_value_t mlxcel_hlo_convert(mlxcel_module_builder_t* builder, mlxcel_value_t value, mlxcel_element_t element) {
  if (value.element == element) return value;
  mlxcel_value_t result = mlxcel_value_new(builder, element, value.rank, value.dims);
  mlxcel_module_text(builder, "%%%" PRIu32 " = stablehlo.convert %%%" PRIu32 " : (%s) -> %s", result.id, value.id, type_of(value).text, type_of(result).text);
  return result;
}

mlxcel_value_t mlxcel_hlo_dot_general(mlxcel_module_builder_t* builder, mlxcel_value_t lhs, mlxcel_value_t rhs, uint32_t batch_count, uint32_t lhs_dim,
                                      uint32_t rhs_dim) {
  int64_t dims[MLXCEL_VALUE_RANK_MAX] = {0}, batch[MLXCEL_VALUE_RANK_MAX] = {0};
  uint32_t rank = 0;
  for (uint32_t i = 0; i < batch_count; ++i) {
    batch[i] = i;
    dims[rank++] = lhs.dims[i];
  }
  for (uint32_t i = batch_count; i < lhs.rank; ++i) {
    if (i != lhs_dim) dims[rank++] = lhs.dims[i];
  }
  for (uint32_t i = batch_count; i < rhs.rank; ++i) {
    if (i != rhs_dim) dims[rank++] = rhs.dims[i];
  }
  mlxcel_value_t result = mlxcel_value_new(builder, MLXCEL_ELEMENT_F32, rank, dims);
  list_text_t batches = list_of(batch_count, batch);
  char batching[256] = "";
  if (batch_count) snprintf(batching, sizeof(batching), "batching_dims = [%s] x [%s], ", batches.text, batches.text);
  mlxcel_module_text(builder,
                     "%%%" PRIu32 " = stablehlo.dot_general %%%" PRIu32 ", %%%" PRIu32 ", %scontracting_dims = [%" PRIu32 "] x [%" PRIu32 "] : (%s, %s) -> %s",
                     result.id, lhs.id, rhs.id, batching, lhs_dim, rhs_dim, type_of(lhs).text, type_of(rhs).text, type_of(result).text);
  return result;
}

mlxcel_value_t mlxcel_hlo_convolution(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t x, mlxcel_value_t w,
                                      const int64_t result_dims[4]) {
  mlxcel_value_t result = mlxcel_value_new(builder, MLXCEL_ELEMENT_F32, 4, result_dims);
  const int64_t strides[] = {operation->stride_h, operation->stride_w};
  const int64_t pad_h[] = {operation->pad_h_low, operation->pad_h_high}, pad_w[] = {operation->pad_w_low, operation->pad_w_high};
  mlxcel_module_text(builder,
                     "%%%" PRIu32 " = stablehlo.convolution(%%%" PRIu32 ", %%%" PRIu32
                     ") dim_numbers = [b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f], window = {stride = [%s], pad = [[%s], [%s]]} "
                     "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (%s, %s) -> %s",
                     result.id, x.id, w.id, list_of(2, strides).text, list_of(2, pad_h).text, list_of(2, pad_w).text, type_of(x).text, type_of(w).text,
                     type_of(result).text);
  return result;
}

mlxcel_value_t mlxcel_hlo_empty(mlxcel_module_builder_t* builder, mlxcel_element_t element, uint32_t rank, const int64_t* dims) {
  mlxcel_value_t result = mlxcel_value_new(builder, element, rank, dims);
  mlxcel_module_text(builder, "%%%" PRIu32 " = tensor.empty() : %s", result.id, type_of(result).text);
  return result;
}

mlxcel_value_t mlxcel_hlo_filled(mlxcel_module_builder_t* builder, mlxcel_value_t fill, uint32_t rank, const int64_t* dims) {
  mlxcel_value_t storage = mlxcel_hlo_empty(builder, fill.element, rank, dims);
  mlxcel_value_t result = mlxcel_value_new(builder, fill.element, rank, dims);
  mlxcel_type_text_t type = type_of(result);
  mlxcel_module_text(builder, "%%%" PRIu32 " = linalg.fill ins(%%%" PRIu32 " : %s) outs(%%%" PRIu32 " : %s) -> %s", result.id, fill.id, type_of(fill).text,
                     storage.id, type.text, type.text);
  return result;
}

// --- loops over elements -----------------------------------------------------------------------------------------------------------------------------

void mlxcel_loop_input(mlxcel_loop_t* loop, mlxcel_value_t value, const char* map) {
  assert(loop->input_count < MLXCEL_LOOP_INPUTS_MAX && strlen(map) == value.rank);
  loop->inputs[loop->input_count] = value;
  loop->input_maps[loop->input_count++] = map;
}

void mlxcel_loop_output(mlxcel_loop_t* loop, mlxcel_value_t initial, const char* map) {
  assert(loop->output_count < MLXCEL_LOOP_OUTPUTS_MAX && strlen(map) == initial.rank);
  loop->outputs[loop->output_count] = initial;
  loop->output_maps[loop->output_count++] = map;
}

// "affine_map<(d0, d1) -> (d0)>"
static void append_map(mlxcel_strbuf_t* text, const char* iterators, const char* map) {
  mlxcel_strbuf_append_cstring(text, "affine_map<(");
  for (size_t i = 0; iterators[i]; ++i) mlxcel_strbuf_append_format(text, "%sd%zu", i ? ", " : "", i);
  mlxcel_strbuf_append_cstring(text, ") -> (");
  for (size_t i = 0; map[i]; ++i) mlxcel_strbuf_append_format(text, "%sd%c", i ? ", " : "", map[i]);
  mlxcel_strbuf_append_cstring(text, ")>");
}

// " ins(%1, %2 : tensor<..>, tensor<..>)"; nothing without values.
static void append_operands(mlxcel_strbuf_t* text, const char* word, uint32_t count, const mlxcel_value_t* values) {
  if (count == 0) return;
  mlxcel_strbuf_append_format(text, " %s(", word);
  for (uint32_t i = 0; i < count; ++i) mlxcel_strbuf_append_format(text, "%s%%%" PRIu32, i ? ", " : "", values[i].id);
  mlxcel_strbuf_append_cstring(text, " : ");
  for (uint32_t i = 0; i < count; ++i) mlxcel_strbuf_append_format(text, "%s%s", i ? ", " : "", type_of(values[i]).text);
  mlxcel_strbuf_append_cstring(text, ")");
}

static void write_line(mlxcel_module_builder_t* builder, mlxcel_strbuf_t* line) {
  mlxcel_module_fail(builder, mlxcel_strbuf_take_status(line));
  mlxcel_module_text(builder, "%s", line->data ? line->data : "");
  mlxcel_strbuf_deinitialize(line);
}

static mlxcel_value_t scalar_of(mlxcel_module_builder_t* builder, mlxcel_value_t tensor) {
  mlxcel_value_t scalar = {.id = builder->next_id++, .element = tensor.element, .is_scalar = true};
  return scalar;
}

// The names of the operation's results; they replace the initial values once the operation is closed.
static void append_result_names(mlxcel_module_builder_t* builder, mlxcel_strbuf_t* line, uint32_t count, const mlxcel_value_t* initial,
                                mlxcel_value_t* out_results) {
  for (uint32_t i = 0; i < count; ++i) {
    out_results[i] = mlxcel_value_new(builder, initial[i].element, initial[i].rank, initial[i].dims);
    mlxcel_strbuf_append_format(line, "%s%%%" PRIu32, i ? ", " : "", out_results[i].id);
  }
}

static void write_block_head(mlxcel_module_builder_t* builder, uint32_t count, const mlxcel_value_t* arguments) {
  mlxcel_strbuf_t line;
  mlxcel_strbuf_initialize(&line);
  mlxcel_strbuf_append_cstring(&line, "^bb0(");
  for (uint32_t i = 0; i < count; ++i) mlxcel_strbuf_append_format(&line, "%s%%%" PRIu32 ": %s", i ? ", " : "", arguments[i].id, type_of(arguments[i]).text);
  mlxcel_strbuf_append_cstring(&line, "):");
  write_line(builder, &line);
}

void mlxcel_loop_begin(mlxcel_module_builder_t* builder, mlxcel_loop_t* loop) {
  mlxcel_strbuf_t line;
  mlxcel_strbuf_initialize(&line);
  mlxcel_value_t results[MLXCEL_LOOP_OUTPUTS_MAX];
  append_result_names(builder, &line, loop->output_count, loop->outputs, results);
  mlxcel_strbuf_append_cstring(&line, " = linalg.generic {indexing_maps = [");
  for (uint32_t i = 0; i < loop->input_count + loop->output_count; ++i) {
    if (i) mlxcel_strbuf_append_cstring(&line, ", ");
    append_map(&line, loop->iterators, i < loop->input_count ? loop->input_maps[i] : loop->output_maps[i - loop->input_count]);
  }
  mlxcel_strbuf_append_cstring(&line, "], iterator_types = [");
  for (size_t i = 0; loop->iterators[i]; ++i) {
    mlxcel_strbuf_append_format(&line, "%s\"%s\"", i ? ", " : "", loop->iterators[i] == 'r' ? "reduction" : "parallel");
  }
  mlxcel_strbuf_append_cstring(&line, "]}");
  append_operands(&line, "ins", loop->input_count, loop->inputs);
  append_operands(&line, "outs", loop->output_count, loop->outputs);
  mlxcel_strbuf_append_cstring(&line, " {");
  write_line(builder, &line);
  mlxcel_value_t arguments[MLXCEL_LOOP_INPUTS_MAX + MLXCEL_LOOP_OUTPUTS_MAX];
  for (uint32_t i = 0; i < loop->input_count; ++i) arguments[i] = loop->in[i] = scalar_of(builder, loop->inputs[i]);
  for (uint32_t i = 0; i < loop->output_count; ++i) arguments[loop->input_count + i] = loop->out[i] = scalar_of(builder, loop->outputs[i]);
  write_block_head(builder, loop->input_count + loop->output_count, arguments);
  memcpy(loop->outputs, results, sizeof(results));
}

// "yield %1, %2 : f32, f32" and the closing brace with the results' types.
static void write_block_end(mlxcel_module_builder_t* builder, const char* yield, uint32_t count, const mlxcel_value_t* values, uint32_t result_count,
                            const mlxcel_value_t* results) {
  mlxcel_strbuf_t line;
  mlxcel_strbuf_initialize(&line);
  mlxcel_strbuf_append_cstring(&line, yield);
  for (uint32_t i = 0; i < count; ++i) mlxcel_strbuf_append_format(&line, "%s%%%" PRIu32, i ? ", " : " ", values[i].id);
  for (uint32_t i = 0; i < count; ++i) mlxcel_strbuf_append_format(&line, "%s%s", i ? ", " : " : ", type_of(values[i]).text);
  write_line(builder, &line);
  mlxcel_strbuf_initialize(&line);
  mlxcel_strbuf_append_cstring(&line, result_count > 1 ? "} -> (" : "} -> ");
  for (uint32_t i = 0; i < result_count; ++i) mlxcel_strbuf_append_format(&line, "%s%s", i ? ", " : "", type_of(results[i]).text);
  if (result_count > 1) mlxcel_strbuf_append_cstring(&line, ")");
  write_line(builder, &line);
}

mlxcel_value_t mlxcel_loop_end(mlxcel_module_builder_t* builder, mlxcel_loop_t* loop, const mlxcel_value_t* values) {
  write_block_end(builder, "linalg.yield", loop->output_count, values, loop->output_count, loop->outputs);
  return loop->outputs[0];
}

void mlxcel_scan_begin(mlxcel_module_builder_t* builder, mlxcel_value_t x, uint32_t dim, mlxcel_scan_t* out_scan) {
  memset(out_scan, 0, sizeof(*out_scan));
  int64_t carry_dims[MLXCEL_VALUE_RANK_MAX] = {0};
  uint32_t carry_rank = 0;
  for (uint32_t i = 0; i < x.rank; ++i) {
    if (i != dim) carry_dims[carry_rank++] = x.dims[i];
  }
  mlxcel_value_t storage[2], arguments[2];
  storage[0] = mlxcel_hlo_empty(builder, x.element, x.rank, x.dims);
  storage[1] = mlxcel_hlo_empty(builder, x.element, carry_rank, carry_dims);
  mlxcel_value_t results[2];
  mlxcel_strbuf_t line;
  mlxcel_strbuf_initialize(&line);
  append_result_names(builder, &line, 2, storage, results);
  mlxcel_strbuf_append_format(&line, " = iree_linalg_ext.scan dimension(%" PRIu32 ") inclusive(true)", dim);
  append_operands(&line, "ins", 1, &x);
  append_operands(&line, "outs", 2, storage);
  mlxcel_strbuf_append_cstring(&line, " {");
  write_line(builder, &line);
  for (int i = 0; i < 2; ++i) arguments[i] = scalar_of(builder, x);
  write_block_head(builder, 2, arguments);
  *out_scan = (mlxcel_scan_t){.element = arguments[0], .previous = arguments[1], .x = x, .result = results[0], .carry = results[1], .dim = dim};
}

mlxcel_value_t mlxcel_scan_end(mlxcel_module_builder_t* builder, mlxcel_scan_t* scan, mlxcel_value_t value) {
  const mlxcel_value_t results[] = {scan->result, scan->carry};
  mlxcel_strbuf_t line;
  mlxcel_strbuf_initialize(&line);
  mlxcel_strbuf_append_format(&line, "iree_linalg_ext.yield %%%" PRIu32 " : %s", value.id, type_of(value).text);
  write_line(builder, &line);
  mlxcel_strbuf_initialize(&line);
  mlxcel_strbuf_append_format(&line, "} -> %s, %s", type_of(results[0]).text, type_of(results[1]).text);
  write_line(builder, &line);
  return scan->result;
}
