// Every class of contract/operation.h from the kernels of kernels/mlx_abi.h.
#include "emit/mlx/mlx_calls.h"
#include "emit/operand_weights.h"

static mlxcel_value_t emit_dequantize(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_weight_t table;
  mlxcel_operand_weight(operation, operands, operation->out_features, &table);
  mlxcel_emit_clause(builder, operation);
  mlxcel_value_t unread = mlxcel_operand_rows(builder, 1, 0, 0);
  return mlxcel_mlx_embed(builder, &table, unread, unread, operation->out_features, false);
}

static mlxcel_value_t emit_embedding(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_weight_t table;
  mlxcel_operand_weight(operation, operands + 2, operation->out_features, &table);
  const mlxcel_emit_rows_t rows = {.count = operation->rows, .slots = operands[1], .positions = operands[1]};
  return mlxcel_mlx_emit_embedding(builder, &rows, &table, operands[0]);
}

static mlxcel_value_t emit_matmul(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_weight_t weight;
  size_t count = mlxcel_operand_weight(operation, operands + 1, operation->out_features, &weight);
  mlxcel_operand_weight_bias(operation, operands + 1 + count, &weight);
  mlxcel_emit_clause(builder, operation);
  return mlxcel_mlx_matmul(builder, operation->rows, &weight, operands[0], mlxcel_operand_rows(builder, operation->rows, 0, 0));
}

static mlxcel_value_t emit_activation_projection(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_weight_t gate, up;
  size_t count = mlxcel_operand_weight(operation, operands + 1, operation->out_features, &gate);
  mlxcel_operand_weight(operation, operands + 1 + count, operation->out_features, &up);
  mlxcel_value_t positions = mlxcel_operand_rows(builder, operation->rows, 0, 0);
  mlxcel_value_t g = mlxcel_mlx_emit_matmul(builder, operation->rows, &gate, operands[0], positions, NULL);
  mlxcel_value_t u = mlxcel_mlx_emit_matmul(builder, operation->rows, &up, operands[0], positions, NULL);
  return mlxcel_mlx_emit_gate(builder, operation->variant, g, u);
}

static mlxcel_value_t emit_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_mlx_norm_t norm = {.rows = operation->rows, .width = operation->in_features, .epsilon = operation->epsilon};
  mlxcel_emit_clause(builder, operation);
  if (operation->op == MLXCEL_OP_LAYER_NORM) return mlxcel_mlx_layer_norm(builder, &norm, operands[0], operands[1], operands[2]);
  norm.mode = operation->variant == MLXCEL_VARIANT_GEMMA             ? MLXCEL_MLX_NORM_GEMMA
              : operation->variant == MLXCEL_VARIANT_SINGLE_ROUNDING ? MLXCEL_MLX_NORM_SINGLE_ROUNDING
                                                                     : MLXCEL_MLX_NORM_PLAIN;
  mlxcel_value_t positions = mlxcel_operand_rows(builder, operation->rows, 0, 0);
  return mlxcel_mlx_rms_norm(builder, &norm, operands[0], positions, operands[1], operands[1].element);
}

static mlxcel_value_t emit_attention(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_attention_shape_t shape = mlxcel_operand_attention_shape(operation);
  const mlxcel_emit_rows_t rows = {.count = operation->rows, .slots = operands[3], .positions = operands[4]};
  const mlxcel_kv_values_t kv = {operands[1], operands[2]};
  mlxcel_emit_clause(builder, operation);
  const mlxcel_value_t* mask = operation->variant == MLXCEL_VARIANT_MASK_ADDITIVE ? &operands[5] : NULL;
  return mlxcel_mlx_attention(builder, &rows, &shape, operation->variant, operands[0], &kv, mask);
}

static mlxcel_value_t emit_rope(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  const mlxcel_mlx_rope_t rope = {.rows = operation->rows,
                                  .heads = operation->heads,
                                  .head_dim = operation->head_dim,
                                  .rope_dims = operation->rope_dims,
                                  .interleaved = operation->variant == MLXCEL_VARIANT_INTERLEAVED,
                                  .base = operation->rope_base,
                                  .scale = operation->scale,
                                  .frequencies = operation->has_frequencies ? &operands[2] : NULL};
  mlxcel_emit_clause(builder, operation);
  return mlxcel_mlx_rope(builder, &rope, operands[0], operands[1]);
}

