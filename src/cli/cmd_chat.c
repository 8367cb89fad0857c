// mlxcel chat: a conversation, line by line. One session keeps the KV cache, so each turn computes only what is new.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_settings.h"
#include "cli/generation.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/json_out.h"

typedef struct chat_settings_t {
  mlxcel_cli_target_settings_t target;
  mlxcel_cli_run_settings_t run;
  mlxcel_cli_sampling_settings_t sampling;
  const char* system;
} chat_settings_t;

static const mlxcel_cli_option_t chat_options[] = {
    {.name = "system", .type = MLXCEL_CLI_TEXT, .metavar = "TEXT", .help = "system message at the beginning"},
};
static const mlxcel_cli_group_t groups[] = {
    {"conversation", chat_options, 1, offsetof(chat_settings_t, system)},
    {"model and device", mlxcel_cli_target_options, MLXCEL_CLI_TARGET_OPTION_COUNT, offsetof(chat_settings_t, target)},
    {"run", mlxcel_cli_run_options, MLXCEL_CLI_RUN_OPTION_COUNT, offsetof(chat_settings_t, run)},
    {"sampling", mlxcel_cli_sampling_options, MLXCEL_CLI_SAMPLING_OPTION_COUNT, offsetof(chat_settings_t, sampling)},
};

static void initialize_settings(void* settings) { mlxcel_cli_sampling_settings_initialize(&((chat_settings_t*)settings)->sampling); }

typedef struct chat_t {
  const chat_settings_t* settings;
  mlxcel_logit_bias_t* biases;
  size_t bias_count;
  mlxcel_engine_t* engine;
  const mlxcel_engine_info_t* info;
  mlxcel_session_t* session;
  json_t* messages;
  mlxcel_cli_lines_t lines;
  bool shows_marks;  // both ends are a terminal
  char last_byte;    // of the answer so far
} chat_t;

static void chat_deinitialize(chat_t* chat) {
  mlxcel_cli_lines_deinitialize(&chat->lines);
  json_decref(chat->messages);
  mlxcel_session_close(chat->session);
  mlxcel_engine_close(chat->engine);
  free(chat->biases);
}

static int reset_conversation(chat_t* chat) {
  json_decref(chat->messages);
  chat->messages = json_array();
  const char* system = chat->settings->system;
  return system ? mlxcel_cli_messages_add(chat->messages, "system", system, strlen(system)) : MLXCEL_CLI_EXIT_OK;
}

