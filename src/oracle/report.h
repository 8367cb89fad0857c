// report.h: what micro-oracles found, one report a case, profile and device; as JSON, and summed up in rows for people.
#ifndef MLXCEL_ORACLE_REPORT_H_
#define MLXCEL_ORACLE_REPORT_H_

#include <jansson.h>

#include "oracle/claims.h"
#include "oracle/mlx_reference.h"
#include "oracle/operands.h"

// The candidate's identity.
typedef struct mlxcel_report_candidate_t {
  char compiler[208], target[64], runtime[96], cpu_level[8];
  char kernel[192];  // algorithms of the module's clauses, '+'-separated
  mlxcel_sha256_hex_t compiler_digest, vmfb_digest, artifact_key;
  bool is_altered;  // by a mutation option
} mlxcel_report_candidate_t;

typedef struct mlxcel_report_operand_t {
  const char* name;  // static
  mlxcel_sha256_hex_t digest;
} mlxcel_report_operand_t;

typedef struct mlxcel_oracle_report_t {
  const char* class_name;  // static
  size_t case_index;
  const mlxcel_profile_t* profile;
  mlxcel_dtype_t dtype, weight_dtype, result_dtype;
  char variant[32], shape[256], device[32];
  uint32_t contract_version;
  mlxcel_sha256_hex_t contract_fingerprint;
  bool was_run;
  bool passes;  // earned what was asked, or isn't expected to run at all
  mlxcel_claim_t claim_asked;
  mlxcel_claims_t claims;  // reason also says why it wasn't run
  uint64_t seed, outputs;
  uint32_t repeats;
  bool repeats_agree;
  bool has_comparison, has_decomposition;
  mlxcel_comparison_t comparison;     // with the reference
  mlxcel_comparison_t decomposition;  // with the declared decomposition
  char reference_build[64];           // of the MLX that took part, as claims against it must name it; "" without one
  double compile_seconds, run_seconds;
  uint64_t bytes_transferred, peak_memory_bytes;
  size_t operand_count;
  mlxcel_report_operand_t operands[MLXCEL_OPERANDS_MAX];
  mlxcel_report_candidate_t candidate;
} mlxcel_oracle_report_t;

typedef struct mlxcel_oracle_reports_t {
  size_t count, capacity;
  mlxcel_oracle_report_t* items;
  bool has_reference;
  mlxcel_reference_identity_t reference;
  char reference_missing[512];  // why there is none
  char command_line[1024];
  char record_note[512];     // why the run leaves no records, or fewer than clauses; "" = it was complete, or none were asked for
  char record_failure[512];  // why records couldn't be written; ""
} mlxcel_oracle_reports_t;

// A new zeroed report at the end of the list, valid until the next one.
iree_status_t mlxcel_oracle_reports_add(mlxcel_oracle_reports_t* reports, mlxcel_oracle_report_t** out_report);
void mlxcel_oracle_reports_deinitialize(mlxcel_oracle_reports_t* reports);
bool mlxcel_oracle_reports_pass(const mlxcel_oracle_reports_t* reports);

// A JSON array, one object a report. Numbers that aren't finite are the strings "nan", "inf" and "-inf". NULL if memory ran out.
json_t* mlxcel_oracle_reports_to_json(const mlxcel_oracle_reports_t* reports);

// Reports of one class, profile, dtype and device together.
typedef struct mlxcel_oracle_row_t {
  const mlxcel_oracle_report_t* first;  // of the row
  const mlxcel_oracle_report_t* worst;  // the one with the weakest claim
  size_t cases, failed_cases;
  uint64_t outputs, mismatches;
  bool was_run;
} mlxcel_oracle_row_t;
iree_status_t mlxcel_oracle_rows_make(const mlxcel_oracle_reports_t* reports, size_t* out_count, mlxcel_oracle_row_t** out_rows);

// The text of the claim that the report's profile asks for.
void mlxcel_oracle_asked_text(const mlxcel_oracle_report_t* report, char buffer[96]);
// The text of the strongest claim that was earned, with the build that was compared with.
void mlxcel_oracle_earned_text(const mlxcel_oracle_report_t* report, char buffer[96]);

#endif  // MLXCEL_ORACLE_REPORT_H_
