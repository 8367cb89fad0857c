// artifact_key.h: the two keys of an entry. The request key covers all that decides the module except the compiler: MLIR text (by digest), contract, profile,
// target, flags, kernel objects (name and digest), interface, and the versions of our own formats. The key adds the compiler's digests and names the entry.
// With the request key an entry is found where no compiler is.
#ifndef MLXCEL_ARTIFACT_ARTIFACT_KEY_H_
#define MLXCEL_ARTIFACT_ARTIFACT_KEY_H_

#include "artifact/manifest.h"

// How a compilation is done (file names, order of arguments, the search path). A change makes every key new.
#define MLXCEL_COMPILE_RECIPE_VERSION 1

iree_status_t mlxcel_artifact_request_key_compute(const mlxcel_manifest_t* manifest, mlxcel_sha256_hex_t* out_key);
iree_status_t mlxcel_artifact_key_compute(const mlxcel_sha256_hex_t* request_key, const mlxcel_sha256_hex_t* compiler_digest, mlxcel_sha256_hex_t* out_key);

#endif  // MLXCEL_ARTIFACT_ARTIFACT_KEY_H_
