// manifest.h: manifest.json of a cache entry: what the entry is made of and by, and the program's interface. One manifest has exactly one text
// (sorted keys, fixed indent), and it carries a digest of itself: a changed byte anywhere is noticed.
//
// A manifest owns its texts. A zeroed one is a valid empty one. Not thread-safe; no globals.
#ifndef MLXCEL_ARTIFACT_MANIFEST_H_
#define MLXCEL_ARTIFACT_MANIFEST_H_

#include "artifact/compiler_identity.h"
#include "artifact/program_interface.h"
#include "base/sha256.h"

#define MLXCEL_MANIFEST_VERSION 1

#define MLXCEL_MANIFEST_FILE_NAME "manifest.json"
#define MLXCEL_MLIR_FILE_NAME "model.mlir"
#define MLXCEL_VMFB_FILE_NAME "model.vmfb"

typedef struct mlxcel_manifest_object_t {
  char* name;  // plain file name
  uint64_t byte_count;
  mlxcel_sha256_hex_t digest;
} mlxcel_manifest_object_t;

typedef struct mlxcel_manifest_t {
  mlxcel_sha256_hex_t key, request_key;  // artifact_key.h
  int64_t created_unix;
  mlxcel_sha256_hex_t mlir_digest, vmfb_digest;
  uint64_t mlir_byte_count, vmfb_byte_count;
  uint32_t contract_version;
  mlxcel_sha256_hex_t contract_fingerprint;  // SHA-256 of contract_text
  char* contract_text;
  char* profile;
  char* target;
  size_t flag_count;
  char** flags;
  size_t object_count;
  mlxcel_manifest_object_t* objects;
  mlxcel_compiler_identity_t compiler;
  mlxcel_program_interface_t interface;
} mlxcel_manifest_t;

void mlxcel_manifest_deinitialize(mlxcel_manifest_t* manifest);

// The text of manifest.json, malloc'ed.
iree_status_t mlxcel_manifest_to_text(const mlxcel_manifest_t* manifest, char** out_text);

// Reads and checks a whole manifest.json; |origin| names it in errors. FAILED_PRECONDITION: the manifest, its interface or its contract was written by a newer
// or older mlxcel. DATA_LOSS: anything else that is wrong: not JSON, an unknown, missing or repeated key, a value out of range, a self digest, fingerprint or
// key that doesn't fit, a contract that isn't one, or not the one text.
iree_status_t mlxcel_manifest_parse(iree_string_view_t text, const char* origin, mlxcel_manifest_t* out_manifest);

// Reads and checks the manifest in |folder|, the folder of an entry; |out_text| may be NULL. As above, and NOT_FOUND: no such folder. DATA_LOSS: no manifest in
// it.
iree_status_t mlxcel_manifest_read(const char* folder, char** out_text, mlxcel_manifest_t* out_manifest);

// What can be told of a manifest that mlxcel_manifest_parse refuses with FAILED_PRECONDITION: "older" or "newer" than this mlxcel (static), and when the entry
// was made, 0 if it doesn't say. NULL: neither, or no manifest at all.
const char* mlxcel_manifest_age(iree_string_view_t text, int64_t* out_created_unix);

// The contract of |manifest|: of this version, canonical in every byte, with at least one clause, and of the manifest's profile. FAILED_PRECONDITION: of an
// older or newer version. DATA_LOSS: anything else. Messages name the field, and inside the text the line and the key.
iree_status_t mlxcel_manifest_check_contract(const mlxcel_manifest_t* manifest);

// The field checks alone: neither the self digest, the contract nor the keys are compared.
iree_status_t mlxcel_manifest_from_json(const json_t* value, mlxcel_manifest_t* out_manifest);

// A name under which an object may be written into the compiler's folder: letters, digits, '.', '_' and '-', first a letter or digit, and none of our own
// names.
bool mlxcel_manifest_object_name_is_legal(const char* name);

#endif  // MLXCEL_ARTIFACT_MANIFEST_H_
