// model.safetensors of an imported model: one pass, one bounded buffer.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "checkpoint/gguf_model.h"

// The header starts with this, so that an earlier import is recognized before it is replaced.
#define GGUF_HEADER_START "{\"__metadata__\":{\"format\":\"mlx\",\"made_by\":\"mlxcel import\"}"

#define GGUF_HEADER_ALIGNMENT 64u

typedef struct gguf_writer_t {
  const mlxcel_gguf_t* file;
  const char* path;
  int descriptor;
  uint8_t* buffer;
  uint64_t done_bytes, total_bytes;
  const mlxcel_gguf_import_options_t* options;
} gguf_writer_t;

static iree_status_t gguf_write(gguf_writer_t* writer, const void* data, uint64_t size) {
  const char* bytes = data;
  uint64_t done = 0;
  while (done < size) {
    ssize_t count = write(writer->descriptor, bytes + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return mlxcel_fs_errno_status(errno, "write", writer->path);
    done += (uint64_t)count;
  }
  writer->done_bytes += size;
  const mlxcel_gguf_import_options_t* options = writer->options;
  if (options->progress) options->progress(options->user_data, writer->done_bytes, writer->total_bytes);
  if (!options->is_cancelled || !options->is_cancelled(options->user_data)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_CANCELLED, "the import of %s was interrupted; nothing is left of it, start it again", mlxcel_gguf_origin(writer->file));
}

// The header, padded with spaces so that the data starts at a multiple of 64. Names are plain ASCII without quotes: nothing to escape.
static void gguf_header_append(const mlxcel_gguf_plan_t* plan, mlxcel_strbuf_t* header) {
  uint64_t offset = 0;
  mlxcel_strbuf_append_cstring(header, GGUF_HEADER_START);
  for (size_t i = 0; i < plan->output_count; ++i) {
    const mlxcel_gguf_output_t* output = &plan->outputs[i];
    mlxcel_strbuf_append_format(header, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%" PRIu64, output->name, mlxcel_tensor_dtype_name(output->dtype),
                                output->shape[0]);
    if (output->rank == 2) mlxcel_strbuf_append_format(header, ",%" PRIu64, output->shape[1]);
    mlxcel_strbuf_append_format(header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset, offset + output->byte_count);
    offset += output->byte_count;
  }
  mlxcel_strbuf_append_cstring(header, "}");
  while ((header->size + sizeof(uint64_t)) % GGUF_HEADER_ALIGNMENT != 0 && iree_status_is_ok(header->status)) mlxcel_strbuf_append_cstring(header, " ");
}

// Reserves the whole file first, so that a full disk shows before any work; a file system that can't do so shows it later.
static iree_status_t gguf_reserve(gguf_writer_t* writer) {
  if (fallocate(writer->descriptor, 0, 0, (off_t)writer->total_bytes) == 0) return iree_ok_status();
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) return mlxcel_fs_errno_status(errno, "write", writer->path);
  return iree_ok_status();
}

static iree_status_t gguf_write_output(gguf_writer_t* writer, const mlxcel_gguf_output_t* output) {
  uint64_t rows_at_once = MLXCEL_GGUF_COPY_BYTES / output->row_bytes;
  if (rows_at_once == 0) rows_at_once = 1;
  for (uint64_t row = 0; row < output->row_count; row += rows_at_once) {
    uint64_t count = output->row_count - row < rows_at_once ? output->row_count - row : rows_at_once;
    IREE_RETURN_IF_ERROR(mlxcel_gguf_output_fill(writer->file, output, row, count, writer->buffer));
    IREE_RETURN_IF_ERROR(gguf_write(writer, writer->buffer, count * output->row_bytes));
  }
  return iree_ok_status();
}

static iree_status_t gguf_write_all(gguf_writer_t* writer, const mlxcel_gguf_plan_t* plan, const mlxcel_strbuf_t* header) {
  uint64_t header_size = header->size;
  IREE_RETURN_IF_ERROR(gguf_reserve(writer));
  IREE_RETURN_IF_ERROR(gguf_write(writer, &header_size, sizeof(header_size)));
  IREE_RETURN_IF_ERROR(gguf_write(writer, header->data, header_size));
  for (size_t i = 0; i < plan->output_count; ++i) {
    IREE_RETURN_IF_ERROR(gguf_write_output(writer, &plan->outputs[i]));
  }
  return fsync(writer->descriptor) == 0 ? iree_ok_status() : mlxcel_fs_errno_status(errno, "write", writer->path);
}

static uint64_t gguf_buffer_size(const mlxcel_gguf_plan_t* plan) {
  uint64_t size = MLXCEL_GGUF_COPY_BYTES;
  for (size_t i = 0; i < plan->output_count; ++i) {
    if (plan->outputs[i].row_bytes > size) size = plan->outputs[i].row_bytes;
  }
  return size;
}

static iree_status_t gguf_write_file(gguf_writer_t* writer, const mlxcel_gguf_plan_t* plan, const mlxcel_strbuf_t* header) {
  writer->buffer = malloc(gguf_buffer_size(plan));
  if (!writer->buffer) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the copy buffer of %s", writer->path);
  writer->descriptor = open(writer->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  iree_status_t status = writer->descriptor >= 0 ? gguf_write_all(writer, plan, header) : mlxcel_fs_errno_status(errno, "create", writer->path);
  if (writer->descriptor >= 0 && close(writer->descriptor) != 0 && iree_status_is_ok(status)) status = mlxcel_fs_errno_status(errno, "write", writer->path);
  free(writer->buffer);
  return status;
}

iree_status_t mlxcel_gguf_weights_write(const mlxcel_gguf_t* file, const mlxcel_gguf_plan_t* plan, const char* path,
                                        const mlxcel_gguf_import_options_t* options) {
  mlxcel_strbuf_t header;
  mlxcel_strbuf_initialize(&header);
  gguf_header_append(plan, &header);
  iree_status_t status = mlxcel_strbuf_take_status(&header);
  if (iree_status_is_ok(status) && header.size > MLXCEL_SAFETENSORS_HEADER_BYTES_MAX) {
    status = iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: too many tensors for one safetensors file", mlxcel_gguf_origin(file));
  }
  gguf_writer_t writer = {.file = file, .path = path, .descriptor = -1, .options = options};
  writer.total_bytes = sizeof(uint64_t) + header.size + plan->byte_count;
  if (iree_status_is_ok(status)) status = gguf_write_file(&writer, plan, &header);
  mlxcel_strbuf_deinitialize(&header);
  return status;
}

bool mlxcel_gguf_weights_are_ours(const char* path) {
  char start[sizeof(uint64_t) + sizeof(GGUF_HEADER_START) - 1];
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  ssize_t count = read(descriptor, start, sizeof(start));
  close(descriptor);
  return count == (ssize_t)sizeof(start) && memcmp(start + sizeof(uint64_t), GGUF_HEADER_START, sizeof(GGUF_HEADER_START) - 1) == 0;
}
