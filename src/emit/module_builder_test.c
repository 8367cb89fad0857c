#include "emit/module_builder.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "emit/golden_modules.h"
#include "emit/helpers/helpers.h"
#include "support/comma_locale.h"

static size_t count_of(const char* text, const char* part) {
  size_t count = 0;
  for (const char* at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) ++count;
  return count;
}

static const golden_module_t* module_named(const char* name) {
  for (size_t i = 0; golden_module_at(i); ++i) {
    if (strcmp(golden_module_at(i)->name, name) == 0) return golden_module_at(i);
  }
  fail_msg("no golden module %s", name);
  return NULL;
}

static char* finish_text(mlxcel_module_builder_t* builder) {
  char *text = NULL, *contract = NULL;
  size_t size = 0;
  mlxcel_sha256_hex_t fingerprint;
  assert_true(iree_status_is_ok(mlxcel_module_finish(builder, &text, &size, &contract, &fingerprint)));
  free(contract);
  mlxcel_module_builder_deinitialize(builder);
  return text;
}

// A function that loads |count| parameters of 8 bytes.
static char* text_with_parameters(const char* const* keys, size_t count) {
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
  mlxcel_function_begin(&builder);
  for (size_t i = 0; i < count; ++i) {
    mlxcel_value_t value = mlxcel_parameter_bytes(&builder, iree_make_cstring_view(keys[i]), "F32", 8);
    mlxcel_function_result(&builder, value);
  }
  mlxcel_function_end(&builder, "f");
  return finish_text(&builder);
}

// --- names from a checkpoint -------------------------------------------------------------------------------------------------------------------------

static void emit_escapes_every_byte_that_a_string_cannot_hold(void** state) {
  (void)state;
  for (int byte = 1; byte < 256; ++byte) {
    const char key[] = {'a', (char)byte, 'z', 0};
    const char* keys[] = {key};
    char expected[64];
    bool is_plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
    if (is_plain) {
      snprintf(expected, sizeof(expected), "<\"model\"::\"a%cz\">", byte);
    } else {
      snprintf(expected, sizeof(expected), "<\"model\"::\"a\\%02Xz\">", (unsigned)byte);
    }
    char* text = text_with_parameters(keys, 1);
    if (count_of(text, expected) != 1) fail_msg("byte 0x%02x isn't written as %s", (unsigned)byte, expected);
    free(text);
  }
}

static void emit_hostile_names_stay_inside_their_strings(void** state) {
  (void)state;
  static const char* const names[] = GOLDEN_HOSTILE_NAMES;
  char* text = text_with_parameters(names, GOLDEN_HOSTILE_COUNT);
  static const char* const lines[] = {
      "  util.global private @w0 = #flow.parameter.named<\"model\"::\"a \\22quoted\\22 name\"> : tensor<8xi8>\n",
      "  util.global private @w1 = #flow.parameter.named<\"model\"::\"back\\5Cslash\\5C22\"> : tensor<8xi8>\n",
      "  util.global private @w2 = #flow.parameter.named<\"model\"::\"new\\0Aline\\09tab\"> : tensor<8xi8>\n",
      "  util.global private @w3 = #flow.parameter.named<\"model\"::\"caf\\C3\\A9 \\E5\\B1\\82\"> : tensor<8xi8>\n",
      "  util.global private @w4 = #flow.parameter.named<\"model\"::\"@FINGERPRINT@\"> : tensor<8xi8>\n",
      "  util.global private @w5 = #flow.parameter.named<\"model\"::\"%s%n > : tensor<4xi8>\"> : tensor<8xi8>\n",
      "  util.global private @w6 = #flow.parameter.named<\"model\"::\"\"> : tensor<8xi8>\n",
  };
  for (size_t i = 0; i < GOLDEN_HOSTILE_COUNT; ++i) assert_int_equal(count_of(text, lines[i]), 1);
  assert_int_equal(count_of(text, "util.global private"), GOLDEN_HOSTILE_COUNT);
  free(text);
}

