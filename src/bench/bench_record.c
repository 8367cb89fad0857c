#include "bench/bench_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/dispatch_profile_report.h"

#define NS_PER_S 1e9

double mlxcel_bench_record_sample_ts(const mlxcel_bench_record_t* record, uint32_t index) {
  const uint64_t ns = record->samples->ns[index];
  return (double)mlxcel_bench_case_tokens(record->item) * NS_PER_S / (double)(ns ? ns : 1);
}

static iree_status_t record_summarize(mlxcel_bench_record_t* record) {
  const uint32_t count = record->samples->count;
  double* values = malloc(count * sizeof(*values));
  if (!values) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %u samples; ask for fewer repetitions", count);
  for (uint32_t i = 0; i < count; ++i) values[i] = (double)record->samples->ns[i];
  mlxcel_bench_statistics_make(count, values, &record->ns);
  for (uint32_t i = 0; i < count; ++i) values[i] = mlxcel_bench_record_sample_ts(record, i);
  mlxcel_bench_statistics_make(count, values, &record->ts);
  free(values);
  return iree_ok_status();
}

static double record_read_bytes(const mlxcel_bench_record_t* record) {
  const mlxcel_bench_model_t* model = record->model;
  const mlxcel_bench_samples_t* samples = record->samples;
  const double heads = (double)samples->decode_calls + (record->item->prompt ? record->item->parallel : 0);
  return (double)(samples->prefill_calls + samples->decode_calls) * (double)model->layer_bytes + heads * (double)model->head_bytes;
}

static double record_operations(const mlxcel_bench_record_t* record) {
  const mlxcel_bench_model_t* model = record->model;
  const double prompt = (double)record->item->prompt * (double)model->layer_weights;
  const double gen = (double)record->item->gen * (double)(model->layer_weights + model->head_weights);
  return 2.0 * (double)record->item->parallel * (prompt + gen);
}

static double record_share(double reached, double limit) { return limit > 0 ? reached / limit : 0; }

iree_status_t mlxcel_bench_record_derive(mlxcel_bench_record_t* record) {
  IREE_RETURN_IF_ERROR(record_summarize(record));
  if (record->roofline) mlxcel_roofline_best(record->roofline, record->info->cpu_level, &record->roofline_read_gb_s, &record->roofline_fma_gflop_s);
  record->read_gb_s = record_read_bytes(record) / record->ns.median;  // bytes a nanosecond
  record->fma_gflop_s = record_operations(record) / record->ns.median;
  record->read_share = record_share(record->read_gb_s, record->roofline_read_gb_s);
  record->fma_share = record_share(record->fma_gflop_s, record->roofline_fma_gflop_s);
  record->roofline_share = record->read_share > record->fma_share ? record->read_share : record->fma_share;
  mlxcel_bench_case_name(record->item, record->test);
  return iree_ok_status();
}

// --- JSON ----------------------------------------------------------------------------------------------------------------------------------------

// An object that is being filled; the first failure stays.
typedef struct record_object_t {
  json_t* value;
  bool ok;
} record_object_t;

static void record_set(record_object_t* object, const char* key, json_t* value) {
  if (object->ok) {
    object->ok = value && json_object_set_new(object->value, key, value) == 0;
  } else {
    json_decref(value);
  }
}

static void record_set_integer(record_object_t* object, const char* key, uint64_t value) { record_set(object, key, json_integer((json_int_t)value)); }
static void record_set_text(record_object_t* object, const char* key, const char* value) { record_set(object, key, mlxcel_json_string_any(value)); }
static void record_set_real(record_object_t* object, const char* key, double value) { record_set(object, key, json_real(value)); }

// Limits and shares of a machine that wasn't measured, or can't be, aren't 0.
static void record_set_measured(record_object_t* object, const char* key, double value, bool is_measured) {
  record_set(object, key, is_measured ? json_real(value) : json_null());
}

static void record_set_peer_parameters(record_object_t* object, const mlxcel_bench_record_t* record) {
  record_set_text(object, "build_commit", record->build);
  record_set_integer(object, "build_number", record->build_number);
  record_set_text(object, "cpu_info", record->cpu);
  record_set_text(object, "gpu_info", "");
  record_set_text(object, "backends", "CPU");
  record_set_text(object, "model_filename", record->model->folder);
  record_set_text(object, "model_type", record->model->type);
  record_set_integer(object, "model_size", record->model->bytes);
  record_set_integer(object, "model_n_params", record->model->parameter_count);
  record_set_integer(object, "n_batch", record->item->batch ? record->item->batch : record->prefill_rows_max);
  record_set_integer(object, "n_ubatch", record->samples->chunk);
  record_set_integer(object, "n_threads", record->info->threads);
  record_set_text(object, "type_k", record->kv_dtype);
  record_set_text(object, "type_v", record->kv_dtype);
}

