#include "bench/roofline.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/roofline_loops.h"

enum {
  READ_PASSES = 2,  // over the whole buffer in one repetition: short, so that one repetition of many runs undisturbed
  FMA_ROUNDS = 1 << 21,
  FMA_WARMUP_ROUNDS = FMA_ROUNDS / 16,  // brings the clock of wide units up before the watch runs
};

// --- in the measuring process ------------------------------------------------------------------------------------------------------------------

// Where results go, so that no loop is dead code.
static volatile uint64_t roofline_sink;

// One thread's share of one measurement. Without data it does multiply-adds.
typedef struct roofline_worker_t {
  pthread_t thread;
  pthread_barrier_t* start;
  const mlxcel_roofline_loops_t* loops;
  const char* data;
  size_t bytes;
  int cpu;
  double begin, end;
  bool is_pinned;
} roofline_worker_t;

// What all measurements of a row share.
typedef struct roofline_job_t {
  const mlxcel_roofline_options_t* options;
  const char* data;
  size_t slice;  // bytes of one thread
  int cpus[MLXCEL_ROOFLINE_THREADS_MAX];
  roofline_worker_t workers[MLXCEL_ROOFLINE_THREADS_MAX];
} roofline_job_t;

// What the measuring process sends through its pipe.
typedef struct roofline_answer_t {
  char failure[96];  // empty: the row is good
  mlxcel_roofline_row_t row;
} roofline_answer_t;

static double roofline_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool roofline_pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static void* roofline_work(void* argument) {
  roofline_worker_t* worker = argument;
  const mlxcel_roofline_loops_t* loops = worker->loops;
  worker->is_pinned = roofline_pin(worker->cpu);
  uint64_t result = worker->data ? loops->read(worker->data, worker->bytes) : (uint64_t)loops->fma(FMA_WARMUP_ROUNDS);
  pthread_barrier_wait(worker->start);
  worker->begin = roofline_now();
  for (size_t pass = 0; worker->data && pass < READ_PASSES; ++pass) result += loops->read(worker->data, worker->bytes);
  if (!worker->data) result += (uint64_t)loops->fma(FMA_ROUNDS);
  worker->end = roofline_now();
  roofline_sink = result;
  return NULL;
}

// Seconds from the first thread's begin to the last one's end; below 0: a thread couldn't be started (the others then wait for it, so the process must end).
static double roofline_run_threads(roofline_job_t* job, const mlxcel_roofline_loops_t* loops, bool reads) {
  const uint32_t count = job->options->threads;
  pthread_barrier_t start;
  if (pthread_barrier_init(&start, NULL, count) != 0) return -1;
  for (uint32_t i = 0; i < count; ++i) {
    job->workers[i] =
        (roofline_worker_t){.start = &start, .loops = loops, .data = reads ? job->data + i * job->slice : NULL, .bytes = job->slice, .cpu = job->cpus[i]};
    if (pthread_create(&job->workers[i].thread, NULL, roofline_work, &job->workers[i]) != 0) return -1;
  }
  double begin = 0, end = 0;
  bool are_pinned = true;
  for (uint32_t i = 0; i < count; ++i) {
    const roofline_worker_t* worker = &job->workers[i];
    pthread_join(worker->thread, NULL);
    if (i == 0 || worker->begin < begin) begin = worker->begin;
    if (i == 0 || worker->end > end) end = worker->end;
    are_pinned &= worker->is_pinned;
  }
  pthread_barrier_destroy(&start);
  return are_pinned ? end - begin : -1;
}

static double roofline_best_seconds(roofline_job_t* job, const mlxcel_roofline_loops_t* loops, bool reads) {
  double best = roofline_run_threads(job, loops, reads);
  for (uint32_t i = 1; i < job->options->repetitions && best >= 0; ++i) {
    const double seconds = roofline_run_threads(job, loops, reads);
    if (seconds < best) best = seconds;
  }
  return best;
}

