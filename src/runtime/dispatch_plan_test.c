// What is read of a module's text and of the device's records, and a profile's table and JSON. Needs no compiler.
#include "runtime/dispatch_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "runtime/dispatch_profile_report.h"
#include "runtime/dispatch_sink.h"

// The reader takes the order of a kernel's integers from kernel_abi.h: rows, in_features, out_features, format, flags of matmul.
static const char text[] =
    "module @model {\n"
    "  stream.executable private @kernels {\n"
    "      func.func @matmul(%a0: !stream.binding) {\n"
    "  func.func @prefill_4(%0: tensor<4x8xf32>) -> (tensor<4x9xf32>) {\n"
    "    %5 = arith.constant 4 : i32\n"
    "    %6 = arith.constant 576 : i32\n"
    "    %7 = arith.constant 1536 : i32\n"
    "    %8 = arith.constant 66820 : i32\n"
    "    %9 = arith.constant 0 : i32\n"
    "    %10 = arith.constant 32 : index\n"
    "    %11 = flow.dispatch @kernels::@matmul[%10](%0, %1, %2, %3, %1, %0, %4, %5, %6, %7, %8, %9) : (tensor<4x8xf32>) -> tensor<4x9xf32>\n"
    "    %12 = flow.dispatch @kernels::@matmul[%10](%0, %1, %2, %3, %1, %0, %4, %99, %6, %7, %8, %9) : (tensor<4x8xf32>) -> tensor<4x9xf32>\n"
    "    %13 = flow.dispatch @kernels::@matmul[%99](%0, %1, %2, %3, %1, %0, %4, %5, %6, %7, %8, %9) : (tensor<4x8xf32>) -> tensor<4x9xf32>\n"
    "    %14 = flow.dispatch @kernels::@matmul[%10](%0, %1, %2) : (tensor<4x8xf32>) -> tensor<4x9xf32>\n"
    "    %15 = flow.dispatch @kernels::@nothing[%10](%0) : (tensor<4x8xf32>) -> tensor<4x9xf32>\n"
    "    return %11 : tensor<4x9xf32>\n"
    "  }\n"
    "  func.func @empty(%0: tensor<4x8xf32>) {\n"
    "  }\n"
    "  func.func @decode_1(%0: tensor<1xi32>) {\n"
    "    %6 = arith.constant 1 : i32\n"
    "    %7, %8 = flow.dispatch @mlx_kernels::@softmax[%6](%0, %6, %6, %6, %5) : (tensor<1xi32>) -> tensor<1xi32>\n";

static void plan_has_calls_in_their_order_with_the_constants_of_their_function(void** state) {
  (void)state;
  mlxcel_dispatch_plan_t plan;
  assert_true(iree_status_is_ok(mlxcel_dispatch_plan_read(iree_make_cstring_view(text), &plan)));
  assert_int_equal(plan.count, 2);
  assert_null(mlxcel_dispatch_plan_find(&plan, IREE_SV("empty")));
  assert_null(mlxcel_dispatch_plan_find(&plan, IREE_SV("matmul")));
  const mlxcel_planned_function_t* function = mlxcel_dispatch_plan_find(&plan, IREE_SV("prefill_4"));
  assert_non_null(function);
  assert_int_equal(function->count, 4);
  const mlxcel_planned_dispatch_t* dispatches = function->dispatches;
  char label[96];
  assert_true(dispatches[0].has_shape);
  assert_string_equal(dispatches[0].export_name, "matmul");
  assert_int_equal(dispatches[0].workgroups, 32);
  mlxcel_kernel_label(&dispatches[0].shape, sizeof(label), label);
  assert_string_equal(label, "matmul 576x1536 q4 g32 rows=4");
  // An argument that is no constant is left out; a number of workgroups that is none, or a call that isn't understood, leaves nothing.
  assert_true(dispatches[1].has_shape);
  mlxcel_kernel_label(&dispatches[1].shape, sizeof(label), label);
  assert_string_equal(label, "matmul 576x1536 q4 g32");
  assert_false(dispatches[2].has_shape);
  assert_false(dispatches[3].has_shape);
  function = mlxcel_dispatch_plan_find(&plan, IREE_SV("decode_1"));
  assert_non_null(function);
  assert_int_equal(function->count, 1);
  assert_int_equal(function->dispatches[0].shape.id, MLXCEL_KERNEL_MLX_SOFTMAX);
  assert_int_equal(function->dispatches[0].shape.values[MLXCEL_KERNEL_VALUE_WIDTH], 1);
  mlxcel_dispatch_plan_deinitialize(&plan);
}

