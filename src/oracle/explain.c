#include "oracle/explain.h"

#include <string.h>

#include "base/log.h"
#include "oracle/compare.h"
#include "oracle/suboperation.h"
#include "oracle/trace.h"

// Everything that one explanation holds open.
typedef struct explanation_t {
  const mlxcel_oracle_options_t* options;
  const mlxcel_profile_t* profile;
  mlxcel_candidate_options_t candidate_options;
  const mlxcel_oracle_case_t* item;
  mlxcel_operation_t operation;
  mlxcel_reference_t* reference;
  mlxcel_device_t* device;
  mlxcel_oracle_operands_t operands;
  mlxcel_host_tensor_t expected;
  mlxcel_candidate_run_t actual;
  mlxcel_suboperation_t sub;
  mlxcel_strbuf_t* text;
} explanation_t;

static void explanation_deinitialize(explanation_t* explanation) {
  mlxcel_suboperation_deinitialize(&explanation->sub);
  mlxcel_candidate_run_deinitialize(&explanation->actual);
  mlxcel_host_tensor_deinitialize(&explanation->expected);
  mlxcel_oracle_operands_deinitialize(&explanation->operands);
  mlxcel_device_close(explanation->device);
  mlxcel_reference_close(explanation->reference);
}

// --- both sides ---------------------------------------------------------------------------------------------------------------------------------

// The reference takes rope without tables: they are the last two operands.
static size_t reference_operand_count(const explanation_t* explanation, const mlxcel_operation_t* operation, size_t count) {
  return operation->op == MLXCEL_OP_ROPE && explanation->profile->rope_tables ? count - 2 : count;
}

static iree_status_t compute_expected(explanation_t* explanation, const mlxcel_operation_t* operation, const mlxcel_oracle_operands_t* operands,
                                      mlxcel_host_tensor_t* out_result) {
  size_t count = reference_operand_count(explanation, operation, operands->count);
  return mlxcel_reference_compute(explanation->reference, operation, count, operands->tensors, out_result);
}

static iree_status_t compute_actual(explanation_t* explanation, const mlxcel_operation_t* operation, const mlxcel_oracle_operands_t* operands,
                                    mlxcel_candidate_run_t* out_run) {
  mlxcel_candidate_t candidate;
  IREE_RETURN_IF_ERROR(mlxcel_candidate_build(&explanation->candidate_options, explanation->profile, operation, &candidate));
  iree_status_t status = mlxcel_candidate_call(&candidate, explanation->device, operands->count, operands->tensors, 1, out_run);
  mlxcel_candidate_deinitialize(&candidate);
  return status;
}

static iree_status_t explanation_open(explanation_t* explanation) {
  const mlxcel_oracle_options_t* options = explanation->options;
  IREE_RETURN_IF_ERROR(mlxcel_oracle_candidate_options(options, &explanation->candidate_options));
  const mlxcel_reference_options_t reference_options = {.disable_compile = options->disable_compile};
  IREE_RETURN_IF_ERROR(mlxcel_reference_open(&reference_options, &explanation->reference));
  const mlxcel_device_options_t device_options = {.name = iree_make_cstring_view(options->device ? options->device : mlxcel_oracle_device_at(0))};
  IREE_RETURN_IF_ERROR(mlxcel_device_open(&device_options, &explanation->device));
  return mlxcel_oracle_operands_make(&explanation->operation, explanation->profile->rope_tables, options->seed, &explanation->operands);
}

// --- text -----------------------------------------------------------------------------------------------------------------------------------------

static void print_element(const explanation_t* explanation, uint64_t index, mlxcel_strbuf_t* text) {
  const mlxcel_operand_t* type = &explanation->expected.type;
  int64_t coordinate[MLXCEL_OPERAND_RANK_MAX];
  mlxcel_coordinate_of(type, index, coordinate);
  mlxcel_strbuf_append_format(text, "element %" PRIu64 " [", index);
  for (uint32_t i = 0; i < type->rank; ++i) mlxcel_strbuf_append_format(text, "%s%" PRId64, i ? ", " : "", coordinate[i]);
  uint32_t left = mlxcel_element_bits(type->dtype, explanation->expected.data, index),
           right = mlxcel_element_bits(type->dtype, explanation->actual.result.data, index);
  mlxcel_strbuf_append_format(text, "] %s: reference %.9g (%08x), candidate %.9g (%08x), %" PRIu64 " ulp\n", mlxcel_dtype_name(type->dtype),
                              (double)mlxcel_dtype_widen(type->dtype, explanation->expected.data, index), left,
                              (double)mlxcel_dtype_widen(type->dtype, explanation->actual.result.data, index), right,
                              mlxcel_element_ulp(type->dtype, left, right));
}

static void print_head(const explanation_t* explanation, const mlxcel_comparison_t* comparison) {
  char shape[256];
  mlxcel_operation_shape_text(&explanation->operation, shape, sizeof(shape));
  mlxcel_strbuf_append_format(explanation->text,
                              "%s case %zu, profile %s, %s: %s\n%" PRIu64 " of %" PRIu64 " outputs differ from %s, largest difference %.9g\n",
                              explanation->item->class_name, explanation->item->index, explanation->profile->name,
                              explanation->options->device ? explanation->options->device : mlxcel_oracle_device_at(0), shape, comparison->mismatches,
                              comparison->outputs, mlxcel_reference_identity(explanation->reference)->build, comparison->max_abs);
}

