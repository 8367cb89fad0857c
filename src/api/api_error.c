#include "api/api_error.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

// IREE cuts every formatted string at 10,000 bytes; a few annotations fit beside the longest.
#define API_ERROR_TEXT_BYTES_MAX (64u << 10)

struct mlxcel_error_t {
  mlxcel_error_code_t code;
  const char* stage;
  char* message;
};

static mlxcel_error_t api_error_out_of_memory = {.code = MLXCEL_ERROR_RESOURCES, .stage = "error", .message = (char*)"out of memory; free some memory"};

static mlxcel_error_code_t api_error_code_from_status(iree_status_code_t code) {
  switch (code) {
    case IREE_STATUS_INVALID_ARGUMENT:
    case IREE_STATUS_OUT_OF_RANGE:
    case IREE_STATUS_ALREADY_EXISTS:
      return MLXCEL_ERROR_INVALID_ARGUMENT;
    case IREE_STATUS_NOT_FOUND:
      return MLXCEL_ERROR_NOT_FOUND;
    case IREE_STATUS_UNIMPLEMENTED:
    case IREE_STATUS_INCOMPATIBLE:
      return MLXCEL_ERROR_UNSUPPORTED;
    case IREE_STATUS_DATA_LOSS:
      return MLXCEL_ERROR_CORRUPT;
    case IREE_STATUS_RESOURCE_EXHAUSTED:
      return MLXCEL_ERROR_RESOURCES;
    case IREE_STATUS_UNAVAILABLE:
    case IREE_STATUS_PERMISSION_DENIED:
    case IREE_STATUS_UNAUTHENTICATED:
    case IREE_STATUS_DEADLINE_EXCEEDED:
    case IREE_STATUS_FAILED_PRECONDITION:
      return MLXCEL_ERROR_UNAVAILABLE;
    case IREE_STATUS_CANCELLED:
    case IREE_STATUS_ABORTED:
      return MLXCEL_ERROR_CANCELLED;
    default:
      return MLXCEL_ERROR_INTERNAL;
  }
}

static bool api_stage_reads_files(const char* stage) {
  static const char* const names[] = {"checkpoint", "tokenizer", "emit", "import"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    if (strcmp(names[i], stage) == 0) return true;
  }
  return false;
}

// The words behind the stage's name and a colon, if they begin with those: whoever prints the error puts the stage before it.
static const char* api_error_skip_stage(const char* text, const char* stage) {
  size_t size = strlen(stage);
  return strncmp(text, stage, size) == 0 && strncmp(text + size, ": ", 2) == 0 && text[size + 2] ? text + size + 2 : text;
}

static char* api_error_text(const char* stage, iree_status_t status) {
  char* buffer = malloc(API_ERROR_TEXT_BYTES_MAX);
  if (!buffer) return NULL;
  mlxcel_status_text(status, buffer, API_ERROR_TEXT_BYTES_MAX);
  char* text = strdup(api_error_skip_stage(buffer, stage));
  free(buffer);
  return text;
}

mlxcel_error_t* mlxcel_api_error(const char* stage, iree_status_t status) {
  if (iree_status_is_ok(status)) return NULL;
  mlxcel_error_t* error = malloc(sizeof(*error));
  char* message = api_error_text(stage, status);
  mlxcel_error_code_t code = api_error_code_from_status(iree_status_code(status));
  if (iree_status_is_invalid_argument(status) && api_stage_reads_files(stage)) code = MLXCEL_ERROR_CORRUPT;
  iree_status_ignore(status);
  if (!error || !message) {
    free(error);
    free(message);
    return &api_error_out_of_memory;
  }
  *error = (mlxcel_error_t){.code = code, .stage = stage, .message = message};
  return error;
}

mlxcel_error_code_t mlxcel_error_code(const mlxcel_error_t* error) { return error->code; }
const char* mlxcel_error_stage(const mlxcel_error_t* error) { return error->stage; }
const char* mlxcel_error_message(const mlxcel_error_t* error) { return error->message; }

void mlxcel_error_free(mlxcel_error_t* error) {
  if (!error || error == &api_error_out_of_memory) return;
  free(error->message);
  free(error);
}
