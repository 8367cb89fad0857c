#include "emit/operand_weights.h"

#include "emit/canonical/hlo.h"

static mlxcel_weight_tensor_t tensor_of(const mlxcel_value_t* operand) { return (mlxcel_weight_tensor_t){.value = operand}; }

size_t mlxcel_operand_weight(const mlxcel_operation_t* operation, const mlxcel_value_t* operands, int64_t out_features, mlxcel_weight_t* out_weight) {
  *out_weight = (mlxcel_weight_t){.values = tensor_of(&operands[0]),
                                  .type = (mlxcel_weight_type_t)operation->weight_dtype,
                                  .out_features = out_features,
                                  .in_features = operation->in_features};
  if (operation->bits == 0) return 1;
  out_weight->scales = tensor_of(&operands[1]);
  out_weight->biases = tensor_of(&operands[2]);
  out_weight->bits = operation->bits;
  out_weight->group_size = operation->group_size;
  return 3;
}

void mlxcel_operand_weight_bias(const mlxcel_operation_t* operation, const mlxcel_value_t* operand, mlxcel_weight_t* weight) {
  if (!operation->has_bias) return;
  weight->vector = tensor_of(operand);
  weight->vector_type = (mlxcel_weight_type_t)operation->bias_dtype;
}

mlxcel_attention_shape_t mlxcel_operand_attention_shape(const mlxcel_operation_t* operation) {
  return (mlxcel_attention_shape_t){.heads = operation->heads,
                                    .kv_heads = operation->kv_heads,
                                    .head_dim = operation->head_dim,
                                    .rope_half = operation->rope_dims / 2,
                                    .scale = operation->scale,
                                    .rope_base = operation->rope_base,
                                    .rope_scale = operation->scale};
}

mlxcel_value_t mlxcel_operand_rows(mlxcel_module_builder_t* builder, int64_t count, int32_t start, int32_t step) {
  mlxcel_value_t rows = mlxcel_value_new(builder, MLXCEL_ELEMENT_I32, 1, &count);
  mlxcel_strbuf_t list;
  mlxcel_strbuf_initialize(&list);
  if (step == 0) mlxcel_strbuf_append_format(&list, "%" PRId32, start);
  for (int64_t i = 0; step != 0 && i < count; ++i) {
    mlxcel_strbuf_append_format(&list, "%s%" PRId64 "%s", i ? ", " : "[", start + i * step, i + 1 == count ? "]" : "");
  }
  mlxcel_module_fail(builder, mlxcel_strbuf_take_status(&list));
  mlxcel_module_text(builder, "%%%" PRIu32 " = arith.constant dense<%s> : %s", rows.id, list.data ? list.data : "", mlxcel_value_type(rows).text);
  mlxcel_strbuf_deinitialize(&list);
  return rows;
}

mlxcel_value_t mlxcel_operand_caches(mlxcel_module_builder_t* builder, const mlxcel_kv_values_t* kv) {
  const mlxcel_value_t values[] = {kv->k_cache, kv->v_cache};
  return mlxcel_hlo_concatenate(builder, IREE_ARRAYSIZE(values), values, 0);
}

// |value| with one dimension, widened to |element| if it is narrower.
static mlxcel_value_t flat(mlxcel_module_builder_t* builder, mlxcel_value_t value, mlxcel_element_t element) {
  int64_t count = 1;
  if (value.element != element) value = mlxcel_hlo_convert(builder, value, element);
  for (uint32_t i = 0; i < value.rank; ++i) count *= value.dims[i];
  return mlxcel_hlo_reshape(builder, value, 1, &count);
}

mlxcel_value_t mlxcel_operand_query_and_caches(mlxcel_module_builder_t* builder, mlxcel_value_t q, const mlxcel_kv_values_t* kv) {
  const mlxcel_value_t values[] = {flat(builder, q, q.element), flat(builder, kv->k_cache, q.element), flat(builder, kv->v_cache, q.element)};
  return mlxcel_hlo_concatenate(builder, IREE_ARRAYSIZE(values), values, 0);
}
