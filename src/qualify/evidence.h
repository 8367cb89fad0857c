// evidence.h: records of what micro-oracles have shown: one record a profile, clause, device and CPU level, with the identity of everything that took part. The
// latest run's record is the only one: a run that disproves a claim takes it away. A record is worth its claim only while that identity is the present one;
// else it is stale and earns nothing.
//
// Store: a folder with one JSON file a record (name: digest of the record's key fields; written whole: temporary file, rename), $MLXCEL_EVIDENCE_DIR, else
// $XDG_DATA_HOME/mlxcel/evidence, else $HOME/.local/share/mlxcel/evidence. Records of the default profile are committed and built into the program.
#ifndef MLXCEL_QUALIFY_EVIDENCE_H_
#define MLXCEL_QUALIFY_EVIDENCE_H_

#include "base/base.h"
#include "base/sha256.h"

#define MLXCEL_EVIDENCE_VERSION 2
#define MLXCEL_EVIDENCE_REPEATS_MIN 3u  // calls that must agree before anything is believed: of two, a race that hits every second call shows nothing
#define MLXCEL_EVIDENCE_FILE_BYTES_MAX (16u << 20)  // a record has about 1.3 KB; the store's files hold one each, a committed list a few thousand
#define MLXCEL_EVIDENCE_RECORDS_MAX 65536u          // every clause instance on every device and level is below 10,000; old ones may lie beside them

// Claims, weakest first (C7). production-mlx names its reference: "production-mlx@mlx-cpu-0.32.4".
typedef enum mlxcel_claim_e { MLXCEL_CLAIM_NONE, MLXCEL_CLAIM_CLOSENESS, MLXCEL_CLAIM_CANONICAL, MLXCEL_CLAIM_PRODUCTION } mlxcel_claim_t;
// "none", "mathematical-closeness", "canonical-decomposition", "production-mlx@<reference>"; |reference| is used by the last only.
void mlxcel_claim_text(mlxcel_claim_t claim, const char* reference, char buffer[96]);

typedef struct mlxcel_evidence_t {
  // What was shown.
  char profile[48], op[40], variant[40], source_dtype[64], operand_dtype[32];
  char algorithm[160];                // several kernels in order of use are joined by '+'
  mlxcel_sha256_hex_t clause_digest;  // of the clause's canonical text
  char source_digest[200];            // of the kernels' sources, one an object, joined by '+'; "none" without
  uint32_t contract_version, algorithm_version;
  mlxcel_claim_t claim;
  char reference[64];  // "mlx-cpu-0.32.4"; "declared-decomposition" for canonical claims and where those are what the profile needs
  uint64_t output_count, case_count;
  uint32_t repeats;
  // On what.
  char device[32], cpu_level[8];
  // By what.
  char reference_identity[96];  // SHA-256 over libmlx and its BLAS, or over the scalar reference's sources
  mlxcel_sha256_hex_t object_digest, compiler_digest;
  mlxcel_sha256_hex_t emitter_digest;  // of the sources that emit, and of the compile flags
  mlxcel_sha256_hex_t host;            // of the processor and what its C math library computes
  char runtime_identity[96];
  int64_t created_unix;
} mlxcel_evidence_t;

typedef struct mlxcel_evidence_list_t {
  size_t count;
  mlxcel_evidence_t* items;
} mlxcel_evidence_list_t;
void mlxcel_evidence_list_deinitialize(mlxcel_evidence_list_t* list);
// Appends a copy.
iree_status_t mlxcel_evidence_list_add(mlxcel_evidence_list_t* list, const mlxcel_evidence_t* evidence);

// INVALID_ARGUMENT names the field that is empty, too long, no digest or out of range. Object and compiler digests may be empty (no kernel, no compiler).
iree_status_t mlxcel_evidence_check(const mlxcel_evidence_t* evidence);

iree_status_t mlxcel_evidence_default_folder(char** out_folder);
// Makes |folder| and writes a file into it and removes that: what keeps records from being written is told before work is spent on them.
iree_status_t mlxcel_evidence_folder_prepare(const char* folder);
// Writes |evidence|, replacing an older record of the same profile, clause (by digest), device and level, whatever that claimed. Makes the folder. Any number
// of processes may write and read at once: readers see whole records only.
iree_status_t mlxcel_evidence_write(const char* folder, const mlxcel_evidence_t* evidence);
// All records of |folder| (an absent folder is an empty one) sorted by profile, op, variant, digest, device; a damaged file is skipped with a warning.
iree_status_t mlxcel_evidence_read(const char* folder, mlxcel_evidence_list_t* out_list);
// Adds the record of |folder| that has the key of |key| (profile, op, variant, clause digest, device, level), if there is one, without reading the others.
iree_status_t mlxcel_evidence_read_key(const char* folder, const mlxcel_evidence_t* key, mlxcel_evidence_list_t* list);
// The records that are part of this program.
iree_status_t mlxcel_evidence_built_in(mlxcel_evidence_list_t* out_list);

// JSON text of a list, as built in: `mlxcel oracle run --record FILE` writes it. A set of records has exactly one text (sorted, with a digest of itself), so
// any changed byte is noticed. Parsing: FAILED_PRECONDITION: of a newer or older version; DATA_LOSS: anything else that is wrong; both name |origin|.
iree_status_t mlxcel_evidence_list_to_text(const mlxcel_evidence_list_t* list, char** out_text);
iree_status_t mlxcel_evidence_list_parse(iree_string_view_t text, const char* origin, mlxcel_evidence_list_t* out_list);

#endif  // MLXCEL_QUALIFY_EVIDENCE_H_
