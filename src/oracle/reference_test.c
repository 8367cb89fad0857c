// The MLX reference: what it computes, and what its program does with malformed bytes. Skipped without MLX.
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "oracle/reference_process.h"
#include "oracle/reference_protocol.h"
#include "oracle/reference_test_support.h"

static mlxcel_reference_t* shared;  // NULL: no MLX here
static char shared_reason[2048];    // why

#define REQUIRE_MLX()                                    \
  do {                                                   \
    if (!shared) {                                       \
      print_message("[  NOTE    ] %s\n", shared_reason); \
      skip();                                            \
    }                                                    \
  } while (0)

static mlxcel_operation_t affine(mlxcel_operation_t operation, uint32_t bits, uint32_t group_size) {
  operation.bits = bits, operation.group_size = group_size;
  return operation;
}

// --- what it computes --------------------------------------------------------------------------------------------------------------------

static void identity_is_complete_and_the_same_on_a_second_start(void** state) {
  (void)state;
  REQUIRE_MLX();
  const mlxcel_reference_identity_t* identity = mlxcel_reference_identity(shared);
  print_message("MLX %s, build %s, revision %s, patch %s, %s\n  libmlx %s (build id %s)\n  blas   %s\n  libm   %s\n", identity->version, identity->build,
                identity->revision, identity->patch, identity->architecture, identity->libmlx.text, identity->libmlx_build_id, identity->blas.text,
                identity->libm.text);
  assert_string_equal(identity->version, MLXCEL_MLX_VERSION);
  assert_non_null(strstr(identity->build, "mlx-cpu-" MLXCEL_MLX_VERSION));
  assert_int_equal(strlen(identity->libmlx.text), 64);
  assert_int_equal(strlen(identity->blas.text), 64);
  assert_int_equal(strlen(identity->libm.text), 64);
  assert_string_not_equal(identity->libmlx.text, identity->blas.text);
  assert_string_not_equal(identity->libmlx.text, identity->libm.text);
  assert_true(identity->libmlx_build_id[0] && identity->revision[0] && identity->patch[0] && identity->architecture[0]);
  mlxcel_reference_t* second = NULL;
  expect_ok(mlxcel_reference_open(&(mlxcel_reference_options_t){.disable_compile = true}, &second));
  assert_memory_equal(mlxcel_reference_identity(second), identity, sizeof(*identity));
  mlxcel_reference_close(second);
}

static void expect_result(const mlxcel_operation_t* operation) {
  case_t c;
  case_open(operation, 7, &c);
  mlxcel_host_tensor_t first, second;
  expect_ok(case_compute(shared, &c, &first));
  expect_ok(case_compute(shared, &c, &second));
  mlxcel_operand_t type;
  expect_ok(mlxcel_operation_result(operation, &type));
  assert_int_equal(first.type.dtype, type.dtype);
  assert_int_equal(first.type.rank, type.rank);
  assert_memory_equal(first.type.dims, type.dims, type.rank * sizeof(type.dims[0]));
  assert_int_equal(first.size, mlxcel_operand_element_count(&type) * mlxcel_dtype_size(type.dtype));
  assert_false(is_all_zero(&first));
  assert_memory_equal(first.data, second.data, first.size);
  mlxcel_host_tensor_deinitialize(&first);
  mlxcel_host_tensor_deinitialize(&second);
  case_close(&c);
}

static void every_class_and_variant_gives_a_repeatable_result_of_its_type(void** state) {
  (void)state;
  REQUIRE_MLX();
  size_t count = 0;
  for (int dtype = MLXCEL_DTYPE_F32; dtype <= MLXCEL_DTYPE_BF16; ++dtype) {
    for (int op = 0; op < MLXCEL_OP_COUNT; ++op) {
      size_t variants = 0;
      for (int variant = 0; variant < MLXCEL_VARIANT_COUNT; ++variant) {
        if (!mlxcel_op_variant_belongs((mlxcel_op_class_t)op, (mlxcel_op_variant_t)variant)) continue;
        mlxcel_operation_t operation = operation_of((mlxcel_op_class_t)op, (mlxcel_op_variant_t)variant, (mlxcel_dtype_t)dtype);
        if (op == MLXCEL_OP_DEQUANTIZE || op == MLXCEL_OP_QUANTIZED_MATMUL) operation = affine(operation, 4, 32);
        if (op == MLXCEL_OP_CONVOLUTION && variant == MLXCEL_VARIANT_CONV2D) operation.in_h = 5, operation.kernel_h = 3, operation.pad_h_high = 2;
        expect_result(&operation);
        ++variants;
      }
      assert_true(variants > 0);
      count += variants;
    }
  }
  print_message("%zu classes, variants and dtypes\n", count);
}

