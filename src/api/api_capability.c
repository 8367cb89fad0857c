#include "api/api_capability.h"

#include <string.h>

#include "artifact/manifest.h"
#include "qualify/capability.h"

static iree_status_t capability_judge(const mlxcel_api_settings_t* settings, const mlxcel_api_build_t* build, const mlxcel_sha256_hex_t* compiler) {
  const mlxcel_capability_request_t request = {
      .contract_text = iree_make_cstring_view(build->emitted.contract_text),
      .device = settings->options.device,
      .cpu_level = mlxcel_kernel_level_name(settings->level),
      .compiler_digest = compiler->text,
  };
  return mlxcel_capability_check(&request);
}

iree_status_t mlxcel_api_capability_foresee(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  build->stage = "capability";
  if (!build->has_compiler) return iree_ok_status();
  IREE_RETURN_IF_ERROR(capability_judge(settings, build, &build->compiler_digest));
  build->is_judged = true;
  return iree_ok_status();
}

iree_status_t mlxcel_api_capability_check(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  build->stage = "capability";
  // The compiler that made this very module, which needn't be there any more.
  mlxcel_manifest_t manifest;
  IREE_RETURN_IF_ERROR(mlxcel_manifest_parse(iree_make_cstring_view(build->artifact.manifest_text), "the module's manifest", &manifest));
  const mlxcel_sha256_hex_t compiler = manifest.compiler.digest;
  mlxcel_manifest_deinitialize(&manifest);
  // The same contract, device, level and compiler were judged a moment ago: the self-check's time isn't spent twice.
  if (build->is_judged && strcmp(compiler.text, build->compiler_digest.text) == 0) return iree_ok_status();
  return capability_judge(settings, build, &compiler);
}
