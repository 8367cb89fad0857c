#include "oracle/oracle_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/operation_emitter.h"
#include "oracle/case_coverage.h"

#define F32 MLXCEL_DTYPE_F32
#define F16 MLXCEL_DTYPE_F16
#define BF16 MLXCEL_DTYPE_BF16

// Rows below this make MLX choose its matrix-vector kernels on GPUs (M * B < 8).
#define QMV_ROWS_END 8

static const char* const class_names[] = {
    "q4-qmv",    "q4-qmm",          "dense-matmul", "layer-norm", "rms-norm",   "activation-projection", "activation", "residual-add", "softmax",
    "attention", "cumulative-norm", "sscp-conv",    "rope",       "dequantize", "prefix-scan",           "embedding",  "kv-store",
};
#define CLASS_COUNT (sizeof(class_names) / sizeof(class_names[0]))

const char* mlxcel_oracle_class_at(size_t index) { return index < CLASS_COUNT ? class_names[index] : NULL; }

bool mlxcel_oracle_class_is_known(iree_string_view_t name) {
  for (size_t i = 0; i < CLASS_COUNT; ++i) {
    if (iree_string_view_equal(name, iree_make_cstring_view(class_names[i]))) return true;
  }
  return false;
}

//===- Building the list --------------------------------------------------------------------------------------------------------------------------------===//

typedef struct case_builder_t {
  mlxcel_oracle_cases_t* cases;
  const char* class_name;
  size_t next_index;
  bool for_evidence;  // of the cases added now
  bool failed;
} case_builder_t;

static void add(case_builder_t* builder, mlxcel_operation_t operation) {
  mlxcel_oracle_cases_t* cases = builder->cases;
  if (cases->count == cases->capacity) {
    size_t capacity = cases->capacity ? cases->capacity * 2 : 256;
    mlxcel_oracle_case_t* items = realloc(cases->items, capacity * sizeof(*items));
    if (!items) {
      builder->failed = true;
      return;
    }
    cases->items = items;
    cases->capacity = capacity;
  }
  cases->items[cases->count++] =
      (mlxcel_oracle_case_t){.class_name = builder->class_name, .index = builder->next_index++, .operation = operation, .for_evidence = builder->for_evidence};
}

// Activations and weights that one case combines.
typedef struct dtype_pair_t {
  mlxcel_dtype_t dtype, weight_dtype;
} dtype_pair_t;
static const dtype_pair_t same_pairs[] = {{F32, F32}, {F16, F16}, {BF16, BF16}};
// What checkpoints hold beside a matching dtype: narrow weights under f32 activations, and metadata that makes MLX promote to f32.
static const dtype_pair_t mixed_pairs[] = {{F32, BF16}, {F32, F16}, {BF16, F32}, {BF16, F16}, {F16, F32}, {F16, BF16}};
// Caches narrower than their f32 values.
static const mlxcel_dtype_t narrow_caches[] = {F16, BF16};
#define SAME_COUNT (sizeof(same_pairs) / sizeof(same_pairs[0]))
#define MIXED_COUNT (sizeof(mixed_pairs) / sizeof(mixed_pairs[0]))

static mlxcel_operation_t operation_of(mlxcel_op_class_t op, mlxcel_op_variant_t variant, dtype_pair_t pair) {
  return (mlxcel_operation_t){.op = op, .variant = variant, .dtype = pair.dtype, .weight_dtype = pair.weight_dtype, .bias_dtype = pair.weight_dtype};
}

typedef struct matrix_shape_t {
  int64_t rows, in_features, out_features;
  uint32_t bits, group_size;  // bits 0 = dense
  bool has_bias;
} matrix_shape_t;

static void add_matmul(case_builder_t* builder, mlxcel_op_class_t op, mlxcel_op_variant_t variant, dtype_pair_t pair, const matrix_shape_t* shape) {
  mlxcel_operation_t operation = operation_of(op, variant, pair);
  operation.rows = shape->rows;
  operation.in_features = shape->in_features;
  operation.out_features = shape->out_features;
  operation.bits = shape->bits;
  operation.group_size = shape->group_size;
  operation.has_bias = shape->has_bias;
  add(builder, operation);
}

