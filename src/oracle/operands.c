#include "oracle/operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

//===- Random numbers -----------------------------------------------------------------------------------------------------------------------------------===//

// A 64-bit finalizer (multiply and shift, twice): every input bit reaches every output bit.
static uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  return x ^ (x >> 32);
}

uint64_t mlxcel_oracle_random(uint64_t seed, uint64_t stream, uint64_t index) {
  return mix(mix(mix(seed + 0x9e3779b97f4a7c15ull) + stream * 0xa0761d6478bd642full) + index * 0xe7037ed1a0b428dbull);
}

// One operand's numbers.
typedef struct source_t {
  uint64_t seed, stream;
  mlxcel_dtype_t dtype;
  double peak;    // the large first element of rows of kind wide
  bool is_table;  // whose weights are results
} source_t;

static uint64_t draw(const source_t* source, uint64_t index) { return mlxcel_oracle_random(source->seed, source->stream, index); }

// Sum of four 16-bit uniforms, centred, of standard deviation 1 (exact in double).
static double normal_of(uint64_t bits) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += (double)(bits >> (16 * i) & 0xffff) / 65536.0 - 0.5;
  return sum * 1.7320508075688772;
}
static double uniform_of(uint64_t bits) { return (double)(bits >> 11) / 9007199254740992.0; }

static int fraction_bits(mlxcel_dtype_t dtype) { return dtype == MLXCEL_DTYPE_F32 ? 23 : dtype == MLXCEL_DTYPE_F16 ? 10 : 7; }

static double narrow(mlxcel_dtype_t dtype, double value) {
  uint8_t stored[4];
  mlxcel_dtype_store(dtype, stored, 0, (float)value);
  return (double)mlxcel_dtype_widen(dtype, stored, 0);
}

//===- Kinds of rows ------------------------------------------------------------------------------------------------------------------------------------===//

// Places within a row: |k| of |width|.
static double normal_at(const source_t* source, uint64_t row, uint64_t k, uint64_t width) { return normal_of(draw(source, row * width + k)); }

// Pairs (k, width-1-k) cancel exactly but for one pair in 16, whose second half carries noise far below the terms.
static double cancel_at(const source_t* source, uint64_t row, uint64_t k, uint64_t width) {
  uint64_t mirror = width - 1 - k;
  if (mirror == k) return 0.0078125 * normal_at(source, row, k, width);
  double value = narrow(source->dtype, 4.0 * normal_at(source, row, k < mirror ? k : mirror, width));
  if (k < mirror) return value;
  uint64_t bits = draw(source, ~(row * width + k));
  return -value + ((bits & 15) == 0 ? value * 0.015625 * (uniform_of(bits) - 0.5) : 0);
}

// Odd integers with one bit more than the dtype's fraction, at a few scales: they fill the significand, so that times 1.5 or plus half a step they are ties.
static double ties_at(const source_t* source, uint64_t row, uint64_t k, uint64_t width) {
  uint64_t bits = draw(source, row * width + k);
  int fraction = fraction_bits(source->dtype);
  uint64_t significand = (1ull << fraction) | ((bits >> 8) & ((1ull << fraction) - 1)) | 1;
  double value = ldexp((double)significand, (int)(bits & 3) - 2 - fraction);
  return bits & 4 ? -value : value;
}

// The first element outweighs each later one by more than the accumulator's precision, and all of them together by far less.
static double wide_at(const source_t* source, uint64_t row, uint64_t k, uint64_t width) {
  uint64_t bits = draw(source, row * width + k);
  if (k == 0) return source->peak;
  if ((bits & 3) != 0) return 0.5 + 0.5 * uniform_of(bits);
  if ((bits & 0x7c) == 0) return bits & 0x80 ? -0.0 : 0.0;
  double value = ldexp(1.0 + uniform_of(bits), (int)((bits >> 2) % 24) - 18);
  return bits & 0x400 ? -value : value;
}

static int tiny_exponent(mlxcel_dtype_t dtype) { return dtype == MLXCEL_DTYPE_F16 ? -15 : -126; }
static double tiny_at(const source_t* source, uint64_t row, uint64_t k, uint64_t width) {
  return ldexp(normal_at(source, row, k, width), tiny_exponent(source->dtype));
}

