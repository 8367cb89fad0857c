#include "runtime/dispatch_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/manifest.h"
#include "base/limits.h"
#include "runtime/device.h"
#include "runtime/dispatch_plan.h"
#include "runtime/dispatch_recorder.h"
#include "runtime/dispatch_sink.h"

typedef struct module_plan_t {
  mlxcel_sha256_hex_t key;  // of the artifact
  mlxcel_dispatch_plan_t plan;
} module_plan_t;

struct mlxcel_dispatch_recorder_t {
  mlxcel_device_t* device;
  mlxcel_dispatch_sink_t* sink;
  iree_time_t begin_ns, paused_ns;
  size_t plan_count;
  module_plan_t* plans;
  const mlxcel_planned_function_t* function;  // of the call that is running or ran last; NULL: not known
  mlxcel_kernel_rows_t rows;                  // its rows
  size_t row_capacity;
  mlxcel_dispatch_profile_t profile;  // so far
};

static iree_status_t out_of_memory(void) {
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a profile; profile fewer calls at once or free some memory");
}

// --- rows of the profile -------------------------------------------------------------------------------------------------------------------------

static void copy_cut(const char* from, size_t capacity, char* to) {
  size_t length = strnlen(from, capacity - 1);
  memcpy(to, from, length);
  to[length] = 0;
}

// The row of |label|, made if there is none yet.
static iree_status_t find_row(mlxcel_dispatch_recorder_t* recorder, const char* kernel, const char* label, mlxcel_dispatch_row_t** out_row) {
  mlxcel_dispatch_profile_t* profile = &recorder->profile;
  for (size_t i = 0; i < profile->row_count; ++i) {
    *out_row = &profile->rows[i];
    if (strcmp(profile->rows[i].label, label) == 0) return iree_ok_status();
  }
  if (profile->row_count == recorder->row_capacity) {
    size_t larger = recorder->row_capacity ? recorder->row_capacity * 2 : 32;
    mlxcel_dispatch_row_t* moved = realloc(profile->rows, larger * sizeof(*moved));
    if (!moved) return out_of_memory();
    profile->rows = moved;
    recorder->row_capacity = larger;
  }
  *out_row = &profile->rows[profile->row_count++];
  memset(*out_row, 0, sizeof(**out_row));
  (*out_row)->known = MLXCEL_DISPATCH_KNOWS_BYTES | MLXCEL_DISPATCH_KNOWS_FLOPS;  // until a call isn't
  copy_cut(kernel, sizeof((*out_row)->kernel), (*out_row)->kernel);
  copy_cut(label, sizeof((*out_row)->label), (*out_row)->label);
  return iree_ok_status();
}

static void add_cost(const mlxcel_dispatch_recorder_t* recorder, const mlxcel_planned_dispatch_t* dispatch, mlxcel_dispatch_row_t* row) {
  mlxcel_kernel_cost_t cost = {0};
  if (dispatch) mlxcel_kernel_cost(&dispatch->shape, &recorder->rows, &cost);
  if (!cost.is_known) row->known = 0;
  row->bytes = row->known ? row->bytes + cost.bytes : 0;
  row->flops = row->known ? row->flops + cost.flops : 0;
}

// |dispatch|: what the module's text says of it; NULL: nothing.
static iree_status_t add_event(mlxcel_dispatch_recorder_t* recorder, const mlxcel_dispatch_event_t* event, const mlxcel_planned_dispatch_t* dispatch) {
  const char* name = mlxcel_dispatch_sink_name(recorder->sink, event->executable_id, event->function_ordinal);
  char label[MLXCEL_DISPATCH_LABEL_BYTES];
  if (dispatch) {
    mlxcel_kernel_label(&dispatch->shape, sizeof(label), label);
  } else if (name[0]) {
    copy_cut(name, sizeof(label), label);
  } else {
    snprintf(label, sizeof(label), "function %u", event->function_ordinal);
  }
  mlxcel_dispatch_row_t* row = NULL;
  IREE_RETURN_IF_ERROR(find_row(recorder, name[0] ? name : label, label, &row));
  row->calls += 1;
  row->workgroups += event->workgroups;
  row->busy_ns += (uint64_t)event->busy_ns;
  row->wall_ns += (uint64_t)(event->end_ns - event->start_ns);
  add_cost(recorder, dispatch, row);
  recorder->profile.calls += 1;
  recorder->profile.busy_ns += (uint64_t)event->busy_ns;
  return iree_ok_status();
}

