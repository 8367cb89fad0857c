#include "cli/console.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/interrupt.h"

static struct {
  const char* command;
  bool closed;  // EPIPE
  int failure;  // errno of the first other failure
} console;

static bool wait_for_stdout(void) {
  struct pollfd descriptor = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&descriptor, 1, -1) > 0 || errno == EINTR;
}

bool mlxcel_cli_output_write(const void* data, size_t size) {
  if (console.closed || console.failure) return false;
  unsigned interrupts = mlxcel_cli_interrupt_count();
  const char* bytes = data;
  while (size > 0) {
    ssize_t written = write(STDOUT_FILENO, bytes, size);
    if (written >= 0) {
      bytes += written;
      size -= (size_t)written;
    } else if (errno == EINTR) {
      if (mlxcel_cli_interrupt_count() != interrupts) return false;
    } else if (errno == EPIPE) {
      console.closed = true;
      return false;
    } else if ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait_for_stdout()) {
      console.failure = errno;
      return false;
    }
  }
  return true;
}

bool mlxcel_cli_output_format(const char* format, ...) {
  char* text = NULL;
  va_list args;
  va_start(args, format);
  int size = vasprintf(&text, format, args);
  va_end(args);
  if (size < 0) {
    console.failure = ENOMEM;
    return false;
  }
  bool ok = mlxcel_cli_output_write(text, (size_t)size);
  free(text);
  return ok;
}

bool mlxcel_cli_output_is_closed(void) { return console.closed; }
bool mlxcel_cli_output_is_terminal(void) { return isatty(STDOUT_FILENO) == 1; }

int mlxcel_cli_output_finish(int exit_code) {
  if (!console.failure) return exit_code;
  mlxcel_cli_error("cannot write to stdout: %s; the output is incomplete", strerror(console.failure));
  return exit_code ? exit_code : MLXCEL_CLI_EXIT_FAILURE;
}

bool mlxcel_cli_stderr_is_terminal(void) {
  const char* terminal = getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && !(terminal && strcmp(terminal, "dumb") == 0);
}

bool mlxcel_cli_stderr_has_colour(void) {
  const char* no_colour = getenv("NO_COLOR");
  return mlxcel_cli_stderr_is_terminal() && !(no_colour && no_colour[0]);
}

void mlxcel_cli_console_set_command(const char* name) { console.command = name; }

// One write for a whole line, so that it can't be torn apart by the compiler's or the engine's lines.
static void print_labelled(const char* label, const char* colour, const char* format, va_list args) {
  char* text = NULL;
  if (vasprintf(&text, format, args) < 0) return;
  bool has_colour = mlxcel_cli_stderr_has_colour();
  char* line = NULL;
  int size = asprintf(&line, "mlxcel%s%s: %s%s:%s %s\n", console.command ? " " : "", console.command ? console.command : "", has_colour ? colour : "", label,
                      has_colour ? "\033[0m" : "", text);
  if (size > 0) fwrite(line, 1, (size_t)size, stderr);
  free(line);
  free(text);
}

void mlxcel_cli_error(const char* format, ...) {
  va_list args;
  va_start(args, format);
  print_labelled("error", "\033[1;31m", format, args);
  va_end(args);
}

void mlxcel_cli_note(const char* format, ...) {
  va_list args;
  va_start(args, format);
  print_labelled("note", "\033[36m", format, args);
  va_end(args);
}

void mlxcel_cli_message(const char* format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
}

int mlxcel_cli_error_report(mlxcel_error_t* error) {
  if (!error) return MLXCEL_CLI_EXIT_OK;
  bool cancelled = mlxcel_error_code(error) == MLXCEL_ERROR_CANCELLED;
  if (cancelled) {
    mlxcel_cli_message("mlxcel: interrupted\n");
  } else {
    mlxcel_cli_error("%s: %s", mlxcel_error_stage(error), mlxcel_error_message(error));
  }
  mlxcel_error_free(error);
  return cancelled ? MLXCEL_CLI_EXIT_INTERRUPTED : MLXCEL_CLI_EXIT_FAILURE;
}

int mlxcel_cli_status_report(iree_status_t status) {
  if (iree_status_is_ok(status)) return MLXCEL_CLI_EXIT_OK;
  bool cancelled = iree_status_is_cancelled(status);
  char text[4096];  // a name of every field of a clause fits
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  if (cancelled) {
    mlxcel_cli_message("mlxcel: interrupted\n");
  } else {
    mlxcel_cli_error("%s", text);
  }
  return cancelled ? MLXCEL_CLI_EXIT_INTERRUPTED : MLXCEL_CLI_EXIT_FAILURE;
}
