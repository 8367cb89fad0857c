// mlxcel oracle: micro-oracles: every operation class under every profile, bit by bit against MLX and against the declared decomposition.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/json_out.h"
#include "cli/text_table.h"
#include "oracle/explain.h"
#include "oracle/oracle_run.h"

#define ORACLE_FAILURES_SHOWN 20  // rows that are explained in words behind the table

typedef struct oracle_settings_t {
  bool all, json, no_evidence, quiet, disable_compile;
  const char *profile, *dtype, *device, *cpu_level, *cache_folder, *compiler, *evidence_folder, *record_path;
  const char *pinned_object, *mlx_object, *mutation;
  int64_t case_index, element, repeats, threads;
  uint64_t seed;
} oracle_settings_t;

static const char* const cpu_levels[] = {"v3", "v4", NULL};
static const char* const dtypes[] = {"f32", "f16", "bf16", NULL};

#define ORACLE(field) .offset = offsetof(oracle_settings_t, field)
static const mlxcel_cli_option_t selection_options[] = {
    {.name = "all", .type = MLXCEL_CLI_FLAG, ORACLE(all), .help = "run: every class"},
    {.name = "profile",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "NAME",
     ORACLE(profile),
     .environment = "MLXCEL_ORACLE_PROFILE",
     .help = "only this numeric profile (default: all)"},
    {.name = "dtype", .type = MLXCEL_CLI_CHOICE, .metavar = "DTYPE", ORACLE(dtype), .choices = dtypes, .help = "only activations of this dtype (default: all)"},
    {.name = "device",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "DEVICE",
     ORACLE(device),
     .environment = "MLXCEL_ORACLE_DEVICE",
     .help = "local-sync or local-task (default: both)"},
    {.name = "case",
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "I",
     ORACLE(case_index),
     .minimum = -1,
     .maximum = 1 << 20,
     .help = "only case I of the class, as 'oracle list CLASS' numbers them; such a run records no evidence (default: all)"},
    {.name = "element",
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "I",
     ORACLE(element),
     .minimum = -1,
     .maximum = (double)(1ll << 40),
     .help = "explain: output I (flat index) instead of the first that differs"},
};
static const mlxcel_cli_option_t run_options[] = {
    {.name = "repeat",
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     ORACLE(repeats),
     .minimum = 1,
     .maximum = MLXCEL_ORACLE_REPEATS_MAX,
     .help = "calls of every module over the same operands; all must agree (default 3)"},
    {.name = "seed", .type = MLXCEL_CLI_SEED, .metavar = "N", ORACLE(seed), .help = "of the operands; 'random' for one that the report names (default fixed)"},
    {.name = "threads",
     .short_name = 't',
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     ORACLE(threads),
     .minimum = 0,
     .maximum = 64,
     .help = "compilations at a time; 0 = one for each processor that this process may use (default 0)"},
    {.name = "cpu-level",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "LEVEL",
     ORACLE(cpu_level),
     .choices = cpu_levels,
     .help = "x86-64 level of the kernels: v3, v4 (default: the best that this processor has)"},
    {.name = "cache-dir",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     ORACLE(cache_folder),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "compiled modules (default $XDG_CACHE_HOME/mlxcel, or ~/.cache/mlxcel)"},
    {.name = "compiler",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE",
     ORACLE(compiler),
     .environment = "MLXCEL_XLA_IREE_COMPILE",
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help = "the iree-compile program (default: the one that the build knows)"},
    {.name = "mlx-eager", .type = MLXCEL_CLI_FLAG, ORACLE(disable_compile), .help = "the reference runs without MLX's fused graphs (MLX_DISABLE_COMPILE=1)"},
    {.name = "quiet", .short_name = 'q', .type = MLXCEL_CLI_FLAG, ORACLE(quiet), .help = "no progress on stderr"},
};
static const mlxcel_cli_option_t output_options[] = {
    {.name = "json", .type = MLXCEL_CLI_FLAG, ORACLE(json), .help = "print a JSON array: one report a case, profile and device"},
    {.name = "evidence-dir",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     ORACLE(evidence_folder),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "where records are written (default $XDG_DATA_HOME/mlxcel/evidence, or ~/.local/share/mlxcel/evidence)"},
    {.name = "no-evidence", .type = MLXCEL_CLI_FLAG, ORACLE(no_evidence), .help = "record nothing"},
    {.name = "record",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE",
     ORACLE(record_path),
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help = "also write the records of profile pinned-f32 to FILE, as they are built into the program"},
};
static const mlxcel_cli_option_t mutation_options[] = {
    {.name = "pinned-object",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE",
     ORACLE(pinned_object),
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help = "this object file instead of the pinned kernels"},
    {.name = "mlx-object",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE",
     ORACLE(mlx_object),
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help = "this object file instead of the kernels of profile mlx-cpu-0.32.4"},
    {.name = "mutate",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "'PATTERN=>REPLACEMENT'",
     ORACLE(mutation),
     .help = "change every occurrence in the emitted text; an error if there is none"},
};
#define GROUP(title, list) \
  { title, list, sizeof(list) / sizeof(list[0]), 0 }
