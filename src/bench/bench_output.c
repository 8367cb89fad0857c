#include "bench/bench_output.h"

#include <string.h>

#include "bench/bench_text.h"
#include "runtime/dispatch_profile_report.h"

#define MEBI 1048576.0
#define GIBI (1024 * MEBI)

static const char* const format_names[] = {[MLXCEL_BENCH_MD] = "md", [MLXCEL_BENCH_CSV] = "csv", [MLXCEL_BENCH_JSON] = "json", [MLXCEL_BENCH_JSONL] = "jsonl"};

mlxcel_bench_format_t mlxcel_bench_format_of(const char* name) {
  size_t i = sizeof(format_names) / sizeof(format_names[0]) - 1;
  while (i > 0 && strcmp(format_names[i], name) != 0) --i;
  return (mlxcel_bench_format_t)i;
}

void mlxcel_bench_output_initialize(mlxcel_bench_format_t format, const mlxcel_bench_plan_t* plan, mlxcel_bench_output_t* out_output) {
  memset(out_output, 0, sizeof(*out_output));
  out_output->format = format;
  for (size_t i = 0; i < plan->case_count; ++i) {
    out_output->shows_batch |= plan->cases[i].batch != 0;
    out_output->shows_parallel |= plan->cases[i].parallel != 1;
  }
  mlxcel_strbuf_initialize(&out_output->text);
  mlxcel_strbuf_initialize(&out_output->engines);
  mlxcel_strbuf_initialize(&out_output->engine);
  mlxcel_strbuf_initialize(&out_output->dispatches);
}

void mlxcel_bench_output_deinitialize(mlxcel_bench_output_t* output) {
  mlxcel_strbuf_deinitialize(&output->text);
  mlxcel_strbuf_deinitialize(&output->engines);
  mlxcel_strbuf_deinitialize(&output->engine);
  mlxcel_strbuf_deinitialize(&output->dispatches);
}

// --- the table -----------------------------------------------------------------------------------------------------------------------------------

static void output_table_header(mlxcel_bench_output_t* output) {
  mlxcel_strbuf_t* text = &output->text;
  mlxcel_strbuf_append_format(text, "| %-30s | %10s | %10s | %-10s | %7s |", "model", "size", "params", "device", "threads");
  if (output->shows_batch) mlxcel_strbuf_append_format(text, " %7s |", "n_batch");
  if (output->shows_parallel) mlxcel_strbuf_append_format(text, " %4s |", "np");
  mlxcel_strbuf_append_format(text, " %15s | %20s | %10s | %19s | %12s |\n", "test", "t/s", "median t/s", "range t/s", "roofline");
  mlxcel_strbuf_append_cstring(text, "| ------------------------------ | ---------: | ---------: | ---------- | ------: |");
  if (output->shows_batch) mlxcel_strbuf_append_cstring(text, " ------: |");
  if (output->shows_parallel) mlxcel_strbuf_append_cstring(text, " ---: |");
  mlxcel_strbuf_append_cstring(text, " --------------: | -------------------: | ---------: | ------------------: | -----------: |\n");
}

static void output_table_model(const mlxcel_bench_record_t* record, mlxcel_strbuf_t* text) {
  const mlxcel_bench_model_t* model = record->model;
  const bool is_giant = (double)model->bytes >= GIBI, has_billions = model->parameter_count >= 1000000000u;
  mlxcel_strbuf_append_format(text, "| %-30s | %6.2f %s | %8.2f %s |", model->type, (double)model->bytes / (is_giant ? GIBI : MEBI), is_giant ? "GiB" : "MiB",
                              (double)model->parameter_count / (has_billions ? 1e9 : 1e6), has_billions ? "B" : "M");
}