// --- which dispatch is which -----------------------------------------------------------------------------------------------------------------------

static bool calls_export(const mlxcel_planned_function_t* function, const char* name) {
  for (size_t p = 0; p < function->count; ++p) {
    if (strcmp(function->dispatches[p].export_name, name) == 0) return true;
  }
  return false;
}

// The first of the function's calls of |name|, from |begin| on, that isn't taken; function->count if there is none.
static size_t next_planned(const mlxcel_planned_function_t* function, const bool* is_taken, const char* name, size_t begin) {
  size_t p = begin;
  while (p < function->count && (is_taken[p] || strcmp(function->dispatches[p].export_name, name) != 0)) ++p;
  return p;
}

static bool pair_with(const mlxcel_dispatch_recorder_t* recorder, const mlxcel_planned_function_t* function, size_t count,
                      const mlxcel_dispatch_event_t* events, bool* is_taken, const mlxcel_planned_dispatch_t** out_planned) {
  size_t paired = 0, begin = 0;
  for (size_t e = 0; e < count; ++e) {
    const char* name = mlxcel_dispatch_sink_name(recorder->sink, events[e].executable_id, events[e].function_ordinal);
    while (begin < function->count && is_taken[begin]) ++begin;
    size_t p = next_planned(function, is_taken, name, begin);
    if (p == function->count && calls_export(function, name)) return false;
    if (p == function->count) continue;
    is_taken[p] = true;
    out_planned[e] = &function->dispatches[p];
    if (!out_planned[e]->has_shape || out_planned[e]->workgroups != events[e].workgroups) return false;
    ++paired;
  }
  return paired == function->count;
}

// Pairs the |count| events of a call with the calls in the text: the n-th of a kernel's name is the n-th of it in the text. True if all of a kernel's pair up,
// one by one and with the same number of workgroups: a text of another module, or dispatches that the compiler merged or dropped, don't. |out_planned|: one for
// each event, NULL for what the compiler added.
static bool pair_events(const mlxcel_dispatch_recorder_t* recorder, size_t count, const mlxcel_dispatch_event_t* events,
                        const mlxcel_planned_dispatch_t** out_planned) {
  if (!recorder->function) return false;
  bool* is_taken = calloc(recorder->function->count, sizeof(*is_taken));
  bool is_paired = is_taken && pair_with(recorder, recorder->function, count, events, is_taken, out_planned);
  free(is_taken);
  return is_paired;
}

// --- time -------------------------------------------------------------------------------------------------------------------------------------------

// Time covered by dispatches and not covered between them, submission by submission. Submissions of one call don't overlap: each waits for the one before.
static void add_time(mlxcel_dispatch_profile_t* profile, size_t count, const mlxcel_dispatch_event_t* events) {
  int64_t covered_until = 0;
  for (size_t i = 0; i < count; ++i) {
    bool is_first = i == 0 || events[i].submission_id != events[i - 1].submission_id;
    if (is_first) {
      ++profile->submissions;
      covered_until = events[i].start_ns;
    }
    if (events[i].start_ns > covered_until) {
      profile->gap_ns += (uint64_t)(events[i].start_ns - covered_until);
      covered_until = events[i].start_ns;
    }
    if (events[i].end_ns > covered_until) {
      profile->device_ns += (uint64_t)(events[i].end_ns - covered_until);
      covered_until = events[i].end_ns;
    }
  }
}

// --- calls ----------------------------------------------------------------------------------------------------------------------------------------

