// mlxcel inspect: what a checkpoint folder holds, and whether this program can run it.
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_out.h"
#include "cli/text_table.h"

typedef struct inspect_settings_t {
  const char* model;
  bool json;
} inspect_settings_t;

#define INSPECT(field) .offset = offsetof(inspect_settings_t, field)
static const mlxcel_cli_option_t options[] = {
    {.name = "model",
     .short_name = 'm',
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     INSPECT(model),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "checkpoint folder (or give it without -m)"},
    {.name = "json", .type = MLXCEL_CLI_FLAG, INSPECT(json), .help = "print the report as JSON"},
};
static const mlxcel_cli_group_t groups[] = {{"options", options, sizeof(options) / sizeof(options[0]), 0}};

// Config values are written with few digits; more would show the binary fraction of a float.
#define INSPECT_REAL_DIGITS 7

// A short text for any JSON value: strings without quotes, the rest as JSON; malloc'ed, NULL if memory ran out.
// Names come from files: control bytes become '?', so that they can't steer a terminal.
static char* make_value_text(const json_t* value) {
  char* text = json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(INSPECT_REAL_DIGITS));
  for (char* c = text; c && *c; ++c) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  }
  return text;
}

static void print_value(size_t indent, const char* key, const json_t* value) {
  char* text = make_value_text(value);
  mlxcel_cli_output_format("%*s%s: %s\n", (int)indent, "", key, text ? text : "?");
  free(text);
}

static void print_object(const char* title, json_t* object) {
  mlxcel_cli_output_format("%s:\n", title);
  const char* key;
  json_t* value;
  json_object_foreach(object, key, value) print_value(2, key, value);
}

static void print_list(const char* title, const json_t* list) {
  if (json_array_size(list) == 0) return;
  mlxcel_cli_output_format("%s:\n", title);
  size_t index;
  json_t* item;
  json_array_foreach(list, index, item) {
    char* text = make_value_text(item);
    mlxcel_cli_output_format("  - %s\n", text ? text : "?");
    free(text);
  }
}

static void add_value_cell(mlxcel_cli_table_t* table, const json_t* tensor, const char* key) {
  const json_t* value = json_object_get(tensor, key);
  char* text = value && !json_is_null(value) ? make_value_text(value) : NULL;
  mlxcel_cli_table_add(table, "%s", text ? text : "-");
  free(text);
}

static void add_quantization_cell(mlxcel_cli_table_t* table, const json_t* tensor) {
  const json_t* value = json_object_get(tensor, "quantization");
  json_int_t bits = json_integer_value(json_object_get(value, "bits"));
  if (bits == 0) {
    mlxcel_cli_table_add(table, "-");
  } else {
    mlxcel_cli_table_add(table, "%d bits, group %d", (int)bits, (int)json_integer_value(json_object_get(value, "group_size")));
  }
}

static bool print_tensors(const json_t* tensors) {
  static const char* const headers[] = {"TENSOR", "DTYPE", "SHAPE", ">BYTES", "QUANTIZATION"};
  static const char* const keys[] = {"name", "dtype", "shape", "bytes"};
  mlxcel_cli_output_format("\n");
  mlxcel_cli_table_t table;
  mlxcel_cli_table_initialize(5, headers, &table);
  size_t index;
  json_t* tensor;
  json_array_foreach(tensors, index, tensor) {
    for (size_t i = 0; i < 4; ++i) add_value_cell(&table, tensor, keys[i]);
    add_quantization_cell(&table, tensor);
  }
  bool ok = mlxcel_cli_table_print(&table);
  mlxcel_cli_table_deinitialize(&table);
  return ok;
}

// Everything that the report says, whatever its keys: single values first, then groups and lists, then the tensors.
static bool print_report(json_t* report) {
  const char* key;
  json_t* value;
  json_object_foreach(report, key, value) {
    if (!json_is_object(value) && !json_is_array(value)) print_value(0, key, value);
  }
  json_object_foreach(report, key, value) {
    if (json_is_object(value)) print_object(key, value);
    if (json_is_array(value) && strcmp(key, "tensors") != 0) print_list(key, value);
  }
  const json_t* tensors = json_object_get(report, "tensors");
  return json_array_size(tensors) == 0 || print_tensors(tensors);
}

static int run_inspect(void* settings_memory, const mlxcel_cli_parsed_t* parsed) {
  const inspect_settings_t* settings = settings_memory;
  const char* folder = parsed->positional_count ? parsed->positionals[0] : settings->model;
  if (!folder) {
    mlxcel_cli_error("no checkpoint folder given; usage: mlxcel inspect FOLDER");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (parsed->positional_count && mlxcel_cli_parsed_source(parsed, "model") == MLXCEL_CLI_SOURCE_COMMAND_LINE) {
    mlxcel_cli_error("two folders given, '%s' and -m '%s'; give one", folder, settings->model);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  char* text = NULL;
  mlxcel_error_t* error = mlxcel_inspect(folder, &text);
  if (error) return mlxcel_cli_error_report(error);
  bool ok = true;
  if (settings->json) {
    size_t size = strlen(text);
    mlxcel_cli_output_format("%s%s", text, size && text[size - 1] == '\n' ? "" : "\n");
  } else {
    json_t* report = json_loads(text, 0, NULL);
    ok = json_is_object(report) && print_report(report);
    if (!json_is_object(report)) mlxcel_cli_error("the engine's report isn't a JSON object; this is a bug of mlxcel");
    json_decref(report);
  }
  mlxcel_free(text);
  return ok ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

const mlxcel_cli_command_t mlxcel_cli_command_inspect = {
    .name = "inspect",
    .summary = "show what a checkpoint folder holds and whether it can run",
    .usage = "FOLDER [--json]",
    .groups = groups,
    .group_count = 1,
    .positional_name = "folder",
    .settings_size = sizeof(inspect_settings_t),
    .run = run_inspect,
};