static void output_table_share(const mlxcel_bench_record_t* record, mlxcel_strbuf_t* text) {
  if (record->roofline_share <= 0) {
    mlxcel_strbuf_append_format(text, " %12s |\n", "");
    return;
  }
  const bool reads = record->read_share > record->fma_share;
  mlxcel_strbuf_append_format(text, " %5.1f %% %s |\n", 100 * record->roofline_share, reads ? "read" : "FMA ");
}

static void output_table_row(mlxcel_bench_output_t* output, const mlxcel_bench_record_t* record) {
  mlxcel_strbuf_t* text = &output->text;
  output_table_model(record, text);
  mlxcel_strbuf_append_format(text, " %-10s | %7" PRIu32 " |", record->info->device, record->info->threads);
  if (output->shows_batch) mlxcel_strbuf_append_format(text, " %7" PRIu32 " |", record->item->batch ? record->item->batch : record->prefill_rows_max);
  if (output->shows_parallel) mlxcel_strbuf_append_format(text, " %4" PRIu32 " |", record->item->parallel);
  mlxcel_strbuf_append_format(text, " %15s | %10.2f \u00b1 %7.2f | %10.2f |", record->test, record->ts.mean, record->ts.deviation, record->ts.median);
  mlxcel_strbuf_append_format(text, " %7.2f to %8.2f |", record->ts.minimum, record->ts.maximum);
  output_table_share(record, text);
}

// Paragraphs are told apart by their text: an engine that was opened twice with the same numbers is the same.
static void output_engine_paragraph(const mlxcel_bench_record_t* record, mlxcel_strbuf_t* text) {
  const mlxcel_engine_info_t* info = record->info;
  mlxcel_strbuf_append_format(text, "%s: %s, %" PRIu32 " threads, kernels for x86-64-%s, context %" PRIu32 ", %" PRIu32 " %s\n", info->model_name, info->device,
                              info->threads, info->cpu_level, info->context, record->item->parallel, record->item->parallel == 1 ? "sequence" : "sequences");
  mlxcel_strbuf_append_format(text, "  machine:  %s\n", record->cpu);
  mlxcel_strbuf_append_format(text, "  contract: %s, %s\n", info->profile, info->contract_fingerprint);
  if (record->roofline && record->roofline->width_count) {
    mlxcel_strbuf_append_format(text, "  roofline: %.1f GB/s read, %.1f GFLOP/s f32 FMA (%" PRIu32 " threads)\n", record->roofline_read_gb_s,
                                record->roofline_fma_gflop_s, record->roofline->threads);
  } else {
    mlxcel_strbuf_append_cstring(text, "  roofline: not measured\n");
  }
  mlxcel_strbuf_append_format(text, "  memory:   weights %.1f MiB (%.1f MiB of them copied), KV cache %.1f MiB of %s\n", (double)info->weight_bytes / MEBI,
                              (double)info->copied_weight_bytes / MEBI, (double)info->kv_bytes / MEBI, record->kv_dtype);
  mlxcel_strbuf_append_format(text, "  load:     %.3f s\n", info->load_seconds);
}

// Moves the last engine's paragraph behind the others, with the peak that its cases reached.
static void output_flush_engine(mlxcel_bench_output_t* output) {
  if (output->engine.size == 0) return;
  mlxcel_strbuf_append_format(&output->engines, "\n%s", output->engine.data);
  mlxcel_strbuf_append_format(&output->engines, "  peak:     %.1f MiB resident\n", (double)output->engine_peak_bytes / MEBI);
  mlxcel_strbuf_clear(&output->engine);
}

