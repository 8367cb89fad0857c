// case_coverage.h: cases that the op table asks for: one small operation for every clause of profile mlx-cpu-0.32.4 that no hand-made case has, so that a model
// of any storage that the profile defines can be qualified.
#ifndef MLXCEL_ORACLE_CASE_COVERAGE_H_
#define MLXCEL_ORACLE_CASE_COVERAGE_H_

#include "contract/contract_parse.h"
#include "oracle/oracle_cases.h"

// Calls |add| with an operation of class |op| for every clause of the profile that |cases| lack.
typedef void (*mlxcel_oracle_coverage_add_fn_t)(void* user_data, const mlxcel_operation_t* operation);
iree_status_t mlxcel_oracle_coverage_visit(const mlxcel_oracle_cases_t* cases, mlxcel_op_class_t op, mlxcel_oracle_coverage_add_fn_t add, void* user_data);

// Calls |visit| with the contract of every case of |cases| that |profile| runs and that |is_selected| says no to: what a run of the others leaves unshown.
typedef bool (*mlxcel_oracle_selected_fn_t)(const void* user_data, const mlxcel_oracle_case_t* item);
typedef iree_status_t (*mlxcel_oracle_contract_fn_t)(void* user_data, const mlxcel_profile_t* profile, const mlxcel_parsed_contract_t* contract);
iree_status_t mlxcel_oracle_coverage_unselected(const mlxcel_oracle_cases_t* cases, const mlxcel_profile_t* profile, mlxcel_oracle_selected_fn_t is_selected,
                                                const void* selection, mlxcel_oracle_contract_fn_t visit, void* user_data);

#endif  // MLXCEL_ORACLE_CASE_COVERAGE_H_
