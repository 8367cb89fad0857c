// The bytes between the oracle and its reference: everything comes back as it went, and nothing malformed gets through.
#include "oracle/reference_protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_ok(iree_status_t status) {
  if (!iree_status_is_ok(status)) iree_status_fprint(stderr, status);
  assert_int_equal(iree_status_consume_code(status), IREE_STATUS_OK);
}
static void expect_code(iree_status_t status, iree_status_code_t code) { assert_int_equal(iree_status_consume_code(status), code); }

static mlxcel_operation_t matmul_operation(void) {
  mlxcel_operation_t operation;
  memset(&operation, 0, sizeof(operation));
  operation.op = MLXCEL_OP_DENSE_MATMUL;
  operation.dtype = operation.weight_dtype = MLXCEL_DTYPE_BF16;
  operation.bias_dtype = MLXCEL_DTYPE_F16;
  operation.rows = 2, operation.in_features = 3, operation.out_features = 5;
  operation.has_bias = true;
  operation.epsilon = 1e-6f, operation.scale = -0.5f, operation.rope_base = 10000.0f;
  return operation;
}

// A whole compute payload, operands filled with their index.
static void build_request(const mlxcel_operation_t* operation, mlxcel_strbuf_t* buffer) {
  mlxcel_operand_t operands[MLXCEL_OPERANDS_MAX];
  size_t count = 0;
  expect_ok(mlxcel_reference_operands(operation, operands, &count));
  mlxcel_strbuf_initialize(buffer);
  mlxcel_reference_request_encode(operation, count, operands, buffer);
  for (size_t i = 0; i < count; ++i) {
    uint64_t size = mlxcel_operand_element_count(&operands[i]) * mlxcel_dtype_size(operands[i].dtype);
    char byte = (char)(i + 1);
    for (uint64_t b = 0; b < size; ++b) mlxcel_strbuf_append(buffer, iree_make_string_view(&byte, 1));
  }
  expect_ok(mlxcel_strbuf_take_status(buffer));
}

static void frames_come_back_as_they_went(void** state) {
  (void)state;
  const mlxcel_reference_frame_t frame = {MLXCEL_REFERENCE_FRAME_RESULT, UINT64_C(0x12345678)};
  uint8_t bytes[MLXCEL_REFERENCE_HEADER_BYTES];
  mlxcel_reference_frame_encode(&frame, bytes);
  const uint8_t expected[MLXCEL_REFERENCE_HEADER_BYTES] = {'X', 'M', 'R', 'F', 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0x78, 0x56, 0x34, 0x12};
  assert_memory_equal(bytes, expected, sizeof(expected));
  mlxcel_reference_frame_t decoded;
  expect_ok(mlxcel_reference_frame_decode(bytes, UINT64_C(0x12345678), &decoded));
  assert_int_equal(decoded.kind, frame.kind);
  assert_int_equal(decoded.payload_size, frame.payload_size);
}

static void frames_of_another_magic_version_kind_or_size_are_refused(void** state) {
  (void)state;
  const mlxcel_reference_frame_t frame = {MLXCEL_REFERENCE_FRAME_COMPUTE, 100};
  for (size_t i = 0; i < 16; ++i) {  // magic, version, kind, zero: any changed byte
    uint8_t bytes[MLXCEL_REFERENCE_HEADER_BYTES];
    mlxcel_reference_frame_encode(&frame, bytes);
    bytes[i] ^= 0x10;
    mlxcel_reference_frame_t decoded;
    expect_code(mlxcel_reference_frame_decode(bytes, 1000, &decoded), IREE_STATUS_INVALID_ARGUMENT);
    assert_int_equal(decoded.payload_size, 0);
  }
  uint8_t bytes[MLXCEL_REFERENCE_HEADER_BYTES];
  mlxcel_reference_frame_encode(&frame, bytes);
  mlxcel_reference_frame_t decoded;
  expect_code(mlxcel_reference_frame_decode(bytes, 99, &decoded), IREE_STATUS_RESOURCE_EXHAUSTED);
}

