// module.c: modules of kind "operation": one function, host tensors in and out.
#include <stdlib.h>
#include <string.h>

#include "iree/modules/hal/types.h"
#include "runtime/loaded_module.h"

#define OPERATION_FUNCTION "operation"

struct mlxcel_module_t {
  mlxcel_loaded_module_t loaded;
  iree_vm_function_t function;
};

// --- loading -------------------------------------------------------------------------------------------------------------------------------

static iree_status_t load(mlxcel_module_t* module, mlxcel_device_t* device, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint,
                          const mlxcel_program_options_t* options) {
  IREE_RETURN_IF_ERROR(mlxcel_loaded_module_open(device, artifact, MLXCEL_PROGRAM_KIND_OPERATION, options, &module->loaded));
  IREE_RETURN_IF_ERROR(mlxcel_loaded_module_find(&module->loaded, OPERATION_FUNCTION, &module->function));
  return mlxcel_loaded_module_start(&module->loaded, checkpoint);
}

iree_status_t mlxcel_module_load(mlxcel_device_t* device, const mlxcel_artifact_t* artifact, const mlxcel_checkpoint_t* checkpoint,
                                 const mlxcel_program_options_t* options, mlxcel_module_t** out_module) {
  *out_module = NULL;
  mlxcel_module_t* module = calloc(1, sizeof(*module));
  if (!module) return iree_make_status(IREE_STATUS_RESOURCE_EXHAUSTED, "out of memory for a module; free some memory");
  iree_status_t status = load(module, device, artifact, checkpoint, options);
  if (iree_status_is_ok(status)) {
    *out_module = module;
  } else {
    mlxcel_module_unload(module);
  }
  return status;
}

void mlxcel_module_unload(mlxcel_module_t* module) {
  if (!module) return;
  mlxcel_loaded_module_close(&module->loaded);
  free(module);
}

// --- tensors -------------------------------------------------------------------------------------------------------------------------------

// Bytes travel as i8: the compiler mishandles unsigned tensors.
static const iree_hal_element_type_t element_types[MLXCEL_DTYPE_COUNT] = {
    [MLXCEL_DTYPE_F32] = IREE_HAL_ELEMENT_TYPE_FLOAT_32,   [MLXCEL_DTYPE_F16] = IREE_HAL_ELEMENT_TYPE_FLOAT_16,
    [MLXCEL_DTYPE_BF16] = IREE_HAL_ELEMENT_TYPE_BFLOAT_16, [MLXCEL_DTYPE_I32] = IREE_HAL_ELEMENT_TYPE_SINT_32,
    [MLXCEL_DTYPE_U8] = IREE_HAL_ELEMENT_TYPE_SINT_8,
};

// The dtype of a result; false if it is none of ours. Integers come back without a sign.
static bool find_dtype(iree_hal_element_type_t type, mlxcel_dtype_t* out_dtype) {
  if (type == IREE_HAL_ELEMENT_TYPE_INT_32) type = IREE_HAL_ELEMENT_TYPE_SINT_32;
  if (type == IREE_HAL_ELEMENT_TYPE_INT_8 || type == IREE_HAL_ELEMENT_TYPE_UINT_8) type = IREE_HAL_ELEMENT_TYPE_SINT_8;
  for (uint32_t i = 0; i < MLXCEL_DTYPE_COUNT; ++i) {
    *out_dtype = (mlxcel_dtype_t)i;
    if (element_types[i] == type) return true;
  }
  return false;
}

// Dense bytes of a shape; false if they can't be counted, or for a rank or size that no operation has.
static bool count_bytes(const mlxcel_operand_t* type, uint64_t* out_bytes) {
  if ((uint32_t)type->dtype >= MLXCEL_DTYPE_COUNT || type->rank > MLXCEL_OPERAND_RANK_MAX) return false;
  *out_bytes = mlxcel_dtype_size(type->dtype);
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (type->dims[i] <= 0 || !mlxcel_checked_mul_u64(*out_bytes, (uint64_t)type->dims[i], out_bytes)) return false;
  }
  return true;
}

static iree_status_t check_argument(size_t index, const mlxcel_host_tensor_t* tensor) {
  uint64_t bytes = 0;
  const char* name = tensor->type.name ? tensor->type.name : "without a name";
  if (!tensor->data || !count_bytes(&tensor->type, &bytes)) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT,
                            "argument %zu (%s) has no data, an unknown dtype, a rank over %d or a size that isn't positive; fill it", index, name,
                            MLXCEL_OPERAND_RANK_MAX);
  }
  if (bytes == tensor->size) return iree_ok_status();
  return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "argument %zu (%s) has %zu bytes, its dtype and shape need %" PRIu64 "; make them fit", index, name,
                          tensor->size, bytes);
}

