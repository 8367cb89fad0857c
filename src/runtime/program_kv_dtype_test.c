// Programs whose KV caches and hidden rows have elements of two bytes: sizes, places and bits. The decoder here is written by hand: its caches hold the tokens,
// and its logits say what was in the cell before. Needs the compiler.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "contract/contract_version.h"
#include "runtime/operation_test_support.h"
#include "runtime/program.h"
#include "support/tiny_llama.h"

enum { kSlots = 3, kContext = 5, kHeadDim = 2, kVocab = 2, kHidden = 4, kChunk = 2 };

typedef struct kv_case_t {
  const char *name, *element;  // of the interface, of MLIR
  uint32_t size;
  uint32_t one;  // 1.0
} kv_case_t;
static const kv_case_t kv_cases[] = {{"F32", "f32", 4, 0x3f800000}, {"F16", "f16", 2, 0x3c00}, {"BF16", "bf16", 2, 0x3f80}};

// --- the decoder -------------------------------------------------------------------------------------------------------------------------------

// $E: the caches' element; $I: an integer as large; $B: the bits of 1; $L: the logits'; $R: the attributes. The
// tokens are 0 and 1. The logits are the cell's two elements before the token is written there.
static const char decode_text[] =
    "  func.func @decode_1(%tokens: tensor<1xi32>, %slots: tensor<1xi32>, %positions: tensor<1xi32>, %cos: tensor<?x1xf32>, %sin: tensor<?x1xf32>,\n"
    "      %k: tensor<1x?x1x?x2x$E> {iree.abi.output = 1 : index}, %v: tensor<1x?x1x?x2x$E> {iree.abi.output = 2 : index})\n"
    "      -> (tensor<1x2x$L>, tensor<1x?x1x?x2x$E>, tensor<1x?x1x?x2x$E>) $R {\n"
    "    %c0 = arith.constant 0 : index\n"
    "    %s32 = tensor.extract %slots[%c0] : tensor<1xi32>\n"
    "    %s = arith.index_cast %s32 : i32 to index\n"
    "    %p32 = tensor.extract %positions[%c0] : tensor<1xi32>\n"
    "    %p = arith.index_cast %p32 : i32 to index\n"
    "    %cell = tensor.extract_slice %k[0, %s, 0, %p, 0] [1, 1, 1, 1, 2] [1, 1, 1, 1, 1] : tensor<1x?x1x?x2x$E> to tensor<1x1x1x1x2x$E>\n"
    "    %before = stablehlo.reshape %cell : (tensor<1x1x1x1x2x$E>) -> tensor<1x2x$E>\n"
    "    %logits = stablehlo.convert %before : (tensor<1x2x$E>) -> tensor<1x2x$L>\n"
    "    %one = stablehlo.constant dense<$B> : tensor<1xi32>\n"  // by its bits: the compiler can't round to bf16
    "    %bits32 = stablehlo.multiply %tokens, %one : tensor<1xi32>\n"
    "    %bits = stablehlo.convert %bits32 : (tensor<1xi32>) -> tensor<1x$I>\n"
    "    %token = stablehlo.bitcast_convert %bits : (tensor<1x$I>) -> tensor<1x$E>\n"
    "    %row = stablehlo.broadcast_in_dim %token, dims = [0] : (tensor<1x$E>) -> tensor<1x1x1x1x2x$E>\n"
    "    %k2 = tensor.insert_slice %row into %k[0, %s, 0, %p, 0] [1, 1, 1, 1, 2] [1, 1, 1, 1, 1] : tensor<1x1x1x1x2x$E> into tensor<1x?x1x?x2x$E>\n"
    "    return %logits, %k2, %v : tensor<1x2x$L>, tensor<1x?x1x?x2x$E>, tensor<1x?x1x?x2x$E>\n"
    "  }\n";
static const char prefill_text[] =
    "  func.func @prefill_2(%tokens: tensor<2xi32>, %slots: tensor<2xi32>, %positions: tensor<2xi32>, %cos: tensor<?x1xf32>, %sin: tensor<?x1xf32>,\n"
    "      %k: tensor<1x?x1x?x2x$E> {iree.abi.output = 1 : index}, %v: tensor<1x?x1x?x2x$E> {iree.abi.output = 2 : index})\n"
    "      -> (tensor<2x4x$E>, tensor<1x?x1x?x2x$E>, tensor<1x?x1x?x2x$E>) $R {\n"
    "    %one = stablehlo.constant dense<$B> : tensor<2xi32>\n"
    "    %bits32 = stablehlo.multiply %tokens, %one : tensor<2xi32>\n"
    "    %bits = stablehlo.convert %bits32 : (tensor<2xi32>) -> tensor<2x$I>\n"
    "    %t = stablehlo.bitcast_convert %bits : (tensor<2x$I>) -> tensor<2x$E>\n"
    "    %h = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<2x$E>) -> tensor<2x4x$E>\n"
    "    return %h, %k, %v : tensor<2x4x$E>, tensor<1x?x1x?x2x$E>, tensor<1x?x1x?x2x$E>\n"
    "  }\n";
