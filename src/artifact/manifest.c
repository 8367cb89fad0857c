#include "artifact/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "artifact/artifact_key.h"
#include "artifact/json_fields.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "contract/contract_parse.h"

static const char kSelfDigestName[] = "manifest_sha256";

void mlxcel_manifest_deinitialize(mlxcel_manifest_t* manifest) {
  free(manifest->contract_text);
  free(manifest->profile);
  free(manifest->target);
  for (size_t i = 0; i < manifest->flag_count; ++i) free(manifest->flags[i]);
  free(manifest->flags);
  for (size_t i = 0; i < manifest->object_count; ++i) free(manifest->objects[i].name);
  free(manifest->objects);
  mlxcel_program_interface_deinitialize(&manifest->interface);
  memset(manifest, 0, sizeof(*manifest));
}

bool mlxcel_manifest_object_name_is_legal(const char* name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  static const char* const reserved[] = {MLXCEL_MLIR_FILE_NAME, MLXCEL_VMFB_FILE_NAME, MLXCEL_MANIFEST_FILE_NAME, "command.txt", "diagnostics.txt", "entry"};
  size_t size = strlen(name);
  if (size == 0 || size > MLXCEL_ARTIFACT_NAME_BYTES_MAX || strspn(name, letters) != size || strchr("._-", name[0])) return false;
  for (size_t i = 0; i < IREE_ARRAYSIZE(reserved); ++i) {
    if (strcmp(name, reserved[i]) == 0) return false;
  }
  return true;
}

// --- writing -----------------------------------------------------------------------------------------------------------------------------

static bool manifest_set(json_t* object, const char* name, json_t* value) { return json_object_set_new(object, name, value) == 0; }

static json_t* manifest_file_to_json(uint64_t byte_count, const mlxcel_sha256_hex_t* digest) {
  if (byte_count > INT64_MAX) return NULL;
  return json_pack("{s:I, s:s}", "bytes", (json_int_t)byte_count, "sha256", digest->text);
}

static json_t* manifest_contract_to_json(const mlxcel_manifest_t* manifest) {
  return json_pack("{s:I, s:s, s:s}", "version", (json_int_t)manifest->contract_version, "fingerprint", manifest->contract_fingerprint.text, "text",
                   manifest->contract_text);
}

static json_t* manifest_compiler_to_json(const mlxcel_compiler_identity_t* compiler) {
  return json_pack("{s:s, s:s, s:s, s:s, s:s}", "version", compiler->version, "sha256", compiler->digest.text, "program_sha256", compiler->program_digest.text,
                   "library_sha256", compiler->library_digest.text, "linker_sha256", compiler->linker_digest.text);
}

static json_t* manifest_flags_to_json(const mlxcel_manifest_t* manifest) {
  json_t* array = json_array();
  bool good = array != NULL;
  for (size_t i = 0; good && i < manifest->flag_count; ++i) good = json_array_append_new(array, json_string(manifest->flags[i])) == 0;
  if (good) return array;
  json_decref(array);
  return NULL;
}

static json_t* manifest_objects_to_json(const mlxcel_manifest_t* manifest) {
  json_t* array = json_array();
  bool good = array != NULL;
  for (size_t i = 0; good && i < manifest->object_count; ++i) {
    const mlxcel_manifest_object_t* object = &manifest->objects[i];
    json_t* entry = manifest_file_to_json(object->byte_count, &object->digest);
    good = json_array_append_new(array, entry) == 0 && manifest_set(entry, "name", json_string(object->name));
  }
  if (good) return array;
  json_decref(array);
  return NULL;
}

