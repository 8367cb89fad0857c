// The MLX reference: what it computes, and what happens when its program is wrong, dies, hangs or lies. Parts that need MLX are skipped without it.
#include "oracle/mlx_reference.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/log.h"
#include "oracle/reference_process.h"
#include "oracle/reference_protocol.h"

static char test_folder[4096];      // this process's TMPDIR while the tests run
static mlxcel_reference_t* shared;  // NULL: no MLX here
static char shared_reason[2048];    // why

static void expect_ok(iree_status_t status) {
  if (!iree_status_is_ok(status)) iree_status_fprint(stderr, status);
  assert_int_equal(iree_status_consume_code(status), IREE_STATUS_OK);
}

// Consumes |status|; its text must contain |part|.
static void expect_failure(iree_status_t status, iree_status_code_t code, const char* part) {
  char text[8192];
  mlxcel_status_text(status, text, sizeof(text));
  if (!strstr(text, part)) fail_msg("\"%s\" doesn't contain \"%s\"", text, part);
  assert_int_equal(iree_status_consume_code(status), code);
}

#define REQUIRE_MLX()                                    \
  do {                                                   \
    if (!shared) {                                       \
      print_message("[  NOTE    ] %s\n", shared_reason); \
      skip();                                            \
    }                                                    \
  } while (0)

static size_t count_entries(const char* folder, const char* prefix) {
  DIR* directory = opendir(folder);
  assert_non_null(directory);
  size_t count = 0;
  for (struct dirent* entry; (entry = readdir(directory));) count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && entry->d_name[0] != '.';
  closedir(directory);
  return count;
}
static size_t count_descriptors(void) { return count_entries("/proc/self/fd", ""); }
static size_t count_temporary_folders(void) { return count_entries(test_folder, "mlxcel-reference-"); }

// --- operands ----------------------------------------------------------------------------------------------------------------------------

#define OPERANDS_CAPACITY MLXCEL_OPERANDS_MAX
typedef struct case_t {
  mlxcel_operation_t operation;
  size_t count;
  mlxcel_host_tensor_t operands[OPERANDS_CAPACITY];
} case_t;

