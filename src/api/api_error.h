// api_error.h: from internal statuses to the public error: code, stage, message. Any thread.
#ifndef MLXCEL_API_API_ERROR_H_
#define MLXCEL_API_API_ERROR_H_

#include "base/base.h"
#include "mlxcel/mlxcel.h"

// Consumes |status|. NULL if it is ok. |stage| has static storage. Never NULL for a failure: without memory a static error says so.
// In the stages that read a model's files ("checkpoint", "tokenizer", "emit", "import") an invalid argument is the files' fault, so CORRUPT.
mlxcel_error_t* mlxcel_api_error(const char* stage, iree_status_t status);

#endif  // MLXCEL_API_API_ERROR_H_
