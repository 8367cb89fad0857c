#include "engine/sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/mock_backend.h"

// One sequence over a mock, a request and everything that its events said.
typedef struct fixture_t {
  mock_backend_t mock;
  mock_text_t text;
  mlxcel_sequence_t* sequence;
  mlxcel_request_t request;
  mlxcel_result_t result;
  char shown[512];  // texts of all events, joined
  size_t shown_size;
  int32_t event_tokens[MOCK_CONTEXT_MAX];
  size_t event_sizes[MOCK_CONTEXT_MAX];
  size_t event_count;
  size_t stop_after_event;  // on_event returns false at this event (from 1); 0 = never
  size_t cancel_at_poll;    // the poll (from 1) that says yes; 0 = never
  size_t poll_count;
} fixture_t;

static const int32_t k_prompt[] = {'p', 'r', 'o', 'm', 'p', 't', '!', ' ', '.', ':'};
enum { kPromptCount = sizeof(k_prompt) / sizeof(k_prompt[0]) };

static bool fixture_on_event(void* user_data, const mlxcel_event_t* event) {
  fixture_t* fixture = user_data;
  assert_true(fixture->event_count < MOCK_CONTEXT_MAX);
  assert_true(fixture->shown_size + event->text_size < sizeof(fixture->shown));
  if (event->token >= 0) {
    assert_int_equal(event->index, fixture->event_count);
    assert_non_null(event->logits);
    // The raw row: token 1 has its own value, whatever bias or penalties said.
    assert_true(event->logits[1] == -0.001f || event->logits[1] == 10.0f);
  } else {
    assert_null(event->logits);
    assert_true(event->text_size > 0);
  }
  memcpy(fixture->shown + fixture->shown_size, event->text, event->text_size);
  fixture->shown_size += event->text_size;
  fixture->event_tokens[fixture->event_count] = event->token;
  fixture->event_sizes[fixture->event_count] = event->text_size;
  ++fixture->event_count;
  return fixture->stop_after_event != fixture->event_count;
}

static bool fixture_cancelled(void* user_data) {
  fixture_t* fixture = user_data;
  return ++fixture->poll_count == fixture->cancel_at_poll;
}

static mlxcel_sequence_options_t make_options(uint32_t chunk) {
  return (mlxcel_sequence_options_t){.prefill_chunk = chunk, .eos = {.count = 2, .ids = {MOCK_EOS_A, MOCK_EOS_B}}};
}

static void fixture_open_with(fixture_t* fixture, uint32_t context, uint32_t rows_max, const mlxcel_sequence_options_t* options) {
  memset(fixture, 0, sizeof(*fixture));
  mock_backend_initialize(context, rows_max, &fixture->mock);
  fixture->mock.slot = options->slot;
  mock_text_initialize(&fixture->text);
  mlxcel_backend_t backend = mock_backend_interface(&fixture->mock);
  assert_true(iree_status_is_ok(mlxcel_sequence_create(&backend, options, &fixture->sequence)));
  mlxcel_request_initialize(&fixture->request);
  fixture->request.prompt_ids = k_prompt;
  fixture->request.prompt_count = kPromptCount;
  fixture->request.on_event = fixture_on_event;
  fixture->request.cancelled = fixture_cancelled;
  fixture->request.user_data = fixture;
}

static void fixture_open(fixture_t* fixture) {
  const mlxcel_sequence_options_t options = make_options(0);
  fixture_open_with(fixture, 32, 4, &options);
}

static void fixture_close(fixture_t* fixture) {
  mlxcel_result_release(&fixture->result);
  mock_text_deinitialize(&fixture->text);
  mlxcel_sequence_release(fixture->sequence);
}

static void fixture_script(fixture_t* fixture, const int32_t* tokens, uint32_t count) {
  mock_backend_set_script(&fixture->mock, (uint32_t)fixture->request.prompt_count, tokens, count);
}

static iree_status_t fixture_try(fixture_t* fixture) {
  mlxcel_result_release(&fixture->result);
  mock_backend_forget_calls(&fixture->mock);
  fixture->event_count = fixture->shown_size = fixture->poll_count = 0;
  memset(fixture->shown, 0, sizeof(fixture->shown));
  mlxcel_token_text_t text = mock_text_interface(&fixture->text);
  return mlxcel_sequence_generate(fixture->sequence, &fixture->request, &text, &fixture->result);
}

