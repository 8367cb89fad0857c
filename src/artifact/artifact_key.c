#include "artifact/artifact_key.h"

#include <stdlib.h>

#include "base/json.h"

static void key_add_text(mlxcel_sha256_t* hash, const char* text) { mlxcel_sha256_update_field(hash, iree_make_cstring_view(text ? text : "")); }

// Numbers as eight little-endian bytes, which is what the supported machines have in memory.
static void key_add_number(mlxcel_sha256_t* hash, uint64_t value) { mlxcel_sha256_update(hash, &value, sizeof(value)); }

static void key_add_request(mlxcel_sha256_t* hash, const mlxcel_manifest_t* manifest) {
  key_add_text(hash, "mlxcel artifact request");
  key_add_number(hash, MLXCEL_MANIFEST_VERSION);
  key_add_number(hash, MLXCEL_COMPILE_RECIPE_VERSION);
  key_add_text(hash, manifest->mlir_digest.text);
  key_add_number(hash, manifest->contract_version);
  key_add_text(hash, manifest->contract_text);
  key_add_text(hash, manifest->profile);
  key_add_text(hash, manifest->target);
  key_add_number(hash, manifest->flag_count);
  for (size_t i = 0; i < manifest->flag_count; ++i) key_add_text(hash, manifest->flags[i]);
  key_add_number(hash, manifest->object_count);
  for (size_t i = 0; i < manifest->object_count; ++i) {
    key_add_text(hash, manifest->objects[i].name);
    key_add_text(hash, manifest->objects[i].digest.text);
  }
}

iree_status_t mlxcel_artifact_request_key_compute(const mlxcel_manifest_t* manifest, mlxcel_sha256_hex_t* out_key) {
  json_t* interface_value = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_program_interface_to_json(&manifest->interface, &interface_value));
  char* interface_text = NULL;
  iree_status_t status = mlxcel_json_write(interface_value, /*compact=*/true, &interface_text);
  json_decref(interface_value);
  mlxcel_sha256_t hash = {NULL};
  if (iree_status_is_ok(status)) status = mlxcel_sha256_initialize(&hash);
  if (iree_status_is_ok(status)) {
    key_add_request(&hash, manifest);
    key_add_text(&hash, interface_text);
    mlxcel_sha256_finish(&hash, out_key);
  }
  free(interface_text);
  return status;
}

iree_status_t mlxcel_artifact_key_compute(const mlxcel_sha256_hex_t* request_key, const mlxcel_sha256_hex_t* compiler_digest, mlxcel_sha256_hex_t* out_key) {
  mlxcel_sha256_t hash;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  key_add_text(&hash, "mlxcel artifact");
  key_add_text(&hash, request_key->text);
  key_add_text(&hash, compiler_digest->text);
  mlxcel_sha256_finish(&hash, out_key);
  return iree_ok_status();
}