// A copy of |tensor| on the device.
static iree_status_t push_argument(const mlxcel_device_t* device, const mlxcel_host_tensor_t* tensor, iree_vm_list_t* inputs) {
  iree_hal_dim_t dims[MLXCEL_OPERAND_RANK_MAX];
  for (uint32_t i = 0; i < tensor->type.rank; ++i) dims[i] = (iree_hal_dim_t)tensor->type.dims[i];
  const iree_hal_buffer_params_t params = {
      .usage = IREE_HAL_BUFFER_USAGE_DEFAULT | IREE_HAL_BUFFER_USAGE_MAPPING,
      .access = IREE_HAL_MEMORY_ACCESS_ALL,
      .type = IREE_HAL_MEMORY_TYPE_HOST_LOCAL | IREE_HAL_MEMORY_TYPE_DEVICE_VISIBLE,
  };
  iree_hal_buffer_view_t* view = NULL;
  IREE_RETURN_IF_ERROR(iree_hal_buffer_view_allocate_buffer_copy(device->hal_device, iree_hal_device_allocator(device->hal_device), tensor->type.rank, dims,
                                                                 element_types[tensor->type.dtype], IREE_HAL_ENCODING_TYPE_DENSE_ROW_MAJOR, params,
                                                                 iree_make_const_byte_span(tensor->data, tensor->size), &view));
  iree_vm_ref_t ref = iree_hal_buffer_view_move_ref(view);
  iree_status_t status = iree_vm_list_push_ref_move(inputs, &ref);
  iree_vm_ref_release(&ref);  // still held if the push failed
  return status;
}

static iree_status_t describe_result(iree_hal_buffer_view_t* view, size_t index, mlxcel_operand_t* out_type) {
  memset(out_type, 0, sizeof(*out_type));
  out_type->name = "result";
  iree_host_size_t rank = iree_hal_buffer_view_shape_rank(view);
  bool is_known = find_dtype(iree_hal_buffer_view_element_type(view), &out_type->dtype) && rank <= MLXCEL_OPERAND_RANK_MAX;
  if (!is_known) {
    return iree_make_status(IREE_STATUS_INTERNAL, "result %zu has element type 0x%08x and rank %zu, which no operation has; the module is another's", index,
                            iree_hal_buffer_view_element_type(view), (size_t)rank);
  }
  out_type->rank = (uint32_t)rank;
  for (uint32_t i = 0; i < rank; ++i) out_type->dims[i] = (int64_t)iree_hal_buffer_view_shape_dim(view, i);
  return iree_ok_status();
}

static iree_status_t copy_result(iree_hal_buffer_view_t* view, mlxcel_host_tensor_t* tensor) {
  iree_hal_buffer_mapping_t mapping;
  IREE_RETURN_IF_ERROR(
      iree_hal_buffer_map_range(iree_hal_buffer_view_buffer(view), IREE_HAL_MAPPING_MODE_SCOPED, IREE_HAL_MEMORY_ACCESS_READ, 0, tensor->size, &mapping));
  memcpy(tensor->data, mapping.contents.data, tensor->size);
  return iree_hal_buffer_unmap_range(&mapping);
}

static iree_status_t read_result(iree_vm_list_t* outputs, size_t index, mlxcel_host_tensor_t* out_tensor) {
  iree_hal_buffer_view_t* view = iree_vm_list_get_buffer_view_assign(outputs, index);
  if (!view) return iree_make_status(IREE_STATUS_INTERNAL, "result %zu isn't a tensor; the module is another's", index);
  mlxcel_operand_t type;
  IREE_RETURN_IF_ERROR(describe_result(view, index, &type));
  IREE_RETURN_IF_ERROR(mlxcel_host_tensor_allocate(&type, out_tensor));
  return copy_result(view, out_tensor);
}

// --- calls -----------------------------------------------------------------------------------------------------------------------------------

static iree_status_t read_results(iree_vm_list_t* outputs, size_t result_count, mlxcel_host_tensor_t* out_results) {
  if (iree_vm_list_size(outputs) != result_count) {
    return iree_make_status(IREE_STATUS_INTERNAL, "the module gave %zu results, %zu were expected; the module is another's", (size_t)iree_vm_list_size(outputs),
                            result_count);
  }
  for (size_t i = 0; i < result_count; ++i) {
    IREE_RETURN_IF_ERROR(read_result(outputs, i, &out_results[i]));
  }
  return iree_ok_status();
}

static iree_status_t call(const mlxcel_module_t* module, size_t argument_count, const mlxcel_host_tensor_t* arguments, iree_vm_list_t* inputs,
                          iree_vm_list_t* outputs) {
  for (size_t i = 0; i < argument_count; ++i) {
    IREE_RETURN_IF_ERROR(check_argument(i, &arguments[i]));
    IREE_RETURN_IF_ERROR(push_argument(module->loaded.device, &arguments[i], inputs));
  }
  return iree_vm_invoke(module->loaded.context, module->function, IREE_VM_INVOCATION_FLAG_NONE, NULL, inputs, outputs, module->loaded.device->allocator);
}

iree_status_t mlxcel_module_call(mlxcel_module_t* module, size_t argument_count, const mlxcel_host_tensor_t* arguments, size_t result_count,
                                 mlxcel_host_tensor_t* out_results) {
  for (size_t i = 0; i < result_count; ++i) memset(&out_results[i], 0, sizeof(out_results[i]));
  iree_allocator_t allocator = module->loaded.device->allocator;
  iree_vm_list_t *inputs = NULL, *outputs = NULL;
  iree_status_t status = iree_vm_list_create(iree_vm_make_undefined_type_def(), argument_count, allocator, &inputs);
  if (iree_status_is_ok(status)) status = iree_vm_list_create(iree_vm_make_undefined_type_def(), result_count, allocator, &outputs);
  if (iree_status_is_ok(status)) status = call(module, argument_count, arguments, inputs, outputs);
  if (iree_status_is_ok(status)) status = read_results(outputs, result_count, out_results);
  iree_vm_list_release(outputs);
  iree_vm_list_release(inputs);
  if (iree_status_is_ok(status)) return status;
  for (size_t i = 0; i < result_count; ++i) mlxcel_host_tensor_deinitialize(&out_results[i]);
  return status;
}