// Runs and checks what must hold for every result.
static void fixture_run(fixture_t* fixture) {
  assert_true(iree_status_is_ok(fixture_try(fixture)));
  const mlxcel_result_t* result = &fixture->result;
  assert_int_equal(result->size, sizeof(*result));
  assert_int_equal(result->text[result->text_size], 0);
  assert_int_equal(fixture->shown_size, result->text_size);
  assert_memory_equal(fixture->shown, result->text, result->text_size);
  if (result->finish_reason != MLXCEL_FINISH_CANCELLED && result->count > 0) {
    assert_int_equal(result->reused_tokens + result->prefill_tokens, fixture->request.prompt_count);
    assert_int_equal(result->decode_tokens, result->count - 1);
  }
  assert_true(result->prefill_seconds >= 0.0 && result->decode_seconds >= 0.0 && result->first_token_seconds >= 0.0);
}

static void check_result(const fixture_t* fixture, const char* text, size_t count, mlxcel_finish_reason_t reason) {
  assert_string_equal(fixture->result.text, text);
  assert_int_equal(fixture->result.count, count);
  assert_int_equal(fixture->result.finish_reason, reason);
}

static void check_calls(const fixture_t* fixture, const char* expected) {
  char calls[1024];
  mock_backend_print_calls(&fixture->mock, calls, sizeof(calls));
  assert_string_equal(calls, expected);
}

// The status has |code| and its text contains |words|; nothing is left in the result.
static void check_error(fixture_t* fixture, iree_status_t status, iree_status_code_t code, const char* words, const char* stage) {
  char text[1024];
  iree_host_size_t length = 0;
  assert_int_equal(iree_status_code(status), code);
  assert_true(iree_status_format(status, sizeof(text), text, &length));
  assert_non_null(strstr(text, words));
  assert_string_equal(mlxcel_sequence_stage(fixture->sequence), stage);
  assert_null(fixture->result.ids);
  assert_null(fixture->result.text);
  iree_status_ignore(status);
}

// --- ends --------------------------------------------------------------------------------------------------------------------------------
static void sequence_ends_at_eos_with_its_id_but_not_its_text(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'h', 'e', 'y', MOCK_EOS_A, 'x'};
  fixture_script(&fixture, script, 5);
  fixture_run(&fixture);
  check_result(&fixture, "hey", 4, MLXCEL_FINISH_STOP);
  assert_memory_equal(fixture.result.ids, script, 4 * sizeof(script[0]));
  assert_int_equal(fixture.event_count, 4);
  assert_int_equal(fixture.event_tokens[3], MOCK_EOS_A);
  assert_int_equal(fixture.event_sizes[3], 0);
  check_calls(&fixture, "p0+4 p4+4 p8+2 h1 d10 d11 d12");
  fixture_close(&fixture);
}

static void sequence_ends_at_every_member_of_the_eos_set(void** state) {
  (void)state;
  const int32_t eos[] = {MOCK_EOS_A, MOCK_EOS_B};
  for (int i = 0; i < 2; ++i) {
    fixture_t fixture;
    fixture_open(&fixture);
    const int32_t script[] = {'a', eos[i], 'x'};
    fixture_script(&fixture, script, 3);
    fixture_run(&fixture);
    check_result(&fixture, "a", 2, MLXCEL_FINISH_STOP);
    fixture_close(&fixture);
  }
}

static void sequence_may_end_with_its_first_token(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {MOCK_EOS_B};
  fixture_script(&fixture, script, 1);
  fixture_run(&fixture);
  check_result(&fixture, "", 1, MLXCEL_FINISH_STOP);
  check_calls(&fixture, "p0+4 p4+4 p8+2 h1");
  fixture_close(&fixture);
}

static void sequence_ignore_eos_ignores_the_whole_set(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'a', MOCK_EOS_A, 'b', MOCK_EOS_B, 'c'};
  fixture_script(&fixture, script, 5);
  fixture.request.ignore_eos = true;
  fixture.request.max_tokens = 5;
  fixture_run(&fixture);
  check_result(&fixture, "abc", 5, MLXCEL_FINISH_LENGTH);
  fixture_close(&fixture);
}

static void sequence_without_eos_set_runs_on(void** state) {
  (void)state;
  fixture_t fixture;
  const mlxcel_sequence_options_t options = {0};
  fixture_open_with(&fixture, 32, 4, &options);
  const int32_t script[] = {'a', MOCK_EOS_A, 'b'};
  fixture_script(&fixture, script, 3);
  fixture.request.max_tokens = 3;
  fixture_run(&fixture);
  check_result(&fixture, "ab", 3, MLXCEL_FINISH_LENGTH);
  fixture_close(&fixture);
}

