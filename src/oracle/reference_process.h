// reference_process.h: the child process behind mlxcel_reference_t: started without a shell in its own process group and its own temporary folder, with an
// environment that is written out here, talked to through one socket (its standard input and output). Used by one thread at a time.
#ifndef MLXCEL_ORACLE_REFERENCE_PROCESS_H_
#define MLXCEL_ORACLE_REFERENCE_PROCESS_H_

#include <sys/types.h>

#include "base/base.h"
#include "base/limits.h"

#define MLXCEL_REFERENCE_TAIL_BYTES 2048u  // what is kept of its standard error: a C++ exception or a loader's complaint
// After its channel closed, how long its end is awaited before it is killed.
#define MLXCEL_REFERENCE_GRACE_MILLISECONDS 2000u

typedef struct mlxcel_reference_process_t {
  pid_t pid;        // 0: none
  int channel;      // -1: none
  int diagnostics;  // its standard error; -1: none or closed
  char* folder;     // its TMPDIR and HOME; owned
  char tail[MLXCEL_REFERENCE_TAIL_BYTES];
  size_t tail_size;
} mlxcel_reference_process_t;

// UNAVAILABLE if |program| can't be executed. On failure nothing is left behind.
iree_status_t mlxcel_reference_process_start(const char* program, bool disable_compile, mlxcel_reference_process_t* out_process);
static inline bool mlxcel_reference_process_is_running(const mlxcel_reference_process_t* process) { return process->pid != 0; }
// Kills it and everything that it started, and removes its folder. Idempotent; fine on a zeroed process.
void mlxcel_reference_process_stop(mlxcel_reference_process_t* process);

// Milliseconds of the monotonic clock, for deadlines.
uint64_t mlxcel_reference_process_now(void);
// Writes all bytes. OK also when the program stopped listening: what it said before is still to be received.
iree_status_t mlxcel_reference_process_send(mlxcel_reference_process_t* process, uint64_t deadline, const void* data, size_t size);
// Reads exactly |size| bytes. DEADLINE_EXCEEDED; ABORTED if the program's output ended first.
iree_status_t mlxcel_reference_process_receive(mlxcel_reference_process_t* process, uint64_t deadline, void* data, size_t size);

// Tells the program that nothing more comes.
void mlxcel_reference_process_end_input(mlxcel_reference_process_t* process);

// Ends a process whose conversation failed with |status|, and returns that status with how the program ended and the tail of its standard error. A program that
// couldn't load its libraries makes it UNAVAILABLE.
iree_status_t mlxcel_reference_process_fail(mlxcel_reference_process_t* process, iree_status_t status);

#endif  // MLXCEL_ORACLE_REFERENCE_PROCESS_H_
