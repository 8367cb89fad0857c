#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/fs.h"

iree_status_t mlxcel_sha256_initialize(mlxcel_sha256_t* out_hash) {
  out_hash->context = EVP_MD_CTX_new();
  if (!out_hash->context) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a SHA-256 context");
  if (EVP_DigestInit_ex(out_hash->context, EVP_sha256(), NULL) != 1) {
    EVP_MD_CTX_free(out_hash->context);
    out_hash->context = NULL;
    return iree_make_status(IREE_STATUS_UNAVAILABLE, "libcrypto has no SHA-256; check its configuration");
  }
  return iree_ok_status();
}

void mlxcel_sha256_update(mlxcel_sha256_t* hash, const void* data, size_t size) {
  if (size > 0) EVP_DigestUpdate(hash->context, data, size);
}

void mlxcel_sha256_update_field(mlxcel_sha256_t* hash, iree_string_view_t field) {
  uint64_t size = field.size;
  mlxcel_sha256_update(hash, &size, sizeof(size));
  mlxcel_sha256_update(hash, field.data, field.size);
}

void mlxcel_sha256_finish(mlxcel_sha256_t* hash, mlxcel_sha256_hex_t* out_hex) {
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[32] = {0};
  EVP_DigestFinal_ex(hash->context, digest, NULL);
  EVP_MD_CTX_free(hash->context);
  hash->context = NULL;
  for (size_t i = 0; i < 32; ++i) {
    out_hex->text[2 * i] = digits[digest[i] >> 4];
    out_hex->text[2 * i + 1] = digits[digest[i] & 15];
  }
  out_hex->text[64] = 0;
}

iree_status_t mlxcel_sha256_of(const void* data, size_t size, mlxcel_sha256_hex_t* out_hex) {
  mlxcel_sha256_t hash;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  mlxcel_sha256_update(&hash, data, size);
  mlxcel_sha256_finish(&hash, out_hex);
  return iree_ok_status();
}

iree_status_t mlxcel_sha256_of_file(const char* path, mlxcel_sha256_hex_t* out_hex) {
  mlxcel_mapped_file_t file;
  IREE_RETURN_IF_ERROR(mlxcel_mapped_file_open(path, UINT64_MAX, &file));
  iree_status_t status = mlxcel_sha256_of(file.data, file.size, out_hex);
  mlxcel_mapped_file_close(&file);
  return status;
}
