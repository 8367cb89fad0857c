// Option tables: sources and their precedence, values and their limits, errors that name what is valid, suggestions.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/commands.h"
#include "cli/engine_settings.h"
#include "cli/options.h"

typedef struct inner_t {
  int64_t count;
  double number;
} inner_t;

typedef struct settings_t {
  bool flag;
  const char* text;
  const char* choice;
  uint64_t seed;
  mlxcel_cli_list_t list;
  inner_t inner;
} settings_t;

static const char* const colours[] = {"red", "green", NULL};
static const char* const actions[] = {"go", "stop", NULL};
#define FIELD(field) .offset = offsetof(settings_t, field)
static const mlxcel_cli_option_t outer_options[] = {
    {.name = "flag", .short_name = 'f', .type = MLXCEL_CLI_FLAG, FIELD(flag), .help = ""},
    {.name = "quick", .short_name = 'q', .type = MLXCEL_CLI_FLAG, FIELD(flag), .help = ""},
    {.name = "some-text", .short_name = 't', .type = MLXCEL_CLI_TEXT, .metavar = "TEXT", FIELD(text), .help = ""},
    {.name = "colour", .type = MLXCEL_CLI_CHOICE, .metavar = "C", FIELD(choice), .choices = colours, .environment = "MLXCEL_XLA_COLOUR", .help = ""},
    {.name = "seed", .type = MLXCEL_CLI_SEED, .metavar = "N", FIELD(seed), .help = ""},
    {.name = "item", .type = MLXCEL_CLI_LIST, .metavar = "X", FIELD(list), .help = ""},
    {.name = "pairs", .word = "tn", .type = MLXCEL_CLI_LIST, .metavar = "A,B", FIELD(list), .help = ""},
};
static const mlxcel_cli_option_t inner_options[] = {
    {.name = "count",
     .short_name = 'n',
     .type = MLXCEL_CLI_INTEGER,
     .metavar = "N",
     .offset = offsetof(inner_t, count),
     .minimum = -1,
     .maximum = 64,
     .help = ""},
    {.name = "number", .type = MLXCEL_CLI_NUMBER, .metavar = "X", .offset = offsetof(inner_t, number), .minimum = 0, .maximum = 2, .help = ""},
};
static const mlxcel_cli_group_t groups[] = {{"outer", outer_options, 7, 0}, {"inner", inner_options, 2, offsetof(settings_t, inner)}};
static const mlxcel_cli_command_t command = {.name = "demo",
                                             .usage = "(go | stop)",
                                             .groups = groups,
                                             .group_count = 2,
                                             .positional_name = "action",
                                             .positional_choices = actions,
                                             .settings_size = sizeof(settings_t)};

static const char* const variables[] = {"MLXCEL_FLAG", "MLXCEL_QUICK", "MLXCEL_SOME_TEXT", "MLXCEL_XLA_COLOUR", "MLXCEL_COLOUR",
                                        "MLXCEL_SEED", "MLXCEL_ITEM",  "MLXCEL_PAIRS",     "MLXCEL_COUNT",      "MLXCEL_NUMBER"};
static int clear_environment(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); ++i) unsetenv(variables[i]);
  return 0;
}

typedef struct outcome_t {
  bool ok;
  settings_t settings;
  mlxcel_cli_parsed_t parsed;
} outcome_t;

static outcome_t parse_with(const mlxcel_cli_command_t* tested, const char* const* arguments) {
  outcome_t outcome = {.settings = {.inner = {7, 1.5}}};
  size_t count = 0;
  while (arguments[count]) ++count;
  outcome.ok = mlxcel_cli_parse(tested, count, arguments, &outcome.settings, &outcome.parsed);
  return outcome;
}
#define PARSE(...) parse_with(&command, (const char* const[]){__VA_ARGS__, NULL})

static void assert_refused(outcome_t outcome, const char* const* words) {
  assert_false(outcome.ok);
  for (size_t i = 0; words[i]; ++i) {
    if (!strstr(outcome.parsed.message, words[i])) fail_msg("'%s' lacks '%s'", outcome.parsed.message, words[i]);
  }
}
#define REFUSED(outcome, ...) assert_refused(outcome, (const char* const[]){__VA_ARGS__, NULL})