static bool manifest_fill_json(const mlxcel_manifest_t* manifest, json_t* object) {
  bool good = manifest_set(object, "manifest_version", json_integer(MLXCEL_MANIFEST_VERSION));
  good &= manifest_set(object, "key", json_string(manifest->key.text));
  good &= manifest_set(object, "request_key", json_string(manifest->request_key.text));
  good &= manifest_set(object, "created_unix", json_integer(manifest->created_unix));
  good &= manifest_set(object, "mlir", manifest_file_to_json(manifest->mlir_byte_count, &manifest->mlir_digest));
  good &= manifest_set(object, "vmfb", manifest_file_to_json(manifest->vmfb_byte_count, &manifest->vmfb_digest));
  good &= manifest_set(object, "contract", manifest_contract_to_json(manifest));
  good &= manifest_set(object, "profile", json_string(manifest->profile));
  good &= manifest_set(object, "target", json_string(manifest->target));
  good &= manifest_set(object, "flags", manifest_flags_to_json(manifest));
  good &= manifest_set(object, "objects", manifest_objects_to_json(manifest));
  good &= manifest_set(object, "compiler", manifest_compiler_to_json(&manifest->compiler));
  return good;
}

static iree_status_t manifest_to_json(const mlxcel_manifest_t* manifest, json_t** out_value) {
  *out_value = NULL;
  json_t* interface_value = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_program_interface_to_json(&manifest->interface, &interface_value));
  json_t* object = json_object();
  bool good = manifest_set(object, "interface", interface_value);
  if (good && manifest_fill_json(manifest, object)) {
    *out_value = object;
    return iree_ok_status();
  }
  json_decref(object);
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the manifest can't be written as JSON; a text of the request isn't valid UTF-8, or memory ran out");
}

// SHA-256 over the compact text of |object| without the digest itself.
static iree_status_t manifest_self_digest(const json_t* object, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  json_t* copy = json_copy((json_t*)(uintptr_t)object);
  if (!copy) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a manifest");
  json_object_del(copy, kSelfDigestName);
  char* text = NULL;
  iree_status_t status = mlxcel_json_write(copy, /*compact=*/true, &text);
  if (iree_status_is_ok(status)) status = mlxcel_sha256_of(text, strlen(text), out_digest);
  free(text);
  json_decref(copy);
  return status;
}

static iree_status_t manifest_write_sealed(json_t* object, char** out_text) {
  mlxcel_sha256_hex_t digest;
  IREE_RETURN_IF_ERROR(manifest_self_digest(object, &digest));
  if (!manifest_set(object, kSelfDigestName, json_string(digest.text))) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a manifest");
  }
  IREE_RETURN_IF_ERROR(mlxcel_json_write(object, /*compact=*/false, out_text));
  size_t size = strlen(*out_text);
  if (size <= MLXCEL_MANIFEST_FILE_BYTES_MAX) return iree_ok_status();
  free(*out_text);
  *out_text = NULL;
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "the manifest would have %zu bytes, over the limit of %u; the program has too many parameters", size,
                          MLXCEL_MANIFEST_FILE_BYTES_MAX);
}

iree_status_t mlxcel_manifest_to_text(const mlxcel_manifest_t* manifest, char** out_text) {
  *out_text = NULL;
  json_t* object = NULL;
  IREE_RETURN_IF_ERROR(manifest_to_json(manifest, &object));
  iree_status_t status = manifest_write_sealed(object, out_text);
  json_decref(object);
  return status;
}

// --- reading -----------------------------------------------------------------------------------------------------------------------------

static iree_status_t manifest_read_file(const json_t* value, const char* path, uint64_t max_bytes, uint64_t* out_byte_count, mlxcel_sha256_hex_t* out_digest) {
  static const char* const names[] = {"bytes", "sha256"};
  mlxcel_json_fields_t fields;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(value, path, IREE_ARRAYSIZE(names), names, &fields));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_unsigned(&fields, "bytes", 1, max_bytes, out_byte_count));
  return mlxcel_json_fields_digest(&fields, "sha256", /*may_be_empty=*/false, out_digest);
}

static iree_status_t manifest_read_contract(const json_t* value, mlxcel_manifest_t* manifest) {
  static const char* const names[] = {"version", "fingerprint", "text"};
  mlxcel_json_fields_t fields;
  uint64_t version = 0;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(value, "contract", IREE_ARRAYSIZE(names), names, &fields));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_unsigned(&fields, "version", 1, UINT32_MAX, &version));
  manifest->contract_version = (uint32_t)version;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(&fields, "fingerprint", /*may_be_empty=*/false, &manifest->contract_fingerprint));
  return mlxcel_json_fields_copy_string(&fields, "text", 1, MLXCEL_ARTIFACT_CONTRACT_BYTES_MAX, &manifest->contract_text);
}