static const char head_text[] =
    "  func.func @head_1(%hidden: tensor<?x4x$E>, %index: tensor<1xi32>) -> tensor<1x2xf32> $R {\n"
    "    %c0 = arith.constant 0 : index\n"
    "    %i32 = tensor.extract %index[%c0] : tensor<1xi32>\n"
    "    %i = arith.index_cast %i32 : i32 to index\n"
    "    %row = tensor.extract_slice %hidden[%i, 1] [1, 2] [1, 1] : tensor<?x4x$E> to tensor<1x2x$E>\n"
    "    %logits = stablehlo.convert %row : (tensor<1x2x$E>) -> tensor<1x2xf32>\n"
    "    return %logits : tensor<1x2xf32>\n"
    "  }\n";

static const char* filling(char mark, const kv_case_t* kv, const char* logits) {
  static char bits[16];
  snprintf(bits, sizeof(bits), "%u", kv->one);
  switch (mark) {
    case 'E':
      return kv->element;
    case 'I':
      return kv->size == 4 ? "i32" : "i16";
    case 'B':
      return bits;
    case 'L':
      return logits;
    default:
      return test_reflection(test_operation_fingerprint(), MLXCEL_CONTRACT_VERSION_TEXT);
  }
}

static void append_filled(mlxcel_strbuf_t* text, const char* format, const kv_case_t* kv, const char* logits) {
  for (const char* mark; (mark = strchr(format, '$')) != NULL; format = mark + 2) {
    mlxcel_strbuf_append(text, iree_make_string_view(format, (size_t)(mark - format)));
    mlxcel_strbuf_append_cstring(text, filling(mark[1], kv, logits));
  }
  mlxcel_strbuf_append_cstring(text, format);
}

static char* decoder_text(const kv_case_t* kv, const char* logits) {
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_strbuf_append_cstring(&text, "module @model {\n");
  append_filled(&text, decode_text, kv, logits);
  append_filled(&text, prefill_text, kv, logits);
  append_filled(&text, head_text, kv, "f32");
  mlxcel_strbuf_append_cstring(&text, "}\n");
  TEST_ASSERT_OK(mlxcel_strbuf_take_status(&text));
  return mlxcel_strbuf_release(&text);
}

// A decoder with the caches of |kv| whose manifest says |kv_dtype|.
static void compile_decoder(const char* kv_dtype, const kv_case_t* kv, const char* logits, mlxcel_artifact_t* out_artifact) {
  mlxcel_program_interface_t interface = {
      .kind = "decoder",
      .module_name = "model",
      .parameter_scope = "model",
      .layer_count = 1,
      .kv_head_count = 1,
      .head_dim = kHeadDim,
      .hidden_size = kHidden,
      .vocab_size = kVocab,
      .rope_width = kHeadDim / 2,
      .prefill_chunks = {.count = 1, .values = {kChunk}},
      .decode_batches = {.count = 1, .values = {1}},
      .head_rows = {.count = 1, .values = {1}},
  };
  snprintf(interface.kv_dtype, sizeof(interface.kv_dtype), "%s", kv_dtype);
  char* text = decoder_text(kv, logits);
  test_operation_compile(text, &interface, out_artifact);
  free(text);
}

// --- programs ------------------------------------------------------------------------------------------------------------------------------------

typedef struct run_t {
  mlxcel_artifact_t artifact;
  mlxcel_checkpoint_t* checkpoint;
  mlxcel_device_t* device;
  mlxcel_program_t* program;
} run_t;

static void run_open(const char* kv_dtype, const kv_case_t* kv, const char* logits, run_t* out_run) {
  char folder[512];
  tiny_llama_t model;  // the program takes its rotary parameters and the context's bound
  tiny_llama_initialize(&model);
  snprintf(folder, sizeof(folder), "%s/checkpoint", test_operations_folder());
  TEST_ASSERT_OK(mlxcel_directory_create(folder));
  tiny_llama_write(&model, folder);
  TEST_ASSERT_OK(mlxcel_checkpoint_open(folder, &out_run->checkpoint));
  compile_decoder(kv_dtype, kv, logits, &out_run->artifact);
  out_run->device = test_operation_device("local-sync", 0);
  mlxcel_program_options_t options = test_operation_options();
  options.slot_count = kSlots;
  options.context = kContext;
  TEST_ASSERT_OK(mlxcel_program_load(out_run->device, &out_run->artifact, out_run->checkpoint, &options, &out_run->program));
}

