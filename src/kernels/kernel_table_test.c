// The table that the emitter writes calls from says what kernel_abi.h and mlx_abi.h declare, and the object files hold what the table names.
#include "kernels/kernel_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "kernels/kernel_abi.h"
#include "kernels/kernel_objects.h"
#include "kernels/mlx_abi.h"

// --- the declarations as text, by the preprocessor ---------------------------------------------------------------------------------------------

#define TEXT_OF(...) #__VA_ARGS__
#define EXPANDED_TEXT_OF(...) TEXT_OF(__VA_ARGS__)
typedef struct declared_kernel_t {
  const char* symbol;
  const char* parameters;  // "const int32_t *tokens_base, size_t tokens_offset, ..., size_t group, size_t groups"
} declared_kernel_t;
#define DECLARED_KERNEL(name, arguments) {#name, EXPANDED_TEXT_OF(arguments)},
static const declared_kernel_t declared_kernels[] = {MLXCEL_KERNELS(DECLARED_KERNEL) MLXCEL_MLX_KERNELS(DECLARED_KERNEL) MLXCEL_HOST_KERNELS(DECLARED_KERNEL)};
#define DECLARED_COUNT (sizeof(declared_kernels) / sizeof(declared_kernels[0]))

typedef struct parameter_t {
  char type[32];  // "const float *"
  char name[32];
} parameter_t;

// Takes the next parameter off |*text|; false at its end.
static bool next_parameter(const char** text, parameter_t* out) {
  const char* begin = *text + strspn(*text, ", ");
  if (!*begin) return false;
  const char* end = begin + strcspn(begin, ",");
  *text = end;
  while (end > begin && end[-1] == ' ') --end;
  const char* name = end;
  while (name > begin && name[-1] != ' ' && name[-1] != '*') --name;
  assert_true((size_t)(name - begin) < sizeof(out->type) && (size_t)(end - name) < sizeof(out->name));
  snprintf(out->type, sizeof(out->type), "%.*s", (int)(name - begin), begin);
  snprintf(out->name, sizeof(out->name), "%.*s", (int)(end - name), name);
  return true;
}

// A written buffer is the result if it is called |out|, else one that is updated in place.
static char parameter_kind(const parameter_t* parameter) {
  static const struct {
    const char* type;
    char kind;
  } kinds[] = {{"const float *", 'f'}, {"const int32_t *", 'i'}, {"const uint8_t *", 'b'}, {"float *", 't'},
               {"uint8_t *", 'T'},     {"int32_t ", 'n'},        {"float ", 'e'}};
  if (strcmp(parameter->name, "out_base") == 0) {
    if (strcmp(parameter->type, "float *") == 0) return 'o';
    if (strcmp(parameter->type, "uint8_t *") == 0) return 'B';
  }
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    if (strcmp(parameter->type, kinds[i].type) == 0) return kinds[i].kind;
  }
  fail_msg("the table knows no kind for a parameter of type '%s'", parameter->type);
  return 0;
}

// A buffer's base pointer is followed by its offset under the same name.
static void expect_offset(const parameter_t* base, const char** rest) {
  parameter_t offset;
  assert_true(next_parameter(rest, &offset));
  size_t stem = strlen(base->name) - strlen("_base");
  assert_string_equal(base->name + stem, "_base");
  assert_memory_equal(base->name, offset.name, stem);
  assert_string_equal(offset.name + stem, "_offset");
  assert_string_equal(offset.type, "size_t ");
}

static void derive_kinds(const char* parameters, char out_kinds[64]) {
  size_t count = 0;
  parameter_t parameter;
  const char* rest = parameters;
  while (next_parameter(&rest, &parameter) && strcmp(parameter.name, "group") != 0) {
    assert_true(count < 63);
    out_kinds[count++] = parameter_kind(&parameter);
    if (strchr(parameter.type, '*')) expect_offset(&parameter, &rest);
  }
  out_kinds[count] = 0;
  assert_string_equal(parameter.type, "size_t ");
  assert_true(next_parameter(&rest, &parameter));
  assert_string_equal(parameter.name, "groups");
  assert_string_equal(parameter.type, "size_t ");
  assert_false(next_parameter(&rest, &parameter));
}

static void kernels_table_lists_the_declared_kernels(void** state) {
  (void)state;
  assert_int_equal(DECLARED_COUNT, MLXCEL_KERNEL_COUNT);
  for (int i = 0; i < MLXCEL_KERNEL_COUNT; ++i) assert_string_equal(mlxcel_kernel_info((mlxcel_kernel_id_t)i)->symbol, declared_kernels[i].symbol);
}

