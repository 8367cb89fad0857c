// mlxcel contract: numeric contracts as text: what the profiles define, what a module was compiled under, where two of them differ. A developer's command.
#include <stdlib.h>
#include <string.h>

#include "artifact/artifact_cache.h"
#include "artifact/manifest.h"
#include "base/limits.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/text_table.h"
#include "contract/contract_parse.h"
#include "contract/profiles.h"

typedef struct contract_settings_t {
  const char *profile, *op, *variant, *dtype;
} contract_settings_t;

// All; cli_profile_choices_test compares.
static const char* const profile_names[] = {MLXCEL_PROFILE_PINNED_F32,    MLXCEL_PROFILE_MLX_CPU,        MLXCEL_PROFILE_IREE_CANONICAL,
                                            MLXCEL_PROFILE_MLX_CUDA_SM80, MLXCEL_PROFILE_MLX_CUDA_SM90A, NULL};
static const char* const dtype_names[] = {"f32", "f16", "bf16", NULL};

#define CONTRACT(field) .offset = offsetof(contract_settings_t, field)
static const mlxcel_cli_option_t options[] = {
    {.name = "profile",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "NAME",
     CONTRACT(profile),
     .choices = profile_names,
     .help = "show: clauses of this profile only"},
    {.name = "op", .type = MLXCEL_CLI_TEXT, .metavar = "CLASS", CONTRACT(op), .help = "show: clauses of this operation class only: rms-norm, attention, ..."},
    {.name = "variant",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "VARIANT",
     CONTRACT(variant),
     .help = "show: clauses of this variant only: plain, mask-causal, ..."},
    {.name = "dtype",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "DTYPE",
     CONTRACT(dtype),
     .choices = dtype_names,
     .help = "show: clauses for activations of this dtype"},
};
static const mlxcel_cli_group_t groups[] = {{"options", options, sizeof(options) / sizeof(options[0]), 0}};
static const char* const actions[] = {"show", "diff", "verify", NULL};

//===- What profiles define ---------------------------------------------------------------------------------------------------------------------------===//

typedef struct selection_t {
  const contract_settings_t* settings;
  mlxcel_contract_t contract;
} selection_t;

static bool name_fits(const char* wanted, const char* name) { return !wanted || strcmp(wanted, name) == 0; }

static iree_status_t add_selected(void* user_data, const mlxcel_operation_t* operation, const mlxcel_clause_t* clause) {
  selection_t* selection = user_data;
  const contract_settings_t* settings = selection->settings;
  bool fits = name_fits(settings->op, mlxcel_op_class_name(clause->op)) && name_fits(settings->variant, mlxcel_op_variant_name(clause->variant)) &&
              name_fits(settings->dtype, mlxcel_dtype_name(operation->dtype));
  return fits ? mlxcel_contract_add(&selection->contract, clause) : iree_ok_status();
}

// The contract of the profile's clauses that |settings| choose; the text is malloc'ed.
static iree_status_t make_profile_text(const mlxcel_profile_t* profile, const contract_settings_t* settings, char** out_text, size_t* out_count,
                                       mlxcel_sha256_hex_t* out_fingerprint) {
  selection_t selection = {.settings = settings};
  *out_text = NULL;
  mlxcel_contract_initialize(profile->name, &selection.contract);
  iree_status_t status = mlxcel_profile_visit(profile, add_selected, &selection);
  if (iree_status_is_ok(status)) status = mlxcel_contract_finish(&selection.contract, out_text, out_fingerprint);
  *out_count = selection.contract.clause_count;
  mlxcel_contract_deinitialize(&selection.contract);
  return status;
}

