// mlx_matmul.h: y[r][n] = sum over k of x[r][k] * w[n][k], in order of k, one accumulator an output. Thirty-two outputs go side by side: their weights are
// decoded once, into a tile of the stack, and serve every row of x.
#ifndef MLXCEL_KERNELS_MLX_MLX_MATMUL_H_
#define MLXCEL_KERNELS_MLX_MLX_MATMUL_H_

#include "kernels/mlx/mlx_weights.h"

#define TILE_VECTORS 4
#define TILE_OUTPUTS (TILE_VECTORS * LANES)  // enough chains that none waits for its own rounding
#define TILE_K 128                           // the tile's 16 KiB leave half of a first-level cache to the rest; a multiple of every group size or a divisor
#define TILE_ROWS 64                         // rows at a time: 8 KiB of accumulators

typedef struct matmul_t {
  matrix_t m;
  const uint8_t *x, *bias;
  uint8_t* out;
  size_t outputs;                     // of a row
  int x_type, bias_type, type, step;  // type: of the result; step: to which every product and every sum is rounded
  bool has_bias;
} matmul_t;

static void fill_tile(const matmul_t* a, size_t n0, size_t k0, size_t count, float* tile) {
  for (size_t v = 0; v < TILE_OUTPUTS; v += LANES) {
    size_t n[LANES];
    for (size_t o = 0; o < LANES; ++o) n[o] = n0 + v + o < a->outputs ? n0 + v + o : a->outputs - 1;  // beyond the end: computed again, not stored
    if (MLXCEL_FORMAT_BITS(a->m.format)) {
      weights_decode(&a->m, n, k0, count, TILE_OUTPUTS, a->type, tile + v);
    } else {
      weights_widen(&a->m, n, k0, count, TILE_OUTPUTS, tile + v);
    }
  }
}

// |x|: the row's elements of the tile.
MLXCEL_INLINE void accumulate_row(const uint8_t* x, const float* tile, size_t count, int x_type, int step, float acc[TILE_OUTPUTS]) {
  lanes_t sum[TILE_VECTORS];
  for (int v = 0; v < TILE_VECTORS; ++v) sum[v] = lanes_load(acc + v * LANES);
  for (size_t k = 0; k < count; ++k) {
    lanes_t xv = lanes_set1(load_typed(x, k, x_type));
    for (int v = 0; v < TILE_VECTORS; ++v) {
      lanes_t product = lanes_round(lanes_mul(xv, lanes_load(tile + k * TILE_OUTPUTS + v * LANES)), step);
      sum[v] = lanes_round(lanes_add(sum[v], product), step);
    }
  }
  for (int v = 0; v < TILE_VECTORS; ++v) lanes_store(acc + v * LANES, sum[v]);
}
// A step in 16 bits has x in those 16 bits, too.
static void accumulate(const uint8_t* x, const float* tile, size_t count, int x_type, int step, float acc[TILE_OUTPUTS]) {
  if (step == MLXCEL_FORMAT_F16) {
    accumulate_row(x, tile, count, MLXCEL_FORMAT_F16, MLXCEL_FORMAT_F16, acc);
  } else if (step == MLXCEL_FORMAT_BF16) {
    accumulate_row(x, tile, count, MLXCEL_FORMAT_BF16, MLXCEL_FORMAT_BF16, acc);
  } else if (x_type == MLXCEL_FORMAT_F16) {
    accumulate_row(x, tile, count, MLXCEL_FORMAT_F16, MLXCEL_FORMAT_F32, acc);
  } else if (x_type == MLXCEL_FORMAT_BF16) {
    accumulate_row(x, tile, count, MLXCEL_FORMAT_BF16, MLXCEL_FORMAT_F32, acc);
  } else {
    accumulate_row(x, tile, count, MLXCEL_FORMAT_F32, MLXCEL_FORMAT_F32, acc);
  }
}

// Outputs n0 .. n0 + 32 of one row: the layer's bias is added to the sum as it is, which an affine sum has been rounded to before.
static void store_outputs(const matmul_t* a, size_t row, size_t n0, const float acc[TILE_OUTPUTS]) {
  for (size_t o = 0; o < TILE_OUTPUTS && n0 + o < a->outputs; ++o) {
    float y = acc[o];
    if (a->has_bias) y = y + load_typed(a->bias, n0 + o, a->bias_type);
    store_typed(a->out, row * a->outputs + n0 + o, a->type, y);
  }
}

// Rows first .. first + count, count <= TILE_ROWS.
static void matmul_outputs(const matmul_t* a, size_t first, size_t count, size_t n0) {
  float tile[TILE_K * TILE_OUTPUTS], acc[TILE_ROWS][TILE_OUTPUTS];
  size_t width = a->m.width;
  for (size_t r = 0; r < count; ++r) {
    for (int v = 0; v < TILE_VECTORS; ++v) lanes_store(acc[r] + v * LANES, lanes_zero());
  }
  for (size_t k0 = 0; k0 < width; k0 += TILE_K) {
    size_t ks = width - k0 < TILE_K ? width - k0 : TILE_K;
    fill_tile(a, n0, k0, ks, tile);
    for (size_t r = 0; r < count; ++r) accumulate(a->x + ((first + r) * width + k0) * type_bytes(a->x_type), tile, ks, a->x_type, a->step, acc[r]);
  }
  for (size_t r = 0; r < count; ++r) store_outputs(a, first + r, n0, acc[r]);
}

#endif  // MLXCEL_KERNELS_MLX_MLX_MATMUL_H_
