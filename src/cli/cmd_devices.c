// mlxcel devices: what this build can run on, here and now.
#include <stdbool.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_out.h"
#include "cli/text_table.h"

typedef struct devices_settings_t {
  bool json;
} devices_settings_t;

static const mlxcel_cli_option_t options[] = {
    {.name = "json", .type = MLXCEL_CLI_FLAG, .help = "print a JSON array"},
};
static const mlxcel_cli_group_t groups[] = {{"output", options, 1, 0}};

static bool print_devices(const json_t* devices) {
  static const char* const headers[] = {"DEVICE", "AVAILABLE", "DETAIL"};
  mlxcel_cli_table_t table;
  mlxcel_cli_table_initialize(3, headers, &table);
  size_t index;
  json_t* device;
  json_array_foreach(devices, index, device) {
    const char* detail = json_string_value(json_object_get(device, "detail"));
    const char* name = json_string_value(json_object_get(device, "name"));
    mlxcel_cli_table_add(&table, "%s", name ? name : "?");
    mlxcel_cli_table_add(&table, "%s", json_is_true(json_object_get(device, "available")) ? "yes" : "no");
    mlxcel_cli_table_add(&table, "%s", detail ? detail : "");
  }
  bool ok = mlxcel_cli_table_print(&table);
  mlxcel_cli_table_deinitialize(&table);
  return ok;
}

static int run_devices(void* settings, const mlxcel_cli_parsed_t* parsed) {
  (void)parsed;
  char* text = NULL;
  mlxcel_error_t* error = mlxcel_devices(&text);
  if (error) return mlxcel_cli_error_report(error);
  json_t* devices = json_loads(text, 0, NULL);
  mlxcel_free(text);
  if (!json_is_array(devices)) {
    mlxcel_cli_error("the engine's list of devices isn't a JSON array; this is a bug of mlxcel");
    json_decref(devices);
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  bool ok;
  if (((devices_settings_t*)settings)->json) {
    ok = mlxcel_cli_json_print(devices, 2);
  } else {
    ok = print_devices(devices);
    json_decref(devices);
  }
  return ok ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

const mlxcel_cli_command_t mlxcel_cli_command_devices = {
    .name = "devices",
    .summary = "list the devices that this build can run on",
    .usage = "[--json]",
    .groups = groups,
    .group_count = 1,
    .settings_size = sizeof(devices_settings_t),
    .run = run_devices,
};
