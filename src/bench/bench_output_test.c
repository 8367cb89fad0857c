// Every format, with fixed numbers: a table, quoted values, an array, lines.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench_output.h"
#include "bench/bench_text.h"

// A record of a 100-million-weight model: 10 tokens in 0.1 s and 0.2 s, so 100 and 50 tokens a second.
static const mlxcel_bench_model_t model = {.folder = "models/a \"b\", c",
                                           .type = "llama 4-bit g32",
                                           .context = 2048,
                                           .bytes = 100 << 20,
                                           .parameter_count = 100000000,
                                           .layer_bytes = 30000000,
                                           .head_bytes = 10000000,
                                           .layer_weights = 80000000,
                                           .head_weights = 20000000};
static mlxcel_engine_info_t info = {.model_name = "a",
                                    .device = "local-task",
                                    .profile = "pinned-f32",
                                    .contract_fingerprint = "c0ffee",
                                    .cpu_level = "v4",
                                    .context = 42,
                                    .threads = 2,
                                    .weight_bytes = 100 << 20,
                                    .kv_bytes = 3 << 20,
                                    .load_seconds = 0.25};
static const mlxcel_roofline_row_t roofline = {.threads = 2, .width_count = 2, .widths = {{"avx2", 16, 80}, {"avx512", 8, 100}}};
static uint64_t sample_ns[] = {100000000, 200000000};
static mlxcel_sha256_hex_t digests[] = {{"d0"}, {"d1"}};
static const mlxcel_bench_case_t gen_case = {.parallel = 1, .depth = 32, .gen = 10};
static const mlxcel_bench_case_t prompt_case = {.parallel = 2, .batch = 5, .prompt = 5};
static const mlxcel_bench_samples_t gen_samples = {.count = 2, .ns = sample_ns, .chunk = 128, .decode_calls = 10, .digest_count = 1, .digests = digests};
static const mlxcel_bench_samples_t prompt_samples = {.count = 2, .ns = sample_ns, .chunk = 5, .prefill_calls = 2};

static mlxcel_bench_record_t make_record(const mlxcel_bench_case_t* item, const mlxcel_bench_samples_t* samples) {
  mlxcel_bench_record_t record = {.model = &model,
                                  .item = item,
                                  .samples = samples,
                                  .info = &info,
                                  .roofline = &roofline,
                                  .kv_dtype = "f32",
                                  .build = "1.2.3",
                                  .build_number = 10203,
                                  .prefill_rows_max = 128,
                                  .peak_rss_bytes = 200 << 20,
                                  .cpu = "A CPU",
                                  .time = "2025-06-01T00:00:00Z"};
  assert_true(iree_status_is_ok(mlxcel_bench_record_derive(&record)));
  return record;
}

static void assert_near(double value, double expected) {
  if (fabs(value - expected) > 1e-9 * fabs(expected)) fail_msg("%.12g isn't %.12g", value, expected);
}

static void decode_is_held_against_bytes_read(void** state) {
  (void)state;
  const mlxcel_bench_record_t record = make_record(&gen_case, &gen_samples);
  assert_near(record.ts.mean, 75);
  assert_near(record.ts.deviation, sqrt(1250));
  assert_near(record.ts.median, 75);
  assert_near(record.ns.median, 150000000);
  assert_near(record.read_gb_s, 10 * 0.04 / 0.15);  // ten steps of 40 MB
  assert_near(record.fma_gflop_s, 2 * 10 * 0.1 / 0.15);
  assert_near(record.read_share, 10 * 0.04 / 0.15 / 16);
  assert_near(record.fma_share, 2 * 10 * 0.1 / 0.15 / 100);
  assert_true(record.roofline_share == record.read_share);
}

