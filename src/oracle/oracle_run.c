#include "oracle/oracle_run.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/log.h"
#include "oracle/case_coverage.h"
#include "oracle/decomposition.h"
#include "oracle/magnitude.h"
#include "oracle/recorder.h"

#define SEED_DEFAULT 20260822u  // any number; fixed, so that runs can be compared
#define REPEATS_DEFAULT 3u
#define COMPILE_THREADS_MAX 64u  // each starts a compiler process of 200 MB
#define DEVICE_COUNT 2

static const char* const devices[DEVICE_COUNT] = {"local-sync", "local-task"};

const char* mlxcel_oracle_device_at(size_t index) { return index < DEVICE_COUNT ? devices[index] : NULL; }

void mlxcel_oracle_options_initialize(mlxcel_oracle_options_t* out_options) {
  *out_options = (mlxcel_oracle_options_t){.case_index = -1, .repeats = REPEATS_DEFAULT, .seed = SEED_DEFAULT, .command_line = ""};
}

//===- State --------------------------------------------------------------------------------------------------------------------------------------------===//

// One case under one profile.
typedef struct run_job_t {
  const mlxcel_oracle_case_t* item;
  const mlxcel_profile_t* profile;
  mlxcel_operation_t operation;  // as the profile runs it
  mlxcel_candidate_t candidate;
  iree_status_t status;  // of the build
} run_job_t;

// The reference's side of one case, shared by profiles and devices.
typedef struct run_expected_t {
  const mlxcel_oracle_case_t* item;
  bool has_result;
  mlxcel_host_tensor_t result;
  char missing[MLXCEL_CLAIM_REASON_BYTES];
} run_expected_t;

typedef struct run_t {
  const mlxcel_oracle_options_t* options;
  mlxcel_candidate_options_t candidate_options;
  mlxcel_oracle_reports_t* reports;
  mlxcel_oracle_cases_t cases;
  size_t job_count;
  run_job_t* jobs;
  atomic_size_t next_job, built_count;
  mlxcel_reference_t* reference;
  run_expected_t expected;
  char reference_build[64];  // "" without a reference
  mlxcel_device_t* devices[DEVICE_COUNT];
  mlxcel_identity_t identities[DEVICE_COUNT];  // without a compiler: that is every job's own
  mlxcel_recorder_t recorder;
  char* evidence_folder;
} run_t;

static bool is_cancelled(const mlxcel_oracle_options_t* options) { return options->cancelled && options->cancelled(options->user_data); }
static iree_status_t cancelled_status(void) { return iree_make_status(IREE_STATUS_CANCELLED, "the run was interrupted; nothing was recorded"); }
static void notify(const mlxcel_oracle_options_t* options, const char* step, size_t done, size_t total) {
  if (options->notify) options->notify(options->user_data, step, done, total);
}

// Moves |status|' text into |buffer| and drops it.
static void consume(iree_status_t status, char* buffer, size_t capacity) {
  mlxcel_status_text(status, buffer, capacity);
  iree_status_free(status);
}

//===- Selection ----------------------------------------------------------------------------------------------------------------------------------------===//

static void list_profiles(char* buffer, size_t capacity) {
  size_t used = 0;
  const mlxcel_profile_t* profile;
  for (size_t i = 0; (profile = mlxcel_profile_at(i)) != NULL && used < capacity; ++i) {
    used += (size_t)snprintf(buffer + used, capacity - used, "%s%s", i ? ", " : "", profile->name);
  }
}

static void list_classes(char* buffer, size_t capacity) {
  size_t used = 0;
  const char* name;
  for (size_t i = 0; (name = mlxcel_oracle_class_at(i)) != NULL && used < capacity; ++i) {
    used += (size_t)snprintf(buffer + used, capacity - used, "%s%s", i ? ", " : "", name);
  }
}

static bool device_is_known(const char* name) {
  for (size_t i = 0; i < DEVICE_COUNT; ++i) {
    if (strcmp(devices[i], name) == 0) return true;
  }
  return false;
}

static iree_status_t check_options(const mlxcel_oracle_options_t* options) {
  char valid[512] = "";
  for (size_t i = 0; i < options->class_count; ++i) {
    if (mlxcel_oracle_class_is_known(iree_make_cstring_view(options->classes[i]))) continue;
    list_classes(valid, sizeof(valid));
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "unknown class '%s'; valid: %s", options->classes[i], valid);
  }
  if (options->profile && !mlxcel_profile_find(iree_make_cstring_view(options->profile))) {
    list_profiles(valid, sizeof(valid));
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "unknown profile '%s'; valid: %s", options->profile, valid);
  }
  mlxcel_dtype_t dtype;
  if (options->dtype && (!mlxcel_dtype_parse(iree_make_cstring_view(options->dtype), &dtype) || dtype > MLXCEL_DTYPE_BF16)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "unknown dtype '%s'; valid: f32, f16, bf16", options->dtype);
  }
  if (options->device && !device_is_known(options->device)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "micro-oracles don't run on '%s'; valid: local-sync, local-task", options->device);
  }
  if (options->repeats >= 1 && options->repeats <= MLXCEL_ORACLE_REPEATS_MAX) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%u repeats are outside 1 to %u", options->repeats, MLXCEL_ORACLE_REPEATS_MAX);
}

