#include "artifact/compile_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "artifact/artifact_limits.h"
#include "base/fs.h"

void mlxcel_compile_process_options_initialize(mlxcel_compile_process_options_t* out_options) {
  memset(out_options, 0, sizeof(*out_options));
  out_options->time_limit_milliseconds = MLXCEL_COMPILE_SECONDS_MAX * UINT64_C(1000);
  out_options->memory_limit_bytes = MLXCEL_COMPILE_MEMORY_BYTES_MAX;
  out_options->step = "compiling";
}

void mlxcel_compile_process_result_deinitialize(mlxcel_compile_process_result_t* result) {
  free(result->output);
  memset(result, 0, sizeof(*result));
}

static uint64_t process_now_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

// --- captured output: the head and the tail -----------------------------------------------------------------------------------------------

#define OUTPUT_KEPT_BYTES (MLXCEL_COMPILE_DIAGNOSTICS_HEAD_BYTES + MLXCEL_COMPILE_DIAGNOSTICS_TAIL_BYTES)
#define OUTPUT_CAPACITY (OUTPUT_KEPT_BYTES + MLXCEL_COMPILE_DIAGNOSTICS_TAIL_BYTES)  // room to move the tail only now and then

typedef struct output_t {
  char* data;  // OUTPUT_CAPACITY bytes
  size_t size;
  uint64_t dropped;
} output_t;

static void output_shorten(output_t* output) {
  if (output->size <= OUTPUT_KEPT_BYTES) return;
  size_t excess = output->size - OUTPUT_KEPT_BYTES;
  char* tail = output->data + MLXCEL_COMPILE_DIAGNOSTICS_HEAD_BYTES;
  memmove(tail, tail + excess, MLXCEL_COMPILE_DIAGNOSTICS_TAIL_BYTES);
  output->size = OUTPUT_KEPT_BYTES;
  output->dropped += excess;
}

static void output_append(output_t* output, const char* data, size_t size) {
  while (size > 0) {
    if (output->size == OUTPUT_CAPACITY) output_shorten(output);
    size_t room = OUTPUT_CAPACITY - output->size;
    size_t count = size < room ? size : room;
    memcpy(output->data + output->size, data, count);
    output->size += count;
    data += count;
    size -= count;
  }
}

// Hands the text over, with a note where something was left out.
static iree_status_t output_finish(output_t* output, mlxcel_compile_process_result_t* result) {
  output_shorten(output);
  char note[96] = "";
  if (output->dropped) snprintf(note, sizeof(note), "\n[... %" PRIu64 " bytes left out ...]\n", output->dropped);
  size_t note_size = strlen(note);
  size_t head_size = output->size < MLXCEL_COMPILE_DIAGNOSTICS_HEAD_BYTES ? output->size : MLXCEL_COMPILE_DIAGNOSTICS_HEAD_BYTES;
  result->output = malloc(output->size + note_size + 1);
  if (!result->output) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the compiler's output");
  memcpy(result->output, output->data, head_size);
  memcpy(result->output + head_size, note, note_size);
  memcpy(result->output + head_size + note_size, output->data + head_size, output->size - head_size);
  result->output_size = output->size + note_size;
  result->output[result->output_size] = 0;
  return iree_ok_status();
}

// --- the child ---------------------------------------------------------------------------------------------------------------------------

// All that the child needs, made before the fork: in the child of a program with threads only async-signal-safe calls are allowed.
typedef struct child_plan_t {
  const char* program;
  const char* folder;
  char** argv;
  char** envp;
  pid_t parent;
  int null_input, output_pipe[2], failure_pipe[2];
  uint64_t memory_limit_bytes;
} child_plan_t;

typedef struct child_failure_t {
  int in_folder;  // 1: the working directory, 0: the program
  int error_number;
} child_failure_t;

static void child_fail(const child_plan_t* plan, int in_folder) {
  child_failure_t failure = {in_folder, errno};
  ssize_t written = write(plan->failure_pipe[1], &failure, sizeof(failure));
  (void)written;
  _exit(127);
}

static void child_reset_signals(void) {
  static const int ignorable[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
  for (size_t i = 0; i < IREE_ARRAYSIZE(ignorable); ++i) signal(ignorable[i], SIG_DFL);  // an ignored signal stays ignored across exec
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

// A limit can be lowered only.
static struct rlimit child_limit(struct rlimit present, rlim_t wanted) {
  if (present.rlim_max != RLIM_INFINITY && present.rlim_max < wanted) wanted = present.rlim_max;
  return (struct rlimit){.rlim_cur = wanted, .rlim_max = wanted};
}

static void child_limit_resources(uint64_t memory_limit_bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_CORE, &limit) == 0) {  // a crash must not fill the folder with a core
    limit = child_limit(limit, 0);
    setrlimit(RLIMIT_CORE, &limit);
  }
  // Not RLIMIT_AS: on a machine with many processors the C library reserves gigabytes of address space for threads that use next to nothing of it.
  if (memory_limit_bytes && getrlimit(RLIMIT_DATA, &limit) == 0) {
    limit = child_limit(limit, (rlim_t)memory_limit_bytes);
    setrlimit(RLIMIT_DATA, &limit);
  }
}

