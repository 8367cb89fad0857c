// Rows of the file's tensors -> rows of model.safetensors.
#include <string.h>

#include "checkpoint/gguf_model.h"

#define GGUF_BLOCK 32u  // elements of a Q4_0, Q4_1 or Q8_0 block, and MLX's group

uint32_t mlxcel_gguf_tensor_type_bits(mlxcel_gguf_tensor_type_t type) {
  switch (type) {
    case MLXCEL_GGUF_TENSOR_Q4_0:
    case MLXCEL_GGUF_TENSOR_Q4_1:
      return 4;
    case MLXCEL_GGUF_TENSOR_Q8_0:
      return 8;
    default:
      return 0;
  }
}

static bool gguf_f16_is_finite(uint16_t bits) { return (bits & 0x7c00u) != 0x7c00u; }

// *out = -bits * 2^shift, exactly; false if that is no finite f16. Zero gives +0.
static bool gguf_f16_negate_and_scale(uint16_t bits, uint32_t shift, uint16_t* out) {
  if (!gguf_f16_is_finite(bits)) return false;
  uint32_t sign = (bits & 0x8000u) ^ 0x8000u, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu;
  if (exponent == 0 && mantissa == 0) {
    *out = 0;
    return true;
  }
  if (exponent == 0) {  // subnormal: mantissa * 2^-24; shifting left loses nothing
    mantissa <<= shift;
    if (mantissa >= 0x400u) {
      uint32_t excess = 31u - (uint32_t)__builtin_clz(mantissa) - 10u;
      exponent = 1 + excess;
      mantissa = (mantissa >> excess) & 0x3ffu;
    }
  } else {
    exponent += shift;
    if (exponent > 30) return false;
  }
  *out = (uint16_t)(sign | exponent << 10 | mantissa);
  return true;
}

static uint32_t gguf_f16_to_f32_bits(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, mantissa = bits & 0x3ffu;
  if (exponent == 31) return sign | 0x7f800000u | mantissa << 13;
  if (exponent != 0) return sign | (exponent + 112u) << 23 | mantissa << 13;
  if (mantissa == 0) return sign;
  uint32_t lead = 31u - (uint32_t)__builtin_clz(mantissa);  // 0 to 9
  return sign | (lead + 103u) << 23 | ((mantissa << (23u - lead)) & 0x7fffffu);
}

static void gguf_widen_row(mlxcel_gguf_tensor_type_t type, const uint8_t* source, uint64_t count, uint8_t* out) {
  if (type == MLXCEL_GGUF_TENSOR_F32) {
    memcpy(out, source, count * 4);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    uint16_t half = 0;
    memcpy(&half, source + 2 * i, sizeof(half));
    uint32_t bits = type == MLXCEL_GGUF_TENSOR_F16 ? gguf_f16_to_f32_bits(half) : (uint32_t)half << 16;
    memcpy(out + 4 * i, &bits, sizeof(bits));
  }
}

// A 4-bit block holds element j in the low and element j + 16 in the high half of byte j; MLX wants neighbours in one byte, the lower first.
static void gguf_pack_q4(const uint8_t* nibbles, uint8_t* out) {
  for (uint32_t j = 0; j < 8; ++j) {
    uint32_t a = nibbles[2 * j], b = nibbles[2 * j + 1];
    out[j] = (uint8_t)((a & 15u) | (b & 15u) << 4);
    out[8 + j] = (uint8_t)(a >> 4 | (b >> 4) << 4);
  }
}

static void gguf_codes_row(mlxcel_gguf_tensor_type_t type, const uint8_t* source, uint64_t block_count, uint8_t* out) {
  for (uint64_t i = 0; i < block_count; ++i) {
    if (type == MLXCEL_GGUF_TENSOR_Q4_0) {
      gguf_pack_q4(source + 18 * i + 2, out + 16 * i);
    } else if (type == MLXCEL_GGUF_TENSOR_Q4_1) {
      gguf_pack_q4(source + 20 * i + 4, out + 16 * i);
    } else {
      for (uint32_t j = 0; j < GGUF_BLOCK; ++j) out[GGUF_BLOCK * i + j] = (uint8_t)(source[34 * i + 2 + j] ^ 0x80u);  // signed + 128
    }
  }
}

