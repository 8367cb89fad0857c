// interrupt.h: Ctrl-C and its kin. The first SIGINT, SIGTERM or SIGHUP asks the running work to stop; the second ends the program at once with code 130.
//
// SIGPIPE is ignored: a closed stdout is seen as a failed write. System calls are interrupted (no SA_RESTART), so that waiting for input ends too.
// Process-wide; handlers do only what is async-signal-safe.
#ifndef MLXCEL_CLI_INTERRUPT_H_
#define MLXCEL_CLI_INTERRUPT_H_

#include <stdbool.h>

void mlxcel_cli_interrupt_install(void);
// How many times the user asked since the last reset.
unsigned mlxcel_cli_interrupt_count(void);
// Forgets a Ctrl-C that was obeyed, so that a conversation goes on. SIGTERM and SIGHUP aren't forgotten.
void mlxcel_cli_interrupt_reset(void);
// For mlxcel_engine_options_t and mlxcel_request_t.
bool mlxcel_cli_interrupt_is_requested(void* user_data);

// A temporary file that the program removes when it ends at once. NULL: none. One at a time; the path is copied. false: too long.
bool mlxcel_cli_interrupt_guard_file(const char* path);

#endif  // MLXCEL_CLI_INTERRUPT_H_
