#include "api/api_capability.h"

#include "artifact/manifest.h"
#include "qualify/capability.h"

iree_status_t mlxcel_api_capability_check(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build) {
  build->stage = "capability";
  // The compiler that made this very module, which needn't be there any more.
  mlxcel_manifest_t manifest;
  IREE_RETURN_IF_ERROR(mlxcel_manifest_parse(iree_make_cstring_view(build->artifact.manifest_text), "the module's manifest", &manifest));
  const mlxcel_capability_request_t request = {
      .contract_text = iree_make_cstring_view(build->emitted.contract_text),
      .device = settings->options.device,
      .cpu_level = mlxcel_kernel_level_name(settings->level),
      .compiler_digest = manifest.compiler.digest.text,
  };
  iree_status_t status = mlxcel_capability_check(&request);
  mlxcel_manifest_deinitialize(&manifest);
  return status;
}
