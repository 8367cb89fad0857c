#include "artifact/artifact_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "artifact/artifact_internal.h"
#include "artifact/artifact_key.h"
#include "artifact/artifact_limits.h"
#include "artifact/json_fields.h"
#include "base/log.h"

#define NO_COMPILER_REMEDY "set MLXCEL_XLA_IREE_COMPILE to the program iree-compile, or run scripts/setup.sh"

iree_status_t mlxcel_artifact_cache_default_root(char** out_root) {
  *out_root = NULL;
  const char* own = getenv("MLXCEL_CACHE_DIR");
  if (own && own[0]) return mlxcel_artifact_text_copy(iree_make_cstring_view(own), out_root);
  const char* shared = getenv("XDG_CACHE_HOME");
  if (shared && shared[0] == '/') return mlxcel_path_join(shared, IREE_SV("mlxcel"), out_root);  // the XDG rules void a relative path
  const char* home = getenv("HOME");
  if (home && home[0]) return mlxcel_path_join(home, IREE_SV(".cache/mlxcel"), out_root);
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "no place for compiled modules: HOME isn't set; set MLXCEL_CACHE_DIR to a folder");
}

// One call of mlxcel_artifact_obtain.
typedef struct cache_job_t {
  const char* root;
  const mlxcel_artifact_request_t* request;
  const mlxcel_artifact_progress_t* progress;
  mlxcel_manifest_t manifest;  // the draft
  char* entry;                 // "<root>/<key>", once the key is known
} cache_job_t;

static void job_release(cache_job_t* job) {
  mlxcel_manifest_deinitialize(&job->manifest);
  free(job->entry);
}

static void cache_warn(iree_status_t status, const char* consequence) {
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  mlxcel_log(MLXCEL_LOG_WARNING, "%s; %s", text, consequence);
}

// --- finding -----------------------------------------------------------------------------------------------------------------------------

// The time of the last use is the manifest's modification time. On a read-only store it stays as it is.
static void entry_touch(const char* entry) {
  char* path = NULL;
  iree_status_t status = mlxcel_path_join(entry, IREE_SV(MLXCEL_MANIFEST_FILE_NAME), &path);
  if (iree_status_is_ok(status)) (void)utimensat(AT_FDCWD, path, NULL, 0);
  iree_status_ignore(status);
  free(path);
}

// Loads an entry and makes sure that it is the one its name says.
static iree_status_t entry_load(const char* entry, const char* key, mlxcel_artifact_t* out_artifact) {
  IREE_RETURN_IF_ERROR(mlxcel_artifact_load(entry, out_artifact));
  if (strcmp(out_artifact->key.text, key) == 0) {
    entry_touch(entry);
    return iree_ok_status();
  }
  iree_status_t status = iree_make_status(IREE_STATUS_DATA_LOSS, "%s/%s: field 'key' is %s: the entry belongs elsewhere", entry, MLXCEL_MANIFEST_FILE_NAME,
                                          out_artifact->key.text);
  mlxcel_artifact_deinitialize(out_artifact);
  return status;
}

// Without a compiler an entry's maker can't be asked for its digest, only for its name.
static iree_status_t job_check_maker(const cache_job_t* job, const mlxcel_manifest_t* manifest, const char* entry) {
  const mlxcel_artifact_request_t* request = job->request;
  if (!request->compiler_version || mlxcel_compiler_is_of_version(&manifest->compiler, request->compiler_version, request->compiler_revision)) {
    return iree_ok_status();
  }
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "%s was made by '%s', not by the compiler %s (revision %s) of this mlxcel, which isn't here; %s",
                          entry, manifest->compiler.version, request->compiler_version, request->compiler_revision ? request->compiler_revision : "any",
                          NO_COMPILER_REMEDY);
}

// Takes |key|'s entry if it is sound, answers this request, and is newer than the one found so far.
static iree_status_t job_consider(cache_job_t* job, const char* key, int64_t* newest, mlxcel_artifact_t* best) {
  char* entry = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_artifact_store_path(job->root, NULL, key, "", &entry));
  mlxcel_artifact_t candidate;
  mlxcel_manifest_t manifest;
  memset(&manifest, 0, sizeof(manifest));
  iree_status_t status = entry_load(entry, key, &candidate);
  if (iree_status_is_ok(status)) status = mlxcel_manifest_parse(iree_make_cstring_view(candidate.manifest_text), entry, &manifest);
  bool answers = iree_status_is_ok(status) && strcmp(manifest.request_key.text, job->manifest.request_key.text) == 0;
  if (answers) status = job_check_maker(job, &manifest, entry);
  bool is_better = answers && iree_status_is_ok(status) && manifest.created_unix > *newest;
  if (is_better) {
    *newest = manifest.created_unix;
    mlxcel_artifact_deinitialize(best);
    *best = candidate;
  } else {
    mlxcel_artifact_deinitialize(&candidate);
  }
  mlxcel_manifest_deinitialize(&manifest);
  free(entry);
  return status;
}

