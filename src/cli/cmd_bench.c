// mlxcel bench: how fast a model is here, beside what the machine could do. Flags and fields as llama-bench has them.
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "bench/bench_output.h"
#include "bench/bench_suite.h"
#include "cli/bench_options.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

typedef struct report_settings_t {
  const char* format;
  bool dispatches, roofline, no_roofline;
  int64_t roofline_bytes;
} report_settings_t;

typedef struct bench_settings_t {
  mlxcel_cli_bench_tests_t tests;
  mlxcel_cli_target_settings_t target;
  mlxcel_cli_run_settings_t run;
  report_settings_t report;
} bench_settings_t;

static const char* const formats[] = {"md", "csv", "json", "jsonl", NULL};
#define REPORT(field) .offset = offsetof(report_settings_t, field)
static const mlxcel_cli_option_t report_options[] = {
    {.name = "output",
     .short_name = 'o',
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "FORMAT",
     REPORT(format),
     .choices = formats,
     .environment = "MLXCEL_BENCH_OUTPUT",
     .help = "md, csv, json, jsonl (default md)"},
    // "--profile" is the numeric contract's, as in every command.
    {.name = "profile-dispatches",
     .type = MLXCEL_CLI_FLAG,
     REPORT(dispatches),
     .help = "one run more of each test, in which every dispatch is timed: kernel, calls, time, GB/s, GFLOP/s, share (md, json, jsonl)"},
    {.name = "roofline",
     .type = MLXCEL_CLI_FLAG,
     REPORT(roofline),
     .help = "measure only what the machine can do, with 1 to -t threads: bytes read from memory and f32 multiply-adds a second"},
    {.name = "roofline-bytes",
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     REPORT(roofline_bytes),
     .minimum = (double)MLXCEL_ROOFLINE_BYTES_MIN,
     .maximum = (double)MLXCEL_ROOFLINE_BYTES_MAX,
     .help = "memory that is read to measure the machine (default: as much as a step reads of the weights of -m, at most 256 MiB)"},
    {.name = "no-roofline",
     .type = MLXCEL_CLI_FLAG,
     REPORT(no_roofline),
     .help = "don't measure the machine first: no share of what it can do beside the results"},
};

