// Which tensor of model.safetensors comes from which tensor of the GGUF file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "checkpoint/gguf_model.h"

#define GGUF_GROUP 32u    // MLX group size of every quantized output
#define GGUF_ALIGNED 64u  // sizes that are multiples of this keep the next tensor aligned
#define GGUF_OUTPUTS_PER_TENSOR 3u

typedef enum gguf_dimension_e {
  GGUF_DIM_NONE,  // of a vector
  GGUF_DIM_HIDDEN,
  GGUF_DIM_INTERMEDIATE,
  GGUF_DIM_VOCAB,
  GGUF_DIM_QUERY,
  GGUF_DIM_KEY_VALUE,
} gguf_dimension_t;

typedef enum gguf_kind_e {
  GGUF_KIND_MATRIX,  // dense or quantized; `weight` below the module path
  GGUF_KIND_NORM,    // a vector, always written as F32
  GGUF_KIND_ATTENTION_BIAS,
  GGUF_KIND_MLP_BIAS,
} gguf_kind_t;

typedef struct gguf_mapping_t {
  const char* source;  // below "blk.N." for tensors of a layer
  const char* target;  // below "model.layers.N."; without ".weight" for matrices
  gguf_kind_t kind;
  gguf_dimension_t rows, columns;
  bool is_interleaved;  // rows are interleaved for RoPE
} gguf_mapping_t;

static const gguf_mapping_t gguf_layer_mappings[] = {
    {"attn_norm.weight", "input_layernorm.weight", GGUF_KIND_NORM, GGUF_DIM_HIDDEN, GGUF_DIM_NONE, false},
    {"attn_q.weight", "self_attn.q_proj", GGUF_KIND_MATRIX, GGUF_DIM_QUERY, GGUF_DIM_HIDDEN, true},
    {"attn_k.weight", "self_attn.k_proj", GGUF_KIND_MATRIX, GGUF_DIM_KEY_VALUE, GGUF_DIM_HIDDEN, true},
    {"attn_v.weight", "self_attn.v_proj", GGUF_KIND_MATRIX, GGUF_DIM_KEY_VALUE, GGUF_DIM_HIDDEN, false},
    {"attn_output.weight", "self_attn.o_proj", GGUF_KIND_MATRIX, GGUF_DIM_HIDDEN, GGUF_DIM_QUERY, false},
    {"ffn_norm.weight", "post_attention_layernorm.weight", GGUF_KIND_NORM, GGUF_DIM_HIDDEN, GGUF_DIM_NONE, false},
    {"ffn_gate.weight", "mlp.gate_proj", GGUF_KIND_MATRIX, GGUF_DIM_INTERMEDIATE, GGUF_DIM_HIDDEN, false},
    {"ffn_up.weight", "mlp.up_proj", GGUF_KIND_MATRIX, GGUF_DIM_INTERMEDIATE, GGUF_DIM_HIDDEN, false},
    {"ffn_down.weight", "mlp.down_proj", GGUF_KIND_MATRIX, GGUF_DIM_HIDDEN, GGUF_DIM_INTERMEDIATE, false},
    {"attn_q.bias", "self_attn.q_proj.bias", GGUF_KIND_ATTENTION_BIAS, GGUF_DIM_QUERY, GGUF_DIM_NONE, true},
    {"attn_k.bias", "self_attn.k_proj.bias", GGUF_KIND_ATTENTION_BIAS, GGUF_DIM_KEY_VALUE, GGUF_DIM_NONE, true},
    {"attn_v.bias", "self_attn.v_proj.bias", GGUF_KIND_ATTENTION_BIAS, GGUF_DIM_KEY_VALUE, GGUF_DIM_NONE, false},
    {"attn_output.bias", "self_attn.o_proj.bias", GGUF_KIND_ATTENTION_BIAS, GGUF_DIM_HIDDEN, GGUF_DIM_NONE, false},
    {"ffn_gate.bias", "mlp.gate_proj.bias", GGUF_KIND_MLP_BIAS, GGUF_DIM_INTERMEDIATE, GGUF_DIM_NONE, false},
    {"ffn_up.bias", "mlp.up_proj.bias", GGUF_KIND_MLP_BIAS, GGUF_DIM_INTERMEDIATE, GGUF_DIM_NONE, false},
    {"ffn_down.bias", "mlp.down_proj.bias", GGUF_KIND_MLP_BIAS, GGUF_DIM_HIDDEN, GGUF_DIM_NONE, false},
};

