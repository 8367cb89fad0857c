#include "emit/pinned_operation.h"

#include "emit/operand_weights.h"

// What stands in the way of |operation|; NULL = nothing.
static const char* obstacle_of_class(const mlxcel_operation_t* operation) {
  switch (operation->op) {
    case MLXCEL_OP_DENSE_MATMUL:
    case MLXCEL_OP_QUANTIZED_MATMUL:
      return NULL;
    case MLXCEL_OP_EMBEDDING:
    case MLXCEL_OP_DEQUANTIZE:
      return operation->weight_dtype == MLXCEL_DTYPE_F32 ? NULL : "its tables come out as f32, whatever they are stored as: use f32 weights";
    case MLXCEL_OP_RMS_NORM:
      return operation->variant == MLXCEL_VARIANT_PLAIN ? NULL : "it has the plain form only";
    case MLXCEL_OP_ACTIVATION_PROJECTION:
      return operation->variant == MLXCEL_VARIANT_SILU ? NULL : "it has SiLU only";
    case MLXCEL_OP_ATTENTION:
      return operation->variant == MLXCEL_VARIANT_MASK_CAUSAL ? NULL : "it has the causal mask only";
    case MLXCEL_OP_QKV_ROPE:
      return operation->variant == MLXCEL_VARIANT_HALF ? NULL : "it rotates pairs (i, i + half) only";
    case MLXCEL_OP_ROPE:
    case MLXCEL_OP_KV_STORE:
      return "it is part of qkv-rope there: run that";
    case MLXCEL_OP_SILU_GATE:
      return "it is part of activation-projection there: run that";
    case MLXCEL_OP_RESIDUAL_ADD:
      return "it is part of the matmuls there, which add the residual last";
    default:
      return "it has no such kernel";
  }
}

static const char* obstacle_of(const mlxcel_operation_t* operation) {
  return operation->dtype == MLXCEL_DTYPE_F32 ? obstacle_of_class(operation) : "it computes in f32 only: widen the operands";
}

static mlxcel_value_t emit_embedding(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_weight_t table;
  mlxcel_operand_weight(operation, operands + 2, operation->out_features, &table);
  const mlxcel_emit_rows_t rows = {.count = operation->rows, .slots = operands[1], .positions = operands[1]};
  return mlxcel_emit_embedding(builder, &rows, &table, operands[0]);
}

// Every row of the table, in order.
static mlxcel_value_t emit_dequantize(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_weight_t table;
  mlxcel_operand_weight(operation, operands, operation->out_features, &table);
  mlxcel_emit_clause(builder, operation);
  mlxcel_value_t tokens = mlxcel_operand_rows(builder, operation->out_features, 0, 1);
  mlxcel_value_t positions = mlxcel_operand_rows(builder, operation->out_features, 0, 0);
  const mlxcel_emit_rows_t rows = {.count = operation->out_features, .slots = positions, .positions = positions};
  return mlxcel_pinned_embed(builder, &rows, &table, tokens);
}

static mlxcel_value_t emit_matmul(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_weight_t weight;
  size_t count = mlxcel_operand_weight(operation, operands + 1, operation->out_features, &weight);
  mlxcel_operand_weight_bias(operation, operands + 1 + count, &weight);
  return mlxcel_emit_matmul(builder, operation->rows, &weight, operands[0], mlxcel_operand_rows(builder, operation->rows, 0, 0), NULL);
}

static mlxcel_value_t emit_norm(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  const mlxcel_weight_vector_t weight = {{.value = &operands[1]}, (mlxcel_weight_type_t)operation->weight_dtype, operation->in_features};
  mlxcel_value_t positions = mlxcel_operand_rows(builder, operation->rows, 0, 0);
  return mlxcel_emit_rms_norm(builder, operation->rows, &weight, operation->epsilon, operands[0], positions, false);
}

static mlxcel_value_t emit_gate(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_weight_t gate, up;
  size_t count = mlxcel_operand_weight(operation, operands + 1, operation->out_features, &gate);
  mlxcel_operand_weight(operation, operands + 1 + count, operation->out_features, &up);
  return mlxcel_emit_silu_gate(builder, operation->rows, &gate, &up, operands[0], mlxcel_operand_rows(builder, operation->rows, 0, 0));
}

static mlxcel_value_t emit_attention(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_attention_shape_t shape = mlxcel_operand_attention_shape(operation);
  const mlxcel_emit_rows_t rows = {.count = operation->rows, .slots = operands[3], .positions = operands[4]};
  const mlxcel_kv_values_t kv = {operands[1], operands[2]};
  return mlxcel_emit_attention(builder, &rows, &shape, operands[0], &kv);
}

static mlxcel_value_t emit_qkv_rope(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_attention_shape_t shape = mlxcel_operand_attention_shape(operation);
  const int64_t features[] = {operation->heads * operation->head_dim, operation->kv_heads * operation->head_dim, operation->kv_heads * operation->head_dim};
  mlxcel_weight_t weights[3];
  for (int i = 0; i < 3; ++i) mlxcel_operand_weight(operation, operands + 1 + i, features[i], &weights[i]);
  const mlxcel_emit_rows_t rows = {.count = operation->rows, .slots = operands[4], .positions = operands[5]};
  mlxcel_kv_values_t kv = {operands[8], operands[9]};
  mlxcel_value_t q = mlxcel_emit_qkv_rope(builder, &rows, &shape, &weights[0], &weights[1], &weights[2], operands[0], operands[6], operands[7], &kv);
  return mlxcel_operand_query_and_caches(builder, q, &kv);
}

mlxcel_value_t mlxcel_pinned_emit_operation(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  const char* obstacle = obstacle_of(operation);
  if (obstacle) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_UNIMPLEMENTED, "profile %s doesn't run %s (%s) by itself: %s", builder->profile->name,
                                                 mlxcel_op_class_name(operation->op), mlxcel_op_variant_name(operation->variant), obstacle));
    return operands[0];
  }
  switch (operation->op) {
    case MLXCEL_OP_EMBEDDING:
      return emit_embedding(builder, operation, operands);
    case MLXCEL_OP_DEQUANTIZE:
      return emit_dequantize(builder, operation, operands);
    case MLXCEL_OP_RMS_NORM:
      return emit_norm(builder, operation, operands);
    case MLXCEL_OP_ACTIVATION_PROJECTION:
      return emit_gate(builder, operation, operands);
    case MLXCEL_OP_ATTENTION:
      return emit_attention(builder, operation, operands);
    case MLXCEL_OP_QKV_ROPE:
      return emit_qkv_rope(builder, operation, operands);
    default:
      return emit_matmul(builder, operation, operands);
  }
}
