#include "runtime/program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "contract/contract_version.h"
#include "iree/modules/hal/module.h"
#include "iree/vm/bytecode/module.h"
#include "runtime/parameters.h"
#include "runtime/rope_table.h"

// IREE's processor detection (iree_cpu_initialize) writes a global without a lock of its own while modules load.
static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;

// --- functions -----------------------------------------------------------------------------------------------------------------------------

static iree_status_t check_attribute(const iree_vm_function_t* function, const char* name, const char* attribute, iree_string_view_t expected) {
  iree_string_view_t found = iree_vm_function_lookup_attr_by_name(function, iree_make_cstring_view(attribute));
  if (iree_string_view_equal(found, expected)) return iree_ok_status();
  if (iree_string_view_is_empty(found)) {
    return iree_make_status(IREE_STATUS_DATA_LOSS, "function %s carries no %s; the module wasn't made by mlxcel: remove it from the cache", name, attribute);
  }
  return iree_make_status(IREE_STATUS_DATA_LOSS, "function %s: %s inside the module is %.*s, expected %.*s; remove the artifact from the cache", name,
                          attribute, MLXCEL_SV(found), MLXCEL_SV(expected));
}

// Looks up <kind>_<rows> on the bare module and compares its contract, before anything of it can run.
static iree_status_t find_functions(const mlxcel_program_t* program, const char* kind, const mlxcel_program_sizes_t* sizes, iree_string_view_t fingerprint,
                                    mlxcel_function_set_t* set) {
  for (uint32_t i = 0; i < sizes->count; ++i) {
    char name[64];
    iree_snprintf(name, sizeof(name), "%s_%u", kind, sizes->values[i]);
    mlxcel_program_function_t* item = &set->items[set->count];
    iree_status_t status =
        iree_vm_module_lookup_function_by_name(program->bytecode_module, IREE_VM_FUNCTION_LINKAGE_EXPORT, iree_make_cstring_view(name), &item->function);
    if (!iree_status_is_ok(status))
      return iree_status_annotate_f(status, "the module lacks function %s that its manifest names; remove the artifact from the cache", name);
    IREE_RETURN_IF_ERROR(check_attribute(&item->function, name, "mlxcel.contract", fingerprint));
    IREE_RETURN_IF_ERROR(check_attribute(&item->function, name, "mlxcel.contract.version", IREE_SV(MLXCEL_CONTRACT_VERSION_TEXT)));
    item->rows = sizes->values[i];
    ++set->count;
  }
  return iree_ok_status();
}

static iree_status_t find_all_functions(mlxcel_program_t* program, iree_string_view_t fingerprint) {
  IREE_RETURN_IF_ERROR(find_functions(program, "prefill", &program->interface->prefill_chunks, fingerprint, &program->prefill));
  IREE_RETURN_IF_ERROR(find_functions(program, "decode", &program->interface->decode_batches, fingerprint, &program->decode));
  return find_functions(program, "head", &program->interface->head_rows, fingerprint, &program->head);
}

// --- buffers -------------------------------------------------------------------------------------------------------------------------------

static uint32_t largest_size(const mlxcel_function_set_t* set) { return set->count ? set->items[set->count - 1].rows : 0; }

static iree_status_t create_row_views(mlxcel_program_t* program, mlxcel_function_set_t* set) {
  for (uint32_t i = 0; i < set->count; ++i) {
    mlxcel_program_function_t* item = &set->items[i];
    const iree_hal_dim_t shape[] = {item->rows};
    const iree_hal_element_type_t type = IREE_HAL_ELEMENT_TYPE_SINT_32;
    IREE_RETURN_IF_ERROR(mlxcel_host_buffer_view(program->device, &program->tokens, type, 1, shape, &item->tokens));
    IREE_RETURN_IF_ERROR(mlxcel_host_buffer_view(program->device, &program->slots, type, 1, shape, &item->slots));
    IREE_RETURN_IF_ERROR(mlxcel_host_buffer_view(program->device, &program->positions, type, 1, shape, &item->positions));
  }
  return iree_ok_status();
}

