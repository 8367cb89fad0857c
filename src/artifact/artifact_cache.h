// artifact_cache.h: a content-addressed store of compiled modules: <root>/<key>/{model.mlir, model.vmfb, manifest.json}; artifact_internal.h has the rest
// of the layout.
//
// Key = SHA-256 over the MLIR text, the contract's canonical bytes, the interface and the build identity (compiler digests, flags, kernel objects,
// target). An entry is published whole (temporary folder, rename) under a lock that the kernel drops when its owner dies, so one process compiles a key.
// An entry that fails verification is named, moved to <root>/damaged for inspection, and never run. A failed compilation keeps its input, diagnostics and
// command in <root>/failed/<key>. A hit works without a compiler.
//
// Threads: all functions may be called from any thread, also at once; nothing is shared but the store. Ownership: a request borrows everything.
#ifndef MLXCEL_ARTIFACT_ARTIFACT_CACHE_H_
#define MLXCEL_ARTIFACT_ARTIFACT_CACHE_H_

#include "artifact/program_interface.h"
#include "base/fs.h"
#include "base/sha256.h"

typedef struct mlxcel_artifact_object_t {  // a kernel object file, linked into the module by the compiler
  const char* file_name;                   // as the MLIR text names it
  const void* data;
  size_t size;
} mlxcel_artifact_object_t;

typedef struct mlxcel_artifact_request_t {
  iree_string_view_t mlir_text;
  iree_string_view_t contract_text;         // canonical bytes
  iree_string_view_t contract_fingerprint;  // SHA-256 of them, hex
  uint32_t contract_version;
  iree_string_view_t profile;  // "pinned-f32"
  iree_string_view_t target;   // "llvm-cpu x86-64-v3": backend and processor
  size_t flag_count;
  const char* const* flags;  // compile flags, in order, without input, output and search path
  size_t object_count;
  const mlxcel_artifact_object_t* objects;
  const mlxcel_program_interface_t* interface;
  const char* compiler_path;  // the program iree-compile. NULL, empty or no executable file: only an entry made from the same request by
                              // whatever compiler can be found (the newest one)
  // Who must have made an entry that is found without a compiler, as `iree-compile --version` says it: "3.13.0" and the first digits of the revision. NULL:
  // whoever.
  const char* compiler_version;
  const char* compiler_revision;
} mlxcel_artifact_request_t;

typedef struct mlxcel_artifact_progress_t {
  // Called every 100 ms from the calling thread; |step| is "compiling" or "waiting for another process ..."; may be NULL.
  void (*notify)(void* user_data, const char* step, double elapsed_seconds);
  bool (*cancelled)(void* user_data);  // polled at the same rate; true kills the compiler's process group; may be NULL
  void* user_data;
} mlxcel_artifact_progress_t;

// A verified module, in memory: what was hashed is what runs (the file isn't read a second time).
typedef struct mlxcel_artifact_t {
  char* folder;               // of the entry; "" if the module is in no store (see mlxcel_artifact_obtain)
  mlxcel_mapped_file_t vmfb;  // a private read-only copy, page-aligned
  mlxcel_program_interface_t interface;
  mlxcel_sha256_hex_t key, vmfb_digest, contract_fingerprint;
  char* contract_text;  // canonical bytes
  char* manifest_text;
  bool was_cached;
  double compile_seconds;  // 0 on a hit
} mlxcel_artifact_t;
void mlxcel_artifact_deinitialize(mlxcel_artifact_t* artifact);

// $MLXCEL_CACHE_DIR, else $XDG_CACHE_HOME/mlxcel, else $HOME/.cache/mlxcel; malloc'ed.
iree_status_t mlxcel_artifact_cache_default_root(char** out_root);

// Finds and verifies, or compiles and publishes. On a read-only or full cache the module is compiled (in $TMPDIR, else /tmp) and used from memory, with a
// warning through the log, unless even a temporary folder can't be made. Errors: INVALID_ARGUMENT (a bad request, or a compiler that is a Python script),
// NOT_FOUND (no compiler and no entry), INTERNAL (the compiler failed; the message has its first error and the reproducer's folder), RESOURCE_EXHAUSTED (it
// ran out of memory or was killed for it), DEADLINE_EXCEEDED (time limit), CANCELLED, FAILED_PRECONDITION (no compiler, and the entries that answer the request
// were made by another than |compiler_version| or written by an older or newer mlxcel).
iree_status_t mlxcel_artifact_obtain(const char* cache_root, const mlxcel_artifact_request_t* request, const mlxcel_artifact_progress_t* progress,
                                     mlxcel_artifact_t* out_artifact);

// Reads and verifies the entry in |folder| (manifest, digests, versions). NOT_FOUND: absent. DATA_LOSS: altered; the message names the file and the field.
// FAILED_PRECONDITION: written by a newer or older mlxcel.
iree_status_t mlxcel_artifact_load(const char* folder, mlxcel_artifact_t* out_artifact);

// Whether |artifact| is exactly the build that |request| asks for, whatever its contract says: MLIR text, target, flags, kernel objects and the compiler: the
// one with |compiler_digest| (mlxcel_compiler_digest) or, if that is NULL, the request's |compiler_version|. FAILED_PRECONDITION names everything that differs,
// with both values.
iree_status_t mlxcel_artifact_check_build(const mlxcel_artifact_t* artifact, const mlxcel_artifact_request_t* request,
                                          const mlxcel_sha256_hex_t* compiler_digest);

// `mlxcel cache ls|verify|prune`. Lists are sorted by last use, latest first; a missing root is an empty store.
typedef struct mlxcel_artifact_listing_t {
  char key[65];
  char* model;  // free text of the manifest: module, profile, target
  uint64_t byte_count;
  int64_t created_unix, used_unix;
  bool is_foreign;       // written by an older or newer mlxcel, as |model| says: sound, but not for this one
  iree_status_t status;  // verification result (verify; FAILED_PRECONDITION if foreign) or ok; owned by the list
} mlxcel_artifact_listing_t;
iree_status_t mlxcel_artifact_cache_list(const char* cache_root, bool verify, size_t* out_count, mlxcel_artifact_listing_t** out_entries);
void mlxcel_artifact_cache_list_free(size_t count, mlxcel_artifact_listing_t* entries);
// Removes entries, reproducers and damaged entries unused for |max_age_days| days (0 = all), and leftovers of killed compilations; reports what it removed.
// What some process is compiling just now stays.
iree_status_t mlxcel_artifact_cache_prune(const char* cache_root, uint32_t max_age_days, size_t* out_removed_count, uint64_t* out_removed_bytes);

// Digest of a compiler: of libIREECompiler.so and iree-lld beside it and of the program; cached in <root>/compilers.json by path, size, mtime, inode.
iree_status_t mlxcel_compiler_digest(const char* cache_root, const char* compiler_path, mlxcel_sha256_hex_t* out_digest);

// The compiler to use: |requested| unless it is NULL or empty, else |built_in| (what the build knows) as long as that is an executable file, else NULL.
const char* mlxcel_compiler_choose(const char* requested, const char* built_in);

#endif  // MLXCEL_ARTIFACT_ARTIFACT_CACHE_H_
