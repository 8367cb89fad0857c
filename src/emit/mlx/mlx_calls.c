#include "emit/mlx/mlx_calls.h"

#include <math.h>
#include <string.h>

_Static_assert((int)MLXCEL_ELEMENT_F32 == MLXCEL_FORMAT_F32 && (int)MLXCEL_ELEMENT_F16 == MLXCEL_FORMAT_F16 && (int)MLXCEL_ELEMENT_BF16 == MLXCEL_FORMAT_BF16,
               "element types are the kernels' dtype codes");

// Elements that are worth a share of their own.
#define ELEMENTS_A_SHARE 4096
// Outputs of a matmul that go side by side.
#define MATMUL_TILE 32

int64_t mlxcel_mlx_element_count(const mlxcel_value_t* value) {
  int64_t count = 1;
  for (uint32_t i = 0; i < value->rank; ++i) count *= value->dims[i];
  return count;
}

mlxcel_element_t mlxcel_mlx_promote(mlxcel_element_t left, mlxcel_element_t right) {
  return mlxcel_element_of(mlxcel_dtype_promote(mlxcel_element_dtype(left), mlxcel_element_dtype(right)));
}

mlxcel_element_t mlxcel_mlx_weight_element(mlxcel_weight_type_t type) { return mlxcel_element_of(mlxcel_weight_dtype(type)); }

static int64_t shares_of(int64_t elements) { return (elements + ELEMENTS_A_SHARE - 1) / ELEMENTS_A_SHARE; }

static mlxcel_value_t like(const mlxcel_value_t* value, mlxcel_element_t element) { return mlxcel_value_of(element, value->rank, value->dims); }

static void add_buffers(mlxcel_dispatch_t* dispatch, size_t count, const mlxcel_value_t* values) {
  for (size_t i = 0; i < count; ++i) mlxcel_dispatch_add(dispatch, values[i]);
}
#define ADD_BUFFERS(dispatch, ...) \
  add_buffers((dispatch), sizeof((mlxcel_value_t[]){__VA_ARGS__}) / sizeof(mlxcel_value_t), (const mlxcel_value_t[]){__VA_ARGS__})
static void add_numbers(mlxcel_module_builder_t* builder, mlxcel_dispatch_t* dispatch, size_t count, const int64_t* values) {
  for (size_t i = 0; i < count; ++i) mlxcel_dispatch_add_i32(builder, dispatch, values[i]);
}
#define ADD_NUMBERS(builder, dispatch, ...) \
  add_numbers((builder), (dispatch), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

// --- constants ---------------------------------------------------------------------------------------------------------------------------------

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

mlxcel_value_t mlxcel_mlx_constant_f32s(mlxcel_module_builder_t* builder, int64_t count, float value) {
  mlxcel_value_t result = mlxcel_value_new(builder, MLXCEL_ELEMENT_F32, 1, &count);
  mlxcel_module_text(builder, "%%%" PRIu32 " = arith.constant dense<0x%08" PRIX32 "> : %s", result.id, bits_of(value), mlxcel_value_type(result).text);
  return result;
}

mlxcel_value_t mlxcel_mlx_constant_vector(mlxcel_module_builder_t* builder, int64_t count, const float* values) {
  mlxcel_value_t result = mlxcel_value_new(builder, MLXCEL_ELEMENT_F32, 1, &count);
  mlxcel_strbuf_t list;
  mlxcel_strbuf_initialize(&list);
  for (int64_t i = 0; i < count; ++i) mlxcel_strbuf_append_format(&list, "%s0x%08" PRIX32, i ? ", " : "", bits_of(values[i]));
  mlxcel_module_fail(builder, mlxcel_strbuf_take_status(&list));
  mlxcel_module_text(builder, "%%%" PRIu32 " = arith.constant dense<[%s]> : %s", result.id, list.data ? list.data : "", mlxcel_value_type(result).text);
  mlxcel_strbuf_deinitialize(&list);
  return result;
}

// --- elementwise -------------------------------------------------------------------------------------------------------------------------------

typedef struct elementwise_t {
  mlxcel_mlx_elementwise_t operation;
  mlxcel_element_t out_element;
  int64_t b_divide, b_modulo;
  bool use_scalar;
  float scalar;
} elementwise_t;

static mlxcel_value_t elementwise(mlxcel_module_builder_t* builder, const elementwise_t* call, mlxcel_value_t a, mlxcel_value_t b) {
  int64_t count = mlxcel_mlx_element_count(&a);
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_ELEMENTWISE, .units = shares_of(count)};
  ADD_BUFFERS(&dispatch, a, b);
  ADD_NUMBERS(builder, &dispatch, call->operation, count, a.element, call->out_element, call->b_divide, call->b_modulo, call->use_scalar ? 1 : 0);
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, call->scalar));
  dispatch.result = like(&a, call->out_element);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

