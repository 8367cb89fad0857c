// Softmax, attention over a cache as mlx-lm's models call it, and the cache's update.
#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {

mx::array softmax(const request& request) { return mx::softmax(request.operand("x"), -1, request.operation().variant == MLXCEL_VARIANT_PRECISE, kCpu); }

// [rows, heads * head_dim] as [1, heads, rows, head_dim]: what models make of a projection.
static mx::array split_heads(const mx::array& x, int64_t heads, int64_t head_dim) {
  return mx::transpose(mx::reshape(x, {1, x.shape(0), size32(heads), size32(head_dim)}, kCpu), {0, 2, 1, 3}, kCpu);
}

static mx::array cache_of(const request& request, const char* name) { return mx::squeeze(request.operand(name), 0, kCpu); }

static void check_slots(const request& request) {
  for (int32_t slot : request.integers("slots")) {
    if (slot != 0) throw failure(IREE_STATUS_UNIMPLEMENTED, "the MLX reference has one slot: slots must be 0");
  }
}

// MLX's own causal mask puts the last row at the last key.
static void check_causal(const request& request) {
  const mlxcel_operation_t& operation = request.operation();
  int64_t expected = operation.keys - operation.rows;
  for (int32_t position : request.integers("positions")) {
    if (position != expected++) throw failure(IREE_STATUS_UNIMPLEMENTED, "causal attention needs positions keys - rows .. keys - 1");
  }
}

mx::array attention(const request& request) {
  const mlxcel_operation_t& operation = request.operation();
  check_slots(request);
  const mx::array q = split_heads(request.operand("q"), operation.heads, operation.head_dim);
  const mx::array k = cache_of(request, "k"), v = cache_of(request, "v");
  std::string mode;
  std::optional<mx::array> mask;
  if (operation.variant == MLXCEL_VARIANT_MASK_CAUSAL) {
    check_causal(request);
    mode = "causal";
  } else if (operation.variant == MLXCEL_VARIANT_MASK_ADDITIVE) {
    mask = request.operand("mask");
  }
  const mx::array out = mx::fast::scaled_dot_product_attention(q, k, v, operation.scale, mode, mask, std::nullopt, false, kCpu);
  return mx::reshape(mx::transpose(out, {0, 2, 1, 3}, kCpu), {size32(operation.rows), size32(operation.heads * operation.head_dim)}, kCpu);
}

// KVCache.update_and_fetch: keys[..., position : position + count, :] = rows.
mx::array cache_with(const request& request, const char* name, const mx::array& rows) {
  const mlxcel_operation_t& operation = request.operation();
  check_slots(request);
  const mx::array split = split_heads(rows, operation.kv_heads, operation.head_dim);
  mx::array cache = cache_of(request, name);
  const int heads = size32(operation.kv_heads), keys = size32(operation.keys), width = size32(operation.head_dim);
  for (const run& run : runs_of(request.integers("positions"))) {
    if (run.position < 0 || run.position > keys - run.count) throw failure(IREE_STATUS_INVALID_ARGUMENT, "a position isn't in the cache");
    const mx::array part = mx::slice(split, {0, 0, run.first, 0}, {1, heads, run.first + run.count, width}, kCpu);
    cache = mx::slice_update(cache, part, mx::Shape{0, 0, run.position, 0}, mx::Shape{1, heads, run.position + run.count, width}, kCpu);
  }
  return mx::expand_dims(cache, 0, kCpu);
}

mx::array kv_store(const request& request) {
  return mx::concatenate({cache_with(request, "k_cache", request.operand("k")), cache_with(request, "v_cache", request.operand("v"))}, 0, kCpu);
}

}  // namespace mlxcel