static void optional_operands_and_other_matrix_kinds_are_computed(void** state) {
  (void)state;
  REQUIRE_MLX();
  mlxcel_operation_t biased = operation_of(MLXCEL_OP_DENSE_MATMUL, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_BF16);
  biased.has_bias = true;
  expect_result(&biased);
  mlxcel_operation_t quantized = affine(operation_of(MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F16), 8, 64);
  quantized.has_bias = true;
  expect_result(&quantized);
  mlxcel_operation_t embedding = affine(operation_of(MLXCEL_OP_EMBEDDING, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_BF16), 4, 64);
  expect_result(&embedding);
  mlxcel_operation_t projection = affine(operation_of(MLXCEL_OP_ACTIVATION_PROJECTION, MLXCEL_VARIANT_SILU, MLXCEL_DTYPE_BF16), 4, 32);
  expect_result(&projection);
  mlxcel_operation_t rope = operation_of(MLXCEL_OP_ROPE, MLXCEL_VARIANT_HALF, MLXCEL_DTYPE_F32);
  rope.has_frequencies = true;
  expect_result(&rope);
  mlxcel_operation_t mixed = operation_of(MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, MLXCEL_DTYPE_BF16);
  mixed.weight_dtype = MLXCEL_DTYPE_F32;
  expect_result(&mixed);
}

static float round_to(mlxcel_dtype_t dtype, float value) {
  uint32_t storage = 0;
  mlxcel_dtype_store(dtype, &storage, 0, value);
  return mlxcel_dtype_widen(dtype, &storage, 0);
}

static float element(const mlxcel_host_tensor_t* tensor, int64_t index) { return mlxcel_dtype_widen(tensor->type.dtype, tensor->data, (uint64_t)index); }

// ss sequential in f32, times 1/N, y = R(x r), R(y w).
static void rms_norm_is_the_documented_order_of_mlx(void** state) {
  (void)state;
  REQUIRE_MLX();
  mlxcel_operation_t operation = operation_of(MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, MLXCEL_DTYPE_BF16);
  operation.rows = 9, operation.in_features = 1037;
  case_t c;
  case_open(&operation, 11, &c);
  mlxcel_host_tensor_t result;
  expect_ok(case_compute(shared, &c, &result));
  for (int64_t row = 0; row < operation.rows; ++row) {
    float sum = 0.0f;
    for (int64_t i = 0; i < operation.in_features; ++i) {
      float x = element(&c.operands[0], row * operation.in_features + i);
      sum += x * x;
    }
    float inverse = 1.0f / sqrtf(sum * (1.0f / (float)operation.in_features) + operation.epsilon);
    for (int64_t i = 0; i < operation.in_features; ++i) {
      float y = round_to(MLXCEL_DTYPE_BF16, element(&c.operands[0], row * operation.in_features + i) * inverse);
      float expected = round_to(MLXCEL_DTYPE_BF16, y * element(&c.operands[1], i));
      float got = element(&result, row * operation.in_features + i);
      assert_memory_equal(&got, &expected, sizeof(got));
    }
  }
  mlxcel_host_tensor_deinitialize(&result);
  case_close(&c);
}

// d = R(R(s q) + b), p = R(x d), acc = R(acc + p): the accumulator has the activations' dtype.
static float quantized_dot(const case_t* c, int64_t row, int64_t column) {
  const mlxcel_operation_t* operation = &c->operation;
  mlxcel_dtype_t dtype = operation->dtype;
  int64_t width = operation->in_features, groups = width / operation->group_size;
  const uint8_t* codes = (const uint8_t*)c->operands[1].data + column * width / 2;
  float sum = 0.0f;
  for (int64_t k = 0; k < width; ++k) {
    float code = (float)(codes[k / 2] >> (k % 2 ? 4 : 0) & 15);
    int64_t group = column * groups + k / operation->group_size;
    float weight = round_to(dtype, round_to(dtype, element(&c->operands[2], group) * code) + element(&c->operands[3], group));
    sum = round_to(dtype, sum + round_to(dtype, element(&c->operands[0], row * width + k) * weight));
  }
  return sum;
}

