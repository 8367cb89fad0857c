// The operand lists of operation.h: what fits a class, and the types that follow.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "contract/operation.h"

//===- What a class needs -----------------------------------------------------------------------------------------------------------------------------===//

typedef struct size_field_t {
  const char* name;
  size_t offset;
} size_field_t;
#define SIZE_FIELD(field) \
  { #field, offsetof(mlxcel_operation_t, field) }
static const size_field_t size_fields[] = {
    SIZE_FIELD(rows),     SIZE_FIELD(in_features), SIZE_FIELD(out_features), SIZE_FIELD(heads),    SIZE_FIELD(kv_heads),
    SIZE_FIELD(head_dim), SIZE_FIELD(keys),        SIZE_FIELD(rope_dims),    SIZE_FIELD(batch),    SIZE_FIELD(in_h),
    SIZE_FIELD(in_w),     SIZE_FIELD(kernel_h),    SIZE_FIELD(kernel_w),     SIZE_FIELD(stride_h), SIZE_FIELD(stride_w),
};
static const size_field_t pad_fields[] = {SIZE_FIELD(pad_h_low), SIZE_FIELD(pad_h_high), SIZE_FIELD(pad_w_low), SIZE_FIELD(pad_w_high)};
#undef SIZE_FIELD

// Bits of size_fields.
enum {
  kRows = 1 << 0,
  kIn = 1 << 1,
  kOut = 1 << 2,
  kHeads = 1 << 3,
  kKvHeads = 1 << 4,
  kHeadDim = 1 << 5,
  kKeys = 1 << 6,
  kRopeDims = 1 << 7,
  kConvolution = 0x7f << 8,  // batch .. stride_w
};
typedef enum weights_e { WEIGHTS_NONE, WEIGHTS_DENSE, WEIGHTS_AFFINE, WEIGHTS_EITHER } weights_t;

#define VARIANT(name) (1u << MLXCEL_VARIANT_##name)
#define VARIANTS_ACTIVATION (VARIANT(SILU) | VARIANT(GELU_ERF) | VARIANT(GELU_TANH) | VARIANT(GELU_SIGMOID))

static const struct {
  uint32_t variants;  // allowed
  uint32_t sizes;     // needed
  weights_t weights;
} class_table[] = {
    [MLXCEL_OP_EMBEDDING] = {VARIANT(NONE), kRows | kIn | kOut, WEIGHTS_EITHER},
    [MLXCEL_OP_DEQUANTIZE] = {VARIANT(NONE), kIn | kOut, WEIGHTS_AFFINE},
    [MLXCEL_OP_DENSE_MATMUL] = {VARIANT(NONE), kRows | kIn | kOut, WEIGHTS_DENSE},
    [MLXCEL_OP_QUANTIZED_MATMUL] = {VARIANT(NONE) | VARIANT(QMV) | VARIANT(QMM), kRows | kIn | kOut, WEIGHTS_AFFINE},
    [MLXCEL_OP_LAYER_NORM] = {VARIANT(NONE), kRows | kIn, WEIGHTS_DENSE},
    [MLXCEL_OP_RMS_NORM] = {VARIANT(PLAIN) | VARIANT(GEMMA) | VARIANT(SINGLE_ROUNDING), kRows | kIn, WEIGHTS_DENSE},
    [MLXCEL_OP_RESIDUAL_ADD] = {VARIANT(NONE), kRows | kIn, WEIGHTS_NONE},
    [MLXCEL_OP_ACTIVATION] = {VARIANTS_ACTIVATION, kRows | kIn, WEIGHTS_NONE},
    [MLXCEL_OP_SILU_GATE] = {VARIANTS_ACTIVATION, kRows | kIn, WEIGHTS_NONE},
    [MLXCEL_OP_SOFTMAX] = {VARIANT(PRECISE) | VARIANT(SAME_DTYPE), kRows | kIn, WEIGHTS_NONE},
    [MLXCEL_OP_ATTENTION] = {VARIANT(MASK_NONE) | VARIANT(MASK_CAUSAL) | VARIANT(MASK_ADDITIVE), kRows | kHeads | kKvHeads | kHeadDim | kKeys, WEIGHTS_NONE},
    [MLXCEL_OP_ROPE] = {VARIANT(HALF) | VARIANT(INTERLEAVED), kRows | kHeads | kHeadDim | kRopeDims, WEIGHTS_NONE},
    [MLXCEL_OP_KV_STORE] = {VARIANT(NONE), kRows | kKvHeads | kHeadDim | kKeys, WEIGHTS_NONE},
    [MLXCEL_OP_PREFIX_SCAN] = {VARIANT(CONTIGUOUS) | VARIANT(STRIDED), kRows | kIn, WEIGHTS_NONE},
    [MLXCEL_OP_CUMULATIVE_NORM] = {VARIANT(NONE), kRows | kIn | kOut, WEIGHTS_DENSE},
    [MLXCEL_OP_CONVOLUTION] = {VARIANT(CONV1D) | VARIANT(CONV2D), kIn | kOut | kConvolution, WEIGHTS_DENSE},
    [MLXCEL_OP_ACTIVATION_PROJECTION] = {VARIANTS_ACTIVATION, kRows | kIn | kOut, WEIGHTS_EITHER},
    [MLXCEL_OP_QKV_ROPE] = {VARIANT(HALF) | VARIANT(INTERLEAVED), kRows | kIn | kHeads | kKvHeads | kHeadDim | kKeys | kRopeDims, WEIGHTS_DENSE},
};
_Static_assert(IREE_ARRAYSIZE(class_table) == MLXCEL_OP_COUNT, "one row for every op class");
_Static_assert(MLXCEL_VARIANT_COUNT <= 32, "variants are bits of a mask");

bool mlxcel_op_variant_belongs(mlxcel_op_class_t op, mlxcel_op_variant_t variant) {
  return (uint32_t)op < MLXCEL_OP_COUNT && (uint32_t)variant < MLXCEL_VARIANT_COUNT && (class_table[op].variants >> variant & 1);
}

//===- Checks -----------------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t unfit(const mlxcel_operation_t* operation, const char* format, ...) __attribute__((format(printf, 2, 3)));
static iree_status_t unfit(const mlxcel_operation_t* operation, const char* format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%s (%s): %s", mlxcel_op_class_name(operation->op), mlxcel_op_variant_name(operation->variant), text);
}

static int64_t size_of_field(const mlxcel_operation_t* operation, const size_field_t* field) {
  int64_t value;
  memcpy(&value, (const char*)operation + field->offset, sizeof(value));
  return value;
}

static iree_status_t check_sizes(const mlxcel_operation_t* operation) {
  for (size_t i = 0; i < IREE_ARRAYSIZE(size_fields); ++i) {
    int64_t value = size_of_field(operation, &size_fields[i]);
    if ((class_table[operation->op].sizes >> i & 1) && (value < 1 || value > MLXCEL_OPERATION_SIZE_MAX)) {
      return unfit(operation, "%s is %" PRId64 "; it must be 1 to %" PRId64, size_fields[i].name, value, (int64_t)MLXCEL_OPERATION_SIZE_MAX);
    }
  }
  return iree_ok_status();
}

static iree_status_t check_dtype(const mlxcel_operation_t* operation, const char* name, mlxcel_dtype_t dtype) {
  if (dtype == MLXCEL_DTYPE_F32 || dtype == MLXCEL_DTYPE_F16 || dtype == MLXCEL_DTYPE_BF16) return iree_ok_status();
  return unfit(operation, "%s is %s; it must be f32, f16 or bf16", name, mlxcel_dtype_name(dtype));
}

static iree_status_t check_weights(const mlxcel_operation_t* operation) {
  weights_t weights = class_table[operation->op].weights;
  uint32_t bits = operation->bits;
  if (bits == 0) return weights == WEIGHTS_AFFINE ? unfit(operation, "bits is 0; this class has affine weights: 2, 3, 4, 5, 6 or 8") : iree_ok_status();
  if (weights == WEIGHTS_NONE || weights == WEIGHTS_DENSE) return unfit(operation, "bits is %u; this class has no affine weights: 0", bits);
  if (bits < 2 || bits == 7 || bits > 8) return unfit(operation, "bits is %u; it must be 2, 3, 4, 5, 6 or 8", bits);
  int64_t group = operation->group_size, width = operation->in_features;
  if (group < 1 || width % group != 0) return unfit(operation, "group_size is %" PRId64 "; it must divide in_features %" PRId64, group, width);
  if (width * bits % 8 != 0) return unfit(operation, "in_features is %" PRId64 "; rows of %u-bit codes must fill whole bytes", width, bits);
  return iree_ok_status();
}

static iree_status_t check_heads(const mlxcel_operation_t* operation) {
  uint32_t sizes = class_table[operation->op].sizes;
  if ((sizes & kHeads) && (sizes & kKvHeads) && operation->heads % operation->kv_heads != 0) {
    return unfit(operation, "heads is %" PRId64 "; it must be a multiple of kv_heads %" PRId64, operation->heads, operation->kv_heads);
  }
  if (operation->head_dim > MLXCEL_HEAD_DIM_MAX) {
    return unfit(operation, "head_dim is %" PRId64 "; kernels hold a head of up to %" PRId64, operation->head_dim, (int64_t)MLXCEL_HEAD_DIM_MAX);
  }
  if ((sizes & kRopeDims) && (operation->rope_dims % 2 != 0 || operation->rope_dims > operation->head_dim)) {
    return unfit(operation, "rope_dims is %" PRId64 "; it must be even and at most head_dim %" PRId64, operation->rope_dims, operation->head_dim);
  }
  if (operation->variant == MLXCEL_VARIANT_MASK_CAUSAL && operation->keys < operation->rows) {
    return unfit(operation, "keys is %" PRId64 "; causal rows need at least as many keys: %" PRId64, operation->keys, operation->rows);
  }
  return iree_ok_status();
}

static int64_t convolved(int64_t size, int64_t low, int64_t high, int64_t kernel, int64_t stride) {
  int64_t padded = size + low + high;
  return padded < kernel ? 0 : (padded - kernel) / stride + 1;
}
static int64_t convolution_height(const mlxcel_operation_t* o) { return convolved(o->in_h, o->pad_h_low, o->pad_h_high, o->kernel_h, o->stride_h); }
static int64_t convolution_width(const mlxcel_operation_t* o) { return convolved(o->in_w, o->pad_w_low, o->pad_w_high, o->kernel_w, o->stride_w); }

static iree_status_t check_convolution(const mlxcel_operation_t* operation) {
  if (operation->op != MLXCEL_OP_CONVOLUTION) return iree_ok_status();
  for (size_t i = 0; i < IREE_ARRAYSIZE(pad_fields); ++i) {
    int64_t value = size_of_field(operation, &pad_fields[i]);
    if (value < 0 || value > MLXCEL_OPERATION_SIZE_MAX) return unfit(operation, "%s is %" PRId64 "; it can't be negative or huge", pad_fields[i].name, value);
  }
  bool is_row = operation->in_h == 1 && operation->kernel_h == 1 && operation->stride_h == 1 && operation->pad_h_low == 0 && operation->pad_h_high == 0;
  if (operation->variant == MLXCEL_VARIANT_CONV1D && !is_row) {
    return unfit(operation, "in_h, kernel_h and stride_h must be 1 and pad_h 0: conv1d runs along the width");
  }
  if (convolution_height(operation) < 1) return unfit(operation, "kernel_h is %" PRId64 "; it is larger than the padded input", operation->kernel_h);
  if (convolution_width(operation) < 1) return unfit(operation, "kernel_w is %" PRId64 "; it is larger than the padded input", operation->kernel_w);
  return iree_ok_status();
}

static iree_status_t check_cache(const mlxcel_operation_t* operation) {
  bool has_cache = operation->op == MLXCEL_OP_ATTENTION || operation->op == MLXCEL_OP_KV_STORE || operation->op == MLXCEL_OP_QKV_ROPE;
  const char* name = mlxcel_dtype_name(operation->cache_dtype);
  IREE_RETURN_IF_ERROR(check_dtype(operation, "cache_dtype", operation->cache_dtype));
  if (operation->cache_dtype == MLXCEL_DTYPE_F32) return iree_ok_status();
  if (!has_cache) return unfit(operation, "cache_dtype is %s; this class has no cache: f32", name);
  if (operation->dtype == MLXCEL_DTYPE_F32) return iree_ok_status();
  return unfit(operation, "cache_dtype is %s; a cache of %s values has their dtype: f32 here", name, mlxcel_dtype_name(operation->dtype));
}

static iree_status_t check_flags(const mlxcel_operation_t* operation) {
  bool is_matmul = operation->op == MLXCEL_OP_DENSE_MATMUL || operation->op == MLXCEL_OP_QUANTIZED_MATMUL;
  if (operation->has_bias && !is_matmul) return unfit(operation, "has_bias is set; only matmuls have the bias of a layer");
  if (operation->has_residual) return unfit(operation, "has_residual is set; the operation by itself has none: use residual-add");
  if (operation->has_frequencies && operation->op != MLXCEL_OP_ROPE) return unfit(operation, "has_frequencies is set; only rope takes them");
  return iree_ok_status();
}

static iree_status_t check_operation(const mlxcel_operation_t* operation) {
  if ((uint32_t)operation->op >= MLXCEL_OP_COUNT) return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%d is no op class", (int)operation->op);
  if (!mlxcel_op_variant_belongs(operation->op, operation->variant)) return unfit(operation, "the variant belongs to another class");
  IREE_RETURN_IF_ERROR(check_dtype(operation, "dtype", operation->dtype));
  IREE_RETURN_IF_ERROR(check_dtype(operation, "weight_dtype", operation->weight_dtype));
  IREE_RETURN_IF_ERROR(check_dtype(operation, "bias_dtype", operation->bias_dtype));
  IREE_RETURN_IF_ERROR(check_sizes(operation));
  IREE_RETURN_IF_ERROR(check_weights(operation));
  IREE_RETURN_IF_ERROR(check_heads(operation));
  IREE_RETURN_IF_ERROR(check_convolution(operation));
  IREE_RETURN_IF_ERROR(check_cache(operation));
  return check_flags(operation);
}

//===- Lists ------------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct operand_list_t {
  const mlxcel_operation_t* operation;
  mlxcel_operand_t* operands;
  size_t count;
} operand_list_t;

