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

// Bytes of the UTF-8 character at |text|, of |size| bytes; 0 if there is none: a stray, cut, overlong or surrogate form.
static size_t text_character_size(const unsigned char* text, size_t size) {
  static const struct {
    unsigned char first_mask, first, second_min;  // the smallest second byte that isn't overlong
  } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0xa0}, {0xf8, 0xf0, 0x90}};
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i) {
    if ((text[0] & forms[i].first_mask) != forms[i].first) continue;
    if (size < i + 1) return 0;
    for (size_t j = 1; j <= i; ++j) {
      if ((text[j] & 0xc0) != 0x80) return 0;
    }
    bool lead_only = (text[0] & (unsigned char)~forms[i].first_mask) == 0;
    if (i == 1 && text[0] < 0xc2) return 0;
    if (i > 1 && lead_only && text[1] < forms[i].second_min) return 0;
    if ((text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf4 && text[1] > 0x8f) || text[0] > 0xf4) return 0;
    return i + 1;
  }
  return 0;
}

// Whether a terminal shows the character and doesn't obey it: no control of ASCII but newline and tab, none of the eight-bit set (U+0080 to U+009F).
static bool text_character_is_shown(const unsigned char* text, size_t size) {
  if (size == 1) return (text[0] >= 0x20 && text[0] != 0x7f) || text[0] == '\n' || text[0] == '\t';
  return size > 1 && !(text[0] == 0xc2 && text[1] < 0xa0);
}

void mlxcel_text_printable(const char* text, char* buffer, size_t capacity) {
  const unsigned char* at = (const unsigned char*)text;
  size_t left = strlen(text), used = 0;
  if (capacity == 0) return;
  while (left > 0) {
    size_t size = text_character_size(at, left);
    bool is_shown = text_character_is_shown(at, size);
    size_t step = size ? size : 1;
    if (used + (is_shown ? step : 4 * step) >= capacity) break;
    for (size_t i = 0; i < step; ++i) {
      if (is_shown) {
        buffer[used++] = (char)at[i];
      } else {
        used += (size_t)snprintf(buffer + used, capacity - used, "\\x%02x", at[i]);
      }
    }
    at += step;
    left -= step;
  }
  buffer[used] = 0;
}

// As above, in place.
static void text_make_printable(char* buffer, size_t capacity) {
  char* copy = strdup(buffer);
  if (copy) {
    mlxcel_text_printable(copy, buffer, capacity);
    free(copy);
    return;
  }
  for (char* c = buffer; *c; ++c) {
    if (*c < 0x20 || *c > 0x7e) *c = '?';
  }
}

void mlxcel_log(mlxcel_log_level_t level, const char* format, ...) {
  if ((int)level > atomic_load(&log_level)) return;
  static const char* const names[] = {"error", "warning", "info", "debug"};
  static const char* const colours[] = {"\033[31m", "\033[33m", "\033[36m", "\033[2m"};
  char line[4096], text[4000];
  bool colour = log_uses_colour();
  int used = snprintf(line, sizeof(line), "%s%s:%s ", colour ? colours[level] : "", names[level], colour ? "\033[0m" : "");
  va_list args;
  va_start(args, format);
  int length = vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (length < 0) return;
  mlxcel_text_printable(text, line + used, sizeof(line) - (size_t)used - 1);
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
  text_make_printable(buffer, capacity);
}