// Looks through <root>/requests/<request key>/. Entries that were pruned meanwhile are skipped, damaged ones named. What is sound but of another compiler or
// mlxcel is named in the first failure, unless something else is found.
static iree_status_t job_search(cache_job_t* job, bool* out_found, mlxcel_artifact_t* out_artifact) {
  *out_found = false;
  iree_status_t refusal = iree_ok_status();
  char* folder = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_artifact_store_path(job->root, MLXCEL_STORE_REQUESTS, job->manifest.request_key.text, "", &folder));
  DIR* directory = opendir(folder);
  free(folder);
  if (!directory) return iree_ok_status();
  int64_t newest = -1;
  for (struct dirent* item = readdir(directory); item; item = readdir(directory)) {
    if (!mlxcel_artifact_is_digest(iree_make_cstring_view(item->d_name))) continue;
    iree_status_t status = job_consider(job, item->d_name, &newest, out_artifact);
    if (iree_status_is_ok(status)) continue;
    if (iree_status_is_not_found(status)) {
      iree_status_ignore(status);
    } else if (iree_status_is_failed_precondition(status) && iree_status_is_ok(refusal)) {
      refusal = status;
    } else {
      cache_warn(status, "this entry isn't used");
    }
  }
  closedir(directory);
  *out_found = newest >= 0;
  if (!*out_found) return refusal;
  iree_status_ignore(refusal);
  return iree_ok_status();
}

static iree_status_t job_find_without_compiler(cache_job_t* job, mlxcel_artifact_t* out_artifact) {
  const char* path = job->request->compiler_path;
  bool is_named = path && path[0];
  bool found = false;
  IREE_RETURN_IF_ERROR(job_search(job, &found, out_artifact));
  if (found) {
    mlxcel_log(MLXCEL_LOG_INFO, "no compiler %s; using %s", is_named ? path : "is known", out_artifact->folder);
    return iree_ok_status();
  }
  return iree_make_status(IREE_STATUS_NOT_FOUND, "this model isn't compiled yet in %s, and there is no compiler (%s%s); %s", job->root,
                          is_named ? "not an executable file: " : "no path is known", is_named ? path : "", NO_COMPILER_REMEDY);
}

// --- compiling ---------------------------------------------------------------------------------------------------------------------------

// Completes the draft with the result and gives the manifest's text.
static iree_status_t job_finish_manifest(cache_job_t* job, const mlxcel_mapped_file_t* vmfb, char** out_text) {
  *out_text = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_of(vmfb->data, vmfb->size, &job->manifest.vmfb_digest));
  job->manifest.vmfb_byte_count = vmfb->size;
  job->manifest.created_unix = (int64_t)time(NULL);
  return mlxcel_manifest_to_text(&job->manifest, out_text);
}

// Marks that |key| answers the request, before the entry exists: an entry is never without its mark.
static iree_status_t publish_mark(const cache_job_t* job) {
  char* folder = NULL;
  char* mark = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_artifact_store_path(job->root, MLXCEL_STORE_REQUESTS, job->manifest.request_key.text, "", &folder));
  iree_status_t status = mlxcel_directory_create(folder);
  if (iree_status_is_ok(status)) status = mlxcel_path_join(folder, iree_make_cstring_view(job->manifest.key.text), &mark);
  if (iree_status_is_ok(status) && !mlxcel_path_exists(mark)) status = mlxcel_artifact_file_write_new(mark, NULL, 0);
  free(mark);
  free(folder);
  return status;
}

static iree_status_t publish_move_file(const char* from_folder, const char* to_folder, const char* name) {
  char* from = NULL;
  char* to = NULL;
  iree_status_t status = mlxcel_path_join(from_folder, iree_make_cstring_view(name), &from);
  if (iree_status_is_ok(status)) status = mlxcel_path_join(to_folder, iree_make_cstring_view(name), &to);
  if (iree_status_is_ok(status) && rename(from, to) != 0) status = mlxcel_fs_errno_status(errno, "publish", to);
  if (iree_status_is_ok(status)) status = mlxcel_artifact_path_sync(to);
  free(to);
  free(from);
  return status;
}

