// mlxcel capabilities: what this build may run here, from evidence only. A developer's subcommand: includes the headers of qualify and artifact.
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact_cache.h"
#include "artifact/compiler_identity.h"
#include "base/json.h"
#include "base/log.h"
#include "build_identity.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_out.h"
#include "cli/text_table.h"
#include "qualify/capability.h"

typedef struct capabilities_settings_t {
  const char *profile, *cpu_level, *evidence_folder, *compiler, *cache_folder;
  bool all, json;
} capabilities_settings_t;

static const char* const cpu_levels[] = {"v3", "v4", NULL};

#define SETTING(field) .offset = offsetof(capabilities_settings_t, field)
static const mlxcel_cli_option_t options[] = {
    {.name = "profile", .type = MLXCEL_CLI_TEXT, .metavar = "NAME", SETTING(profile), .help = "only this profile (default: all)"},
    {.name = "all", .type = MLXCEL_CLI_FLAG, SETTING(all), .help = "a row for every storage and dtype, in place of their number"},
    {.name = "cpu-level",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "LEVEL",
     SETTING(cpu_level),
     .choices = cpu_levels,
     .help = "x86-64 level of the kernels: v3, v4 (default: the best that this processor has)"},
    {.name = "evidence-dir",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     SETTING(evidence_folder),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "records of micro-oracles (default $XDG_DATA_HOME/mlxcel/evidence, or ~/.local/share/mlxcel/evidence)"},
    {.name = "compiler",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE",
     SETTING(compiler),
     .environment = "MLXCEL_XLA_IREE_COMPILE",
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help = "the iree-compile program that modules are made with (default: the one that the build knows)"},
    {.name = "cache-dir",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     SETTING(cache_folder),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "where the compiler's digest is remembered (default $XDG_CACHE_HOME/mlxcel, or ~/.cache/mlxcel)"},
    {.name = "json", .type = MLXCEL_CLI_FLAG, SETTING(json), .help = "print JSON: every row, and the profiles' summaries"},
};
static const mlxcel_cli_group_t groups[] = {{"options", options, sizeof(options) / sizeof(options[0]), 0}};

// --- rows ----------------------------------------------------------------------------------------------------------------------------------

typedef struct rows_t {
  size_t count;
  mlxcel_capability_t* items;
} rows_t;

// Keeps the rows of one profile.
static void filter_rows(rows_t* rows, const char* profile) {
  size_t kept = 0;
  for (size_t i = 0; i < rows->count; ++i) {
    if (strcmp(rows->items[i].profile, profile) == 0) rows->items[kept++] = rows->items[i];
  }
  rows->count = kept;
}

typedef struct tally_t {
  size_t open, stale, closed;
} tally_t;

// Rows of |profile| on |device|; NULL is any.
static tally_t count_rows(const rows_t* rows, const char* profile, const char* device) {
  tally_t tally = {0};
  for (size_t i = 0; i < rows->count; ++i) {
    const mlxcel_capability_t* row = &rows->items[i];
    if (strcmp(row->profile, profile) != 0 || strcmp(row->device, device) != 0) continue;
    ++*(strcmp(row->state, "open") == 0 ? &tally.open : strcmp(row->state, "stale") == 0 ? &tally.stale : &tally.closed);
  }
  return tally;
}

// Whether row |index| is the first of its profile (and device).
static bool is_first(const rows_t* rows, size_t index, bool of_device) {
  for (size_t i = 0; i < index; ++i) {
    bool same_device = !of_device || strcmp(rows->items[i].device, rows->items[index].device) == 0;
    if (same_device && strcmp(rows->items[i].profile, rows->items[index].profile) == 0) return false;
  }
  return true;
}

static const char* profile_state(const tally_t* tally) {
  if (tally->stale + tally->closed == 0) return "open";
  return tally->open > 0 ? "partly open" : "closed";
}

// --- for people ----------------------------------------------------------------------------------------------------------------------------

// Rows that only differ in storage and dtype.
static bool same_group(const mlxcel_capability_t* left, const mlxcel_capability_t* right) {
  return strcmp(left->profile, right->profile) == 0 && strcmp(left->op, right->op) == 0 && strcmp(left->variant, right->variant) == 0 &&
         strcmp(left->device, right->device) == 0 && strcmp(left->claim, right->claim) == 0 && left->is_inferred == right->is_inferred &&
         strcmp(left->state, right->state) == 0 && strcmp(left->reason, right->reason) == 0;
}

