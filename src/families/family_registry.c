#include <stdlib.h>
#include <string.h>

#include "families/family.h"
#include "families/llama/llama.h"

static const mlxcel_family_t families[] = {
    {"llama", mlxcel_llama_emit},
    {"mistral", mlxcel_llama_emit},  // the same computation as long as no sliding window is in use, which the configuration reader sees to
};

const mlxcel_family_t* mlxcel_family_at(size_t index) { return index < sizeof(families) / sizeof(families[0]) ? &families[index] : NULL; }

const mlxcel_family_t* mlxcel_family_find(const char* model_type) {
  for (size_t i = 0; mlxcel_family_at(i); ++i) {
    if (strcmp(families[i].model_type, model_type) == 0) return &families[i];
  }
  return NULL;
}

void mlxcel_emit_options_initialize(mlxcel_emit_options_t* out_options) {
  memset(out_options, 0, sizeof(*out_options));
  out_options->profile = IREE_SV(MLXCEL_PROFILE_PINNED_F32);
  // Kernels skip inactive rows at the end, so a half-filled chunk or batch costs what its active rows cost: a few sizes serve all others. Each function of a
  // module costs compile time (docs/decisions/0002-function-sizes.md).
  out_options->prefill_chunks = (mlxcel_program_sizes_t){.count = 1, .values = {128}};
  out_options->decode_batches = (mlxcel_program_sizes_t){.count = 3, .values = {1, 8, 32}};
  out_options->head_rows = (mlxcel_program_sizes_t){.count = 1, .values = {16}};
}

void mlxcel_emitted_model_deinitialize(mlxcel_emitted_model_t* model) {
  free(model->mlir_text);
  free(model->contract_text);
  free(model->taps);
  mlxcel_program_interface_deinitialize(&model->interface);
  memset(model, 0, sizeof(*model));
}

iree_status_t mlxcel_family_emit(const mlxcel_checkpoint_t* checkpoint, const mlxcel_emit_options_t* options, mlxcel_emitted_model_t* out_model) {
  memset(out_model, 0, sizeof(*out_model));
  const mlxcel_profile_t* profile = mlxcel_profile_find(options->profile);
  if (!profile || !profile->runs_models) {
    char names[MLXCEL_PROFILE_NAMES_BYTES_MAX];
    mlxcel_profile_names(/*only_models=*/true, names);
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "profile '%.*s' runs no models; valid: %s", MLXCEL_SV(options->profile), names);
  }
  const char* model_type = mlxcel_checkpoint_config(checkpoint)->model_type;
  const mlxcel_family_t* family = mlxcel_family_find(model_type);
  if (!family) return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "model_type '%s' isn't supported; supported are llama and mistral", model_type);
  iree_status_t status = family->emit(checkpoint, profile, options, out_model);
  if (!iree_status_is_ok(status)) mlxcel_emitted_model_deinitialize(out_model);
  return status;
}