// One side's model must end at the bits that the side produced; else it isn't that side's order, and the text says so.
static void print_check(explanation_t* explanation, const char* side, const mlxcel_trace_t* trace, uint32_t bits) {
  bool same = mlxcel_element_is_equal(trace->dtype, trace->result_bits, bits);
  mlxcel_strbuf_append_format(explanation->text, "the %s's model ends at %08x, the %s at %08x: %s\n", side, trace->result_bits, side, bits,
                              same ? "the steps are its own" : "THE STEPS ARE NOT ITS OWN");
}

static iree_status_t print_traces(explanation_t* explanation, uint64_t index) {
  uint32_t reference_bits = mlxcel_element_bits(explanation->expected.type.dtype, explanation->expected.data, index);
  uint32_t candidate_bits = mlxcel_element_bits(explanation->expected.type.dtype, explanation->actual.result.data, index);
  mlxcel_order_t order = mlxcel_order_of(explanation->profile);
  mlxcel_trace_t reference, candidate;
  IREE_RETURN_IF_ERROR(mlxcel_trace_compute(MLXCEL_ORDER_MLX, &explanation->sub, &reference));
  iree_status_t status = mlxcel_trace_compute(order, &explanation->sub, &candidate);
  if (!iree_status_is_ok(status)) {
    mlxcel_trace_deinitialize(&reference);
    return status;
  }
  print_check(explanation, "reference", &reference, reference_bits);
  print_check(explanation, "candidate", &candidate, candidate_bits);
  char left[64], right[64];
  snprintf(left, sizeof(left), "reference (%s)", mlxcel_order_name(MLXCEL_ORDER_MLX));
  snprintf(right, sizeof(right), "candidate (%s)", mlxcel_order_name(order));
  mlxcel_trace_print(&reference, left, &candidate, right, explanation->text);
  mlxcel_trace_deinitialize(&reference);
  mlxcel_trace_deinitialize(&candidate);
  return iree_ok_status();
}

// The element alone: whether both sides give the same bits as within the whole.
static iree_status_t explain_alone(explanation_t* explanation, uint64_t index) {
  const mlxcel_suboperation_t* sub = &explanation->sub;
  mlxcel_host_tensor_t expected;
  mlxcel_candidate_run_t actual;
  IREE_RETURN_IF_ERROR(compute_expected(explanation, &sub->operation, &sub->operands, &expected));
  mlxcel_dtype_t dtype = expected.type.dtype;
  uint32_t reference_bits = mlxcel_element_bits(dtype, expected.data, sub->index);
  mlxcel_host_tensor_deinitialize(&expected);
  IREE_RETURN_IF_ERROR(compute_actual(explanation, &sub->operation, &sub->operands, &actual));
  uint32_t candidate_bits = mlxcel_element_bits(dtype, actual.result.data, sub->index);
  mlxcel_candidate_run_deinitialize(&actual);
  bool same_reference = mlxcel_element_is_equal(dtype, reference_bits, mlxcel_element_bits(dtype, explanation->expected.data, index));
  bool same_candidate = mlxcel_element_is_equal(dtype, candidate_bits, mlxcel_element_bits(dtype, explanation->actual.result.data, index));
  mlxcel_strbuf_append_format(explanation->text, "alone: reference %08x (%s within the whole), candidate %08x (%s within the whole)\n", reference_bits,
                              same_reference ? "as" : "NOT as", candidate_bits, same_candidate ? "as" : "NOT as");
  return print_traces(explanation, index);
}

static iree_status_t explain_element(explanation_t* explanation, const mlxcel_comparison_t* comparison, int64_t element) {
  uint64_t index = element >= 0 ? (uint64_t)element : comparison->mismatches ? comparison->first.index : 0;
  if (index >= comparison->outputs) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "element %" PRIu64 " is outside the result's %" PRIu64 "; take a smaller one", index,
                            comparison->outputs);
  }
  print_element(explanation, index, explanation->text);
  iree_status_t status = mlxcel_suboperation_make(&explanation->operation, explanation->profile->rope_tables, &explanation->operands, index, &explanation->sub);
  if (iree_status_is_ok(status)) status = explain_alone(explanation, index);
  if (!iree_status_is_unimplemented(status)) return status;
  char reason[512];  // a class without a model still gets what was found so far
  mlxcel_status_text(status, reason, sizeof(reason));
  iree_status_free(status);
  mlxcel_strbuf_append_format(explanation->text, "no steps: %s\n", reason);
  return iree_ok_status();
}

static iree_status_t explain(explanation_t* explanation, const mlxcel_oracle_cases_t* cases, int64_t element) {
  IREE_RETURN_IF_ERROR(mlxcel_oracle_case_select(explanation->options, cases, &explanation->profile, &explanation->item, &explanation->operation));
  IREE_RETURN_IF_ERROR(explanation_open(explanation));
  IREE_RETURN_IF_ERROR(compute_expected(explanation, &explanation->operation, &explanation->operands, &explanation->expected));
  IREE_RETURN_IF_ERROR(compute_actual(explanation, &explanation->operation, &explanation->operands, &explanation->actual));
  mlxcel_comparison_t comparison;
  IREE_RETURN_IF_ERROR(mlxcel_compare(&explanation->expected, &explanation->actual.result, NULL, &comparison));
  print_head(explanation, &comparison);
  return explain_element(explanation, &comparison, element);
}

iree_status_t mlxcel_oracle_explain(const mlxcel_oracle_options_t* options, int64_t element, mlxcel_strbuf_t* out_text) {
  mlxcel_oracle_cases_t cases;
  IREE_RETURN_IF_ERROR(mlxcel_oracle_cases_make(&cases));
  explanation_t explanation = {.options = options, .text = out_text};
  iree_status_t status = explain(&explanation, &cases, element);
  explanation_deinitialize(&explanation);
  mlxcel_oracle_cases_deinitialize(&cases);
  return status;
}