static void sequence_ends_at_max_tokens(void** state) {
  (void)state;
  for (int64_t most = 1; most <= 4; ++most) {
    fixture_t fixture;
    fixture_open(&fixture);
    const int32_t script[] = {'w', 'x', 'y', 'z', '!'};
    fixture_script(&fixture, script, 5);
    fixture.request.max_tokens = most;
    fixture_run(&fixture);
    char expected[8] = "wxyz";
    expected[most] = 0;
    check_result(&fixture, expected, (size_t)most, MLXCEL_FINISH_LENGTH);
    fixture_close(&fixture);
  }
}

static void sequence_eos_as_the_last_allowed_token_is_a_stop(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'w', MOCK_EOS_A};
  fixture_script(&fixture, script, 2);
  fixture.request.max_tokens = 2;
  fixture_run(&fixture);
  check_result(&fixture, "w", 2, MLXCEL_FINISH_STOP);
  fixture_close(&fixture);
}

static void sequence_of_max_tokens_zero_runs_nothing(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  fixture.request.max_tokens = 0;
  fixture_run(&fixture);
  check_result(&fixture, "", 0, MLXCEL_FINISH_LENGTH);
  assert_int_equal(fixture.event_count, 0);
  check_calls(&fixture, "");
  fixture_close(&fixture);
}

// --- context -------------------------------------------------------------------------------------------------------------------------------
static void sequence_ends_when_the_context_is_full(void** state) {
  (void)state;
  const int64_t wishes[] = {-1, 6, 7, INT64_MAX};  // 16 - 10 = 6
  for (int i = 0; i < 4; ++i) {
    fixture_t fixture;
    const mlxcel_sequence_options_t options = make_options(0);
    fixture_open_with(&fixture, 16, 4, &options);
    fixture.request.max_tokens = wishes[i];
    fixture_run(&fixture);
    assert_int_equal(fixture.result.count, 6);
    assert_int_equal(fixture.result.finish_reason, MLXCEL_FINISH_LENGTH);
    assert_int_equal(mlxcel_sequence_kv_count(fixture.sequence), 15);
    fixture_close(&fixture);
  }
}

static void sequence_prompt_may_leave_room_for_one_token(void** state) {
  (void)state;
  fixture_t fixture;
  const mlxcel_sequence_options_t options = make_options(0);
  fixture_open_with(&fixture, kPromptCount + 1, 4, &options);
  fixture_run(&fixture);
  assert_int_equal(fixture.result.count, 1);
  assert_int_equal(fixture.result.finish_reason, MLXCEL_FINISH_LENGTH);
  fixture_close(&fixture);
}

static void sequence_prompt_that_fills_the_context_is_refused_with_both_numbers(void** state) {
  (void)state;
  fixture_t fixture;
  const mlxcel_sequence_options_t options = make_options(0);
  fixture_open_with(&fixture, kPromptCount, 4, &options);
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_INVALID_ARGUMENT, "the prompt has 10 tokens, the context holds 10", "request");
  check_calls(&fixture, "");
  fixture_close(&fixture);
}

// --- prefill -------------------------------------------------------------------------------------------------------------------------------
static void sequence_answer_is_the_same_for_every_chunk_size(void** state) {
  (void)state;
  char expected[64] = {0};
  for (uint32_t chunk = 0; chunk <= kPromptCount + 1; ++chunk) {
    for (uint32_t rows_max = 1; rows_max <= kPromptCount + 1; ++rows_max) {
      fixture_t fixture;
      const mlxcel_sequence_options_t options = make_options(chunk);
      fixture_open_with(&fixture, 32, rows_max, &options);
      fixture_run(&fixture);
      if (!expected[0]) memcpy(expected, fixture.result.text, fixture.result.text_size);
      check_result(&fixture, expected, 22, MLXCEL_FINISH_LENGTH);
      fixture_close(&fixture);
    }
  }
}

static void sequence_cuts_the_prompt_into_chunks(void** state) {
  (void)state;
  static const struct {
    uint32_t chunk, rows_max;
    const char* calls;
  } cases[] = {{0, 4, "p0+4 p4+4 p8+2 h1"}, {5, 8, "p0+5 p5+5 h4"}, {9, 4, "p0+4 p4+4 p8+2 h1"},
               {0, 10, "p0+10 h9"},         {0, 16, "p0+10 h9"},    {9, 16, "p0+9 p9+1 h0"}};
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    fixture_t fixture;
    const mlxcel_sequence_options_t options = make_options(cases[i].chunk);
    fixture_open_with(&fixture, 32, cases[i].rows_max, &options);
    fixture.request.max_tokens = 1;
    fixture_run(&fixture);
    check_calls(&fixture, cases[i].calls);
    assert_int_equal(fixture.result.prefill_tokens, kPromptCount);
    fixture_close(&fixture);
  }
}

