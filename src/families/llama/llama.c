#include "families/llama/llama.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "families/checkpoint_weights.h"
#include "families/llama/llama_types.h"

// --- weights -------------------------------------------------------------------------------------------------------------------------------

static mlxcel_weight_t layer_matrix(mlxcel_weight_reader_t* reader, uint32_t layer, const char* module, uint64_t out_features, uint64_t in_features,
                                    bool bias) {
  char path[128];
  snprintf(path, sizeof(path), "model.layers.%u.%s", layer, module);
  return mlxcel_weight_reader_matrix(reader, path, (int64_t)out_features, (int64_t)in_features, bias);
}

static mlxcel_weight_vector_t layer_norm_weight(mlxcel_weight_reader_t* reader, uint32_t layer, const char* module, uint64_t size) {
  char name[128];
  snprintf(name, sizeof(name), "model.layers.%u.%s.weight", layer, module);
  return mlxcel_weight_reader_vector(reader, name, (int64_t)size);
}

static void read_layer(mlxcel_weight_reader_t* reader, const mlxcel_model_config_t* config, uint32_t layer, mlxcel_llama_layer_t* out) {
  uint64_t hidden = config->hidden_size, inner = config->intermediate_size;
  uint64_t q_size = (uint64_t)config->head_count * config->head_dim, kv_size = (uint64_t)config->kv_head_count * config->head_dim;
  out->input_norm = layer_norm_weight(reader, layer, "input_layernorm", hidden);
  out->post_norm = layer_norm_weight(reader, layer, "post_attention_layernorm", hidden);
  out->q = layer_matrix(reader, layer, "self_attn.q_proj", q_size, hidden, config->attention_bias);
  out->k = layer_matrix(reader, layer, "self_attn.k_proj", kv_size, hidden, config->attention_bias);
  out->v = layer_matrix(reader, layer, "self_attn.v_proj", kv_size, hidden, config->attention_bias);
  out->o = layer_matrix(reader, layer, "self_attn.o_proj", hidden, q_size, config->attention_bias);
  out->gate = layer_matrix(reader, layer, "mlp.gate_proj", inner, hidden, config->mlp_bias);
  out->up = layer_matrix(reader, layer, "mlp.up_proj", inner, hidden, config->mlp_bias);
  out->down = layer_matrix(reader, layer, "mlp.down_proj", hidden, inner, config->mlp_bias);
  // Old exports carry the inverse frequencies; they follow from config.json.
  char name[128];
  snprintf(name, sizeof(name), "model.layers.%u.self_attn.rotary_emb.inv_freq", layer);
  mlxcel_weight_reader_skip(reader, name);
}

static iree_status_t read_model(const mlxcel_checkpoint_t* checkpoint, mlxcel_weight_reader_t* reader, mlxcel_llama_model_t* model) {
  const mlxcel_model_config_t* config = model->config;
  iree_string_view_t head_path;
  IREE_RETURN_IF_ERROR(mlxcel_checkpoint_head(checkpoint, IREE_SV("model.embed_tokens"), IREE_SV("lm_head"), &head_path));
  const char* head_name = iree_string_view_equal(head_path, IREE_SV("lm_head")) ? "lm_head" : "model.embed_tokens";
  model->embedding = mlxcel_weight_reader_matrix(reader, "model.embed_tokens", config->vocab_size, config->hidden_size, false);
  model->head = mlxcel_weight_reader_matrix(reader, head_name, config->vocab_size, config->hidden_size, false);
  model->norm = mlxcel_weight_reader_vector(reader, "model.norm.weight", config->hidden_size);
  for (uint32_t i = 0; i < config->layer_count; ++i) read_layer(reader, config, i, &model->layers[i]);
  static const char* const redundant_heads[] = {"lm_head.weight", "lm_head.scales", "lm_head.biases"};  // tied: bit for bit the embedding
  for (size_t i = 0; i < 3; ++i) mlxcel_weight_reader_skip(reader, redundant_heads[i]);
  return mlxcel_weight_reader_finish(reader);
}

// --- computation ---------------------------------------------------------------------------------------------------------------------------

