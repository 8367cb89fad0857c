// Known issue: the pinned compiler merges two mutable globals that start with the same value.
//
// Two globals, each of which gets another element in a step, are read back. With equal initial values the compiler first merges the initial constants, then the
// globals; both names then mean one buffer. This is why the KV cache is an argument that aliases a result and not a pair of mutable globals (DESIGN.md 4.3).
// The test passes while the miscompile is there and says what to do once it isn't.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "artifact/compile_process.h"
#include "base/fs.h"
#include "iree/modules/hal/module.h"
#include "iree/vm/bytecode/module.h"
#include "runtime/device.h"
#include "support/compiled_model.h"

enum { kSize = 4 };

// A step sets a[1] = 1 and b[2] = 2 in place. %s: the elements of the initial values.
static const char module_format[] =
    "module @known_issue {\n"
    "  util.global private mutable @a = dense<%s> : tensor<4xf32>\n"
    "  util.global private mutable @b = dense<%s> : tensor<4xf32>\n"
    "  func.func @step() {\n"
    "    %%at_a = arith.constant dense<1> : tensor<i32>\n"
    "    %%at_b = arith.constant dense<2> : tensor<i32>\n"
    "    %%one = arith.constant dense<1.0> : tensor<1xf32>\n"
    "    %%two = arith.constant dense<2.0> : tensor<1xf32>\n"
    "    %%a = util.global.load @a : tensor<4xf32>\n"
    "    %%b = util.global.load @b : tensor<4xf32>\n"
    "    %%new_a = stablehlo.dynamic_update_slice %%a, %%one, %%at_a : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>\n"
    "    %%new_b = stablehlo.dynamic_update_slice %%b, %%two, %%at_b : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>\n"
    "    util.global.store %%new_a, @a : tensor<4xf32>\n"
    "    util.global.store %%new_b, @b : tensor<4xf32>\n"
    "    return\n"
    "  }\n"
    "  func.func @read() -> (tensor<4xf32>, tensor<4xf32>) {\n"
    "    %%a = util.global.load @a : tensor<4xf32>\n"
    "    %%b = util.global.load @b : tensor<4xf32>\n"
    "    return %%a, %%b : tensor<4xf32>, tensor<4xf32>\n"
    "  }\n"
    "}\n";

typedef struct globals_t {
  float a[kSize], b[kSize];
} globals_t;

// Calls |name|, which takes nothing; the results that it has go to |out|.
static void call(iree_vm_context_t* context, iree_vm_module_t* module, const char* name, globals_t* out) {
  iree_vm_function_t function;
  compiled_model_expect_ok(iree_vm_module_lookup_function_by_name(module, IREE_VM_FUNCTION_LINKAGE_EXPORT, iree_make_cstring_view(name), &function));
  iree_vm_list_t* outputs = NULL;
  compiled_model_expect_ok(iree_vm_list_create(iree_vm_make_undefined_type_def(), 2, iree_allocator_system(), &outputs));
  compiled_model_expect_ok(iree_vm_invoke(context, function, IREE_VM_INVOCATION_FLAG_NONE, NULL, NULL, outputs, iree_allocator_system()));
  for (size_t i = 0; i < iree_vm_list_size(outputs); ++i) {
    iree_hal_buffer_t* buffer = iree_hal_buffer_view_buffer(iree_vm_list_get_buffer_view_assign(outputs, i));
    compiled_model_expect_ok(iree_hal_buffer_map_read(buffer, 0, i ? out->b : out->a, sizeof(out->a)));
  }
  iree_vm_list_release(outputs);
}