static bool case_is_selected(const mlxcel_oracle_options_t* options, const mlxcel_oracle_case_t* item) {
  if (options->case_index >= 0 && (size_t)options->case_index != item->index) return false;
  if (options->dtype && strcmp(options->dtype, mlxcel_dtype_name(item->operation.dtype)) != 0) return false;
  bool selected = options->class_count == 0;
  for (size_t i = 0; i < options->class_count; ++i) selected |= strcmp(options->classes[i], item->class_name) == 0;
  return selected;
}

static bool profile_is_selected(const mlxcel_oracle_options_t* options, const mlxcel_profile_t* profile) {
  return !options->profile || strcmp(options->profile, profile->name) == 0;
}

static iree_status_t make_jobs(run_t* run) {
  size_t capacity = 0;
  while (mlxcel_profile_at(capacity)) ++capacity;
  capacity *= run->cases.count;
  run->jobs = calloc(capacity + 1, sizeof(*run->jobs));
  if (!run->jobs) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for %zu jobs; free memory and try again", capacity);
  for (size_t i = 0; i < run->cases.count; ++i) {
    const mlxcel_oracle_case_t* item = &run->cases.items[i];
    if (!case_is_selected(run->options, item)) continue;
    const mlxcel_profile_t* profile;
    for (size_t k = 0; (profile = mlxcel_profile_at(k)) != NULL; ++k) {
      run_job_t* job = &run->jobs[run->job_count];
      if (!profile_is_selected(run->options, profile) || !mlxcel_oracle_profile_runs(profile, item, &job->operation)) continue;
      job->item = item;
      job->profile = profile;
      ++run->job_count;
    }
  }
  if (run->job_count) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "no case is selected; `mlxcel oracle list` shows which profiles define which classes");
}

//===- Compilation, ahead of the runs -------------------------------------------------------------------------------------------------------------------===//

static void* compile_jobs(void* argument) {
  run_t* run = argument;
  for (;;) {
    size_t index = atomic_fetch_add(&run->next_job, 1);
    if (index >= run->job_count || is_cancelled(run->options)) return NULL;
    run_job_t* job = &run->jobs[index];
    if (!job->profile->is_declared_only) job->status = mlxcel_candidate_build(&run->candidate_options, job->profile, &job->operation, &job->candidate);
    size_t built = atomic_fetch_add(&run->built_count, 1) + 1;
    notify(run->options, "compiling", built, run->job_count);
  }
}

