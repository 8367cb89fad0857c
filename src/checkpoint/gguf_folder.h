// gguf_folder.h: an output folder that appears at once, with everything in it, or not at all.
//
// The files are written to a temporary folder beside it, ".<name>.import-XXXXXX", which is renamed at the end. A lock on the temporary folder tells a
// running import from one that was killed; what killed ones left is removed by the next import to the same place. An existing folder is replaced
// only on request and only if it holds nothing but what an import wrote.
#ifndef MLXCEL_CHECKPOINT_GGUF_FOLDER_H_
#define MLXCEL_CHECKPOINT_GGUF_FOLDER_H_

#include "base/base.h"

typedef struct mlxcel_gguf_folder_t {
  char* target;  // the folder that is to appear
  char* parent;
  char* temporary;  // NULL when there is none any more
  int lock;         // the temporary folder, held open and locked
} mlxcel_gguf_folder_t;

// Refuses an existing target that mustn't be replaced, before any work is done.
iree_status_t mlxcel_gguf_folder_check(const char* target, bool overwrite);
// Makes the temporary folder (and the target's parents). End with publish or abandon, then deinitialize is implied.
iree_status_t mlxcel_gguf_folder_begin(const char* target, mlxcel_gguf_folder_t* out_folder);
// Renames the temporary folder to the target; an existing target is exchanged and removed. Frees everything, also on failure.
iree_status_t mlxcel_gguf_folder_publish(mlxcel_gguf_folder_t* folder, bool overwrite);
// Removes the temporary folder and frees everything.
void mlxcel_gguf_folder_abandon(mlxcel_gguf_folder_t* folder);

#endif  // MLXCEL_CHECKPOINT_GGUF_FOLDER_H_
