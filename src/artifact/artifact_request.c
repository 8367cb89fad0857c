// artifact_request.c: from a request to the draft of its manifest. All that comes from the caller is checked here, once.
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact_internal.h"
#include "artifact/artifact_key.h"
#include "artifact/artifact_limits.h"
#include "artifact/json_fields.h"
#include "base/limits.h"
#include "base/log.h"

static iree_status_t request_check_text(iree_string_view_t text, const char* what, size_t max_bytes) {
  if (text.size > 0 && text.size <= max_bytes && !memchr(text.data, 0, text.size)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the %s of a compilation must have 1 to %zu bytes and no NUL, not %zu bytes", what, max_bytes,
                          text.size);
}

static iree_status_t request_check_contract(const mlxcel_artifact_request_t* request) {
  IREE_RETURN_IF_ERROR(request_check_text(request->contract_text, "contract", MLXCEL_ARTIFACT_CONTRACT_BYTES_MAX));
  mlxcel_sha256_hex_t digest;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_of(request->contract_text.data, request->contract_text.size, &digest));
  if (request->contract_version > 0 && iree_string_view_equal(request->contract_fingerprint, iree_make_cstring_view(digest.text))) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "contract version %u, fingerprint '%.*s' doesn't belong to the contract's text, which has %s",
                          request->contract_version, MLXCEL_SV(request->contract_fingerprint), digest.text);
}

static iree_status_t request_check_object(const mlxcel_artifact_request_t* request, size_t index) {
  const mlxcel_artifact_object_t* object = &request->objects[index];
  if (!mlxcel_manifest_object_name_is_legal(object->file_name)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "kernel object '%s' has no plain file name", object->file_name);
  }
  if (object->size == 0 || object->size > MLXCEL_ARTIFACT_OBJECT_BYTES_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "kernel object '%s' has %zu bytes, outside 1 to %u", object->file_name, object->size,
                            MLXCEL_ARTIFACT_OBJECT_BYTES_MAX);
  }
  for (size_t i = 0; i < index; ++i) {
    if (strcmp(request->objects[i].file_name, object->file_name) == 0) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "kernel object '%s' is given twice", object->file_name);
    }
  }
  return iree_ok_status();
}

static iree_status_t request_check(const mlxcel_artifact_request_t* request) {
  IREE_RETURN_IF_ERROR(request_check_text(request->mlir_text, "MLIR text", MLXCEL_TEXT_BYTES_MAX));
  IREE_RETURN_IF_ERROR(request_check_text(request->profile, "profile", MLXCEL_ARTIFACT_NAME_BYTES_MAX));
  IREE_RETURN_IF_ERROR(request_check_text(request->target, "target", MLXCEL_ARTIFACT_NAME_BYTES_MAX));
  IREE_RETURN_IF_ERROR(request_check_contract(request));
  if (request->flag_count > MLXCEL_ARTIFACT_FLAGS_MAX || request->object_count > MLXCEL_ARTIFACT_OBJECTS_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%zu flags and %zu kernel objects are more than the limits of %u and %u", request->flag_count,
                            request->object_count, MLXCEL_ARTIFACT_FLAGS_MAX, MLXCEL_ARTIFACT_OBJECTS_MAX);
  }
  for (size_t i = 0; i < request->flag_count; ++i) {
    IREE_RETURN_IF_ERROR(request_check_text(iree_make_cstring_view(request->flags[i]), "flag", MLXCEL_ARTIFACT_FLAG_BYTES_MAX));
  }
  for (size_t i = 0; i < request->object_count; ++i) {
    IREE_RETURN_IF_ERROR(request_check_object(request, i));
  }
  return iree_ok_status();
}

static iree_status_t draft_copy_flags(const mlxcel_artifact_request_t* request, mlxcel_manifest_t* manifest) {
  manifest->flags = calloc(request->flag_count + 1, sizeof(char*));
  if (!manifest->flags) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu flags", request->flag_count);
  for (size_t i = 0; i < request->flag_count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_artifact_text_copy(iree_make_cstring_view(request->flags[i]), &manifest->flags[i]));
    manifest->flag_count = i + 1;
  }
  return iree_ok_status();
}

static iree_status_t draft_copy_objects(const mlxcel_artifact_request_t* request, mlxcel_manifest_t* manifest) {
  manifest->objects = calloc(request->object_count + 1, sizeof(*manifest->objects));
  if (!manifest->objects) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu kernel objects", request->object_count);
  for (size_t i = 0; i < request->object_count; ++i) {
    const mlxcel_artifact_object_t* source = &request->objects[i];
    mlxcel_manifest_object_t* object = &manifest->objects[i];
    IREE_RETURN_IF_ERROR(mlxcel_sha256_of(source->data, source->size, &object->digest));
    object->byte_count = source->size;
    IREE_RETURN_IF_ERROR(mlxcel_artifact_text_copy(iree_make_cstring_view(source->file_name), &object->name));
    manifest->object_count = i + 1;
  }
  return iree_ok_status();
}

// What couldn't be loaded afterwards isn't compiled.
static iree_status_t draft_check_contract(const mlxcel_manifest_t* manifest) {
  iree_status_t status = mlxcel_manifest_check_contract(manifest);
  if (iree_status_is_ok(status)) return status;
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the contract of a compilation isn't one: %s", text);
}

// By way of the JSON form: an interface that couldn't be read back is refused before anything is compiled.
static iree_status_t draft_copy_interface(const mlxcel_program_interface_t* interface, mlxcel_program_interface_t* out_interface) {
  json_t* value = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_program_interface_to_json(interface, &value));
  iree_status_t status = mlxcel_program_interface_from_json(value, out_interface);
  json_decref(value);
  return status;
}

static iree_status_t draft_fill(const mlxcel_artifact_request_t* request, mlxcel_manifest_t* manifest) {
  IREE_RETURN_IF_ERROR(mlxcel_sha256_of(request->mlir_text.data, request->mlir_text.size, &manifest->mlir_digest));
  manifest->mlir_byte_count = request->mlir_text.size;
  manifest->contract_version = request->contract_version;
  memcpy(manifest->contract_fingerprint.text, request->contract_fingerprint.data, 64);
  IREE_RETURN_IF_ERROR(mlxcel_artifact_text_copy(request->contract_text, &manifest->contract_text));
  IREE_RETURN_IF_ERROR(mlxcel_artifact_text_copy(request->profile, &manifest->profile));
  IREE_RETURN_IF_ERROR(mlxcel_artifact_text_copy(request->target, &manifest->target));
  IREE_RETURN_IF_ERROR(draft_check_contract(manifest));
  IREE_RETURN_IF_ERROR(draft_copy_flags(request, manifest));
  IREE_RETURN_IF_ERROR(draft_copy_objects(request, manifest));
  IREE_RETURN_IF_ERROR(draft_copy_interface(request->interface, &manifest->interface));
  return mlxcel_artifact_request_key_compute(manifest, &manifest->request_key);
}

iree_status_t mlxcel_artifact_draft_manifest(const mlxcel_artifact_request_t* request, mlxcel_manifest_t* out_manifest) {
  memset(out_manifest, 0, sizeof(*out_manifest));
  IREE_RETURN_IF_ERROR(request_check(request));
  iree_status_t status = draft_fill(request, out_manifest);
  if (!iree_status_is_ok(status)) mlxcel_manifest_deinitialize(out_manifest);
  return status;
}
