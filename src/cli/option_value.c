// Typed values of options, and spelling suggestions.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/options.h"

typedef struct value_context_t {
  const mlxcel_cli_option_t* option;
  const char* origin;
  const char* text;
  char* message;
  size_t message_capacity;
} value_context_t;

static bool refuse(const value_context_t* context, const char* expected) {
  snprintf(context->message, context->message_capacity, "%s: '%.200s' isn't %s", context->origin, context->text, expected);
  return false;
}

static bool store_flag(const value_context_t* context, bool* out_value) {
  static const char* const yes[] = {"true", "1", "yes", "on", NULL};
  static const char* const no[] = {"false", "0", "no", "off", NULL};
  for (size_t i = 0; yes[i]; ++i) {
    if (strcmp(context->text, yes[i]) == 0) return *out_value = true;
    if (strcmp(context->text, no[i]) == 0) {
      *out_value = false;
      return true;
    }
  }
  return refuse(context, "a truth value; valid: true, false (or 1, 0, yes, no, on, off)");
}

static bool store_choice(const value_context_t* context, const char** out_value) {
  char expected[512] = "valid; choose one of";
  size_t used = strlen(expected);
  for (size_t i = 0; context->option->choices[i]; ++i) {
    if (strcmp(context->text, context->option->choices[i]) == 0) {
      *out_value = context->option->choices[i];
      return true;
    }
    if (used < sizeof(expected)) used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s %s", i ? "," : "", context->option->choices[i]);
  }
  return refuse(context, expected);
}

// The C library skips leading space, which here is more likely a slip of quoting than meant.
static bool starts_like_number(const char* text) { return (text[0] >= '0' && text[0] <= '9') || text[0] == '-' || text[0] == '+' || text[0] == '.'; }

static bool store_integer(const value_context_t* context, int64_t* out_value) {
  char expected[160];
  snprintf(expected, sizeof(expected), "a whole number from %.0f to %.0f", context->option->minimum, context->option->maximum);
  char* end = NULL;
  errno = 0;
  long long value = strtoll(context->text, &end, 10);
  if (errno != 0 || !starts_like_number(context->text) || *end || end == context->text) return refuse(context, expected);
  if ((double)value < context->option->minimum || (double)value > context->option->maximum) return refuse(context, expected);
  *out_value = value;
  return true;
}

static bool store_number(const value_context_t* context, double* out_value) {
  char expected[160];
  snprintf(expected, sizeof(expected), "a number from %g to %g", context->option->minimum, context->option->maximum);
  char* end = NULL;
  double value = strtod(context->text, &end);
  if (!starts_like_number(context->text) || *end || end == context->text || !isfinite(value)) return refuse(context, expected);
  if (value < context->option->minimum || value > context->option->maximum) return refuse(context, expected);
  *out_value = value;
  return true;
}

static bool store_seed(const value_context_t* context, uint64_t* out_value) {
  if (strcmp(context->text, "random") == 0) {
    if (getrandom(out_value, sizeof(*out_value), 0) == (ssize_t)sizeof(*out_value)) return true;
    return refuse(context, "available: the system gives no random bytes; give a number");
  }
  char* end = NULL;
  errno = 0;
  unsigned long long value = strtoull(context->text, &end, 10);
  bool digits = context->text[0] >= '0' && context->text[0] <= '9';
  if (errno != 0 || !digits || *end) return refuse(context, "a whole number from 0 to 18446744073709551615, or 'random'");
  *out_value = value;
  return true;
}

static bool store_list_item(const value_context_t* context, mlxcel_cli_list_t* list) {
  if (list->count == MLXCEL_CLI_LIST_ITEMS_MAX) {
    snprintf(context->message, context->message_capacity, "%s: given more than %u times", context->origin, MLXCEL_CLI_LIST_ITEMS_MAX);
    return false;
  }
  list->items[list->count++] = context->text;
  return true;
}

bool mlxcel_cli_value_store(const mlxcel_cli_option_t* option, const char* origin, const char* text, void* value, char* message, size_t message_capacity) {
  value_context_t context = {option, origin, text, message, message_capacity};
  switch (option->type) {
    case MLXCEL_CLI_FLAG:
      return store_flag(&context, value);
    case MLXCEL_CLI_CHOICE:
      return store_choice(&context, value);
    case MLXCEL_CLI_INTEGER:
      return store_integer(&context, value);
    case MLXCEL_CLI_NUMBER:
      return store_number(&context, value);
    case MLXCEL_CLI_SEED:
      return store_seed(&context, value);
    case MLXCEL_CLI_LIST:
      return store_list_item(&context, value);
    case MLXCEL_CLI_TEXT:
      break;
  }
  *(const char**)value = text;
  return true;
}

// Insertions, deletions, substitutions and swaps of neighbours that turn |a| into |b|.
static size_t edit_distance(const char* a, size_t a_size, const char* b, size_t b_size) {
  size_t rows[3][MLXCEL_CLI_NEAREST_BYTES_MAX + 1];
  for (size_t j = 0; j <= b_size; ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a_size; ++i) {
    size_t* current = rows[i % 3];
    const size_t* previous = rows[(i + 2) % 3];
    const size_t* before = rows[(i + 1) % 3];
    current[0] = i;
    for (size_t j = 1; j <= b_size; ++j) {
      size_t best = previous[j - 1] + (a[i - 1] != b[j - 1]);
      if (previous[j] + 1 < best) best = previous[j] + 1;
      if (current[j - 1] + 1 < best) best = current[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
      current[j] = best;
    }
  }
  return rows[a_size % 3][b_size];
}

const char* mlxcel_cli_nearest(const char* text, const char* const* candidates) {
  size_t text_size = strlen(text);
  if (text_size == 0 || text_size > MLXCEL_CLI_NEAREST_BYTES_MAX) return NULL;
  const char* best = NULL;
  size_t best_distance = text_size / 3 + 2;  // one slip in a short word, more in a long one
  for (size_t i = 0; candidates[i]; ++i) {
    size_t candidate_size = strlen(candidates[i]);
    if (candidate_size > MLXCEL_CLI_NEAREST_BYTES_MAX) continue;
    size_t distance = edit_distance(text, text_size, candidates[i], candidate_size);
    if (distance < best_distance && distance < candidate_size) {
      best = candidates[i];
      best_distance = distance;
    }
  }
  return best;
}