static void plan_of_a_cut_text_is_read_without_harm(void** state) {
  (void)state;
  for (size_t size = 0; size < sizeof(text); ++size) {
    char* copy = malloc(size + 1);  // so that a sanitizer sees a step outside
    assert_non_null(copy);
    memcpy(copy, text, size);
    mlxcel_dispatch_plan_t plan;
    assert_true(iree_status_is_ok(mlxcel_dispatch_plan_read(iree_make_string_view(copy, size), &plan)));
    assert_true(plan.count <= 2);
    mlxcel_dispatch_plan_deinitialize(&plan);
    free(copy);
  }
}

// --- records ---------------------------------------------------------------------------------------------------------------------------------

static void write_chunk(mlxcel_dispatch_sink_t* sink, iree_string_view_t type, const void* data, size_t size, uint64_t dropped) {
  iree_hal_profile_chunk_metadata_t metadata = iree_hal_profile_chunk_metadata_default();
  metadata.content_type = type;
  metadata.dropped_record_count = dropped;
  uint8_t* copy = malloc(size);  // so that a sanitizer sees a step outside
  assert_non_null(copy);
  memcpy(copy, data, size);
  const iree_const_byte_span_t span = iree_make_const_byte_span(copy, size);
  assert_true(iree_status_is_ok(iree_hal_profile_sink_write(mlxcel_dispatch_sink_base(sink), &metadata, 1, &span)));
  free(copy);
}

static iree_hal_profile_host_execution_event_t record_of(uint64_t event_id, uint64_t submission, int64_t start) {
  iree_hal_profile_host_execution_event_t record = iree_hal_profile_host_execution_event_default();
  record.type = IREE_HAL_PROFILE_QUEUE_EVENT_TYPE_DISPATCH;
  record.event_id = event_id;
  record.submission_id = submission;
  record.start_host_time_ns = start;
  record.end_host_time_ns = start + 5;
  record.tile_duration_sum_ns = 7;
  memcpy(record.workgroup_count, (const uint32_t[]){2, 3, 1}, sizeof(record.workgroup_count));
  return record;
}

// Two workers may record two regions in either order.
static void sink_sorts_dispatches_by_submission_and_start(void** state) {
  (void)state;
  mlxcel_dispatch_sink_t* sink = NULL;
  assert_true(iree_status_is_ok(mlxcel_dispatch_sink_create(&sink)));
  iree_hal_profile_host_execution_event_t records[5] = {record_of(1, 2, 10), record_of(2, 1, 30), record_of(3, 1, 20), record_of(4, 1, 20), record_of(5, 1, 0)};
  records[4].type = IREE_HAL_PROFILE_QUEUE_EVENT_TYPE_EXECUTE;  // the command buffer as a whole: no dispatch
  write_chunk(sink, IREE_HAL_PROFILE_CONTENT_TYPE_HOST_EXECUTION_EVENTS, records, sizeof(records), 3);
  write_chunk(sink, IREE_HAL_PROFILE_CONTENT_TYPE_QUEUE_EVENTS, records, sizeof(records), 0);
  size_t count = 0;
  const mlxcel_dispatch_event_t* events = mlxcel_dispatch_sink_events(sink, &count);
  assert_int_equal(count, 4);
  for (size_t i = 0; i < count; ++i) assert_int_equal(events[i].event_id, ((const uint64_t[]){3, 4, 2, 1})[i]);
  assert_true(events[0].workgroups == 6 && events[0].busy_ns == 7 && events[0].end_ns == 25);
  assert_int_equal(mlxcel_dispatch_sink_lost(sink), 3);
  mlxcel_dispatch_sink_clear(sink);
  mlxcel_dispatch_sink_events(sink, &count);
  assert_int_equal(count, 0);
  mlxcel_dispatch_sink_release(sink);
}

