#include "cli/engine_settings.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

static const char* const devices[] = {"local-task", "local-sync", "cuda", "hip", "metal", NULL};
static const char* const profiles[] = {"pinned-f32", "mlx-cpu-0.32.4", NULL};  // those that run models, the default first; cli_profile_choices_test compares
static const char* const precisions[] = {"f32", "f16", "bf16", "checkpoint", NULL};
static const char* const huge_pages[] = {"auto", "off", NULL};
static const char* const kv_dtypes[] = {"f32", "f16", "bf16", NULL};
static const char* const quants[] = {"packed", "dense", NULL};
static const char* const backends[] = {"xla", NULL};
static const char* const cpu_levels[] = {"v3", "v4", NULL};

#define TARGET(field) .offset = offsetof(mlxcel_cli_target_settings_t, field)
const mlxcel_cli_option_t mlxcel_cli_target_options[MLXCEL_CLI_TARGET_OPTION_COUNT] = {
    {.name = "model",
     .short_name = 'm',
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     TARGET(model),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "checkpoint folder (config.json, *.safetensors, tokenizer.json)"},
    {.name = "device",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "DEVICE",
     TARGET(device),
     .choices = devices,
     .environment = "MLXCEL_XLA_DEVICE",
     .help = "where to run: local-task, local-sync, cuda, hip, metal; 'mlxcel devices' lists what this build has (default local-task)"},
    {.name = "profile",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "NAME",
     TARGET(profile),
     .choices = profiles,
     .help = "numeric contract: pinned-f32 (fast, f32), mlx-cpu-0.32.4 (bit for bit what MLX computes on its CPU, slow) (default pinned-f32)"},
    {.name = "cpu-level",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "LEVEL",
     TARGET(cpu_level),
     .choices = cpu_levels,
     .help = "x86-64 level of the kernels: v3, v4 (default: the best that this processor has)"},
    {.name = "cache-dir",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FOLDER",
     TARGET(cache_folder),
     .completion = MLXCEL_CLI_COMPLETE_FOLDER,
     .help = "compiled modules (default $XDG_CACHE_HOME/mlxcel, or ~/.cache/mlxcel)"},
    {.name = "compiler",
     .type = MLXCEL_CLI_TEXT,
     .metavar = "FILE",
     TARGET(compiler),
     .environment = "MLXCEL_XLA_IREE_COMPILE",
     .completion = MLXCEL_CLI_COMPLETE_FILE,
     .help = "the iree-compile program, needed when the module isn't in the cache (default: the one that the build knows)"},
    {.name = "quiet", .short_name = 'q', .type = MLXCEL_CLI_FLAG, TARGET(quiet), .help = "no progress, notes and statistics; errors only"},
    // Behind the shared ones (MLXCEL_CLI_TARGET_SHARED_COUNT).
    {.name = "precision",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "DTYPE",
     TARGET(precision),
     .choices = precisions,
     .environment = "MLXCEL_XLA_PRECISION",
     .help = "dtype of activations: f32 (pinned-f32), checkpoint (mlx-cpu-0.32.4: the checkpoint's own); f16 and bf16 are refused by name (default: the "
             "profile's)"},
    {.name = "kv-dtype",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "DTYPE",
     TARGET(kv_dtype),
     .choices = kv_dtypes,
     .environment = "MLXCEL_KV_DTYPE",
     .help = "what keys and values are stored as under pinned-f32: f32, f16, bf16 (half the memory, each value rounded once); refused under "
             "mlx-cpu-0.32.4, where the checkpoint decides (default f32)"},
    {.name = "huge-pages",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "MODE",
     TARGET(huge_pages),
     .choices = huge_pages,
     .environment = "MLXCEL_HUGE_PAGES",
     .help = "packed weights: auto moves them onto huge pages while loading (faster; they become this process's own memory), off leaves the mapped files, "
             "which processes share (default auto)"},
    {.name = "quant",
     .type = MLXCEL_CLI_CHOICE,
     .metavar = "FORM",
     TARGET(quant),
     .choices = quants,
     .environment = "MLXCEL_XLA_QUANT",
     .help = "quantized weights on the device: packed, dense (default packed)"},
    {.name = "backend", .type = MLXCEL_CLI_CHOICE, .metavar = "NAME", TARGET(backend), .choices = backends, .help = "the only backend is xla (default xla)"},
    {.name = "verbose", .type = MLXCEL_CLI_FLAG, TARGET(verbose), .help = "tell more on stderr"},
};