static iree_status_t add_call(mlxcel_dispatch_recorder_t* recorder, size_t count, const mlxcel_dispatch_event_t* events,
                              const mlxcel_planned_dispatch_t** planned) {
  bool is_paired = pair_events(recorder, count, events, planned);
  for (size_t i = 0; i < count; ++i) {
    IREE_RETURN_IF_ERROR(add_event(recorder, &events[i], is_paired ? planned[i] : NULL));
  }
  add_time(&recorder->profile, count, events);
  return iree_ok_status();
}

// Takes in what the device recorded of the call that ran last.
static iree_status_t settle_call(mlxcel_dispatch_recorder_t* recorder) {
  IREE_RETURN_IF_ERROR(iree_hal_device_profiling_flush(recorder->device->hal_device));
  size_t count = 0;
  const mlxcel_dispatch_event_t* events = mlxcel_dispatch_sink_events(recorder->sink, &count);
  if (count == 0) return iree_ok_status();
  const mlxcel_planned_dispatch_t** planned = calloc(count, sizeof(*planned));
  iree_status_t status = planned ? add_call(recorder, count, events, planned) : out_of_memory();
  free(planned);
  mlxcel_dispatch_sink_clear(recorder->sink);
  recorder->function = NULL;
  return status;
}

// Reads the module's text into |plan|; a module that is in no store, or whose text is gone, has an empty one.
static iree_status_t read_plan(const mlxcel_artifact_t* artifact, mlxcel_dispatch_plan_t* plan) {
  char *path = NULL, *text = NULL;
  size_t size = 0;
  if (!artifact->folder || !artifact->folder[0]) return iree_ok_status();
  IREE_RETURN_IF_ERROR(mlxcel_path_join(artifact->folder, IREE_SV(MLXCEL_MLIR_FILE_NAME), &path));
  iree_status_t status = mlxcel_file_read(path, MLXCEL_TEXT_BYTES_MAX, &text, &size);
  free(path);
  if (iree_status_is_ok(status)) {
    status = mlxcel_dispatch_plan_read(iree_make_string_view(text, size), plan);
  } else {
    iree_status_ignore(status);
    status = iree_ok_status();
  }
  free(text);
  return status;
}

static iree_status_t find_plan(mlxcel_dispatch_recorder_t* recorder, const mlxcel_artifact_t* artifact, const mlxcel_dispatch_plan_t** out_plan) {
  for (size_t i = 0; i < recorder->plan_count; ++i) {
    *out_plan = &recorder->plans[i].plan;
    if (strcmp(recorder->plans[i].key.text, artifact->key.text) == 0) return iree_ok_status();
  }
  module_plan_t* moved = realloc(recorder->plans, (recorder->plan_count + 1) * sizeof(*moved));
  if (!moved) return out_of_memory();
  recorder->plans = moved;
  module_plan_t* added = &moved[recorder->plan_count];
  memset(added, 0, sizeof(*added));
  added->key = artifact->key;
  IREE_RETURN_IF_ERROR(read_plan(artifact, &added->plan));
  ++recorder->plan_count;
  *out_plan = &added->plan;
  return iree_ok_status();
}

// The rows of a slot ascend, so the last one of a slot sees all keys that the others see.
static mlxcel_kernel_rows_t count_rows(uint32_t count, const int32_t* slots, const int32_t* positions) {
  mlxcel_kernel_rows_t rows = {.active = positions ? 0 : count};
  for (uint32_t r = 0; positions && r < count; ++r) {
    if (positions[r] < 0) continue;
    bool is_last = true;
    for (uint32_t later = r + 1; later < count && is_last; ++later) is_last = positions[later] < 0 || slots[later] != slots[r];
    rows.active += 1;
    rows.keys_seen += (uint64_t)positions[r] + 1;
    if (is_last) rows.keys_read += (uint64_t)positions[r] + 1;
  }
  return rows;
}