static size_t compile_thread_count(const run_t* run) {
  size_t count = run->options->threads;
  cpu_set_t set;
  if (count == 0) count = sched_getaffinity(0, sizeof(set), &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
  if (count > COMPILE_THREADS_MAX) count = COMPILE_THREADS_MAX;
  return count < run->job_count ? count : run->job_count;
}

static iree_status_t compile_all(run_t* run) {
  pthread_t threads[COMPILE_THREADS_MAX];
  size_t wanted = compile_thread_count(run), started = 0;
  while (started + 1 < wanted && pthread_create(&threads[started], NULL, compile_jobs, run) == 0) ++started;
  compile_jobs(run);
  for (size_t i = 0; i < started; ++i) pthread_join(threads[i], NULL);
  if (is_cancelled(run->options)) return cancelled_status();
  for (size_t i = 0; run->options->mutation && i < run->job_count; ++i) {  // a mutation that misses its place must not look like one that isn't caught
    iree_status_t status = run->jobs[i].status;
    if (!iree_status_is_invalid_argument(status)) continue;
    run->jobs[i].status = iree_ok_status();
    return status;
  }
  return iree_ok_status();
}

//===- Both sides ---------------------------------------------------------------------------------------------------------------------------------------===//

iree_status_t mlxcel_oracle_reference_result(mlxcel_reference_t* reference, const mlxcel_operation_t* operation, uint64_t seed,
                                             mlxcel_host_tensor_t* out_result) {
  mlxcel_oracle_operands_t operands;
  memset(out_result, 0, sizeof(*out_result));
  IREE_RETURN_IF_ERROR(mlxcel_oracle_operands_make(operation, /*with_tables=*/false, seed, &operands));
  iree_status_t status = mlxcel_reference_compute(reference, operation, operands.count, operands.tensors, out_result);
  mlxcel_oracle_operands_deinitialize(&operands);
  return status;
}

// Whether the program that answers is the one that this build made: another's word for its identity isn't taken.
static bool reference_is_own(void) {
  const char* named = getenv("MLXCEL_MLX_REFERENCE");
  return !named || !named[0] || strcmp(named, MLXCEL_MLX_REFERENCE_PROGRAM) == 0;
}

// What claims against the reference must call it.
static void name_reference(run_t* run) {
  static const char unknown[] = "unknown-";
  const char* build = run->reports->reference.build;
  bool says_unknown = strncmp(build, unknown, sizeof(unknown) - 1) == 0;
  int size = snprintf(run->reference_build, sizeof(run->reference_build), "%s%s%s", reference_is_own() || says_unknown ? "" : unknown, build,
                      run->options->disable_compile ? "-eager" : "");
  if (size >= (int)sizeof(run->reference_build)) snprintf(run->reference_build, sizeof(run->reference_build), "%smlx", unknown);
}

static bool reference_is_pinned(const run_t* run) { return strcmp(run->reference_build, MLXCEL_MLX_REFERENCE) == 0; }

static void open_reference(run_t* run) {
  const mlxcel_reference_options_t options = {.disable_compile = run->options->disable_compile};
  iree_status_t status = mlxcel_reference_open(&options, &run->reference);
  if (iree_status_is_ok(status)) {
    run->reports->reference = *mlxcel_reference_identity(run->reference);
    run->reports->has_reference = true;
    name_reference(run);
  } else {
    consume(status, run->reports->reference_missing, sizeof(run->reports->reference_missing));
  }
}

// Computes the reference's result for |item|, unless it is the one at hand.
static void expect(run_t* run, const mlxcel_oracle_case_t* item) {
  run_expected_t* expected = &run->expected;
  if (expected->item == item) return;
  mlxcel_host_tensor_deinitialize(&expected->result);
  memset(expected, 0, sizeof(*expected));
  expected->item = item;
  if (!run->reference) {
    snprintf(expected->missing, sizeof(expected->missing), "%s", run->reports->reference_missing);
    return;
  }
  iree_status_t status = mlxcel_oracle_reference_result(run->reference, &item->operation, run->options->seed, &expected->result);
  expected->has_result = iree_status_is_ok(status);
  if (!expected->has_result) consume(status, expected->missing, sizeof(expected->missing));
}

static iree_status_t device_of(run_t* run, size_t index, mlxcel_device_t** out_device) {
  *out_device = run->devices[index];
  if (*out_device) return iree_ok_status();
  const mlxcel_device_options_t options = {.name = iree_make_cstring_view(devices[index])};
  IREE_RETURN_IF_ERROR(mlxcel_device_open(&options, &run->devices[index]));
  *out_device = run->devices[index];
  return iree_ok_status();
}

//===- Reports ------------------------------------------------------------------------------------------------------------------------------------------===//

// What is known before anything runs.
static void report_begin(const run_t* run, const run_job_t* job, const char* device, mlxcel_oracle_report_t* report) {
  report->class_name = job->item->class_name;
  report->case_index = job->item->index;
  report->profile = job->profile;
  report->dtype = job->operation.dtype;
  report->weight_dtype = job->operation.weight_dtype;
  report->claim_asked = mlxcel_claim_needed(job->profile);
  report->seed = run->options->seed;
  report->repeats = run->options->repeats;
  report->outputs = mlxcel_oracle_output_count(&job->operation);
  snprintf(report->reference_build, sizeof(report->reference_build), "%s", run->reference_build);
  snprintf(report->variant, sizeof(report->variant), "%s", mlxcel_op_variant_name(job->operation.variant));
  snprintf(report->device, sizeof(report->device), "%s", device);
  mlxcel_operation_shape_text(&job->operation, report->shape, sizeof(report->shape));
}

static void report_kernels(const mlxcel_parsed_contract_t* contract, char* buffer, size_t capacity) {
  size_t used = 0;
  for (size_t i = 0; i < contract->clause_count; ++i) {
    const char* name = contract->clauses[i].algorithm;
    if (!name || strstr(buffer, name) || used >= capacity) continue;
    used += (size_t)snprintf(buffer + used, capacity - used, "%s%s", used ? "+" : "", name);
  }
}

static void report_candidate(const run_job_t* job, const mlxcel_identity_t* identity, const mlxcel_parsed_contract_t* contract,
                             mlxcel_oracle_report_t* report) {
  const mlxcel_manifest_t* manifest = &job->candidate.manifest;
  report->contract_version = manifest->contract_version;
  report->contract_fingerprint = manifest->contract_fingerprint;
  report->compile_seconds = job->candidate.artifact.compile_seconds;
  mlxcel_report_candidate_t* candidate = &report->candidate;
  snprintf(candidate->compiler, sizeof(candidate->compiler), "%s", manifest->compiler.version);
  snprintf(candidate->target, sizeof(candidate->target), "%s", manifest->target);
  snprintf(candidate->runtime, sizeof(candidate->runtime), "%s", identity->runtime);
  snprintf(candidate->cpu_level, sizeof(candidate->cpu_level), "%s", identity->cpu_level);
  candidate->compiler_digest = manifest->compiler.digest;
  candidate->vmfb_digest = job->candidate.artifact.vmfb_digest;
  candidate->artifact_key = job->candidate.artifact.key;
  candidate->is_altered = job->candidate.is_altered;
  report_kernels(contract, candidate->kernel, sizeof(candidate->kernel));
}

// Rounding boundaries of |clause| in |dtype|.
static uint32_t roundings_in(const mlxcel_clause_t* clause, mlxcel_dtype_t dtype) {
  char token[16];
  uint32_t count = 0;
  if (!clause->rounding || dtype == MLXCEL_DTYPE_F32) return 0;
  size_t size = (size_t)snprintf(token, sizeof(token), ":%s", mlxcel_dtype_name(dtype));
  for (const char* at = clause->rounding; (at = strstr(at, token)) != NULL; at += size) count += at[size] == '+' || at[size] == 0;
  return count;
}

// A composition's bound is the sum of its parts'.
static iree_status_t bound_of(const mlxcel_parsed_contract_t* contract, mlxcel_dtype_t dtype, mlxcel_bound_t* out_bound) {
  *out_bound = (mlxcel_bound_t){0};
  for (size_t i = 0; i < contract->clause_count; ++i) {
    uint32_t ulp;
    if (!mlxcel_tolerance_parse(contract->clauses[i].tolerance, &ulp)) {
      return iree_make_status(IREE_STATUS_INTERNAL, "tolerance '%s' of a clause can't be read; report this", contract->clauses[i].tolerance);
    }
    out_bound->f32_units += ulp;
    out_bound->dtype_units += roundings_in(&contract->clauses[i], dtype);
    out_bound->flushes |= contract->clauses[i].denormals && strcmp(contract->clauses[i].denormals, "flush") == 0;
  }
  return iree_ok_status();
}

// Compares with the reference within the contract's tolerance.
static iree_status_t report_compare(const run_t* run, const run_job_t* job, const mlxcel_oracle_operands_t* operands, const mlxcel_candidate_run_t* result,
                                    mlxcel_bound_t* bound, mlxcel_oracle_report_t* report) {
  float* magnitudes = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_term_magnitudes(&job->operation, operands->tensors, &magnitudes));
  bound->magnitudes = magnitudes;
  iree_status_t status = mlxcel_compare(&run->expected.result, &result->result, bound, &report->comparison);
  bound->magnitudes = NULL;
  free(magnitudes);
  report->has_comparison = iree_status_is_ok(status);
  return status;
}

