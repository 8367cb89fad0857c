// dispatch_profile_report.h: a profile as a table for people and as JSON for programs.
#ifndef MLXCEL_RUNTIME_DISPATCH_PROFILE_REPORT_H_
#define MLXCEL_RUNTIME_DISPATCH_PROFILE_REPORT_H_

#include "base/strbuf.h"
#include "runtime/dispatch_profile.h"

// Appends columns kernel (with its shape), calls, ms, share (of the profiled wall time), GB/s, GFLOP/s and busy (share of the workers' time in it that they
// worked), one line a row by descending time, then the totals: time in dispatches, between them (in all and for each dispatch), outside of them. A number that
// isn't known is "-".
void mlxcel_dispatch_profile_write_table(const mlxcel_dispatch_profile_t* profile, mlxcel_strbuf_t* text);

// Appends one JSON object {"workers", "wall_ns", "device_ns", "gap_ns", "outside_ns", "busy_ns", "calls", "submissions", "lost_calls", "rows": [{"kernel",
// "label", "calls", "workgroups", "wall_ns", "busy_ns", "share", "bytes", "flops", "gb_per_s", "gflop_per_s"}]}; what isn't known is null. No line break behind
// it.
void mlxcel_dispatch_profile_write_json(const mlxcel_dispatch_profile_t* profile, mlxcel_strbuf_t* text);

#endif  // MLXCEL_RUNTIME_DISPATCH_PROFILE_REPORT_H_
