// Everything that an import does with the bytes of a GGUF file, except writing: no input may crash, leak or read outside itself.
//
// Of the corpus, tensor_past_end.gguf is the one that reads behind the file as soon as gguf_place_tensor doesn't compare a tensor's end with the file's
// size; the other names say which check refuses them.
#include <stdlib.h>
#include <string.h>

#include "checkpoint/gguf_model.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// Converts every row; a bad scale is a legal end.
static iree_status_t fuzz_fill(const mlxcel_gguf_t* file, const mlxcel_gguf_plan_t* plan) {
  for (size_t i = 0; i < plan->output_count; ++i) {
    const mlxcel_gguf_output_t* output = &plan->outputs[i];
    uint8_t* buffer = malloc(output->byte_count);
    if (!buffer) abort();
    iree_status_t status = mlxcel_gguf_output_fill(file, output, 0, output->row_count, buffer);
    free(buffer);
    IREE_RETURN_IF_ERROR(status);
  }
  return iree_ok_status();
}

static iree_status_t fuzz_json(const mlxcel_gguf_t* file, const mlxcel_gguf_llama_t* llama, const mlxcel_gguf_plan_t* plan) {
  mlxcel_gguf_tokenizer_t tokenizer;
  json_t *config = NULL, *generation = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_tokenizer_initialize(file, llama, &tokenizer));
  iree_status_t status = mlxcel_gguf_config_create(file, llama, plan, &tokenizer, &config);
  if (iree_status_is_ok(status)) status = mlxcel_gguf_generation_config_create(file, &tokenizer, &generation);
  char* text = NULL;
  if (iree_status_is_ok(status)) status = mlxcel_json_write(tokenizer.tokenizer, true, &text);
  free(text);
  json_decref(config);
  json_decref(generation);
  mlxcel_gguf_tokenizer_deinitialize(&tokenizer);
  return status;
}

static iree_status_t fuzz_import(const mlxcel_gguf_t* file) {
  mlxcel_gguf_llama_t llama;
  mlxcel_gguf_plan_t plan;
  IREE_RETURN_IF_ERROR(mlxcel_gguf_llama_read(file, &llama));
  IREE_RETURN_IF_ERROR(mlxcel_gguf_plan_initialize(file, &llama, &plan));
  iree_status_t status = fuzz_fill(file, &plan);
  if (iree_status_is_ok(status)) status = fuzz_json(file, &llama, &plan);
  mlxcel_gguf_plan_deinitialize(&plan);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mlxcel_gguf_t* file = NULL;
  iree_status_t status = mlxcel_gguf_parse(data, size, "fuzz.gguf", &file);
  if (iree_status_is_ok(status)) status = fuzz_import(file);
  iree_status_ignore(status);
  mlxcel_gguf_close(file);
  return 0;
}
