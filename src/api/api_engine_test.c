// The whole engine through the public header: a tiny checkpoint is compiled once, then loaded from the cache.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/api_test_checkpoint.h"
#include "artifact/artifact_cache.h"
#include "artifact/manifest.h"
#include "base/fs.h"
#include "build_identity.h"
#include "mlxcel/mlxcel.h"

typedef struct setting_t {
  char* root;
  char* folder;  // checkpoint
  char* cache;
} setting_t;

static setting_t* setting_of(void** state) { return *state; }

static int group_setup(void** state) {
  setting_t* setting = calloc(1, sizeof(*setting));
  *state = setting;
  const char* parent = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
  if (!setting || !iree_status_is_ok(mlxcel_directory_create_temporary(parent, "mlxcel-api-", &setting->root))) return -1;
  setting->folder = test_checkpoint_write(setting->root);
  return iree_status_is_ok(mlxcel_path_join(setting->root, IREE_SV("cache"), &setting->cache)) ? 0 : -1;
}

static int group_teardown(void** state) {
  setting_t* setting = setting_of(state);
  iree_status_t status = mlxcel_directory_remove(setting->root);
  iree_status_ignore(status);
  free(setting->root);
  free(setting->folder);
  free(setting->cache);
  free(setting);
  return 0;
}

// Fails with the error's words.
static void expect_no_error(mlxcel_error_t* error) {
  if (error) print_error("%s: %s\n", mlxcel_error_stage(error), mlxcel_error_message(error));
  assert_null(error);
}

static void expect_error(mlxcel_error_t* error, mlxcel_error_code_t code, const char* stage, const char* words) {
  assert_non_null(error);
  if (!strstr(mlxcel_error_message(error), words)) print_error("%s\n", mlxcel_error_message(error));
  assert_int_equal(mlxcel_error_code(error), code);
  assert_string_equal(mlxcel_error_stage(error), stage);
  assert_non_null(strstr(mlxcel_error_message(error), words));
  mlxcel_error_free(error);
}

static mlxcel_engine_options_t make_options(const setting_t* setting) {
  mlxcel_engine_options_t options;
  mlxcel_engine_options_initialize(&options);
  options.model_folder = setting->folder;
  options.cache_folder = setting->cache;
  options.threads = 2;
  return options;
}

static mlxcel_engine_t* open_engine(const mlxcel_engine_options_t* options) {
  mlxcel_engine_t* engine = NULL;
  expect_no_error(mlxcel_engine_open(options, &engine));
  assert_non_null(engine);
  return engine;
}

static mlxcel_session_t* open_session(mlxcel_engine_t* engine) {
  mlxcel_session_t* session = NULL;
  expect_no_error(mlxcel_session_open(engine, &session));
  assert_non_null(session);
  return session;
}

static const int32_t k_prompt[] = {TEST_BOS, 'H', 'e', 'l', 'l', 'o', ',', ' ', 'w', 'o', 'r', 'l', 'd'};
enum { kPromptCount = sizeof(k_prompt) / sizeof(k_prompt[0]), kAnswerCount = 20 };

static mlxcel_request_t make_request(void) {
  mlxcel_request_t request;
  mlxcel_request_initialize(&request);
  request.prompt_ids = k_prompt;
  request.prompt_count = kPromptCount;
  request.max_tokens = kAnswerCount;
  request.ignore_eos = true;
  return request;
}

// The greedy answer to k_prompt in a fresh session.
static void answer_fresh(mlxcel_engine_t* engine, int32_t ids[kAnswerCount]) {
  mlxcel_session_t* session = open_session(engine);
  mlxcel_request_t request = make_request();
  mlxcel_result_t result;
  expect_no_error(mlxcel_session_generate(session, &request, &result));
  assert_int_equal(result.count, kAnswerCount);
  memcpy(ids, result.ids, kAnswerCount * sizeof(ids[0]));
  mlxcel_result_release(&result);
  mlxcel_session_close(session);
}

// --- opening ---------------------------------------------------------------------------------------------------------------------------------
typedef struct steps_t {
  char text[512];
} steps_t;

