#include "oracle/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "qualify/identity.h"

iree_status_t mlxcel_oracle_reports_add(mlxcel_oracle_reports_t* reports, mlxcel_oracle_report_t** out_report) {
  *out_report = NULL;
  if (reports->count == reports->capacity) {
    size_t capacity = reports->capacity ? reports->capacity * 2 : 64;
    mlxcel_oracle_report_t* items = realloc(reports->items, capacity * sizeof(*items));
    if (!items) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu reports; free memory and try again", capacity);
    reports->items = items;
    reports->capacity = capacity;
  }
  *out_report = &reports->items[reports->count++];
  memset(*out_report, 0, sizeof(**out_report));
  return iree_ok_status();
}

void mlxcel_oracle_reports_deinitialize(mlxcel_oracle_reports_t* reports) {
  free(reports->items);
  memset(reports, 0, sizeof(*reports));
}

bool mlxcel_oracle_reports_pass(const mlxcel_oracle_reports_t* reports) {
  for (size_t i = 0; i < reports->count; ++i) {
    if (!reports->items[i].passes) return false;
  }
  return true;
}

static const char* asked_reference(const mlxcel_oracle_report_t* report) {
  return report->profile->reference ? report->profile->reference : MLXCEL_MLX_REFERENCE;
}

void mlxcel_oracle_asked_text(const mlxcel_oracle_report_t* report, char buffer[96]) {
  mlxcel_claim_text(report->claim_asked, asked_reference(report), buffer);
}

void mlxcel_oracle_earned_text(const mlxcel_oracle_report_t* report, char buffer[96]) {
  mlxcel_claim_text(report->claims.strongest, report->reference_build[0] ? report->reference_build : asked_reference(report), buffer);
}

//===- JSON ---------------------------------------------------------------------------------------------------------------------------------------------===//

// Takes |value|; a missing one makes the whole object fail.
static bool set(json_t* object, const char* key, json_t* value) { return value && json_object_set_new(object, key, value) == 0; }
static bool set_text(json_t* object, const char* key, const char* text) { return set(object, key, mlxcel_json_string_any(text)); }
static bool set_count(json_t* object, const char* key, uint64_t value) { return set(object, key, json_integer((json_int_t)value)); }

static json_t* number(double value) {
  if (isnan(value)) return json_string("nan");
  if (isinf(value)) return json_string(value > 0 ? "inf" : "-inf");
  return json_real(value);
}
static bool set_number(json_t* object, const char* key, double value) { return set(object, key, number(value)); }

static json_t* bits_text(uint32_t bits, mlxcel_dtype_t dtype) {
  char text[16];
  snprintf(text, sizeof(text), mlxcel_dtype_size(dtype) == 2 ? "0x%04x" : "0x%08x", bits);
  return json_string(text);
}

static json_t* divergence_to_json(const mlxcel_oracle_report_t* report, const mlxcel_divergence_t* divergence) {
  json_t* object = json_object();
  json_t* coordinate = json_array();
  bool ok = object && coordinate;
  for (uint32_t i = 0; ok && i < divergence->rank; ++i) ok = json_array_append_new(coordinate, json_integer(divergence->coordinate[i])) == 0;
  mlxcel_dtype_t dtype = report->result_dtype;
  ok = ok && set_count(object, "index", divergence->index) && set(object, "coordinate", json_incref(coordinate)) &&
       set_number(object, "reference", divergence->reference) && set_number(object, "candidate", divergence->candidate) &&
       set(object, "reference_bits", bits_text(divergence->reference_bits, dtype)) &&
       set(object, "candidate_bits", bits_text(divergence->candidate_bits, dtype)) &&
       set(object, "ulp", divergence->ulp == UINT64_MAX ? json_null() : json_integer((json_int_t)divergence->ulp));
  json_decref(coordinate);
  if (ok) return object;
  json_decref(object);
  return NULL;
}

static json_t* reference_to_json(const mlxcel_reference_identity_t* reference) {
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "version", reference->version, "build", reference->build, "libmlx_build_id",
                   reference->libmlx_build_id, "libmlx_sha256", reference->libmlx.text, "blas_sha256", reference->blas.text, "libm_sha256",
                   reference->libm.text, "revision", reference->revision, "patch", reference->patch, "architecture", reference->architecture);
}

static json_t* candidate_to_json(const mlxcel_oracle_report_t* report) {
  const mlxcel_report_candidate_t* candidate = &report->candidate;
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b}", "compiler", candidate->compiler, "compiler_sha256", candidate->compiler_digest.text,
                   "runtime", candidate->runtime, "target", candidate->target, "cpu_level", candidate->cpu_level, "device", report->device, "kernel",
                   candidate->kernel, "vmfb_sha256", candidate->vmfb_digest.text, "artifact_key", candidate->artifact_key.text, "altered",
                   candidate->is_altered);
}

static json_t* operands_to_json(const mlxcel_oracle_report_t* report) {
  json_t* list = json_array();
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < report->operand_count; ++i) {
    ok = json_array_append_new(list, json_pack("{s:s, s:s}", "name", report->operands[i].name, "sha256", report->operands[i].digest.text)) == 0;
  }
  if (ok) return list;
  json_decref(list);
  return NULL;
}

