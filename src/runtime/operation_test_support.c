#include "runtime/operation_test_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "artifact/compiler_identity.h"
#include "base/strbuf.h"
#include "build_identity.h"
#include "contract/contract_version.h"
#include "runtime/device.h"

static char* folder;
static test_request_t sample;

// The initializer must not be run by the compiler.
static const char* const flags[] = {"--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=x86-64-v3",
                                    "--iree-opt-const-eval=false"};

static const char* compiler(void) {
  const char* named = getenv("MLXCEL_XLA_IREE_COMPILE");
  return named && named[0] ? named : MLXCEL_DEFAULT_COMPILER;
}

int test_operations_setup(void** state) {
  (void)state;
  if (!mlxcel_compiler_is_present(compiler())) {
    print_error("no compiler at '%s': run scripts/setup.sh or set MLXCEL_XLA_IREE_COMPILE\n", compiler());
    return 1;
  }
  folder = test_folder_make();
  test_request_initialize(compiler(), &sample);
  test_request_set_operation(&sample);
  sample.request.flags = flags;
  sample.request.flag_count = IREE_ARRAYSIZE(flags);
  return 0;
}

int test_operations_teardown(void** state) {
  (void)state;
  test_request_deinitialize(&sample);
  test_folder_remove(folder);
  return 0;
}

const char* test_operations_folder(void) { return folder; }
const char* test_operation_fingerprint(void) { return sample.fingerprint.text; }

mlxcel_program_options_t test_operation_options(void) {
  return (mlxcel_program_options_t){.expected_fingerprint = sample.request.contract_fingerprint, .expected_contract = sample.request.contract_text};
}

// --- texts ---------------------------------------------------------------------------------------------------------------------------------

const char* test_reflection(const char* fingerprint, const char* version) {
  static char text[256];
  size_t size = (size_t)snprintf(text, sizeof(text), "attributes {iree.reflection = {");
  if (fingerprint) size += (size_t)snprintf(text + size, sizeof(text) - size, "\"mlxcel.contract\" = \"%s\"%s", fingerprint, version ? ", " : "");
  if (version) size += (size_t)snprintf(text + size, sizeof(text) - size, "\"mlxcel.contract.version\" = \"%s\"", version);
  snprintf(text + size, sizeof(text) - size, "}}");
  return text;
}

// The executable that calls the host function on one element.
static const char executable_format[] =
    "  stream.executable private @host {\n"
    "    stream.executable.export public @add workgroups(%%n: index) -> (index, index, index) {\n"
    "      %%c1 = arith.constant 1 : index\n"
    "      stream.return %%n, %%c1, %%c1 : index, index, index\n"
    "    }\n"
    "    builtin.module {\n"
    "      func.func private @%s(memref<i32>, index, memref<i32>, index, i32) attributes {llvm.bareptr = true}\n"
    "      func.func @add(%%a0: !stream.binding, %%a2: i32, %%a1: !stream.binding) {\n"
    "        %%c0 = arith.constant 0 : index\n"
    "        %%c1 = arith.constant 1 : index\n"
    "        %%m0 = stream.binding.subspan %%a0[%%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%%c1}\n"
    "        %%p0, %%o0, %%s0, %%t0 = memref.extract_strided_metadata %%m0 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index\n"
    "        %%m1 = stream.binding.subspan %%a1[%%c0] : !stream.binding -> memref<?xi32, strided<[1], offset: ?>>{%%c1}\n"
    "        %%p1, %%o1, %%s1, %%t1 = memref.extract_strided_metadata %%m1 : memref<?xi32, strided<[1], offset: ?>> -> memref<i32>, index, index, index\n"
    "        func.call @%s(%%p0, %%o0, %%p1, %%o1, %%a2) : (memref<i32>, index, memref<i32>, index, i32) -> ()\n"
    "        return\n"
    "      }\n"
    "    }\n"
    "  }\n";

static const char initializer_text[] =
    "  util.global private mutable @started : tensor<1xi32>\n"
    "  util.initializer {\n"
    "    %0 = arith.constant dense<7> : tensor<1xi32>\n"
    "    %1 = arith.constant 5 : i32\n"
    "    %2 = arith.constant 1 : index\n"
    "    %3 = flow.dispatch @host::@add[%2](%0, %1) : (tensor<1xi32>, i32) -> tensor<1xi32>\n"
    "    util.global.store %3, @started : tensor<1xi32>\n"
    "    util.return\n"
    "  }\n";

