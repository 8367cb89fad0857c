#include <string.h>

#include "cli/commands.h"

#define COMMANDS_MAX 32

const mlxcel_cli_command_t* const mlxcel_cli_commands[] = {
    &mlxcel_cli_command_generate,     &mlxcel_cli_command_chat,
    &mlxcel_cli_command_bench,        &mlxcel_cli_command_import,
    &mlxcel_cli_command_inspect,      &mlxcel_cli_command_compile,
    &mlxcel_cli_command_cache,        &mlxcel_cli_command_contract,
    &mlxcel_cli_command_devices,      &mlxcel_cli_command_oracle,
    &mlxcel_cli_command_capabilities, &mlxcel_cli_command_taps,
    &mlxcel_cli_command_completion,   NULL,
};
_Static_assert(sizeof(mlxcel_cli_commands) / sizeof(mlxcel_cli_commands[0]) <= COMMANDS_MAX, "names in mlxcel_cli_command_nearest");

const mlxcel_cli_command_t* mlxcel_cli_command_find(const char* name) {
  for (size_t i = 0; mlxcel_cli_commands[i]; ++i) {
    if (strcmp(mlxcel_cli_commands[i]->name, name) == 0) return mlxcel_cli_commands[i];
  }
  return NULL;
}

const char* mlxcel_cli_command_nearest(const char* name) {
  const char* names[COMMANDS_MAX] = {NULL};
  for (size_t i = 0; mlxcel_cli_commands[i]; ++i) names[i] = mlxcel_cli_commands[i]->name;
  return mlxcel_cli_nearest(name, names);
}
