// mlxcel generate: one prompt, one answer. Text goes to stdout as it is made (or one JSON object at the end), everything else to stderr.
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_settings.h"
#include "cli/generation.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/json_out.h"
#include "cli/npy.h"

typedef struct prompt_settings_t {
  const char* prompt;
  const char* file;
  const char* ids;
  const char* system;
  bool chat;
} prompt_settings_t;

typedef struct output_settings_t {
  const char* logits;
  bool json;
} output_settings_t;

typedef struct generate_settings_t {
  prompt_settings_t prompt;
  mlxcel_cli_target_settings_t target;
  mlxcel_cli_run_settings_t run;
  mlxcel_cli_sampling_settings_t sampling;
  output_settings_t output;
} generate_settings_t;

#define PROMPT(field) .offset = offsetof(prompt_settings_t, field)
static const mlxcel_cli_option_t prompt_options[] = {
    {.name = "prompt", .short_name = 'p', .type = MLXCEL_CLI_TEXT, .metavar = "TEXT", PROMPT(prompt), .help = "the prompt; - reads standard input"},
    {.name = "file",
     .short_name = 'f',
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE",
     PROMPT(file),
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help = "read the prompt from a file, every byte of it"},
    {.name = "prompt-ids", .type = MLXCEL_CLI_TEXT, .metavar = "IDS", PROMPT(ids), .help = "the prompt as token numbers: 1,2,3"},
    {.name = "chat", .type = MLXCEL_CLI_FLAG, PROMPT(chat), .help = "make the prompt a user's message by the model's chat template"},
    {.name = "system", .type = MLXCEL_CLI_TEXT, .metavar = "TEXT", PROMPT(system), .help = "system message for --chat"},
};

