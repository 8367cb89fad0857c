// dispatch_profile.h: where the time of a program goes, dispatch by dispatch, on local-task and local-sync.
//
// Between begin and end every dispatch that the device runs is timed; end sums them up, one row for each kernel and shape. Times are of the device's own
// recorder (dispatch_sink.h says why): it takes two clock reads for each worker and dispatch, so a profiled run is a little slower than a plain one (2 % of a
// decode of 213 dispatches in 7.4 ms). When no profile is open, nothing is recorded: a call of a program costs one comparison more. Results are bit for bit
// those of a plain run. What the profile itself does between two calls isn't counted as time.
//
// Costs come from the module's text, so they are known for kernels that kernels/kernel_cost.h has a formula for, in programs from a store; a text that doesn't
// fit the dispatches, call by call, isn't used.
//
// Threads: begin and end are called by the thread that calls the programs of the device, while none of them runs. One profile a device at a time.
#ifndef MLXCEL_RUNTIME_DISPATCH_PROFILE_H_
#define MLXCEL_RUNTIME_DISPATCH_PROFILE_H_

#include "runtime/runtime.h"

#define MLXCEL_DISPATCH_KERNEL_BYTES 48  // with the NUL; longer names are cut
#define MLXCEL_DISPATCH_LABEL_BYTES 96

// What is known of a row's work. Never a guess: without a flag the number is 0.
typedef enum mlxcel_dispatch_known_e {
  MLXCEL_DISPATCH_KNOWS_BYTES = 1,
  MLXCEL_DISPATCH_KNOWS_FLOPS = 2,
} mlxcel_dispatch_known_t;

// All dispatches of one kernel with one shape.
typedef struct mlxcel_dispatch_row_t {
  char kernel[MLXCEL_DISPATCH_KERNEL_BYTES];  // the export's name: "matmul", or what the compiler called it
  char label[MLXCEL_DISPATCH_LABEL_BYTES];    // kernel and shape: "matmul 576x1536 q4 g32 rows=1"; the kernel alone if its shape isn't known
  uint64_t calls;                             // dispatches
  uint64_t workgroups;                        // of all calls
  uint64_t busy_ns;                           // of all calls and workers: from the start to the end of a worker's part
  uint64_t wall_ns;                           // of all calls: from the first worker's start to the last one's end
  uint64_t bytes, flops;                      // of all calls: what must be read and written at least once, and floating-point operations (an fma is two)
  uint32_t known;                             // mlxcel_dispatch_known_t
} mlxcel_dispatch_row_t;

typedef struct mlxcel_dispatch_profile_t {
  uint32_t worker_count;
  uint64_t calls;       // sum over rows
  uint64_t wall_ns;     // from begin to end
  uint64_t device_ns;   // of it: time in which at least one dispatch ran. The rows' wall_ns add up to more where dispatches overlap
  uint64_t busy_ns;     // sum over rows; worker_count * device_ns - busy_ns is the time in which workers waited for another's part
  uint64_t gap_ns;      // of it: time between the first dispatch's start and the last one's end of one submission in which none ran
  uint64_t outside_ns;  // of it: the rest, before, between and behind submissions: recording, waking, sampling, whatever the caller did
  uint64_t submissions;
  uint64_t lost_calls;  // dispatches that the device had no room to record; rows and sums lack them
  size_t row_count;
  mlxcel_dispatch_row_t* rows;  // descending wall_ns, then by label
} mlxcel_dispatch_profile_t;

// FAILED_PRECONDITION: a profile is open already on this device.
iree_status_t mlxcel_dispatch_profile_begin(mlxcel_device_t* device);
// Closes the profile, also if it fails. FAILED_PRECONDITION: none is open. |out_profile| is freed by the caller.
iree_status_t mlxcel_dispatch_profile_end(mlxcel_device_t* device, mlxcel_dispatch_profile_t* out_profile);
// A zeroed profile is a valid empty one.
void mlxcel_dispatch_profile_deinitialize(mlxcel_dispatch_profile_t* profile);

#endif  // MLXCEL_RUNTIME_DISPATCH_PROFILE_H_
