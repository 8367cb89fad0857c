// identity.h: who takes part in a computation here and now: kernels, compiler, runtime, references. Evidence is valid while its identities are these; the
// oracle fills its records from here, so that both mean the same.
#ifndef MLXCEL_QUALIFY_IDENTITY_H_
#define MLXCEL_QUALIFY_IDENTITY_H_

#include "contract/profiles.h"
#include "qualify/evidence.h"

// The MLX build that claims of this version are made against: libmlx.so and its BLAS of the PyPI package mlx-cpu of that version, with the digests of
// scripts/pins.env. The reference program gives this name to no other build.
#define MLXCEL_MLX_REFERENCE "mlx-cpu-0.32.4"
// What canonical claims are made against: the scalar reference of kernels/reference.
#define MLXCEL_DECLARED_REFERENCE "declared-decomposition"

typedef struct mlxcel_identity_t {
  char device[32], cpu_level[8];
  uint32_t contract_version;
  mlxcel_sha256_hex_t pinned_object, mlx_object;  // of the kernel objects for |cpu_level|
  mlxcel_sha256_hex_t host_object;                // of mlx_object, the files that powf and tanhf come from, and what they compute; "" if one can't be found
  mlxcel_sha256_hex_t pinned_source;              // of the sources of pinned_object
  mlxcel_sha256_hex_t scalar_reference;           // of its sources
  mlxcel_sha256_hex_t mlx_reference;              // of libmlx and BLAS of the pinned build
  mlxcel_sha256_hex_t emitter;                    // of the sources that emit modules, and of the compile flags for |cpu_level|
  mlxcel_sha256_hex_t host;                       // of the processor (vendor, family, model, stepping, features) and what powf and tanhf compute here
  mlxcel_sha256_hex_t compiler;                   // "" = not known
  char runtime[96];                               // crate, version, digest of its sources
} mlxcel_identity_t;

// |compiler_digest| may be NULL. INVALID_ARGUMENT: no such level, or a name that is too long. The level needn't run here.
iree_status_t mlxcel_identity_query(const char* device, const char* cpu_level, const char* compiler_digest, mlxcel_identity_t* out_identity);

// Digest of the native code that |clause| runs: a kernel object; with functions of the host's C library, that library too; "" for what the compiler generates.
mlxcel_sha256_hex_t mlxcel_identity_object(const mlxcel_identity_t* identity, const mlxcel_clause_t* clause);
// What identifies an MLX build: SHA-256 over the digests of its libraries.
iree_status_t mlxcel_identity_mlx(const char* libmlx_digest, const char* blas_digest, mlxcel_sha256_hex_t* out_digest);
// What a record against |reference| must name as reference_identity; "" for a reference that this version doesn't know.
const char* mlxcel_identity_reference(const mlxcel_identity_t* identity, const char* reference);

// Everything that a record says but what was shown by running: |out_evidence| lacks claim (none), output_count, case_count and repeats. |reference|:
// MLXCEL_MLX_REFERENCE or MLXCEL_DECLARED_REFERENCE; |reference_identity|: what took part (of mlxcel_identity_mlx), NULL = the present one.
iree_status_t mlxcel_identity_fill(const mlxcel_identity_t* identity, const char* profile, const mlxcel_clause_t* clause, const char* reference,
                                   const char* reference_identity, mlxcel_evidence_t* out_evidence);

#endif  // MLXCEL_QUALIFY_IDENTITY_H_