static void options_take_values_in_every_spelling(void** state) {
  (void)state;
  assert_string_equal(PARSE("--some-text", "a b").settings.text, "a b");
  assert_string_equal(PARSE("--some-text=a=b").settings.text, "a=b");
  assert_string_equal(PARSE("--some-text=").settings.text, "");
  assert_string_equal(PARSE("-t", "-").settings.text, "-");
  assert_string_equal(PARSE("-tx").settings.text, "x");
  assert_string_equal(PARSE("-t", "--flag").settings.text, "--flag");
  assert_int_equal(PARSE("-n-1").settings.inner.count, -1);
  assert_int_equal(PARSE("-n", "64").settings.inner.count, 64);
  outcome_t both = PARSE("-fn3", "--number=0.25");
  assert_true(both.ok && both.settings.flag);
  assert_int_equal(both.settings.inner.count, 3);
  assert_true(both.settings.inner.number == 0.25);
  assert_string_equal(PARSE("--colour", "green").settings.choice, "green");
}

static void options_are_known_by_a_word_behind_one_dash(void** state) {
  (void)state;
  outcome_t outcome = PARSE("-tn", "1,2", "--pairs=3,4", "-tx");
  assert_true(outcome.ok);
  assert_int_equal(outcome.settings.list.count, 2);
  assert_string_equal(outcome.settings.list.items[0], "1,2");
  assert_string_equal(outcome.settings.list.items[1], "3,4");
  assert_string_equal(outcome.settings.text, "x");  // not the word: a letter with its value
  assert_string_equal(PARSE("-tnx").settings.text, "nx");
  REFUSED(PARSE("-tn"), "option -tn", "A,B");
}

static void options_keep_defaults_and_name_their_source(void** state) {
  (void)state;
  setenv("MLXCEL_NUMBER", "0.5", 1);
  outcome_t outcome = PARSE("--colour=red");
  assert_true(outcome.ok);
  assert_int_equal(outcome.settings.inner.count, 7);
  assert_true(outcome.settings.inner.number == 0.5);
  assert_int_equal(mlxcel_cli_parsed_source(&outcome.parsed, "count"), MLXCEL_CLI_SOURCE_DEFAULT);
  assert_int_equal(mlxcel_cli_parsed_source(&outcome.parsed, "number"), MLXCEL_CLI_SOURCE_ENVIRONMENT);
  assert_int_equal(mlxcel_cli_parsed_source(&outcome.parsed, "colour"), MLXCEL_CLI_SOURCE_COMMAND_LINE);
}

static void options_command_line_wins_over_environment(void** state) {
  (void)state;
  setenv("MLXCEL_COUNT", "5", 1);
  setenv("MLXCEL_XLA_COLOUR", "red", 1);
  setenv("MLXCEL_FLAG", "yes", 1);
  outcome_t outcome = PARSE("go");
  assert_int_equal(outcome.settings.inner.count, 5);
  assert_string_equal(outcome.settings.choice, "red");
  assert_true(outcome.settings.flag);
  outcome = PARSE("-n6", "--colour=green", "--flag=false");
  assert_int_equal(outcome.settings.inner.count, 6);
  assert_string_equal(outcome.settings.choice, "green");
  assert_false(outcome.settings.flag);
}

static void options_use_the_seed_name_and_ignore_empty_variables(void** state) {
  (void)state;
  setenv("MLXCEL_COLOUR", "green", 1);  // not this option's name
  setenv("MLXCEL_COUNT", "", 1);
  outcome_t outcome = PARSE("go");
  assert_true(outcome.ok);
  assert_null(outcome.settings.choice);
  assert_int_equal(outcome.settings.inner.count, 7);
}

static void options_list_of_command_line_replaces_environment(void** state) {
  (void)state;
  setenv("MLXCEL_ITEM", "from environment", 1);
  outcome_t outcome = PARSE("go");
  assert_int_equal(outcome.settings.list.count, 1);
  outcome = PARSE("--item", "a", "--item=b");
  assert_int_equal(outcome.settings.list.count, 2);
  assert_string_equal(outcome.settings.list.items[0], "a");
  assert_string_equal(outcome.settings.list.items[1], "b");
}

static void options_list_is_bounded(void** state) {
  (void)state;
  const char* arguments[2 * (MLXCEL_CLI_LIST_ITEMS_MAX + 1) + 1] = {NULL};
  for (size_t i = 0; i < MLXCEL_CLI_LIST_ITEMS_MAX + 1; ++i) {
    arguments[2 * i] = "--item";
    arguments[2 * i + 1] = "x";
  }
  REFUSED(parse_with(&command, arguments), "--item", "64");
  arguments[2 * MLXCEL_CLI_LIST_ITEMS_MAX] = NULL;
  assert_true(parse_with(&command, arguments).ok);
}

