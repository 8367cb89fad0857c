// commands.h: the subcommands, one table each. A run function returns the program's exit code.
#ifndef MLXCEL_CLI_COMMANDS_H_
#define MLXCEL_CLI_COMMANDS_H_

#include "cli/options.h"

enum { MLXCEL_CLI_EXIT_OK = 0, MLXCEL_CLI_EXIT_FAILURE = 1, MLXCEL_CLI_EXIT_USAGE = 2, MLXCEL_CLI_EXIT_INTERRUPTED = 130 };

extern const mlxcel_cli_command_t mlxcel_cli_command_bench;
extern const mlxcel_cli_command_t mlxcel_cli_command_generate;
extern const mlxcel_cli_command_t mlxcel_cli_command_chat;
extern const mlxcel_cli_command_t mlxcel_cli_command_import;
extern const mlxcel_cli_command_t mlxcel_cli_command_inspect;
extern const mlxcel_cli_command_t mlxcel_cli_command_compile;
extern const mlxcel_cli_command_t mlxcel_cli_command_cache;
extern const mlxcel_cli_command_t mlxcel_cli_command_contract;
extern const mlxcel_cli_command_t mlxcel_cli_command_capabilities;
extern const mlxcel_cli_command_t mlxcel_cli_command_devices;
extern const mlxcel_cli_command_t mlxcel_cli_command_completion;
extern const mlxcel_cli_command_t mlxcel_cli_command_oracle;
extern const mlxcel_cli_command_t mlxcel_cli_command_taps;

// All of them, in the order of --help; NULL-terminated.
extern const mlxcel_cli_command_t* const mlxcel_cli_commands[];
// NULL if there is none of that name.
const mlxcel_cli_command_t* mlxcel_cli_command_find(const char* name);
// The one that |name| may have meant, or NULL.
const char* mlxcel_cli_command_nearest(const char* name);

// Print to stdout (see console.h).
void mlxcel_cli_help_print(void);
void mlxcel_cli_command_help_print(const mlxcel_cli_command_t* command);

#endif  // MLXCEL_CLI_COMMANDS_H_