static const mlxcel_cli_group_t groups[] = {GROUP("selection", selection_options), GROUP("run", run_options), GROUP("output", output_options),
                                            GROUP("mutation tests (nothing is recorded)", mutation_options)};

static void initialize_settings(void* memory) {
  oracle_settings_t* settings = memory;
  mlxcel_oracle_options_t defaults;
  mlxcel_oracle_options_initialize(&defaults);
  settings->case_index = settings->element = -1;
  settings->repeats = defaults.repeats;
  settings->seed = defaults.seed;
}

// Prints and drops |status|.
static int report_status(iree_status_t status) {
  if (iree_status_is_ok(status)) return MLXCEL_CLI_EXIT_OK;
  char text[4096];
  bool is_usage = iree_status_is_invalid_argument(status), is_cancelled = iree_status_is_cancelled(status);
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  mlxcel_cli_error("%s", text);
  return is_cancelled ? MLXCEL_CLI_EXIT_INTERRUPTED : is_usage ? MLXCEL_CLI_EXIT_USAGE : MLXCEL_CLI_EXIT_FAILURE;
}

//===- list ---------------------------------------------------------------------------------------------------------------------------------------------===//

static bool profile_is_wanted(const oracle_settings_t* settings, const mlxcel_profile_t* profile) {
  return !settings->profile || strcmp(settings->profile, profile->name) == 0;
}

static bool class_is_wanted(const mlxcel_cli_parsed_t* parsed, const char* name) {
  for (size_t i = 1; i < parsed->positional_count; ++i) {
    if (strcmp(parsed->positionals[i], name) == 0) return true;
  }
  return parsed->positional_count < 2;
}

static json_t* case_profiles(const oracle_settings_t* settings, const mlxcel_oracle_case_t* item) {
  json_t* list = json_array();
  const mlxcel_profile_t* profile;
  mlxcel_operation_t operation;
  for (size_t i = 0; list && (profile = mlxcel_profile_at(i)) != NULL; ++i) {
    if (!profile_is_wanted(settings, profile) || !mlxcel_oracle_profile_runs(profile, item, &operation)) continue;
    json_array_append_new(list, json_string(profile->name));
  }
  return list;
}

static json_t* case_to_json(const oracle_settings_t* settings, const mlxcel_oracle_case_t* item) {
  char shape[256];
  mlxcel_operation_shape_text(&item->operation, shape, sizeof(shape));
  json_t* object = json_pack("{s:s, s:I, s:s, s:s, s:s, s:s, s:s, s:I}", "class", item->class_name, "case", (json_int_t)item->index, "op",
                             mlxcel_op_class_name(item->operation.op), "variant", mlxcel_op_variant_name(item->operation.variant), "dtype",
                             mlxcel_dtype_name(item->operation.dtype), "weight_dtype", mlxcel_dtype_name(item->operation.weight_dtype), "shape", shape,
                             "outputs", (json_int_t)mlxcel_oracle_output_count(&item->operation));
  if (object && mlxcel_cli_json_set(object, "profiles", case_profiles(settings, item))) return object;
  json_decref(object);
  return NULL;
}