static void prefill_is_held_against_multiply_adds(void** state) {
  (void)state;
  const mlxcel_bench_record_t record = make_record(&prompt_case, &prompt_samples);
  assert_near(record.fma_gflop_s, 2 * 10 * 0.08 / 0.15);        // without the head
  assert_near(record.read_gb_s, (2 * 0.03 + 2 * 0.01) / 0.15);  // which each sequence needs once
  info.cpu_level = "v3";
  const mlxcel_bench_record_t narrow = make_record(&prompt_case, &prompt_samples);
  info.cpu_level = "v4";
  assert_near(narrow.fma_share, record.fma_share * 100 / 80);
}

static void print_all(mlxcel_bench_format_t format, size_t count, mlxcel_strbuf_t* text) {
  mlxcel_bench_case_t cases[] = {gen_case, prompt_case};
  const mlxcel_bench_plan_t plan = {2, cases};
  const mlxcel_bench_record_t records[] = {make_record(&gen_case, &gen_samples), make_record(&prompt_case, &prompt_samples)};
  mlxcel_bench_output_t output;
  mlxcel_bench_output_initialize(format, &plan, &output);
  for (size_t i = 0; i < count; ++i) assert_true(iree_status_is_ok(mlxcel_bench_output_add(&output, &records[i])));
  assert_true(iree_status_is_ok(mlxcel_bench_output_end(&output)));
  mlxcel_strbuf_initialize(text);
  mlxcel_strbuf_append(text, mlxcel_strbuf_view(&output.text));
  mlxcel_strbuf_append_cstring(text, "");
  mlxcel_bench_output_deinitialize(&output);
}

static void md_is_a_table_and_a_paragraph_for_each_engine(void** state) {
  (void)state;
  mlxcel_strbuf_t text;
  print_all(MLXCEL_BENCH_MD, 2, &text);
  assert_string_equal(text.data,
                      "| model                          |       size |     params | device     | threads | n_batch |   np |            test |                  "
                      "t/s | median t/s |    "
                      "       range t/s |     roofline |\n"
                      "| ------------------------------ | ---------: | ---------: | ---------- | ------: | ------: | ---: | --------------: | "
                      "-------------------: | ---------: | "
                      "------------------: | -----------: |\n"
                      "| llama 4-bit g32                | 100.00 MiB |   100.00 M | local-task |       2 |     128 |    1 |      tg10 @ d32 |      75.00 "
                      "\u00b1   35.36 |      75.00 | "
                      "  50.00 to   100.00 |  16.7 % read |\n"
                      "| llama 4-bit g32                | 100.00 MiB |   100.00 M | local-task |       2 |       5 |    2 |             pp5 |      75.00 "
                      "\u00b1   35.36 |      75.00 | "
                      "  50.00 to   100.00 |  10.7 % FMA  |\n"
                      "\n"
                      "a: local-task, 2 threads, kernels for x86-64-v4, context 42, 1 sequence\n"
                      "  machine:  A CPU\n"
                      "  contract: pinned-f32, c0ffee\n"
                      "  roofline: 16.0 GB/s read, 100.0 GFLOP/s f32 FMA (2 threads)\n"
                      "  memory:   weights 100.0 MiB (0.0 MiB of them copied), KV cache 3.0 MiB of f32\n"
                      "  load:     0.250 s\n"
                      "  peak:     200.0 MiB resident\n"
                      "\n"
                      "a: local-task, 2 threads, kernels for x86-64-v4, context 42, 2 sequences\n"
                      "  machine:  A CPU\n"
                      "  contract: pinned-f32, c0ffee\n"
                      "  roofline: 16.0 GB/s read, 100.0 GFLOP/s f32 FMA (2 threads)\n"
                      "  memory:   weights 100.0 MiB (0.0 MiB of them copied), KV cache 3.0 MiB of f32\n"
                      "  load:     0.250 s\n"
                      "  peak:     200.0 MiB resident\n");
  mlxcel_strbuf_deinitialize(&text);
}