static mlxcel_value_t emit_qkv_rope(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_attention_shape_t shape = mlxcel_operand_attention_shape(operation);
  const int64_t features[] = {operation->heads * operation->head_dim, operation->kv_heads * operation->head_dim, operation->kv_heads * operation->head_dim};
  mlxcel_weight_t weights[3];
  for (int i = 0; i < 3; ++i) mlxcel_operand_weight(operation, operands + 1 + i, features[i], &weights[i]);
  const mlxcel_emit_rows_t rows = {.count = operation->rows, .slots = operands[4], .positions = operands[5]};
  mlxcel_kv_values_t kv = {operands[8], operands[9]};  // 6 and 7 are tables, which other profiles take
  mlxcel_value_t q = mlxcel_mlx_emit_qkv_rope(builder, &rows, &shape, &weights[0], &weights[1], &weights[2], operands[0], &kv);
  return mlxcel_operand_query_and_caches(builder, q, &kv);
}

static mlxcel_value_t emit_kv_store(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_attention_shape_t shape = mlxcel_operand_attention_shape(operation);
  const mlxcel_emit_rows_t rows = {.count = operation->rows, .slots = operands[2], .positions = operands[3]};
  mlxcel_kv_values_t kv = {operands[4], operands[5]};
  mlxcel_emit_clause(builder, operation);
  mlxcel_mlx_kv_store(builder, &rows, &shape, operands[0], operands[1], &kv);
  return mlxcel_operand_caches(builder, &kv);
}

static mlxcel_value_t emit_softmax(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_emit_clause(builder, operation);
  return mlxcel_mlx_softmax(builder, operands[0], operation->rows, operation->in_features, operation->variant == MLXCEL_VARIANT_PRECISE);
}

static mlxcel_value_t emit_scan(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_emit_clause(builder, operation);
  if (operation->variant == MLXCEL_VARIANT_STRIDED) return mlxcel_mlx_scan(builder, operands[0], 1, operation->rows, operation->in_features);
  return mlxcel_mlx_scan(builder, operands[0], operation->rows, operation->in_features, 1);
}

static mlxcel_value_t emit_residual_add(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_emit_clause(builder, operation);
  return mlxcel_mlx_binary(builder, MLXCEL_MLX_ADD, operands[0], operands[1]);
}

static mlxcel_value_t emit_activation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  return mlxcel_mlx_emit_activation(builder, operation->variant, operands[0]);
}
static mlxcel_value_t emit_gate(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  return mlxcel_mlx_emit_gate(builder, operation->variant, operands[0], operands[1]);
}
static mlxcel_value_t emit_cumulative_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  return mlxcel_mlx_emit_cumulative_norm(builder, operation, operands[0], operands[1]);
}

static mlxcel_value_t emit_convolution(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_operand_t result;
  iree_status_t status = mlxcel_operation_result(operation, &result);
  if (!iree_status_is_ok(status)) mlxcel_module_fail(builder, status);
  mlxcel_emit_clause(builder, operation);
  return mlxcel_mlx_convolution(builder, operation, operands[0], operands[1], &result);
}

typedef mlxcel_value_t (*emit_fn_t)(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands);
static const emit_fn_t emitters[] = {
    [MLXCEL_OP_EMBEDDING] = emit_embedding,
    [MLXCEL_OP_DEQUANTIZE] = emit_dequantize,
    [MLXCEL_OP_DENSE_MATMUL] = emit_matmul,
    [MLXCEL_OP_QUANTIZED_MATMUL] = emit_matmul,
    [MLXCEL_OP_LAYER_NORM] = emit_norm,
    [MLXCEL_OP_RMS_NORM] = emit_norm,
    [MLXCEL_OP_RESIDUAL_ADD] = emit_residual_add,
    [MLXCEL_OP_ACTIVATION] = emit_activation,
    [MLXCEL_OP_SILU_GATE] = emit_gate,
    [MLXCEL_OP_SOFTMAX] = emit_softmax,
    [MLXCEL_OP_ATTENTION] = emit_attention,
    [MLXCEL_OP_ROPE] = emit_rope,
    [MLXCEL_OP_KV_STORE] = emit_kv_store,
    [MLXCEL_OP_PREFIX_SCAN] = emit_scan,
    [MLXCEL_OP_CUMULATIVE_NORM] = emit_cumulative_norm,
    [MLXCEL_OP_CONVOLUTION] = emit_convolution,
    [MLXCEL_OP_ACTIVATION_PROJECTION] = emit_activation_projection,
    [MLXCEL_OP_QKV_ROPE] = emit_qkv_rope,
};
_Static_assert(sizeof(emitters) / sizeof(emitters[0]) == MLXCEL_OP_COUNT, "every op class is emitted");

mlxcel_value_t mlxcel_mlx_emit_operation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  return emitters[operation->op](builder, operation, operands);
}
