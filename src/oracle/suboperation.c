#include "oracle/suboperation.h"

#include <string.h>

// What is cut, and where from.
typedef struct cut_t {
  const mlxcel_operation_t* from;
  const mlxcel_oracle_operands_t* operands;
  mlxcel_operation_t* to;
  int64_t at[MLXCEL_OPERAND_RANK_MAX];  // coordinate of the output
  uint64_t index;                       // of the output in the smaller result
} cut_t;

//===- The smaller operation ----------------------------------------------------------------------------------------------------------------------------===//

static void shrink_projection(cut_t* cut) {
  cut->to->rows = 1;
  cut->to->out_features = 1;
}

static void shrink_row(cut_t* cut) {
  cut->to->rows = 1;
  cut->index = (uint64_t)cut->at[1];
}

static void shrink_element(cut_t* cut) {
  cut->to->rows = 1;
  cut->to->in_features = 1;
}

static void shrink_heads(cut_t* cut) {
  cut->to->rows = 1;
  cut->to->heads = 1;
  cut->index = (uint64_t)(cut->at[1] % cut->from->head_dim);
  if (cut->from->op == MLXCEL_OP_ROPE) return;
  cut->to->kv_heads = 1;
  if (cut->from->variant == MLXCEL_VARIANT_MASK_CAUSAL) cut->to->keys = cut->from->keys - cut->from->rows + cut->at[0] + 1;
}

// The row that is stored last at |position|; -1 = none.
static int64_t row_at_position(const mlxcel_oracle_operands_t* operands, int64_t position) {
  int64_t row = -1;
  for (size_t i = 0; i < operands->count; ++i) {
    if (strcmp(operands->tensors[i].type.name, "positions") != 0) continue;
    for (int64_t r = 0; r < operands->tensors[i].type.dims[0]; ++r) {
      if (((const int32_t*)operands->tensors[i].data)[r] == position) row = r;
    }
  }
  return row;
}

// The result is flat: q, k cache, v cache. |at| becomes what it is for q: row, then head and element; of the first head that reads it, for k and v.
static iree_status_t shrink_qkv(cut_t* cut, uint64_t index) {
  const mlxcel_operation_t* from = cut->from;
  int64_t flat = (int64_t)index, width = from->heads * from->head_dim, q_count = from->rows * width, element;
  cut->to->rows = cut->to->heads = cut->to->kv_heads = 1;
  if (flat < q_count) {
    element = flat % from->head_dim;
    cut->at[0] = flat / width;
    cut->at[1] = flat % width;
    cut->index = (uint64_t)element;
    return iree_ok_status();
  }
  int64_t head_size = from->keys * from->head_dim, cache_size = from->kv_heads * head_size, cell = (flat - q_count) % cache_size;
  int64_t position = cell % head_size / from->head_dim;
  cut->at[0] = row_at_position(cut->operands, position);
  if (cut->at[0] < 0) {
    return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                            "qkv-rope stores no row at position %" PRId64 ": the cache's element there is the operand's; compare those", position);
  }
  element = cell % from->head_dim;
  cut->at[1] = cell / head_size * (from->heads / from->kv_heads) * from->head_dim + element;
  bool is_v = flat - q_count >= cache_size;
  cut->index = (uint64_t)(from->head_dim + (is_v ? head_size : 0) + position * from->head_dim + element);
  return iree_ok_status();
}

static void shrink_scan(cut_t* cut) {
  bool is_strided = cut->from->variant == MLXCEL_VARIANT_STRIDED;
  cut->to->rows = is_strided ? cut->at[0] + 1 : 1;
  cut->to->in_features = is_strided ? 1 : cut->at[1] + 1;
  cut->index = (uint64_t)(is_strided ? cut->at[0] : cut->at[1]);
}

// Time steps 0 .. t; every step's sums need all frequencies and channels.
static void shrink_cumulative_norm(cut_t* cut) {
  cut->to->rows = cut->at[0] + 1;
  cut->index = (uint64_t)((cut->at[0] * cut->from->in_features + cut->at[1]) * cut->from->out_features + cut->at[2]);
}

// The window as an image of its own, padding included.
static void shrink_convolution(cut_t* cut) {
  cut->to->batch = 1;
  cut->to->out_features = 1;
  cut->to->in_h = cut->from->kernel_h;
  cut->to->in_w = cut->from->kernel_w;
  cut->to->stride_h = cut->to->stride_w = 1;
  cut->to->pad_h_low = cut->to->pad_h_high = cut->to->pad_w_low = cut->to->pad_w_high = 0;
}

static void shrink_dequantize(cut_t* cut) {
  cut->to->out_features = 1;
  cut->to->in_features = cut->from->group_size;
  cut->index = (uint64_t)(cut->at[1] % (int64_t)cut->from->group_size);
}

