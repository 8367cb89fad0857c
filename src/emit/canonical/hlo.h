// hlo.h: writers of single StableHLO, tensor and linalg operations with static shapes. Syntax only: which operation means what numerically is said by the
// helpers.
//
// Every float is written as its bit pattern, every operation on a line of its own, so that texts are deterministic and mutations can name a line. A failure
// (no memory) sticks to the builder.
#ifndef MLXCEL_EMIT_CANONICAL_HLO_H_
#define MLXCEL_EMIT_CANONICAL_HLO_H_

#include "emit/module_builder.h"

// --- tensors -------------------------------------------------------------------------------------------------------------------------------------
mlxcel_value_t mlxcel_hlo_reshape(mlxcel_module_builder_t* builder, mlxcel_value_t value, uint32_t rank, const int64_t* dims);
// Result dimension i is dimension permutation[i] of |value|.
mlxcel_value_t mlxcel_hlo_transpose(mlxcel_module_builder_t* builder, mlxcel_value_t value, const uint32_t* permutation);
// Elements start .. limit - 1 of dimension |dim|, all of the others.
mlxcel_value_t mlxcel_hlo_slice(mlxcel_module_builder_t* builder, mlxcel_value_t value, uint32_t dim, int64_t start, int64_t limit);
mlxcel_value_t mlxcel_hlo_concatenate(mlxcel_module_builder_t* builder, uint32_t count, const mlxcel_value_t* values, uint32_t dim);
// The same sizes as |value|, another element type; elements are converted (floats: to nearest even).
mlxcel_value_t mlxcel_hlo_convert(mlxcel_module_builder_t* builder, mlxcel_value_t value, mlxcel_element_t element);

// Contracts dimension |lhs_dim| of |lhs| with |rhs_dim| of |rhs|; the first |batch_count| dimensions of both are batch dimensions. The result is f32 whatever
// the operands are: [batch, free of lhs, free of rhs].
mlxcel_value_t mlxcel_hlo_dot_general(mlxcel_module_builder_t* builder, mlxcel_value_t lhs, mlxcel_value_t rhs, uint32_t batch_count, uint32_t lhs_dim,
                                      uint32_t rhs_dim);

// x [batch, h, w, in] * w [out, kernel_h, kernel_w, in] with the operation's strides and padding: f32 [batch, out_h, out_w, out].
mlxcel_value_t mlxcel_hlo_convolution(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t x, mlxcel_value_t w,
                                      const int64_t result_dims[4]);

// --- loops over elements -----------------------------------------------------------------------------------------------------------------------------
#define MLXCEL_LOOP_INPUTS_MAX 6
#define MLXCEL_LOOP_OUTPUTS_MAX 2

// One linalg.generic. Every tensor says with one digit a dimension which loop walks it ("02": dimension 0 by loop 0, dimension 1 by loop 2).
typedef struct mlxcel_loop_t {
  const char* iterators;  // one letter a loop: 'p' parallel, 'r' reduction
  uint32_t input_count, output_count;
  mlxcel_value_t inputs[MLXCEL_LOOP_INPUTS_MAX];
  const char* input_maps[MLXCEL_LOOP_INPUTS_MAX];
  mlxcel_value_t outputs[MLXCEL_LOOP_OUTPUTS_MAX];  // initial values; then the results
  const char* output_maps[MLXCEL_LOOP_OUTPUTS_MAX];
  // While the body is open: one element of each.
  mlxcel_value_t in[MLXCEL_LOOP_INPUTS_MAX], out[MLXCEL_LOOP_OUTPUTS_MAX];
} mlxcel_loop_t;

void mlxcel_loop_input(mlxcel_loop_t* loop, mlxcel_value_t value, const char* map);
void mlxcel_loop_output(mlxcel_loop_t* loop, mlxcel_value_t initial, const char* map);
// Writes the head and makes |in| and |out|: scalars of the tensors' element types.
void mlxcel_loop_begin(mlxcel_module_builder_t* builder, mlxcel_loop_t* loop);
// Yields |values| (one an output) and returns the first result; all are in loop->outputs.
mlxcel_value_t mlxcel_loop_end(mlxcel_module_builder_t* builder, mlxcel_loop_t* loop, const mlxcel_value_t* values);

// A tensor without defined contents, and one filled with the scalar |fill|: initial values of loops without and with reductions.
mlxcel_value_t mlxcel_hlo_empty(mlxcel_module_builder_t* builder, mlxcel_element_t element, uint32_t rank, const int64_t* dims);
mlxcel_value_t mlxcel_hlo_filled(mlxcel_module_builder_t* builder, mlxcel_value_t fill, uint32_t rank, const int64_t* dims);

// Inclusive sequential scan of f32 |x| along |dim|: y[0] = x[0], then the body of the caller, which gets the next element and the previous result.
typedef struct mlxcel_scan_t {
  mlxcel_value_t element, previous;  // while the body is open
  mlxcel_value_t x, result, carry;
  uint32_t dim;
} mlxcel_scan_t;
void mlxcel_scan_begin(mlxcel_module_builder_t* builder, mlxcel_value_t x, uint32_t dim, mlxcel_scan_t* out_scan);
mlxcel_value_t mlxcel_scan_end(mlxcel_module_builder_t* builder, mlxcel_scan_t* scan, mlxcel_value_t value);

#endif  // MLXCEL_EMIT_CANONICAL_HLO_H_
