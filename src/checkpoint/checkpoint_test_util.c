#include "checkpoint/checkpoint_test_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/strbuf.h"
#include "checkpoint/tensor_dtype.h"

// The status as text, malloc'ed; consumes it.
static char* status_text(iree_status_t status) {
  iree_host_size_t size = 0;
  iree_status_format(status, 0, NULL, &size);
  char* text = malloc(size + 1);
  assert_non_null(text);
  assert_true(iree_status_format(status, size + 1, text, &size));
  text[size] = 0;
  iree_status_ignore(status);
  return text;
}

void expect_ok(iree_status_t status) {
  if (iree_status_is_ok(status)) return;
  fail_msg("unexpected error: %s", status_text(status));
}

void expect_error(iree_status_t status, iree_status_code_t code, ...) {
  if (iree_status_is_ok(status)) fail_msg("no error where one was expected");
  iree_status_code_t actual = iree_status_code(status);
  char* text = status_text(status);
  if (actual != code) fail_msg("expected code %s, got: %s", iree_status_code_string(code), text);
  va_list args;
  va_start(args, code);
  for (const char* part = va_arg(args, const char*); part; part = va_arg(args, const char*)) {
    if (!strstr(text, part)) fail_msg("expected '%s' in: %s", part, text);
  }
  va_end(args);
  free(text);
}

char* test_folder_create(void) {
  char* folder = NULL;
  const char* parent = getenv("TMPDIR");
  expect_ok(mlxcel_directory_create_temporary(parent ? parent : "/tmp", "mlxcel-checkpoint-", &folder));
  return folder;
}

void test_folder_remove(char* folder) {
  expect_ok(mlxcel_directory_remove(folder));
  free(folder);
}

void test_file_write(const char* folder, const char* name, const void* data, size_t size) {
  char* path = NULL;
  expect_ok(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  free(path);
}

void test_text_write(const char* folder, const char* name, const char* text) { test_file_write(folder, name, text, strlen(text)); }

uint8_t* test_bytes_copy(const void* data, size_t size) {
  uint8_t* copy = malloc(size ? size : 1);
  assert_non_null(copy);
  if (size > 0) memcpy(copy, data, size);
  return copy;
}

uint8_t* test_safetensors_build(const char* header, size_t body_size, size_t* out_size) {
  size_t header_size = strlen(header);
  *out_size = 8 + header_size + body_size;
  uint8_t* bytes = malloc(*out_size);
  assert_non_null(bytes);
  for (size_t i = 0; i < 8; ++i) bytes[i] = (uint8_t)((uint64_t)header_size >> (8 * i));
  memcpy(bytes + 8, header, header_size);
  for (size_t i = 0; i < body_size; ++i) bytes[8 + header_size + i] = (uint8_t)i;
  return bytes;
}

static size_t test_tensor_bytes(const test_tensor_t* tensor) {
  mlxcel_tensor_dtype_t dtype;
  assert_true(mlxcel_tensor_dtype_parse(iree_make_cstring_view(tensor->dtype), &dtype));
  return (size_t)tensor->rows * (tensor->columns ? tensor->columns : 1) * mlxcel_tensor_dtype_byte_count(dtype);
}

void test_tensors_write(const char* folder, const char* name, const test_tensor_t* tensors, size_t count) {
  mlxcel_strbuf_t header;
  mlxcel_strbuf_initialize(&header);
  size_t body_size = 0;
  for (size_t i = 0; i < count; ++i) {
    size_t end = body_size + test_tensor_bytes(&tensors[i]);
    mlxcel_strbuf_append_format(&header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%u", i ? "," : "{", tensors[i].name, tensors[i].dtype, tensors[i].rows);
    if (tensors[i].columns) mlxcel_strbuf_append_format(&header, ",%u", tensors[i].columns);
    mlxcel_strbuf_append_format(&header, "],\"data_offsets\":[%zu,%zu]}", body_size, end);
    body_size = end;
  }
  mlxcel_strbuf_append_cstring(&header, count ? "}" : "{}");
  size_t size = 0;
  uint8_t* bytes = test_safetensors_build(mlxcel_strbuf_view(&header).data, body_size, &size);
  uint8_t* body = bytes + size - body_size;
  for (size_t i = 0; i < count; ++i) {
    memset(body, tensors[i].fill, test_tensor_bytes(&tensors[i]));
    body += test_tensor_bytes(&tensors[i]);
  }
  test_file_write(folder, name, bytes, size);
  free(bytes);
  mlxcel_strbuf_deinitialize(&header);
}