static iree_status_t manifest_read_flags(const mlxcel_json_fields_t* fields, mlxcel_manifest_t* manifest) {
  const json_t* array = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_array(fields, "flags", MLXCEL_ARTIFACT_FLAGS_MAX, &array));
  size_t count = json_array_size(array);
  manifest->flags = calloc(count + 1, sizeof(char*));
  if (!manifest->flags) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu flags", count);
  for (size_t i = 0; i < count; ++i) {
    const json_t* element = json_array_get(array, i);
    size_t size = json_string_length(element);
    if (!json_is_string(element) || size == 0 || size > MLXCEL_ARTIFACT_FLAG_BYTES_MAX) {
      return mlxcel_json_fields_error(fields, "flags", "must hold non-empty strings of legal length");
    }
    IREE_RETURN_IF_ERROR(mlxcel_artifact_text_copy(iree_make_string_view(json_string_value(element), size), &manifest->flags[i]));
    manifest->flag_count = i + 1;
  }
  return iree_ok_status();
}

static iree_status_t manifest_read_object(const json_t* value, mlxcel_manifest_object_t* out_object) {
  static const char* const names[] = {"name", "bytes", "sha256"};
  mlxcel_json_fields_t fields;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(value, "objects[]", IREE_ARRAYSIZE(names), names, &fields));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_unsigned(&fields, "bytes", 1, MLXCEL_ARTIFACT_OBJECT_BYTES_MAX, &out_object->byte_count));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(&fields, "sha256", /*may_be_empty=*/false, &out_object->digest));
  const char* name = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(&fields, "name", 1, MLXCEL_ARTIFACT_NAME_BYTES_MAX, &name));
  if (!mlxcel_manifest_object_name_is_legal(name)) return mlxcel_json_fields_error(&fields, "name", "isn't a plain file name");
  return mlxcel_artifact_text_copy(iree_make_cstring_view(name), &out_object->name);
}

static iree_status_t manifest_read_objects(const mlxcel_json_fields_t* fields, mlxcel_manifest_t* manifest) {
  const json_t* array = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_array(fields, "objects", MLXCEL_ARTIFACT_OBJECTS_MAX, &array));
  size_t count = json_array_size(array);
  manifest->objects = calloc(count + 1, sizeof(*manifest->objects));
  if (!manifest->objects) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu objects", count);
  for (size_t i = 0; i < count; ++i) {
    IREE_RETURN_IF_ERROR(manifest_read_object(json_array_get(array, i), &manifest->objects[i]));
    manifest->object_count = i + 1;
  }
  return iree_ok_status();
}

static iree_status_t manifest_read_compiler(const json_t* value, mlxcel_compiler_identity_t* compiler) {
  static const char* const names[] = {"version", "sha256", "program_sha256", "library_sha256", "linker_sha256"};
  mlxcel_json_fields_t fields;
  const char* version = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(value, "compiler", IREE_ARRAYSIZE(names), names, &fields));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_string(&fields, "version", 1, MLXCEL_COMPILER_VERSION_BYTES_MAX, &version));
  memcpy(compiler->version, version, strlen(version) + 1);
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(&fields, "sha256", /*may_be_empty=*/false, &compiler->digest));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(&fields, "program_sha256", /*may_be_empty=*/false, &compiler->program_digest));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(&fields, "library_sha256", /*may_be_empty=*/true, &compiler->library_digest));
  return mlxcel_json_fields_digest(&fields, "linker_sha256", /*may_be_empty=*/true, &compiler->linker_digest);
}

