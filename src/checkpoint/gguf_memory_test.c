// The importer's JSON parts with an allocator that fails at every single request: an error each time, no crash, no leak.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_gguf_builder.h"
#include "checkpoint/checkpoint_test_util.h"
#include "checkpoint/gguf_model.h"

static size_t allocations_left = SIZE_MAX;
static bool has_failed = false;

static void* failing_malloc(size_t size) {
  if (allocations_left == 0) {
    has_failed = true;
    return NULL;
  }
  --allocations_left;
  return malloc(size);
}

static iree_status_t make_json(const mlxcel_gguf_t* file, const mlxcel_gguf_llama_t* llama, const mlxcel_gguf_plan_t* plan) {
  mlxcel_gguf_tokenizer_t tokenizer;
  json_t *config = NULL, *generation = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_tokenizer_initialize(file, llama, &tokenizer));
  iree_status_t status = mlxcel_gguf_config_create(file, llama, plan, &tokenizer, &config);
  if (iree_status_is_ok(status)) status = mlxcel_gguf_generation_config_create(file, &tokenizer, &generation);
  json_decref(config);
  json_decref(generation);
  mlxcel_gguf_tokenizer_deinitialize(&tokenizer);
  return status;
}

static void gguf_import_survives_every_failed_json_allocation(void** state) {
  (void)state;
  gguf_builder_t builder;
  gguf_builder_initialize(&builder);
  gguf_add_tiny(&builder, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_0, .skip = {"blk.0.attn_v.weight"}});
  gguf_add_tensor(&builder, "blk.0.attn_v.weight", MLXCEL_GGUF_TENSOR_Q8_0, 2, (const uint64_t[]){16, 32}, NULL, 16 * 34);
  gguf_add_string(&builder, "tokenizer.chat_template", "x");
  gguf_add_string(&builder, "tokenizer.chat_template.tool_use", "y");
  gguf_add_bool(&builder, "tokenizer.ggml.add_bos_token", true);
  gguf_add_u32(&builder, "tokenizer.ggml.eot_token_id", 7);
  gguf_add_f32(&builder, "general.sampling.temp", 1.0f);
  gguf_add_f32(&builder, "llama.rope.scaling.factor", 2.0f);
  size_t size = 0;
  uint8_t* bytes = gguf_builder_finish(&builder, &size);
  mlxcel_gguf_t* file = NULL;
  mlxcel_gguf_llama_t llama;
  mlxcel_gguf_plan_t plan;
  expect_ok(mlxcel_gguf_parse(bytes, size, "m.gguf", &file));
  expect_ok(mlxcel_gguf_llama_read(file, &llama));
  expect_ok(mlxcel_gguf_plan_initialize(file, &llama, &plan));
  size_t failures = 0;
  for (bool is_done = false; !is_done; ++failures) {
    allocations_left = failures;
    has_failed = false;
    iree_status_t status = make_json(file, &llama, &plan);
    is_done = iree_status_is_ok(status);
    assert_true(is_done == !has_failed);
    iree_status_ignore(status);
  }
  assert_true(failures > 100);
  allocations_left = SIZE_MAX;
  mlxcel_gguf_plan_deinitialize(&plan);
  mlxcel_gguf_close(file);
  free(bytes);
  gguf_builder_deinitialize(&builder);
}

int main(void) {
  json_set_alloc_funcs(failing_malloc, free);
  const struct CMUnitTest tests[] = {cmocka_unit_test(gguf_import_survives_every_failed_json_allocation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
