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
                         "func.func private @mlxcel_pinned_attention(memref<f32>, index, memref<f32>, index, memref<f32>, index, memref<i32>, index, "
                         "memref<i32>, index, memref<f32>, index, i32, i32, i32, i32, i32, i32, i32, f32, index, index) attributes "
                         "{hal.import.static, llvm.bareptr = true}\n"));
  assert_non_null(strstr(text.mlir,
                         "func.call @mlxcel_pinned_attention(%p0, %o0, %p1, %o1, %p2, %o2, %p3, %o3, %p4, %o4, %p5, %o5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, "
                         "%a13, %group, %groups) : "));
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

static char* matmul_text(int64_t out_features) {
  mlxcel_weight_t weight = {.values = {IREE_SV("w"), "F32", (uint64_t)(out_features * 16 * 4)}, .out_features = out_features, .in_features = 16};
  const int64_t x_dims[] = {1, 16}, row_dims[] = {1};
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", "pinned-f32", &builder);
  mlxcel_function_begin(&builder);
  mlxcel_value_t x = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_F32, 2, x_dims, -1);
  mlxcel_value_t positions = mlxcel_function_argument(&builder, MLXCEL_ELEMENT_I32, 1, row_dims, -1);
  mlxcel_function_result(&builder, mlxcel_emit_matmul(&builder, 1, &weight, x, positions, NULL));
  mlxcel_function_end(&builder, "f");
  return finish_text(&builder);
}

// At least one share of the work even for a sliver, at most a few dozen for the largest matrix.
static void emit_workgroups_are_bounded(void** state) {
  (void)state;
  static const struct {
    int64_t out_features;
    const char* groups;
  } rows[] = {{1, " = arith.constant 1 : index\n"}, {17, " = arith.constant 2 : index\n"}, {1 << 20, " = arith.constant 32 : index\n"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    char* text = matmul_text(rows[i].out_features);
    const char* dispatch = strstr(text, "flow.dispatch @kernels::@matmul[");
    assert_non_null(dispatch);
    char line[64];
    snprintf(line, sizeof(line), "    %.*s%s", (int)strcspn(strchr(dispatch, '[') + 1, "]"), strchr(dispatch, '[') + 1, rows[i].groups);
    assert_non_null(strstr(text, line));
    free(text);
  }
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
      cmocka_unit_test(emit_a_consumed_cache_names_its_result),
      cmocka_unit_test(emit_a_read_only_cache_is_not_consumed),
      cmocka_unit_test(emit_every_function_carries_the_fingerprint),
      cmocka_unit_test(emit_the_first_failure_comes_out_of_finish),
  };
  return cmocka_run_group_tests_name("module_builder", tests, NULL, NULL);
}