// Compares with the reference and the declared decomposition and decides the claims.
static iree_status_t report_judge(run_t* run, const run_job_t* job, const mlxcel_oracle_operands_t* operands, const mlxcel_candidate_run_t* result,
                                  const mlxcel_parsed_contract_t* contract, mlxcel_oracle_report_t* report) {
  mlxcel_claims_input_t input = {.repeats_agree = result->repeats_agree, .reference_missing = run->expected.missing};
  mlxcel_bound_t bound;
  report->result_dtype = result->result.type.dtype;
  IREE_RETURN_IF_ERROR(bound_of(contract, report->result_dtype, &bound));
  input.tolerance_ulp = bound.f32_units;
  if (run->expected.has_result) {
    IREE_RETURN_IF_ERROR(report_compare(run, job, operands, result, &bound, report));
    input.reference = &report->comparison;
  }
  char missing[MLXCEL_CLAIM_REASON_BYTES] = "";
  mlxcel_host_tensor_t declared;
  iree_status_t status = mlxcel_decomposition_evaluate(job->profile, &job->operation, operands->tensors, &declared);
  if (iree_status_is_ok(status)) {
    status = mlxcel_compare(&declared, &result->result, NULL, &report->decomposition);
    mlxcel_host_tensor_deinitialize(&declared);
    IREE_RETURN_IF_ERROR(status);
    report->has_decomposition = true;
    input.decomposition = &report->decomposition;
  } else {
    consume(status, missing, sizeof(missing));
    input.decomposition_missing = missing;
  }
  mlxcel_claims_decide(&input, &report->claims);
  return iree_ok_status();
}

