#include "cli/options.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One option of a command, found by name.
typedef struct option_place_t {
  const mlxcel_cli_option_t* option;
  void* value;
  mlxcel_cli_source_t* source;
} option_place_t;

// Calls the index-th option of the command, counted over all groups; false past the end.
static bool option_place_at(const mlxcel_cli_command_t* command, size_t index, void* settings, mlxcel_cli_parsed_t* parsed, option_place_t* out_place) {
  memset(out_place, 0, sizeof(*out_place));
  size_t first = 0;
  for (size_t g = 0; g < command->group_count; first += command->groups[g++].option_count) {
    const mlxcel_cli_group_t* group = &command->groups[g];
    if (index - first >= group->option_count) continue;
    assert(index < MLXCEL_CLI_OPTIONS_MAX);
    out_place->option = &group->options[index - first];
    out_place->value = (char*)settings + group->offset + out_place->option->offset;
    out_place->source = &parsed->sources[index];
    return true;
  }
  return false;
}

static bool option_place_find(const mlxcel_cli_command_t* command, const char* name, size_t name_size, char short_name, void* settings,
                              mlxcel_cli_parsed_t* parsed, option_place_t* out_place) {
  for (size_t i = 0; option_place_at(command, i, settings, parsed, out_place); ++i) {
    const mlxcel_cli_option_t* option = out_place->option;
    if (short_name ? option->short_name == short_name : strlen(option->name) == name_size && memcmp(option->name, name, name_size) == 0) return true;
  }
  return false;
}

void mlxcel_cli_option_environment(const mlxcel_cli_option_t* option, char* buffer, size_t capacity) {
  if (option->environment) {
    snprintf(buffer, capacity, "%s", option->environment);
    return;
  }
  snprintf(buffer, capacity, "MLXCEL_%s", option->name);
  for (char* c = buffer; *c; ++c) *c = (*c == '-') ? '_' : (char)toupper((unsigned char)*c);
}

mlxcel_cli_source_t mlxcel_cli_parsed_source(const mlxcel_cli_parsed_t* parsed, const char* name) {
  size_t index = 0;
  for (size_t g = 0; g < parsed->command->group_count; ++g) {
    const mlxcel_cli_group_t* group = &parsed->command->groups[g];
    for (size_t i = 0; i < group->option_count; ++i, ++index) {
      if (strcmp(group->options[i].name, name) == 0) return parsed->sources[index];
    }
  }
  assert(false && "option isn't in the command's table");
  return MLXCEL_CLI_SOURCE_DEFAULT;
}

// Runs after the command line, which wins: a variable that isn't needed isn't even looked at.
static bool parse_environment(const mlxcel_cli_command_t* command, void* settings, mlxcel_cli_parsed_t* parsed) {
  option_place_t place;
  for (size_t i = 0; option_place_at(command, i, settings, parsed, &place); ++i) {
    if (*place.source == MLXCEL_CLI_SOURCE_COMMAND_LINE) continue;
    char variable[128], origin[192];
    mlxcel_cli_option_environment(place.option, variable, sizeof(variable));
    const char* text = getenv(variable);
    if (!text || !text[0]) continue;
    snprintf(origin, sizeof(origin), "environment variable %s", variable);
    if (!mlxcel_cli_value_store(place.option, origin, text, place.value, parsed->message, sizeof(parsed->message))) return false;
    *place.source = MLXCEL_CLI_SOURCE_ENVIRONMENT;
  }
  return true;
}

static bool store_argument(const option_place_t* place, const char* origin, const char* text, mlxcel_cli_parsed_t* parsed) {
  *place->source = MLXCEL_CLI_SOURCE_COMMAND_LINE;
  return mlxcel_cli_value_store(place->option, origin, text, place->value, parsed->message, sizeof(parsed->message));
}

static void report_missing_value(const mlxcel_cli_option_t* option, const char* origin, mlxcel_cli_parsed_t* parsed) {
  snprintf(parsed->message, sizeof(parsed->message), "%s needs a value (%s)", origin, option->metavar);
}

static void report_unknown_option(const mlxcel_cli_command_t* command, const char* argument, size_t name_size, mlxcel_cli_parsed_t* parsed) {
  const char* names[MLXCEL_CLI_OPTIONS_MAX + 2] = {"help"};
  size_t count = 1;
  for (size_t g = 0; g < command->group_count; ++g) {
    for (size_t i = 0; i < command->groups[g].option_count; ++i) names[count++] = command->groups[g].options[i].name;
  }
  char name[MLXCEL_CLI_NEAREST_BYTES_MAX + 1] = "";
  if (name_size < sizeof(name)) memcpy(name, argument + 2, name_size);
  const char* nearest = mlxcel_cli_nearest(name, names);
  snprintf(parsed->message, sizeof(parsed->message), "unknown option '%.*s'%s%s%s; 'mlxcel %s --help' lists the options", (int)(name_size + 2), argument,
           nearest ? "; did you mean '--" : "", nearest ? nearest : "", nearest ? "'?" : "", command->name);
}

// "--name", "--name=value" or "--name value". Moves |*index| past what it used.
static bool parse_long(const mlxcel_cli_command_t* command, size_t argc, const char* const* argv, size_t* index, void* settings, mlxcel_cli_parsed_t* parsed) {
  const char* argument = argv[(*index)++];
  const char* equals = strchr(argument, '=');
  size_t name_size = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
  if (name_size == 4 && !equals && memcmp(argument + 2, "help", 4) == 0) return parsed->help = true;
  option_place_t place;
  if (!option_place_find(command, argument + 2, name_size, 0, settings, parsed, &place)) {
    report_unknown_option(command, argument, name_size, parsed);
    return false;
  }
  char origin[160];
  snprintf(origin, sizeof(origin), "option --%s", place.option->name);
  const char* value = equals ? equals + 1 : NULL;
  if (!value && place.option->type == MLXCEL_CLI_FLAG) value = "true";
  if (!value && *index < argc) value = argv[(*index)++];
  if (value) return store_argument(&place, origin, value, parsed);
  report_missing_value(place.option, origin, parsed);
  return false;
}