static mlxcel_operand_t operand_of(const char* name, mlxcel_dtype_t dtype, uint32_t rank, const int64_t* dims) {
  mlxcel_operand_t operand = {.name = name, .dtype = dtype, .rank = rank};
  for (uint32_t i = 0; i < rank; ++i) operand.dims[i] = dims[i];
  return operand;
}
static void add_vector(operand_list_t* list, const char* name, mlxcel_dtype_t dtype, int64_t size) {
  list->operands[list->count++] = operand_of(name, dtype, 1, (const int64_t[]){size});
}
static void add_matrix(operand_list_t* list, const char* name, mlxcel_dtype_t dtype, int64_t rows, int64_t columns) {
  list->operands[list->count++] = operand_of(name, dtype, 2, (const int64_t[]){rows, columns});
}
static void add_cache(operand_list_t* list, const char* name) {
  const mlxcel_operation_t* o = list->operation;
  list->operands[list->count++] = operand_of(name, mlxcel_operation_cache_dtype(o), 5, (const int64_t[]){1, 1, o->kv_heads, o->keys, o->head_dim});
}

// A matrix [out, in]: dense, or codes, scales and biases. |names| in this order.
static void add_weight(operand_list_t* list, const char* const names[4]) {
  const mlxcel_operation_t* o = list->operation;
  int64_t out = o->out_features, in = o->in_features;
  if (o->bits == 0) {
    add_matrix(list, names[0], o->weight_dtype, out, in);
    return;
  }
  add_matrix(list, names[1], MLXCEL_DTYPE_U8, out, in * o->bits / 8);
  add_matrix(list, names[2], o->weight_dtype, out, in / o->group_size);
  add_matrix(list, names[3], o->weight_dtype, out, in / o->group_size);
}
static const char* const weight_names[] = {"w", "codes", "scales", "biases"};
static const char* const table_names[] = {"table", "codes", "scales", "biases"};
static const char* const gate_names[] = {"gate_w", "gate_codes", "gate_scales", "gate_biases"};
static const char* const up_names[] = {"up_w", "up_codes", "up_scales", "up_biases"};

