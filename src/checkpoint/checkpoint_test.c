#include "checkpoint/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_test_util.h"

#define CONFIG "\"model_type\":\"llama\",\"hidden_size\":64,\"intermediate_size\":128,\"num_hidden_layers\":1,\"num_attention_heads\":4,\"vocab_size\":100"

static const test_tensor_t small[] = {{"b", "F32", 2, 3, 1}, {"a", "BF16", 4, 0, 2}, {"c", "U8", 1, 1, 3}};

static char* create_folder(const char* config) {
  char* folder = test_folder_create();
  test_text_write(folder, "config.json", config);
  return folder;
}

static void expect_open_error(const char* folder, iree_status_code_t code, const char* part1, const char* part2) {
  mlxcel_checkpoint_t* checkpoint = NULL;
  expect_error(mlxcel_checkpoint_open(folder, &checkpoint), code, folder, part1, part2, NULL);
  assert_null(checkpoint);
}

//===- folders ------------------------------------------------------------------------------------------------------------------------------===//

static void checkpoint_opens_a_single_file(void** state) {
  (void)state;
  char* folder = create_folder("{" CONFIG "}");
  test_tensors_write(folder, "model.safetensors", small, 3);
  mlxcel_checkpoint_t* checkpoint = NULL;
  expect_ok(mlxcel_checkpoint_open(folder, &checkpoint));
  assert_string_equal(mlxcel_checkpoint_folder(checkpoint), folder);
  assert_int_equal(mlxcel_checkpoint_config(checkpoint)->hidden_size, 64);
  assert_int_equal(mlxcel_checkpoint_tensor_count(checkpoint), 3);
  assert_int_equal(mlxcel_checkpoint_tensor_bytes(checkpoint), 24 + 8 + 1);
  assert_int_equal(mlxcel_checkpoint_shard_count(checkpoint), 1);
  assert_non_null(strstr(mlxcel_checkpoint_shard_path(checkpoint, 0), "/model.safetensors"));
  assert_null(mlxcel_checkpoint_shard_path(checkpoint, 1));
  assert_int_equal(mlxcel_checkpoint_tensor_at(checkpoint, 0)->name.data[0], 'a');
  assert_null(mlxcel_checkpoint_tensor_at(checkpoint, 3));
  assert_int_equal(mlxcel_checkpoint_find(checkpoint, IREE_SV("b"))->data[23], 1);
  assert_null(mlxcel_checkpoint_find(checkpoint, IREE_SV("d")));
  mlxcel_checkpoint_close(checkpoint);
  test_folder_remove(folder);
}

static void checkpoint_merges_shards_in_the_order_of_names(void** state) {
  (void)state;
  char* folder = create_folder("{" CONFIG "}");
  test_text_write(folder, "model.safetensors.index.json",
                  "{\"metadata\":{\"total_size\":33},\"weight_map\":{\"b\":\"two.safetensors\",\"a\":\"two.safetensors\",\"c\":\"one.safetensors\"}}");
  test_tensors_write(folder, "two.safetensors", small, 2);
  test_tensors_write(folder, "one.safetensors", small + 2, 1);
  test_text_write(folder, "model.safetensors", "the index decides: this isn't read");
  mlxcel_checkpoint_t* checkpoint = NULL;
  expect_ok(mlxcel_checkpoint_open(folder, &checkpoint));
  assert_int_equal(mlxcel_checkpoint_shard_count(checkpoint), 2);
  assert_non_null(strstr(mlxcel_checkpoint_shard_path(checkpoint, 0), "/one.safetensors"));
  assert_int_equal(mlxcel_checkpoint_tensor_bytes(checkpoint), 33);
  assert_int_equal(mlxcel_checkpoint_find(checkpoint, IREE_SV("a"))->shard, 1);
  assert_int_equal(mlxcel_checkpoint_find(checkpoint, IREE_SV("c"))->shard, 0);
  assert_int_equal(mlxcel_checkpoint_find(checkpoint, IREE_SV("c"))->data[0], 3);
  mlxcel_checkpoint_close(checkpoint);
  test_folder_remove(folder);
}

