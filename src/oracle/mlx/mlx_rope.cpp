// nn.RoPE. A run of consecutive positions is one call with the first as its offset, as in a model; MLX has no call with a position for every row.
#include "oracle/mlx/mlx_reference.hpp"

namespace mlxcel {

static mx::array rotate(const request& request, const mx::array& x, int64_t head_count) {
  const mlxcel_operation_t& operation = request.operation();
  const int heads = size32(head_count), width = size32(operation.head_dim);
  const mx::array split = mx::transpose(mx::reshape(x, {1, x.shape(0), heads, width}, kCpu), {0, 2, 1, 3}, kCpu);
  std::optional<mx::array> frequencies;
  std::optional<float> base = operation.rope_base;
  if (operation.has_frequencies) {
    frequencies = request.operand("frequencies");
    base.reset();
  }
  std::vector<mx::array> parts;
  for (const run& run : runs_of(request.integers("positions"))) {
    if (run.position < 0) throw failure(IREE_STATUS_INVALID_ARGUMENT, "a position is negative");
    const mx::array rows = mx::slice(split, {0, 0, run.first, 0}, {1, heads, run.first + run.count, width}, kCpu);
    parts.push_back(mx::fast::rope(rows, size32(operation.rope_dims), operation.variant == MLXCEL_VARIANT_INTERLEAVED, base, operation.scale, run.position,
                                   frequencies, kCpu));
  }
  const mx::array rotated = mx::concatenate(parts, 2, kCpu);
  return mx::reshape(mx::transpose(rotated, {0, 2, 1, 3}, kCpu), {x.shape(0), heads * width}, kCpu);
}

mx::array rope(const request& request) { return rotate(request, request.operand("x"), request.operation().heads); }

static mx::array projected(const request& request, const char* name) {
  return mx::matmul(request.operand("x"), mx::transpose(request.operand(name), kCpu), kCpu);
}

static mx::array flat(const mx::array& array) { return mx::reshape(array, {-1}, kCpu); }

mx::array qkv_rope(const request& request) {
  const mlxcel_operation_t& operation = request.operation();
  const mx::array q = rotate(request, projected(request, "wq"), operation.heads);
  const mx::array k = rotate(request, projected(request, "wk"), operation.kv_heads);
  const mx::array k_cache = cache_with(request, "k_cache", k), v_cache = cache_with(request, "v_cache", projected(request, "wv"));
  return mx::concatenate({flat(q), flat(k_cache), flat(v_cache)}, 0, kCpu);
}

}  // namespace mlxcel
