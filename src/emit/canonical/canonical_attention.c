// Softmax, and attention written out: scaled queries, scores, mask, softmax, weighted values, every stage rounded to the activations' dtype.
#include "emit/canonical/canonical_common.h"

// Loops over everything but the last dimension: "012" of rank 4.
static const char* rows_map(uint32_t rank) { return mlxcel_canonical_identity_map(rank - 1); }

static const char* last_reduced(uint32_t rank) {
  static const char* const iterators[] = {"", "r", "pr", "ppr", "pppr", "ppppr"};
  return iterators[rank];
}

// max over the last dimension: f32.
static mlxcel_value_t row_maxima(mlxcel_module_builder_t* builder, mlxcel_value_t x) {
  mlxcel_value_t lowest = mlxcel_body_f32(builder, -__builtin_inff());
  mlxcel_loop_t loop = {.iterators = last_reduced(x.rank)};
  mlxcel_loop_input(&loop, x, mlxcel_canonical_identity_map(x.rank));
  mlxcel_loop_output(&loop, mlxcel_hlo_filled(builder, lowest, x.rank - 1, x.dims), rows_map(x.rank));
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t element = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t maximum = mlxcel_body_binary(builder, "arith.maximumf", loop.out[0], element);
  return mlxcel_loop_end(builder, &loop, &maximum);
}

// In a body: R(exp(R(x - maximum))).
static mlxcel_value_t power_of(mlxcel_module_builder_t* builder, mlxcel_dtype_t grid, mlxcel_value_t x, mlxcel_value_t maximum) {
  mlxcel_value_t element = mlxcel_body_widen(builder, x);
  mlxcel_value_t difference = mlxcel_body_round(builder, grid, mlxcel_body_binary(builder, "arith.subf", element, maximum));
  return mlxcel_body_round(builder, grid, mlxcel_body_unary(builder, "math.exp", difference));
}

// R(1 / sum of the powers), sequential, every partial sum on |grid|.
static mlxcel_value_t row_reciprocals(mlxcel_module_builder_t* builder, mlxcel_dtype_t grid, mlxcel_value_t x, mlxcel_value_t maxima) {
  mlxcel_value_t zero = mlxcel_body_f32(builder, 0.0f);
  mlxcel_loop_t loop = {.iterators = last_reduced(x.rank)};
  mlxcel_loop_input(&loop, x, mlxcel_canonical_identity_map(x.rank));
  mlxcel_loop_input(&loop, maxima, rows_map(x.rank));
  mlxcel_loop_output(&loop, mlxcel_hlo_filled(builder, zero, x.rank - 1, x.dims), rows_map(x.rank));
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t power = power_of(builder, grid, loop.in[0], loop.in[1]);
  mlxcel_value_t sum = mlxcel_canonical_added(builder, grid, loop.out[0], power);
  mlxcel_value_t sums = mlxcel_loop_end(builder, &loop, &sum);

  mlxcel_loop_t inverse = {.iterators = mlxcel_canonical_parallel(sums.rank)};
  mlxcel_loop_input(&inverse, sums, rows_map(x.rank));
  mlxcel_loop_output(&inverse, mlxcel_hlo_empty(builder, MLXCEL_ELEMENT_F32, sums.rank, sums.dims), rows_map(x.rank));
  mlxcel_loop_begin(builder, &inverse);
  mlxcel_value_t reciprocal = mlxcel_body_round(builder, grid, mlxcel_canonical_reciprocal(builder, inverse.in[0]));
  return mlxcel_loop_end(builder, &inverse, &reciprocal);
}

mlxcel_value_t mlxcel_canonical_softmax_of(mlxcel_module_builder_t* builder, mlxcel_softmax_form_t form, mlxcel_dtype_t dtype, mlxcel_value_t x) {
  mlxcel_dtype_t grid = form == MLXCEL_SOFTMAX_PRECISE ? MLXCEL_DTYPE_F32 : dtype;
  const char* map = mlxcel_canonical_identity_map(x.rank);
  mlxcel_value_t maxima = row_maxima(builder, x);
  mlxcel_value_t reciprocals = row_reciprocals(builder, grid, x, maxima);
  mlxcel_loop_t loop = {.iterators = mlxcel_canonical_parallel(x.rank)};
  mlxcel_loop_input(&loop, x, map);
  mlxcel_loop_input(&loop, maxima, rows_map(x.rank));
  mlxcel_loop_input(&loop, reciprocals, rows_map(x.rank));
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, mlxcel_element_of(dtype), x.rank, x.dims), map);
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t power = power_of(builder, grid, loop.in[0], loop.in[1]);
  mlxcel_value_t result = mlxcel_body_narrow(builder, dtype, mlxcel_body_product(builder, power, loop.in[2]));
  return mlxcel_loop_end(builder, &loop, &result);
}

mlxcel_value_t mlxcel_canonical_softmax(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  mlxcel_emit_clause(builder, operation);
  mlxcel_softmax_form_t form = operation->variant == MLXCEL_VARIANT_SAME_DTYPE ? MLXCEL_SOFTMAX_SAME_DTYPE : MLXCEL_SOFTMAX_PRECISE;
  return mlxcel_canonical_softmax_of(builder, form, operation->dtype, operands[0]);
}

