// pinned_f32.c: the optimized kernels of profile pinned-f32, version 1 (kernel_abi.h has every order). Freestanding: no libc, no thread-local or writable
// global data. Compiled once per x86-64 level and embedded into compiled modules.
#include "kernels/cpu/attention.h"
#include "kernels/cpu/dot.h"

void mlxcel_pinned_embed(MLXCEL_KERNEL_EMBED_ARGS) {
  unsigned saved = kernel_enter();
  const int32_t* token = MLXCEL_AT(tokens);
  const int32_t* position = MLXCEL_AT(positions);
  const matrix_t table = MATRIX(table, format, 0, width);
  size_t begin, end;
  share((size_t)rows, group, groups, &begin, &end);
  for (size_t r = begin; r < end; ++r) {
    if (position[r] < 0) continue;
    weights_row(&table, (size_t)token[r], 0, width, MLXCEL_AT(out) + r * (size_t)width);
  }
  kernel_leave(saved);
}

static float sum_of_squares(const float* x, int width) {
  v16 acc = v16_zero();
  int k = 0;
  for (; k + 16 <= width; k += 16) {
    v16 xv = v16_load(x + k);
    acc = v16_fma(xv, xv, acc);
  }
  if (k < width) {
    v16 xv = v16_load_first(x + k, width - k);
    acc = v16_select_first(v16_fma(xv, xv, acc), acc, width - k);
  }
  return v16_tree(acc);
}

static void rms_norm_row(const float* x, const uint8_t* weight, int type, int width, float eps, float* out) {
  float mean = sum_of_squares(x, width) / (float)width;
  float r = 1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + eps)));
  int k = 0;
  for (; k + 16 <= width; k += 16) v16_store(out + k, v16_mul(v16_mul(v16_load(x + k), v16_set1(r)), load_typed16(weight + k * type_bytes(type), type)));
  for (; k < width; ++k) out[k] = x[k] * r * load_typed(weight + k * type_bytes(type), type);
}

void mlxcel_pinned_rms_norm(MLXCEL_KERNEL_RMS_NORM_ARGS) {
  unsigned saved = kernel_enter();
  const int32_t* source = MLXCEL_AT(index);
  size_t begin, end;
  share((size_t)rows, group, groups, &begin, &end);
  for (size_t r = begin; r < end; ++r) {
    if (source[r] < 0) continue;
    size_t from = gather ? (size_t)source[r] : r;
    rms_norm_row(MLXCEL_AT(x) + from * (size_t)width, MLXCEL_AT(weight), weight_type, width, eps, MLXCEL_AT(out) + r * (size_t)width);
  }
  kernel_leave(saved);
}

// Rotates pairs (i, i + half) of one head.
MLXCEL_INLINE void rope_head(float* y, const float* cos, const float* sin, int half) {
  int i = 0;
  for (; i + 16 <= half; i += 16) {
    v16 a = v16_load(y + i), b = v16_load(y + half + i), c = v16_load(cos + i), s = v16_load(sin + i);
    v16_store(y + i, v16_fma(a, c, v16_neg(v16_mul(b, s))));
    v16_store(y + half + i, v16_fma(b, c, v16_mul(a, s)));
  }
  if (i < half) {
    int count = half - i;
    v16 a = v16_load_first(y + i, count), b = v16_load_first(y + half + i, count), c = v16_load_first(cos + i, count), s = v16_load_first(sin + i, count);
    v16_store_first(y + i, v16_fma(a, c, v16_neg(v16_mul(b, s))), count);
    v16_store_first(y + half + i, v16_fma(b, c, v16_mul(a, s)), count);
  }
}

