// How an import appears: at once or not at all, and never over somebody else's files.
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "checkpoint/checkpoint_gguf_scene.h"
#include "checkpoint/checkpoint_test_util.h"

static void gguf_import_makes_missing_parents_and_replaces_an_empty_folder(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  expect_ok(mlxcel_directory_create(scene.output));
  expect_ok(scene_import(&scene, false));
  free(scene.output);
  expect_ok(mlxcel_path_join(scene.folder, IREE_SV("model/deep/er"), &scene.output));
  expect_ok(scene_import(&scene, false));
  struct stat info;
  assert_int_equal(stat(scene.output, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0755);
  mlxcel_checkpoint_close(scene_open(&scene));
  scene_end(&scene);
}

static void gguf_import_replaces_only_its_own_folders_and_only_on_request(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16, .is_tied = true});
  expect_ok(scene_import(&scene, false));
  expect_error(scene_import(&scene, false), IREE_STATUS_ALREADY_EXISTS, scene.output, "isn't empty", NULL);
  gguf_add_u32(&scene.builder, "tokenizer.ggml.padding_token_id", 7);
  expect_ok(scene_import(&scene, true));
  assert_int_equal(scene_remains(&scene), 0);
  json_t* config = scene_json(&scene, "config.json");
  assert_int_equal(json_integer_value(json_object_get(config, "pad_token_id")), 7);
  json_decref(config);
  test_text_write(scene.output, "notes.txt", "mine");
  expect_error(scene_import(&scene, true), IREE_STATUS_FAILED_PRECONDITION, scene.output, "notes.txt", NULL);
  scene_end(&scene);
}

static void gguf_import_never_replaces_a_checkpoint_of_other_origin(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  expect_ok(mlxcel_directory_create(scene.output));
  static const char header[] = "\x20\0\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"}}  ";
  test_file_write(scene.output, "model.safetensors", header, sizeof(header) - 1);
  expect_error(scene_import(&scene, true), IREE_STATUS_FAILED_PRECONDITION, scene.output, "no import wrote", NULL);
  scene_end(&scene);
}

static void gguf_import_refuses_targets_that_are_no_folder(void** state) {
  (void)state;
  static const struct {
    const char* target;
    iree_status_code_t code;
    const char* part;
  } cases[] = {
      {"m.gguf", IREE_STATUS_ALREADY_EXISTS, "isn't a folder"},
      {"model/..", IREE_STATUS_INVALID_ARGUMENT, "can't be made"},
      {"m.gguf/model", IREE_STATUS_NOT_FOUND, "m.gguf"},
  };
  for (size_t i = 0; i < IREE_ARRAYSIZE(cases); ++i) {
    scene_t scene;
    scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
    free(scene.output);
    expect_ok(mlxcel_path_join(scene.folder, iree_make_cstring_view(cases[i].target), &scene.output));
    expect_error(scene_import(&scene, true), cases[i].code, cases[i].part, NULL);
    assert_int_equal(scene_remains(&scene), 0);
    scene_end(&scene);
  }
}

static void gguf_import_leaves_nothing_when_the_disk_is_full(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F32});
  expect_ok(scene_import(&scene, false));
  json_t* before = scene_json(&scene, "config.json");
  gguf_add_u32(&scene.builder, "tokenizer.ggml.padding_token_id", 7);
  char* path = gguf_builder_write(&scene.builder, scene.folder, "m.gguf");
  struct rlimit old_limit;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  signal(SIGXFSZ, SIG_IGN);
  // 600 bytes is enough for nothing, 30000 for the weights' first tensors.
  static const rlim_t limits[] = {600, 30000};
  for (size_t i = 0; i < IREE_ARRAYSIZE(limits); ++i) {
    struct rlimit limit = {.rlim_cur = limits[i], .rlim_max = old_limit.rlim_max};
    mlxcel_gguf_import_options_t options = {.overwrite = true};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    iree_status_t status = mlxcel_gguf_import(path, scene.output, &options);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    expect_error(status, IREE_STATUS_UNAVAILABLE, "model.safetensors", NULL);
    assert_int_equal(scene_remains(&scene), 0);
    json_t* after = scene_json(&scene, "config.json");
    assert_true(json_equal(before, after));
    json_decref(after);
  }
  free(path);
  json_decref(before);
  scene_end(&scene);
}