static iree_status_t manifest_check_version(const json_t* value) {
  const json_t* version = json_object_get(value, "manifest_version");
  if (!json_is_integer(version)) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "field 'manifest_version' must be an integer");
  json_int_t number = json_integer_value(version);
  if (number == MLXCEL_MANIFEST_VERSION) return iree_ok_status();
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION,
                          "field 'manifest_version' is %lld, %s than the version %d that this mlxcel reads; use the mlxcel that wrote it, or compile again",
                          (long long)number, number > MLXCEL_MANIFEST_VERSION ? "newer" : "older", MLXCEL_MANIFEST_VERSION);
}

static iree_status_t manifest_read_identity(const mlxcel_json_fields_t* fields, mlxcel_manifest_t* manifest) {
  mlxcel_sha256_hex_t self_digest;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(fields, kSelfDigestName, /*may_be_empty=*/false, &self_digest));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(fields, "key", /*may_be_empty=*/false, &manifest->key));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_digest(fields, "request_key", /*may_be_empty=*/false, &manifest->request_key));
  uint64_t created = 0;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_unsigned(fields, "created_unix", 0, INT64_MAX, &created));
  manifest->created_unix = (int64_t)created;
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_copy_string(fields, "profile", 1, MLXCEL_ARTIFACT_NAME_BYTES_MAX, &manifest->profile));
  return mlxcel_json_fields_copy_string(fields, "target", 1, MLXCEL_ARTIFACT_NAME_BYTES_MAX, &manifest->target);
}

static iree_status_t manifest_read(const json_t* value, mlxcel_manifest_t* manifest) {
  static const char* const names[] = {"manifest_version", kSelfDigestName, "key",    "request_key", "created_unix", "mlir",     "vmfb",
                                      "contract",         "profile",       "target", "flags",       "objects",      "compiler", "interface"};
  mlxcel_json_fields_t fields;
  IREE_RETURN_IF_ERROR(manifest_check_version(value));
  IREE_RETURN_IF_ERROR(mlxcel_json_fields_open(value, "", IREE_ARRAYSIZE(names), names, &fields));
  IREE_RETURN_IF_ERROR(manifest_read_identity(&fields, manifest));
  const json_t* mlir = json_object_get(value, "mlir");
  const json_t* vmfb = json_object_get(value, "vmfb");
  IREE_RETURN_IF_ERROR(manifest_read_file(mlir, "mlir", MLXCEL_TEXT_BYTES_MAX, &manifest->mlir_byte_count, &manifest->mlir_digest));
  IREE_RETURN_IF_ERROR(manifest_read_file(vmfb, "vmfb", MLXCEL_VMFB_BYTES_MAX, &manifest->vmfb_byte_count, &manifest->vmfb_digest));
  IREE_RETURN_IF_ERROR(manifest_read_contract(json_object_get(value, "contract"), manifest));
  IREE_RETURN_IF_ERROR(manifest_read_flags(&fields, manifest));
  IREE_RETURN_IF_ERROR(manifest_read_objects(&fields, manifest));
  IREE_RETURN_IF_ERROR(manifest_read_compiler(json_object_get(value, "compiler"), &manifest->compiler));
  return mlxcel_program_interface_from_json(json_object_get(value, "interface"), &manifest->interface);
}

iree_status_t mlxcel_manifest_from_json(const json_t* value, mlxcel_manifest_t* out_manifest) {
  memset(out_manifest, 0, sizeof(*out_manifest));
  iree_status_t status = manifest_read(value, out_manifest);
  if (!iree_status_is_ok(status)) mlxcel_manifest_deinitialize(out_manifest);
  return status;
}

// --- checking ----------------------------------------------------------------------------------------------------------------------------

static iree_status_t manifest_compare(const char* name, const char* recorded, const char* computed) {
  if (strcmp(recorded, computed) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_DATA_LOSS, "field '%s' is %s, but the contents give %s: the file was altered", name, recorded, computed);
}

static iree_status_t manifest_check_self_digest(const json_t* value) {
  const char* recorded = json_string_value(json_object_get(value, kSelfDigestName));
  if (!recorded) return iree_make_status(IREE_STATUS_DATA_LOSS, "field '%s' is missing or not a string", kSelfDigestName);
  mlxcel_sha256_hex_t computed;
  IREE_RETURN_IF_ERROR(manifest_self_digest(value, &computed));
  if (strcmp(recorded, computed.text) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_DATA_LOSS, "field '%s' doesn't fit the contents, which give %s: the file was altered", kSelfDigestName, computed.text);
}

