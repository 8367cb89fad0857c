// Fails each allocation in turn while a checkpoint is opened and used: every failure must come back as a status, without crash or leak (the
// address sanitizer's build looks for leaks). The linker's --wrap puts our functions in front of the allocator's.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_test_util.h"

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* memory, size_t size);
char* __real_strdup(const char* text);
void* __wrap_malloc(size_t size);
void* __wrap_calloc(size_t count, size_t size);
void* __wrap_realloc(void* memory, size_t size);
char* __wrap_strdup(const char* text);

static size_t allocations_left = SIZE_MAX;
static bool allocation_failed = false;

// Only one allocation fails: what follows it must still be consistent.
static bool allocation_is_denied(void) {
  if (allocations_left == SIZE_MAX) return false;
  if (allocations_left-- > 0) return false;
  allocations_left = SIZE_MAX;
  allocation_failed = true;
  return true;
}

void* __wrap_malloc(size_t size) { return allocation_is_denied() ? NULL : __real_malloc(size); }
void* __wrap_calloc(size_t count, size_t size) { return allocation_is_denied() ? NULL : __real_calloc(count, size); }
void* __wrap_realloc(void* memory, size_t size) { return allocation_is_denied() ? NULL : __real_realloc(memory, size); }
char* __wrap_strdup(const char* text) { return allocation_is_denied() ? NULL : __real_strdup(text); }

static iree_status_t open_and_use(const char* folder) {
  mlxcel_checkpoint_t* checkpoint = NULL;
  IREE_RETURN_IF_ERROR(mlxcel_checkpoint_open(folder, &checkpoint));
  mlxcel_matrix_t matrix;
  iree_status_t status = mlxcel_checkpoint_matrix(checkpoint, IREE_SV("m"), 8, 256, &matrix);
  mlxcel_checkpoint_close(checkpoint);
  return status;
}

// Returns the number of allocations that were failed until |folder| was used without failing one.
static size_t torture(const char* folder, bool ends_well) {
  for (size_t denied = 0;; ++denied) {
    assert_true(denied < 100000);
    allocation_failed = false;
    allocations_left = denied;
    iree_status_t status = open_and_use(folder);
    allocations_left = SIZE_MAX;
    bool ok = iree_status_is_ok(status);
    iree_status_ignore(status);
    if (!allocation_failed) {
      assert_true(ok == ends_well);
      return denied;
    }
    // IREE makes a status with its bare code where the memory for its message is refused, so that a failure never looks like success.
    assert_false(ok);
  }
}

static char* create_sharded_folder(const char* quantization) {
  char* folder = test_folder_create();
  char config[512];
  snprintf(config, sizeof(config),
           "{\"model_type\":\"llama\",\"hidden_size\":64,\"intermediate_size\":128,\"num_hidden_layers\":1,\"num_attention_heads\":4,\"vocab_size\":100,"
           "\"eos_token_id\":[1,2],\"quantization\":%s}",
           quantization);
  test_text_write(folder, "config.json", config);
  test_text_write(folder, "generation_config.json", "{\"eos_token_id\":3,\"temperature\":0.5}");
  test_text_write(folder, "model.safetensors.index.json", "{\"weight_map\":{\"m.weight\":\"s1\",\"m.scales\":\"s2\",\"m.biases\":\"s2\"}}");
  const test_tensor_t tensors[] = {{"m.weight", "U32", 8, 32, 0}, {"m.scales", "F16", 8, 4, 0}, {"m.biases", "F16", 8, 4, 0}};
  test_tensors_write(folder, "s1", tensors, 1);
  test_tensors_write(folder, "s2", tensors + 1, 2);
  return folder;
}

static void checkpoint_returns_a_status_for_each_failed_allocation(void** state) {
  (void)state;
  char* folder = create_sharded_folder("{\"bits\":4,\"group_size\":64,\"a\":false,\"b\":{\"bits\":6,\"group_size\":32}}");
  assert_true(torture(folder, true) > 100);
  test_folder_remove(folder);
}

static void checkpoint_fails_as_before_when_its_error_cannot_be_allocated(void** state) {
  (void)state;
  char* folder = create_sharded_folder("{\"bits\":4,\"group_size\":64}");
  test_text_write(folder, "model.safetensors.index.json", "{\"weight_map\":{\"m.weight\":\"s1\",\"m.scales\":\"s2\",\"x\":\"s2\",\"y\":\"s1\"}}");
  assert_true(torture(folder, false) > 100);
  test_folder_remove(folder);
}

int main(void) {
  json_set_alloc_funcs(__wrap_malloc, free);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(checkpoint_returns_a_status_for_each_failed_allocation),
      cmocka_unit_test(checkpoint_fails_as_before_when_its_error_cannot_be_allocated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