static void sequence_writes_to_its_own_slot(void** state) {
  (void)state;
  fixture_t fixture;
  mlxcel_sequence_options_t options = make_options(0);
  options.slot = 2;
  fixture_open_with(&fixture, 32, 4, &options);  // the mock checks every row's slot
  fixture_run(&fixture);
  assert_int_equal(fixture.result.count, 22);
  fixture_close(&fixture);
}

// --- prefix reuse ----------------------------------------------------------------------------------------------------------------------------
// Runs |ids| on a fresh sequence, for comparison.
static void check_equals_fresh_run(const fixture_t* fixture, const int32_t* ids, size_t count) {
  fixture_t fresh;
  fixture_open(&fresh);
  fresh.request.prompt_ids = ids;
  fresh.request.prompt_count = count;
  fresh.request.max_tokens = fixture->request.max_tokens;
  fixture_run(&fresh);
  assert_int_equal(fresh.result.reused_tokens, 0);
  assert_string_equal(fixture->result.text, fresh.result.text);
  fixture_close(&fresh);
}

static void sequence_same_prompt_runs_only_its_last_token_again(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  fixture.request.max_tokens = 5;
  fixture_run(&fixture);
  fixture_run(&fixture);
  assert_int_equal(fixture.result.reused_tokens, kPromptCount - 1);
  check_calls(&fixture, "p9+1 h0 d10 d11 d12 d13");
  check_equals_fresh_run(&fixture, k_prompt, kPromptCount);
  fixture_close(&fixture);
}

static void sequence_next_turn_reuses_prompt_and_answer(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  fixture.request.max_tokens = 4;
  fixture_run(&fixture);
  int32_t turn[kPromptCount + 4 + 3];
  memcpy(turn, k_prompt, sizeof(k_prompt));
  memcpy(turn + kPromptCount, fixture.result.ids, 4 * sizeof(turn[0]));
  turn[kPromptCount + 4] = 'n';
  turn[kPromptCount + 5] = 'e';
  turn[kPromptCount + 6] = 'w';
  fixture.request.prompt_ids = turn;
  fixture.request.prompt_count = kPromptCount + 7;
  fixture_run(&fixture);
  // The answer's last token was never run: 10 + 3 are there.
  assert_int_equal(fixture.result.reused_tokens, kPromptCount + 3);
  check_calls(&fixture, "p13+4 h3 d17 d18 d19");
  check_equals_fresh_run(&fixture, turn, kPromptCount + 7);
  fixture_close(&fixture);
}

static void sequence_reuses_up_to_the_first_difference(void** state) {
  (void)state;
  for (size_t different = 0; different < kPromptCount; ++different) {
    fixture_t fixture;
    fixture_open(&fixture);
    fixture.request.max_tokens = 4;
    fixture_run(&fixture);
    int32_t other[kPromptCount];
    memcpy(other, k_prompt, sizeof(k_prompt));
    other[different] = '#';
    fixture.request.prompt_ids = other;
    fixture_run(&fixture);
    assert_int_equal(fixture.result.reused_tokens, different);
    check_equals_fresh_run(&fixture, other, kPromptCount);
    // What was cut off doesn't count any more, though it may still lie in the slot.
    fixture.request.prompt_ids = k_prompt;
    fixture_run(&fixture);
    assert_int_equal(fixture.result.reused_tokens, different);
    check_equals_fresh_run(&fixture, k_prompt, kPromptCount);
    fixture_close(&fixture);
  }
}

static void sequence_shorter_prompt_reuses_all_but_its_last_token(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  fixture.request.max_tokens = 4;
  fixture_run(&fixture);
  for (size_t count = kPromptCount - 1; count >= 1; --count) {
    fixture.request.prompt_count = count;
    fixture_run(&fixture);
    assert_int_equal(fixture.result.reused_tokens, count - 1);
    assert_int_equal(fixture.result.prefill_tokens, 1);
    check_equals_fresh_run(&fixture, k_prompt, count);
  }
  fixture_close(&fixture);
}