static iree_status_t manifest_compare_contract(const mlxcel_manifest_t* manifest, const mlxcel_parsed_contract_t* contract) {
  if (contract->version != manifest->contract_version) {
    return iree_make_status(IREE_STATUS_DATA_LOSS, "field 'contract.version' is %u, but the contract's text is of version %u", manifest->contract_version,
                            contract->version);
  }
  if (strcmp(contract->profile, manifest->profile) != 0) {
    return iree_make_status(IREE_STATUS_DATA_LOSS, "field 'profile' is %s, but the contract is one of profile %s", manifest->profile, contract->profile);
  }
  if (contract->clause_count > 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_DATA_LOSS, "field 'contract.text' has no clauses: a module without numerics can't be run under a contract");
}

iree_status_t mlxcel_manifest_check_contract(const mlxcel_manifest_t* manifest) {
  if (manifest->contract_version != MLXCEL_CONTRACT_VERSION) {
    return iree_make_status(IREE_STATUS_FAILED_PRECONDITION,
                            "field 'contract.version' is %u, %s than the version %d that this mlxcel reads; use the mlxcel that wrote it, or compile again",
                            manifest->contract_version, manifest->contract_version > MLXCEL_CONTRACT_VERSION ? "newer" : "older", MLXCEL_CONTRACT_VERSION);
  }
  mlxcel_parsed_contract_t contract;
  IREE_RETURN_IF_ERROR(mlxcel_contract_parse(iree_make_cstring_view(manifest->contract_text), "field 'contract.text'", &contract));
  iree_status_t status = manifest_compare_contract(manifest, &contract);
  mlxcel_parsed_contract_deinitialize(&contract);
  return status;
}

// What follows from other fields must do so: an entry whose texts were replaced together with the self digest still isn't the entry that its key names.
static iree_status_t manifest_check_derived(const mlxcel_manifest_t* manifest) {
  mlxcel_sha256_hex_t digest;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_of(manifest->contract_text, strlen(manifest->contract_text), &digest));
  IREE_RETURN_IF_ERROR(manifest_compare("contract.fingerprint", manifest->contract_fingerprint.text, digest.text));
  IREE_RETURN_IF_ERROR(mlxcel_manifest_check_contract(manifest));
  mlxcel_compiler_identity_t compiler = manifest->compiler;
  IREE_RETURN_IF_ERROR(mlxcel_compiler_identity_combine(&compiler));
  IREE_RETURN_IF_ERROR(manifest_compare("compiler.sha256", manifest->compiler.digest.text, compiler.digest.text));
  IREE_RETURN_IF_ERROR(mlxcel_artifact_request_key_compute(manifest, &digest));
  IREE_RETURN_IF_ERROR(manifest_compare("request_key", manifest->request_key.text, digest.text));
  IREE_RETURN_IF_ERROR(mlxcel_artifact_key_compute(&manifest->request_key, &manifest->compiler.digest, &digest));
  return manifest_compare("key", manifest->key.text, digest.text);
}

static iree_status_t manifest_check_text(const json_t* value, iree_string_view_t text) {
  char* canonical = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_json_write(value, /*compact=*/false, &canonical));
  bool equal = iree_string_view_equal(iree_make_cstring_view(canonical), text);
  free(canonical);
  if (equal) return iree_ok_status();
  return iree_make_status(IREE_STATUS_DATA_LOSS, "spacing, order or spelling isn't as mlxcel writes it: the file was altered");
}

static iree_status_t manifest_parse_value(const json_t* value, iree_string_view_t text, mlxcel_manifest_t* out_manifest) {
  IREE_RETURN_IF_ERROR(manifest_check_version(value));
  IREE_RETURN_IF_ERROR(manifest_check_self_digest(value));
  IREE_RETURN_IF_ERROR(manifest_check_text(value, text));
  IREE_RETURN_IF_ERROR(mlxcel_manifest_from_json(value, out_manifest));
  return manifest_check_derived(out_manifest);
}