#define RUN(field) .offset = offsetof(mlxcel_cli_run_settings_t, field)
const mlxcel_cli_option_t mlxcel_cli_run_options[MLXCEL_CLI_RUN_OPTION_COUNT] = {
    {.name = "threads",
     .short_name = 't',
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     RUN(threads),
     .minimum = 0,
     .maximum = MLXCEL_THREADS_MAX,
     .help = "workers; 0 = one for each processor that this process may use; each number is a module of its own (default 0)"},
    // Behind the shared one (MLXCEL_CLI_RUN_SHARED_COUNT).
    {.name = "ctx",
     .short_name = 'c',
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     RUN(context),
     .minimum = 0,
     .maximum = MLXCEL_CONTEXT_MAX,
     .help = "context in tokens; 0 = the model's limit (default 0)"},
    {.name = "chunk",
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     RUN(chunk),
     .minimum = 0,
     .maximum = MLXCEL_CONTEXT_MAX,
     .help = "longest piece in which a prompt is computed, in tokens; the result doesn't depend on it; 0 = automatic (default 0)"},
};

#define SAMPLING(field) .offset = offsetof(mlxcel_cli_sampling_settings_t, field)
const mlxcel_cli_option_t mlxcel_cli_sampling_options[MLXCEL_CLI_SAMPLING_OPTION_COUNT] = {
    {.name = "max-tokens",
     .short_name = 'n',
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     SAMPLING(max_tokens),
     .minimum = -1,
     .maximum = MLXCEL_CONTEXT_MAX,
     .help = "tokens to generate at most; -1 = what the context leaves (default -1)"},
    {.name = "temp",
     .type = MLXCEL_CLI_NUMBER,
     .metavar = "T",
     SAMPLING(temperature),
     .minimum = 0,
     .maximum = 100,
     .help = "temperature; 0 = always the likeliest token (default: generation_config.json, else 0)"},
    {.name = "top-k",
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "K",
     SAMPLING(top_k),
     .minimum = 0,
     .maximum = MLXCEL_VOCAB_MAX,
     .help = "draw from the K likeliest tokens; 0 = off (default: generation_config.json, else 0)"},
    {.name = "top-p",
     .type = MLXCEL_CLI_NUMBER,
     .metavar = "P",
     SAMPLING(top_p),
     .minimum = 0,
     .maximum = 1,
     .help = "draw from the likeliest tokens that reach probability P together; 1 = off (default: generation_config.json, else 1)"},
    {.name = "min-p",
     .type = MLXCEL_CLI_NUMBER,
     .metavar = "P",
     SAMPLING(min_p),
     .minimum = 0,
     .maximum = 1,
     .help = "drop tokens less likely than P times the likeliest; 0 = off (default: generation_config.json, else 0)"},
    {.name = "repeat-penalty",
     .type = MLXCEL_CLI_NUMBER,
     .metavar = "X",
     SAMPLING(repetition_penalty),
     .minimum = 0.01,
     .maximum = 100,
     .help = "divides positive logits of tokens seen in prompt and answer; 1 = off (default: generation_config.json, else 1)"},
    {.name = "presence-penalty",
     .type = MLXCEL_CLI_NUMBER,
     .metavar = "X",
     SAMPLING(presence_penalty),
     .minimum = -100,
     .maximum = 100,
     .help = "subtracted from the logit of a token that was generated before; 0 = off (default 0)"},
    {.name = "frequency-penalty",
     .type = MLXCEL_CLI_NUMBER,
     .metavar = "X",
     SAMPLING(frequency_penalty),
     .minimum = -100,
     .maximum = 100,
     .help = "subtracted for each time that a token was generated before; 0 = off (default 0)"},
    {.name = "logit-bias",
     .type = MLXCEL_CLI_LIST,
     .metavar = "ID=BIAS",
     SAMPLING(logit_bias),
     .help = "added to the logit of a token; several with commas or by repeating the option; -1e9 forbids a token"},
    {.name = "seed",
     .short_name = 's',
     .type = MLXCEL_CLI_SEED,
     .metavar = "SEED",
     SAMPLING(seed),
     .help = "of the random draws: a number, or 'random' (default 0)"},
    {.name = "stop", .type = MLXCEL_CLI_LIST, .metavar = "TEXT", SAMPLING(stops), .help = "end before this text; may be repeated"},
    {.name = "ignore-eos", .type = MLXCEL_CLI_FLAG, SAMPLING(ignore_eos), .help = "go on after the model's end-of-text tokens"},
};

