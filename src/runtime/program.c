#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/rope_table.h"

// --- functions -----------------------------------------------------------------------------------------------------------------------------

// Looks up <kind>_<rows>.
static iree_status_t find_functions(const mlxcel_program_t* program, const char* kind, const mlxcel_program_sizes_t* sizes, mlxcel_function_set_t* set) {
  for (uint32_t i = 0; i < sizes->count; ++i) {
    char name[64];
    iree_snprintf(name, sizeof(name), "%s_%u", kind, sizes->values[i]);
    mlxcel_program_function_t* item = &set->items[set->count];
    IREE_RETURN_IF_ERROR(mlxcel_loaded_module_find(&program->module, name, &item->function));
    item->rows = sizes->values[i];
    ++set->count;
  }
  return iree_ok_status();
}

static iree_status_t find_all_functions(mlxcel_program_t* program) {
  IREE_RETURN_IF_ERROR(find_functions(program, "prefill", &program->interface->prefill_chunks, &program->prefill));
  IREE_RETURN_IF_ERROR(find_functions(program, "decode", &program->interface->decode_batches, &program->decode));
  return find_functions(program, "head", &program->interface->head_rows, &program->head);
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
  *out_bytes = mlxcel_program_interface_kv_element_bytes(interface);
  for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); ++i) {
    if (!mlxcel_checked_mul_u64(*out_bytes, factors[i], out_bytes)) {
      return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "the KV cache's size overflows; use a smaller context or fewer slots");
    }
  }
  return iree_ok_status();
}

static iree_hal_element_type_t cache_element_type(const mlxcel_program_interface_t* interface) {
  if (strcmp(interface->kv_dtype, "F32") == 0) return IREE_HAL_ELEMENT_TYPE_FLOAT_32;
  return strcmp(interface->kv_dtype, "F16") == 0 ? IREE_HAL_ELEMENT_TYPE_FLOAT_16 : IREE_HAL_ELEMENT_TYPE_BFLOAT_16;
}

static iree_status_t create_caches(mlxcel_program_t* program) {
  const mlxcel_program_interface_t* interface = program->interface;
  const iree_hal_element_type_t type = cache_element_type(interface);
  uint64_t bytes = 0;
  IREE_RETURN_IF_ERROR(cache_bytes(program, &bytes));
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, bytes, &program->k_cache));
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_create(program->device, bytes, &program->v_cache));
  const iree_hal_dim_t shape[] = {interface->layer_count, program->slot_count, interface->kv_head_count, program->context, interface->head_dim};
  IREE_RETURN_IF_ERROR(mlxcel_host_buffer_view(program->device, &program->k_cache, type, 5, shape, &program->k_view));
  return mlxcel_host_buffer_view(program->device, &program->v_cache, type, 5, shape, &program->v_view);
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

static iree_status_t check_options(const mlxcel_checkpoint_t* checkpoint, const mlxcel_program_options_t* options) {
  uint32_t limit = mlxcel_checkpoint_config(checkpoint)->max_position_embeddings;
  if (options->slot_count == 0 || options->context == 0 || options->context > limit) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "a context of %u positions in %u slots isn't possible; the model allows 1 to %u positions, slots begin at 1", options->context,
                            options->slot_count, limit);
  }
  return iree_ok_status();
}

static iree_status_t load_program(mlxcel_program_t* program, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint,
                                  const mlxcel_program_options_t* options) {
  IREE_RETURN_IF_ERROR(mlxcel_loaded_module_open(program->device, artifact, MLXCEL_PROGRAM_KIND_DECODER, options, &program->module));
  IREE_RETURN_IF_ERROR(find_all_functions(program));
  IREE_RETURN_IF_ERROR(mlxcel_loaded_module_start(&program->module, checkpoint));
  IREE_RETURN_IF_ERROR(create_row_buffers(program));
  IREE_RETURN_IF_ERROR(create_caches(program));
  return create_rope_tables(program, &mlxcel_checkpoint_config(checkpoint)->rope);
}

iree_status_t mlxcel_program_load(mlxcel_device_t* device, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint,
                                  const mlxcel_program_options_t* options, mlxcel_program_t** out_program) {
  *out_program = NULL;
  IREE_RETURN_IF_ERROR(check_options(checkpoint, options));
  mlxcel_program_t* program = calloc(1, sizeof(*program));
  if (!program) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a program; free some memory");
  program->device = device;
  program->interface = &artifact->interface;
  program->slot_count = options->slot_count;
  program->context = options->context;
  iree_status_t status = load_program(program, artifact, checkpoint, options);
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
  mlxcel_loaded_module_close(&program->module);
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
uint64_t mlxcel_program_copied_parameter_bytes(const mlxcel_program_t* program) { return program->module.copied_parameter_bytes; }
