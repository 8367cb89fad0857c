// cache_maintenance.c: listing, verifying and pruning the store. Only names of the store's own forms are touched; links aren't followed.
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
#include "artifact/json_fields.h"
#include "base/limits.h"

#define SECONDS_PER_DAY 86400

// --- folders -----------------------------------------------------------------------------------------------------------------------------

typedef iree_status_t (*folder_visit_t)(void* context, const char* path, const char* name);

// Calls |visit| for everything in |folder| (a missing one is empty); the first failure ends it.
static iree_status_t folder_visit(const char* folder, folder_visit_t visit, void* context) {
  DIR* directory = opendir(folder);
  if (!directory) return errno == ENOENT ? iree_ok_status() : mlxcel_fs_errno_status(errno, "read folder", folder);
  iree_status_t status = iree_ok_status();
  for (struct dirent* item = readdir(directory); item && iree_status_is_ok(status); item = readdir(directory)) {
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    char* path = NULL;
    status = mlxcel_path_join(folder, iree_make_cstring_view(item->d_name), &path);
    if (iree_status_is_ok(status)) status = visit(context, path, item->d_name);
    free(path);
  }
  closedir(directory);
  return status;
}

static iree_status_t folder_add_size(void* context, const char* path, const char* name) {
  (void)name;
  struct stat info;
  if (lstat(path, &info) != 0) return iree_ok_status();  // gone meanwhile
  if (S_ISREG(info.st_mode)) *(uint64_t*)context += (uint64_t)info.st_size;
  return S_ISDIR(info.st_mode) ? folder_visit(path, folder_add_size, context) : iree_ok_status();
}

static uint64_t folder_size(const char* path) {
  uint64_t size = 0;
  iree_status_ignore(folder_visit(path, folder_add_size, &size));
  return size;
}

// True for "<64 hex digits><rest>".
static bool name_has_key(const char* name, const char* rest_prefix) {
  if (strlen(name) < 64 || !mlxcel_artifact_is_digest(iree_make_string_view(name, 64))) return false;
  return rest_prefix[0] ? strncmp(name + 64, rest_prefix, strlen(rest_prefix)) == 0 : name[64] == 0;
}

// An entry is a folder of its own; a link or file that bears a key's name was put there by somebody else.
static bool entry_is_own(const char* path, const char* name) {
  struct stat info;
  return name_has_key(name, "") && lstat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Sets |*context| to false at the first name that no entry of ours has.
static iree_status_t check_entry_file(void* context, const char* path, const char* name) {
  (void)path;
  static const char* const names[] = {MLXCEL_MANIFEST_FILE_NAME, MLXCEL_MLIR_FILE_NAME, MLXCEL_VMFB_FILE_NAME};
  bool known = false;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) known = known || strcmp(name, names[i]) == 0;
  if (!known) *(bool*)context = false;
  return iree_ok_status();
}

// Other stores name folders by 64 digits, too: what holds anything but an entry's files isn't removed.
static bool entry_holds_only_ours(const char* path) {
  bool ours = true;
  iree_status_t status = folder_visit(path, check_entry_file, &ours);
  if (!iree_status_is_ok(status)) ours = false;
  iree_status_ignore(status);
  return ours;
}

// When the entry was last used: the manifest's time, else the folder's own.
static int64_t entry_used_unix(const char* entry) {
  struct stat info;
  char* path = NULL;
  int64_t used = 0;
  iree_status_t status = mlxcel_path_join(entry, IREE_SV(MLXCEL_MANIFEST_FILE_NAME), &path);
  if (iree_status_is_ok(status) && (stat(path, &info) == 0 || lstat(entry, &info) == 0)) used = (int64_t)info.st_mtim.tv_sec;
  iree_status_ignore(status);
  free(path);
  return used;
}

// --- listing -----------------------------------------------------------------------------------------------------------------------------

typedef struct listing_job_t {
  bool verifies;
  size_t count;
  mlxcel_artifact_listing_t* entries;
} listing_job_t;

static iree_status_t listing_grow(listing_job_t* job) {
  if (job->count & (job->count - 1)) return iree_ok_status();
  void* grown = realloc(job->entries, (job->count ? 2 * job->count : 1) * sizeof(*job->entries));
  if (!grown) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu cache entries", job->count);
  job->entries = grown;
  return iree_ok_status();
}

