#include "emit/golden_modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "emit/golden_parts.h"
#include "emit/operation_emitter.h"

const golden_module_t* golden_module_at(size_t index) {
  static const golden_module_t* (*const lists[])(size_t) = {golden_pinned_module_at, golden_mlx_module_at, golden_operation_at};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); ++i) {
    size_t count = 0;
    while (lists[i](count)) ++count;
    if (index < count) return lists[i](index);
    index -= count;
  }
  return NULL;
}

static void expect_ok(const char* name, iree_status_t status) {
  if (iree_status_is_ok(status)) return;
  char message[1024];
  mlxcel_status_text(status, message, sizeof(message));
  iree_status_ignore(status);
  fail_msg("%s isn't emitted: %s", name, message);
}

static golden_text_t emit_operation(const golden_module_t* module) {
  mlxcel_emitted_operation_t emitted;
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(module->profile));
  assert_non_null(profile);
  expect_ok(module->name, mlxcel_emit_operation_module(profile, module->operation, &emitted));
  assert_int_equal(strlen(emitted.mlir_text), emitted.mlir_size);
  golden_text_t text = {.mlir = emitted.mlir_text, .contract = emitted.contract_text, .fingerprint = emitted.fingerprint};
  emitted.mlir_text = emitted.contract_text = NULL;
  mlxcel_emitted_operation_deinitialize(&emitted);
  return text;
}

golden_text_t golden_module_emit(const golden_module_t* module) {
  if (module->operation) return emit_operation(module);
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", module->profile, &builder);
  module->build(&builder);
  golden_text_t text;
  size_t size = 0;
  expect_ok(module->name, mlxcel_module_finish(&builder, &text.mlir, &size, &text.contract, &text.fingerprint));
  assert_int_equal(strlen(text.mlir), size);
  mlxcel_module_builder_deinitialize(&builder);
  return text;
}

void golden_text_deinitialize(golden_text_t* text) {
  free(text->mlir);
  free(text->contract);
}

static char* replaced(const char* text, const char* old, const char* new) {
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  for (const char* at; (at = strstr(text, old)) != NULL; text = at + strlen(old)) {
    mlxcel_strbuf_append(&out, iree_make_string_view(text, (size_t)(at - text)));
    mlxcel_strbuf_append_cstring(&out, new);
  }
  mlxcel_strbuf_append_cstring(&out, text);
  assert_true(iree_status_is_ok(mlxcel_strbuf_take_status(&out)));
  char* result = mlxcel_strbuf_release(&out);
  mlxcel_strbuf_deinitialize(&out);
  return result;
}

// |contract| with the digests of the kernels' sources replaced.
static char* without_digests(const char* contract) {
  static const char* const words[MLXCEL_KERNEL_OBJECT_COUNT] = {"KERNEL-SOURCES", "MLX-KERNEL-SOURCES", "HOST-KERNEL-SOURCES"};
  char* text = strdup(contract);
  for (int i = 0; i < MLXCEL_KERNEL_OBJECT_COUNT; ++i) {
    char* next = replaced(text, mlxcel_kernel_object_source_digest((mlxcel_kernel_object_t)i), words[i]);
    free(text);
    text = next;
  }
  return text;
}

char* golden_module_file_text(const golden_module_t* module) {
  golden_text_t text = golden_module_emit(module);
  char *contract = without_digests(text.contract), *mlir = replaced(text.mlir, text.fingerprint.text, "FINGERPRINT");
  mlxcel_strbuf_t out;
  mlxcel_strbuf_initialize(&out);
  for (const char* line = contract; *line; line += strcspn(line, "\n") + 1) {
    mlxcel_strbuf_append_format(&out, "// %.*s\n", (int)strcspn(line, "\n"), line);
  }
  mlxcel_strbuf_append_cstring(&out, mlir);
  assert_true(iree_status_is_ok(mlxcel_strbuf_take_status(&out)));
  char* result = mlxcel_strbuf_release(&out);
  mlxcel_strbuf_deinitialize(&out);
  free(contract);
  free(mlir);
  golden_text_deinitialize(&text);
  return result;
}
