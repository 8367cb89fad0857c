// Operation modules: host tensors of every dtype in and out, functions of the host, calls that don't fit. Needs the compiler.
#include "runtime/runtime.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/contract_version.h"
#include "runtime/device.h"
#include "runtime/operation_test_support.h"

enum { kOperands = 5 };

// What the operation takes and gives.
static const mlxcel_operand_t operand_types[kOperands] = {
    {.name = "a", .dtype = MLXCEL_DTYPE_I32, .rank = 1, .dims = {1}},    {.name = "bytes", .dtype = MLXCEL_DTYPE_U8, .rank = 2, .dims = {2, 3}},
    {.name = "b", .dtype = MLXCEL_DTYPE_BF16, .rank = 1, .dims = {3}},   {.name = "h", .dtype = MLXCEL_DTYPE_F16, .rank = 1, .dims = {2}},
    {.name = "f", .dtype = MLXCEL_DTYPE_F32, .rank = 2, .dims = {2, 1}},
};
static int32_t a_data[] = {100};
static uint8_t byte_data[] = {0, 127, 128, 255, 1, 200};  // both halves of the range
static uint16_t b_data[] = {0x3f80, 0x0001, 0xffc1};      // 1, the smallest subnormal, a NaN with a payload
static uint16_t h_data[] = {0x3c00, 0x8001};
static uint32_t f_data[] = {0x3f800000, 0x80000001};
static void* const operand_data[kOperands] = {a_data, byte_data, b_data, h_data, f_data};
static const size_t operand_sizes[kOperands] = {sizeof(a_data), sizeof(byte_data), sizeof(b_data), sizeof(h_data), sizeof(f_data)};

// What comes back of all but the first: backwards.
static const uint8_t byte_results[] = {128, 127, 0, 200, 1, 255};
static const uint16_t b_results[] = {0xffc1, 0x0001, 0x3f80};
static const uint16_t h_results[] = {0x8001, 0x3c00};
static const uint32_t f_results[] = {0x80000001, 0x3f800000};
static const void* const operand_results[kOperands] = {NULL, byte_results, b_results, h_results, f_results};

static void make_arguments(mlxcel_host_tensor_t arguments[kOperands]) {
  for (size_t i = 0; i < kOperands; ++i) arguments[i] = (mlxcel_host_tensor_t){.type = operand_types[i], .size = operand_sizes[i], .data = operand_data[i]};
}

typedef struct fixture_t {
  mlxcel_artifact_t artifact;
  mlxcel_device_t* device;
  mlxcel_module_t* module;
} fixture_t;

static int fixture_setup(void** state) {
  fixture_t* fixture = calloc(1, sizeof(*fixture));
  const mlxcel_program_options_t options = test_operation_options();
  test_operation_compile_good(&fixture->artifact);
  fixture->device = test_operation_device("local-sync", 0);
  TEST_ASSERT_OK(mlxcel_module_load(fixture->device, &fixture->artifact, NULL, &options, &fixture->module));
  *state = fixture;
  return 0;
}

static int fixture_teardown(void** state) {
  fixture_t* fixture = *state;
  mlxcel_module_unload(fixture->module);
  mlxcel_device_close(fixture->device);
  mlxcel_artifact_deinitialize(&fixture->artifact);
  free(fixture);
  return 0;
}

static void free_results(mlxcel_host_tensor_t results[kOperands]) {
  for (size_t i = 0; i < kOperands; ++i) mlxcel_host_tensor_deinitialize(&results[i]);
}

// --- what a call does --------------------------------------------------------------------------------------------------------------------------