static iree_status_t gguf_bad_scale(const mlxcel_gguf_t* file, const mlxcel_gguf_output_t* output, uint16_t bits, const char* cause) {
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                          "%s: tensor %.*s (%s) has the block scale 0x%04x (f16 bits), %s; take the model in another quantization", mlxcel_gguf_origin(file),
                          MLXCEL_SV(output->source->name), mlxcel_gguf_tensor_type_name(output->source->type), bits, cause);
}

static iree_status_t gguf_scales_row(const mlxcel_gguf_t* file, const mlxcel_gguf_output_t* output, const uint8_t* source, uint64_t block_count, uint8_t* out) {
  uint32_t block_bytes = mlxcel_gguf_tensor_type_block_bytes(output->source->type);
  for (uint64_t i = 0; i < block_count; ++i) {
    uint16_t scale = 0;
    memcpy(&scale, source + block_bytes * i, sizeof(scale));
    if (!gguf_f16_is_finite(scale)) return gguf_bad_scale(file, output, scale, "which isn't finite");
    memcpy(out + 2 * i, &scale, sizeof(scale));
  }
  return iree_ok_status();
}

// Q4_1 states its offset. Q4_0 is scale * (code - 8) and Q8_0 scale * (code - 128): the offset is a power of two times the scale.
static iree_status_t gguf_biases_row(const mlxcel_gguf_t* file, const mlxcel_gguf_output_t* output, const uint8_t* source, uint64_t block_count, uint8_t* out) {
  mlxcel_gguf_tensor_type_t type = output->source->type;
  uint32_t block_bytes = mlxcel_gguf_tensor_type_block_bytes(type);
  for (uint64_t i = 0; i < block_count; ++i) {
    const uint8_t* block = source + block_bytes * i;
    uint16_t scale = 0, bias = 0;
    memcpy(&scale, block, sizeof(scale));
    if (type == MLXCEL_GGUF_TENSOR_Q4_1) {
      memcpy(&bias, block + 2, sizeof(bias));
      if (!gguf_f16_is_finite(bias)) return gguf_bad_scale(file, output, bias, "as its offset, which isn't finite");
    } else if (!gguf_f16_negate_and_scale(scale, type == MLXCEL_GGUF_TENSOR_Q4_0 ? 3 : 7, &bias)) {
      return gguf_bad_scale(file, output, scale, "whose offset (-8 or -128 times the scale) is no finite f16");
    }
    memcpy(out + 2 * i, &bias, sizeof(bias));
  }
  return iree_ok_status();
}

// In the file, dimension i of a head's first half and dimension i of its second half are neighbours.
static uint64_t gguf_source_row(const mlxcel_gguf_output_t* output, uint64_t row) {
  if (output->rope_head_dim == 0) return row;
  uint64_t half = output->rope_head_dim / 2;
  uint64_t within = row % output->rope_head_dim;
  return row - within + 2 * (within % half) + within / half;
}

static iree_status_t gguf_fill_row(const mlxcel_gguf_t* file, const mlxcel_gguf_output_t* output, const uint8_t* source, uint64_t source_bytes, uint8_t* out) {
  mlxcel_gguf_tensor_type_t type = output->source->type;
  uint64_t block_count = source_bytes / mlxcel_gguf_tensor_type_block_bytes(type);
  switch (output->part) {
    case MLXCEL_GGUF_PART_DENSE:
      memcpy(out, source, source_bytes);
      return iree_ok_status();
    case MLXCEL_GGUF_PART_F32:
      gguf_widen_row(type, source, block_count, out);
      return iree_ok_status();
    case MLXCEL_GGUF_PART_CODES:
      gguf_codes_row(type, source, block_count, out);
      return iree_ok_status();
    case MLXCEL_GGUF_PART_SCALES:
      return gguf_scales_row(file, output, source, block_count, out);
    default:
      return gguf_biases_row(file, output, source, block_count, out);
  }
}

iree_status_t mlxcel_gguf_output_fill(const mlxcel_gguf_t* file, const mlxcel_gguf_output_t* output, uint64_t first_row, uint64_t count, uint8_t* buffer) {
  uint64_t source_bytes = output->source->byte_count / output->row_count;
  for (uint64_t i = 0; i < count; ++i) {
    const uint8_t* source = output->source->data + gguf_source_row(output, first_row + i) * source_bytes;
    IREE_RETURN_IF_ERROR(gguf_fill_row(file, output, source, source_bytes, buffer + i * output->row_bytes));
  }
  return iree_ok_status();
}
