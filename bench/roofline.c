// roofline.c: what this machine can do at most, measured: bytes read from memory a second and f32 multiply-adds a second, with 1 to N threads, each pinned to
// a processor of its own. Printed as one JSON object; compare.py puts it beside what the engines reach.
//
//   cc -std=c17 -O3 -ffp-contract=off -pthread bench/roofline.c -o roofline
//   taskset -c 0,1 ./roofline [-b BYTES] [-t THREADS] [-r REPETITIONS]
//
// Reading: the threads share one buffer of BYTES (give the size of the weights: what the last cache keeps between two passes counts, as it does for an engine)
// and each reads its own part over and over. Multiply-adds: independent chains in registers, enough of them to hide the latency. The best repetition counts:
// this is a limit, and noise only ever lowers it.
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
  MAX_THREADS = 256,
  READ_STEP = 512,  // bytes of one round of a read loop: eight cache lines
  FMA_CHAINS = 12,  // latency of 4 cycles, 2 issued a cycle: 8 chains would do, 16 registers hold 12 and the two constants
  READ_PASSES = 2,  // over the whole buffer in one repetition: short, so that one repetition of many runs undisturbed
  FMA_ROUNDS = 1 << 21,
};

#define DEFAULT_BYTES ((size_t)256 << 20)
#define MAX_BYTES ((size_t)16 << 30)  // the buffer is resident; more tells nothing new

// Where results go, so that no loop is dead code, and where constants come from, so that no loop is computed by the compiler.
static volatile uint64_t sink;
static volatile float constants[2] = {0.9999f, 0.0001f};

// One vector width. `bytes` is a multiple of READ_STEP.
typedef struct isa_t {
  const char* name;
  uint64_t (*read)(const char* data, size_t bytes);
  float (*fma)(size_t rounds);
  size_t lanes;
} isa_t;

__attribute__((target("avx2"))) static uint64_t read_avx2(const char* data, size_t bytes) {
  __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
  for (size_t i = 0; i < bytes; i += READ_STEP) {
    for (size_t j = 0; j < READ_STEP / 32; ++j)
      sums[j % 4] = _mm256_xor_si256(sums[j % 4], _mm256_load_si256((const __m256i*)(const void*)(data + i + j * 32)));
  }
  const __m256i sum = _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
  return (uint64_t)_mm256_extract_epi64(sum, 0);
}

__attribute__((target("avx512f"))) static uint64_t read_avx512(const char* data, size_t bytes) {
  __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
  for (size_t i = 0; i < bytes; i += READ_STEP) {
    for (size_t j = 0; j < READ_STEP / 64; ++j) sums[j % 4] = _mm512_xor_si512(sums[j % 4], _mm512_load_si512((const void*)(data + i + j * 64)));
  }
  const __m512i sum = _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3]));
  return (uint64_t)_mm512_reduce_add_epi64(sum);
}

__attribute__((target("avx2,fma"))) static float fma_avx2(size_t rounds) {
  const __m256 scale = _mm256_set1_ps(constants[0]);
  const __m256 step = _mm256_set1_ps(constants[1]);
  __m256 chains[FMA_CHAINS];
  for (size_t i = 0; i < FMA_CHAINS; ++i) chains[i] = _mm256_set1_ps((float)i);
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < FMA_CHAINS; ++i) chains[i] = _mm256_fmadd_ps(chains[i], scale, step);
  }
  __m256 sum = chains[0];
  for (size_t i = 1; i < FMA_CHAINS; ++i) sum = _mm256_add_ps(sum, chains[i]);
  return _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f"))) static float fma_avx512(size_t rounds) {
  const __m512 scale = _mm512_set1_ps(constants[0]);
  const __m512 step = _mm512_set1_ps(constants[1]);
  __m512 chains[FMA_CHAINS];
  for (size_t i = 0; i < FMA_CHAINS; ++i) chains[i] = _mm512_set1_ps((float)i);
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < FMA_CHAINS; ++i) chains[i] = _mm512_fmadd_ps(chains[i], scale, step);
  }
  __m512 sum = chains[0];
  for (size_t i = 1; i < FMA_CHAINS; ++i) sum = _mm512_add_ps(sum, chains[i]);
  return _mm512_cvtss_f32(sum);
}

static const isa_t isas[] = {
    {"avx2", read_avx2, fma_avx2, 8},
    {"avx512", read_avx512, fma_avx512, 16},
};
enum { ISA_COUNT = sizeof(isas) / sizeof(isas[0]) };

static bool isa_is_supported(const isa_t* isa) {
  if (isa->lanes == 16) return __builtin_cpu_supports("avx512f") != 0;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

// One thread's share of one measurement. Without data it does multiply-adds.
typedef struct worker_t {
  pthread_t thread;
  pthread_barrier_t* start;
  const isa_t* isa;
  const char* data;
  size_t bytes;
  int cpu;
  double begin;
  double end;
} worker_t;

_Noreturn static void die(const char* what) {
  fprintf(stderr, "roofline: %s\n", what);
  exit(EXIT_FAILURE);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) die("can't pin a thread to a processor");
}

