#include "qualify/gate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "contract/contract_parse.h"
#include "qualify/pinned_clause.h"

const char* mlxcel_gate_state_name(mlxcel_gate_state_t state) {
  static const char* const names[] = {"closed", "stale", "open"};
  return names[state];
}

// One clause and all that a record is compared with.
typedef struct gate_t {
  const mlxcel_profile_t* profile;
  const mlxcel_clause_t* clause;
  const mlxcel_identity_t* identity;
  mlxcel_sha256_hex_t clause_digest, object_digest;
  bool is_pinned;
  const char* fused_kernel;  // pinned-f32: the clause is the op table's own and no oracle's operation, but a part of this kernel; NULL = it isn't
} gate_t;

static const char* or_none(const char* text) { return text ? text : "none"; }

__attribute__((format(printf, 2, 3))) static void say(char reason[160], const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, 160, format, arguments);
  va_end(arguments);
}

// --- is a record valid? --------------------------------------------------------------------------------------------------------------------

// A check returns true if the record has the present identity, else says what differs.
typedef bool (*gate_check_t)(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]);

// Reads "<major>.<minor>.<patch>" and gives it as one number that grows with the version; false: there is no such text.
static bool read_version(const char* text, uint64_t* out_version) {
  *out_version = 0;
  for (int i = 0; i < 3; ++i) {
    if (*text < '0' || *text > '9') return false;
    char* end = NULL;
    unsigned long part = strtoul(text, &end, 10);
    if (part > 0xffff || (i < 2 && *end != '.')) return false;
    *out_version = *out_version << 16 | part;
    text = end + 1;
  }
  return true;
}

// "mlx-cuda-<version>..." before 0.32.4, whose qmm kernel overwrote its results now and then (lablup/mlxcel #923). No version: taken for an old one.
static bool reference_lacks_qmm_fix(const char* reference) {
  static const char prefix[] = "mlx-cuda-";
  static const uint64_t fixed = (uint64_t)0 << 32 | 32 << 16 | 4;
  uint64_t version = 0;
  if (strncmp(reference, prefix, sizeof(prefix) - 1) != 0) return false;
  return !read_version(reference + sizeof(prefix) - 1, &version) || version < fixed;
}

static bool check_qmm_fix(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  (void)gate;
  bool is_qmm =
      strcmp(record->op, mlxcel_op_class_name(MLXCEL_OP_QUANTIZED_MATMUL)) == 0 && strcmp(record->variant, mlxcel_op_variant_name(MLXCEL_VARIANT_QMM)) == 0;
  if (!is_qmm || !reference_lacks_qmm_fix(record->reference)) return true;
  say(reason, "%s is an MLX build without the fix #923 of qmm", record->reference);
  return false;
}

static bool check_device(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  if (strcmp(record->device, gate->identity->device) == 0) return true;
  say(reason, "the record is of device %s", record->device);
  return false;
}

static bool check_level(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  if (strcmp(record->cpu_level, gate->identity->cpu_level) == 0) return true;
  say(reason, "the record is of CPU level %s", record->cpu_level);
  return false;
}

static bool check_contract_version(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  if (record->contract_version == gate->identity->contract_version) return true;
  say(reason, "the record is of contract version %u, this is %u", record->contract_version, gate->identity->contract_version);
  return false;
}

static bool check_algorithm(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  const char* algorithm = or_none(gate->clause->algorithm);
  if (strcmp(record->algorithm, algorithm) == 0 && record->algorithm_version == gate->clause->algorithm_version) return true;
  say(reason, "the record is of algorithm %.40s version %u, this is %.40s version %u", record->algorithm, record->algorithm_version, algorithm,
      gate->clause->algorithm_version);
  return false;
}

static bool check_source(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  const char* source = or_none(gate->clause->source_digest);
  if (strcmp(record->source_digest, source) == 0) return true;
  say(reason, "the record is of kernel sources %.12s, this has %.12s", record->source_digest, source);
  return false;
}

