#include "support/comma_locale.h"

#include <fcntl.h>
#include <locale.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

// Only what LC_NUMERIC needs; localedef warns about the other categories and writes this one (-c).
static const char charmap[] = "<code_set_name> ANSI_X3.4-1968\nCHARMAP\n<U002C> /x2c COMMA\n<U002E> /x2e DOT\nEND CHARMAP\n";
static const char source[] = "comment_char %\nescape_char /\nLC_NUMERIC\ndecimal_point \"<U002C>\"\nthousands_sep \"<U002E>\"\ngrouping 3;3\nEND LC_NUMERIC\n";

static bool write_text(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  if (!file) return false;
  bool written = fputs(text, file) >= 0;
  return fclose(file) == 0 && written;
}

static void run_localedef(const char* folder) {
  char map_path[512], source_path[512], locale_path[512];
  snprintf(map_path, sizeof(map_path), "%s/charmap", folder);
  snprintf(source_path, sizeof(source_path), "%s/source", folder);
  snprintf(locale_path, sizeof(locale_path), "%s/comma", folder);
  char charmap_text[sizeof(charmap) + 32];
  snprintf(charmap_text, sizeof(charmap_text), "<escape_char> /\n%s", charmap);
  if (!write_text(map_path, charmap_text) || !write_text(source_path, source)) return;
  char* const arguments[] = {"localedef", "--no-archive", "-c", "-i", source_path, "-f", map_path, locale_path, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child;
  if (posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ) == 0) waitpid(child, NULL, 0);
  posix_spawn_file_actions_destroy(&actions);
}

// setlocale has read the files when it returns.
static void remove_folder(const char* folder) {
  char* const arguments[] = {"rm", "-rf", (char*)folder, NULL};
  pid_t child;
  if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) == 0) waitpid(child, NULL, 0);
}

bool test_comma_locale_enter(void) {
  char folder[256];
  const char* parent = getenv("TMPDIR");
  snprintf(folder, sizeof(folder), "%s/mlxcel-locale-XXXXXX", parent && parent[0] ? parent : "/tmp");
  if (!mkdtemp(folder)) return false;
  run_localedef(folder);
  setenv("LOCPATH", folder, 1);
  bool entered = setlocale(LC_NUMERIC, "comma") != NULL && strcmp(localeconv()->decimal_point, ",") == 0;
  unsetenv("LOCPATH");
  remove_folder(folder);
  if (!entered) printf("skipped: no locale with a decimal comma can be made here (localedef of libc-bin is missing)\n");
  return entered;
}

void test_comma_locale_leave(void) { setlocale(LC_NUMERIC, "C"); }