// The builder marks the fingerprint's places while it writes; a tensor that is called like the mark keeps its name.
static void emit_a_tensor_named_like_the_fingerprint_mark_keeps_its_name(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("hostile_names"));
  assert_int_equal(count_of(text.mlir, "#flow.parameter.named<\"model\"::\"@FINGERPRINT@\">"), 1);
  assert_int_equal(count_of(text.mlir, "@FINGERPRINT@"), 1);
  assert_int_equal(count_of(text.mlir, text.fingerprint.text), 1);
  golden_text_deinitialize(&text);
}

static void emit_a_tensor_used_twice_is_one_parameter(void** state) {
  (void)state;
  const char* keys[] = {"b", "a", "b", "ab", "a"};
  char* text = text_with_parameters(keys, 5);
  assert_int_equal(count_of(text, "util.global private"), 3);
  assert_non_null(strstr(text, "@w0 = #flow.parameter.named<\"model\"::\"b\">"));
  assert_non_null(strstr(text, "@w1 = #flow.parameter.named<\"model\"::\"a\">"));
  assert_non_null(strstr(text, "@w2 = #flow.parameter.named<\"model\"::\"ab\">"));
  assert_int_equal(count_of(text, "util.global.load immutable @w0 "), 2);
  assert_int_equal(count_of(text, "util.global.load immutable @w1 "), 2);
  assert_int_equal(count_of(text, "util.global.load immutable @w2 "), 1);
  free(text);
}

// --- numbers -------------------------------------------------------------------------------------------------------------------------------------------

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static void expect_bit_patterns(void) {
  static const uint32_t patterns[] = {0x00000000, 0x80000000, 0x3F800000, 0x3DCCCCCD, 0x3727C5AC, 0x00000001, 0x7F7FFFFF, 0xFF800000, 0x7FC00000, 0x7FC12345};
  for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); ++i) {
    mlxcel_module_builder_t builder;
    mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
    mlxcel_function_begin(&builder);
    mlxcel_function_result(&builder, mlxcel_constant_f32(&builder, float_of(patterns[i])));
    mlxcel_function_end(&builder, "f");
    char* text = finish_text(&builder);
    char expected[64];
    snprintf(expected, sizeof(expected), "%%0 = arith.constant 0x%08X : f32\n", patterns[i]);
    assert_int_equal(count_of(text, expected), 1);
    free(text);
  }
}

static void emit_floats_are_bit_patterns(void** state) {
  (void)state;
  expect_bit_patterns();
}

static void emit_numbers_ignore_a_comma_locale(void** state) {
  (void)state;
  if (!test_comma_locale_enter()) skip();
  expect_bit_patterns();
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
  mlxcel_function_begin(&builder);
  mlxcel_constant_i32(&builder, -1234567);
  mlxcel_function_result(&builder, mlxcel_parameter_bytes(&builder, IREE_SV("w"), "F32", 9876543210));
  mlxcel_function_end(&builder, "f");
  char* text = finish_text(&builder);
  test_comma_locale_leave();
  assert_non_null(strstr(text, "arith.constant -1234567 : i32\n"));
  assert_non_null(strstr(text, "tensor<9876543210xi8>"));
  free(text);
}

// --- kernels -------------------------------------------------------------------------------------------------------------------------------------------

// With a plain memref<?xf32> the compiler folds a binding's offset to zero, and the kernel silently works on the wrong place.
static void emit_every_binding_keeps_its_offset(void** state) {
  (void)state;
  for (size_t i = 0; golden_module_at(i); ++i) {
    golden_text_t text = golden_module_emit(golden_module_at(i));
    size_t bindings = count_of(text.mlir, "stream.binding.subspan");
    assert_true(bindings > 0);
    assert_int_equal(count_of(text.mlir, ", strided<[1], offset: ?>>{%c1}\n"), bindings);
    assert_int_equal(count_of(text.mlir, "memref.extract_strided_metadata"), bindings);
    assert_int_equal(count_of(text.mlir, "memref<?x"), 2 * bindings);
    assert_int_equal(count_of(text.mlir, ", strided<[1], offset: ?>>"), 2 * bindings);
    golden_text_deinitialize(&text);
  }
}

