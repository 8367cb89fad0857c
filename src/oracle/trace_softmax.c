// Models of softmax and of attention.
#include <math.h>
#include <stdlib.h>

#include "kernels/kernel_abi.h"
#include "oracle/trace_models.h"

static float maximum_of(const float* values, uint64_t count) {
  float maximum = -INFINITY;
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i] > maximum) maximum = values[i];
  }
  return maximum;
}

// R(sum of exponentials) with every step on |grid|; |values| become the exponentials.
static float exponentials(const mlxcel_model_t* model, mlxcel_dtype_t grid, float* values, uint64_t count) {
  float maximum = maximum_of(values, count), sum = 0;
  mlxcel_trace_add(model->trace, maximum, "maximum");
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = mlxcel_model_round(grid, mlxcel_model_exp(model, mlxcel_model_round(grid, values[i] - maximum)));
    sum = mlxcel_model_round(grid, sum + values[i]);
    mlxcel_trace_add(model->trace, sum, "exp sum %zu", (size_t)i);
  }
  return sum;
}

bool mlxcel_model_softmax(const mlxcel_model_t* model, float* out_value) {
  if (model->order == MLXCEL_ORDER_PINNED) return false;
  mlxcel_dtype_t grid = model->operation->variant == MLXCEL_VARIANT_PRECISE ? MLXCEL_DTYPE_F32 : model->result;
  uint64_t count = (uint64_t)model->operation->in_features;
  float* values = calloc(count, sizeof(*values));
  if (!values) {
    model->trace->failed = true;
    return true;
  }
  for (uint64_t i = 0; i < count; ++i) values[i] = mlxcel_model_at(model, 0, i);
  float sum = exponentials(model, grid, values, count);
  float reciprocal = mlxcel_model_round(grid, 1.0f / sum);
  mlxcel_trace_add(model->trace, reciprocal, "1/sum");
  *out_value = mlxcel_model_round(model->result, mlxcel_model_round(grid, values[model->index] * reciprocal));
  free(values);
  return true;
}

//===- Attention ----------------------------------------------------------------------------------------------------------------------------------------===//

// One head of one row: operands q [head_dim], k and v [keys, head_dim], slots, positions, mask [keys].
static uint64_t keys_of(const mlxcel_model_t* model) { return (uint64_t)model->operation->keys; }
static uint64_t width_of(const mlxcel_model_t* model) { return (uint64_t)model->operation->head_dim; }

// MLX scales the query first, rounded; the other orders scale the finished dot.
static void mlx_scores(const mlxcel_model_t* model, float* scores) {
  mlxcel_dtype_t grid = model->result;
  float scale = mlxcel_model_round(grid, model->operation->scale);
  for (uint64_t j = 0; j < keys_of(model); ++j) {
    mlxcel_model_sum_t sum = {0};
    for (uint64_t d = 0; d < width_of(model); ++d) {
      float q = mlxcel_model_round(grid, scale * mlxcel_model_at(model, 0, d));
      mlxcel_model_sum_product(model, &sum, q, mlxcel_model_at(model, 1, j * width_of(model) + d));
    }
    scores[j] = mlxcel_model_round(grid, sum.lanes[0]);
    if (model->operation->variant == MLXCEL_VARIANT_MASK_ADDITIVE) scores[j] = mlxcel_model_round(grid, scores[j] + mlxcel_model_at(model, 5, j));
    mlxcel_trace_add(model->trace, scores[j], "score %zu", (size_t)j);
  }
}

static float mlx_attention(const mlxcel_model_t* model, float* scores) {
  mlx_scores(model, scores);
  float reciprocal = 1.0f / exponentials(model, MLXCEL_DTYPE_F32, scores, keys_of(model));
  mlxcel_trace_add(model->trace, reciprocal, "1/sum");
  mlxcel_model_sum_t sum = {0};
  for (uint64_t j = 0; j < keys_of(model); ++j) {
    float p = mlxcel_model_round(model->result, scores[j] * reciprocal);
    float value = mlxcel_model_sum_product(model, &sum, p, mlxcel_model_at(model, 2, j * width_of(model) + model->index));
    mlxcel_trace_add(model->trace, value, "value %zu", (size_t)j);
  }
  return mlxcel_model_round(model->result, sum.lanes[0]);
}

