#include "oracle/reference_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/strbuf.h"

#define LOADER_FAILED_EXIT_CODE 127  // of the dynamic loader, and of a shell that finds no program

uint64_t mlxcel_reference_process_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

// --- starting ----------------------------------------------------------------------------------------------------------------------------

static void close_descriptor(int* descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

// Keeps a descriptor clear of 0, 1 and 2, which this process may have closed and which the child overwrites.
static int lift(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  int lifted = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(descriptor);
  return lifted;
}

typedef struct ends_t {
  int channel[2], diagnostics[2];  // ours, the child's
} ends_t;

static bool ends_open(ends_t* ends) {
  *ends = (ends_t){{-1, -1}, {-1, -1}};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->channel) != 0) ends->channel[0] = ends->channel[1] = -1;
  if (pipe2(ends->diagnostics, O_CLOEXEC) != 0) ends->diagnostics[0] = ends->diagnostics[1] = -1;
  bool good = true;
  for (int i = 0; i < 2; ++i) {
    ends->channel[i] = lift(ends->channel[i]);
    ends->diagnostics[i] = lift(ends->diagnostics[i]);
    good = good && ends->channel[i] >= 0 && ends->diagnostics[i] >= 0;
  }
  return good && fcntl(ends->channel[0], F_SETFL, O_NONBLOCK) == 0 && fcntl(ends->diagnostics[0], F_SETFL, O_NONBLOCK) == 0;
}

static void ends_close(ends_t* ends) {
  for (int i = 0; i < 2; ++i) {
    close_descriptor(&ends->channel[i]);
    close_descriptor(&ends->diagnostics[i]);
  }
}

// The child starts in its own process group, with no signal blocked or ignored, with descriptors 0, 1 and 2 only.
static int spawn_with(const char* program, const char* folder, const ends_t* ends, char* const* environment, posix_spawn_file_actions_t* actions,
                      posix_spawnattr_t* attributes, pid_t* out_pid) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int error = posix_spawn_file_actions_adddup2(actions, ends->channel[1], STDIN_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, ends->channel[1], STDOUT_FILENO);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, ends->diagnostics[1], STDERR_FILENO);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
  if (!error) error = posix_spawn_file_actions_addchdir_np(actions, folder);
  char* const arguments[] = {(char*)(uintptr_t)program, NULL};
  return error ? error : posix_spawn(out_pid, program, actions, attributes, arguments, environment);
}

