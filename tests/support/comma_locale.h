// comma_locale.h: a locale whose decimal point is a comma and whose digits are grouped by dots, made on the spot so that tests don't depend on what a machine
// has installed.
#ifndef MLXCEL_TESTS_SUPPORT_COMMA_LOCALE_H_
#define MLXCEL_TESTS_SUPPORT_COMMA_LOCALE_H_

#include <stdbool.h>

// Switches LC_NUMERIC of this process to it. False, with a line printed, where localedef (Debian: libc-bin) is missing.
bool test_comma_locale_enter(void);
// Back to "C".
void test_comma_locale_leave(void);

#endif  // MLXCEL_TESTS_SUPPORT_COMMA_LOCALE_H_