typedef double (*element_fn_t)(const source_t* source, uint64_t row, uint64_t k, uint64_t width);
static const element_fn_t element_at[MLXCEL_OPERAND_KIND_COUNT] = {normal_at, cancel_at, ties_at, wide_at, tiny_at};

static uint64_t width_of(const mlxcel_operand_t* type) { return (uint64_t)type->dims[type->rank - 1]; }

// Rows of the last dimension; row r has kind (first + r) mod 5.
static void fill_rows(const source_t* source, uint64_t first_kind, mlxcel_host_tensor_t* tensor) {
  uint64_t width = width_of(&tensor->type), count = mlxcel_operand_element_count(&tensor->type);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t row = i / width;
    double value = element_at[(first_kind + row) % MLXCEL_OPERAND_KIND_COUNT](source, row, i % width, width);
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)value);
  }
}

//===- Weights ------------------------------------------------------------------------------------------------------------------------------------------===//

// Every second row is mirrored; every fourth has two-bit significands (1.5 makes ties of activations that fill theirs) or spread exponents.
static double weight_at(const source_t* source, uint64_t row, uint64_t k, uint64_t width) {
  if (row % 2 == 1 && width - 1 - k < k) k = width - 1 - k;
  uint64_t bits = draw(source, row * width + k);
  if (row % 4 == 1) return (bits & 1 ? 1.5 : 0.75) * (bits & 2 ? -1 : 1);
  double value = normal_of(bits) * 0.25;
  return row % 4 == 2 ? ldexp(value, (int)((bits >> 3) % 12) - 8) : value;
}

static void fill_matrix(const source_t* source, mlxcel_host_tensor_t* tensor) {
  uint64_t width = mlxcel_operand_element_count(&tensor->type) / (uint64_t)tensor->type.dims[0];
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)weight_at(source, i / width, i % width, width));
  }
}

// Channels (the last dimension) are mirrored: kernels whose input cancels over channels.
static void fill_kernel(const source_t* source, mlxcel_host_tensor_t* tensor) {
  uint64_t channels = width_of(&tensor->type);
  uint64_t taps = (uint64_t)(tensor->type.dims[1] * tensor->type.dims[2]);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    uint64_t channel = i % channels, tap = i / channels % taps, output = i / channels / taps;
    if (output % 2 == 1 && channels - 1 - channel < channel) channel = channels - 1 - channel;
    double value = 0.25 * normal_of(draw(source, (output * taps + tap) * channels + channel));
    // One channel: nothing to mirror; the taps get about one size, and the middle one none, so that alternating signs of the input cancel.
    if (channels == 1 && output % 2 == 1) value = taps % 2 == 1 && tap == taps / 2 ? 0 : 1.0 + 0.0078125 * value;
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)value);
  }
}

// Norm weights around 1, with full significands.
static void fill_norm_weight(const source_t* source, double center, mlxcel_host_tensor_t* tensor) {
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)(center + 0.3 * normal_of(draw(source, i))));
  }
}

// Around 0; every eighth is 0 itself: there the results of rows of kind tiny stay tiny, and all of their bits show.
static void fill_norm_bias(const source_t* source, mlxcel_host_tensor_t* tensor) {
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, i % 8 == 3 ? 0.0f : (float)(0.3 * normal_of(draw(source, i))));
  }
}

static void set_code(uint8_t* row, uint32_t bits, uint64_t k, uint64_t code) {
  for (uint32_t b = 0; b < bits; ++b) {
    uint64_t position = k * bits + b;
    if (code >> b & 1) row[position / 8] |= (uint8_t)(1u << (position % 8));
  }
}

static void fill_codes(const source_t* source, uint32_t bits, uint64_t in_features, mlxcel_host_tensor_t* tensor) {
  uint64_t rows = (uint64_t)tensor->type.dims[0], row_bytes = in_features * bits / 8;
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t k = 0; k < in_features; ++k) {
      uint64_t from = row % 2 == 1 && in_features - 1 - k < k ? in_features - 1 - k : k;
      set_code((uint8_t*)tensor->data + row * row_bytes, bits, k, draw(source, row * in_features + from) >> 24 & ((1u << bits) - 1));
    }
  }
}

