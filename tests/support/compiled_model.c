#include "support/compiled_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/log.h"
#include "build_identity.h"
#include "kernels/kernel_table.h"

static char* scratch_folder;

const char* compiled_models_compiler(void) {
  const char* named = getenv("MLXCEL_XLA_IREE_COMPILE");
  return named && named[0] ? named : MLXCEL_DEFAULT_COMPILER;
}

int compiled_models_setup(void** state) {
  (void)state;
  if (access(compiled_models_compiler(), X_OK) != 0) {
    print_error("no compiler at '%s': run scripts/setup.sh or set MLXCEL_XLA_IREE_COMPILE\n", compiled_models_compiler());
    return 1;
  }
  const char* parent = getenv("TMPDIR");
  iree_status_t status = mlxcel_directory_create_temporary(parent && parent[0] ? parent : "/tmp", "mlxcel-models-", &scratch_folder);
  return iree_status_consume_code(status) == IREE_STATUS_OK ? 0 : 1;
}

int compiled_models_teardown(void** state) {
  (void)state;
  iree_status_t status = mlxcel_directory_remove(scratch_folder);
  free(scratch_folder);
  return iree_status_consume_code(status) == IREE_STATUS_OK ? 0 : 1;
}

char* compiled_models_new_folder(void) {
  char* folder = NULL;
  compiled_model_expect_ok(mlxcel_directory_create_temporary(scratch_folder, "model-", &folder));
  return folder;
}

void compiled_model_open(const tiny_llama_t* model, const mlxcel_emit_options_t* options, compiled_model_t* out_model) {
  memset(out_model, 0, sizeof(*out_model));
  out_model->folder = compiled_models_new_folder();
  tiny_llama_write(model, out_model->folder);
  compiled_model_expect_ok(mlxcel_checkpoint_open(out_model->folder, &out_model->checkpoint));
  compiled_model_expect_ok(mlxcel_family_emit(out_model->checkpoint, options, &out_model->emitted));
}

void compiled_model_close(compiled_model_t* model) {
  mlxcel_emitted_model_deinitialize(&model->emitted);
  mlxcel_checkpoint_close(model->checkpoint);
  free(model->folder);
  memset(model, 0, sizeof(*model));
}

void compiled_model_compile(const compiled_model_t* model, const char* mlir_text, mlxcel_kernel_level_t level, mlxcel_artifact_t* out_artifact) {
  const mlxcel_emitted_model_t* emitted = &model->emitted;
  iree_const_byte_span_t bytes = mlxcel_kernel_object_bytes(level);
  const mlxcel_artifact_object_t object = {.file_name = MLXCEL_KERNEL_OBJECT_FILE, .data = bytes.data, .size = bytes.data_length};
  mlxcel_artifact_request_t request = {
      .mlir_text = iree_make_cstring_view(mlir_text ? mlir_text : emitted->mlir_text),
      .contract_text = iree_make_cstring_view(emitted->contract_text),
      .contract_fingerprint = iree_make_cstring_view(emitted->fingerprint.text),
      .contract_version = emitted->contract_version,
      .profile = IREE_SV("pinned-f32"),
      .target = iree_make_cstring_view(mlxcel_kernel_target(level)),
      .object_count = 1,
      .objects = &object,
      .interface = &emitted->interface,
      .compiler_path = compiled_models_compiler(),
  };
  request.flags = mlxcel_kernel_compile_flags(level, &request.flag_count);
  char root[512];
  snprintf(root, sizeof(root), "%s/cache", scratch_folder);
  compiled_model_expect_ok(mlxcel_artifact_obtain(root, &request, NULL, out_artifact));
}

void compiled_model_expect_ok(iree_status_t status) {
  if (iree_status_is_ok(status)) return;
  char text[2048];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_ignore(status);
  fail_msg("unexpected error: %s", text);
}
