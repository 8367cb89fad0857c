// log.h: diagnostics on stderr. Levels: error, warning, info, debug; the threshold is process-wide, set once by the program at start-up. Lines are written with
// one write() each, so threads don't interleave. Colour only on a terminal, not with NO_COLOR set or TERM=dumb.
#ifndef MLXCEL_BASE_LOG_H_
#define MLXCEL_BASE_LOG_H_

#include "base/base.h"

typedef enum mlxcel_log_level_e { MLXCEL_LOG_ERROR, MLXCEL_LOG_WARNING, MLXCEL_LOG_INFO, MLXCEL_LOG_DEBUG } mlxcel_log_level_t;

void mlxcel_log_set_level(mlxcel_log_level_t level);
void mlxcel_log(mlxcel_log_level_t level, const char* format, ...) __attribute__((format(printf, 2, 3)));

// |text| as a terminal may get it, whoever wrote it: bytes that aren't UTF-8 and control characters but newline and tab become \xNN; cut to |capacity| between
// characters. |buffer| isn't |text|.
void mlxcel_text_printable(const char* text, char* buffer, size_t capacity);

// Text of a status without source locations: "message" (annotations joined by "; "), into |buffer|, printable as above: messages quote contracts, manifests and
// other files. Does not consume the status.
void mlxcel_status_text(iree_status_t status, char* buffer, size_t capacity);

#endif  // MLXCEL_BASE_LOG_H_