// --- attention -----------------------------------------------------------------------------------------------------------------------------------

// R(R(scale) * q), cut into heads and grouped by the key-value head that they share: T [kv_heads, group, rows, head_dim].
static mlxcel_value_t scaled_queries(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t q) {
  mlxcel_loop_t loop = {.iterators = "pp"};
  mlxcel_loop_input(&loop, q, "01");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, q.element, 2, q.dims), "01");
  mlxcel_loop_begin(builder, &loop);
  uint8_t stored[sizeof(float)];
  mlxcel_dtype_store(operation->dtype, stored, 0, operation->scale);
  mlxcel_value_t scale = mlxcel_body_f32(builder, mlxcel_dtype_widen(operation->dtype, stored, 0));
  mlxcel_value_t element = mlxcel_body_widen(builder, loop.in[0]);
  mlxcel_value_t product = mlxcel_body_narrow(builder, operation->dtype, mlxcel_body_product(builder, scale, element));
  q = mlxcel_loop_end(builder, &loop, &product);
  const int64_t dims[] = {operation->rows, operation->kv_heads, operation->heads / operation->kv_heads, operation->head_dim};
  static const uint32_t by_kv_head[] = {1, 2, 0, 3};
  return mlxcel_hlo_transpose(builder, mlxcel_hlo_reshape(builder, q, 4, dims), by_kv_head);
}

// One layer of a cache, [1, 1, kv_heads, keys, head_dim], as [kv_heads, keys, head_dim].
static mlxcel_value_t cache_layer(mlxcel_module_builder_t* builder, mlxcel_value_t cache) { return mlxcel_hlo_reshape(builder, cache, 3, cache.dims + 2); }

// R(score + mask), or the lowest finite value of T where a key is behind the row's position; f32 scores become T.
static mlxcel_value_t masked_scores(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, mlxcel_value_t scores,
                                    const mlxcel_value_t* operands) {
  static const float lowest[] = {[MLXCEL_DTYPE_F32] = -0x1.fffffep127f, [MLXCEL_DTYPE_F16] = -65504.0f, [MLXCEL_DTYPE_BF16] = -0x1.fep127f};
  if (operation->variant == MLXCEL_VARIANT_MASK_NONE) return mlxcel_canonical_narrowed(builder, scores, operation->dtype);
  bool is_causal = operation->variant == MLXCEL_VARIANT_MASK_CAUSAL;
  mlxcel_loop_t loop = {.iterators = "pppp"};
  mlxcel_loop_input(&loop, scores, "0123");
  mlxcel_loop_input(&loop, operands[is_causal ? 4 : 5], is_causal ? "2" : "23");
  mlxcel_loop_output(&loop, mlxcel_hlo_empty(builder, mlxcel_element_of(operation->dtype), 4, scores.dims), "0123");
  mlxcel_loop_begin(builder, &loop);
  mlxcel_value_t score = mlxcel_body_round(builder, operation->dtype, loop.in[0]);
  if (is_causal) {
    mlxcel_value_t key = mlxcel_body_index(builder, 3), floor = mlxcel_body_f32(builder, lowest[operation->dtype]);
    score = mlxcel_body_select(builder, "arith.cmpi sle", key, loop.in[1], score, floor);
    if (operation->dtype != MLXCEL_DTYPE_F32) score = mlxcel_body_cast(builder, "arith.truncf", score, mlxcel_element_of(operation->dtype));
  } else {
    mlxcel_value_t mask = mlxcel_body_widen(builder, loop.in[1]);
    score = mlxcel_body_narrow(builder, operation->dtype, mlxcel_body_binary(builder, "arith.addf", score, mask));
  }
  return mlxcel_loop_end(builder, &loop, &score);
}

mlxcel_value_t mlxcel_canonical_attention(mlxcel_module_builder_t* builder, const mlxcel_operation_t* operation, const mlxcel_value_t* operands) {
  if (operands[1].dims[3] == MLXCEL_DIM_DYNAMIC) {
    mlxcel_module_fail(builder, iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                                                 "profile " MLXCEL_PROFILE_IREE_CANONICAL
                                                 " defines attention over a number of keys that is known when the module is made; give caches of static size"));
    return operands[0];
  }
  mlxcel_emit_clause(builder, operation);
  mlxcel_value_t q = scaled_queries(builder, operation, operands[0]);
  mlxcel_value_t k = cache_layer(builder, operands[1]);
  mlxcel_value_t v = cache_layer(builder, operands[2]);
  mlxcel_value_t scores = masked_scores(builder, operation, mlxcel_hlo_dot_general(builder, q, k, 1, 3, 2), operands);
  mlxcel_value_t weights = mlxcel_canonical_softmax_of(builder, MLXCEL_SOFTMAX_PRECISE, operation->dtype, scores);
  mlxcel_value_t sums = mlxcel_canonical_narrowed(builder, mlxcel_hlo_dot_general(builder, weights, v, 1, 3, 1), operation->dtype);
  static const uint32_t by_row[] = {2, 0, 1, 3};
  const int64_t dims[] = {operation->rows, operation->heads * operation->head_dim};
  return mlxcel_hlo_reshape(builder, mlxcel_hlo_transpose(builder, sums, by_row), 2, dims);
}
