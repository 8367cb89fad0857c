#include "cli/progress.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "cli/console.h"

#define BAR_WIDTH 24

double mlxcel_cli_progress_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void mlxcel_cli_progress_options_initialize(mlxcel_cli_progress_options_t* out_options) {
  memset(out_options, 0, sizeof(*out_options));
  out_options->stream = stderr;
  out_options->enabled = true;
  out_options->is_terminal = mlxcel_cli_stderr_is_terminal();
  out_options->has_colour = mlxcel_cli_stderr_has_colour();
  out_options->now = mlxcel_cli_progress_clock;
}

void mlxcel_cli_progress_initialize(const mlxcel_cli_progress_options_t* options, mlxcel_cli_progress_t* out_progress) {
  memset(out_progress, 0, sizeof(*out_progress));
  out_progress->options = *options;
}

// Filled from the left where the end is known, otherwise a block that walks to and fro.
static void make_bar(const mlxcel_cli_progress_t* progress, char bar[BAR_WIDTH + 1]) {
  memset(bar, ' ', BAR_WIDTH);
  bar[BAR_WIDTH] = 0;
  if (progress->total_bytes > 0) {
    double part = (double)progress->done_bytes / (double)progress->total_bytes;
    memset(bar, '#', (size_t)((part > 1 ? 1 : part) * BAR_WIDTH));
    return;
  }
  const unsigned block = 4, span = BAR_WIDTH - block;
  unsigned place = progress->frame % (2 * span);
  memset(bar + (place < span ? place : 2 * span - place), '#', block);
}

static double step_seconds(const mlxcel_cli_progress_t* progress) {
  double since_start = progress->options.now() - progress->started;
  return since_start > progress->elapsed ? since_start : progress->elapsed;
}

static void draw(mlxcel_cli_progress_t* progress) {
  double now = progress->options.now();
  double seconds = step_seconds(progress);
  if (seconds < MLXCEL_CLI_PROGRESS_DELAY_S || (progress->line_is_drawn && now - progress->drawn < MLXCEL_CLI_PROGRESS_REDRAW_S)) return;
  char bar[BAR_WIDTH + 1];
  make_bar(progress, bar);
  bool colour = progress->options.has_colour;
  fprintf(progress->options.stream, "\r\033[K%s [%s%s%s] ", progress->step, colour ? "\033[32m" : "", bar, colour ? "\033[0m" : "");
  if (progress->total_bytes > 0) {
    fprintf(progress->options.stream, "%3.0f %% of %.1f MiB, ", 100.0 * (double)progress->done_bytes / (double)progress->total_bytes,
            (double)progress->total_bytes / (1 << 20));
  }
  fprintf(progress->options.stream, "%.1f s", seconds);
  fflush(progress->options.stream);
  progress->drawn = now;
  progress->line_is_drawn = true;
  ++progress->frame;
}

static void erase(mlxcel_cli_progress_t* progress) {
  if (!progress->line_is_drawn) return;
  fputs("\r\033[K", progress->options.stream);
  fflush(progress->options.stream);
  progress->line_is_drawn = false;
}

static void begin(mlxcel_cli_progress_t* progress, const char* step) {
  if (strncmp(progress->step, step, sizeof(progress->step) - 1) == 0 && progress->step[0]) return;
  mlxcel_cli_progress_finish(progress);
  snprintf(progress->step, sizeof(progress->step), "%s", step);
  progress->started = progress->options.now();
  progress->elapsed = 0;
  progress->done_bytes = progress->total_bytes = 0;
  progress->frame = 0;
}

void mlxcel_cli_progress_step(mlxcel_cli_progress_t* progress, const char* step, double elapsed_seconds) {
  if (!progress->options.enabled) return;
  begin(progress, step);
  if (elapsed_seconds > progress->elapsed) progress->elapsed = elapsed_seconds;
  if (progress->options.is_terminal) draw(progress);
}

void mlxcel_cli_progress_bytes(mlxcel_cli_progress_t* progress, const char* step, uint64_t done_bytes, uint64_t total_bytes) {
  if (!progress->options.enabled) return;
  begin(progress, step);
  progress->done_bytes = done_bytes;
  progress->total_bytes = total_bytes;
  if (progress->options.is_terminal) draw(progress);
}

void mlxcel_cli_progress_finish(mlxcel_cli_progress_t* progress) {
  if (!progress->step[0]) return;
  erase(progress);
  if (!progress->options.is_terminal) {
    double seconds = step_seconds(progress);
    if (progress->total_bytes > 0) {
      fprintf(progress->options.stream, "%s: %.1f MiB in %.2f s\n", progress->step, (double)progress->done_bytes / (1 << 20), seconds);
    } else {
      fprintf(progress->options.stream, "%s: %.2f s\n", progress->step, seconds);
    }
    fflush(progress->options.stream);
  }
  progress->step[0] = 0;
}

void mlxcel_cli_progress_abandon(mlxcel_cli_progress_t* progress) {
  erase(progress);
  progress->step[0] = 0;
}
