#include "checkpoint/gguf_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/limits.h"
#include "checkpoint/gguf_model.h"

#define GGUF_TEMPORARY_MARK ".import-"

// Attempts to make a folder that another import doesn't take for an abandoned one before it is locked.
#define GGUF_LOCK_ATTEMPTS 8

static const char* const gguf_folder_files[] = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"};

static bool gguf_is_dot(const char* name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

// Parent and last component of |target|, without trailing slashes.
static iree_status_t gguf_split_path(const char* target, char** out_parent, char** out_name) {
  size_t end = strlen(target);
  while (end > 1 && target[end - 1] == '/') --end;
  size_t start = end;
  while (start > 0 && target[start - 1] != '/') --start;
  *out_name = strndup(target + start, end - start);
  *out_parent = start == 0 ? strdup(".") : strndup(target, start > 1 ? start - 1 : 1);
  iree_status_t status = iree_ok_status();
  if (!*out_name || !*out_parent) {
    status = iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a path");
  } else if ((*out_name)[0] == 0 || gguf_is_dot(*out_name) || end >= MLXCEL_PATH_BYTES_MAX || strlen(*out_name) > 200) {
    status = iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "'%s' can't be made as a folder; give the name of a new folder", target);
  }
  if (iree_status_is_ok(status)) return status;
  free(*out_name);
  free(*out_parent);
  *out_name = *out_parent = NULL;
  return status;
}

// --- replacing ---------------------------------------------------------------------------------------------------------------------------

static bool gguf_is_our_file(const char* name) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(gguf_folder_files); ++i) {
    if (strcmp(name, gguf_folder_files[i]) == 0) return true;
  }
  return false;
}

// Counts the entries and names the first that isn't ours ("" if there is none).
static iree_status_t gguf_list_folder(const char* path, size_t* out_count, char out_foreign[256]) {
  *out_count = 0;
  out_foreign[0] = 0;
  DIR* folder = opendir(path);
  if (!folder) return mlxcel_fs_errno_status(errno, "read folder", path);
  for (const struct dirent* entry = readdir(folder); entry; entry = readdir(folder)) {
    if (gguf_is_dot(entry->d_name)) continue;
    ++*out_count;
    if (out_foreign[0] == 0 && !gguf_is_our_file(entry->d_name)) snprintf(out_foreign, 256, "%s", entry->d_name);
  }
  closedir(folder);
  return iree_ok_status();
}

iree_status_t mlxcel_gguf_folder_check(const char* target, bool overwrite) {
  struct stat info;
  if (lstat(target, &info) != 0) return errno == ENOENT || errno == ENOTDIR ? iree_ok_status() : mlxcel_fs_errno_status(errno, "examine", target);
  if (!S_ISDIR(info.st_mode)) {
    return iree_make_status(IREE_STATUS_ALREADY_EXISTS, "%s exists and isn't a folder; give the name of a new folder", target);
  }
  size_t count = 0;
  char foreign[256];
  IREE_RETURN_IF_ERROR(gguf_list_folder(target, &count, foreign));
  if (count == 0) return iree_ok_status();
  if (!overwrite) return iree_make_status(IREE_STATUS_ALREADY_EXISTS, "%s isn't empty; give the name of a new folder, or replace it (--force)", target);
  if (foreign[0] != 0) {
    return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "%s holds %s, which no import wrote, and isn't replaced; move it away or give another folder",
                            target, foreign);
  }
  char* weights = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(target, IREE_SV("model.safetensors"), &weights));
  bool is_ours = mlxcel_gguf_weights_are_ours(weights);
  free(weights);
  if (is_ours) return iree_ok_status();
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION,
                          "%s holds a checkpoint that no import wrote, and isn't replaced; move it away or give another folder", target);
}

// --- temporary folders -------------------------------------------------------------------------------------------------------------------

// An open, locked descriptor of |path|, or -1 if it is gone or in use.
static int gguf_lock_folder(const char* path) {
  int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return -1;
  struct stat locked, named;
  bool is_held = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  bool is_same = is_held && fstat(descriptor, &locked) == 0 && stat(path, &named) == 0 && locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
  if (is_same) return descriptor;
  close(descriptor);
  return -1;
}