static void expect_results(mlxcel_module_t* module) {
  mlxcel_host_tensor_t arguments[kOperands], results[kOperands];
  make_arguments(arguments);
  TEST_ASSERT_OK(mlxcel_module_call(module, kOperands, arguments, kOperands, results));
  const int32_t sum = 7 + 5 + 100;  // the initializer's host call, and the argument
  assert_int_equal(*(const int32_t*)results[0].data, sum);
  for (size_t i = 0; i < kOperands; ++i) {
    const mlxcel_operand_t* type = &results[i].type;
    assert_int_equal(type->dtype, operand_types[i].dtype);
    assert_int_equal(type->rank, operand_types[i].rank);
    assert_memory_equal(type->dims, operand_types[i].dims, type->rank * sizeof(type->dims[0]));
    assert_int_equal(results[i].size, operand_sizes[i]);
    if (i > 0) assert_memory_equal(results[i].data, operand_results[i], operand_sizes[i]);
  }
  free_results(results);
}

static void runtime_tensors_of_every_dtype_go_in_and_out_bit_for_bit(void** state) {
  const fixture_t* fixture = *state;
  for (int i = 0; i < 3; ++i) expect_results(fixture->module);
  assert_int_equal(a_data[0], 100);  // arguments are copied
}

static void runtime_kernels_call_functions_of_the_host(void** state) {
  (void)state;
  assert_int_equal(test_host_call_count(), 1);  // loading ran the initializer
}

static void runtime_modules_work_on_threads_and_side_by_side(void** state) {
  const fixture_t* fixture = *state;
  const mlxcel_program_options_t options = test_operation_options();
  mlxcel_device_t* device = test_operation_device("local-task", 2);
  mlxcel_module_t *first = NULL, *second = NULL;
  TEST_ASSERT_OK(mlxcel_module_load(device, &fixture->artifact, NULL, &options, &first));
  TEST_ASSERT_OK(mlxcel_module_load(device, &fixture->artifact, NULL, &options, &second));
  assert_int_equal(test_host_call_count(), 2);
  expect_results(first);
  mlxcel_module_unload(first);
  expect_results(second);
  mlxcel_module_unload(second);
  mlxcel_device_close(device);
}

// A dispatch that fails on a worker, here of a module's initializer, fails the call that waits for it; the device goes on.
static void runtime_failing_dispatch_is_the_error_of_its_call(void** state) {
  const fixture_t* fixture = *state;
  const mlxcel_program_options_t options = test_operation_options();
  static const uint32_t threads[] = {0, 1, 2, 8};
  for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); ++i) {
    mlxcel_device_t* device = test_operation_device(threads[i] ? "local-task" : "local-sync", threads[i]);
    mlxcel_module_t* module = NULL;
    test_host_set_result(1);
    iree_status_t status = mlxcel_module_load(device, &fixture->artifact, NULL, &options, &module);
    assert_false(iree_status_is_ok(status));
    iree_status_ignore(status);
    assert_null(module);
    assert_int_equal(test_host_call_count(), 1);
    test_host_set_result(0);
    TEST_ASSERT_OK(mlxcel_module_load(device, &fixture->artifact, NULL, &options, &module));
    expect_results(module);
    mlxcel_module_unload(module);
    mlxcel_device_close(device);
  }
}

enum { kDevices = 2, kCalls = 400 };

typedef struct caller_t {
  mlxcel_device_t* device;
  mlxcel_module_t* module;
  pthread_t thread;
  size_t equal_calls;
} caller_t;

// No assertions: cmocka's belong to the main thread.
static void* caller_run(void* argument) {
  caller_t* caller = argument;
  for (size_t i = 0; i < kCalls; ++i) {
    mlxcel_host_tensor_t arguments[kOperands], results[kOperands];
    make_arguments(arguments);
    iree_status_t status = mlxcel_module_call(caller->module, kOperands, arguments, kOperands, results);
    bool is_equal = iree_status_is_ok(status) && *(const int32_t*)results[0].data == 7 + 5 + 100;
    for (size_t r = 1; r < kOperands && is_equal; ++r) is_equal = memcmp(results[r].data, operand_results[r], operand_sizes[r]) == 0;
    iree_status_ignore(status);
    caller->equal_calls += is_equal;
    free_results(results);
  }
  return NULL;
}

