// Engines whose weights move to huge pages while they open, answer and close. Needs the compiler.
#include "api/api_pages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/api_test_checkpoint.h"
#include "base/fs.h"
#include "mlxcel/mlxcel.h"

#define PAUSES 12          // before a stop: the first finds the thread at its beginning, the last after its end
#define PAUSE_NS 1000000L  // of the second; each is half as long again as the one before: up to 60 ms
#define ENGINES 2

static struct {
  char *root, *folder, *cache;
  mlxcel_checkpoint_t* checkpoint;
} fixture;

static int group_setup(void** state) {
  (void)state;
  const char* parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
  if (!iree_status_is_ok(mlxcel_directory_create_temporary(parent, "mlxcel-pages-", &fixture.root))) return -1;
  fixture.folder = test_checkpoint_write_packed(fixture.root);
  if (!iree_status_is_ok(mlxcel_path_join(fixture.root, IREE_SV("cache"), &fixture.cache))) return -1;
  return iree_status_is_ok(mlxcel_checkpoint_open(fixture.folder, &fixture.checkpoint)) ? 0 : -1;
}

static int group_teardown(void** state) {
  (void)state;
  mlxcel_checkpoint_close(fixture.checkpoint);
  iree_status_ignore(mlxcel_directory_remove(fixture.root));
  free(fixture.root);
  free(fixture.folder);
  free(fixture.cache);
  return 0;
}

static void sleep_for(long nanoseconds) {
  const struct timespec time = {.tv_nsec = nanoseconds};
  nanosleep(&time, NULL);
}

static mlxcel_engine_options_t make_options(void) {
  mlxcel_engine_options_t options;
  mlxcel_engine_options_initialize(&options);
  options.model_folder = fixture.folder;
  options.cache_folder = fixture.cache;
  options.threads = 2;
  return options;
}

static mlxcel_engine_t* open_engine(void) {
  const mlxcel_engine_options_t options = make_options();
  mlxcel_engine_t* engine = NULL;
  mlxcel_error_t* error = mlxcel_engine_open(&options, &engine);
  if (error) print_error("%s: %s\n", mlxcel_error_stage(error), mlxcel_error_message(error));
  assert_null(error);
  return engine;
}

// All weights of the head are zero: the lowest id comes out, whatever the prompt.
static void expect_answer(mlxcel_engine_t* engine) {
  static const int32_t prompt[] = {TEST_BOS, 'a'};
  mlxcel_session_t* session = NULL;
  assert_null(mlxcel_session_open(engine, &session));
  mlxcel_request_t request;
  mlxcel_request_initialize(&request);
  request.prompt_ids = prompt;
  request.prompt_count = 2;
  request.max_tokens = 2;
  request.ignore_eos = true;
  mlxcel_result_t result;
  assert_null(mlxcel_session_generate(session, &request, &result));
  assert_int_equal(result.count, 2);
  assert_int_equal(result.ids[0], 0);
  assert_int_equal(result.ids[1], 0);
  mlxcel_result_release(&result);
  mlxcel_session_close(session);
}

static void api_pages_can_be_stopped_at_any_time(void** state) {
  (void)state;
  long pause = 0;
  for (int i = 0; i < PAUSES; ++i) {
    mlxcel_api_pages_t pages;
    mlxcel_api_pages_start(fixture.checkpoint, &pages);
    assert_true(pages.has_thread);
    sleep_for(pause);
    mlxcel_api_pages_finish(&pages);
    assert_false(pages.has_thread);
    mlxcel_api_pages_finish(&pages);  // a second time nothing happens
    pause = pause ? pause * 3 / 2 : PAUSE_NS;
  }
}

// What moved stays what it was, and may be read all the time.
static void api_pages_keep_the_weights(void** state) {
  (void)state;
  const mlxcel_tensor_t* norm = mlxcel_checkpoint_find(fixture.checkpoint, IREE_SV("model.norm.weight"));
  const mlxcel_tensor_t* table = mlxcel_checkpoint_find(fixture.checkpoint, IREE_SV("model.embed_tokens.weight"));
  assert_true(norm && table);
  void* before = malloc(norm->byte_count);
  memcpy(before, norm->data, norm->byte_count);
  mlxcel_api_pages_t pages;
  mlxcel_api_pages_start(fixture.checkpoint, &pages);
  const uint64_t* words = (const uint64_t*)table->data;
  uint64_t sum = 0;
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < table->byte_count / sizeof(*words); ++i) sum |= words[i];
  }
  mlxcel_api_pages_finish(&pages);
  assert_int_equal(sum, 0);
  assert_memory_equal(before, norm->data, norm->byte_count);
  free(before);
}

static void api_engine_can_close_while_its_weights_move(void** state) {
  (void)state;
  mlxcel_engine_close(open_engine());  // compiles
  long pause = 0;
  for (int i = 0; i < PAUSES; ++i) {
    mlxcel_engine_t* engine = open_engine();
    assert_true(mlxcel_engine_info(engine)->cache_hit);
    sleep_for(pause);
    mlxcel_engine_close(engine);
    pause = pause ? pause * 3 / 2 : PAUSE_NS;
  }
}

// The thread has begun, and its engine never comes to be.
static void api_engine_that_fails_to_open_stops_moving_its_weights(void** state) {
  (void)state;
  mlxcel_engine_options_t options = make_options();
  options.context = TEST_CONTEXT + 1;
  for (int i = 0; i < PAUSES; ++i) {
    mlxcel_engine_t* engine = NULL;
    mlxcel_error_t* error = mlxcel_engine_open(&options, &engine);
    assert_null(engine);
    assert_non_null(error);
    assert_string_equal(mlxcel_error_stage(error), "options");
    mlxcel_error_free(error);
  }
}

static void api_engines_of_one_folder_do_not_meet(void** state) {
  (void)state;
  for (int first = 0; first < ENGINES; ++first) {
    mlxcel_engine_t* engines[ENGINES];
    for (int i = 0; i < ENGINES; ++i) engines[i] = open_engine();
    for (int i = 0; i < ENGINES; ++i) expect_answer(engines[i]);
    mlxcel_engine_close(engines[first]);
    expect_answer(engines[1 - first]);
    mlxcel_engine_close(engines[1 - first]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(api_pages_can_be_stopped_at_any_time),        cmocka_unit_test(api_pages_keep_the_weights),
      cmocka_unit_test(api_engine_can_close_while_its_weights_move), cmocka_unit_test(api_engine_that_fails_to_open_stops_moving_its_weights),
      cmocka_unit_test(api_engines_of_one_folder_do_not_meet),
  };
  return cmocka_run_group_tests_name("api_pages", tests, group_setup, group_teardown);
}
