// Whole runs of one small class: what MLX computes is earned, what was altered isn't, and evidence tells them apart. Needs the compiler and the MLX reference.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/log.h"
#include "oracle/explain.h"
#include "oracle/oracle_run.h"

static const char* const classes[] = {"residual-add"};
static char *work_folder, *cache_folder, *evidence_folder;

static int make_folders(void** state) {
  (void)state;
  bool ok = iree_status_is_ok(mlxcel_directory_create_temporary("/tmp", "mlxcel-oracle-", &work_folder)) &&
            iree_status_is_ok(mlxcel_path_join(work_folder, IREE_SV("cache"), &cache_folder)) &&
            iree_status_is_ok(mlxcel_path_join(work_folder, IREE_SV("evidence"), &evidence_folder));
  return ok ? 0 : -1;
}

static int remove_folders(void** state) {
  (void)state;
  iree_status_free(mlxcel_directory_remove(work_folder));
  free(work_folder);
  free(cache_folder);
  free(evidence_folder);
  return 0;
}

static mlxcel_oracle_options_t options_of(const char* profile) {
  mlxcel_oracle_options_t options;
  mlxcel_oracle_options_initialize(&options);
  options.class_count = 1;
  options.classes = classes;
  options.profile = profile;
  options.dtype = "bf16";
  options.repeats = 3;
  options.cache_folder = cache_folder;
  options.evidence_folder = evidence_folder;
  return options;
}

static size_t record_count(void) {
  mlxcel_evidence_list_t list;
  assert_true(iree_status_is_ok(mlxcel_evidence_read(evidence_folder, &list)));
  size_t count = list.count;
  mlxcel_evidence_list_deinitialize(&list);
  return count;
}

static void run(const mlxcel_oracle_options_t* options, mlxcel_oracle_reports_t* reports) {
  iree_status_t status = mlxcel_oracle_run(options, reports);
  if (!iree_status_is_ok(status)) iree_status_fprint(stderr, status);
  assert_true(iree_status_is_ok(status));
}

static void an_altered_module_earns_nothing_and_records_nothing(void** state) {
  (void)state;
  mlxcel_oracle_reports_t reports;
  mlxcel_oracle_options_t options = options_of(MLXCEL_PROFILE_IREE_CANONICAL);
  options.mutation = "arith.addf=>arith.subf";
  run(&options, &reports);
  assert_int_equal(reports.count, 6);  // three shapes, two devices
  for (size_t i = 0; i < reports.count; ++i) {
    assert_true(reports.items[i].was_run && reports.items[i].candidate.is_altered);
    assert_int_equal(reports.items[i].claims.strongest, MLXCEL_CLAIM_NONE);
    assert_true(reports.items[i].comparison.mismatches > 0);
  }
  assert_false(mlxcel_oracle_reports_pass(&reports));
  assert_int_equal(record_count(), 0);
  mlxcel_oracle_reports_deinitialize(&reports);
}

static void a_mutation_that_misses_is_an_error(void** state) {
  (void)state;
  mlxcel_oracle_reports_t reports;
  mlxcel_oracle_options_t options = options_of(MLXCEL_PROFILE_IREE_CANONICAL);
  options.mutation = "no such text=>anything";
  iree_status_t status = mlxcel_oracle_run(&options, &reports);
  assert_true(iree_status_is_invalid_argument(status));
  iree_status_free(status);
}

static void a_single_case_records_nothing(void** state) {
  (void)state;
  mlxcel_oracle_reports_t reports;
  mlxcel_oracle_options_t options = options_of(MLXCEL_PROFILE_MLX_CPU);
  options.case_index = 7;  // of dtype bf16
  options.device = "local-sync";
  run(&options, &reports);
  assert_int_equal(reports.count, 1);
  assert_true(mlxcel_oracle_reports_pass(&reports));
  assert_int_equal(record_count(), 0);
  mlxcel_oracle_reports_deinitialize(&reports);
}

