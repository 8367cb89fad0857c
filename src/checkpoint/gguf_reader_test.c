#include "checkpoint/gguf_reader.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_gguf_builder.h"
#include "checkpoint/checkpoint_test_util.h"
#include "checkpoint/gguf_value.h"

static const uint64_t shape_32[] = {32};

// Parses what |builder| makes; the bytes have their exact size, so that a sanitizer sees a read behind them.
static iree_status_t parse(const gguf_builder_t* builder) {
  size_t size = 0;
  uint8_t* bytes = gguf_builder_finish(builder, &size);
  mlxcel_gguf_t* file = NULL;
  iree_status_t status = mlxcel_gguf_parse(bytes, size, "m.gguf", &file);
  assert_true(iree_status_is_ok(status) == (file != NULL));
  mlxcel_gguf_close(file);
  free(bytes);
  return status;
}

static void start(gguf_builder_t* builder) {
  gguf_builder_initialize(builder);
  gguf_add_u32(builder, "a.key", 7);
}

static void add_vector(gguf_builder_t* builder, const char* name) { gguf_add_tensor(builder, name, MLXCEL_GGUF_TENSOR_F32, 1, shape_32, NULL, 128); }

// The file must be refused with |code| and a message with |part|.
static void expect_refused(gguf_builder_t* builder, iree_status_code_t code, const char* part) {
  expect_error(parse(builder), code, "m.gguf", part, NULL);
  gguf_builder_deinitialize(builder);
}

static void gguf_reader_gives_every_kind_of_value(void** state) {
  (void)state;
  gguf_builder_t builder;
  gguf_builder_initialize(&builder);
  const int8_t i8 = -3;
  const uint16_t u16 = 65535;
  const int64_t i64 = -5000000000, positive = 5000000000;
  const double f64 = 0.1;
  const char* const words[] = {"", "two", "three"};
  gguf_add_raw(&builder, "i8", MLXCEL_GGUF_VALUE_I8, &i8, 1);
  gguf_add_raw(&builder, "u16", MLXCEL_GGUF_VALUE_U16, &u16, 2);
  gguf_add_raw(&builder, "i64", MLXCEL_GGUF_VALUE_I64, &i64, 8);
  gguf_add_raw(&builder, "positive", MLXCEL_GGUF_VALUE_I64, &positive, 8);
  gguf_add_raw(&builder, "f64", MLXCEL_GGUF_VALUE_F64, &f64, 8);
  gguf_add_f32(&builder, "f32", 1.5f);
  gguf_add_bool(&builder, "bool", true);
  gguf_add_string(&builder, "string", "text");
  gguf_add_strings(&builder, "strings", words, 3);
  add_vector(&builder, "t");
  size_t size = 0;
  uint8_t* bytes = gguf_builder_finish(&builder, &size);
  mlxcel_gguf_t* file = NULL;
  expect_ok(mlxcel_gguf_parse(bytes, size, "m.gguf", &file));
  uint64_t integer = 0;
  expect_ok(mlxcel_gguf_read_u64(file, "u16", UINT64_MAX, &integer));
  assert_int_equal(integer, 65535);
  expect_ok(mlxcel_gguf_read_u64(file, "positive", UINT64_MAX, &integer));
  assert_int_equal(integer, positive);
  expect_ok(mlxcel_gguf_read_u64(file, "absent", UINT64_MAX, &integer));
  assert_int_equal(integer, positive);
  expect_error(mlxcel_gguf_read_u64(file, "i8", UINT64_MAX, &integer), IREE_STATUS_INVALID_ARGUMENT, "m.gguf: i8 = -3 (i8)", "integer", NULL);
  expect_error(mlxcel_gguf_read_u64(file, "i64", UINT64_MAX, &integer), IREE_STATUS_INVALID_ARGUMENT, "i64 = -5000000000 (i64)", NULL);
  expect_error(mlxcel_gguf_read_u64(file, "u16", 65534, &integer), IREE_STATUS_INVALID_ARGUMENT, "u16 = 65535 (u16)", "0 to 65534", NULL);
  expect_error(mlxcel_gguf_read_u64(file, "string", 9, &integer), IREE_STATUS_INVALID_ARGUMENT, "string = \"text\" (string)", NULL);
  double real = 0;
  expect_ok(mlxcel_gguf_read_f64(file, "f64", &real));
  assert_true(real == 0.1);
  expect_ok(mlxcel_gguf_read_f64(file, "f32", &real));
  assert_true(real == 1.5);
  expect_error(mlxcel_gguf_read_f64(file, "bool", &real), IREE_STATUS_INVALID_ARGUMENT, "bool = true (bool)", "float", NULL);
  bool boolean = false;
  expect_ok(mlxcel_gguf_read_bool(file, "bool", &boolean));
  assert_true(boolean);
  iree_string_view_t text;
  expect_ok(mlxcel_gguf_read_string(file, "string", 4, &text));
  assert_true(iree_string_view_equal(text, IREE_SV("text")));
  expect_error(mlxcel_gguf_read_string(file, "string", 3, &text), IREE_STATUS_INVALID_ARGUMENT, "at most 3 bytes", NULL);
  const mlxcel_gguf_value_t* array = NULL;
  expect_ok(mlxcel_gguf_read_array(file, "strings", MLXCEL_GGUF_VALUE_STRING, 3, &array));
  uint64_t cursor = 0;
  for (size_t i = 0; i < 3; ++i) assert_true(iree_string_view_equal(mlxcel_gguf_array_next_string(array, &cursor), iree_make_cstring_view(words[i])));
  expect_error(mlxcel_gguf_read_array(file, "strings", MLXCEL_GGUF_VALUE_I32, 3, &array), IREE_STATUS_INVALID_ARGUMENT, "array of 3 (string)", NULL);
  expect_error(mlxcel_gguf_read_array(file, "strings", MLXCEL_GGUF_VALUE_STRING, 2, &array), IREE_STATUS_INVALID_ARGUMENT, "at most 2 elements", NULL);
  mlxcel_gguf_close(file);
  free(bytes);
  gguf_builder_deinitialize(&builder);
}