void mlxcel_cli_sampling_settings_initialize(mlxcel_cli_sampling_settings_t* out_settings) {
  memset(out_settings, 0, sizeof(*out_settings));
  out_settings->max_tokens = -1;
  out_settings->top_k = -1;
  out_settings->temperature = out_settings->top_p = out_settings->min_p = NAN;
  out_settings->repetition_penalty = out_settings->presence_penalty = out_settings->frequency_penalty = NAN;
}

int mlxcel_cli_target_check(const mlxcel_cli_target_settings_t* target) {
  if (!target->model) {
    mlxcel_cli_error("no model given; name its folder with -m FOLDER or in MLXCEL_MODEL");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  if (target->quant && strcmp(target->quant, "dense") == 0) {
    mlxcel_cli_error("quant 'dense' (--quant, MLXCEL_XLA_QUANT) isn't part of profile %s, whose kernels read the packed weights; use 'packed'",
                     target->profile ? target->profile : profiles[0]);
    return MLXCEL_CLI_EXIT_USAGE;
  }
  mlxcel_log_set_level(target->quiet ? MLXCEL_LOG_ERROR : target->verbose ? MLXCEL_LOG_DEBUG : MLXCEL_LOG_WARNING);
  return MLXCEL_CLI_EXIT_OK;
}

int mlxcel_cli_sampling_check(const mlxcel_cli_sampling_settings_t* settings) {
  for (size_t i = 0; i < settings->stops.count; ++i) {
    if (settings->stops.items[i][0]) continue;
    mlxcel_cli_error("option --stop: the text is empty, so it would end every answer before it begins; leave it out");
    return MLXCEL_CLI_EXIT_USAGE;
  }
  return MLXCEL_CLI_EXIT_OK;
}

void mlxcel_cli_engine_options_make(const mlxcel_cli_target_settings_t* target, const mlxcel_cli_run_settings_t* run, mlxcel_engine_options_t* out_options) {
  mlxcel_engine_options_initialize(out_options);
  out_options->model_folder = target->model;
  out_options->device = target->device;
  out_options->profile = target->profile;
  out_options->precision = target->precision;
  out_options->kv_dtype = target->kv_dtype;
  out_options->huge_pages = target->huge_pages;
  out_options->cache_folder = target->cache_folder;
  out_options->compiler = target->compiler;
  out_options->cpu_level = target->cpu_level;
  out_options->cancelled = mlxcel_cli_interrupt_is_requested;
  if (!run) return;
  out_options->threads = (uint32_t)run->threads;
  out_options->context = (uint32_t)run->context;
  out_options->prefill_chunk = (uint32_t)run->chunk;
}

static void notify_step(void* user_data, const char* step, double elapsed_seconds) { mlxcel_cli_progress_step(user_data, step, elapsed_seconds); }

int mlxcel_cli_engine_open(const mlxcel_cli_target_settings_t* target, const mlxcel_cli_run_settings_t* run, mlxcel_engine_t** out_engine) {
  *out_engine = NULL;
  mlxcel_cli_progress_options_t progress_options;
  mlxcel_cli_progress_options_initialize(&progress_options);
  progress_options.enabled = !target->quiet;
  mlxcel_cli_progress_t progress;
  mlxcel_cli_progress_initialize(&progress_options, &progress);
  mlxcel_engine_options_t options;
  mlxcel_cli_engine_options_make(target, run, &options);
  options.progress = notify_step;
  options.user_data = &progress;
  mlxcel_error_t* error = mlxcel_engine_open(&options, out_engine);
  if (error) {
    mlxcel_cli_progress_abandon(&progress);
    return mlxcel_cli_error_report(error);
  }
  mlxcel_cli_progress_finish(&progress);
  if (!mlxcel_cli_interrupt_count()) return MLXCEL_CLI_EXIT_OK;
  mlxcel_cli_message("mlxcel: interrupted\n");
  mlxcel_engine_close(*out_engine);
  *out_engine = NULL;
  return MLXCEL_CLI_EXIT_INTERRUPTED;
}

static double mebibytes(uint64_t bytes) { return (double)bytes / (1 << 20); }

void mlxcel_cli_engine_describe(const mlxcel_engine_info_t* info) {
  mlxcel_cli_message("model:    %s (%s), vocabulary %" PRIu32 ", context %" PRIu32 " of %" PRIu32 "%s\n", info->model_name, info->model_type, info->vocab_size,
                     info->context, info->model_context, info->has_chat_template ? "" : ", no chat template");
  mlxcel_cli_message("device:   %s, %" PRIu32 " threads, kernels for x86-64-%s\n", info->device, info->threads, info->cpu_level);
  mlxcel_cli_message("contract: %s, %s\n", info->profile, info->contract_fingerprint);
  mlxcel_cli_message("memory:   weights %.1f MiB (%.1f MiB of them copied), KV cache %.1f MiB of %s (%.1f MiB per 1000 tokens)\n",
                     mebibytes(info->weight_bytes), mebibytes(info->copied_weight_bytes), mebibytes(info->kv_bytes), info->kv_dtype,
                     mebibytes(1000 * info->kv_token_bytes));
  mlxcel_cli_message("ends at: ");
  for (size_t i = 0; i < info->eos_count; ++i) mlxcel_cli_message("%s %" PRId32, i ? "," : "", info->eos_ids[i]);
  mlxcel_cli_message("%s\n", info->eos_count ? "" : " no token");
}

// One "ID=BIAS" of |*cursor|, which moves behind it and its comma.
static bool parse_bias(const char** cursor, mlxcel_logit_bias_t* out_bias) {
  char* end = NULL;
  errno = 0;
  long token = strtol(*cursor, &end, 10);
  if (errno || end == *cursor || token < 0 || token > (long)MLXCEL_VOCAB_MAX || *end != '=') return false;
  const char* number = end + 1;
  double bias = strtod(number, &end);
  if (end == number || !(fabs(bias) <= MLXCEL_CLI_LOGIT_BIAS_VALUE_MAX) || (*end && *end != ',') || (*end == ',' && !end[1])) return false;
  *out_bias = (mlxcel_logit_bias_t){(int32_t)token, (float)bias};
  *cursor = *end ? end + 1 : end;
  return true;
}

int mlxcel_cli_logit_bias_parse(const mlxcel_cli_list_t* list, mlxcel_logit_bias_t* out_biases, size_t* out_count) {
  *out_count = 0;
  for (size_t i = 0; i < list->count; ++i) {
    const char* cursor = list->items[i];
    do {
      if (*out_count == MLXCEL_CLI_LOGIT_BIAS_MAX) {
        mlxcel_cli_error("--logit-bias: more than %u tokens", MLXCEL_CLI_LOGIT_BIAS_MAX);
        return MLXCEL_CLI_EXIT_USAGE;
      }
      if (!parse_bias(&cursor, &out_biases[*out_count])) {
        mlxcel_cli_error("--logit-bias: '%.200s' isn't ID=BIAS[,ID=BIAS...]; ID is a token number, BIAS a number from -1e9 to 1e9", list->items[i]);
        return MLXCEL_CLI_EXIT_USAGE;
      }
      ++*out_count;
    } while (*cursor);
  }
  return MLXCEL_CLI_EXIT_OK;
}

static void override_float(double value, float* target) {
  if (!isnan(value)) *target = (float)value;
}

void mlxcel_cli_sampling_make(const mlxcel_cli_sampling_settings_t* settings, const mlxcel_sampling_t* model_sampling, const mlxcel_logit_bias_t* biases,
                              size_t bias_count, mlxcel_sampling_t* out_sampling) {
  *out_sampling = *model_sampling;
  override_float(settings->temperature, &out_sampling->temperature);
  override_float(settings->top_p, &out_sampling->top_p);
  override_float(settings->min_p, &out_sampling->min_p);
  override_float(settings->repetition_penalty, &out_sampling->repetition_penalty);
  override_float(settings->presence_penalty, &out_sampling->presence_penalty);
  override_float(settings->frequency_penalty, &out_sampling->frequency_penalty);
  if (settings->top_k >= 0) out_sampling->top_k = (int32_t)settings->top_k;
  out_sampling->seed = settings->seed;
  out_sampling->logit_bias = biases;
  out_sampling->logit_bias_count = bias_count;
}

void mlxcel_cli_sampling_describe(const mlxcel_sampling_t* sampling) {
  if (sampling->temperature == 0) {
    mlxcel_cli_message("sampler: greedy");
  } else {
    mlxcel_cli_message("sampler: temperature %g, top-k %" PRId32 ", top-p %g, min-p %g, seed %" PRIu64 " of %s", (double)sampling->temperature, sampling->top_k,
                       (double)sampling->top_p, (double)sampling->min_p, sampling->seed, mlxcel_sampling_generator_name());
  }
  mlxcel_cli_message(", repeat penalty %g, presence penalty %g, frequency penalty %g", (double)sampling->repetition_penalty, (double)sampling->presence_penalty,
                     (double)sampling->frequency_penalty);
  if (sampling->logit_bias_count) mlxcel_cli_message(", logit bias on %zu tokens", sampling->logit_bias_count);
  mlxcel_cli_message("\n");
}
