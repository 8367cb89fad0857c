#include "emit/canonical/canonical_common.h"

typedef mlxcel_value_t (*emit_t)(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);

// NULL: a class that this profile doesn't define.
static const emit_t emitters[MLXCEL_OP_COUNT] = {
    [MLXCEL_OP_DEQUANTIZE] = mlxcel_canonical_dequantize,
    [MLXCEL_OP_DENSE_MATMUL] = mlxcel_canonical_dense_matmul,
    [MLXCEL_OP_QUANTIZED_MATMUL] = mlxcel_canonical_quantized_matmul,
    [MLXCEL_OP_LAYER_NORM] = mlxcel_canonical_layer_norm,
    [MLXCEL_OP_RMS_NORM] = mlxcel_canonical_rms_norm,
    [MLXCEL_OP_RESIDUAL_ADD] = mlxcel_canonical_residual_add,
    [MLXCEL_OP_ACTIVATION] = mlxcel_canonical_activation,
    [MLXCEL_OP_SILU_GATE] = mlxcel_canonical_silu_gate,
    [MLXCEL_OP_SOFTMAX] = mlxcel_canonical_softmax,
    [MLXCEL_OP_ATTENTION] = mlxcel_canonical_attention,
    [MLXCEL_OP_ROPE] = mlxcel_canonical_rope,
    [MLXCEL_OP_PREFIX_SCAN] = mlxcel_canonical_prefix_scan,
    [MLXCEL_OP_CUMULATIVE_NORM] = mlxcel_canonical_cumulative_norm,
    [MLXCEL_OP_CONVOLUTION] = mlxcel_canonical_convolution,
    [MLXCEL_OP_ACTIVATION_PROJECTION] = mlxcel_canonical_activation_projection,
};

mlxcel_value_t mlxcel_canonical_emit_operation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  if (!emitters[operation->op] || operation->has_residual) {
    mlxcel_module_fail(
        builder,
        iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                         "profile " MLXCEL_PROFILE_IREE_CANONICAL " doesn't define %s%s; use profile " MLXCEL_PROFILE_PINNED_F32 " or " MLXCEL_PROFILE_MLX_CPU,
                         mlxcel_op_class_name(operation->op), emitters[operation->op] ? " with a fused residual (emit the addition as a residual-add)" : ""));
    return operands[0];
  }
  return emitters[operation->op](builder, operation, operands);
}

const char* mlxcel_canonical_identity_map(uint32_t rank) {
  static const char* const maps[MLXCEL_VALUE_RANK_MAX + 1] = {"", "0", "01", "012", "0123", "01234"};
  return maps[rank];
}

const char* mlxcel_canonical_parallel(uint32_t rank) {
  static const char* const iterators[MLXCEL_VALUE_RANK_MAX + 1] = {"", "p", "pp", "ppp", "pppp", "ppppp"};
  return iterators[rank];
}

mlxcel_value_t mlxcel_canonical_narrowed(mlxcel_module_builder_t* builder, mlxcel_value_t value, mlxcel_dtype_t dtype) {
  if (dtype == MLXCEL_DTYPE_F32) return value;
  mlxcel_loop_t loop = {.iterators = mlxcel_canonical_parallel(value.rank)};
  const char* map = mlxcel_canonical_identity_map(value.rank);
  mlxcel_loop_input(&loop, value, map);
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, mlxcel_element_of(dtype), value.rank, value.dims), map);
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t narrow = mlxcel_body_narrow(builder, dtype, loop.in[0]);
  return mlxcel_loop_end(builder, &loop, &narrow);
}

mlxcel_value_t mlxcel_canonical_multiplied(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t a, mlxcel_value_t b) {
  return mlxcel_body_round(builder, dtype, mlxcel_body_product(builder, a, b));
}

mlxcel_value_t mlxcel_canonical_added(mlxcel_module_builder_t* builder, mlxcel_dtype_t dtype, mlxcel_value_t a, mlxcel_value_t b) {
  return mlxcel_body_round(builder, dtype, mlxcel_body_binary(builder, "arith.addf", a, b));
}

mlxcel_value_t mlxcel_canonical_reciprocal(mlxcel_module_builder_t* builder, mlxcel_value_t a) {
  return mlxcel_body_binary(builder, "arith.divf", mlxcel_body_f32(builder, 1.0f), a);
}

mlxcel_value_t mlxcel_canonical_reciprocal_root(mlxcel_module_builder_t* builder, mlxcel_value_t a) {
  return mlxcel_canonical_reciprocal(builder, mlxcel_body_unary(builder, "math.sqrt", a));
}