static bool print_profile_row(mlxcel_cli_table_t* table, const mlxcel_profile_t* profile) {
  const contract_settings_t everything = {0};
  char* text = NULL;
  size_t count = 0;
  mlxcel_sha256_hex_t fingerprint;
  if (mlxcel_cli_status_report(make_profile_text(profile, &everything, &text, &count, &fingerprint))) return false;
  free(text);
  mlxcel_cli_table_add(table, "%s", profile->name);
  mlxcel_cli_table_add(table, "%zu", count);
  mlxcel_cli_table_add(table, "%s", profile->reference ? profile->reference : "-");
  mlxcel_cli_table_add(table, "%s", profile->is_declared_only ? "declared only" : "emitted");
  mlxcel_cli_table_add(table, "%s", fingerprint.text);
  return true;
}

static int list_profiles(void) {
  static const char* const headers[] = {"PROFILE", ">CLAUSES", "REFERENCE", "STATE", "FINGERPRINT"};
  mlxcel_cli_table_t table;
  mlxcel_cli_table_initialize(5, headers, &table);
  bool ok = true;
  for (size_t i = 0; ok && mlxcel_profile_at(i); ++i) ok = print_profile_row(&table, mlxcel_profile_at(i));
  ok = ok && mlxcel_cli_table_print(&table);
  mlxcel_cli_table_deinitialize(&table);
  return ok ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

static int check_names(const contract_settings_t* settings) {
  mlxcel_op_class_t op;
  mlxcel_op_variant_t variant;
  if (settings->op && !mlxcel_op_class_parse(iree_make_cstring_view(settings->op), &op)) {
    mlxcel_cli_error("unknown operation class '%s' (--op); 'mlxcel contract show --profile %s' prints those that there are", settings->op,
                     MLXCEL_PROFILE_MLX_CPU);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (settings->variant && !mlxcel_op_variant_parse(iree_make_cstring_view(settings->variant), &variant)) {
    mlxcel_cli_error("unknown variant '%s' (--variant); 'mlxcel contract show --profile %s' prints those that there are", settings->variant,
                     MLXCEL_PROFILE_MLX_CPU);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  return MLXCEL_CLI_EXIT_OK;
}

// Prints the clauses of one profile that fit, as a contract, with an empty line before all but the first.
static int show_profile(const mlxcel_profile_t* profile, const contract_settings_t* settings, size_t* shown_count) {
  char* text = NULL;
  size_t count = 0;
  mlxcel_sha256_hex_t fingerprint;
  int exit_code = mlxcel_cli_status_report(make_profile_text(profile, settings, &text, &count, &fingerprint));
  if (!exit_code && count) mlxcel_cli_output_format("%s%s", *shown_count ? "\n" : "", text);
  *shown_count += count;
  free(text);
  return exit_code;
}

static int show_profiles(const contract_settings_t* settings) {
  bool is_filtered = settings->profile || settings->op || settings->variant || settings->dtype;
  int exit_code = check_names(settings);
  if (exit_code) return exit_code;
  if (!is_filtered) return list_profiles();
  size_t shown_count = 0;
  for (size_t i = 0; !exit_code && mlxcel_profile_at(i); ++i) {
    if (name_fits(settings->profile, mlxcel_profile_at(i)->name)) exit_code = show_profile(mlxcel_profile_at(i), settings, &shown_count);
  }
  if (exit_code || shown_count) return exit_code;
  mlxcel_cli_error("no clause of %s fits --op, --variant and --dtype; leave one out", settings->profile ? settings->profile : "any profile");
  return MLXCEL_CLI_EXIT_FAILURE;
}

//===- Texts ------------------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t read_folder(const char* folder, char** out_text, size_t* out_size) {
  mlxcel_manifest_t manifest;
  iree_status_t status = mlxcel_manifest_read(folder, NULL, &manifest);
  *out_text = iree_status_is_ok(status) ? strdup(manifest.contract_text) : NULL;
  if (iree_status_is_ok(status) && !*out_text) status = iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the contract of %s", folder);
  if (*out_text) *out_size = strlen(*out_text);
  mlxcel_manifest_deinitialize(&manifest);
  return status;
}

// The contract that |name| stands for: a file, a folder of a compiled module, or a profile. The text is malloc'ed.
static iree_status_t read_contract(const char* name, char** out_text, size_t* out_size) {
  const contract_settings_t everything = {0};
  *out_text = NULL;
  *out_size = 0;
  if (mlxcel_path_is_directory(name)) return read_folder(name, out_text, out_size);
  if (mlxcel_path_exists(name)) return mlxcel_file_read(name, MLXCEL_CONTRACT_TEXT_BYTES_MAX, out_text, out_size);
  const mlxcel_profile_t* profile = mlxcel_profile_find(iree_make_cstring_view(name));
  if (!profile) {
    return iree_make_status(IREE_STATUS_NOT_FOUND,
                            "%s is no file, no folder and no profile; 'mlxcel contract show' lists the profiles, 'mlxcel cache ls' the compiled modules", name);
  }
  size_t count = 0;
  mlxcel_sha256_hex_t fingerprint;
  IREE_RETURN_IF_ERROR(make_profile_text(profile, &everything, out_text, &count, &fingerprint));
  *out_size = strlen(*out_text);
  return iree_ok_status();
}

// Whatever else the file may be, only a contract is printed.
static int show_contract(const char* name) {
  char* text = NULL;
  size_t size = 0;
  mlxcel_parsed_contract_t contract = {0};
  iree_status_t status = read_contract(name, &text, &size);
  if (iree_status_is_ok(status)) status = mlxcel_contract_parse(iree_make_string_view(text, size), name, &contract);
  if (iree_status_is_ok(status)) mlxcel_cli_output_write(text, size);
  mlxcel_parsed_contract_deinitialize(&contract);
  free(text);
  return mlxcel_cli_status_report(status);
}

static int diff_contracts(const char* left_name, const char* right_name) {
  char *left = NULL, *right = NULL;
  size_t left_size = 0, right_size = 0, count = 0;
  mlxcel_strbuf_t lines;
  mlxcel_strbuf_initialize(&lines);
  iree_status_t status = read_contract(left_name, &left, &left_size);
  if (iree_status_is_ok(status)) status = read_contract(right_name, &right, &right_size);
  if (iree_status_is_ok(status))
    status = mlxcel_contract_diff(iree_make_string_view(left, left_size), iree_make_string_view(right, right_size), &lines, &count);
  if (iree_status_is_ok(status)) status = mlxcel_strbuf_take_status(&lines);
  int exit_code = mlxcel_cli_status_report(status);
  if (!exit_code) {
    mlxcel_cli_output_write(lines.data, lines.size);
    mlxcel_cli_message("%zu %s\n", count, count == 1 ? "difference" : "differences");
  }
  mlxcel_strbuf_deinitialize(&lines);
  free(left);
  free(right);
  return exit_code ? exit_code : count ? MLXCEL_CLI_EXIT_FAILURE : MLXCEL_CLI_EXIT_OK;
}

//===- Verification -----------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t verify_text(const char* name, iree_string_view_t text) {
  mlxcel_parsed_contract_t contract;
  mlxcel_sha256_hex_t fingerprint;
  iree_status_t status = mlxcel_contract_parse(text, name, &contract);
  if (iree_status_is_ok(status)) status = mlxcel_contract_check_profile(&contract, name);
  if (iree_status_is_ok(status)) status = mlxcel_sha256_of(text.data, text.size, &fingerprint);
  if (iree_status_is_ok(status)) {
    mlxcel_cli_output_format("version: %u\nprofile: %s\nclauses: %zu\nfingerprint: %s\n", contract.version, contract.profile, contract.clause_count,
                             fingerprint.text);
  }
  mlxcel_parsed_contract_deinitialize(&contract);
  return status;
}

// Digests of everything in the folder first, then what the manifest says of the contract.
static iree_status_t verify_folder(const char* folder) {
  mlxcel_artifact_t artifact = {0};
  mlxcel_manifest_t manifest = {0};
  iree_status_t status = mlxcel_artifact_load(folder, &artifact);
  if (iree_status_is_ok(status)) status = mlxcel_manifest_parse(iree_make_cstring_view(artifact.manifest_text), folder, &manifest);
  if (iree_status_is_ok(status)) status = verify_text(folder, iree_make_cstring_view(manifest.contract_text));
  if (iree_status_is_ok(status)) mlxcel_cli_output_format("artifact: %s\nvmfb: %s\n", artifact.key.text, artifact.vmfb_digest.text);
  mlxcel_manifest_deinitialize(&manifest);
  mlxcel_artifact_deinitialize(&artifact);
  return status;
}

static int verify_contract(const char* name) {
  if (mlxcel_path_is_directory(name)) return mlxcel_cli_status_report(verify_folder(name));
  char* text = NULL;
  size_t size = 0;
  iree_status_t status = mlxcel_file_read(name, MLXCEL_CONTRACT_TEXT_BYTES_MAX, &text, &size);
  if (iree_status_is_ok(status)) status = verify_text(name, iree_make_string_view(text, size));
  free(text);
  return mlxcel_cli_status_report(status);
}

//===- The command ------------------------------------------------------------------------------------------------------------------------------------===//

// Filters belong to `show` without a file; the environment may hold --profile for other commands.
static bool has_filter(const mlxcel_cli_parsed_t* parsed) {
  for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); ++i) {
    if (mlxcel_cli_parsed_source(parsed, options[i].name) == MLXCEL_CLI_SOURCE_COMMAND_LINE) return true;
  }
  return false;
}

