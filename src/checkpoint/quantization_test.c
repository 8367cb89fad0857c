#include "checkpoint/quantization.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/limits.h"
#include "checkpoint/checkpoint_test_util.h"

// |out_table| is to be freed only after success.
static iree_status_t parse(const char* text, mlxcel_quantization_table_t* out_table) {
  json_t* object = json_loads(text, 0, NULL);
  assert_non_null(object);
  iree_status_t status = mlxcel_quantization_table_parse(object, "config.json", out_table);
  if (!iree_status_is_ok(status)) mlxcel_quantization_table_deinitialize(out_table);
  json_decref(object);
  return status;
}

static void expect_lookup(const mlxcel_quantization_table_t* table, const char* path, uint32_t bits, uint32_t group_size) {
  mlxcel_quantization_t value = mlxcel_quantization_table_lookup(table, iree_make_cstring_view(path));
  assert_int_equal(value.bits, bits);
  assert_int_equal(value.group_size, group_size);
}

static void quantization_looks_up_overrides_by_full_path(void** state) {
  (void)state;
  char* text = NULL;
  size_t size = 0;
  expect_ok(mlxcel_file_read(MLXCEL_TEST_DATA_DIR "/config/mlx_mixed.json", MLXCEL_CONFIG_FILE_BYTES_MAX, &text, &size));
  mlxcel_quantization_table_t table;
  expect_ok(parse(text, &table));
  free(text);
  assert_true(table.present);
  assert_int_equal(table.override_count, 4);
  expect_lookup(&table, "model.layers.0.mlp.down_proj", 6, 128);
  expect_lookup(&table, "model.embed_tokens", 0, 0);
  expect_lookup(&table, "lm_head", 8, 32);
  expect_lookup(&table, "model.layers.0.self_attn.q_proj", 4, 64);
  expect_lookup(&table, "model.layers.0.mlp.up_proj", 4, 64);
  expect_lookup(&table, "model.layers.1.mlp.down_proj", 4, 64);
  expect_lookup(&table, "mlp.down_proj", 4, 64);
  expect_lookup(&table, "model.layers.0.mlp.down_proj.weight", 4, 64);
  assert_null(mlxcel_quantization_table_find(&table, IREE_SV("model.layers.0.mlp.up_proj")));
  mlxcel_quantization_table_deinitialize(&table);
  assert_int_equal(table.override_count, 0);
}

static void quantization_accepts_every_width_and_group(void** state) {
  (void)state;
  for (uint32_t bits = 0; bits <= 33; ++bits) {
    for (uint32_t group = 16; group <= 256; group *= 2) {
      char text[96];
      snprintf(text, sizeof(text), "{\"quantization\":{\"bits\":%" PRIu32 ",\"group_size\":%" PRIu32 "}}", bits, group);
      bool known_bits = bits == 2 || bits == 3 || bits == 4 || bits == 5 || bits == 6 || bits == 8;
      bool known_group = group == 32 || group == 64 || group == 128;
      mlxcel_quantization_table_t table;
      iree_status_t status = parse(text, &table);
      if (known_bits && known_group) {
        expect_ok(status);
        expect_lookup(&table, "any", bits, group);
        mlxcel_quantization_table_deinitialize(&table);
      } else {
        expect_error(status, IREE_STATUS_INVALID_ARGUMENT, known_bits ? "quantization.group_size is " : "quantization.bits is ", NULL);
      }
    }
  }
}

static void quantization_is_absent_without_a_table(void** state) {
  (void)state;
  static const char* const texts[] = {"{}", "{\"quantization\":null}", "{\"quantization\":{},\"quantization_config\":{}}", "{\"quantization_config\":null}"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(texts); ++i) {
    mlxcel_quantization_table_t table;
    expect_ok(parse(texts[i], &table));
    assert_false(table.present);
    expect_lookup(&table, "lm_head", 0, 0);
    mlxcel_quantization_table_deinitialize(&table);
  }
}

static void quantization_reads_the_table_under_either_name(void** state) {
  (void)state;
  mlxcel_quantization_table_t table;
  expect_ok(parse("{\"quantization_config\":{\"bits\":3,\"group_size\":32}}", &table));
  assert_true(table.present);
  expect_lookup(&table, "lm_head", 3, 32);
  mlxcel_quantization_table_deinitialize(&table);
  expect_error(parse("{\"quantization\":{\"bits\":3,\"group_size\":32},\"quantization_config\":{\"bits\":4,\"group_size\":32}}", &table),
               IREE_STATUS_INVALID_ARGUMENT, "quantization_config is {\"bits\":4,\"group_size\":32}; expected the same table as in 'quantization'", NULL);
}

