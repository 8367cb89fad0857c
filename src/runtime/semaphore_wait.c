// Waiting for a device's semaphore without holding up the worker that signals it.
//
// IREE's own wait keeps its timepoint on the waiter's stack: a waiter that wakes before the signalling worker has left its callback spins until it has. Where
// every processor has a worker, the waiter usually wakes on the very processor of the worker it waits for and burns a scheduler's time slice there, 0.8 ms of
// an 8 ms decode step on two processors. Here the timepoint has storage of its own, freed by whichever side is done last, and IREE's function is asked when the
// semaphore has already been reached. The linker puts this in front of IREE's function (--wrap, see CMakeLists.txt).
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "iree/async/semaphore.h"

typedef struct semaphore_waiter_t {
  iree_async_semaphore_timepoint_t timepoint;
  sem_t fired;
  atomic_int owners;  // the waiter, and the callback until it has run
} semaphore_waiter_t;

static void waiter_release(semaphore_waiter_t* waiter) {
  if (atomic_fetch_sub_explicit(&waiter->owners, 1, memory_order_acq_rel) != 1) return;
  sem_destroy(&waiter->fired);
  free(waiter);
}

// Failures are read from the semaphore afterwards, by IREE's function.
static void waiter_fire(void* user_data, iree_async_semaphore_timepoint_t* timepoint, iree_status_t status) {
  (void)timepoint;
  semaphore_waiter_t* waiter = user_data;
  iree_status_ignore(status);
  sem_post(&waiter->fired);
  waiter_release(waiter);
}

static void wait_until_fired(iree_async_semaphore_t* semaphore, uint64_t value) {
  semaphore_waiter_t* waiter = calloc(1, sizeof(*waiter));
  if (!waiter) return;  // IREE's own wait follows
  waiter->timepoint.callback = waiter_fire;
  waiter->timepoint.user_data = waiter;
  atomic_init(&waiter->owners, 2);
  sem_init(&waiter->fired, 0, 0);
  iree_status_t status = iree_async_semaphore_acquire_timepoint(semaphore, value, &waiter->timepoint);
  if (iree_status_is_ok(status)) {
    while (sem_wait(&waiter->fired) != 0 && errno == EINTR) continue;
  } else {
    iree_status_ignore(status);
    atomic_store_explicit(&waiter->owners, 1, memory_order_relaxed);  // no callback will come
  }
  waiter_release(waiter);
}

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's names
iree_status_t __real_iree_async_semaphore_multi_wait(iree_async_wait_mode_t wait_mode, iree_async_semaphore_t** semaphores, const uint64_t* minimum_values,
                                                     iree_host_size_t count, iree_timeout_t timeout, iree_async_wait_flags_t flags, iree_allocator_t allocator);
iree_status_t __wrap_iree_async_semaphore_multi_wait(iree_async_wait_mode_t wait_mode, iree_async_semaphore_t** semaphores, const uint64_t* minimum_values,
                                                     iree_host_size_t count, iree_timeout_t timeout, iree_async_wait_flags_t flags, iree_allocator_t allocator);

iree_status_t __wrap_iree_async_semaphore_multi_wait(iree_async_wait_mode_t wait_mode, iree_async_semaphore_t** semaphores, const uint64_t* minimum_values,
                                                     iree_host_size_t count, iree_timeout_t timeout, iree_async_wait_flags_t flags,
                                                     iree_allocator_t allocator) {
  if (count == 1 && iree_timeout_is_infinite(timeout)) wait_until_fired(semaphores[0], minimum_values[0]);
  return __real_iree_async_semaphore_multi_wait(wait_mode, semaphores, minimum_values, count, timeout, flags, allocator);
}
// NOLINTEND(bugprone-reserved-identifier)