static iree_status_t publish_fill(const char* work_folder, const char* staged, const char* manifest_text) {
  if (mkdir(staged, 0755) != 0) return mlxcel_fs_errno_status(errno, "create folder", staged);
  IREE_RETURN_IF_ERROR(publish_move_file(work_folder, staged, MLXCEL_MLIR_FILE_NAME));
  IREE_RETURN_IF_ERROR(publish_move_file(work_folder, staged, MLXCEL_VMFB_FILE_NAME));
  char* manifest = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(staged, IREE_SV(MLXCEL_MANIFEST_FILE_NAME), &manifest));
  iree_status_t status = mlxcel_file_publish(manifest, manifest_text, strlen(manifest_text));
  free(manifest);
  if (iree_status_is_ok(status)) status = mlxcel_artifact_path_sync(staged);
  return status;
}

// Everything is on disk before the folder takes the entry's name.
static iree_status_t job_publish(const cache_job_t* job, const char* work_folder, const char* manifest_text) {
  char* staged = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(work_folder, IREE_SV("entry"), &staged));
  iree_status_t status = publish_fill(work_folder, staged, manifest_text);
  if (iree_status_is_ok(status)) status = publish_mark(job);
  if (iree_status_is_ok(status) && rename(staged, job->entry) != 0) status = mlxcel_fs_errno_status(errno, "publish", job->entry);
  if (iree_status_is_ok(status)) status = mlxcel_artifact_path_sync(job->root);
  free(staged);
  return status;
}

// Compiles in |work_folder|. With |publishes| the result goes into the store as well; if that fails, it is used from memory.
static iree_status_t job_build(cache_job_t* job, const char* work_folder, const char* failed_folder, bool publishes, mlxcel_artifact_outcome_t* out_outcome,
                               mlxcel_artifact_t* out_artifact) {
  mlxcel_artifact_build_t build = {.request = job->request, .progress = job->progress, .work_folder = work_folder, .failed_folder = failed_folder};
  mlxcel_mapped_file_t vmfb;
  char* text = NULL;
  double seconds = 0;
  IREE_RETURN_IF_ERROR(mlxcel_artifact_compile(&build, out_outcome, &vmfb, &seconds));
  iree_status_t status = job_finish_manifest(job, &vmfb, &text);
  const char* folder = "";
  if (iree_status_is_ok(status) && publishes) {
    iree_status_t published = job_publish(job, work_folder, text);
    if (iree_status_is_ok(published)) {
      folder = job->entry;
    } else {
      cache_warn(published, "the compiled module is used from memory and will be compiled again next time");
    }
  }
  if (iree_status_is_ok(status)) status = mlxcel_artifact_assemble(folder, &job->manifest, &vmfb, &text, out_artifact);
  if (iree_status_is_ok(status)) out_artifact->compile_seconds = seconds;
  mlxcel_mapped_file_close(&vmfb);
  free(text);
  return status;
}

// A failed compilation has moved its folder away, or leaves it as the reproducer.
static void job_clean(const char* work_folder, mlxcel_artifact_outcome_t outcome, bool keeps_failure, const iree_status_t status) {
  bool is_reproducer = keeps_failure && outcome == MLXCEL_ARTIFACT_NOT_COMPILED && !iree_status_is_cancelled(status);
  if (!is_reproducer) iree_status_ignore(mlxcel_directory_remove(work_folder));
}

static iree_status_t job_build_in_store(cache_job_t* job, mlxcel_artifact_outcome_t* out_outcome, mlxcel_artifact_t* out_artifact) {
  *out_outcome = MLXCEL_ARTIFACT_STORAGE_FAILED;
  char prefix[80];
  char *parent = NULL, *work = NULL, *failed = NULL;
  snprintf(prefix, sizeof(prefix), "%s.", job->manifest.key.text);
  iree_status_t status = mlxcel_path_join(job->root, IREE_SV(MLXCEL_STORE_TEMPORARY), &parent);
  if (iree_status_is_ok(status)) status = mlxcel_directory_create_temporary(parent, prefix, &work);
  if (iree_status_is_ok(status)) status = mlxcel_artifact_store_path(job->root, MLXCEL_STORE_FAILED, job->manifest.key.text, "", &failed);
  if (iree_status_is_ok(status)) {
    status = job_build(job, work, failed, /*publishes=*/true, out_outcome, out_artifact);
    job_clean(work, *out_outcome, /*keeps_failure=*/false, status);
  }
  free(failed);
  free(work);
  free(parent);
  return status;
}