static void add_matmuls(case_builder_t* builder, mlxcel_op_class_t op, dtype_pair_t pair, const matrix_shape_t* shapes, size_t count) {
  for (size_t i = 0; i < count; ++i) add_matmul(builder, op, MLXCEL_VARIANT_NONE, pair, &shapes[i]);
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void add_qmv(case_builder_t* builder) {
  static const matrix_shape_t shapes[] = {
      {1, 576, 1536, 4, 32, false},  // SmolLM2 gate
      {1, 1536, 576, 4, 64, false},  // SmolLM2 down
      {1, 576, 8192, 4, 64, false},  // a slice of SmolLM2's head of 49152
      {1, 2048, 512, 4, 128, false}, {7, 96, 37, 4, 32, false}, {3, 160, 101, 8, 32, false}, {1, 576, 192, 4, 64, true},
  };
  static const matrix_shape_t promoted[] = {{5, 256, 96, 4, 64, false}, {5, 64, 40, 8, 32, true}};
  static const matrix_shape_t other_widths[] = {{5, 64, 33, 2, 64, false}, {5, 96, 29, 3, 32, false}, {5, 128, 31, 5, 32, false}, {5, 192, 35, 6, 64, false}};
  for (size_t i = 0; i < SAME_COUNT; ++i) add_matmuls(builder, MLXCEL_OP_QUANTIZED_MATMUL, same_pairs[i], shapes, COUNT_OF(shapes));
  add_matmuls(builder, MLXCEL_OP_QUANTIZED_MATMUL, same_pairs[0], other_widths, COUNT_OF(other_widths));
  for (size_t i = 0; i < MIXED_COUNT; ++i) add_matmuls(builder, MLXCEL_OP_QUANTIZED_MATMUL, mixed_pairs[i], promoted, COUNT_OF(promoted));
}

static void add_qmm(case_builder_t* builder) {
  static const matrix_shape_t shapes[] = {
      {16, 576, 576, 4, 64, false}, {33, 96, 37, 4, 32, false},   {8, 2048, 128, 4, 128, false},
      {9, 256, 64, 8, 64, false},   {12, 1536, 64, 4, 32, false}, {10, 576, 24, 4, 64, true},
  };
  static const matrix_shape_t other_widths[] = {{8, 64, 33, 2, 64, false}, {8, 96, 29, 3, 32, false}, {8, 128, 31, 5, 32, false}, {8, 192, 35, 6, 64, false}};
  static const matrix_shape_t promoted[] = {{10, 256, 48, 4, 64, false}};
  for (size_t i = 0; i < SAME_COUNT; ++i) add_matmuls(builder, MLXCEL_OP_QUANTIZED_MATMUL, same_pairs[i], shapes, COUNT_OF(shapes));
  add_matmuls(builder, MLXCEL_OP_QUANTIZED_MATMUL, same_pairs[0], other_widths, COUNT_OF(other_widths));
  for (size_t i = 0; i < MIXED_COUNT; ++i) add_matmuls(builder, MLXCEL_OP_QUANTIZED_MATMUL, mixed_pairs[i], promoted, COUNT_OF(promoted));
}

static void add_dense(case_builder_t* builder) {
  static const matrix_shape_t shapes[] = {
      {1, 576, 1536, 0, 0, false}, {1, 1536, 576, 0, 0, false}, {1, 576, 4096, 0, 0, false}, {17, 2048, 256, 0, 0, false}, {7, 37, 19, 0, 0, false},
      {33, 130, 65, 0, 0, false},  {2, 1, 5, 0, 0, false},      {6, 100, 51, 0, 0, true},    {1, 100, 1, 0, 0, false},
  };
  static const matrix_shape_t promoted[] = {{6, 50, 40, 0, 0, false}, {5, 66, 20, 0, 0, true}};
  for (size_t i = 0; i < SAME_COUNT; ++i) add_matmuls(builder, MLXCEL_OP_DENSE_MATMUL, same_pairs[i], shapes, COUNT_OF(shapes));
  for (size_t i = 0; i < MIXED_COUNT; ++i) add_matmuls(builder, MLXCEL_OP_DENSE_MATMUL, mixed_pairs[i], promoted, COUNT_OF(promoted));
}

// Rows of a width; for norms with an epsilon.
static void add_rows(case_builder_t* builder, mlxcel_op_class_t op, mlxcel_op_variant_t variant, dtype_pair_t pair, int64_t rows, int64_t width,
                     float epsilon) {
  mlxcel_operation_t operation = operation_of(op, variant, pair);
  operation.rows = rows;
  operation.in_features = width;
  operation.epsilon = epsilon;
  add(builder, operation);
}

// A last bit of a row's statistics is lost in the root more often than not: few rows may all hide it.
#define MANY_ROWS 200

static void add_layer_norm(case_builder_t* builder) {
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    add_rows(builder, MLXCEL_OP_LAYER_NORM, MLXCEL_VARIANT_NONE, same_pairs[i], 5, 4093, 1e-5f);
    add_rows(builder, MLXCEL_OP_LAYER_NORM, MLXCEL_VARIANT_NONE, same_pairs[i], 7, 37, 1e-5f);
    add_rows(builder, MLXCEL_OP_LAYER_NORM, MLXCEL_VARIANT_NONE, same_pairs[i], 1, 2048, 1e-5f);
    add_rows(builder, MLXCEL_OP_LAYER_NORM, MLXCEL_VARIANT_NONE, same_pairs[i], 6, 768, 1e-6f);
  }
  for (size_t i = 0; i < MIXED_COUNT; ++i) add_rows(builder, MLXCEL_OP_LAYER_NORM, MLXCEL_VARIANT_NONE, mixed_pairs[i], 5, 300, 1e-5f);
  for (size_t i = 0; i < SAME_COUNT; ++i) add_rows(builder, MLXCEL_OP_LAYER_NORM, MLXCEL_VARIANT_NONE, same_pairs[i], MANY_ROWS, 33, 1e-5f);
}