static void report_operands(const mlxcel_oracle_operands_t* operands, mlxcel_oracle_report_t* report) {
  report->operand_count = operands->count;
  for (size_t i = 0; i < operands->count; ++i) {
    report->operands[i] = (mlxcel_report_operand_t){.name = operands->tensors[i].type.name, .digest = operands->digests[i]};
  }
}

static iree_status_t report_measure(run_t* run, const run_job_t* job, size_t device_index, const mlxcel_oracle_operands_t* operands,
                                    const mlxcel_parsed_contract_t* contract, mlxcel_oracle_report_t* report) {
  mlxcel_device_t* device = NULL;
  mlxcel_candidate_run_t result;
  IREE_RETURN_IF_ERROR(device_of(run, device_index, &device));
  IREE_RETURN_IF_ERROR(mlxcel_candidate_call(&job->candidate, device, operands->count, operands->tensors, run->options->repeats, &result));
  report->was_run = true;
  report->repeats_agree = result.repeats_agree;
  report->run_seconds = result.run_seconds;
  report->bytes_transferred = result.bytes_transferred;
  report->peak_memory_bytes = result.peak_memory_bytes;
  iree_status_t status = report_judge(run, job, operands, &result, contract, report);
  mlxcel_candidate_run_deinitialize(&result);
  return status;
}

//===- Jobs ---------------------------------------------------------------------------------------------------------------------------------------------===//

// Everything that takes part but the compiler.
static iree_status_t identities_query(run_t* run) {
  for (size_t i = 0; i < DEVICE_COUNT; ++i) {
    const char* level = mlxcel_kernel_level_name(run->candidate_options.level);
    IREE_RETURN_IF_ERROR(mlxcel_identity_query(devices[i], level, NULL, &run->identities[i]));
  }
  return iree_ok_status();
}

// With the compiler that made this very module.
static mlxcel_identity_t identity_of(const run_t* run, const run_job_t* job, size_t device_index) {
  mlxcel_identity_t identity = run->identities[device_index];
  identity.compiler = job->candidate.manifest.compiler.digest;
  return identity;
}

// Whether the report's own comparison could show what its profile needs.
static bool was_compared(const mlxcel_oracle_report_t* report) {
  return report->claim_asked == MLXCEL_CLAIM_CANONICAL ? report->has_decomposition : report->has_comparison;
}

static bool wants_records(const mlxcel_oracle_options_t* options) {
  bool altered = options->mutation || options->pinned_object_path || options->mlx_object_path;
  return (!options->no_evidence || options->record_path) && options->case_index < 0 && !altered;
}

// Production is earned against the build that the profile names, not against one that happens to agree.
static bool report_passes(const run_t* run, const mlxcel_oracle_report_t* report) {
  if (report->claims.strongest < report->claim_asked) return false;
  return report->claim_asked != MLXCEL_CLAIM_PRODUCTION || reference_is_pinned(run);
}

static iree_status_t record_report(run_t* run, const run_job_t* job, const mlxcel_identity_t* identity, const mlxcel_parsed_contract_t* contract,
                                   const mlxcel_oracle_report_t* report) {
  const mlxcel_recorder_case_t shown = {.profile = job->profile,
                                        .contract = contract,
                                        .identity = identity,
                                        .claims = &report->claims,
                                        .was_compared = was_compared(report),
                                        .outputs = report->was_run ? report->outputs : 0,
                                        .repeats = run->options->repeats};
  return mlxcel_recorder_add(&run->recorder, &shown);
}

static iree_status_t run_on_device(run_t* run, const run_job_t* job, size_t device_index, const mlxcel_oracle_operands_t* operands,
                                   const mlxcel_parsed_contract_t* contract) {
  mlxcel_oracle_report_t* report = NULL;
  const mlxcel_identity_t identity = identity_of(run, job, device_index);
  IREE_RETURN_IF_ERROR(mlxcel_oracle_reports_add(run->reports, &report));
  report_begin(run, job, devices[device_index], report);
  report_candidate(job, &identity, contract, report);
  report_operands(operands, report);
  iree_status_t status = report_measure(run, job, device_index, operands, contract, report);
  if (!iree_status_is_ok(status)) consume(status, report->claims.reason, sizeof(report->claims.reason));
  report->passes = report_passes(run, report);
  if (!wants_records(run->options) || job->candidate.is_altered) return iree_ok_status();
  return record_report(run, job, &identity, contract, report);
}

