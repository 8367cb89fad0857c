// Fuzzes the text of a contract: what is accepted writes back to the same bytes, equals itself, and every clause of it is legal.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "contract/contract_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool promise) {
  if (!promise) abort();
}

static void require_ok(iree_status_t status) {
  require(iree_status_is_ok(status));
  iree_status_ignore(status);
}

static void check_rewritten(const mlxcel_parsed_contract_t* parsed, iree_string_view_t text) {
  mlxcel_contract_t contract;
  mlxcel_sha256_hex_t fingerprint, expected;
  char* again = NULL;
  mlxcel_contract_initialize(parsed->profile, &contract);
  for (size_t i = 0; i < parsed->clause_count; ++i) {
    require_ok(mlxcel_clause_check(&parsed->clauses[i]));
    require_ok(mlxcel_contract_add(&contract, &parsed->clauses[i]));
  }
  require_ok(mlxcel_contract_finish(&contract, &again, &fingerprint));
  require(iree_string_view_equal(iree_make_cstring_view(again), text));
  require_ok(mlxcel_sha256_of(text.data, text.size, &expected));
  require(strcmp(fingerprint.text, expected.text) == 0);
  mlxcel_contract_deinitialize(&contract);
  free(again);
}

static void check_equal_to_itself(iree_string_view_t text) {
  mlxcel_strbuf_t lines;
  size_t count = 1;
  mlxcel_strbuf_initialize(&lines);
  require_ok(mlxcel_contract_diff(text, text, &lines, &count));
  require(count == 0 && lines.size == 0);
  mlxcel_strbuf_deinitialize(&lines);
  require_ok(mlxcel_contract_compare(text, text, "input"));
}

// Two texts in one input, told apart by a NUL byte.
static void check_pair(iree_string_view_t text) {
  const char* nul = text.size ? memchr(text.data, 0, text.size) : NULL;
  if (!nul) return;
  iree_string_view_t left = iree_make_string_view(text.data, (size_t)(nul - text.data));
  iree_string_view_t right = iree_make_string_view(nul + 1, text.size - left.size - 1);
  mlxcel_strbuf_t lines;
  size_t count = 0;
  mlxcel_strbuf_initialize(&lines);
  iree_status_t status = mlxcel_contract_diff(left, right, &lines, &count);
  bool is_legal = iree_status_is_ok(status);
  iree_status_ignore(status);
  if (is_legal) {
    require((count == 0) == iree_string_view_equal(left, right));
    status = mlxcel_contract_compare(left, right, "input");
    require(iree_status_is_ok(status) == (count == 0));
    iree_status_ignore(status);
  }
  mlxcel_strbuf_deinitialize(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  iree_string_view_t text = iree_make_string_view((const char*)data, size);
  mlxcel_parsed_contract_t parsed;
  iree_status_t status = mlxcel_contract_parse(text, "input", &parsed);
  if (iree_status_is_ok(status)) {
    check_rewritten(&parsed, text);
    check_equal_to_itself(text);
  }
  mlxcel_parsed_contract_deinitialize(&parsed);
  iree_status_ignore(status);
  check_pair(text);
  return 0;
}