static void checkpoint_names_what_a_folder_lacks(void** state) {
  (void)state;
  char* folder = test_folder_create();
  expect_open_error(folder, IREE_STATUS_NOT_FOUND, "config.json", "");
  test_text_write(folder, "config.json", "{" CONFIG "}");
  expect_open_error(folder, IREE_STATUS_NOT_FOUND, "holds neither model.safetensors nor model.safetensors.index.json", "");
  test_text_write(folder, "model.safetensors", "1234567");
  expect_open_error(folder, IREE_STATUS_INVALID_ARGUMENT, "model.safetensors: 7 bytes are too short", "");
  char path[512];
  snprintf(path, sizeof(path), "%s/nowhere", folder);
  expect_open_error(path, IREE_STATUS_NOT_FOUND, "there is no folder", "");
  test_text_write(folder, "model.gguf", "GGUF");
  snprintf(path, sizeof(path), "%s/model.gguf", folder);
  expect_open_error(path, IREE_STATUS_INVALID_ARGUMENT, "isn't a folder", "mlxcel import");
  test_folder_remove(folder);
}

static void checkpoint_lists_missing_shards(void** state) {
  (void)state;
  char* folder = create_folder("{" CONFIG "}");
  test_text_write(folder, "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"s1\",\"b\":\"s2\",\"c\":\"s3\"}}");
  test_tensors_write(folder, "s2", small, 1);
  expect_open_error(folder, IREE_STATUS_NOT_FOUND, "2 of the 3 shards", "missing: s1, s3; ");
  test_text_write(
      folder, "model.safetensors.index.json",
      "{\"weight_map\":{\"a\":\"m01\",\"b\":\"m02\",\"c\":\"m03\",\"d\":\"m04\",\"e\":\"m05\",\"f\":\"m06\",\"g\":\"m07\",\"h\":\"m08\",\"i\":\"m09\","
      "\"j\":\"m10\"}}");
  expect_open_error(folder, IREE_STATUS_NOT_FOUND, "10 of the 10 shards", "m07, m08, ... and 2 more; ");
  test_folder_remove(folder);
}

static void checkpoint_lists_tensors_that_index_and_shards_disagree_about(void** state) {
  (void)state;
  char* folder = create_folder("{" CONFIG "}");
  test_tensors_write(folder, "s1", small, 2);
  test_tensors_write(folder, "s2", small + 2, 1);
  static const struct {
    const char* map;
    iree_status_code_t code;
    const char* part;
  } cases[] = {
      {"{\"weight_map\":{\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\",\"x\":\"s1\",\"y\":\"s2\"}}", IREE_STATUS_NOT_FOUND,
       "2 tensors that model.safetensors.index.json names are missing from their shards: x, y; "},
      {"{\"weight_map\":{\"a\":\"s1\",\"c\":\"s2\"}}", IREE_STATUS_INVALID_ARGUMENT,
       "1 tensors of the shards aren't named by model.safetensors.index.json: b; "},
      {"{\"weight_map\":{\"a\":\"s2\",\"b\":\"s1\",\"c\":\"s2\"}}", IREE_STATUS_INVALID_ARGUMENT,
       "1 tensors are in another shard than model.safetensors.index.json says: a; "},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    test_text_write(folder, "model.safetensors.index.json", cases[i].map);
    expect_open_error(folder, cases[i].code, cases[i].part, "");
  }
  // The same tensor in both shards.
  test_tensors_write(folder, "s2", small + 1, 2);
  test_text_write(folder, "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\"}}");
  expect_open_error(folder, IREE_STATUS_INVALID_ARGUMENT, "1 tensors are in another shard than", ": a; ");
  test_folder_remove(folder);
}

static void checkpoint_reads_only_plain_shard_names(void** state) {
  (void)state;
  char* folder = create_folder("{" CONFIG "}");
  static const char* const names[] = {"\"../s\"", "\"/etc/passwd\"", "\"sub/s\"", "\"\"", "\".\"", "\"..\"", "1", "null", "[\"s\"]"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(names); ++i) {
    char text[128];
    snprintf(text, sizeof(text), "{\"weight_map\":{\"a\":%s}}", names[i]);
    test_text_write(folder, "model.safetensors.index.json", text);
    expect_open_error(folder, IREE_STATUS_INVALID_ARGUMENT, "tensor a is said to be in ", names[i]);
  }
  static const char* const maps[] = {"{}", "[]", "{\"weight_map\":{}}", "{\"weight_map\":[]}", "{\"weight_map\":null}", "{\"weight_map\":\"s\"}"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(maps); ++i) {
    test_text_write(folder, "model.safetensors.index.json", maps[i]);
    expect_open_error(folder, IREE_STATUS_INVALID_ARGUMENT, "'weight_map' isn't an object", "");
  }
  test_text_write(folder, "model.safetensors.index.json", "{\"weight_map\":{\"\":\"s\"}}");
  expect_open_error(folder, IREE_STATUS_INVALID_ARGUMENT, "a tensor's name has 0 bytes", "");
  test_text_write(folder, "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"s\",\"a\":\"t\"}}");
  expect_open_error(folder, IREE_STATUS_INVALID_ARGUMENT, "duplicate", "");
  test_folder_remove(folder);
}

