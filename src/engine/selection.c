#include "engine/selection.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SELECTION_BUCKETS 1024  // a row of 150,000 entries leaves a few hundred for the second round
#define SELECTION_SORTED_MAX 32u

typedef struct selection_range_t {
  double low, high;
} selection_range_t;

static uint64_t selection_mass(const uint64_t* masses, mlxcel_entry_t entry) { return masses ? masses[entry.id] : 1; }

static selection_range_t selection_find_range(const mlxcel_entry_t* entries, uint32_t count) {
  selection_range_t range = {.low = INFINITY, .high = -INFINITY};
  for (uint32_t i = 0; i < count; ++i) {
    if (entries[i].value < range.low) range.low = entries[i].value;
    if (entries[i].value > range.high) range.high = entries[i].value;
  }
  return range;
}

static void selection_sort(mlxcel_entry_t* entries, uint32_t count) {
  for (uint32_t i = 1; i < count; ++i) {
    mlxcel_entry_t moved = entries[i];
    uint32_t at = i;
    for (; at > 0 && mlxcel_entry_precedes(moved, entries[at - 1]); --at) entries[at] = entries[at - 1];
    entries[at] = moved;
  }
}

// The entry of an ordered list at which the sum reaches |goal|.
static mlxcel_entry_t selection_walk(const mlxcel_entry_t* entries, uint32_t count, const uint64_t* masses, uint64_t goal) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    sum += selection_mass(masses, entries[i]);
    if (sum >= goal) return entries[i];
  }
  return mlxcel_entry_last();
}

// Rises as the value falls; the largest value is in bucket 0, the smallest in the last.
static uint32_t selection_bucket(double value, double high, double scale) {
  double place = (high - value) * scale;
  return place < SELECTION_BUCKETS ? (uint32_t)place : SELECTION_BUCKETS - 1;
}

// Keeps the entries of the bucket in which the sum crosses |*goal|, and takes from |*goal| what comes before. Returns how many are left; 0 if it isn't crossed.
static uint32_t selection_narrow(mlxcel_entry_t* entries, uint32_t count, const uint64_t* masses, selection_range_t range, uint64_t* goal) {
  double scale = SELECTION_BUCKETS / (range.high - range.low);
  assert(isfinite(scale));
  uint64_t sums[SELECTION_BUCKETS] = {0};
  for (uint32_t i = 0; i < count; ++i) sums[selection_bucket(entries[i].value, range.high, scale)] += selection_mass(masses, entries[i]);
  uint32_t crossed = 0;
  while (crossed < SELECTION_BUCKETS && sums[crossed] < *goal) *goal -= sums[crossed++];
  uint32_t left = 0;
  for (uint32_t i = 0; i < count && crossed < SELECTION_BUCKETS; ++i) {
    if (selection_bucket(entries[i].value, range.high, scale) == crossed) entries[left++] = entries[i];
  }
  return left;
}

// Every round drops at least the smallest or the largest entry, and usually all but a thousandth.
mlxcel_entry_t mlxcel_selection_find(mlxcel_entry_t* entries, uint32_t count, const uint64_t* masses, uint64_t goal) {
  while (count > SELECTION_SORTED_MAX) {
    selection_range_t range = selection_find_range(entries, count);
    if (range.low == range.high) return selection_walk(entries, count, masses, goal);  // order of ids
    count = selection_narrow(entries, count, masses, range, &goal);
  }
  selection_sort(entries, count);
  return selection_walk(entries, count, masses, goal);
}

int32_t mlxcel_selection_draw(const uint64_t* masses, uint32_t count, uint64_t target) {
  uint64_t sum = 0;
  uint32_t id = 0;
  while (id < count && (sum += masses[id]) <= target) ++id;
  assert(id < count);
  return (int32_t)id;
}