static bool check_reference(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  const char* present = mlxcel_identity_reference(gate->identity, record->reference);
  if (present[0] && strcmp(record->reference_identity, present) == 0) return true;
  say(reason, "the reference %s was build %.12s, this version knows %.12s", record->reference, record->reference_identity, present[0] ? present : "none");
  return false;
}

static bool check_object(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  const char* present = gate->object_digest.text;
  bool has_source = strcmp(or_none(gate->clause->source_digest), "none") != 0;
  if (strcmp(record->object_digest.text, present) == 0 && (present[0] || !has_source)) return true;
  say(reason, "the record is of kernel object %.12s, this has %.12s", record->object_digest.text, present[0] ? present : "none");
  return false;
}

static bool check_compiler(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  const char* present = gate->identity->compiler.text;
  if (present[0] && strcmp(record->compiler_digest.text, present) == 0) return true;
  say(reason, "the record is of compiler %.12s, this is %.12s", record->compiler_digest.text, present[0] ? present : "unknown");
  return false;
}

static bool check_emitter(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  if (strcmp(record->emitter_digest.text, gate->identity->emitter.text) == 0) return true;
  say(reason, "the record is of emitter and compile flags %.12s, these are %.12s", record->emitter_digest.text, gate->identity->emitter.text);
  return false;
}

static bool check_host(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  if (strcmp(record->host.text, gate->identity->host.text) == 0) return true;
  say(reason, "the record was made on another machine (%.12s, this is %.12s)", record->host.text, gate->identity->host.text);
  return false;
}

static bool check_runtime(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160]) {
  if (strcmp(record->runtime_identity, gate->identity->runtime) == 0) return true;
  // Crate and version are the same more often than not, so the ends are told.
  size_t size = strlen(record->runtime_identity), present_size = strlen(gate->identity->runtime);
  say(reason, "the record is of runtime ...%s, this is ...%s", record->runtime_identity + (size > 12 ? size - 12 : 0),
      gate->identity->runtime + (present_size > 12 ? present_size - 12 : 0));
  return false;
}

// In the order in which differences are told: of several records, the one that fails latest is the nearest.
static const gate_check_t all_checks[] = {check_qmm_fix,   check_device, check_level, check_contract_version, check_algorithm, check_source,
                                          check_reference, check_object, check_host,  check_emitter,          check_compiler,  check_runtime};
// Records of the default profile travel with the program: objects, compiler, level and machine vary from build to build, and the self-check stands for them.
static const gate_check_t pinned_checks[] = {check_device, check_contract_version, check_algorithm, check_source, check_reference};
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

// How many checks |record| passes before the first that fails, and what that one says.
static size_t count_passed(const gate_t* gate, const mlxcel_evidence_t* record, char reason[160], bool* out_valid) {
  const gate_check_t* checks = gate->is_pinned ? pinned_checks : all_checks;
  size_t count = gate->is_pinned ? COUNT_OF(pinned_checks) : COUNT_OF(all_checks);
  size_t passed = 0;
  while (passed < count && checks[passed](gate, record, reason)) ++passed;
  *out_valid = passed == count;
  return passed;
}

// |record| is of this very clause, made by all that is here now, and holds nothing.
static bool record_disproves(const gate_t* gate, const mlxcel_evidence_t* record) {
  char ignored[160];
  if (record->claim != MLXCEL_CLAIM_NONE || strcmp(record->clause_digest.text, gate->clause_digest.text) != 0) return false;
  for (size_t i = 0; i < COUNT_OF(all_checks); ++i) {
    if (!all_checks[i](gate, record, ignored)) return false;
  }
  return true;
}

// --- is it about this clause, and enough? --------------------------------------------------------------------------------------------------

static bool same_edition(const gate_t* gate, const mlxcel_evidence_t* record) {
  char ignored[160];
  return check_contract_version(gate, record, ignored) && check_algorithm(gate, record, ignored) && check_source(gate, record, ignored);
}

