// compare.h: two results, element by element: which bits differ, where first, by how much.
#ifndef MLXCEL_ORACLE_COMPARE_H_
#define MLXCEL_ORACLE_COMPARE_H_

#include "contract/operation.h"

// One element of both sides.
typedef struct mlxcel_divergence_t {
  uint64_t index;  // flat
  uint32_t rank;
  int64_t coordinate[MLXCEL_OPERAND_RANK_MAX];
  double reference, candidate;
  uint32_t reference_bits, candidate_bits;  // in the low bits for 16-bit types
  uint64_t ulp;                             // steps between neighbouring values of the dtype; UINT64_MAX if one side is a NaN
} mlxcel_divergence_t;

typedef struct mlxcel_comparison_t {
  uint64_t outputs;
  uint64_t mismatches;  // by bits; +0 and -0 differ; any NaN equals any in f32, of either sign in f16; bf16 has one
  mlxcel_divergence_t first;
  double max_abs;        // of candidate - reference over elements that are finite on both sides; infinite if one side alone is a NaN or infinite
  double rms;            // of the same differences
  double max_magnitude;  // largest finite magnitude of the reference
  double row_excess;  // the largest difference in a row (of the last dimension) over the row's bound, for the worst row: at most 1 is within; 0 without bound
} mlxcel_comparison_t;

// 256 times the smallest normal number: what a flushed factor or a few flushed terms leave of a result.
#define MLXCEL_FLUSHED_MAX 0x1p-118

// How far a row may be off: |f32_units| spacings of f32 and |dtype_units| spacings of the dtype, both at the largest magnitude in the row, of results and of
// terms.
typedef struct mlxcel_bound_t {
  uint32_t f32_units, dtype_units;
  bool flushes;             // subnormal steps may be lost: results of up to MLXCEL_FLUSHED_MAX count as zero
  const float* magnitudes;  // of the terms (magnitude.h), one an output; may be NULL
} mlxcel_bound_t;

// |bound| may be NULL. INTERNAL: the types differ (dtype, rank or a dimension), or the dtype isn't a floating-point one; the message has both.
iree_status_t mlxcel_compare(const mlxcel_host_tensor_t* reference, const mlxcel_host_tensor_t* candidate, const mlxcel_bound_t* bound,
                             mlxcel_comparison_t* out_comparison);

// The stored bits of element |index|.
uint32_t mlxcel_element_bits(mlxcel_dtype_t dtype, const void* data, uint64_t index);
bool mlxcel_element_is_equal(mlxcel_dtype_t dtype, uint32_t left, uint32_t right);
uint64_t mlxcel_element_ulp(mlxcel_dtype_t dtype, uint32_t left, uint32_t right);
// Distance from |magnitude| to the next larger value of |dtype|.
double mlxcel_dtype_spacing(mlxcel_dtype_t dtype, double magnitude);
void mlxcel_coordinate_of(const mlxcel_operand_t* type, uint64_t index, int64_t out_coordinate[MLXCEL_OPERAND_RANK_MAX]);

#endif  // MLXCEL_ORACLE_COMPARE_H_