static void child_run(const child_plan_t* plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan->parent) _exit(127);  // the parent died before the line above could help
  child_reset_signals();
  if (dup2(plan->null_input, STDIN_FILENO) < 0 || dup2(plan->output_pipe[1], STDOUT_FILENO) < 0 || dup2(plan->output_pipe[1], STDERR_FILENO) < 0) {
    child_fail(plan, 0);
  }
  // Descriptors that somebody opened without O_CLOEXEC; a kernel without this call only leaves them open.
  (void)close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  child_limit_resources(plan->memory_limit_bytes);
  if (chdir(plan->folder) != 0) child_fail(plan, 1);
  execve(plan->program, plan->argv, plan->envp);
  child_fail(plan, 0);
}

// --- starting ----------------------------------------------------------------------------------------------------------------------------

// Keeps a descriptor clear of 0, 1 and 2, which a program may have closed and which the child overwrites.
static int process_lift(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  int lifted = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int saved = errno;
  close(descriptor);
  errno = saved;
  return lifted;
}

static bool process_open_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) {
    ends[0] = ends[1] = -1;
    return false;
  }
  ends[0] = process_lift(ends[0]);
  ends[1] = process_lift(ends[1]);
  return ends[0] >= 0 && ends[1] >= 0;
}

static void process_close(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

static void plan_close(child_plan_t* plan) {
  process_close(&plan->null_input);
  for (int i = 0; i < 2; ++i) {
    process_close(&plan->output_pipe[i]);
    process_close(&plan->failure_pipe[i]);
  }
}

static iree_status_t plan_open(const char* program, child_plan_t* plan) {
  plan->null_input = process_lift(open("/dev/null", O_RDONLY | O_CLOEXEC));
  bool good = plan->null_input >= 0 && process_open_pipe(plan->output_pipe) && process_open_pipe(plan->failure_pipe);
  return good ? iree_ok_status() : mlxcel_fs_errno_status(errno, "make a pipe to", program);
}

// The child starts with all signals blocked, so that none of our handlers runs in it.
static pid_t process_fork(const child_plan_t* plan) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork();
  if (pid == 0) child_run(plan);
  int saved = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = saved;
  return pid;
}

// Waits until exec succeeded (the pipe closes) or the child says why not.
static iree_status_t process_await_exec(pid_t pid, child_plan_t* plan) {
  child_failure_t failure = {0, 0};
  ssize_t count = 0;
  do {
    count = read(plan->failure_pipe[0], &failure, sizeof(failure));
  } while (count < 0 && errno == EINTR);
  if (count != (ssize_t)sizeof(failure)) return iree_ok_status();
  while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  if (failure.in_folder) return mlxcel_fs_errno_status(failure.error_number, "enter", plan->folder);
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "cannot start the compiler %s: %s; set MLXCEL_XLA_IREE_COMPILE to a working iree-compile",
                          plan->program, strerror(failure.error_number));
}

static iree_status_t process_start(child_plan_t* plan, pid_t* out_pid) {
  *out_pid = process_fork(plan);
  if (*out_pid < 0) return mlxcel_fs_errno_status(errno, "start", plan->program);
  setpgid(*out_pid, *out_pid);  // whoever comes first; the child does the same
  process_close(&plan->output_pipe[1]);
  process_close(&plan->failure_pipe[1]);
  return process_await_exec(*out_pid, plan);
}

// --- supervising -------------------------------------------------------------------------------------------------------------------------

typedef struct process_t {
  const mlxcel_compile_process_options_t* options;
  mlxcel_compile_process_result_t* result;
  pid_t pid;
  int descriptor;  // the read end of its output, -1 after the end
  output_t output;
  uint64_t started, notified, terminated;  // milliseconds; |terminated| is when SIGTERM was sent, 0 before
} process_t;

// Waits up to |timeout| for output and takes what is there.
static void process_read(process_t* process, uint32_t timeout) {
  struct pollfd entry = {.fd = process->descriptor, .events = POLLIN, .revents = 0};
  if (process->descriptor < 0) timeout = timeout < 10 ? timeout : 10;  // the output's end mostly announces the process's end
  if (poll(&entry, 1, (int)timeout) <= 0 || process->descriptor < 0) return;
  char chunk[8192];
  ssize_t count = read(process->descriptor, chunk, sizeof(chunk));
  if (count > 0) {
    output_append(&process->output, chunk, (size_t)count);
  } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
    process_close(&process->descriptor);
  }
}