static void sink_reads_no_further_than_a_chunk(void** state) {
  (void)state;
  mlxcel_dispatch_sink_t* sink = NULL;
  assert_true(iree_status_is_ok(mlxcel_dispatch_sink_create(&sink)));
  struct {
    iree_hal_profile_executable_function_record_t record;
    char name[8];
  } function = {.record = iree_hal_profile_executable_function_record_default(), .name = "matmul"};
  function.record.record_length = sizeof(function);
  function.record.executable_id = 9;
  function.record.function_ordinal = 1;
  function.record.name_length = 6;
  iree_hal_profile_host_execution_event_t event = record_of(1, 1, 1);
  for (size_t size = 1; size < sizeof(function); ++size) write_chunk(sink, IREE_HAL_PROFILE_CONTENT_TYPE_EXECUTABLE_FUNCTIONS, &function, size, 0);
  for (size_t size = 1; size < sizeof(event); ++size) write_chunk(sink, IREE_HAL_PROFILE_CONTENT_TYPE_HOST_EXECUTION_EVENTS, &event, size, 0);
  function.record.name_length = 9;  // longer than the record
  write_chunk(sink, IREE_HAL_PROFILE_CONTENT_TYPE_EXECUTABLE_FUNCTIONS, &function, sizeof(function), 0);
  event.record_length = 0;
  write_chunk(sink, IREE_HAL_PROFILE_CONTENT_TYPE_HOST_EXECUTION_EVENTS, &event, sizeof(event), 0);
  size_t count = 1;
  mlxcel_dispatch_sink_events(sink, &count);
  assert_int_equal(count, 0);
  assert_string_equal(mlxcel_dispatch_sink_name(sink, 9, 1), "");
  function.record.name_length = 6;
  write_chunk(sink, IREE_HAL_PROFILE_CONTENT_TYPE_EXECUTABLE_FUNCTIONS, &function, sizeof(function), 0);
  assert_string_equal(mlxcel_dispatch_sink_name(sink, 9, 1), "matmul");
  assert_string_equal(mlxcel_dispatch_sink_name(sink, 8, 1), "");
  mlxcel_dispatch_sink_release(sink);
}

// --- reports ---------------------------------------------------------------------------------------------------------------------------------

static mlxcel_dispatch_row_t report_rows[] = {
    {.kernel = "matmul",
     .label = "matmul 8x9 f32 rows=1",
     .calls = 3,
     .workgroups = 96,
     .busy_ns = 4500000,
     .wall_ns = 3000000,
     .bytes = 36000000,
     .flops = 4500000,
     .known = MLXCEL_DISPATCH_KNOWS_BYTES | MLXCEL_DISPATCH_KNOWS_FLOPS},
    {.kernel = "copy \"x\"", .label = "copy", .calls = 1, .workgroups = 1, .busy_ns = 500000, .wall_ns = 500000},
};
static const mlxcel_dispatch_profile_t report_profile = {.worker_count = 2,
                                                         .calls = 4,
                                                         .wall_ns = 4000000,
                                                         .device_ns = 3500000,
                                                         .busy_ns = 5000000,
                                                         .gap_ns = 6000,
                                                         .outside_ns = 494000,
                                                         .submissions = 1,
                                                         .lost_calls = 7,
                                                         .row_count = 2,
                                                         .rows = report_rows};

