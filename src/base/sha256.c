#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// Read in pieces, not mapped: a mapped compiler library would count as 336 MB of this process's memory.
static iree_status_t sha256_update_from(mlxcel_sha256_t* hash, int descriptor, const char* path) {
  enum { PIECE_BYTES = 1 << 20 };
  unsigned char* piece = malloc(PIECE_BYTES);
  if (!piece) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %d bytes", PIECE_BYTES);
  iree_status_t status = iree_ok_status();
  for (ssize_t count = 1; count != 0 && iree_status_is_ok(status);) {
    count = read(descriptor, piece, PIECE_BYTES);
    if (count > 0) mlxcel_sha256_update(hash, piece, (size_t)count);
    if (count < 0 && errno != EINTR) status = mlxcel_fs_errno_status(errno, "read", path);
  }
  free(piece);
  return status;
}

iree_status_t mlxcel_sha256_of_file(const char* path, mlxcel_sha256_hex_t* out_hex) {
  memset(out_hex, 0, sizeof(*out_hex));
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return mlxcel_fs_errno_status(errno, "open", path);
  mlxcel_sha256_t hash;
  iree_status_t status = mlxcel_sha256_initialize(&hash);
  if (iree_status_is_ok(status)) {
    status = sha256_update_from(&hash, descriptor, path);
    mlxcel_sha256_finish(&hash, out_hex);
  }
  close(descriptor);
  return status;
}