static iree_status_t create_row_buffers(mlxcel_program_t* program) {
  mlxcel_function_set_t* sets[] = {&program->prefill, &program->decode, &program->head};
  uint64_t rows = 1;
  for (size_t i = 0; i < 3; ++i) rows = largest_size(sets[i]) > rows ? largest_size(sets[i]) : rows;
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, rows * sizeof(int32_t), &program->tokens));
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, rows * sizeof(int32_t), &program->slots));
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, rows * sizeof(int32_t), &program->positions));
  for (size_t i = 0; i < 3; ++i) {
    IREE_RETURN_IF_ERROR(create_row_views(program, sets[i]));
  }
  program->hidden_is_active = calloc(largest_size(&program->prefill) + 1, sizeof(bool));
  if (!program->hidden_is_active) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for row flags; free some memory");
  return iree_ok_status();
}

// Bytes of one cache, or an error when they can't be counted.
static iree_status_t cache_bytes(const mlxcel_program_t* program, uint64_t* out_bytes) {
  const mlxcel_program_interface_t* interface = program->interface;
  const uint64_t factors[] = {interface->layer_count, program->slot_count, interface->kv_head_count, program->context, interface->head_dim};
  *out_bytes = sizeof(float);
  for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); ++i) {
    if (!mlxcel_checked_mul_u64(*out_bytes, factors[i], out_bytes)) {
      return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "the KV cache's size overflows; use a smaller context or fewer slots");
    }
  }
  return iree_ok_status();
}

static iree_status_t create_caches(mlxcel_program_t* program) {
  const mlxcel_program_interface_t* interface = program->interface;
  const iree_hal_element_type_t f32 = IREE_HAL_ELEMENT_TYPE_FLOAT_32;
  uint64_t bytes = 0;
  IREE_RETURN_IF_ERROR(cache_bytes(program, &bytes));
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, bytes, &program->k_cache));
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, bytes, &program->v_cache));
  const iree_hal_dim_t shape[] = {interface->layer_count, program->slot_count, interface->kv_head_count, program->context, interface->head_dim};
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_view(program->device, &program->k_cache, f32, 5, shape, &program->k_view));
  return mlxcel_host_buffer_view(program->device, &program->v_cache, f32, 5, shape, &program->v_view);
}

static iree_status_t create_rope_tables(mlxcel_program_t* program, const mlxcel_rope_config_t* config) {
  uint32_t width = program->interface->rope_width;
  program->rope_frequencies = malloc(width * sizeof(double));
  if (!program->rope_frequencies) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for the rotary frequencies; free some memory");
  mlxcel_rope_frequencies(config, width, program->rope_frequencies);
  uint64_t bytes = (uint64_t)program->context * width * sizeof(float);
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, bytes, &program->rope_cos));
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, bytes, &program->rope_sin));
  const iree_hal_dim_t shape[] = {program->context, width};
  const iree_hal_element_type_t f32 = IREE_HAL_ELEMENT_TYPE_FLOAT_32;
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_view(program->device, &program->rope_cos, f32, 2, shape, &program->cos_view));
  return mlxcel_host_buffer_view(program->device, &program->rope_sin, f32, 2, shape, &program->sin_view);
}

// --- loading -------------------------------------------------------------------------------------------------------------------------------

static iree_status_t create_context(mlxcel_program_t* program, const mlxcel_checkpoint_t* checkpoint) {
  mlxcel_device_t* device = program->device;
  IREE_RETURN_IF_ERROR(iree_hal_module_create(device->instance, iree_hal_module_device_policy_default(), device->group, IREE_HAL_MODULE_FLAG_NONE,
                                              iree_hal_module_debug_sink_null(), device->allocator, &program->hal_module));
  IREE_RETURN_IF_ERROR(mlxcel_parameters_module_create(device, program->interface, checkpoint, &program->copied_parameter_bytes, &program->parameters_module));
  iree_vm_module_t* modules[] = {program->hal_module, program->parameters_module, program->bytecode_module};
  return iree_vm_context_create_with_modules(device->instance, IREE_VM_CONTEXT_FLAG_NONE, 3, modules, device->allocator, &program->vm_context);
}

