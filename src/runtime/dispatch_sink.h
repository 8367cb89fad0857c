// dispatch_sink.h: takes what IREE's profiler says of dispatches: what ran, when, and the names of executables' functions. For the runtime's own sources.
//
// How dispatches are seen. IREE's local devices have a recorder of their own (iree_hal_device_profiling_begin, family HOST_EXECUTION_EVENTS); this sink is its
// consumer. Chosen over wrapping iree_hal_local_executable_issue_call with the linker: the recorder sits in both devices behind a pointer that is NULL when no
// profile is open (a wrapper would cost each workgroup a call and a branch for ever, and local-sync calls the function inside of its own translation unit,
// where the linker can't wrap it), it is public interface, and it knows what a wrapper doesn't: which dispatch a workgroup belongs to. What it says of a
// dispatch:
//   local-task, several workers: start of the first worker's part, end of the last one's, the sum of the parts' times, workgroups, the function's ordinal; a
//     part is what one worker claims of one dispatch in a row, so a worker that finds nothing left to do counts neither time nor part
//   local-task, one worker, and local-sync: the same for the only part
// Constants and bindings of a dispatch it doesn't say: see dispatch_plan.h.
#ifndef MLXCEL_RUNTIME_DISPATCH_SINK_H_
#define MLXCEL_RUNTIME_DISPATCH_SINK_H_

#include "iree/hal/api.h"
#include "iree/hal/profile_schema.h"
#include "iree/hal/profile_sink.h"

typedef struct mlxcel_dispatch_function_t {  // of an executable
  uint64_t executable_id;
  uint32_t ordinal;
  char* name;
} mlxcel_dispatch_function_t;

typedef struct mlxcel_dispatch_event_t {
  uint64_t event_id, submission_id, executable_id;
  uint32_t function_ordinal, workgroups;
  int64_t start_ns, end_ns, busy_ns;
} mlxcel_dispatch_event_t;

typedef struct mlxcel_dispatch_sink_t mlxcel_dispatch_sink_t;

iree_status_t mlxcel_dispatch_sink_create(mlxcel_dispatch_sink_t** out_sink);
void mlxcel_dispatch_sink_release(mlxcel_dispatch_sink_t* sink);
iree_hal_profile_sink_t* mlxcel_dispatch_sink_base(mlxcel_dispatch_sink_t* sink);

// What came in since the last mlxcel_dispatch_sink_clear, sorted by submission and start. That is the order of the commands: a worker looks at the clock before
// it claims a part, and goes to the next command only when all parts of the one before are claimed. (The order in which they came isn't: a worker may finish
// and record the next commands before the one that finished these has recorded them.) Valid until the device runs or flushes again.
const mlxcel_dispatch_event_t* mlxcel_dispatch_sink_events(mlxcel_dispatch_sink_t* sink, size_t* out_count);
// Dispatches that the device had no room to record, since the beginning.
uint64_t mlxcel_dispatch_sink_lost(const mlxcel_dispatch_sink_t* sink);
void mlxcel_dispatch_sink_clear(mlxcel_dispatch_sink_t* sink);
// "" if nothing named it.
const char* mlxcel_dispatch_sink_name(const mlxcel_dispatch_sink_t* sink, uint64_t executable_id, uint32_t function_ordinal);

#endif  // MLXCEL_RUNTIME_DISPATCH_SINK_H_