static void add_rows_of(operand_list_t* list, const char* name, int64_t width) { add_matrix(list, name, list->operation->dtype, list->operation->rows, width); }
static void add_slots(operand_list_t* list) { add_vector(list, "slots", MLXCEL_DTYPE_I32, list->operation->rows); }
static void add_positions(operand_list_t* list) { add_vector(list, "positions", MLXCEL_DTYPE_I32, list->operation->rows); }
static void add_tables(operand_list_t* list) {
  add_matrix(list, "cos", MLXCEL_DTYPE_F32, list->operation->keys, list->operation->rope_dims / 2);
  add_matrix(list, "sin", MLXCEL_DTYPE_F32, list->operation->keys, list->operation->rope_dims / 2);
}

static void list_embedding(operand_list_t* list) {
  add_vector(list, "tokens", MLXCEL_DTYPE_I32, list->operation->rows);
  add_positions(list);
  add_weight(list, table_names);
}

static void list_matmul(operand_list_t* list) {
  const mlxcel_operation_t* o = list->operation;
  add_rows_of(list, "x", o->in_features);
  add_weight(list, weight_names);
  if (o->has_bias) add_vector(list, "bias", o->bias_dtype, o->out_features);
}

static void list_attention(operand_list_t* list) {
  const mlxcel_operation_t* o = list->operation;
  add_rows_of(list, "q", o->heads * o->head_dim);
  add_cache(list, "k");
  add_cache(list, "v");
  add_slots(list);
  add_positions(list);
  if (o->variant == MLXCEL_VARIANT_MASK_ADDITIVE) add_rows_of(list, "mask", o->keys);
}

