#include "qualify/identity.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "build_identity.h"
#include "contract/contract_parse.h"
#include "emitter_digest.h"
#include "kernels/kernel_objects.h"
#include "kernels/kernel_table.h"
#include "qualify/host_identity.h"
#include "reference_digest.h"

static iree_status_t identity_text(const char* name, const char* text, size_t capacity, char* out_text) {
  if (text && text[0] && strlen(text) < capacity) {
    memcpy(out_text, text, strlen(text) + 1);
    return iree_ok_status();
  }
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s '%s' must have 1 to %zu bytes", name, text ? text : "", capacity - 1);
}

static iree_status_t identity_object_digest(iree_const_byte_span_t object, mlxcel_sha256_hex_t* out_digest) {
  return mlxcel_sha256_of(object.data, object.data_length, out_digest);
}

static iree_status_t identity_level(const char* name, mlxcel_kernel_level_t* out_level) {
  for (int i = 0; i < MLXCEL_KERNEL_LEVEL_COUNT; ++i) {
    *out_level = (mlxcel_kernel_level_t)i;
    if (strcmp(mlxcel_kernel_level_name(*out_level), name) == 0) return iree_ok_status();
  }
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "unknown CPU level '%s'; valid are v3 and v4", name);
}

static void hash_text(mlxcel_sha256_t* hash, const char* text) { mlxcel_sha256_update_field(hash, iree_make_cstring_view(text)); }

iree_status_t mlxcel_identity_mlx(const char* libmlx_digest, const char* blas_digest, mlxcel_sha256_hex_t* out_digest) {
  mlxcel_sha256_t hash;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  hash_text(&hash, libmlx_digest);
  hash_text(&hash, blas_digest);
  mlxcel_sha256_finish(&hash, out_digest);
  return iree_ok_status();
}

static iree_status_t identity_emitter(mlxcel_kernel_level_t level, mlxcel_sha256_hex_t* out_digest) {
  size_t count = 0;
  const char* const* flags = mlxcel_kernel_compile_flags(level, &count);
  mlxcel_sha256_t hash;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  hash_text(&hash, MLXCEL_EMITTER_DIGEST);
  for (size_t i = 0; i < count; ++i) hash_text(&hash, flags[i]);
  mlxcel_sha256_finish(&hash, out_digest);
  return iree_ok_status();
}

// The file that |function| comes from: libm, the program itself where that is linked in, or what was put before them. "" if it can't be read.
static void library_digest(const void* function, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  Dl_info info;
  if (dladdr(function, &info) == 0 || !info.dli_fname) return;
  iree_status_t status = mlxcel_sha256_of_file(info.dli_fname, out_digest);
  if (iree_status_is_ok(status)) return;
  iree_status_ignore(status);
  memset(out_digest, 0, sizeof(*out_digest));
}

// "" where a library isn't to be found under its name: then no evidence can be valid.
static iree_status_t identity_host_object(const char* mlx_object, const char* probe, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  mlxcel_sha256_hex_t power, tangent;
  library_digest((const void*)(uintptr_t)powf, &power);
  library_digest((const void*)(uintptr_t)tanhf, &tangent);
  if (!power.text[0] || !tangent.text[0]) return iree_ok_status();
  mlxcel_sha256_t hash;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_initialize(&hash));
  hash_text(&hash, mlx_object);
  hash_text(&hash, power.text);
  hash_text(&hash, tangent.text);
  hash_text(&hash, probe);
  mlxcel_sha256_finish(&hash, out_digest);
  return iree_ok_status();
}

static iree_status_t identity_host(mlxcel_identity_t* identity) {
  mlxcel_sha256_hex_t probe;
  IREE_RETURN_IF_ERROR(mlxcel_host_probe_digest(&probe));
  IREE_RETURN_IF_ERROR(mlxcel_host_digest(probe.text, &identity->host));
  return identity_host_object(identity->mlx_object.text, probe.text, &identity->host_object);
}

iree_status_t mlxcel_identity_query(const char* device, const char* cpu_level, const char* compiler_digest, mlxcel_identity_t* out_identity) {
  memset(out_identity, 0, sizeof(*out_identity));
  mlxcel_kernel_level_t level = MLXCEL_KERNEL_LEVEL_V3;
  IREE_RETURN_IF_ERROR(identity_text("device", device, sizeof(out_identity->device), out_identity->device));
  IREE_RETURN_IF_ERROR(identity_text("CPU level", cpu_level, sizeof(out_identity->cpu_level), out_identity->cpu_level));
  IREE_RETURN_IF_ERROR(identity_level(cpu_level, &level));
  if (compiler_digest && compiler_digest[0]) {
    IREE_RETURN_IF_ERROR(identity_text("compiler digest", compiler_digest, sizeof(out_identity->compiler.text), out_identity->compiler.text));
  }
  out_identity->contract_version = MLXCEL_CONTRACT_VERSION;
  snprintf(out_identity->scalar_reference.text, sizeof(out_identity->scalar_reference.text), "%s", MLXCEL_SCALAR_REFERENCE_DIGEST);
  snprintf(out_identity->pinned_source.text, sizeof(out_identity->pinned_source.text), "%s", mlxcel_kernel_object_source_digest(MLXCEL_KERNEL_OBJECT_PINNED));
  snprintf(out_identity->runtime, sizeof(out_identity->runtime), "%s %s", MLXCEL_RUNTIME_CRATE, MLXCEL_RUNTIME_DIGEST);
  IREE_RETURN_IF_ERROR(identity_object_digest(mlxcel_kernel_object_bytes(level), &out_identity->pinned_object));
  IREE_RETURN_IF_ERROR(identity_object_digest(mlxcel_kernel_mlx_object_bytes(), &out_identity->mlx_object));
  IREE_RETURN_IF_ERROR(mlxcel_identity_mlx(MLXCEL_MLX_LIBRARY_DIGEST, MLXCEL_MLX_BLAS_DIGEST, &out_identity->mlx_reference));
  IREE_RETURN_IF_ERROR(identity_emitter(level, &out_identity->emitter));
  return identity_host(out_identity);
}

