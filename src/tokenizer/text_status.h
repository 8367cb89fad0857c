// text_status.h: from the shim's codes to statuses. Private to src/tokenizer.
#ifndef MLXCEL_TOKENIZER_TEXT_STATUS_H_
#define MLXCEL_TOKENIZER_TEXT_STATUS_H_

#include "base/base.h"
#include "mlxcel_text.h"

// A status for |code| with "<subject>: <error>; <remedy>" (the remedy may be NULL). Consumes |error|.
iree_status_t mlxcel_text_status(int32_t code, const char* subject, char* error, const char* remedy);

#endif  // MLXCEL_TOKENIZER_TEXT_STATUS_H_
