// engine_settings.h: the options that generate, chat and compile share, and what becomes of them: an open engine, a sampler, stop strings.
//
// Strings are views of argv and the environment. A setting that isn't given keeps its "unset" value, so that the model's own files decide.
#ifndef MLXCEL_CLI_ENGINE_SETTINGS_H_
#define MLXCEL_CLI_ENGINE_SETTINGS_H_

#include "cli/options.h"
#include "mlxcel/mlxcel.h"

// What is compiled, for which device.
typedef struct mlxcel_cli_target_settings_t {
  const char* model;
  const char* device;
  const char* profile;
  const char* precision;
  const char* kv_dtype;
  const char* huge_pages;
  const char* quant;
  const char* backend;
  const char* cpu_level;
  const char* cache_folder;
  const char* compiler;
  bool verbose, quiet;
} mlxcel_cli_target_settings_t;
#define MLXCEL_CLI_TARGET_OPTION_COUNT 13
#define MLXCEL_CLI_TARGET_SHARED_COUNT \
  7  // the first ones, which developers' commands honour too: model, device, profile, cpu-level, cache-dir, compiler, quiet
extern const mlxcel_cli_option_t mlxcel_cli_target_options[MLXCEL_CLI_TARGET_OPTION_COUNT];

// How it runs.
typedef struct mlxcel_cli_run_settings_t {
  int64_t context, threads, chunk;  // 0 = automatic
} mlxcel_cli_run_settings_t;
#define MLXCEL_CLI_RUN_OPTION_COUNT 3
#define MLXCEL_CLI_RUN_SHARED_COUNT 1  // threads
extern const mlxcel_cli_option_t mlxcel_cli_run_options[MLXCEL_CLI_RUN_OPTION_COUNT];

// How tokens are drawn and when drawing ends.
typedef struct mlxcel_cli_sampling_settings_t {
  int64_t max_tokens;                                                                         // -1 = what the context leaves
  double temperature, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;  // NaN = the model's own
  int64_t top_k;                                                                              // -1 = the model's own
  uint64_t seed;
  mlxcel_cli_list_t logit_bias;  // texts ID=BIAS[,ID=BIAS...]
  mlxcel_cli_list_t stops;
  bool ignore_eos;
} mlxcel_cli_sampling_settings_t;
#define MLXCEL_CLI_SAMPLING_OPTION_COUNT 12
extern const mlxcel_cli_option_t mlxcel_cli_sampling_options[MLXCEL_CLI_SAMPLING_OPTION_COUNT];
void mlxcel_cli_sampling_settings_initialize(mlxcel_cli_sampling_settings_t* out_settings);

// Checks what the table can't: a model is named, the representation of weights exists. Sets the verbosity. Returns an exit code after printing the error.
int mlxcel_cli_target_check(const mlxcel_cli_target_settings_t* target);

// The same for what can be told of sampling settings before a model is loaded: no stop string is empty.
int mlxcel_cli_sampling_check(const mlxcel_cli_sampling_settings_t* settings);

// Fills |out_options| (|run| may be NULL: all automatic). The strings are borrowed from |target|.
void mlxcel_cli_engine_options_make(const mlxcel_cli_target_settings_t* target, const mlxcel_cli_run_settings_t* run, mlxcel_engine_options_t* out_options);

// Opens the engine with progress on stderr, stopped by Ctrl-C. Returns an exit code; the engine is closed by the caller.
int mlxcel_cli_engine_open(const mlxcel_cli_target_settings_t* target, const mlxcel_cli_run_settings_t* run, mlxcel_engine_t** out_engine);
// Prints model, device, memory and the like on stderr.
void mlxcel_cli_engine_describe(const mlxcel_engine_info_t* info);

// Parses all texts of |list|; |out_biases| has room for MLXCEL_CLI_LOGIT_BIAS_MAX. Prints a usage error and returns its exit code if one is malformed.
int mlxcel_cli_logit_bias_parse(const mlxcel_cli_list_t* list, mlxcel_logit_bias_t* out_biases, size_t* out_count);
// The model's own sampling with the given settings laid over it. |biases| is borrowed.
void mlxcel_cli_sampling_make(const mlxcel_cli_sampling_settings_t* settings, const mlxcel_sampling_t* model_sampling, const mlxcel_logit_bias_t* biases,
                              size_t bias_count, mlxcel_sampling_t* out_sampling);
// Prints the effective sampler on stderr.
void mlxcel_cli_sampling_describe(const mlxcel_sampling_t* sampling);

#endif  // MLXCEL_CLI_ENGINE_SETTINGS_H_