// "-n value", "-nvalue", or flags in a row ("-qh").
static bool parse_short(const mlxcel_cli_command_t* command, size_t argc, const char* const* argv, size_t* index, void* settings, mlxcel_cli_parsed_t* parsed) {
  const char* argument = argv[(*index)++];
  for (const char* letter = argument + 1; *letter; ++letter) {
    if (*letter == 'h') return parsed->help = true;
    option_place_t place;
    if (!option_place_find(command, NULL, 0, *letter, settings, parsed, &place)) {
      snprintf(parsed->message, sizeof(parsed->message), "unknown option '-%c' in '%s'; 'mlxcel %s --help' lists the options", *letter, argument,
               command->name);
      return false;
    }
    char origin[16];
    snprintf(origin, sizeof(origin), "option -%c", *letter);
    bool is_flag = place.option->type == MLXCEL_CLI_FLAG;
    const char* value = is_flag ? "true" : letter[1] ? letter + 1 : *index < argc ? argv[(*index)++] : NULL;
    if (!value) {
      report_missing_value(place.option, origin, parsed);
      return false;
    }
    if (!store_argument(&place, origin, value, parsed)) return false;
    if (!is_flag) break;
  }
  return true;
}

static void list_choices(const char* const* choices, char* buffer, size_t capacity) {
  size_t used = 0;
  for (size_t i = 0; choices[i] && used < capacity; ++i) used += (size_t)snprintf(buffer + used, capacity - used, "%s%s", i ? ", " : "", choices[i]);
}

static bool add_positional(const mlxcel_cli_command_t* command, const char* text, mlxcel_cli_parsed_t* parsed) {
  size_t maximum = !command->positional_name ? 0 : command->positional_maximum ? command->positional_maximum : 1;
  if (parsed->positional_count >= maximum) {
    snprintf(parsed->message, sizeof(parsed->message), "unexpected argument '%s'; 'mlxcel %s --help' shows the usage", text, command->name);
    return false;
  }
  if (command->positional_choices && parsed->positional_count == 0) {
    size_t i = 0;
    while (command->positional_choices[i] && strcmp(command->positional_choices[i], text) != 0) ++i;
    if (!command->positional_choices[i]) {
      char choices[256] = "";
      list_choices(command->positional_choices, choices, sizeof(choices));
      snprintf(parsed->message, sizeof(parsed->message), "unknown %s '%s'; valid: %s", command->positional_name, text, choices);
      return false;
    }
  }
  parsed->positionals[parsed->positional_count++] = text;
  return true;
}

// "-pg value": an option that is known by a word behind one dash.
static bool parse_word(const option_place_t* place, size_t argc, const char* const* argv, size_t* index, mlxcel_cli_parsed_t* parsed) {
  char origin[160];
  snprintf(origin, sizeof(origin), "option %s", argv[(*index)++]);
  if (*index < argc) return store_argument(place, origin, argv[(*index)++], parsed);
  report_missing_value(place->option, origin, parsed);
  return false;
}

static bool option_place_find_word(const mlxcel_cli_command_t* command, const char* word, void* settings, mlxcel_cli_parsed_t* parsed,
                                   option_place_t* out_place) {
  for (size_t i = 0; option_place_at(command, i, settings, parsed, out_place); ++i) {
    if (out_place->option->word && strcmp(out_place->option->word, word) == 0) return true;
  }
  return false;
}

static bool parse_arguments(const mlxcel_cli_command_t* command, size_t argc, const char* const* argv, void* settings, mlxcel_cli_parsed_t* parsed) {
  bool options_ended = false;
  bool ok = true;
  option_place_t place;
  for (size_t index = 0; ok && !parsed->help && index < argc;) {
    const char* argument = argv[index];
    if (options_ended || argument[0] != '-' || !argument[1]) {
      ok = add_positional(command, argument, parsed);
      ++index;
    } else if (strcmp(argument, "--") == 0) {
      options_ended = true;
      ++index;
    } else if (argument[1] == '-') {
      ok = parse_long(command, argc, argv, &index, settings, parsed);
    } else if (option_place_find_word(command, argument + 1, settings, parsed, &place)) {
      ok = parse_word(&place, argc, argv, &index, parsed);
    } else {
      ok = parse_short(command, argc, argv, &index, settings, parsed);
    }
  }
  return ok;
}

bool mlxcel_cli_parse(const mlxcel_cli_command_t* command, size_t argc, const char* const* argv, void* settings, mlxcel_cli_parsed_t* out_parsed) {
  memset(out_parsed, 0, sizeof(*out_parsed));
  out_parsed->command = command;
  if (!parse_arguments(command, argc, argv, settings, out_parsed)) return false;
  if (out_parsed->help) return true;
  if (!parse_environment(command, settings, out_parsed)) return false;
  if (out_parsed->positional_count < command->positional_minimum) {
    char choices[256] = "";
    if (command->positional_choices) list_choices(command->positional_choices, choices, sizeof(choices));
    snprintf(out_parsed->message, sizeof(out_parsed->message), "%s is missing%s%s; usage: mlxcel %s %s", command->positional_name,
             choices[0] ? ", one of: " : "", choices, command->name, command->usage);
    return false;
  }
  return true;
}