MLXCEL_INLINE void copy_floats(const float* from, float* to, int count) {
  int i = 0;
  for (; i + 16 <= count; i += 16) v16_store(to + i, v16_load(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

#define QKV_BUFFER 8192      // floats of one head's projection for a block of rows, on the stack
#define HEAD_STRIDE_MAX 512  // HEAD_DIM_MAX

void mlxcel_pinned_qkv_rope(MLXCEL_KERNEL_QKV_ROPE_ARGS) {
  unsigned saved = kernel_enter();
  const matrix_t matrices[3] = {MATRIX(q, q_format, q_flags, width), MATRIX(k, k_format, k_flags, width), MATRIX(v, v_format, v_flags, width)};
  const int32_t* slot = MLXCEL_AT(slots);
  const int32_t* position = MLXCEL_AT(positions);
  int active = active_rows(position, rows);
  const int stride = (head_dim + PROJECT_OUTPUTS - 1) / PROJECT_OUTPUTS * PROJECT_OUTPUTS;
  int block = QKV_BUFFER / stride < dot_rows_for(width) ? QKV_BUFFER / stride : dot_rows_for(width);
  size_t head_total = (size_t)(heads + 2 * kv_heads), begin, end;
  size_t blocks = ((size_t)active + (size_t)block - 1) / (size_t)block;
  share(head_total * blocks, group, groups, &begin, &end);
  _Alignas(64) float ordered[DOT_ORDERED_MAX];
  const float* ordered_x = NULL;
  int ordered_first = -1;  // the block of rows that |ordered_x| has
  for (size_t unit = begin; unit < end; ++unit) {
    int head = (int)(unit % head_total), first = (int)(unit / head_total) * block;
    int count = active - first < block ? active - first : block;
    int kind = head < heads ? 0 : head < heads + kv_heads ? 1 : 2;  // q, k or v
    int local = kind == 0 ? head : kind == 1 ? head - heads : head - heads - kv_heads;
    _Alignas(64) float y[QKV_BUFFER + PROJECT_SPARE_ROWS * HEAD_STRIDE_MAX];
    const float* x = MLXCEL_AT(x) + (size_t)first * (size_t)width;
    const bool is_ordered = MLXCEL_FORMAT_BITS(matrices[kind].format) == 4;
    if (is_ordered && ordered_first != first) {
      ordered_x = rows_for(&matrices[kind], x, count, ordered);
      ordered_first = first;
    }
    for (int i = 0; i < head_dim; i += PROJECT_OUTPUTS) {
      project(&matrices[kind], is_ordered ? ordered_x : x, count, (size_t)local * (size_t)head_dim + (size_t)i,
              (size_t)(head_dim - i < PROJECT_OUTPUTS ? head_dim - i : PROJECT_OUTPUTS), y + i, (size_t)stride);
    }
    for (int r = 0; r < count; ++r) {
      int32_t p = position[first + r];
      if (p < 0) continue;
      float* row = y + (size_t)r * (size_t)stride;
      if (kind != 2) rope_head(row, MLXCEL_AT(cos) + (size_t)p * (size_t)rope_half, MLXCEL_AT(sin) + (size_t)p * (size_t)rope_half, rope_half);
      if (kind == 0) {
        copy_floats(row, MLXCEL_AT(out) + ((size_t)(first + r) * (size_t)heads + (size_t)head) * (size_t)head_dim, head_dim);
      } else {
        size_t cell = kv_cell(layer, slot_count, slot[first + r], kv_heads, (size_t)local, context, p, head_dim, kv_type);
        kv_store(row, kv_type, head_dim, (kind == 1 ? MLXCEL_AT(k_cache) : MLXCEL_AT(v_cache)) + cell);
      }
    }
  }
  kernel_leave(saved);
}

void mlxcel_pinned_attention(MLXCEL_KERNEL_ATTENTION_ARGS) {
  unsigned saved = kernel_enter();
  const int32_t* slot = MLXCEL_AT(slots);
  const int32_t* position = MLXCEL_AT(positions);
  queries_t queries;
  queries.type = kv_type;
  queries.head_dim = head_dim;
  queries.scale = scale;
  size_t heads_each = (size_t)(heads / kv_heads), active = (size_t)active_rows(position, rows), unit = 0, unit_begin, unit_end;
  share(run_count(slot, position, active) * (size_t)kv_heads, group, groups, &unit_begin, &unit_end);
  for (size_t end = active, begin; end > 0 && unit < unit_end; end = begin) {  // the last rows see most keys: first
    begin = run_begin(slot, position, end);
    for (size_t kv_head = 0; kv_head < (size_t)kv_heads && position[end - 1] >= 0; ++kv_head, ++unit) {
      if (unit < unit_begin || unit >= unit_end) continue;
      size_t cells = kv_cell(layer, slot_count, slot[begin], kv_heads, kv_head, context, 0, head_dim, kv_type);
      queries.keys = MLXCEL_AT(k_cache) + cells;
      queries.values = MLXCEL_AT(v_cache) + cells;
      size_t total = (end - begin) * heads_each;
      for (size_t done = 0; done < total; done += (size_t)queries.count) {
        queries.count = total - done < QUERIES_MAX ? (int)(total - done) : QUERIES_MAX;
        for (int i = 0; i < queries.count; ++i) {
          size_t r = begin + (done + (size_t)i) / heads_each, head = kv_head * heads_each + (done + (size_t)i) % heads_each;
          size_t at = (r * (size_t)heads + head) * (size_t)head_dim;
          queries.q[i] = MLXCEL_AT(q) + at;
          queries.o[i] = MLXCEL_AT(out) + at;
          queries.length[i] = position[r] + 1;
        }
        attend(&queries);
      }
    }
  }
  kernel_leave(saved);
}

// out = [add +] y for one row of a tile; |count| <= PROJECT_OUTPUTS.
MLXCEL_INLINE void store_row(const float* y, const float* add, int count, float* out) {
  if (count == PROJECT_OUTPUTS) {
    v16 sums = v16_load(y);
    v16_store(out, add ? v16_add(v16_load(add), sums) : sums);
  } else {
    v16 sums = v16_load_first(y, count);
    v16_store_first(out, add ? v16_add(v16_load_first(add, count), sums) : sums, count);
  }
}

void mlxcel_pinned_matmul(MLXCEL_KERNEL_MATMUL_ARGS) {
  unsigned saved = kernel_enter();
  const matrix_t m = MATRIX(w, format, flags, in_features);
  const float* add = flags & MLXCEL_MATRIX_HAS_RESIDUAL ? MLXCEL_AT(residual) : NULL;
  const int active = active_rows(MLXCEL_AT(positions), rows), block = dot_rows_for(in_features);
  _Alignas(64) float ordered[DOT_ORDERED_MAX];
  size_t n = (size_t)out_features, begin, end;
  share((n + PROJECT_OUTPUTS - 1) / PROJECT_OUTPUTS, group, groups, &begin, &end);  // whole tiles: a share never splits a tree
  if (begin < end) prefetch_share(&m, begin * PROJECT_OUTPUTS);
  for (int first = 0; first < active && begin < end; first += block) {
    int count = active - first < block ? active - first : block;
    const float* x = rows_for(&m, MLXCEL_AT(x) + (size_t)first * (size_t)in_features, count, ordered);
    for (size_t tile = begin; tile < end; ++tile) {
      _Alignas(64) float y[(DOT_ROWS + PROJECT_SPARE_ROWS) * PROJECT_OUTPUTS];
      size_t at = tile * PROJECT_OUTPUTS, outputs = n - at < PROJECT_OUTPUTS ? n - at : PROJECT_OUTPUTS;
      project(&m, x, count, at, outputs, y, PROJECT_OUTPUTS);
      for (int r = 0; r < count; ++r) {
        size_t cell = (size_t)(first + r) * n + at;
        store_row(y + r * PROJECT_OUTPUTS, add ? add + cell : NULL, (int)outputs, MLXCEL_AT(out) + cell);
      }
    }
  }
  kernel_leave(saved);
}

void mlxcel_pinned_gate_up(MLXCEL_KERNEL_GATE_UP_ARGS) {
  unsigned saved = kernel_enter();
  const matrix_t gate = MATRIX(g, g_format, g_flags, in_features), up = MATRIX(u, u_format, u_flags, in_features);
  const int active = active_rows(MLXCEL_AT(positions), rows), block = dot_rows_for(in_features);
  _Alignas(64) float ordered[DOT_ORDERED_MAX];
  size_t n = (size_t)out_features, begin, end;
  share((n + PROJECT_OUTPUTS - 1) / PROJECT_OUTPUTS, group, groups, &begin, &end);
  if (begin < end) {
    prefetch_share(&gate, begin * PROJECT_OUTPUTS);
    prefetch_share(&up, begin * PROJECT_OUTPUTS);
  }
  for (int first = 0; first < active && begin < end; first += block) {
    int count = active - first < block ? active - first : block;
    const float* x = MLXCEL_AT(x) + (size_t)first * (size_t)in_features;
    const bool gate_is_ordered = MLXCEL_FORMAT_BITS(g_format) == 4;
    const float* ordered_x = rows_for(gate_is_ordered ? &gate : &up, x, count, ordered);
    const float *gate_x = gate_is_ordered ? ordered_x : x, *up_x = MLXCEL_FORMAT_BITS(u_format) == 4 ? ordered_x : x;
    for (size_t tile = begin; tile < end; ++tile) {
      _Alignas(64) float g[(DOT_ROWS + PROJECT_SPARE_ROWS) * PROJECT_OUTPUTS], u[(DOT_ROWS + PROJECT_SPARE_ROWS) * PROJECT_OUTPUTS];
      size_t at = tile * PROJECT_OUTPUTS, outputs = n - at < PROJECT_OUTPUTS ? n - at : PROJECT_OUTPUTS;
      project(&gate, gate_x, count, at, outputs, g, PROJECT_OUTPUTS);
      project(&up, up_x, count, at, outputs, u, PROJECT_OUTPUTS);
      for (int r = 0; r < count; ++r) {
        v16 gv = v16_load(g + r * PROJECT_OUTPUTS), uv = v16_load(u + r * PROJECT_OUTPUTS);
        v16 y = v16_mul(v16_div(gv, v16_add(v16_set1(1.0f), v16_exp(v16_neg(gv)))), uv);
        float* to = MLXCEL_AT(out) + (size_t)(first + r) * n + at;
        if (outputs == PROJECT_OUTPUTS) {
          v16_store(to, y);
        } else {
          v16_store_first(to, y, (int)outputs);
        }
      }
    }
  }
  kernel_leave(saved);
}
