// Reports: the JSON has exactly the agreed keys, values that JSON can't hold are text, and rows sum up what belongs together.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/report.h"

static mlxcel_oracle_report_t* add(mlxcel_oracle_reports_t* reports, const char* device, bool passes, mlxcel_claim_t strongest) {
  mlxcel_oracle_report_t* report;
  assert_true(iree_status_is_ok(mlxcel_oracle_reports_add(reports, &report)));
  report->class_name = "softmax";
  report->profile = mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_MLX_CPU));
  report->dtype = report->weight_dtype = report->result_dtype = MLXCEL_DTYPE_BF16;
  snprintf(report->device, sizeof(report->device), "%s", device);
  snprintf(report->shape, sizeof(report->shape), "x=[2,3]");
  report->was_run = true;
  report->passes = passes;
  report->claim_asked = MLXCEL_CLAIM_PRODUCTION;
  report->claims.strongest = strongest;
  report->outputs = 6;
  report->has_comparison = true;
  report->comparison.outputs = 6;
  return report;
}

static void make(mlxcel_oracle_reports_t* reports) {
  memset(reports, 0, sizeof(*reports));
  add(reports, "local-sync", true, MLXCEL_CLAIM_PRODUCTION);
  mlxcel_oracle_report_t* bad = add(reports, "local-task", false, MLXCEL_CLAIM_NONE);
  bad->comparison.mismatches = 2;
  bad->comparison.max_abs = INFINITY;
  bad->comparison.rms = 0.25;
  bad->comparison.first = (mlxcel_divergence_t){
      .index = 4, .rank = 2, .coordinate = {1, 1}, .reference = 1.0, .candidate = NAN, .reference_bits = 0x3f80, .candidate_bits = 0x7fc0, .ulp = UINT64_MAX};
  add(reports, "local-task", true, MLXCEL_CLAIM_PRODUCTION);
}

static void every_report_has_exactly_the_agreed_keys(void** state) {
  (void)state;
  static const char* const keys[] = {"class",
                                     "case",
                                     "profile",
                                     "variant",
                                     "dtype",
                                     "weight_dtype",
                                     "shape",
                                     "device",
                                     "contract_version",
                                     "contract_fingerprint",
                                     "claim_asked",
                                     "claim_earned",
                                     "reason",
                                     "passes",
                                     "run",
                                     "outputs",
                                     "mismatches",
                                     "first_divergence",
                                     "max_abs",
                                     "rms",
                                     "decomposition_mismatches",
                                     "repeats",
                                     "repeats_agree",
                                     "seed",
                                     "operands",
                                     "reference",
                                     "candidate",
                                     "compile_seconds",
                                     "run_seconds",
                                     "bytes_transferred",
                                     "peak_memory_bytes",
                                     "command_line"};
  mlxcel_oracle_reports_t reports;
  make(&reports);
  json_t* list = mlxcel_oracle_reports_to_json(&reports);
  assert_int_equal(json_array_size(list), 3);
  for (size_t i = 0; i < 3; ++i) {
    const json_t* report = json_array_get(list, i);
    assert_int_equal(json_object_size(report), sizeof(keys) / sizeof(keys[0]));
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); ++k) assert_non_null(json_object_get(report, keys[k]));
  }
  json_decref(list);
  mlxcel_oracle_reports_deinitialize(&reports);
}

static void a_divergence_is_written_with_place_bits_and_values(void** state) {
  (void)state;
  mlxcel_oracle_reports_t reports;
  make(&reports);
  json_t* list = mlxcel_oracle_reports_to_json(&reports);
  const json_t* report = json_array_get(list, 1);
  const json_t* first = json_object_get(report, "first_divergence");
  assert_int_equal(json_integer_value(json_object_get(first, "index")), 4);
  assert_int_equal(json_array_size(json_object_get(first, "coordinate")), 2);
  assert_string_equal(json_string_value(json_object_get(first, "reference_bits")), "0x3f80");
  assert_string_equal(json_string_value(json_object_get(first, "candidate")), "nan");
  assert_true(json_is_null(json_object_get(first, "ulp")));
  assert_string_equal(json_string_value(json_object_get(report, "max_abs")), "inf");
  assert_string_equal(json_string_value(json_object_get(report, "claim_asked")), "production-mlx@mlx-cpu-0.32.4");
  assert_string_equal(json_string_value(json_object_get(report, "claim_earned")), "none");
  assert_true(json_is_null(json_object_get(json_array_get(list, 0), "first_divergence")));
  assert_true(json_is_null(json_object_get(report, "reference")));
  json_decref(list);
  mlxcel_oracle_reports_deinitialize(&reports);
}

static void rows_join_the_cases_of_one_device_and_show_the_worst(void** state) {
  (void)state;
  mlxcel_oracle_reports_t reports;
  make(&reports);
  size_t count = 0;
  mlxcel_oracle_row_t* rows = NULL;
  assert_true(iree_status_is_ok(mlxcel_oracle_rows_make(&reports, &count, &rows)));
  assert_int_equal(count, 2);
  assert_int_equal(rows[0].cases, 1);
  assert_int_equal(rows[0].failed_cases, 0);
  assert_int_equal(rows[1].cases, 2);
  assert_int_equal(rows[1].failed_cases, 1);
  assert_int_equal(rows[1].outputs, 12);
  assert_int_equal(rows[1].mismatches, 2);
  assert_ptr_equal(rows[1].worst, &reports.items[1]);
  assert_false(mlxcel_oracle_reports_pass(&reports));
  free(rows);
  mlxcel_oracle_reports_deinitialize(&reports);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_report_has_exactly_the_agreed_keys),
      cmocka_unit_test(a_divergence_is_written_with_place_bits_and_values),
      cmocka_unit_test(rows_join_the_cases_of_one_device_and_show_the_worst),
  };
  return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