// The entry of an older or newer mlxcel: all that can be told is when it was made.
static iree_status_t listing_describe_foreign(const char* path, mlxcel_artifact_listing_t* entry) {
  char *file = NULL, *text = NULL;
  size_t size = 0;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(path, IREE_SV(MLXCEL_MANIFEST_FILE_NAME), &file));
  iree_status_t read = mlxcel_file_read(file, MLXCEL_MANIFEST_FILE_BYTES_MAX, &text, &size);
  const char* age = iree_status_is_ok(read) ? mlxcel_manifest_age(iree_make_string_view(text, size), &entry->created_unix) : NULL;
  iree_status_ignore(read);
  free(text);
  free(file);
  char words[96];
  snprintf(words, sizeof(words), "of %s mlxcel; `mlxcel cache prune` removes it when it is unused",
           age ? strcmp(age, "older") == 0 ? "an older" : "a newer" : "another");
  entry->is_foreign = true;
  return mlxcel_artifact_text_copy(iree_make_cstring_view(words), &entry->model);
}

static iree_status_t listing_describe(const char* path, mlxcel_artifact_listing_t* entry) {
  mlxcel_manifest_t manifest;
  iree_status_t read = mlxcel_manifest_read(path, NULL, &manifest);
  bool is_readable = iree_status_is_ok(read), is_foreign = iree_status_is_failed_precondition(read);
  iree_status_ignore(read);
  if (is_foreign) return listing_describe_foreign(path, entry);
  if (!is_readable) return mlxcel_artifact_text_copy(IREE_SV("(unreadable manifest)"), &entry->model);
  char text[3 * (MLXCEL_ARTIFACT_NAME_BYTES_MAX + 1)];
  snprintf(text, sizeof(text), "%s %s %s", manifest.interface.module_name, manifest.profile, manifest.target);
  entry->created_unix = manifest.created_unix;
  mlxcel_manifest_deinitialize(&manifest);
  return mlxcel_artifact_text_copy(iree_make_cstring_view(text), &entry->model);
}

static iree_status_t listing_verify(const char* path, const char* name) {
  mlxcel_artifact_t artifact;
  IREE_RETURN_IF_ERROR(mlxcel_artifact_load(path, &artifact));
  bool is_own = strcmp(artifact.key.text, name) == 0;
  mlxcel_artifact_deinitialize(&artifact);
  if (is_own) return iree_ok_status();
  return iree_make_status(IREE_STATUS_DATA_LOSS, "%s/%s: field 'key' isn't the folder's name: the entry belongs elsewhere", path, MLXCEL_MANIFEST_FILE_NAME);
}

static iree_status_t listing_visit(void* context, const char* path, const char* name) {
  listing_job_t* job = context;
  if (!entry_is_own(path, name)) return iree_ok_status();
  IREE_RETURN_IF_ERROR(listing_grow(job));
  mlxcel_artifact_listing_t* entry = &job->entries[job->count];
  memset(entry, 0, sizeof(*entry));
  IREE_RETURN_IF_ERROR(listing_describe(path, entry));
  memcpy(entry->key, name, sizeof(entry->key));
  entry->byte_count = folder_size(path);
  entry->used_unix = entry_used_unix(path);
  entry->status = job->verifies ? listing_verify(path, name) : iree_ok_status();
  ++job->count;
  return iree_ok_status();
}

static int listing_compare(const void* left, const void* right) {
  const mlxcel_artifact_listing_t* a = left;
  const mlxcel_artifact_listing_t* b = right;
  if (a->used_unix != b->used_unix) return a->used_unix > b->used_unix ? -1 : 1;
  return strcmp(a->key, b->key);
}

iree_status_t mlxcel_artifact_cache_list(const char* cache_root, bool verify, size_t* out_count, mlxcel_artifact_listing_t** out_entries) {
  *out_count = 0;
  *out_entries = NULL;
  listing_job_t job = {.verifies = verify, .count = 0, .entries = NULL};
  iree_status_t status = folder_visit(cache_root, listing_visit, &job);
  if (!iree_status_is_ok(status)) {
    mlxcel_artifact_cache_list_free(job.count, job.entries);
    return status;
  }
  if (job.count > 0) qsort(job.entries, job.count, sizeof(*job.entries), listing_compare);
  *out_count = job.count;
  *out_entries = job.entries;
  return status;
}

void mlxcel_artifact_cache_list_free(size_t count, mlxcel_artifact_listing_t* entries) {
  for (size_t i = 0; i < count; ++i) {
    free(entries[i].model);
    iree_status_ignore(entries[i].status);
  }
  free(entries);
}

// --- pruning -----------------------------------------------------------------------------------------------------------------------------

typedef struct prune_job_t {
  const char* root;
  int64_t now, max_age_seconds;
  size_t removed_count;
  uint64_t removed_bytes;
} prune_job_t;

static bool prune_is_old(const prune_job_t* job, int64_t used_unix) { return job->max_age_seconds == 0 || job->now - used_unix >= job->max_age_seconds; }