static void runtime_devices_answer_many_short_calls_of_two_threads(void** state) {
  const fixture_t* fixture = *state;
  const mlxcel_program_options_t options = test_operation_options();
  caller_t callers[kDevices];
  for (size_t i = 0; i < kDevices; ++i) {
    callers[i] = (caller_t){.device = test_operation_device("local-task", 2)};
    TEST_ASSERT_OK(mlxcel_module_load(callers[i].device, &fixture->artifact, NULL, &options, &callers[i].module));
  }
  for (size_t i = 0; i < kDevices; ++i) assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_run, &callers[i]), 0);
  for (size_t i = 0; i < kDevices; ++i) pthread_join(callers[i].thread, NULL);
  for (size_t i = 0; i < kDevices; ++i) {
    assert_int_equal(callers[i].equal_calls, kCalls);
    mlxcel_module_unload(callers[i].module);
    mlxcel_device_close(callers[i].device);
  }
}

// --- what a call refuses -------------------------------------------------------------------------------------------------------------------------

// Expects a refusal that leaves no result; -1: any failure will do.
static void expect_call_refused(const fixture_t* fixture, size_t argument_count, const mlxcel_host_tensor_t* arguments, size_t result_count, int code,
                                const char* part) {
  mlxcel_host_tensor_t results[kOperands + 1];
  memset(results, 0x5a, sizeof(results));
  iree_status_t status = mlxcel_module_call(fixture->module, argument_count, arguments, result_count, results);
  for (size_t i = 0; i < result_count; ++i) assert_null(results[i].data);
  assert_false(iree_status_is_ok(status));
  if (code >= 0) {
    TEST_ASSERT_STATUS(status, (iree_status_code_t)code, part);
  } else {
    iree_status_ignore(status);
  }
  expect_results(fixture->module);  // the module is none the worse
}

static void runtime_arguments_that_are_no_tensors_are_refused_by_name(void** state) {
  const fixture_t* fixture = *state;
  mlxcel_host_tensor_t arguments[kOperands];
  make_arguments(arguments);
  arguments[1].size = 5;
  expect_call_refused(fixture, kOperands, arguments, kOperands, IREE_STATUS_INVALID_ARGUMENT, "argument 1 (bytes) has 5 bytes, its dtype and shape need 6");
  make_arguments(arguments);
  arguments[2].data = NULL;
  expect_call_refused(fixture, kOperands, arguments, kOperands, IREE_STATUS_INVALID_ARGUMENT, "argument 2 (b)");
  make_arguments(arguments);
  arguments[3].type.dims[0] = 0;
  expect_call_refused(fixture, kOperands, arguments, kOperands, IREE_STATUS_INVALID_ARGUMENT, "argument 3 (h)");
  make_arguments(arguments);
  arguments[4].type.rank = MLXCEL_OPERAND_RANK_MAX + 1;
  expect_call_refused(fixture, kOperands, arguments, kOperands, IREE_STATUS_INVALID_ARGUMENT, "argument 4 (f)");
  make_arguments(arguments);
  arguments[0].type.dtype = MLXCEL_DTYPE_COUNT;
  expect_call_refused(fixture, kOperands, arguments, kOperands, IREE_STATUS_INVALID_ARGUMENT, "argument 0 (a)");
}

static void runtime_arguments_of_other_types_than_the_function_has_are_refused(void** state) {
  const fixture_t* fixture = *state;
  mlxcel_host_tensor_t arguments[kOperands];
  make_arguments(arguments);
  arguments[2].type.dtype = MLXCEL_DTYPE_F16;  // as many bytes
  expect_call_refused(fixture, kOperands, arguments, kOperands, IREE_STATUS_INVALID_ARGUMENT, "element type");
  make_arguments(arguments);
  arguments[4].type.dims[0] = 1;
  arguments[4].type.dims[1] = 2;
  expect_call_refused(fixture, kOperands, arguments, kOperands, IREE_STATUS_INVALID_ARGUMENT, "shape");
  make_arguments(arguments);
  expect_call_refused(fixture, kOperands - 1, arguments, kOperands, -1, NULL);
}