static void requests_come_back_as_they_went(void** state) {
  (void)state;
  mlxcel_operation_t operation = matmul_operation();
  mlxcel_strbuf_t buffer;
  build_request(&operation, &buffer);
  mlxcel_reference_request_t request;
  expect_ok(mlxcel_reference_request_decode((const uint8_t*)buffer.data, buffer.size, &request));
  assert_memory_equal(&request.operation, &operation, sizeof(operation));
  assert_int_equal(request.operand_count, 3);
  assert_string_equal(request.operands[0].type.name, "x");
  assert_int_equal(request.operands[1].size, 5 * 3 * 2);
  assert_int_equal(request.operands[1].data[0], 2);
  assert_int_equal(request.operands[2].type.dtype, MLXCEL_DTYPE_F16);
  assert_int_equal(request.operands[2].data[9], 3);
  mlxcel_strbuf_deinitialize(&buffer);
}

static void requests_cut_anywhere_or_followed_by_anything_are_refused(void** state) {
  (void)state;
  mlxcel_operation_t operation = matmul_operation();
  mlxcel_strbuf_t buffer;
  build_request(&operation, &buffer);
  mlxcel_reference_request_t request;
  for (size_t size = 0; size < buffer.size; ++size) {
    uint8_t* cut = malloc(size ? size : 1);  // exact, so that a sanitizer sees a read beyond it
    memcpy(cut, buffer.data, size);
    expect_code(mlxcel_reference_request_decode(cut, size, &request), IREE_STATUS_INVALID_ARGUMENT);
    free(cut);
  }
  mlxcel_strbuf_append_cstring(&buffer, "x");
  expect_code(mlxcel_reference_request_decode((const uint8_t*)buffer.data, buffer.size, &request), IREE_STATUS_INVALID_ARGUMENT);
  mlxcel_strbuf_deinitialize(&buffer);
}

static void requests_with_any_changed_byte_of_the_description_are_refused_or_valid(void** state) {
  (void)state;
  mlxcel_operation_t operation = matmul_operation();
  mlxcel_strbuf_t buffer;
  build_request(&operation, &buffer);
  uint32_t description_size = 0;
  memcpy(&description_size, buffer.data, sizeof(description_size));
  size_t refused = 0;
  for (size_t i = 0; i < 4 + (size_t)description_size; ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      buffer.data[i] = (char)(buffer.data[i] ^ (1 << bit));
      mlxcel_reference_request_t request;
      iree_status_t status = mlxcel_reference_request_decode((const uint8_t*)buffer.data, buffer.size, &request);
      if (iree_status_is_ok(status)) {  // then it is another operation with the same operands
        assert_memory_not_equal(&request.operation, &operation, sizeof(operation));
        assert_int_equal(request.operands[2].data + request.operands[2].size, (const uint8_t*)buffer.data + buffer.size);
      } else {
        ++refused;
      }
      iree_status_ignore(status);
      buffer.data[i] = (char)(buffer.data[i] ^ (1 << bit));
    }
  }
  assert_true(refused > (size_t)description_size);  // names, flags, sizes and types: all but floats and sizes that this class ignores
  mlxcel_strbuf_deinitialize(&buffer);
}

static void results_come_back_as_they_went(void** state) {
  (void)state;
  const mlxcel_operand_t type = {.dtype = MLXCEL_DTYPE_F32, .rank = 3, .dims = {1, 2, 2}};
  mlxcel_strbuf_t buffer;
  mlxcel_strbuf_initialize(&buffer);
  mlxcel_reference_result_encode(&type, &buffer);
  mlxcel_strbuf_append(&buffer, iree_make_string_view("0123456789abcdef", 16));
  expect_ok(mlxcel_strbuf_take_status(&buffer));
  mlxcel_reference_tensor_t result;
  expect_ok(mlxcel_reference_result_decode((const uint8_t*)buffer.data, buffer.size, &result));
  assert_int_equal(result.type.rank, 3);
  assert_int_equal(result.type.dims[2], 2);
  assert_memory_equal(result.data, "0123456789abcdef", 16);
  expect_code(mlxcel_reference_result_decode((const uint8_t*)buffer.data, buffer.size - 1, &result), IREE_STATUS_INVALID_ARGUMENT);
  mlxcel_strbuf_deinitialize(&buffer);
}

