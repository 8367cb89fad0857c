#include "engine/selection.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/philox.h"

enum { kCount = 3000 };

static int compare_entries(const void* a, const void* b) { return mlxcel_entry_precedes(*(const mlxcel_entry_t*)a, *(const mlxcel_entry_t*)b) ? -1 : 1; }

// What sorting everything says.
static mlxcel_entry_t find_by_sorting(const mlxcel_entry_t* entries, uint32_t count, const uint64_t* masses, uint64_t goal) {
  mlxcel_entry_t sorted[kCount];
  memcpy(sorted, entries, count * sizeof(sorted[0]));
  qsort(sorted, count, sizeof(sorted[0]), compare_entries);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    sum += masses ? masses[sorted[i].id] : 1;
    if (sum >= goal) return sorted[i];
  }
  return mlxcel_entry_last();
}

static void check_goal(const mlxcel_entry_t* entries, uint32_t count, const uint64_t* masses, uint64_t goal) {
  mlxcel_entry_t scratch[kCount];
  memcpy(scratch, entries, count * sizeof(scratch[0]));
  mlxcel_entry_t expected = find_by_sorting(entries, count, masses, goal);
  mlxcel_entry_t found = mlxcel_selection_find(scratch, count, masses, goal);
  assert_int_equal(found.id, expected.id);
  assert_true(found.value == expected.value);
}

// Goals over the whole range, by count and by mass.
static void check_entries(const mlxcel_entry_t* entries, uint32_t count) {
  uint64_t masses[kCount], total = 0;
  for (uint32_t i = 0; i < kCount; ++i) masses[i] = mlxcel_philox_bits(5, 0, i) >> 24;
  for (uint32_t i = 0; i < count; ++i) total += masses[entries[i].id];
  for (uint64_t step = 0; step <= 40; ++step) {
    check_goal(entries, count, NULL, 1 + step * count / 40);
    check_goal(entries, count, masses, 1 + (uint64_t)((double)total * (double)step / 40.0));
  }
  check_goal(entries, count, NULL, count);
  check_goal(entries, count, masses, total);
  check_goal(entries, count, masses, total + 1);
}

// |distinct| different values over a range of |spread|, ids with holes.
static void fill_entries(mlxcel_entry_t* entries, uint32_t count, double spread, double distinct) {
  for (uint32_t i = 0; i < count; ++i) {
    double uniform = (double)(mlxcel_philox_bits(9, 1, i) >> 11) * 0x1p-53;
    entries[i] = (mlxcel_entry_t){.value = -spread * floor(uniform * distinct) / distinct, .id = (int32_t)(i * (kCount / count))};
  }
}

static void selection_agrees_with_sorting_at_every_spread(void** state) {
  (void)state;
  mlxcel_entry_t entries[kCount];
  const double spreads[] = {1e-60, 1e-3, 1.0, 28.0};
  for (size_t i = 0; i < 4; ++i) {
    fill_entries(entries, kCount, spreads[i], 1e9);
    check_entries(entries, kCount);
  }
}

static void selection_agrees_with_sorting_among_ties(void** state) {
  (void)state;
  mlxcel_entry_t entries[kCount];
  const double distinct[] = {1.0, 2.0, 7.0, 100.0, 2000.0};
  for (size_t i = 0; i < 5; ++i) {
    fill_entries(entries, kCount, 28.0, distinct[i]);
    check_entries(entries, kCount);
  }
}

static void selection_agrees_with_sorting_for_every_count(void** state) {
  (void)state;
  mlxcel_entry_t entries[kCount];
  for (uint32_t count = 1; count <= 80; ++count) {
    fill_entries(entries, count, 3.0, 20.0);
    check_entries(entries, count);
  }
}

// Each round of buckets takes away only the few values at the upper end.
static void selection_agrees_with_sorting_of_values_that_crowd(void** state) {
  (void)state;
  mlxcel_entry_t entries[kCount];
  for (uint32_t i = 0; i < kCount; ++i) entries[i] = (mlxcel_entry_t){.value = -ldexp(28.0, -(int)(i * 7919 % 300)), .id = (int32_t)i};
  check_entries(entries, kCount);
}

static void selection_of_equal_values_goes_by_rising_id(void** state) {
  (void)state;
  mlxcel_entry_t entries[kCount];
  for (uint32_t i = 0; i < kCount; ++i) entries[i] = (mlxcel_entry_t){.value = 0.0, .id = (int32_t)i};
  for (uint64_t goal = 1; goal <= kCount; goal += 499) assert_int_equal(mlxcel_selection_find(entries, kCount, NULL, goal).id, goal - 1);
}

static void selection_of_too_little_keeps_everything(void** state) {
  (void)state;
  mlxcel_entry_t entries[kCount];
  fill_entries(entries, kCount, 28.0, 1e9);
  mlxcel_entry_t found = mlxcel_selection_find(entries, kCount, NULL, kCount + 1);
  assert_int_equal(found.id, INT32_MAX);
  assert_true(found.value == -INFINITY);
  assert_int_equal(mlxcel_selection_find(entries, 0, NULL, 1).id, INT32_MAX);
}

static void selection_draw_gives_every_unit_of_mass_its_owner(void** state) {
  (void)state;
  const uint64_t masses[] = {0, 3, 0, 0, 1, 2, 0};
  const int32_t owners[] = {1, 1, 1, 4, 5, 5};
  for (uint64_t target = 0; target < 6; ++target) assert_int_equal(mlxcel_selection_draw(masses, 7, target), owners[target]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(selection_agrees_with_sorting_at_every_spread),     cmocka_unit_test(selection_agrees_with_sorting_among_ties),
      cmocka_unit_test(selection_agrees_with_sorting_for_every_count),     cmocka_unit_test(selection_agrees_with_sorting_of_values_that_crowd),
      cmocka_unit_test(selection_of_equal_values_goes_by_rising_id),       cmocka_unit_test(selection_of_too_little_keeps_everything),
      cmocka_unit_test(selection_draw_gives_every_unit_of_mass_its_owner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
