#include "oracle/compare.h"

#include <math.h>
#include <string.h>

// What the three stored formats differ in.
typedef struct float_format_t {
  uint32_t sign_bit, infinity;
  int fraction_bits, exponent_min;  // of the smallest normal number
} float_format_t;
static const float_format_t formats[] = {
    [MLXCEL_DTYPE_F32] = {0x80000000u, 0x7f800000u, 23, -126},
    [MLXCEL_DTYPE_F16] = {0x8000u, 0x7c00u, 10, -14},
    [MLXCEL_DTYPE_BF16] = {0x8000u, 0x7f80u, 7, -126},
};

static bool dtype_is_float(mlxcel_dtype_t dtype) { return dtype == MLXCEL_DTYPE_F32 || dtype == MLXCEL_DTYPE_F16 || dtype == MLXCEL_DTYPE_BF16; }

uint32_t mlxcel_element_bits(mlxcel_dtype_t dtype, const void* data, uint64_t index) {
  if (mlxcel_dtype_size(dtype) == 2) {
    uint16_t half;
    memcpy(&half, (const uint8_t*)data + 2 * index, sizeof(half));
    return half;
  }
  uint32_t bits;
  memcpy(&bits, (const uint8_t*)data + 4 * index, sizeof(bits));
  return bits;
}

static bool bits_are_nan(const float_format_t* format, uint32_t bits) { return (bits & ~format->sign_bit) > format->infinity; }

bool mlxcel_element_is_equal(mlxcel_dtype_t dtype, uint32_t left, uint32_t right) {
  if (left == right) return true;
  if (dtype == MLXCEL_DTYPE_BF16) return false;  // one NaN only
  if (dtype == MLXCEL_DTYPE_F16) return left == (right ^ formats[dtype].sign_bit) && bits_are_nan(&formats[dtype], left);
  return bits_are_nan(&formats[dtype], left) && bits_are_nan(&formats[dtype], right);
}

// Position on the line of all values; -0 lies one step below +0.
static int64_t ordered(const float_format_t* format, uint32_t bits) {
  int64_t magnitude = bits & ~format->sign_bit;
  return bits & format->sign_bit ? -magnitude - 1 : magnitude;
}

uint64_t mlxcel_element_ulp(mlxcel_dtype_t dtype, uint32_t left, uint32_t right) {
  const float_format_t* format = &formats[dtype];
  if (mlxcel_element_is_equal(dtype, left, right)) return 0;
  if (bits_are_nan(format, left) || bits_are_nan(format, right)) return UINT64_MAX;
  int64_t distance = ordered(format, left) - ordered(format, right);
  return (uint64_t)(distance < 0 ? -distance : distance);
}

double mlxcel_dtype_spacing(mlxcel_dtype_t dtype, double magnitude) {
  const float_format_t* format = &formats[dtype];
  int exponent = magnitude > 0 ? ilogb(magnitude) : format->exponent_min;
  if (exponent < format->exponent_min) exponent = format->exponent_min;
  return ldexp(1.0, exponent - format->fraction_bits);
}

void mlxcel_coordinate_of(const mlxcel_operand_t* type, uint64_t index, int64_t out_coordinate[MLXCEL_OPERAND_RANK_MAX]) {
  for (uint32_t dim = type->rank; dim-- > 0;) {
    uint64_t size = (uint64_t)type->dims[dim];
    out_coordinate[dim] = (int64_t)(index % size);
    index /= size;
  }
}

static iree_status_t compare_check(const mlxcel_host_tensor_t* reference, const mlxcel_host_tensor_t* candidate) {
  const mlxcel_operand_t *left = &reference->type, *right = &candidate->type;
  bool same = left->dtype == right->dtype && left->rank == right->rank;
  for (uint32_t dim = 0; same && dim < left->rank; ++dim) same = left->dims[dim] == right->dims[dim];
  if (!same) {
    return iree_make_status(IREE_STATUS_INTERNAL,
                            "the reference's result (%s, rank %u, %" PRIu64 " elements) and the candidate's (%s, rank %u, %" PRIu64
                            " elements) have different types; one side computes another operation",
                            mlxcel_dtype_name(left->dtype), left->rank, mlxcel_operand_element_count(left), mlxcel_dtype_name(right->dtype), right->rank,
                            mlxcel_operand_element_count(right));
  }
  if (dtype_is_float(left->dtype)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INTERNAL, "results of dtype %s can't be compared; f32, f16 and bf16 can", mlxcel_dtype_name(left->dtype));
}

