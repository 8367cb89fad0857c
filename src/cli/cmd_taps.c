// mlxcel taps: what every operation of a model gives for a prompt, for comparing engines layer by layer. A developer's measuring tool outside of the capability
// gate; it has the options that it honours and no others.
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_settings.h"
#include "cli/input.h"
#include "contract/profiles.h"
#include "oracle/taps.h"

typedef struct taps_settings_t {
  mlxcel_cli_target_settings_t target;
  mlxcel_cli_run_settings_t run;
  const char* ids;
  const char* output;
} taps_settings_t;

#define TAPS(field) .offset = offsetof(taps_settings_t, field)
static const mlxcel_cli_option_t taps_options[] = {
    {.name = "prompt-ids", .type = MLXCEL_CLI_TEXT, .metavar = "IDS", TAPS(ids), .help = "the prompt as token numbers: 1,2,3; at most 128"},
    {.name = "output",
     .short_name = 'o',
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE",
     TAPS(output),
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help =
         "safetensors file to write: embedding, layers.N.{input_norm,keys,values,queries,attention,attention_residual,post_norm,gated,output}, norm, logits"},
};
static const mlxcel_cli_group_t groups[] = {
    {"prompt and output", taps_options, sizeof(taps_options) / sizeof(taps_options[0]), 0},
    {"model and device", mlxcel_cli_target_options, MLXCEL_CLI_TARGET_SHARED_COUNT, offsetof(taps_settings_t, target)},
    {"run", mlxcel_cli_run_options, MLXCEL_CLI_RUN_SHARED_COUNT, offsetof(taps_settings_t, run)},
};

static int check_settings(const taps_settings_t* settings) {
  int exit_code = mlxcel_cli_target_check(&settings->target);
  if (exit_code) return exit_code;
  if (settings->ids && settings->output) return MLXCEL_CLI_EXIT_OK;
  mlxcel_cli_error("%s; usage: mlxcel taps -m FOLDER --prompt-ids 1,2,3 -o FILE.safetensors",
                   settings->ids ? "no file to write is given (-o)" : "no prompt is given (--prompt-ids)");
  return MLXCEL_CLI_EXIT_USAGE;
}

// What the gate would close has no claim, so neither have the values.
static void note_profile(const taps_settings_t* settings) {
  const char* profile = settings->target.profile;
  if (!profile || strcmp(profile, MLXCEL_PROFILE_PINNED_F32) == 0 || settings->target.quiet) return;
  mlxcel_cli_note("taps measures outside of the capability gate; 'mlxcel capabilities --profile %s' says what has evidence here", profile);
}

static int run_taps(void* settings_memory, const mlxcel_cli_parsed_t* parsed) {
  (void)parsed;
  const taps_settings_t* settings = settings_memory;
  int32_t* ids = NULL;
  mlxcel_taps_options_t options = {
      .model_folder = settings->target.model,
      .profile = settings->target.profile,
      .device = settings->target.device,
      .cpu_level = settings->target.cpu_level,
      .cache_folder = settings->target.cache_folder,
      .compiler = settings->target.compiler,
      .threads = (uint32_t)settings->run.threads,
      .output_path = settings->output,
  };
  int exit_code = check_settings(settings);
  if (!exit_code) exit_code = mlxcel_cli_input_ids(settings->ids, &ids, &options.id_count);
  if (exit_code) return exit_code;
  options.ids = ids;
  note_profile(settings);
  iree_status_t status = mlxcel_taps_write(&options);
  free(ids);
  return mlxcel_cli_status_report(status);
}

const mlxcel_cli_command_t mlxcel_cli_command_taps = {
    .name = "taps",
    .summary = "write what every operation of a model gives for a prompt (developers)",
    .usage = "-m FOLDER --prompt-ids IDS -o FILE [options]",
    .details =
        "A developer's measuring tool: it runs a variant of the model's module outside of the capability gate, with or without evidence, and answers nothing.\n"
        "The weights keep the profile's precision, and the context is the prompt.",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .settings_size = sizeof(taps_settings_t),
    .run = run_taps,
};
