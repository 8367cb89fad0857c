#include "kernels/reference/reference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define REFERENCE_HEAD_DIM_MAX 512  // MLXCEL_HEAD_DIM_MAX

// Matrix arguments of a kernel as one value.
typedef struct reference_matrix_t {
  const uint8_t* codes;  // or dense values
  const uint8_t* scales;
  const uint8_t* biases;
  const uint8_t* vector;  // bias vector of the layer
  int32_t format;
  int32_t flags;
  size_t in_features;
} reference_matrix_t;

#define REFERENCE_MATRIX(name, matrix_format, matrix_flags, width)                                                                                        \
  {                                                                                                                                                       \
    .codes = MLXCEL_AT(name##_w), .scales = MLXCEL_AT(name##_s), .biases = MLXCEL_AT(name##_b), .vector = MLXCEL_AT(name##_v), .format = (matrix_format), \
    .flags = (matrix_flags), .in_features = (size_t)(width)                                                                                               \
  }

//===- Numbers ------------------------------------------------------------------------------------------------------------------------------------------===//

static float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// Sign, exponent and fraction taken apart by definition: fraction * 2^-24 below the normal range, else (1024 + fraction) * 2^(exponent - 25).
static float widen_f16(uint16_t bits) {
  uint32_t fraction = bits & 0x3ffu;
  int exponent = (bits >> 10) & 0x1f;
  if (exponent == 0x1f) return float_from_bits((uint32_t)(bits & 0x8000u) << 16 | 0x7f800000u | fraction << 13);
  float magnitude = exponent == 0 ? ldexpf((float)fraction, -24) : ldexpf((float)(1024u + fraction), exponent - 25);
  return (bits & 0x8000u) ? -magnitude : magnitude;
}

float mlxcel_reference_widen(const uint8_t* data, int32_t type, size_t index) {
  if (type == MLXCEL_FORMAT_F32) {
    float value;
    memcpy(&value, data + 4 * index, sizeof(value));
    return value;
  }
  uint16_t half = (uint16_t)(data[2 * index] | data[2 * index + 1] << 8);
  return type == MLXCEL_FORMAT_F16 ? widen_f16(half) : float_from_bits((uint32_t)half << 16);
}

// Multiples of the unit in the last place of |value|'s binade, 2^-24 at least: a binade's first code is the one behind the last of the binade below.
static uint16_t narrow_f16(float value) {
  uint32_t sign = signbit(value) ? 0x8000u : 0;
  if (isnan(value)) return (uint16_t)(sign | 0x7e00u);
  float magnitude = fabsf(value);
  if (magnitude >= 65520.0f) return (uint16_t)(sign | 0x7c00u);  // halfway from the largest, 65504, to 2^16
  int exponent = magnitude < 0x1p-14f ? -14 : ilogbf(magnitude);
  return (uint16_t)(sign | (uint32_t)((exponent + 14) * 1024 + (int)rintf(ldexpf(magnitude, 10 - exponent))));
}

// A code is the upper half of the bits: the lower half says how far it is to the next.
static uint16_t narrow_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint32_t upper = bits >> 16, lower = bits & 0xffffu;
  if (isnan(value)) return (uint16_t)(upper | 0x40u);
  bool is_up = lower > 0x8000u || (lower == 0x8000u && upper % 2 == 1);
  return (uint16_t)(is_up ? upper + 1 : upper);
}

void mlxcel_reference_narrow(uint8_t* data, int32_t type, size_t index, float value) {
  if (type == MLXCEL_FORMAT_F32) {
    memcpy(data + 4 * index, &value, sizeof(value));
    return;
  }
  uint16_t half = type == MLXCEL_FORMAT_F16 ? narrow_f16(value) : narrow_bf16(value);
  data[2 * index] = (uint8_t)half;
  data[2 * index + 1] = (uint8_t)(half >> 8);
}

uint32_t mlxcel_reference_code(const uint8_t* row, int32_t bits, size_t index) {
  uint32_t code = 0;
  for (size_t b = 0; b < (size_t)bits; ++b) {
    size_t position = index * (size_t)bits + b;
    code |= (uint32_t)(row[position / 8] >> (position % 8) & 1) << b;
  }
  return code;
}

