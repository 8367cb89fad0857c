#include <string.h>

#include "iree/modules/hal/types.h"
#include "runtime/dispatch_recorder.h"
#include "runtime/program.h"
#include "runtime/rope_table.h"

// --- checks: kernels trust their arguments ---------------------------------------------------------------------------------------------------

// Rows of one slot ascend in position; ids, slots and positions are in range.
static iree_status_t check_row(const mlxcel_program_t* program, const mlxcel_rows_t* rows, uint32_t r) {
  if (rows->positions[r] < 0) return iree_ok_status();
  if (rows->tokens[r] < 0 || (uint32_t)rows->tokens[r] >= program->interface->vocab_size) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "row %u: token id %d is outside of the vocabulary of %u; use ids of this model's tokenizer", r,
                            rows->tokens[r], program->interface->vocab_size);
  }
  if (rows->slots[r] < 0 || (uint32_t)rows->slots[r] >= program->slot_count) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "row %u: slot %d is outside of the %u slots; load with more slots", r, rows->slots[r],
                            program->slot_count);
  }
  if ((uint32_t)rows->positions[r] >= program->context) {
    return iree_make_status(IREE_STATUS_OUT_OF_RANGE, "row %u: position %d is outside of the context of %u; start with a larger -c", r, rows->positions[r],
                            program->context);
  }
  for (uint32_t before = 0; before < r; ++before) {
    if (rows->positions[before] >= 0 && rows->slots[before] == rows->slots[r] && rows->positions[before] >= rows->positions[r]) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "rows %u and %u of slot %d aren't in ascending order of position; sort them", before, r,
                              rows->slots[r]);
    }
  }
  return iree_ok_status();
}

static iree_status_t check_rows(const mlxcel_program_t* program, const mlxcel_rows_t* rows, const mlxcel_function_set_t* set) {
  uint32_t largest = set->count ? set->items[set->count - 1].rows : 0;
  if (rows->count == 0 || rows->count > largest) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "%u rows in one call, the module was compiled for 1 to %u; cut the call into smaller ones",
                            rows->count, largest);
  }
  for (uint32_t r = 0; r < rows->count; ++r) {
    IREE_RETURN_IF_ERROR(check_row(program, rows, r));
  }
  return iree_ok_status();
}

// The smallest size that holds |count| rows.
static const mlxcel_program_function_t* pick(const mlxcel_function_set_t* set, uint32_t count) {
  for (uint32_t i = 0; i < set->count; ++i) {
    if (set->items[i].rows >= count) return &set->items[i];
  }
  return NULL;
}

// --- calls -----------------------------------------------------------------------------------------------------------------------------------

// Makes sure that the rotary tables reach the highest position.
static void fill_rope_tables(mlxcel_program_t* program, const mlxcel_rows_t* rows) {
  uint32_t needed = 0;
  for (uint32_t r = 0; r < rows->count; ++r) {
    if (rows->positions[r] >= 0 && (uint32_t)rows->positions[r] >= needed) needed = (uint32_t)rows->positions[r] + 1;
  }
  if (needed <= program->rope_rows) return;
  mlxcel_rope_rows(program->rope_frequencies, program->interface->rope_width, program->rope_rows, needed, program->rope_cos.data, program->rope_sin.data);
  program->rope_rows = needed;
}

static void write_rows(mlxcel_program_t* program, const mlxcel_rows_t* rows, uint32_t padded) {
  int32_t *tokens = program->tokens.data, *slots = program->slots.data, *positions = program->positions.data;
  for (uint32_t r = 0; r < padded; ++r) {
    bool active = r < rows->count && rows->positions[r] >= 0;
    tokens[r] = active ? rows->tokens[r] : 0;
    slots[r] = active ? rows->slots[r] : 0;
    positions[r] = active ? rows->positions[r] : -1;
  }
}

// Calls |function| with |count| buffer views; the first result goes to |*out_first|, the others alias arguments and are dropped.
static iree_status_t invoke(mlxcel_program_t* program, const iree_vm_function_t* function, size_t count, iree_hal_buffer_view_t* const* arguments,
                            iree_hal_buffer_view_t** out_first) {
  iree_allocator_t allocator = program->device->allocator;
  iree_vm_list_t *inputs = NULL, *outputs = NULL;
  iree_status_t status = iree_vm_list_create(iree_vm_make_undefined_type_def(), count, allocator, &inputs);
  if (iree_status_is_ok(status)) status = iree_vm_list_create(iree_vm_make_undefined_type_def(), 3, allocator, &outputs);
  for (size_t i = 0; i < count && iree_status_is_ok(status); ++i) {
    iree_vm_ref_t ref = iree_hal_buffer_view_retain_ref(arguments[i]);
    status = iree_vm_list_push_ref_move(inputs, &ref);
  }
  if (iree_status_is_ok(status)) {
    status = iree_vm_invoke(program->module.context, *function, IREE_VM_INVOCATION_FLAG_NONE, NULL, inputs, outputs, allocator);
  }
  if (iree_status_is_ok(status)) {
    *out_first = iree_vm_list_get_buffer_view_assign(outputs, 0);
    iree_hal_buffer_view_retain(*out_first);
  }
  iree_vm_list_release(outputs);
  iree_vm_list_release(inputs);
  return status;
}

// Tells an open profile what comes; |slots| and |positions| may be NULL.
static iree_status_t announce(mlxcel_program_t* program, const mlxcel_program_function_t* item, uint32_t count, const int32_t* slots,
                              const int32_t* positions) {
  if (!program->device->recorder) return iree_ok_status();
  return mlxcel_dispatch_recorder_begin_call(program->device->recorder, program->module.artifact, iree_vm_function_name(&item->function), count, slots,
                                             positions);
}