static void four_bit_matmul_is_the_documented_order_of_mlx(void** state) {
  (void)state;
  REQUIRE_MLX();
  for (int dtype = MLXCEL_DTYPE_F32; dtype <= MLXCEL_DTYPE_BF16; ++dtype) {
    mlxcel_operation_t operation = affine(operation_of(MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_NONE, (mlxcel_dtype_t)dtype), 4, 64);
    operation.rows = 5, operation.in_features = 448, operation.out_features = 37;
    case_t c;
    case_open(&operation, 13, &c);
    mlxcel_host_tensor_t result;
    expect_ok(case_compute(shared, &c, &result));
    for (int64_t row = 0; row < operation.rows; ++row) {
      for (int64_t column = 0; column < operation.out_features; ++column) {
        float expected = quantized_dot(&c, row, column), got = element(&result, row * operation.out_features + column);
        assert_memory_equal(&got, &expected, sizeof(got));
      }
    }
    mlxcel_host_tensor_deinitialize(&result);
    case_close(&c);
  }
}

// MLX writes its compiled graphs to its TMPDIR; without a C++ compiler it silently doesn't fuse.
static bool has_compiled_graphs(void) {
  DIR* directory = opendir(test_folder);
  assert_non_null(directory);
  bool found = false;
  for (struct dirent* entry; (entry = readdir(directory));) {
    char path[4600];
    snprintf(path, sizeof(path), "%s/%s/mlx", test_folder, entry->d_name);
    found = found || (entry->d_name[0] != '.' && mlxcel_path_is_directory(path));
  }
  closedir(directory);
  return found;
}

static void fused_graphs_give_the_bits_of_eager_ones(void** state) {
  (void)state;
  REQUIRE_MLX();
  mlxcel_reference_t* fused = NULL;
  expect_ok(mlxcel_reference_open(&(mlxcel_reference_options_t){.disable_compile = false}, &fused));
  const mlxcel_op_variant_t variants[] = {MLXCEL_VARIANT_SILU, MLXCEL_VARIANT_GELU_TANH};
  for (size_t i = 0; i < IREE_ARRAYSIZE(variants); ++i) {
    mlxcel_operation_t operation = operation_of(MLXCEL_OP_SILU_GATE, variants[i], MLXCEL_DTYPE_BF16);
    operation.in_features = 1000;
    case_t c;
    case_open(&operation, 17, &c);
    mlxcel_host_tensor_t first, second;
    expect_ok(case_compute(shared, &c, &first));
    expect_ok(case_compute(fused, &c, &second));
    assert_memory_equal(first.data, second.data, first.size);
    mlxcel_host_tensor_deinitialize(&first);
    mlxcel_host_tensor_deinitialize(&second);
    case_close(&c);
  }
  if (mlxcel_path_exists("/usr/bin/g++")) assert_true(has_compiled_graphs());
  mlxcel_reference_close(fused);
  assert_false(has_compiled_graphs());
}

static void what_mlx_cannot_do_is_an_error_and_the_next_request_works(void** state) {
  (void)state;
  REQUIRE_MLX();
  case_t c;
  mlxcel_host_tensor_t result;
  mlxcel_operation_t groups = affine(operation_of(MLXCEL_OP_QUANTIZED_MATMUL, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F32), 4, 16);
  case_open(&groups, 1, &c);
  expect_failure(case_compute(shared, &c, &result), IREE_STATUS_UNIMPLEMENTED, "groups of 32, 64 or 128");
  case_close(&c);
  mlxcel_operation_t mixed = operation_of(MLXCEL_OP_QKV_ROPE, MLXCEL_VARIANT_HALF, MLXCEL_DTYPE_BF16);
  mixed.weight_dtype = MLXCEL_DTYPE_F32;
  case_open(&mixed, 1, &c);
  expect_failure(case_compute(shared, &c, &result), IREE_STATUS_UNIMPLEMENTED, "MLX gives f32");
  case_close(&c);
  mlxcel_operation_t embedding = operation_of(MLXCEL_OP_EMBEDDING, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F32);
  case_open(&embedding, 1, &c);
  memcpy(c.operands[0].data, &(int32_t){6}, sizeof(int32_t));
  expect_failure(case_compute(shared, &c, &result), IREE_STATUS_INVALID_ARGUMENT, "token 6");
  assert_null(result.data);
  case_close(&c);
  expect_result(&embedding);
}