float mlxcel_reference_exp(float x) {
  if (isnan(x)) return x;
  if (x > MLXCEL_EXP_MAX) x = MLXCEL_EXP_MAX;
  if (x < MLXCEL_EXP_MIN) x = MLXCEL_EXP_MIN;
  float n = rintf(x * MLXCEL_EXP_LOG2E);
  float r = fmaf(n, -MLXCEL_EXP_LN2_HI, x);
  r = fmaf(n, -MLXCEL_EXP_LN2_LO, r);
  float p = MLXCEL_EXP_C5;
  p = fmaf(p, r, MLXCEL_EXP_C4);
  p = fmaf(p, r, MLXCEL_EXP_C3);
  p = fmaf(p, r, MLXCEL_EXP_C2);
  p = fmaf(p, r, MLXCEL_EXP_C1);
  p = fmaf(p, r, MLXCEL_EXP_C0);
  float y = fmaf(p, r * r, r) + 1.0f;
  int low = (int)floorf(n / 2);  // n >> 1
  int high = (int)n - low;
  return y * ldexpf(1.0f, low) * ldexpf(1.0f, high);
}

static float tree16(float lane[16]) {
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lane[i] = lane[i] + lane[i + half];
  }
  return lane[0];
}

static float dot(const float* x, const float* w, size_t count) {
  float lane[16] = {0};
  for (size_t k = 0; k < count; ++k) lane[k % 16] = fmaf(x[k], w[k], lane[k % 16]);
  return tree16(lane);
}

//===- Matrices -----------------------------------------------------------------------------------------------------------------------------------------===//

static float weight_at(const reference_matrix_t* matrix, size_t row, size_t k) {
  int32_t type = MLXCEL_FORMAT_TYPE(matrix->format);
  int32_t bits = MLXCEL_FORMAT_BITS(matrix->format);
  size_t width = matrix->in_features;
  if (bits == 0) return mlxcel_reference_widen(matrix->codes, type, row * width + k);
  size_t group_size = (size_t)1 << MLXCEL_FORMAT_GROUP_LOG2(matrix->format);
  size_t group = row * (width / group_size) + k / group_size;
  uint32_t code = mlxcel_reference_code(matrix->codes + row * (width * (size_t)bits / 8), bits, k);
  float scale = mlxcel_reference_widen(matrix->scales, type, group);
  float bias = mlxcel_reference_widen(matrix->biases, type, group);
  return fmaf((float)code, scale, bias);
}

// dot(x, row |row| of the matrix), plus the layer's bias where present.
static float project(const reference_matrix_t* matrix, const float* x, size_t row) {
  float lane[16] = {0};
  for (size_t k = 0; k < matrix->in_features; ++k) lane[k % 16] = fmaf(x[k], weight_at(matrix, row, k), lane[k % 16]);
  float y = tree16(lane);
  if (matrix->flags & MLXCEL_MATRIX_HAS_BIAS) y = y + mlxcel_reference_widen(matrix->vector, MLXCEL_MATRIX_BIAS_TYPE(matrix->flags), row);
  return y;
}

void mlxcel_reference_matmul(MLXCEL_KERNEL_MATMUL_ARGS) {
  if (group != 0 || groups == 0) return;
  const reference_matrix_t matrix = REFERENCE_MATRIX(w, format, flags, in_features);
  for (size_t r = 0; r < (size_t)rows; ++r) {
    if (MLXCEL_AT(positions)[r] < 0) continue;
    for (size_t n = 0; n < (size_t)out_features; ++n) {
      float y = project(&matrix, MLXCEL_AT(x) + r * (size_t)in_features, n);
      size_t at = r * (size_t)out_features + n;
      MLXCEL_AT(out)[at] = (flags & MLXCEL_MATRIX_HAS_RESIDUAL) ? MLXCEL_AT(residual)[at] + y : y;
    }
  }
}

void mlxcel_reference_gate_up(MLXCEL_KERNEL_GATE_UP_ARGS) {
  if (group != 0 || groups == 0) return;
  const reference_matrix_t gate_matrix = REFERENCE_MATRIX(g, g_format, g_flags, in_features);
  const reference_matrix_t up_matrix = REFERENCE_MATRIX(u, u_format, u_flags, in_features);
  for (size_t r = 0; r < (size_t)rows; ++r) {
    if (MLXCEL_AT(positions)[r] < 0) continue;
    const float* row = MLXCEL_AT(x) + r * (size_t)in_features;
    for (size_t n = 0; n < (size_t)out_features; ++n) {
      float gate = project(&gate_matrix, row, n);
      float up = project(&up_matrix, row, n);
      MLXCEL_AT(out)[r * (size_t)out_features + n] = gate / (1.0f + mlxcel_reference_exp(-gate)) * up;
    }
  }
}

