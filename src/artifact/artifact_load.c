// artifact_load.c: entries on disk: reading, verifying, and the small file operations around them.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact_internal.h"
#include "artifact/json_fields.h"
#include "base/limits.h"

void mlxcel_artifact_deinitialize(mlxcel_artifact_t* artifact) {
  free(artifact->folder);
  mlxcel_mapped_file_close(&artifact->vmfb);
  mlxcel_program_interface_deinitialize(&artifact->interface);
  free(artifact->contract_text);
  free(artifact->manifest_text);
  memset(artifact, 0, sizeof(*artifact));
}

iree_status_t mlxcel_artifact_store_path(const char* root, const char* kind, const char* name, const char* suffix, char** out_path) {
  char tail[MLXCEL_PATH_BYTES_MAX];
  int size = snprintf(tail, sizeof(tail), "%s%s%s%s", kind ? kind : "", kind ? "/" : "", name, suffix);
  *out_path = NULL;
  if (size < 0 || (size_t)size >= sizeof(tail)) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "path too long below %s", root);
  return mlxcel_path_join(root, iree_make_cstring_view(tail), out_path);
}

// --- files -------------------------------------------------------------------------------------------------------------------------------

static iree_status_t load_read_all(int descriptor, const char* path, uint8_t* data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t count = read(descriptor, data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return mlxcel_fs_errno_status(errno, "read", path);
    if (count == 0) return iree_make_status(IREE_STATUS_DATA_LOSS, "%s became shorter while it was read", path);
    done += (size_t)count;
  }
  return iree_ok_status();
}

static iree_status_t load_read_descriptor(int descriptor, const char* path, uint64_t max_bytes, mlxcel_mapped_file_t* out_file) {
  struct stat info;
  if (fstat(descriptor, &info) != 0) return mlxcel_fs_errno_status(errno, "examine", path);
  if (!S_ISREG(info.st_mode)) return iree_make_status(IREE_STATUS_DATA_LOSS, "%s is not a regular file", path);
  uint64_t size = (uint64_t)info.st_size;
  if (size == 0 || size > max_bytes) return iree_make_status(IREE_STATUS_DATA_LOSS, "%s has %" PRIu64 " bytes, outside 1 to %" PRIu64, path, size, max_bytes);
  void* data = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %" PRIu64 " bytes of %s", size, path);
  out_file->data = data;
  out_file->size = (size_t)size;
  IREE_RETURN_IF_ERROR(load_read_all(descriptor, path, data, (size_t)size));
  if (mprotect(data, (size_t)size, PROT_READ) != 0) return mlxcel_fs_errno_status(errno, "protect the memory of", path);
  return iree_ok_status();
}

iree_status_t mlxcel_artifact_file_read(const char* path, uint64_t max_bytes, mlxcel_mapped_file_t* out_file) {
  memset(out_file, 0, sizeof(*out_file));
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return mlxcel_fs_errno_status(errno, "open", path);
  iree_status_t status = load_read_descriptor(descriptor, path, max_bytes, out_file);
  close(descriptor);
  if (!iree_status_is_ok(status)) mlxcel_mapped_file_close(out_file);
  return status;
}

iree_status_t mlxcel_artifact_file_write_new(const char* path, const void* data, size_t size) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return mlxcel_fs_errno_status(errno, "create", path);
  iree_status_t status = iree_ok_status();
  for (size_t done = 0; done < size && iree_status_is_ok(status);) {
    ssize_t count = write(descriptor, (const char*)data + done, size - done);
    if (count >= 0) {
      done += (size_t)count;
    } else if (errno != EINTR) {
      status = mlxcel_fs_errno_status(errno, "write", path);
    }
  }
  if (close(descriptor) != 0 && iree_status_is_ok(status)) status = mlxcel_fs_errno_status(errno, "write", path);
  return status;
}

iree_status_t mlxcel_artifact_path_sync(const char* path) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return mlxcel_fs_errno_status(errno, "open", path);
  int error_number = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  // Some file systems don't sync folders; nothing can be done about it there.
  if (error_number == 0 || error_number == EINVAL) return iree_ok_status();
  return mlxcel_fs_errno_status(error_number, "sync", path);
}

// --- verification ------------------------------------------------------------------------------------------------------------------------

static iree_status_t load_check_size(const char* path, const char* field, uint64_t recorded, size_t size) {
  if (recorded == size) return iree_ok_status();
  return iree_make_status(IREE_STATUS_DATA_LOSS, "%s has %zu bytes, but field '%s.bytes' of its manifest says %" PRIu64 ": the file was cut or altered", path,
                          size, field, recorded);
}