// Scale of group |group|: about 2 / 2^bits of the weights' spread, with a full significand (which 16 bits can't hold where the dtype is f32).
static double scale_of(const source_t* source, uint32_t bits, uint64_t row, uint64_t group, uint64_t groups) {
  if (row % 2 == 1 && groups - 1 - group < group) group = groups - 1 - group;
  uint64_t draw_bits = mlxcel_oracle_random(source->seed, source->stream, row * groups + group);
  if (row % 4 == 1) return ldexp(1.0, -(int)bits);
  double value = (1.0 + uniform_of(draw_bits)) * ldexp(1.0, -(int)bits);
  if (row % 4 == 3 && source->is_table) value = ldexp(value, tiny_exponent(source->dtype) + 1);  // subnormal weights
  if (row % 4 == 2) value = ldexp(value, (int)(draw_bits % 6) - 4);
  return draw_bits & 0x40 ? -value : value;
}

// Scales and biases share a stream: bias = -scale * middle code, slightly off, so that weights lie around 0 and cancel within a group.
static void fill_groups(const source_t* source, uint32_t bits, bool is_bias, mlxcel_host_tensor_t* tensor) {
  uint64_t groups = width_of(&tensor->type);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    uint64_t row = i / groups, group = i % groups;
    double value = scale_of(source, bits, row, group, groups);
    if (is_bias) {
      uint64_t from = row % 2 == 1 && groups - 1 - group < group ? groups - 1 - group : group;
      double off = row % 4 == 1 ? 0 : 0.05 * normal_of(mlxcel_oracle_random(source->seed, source->stream, ~(row * groups + from)));
      value = -narrow(source->dtype, value) * (ldexp(1.0, (int)bits - 1) + off);
    }
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)value);
  }
}

//===- Classes with needs of their own ------------------------------------------------------------------------------------------------------------------===//

// The second addend: random, but in rows of kind ties half a step of the first one, in rows of kind cancel nearly its negative.
static void fill_addend(const source_t* source, const mlxcel_host_tensor_t* other, uint64_t first_kind, mlxcel_host_tensor_t* tensor) {
  fill_rows(source, first_kind, tensor);
  uint64_t width = width_of(&tensor->type);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    uint64_t kind = (first_kind + i / width) % MLXCEL_OPERAND_KIND_COUNT;
    double value = (double)mlxcel_dtype_widen(other->type.dtype, other->data, i);
    if (kind == MLXCEL_OPERAND_TIES) {
      double half_step = ldexp(1.0, ilogb(value) - fraction_bits(source->dtype) - 1);
      mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)(draw(source, i) & 1 ? half_step : -half_step));
    } else if (kind == MLXCEL_OPERAND_CANCEL) {
      mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)(-value * (1.0 + 0.015625 * uniform_of(draw(source, i)))));
    }
  }
}

// Activations' arguments: the interesting ranges of exponentials and error functions, their limits, zeros and infinities.
static void fill_arguments(const source_t* source, uint64_t first_kind, mlxcel_host_tensor_t* tensor) {
  static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, 88.0f, -88.0f, 88.5f, -88.5f, 104.0f, -104.0f, 5.0f, -5.0f, 3.0f, -3.0f, 0.5f, -0.5f};
  fill_rows(source, first_kind, tensor);
  uint64_t width = width_of(&tensor->type);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    uint64_t kind = (first_kind + i / width) % MLXCEL_OPERAND_KIND_COUNT;
    uint64_t bits = draw(source, ~i);
    float value = mlxcel_dtype_widen(tensor->type.dtype, tensor->data, i);
    if (kind == MLXCEL_OPERAND_NORMAL) value *= 3.0f;
    if (kind == MLXCEL_OPERAND_WIDE)
      value = bits & 7 ? (float)(200.0 * (uniform_of(bits) - 0.5)) : special[(bits >> 8) % (sizeof(special) / sizeof(special[0]))];
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, value);
  }
}

// Cumulative norm: the first time step is tiny throughout, so that its variance is 0 and the epsilon alone decides.
static void fill_steps(const source_t* source, uint64_t first_kind, mlxcel_host_tensor_t* tensor) {
  fill_rows(source, first_kind, tensor);
  uint64_t step = mlxcel_operand_element_count(&tensor->type) / (uint64_t)tensor->type.dims[0];
  for (uint64_t i = 0; i < step; ++i) {
    double value = (double)mlxcel_dtype_widen(tensor->type.dtype, tensor->data, i);
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)ldexp(value, tiny_exponent(source->dtype)));
  }
}

#define SCORE_PEAK 18.0
#define SUBNORMAL_EXP -87.35  // just below it MLX's exponential, and any, is subnormal in f32

