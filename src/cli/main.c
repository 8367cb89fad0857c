// mlxcel: one program, one subcommand a job. See commands.h.
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"

static int run_command(const mlxcel_cli_command_t* command, size_t argc, const char* const* argv) {
  mlxcel_cli_console_set_command(command->name);
  void* settings = calloc(1, command->settings_size + 1);
  if (!settings) {
    mlxcel_cli_error("out of memory");
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  if (command->initialize) command->initialize(settings);
  mlxcel_cli_parsed_t parsed;
  int exit_code = MLXCEL_CLI_EXIT_OK;
  if (!mlxcel_cli_parse(command, argc, argv, settings, &parsed)) {
    mlxcel_cli_error("%s", parsed.message);
    exit_code = MLXCEL_CLI_EXIT_USAGE;
  } else if (parsed.help) {
    mlxcel_cli_command_help_print(command);
  } else {
    exit_code = command->run(settings, &parsed);
  }
  free(settings);
  return exit_code;
}

static int report_unknown_command(const char* name) {
  const char* nearest = mlxcel_cli_command_nearest(name);
  mlxcel_cli_error("unknown command '%s'%s%s%s; 'mlxcel --help' lists the commands", name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                   nearest ? "'?" : "");
  return MLXCEL_CLI_EXIT_USAGE;
}

static int print_help(size_t argc, const char* const* argv) {
  const char* command_name = argc > 2 ? argv[2] : NULL;
  if (argc > 3) {
    mlxcel_cli_error("unexpected argument '%s'; help takes the name of one command", argv[3]);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (!command_name) {
    mlxcel_cli_help_print();
    return MLXCEL_CLI_EXIT_OK;
  }
  const mlxcel_cli_command_t* command = mlxcel_cli_command_find(command_name);
  if (!command) return report_unknown_command(command_name);
  mlxcel_cli_command_help_print(command);
  return MLXCEL_CLI_EXIT_OK;
}

static int run_program(size_t argc, const char* const* argv) {
  if (argc < 2) {
    mlxcel_cli_error("no command given; 'mlxcel --help' lists the commands");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  const char* name = argv[1];
  if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
    if (argc > 2) {
      mlxcel_cli_error("unexpected argument '%s'; %s takes none", argv[2], name);
      return MLXCEL_CLI_EXIT_USAGE;
    }
    const char* text = mlxcel_version_text();
    size_t size = strlen(text);
    mlxcel_cli_output_format("%s%s", text, size && text[size - 1] == '\n' ? "" : "\n");
    return MLXCEL_CLI_EXIT_OK;
  }
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) return print_help(argc, argv);
  if (name[0] == '-') {
    mlxcel_cli_error("unknown option '%s' before the command; valid here: --help, --version; options of a command follow its name", name);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  const mlxcel_cli_command_t* command = mlxcel_cli_command_find(name);
  if (!command) return report_unknown_command(name);
  return run_command(command, argc - 2, argv + 2);
}

// A standard stream that the caller closed would be the number of the next file that is opened, and text would end up in it. Its place is taken so that
// using it still fails; only messages may vanish.
static void occupy_closed_streams(void) {
  static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    if (open("/dev/null", modes[descriptor]) < 0) abort();
  }
}

int main(int argc, char** argv) {
  occupy_closed_streams();
  mlxcel_cli_interrupt_install();
  return mlxcel_cli_output_finish(run_program((size_t)argc, (const char* const*)argv));
}
