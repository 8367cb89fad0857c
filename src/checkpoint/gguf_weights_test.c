// Weights of an imported GGUF file: every number, every place.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_gguf_scene.h"
#include "checkpoint/checkpoint_test_util.h"

static float half_to_float(const uint8_t* data) {
  uint16_t bits = 0;
  memcpy(&bits, data, sizeof(bits));
  int exponent = (bits >> 10) & 31;
  float value = exponent == 0 ? (float)(bits & 1023) * 0x1p-24f : (float)(1024 + (bits & 1023)) * __builtin_ldexpf(1.0f, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

// Element |i| of a row of blocks, by the format's definition.
static float block_element(mlxcel_gguf_tensor_type_t type, const uint8_t* row, size_t i) {
  const uint8_t* block = row + i / 32 * mlxcel_gguf_tensor_type_block_bytes(type);
  size_t j = i % 32;
  float scale = half_to_float(block);
  if (type == MLXCEL_GGUF_TENSOR_Q8_0) return scale * (float)(int8_t)block[2 + j];
  const uint8_t* nibbles = block + (type == MLXCEL_GGUF_TENSOR_Q4_1 ? 4 : 2);
  int code = j < 16 ? nibbles[j] & 15 : nibbles[j - 16] >> 4;
  return type == MLXCEL_GGUF_TENSOR_Q4_1 ? scale * (float)code + half_to_float(block + 2) : scale * (float)(code - 8);
}

// Element [row, column] of an affine matrix.
static float affine_element(const mlxcel_matrix_t* matrix, uint64_t row, uint64_t column) {
  uint64_t groups = matrix->in_features / 32, per_word = 32 / matrix->quantization.bits;
  uint32_t word = 0;
  memcpy(&word, matrix->weight->data + 4 * (row * matrix->in_features / per_word + column / per_word), sizeof(word));
  uint32_t code = (word >> (column % per_word * matrix->quantization.bits)) & ((1u << matrix->quantization.bits) - 1);
  uint64_t group = row * groups + column / 32;
  return (float)code * half_to_float(matrix->scales->data + 2 * group) + half_to_float(matrix->biases->data + 2 * group);
}

static void gguf_import_keeps_every_number_of_a_quantized_matrix(void** state) {
  (void)state;
  static const mlxcel_gguf_tensor_type_t types[] = {MLXCEL_GGUF_TENSOR_Q4_0, MLXCEL_GGUF_TENSOR_Q4_1, MLXCEL_GGUF_TENSOR_Q8_0};
  for (size_t i = 0; i < IREE_ARRAYSIZE(types); ++i) {
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = types[i]});
    expect_ok(scene_import(&scene, false));
    mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
    mlxcel_matrix_t matrix;
    expect_ok(mlxcel_checkpoint_matrix(checkpoint, IREE_SV("model.layers.0.mlp.down_proj"), 32, 64, &matrix));
    assert_int_equal(matrix.quantization.bits, types[i] == MLXCEL_GGUF_TENSOR_Q8_0 ? 8 : 4);
    size_t size = 0;
    uint8_t* source = gguf_tiny_matrix(types[i], 32, 64, &size);
    for (size_t row = 0; row < 32; ++row) {
      for (size_t column = 0; column < 64; ++column) {
        assert_true(affine_element(&matrix, row, column) == block_element(types[i], source + row * size / 32, column));
      }
    }
    free(source);
    mlxcel_checkpoint_close(checkpoint);
    scene_end(&scene);
  }
}