// A wrapper hands the C function base and offset of every buffer, the scalars, and the share of the work.
static void emit_wrappers_pass_what_the_kernels_declare(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("attention"));
  assert_non_null(strstr(text.mlir,
                         "func.func private @mlxcel_pinned_attention(memref<f32>, index, memref<i8>, index, memref<i8>, index, memref<i32>, index, "
                         "memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, i32, i32, i32, f32, index, index) attributes "
                         "{hal.import.static, llvm.bareptr = true}\n"));
  assert_non_null(strstr(text.mlir,
                         "func.call @mlxcel_pinned_attention(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, "
                         "%a13, %a14, %group, %groups) : "));
  golden_text_deinitialize(&text);
}

static void emit_only_used_kernels_are_exported(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("shared_parameters"));
  assert_int_equal(count_of(text.mlir, "stream.executable private"), 1);
  assert_int_equal(count_of(text.mlir, "stream.executable.export public"), 2);
  assert_int_equal(count_of(text.mlir, "stream.executable.export public @matmul "), 1);
  assert_int_equal(count_of(text.mlir, "stream.executable.export public @rms_norm "), 1);
  golden_text_deinitialize(&text);
}

static char* matmul_text(uint32_t workers, int64_t out_features) {
  mlxcel_weight_t weight = {
      .values = {.key = IREE_SV("w"), .dtype = "F32", .byte_count = (uint64_t)(out_features * 16 * 4)}, .out_features = out_features, .in_features = 16};
  const int64_t x_dims[] = {1, 16}, row_dims[] = {1};
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
  builder.workers = workers;
  mlxcel_function_begin(&builder);
  mlxcel_value_t x = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_F32, 2, x_dims, -1);
  mlxcel_value_t positions = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_I32, 1, row_dims, -1);
  mlxcel_function_result(&builder, mlxcel_emit_matmul(&builder, 1, &weight, x, positions, NULL));
  mlxcel_function_end(&builder, "f");
  return finish_text(&builder);
}

// Attention of |rows| texts and 4 KV heads: 4 units a row, each as large as its text is long.
static char* attention_text(uint32_t workers, int64_t rows) {
  const int64_t q_dims[] = {rows, 128}, row_dims[] = {rows}, cache_dims[] = {2, MLXCEL_DIM_DYNAMIC, 4, MLXCEL_DIM_DYNAMIC, 16};
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
  builder.workers = workers;
  mlxcel_function_begin(&builder);
  mlxcel_value_t q = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_F32, 2, q_dims, -1);
  mlxcel_emit_rows_t row = {.count = rows};
  row.slots = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_I32, 1, row_dims, -1);
  row.positions = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_I32, 1, row_dims, -1);
  mlxcel_kv_values_t kv = {.k_cache = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_F32, 5, cache_dims, -1)};
  kv.v_cache = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_F32, 5, cache_dims, -1);
  const mlxcel_attention_shape_t shape = {.heads = 8, .kv_heads = 4, .head_dim = 16, .layer = 0, .scale = 0.25f};
  mlxcel_function_result(&builder, mlxcel_emit_attention(&builder, &row, &shape, q, &kv));
  mlxcel_function_end(&builder, "f");
  return finish_text(&builder);
}