static void* work(void* argument) {
  worker_t* worker = argument;
  pin_to(worker->cpu);
  uint64_t result = worker->data ? worker->isa->read(worker->data, worker->bytes) : (uint64_t)worker->isa->fma(FMA_ROUNDS / 16);
  pthread_barrier_wait(worker->start);
  worker->begin = seconds_now();
  for (size_t pass = 0; worker->data && pass < READ_PASSES; ++pass) result += worker->isa->read(worker->data, worker->bytes);
  if (!worker->data) result += (uint64_t)worker->isa->fma(FMA_ROUNDS);
  worker->end = seconds_now();
  sink = result;
  return NULL;
}

// Seconds from the first thread's begin to the last one's end.
static double run_threads(const isa_t* isa, const char* data, size_t slice, const int* cpus, size_t count) {
  worker_t workers[MAX_THREADS];
  pthread_barrier_t start;
  if (pthread_barrier_init(&start, NULL, (unsigned)count) != 0) die("can't make a barrier");
  for (size_t i = 0; i < count; ++i) {
    workers[i] = (worker_t){.start = &start, .isa = isa, .data = data ? data + i * slice : NULL, .bytes = slice, .cpu = cpus[i]};
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) die("can't start a thread");
  }
  double begin = 0;
  double end = 0;
  for (size_t i = 0; i < count; ++i) {
    pthread_join(workers[i].thread, NULL);
    if (i == 0 || workers[i].begin < begin) begin = workers[i].begin;
    if (i == 0 || workers[i].end > end) end = workers[i].end;
  }
  pthread_barrier_destroy(&start);
  return end - begin;
}

static double best_seconds(const isa_t* isa, const char* data, size_t slice, const int* cpus, size_t count, int repetitions) {
  double best = run_threads(isa, data, slice, cpus, count);
  for (int i = 1; i < repetitions; ++i) {
    const double seconds = run_threads(isa, data, slice, cpus, count);
    if (seconds < best) best = seconds;
  }
  return best;
}

static void print_row(const char* data, size_t bytes, const int* cpus, size_t count, int repetitions) {
  printf("{\"threads\": %zu", count);
  for (size_t i = 0; i < ISA_COUNT; ++i) {
    const isa_t* isa = &isas[i];
    if (!isa_is_supported(isa)) continue;
    const size_t slice = bytes / count / READ_STEP * READ_STEP;
    const double read = best_seconds(isa, data, slice, cpus, count, repetitions);
    const double fma = best_seconds(isa, NULL, 0, cpus, count, repetitions);
    const double flops = 2.0 * (double)isa->lanes * FMA_CHAINS * FMA_ROUNDS * (double)count;
    printf(", \"%s\": {\"read_gb_s\": %.2f, \"f32_fma_gflop_s\": %.1f}", isa->name, (double)(slice * count) * READ_PASSES / read * 1e-9, flops / fma * 1e-9);
  }
  printf("}");
}

// The processors that this process may use, in order.
static size_t list_cpus(int* cpus) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) die("can't ask for the processors of this process");
  size_t count = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && count < MAX_THREADS; ++cpu) {
    if (CPU_ISSET((size_t)cpu, &set)) cpus[count++] = cpu;
  }
  return count;
}

static size_t parse_size(const char* text, size_t low, size_t high, const char* name) {
  char* end = NULL;
  const unsigned long long value = strtoull(text, &end, 10);
  if (end != text && *end == '\0' && text[0] != '-' && value >= low && value <= high) return (size_t)value;
  fprintf(stderr, "roofline: %s must be a number from %zu to %zu, not '%s'\n", name, low, high, text);
  exit(2);
}

static char* make_buffer(size_t bytes) {
  char* data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) die("no memory for the buffer; give less with -b");
  madvise(data, bytes, MADV_HUGEPAGE);  // best effort: a limit shouldn't be lowered by address translation
  memset(data, 1, bytes);
  return data;
}

int main(int argc, char** argv) {
  int cpus[MAX_THREADS];
  size_t threads = list_cpus(cpus);
  size_t bytes = DEFAULT_BYTES;
  size_t repetitions = 40;
  for (int option; (option = getopt(argc, argv, "b:t:r:")) != -1;) {
    if (option == 'b') bytes = parse_size(optarg, (size_t)MAX_THREADS * READ_STEP, MAX_BYTES, "-b BYTES");
    if (option == 't') threads = parse_size(optarg, 1, threads, "-t THREADS (at most the processors of this process)");
    if (option == 'r') repetitions = parse_size(optarg, 1, 1000, "-r REPETITIONS");
    if (option == '?') return 2;
  }
  char* data = make_buffer(bytes);
  printf("{\"buffer_bytes\": %zu, \"repetitions\": %zu, \"rows\": [", bytes, repetitions);
  for (size_t count = 1; count <= threads; ++count) {
    if (count > 1) printf(", ");
    print_row(data, bytes, cpus, count, (int)repetitions);
  }
  printf("]}\n");
  munmap(data, bytes);
  return EXIT_SUCCESS;
}
