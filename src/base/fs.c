#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/huge_pages.h"
#include "base/limits.h"

static iree_status_code_t fs_errno_code(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return IREE_STATUS_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
      return IREE_STATUS_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return IREE_STATUS_RESOURCE_EXHAUSTED;
    default:
      return IREE_STATUS_UNAVAILABLE;
  }
}

static const char* fs_errno_remedy(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return "check the path";
    case EACCES:
    case EPERM:
      return "check the permissions";
    case EROFS:
      return "the file system is read-only: choose another folder";
    case ENOSPC:
    case EDQUOT:
      return "free some disk space or choose another folder";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files";
    default:
      return "check the disk and the path";
  }
}

iree_status_t mlxcel_fs_errno_status(int error_number, const char* action, const char* path) {
  return iree_make_status(fs_errno_code(error_number), "cannot %s %s: %s; %s", action, path, strerror(error_number), fs_errno_remedy(error_number));
}

iree_status_t mlxcel_path_join(const char* folder, iree_string_view_t name, char** out_path) {
  *out_path = NULL;
  size_t folder_size = strlen(folder);
  while (folder_size > 1 && folder[folder_size - 1] == '/') --folder_size;
  if (folder_size + name.size + 2 > MLXCEL_PATH_BYTES_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "path longer than %u bytes below %s; use a shorter folder", MLXCEL_PATH_BYTES_MAX, folder);
  }
  char* path = malloc(folder_size + name.size + 2);
  if (!path) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a path");
  memcpy(path, folder, folder_size);
  path[folder_size] = '/';
  memcpy(path + folder_size + 1, name.data, name.size);
  path[folder_size + 1 + name.size] = 0;
  *out_path = path;
  return iree_ok_status();
}

bool mlxcel_path_exists(const char* path) { return access(path, F_OK) == 0; }

bool mlxcel_path_is_directory(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Opens a regular file for reading and gives its size; anything else (a folder, a pipe, too large) is an error.
static iree_status_t fs_open_regular(const char* path, uint64_t max_bytes, int* out_descriptor, size_t* out_size) {
  *out_descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*out_descriptor < 0) return mlxcel_fs_errno_status(errno, "open", path);
  struct stat info;
  iree_status_t status = iree_ok_status();
  if (fstat(*out_descriptor, &info) != 0) {
    status = mlxcel_fs_errno_status(errno, "examine", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s is not a regular file; give the path of a file", path);
  } else if ((uint64_t)info.st_size > max_bytes) {
    status = iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s has %" PRIu64 " bytes, over the limit of %" PRIu64 "; it isn't the expected kind of file", path,
                              (uint64_t)info.st_size, max_bytes);
  }
  if (iree_status_is_ok(status)) {
    *out_size = (size_t)info.st_size;
  } else {
    close(*out_descriptor);
  }
  return status;
}

// Reads exactly |size| bytes; a file that shrank meanwhile is an error.
static iree_status_t fs_read_exactly(int descriptor, const char* path, char* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t count = read(descriptor, data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return mlxcel_fs_errno_status(errno, "read", path);
    if (count == 0) return iree_make_status(IREE_STATUS_DATA_LOSS, "%s became shorter while it was read; try again when nothing writes to it", path);
    done += (size_t)count;
  }
  return iree_ok_status();
}

iree_status_t mlxcel_file_read(const char* path, uint64_t max_bytes, char** out_data, size_t* out_size) {
  *out_data = NULL;
  *out_size = 0;
  int descriptor = -1;
  size_t size = 0;
  IREE_RETURN_IF_ERROR(fs_open_regular(path, max_bytes, &descriptor, &size));
  char* data = malloc(size + 1);
  iree_status_t status =
      data ? fs_read_exactly(descriptor, path, data, size) : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu bytes of %s", size, path);
  close(descriptor);
  if (!iree_status_is_ok(status)) {
    free(data);
    return status;
  }
  data[size] = 0;
  *out_data = data;
  *out_size = size;
  return status;
}

// Maps a file so that its 2 MiB pieces are aligned as huge pages are (huge_pages.h): reserves more addresses than it takes and gives back the rest.
static void* fs_map_aligned(int descriptor, size_t size) {
  size_t mapped = (size + MLXCEL_HUGE_PAGE_BYTES - 1) / MLXCEL_HUGE_PAGE_BYTES * MLXCEL_HUGE_PAGE_BYTES, reserved = mapped + MLXCEL_HUGE_PAGE_BYTES;
  char* reservation = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED) return MAP_FAILED;
  size_t before = (MLXCEL_HUGE_PAGE_BYTES - (uintptr_t)reservation % MLXCEL_HUGE_PAGE_BYTES) % MLXCEL_HUGE_PAGE_BYTES;
  void* data = mmap(reservation + before, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0);
  int error = errno;
  if (before > 0) munmap(reservation, before);
  munmap(reservation + before + mapped, reserved - before - mapped);
  // Behind the file's last page nothing may be mapped that mlxcel_mapped_file_close doesn't know.
  size_t page = (size_t)sysconf(_SC_PAGESIZE), last = data == MAP_FAILED ? 0 : (size + page - 1) / page * page;
  if (last < mapped) munmap(reservation + before + last, mapped - last);
  errno = error;
  return data;
}

// A limit of addresses may leave room for the file and not for aligning it.
static void* fs_map(int descriptor, size_t size) {
  void* data = size < MLXCEL_HUGE_PAGE_BYTES ? MAP_FAILED : fs_map_aligned(descriptor, size);
  return data != MAP_FAILED ? data : mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
}