static void gguf_import_removes_what_a_killed_import_left(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_F16});
  char *dead = NULL, *alive = NULL, *other = NULL;
  expect_ok(mlxcel_path_join(scene.folder, IREE_SV(".model.import-dead00"), &dead));
  expect_ok(mlxcel_path_join(scene.folder, IREE_SV(".model.import-alive0"), &alive));
  expect_ok(mlxcel_path_join(scene.folder, IREE_SV(".model2.import-dead0"), &other));
  expect_ok(mlxcel_directory_create(dead));
  expect_ok(mlxcel_directory_create(alive));
  expect_ok(mlxcel_directory_create(other));
  test_text_write(dead, "model.safetensors", "half");
  DIR* running = opendir(alive);
  assert_int_equal(flock(dirfd(running), LOCK_EX | LOCK_NB), 0);
  expect_ok(scene_import(&scene, false));
  assert_false(mlxcel_path_exists(dead));
  assert_true(mlxcel_path_exists(alive));
  assert_true(mlxcel_path_exists(other));
  closedir(running);
  free(dead);
  free(alive);
  free(other);
  scene_end(&scene);
}

static void note_progress(void* user_data, uint64_t done_bytes, uint64_t total_bytes) {
  uint64_t* seen = user_data;
  assert_true(done_bytes >= seen[0] && done_bytes <= total_bytes);
  seen[0] = done_bytes;
  seen[1] = total_bytes;
}

static void gguf_import_reports_progress_up_to_the_end(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_0});
  uint64_t seen[2] = {0, 0};
  mlxcel_gguf_import_options_t options = {.progress = note_progress, .user_data = seen};
  char* path = gguf_builder_write(&scene.builder, scene.folder, "m.gguf");
  expect_ok(mlxcel_gguf_import(path, scene.output, &options));
  char* weights = NULL;
  struct stat info;
  expect_ok(mlxcel_path_join(scene.output, IREE_SV("model.safetensors"), &weights));
  assert_int_equal(stat(weights, &info), 0);
  assert_int_equal(seen[0], info.st_size);
  assert_int_equal(seen[1], info.st_size);
  free(weights);
  free(path);
  scene_end(&scene);
}

static bool cancel_at_third_question(void* user_data) { return ++*(int*)user_data == 3; }

static void gguf_import_leaves_nothing_when_it_is_cancelled(void** state) {
  (void)state;
  scene_t scene;
  scene_start_tiny(&scene, &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_0});
  int questions = 0;
  mlxcel_gguf_import_options_t options = {.is_cancelled = cancel_at_third_question, .user_data = &questions};
  char* path = gguf_builder_write(&scene.builder, scene.folder, "m.gguf");
  expect_error(mlxcel_gguf_import(path, scene.output, &options), IREE_STATUS_CANCELLED, path, "interrupted", NULL);
  assert_int_equal(questions, 3);
  assert_false(mlxcel_path_exists(scene.output));
  assert_int_equal(scene_remains(&scene), 0);
  free(path);
  scene_end(&scene);
}

static void gguf_import_gives_the_same_bytes_every_time(void** state) {
  (void)state;
  static const char* const files[] = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"};
  scene_t scenes[2];
  for (size_t i = 0; i < 2; ++i) {
    scene_start_tiny(&scenes[i], &(gguf_tiny_t){.matrices = MLXCEL_GGUF_TENSOR_Q4_0});
    expect_ok(scene_import(&scenes[i], false));
  }
  for (size_t i = 0; i < IREE_ARRAYSIZE(files); ++i) {
    char* contents[2];
    size_t sizes[2];
    for (size_t j = 0; j < 2; ++j) {
      char* path = NULL;
      expect_ok(mlxcel_path_join(scenes[j].output, iree_make_cstring_view(files[i]), &path));
      expect_ok(mlxcel_file_read(path, 1u << 30, &contents[j], &sizes[j]));
      free(path);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(contents[0], contents[1], sizes[0]);
    free(contents[0]);
    free(contents[1]);
  }
  for (size_t i = 0; i < 2; ++i) scene_end(&scenes[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gguf_import_makes_missing_parents_and_replaces_an_empty_folder),
      cmocka_unit_test(gguf_import_replaces_only_its_own_folders_and_only_on_request),
      cmocka_unit_test(gguf_import_never_replaces_a_checkpoint_of_other_origin),
      cmocka_unit_test(gguf_import_refuses_targets_that_are_no_folder),
      cmocka_unit_test(gguf_import_leaves_nothing_when_the_disk_is_full),
      cmocka_unit_test(gguf_import_removes_what_a_killed_import_left),
      cmocka_unit_test(gguf_import_reports_progress_up_to_the_end),
      cmocka_unit_test(gguf_import_leaves_nothing_when_it_is_cancelled),
      cmocka_unit_test(gguf_import_gives_the_same_bytes_every_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