void mlxcel_reference_embed(MLXCEL_KERNEL_EMBED_ARGS) {
  if (group != 0 || groups == 0) return;
  const reference_matrix_t matrix = REFERENCE_MATRIX(table, format, 0, width);
  for (size_t r = 0; r < (size_t)rows; ++r) {
    if (MLXCEL_AT(positions)[r] < 0) continue;
    size_t token = (size_t)MLXCEL_AT(tokens)[r];
    for (size_t k = 0; k < (size_t)width; ++k) MLXCEL_AT(out)[r * (size_t)width + k] = weight_at(&matrix, token, k);
  }
}

//===- Norm ---------------------------------------------------------------------------------------------------------------------------------------------===//

void mlxcel_reference_rms_norm(MLXCEL_KERNEL_RMS_NORM_ARGS) {
  if (group != 0 || groups == 0) return;
  for (size_t r = 0; r < (size_t)rows; ++r) {
    if (MLXCEL_AT(index)[r] < 0) continue;
    size_t source = gather == 1 ? (size_t)MLXCEL_AT(index)[r] : r;
    const float* row = MLXCEL_AT(x) + source * (size_t)width;
    float ss = dot(row, row, (size_t)width);
    float factor = 1.0f / sqrtf(ss / (float)width + eps);
    for (size_t k = 0; k < (size_t)width; ++k) {
      MLXCEL_AT(out)[r * (size_t)width + k] = row[k] * factor * mlxcel_reference_widen(MLXCEL_AT(weight), weight_type, k);
    }
  }
}

//===- Attention ----------------------------------------------------------------------------------------------------------------------------------------===//

// First element of a head's cell in a cache [layers, slots, kv_heads, context, head_dim].
static size_t cell_at(size_t layer, size_t slot_count, size_t slot, size_t kv_heads, size_t kv_head, size_t context, size_t position, size_t head_dim) {
  return (((layer * slot_count + slot) * kv_heads + kv_head) * context + position) * head_dim;
}

// Head |head| of one row, projected into |out|; rotated where |half| is not 0: elements [0, 2 half) turn, the others stay.
static void project_head(const reference_matrix_t* matrix, const float* x, size_t head, size_t head_dim, const float* cos, const float* sin, size_t half,
                         float* out) {
  for (size_t d = 0; d < head_dim; ++d) out[d] = project(matrix, x, head * head_dim + d);
  for (size_t i = 0; i < half; ++i) {
    float first = out[i], second = out[i + half];
    out[i] = fmaf(first, cos[i], -(second * sin[i]));
    out[i + half] = fmaf(second, cos[i], first * sin[i]);
  }
}

void mlxcel_reference_qkv_rope(MLXCEL_KERNEL_QKV_ROPE_ARGS) {
  if (group != 0 || groups == 0) return;
  const reference_matrix_t q_matrix = REFERENCE_MATRIX(q, q_format, q_flags, width);
  const reference_matrix_t k_matrix = REFERENCE_MATRIX(k, k_format, k_flags, width);
  const reference_matrix_t v_matrix = REFERENCE_MATRIX(v, v_format, v_flags, width);
  size_t dim = (size_t)head_dim, half = (size_t)rope_half;
  for (size_t r = 0; r < (size_t)rows; ++r) {
    if (MLXCEL_AT(positions)[r] < 0) continue;
    size_t position = (size_t)MLXCEL_AT(positions)[r];
    const float* row = MLXCEL_AT(x) + r * (size_t)width;
    const float* row_cos = MLXCEL_AT(cos) + position * half;
    const float* row_sin = MLXCEL_AT(sin) + position * half;
    for (size_t h = 0; h < (size_t)heads; ++h) {
      project_head(&q_matrix, row, h, dim, row_cos, row_sin, half, MLXCEL_AT(out) + (r * (size_t)heads + h) * dim);
    }
    for (size_t h = 0; h < (size_t)kv_heads; ++h) {
      size_t cell = cell_at((size_t)layer, (size_t)slot_count, (size_t)MLXCEL_AT(slots)[r], (size_t)kv_heads, h, (size_t)context, position, dim);
      float values[REFERENCE_HEAD_DIM_MAX] = {0};
      project_head(&k_matrix, row, h, dim, row_cos, row_sin, half, values);
      for (size_t d = 0; d < dim; ++d) mlxcel_reference_narrow(MLXCEL_AT(k_cache), kv_type, cell + d, values[d]);
      project_head(&v_matrix, row, h, dim, row_cos, row_sin, 0, values);
      for (size_t d = 0; d < dim; ++d) mlxcel_reference_narrow(MLXCEL_AT(v_cache), kv_type, cell + d, values[d]);
    }
  }
}