static void gguf_reader_refuses_numbers_that_are_not_finite(void** state) {
  (void)state;
  gguf_builder_t builder;
  start(&builder);
  gguf_add_f32(&builder, "nan", __builtin_nanf(""));
  add_vector(&builder, "t");
  size_t size = 0;
  uint8_t* bytes = gguf_builder_finish(&builder, &size);
  mlxcel_gguf_t* file = NULL;
  double real = 0;
  expect_ok(mlxcel_gguf_parse(bytes, size, "m.gguf", &file));
  expect_error(mlxcel_gguf_read_f64(file, "nan", &real), IREE_STATUS_INVALID_ARGUMENT, "nan = ", "finite", NULL);
  mlxcel_gguf_close(file);
  free(bytes);
  gguf_builder_deinitialize(&builder);
}

static void gguf_reader_places_tensors(void** state) {
  (void)state;
  gguf_builder_t builder;
  start(&builder);
  builder.version = 2;
  builder.alignment = 64;
  gguf_add_u32(&builder, "general.alignment", 64);
  const uint64_t matrix[] = {3, 32};
  uint8_t block[96];
  memset(block, 0xab, sizeof(block));
  add_vector(&builder, "z");
  gguf_add_tensor(&builder, "a", MLXCEL_GGUF_TENSOR_Q4_1, 2, matrix, block, 60);
  size_t size = 0;
  uint8_t* bytes = gguf_builder_finish(&builder, &size);
  mlxcel_gguf_t* file = NULL;
  expect_ok(mlxcel_gguf_parse(bytes, size, "m.gguf", &file));
  assert_int_equal(mlxcel_gguf_tensor_count(file), 2);
  const mlxcel_gguf_tensor_t* tensor = mlxcel_gguf_tensor_at(file, 0);
  assert_true(iree_string_view_equal(tensor->name, IREE_SV("a")));
  assert_ptr_equal(tensor, mlxcel_gguf_find_tensor(file, IREE_SV("a")));
  assert_int_equal(tensor->shape[0], 3);
  assert_int_equal(tensor->shape[1], 32);
  assert_int_equal(tensor->element_count, 96);
  assert_int_equal(tensor->byte_count, 60);
  assert_int_equal(tensor->file_offset % 64, 0);
  assert_ptr_equal(tensor->data, bytes + tensor->file_offset);
  assert_memory_equal(tensor->data, block, 60);
  assert_null(mlxcel_gguf_find_tensor(file, IREE_SV("b")));
  mlxcel_gguf_close(file);
  free(bytes);
  gguf_builder_deinitialize(&builder);
}