static bool same_names(const gate_t* gate, const mlxcel_evidence_t* record) {
  const mlxcel_clause_t* clause = gate->clause;
  return strcmp(record->op, mlxcel_op_class_name(clause->op)) == 0 && strcmp(record->variant, mlxcel_op_variant_name(clause->variant)) == 0 &&
         strcmp(record->operand_dtype, or_none(clause->operand_dtype)) == 0;
}

// Records of the clause, or of what it was in another edition of contract or kernels. (Clauses of one edition may agree in op, variant and dtypes: then the
// digest tells them apart.) Under pinned-f32 the storage may be another of the same kind, and a fused part stands on the records of its kernel.
static bool record_concerns(const gate_t* gate, const mlxcel_evidence_t* record) {
  if (strcmp(record->profile, gate->profile->name) != 0) return false;
  if (gate->is_pinned && gate->fused_kernel) return strcmp(record->algorithm, gate->fused_kernel) == 0;
  if (!same_names(gate, record)) return false;
  if (gate->is_pinned) {
    if (!mlxcel_pinned_same_storage_kind(record->source_dtype, or_none(gate->clause->source_dtype))) return false;
    return !same_edition(gate, record) || mlxcel_pinned_digest_matches(gate->clause, record->source_dtype, &record->clause_digest);
  }
  if (strcmp(record->source_dtype, or_none(gate->clause->source_dtype)) != 0) return false;
  return strcmp(record->clause_digest.text, gate->clause_digest.text) == 0 || !same_edition(gate, record);
}

