// canonical_mutation_list.c: every case of iree-canonical and every mutation of its module, for tests/python/test_text_mutations.py. One case a line of stdout:
//
//   {"case", "op", "operands": [{"name", "dtype", "dims"}], "text", "mutations": [{"rule", "field", "occurrence", "proof" (null: none), "text"}]}
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "emit/canonical/canonical_cases.h"
#include "emit/canonical/canonical_mutations.h"
#include "emit/operation_emitter.h"

static iree_status_t out_of_memory(void) { return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the list; free memory and try again"); }

static iree_status_t append(json_t* list, json_t* item) { return item && json_array_append_new(list, item) == 0 ? iree_ok_status() : out_of_memory(); }

static iree_status_t append_mutation(void* user_data, const mlxcel_canonical_mutation_t* mutation, const char* mutated) {
  return append(user_data, json_pack("{s:s, s:s, s:i, s:s?, s:s}", "rule", mutation->rule, "field", mutation->field, "occurrence", (int)mutation->occurrence,
                                     "proof", mutation->proof, "text", mutated));
}

static iree_status_t append_operand(json_t* list, const mlxcel_operand_t* operand) {
  json_t* dims = json_array();
  iree_status_t status = append(list, json_pack("{s:s, s:s, s:o}", "name", operand->name, "dtype", mlxcel_dtype_name(operand->dtype), "dims", dims));
  for (uint32_t i = 0; i < operand->rank && iree_status_is_ok(status); ++i) status = append(dims, json_integer(operand->dims[i]));
  return status;
}

static iree_status_t fill_case(const mlxcel_canonical_case_t* item, const mlxcel_emitted_operation_t* emitted, json_t* operands, json_t* mutations) {
  for (size_t i = 0; i < emitted->operand_count; ++i) {
    IREE_RETURN_IF_ERROR(append_operand(operands, &emitted->operands[i]));
  }
  return mlxcel_canonical_mutations_visit(item->name, emitted->mlir_text, append_mutation, mutations);
}

static iree_status_t print_case(const mlxcel_canonical_case_t* item, const mlxcel_emitted_operation_t* emitted) {
  json_t *operands = json_array(), *mutations = json_array();
  json_t* object = json_pack("{s:s, s:s, s:o, s:s, s:o}", "case", item->name, "op", mlxcel_op_class_name(item->operation.op), "operands", operands, "text",
                             emitted->mlir_text, "mutations", mutations);
  if (!object) return out_of_memory();
  iree_status_t status = fill_case(item, emitted, operands, mutations);
  char* line = iree_status_is_ok(status) ? json_dumps(object, JSON_COMPACT) : NULL;
  if (line) {
    puts(line);
  } else if (iree_status_is_ok(status)) {
    status = out_of_memory();
  }
  free(line);
  json_decref(object);
  return status;
}

static iree_status_t print_all(void) {
  const mlxcel_profile_t* profile = mlxcel_profile_find(IREE_SV(MLXCEL_PROFILE_IREE_CANONICAL));
  const mlxcel_canonical_case_t* item;
  for (size_t i = 0; (item = mlxcel_canonical_case_at(i)) != NULL; ++i) {
    mlxcel_emitted_operation_t emitted;
    IREE_RETURN_IF_ERROR(mlxcel_emit_operation_module(profile, &item->operation, &emitted));
    iree_status_t status = print_case(item, &emitted);
    mlxcel_emitted_operation_deinitialize(&emitted);
    IREE_RETURN_IF_ERROR(status);
  }
  return iree_ok_status();
}

int main(void) {
  iree_status_t status = print_all();
  if (iree_status_is_ok(status)) return 0;
  iree_status_fprint(stderr, status);
  iree_status_free(status);
  return 1;
}