mlxcel_value_t mlxcel_mlx_unary(mlxcel_module_builder_t* builder, mlxcel_mlx_elementwise_t operation, mlxcel_value_t a) {
  const elementwise_t call = {.operation = operation, .out_element = a.element, .b_divide = 1, .b_modulo = mlxcel_mlx_element_count(&a)};
  return elementwise(builder, &call, a, a);
}

mlxcel_value_t mlxcel_mlx_scalar(mlxcel_module_builder_t* builder, mlxcel_mlx_elementwise_t operation, mlxcel_value_t a, double scalar) {
  const elementwise_t call = {
      .operation = operation, .out_element = a.element, .b_divide = 1, .b_modulo = mlxcel_mlx_element_count(&a), .use_scalar = true, .scalar = (float)scalar};
  return elementwise(builder, &call, a, a);
}

mlxcel_value_t mlxcel_mlx_broadcast(mlxcel_module_builder_t* builder, mlxcel_mlx_elementwise_t operation, mlxcel_value_t a, mlxcel_value_t b, int64_t divide) {
  const elementwise_t call = {.operation = operation, .out_element = a.element, .b_divide = divide, .b_modulo = mlxcel_mlx_element_count(&b)};
  return elementwise(builder, &call, a, b);
}

mlxcel_value_t mlxcel_mlx_binary(mlxcel_module_builder_t* builder, mlxcel_mlx_elementwise_t operation, mlxcel_value_t a, mlxcel_value_t b) {
  mlxcel_element_t element = mlxcel_mlx_promote(a.element, b.element);
  a = mlxcel_mlx_convert(builder, a, element);
  return mlxcel_mlx_broadcast(builder, operation, a, mlxcel_mlx_convert(builder, b, element), 1);
}

mlxcel_value_t mlxcel_mlx_convert(mlxcel_module_builder_t* builder, mlxcel_value_t a, mlxcel_element_t element) {
  if (a.element == element) return a;
  const elementwise_t call = {.operation = MLXCEL_MLX_CONVERT, .out_element = element, .b_divide = 1, .b_modulo = mlxcel_mlx_element_count(&a)};
  return elementwise(builder, &call, a, a);
}

mlxcel_value_t mlxcel_mlx_host(mlxcel_module_builder_t* builder, mlxcel_host_unary_t function, mlxcel_value_t x, double scalar) {
  int64_t count = mlxcel_mlx_element_count(&x);
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_HOST_UNARY, .units = shares_of(count)};
  mlxcel_dispatch_add(&dispatch, x);
  ADD_NUMBERS(builder, &dispatch, function, count, x.element);
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, (float)scalar));
  dispatch.result = like(&x, x.element);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

// --- along an axis -----------------------------------------------------------------------------------------------------------------------------

mlxcel_value_t mlxcel_mlx_row_sum(mlxcel_module_builder_t* builder, mlxcel_value_t x, int64_t rows, int64_t width) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_ROW_SUM, .units = rows};
  mlxcel_dispatch_add(&dispatch, x);
  ADD_NUMBERS(builder, &dispatch, rows, width, x.element);
  dispatch.result = mlxcel_value_of(x.element, 1, &rows);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

mlxcel_value_t mlxcel_mlx_scan(mlxcel_module_builder_t* builder, mlxcel_value_t x, int64_t outer, int64_t length, int64_t inner) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_SCAN, .units = outer * inner};
  mlxcel_dispatch_add(&dispatch, x);
  ADD_NUMBERS(builder, &dispatch, outer, length, inner, x.element);
  dispatch.result = like(&x, x.element);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