// A cell with the case's profiles.
static void add_profiles_cell(const json_t* profiles, mlxcel_cli_table_t* table) {
  char text[256] = "";
  size_t used = 0, i;
  json_t* name;
  json_array_foreach(profiles, i, name) {
    if (used < sizeof(text)) used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "", json_string_value(name));
  }
  mlxcel_cli_table_add(table, "%s", text);
}

static bool print_case_table(const json_t* list) {
  static const char* const headers[] = {"CLASS", ">CASE", "VARIANT", "DTYPE", "WEIGHTS", ">OUTPUTS", "SHAPE", "PROFILES"};
  mlxcel_cli_table_t table;
  mlxcel_cli_table_initialize(8, headers, &table);
  size_t i;
  json_t* item;
  json_array_foreach(list, i, item) {
    mlxcel_cli_table_add(&table, "%s", json_string_value(json_object_get(item, "class")));
    mlxcel_cli_table_add(&table, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(item, "case")));
    mlxcel_cli_table_add(&table, "%s", json_string_value(json_object_get(item, "variant")));
    mlxcel_cli_table_add(&table, "%s", json_string_value(json_object_get(item, "dtype")));
    mlxcel_cli_table_add(&table, "%s", json_string_value(json_object_get(item, "weight_dtype")));
    mlxcel_cli_table_add(&table, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(item, "outputs")));
    mlxcel_cli_table_add(&table, "%s", json_string_value(json_object_get(item, "shape")));
    add_profiles_cell(json_object_get(item, "profiles"), &table);
  }
  bool ok = mlxcel_cli_table_print(&table);
  mlxcel_cli_table_deinitialize(&table);
  return ok;
}

static int list_cases(const oracle_settings_t* settings, const mlxcel_cli_parsed_t* parsed) {
  mlxcel_oracle_cases_t cases;
  int exit_code = report_status(mlxcel_oracle_cases_make(&cases));
  if (exit_code) return exit_code;
  json_t* list = json_array();
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < cases.count; ++i) {
    const mlxcel_oracle_case_t* item = &cases.items[i];
    if (!class_is_wanted(parsed, item->class_name)) continue;
    if (settings->dtype && strcmp(settings->dtype, mlxcel_dtype_name(item->operation.dtype)) != 0) continue;
    ok = json_array_append_new(list, case_to_json(settings, item)) == 0;
  }
  mlxcel_oracle_cases_deinitialize(&cases);
  if (settings->json) {
    ok = mlxcel_cli_json_print(ok ? list : NULL, 2) && ok;
  } else {
    ok = ok && print_case_table(list);
    json_decref(list);
  }
  return ok ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

//===- run ----------------------------------------------------------------------------------------------------------------------------------------------===//

static void show_progress(void* user_data, const char* step, size_t done, size_t total) {
  (void)user_data;
  mlxcel_cli_message("\r%s %zu of %zu ", step, done, total);
}

// "mlxcel oracle run ..." with the arguments that select: what a report is reproduced with.
static void write_command_line(const oracle_settings_t* settings, const mlxcel_cli_parsed_t* parsed, char* buffer, size_t capacity) {
  size_t used = (size_t)snprintf(buffer, capacity, "mlxcel oracle");
  for (size_t i = 0; i < parsed->positional_count && used < capacity; ++i)
    used += (size_t)snprintf(buffer + used, capacity - used, " %s", parsed->positionals[i]);
  const struct {
    const char *name, *value;
  } texts[] = {{"profile", settings->profile},      {"dtype", settings->dtype},     {"device", settings->device},
               {"cpu-level", settings->cpu_level},  {"mutate", settings->mutation}, {"pinned-object", settings->pinned_object},
               {"mlx-object", settings->mlx_object}};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && used < capacity; ++i) {
    if (texts[i].value) used += (size_t)snprintf(buffer + used, capacity - used, " --%s '%s'", texts[i].name, texts[i].value);
  }
  if (settings->disable_compile && used < capacity) used += (size_t)snprintf(buffer + used, capacity - used, " --mlx-eager");
  if (settings->all && used < capacity) used += (size_t)snprintf(buffer + used, capacity - used, " --all");
  if (settings->case_index >= 0 && used < capacity) used += (size_t)snprintf(buffer + used, capacity - used, " --case %" PRId64, settings->case_index);
  if (used < capacity) snprintf(buffer + used, capacity - used, " --repeat %" PRId64 " --seed %" PRIu64, settings->repeats, settings->seed);
}

