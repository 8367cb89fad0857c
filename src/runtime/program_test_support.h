// program_test_support.h: a tiny model that has every storage of a matrix, compiled and running, and texts through it, for the tests of programs.
#ifndef MLXCEL_RUNTIME_PROGRAM_TEST_SUPPORT_H_
#define MLXCEL_RUNTIME_PROGRAM_TEST_SUPPORT_H_

#include "runtime/runtime.h"
#include "support/compiled_model.h"

enum {
  TEST_VOCAB = 160,
  TEST_CONTEXT = 160,  // below the model's 192; two and a half blocks of attention
  TEST_SLOTS = 4,
  TEST_TEXT = 150,  // tokens of a text
  TEST_PREFILL_MAX = 16,
  TEST_DECODE_MAX = 4,
};

// 2 to 8 bits, f16 and a bias somewhere, prefill_{4,16}, decode_{1,4}, head_{1,4}.
tiny_llama_t test_model_recipe(void);
void test_model_options(mlxcel_emit_options_t* out_options);

typedef struct test_run_t {
  mlxcel_device_t* device;
  mlxcel_program_t* program;
} test_run_t;
// A program of TEST_SLOTS slots and TEST_CONTEXT positions on a device of its own. Fails the test if it can't.
test_run_t test_run_open(const char* device, uint32_t threads, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint);
void test_run_close(test_run_t* run);
mlxcel_program_options_t test_program_options(const mlxcel_artifact_t* artifact);

// Token |position| of text |text|.
int32_t test_token(uint32_t text, uint32_t position);
// Logits of a text, a row a position: f32 [TEST_TEXT, TEST_VOCAB], malloc'ed.
float* test_logits_create(void);

// Decodes positions [begin, end) of |text| in |slot| one by one.
void test_decode(mlxcel_program_t* program, uint32_t text, int32_t slot, uint32_t begin, uint32_t end, float* logits);
// Prefills them in chunks of the given sizes, over and over (ends with 0), and takes the logits of every row.
void test_prefill(mlxcel_program_t* program, uint32_t text, int32_t slot, uint32_t begin, uint32_t end, const uint32_t* chunks, float* logits);
// Fails unless rows [begin, end) have the same bits.
void test_expect_equal(const float* expected, const float* actual, uint32_t begin, uint32_t end, const char* what);

// A copy of both caches, and its comparison with what they are now. Only cells of positions [begin, end) of |slot| may differ; -1 = none.
typedef struct test_caches_t {
  char *k, *v;
} test_caches_t;
test_caches_t test_caches_copy(const mlxcel_program_t* program);
void test_caches_free(test_caches_t* caches);
// Counts the cells [layers, slots, kv_heads, context] of both caches that changed; fails if one outside of the stretch did.
size_t test_caches_compare(const mlxcel_program_t* program, const test_caches_t* before, int32_t slot, uint32_t begin, uint32_t end);

#endif  // MLXCEL_RUNTIME_PROGRAM_TEST_SUPPORT_H_