// The constant that the dispatch of |kernel| takes as its workload; frees |text|.
static unsigned workgroups_in(char* text, const char* kernel) {
  char call[64], definition[32];
  snprintf(call, sizeof(call), "flow.dispatch @kernels::@%s[%%", kernel);
  const char* dispatch = strstr(text, call);
  assert_non_null(dispatch);
  snprintf(definition, sizeof(definition), "    %%%ld = arith.constant ", strtol(dispatch + strlen(call), NULL, 10));
  const char* line = strstr(text, definition);
  assert_non_null(line);
  char* rest = NULL;
  unsigned long count = strtoul(line + strlen(definition), &rest, 10);
  assert_memory_equal(rest, " : index\n", 9);
  free(text);
  return (unsigned)count;
}

// At least one share of the work even for a sliver; for an unknown number of workers few for a small matrix, at most WORKGROUPS_MAX for the largest.
static void emit_workgroups_are_bounded(void** state) {
  (void)state;
  static const struct {
    int64_t out_features;
    unsigned workgroups;
  } rows[] = {{1, 1}, {16, 1}, {17, 2}, {240, 15}, {241, 15}, {2000, 15}, {127 * 16, 15}, {127 * 16 + 1, 128}, {1 << 20, 128}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    assert_int_equal(workgroups_in(matmul_text(0, rows[i].out_features), "matmul"), rows[i].workgroups);
  }
}

// Two shares for each worker, one for a lone one; never more than there are tiles, and at most WORKGROUPS_MAX.
static void emit_workgroups_follow_the_workers(void** state) {
  (void)state;
  static const struct {
    uint32_t workers;
    unsigned workgroups;
  } rows[] = {{1, 1}, {2, 4}, {3, 6}, {4, 8}, {8, 16}, {64, 128}, {65, 128}, {UINT32_MAX, 128}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    assert_int_equal(workgroups_in(matmul_text(rows[i].workers, 1 << 20), "matmul"), rows[i].workgroups);
    assert_int_equal(workgroups_in(matmul_text(rows[i].workers, 48), "matmul"), rows[i].workgroups < 3 ? rows[i].workgroups : 3);
    assert_int_equal(workgroups_in(matmul_text(rows[i].workers, 1), "matmul"), 1);
  }
}

// One less than IREE's workers take eight at a time of.
static void emit_uneven_work_is_handed_out_one_by_one(void** state) {
  (void)state;
  static const struct {
    uint32_t workers;
    unsigned workgroups;
  } rows[] = {{0, 15}, {1, 1}, {2, 15}, {3, 23}, {4, 31}, {8, 63}, {16, 127}, {17, 128}, {UINT32_MAX, 128}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    if (rows[i].workers) assert_int_equal(workgroups_in(attention_text(rows[i].workers, 512), "attention"), rows[i].workgroups);
    assert_int_equal(workgroups_in(attention_text(rows[i].workers, 1), "attention"), rows[i].workgroups < 4 ? rows[i].workgroups : 4);
    assert_int_equal(workgroups_in(attention_text(rows[i].workers, 8), "attention"), rows[i].workgroups < 32 ? rows[i].workgroups : 32);
  }
}

// A module for another number of workers computes the same: its contract's fingerprint is the same one.
static void emit_workers_do_not_show_in_the_contract(void** state) {
  (void)state;
  mlxcel_sha256_hex_t fingerprints[2];
  char* texts[2];
  for (uint32_t i = 0; i < 2; ++i) {
    mlxcel_module_builder_t builder;
    mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
    builder.workers = 1 + 7 * i;
    module_named("attention")->build(&builder);
    char* contract = NULL;
    size_t size = 0;
    assert_true(iree_status_is_ok(mlxcel_module_finish(&builder, &texts[i], &size, &contract, &fingerprints[i])));
    free(contract);
    mlxcel_module_builder_deinitialize(&builder);
  }
  assert_string_equal(fingerprints[0].text, fingerprints[1].text);
  assert_string_not_equal(texts[0], texts[1]);
  free(texts[0]);
  free(texts[1]);
}

// --- functions ---------------------------------------------------------------------------------------------------------------------------------------------

