// dispatch_recorder.h: an open profile of a device, as programs see it; for the runtime's own sources.
#ifndef MLXCEL_RUNTIME_DISPATCH_RECORDER_H_
#define MLXCEL_RUNTIME_DISPATCH_RECORDER_H_

#include "runtime/runtime.h"

typedef struct mlxcel_dispatch_recorder_t mlxcel_dispatch_recorder_t;

// Says that |function| of the module of |artifact| is about to be called with |count| rows: they tell which dispatches are coming and what they must read.
// |positions| (-1 = inactive) and |slots| are the rows'; both NULL: rows without positions, all of them active. Also takes in what the device recorded so far,
// which must be idle; that time isn't counted.
iree_status_t mlxcel_dispatch_recorder_begin_call(mlxcel_dispatch_recorder_t* recorder, const mlxcel_artifact_t* artifact, iree_string_view_t function,
                                                  uint32_t count, const int32_t* slots, const int32_t* positions);

#endif  // MLXCEL_RUNTIME_DISPATCH_RECORDER_H_