static void operands_that_do_not_fit_the_operation_never_leave(void** state) {
  (void)state;
  REQUIRE_MLX();
  mlxcel_operation_t operation = operation_of(MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F32);
  case_t c;
  case_open(&operation, 1, &c);
  mlxcel_host_tensor_t result;
  expect_failure(mlxcel_reference_compute(shared, &operation, 1, c.operands, &result), IREE_STATUS_INVALID_ARGUMENT, "takes 2 operands");
  c.operation.rows = 4;
  expect_failure(case_compute(shared, &c, &result), IREE_STATUS_INVALID_ARGUMENT, "operand 0 (a)");
  c.operation.rows = 0;
  expect_failure(case_compute(shared, &c, &result), IREE_STATUS_INVALID_ARGUMENT, "rows");
  case_close(&c);
}

// --- malformed bytes to the real program ---------------------------------------------------------------------------------------------------

static const char* real_program(void) {
  const char* named = getenv("MLXCEL_MLX_REFERENCE");
  return named && named[0] ? named : MLXCEL_MLX_REFERENCE_PROGRAM;
}

static uint64_t soon(void) { return mlxcel_reference_process_now() + 60000; }

// Receives one frame with its payload; malloc'ed.
static uint8_t* receive(mlxcel_reference_process_t* process, mlxcel_reference_frame_t* frame) {
  uint8_t header[MLXCEL_REFERENCE_HEADER_BYTES];
  expect_ok(mlxcel_reference_process_receive(process, soon(), header, sizeof(header)));
  expect_ok(mlxcel_reference_frame_decode(header, 1 << 20, frame));
  uint8_t* payload = malloc((size_t)frame->payload_size + 1);
  expect_ok(mlxcel_reference_process_receive(process, soon(), payload, (size_t)frame->payload_size));
  return payload;
}

static void start_real(mlxcel_reference_process_t* process) {
  expect_ok(mlxcel_reference_process_start(real_program(), true, process));
  mlxcel_reference_frame_t frame;
  free(receive(process, &frame));
  assert_int_equal(frame.kind, MLXCEL_REFERENCE_FRAME_IDENTITY);
}

static void expect_error_frame(mlxcel_reference_process_t* process, iree_status_code_t code, const char* part) {
  mlxcel_reference_frame_t frame;
  uint8_t* payload = receive(process, &frame);
  assert_int_equal(frame.kind, MLXCEL_REFERENCE_FRAME_ERROR);
  expect_failure(mlxcel_reference_error_decode(payload, (size_t)frame.payload_size), code, part);
  free(payload);
}

static void send_bytes(mlxcel_reference_process_t* process, const void* data, size_t size) {
  expect_ok(mlxcel_reference_process_send(process, soon(), data, size));
}

static void send_frame(mlxcel_reference_process_t* process, mlxcel_reference_frame_kind_t kind, uint64_t announced, const void* data, size_t size) {
  uint8_t header[MLXCEL_REFERENCE_HEADER_BYTES];
  mlxcel_reference_frame_encode(&(mlxcel_reference_frame_t){kind, announced}, header);
  send_bytes(process, header, sizeof(header));
  send_bytes(process, data, size);
}

static void expect_end(mlxcel_reference_process_t* process) {
  char byte;
  expect_failure(mlxcel_reference_process_receive(process, soon(), &byte, 1), IREE_STATUS_ABORTED, "ended");
  mlxcel_reference_process_stop(process);
}

static void program_answers_garbage_with_an_error_and_ends(void** state) {
  (void)state;
  REQUIRE_MLX();
  mlxcel_reference_process_t process;
  start_real(&process);
  send_bytes(&process, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 36);
  expect_error_frame(&process, IREE_STATUS_INVALID_ARGUMENT, "not a frame");
  expect_end(&process);
}

static void program_answers_an_oversized_frame_with_an_error_and_ends(void** state) {
  (void)state;
  REQUIRE_MLX();
  mlxcel_reference_process_t process;
  start_real(&process);
  send_frame(&process, MLXCEL_REFERENCE_FRAME_COMPUTE, UINT64_MAX, NULL, 0);
  expect_error_frame(&process, IREE_STATUS_RESOURCE_EXHAUSTED, "smaller shape");
  expect_end(&process);
}

static void program_answers_a_cut_frame_with_an_error_and_ends(void** state) {
  (void)state;
  REQUIRE_MLX();
  for (int in_header = 0; in_header < 2; ++in_header) {
    mlxcel_reference_process_t process;
    start_real(&process);
    if (in_header) {
      send_bytes(&process, "XMRF", 4);
    } else {
      send_frame(&process, MLXCEL_REFERENCE_FRAME_COMPUTE, UINT64_C(1) << 30, "1234567", 7);  // a gigabyte that never comes
    }
    mlxcel_reference_process_end_input(&process);
    expect_error_frame(&process, IREE_STATUS_INVALID_ARGUMENT, "ended inside a frame");
    expect_end(&process);
  }
}