// |algorithm| names kernels of this family.
static bool algorithm_has(const mlxcel_clause_t* clause, const char* family) { return clause->algorithm && strstr(clause->algorithm, family) != NULL; }

mlxcel_sha256_hex_t mlxcel_identity_object(const mlxcel_identity_t* identity, const mlxcel_clause_t* clause) {
  const mlxcel_sha256_hex_t none = {""};
  if (algorithm_has(clause, "mlxcel_host_")) return identity->host_object;
  if (algorithm_has(clause, "mlxcel_mlx_")) return identity->mlx_object;
  return algorithm_has(clause, "mlxcel_pinned_") ? identity->pinned_object : none;
}

const char* mlxcel_identity_reference(const mlxcel_identity_t* identity, const char* reference) {
  if (strcmp(reference, MLXCEL_MLX_REFERENCE) == 0) return identity->mlx_reference.text;
  return strcmp(reference, MLXCEL_DECLARED_REFERENCE) == 0 ? identity->scalar_reference.text : "";
}

// --- records -------------------------------------------------------------------------------------------------------------------------------

static const char* or_none(const char* text) { return text ? text : "none"; }

static iree_status_t fill_clause(const mlxcel_clause_t* clause, mlxcel_evidence_t* evidence) {
  IREE_RETURN_IF_ERROR(identity_text("op", mlxcel_op_class_name(clause->op), sizeof(evidence->op), evidence->op));
  IREE_RETURN_IF_ERROR(identity_text("variant", mlxcel_op_variant_name(clause->variant), sizeof(evidence->variant), evidence->variant));
  IREE_RETURN_IF_ERROR(identity_text("source dtype", or_none(clause->source_dtype), sizeof(evidence->source_dtype), evidence->source_dtype));
  IREE_RETURN_IF_ERROR(identity_text("operand dtype", or_none(clause->operand_dtype), sizeof(evidence->operand_dtype), evidence->operand_dtype));
  IREE_RETURN_IF_ERROR(identity_text("algorithm", or_none(clause->algorithm), sizeof(evidence->algorithm), evidence->algorithm));
  IREE_RETURN_IF_ERROR(identity_text("source digest", or_none(clause->source_digest), sizeof(evidence->source_digest), evidence->source_digest));
  evidence->algorithm_version = clause->algorithm_version;
  return mlxcel_clause_digest(clause, &evidence->clause_digest);
}

iree_status_t mlxcel_identity_fill(const mlxcel_identity_t* identity, const char* profile, const mlxcel_clause_t* clause, const char* reference,
                                   const char* reference_identity, mlxcel_evidence_t* out_evidence) {
  memset(out_evidence, 0, sizeof(*out_evidence));
  if (!reference_identity) reference_identity = mlxcel_identity_reference(identity, reference);
  IREE_RETURN_IF_ERROR(fill_clause(clause, out_evidence));
  IREE_RETURN_IF_ERROR(identity_text("profile", profile, sizeof(out_evidence->profile), out_evidence->profile));
  IREE_RETURN_IF_ERROR(identity_text("reference", reference, sizeof(out_evidence->reference), out_evidence->reference));
  IREE_RETURN_IF_ERROR(identity_text("reference identity", reference_identity, sizeof(out_evidence->reference_identity), out_evidence->reference_identity));
  memcpy(out_evidence->device, identity->device, sizeof(identity->device));
  memcpy(out_evidence->cpu_level, identity->cpu_level, sizeof(identity->cpu_level));
  memcpy(out_evidence->runtime_identity, identity->runtime, sizeof(identity->runtime));
  out_evidence->contract_version = identity->contract_version;
  out_evidence->object_digest = mlxcel_identity_object(identity, clause);
  out_evidence->compiler_digest = identity->compiler;
  out_evidence->emitter_digest = identity->emitter;
  out_evidence->host = identity->host;
  out_evidence->created_unix = (int64_t)time(NULL);
  return iree_ok_status();
}