static iree_status_t check_options(const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint, const mlxcel_program_options_t* options) {
  uint32_t limit = mlxcel_checkpoint_config(checkpoint)->max_position_embeddings;
  if (options->slot_count == 0 || options->context == 0 || options->context > limit) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "a context of %u positions in %u slots isn't possible; the model allows 1 to %u positions, slots begin at 1", options->context,
                            options->slot_count, limit);
  }
  if (!iree_string_view_equal(options->expected_fingerprint, iree_make_cstring_view(artifact->contract_fingerprint.text))) {
    return iree_make_status(IREE_STATUS_FAILED_PRECONDITION,
                            "contract_fingerprint of the manifest is %s, asked for was %.*s; remove the artifact from the cache",
                            artifact->contract_fingerprint.text, MLXCEL_SV(options->expected_fingerprint));
  }
  return iree_ok_status();
}

static iree_status_t load_program(mlxcel_program_t* program, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint,
                                  iree_string_view_t fingerprint) {
  mlxcel_device_t* device = program->device;
  iree_const_byte_span_t bytes = iree_make_const_byte_span(artifact->vmfb.data, artifact->vmfb.size);
  IREE_RETURN_IF_ERROR(iree_vm_bytecode_module_create(device->instance, IREE_VM_BYTECODE_MODULE_FLAG_NONE, bytes, iree_allocator_null(), device->allocator,
                                                      &program->bytecode_module));
  IREE_RETURN_IF_ERROR(find_all_functions(program, fingerprint));
  IREE_RETURN_IF_ERROR(create_context(program, checkpoint));
  IREE_RETURN_IF_ERROR(create_row_buffers(program));
  IREE_RETURN_IF_ERROR(create_caches(program));
  return create_rope_tables(program, &mlxcel_checkpoint_config(checkpoint)->rope);
}

iree_status_t mlxcel_program_load(mlxcel_device_t* device, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint,
                                  const mlxcel_program_options_t* options, mlxcel_program_t** out_program) {
  *out_program = NULL;
  IREE_RETURN_IF_ERROR(check_options(artifact, checkpoint, options));
  mlxcel_program_t* program = calloc(1, sizeof(*program));
  if (!program) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a program; free some memory");
  program->device = device;
  program->interface = &artifact->interface;
  program->slot_count = options->slot_count;
  program->context = options->context;
  pthread_mutex_lock(&load_mutex);
  iree_status_t status = load_program(program, artifact, checkpoint, options->expected_fingerprint);
  pthread_mutex_unlock(&load_mutex);
  if (iree_status_is_ok(status)) {
    *out_program = program;
  } else {
    mlxcel_program_unload(program);
  }
  return status;
}

static void release_views(mlxcel_function_set_t* set) {
  for (uint32_t i = 0; i < set->count; ++i) {
    iree_hal_buffer_view_release(set->items[i].tokens);
    iree_hal_buffer_view_release(set->items[i].slots);
    iree_hal_buffer_view_release(set->items[i].positions);
  }
}

void mlxcel_program_unload(mlxcel_program_t* program) {
  if (!program) return;
  iree_hal_buffer_view_t* views[] = {program->hidden, program->k_view, program->v_view, program->cos_view, program->sin_view};
  for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); ++i) iree_hal_buffer_view_release(views[i]);
  release_views(&program->prefill);
  release_views(&program->decode);
  release_views(&program->head);
  iree_vm_context_release(program->vm_context);
  iree_vm_module_release(program->bytecode_module);
  iree_vm_module_release(program->parameters_module);
  iree_vm_module_release(program->hal_module);
  mlxcel_host_buffer_t* buffers[] = {&program->tokens,  &program->slots,    &program->positions, &program->k_cache,
                                     &program->v_cache, &program->rope_cos, &program->rope_sin};
  for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); ++i) mlxcel_host_buffer_destroy(buffers[i]);
  free(program->rope_frequencies);
  free(program->hidden_is_active);
  free(program);
}

const mlxcel_program_interface_t* mlxcel_program_interface_of(const mlxcel_program_t* program) { return program->interface; }
uint32_t mlxcel_program_context(const mlxcel_program_t* program) { return program->context; }
uint32_t mlxcel_program_slot_count(const mlxcel_program_t* program) { return program->slot_count; }
uint64_t mlxcel_program_kv_bytes(const mlxcel_program_t* program) { return (uint64_t)program->k_cache.size + program->v_cache.size; }
uint64_t mlxcel_program_copied_parameter_bytes(const mlxcel_program_t* program) { return program->copied_parameter_bytes; }
