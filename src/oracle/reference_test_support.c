#include "oracle/reference_test_support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/fs.h"
#include "base/log.h"
#include "oracle/reference_protocol.h"

char test_folder[4096];

void expect_ok(iree_status_t status) {
  if (!iree_status_is_ok(status)) iree_status_fprint(stderr, status);
  assert_int_equal(iree_status_consume_code(status), IREE_STATUS_OK);
}

// Consumes |status|; its text must contain |part|.
void expect_failure(iree_status_t status, iree_status_code_t code, const char* part) {
  char text[8192];
  mlxcel_status_text(status, text, sizeof(text));
  if (!strstr(text, part)) fail_msg("\"%s\" doesn't contain \"%s\"", text, part);
  assert_int_equal(iree_status_consume_code(status), code);
}

static size_t count_entries(const char* folder, const char* prefix) {
  DIR* directory = opendir(folder);
  assert_non_null(directory);
  size_t count = 0;
  for (struct dirent* entry; (entry = readdir(directory));) count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && entry->d_name[0] != '.';
  closedir(directory);
  return count;
}
size_t count_descriptors(void) { return count_entries("/proc/self/fd", ""); }
size_t count_temporary_folders(void) { return count_entries(test_folder, "mlxcel-reference-"); }

uint32_t random_state;
uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

// Slots 0, positions at the end of the cache, tokens inside the table, values about -2 .. 2.
static void fill(const mlxcel_operation_t* operation, mlxcel_host_tensor_t* tensor) {
  const char* name = tensor->type.name;
  uint64_t count = mlxcel_operand_element_count(&tensor->type);
  for (uint64_t i = 0; i < count; ++i) {
    if (tensor->type.dtype == MLXCEL_DTYPE_I32) {
      int32_t value = 0;
      if (strcmp(name, "positions") == 0) value = (int32_t)((operation->keys > operation->rows ? operation->keys - operation->rows : 0) + (int64_t)i);
      if (strcmp(name, "tokens") == 0) value = (int32_t)(next_random() % (uint32_t)operation->out_features);
      memcpy((char*)tensor->data + i * sizeof(value), &value, sizeof(value));
    } else if (tensor->type.dtype == MLXCEL_DTYPE_U8) {
      ((uint8_t*)tensor->data)[i] = (uint8_t)next_random();
    } else {
      mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)(next_random() % 4001) / 1000.0f - 2.0f);
    }
  }
}

void case_open(const mlxcel_operation_t* operation, uint32_t seed, case_t* out_case) {
  memset(out_case, 0, sizeof(*out_case));
  out_case->operation = *operation;
  mlxcel_operand_t types[MLXCEL_OPERANDS_MAX];
  expect_ok(mlxcel_reference_operands(operation, types, &out_case->count));
  random_state = seed;
  for (size_t i = 0; i < out_case->count; ++i) {
    expect_ok(mlxcel_host_tensor_allocate(&types[i], &out_case->operands[i]));
    fill(operation, &out_case->operands[i]);
  }
}

void case_close(case_t* c) {
  for (size_t i = 0; i < c->count; ++i) mlxcel_host_tensor_deinitialize(&c->operands[i]);
}

iree_status_t case_compute(mlxcel_reference_t* reference, const case_t* c, mlxcel_host_tensor_t* out_result) {
  return mlxcel_reference_compute(reference, &c->operation, c->count, c->operands, out_result);
}

mlxcel_operation_t operation_of(mlxcel_op_class_t op, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype) {
  mlxcel_operation_t operation;
  memset(&operation, 0, sizeof(operation));
  operation.op = op, operation.variant = variant;
  operation.dtype = operation.weight_dtype = operation.bias_dtype = dtype;
  operation.rows = 3, operation.in_features = 64, operation.out_features = 6;
  operation.heads = 4, operation.kv_heads = 2, operation.head_dim = 8, operation.keys = 7, operation.rope_dims = 6;
  operation.batch = 2, operation.in_h = 1, operation.in_w = 9, operation.kernel_h = 1, operation.kernel_w = 3;
  operation.stride_h = 1, operation.stride_w = 2, operation.pad_w_low = 1, operation.pad_w_high = 2;
  operation.epsilon = 1e-5f, operation.scale = 0.5f, operation.rope_base = 10000.0f;
  return operation;
}

bool is_all_zero(const mlxcel_host_tensor_t* tensor) {
  for (size_t i = 0; i < tensor->size; ++i) {
    if (((const uint8_t*)tensor->data)[i]) return false;
  }
  return true;
}

void test_folder_open(void) {
  char* folder = NULL;
  expect_ok(mlxcel_directory_create_temporary("/tmp", "mlxcel-test-reference-", &folder));
  snprintf(test_folder, sizeof(test_folder), "%s", folder);
  free(folder);
  setenv("TMPDIR", test_folder, 1);
}

void test_folder_close(void) {
  assert_int_equal(count_temporary_folders(), 0);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);  // no child is left, not even a zombie
  expect_ok(mlxcel_directory_remove(test_folder));
}
