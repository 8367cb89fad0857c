// Fuzzes manifest.json: once as it is (JSON, version, self digest, the one text), once past the digests, which no fuzzer would guess: the fields alone. What
// is accepted must keep the promises on which the loader relies, and must survive being sealed, written and read again.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact_key.h"
#include "artifact/artifact_limits.h"
#include "artifact/manifest.h"
#include "base/json.h"
#include "base/limits.h"
#include "contract/contract.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool promise) {
  if (!promise) abort();
}

static void require_ok(iree_status_t status) {
  require(iree_status_is_ok(status));
  iree_status_ignore(status);
}

static void check_digest(const mlxcel_sha256_hex_t* digest, bool may_be_empty) {
  size_t size = strnlen(digest->text, sizeof(digest->text));
  require(strspn(digest->text, "0123456789abcdef") == size && (size == 64 || (may_be_empty && size == 0)));
}

static void check_sizes(const mlxcel_program_sizes_t* sizes) {
  require(sizes->count <= MLXCEL_PROGRAM_SIZES_MAX);
  for (uint32_t i = 0; i < sizes->count; ++i) require(sizes->values[i] > (i ? sizes->values[i - 1] : 0) && sizes->values[i] <= MLXCEL_CONTEXT_MAX);
}

static void check_decoder(const mlxcel_program_interface_t* interface) {
  require(mlxcel_program_interface_kv_element_bytes(interface) > 0);
  require(interface->layer_count - 1 < MLXCEL_LAYERS_MAX && interface->kv_head_count - 1 < MLXCEL_HEADS_MAX && interface->head_dim - 1 < MLXCEL_HEAD_DIM_MAX);
  require(interface->hidden_size - 1 < MLXCEL_HIDDEN_MAX && interface->vocab_size - 1 < MLXCEL_VOCAB_MAX && interface->rope_width <= MLXCEL_HEAD_DIM_MAX);
  check_sizes(&interface->prefill_chunks);
  check_sizes(&interface->decode_batches);
  check_sizes(&interface->head_rows);
}

static void check_operation(const mlxcel_program_interface_t* interface) {
  require(!interface->kv_dtype[0] && interface->layer_count == 0 && interface->kv_head_count == 0 && interface->head_dim == 0);
  require(interface->hidden_size == 0 && interface->vocab_size == 0 && interface->rope_width == 0);
  require(interface->prefill_chunks.count == 0 && interface->decode_batches.count == 0 && interface->head_rows.count == 0);
}

static void check_interface(const mlxcel_program_interface_t* interface) {
  require(interface->module_name[0] && memchr(interface->module_name, 0, sizeof(interface->module_name)));
  require(interface->parameter_scope[0] && memchr(interface->parameter_scope, 0, sizeof(interface->parameter_scope)));
  bool is_decoder = strcmp(interface->kind, MLXCEL_PROGRAM_KIND_DECODER) == 0;
  require(is_decoder || strcmp(interface->kind, MLXCEL_PROGRAM_KIND_OPERATION) == 0);
  if (is_decoder) {
    check_decoder(interface);
  } else {
    check_operation(interface);
  }
  for (size_t i = 0; i < interface->parameter_count; ++i) {
    const mlxcel_program_parameter_t* parameter = &interface->parameters[i];
    require(parameter->key[0] && strlen(parameter->key) <= MLXCEL_TENSOR_NAME_BYTES_MAX && parameter->dtype[0] && parameter->byte_count <= INT64_MAX);
    require(memchr(parameter->dtype, 0, sizeof(parameter->dtype)) != NULL);
    require(i == 0 || strcmp(interface->parameters[i - 1].key, parameter->key) < 0);
  }
}

