// checkpoint_gguf_scene.h: an import of a GGUF file made in memory, in a temporary folder of its own.
#ifndef MLXCEL_CHECKPOINT_CHECKPOINT_GGUF_SCENE_H_
#define MLXCEL_CHECKPOINT_CHECKPOINT_GGUF_SCENE_H_

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_gguf_builder.h"
#include "checkpoint/gguf_import.h"

// A folder with a GGUF file to be made, "m.gguf", and the place of the import, "model".
typedef struct scene_t {
  char* folder;
  char* output;
  gguf_builder_t builder;
} scene_t;

// The builder holds what gguf_add_tiny puts there.
void scene_start_tiny(scene_t* out_scene, const gguf_tiny_t* options);
void scene_end(scene_t* scene);
// Writes the file and imports it.
iree_status_t scene_import(scene_t* scene, bool overwrite);
// Entries of the scene's folder besides the file and the finished import: what an import left lying about.
size_t scene_remains(const scene_t* scene);
// The import must fail with |code| and a message with |part|, and leave nothing. Ends the scene.
void scene_expect_refused(scene_t* scene, iree_status_code_t code, const char* part);
// A JSON file of the import; the caller owns it.
json_t* scene_json(const scene_t* scene, const char* name);
// The import as a checkpoint; closed by the caller.
mlxcel_checkpoint_t* scene_open(const scene_t* scene);

#endif  // MLXCEL_CHECKPOINT_CHECKPOINT_GGUF_SCENE_H_
