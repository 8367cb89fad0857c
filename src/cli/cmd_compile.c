// mlxcel compile: puts the model's module into the cache, so that the next start is a warm one.

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_settings.h"
#include "cli/json_out.h"
#include "cli/progress.h"

typedef struct compile_settings_t {
  mlxcel_cli_target_settings_t target;
  mlxcel_cli_run_settings_t run;  // threads only
  bool json;
} compile_settings_t;

static const mlxcel_cli_option_t output_options[] = {
    {.name = "json", .type = MLXCEL_CLI_FLAG, .help = "print one JSON object: cache (hit or miss), compile_s"},
};
static const mlxcel_cli_group_t groups[] = {
    {"model and device", mlxcel_cli_target_options, MLXCEL_CLI_TARGET_OPTION_COUNT, offsetof(compile_settings_t, target)},
    {"running it later", mlxcel_cli_run_options, MLXCEL_CLI_RUN_SHARED_COUNT, offsetof(compile_settings_t, run)},  // the module is cut for so many workers
    {"output", output_options, 1, offsetof(compile_settings_t, json)},
};

static void notify_step(void* user_data, const char* step, double elapsed_seconds) { mlxcel_cli_progress_step(user_data, step, elapsed_seconds); }

static int print_result(bool json, bool cache_hit, double seconds) {
  if (!json) {
    if (cache_hit) {
      mlxcel_cli_output_format("in the cache already\n");
    } else {
      mlxcel_cli_output_format("compiled in %.2f s\n", seconds);
    }
    return MLXCEL_CLI_EXIT_OK;
  }
  json_t* report = json_pack("{s:s, s:f}", "cache", cache_hit ? "hit" : "miss", "compile_s", seconds);
  return mlxcel_cli_json_print(report, 0) ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

static int run_compile(void* settings_memory, const mlxcel_cli_parsed_t* parsed) {
  (void)parsed;
  const compile_settings_t* settings = settings_memory;
  int exit_code = mlxcel_cli_target_check(&settings->target);
  if (exit_code) return exit_code;
  mlxcel_cli_progress_options_t progress_options;
  mlxcel_cli_progress_options_initialize(&progress_options);
  progress_options.enabled = !settings->target.quiet;
  mlxcel_cli_progress_t progress;
  mlxcel_cli_progress_initialize(&progress_options, &progress);
  mlxcel_engine_options_t options;
  mlxcel_cli_engine_options_make(&settings->target, &settings->run, &options);
  options.progress = notify_step;
  options.user_data = &progress;
  bool cache_hit = false;
  double seconds = 0;
  mlxcel_error_t* error = mlxcel_engine_compile(&options, &cache_hit, &seconds);
  if (error) {
    mlxcel_cli_progress_abandon(&progress);
    return mlxcel_cli_error_report(error);
  }
  mlxcel_cli_progress_finish(&progress);
  return print_result(settings->json, cache_hit, seconds);
}

const mlxcel_cli_command_t mlxcel_cli_command_compile = {
    .name = "compile",
    .summary = "compile a model into the cache, without running it",
    .usage = "-m FOLDER [options]",
    .groups = groups,
    .group_count = 3,
    .settings_size = sizeof(compile_settings_t),
    .run = run_compile,
};
