// --help, made from the option tables.
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/console.h"

#define HELP_COLUMN 34  // where the explanations begin
#define HELP_WIDTH 110  // terminals are rarely narrower in practice, and a pipe doesn't care

// Prints |text| wrapped at spaces, every line after the first indented to the column.
static void print_wrapped(const char* text) {
  const size_t width = HELP_WIDTH - HELP_COLUMN;
  while (*text) {
    size_t size = strlen(text);
    if (size > width) {
      size = width;
      while (size > 0 && text[size] != ' ') --size;
      if (size == 0) size = width;
    }
    mlxcel_cli_output_format("%.*s\n", (int)size, text);
    text += size;
    while (*text == ' ') ++text;
    if (*text) mlxcel_cli_output_format("%*s", HELP_COLUMN, "");
  }
}

static void print_option(const mlxcel_cli_option_t* option) {
  char left[128], environment[128], right[1024];
  char short_text[8] = "    ";
  if (option->short_name) snprintf(short_text, sizeof(short_text), "-%c, ", option->short_name);
  if (option->word) snprintf(short_text, sizeof(short_text), "-%s, ", option->word);
  snprintf(left, sizeof(left), "  %s--%s%s%s", short_text, option->name, option->metavar ? " " : "", option->metavar ? option->metavar : "");
  mlxcel_cli_option_environment(option, environment, sizeof(environment));
  snprintf(right, sizeof(right), "%s [$%s]", option->help, environment);
  if (strlen(left) >= HELP_COLUMN) {
    mlxcel_cli_output_format("%s\n%*s", left, HELP_COLUMN, "");
  } else {
    mlxcel_cli_output_format("%-*s", HELP_COLUMN, left);
  }
  print_wrapped(right);
}

void mlxcel_cli_command_help_print(const mlxcel_cli_command_t* command) {
  mlxcel_cli_output_format("mlxcel %s: %s\n\nusage: mlxcel %s %s\n", command->name, command->summary, command->name, command->usage);
  for (size_t g = 0; g < command->group_count; ++g) {
    mlxcel_cli_output_format("\n%s:\n", command->groups[g].title);
    for (size_t i = 0; i < command->groups[g].option_count; ++i) print_option(&command->groups[g].options[i]);
  }
  mlxcel_cli_output_format("\n  -h, --help%*sthis text\n", HELP_COLUMN - 12, "");
  if (command->details) mlxcel_cli_output_format("\n%s\n", command->details);
  mlxcel_cli_output_format(
      "\n[$NAME] is the environment variable of an option. The command line wins over the environment, the environment over the\n"
      "model's own files, those over the defaults.\n"
      "Exit codes: 0 good, 1 failed, 2 wrong usage, 130 interrupted.\n");
}

void mlxcel_cli_help_print(void) {
  mlxcel_cli_output_format("mlxcel: a language-model engine on StableHLO and IREE\n\nusage: mlxcel COMMAND [options]\n\ncommands:\n");
  for (size_t i = 0; mlxcel_cli_commands[i]; ++i) mlxcel_cli_output_format("  %-12s %s\n", mlxcel_cli_commands[i]->name, mlxcel_cli_commands[i]->summary);
  mlxcel_cli_output_format("  %-12s %s\n\n", "help", "this text, or the help of a command: mlxcel help COMMAND");
  mlxcel_cli_output_format("options:\n  -h, --help     this text\n  --version      version of the program, the runtime and the compiler\n\n");
  mlxcel_cli_output_format(
      "first steps:\n  mlxcel import FILE.gguf -o DIR\n  mlxcel generate -m DIR -p \"The capital of France is\" -n 32\n"
      "  mlxcel chat -m DIR\n");
}
