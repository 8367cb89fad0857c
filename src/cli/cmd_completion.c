// mlxcel completion: a script for the shell, made from the option tables.
#include "cli/commands.h"
#include "cli/console.h"

static const char* const shells[] = {"bash", NULL};

static void print_words(const char* const* words) {
  for (size_t i = 0; words[i]; ++i) mlxcel_cli_output_format("%s%s", i ? " " : "", words[i]);
}

// "--name|-n" of an option, as a pattern of a case statement.
static void print_pattern(const mlxcel_cli_option_t* option) {
  mlxcel_cli_output_format("--%s", option->name);
  if (option->short_name) mlxcel_cli_output_format("|-%c", option->short_name);
  if (option->word) mlxcel_cli_output_format("|-%s", option->word);
}

// What may follow an option that takes a value.
static void print_value_case(const mlxcel_cli_option_t* option) {
  if (option->type == MLXCEL_CLI_FLAG) return;
  mlxcel_cli_output_format("        ");
  print_pattern(option);
  mlxcel_cli_output_format(") ");
  if (option->choices) {
    mlxcel_cli_output_format("COMPREPLY=($(compgen -W \"");
    print_words(option->choices);
    mlxcel_cli_output_format("\" -- \"$current\"))");
  } else if (option->completion != MLXCEL_CLI_COMPLETE_NONE) {
    mlxcel_cli_output_format("_mlxcel_paths %s", option->completion == MLXCEL_CLI_COMPLETE_FOLDER ? "-d" : "-f");
  } else {
    mlxcel_cli_output_format("COMPREPLY=()");
  }
  mlxcel_cli_output_format("; return ;;\n");
}

static void print_command_case(const mlxcel_cli_command_t* command) {
  mlxcel_cli_output_format("    %s)\n      case \"$previous\" in\n", command->name);
  for (size_t g = 0; g < command->group_count; ++g) {
    for (size_t i = 0; i < command->groups[g].option_count; ++i) print_value_case(&command->groups[g].options[i]);
  }
  mlxcel_cli_output_format("      esac\n      options=\"--help");
  for (size_t g = 0; g < command->group_count; ++g) {
    for (size_t i = 0; i < command->groups[g].option_count; ++i) mlxcel_cli_output_format(" --%s", command->groups[g].options[i].name);
  }
  mlxcel_cli_output_format("\"\n      words=\"");
  if (command->positional_choices) print_words(command->positional_choices);
  mlxcel_cli_output_format("\"\n%s      ;;\n", command->positional_maximum > 1 ? "      paths_follow=1\n" : "");
}

static const char bash_begin[] =
    "# bash completion of mlxcel; load it with: source <(mlxcel completion bash)\n"
    "_mlxcel_paths() {\n"
    "  compopt -o filenames 2>/dev/null || true\n"
    "  mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$current\")\n"
    "}\n"
    "_mlxcel() {\n"
    "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options= words= paths_follow=\n"
    "  # bash splits --name=value at the sign.\n"
    "  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "  COMPREPLY=()\n";
static const char bash_end[] =
    "  esac\n"
    "  if [[ $current == -* ]]; then\n"
    "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
    "  elif [[ $words && ( ! $paths_follow || $COMP_CWORD == 2 ) ]]; then\n"
    "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
    "  else\n"
    "    _mlxcel_paths -f\n"
    "  fi\n"
    "}\n"
    "complete -F _mlxcel mlxcel\n";

static void print_command_names(void) {
  for (size_t i = 0; mlxcel_cli_commands[i]; ++i) mlxcel_cli_output_format("%s%s", i ? " " : "", mlxcel_cli_commands[i]->name);
}

static void print_bash(void) {
  mlxcel_cli_output_write(bash_begin, sizeof(bash_begin) - 1);
  mlxcel_cli_output_format("  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W \"--help --version help ");
  print_command_names();
  mlxcel_cli_output_format("\" -- \"$current\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]}\" in\n    help)\n      words=\"");
  print_command_names();
  mlxcel_cli_output_format("\"\n      ;;\n");
  for (size_t i = 0; mlxcel_cli_commands[i]; ++i) print_command_case(mlxcel_cli_commands[i]);
  mlxcel_cli_output_write(bash_end, sizeof(bash_end) - 1);
}

static int run_completion(void* settings, const mlxcel_cli_parsed_t* parsed) {
  (void)settings;
  (void)parsed;  // bash is the only choice
  print_bash();
  return MLXCEL_CLI_EXIT_OK;
}

const mlxcel_cli_command_t mlxcel_cli_command_completion = {
    .name = "completion",
    .summary = "print a completion script for the shell",
    .usage = "bash",
    .details = "Load it with: source <(mlxcel completion bash)",
    .positional_name = "shell",
    .positional_minimum = 1,
    .positional_choices = shells,
    .run = run_completion,
};