static void checkpoint_bounds_the_number_of_shards(void** state) {
  (void)state;
  char* folder = create_folder("{" CONFIG "}");
  size_t capacity = (MLXCEL_SHARD_COUNT_MAX + 1) * 24 + 64;
  char* text = malloc(capacity);
  assert_non_null(text);
  size_t size = (size_t)snprintf(text, capacity, "{\"weight_map\":{");
  for (uint32_t i = 0; i <= MLXCEL_SHARD_COUNT_MAX; ++i) size += (size_t)snprintf(text + size, capacity - size, "%s\"t%u\":\"s%u\"", i ? "," : "", i, i);
  snprintf(text + size, capacity - size, "}}");
  test_text_write(folder, "model.safetensors.index.json", text);
  free(text);
  expect_open_error(folder, IREE_STATUS_INVALID_ARGUMENT, "4097 shards are over the limit of 4096", "");
  test_folder_remove(folder);
}

//===- modules ------------------------------------------------------------------------------------------------------------------------------===//

// A checkpoint with |tensors| and, unless NULL, the members |table| of config.json's object `quantization`.
typedef struct model_t {
  char* folder;
  mlxcel_checkpoint_t* checkpoint;
} model_t;

static model_t open_model(const char* more_config, const test_tensor_t* tensors, size_t count) {
  char config[1024];
  snprintf(config, sizeof(config), "{" CONFIG "%s%s}", *more_config ? "," : "", more_config);
  model_t model = {.folder = create_folder(config)};
  test_tensors_write(model.folder, "model.safetensors", tensors, count);
  expect_ok(mlxcel_checkpoint_open(model.folder, &model.checkpoint));
  return model;
}

static void close_model(model_t* model) {
  mlxcel_checkpoint_close(model->checkpoint);
  test_folder_remove(model->folder);
}

// Opens a model of the given tensors and expects the error for matrix "m" [8, 256].
static void expect_matrix_error(const char* config, const test_tensor_t* tensors, size_t count, iree_status_code_t code, const char* part1, const char* part2) {
  model_t model = open_model(config, tensors, count);
  mlxcel_matrix_t matrix;
  expect_error(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("m"), 8, 256, &matrix), code, model.folder, part1, part2, NULL);
  assert_null(matrix.weight);
  close_model(&model);
}

#define TABLE_4_64 "\"quantization\":{\"bits\":4,\"group_size\":64}"

static void checkpoint_resolves_every_quantization(void** state) {
  (void)state;
  static const uint32_t widths[] = {2, 3, 4, 5, 6, 8};
  static const uint32_t groups[] = {32, 64, 128};
  static const char* const dtypes[] = {"F16", "BF16", "F32"};
  for (size_t i = 0; i < IREE_ARRAYSIZE(widths) * IREE_ARRAYSIZE(groups); ++i) {
    uint32_t bits = widths[i / 3], group = groups[i % 3];
    const char* dtype = dtypes[i / 3 % 3];
    char config[128];
    snprintf(config, sizeof(config), "\"quantization\":{\"bits\":%u,\"group_size\":%u}", bits, group);
    const test_tensor_t tensors[] = {
        {"m.weight", "U32", 8, 256 * bits / 32, 1}, {"m.scales", dtype, 8, 256 / group, 2}, {"m.biases", dtype, 8, 256 / group, 3}};
    model_t model = open_model(config, tensors, 3);
    mlxcel_matrix_t matrix;
    expect_ok(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("m"), 8, 256, &matrix));
    assert_int_equal(matrix.quantization.bits, bits);
    assert_int_equal(matrix.quantization.group_size, group);
    assert_int_equal(matrix.out_features, 8);
    assert_int_equal(matrix.in_features, 256);
    assert_int_equal(matrix.weight->data[0], 1);
    assert_int_equal(matrix.scales->data[0], 2);
    assert_int_equal(matrix.biases->data[0], 3);
    close_model(&model);
  }
}

