#include "bench/bench_suite.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/api_engine.h"
#include "api/api_error.h"
#include "build_identity.h"

#define ONE_THREAD_DEVICE "local-sync"
#define ROOFLINE_REPETITIONS 10u  // the best of them counts; `--roofline` alone takes more
#define DELAY_STEP_NS 100000000   // how late an interrupt may be noticed while waiting

_Static_assert(MLXCEL_BENCH_PARALLEL_MAX == MLXCEL_API_SLOTS_MAX, "each sequence has a slot of its own");

// What is open, and what was measured for it.
typedef struct suite_t {
  const mlxcel_bench_suite_options_t* options;
  const mlxcel_bench_case_t* engine_case;  // the case that |engine| was opened for; NULL = none
  mlxcel_engine_t* engine;
  mlxcel_roofline_row_t roofline;
  uint32_t roofline_threads, roofline_model;  // what |roofline| was measured for; 0 threads = nothing
  char kv_dtype[8];
  char cpu[MLXCEL_BENCH_CPU_BYTES];
  char test[MLXCEL_BENCH_TEST_NAME_BYTES];
  mlxcel_dispatch_profile_t dispatches;  // of the running case
  bool is_stopped;
} suite_t;

static bool suite_is_cancelled(void* user_data) {
  const suite_t* suite = user_data;
  const mlxcel_engine_options_t* engine = &suite->options->engine;
  return engine->cancelled && engine->cancelled(engine->user_data);
}

static void suite_show_progress(const suite_t* suite, const char* step) {
  const mlxcel_engine_options_t* engine = &suite->options->engine;
  if (engine->progress) engine->progress(engine->user_data, step, 0.0);
}

// --- the roofline ----------------------------------------------------------------------------------------------------------------------------------

// As many as the engine will have; more threads than processors reach no more than as many.
static uint32_t suite_roofline_threads(const suite_t* suite, const mlxcel_bench_case_t* item) {
  const char* device = suite->options->engine.device;
  if (device && strcmp(device, ONE_THREAD_DEVICE) == 0) return 1;
  const uint32_t processors = mlxcel_roofline_processor_count();
  return item->threads == 0 || item->threads > processors ? processors : item->threads;
}

static uint64_t suite_roofline_bytes(const suite_t* suite, const mlxcel_bench_model_t* model) {
  return suite->options->roofline_bytes ? suite->options->roofline_bytes : mlxcel_roofline_buffer_bytes(model->layer_bytes + model->head_bytes);
}

static mlxcel_error_t* suite_measure_roofline(suite_t* suite, const mlxcel_bench_case_t* item) {
  if (!suite->options->has_roofline) return NULL;
  const uint32_t threads = suite_roofline_threads(suite, item);
  if (threads == suite->roofline_threads && item->model == suite->roofline_model) return NULL;
  suite_show_progress(suite, "roofline");
  const mlxcel_roofline_options_t options = {.threads = threads,
                                             .buffer_bytes = suite_roofline_bytes(suite, &suite->options->models[item->model]),
                                             .repetitions = ROOFLINE_REPETITIONS,
                                             .cancelled = suite_is_cancelled,
                                             .user_data = suite};
  iree_status_t status = mlxcel_roofline_measure(&options, &suite->roofline);
  if (!iree_status_is_ok(status)) return mlxcel_api_error("roofline", status);
  suite->roofline_threads = threads;
  suite->roofline_model = item->model;
  return NULL;
}

// --- engines ---------------------------------------------------------------------------------------------------------------------------------------

static void suite_close_engine(suite_t* suite) {
  mlxcel_engine_close(suite->engine);
  suite->engine = NULL;
  suite->engine_case = NULL;
}

static void suite_read_kv_dtype(suite_t* suite) {
  const char* name = mlxcel_program_interface_of(suite->engine->program)->kv_dtype;
  size_t i = 0;
  for (; name[i] && i + 1 < sizeof(suite->kv_dtype); ++i) suite->kv_dtype[i] = (char)tolower((unsigned char)name[i]);
  suite->kv_dtype[i] = 0;
}

// Makes sure that the engine which |item| needs is open.
static mlxcel_error_t* suite_open_engine(suite_t* suite, const mlxcel_bench_case_t* item) {
  const mlxcel_bench_case_t* open = suite->engine_case;
  if (open && open->model == item->model && open->threads == item->threads && open->parallel == item->parallel) return NULL;
  suite_close_engine(suite);  // also ends its threads, as the roofline wants it
  mlxcel_error_t* error = suite_measure_roofline(suite, item);
  if (error) return error;
  mlxcel_engine_options_t options = suite->options->engine;
  options.model_folder = suite->options->models[item->model].folder;
  options.threads = item->threads;
  options.context = suite->options->contexts[item->model];
  options.slots = item->parallel;
  options.prefill_chunk = 0;  // the cases cut their prompts themselves
  mlxcel_bench_peak_memory_reset();
  error = mlxcel_engine_open(&options, &suite->engine);
  if (error) return error;
  suite->engine_case = item;
  suite_read_kv_dtype(suite);
  if (suite->options->on_engine) suite->options->on_engine(suite->options->user_data, mlxcel_engine_info(suite->engine));
  return NULL;
}