typedef struct llama_call_t {  // the arguments that prefill and decode share
  mlxcel_emit_rows_t rows;
  mlxcel_value_t tokens, cos, sin;
  mlxcel_kv_values_t kv;
} llama_call_t;

// A tap module's caches aren't results: they come in, are updated in place and are dropped.
static llama_call_t begin_call(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, int64_t rows) {
  const mlxcel_model_config_t* config = model->config;
  mlxcel_element_t kv = mlxcel_element_of(model->kv_dtype);
  llama_call_t call = {.rows = {.count = rows}};
  const int64_t row_dims[] = {rows};
  const int64_t table_dims[] = {MLXCEL_DIM_DYNAMIC, config->head_dim / 2};
  const int64_t cache_dims[] = {config->layer_count, MLXCEL_DIM_DYNAMIC, config->kv_head_count, MLXCEL_DIM_DYNAMIC, config->head_dim};
  mlxcel_function_begin(builder);
  call.tokens = mlxcel_function_argument(builder, MLXCEL_ELEMENT_I32, 1, row_dims, -1);
  call.rows.slots = mlxcel_function_argument(builder, MLXCEL_ELEMENT_I32, 1, row_dims, -1);
  call.rows.positions = mlxcel_function_argument(builder, MLXCEL_ELEMENT_I32, 1, row_dims, -1);
  call.cos = mlxcel_function_argument(builder, MLXCEL_ELEMENT_F32, 2, table_dims, -1);
  call.sin = mlxcel_function_argument(builder, MLXCEL_ELEMENT_F32, 2, table_dims, -1);
  call.kv.k_cache = mlxcel_function_argument(builder, kv, 5, cache_dims, builder->taps ? -1 : 1);
  call.kv.v_cache = mlxcel_function_argument(builder, kv, 5, cache_dims, builder->taps ? -1 : 2);
  return call;
}

static void end_call(mlxcel_module_builder_t* builder, const llama_call_t* call, mlxcel_value_t result, const char* kind) {
  char name[64];
  snprintf(name, sizeof(name), "%s_%lld", kind, (long long)call->rows.count);
  mlxcel_function_result(builder, result);
  mlxcel_function_result(builder, call->kv.k_cache);
  mlxcel_function_result(builder, call->kv.v_cache);
  mlxcel_function_end(builder, name);
}

static mlxcel_attention_shape_t attention_shape(const mlxcel_model_config_t* config, uint32_t layer) {
  bool linear = config->rope.kind == MLXCEL_ROPE_LINEAR;
  return (mlxcel_attention_shape_t){
      .heads = config->head_count,
      .kv_heads = config->kv_head_count,
      .head_dim = config->head_dim,
      .rope_half = config->head_dim / 2,
      .layer = (int32_t)layer,
      .scale = (float)(1.0 / sqrt((double)config->head_dim)),
      .rope_base = (float)config->rope.theta,
      .rope_scale = linear ? (float)(1.0 / config->rope.factor) : 1.0f,
  };
}

static void tap(mlxcel_module_builder_t* builder, uint32_t layer, const char* what, mlxcel_value_t value) {
  char name[64];
  snprintf(name, sizeof(name), "layers.%u.%s", layer, what);
  mlxcel_module_tap(builder, name, value);
}

static mlxcel_value_t emit_layer(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, uint32_t index, llama_call_t* call, mlxcel_value_t x) {
  const mlxcel_model_config_t* config = model->config;
  const mlxcel_llama_layer_t* layer = &model->layers[index];
  const mlxcel_attention_shape_t shape = attention_shape(config, index);
  int64_t rows = call->rows.count;
  mlxcel_value_t normed = mlxcel_emit_rms_norm(builder, rows, &layer->input_norm, config->rms_norm_eps, x, call->rows.positions, false);
  tap(builder, index, "input_norm", normed);
  mlxcel_value_t q = mlxcel_emit_qkv_rope(builder, &call->rows, &shape, &layer->q, &layer->k, &layer->v, normed, call->cos, call->sin, &call->kv);
  tap(builder, index, "queries", q);
  mlxcel_value_t context = mlxcel_emit_attention(builder, &call->rows, &shape, q, &call->kv);
  tap(builder, index, "attention", context);
  x = mlxcel_emit_matmul(builder, rows, &layer->o, context, call->rows.positions, &x);
  tap(builder, index, "attention_residual", x);
  normed = mlxcel_emit_rms_norm(builder, rows, &layer->post_norm, config->rms_norm_eps, x, call->rows.positions, false);
  tap(builder, index, "post_norm", normed);
  mlxcel_value_t gated = mlxcel_emit_silu_gate(builder, rows, &layer->gate, &layer->up, normed, call->rows.positions);
  tap(builder, index, "gated", gated);
  x = mlxcel_emit_matmul(builder, rows, &layer->down, gated, call->rows.positions, &x);
  tap(builder, index, "output", x);
  return x;
}

