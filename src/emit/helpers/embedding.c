#include "emit/helpers/helper_common.h"

mlxcel_value_t mlxcel_emit_embedding(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_weight_t* table, mlxcel_value_t tokens) {
  mlxcel_clause_t clause = mlxcel_pinned_clause(MLXCEL_OP_EMBEDDING, MLXCEL_KERNEL_EMBED);
  mlxcel_source_name_t source = mlxcel_weight_source_name(table);
  clause.source_dtype = source.text;
  clause.accumulator = NULL;
  clause.constants = NULL;
  clause.rounding = table->bits ? "weight:fma-f32" : NULL;
  clause.dequantization = table->bits ? "fma-f32" : "exact-widen";
  mlxcel_module_clause(builder, &clause);

  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_EMBED, .workgroups = mlxcel_workgroups_for(rows->count)};
  mlxcel_dispatch_add(&dispatch, tokens);
  mlxcel_dispatch_add(&dispatch, rows->positions);
  mlxcel_dispatch_add_weight(builder, &dispatch, table);
  mlxcel_dispatch_add_i32(builder, &dispatch, rows->count);
  mlxcel_dispatch_add_i32(builder, &dispatch, table->in_features);
  mlxcel_dispatch_add_i32(builder, &dispatch, mlxcel_weight_format(table));
  dispatch.result = mlxcel_value_f32(2, rows->count, table->in_features);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}