// Notes each step once.
static void note_step(void* user_data, const char* step, double elapsed_seconds) {
  steps_t* steps = user_data;
  assert_true(elapsed_seconds >= 0.0);
  if (strstr(steps->text, step)) return;
  strncat(steps->text, step, sizeof(steps->text) - strlen(steps->text) - 1);
  strncat(steps->text, ";", sizeof(steps->text) - strlen(steps->text) - 1);
}

static void api_engine_compiles_once_and_then_hits_the_cache(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  steps_t steps = {{0}};
  options.progress = note_step;
  options.user_data = &steps;
  bool cache_hit = true;
  double seconds = 0.0;
  expect_no_error(mlxcel_engine_compile(&options, &cache_hit, &seconds));
  assert_false(cache_hit);
  assert_true(seconds > 0.0);
  assert_ptr_equal(strstr(steps.text, "read checkpoint;"), steps.text);
  assert_non_null(strstr(steps.text, "compil"));
  assert_null(strstr(steps.text, "load;"));
  expect_no_error(mlxcel_engine_compile(&options, &cache_hit, &seconds));
  assert_true(cache_hit);
  assert_true(seconds == 0.0);
  expect_no_error(mlxcel_engine_compile(&options, NULL, NULL));
}

static void api_engine_reports_what_it_loaded(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  steps_t steps = {{0}};
  options.progress = note_step;
  options.user_data = &steps;
  options.slots = 2;
  mlxcel_engine_t* engine = open_engine(&options);
  const mlxcel_engine_info_t* info = mlxcel_engine_info(engine);
  assert_string_equal(info->model_name, "tiny");
  assert_string_equal(info->model_type, "llama");
  assert_string_equal(info->device, "local-task");
  assert_string_equal(info->profile, "pinned-f32");
  assert_int_equal(strlen(info->contract_fingerprint), 64);
  assert_true(strcmp(info->cpu_level, "v3") == 0 || strcmp(info->cpu_level, "v4") == 0);
  assert_int_equal(info->vocab_size, TEST_VOCAB);
  assert_int_equal(info->context, TEST_CONTEXT);
  assert_int_equal(info->model_context, TEST_CONTEXT);
  assert_int_equal(info->threads, 2);
  assert_true(info->weight_bytes > 200000 && info->copied_weight_bytes < info->weight_bytes);
  // K and V, f32, 2 layers, 2 slots, 2 heads of 16.
  assert_int_equal(info->kv_bytes, 2 * 4 * 2 * 2 * 2 * 16 * TEST_CONTEXT);
  assert_int_equal(info->kv_token_bytes, 2 * 4 * 2 * 2 * 16);
  assert_string_equal(info->kv_dtype, "f32");
  assert_true(info->cache_hit && info->compile_seconds == 0.0 && info->load_seconds > 0.0);
  assert_true(info->has_chat_template);
  assert_int_equal(info->bos_id, TEST_BOS);
  assert_int_equal(info->eos_count, 2);
  assert_int_equal(info->eos_ids[0], TEST_EOS);
  assert_int_equal(info->eos_ids[1], TEST_END);
  assert_true(info->default_sampling.temperature == 0.0f && info->default_sampling.top_k == 0);
  assert_string_equal(steps.text + strlen(steps.text) - strlen("load;"), "load;");
  mlxcel_engine_close(engine);
}

// A module is cut for the device's workers, so another number of threads is another module; local-sync is one worker as one thread is.
static void api_engine_compiles_for_its_number_of_workers(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  char* cache = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(setting_of(state)->root, IREE_SV("workers"), &cache)));
  options.cache_folder = cache;
  static const struct {
    const char* device;
    uint32_t threads;
    bool cache_hit;
  } rows[] = {{"local-task", 1, false}, {"local-task", 3, false}, {"local-task", 3, true},
              {"local-sync", 3, true},  {"local-sync", 0, true},  {"local-task", 1, true}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    options.device = rows[i].device;
    options.threads = rows[i].threads;
    bool cache_hit = !rows[i].cache_hit;
    if (i % 2 == 0) expect_no_error(mlxcel_engine_compile(&options, &cache_hit, NULL));
    mlxcel_engine_t* engine = open_engine(&options);  // compiling ahead and opening agree
    assert_int_equal(mlxcel_engine_info(engine)->cache_hit, i % 2 == 0 || rows[i].cache_hit);
    mlxcel_engine_close(engine);
    if (i % 2 == 0) assert_int_equal(cache_hit, rows[i].cache_hit);
  }
  free(cache);
}