// One code for "this entry can't be trusted", with the file's name in front.
static iree_status_t manifest_failure(iree_status_t status, const char* origin) {
  iree_status_code_t code = iree_status_code(status);
  if (code == IREE_STATUS_INVALID_ARGUMENT || code == IREE_STATUS_ALREADY_EXISTS) code = IREE_STATUS_DATA_LOSS;
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  bool is_named = strncmp(text, origin, strlen(origin)) == 0;
  return iree_make_status(code, "%s%s%s", is_named ? "" : origin, is_named ? "" : ": ", text);
}

iree_status_t mlxcel_manifest_parse(iree_string_view_t text, const char* origin, mlxcel_manifest_t* out_manifest) {
  memset(out_manifest, 0, sizeof(*out_manifest));
  json_t* value = NULL;
  iree_status_t status = text.size > MLXCEL_MANIFEST_FILE_BYTES_MAX
                             ? iree_make_status(IREE_STATUS_DATA_LOSS, "%zu bytes are more than a manifest has", text.size)
                             : mlxcel_json_parse(text, origin, &value);
  if (iree_status_is_ok(status)) status = manifest_parse_value(value, text, out_manifest);
  json_decref(value);
  if (iree_status_is_ok(status)) return status;
  mlxcel_manifest_deinitialize(out_manifest);
  return manifest_failure(status, origin);
}

iree_status_t mlxcel_manifest_read(const char* folder, char** out_text, mlxcel_manifest_t* out_manifest) {
  memset(out_manifest, 0, sizeof(*out_manifest));
  if (out_text) *out_text = NULL;
  char *path = NULL, *text = NULL;
  size_t size = 0;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, iree_make_cstring_view(MLXCEL_MANIFEST_FILE_NAME), &path));
  iree_status_t status = mlxcel_file_read(path, MLXCEL_MANIFEST_FILE_BYTES_MAX, &text, &size);
  if (iree_status_is_not_found(status) && mlxcel_path_is_directory(folder)) {
    iree_status_ignore(status);
    status = iree_make_status(IREE_STATUS_DATA_LOSS, "%s isn't the folder of a compiled module: it has no %s; `mlxcel cache ls` lists them", folder,
                              MLXCEL_MANIFEST_FILE_NAME);
  }
  if (iree_status_is_ok(status)) status = mlxcel_manifest_parse(iree_make_string_view(text, size), path, out_manifest);
  if (out_text && iree_status_is_ok(status)) {
    *out_text = text;
    text = NULL;
  }
  free(text);
  free(path);
  return status;
}

// --- other versions ----------------------------------------------------------------------------------------------------------------------

// -1, 0, 1: |name| of |object| is older than, is, is newer than |present|; 0 as well if it is no number.
static int manifest_compare_version(const json_t* object, const char* name, json_int_t present) {
  const json_t* version = json_object_get(object, name);
  if (!json_is_integer(version) || json_integer_value(version) == present) return 0;
  return json_integer_value(version) < present ? -1 : 1;
}

const char* mlxcel_manifest_age(iree_string_view_t text, int64_t* out_created_unix) {
  *out_created_unix = 0;
  json_t* value = NULL;
  if (text.size > MLXCEL_MANIFEST_FILE_BYTES_MAX) return NULL;
  iree_status_ignore(mlxcel_json_parse(text, MLXCEL_MANIFEST_FILE_NAME, &value));
  int age = manifest_compare_version(value, "manifest_version", MLXCEL_MANIFEST_VERSION);
  if (age == 0) age = manifest_compare_version(json_object_get(value, "interface"), "version", MLXCEL_PROGRAM_INTERFACE_VERSION);
  if (age == 0) age = manifest_compare_version(json_object_get(value, "contract"), "version", MLXCEL_CONTRACT_VERSION);
  json_int_t created = json_integer_value(json_object_get(value, "created_unix"));
  if (created > 0) *out_created_unix = created;
  json_decref(value);
  return age < 0 ? "older" : age > 0 ? "newer" : NULL;
}
