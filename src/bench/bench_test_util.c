#include "bench/bench_test_util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"

void bench_assert_refused(iree_status_t status, const char* const* words) {
  assert_true(iree_status_is_invalid_argument(status));
  char text[512];
  mlxcel_status_text(status, text, sizeof(text));
  iree_status_free(status);
  for (size_t i = 0; words[i]; ++i) {
    if (!strstr(text, words[i])) fail_msg("'%s' lacks '%s'", text, words[i]);
  }
}