mlxcel_value_t mlxcel_mlx_softmax(mlxcel_module_builder_t* builder, mlxcel_value_t x, int64_t rows, int64_t width, bool precise) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_SOFTMAX, .units = rows};
  mlxcel_dispatch_add(&dispatch, x);
  ADD_NUMBERS(builder, &dispatch, rows, width, x.element, precise ? 1 : 0);
  dispatch.result = like(&x, x.element);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

// --- matrices ----------------------------------------------------------------------------------------------------------------------------------

mlxcel_value_t mlxcel_mlx_embed(mlxcel_module_builder_t* builder, const mlxcel_weight_t* table, mlxcel_value_t tokens, mlxcel_value_t positions, int64_t rows,
                                bool lookup) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_EMBED, .units = rows};
  ADD_BUFFERS(&dispatch, tokens, positions);
  const mlxcel_weight_tensor_t* const tensors[] = {&table->values, &table->scales, &table->biases};
  mlxcel_value_t first = mlxcel_weight_tensor_value(builder, &table->values);
  mlxcel_dispatch_add(&dispatch, first);
  for (int i = 1; i < 3; ++i) mlxcel_dispatch_add(&dispatch, table->bits ? mlxcel_weight_tensor_value(builder, tensors[i]) : first);
  ADD_NUMBERS(builder, &dispatch, rows, table->in_features, mlxcel_weight_format(table), lookup ? 1 : 0);
  dispatch.result = mlxcel_value_of(mlxcel_mlx_weight_element(table->type), 2, (const int64_t[]){rows, table->in_features});
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

mlxcel_value_t mlxcel_mlx_matmul(mlxcel_module_builder_t* builder, int64_t rows, const mlxcel_weight_t* weight, mlxcel_value_t x, mlxcel_value_t positions) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_MATMUL, .units = (weight->out_features + MATMUL_TILE - 1) / MATMUL_TILE};
  mlxcel_dispatch_add(&dispatch, x);
  mlxcel_dispatch_add_weight(builder, &dispatch, weight);
  mlxcel_dispatch_add(&dispatch, positions);
  ADD_NUMBERS(builder, &dispatch, rows, weight->in_features, weight->out_features, mlxcel_weight_format(weight), mlxcel_weight_flags(weight, false), x.element);
  mlxcel_element_t element = mlxcel_mlx_promote(x.element, mlxcel_mlx_weight_element(weight->type));
  dispatch.result = mlxcel_value_of(element, 2, (const int64_t[]){rows, weight->out_features});
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

mlxcel_value_t mlxcel_mlx_convolution(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t x, mlxcel_value_t w,
                                      const mlxcel_operand_t* result) {
  const mlxcel_operation_t* o = operation;
  int64_t out_h = result->dims[1], out_w = result->dims[2];
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_CONVOLUTION, .units = o->batch * out_h * out_w};
  ADD_BUFFERS(&dispatch, x, w);
  ADD_NUMBERS(builder, &dispatch, o->batch, o->in_h, o->in_w, o->in_features, out_h, out_w, o->out_features, o->kernel_h, o->kernel_w, o->stride_h, o->stride_w,
              o->pad_h_low, o->pad_w_low, x.element);
  dispatch.result = mlxcel_value_of(x.element, result->rank, result->dims);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

// --- norms -------------------------------------------------------------------------------------------------------------------------------------

mlxcel_value_t mlxcel_mlx_rms_norm(mlxcel_module_builder_t* builder, const mlxcel_mlx_norm_t* norm, mlxcel_value_t x, mlxcel_value_t index,
                                   mlxcel_value_t weight, mlxcel_element_t weight_element) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_RMS_NORM, .units = norm->rows};
  ADD_BUFFERS(&dispatch, x, index, weight);
  ADD_NUMBERS(builder, &dispatch, norm->rows, norm->width, x.element, weight_element, norm->mode, norm->gather ? 1 : 0);
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, norm->epsilon));
  mlxcel_element_t element = norm->mode == MLXCEL_MLX_NORM_SINGLE_ROUNDING ? x.element : mlxcel_mlx_promote(x.element, weight_element);
  dispatch.result = mlxcel_value_of(element, 2, (const int64_t[]){norm->rows, norm->width});
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