static const gguf_mapping_t gguf_model_mappings[] = {
    {"token_embd.weight", "model.embed_tokens", GGUF_KIND_MATRIX, GGUF_DIM_VOCAB, GGUF_DIM_HIDDEN, false},
    {"output_norm.weight", "model.norm.weight", GGUF_KIND_NORM, GGUF_DIM_HIDDEN, GGUF_DIM_NONE, false},
};
static const gguf_mapping_t gguf_head_mapping = {"output.weight", "lm_head", GGUF_KIND_MATRIX, GGUF_DIM_VOCAB, GGUF_DIM_HIDDEN, false};

typedef struct gguf_planner_t {
  const mlxcel_gguf_t* file;
  const mlxcel_gguf_llama_t* llama;
  mlxcel_gguf_plan_t* plan;
  bool* is_used;  // one for each tensor of the file
} gguf_planner_t;

static uint64_t gguf_dimension(const mlxcel_gguf_llama_t* llama, gguf_dimension_t dimension) {
  switch (dimension) {
    case GGUF_DIM_HIDDEN:
      return llama->hidden_size;
    case GGUF_DIM_INTERMEDIATE:
      return llama->intermediate_size;
    case GGUF_DIM_VOCAB:
      return llama->vocab_size;
    case GGUF_DIM_QUERY:
      return llama->head_count * llama->head_dim;
    case GGUF_DIM_KEY_VALUE:
      return llama->kv_head_count * llama->head_dim;
    default:
      return 1;
  }
}

static void gguf_mark_used(gguf_planner_t* planner, const mlxcel_gguf_tensor_t* tensor) {
  planner->is_used[tensor - mlxcel_gguf_tensor_at(planner->file, 0)] = true;
}

static iree_status_t gguf_check_shape(const gguf_planner_t* planner, const gguf_mapping_t* mapping, const mlxcel_gguf_tensor_t* tensor) {
  uint64_t rows = gguf_dimension(planner->llama, mapping->rows), columns = gguf_dimension(planner->llama, mapping->columns);
  uint32_t rank = mapping->columns == GGUF_DIM_NONE ? 1 : 2;
  bool is_equal = tensor->rank == rank && tensor->shape[0] == rows && (rank == 1 || tensor->shape[1] == columns);
  if (is_equal) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s: tensor %.*s has rank %" PRIu32 " and shape [%" PRIu64 ", %" PRIu64 "], but the metadata asks for [%" PRIu64 "%s%" PRIu64
                          "]; the file is damaged or of another kind",
                          mlxcel_gguf_origin(planner->file), MLXCEL_SV(tensor->name), tensor->rank, tensor->shape[0], tensor->rank > 1 ? tensor->shape[1] : 1,
                          rows, rank == 1 ? "] = " : ", ", rank == 1 ? rows : columns);
}

// Appends an output of |rows| rows; there is room for three of each tensor.
static mlxcel_gguf_output_t* gguf_add_output(gguf_planner_t* planner, const mlxcel_gguf_tensor_t* tensor, const char* name, const char* suffix,
                                             mlxcel_gguf_part_t part, mlxcel_tensor_dtype_t dtype, uint64_t columns) {
  mlxcel_gguf_output_t* output = &planner->plan->outputs[planner->plan->output_count++];
  snprintf(output->name, sizeof(output->name), "%s%s", name, suffix);
  output->dtype = dtype;
  output->rank = tensor->rank;
  output->shape[0] = tensor->shape[0];
  output->shape[1] = columns;
  output->row_count = tensor->shape[0];
  output->row_bytes = columns * mlxcel_tensor_dtype_byte_count(dtype);
  output->byte_count = output->row_count * output->row_bytes;
  output->source = tensor;
  output->part = part;
  return output;
}

static mlxcel_tensor_dtype_t gguf_dense_dtype(mlxcel_gguf_tensor_type_t type) {
  if (type == MLXCEL_GGUF_TENSOR_F16) return MLXCEL_TENSOR_DTYPE_F16;
  return type == MLXCEL_GGUF_TENSOR_BF16 ? MLXCEL_TENSOR_DTYPE_BF16 : MLXCEL_TENSOR_DTYPE_F32;
}