static void profile_table_has_rates_shares_and_the_time_between(void** state) {
  (void)state;
  static const char expected[] =
      "kernel                   calls         ms  share     GB/s   GFLOP/s   busy\n"
      "matmul 8x9 f32 rows=1        3      3.000   75.0    12.00      1.50   75.0\n"
      "copy                         1      0.500   12.5        -         -   50.0\n"
      "in dispatches                4      3.500   87.5                      71.4\n"
      "between dispatches           3      0.006    0.2  2.000 us each\n"
      "outside                      1      0.494   12.4  494.000 us each submission\n"
      "wall                         4      4.000  100.0  2 workers\n"
      "7 more dispatches weren't recorded: the device's memory for them was full\n";
  mlxcel_strbuf_t table;
  mlxcel_strbuf_initialize(&table);
  mlxcel_dispatch_profile_write_table(&report_profile, &table);
  assert_true(iree_status_is_ok(mlxcel_strbuf_take_status(&table)));
  assert_string_equal(table.data, expected);
  mlxcel_strbuf_deinitialize(&table);
}

static void profile_json_is_json_with_null_for_what_is_unknown(void** state) {
  (void)state;
  mlxcel_strbuf_t json;
  mlxcel_strbuf_initialize(&json);
  mlxcel_dispatch_profile_write_json(&report_profile, &json);
  json_t* root = json_loads(json.data, JSON_REJECT_DUPLICATES, NULL);
  assert_non_null(root);
  const char *first_kernel = NULL, *first_label = NULL, *second_kernel = NULL;
  json_int_t workers = 0, lost = 0, calls = 0, bytes = 0;
  double share = 0, gb = 0, gflop = 0;
  json_t *unknown_bytes = NULL, *unknown_rate = NULL;
  assert_int_equal(json_unpack(root, "{s:I, s:I, s:[{s:s, s:s, s:I, s:I, s:f, s:f, s:f}, {s:s, s:o, s:o}]}", "workers", &workers, "lost_calls", &lost, "rows",
                               "kernel", &first_kernel, "label", &first_label, "calls", &calls, "bytes", &bytes, "share", &share, "gb_per_s", &gb,
                               "gflop_per_s", &gflop, "kernel", &second_kernel, "bytes", &unknown_bytes, "gflop_per_s", &unknown_rate),
                   0);
  assert_string_equal(first_kernel, "matmul");
  assert_string_equal(first_label, "matmul 8x9 f32 rows=1");
  assert_string_equal(second_kernel, "copy \"x\"");
  assert_true(workers == 2 && lost == 7 && calls == 3 && bytes == 36000000);
  assert_true(share == 0.75 && gb == 12.0 && gflop == 1.5);
  assert_true(json_is_null(unknown_bytes) && json_is_null(unknown_rate));
  json_decref(root);
  mlxcel_strbuf_deinitialize(&json);
}

static void profile_of_nothing_has_a_table_without_rows(void** state) {
  (void)state;
  const mlxcel_dispatch_profile_t empty = {.worker_count = 1};
  mlxcel_strbuf_t table;
  mlxcel_strbuf_initialize(&table);
  mlxcel_dispatch_profile_write_table(&empty, &table);
  assert_non_null(strstr(table.data, "between dispatches        0      0.000    0.0  0.000 us each\n"));
  mlxcel_strbuf_deinitialize(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plan_has_calls_in_their_order_with_the_constants_of_their_function),
      cmocka_unit_test(plan_of_a_cut_text_is_read_without_harm),
      cmocka_unit_test(sink_sorts_dispatches_by_submission_and_start),
      cmocka_unit_test(sink_reads_no_further_than_a_chunk),
      cmocka_unit_test(profile_table_has_rates_shares_and_the_time_between),
      cmocka_unit_test(profile_json_is_json_with_null_for_what_is_unknown),
      cmocka_unit_test(profile_of_nothing_has_a_table_without_rows),
  };
  return cmocka_run_group_tests_name("dispatch_plan", tests, NULL, NULL);
}
