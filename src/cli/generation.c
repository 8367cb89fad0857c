#include "cli/generation.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_out.h"

int mlxcel_cli_messages_add(json_t* messages, const char* role, const char* content, size_t content_size) {
  json_t* text = mlxcel_cli_json_text(content, content_size);
  if (!text) {
    mlxcel_cli_error("the %s message isn't valid UTF-8, which a chat template needs; convert it (iconv -t utf-8)", role);
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  json_t* message = json_object();
  bool ok = message && mlxcel_cli_json_set(message, "role", json_string(role)) && mlxcel_cli_json_set(message, "content", json_incref(text)) &&
            json_array_append(messages, message) == 0;
  json_decref(message);
  json_decref(text);
  if (!ok) mlxcel_cli_error("out of memory for the conversation");
  return ok ? MLXCEL_CLI_EXIT_OK : MLXCEL_CLI_EXIT_FAILURE;
}

int mlxcel_cli_messages_tokenize(mlxcel_engine_t* engine, const json_t* messages, int32_t** out_ids, size_t* out_count) {
  *out_ids = NULL;
  *out_count = 0;
  char* messages_text = json_dumps(messages, JSON_COMPACT);
  if (!messages_text) {
    mlxcel_cli_error("out of memory for the conversation");
    return MLXCEL_CLI_EXIT_FAILURE;
  }
  char* text = NULL;
  size_t size = 0;
  mlxcel_error_t* error = mlxcel_chat_render(engine, messages_text, true, &text, &size);
  // The template writes the special tokens itself: adding them here would double the first one.
  if (!error) error = mlxcel_tokenize(engine, text, size, false, out_ids, out_count);
  mlxcel_free(text);
  free(messages_text);
  return mlxcel_cli_error_report(error);
}

uint64_t mlxcel_cli_peak_memory(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return (uint64_t)usage.ru_maxrss * 1024;  // Linux counts kibibytes
}

static void print_time(const char* name, double seconds) { mlxcel_cli_message("%18s = %11.2f ms", name, 1000 * seconds); }

static void print_rate(const char* name, double seconds, size_t tokens) {
  print_time(name, seconds);
  double each = tokens ? 1000 * seconds / (double)tokens : 0;
  double rate = seconds > 0 ? (double)tokens / seconds : 0;
  mlxcel_cli_message(" / %5zu tokens (%8.2f ms per token, %8.2f tokens per second)", tokens, each, rate);
}

void mlxcel_cli_statistics_print(const mlxcel_engine_info_t* info, const mlxcel_result_t* result) {
  print_time("load time", info->load_seconds);
  mlxcel_cli_message("\n");
  print_time("compile time", info->compile_seconds);
  mlxcel_cli_message(" (cache %s)\n", info->cache_hit ? "hit" : "miss");
  print_rate("prompt eval time", result->prefill_seconds, result->prefill_tokens);
  if (result->reused_tokens) mlxcel_cli_message(", %zu more tokens reused", result->reused_tokens);
  mlxcel_cli_message("\n");
  print_rate("eval time", result->decode_seconds, result->decode_tokens);
  mlxcel_cli_message("\n");
  print_time("first token time", result->first_token_seconds);
  mlxcel_cli_message("\n");
  print_time("total time", info->load_seconds + info->compile_seconds + result->prefill_seconds + result->decode_seconds);
  mlxcel_cli_message(" / %5zu tokens\n", result->prefill_tokens + result->decode_tokens);
  mlxcel_cli_message("%18s = %11.2f MiB\n", "peak memory", (double)mlxcel_cli_peak_memory() / (1 << 20));
}