static void gguf_add_matrix(gguf_planner_t* planner, const mlxcel_gguf_tensor_t* tensor, const char* path, uint64_t rope_head_dim) {
  uint64_t columns = tensor->shape[1];
  uint32_t bits = mlxcel_gguf_tensor_type_bits(tensor->type);
  if (bits == 0) {
    gguf_add_output(planner, tensor, path, ".weight", MLXCEL_GGUF_PART_DENSE, gguf_dense_dtype(tensor->type), columns)->rope_head_dim = rope_head_dim;
    return;
  }
  gguf_add_output(planner, tensor, path, ".weight", MLXCEL_GGUF_PART_CODES, MLXCEL_TENSOR_DTYPE_U32, columns * bits / 32)->rope_head_dim = rope_head_dim;
  gguf_add_output(planner, tensor, path, ".scales", MLXCEL_GGUF_PART_SCALES, MLXCEL_TENSOR_DTYPE_F16, columns / GGUF_GROUP)->rope_head_dim = rope_head_dim;
  gguf_add_output(planner, tensor, path, ".biases", MLXCEL_GGUF_PART_BIASES, MLXCEL_TENSOR_DTYPE_F16, columns / GGUF_GROUP)->rope_head_dim = rope_head_dim;
  if (planner->plan->base_bits != 4) planner->plan->base_bits = bits;  // the table's default is 4 as soon as one module has 4
}

static iree_status_t gguf_add_vector(gguf_planner_t* planner, const mlxcel_gguf_tensor_t* tensor, const char* name, uint64_t rope_head_dim) {
  if (mlxcel_gguf_tensor_type_bits(tensor->type) != 0) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s: tensor %.*s is a vector of type %s; take a file whose norms and biases are F32, F16 or BF16",
                            mlxcel_gguf_origin(planner->file), MLXCEL_SV(tensor->name), mlxcel_gguf_tensor_type_name(tensor->type));
  }
  gguf_add_output(planner, tensor, name, "", MLXCEL_GGUF_PART_F32, MLXCEL_TENSOR_DTYPE_F32, 1)->rope_head_dim = rope_head_dim;
  return iree_ok_status();
}

// Plans one tensor if the file has it; |*out_found| tells.
static iree_status_t gguf_plan_tensor(gguf_planner_t* planner, const gguf_mapping_t* mapping, const char* source, const char* target, bool* out_found) {
  const mlxcel_gguf_tensor_t* tensor = mlxcel_gguf_find_tensor(planner->file, iree_make_cstring_view(source));
  *out_found = tensor != NULL;
  if (!tensor) return iree_ok_status();
  gguf_mark_used(planner, tensor);
  IREE_RETURN_IF_ERROR(gguf_check_shape(planner, mapping, tensor));
  uint64_t rope_head_dim = mapping->is_interleaved ? planner->llama->head_dim : 0;
  if (mapping->kind != GGUF_KIND_MATRIX) return gguf_add_vector(planner, tensor, target, rope_head_dim);
  gguf_add_matrix(planner, tensor, target, rope_head_dim);
  return iree_ok_status();
}

// Biases are on all layers or on none: the first layer decides. Only then is a missing one an error.
static bool gguf_is_expected(const gguf_planner_t* planner, gguf_kind_t kind) {
  if (kind == GGUF_KIND_ATTENTION_BIAS) return planner->plan->attention_bias;
  return kind == GGUF_KIND_MLP_BIAS ? planner->plan->mlp_bias : true;
}

static iree_status_t gguf_plan_layer(gguf_planner_t* planner, uint32_t layer) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(gguf_layer_mappings); ++i) {
    const gguf_mapping_t* mapping = &gguf_layer_mappings[i];
    if (!gguf_is_expected(planner, mapping->kind)) continue;
    char source[64], target[96];
    snprintf(source, sizeof(source), "blk.%" PRIu32 ".%s", layer, mapping->source);
    snprintf(target, sizeof(target), "model.layers.%" PRIu32 ".%s", layer, mapping->target);
    bool is_found = false;
    IREE_RETURN_IF_ERROR(gguf_plan_tensor(planner, mapping, source, target, &is_found));
    if (!is_found) {
      return iree_make_status(IREE_STATUS_NOT_FOUND, "%s: tensor %s is missing; the file is incomplete or of another kind", mlxcel_gguf_origin(planner->file),
                              source);
    }
  }
  return iree_ok_status();
}