static uint32_t random_state;
static uint32_t next_random(void) {
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

static void case_open(const mlxcel_operation_t* operation, uint32_t seed, case_t* out_case) {
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

static void case_close(case_t* c) {
  for (size_t i = 0; i < c->count; ++i) mlxcel_host_tensor_deinitialize(&c->operands[i]);
}

static iree_status_t case_compute(mlxcel_reference_t* reference, const case_t* c, mlxcel_host_tensor_t* out_result) {
  return mlxcel_reference_compute(reference, &c->operation, c->count, c->operands, out_result);
}

static mlxcel_operation_t operation_of(mlxcel_op_class_t op, mlxcel_op_variant_t variant, mlxcel_dtype_t dtype) {
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

static bool is_all_zero(const mlxcel_host_tensor_t* tensor) {
  for (size_t i = 0; i < tensor->size; ++i) {
    if (((const uint8_t*)tensor->data)[i]) return false;
  }
  return true;
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

// --- programs that aren't what they should be: shell scripts in place of the real one -------------------------------------------------------

static const char* path_of(const char* name) {
  static char path[4200];
  snprintf(path, sizeof(path), "%s/%s", test_folder, name);
  return path;
}

static void write_file(const char* name, const void* data, size_t size, mode_t mode) {
  FILE* file = fopen(path_of(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path_of(name), mode), 0);
}

// |body| runs with $T = the tests' folder.
static void write_stub(const char* body) {
  char script[8192];
  int size = snprintf(script, sizeof(script), "#!/bin/sh\nT='%s'\n%s\n", test_folder, body);
  assert_true(size > 0 && (size_t)size < sizeof(script));
  write_file("stub", script, (size_t)size, 0755);
}

static void write_frame(const char* name, mlxcel_reference_frame_kind_t kind, const mlxcel_strbuf_t* payload, uint64_t announced) {
  mlxcel_strbuf_t bytes;
  mlxcel_strbuf_initialize(&bytes);
  uint8_t header[MLXCEL_REFERENCE_HEADER_BYTES];
  mlxcel_reference_frame_encode(&(mlxcel_reference_frame_t){kind, announced}, header);
  mlxcel_strbuf_append(&bytes, iree_make_string_view((const char*)header, sizeof(header)));
  mlxcel_strbuf_append(&bytes, mlxcel_strbuf_view(payload));
  write_file(name, bytes.data, bytes.size, 0644);
  mlxcel_strbuf_deinitialize(&bytes);
}

// Writes an identity frame to the tests' folder.
static void write_identity(const char* name, const char* version, char digest_digit) {
  mlxcel_reference_identity_t identity;
  memset(&identity, 0, sizeof(identity));
  snprintf(identity.version, sizeof(identity.version), "%s", version);
  snprintf(identity.build, sizeof(identity.build), "stub-%s", version);
  memset(identity.libmlx.text, digest_digit, 64);
  memset(identity.blas.text, '1', 64);
  memset(identity.libm.text, '2', 64);
  mlxcel_strbuf_t payload;
  mlxcel_strbuf_initialize(&payload);
  mlxcel_reference_identity_encode(&identity, &payload);
  write_frame(name, MLXCEL_REFERENCE_FRAME_IDENTITY, &payload, payload.size);
  mlxcel_strbuf_deinitialize(&payload);
}

static iree_status_t open_stub(uint32_t timeout_seconds, mlxcel_reference_t** out_reference) {
  char program[4200];
  snprintf(program, sizeof(program), "%s", path_of("stub"));
  return mlxcel_reference_open(&(mlxcel_reference_options_t){.program = program, .timeout_seconds = timeout_seconds}, out_reference);
}

// The stub's opening fails so, and leaves nothing: no process, no descriptor, no folder.
static void expect_open_failure(uint32_t timeout_seconds, iree_status_code_t code, const char* part) {
  size_t descriptors = count_descriptors(), folders = count_temporary_folders();
  mlxcel_reference_t* reference = NULL;
  expect_failure(open_stub(timeout_seconds, &reference), code, part);
  assert_null(reference);
  assert_int_equal(count_descriptors(), descriptors);
  assert_int_equal(count_temporary_folders(), folders);
}

static void a_program_that_ends_at_once_is_an_error_with_its_last_words(void** state) {
  (void)state;
  write_stub("echo 'these are dying words' >&2; exit 3");
  expect_open_failure(20, IREE_STATUS_ABORTED, "exit code was 3");
  expect_open_failure(20, IREE_STATUS_ABORTED, "these are dying words");
  write_stub("kill -SEGV $$");
  expect_open_failure(20, IREE_STATUS_ABORTED, "signal 11");
}

static void a_program_without_its_libraries_is_unavailable(void** state) {
  (void)state;
  write_stub("echo 'libmlx.so: cannot open shared object file' >&2; exit 127");
  expect_open_failure(20, IREE_STATUS_UNAVAILABLE, "scripts/setup.sh");
}

static void a_program_that_is_missing_or_not_executable_is_unavailable(void** state) {
  (void)state;
  mlxcel_reference_t* reference = NULL;
  expect_failure(mlxcel_reference_open(&(mlxcel_reference_options_t){.program = "/nonexistent/reference"}, &reference), IREE_STATUS_UNAVAILABLE,
                 "/nonexistent/reference");
  write_file("stub", "no script", 9, 0644);
  expect_open_failure(20, IREE_STATUS_UNAVAILABLE, "cannot start");
}

static void a_program_that_speaks_garbage_another_version_or_too_much_is_refused(void** state) {
  (void)state;
  write_stub("echo 'Hello, what would you like to compute today?'; sleep 1000");
  expect_open_failure(20, IREE_STATUS_INVALID_ARGUMENT, "not a frame");
  write_stub("printf 'XMRF\\002\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000'; sleep 1000");
  expect_open_failure(20, IREE_STATUS_INVALID_ARGUMENT, "version 2");
  write_stub("printf 'XMRF\\001\\000\\000\\000\\001\\000\\000\\000\\000\\000\\000\\000\\377\\377\\377\\377\\377\\377\\377\\000'; sleep 1000");
  expect_open_failure(20, IREE_STATUS_RESOURCE_EXHAUSTED, "at most");
  write_stub("printf 'XMRF\\001\\000\\000\\000\\003\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000'; sleep 1000");
  expect_open_failure(20, IREE_STATUS_INVALID_ARGUMENT, "identity");
}

static void another_mlx_version_is_refused(void** state) {
  (void)state;
  write_identity("identity", "0.0.1", 'a');
  write_stub("cat $T/identity; sleep 1000");
  expect_open_failure(20, IREE_STATUS_FAILED_PRECONDITION, "MLX 0.0.1");
}

static bool process_is_gone(const char* pid_file) {
  char* text = NULL;
  size_t size = 0;
  expect_ok(mlxcel_file_read(path_of(pid_file), 64, &text, &size));
  pid_t pid = (pid_t)strtol(text, NULL, 10);
  free(text);
  assert_true(pid > 1);
  for (int left = 200; left > 0 && kill(pid, 0) == 0; --left) {  // an orphan's zombie stays until its new parent looks
    char stat_path[64], line[256] = "";
    snprintf(stat_path, sizeof(stat_path), "/proc/%d/stat", (int)pid);
    FILE* file = fopen(stat_path, "r");
    if (!file) return true;
    bool is_zombie = fgets(line, sizeof(line), file) && strstr(line, ") Z");
    fclose(file);
    if (is_zombie) return true;
    usleep(10000);
  }
  return kill(pid, 0) != 0;
}

static void a_program_that_hangs_at_its_start_is_killed_with_everything_it_started(void** state) {
  (void)state;
  write_stub("touch $TMPDIR/left-behind; sleep 1000 & echo $! >$T/grandchild; echo $$ >$T/child; trap '' TERM; sleep 1000");
  uint64_t begin = mlxcel_reference_process_now();
  expect_open_failure(1, IREE_STATUS_DEADLINE_EXCEEDED, "too long");
  assert_true(mlxcel_reference_process_now() - begin < 20000);
  assert_true(process_is_gone("child"));
  assert_true(process_is_gone("grandchild"));
}

static case_t stub_case(void) {
  mlxcel_operation_t operation = operation_of(MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, MLXCEL_DTYPE_F32);
  case_t c;
  case_open(&operation, 5, &c);
  return c;
}

// With an honest identity, a request to the stub fails so.
static void expect_compute_failure(const char* body, uint32_t timeout_seconds, iree_status_code_t code, const char* part) {
  size_t descriptors = count_descriptors(), folders = count_temporary_folders();
  write_identity("identity", MLXCEL_MLX_VERSION, 'a');
  write_stub(body);
  mlxcel_reference_t* reference = NULL;
  expect_ok(open_stub(timeout_seconds, &reference));
  case_t c = stub_case();
  mlxcel_host_tensor_t result;
  expect_failure(case_compute(reference, &c, &result), code, part);
  assert_null(result.data);
  case_close(&c);
  mlxcel_reference_close(reference);
  assert_int_equal(count_descriptors(), descriptors);
  assert_int_equal(count_temporary_folders(), folders);
}

static void a_program_that_dies_or_hangs_during_a_request_fails_that_request(void** state) {
  (void)state;
  expect_compute_failure("cat $T/identity; head -c 30 >/dev/null; echo gone >&2; exit 7", 20, IREE_STATUS_ABORTED, "exit code was 7");
  expect_compute_failure("cat $T/identity; kill -KILL $$", 20, IREE_STATUS_ABORTED, "signal 9");
  expect_compute_failure("cat $T/identity; echo $$ >$T/child; cat >/dev/null", 1, IREE_STATUS_DEADLINE_EXCEEDED, "too long");
  assert_true(process_is_gone("child"));
  expect_compute_failure("cat $T/identity; sleep 1000", 1, IREE_STATUS_DEADLINE_EXCEEDED, "too long");
}

static void write_result(const char* name, mlxcel_dtype_t dtype, int64_t rows, int64_t columns) {
  mlxcel_strbuf_t payload;
  mlxcel_strbuf_initialize(&payload);
  const mlxcel_operand_t type = {.dtype = dtype, .rank = 2, .dims = {rows, columns}};
  mlxcel_reference_result_encode(&type, &payload);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&type) * mlxcel_dtype_size(dtype); ++i) mlxcel_strbuf_append(&payload, iree_make_string_view("", 1));
  write_frame(name, MLXCEL_REFERENCE_FRAME_RESULT, &payload, payload.size);
  mlxcel_strbuf_deinitialize(&payload);
}

static void a_result_of_another_type_or_size_is_refused(void** state) {
  (void)state;
  write_result("result", MLXCEL_DTYPE_BF16, 3, 64);
  expect_compute_failure("cat $T/identity $T/result; cat >/dev/null", 20, IREE_STATUS_INTERNAL, "bf16");
  write_result("result", MLXCEL_DTYPE_F32, 64, 3);
  expect_compute_failure("cat $T/identity $T/result; cat >/dev/null", 20, IREE_STATUS_INTERNAL, "expected was f32");
  write_result("result", MLXCEL_DTYPE_F32, 300, 64);
  expect_compute_failure("cat $T/identity $T/result; cat >/dev/null", 20, IREE_STATUS_RESOURCE_EXHAUSTED, "at most");
  expect_compute_failure("cat $T/identity $T/identity; cat >/dev/null", 20, IREE_STATUS_INVALID_ARGUMENT, "wrong kind");
  write_result("result", MLXCEL_DTYPE_F32, 3, 64);
  expect_compute_failure("cat $T/identity; head -c 100 $T/result; exit 0", 20, IREE_STATUS_ABORTED, "exit code was 0");
}

static void a_right_result_of_a_talkative_program_is_taken(void** state) {
  (void)state;
  write_identity("identity", MLXCEL_MLX_VERSION, 'a');
  write_result("result", MLXCEL_DTYPE_F32, 3, 64);
  // More on its standard error than a pipe holds, before each answer.
  write_stub("head -c 300000 /dev/zero >&2; cat $T/identity; head -c 300000 /dev/zero >&2; cat $T/result; cat >/dev/null");
  mlxcel_reference_t* reference = NULL;
  expect_ok(open_stub(20, &reference));
  case_t c = stub_case();
  mlxcel_host_tensor_t result;
  expect_ok(case_compute(reference, &c, &result));
  assert_true(is_all_zero(&result));
  mlxcel_host_tensor_deinitialize(&result);
  case_close(&c);
  mlxcel_reference_close(reference);
}

static void after_a_crash_the_next_request_needs_the_same_mlx(void** state) {
  (void)state;
  write_identity("identity", MLXCEL_MLX_VERSION, 'a');
  write_identity("identity2", MLXCEL_MLX_VERSION, 'b');
  write_result("result", MLXCEL_DTYPE_F32, 3, 64);
  write_stub(
      "n=$(cat $T/starts 2>/dev/null); echo $((n + 1)) >$T/starts\n"
      "case \"$n\" in '') cat $T/identity; exit 9;; 1) cat $T/identity $T/result; head -c 2000 >/dev/null; exit 9;; *) cat $T/identity2; cat >/dev/null;; "
      "esac");
  unlink(path_of("starts"));
  mlxcel_reference_t* reference = NULL;
  expect_ok(open_stub(20, &reference));
  case_t c = stub_case();
  mlxcel_host_tensor_t result;
  expect_failure(case_compute(reference, &c, &result), IREE_STATUS_ABORTED, "exit code was 9");
  expect_ok(case_compute(reference, &c, &result));  // a new process, the same MLX
  mlxcel_host_tensor_deinitialize(&result);
  expect_failure(case_compute(reference, &c, &result), IREE_STATUS_ABORTED, "exit code was 9");
  expect_failure(case_compute(reference, &c, &result), IREE_STATUS_FAILED_PRECONDITION, "changed");
  case_close(&c);
  mlxcel_reference_close(reference);
  assert_int_equal(count_temporary_folders(), shared ? 1 : 0);
}

static void the_environment_is_what_was_written_and_nothing_else(void** state) {
  (void)state;
  write_identity("identity", MLXCEL_MLX_VERSION, 'a');
  write_stub("tr '\\000' '\\n' </proc/$$/environ >$T/environment; cat $T/identity; cat >/dev/null");
  setenv("MLXCEL_TEST_SECRET", "leaked", 1);
  setenv("MLX_ENABLE_TF32", "1", 1);
  for (int disable_compile = 0; disable_compile < 2; ++disable_compile) {
    char program[4200];
    snprintf(program, sizeof(program), "%s", path_of("stub"));
    mlxcel_reference_t* reference = NULL;
    expect_ok(mlxcel_reference_open(&(mlxcel_reference_options_t){.program = program, .disable_compile = disable_compile != 0}, &reference));
    mlxcel_reference_close(reference);
    char* text = NULL;
    size_t size = 0;
    expect_ok(mlxcel_file_read(path_of("environment"), 4096, &text, &size));
    size_t lines = 0;
    for (size_t i = 0; i < size; ++i) lines += text[i] == '\n';
    assert_int_equal(lines, disable_compile ? 6 : 5);
    assert_non_null(strstr(text, "MLX_ENABLE_TF32=0\n"));
    assert_non_null(strstr(text, "LANG=C\n"));
    assert_non_null(strstr(text, "PATH=/usr/local/bin:/usr/bin:/bin\n"));
    assert_non_null(strstr(text, "/mlxcel-reference-"));
    assert_int_equal(strstr(text, "MLX_DISABLE_COMPILE=1\n") != NULL, disable_compile != 0);
    assert_null(strstr(text, "leaked"));
    free(text);
  }
  unsetenv("MLXCEL_TEST_SECRET");
  unsetenv("MLX_ENABLE_TF32");
}

// --- the group ---------------------------------------------------------------------------------------------------------------------------

static int open_group(void** state) {
  (void)state;
  char* folder = NULL;
  expect_ok(mlxcel_directory_create_temporary("/tmp", "mlxcel-test-reference-", &folder));
  snprintf(test_folder, sizeof(test_folder), "%s", folder);
  free(folder);
  setenv("TMPDIR", test_folder, 1);
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
  assert_int_equal(count_temporary_folders(), 0);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);  // no child is left, not even a zombie
  expect_ok(mlxcel_directory_remove(test_folder));
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
      cmocka_unit_test(a_program_that_ends_at_once_is_an_error_with_its_last_words),
      cmocka_unit_test(a_program_without_its_libraries_is_unavailable),
      cmocka_unit_test(a_program_that_is_missing_or_not_executable_is_unavailable),
      cmocka_unit_test(a_program_that_speaks_garbage_another_version_or_too_much_is_refused),
      cmocka_unit_test(another_mlx_version_is_refused),
      cmocka_unit_test(a_program_that_hangs_at_its_start_is_killed_with_everything_it_started),
      cmocka_unit_test(a_program_that_dies_or_hangs_during_a_request_fails_that_request),
      cmocka_unit_test(a_result_of_another_type_or_size_is_refused),
      cmocka_unit_test(a_right_result_of_a_talkative_program_is_taken),
      cmocka_unit_test(after_a_crash_the_next_request_needs_the_same_mlx),
      cmocka_unit_test(the_environment_is_what_was_written_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, open_group, close_group);
}