// Softmax: rows of kind wide have one large element and very many that are almost lost beside it, a few of them subnormal.
static void fill_scores(const source_t* source, uint64_t first_kind, mlxcel_host_tensor_t* tensor) {
  fill_rows(source, first_kind, tensor);
  uint64_t width = width_of(&tensor->type);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    if ((first_kind + i / width) % MLXCEL_OPERAND_KIND_COUNT != MLXCEL_OPERAND_WIDE) continue;
    uint64_t bits = draw(source, ~i);
    double value = i % width == 0      ? SCORE_PEAK
                   : (bits & 63) == 0  ? -200.0 * uniform_of(bits)
                   : (bits & 63) == 32 ? SCORE_PEAK + SUBNORMAL_EXP - 0.3 * uniform_of(bits)
                                       : uniform_of(bits);
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)value);
  }
}

// Values of attention: one column in sixteen is tiny in every row, so that its sums are.
static void fill_values(const source_t* source, uint64_t first_kind, mlxcel_host_tensor_t* tensor) {
  fill_rows(source, first_kind, tensor);
  uint64_t width = width_of(&tensor->type);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    if (i % width % 16 != 7) continue;
    double value = normal_of(draw(source, i));
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)ldexp(value, tiny_exponent(source->dtype)));
  }
}

// A mask added to scores: mostly 0, some finite, some -inf, and every row leaves its first key.
static void fill_mask(const source_t* source, mlxcel_host_tensor_t* tensor) {
  uint64_t width = width_of(&tensor->type);
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    uint64_t bits = draw(source, i);
    float value = (bits & 7) < 4 ? 0.0f : (bits & 7) == 4 && i % width != 0 ? -INFINITY : (float)(2.0 * normal_of(bits));
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, value);
  }
}

// A kernel's width and more: sums of tiny inputs alone.
#define TINY_COLUMNS 5

// Convolution input [batch, h, w, channels]: pixels take turns in their kind; with one channel the signs alternate over the plane. The last columns are tiny.
static void fill_image(const source_t* source, mlxcel_host_tensor_t* tensor) {
  uint64_t channels = width_of(&tensor->type), columns = (uint64_t)tensor->type.dims[2];
  for (uint64_t i = 0; i < mlxcel_operand_element_count(&tensor->type); ++i) {
    uint64_t pixel = i / channels, line = pixel / columns;
    double value;
    if (channels == 1) {
      double size = line % 4 == 3 ? tiny_at(source, pixel, 0, 1) : 1.0 + 0.0078125 * normal_of(draw(source, i));
      value = line % 4 >= 2 ? size * normal_of(draw(source, ~i)) : (pixel + line) % 2 ? -size : size;
    } else {
      value = pixel % 8 == 7 ? normal_at(source, pixel, i % channels, channels) : 8.0 * cancel_at(source, pixel, i % channels, channels);
    }
    if (columns - pixel % columns <= (columns / 8 < TINY_COLUMNS ? columns / 8 : TINY_COLUMNS)) value = ldexp(value, tiny_exponent(source->dtype));
    mlxcel_dtype_store(tensor->type.dtype, tensor->data, i, (float)value);
  }
}

static void fill_integers(const mlxcel_operation_t* operation, const source_t* source, mlxcel_host_tensor_t* tensor) {
  int32_t* values = tensor->data;
  const char* name = tensor->type.name;
  int64_t rows = operation->rows, keys = operation->keys;
  for (int64_t r = 0; r < rows; ++r) {
    if (strcmp(name, "slots") == 0) {
      values[r] = 0;
    } else if (strcmp(name, "tokens") == 0) {
      values[r] = (int32_t)(draw(source, (uint64_t)r) % (uint64_t)operation->out_features);
    } else if (operation->op == MLXCEL_OP_ATTENTION) {
      values[r] = (int32_t)(keys - rows + r);
    } else if (operation->op == MLXCEL_OP_EMBEDDING || keys == 0) {
      values[r] = (int32_t)r;
    } else {
      values[r] = (int32_t)(rows == 1 ? keys - 1 : r * (keys - 1) / (rows - 1));  // distinct, first and last position included
    }
  }
}

