// progress.h: what a long job is doing, on stderr: one redrawn line with a bar on a terminal, otherwise one plain line for each finished step.
//
// A step is named by its text; a new name ends the step before it. A step of known size shows how far it is, the others how long they have been running.
// On a terminal nothing is drawn before a step is MLXCEL_CLI_PROGRESS_DELAY_S old, so that a warm start doesn't flicker. One thread at a time.
#ifndef MLXCEL_CLI_PROGRESS_H_
#define MLXCEL_CLI_PROGRESS_H_

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MLXCEL_CLI_PROGRESS_DELAY_S 0.3
#define MLXCEL_CLI_PROGRESS_REDRAW_S 0.1
#define MLXCEL_CLI_PROGRESS_STEP_BYTES 64

typedef struct mlxcel_cli_progress_options_t {
  FILE* stream;
  bool enabled;      // false: print nothing
  bool is_terminal;  // redraw one line with control sequences
  bool has_colour;
  double (*now)(void);  // seconds, monotonic
} mlxcel_cli_progress_options_t;
// stderr as it is: terminal and colour from its kind, TERM and NO_COLOR; enabled.
void mlxcel_cli_progress_options_initialize(mlxcel_cli_progress_options_t* out_options);

typedef struct mlxcel_cli_progress_t {
  mlxcel_cli_progress_options_t options;
  char step[MLXCEL_CLI_PROGRESS_STEP_BYTES];  // empty: none running
  double started, drawn, elapsed;             // of the step, in options.now() and as reported
  uint64_t done_bytes, total_bytes;           // 0: unknown
  unsigned frame;
  bool line_is_drawn;
} mlxcel_cli_progress_t;
void mlxcel_cli_progress_initialize(const mlxcel_cli_progress_options_t* options, mlxcel_cli_progress_t* out_progress);

// |step| is running for |elapsed_seconds|, as far as its owner knows.
void mlxcel_cli_progress_step(mlxcel_cli_progress_t* progress, const char* step, double elapsed_seconds);
// |step| has done |done_bytes| of |total_bytes|.
void mlxcel_cli_progress_bytes(mlxcel_cli_progress_t* progress, const char* step, uint64_t done_bytes, uint64_t total_bytes);
// Ends the running step: prints its line, or takes the bar away. Does nothing when none runs.
void mlxcel_cli_progress_finish(mlxcel_cli_progress_t* progress);
// The same after a failure: the running step didn't end, so it gets no line.
void mlxcel_cli_progress_abandon(mlxcel_cli_progress_t* progress);

// CLOCK_MONOTONIC in seconds.
double mlxcel_cli_progress_clock(void);

#endif  // MLXCEL_CLI_PROGRESS_H_