static iree_status_t gguf_plan_model(gguf_planner_t* planner) {
  bool is_found = false;
  for (size_t i = 0; i < IREE_ARRAYSIZE(gguf_model_mappings); ++i) {
    const gguf_mapping_t* mapping = &gguf_model_mappings[i];
    IREE_RETURN_IF_ERROR(gguf_plan_tensor(planner, mapping, mapping->source, mapping->target, &is_found));
    if (!is_found) {
      return iree_make_status(IREE_STATUS_NOT_FOUND, "%s: tensor %s is missing; the file is incomplete or of another kind", mlxcel_gguf_origin(planner->file),
                              mapping->source);
    }
  }
  IREE_RETURN_IF_ERROR(gguf_plan_tensor(planner, &gguf_head_mapping, gguf_head_mapping.source, gguf_head_mapping.target, &is_found));
  planner->plan->tie_word_embeddings = !is_found;
  return iree_ok_status();
}

static iree_status_t gguf_plan_rope(gguf_planner_t* planner, mlxcel_gguf_llama_t* llama) {
  const mlxcel_gguf_tensor_t* tensor = mlxcel_gguf_find_tensor(planner->file, IREE_SV("rope_freqs.weight"));
  if (!tensor) return iree_ok_status();
  gguf_mark_used(planner, tensor);
  return mlxcel_gguf_rope_read_factors(planner->file, tensor, llama);
}

static iree_status_t gguf_check_all_used(const gguf_planner_t* planner) {
  for (size_t i = 0; i < mlxcel_gguf_tensor_count(planner->file); ++i) {
    if (planner->is_used[i]) continue;
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                            "%s: tensor %.*s has no place in a Llama model of %" PRIu64 " layers; take a plain Llama model, or the model's Hugging Face folder",
                            mlxcel_gguf_origin(planner->file), MLXCEL_SV(mlxcel_gguf_tensor_at(planner->file, i)->name), planner->llama->layer_count);
  }
  return iree_ok_status();
}

// safetensors allows no holes, so only sizes decide alignment: whatever isn't a multiple of 64 bytes goes last.
static int gguf_output_compare(const void* a, const void* b) {
  const mlxcel_gguf_output_t *x = a, *y = b;
  bool x_is_odd = x->byte_count % GGUF_ALIGNED != 0, y_is_odd = y->byte_count % GGUF_ALIGNED != 0;
  if (x_is_odd != y_is_odd) return x_is_odd ? 1 : -1;
  return strcmp(x->name, y->name);
}

static iree_status_t gguf_plan_all(gguf_planner_t* planner, mlxcel_gguf_llama_t* llama) {
  mlxcel_gguf_plan_t* plan = planner->plan;
  plan->attention_bias = mlxcel_gguf_find_tensor(planner->file, IREE_SV("blk.0.attn_q.bias")) != NULL;
  plan->mlp_bias = mlxcel_gguf_find_tensor(planner->file, IREE_SV("blk.0.ffn_gate.bias")) != NULL;
  IREE_RETURN_IF_ERROR(gguf_plan_rope(planner, llama));
  IREE_RETURN_IF_ERROR(gguf_plan_model(planner));
  for (uint32_t layer = 0; layer < llama->layer_count; ++layer) {
    IREE_RETURN_IF_ERROR(gguf_plan_layer(planner, layer));
  }
  IREE_RETURN_IF_ERROR(gguf_check_all_used(planner));
  qsort(plan->outputs, plan->output_count, sizeof(*plan->outputs), gguf_output_compare);
  for (size_t i = 0; i < plan->output_count; ++i) plan->byte_count += plan->outputs[i].byte_count;  // each below 2^42
  return iree_ok_status();
}

iree_status_t mlxcel_gguf_plan_initialize(const mlxcel_gguf_t* file, mlxcel_gguf_llama_t* llama, mlxcel_gguf_plan_t* out_plan) {
  memset(out_plan, 0, sizeof(*out_plan));
  size_t tensor_count = mlxcel_gguf_tensor_count(file);
  gguf_planner_t planner = {.file = file, .llama = llama, .plan = out_plan, .is_used = calloc(tensor_count, sizeof(bool))};
  out_plan->outputs = calloc(tensor_count * GGUF_OUTPUTS_PER_TENSOR, sizeof(*out_plan->outputs));
  iree_status_t status = planner.is_used && out_plan->outputs
                             ? gguf_plan_all(&planner, llama)
                             : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "%s: out of memory for %zu tensors", mlxcel_gguf_origin(file), tensor_count);
  free(planner.is_used);
  if (!iree_status_is_ok(status)) mlxcel_gguf_plan_deinitialize(out_plan);
  return status;
}

void mlxcel_gguf_plan_deinitialize(mlxcel_gguf_plan_t* plan) {
  free(plan->outputs);
  memset(plan, 0, sizeof(*plan));
}