// One step and then a look at both globals.
static globals_t run(const mlxcel_mapped_file_t* vmfb) {
  const mlxcel_device_options_t options = {.name = IREE_SV("local-sync")};
  mlxcel_device_t* device = NULL;
  iree_vm_module_t *hal = NULL, *module = NULL;
  iree_vm_context_t* context = NULL;
  compiled_model_expect_ok(mlxcel_device_open(&options, &device));
  compiled_model_expect_ok(iree_hal_module_create(device->instance, iree_hal_module_device_policy_default(), device->group, IREE_HAL_MODULE_FLAG_NONE,
                                                  iree_hal_module_debug_sink_null(), device->allocator, &hal));
  compiled_model_expect_ok(iree_vm_bytecode_module_create(device->instance, IREE_VM_BYTECODE_MODULE_FLAG_NONE,
                                                          iree_make_const_byte_span(vmfb->data, vmfb->size), iree_allocator_null(), device->allocator,
                                                          &module));
  iree_vm_module_t* modules[] = {hal, module};
  compiled_model_expect_ok(iree_vm_context_create_with_modules(device->instance, IREE_VM_CONTEXT_FLAG_NONE, 2, modules, device->allocator, &context));
  globals_t result = {{0}, {0}};
  call(context, module, "step", &result);
  call(context, module, "read", &result);
  iree_vm_context_release(context);
  iree_vm_module_release(module);
  iree_vm_module_release(hal);
  mlxcel_device_close(device);
  print_message("a = [%g, %g, %g, %g], b = [%g, %g, %g, %g]\n", (double)result.a[0], (double)result.a[1], (double)result.a[2], (double)result.a[3],
                (double)result.b[0], (double)result.b[1], (double)result.b[2], (double)result.b[3]);
  return result;
}

static void compile(const char* text, mlxcel_mapped_file_t* out_vmfb) {
  char *folder = compiled_models_new_folder(), path[512];
  snprintf(path, sizeof(path), "%s/module.mlir", folder);
  compiled_model_expect_ok(mlxcel_file_publish(path, text, strlen(text)));
  const char* arguments[16] = {"module.mlir", "-o", "module.vmfb"};
  size_t flag_count = 0;
  const char* const* flags = mlxcel_kernel_compile_flags(MLXCEL_KERNEL_LEVEL_V3, &flag_count);
  assert_true(3 + flag_count <= 16);
  memcpy(arguments + 3, flags, flag_count * sizeof(*flags));
  mlxcel_compile_process_options_t options;
  mlxcel_compile_process_options_initialize(&options);
  options.program = compiled_models_compiler();
  options.folder = folder;
  options.argument_count = 3 + flag_count;
  options.arguments = arguments;
  mlxcel_compile_process_result_t result;
  compiled_model_expect_ok(mlxcel_compile_process_run(&options, &result));
  if (result.exit_code != 0 || result.signal_number != 0) fail_msg("the compiler failed: %s", result.output);
  mlxcel_compile_process_result_deinitialize(&result);
  snprintf(path, sizeof(path), "%s/module.vmfb", folder);
  compiled_model_expect_ok(mlxcel_mapped_file_open(path, 1u << 24, out_vmfb));
  free(folder);
}

static globals_t compile_and_run(const char* initial_a, const char* initial_b) {
  char text[4096];
  snprintf(text, sizeof(text), module_format, initial_a, initial_b);
  mlxcel_mapped_file_t vmfb;
  compile(text, &vmfb);
  globals_t result = run(&vmfb);
  mlxcel_mapped_file_close(&vmfb);
  return result;
}

static bool are_right(const globals_t* globals) {
  static const globals_t right = {{0, 1, 0, 0}, {0, 0, 2, 0}};
  for (int i = 0; i < kSize; ++i) {
    if (globals->a[i] != right.a[i] || globals->b[i] != right.b[i]) return false;  // 0 and -0 are equal here
  }
  return true;
}

static void known_issue_globals_of_equal_initial_value_are_merged(void** state) {
  (void)state;
  globals_t result = compile_and_run("0.0", "0.0");
  if (are_right(&result)) {
    fail_msg(
        "this compiler keeps mutable globals of equal initial value apart: the known issue is closed. Remove its entry in KNOWN_ISSUES.md and this test, "
        "tests/known_issues/mutable_globals_test.c; whether caches become globals is then open again");
  }
  static const globals_t merged = {{0, 1, 2, 0}, {0, 1, 2, 0}};
  assert_memory_equal(&result, &merged, sizeof(merged));  // it is this miscompile and no other
}

// The same module, right, as soon as the initial bits differ: it isn't the test that is wrong.
static void known_issue_globals_of_different_initial_bits_are_right(void** state) {
  (void)state;
  globals_t result = compile_and_run("0.0", "-0.0");
  assert_true(are_right(&result));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_issue_globals_of_equal_initial_value_are_merged),
      cmocka_unit_test(known_issue_globals_of_different_initial_bits_are_right),
  };
  return cmocka_run_group_tests_name("known_issue_mutable_globals", tests, compiled_models_setup, compiled_models_teardown);
}