static void list_rope(operand_list_t* list, bool with_tables) {
  const mlxcel_operation_t* o = list->operation;
  add_rows_of(list, "x", o->heads * o->head_dim);
  add_positions(list);
  if (with_tables) {
    add_tables(list);
  } else if (o->has_frequencies) {
    add_vector(list, "frequencies", MLXCEL_DTYPE_F32, o->rope_dims / 2);
  }
}

static void list_qkv_rope(operand_list_t* list) {
  const mlxcel_operation_t* o = list->operation;
  add_rows_of(list, "x", o->in_features);
  add_matrix(list, "wq", o->weight_dtype, o->heads * o->head_dim, o->in_features);
  add_matrix(list, "wk", o->weight_dtype, o->kv_heads * o->head_dim, o->in_features);
  add_matrix(list, "wv", o->weight_dtype, o->kv_heads * o->head_dim, o->in_features);
  add_slots(list);
  add_positions(list);
  add_tables(list);
  add_cache(list, "k_cache");
  add_cache(list, "v_cache");
}

static void list_kv_store(operand_list_t* list) {
  const mlxcel_operation_t* o = list->operation;
  add_rows_of(list, "k", o->kv_heads * o->head_dim);
  add_rows_of(list, "v", o->kv_heads * o->head_dim);
  add_slots(list);
  add_positions(list);
  add_cache(list, "k_cache");
  add_cache(list, "v_cache");
}