// A case that couldn't be built: its reports earn nothing.
static iree_status_t report_failure(run_t* run, run_job_t* job) {
  char reason[MLXCEL_CLAIM_REASON_BYTES];
  consume(job->status, reason, sizeof(reason));
  job->status = iree_ok_status();
  for (size_t i = 0; i < DEVICE_COUNT; ++i) {
    if (run->options->device && strcmp(run->options->device, devices[i]) != 0) continue;
    mlxcel_oracle_report_t* report = NULL;
    IREE_RETURN_IF_ERROR(mlxcel_oracle_reports_add(run->reports, &report));
    report_begin(run, job, devices[i], report);
    snprintf(report->claims.reason, sizeof(report->claims.reason), "%s", reason);
  }
  return iree_ok_status();
}

static iree_status_t run_on_devices(run_t* run, const run_job_t* job, const mlxcel_parsed_contract_t* contract) {
  mlxcel_oracle_operands_t operands;
  IREE_RETURN_IF_ERROR(mlxcel_oracle_operands_make(&job->operation, job->profile->rope_tables, run->options->seed, &operands));
  iree_status_t status = iree_ok_status();
  for (size_t i = 0; iree_status_is_ok(status) && i < DEVICE_COUNT; ++i) {
    if (run->options->device && strcmp(run->options->device, devices[i]) != 0) continue;
    status = run_on_device(run, job, i, &operands, contract);
  }
  mlxcel_oracle_operands_deinitialize(&operands);
  return status;
}

static iree_status_t run_job(run_t* run, run_job_t* job) {
  if (!iree_status_is_ok(job->status)) return report_failure(run, job);
  expect(run, job->item);
  mlxcel_parsed_contract_t contract;
  IREE_RETURN_IF_ERROR(mlxcel_contract_parse(iree_make_cstring_view(job->candidate.emitted.contract_text), "the emitted contract", &contract));
  iree_status_t status = run_on_devices(run, job, &contract);
  mlxcel_parsed_contract_deinitialize(&contract);
  return status;
}

// One report a class and dtype: nothing is emitted for a profile that is only declared.
static iree_status_t report_declared(run_t* run, const run_job_t* job) {
  for (size_t i = 0; i < run->reports->count; ++i) {
    const mlxcel_oracle_report_t* known = &run->reports->items[i];
    if (known->class_name == job->item->class_name && known->profile == job->profile && known->dtype == job->operation.dtype) return iree_ok_status();
  }
  mlxcel_oracle_report_t* report = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_oracle_reports_add(run->reports, &report));
  report_begin(run, job, "cuda", report);
  report->outputs = 0;
  report->passes = true;
  snprintf(report->claims.reason, sizeof(report->claims.reason), "not run: the profile is declared only, no device and no mlx-cuda reference are here");
  return iree_ok_status();
}

static iree_status_t run_all(run_t* run) {
  for (size_t i = 0; i < run->job_count; ++i) {
    if (is_cancelled(run->options)) return cancelled_status();
    run_job_t* job = &run->jobs[i];
    notify(run->options, "running", i + 1, run->job_count);
    IREE_RETURN_IF_ERROR(job->profile->is_declared_only ? report_declared(run, job) : run_job(run, job));
    mlxcel_candidate_deinitialize(&job->candidate);
  }
  return iree_ok_status();
}

//===- Evidence -----------------------------------------------------------------------------------------------------------------------------------------===//

// Cases that couldn't be built take their clauses' claims away too.
static iree_status_t recorder_note_failure(run_t* run, const run_job_t* job, const mlxcel_oracle_report_t* report) {
  mlxcel_emitted_operation_t emitted;
  mlxcel_parsed_contract_t contract;
  IREE_RETURN_IF_ERROR(mlxcel_emit_operation_module(job->profile, &job->operation, &emitted));
  iree_status_t status = mlxcel_contract_parse(iree_make_cstring_view(emitted.contract_text), "the emitted contract", &contract);
  mlxcel_emitted_operation_deinitialize(&emitted);
  IREE_RETURN_IF_ERROR(status);
  size_t device = strcmp(report->device, devices[0]) == 0 ? 0 : 1;
  status = record_report(run, job, &run->identities[device], &contract, report);
  mlxcel_parsed_contract_deinitialize(&contract);
  return status;
}

static iree_status_t recorder_note_failures(run_t* run) {
  for (size_t i = 0; i < run->reports->count; ++i) {
    const mlxcel_oracle_report_t* report = &run->reports->items[i];
    if (report->was_run || report->profile->is_declared_only || report->contract_version) continue;
    for (size_t k = 0; k < run->job_count; ++k) {
      const run_job_t* job = &run->jobs[k];
      if (job->profile != report->profile || job->item->class_name != report->class_name || job->item->index != report->case_index) continue;
      IREE_RETURN_IF_ERROR(recorder_note_failure(run, job, report));
    }
  }
  return iree_ok_status();
}