static void results_whose_size_overflows_are_refused(void** state) {
  (void)state;
  const mlxcel_operand_t type = {.dtype = MLXCEL_DTYPE_F32, .rank = 5, .dims = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, 2}};
  mlxcel_strbuf_t buffer;
  mlxcel_strbuf_initialize(&buffer);
  mlxcel_reference_result_encode(&type, &buffer);
  mlxcel_reference_tensor_t result;
  expect_code(mlxcel_reference_result_decode((const uint8_t*)buffer.data, buffer.size, &result), IREE_STATUS_RESOURCE_EXHAUSTED);
  mlxcel_strbuf_deinitialize(&buffer);
}

static void errors_keep_code_and_message(void** state) {
  (void)state;
  iree_status_t original = iree_make_status(IREE_STATUS_UNIMPLEMENTED, "no such thing; take another");
  mlxcel_strbuf_t buffer;
  mlxcel_strbuf_initialize(&buffer);
  mlxcel_reference_error_encode(original, &buffer);
  iree_status_ignore(original);
  iree_status_t decoded = mlxcel_reference_error_decode((const uint8_t*)buffer.data, buffer.size);
  char* text = NULL;
  iree_host_size_t size = 0;
  iree_allocator_t allocator = iree_allocator_system();
  assert_true(iree_status_to_string(decoded, &allocator, &text, &size));
  assert_non_null(strstr(text, "MLX reference: no such thing; take another"));
  iree_allocator_free(allocator, text);
  expect_code(decoded, IREE_STATUS_UNIMPLEMENTED);
  for (size_t cut = 0; cut < buffer.size; ++cut) {
    expect_code(mlxcel_reference_error_decode((const uint8_t*)buffer.data, cut), IREE_STATUS_INTERNAL);
  }
  memset(buffer.data, 0, 4);  // an error that says OK
  expect_code(mlxcel_reference_error_decode((const uint8_t*)buffer.data, buffer.size), IREE_STATUS_INTERNAL);
  mlxcel_strbuf_deinitialize(&buffer);
}

static void identities_come_back_and_malformed_ones_are_refused(void** state) {
  (void)state;
  mlxcel_reference_identity_t identity;
  memset(&identity, 0, sizeof(identity));
  memcpy(identity.version, "0.0.1", 6);
  memcpy(identity.build, "test-0.0.1", 11);
  memset(identity.libmlx.text, 'a', 64);
  memset(identity.blas.text, '0', 64);
  memset(identity.libm.text, 'f', 64);
  mlxcel_strbuf_t buffer;
  mlxcel_strbuf_initialize(&buffer);
  mlxcel_reference_identity_encode(&identity, &buffer);
  mlxcel_reference_identity_t decoded;
  expect_ok(mlxcel_reference_identity_decode((const uint8_t*)buffer.data, buffer.size, &decoded));
  assert_memory_equal(&decoded, &identity, sizeof(identity));
  for (size_t cut = 0; cut < buffer.size; ++cut) {
    expect_code(mlxcel_reference_identity_decode((const uint8_t*)buffer.data, cut, &decoded), IREE_STATUS_INVALID_ARGUMENT);
  }
  identity.blas.text[5] = 'G';
  mlxcel_strbuf_clear(&buffer);
  mlxcel_reference_identity_encode(&identity, &buffer);
  expect_code(mlxcel_reference_identity_decode((const uint8_t*)buffer.data, buffer.size, &decoded), IREE_STATUS_INVALID_ARGUMENT);
  mlxcel_strbuf_deinitialize(&buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frames_come_back_as_they_went),
      cmocka_unit_test(frames_of_another_magic_version_kind_or_size_are_refused),
      cmocka_unit_test(requests_come_back_as_they_went),
      cmocka_unit_test(requests_cut_anywhere_or_followed_by_anything_are_refused),
      cmocka_unit_test(requests_with_any_changed_byte_of_the_description_are_refused_or_valid),
      cmocka_unit_test(results_come_back_as_they_went),
      cmocka_unit_test(results_whose_size_overflows_are_refused),
      cmocka_unit_test(errors_keep_code_and_message),
      cmocka_unit_test(identities_come_back_and_malformed_ones_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
