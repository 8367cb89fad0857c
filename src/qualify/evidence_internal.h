// evidence_internal.h: what the files of the evidence store share.
#ifndef MLXCEL_QUALIFY_EVIDENCE_INTERNAL_H_
#define MLXCEL_QUALIFY_EVIDENCE_INTERNAL_H_

#include "qualify/evidence.h"

// Order of lists: profile, op, variant, clause, device, level; 0 = the same key, so one replaces the other.
int mlxcel_evidence_compare(const mlxcel_evidence_t* left, const mlxcel_evidence_t* right);
// Sorts, and keeps one of each key: a folder that is being written to may show a name twice.
void mlxcel_evidence_list_sort(mlxcel_evidence_list_t* list);

// As mlxcel_evidence_list_parse, without looking for altered bytes: for text that is part of this program and is looked through by a test.
iree_status_t mlxcel_evidence_list_parse_own(iree_string_view_t text, const char* origin, mlxcel_evidence_list_t* out_list);

#endif  // MLXCEL_QUALIFY_EVIDENCE_INTERNAL_H_