static iree_status_t job_build_in_memory(cache_job_t* job, mlxcel_artifact_t* out_artifact) {
  const char* parent = getenv("TMPDIR");
  char* work = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_directory_create_temporary(parent && parent[0] == '/' ? parent : "/tmp", "mlxcel-compile-", &work));
  mlxcel_artifact_outcome_t outcome = MLXCEL_ARTIFACT_STORAGE_FAILED;
  iree_status_t status = job_build(job, work, NULL, /*publishes=*/false, &outcome, out_artifact);
  job_clean(work, outcome, /*keeps_failure=*/true, status);
  free(work);
  return status;
}

// --- the store and its lock --------------------------------------------------------------------------------------------------------------

static iree_status_t job_make_store(const cache_job_t* job) {
  static const char* const kinds[] = {MLXCEL_STORE_LOCKS, MLXCEL_STORE_TEMPORARY, MLXCEL_STORE_FAILED, MLXCEL_STORE_DAMAGED, MLXCEL_STORE_REQUESTS};
  for (size_t i = 0; i < IREE_ARRAYSIZE(kinds); ++i) {
    char* path = NULL;
    IREE_RETURN_IF_ERROR(mlxcel_path_join(job->root, iree_make_cstring_view(kinds[i]), &path));
    iree_status_t status = mlxcel_directory_create(path);
    free(path);
    IREE_RETURN_IF_ERROR(status);
  }
  return iree_ok_status();
}