iree_status_t mlxcel_dispatch_recorder_begin_call(mlxcel_dispatch_recorder_t* recorder, const mlxcel_artifact_t* artifact, iree_string_view_t function,
                                                  uint32_t count, const int32_t* slots, const int32_t* positions) {
  iree_time_t pause_ns = iree_time_now();
  const mlxcel_dispatch_plan_t* plan = NULL;
  iree_status_t status = settle_call(recorder);
  if (iree_status_is_ok(status)) status = find_plan(recorder, artifact, &plan);
  if (iree_status_is_ok(status)) {
    recorder->function = mlxcel_dispatch_plan_find(plan, function);
    recorder->rows = count_rows(count, slots, positions);
  }
  recorder->paused_ns += iree_time_now() - pause_ns;
  return status;
}

// --- begin and end ----------------------------------------------------------------------------------------------------------------------------------

static void recorder_free(mlxcel_dispatch_recorder_t* recorder) {
  for (size_t i = 0; i < recorder->plan_count; ++i) mlxcel_dispatch_plan_deinitialize(&recorder->plans[i].plan);
  free(recorder->plans);
  if (recorder->sink) mlxcel_dispatch_sink_release(recorder->sink);
  mlxcel_dispatch_profile_deinitialize(&recorder->profile);
  free(recorder);
}

static iree_status_t start(mlxcel_dispatch_recorder_t* recorder) {
  IREE_RETURN_IF_ERROR(mlxcel_dispatch_sink_create(&recorder->sink));
  iree_hal_device_profiling_options_t options = {
      .data_families = IREE_HAL_DEVICE_PROFILING_DATA_HOST_EXECUTION_EVENTS,
      .sink = mlxcel_dispatch_sink_base(recorder->sink),
  };
  return iree_hal_device_profiling_begin(recorder->device->hal_device, &options);
}

iree_status_t mlxcel_dispatch_profile_begin(mlxcel_device_t* device) {
  if (device->recorder) return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "a profile of this device is open already; end it first");
  mlxcel_dispatch_recorder_t* recorder = calloc(1, sizeof(*recorder));
  if (!recorder) return out_of_memory();
  recorder->device = device;
  iree_status_t status = start(recorder);
  if (iree_status_is_ok(status)) {
    device->recorder = recorder;
    recorder->begin_ns = iree_time_now();
  } else {
    recorder_free(recorder);
  }
  return status;
}

static int compare_rows(const void* a, const void* b) {
  const mlxcel_dispatch_row_t *x = a, *y = b;
  if (x->wall_ns != y->wall_ns) return x->wall_ns > y->wall_ns ? -1 : 1;
  return strcmp(x->label, y->label);
}

static void finish(mlxcel_dispatch_recorder_t* recorder, iree_time_t end_ns) {
  mlxcel_dispatch_profile_t* profile = &recorder->profile;
  profile->worker_count = recorder->device->thread_count;
  profile->wall_ns = (uint64_t)(end_ns - recorder->begin_ns - recorder->paused_ns);
  uint64_t inside = profile->device_ns + profile->gap_ns;
  profile->outside_ns = profile->wall_ns > inside ? profile->wall_ns - inside : 0;
  profile->lost_calls = mlxcel_dispatch_sink_lost(recorder->sink);
  if (profile->row_count) qsort(profile->rows, profile->row_count, sizeof(profile->rows[0]), compare_rows);
}

iree_status_t mlxcel_dispatch_profile_end(mlxcel_device_t* device, mlxcel_dispatch_profile_t* out_profile) {
  memset(out_profile, 0, sizeof(*out_profile));
  mlxcel_dispatch_recorder_t* recorder = device->recorder;
  if (!recorder) return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "no profile of this device is open; begin one first");
  iree_time_t end_ns = iree_time_now();
  iree_status_t status = settle_call(recorder);
  status = iree_status_join(status, iree_hal_device_profiling_end(device->hal_device));
  device->recorder = NULL;
  finish(recorder, end_ns);
  if (iree_status_is_ok(status)) {
    *out_profile = recorder->profile;
    memset(&recorder->profile, 0, sizeof(recorder->profile));
  }
  recorder_free(recorder);
  return status;
}

void mlxcel_dispatch_profile_deinitialize(mlxcel_dispatch_profile_t* profile) {
  free(profile->rows);
  memset(profile, 0, sizeof(*profile));
}