static mlxcel_value_t emit_layers(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, llama_call_t* call) {
  mlxcel_value_t x = mlxcel_emit_embedding(builder, &call->rows, &model->embedding, call->tokens);
  mlxcel_module_tap(builder, "embedding", x);
  for (uint32_t i = 0; i < model->config->layer_count; ++i) x = emit_layer(builder, model, i, call, x);
  return x;
}

// Logits of rows of |x|, as f32; |index| selects them if |gather|, else marks inactive ones.
static mlxcel_value_t emit_logits(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, int64_t rows, mlxcel_value_t x, mlxcel_value_t index,
                                  bool gather) {
  mlxcel_value_t normed = mlxcel_emit_rms_norm(builder, rows, &model->norm, model->config->rms_norm_eps, x, index, gather);
  mlxcel_module_tap(builder, "norm", normed);
  mlxcel_value_t logits = mlxcel_emit_matmul(builder, rows, &model->head, normed, index, NULL);
  mlxcel_module_tap(builder, "logits", logits);
  return mlxcel_emit_widen(builder, logits);
}

static void emit_prefill(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, int64_t rows) {
  llama_call_t call = begin_call(builder, model, rows);
  end_call(builder, &call, emit_layers(builder, model, &call), "prefill");
}

static void emit_decode(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, int64_t rows) {
  llama_call_t call = begin_call(builder, model, rows);
  mlxcel_value_t x = emit_layers(builder, model, &call);
  end_call(builder, &call, emit_logits(builder, model, rows, x, call.rows.positions, false), "decode");
}

static void emit_head(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, int64_t rows) {
  const int64_t hidden_dims[] = {MLXCEL_DIM_DYNAMIC, model->config->hidden_size}, row_dims[] = {rows};
  mlxcel_function_begin(builder);
  mlxcel_value_t hidden = mlxcel_function_argument(builder, mlxcel_element_of(model->hidden_dtype), 2, hidden_dims, -1);
  mlxcel_value_t index = mlxcel_function_argument(builder, MLXCEL_ELEMENT_I32, 1, row_dims, -1);
  mlxcel_function_result(builder, emit_logits(builder, model, rows, hidden, index, true));
  char name[64];
  snprintf(name, sizeof(name), "head_%lld", (long long)rows);
  mlxcel_function_end(builder, name);
}

// Taps are results of their own; there are no others.
static void emit_tap_function(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, int64_t rows) {
  builder->taps = true;
  llama_call_t call = begin_call(builder, model, rows);
  mlxcel_value_t x = emit_layers(builder, model, &call);
  emit_logits(builder, model, rows, x, call.rows.positions, false);
  mlxcel_function_end(builder, "operation");
}

static void emit_functions(mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, const mlxcel_emit_options_t* options) {
  if (options->tap_rows > 0) {
    emit_tap_function(builder, model, options->tap_rows);
    return;
  }
  for (uint32_t i = 0; i < options->prefill_chunks.count; ++i) emit_prefill(builder, model, options->prefill_chunks.values[i]);
  for (uint32_t i = 0; i < options->head_rows.count; ++i) emit_head(builder, model, options->head_rows.values[i]);
  for (uint32_t i = 0; i < options->decode_batches.count; ++i) emit_decode(builder, model, options->decode_batches.values[i]);
}