// How many rows the group of row |index| has from there on; 0 if the row isn't its first.
static size_t group_size(const rows_t* rows, size_t index) {
  size_t size = 1;
  for (size_t i = 0; i < index; ++i) {
    if (same_group(&rows->items[i], &rows->items[index])) return 0;
  }
  for (size_t i = index + 1; i < rows->count; ++i) size += same_group(&rows->items[i], &rows->items[index]);
  return size;
}

static void add_row(mlxcel_cli_table_t* table, const mlxcel_capability_t* row, size_t size) {
  mlxcel_cli_table_add(table, "%s", row->op);
  mlxcel_cli_table_add(table, "%s", strcmp(row->variant, "none") == 0 ? "" : row->variant);
  if (size == 1) {
    mlxcel_cli_table_add(table, "%s", row->source_dtype);
    mlxcel_cli_table_add(table, "%s", row->operand_dtype);
  } else {
    mlxcel_cli_table_add(table, "%zu kinds", size);
    mlxcel_cli_table_add(table, "%s", "");
  }
  mlxcel_cli_table_add(table, "%s", row->device);
  mlxcel_cli_table_add(table, "%s%s", row->claim, row->is_inferred ? ", inferred" : "");
  mlxcel_cli_table_add(table, "%s", row->state);
  mlxcel_cli_table_add(table, "%s", row->reason);
}

static bool print_profile_rows(const rows_t* rows, const char* profile, bool all) {
  static const char* const headers[] = {"OPERATION", "VARIANT", "SOURCE", "DTYPE", "DEVICE", "CLAIM", "STATE", "REASON"};
  mlxcel_cli_table_t table;
  mlxcel_cli_table_initialize(sizeof(headers) / sizeof(headers[0]), headers, &table);
  for (size_t i = 0; i < rows->count; ++i) {
    if (strcmp(rows->items[i].profile, profile) != 0) continue;
    size_t size = all ? 1 : group_size(rows, i);
    if (size > 0) add_row(&table, &rows->items[i], size);
  }
  bool ok = mlxcel_cli_table_print(&table);
  mlxcel_cli_table_deinitialize(&table);
  return ok;
}

// "pinned-f32 at CPU level v4: local-task open (300 of 300), local-sync closed (0 of 300)".
static void print_summary(const rows_t* rows, size_t index) {
  const mlxcel_capability_t* first = &rows->items[index];
  mlxcel_cli_output_format("%s at CPU level %s:", first->profile, first->cpu_level);
  const char* separator = " ";
  for (size_t i = index; i < rows->count; ++i) {
    if (strcmp(rows->items[i].profile, first->profile) != 0 || !is_first(rows, i, true)) continue;
    tally_t tally = count_rows(rows, first->profile, rows->items[i].device);
    mlxcel_cli_output_format("%s%s %s (%zu of %zu)", separator, rows->items[i].device, profile_state(&tally), tally.open,
                             tally.open + tally.stale + tally.closed);
    separator = ", ";
  }
  mlxcel_cli_output_format("\n");
}

static bool print_rows(const rows_t* rows, bool all) {
  for (size_t i = 0; i < rows->count; ++i) {
    if (!is_first(rows, i, false)) continue;
    if (!print_profile_rows(rows, rows->items[i].profile, all)) return false;
    mlxcel_cli_output_format("\n");
  }
  for (size_t i = 0; i < rows->count; ++i) {
    if (is_first(rows, i, false)) print_summary(rows, i);
  }
  return true;
}

// --- for programs --------------------------------------------------------------------------------------------------------------------------

static json_t* make_row(const mlxcel_capability_t* row) {
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s}", "profile", row->profile, "operation", row->op, "variant", row->variant, "source",
                   row->source_dtype, "dtype", row->operand_dtype, "device", row->device, "cpu_level", row->cpu_level, "claim", row->claim, "inferred",
                   row->is_inferred, "state", row->state, "reason", row->reason);
}

