// Progress: plain lines away from a terminal, one redrawn line on it, colours only where wanted; with a clock of the test's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/console.h"
#include "cli/progress.h"

static double test_time;
static double test_clock(void) { return test_time; }

typedef struct capture_t {
  char* text;
  size_t size;
  mlxcel_cli_progress_t progress;
} capture_t;

static void capture_begin(bool is_terminal, bool has_colour, capture_t* out_capture) {
  memset(out_capture, 0, sizeof(*out_capture));
  mlxcel_cli_progress_options_t options;
  mlxcel_cli_progress_options_initialize(&options);
  options.stream = open_memstream(&out_capture->text, &out_capture->size);
  assert_non_null(options.stream);
  options.is_terminal = is_terminal;
  options.has_colour = has_colour;
  options.now = test_clock;
  test_time = 1000;
  mlxcel_cli_progress_initialize(&options, &out_capture->progress);
}

static const char* capture_text(capture_t* capture) {
  fflush(capture->progress.options.stream);
  return capture->text;
}

static void capture_end(capture_t* capture) {
  fclose(capture->progress.options.stream);
  free(capture->text);
}

static void progress_prints_one_line_a_step_without_a_terminal(void** state) {
  (void)state;
  capture_t capture;
  capture_begin(false, false, &capture);
  mlxcel_cli_progress_step(&capture.progress, "read", 0.25);
  for (int i = 0; i < 50; ++i) mlxcel_cli_progress_step(&capture.progress, "compile", 0.1 * i);
  mlxcel_cli_progress_step(&capture.progress, "load", 0);
  test_time += 2;
  mlxcel_cli_progress_finish(&capture.progress);
  mlxcel_cli_progress_finish(&capture.progress);
  assert_string_equal(capture_text(&capture), "read: 0.25 s\ncompile: 4.90 s\nload: 2.00 s\n");
  capture_end(&capture);
}

static void progress_redraws_one_line_on_a_terminal_and_takes_it_away(void** state) {
  (void)state;
  capture_t capture;
  capture_begin(true, false, &capture);
  mlxcel_cli_progress_step(&capture.progress, "compile", 0);
  assert_string_equal(capture_text(&capture), "");  // too young to be worth a line
  test_time += 0.5;
  mlxcel_cli_progress_step(&capture.progress, "compile", 0.5);
  assert_string_equal(capture_text(&capture), "\r\033[Kcompile [####                    ] 0.5 s");
  mlxcel_cli_progress_step(&capture.progress, "compile", 0.51);
  assert_string_equal(capture_text(&capture), "\r\033[Kcompile [####                    ] 0.5 s");  // not more often than the eye sees
  test_time += 0.5;
  mlxcel_cli_progress_step(&capture.progress, "compile", 1.0);
  mlxcel_cli_progress_finish(&capture.progress);
  assert_string_equal(capture_text(&capture), "\r\033[Kcompile [####                    ] 0.5 s\r\033[Kcompile [ ####                   ] 1.0 s\r\033[K");
  capture_end(&capture);
}

static void progress_bar_shows_the_part_that_is_done(void** state) {
  (void)state;
  capture_t capture;
  capture_begin(true, false, &capture);
  mlxcel_cli_progress_bytes(&capture.progress, "import", 0, 8u << 20);
  test_time += 1;
  mlxcel_cli_progress_bytes(&capture.progress, "import", 4u << 20, 8u << 20);
  assert_string_equal(capture_text(&capture), "\r\033[Kimport [############            ]  50 % of 8.0 MiB, 1.0 s");
  test_time += 1;
  mlxcel_cli_progress_bytes(&capture.progress, "import", 9u << 20, 8u << 20);  // an owner that can't count doesn't overrun the bar
  assert_non_null(strstr(capture_text(&capture), "[########################]"));
  capture_end(&capture);
}

static void progress_uses_colour_only_when_asked(void** state) {
  (void)state;
  for (int colour = 0; colour < 2; ++colour) {
    capture_t capture;
    capture_begin(true, colour, &capture);
    mlxcel_cli_progress_step(&capture.progress, "compile", 3);
    assert_int_equal(strstr(capture_text(&capture), "\033[32m") != NULL, colour);
    capture_end(&capture);
  }
}

static void progress_disabled_prints_nothing(void** state) {
  (void)state;
  for (int is_terminal = 0; is_terminal < 2; ++is_terminal) {
    capture_t capture;
    capture_begin(is_terminal, false, &capture);
    capture.progress.options.enabled = false;
    mlxcel_cli_progress_step(&capture.progress, "compile", 3);
    mlxcel_cli_progress_bytes(&capture.progress, "import", 1, 2);
    mlxcel_cli_progress_finish(&capture.progress);
    assert_string_equal(capture_text(&capture), "");
    capture_end(&capture);
  }
}

static void progress_abandoned_step_gets_no_line(void** state) {
  (void)state;
  capture_t capture;
  capture_begin(false, false, &capture);
  mlxcel_cli_progress_step(&capture.progress, "read", 1);
  mlxcel_cli_progress_step(&capture.progress, "compile", 1);
  mlxcel_cli_progress_abandon(&capture.progress);
  mlxcel_cli_progress_finish(&capture.progress);
  assert_string_equal(capture_text(&capture), "read: 1.00 s\n");
  capture_end(&capture);
}

static void progress_long_step_names_are_cut_not_repeated(void** state) {
  (void)state;
  char name[200];
  memset(name, 'x', sizeof(name) - 1);
  name[sizeof(name) - 1] = 0;
  capture_t capture;
  capture_begin(false, false, &capture);
  for (int i = 0; i < 3; ++i) mlxcel_cli_progress_step(&capture.progress, name, 1);
  mlxcel_cli_progress_finish(&capture.progress);
  assert_ptr_equal(strchr(capture_text(&capture), '\n'), strrchr(capture_text(&capture), '\n'));
  capture_end(&capture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(progress_prints_one_line_a_step_without_a_terminal),
      cmocka_unit_test(progress_redraws_one_line_on_a_terminal_and_takes_it_away),
      cmocka_unit_test(progress_bar_shows_the_part_that_is_done),
      cmocka_unit_test(progress_uses_colour_only_when_asked),
      cmocka_unit_test(progress_disabled_prints_nothing),
      cmocka_unit_test(progress_abandoned_step_gets_no_line),
      cmocka_unit_test(progress_long_step_names_are_cut_not_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