static void gguf_reader_refuses_a_file_cut_at_any_byte(void** state) {
  (void)state;
  gguf_builder_t builder;
  gguf_builder_initialize(&builder);
  gguf_add_tiny(&builder, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_0});
  size_t size = 0;
  uint8_t* bytes = gguf_builder_finish(&builder, &size);
  for (size_t cut = 0; cut < size; ++cut) {
    uint8_t* prefix = test_bytes_copy(bytes, cut);
    mlxcel_gguf_t* file = NULL;
    iree_status_t status = mlxcel_gguf_parse(prefix, cut, "m.gguf", &file);
    assert_null(file);
    assert_int_equal(iree_status_code(status), IREE_STATUS_INVALID_ARGUMENT);
    iree_status_ignore(status);
    free(prefix);
  }
  free(bytes);
  gguf_builder_deinitialize(&builder);
}

static void gguf_reader_refuses_other_formats_and_versions(void** state) {
  (void)state;
  static const struct {
    const char* magic;
    uint32_t version;
    iree_status_code_t code;
    const char* part;
  } cases[] = {
      {"GGML", 3, IREE_STATUS_INVALID_ARGUMENT, "doesn't start with \"GGUF\""},
      {"GGUF", 1, IREE_STATUS_UNIMPLEMENTED, "GGUF version 1"},
      {"GGUF", 4, IREE_STATUS_UNIMPLEMENTED, "GGUF version 4"},
      {"GGUF", 0x03000000, IREE_STATUS_UNIMPLEMENTED, "big-endian"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    gguf_builder_t builder;
    start(&builder);
    add_vector(&builder, "t");
    memcpy(builder.magic, cases[i].magic, 4);
    builder.version = cases[i].version;
    expect_refused(&builder, cases[i].code, cases[i].part);
  }
}

static void gguf_reader_refuses_counts_that_the_file_cannot_hold(void** state) {
  (void)state;
  static const uint64_t counts[] = {100, UINT64_C(1) << 20, UINT64_C(1) << 32, UINT64_C(1) << 63, UINT64_MAX - 1};
  for (size_t i = 0; i < IREE_ARRAYSIZE(counts); ++i) {
    gguf_builder_t builder;
    start(&builder);
    add_vector(&builder, "t");
    builder.claimed_tensor_count = counts[i];
    expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "tensors, more than");
    start(&builder);
    add_vector(&builder, "t");
    builder.claimed_value_count = counts[i];
    expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "metadata keys, more than");
  }
}

static void gguf_reader_refuses_a_file_without_tensors(void** state) {
  (void)state;
  gguf_builder_t builder;
  start(&builder);
  expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "holds no tensors");
}

// A payload of two u64: a length that lies, and eight bytes.
static void gguf_reader_refuses_string_lengths_that_lie(void** state) {
  (void)state;
  static const uint64_t lengths[] = {1000, UINT64_C(1) << 31, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 7};
  for (size_t i = 0; i < IREE_ARRAYSIZE(lengths); ++i) {
    const uint64_t payload[] = {lengths[i], 0};
    gguf_builder_t builder;
    start(&builder);
    gguf_add_raw(&builder, "s", MLXCEL_GGUF_VALUE_STRING, payload, sizeof(payload));
    add_vector(&builder, "t");
    expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "the file ends inside a string");
  }
}