static void checkpoint_resolves_a_mixed_model(void** state) {
  (void)state;
  const test_tensor_t tensors[] = {
      {"six.weight", "U32", 8, 48, 0}, {"six.scales", "F16", 8, 2, 0},  {"six.biases", "F16", 8, 2, 0},     {"four.weight", "U32", 8, 32, 0},
      {"four.scales", "F32", 8, 4, 0}, {"four.biases", "F32", 8, 4, 0}, {"dense.weight", "F16", 8, 256, 0}, {"out.weight", "BF16", 8, 256, 0},
  };
  model_t model = open_model("\"quantization\":{\"bits\":4,\"group_size\":64,\"six\":{\"bits\":6,\"group_size\":128},\"out\":false}", tensors, 8);
  static const struct {
    const char* path;
    uint32_t bits, group_size;
  } cases[] = {{"six", 6, 128}, {"four", 4, 64}, {"dense", 0, 0}, {"out", 0, 0}};
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    mlxcel_matrix_t matrix;
    expect_ok(mlxcel_checkpoint_matrix(model.checkpoint, iree_make_cstring_view(cases[i].path), 8, 256, &matrix));
    assert_int_equal(matrix.quantization.bits, cases[i].bits);
    assert_int_equal(matrix.quantization.group_size, cases[i].group_size);
    assert_true((matrix.scales != NULL) == (cases[i].bits != 0));
    assert_true((matrix.biases != NULL) == (cases[i].bits != 0));
  }
  close_model(&model);
}

static void checkpoint_refuses_shapes_that_do_not_fit_bits_and_group(void** state) {
  (void)state;
  // Made with 6 bits, read with the default of 4: the columns tell.
  const test_tensor_t six_bits[] = {{"m.weight", "U32", 8, 48, 0}, {"m.scales", "F16", 8, 4, 0}, {"m.biases", "F16", 8, 4, 0}};
  expect_matrix_error(TABLE_4_64, six_bits, 3, IREE_STATUS_INVALID_ARGUMENT, "tensor m.weight has shape [8, 48]; expected [8, 32]",
                      "256 columns of 4 bits in groups of 64, as config.json's quantization says by default");
  const test_tensor_t group_32[] = {{"m.weight", "U32", 8, 32, 0}, {"m.scales", "F16", 8, 8, 0}, {"m.biases", "F16", 8, 8, 0}};
  expect_matrix_error(TABLE_4_64, group_32, 3, IREE_STATUS_INVALID_ARGUMENT, "tensor m.scales has shape [8, 8]; expected [8, 4]", "");
  const test_tensor_t biases[] = {{"m.weight", "U32", 8, 32, 0}, {"m.scales", "F16", 8, 4, 0}, {"m.biases", "F16", 8, 2, 0}};
  expect_matrix_error(TABLE_4_64, biases, 3, IREE_STATUS_INVALID_ARGUMENT, "tensor m.biases has shape [8, 2]; expected [8, 4]", "");
  const test_tensor_t rows[] = {{"m.weight", "U32", 9, 32, 0}, {"m.scales", "F16", 9, 4, 0}, {"m.biases", "F16", 9, 4, 0}};
  expect_matrix_error(TABLE_4_64, rows, 3, IREE_STATUS_INVALID_ARGUMENT, "tensor m.weight has shape [9, 32]; expected [8, 32]", "");
  expect_matrix_error("\"quantization\":{\"bits\":4,\"group_size\":32,\"m\":{\"bits\":8,\"group_size\":64}}", group_32, 3, IREE_STATUS_INVALID_ARGUMENT,
                      "expected [8, 64]", "says for this module");
  model_t model = open_model(TABLE_4_64, group_32, 3);
  mlxcel_matrix_t matrix;
  expect_error(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("m"), 8, 96, &matrix), IREE_STATUS_INVALID_ARGUMENT,
               "m has 96 columns, which groups of 64 don't divide", NULL);
  close_model(&model);
}

