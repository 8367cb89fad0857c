// compile_process.h: runs one program (the compiler) as a child: no shell, own process group, output captured and bounded, time and memory limited. On
// cancellation and time-out everything that it started is killed with it; if this process dies, the kernel kills the program itself.
//
// Any thread may call; the caller waits. Callbacks come on the calling thread. The child gets none of our file descriptors.
#ifndef MLXCEL_ARTIFACT_COMPILE_PROCESS_H_
#define MLXCEL_ARTIFACT_COMPILE_PROCESS_H_

#include "artifact/artifact_cache.h"
#include "base/base.h"

typedef struct mlxcel_compile_process_options_t {
  const char* program;    // absolute path
  const char* folder;     // working directory and TMPDIR
  size_t argument_count;  // without the program itself
  const char* const* arguments;
  uint64_t time_limit_milliseconds;
  uint64_t memory_limit_bytes;                 // of private writable memory (RLIMIT_DATA); 0: none
  const char* step;                            // what |progress| is told
  const mlxcel_artifact_progress_t* progress;  // may be NULL
} mlxcel_compile_process_options_t;

// Time and memory limits of a compilation, no arguments, no progress.
void mlxcel_compile_process_options_initialize(mlxcel_compile_process_options_t* out_options);

typedef struct mlxcel_compile_process_result_t {
  int exit_code;      // if |signal_number| is 0
  int signal_number;  // that killed it, or 0
  bool was_cancelled, was_timed_out;
  double seconds;
  char* output;  // stdout and stderr as they came, NUL-terminated; the middle is left out if there was too much. Owned, never NULL on success.
  size_t output_size;
} mlxcel_compile_process_result_t;
void mlxcel_compile_process_result_deinitialize(mlxcel_compile_process_result_t* result);

// OK whenever the program started and ended, however it ended. Errors: it couldn't be started (the message names program and reason).
iree_status_t mlxcel_compile_process_run(const mlxcel_compile_process_options_t* options, mlxcel_compile_process_result_t* out_result);

#endif  // MLXCEL_ARTIFACT_COMPILE_PROCESS_H_
