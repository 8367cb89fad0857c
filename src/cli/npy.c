#include "cli/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/interrupt.h"

#define NPY_HEADER_BYTES 128      // a multiple of 64, as the format asks; fits any shape
#define NPY_TEMPORARY_NAMES 100u  // leftovers of killed processes with our process id

static bool fail(mlxcel_cli_npy_t* writer, const char* action, const char* path, int error_number, const char* remedy) {
  snprintf(writer->message, sizeof(writer->message), "cannot %s %.300s: %s; %s", action, path, strerror(error_number), remedy);
  return false;
}

// The path behind a symbolic link, so that the link stays. Devices and folders are refused: a rename would replace them.
static bool resolve_target(const char* path, mlxcel_cli_npy_t* writer) {
  struct stat info;
  if (stat(path, &info) != 0) {
    writer->path = strdup(path);
    return writer->path || fail(writer, "write", path, ENOMEM, "free some memory");
  }
  if (!S_ISREG(info.st_mode)) {
    snprintf(writer->message, sizeof(writer->message), "cannot write %.300s: it is not a regular file; give the name of a file, such as logits.npy", path);
    return false;
  }
  writer->path = realpath(path, NULL);
  return writer->path || fail(writer, "resolve", path, errno, "check the path");
}

static bool open_temporary(mlxcel_cli_npy_t* writer) {
  for (unsigned attempt = 0; attempt < NPY_TEMPORARY_NAMES; ++attempt) {
    if (asprintf(&writer->temporary_path, "%s.%ld-%u.tmp", writer->path, (long)getpid(), attempt) < 0) {
      writer->temporary_path = NULL;
      return fail(writer, "write", writer->path, ENOMEM, "free some memory");
    }
    writer->descriptor = open(writer->temporary_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer->descriptor >= 0) break;
    free(writer->temporary_path);
    writer->temporary_path = NULL;
    if (errno != EEXIST) break;
  }
  if (!writer->temporary_path) return fail(writer, "create a file beside", writer->path, errno, "check that the folder exists and may be written");
  if (!mlxcel_cli_interrupt_guard_file(writer->temporary_path)) return fail(writer, "create", writer->path, ENAMETOOLONG, "use a shorter path");
  return true;
}

static bool write_all(mlxcel_cli_npy_t* writer, const void* data, size_t size, off_t offset) {
  const char* bytes = data;
  while (size > 0) {
    ssize_t written = pwrite(writer->descriptor, bytes, size, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail(writer, "write", writer->path, written < 0 ? errno : ENOSPC, "free some space or choose another folder");
    bytes += written;
    size -= (size_t)written;
    offset += written;
  }
  return true;
}

bool mlxcel_cli_npy_open(const char* path, mlxcel_cli_npy_t* out_writer) {
  memset(out_writer, 0, sizeof(*out_writer));
  out_writer->descriptor = -1;
  if (resolve_target(path, out_writer) && open_temporary(out_writer)) return true;
  mlxcel_cli_npy_close(out_writer);
  return false;
}

bool mlxcel_cli_npy_append(mlxcel_cli_npy_t* writer, const float* row, size_t columns) {
  if (writer->rows > 0 && columns != writer->columns) {
    snprintf(writer->message, sizeof(writer->message), "%.300s: row %" PRIu64 " has %zu values, the rows before it %zu; this is a bug of mlxcel", writer->path,
             writer->rows, columns, writer->columns);
    return false;
  }
  size_t row_bytes = columns * sizeof(float);
  if (!write_all(writer, row, row_bytes, (off_t)(NPY_HEADER_BYTES + writer->rows * row_bytes))) return false;
  writer->columns = columns;
  ++writer->rows;
  return true;
}

static bool write_header(mlxcel_cli_npy_t* writer, size_t columns) {
  char header[NPY_HEADER_BYTES + 1];
  memset(header, ' ', sizeof(header));
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  const unsigned text_bytes = NPY_HEADER_BYTES - 10;
  header[8] = (char)(text_bytes & 0xff);
  header[9] = (char)(text_bytes >> 8);
  int size = snprintf(header + 10, text_bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRIu64 ", %zu), }", writer->rows, columns);
  header[10 + size] = ' ';
  header[NPY_HEADER_BYTES - 1] = '\n';
  return write_all(writer, header, NPY_HEADER_BYTES, 0);
}

bool mlxcel_cli_npy_finish(mlxcel_cli_npy_t* writer, size_t columns) {
  if (!write_header(writer, writer->rows ? writer->columns : columns)) return false;
  if (fsync(writer->descriptor) != 0 && errno != EINVAL) return fail(writer, "write", writer->path, errno, "free some space or choose another folder");
  if (rename(writer->temporary_path, writer->path) != 0) return fail(writer, "publish", writer->path, errno, "check that the folder may be written");
  mlxcel_cli_interrupt_guard_file(NULL);
  free(writer->temporary_path);
  writer->temporary_path = NULL;
  return true;
}

void mlxcel_cli_npy_close(mlxcel_cli_npy_t* writer) {
  if (writer->temporary_path) {
    mlxcel_cli_interrupt_guard_file(NULL);
    unlink(writer->temporary_path);
    free(writer->temporary_path);
    writer->temporary_path = NULL;
  }
  if (writer->path && writer->descriptor >= 0) close(writer->descriptor);
  writer->descriptor = -1;
  free(writer->path);
  writer->path = NULL;
}