static void runtime_another_number_of_results_is_refused(void** state) {
  const fixture_t* fixture = *state;
  mlxcel_host_tensor_t arguments[kOperands];
  make_arguments(arguments);
  expect_call_refused(fixture, kOperands, arguments, kOperands - 1, IREE_STATUS_INTERNAL, "gave 5 results, 4 were expected");
  expect_call_refused(fixture, kOperands, arguments, kOperands + 1, IREE_STATUS_INTERNAL, "gave 5 results, 6 were expected");
  expect_call_refused(fixture, kOperands, arguments, 0, IREE_STATUS_INTERNAL, "gave 5 results, 0 were expected");
}

// --- loading -----------------------------------------------------------------------------------------------------------------------------------

static void runtime_missing_host_function_is_named(void** state) {
  const fixture_t* fixture = *state;
  char* text = test_operation_text("operation", test_reflection(test_operation_fingerprint(), MLXCEL_CONTRACT_VERSION_TEXT), "", "mlxcel_test_absent");
  mlxcel_artifact_t artifact;
  test_operation_compile(text, NULL, &artifact);
  const mlxcel_program_options_t options = test_operation_options();
  size_t before = test_host_call_count();
  mlxcel_module_t* module = NULL;
  TEST_ASSERT_STATUS(mlxcel_module_load(fixture->device, &artifact, NULL, &options, &module), IREE_STATUS_UNIMPLEMENTED, "mlxcel_test_absent",
                     "host functions that this build doesn't have");
  assert_null(module);
  assert_int_equal(test_host_call_count(), before);
  mlxcel_artifact_deinitialize(&artifact);
  free(text);
  expect_results(fixture->module);
}

// The functions that every program has behind the names are the host kernels.
static void runtime_devices_find_the_host_kernels(void** state) {
  (void)state;
  const mlxcel_device_options_t options = {.name = IREE_SV("local-sync")};
  mlxcel_device_t* device = NULL;
  TEST_ASSERT_OK(mlxcel_device_open(&options, &device));
  assert_true(device->imports.find == mlxcel_host_kernel_find);
  mlxcel_device_close(device);
}

static void runtime_parameters_need_a_checkpoint(void** state) {
  const fixture_t* fixture = *state;
  mlxcel_artifact_t artifact = fixture->artifact;
  mlxcel_program_parameter_t parameter = {.key = (char[]){"w"}, .dtype = "F32", .byte_count = 4};
  artifact.interface.parameters = &parameter;
  artifact.interface.parameter_count = 1;
  const mlxcel_program_options_t options = test_operation_options();
  mlxcel_module_t* module = NULL;
  TEST_ASSERT_STATUS(mlxcel_module_load(fixture->device, &artifact, NULL, &options, &module), IREE_STATUS_INVALID_ARGUMENT, "1 parameters", "no checkpoint");
  assert_null(module);
}

#define MODULE_TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      MODULE_TEST(runtime_tensors_of_every_dtype_go_in_and_out_bit_for_bit),
      MODULE_TEST(runtime_kernels_call_functions_of_the_host),
      MODULE_TEST(runtime_modules_work_on_threads_and_side_by_side),
      MODULE_TEST(runtime_failing_dispatch_is_the_error_of_its_call),
      MODULE_TEST(runtime_devices_answer_many_short_calls_of_two_threads),
      MODULE_TEST(runtime_arguments_that_are_no_tensors_are_refused_by_name),
      MODULE_TEST(runtime_arguments_of_other_types_than_the_function_has_are_refused),
      MODULE_TEST(runtime_another_number_of_results_is_refused),
      MODULE_TEST(runtime_missing_host_function_is_named),
      MODULE_TEST(runtime_devices_find_the_host_kernels),
      MODULE_TEST(runtime_parameters_need_a_checkpoint),
  };
  return cmocka_run_group_tests_name("module", tests, test_operations_setup, test_operations_teardown);
}