static void record_set_peer_results(record_object_t* object, const mlxcel_bench_record_t* record) {
  record_set_integer(object, "n_prompt", record->item->prompt);
  record_set_integer(object, "n_gen", record->item->gen);
  record_set_integer(object, "n_depth", record->item->depth);
  record_set_text(object, "test_time", record->time);
  record_set_integer(object, "avg_ns", (uint64_t)llround(record->ns.mean));
  record_set_integer(object, "stddev_ns", (uint64_t)llround(record->ns.deviation));
  record_set_real(object, "avg_ts", record->ts.mean);
  record_set_real(object, "stddev_ts", record->ts.deviation);
}

static void record_set_own_results(record_object_t* object, const mlxcel_bench_record_t* record) {
  record_set_text(object, "test", record->test);
  record_set_integer(object, "n_parallel", record->item->parallel);
  record_set_real(object, "median_ts", record->ts.median);
  record_set_real(object, "min_ts", record->ts.minimum);
  record_set_real(object, "max_ts", record->ts.maximum);
  if (record->samples->digest_count) record_set_text(object, "tokens_sha256", record->samples->digests[0].text);
  if (!record->samples->digest_count) record_set(object, "tokens_sha256", json_null());
  const bool has_read = record->roofline_read_gb_s > 0, has_fma = record->roofline_fma_gflop_s > 0;
  record_set_measured(object, "roofline_read_gb_s", record->roofline_read_gb_s, has_read);
  record_set_measured(object, "roofline_fma_gflop_s", record->roofline_fma_gflop_s, has_fma);
  record_set_real(object, "read_gb_s", record->read_gb_s);
  record_set_real(object, "fma_gflop_s", record->fma_gflop_s);
  record_set_measured(object, "read_share", record->read_share, has_read);
  record_set_measured(object, "fma_share", record->fma_share, has_fma);
  record_set_measured(object, "roofline_share", record->roofline_share, has_read || has_fma);
}

static void record_set_engine(record_object_t* object, const mlxcel_bench_record_t* record) {
  const mlxcel_engine_info_t* info = record->info;
  record_set_text(object, "device", info->device);
  record_set_text(object, "cpu_level", info->cpu_level);
  record_set_text(object, "profile", info->profile);
  record_set_text(object, "contract_fingerprint", info->contract_fingerprint);
  record_set_integer(object, "context", info->context);
  record_set_integer(object, "kv_bytes", info->kv_bytes);
  record_set_integer(object, "weight_bytes", info->weight_bytes);
  record_set_integer(object, "copied_weight_bytes", info->copied_weight_bytes);
  record_set_integer(object, "peak_rss_bytes", record->peak_rss_bytes);
  record_set_real(object, "load_s", info->load_seconds);
  record_set_real(object, "compile_s", info->compile_seconds);
}

static void record_set_arrays(record_object_t* object, const mlxcel_bench_record_t* record) {
  json_t *digests = json_array(), *ns = json_array(), *ts = json_array();
  bool ok = digests && ns && ts;
  for (uint32_t i = 0; ok && i < record->samples->digest_count; ++i) ok = json_array_append_new(digests, json_string(record->samples->digests[i].text)) == 0;
  for (uint32_t i = 0; ok && i < record->samples->count; ++i) {
    ok = json_array_append_new(ns, json_integer((json_int_t)record->samples->ns[i])) == 0 &&
         json_array_append_new(ts, json_real(mlxcel_bench_record_sample_ts(record, i))) == 0;
  }
  object->ok &= ok;
  record_set(object, "sequence_sha256", digests);
  record_set(object, "samples_ns", ns);
  record_set(object, "samples_ts", ts);
}

static void record_set_dispatches(record_object_t* object, const mlxcel_bench_record_t* record) {
  if (!record->dispatches) return;
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  mlxcel_dispatch_profile_write_json(record->dispatches, &text);
  iree_status_t status = mlxcel_strbuf_take_status(&text);
  json_t* value = iree_status_is_ok(status) ? json_loadb(text.data, text.size, 0, NULL) : NULL;
  iree_status_ignore(status);
  mlxcel_strbuf_deinitialize(&text);
  record_set(object, "dispatches", value);
}

json_t* mlxcel_bench_record_to_json(const mlxcel_bench_record_t* record) {
  record_object_t object = {.value = json_object()};
  object.ok = object.value != NULL;
  record_set_peer_parameters(&object, record);
  record_set_peer_results(&object, record);
  record_set_own_results(&object, record);
  record_set_engine(&object, record);
  record_set_arrays(&object, record);
  record_set_dispatches(&object, record);
  if (object.ok) return object.value;
  json_decref(object.value);
  return NULL;
}