static bool is_selected(const void* options, const mlxcel_oracle_case_t* item) { return case_is_selected(options, item); }

static iree_status_t note_missed(void* user_data, const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract) {
  return mlxcel_recorder_miss(user_data, profile, contract);
}

// Clauses of cases that this run left out: what it shows of them is too little.
static iree_status_t recorder_note_missed(run_t* run) {
  const mlxcel_profile_t* profile;
  for (size_t i = 0; (profile = mlxcel_profile_at(i)) != NULL; ++i) {
    if (profile->is_declared_only || !profile_is_selected(run->options, profile)) continue;
    IREE_RETURN_IF_ERROR(mlxcel_oracle_coverage_unselected(&run->cases, profile, is_selected, run->options, note_missed, &run->recorder));
  }
  return iree_ok_status();
}

static iree_status_t record_file(const run_t* run) {
  mlxcel_evidence_list_t list;
  char* text = NULL;
  size_t left_out = 0;
  iree_status_t status = mlxcel_recorder_list(&run->recorder, MLXCEL_PROFILE_PINNED_F32, &list, &left_out);
  if (iree_status_is_ok(status)) mlxcel_recorder_reduce(&list);
  if (iree_status_is_ok(status)) status = mlxcel_evidence_list_to_text(&list, &text);
  mlxcel_evidence_list_deinitialize(&list);
  if (iree_status_is_ok(status)) status = mlxcel_file_publish(run->options->record_path, text, strlen(text));
  free(text);
  return status;
}

static iree_status_t record_folder(run_t* run) {
  mlxcel_evidence_list_t list;
  size_t left_out = 0;
  iree_status_t status = mlxcel_recorder_list(&run->recorder, NULL, &list, &left_out);
  for (size_t i = 0; iree_status_is_ok(status) && i < list.count; ++i) status = mlxcel_evidence_write(run->evidence_folder, &list.items[i]);
  mlxcel_evidence_list_deinitialize(&list);
  if (iree_status_is_ok(status) && left_out > 0) {
    snprintf(run->reports->record_note, sizeof(run->reports->record_note),
             "%zu clauses got no record: cases of theirs weren't part of this run, or couldn't be compared; `mlxcel oracle run --all` has all cases", left_out);
  }
  return status;
}

static iree_status_t record_all(run_t* run) {
  const mlxcel_oracle_options_t* options = run->options;
  IREE_RETURN_IF_ERROR(recorder_note_failures(run));
  IREE_RETURN_IF_ERROR(recorder_note_missed(run));
  if (options->record_path) {
    IREE_RETURN_IF_ERROR(record_file(run));
  }
  return options->no_evidence ? iree_ok_status() : record_folder(run);
}

// Why nothing of this run may be recorded; false: it may.
static bool records_are_refused(const run_t* run, char note[512]) {
  if (run->options->repeats < MLXCEL_EVIDENCE_REPEATS_MIN) {
    snprintf(note, 512, "nothing is recorded: %u calls of each module are fewer than %u", run->options->repeats, MLXCEL_EVIDENCE_REPEATS_MIN);
    return true;
  }
  if (run->reference_build[0] && !reference_is_pinned(run)) {
    snprintf(note, 512, "nothing is recorded: the reference is %s, not %s as this build pins it", run->reference_build, MLXCEL_MLX_REFERENCE);
    return true;
  }
  return false;
}

// What was shown is shown, whether or not it can be recorded: a failure is a text for the end.
static iree_status_t record_or_note(run_t* run) {
  if (!wants_records(run->options) || records_are_refused(run, run->reports->record_note)) return iree_ok_status();
  iree_status_t status = record_all(run);
  if (!iree_status_is_ok(status)) consume(status, run->reports->record_failure, sizeof(run->reports->record_failure));
  return iree_ok_status();
}

// Before anything is compiled: whether records could be written.
static iree_status_t evidence_prepare(run_t* run) {
  const mlxcel_oracle_options_t* options = run->options;
  if (!wants_records(options) || options->no_evidence) return iree_ok_status();
  if (options->evidence_folder) {
    run->evidence_folder = strdup(options->evidence_folder);
  } else {
    IREE_RETURN_IF_ERROR(mlxcel_evidence_default_folder(&run->evidence_folder));
  }
  if (!run->evidence_folder) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a path; free memory and try again");
  iree_status_t status = mlxcel_evidence_folder_prepare(run->evidence_folder);
  if (iree_status_is_ok(status)) return status;
  char text[MLXCEL_CLAIM_REASON_BYTES];
  iree_status_code_t code = iree_status_code(status);
  consume(status, text, sizeof(text));
  // A usage error it isn't, whatever the system calls it.
  return iree_make_status(code == IREE_STATUS_INVALID_ARGUMENT ? IREE_STATUS_FAILED_PRECONDITION : code,
                          "evidence can't be written to %s: %s; name another folder with --evidence-dir, or run with --no-evidence", run->evidence_folder,
                          text);
}

