// bench_text.h: pieces of text that the formats share.
#ifndef MLXCEL_BENCH_BENCH_TEXT_H_
#define MLXCEL_BENCH_BENCH_TEXT_H_

#include <jansson.h>

#include "base/strbuf.h"

#define MLXCEL_BENCH_REAL_DIGITS 9  // of a number with a fraction: more than any clock gives

// |value| as JSON, on one line or indented by two. RESOURCE_EXHAUSTED without memory.
iree_status_t mlxcel_bench_text_json(const json_t* value, bool is_indented, mlxcel_strbuf_t* text);
// |value| between quotes, with its own doubled.
void mlxcel_bench_text_quote(const char* value, mlxcel_strbuf_t* text);
// The keys of |object| (not those of lists and objects), or their values, as a line of CSV; null is an empty value.
void mlxcel_bench_text_csv_keys(json_t* object, mlxcel_strbuf_t* text);
void mlxcel_bench_text_csv_values(json_t* object, mlxcel_strbuf_t* text);

#endif  // MLXCEL_BENCH_BENCH_TEXT_H_