static json_t* make_summary(const rows_t* rows, const mlxcel_capability_t* first) {
  tally_t tally = count_rows(rows, first->profile, first->device);
  return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "profile", first->profile, "device", first->device, "cpu_level", first->cpu_level, "state",
                   profile_state(&tally), "open", (json_int_t)tally.open, "stale", (json_int_t)tally.stale, "closed", (json_int_t)tally.closed);
}

static bool print_rows_json(const rows_t* rows, const char* compiler_digest) {
  json_t *list = json_array(), *summaries = json_array();
  bool ok = list && summaries;
  for (size_t i = 0; ok && i < rows->count; ++i) {
    ok = json_array_append_new(list, make_row(&rows->items[i])) == 0;
    if (ok && is_first(rows, i, true)) ok = json_array_append_new(summaries, make_summary(rows, &rows->items[i])) == 0;
  }
  json_t* report = ok ? json_pack("{s:s?, s:O, s:O}", "compiler_digest", compiler_digest, "profiles", summaries, "capabilities", list) : NULL;
  json_decref(list);
  json_decref(summaries);
  return mlxcel_cli_json_print(report, 2);
}

#define NO_CACHE_FOLDER "/dev/null"  // no folder: nothing is read or written there

// --- the command ---------------------------------------------------------------------------------------------------------------------------

// Says why the compiler stays unknown, and drops |status|.
static void note_unknown_compiler(iree_status_t status) {
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  mlxcel_cli_note("the compiler is unknown, so evidence that depends on it can't be told valid: %s; name one with --compiler", text);
}

// The digest of the compiler that a module would be made with; empty if there is none, which costs what was compiled its worth.
static void find_compiler_digest(const capabilities_settings_t* settings, mlxcel_sha256_hex_t* out_digest) {
  memset(out_digest, 0, sizeof(*out_digest));
  const char* compiler = mlxcel_compiler_choose(settings->compiler, MLXCEL_DEFAULT_COMPILER);
  if (!mlxcel_compiler_is_present(compiler)) {
    note_unknown_compiler(iree_make_status(IREE_STATUS_NOT_FOUND, "there is no program '%s'", compiler ? compiler : MLXCEL_DEFAULT_COMPILER));
    return;
  }
  char* root = NULL;
  // Without a cache the digest isn't remembered, that is all.
  if (!settings->cache_folder) iree_status_ignore(mlxcel_artifact_cache_default_root(&root));
  const char* folder = settings->cache_folder ? settings->cache_folder : root ? root : NO_CACHE_FOLDER;
  iree_status_t status = mlxcel_compiler_digest(folder, compiler, out_digest);
  free(root);
  if (iree_status_is_ok(status)) return;
  memset(out_digest, 0, sizeof(*out_digest));
  note_unknown_compiler(status);
}

static int print_capabilities(const capabilities_settings_t* settings, const rows_t* rows, const char* compiler_digest) {
  if (rows->count == 0) {
    mlxcel_cli_error("profile '%s' is unknown; `mlxcel capabilities` lists all", settings->profile);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  bool ok = settings->json ? print_rows_json(rows, compiler_digest[0] ? compiler_digest : NULL) : print_rows(rows, settings->all);
  return ok ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

static int run_capabilities(void* settings_memory, const mlxcel_cli_parsed_t* parsed) {
  (void)parsed;
  const capabilities_settings_t* settings = settings_memory;
  mlxcel_sha256_hex_t compiler;
  rows_t rows = {0};
  find_compiler_digest(settings, &compiler);
  iree_status_t status = mlxcel_capability_list(settings->evidence_folder, compiler.text, settings->cpu_level, &rows.count, &rows.items);
  if (!iree_status_is_ok(status)) return mlxcel_cli_status_report(status);
  if (settings->profile) filter_rows(&rows, settings->profile);
  int exit_code = print_capabilities(settings, &rows, compiler.text);
  free(rows.items);
  return exit_code;
}

const mlxcel_cli_command_t mlxcel_cli_command_capabilities = {
    .name = "capabilities",
    .summary = "list what may run here, by profile and operation, and what is missing",
    .usage = "[options]",
    .details = "A profile runs a model if each of its operations is open on the device. What is stale or closed says why; `mlxcel oracle run` makes evidence.",
    .groups = groups,
    .group_count = 1,
    .settings_size = sizeof(capabilities_settings_t),
    .run = run_capabilities,
};
