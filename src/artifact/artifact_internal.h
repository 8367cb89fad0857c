// artifact_internal.h: what the files of this module share. The store's layout:
//   <root>/<key>/{model.mlir,model.vmfb,manifest.json}  an entry; complete from the moment it has this name; the manifest's mtime is its last use
//   <root>/requests/<request key>/<key>                 an empty file: which entries answer a request, whatever compiled them
//   <root>/locks/<key>.lock                             held while the key is compiled or removed
//   <root>/tmp/<key>.XXXXXX/                            a compilation under way; a leftover if nobody holds the key's lock
//   <root>/failed/<key>/                                the reproducer of the last failed compilation
//   <root>/damaged/<key>.XXXXXX/                        entries that failed verification, for inspection
//   <root>/compilers.json                               remembered digests of compilers
#ifndef MLXCEL_ARTIFACT_ARTIFACT_INTERNAL_H_
#define MLXCEL_ARTIFACT_ARTIFACT_INTERNAL_H_

#include "artifact/artifact_cache.h"
#include "artifact/manifest.h"

#define MLXCEL_STORE_REQUESTS "requests"
#define MLXCEL_STORE_LOCKS "locks"
#define MLXCEL_STORE_TEMPORARY "tmp"
#define MLXCEL_STORE_FAILED "failed"
#define MLXCEL_STORE_DAMAGED "damaged"

// "<root>/<kind>/<name><suffix>", or without <kind> if it is NULL; malloc'ed.
iree_status_t mlxcel_artifact_store_path(const char* root, const char* kind, const char* name, const char* suffix, char** out_path);

// Checks |request| and makes a manifest of all that it says (compiler, key, vmfb and time are left empty; the request key is filled in).
iree_status_t mlxcel_artifact_draft_manifest(const mlxcel_artifact_request_t* request, mlxcel_manifest_t* out_manifest);

// Reads a whole file into private read-only memory, page-aligned: what is hashed there can't change afterwards. Closed by mlxcel_mapped_file_close.
iree_status_t mlxcel_artifact_file_read(const char* path, uint64_t max_bytes, mlxcel_mapped_file_t* out_file);

// Writes a new file; an existing one is an error. Not synced.
iree_status_t mlxcel_artifact_file_write_new(const char* path, const void* data, size_t size);

// fsync of a file or folder.
iree_status_t mlxcel_artifact_path_sync(const char* path);

// Fills |out_artifact| from a manifest, which gives its interface and contract away, and takes |vmfb| and |manifest_text| over. |folder| is copied.
iree_status_t mlxcel_artifact_assemble(const char* folder, mlxcel_manifest_t* manifest, mlxcel_mapped_file_t* vmfb, char** manifest_text,
                                       mlxcel_artifact_t* out_artifact);

// One compilation in a fresh folder.
typedef struct mlxcel_artifact_build_t {
  const mlxcel_artifact_request_t* request;
  const mlxcel_artifact_progress_t* progress;  // may be NULL
  const char* work_folder;                     // empty
  const char* failed_folder;                   // where the reproducer goes; NULL: it stays in |work_folder|
} mlxcel_artifact_build_t;
typedef enum mlxcel_artifact_outcome_e {
  MLXCEL_ARTIFACT_COMPILED,
  MLXCEL_ARTIFACT_NOT_COMPILED,   // the compiler's or the user's doing; a reproducer is kept unless cancelled
  MLXCEL_ARTIFACT_STORAGE_FAILED  // the folder can't hold it: another one may
} mlxcel_artifact_outcome_t;
// Leaves model.mlir and model.vmfb in the work folder and gives the module's bytes. The status says why, if the outcome isn't COMPILED.
iree_status_t mlxcel_artifact_compile(const mlxcel_artifact_build_t* build, mlxcel_artifact_outcome_t* out_outcome, mlxcel_mapped_file_t* out_vmfb,
                                      double* out_seconds);

// Takes the key's lock, making sure that the lock file is still the one on disk. 0 = only try; DEADLINE_EXCEEDED: held by another.
iree_status_t mlxcel_artifact_lock_acquire(const char* root, const char* key, uint32_t timeout_ms, mlxcel_file_lock_t* out_lock);

// Removes the temporary folders of |key|; the caller holds its lock. Adds to the counters, which may be NULL.
iree_status_t mlxcel_artifact_leftovers_remove(const char* root, const char* key, size_t* removed_count, uint64_t* removed_bytes);

#endif  // MLXCEL_ARTIFACT_ARTIFACT_INTERNAL_H_