static iree_status_t prune_folder(const char* path, size_t* removed_count, uint64_t* removed_bytes) {
  uint64_t size = folder_size(path);
  IREE_RETURN_IF_ERROR(mlxcel_directory_remove(path));
  if (removed_count) ++*removed_count;
  if (removed_bytes) *removed_bytes += size;
  return iree_ok_status();
}

typedef struct leftover_job_t {
  const char* key;
  size_t* removed_count;
  uint64_t* removed_bytes;
} leftover_job_t;

static iree_status_t leftover_visit(void* context, const char* path, const char* name) {
  leftover_job_t* job = context;
  if (!name_has_key(name, ".") || strncmp(name, job->key, 64) != 0) return iree_ok_status();
  return prune_folder(path, job->removed_count, job->removed_bytes);
}

iree_status_t mlxcel_artifact_leftovers_remove(const char* root, const char* key, size_t* removed_count, uint64_t* removed_bytes) {
  leftover_job_t job = {.key = key, .removed_count = removed_count, .removed_bytes = removed_bytes};
  char* folder = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(root, IREE_SV(MLXCEL_STORE_TEMPORARY), &folder));
  iree_status_t status = folder_visit(folder, leftover_visit, &job);
  free(folder);
  return status;
}

// Takes the key's lock if nobody has it: what belongs to the key is then nobody's.
static iree_status_t prune_lock(const prune_job_t* job, const char* key, bool* out_held, mlxcel_file_lock_t* out_lock) {
  *out_held = false;
  iree_status_t status = mlxcel_artifact_lock_acquire(job->root, key, 0, out_lock);
  *out_held = iree_status_is_ok(status);
  if (!iree_status_is_deadline_exceeded(status)) return status;
  iree_status_ignore(status);
  return iree_ok_status();
}

// The entry disappears in one step, so that nobody finds half of it.
static iree_status_t prune_entry(prune_job_t* job, const char* path, const char* name) {
  char* parent = NULL;
  char* grave = NULL;
  char prefix[80];
  snprintf(prefix, sizeof(prefix), "%s.", name);
  iree_status_t status = mlxcel_path_join(job->root, IREE_SV(MLXCEL_STORE_TEMPORARY), &parent);
  if (iree_status_is_ok(status)) status = mlxcel_directory_create(parent);
  if (iree_status_is_ok(status)) status = mlxcel_directory_create_temporary(parent, prefix, &grave);
  if (iree_status_is_ok(status) && rename(path, grave) != 0) {
    status = mlxcel_fs_errno_status(errno, "remove", path);
    (void)rmdir(grave);
  }
  if (iree_status_is_ok(status)) status = prune_folder(grave, &job->removed_count, &job->removed_bytes);
  free(grave);
  free(parent);
  return status;
}

static iree_status_t prune_visit_entry(void* context, const char* path, const char* name) {
  prune_job_t* job = context;
  if (!entry_is_own(path, name) || !entry_holds_only_ours(path) || !prune_is_old(job, entry_used_unix(path))) return iree_ok_status();
  bool held = false;
  mlxcel_file_lock_t lock;
  IREE_RETURN_IF_ERROR(prune_lock(job, name, &held, &lock));
  if (!held) return iree_ok_status();
  iree_status_t status = prune_entry(job, path, name);
  mlxcel_file_lock_release(&lock);
  return status;
}

// <root>/tmp/<key>.XXXXXX whose key nobody holds: its process is dead.
static iree_status_t prune_visit_temporary(void* context, const char* path, const char* name) {
  prune_job_t* job = context;
  (void)path;
  if (!name_has_key(name, ".")) return iree_ok_status();
  char key[65] = {0};
  memcpy(key, name, 64);
  bool held = false;
  mlxcel_file_lock_t lock;
  IREE_RETURN_IF_ERROR(prune_lock(job, key, &held, &lock));
  if (!held) return iree_ok_status();
  iree_status_t status = mlxcel_artifact_leftovers_remove(job->root, key, &job->removed_count, &job->removed_bytes);
  mlxcel_file_lock_release(&lock);
  return status;
}

// <root>/failed/<key> and <root>/damaged/<key>.XXXXXX: kept for inspection, as long as entries are.
static iree_status_t prune_visit_kept(void* context, const char* path, const char* name) {
  prune_job_t* job = context;
  struct stat info;
  if (!(name_has_key(name, "") || name_has_key(name, ".")) || lstat(path, &info) != 0) return iree_ok_status();
  if (!prune_is_old(job, (int64_t)info.st_mtim.tv_sec)) return iree_ok_status();
  return prune_folder(path, &job->removed_count, &job->removed_bytes);
}