static void what_was_not_measured_is_empty_and_null(void** state) {
  (void)state;
  static const mlxcel_roofline_row_t nothing = {.threads = 2};  // a processor that has no loop
  const mlxcel_roofline_row_t* const rows[] = {NULL, &nothing};
  for (size_t i = 0; i < 2; ++i) {
    mlxcel_bench_record_t record = make_record(&gen_case, &gen_samples);
    record.roofline = rows[i];
    record.roofline_read_gb_s = record.roofline_fma_gflop_s = 0;
    assert_true(iree_status_is_ok(mlxcel_bench_record_derive(&record)));
    assert_near(record.read_gb_s, 10 * 0.04 / 0.15);
    json_t* object = mlxcel_bench_record_to_json(&record);
    static const char* const keys[] = {"roofline_read_gb_s", "roofline_fma_gflop_s", "read_share", "fma_share", "roofline_share"};
    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); ++k) assert_true(json_is_null(json_object_get(object, keys[k])));
    assert_near(json_real_value(json_object_get(object, "read_gb_s")), record.read_gb_s);
    json_decref(object);
    mlxcel_bench_case_t cases[] = {gen_case};
    mlxcel_bench_output_t output;
    mlxcel_bench_output_initialize(MLXCEL_BENCH_MD, &(mlxcel_bench_plan_t){1, cases}, &output);
    assert_true(iree_status_is_ok(mlxcel_bench_output_add(&output, &record)));
    assert_true(iree_status_is_ok(mlxcel_bench_output_end(&output)));
    assert_non_null(strstr(output.text.data, "50.00 to   100.00 |              |\n"));
    assert_non_null(strstr(output.text.data, "  roofline: not measured\n"));
    mlxcel_bench_output_deinitialize(&output);
  }
}

static void csv_is_a_header_and_quoted_values(void** state) {
  (void)state;
  mlxcel_strbuf_t text;
  print_all(MLXCEL_BENCH_CSV, 2, &text);
  assert_string_equal(
      text.data,
      "build_commit,build_number,cpu_info,gpu_info,backends,model_filename,model_type,model_size,model_n_params,n_batch,n_ubatch,n_threads,type_k,type_v,"
      "n_prompt,n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts,test,n_parallel,median_ts,min_ts,max_ts,tokens_sha256,roofline_read_gb_s,"
      "roofline_fma_gflop_s,read_gb_s,fma_gflop_s,read_share,fma_share,roofline_share,device,cpu_level,profile,contract_fingerprint,context,kv_bytes,"
      "weight_bytes,copied_weight_bytes,peak_rss_bytes,load_s,compile_s\n"
      "\"1.2.3\",\"10203\",\"A CPU\",\"\",\"CPU\",\"models/a \"\"b\"\", c\",\"llama 4-bit g32\",\"104857600\",\"100000000\",\"128\",\"128\",\"2\",\"f32\","
      "\"f32\",\"0\",\"10\",\"32\",\"2025-06-01T00:00:00Z\",\"150000000\",\"70710678\",\"75\",\"35.3553391\",\"tg10 @ d32\",\"1\",\"75\",\"50\",\"100\","
      "\"d0\",\"16\",\"100\",\"2.66666667\",\"13.3333333\",\"0.166666667\",\"0.133333333\",\"0.166666667\",\"local-task\",\"v4\",\"pinned-f32\",\"c0ffee\","
      "\"42\",\"3145728\",\"104857600\",\"0\",\"209715200\",\"0.25\",\"0\"\n"
      "\"1.2.3\",\"10203\",\"A CPU\",\"\",\"CPU\",\"models/a \"\"b\"\", c\",\"llama 4-bit g32\",\"104857600\",\"100000000\",\"5\",\"5\",\"2\",\"f32\","
      "\"f32\",\"5\",\"0\",\"0\",\"2025-06-01T00:00:00Z\",\"150000000\",\"70710678\",\"75\",\"35.3553391\",\"pp5\",\"2\",\"75\",\"50\",\"100\","
      "\"\",\"16\",\"100\",\"0.533333333\",\"10.6666667\",\"0.0333333333\",\"0.106666667\",\"0.106666667\",\"local-task\",\"v4\",\"pinned-f32\",\"c0ffee\","
      "\"42\",\"3145728\",\"104857600\",\"0\",\"209715200\",\"0.25\",\"0\"\n");
  mlxcel_strbuf_deinitialize(&text);
}

