// mlxcel cache: a look at the compiled modules.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "artifact/artifact_cache.h"
#include "base/json.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_out.h"
#include "cli/text_table.h"

#define CACHE_AGE_DAYS_MAX 36500  // a century: far below any overflow in seconds

typedef struct cache_settings_t {
  const char* folder;
  int64_t age_days;
  bool json;
} cache_settings_t;

#define CACHE(field) .offset = offsetof(cache_settings_t, field)
static const mlxcel_cli_option_t options[] = {
    {.name = "cache-dir",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     CACHE(folder),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "compiled modules (default $XDG_CACHE_HOME/mlxcel, or ~/.cache/mlxcel)"},
    {.name = "older-than",
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "DAYS",
     CACHE(age_days),
     .minimum = 0,
     .maximum = CACHE_AGE_DAYS_MAX,
     .help = "prune: remove what wasn't used for so many days; 0 = everything (default 30)"},
    {.name = "json", .type = MLXCEL_CLI_FLAG, CACHE(json), .help = "print JSON"},
};
static const mlxcel_cli_group_t groups[] = {{"options", options, sizeof(options) / sizeof(options[0]), 0}};
static const char* const actions[] = {"ls", "verify", "prune", NULL};

static void initialize_settings(void* settings) { ((cache_settings_t*)settings)->age_days = 30; }

static void format_time(int64_t unix_seconds, char buffer[32]) {
  time_t seconds = (time_t)unix_seconds;
  struct tm parts;
  if (!gmtime_r(&seconds, &parts) || !strftime(buffer, 32, "%Y-%m-%dT%H:%M:%SZ", &parts)) snprintf(buffer, 32, "?");
}

// An entry of another mlxcel isn't damaged: this one only can't check it.
static bool entry_is_damaged(const mlxcel_artifact_listing_t* entry) { return !entry->is_foreign && !iree_status_is_ok(entry->status); }

static void format_entry_status(const mlxcel_artifact_listing_t* entry, char* buffer, size_t capacity) {
  if (entry->is_foreign) {
    snprintf(buffer, capacity, "not checked");
  } else if (iree_status_is_ok(entry->status)) {
    snprintf(buffer, capacity, "ok");
  } else {
    mlxcel_status_text(entry->status, buffer, capacity);
  }
}

static bool print_entries(size_t count, const mlxcel_artifact_listing_t* entries, bool verify) {
  static const char* const headers[] = {"KEY", ">BYTES", "CREATED", "USED", "MODULE", "STATE"};
  mlxcel_cli_table_t table;
  size_t column_count = verify ? 6 : 5;
  mlxcel_cli_table_initialize(column_count, headers, &table);
  for (size_t i = 0; i < count; ++i) {
    char created[32], used[32], state[1024];
    if (entries[i].created_unix) {
      format_time(entries[i].created_unix, created);
    } else {
      snprintf(created, sizeof(created), "?");
    }
    format_time(entries[i].used_unix, used);
    mlxcel_cli_table_add(&table, "%.12s", entries[i].key);
    mlxcel_cli_table_add(&table, "%" PRIu64, entries[i].byte_count);
    mlxcel_cli_table_add(&table, "%s", created);
    mlxcel_cli_table_add(&table, "%s", used);
    mlxcel_cli_table_add(&table, "%s", entries[i].model ? entries[i].model : "?");
    if (!verify) continue;
    format_entry_status(&entries[i], state, sizeof(state));
    mlxcel_cli_table_add(&table, "%s", state);
  }
  bool ok = mlxcel_cli_table_print(&table);
  mlxcel_cli_table_deinitialize(&table);
  return ok;
}

static json_t* make_entry(const mlxcel_artifact_listing_t* entry, bool verify) {
  json_t* object = json_pack("{s:s, s:I, s:I, s:I, s:s?, s:b}", "key", entry->key, "bytes", (json_int_t)entry->byte_count, "created_unix",
                             (json_int_t)entry->created_unix, "used_unix", (json_int_t)entry->used_unix, "module", entry->model, "foreign", entry->is_foreign);
  if (!object || !verify) return object;
  char state[1024];
  format_entry_status(entry, state, sizeof(state));
  bool ok = mlxcel_cli_json_set(object, "ok", entry->is_foreign ? json_null() : json_boolean(iree_status_is_ok(entry->status)));
  if (ok && entry_is_damaged(entry)) ok = mlxcel_cli_json_set(object, "error", mlxcel_json_string_any(state));
  if (ok) return object;
  json_decref(object);
  return NULL;
}