#define OPERATION_TYPES "tensor<1xi32>, tensor<2x3xi8>, tensor<3xbf16>, tensor<2xf16>, tensor<2x1xf32>"
static const char function_format[] =
    "  func.func @%s(%%0: tensor<1xi32>, %%1: tensor<2x3xi8>, %%2: tensor<3xbf16>, %%3: tensor<2xf16>, %%4: tensor<2x1xf32>) -> (" OPERATION_TYPES
    ") %s {\n"
    "    %%5 = util.global.load @started : tensor<1xi32>\n"
    "    %%6 = stablehlo.add %%5, %%0 : tensor<1xi32>\n"
    "    %%7 = stablehlo.reverse %%1, dims = [1] : tensor<2x3xi8>\n"
    "    %%8 = stablehlo.reverse %%2, dims = [0] : tensor<3xbf16>\n"
    "    %%9 = stablehlo.reverse %%3, dims = [0] : tensor<2xf16>\n"
    "    %%10 = stablehlo.reverse %%4, dims = [0] : tensor<2x1xf32>\n"
    "    return %%6, %%7, %%8, %%9, %%10 : " OPERATION_TYPES
    "\n"
    "  }\n";

char* test_operation_text(const char* function, const char* attributes, const char* extra, const char* import) {
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_strbuf_append_cstring(&text, "module @operation {\n");
  mlxcel_strbuf_append_format(&text, executable_format, import, import);
  mlxcel_strbuf_append_cstring(&text, initializer_text);
  mlxcel_strbuf_append_format(&text, function_format, function, attributes);
  mlxcel_strbuf_append_cstring(&text, extra);
  mlxcel_strbuf_append_cstring(&text, "}\n");
  TEST_ASSERT_OK(mlxcel_strbuf_take_status(&text));
  return mlxcel_strbuf_release(&text);
}

// --- modules -------------------------------------------------------------------------------------------------------------------------------

void test_operation_compile(const char* text, const mlxcel_program_interface_t* interface, mlxcel_artifact_t* out_artifact) {
  mlxcel_artifact_request_t request = sample.request;
  request.mlir_text = iree_make_cstring_view(text);
  if (interface) request.interface = interface;
  TEST_ASSERT_OK(mlxcel_artifact_obtain(test_path(folder, "cache"), &request, NULL, out_artifact));
}

void test_operation_compile_good(mlxcel_artifact_t* out_artifact) {
  char* text = test_operation_text("operation", test_reflection(test_operation_fingerprint(), MLXCEL_CONTRACT_VERSION_TEXT), "", TEST_HOST_FUNCTION);
  test_operation_compile(text, NULL, out_artifact);
  free(text);
}

// --- the host function -----------------------------------------------------------------------------------------------------------------------

static atomic_size_t host_calls;
static atomic_int host_result;

typedef struct host_add_arguments_t {
  const int32_t* in;
  size_t in_offset;
  int32_t* out;
  size_t out_offset;
  int32_t addend;
} host_add_arguments_t;

static int host_add(void* parameters, void* context, void* reserved) {
  (void)context;
  (void)reserved;
  const host_add_arguments_t* arguments = parameters;
  arguments->out[arguments->out_offset] = arguments->in[arguments->in_offset] + arguments->addend;
  atomic_fetch_add(&host_calls, 1);
  return atomic_load(&host_result);
}

static mlxcel_host_kernel_fn_t find_host_function(const char* symbol) { return strcmp(symbol, TEST_HOST_FUNCTION) == 0 ? host_add : NULL; }

mlxcel_device_t* test_operation_device(const char* name, uint32_t threads) {
  const mlxcel_device_options_t options = {.name = iree_make_cstring_view(name), .thread_count = threads};
  mlxcel_device_t* device = NULL;
  atomic_store(&host_calls, 0);
  atomic_store(&host_result, 0);
  TEST_ASSERT_OK(mlxcel_device_open_with_imports(&options, find_host_function, &device));
  return device;
}

size_t test_host_call_count(void) { return atomic_load(&host_calls); }

void test_host_set_result(int result) { atomic_store(&host_result, result); }
