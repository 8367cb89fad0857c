// Waits on semaphores as the runtime makes them. Linked with the runtime, IREE's function is the one of semaphore_wait.c.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "iree/async/semaphore.h"
#include "iree/async/util/proactor_pool.h"

#define SHORT_MS 20  // long enough for a thread to reach its wait

static iree_async_proactor_pool_t* proactors;

static int group_setup(void** state) {
  (void)state;
  iree_status_t status = iree_async_proactor_pool_create(1, NULL, iree_async_proactor_pool_options_default(), iree_allocator_system(), &proactors);
  return iree_status_consume_code(status) == IREE_STATUS_OK ? 0 : 1;
}

static int group_teardown(void** state) {
  (void)state;
  iree_async_proactor_pool_release(proactors);
  return 0;
}

static iree_async_semaphore_t* create_semaphore(void) {
  iree_async_proactor_t* proactor = NULL;
  assert_true(iree_status_is_ok(iree_async_proactor_pool_get(proactors, 0, &proactor)));
  iree_async_semaphore_t* semaphore = NULL;
  iree_status_t status = iree_async_semaphore_create(proactor, 0, IREE_ASYNC_SEMAPHORE_DEFAULT_FRONTIER_CAPACITY, iree_allocator_system(), &semaphore);
  assert_true(iree_status_is_ok(status));
  return semaphore;
}

static iree_status_t wait_for(iree_async_semaphore_t* semaphore, uint64_t value, iree_timeout_t timeout) {
  return iree_async_semaphore_multi_wait(IREE_ASYNC_WAIT_MODE_ALL, &semaphore, &value, 1, timeout, IREE_ASYNC_WAIT_FLAG_NONE, iree_allocator_system());
}

static void expect_failure(iree_status_t status, iree_status_code_t code) {
  assert_int_equal(iree_status_code(status), code);
  iree_status_ignore(status);
}

static void sleep_shortly(void) {
  const struct timespec time = {.tv_nsec = SHORT_MS * 1000000L};
  nanosleep(&time, NULL);
}

// A thread that waits, and what came of it.
typedef struct waiting_t {
  iree_async_semaphore_t* semaphore;
  uint64_t value;
  pthread_t thread;
  atomic_bool is_done;
  iree_status_t status;
} waiting_t;

static void* waiting_run(void* argument) {
  waiting_t* waiting = argument;
  waiting->status = wait_for(waiting->semaphore, waiting->value, iree_infinite_timeout());
  atomic_store(&waiting->is_done, true);
  return NULL;
}

static void waiting_start(iree_async_semaphore_t* semaphore, uint64_t value, waiting_t* waiting) {
  *waiting = (waiting_t){.semaphore = semaphore, .value = value};
  assert_int_equal(pthread_create(&waiting->thread, NULL, waiting_run, waiting), 0);
}

static iree_status_t waiting_finish(waiting_t* waiting) {
  assert_int_equal(pthread_join(waiting->thread, NULL), 0);
  return waiting->status;
}

static void runtime_wait_returns_at_once_where_the_value_is_reached(void** state) {
  (void)state;
  iree_async_semaphore_t* semaphore = create_semaphore();
  assert_true(iree_status_is_ok(wait_for(semaphore, 0, iree_infinite_timeout())));
  assert_true(iree_status_is_ok(iree_async_semaphore_signal(semaphore, 5, NULL)));
  assert_true(iree_status_is_ok(wait_for(semaphore, 5, iree_infinite_timeout())));
  assert_true(iree_status_is_ok(wait_for(semaphore, 3, iree_infinite_timeout())));
  iree_async_semaphore_release(semaphore);
}

static void runtime_wait_ends_with_its_value_and_not_before(void** state) {
  (void)state;
  iree_async_semaphore_t* semaphore = create_semaphore();
  waiting_t first, second;
  waiting_start(semaphore, 1, &first);
  waiting_start(semaphore, 2, &second);
  sleep_shortly();
  assert_false(atomic_load(&first.is_done) || atomic_load(&second.is_done));
  assert_true(iree_status_is_ok(iree_async_semaphore_signal(semaphore, 1, NULL)));
  assert_true(iree_status_is_ok(waiting_finish(&first)));
  sleep_shortly();
  assert_false(atomic_load(&second.is_done));
  assert_true(iree_status_is_ok(iree_async_semaphore_signal(semaphore, 7, NULL)));
  assert_true(iree_status_is_ok(waiting_finish(&second)));
  iree_async_semaphore_release(semaphore);
}