// One block of the pinned order: maximum, sum and weighted value of keys [first, first + count).
typedef struct pinned_block_t {
  float maximum, sum, value;
} pinned_block_t;

static pinned_block_t pinned_block(const mlxcel_model_t* model, uint64_t first, uint64_t count) {
  float scores[MLXCEL_ATTENTION_BLOCK];
  pinned_block_t block = {0};
  mlxcel_trace_t ignored = {0};  // a dot's own steps would bury the rest
  mlxcel_model_t quiet = *model;
  quiet.trace = &ignored;
  for (uint64_t j = 0; j < count; ++j) {
    mlxcel_model_sum_t dot = {0};
    for (uint64_t d = 0; d < width_of(model); ++d) {
      mlxcel_model_sum_product(model, &dot, mlxcel_model_at(model, 0, d), mlxcel_model_at(model, 1, (first + j) * width_of(model) + d));
    }
    scores[j] = mlxcel_model_sum_finish(&quiet, &dot, "dot") * model->operation->scale;
    mlxcel_trace_add(model->trace, scores[j], "score %zu", (size_t)(first + j));
  }
  block.maximum = maximum_of(scores, count);
  mlxcel_trace_add(model->trace, block.maximum, "maximum");
  mlxcel_model_sum_t sum = {0};
  for (uint64_t j = 0; j < count; ++j) {
    float p = mlxcel_model_exp(model, scores[j] - block.maximum);
    mlxcel_trace_add(model->trace, mlxcel_model_sum_value(model, &sum, p), "exp sum %zu", (size_t)(first + j));
    block.value = fmaf(p, mlxcel_model_at(model, 2, (first + j) * width_of(model) + model->index), block.value);
    mlxcel_trace_add(model->trace, block.value, "value %zu", (size_t)(first + j));
  }
  block.sum = mlxcel_model_sum_finish(&quiet, &sum, "exp sum");
  mlxcel_trace_deinitialize(&ignored);
  return block;
}

static float pinned_attention(const mlxcel_model_t* model) {
  pinned_block_t total = {0};
  for (uint64_t first = 0; first < keys_of(model); first += MLXCEL_ATTENTION_BLOCK) {
    uint64_t count = keys_of(model) - first < MLXCEL_ATTENTION_BLOCK ? keys_of(model) - first : MLXCEL_ATTENTION_BLOCK;
    pinned_block_t block = pinned_block(model, first, count);
    if (first == 0) {
      total = block;
    } else {
      float maximum = block.maximum > total.maximum ? block.maximum : total.maximum;
      float a = mlxcel_model_exp(model, total.maximum - maximum), c = mlxcel_model_exp(model, block.maximum - maximum);
      total = (pinned_block_t){maximum, fmaf(total.sum, a, block.sum * c), fmaf(total.value, a, block.value * c)};
    }
    mlxcel_trace_add(model->trace, total.sum, "block %zu sum", (size_t)(first / MLXCEL_ATTENTION_BLOCK));
    mlxcel_trace_add(model->trace, total.value, "block %zu value", (size_t)(first / MLXCEL_ATTENTION_BLOCK));
  }
  return total.value / total.sum;
}

bool mlxcel_model_attention(const mlxcel_model_t* model, float* out_value) {
  if (model->order == MLXCEL_ORDER_PINNED) {
    *out_value = pinned_attention(model);
    return true;
  }
  float* scores = calloc(keys_of(model), sizeof(*scores));
  if (scores) {
    *out_value = mlx_attention(model, scores);  // iree-canonical: the same steps with fused sums
    free(scores);
  } else {
    model->trace->failed = true;
  }
  return true;
}