static void check_manifest(const mlxcel_manifest_t* manifest) {
  check_digest(&manifest->key, false);
  check_digest(&manifest->request_key, false);
  check_digest(&manifest->mlir_digest, false);
  check_digest(&manifest->vmfb_digest, false);
  check_digest(&manifest->contract_fingerprint, false);
  check_digest(&manifest->compiler.digest, false);
  check_digest(&manifest->compiler.library_digest, true);
  check_digest(&manifest->compiler.linker_digest, true);
  require(manifest->vmfb_byte_count - 1 < MLXCEL_VMFB_BYTES_MAX && manifest->mlir_byte_count - 1 < MLXCEL_TEXT_BYTES_MAX);
  require(manifest->created_unix >= 0 && manifest->contract_version > 0 && manifest->contract_text[0] && manifest->profile[0] && manifest->target[0]);
  require(manifest->flag_count <= MLXCEL_ARTIFACT_FLAGS_MAX && manifest->object_count <= MLXCEL_ARTIFACT_OBJECTS_MAX);
  for (size_t i = 0; i < manifest->flag_count; ++i) require(manifest->flags[i][0] != 0);
  for (size_t i = 0; i < manifest->object_count; ++i) {
    const mlxcel_manifest_object_t* object = &manifest->objects[i];
    require(object->name[0] != '.' && object->name[0] != '-' && !strchr(object->name, '/') && strcmp(object->name, MLXCEL_VMFB_FILE_NAME) != 0);
    require(object->byte_count - 1 < MLXCEL_ARTIFACT_OBJECT_BYTES_MAX);
    check_digest(&object->digest, false);
  }
  check_interface(&manifest->interface);
}

// A fuzzer hardly finds a contract that is canonical to the last byte: this one stands in for what isn't.
static void replace_contract(mlxcel_manifest_t* manifest) {
  static const mlxcel_clause_t clause = {
      .op = MLXCEL_OP_KV_STORE, .algorithm_version = 1, .tolerance = "exact", .derivation = "every-operation-and-its-order-is-stated", .representable = "yes"};
  mlxcel_contract_t contract;
  mlxcel_sha256_hex_t fingerprint;
  free(manifest->contract_text);
  free(manifest->profile);
  manifest->profile = strdup("pinned-f32");
  manifest->contract_version = MLXCEL_CONTRACT_VERSION;
  mlxcel_contract_initialize(manifest->profile, &contract);
  require_ok(mlxcel_contract_add(&contract, &clause));
  require_ok(mlxcel_contract_finish(&contract, &manifest->contract_text, &fingerprint));
  mlxcel_contract_deinitialize(&contract);
}

// Makes what follows from other fields follow from them.
static void seal(mlxcel_manifest_t* manifest) {
  iree_status_t status = mlxcel_manifest_check_contract(manifest);
  if (!iree_status_is_ok(status)) replace_contract(manifest);
  iree_status_ignore(status);
  require_ok(mlxcel_sha256_of(manifest->contract_text, strlen(manifest->contract_text), &manifest->contract_fingerprint));
  require_ok(mlxcel_compiler_identity_combine(&manifest->compiler));
  require_ok(mlxcel_artifact_request_key_compute(manifest, &manifest->request_key));
  require_ok(mlxcel_artifact_key_compute(&manifest->request_key, &manifest->compiler.digest, &manifest->key));
}

static void check_round_trip(mlxcel_manifest_t* manifest) {
  char* text = NULL;
  char* again = NULL;
  seal(manifest);
  iree_status_t status = mlxcel_manifest_to_text(manifest, &text);
  if (iree_status_is_resource_exhausted(status)) {  // escapes made it longer than a manifest may be
    iree_status_ignore(status);
    return;
  }
  require_ok(status);
  mlxcel_manifest_t copy;
  require_ok(mlxcel_manifest_parse(iree_make_cstring_view(text), "copy", &copy));
  require_ok(mlxcel_manifest_to_text(&copy, &again));
  require(strcmp(text, again) == 0);
  mlxcel_manifest_deinitialize(&copy);
  free(again);
  free(text);
}

static void try_fields(iree_string_view_t text) {
  json_t* value = NULL;
  mlxcel_manifest_t manifest;
  iree_status_t status = mlxcel_json_parse(text, "input", &value);
  if (iree_status_is_ok(status)) status = mlxcel_manifest_from_json(value, &manifest);
  if (iree_status_is_ok(status)) {
    check_manifest(&manifest);
    check_round_trip(&manifest);
    mlxcel_manifest_deinitialize(&manifest);
  }
  iree_status_ignore(status);
  json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  iree_string_view_t text = iree_make_string_view((const char*)data, size);
  mlxcel_manifest_t manifest;
  iree_status_t status = mlxcel_manifest_parse(text, "input", &manifest);
  if (iree_status_is_ok(status)) {
    check_manifest(&manifest);
    check_round_trip(&manifest);
  }
  mlxcel_manifest_deinitialize(&manifest);
  iree_status_ignore(status);
  if (size <= MLXCEL_MANIFEST_FILE_BYTES_MAX) try_fields(text);
  return 0;
}
