// stop.h: stop strings in a stream of text.
//
// Text passes through byte by byte; held back is exactly the longest tail that could still become a stop string. The stream ends at the first byte
// that completes one; if several end there, the one that starts first is cut away. So the result depends on neither how the text was cut into
// pieces nor the order of the stop strings. Cost is linear in the text (an Aho-Corasick automaton; the held text is read back from it).
// Owned by one request, used by one thread.
#ifndef MLXCEL_ENGINE_STOP_H_
#define MLXCEL_ENGINE_STOP_H_

#include "base/base.h"
#include "base/strbuf.h"

typedef struct mlxcel_stop_t mlxcel_stop_t;

// Copies the strings. INVALID_ARGUMENT: more than MLXCEL_STOP_STRINGS_MAX, an empty one, one over MLXCEL_STOP_STRING_BYTES_MAX or not UTF-8 (a match could
// then cut a character in two). |count| may be 0.
iree_status_t mlxcel_stop_create(size_t count, const char* const* stops, mlxcel_stop_t** out_stop);
void mlxcel_stop_release(mlxcel_stop_t* stop);

// Takes |text| and appends to |out_text| what is certainly no part of a stop string. True: a stop string is complete, everything from its start on is
// dropped, now and later.
bool mlxcel_stop_push(mlxcel_stop_t* stop, iree_string_view_t text, mlxcel_strbuf_t* out_text);
// The text is over: appends what was held back (nothing after a match).
void mlxcel_stop_flush(mlxcel_stop_t* stop, mlxcel_strbuf_t* out_text);

#endif  // MLXCEL_ENGINE_STOP_H_