static void checkpoint_refuses_incomplete_or_contradictory_quantized_modules(void** state) {
  (void)state;
  const test_tensor_t whole[] = {{"m.weight", "U32", 8, 32, 0}, {"m.scales", "F16", 8, 4, 0}, {"m.biases", "F16", 8, 4, 0}};
  expect_matrix_error(TABLE_4_64, whole, 2, IREE_STATUS_NOT_FOUND, "tensor m.biases is missing though m.scales exists", "");
  const test_tensor_t no_scales[] = {whole[0], whole[2]};
  expect_matrix_error(TABLE_4_64, no_scales, 2, IREE_STATUS_NOT_FOUND, "tensor m.scales is missing though m.biases exists", "");
  expect_matrix_error(TABLE_4_64, whole, 1, IREE_STATUS_NOT_FOUND, "tensors m.scales and m.biases are missing", "the dtype U32 of its weight");
  expect_matrix_error(TABLE_4_64, whole + 1, 2, IREE_STATUS_NOT_FOUND, "tensor m.weight is missing", "");
  expect_matrix_error("", whole, 3, IREE_STATUS_INVALID_ARGUMENT, "tensor m.scales says that m is quantized, but config.json has no 'quantization'", "");
  expect_matrix_error("\"quantization\":{\"bits\":4,\"group_size\":64,\"m\":false}", whole, 3, IREE_STATUS_INVALID_ARGUMENT, "quantization says false for m",
                      "");
  const test_tensor_t mixed[] = {whole[0], whole[1], {"m.biases", "BF16", 8, 4, 0}};
  expect_matrix_error(TABLE_4_64, mixed, 3, IREE_STATUS_INVALID_ARGUMENT, "tensors m.scales (F16) and m.biases (BF16) differ in dtype", "");
  const test_tensor_t byte_scales[] = {whole[0], {"m.scales", "U8", 8, 4, 0}, whole[2]};
  expect_matrix_error(TABLE_4_64, byte_scales, 3, IREE_STATUS_UNIMPLEMENTED, "tensor m.scales is U8; expected F32, F16 or BF16", "");
  const test_tensor_t half_weight[] = {{"m.weight", "F16", 8, 256, 0}, whole[1], whole[2]};
  expect_matrix_error(TABLE_4_64, half_weight, 3, IREE_STATUS_INVALID_ARGUMENT, "tensor m.weight is F16; expected U32 as m.scales exists", "");
  const test_tensor_t dense[] = {{"m.weight", "F16", 8, 256, 0}};
  expect_matrix_error("\"quantization\":{\"bits\":4,\"group_size\":64,\"m\":{\"bits\":6,\"group_size\":64}}", dense, 1, IREE_STATUS_NOT_FOUND,
                      "tensors m.scales and m.biases are missing, but config.json's quantization says that the module is quantized", "");
}