static void kernels_table_arguments_are_the_declared_ones(void** state) {
  (void)state;
  for (int i = 0; i < MLXCEL_KERNEL_COUNT; ++i) {
    char kinds[64];
    derive_kinds(declared_kernels[i].parameters, kinds);
    if (strcmp(mlxcel_kernel_info((mlxcel_kernel_id_t)i)->arguments, kinds) != 0) {
      fail_msg("%s: the header declares %s (%s), the table says %s", declared_kernels[i].symbol, kinds, declared_kernels[i].parameters,
               mlxcel_kernel_info((mlxcel_kernel_id_t)i)->arguments);
    }
  }
}

static void kernels_are_found_by_symbol(void** state) {
  (void)state;
  for (int i = 0; i < MLXCEL_KERNEL_COUNT; ++i) {
    const mlxcel_kernel_info_t* kernel = mlxcel_kernel_info((mlxcel_kernel_id_t)i);
    assert_ptr_equal(mlxcel_kernel_find(kernel->symbol), kernel);
  }
  static const char* const unknown[] = {"", "mlxcel_pinned_", "mlxcel_pinned_embe", "mlxcel_pinned_embedd", "pinned_embed"};
  for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); ++i) assert_null(mlxcel_kernel_find(unknown[i]));
}

static void kernels_symbol_prefix_names_the_object(void** state) {
  (void)state;
  static const char* const prefixes[MLXCEL_KERNEL_OBJECT_COUNT] = {"mlxcel_pinned_", "mlxcel_mlx_", "mlxcel_host_"};
  for (int i = 0; i < MLXCEL_KERNEL_COUNT; ++i) {
    const mlxcel_kernel_info_t* kernel = mlxcel_kernel_info((mlxcel_kernel_id_t)i);
    assert_int_equal(strncmp(kernel->symbol, prefixes[kernel->object], strlen(prefixes[kernel->object])), 0);
  }
}

static void kernels_objects_have_names_of_their_own(void** state) {
  (void)state;
  assert_string_equal(mlxcel_kernel_object_file(MLXCEL_KERNEL_OBJECT_PINNED), "pinned_f32.o");
  assert_string_equal(mlxcel_kernel_object_file(MLXCEL_KERNEL_OBJECT_MLX), "mlx_cpu.o");
  assert_null(mlxcel_kernel_object_file(MLXCEL_KERNEL_OBJECT_HOST));
  assert_string_equal(mlxcel_kernel_executable(MLXCEL_KERNEL_OBJECT_PINNED), "kernels");
  assert_string_equal(mlxcel_kernel_executable(MLXCEL_KERNEL_OBJECT_MLX), "mlx_kernels");
  assert_string_equal(mlxcel_kernel_executable(MLXCEL_KERNEL_OBJECT_HOST), "host_kernels");
}

static void kernels_source_digests_are_distinct_sha256(void** state) {
  (void)state;
  for (int object = 0; object < MLXCEL_KERNEL_OBJECT_COUNT; ++object) {
    const char* digest = mlxcel_kernel_object_source_digest((mlxcel_kernel_object_t)object);
    assert_int_equal(strlen(digest), 64);
    assert_int_equal(strspn(digest, "0123456789abcdef"), 64);
    for (int other = 0; other < object; ++other) assert_string_not_equal(digest, mlxcel_kernel_object_source_digest((mlxcel_kernel_object_t)other));
  }
  assert_string_equal(mlxcel_kernel_source_digest(), mlxcel_kernel_object_source_digest(MLXCEL_KERNEL_OBJECT_PINNED));
}

// --- objects -------------------------------------------------------------------------------------------------------------------------------------

static void expect_symbols(iree_const_byte_span_t bytes, mlxcel_kernel_object_t object) {
  assert_true(bytes.data_length > 64);
  assert_memory_equal(bytes.data,
                      "\x7f"
                      "ELF",
                      4);
  for (int i = 0; i < MLXCEL_KERNEL_COUNT; ++i) {
    const mlxcel_kernel_info_t* kernel = mlxcel_kernel_info((mlxcel_kernel_id_t)i);
    bool found = memmem(bytes.data, bytes.data_length, kernel->symbol, strlen(kernel->symbol) + 1) != NULL;
    if (found != (kernel->object == object)) fail_msg("the bytes of object %d %s %s", (int)object, found ? "hold" : "lack", kernel->symbol);
  }
}

static void kernels_objects_hold_their_symbols_and_no_other(void** state) {
  (void)state;
  for (int level = 0; level < MLXCEL_KERNEL_LEVEL_COUNT; ++level) {
    expect_symbols(mlxcel_kernel_object_bytes((mlxcel_kernel_level_t)level), MLXCEL_KERNEL_OBJECT_PINNED);
  }
  expect_symbols(mlxcel_kernel_mlx_object_bytes(), MLXCEL_KERNEL_OBJECT_MLX);
}