static void run_close(run_t* run) {
  mlxcel_program_unload(run->program);
  mlxcel_device_close(run->device);
  mlxcel_artifact_deinitialize(&run->artifact);
  mlxcel_checkpoint_close(run->checkpoint);
}

static iree_status_t decode(mlxcel_program_t* program, int32_t token, int32_t slot, int32_t position, float logits[kVocab]) {
  const mlxcel_rows_t rows = {1, &token, &slot, &position};
  return mlxcel_program_decode(program, &rows, logits);
}

static void runtime_caches_have_the_interface_s_dtype_and_begin_as_zeros(void** state) {
  (void)state;
  for (size_t i = 0; i < IREE_ARRAYSIZE(kv_cases); ++i) {
    const kv_case_t* kv = &kv_cases[i];
    run_t run;
    run_open(kv->name, kv, "f32", &run);
    const size_t cache_bytes = (size_t)kSlots * kContext * kHeadDim * kv->size;
    assert_int_equal(mlxcel_program_kv_bytes(run.program), 2 * cache_bytes);
    const uint8_t* cache = run.program->k_cache.data;
    for (size_t b = 0; b < cache_bytes; ++b) assert_int_equal(cache[b], 0);
    float logits[kVocab];
    TEST_ASSERT_OK(decode(run.program, 1, 1, 3, logits));
    assert_true(logits[0] == 0.0f && logits[1] == 0.0f);
    TEST_ASSERT_OK(decode(run.program, 0, 2, 3, logits));  // a neighbouring slot
    assert_true(logits[0] == 0.0f);
    uint32_t cell = 0;  // little-endian
    memcpy(&cell, cache + (size_t)(1 * kContext + 3) * kHeadDim * kv->size, kv->size);
    assert_int_equal(cell, kv->one);
    TEST_ASSERT_OK(decode(run.program, 1, 1, 3, logits));
    assert_true(logits[0] == 1.0f && logits[1] == 1.0f);
    run_close(&run);
  }
}

static void runtime_hidden_rows_of_any_dtype_go_from_prefill_to_head(void** state) {
  (void)state;
  for (size_t i = 0; i < IREE_ARRAYSIZE(kv_cases); ++i) {
    run_t run;
    run_open(kv_cases[i].name, &kv_cases[i], "f32", &run);
    const int32_t tokens[kChunk] = {0, 1}, slots[kChunk] = {0, 0}, positions[kChunk] = {0, 1};
    const mlxcel_rows_t rows = {kChunk, tokens, slots, positions};
    const uint32_t indices[] = {1, 0};
    float logits[2][kVocab];
    TEST_ASSERT_OK(mlxcel_program_prefill(run.program, &rows));
    TEST_ASSERT_OK(mlxcel_program_head(run.program, 2, indices, logits[0]));
    assert_true(logits[0][0] == 1.0f && logits[0][1] == 1.0f && logits[1][0] == 0.0f);
    run_close(&run);
  }
}

static void runtime_caches_of_another_dtype_than_the_module_s_are_refused(void** state) {
  (void)state;
  run_t run;
  float logits[kVocab];
  run_open("F16", &kv_cases[2], "f32", &run);
  TEST_ASSERT_STATUS(decode(run.program, 1, 1, 3, logits), IREE_STATUS_INVALID_ARGUMENT, "element type");
  run_close(&run);
}

static void runtime_logits_that_are_not_f32_are_refused(void** state) {
  (void)state;
  run_t run;
  float logits[kVocab];
  run_open("F16", &kv_cases[1], "f16", &run);
  TEST_ASSERT_STATUS(decode(run.program, 1, 1, 3, logits), IREE_STATUS_DATA_LOSS, "logits aren't f32");
  run_close(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runtime_caches_have_the_interface_s_dtype_and_begin_as_zeros),
      cmocka_unit_test(runtime_hidden_rows_of_any_dtype_go_from_prefill_to_head),
      cmocka_unit_test(runtime_caches_of_another_dtype_than_the_module_s_are_refused),
      cmocka_unit_test(runtime_logits_that_are_not_f32_are_refused),
  };
  return cmocka_run_group_tests_name("program_kv_dtype", tests, test_operations_setup, test_operations_teardown);
}
