// loop_body.h: scalar arithmetic inside a loop's body (hlo.h), with control over what the compiler may do to it.
//
// IREE's CPU back end contracts a multiply and an add that meet in one dispatch, across helpers too, and drops a bf16 round trip. Hence:
//   product  is fma(a, b, -0): the correctly rounded product, which no later addition can swallow;
//   round    to bf16 is integer arithmetic on the bits, which nothing folds; to f16 a conversion there and back, which is kept.
#ifndef MLXCEL_EMIT_CANONICAL_LOOP_BODY_H_
#define MLXCEL_EMIT_CANONICAL_LOOP_BODY_H_

#include "emit/module_builder.h"

mlxcel_value_t mlxcel_body_f32(mlxcel_module_builder_t* builder, float value);
mlxcel_value_t mlxcel_body_i32(mlxcel_module_builder_t* builder, int32_t value);
// An operation of one or two operands of one type: "math.exp", "arith.addf" ...
mlxcel_value_t mlxcel_body_unary(mlxcel_module_builder_t* builder, const char* operation, mlxcel_value_t a);
mlxcel_value_t mlxcel_body_binary(mlxcel_module_builder_t* builder, const char* operation, mlxcel_value_t a, mlxcel_value_t b);
// A conversion ("arith.sitofp") to |element|.
mlxcel_value_t mlxcel_body_cast(mlxcel_module_builder_t* builder, const char* operation, mlxcel_value_t a, mlxcel_element_t element);
// a * b, rounded before anything else happens to it.
mlxcel_value_t mlxcel_body_product(mlxcel_module_builder_t* builder, mlxcel_value_t a, mlxcel_value_t b);
// fma(a, b, c).
mlxcel_value_t mlxcel_body_fma(mlxcel_module_builder_t* builder, mlxcel_value_t a, mlxcel_value_t b, mlxcel_value_t c);
// |comparison| ("arith.cmpf olt") of a and b chooses between two values of one type.
mlxcel_value_t mlxcel_body_select(mlxcel_module_builder_t* builder, const char* comparison, mlxcel_value_t a, mlxcel_value_t b, mlxcel_value_t if_true,
                                  mlxcel_value_t if_false);
// The counter of loop |loop| as i32.
mlxcel_value_t mlxcel_body_index(mlxcel_module_builder_t* builder, uint32_t loop);

// f16 or bf16 to f32 (exact); f32 as it is.
mlxcel_value_t mlxcel_body_widen(mlxcel_module_builder_t* builder, mlxcel_value_t a);
// f32 |a| rounded to the grid of |dtype| (to nearest even), still f32. A NaN becomes 0x7FC00000 on bf16's grid, as in MLX.
mlxcel_value_t mlxcel_body_round(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t a);
// f32 |a|, rounded to |dtype|, as a value of that type.
mlxcel_value_t mlxcel_body_narrow(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t a);

#endif  // MLXCEL_EMIT_CANONICAL_LOOP_BODY_H_