// True once the process ended; it stays a zombie, so that its process group's number can't be taken by a stranger.
static bool process_has_ended(const process_t* process) {
  siginfo_t info;
  memset(&info, 0, sizeof(info));
  int rc = waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT);
  return (rc == 0 && info.si_pid == process->pid) || (rc != 0 && errno == ECHILD);
}

static void process_notify(process_t* process, uint64_t now) {
  const mlxcel_artifact_progress_t* progress = process->options->progress;
  if (!progress || now - process->notified < MLXCEL_COMPILE_POLL_MILLISECONDS) return;
  process->notified = now;
  if (progress->notify) progress->notify(progress->user_data, process->options->step, (double)(now - process->started) / 1000.0);
  if (progress->cancelled && progress->cancelled(progress->user_data)) process->result->was_cancelled = true;
}

static void process_enforce(process_t* process, uint64_t now) {
  mlxcel_compile_process_result_t* result = process->result;
  if (process->terminated == 0) {
    if (!result->was_cancelled && now - process->started >= process->options->time_limit_milliseconds) result->was_timed_out = true;
    if (!result->was_cancelled && !result->was_timed_out) return;
    kill(-process->pid, SIGTERM);
    process->terminated = now;
  } else if (now - process->terminated >= MLXCEL_COMPILE_GRACE_MILLISECONDS) {
    kill(-process->pid, SIGKILL);
  }
}

static void process_supervise(process_t* process) {
  while (!process_has_ended(process)) {
    process_read(process, MLXCEL_COMPILE_POLL_MILLISECONDS);
    uint64_t now = process_now_milliseconds();
    process_notify(process, now);
    process_enforce(process, now);
  }
  kill(-process->pid, SIGKILL);  // whatever it left running
}

// What is still in the pipe. Somebody who left the process group may hold the other end, so this never waits.
static void process_drain(process_t* process) {
  if (process->descriptor >= 0) fcntl(process->descriptor, F_SETFL, O_NONBLOCK);
  for (uint32_t left = 256; left > 0 && process->descriptor >= 0; --left) {
    char chunk[8192];
    ssize_t count = read(process->descriptor, chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    output_append(&process->output, chunk, (size_t)count);
  }
}

static iree_status_t process_reap(process_t* process) {
  int state = 0;
  pid_t pid = 0;
  do {
    pid = waitpid(process->pid, &state, 0);
  } while (pid < 0 && errno == EINTR);
  if (pid < 0) {
    return iree_make_status(IREE_STATUS_INTERNAL, "the exit status of %s was lost; don't ignore SIGCHLD in this process", process->options->program);
  }
  process->result->signal_number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
  process->result->exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
  return iree_ok_status();
}

static iree_status_t process_run_to_end(process_t* process) {
  process_supervise(process);
  process_drain(process);
  IREE_RETURN_IF_ERROR(process_reap(process));
  process->result->seconds = (double)(process_now_milliseconds() - process->started) / 1000.0;
  return output_finish(&process->output, process->result);
}

static iree_status_t process_start_and_run(child_plan_t* plan, const mlxcel_compile_process_options_t* options, mlxcel_compile_process_result_t* result) {
  process_t process = {.options = options, .result = result, .pid = -1, .descriptor = -1};
  process.output.data = malloc(OUTPUT_CAPACITY);
  if (!process.output.data) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the compiler's output");
  process.started = process_now_milliseconds();
  iree_status_t status = process_start(plan, &process.pid);
  if (iree_status_is_ok(status)) {
    process.descriptor = plan->output_pipe[0];
    plan->output_pipe[0] = -1;
    status = process_run_to_end(&process);
    process_close(&process.descriptor);
  }
  free(process.output.data);
  return status;
}

iree_status_t mlxcel_compile_process_run(const mlxcel_compile_process_options_t* options, mlxcel_compile_process_result_t* out_result) {
  memset(out_result, 0, sizeof(*out_result));
  // A fixed environment: nothing of the user's reaches the compiler, and its temporary files stay in the folder that is thrown away.
  static char* const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TMPDIR=.", NULL};
  char** argv = calloc(options->argument_count + 2, sizeof(char*));
  if (!argv) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu arguments", options->argument_count);
  argv[0] = (char*)(uintptr_t)options->program;
  for (size_t i = 0; i < options->argument_count; ++i) argv[i + 1] = (char*)(uintptr_t)options->arguments[i];
  child_plan_t plan = {.program = options->program,
                       .folder = options->folder,
                       .argv = argv,
                       .envp = (char**)(uintptr_t)environment,
                       .parent = getpid(),
                       .null_input = -1,
                       .output_pipe = {-1, -1},
                       .failure_pipe = {-1, -1},
                       .memory_limit_bytes = options->memory_limit_bytes};
  iree_status_t status = plan_open(options->program, &plan);
  if (iree_status_is_ok(status)) status = process_start_and_run(&plan, options, out_result);
  plan_close(&plan);
  free(argv);
  if (!iree_status_is_ok(status)) mlxcel_compile_process_result_deinitialize(out_result);
  return status;
}
