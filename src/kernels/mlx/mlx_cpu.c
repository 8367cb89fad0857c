// mlx_cpu.c: the kernels of profile mlx-cpu-0.32.4 (mlx_abi.h has every order). Freestanding: no libc, no thread-local or writable global data. Compiled once,
// for x86-64-v3, and embedded into compiled modules of every level.
#include "kernels/mlx/mlx_attention.h"
#include "kernels/mlx/mlx_convolution.h"
#include "kernels/mlx/mlx_elementwise.h"
#include "kernels/mlx/mlx_matmul.h"
#include "kernels/mlx/mlx_norm.h"
#include "kernels/mlx/mlx_reduce.h"
#include "kernels/mlx/mlx_rope.h"

void mlxcel_mlx_embed(MLXCEL_MLX_EMBED_ARGS) {
  unsigned saved = kernel_enter();
  const matrix_t table = {MLXCEL_AT(w), MLXCEL_AT(s), MLXCEL_AT(b), format, (size_t)width};
  size_t begin, end, row_bytes = (size_t)width * type_bytes(MLXCEL_FORMAT_TYPE(format));
  share((size_t)rows, group, groups, &begin, &end);
  for (size_t r = begin; r < end; ++r) {
    if (lookup && MLXCEL_AT(positions)[r] < 0) continue;
    embed_row(&table, lookup ? (size_t)MLXCEL_AT(tokens)[r] : r, MLXCEL_AT(out) + r * row_bytes);
  }
  kernel_leave(saved);
}

// Rows up to the last active one; those in between are computed like any.
static size_t active_rows(const int32_t* positions, int32_t rows) {
  while (rows > 0 && positions[rows - 1] < 0) --rows;
  return (size_t)rows;
}

void mlxcel_mlx_matmul(MLXCEL_MLX_MATMUL_ARGS) {
  unsigned saved = kernel_enter();
  int type = promote(x_type, MLXCEL_FORMAT_TYPE(format));
  const matmul_t a = {
      .m = {MLXCEL_AT(m_w), MLXCEL_AT(m_s), MLXCEL_AT(m_b), format, (size_t)in_features},
      .x = MLXCEL_AT(x),
      .bias = MLXCEL_AT(m_v),
      .out = MLXCEL_AT(out),
      .outputs = (size_t)out_features,
      .x_type = x_type,
      .bias_type = MLXCEL_MATRIX_BIAS_TYPE(flags),
      .type = type,
      .step = MLXCEL_FORMAT_BITS(format) ? type : MLXCEL_FORMAT_F32,
      .has_bias = (flags & MLXCEL_MATRIX_HAS_BIAS) != 0,
  };
  size_t active = active_rows(MLXCEL_AT(positions), rows), begin, end;
  share((a.outputs + TILE_OUTPUTS - 1) / TILE_OUTPUTS, group, groups, &begin, &end);
  for (size_t first = 0; first < active; first += TILE_ROWS) {
    size_t count = active - first < TILE_ROWS ? active - first : TILE_ROWS;
    for (size_t tile = begin; tile < end; ++tile) matmul_outputs(&a, first, count, tile * TILE_OUTPUTS);
  }
  kernel_leave(saved);
}

void mlxcel_mlx_rms_norm(MLXCEL_MLX_RMS_NORM_ARGS) {
  unsigned saved = kernel_enter();
  const norm_t a = {.weight = MLXCEL_AT(weight),
                    .width = (size_t)width,
                    .x_type = x_type,
                    .weight_type = weight_type,
                    .out_type = mode == RMS_ONE_ROUNDING ? x_type : promote(x_type, weight_type),
                    .mode = (rms_mode_t)mode,
                    .eps = eps};
  size_t begin, end;
  share((size_t)rows, group, groups, &begin, &end);
  for (size_t r = begin; r < end; ++r) {
    int32_t source = MLXCEL_AT(index)[r];
    if (source < 0) continue;
    size_t from = gather ? (size_t)source : r;
    rms_norm_row(&a, MLXCEL_AT(x) + from * a.width * type_bytes(x_type), MLXCEL_AT(out) + r * a.width * type_bytes(a.out_type));
  }
  kernel_leave(saved);
}