// Consumed caches: the argument names the result that takes its storage, and the kernel updates it in place.
static void emit_a_consumed_cache_names_its_result(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("qkv_rope"));
  static const char cache[] = "tensor<3x?x2x?x16xf32>";
  const char* signature = strstr(text.mlir, "func.func @qkv_rope(");
  assert_non_null(signature);
  char expected[256];
  snprintf(expected, sizeof(expected), "%s {iree.abi.output = 1 : index}, ", cache);
  assert_int_equal(count_of(signature, expected), 1);
  snprintf(expected, sizeof(expected), "%s {iree.abi.output = 2 : index}) -> (tensor<2x64xf32>, %s, %s) attributes", cache, cache, cache);
  assert_int_equal(count_of(signature, expected), 1);
  assert_int_equal(count_of(text.mlir, "iree.abi.output"), 2);
  assert_int_equal(count_of(text.mlir, " as tensor<3x?x2x?x16xf32>{"), 2);
  golden_text_deinitialize(&text);
}

static void emit_a_read_only_cache_is_not_consumed(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("attention"));
  assert_int_equal(count_of(text.mlir, "iree.abi.output"), 0);
  assert_int_equal(count_of(text.mlir, " as tensor"), 0);
  golden_text_deinitialize(&text);
}

static void emit_every_function_carries_the_fingerprint(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("shared_parameters"));
  char attribute[256];
  snprintf(attribute, sizeof(attribute), "attributes {iree.reflection = {\"mlxcel.contract\" = \"%s\", \"mlxcel.contract.version\" = \"%d\"}} {\n",
           text.fingerprint.text, MLXCEL_CONTRACT_VERSION);
  assert_int_equal(count_of(text.mlir, attribute), 3);
  mlxcel_sha256_hex_t digest;
  assert_true(iree_status_is_ok(mlxcel_sha256_of(text.contract, strlen(text.contract), &digest)));
  assert_string_equal(digest.text, text.fingerprint.text);
  golden_text_deinitialize(&text);
}

// --- byte kernels, kernel objects ------------------------------------------------------------------------------------------------------------------------

// Byte kinds take tensors of any dtype; the wrapper sees bytes, so offsets count bytes.
static void emit_byte_kernels_take_every_dtype(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("mlx_rms_norm_gather"));
  assert_non_null(
      strstr(text.mlir,
             "func.func private @mlxcel_mlx_rms_norm(memref<i8>, index, memref<i32>, index, memref<i8>, index, memref<i8>, index, i32, i32, i32, i32, "
             "i32, i32, f32, index, index) attributes {hal.import.static, llvm.bareptr = true}\n"));
  assert_non_null(strstr(text.mlir, "func.func @rms_norm(%a0: !stream.binding, %a1: !stream.binding, %a2: !stream.binding, %a4: i32, "));
  assert_non_null(strstr(text.mlir, "%a10: f32, %a3: !stream.binding) {\n"));
  assert_non_null(strstr(text.mlir, "(tensor<?x64xbf16>{%2}, tensor<2xi32>, tensor<128xi8>, i32, i32, i32, i32, i32, i32, f32) -> tensor<2x64xbf16>\n"));
  golden_text_deinitialize(&text);
}

// Without a result of its own, a kernel returns what it updates.
static void emit_a_kernel_may_only_update(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("mlx_op_kv_store"));
  const char* call = strstr(text.mlir, "flow.dispatch @mlx_kernels::@kv_store[");
  assert_non_null(call);
  assert_int_equal(count_of(call, " -> (%4 as tensor<1x1x2x5x16xbf16>, %5 as tensor<1x1x2x5x16xbf16>)\n"), 1);
  const char* line = call;
  while (line[-1] != '\n') --line;
  unsigned first = 0, second = 0;
  assert_int_equal(sscanf(line, "    %%%u, %%%u = flow", &first, &second), 2);
  assert_int_equal(second, first + 1);
  char expected[64];
  snprintf(expected, sizeof(expected), " = stablehlo.concatenate %%%u, %%%u, dim = 0 : ", first, second);
  assert_int_equal(count_of(text.mlir, expected), 1);
  golden_text_deinitialize(&text);
}

