// api_pages.h: a thread that moves a checkpoint's files onto huge pages while the engine goes on loading, and answering.
#ifndef MLXCEL_API_API_PAGES_H_
#define MLXCEL_API_API_PAGES_H_

#include <pthread.h>
#include <stdatomic.h>

#include "checkpoint/checkpoint.h"

// Values of mlxcel_engine_options_t.huge_pages.
#define MLXCEL_HUGE_PAGES_AUTO "auto"
#define MLXCEL_HUGE_PAGES_OFF "off"

typedef struct mlxcel_api_pages_t {
  const mlxcel_checkpoint_t* checkpoint;
  atomic_bool stop;
  pthread_t thread;
  bool has_thread;
} mlxcel_api_pages_t;

// |checkpoint| is borrowed until mlxcel_api_pages_finish. Without a thread nothing is moved: the files work as they are.
void mlxcel_api_pages_start(const mlxcel_checkpoint_t* checkpoint, mlxcel_api_pages_t* pages);
// Stops the thread and waits for it; nothing happens if none was started.
void mlxcel_api_pages_finish(mlxcel_api_pages_t* pages);

#endif  // MLXCEL_API_API_PAGES_H_