static void list_convolution(operand_list_t* list) {
  const mlxcel_operation_t* o = list->operation;
  list->operands[list->count++] = operand_of("x", o->dtype, 4, (const int64_t[]){o->batch, o->in_h, o->in_w, o->in_features});
  list->operands[list->count++] = operand_of("w", o->weight_dtype, 4, (const int64_t[]){o->out_features, o->kernel_h, o->kernel_w, o->in_features});
}

static void list_norm(operand_list_t* list) {
  const mlxcel_operation_t* o = list->operation;
  add_rows_of(list, "x", o->in_features);
  add_vector(list, "weight", o->weight_dtype, o->in_features);
  if (o->op == MLXCEL_OP_LAYER_NORM) add_vector(list, "bias", o->weight_dtype, o->in_features);
}

static void list_cumulative_norm(operand_list_t* list) {
  const mlxcel_operation_t* o = list->operation;
  list->operands[list->count++] = operand_of("x", o->dtype, 3, (const int64_t[]){o->rows, o->in_features, o->out_features});
  add_vector(list, "weight", o->weight_dtype, o->out_features);
}

static void list_pair(operand_list_t* list, const char* first, const char* second) {
  add_rows_of(list, first, list->operation->in_features);
  if (second) add_rows_of(list, second, list->operation->in_features);
}

static void list_activation_projection(operand_list_t* list) {
  add_rows_of(list, "x", list->operation->in_features);
  add_weight(list, gate_names);
  add_weight(list, up_names);
}