// Pruning unlinks lock files: a lock on a file that has lost its name protects nothing.
static bool lock_is_current(const char* path, const mlxcel_file_lock_t* lock) {
  struct stat held, named;
  return fstat(lock->descriptor, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

iree_status_t mlxcel_artifact_lock_acquire(const char* root, const char* key, uint32_t timeout_ms, mlxcel_file_lock_t* out_lock) {
  out_lock->descriptor = -1;
  char* path = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_artifact_store_path(root, MLXCEL_STORE_LOCKS, key, ".lock", &path));
  iree_status_t status = mlxcel_file_lock_acquire(path, timeout_ms, out_lock);
  while (iree_status_is_ok(status) && !lock_is_current(path, out_lock)) {
    mlxcel_file_lock_release(out_lock);
    status = mlxcel_file_lock_acquire(path, timeout_ms, out_lock);
  }
  free(path);
  return status;
}

static double job_seconds_since(const struct timespec* start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

// Waits for whoever compiles the same key, with progress and cancellation.
static iree_status_t job_lock(const cache_job_t* job, mlxcel_file_lock_t* out_lock) {
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  const mlxcel_artifact_progress_t* progress = job->progress;
  for (;;) {
    iree_status_t status = mlxcel_artifact_lock_acquire(job->root, job->manifest.key.text, MLXCEL_COMPILE_POLL_MILLISECONDS, out_lock);
    double seconds = job_seconds_since(&start);
    if (!iree_status_is_deadline_exceeded(status)) return status;
    iree_status_ignore(status);
    if (seconds > MLXCEL_COMPILE_SECONDS_MAX + MLXCEL_ARTIFACT_LOCK_EXTRA_SECONDS) {
      return iree_make_status(IREE_STATUS_DEADLINE_EXCEEDED, "another process holds %s/%s/%s.lock for over %.0f s; end it", job->root, MLXCEL_STORE_LOCKS,
                              job->manifest.key.text, seconds);
    }
    if (progress && progress->notify) progress->notify(progress->user_data, "waiting for another process that compiles the same module", seconds);
    if (progress && progress->cancelled && progress->cancelled(progress->user_data)) {
      return iree_make_status(IREE_STATUS_CANCELLED, "waiting for another process's compilation was cancelled");
    }
  }
}

// Moves an entry that can't be trusted out of the way, unchanged, for inspection.
static iree_status_t job_set_aside(const cache_job_t* job) {
  char* parent = NULL;
  char* place = NULL;
  char prefix[80];
  snprintf(prefix, sizeof(prefix), "%s.", job->manifest.key.text);
  iree_status_t status = mlxcel_path_join(job->root, IREE_SV(MLXCEL_STORE_DAMAGED), &parent);
  if (iree_status_is_ok(status)) status = mlxcel_directory_create_temporary(parent, prefix, &place);
  if (iree_status_is_ok(status) && rename(job->entry, place) != 0) {
    status = mlxcel_fs_errno_status(errno, "set aside", job->entry);
    (void)rmdir(place);
  }
  if (iree_status_is_ok(status)) mlxcel_log(MLXCEL_LOG_WARNING, "the damaged entry is kept in %s; compiling again", place);
  free(place);
  free(parent);
  return status;
}

// Under the lock: takes what another process made meanwhile, else clears the way.
static iree_status_t job_look_again(const cache_job_t* job, bool* out_found, mlxcel_artifact_t* out_artifact) {
  iree_status_t status = entry_load(job->entry, job->manifest.key.text, out_artifact);
  *out_found = iree_status_is_ok(status);
  if (*out_found) return status;
  bool is_absent = iree_status_is_not_found(status);
  iree_status_ignore(status);
  IREE_RETURN_IF_ERROR(mlxcel_artifact_leftovers_remove(job->root, job->manifest.key.text, NULL, NULL));
  return is_absent ? iree_ok_status() : job_set_aside(job);
}

static iree_status_t job_compile_locked(cache_job_t* job, mlxcel_artifact_outcome_t* out_outcome, mlxcel_artifact_t* out_artifact) {
  bool found = false;
  *out_outcome = MLXCEL_ARTIFACT_STORAGE_FAILED;
  IREE_RETURN_IF_ERROR(job_look_again(job, &found, out_artifact));
  if (found) {
    *out_outcome = MLXCEL_ARTIFACT_COMPILED;
    return iree_ok_status();
  }
  return job_build_in_store(job, out_outcome, out_artifact);
}

static iree_status_t job_compile(cache_job_t* job, mlxcel_artifact_t* out_artifact) {
  IREE_RETURN_IF_ERROR(mlxcel_compiler_version_query(job->request->compiler_path, &job->manifest.compiler));
  mlxcel_file_lock_t lock = {.descriptor = -1};
  mlxcel_artifact_outcome_t outcome = MLXCEL_ARTIFACT_STORAGE_FAILED;
  iree_status_t status = job_make_store(job);
  if (iree_status_is_ok(status)) status = job_lock(job, &lock);
  if (iree_status_is_deadline_exceeded(status) || iree_status_is_cancelled(status)) return status;
  if (iree_status_is_ok(status)) status = job_compile_locked(job, &outcome, out_artifact);
  if (!iree_status_is_ok(status) && outcome == MLXCEL_ARTIFACT_STORAGE_FAILED) {
    cache_warn(status, "compiling without the cache: the module is used from memory and will be compiled again next time");
    status = job_build_in_memory(job, out_artifact);
  }
  mlxcel_file_lock_release(&lock);
  return status;
}

static iree_status_t job_find_or_compile(cache_job_t* job, mlxcel_artifact_t* out_artifact) {
  IREE_RETURN_IF_ERROR(mlxcel_compiler_identity_query(job->root, job->request->compiler_path, &job->manifest.compiler));
  IREE_RETURN_IF_ERROR(mlxcel_artifact_key_compute(&job->manifest.request_key, &job->manifest.compiler.digest, &job->manifest.key));
  IREE_RETURN_IF_ERROR(mlxcel_artifact_store_path(job->root, NULL, job->manifest.key.text, "", &job->entry));
  iree_status_t status = entry_load(job->entry, job->manifest.key.text, out_artifact);
  if (iree_status_is_ok(status)) return status;
  if (iree_status_is_not_found(status)) {
    iree_status_ignore(status);
  } else {
    cache_warn(status, "this entry isn't used");
  }
  return job_compile(job, out_artifact);
}

iree_status_t mlxcel_artifact_obtain(const char* cache_root, const mlxcel_artifact_request_t* request, const mlxcel_artifact_progress_t* progress,
                                     mlxcel_artifact_t* out_artifact) {
  memset(out_artifact, 0, sizeof(*out_artifact));
  if (!cache_root[0]) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the cache's folder has an empty name; set MLXCEL_CACHE_DIR to a folder");
  cache_job_t job = {.root = cache_root, .request = request, .progress = progress};
  iree_status_t status = mlxcel_artifact_draft_manifest(request, &job.manifest);
  if (iree_status_is_ok(status)) {
    bool has_compiler = mlxcel_compiler_is_present(request->compiler_path);
    status = has_compiler ? job_find_or_compile(&job, out_artifact) : job_find_without_compiler(&job, out_artifact);
  }
  job_release(&job);
  if (!iree_status_is_ok(status)) mlxcel_artifact_deinitialize(out_artifact);
  return status;
}