static void api_engine_starts_warm_without_a_compiler(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  options.compiler = "/nonexistent/iree-compile";
  mlxcel_engine_t* engine = open_engine(&options);
  assert_true(mlxcel_engine_info(engine)->cache_hit);
  mlxcel_engine_close(engine);
}

// The folder of the cache's only entry; malloc'ed.
static char* entry_folder(const setting_t* setting) {
  size_t count = 0;
  mlxcel_artifact_listing_t* entries = NULL;
  char* folder = NULL;
  assert_true(iree_status_is_ok(mlxcel_artifact_cache_list(setting->cache, false, &count, &entries)));
  assert_int_equal(count, 1);
  assert_true(iree_status_is_ok(mlxcel_path_join(setting->cache, iree_make_cstring_view(entries[0].key), &folder)));
  mlxcel_artifact_cache_list_free(count, entries);
  return folder;
}

// Writes the manifest anew with the compiler's |version|; gives the text that was there (malloc'ed).
static char* manifest_set_compiler(const char* folder, const char* path, const char* version) {
  mlxcel_manifest_t manifest;
  char *text = NULL, *changed = NULL;
  assert_true(iree_status_is_ok(mlxcel_manifest_read(folder, &text, &manifest)));
  snprintf(manifest.compiler.version, sizeof(manifest.compiler.version), "%s", version);
  assert_true(iree_status_is_ok(mlxcel_manifest_to_text(&manifest, &changed)));
  assert_true(iree_status_is_ok(mlxcel_file_publish(path, changed, strlen(changed))));
  mlxcel_manifest_deinitialize(&manifest);
  free(changed);
  return text;
}

static void api_engine_without_a_compiler_refuses_a_module_of_another_compiler_by_name(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  char *folder = entry_folder(setting_of(state)), *path = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(folder, IREE_SV(MLXCEL_MANIFEST_FILE_NAME), &path)));
  char* original = manifest_set_compiler(folder, path, "IREE compiler version 3.12.9 @ 0123456789");
  options.compiler = "/nonexistent/iree-compile";
  mlxcel_engine_t* engine = NULL;
  expect_error(mlxcel_engine_open(&options, &engine), MLXCEL_ERROR_UNAVAILABLE, "compile", "IREE compiler version 3.12.9 @ 0123456789");
  assert_null(engine);
  expect_error(mlxcel_engine_compile(&options, NULL, NULL), MLXCEL_ERROR_UNAVAILABLE, "compile", MLXCEL_COMPILER_VERSION);
  assert_true(iree_status_is_ok(mlxcel_file_publish(path, original, strlen(original))));
  engine = open_engine(&options);
  assert_true(mlxcel_engine_info(engine)->cache_hit);
  mlxcel_engine_close(engine);
  free(original);
  free(path);
  free(folder);
}

// Without evidence mlx-cpu-0.32.4 is closed; that is told before anything is compiled.
static void api_engine_refuses_a_closed_profile_before_it_compiles(void** state) {
  const setting_t* setting = setting_of(state);
  mlxcel_engine_options_t options = make_options(setting);
  char *cache = NULL, *evidence = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(setting->root, IREE_SV("closed"), &cache)));
  assert_true(iree_status_is_ok(mlxcel_path_join(setting->root, IREE_SV("evidence"), &evidence)));
  assert_true(iree_status_is_ok(mlxcel_directory_create(evidence)));
  char* saved = getenv("MLXCEL_EVIDENCE_DIR") ? strdup(getenv("MLXCEL_EVIDENCE_DIR")) : NULL;
  setenv("MLXCEL_EVIDENCE_DIR", evidence, 1);
  options.cache_folder = cache;
  options.profile = "mlx-cpu-0.32.4";
  steps_t steps = {{0}};
  options.progress = note_step;
  options.user_data = &steps;
  mlxcel_engine_t* engine = NULL;
  expect_error(mlxcel_engine_open(&options, &engine), MLXCEL_ERROR_UNAVAILABLE, "capability", "mlx-cpu-0.32.4 is closed");
  assert_null(strstr(steps.text, "compil"));
  size_t count = 1;
  mlxcel_artifact_listing_t* entries = NULL;
  assert_true(iree_status_is_ok(mlxcel_artifact_cache_list(cache, false, &count, &entries)));
  assert_int_equal(count, 0);
  if (saved) {
    setenv("MLXCEL_EVIDENCE_DIR", saved, 1);
  } else {
    unsetenv("MLXCEL_EVIDENCE_DIR");
  }
  free(saved);
  free(evidence);
  free(cache);
}

