// The helpers that models use.
#include "emit/mlx/mlx_calls.h"

static mlxcel_dtype_t dtype_of(const mlxcel_value_t* value) { return mlxcel_element_dtype(value->element); }

mlxcel_value_t mlxcel_mlx_emit_widen(mlxcel_module_builder_t* builder, mlxcel_value_t x) { return mlxcel_mlx_convert(builder, x, MLXCEL_ELEMENT_F32); }

mlxcel_value_t mlxcel_mlx_emit_embedding(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_weight_t* table,
                                         mlxcel_value_t tokens) {
  mlxcel_operation_t operation = mlxcel_embedding_operation(table, mlxcel_weight_dtype(table->type), rows->count);
  mlxcel_emit_clause(builder, &operation);
  return mlxcel_mlx_embed(builder, table, tokens, rows->positions, rows->count, true);
}

mlxcel_value_t mlxcel_mlx_emit_rms_norm(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_vector_t* weight, float epsilon, mlxcel_value_t x,
                                        mlxcel_value_t index, bool gather) {
  mlxcel_operation_t operation = mlxcel_rms_norm_operation(weight, dtype_of(&x), rows, epsilon);
  mlxcel_emit_clause(builder, &operation);
  const mlxcel_mlx_norm_t norm = {.rows = rows, .width = weight->size, .mode = MLXCEL_MLX_NORM_PLAIN, .gather = gather, .epsilon = epsilon};
  return mlxcel_mlx_rms_norm(builder, &norm, x, index, mlxcel_weight_tensor_value(builder, &weight->values), mlxcel_mlx_weight_element(weight->type));
}

// One projection with its clause.
static mlxcel_value_t projection(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* weight, mlxcel_value_t x, mlxcel_value_t positions) {
  mlxcel_operation_t operation = mlxcel_weight_operation(weight, dtype_of(&x), rows);
  mlxcel_emit_clause(builder, &operation);
  return mlxcel_mlx_matmul(builder, rows, weight, x, positions);
}

mlxcel_value_t mlxcel_mlx_emit_matmul(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* weight, mlxcel_value_t x, mlxcel_value_t positions,
                                      const mlxcel_value_t* residual) {
  mlxcel_value_t y = projection(builder, rows, weight, x, positions);
  if (!residual) return y;
  mlxcel_dtype_t dtype = mlxcel_dtype_promote(dtype_of(residual), dtype_of(&y));
  mlxcel_operation_t add = mlxcel_row_operation(MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, dtype, rows, weight->out_features);
  mlxcel_emit_clause(builder, &add);
  return mlxcel_mlx_binary(builder, MLXCEL_MLX_ADD, *residual, y);
}

mlxcel_value_t mlxcel_mlx_emit_silu_gate(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* gate, const mlxcel_weight_t* up,
                                         mlxcel_value_t x, mlxcel_value_t positions) {
  mlxcel_value_t g = projection(builder, rows, gate, x, positions);
  mlxcel_value_t u = projection(builder, rows, up, x, positions);
  return mlxcel_mlx_emit_gate(builder, MLXCEL_VARIANT_SILU, g, u);
}

// The rotary embedding that a model's shape states.
typedef struct model_rope_t {
  mlxcel_mlx_rope_t rope;
  bool has_frequencies;
  mlxcel_value_t frequencies;
} model_rope_t;

static model_rope_t rope_of(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_attention_shape_t* shape) {
  model_rope_t model = {.has_frequencies = shape->rope_frequencies != NULL};
  model.rope =
      (mlxcel_mlx_rope_t){.rows = rows, .head_dim = shape->head_dim, .rope_dims = 2 * shape->rope_half, .base = shape->rope_base, .scale = shape->rope_scale};
  if (model.has_frequencies) model.frequencies = mlxcel_mlx_constant_vector(builder, shape->rope_half, shape->rope_frequencies);
  return model;
}

static mlxcel_value_t rotate(mlxcel_module_builder_t* builder, const model_rope_t* model, int64_t heads, mlxcel_value_t x, mlxcel_value_t positions) {
  mlxcel_mlx_rope_t rope = model->rope;
  rope.heads = heads;
  rope.frequencies = model->has_frequencies ? &model->frequencies : NULL;
  return mlxcel_mlx_rope(builder, &rope, x, positions);
}

static void check_cache_dtype(mlxcel_module_builder_t* builder, const mlxcel_value_t* k, const mlxcel_value_t* v, const mlxcel_kv_values_t* kv) {
  if (k->element == kv->k_cache.element && v->element == kv->v_cache.element) return;
  mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "keys are %s and values %s, but the cache holds %s; give the cache their dtype",
                                               mlxcel_dtype_name(dtype_of(k)), mlxcel_dtype_name(dtype_of(v)), mlxcel_dtype_name(dtype_of(&kv->k_cache))));
}

// What goes into the caches: a difference there would otherwise show as one of attention.
static void tap(mlxcel_module_builder_t* builder, int32_t layer, const char* what, mlxcel_value_t value) {
  char name[64];
  snprintf(name, sizeof(name), "layers.%d.%s", layer, what);
  mlxcel_module_tap(builder, name, value);
}

mlxcel_value_t mlxcel_mlx_emit_qkv_rope(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                        const mlxcel_weight_t* q, const mlxcel_weight_t* k, const mlxcel_weight_t* v, mlxcel_value_t x,
                                        mlxcel_kv_values_t* kv) {
  mlxcel_value_t queries = projection(builder, rows->count, q, x, rows->positions), keys = projection(builder, rows->count, k, x, rows->positions),
                 values = projection(builder, rows->count, v, x, rows->positions);
  mlxcel_operation_t clause = mlxcel_attention_operation(MLXCEL_OP_ROPE, MLXCEL_VARIANT_HALF, dtype_of(&queries), rows->count, shape);
  mlxcel_emit_clause(builder, &clause);
  model_rope_t rope = rope_of(builder, rows->count, shape);
  queries = rotate(builder, &rope, shape->heads, queries, rows->positions);
  keys = rotate(builder, &rope, shape->kv_heads, keys, rows->positions);
  tap(builder, shape->layer, "keys", keys);
  tap(builder, shape->layer, "values", values);
  check_cache_dtype(builder, &keys, &values, kv);
  clause = mlxcel_attention_operation(MLXCEL_OP_KV_STORE, MLXCEL_VARIANT_NONE, dtype_of(&kv->k_cache), rows->count, shape);
  mlxcel_emit_clause(builder, &clause);
  mlxcel_mlx_kv_store(builder, rows, shape, keys, values, kv);
  return queries;
}

mlxcel_value_t mlxcel_mlx_emit_attention(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                         mlxcel_value_t q, const mlxcel_kv_values_t* kv) {
  mlxcel_operation_t operation = mlxcel_attention_operation(MLXCEL_OP_ATTENTION, MLXCEL_VARIANT_MASK_CAUSAL, dtype_of(&q), rows->count, shape);
  mlxcel_emit_clause(builder, &operation);
  check_cache_dtype(builder, &q, &q, kv);
  return mlxcel_mlx_attention(builder, rows, shape, MLXCEL_VARIANT_MASK_CAUSAL, q, kv, NULL);
}