static const mlxcel_cli_option_t run_options[] = {
    {.name = "ctx",
     .short_name = 'c',
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     .offset = offsetof(mlxcel_cli_run_settings_t, context),
     .minimum = 0,
     .maximum = MLXCEL_CONTEXT_MAX,
     .help = "context in tokens; 0 = what the largest test of the model needs (default 0)"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
// Model and threads are lists here, a chunk's length is -b, and the context has another default. The other settings are those of every command.
static const mlxcel_cli_group_t groups[] = {
    {"tests (lists: 1,2,4 or 1-4 or 128-512+128 or 1-8*2, or by repeating the option)", mlxcel_cli_bench_test_options, MLXCEL_CLI_BENCH_TEST_OPTION_COUNT,
     offsetof(bench_settings_t, tests)},
    {"device", mlxcel_cli_target_options + 1, MLXCEL_CLI_TARGET_OPTION_COUNT - 1, offsetof(bench_settings_t, target)},
    {"run", run_options, COUNT(run_options), offsetof(bench_settings_t, run)},
    {"output", report_options, COUNT(report_options), offsetof(bench_settings_t, report)},
};

static void initialize_settings(void* memory) {
  bench_settings_t* settings = memory;
  mlxcel_cli_bench_tests_initialize(&settings->tests);
  settings->report.format = "md";
}

// Everything that one run holds; released in one place.
typedef struct bench_run_t {
  const bench_settings_t* settings;
  mlxcel_bench_lists_t lists;
  mlxcel_bench_model_t models[MLXCEL_BENCH_MODELS_MAX];
  uint32_t contexts[MLXCEL_BENCH_MODELS_MAX];
  mlxcel_bench_plan_t plan;
  mlxcel_bench_output_t output;
  mlxcel_cli_progress_t progress;
  int exit_code;  // of a record that couldn't be printed
} bench_run_t;

static void bench_run_deinitialize(bench_run_t* run) {
  mlxcel_bench_output_deinitialize(&run->output);
  mlxcel_bench_plan_deinitialize(&run->plan);
  for (size_t i = 0; i < run->lists.model_count; ++i) mlxcel_bench_model_deinitialize(&run->models[i]);
}

static int usage_of_status(iree_status_t status) {
  const bool is_usage = iree_status_is_invalid_argument(status);
  const int exit_code = mlxcel_cli_status_report(status);
  return is_usage ? MLXCEL_CLI_EXIT_USAGE : exit_code;
}

static bool print_text(mlxcel_strbuf_t* text) {
  const bool ok = mlxcel_cli_output_write(text->data ? text->data : "", text->size);
  mlxcel_strbuf_clear(text);
  return ok;
}

static void start_progress(const bench_settings_t* settings, mlxcel_cli_progress_t* out_progress) {
  mlxcel_cli_progress_options_t options;
  mlxcel_cli_progress_options_initialize(&options);
  options.enabled = !settings->target.quiet;
  mlxcel_cli_progress_initialize(&options, out_progress);
}

// --- the roofline alone ----------------------------------------------------------------------------------------------------------------------------

// The most threads that -t names; all processors where it names none.
static int choose_roofline_threads(const mlxcel_bench_lists_t* lists, uint32_t* out_threads) {
  const uint32_t processors = mlxcel_roofline_processor_count();
  *out_threads = 0;
  for (size_t i = 0; i < lists->threads.count; ++i) {
    if (lists->threads.values[i] > *out_threads) *out_threads = lists->threads.values[i];
  }
  if (*out_threads == 0) *out_threads = processors;
  if (*out_threads <= processors) return MLXCEL_CLI_EXIT_OK;
  mlxcel_cli_error("option -t: a roofline of %" PRIu32 " threads needs as many processors; this process may use %" PRIu32, *out_threads, processors);
  return MLXCEL_CLI_EXIT_USAGE;
}

static uint64_t choose_roofline_bytes(const bench_run_t* run) {
  if (run->settings->report.roofline_bytes) return (uint64_t)run->settings->report.roofline_bytes;
  if (run->lists.model_count == 0) return MLXCEL_ROOFLINE_BYTES_DEFAULT;
  return mlxcel_roofline_buffer_bytes(run->models[0].layer_bytes + run->models[0].head_bytes);
}

static int measure_roofline(bench_run_t* run, uint32_t threads, uint32_t repetitions) {
  mlxcel_roofline_row_t* rows = calloc(threads, sizeof(*rows));
  if (!rows) {
    mlxcel_cli_error("out of memory for the roofline");
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  mlxcel_roofline_options_t options = {.buffer_bytes = choose_roofline_bytes(run), .repetitions = repetitions, .cancelled = mlxcel_cli_interrupt_is_requested};
  iree_status_t status = iree_ok_status();
  size_t count = 0;
  for (options.threads = 1; options.threads <= threads && iree_status_is_ok(status); ++options.threads) {
    mlxcel_cli_progress_step(&run->progress, "roofline", 0.0);
    status = mlxcel_roofline_measure(&options, &rows[count]);
    if (iree_status_is_ok(status)) ++count;
  }
  mlxcel_cli_progress_finish(&run->progress);
  iree_status_t output_status = iree_ok_status();
  if (count) output_status = mlxcel_bench_output_roofline(run->output.format, options.buffer_bytes, repetitions, count, rows, &run->output.text);
  free(rows);
  if (iree_status_is_ok(output_status)) print_text(&run->output.text);
  int output_code = mlxcel_cli_status_report(output_status), exit_code = mlxcel_cli_status_report(status);
  return exit_code ? exit_code : output_code;
}

static int run_roofline(bench_run_t* run, const mlxcel_cli_parsed_t* parsed) {
  uint32_t threads = 0;
  int exit_code = choose_roofline_threads(&run->lists, &threads);
  if (!exit_code) exit_code = mlxcel_cli_bench_models_read(&run->settings->tests.models, run->models, &run->lists.model_count);
  if (exit_code) return exit_code;
  const bool is_given = mlxcel_cli_parsed_source(parsed, "repetitions") != MLXCEL_CLI_SOURCE_DEFAULT;
  return measure_roofline(run, threads, is_given ? (uint32_t)run->settings->tests.repetitions : MLXCEL_ROOFLINE_REPETITIONS_DEFAULT);
}

// --- cases -----------------------------------------------------------------------------------------------------------------------------------------

static void notify_step(void* user_data, const char* step, double elapsed_seconds) {
  mlxcel_cli_progress_step(&((bench_run_t*)user_data)->progress, step, elapsed_seconds);
}

static bool print_record(void* user_data, const mlxcel_bench_record_t* record) {
  bench_run_t* run = user_data;
  mlxcel_cli_progress_finish(&run->progress);
  run->exit_code = mlxcel_cli_status_report(mlxcel_bench_output_add(&run->output, record));
  return !run->exit_code && print_text(&run->output.text);
}

static void describe_engine(void* user_data, const mlxcel_engine_info_t* info) {
  bench_run_t* run = user_data;
  mlxcel_cli_progress_finish(&run->progress);
  if (run->settings->target.verbose && !run->settings->target.quiet) mlxcel_cli_engine_describe(info);
}

static int run_suite(bench_run_t* run) {
  const bench_settings_t* settings = run->settings;
  mlxcel_bench_suite_options_t options = {.plan = &run->plan,
                                          .models = run->models,
                                          .contexts = run->contexts,
                                          .repetitions = (uint32_t)settings->tests.repetitions,
                                          .delay_s = (uint32_t)settings->tests.delay,
                                          .has_warmup = !settings->tests.no_warmup,
                                          .has_roofline = !settings->report.no_roofline,
                                          .roofline_bytes = (uint64_t)settings->report.roofline_bytes,
                                          .times_dispatches = settings->report.dispatches,
                                          .on_record = print_record,
                                          .on_engine = describe_engine,
                                          .user_data = run};
  mlxcel_cli_engine_options_make(&settings->target, NULL, &options.engine);
  options.engine.progress = notify_step;
  options.engine.user_data = run;
  mlxcel_error_t* error = mlxcel_bench_suite_run(&options);
  if (error) mlxcel_cli_progress_abandon(&run->progress);
  // What was measured is worth having, whatever ended the run: the text is made whole before the error is told.
  int end_code = error && run->output.count == 0 ? MLXCEL_CLI_EXIT_OK : mlxcel_cli_status_report(mlxcel_bench_output_end(&run->output));
  if (!end_code && !run->exit_code) print_text(&run->output.text);
  int exit_code = mlxcel_cli_error_report(error);
  return exit_code ? exit_code : run->exit_code ? run->exit_code : end_code;
}

static int make_plan(bench_run_t* run) {
  const bench_settings_t* settings = run->settings;
  run->lists.model_count = 1;  // so that lists which make no case are told before a model is read
  int exit_code = usage_of_status(mlxcel_bench_plan_make(&run->lists, &run->plan));
  run->lists.model_count = 0;
  mlxcel_bench_plan_deinitialize(&run->plan);
  if (!exit_code) exit_code = mlxcel_cli_bench_models_read(&settings->tests.models, run->models, &run->lists.model_count);
  if (!exit_code) exit_code = usage_of_status(mlxcel_bench_plan_make(&run->lists, &run->plan));
  if (exit_code) return exit_code;
  return usage_of_status(mlxcel_bench_plan_contexts(&run->plan, run->lists.model_count, run->models, (uint32_t)settings->run.context, run->contexts));
}

static int check_report(const report_settings_t* report) {
  if (report->no_roofline && (report->roofline || report->roofline_bytes)) {
    mlxcel_cli_error("option --no-roofline: nothing is left for --%s; give one of them", report->roofline ? "roofline" : "roofline-bytes");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (!report->dispatches || strcmp(report->format, "csv") != 0) return MLXCEL_CLI_EXIT_OK;
  mlxcel_cli_error("option --profile-dispatches: a line of csv has no place for a table; use -o md, json or jsonl");
  return MLXCEL_CLI_EXIT_USAGE;
}

static int run_cases(bench_run_t* run) {
  mlxcel_cli_target_settings_t target = run->settings->target;
  target.model = run->settings->tests.models.count ? run->settings->tests.models.items[0] : NULL;
  int exit_code = mlxcel_cli_target_check(&target);
  if (!exit_code) exit_code = make_plan(run);
  if (exit_code) return exit_code;
  mlxcel_bench_output_deinitialize(&run->output);
  mlxcel_bench_output_initialize(mlxcel_bench_format_of(run->settings->report.format), &run->plan, &run->output);
  return run_suite(run);
}

static int run_bench(void* memory, const mlxcel_cli_parsed_t* parsed) {
  bench_run_t* run = calloc(1, sizeof(*run));
  if (!run) {
    mlxcel_cli_error("out of memory");
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  run->settings = memory;
  mlxcel_bench_output_initialize(mlxcel_bench_format_of(run->settings->report.format), &run->plan, &run->output);
  start_progress(run->settings, &run->progress);
  int exit_code = check_report(&run->settings->report);
  if (!exit_code) exit_code = mlxcel_cli_bench_lists_parse(&run->settings->tests, &run->lists);
  if (!exit_code) exit_code = run->settings->report.roofline ? run_roofline(run, parsed) : run_cases(run);
  bench_run_deinitialize(run);
  free(run);
  return exit_code;
}

const mlxcel_cli_command_t mlxcel_cli_command_bench = {
    .name = "bench",
    .summary = "measure how fast a model is on this machine",
    .usage = "-m FOLDER [-p N,...] [-n N,...] [-pg PP,TG] [options]",
    .details =
        "Every combination of the lists is measured: 'pp512' computes a prompt of 512 random tokens, 'tg128' generates 128 tokens one by one,\n"
        "'pp512+tg128' does both, '@ d1024' lets 1024 tokens lie in the KV cache before. Beside each result stands the share of what this machine\n"
        "can do at most that was reached (--no-roofline leaves it out). The context (-c) is what the tests need unless it is given.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(bench_settings_t),
    .initialize = initialize_settings,
    .run = run_bench,
};