static bool print_entries_json(const char* root, size_t count, const mlxcel_artifact_listing_t* entries, bool verify) {
  json_t* list = json_array();
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < count; ++i) ok = json_array_append_new(list, make_entry(&entries[i], verify)) == 0;
  json_t* report = ok ? json_pack("{s:s, s:O}", "folder", root, "entries", list) : NULL;
  json_decref(list);
  return mlxcel_cli_json_print(report, 2);
}

static int list_entries(const char* root, const cache_settings_t* settings, bool verify) {
  size_t count = 0;
  mlxcel_artifact_listing_t* entries = NULL;
  int exit_code = mlxcel_cli_status_report(mlxcel_artifact_cache_list(root, verify, &count, &entries));
  if (exit_code) return exit_code;
  bool ok = settings->json ? print_entries_json(root, count, entries, verify) : print_entries(count, entries, verify);
  size_t bad_count = 0;
  for (size_t i = 0; i < count; ++i) bad_count += entry_is_damaged(&entries[i]);
  mlxcel_artifact_cache_list_free(count, entries);
  if (!settings->json) mlxcel_cli_message("%zu %s in %s\n", count, count == 1 ? "entry" : "entries", root);
  if (bad_count)
    mlxcel_cli_error(
        "damaged: %zu of %zu; they are never run: the next load compiles anew and sets them aside, 'mlxcel cache prune --older-than 0' removes all entries",
        bad_count, count);
  return ok && !bad_count ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

static int prune_entries(const char* root, const cache_settings_t* settings) {
  size_t count = 0;
  uint64_t bytes = 0;
  int exit_code = mlxcel_cli_status_report(mlxcel_artifact_cache_prune(root, (uint32_t)settings->age_days, &count, &bytes));
  if (exit_code) return exit_code;
  if (settings->json) {
    json_t* report = json_pack("{s:s, s:I, s:I}", "folder", root, "removed", (json_int_t)count, "removed_bytes", (json_int_t)bytes);
    return mlxcel_cli_json_print(report, 2) ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
  }
  mlxcel_cli_output_format("removed %zu %s, %.1f MiB\n", count, count == 1 ? "entry" : "entries", (double)bytes / (1 << 20));
  return MLXCEL_CLI_EXIT_OK;
}

static int run_cache(void* settings_memory, const mlxcel_cli_parsed_t* parsed) {
  const cache_settings_t* settings = settings_memory;
  const char* action = parsed->positionals[0];
  bool prunes = strcmp(action, "prune") == 0;
  if (!prunes && mlxcel_cli_parsed_source(parsed, "older-than") == MLXCEL_CLI_SOURCE_COMMAND_LINE) {
    mlxcel_cli_error("--older-than chooses what prune removes; leave it out with %s", action);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  char* default_root = NULL;
  if (!settings->folder) {
    int exit_code = mlxcel_cli_status_report(mlxcel_artifact_cache_default_root(&default_root));
    if (exit_code) return exit_code;
  }
  const char* root = settings->folder ? settings->folder : default_root;
  int exit_code = prunes ? prune_entries(root, settings) : list_entries(root, settings, strcmp(action, "verify") == 0);
  free(default_root);
  return exit_code;
}

const mlxcel_cli_command_t mlxcel_cli_command_cache = {
    .name = "cache",
    .summary = "list, verify or prune the compiled modules",
    .usage = "(ls | verify | prune) [options]",
    .groups = groups,
    .group_count = 1,
    .positional_name = "action",
    .positional_minimum = 1,
    .positional_choices = actions,
    .settings_size = sizeof(cache_settings_t),
    .initialize = initialize_settings,
    .run = run_cache,
};