void mlxcel_mlx_layer_norm(MLXCEL_MLX_LAYER_NORM_ARGS) {
  unsigned saved = kernel_enter();
  const norm_t a = {.weight = MLXCEL_AT(weight),
                    .bias = MLXCEL_AT(bias),
                    .width = (size_t)width,
                    .x_type = x_type,
                    .weight_type = weight_type,
                    .out_type = promote(x_type, weight_type),
                    .eps = eps};
  size_t begin, end;
  share((size_t)rows, group, groups, &begin, &end);
  for (size_t r = begin; r < end; ++r) {
    layer_norm_row(&a, MLXCEL_AT(x) + r * a.width * type_bytes(x_type), MLXCEL_AT(out) + r * a.width * type_bytes(a.out_type));
  }
  kernel_leave(saved);
}

void mlxcel_mlx_elementwise(MLXCEL_MLX_ELEMENTWISE_ARGS) {
  unsigned saved = kernel_enter();
  const elementwise_t e = {.a = MLXCEL_AT(a),
                           .b = MLXCEL_AT(b),
                           .out = MLXCEL_AT(out),
                           .b_divide = (uint32_t)b_divide,
                           .b_modulo = (uint32_t)b_modulo,
                           .out_type = out_type,
                           .use_scalar = use_scalar != 0,
                           .scalar = round_to(scalar, type)};
  size_t begin, end;
  share((size_t)count, group, groups, &begin, &end);
  elementwise_run(&e, operation, type, (uint32_t)begin, (uint32_t)end);
  kernel_leave(saved);
}

void mlxcel_mlx_softmax(MLXCEL_MLX_SOFTMAX_ARGS) {
  unsigned saved = kernel_enter();
  size_t begin, end, row_bytes = (size_t)width * type_bytes(type);
  share((size_t)rows, group, groups, &begin, &end);
  for (size_t r = begin; r < end; ++r) softmax_row(MLXCEL_AT(x) + r * row_bytes, (size_t)width, type, precise != 0, MLXCEL_AT(out) + r * row_bytes);
  kernel_leave(saved);
}

void mlxcel_mlx_rope(MLXCEL_MLX_ROPE_ARGS) {
  unsigned saved = kernel_enter();
  const rope_t a = {.frequencies = has_frequencies ? MLXCEL_AT(frequencies) : NULL,
                    .heads = (size_t)heads,
                    .head_dim = (size_t)head_dim,
                    .half = (size_t)rope_dims / 2,
                    .type = type,
                    .interleaved = interleaved != 0,
                    .log_base = log_base,
                    .scale = scale};
  size_t begin, end, row_bytes = a.heads * a.head_dim * type_bytes(type);
  share((size_t)rows, group, groups, &begin, &end);
  for (size_t r = begin; r < end; ++r) {
    int32_t position = MLXCEL_AT(positions)[r];
    if (position >= 0) rope_row(&a, MLXCEL_AT(x) + r * row_bytes, position, MLXCEL_AT(out) + r * row_bytes);
  }
  kernel_leave(saved);
}

static void copy_elements(const uint8_t* from, uint8_t* to, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 2) *(any_u16_t*)(to + i) = *(const any_u16_t*)(from + i);
}

void mlxcel_mlx_kv_store(MLXCEL_MLX_KV_STORE_ARGS) {
  unsigned saved = kernel_enter();
  size_t head_bytes = (size_t)head_dim * type_bytes(type), begin, end;
  share((size_t)rows * (size_t)kv_heads, group, groups, &begin, &end);
  for (size_t unit = begin; unit < end; ++unit) {
    size_t r = unit / (size_t)kv_heads, head = unit % (size_t)kv_heads;
    int32_t position = MLXCEL_AT(positions)[r];
    if (position < 0) continue;
    size_t slot = (size_t)layer * (size_t)slot_count + (size_t)MLXCEL_AT(slots)[r];
    size_t cell = ((slot * (size_t)kv_heads + head) * (size_t)context + (size_t)position) * head_bytes;
    copy_elements(MLXCEL_AT(k) + unit * head_bytes, MLXCEL_AT(k_cache) + cell, head_bytes);
    copy_elements(MLXCEL_AT(v) + unit * head_bytes, MLXCEL_AT(v_cache) + cell, head_bytes);
  }
  kernel_leave(saved);
}

