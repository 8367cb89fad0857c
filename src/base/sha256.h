// sha256.h: SHA-256 by OpenSSL's EVP, as lowercase hex. Used for contract fingerprints, artifact keys and file digests.
#ifndef MLXCEL_BASE_SHA256_H_
#define MLXCEL_BASE_SHA256_H_

#include "base/base.h"

typedef struct mlxcel_sha256_hex_t {
  char text[65];  // 64 hex digits and a NUL
} mlxcel_sha256_hex_t;

typedef struct mlxcel_sha256_t {
  void* context;  // EVP_MD_CTX
} mlxcel_sha256_t;

iree_status_t mlxcel_sha256_initialize(mlxcel_sha256_t* out_hash);
void mlxcel_sha256_update(mlxcel_sha256_t* hash, const void* data, size_t size);
// Appends the length as 8 little-endian bytes, then the bytes: fields of a key can't run into each other.
void mlxcel_sha256_update_field(mlxcel_sha256_t* hash, iree_string_view_t field);
// Writes the digest and frees the context.
void mlxcel_sha256_finish(mlxcel_sha256_t* hash, mlxcel_sha256_hex_t* out_hex);

iree_status_t mlxcel_sha256_of(const void* data, size_t size, mlxcel_sha256_hex_t* out_hex);
iree_status_t mlxcel_sha256_of_file(const char* path, mlxcel_sha256_hex_t* out_hex);

#endif  // MLXCEL_BASE_SHA256_H_
