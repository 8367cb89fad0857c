// explain.h: why one output differs: the first divergent element of a case, computed alone on both sides, and the steps of both orders side by side.
#ifndef MLXCEL_ORACLE_EXPLAIN_H_
#define MLXCEL_ORACLE_EXPLAIN_H_

#include "oracle/oracle_run.h"

// Runs the one case that |options| select (class, case_index, profile, device: NULL = local-sync), finds the first divergent element (or takes |element| if it
// isn't negative), and appends the explanation to |out_text|. Errors: those of the run; UNAVAILABLE without a reference.
iree_status_t mlxcel_oracle_explain(const mlxcel_oracle_options_t* options, int64_t element, mlxcel_strbuf_t* out_text);

#endif  // MLXCEL_ORACLE_EXPLAIN_H_