static bool starts_with(const char* text, const char* prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

// What MLX computes on one kind of device says nothing of another.
static bool reference_fits_device(const char* reference, const char* device) {
  if (starts_with(reference, "mlx-cpu-")) return starts_with(device, "local-");
  if (starts_with(reference, "mlx-cuda-")) return starts_with(device, "cuda");
  return starts_with(reference, "mlx-metal-") && starts_with(device, "metal");
}

static bool extent_is_enough(const mlxcel_evidence_t* record) { return record->repeats >= MLXCEL_EVIDENCE_REPEATS_MIN && record->output_count > 0; }

static bool claim_is_enough(const gate_t* gate, const mlxcel_evidence_t* record) {
  if (gate->is_pinned) return record->claim == MLXCEL_CLAIM_CANONICAL && strcmp(record->reference, MLXCEL_DECLARED_REFERENCE) == 0;
  return record->claim == MLXCEL_CLAIM_PRODUCTION && gate->profile->reference && strcmp(record->reference, gate->profile->reference) == 0 &&
         reference_fits_device(record->reference, gate->identity->device);
}

static void claim_needed(const gate_t* gate, char buffer[96]) {
  mlxcel_claim_text(gate->is_pinned ? MLXCEL_CLAIM_CANONICAL : MLXCEL_CLAIM_PRODUCTION, or_none(gate->profile->reference), buffer);
}

// --- verdicts ------------------------------------------------------------------------------------------------------------------------------

// Why |best|, which is valid, isn't enough.
static void say_too_little(const gate_t* gate, const mlxcel_evidence_t* best, mlxcel_gate_verdict_t* verdict) {
  char needed[96];
  claim_needed(gate, needed);
  if (best->claim == MLXCEL_CLAIM_NONE) {
    say(verdict->reason, "the last run found mismatches: nothing was earned where %s is needed", needed);
  } else if (!claim_is_enough(gate, best)) {
    say(verdict->reason, "%s is less than %s on %s", verdict->claim, needed, gate->identity->device);
  } else {
    say(verdict->reason, "the record is of %u calls and %" PRIu64 " outputs, %u calls and an output are needed", best->repeats, best->output_count,
        MLXCEL_EVIDENCE_REPEATS_MIN);
  }
}

static void judge_records(const gate_t* gate, const mlxcel_evidence_list_t* evidence, mlxcel_gate_verdict_t* verdict) {
  const mlxcel_evidence_t* best = NULL;
  bool has_enough = false, has_any = false, has_stale = false, is_disproved = false;
  size_t nearest = 0;
  for (size_t i = 0; i < evidence->count; ++i) {
    const mlxcel_evidence_t* record = &evidence->items[i];
    is_disproved |= record_disproves(gate, record);
    if (!record_concerns(gate, record)) continue;
    char reason[160] = "";
    bool valid = false;
    size_t passed = count_passed(gate, record, reason, &valid);
    bool enough = valid && claim_is_enough(gate, record) && extent_is_enough(record);
    if (valid && (!best || (enough && !has_enough) || (enough == has_enough && record->claim > best->claim))) best = record;
    has_enough |= enough;
    if (!valid && (!has_stale || passed > nearest)) {
      has_stale = true;
      nearest = passed;
      verdict->compiler_differs = !gate->is_pinned && all_checks[passed] == check_compiler;
      memcpy(verdict->reason, reason, sizeof(reason));
    }
    has_any = true;
  }
  if (is_disproved) {
    verdict->state = MLXCEL_GATE_CLOSED;
    mlxcel_claim_text(MLXCEL_CLAIM_NONE, "", verdict->claim);
    say(verdict->reason, "the last run found mismatches");
    return;
  }
  verdict->state = has_enough ? MLXCEL_GATE_OPEN : has_any && !best ? MLXCEL_GATE_STALE : MLXCEL_GATE_CLOSED;
  mlxcel_claim_text(best ? best->claim : MLXCEL_CLAIM_NONE, best ? best->reference : "", verdict->claim);
  if (verdict->state == MLXCEL_GATE_STALE) return;
  verdict->is_inferred = best && strcmp(best->clause_digest.text, gate->clause_digest.text) != 0;
  verdict->compiler_differs = false;
  verdict->reason[0] = 0;
  if (best && !has_enough) say_too_little(gate, best, verdict);
  if (!best) say(verdict->reason, "no record");
}

// A pinned kernel's object is bound to its records by the sources alone.
static bool source_is_foreign(const gate_t* gate) {
  return gate->is_pinned && strcmp(or_none(gate->clause->source_digest), gate->identity->pinned_source.text) != 0;
}

// What no record opens.
static void judge_profile(const gate_t* gate, mlxcel_gate_verdict_t* verdict) {
  const char* representable = gate->clause->representable;
  const char* no = NULL;
  if (!representable || strcmp(representable, "yes") != 0) {
    verdict->state = MLXCEL_GATE_CLOSED;
    const char* what = representable && starts_with(representable, "no:") ? representable + 3 : or_none(representable);
    say(verdict->reason, "can't be expressed, so can't be qualified: %s", what);
    return;
  }
  if (source_is_foreign(gate)) {
    no = "the clause isn't about the kernels of this build";
  } else if (gate->profile->is_declared_only) {
    no = "declared only: nothing is emitted for this profile";
  } else if (!gate->is_pinned && !gate->profile->reference) {
    no = "no production claim: the profile has no production reference of its own";
  }
  if (!no || verdict->state == MLXCEL_GATE_STALE) return;
  verdict->state = MLXCEL_GATE_CLOSED;
  say(verdict->reason, "%s", no);
}

iree_status_t mlxcel_gate_judge(const mlxcel_profile_t* profile, const mlxcel_clause_t* clause, const mlxcel_identity_t* identity,
                                const mlxcel_evidence_list_t* evidence, mlxcel_gate_verdict_t* out_verdict) {
  memset(out_verdict, 0, sizeof(*out_verdict));
  gate_t gate = {.profile = profile, .clause = clause, .identity = identity};
  gate.is_pinned = strcmp(profile->name, MLXCEL_PROFILE_PINNED_F32) == 0;
  gate.object_digest = mlxcel_identity_object(identity, clause);
  IREE_RETURN_IF_ERROR(mlxcel_clause_digest(clause, &gate.clause_digest));
  if (gate.is_pinned) {
    IREE_RETURN_IF_ERROR(mlxcel_pinned_fused_kernel(clause, identity->pinned_source.text, &gate.fused_kernel));
  }
  judge_records(&gate, evidence, out_verdict);
  judge_profile(&gate, out_verdict);
  return iree_ok_status();
}