static void list_operands(operand_list_t* list, bool with_tables) {
  switch (list->operation->op) {
    case MLXCEL_OP_EMBEDDING:
      list_embedding(list);
      break;
    case MLXCEL_OP_DEQUANTIZE:
      add_weight(list, weight_names);
      break;
    case MLXCEL_OP_DENSE_MATMUL:
    case MLXCEL_OP_QUANTIZED_MATMUL:
      list_matmul(list);
      break;
    case MLXCEL_OP_LAYER_NORM:
    case MLXCEL_OP_RMS_NORM:
      list_norm(list);
      break;
    case MLXCEL_OP_RESIDUAL_ADD:
      list_pair(list, "a", "b");
      break;
    case MLXCEL_OP_SILU_GATE:
      list_pair(list, "gate", "up");
      break;
    case MLXCEL_OP_ACTIVATION:
    case MLXCEL_OP_SOFTMAX:
    case MLXCEL_OP_PREFIX_SCAN:
      list_pair(list, "x", NULL);
      break;
    case MLXCEL_OP_ATTENTION:
      list_attention(list);
      break;
    case MLXCEL_OP_ROPE:
      list_rope(list, with_tables);
      break;
    case MLXCEL_OP_KV_STORE:
      list_kv_store(list);
      break;
    case MLXCEL_OP_CUMULATIVE_NORM:
      list_cumulative_norm(list);
      break;
    case MLXCEL_OP_CONVOLUTION:
      list_convolution(list);
      break;
    case MLXCEL_OP_ACTIVATION_PROJECTION:
      list_activation_projection(list);
      break;
    case MLXCEL_OP_QKV_ROPE:
      list_qkv_rope(list);
      break;
    case MLXCEL_OP_COUNT:
      break;
  }
}

static iree_status_t check_element_count(const mlxcel_operation_t* operation, const mlxcel_operand_t* operand) {
  uint64_t count = mlxcel_operand_element_count(operand);
  if (count <= MLXCEL_OPERAND_ELEMENTS_MAX) return iree_ok_status();
  return unfit(operation, "%s has %" PRIu64 " elements; kernels count to %" PRIu64, operand->name, count, MLXCEL_OPERAND_ELEMENTS_MAX);
}

iree_status_t mlxcel_operation_operands(const mlxcel_operation_t* operation, bool with_tables, mlxcel_operand_t out_operands[MLXCEL_OPERANDS_MAX],
                                        size_t* out_count) {
  *out_count = 0;
  memset(out_operands, 0, MLXCEL_OPERANDS_MAX * sizeof(*out_operands));
  IREE_RETURN_IF_ERROR(check_operation(operation));
  if (operation->op == MLXCEL_OP_ROPE && with_tables && operation->keys < 1) {
    return unfit(operation, "keys is %" PRId64 "; it must be 1 or more: the tables have so many rows", operation->keys);
  }
  operand_list_t list = {.operation = operation, .operands = out_operands};
  list_operands(&list, with_tables);
  for (size_t i = 0; i < list.count; ++i) {
    IREE_RETURN_IF_ERROR(check_element_count(operation, &out_operands[i]));
  }
  *out_count = list.count;
  return iree_ok_status();
}

// Elements of q and of both caches; INT64_MAX if they don't fit.
static int64_t qkv_element_count(const mlxcel_operation_t* o) {
  const mlxcel_operand_t q = operand_of("q", o->dtype, 3, (const int64_t[]){o->rows, o->heads, o->head_dim});
  const mlxcel_operand_t caches = operand_of("caches", o->dtype, 4, (const int64_t[]){2, o->kv_heads, o->keys, o->head_dim});
  uint64_t q_count = mlxcel_operand_element_count(&q), cache_count = mlxcel_operand_element_count(&caches);
  if (q_count > MLXCEL_OPERAND_ELEMENTS_MAX || cache_count > MLXCEL_OPERAND_ELEMENTS_MAX) return INT64_MAX;
  return (int64_t)(q_count + cache_count);
}