static int check_arguments(const mlxcel_cli_parsed_t* parsed) {
  const char* action = parsed->positionals[0];
  size_t count = parsed->positional_count - 1;
  bool is_show = strcmp(action, "show") == 0, is_diff = strcmp(action, "diff") == 0;
  if (is_diff ? count != 2 : is_show ? count > 1 : count != 1) {
    mlxcel_cli_error("%s takes %s; usage: mlxcel contract show [FILE | FOLDER] | diff A B | verify (FILE | FOLDER)", action,
                     is_diff   ? "two contracts"
                     : is_show ? "at most one contract"
                               : "one contract");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (count && has_filter(parsed)) {
    mlxcel_cli_error("--profile, --op, --variant and --dtype choose among what profiles define; leave them out with '%s'", parsed->positionals[1]);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  return MLXCEL_CLI_EXIT_OK;
}

static int run_contract(void* settings, const mlxcel_cli_parsed_t* parsed) {
  int exit_code = check_arguments(parsed);
  if (exit_code) return exit_code;
  const char* const* names = parsed->positionals;
  if (strcmp(names[0], "diff") == 0) return diff_contracts(names[1], names[2]);
  if (strcmp(names[0], "verify") == 0) return verify_contract(names[1]);
  return parsed->positional_count == 2 ? show_contract(names[1]) : show_profiles(settings);
}

const mlxcel_cli_command_t mlxcel_cli_command_contract = {
    .name = "contract",
    .summary = "show, compare or verify numeric contracts",
    .usage = "(show [CONTRACT] | diff CONTRACT CONTRACT | verify CONTRACT) [options]",
    .details =
        "CONTRACT is a file with a contract's text, the folder of a compiled module (see mlxcel cache ls) or, for show and diff, the name of a profile.\n"
        "show alone lists the profiles; with an option it prints the clauses that fit. Their source_digest is none: it is build-specific, and the contract\n"
        "of a compiled module has it. diff prints one line a difference and exits with 1 if there is one. verify reads strictly: every value is of its\n"
        "closed set, every clause is one that the profile defines and, in a folder, every digest fits; it prints version, profile, number of clauses and\n"
        "fingerprint.",
    .groups = groups,
    .group_count = 1,
    .positional_name = "action",
    .positional_minimum = 1,
    .positional_maximum = 3,
    .positional_choices = actions,
    .settings_size = sizeof(contract_settings_t),
    .run = run_contract,
};
