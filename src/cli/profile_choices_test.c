// The profiles that options offer are those of the table.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/commands.h"
#include "cli/engine_settings.h"
#include "contract/profiles.h"

static const mlxcel_cli_option_t* find_option(const mlxcel_cli_command_t* command, const char* name) {
  for (size_t g = 0; g < command->group_count; ++g) {
    for (size_t i = 0; i < command->groups[g].option_count; ++i) {
      if (strcmp(command->groups[g].options[i].name, name) == 0) return &command->groups[g].options[i];
    }
  }
  fail_msg("%s has no option --%s", command->name, name);
  return NULL;
}

static size_t count_of(const char* const* choices) {
  size_t count = 0;
  while (choices[count]) ++count;
  return count;
}

static void expect_profiles(const mlxcel_cli_command_t* command, bool only_models) {
  const char* const* choices = find_option(command, "profile")->choices;
  size_t count = 0;
  for (size_t i = 0; mlxcel_profile_at(i); ++i) {
    if (only_models && !mlxcel_profile_at(i)->runs_models) continue;
    assert_true(count < count_of(choices));
    assert_string_equal(choices[count++], mlxcel_profile_at(i)->name);
  }
  assert_int_equal(count, count_of(choices));
}

static void commands_that_run_models_offer_the_profiles_that_do(void** state) {
  (void)state;
  static const mlxcel_cli_command_t* const commands[] = {&mlxcel_cli_command_generate, &mlxcel_cli_command_chat, &mlxcel_cli_command_compile,
                                                         &mlxcel_cli_command_taps};
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) expect_profiles(commands[i], true);
}

static void contract_command_offers_every_profile(void** state) {
  (void)state;
  expect_profiles(&mlxcel_cli_command_contract, false);
}

static void precision_option_offers_that_of_every_profile_that_runs_models(void** state) {
  (void)state;
  const char* const* choices = find_option(&mlxcel_cli_command_generate, "precision")->choices;
  for (size_t i = 0; mlxcel_profile_at(i); ++i) {
    const mlxcel_profile_t* profile = mlxcel_profile_at(i);
    assert_int_equal(profile->runs_models, profile->precision != NULL);
    size_t at = 0;
    while (profile->precision && choices[at] && strcmp(choices[at], profile->precision) != 0) ++at;
    assert_non_null(choices[at]);
  }
}

static void profile_names_are_listed_in_the_tables_order(void** state) {
  (void)state;
  char names[MLXCEL_PROFILE_NAMES_BYTES_MAX];
  mlxcel_profile_names(true, names);
  assert_string_equal(names, MLXCEL_PROFILE_PINNED_F32 ", " MLXCEL_PROFILE_MLX_CPU);
  mlxcel_profile_names(false, names);
  assert_true(strlen(names) + 1 < sizeof(names));  // all of them fit
  for (size_t i = 0; mlxcel_profile_at(i); ++i) assert_non_null(strstr(names, mlxcel_profile_at(i)->name));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(commands_that_run_models_offer_the_profiles_that_do),
      cmocka_unit_test(contract_command_offers_every_profile),
      cmocka_unit_test(precision_option_offers_that_of_every_profile_that_runs_models),
      cmocka_unit_test(profile_names_are_listed_in_the_tables_order),
  };
  return cmocka_run_group_tests_name("profile_choices", tests, NULL, NULL);
}
