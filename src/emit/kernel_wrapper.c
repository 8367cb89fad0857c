#include "emit/kernel_wrapper.h"

#include <assert.h>
#include <string.h>

const char* mlxcel_kernel_export_name(const mlxcel_kernel_info_t* kernel) {
  const char* family = strchr(kernel->symbol, '_');
  const char* name = family ? strchr(family + 1, '_') : NULL;
  assert(name);
  return name + 1;
}

static const char* kind_type(char kind) {
  switch (kind) {
    case 'n':
      return "i32";
    case 'e':
      return "f32";
    case 'i':
      return "memref<i32>, index";
    case 'b':
    case 'T':
    case 'B':
      return "memref<i8>, index";
    default:
      return "memref<f32>, index";
  }
}
static bool kind_is_scalar(char kind) { return kind == 'n' || kind == 'e'; }
static bool kind_is_result(char kind) { return kind == 'o' || kind == 'B'; }
static const char* kind_element(char kind) { return kind == 'i' ? "i32" : strchr("bTB", kind) ? "i8" : "f32"; }

static void append_signature(const char* arguments, mlxcel_strbuf_t* text) {
  for (const char* kind = arguments; *kind; ++kind) mlxcel_strbuf_append_format(text, "%s%s", kind == arguments ? "" : ", ", kind_type(*kind));
  mlxcel_strbuf_append_cstring(text, ", index, index");
}

static void write_export(const mlxcel_kernel_info_t* kernel, mlxcel_strbuf_t* text) {
  mlxcel_strbuf_append_format(text,
                              "    stream.executable.export public @%s workgroups(%%n: index) -> (index, index, index) {\n"
                              "      %%c1 = arith.constant 1 : index\n      stream.return %%n, %%c1, %%c1 : index, index, index\n    }\n",
                              mlxcel_kernel_export_name(kernel));
}

// Parameters of the wrapper: operands in order, then the result binding.
static void append_parameters(const char* arguments, mlxcel_strbuf_t* text) {
  const char* separator = "";
  for (int result = 0; result < 2; ++result) {
    for (size_t i = 0; arguments[i]; ++i) {
      if (kind_is_result(arguments[i]) != (result == 1)) continue;
      mlxcel_strbuf_append_format(text, "%s%%a%zu: %s", separator, i, kind_is_scalar(arguments[i]) ? kind_type(arguments[i]) : "!stream.binding");
      separator = ", ";
    }
  }
}

static void write_wrapper(const mlxcel_kernel_info_t* kernel, mlxcel_strbuf_t* text) {
  mlxcel_strbuf_append_format(text, "      func.func private @%s(", kernel->symbol);
  append_signature(kernel->arguments, text);
  mlxcel_strbuf_append_format(text, ") attributes {%sllvm.bareptr = true}\n      func.func @%s(",
                              mlxcel_kernel_object_file(kernel->object) ? "hal.import.static, " : "", mlxcel_kernel_export_name(kernel));
  append_parameters(kernel->arguments, text);
  mlxcel_strbuf_append_cstring(text,
                               ") {\n        %c0 = arith.constant 0 : index\n        %c1 = arith.constant 1 : index\n"
                               "        %group = stream.dispatch.workgroup.id[0] : index\n        %groups = stream.dispatch.workgroup.count[0] : index\n");
  for (size_t i = 0; kernel->arguments[i]; ++i) {
    char kind = kernel->arguments[i];
    if (kind_is_scalar(kind)) continue;
    const char* element = kind_element(kind);
    mlxcel_strbuf_append_format(text, "        %%m%zu = stream.binding.subspan %%a%zu[%%c0] : !stream.binding -> memref<?x%s, strided<[1], offset: ?>>{%%c1}\n",
                                i, i, element);
    mlxcel_strbuf_append_format(text,
                                "        %%p%zu, %%o%zu, %%s%zu, %%t%zu = memref.extract_strided_metadata %%m%zu : memref<?x%s, strided<[1], offset: ?>> -> "
                                "memref<%s>, index, index, index\n",
                                i, i, i, i, i, element, element);
  }
  mlxcel_strbuf_append_format(text, "        func.call @%s(", kernel->symbol);
  for (size_t i = 0; kernel->arguments[i]; ++i) mlxcel_strbuf_append_format(text, kind_is_scalar(kernel->arguments[i]) ? "%%a%zu, " : "%%p%zu, %%o%zu, ", i, i);
  mlxcel_strbuf_append_cstring(text, "%group, %groups) : (");
  append_signature(kernel->arguments, text);
  mlxcel_strbuf_append_cstring(text, ") -> ()\n        return\n      }\n");
}

// The next used kernel of |object| from |id| on; MLXCEL_KERNEL_COUNT if there is none.
static int next_used(const bool used[MLXCEL_KERNEL_COUNT], mlxcel_kernel_object_t object, int id) {
  while (id < MLXCEL_KERNEL_COUNT && !(used[id] && mlxcel_kernel_info((mlxcel_kernel_id_t)id)->object == object)) ++id;
  return id;
}

static void write_executable(const bool used[MLXCEL_KERNEL_COUNT], mlxcel_kernel_object_t object, mlxcel_strbuf_t* text) {
  int first = next_used(used, object, 0);
  if (first == MLXCEL_KERNEL_COUNT) return;
  mlxcel_strbuf_append_format(text, "  stream.executable private @%s ", mlxcel_kernel_executable(object));
  const char* file = mlxcel_kernel_object_file(object);
  if (file) {
    mlxcel_strbuf_append_format(text,
                                "attributes {hal.executable.objects = #hal.executable.objects<{#hal.executable.target<\"llvm-cpu\", "
                                "\"embedded-elf-x86_64\", {}> = [#hal.executable.object<{path = \"%s\"}>]}>} ",
                                file);
  }
  mlxcel_strbuf_append_cstring(text, "{\n");
  for (int i = first; i < MLXCEL_KERNEL_COUNT; i = next_used(used, object, i + 1)) write_export(mlxcel_kernel_info((mlxcel_kernel_id_t)i), text);
  mlxcel_strbuf_append_cstring(text, "    builtin.module {\n");
  for (int i = first; i < MLXCEL_KERNEL_COUNT; i = next_used(used, object, i + 1)) write_wrapper(mlxcel_kernel_info((mlxcel_kernel_id_t)i), text);
  mlxcel_strbuf_append_cstring(text, "    }\n  }\n");
}

void mlxcel_kernel_wrappers_write(const bool used[MLXCEL_KERNEL_COUNT], mlxcel_strbuf_t* text) {
  for (int object = 0; object < MLXCEL_KERNEL_OBJECT_COUNT; ++object) write_executable(used, (mlxcel_kernel_object_t)object, text);
}