static void checkpoint_checks_dense_matrices_and_vectors(void** state) {
  (void)state;
  const test_tensor_t tensors[] = {{"f.weight", "F32", 8, 256, 0}, {"h.weight", "F16", 8, 256, 0}, {"b.weight", "BF16", 8, 256, 0},
                                   {"d.weight", "F64", 8, 256, 0}, {"norm", "F32", 64, 0, 0},      {"v.weight", "F32", 2048, 0, 0},
                                   {"i", "I32", 64, 0, 0},         {"column", "F32", 64, 1, 0}};
  model_t model = open_model("", tensors, IREE_ARRAYSIZE(tensors));
  mlxcel_matrix_t matrix;
  expect_ok(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("f"), 8, 256, &matrix));
  assert_int_equal(matrix.weight->dtype, MLXCEL_TENSOR_DTYPE_F32);
  assert_int_equal(matrix.quantization.bits, 0);
  expect_ok(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("h"), 8, 256, &matrix));
  expect_ok(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("b"), 8, 256, &matrix));
  expect_error(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("d"), 8, 256, &matrix), IREE_STATUS_UNIMPLEMENTED, "tensor d.weight is F64", NULL);
  expect_error(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("f"), 256, 8, &matrix), IREE_STATUS_INVALID_ARGUMENT,
               "tensor f.weight has shape [8, 256]; expected [256, 8]", NULL);
  expect_error(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("v"), 8, 256, &matrix), IREE_STATUS_INVALID_ARGUMENT,
               "tensor v.weight has shape [2048]; expected [8, 256]", NULL);
  expect_error(mlxcel_checkpoint_matrix(model.checkpoint, IREE_SV("x"), 8, 256, &matrix), IREE_STATUS_NOT_FOUND, "tensor x.weight is missing", NULL);
  const mlxcel_tensor_t* vector = NULL;
  expect_ok(mlxcel_checkpoint_vector(model.checkpoint, IREE_SV("norm"), 64, &vector));
  assert_int_equal(vector->byte_count, 256);
  expect_error(mlxcel_checkpoint_vector(model.checkpoint, IREE_SV("norm"), 65, &vector), IREE_STATUS_INVALID_ARGUMENT,
               "tensor norm has shape [64]; expected [65]", NULL);
  assert_null(vector);
  expect_error(mlxcel_checkpoint_vector(model.checkpoint, IREE_SV("f.weight"), 2048, &vector), IREE_STATUS_INVALID_ARGUMENT, "[8, 256]; expected [2048]", NULL);
  expect_error(mlxcel_checkpoint_vector(model.checkpoint, IREE_SV("column"), 64, &vector), IREE_STATUS_INVALID_ARGUMENT, "[64, 1]; expected [64]", NULL);
  expect_error(mlxcel_checkpoint_vector(model.checkpoint, IREE_SV("i"), 64, &vector), IREE_STATUS_UNIMPLEMENTED, "tensor i is I32", NULL);
  expect_error(mlxcel_checkpoint_vector(model.checkpoint, IREE_SV("none"), 64, &vector), IREE_STATUS_NOT_FOUND, "tensor none is missing", NULL);
  close_model(&model);
}

static void checkpoint_survives_module_paths_of_any_length(void** state) {
  (void)state;
  model_t model = open_model("", small, 3);
  char path[4096];
  memset(path, 'p', sizeof(path));
  static const size_t sizes[] = {0, 1, MLXCEL_TENSOR_NAME_BYTES_MAX - 1, MLXCEL_TENSOR_NAME_BYTES_MAX, MLXCEL_TENSOR_NAME_BYTES_MAX + 1, sizeof(path)};
  for (size_t i = 0; i < IREE_ARRAYSIZE(sizes); ++i) {
    mlxcel_matrix_t matrix;
    expect_error(mlxcel_checkpoint_matrix(model.checkpoint, iree_make_string_view(path, sizes[i]), 1, 1, &matrix), IREE_STATUS_NOT_FOUND, "is missing", NULL);
  }
  close_model(&model);
}

//===- head ---------------------------------------------------------------------------------------------------------------------------------===//

static iree_status_t resolve_head(const char* config, const test_tensor_t* tensors, size_t count, bool* out_is_embedding) {
  model_t model = open_model(config, tensors, count);
  iree_string_view_t path = iree_string_view_empty();
  iree_status_t status = mlxcel_checkpoint_head(model.checkpoint, IREE_SV("model.embed_tokens"), IREE_SV("lm_head"), &path);
  *out_is_embedding = iree_string_view_equal(path, IREE_SV("model.embed_tokens"));
  if (iree_status_is_ok(status)) assert_true(*out_is_embedding || iree_string_view_equal(path, IREE_SV("lm_head")));
  close_model(&model);
  return status;
}

#define TIED "\"tie_word_embeddings\":true"
#define UNTIED "\"tie_word_embeddings\":false"

static void checkpoint_resolves_tied_and_untied_heads(void** state) {
  (void)state;
  bool is_embedding = false;
  const test_tensor_t both[] = {{"model.embed_tokens.weight", "F16", 8, 4, 1}, {"lm_head.weight", "F16", 8, 4, 2}};
  const test_tensor_t twice[] = {{"model.embed_tokens.weight", "F16", 8, 4, 1}, {"lm_head.weight", "F16", 8, 4, 1}};
  expect_ok(resolve_head(UNTIED, both, 2, &is_embedding));
  assert_false(is_embedding);
  expect_ok(resolve_head("", both, 2, &is_embedding));
  assert_false(is_embedding);
  expect_ok(resolve_head(UNTIED, twice, 2, &is_embedding));
  assert_false(is_embedding);
  expect_ok(resolve_head(TIED, both, 1, &is_embedding));
  assert_true(is_embedding);
  expect_ok(resolve_head(TIED, twice, 2, &is_embedding));
  assert_true(is_embedding);
}