static void quantization_refuses_other_formats_by_name(void** state) {
  (void)state;
  static const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":128}}", "quantization_config.quant_method is \"gptq\""},
      {"{\"quantization_config\":{\"quant_method\":\"awq\",\"bits\":4}}", "quantization_config.quant_method is \"awq\""},
      {"{\"quantization_config\":{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true}}", "quantization_config.quant_method is \"bitsandbytes\""},
      {"{\"quantization_config\":{\"quant_method\":\"fp8\"}}", "quantization_config.quant_method is \"fp8\""},
      {"{\"quantization_config\":{\"quant_method\":null}}", "quantization_config.quant_method is null"},
      {"{\"quantization\":{\"bits\":4,\"group_size\":32,\"mode\":\"mxfp4\"}}", "quantization.mode is \"mxfp4\""},
      {"{\"quantization\":{\"bits\":4,\"group_size\":16,\"mode\":\"nvfp4\"}}", "quantization.mode is \"nvfp4\""},
      {"{\"quantization\":{\"bits\":8,\"group_size\":32,\"mode\":\"mxfp8\"}}", "quantization.mode is \"mxfp8\""},
      {"{\"quantization\":{\"bits\":4,\"group_size\":32,\"lm_head\":{\"bits\":4,\"group_size\":32,\"mode\":\"mxfp4\"}}}",
       "quantization.lm_head.mode is \"mxfp4\""},
      {"{\"quantization\":{\"bits\":4,\"group_size\":32,\"lm_head\":{\"bits\":4,\"group_size\":32,\"rank\":8}}}", "quantization.lm_head.rank is 8"},
      {"{\"quantization\":{\"bits\":4,\"group_size\":32,\"quantize_activations\":true}}", "quantization.quantize_activations is true"},
      {"{\"quantization\":{\"bits\":4,\"group_size\":32,\"quant_method\":\"x\"}}", "quantization.quant_method is \"x\""},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_quantization_table_t table;
    expect_error(parse(cases[i].text, &table), IREE_STATUS_UNIMPLEMENTED, "config.json: ", cases[i].part, NULL);
  }
}

static void quantization_refuses_incomplete_or_malformed_tables(void** state) {
  (void)state;
  static const struct {
    const char* text;
    const char* part;
  } cases[] = {
      {"{\"quantization\":4}", "quantization is 4; expected an object or null"},
      {"{\"quantization_config\":\"4bit\"}", "quantization_config is \"4bit\"; expected an object or null"},
      {"{\"quantization\":{\"bits\":4}}", "quantization.group_size is missing"},
      {"{\"quantization\":{\"group_size\":64}}", "quantization.bits is missing"},
      {"{\"quantization\":{\"bits\":4.0,\"group_size\":64}}", "quantization.bits is 4.0"},
      {"{\"quantization\":{\"bits\":\"4\",\"group_size\":64}}", "quantization.bits is \"4\""},
      {"{\"quantization\":{\"bits\":4,\"group_size\":64,\"mode\":1}}", "quantization.mode is 1; expected a string"},
      {"{\"quantization\":{\"bits\":4,\"group_size\":64,\"lm_head\":{\"bits\":6}}}", "quantization.lm_head.group_size is missing"},
      {"{\"quantization\":{\"bits\":4,\"group_size\":64,\"lm_head\":{\"bits\":7,\"group_size\":64}}}", "quantization.lm_head.bits is 7"},
      {"{\"quantization\":{\"bits\":4,\"group_size\":64,\"lm_head\":8}}", "quantization.lm_head is 8; expected true, false, or an object"},
      {"{\"quantization\":{\"bits\":4,\"group_size\":64,\"lm_head\":null}}", "quantization.lm_head is null"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_quantization_table_t table;
    expect_error(parse(cases[i].text, &table), IREE_STATUS_INVALID_ARGUMENT, "config.json: ", cases[i].part, NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantization_looks_up_overrides_by_full_path), cmocka_unit_test(quantization_accepts_every_width_and_group),
      cmocka_unit_test(quantization_is_absent_without_a_table),       cmocka_unit_test(quantization_reads_the_table_under_either_name),
      cmocka_unit_test(quantization_refuses_other_formats_by_name),   cmocka_unit_test(quantization_refuses_incomplete_or_malformed_tables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
