#include "oracle/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#include "oracle/compare.h"
#include "oracle/trace_models.h"

#define FLUSH_BOTH 0x8040u     // flush results to zero, read subnormals as zero: what IREE's workers run with
#define TRACE_WHOLE_LINES 48   // shorter traces are printed whole
#define TRACE_CONTEXT_LINES 8  // printed at the beginning, around the first difference, and at the end of longer ones

mlxcel_order_t mlxcel_order_of(const mlxcel_profile_t* profile) {
  if (strcmp(profile->name, MLXCEL_PROFILE_PINNED_F32) == 0) return MLXCEL_ORDER_PINNED;
  return strcmp(profile->name, MLXCEL_PROFILE_IREE_CANONICAL) == 0 ? MLXCEL_ORDER_CANONICAL : MLXCEL_ORDER_MLX;
}

const char* mlxcel_order_name(mlxcel_order_t order) {
  static const char* const names[MLXCEL_ORDER_COUNT] = {"MLX order", "pinned order", "canonical order"};
  return names[order];
}

//===- Steps --------------------------------------------------------------------------------------------------------------------------------------------===//

void mlxcel_trace_deinitialize(mlxcel_trace_t* trace) {
  free(trace->steps);
  memset(trace, 0, sizeof(*trace));
}

void mlxcel_trace_add(mlxcel_trace_t* trace, float value, const char* format, ...) {
  if (trace->count == trace->capacity) {
    size_t capacity = trace->capacity ? trace->capacity * 2 : 256;
    mlxcel_trace_step_t* steps = realloc(trace->steps, capacity * sizeof(*steps));
    if (!steps) {
      trace->failed = true;
      return;
    }
    trace->steps = steps;
    trace->capacity = capacity;
  }
  mlxcel_trace_step_t* step = &trace->steps[trace->count++];
  step->value = value;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(step->label, sizeof(step->label), format, arguments);
  va_end(arguments);
}

//===- Models -------------------------------------------------------------------------------------------------------------------------------------------===//

typedef bool (*model_fn_t)(const mlxcel_model_t* model, float* out_value);
static const model_fn_t models[MLXCEL_OP_COUNT] = {
    [MLXCEL_OP_DEQUANTIZE] = mlxcel_model_dequantize,     [MLXCEL_OP_DENSE_MATMUL] = mlxcel_model_matmul,
    [MLXCEL_OP_QUANTIZED_MATMUL] = mlxcel_model_matmul,   [MLXCEL_OP_ACTIVATION_PROJECTION] = mlxcel_model_activation_projection,
    [MLXCEL_OP_RMS_NORM] = mlxcel_model_rms_norm,         [MLXCEL_OP_LAYER_NORM] = mlxcel_model_layer_norm,
    [MLXCEL_OP_RESIDUAL_ADD] = mlxcel_model_residual_add, [MLXCEL_OP_SOFTMAX] = mlxcel_model_softmax,
    [MLXCEL_OP_ATTENTION] = mlxcel_model_attention,       [MLXCEL_OP_PREFIX_SCAN] = mlxcel_model_scan,
    [MLXCEL_OP_CONVOLUTION] = mlxcel_model_convolution,
};

static iree_status_t compute(mlxcel_order_t order, const mlxcel_suboperation_t* sub, mlxcel_trace_t* trace) {
  mlxcel_operand_t result;
  IREE_RETURN_IF_ERROR(mlxcel_operation_result(&sub->operation, &result));
  trace->dtype = result.dtype;
  const mlxcel_model_t model = {
      .order = order, .operation = &sub->operation, .operands = sub->operands.tensors, .index = sub->index, .result = result.dtype, .trace = trace};
  model_fn_t compute_value = models[sub->operation.op];
  float value = 0;
  unsigned saved = _mm_getcsr();
  if (order == MLXCEL_ORDER_CANONICAL) _mm_setcsr(saved | FLUSH_BOTH);
  bool is_known = compute_value && compute_value(&model, &value);
  _mm_setcsr(saved);
  if (!is_known) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                            "no step-by-step model of %s (%s) in %s; there are some for matmuls, norms, softmax, attention, scans, convolutions and sums",
                            mlxcel_op_class_name(sub->operation.op), mlxcel_op_variant_name(sub->operation.variant), mlxcel_order_name(order));
  }
  mlxcel_trace_add(trace, value, "result");
  uint8_t stored[sizeof(float)];
  mlxcel_dtype_store(result.dtype, stored, 0, value);
  trace->result_bits = mlxcel_element_bits(result.dtype, stored, 0);
  return trace->failed ? iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a trace; free memory and try again") : iree_ok_status();
}