static void options_refuse_bad_values_by_name_and_say_what_is_valid(void** state) {
  (void)state;
  static const char* const integers[] = {"", "65", "-2", "3x", " 3", "1.5", "99999999999999999999", "0x10", "abc"};
  for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); ++i) REFUSED(PARSE("--count", integers[i]), "option --count", "-1 to 64");
  static const char* const numbers[] = {"", "2.01", "-0.1", "nan", "inf", "1e999", "1,5", "0.5s"};
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); ++i) REFUSED(PARSE("--number", numbers[i]), "option --number", "from 0 to 2");
  static const char* const seeds[] = {"", "-1", "18446744073709551616", "1.5", "rnd"};
  for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); ++i) REFUSED(PARSE("--seed", seeds[i]), "option --seed", "random");
  REFUSED(PARSE("--colour=blue"), "option --colour", "'blue'", "red, green");
  REFUSED(PARSE("--flag=maybe"), "option --flag", "true, false");
  REFUSED(PARSE("-n", "x"), "option -n", "'x'");
}

static void options_refuse_bad_environment_by_variable(void** state) {
  (void)state;
  setenv("MLXCEL_XLA_COLOUR", "blue", 1);
  REFUSED(PARSE("go"), "MLXCEL_XLA_COLOUR", "'blue'", "red, green");
  unsetenv("MLXCEL_XLA_COLOUR");
  setenv("MLXCEL_COUNT", "lots", 1);
  REFUSED(PARSE("go"), "MLXCEL_COUNT", "-1 to 64");
  assert_true(PARSE("--help").ok);                         // help is what one needs then
  assert_int_equal(PARSE("-n2").settings.inner.count, 2);  // not needed, so not looked at
}

static void options_seed_takes_64_bits_and_random(void** state) {
  (void)state;
  assert_true(PARSE("--seed=18446744073709551615").settings.seed == UINT64_MAX);
  assert_true(PARSE("--seed=random").settings.seed != PARSE("--seed=random").settings.seed);
}

static void options_unknown_names_are_refused_with_a_suggestion(void** state) {
  (void)state;
  REFUSED(PARSE("--coluor=red"), "'--coluor'", "'--colour'", "mlxcel demo --help");
  REFUSED(PARSE("--some-txt", "x"), "'--some-txt'", "'--some-text'");
  outcome_t outcome = PARSE("--zzzzzz");
  REFUSED(outcome, "'--zzzzzz'");
  assert_null(strstr(outcome.parsed.message, "did you mean"));
  REFUSED(PARSE("-x"), "'-x'");
  REFUSED(PARSE("-fx"), "'-x'", "'-fx'");
  REFUSED(PARSE("--flagx"), "'--flagx'");
}

static void options_missing_value_is_named(void** state) {
  (void)state;
  REFUSED(PARSE("--count"), "--count", "(N)");
  REFUSED(PARSE("go", "-t"), "-t", "(TEXT)");
}

static void options_positionals_are_checked(void** state) {
  (void)state;
  outcome_t outcome = PARSE("-f", "go");
  assert_int_equal(outcome.parsed.positional_count, 1);
  assert_string_equal(outcome.parsed.positionals[0], "go");
  REFUSED(PARSE("run"), "'run'", "go, stop");
  REFUSED(PARSE("go", "stop"), "'stop'");
  mlxcel_cli_command_t strict = command;
  strict.positional_minimum = 1;
  REFUSED(parse_with(&strict, (const char* const[]){"-f", NULL}), "action is missing", "go, stop");
  strict.positional_choices = NULL;
  assert_string_equal(parse_with(&strict, (const char* const[]){"--", "-f", NULL}).parsed.positionals[0], "-f");
  strict.positional_name = NULL;
  REFUSED(parse_with(&strict, (const char* const[]){"x", NULL}), "'x'");
}

static void options_help_ends_parsing(void** state) {
  (void)state;
  assert_true(PARSE("--help", "--nonsense").parsed.help);
  assert_true(PARSE("-fh").parsed.help);
  assert_false(PARSE("-f").parsed.help);
}

static void options_nearest_knows_slips_but_not_strangers(void** state) {
  (void)state;
  static const char* const names[] = {"generate", "chat", "cache", NULL};
  assert_string_equal(mlxcel_cli_nearest("genrate", names), "generate");
  assert_string_equal(mlxcel_cli_nearest("caht", names), "chat");
  assert_string_equal(mlxcel_cli_nearest("cach", names), "cache");
  assert_null(mlxcel_cli_nearest("server", names));
  assert_null(mlxcel_cli_nearest("", names));
}