static void api_engine_context_is_the_callers(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  options.context = 17;
  mlxcel_engine_t* engine = open_engine(&options);
  assert_int_equal(mlxcel_engine_info(engine)->context, 17);
  assert_int_equal(mlxcel_engine_info(engine)->model_context, TEST_CONTEXT);
  mlxcel_session_t* session = open_session(engine);
  mlxcel_request_t request = make_request();
  mlxcel_result_t result;
  expect_no_error(mlxcel_session_generate(session, &request, &result));
  assert_int_equal(result.count, 17 - kPromptCount);
  assert_int_equal(result.finish_reason, MLXCEL_FINISH_LENGTH);
  mlxcel_result_release(&result);
  request.prompt_count = 17;
  expect_error(mlxcel_session_generate(session, &request, &result), MLXCEL_ERROR_INVALID_ARGUMENT, "request", "17 tokens, the context holds 17");
  mlxcel_session_close(session);
  mlxcel_engine_close(engine);
}

static bool cancel_always(void* user_data) {
  (void)user_data;
  return true;
}

static void api_engine_compile_can_be_cancelled(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  char* other_cache = NULL;
  assert_true(iree_status_is_ok(mlxcel_path_join(setting_of(state)->root, IREE_SV("cancelled"), &other_cache)));
  options.cache_folder = other_cache;
  options.cancelled = cancel_always;
  mlxcel_engine_t* engine = (mlxcel_engine_t*)&options;
  mlxcel_error_t* error = mlxcel_engine_open(&options, &engine);
  assert_null(engine);
  expect_error(error, MLXCEL_ERROR_CANCELLED, "compile", "");
  free(other_cache);
}

// --- generation ---------------------------------------------------------------------------------------------------------------------------------
static void api_answers_do_not_depend_on_device_threads_chunks_or_slots(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  int32_t expected[kAnswerCount], ids[kAnswerCount];
  mlxcel_engine_t* engine = open_engine(&options);
  answer_fresh(engine, expected);
  mlxcel_engine_close(engine);
  static const struct {
    const char* device;
    uint32_t threads, chunk, slots;
  } cases[] = {{"local-sync", 0, 0, 1}, {"local-task", 1, 1, 3}, {"local-task", 3, 5, 2}, {"local-sync", 1, 7, 1}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    options.device = cases[i].device;
    options.threads = cases[i].threads;
    options.prefill_chunk = cases[i].chunk;
    options.slots = cases[i].slots;
    engine = open_engine(&options);
    mlxcel_session_t* first = cases[i].slots > 1 ? open_session(engine) : NULL;  // the answer then comes from slot 1
    answer_fresh(engine, ids);
    assert_memory_equal(ids, expected, sizeof(ids));
    mlxcel_session_close(first);
    mlxcel_engine_close(engine);
  }
}

static void api_session_reuses_its_prefix_without_changing_the_answer(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  mlxcel_engine_t* engine = open_engine(&options);
  mlxcel_session_t* session = open_session(engine);
  mlxcel_request_t request = make_request();
  mlxcel_result_t first, second;
  expect_no_error(mlxcel_session_generate(session, &request, &first));
  expect_no_error(mlxcel_session_generate(session, &request, &second));
  assert_int_equal(first.reused_tokens, 0);
  assert_int_equal(second.reused_tokens, kPromptCount - 1);
  assert_int_equal(first.count, second.count);
  assert_memory_equal(first.ids, second.ids, first.count * sizeof(first.ids[0]));
  mlxcel_result_release(&first);
  mlxcel_result_release(&second);
  mlxcel_session_close(session);
  mlxcel_engine_close(engine);
}