static bool roofline_measure_width(roofline_job_t* job, const mlxcel_roofline_loops_t* loops, mlxcel_roofline_width_t* out_width) {
  const double threads = (double)job->options->threads;
  const double read = roofline_best_seconds(job, loops, /*reads=*/true);
  const double fma = read < 0 ? -1 : roofline_best_seconds(job, loops, /*reads=*/false);
  if (read <= 0 || fma <= 0) return false;
  snprintf(out_width->name, sizeof(out_width->name), "%s", loops->name);
  out_width->read_gb_s = (double)job->slice * threads * READ_PASSES / read * 1e-9;
  out_width->f32_fma_gflop_s = 2.0 * (double)loops->lanes * MLXCEL_ROOFLINE_FMA_CHAINS * FMA_ROUNDS * threads / fma * 1e-9;
  return true;
}

// The processors that this process may use, in order.
static uint32_t roofline_list_cpus(int* out_cpus) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 0;
  uint32_t count = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && count < MLXCEL_ROOFLINE_THREADS_MAX; ++cpu) {
    if (CPU_ISSET((size_t)cpu, &set)) out_cpus[count++] = cpu;
  }
  return count;
}

static const char* roofline_make_buffer(roofline_job_t* job) {
  const size_t bytes = (size_t)job->options->buffer_bytes;
  char* data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return "no memory for the buffer; ask for a smaller one";
  madvise(data, bytes, MADV_HUGEPAGE);  // best effort: a limit shouldn't be lowered by address translation
  memset(data, 1, bytes);
  job->data = data;
  job->slice = bytes / job->options->threads / MLXCEL_ROOFLINE_READ_STEP * MLXCEL_ROOFLINE_READ_STEP;
  return NULL;
}

// NULL or what failed.
static const char* roofline_fill_row(roofline_job_t* job, mlxcel_roofline_row_t* row) {
  if (roofline_list_cpus(job->cpus) < job->options->threads) return "the processors of this process changed meanwhile; try again";
  const char* failure = roofline_make_buffer(job);
  row->threads = job->options->threads;
  for (size_t i = 0; i < MLXCEL_ROOFLINE_WIDTHS && !failure; ++i) {
    const mlxcel_roofline_loops_t* loops = mlxcel_roofline_loops_at(i);
    if (!loops) break;
    if (!roofline_measure_width(job, loops, &row->widths[row->width_count++])) failure = "a thread can't be started or pinned; ask for fewer threads";
  }
  return failure;
}

// One Ctrl-C ends both processes; a signal that this program was told to ignore stays ignored.
static void roofline_restore_signals(void) {
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); ++i) {
    if (signal(signals[i], SIG_DFL) == SIG_IGN) signal(signals[i], SIG_IGN);
  }
}

_Noreturn static void roofline_answer(const mlxcel_roofline_options_t* options, int descriptor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would read the answer
  roofline_restore_signals();
  roofline_answer_t answer;
  memset(&answer, 0, sizeof(answer));
  roofline_job_t* job = calloc(1, sizeof(*job));
  const char* failure = "out of memory; free some";
  if (job) {
    job->options = options;
    failure = roofline_fill_row(job, &answer.row);
  }
  if (failure) snprintf(answer.failure, sizeof(answer.failure), "%s", failure);
  const ssize_t written = write(descriptor, &answer, sizeof(answer));  // less than a pipe holds at once
  _exit(written == (ssize_t)sizeof(answer) ? EXIT_SUCCESS : EXIT_FAILURE);
}

// --- in the caller's process -------------------------------------------------------------------------------------------------------------------

uint32_t mlxcel_roofline_processor_count(void) {
  int cpus[MLXCEL_ROOFLINE_THREADS_MAX];
  const uint32_t count = roofline_list_cpus(cpus);
  return count ? count : 1;
}

uint64_t mlxcel_roofline_buffer_bytes(uint64_t weight_bytes) {
  if (weight_bytes < MLXCEL_ROOFLINE_BYTES_MIN) return MLXCEL_ROOFLINE_BYTES_MIN;
  return weight_bytes > MLXCEL_ROOFLINE_BYTES_DEFAULT ? MLXCEL_ROOFLINE_BYTES_DEFAULT : weight_bytes;
}