static void gguf_import_keeps_the_bytes_of_a_dense_matrix(void** state) {
  (void)state;
  static const mlxcel_gguf_tensor_type_t types[] = {MLXCEL_GGUF_TENSOR_F32, MLXCEL_GGUF_TENSOR_F16, MLXCEL_GGUF_TENSOR_BF16};
  static const mlxcel_tensor_dtype_t dtypes[] = {MLXCEL_TENSOR_DTYPE_F32, MLXCEL_TENSOR_DTYPE_F16, MLXCEL_TENSOR_DTYPE_BF16};
  for (size_t i = 0; i < IREE_ARRAYSIZE(types); ++i) {
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = types[i]});
    expect_ok(scene_import(&scene, false));
    mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
    const mlxcel_tensor_t* tensor = mlxcel_checkpoint_find(checkpoint, IREE_SV("lm_head.weight"));
    size_t size = 0;
    uint8_t* source = gguf_tiny_matrix(types[i], GGUF_TINY_VOCAB, 32, &size);
    assert_int_equal(tensor->dtype, dtypes[i]);
    assert_int_equal(tensor->byte_count, size);
    assert_memory_equal(tensor->data, source, size);
    free(source);
    mlxcel_checkpoint_close(checkpoint);
    scene_end(&scene);
  }
}

static void gguf_import_puts_interleaved_rows_apart(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F32, .has_biases = true});
  expect_ok(scene_import(&scene, false));
  mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
  const mlxcel_tensor_t* query = mlxcel_checkpoint_find(checkpoint, IREE_SV("model.layers.0.self_attn.q_proj.weight"));
  const mlxcel_tensor_t* bias = mlxcel_checkpoint_find(checkpoint, IREE_SV("model.layers.0.self_attn.q_proj.bias"));
  const mlxcel_tensor_t* value = mlxcel_checkpoint_find(checkpoint, IREE_SV("model.layers.0.self_attn.v_proj.weight"));
  size_t size = 0, bias_size = 0;
  uint8_t* source = gguf_tiny_matrix(MLXCEL_GGUF_TENSOR_F32, 32, 32, &size);
  uint8_t* bias_source = gguf_tiny_matrix(MLXCEL_GGUF_TENSOR_F32, 32, 1, &bias_size);
  // Heads of 16: the second half's dimension i is row 2i + 1 of its head in the file.
  static const struct { size_t row, source_row; } rows[] = {{0, 0}, {1, 2}, {7, 14}, {8, 1}, {9, 3}, {15, 15}, {16, 16}, {17, 18}, {24, 17}, {31, 31}};
  for (size_t i = 0; i < IREE_ARRAYSIZE(rows); ++i) {
    assert_memory_equal(query->data + rows[i].row * 128, source + rows[i].source_row * 128, 128);
    assert_memory_equal(bias->data + rows[i].row * 4, bias_source + rows[i].source_row * 4, 4);
  }
  assert_memory_equal(value->data, source, value->byte_count);  // the same pattern, untouched
  free(source);
  free(bias_source);
  mlxcel_checkpoint_close(checkpoint);
  scene_end(&scene);
}

static void gguf_import_widens_norms_to_f32(void** state) {
  (void)state;
  static const uint16_t halves[4] = {0x3c00, 0xc100, 0x0001, 0x83ff};  // 1, -2.5, the smallest and the largest subnormal, negative
  static const uint16_t brains[4] = {0x3f80, 0xc020, 0x0001, 0x8000};
  static const float half_values[4] = {1.0f, -2.5f, 0x1p-24f, -0x1.ff8p-15f}, brain_values[4] = {1.0f, -2.5f, 0x1p-133f, -0.0f};
  for (int is_brain = 0; is_brain < 2; ++is_brain) {
    uint16_t data[32];
    for (size_t i = 0; i < 32; ++i) data[i] = (is_brain ? brains : halves)[i % 4];
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_1, .skip = {"output_norm.weight"}});
    gguf_add_tensor(&scene.builder, "output_norm.weight", is_brain ? MLXCEL_GGUF_TENSOR_BF16 : MLXCEL_GGUF_TENSOR_F16, 1, (const uint64_t[]){32}, data,
                    sizeof(data));
    expect_ok(scene_import(&scene, false));
    mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
    const mlxcel_tensor_t* norm = mlxcel_checkpoint_find(checkpoint, IREE_SV("model.norm.weight"));
    assert_int_equal(norm->dtype, MLXCEL_TENSOR_DTYPE_F32);
    assert_memory_equal(norm->data, is_brain ? brain_values : half_values, sizeof(half_values));
    mlxcel_checkpoint_close(checkpoint);
    scene_end(&scene);
  }
}