// |index| is that of the output.
static iree_status_t shrink(cut_t* cut, uint64_t index) {
  switch (cut->from->op) {
    case MLXCEL_OP_DENSE_MATMUL:
    case MLXCEL_OP_QUANTIZED_MATMUL:
    case MLXCEL_OP_ACTIVATION_PROJECTION:
      shrink_projection(cut);
      break;
    case MLXCEL_OP_LAYER_NORM:
    case MLXCEL_OP_RMS_NORM:
    case MLXCEL_OP_SOFTMAX:
    case MLXCEL_OP_EMBEDDING:
      shrink_row(cut);
      break;
    case MLXCEL_OP_RESIDUAL_ADD:
    case MLXCEL_OP_ACTIVATION:
    case MLXCEL_OP_SILU_GATE:
      shrink_element(cut);
      break;
    case MLXCEL_OP_ATTENTION:
    case MLXCEL_OP_ROPE:
      shrink_heads(cut);
      break;
    case MLXCEL_OP_QKV_ROPE:
      return shrink_qkv(cut, index);
    case MLXCEL_OP_PREFIX_SCAN:
      shrink_scan(cut);
      break;
    case MLXCEL_OP_CUMULATIVE_NORM:
      shrink_cumulative_norm(cut);
      break;
    case MLXCEL_OP_CONVOLUTION:
      shrink_convolution(cut);
      break;
    case MLXCEL_OP_DEQUANTIZE:
      shrink_dequantize(cut);
      break;
    default:
      return iree_make_status(IREE_STATUS_UNIMPLEMENTED, "%s moves data only: no single output can be computed alone; compare its operands instead",
                              mlxcel_op_class_name(cut->from->op));
  }
  return iree_ok_status();
}

//===- Its operands -------------------------------------------------------------------------------------------------------------------------------------===//

static bool is_named(const mlxcel_host_tensor_t* tensor, const char* name) { return strcmp(tensor->type.name, name) == 0; }

// Copies |size| bytes from byte |from| of |source|.
static void copy_bytes(const mlxcel_host_tensor_t* source, size_t from, size_t to, size_t size, mlxcel_host_tensor_t* target) {
  memcpy((uint8_t*)target->data + to, (const uint8_t*)source->data + from, size);
}

// Rows [first, first + rows of target) and columns [column, ...) of a matrix whose rows are the last dimension.
static void copy_block(const mlxcel_host_tensor_t* source, int64_t first, int64_t column, mlxcel_host_tensor_t* target) {
  size_t element = mlxcel_dtype_size(source->type.dtype);
  size_t source_width = (size_t)source->type.dims[source->type.rank - 1], width = (size_t)target->type.dims[target->type.rank - 1];
  size_t rows = target->size / (width * element);
  for (size_t r = 0; r < rows; ++r) {
    copy_bytes(source, (((size_t)first + r) * source_width + (size_t)column) * element, r * width * element, width * element, target);
  }
}

// k or v of one head: [1, 1, 1, keys, head_dim].
static void copy_cache(const cut_t* cut, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  int64_t head = cut->at[1] / cut->from->head_dim;
  int64_t kv_head = head / (cut->from->heads / cut->from->kv_heads);
  copy_block(source, kv_head * cut->from->keys, 0, target);
}

static void copy_attention(const cut_t* cut, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  if (is_named(source, "q")) {
    copy_block(source, cut->at[0], cut->at[1] / cut->from->head_dim * cut->from->head_dim, target);
  } else if (is_named(source, "k") || is_named(source, "v")) {
    copy_cache(cut, source, target);
  } else {
    copy_block(source, 0, 0, target);
    if (is_named(source, "positions")) *(int32_t*)target->data = (int32_t)(cut->to->keys - 1);
    if (is_named(source, "mask")) copy_block(source, cut->at[0], 0, target);
  }
}

static void copy_rope(const cut_t* cut, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  int64_t head = cut->at[1] / cut->from->head_dim;
  if (is_named(source, "x")) {
    copy_block(source, cut->at[0], cut->from->op == MLXCEL_OP_ROPE ? head * cut->from->head_dim : 0, target);
  } else if (is_named(source, "wq")) {
    copy_block(source, head * cut->from->head_dim, 0, target);
  } else if (is_named(source, "wk") || is_named(source, "wv")) {
    copy_block(source, head / (cut->from->heads / cut->from->kv_heads) * cut->from->head_dim, 0, target);
  } else if (is_named(source, "k_cache") || is_named(source, "v_cache")) {
    copy_cache(cut, source, target);
  } else if (is_named(source, "slots") || is_named(source, "positions")) {
    *(int32_t*)target->data = ((const int32_t*)source->data)[cut->at[0]];
  } else {
    copy_block(source, 0, 0, target);  // tables
  }
}

static void copy_window(const cut_t* cut, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  const mlxcel_operation_t* from = cut->from;
  size_t pixel = (size_t)from->in_features * mlxcel_dtype_size(source->type.dtype);
  if (is_named(source, "w")) {
    copy_bytes(source, (size_t)cut->at[3] * target->size, 0, target->size, target);
    return;
  }
  for (int64_t kh = 0; kh < from->kernel_h; ++kh) {
    for (int64_t kw = 0; kw < from->kernel_w; ++kw) {
      int64_t h = cut->at[1] * from->stride_h - from->pad_h_low + kh, w = cut->at[2] * from->stride_w - from->pad_w_low + kw;
      if (h < 0 || h >= from->in_h || w < 0 || w >= from->in_w) continue;  // stays zero
      copy_bytes(source, (size_t)((cut->at[0] * from->in_h + h) * from->in_w + w) * pixel, (size_t)(kh * from->kernel_w + kw) * pixel, pixel, target);
    }
  }
}