static mlxcel_operand_t result_of(const mlxcel_operation_t* o) {
  mlxcel_dtype_t promoted = mlxcel_dtype_promote(o->dtype, o->weight_dtype);
  switch (o->op) {
    case MLXCEL_OP_EMBEDDING:
      return operand_of("result", o->weight_dtype, 2, (const int64_t[]){o->rows, o->in_features});
    case MLXCEL_OP_DEQUANTIZE:
      return operand_of("result", o->weight_dtype, 2, (const int64_t[]){o->out_features, o->in_features});
    case MLXCEL_OP_DENSE_MATMUL:
    case MLXCEL_OP_QUANTIZED_MATMUL:
    case MLXCEL_OP_ACTIVATION_PROJECTION:
      return operand_of("result", promoted, 2, (const int64_t[]){o->rows, o->out_features});
    case MLXCEL_OP_LAYER_NORM:
      return operand_of("result", promoted, 2, (const int64_t[]){o->rows, o->in_features});
    case MLXCEL_OP_RMS_NORM: {
      mlxcel_dtype_t dtype = o->variant == MLXCEL_VARIANT_SINGLE_ROUNDING ? o->dtype : promoted;
      return operand_of("result", dtype, 2, (const int64_t[]){o->rows, o->in_features});
    }
    case MLXCEL_OP_ATTENTION:
    case MLXCEL_OP_ROPE:
      return operand_of("result", o->dtype, 2, (const int64_t[]){o->rows, o->heads * o->head_dim});
    case MLXCEL_OP_QKV_ROPE:
      return operand_of("result", o->dtype, 1, (const int64_t[]){qkv_element_count(o)});
    case MLXCEL_OP_KV_STORE:
      return operand_of("result", mlxcel_operation_cache_dtype(o), 5, (const int64_t[]){2, 1, o->kv_heads, o->keys, o->head_dim});
    case MLXCEL_OP_CUMULATIVE_NORM:
      return operand_of("result", o->dtype, 3, (const int64_t[]){o->rows, o->in_features, o->out_features});
    case MLXCEL_OP_CONVOLUTION:
      return operand_of("result", o->dtype, 4, (const int64_t[]){o->batch, convolution_height(o), convolution_width(o), o->out_features});
    default:
      return operand_of("result", o->dtype, 2, (const int64_t[]){o->rows, o->in_features});
  }
}

iree_status_t mlxcel_operation_result(const mlxcel_operation_t* operation, mlxcel_operand_t* out_result) {
  memset(out_result, 0, sizeof(*out_result));
  IREE_RETURN_IF_ERROR(check_operation(operation));
  mlxcel_operand_t result = result_of(operation);
  IREE_RETURN_IF_ERROR(check_element_count(operation, &result));
  *out_result = result;
  return iree_ok_status();
}

//===- Reports ----------------------------------------------------------------------------------------------------------------------------------------===//

typedef struct text_t {
  char* buffer;
  size_t size, used;
} text_t;
static void add_text(text_t* text, const char* format, ...) __attribute__((format(printf, 2, 3)));
static void add_text(text_t* text, const char* format, ...) {
  if (text->used + 1 >= text->size) return;
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(text->buffer + text->used, text->size - text->used, format, arguments);
  va_end(arguments);
  if (written > 0) text->used += (size_t)written < text->size - text->used ? (size_t)written : text->size - text->used - 1;
}

void mlxcel_operation_shape_text(const mlxcel_operation_t* operation, char* buffer, size_t size) {
  if (size == 0) return;
  buffer[0] = 0;
  text_t text = {.buffer = buffer, .size = size};
  mlxcel_operand_t operands[MLXCEL_OPERANDS_MAX];
  size_t count = 0;
  iree_status_t status = mlxcel_operation_operands(operation, false, operands, &count);
  if (!iree_status_is_ok(status)) {
    iree_status_ignore(status);
    add_text(&text, "invalid");
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (operands[i].dtype == MLXCEL_DTYPE_I32) continue;  // one number a row: follows from the others
    add_text(&text, "%s%s=[", text.used ? " " : "", operands[i].name);
    for (uint32_t d = 0; d < operands[i].rank; ++d) add_text(&text, "%s%" PRId64, d ? "," : "", operands[i].dims[d]);
    add_text(&text, "]");
  }
  const mlxcel_operation_t* o = operation;
  if (class_table[o->op].sizes & kHeads) add_text(&text, " heads=%" PRId64, o->heads);
  if (o->cache_dtype != MLXCEL_DTYPE_F32) add_text(&text, " cache=%s", mlxcel_dtype_name(o->cache_dtype));
  if (class_table[o->op].sizes & kRopeDims) add_text(&text, " rope_dims=%" PRId64, o->rope_dims);
  if (o->op == MLXCEL_OP_CONVOLUTION) {
    add_text(&text, " stride=[%" PRId64 ",%" PRId64 "] pad=[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "]", o->stride_h, o->stride_w, o->pad_h_low,
             o->pad_h_high, o->pad_w_low, o->pad_w_high);
  }
}