static int spawn(const char* program, const char* folder, const ends_t* ends, char* const* environment, pid_t* out_pid) {
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  posix_spawnattr_t attributes;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    error = spawn_with(program, folder, ends, environment, &actions, &attributes, out_pid);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Everything that the program may depend on; nothing is inherited. PATH finds g++, with which MLX compiles its fused graphs.
static iree_status_t start_in_folder(const char* program, bool disable_compile, const ends_t* ends, mlxcel_reference_process_t* process) {
  char home[MLXCEL_PATH_BYTES_MAX + 8], temporary[MLXCEL_PATH_BYTES_MAX + 8];
  snprintf(home, sizeof(home), "HOME=%s", process->folder);
  snprintf(temporary, sizeof(temporary), "TMPDIR=%s", process->folder);
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin", language[] = "LANG=C", tf32[] = "MLX_ENABLE_TF32=0", compile[] = "MLX_DISABLE_COMPILE=1";
  char* const environment[] = {path, home, temporary, language, tf32, disable_compile ? compile : NULL, NULL};
  int error = spawn(program, process->folder, ends, environment, &process->pid);
  if (!error) return iree_ok_status();
  process->pid = 0;
  return iree_make_status(IREE_STATUS_UNAVAILABLE, "cannot start the MLX reference %s: %s; run scripts/setup.sh and build again, or set MLXCEL_MLX_REFERENCE",
                          program, strerror(error));
}

iree_status_t mlxcel_reference_process_start(const char* program, bool disable_compile, mlxcel_reference_process_t* out_process) {
  memset(out_process, 0, sizeof(*out_process));
  out_process->channel = out_process->diagnostics = -1;
  const char* parent = getenv("TMPDIR");
  IREE_RETURN_IF_ERROR(mlxcel_directory_create_temporary(parent && parent[0] == '/' ? parent : "/tmp", "mlxcel-reference-", &out_process->folder));
  ends_t ends;
  bool opened = ends_open(&ends);
  iree_status_t status = opened ? start_in_folder(program, disable_compile, &ends, out_process) : mlxcel_fs_errno_status(errno, "make a channel to", program);
  if (iree_status_is_ok(status)) {
    out_process->channel = ends.channel[0];
    out_process->diagnostics = ends.diagnostics[0];
    ends.channel[0] = ends.diagnostics[0] = -1;
  }
  ends_close(&ends);
  if (!iree_status_is_ok(status)) mlxcel_reference_process_stop(out_process);
  return status;
}

// --- ending ------------------------------------------------------------------------------------------------------------------------------

// True once it ended; it stays a zombie, so that nobody else can get its process group's number.
static bool has_ended(pid_t pid) {
  siginfo_t info;
  memset(&info, 0, sizeof(info));
  int rc = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
  return (rc == 0 && info.si_pid == pid) || (rc != 0 && errno == ECHILD);
}

static void pause_milliseconds(long milliseconds) {
  struct timespec pause = {.tv_sec = 0, .tv_nsec = milliseconds * 1000000};
  nanosleep(&pause, NULL);
}

static void await_end(pid_t pid, uint64_t milliseconds) {
  for (uint64_t end = mlxcel_reference_process_now() + milliseconds; !has_ended(pid) && mlxcel_reference_process_now() < end;) pause_milliseconds(2);
}

// Returns false if the exit status is lost (this process ignores SIGCHLD).
static bool kill_and_reap(mlxcel_reference_process_t* process, int* out_state) {
  *out_state = 0;
  if (process->pid == 0) return false;
  kill(-process->pid, SIGKILL);
  pid_t pid = 0;
  do {
    pid = waitpid(process->pid, out_state, 0);
  } while (pid < 0 && errno == EINTR);
  process->pid = 0;
  return pid > 0;
}

static void remove_folder(mlxcel_reference_process_t* process) {
  // Grandchildren (a compiler of MLX's fused graphs) die a moment after the signal and may still have been writing.
  for (int left = 50; process->folder && left > 0; --left) {
    iree_status_t status = mlxcel_directory_remove(process->folder);
    bool done = iree_status_is_ok(status) && !mlxcel_path_exists(process->folder);
    iree_status_ignore(status);
    if (done) break;
    pause_milliseconds(10);
  }
  free(process->folder);
  process->folder = NULL;
}

void mlxcel_reference_process_stop(mlxcel_reference_process_t* process) {
  int state = 0;
  if (process->pid != 0) {
    kill_and_reap(process, &state);
    close_descriptor(&process->channel);
    close_descriptor(&process->diagnostics);
  }
  remove_folder(process);
  process->tail_size = 0;
}

// --- talking -----------------------------------------------------------------------------------------------------------------------------

static void keep_tail(mlxcel_reference_process_t* process, const char* data, size_t size) {
  const size_t capacity = sizeof(process->tail);
  if (size > capacity) {
    data += size - capacity;
    size = capacity;
  }
  size_t excess = process->tail_size + size > capacity ? process->tail_size + size - capacity : 0;
  memmove(process->tail, process->tail + excess, process->tail_size - excess);
  process->tail_size -= excess;
  memcpy(process->tail + process->tail_size, data, size);
  process->tail_size += size;
}

// Takes what is there now, at most |rounds| pieces.
static void read_diagnostics(mlxcel_reference_process_t* process, uint32_t rounds) {
  for (; rounds > 0 && process->diagnostics >= 0; --rounds) {
    char chunk[1024];
    ssize_t count = read(process->diagnostics, chunk, sizeof(chunk));
    if (count > 0) {
      keep_tail(process, chunk, (size_t)count);
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
      close_descriptor(&process->diagnostics);
    } else {
      return;
    }
  }
}

// Waits until the channel is ready for |events|, keeping the program's standard error empty meanwhile, so that it never blocks on it.
static iree_status_t await_channel(mlxcel_reference_process_t* process, uint64_t deadline, short events) {
  for (;;) {
    uint64_t now = mlxcel_reference_process_now();
    if (now >= deadline) {
      return iree_make_status(IREE_STATUS_DEADLINE_EXCEEDED, "the MLX reference took too long and was killed; use a smaller shape or a longer time limit");
    }
    uint64_t left = deadline - now;
    struct pollfd entries[2] = {{.fd = process->channel, .events = events}, {.fd = process->diagnostics, .events = POLLIN}};
    int ready = poll(entries, 2, left > 60000 ? 60000 : (int)left);
    if (ready < 0 && errno != EINTR) return iree_make_status(IREE_STATUS_INTERNAL, "cannot wait for the MLX reference: %s", strerror(errno));
    if (ready <= 0) continue;
    if (entries[1].revents) read_diagnostics(process, 1);
    if (entries[0].revents) return iree_ok_status();
  }
}

iree_status_t mlxcel_reference_process_send(mlxcel_reference_process_t* process, uint64_t deadline, const void* data, size_t size) {
  const char* bytes = data;
  while (size > 0) {
    IREE_RETURN_IF_ERROR(await_channel(process, deadline, POLLOUT));
    ssize_t count = send(process->channel, bytes, size, MSG_NOSIGNAL);
    if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) return iree_ok_status();
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
      return iree_make_status(IREE_STATUS_INTERNAL, "cannot write to the MLX reference: %s", strerror(errno));
    }
    if (count < 0) continue;
    bytes += count;
    size -= (size_t)count;
  }
  return iree_ok_status();
}