// --- cancellation ----------------------------------------------------------------------------------------------------------------------------
static void sequence_cancels_between_chunks(void** state) {
  (void)state;
  static const char* const calls[] = {"", "p0+4", "p0+4 p4+4"};
  for (size_t poll = 1; poll <= 3; ++poll) {
    fixture_t fixture;
    fixture_open(&fixture);
    fixture.cancel_at_poll = poll;
    fixture_run(&fixture);
    check_result(&fixture, "", 0, MLXCEL_FINISH_CANCELLED);
    check_calls(&fixture, calls[poll - 1]);
    assert_int_equal(mlxcel_sequence_kv_count(fixture.sequence), 4 * (poll - 1));
    // What was done isn't done again.
    fixture.cancel_at_poll = 0;
    fixture.request.max_tokens = 4;
    fixture_run(&fixture);
    assert_int_equal(fixture.result.reused_tokens, 4 * (poll - 1));
    check_equals_fresh_run(&fixture, k_prompt, kPromptCount);
    fixture_close(&fixture);
  }
}

static void sequence_cancels_between_steps(void** state) {
  (void)state;
  for (size_t tokens = 0; tokens < 4; ++tokens) {
    fixture_t fixture;
    fixture_open(&fixture);
    const int32_t script[] = {'a', 'b', 'c', 'd'};
    fixture_script(&fixture, script, 4);
    fixture.cancel_at_poll = 3 + 1 + tokens;  // three chunks, then one poll a step
    fixture_run(&fixture);
    char expected[8] = "abcd";
    expected[tokens] = 0;
    check_result(&fixture, expected, tokens, MLXCEL_FINISH_CANCELLED);
    fixture_close(&fixture);
  }
}

static void sequence_callback_that_returns_false_cancels(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'a', 'b', 'c'};
  fixture_script(&fixture, script, 3);
  fixture.stop_after_event = 2;
  fixture_run(&fixture);
  check_result(&fixture, "ab", 2, MLXCEL_FINISH_CANCELLED);
  assert_int_equal(fixture.event_count, 2);
  check_calls(&fixture, "p0+4 p4+4 p8+2 h1 d10");
  fixture_close(&fixture);
}

static void sequence_cancelled_shows_nothing_that_was_held_back(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'a', 'S', 'T', 'O'};
  const char* const stops[] = {"STOP"};
  fixture_script(&fixture, script, 4);
  fixture.request.stops = stops;
  fixture.request.stop_count = 1;
  fixture.stop_after_event = 3;
  fixture_run(&fixture);
  check_result(&fixture, "a", 3, MLXCEL_FINISH_CANCELLED);
  fixture_close(&fixture);
}

// --- text --------------------------------------------------------------------------------------------------------------------------------------
static void sequence_without_callbacks_gives_the_same_text(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'a', 0xc3, 0xa9, MOCK_EOS_A};
  fixture_script(&fixture, script, 4);
  fixture.request.on_event = NULL;
  fixture.request.cancelled = NULL;
  assert_true(iree_status_is_ok(fixture_try(&fixture)));
  check_result(&fixture, "a\xc3\xa9", 4, MLXCEL_FINISH_STOP);
  fixture_close(&fixture);
}

// shared/cases 5: U+1F638 in four tokens.
static void sequence_shows_a_character_when_its_last_byte_is_there(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'a', 0xf0, 0x9f, 0x98, 0xb8, MOCK_EOS_A};
  fixture_script(&fixture, script, 6);
  fixture_run(&fixture);
  check_result(&fixture, "a\xf0\x9f\x98\xb8", 6, MLXCEL_FINISH_STOP);
  const size_t sizes[] = {1, 0, 0, 0, 4, 0};
  assert_int_equal(fixture.event_count, 6);
  assert_memory_equal(fixture.event_sizes, sizes, sizeof(sizes));
  fixture_close(&fixture);
}

static void sequence_flushes_an_incomplete_character_at_the_end(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'a', 0xf0, 0x9f, MOCK_EOS_A};
  fixture_script(&fixture, script, 4);
  fixture_run(&fixture);
  check_result(&fixture, "a\xef\xbf\xbd", 4, MLXCEL_FINISH_STOP);
  assert_int_equal(fixture.event_count, 5);
  assert_int_equal(fixture.event_tokens[4], -1);
  assert_int_equal(fixture.event_sizes[4], 3);
  fixture_close(&fixture);
}