static void checkpoint_refuses_every_mismatch_of_tie_and_head(void** state) {
  (void)state;
  bool is_embedding = false;
  const test_tensor_t embedding = {"model.embed_tokens.weight", "F16", 8, 4, 1};
  expect_error(resolve_head(UNTIED, &embedding, 1, &is_embedding), IREE_STATUS_NOT_FOUND, "tensor lm_head.weight is missing", "set it to true", NULL);
  expect_error(resolve_head("", &embedding, 1, &is_embedding), IREE_STATUS_NOT_FOUND, "tensor lm_head.weight is missing", "its absence", NULL);
  const test_tensor_t heads[] = {{"lm_head.weight", "F16", 8, 4, 2},  {"lm_head.weight", "BF16", 8, 4, 1}, {"lm_head.weight", "F16", 4, 8, 1},
                                 {"lm_head.weight", "F16", 32, 0, 1}, {"lm_head.scales", "F16", 8, 4, 1},  {"lm_head.biases", "F16", 8, 4, 1}};
  for (size_t i = 0; i < IREE_ARRAYSIZE(heads); ++i) {
    const test_tensor_t tensors[] = {embedding, heads[i]};
    expect_error(resolve_head(TIED, tensors, 2, &is_embedding), IREE_STATUS_INVALID_ARGUMENT,
                 "tie_word_embeddings true, but the tensors of lm_head aren't those of model.embed_tokens", NULL);
    assert_false(is_embedding);
  }
}

static void checkpoint_compares_quantized_heads_in_all_their_tensors(void** state) {
  (void)state;
  bool is_embedding = false;
  test_tensor_t tensors[] = {{"model.embed_tokens.weight", "U32", 8, 8, 1},
                             {"model.embed_tokens.scales", "F16", 8, 1, 2},
                             {"model.embed_tokens.biases", "F16", 8, 1, 3},
                             {"lm_head.weight", "U32", 8, 8, 1},
                             {"lm_head.scales", "F16", 8, 1, 2},
                             {"lm_head.biases", "F16", 8, 1, 3}};
  expect_ok(resolve_head(TIED "," TABLE_4_64, tensors, 6, &is_embedding));
  assert_true(is_embedding);
  expect_error(resolve_head(TIED "," TABLE_4_64, tensors, 5, &is_embedding), IREE_STATUS_INVALID_ARGUMENT, "tie_word_embeddings", NULL);
  for (size_t i = 3; i < 6; ++i) {
    tensors[i].fill = 9;
    expect_error(resolve_head(TIED "," TABLE_4_64, tensors, 6, &is_embedding), IREE_STATUS_INVALID_ARGUMENT, "tie_word_embeddings", NULL);
    tensors[i].fill = tensors[i - 3].fill;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(checkpoint_opens_a_single_file),
      cmocka_unit_test(checkpoint_merges_shards_in_the_order_of_names),
      cmocka_unit_test(checkpoint_names_what_a_folder_lacks),
      cmocka_unit_test(checkpoint_lists_missing_shards),
      cmocka_unit_test(checkpoint_lists_tensors_that_index_and_shards_disagree_about),
      cmocka_unit_test(checkpoint_reads_only_plain_shard_names),
      cmocka_unit_test(checkpoint_bounds_the_number_of_shards),
      cmocka_unit_test(checkpoint_resolves_every_quantization),
      cmocka_unit_test(checkpoint_resolves_a_mixed_model),
      cmocka_unit_test(checkpoint_refuses_shapes_that_do_not_fit_bits_and_group),
      cmocka_unit_test(checkpoint_refuses_incomplete_or_contradictory_quantized_modules),
      cmocka_unit_test(checkpoint_checks_dense_matrices_and_vectors),
      cmocka_unit_test(checkpoint_survives_module_paths_of_any_length),
      cmocka_unit_test(checkpoint_resolves_tied_and_untied_heads),
      cmocka_unit_test(checkpoint_refuses_every_mismatch_of_tie_and_head),
      cmocka_unit_test(checkpoint_compares_quantized_heads_in_all_their_tensors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