// --- cases -----------------------------------------------------------------------------------------------------------------------------------------

static uint32_t suite_build_number(void) {
  uint32_t number = 0, part = 0;
  for (const char* c = MLXCEL_VERSION; *c; ++c) {
    if (*c == '.') {
      number = (number + part) * 100;
      part = 0;
    } else if (isdigit((unsigned char)*c)) {
      part = part * 10 + (uint32_t)(*c - '0');
    }
  }
  return number + part;
}

static iree_status_t suite_report(suite_t* suite, const mlxcel_bench_case_t* item, const mlxcel_bench_samples_t* samples) {
  if (samples->count == 0) return iree_ok_status();
  mlxcel_bench_record_t record;
  memset(&record, 0, sizeof(record));
  record.model = &suite->options->models[item->model];
  record.item = item;
  record.samples = samples;
  record.info = mlxcel_engine_info(suite->engine);
  record.roofline = suite->options->has_roofline ? &suite->roofline : NULL;
  record.dispatches = suite->options->times_dispatches ? &suite->dispatches : NULL;
  record.kv_dtype = suite->kv_dtype;
  record.build = MLXCEL_VERSION;
  record.build_number = suite_build_number();
  record.prefill_rows_max = suite->engine->backend.prefill_rows_max;
  record.peak_rss_bytes = mlxcel_bench_peak_memory();
  snprintf(record.cpu, sizeof(record.cpu), "%s", suite->cpu);
  mlxcel_bench_time_text(record.time);
  IREE_RETURN_IF_ERROR(mlxcel_bench_record_derive(&record));
  suite->is_stopped = !suite->options->on_record(suite->options->user_data, &record);
  return iree_ok_status();
}

static void suite_notify_repetition(void* user_data, uint32_t done, uint32_t repetitions) {
  (void)done;
  (void)repetitions;
  const suite_t* suite = user_data;
  suite_show_progress(suite, suite->test);
}

static iree_status_t suite_observe(void* user_data, bool begins) {
  suite_t* suite = user_data;
  mlxcel_device_t* device = suite->engine->device;
  return begins ? mlxcel_dispatch_profile_begin(device) : mlxcel_dispatch_profile_end(device, &suite->dispatches);
}

static uint32_t suite_decode_rows_max(const suite_t* suite) {
  const mlxcel_program_sizes_t* batches = &mlxcel_program_interface_of(suite->engine->program)->decode_batches;
  return batches->count ? batches->values[batches->count - 1] : 1;
}

static mlxcel_error_t* suite_run_case(suite_t* suite, const mlxcel_bench_case_t* item) {
  mlxcel_error_t* error = suite_open_engine(suite, item);
  if (error) return error;
  mlxcel_bench_case_name(item, suite->test);
  const mlxcel_bench_run_options_t run_options = {.backend = &suite->engine->backend,
                                                  .decode_rows_max = suite_decode_rows_max(suite),
                                                  .repetitions = suite->options->repetitions,
                                                  .has_warmup = suite->options->has_warmup,
                                                  .cancelled = suite_is_cancelled,
                                                  .progress = suite_notify_repetition,
                                                  .observe = suite->options->times_dispatches ? suite_observe : NULL,
                                                  .user_data = suite};
  mlxcel_bench_samples_t samples;
  pthread_mutex_lock(&suite->engine->device_mutex);
  iree_status_t status = mlxcel_bench_run(item, &run_options, &samples);
  pthread_mutex_unlock(&suite->engine->device_mutex);
  iree_status_t report_status = suite_report(suite, item, &samples);
  mlxcel_bench_samples_deinitialize(&samples);
  mlxcel_dispatch_profile_deinitialize(&suite->dispatches);
  if (iree_status_is_ok(status)) return mlxcel_api_error("bench", report_status);
  iree_status_ignore(report_status);
  return mlxcel_api_error("bench", status);
}

static void suite_wait(suite_t* suite) {
  const uint64_t steps = (uint64_t)suite->options->delay_s * 1000000000u / DELAY_STEP_NS;
  const struct timespec step = {.tv_nsec = DELAY_STEP_NS};
  for (uint64_t i = 0; i < steps && !suite_is_cancelled(suite); ++i) nanosleep(&step, NULL);
}

mlxcel_error_t* mlxcel_bench_suite_run(const mlxcel_bench_suite_options_t* options) {
  suite_t suite = {.options = options};
  mlxcel_bench_cpu_name(suite.cpu);
  mlxcel_error_t* error = NULL;
  for (size_t i = 0; i < options->plan->case_count && !error && !suite.is_stopped; ++i) {
    if (i > 0) suite_wait(&suite);
    error = suite_run_case(&suite, &options->plan->cases[i]);
  }
  suite_close_engine(&suite);
  return error;
}