static void api_sessions_take_and_return_slots(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  options.slots = 2;
  mlxcel_engine_t* engine = open_engine(&options);
  mlxcel_session_t* first = open_session(engine);
  mlxcel_session_t* second = open_session(engine);
  mlxcel_session_t* third = second;
  expect_error(mlxcel_session_open(engine, &third), MLXCEL_ERROR_RESOURCES, "session", "all 2 slots");
  assert_null(third);
  mlxcel_session_close(first);
  third = open_session(engine);
  mlxcel_session_close(third);
  mlxcel_session_close(second);
  mlxcel_engine_close(engine);
}

typedef struct worker_t {
  mlxcel_engine_t* engine;
  const int32_t* expected;
  bool is_equal;
} worker_t;

// No assertions: cmocka's belong to the main thread.
static void* run_worker(void* argument) {
  worker_t* worker = argument;
  worker->is_equal = true;
  for (int round = 0; round < 3; ++round) {
    mlxcel_session_t* session = NULL;
    mlxcel_request_t request = make_request();
    mlxcel_result_t result = {0};
    mlxcel_error_t* error = mlxcel_session_open(worker->engine, &session);
    if (!error) error = mlxcel_session_generate(session, &request, &result);
    worker->is_equal = worker->is_equal && !error && result.count == kAnswerCount && memcmp(result.ids, worker->expected, kAnswerCount * 4) == 0;
    mlxcel_error_free(error);
    mlxcel_result_release(&result);
    mlxcel_session_close(session);
  }
  return NULL;
}

static void api_sessions_of_several_threads_answer_as_alone(void** state) {
  enum { kThreads = 4 };
  mlxcel_engine_options_t options = make_options(setting_of(state));
  options.slots = kThreads;
  mlxcel_engine_t* engine = open_engine(&options);
  int32_t expected[kAnswerCount];
  answer_fresh(engine, expected);
  pthread_t threads[kThreads];
  worker_t workers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    workers[i] = (worker_t){.engine = engine, .expected = expected};
    assert_int_equal(pthread_create(&threads[i], NULL, run_worker, &workers[i]), 0);
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    assert_true(workers[i].is_equal);
  }
  mlxcel_engine_close(engine);
}

// Each has its own device, program and caches; they share nothing but the files.
static void api_engines_of_one_folder_answer_in_two_threads(void** state) {
  enum { kEngines = 2 };
  const mlxcel_engine_options_t options = make_options(setting_of(state));
  int32_t expected[kAnswerCount];
  pthread_t threads[kEngines];
  worker_t workers[kEngines];
  for (int i = 0; i < kEngines; ++i) workers[i] = (worker_t){.engine = open_engine(&options), .expected = expected};
  assert_ptr_not_equal(workers[0].engine, workers[1].engine);
  answer_fresh(workers[0].engine, expected);
  for (int i = 0; i < kEngines; ++i) assert_int_equal(pthread_create(&threads[i], NULL, run_worker, &workers[i]), 0);
  for (int i = 0; i < kEngines; ++i) {
    pthread_join(threads[i], NULL);
    assert_true(workers[i].is_equal);
  }
  mlxcel_engine_close(workers[0].engine);
  int32_t ids[kAnswerCount];
  answer_fresh(workers[1].engine, ids);
  assert_memory_equal(ids, expected, sizeof(ids));
  mlxcel_engine_close(workers[1].engine);
}

typedef struct opener_t {
  atomic_bool done;
  size_t rounds;
} opener_t;

// Opens and closes devices until told to stop.
static void* run_opener(void* argument) {
  opener_t* opener = argument;
  while (!atomic_load(&opener->done)) {
    char* devices = NULL;
    mlxcel_error_t* error = mlxcel_devices(&devices);
    mlxcel_free(devices);
    mlxcel_error_free(error);
    if (!error) ++opener->rounds;
  }
  return NULL;
}

