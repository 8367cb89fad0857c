#include "runtime/program_test_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/program.h"

// --- the model ---------------------------------------------------------------------------------------------------------------------------------------

static const tiny_override_t overrides[] = {
    {"model.layers.0.self_attn.o_proj", 8, 64}, {"model.layers.0.mlp.gate_proj", 2, 32},   {"model.layers.0.mlp.up_proj", 3, 64},
    {"model.layers.0.mlp.down_proj", 5, 32},    {"model.layers.1.self_attn.q_proj", 0, 0}, {"model.layers.1.self_attn.k_proj", 6, 32},
    {"model.layers.1.self_attn.v_proj", 0, 0},  {"model.layers.1.mlp.down_proj", 0, 0},    {"lm_head", 6, 64},
};

tiny_llama_t test_model_recipe(void) {
  tiny_llama_t model;
  tiny_llama_initialize(&model);
  model.dtype = "F16";
  model.bits = 4;
  model.group_size = 32;
  model.overrides = overrides;
  model.override_count = sizeof(overrides) / sizeof(overrides[0]);
  model.has_attention_bias = true;
  return model;
}

void test_model_options(mlxcel_emit_options_t* out_options) {
  mlxcel_emit_options_initialize(out_options);
  out_options->prefill_chunks = (mlxcel_program_sizes_t){.count = 2, .values = {4, TEST_PREFILL_MAX}};
  out_options->decode_batches = (mlxcel_program_sizes_t){.count = 2, .values = {1, TEST_DECODE_MAX}};
  out_options->head_rows = (mlxcel_program_sizes_t){.count = 2, .values = {1, 4}};
}

mlxcel_program_options_t test_program_options(const mlxcel_artifact_t* artifact) {
  return (mlxcel_program_options_t){
      .slot_count = TEST_SLOTS, .context = TEST_CONTEXT, .expected_fingerprint = iree_make_cstring_view(artifact->contract_fingerprint.text)};
}

test_run_t test_run_open(const char* device, uint32_t threads, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint) {
  const mlxcel_device_options_t device_options = {.name = iree_make_cstring_view(device), .thread_count = threads};
  const mlxcel_program_options_t options = test_program_options(artifact);
  test_run_t run;
  compiled_model_expect_ok(mlxcel_device_open(&device_options, &run.device));
  compiled_model_expect_ok(mlxcel_program_load(run.device, artifact, checkpoint, &options, &run.program));
  return run;
}

void test_run_close(test_run_t* run) {
  mlxcel_program_unload(run->program);
  mlxcel_device_close(run->device);
}

// --- texts -------------------------------------------------------------------------------------------------------------------------------------------

int32_t test_token(uint32_t text, uint32_t position) {
  uint32_t x = (text + 1) * 0x9e3779b9u + position * 0x85ebca6bu;
  x = (x ^ (x >> 15)) * 0x2c1b3c6du;
  x = (x ^ (x >> 12)) * 0x297a2d39u;
  return (int32_t)((x ^ (x >> 15)) % TEST_VOCAB);
}

float* test_logits_create(void) {
  float* logits = calloc((size_t)TEST_TEXT * TEST_VOCAB, sizeof(float));
  assert_non_null(logits);
  return logits;
}

void test_decode(mlxcel_program_t* program, uint32_t text, int32_t slot, uint32_t begin, uint32_t end, float* logits) {
  for (uint32_t p = begin; p < end; ++p) {
    int32_t token = test_token(text, p), position = (int32_t)p;
    const mlxcel_rows_t rows = {1, &token, &slot, &position};
    compiled_model_expect_ok(mlxcel_program_decode(program, &rows, logits + (size_t)p * TEST_VOCAB));
  }
}

static void prefill_chunk(mlxcel_program_t* program, uint32_t text, int32_t slot, uint32_t begin, uint32_t count, float* logits) {
  int32_t tokens[TEST_PREFILL_MAX], slots[TEST_PREFILL_MAX], positions[TEST_PREFILL_MAX];
  uint32_t indices[TEST_PREFILL_MAX];
  for (uint32_t r = 0; r < count; ++r) {
    tokens[r] = test_token(text, begin + r);
    slots[r] = slot;
    positions[r] = (int32_t)(begin + r);
    indices[r] = r;
  }
  const mlxcel_rows_t rows = {count, tokens, slots, positions};
  compiled_model_expect_ok(mlxcel_program_prefill(program, &rows));
  compiled_model_expect_ok(mlxcel_program_head(program, count, indices, logits + (size_t)begin * TEST_VOCAB));
}

void test_prefill(mlxcel_program_t* program, uint32_t text, int32_t slot, uint32_t begin, uint32_t end, const uint32_t* chunks, float* logits) {
  const uint32_t* next = chunks;
  for (uint32_t p = begin; p < end;) {
    uint32_t count = *next < end - p ? *next : end - p;
    prefill_chunk(program, text, slot, p, count, logits);
    p += count;
    if (*++next == 0) next = chunks;
  }
}

void test_expect_equal(const float* expected, const float* actual, uint32_t begin, uint32_t end, const char* what) {
  for (uint32_t p = begin; p < end; ++p) {
    const float *e = expected + (size_t)p * TEST_VOCAB, *a = actual + (size_t)p * TEST_VOCAB;
    if (memcmp(e, a, TEST_VOCAB * sizeof(float)) == 0) continue;
    size_t i = 0;
    while (memcmp(&e[i], &a[i], sizeof(float)) == 0) ++i;
    fail_msg("%s: logit %zu at position %u is %a, expected %a", what, i, p, (double)a[i], (double)e[i]);
  }
}

// --- caches ------------------------------------------------------------------------------------------------------------------------------------------

static char* copy_buffer(const mlxcel_host_buffer_t* buffer) {
  char* copy = malloc(buffer->size);
  assert_non_null(copy);
  memcpy(copy, buffer->data, buffer->size);
  return copy;
}

test_caches_t test_caches_copy(const mlxcel_program_t* program) { return (test_caches_t){copy_buffer(&program->k_cache), copy_buffer(&program->v_cache)}; }

void test_caches_free(test_caches_t* caches) {
  free(caches->k);
  free(caches->v);
}

static size_t compare_cache(const mlxcel_program_t* program, const mlxcel_host_buffer_t* now, const char* before, int32_t slot, uint32_t begin, uint32_t end) {
  const mlxcel_program_interface_t* interface = program->interface;
  size_t cell_bytes = interface->head_dim * (size_t)mlxcel_program_interface_kv_element_bytes(interface), changed = 0;
  for (size_t cell = 0; cell < now->size / cell_bytes; ++cell) {
    if (memcmp((const char*)now->data + cell * cell_bytes, before + cell * cell_bytes, cell_bytes) == 0) continue;
    size_t position = cell % program->context, of_slot = cell / program->context / interface->kv_head_count % program->slot_count;
    if (slot < 0 || of_slot != (size_t)slot || position < begin || position >= end) {
      fail_msg("the cache changed at slot %zu, position %zu", of_slot, position);
    }
    ++changed;
  }
  return changed;
}

size_t test_caches_compare(const mlxcel_program_t* program, const test_caches_t* before, int32_t slot, uint32_t begin, uint32_t end) {
  return compare_cache(program, &program->k_cache, before->k, slot, begin, end) + compare_cache(program, &program->v_cache, before->v, slot, begin, end);
}
