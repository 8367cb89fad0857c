// The modules of a checkpoint: which tensors make a matrix, and whether they fit each other, the configuration and what the family asks for.
#include <stdio.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/excerpt.h"

#define FETCH "take the complete checkpoint from its source"
#define SUFFIX_BYTES_MAX 16u  // ".weight" and its kin

// What is being resolved.
typedef struct module_t {
  const mlxcel_checkpoint_t* checkpoint;
  const char* folder;
  iree_string_view_t path;
  mlxcel_excerpt_t who;  // |path| for errors
  uint64_t out_features, in_features;
} module_t;

static const mlxcel_tensor_t* module_find(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t path, const char* suffix) {
  char name[MLXCEL_TENSOR_NAME_BYTES_MAX + SUFFIX_BYTES_MAX];
  size_t suffix_size = strlen(suffix);
  if (path.size > MLXCEL_TENSOR_NAME_BYTES_MAX) return NULL;
  memcpy(name, path.data, path.size);
  memcpy(name + path.size, suffix, suffix_size);
  return mlxcel_checkpoint_find(checkpoint, iree_make_string_view(name, path.size + suffix_size));
}

// "[2, 3]".
typedef struct module_shape_text_t {
  char text[MLXCEL_TENSOR_RANK_MAX * 22 + 3];  // 20 digits and ", " a dimension
} module_shape_text_t;

static module_shape_text_t module_shape_text(const uint64_t* shape, uint32_t rank) {
  module_shape_text_t result = {.text = "["};
  size_t size = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    size += (size_t)snprintf(result.text + size, sizeof(result.text) - size, "%s%" PRIu64, i ? ", " : "", shape[i]);
  }
  snprintf(result.text + size, sizeof(result.text) - size, "]");
  return result;
}

static iree_status_t module_check_shape(const char* folder, const mlxcel_tensor_t* tensor, const uint64_t* shape, uint32_t rank, const char* reason) {
  if (tensor->rank == rank && memcmp(tensor->shape, shape, rank * sizeof(*shape)) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s has shape %s; expected %s (%s): config.json and the tensors belong to different models",
                          folder, mlxcel_excerpt(tensor->name).text, module_shape_text(tensor->shape, tensor->rank).text, module_shape_text(shape, rank).text,
                          reason);
}

static iree_status_t module_check_float(const char* folder, const mlxcel_tensor_t* tensor) {
  if (mlxcel_tensor_dtype_is_float(tensor->dtype)) return iree_ok_status();
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s: tensor %s is %s; expected F32, F16 or BF16: convert it", folder, mlxcel_excerpt(tensor->name).text,
                          mlxcel_tensor_dtype_name(tensor->dtype));
}

//===- quantized ----------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t module_check_table(const module_t* module, const mlxcel_quantization_t* value) {
  const mlxcel_quantization_table_t* table = &mlxcel_checkpoint_config(module->checkpoint)->quantization;
  const char* who = module->who.text;
  if (!table->present) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s.scales says that %s is quantized, but config.json has no 'quantization'; " FETCH,
                            module->folder, who, who);
  }
  if (value->bits == 0) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: config.json's quantization says false for %s, but tensor %s.scales exists; " FETCH,
                            module->folder, who, who);
  }
  if (module->in_features % value->group_size == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: %s has %" PRIu64 " columns, which groups of %u don't divide: correct config.json's quantization",
                          module->folder, who, module->in_features, value->group_size);
}