// One executable a kernel object. The host's has no object, and its callee isn't linked: it is an import of the module at run time.
static void emit_every_kernel_object_is_one_executable(void** state) {
  (void)state;
  golden_text_t text = golden_module_emit(module_named("mlx_op_gelu_tanh"));
  assert_int_equal(count_of(text.mlir, "stream.executable private"), 2);
  assert_int_equal(count_of(text.mlir, "  stream.executable private @mlx_kernels attributes {hal.executable.objects = "), 1);
  assert_int_equal(count_of(text.mlir, "{path = \"mlx_cpu.o\"}"), 1);
  assert_int_equal(count_of(text.mlir, "  stream.executable private @host_kernels {\n"), 1);
  assert_int_equal(count_of(text.mlir, "hal.import.static"), 1);
  const char* host = strstr(text.mlir, "func.func private @mlxcel_host_unary(");
  assert_non_null(host);
  assert_memory_equal(strchr(host, ')'), ") attributes {llvm.bareptr = true}\n", 35);
  assert_int_equal(count_of(text.mlir, "flow.dispatch @host_kernels::@unary["), 2);
  assert_int_equal(count_of(text.mlir, "@kernels"), 0);
  golden_text_deinitialize(&text);
}

static void emit_a_module_without_kernels_has_no_executable(void** state) {
  (void)state;
  const char* keys[] = {"w"};
  char* text = text_with_parameters(keys, 1);
  assert_int_equal(count_of(text, "stream.executable"), 0);
  free(text);
}

// --- free text ------------------------------------------------------------------------------------------------------------------------------------------

static void emit_types_are_written_as_mlir_reads_them(void** state) {
  (void)state;
  const int64_t dims[] = {2, MLXCEL_DIM_DYNAMIC, 7};
  assert_string_equal(mlxcel_value_type(mlxcel_value_of(MLXCEL_ELEMENT_BF16, 3, dims)).text, "tensor<2x?x7xbf16>");
  assert_string_equal(mlxcel_value_type(mlxcel_value_of(MLXCEL_ELEMENT_F16, 1, dims)).text, "tensor<2xf16>");
  assert_string_equal(mlxcel_value_type(mlxcel_value_of(MLXCEL_ELEMENT_BYTE, 0, NULL)).text, "tensor<i8>");
  const mlxcel_value_t scalar = {.element = MLXCEL_ELEMENT_I32, .is_scalar = true};
  assert_string_equal(mlxcel_value_type(scalar).text, "i32");
  const int64_t huge[] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  const char* text = mlxcel_value_type(mlxcel_value_of(MLXCEL_ELEMENT_INDEX, 5, huge)).text;
  assert_string_equal(text + strlen(text) - 6, "index>");
}

static void emit_dtypes_and_elements_are_the_same_thing(void** state) {
  (void)state;
  static const mlxcel_element_t elements[] = {MLXCEL_ELEMENT_F32, MLXCEL_ELEMENT_F16, MLXCEL_ELEMENT_BF16, MLXCEL_ELEMENT_I32, MLXCEL_ELEMENT_BYTE};
  static const mlxcel_dtype_t dtypes[] = {MLXCEL_DTYPE_F32, MLXCEL_DTYPE_F16, MLXCEL_DTYPE_BF16, MLXCEL_DTYPE_I32, MLXCEL_DTYPE_U8};
  for (size_t i = 0; i < sizeof(elements) / sizeof(elements[0]); ++i) {
    assert_int_equal(mlxcel_element_of(dtypes[i]), elements[i]);
    assert_int_equal(mlxcel_element_dtype(elements[i]), dtypes[i]);
  }
}