static iree_status_t load_check_digest(const char* path, const char* field, const mlxcel_sha256_hex_t* recorded, const mlxcel_mapped_file_t* file) {
  mlxcel_sha256_hex_t computed;
  IREE_RETURN_IF_ERROR(mlxcel_sha256_of(file->data, file->size, &computed));
  if (strcmp(computed.text, recorded->text) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_DATA_LOSS, "%s has SHA-256 %s, but field '%s.sha256' of its manifest says %s: the file was altered", path, computed.text,
                          field, recorded->text);
}

// A manifest without its files is a damaged entry, not an absent one.
static iree_status_t load_missing_is_loss(iree_status_t status, const char* path) {
  if (!iree_status_is_not_found(status)) return status;
  iree_status_free(status);
  return iree_make_status(IREE_STATUS_DATA_LOSS, "%s is missing beside its manifest", path);
}

static iree_status_t load_verified_file(const char* folder, const char* name, const char* field, uint64_t recorded_size, uint64_t max_bytes,
                                        const mlxcel_sha256_hex_t* recorded_digest, mlxcel_mapped_file_t* out_file) {
  memset(out_file, 0, sizeof(*out_file));
  char* path = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_path_join(folder, iree_make_cstring_view(name), &path));
  iree_status_t status = load_missing_is_loss(mlxcel_artifact_file_read(path, max_bytes, out_file), path);
  if (iree_status_is_ok(status)) status = load_check_size(path, field, recorded_size, out_file->size);
  if (iree_status_is_ok(status)) status = load_check_digest(path, field, recorded_digest, out_file);
  if (!iree_status_is_ok(status)) mlxcel_mapped_file_close(out_file);
  free(path);
  return status;
}

iree_status_t mlxcel_artifact_assemble(const char* folder, mlxcel_manifest_t* manifest, mlxcel_mapped_file_t* vmfb, char** manifest_text,
                                       mlxcel_artifact_t* out_artifact) {
  memset(out_artifact, 0, sizeof(*out_artifact));
  IREE_RETURN_IF_ERROR(mlxcel_artifact_text_copy(iree_make_cstring_view(folder), &out_artifact->folder));
  out_artifact->key = manifest->key;
  out_artifact->vmfb_digest = manifest->vmfb_digest;
  out_artifact->contract_fingerprint = manifest->contract_fingerprint;
  out_artifact->contract_text = manifest->contract_text;
  manifest->contract_text = NULL;
  out_artifact->interface = manifest->interface;
  memset(&manifest->interface, 0, sizeof(manifest->interface));
  out_artifact->vmfb = *vmfb;
  memset(vmfb, 0, sizeof(*vmfb));
  out_artifact->manifest_text = *manifest_text;
  *manifest_text = NULL;
  return iree_ok_status();
}

// The MLIR text isn't run, but an entry whose text isn't what was compiled would mislead whoever inspects it.
static iree_status_t load_files(const char* folder, mlxcel_manifest_t* manifest, char** manifest_text, mlxcel_artifact_t* out_artifact) {
  mlxcel_mapped_file_t file;
  IREE_RETURN_IF_ERROR(
      load_verified_file(folder, MLXCEL_MLIR_FILE_NAME, "mlir", manifest->mlir_byte_count, MLXCEL_TEXT_BYTES_MAX, &manifest->mlir_digest, &file));
  mlxcel_mapped_file_close(&file);
  IREE_RETURN_IF_ERROR(
      load_verified_file(folder, MLXCEL_VMFB_FILE_NAME, "vmfb", manifest->vmfb_byte_count, MLXCEL_VMFB_BYTES_MAX, &manifest->vmfb_digest, &file));
  iree_status_t status = mlxcel_artifact_assemble(folder, manifest, &file, manifest_text, out_artifact);
  mlxcel_mapped_file_close(&file);
  if (iree_status_is_ok(status)) out_artifact->was_cached = true;
  return status;
}

iree_status_t mlxcel_artifact_load(const char* folder, mlxcel_artifact_t* out_artifact) {
  memset(out_artifact, 0, sizeof(*out_artifact));
  char* text = NULL;
  mlxcel_manifest_t manifest;
  IREE_RETURN_IF_ERROR(mlxcel_manifest_read(folder, &text, &manifest));
  iree_status_t status = load_files(folder, &manifest, &text, out_artifact);
  mlxcel_manifest_deinitialize(&manifest);
  free(text);
  return status;
}
