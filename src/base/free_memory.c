#include "base/free_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

#define LINE_BYTES MLXCEL_PATH_BYTES_MAX  // a line of /proc/self/cgroup holds a path

// Where a version of control groups tells limit, use and, in memory.stat, the files' pages in that use, which can be dropped.
typedef struct group_files_t {
  const char *line, *folder, *limit, *use, *cache;
} group_files_t;
static const group_files_t group_versions[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", "file "},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "},
};

bool mlxcel_system_line_read(const char* root, const char* path, const char* start, size_t capacity, char* out_line) {
  char full[2 * MLXCEL_PATH_BYTES_MAX];
  out_line[0] = 0;
  int length = snprintf(full, sizeof(full), "%s%s", root, path);
  FILE* file = length > 0 && (size_t)length < sizeof(full) ? fopen(full, "re") : NULL;
  bool found = false;
  while (file && !found && fgets(out_line, (int)capacity, file)) found = strncmp(out_line, start, strlen(start)) == 0;
  if (file) fclose(file);
  if (found) memmove(out_line, out_line + strlen(start), strlen(out_line + strlen(start)) + 1);
  out_line[found ? strcspn(out_line, "\n") : 0] = 0;
  return found;
}

static bool read_number(const char* root, const char* folder, const char* name, const char* start, uint64_t* out_number) {
  char path[2 * MLXCEL_PATH_BYTES_MAX], line[64], *end = line;
  *out_number = 0;
  int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
  if (length < 0 || (size_t)length >= sizeof(path) || !mlxcel_system_line_read(root, path, start, sizeof(line), line)) return false;
  *out_number = strtoull(line, &end, 10);
  return end != line;  // "max": no limit
}

// What the group of |folder| leaves; UINT64_MAX if it has no limit, or isn't to be seen.
static uint64_t group_rest(const char* root, const char* folder, const group_files_t* files) {
  uint64_t limit, use, cache;
  if (!read_number(root, folder, files->limit, "", &limit) || !read_number(root, folder, files->use, "", &use)) return UINT64_MAX;
  read_number(root, folder, "memory.stat", files->cache, &cache);
  uint64_t kept = use > cache ? use - cache : 0;
  return limit > kept ? limit - kept : 0;
}

// The least that the group |path| and those above it leave. A container may see its own group as the topmost, whatever |path| says.
static uint64_t groups_rest(const char* root, const group_files_t* files, char* path) {
  uint64_t rest = UINT64_MAX;
  for (char* end = path + strlen(path);; end = strrchr(path, '/')) {
    if (end) *end = 0;
    char folder[2 * MLXCEL_PATH_BYTES_MAX];
    int length = snprintf(folder, sizeof(folder), "%s%s", files->folder, path);
    if (length < 0 || (size_t)length >= sizeof(folder)) return rest;
    uint64_t here = group_rest(root, folder, files);
    if (here < rest) rest = here;
    if (path[0] == 0 || !end) return rest;
  }
}

// The process's group: "<number>:<controllers>:<path>".
static bool read_group(const char* root, const group_files_t* files, char path[LINE_BYTES]) {
  if (files->line[0] != ':') return mlxcel_system_line_read(root, "/proc/self/cgroup", files->line, LINE_BYTES, path);
  for (int number = 1; number < 32; ++number) {  // version 1 has one for each controller, of which there are about a dozen
    char start[32];
    snprintf(start, sizeof(start), "%d%s", number, files->line);
    if (mlxcel_system_line_read(root, "/proc/self/cgroup", start, LINE_BYTES, path)) return true;
  }
  return false;
}

uint64_t mlxcel_free_memory_bytes(const char* root) {
  uint64_t kibibytes, free_bytes;
  if (!read_number(root, "/proc", "meminfo", "MemAvailable:", &kibibytes)) return 0;
  free_bytes = kibibytes * 1024;
  for (size_t i = 0; i < IREE_ARRAYSIZE(group_versions); ++i) {
    char path[LINE_BYTES];
    if (!read_group(root, &group_versions[i], path)) continue;
    uint64_t rest = groups_rest(root, &group_versions[i], path);
    if (rest < free_bytes) free_bytes = rest;
  }
  return free_bytes;
}