enum { MASK_CAUSAL, MASK_NONE, MASK_ADDITIVE };  // argument |mask_kind|

void mlxcel_mlx_attention(MLXCEL_MLX_ATTENTION_ARGS) {
  unsigned saved = kernel_enter();
  size_t element = type_bytes(type), head_bytes = (size_t)head_dim * element, begin, end;
  float rounded_scale = round_to(scale, type);
  share((size_t)rows * (size_t)heads, group, groups, &begin, &end);
  for (size_t unit = begin; unit < end; ++unit) {
    size_t r = unit / (size_t)heads, kv_head = unit % (size_t)heads / (size_t)(heads / kv_heads);
    int32_t position = MLXCEL_AT(positions)[r];
    if (position < 0) continue;
    size_t slot = (size_t)layer * (size_t)slot_count + (size_t)MLXCEL_AT(slots)[r];
    size_t cells = (slot * (size_t)kv_heads + kv_head) * (size_t)context * head_bytes;
    attention_row_t a;
    a.keys = MLXCEL_AT(k_cache) + cells;
    a.values = MLXCEL_AT(v_cache) + cells;
    a.mask = mask_kind == MASK_ADDITIVE ? MLXCEL_AT(mask) + r * (size_t)context * element : NULL;
    a.length = mask_kind == MASK_CAUSAL ? (size_t)position + 1 : (size_t)context;
    a.head_dim = (size_t)head_dim;
    a.type = type;
    for (size_t d = 0; d < a.head_dim; ++d) a.q[d] = round_to(rounded_scale * load_typed(MLXCEL_AT(q), unit * a.head_dim + d, type), type);
    attention_row(&a, MLXCEL_AT(out) + unit * head_bytes);
  }
  kernel_leave(saved);
}

void mlxcel_mlx_scan(MLXCEL_MLX_SCAN_ARGS) {
  unsigned saved = kernel_enter();
  size_t begin, end, stride = (size_t)inner;
  share((size_t)outer * stride, group, groups, &begin, &end);
  for (size_t unit = begin; unit < end; ++unit) {
    scan_line(MLXCEL_AT(x), unit / stride * (size_t)length * stride + unit % stride, stride, (size_t)length, type, MLXCEL_AT(out));
  }
  kernel_leave(saved);
}

void mlxcel_mlx_row_sum(MLXCEL_MLX_ROW_SUM_ARGS) {
  unsigned saved = kernel_enter();
  size_t begin, end, row_bytes = (size_t)width * type_bytes(type);
  share((size_t)rows, group, groups, &begin, &end);
  for (size_t r = begin; r < end; ++r) store_typed(MLXCEL_AT(out), r, type, sum_of(MLXCEL_AT(x) + r * row_bytes, (size_t)width, type));
  kernel_leave(saved);
}

void mlxcel_mlx_convolution(MLXCEL_MLX_CONVOLUTION_ARGS) {
  unsigned saved = kernel_enter();
  const convolution_t a = {.x = MLXCEL_AT(x),
                           .w = MLXCEL_AT(w),
                           .out = MLXCEL_AT(out),
                           .in_h = (size_t)in_h,
                           .in_w = (size_t)in_w,
                           .in_channels = (size_t)in_channels,
                           .out_h = (size_t)out_h,
                           .out_w = (size_t)out_w,
                           .out_channels = (size_t)out_channels,
                           .kernel_h = (size_t)kernel_h,
                           .kernel_w = (size_t)kernel_w,
                           .stride_h = (size_t)stride_h,
                           .stride_w = (size_t)stride_w,
                           .pad_h = (size_t)pad_h,
                           .pad_w = (size_t)pad_w,
                           .type = type};
  size_t channel_tiles = (a.out_channels + CHANNELS_TOGETHER - 1) / CHANNELS_TOGETHER, begin, end;
  share((size_t)batch * a.out_h * a.out_w * channel_tiles, group, groups, &begin, &end);
  for (size_t unit = begin; unit < end; ++unit) convolution_unit(&a, unit, channel_tiles);
  kernel_leave(saved);
}
