// fs.h: files and folders. Reading is bounded, mapping is read-only, publishing is atomic (temporary file in the same folder, fsync, rename,
// fsync of the folder), locks are advisory flock()s, which the kernel drops when their owner dies. All errors name the path and the remedy.
#ifndef MLXCEL_BASE_FS_H_
#define MLXCEL_BASE_FS_H_

#include "base/base.h"

// A status from errno for |path|: "cannot <action> <path>: <reason>; <remedy>".
iree_status_t mlxcel_fs_errno_status(int error_number, const char* action, const char* path);

// Joins with one '/'; the result is malloc'ed and never NULL on success.
iree_status_t mlxcel_path_join(const char* folder, iree_string_view_t name, char** out_path);

bool mlxcel_path_exists(const char* path);
bool mlxcel_path_is_directory(const char* path);

// Reads a whole regular file of at most |max_bytes| into malloc'ed memory (NUL added after the end).
iree_status_t mlxcel_file_read(const char* path, uint64_t max_bytes, char** out_data, size_t* out_size);

// A read-only private mapping of a whole regular file; data is NULL for an empty file. Page-aligned, so at least 64-byte aligned.
typedef struct mlxcel_mapped_file_t {
  const uint8_t* data;
  size_t size;
} mlxcel_mapped_file_t;
iree_status_t mlxcel_mapped_file_open(const char* path, uint64_t max_bytes, mlxcel_mapped_file_t* out_file);
void mlxcel_mapped_file_close(mlxcel_mapped_file_t* file);

// mkdir -p with mode 0755.
iree_status_t mlxcel_directory_create(const char* path);
// Removes a folder of ours and everything below it; a missing folder is fine.
iree_status_t mlxcel_directory_remove(const char* path);
// Makes a fresh private folder "<parent>/<prefix>XXXXXX".
iree_status_t mlxcel_directory_create_temporary(const char* parent, const char* prefix, char** out_path);

// Writes |size| bytes to |path| so that a reader sees either nothing, the old file or the whole new one, also after a crash or a full disk.
iree_status_t mlxcel_file_publish(const char* path, const void* data, size_t size);

// An exclusive advisory lock on |path| (created if missing). Waits until |timeout_ms| is over (DEADLINE_EXCEEDED), 0 = only try.
typedef struct mlxcel_file_lock_t {
  int descriptor;
} mlxcel_file_lock_t;
iree_status_t mlxcel_file_lock_acquire(const char* path, uint32_t timeout_ms, mlxcel_file_lock_t* out_lock);
void mlxcel_file_lock_release(mlxcel_file_lock_t* lock);

#endif  // MLXCEL_BASE_FS_H_