static void add_rms_norm(case_builder_t* builder) {
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, same_pairs[i], 6, 576, 1e-5f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, same_pairs[i], 1, 2048, 1e-5f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, same_pairs[i], 5, 4093, 1e-6f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, same_pairs[i], 7, 37, 1e-5f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_GEMMA, same_pairs[i], 5, 2048, 1e-6f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_GEMMA, same_pairs[i], 6, 255, 1e-6f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_SINGLE_ROUNDING, same_pairs[i], 5, 1536, 1e-6f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_SINGLE_ROUNDING, same_pairs[i], 6, 101, 1e-6f);
  }
  for (size_t i = 0; i < MIXED_COUNT; ++i) {
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, mixed_pairs[i], 5, 300, 1e-5f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_GEMMA, mixed_pairs[i], 5, 200, 1e-6f);
    add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_SINGLE_ROUNDING, mixed_pairs[i], 5, 100, 1e-6f);
  }
  for (size_t i = 0; i < SAME_COUNT; ++i) add_rows(builder, MLXCEL_OP_RMS_NORM, MLXCEL_VARIANT_PLAIN, same_pairs[i], MANY_ROWS, 33, 1e-5f);
}

static void add_activation_projection(case_builder_t* builder) {
  static const matrix_shape_t shapes[] = {
      {1, 576, 1536, 4, 32, false}, {9, 576, 1024, 4, 64, false}, {6, 100, 50, 0, 0, false}, {5, 64, 40, 8, 64, false}, {1, 576, 300, 0, 0, false}};
  static const matrix_shape_t promoted[] = {{5, 64, 40, 4, 32, false}, {5, 50, 20, 0, 0, false}};
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    for (size_t k = 0; k < COUNT_OF(shapes); ++k) add_matmul(builder, MLXCEL_OP_ACTIVATION_PROJECTION, MLXCEL_VARIANT_SILU, same_pairs[i], &shapes[k]);
    add_matmul(builder, MLXCEL_OP_ACTIVATION_PROJECTION, MLXCEL_VARIANT_GELU_ERF, same_pairs[i], &shapes[2]);
    add_matmul(builder, MLXCEL_OP_ACTIVATION_PROJECTION, MLXCEL_VARIANT_GELU_TANH, same_pairs[i], &shapes[2]);
    add_matmul(builder, MLXCEL_OP_ACTIVATION_PROJECTION, MLXCEL_VARIANT_GELU_SIGMOID, same_pairs[i], &shapes[3]);
  }
  for (size_t i = 0; i < MIXED_COUNT; ++i) {
    for (size_t k = 0; k < COUNT_OF(promoted); ++k) add_matmul(builder, MLXCEL_OP_ACTIVATION_PROJECTION, MLXCEL_VARIANT_SILU, mixed_pairs[i], &promoted[k]);
  }
}