static void gguf_import_aligns_every_tensor_that_can_be(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_0});
  expect_ok(scene_import(&scene, false));
  mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
  size_t odd_count = 0;
  uint64_t first_odd = UINT64_MAX, last_even = 0;
  for (size_t i = 0; i < mlxcel_checkpoint_tensor_count(checkpoint); ++i) {
    const mlxcel_tensor_t* tensor = mlxcel_checkpoint_tensor_at(checkpoint, i);
    bool is_odd = tensor->byte_count % 64 != 0;
    if (!is_odd) assert_int_equal(tensor->file_offset % 64, 0);
    if (is_odd && tensor->file_offset < first_odd) first_odd = tensor->file_offset;
    if (!is_odd && tensor->file_offset > last_even) last_even = tensor->file_offset;
    odd_count += is_odd;
  }
  assert_true(odd_count > 0);
  assert_true(last_even < first_odd);
  mlxcel_checkpoint_close(checkpoint);
  scene_end(&scene);
}

static void gguf_import_lists_the_modules_with_other_bits(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_1, .skip = {"blk.0.ffn_down.weight", "blk.0.ffn_up.weight"}});
  size_t size = 0;
  uint8_t* data = gguf_tiny_matrix(MLXCEL_GGUF_TENSOR_Q8_0, 32, 64, &size);
  gguf_add_tensor(&scene.builder, "blk.0.ffn_down.weight", MLXCEL_GGUF_TENSOR_Q8_0, 2, (const uint64_t[]){32, 64}, data, size);
  gguf_add_tensor(&scene.builder, "blk.0.ffn_up.weight", MLXCEL_GGUF_TENSOR_F16, 2, (const uint64_t[]){64, 32}, NULL, 4096);
  free(data);
  expect_ok(scene_import(&scene, false));
  json_t* config = scene_json(&scene, "config.json");
  json_t* expected = json_pack("{s:i, s:i, s:s, s:{s:i, s:i, s:s}}", "group_size", 32, "bits", 4, "mode", "affine", "model.layers.0.mlp.down_proj",
                               "group_size", 32, "bits", 8, "mode", "affine");
  assert_true(json_equal(json_object_get(config, "quantization"), expected));
  json_decref(expected);
  json_decref(config);
  mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
  mlxcel_matrix_t matrix;
  expect_ok(mlxcel_checkpoint_matrix(checkpoint, IREE_SV("model.layers.0.mlp.down_proj"), 32, 64, &matrix));
  assert_int_equal(matrix.quantization.bits, 8);
  expect_ok(mlxcel_checkpoint_matrix(checkpoint, IREE_SV("model.layers.0.mlp.up_proj"), 64, 32, &matrix));
  assert_int_equal(matrix.quantization.bits, 0);
  mlxcel_checkpoint_close(checkpoint);
  scene_end(&scene);
}

// Replaces one matrix by blocks whose scale has the given bits.
static void scene_start_with_scale(scene_t* out_scene, mlxcel_gguf_tensor_type_t type, uint16_t scale, uint16_t offset) {
  scene_start_tiny(out_scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_1, .skip = {"blk.0.attn_v.weight"}});
  size_t size = 0;
  uint8_t* data = gguf_tiny_matrix(type, 16, 32, &size);
  size_t last = size - mlxcel_gguf_tensor_type_block_bytes(type);
  memcpy(data + last, &scale, sizeof(scale));
  if (type == MLXCEL_GGUF_TENSOR_Q4_1) memcpy(data + last + 2, &offset, sizeof(offset));
  gguf_add_tensor(&out_scene->builder, "blk.0.attn_v.weight", (uint32_t)type, 2, (const uint64_t[]){16, 32}, data, size);
  free(data);
}

