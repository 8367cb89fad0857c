// contract_test_util.h: what the tests of contracts share.
#ifndef MLXCEL_CONTRACT_CONTRACT_TEST_UTIL_H_
#define MLXCEL_CONTRACT_CONTRACT_TEST_UTIL_H_

#include "contract/profiles.h"

// The contract of all instances of a profile's table; fails the test if it can't be made. The text is freed by the caller.
char* test_profile_contract(const mlxcel_profile_t* profile, mlxcel_sha256_hex_t* out_fingerprint);

// The message of a status, which is dropped; the status must have |code|.
typedef struct test_message_t {
  char text[4096];
} test_message_t;
test_message_t test_message_of(iree_status_t status, iree_status_code_t code);

// Fails the test unless |status| is OK.
void test_require_ok(iree_status_t status);

#endif  // MLXCEL_CONTRACT_CONTRACT_TEST_UTIL_H_
