#include "cli/interrupt.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"

static atomic_uint interrupt_count;
static atomic_bool must_end;  // SIGTERM or SIGHUP came: the whole program is meant, not the answer it is giving
static char guarded_path[PATH_MAX];
static atomic_bool path_is_guarded;

static void handle_signal(int signal_number) {
  int saved_errno = errno;
  if (atomic_fetch_add(&interrupt_count, 1) > 0) {
    static const char text[] = "\nmlxcel: interrupted twice, stopping at once\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
    (void)written;
    if (atomic_load(&path_is_guarded)) unlink(guarded_path);
    _exit(MLXCEL_CLI_EXIT_INTERRUPTED);
  }
  if (signal_number != SIGINT) atomic_store(&must_end, true);
  errno = saved_errno;
}

void mlxcel_cli_interrupt_install(void) {
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); ++i) {
    // nohup and background jobs of simple shells ignore a signal on purpose.
    struct sigaction inherited;
    if (sigaction(signals[i], NULL, &inherited) == 0 && inherited.sa_handler == SIG_IGN) continue;
    action.sa_handler = handle_signal;
    sigaction(signals[i], &action, NULL);
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, NULL);
}

unsigned mlxcel_cli_interrupt_count(void) { return atomic_load(&interrupt_count); }

void mlxcel_cli_interrupt_reset(void) {
  if (!atomic_load(&must_end)) atomic_store(&interrupt_count, 0);
}

bool mlxcel_cli_interrupt_is_requested(void* user_data) {
  (void)user_data;
  return mlxcel_cli_interrupt_count() > 0;
}

bool mlxcel_cli_interrupt_guard_file(const char* path) {
  atomic_store(&path_is_guarded, false);
  if (!path) return true;
  size_t size = strlen(path) + 1;
  if (size > sizeof(guarded_path)) return false;
  memcpy(guarded_path, path, size);
  atomic_store(&path_is_guarded, true);
  return true;
}