static void gguf_reader_refuses_array_lengths_that_lie(void** state) {
  (void)state;
  static const struct {
    uint32_t element_type;
    uint64_t count;
    iree_status_code_t code;
    const char* part;
  } cases[] = {
      {MLXCEL_GGUF_VALUE_U8, 100000, IREE_STATUS_INVALID_ARGUMENT, "the file ends inside an array"},
      {MLXCEL_GGUF_VALUE_U32, UINT64_C(1) << 62, IREE_STATUS_INVALID_ARGUMENT, "key x: an array of 4611686018427387904 elements can't exist"},
      {MLXCEL_GGUF_VALUE_F64, UINT64_C(1) << 61, IREE_STATUS_INVALID_ARGUMENT, "can't exist"},
      {MLXCEL_GGUF_VALUE_STRING, UINT64_MAX, IREE_STATUS_INVALID_ARGUMENT, "the file ends inside an array of strings"},
      {MLXCEL_GGUF_VALUE_ARRAY, 1, IREE_STATUS_UNIMPLEMENTED, "key x holds an array of arrays"},
      {13, 1, IREE_STATUS_INVALID_ARGUMENT, "key x: unknown value type 13"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    uint8_t payload[12];
    memcpy(payload, &cases[i].element_type, 4);
    memcpy(payload + 4, &cases[i].count, 8);
    gguf_builder_t builder;
    start(&builder);
    gguf_add_raw(&builder, "x", MLXCEL_GGUF_VALUE_ARRAY, payload, sizeof(payload));
    add_vector(&builder, "t");
    expect_refused(&builder, cases[i].code, cases[i].part);
  }
}

static void gguf_reader_refuses_bad_keys(void** state) {
  (void)state;
  static const struct {
    const char *key, *part;
  } cases[] = {
      {"", "a metadata key at offset"}, {"with space", "printable ASCII"}, {"newline\n", "printable ASCII"},
      {"\xc3\xa9", "printable ASCII"},  {"a.key", "duplicate key a.key"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    gguf_builder_t builder;
    start(&builder);
    gguf_add_u32(&builder, cases[i].key, 1);
    add_vector(&builder, "t");
    expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, cases[i].part);
  }
  char key[MLXCEL_GGUF_KEY_BYTES_MAX + 2];
  memset(key, 'k', sizeof(key) - 1);
  key[sizeof(key) - 1] = 0;
  gguf_builder_t builder;
  start(&builder);
  gguf_add_u32(&builder, key, 1);
  add_vector(&builder, "t");
  expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "isn't 1 to 1024 printable");
}

static void gguf_reader_refuses_an_unknown_value_type(void** state) {
  (void)state;
  gguf_builder_t builder;
  start(&builder);
  gguf_add_raw(&builder, "x", 13, NULL, 8);
  add_vector(&builder, "t");
  expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "key x: unknown value type 13");
}

static void gguf_reader_refuses_bad_alignments(void** state) {
  (void)state;
  static const uint32_t alignments[] = {0, 1, 4, 33, 1u << 21, 1u << 31};
  for (size_t i = 0; i < IREE_ARRAYSIZE(alignments); ++i) {
    gguf_builder_t builder;
    start(&builder);
    gguf_add_u32(&builder, "general.alignment", alignments[i]);
    add_vector(&builder, "t");
    expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "general.alignment must be");
  }
  gguf_builder_t builder;
  start(&builder);
  gguf_add_bool(&builder, "general.alignment", true);
  add_vector(&builder, "t");
  expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "general.alignment must be");
}