// The code of what failed, whether the waiter was there before it or came after it; IREE leaves the words with the semaphore.
static void runtime_wait_returns_the_error_of_a_failed_semaphore(void** state) {
  (void)state;
  iree_async_semaphore_t* semaphore = create_semaphore();
  waiting_t before;
  waiting_start(semaphore, 1, &before);
  sleep_shortly();
  iree_async_semaphore_fail(semaphore, iree_make_status(IREE_STATUS_DATA_LOSS, "the kernel fell over"));
  expect_failure(waiting_finish(&before), IREE_STATUS_DATA_LOSS);
  expect_failure(wait_for(semaphore, 1, iree_infinite_timeout()), IREE_STATUS_DATA_LOSS);
  iree_async_semaphore_release(semaphore);
}

// These are IREE's own: a wait with an end, and one for several semaphores.
static void runtime_other_waits_are_as_they_were(void** state) {
  (void)state;
  iree_async_semaphore_t* semaphores[] = {create_semaphore(), create_semaphore()};
  expect_failure(wait_for(semaphores[0], 1, iree_make_timeout_ms(SHORT_MS)), IREE_STATUS_DEADLINE_EXCEEDED);
  expect_failure(wait_for(semaphores[0], 1, iree_immediate_timeout()), IREE_STATUS_DEADLINE_EXCEEDED);
  for (int i = 0; i < 2; ++i) assert_true(iree_status_is_ok(iree_async_semaphore_signal(semaphores[i], 4, NULL)));
  const uint64_t values[] = {4, 2};
  assert_true(iree_status_is_ok(iree_async_semaphore_multi_wait(IREE_ASYNC_WAIT_MODE_ALL, semaphores, values, 2, iree_infinite_timeout(),
                                                                IREE_ASYNC_WAIT_FLAG_NONE, iree_allocator_system())));
  for (int i = 0; i < 2; ++i) iree_async_semaphore_release(semaphores[i]);
}

enum { kRounds = 20000, kPairs = 2 };

// Two threads that take turns: each waits for the other's value.
typedef struct player_t {
  iree_async_semaphore_t *mine, *other;
  bool begins;
  pthread_t thread;
  uint64_t rounds;
} player_t;

// No assertions: cmocka's belong to the main thread.
static void* player_run(void* argument) {
  player_t* player = argument;
  for (uint64_t i = 1; i <= kRounds; ++i) {
    iree_status_t status = player->begins ? iree_async_semaphore_signal(player->mine, i, NULL) : iree_ok_status();
    if (iree_status_is_ok(status)) status = wait_for(player->other, i, iree_infinite_timeout());
    if (iree_status_is_ok(status) && !player->begins) status = iree_async_semaphore_signal(player->mine, i, NULL);
    if (!iree_status_is_ok(status)) {
      iree_status_ignore(status);
      break;
    }
    player->rounds = i;
  }
  return NULL;
}

// A waiter is gone as soon as it wakes, while the thread that woke it may still be in its callback.
static void runtime_many_short_waits_of_several_threads_end(void** state) {
  (void)state;
  iree_async_semaphore_t* semaphores[2 * kPairs];
  player_t players[2 * kPairs];
  for (size_t i = 0; i < 2 * kPairs; ++i) semaphores[i] = create_semaphore();
  for (size_t i = 0; i < 2 * kPairs; ++i) {
    players[i] = (player_t){.mine = semaphores[i], .other = semaphores[i ^ 1u], .begins = i % 2 == 0};
    assert_int_equal(pthread_create(&players[i].thread, NULL, player_run, &players[i]), 0);
  }
  for (size_t i = 0; i < 2 * kPairs; ++i) pthread_join(players[i].thread, NULL);
  for (size_t i = 0; i < 2 * kPairs; ++i) {
    assert_int_equal(players[i].rounds, kRounds);
    iree_async_semaphore_release(semaphores[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runtime_wait_returns_at_once_where_the_value_is_reached), cmocka_unit_test(runtime_wait_ends_with_its_value_and_not_before),
      cmocka_unit_test(runtime_wait_returns_the_error_of_a_failed_semaphore),    cmocka_unit_test(runtime_other_waits_are_as_they_were),
      cmocka_unit_test(runtime_many_short_waits_of_several_threads_end),
  };
  return cmocka_run_group_tests_name("semaphore_wait", tests, group_setup, group_teardown);
}