static void note_first(const mlxcel_operand_t* type, uint64_t index, double reference, double candidate, uint32_t reference_bits, uint32_t candidate_bits,
                       mlxcel_divergence_t* out_first) {
  *out_first = (mlxcel_divergence_t){.index = index,
                                     .rank = type->rank,
                                     .reference = reference,
                                     .candidate = candidate,
                                     .reference_bits = reference_bits,
                                     .candidate_bits = candidate_bits,
                                     .ulp = mlxcel_element_ulp(type->dtype, reference_bits, candidate_bits)};
  mlxcel_coordinate_of(type, index, out_first->coordinate);
}

// What one row adds up to.
typedef struct row_extent_t {
  double magnitude, difference;
} row_extent_t;

static void row_finish(mlxcel_dtype_t dtype, const mlxcel_bound_t* bound, row_extent_t* row, mlxcel_comparison_t* comparison) {
  if (bound && row->difference > 0) {
    double limit = bound->f32_units * mlxcel_dtype_spacing(MLXCEL_DTYPE_F32, row->magnitude) + bound->dtype_units * mlxcel_dtype_spacing(dtype, row->magnitude);
    if (bound->flushes) limit += MLXCEL_FLUSHED_MAX;
    double excess = limit > 0 ? row->difference / limit : INFINITY;
    if (excess > comparison->row_excess) comparison->row_excess = excess;
  }
  *row = (row_extent_t){0};
}

// Returns the difference's square, or a negative number if one side isn't finite.
static double compare_element(const mlxcel_host_tensor_t* reference, const mlxcel_host_tensor_t* candidate, uint64_t index, row_extent_t* row,
                              mlxcel_comparison_t* comparison) {
  mlxcel_dtype_t dtype = reference->type.dtype;
  uint32_t reference_bits = mlxcel_element_bits(dtype, reference->data, index), candidate_bits = mlxcel_element_bits(dtype, candidate->data, index);
  double left = (double)mlxcel_dtype_widen(dtype, reference->data, index), right = (double)mlxcel_dtype_widen(dtype, candidate->data, index);
  bool finite = isfinite(left) && isfinite(right);
  if (isfinite(left) && fabs(left) > row->magnitude) row->magnitude = fabs(left);
  if (isfinite(left) && fabs(left) > comparison->max_magnitude) comparison->max_magnitude = fabs(left);
  if (!mlxcel_element_is_equal(dtype, reference_bits, candidate_bits)) {
    if (comparison->mismatches++ == 0) note_first(&reference->type, index, left, right, reference_bits, candidate_bits, &comparison->first);
    if (!finite && !(isnan(left) && isnan(right))) row->difference = INFINITY;
  }
  double difference = finite ? fabs(right - left) : 0;
  if (difference > row->difference) row->difference = difference;
  if (row->difference > comparison->max_abs) comparison->max_abs = row->difference;
  return finite ? difference * difference : -1;
}

iree_status_t mlxcel_compare(const mlxcel_host_tensor_t* reference, const mlxcel_host_tensor_t* candidate, const mlxcel_bound_t* bound,
                             mlxcel_comparison_t* out_comparison) {
  memset(out_comparison, 0, sizeof(*out_comparison));
  IREE_RETURN_IF_ERROR(compare_check(reference, candidate));
  const mlxcel_operand_t* type = &reference->type;
  uint64_t count = mlxcel_operand_element_count(type), width = type->rank ? (uint64_t)type->dims[type->rank - 1] : 1, measured = 0;
  row_extent_t row = {0};
  double squares = 0;
  for (uint64_t i = 0; i < count; ++i) {
    double square = compare_element(reference, candidate, i, &row, out_comparison);
    if (square >= 0) {
      squares += square;
      ++measured;
    }
    if (bound && bound->magnitudes && (double)bound->magnitudes[i] > row.magnitude && isfinite(bound->magnitudes[i]))
      row.magnitude = (double)bound->magnitudes[i];
    if ((i + 1) % width == 0) row_finish(type->dtype, bound, &row, out_comparison);
  }
  out_comparison->outputs = count;
  out_comparison->rms = measured ? sqrt(squares / (double)measured) : 0;
  return iree_ok_status();
}