static void add_activation(case_builder_t* builder) {
  static const mlxcel_op_variant_t variants[] = {MLXCEL_VARIANT_SILU, MLXCEL_VARIANT_GELU_ERF, MLXCEL_VARIANT_GELU_TANH, MLXCEL_VARIANT_GELU_SIGMOID};
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    for (size_t v = 0; v < COUNT_OF(variants); ++v) {
      add_rows(builder, MLXCEL_OP_ACTIVATION, variants[v], same_pairs[i], 10, 1536, 0);
      add_rows(builder, MLXCEL_OP_ACTIVATION, variants[v], same_pairs[i], 5, 37, 0);
    }
    for (size_t v = 0; v < COUNT_OF(variants); ++v) add_rows(builder, MLXCEL_OP_SILU_GATE, variants[v], same_pairs[i], 6, v == 0 ? 1536 : 300, 0);
  }
}

static void add_residual(case_builder_t* builder) {
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    add_rows(builder, MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, same_pairs[i], 10, 1536, 0);
    add_rows(builder, MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, same_pairs[i], 5, 37, 0);
    add_rows(builder, MLXCEL_OP_RESIDUAL_ADD, MLXCEL_VARIANT_NONE, same_pairs[i], 1, 576, 0);
  }
}

static void add_softmax(case_builder_t* builder) {
  static const mlxcel_op_variant_t variants[] = {MLXCEL_VARIANT_PRECISE, MLXCEL_VARIANT_SAME_DTYPE};
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    for (size_t v = 0; v < COUNT_OF(variants); ++v) {
      add_rows(builder, MLXCEL_OP_SOFTMAX, variants[v], same_pairs[i], 6, 2000, 0);
      add_rows(builder, MLXCEL_OP_SOFTMAX, variants[v], same_pairs[i], 5, 33, 0);
      add_rows(builder, MLXCEL_OP_SOFTMAX, variants[v], same_pairs[i], 1, 512, 0);
    }
  }
}

typedef struct attention_shape_t {
  mlxcel_op_variant_t variant;
  int64_t rows, heads, kv_heads, head_dim, keys;
  float scale;  // 0 = 1 / sqrt(head_dim)
} attention_shape_t;

static void add_attention_of(case_builder_t* builder, const attention_shape_t* shape, dtype_pair_t pair, mlxcel_dtype_t cache_dtype) {
  mlxcel_operation_t operation = operation_of(MLXCEL_OP_ATTENTION, shape->variant, pair);
  operation.cache_dtype = cache_dtype;
  operation.rows = shape->rows;
  operation.heads = shape->heads;
  operation.kv_heads = shape->kv_heads;
  operation.head_dim = shape->head_dim;
  operation.keys = shape->keys;
  operation.scale = shape->scale > 0 ? shape->scale : 1.0f / sqrtf((float)shape->head_dim);
  add(builder, operation);
}

#define NARROW_ATTENTION_COUNT 4  // the first shapes: causal ones, of one row and of several

static void add_attention(case_builder_t* builder) {
  static const attention_shape_t shapes[] = {
      {MLXCEL_VARIANT_MASK_CAUSAL, 16, 9, 3, 64, 80, 0},  // SmolLM2
      {MLXCEL_VARIANT_MASK_CAUSAL, 1, 8, 8, 128, 130, 0},  {MLXCEL_VARIANT_MASK_CAUSAL, 5, 4, 1, 256, 33, 1.0f},
      {MLXCEL_VARIANT_MASK_CAUSAL, 3, 2, 1, 40, 11, 0.3f}, {MLXCEL_VARIANT_MASK_NONE, 7, 6, 2, 64, 70, 0},
      {MLXCEL_VARIANT_MASK_NONE, 5, 3, 3, 80, 19, 0},      {MLXCEL_VARIANT_MASK_ADDITIVE, 6, 4, 2, 64, 67, 0.3f},
      {MLXCEL_VARIANT_MASK_ADDITIVE, 5, 2, 1, 40, 9, 0},
  };
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    for (size_t k = 0; k < COUNT_OF(shapes); ++k) add_attention_of(builder, &shapes[k], same_pairs[i], F32);
  }
  for (size_t i = 0; i < COUNT_OF(narrow_caches); ++i) {
    for (size_t k = 0; k < NARROW_ATTENTION_COUNT; ++k) add_attention_of(builder, &shapes[k], same_pairs[0], narrow_caches[i]);
  }
}

static void add_cumulative(case_builder_t* builder, dtype_pair_t pair, int64_t time, int64_t frequencies, int64_t channels) {
  mlxcel_operation_t operation = operation_of(MLXCEL_OP_CUMULATIVE_NORM, MLXCEL_VARIANT_NONE, pair);
  operation.rows = time;
  operation.in_features = frequencies;
  operation.out_features = channels;
  operation.epsilon = 1e-3f;
  add(builder, operation);
}

