// selection.h: where a row is cut: the entry at which a running sum over the entries in falling order reaches a goal.
//
// Top-k counts entries, top-p adds their masses. The order is total (value falling, then id rising) and sums are integers, so the answer is exact and depends
// on no method. The method is linear: entries are thrown into buckets by value, all but the bucket in which the sum crosses the goal are
// dropped, and so on inside it; nothing is sorted but a last handful. The caller owns all storage; one thread at a time.
#ifndef MLXCEL_ENGINE_SELECTION_H_
#define MLXCEL_ENGINE_SELECTION_H_

#include <stdbool.h>
#include <stdint.h>

typedef struct mlxcel_entry_t {
  double value;
  int32_t id;
} mlxcel_entry_t;

// True if |a| comes before |b|.
static inline bool mlxcel_entry_precedes(mlxcel_entry_t a, mlxcel_entry_t b) { return a.value > b.value || (a.value == b.value && a.id < b.id); }

// The entry that comes after all others.
static inline mlxcel_entry_t mlxcel_entry_last(void) { return (mlxcel_entry_t){.value = -__builtin_inf(), .id = INT32_MAX}; }

// The last entry of the shortest run of first entries whose |masses| (NULL: 1 each) add up to |goal| (>= 1) or more; mlxcel_entry_last() if all together don't.
// Only entries of |entries| [count] count; they are in rising order of id, hold no NaN, and differ by nothing or by more than 1e-280. |entries| is overwritten.
// |masses| is indexed by id.
mlxcel_entry_t mlxcel_selection_find(mlxcel_entry_t* entries, uint32_t count, const uint64_t* masses, uint64_t goal);

// The first id at which the running sum of |masses| [count] exceeds |target|, which is below their total.
int32_t mlxcel_selection_draw(const uint64_t* masses, uint32_t count, uint64_t target);

#endif  // MLXCEL_ENGINE_SELECTION_H_