static void kernels_objects_differ_by_level(void** state) {
  (void)state;
  iree_const_byte_span_t v3 = mlxcel_kernel_object_bytes(MLXCEL_KERNEL_LEVEL_V3), v4 = mlxcel_kernel_object_bytes(MLXCEL_KERNEL_LEVEL_V4);
  assert_true(v3.data_length != v4.data_length || memcmp(v3.data, v4.data, v3.data_length) != 0);
}

// --- levels --------------------------------------------------------------------------------------------------------------------------------------

static void expect_level_error(const char* requested, iree_status_code_t code, const char* part) {
  mlxcel_kernel_level_t level;
  iree_status_t status = mlxcel_kernel_level_select(iree_make_cstring_view(requested), &level);
  char text[512];
  mlxcel_status_text(status, text, sizeof(text));
  assert_int_equal(iree_status_code(status), code);
  iree_status_ignore(status);
  if (!strstr(text, part)) fail_msg("'%s' isn't in: %s", part, text);
}

static void kernels_unknown_level_lists_the_valid_ones(void** state) {
  (void)state;
  static const char* const unknown[] = {"v5", "V3", "v", "v33", " v3", "x86-64-v3"};
  for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); ++i) {
    expect_level_error(unknown[i], IREE_STATUS_INVALID_ARGUMENT, "valid are v3 and v4");
    expect_level_error(unknown[i], IREE_STATUS_INVALID_ARGUMENT, unknown[i]);
  }
}

static void kernels_named_level_is_taken_or_refused_by_name(void** state) {
  (void)state;
  for (int i = 0; i < MLXCEL_KERNEL_LEVEL_COUNT; ++i) {
    mlxcel_kernel_level_t wanted = (mlxcel_kernel_level_t)i, level;
    const char* name = mlxcel_kernel_level_name(wanted);
    if (mlxcel_kernel_level_runs_here(wanted)) {
      assert_true(iree_status_is_ok(mlxcel_kernel_level_select(iree_make_cstring_view(name), &level)));
      assert_int_equal(level, wanted);
    } else {
      expect_level_error(name, IREE_STATUS_UNIMPLEMENTED, name);
    }
  }
}

static void kernels_default_level_is_the_highest_that_runs(void** state) {
  (void)state;
  if (!mlxcel_kernel_level_runs_here(MLXCEL_KERNEL_LEVEL_V3)) {
    expect_level_error("", IREE_STATUS_UNIMPLEMENTED, "AVX2");
    return;
  }
  mlxcel_kernel_level_t level;
  assert_true(iree_status_is_ok(mlxcel_kernel_level_select(iree_string_view_empty(), &level)));
  assert_int_equal(level, mlxcel_kernel_level_runs_here(MLXCEL_KERNEL_LEVEL_V4) ? MLXCEL_KERNEL_LEVEL_V4 : MLXCEL_KERNEL_LEVEL_V3);
}

static bool has_flag(mlxcel_kernel_level_t level, const char* flag) {
  size_t count = 0;
  const char* const* flags = mlxcel_kernel_compile_flags(level, &count);
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(flags[i], flag) == 0) return true;
  }
  return false;
}

static void kernels_compile_flags_are_reproducible_and_of_the_level(void** state) {
  (void)state;
  for (int i = 0; i < MLXCEL_KERNEL_LEVEL_COUNT; ++i) {
    mlxcel_kernel_level_t level = (mlxcel_kernel_level_t)i;
    char cpu[64];
    snprintf(cpu, sizeof(cpu), "--iree-llvmcpu-target-cpu=x86-64-%s", mlxcel_kernel_level_name(level));
    assert_true(has_flag(level, cpu));
    assert_true(has_flag(level, "--iree-opt-level=O2"));
    assert_true(has_flag(level, "--iree-llvmcpu-reassociate-fp-reductions=false"));
    assert_non_null(strstr(mlxcel_kernel_target(level), mlxcel_kernel_level_name(level)));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_table_lists_the_declared_kernels),
      cmocka_unit_test(kernels_table_arguments_are_the_declared_ones),
      cmocka_unit_test(kernels_are_found_by_symbol),
      cmocka_unit_test(kernels_symbol_prefix_names_the_object),
      cmocka_unit_test(kernels_objects_have_names_of_their_own),
      cmocka_unit_test(kernels_source_digests_are_distinct_sha256),
      cmocka_unit_test(kernels_objects_hold_their_symbols_and_no_other),
      cmocka_unit_test(kernels_objects_differ_by_level),
      cmocka_unit_test(kernels_unknown_level_lists_the_valid_ones),
      cmocka_unit_test(kernels_named_level_is_taken_or_refused_by_name),
      cmocka_unit_test(kernels_default_level_is_the_highest_that_runs),
      cmocka_unit_test(kernels_compile_flags_are_reproducible_and_of_the_level),
  };
  return cmocka_run_group_tests_name("kernel_table", tests, NULL, NULL);
}