// Registering IREE's types a second time would zero them under a running call.
static void api_engine_answers_while_another_thread_opens_devices(void** state) {
  setting_t* setting = setting_of(state);
  mlxcel_engine_options_t options = make_options(setting);
  mlxcel_engine_t* engine = open_engine(&options);
  int32_t expected[kAnswerCount], got[kAnswerCount];
  answer_fresh(engine, expected);
  opener_t opener = {0};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, run_opener, &opener), 0);
  for (int i = 0; i < 40; ++i) {
    answer_fresh(engine, got);
    assert_memory_equal(got, expected, sizeof(expected));
  }
  atomic_store(&opener.done, true);
  pthread_join(thread, NULL);
  assert_true(opener.rounds > 0);
  mlxcel_engine_close(engine);
}

static void api_engine_compile_refuses_a_device_that_generate_refuses(void** state) {
  setting_t* setting = setting_of(state);
  mlxcel_engine_options_t options = make_options(setting);
  options.device = "cuda";
  mlxcel_error_t* error = mlxcel_engine_compile(&options, NULL, NULL);
  assert_non_null(error);
  assert_string_equal(mlxcel_error_stage(error), "device");
  mlxcel_error_free(error);
}

typedef struct stream_t {
  mlxcel_engine_t* engine;
  int32_t ids[kAnswerCount];
  size_t count;
  char text[256];
  size_t text_size;
} stream_t;

// Calls back into the engine: its text functions need no lock that a running request holds.
static bool on_stream_event(void* user_data, const mlxcel_event_t* event) {
  stream_t* stream = user_data;
  int32_t* ids = NULL;
  size_t count = 0;
  expect_no_error(mlxcel_tokenize(stream->engine, "ab", 2, false, &ids, &count));
  assert_int_equal(count, 2);
  mlxcel_free(ids);
  if (event->token >= 0) {
    for (uint32_t i = 0; i < TEST_VOCAB; ++i) assert_true(event->logits[event->token] >= event->logits[i]);
    stream->ids[stream->count++] = event->token;
  }
  memcpy(stream->text + stream->text_size, event->text, event->text_size);
  stream->text_size += event->text_size;
  return true;
}

static void api_events_join_to_the_result(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  stream_t stream = {.engine = open_engine(&options)};
  mlxcel_session_t* session = open_session(stream.engine);
  mlxcel_request_t request = make_request();
  request.on_event = on_stream_event;
  request.user_data = &stream;
  mlxcel_result_t result;
  expect_no_error(mlxcel_session_generate(session, &request, &result));
  assert_int_equal(stream.count, result.count);
  assert_memory_equal(stream.ids, result.ids, result.count * sizeof(result.ids[0]));
  assert_int_equal(stream.text_size, result.text_size);
  assert_memory_equal(stream.text, result.text, result.text_size);
  assert_int_equal(result.prefill_tokens, kPromptCount);
  assert_int_equal(result.decode_tokens, kAnswerCount - 1);
  assert_true(result.prefill_seconds > 0.0 && result.decode_seconds > 0.0 && result.first_token_seconds >= result.prefill_seconds);
  mlxcel_result_release(&result);
  mlxcel_session_close(session);
  mlxcel_engine_close(stream.engine);
}

static void api_logit_bias_forces_eos_of_generation_config(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  mlxcel_engine_t* engine = open_engine(&options);
  mlxcel_session_t* session = open_session(engine);
  const mlxcel_logit_bias_t bias[] = {{.token = TEST_END, .bias = 1000.0f}};
  mlxcel_request_t request = make_request();
  request.ignore_eos = false;
  request.sampling.logit_bias = bias;
  request.sampling.logit_bias_count = 1;
  mlxcel_result_t result;
  expect_no_error(mlxcel_session_generate(session, &request, &result));
  assert_int_equal(result.count, 1);
  assert_int_equal(result.ids[0], TEST_END);
  assert_int_equal(result.text_size, 0);
  assert_int_equal(result.finish_reason, MLXCEL_FINISH_STOP);
  assert_string_equal(mlxcel_finish_reason_name(result.finish_reason), "stop");
  mlxcel_result_release(&result);
  mlxcel_session_close(session);
  mlxcel_engine_close(engine);
}

