// The pinned compiler accepts every golden file as it lies in tests/golden, with the kernels' objects beside it.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "build_identity.h"
#include "emit/golden_modules.h"
#include "kernels/kernel_objects.h"

#define VMFB_BYTES_MAX (16u << 20)
#define DIAGNOSTICS_BYTES_MAX (1u << 20)

extern char** environ;

typedef struct fixture_t {
  const char* compiler;
  char* folder;
} fixture_t;

static void path_in(const char* folder, const char* name, char path[512]) { snprintf(path, 512, "%s/%s", folder, name); }

static fixture_t fixture;

static bool publish_object(const char* name, iree_const_byte_span_t object) {
  char path[512];
  path_in(fixture.folder, name, path);
  return iree_status_is_ok(mlxcel_file_publish(path, object.data, object.data_length));
}

static int fixture_setup(void** state) {
  const char* named = getenv("MLXCEL_XLA_IREE_COMPILE");
  fixture.compiler = named && named[0] ? named : MLXCEL_DEFAULT_COMPILER;
  if (access(fixture.compiler, X_OK) != 0) {
    print_error("no compiler at '%s': run scripts/setup.sh or set MLXCEL_XLA_IREE_COMPILE\n", fixture.compiler);
    return 1;
  }
  const char* parent = getenv("TMPDIR");
  iree_status_t status = mlxcel_directory_create_temporary(parent && parent[0] ? parent : "/tmp", "mlxcel-golden-", &fixture.folder);
  if (!iree_status_is_ok(status)) return 1;
  *state = &fixture;
  bool published = publish_object(MLXCEL_KERNEL_OBJECT_FILE, mlxcel_kernel_object_bytes(MLXCEL_KERNEL_LEVEL_V3)) &&
                   publish_object(MLXCEL_KERNEL_MLX_OBJECT_FILE, mlxcel_kernel_mlx_object_bytes());
  return published ? 0 : 1;
}

static int fixture_teardown(void** state) {
  (void)state;
  iree_status_ignore(mlxcel_directory_remove(fixture.folder));
  free(fixture.folder);
  return 0;
}

// Runs the compiler on |input|; its exit code, -1 if it can't be started. Diagnostics go to <folder>/diagnostics.
static int compile(const fixture_t* self, char* input, char* output) {
  enum { kFixed = 5 };
  char search_path[600], diagnostics[512];
  snprintf(search_path, sizeof(search_path), "--iree-hal-executable-object-search-path=%s", self->folder);
  path_in(self->folder, "diagnostics", diagnostics);
  size_t flag_count = 0;
  const char* const* flags = mlxcel_kernel_compile_flags(MLXCEL_KERNEL_LEVEL_V3, &flag_count);
  char* arguments[kFixed + 32] = {(char*)(uintptr_t)self->compiler, input, "-o", output, search_path};
  assert_true(flag_count < 32);
  for (size_t i = 0; i < flag_count; ++i) arguments[kFixed + i] = (char*)(uintptr_t)flags[i];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, diagnostics, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child;
  int started = posix_spawn(&child, self->compiler, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (started != 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char* read_text(const char* path, uint64_t max_bytes, size_t* out_size) {
  char* text = NULL;
  iree_status_ignore(mlxcel_file_read(path, max_bytes, &text, out_size));
  return text;
}

// The compiled module of golden |name|.
static char* compile_golden(const fixture_t* self, const char* name, size_t* out_size) {
  char input[512], output[512], diagnostics_path[512];
  snprintf(input, sizeof(input), "%s/tests/golden/%s.mlir", MLXCEL_SOURCE_DIR, name);
  path_in(self->folder, "module.vmfb", output);
  path_in(self->folder, "diagnostics", diagnostics_path);
  unlink(output);
  int code = compile(self, input, output);
  if (code != 0) {
    size_t size = 0;
    char* diagnostics = read_text(diagnostics_path, DIAGNOSTICS_BYTES_MAX, &size);
    fail_msg("%s isn't accepted (exit %d): %.2000s", input, code, diagnostics ? diagnostics : "");
  }
  char* module = read_text(output, VMFB_BYTES_MAX, out_size);
  assert_non_null(module);
  return module;
}

static void emit_the_compiler_accepts_every_golden_file(void** state) {
  for (size_t i = 0; golden_module_at(i); ++i) {
    size_t size = 0;
    char* module = compile_golden(*state, golden_module_at(i)->name, &size);
    // The reflection attribute travels into the module.
    assert_non_null(memmem(module, size, "mlxcel.contract", strlen("mlxcel.contract")));
    free(module);
  }
}

// The escapes mean to the compiler what they mean to us: the module asks for the tensors by their very names.
static void emit_the_compiler_reads_hostile_names_as_they_are(void** state) {
  static const char* const names[] = GOLDEN_HOSTILE_NAMES;
  size_t size = 0;
  char* module = compile_golden(*state, "hostile_names", &size);
  for (size_t i = 0; i < GOLDEN_HOSTILE_COUNT; ++i) {
    if (names[i][0] && !memmem(module, size, names[i], strlen(names[i]))) fail_msg("the module doesn't ask for tensor '%s'", names[i]);
  }
  free(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(emit_the_compiler_accepts_every_golden_file),
      cmocka_unit_test(emit_the_compiler_reads_hostile_names_as_they_are),
  };
  return cmocka_run_group_tests_name("golden_compile", tests, fixture_setup, fixture_teardown);
}