static void add_cumulative_norm(case_builder_t* builder) {
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    add_cumulative(builder, same_pairs[i], 9, 64, 128);  // Gemma3n: behind its first convolution
    add_cumulative(builder, same_pairs[i], 9, 32, 32);   // and its second
    add_cumulative(builder, same_pairs[i], 17, 3, 5);
  }
  for (size_t i = 0; i < MIXED_COUNT; ++i) add_cumulative(builder, mixed_pairs[i], 10, 8, 16);
}

static const mlxcel_operation_t convolution_shapes[] = {
    // Gemma3n's subsampling: time padded behind, frequency on both sides.
    {.variant = MLXCEL_VARIANT_CONV2D,
     .batch = 1,
     .in_h = 9,
     .in_w = 128,
     .in_features = 1,
     .out_features = 128,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride_h = 2,
     .stride_w = 2,
     .pad_h_high = 2,
     .pad_w_low = 1,
     .pad_w_high = 1},
    {.variant = MLXCEL_VARIANT_CONV2D,
     .batch = 1,
     .in_h = 5,
     .in_w = 64,
     .in_features = 128,
     .out_features = 32,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride_h = 2,
     .stride_w = 2,
     .pad_h_high = 2,
     .pad_w_low = 1,
     .pad_w_high = 1},
    {.variant = MLXCEL_VARIANT_CONV2D,
     .batch = 2,
     .in_h = 7,
     .in_w = 6,
     .in_features = 5,
     .out_features = 3,
     .kernel_h = 2,
     .kernel_w = 3,
     .stride_h = 1,
     .stride_w = 1,
     .pad_h_low = 1,
     .pad_w_low = 2},
    {.variant = MLXCEL_VARIANT_CONV1D,
     .batch = 2,
     .in_h = 1,
     .in_w = 37,
     .in_features = 20,
     .out_features = 7,
     .kernel_h = 1,
     .kernel_w = 3,
     .stride_h = 1,
     .stride_w = 1,
     .pad_w_low = 1,
     .pad_w_high = 1},
    {.variant = MLXCEL_VARIANT_CONV1D,
     .batch = 1,
     .in_h = 1,
     .in_w = 50,
     .in_features = 6,
     .out_features = 10,
     .kernel_h = 1,
     .kernel_w = 4,
     .stride_h = 1,
     .stride_w = 2,
     .pad_w_low = 3},
};

static void add_convolution(case_builder_t* builder) {
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    for (size_t k = 0; k < COUNT_OF(convolution_shapes); ++k) {
      mlxcel_operation_t operation = convolution_shapes[k];
      operation.op = MLXCEL_OP_CONVOLUTION;
      operation.dtype = operation.weight_dtype = operation.bias_dtype = same_pairs[i].dtype;
      add(builder, operation);
    }
  }
}

typedef struct rope_shape_t {
  mlxcel_op_variant_t variant;
  int64_t rows, heads, head_dim, rope_dims, keys;
  float base, scale;
  bool has_frequencies;
} rope_shape_t;

typedef struct qkv_shape_t {
  int64_t rows, width, heads, kv_heads, head_dim, rope_dims, keys;
} qkv_shape_t;
static const qkv_shape_t qkv_shapes[] = {
    {16, 576, 9, 3, 64, 64, 80}, {5, 130, 4, 2, 80, 32, 80}, {7, 66, 6, 2, 37, 34, 10},  // an odd rest of every head isn't rotated; runs of positions and gaps
};

static void add_qkv_ropes(case_builder_t* builder, dtype_pair_t pair, mlxcel_dtype_t cache_dtype) {
  for (size_t i = 0; i < COUNT_OF(qkv_shapes); ++i) {
    const qkv_shape_t* shape = &qkv_shapes[i];
    mlxcel_operation_t operation = operation_of(MLXCEL_OP_QKV_ROPE, MLXCEL_VARIANT_HALF, pair);
    operation.cache_dtype = cache_dtype;
    operation.rows = shape->rows;
    operation.in_features = shape->width;
    operation.heads = shape->heads;
    operation.kv_heads = shape->kv_heads;
    operation.head_dim = shape->head_dim;
    operation.rope_dims = shape->rope_dims;
    operation.keys = shape->keys;
    operation.rope_base = 10000.0f;
    operation.scale = 1.0f;
    add(builder, operation);
  }
}