// --- text ----------------------------------------------------------------------------------------------------------------------------------------
static void api_text_goes_to_ids_and_back(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  mlxcel_engine_t* engine = open_engine(&options);
  const char text[] = "caf\xc3\xa9 \xf0\x9f\x98\xb8";
  int32_t* ids = NULL;
  size_t count = 0, size = 0;
  char* back = NULL;
  expect_no_error(mlxcel_tokenize(engine, text, sizeof(text) - 1, true, &ids, &count));
  assert_int_equal(count, sizeof(text));
  assert_int_equal(ids[0], TEST_BOS);
  assert_int_equal(ids[4], 0xc3);
  expect_no_error(mlxcel_detokenize(engine, ids, count, true, &back, &size));
  assert_string_equal(back, text);
  assert_int_equal(size, sizeof(text) - 1);
  mlxcel_free(back);
  expect_no_error(mlxcel_detokenize(engine, ids, count, false, &back, &size));
  assert_ptr_equal(strstr(back, "<s>caf"), back);
  mlxcel_free(back);
  mlxcel_free(ids);
  mlxcel_engine_close(engine);
}

// shared/cases 3: a template that writes BOS, a plain text that doesn't.
static void api_prompts_have_exactly_one_bos(void** state) {
  mlxcel_engine_options_t options = make_options(setting_of(state));
  mlxcel_engine_t* engine = open_engine(&options);
  char* text = NULL;
  size_t size = 0, count = 0;
  int32_t* ids = NULL;
  expect_no_error(mlxcel_chat_render(engine, "[{\"role\": \"user\", \"content\": \"hi\"}]", true, &text, &size));
  assert_string_equal(text, "<s>user:hi<|end|>assistant:");
  assert_int_equal(size, strlen(text));
  expect_no_error(mlxcel_tokenize(engine, text, size, false, &ids, &count));
  assert_int_equal(ids[0], TEST_BOS);
  assert_int_equal(ids[1], 'u');
  assert_int_equal(ids[8], TEST_END);
  mlxcel_free(ids);
  mlxcel_free(text);
  expect_no_error(mlxcel_tokenize(engine, "hi", 2, true, &ids, &count));
  assert_int_equal(count, 3);
  assert_int_equal(ids[0], TEST_BOS);
  assert_int_equal(ids[1], 'h');
  mlxcel_free(ids);
  expect_no_error(mlxcel_chat_render(engine, "[{\"role\": \"user\", \"content\": \"hi\"}]", false, &text, &size));
  assert_string_equal(text, "<s>user:hi<|end|>");
  mlxcel_free(text);
  mlxcel_error_t* error = mlxcel_chat_render(engine, "{]", true, &text, &size);
  assert_null(text);
  assert_null(strstr(mlxcel_error_message(error), "chat template:"));
  expect_error(error, MLXCEL_ERROR_INVALID_ARGUMENT, "chat template", "");
  mlxcel_engine_close(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(api_engine_compiles_once_and_then_hits_the_cache),
      cmocka_unit_test(api_engine_reports_what_it_loaded),
      cmocka_unit_test(api_engine_compiles_for_its_number_of_workers),
      cmocka_unit_test(api_engine_starts_warm_without_a_compiler),
      cmocka_unit_test(api_engine_without_a_compiler_refuses_a_module_of_another_compiler_by_name),
      cmocka_unit_test(api_engine_refuses_a_closed_profile_before_it_compiles),
      cmocka_unit_test(api_engine_answers_while_another_thread_opens_devices),
      cmocka_unit_test(api_engine_compile_refuses_a_device_that_generate_refuses),
      cmocka_unit_test(api_engine_context_is_the_callers),
      cmocka_unit_test(api_engine_compile_can_be_cancelled),
      cmocka_unit_test(api_answers_do_not_depend_on_device_threads_chunks_or_slots),
      cmocka_unit_test(api_session_reuses_its_prefix_without_changing_the_answer),
      cmocka_unit_test(api_sessions_take_and_return_slots),
      cmocka_unit_test(api_sessions_of_several_threads_answer_as_alone),
      cmocka_unit_test(api_engines_of_one_folder_answer_in_two_threads),
      cmocka_unit_test(api_events_join_to_the_result),
      cmocka_unit_test(api_logit_bias_forces_eos_of_generation_config),
      cmocka_unit_test(api_text_goes_to_ids_and_back),
      cmocka_unit_test(api_prompts_have_exactly_one_bos),
  };
  return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