static int open_chat(chat_t* chat) {
  chat->biases = calloc(MLXCEL_CLI_LOGIT_BIAS_MAX, sizeof(*chat->biases));
  if (!chat->biases) {
    mlxcel_cli_error("out of memory for the logit biases");
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  int exit_code = mlxcel_cli_logit_bias_parse(&chat->settings->sampling.logit_bias, chat->biases, &chat->bias_count);
  if (!exit_code) exit_code = reset_conversation(chat);
  if (!exit_code) exit_code = mlxcel_cli_engine_open(&chat->settings->target, &chat->settings->run, &chat->engine);
  if (exit_code) return exit_code;
  chat->info = mlxcel_engine_info(chat->engine);
  if (!chat->info->has_chat_template) {
    mlxcel_cli_error("model %s has no chat template, so it can't be talked to; use 'mlxcel generate', or a model tuned for chat", chat->info->model_name);
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  if (chat->settings->target.verbose && !chat->settings->target.quiet) mlxcel_cli_engine_describe(chat->info);
  return mlxcel_cli_error_report(mlxcel_session_open(chat->engine, &chat->session));
}

static bool handle_event(void* user_data, const mlxcel_event_t* event) {
  chat_t* chat = user_data;
  if (!event->text_size) return true;
  chat->last_byte = event->text[event->text_size - 1];
  return mlxcel_cli_output_write(event->text, event->text_size);
}

static void make_request(chat_t* chat, const int32_t* ids, size_t count, mlxcel_request_t* out_request) {
  const mlxcel_cli_sampling_settings_t* sampling = &chat->settings->sampling;
  mlxcel_request_initialize(out_request);
  out_request->prompt_ids = ids;
  out_request->prompt_count = count;
  out_request->max_tokens = sampling->max_tokens;
  mlxcel_cli_sampling_make(sampling, &chat->info->default_sampling, chat->biases, chat->bias_count, &out_request->sampling);
  out_request->stops = sampling->stops.items;
  out_request->stop_count = sampling->stops.count;
  out_request->ignore_eos = sampling->ignore_eos;
  out_request->on_event = handle_event;
  out_request->cancelled = mlxcel_cli_interrupt_is_requested;
  out_request->user_data = chat;
}

// What the user should know about an answer's end.
static void report_answer(const chat_t* chat, size_t prompt_count, const mlxcel_result_t* result) {
  if (chat->settings->target.verbose && !chat->settings->target.quiet) mlxcel_cli_statistics_print(chat->info, result);
  if (result->finish_reason == MLXCEL_FINISH_CANCELLED && !mlxcel_cli_output_is_closed()) mlxcel_cli_note("answer stopped");
  if (result->finish_reason != MLXCEL_FINISH_LENGTH) return;
  if (prompt_count + result->count >= chat->info->context) {
    mlxcel_cli_note("the context of %u tokens is full; /reset begins a new conversation, -c sets a larger context", chat->info->context);
  } else {
    mlxcel_cli_note("answer cut at -n %zu tokens", result->count);
  }
}

// True if there was no room for an answer: the conversation goes on without the message that didn't fit.
static bool report_full_context(const chat_t* chat, size_t prompt_count) {
  if (prompt_count < chat->info->context) return false;
  mlxcel_cli_error(
      "the conversation has %zu tokens, the context only %u; the last message was dropped: shorten it, begin anew with /reset, or start with "
      "a larger -c",
      prompt_count, chat->info->context);
  return true;
}

static int generate_answer(chat_t* chat, const int32_t* ids, size_t count) {
  mlxcel_request_t request;
  make_request(chat, ids, count, &request);
  mlxcel_result_t result;
  memset(&result, 0, sizeof(result));
  chat->last_byte = '\n';
  mlxcel_error_t* error = mlxcel_session_generate(chat->session, &request, &result);
  if (chat->last_byte != '\n' || !error) mlxcel_cli_output_write("\n", 1);
  int exit_code = mlxcel_cli_error_report(error);
  if (!exit_code) {
    report_answer(chat, count, &result);
    exit_code = mlxcel_cli_messages_add(chat->messages, "assistant", result.text, result.text_size);
  }
  mlxcel_result_release(&result);
  return exit_code;
}

// One turn. A message that can't be answered is taken back, and the conversation goes on; so does it when Ctrl-C stopped the answer.
static bool answer(chat_t* chat, const char* text, size_t size) {
  size_t message_count = json_array_size(chat->messages);
  int32_t* ids = NULL;
  size_t count = 0;
  int exit_code = mlxcel_cli_messages_add(chat->messages, "user", text, size);
  if (!exit_code) exit_code = mlxcel_cli_messages_tokenize(chat->engine, chat->messages, &ids, &count);
  if (!exit_code && report_full_context(chat, count)) exit_code = MLXCEL_CLI_EXIT_FAILURE;
  if (!exit_code) exit_code = generate_answer(chat, ids, count);
  mlxcel_free(ids);
  while (exit_code && json_array_size(chat->messages) > message_count) json_array_remove(chat->messages, json_array_size(chat->messages) - 1);
  mlxcel_cli_interrupt_reset();
  return exit_code == MLXCEL_CLI_EXIT_OK;
}

static void print_chat_help(void) {
  mlxcel_cli_message(
      "/reset  begin a new conversation\n/exit   leave (or Ctrl-D)\n/help   this text\n"
      "Ctrl-C stops an answer, or leaves when none is running. Anything else is a message to the model.\n");
}

// Returns false when the conversation is over. Other words after a slash are refused, so that a slip isn't sent to the model.
static bool run_chat_command(chat_t* chat, const char* command) {
  if (strcmp(command, "/exit") == 0) return false;
  if (strcmp(command, "/reset") == 0) {
    reset_conversation(chat);
    mlxcel_cli_note("new conversation");
  } else if (strcmp(command, "/help") == 0) {
    print_chat_help();
  } else {
    mlxcel_cli_note("unknown command '%s'; valid: /exit, /reset, /help (a space before the slash makes it a message)", command);
  }
  return true;
}

// A person sees what failed; a script that feeds messages learns it from the exit code.
static int converse(chat_t* chat) {
  bool all_answered = true;
  for (;;) {
    char* line = NULL;
    size_t size = 0;
    if (chat->shows_marks) mlxcel_cli_message("> ");
    mlxcel_cli_line_result_t result = mlxcel_cli_lines_next(&chat->lines, &line, &size);
    if (result != MLXCEL_CLI_LINE && chat->shows_marks) mlxcel_cli_message("\n");
    if (result == MLXCEL_CLI_LINE_END) return all_answered || chat->shows_marks ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
    if (result == MLXCEL_CLI_LINE_INTERRUPTED) return MLXCEL_CLI_EXIT_INTERRUPTED;
    if (result == MLXCEL_CLI_LINE_FAILED) return MLXCEL_CLI_EXIT_FAILURE;
    if (size == 0) continue;
    if (line[0] == '/') {
      if (!run_chat_command(chat, line)) return MLXCEL_CLI_EXIT_OK;
    } else {
      all_answered = answer(chat, line, size) && all_answered;
    }
    if (mlxcel_cli_output_is_closed()) return MLXCEL_CLI_EXIT_OK;
  }
}

static int run_chat(void* settings_memory, const mlxcel_cli_parsed_t* parsed) {
  (void)parsed;
  chat_t chat;
  memset(&chat, 0, sizeof(chat));
  chat.settings = settings_memory;
  chat.shows_marks = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
  int exit_code = mlxcel_cli_target_check(&chat.settings->target);
  if (!exit_code) exit_code = mlxcel_cli_sampling_check(&chat.settings->sampling);
  if (!exit_code) exit_code = open_chat(&chat);
  if (!exit_code) {
    mlxcel_sampling_t sampling;
    mlxcel_cli_sampling_make(&chat.settings->sampling, &chat.info->default_sampling, chat.biases, chat.bias_count, &sampling);
    if (!chat.settings->target.quiet) mlxcel_cli_sampling_describe(&sampling);
    if (chat.shows_marks && !chat.settings->target.quiet) mlxcel_cli_message("%s is ready; /help lists the commands\n", chat.info->model_name);
    exit_code = converse(&chat);
  }
  chat_deinitialize(&chat);
  return exit_code;
}

const mlxcel_cli_command_t mlxcel_cli_command_chat = {
    .name = "chat",
    .summary = "talk with a model",
    .usage = "-m FOLDER [options]",
    .details = "Each line of standard input is a message. Commands: /reset, /exit, /help. Ctrl-C stops an answer, or leaves when none is running.",
    .groups = groups,
    .group_count = sizeof(groups) / sizeof(groups[0]),
    .settings_size = sizeof(chat_settings_t),
    .initialize = initialize_settings,
    .run = run_chat,
};
