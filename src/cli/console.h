// console.h: the program's own output. Data goes to stdout through one unbuffered writer that remembers what went wrong; everything else goes to stderr.
//
// A reader that closes its end of a pipe had enough: the program stops quietly with the exit code that it would have had. Any other failure to write
// (a full disk) is an error. Process-wide state, main thread and the engine's callbacks only.
#ifndef MLXCEL_CLI_CONSOLE_H_
#define MLXCEL_CLI_CONSOLE_H_

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "mlxcel/mlxcel.h"

// Writes all of |data| to stdout. false: it can't be written (see mlxcel_cli_output_finish), or Ctrl-C came while it was blocked.
bool mlxcel_cli_output_write(const void* data, size_t size);
bool mlxcel_cli_output_format(const char* format, ...) __attribute__((format(printf, 1, 2)));
// stdout was closed by its reader.
bool mlxcel_cli_output_is_closed(void);
bool mlxcel_cli_output_is_terminal(void);
// The exit code, once everything was written: |exit_code|, or 1 after printing why stdout couldn't be written.
int mlxcel_cli_output_finish(int exit_code);

// "mlxcel generate: error: ..." on stderr, in colour where that is wanted. The name is the running subcommand's.
void mlxcel_cli_console_set_command(const char* name);
void mlxcel_cli_error(const char* format, ...) __attribute__((format(printf, 1, 2)));
void mlxcel_cli_note(const char* format, ...) __attribute__((format(printf, 1, 2)));
// Plain text on stderr.
void mlxcel_cli_message(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Prints and frees |error|; the exit code is 130 if it says that the user cancelled, else 1. NULL: 0.
int mlxcel_cli_error_report(mlxcel_error_t* error);

// The same for a status of the developer's commands, which is freed.
int mlxcel_cli_status_report(iree_status_t status);

// stderr shows control sequences / colours: a terminal, TERM isn't "dumb"; for colours NO_COLOR is unset or empty.
bool mlxcel_cli_stderr_is_terminal(void);
bool mlxcel_cli_stderr_has_colour(void);

#endif  // MLXCEL_CLI_CONSOLE_H_
