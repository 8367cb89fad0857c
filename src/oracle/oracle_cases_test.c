// The table of cases: every class is there, every row has enough outputs, every case fits its class.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/oracle_cases.h"

static mlxcel_oracle_cases_t cases;

static int make_cases(void** state) {
  (void)state;
  iree_status_t status = mlxcel_oracle_cases_make(&cases);
  bool ok = iree_status_is_ok(status);
  iree_status_free(status);
  return ok ? 0 : -1;
}

static int drop_cases(void** state) {
  (void)state;
  mlxcel_oracle_cases_deinitialize(&cases);
  return 0;
}

static void every_class_of_operations_has_cases(void** state) {
  (void)state;
  static const char* const wanted[] = {"q4-qmv",     "q4-qmm",       "dense-matmul", "layer-norm", "rms-norm",        "activation-projection",
                                       "activation", "residual-add", "softmax",      "attention",  "cumulative-norm", "sscp-conv",
                                       "rope",       "dequantize",   "prefix-scan",  "embedding",  "kv-store"};
  for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); ++i) {
    assert_true(mlxcel_oracle_class_is_known(iree_make_cstring_view(wanted[i])));
    size_t count = 0;
    for (size_t k = 0; k < cases.count; ++k) count += strcmp(cases.items[k].class_name, wanted[i]) == 0;
    assert_true(count >= 3);
  }
  assert_false(mlxcel_oracle_class_is_known(IREE_SV("q4")));
}

static void every_case_fits_its_class_and_is_numbered_within_it(void** state) {
  (void)state;
  const char* class_name = NULL;
  size_t next = 0;
  for (size_t i = 0; i < cases.count; ++i) {
    const mlxcel_oracle_case_t* item = &cases.items[i];
    if (class_name != item->class_name) next = 0;
    class_name = item->class_name;
    assert_int_equal(item->index, next++);
    mlxcel_operand_t operands[MLXCEL_OPERANDS_MAX];
    size_t count = 0;
    for (int with_tables = 0; with_tables < 2; ++with_tables) {
      iree_status_t status = mlxcel_operation_operands(&item->operation, with_tables, operands, &count);
      if (!iree_status_is_ok(status)) iree_status_fprint(stderr, status);
      assert_true(iree_status_is_ok(status));
      assert_true(count > 0);
    }
    assert_true(mlxcel_oracle_output_count(&item->operation) > 0);
  }
}

// Of one class, profile and dtype.
static uint64_t outputs_of(const char* class_name, const mlxcel_profile_t* profile, mlxcel_dtype_t dtype) {
  uint64_t outputs = 0;
  for (size_t i = 0; i < cases.count; ++i) {
    const mlxcel_oracle_case_t* item = &cases.items[i];
    mlxcel_operation_t operation;
    if (strcmp(item->class_name, class_name) != 0 || item->operation.dtype != dtype) continue;
    if (mlxcel_oracle_profile_runs(profile, item, &operation)) outputs += mlxcel_oracle_output_count(&operation);
  }
  return outputs;
}

static void every_row_that_a_profile_defines_has_ten_thousand_outputs(void** state) {
  (void)state;
  const mlxcel_profile_t* profile;
  size_t rows = 0;
  for (size_t p = 0; (profile = mlxcel_profile_at(p)) != NULL; ++p) {
    const char* class_name;
    for (size_t c = 0; (class_name = mlxcel_oracle_class_at(c)) != NULL; ++c) {
      for (int dtype = MLXCEL_DTYPE_F32; dtype <= MLXCEL_DTYPE_BF16; ++dtype) {
        uint64_t outputs = outputs_of(class_name, profile, (mlxcel_dtype_t)dtype);
        if (outputs == 0) continue;
        if (outputs < MLXCEL_ORACLE_OUTPUTS_MIN)
          print_error("%s %s %s: %" PRIu64 "\n", class_name, profile->name, mlxcel_dtype_name((mlxcel_dtype_t)dtype), outputs);
        assert_true(outputs >= MLXCEL_ORACLE_OUTPUTS_MIN);
        ++rows;
      }
    }
  }
  assert_true(rows > 60);
}

static void the_mlx_profile_defines_every_class_in_all_three_dtypes(void** state) {
  (void)state;
  const mlxcel_profile_t* profile = mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_MLX_CPU));
  const char* class_name;
  for (size_t c = 0; (class_name = mlxcel_oracle_class_at(c)) != NULL; ++c) {
    for (int dtype = MLXCEL_DTYPE_F32; dtype <= MLXCEL_DTYPE_BF16; ++dtype) assert_true(outputs_of(class_name, profile, (mlxcel_dtype_t)dtype) > 0);
  }
}

static void a_profile_that_tells_few_rows_from_many_gets_its_variant(void** state) {
  (void)state;
  const mlxcel_profile_t* profile = mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_MLX_CUDA_SM80));
  mlxcel_operation_t operation = {.op = MLXCEL_OP_QUANTIZED_MATMUL,
                                  .dtype = MLXCEL_DTYPE_BF16,
                                  .weight_dtype = MLXCEL_DTYPE_BF16,
                                  .bias_dtype = MLXCEL_DTYPE_BF16,
                                  .bits = 4,
                                  .group_size = 64,
                                  .rows = 7,
                                  .in_features = 256,
                                  .out_features = 128};
  mlxcel_operation_t adapted;
  assert_true(mlxcel_oracle_profile_defines(profile, &operation, &adapted));
  assert_int_equal(adapted.variant, MLXCEL_VARIANT_QMV);
  operation.rows = 8;
  assert_true(mlxcel_oracle_profile_defines(profile, &operation, &adapted));
  assert_int_equal(adapted.variant, MLXCEL_VARIANT_QMM);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_class_of_operations_has_cases),
      cmocka_unit_test(every_case_fits_its_class_and_is_numbered_within_it),
      cmocka_unit_test(every_row_that_a_profile_defines_has_ten_thousand_outputs),
      cmocka_unit_test(the_mlx_profile_defines_every_class_in_all_three_dtypes),
      cmocka_unit_test(a_profile_that_tells_few_rows_from_many_gets_its_variant),
  };
  return cmocka_run_group_tests_name("oracle cases", tests, make_cases, drop_cases);
}
