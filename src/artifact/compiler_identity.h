// compiler_identity.h: which compiler made a module: digests of its program, library and linker, and what it calls itself. Paths aren't identity.
#ifndef MLXCEL_ARTIFACT_COMPILER_IDENTITY_H_
#define MLXCEL_ARTIFACT_COMPILER_IDENTITY_H_

#include "artifact/artifact_limits.h"
#include "base/base.h"
#include "base/sha256.h"

typedef struct mlxcel_compiler_identity_t {
  char version[MLXCEL_COMPILER_VERSION_BYTES_MAX + 1];  // printable ASCII; "" until mlxcel_compiler_version_query
  mlxcel_sha256_hex_t program_digest;
  mlxcel_sha256_hex_t library_digest, linker_digest;  // "" if there is no such file beside the program
  mlxcel_sha256_hex_t digest;                         // over the three
} mlxcel_compiler_identity_t;

// |identity->digest| from the other three.
iree_status_t mlxcel_compiler_identity_combine(mlxcel_compiler_identity_t* identity);

// Resolves |compiler_path| and gives the digests of the program, of libIREECompiler.so and of iree-lld in its folder (or ../lib). Hashing 340 MB takes a
// quarter of a second and more, so results are remembered in <cache_root>/compilers.json by path, size, times, inode and device; a file that can't be
// read or written there only costs that time. Errors: NOT_FOUND (no such file), INVALID_ARGUMENT (a Python script: mlxcel starts no Python).
iree_status_t mlxcel_compiler_identity_query(const char* cache_root, const char* compiler_path, mlxcel_compiler_identity_t* out_identity);

// Fills |identity->version| by running `<compiler> --version`.
iree_status_t mlxcel_compiler_version_query(const char* compiler_path, mlxcel_compiler_identity_t* identity);

// Whether |identity->version| ("IREE compiler version 3.13.0rc20261016 @ 89ece87b...") names |version| and, unless NULL or empty, a revision that begins with
// |revision|.
bool mlxcel_compiler_is_of_version(const mlxcel_compiler_identity_t* identity, const char* version, const char* revision);

// True if |compiler_path| names an executable file.
bool mlxcel_compiler_is_present(const char* compiler_path);

#endif  // MLXCEL_ARTIFACT_COMPILER_IDENTITY_H_