mlxcel_value_t mlxcel_mlx_layer_norm(mlxcel_module_builder_t* builder, const mlxcel_mlx_norm_t* norm, mlxcel_value_t x, mlxcel_value_t weight,
                                     mlxcel_value_t bias) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_LAYER_NORM, .units = norm->rows};
  ADD_BUFFERS(&dispatch, x, weight, bias);
  ADD_NUMBERS(builder, &dispatch, norm->rows, norm->width, x.element, weight.element);
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, norm->epsilon));
  dispatch.result = like(&x, mlxcel_mlx_promote(x.element, weight.element));
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

// --- attention ---------------------------------------------------------------------------------------------------------------------------------

mlxcel_value_t mlxcel_mlx_rope(mlxcel_module_builder_t* builder, const mlxcel_mlx_rope_t* rope, mlxcel_value_t x, mlxcel_value_t positions) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_ROPE, .units = rope->rows};
  ADD_BUFFERS(&dispatch, x, positions, rope->frequencies ? *rope->frequencies : positions);
  ADD_NUMBERS(builder, &dispatch, rope->rows, rope->heads, rope->head_dim, rope->rope_dims, rope->interleaved ? 1 : 0, rope->frequencies ? 1 : 0, x.element);
  // Logarithm and quotient each rounded to f32, as MLX has it.
  int64_t half = rope->rope_dims / 2;
  float log_base = rope->frequencies ? 0 : logf(rope->base) / (float)half;
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, log_base));
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, rope->scale));
  dispatch.result = like(&x, x.element);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}

void mlxcel_mlx_kv_store(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape, mlxcel_value_t k,
                         mlxcel_value_t v, mlxcel_kv_values_t* kv) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_KV_STORE, .units = rows->count};
  ADD_BUFFERS(&dispatch, k, v, rows->slots, rows->positions, kv->k_cache, kv->v_cache);
  ADD_NUMBERS(builder, &dispatch, rows->count, shape->kv_heads, shape->head_dim, shape->layer);
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 1));
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 3));
  mlxcel_dispatch_add_i32(builder, &dispatch, kv->k_cache.element);
  mlxcel_value_t tied[2];
  mlxcel_dispatch_emit(builder, &dispatch, tied);
  kv->k_cache = tied[0];
  kv->v_cache = tied[1];
}

// The kernel's mask_kind.
static int64_t mask_kind(mlxcel_op_variant_t variant) { return variant == MLXCEL_VARIANT_MASK_CAUSAL ? 0 : variant == MLXCEL_VARIANT_MASK_NONE ? 1 : 2; }

mlxcel_value_t mlxcel_mlx_attention(mlxcel_module_builder_t* builder, const mlxcel_emit_rows_t* rows, const mlxcel_attention_shape_t* shape,
                                    mlxcel_op_variant_t variant, mlxcel_value_t q, const mlxcel_kv_values_t* kv, const mlxcel_value_t* mask) {
  mlxcel_dispatch_t dispatch = {.kernel = MLXCEL_KERNEL_MLX_ATTENTION, .units = rows->count * shape->heads};
  ADD_BUFFERS(&dispatch, q, kv->k_cache, kv->v_cache, rows->slots, rows->positions, mask ? *mask : q);
  ADD_NUMBERS(builder, &dispatch, rows->count, shape->heads, shape->kv_heads, shape->head_dim, shape->layer);
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 1));
  mlxcel_dispatch_add(&dispatch, mlxcel_dim_i32(builder, kv->k_cache, 3));
  ADD_NUMBERS(builder, &dispatch, mask_kind(variant), q.element);
  mlxcel_dispatch_add(&dispatch, mlxcel_constant_f32(builder, shape->scale));
  dispatch.result = like(&q, q.element);
  return mlxcel_dispatch_emit(builder, &dispatch, NULL);
}
