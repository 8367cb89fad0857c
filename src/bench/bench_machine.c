#include "bench/bench_machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 4096      // of /proc/cpuinfo and /proc/self/status: that of the processor's flags is the longest, about 2,000
#define PEAK_FIELD "VmHWM:"  // in KiB

// The value of a "model name : ..." line.
static bool machine_read_name(const char* line, char* buffer, size_t capacity) {
  if (strncmp(line, "model name", strlen("model name")) != 0) return false;
  const char* value = strchr(line, ':');
  if (!value) return false;
  value += 1 + strspn(value + 1, " \t");
  snprintf(buffer, capacity, "%.*s", (int)strcspn(value, "\n"), value);
  return buffer[0] != 0;
}

void mlxcel_bench_cpu_name(char buffer[MLXCEL_BENCH_CPU_BYTES]) {
  snprintf(buffer, MLXCEL_BENCH_CPU_BYTES, "unknown");
  FILE* file = fopen("/proc/cpuinfo", "re");
  if (!file) return;
  char line[LINE_BYTES];
  while (fgets(line, sizeof(line), file) && !machine_read_name(line, buffer, MLXCEL_BENCH_CPU_BYTES)) {
  }
  fclose(file);
}

void mlxcel_bench_time_text(char buffer[MLXCEL_BENCH_TIME_BYTES]) {
  const time_t now = time(NULL);
  struct tm parts;
  buffer[0] = 0;
  if (gmtime_r(&now, &parts)) strftime(buffer, MLXCEL_BENCH_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

uint64_t mlxcel_bench_peak_memory(void) {
  FILE* file = fopen("/proc/self/status", "re");
  if (!file) return 0;
  char line[LINE_BYTES];
  uint64_t bytes = 0;
  while (bytes == 0 && fgets(line, sizeof(line), file)) {
    if (strncmp(line, PEAK_FIELD, strlen(PEAK_FIELD)) == 0) bytes = strtoull(line + strlen(PEAK_FIELD), NULL, 10) * 1024;
  }
  fclose(file);
  return bytes;
}

void mlxcel_bench_peak_memory_reset(void) {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t written = write(file, "5", 1);  // proc(5): resets the peak resident set size
  (void)written;
  close(file);
}