static void assert_objects(json_t* list) {
  assert_int_equal(json_array_size(list), 2);
  const json_t *gen = json_array_get(list, 0), *prompt = json_array_get(list, 1);
  assert_string_equal(json_string_value(json_object_get(gen, "model_filename")), model.folder);
  assert_string_equal(json_string_value(json_object_get(gen, "tokens_sha256")), "d0");
  assert_int_equal(json_array_size(json_object_get(gen, "sequence_sha256")), 1);
  assert_int_equal(json_integer_value(json_array_get(json_object_get(gen, "samples_ns"), 1)), 200000000);
  assert_near(json_real_value(json_array_get(json_object_get(gen, "samples_ts"), 0)), 100);
  assert_true(json_is_null(json_object_get(prompt, "tokens_sha256")));
  assert_int_equal(json_integer_value(json_object_get(prompt, "n_parallel")), 2);
}

static void json_is_an_array_and_jsonl_an_object_a_line(void** state) {
  (void)state;
  mlxcel_strbuf_t text;
  print_all(MLXCEL_BENCH_JSON, 2, &text);
  json_t* list = json_loadb(text.data, text.size, 0, NULL);
  assert_objects(list);
  json_decref(list);
  mlxcel_strbuf_deinitialize(&text);
  print_all(MLXCEL_BENCH_JSONL, 2, &text);
  char* end = strchr(text.data, '\n');
  assert_non_null(end);
  list = json_array();
  json_array_append_new(list, json_loadb(text.data, (size_t)(end - text.data), 0, NULL));
  json_array_append_new(list, json_loads(end + 1, 0, NULL));
  assert_objects(list);
  json_decref(list);
  mlxcel_strbuf_deinitialize(&text);
}

static void text_is_whole_after_any_number_of_records(void** state) {
  (void)state;
  static const char* const nothing[] = {[MLXCEL_BENCH_MD] = "", [MLXCEL_BENCH_CSV] = "", [MLXCEL_BENCH_JSON] = "[]\n", [MLXCEL_BENCH_JSONL] = ""};
  for (int format = MLXCEL_BENCH_MD; format <= MLXCEL_BENCH_JSONL; ++format) {
    mlxcel_strbuf_t text;
    print_all((mlxcel_bench_format_t)format, 0, &text);
    assert_string_equal(text.data, nothing[format]);
    mlxcel_strbuf_deinitialize(&text);
  }
  mlxcel_strbuf_t text;
  print_all(MLXCEL_BENCH_JSON, 1, &text);
  json_t* list = json_loadb(text.data, text.size, 0, NULL);
  assert_int_equal(json_array_size(list), 1);
  json_decref(list);
  mlxcel_strbuf_deinitialize(&text);
}

static void dispatches_are_a_table_or_an_object(void** state) {
  (void)state;
  mlxcel_dispatch_row_t row = {.kernel = "matmul", .label = "matmul 8x8", .calls = 3, .wall_ns = 1000, .busy_ns = 1000};
  const mlxcel_dispatch_profile_t profile = {.worker_count = 1, .calls = 3, .wall_ns = 2000, .device_ns = 1000, .row_count = 1, .rows = &row};
  mlxcel_bench_case_t cases[] = {gen_case};
  const mlxcel_bench_plan_t plan = {1, cases};
  mlxcel_bench_record_t record = make_record(&gen_case, &gen_samples);
  record.dispatches = &profile;
  mlxcel_bench_output_t output;
  mlxcel_bench_output_initialize(MLXCEL_BENCH_MD, &plan, &output);
  assert_true(iree_status_is_ok(mlxcel_bench_output_add(&output, &record)));
  assert_true(iree_status_is_ok(mlxcel_bench_output_end(&output)));
  const char* title = strstr(output.text.data, "\ndispatches of tg10 @ d32 (a, 2 threads, 1 sequence):\n");
  assert_non_null(title);
  assert_non_null(strstr(title, "\nmatmul 8x8 "));
  mlxcel_bench_output_deinitialize(&output);
  json_t* object = mlxcel_bench_record_to_json(&record);
  const json_t* rows = json_object_get(json_object_get(object, "dispatches"), "rows");
  assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "label")), "matmul 8x8");
  json_decref(object);
}