static void add_rope(case_builder_t* builder) {
  static const rope_shape_t shapes[] = {
      {MLXCEL_VARIANT_HALF, 16, 9, 64, 64, 200, 10000.0f, 1.0f, false},         {MLXCEL_VARIANT_HALF, 7, 3, 80, 32, 4096, 500000.0f, 0.25f, false},
      {MLXCEL_VARIANT_HALF, 5, 2, 16, 8, 100001, 10000.0f, 1.0f, false},        {MLXCEL_VARIANT_INTERLEAVED, 6, 4, 64, 64, 2048, 10000.0f, 1.0f, false},
      {MLXCEL_VARIANT_INTERLEAVED, 5, 2, 40, 20, 300, 1000000.0f, 1.0f, false}, {MLXCEL_VARIANT_HALF, 6, 3, 64, 64, 5000, 500000.0f, 1.0f, true},
      {MLXCEL_VARIANT_INTERLEAVED, 5, 2, 40, 20, 300, 10000.0f, 0.5f, true},
  };
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    for (size_t k = 0; k < COUNT_OF(shapes); ++k) {
      const rope_shape_t* shape = &shapes[k];
      mlxcel_operation_t operation = operation_of(MLXCEL_OP_ROPE, shape->variant, same_pairs[i]);
      operation.rows = shape->rows;
      operation.heads = shape->heads;
      operation.head_dim = shape->head_dim;
      operation.rope_dims = shape->rope_dims;
      operation.keys = shape->keys;
      operation.rope_base = shape->base;
      operation.scale = shape->scale;
      operation.has_frequencies = shape->has_frequencies;
      add(builder, operation);
    }
    add_qkv_ropes(builder, same_pairs[i], F32);
  }
  for (size_t i = 0; i < COUNT_OF(narrow_caches); ++i) add_qkv_ropes(builder, same_pairs[0], narrow_caches[i]);
}

static void add_dequantize(case_builder_t* builder) {
  static const matrix_shape_t shapes[] = {{0, 256, 32, 4, 64, false}, {0, 96, 37, 4, 32, false},  {0, 64, 33, 2, 64, false}, {0, 96, 29, 3, 32, false},
                                          {0, 128, 31, 5, 32, false}, {0, 192, 35, 6, 64, false}, {0, 256, 8, 8, 128, false}};
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    add_matmuls(builder, MLXCEL_OP_DEQUANTIZE, same_pairs[i], shapes, COUNT_OF(shapes));
  }
}

static void add_scan(case_builder_t* builder) {
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    add_rows(builder, MLXCEL_OP_PREFIX_SCAN, MLXCEL_VARIANT_CONTIGUOUS, same_pairs[i], 6, 3000, 0);
    add_rows(builder, MLXCEL_OP_PREFIX_SCAN, MLXCEL_VARIANT_CONTIGUOUS, same_pairs[i], 5, 37, 0);
    add_rows(builder, MLXCEL_OP_PREFIX_SCAN, MLXCEL_VARIANT_STRIDED, same_pairs[i], 300, 41, 0);
    add_rows(builder, MLXCEL_OP_PREFIX_SCAN, MLXCEL_VARIANT_STRIDED, same_pairs[i], 33, 128, 0);
  }
}

static void add_embedding(case_builder_t* builder) {
  static const matrix_shape_t shapes[] = {{10, 576, 50, 0, 0, false}, {8, 576, 50, 4, 64, false}, {5, 96, 37, 8, 32, false}, {5, 37, 11, 0, 0, false}};
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    add_matmuls(builder, MLXCEL_OP_EMBEDDING, same_pairs[i], shapes, COUNT_OF(shapes));
  }
  static const dtype_pair_t narrow[] = {{F32, BF16}, {F32, F16}};  // tables that a profile in f32 widens
  for (size_t i = 0; i < COUNT_OF(narrow); ++i) add_matmuls(builder, MLXCEL_OP_EMBEDDING, narrow[i], shapes, 2);
}