static iree_status_t roofline_check(const mlxcel_roofline_options_t* options) {
  const uint32_t processors = mlxcel_roofline_processor_count();
  if (options->threads == 0 || options->threads > processors) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the roofline of %u threads can't be measured; this process may use 1 to %u processors",
                            options->threads, processors);
  }
  if (options->buffer_bytes < MLXCEL_ROOFLINE_BYTES_MIN || options->buffer_bytes > MLXCEL_ROOFLINE_BYTES_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "a roofline buffer of %" PRIu64 " bytes isn't possible; valid: %" PRIu64 " to %" PRIu64,
                            options->buffer_bytes, MLXCEL_ROOFLINE_BYTES_MIN, MLXCEL_ROOFLINE_BYTES_MAX);
  }
  if (options->repetitions == 0 || options->repetitions > MLXCEL_ROOFLINE_REPETITIONS_MAX) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%u repetitions of the roofline aren't possible; valid: 1 to %u", options->repetitions,
                            MLXCEL_ROOFLINE_REPETITIONS_MAX);
  }
  return iree_ok_status();
}

// Reads the answer; false when the other process ended without one. Kills it when the user asks to stop.
static bool roofline_receive(const mlxcel_roofline_options_t* options, pid_t process, int descriptor, roofline_answer_t* out_answer) {
  size_t done = 0;
  while (done < sizeof(*out_answer)) {
    const ssize_t count = read(descriptor, (char*)out_answer + done, sizeof(*out_answer) - done);
    if (count > 0) {
      done += (size_t)count;
    } else if (count < 0 && errno == EINTR) {
      if (options->cancelled && options->cancelled(options->user_data)) kill(process, SIGKILL);
    } else {
      return false;
    }
  }
  return true;
}

static void roofline_wait(pid_t process) {
  int ignored = 0;
  while (waitpid(process, &ignored, 0) < 0 && errno == EINTR) {
  }
}

static iree_status_t roofline_fork(const mlxcel_roofline_options_t* options, roofline_answer_t* out_answer, bool* out_has_answer) {
  int ends[2];
  *out_has_answer = false;
  if (pipe(ends) != 0) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "can't make a pipe: %s; close some files", strerror(errno));
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    roofline_answer(options, ends[1]);
  }
  close(ends[1]);
  if (process > 0) {
    *out_has_answer = roofline_receive(options, process, ends[0], out_answer);
    roofline_wait(process);
  }
  close(ends[0]);
  return process > 0 ? iree_ok_status() : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "can't start the measuring process; end some others");
}

iree_status_t mlxcel_roofline_measure(const mlxcel_roofline_options_t* options, mlxcel_roofline_row_t* out_row) {
  memset(out_row, 0, sizeof(*out_row));
  IREE_RETURN_IF_ERROR(roofline_check(options));
  roofline_answer_t answer;
  memset(&answer, 0, sizeof(answer));
  bool has_answer = false;
  IREE_RETURN_IF_ERROR(roofline_fork(options, &answer, &has_answer));
  if (!has_answer && options->cancelled && options->cancelled(options->user_data)) {
    return iree_make_status(IREE_STATUS_CANCELLED, "the measurement of the roofline was stopped");
  }
  if (!has_answer) {
    return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "the process that measures the roofline was killed, as one without memory is; free some");
  }
  if (answer.failure[0]) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "the roofline can't be measured: %s", answer.failure);
  *out_row = answer.row;
  return iree_ok_status();
}

void mlxcel_roofline_best(const mlxcel_roofline_row_t* row, const char* cpu_level, double* out_read_gb_s, double* out_fma_gflop_s) {
  *out_read_gb_s = *out_fma_gflop_s = 0;
  const bool has_avx512 = strcmp(cpu_level, "v3") != 0;
  for (uint32_t i = 0; i < row->width_count; ++i) {
    const mlxcel_roofline_width_t* width = &row->widths[i];
    if (!has_avx512 && strcmp(width->name, "avx512") == 0) continue;
    if (width->read_gb_s > *out_read_gb_s) *out_read_gb_s = width->read_gb_s;
    if (width->f32_fma_gflop_s > *out_fma_gflop_s) *out_fma_gflop_s = width->f32_fma_gflop_s;
  }
}