static void make_options(const oracle_settings_t* settings, const mlxcel_cli_parsed_t* parsed, const char* command_line, mlxcel_oracle_options_t* out_options) {
  mlxcel_oracle_options_initialize(out_options);
  out_options->class_count = parsed->positional_count - 1;
  out_options->classes = parsed->positionals + 1;
  out_options->profile = settings->profile;
  out_options->dtype = settings->dtype;
  out_options->device = settings->device;
  out_options->case_index = settings->case_index;
  out_options->repeats = (uint32_t)settings->repeats;
  out_options->seed = settings->seed;
  out_options->threads = (uint32_t)settings->threads;
  out_options->cpu_level = settings->cpu_level;
  out_options->cache_folder = settings->cache_folder;
  out_options->compiler = settings->compiler;
  out_options->pinned_object_path = settings->pinned_object;
  out_options->mlx_object_path = settings->mlx_object;
  out_options->mutation = settings->mutation;
  out_options->disable_compile = settings->disable_compile;
  out_options->evidence_folder = settings->evidence_folder;
  out_options->no_evidence = settings->no_evidence;
  out_options->record_path = settings->record_path;
  out_options->command_line = command_line;
  out_options->cancelled = mlxcel_cli_interrupt_is_requested;
  if (!settings->quiet && mlxcel_cli_stderr_is_terminal()) out_options->notify = show_progress;
}

static bool print_rows(size_t count, const mlxcel_oracle_row_t* rows) {
  static const char* const headers[] = {"CLASS", "PROFILE", "DTYPE", "DEVICE", ">CASES", ">OUTPUTS", ">MISMATCHES", "EARNED"};
  mlxcel_cli_table_t table;
  mlxcel_cli_table_initialize(8, headers, &table);
  for (size_t i = 0; i < count; ++i) {
    const mlxcel_oracle_row_t* row = &rows[i];
    char earned[96], asked[96];
    mlxcel_oracle_earned_text(row->worst, earned);
    mlxcel_oracle_asked_text(row->worst, asked);
    mlxcel_cli_table_add(&table, "%s", row->first->class_name);
    mlxcel_cli_table_add(&table, "%s", row->first->profile->name);
    mlxcel_cli_table_add(&table, "%s", mlxcel_dtype_name(row->first->dtype));
    mlxcel_cli_table_add(&table, "%s", row->first->device);
    mlxcel_cli_table_add(&table, "%zu", row->cases);
    mlxcel_cli_table_add(&table, "%" PRIu64, row->outputs);
    mlxcel_cli_table_add(&table, "%" PRIu64, row->mismatches);
    if (!row->was_run && row->failed_cases == 0) {
      mlxcel_cli_table_add(&table, "not run");
    } else if (row->failed_cases) {
      mlxcel_cli_table_add(&table, "%s, not %s in %zu", earned, asked, row->failed_cases);
    } else {
      mlxcel_cli_table_add(&table, "%s", earned);
    }
  }
  bool ok = mlxcel_cli_table_print(&table);
  mlxcel_cli_table_deinitialize(&table);
  return ok;
}

static void print_failures(size_t count, const mlxcel_oracle_row_t* rows) {
  size_t shown = 0, failed = 0;
  for (size_t i = 0; i < count; ++i) {
    const mlxcel_oracle_report_t* worst = rows[i].worst;
    if (rows[i].failed_cases == 0 || ++failed > ORACLE_FAILURES_SHOWN) continue;
    ++shown;
    mlxcel_cli_error("%s case %zu, %s on %s (%s): %s; `mlxcel oracle explain %s --case %zu --profile %s --device %s` shows the steps", worst->class_name,
                     worst->case_index, worst->profile->name, worst->device, worst->shape, worst->claims.reason, worst->class_name, worst->case_index,
                     worst->profile->name, worst->device);
  }
  if (failed > shown) mlxcel_cli_error("and %zu more rows", failed - shown);
}

