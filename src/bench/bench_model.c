#include "bench/bench_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Names that every family here has. The table is looked up row by row, so it is read as a whole only where the head shares it.
#define EMBEDDING_MODULE "model.embed_tokens."
#define HEAD_MODULE "lm_head."

// What a tensor is for.
typedef enum model_part_e { MODEL_LAYERS, MODEL_HEAD, MODEL_UNREAD } model_part_t;

static model_part_t model_part(iree_string_view_t name, bool is_tied) {
  const bool is_embedding = iree_string_view_starts_with(name, IREE_SV(EMBEDDING_MODULE));
  const bool is_head = iree_string_view_starts_with(name, IREE_SV(HEAD_MODULE));
  if (!is_embedding && !is_head) return MODEL_LAYERS;
  return is_tied == is_embedding ? MODEL_HEAD : MODEL_UNREAD;
}

// The path of the module if |name| is its |suffix| (".weight").
static bool model_module_of(iree_string_view_t name, const char* suffix, iree_string_view_t* out_path) {
  const iree_string_view_t end = iree_make_cstring_view(suffix);
  if (!iree_string_view_ends_with(name, end)) return false;
  *out_path = iree_string_view_remove_suffix(name, end.size);
  return true;
}

static const mlxcel_tensor_t* model_scales(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t path) {
  char name[MLXCEL_TENSOR_NAME_BYTES_MAX + 16];
  const int size = snprintf(name, sizeof(name), "%.*s.scales", MLXCEL_SV(path));
  return size > 0 && (size_t)size < sizeof(name) ? mlxcel_checkpoint_find(checkpoint, iree_make_string_view(name, (size_t)size)) : NULL;
}

// How many weights a tensor holds: the scales of a quantized module speak for it, its codes and offsets hold none of their own.
static uint64_t model_weights(const mlxcel_checkpoint_t* checkpoint, const mlxcel_tensor_t* tensor, mlxcel_quantization_t* out_quantization) {
  iree_string_view_t path;
  *out_quantization = (mlxcel_quantization_t){0};
  if (model_module_of(tensor->name, ".scales", &path)) {
    *out_quantization = mlxcel_quantization_table_lookup(&mlxcel_checkpoint_config(checkpoint)->quantization, path);
    return tensor->element_count * out_quantization->group_size;
  }
  const bool is_piece = model_module_of(tensor->name, ".weight", &path) || model_module_of(tensor->name, ".biases", &path);
  return is_piece && model_scales(checkpoint, path) ? 0 : tensor->element_count;
}

// The form of most weights so far.
typedef struct model_forms_t {
  struct model_form_t {
    char name[32];
    uint64_t weights;
  } forms[16];  // three dtypes, six widths; groups beyond the last place don't count
  size_t count;
} model_forms_t;

static void model_forms_add(model_forms_t* forms, const char* name, uint64_t weights) {
  size_t i = 0;
  while (i < forms->count && strcmp(forms->forms[i].name, name) != 0) ++i;
  if (i == sizeof(forms->forms) / sizeof(forms->forms[0])) return;
  if (i == forms->count) snprintf(forms->forms[forms->count++].name, sizeof(forms->forms[i].name), "%s", name);
  forms->forms[i].weights += weights;
}

static const char* model_forms_best(const model_forms_t* forms) {
  size_t best = 0;
  for (size_t i = 1; i < forms->count; ++i) {
    if (forms->forms[i].weights > forms->forms[best].weights) best = i;
  }
  return forms->count ? forms->forms[best].name : "empty";
}

static void model_add_tensor(const mlxcel_checkpoint_t* checkpoint, const mlxcel_tensor_t* tensor, model_forms_t* forms, mlxcel_bench_model_t* model) {
  mlxcel_quantization_t quantization;
  const uint64_t weights = model_weights(checkpoint, tensor, &quantization);
  const bool is_matrix = tensor->rank >= 2;
  const model_part_t part = model_part(tensor->name, mlxcel_checkpoint_config(checkpoint)->tie_word_embeddings);
  model->bytes += tensor->byte_count;
  model->parameter_count += weights;
  if (part == MODEL_LAYERS) model->layer_bytes += tensor->byte_count;
  if (part == MODEL_HEAD) model->head_bytes += tensor->byte_count;
  if (!is_matrix || weights == 0) return;
  if (part == MODEL_LAYERS) model->layer_weights += weights;
  if (part == MODEL_HEAD) model->head_weights += weights;
  char form[32];
  snprintf(form, sizeof(form), "%s", mlxcel_tensor_dtype_name(tensor->dtype));
  if (quantization.bits) snprintf(form, sizeof(form), "%u-bit g%u", quantization.bits, quantization.group_size);
  model_forms_add(forms, form, weights);
}

void mlxcel_bench_model_count(const mlxcel_checkpoint_t* checkpoint, mlxcel_bench_model_t* out_model) {
  memset(out_model, 0, sizeof(*out_model));
  model_forms_t forms = {.count = 0};
  for (size_t i = 0; i < mlxcel_checkpoint_tensor_count(checkpoint); ++i) {
    model_add_tensor(checkpoint, mlxcel_checkpoint_tensor_at(checkpoint, i), &forms, out_model);
  }
  const mlxcel_model_config_t* config = mlxcel_checkpoint_config(checkpoint);
  out_model->context = config->max_position_embeddings;
  snprintf(out_model->type, sizeof(out_model->type), "%s %s", config->model_type, model_forms_best(&forms));
}

iree_status_t mlxcel_bench_model_read(const char* folder, mlxcel_bench_model_t* out_model) {
  memset(out_model, 0, sizeof(*out_model));
  mlxcel_checkpoint_t* checkpoint = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_checkpoint_open(folder, &checkpoint));
  mlxcel_bench_model_count(checkpoint, out_model);
  mlxcel_checkpoint_close(checkpoint);
  out_model->folder = strdup(folder);
  return out_model->folder ? iree_ok_status() : iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a path; free some");
}

void mlxcel_bench_model_deinitialize(mlxcel_bench_model_t* model) {
  free(model->folder);
  memset(model, 0, sizeof(*model));
}