// Keys or values of a slot and kv head: element d of position j is element first + j * head_dim + d.
typedef struct reference_cells_t {
  const uint8_t* data;
  int32_t type;
  size_t first, head_dim;
} reference_cells_t;
static float cell_value(const reference_cells_t* cells, size_t position, size_t d) {
  return mlxcel_reference_widen(cells->data, cells->type, cells->first + position * cells->head_dim + d);
}

static float dot_key(const float* q, const reference_cells_t* k, size_t position) {
  float lane[16] = {0};
  for (size_t d = 0; d < k->head_dim; ++d) lane[d % 16] = fmaf(q[d], cell_value(k, position, d), lane[d % 16]);
  return tree16(lane);
}

static float max_of(float a, float b) { return b > a ? b : a; }

// The block of |keys| keys at |first|: scores, their maximum |*out_m|, p[j] and their sum |*out_l|.
static void attend_block(const float* q, const reference_cells_t* k, size_t first, size_t keys, float scale, float p[MLXCEL_ATTENTION_BLOCK], float* out_m,
                         float* out_l) {
  float s[MLXCEL_ATTENTION_BLOCK], lane[16] = {0};
  for (size_t j = 0; j < keys; ++j) s[j] = dot_key(q, k, first + j) * scale;
  float m = -INFINITY;
  for (size_t j = 0; j < keys; ++j) m = max_of(m, s[j]);
  for (size_t j = 0; j < keys; ++j) p[j] = mlxcel_reference_exp(s[j] - m);
  for (size_t j = 0; j < keys; ++j) lane[j % 16] = lane[j % 16] + p[j];
  *out_m = m;
  *out_l = tree16(lane);
}

// One head of one row over |count| keys. |o| holds the running o[d] until the division at the end.
static void attend(const float* q, const reference_cells_t* k, const reference_cells_t* v, size_t count, float scale, float* o) {
  float m = 0, l = 0;
  for (size_t first = 0; first < count; first += MLXCEL_ATTENTION_BLOCK) {
    size_t keys = count - first < MLXCEL_ATTENTION_BLOCK ? count - first : MLXCEL_ATTENTION_BLOCK;
    float p[MLXCEL_ATTENTION_BLOCK], mb, lb;
    attend_block(q, k, first, keys, scale, p, &mb, &lb);
    float both = first == 0 ? mb : max_of(m, mb);
    float a = mlxcel_reference_exp(m - both), c = mlxcel_reference_exp(mb - both);
    for (size_t d = 0; d < v->head_dim; ++d) {
      float ob = 0;
      for (size_t j = 0; j < keys; ++j) ob = fmaf(p[j], cell_value(v, first + j, d), ob);
      o[d] = first == 0 ? ob : fmaf(o[d], a, ob * c);
    }
    l = first == 0 ? lb : fmaf(l, a, lb * c);
    m = both;
  }
  for (size_t d = 0; d < v->head_dim; ++d) o[d] = o[d] / l;
}

void mlxcel_reference_attention(MLXCEL_KERNEL_ATTENTION_ARGS) {
  if (group != 0 || groups == 0) return;
  size_t dim = (size_t)head_dim;
  for (size_t r = 0; r < (size_t)rows; ++r) {
    if (MLXCEL_AT(positions)[r] < 0) continue;
    size_t count = (size_t)MLXCEL_AT(positions)[r] + 1;
    for (size_t h = 0; h < (size_t)heads; ++h) {
      size_t kv_head = h / (size_t)(heads / kv_heads);
      size_t cell = cell_at((size_t)layer, (size_t)slot_count, (size_t)MLXCEL_AT(slots)[r], (size_t)kv_heads, kv_head, (size_t)context, 0, dim);
      size_t at = (r * (size_t)heads + h) * dim;
      const reference_cells_t k = {MLXCEL_AT(k_cache), kv_type, cell, dim}, v = {MLXCEL_AT(v_cache), kv_type, cell, dim};
      attend(MLXCEL_AT(q) + at, &k, &v, count, scale, MLXCEL_AT(out) + at);
    }
  }
}
