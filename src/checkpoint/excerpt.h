// excerpt.h: short, printable forms of untrusted text for error messages: bounded length, printable ASCII only, so that a file can neither flood nor
// steer a terminal. Values, no ownership; use them in one expression: mlxcel_excerpt(name).text.
#ifndef MLXCEL_CHECKPOINT_EXCERPT_H_
#define MLXCEL_CHECKPOINT_EXCERPT_H_

#include <jansson.h>

#include "base/base.h"
#include "base/strbuf.h"

#define MLXCEL_EXCERPT_BYTES 160u   // long enough for a module path with its layer number
#define MLXCEL_EXCERPT_LIST_MAX 8u  // names shown in a list; the rest is counted

typedef struct mlxcel_excerpt_t {
  char text[MLXCEL_EXCERPT_BYTES];  // NUL-terminated; ends in "..." where it was cut
} mlxcel_excerpt_t;

// A name, other bytes than printable ASCII as \xNN.
mlxcel_excerpt_t mlxcel_excerpt(iree_string_view_t text);
// A JSON value, compact.
mlxcel_excerpt_t mlxcel_excerpt_json(const json_t* value);

// The first MLXCEL_EXCERPT_LIST_MAX of a list of names, and their number.
typedef struct mlxcel_name_list_t {
  mlxcel_strbuf_t text;
  size_t count;
} mlxcel_name_list_t;
void mlxcel_name_list_initialize(mlxcel_name_list_t* out_list);
void mlxcel_name_list_deinitialize(mlxcel_name_list_t* list);
void mlxcel_name_list_append(mlxcel_name_list_t* list, iree_string_view_t name);
// "a, b, c" or "a, b, ... and 12 more"; valid until the list changes. Ends the list: append nothing afterwards.
const char* mlxcel_name_list_finish(mlxcel_name_list_t* list);

#endif  // MLXCEL_CHECKPOINT_EXCERPT_H_