static void what_equals_mlx_earns_production_and_is_recorded_for_each_device(void** state) {
  (void)state;
  mlxcel_oracle_reports_t reports;
  mlxcel_oracle_options_t options = options_of(MLXCEL_PROFILE_MLX_CPU);
  run(&options, &reports);
  assert_int_equal(reports.count, 6);
  for (size_t i = 0; i < reports.count; ++i) {
    assert_true(reports.items[i].repeats_agree);
    assert_int_equal(reports.items[i].comparison.mismatches, 0);
    assert_int_equal(reports.items[i].claims.strongest, MLXCEL_CLAIM_PRODUCTION);
  }
  assert_true(mlxcel_oracle_reports_pass(&reports));
  assert_int_equal(record_count(), 2);
  mlxcel_oracle_reports_deinitialize(&reports);
}

static void a_run_that_lacks_cases_of_a_clause_records_nothing_of_it(void** state) {
  (void)state;
  static const char* const stores[] = {"kv-store"};  // the clause is one of class rope too
  mlxcel_oracle_reports_t reports;
  mlxcel_oracle_options_t options = options_of(MLXCEL_PROFILE_MLX_CPU);
  options.classes = stores;
  size_t before = record_count();
  run(&options, &reports);
  assert_true(reports.count > 0);
  assert_int_equal(record_count(), before);
  assert_non_null(strstr(reports.record_note, "clauses got no record"));
  mlxcel_oracle_reports_deinitialize(&reports);
}

static void too_few_calls_record_nothing(void** state) {
  (void)state;
  mlxcel_oracle_reports_t reports;
  mlxcel_oracle_options_t options = options_of(MLXCEL_PROFILE_MLX_CPU);
  size_t before = record_count();
  options.dtype = "f16";
  options.repeats = 2;
  run(&options, &reports);
  assert_true(mlxcel_oracle_reports_pass(&reports));
  assert_int_equal(record_count(), before);
  assert_non_null(strstr(reports.record_note, "2 calls"));
  mlxcel_oracle_reports_deinitialize(&reports);
}

static void an_evidence_folder_below_a_file_ends_the_run_before_it_compiles(void** state) {
  (void)state;
  char* path = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(work_folder, IREE_SV("file"), &path)));
  assert_true(iree_status_is_ok(mlxcel_file_publish(path, "x", 1)));
  mlxcel_oracle_reports_t reports;
  mlxcel_oracle_options_t options = options_of(MLXCEL_PROFILE_MLX_CPU);
  options.evidence_folder = path;
  options.compiler = "/no/such/compiler";  // would fail every case, and isn't asked for
  iree_status_t status = mlxcel_oracle_run(&options, &reports);
  assert_false(iree_status_is_ok(status));
  char text[1024];
  mlxcel_status_text(status, text, sizeof(text));
  assert_non_null(strstr(text, "--no-evidence"));
  iree_status_free(status);
  free(path);
}

static void an_explanation_ends_at_the_bits_of_both_sides(void** state) {
  (void)state;
  mlxcel_oracle_options_t options = options_of(MLXCEL_PROFILE_IREE_CANONICAL);
  options.case_index = 7;
  mlxcel_strbuf_t text;
  mlxcel_strbuf_initialize(&text);
  iree_status_t status = mlxcel_oracle_explain(&options, -1, &text);
  if (!iree_status_is_ok(status)) iree_status_fprint(stderr, status);
  assert_true(iree_status_is_ok(status));
  assert_non_null(strstr(text.data, "<- first difference"));  // a subnormal, which IREE flushes
  assert_null(strstr(text.data, "NOT"));
  mlxcel_strbuf_deinitialize(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_altered_module_earns_nothing_and_records_nothing),
      cmocka_unit_test(a_mutation_that_misses_is_an_error),
      cmocka_unit_test(a_single_case_records_nothing),
      cmocka_unit_test(what_equals_mlx_earns_production_and_is_recorded_for_each_device),
      cmocka_unit_test(a_run_that_lacks_cases_of_a_clause_records_nothing_of_it),
      cmocka_unit_test(too_few_calls_record_nothing),
      cmocka_unit_test(an_evidence_folder_below_a_file_ends_the_run_before_it_compiles),
      cmocka_unit_test(an_explanation_ends_at_the_bits_of_both_sides),
  };
  return cmocka_run_group_tests_name("oracle run", tests, make_folders, remove_folders);
}