static void add_kv_store(case_builder_t* builder) {
  static const struct {
    int64_t rows, kv_heads, head_dim, keys;
  } shapes[] = {{6, 3, 64, 80}, {8, 2, 37, 11}, {5, 1, 80, 33}, {1, 4, 16, 7}};  // single positions, runs and gaps, one row
  for (size_t i = 0; i < SAME_COUNT; ++i) {
    for (size_t k = 0; k < COUNT_OF(shapes); ++k) {
      mlxcel_operation_t operation = operation_of(MLXCEL_OP_KV_STORE, MLXCEL_VARIANT_NONE, same_pairs[i]);
      operation.rows = shapes[k].rows;
      operation.kv_heads = shapes[k].kv_heads;
      operation.head_dim = shapes[k].head_dim;
      operation.keys = shapes[k].keys;
      add(builder, operation);
    }
  }
}

typedef void (*add_class_fn_t)(case_builder_t* builder);
static const add_class_fn_t add_class[] = {
    add_qmv,        add_qmm,        add_dense,   add_layer_norm, add_rms_norm,        add_activation_projection,
    add_activation, add_residual,   add_softmax, add_attention,  add_cumulative_norm, add_convolution,
    add_rope,       add_dequantize, add_scan,    add_embedding,  add_kv_store,
};
_Static_assert(sizeof(add_class) / sizeof(add_class[0]) == CLASS_COUNT, "every class has its cases");

// The class that takes the op table's further clauses of an operation.
typedef struct covering_class_t {
  const char* class_name;
  mlxcel_op_class_t op;
} covering_class_t;
static const covering_class_t covering_classes[] = {
    {"q4-qmm", MLXCEL_OP_QUANTIZED_MATMUL}, {"dense-matmul", MLXCEL_OP_DENSE_MATMUL},
    {"layer-norm", MLXCEL_OP_LAYER_NORM},   {"rms-norm", MLXCEL_OP_RMS_NORM},
    {"activation", MLXCEL_OP_SILU_GATE},    {"rope", MLXCEL_OP_ROPE},
    {"dequantize", MLXCEL_OP_DEQUANTIZE},   {"cumulative-norm", MLXCEL_OP_CUMULATIVE_NORM},
    {"embedding", MLXCEL_OP_EMBEDDING},
};

static void add_covering(void* user_data, const mlxcel_operation_t* operation) { add(user_data, *operation); }

static iree_status_t cover_class(case_builder_t* builder) {
  for (size_t i = 0; i < COUNT_OF(covering_classes); ++i) {
    if (strcmp(covering_classes[i].class_name, builder->class_name) != 0) continue;
    builder->for_evidence = true;
    IREE_RETURN_IF_ERROR(mlxcel_oracle_coverage_visit(builder->cases, covering_classes[i].op, add_covering, builder));
    builder->for_evidence = false;
  }
  return iree_ok_status();
}

iree_status_t mlxcel_oracle_cases_make(mlxcel_oracle_cases_t* out_cases) {
  memset(out_cases, 0, sizeof(*out_cases));
  case_builder_t builder = {.cases = out_cases};
  iree_status_t status = iree_ok_status();
  for (size_t i = 0; i < CLASS_COUNT && iree_status_is_ok(status); ++i) {
    builder.class_name = class_names[i];
    builder.next_index = 0;
    add_class[i](&builder);
    status = cover_class(&builder);
  }
  if (iree_status_is_ok(status) && builder.failed) {
    status = iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the oracle's cases; free memory and try again");
  }
  if (!iree_status_is_ok(status)) mlxcel_oracle_cases_deinitialize(out_cases);
  return status;
}

void mlxcel_oracle_cases_deinitialize(mlxcel_oracle_cases_t* cases) {
  free(cases->items);
  memset(cases, 0, sizeof(*cases));
}

//===- Profiles -----------------------------------------------------------------------------------------------------------------------------------------===//

// A projection of the composition |operation| to |out_features|.
static mlxcel_operation_t projection_part(const mlxcel_operation_t* operation, int64_t out_features) {
  return (mlxcel_operation_t){.op = operation->bits ? MLXCEL_OP_QUANTIZED_MATMUL : MLXCEL_OP_DENSE_MATMUL,
                              .dtype = operation->dtype,
                              .weight_dtype = operation->weight_dtype,
                              .bias_dtype = operation->bias_dtype,
                              .bits = operation->bits,
                              .group_size = operation->group_size,
                              .rows = operation->rows,
                              .in_features = operation->in_features,
                              .out_features = out_features};
}