static void emit_lines_of_a_helper_go_where_they_are_written(void** state) {
  (void)state;
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "iree-canonical", &builder);
  mlxcel_function_begin(&builder);
  const int64_t dims[] = {4};
  mlxcel_value_t x = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_BF16, 1, dims, -1), y = mlxcel_value_new(&builder, MLXCEL_ELEMENT_BF16, 1, dims);
  mlxcel_module_text(&builder, "%%%u = stablehlo.negate %%%u : %s", y.id, x.id, mlxcel_value_type(y).text);
  mlxcel_function_result(&builder, y);
  mlxcel_function_end(&builder, "f");
  char* text = finish_text(&builder);
  assert_int_equal(count_of(text, " {\n    %1 = stablehlo.negate %0 : tensor<4xbf16>\n    return %1 : tensor<4xbf16>\n"), 1);
  free(text);
}

// --- taps ------------------------------------------------------------------------------------------------------------------------------------------------

// Two taps, and a cache that is consumed.
static void build_tapped(mlxcel_module_builder_t* builder) {
  const int64_t dims[] = {2, 8};
  mlxcel_function_begin(builder);
  mlxcel_value_t x = mlxcel_function_argument(builder, MLXCEL_ELEMENT_BF16, 2, dims, -1);
  mlxcel_value_t cache = mlxcel_function_argument(builder, MLXCEL_ELEMENT_F32, 2, dims, 1);
  mlxcel_module_tap(builder, "layers.0.norm", x);
  mlxcel_module_tap(builder, "layers.0.output", cache);
  mlxcel_function_result(builder, x);
  mlxcel_function_result(builder, cache);
  mlxcel_function_end(builder, "f");
}

static void emit_taps_are_results_before_the_function_s_own(void** state) {
  (void)state;
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "mlx-cpu-0.32.4", &builder);
  builder.taps = true;
  build_tapped(&builder);
  assert_int_equal(builder.tap_count, 2);
  assert_string_equal(builder.tap_list[0].name, "layers.0.norm");
  assert_int_equal(builder.tap_list[0].type.dtype, MLXCEL_DTYPE_BF16);
  assert_int_equal(builder.tap_list[0].type.rank, 2);
  assert_int_equal(builder.tap_list[0].type.dims[1], 8);
  assert_string_equal(builder.tap_list[1].name, "layers.0.output");
  assert_int_equal(builder.tap_list[1].type.dtype, MLXCEL_DTYPE_F32);
  char* text = finish_text(&builder);
  // The consumed argument's result moved behind the taps.
  assert_non_null(strstr(text,
                         "@f(%0: tensor<2x8xbf16>, %1: tensor<2x8xf32> {iree.abi.output = 3 : index}) -> "
                         "(tensor<2x8xbf16>, tensor<2x8xf32>, tensor<2x8xbf16>, tensor<2x8xf32>) "));
  assert_non_null(strstr(text, "return %0, %1, %0, %1 : "));
  free(text);
}

static void emit_taps_cost_nothing_when_off(void** state) {
  (void)state;
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "mlx-cpu-0.32.4", &builder);
  build_tapped(&builder);
  assert_int_equal(builder.tap_count, 0);
  char* text = finish_text(&builder);
  assert_non_null(strstr(text, "{iree.abi.output = 1 : index}) -> (tensor<2x8xbf16>, tensor<2x8xf32>) "));
  assert_non_null(strstr(text, "return %0, %1 : "));
  free(text);
}

// --- failures --------------------------------------------------------------------------------------------------------------------------------------------

static void expect_profile_failure(const char* profile, iree_status_code_t code, const char* part) {
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", profile, &builder);
  module_named("rms_norm")->build(&builder);
  char *text = NULL, *contract = NULL;
  size_t size = 0;
  mlxcel_sha256_hex_t fingerprint;
  iree_status_t status = mlxcel_module_finish(&builder, &text, &size, &contract, &fingerprint);
  char message[512];
  mlxcel_status_text(status, message, sizeof(message));
  assert_int_equal(iree_status_code(status), code);
  iree_status_ignore(status);
  if (!strstr(message, profile) || !strstr(message, part)) fail_msg("the message is: %s", message);
  mlxcel_module_builder_deinitialize(&builder);
}

