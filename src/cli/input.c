#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/cli_limits.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"

#define READ_BYTES 65536u

typedef enum read_result_e { READ_MORE, READ_END, READ_INTERRUPTED, READ_FAILED } read_result_t;

// Reads once from |descriptor| behind the |*size| bytes of |*buffer|. The caller's |name| is for the message that FAILED prints.
static read_result_t read_some(int descriptor, const char* name, char** buffer, size_t* size, size_t* capacity) {
  if (*size + READ_BYTES + 1 > *capacity) {
    size_t wanted = 2 * *capacity + READ_BYTES + 1;
    char* grown = realloc(*buffer, wanted);
    if (!grown) {
      mlxcel_cli_error("out of memory while reading %s", name);
      return READ_FAILED;
    }
    *buffer = grown;
    *capacity = wanted;
  }
  if (mlxcel_cli_interrupt_count()) return READ_INTERRUPTED;
  ssize_t count = read(descriptor, *buffer + *size, READ_BYTES);
  if (count < 0 && errno == EINTR) return mlxcel_cli_interrupt_count() ? READ_INTERRUPTED : READ_MORE;
  if (count < 0) {
    mlxcel_cli_error("cannot read %s: %s", name, strerror(errno));
    return READ_FAILED;
  }
  *size += (size_t)count;
  (*buffer)[*size] = 0;
  if (*size <= MLXCEL_CLI_PROMPT_BYTES_MAX) return count ? READ_MORE : READ_END;
  mlxcel_cli_error("%s is longer than %u MiB, which no context holds; give less text", name, MLXCEL_CLI_PROMPT_BYTES_MAX >> 20);
  return READ_FAILED;
}

static int read_descriptor(int descriptor, const char* name, char** out_text, size_t* out_size) {
  size_t capacity = 0;
  read_result_t result;
  do {
    result = read_some(descriptor, name, out_text, out_size, &capacity);
  } while (result == READ_MORE);
  if (result == READ_END) return MLXCEL_CLI_EXIT_OK;
  free(*out_text);
  *out_text = NULL;
  *out_size = 0;
  return result == READ_INTERRUPTED ? MLXCEL_CLI_EXIT_INTERRUPTED : MLXCEL_CLI_EXIT_FAILURE;
}

int mlxcel_cli_input_read(const char* path, char** out_text, size_t* out_size) {
  *out_text = NULL;
  *out_size = 0;
  if (strcmp(path, "-") == 0) return read_descriptor(STDIN_FILENO, "standard input", out_text, out_size);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    mlxcel_cli_error("cannot open %s: %s; check the path", path, strerror(errno));
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  int exit_code = read_descriptor(descriptor, path, out_text, out_size);
  close(descriptor);
  return exit_code;
}

// The number at |*cursor|, which moves behind it, the spaces and one comma.
static bool parse_id(const char** cursor, int32_t* out_id) {
  char* end = NULL;
  errno = 0;
  long id = strtol(*cursor, &end, 10);
  if (errno || end == *cursor || id < 0 || id > (long)MLXCEL_VOCAB_MAX) return false;
  end += strspn(end, " ");
  if (*end && *end != ',') return false;
  *out_id = (int32_t)id;
  *cursor = *end ? end + 1 : end;
  return *end == 0 || **cursor != 0;
}

int mlxcel_cli_input_ids(const char* text, int32_t** out_ids, size_t* out_count) {
  *out_count = 0;
  size_t most = 1;
  for (const char* c = text; *c; ++c) most += *c == ',';
  *out_ids = malloc(most * sizeof(**out_ids));
  if (!*out_ids) {
    mlxcel_cli_error("out of memory for %zu prompt ids", most);
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  const char* cursor = text;
  while (*cursor && parse_id(&cursor, &(*out_ids)[*out_count])) ++*out_count;
  if (!*cursor && *out_count) return MLXCEL_CLI_EXIT_OK;
  mlxcel_cli_error("--prompt-ids: '%.200s' isn't a list of token numbers; write them like 1,2,3", text);
  free(*out_ids);
  *out_ids = NULL;
  *out_count = 0;
  return MLXCEL_CLI_EXIT_USAGE;
}

static char* find_line_end(const mlxcel_cli_lines_t* lines, size_t first) {
  return lines->size > first ? memchr(lines->buffer + first, '\n', lines->size - first) : NULL;
}

mlxcel_cli_line_result_t mlxcel_cli_lines_next(mlxcel_cli_lines_t* lines, char** out_line, size_t* out_size) {
  *out_line = NULL;
  *out_size = 0;
  if (lines->consumed) memmove(lines->buffer, lines->buffer + lines->consumed, lines->size - lines->consumed);
  lines->size -= lines->consumed;
  lines->consumed = 0;
  char* end = find_line_end(lines, 0);
  while (!end && !lines->ended) {
    size_t searched = lines->size;
    read_result_t result = read_some(STDIN_FILENO, "standard input", &lines->buffer, &lines->size, &lines->capacity);
    if (result == READ_INTERRUPTED) return MLXCEL_CLI_LINE_INTERRUPTED;
    if (result == READ_FAILED) return MLXCEL_CLI_LINE_FAILED;
    lines->ended = result == READ_END;
    end = find_line_end(lines, searched);
  }
  if (!end && !lines->size) return MLXCEL_CLI_LINE_END;
  size_t size = end ? (size_t)(end - lines->buffer) : lines->size;
  lines->consumed = size + (end ? 1 : 0);
  if (size && lines->buffer[size - 1] == '\r') --size;
  lines->buffer[size] = 0;
  *out_line = lines->buffer;
  *out_size = size;
  return MLXCEL_CLI_LINE;
}

void mlxcel_cli_lines_deinitialize(mlxcel_cli_lines_t* lines) {
  free(lines->buffer);
  memset(lines, 0, sizeof(*lines));
}
