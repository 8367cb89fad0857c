#include "tokenizer/text_status.h"

static iree_status_code_t mlxcel_text_status_code(int32_t code) {
  switch (code) {
    case MLXCEL_TEXT_OK:
      return IREE_STATUS_OK;
    case MLXCEL_TEXT_INVALID:
    case MLXCEL_TEXT_RAISED:
      return IREE_STATUS_INVALID_ARGUMENT;
    case MLXCEL_TEXT_NOT_FOUND:
      return IREE_STATUS_NOT_FOUND;
    case MLXCEL_TEXT_UNSUPPORTED:
      return IREE_STATUS_UNIMPLEMENTED;
    case MLXCEL_TEXT_LIMIT:
      return IREE_STATUS_RESOURCE_EXHAUSTED;
    default:
      return IREE_STATUS_INTERNAL;
  }
}

iree_status_t mlxcel_text_status(int32_t code, const char* subject, char* error, const char* remedy) {
  iree_status_t status = iree_ok_status();
  if (code != MLXCEL_TEXT_OK) {
    status = iree_make_status(mlxcel_text_status_code(code), "%s: %s%s%s", subject, error ? error : "no details", remedy ? "; " : "", remedy ? remedy : "");
  }
  mlxcel_text_string_free(error);
  return status;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MLXCEL_TEXT_UNDER_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define MLXCEL_TEXT_UNDER_TSAN 1
#endif

#if defined(MLXCEL_TEXT_UNDER_TSAN)
// The shim is Rust and not instrumented: the sanitizer sees its memory accesses in malloc and memcpy, but not the locks and one-time cells around them,
// and would call every shared tokenizer a race.
const char* __tsan_default_suppressions(void);
const char* __tsan_default_suppressions(void) { return "race:tokenizers::\nrace:library/core/\nrace:library/alloc/\nrace:library/std/\nrace:mlxcel_text\n"; }
#endif