static size_t activation_projection_parts(const mlxcel_operation_t* operation, mlxcel_operation_t* parts) {
  mlxcel_dtype_t projected = mlxcel_dtype_promote(operation->dtype, operation->weight_dtype);
  parts[0] = projection_part(operation, operation->out_features);
  parts[1] = (mlxcel_operation_t){.op = MLXCEL_OP_SILU_GATE,
                                  .variant = operation->variant,
                                  .dtype = projected,
                                  .weight_dtype = projected,
                                  .bias_dtype = projected,
                                  .rows = operation->rows,
                                  .in_features = operation->out_features};
  return 2;
}

static size_t qkv_rope_parts(const mlxcel_operation_t* operation, mlxcel_operation_t* parts) {
  parts[0] = projection_part(operation, operation->heads * operation->head_dim);
  parts[1] = projection_part(operation, operation->kv_heads * operation->head_dim);
  parts[2] = *operation;
  parts[2].op = MLXCEL_OP_ROPE;
  parts[2].in_features = 0;
  parts[2].kv_heads = 0;
  parts[2].cache_dtype = MLXCEL_DTYPE_F32;
  parts[2].bits = parts[2].group_size = 0;
  parts[3] = (mlxcel_operation_t){.op = MLXCEL_OP_KV_STORE,
                                  .dtype = operation->dtype,
                                  .weight_dtype = operation->dtype,
                                  .bias_dtype = operation->dtype,
                                  .cache_dtype = operation->cache_dtype,
                                  .rows = operation->rows,
                                  .kv_heads = operation->kv_heads,
                                  .head_dim = operation->head_dim,
                                  .keys = operation->keys};
  return 4;
}

size_t mlxcel_oracle_operation_parts(const mlxcel_operation_t* operation, mlxcel_operation_t out_parts[MLXCEL_ORACLE_PARTS_MAX]) {
  if (operation->op == MLXCEL_OP_ACTIVATION_PROJECTION) return activation_projection_parts(operation, out_parts);
  if (operation->op == MLXCEL_OP_QKV_ROPE) return qkv_rope_parts(operation, out_parts);
  out_parts[0] = *operation;
  return 1;
}

static bool has_clause(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation) {
  mlxcel_clause_storage_t storage;
  iree_status_t status = mlxcel_profile_clause(profile, operation, &storage);
  bool ok = iree_status_is_ok(status);
  iree_status_free(status);
  return ok;
}

static bool part_is_defined(const mlxcel_profile_t* profile, mlxcel_operation_t* part) {
  if (has_clause(profile, part)) return true;
  if (part->op != MLXCEL_OP_QUANTIZED_MATMUL || part->variant != MLXCEL_VARIANT_NONE) return false;
  part->variant = part->rows < QMV_ROWS_END ? MLXCEL_VARIANT_QMV : MLXCEL_VARIANT_QMM;
  return has_clause(profile, part);
}

// A clause may be the part of compositions only: then the profile has no emitted form of the operation by itself.
static bool is_emitted(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation) {
  mlxcel_emitted_operation_t emitted;
  iree_status_t status = mlxcel_emit_operation_module(profile, operation, &emitted);
  bool is_missing = iree_status_is_unimplemented(status);  // any other failure is one to be told when it runs
  if (iree_status_is_ok(status)) mlxcel_emitted_operation_deinitialize(&emitted);
  iree_status_free(status);
  return !is_missing;
}

bool mlxcel_oracle_profile_defines(const mlxcel_profile_t* profile, const mlxcel_operation_t* operation, mlxcel_operation_t* out_operation) {
  *out_operation = *operation;
  mlxcel_operation_t parts[MLXCEL_ORACLE_PARTS_MAX];
  size_t count = mlxcel_oracle_operation_parts(operation, parts);
  for (size_t i = 0; i < count; ++i) {
    if (!part_is_defined(profile, &parts[i])) return false;
  }
  if (count == 1) *out_operation = parts[0];
  return profile->is_declared_only || is_emitted(profile, out_operation);
}

bool mlxcel_oracle_profile_runs(const mlxcel_profile_t* profile, const mlxcel_oracle_case_t* item, mlxcel_operation_t* out_operation) {
  if (item->for_evidence && !profile->reference) return false;
  return mlxcel_oracle_profile_defines(profile, &item->operation, out_operation);
}

uint64_t mlxcel_oracle_output_count(const mlxcel_operation_t* operation) {
  mlxcel_operand_t result;
  iree_status_t status = mlxcel_operation_result(operation, &result);
  bool ok = iree_status_is_ok(status);
  iree_status_free(status);
  return ok ? mlxcel_operand_element_count(&result) : 0;
}
