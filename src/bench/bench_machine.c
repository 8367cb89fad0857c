#include "bench/bench_machine.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define CPU_LINE_BYTES 4096  // the line of flags is the longest, about 2,000

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
  char line[CPU_LINE_BYTES];
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
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_maxrss * 1024 : 0;
}

void mlxcel_bench_peak_memory_reset(void) {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t written = write(file, "5", 1);  // proc(5): resets the peak resident set size
  (void)written;
  close(file);
}