static bool set_identity(json_t* object, const mlxcel_oracle_report_t* report) {
  char asked[96], earned[96];
  mlxcel_oracle_asked_text(report, asked);
  mlxcel_oracle_earned_text(report, earned);
  return set_text(object, "class", report->class_name) && set_count(object, "case", report->case_index) && set_text(object, "profile", report->profile->name) &&
         set_text(object, "variant", report->variant) && set_text(object, "dtype", mlxcel_dtype_name(report->dtype)) &&
         set_text(object, "weight_dtype", mlxcel_dtype_name(report->weight_dtype)) && set_text(object, "shape", report->shape) &&
         set_text(object, "device", report->device) && set_count(object, "contract_version", report->contract_version) &&
         set_text(object, "contract_fingerprint", report->contract_fingerprint.text) && set_text(object, "claim_asked", asked) &&
         set_text(object, "claim_earned", earned) && set_text(object, "reason", report->claims.reason) && set(object, "passes", json_boolean(report->passes)) &&
         set(object, "run", json_boolean(report->was_run));
}

static bool set_comparison(json_t* object, const mlxcel_oracle_report_t* report) {
  const mlxcel_comparison_t* comparison = &report->comparison;
  bool differs = report->has_comparison && comparison->mismatches > 0;
  return set_count(object, "outputs", report->outputs) &&
         set(object, "mismatches", report->has_comparison ? json_integer((json_int_t)comparison->mismatches) : json_null()) &&
         set(object, "first_divergence", differs ? divergence_to_json(report, &comparison->first) : json_null()) &&
         set(object, "max_abs", report->has_comparison ? number(comparison->max_abs) : json_null()) &&
         set(object, "rms", report->has_comparison ? number(comparison->rms) : json_null()) &&
         set(object, "decomposition_mismatches", report->has_decomposition ? json_integer((json_int_t)report->decomposition.mismatches) : json_null()) &&
         set_count(object, "repeats", report->repeats) && set(object, "repeats_agree", json_boolean(report->repeats_agree));
}

static json_t* report_to_json(const mlxcel_oracle_reports_t* reports, const mlxcel_oracle_report_t* report) {
  json_t* object = json_object();
  bool ok = object && set_identity(object, report) && set_comparison(object, report) && set_count(object, "seed", report->seed) &&
            set(object, "operands", operands_to_json(report)) &&
            set(object, "reference", reports->has_reference ? reference_to_json(&reports->reference) : json_null()) &&
            set(object, "candidate", report->was_run ? candidate_to_json(report) : json_null()) &&
            set_number(object, "compile_seconds", report->compile_seconds) && set_number(object, "run_seconds", report->run_seconds) &&
            set_count(object, "bytes_transferred", report->bytes_transferred) && set_count(object, "peak_memory_bytes", report->peak_memory_bytes) &&
            set_text(object, "command_line", reports->command_line);
  if (ok) return object;
  json_decref(object);
  return NULL;
}

json_t* mlxcel_oracle_reports_to_json(const mlxcel_oracle_reports_t* reports) {
  json_t* list = json_array();
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < reports->count; ++i) ok = json_array_append_new(list, report_to_json(reports, &reports->items[i])) == 0;
  if (ok) return list;
  json_decref(list);
  return NULL;
}

//===- Rows ---------------------------------------------------------------------------------------------------------------------------------------------===//

static bool belongs(const mlxcel_oracle_row_t* row, const mlxcel_oracle_report_t* report) {
  const mlxcel_oracle_report_t* first = row->first;
  return first->class_name == report->class_name && first->profile == report->profile && first->dtype == report->dtype &&
         strcmp(first->device, report->device) == 0;
}

static void row_add(mlxcel_oracle_row_t* row, const mlxcel_oracle_report_t* report) {
  bool is_worse = row->worst->passes && !report->passes;
  if (row->worst->passes == report->passes && report->claims.strongest < row->worst->claims.strongest) is_worse = true;
  if (is_worse) row->worst = report;
  ++row->cases;
  row->failed_cases += !report->passes;
  row->outputs += report->outputs;
  if (report->has_comparison) row->mismatches += report->comparison.mismatches;
  row->was_run |= report->was_run;
}

iree_status_t mlxcel_oracle_rows_make(const mlxcel_oracle_reports_t* reports, size_t* out_count, mlxcel_oracle_row_t** out_rows) {
  *out_count = 0;
  *out_rows = calloc(reports->count + 1, sizeof(**out_rows));
  if (!*out_rows) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu rows; free memory and try again", reports->count);
  for (size_t i = 0; i < reports->count; ++i) {
    const mlxcel_oracle_report_t* report = &reports->items[i];
    size_t at = 0;
    while (at < *out_count && !belongs(&(*out_rows)[at], report)) ++at;
    mlxcel_oracle_row_t* row = &(*out_rows)[at];
    if (at == *out_count) {
      row->first = row->worst = report;
      ++*out_count;
    }
    row_add(row, report);
  }
  return iree_ok_status();
}