static bool prune_entry_exists(const prune_job_t* job, const char* key) {
  char* entry = NULL;
  iree_status_t status = mlxcel_artifact_store_path(job->root, NULL, key, "", &entry);
  bool exists = !iree_status_is_ok(status) || mlxcel_path_exists(entry);
  iree_status_ignore(status);
  free(entry);
  return exists;
}

// A mark of an entry that is gone. The key's lock keeps a publisher from being between its mark and its entry.
static iree_status_t prune_visit_mark(void* context, const char* path, const char* name) {
  prune_job_t* job = context;
  if (!name_has_key(name, "") || prune_entry_exists(job, name)) return iree_ok_status();
  bool held = false;
  mlxcel_file_lock_t lock;
  IREE_RETURN_IF_ERROR(prune_lock(job, name, &held, &lock));
  if (held && !prune_entry_exists(job, name)) (void)unlink(path);
  if (held) mlxcel_file_lock_release(&lock);
  return iree_ok_status();
}

static iree_status_t prune_visit_request(void* context, const char* path, const char* name) {
  if (!name_has_key(name, "")) return iree_ok_status();
  IREE_RETURN_IF_ERROR(folder_visit(path, prune_visit_mark, context));
  (void)rmdir(path);  // only if it is empty now
  return iree_ok_status();
}

// A lock file without an entry. It is unlinked while held: whoever waits for it notices (mlxcel_artifact_lock_acquire) and makes a new one.
static iree_status_t prune_visit_lock(void* context, const char* path, const char* name) {
  prune_job_t* job = context;
  if (!name_has_key(name, ".lock") || strlen(name) != 69) return iree_ok_status();
  char key[65] = {0};
  memcpy(key, name, 64);
  if (prune_entry_exists(job, key)) return iree_ok_status();
  bool held = false;
  mlxcel_file_lock_t lock;
  IREE_RETURN_IF_ERROR(prune_lock(job, key, &held, &lock));
  if (!held) return iree_ok_status();
  (void)unlink(path);
  mlxcel_file_lock_release(&lock);
  return iree_ok_status();
}

static iree_status_t prune_kind(prune_job_t* job, const char* kind, folder_visit_t visit) {
  char* folder = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(job->root, iree_make_cstring_view(kind), &folder));
  iree_status_t status = folder_visit(folder, visit, job);
  free(folder);
  return status;
}

// Every store has both folders; a folder that has neither isn't one, and stays as it is.
static bool prune_root_is_store(const prune_job_t* job) {
  static const char* const kinds[] = {MLXCEL_STORE_LOCKS, MLXCEL_STORE_REQUESTS};
  bool found = false;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); ++i) {
    char* path = NULL;
    iree_status_t status = mlxcel_path_join(job->root, iree_make_cstring_view(kinds[i]), &path);
    found = found || (iree_status_is_ok(status) && mlxcel_path_is_directory(path));
    iree_status_ignore(status);
    free(path);
  }
  return found;
}

static iree_status_t prune_all(prune_job_t* job) {
  if (!prune_root_is_store(job)) return iree_ok_status();
  char* locks = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(job->root, IREE_SV(MLXCEL_STORE_LOCKS), &locks));
  iree_status_t status = mlxcel_directory_create(locks);
  free(locks);
  IREE_RETURN_IF_ERROR(status);
  IREE_RETURN_IF_ERROR(folder_visit(job->root, prune_visit_entry, job));
  IREE_RETURN_IF_ERROR(prune_kind(job, MLXCEL_STORE_TEMPORARY, prune_visit_temporary));
  IREE_RETURN_IF_ERROR(prune_kind(job, MLXCEL_STORE_FAILED, prune_visit_kept));
  IREE_RETURN_IF_ERROR(prune_kind(job, MLXCEL_STORE_DAMAGED, prune_visit_kept));
  IREE_RETURN_IF_ERROR(prune_kind(job, MLXCEL_STORE_REQUESTS, prune_visit_request));
  return prune_kind(job, MLXCEL_STORE_LOCKS, prune_visit_lock);
}

iree_status_t mlxcel_artifact_cache_prune(const char* cache_root, uint32_t max_age_days, size_t* out_removed_count, uint64_t* out_removed_bytes) {
  *out_removed_count = 0;
  *out_removed_bytes = 0;
  if (!mlxcel_path_is_directory(cache_root)) return iree_ok_status();  // nothing was ever compiled
  prune_job_t job = {.root = cache_root, .now = (int64_t)time(NULL), .max_age_seconds = (int64_t)max_age_days * SECONDS_PER_DAY};
  iree_status_t status = prune_all(&job);
  *out_removed_count = job.removed_count;
  *out_removed_bytes = job.removed_bytes;
  return status;
}
