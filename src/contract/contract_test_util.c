#include "contract/contract_test_util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

void test_require_ok(iree_status_t status) {
  if (iree_status_is_ok(status)) return;
  char text[2048] = "";
  iree_host_size_t length = 0;
  iree_status_format(status, sizeof(text), text, &length);
  iree_status_ignore(status);
  fail_msg("%s", text);
}

test_message_t test_message_of(iree_status_t status, iree_status_code_t code) {
  test_message_t message = {""};
  iree_host_size_t length = 0;
  if (iree_status_is_ok(status)) fail_msg("OK, but code %d is expected", (int)code);
  iree_status_format(status, sizeof(message.text), message.text, &length);
  iree_status_code_t actual = iree_status_code(status);
  iree_status_ignore(status);
  if (actual != code) fail_msg("code %d is expected: %s", (int)code, message.text);
  return message;
}

static iree_status_t add_clause(void* user_data, const mlxcel_operation_t* operation, const mlxcel_clause_t* clause) {
  (void)operation;
  return mlxcel_contract_add(user_data, clause);
}

char* test_profile_contract(const mlxcel_profile_t* profile, mlxcel_sha256_hex_t* out_fingerprint) {
  mlxcel_contract_t contract;
  char* text = NULL;
  mlxcel_contract_initialize(profile->name, &contract);
  test_require_ok(mlxcel_profile_visit(profile, add_clause, &contract));
  test_require_ok(mlxcel_contract_finish(&contract, &text, out_fingerprint));
  mlxcel_contract_deinitialize(&contract);
  return text;
}