static void run_with_stops(fixture_t* fixture, const char* const* stops, size_t stop_count, const int32_t* script, uint32_t count) {
  fixture_open(fixture);
  fixture_script(fixture, script, count);
  fixture->request.stops = stops;
  fixture->request.stop_count = stop_count;
  fixture_run(fixture);
}

// shared/cases 7, by one-character tokens.
static void sequence_stop_string_never_shows(void** state) {
  (void)state;
  fixture_t fixture;
  run_with_stops(&fixture, (const char*[]){"aab", "ab"}, 2, (const int32_t[]){'a', 'a', 'a', 'b', 'c'}, 5);
  check_result(&fixture, "a", 4, MLXCEL_FINISH_STOP);
  const size_t sizes[] = {0, 0, 1, 0};
  assert_int_equal(fixture.event_count, 4);
  assert_memory_equal(fixture.event_sizes, sizes, sizeof(sizes));
  fixture_close(&fixture);
}

static void sequence_half_a_stop_string_shows_when_eos_follows(void** state) {
  (void)state;
  fixture_t fixture;
  run_with_stops(&fixture, (const char*[]){"as soon"}, 1, (const int32_t[]){'p', 'l', 'e', 'a', 's', MOCK_EOS_A}, 6);
  check_result(&fixture, "pleas", 6, MLXCEL_FINISH_STOP);
  assert_int_equal(fixture.event_count, 7);
  assert_int_equal(fixture.event_tokens[6], -1);
  assert_int_equal(fixture.event_sizes[6], 2);
  fixture_close(&fixture);
}

static void sequence_half_a_stop_string_shows_when_the_length_ends(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'x', 'S', 'T'};
  const char* const stops[] = {"STOP"};
  fixture_script(&fixture, script, 3);
  fixture.request.stops = stops;
  fixture.request.stop_count = 1;
  fixture.request.max_tokens = 3;
  fixture_run(&fixture);
  check_result(&fixture, "xST", 3, MLXCEL_FINISH_LENGTH);
  fixture_close(&fixture);
}

static void sequence_stop_string_in_the_last_allowed_token_is_a_stop(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'x', '.'};
  const char* const stops[] = {"."};
  fixture_script(&fixture, script, 2);
  fixture.request.stops = stops;
  fixture.request.stop_count = 1;
  fixture.request.max_tokens = 2;
  fixture_run(&fixture);
  check_result(&fixture, "x", 2, MLXCEL_FINISH_STOP);
  fixture_close(&fixture);
}

static void sequence_stop_string_may_end_in_the_flushed_text(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const int32_t script[] = {'x', 0xf0, 0x9f};
  const char* const stops[] = {"\xef\xbf\xbd"};
  fixture_script(&fixture, script, 3);
  fixture.request.stops = stops;
  fixture.request.stop_count = 1;
  fixture.request.max_tokens = 3;
  fixture_run(&fixture);
  check_result(&fixture, "x", 3, MLXCEL_FINISH_STOP);
  fixture_close(&fixture);
}

static void sequence_text_starts_anew_with_each_request(void** state) {
  (void)state;
  fixture_t fixture;
  run_with_stops(&fixture, (const char*[]){"STOP"}, 1, (const int32_t[]){'S', 'T', 'O', MOCK_EOS_A}, 4);
  check_result(&fixture, "STO", 4, MLXCEL_FINISH_STOP);
  const int32_t script[] = {'P', MOCK_EOS_A};
  fixture_script(&fixture, script, 2);
  const char* const stops[] = {"STOP"};
  fixture.request.stops = stops;
  fixture_run(&fixture);
  check_result(&fixture, "P", 2, MLXCEL_FINISH_STOP);
  fixture_close(&fixture);
}

// --- sampling ------------------------------------------------------------------------------------------------------------------------------------
static void sequence_penalties_know_prompt_and_generated_tokens(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  // Step 1: 'p' of the prompt falls from 10 to 2.5, below token 0's 5. Step 2: 'q' is new. Step 3: 'q' is at 10 / 4 - 3, token 0 at 5 / 4 - 3, token 1 at
  // -0.001.
  const int32_t script[] = {'p', 'q', 'q'};
  const mlxcel_logit_bias_t bias[] = {{.token = 0, .bias = 5.0f}};
  fixture_script(&fixture, script, 3);
  fixture.request.max_tokens = 3;
  fixture.request.sampling.logit_bias = bias;
  fixture.request.sampling.logit_bias_count = 1;
  fixture.request.sampling.repetition_penalty = 4.0f;
  fixture.request.sampling.presence_penalty = 3.0f;
  fixture_run(&fixture);
  const int32_t expected[] = {0, 'q', 1};
  assert_memory_equal(fixture.result.ids, expected, sizeof(expected));
  fixture_close(&fixture);
}