#define OUTPUT(field) .offset = offsetof(output_settings_t, field)
static const mlxcel_cli_option_t output_options[] = {
    {.name = "json", .type = MLXCEL_CLI_FLAG, OUTPUT(json), .help = "print one JSON object at the end instead of the text"},
    {.name = "logits",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE.npy",
     OUTPUT(logits),
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help = "write the raw logits, float32 [generated tokens, vocabulary]; the file appears when all is done"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
static const mlxcel_cli_group_t groups[] = {
    {"prompt", prompt_options, COUNT(prompt_options), offsetof(generate_settings_t, prompt)},
    {"model and device", mlxcel_cli_target_options, MLXCEL_CLI_TARGET_OPTION_COUNT, offsetof(generate_settings_t, target)},
    {"run", mlxcel_cli_run_options, MLXCEL_CLI_RUN_OPTION_COUNT, offsetof(generate_settings_t, run)},
    {"sampling", mlxcel_cli_sampling_options, MLXCEL_CLI_SAMPLING_OPTION_COUNT, offsetof(generate_settings_t, sampling)},
    {"output", output_options, COUNT(output_options), offsetof(generate_settings_t, output)},
};

static void initialize_settings(void* settings) { mlxcel_cli_sampling_settings_initialize(&((generate_settings_t*)settings)->sampling); }

// Everything that one run holds; released in one place.
typedef struct generate_run_t {
  generate_settings_t* settings;
  char* prompt_text;
  size_t prompt_size;
  int32_t* prompt_ids;
  size_t prompt_count;
  bool prompt_ids_are_ours;  // else the engine's
  mlxcel_logit_bias_t* biases;
  size_t bias_count;
  bool writes_logits;
  mlxcel_cli_npy_t npy;
  bool npy_failed;
  mlxcel_engine_t* engine;
  const mlxcel_engine_info_t* info;
  mlxcel_session_t* session;
  mlxcel_result_t result;
  char last_byte;  // of the text on stdout; 0 = none yet
} generate_run_t;

static void generate_run_deinitialize(generate_run_t* run) {
  mlxcel_result_release(&run->result);
  mlxcel_session_close(run->session);
  if (run->writes_logits) mlxcel_cli_npy_close(&run->npy);
  if (run->prompt_ids_are_ours) {
    free(run->prompt_ids);
  } else {
    mlxcel_free(run->prompt_ids);
  }
  mlxcel_engine_close(run->engine);
  free(run->biases);
  free(run->prompt_text);
}

// Of several ways to give the prompt the one with the strongest source counts; two of the same strength contradict each other.
static int choose_prompt(prompt_settings_t* prompt, const mlxcel_cli_parsed_t* parsed) {
  const char* names[] = {"prompt", "file", "prompt-ids"};
  const char** values[] = {&prompt->prompt, &prompt->file, &prompt->ids};
  size_t best = 0;
  bool is_tied = false;
  mlxcel_cli_source_t sources[COUNT(names)];
  for (size_t i = 0; i < COUNT(names); ++i) {
    sources[i] = mlxcel_cli_parsed_source(parsed, names[i]);
    if (i > 0 && sources[i] >= sources[best]) is_tied = sources[i] == sources[best];
    if (sources[i] > sources[best]) best = i;
  }
  if (sources[best] == MLXCEL_CLI_SOURCE_DEFAULT) {
    mlxcel_cli_error("no prompt given; use -p TEXT, -p - for standard input, -f FILE or --prompt-ids 1,2,3");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (is_tied) {
    mlxcel_cli_error("more than one prompt given; use only one of -p, -f and --prompt-ids");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  for (size_t i = 0; i < COUNT(names); ++i) {
    if (i != best) *values[i] = NULL;
  }
  return MLXCEL_CLI_EXIT_OK;
}

static int check_settings(generate_settings_t* settings, const mlxcel_cli_parsed_t* parsed) {
  int exit_code = mlxcel_cli_target_check(&settings->target);
  if (!exit_code) exit_code = choose_prompt(&settings->prompt, parsed);
  if (exit_code) return exit_code;
  // What the environment says for other calls yields to this call's flags.
  if (mlxcel_cli_parsed_source(parsed, "chat") != MLXCEL_CLI_SOURCE_COMMAND_LINE && settings->prompt.ids) settings->prompt.chat = false;
  if (mlxcel_cli_parsed_source(parsed, "system") != MLXCEL_CLI_SOURCE_COMMAND_LINE && !settings->prompt.chat) settings->prompt.system = NULL;
  if (settings->prompt.chat && settings->prompt.ids) {
    mlxcel_cli_error("--chat makes text by the chat template, --prompt-ids are no text; use only one of them");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (settings->prompt.system && !settings->prompt.chat) {
    mlxcel_cli_error("--system has a place only in a chat template; add --chat");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  return MLXCEL_CLI_EXIT_OK;
}

static int read_prompt(generate_run_t* run) {
  const prompt_settings_t* prompt = &run->settings->prompt;
  if (prompt->ids) {
    run->prompt_ids_are_ours = true;
    return mlxcel_cli_input_ids(prompt->ids, &run->prompt_ids, &run->prompt_count);
  }
  if (prompt->file || strcmp(prompt->prompt, "-") == 0) {
    return mlxcel_cli_input_read(prompt->file ? prompt->file : "-", &run->prompt_text, &run->prompt_size);
  }
  run->prompt_size = strlen(prompt->prompt);
  run->prompt_text = strdup(prompt->prompt);
  if (run->prompt_text) return MLXCEL_CLI_EXIT_OK;
  mlxcel_cli_error("out of memory for the prompt");
  return MLXCEL_CLI_EXIT_FAILURE;
}

// What can be wrong is found before minutes are spent on compiling.
static int prepare_inputs(generate_run_t* run) {
  run->biases = calloc(MLXCEL_CLI_LOGIT_BIAS_MAX, sizeof(*run->biases));
  if (!run->biases) {
    mlxcel_cli_error("out of memory for the logit biases");
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  int exit_code = mlxcel_cli_logit_bias_parse(&run->settings->sampling.logit_bias, run->biases, &run->bias_count);
  if (!exit_code) exit_code = read_prompt(run);
  if (exit_code || !run->settings->output.logits) return exit_code;
  run->writes_logits = mlxcel_cli_npy_open(run->settings->output.logits, &run->npy);
  if (run->writes_logits) return MLXCEL_CLI_EXIT_OK;
  mlxcel_cli_error("--logits: %s", run->npy.message);
  return MLXCEL_CLI_EXIT_FAILURE;
}

static int tokenize_chat(generate_run_t* run) {
  json_t* messages = json_array();
  int exit_code = messages ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
  const char* system = run->settings->prompt.system;
  if (!exit_code && system) exit_code = mlxcel_cli_messages_add(messages, "system", system, strlen(system));
  if (!exit_code) exit_code = mlxcel_cli_messages_add(messages, "user", run->prompt_text, run->prompt_size);
  if (!exit_code) exit_code = mlxcel_cli_messages_tokenize(run->engine, messages, &run->prompt_ids, &run->prompt_count);
  json_decref(messages);
  return exit_code;
}

static int tokenize_prompt(generate_run_t* run) {
  if (run->settings->prompt.ids) return MLXCEL_CLI_EXIT_OK;
  if (run->settings->prompt.chat) return tokenize_chat(run);
  return mlxcel_cli_error_report(mlxcel_tokenize(run->engine, run->prompt_text, run->prompt_size, true, &run->prompt_ids, &run->prompt_count));
}

// The logits file is worth finishing after stdout was closed; the text alone isn't.
static bool handle_event(void* user_data, const mlxcel_event_t* event) {
  generate_run_t* run = user_data;
  if (run->writes_logits && event->logits && !mlxcel_cli_npy_append(&run->npy, event->logits, run->info->vocab_size)) {
    run->npy_failed = true;
    return false;
  }
  if (run->settings->output.json || !event->text_size) return true;
  run->last_byte = event->text[event->text_size - 1];
  return mlxcel_cli_output_write(event->text, event->text_size) || (run->writes_logits && mlxcel_cli_output_is_closed());
}

static void note_idle_sampling(const generate_run_t* run, const mlxcel_sampling_t* sampling, const mlxcel_cli_parsed_t* parsed) {
  static const char* const names[] = {"top-k", "top-p", "min-p", "seed"};
  for (size_t i = 0; sampling->temperature == 0 && !run->settings->target.quiet && i < COUNT(names); ++i) {
    if (mlxcel_cli_parsed_source(parsed, names[i]) == MLXCEL_CLI_SOURCE_DEFAULT) continue;
    mlxcel_cli_note("--%s has no effect at temperature 0; set --temp", names[i]);
  }
}

static int generate(generate_run_t* run, const mlxcel_cli_parsed_t* parsed) {
  const generate_settings_t* settings = run->settings;
  mlxcel_request_t request;
  mlxcel_request_initialize(&request);
  request.prompt_ids = run->prompt_ids;
  request.prompt_count = run->prompt_count;
  request.max_tokens = settings->sampling.max_tokens;
  mlxcel_cli_sampling_make(&settings->sampling, &run->info->default_sampling, run->biases, run->bias_count, &request.sampling);
  request.stops = settings->sampling.stops.items;
  request.stop_count = settings->sampling.stops.count;
  request.ignore_eos = settings->sampling.ignore_eos;
  request.on_event = handle_event;
  request.cancelled = mlxcel_cli_interrupt_is_requested;
  request.user_data = run;
  if (!settings->target.quiet && (settings->target.verbose || request.sampling.temperature != 0)) mlxcel_cli_sampling_describe(&request.sampling);
  note_idle_sampling(run, &request.sampling, parsed);
  mlxcel_error_t* error = mlxcel_session_open(run->engine, &run->session);
  if (!error) error = mlxcel_session_generate(run->session, &request, &run->result);
  if (!run->npy_failed) return mlxcel_cli_error_report(error);
  mlxcel_error_free(error);
  mlxcel_cli_error("--logits: %s", run->npy.message);
  return MLXCEL_CLI_EXIT_FAILURE;
}

static json_t* make_timings(const generate_run_t* run) {
  const mlxcel_result_t* result = &run->result;
  json_t* timings = json_object();
  bool ok = timings && mlxcel_cli_json_set(timings, "load_s", json_real(run->info->load_seconds)) &&
            mlxcel_cli_json_set(timings, "compile_s", json_real(run->info->compile_seconds)) &&
            mlxcel_cli_json_set(timings, "cache", json_string(run->info->cache_hit ? "hit" : "miss")) &&
            mlxcel_cli_json_set(timings, "prefill_tokens", json_integer((json_int_t)result->prefill_tokens)) &&
            mlxcel_cli_json_set(timings, "prefill_s", json_real(result->prefill_seconds)) &&
            mlxcel_cli_json_set(timings, "decode_tokens", json_integer((json_int_t)result->decode_tokens)) &&
            mlxcel_cli_json_set(timings, "decode_s", json_real(result->decode_seconds)) &&
            mlxcel_cli_json_set(timings, "ttft_s", json_real(result->first_token_seconds));
  if (ok) return timings;
  json_decref(timings);
  return NULL;
}

static json_t* make_report(const generate_run_t* run) {
  const mlxcel_result_t* result = &run->result;
  json_t* report = json_object();
  bool ok = report && mlxcel_cli_json_set(report, "model", mlxcel_json_string_any(run->info->model_name)) &&
            mlxcel_cli_json_set(report, "device", json_string(run->info->device)) && mlxcel_cli_json_set(report, "profile", json_string(run->info->profile)) &&
            mlxcel_cli_json_set(report, "prompt_ids", mlxcel_cli_json_ids(run->prompt_ids, run->prompt_count)) &&
            mlxcel_cli_json_set(report, "ids", mlxcel_cli_json_ids(result->ids, result->count)) &&
            mlxcel_cli_json_set(report, "text", mlxcel_cli_json_text(result->text, result->text_size)) &&
            mlxcel_cli_json_set(report, "finish_reason", json_string(mlxcel_finish_reason_name(result->finish_reason))) &&
            mlxcel_cli_json_set(report, "timings", make_timings(run)) &&
            mlxcel_cli_json_set(report, "peak_rss_bytes", json_integer((json_int_t)mlxcel_cli_peak_memory()));
  if (ok) return report;
  json_decref(report);
  return NULL;
}

// A run that the user or a write error stopped leaves no logits behind.
static int finish_logits(generate_run_t* run) {
  if (!run->writes_logits || run->result.finish_reason == MLXCEL_FINISH_CANCELLED) return MLXCEL_CLI_EXIT_OK;
  if (mlxcel_cli_npy_finish(&run->npy, run->info->vocab_size)) return MLXCEL_CLI_EXIT_OK;
  mlxcel_cli_error("--logits: %s", run->npy.message);
  return MLXCEL_CLI_EXIT_FAILURE;
}

static int report_run(generate_run_t* run) {
  const generate_settings_t* settings = run->settings;
  int exit_code = finish_logits(run);
  if (exit_code) return exit_code;
  if (settings->output.json && !mlxcel_cli_json_print(make_report(run), 0)) return MLXCEL_CLI_EXIT_FAILURE;
  // stdout holds exactly the text, except that a terminal's next prompt begins on a new line.
  if (!settings->output.json && run->last_byte && run->last_byte != '\n' && mlxcel_cli_output_is_terminal()) mlxcel_cli_output_write("\n", 1);
  if (!settings->target.quiet && !mlxcel_cli_output_is_closed()) {
    mlxcel_cli_message("\n");
    mlxcel_cli_statistics_print(run->info, &run->result);
  }
  return mlxcel_cli_interrupt_count() ? MLXCEL_CLI_EXIT_INTERRUPTED : MLXCEL_CLI_EXIT_OK;
}

static int run_generate(void* settings_memory, const mlxcel_cli_parsed_t* parsed) {
  generate_run_t run;
  memset(&run, 0, sizeof(run));
  run.settings = settings_memory;
  int exit_code = check_settings(run.settings, parsed);
  if (!exit_code) exit_code = mlxcel_cli_sampling_check(&run.settings->sampling);
  if (!exit_code) exit_code = prepare_inputs(&run);
  if (!exit_code) exit_code = mlxcel_cli_engine_open(&run.settings->target, &run.settings->run, &run.engine);
  if (!exit_code) {
    run.info = mlxcel_engine_info(run.engine);
    if (run.settings->target.verbose && !run.settings->target.quiet) mlxcel_cli_engine_describe(run.info);
    exit_code = tokenize_prompt(&run);
  }
  if (!exit_code) exit_code = generate(&run, parsed);
  if (!exit_code) exit_code = report_run(&run);
  generate_run_deinitialize(&run);
  return exit_code;
}

const mlxcel_cli_command_t mlxcel_cli_command_generate = {
    .name = "generate",
    .summary = "continue a prompt",
    .usage = "-m FOLDER (-p TEXT | -p - | -f FILE | --prompt-ids IDS) [options]",
    .details = "The text goes to stdout, byte for byte; progress and statistics go to stderr. Ctrl-C stops cleanly, twice at once.",
    .groups = groups,
    .group_count = COUNT(groups),
    .settings_size = sizeof(generate_settings_t),
    .initialize = initialize_settings,
    .run = run_generate,
};
