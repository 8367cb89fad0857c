#include "emit/helpers/helper_common.h"

static void rope_clauses(mlxcel_module_builder_t* builder) {
  mlxcel_clause_t rope = mlxcel_pinned_clause(MLXCEL_OP_ROPE, MLXCEL_KERNEL_QKV_ROPE);
  rope.accumulator = NULL;
  rope.rounding = "product:f32+fma-f32";
  rope.constants = "angle:f64+cos-sin:f64-to-f32";  // the tables, made on the host
  rope.functions = "host-table(cos,sin)";
  mlxcel_module_clause(builder, &rope);
  mlxcel_clause_t store = mlxcel_pinned_clause(MLXCEL_OP_KV_STORE, MLXCEL_KERNEL_QKV_ROPE);
  store.accumulator = NULL;
  store.constants = NULL;
  mlxcel_module_clause(builder, &store);
}

mlxcel_value_t mlxcel_emit_qkv_rope(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                    const mlxcel_weight_t* q, const mlxcel_weight_t* k, const mlxcel_weight_t* v, mlxcel_value_t x, mlxcel_value_t cos,
                                    mlxcel_value_t sin, mlxcel_kv_values_t* kv) {
  const mlxcel_weight_t* weights[] = {q, k, v};
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_QKV_ROPE, .workgroups = mlxcel_workgroups_for(shape->heads + 2 * shape->kv_heads)};
  mlxcel_dispatch_add(&dispatch, x);
  for (int i = 0; i < 3; ++i) {
    mlxcel_clause_projection(builder, MLXCEL_KERNEL_QKV_ROPE, weights[i]);
    mlxcel_dispatch_add_weight(builder, &dispatch, weights[i]);
  }
  rope_clauses(builder);
  const mlxcel_value_t buffers[] = {cos, sin, rows->slots, rows->positions, kv->k_cache, kv->v_cache};
  for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); ++i) mlxcel_dispatch_add(&dispatch, buffers[i]);
  const int64_t sizes[] = {rows->count, q->in_features, shape->heads, shape->kv_heads, shape->head_dim, shape->rope_half};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) mlxcel_dispatch_add_i32(builder, &dispatch, sizes[i]);
  for (int i = 0; i < 3; ++i) {
    mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_format(weights[i]));
    mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_flags(weights[i], false));
  }
  mlxcel_dispatch_add_i32(builder, &dispatch, shape->layer);
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 1));
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 3));
  dispatch.result = mlxcel_value_f32(2, rows->count, shape->heads * shape->head_dim);
  mlxcel_value_t tied[2];
  mlxcel_value_t result = mlxcel_dispatch_emit(builder, &dispatch, tied);
  kv->k_cache = tied[0];
  kv->v_cache = tied[1];
  return result;
}
