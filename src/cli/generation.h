// generation.h: statistics and conversations, as generate and chat share them.
#ifndef MLXCEL_CLI_GENERATION_H_
#define MLXCEL_CLI_GENERATION_H_

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlxcel/mlxcel.h"

// Appends {"role", "content"} to the JSON array |messages|. Prints an error and returns its exit code when the content isn't UTF-8.
int mlxcel_cli_messages_add(json_t* messages, const char* role, const char* content, size_t content_size);

// Renders |messages| by the model's chat template and makes ids of the text (malloc'ed by the engine, freed by mlxcel_free). Returns an exit code.
int mlxcel_cli_messages_tokenize(mlxcel_engine_t* engine, const json_t* messages, int32_t** out_ids, size_t* out_count);

// The largest memory that the process has used, in bytes.
uint64_t mlxcel_cli_peak_memory(void);

// Prints load, compile, prefill, decode and memory on stderr, in the form that scripts read from llama.cpp's programs.
void mlxcel_cli_statistics_print(const mlxcel_engine_info_t* info, const mlxcel_result_t* result);

#endif  // MLXCEL_CLI_GENERATION_H_