iree_status_t mlxcel_reference_process_receive(mlxcel_reference_process_t* process, uint64_t deadline, void* data, size_t size) {
  char* bytes = data;
  while (size > 0) {
    IREE_RETURN_IF_ERROR(await_channel(process, deadline, POLLIN));
    ssize_t count = recv(process->channel, bytes, size, 0);
    if (count == 0 || (count < 0 && errno == ECONNRESET)) return iree_make_status(IREE_STATUS_ABORTED, "the MLX reference ended before it answered");
    if (count < 0 && errno != EINTR && errno != EAGAIN) {
      return iree_make_status(IREE_STATUS_INTERNAL, "cannot read from the MLX reference: %s", strerror(errno));
    }
    if (count < 0) continue;
    bytes += count;
    size -= (size_t)count;
  }
  return iree_ok_status();
}

void mlxcel_reference_process_end_input(mlxcel_reference_process_t* process) { shutdown(process->channel, SHUT_WR); }

// --- failing -----------------------------------------------------------------------------------------------------------------------------

static void describe_end(bool known, int state, char* text, size_t size) {
  text[0] = 0;
  if (known && WIFEXITED(state)) snprintf(text, size, "its exit code was %d", WEXITSTATUS(state));
  // SIGKILL is what this side sends; from elsewhere it mostly means that memory ran out.
  if (known && WIFSIGNALED(state)) snprintf(text, size, "it was ended by signal %d (%s)", WTERMSIG(state), strsignal(WTERMSIG(state)));
}

// The tail as one printable line.
static void describe_tail(const mlxcel_reference_process_t* process, char* text) {
  size_t size = 0;
  for (size_t i = 0; i < process->tail_size; ++i) {
    unsigned char byte = (unsigned char)process->tail[i];
    if (byte == '\n' && size > 0 && i + 1 < process->tail_size) text[size++] = ' ';
    if (byte >= 0x20 && byte != 0x7f) text[size++] = (char)byte;
  }
  text[size] = 0;
}

iree_status_t mlxcel_reference_process_fail(mlxcel_reference_process_t* process, iree_status_t status) {
  if (process->pid == 0) return status;
  iree_status_code_t code = iree_status_code(status);
  if (code == IREE_STATUS_ABORTED) await_end(process->pid, MLXCEL_REFERENCE_GRACE_MILLISECONDS);
  int state = 0;
  bool known = kill_and_reap(process, &state);
  read_diagnostics(process, 64);
  char end[128], tail[MLXCEL_REFERENCE_TAIL_BYTES + 1];
  describe_end(known, state, end, sizeof(end));
  describe_tail(process, tail);
  close_descriptor(&process->channel);
  close_descriptor(&process->diagnostics);
  mlxcel_reference_process_stop(process);
  if (end[0]) status = iree_status_annotate_f(status, "%s", end);
  if (tail[0]) status = iree_status_annotate_f(status, "it wrote: %s", tail);
  if (!known || !WIFEXITED(state) || WEXITSTATUS(state) != LOADER_FAILED_EXIT_CODE) return status;
  iree_status_ignore(status);
  return iree_make_status(IREE_STATUS_UNAVAILABLE, "the MLX reference cannot load its libraries: %s; run scripts/setup.sh and build again", tail);
}
