#include "emit/canonical/loop_body.h"

// bf16 is the upper half of f32: half of the last kept bit, less one, is added, and the last kept bit, so that ties go to even.
#define BF16_DROPPED_BITS 16
#define BF16_HALF_LESS_ONE 0x7FFF
#define BF16_KEPT_MASK (-0x10000)
#define QUIET_NAN "0x7FC00000"

static mlxcel_value_t scalar_new(mlxcel_module_builder_t* builder, mlxcel_element_t element) {
  mlxcel_value_t value = {.id = builder->next_id++, .element = element, .is_scalar = true};
  return value;
}

mlxcel_value_t mlxcel_body_f32(mlxcel_module_builder_t* builder, float value) { return mlxcel_constant_f32(builder, value); }
mlxcel_value_t mlxcel_body_i32(mlxcel_module_builder_t* builder, int32_t value) { return mlxcel_constant_i32(builder, value); }

mlxcel_value_t mlxcel_body_unary(mlxcel_module_builder_t* builder, const char* operation, mlxcel_value_t a) {
  mlxcel_value_t result = scalar_new(builder, a.element);
  mlxcel_module_text(builder, "%%%" PRIu32 " = %s %%%" PRIu32 " : %s", result.id, operation, a.id, mlxcel_value_type(a).text);
  return result;
}

mlxcel_value_t mlxcel_body_binary(mlxcel_module_builder_t* builder, const char* operation, mlxcel_value_t a, mlxcel_value_t b) {
  mlxcel_value_t result = scalar_new(builder, a.element);
  mlxcel_module_text(builder, "%%%" PRIu32 " = %s %%%" PRIu32 ", %%%" PRIu32 " : %s", result.id, operation, a.id, b.id, mlxcel_value_type(a).text);
  return result;
}

mlxcel_value_t mlxcel_body_cast(mlxcel_module_builder_t* builder, const char* operation, mlxcel_value_t a, mlxcel_element_t element) {
  mlxcel_value_t result = scalar_new(builder, element);
  mlxcel_module_text(builder, "%%%" PRIu32 " = %s %%%" PRIu32 " : %s to %s", result.id, operation, a.id, mlxcel_value_type(a).text,
                     mlxcel_value_type(result).text);
  return result;
}

mlxcel_value_t mlxcel_body_fma(mlxcel_module_builder_t* builder, mlxcel_value_t a, mlxcel_value_t b, mlxcel_value_t c) {
  mlxcel_value_t result = scalar_new(builder, MLXCEL_ELEMENT_F32);
  mlxcel_module_text(builder, "%%%" PRIu32 " = math.fma %%%" PRIu32 ", %%%" PRIu32 ", %%%" PRIu32 " : f32", result.id, a.id, b.id, c.id);
  return result;
}

mlxcel_value_t mlxcel_body_product(mlxcel_module_builder_t* builder, mlxcel_value_t a, mlxcel_value_t b) {
  return mlxcel_body_fma(builder, a, b, mlxcel_body_f32(builder, -0.0f));
}

mlxcel_value_t mlxcel_body_select(mlxcel_module_builder_t* builder, const char* comparison, mlxcel_value_t a, mlxcel_value_t b, mlxcel_value_t if_true,
                                  mlxcel_value_t if_false) {
  uint32_t condition = builder->next_id++;
  mlxcel_module_text(builder, "%%%" PRIu32 " = %s, %%%" PRIu32 ", %%%" PRIu32 " : %s", condition, comparison, a.id, b.id, mlxcel_value_type(a).text);
  mlxcel_value_t result = scalar_new(builder, if_true.element);
  mlxcel_module_text(builder, "%%%" PRIu32 " = arith.select %%%" PRIu32 ", %%%" PRIu32 ", %%%" PRIu32 " : %s", result.id, condition, if_true.id, if_false.id,
                     mlxcel_value_type(if_true).text);
  return result;
}

mlxcel_value_t mlxcel_body_index(mlxcel_module_builder_t* builder, uint32_t loop) {
  mlxcel_value_t index = scalar_new(builder, MLXCEL_ELEMENT_INDEX);
  mlxcel_module_text(builder, "%%%" PRIu32 " = linalg.index %" PRIu32 " : index", index.id, loop);
  return mlxcel_body_cast(builder, "arith.index_cast", index, MLXCEL_ELEMENT_I32);
}

mlxcel_value_t mlxcel_body_widen(mlxcel_module_builder_t* builder, mlxcel_value_t a) {
  return a.element == MLXCEL_ELEMENT_F32 ? a : mlxcel_body_cast(builder, "arith.extf", a, MLXCEL_ELEMENT_F32);
}

static mlxcel_value_t round_bf16(mlxcel_module_builder_t* builder, mlxcel_value_t a) {
  mlxcel_value_t bits = mlxcel_body_cast(builder, "arith.bitcast", a, MLXCEL_ELEMENT_I32);
  mlxcel_value_t upper = mlxcel_body_binary(builder, "arith.shrui", bits, mlxcel_body_i32(builder, BF16_DROPPED_BITS));
  mlxcel_value_t odd = mlxcel_body_binary(builder, "arith.andi", upper, mlxcel_body_i32(builder, 1));
  mlxcel_value_t half = mlxcel_body_binary(builder, "arith.addi", odd, mlxcel_body_i32(builder, BF16_HALF_LESS_ONE));
  mlxcel_value_t sum = mlxcel_body_binary(builder, "arith.addi", bits, half);
  mlxcel_value_t kept = mlxcel_body_binary(builder, "arith.andi", sum, mlxcel_body_i32(builder, BF16_KEPT_MASK));
  mlxcel_value_t rounded = mlxcel_body_cast(builder, "arith.bitcast", kept, MLXCEL_ELEMENT_F32);
  mlxcel_value_t nan = scalar_new(builder, MLXCEL_ELEMENT_F32);
  mlxcel_module_text(builder, "%%%" PRIu32 " = arith.constant " QUIET_NAN " : f32", nan.id);
  return mlxcel_body_select(builder, "arith.cmpf uno", a, a, nan, rounded);
}

mlxcel_value_t mlxcel_body_round(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t a) {
  if (dtype == MLXCEL_DTYPE_BF16) return round_bf16(builder, a);
  if (dtype != MLXCEL_DTYPE_F16) return a;
  return mlxcel_body_widen(builder, mlxcel_body_cast(builder, "arith.truncf", a, MLXCEL_ELEMENT_F16));
}

mlxcel_value_t mlxcel_body_narrow(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t a) {
  if (dtype == MLXCEL_DTYPE_F32) return a;
  // After the rounding the conversion is exact: whether the compiler keeps it or drops it, the value stays.
  return mlxcel_body_cast(builder, "arith.truncf", mlxcel_body_round(builder, dtype, a), mlxcel_element_of(dtype));
}