// Removes what killed imports left. Failing to is no error: it only costs space.
static void gguf_remove_abandoned(const char* parent, const char* prefix) {
  DIR* folder = opendir(parent);
  if (!folder) return;
  for (const struct dirent* entry = readdir(folder); entry; entry = readdir(folder)) {
    if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
    char* path = NULL;
    iree_status_t status = mlxcel_path_join(parent, iree_make_cstring_view(entry->d_name), &path);
    int lock = iree_status_is_ok(status) ? gguf_lock_folder(path) : -1;
    if (lock >= 0) {
      status = mlxcel_directory_remove(path);
      close(lock);
    }
    iree_status_ignore(status);
    free(path);
  }
  closedir(folder);
}

static iree_status_t gguf_make_temporary(mlxcel_gguf_folder_t* folder, const char* prefix) {
  for (int attempt = 0; attempt < GGUF_LOCK_ATTEMPTS; ++attempt) {
    IREE_RETURN_IF_ERROR(mlxcel_directory_create_temporary(folder->parent, prefix, &folder->temporary));
    folder->lock = gguf_lock_folder(folder->temporary);
    if (folder->lock >= 0) return iree_ok_status();
    (void)rmdir(folder->temporary);  // another import took it for an abandoned one before it was locked
    free(folder->temporary);
    folder->temporary = NULL;
  }
  return iree_make_status(IREE_STATUS_UNAVAILABLE, "can't lock a temporary folder in %s; use a file system with locks", folder->parent);
}

static void gguf_folder_free(mlxcel_gguf_folder_t* folder) {
  if (folder->lock >= 0) close(folder->lock);
  free(folder->target);
  free(folder->parent);
  free(folder->temporary);
  memset(folder, 0, sizeof(*folder));
  folder->lock = -1;
}

iree_status_t mlxcel_gguf_folder_begin(const char* target, mlxcel_gguf_folder_t* out_folder) {
  memset(out_folder, 0, sizeof(*out_folder));
  out_folder->lock = -1;
  char* name = NULL;
  IREE_RETURN_IF_ERROR(gguf_split_path(target, &out_folder->parent, &name));
  char prefix[256];
  snprintf(prefix, sizeof(prefix), ".%s" GGUF_TEMPORARY_MARK, name);
  iree_status_t status = mlxcel_path_join(out_folder->parent, iree_make_cstring_view(name), &out_folder->target);
  free(name);
  if (iree_status_is_ok(status)) status = mlxcel_directory_create(out_folder->parent);
  if (iree_status_is_ok(status)) {
    gguf_remove_abandoned(out_folder->parent, prefix);
    status = gguf_make_temporary(out_folder, prefix);
  }
  if (!iree_status_is_ok(status)) gguf_folder_free(out_folder);
  return status;
}

void mlxcel_gguf_folder_abandon(mlxcel_gguf_folder_t* folder) {
  if (folder->temporary) iree_status_ignore(mlxcel_directory_remove(folder->temporary));
  gguf_folder_free(folder);
}

// --- publishing --------------------------------------------------------------------------------------------------------------------------

static void gguf_sync_folder(const char* path) {
  int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)fsync(descriptor);
  close(descriptor);
}

// rename() replaces an empty folder; a full one is exchanged in one step and what was there is removed afterwards.
static iree_status_t gguf_move_into_place(const mlxcel_gguf_folder_t* folder, bool overwrite) {
  if (rename(folder->temporary, folder->target) == 0) return iree_ok_status();
  if (!overwrite || (errno != ENOTEMPTY && errno != EEXIST)) return mlxcel_fs_errno_status(errno, "publish", folder->target);
  IREE_RETURN_IF_ERROR(mlxcel_gguf_folder_check(folder->target, overwrite));
  if (renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->target, RENAME_EXCHANGE) != 0) {
    return mlxcel_fs_errno_status(errno, "replace", folder->target);
  }
  return mlxcel_directory_remove(folder->temporary);
}

iree_status_t mlxcel_gguf_folder_publish(mlxcel_gguf_folder_t* folder, bool overwrite) {
  iree_status_t status = iree_ok_status();
  if (fchmod(folder->lock, 0755) != 0 || fsync(folder->lock) != 0) status = mlxcel_fs_errno_status(errno, "write", folder->temporary);
  if (iree_status_is_ok(status)) status = gguf_move_into_place(folder, overwrite);
  if (!iree_status_is_ok(status)) {
    mlxcel_gguf_folder_abandon(folder);
    return status;
  }
  gguf_sync_folder(folder->parent);
  gguf_folder_free(folder);
  return status;
}
