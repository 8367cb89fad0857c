// checkpoint_test_util.h: what this folder's tests share: statuses told apart by code and message, temporary folders, files, safetensors bytes.
#ifndef MLXCEL_CHECKPOINT_CHECKPOINT_TEST_UTIL_H_
#define MLXCEL_CHECKPOINT_CHECKPOINT_TEST_UTIL_H_

#include "base/base.h"

// cmocka.h needs the headers before it.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

// Fails with the status's message unless it is ok. Consumes |status|.
void expect_ok(iree_status_t status);
// Fails unless |status| has |code| and its message contains every one of the strings up to a NULL. Consumes |status|.
void expect_error(iree_status_t status, iree_status_code_t code, ...) __attribute__((sentinel));

// A fresh folder, removed with test_folder_remove; malloc'ed.
char* test_folder_create(void);
void test_folder_remove(char* folder);
void test_file_write(const char* folder, const char* name, const void* data, size_t size);
void test_text_write(const char* folder, const char* name, const char* text);
// A malloc'ed copy with its exact size, so that a sanitizer sees the first byte behind it.
uint8_t* test_bytes_copy(const void* data, size_t size);

// The bytes of a safetensors file: length field, |header|, then |body_size| bytes 0, 1, 2, ... malloc'ed.
uint8_t* test_safetensors_build(const char* header, size_t body_size, size_t* out_size);

// A tensor to write: [rows, columns], or [rows] if columns is 0; every byte is |fill|.
typedef struct test_tensor_t {
  const char* name;
  const char* dtype;
  uint32_t rows, columns;
  uint8_t fill;
} test_tensor_t;
void test_tensors_write(const char* folder, const char* name, const test_tensor_t* tensors, size_t count);

#endif  // MLXCEL_CHECKPOINT_CHECKPOINT_TEST_UTIL_H_