static void sequence_samples_from_the_seed_alone(void** state) {
  (void)state;
  int32_t ids[3][22];
  for (int i = 0; i < 3; ++i) {
    fixture_t fixture;
    fixture_open(&fixture);
    fixture.request.ignore_eos = true;
    fixture.request.sampling.temperature = 50.0f;
    fixture.request.sampling.seed = i == 2 ? 8 : 7;
    fixture_run(&fixture);
    assert_int_equal(fixture.result.count, 22);
    memcpy(ids[i], fixture.result.ids, sizeof(ids[i]));
    fixture_close(&fixture);
  }
  assert_memory_equal(ids[0], ids[1], sizeof(ids[0]));
  assert_memory_not_equal(ids[0], ids[2], sizeof(ids[0]));
}

static void sequence_events_carry_the_row_before_bias(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const mlxcel_logit_bias_t bias[] = {{.token = 1, .bias = 50.0f}};
  fixture.request.sampling.logit_bias = bias;
  fixture.request.sampling.logit_bias_count = 1;
  fixture.request.max_tokens = 3;
  fixture_run(&fixture);  // the callback checks the row
  const int32_t expected[] = {1, 1, 1};
  assert_memory_equal(fixture.result.ids, expected, sizeof(expected));
  fixture_close(&fixture);
}

// --- errors ------------------------------------------------------------------------------------------------------------------------------------
static void sequence_refuses_bad_prompts(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  fixture.request.prompt_count = 0;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_INVALID_ARGUMENT, "no tokens", "request");
  const int32_t negative[] = {'a', -1};
  const int32_t beyond[] = {'a', 'b', MOCK_VOCAB};
  fixture.request.prompt_ids = negative;
  fixture.request.prompt_count = 2;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_INVALID_ARGUMENT, "prompt token 1 is id -1; ids of this model are 0 to 259", "request");
  fixture.request.prompt_ids = beyond;
  fixture.request.prompt_count = 3;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_INVALID_ARGUMENT, "prompt token 2 is id 260", "request");
  check_calls(&fixture, "");
  fixture_close(&fixture);
}

static void sequence_refuses_bad_options_before_running(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  const char* const stops[] = {""};
  fixture.request.stops = stops;
  fixture.request.stop_count = 1;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_INVALID_ARGUMENT, "stop string 0", "request");
  fixture.request.stop_count = 0;
  fixture.request.sampling.top_p = 2.0f;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_INVALID_ARGUMENT, "top_p", "request");
  fixture.request.sampling.top_p = 1.0f;
  fixture.request.size = 1;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_INVALID_ARGUMENT, "size 1", "request");
  check_calls(&fixture, "");
  fixture.request.size = sizeof(fixture.request);
  fixture_run(&fixture);
  fixture_close(&fixture);
}

static void sequence_recovers_after_a_failed_prefill(void** state) {
  (void)state;
  for (uint32_t call = 1; call <= 4; ++call) {
    fixture_t fixture;
    fixture_open(&fixture);
    fixture.request.max_tokens = 4;
    fixture.mock.fail_call = call;
    check_error(&fixture, fixture_try(&fixture), IREE_STATUS_UNAVAILABLE, "the device is gone", "prefill");
    uint32_t done = call == 4 ? kPromptCount : 4 * (call - 1);
    assert_int_equal(mlxcel_sequence_kv_count(fixture.sequence), done);
    fixture.mock.fail_call = 0;
    fixture_run(&fixture);
    assert_int_equal(fixture.result.reused_tokens, done < kPromptCount ? done : kPromptCount - 1);
    check_equals_fresh_run(&fixture, k_prompt, kPromptCount);
    fixture_close(&fixture);
  }
}

static void sequence_recovers_after_a_failed_decode(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  fixture.request.max_tokens = 6;
  fixture.mock.fail_call = 6;  // the second decode
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_UNAVAILABLE, "the device is gone", "decode");
  assert_int_equal(mlxcel_sequence_kv_count(fixture.sequence), kPromptCount + 1);
  fixture.mock.fail_call = 0;
  fixture_run(&fixture);
  check_equals_fresh_run(&fixture, k_prompt, kPromptCount);
  fixture_close(&fixture);
}

