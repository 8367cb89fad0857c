// compiled_model.h: tiny checkpoints all the way to compiled modules, with the real compiler, for tests that run them.
//
// One scratch folder a test program holds checkpoints and the artifact cache: use the group setup and teardown below. One thread.
#ifndef MLXCEL_TESTS_SUPPORT_COMPILED_MODEL_H_
#define MLXCEL_TESTS_SUPPORT_COMPILED_MODEL_H_

#include "artifact/artifact_cache.h"
#include "families/family.h"
#include "kernels/kernel_objects.h"
#include "support/tiny_llama.h"

// Fails, with a line printed, where there is no compiler (MLXCEL_XLA_IREE_COMPILE, else the one that the build knows).
int compiled_models_setup(void** state);
int compiled_models_teardown(void** state);
const char* compiled_models_compiler(void);
// A fresh folder below the scratch folder; malloc'ed.
char* compiled_models_new_folder(void);

typedef struct compiled_model_t {
  char* folder;
  mlxcel_checkpoint_t* checkpoint;
  mlxcel_emitted_model_t emitted;
} compiled_model_t;

// Writes, opens and emits. Fails the test if anything fails.
void compiled_model_open(const tiny_llama_t* model, const mlxcel_emit_options_t* options, compiled_model_t* out_model);
void compiled_model_close(compiled_model_t* model);
// Compiles |mlir_text| (NULL: the emitted text) with the kernels of |level|, for the emitted contract and interface.
void compiled_model_compile(const compiled_model_t* model, const char* mlir_text, mlxcel_kernel_level_t level, mlxcel_artifact_t* out_artifact);

// Fails the test with the status's text unless it is OK; frees it.
void compiled_model_expect_ok(iree_status_t status);

#endif  // MLXCEL_TESTS_SUPPORT_COMPILED_MODEL_H_