static void roofline_has_every_format(void** state) {
  (void)state;
  static const char* const expected[] = {
      [MLXCEL_BENCH_MD] =
          "| threads | isa    |  read GB/s | f32 FMA GFLOP/s |\n"
          "| ------: | ------ | ---------: | --------------: |\n"
          "|       2 | avx2   |      16.00 |            80.0 |\n"
          "|       2 | avx512 |       8.00 |           100.0 |\n",
      [MLXCEL_BENCH_CSV] = "threads,isa,read_gb_s,f32_fma_gflop_s\n\"2\",\"avx2\",\"16.00\",\"80.0\"\n\"2\",\"avx512\",\"8.00\",\"100.0\"\n",
      [MLXCEL_BENCH_JSON] =
          "{\"buffer_bytes\": 4096, \"repetitions\": 7, \"rows\": [{\"threads\": 2, \"avx2\": {\"read_gb_s\": 16.0, \"f32_fma_gflop_s\": "
          "80.0}, \"avx512\": {\"read_gb_s\": 8.0, \"f32_fma_gflop_s\": 100.0}}]}\n",
      [MLXCEL_BENCH_JSONL] =
          "{\"threads\": 2, \"avx2\": {\"read_gb_s\": 16.0, \"f32_fma_gflop_s\": 80.0}, \"avx512\": {\"read_gb_s\": 8.0, "
          "\"f32_fma_gflop_s\": 100.0}}\n"};
  for (int format = MLXCEL_BENCH_MD; format <= MLXCEL_BENCH_JSONL; ++format) {
    mlxcel_strbuf_t text;
    mlxcel_strbuf_initialize(&text);
    assert_true(iree_status_is_ok(mlxcel_bench_output_roofline((mlxcel_bench_format_t)format, 4096, 7, 1, &roofline, &text)));
    assert_string_equal(text.data, expected[format]);
    mlxcel_strbuf_deinitialize(&text);
  }
}

static void formats_are_found_by_name(void** state) {
  (void)state;
  assert_int_equal(mlxcel_bench_format_of("md"), MLXCEL_BENCH_MD);
  assert_int_equal(mlxcel_bench_format_of("csv"), MLXCEL_BENCH_CSV);
  assert_int_equal(mlxcel_bench_format_of("json"), MLXCEL_BENCH_JSON);
  assert_int_equal(mlxcel_bench_format_of("jsonl"), MLXCEL_BENCH_JSONL);
}

static void quotes_are_doubled(void** state) {
  (void)state;
  static const char* const pairs[][2] = {{"", "\"\""}, {"a,b", "\"a,b\""}, {"\"", "\"\"\"\""}, {"a\"b\"", "\"a\"\"b\"\"\""}};
  for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); ++i) {
    mlxcel_strbuf_t text;
    mlxcel_strbuf_initialize(&text);
    mlxcel_bench_text_quote(pairs[i][0], &text);
    assert_string_equal(text.data, pairs[i][1]);
    mlxcel_strbuf_deinitialize(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decode_is_held_against_bytes_read),
      cmocka_unit_test(prefill_is_held_against_multiply_adds),
      cmocka_unit_test(md_is_a_table_and_a_paragraph_for_each_engine),
      cmocka_unit_test(what_was_not_measured_is_empty_and_null),
      cmocka_unit_test(csv_is_a_header_and_quoted_values),
      cmocka_unit_test(json_is_an_array_and_jsonl_an_object_a_line),
      cmocka_unit_test(text_is_whole_after_any_number_of_records),
      cmocka_unit_test(dispatches_are_a_table_or_an_object),
      cmocka_unit_test(roofline_has_every_format),
      cmocka_unit_test(formats_are_found_by_name),
      cmocka_unit_test(quotes_are_doubled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