// Divisors of the angles (MLX's `freqs`): powers of the base, the longer wavelengths stretched as llama3 scaling does.
static double frequency_of(const mlxcel_operation_t* operation, int64_t i) {
  double power = pow((double)operation->rope_base, 2.0 * (double)i / (double)operation->rope_dims);
  if (!operation->has_frequencies) return power;
  return (double)(float)(4 * i > operation->rope_dims ? 8.0 * power : power);
}

static void fill_frequencies(const mlxcel_operation_t* operation, mlxcel_host_tensor_t* tensor) {
  for (int64_t i = 0; i < operation->rope_dims / 2; ++i) ((float*)tensor->data)[i] = (float)frequency_of(operation, i);
}

// cos or sin of position * scale / frequency, in double, rounded once.
static void fill_table(const mlxcel_operation_t* operation, bool is_sine, mlxcel_host_tensor_t* tensor) {
  int64_t half = operation->rope_dims / 2;
  float* values = tensor->data;
  for (int64_t i = 0; i < half; ++i) {
    double frequency = (double)operation->scale / frequency_of(operation, i);
    for (int64_t p = 0; p < operation->keys; ++p) {
      double angle = (double)p * frequency;
      values[p * half + i] = (float)(is_sine ? sin(angle) : cos(angle));
    }
  }
}

//===- Dispatch by operand ------------------------------------------------------------------------------------------------------------------------------===//

static bool name_is(const mlxcel_host_tensor_t* tensor, const char* name) { return strcmp(tensor->type.name, name) == 0; }
static bool name_ends(const mlxcel_host_tensor_t* tensor, const char* end) {
  size_t size = strlen(tensor->type.name), end_size = strlen(end);
  return size >= end_size && strcmp(tensor->type.name + size - end_size, end) == 0;
}

// Scales and biases of one matrix draw from one stream: that of the codes before them.
static source_t source_of(const mlxcel_operation_t* operation, uint64_t seed, const mlxcel_oracle_operands_t* operands, size_t index) {
  const mlxcel_host_tensor_t* tensor = &operands->tensors[index];
  uint64_t stream = (uint64_t)operation->op * 64 + index;
  if (operation->bits && name_ends(tensor, "biases")) --stream;
  double peak = tensor->type.dtype == MLXCEL_DTYPE_F16 ? 1024.0 : 4096.0;
  // Two projections are multiplied: f16 would overflow, which no tolerance can judge.
  if (operation->op == MLXCEL_OP_ACTIVATION_PROJECTION && tensor->type.dtype == MLXCEL_DTYPE_F16) peak = 64.0;
  bool is_table = operation->op == MLXCEL_OP_DEQUANTIZE || operation->op == MLXCEL_OP_EMBEDDING;
  return (source_t){.seed = seed, .stream = stream, .dtype = tensor->type.dtype, .peak = peak, .is_table = is_table};
}

// Where the turns of kinds begin, so that operations of one row aren't all normal ones.
static uint64_t first_kind_of(const mlxcel_operation_t* operation) {
  return operation->rows > 1 ? 0 : (uint64_t)(operation->in_features + operation->out_features + operation->keys) / 32 % MLXCEL_OPERAND_KIND_COUNT;
}

static void fill_floats(const mlxcel_operation_t* operation, const source_t* source, const mlxcel_oracle_operands_t* operands, mlxcel_host_tensor_t* tensor) {
  uint64_t first_kind = first_kind_of(operation);
  bool is_norm = operation->op == MLXCEL_OP_LAYER_NORM || operation->op == MLXCEL_OP_RMS_NORM || operation->op == MLXCEL_OP_CUMULATIVE_NORM;
  if (operation->bits && (name_ends(tensor, "scales") || name_ends(tensor, "biases"))) {
    fill_groups(source, operation->bits, name_ends(tensor, "biases"), tensor);
  } else if (is_norm && name_is(tensor, "weight")) {
    fill_norm_weight(source, operation->variant == MLXCEL_VARIANT_GEMMA ? 0.0 : 1.0, tensor);
  } else if (is_norm && name_is(tensor, "bias")) {
    fill_norm_bias(source, tensor);
  } else if (name_is(tensor, "frequencies")) {
    fill_frequencies(operation, tensor);
  } else if (name_is(tensor, "mask")) {
    fill_mask(source, tensor);
  } else if (name_is(tensor, "cos") || name_is(tensor, "sin")) {
    fill_table(operation, name_is(tensor, "sin"), tensor);
  } else if (operation->op == MLXCEL_OP_CONVOLUTION) {
    tensor == &operands->tensors[0] ? fill_image(source, tensor) : fill_kernel(source, tensor);
  } else if (operation->op == MLXCEL_OP_RESIDUAL_ADD && tensor == &operands->tensors[1]) {
    fill_addend(source, &operands->tensors[0], first_kind, tensor);
  } else if (operation->op == MLXCEL_OP_ACTIVATION || operation->op == MLXCEL_OP_SILU_GATE) {
    fill_arguments(source, first_kind, tensor);
  } else if (operation->op == MLXCEL_OP_CUMULATIVE_NORM) {
    fill_steps(source, first_kind, tensor);
  } else if (operation->op == MLXCEL_OP_SOFTMAX) {
    fill_scores(source, first_kind, tensor);
  } else if (operation->op == MLXCEL_OP_ATTENTION && name_is(tensor, "v")) {
    fill_values(source, first_kind, tensor);
  } else if (operation->op == MLXCEL_OP_ATTENTION || operation->op == MLXCEL_OP_KV_STORE || tensor == &operands->tensors[0]) {
    fill_rows(source, first_kind, tensor);
  } else {
    fill_matrix(source, tensor);
  }
}