static int print_reports(const oracle_settings_t* settings, const mlxcel_oracle_reports_t* reports) {
  size_t count = 0;
  mlxcel_oracle_row_t* rows = NULL;
  int exit_code = report_status(mlxcel_oracle_rows_make(reports, &count, &rows));
  if (exit_code) return exit_code;
  bool ok = settings->json ? mlxcel_cli_json_print(mlxcel_oracle_reports_to_json(reports), 2) : print_rows(count, rows);
  if (!reports->has_reference) mlxcel_cli_note("no reference: %s", reports->reference_missing);
  print_failures(count, rows);
  free(rows);
  if (reports->record_note[0]) mlxcel_cli_note("%s", reports->record_note);
  if (reports->record_failure[0]) mlxcel_cli_error("what was shown couldn't be recorded: %s", reports->record_failure);
  return ok && !reports->record_failure[0] && mlxcel_oracle_reports_pass(reports) ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

static int run_oracles(const oracle_settings_t* settings, const mlxcel_cli_parsed_t* parsed, const mlxcel_oracle_options_t* options) {
  if (settings->all != (parsed->positional_count == 1)) {
    mlxcel_cli_error("%s; usage: mlxcel oracle run (CLASS... | --all)", settings->all ? "--all and a class are both given" : "no class is given");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  mlxcel_oracle_reports_t reports;
  iree_status_t status = mlxcel_oracle_run(options, &reports);
  if (options->notify) mlxcel_cli_message("\r\x1b[K");
  int exit_code = report_status(status);
  if (exit_code) return exit_code;
  exit_code = print_reports(settings, &reports);
  mlxcel_oracle_reports_deinitialize(&reports);
  return exit_code;
}

//===- explain ------------------------------------------------------------------------------------------------------------------------------------------===//

static int explain_case(const oracle_settings_t* settings, const mlxcel_oracle_options_t* options) {
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  iree_status_t status = mlxcel_oracle_explain(options, settings->element, &text);
  if (iree_status_is_ok(status)) status = mlxcel_strbuf_take_status(&text);
  if (text.size) mlxcel_cli_output_write(text.data, text.size);
  mlxcel_strbuf_deinitialize(&text);
  return report_status(status);
}

static int run_oracle(void* memory, const mlxcel_cli_parsed_t* parsed) {
  const oracle_settings_t* settings = memory;
  const char* action = parsed->positionals[0];
  if (strcmp(action, "list") == 0) return list_cases(settings, parsed);
  char command_line[1024];
  write_command_line(settings, parsed, command_line, sizeof(command_line));
  mlxcel_oracle_options_t options;
  make_options(settings, parsed, command_line, &options);
  if (strcmp(action, "run") == 0) return run_oracles(settings, parsed, &options);
  if (strcmp(action, "explain") == 0) return explain_case(settings, &options);
  mlxcel_cli_error("unknown action '%s'; valid: list, run, explain", action);
  return MLXCEL_CLI_EXIT_USAGE;
}

const mlxcel_cli_command_t mlxcel_cli_command_oracle = {
    .name = "oracle",
    .summary = "check operations bit by bit against MLX and against their declared order",
    .usage = "(list [CLASS...] | run (CLASS... | --all) | explain CLASS --case I --profile NAME) [options]",
    .details =
        "run compiles every case under every profile that defines it, runs it on the local devices, compares it with MLX's own CPU library and with the\n"
        "declared decomposition, and records what was shown as evidence. It exits with 0 only if every row earned the claim that its profile needs.\n"
        "explain computes the first output that differs alone on both sides and prints the steps of both orders side by side.",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .positional_name = "action",
    .positional_minimum = 1,
    .positional_maximum = MLXCEL_CLI_POSITIONALS_MAX,
    .settings_size = sizeof(oracle_settings_t),
    .initialize = initialize_settings,
    .run = run_oracle,
};
