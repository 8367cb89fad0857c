#include "api/api_pages.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"

#define PAGES_NICENESS 10  // a tenth of a processor that others want: loading and the first tokens go first

static void* pages_run(void* argument) {
  mlxcel_api_pages_t* pages = argument;
  setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), PAGES_NICENESS);  // of this thread; a refusal leaves it as it is
  uint64_t moved = mlxcel_checkpoint_move_to_huge_pages(pages->checkpoint, &pages->stop);
  mlxcel_log(MLXCEL_LOG_DEBUG, "%" PRIu64 " bytes of weights are on huge pages", moved);
  return NULL;
}

void mlxcel_api_pages_start(const mlxcel_checkpoint_t* checkpoint, mlxcel_api_pages_t* pages) {
  pages->checkpoint = checkpoint;
  atomic_init(&pages->stop, false);
  pages->has_thread = pthread_create(&pages->thread, NULL, pages_run, pages) == 0;
}

void mlxcel_api_pages_finish(mlxcel_api_pages_t* pages) {
  if (!pages->has_thread) return;
  atomic_store(&pages->stop, true);
  pthread_join(pages->thread, NULL);
  pages->has_thread = false;
}