// The row (or element) of the activations, the output's row of the weights, its element of the bias.
static void copy_projection(const cut_t* cut, size_t index, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  if (index == 0) {
    copy_block(source, cut->at[0], 0, target);
  } else {
    copy_bytes(source, (size_t)cut->at[1] * target->size, 0, target->size, target);
  }
}

static void copy_group(const cut_t* cut, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  int64_t groups = cut->from->in_features / (int64_t)cut->from->group_size;
  int64_t group = cut->at[0] * groups + cut->at[1] / (int64_t)cut->from->group_size;
  copy_bytes(source, (size_t)group * target->size, 0, target->size, target);
}

static void copy_embedding(const cut_t* cut, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  bool is_row_data = is_named(source, "tokens") || is_named(source, "positions");
  if (is_row_data) {
    *(int32_t*)target->data = ((const int32_t*)source->data)[cut->at[0]];
  } else {
    copy_block(source, 0, 0, target);
  }
}

static void copy_scan(const cut_t* cut, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  bool is_strided = cut->from->variant == MLXCEL_VARIANT_STRIDED;
  copy_block(source, is_strided ? 0 : cut->at[0], is_strided ? cut->at[1] : 0, target);
}

static void copy_operand(const cut_t* cut, size_t index, const mlxcel_host_tensor_t* source, mlxcel_host_tensor_t* target) {
  switch (cut->from->op) {
    case MLXCEL_OP_DENSE_MATMUL:
    case MLXCEL_OP_QUANTIZED_MATMUL:
    case MLXCEL_OP_ACTIVATION_PROJECTION:
      copy_projection(cut, index, source, target);
      break;
    case MLXCEL_OP_RESIDUAL_ADD:
    case MLXCEL_OP_ACTIVATION:
    case MLXCEL_OP_SILU_GATE:
      copy_block(source, cut->at[0], cut->at[1], target);
      break;
    case MLXCEL_OP_ATTENTION:
      copy_attention(cut, source, target);
      break;
    case MLXCEL_OP_ROPE:
    case MLXCEL_OP_QKV_ROPE:
      copy_rope(cut, source, target);
      break;
    case MLXCEL_OP_PREFIX_SCAN:
      copy_scan(cut, source, target);
      break;
    case MLXCEL_OP_CONVOLUTION:
      copy_window(cut, source, target);
      break;
    case MLXCEL_OP_DEQUANTIZE:
      copy_group(cut, source, target);
      break;
    case MLXCEL_OP_EMBEDDING:
      copy_embedding(cut, source, target);
      break;
    default:  // norms, softmax: the row; cumulative-norm: the first time steps; weights whole
      copy_block(source, index == 0 && cut->from->op != MLXCEL_OP_CUMULATIVE_NORM ? cut->at[0] : 0, 0, target);
      break;
  }
}

static iree_status_t cut_operands(const cut_t* cut, bool with_tables, mlxcel_oracle_operands_t* operands) {
  mlxcel_operand_t types[MLXCEL_OPERANDS_MAX];
  size_t count = 0;
  IREE_RETURN_IF_ERROR(mlxcel_operation_operands(cut->to, with_tables, types, &count));
  for (size_t i = 0; i < count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_host_tensor_allocate(&types[i], &operands->tensors[i]));
    operands->count = i + 1;
    copy_operand(cut, i, &cut->operands->tensors[i], &operands->tensors[i]);
  }
  return mlxcel_oracle_operands_hash(operands);
}

iree_status_t mlxcel_suboperation_make(const mlxcel_operation_t* operation, bool with_tables, const mlxcel_oracle_operands_t* operands, uint64_t index,
                                       mlxcel_suboperation_t* out_sub) {
  memset(out_sub, 0, sizeof(*out_sub));
  mlxcel_operand_t result;
  IREE_RETURN_IF_ERROR(mlxcel_operation_result(operation, &result));
  out_sub->operation = *operation;
  cut_t cut = {.from = operation, .operands = operands, .to = &out_sub->operation};
  uint64_t rest = index;
  for (uint32_t dim = result.rank; dim-- > 0;) {
    cut.at[dim] = (int64_t)(rest % (uint64_t)result.dims[dim]);
    rest /= (uint64_t)result.dims[dim];
  }
  IREE_RETURN_IF_ERROR(shrink(&cut, index));
  out_sub->index = cut.index;
  iree_status_t status = cut_operands(&cut, with_tables, &out_sub->operands);
  if (!iree_status_is_ok(status)) mlxcel_suboperation_deinitialize(out_sub);
  return status;
}

void mlxcel_suboperation_deinitialize(mlxcel_suboperation_t* sub) { mlxcel_oracle_operands_deinitialize(&sub->operands); }