static iree_status_t module_check_pair(const module_t* module, const mlxcel_matrix_t* matrix) {
  if (!matrix->scales || !matrix->biases) {
    const char* present = matrix->scales ? "scales" : "biases";
    const char* absent = matrix->scales ? "biases" : "scales";
    return iree_make_status(IREE_STATUS_NOT_FOUND, "%s: tensor %s.%s is missing though %s.%s exists; affine quantization needs both: " FETCH, module->folder,
                            module->who.text, absent, module->who.text, present);
  }
  IREE_RETURN_IF_ERROR(module_check_float(module->folder, matrix->scales));
  IREE_RETURN_IF_ERROR(module_check_float(module->folder, matrix->biases));
  if (matrix->scales->dtype == matrix->biases->dtype) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensors %s.scales (%s) and %s.biases (%s) differ in dtype: convert one of them", module->folder,
                          module->who.text, mlxcel_tensor_dtype_name(matrix->scales->dtype), module->who.text, mlxcel_tensor_dtype_name(matrix->biases->dtype));
}

static iree_status_t module_resolve_quantized(const module_t* module, mlxcel_matrix_t* matrix) {
  IREE_RETURN_IF_ERROR(module_check_pair(module, matrix));
  const mlxcel_quantization_table_t* table = &mlxcel_checkpoint_config(module->checkpoint)->quantization;
  const mlxcel_quantization_t value = mlxcel_quantization_table_lookup(table, module->path);
  IREE_RETURN_IF_ERROR(module_check_table(module, &value));
  if (matrix->weight->dtype != MLXCEL_TENSOR_DTYPE_U32) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s: tensor %s.weight is %s; expected U32 as %s.scales exists: " FETCH, module->folder,
                            module->who.text, mlxcel_tensor_dtype_name(matrix->weight->dtype), module->who.text);
  }
  char reason[128];
  snprintf(reason, sizeof(reason), "%" PRIu64 " columns of %u bits in groups of %u, as config.json's quantization %s", module->in_features, value.bits,
           value.group_size, mlxcel_quantization_table_find(table, module->path) ? "says for this module" : "says by default");
  // Groups are multiples of 32 codes, so that whole words hold them for every number of bits.
  const uint64_t packed[2] = {module->out_features, module->in_features / 32 * value.bits};
  const uint64_t grouped[2] = {module->out_features, module->in_features / value.group_size};
  IREE_RETURN_IF_ERROR(module_check_shape(module->folder, matrix->weight, packed, 2, reason));
  IREE_RETURN_IF_ERROR(module_check_shape(module->folder, matrix->scales, grouped, 2, reason));
  IREE_RETURN_IF_ERROR(module_check_shape(module->folder, matrix->biases, grouped, 2, reason));
  matrix->quantization = value;
  return iree_ok_status();
}

//===- dense --------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t module_resolve_dense(const module_t* module, const mlxcel_matrix_t* matrix) {
  const mlxcel_quantization_table_t* table = &mlxcel_checkpoint_config(module->checkpoint)->quantization;
  const mlxcel_quantization_override_t* override = mlxcel_quantization_table_find(table, module->path);
  if ((override && override->value.bits > 0) || matrix->weight->dtype == MLXCEL_TENSOR_DTYPE_U32) {
    return iree_make_status(IREE_STATUS_NOT_FOUND, "%s: tensors %s.scales and %s.biases are missing, but %s says that the module is quantized; " FETCH,
                            module->folder, module->who.text, module->who.text, override ? "config.json's quantization" : "the dtype U32 of its weight");
  }
  IREE_RETURN_IF_ERROR(module_check_float(module->folder, matrix->weight));
  const uint64_t shape[2] = {module->out_features, module->in_features};
  return module_check_shape(module->folder, matrix->weight, shape, 2, "rows and columns, from config.json");
}