iree_status_t mlxcel_mapped_file_open(const char* path, uint64_t max_bytes, mlxcel_mapped_file_t* out_file) {
  memset(out_file, 0, sizeof(*out_file));
  int descriptor = -1;
  size_t size = 0;
  IREE_RETURN_IF_ERROR(fs_open_regular(path, max_bytes, &descriptor, &size));
  iree_status_t status = iree_ok_status();
  if (size > 0) {
    void* data = fs_map(descriptor, size);
    if (data == MAP_FAILED) {
      status = mlxcel_fs_errno_status(errno, "map", path);
    } else {
      out_file->data = data;
      out_file->size = size;
    }
  }
  close(descriptor);
  return status;
}

void mlxcel_mapped_file_close(mlxcel_mapped_file_t* file) {
  if (file->data) munmap((void*)(uintptr_t)file->data, file->size);
  memset(file, 0, sizeof(*file));
}

iree_status_t mlxcel_directory_create(const char* path) {
  size_t size = strlen(path);
  if (size == 0 || size >= MLXCEL_PATH_BYTES_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a folder's path must have 1 to %u bytes", MLXCEL_PATH_BYTES_MAX - 1);
  }
  char partial[MLXCEL_PATH_BYTES_MAX];
  memcpy(partial, path, size + 1);
  for (size_t i = 1; i <= size; ++i) {
    if (partial[i] != '/' && partial[i] != 0) continue;
    char saved = partial[i];
    partial[i] = 0;
    if (mkdir(partial, 0755) != 0 && errno != EEXIST) return mlxcel_fs_errno_status(errno, "create folder", partial);
    partial[i] = saved;
  }
  if (!mlxcel_path_is_directory(path)) return mlxcel_fs_errno_status(ENOTDIR, "create folder", path);
  return iree_ok_status();
}

static int fs_remove_entry(const char* path, const struct stat* info, int type, struct FTW* walk) {
  (void)info, (void)type, (void)walk;
  return remove(path);
}

iree_status_t mlxcel_directory_remove(const char* path) {
  if (nftw(path, fs_remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT) return iree_ok_status();
  return mlxcel_fs_errno_status(errno, "remove", path);
}

iree_status_t mlxcel_directory_create_temporary(const char* parent, const char* prefix, char** out_path) {
  char name[256];
  snprintf(name, sizeof(name), "%sXXXXXX", prefix);
  IREE_RETURN_IF_ERROR(mlxcel_path_join(parent, iree_make_cstring_view(name), out_path));
  if (mkdtemp(*out_path)) return iree_ok_status();
  iree_status_t status = mlxcel_fs_errno_status(errno, "create a folder in", parent);
  free(*out_path);
  *out_path = NULL;
  return status;
}

static iree_status_t fs_write_all(int descriptor, const char* path, const char* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t count = write(descriptor, data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return mlxcel_fs_errno_status(errno, "write", path);
    done += (size_t)count;
  }
  if (fsync(descriptor) != 0) return mlxcel_fs_errno_status(errno, "write", path);
  return iree_ok_status();
}

// Makes the rename itself durable.
static void fs_sync_folder_of(const char* path) {
  char folder[MLXCEL_PATH_BYTES_MAX];
  const char* slash = strrchr(path, '/');
  size_t size = slash ? (size_t)(slash - path) : 0;
  if (size == 0 || size >= sizeof(folder)) return;
  memcpy(folder, path, size);
  folder[size] = 0;
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  (void)fsync(descriptor);
  close(descriptor);
}

iree_status_t mlxcel_file_publish(const char* path, const void* data, size_t size) {
  char temporary[MLXCEL_PATH_BYTES_MAX];
  int length = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
  if (length < 0 || (size_t)length >= sizeof(temporary)) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "path too long: %s", path);
  int descriptor = mkostemp(temporary, O_CLOEXEC);
  if (descriptor < 0) return mlxcel_fs_errno_status(errno, "create", temporary);
  iree_status_t status = fs_write_all(descriptor, path, data, size);
  (void)fchmod(descriptor, 0644);
  if (close(descriptor) != 0 && iree_status_is_ok(status)) status = mlxcel_fs_errno_status(errno, "write", path);
  if (iree_status_is_ok(status) && rename(temporary, path) != 0) status = mlxcel_fs_errno_status(errno, "publish", path);
  if (!iree_status_is_ok(status)) {
    (void)unlink(temporary);
    return status;
  }
  fs_sync_folder_of(path);
  return status;
}

static uint64_t fs_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

iree_status_t mlxcel_file_lock_acquire(const char* path, uint32_t timeout_ms, mlxcel_file_lock_t* out_lock) {
  out_lock->descriptor = -1;
  int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return mlxcel_fs_errno_status(errno, "create lock", path);
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = 20 * 1000 * 1000};
  uint64_t deadline = fs_now_ms() + timeout_ms;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      iree_status_t status = mlxcel_fs_errno_status(errno, "lock", path);
      close(descriptor);
      return status;
    }
    if (fs_now_ms() >= deadline) {
      close(descriptor);
      return iree_make_status(IREE_STATUS_DEADLINE_EXCEEDED, "%s is held by another process for over %u ms; wait for it or end it", path, timeout_ms);
    }
    nanosleep(&pause, NULL);
  }
  out_lock->descriptor = descriptor;
  return iree_ok_status();
}

void mlxcel_file_lock_release(mlxcel_file_lock_t* lock) {
  if (lock->descriptor >= 0) close(lock->descriptor);
  lock->descriptor = -1;
}