static void gguf_import_refuses_scales_whose_offset_is_no_f16(void** state) {
  (void)state;
  static const struct {
    mlxcel_gguf_tensor_type_t type;
    uint16_t scale, offset;
    const char* part;
  } cases[] = {
      {MLXCEL_GGUF_TENSOR_Q4_0, 0x7000, 0, "tensor blk.0.attn_v.weight (Q4_0) has the block scale 0x7000"},  // 8192
      {MLXCEL_GGUF_TENSOR_Q4_0, 0xf000, 0, "0xf000"},
      {MLXCEL_GGUF_TENSOR_Q8_0, 0x6000, 0, "tensor blk.0.attn_v.weight (Q8_0) has the block scale 0x6000"},  // 512
      {MLXCEL_GGUF_TENSOR_Q4_0, 0x7c00, 0, "is no finite f16"},
      {MLXCEL_GGUF_TENSOR_Q8_0, 0x7e00, 0, "is no finite f16"},
      {MLXCEL_GGUF_TENSOR_Q4_1, 0xfc00, 0, "isn't finite"},
      {MLXCEL_GGUF_TENSOR_Q4_1, 0x3c00, 0x7c00, "0x7c00 (f16 bits), as its offset"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    scene_t scene;
    scene_start_with_scale(&scene, cases[i].type, cases[i].scale, cases[i].offset);
    scene_expect_refused(&scene, IREE_STATUS_INVALID_ARGUMENT, cases[i].part);
  }
}

static void gguf_import_makes_exact_offsets_at_the_ends_of_f16(void** state) {
  (void)state;
  static const struct {
    mlxcel_gguf_tensor_type_t type;
    uint16_t scale, bias;
  } cases[] = {
      {MLXCEL_GGUF_TENSOR_Q4_0, 0x6fff, 0xfbff},  // 8188 -> -65504, the largest
      {MLXCEL_GGUF_TENSOR_Q4_0, 0xefff, 0x7bff}, {MLXCEL_GGUF_TENSOR_Q8_0, 0x5fff, 0xfbff},
      {MLXCEL_GGUF_TENSOR_Q4_0, 0x0001, 0x8008},                                             // subnormal stays subnormal
      {MLXCEL_GGUF_TENSOR_Q4_0, 0x0080, 0x8400},                                             // becomes the smallest normal
      {MLXCEL_GGUF_TENSOR_Q4_0, 0x03ff, 0x8ffe},                                             // (1024 - 1) * 2^-24 * 8 = 1.998 * 2^-12
      {MLXCEL_GGUF_TENSOR_Q8_0, 0x8155, 0x1954},                                             // 341 * 2^-24 * 128 = 1.33203125 * 2^-9 (negated)
      {MLXCEL_GGUF_TENSOR_Q8_0, 0x0400, 0xa000}, {MLXCEL_GGUF_TENSOR_Q8_0, 0x8000, 0x0000},  // no negative zero
      {MLXCEL_GGUF_TENSOR_Q4_0, 0x0000, 0x0000},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    scene_t scene;
    scene_start_with_scale(&scene, cases[i].type, cases[i].scale, 0);
    expect_ok(scene_import(&scene, false));
    mlxcel_checkpoint_t* checkpoint = scene_open(&scene);
    const mlxcel_tensor_t* biases = mlxcel_checkpoint_find(checkpoint, IREE_SV("model.layers.0.self_attn.v_proj.biases"));
    uint16_t bias = 0;
    memcpy(&bias, biases->data + biases->byte_count - 2, sizeof(bias));
    assert_int_equal(bias, cases[i].bias);
    mlxcel_checkpoint_close(checkpoint);
    scene_end(&scene);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gguf_import_keeps_every_number_of_a_quantized_matrix),
      cmocka_unit_test(gguf_import_keeps_the_bytes_of_a_dense_matrix),
      cmocka_unit_test(gguf_import_puts_interleaved_rows_apart),
      cmocka_unit_test(gguf_import_widens_norms_to_f32),
      cmocka_unit_test(gguf_import_aligns_every_tensor_that_can_be),
      cmocka_unit_test(gguf_import_lists_the_modules_with_other_bits),
      cmocka_unit_test(gguf_import_refuses_scales_whose_offset_is_no_f16),
      cmocka_unit_test(gguf_import_makes_exact_offsets_at_the_ends_of_f16),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