// Every option of every subcommand is complete and unambiguous: names, short names and variables are unique, defaults lie within the limits.
static void options_tables_are_complete_and_unambiguous(void** state) {
  (void)state;
  for (size_t c = 0; mlxcel_cli_commands[c]; ++c) {
    const mlxcel_cli_command_t* tested = mlxcel_cli_commands[c];
    const mlxcel_cli_option_t* seen[MLXCEL_CLI_OPTIONS_MAX];
    size_t count = 0;
    for (size_t g = 0; g < tested->group_count; ++g) {
      for (size_t i = 0; i < tested->groups[g].option_count; ++i) {
        const mlxcel_cli_option_t* option = &tested->groups[g].options[i];
        assert_non_null(option->name);
        assert_non_null(option->help);
        assert_true((option->metavar == NULL) == (option->type == MLXCEL_CLI_FLAG));
        assert_true((option->choices != NULL) == (option->type == MLXCEL_CLI_CHOICE));
        assert_true(tested->groups[g].offset + option->offset < tested->settings_size);
        if (option->word) assert_true(option->type != MLXCEL_CLI_FLAG && strlen(option->word) > 1 && !option->short_name);
        char variable[128], other[128];
        mlxcel_cli_option_environment(option, variable, sizeof(variable));
        for (size_t s = 0; s < count; ++s) {
          mlxcel_cli_option_environment(seen[s], other, sizeof(other));
          assert_string_not_equal(seen[s]->name, option->name);
          assert_string_not_equal(other, variable);
          if (option->short_name) assert_int_not_equal(seen[s]->short_name, option->short_name);
          if (option->word && seen[s]->word) assert_string_not_equal(seen[s]->word, option->word);
        }
        assert_true(count < MLXCEL_CLI_OPTIONS_MAX);
        seen[count++] = option;
      }
    }
  }
}

static mlxcel_cli_list_t one_item(const char* text) { return (mlxcel_cli_list_t){{text}, 1}; }

static void options_logit_bias_is_parsed_or_refused(void** state) {
  (void)state;
  mlxcel_logit_bias_t biases[MLXCEL_CLI_LOGIT_BIAS_MAX];
  size_t count = 0;
  mlxcel_cli_list_t list = {{"5=1.5,6=-2", "7=-1e9"}, 2};
  assert_int_equal(mlxcel_cli_logit_bias_parse(&list, biases, &count), 0);
  assert_int_equal(count, 3);
  assert_int_equal(biases[1].token, 6);
  assert_true(biases[0].bias == 1.5f && biases[1].bias == -2.0f && biases[2].bias == -1e9f);
  static const char* const bad[] = {"", "5", "5=", "=1", "5=x", "5=1,", "5=1,,6=1", "-5=1", "5=nan", "5=-inf", "5=1 6=1", "99999999=1", "5=2e9"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); ++i) {
    list = one_item(bad[i]);
    assert_int_equal(mlxcel_cli_logit_bias_parse(&list, biases, &count), MLXCEL_CLI_EXIT_USAGE);
  }
}

static void options_sampling_overrides_only_what_is_given(void** state) {
  (void)state;
  mlxcel_sampling_t model, sampling;
  mlxcel_sampling_initialize(&model);
  model.temperature = 0.6f;
  model.top_k = 40;
  model.top_p = 0.9f;
  mlxcel_cli_sampling_settings_t settings;
  mlxcel_cli_sampling_settings_initialize(&settings);
  mlxcel_cli_sampling_make(&settings, &model, NULL, 0, &sampling);
  assert_true(sampling.temperature == 0.6f && sampling.top_k == 40 && sampling.top_p == 0.9f && sampling.repetition_penalty == 1.0f);
  settings.temperature = 0;
  settings.top_k = 0;
  settings.min_p = 0.05;
  settings.seed = 9;
  mlxcel_cli_sampling_make(&settings, &model, NULL, 0, &sampling);
  assert_true(sampling.temperature == 0 && sampling.top_k == 0 && sampling.top_p == 0.9f && sampling.min_p == 0.05f && sampling.seed == 9);
}

#define CASE(name) cmocka_unit_test_setup(name, clear_environment)
int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(options_take_values_in_every_spelling),
      CASE(options_are_known_by_a_word_behind_one_dash),
      CASE(options_keep_defaults_and_name_their_source),
      CASE(options_command_line_wins_over_environment),
      CASE(options_use_the_seed_name_and_ignore_empty_variables),
      CASE(options_list_of_command_line_replaces_environment),
      CASE(options_list_is_bounded),
      CASE(options_refuse_bad_values_by_name_and_say_what_is_valid),
      CASE(options_refuse_bad_environment_by_variable),
      CASE(options_seed_takes_64_bits_and_random),
      CASE(options_unknown_names_are_refused_with_a_suggestion),
      CASE(options_missing_value_is_named),
      CASE(options_positionals_are_checked),
      CASE(options_help_ends_parsing),
      CASE(options_nearest_knows_slips_but_not_strangers),
      CASE(options_tables_are_complete_and_unambiguous),
      CASE(options_logit_bias_is_parsed_or_refused),
      CASE(options_sampling_overrides_only_what_is_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
