// kernel_test_util.h: what the kernels' tests share: guarded buffers, operands from a seed, and the comparison of every build of a kernel with the reference.
//
// A guarded buffer ends exactly where an inaccessible page begins, so that touching one byte behind it crashes the test; the bytes in front of it hold a
// pattern that is compared after every call. Inputs are read-only while kernels run. Ownership: the test releases what it creates. One thread.
#ifndef MLXCEL_KERNELS_KERNEL_TEST_UTIL_H_
#define MLXCEL_KERNELS_KERNEL_TEST_UTIL_H_

#include "kernels/kernel_abi.h"
#include "kernels/kernel_objects.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

//===- Buffers ------------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct guarded_t {
  uint8_t* mapping;  // NULL: another buffer's memory, released there
  size_t mapping_bytes;
  uint8_t* data;
  size_t bytes;
  int32_t type;   // MLXCEL_FORMAT_* of the elements, as results are compared; f32 unless a test sets it
  size_t offset;  // elements between the base pointer that a kernel gets and |data|
} guarded_t;

// |count| elements of |element_bytes|, filled with the pattern.
guarded_t guarded_create(size_t count, size_t element_bytes);
void guarded_release(guarded_t* buffer);
// A second view of the same memory, for absent arguments.
guarded_t guarded_alias(const guarded_t* buffer);
void guarded_protect(const guarded_t* buffer);  // read-only from here on

// A buffer as the two arguments of MLXCEL_BUFFER.
#define GUARDED_F32(buffer) (float*)(void*)(buffer).data - (buffer).offset, (buffer).offset
#define GUARDED_I32(buffer) (int32_t*)(void*)(buffer).data - (buffer).offset, (buffer).offset
#define GUARDED_BYTES(buffer) (buffer).data - (buffer).offset, (buffer).offset
#define GUARDED_MATRIX(m) GUARDED_BYTES((m).w), GUARDED_BYTES((m).s), GUARDED_BYTES((m).b), GUARDED_BYTES((m).v)

//===- Operands -----------------------------------------------------------------------------------------------------------------------------------------===//

typedef enum operand_style_e {
  STYLE_PLAIN,      // magnitudes within a few powers of two
  STYLE_WIDE,       // 2^-20 .. 2^20, with zeros of both signs
  STYLE_CANCELING,  // each lane's values repeat with the other sign, one bit off
  STYLE_SUBNORMAL,  // products at and below 2^-126, operands partly subnormal
  STYLE_HUGE,       // sums that overflow to infinities and NaNs
  STYLE_COUNT,
} operand_style_t;

typedef struct random_t {
  uint64_t state;
} random_t;
uint64_t random_next(random_t* random);
// Whole number in [0, bound).
int32_t random_below(random_t* random, int32_t bound);
// |index| is the element's place in its row.
float random_float(random_t* random, operand_style_t style, size_t index);

size_t format_type_bytes(int32_t type);
// Rounds |value| toward zero into |type| (f16 saturates below infinity); used to make operands, so the rounding is free to choose.
void store_typed(uint8_t* data, int32_t type, size_t index, float value);

guarded_t typed_create(random_t* random, operand_style_t style, int32_t type, size_t count);

typedef enum inactive_e { INACTIVE_NONE, INACTIVE_END, INACTIVE_MIDDLE, INACTIVE_ALL, INACTIVE_COUNT } inactive_t;
bool test_row_is_inactive(inactive_t inactive, size_t row, size_t rows);
// Positions 0, 1, ... of |rows| rows, -1 where inactive.
guarded_t test_positions_create(inactive_t inactive, size_t rows);
// [rows, width]; rows whose position is negative are NaN, |positions| may be NULL.
guarded_t test_rows_create(random_t* random, operand_style_t style, const int32_t* positions, size_t rows, size_t width);
static inline int32_t* guarded_ints(const guarded_t* buffer) { return (int32_t*)(void*)buffer->data; }
static inline float* guarded_floats(const guarded_t* buffer) { return (float*)(void*)buffer->data; }

typedef struct test_matrix_t {
  guarded_t w, s, b, v;
  int32_t format, flags;
} test_matrix_t;
test_matrix_t test_matrix_create(random_t* random, operand_style_t style, int32_t format, int32_t flags, size_t rows, size_t width);
void test_matrix_release(test_matrix_t* matrix);

// Every storage of a matrix: three dense types, and 2, 3, 4, 5, 6 and 8 bits in groups of 32, 64 and 128 with scales of three types.
#define TEST_FORMAT_COUNT (3 + 6 * 3 * 3)
int32_t test_format_at(size_t i);
// The least width that |format| can store.
int32_t test_format_width_unit(int32_t format);
const char* test_format_name(int32_t format);

//===- Comparison ---------------------------------------------------------------------------------------------------------------------------------------===//

#define DECLARE_KERNEL_POINTER(name, arguments) void (*name)(arguments);
typedef struct kernel_set_t {
  const char* name;
  MLXCEL_KERNELS(DECLARE_KERNEL_POINTER)
} kernel_set_t;
const kernel_set_t* kernel_set_reference(void);
const kernel_set_t* kernel_set_of_level(mlxcel_kernel_level_t level);

#define CHECK_OUTPUTS_MAX 3
typedef struct kernel_check_t {
  const char* what;  // for messages
  // Calls one kernel of |set| as workgroup |group| of |groups| on |arguments|.
  void (*call)(const void* arguments, const kernel_set_t* set, size_t group, size_t groups);
  const void* arguments;
  guarded_t* outputs[CHECK_OUTPUTS_MAX];  // their contents before the call count: they're restored before every run, and hold the reference's results after it
  // Output 0 is [rows, row_floats]; what stands in an inactive row of it is nobody's business. Other outputs count whole.
  const int32_t* positions;
  size_t rows, row_floats;
} kernel_check_t;
// Fails the test unless every build that runs here, with any number of workgroups, with and without flush-to-zero in the caller's MXCSR, gives the reference's
// bits in every output and leaves MXCSR as it was.
void kernel_check_run(const kernel_check_t* check);
// Prints how many compared results were normal, subnormal, zero, infinite and NaN, and fails if a kind is missing: then the operands tested too little.
int kernel_results_report(void** state);
// Prints which builds this processor can't run, once, as the group setup of a test.
int kernel_levels_report(void** state);

#endif  // MLXCEL_KERNELS_KERNEL_TEST_UTIL_H_