iree_status_t mlxcel_checkpoint_matrix(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t path, uint64_t out_features, uint64_t in_features,
                                       mlxcel_matrix_t* out_matrix) {
  memset(out_matrix, 0, sizeof(*out_matrix));
  const module_t module = {.checkpoint = checkpoint,
                           .folder = mlxcel_checkpoint_folder(checkpoint),
                           .path = path,
                           .who = mlxcel_excerpt(path),
                           .out_features = out_features,
                           .in_features = in_features};
  mlxcel_matrix_t matrix = {.weight = module_find(checkpoint, path, ".weight"),
                            .scales = module_find(checkpoint, path, ".scales"),
                            .biases = module_find(checkpoint, path, ".biases"),
                            .out_features = out_features,
                            .in_features = in_features};
  if (!matrix.weight) return iree_make_status(IREE_STATUS_NOT_FOUND, "%s: tensor %s.weight is missing; " FETCH, module.folder, module.who.text);
  bool quantized = matrix.scales || matrix.biases;
  IREE_RETURN_IF_ERROR(quantized ? module_resolve_quantized(&module, &matrix) : module_resolve_dense(&module, &matrix));
  *out_matrix = matrix;
  return iree_ok_status();
}

iree_status_t mlxcel_checkpoint_vector(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t name, uint64_t size, const mlxcel_tensor_t** out_tensor) {
  *out_tensor = NULL;
  const char* folder = mlxcel_checkpoint_folder(checkpoint);
  const mlxcel_tensor_t* tensor = mlxcel_checkpoint_find(checkpoint, name);
  if (!tensor) return iree_make_status(IREE_STATUS_NOT_FOUND, "%s: tensor %s is missing; " FETCH, folder, mlxcel_excerpt(name).text);
  IREE_RETURN_IF_ERROR(module_check_float(folder, tensor));
  IREE_RETURN_IF_ERROR(module_check_shape(folder, tensor, &size, 1, "from config.json"));
  *out_tensor = tensor;
  return iree_ok_status();
}

//===- head ---------------------------------------------------------------------------------------------------------------------------------===//

static bool module_tensors_equal(const mlxcel_tensor_t* a, const mlxcel_tensor_t* b) {
  if (!a || !b) return a == b;
  return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->shape, b->shape, sizeof(a->shape)) == 0 && memcmp(a->data, b->data, a->byte_count) == 0;
}

static iree_status_t module_resolve_tied_head(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t embedding_path, iree_string_view_t head_path) {
  static const char* const suffixes[] = {".weight", ".scales", ".biases"};
  bool has_head = false, equal = true;
  for (size_t i = 0; i < IREE_ARRAYSIZE(suffixes); ++i) {
    const mlxcel_tensor_t* head = module_find(checkpoint, head_path, suffixes[i]);
    has_head = has_head || head;
    equal = equal && module_tensors_equal(head, module_find(checkpoint, embedding_path, suffixes[i]));
  }
  if (!has_head || equal) return iree_ok_status();
  return iree_make_status(
      IREE_STATUS_INVALID_ARGUMENT,
      "%s: config.json says tie_word_embeddings true, but the tensors of %s aren't those of %s; set it to false if the model has a head of its "
      "own, or remove those tensors",
      mlxcel_checkpoint_folder(checkpoint), mlxcel_excerpt(head_path).text, mlxcel_excerpt(embedding_path).text);
}

iree_status_t mlxcel_checkpoint_head(const mlxcel_checkpoint_t* checkpoint, iree_string_view_t embedding_path, iree_string_view_t head_path,
                                     iree_string_view_t* out_path) {
  *out_path = iree_string_view_empty();
  if (mlxcel_checkpoint_config(checkpoint)->tie_word_embeddings) {
    IREE_RETURN_IF_ERROR(module_resolve_tied_head(checkpoint, embedding_path, head_path));
    *out_path = embedding_path;
    return iree_ok_status();
  }
  if (!module_find(checkpoint, head_path, ".weight")) {
    return iree_make_status(
        IREE_STATUS_NOT_FOUND,
        "%s: tensor %s.weight is missing, and config.json's tie_word_embeddings is false (which is also what its absence means); set it to true if "
        "the model's head is its embedding, else " FETCH,
        mlxcel_checkpoint_folder(checkpoint), mlxcel_excerpt(head_path).text);
  }
  *out_path = head_path;
  return iree_ok_status();
}