//===- The run ------------------------------------------------------------------------------------------------------------------------------------------===//

iree_status_t mlxcel_oracle_candidate_options(const mlxcel_oracle_options_t* options, mlxcel_candidate_options_t* out_options) {
  *out_options = (mlxcel_candidate_options_t){.cache_folder = options->cache_folder,
                                              .compiler = options->compiler,
                                              .pinned_object_path = options->pinned_object_path,
                                              .mlx_object_path = options->mlx_object_path,
                                              .mutation = options->mutation,
                                              .cancelled = options->cancelled,
                                              .user_data = options->user_data};
  return mlxcel_kernel_level_select(iree_make_cstring_view(options->cpu_level ? options->cpu_level : ""), &out_options->level);
}

static void run_deinitialize(run_t* run) {
  for (size_t i = 0; i < run->job_count; ++i) {
    mlxcel_candidate_deinitialize(&run->jobs[i].candidate);
    iree_status_free(run->jobs[i].status);
  }
  free(run->jobs);
  mlxcel_host_tensor_deinitialize(&run->expected.result);
  for (size_t i = 0; i < DEVICE_COUNT; ++i) mlxcel_device_close(run->devices[i]);
  mlxcel_reference_close(run->reference);
  mlxcel_recorder_deinitialize(&run->recorder);
  free(run->evidence_folder);
  mlxcel_oracle_cases_deinitialize(&run->cases);
}

static iree_status_t run_steps(run_t* run) {
  IREE_RETURN_IF_ERROR(check_options(run->options));
  IREE_RETURN_IF_ERROR(mlxcel_oracle_candidate_options(run->options, &run->candidate_options));
  IREE_RETURN_IF_ERROR(mlxcel_oracle_cases_make(&run->cases));
  IREE_RETURN_IF_ERROR(make_jobs(run));
  IREE_RETURN_IF_ERROR(evidence_prepare(run));
  IREE_RETURN_IF_ERROR(identities_query(run));
  open_reference(run);
  IREE_RETURN_IF_ERROR(compile_all(run));
  IREE_RETURN_IF_ERROR(run_all(run));
  return record_or_note(run);
}

iree_status_t mlxcel_oracle_run(const mlxcel_oracle_options_t* options, mlxcel_oracle_reports_t* out_reports) {
  memset(out_reports, 0, sizeof(*out_reports));
  snprintf(out_reports->command_line, sizeof(out_reports->command_line), "%s", options->command_line);
  run_t run = {.options = options, .reports = out_reports};
  iree_status_t status = run_steps(&run);
  run_deinitialize(&run);
  if (!iree_status_is_ok(status)) mlxcel_oracle_reports_deinitialize(out_reports);
  return status;
}

iree_status_t mlxcel_oracle_case_select(const mlxcel_oracle_options_t* options, const mlxcel_oracle_cases_t* cases, const mlxcel_profile_t** out_profile,
                                        const mlxcel_oracle_case_t** out_case, mlxcel_operation_t* out_operation) {
  *out_case = NULL;
  IREE_RETURN_IF_ERROR(check_options(options));
  *out_profile = options->profile ? mlxcel_profile_find(iree_make_cstring_view(options->profile)) : NULL;
  if (options->class_count != 1 || options->case_index < 0 || !*out_profile) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "one class, --case and --profile say what is explained; `mlxcel oracle list CLASS` shows the cases");
  }
  for (size_t i = 0; i < cases->count && !*out_case; ++i) {
    if (case_is_selected(options, &cases->items[i])) *out_case = &cases->items[i];
  }
  if (!*out_case) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "class %s has no case %" PRId64 "; `mlxcel oracle list %s` shows them", options->classes[0],
                            options->case_index, options->classes[0]);
  }
  if ((*out_profile)->is_declared_only || !mlxcel_oracle_profile_defines(*out_profile, &(*out_case)->operation, out_operation)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "profile %s doesn't run case %" PRId64 " of class %s; `mlxcel oracle list %s` shows which profiles do", options->profile,
                            options->case_index, options->classes[0], options->classes[0]);
  }
  return iree_ok_status();
}
