#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic int log_level = MLXCEL_LOG_WARNING;

void mlxcel_log_set_level(mlxcel_log_level_t level) { atomic_store(&log_level, (int)level); }

static bool log_uses_colour(void) {
  const char* no_colour = getenv("NO_COLOR");
  const char* terminal = getenv("TERM");
  return isatty(STDERR_FILENO) && !(no_colour && no_colour[0]) && !(terminal && strcmp(terminal, "dumb") == 0);
}

void mlxcel_log(mlxcel_log_level_t level, const char* format, ...) {
  if ((int)level > atomic_load(&log_level)) return;
  static const char* const names[] = {"error", "warning", "info", "debug"};
  static const char* const colours[] = {"\033[31m", "\033[33m", "\033[36m", "\033[2m"};
  char line[4096];
  bool colour = log_uses_colour();
  int used = snprintf(line, sizeof(line), "%s%s:%s ", colour ? colours[level] : "", names[level], colour ? "\033[0m" : "");
  va_list args;
  va_start(args, format);
  int length = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);
  va_end(args);
  if (length < 0) return;
  size_t total = strnlen(line, sizeof(line) - 2);
  line[total++] = '\n';
  ssize_t written = write(STDERR_FILENO, line, total);
  (void)written;  // nothing sensible is left to do when stderr is gone
}

// IREE formats a status as "<file>:<line>: <CODE>; message; annotation"; users need the words only.
void mlxcel_status_text(iree_status_t status, char* buffer, size_t capacity) {
  iree_host_size_t length = 0;
  buffer[0] = 0;
  if (capacity == 0 || !iree_status_format(status, capacity, buffer, &length)) {
    snprintf(buffer, capacity, "%s", iree_status_code_string(iree_status_code(status)));
    return;
  }
  const char* code = iree_status_code_string(iree_status_code(status));
  char* found = strstr(buffer, code);
  if (found) {
    char* text = found + strlen(code);
    while (*text == ';' || *text == ' ') ++text;
    if (*text) memmove(buffer, text, strlen(text) + 1);
  }
  char* stack = strstr(buffer, "\nstack:");
  if (stack) *stack = 0;
  size_t size = strlen(buffer);
  while (size > 0 && (buffer[size - 1] == '\n' || buffer[size - 1] == ' ')) buffer[--size] = 0;
}
