#include "runtime/dispatch_sink.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct mlxcel_dispatch_sink_t {
  iree_hal_resource_t resource;  // first: it is an iree_hal_profile_sink_t
  pthread_mutex_t mutex;         // names may come from whatever thread submits work
  size_t event_count, event_capacity;
  mlxcel_dispatch_event_t* events;
  size_t function_count, function_capacity;
  mlxcel_dispatch_function_t* functions;
  uint64_t lost;
};

static const iree_hal_profile_sink_vtable_t sink_vtable;

static mlxcel_dispatch_sink_t* from_base(iree_hal_profile_sink_t* sink) { return (mlxcel_dispatch_sink_t*)sink; }
iree_hal_profile_sink_t* mlxcel_dispatch_sink_base(mlxcel_dispatch_sink_t* sink) { return (iree_hal_profile_sink_t*)sink; }

static iree_status_t out_of_memory(void) {
  return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the profile's events; profile fewer calls at once or free some memory");
}

iree_status_t mlxcel_dispatch_sink_create(mlxcel_dispatch_sink_t** out_sink) {
  *out_sink = calloc(1, sizeof(**out_sink));
  if (!*out_sink) return out_of_memory();
  iree_hal_resource_initialize(&sink_vtable, &(*out_sink)->resource);
  pthread_mutex_init(&(*out_sink)->mutex, NULL);
  return iree_ok_status();
}

void mlxcel_dispatch_sink_release(mlxcel_dispatch_sink_t* sink) { iree_hal_profile_sink_release(mlxcel_dispatch_sink_base(sink)); }

static void sink_destroy(iree_hal_profile_sink_t* base) {
  mlxcel_dispatch_sink_t* sink = from_base(base);
  for (size_t i = 0; i < sink->function_count; ++i) free(sink->functions[i].name);
  free(sink->functions);
  free(sink->events);
  pthread_mutex_destroy(&sink->mutex);
  free(sink);
}

// --- what comes in -----------------------------------------------------------------------------------------------------------------------------

// Makes room for one more element of |*array|.
static iree_status_t reserve(size_t count, size_t element_size, size_t* capacity, void** array) {
  if (count < *capacity) return iree_ok_status();
  size_t larger = *capacity ? *capacity * 2 : 256;
  void* moved = realloc(*array, larger * element_size);
  if (!moved) return out_of_memory();
  *array = moved;
  *capacity = larger;
  return iree_ok_status();
}

static iree_status_t add_event(mlxcel_dispatch_sink_t* sink, const uint8_t* bytes, size_t size) {
  iree_hal_profile_host_execution_event_t record;
  if (size < sizeof(record)) return iree_ok_status();
  memcpy(&record, bytes, sizeof(record));
  if (record.type != IREE_HAL_PROFILE_QUEUE_EVENT_TYPE_DISPATCH) return iree_ok_status();
  IREE_RETURN_IF_ERROR(reserve(sink->event_count, sizeof(sink->events[0]), &sink->event_capacity, (void**)&sink->events));
  sink->events[sink->event_count++] = (mlxcel_dispatch_event_t){
      .event_id = record.event_id,
      .submission_id = record.submission_id,
      .executable_id = record.executable_id,
      .function_ordinal = record.function_ordinal,
      .workgroups = record.workgroup_count[0] * record.workgroup_count[1] * record.workgroup_count[2],
      .start_ns = record.start_host_time_ns,
      .end_ns = record.end_host_time_ns,
      .busy_ns = record.tile_duration_sum_ns,
  };
  return iree_ok_status();
}

static iree_status_t add_function(mlxcel_dispatch_sink_t* sink, const uint8_t* bytes, size_t size) {
  iree_hal_profile_executable_function_record_t record;
  if (size < sizeof(record)) return iree_ok_status();
  memcpy(&record, bytes, sizeof(record));
  if (record.name_length > size - sizeof(record)) return iree_ok_status();
  IREE_RETURN_IF_ERROR(reserve(sink->function_count, sizeof(sink->functions[0]), &sink->function_capacity, (void**)&sink->functions));
  char* name = strndup((const char*)bytes + sizeof(record), record.name_length);
  if (!name) return out_of_memory();
  sink->functions[sink->function_count++] = (mlxcel_dispatch_function_t){record.executable_id, record.function_ordinal, name};
  return iree_ok_status();
}

