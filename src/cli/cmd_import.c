// mlxcel import: a GGUF file becomes a checkpoint folder.
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

typedef struct import_settings_t {
  const char* output;
  bool force, quiet;
} import_settings_t;

#define IMPORT(field) .offset = offsetof(import_settings_t, field)
static const mlxcel_cli_option_t options[] = {
    {.name = "output",
     .short_name = 'o',
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     IMPORT(output),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "the checkpoint folder to make"},
    {.name = "force", .type = MLXCEL_CLI_FLAG, IMPORT(force), .help = "replace the folder of an earlier import"},
    {.name = "quiet", .short_name = 'q', .type = MLXCEL_CLI_FLAG, IMPORT(quiet), .help = "no progress; errors only"},
};
static const mlxcel_cli_group_t groups[] = {{"options", options, sizeof(options) / sizeof(options[0]), 0}};

static void notify_bytes(void* user_data, uint64_t done_bytes, uint64_t total_bytes) {
  mlxcel_cli_progress_bytes(user_data, "import", done_bytes, total_bytes);
}

static int run_import(void* settings_memory, const mlxcel_cli_parsed_t* parsed) {
  const import_settings_t* settings = settings_memory;
  if (!settings->output) {
    mlxcel_cli_error("no output folder given; name it with -o FOLDER");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  mlxcel_cli_progress_options_t progress_options;
  mlxcel_cli_progress_options_initialize(&progress_options);
  progress_options.enabled = !settings->quiet;
  mlxcel_cli_progress_t progress;
  mlxcel_cli_progress_initialize(&progress_options, &progress);
  mlxcel_import_options_t import_options;
  mlxcel_import_options_initialize(&import_options);
  import_options.overwrite = settings->force;
  import_options.progress = notify_bytes;
  import_options.cancelled = mlxcel_cli_interrupt_is_requested;
  import_options.user_data = &progress;
  mlxcel_error_t* error = mlxcel_import_gguf(parsed->positionals[0], settings->output, &import_options);
  if (error) {
    mlxcel_cli_progress_abandon(&progress);
    return mlxcel_cli_error_report(error);
  }
  mlxcel_cli_progress_finish(&progress);
  if (!settings->quiet) mlxcel_cli_message("imported %s into %s\n", parsed->positionals[0], settings->output);
  return MLXCEL_CLI_EXIT_OK;
}

const mlxcel_cli_command_t mlxcel_cli_command_import = {
    .name = "import",
    .summary = "make a checkpoint folder from a GGUF file",
    .usage = "FILE.gguf -o FOLDER [--force]",
    .details = "Weights are kept exactly: Q4_0, Q4_1 and Q8_0 become affine-quantized tensors, F16, BF16 and F32 stay as they are.",
    .groups = groups,
    .group_count = 1,
    .positional_name = "GGUF file",
    .positional_minimum = 1,
    .settings_size = sizeof(import_settings_t),
    .run = run_import,
};
