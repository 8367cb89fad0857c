// operation_test_support.h: small modules in MLIR, compiled with the real compiler under a sample contract, and a host function that counts its calls.
//
// The operation: @operation(a: tensor<1xi32>, bytes: tensor<2x3xi8>, b: tensor<3xbf16>, h: tensor<2xf16>, f: tensor<2x1xf32>) -> (a + started, and the
// others with their last dimension backwards, f with its first);
// |started| is what the host function made of 7 and 5 when the module was initialized. So a count of 0 shows that nothing of a module has run.
#ifndef MLXCEL_RUNTIME_OPERATION_TEST_SUPPORT_H_
#define MLXCEL_RUNTIME_OPERATION_TEST_SUPPORT_H_

#include "artifact/artifact_test_support.h"
#include "kernels/host/host_kernels.h"
#include "runtime/runtime.h"

#define TEST_HOST_FUNCTION "mlxcel_test_add"

// One scratch folder and cache a test program: the group's setup fails, with a line printed, where there is no compiler.
int test_operations_setup(void** state);
int test_operations_teardown(void** state);
const char* test_operations_folder(void);

// The fingerprint of the sample contract, and of another one.
const char* test_operation_fingerprint(void);
#define TEST_OTHER_FINGERPRINT "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// "attributes {iree.reflection = {...}}" with this fingerprint and version, either NULL to leave it out. In a static buffer of its own until the next call.
const char* test_reflection(const char* fingerprint, const char* version);
// The module's text, malloc'ed: the operation under the name |function|, with |attributes|, and |extra| behind it. It calls the host function |import|.
char* test_operation_text(const char* function, const char* attributes, const char* extra, const char* import);

// Compiles |text| for |interface| (NULL: an operation without parameters). Fails the test if it can't.
void test_operation_compile(const char* text, const mlxcel_program_interface_t* interface, mlxcel_artifact_t* out_artifact);
// The module that all is right with.
void test_operation_compile_good(mlxcel_artifact_t* out_artifact);
// What asks for the sample contract.
mlxcel_program_options_t test_operation_options(void);

// A device whose modules find the host function, and the number of its calls since the device was opened.
mlxcel_device_t* test_operation_device(const char* name, uint32_t threads);
size_t test_host_call_count(void);
// What it returns from now on, 0 unless set: anything else makes the dispatch that calls it fail. Opening a device sets 0.
void test_host_set_result(int result);

#endif  // MLXCEL_RUNTIME_OPERATION_TEST_SUPPORT_H_