// Records begin with their length; one that doesn't fit ends the chunk.
typedef iree_status_t (*record_fn_t)(mlxcel_dispatch_sink_t* sink, const uint8_t* bytes, size_t size);
static iree_status_t add_records(mlxcel_dispatch_sink_t* sink, iree_const_byte_span_t span, record_fn_t add) {
  const uint8_t* at = span.data;
  uint32_t length = 0;
  for (size_t left = span.data_length; left >= sizeof(length); at += length, left -= length) {
    memcpy(&length, at, sizeof(length));
    if (length < sizeof(length) || length > left) break;
    IREE_RETURN_IF_ERROR(add(sink, at, length));
  }
  return iree_ok_status();
}

static iree_status_t sink_write(iree_hal_profile_sink_t* base, const iree_hal_profile_chunk_metadata_t* metadata, iree_host_size_t iovec_count,
                                const iree_const_byte_span_t* iovecs) {
  mlxcel_dispatch_sink_t* sink = from_base(base);
  bool is_events = iree_string_view_equal(metadata->content_type, IREE_HAL_PROFILE_CONTENT_TYPE_HOST_EXECUTION_EVENTS);
  bool is_functions = iree_string_view_equal(metadata->content_type, IREE_HAL_PROFILE_CONTENT_TYPE_EXECUTABLE_FUNCTIONS);
  if (!is_events && !is_functions) return iree_ok_status();
  iree_status_t status = iree_ok_status();
  pthread_mutex_lock(&sink->mutex);
  if (is_events) sink->lost += metadata->dropped_record_count;
  for (iree_host_size_t i = 0; i < iovec_count && iree_status_is_ok(status); ++i) {
    status = add_records(sink, iovecs[i], is_events ? add_event : add_function);
  }
  pthread_mutex_unlock(&sink->mutex);
  return status;
}

static iree_status_t sink_begin_session(iree_hal_profile_sink_t* sink, const iree_hal_profile_chunk_metadata_t* metadata) {
  (void)sink;
  (void)metadata;
  return iree_ok_status();
}

static iree_status_t sink_end_session(iree_hal_profile_sink_t* sink, const iree_hal_profile_chunk_metadata_t* metadata, iree_status_code_t code) {
  (void)sink;
  (void)metadata;
  (void)code;
  return iree_ok_status();
}

static const iree_hal_profile_sink_vtable_t sink_vtable = {
    .destroy = sink_destroy, .begin_session = sink_begin_session, .write = sink_write, .end_session = sink_end_session};

// --- what is read ------------------------------------------------------------------------------------------------------------------------------

static int compare_events(const void* a, const void* b) {
  const mlxcel_dispatch_event_t *x = a, *y = b;
  if (x->submission_id != y->submission_id) return x->submission_id < y->submission_id ? -1 : 1;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  return x->event_id < y->event_id ? -1 : x->event_id > y->event_id;
}

const mlxcel_dispatch_event_t* mlxcel_dispatch_sink_events(mlxcel_dispatch_sink_t* sink, size_t* out_count) {
  *out_count = sink->event_count;
  if (sink->event_count) qsort(sink->events, sink->event_count, sizeof(sink->events[0]), compare_events);
  return sink->events;
}

uint64_t mlxcel_dispatch_sink_lost(const mlxcel_dispatch_sink_t* sink) { return sink->lost; }
void mlxcel_dispatch_sink_clear(mlxcel_dispatch_sink_t* sink) { sink->event_count = 0; }

const char* mlxcel_dispatch_sink_name(const mlxcel_dispatch_sink_t* sink, uint64_t executable_id, uint32_t function_ordinal) {
  for (size_t i = 0; i < sink->function_count; ++i) {
    const mlxcel_dispatch_function_t* function = &sink->functions[i];
    if (function->executable_id == executable_id && function->ordinal == function_ordinal) return function->name;
  }
  return "";
}