static iree_status_t run_rows(mlxcel_program_t* program, const mlxcel_function_set_t* set, const mlxcel_rows_t* rows, iree_hal_buffer_view_t** out_first) {
  const mlxcel_program_function_t* item = pick(set, rows->count);
  fill_rope_tables(program, rows);
  write_rows(program, rows, item->rows);
  IREE_RETURN_IF_ERROR(announce(program, item, rows->count, rows->slots, rows->positions));
  iree_hal_buffer_view_t* const arguments[] = {item->tokens,      item->slots,     item->positions, program->cos_view,
                                               program->sin_view, program->k_view, program->v_view};
  return invoke(program, &item->function, sizeof(arguments) / sizeof(arguments[0]), arguments, out_first);
}

// Logits are f32 in every profile.
static iree_status_t check_logits(iree_hal_buffer_view_t* view, uint32_t row_count, uint32_t width) {
  iree_device_size_t bytes = iree_hal_buffer_view_byte_length(view), needed = (iree_device_size_t)row_count * width * sizeof(float);
  if (iree_hal_buffer_view_element_type(view) == IREE_HAL_ELEMENT_TYPE_FLOAT_32 && bytes >= needed) return iree_ok_status();
  return iree_make_status(IREE_STATUS_DATA_LOSS, "the module's logits aren't f32 [%u, %u]; remove the artifact from the cache", row_count, width);
}

// Copies |row_count| rows of |width| floats out of |view|.
static iree_status_t read_rows(iree_hal_buffer_view_t* view, uint32_t row_count, uint32_t width, const int32_t* positions, float* out) {
  IREE_RETURN_IF_ERROR(check_logits(view, row_count, width));
  iree_hal_buffer_mapping_t mapping;
  IREE_RETURN_IF_ERROR(iree_hal_buffer_map_range(iree_hal_buffer_view_buffer(view), IREE_HAL_MAPPING_MODE_SCOPED, IREE_HAL_MEMORY_ACCESS_READ, 0,
                                                 (iree_device_size_t)row_count * width * sizeof(float), &mapping));
  for (uint32_t r = 0; r < row_count; ++r) {
    if (positions && positions[r] < 0) continue;
    memcpy(out + (size_t)r * width, mapping.contents.data + (size_t)r * width * sizeof(float), width * sizeof(float));
  }
  return iree_hal_buffer_unmap_range(&mapping);
}

iree_status_t mlxcel_program_prefill(mlxcel_program_t* program, const mlxcel_rows_t* rows) {
  IREE_RETURN_IF_ERROR(check_rows(program, rows, &program->prefill));
  iree_hal_buffer_view_release(program->hidden);
  program->hidden = NULL;
  program->hidden_rows = rows->count;
  for (uint32_t r = 0; r < rows->count; ++r) program->hidden_is_active[r] = rows->positions[r] >= 0;
  return run_rows(program, &program->prefill, rows, &program->hidden);
}

static iree_status_t run_head(mlxcel_program_t* program, uint32_t row_count, const uint32_t* row_indices, float* out_logits) {
  const mlxcel_program_function_t* item = pick(&program->head, row_count);
  int32_t* index = program->positions.data;
  for (uint32_t r = 0; r < item->rows; ++r) index[r] = r < row_count ? (int32_t)row_indices[r] : -1;
  IREE_RETURN_IF_ERROR(announce(program, item, row_count, NULL, NULL));
  iree_hal_buffer_view_t* const arguments[] = {program->hidden, item->positions};
  iree_hal_buffer_view_t* logits = NULL;
  iree_status_t status = invoke(program, &item->function, 2, arguments, &logits);
  if (iree_status_is_ok(status)) status = read_rows(logits, row_count, program->interface->vocab_size, NULL, out_logits);
  iree_hal_buffer_view_release(logits);
  return status;
}

iree_status_t mlxcel_program_head(mlxcel_program_t* program, uint32_t row_count, const uint32_t* row_indices, float* out_logits) {
  if (!program->hidden) return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "logits were asked for before a prefill; run one first");
  for (uint32_t r = 0; r < row_count; ++r) {
    if (row_indices[r] >= program->hidden_rows) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "row %u was asked for, the last prefill had %u; ask for one of them", row_indices[r],
                              program->hidden_rows);
    }
    if (!program->hidden_is_active[row_indices[r]]) {
      return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "row %u of the last prefill was inactive and has no logits; ask for an active one", row_indices[r]);
    }
  }
  uint32_t largest = program->head.items[program->head.count - 1].rows;
  for (uint32_t done = 0; done < row_count; done += largest) {
    uint32_t count = row_count - done < largest ? row_count - done : largest;
    IREE_RETURN_IF_ERROR(run_head(program, count, row_indices + done, out_logits + (size_t)done * program->interface->vocab_size));
  }
  return iree_ok_status();
}

iree_status_t mlxcel_program_decode(mlxcel_program_t* program, const mlxcel_rows_t* rows, float* out_logits) {
  IREE_RETURN_IF_ERROR(check_rows(program, rows, &program->decode));
  iree_hal_buffer_view_t* logits = NULL;
  iree_status_t status = run_rows(program, &program->decode, rows, &logits);
  if (iree_status_is_ok(status)) status = read_rows(logits, rows->count, program->interface->vocab_size, rows->positions, out_logits);
  iree_hal_buffer_view_release(logits);
  return status;
}
