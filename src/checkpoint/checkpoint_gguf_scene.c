#include "checkpoint/checkpoint_gguf_scene.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "checkpoint/checkpoint_test_util.h"

static void scene_start(scene_t* out_scene) {
  out_scene->folder = test_folder_create();
  expect_ok(mlxcel_path_join(out_scene->folder, IREE_SV("model"), &out_scene->output));
  gguf_builder_initialize(&out_scene->builder);
}

void scene_end(scene_t* scene) {
  gguf_builder_deinitialize(&scene->builder);
  free(scene->output);
  test_folder_remove(scene->folder);
}

iree_status_t scene_import(scene_t* scene, bool overwrite) {
  mlxcel_gguf_import_options_t options;
  mlxcel_gguf_import_options_initialize(&options);
  options.overwrite = overwrite;
  char* path = gguf_builder_write(&scene->builder, scene->folder, "m.gguf");
  iree_status_t status = mlxcel_gguf_import(path, scene->output, &options);
  free(path);
  return status;
}

void scene_start_tiny(scene_t* out_scene, const gguf_tiny_t* options) {
  scene_start(out_scene);
  gguf_add_tiny(&out_scene->builder, options);
}

size_t scene_remains(const scene_t* scene) {
  size_t count = 0;
  DIR* folder = opendir(scene->folder);
  assert_non_null(folder);
  for (const struct dirent* entry = readdir(folder); entry; entry = readdir(folder)) {
    bool is_expected =
        strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || strcmp(entry->d_name, "m.gguf") == 0 || strcmp(entry->d_name, "model") == 0;
    count += !is_expected;
  }
  closedir(folder);
  return count;
}

void scene_expect_refused(scene_t* scene, iree_status_code_t code, const char* part) {
  expect_error(scene_import(scene, false), code, "m.gguf", part, NULL);
  assert_false(mlxcel_path_exists(scene->output));
  assert_int_equal(scene_remains(scene), 0);
  scene_end(scene);
}

json_t* scene_json(const scene_t* scene, const char* name) {
  char* path = NULL;
  json_t* value = NULL;
  expect_ok(mlxcel_path_join(scene->output, iree_make_cstring_view(name), &path));
  expect_ok(mlxcel_json_read_file(path, MLXCEL_TOKENIZER_FILE_BYTES_MAX, &value));
  free(path);
  return value;
}

mlxcel_checkpoint_t* scene_open(const scene_t* scene) {
  mlxcel_checkpoint_t* checkpoint = NULL;
  expect_ok(mlxcel_checkpoint_open(scene->output, &checkpoint));
  return checkpoint;
}
