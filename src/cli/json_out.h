// json_out.h: JSON for stdout, by jansson: keys in the order they were added, one value, a line feed at the end.
#ifndef MLXCEL_CLI_JSON_OUT_H_
#define MLXCEL_CLI_JSON_OUT_H_

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Numbers keep nine significant digits: enough for microseconds of a day, and free of the noise of binary fractions.
#define MLXCEL_CLI_JSON_REAL_DIGITS 9

// All return a new reference, or NULL when memory ran out (and for text that isn't UTF-8).
json_t* mlxcel_cli_json_ids(const int32_t* ids, size_t count);
json_t* mlxcel_cli_json_text(const char* text, size_t size);

// Adds |value| (reference taken, NULL allowed) to |object|; false when there is no value or no memory.
bool mlxcel_cli_json_set(json_t* object, const char* key, json_t* value);

// Prints |value| as one line (|indent| 0) or indented, and drops the reference. false: no value, or no memory; a write error is kept by console.h.
bool mlxcel_cli_json_print(json_t* value, size_t indent);

#endif  // MLXCEL_CLI_JSON_OUT_H_