static void program_answers_frames_of_another_kind_with_an_error(void** state) {
  (void)state;
  REQUIRE_MLX();
  mlxcel_reference_process_t process;
  start_real(&process);
  send_frame(&process, MLXCEL_REFERENCE_FRAME_RESULT, 0, NULL, 0);
  expect_error_frame(&process, IREE_STATUS_INVALID_ARGUMENT, "only compute");
  expect_end(&process);
}

// A bad payload fails its request only: all these go to one process.
static void program_survives_malformed_payloads(void** state) {
  (void)state;
  REQUIRE_MLX();
  mlxcel_reference_process_t process;
  start_real(&process);
  uint8_t junk[600];
  random_state = 3;
  for (int round = 0; round < 50; ++round) {
    size_t size = next_random() % sizeof(junk);
    for (size_t i = 0; i < size; ++i) junk[i] = (uint8_t)next_random();
    if (size > 4 && round % 2) memcpy(junk, &(uint32_t){(uint32_t)size - 4}, 4);
    send_frame(&process, MLXCEL_REFERENCE_FRAME_COMPUTE, size, junk, size);
    expect_error_frame(&process, IREE_STATUS_INVALID_ARGUMENT, "MLX reference");
  }
  mlxcel_operation_t operation = operation_of(MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F32);
  operation.rows = 1, operation.in_features = 2;
  mlxcel_operand_t types[MLXCEL_OPERANDS_MAX];
  size_t count = 0;
  expect_ok(mlxcel_reference_operands(&operation, types, &count));
  mlxcel_strbuf_t request;
  mlxcel_strbuf_initialize(&request);
  mlxcel_reference_request_encode(&operation, count, types, &request);
  const float values[] = {1.0f, 2.0f, 0.5f, 0.25f};
  mlxcel_strbuf_append(&request, iree_make_string_view((const char*)values, sizeof(values)));
  send_frame(&process, MLXCEL_REFERENCE_FRAME_COMPUTE, request.size, request.data, request.size);
  mlxcel_strbuf_deinitialize(&request);
  mlxcel_reference_frame_t frame;
  uint8_t* payload = receive(&process, &frame);
  assert_int_equal(frame.kind, MLXCEL_REFERENCE_FRAME_RESULT);
  mlxcel_reference_tensor_t result;
  expect_ok(mlxcel_reference_result_decode(payload, (size_t)frame.payload_size, &result));
  const float expected[] = {1.5f, 2.25f};
  assert_memory_equal(result.data, expected, sizeof(expected));
  free(payload);
  mlxcel_reference_process_stop(&process);
}
// --- the group ---------------------------------------------------------------------------------------------------------------------------

static int open_group(void** state) {
  (void)state;
  test_folder_open();
  iree_status_t status = mlxcel_reference_open(&(mlxcel_reference_options_t){.disable_compile = true}, &shared);
  if (iree_status_is_unavailable(status)) {
    mlxcel_status_text(status, shared_reason, sizeof(shared_reason));
    iree_status_ignore(status);
    return 0;
  }
  expect_ok(status);
  return 0;
}

static int close_group(void** state) {
  (void)state;
  mlxcel_reference_close(shared);
  test_folder_close();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(identity_is_complete_and_the_same_on_a_second_start),
      cmocka_unit_test(every_class_and_variant_gives_a_repeatable_result_of_its_type),
      cmocka_unit_test(optional_operands_and_other_matrix_kinds_are_computed),
      cmocka_unit_test(rms_norm_is_the_documented_order_of_mlx),
      cmocka_unit_test(four_bit_matmul_is_the_documented_order_of_mlx),
      cmocka_unit_test(fused_graphs_give_the_bits_of_eager_ones),
      cmocka_unit_test(what_mlx_cannot_do_is_an_error_and_the_next_request_works),
      cmocka_unit_test(operands_that_do_not_fit_the_operation_never_leave),
      cmocka_unit_test(program_answers_garbage_with_an_error_and_ends),
      cmocka_unit_test(program_answers_an_oversized_frame_with_an_error_and_ends),
      cmocka_unit_test(program_answers_a_cut_frame_with_an_error_and_ends),
      cmocka_unit_test(program_answers_frames_of_another_kind_with_an_error),
      cmocka_unit_test(program_survives_malformed_payloads),
  };
  return cmocka_run_group_tests(tests, open_group, close_group);
}