static void fill(const mlxcel_operation_t* operation, uint64_t seed, mlxcel_oracle_operands_t* operands, size_t index) {
  mlxcel_host_tensor_t* tensor = &operands->tensors[index];
  source_t source = source_of(operation, seed, operands, index);
  if (tensor->type.dtype == MLXCEL_DTYPE_I32) {
    fill_integers(operation, &source, tensor);
  } else if (tensor->type.dtype == MLXCEL_DTYPE_U8) {
    fill_codes(&source, operation->bits, (uint64_t)operation->in_features, tensor);
  } else {
    fill_floats(operation, &source, operands, tensor);
  }
}

// Distinct operations draw distinct numbers.
static uint64_t seed_of(const mlxcel_operation_t* operation, uint64_t seed) {
  const uint64_t fields[] = {(uint64_t)operation->op,
                             (uint64_t)operation->variant,
                             (uint64_t)operation->dtype + MLXCEL_DTYPE_COUNT * (uint64_t)operation->cache_dtype,
                             (uint64_t)operation->weight_dtype,
                             operation->bits,
                             operation->group_size,
                             (uint64_t)operation->rows,
                             (uint64_t)operation->in_features,
                             (uint64_t)operation->heads,
                             (uint64_t)operation->out_features};
  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); ++i) seed = mlxcel_oracle_random(seed, i, fields[i]);
  return seed;
}

iree_status_t mlxcel_oracle_operands_hash(mlxcel_oracle_operands_t* operands) {
  for (size_t i = 0; i < operands->count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_sha256_of(operands->tensors[i].data, operands->tensors[i].size, &operands->digests[i]));
  }
  return iree_ok_status();
}

static iree_status_t operands_make(const mlxcel_operation_t* operation, bool with_tables, uint64_t seed, mlxcel_oracle_operands_t* operands) {
  mlxcel_operand_t types[MLXCEL_OPERANDS_MAX];
  size_t count = 0;
  IREE_RETURN_IF_ERROR(mlxcel_operation_operands(operation, with_tables, types, &count));
  uint64_t own_seed = seed_of(operation, seed);
  for (size_t i = 0; i < count; ++i) {
    IREE_RETURN_IF_ERROR(mlxcel_host_tensor_allocate(&types[i], &operands->tensors[i]));
    operands->count = i + 1;
    fill(operation, own_seed, operands, i);
  }
  return mlxcel_oracle_operands_hash(operands);
}

iree_status_t mlxcel_oracle_operands_make(const mlxcel_operation_t* operation, bool with_tables, uint64_t seed, mlxcel_oracle_operands_t* out_operands) {
  memset(out_operands, 0, sizeof(*out_operands));
  iree_status_t status = operands_make(operation, with_tables, seed, out_operands);
  if (!iree_status_is_ok(status)) mlxcel_oracle_operands_deinitialize(out_operands);
  return status;
}

void mlxcel_oracle_operands_deinitialize(mlxcel_oracle_operands_t* operands) {
  for (size_t i = 0; i < operands->count; ++i) mlxcel_host_tensor_deinitialize(&operands->tensors[i]);
  memset(operands, 0, sizeof(*operands));
}
