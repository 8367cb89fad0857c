// input.h: what the user gives: whole files, standard input, lines of a conversation. Reading stops when Ctrl-C comes.
#ifndef MLXCEL_CLI_INPUT_H_
#define MLXCEL_CLI_INPUT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Reads all of the file at |path| ("-": standard input), at most MLXCEL_CLI_PROMPT_BYTES_MAX bytes, into malloc'ed memory (a NUL after the end). Every byte
// counts, a final line feed too. Returns an exit code after printing the error.
int mlxcel_cli_input_read(const char* path, char** out_text, size_t* out_size);

// Parses "1, 2,3" into malloc'ed ids. Prints a usage error and returns its exit code if it is malformed.
int mlxcel_cli_input_ids(const char* text, int32_t** out_ids, size_t* out_count);

// Lines of standard input. Owns its buffer.
typedef struct mlxcel_cli_lines_t {
  char* buffer;
  size_t size, capacity;
  size_t consumed;  // bytes of the buffer handed out before
  bool ended;
} mlxcel_cli_lines_t;
typedef enum mlxcel_cli_line_result_e { MLXCEL_CLI_LINE, MLXCEL_CLI_LINE_END, MLXCEL_CLI_LINE_INTERRUPTED, MLXCEL_CLI_LINE_FAILED } mlxcel_cli_line_result_t;
// The next line without its line end, valid until the next call. END after the last one; FAILED after printing why.
mlxcel_cli_line_result_t mlxcel_cli_lines_next(mlxcel_cli_lines_t* lines, char** out_line, size_t* out_size);
void mlxcel_cli_lines_deinitialize(mlxcel_cli_lines_t* lines);

#endif  // MLXCEL_CLI_INPUT_H_