static iree_status_t output_remember_engine(mlxcel_bench_output_t* output, const mlxcel_bench_record_t* record) {
  mlxcel_strbuf_t paragraph;
  mlxcel_strbuf_initialize(&paragraph);
  output_engine_paragraph(record, &paragraph);
  if (!iree_string_view_equal(mlxcel_strbuf_view(&paragraph), mlxcel_strbuf_view(&output->engine))) {
    output_flush_engine(output);
    mlxcel_strbuf_append(&output->engine, mlxcel_strbuf_view(&paragraph));
  }
  output->engine_peak_bytes = record->peak_rss_bytes;
  iree_status_t status = mlxcel_strbuf_take_status(&paragraph);
  mlxcel_strbuf_deinitialize(&paragraph);
  if (!iree_status_is_ok(status)) return status;
  IREE_RETURN_IF_ERROR(mlxcel_strbuf_take_status(&output->engine));
  return mlxcel_strbuf_take_status(&output->engines);
}

static void output_add_dispatches(mlxcel_bench_output_t* output, const mlxcel_bench_record_t* record) {
  if (!record->dispatches) return;
  mlxcel_strbuf_append_format(&output->dispatches, "\ndispatches of %s (%s, %" PRIu32 " threads, %" PRIu32 " %s):\n", record->test, record->info->model_name,
                              record->info->threads, record->item->parallel, record->item->parallel == 1 ? "sequence" : "sequences");
  mlxcel_dispatch_profile_write_table(record->dispatches, &output->dispatches);
}

static iree_status_t output_add_row(mlxcel_bench_output_t* output, const mlxcel_bench_record_t* record) {
  if (output->count == 0) output_table_header(output);
  output_table_row(output, record);
  output_add_dispatches(output, record);
  IREE_RETURN_IF_ERROR(mlxcel_strbuf_take_status(&output->dispatches));
  return output_remember_engine(output, record);
}

// --- records -------------------------------------------------------------------------------------------------------------------------------------

static iree_status_t output_add_object(mlxcel_bench_output_t* output, json_t* object) {
  if (!object) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a record; free some");
  if (output->format == MLXCEL_BENCH_CSV) {
    if (output->count == 0) mlxcel_bench_text_csv_keys(object, &output->text);
    mlxcel_bench_text_csv_values(object, &output->text);
    return iree_ok_status();
  }
  const bool is_array = output->format == MLXCEL_BENCH_JSON;
  if (is_array) mlxcel_strbuf_append_cstring(&output->text, output->count ? ",\n" : "[\n");
  IREE_RETURN_IF_ERROR(mlxcel_bench_text_json(object, is_array, &output->text));
  if (!is_array) mlxcel_strbuf_append_cstring(&output->text, "\n");
  return iree_ok_status();
}

static iree_status_t output_add_record(mlxcel_bench_output_t* output, const mlxcel_bench_record_t* record) {
  json_t* object = mlxcel_bench_record_to_json(record);
  iree_status_t status = output_add_object(output, object);
  json_decref(object);
  return status;
}

iree_status_t mlxcel_bench_output_add(mlxcel_bench_output_t* output, const mlxcel_bench_record_t* record) {
  IREE_RETURN_IF_ERROR(output->format == MLXCEL_BENCH_MD ? output_add_row(output, record) : output_add_record(output, record));
  ++output->count;
  return mlxcel_strbuf_take_status(&output->text);
}

iree_status_t mlxcel_bench_output_end(mlxcel_bench_output_t* output) {
  if (output->format == MLXCEL_BENCH_JSON) mlxcel_strbuf_append_cstring(&output->text, output->count ? "\n]\n" : "[]\n");
  output_flush_engine(output);
  mlxcel_strbuf_append(&output->text, mlxcel_strbuf_view(&output->engines));
  mlxcel_strbuf_append(&output->text, mlxcel_strbuf_view(&output->dispatches));
  IREE_RETURN_IF_ERROR(mlxcel_strbuf_take_status(&output->engines));
  return mlxcel_strbuf_take_status(&output->text);
}

// --- the roofline alone ----------------------------------------------------------------------------------------------------------------------------