static void gguf_reader_refuses_bad_tensor_entries(void** state) {
  (void)state;
  static const struct {
    const char* name;
    uint32_t type, rank;
    uint64_t shape[5];
    uint64_t offset;
    iree_status_code_t code;
    const char* part;
  } cases[] = {
      {"", 0, 1, {32}, 0, IREE_STATUS_INVALID_ARGUMENT, "a tensor name at offset"},
      {"x\x7f", 0, 1, {32}, 0, IREE_STATUS_INVALID_ARGUMENT, "a tensor name at offset"},
      {"a-name-that-is-one-byte-longer-than-the-format-allows-for-tensors", 0, 1, {32}, 0, IREE_STATUS_INVALID_ARGUMENT, "isn't 1 to 64 printable"},
      {"x", 0, 0, {0}, 0, IREE_STATUS_INVALID_ARGUMENT, "tensor x has rank 0"},
      {"x", 0, 5, {1, 1, 1, 1, 1}, 0, IREE_STATUS_INVALID_ARGUMENT, "tensor x has rank 5"},
      {"x", 0, 2, {0, 32}, 0, IREE_STATUS_INVALID_ARGUMENT, "tensor x has an impossible dimension 0"},
      {"x", 0, 2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, 0, IREE_STATUS_INVALID_ARGUMENT, "tensor x has an impossible dimension 4294967296"},
      {"x", 0, 1, {UINT64_C(1) << 62}, 0, IREE_STATUS_INVALID_ARGUMENT, "tensor x with 4611686018427387904 elements can't exist"},
      {"x", 2, 1, {33}, 0, IREE_STATUS_INVALID_ARGUMENT, "tensor x has rows of 33 elements, which isn't a multiple of Q4_0's block of 32"},
      {"x", 12, 1, {256}, 0, IREE_STATUS_UNIMPLEMENTED, "tensor x has type Q4_K (12)"},
      {"x", 14, 1, {256}, 0, IREE_STATUS_UNIMPLEMENTED, "tensor x has type Q6_K (14)"},
      {"x", 4, 1, {32}, 0, IREE_STATUS_UNIMPLEMENTED, "tensor x has type unknown (4)"},
      {"x", UINT32_MAX, 1, {32}, 0, IREE_STATUS_UNIMPLEMENTED, "tensor x has type unknown"},
      {"x", 0, 1, {32}, 16, IREE_STATUS_INVALID_ARGUMENT, "tensor x has offset 16, not a multiple of the alignment 32"},
      {"x", 0, 1, {16}, 64, IREE_STATUS_INVALID_ARGUMENT, "tensors t and x overlap"},
      {"x", 0, 1, {8}, 0, IREE_STATUS_INVALID_ARGUMENT, "overlap"},
      {"x", 0, 1, {32}, 128, IREE_STATUS_INVALID_ARGUMENT, "tensor x (128 bytes at offset 128 of the data) ends after the file's"},
      {"x", 0, 1, {32}, UINT64_MAX - 31, IREE_STATUS_INVALID_ARGUMENT, "ends after the file's"},
      {"x", 0, 1, {UINT64_C(1) << 61}, 0, IREE_STATUS_INVALID_ARGUMENT, "ends after the file's"},
      {"x", 0, 1, {UINT64_C(1) << 61}, UINT64_C(1) << 63, IREE_STATUS_INVALID_ARGUMENT, "ends after the file's"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    gguf_builder_t builder;
    start(&builder);
    add_vector(&builder, "t");
    gguf_add_tensor_entry(&builder, cases[i].name, cases[i].type, cases[i].rank, cases[i].shape, cases[i].offset);
    expect_refused(&builder, cases[i].code, cases[i].part);
  }
}

static void gguf_reader_refuses_a_tensor_name_that_occurs_twice(void** state) {
  (void)state;
  gguf_builder_t builder;
  start(&builder);
  add_vector(&builder, "t");
  add_vector(&builder, "s");
  add_vector(&builder, "t");
  expect_refused(&builder, IREE_STATUS_INVALID_ARGUMENT, "duplicate tensor t");
}

static void gguf_reader_opens_a_file_and_names_a_missing_one(void** state) {
  (void)state;
  char* folder = test_folder_create();
  gguf_builder_t builder;
  start(&builder);
  add_vector(&builder, "t");
  char* path = gguf_builder_write(&builder, folder, "m.gguf");
  mlxcel_gguf_t* file = NULL;
  expect_ok(mlxcel_gguf_open(path, &file));
  assert_string_equal(mlxcel_gguf_origin(file), path);
  mlxcel_gguf_close(file);
  path[strlen(path) - 1] = 'x';
  expect_error(mlxcel_gguf_open(path, &file), IREE_STATUS_NOT_FOUND, "m.ggux", NULL);
  assert_null(file);
  expect_error(mlxcel_gguf_open(folder, &file), IREE_STATUS_INVALID_ARGUMENT, folder, NULL);
  free(path);
  gguf_builder_deinitialize(&builder);
  test_folder_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gguf_reader_gives_every_kind_of_value),
      cmocka_unit_test(gguf_reader_refuses_numbers_that_are_not_finite),
      cmocka_unit_test(gguf_reader_places_tensors),
      cmocka_unit_test(gguf_reader_refuses_a_file_cut_at_any_byte),
      cmocka_unit_test(gguf_reader_refuses_other_formats_and_versions),
      cmocka_unit_test(gguf_reader_refuses_counts_that_the_file_cannot_hold),
      cmocka_unit_test(gguf_reader_refuses_a_file_without_tensors),
      cmocka_unit_test(gguf_reader_refuses_string_lengths_that_lie),
      cmocka_unit_test(gguf_reader_refuses_array_lengths_that_lie),
      cmocka_unit_test(gguf_reader_refuses_bad_keys),
      cmocka_unit_test(gguf_reader_refuses_an_unknown_value_type),
      cmocka_unit_test(gguf_reader_refuses_bad_alignments),
      cmocka_unit_test(gguf_reader_refuses_bad_tensor_entries),
      cmocka_unit_test(gguf_reader_refuses_a_tensor_name_that_occurs_twice),
      cmocka_unit_test(gguf_reader_opens_a_file_and_names_a_missing_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
