// host_identity.h: this machine as far as results depend on it: its processor, and what the functions of its C math library return.
#ifndef MLXCEL_QUALIFY_HOST_IDENTITY_H_
#define MLXCEL_QUALIFY_HOST_IDENTITY_H_

#include "base/sha256.h"

// SHA-256 over the bits that mlxcel_host_unary returns for a few thousand fixed values: powf with the exponents that profiles use and others, and tanhf. A
// library of the same file that chooses another code path for this processor shows here.
iree_status_t mlxcel_host_probe_digest(mlxcel_sha256_hex_t* out_digest);

// SHA-256 over the processor's vendor, family, model, stepping and feature words (CPUID) and |probe|.
iree_status_t mlxcel_host_digest(const char* probe, mlxcel_sha256_hex_t* out_digest);

#endif  // MLXCEL_QUALIFY_HOST_IDENTITY_H_