iree_status_t mlxcel_trace_compute(mlxcel_order_t order, const mlxcel_suboperation_t* sub, mlxcel_trace_t* out_trace) {
  memset(out_trace, 0, sizeof(*out_trace));
  iree_status_t status = compute(order, sub, out_trace);
  if (!iree_status_is_ok(status)) mlxcel_trace_deinitialize(out_trace);
  return status;
}

//===- Printing -----------------------------------------------------------------------------------------------------------------------------------------===//

// Two traces merged by their labels: a line has a step of one side or of both.
typedef struct trace_line_t {
  const mlxcel_trace_step_t *left, *right;
} trace_line_t;

// The place of |label| in |trace| at or behind |from|; the count if there is none.
static size_t find_label(const mlxcel_trace_t* trace, size_t from, const char* label) {
  while (from < trace->count && strcmp(trace->steps[from].label, label) != 0) ++from;
  return from;
}

static size_t merge(const mlxcel_trace_t* left, const mlxcel_trace_t* right, trace_line_t* lines) {
  size_t count = 0, l = 0, r = 0;
  while (l < left->count || r < right->count) {
    if (l == left->count) {
      lines[count++] = (trace_line_t){.right = &right->steps[r++]};
    } else if (r == right->count) {
      lines[count++] = (trace_line_t){.left = &left->steps[l++]};
    } else if (strcmp(left->steps[l].label, right->steps[r].label) == 0) {
      lines[count++] = (trace_line_t){&left->steps[l++], &right->steps[r++]};
    } else if (find_label(right, r, left->steps[l].label) < right->count) {
      lines[count++] = (trace_line_t){.right = &right->steps[r++]};
    } else {
      lines[count++] = (trace_line_t){.left = &left->steps[l++]};
    }
  }
  return count;
}

static bool line_differs(const trace_line_t* line) {
  if (!line->left || !line->right) return false;
  uint32_t left, right;
  memcpy(&left, &line->left->value, sizeof(left));
  memcpy(&right, &line->right->value, sizeof(right));
  return !mlxcel_element_is_equal(MLXCEL_DTYPE_F32, left, right);
}

static void print_step(const mlxcel_trace_step_t* step, mlxcel_strbuf_t* text) {
  uint32_t bits = 0;
  if (step) memcpy(&bits, &step->value, sizeof(bits));
  if (step) {
    mlxcel_strbuf_append_format(text, "  %-16.9g %08x", (double)step->value, bits);
  } else {
    mlxcel_strbuf_append_format(text, "  %-16s %8s", "-", "");
  }
}

static void print_line(const trace_line_t* line, bool is_first_difference, mlxcel_strbuf_t* text) {
  mlxcel_strbuf_append_format(text, "%s%-24s", is_first_difference ? "> " : "  ", line->left ? line->left->label : line->right->label);
  print_step(line->left, text);
  print_step(line->right, text);
  mlxcel_strbuf_append_cstring(text, is_first_difference ? "  <- first difference\n" : "\n");
}

static bool line_is_shown(size_t index, size_t count, size_t first) {
  if (count <= TRACE_WHOLE_LINES || index < TRACE_CONTEXT_LINES || index + TRACE_CONTEXT_LINES >= count) return true;
  return index + TRACE_CONTEXT_LINES >= first && index <= first + TRACE_CONTEXT_LINES;
}

static void print_lines(const trace_line_t* lines, size_t count, mlxcel_strbuf_t* text) {
  size_t first = 0, hidden = 0;
  while (first < count && !line_differs(&lines[first])) ++first;
  for (size_t i = 0; i < count; ++i) {
    if (!line_is_shown(i, count, first)) {
      ++hidden;
      continue;
    }
    if (hidden) mlxcel_strbuf_append_format(text, "  ... %zu steps\n", hidden);
    hidden = 0;
    print_line(&lines[i], i == first, text);
  }
  if (first == count) mlxcel_strbuf_append_cstring(text, "  no step that both have differs\n");
}

void mlxcel_trace_print(const mlxcel_trace_t* left, const char* left_name, const mlxcel_trace_t* right, const char* right_name, mlxcel_strbuf_t* out_text) {
  trace_line_t* lines = calloc(left->count + right->count + 1, sizeof(*lines));
  if (!lines) {
    mlxcel_strbuf_append_cstring(out_text, "  (out of memory for the steps)\n");
    return;
  }
  mlxcel_strbuf_append_format(out_text, "  %-24s  %-25s  %s\n", "step", left_name, right_name);
  print_lines(lines, merge(left, right, lines), out_text);
  free(lines);
}
