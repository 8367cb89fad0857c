#include "checkpoint/safetensors.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checkpoint/checkpoint_test_util.h"

static iree_status_t parse(const char* header, size_t body_size) {
  size_t size = 0;
  uint8_t* bytes = test_safetensors_build(header, body_size, &size);
  mlxcel_safetensors_t* file = NULL;
  iree_status_t status = mlxcel_safetensors_parse(bytes, size, "test", &file);
  assert_true(iree_status_is_ok(status) == (file != NULL));
  mlxcel_safetensors_close(file);
  free(bytes);
  return status;
}

static iree_status_t open_fixture(const char* name, mlxcel_safetensors_t** out_file) {
  char path[512];
  snprintf(path, sizeof(path), "%s/safetensors/%s.safetensors", MLXCEL_TEST_DATA_DIR, name);
  iree_status_t status = mlxcel_safetensors_open(path, out_file);
  assert_true(iree_status_is_ok(status) == (*out_file != NULL));
  return status;
}

static void safetensors_refuses_each_header_that_lies(void** state) {
  (void)state;
  static const struct {
    const char* name;
    iree_status_code_t code;
    const char* part;
  } cases[] = {
      {"a_span_below_shape", IREE_STATUS_INVALID_ARGUMENT, "tensor t: data_offsets span 4 bytes, but its shape and dtype F32 need 4000000"},
      {"b_span_half_of_shape", IREE_STATUS_INVALID_ARGUMENT, "tensor t: data_offsets span 16 bytes, but its shape and dtype F64 need 32"},
      {"c_duplicate_key", IREE_STATUS_INVALID_ARGUMENT, "duplicate"},
      {"d_length_2_to_63", IREE_STATUS_INVALID_ARGUMENT, "header length 9223372036854775808 is over the limit of 100000000 bytes"},
      {"d_length_zero", IREE_STATUS_INVALID_ARGUMENT, "must start with '{'"},
      {"d_seven_bytes", IREE_STATUS_INVALID_ARGUMENT, "7 bytes are too short"},
      {"d_length_above_file", IREE_STATUS_DATA_LOSS, "header length 1000 is more than the 58 bytes that follow it"},
      {"e_begin_after_end", IREE_STATUS_INVALID_ARGUMENT, "tensor t: data_offsets begin (4) is after its end (0)"},
      {"e_hole", IREE_STATUS_INVALID_ARGUMENT, "tensor b starts at byte 6 of the data, but the tensors before it end at 4 (there is a hole)"},
      {"e_hole_at_start", IREE_STATUS_INVALID_ARGUMENT, "tensor b starts at byte 2 of the data, but the tensors before it end at 0 (there is a hole)"},
      {"e_overlap", IREE_STATUS_INVALID_ARGUMENT, "tensor b starts at byte 2 of the data, but the tensors before it end at 4 (they overlap)"},
      {"e_past_end", IREE_STATUS_DATA_LOSS, "tensor b ends at byte 8 of the data, but the file holds only 6"},
      {"e_tail", IREE_STATUS_INVALID_ARGUMENT, "2 bytes after the last tensor belong to none"},
      {"f_product_wraps", IREE_STATUS_INVALID_ARGUMENT, "tensor t: shape [4294967296,4294967296] of F32 is larger than 2^64 bytes"},
      {"f_bytes_wrap", IREE_STATUS_INVALID_ARGUMENT, "tensor t: shape [4611686018427387904] of F32 is larger than 2^64 bytes"},
      {"g_unknown_dtype", IREE_STATUS_INVALID_ARGUMENT, "tensor t: dtype \"Q4\" isn't known"},
      {"i_header_126_million", IREE_STATUS_INVALID_ARGUMENT, "header length 126000000 is over the limit of 100000000 bytes"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_safetensors_t* file = NULL;
    expect_error(open_fixture(cases[i].name, &file), cases[i].code, cases[i].name, cases[i].part, NULL);
  }
}

static void safetensors_loads_zero_size_tensors_and_scalars(void** state) {
  (void)state;
  mlxcel_safetensors_t* file = NULL;
  expect_ok(open_fixture("h_zero_size", &file));
  const mlxcel_tensor_t* tensor = mlxcel_safetensors_tensor_at(file, 0);
  assert_int_equal(tensor->rank, 2);
  assert_int_equal(tensor->shape[0], 0);
  assert_int_equal(tensor->shape[1], 8);
  assert_int_equal(tensor->element_count, 0);
  assert_int_equal(tensor->byte_count, 0);
  assert_non_null(tensor->data);
  mlxcel_safetensors_close(file);
  expect_ok(open_fixture("h_scalar", &file));
  tensor = mlxcel_safetensors_tensor_at(file, 0);
  assert_int_equal(tensor->rank, 0);
  assert_int_equal(tensor->element_count, 1);
  assert_int_equal(tensor->byte_count, 4);
  assert_int_equal(tensor->data[3], 3);
  mlxcel_safetensors_close(file);
}

static void safetensors_gives_names_shapes_and_bytes(void** state) {
  (void)state;
  // In the file's order c, a, empty, b; padded as writers do, with metadata.
  static const char header[] =
      "{\"__metadata__\":{\"format\":\"mlx\"},\"c\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]},"
      "\"a\":{\"shape\":[5],\"data_offsets\":[12,17],\"dtype\":\"U8\"},\"empty\":{\"dtype\":\"F32\",\"shape\":[4,0],\"data_offsets\":[17,17]},"
      "\"b\":{\"dtype\":\"I64\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[17,25]}}   ";
  size_t size = 0;
  uint8_t* bytes = test_safetensors_build(header, 25, &size);
  mlxcel_safetensors_t* file = NULL;
  expect_ok(mlxcel_safetensors_parse(bytes, size, "test", &file));
  assert_int_equal(mlxcel_safetensors_tensor_count(file), 4);
  static const char* const names[] = {"a", "b", "c", "empty"};
  for (size_t i = 0; i < 4; ++i) {
    const mlxcel_tensor_t* tensor = mlxcel_safetensors_tensor_at(file, i);
    assert_true(iree_string_view_equal(tensor->name, iree_make_cstring_view(names[i])));
    assert_ptr_equal(mlxcel_safetensors_find(file, tensor->name), tensor);
    assert_ptr_equal(tensor->data, bytes + tensor->file_offset);
    assert_int_equal(tensor->shard, 0);
  }
  assert_null(mlxcel_safetensors_tensor_at(file, 4));
  assert_null(mlxcel_safetensors_find(file, IREE_SV("d")));
  assert_null(mlxcel_safetensors_find(file, IREE_SV("")));
  const mlxcel_tensor_t* c = mlxcel_safetensors_find(file, IREE_SV("c"));
  assert_int_equal(c->dtype, MLXCEL_TENSOR_DTYPE_BF16);
  assert_int_equal(c->rank, 2);
  assert_int_equal(c->shape[0], 2);
  assert_int_equal(c->shape[1], 3);
  assert_int_equal(c->file_offset, 8 + sizeof(header) - 1);
  const mlxcel_tensor_t* b = mlxcel_safetensors_find(file, IREE_SV("b"));
  assert_int_equal(b->rank, 8);
  assert_int_equal(b->byte_count, 8);
  assert_int_equal(b->data[0], 17);
  mlxcel_safetensors_close(file);
  free(bytes);
}

static void safetensors_accepts_a_file_without_tensors(void** state) {
  (void)state;
  expect_ok(parse("{}", 0));
  expect_error(parse("{}", 1), IREE_STATUS_INVALID_ARGUMENT, "1 bytes after the last tensor", NULL);
}

// An empty tensor starts where the next one does; which of them the header names first is free.
static void safetensors_accepts_empty_tensors_in_any_order(void** state) {
  (void)state;
  static const char full[] = "\"f\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}";
  static const char empty[] = "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  char header[256];
  snprintf(header, sizeof(header), "{%s,%s}", full, empty);
  expect_ok(parse(header, 4));
  snprintf(header, sizeof(header), "{%s,%s}", empty, full);
  expect_ok(parse(header, 4));
  snprintf(header, sizeof(header), "{%s,\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]}}", full);
  expect_error(parse(header, 4), IREE_STATUS_INVALID_ARGUMENT, "tensor e starts at byte 2", NULL);
}

static void safetensors_refuses_malformed_entries_by_name(void** state) {
  (void)state;
  static const struct {
    const char* header;
    const char* part;
  } cases[] = {
      {"[]", "must start with '{'"},
      {" {}", "must start with '{'"},
      {"{", "not valid JSON"},
      {"{} x", "not valid JSON"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}", "not valid JSON"},
      {"{\"\xff\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "not valid JSON"},
      {"{\"t\":1}", "tensor t: its entry isn't a JSON object"},
      {"{\"t\":null}", "tensor t: its entry isn't a JSON object"},
      {"{\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "a tensor's name has 0 bytes"},
      {"{\"t\":{\"shape\":[1],\"data_offsets\":[0,1]}}", "tensor t: dtype (missing)"},
      {"{\"t\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,1]}}", "tensor t: dtype 3"},
      {"{\"t\":{\"dtype\":\"u8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "tensor t: dtype \"u8\""},
      {"{\"t\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}", "tensor t: dtype \"F8_E4M3\""},
      {"{\"t\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", "tensor t: 'shape' isn't an array"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", "tensor t: 'shape' isn't an array"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}", "tensor t: shape [-1]"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}", "tensor t: shape [1.0]"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[\"1\"],\"data_offsets\":[0,1]}}", "tensor t: shape [\"1\"]"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[18446744073709551615],\"data_offsets\":[0,1]}}", "too big integer"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", "tensor t: rank 9 is over the limit of 8"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1]}}", "tensor t: 'data_offsets' isn't an array of two"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", "tensor t: 'data_offsets' isn't an array of two"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,1]}}", "tensor t: 'data_offsets' isn't an array of two"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[-1,0]}}", "tensor t: 'data_offsets' isn't an array of two"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":{\"0\":0,\"1\":1}}}", "tensor t: 'data_offsets' isn't an array of two"},
      {"{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,9223372036854775807]}}", "tensor t: data_offsets span 9223372036854775807 bytes"},
      {"{\"__metadata__\":[]}", "'__metadata__' isn't an object of strings"},
      {"{\"__metadata__\":{\"n\":1}}", "'__metadata__' isn't an object of strings"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    expect_error(parse(cases[i].header, 1), IREE_STATUS_INVALID_ARGUMENT, "test: ", cases[i].part, NULL);
  }
  expect_error(parse("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"strides\":[1],\"data_offsets\":[0,1]}}", 1), IREE_STATUS_UNIMPLEMENTED,
               "tensor t: unknown key 'strides'", NULL);
}

static void safetensors_bounds_name_length_and_nesting(void** state) {
  (void)state;
  char header[4096];
  for (size_t length = MLXCEL_TENSOR_NAME_BYTES_MAX; length <= MLXCEL_TENSOR_NAME_BYTES_MAX + 1; ++length) {
    char name[MLXCEL_TENSOR_NAME_BYTES_MAX + 2];
    memset(name, 'n', length);
    name[length] = 0;
    snprintf(header, sizeof(header), "{\"%s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", name);
    iree_status_t status = parse(header, 1);
    if (length <= MLXCEL_TENSOR_NAME_BYTES_MAX) {
      expect_ok(status);
    } else {
      expect_error(status, IREE_STATUS_INVALID_ARGUMENT, "a tensor's name has 1025 bytes (nnn", "...", NULL);
    }
  }
  size_t size = 0;
  size += (size_t)snprintf(header, sizeof(header), "{\"t\":");
  for (int i = 0; i < 1000; ++i) header[size++] = '[';
  header[size] = 0;
  expect_error(parse(header, 0), IREE_STATUS_INVALID_ARGUMENT, "nested deeper than 64 levels", NULL);
}

static void safetensors_shows_no_control_characters_of_a_name(void** state) {
  (void)state;
  expect_error(parse("{\"\\u001b[2Jt\":1}", 0), IREE_STATUS_INVALID_ARGUMENT, "tensor \\x1b[2Jt: ", NULL);
}

static void safetensors_refuses_every_cut_of_a_file(void** state) {
  (void)state;
  size_t size = 0;
  uint8_t* bytes = test_safetensors_build(
      "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[16,19]}}", 19, &size);
  for (size_t cut = 0; cut < size; ++cut) {
    uint8_t* shorter = test_bytes_copy(bytes, cut);
    mlxcel_safetensors_t* file = NULL;
    iree_status_t status = mlxcel_safetensors_parse(shorter, cut, "test", &file);
    assert_false(iree_status_is_ok(status));
    assert_null(file);
    iree_status_ignore(status);
    free(shorter);
  }
  free(bytes);
}

// 126 MB of header, as one public model had: refused from the length alone.
static void safetensors_refuses_an_oversized_header_without_reading_it(void** state) {
  (void)state;
  char* folder = test_folder_create();
  const uint64_t length = 126000000;
  test_file_write(folder, "large.safetensors", &length, sizeof(length));
  char path[512];
  snprintf(path, sizeof(path), "%s/large.safetensors", folder);
  assert_int_equal(truncate(path, 126000008), 0);
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  mlxcel_safetensors_t* file = NULL;
  expect_error(mlxcel_safetensors_open(path, &file), IREE_STATUS_INVALID_ARGUMENT, "header length 126000000 is over the limit", NULL);
  getrusage(RUSAGE_SELF, &after);
  assert_true(after.ru_maxrss - before.ru_maxrss < 16 * 1024);
  test_folder_remove(folder);
}

static void safetensors_names_files_that_cannot_be_opened(void** state) {
  (void)state;
  char* folder = test_folder_create();
  char path[512];
  snprintf(path, sizeof(path), "%s/none.safetensors", folder);
  mlxcel_safetensors_t* file = NULL;
  expect_error(mlxcel_safetensors_open(path, &file), IREE_STATUS_NOT_FOUND, path, NULL);
  expect_error(mlxcel_safetensors_open(folder, &file), IREE_STATUS_INVALID_ARGUMENT, folder, "not a regular file", NULL);
  test_text_write(folder, "none.safetensors", "");
  expect_error(mlxcel_safetensors_open(path, &file), IREE_STATUS_INVALID_ARGUMENT, path, "0 bytes are too short", NULL);
  test_folder_remove(folder);
}

static void dtype_names_and_sizes_agree_with_the_format(void** state) {
  (void)state;
  static const struct {
    const char* name;
    uint32_t bytes;
    bool is_float;
  } types[] = {{"F64", 8, false}, {"F32", 4, true},  {"F16", 2, true},  {"BF16", 2, true}, {"I64", 8, false}, {"I32", 4, false}, {"I16", 2, false},
               {"I8", 1, false},  {"U64", 8, false}, {"U32", 4, false}, {"U16", 2, false}, {"U8", 1, false},  {"BOOL", 1, false}};
  assert_int_equal(IREE_ARRAYSIZE(types), MLXCEL_TENSOR_DTYPE_COUNT);
  for (size_t i = 0; i < IREE_ARRAYSIZE(types); ++i) {
    mlxcel_tensor_dtype_t dtype;
    assert_true(mlxcel_tensor_dtype_parse(iree_make_cstring_view(types[i].name), &dtype));
    assert_string_equal(mlxcel_tensor_dtype_name(dtype), types[i].name);
    assert_int_equal(mlxcel_tensor_dtype_byte_count(dtype), types[i].bytes);
    assert_int_equal(mlxcel_tensor_dtype_is_float(dtype), types[i].is_float);
  }
  static const char* const unknown[] = {"", "F", "F3", "F322", "f32", "F8_E5M2", "F4", "C64"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(unknown); ++i) {
    mlxcel_tensor_dtype_t dtype;
    assert_false(mlxcel_tensor_dtype_parse(iree_make_cstring_view(unknown[i]), &dtype));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(safetensors_refuses_each_header_that_lies),      cmocka_unit_test(safetensors_loads_zero_size_tensors_and_scalars),
      cmocka_unit_test(safetensors_gives_names_shapes_and_bytes),       cmocka_unit_test(safetensors_accepts_a_file_without_tensors),
      cmocka_unit_test(safetensors_accepts_empty_tensors_in_any_order), cmocka_unit_test(safetensors_refuses_malformed_entries_by_name),
      cmocka_unit_test(safetensors_bounds_name_length_and_nesting),     cmocka_unit_test(safetensors_shows_no_control_characters_of_a_name),
      cmocka_unit_test(safetensors_refuses_every_cut_of_a_file),        cmocka_unit_test(safetensors_refuses_an_oversized_header_without_reading_it),
      cmocka_unit_test(safetensors_names_files_that_cannot_be_opened),  cmocka_unit_test(dtype_names_and_sizes_agree_with_the_format),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
