#include "runtime/dispatch_profile_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// --- numbers -----------------------------------------------------------------------------------------------------------------------------------

// Numbers are written with integers: the C library's %f follows the locale. |parts|: thousandths of the unit.
static void append_milli(mlxcel_strbuf_t* text, uint64_t parts) { mlxcel_strbuf_append_format(text, "%" PRIu64 ".%03" PRIu64, parts / 1000, parts % 1000); }

// a * 1000 / b, rounded; 0 if b is 0. A double is exact enough for four digits.
static uint64_t ratio_milli(uint64_t a, uint64_t b) { return b ? (uint64_t)((double)a * 1000.0 / (double)b + 0.5) : 0; }

static uint64_t workers_ns(const mlxcel_dispatch_profile_t* profile, uint64_t wall_ns) { return profile->worker_count * wall_ns; }

// Share of |all| in percent, with one digit: "12.3".
static void format_percent(uint64_t part, uint64_t all, size_t capacity, char* out) {
  uint64_t tenths = ratio_milli(part, all);
  snprintf(out, capacity, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
}

// Billions a second, which is a number each nanosecond: "12.34", or "-".
static void format_rate(bool is_known, uint64_t amount, uint64_t ns, size_t capacity, char* out) {
  uint64_t hundredths = ns ? (uint64_t)((double)amount * 100.0 / (double)ns + 0.5) : 0;
  if (is_known && ns) {
    snprintf(out, capacity, "%" PRIu64 ".%02" PRIu64, hundredths / 100, hundredths % 100);
  } else {
    snprintf(out, capacity, "-");
  }
}

static void format_ms(uint64_t ns, size_t capacity, char* out) {
  uint64_t us = (ns + 500) / 1000;
  snprintf(out, capacity, "%" PRIu64 ".%03" PRIu64, us / 1000, us % 1000);
}

// --- table -------------------------------------------------------------------------------------------------------------------------------------

static int label_width(const mlxcel_dispatch_profile_t* profile) {
  size_t width = strlen("between dispatches");
  for (size_t i = 0; i < profile->row_count; ++i) {
    size_t length = strlen(profile->rows[i].label);
    if (length > width) width = length;
  }
  return (int)width;
}

static void append_row(const mlxcel_dispatch_profile_t* profile, const mlxcel_dispatch_row_t* row, int width, mlxcel_strbuf_t* text) {
  char ms[32], share[32], bytes[32], flops[32], busy[32];
  format_ms(row->wall_ns, sizeof(ms), ms);
  format_percent(row->wall_ns, profile->wall_ns, sizeof(share), share);
  format_rate(row->known & MLXCEL_DISPATCH_KNOWS_BYTES, row->bytes, row->wall_ns, sizeof(bytes), bytes);
  format_rate(row->known & MLXCEL_DISPATCH_KNOWS_FLOPS, row->flops, row->wall_ns, sizeof(flops), flops);
  format_percent(row->busy_ns, workers_ns(profile, row->wall_ns), sizeof(busy), busy);
  mlxcel_strbuf_append_format(text, "%-*s %8" PRIu64 " %10s %6s %8s %9s %6s\n", width, row->label, row->calls, ms, share, bytes, flops, busy);
}

// A line of the totals: |calls| 0 = none; |note| behind it.
static void append_total(const mlxcel_dispatch_profile_t* profile, const char* name, uint64_t calls, uint64_t ns, int width, mlxcel_strbuf_t* text) {
  char ms[32], share[32];
  format_ms(ns, sizeof(ms), ms);
  format_percent(ns, profile->wall_ns, sizeof(share), share);
  mlxcel_strbuf_append_format(text, "%-*s %8" PRIu64 " %10s %6s", width, name, calls, ms, share);
}

static void append_totals(const mlxcel_dispatch_profile_t* profile, int width, mlxcel_strbuf_t* text) {
  char busy[32];
  format_percent(profile->busy_ns, workers_ns(profile, profile->device_ns), sizeof(busy), busy);
  append_total(profile, "in dispatches", profile->calls, profile->device_ns, width, text);
  mlxcel_strbuf_append_format(text, " %8s %9s %6s\n", "", "", busy);
  uint64_t gaps = profile->calls > profile->submissions ? profile->calls - profile->submissions : 0;
  append_total(profile, "between dispatches", gaps, profile->gap_ns, width, text);
  mlxcel_strbuf_append_cstring(text, "  ");
  append_milli(text, gaps ? (profile->gap_ns + gaps / 2) / gaps : 0);
  mlxcel_strbuf_append_cstring(text, " us each\n");
  append_total(profile, "outside", profile->submissions, profile->outside_ns, width, text);
  mlxcel_strbuf_append_cstring(text, "  ");
  append_milli(text, profile->submissions ? profile->outside_ns / profile->submissions : 0);
  mlxcel_strbuf_append_cstring(text, " us each submission\n");
  append_total(profile, "wall", profile->calls, profile->wall_ns, width, text);
  mlxcel_strbuf_append_format(text, "  %" PRIu32 " worker%s\n", profile->worker_count, profile->worker_count == 1 ? "" : "s");
}

void mlxcel_dispatch_profile_write_table(const mlxcel_dispatch_profile_t* profile, mlxcel_strbuf_t* text) {
  int width = label_width(profile);
  mlxcel_strbuf_append_format(text, "%-*s %8s %10s %6s %8s %9s %6s\n", width, "kernel", "calls", "ms", "share", "GB/s", "GFLOP/s", "busy");
  for (size_t i = 0; i < profile->row_count; ++i) append_row(profile, &profile->rows[i], width, text);
  append_totals(profile, width, text);
  if (profile->lost_calls) {
    mlxcel_strbuf_append_format(text, "%" PRIu64 " more dispatches weren't recorded: the device's memory for them was full\n", profile->lost_calls);
  }
}

// --- JSON --------------------------------------------------------------------------------------------------------------------------------------

static void append_string(mlxcel_strbuf_t* text, const char* value) {
  mlxcel_strbuf_append_cstring(text, "\"");
  for (const unsigned char* c = (const unsigned char*)value; *c; ++c) {
    if (*c == '"' || *c == '\\' || *c < 0x20 || *c >= 0x7f) {
      mlxcel_strbuf_append_format(text, "\\u%04x", *c);
    } else {
      mlxcel_strbuf_append_format(text, "%c", *c);
    }
  }
  mlxcel_strbuf_append_cstring(text, "\"");
}

static void append_known(mlxcel_strbuf_t* text, const char* name, bool is_known, uint64_t value) {
  if (is_known) {
    mlxcel_strbuf_append_format(text, ", \"%s\": %" PRIu64, name, value);
  } else {
    mlxcel_strbuf_append_format(text, ", \"%s\": null", name);
  }
}

static void append_known_rate(mlxcel_strbuf_t* text, const char* name, bool is_known, uint64_t amount, uint64_t ns) {
  char rate[32];
  format_rate(is_known, amount, ns, sizeof(rate), rate);
  mlxcel_strbuf_append_format(text, ", \"%s\": %s", name, rate[0] == '-' ? "null" : rate);
}

static void append_json_row(const mlxcel_dispatch_profile_t* profile, const mlxcel_dispatch_row_t* row, mlxcel_strbuf_t* text) {
  bool has_bytes = row->known & MLXCEL_DISPATCH_KNOWS_BYTES, has_flops = row->known & MLXCEL_DISPATCH_KNOWS_FLOPS;
  uint64_t millionths = profile->wall_ns ? (uint64_t)((double)row->wall_ns * 1e6 / (double)profile->wall_ns + 0.5) : 0;
  mlxcel_strbuf_append_cstring(text, "{\"kernel\": ");
  append_string(text, row->kernel);
  mlxcel_strbuf_append_cstring(text, ", \"label\": ");
  append_string(text, row->label);
  mlxcel_strbuf_append_format(text, ", \"calls\": %" PRIu64 ", \"workgroups\": %" PRIu64 ", \"wall_ns\": %" PRIu64 ", \"busy_ns\": %" PRIu64, row->calls,
                              row->workgroups, row->wall_ns, row->busy_ns);
  mlxcel_strbuf_append_format(text, ", \"share\": %" PRIu64 ".%06" PRIu64, millionths / 1000000, millionths % 1000000);
  append_known(text, "bytes", has_bytes, row->bytes);
  append_known(text, "flops", has_flops, row->flops);
  append_known_rate(text, "gb_per_s", has_bytes, row->bytes, row->wall_ns);
  append_known_rate(text, "gflop_per_s", has_flops, row->flops, row->wall_ns);
  mlxcel_strbuf_append_cstring(text, "}");
}

void mlxcel_dispatch_profile_write_json(const mlxcel_dispatch_profile_t* profile, mlxcel_strbuf_t* text) {
  mlxcel_strbuf_append_format(text, "{\"workers\": %" PRIu32 ", \"wall_ns\": %" PRIu64 ", \"device_ns\": %" PRIu64 ", \"gap_ns\": %" PRIu64,
                              profile->worker_count, profile->wall_ns, profile->device_ns, profile->gap_ns);
  mlxcel_strbuf_append_format(text, ", \"outside_ns\": %" PRIu64 ", \"busy_ns\": %" PRIu64 ", \"calls\": %" PRIu64 ", \"submissions\": %" PRIu64,
                              profile->outside_ns, profile->busy_ns, profile->calls, profile->submissions);
  mlxcel_strbuf_append_format(text, ", \"lost_calls\": %" PRIu64 ", \"rows\": [", profile->lost_calls);
  for (size_t i = 0; i < profile->row_count; ++i) {
    if (i) mlxcel_strbuf_append_cstring(text, ", ");
    append_json_row(profile, &profile->rows[i], text);
  }
  mlxcel_strbuf_append_cstring(text, "]}");
}
