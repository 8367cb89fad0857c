// oracle_cases.h: what micro-oracles run: classes of operations, each a list of shapes and dtypes. Shapes are those of real models (SmolLM2, Llama, Gemma3n),
// odd widths, widths that aren't a multiple of 16, one row and many; a class has at least MLXCEL_ORACLE_OUTPUTS_MIN outputs for every profile and dtype that
// has it.
#ifndef MLXCEL_ORACLE_ORACLE_CASES_H_
#define MLXCEL_ORACLE_ORACLE_CASES_H_

#include "contract/profiles.h"

#define MLXCEL_ORACLE_OUTPUTS_MIN 10000u  // outputs of one (class, profile, dtype, device) over its shapes: below it, rare roundings go unseen

typedef struct mlxcel_oracle_case_t {
  const char* class_name;  // "q4-qmv"; static
  size_t index;            // within its class: what `oracle explain --case` takes
  mlxcel_operation_t operation;
  bool for_evidence;  // one of many storages that differ in their unpacking only: run where evidence is asked clause by clause
} mlxcel_oracle_case_t;

typedef struct mlxcel_oracle_cases_t {
  size_t count, capacity;
  mlxcel_oracle_case_t* items;  // class by class
} mlxcel_oracle_cases_t;

iree_status_t mlxcel_oracle_cases_make(mlxcel_oracle_cases_t* out_cases);
void mlxcel_oracle_cases_deinitialize(mlxcel_oracle_cases_t* cases);

// Names of the classes in order; NULL behind the last.
const char* mlxcel_oracle_class_at(size_t index);
bool mlxcel_oracle_class_is_known(iree_string_view_t name);

// |operation| as |profile| runs it: a profile that tells few rows from many gets variant qmv or qmm. false: the profile doesn't define it (or a part of it).
bool mlxcel_oracle_profile_defines(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_operation_t* out_operation);
// The same of a case; false also for a case that only evidence needs, under a profile whose evidence isn't asked clause by clause (one without a production
// reference).
bool mlxcel_oracle_profile_runs(const mlxcel_profile_t* profile, const mlxcel_oracle_case_t* item, mlxcel_operation_t* out_operation);

// Elements of the result; 0 if the operation is malformed.
uint64_t mlxcel_oracle_output_count(const mlxcel_operation_t* operation);

// The operations whose clauses make up |operation|: itself, or the parts of a composition. At most MLXCEL_ORACLE_PARTS_MAX.
#define MLXCEL_ORACLE_PARTS_MAX 6
size_t mlxcel_oracle_operation_parts(const mlxcel_operation_t* operation, mlxcel_operation_t out_parts[MLXCEL_ORACLE_PARTS_MAX]);

#endif  // MLXCEL_ORACLE_ORACLE_CASES_H_