static void emit_needs_a_profile_that_has_helpers(void** state) {
  (void)state;
  expect_profile_failure("pinned-f64", IREE_STATUS_NOT_FOUND, "unknown numeric profile");
  expect_profile_failure("mlx-cuda-0.32.4-sm80", IREE_STATUS_UNIMPLEMENTED, "declared only");
  expect_profile_failure("iree-canonical", IREE_STATUS_UNIMPLEMENTED, "no helpers for models");
}

static void emit_the_first_failure_comes_out_of_finish(void** state) {
  (void)state;
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
  module_named("rms_norm")->build(&builder);
  mlxcel_module_fail(&builder, iree_make_status(IREE_STATUS_DATA_LOSS, "the first"));
  mlxcel_module_fail(&builder, iree_make_status(IREE_STATUS_INTERNAL, "the second"));
  char *text = (char*)1, *contract = (char*)1;
  size_t size = 0;
  mlxcel_sha256_hex_t fingerprint;
  iree_status_t status = mlxcel_module_finish(&builder, &text, &size, &contract, &fingerprint);
  char message[256];
  mlxcel_status_text(status, message, sizeof(message));
  assert_int_equal(iree_status_code(status), IREE_STATUS_DATA_LOSS);
  iree_status_ignore(status);
  assert_non_null(strstr(message, "the first"));
  assert_null(text);
  assert_null(contract);
  mlxcel_module_builder_deinitialize(&builder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(emit_escapes_every_byte_that_a_string_cannot_hold),
      cmocka_unit_test(emit_hostile_names_stay_inside_their_strings),
      cmocka_unit_test(emit_a_tensor_named_like_the_fingerprint_mark_keeps_its_name),
      cmocka_unit_test(emit_a_tensor_used_twice_is_one_parameter),
      cmocka_unit_test(emit_floats_are_bit_patterns),
      cmocka_unit_test(emit_numbers_ignore_a_comma_locale),
      cmocka_unit_test(emit_every_binding_keeps_its_offset),
      cmocka_unit_test(emit_wrappers_pass_what_the_kernels_declare),
      cmocka_unit_test(emit_only_used_kernels_are_exported),
      cmocka_unit_test(emit_workgroups_are_bounded),
      cmocka_unit_test(emit_workgroups_follow_the_workers),
      cmocka_unit_test(emit_uneven_work_is_handed_out_one_by_one),
      cmocka_unit_test(emit_workers_do_not_show_in_the_contract),
      cmocka_unit_test(emit_a_consumed_cache_names_its_result),
      cmocka_unit_test(emit_a_read_only_cache_is_not_consumed),
      cmocka_unit_test(emit_every_function_carries_the_fingerprint),
      cmocka_unit_test(emit_byte_kernels_take_every_dtype),
      cmocka_unit_test(emit_a_kernel_may_only_update),
      cmocka_unit_test(emit_every_kernel_object_is_one_executable),
      cmocka_unit_test(emit_a_module_without_kernels_has_no_executable),
      cmocka_unit_test(emit_types_are_written_as_mlir_reads_them),
      cmocka_unit_test(emit_dtypes_and_elements_are_the_same_thing),
      cmocka_unit_test(emit_lines_of_a_helper_go_where_they_are_written),
      cmocka_unit_test(emit_taps_are_results_before_the_function_s_own),
      cmocka_unit_test(emit_taps_cost_nothing_when_off),
      cmocka_unit_test(emit_needs_a_profile_that_has_helpers),
      cmocka_unit_test(emit_the_first_failure_comes_out_of_finish),
  };
  return cmocka_run_group_tests_name("module_builder", tests, NULL, NULL);
}
