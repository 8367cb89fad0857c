// reference_test_support.h: what the tests of the MLX reference share: a folder of their own, statuses, and operations with made-up operands.
#ifndef MLXCEL_ORACLE_REFERENCE_TEST_SUPPORT_H_
#define MLXCEL_ORACLE_REFERENCE_TEST_SUPPORT_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle/mlx_reference.h"

extern char test_folder[4096];  // this process's TMPDIR between the two below
void test_folder_open(void);
void test_folder_close(void);  // also checks that no process and no folder of a reference is left

void expect_ok(iree_status_t status);
// Consumes |status|; its text must contain |part|.
void expect_failure(iree_status_t status, iree_status_code_t code, const char* part);

size_t count_descriptors(void);
size_t count_temporary_folders(void);  // of references

extern uint32_t random_state;
uint32_t next_random(void);

typedef struct case_t {
  mlxcel_operation_t operation;
  size_t count;
  mlxcel_host_tensor_t operands[MLXCEL_OPERANDS_MAX];
} case_t;
// Operands of |operation|: slots 0, positions at the end of the cache, tokens inside the table, values about -2 .. 2, the same for the same seed.
void case_open(const mlxcel_operation_t* operation, uint32_t seed, case_t* out_case);
void case_close(case_t* c);
iree_status_t case_compute(mlxcel_reference_t* reference, const case_t* c, mlxcel_host_tensor_t* out_result);

// Small sizes that fit every class.
mlxcel_operation_t operation_of(mlxcel_op_class_t op, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype);
bool is_all_zero(const mlxcel_host_tensor_t* tensor);

#endif  // MLXCEL_ORACLE_REFERENCE_TEST_SUPPORT_H_
