#include "bench/bench_list.h"

#include "base/limits.h"

// What a text may be, for its error.
typedef struct list_bounds_t {
  iree_string_view_t text;  // all of it
  uint32_t minimum, maximum;
} list_bounds_t;

static iree_status_t list_refuse(const list_bounds_t* bounds) {
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "'%.*s' isn't a list of whole numbers from %u to %u; write 512 or 128,256 or a range: 1-4, 128-512+128, 1-8*2",
                          MLXCEL_SV(bounds->text), bounds->minimum, bounds->maximum);
}

// Takes the digits at the beginning of |rest|; false if there are none or too many.
static bool list_take_number(iree_string_view_t* rest, uint64_t* out_value) {
  *out_value = 0;
  size_t size = 0;
  while (size < rest->size && rest->data[size] >= '0' && rest->data[size] <= '9') {
    *out_value = *out_value * 10 + (uint64_t)(rest->data[size++] - '0');
    if (*out_value > UINT32_MAX) return false;
  }
  *rest = iree_string_view_remove_prefix(*rest, size);
  return size > 0;
}

static bool list_take(iree_string_view_t* rest, char wanted) {
  if (rest->size == 0 || rest->data[0] != wanted) return false;
  *rest = iree_string_view_remove_prefix(*rest, 1);
  return true;
}

// One number or range of a list. last < first, a step of 0 and a factor below 2 would never end.
typedef struct list_range_t {
  uint64_t first, last, step, factor;
} list_range_t;

static bool list_range_parse(iree_string_view_t item, list_range_t* out_range) {
  *out_range = (list_range_t){.step = 1, .factor = 1};
  if (!list_take_number(&item, &out_range->first)) return false;
  out_range->last = out_range->first;
  if (list_take(&item, '-')) {
    if (!list_take_number(&item, &out_range->last) || out_range->last < out_range->first) return false;
    if (list_take(&item, '+')) {
      if (!list_take_number(&item, &out_range->step) || out_range->step == 0) return false;
    } else if (list_take(&item, '*')) {
      out_range->step = 0;
      if (!list_take_number(&item, &out_range->factor) || out_range->factor < 2 || out_range->first == 0) return false;
    }
  }
  return item.size == 0;
}

static iree_status_t list_append_range(const list_bounds_t* bounds, const list_range_t* range, mlxcel_bench_list_t* list) {
  if (range->first < bounds->minimum || range->last > bounds->maximum) return list_refuse(bounds);
  for (uint64_t value = range->first; value <= range->last; value = value * range->factor + range->step) {
    if (list->count == MLXCEL_BENCH_VALUES_MAX) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "'%.*s' makes more than %u values; give fewer", MLXCEL_SV(bounds->text), MLXCEL_BENCH_VALUES_MAX);
    }
    list->values[list->count++] = (uint32_t)value;
  }
  return iree_ok_status();
}

iree_status_t mlxcel_bench_list_append(iree_string_view_t text, uint32_t minimum, uint32_t maximum, mlxcel_bench_list_t* list) {
  const list_bounds_t bounds = {text, minimum, maximum};
  iree_string_view_t rest = text;
  bool has_more = true;
  while (has_more) {
    iree_string_view_t item;
    has_more = iree_string_view_split(rest, ',', &item, &rest) >= 0;
    list_range_t range;
    if (!list_range_parse(item, &range)) return list_refuse(&bounds);
    IREE_RETURN_IF_ERROR(list_append_range(&bounds, &range, list));
  }
  return iree_ok_status();
}

iree_status_t mlxcel_bench_pair_parse(iree_string_view_t text, uint32_t maximum, uint32_t* out_prompt, uint32_t* out_gen) {
  *out_prompt = *out_gen = 0;
  uint64_t prompt = 0, gen = 0;
  iree_string_view_t rest = text;
  const bool is_pair = list_take_number(&rest, &prompt) && list_take(&rest, ',') && list_take_number(&rest, &gen) && rest.size == 0;
  if (!is_pair || prompt == 0 || gen == 0 || prompt > maximum || gen > maximum) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "'%.*s' isn't PROMPT,GEN: two whole numbers from 1 to %u, as 512,128", MLXCEL_SV(text), maximum);
  }
  *out_prompt = (uint32_t)prompt;
  *out_gen = (uint32_t)gen;
  return iree_ok_status();
}
