// options.h: declarative command-line options.
//
// A subcommand is a table: groups of options, each with the place of its value in the subcommand's settings struct. Parsing, --help, environment names and
// shell completion are all made from it. Precedence: command line, environment, default (what the settings held before parsing). An empty environment
// variable counts as unset. Values are views of argv and of the environment; nothing is allocated.
#ifndef MLXCEL_CLI_OPTIONS_H_
#define MLXCEL_CLI_OPTIONS_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/cli_limits.h"

typedef enum mlxcel_cli_value_type_e {
  MLXCEL_CLI_FLAG,     // bool; "--name" alone means true, "--name=false" turns off what the environment turned on
  MLXCEL_CLI_TEXT,     // const char*
  MLXCEL_CLI_CHOICE,   // const char*, equal to one of |choices|
  MLXCEL_CLI_INTEGER,  // int64_t within [minimum, maximum]
  MLXCEL_CLI_NUMBER,   // double within [minimum, maximum], finite
  MLXCEL_CLI_SEED,     // uint64_t, or the word "random"
  MLXCEL_CLI_LIST,     // mlxcel_cli_list_t; the option may be repeated
} mlxcel_cli_value_type_t;

typedef enum mlxcel_cli_completion_e { MLXCEL_CLI_COMPLETE_NONE, MLXCEL_CLI_COMPLETE_FILE, MLXCEL_CLI_COMPLETE_FOLDER } mlxcel_cli_completion_t;

typedef struct mlxcel_cli_list_t {
  const char* items[MLXCEL_CLI_LIST_ITEMS_MAX];
  size_t count;
} mlxcel_cli_list_t;

typedef struct mlxcel_cli_option_t {
  const char* name;  // without the dashes
  char short_name;   // 0 = none
  const char* word;  // the spelling of two letters or more behind one dash that other programs made familiar ("pg" for "-pg"); NULL = none
  mlxcel_cli_value_type_t type;
  const char* metavar;  // NULL for flags
  size_t offset;        // of the value within the group's struct
  double minimum, maximum;
  const char* const* choices;  // NULL-terminated
  const char* environment;     // NULL = MLXCEL_<NAME>
  mlxcel_cli_completion_t completion;
  const char* help;
} mlxcel_cli_option_t;

typedef struct mlxcel_cli_group_t {
  const char* title;
  const mlxcel_cli_option_t* options;
  size_t option_count;
  size_t offset;  // of the group's struct within the subcommand's settings
} mlxcel_cli_group_t;

typedef enum mlxcel_cli_source_e { MLXCEL_CLI_SOURCE_DEFAULT, MLXCEL_CLI_SOURCE_ENVIRONMENT, MLXCEL_CLI_SOURCE_COMMAND_LINE } mlxcel_cli_source_t;

typedef struct mlxcel_cli_command_t mlxcel_cli_command_t;

typedef struct mlxcel_cli_parsed_t {
  const mlxcel_cli_command_t* command;
  mlxcel_cli_source_t sources[MLXCEL_CLI_OPTIONS_MAX];  // in the order of the groups
  const char* positionals[MLXCEL_CLI_POSITIONALS_MAX];
  size_t positional_count;
  bool help;                               // -h or --help; nothing after it was looked at
  char message[MLXCEL_CLI_MESSAGE_BYTES];  // the error, when parsing failed
} mlxcel_cli_parsed_t;

struct mlxcel_cli_command_t {
  const char* name;
  const char* summary;
  const char* usage;    // what follows "mlxcel NAME " in the usage line
  const char* details;  // paragraphs for --help; may be NULL
  const mlxcel_cli_group_t* groups;
  size_t group_count;
  const char* positional_name;  // NULL = takes none
  size_t positional_minimum;
  size_t positional_maximum;                                      // 0 = 1
  const char* const* positional_choices;                          // of the first; NULL = any text
  size_t settings_size;                                           // 0 = none
  void (*initialize)(void* settings);                             // writes the defaults into zeroed memory; may be NULL
  int (*run)(void* settings, const mlxcel_cli_parsed_t* parsed);  // returns the exit code
};

// Reads |argv| (without the program's and the subcommand's name) and, for what it doesn't say, the environment into |settings|. On failure returns false,
// and |out_parsed->message| says which option or variable is wrong and what it may be.
bool mlxcel_cli_parse(const mlxcel_cli_command_t* command, size_t argc, const char* const* argv, void* settings, mlxcel_cli_parsed_t* out_parsed);

// Where the value of option |name| came from. |name| must be in the table.
mlxcel_cli_source_t mlxcel_cli_parsed_source(const mlxcel_cli_parsed_t* parsed, const char* name);

// The name of the environment variable, into |buffer|.
void mlxcel_cli_option_environment(const mlxcel_cli_option_t* option, char* buffer, size_t capacity);

// Stores |text| as the option's value at |value|. |origin| is what an error calls it ("option --threads", "environment variable MLXCEL_THREADS").
bool mlxcel_cli_value_store(const mlxcel_cli_option_t* option, const char* origin, const char* text, void* value, char* message, size_t message_capacity);

// The candidate that is most like |text|, or NULL when none is close enough to be meant. |candidates| is NULL-terminated.
const char* mlxcel_cli_nearest(const char* text, const char* const* candidates);

#endif  // MLXCEL_CLI_OPTIONS_H_