static void sequence_names_the_position_of_a_nan_row(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  fixture.mock.nan_position = kPromptCount - 1;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_DATA_LOSS, "row 9 ", "sample");
  fixture.mock.nan_position = kPromptCount + 1;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_DATA_LOSS, "row 11 ", "sample");
  fixture_close(&fixture);
}

static void sequence_reports_a_failing_text_decoder(void** state) {
  (void)state;
  fixture_t fixture;
  fixture_open(&fixture);
  fixture.text.fails = true;
  check_error(&fixture, fixture_try(&fixture), IREE_STATUS_INTERNAL, "no text for token", "text");
  fixture_close(&fixture);
}

static void sequence_refuses_a_slot_that_does_not_exist(void** state) {
  (void)state;
  mock_backend_t mock;
  mock_backend_initialize(8, 4, &mock);
  mlxcel_backend_t backend = mock_backend_interface(&mock);
  const mlxcel_sequence_options_t options = {.slot = MOCK_SLOTS};
  mlxcel_sequence_t* sequence = (mlxcel_sequence_t*)&mock;
  iree_status_t status = mlxcel_sequence_create(&backend, &options, &sequence);
  assert_int_equal(iree_status_code(status), IREE_STATUS_INVALID_ARGUMENT);
  assert_null(sequence);
  iree_status_ignore(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sequence_ends_at_eos_with_its_id_but_not_its_text),
      cmocka_unit_test(sequence_ends_at_every_member_of_the_eos_set),
      cmocka_unit_test(sequence_may_end_with_its_first_token),
      cmocka_unit_test(sequence_ignore_eos_ignores_the_whole_set),
      cmocka_unit_test(sequence_without_eos_set_runs_on),
      cmocka_unit_test(sequence_ends_at_max_tokens),
      cmocka_unit_test(sequence_eos_as_the_last_allowed_token_is_a_stop),
      cmocka_unit_test(sequence_of_max_tokens_zero_runs_nothing),
      cmocka_unit_test(sequence_ends_when_the_context_is_full),
      cmocka_unit_test(sequence_prompt_may_leave_room_for_one_token),
      cmocka_unit_test(sequence_prompt_that_fills_the_context_is_refused_with_both_numbers),
      cmocka_unit_test(sequence_answer_is_the_same_for_every_chunk_size),
      cmocka_unit_test(sequence_cuts_the_prompt_into_chunks),
      cmocka_unit_test(sequence_writes_to_its_own_slot),
      cmocka_unit_test(sequence_same_prompt_runs_only_its_last_token_again),
      cmocka_unit_test(sequence_next_turn_reuses_prompt_and_answer),
      cmocka_unit_test(sequence_reuses_up_to_the_first_difference),
      cmocka_unit_test(sequence_shorter_prompt_reuses_all_but_its_last_token),
      cmocka_unit_test(sequence_cancels_between_chunks),
      cmocka_unit_test(sequence_cancels_between_steps),
      cmocka_unit_test(sequence_callback_that_returns_false_cancels),
      cmocka_unit_test(sequence_cancelled_shows_nothing_that_was_held_back),
      cmocka_unit_test(sequence_without_callbacks_gives_the_same_text),
      cmocka_unit_test(sequence_shows_a_character_when_its_last_byte_is_there),
      cmocka_unit_test(sequence_flushes_an_incomplete_character_at_the_end),
      cmocka_unit_test(sequence_stop_string_never_shows),
      cmocka_unit_test(sequence_half_a_stop_string_shows_when_eos_follows),
      cmocka_unit_test(sequence_half_a_stop_string_shows_when_the_length_ends),
      cmocka_unit_test(sequence_stop_string_in_the_last_allowed_token_is_a_stop),
      cmocka_unit_test(sequence_stop_string_may_end_in_the_flushed_text),
      cmocka_unit_test(sequence_text_starts_anew_with_each_request),
      cmocka_unit_test(sequence_penalties_know_prompt_and_generated_tokens),
      cmocka_unit_test(sequence_samples_from_the_seed_alone),
      cmocka_unit_test(sequence_events_carry_the_row_before_bias),
      cmocka_unit_test(sequence_refuses_bad_prompts),
      cmocka_unit_test(sequence_refuses_bad_options_before_running),
      cmocka_unit_test(sequence_recovers_after_a_failed_prefill),
      cmocka_unit_test(sequence_recovers_after_a_failed_decode),
      cmocka_unit_test(sequence_names_the_position_of_a_nan_row),
      cmocka_unit_test(sequence_reports_a_failing_text_decoder),
      cmocka_unit_test(sequence_refuses_a_slot_that_does_not_exist),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