static json_t* roofline_row_to_json(const mlxcel_roofline_row_t* row) {
  json_t* object = json_pack("{s:i}", "threads", (int)row->threads);
  bool ok = object != NULL;
  for (uint32_t i = 0; i < row->width_count && ok; ++i) {
    const mlxcel_roofline_width_t* width = &row->widths[i];
    json_t* rates = json_pack("{s:f, s:f}", "read_gb_s", width->read_gb_s, "f32_fma_gflop_s", width->f32_fma_gflop_s);
    ok = rates && json_object_set_new(object, width->name, rates) == 0;
  }
  if (ok) return object;
  json_decref(object);
  return NULL;
}

static json_t* roofline_to_json(uint64_t bytes, uint32_t repetitions, size_t row_count, const mlxcel_roofline_row_t* rows) {
  json_t* list = json_array();
  bool ok = list != NULL;
  for (size_t i = 0; i < row_count && ok; ++i) ok = json_array_append_new(list, roofline_row_to_json(&rows[i])) == 0;
  if (!ok) {
    json_decref(list);
    return NULL;
  }
  return json_pack("{s:I, s:i, s:o}", "buffer_bytes", (json_int_t)bytes, "repetitions", (int)repetitions, "rows", list);
}

static iree_status_t roofline_add_json(uint64_t bytes, uint32_t repetitions, size_t row_count, const mlxcel_roofline_row_t* rows, mlxcel_strbuf_t* text) {
  json_t* object = roofline_to_json(bytes, repetitions, row_count, rows);
  iree_status_t status = mlxcel_bench_text_json(object, /*is_indented=*/false, text);
  json_decref(object);
  mlxcel_strbuf_append_cstring(text, "\n");
  return status;
}

static iree_status_t roofline_add_lines(size_t row_count, const mlxcel_roofline_row_t* rows, mlxcel_strbuf_t* text) {
  for (size_t i = 0; i < row_count; ++i) {
    json_t* object = roofline_row_to_json(&rows[i]);
    iree_status_t status = mlxcel_bench_text_json(object, /*is_indented=*/false, text);
    json_decref(object);
    IREE_RETURN_IF_ERROR(status);
    mlxcel_strbuf_append_cstring(text, "\n");
  }
  return iree_ok_status();
}

static void roofline_add_table(bool is_csv, size_t row_count, const mlxcel_roofline_row_t* rows, mlxcel_strbuf_t* text) {
  mlxcel_strbuf_append_cstring(text, is_csv ? "threads,isa,read_gb_s,f32_fma_gflop_s\n" : "| threads | isa    |  read GB/s | f32 FMA GFLOP/s |\n");
  if (!is_csv) mlxcel_strbuf_append_cstring(text, "| ------: | ------ | ---------: | --------------: |\n");
  for (size_t i = 0; i < row_count; ++i) {
    for (uint32_t w = 0; w < rows[i].width_count; ++w) {
      const mlxcel_roofline_width_t* width = &rows[i].widths[w];
      mlxcel_strbuf_append_format(text, is_csv ? "\"%" PRIu32 "\",\"%s\",\"%.2f\",\"%.1f\"\n" : "| %7" PRIu32 " | %-6s | %10.2f | %15.1f |\n", rows[i].threads,
                                  width->name, width->read_gb_s, width->f32_fma_gflop_s);
    }
  }
}

iree_status_t mlxcel_bench_output_roofline(mlxcel_bench_format_t format, uint64_t bytes, uint32_t repetitions, size_t row_count,
                                           const mlxcel_roofline_row_t* rows, mlxcel_strbuf_t* text) {
  iree_status_t status = iree_ok_status();
  if (format == MLXCEL_BENCH_JSON) {
    status = roofline_add_json(bytes, repetitions, row_count, rows, text);
  } else if (format == MLXCEL_BENCH_JSONL) {
    status = roofline_add_lines(row_count, rows, text);
  } else {
    roofline_add_table(format == MLXCEL_BENCH_CSV, row_count, rows, text);
  }
  if (!iree_status_is_ok(status)) return status;
  return mlxcel_strbuf_take_status(text);
}