// --- the module ----------------------------------------------------------------------------------------------------------------------------

static void describe_decoder(const mlxcel_llama_model_t* model, const mlxcel_emit_options_t* options, mlxcel_program_interface_t* interface) {
  static const char* const kv_names[] = {[MLXCEL_DTYPE_F32] = "F32", [MLXCEL_DTYPE_F16] = "F16", [MLXCEL_DTYPE_BF16] = "BF16"};
  const mlxcel_model_config_t* config = model->config;
  snprintf(interface->kv_dtype, sizeof(interface->kv_dtype), "%s", kv_names[model->kv_dtype]);
  interface->layer_count = config->layer_count;
  interface->kv_head_count = config->kv_head_count;
  interface->head_dim = config->head_dim;
  interface->hidden_size = config->hidden_size;
  interface->vocab_size = config->vocab_size;
  interface->rope_width = config->head_dim / 2;
  interface->prefill_chunks = options->prefill_chunks;
  interface->decode_batches = options->decode_batches;
  interface->head_rows = options->head_rows;
}

static iree_status_t describe(const mlxcel_module_builder_t* builder, const mlxcel_llama_model_t* model, const mlxcel_emit_options_t* options,
                              mlxcel_program_interface_t* interface) {
  snprintf(interface->kind, sizeof(interface->kind), "%s", options->tap_rows > 0 ? "operation" : "decoder");
  snprintf(interface->module_name, sizeof(interface->module_name), "%s", builder->module_name);
  snprintf(interface->parameter_scope, sizeof(interface->parameter_scope), "%s", builder->module_name);
  if (options->tap_rows == 0) describe_decoder(model, options, interface);
  for (size_t i = 0; i < builder->parameter_count; ++i) {
    const mlxcel_parameter_ref_t* parameter = &builder->parameters[i];
    IREE_RETURN_IF_ERROR(mlxcel_program_interface_add_parameter(interface, iree_make_cstring_view(parameter->key), parameter->dtype, parameter->byte_count));
  }
  return iree_ok_status();
}

static iree_status_t emit_module(const mlxcel_llama_model_t* model, const mlxcel_profile_t* profile, const mlxcel_emit_options_t* options,
                                 mlxcel_emitted_model_t* out_model) {
  mlxcel_module_builder_t builder;
  mlxcel_module_builder_initialize("model", profile->name, &builder);
  builder.workers = options->workers;
  emit_functions(&builder, model, options);
  iree_status_t status = describe(&builder, model, options, &out_model->interface);
  if (iree_status_is_ok(status)) {
    status = mlxcel_module_finish(&builder, &out_model->mlir_text, &out_model->mlir_size, &out_model->contract_text, &out_model->fingerprint);
  }
  out_model->contract_version = MLXCEL_CONTRACT_VERSION;
  out_model->kv_dtype = model->kv_dtype;
  if (iree_status_is_ok(status)) {  // the list moves
    out_model->tap_count = builder.tap_count;
    out_model->taps = builder.tap_list;
    builder.tap_list = NULL;
    builder.tap_count = 0;
  }
  mlxcel_module_builder_deinitialize(&builder);
  return status;
}

iree_status_t mlxcel_llama_emit(const mlxcel_checkpoint_t* checkpoint, const mlxcel_profile_t* profile, const mlxcel_emit_options_t* options,
                                mlxcel_emitted_model_t* out_model) {
  mlxcel_llama_model_t model = {.config = mlxcel_checkpoint_config(checkpoint)};
  mlxcel_weight_reader_t reader;
  IREE_RETURN_IF_ERROR(mlxcel_weight_reader_initialize(checkpoint, &reader));
  model.layers = calloc(model.config->layer_count, sizeof(*model.layers));
  iree_status_t status = model.layers ? read_model(checkpoint, &reader, &model)
                                      : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the layers; free some memory");
  if (iree_status_is_ok(status)) status = mlxcel_llama_check_types(&model, profile, options->kv_dtype);
  if (iree_status_is_ok(status)) status = emit_module(&model, profile, options, out_model);
  free(model.layers);
  mlxcel_weight_reader_deinitialize(&reader);
  return status;
}
