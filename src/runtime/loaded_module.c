#include "runtime/loaded_module.h"

#include <pthread.h>
#include <string.h>

#include "contract/contract_parse.h"
#include "iree/modules/hal/module.h"
#include "iree/vm/bytecode/module.h"
#include "runtime/parameters.h"

// IREE's processor detection (iree_cpu_initialize) writes a global without a lock of its own while modules load.
static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;

// --- the manifest's contract -----------------------------------------------------------------------------------------------------------------

static iree_status_t check_kind(const mlxcel_artifact_t* artifact, const char* kind) {
  if (strcmp(artifact->interface.kind, kind) == 0) return iree_ok_status();
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, "field 'interface.kind' of the manifest is %s, asked for was %s; load a module of that kind",
                          artifact->interface.kind, kind);
}

static iree_status_t check_contract(const mlxcel_artifact_t* artifact, const mlxcel_program_options_t* options) {
  if (iree_string_view_equal(options->expected_fingerprint, iree_make_cstring_view(artifact->contract_fingerprint.text))) return iree_ok_status();
  iree_status_t status = iree_string_view_is_empty(options->expected_contract)
                             ? iree_ok_status()
                             : mlxcel_contract_compare(options->expected_contract, iree_make_cstring_view(artifact->contract_text), "the manifest's contract");
  static const char format[] = "contract_fingerprint of the manifest is %s, asked for was %.*s; remove the artifact from the cache";
  if (!iree_status_is_ok(status)) return iree_status_annotate_f(status, format, artifact->contract_fingerprint.text, MLXCEL_SV(options->expected_fingerprint));
  return iree_make_status(IREE_STATUS_FAILED_PRECONDITION, format, artifact->contract_fingerprint.text, MLXCEL_SV(options->expected_fingerprint));
}

// --- the bare module's contract --------------------------------------------------------------------------------------------------------------

// Functions that the compiler adds for the VM's own use: they carry no attributes.
static bool is_lifecycle_function(iree_string_view_t name) {
  return iree_string_view_equal(name, IREE_SV("__init")) || iree_string_view_equal(name, IREE_SV("__deinit")) ||
         iree_string_view_equal(name, IREE_SV("__notify"));
}

static iree_status_t check_attribute(const iree_vm_function_t* function, iree_string_view_t name, const char* attribute, const char* expected) {
  iree_string_view_t found = iree_vm_function_lookup_attr_by_name(function, iree_make_cstring_view(attribute));
  if (iree_string_view_equal(found, iree_make_cstring_view(expected))) return iree_ok_status();
  if (iree_string_view_is_empty(found)) {
    return iree_make_status(IREE_STATUS_DATA_LOSS, "function %.*s carries no %s; the module wasn't made by mlxcel: remove it from the cache", MLXCEL_SV(name),
                            attribute);
  }
  return iree_make_status(IREE_STATUS_DATA_LOSS, "function %.*s: %s inside the module is %.*s, expected %s; remove the artifact from the cache",
                          MLXCEL_SV(name), attribute, MLXCEL_SV(found), expected);
}

static iree_status_t check_export(const mlxcel_loaded_module_t* module, iree_host_size_t ordinal) {
  iree_vm_function_t function;
  IREE_RETURN_IF_ERROR(iree_vm_module_lookup_function_by_ordinal(module->bytecode_module, IREE_VM_FUNCTION_LINKAGE_EXPORT, ordinal, &function));
  iree_string_view_t name = iree_vm_function_name(&function);
  if (is_lifecycle_function(name)) return iree_ok_status();
  IREE_RETURN_IF_ERROR(check_attribute(&function, name, "mlxcel.contract", module->artifact->contract_fingerprint.text));
  return check_attribute(&function, name, "mlxcel.contract.version", MLXCEL_CONTRACT_VERSION_TEXT);
}

// All of them, also those that the interface doesn't name.
static iree_status_t check_exports(const mlxcel_loaded_module_t* module) {
  iree_vm_module_signature_t signature = iree_vm_module_signature(module->bytecode_module);
  for (iree_host_size_t i = 0; i < signature.export_function_count; ++i) {
    IREE_RETURN_IF_ERROR(check_export(module, i));
  }
  return iree_ok_status();
}

static iree_status_t create_bare_module(mlxcel_loaded_module_t* module) {
  mlxcel_device_t* device = module->device;
  iree_const_byte_span_t bytes = iree_make_const_byte_span(module->artifact->vmfb.data, module->artifact->vmfb.size);
  pthread_mutex_lock(&load_mutex);
  iree_status_t status = iree_vm_bytecode_module_create(device->instance, IREE_VM_BYTECODE_MODULE_FLAG_NONE, bytes, iree_allocator_null(), device->allocator,
                                                        &module->bytecode_module);
  pthread_mutex_unlock(&load_mutex);
  return status;
}

iree_status_t mlxcel_loaded_module_open(mlxcel_device_t* device, const mlxcel_artifact_t* artifact, const char* kind, const mlxcel_program_options_t* options,
                                        mlxcel_loaded_module_t* out_module) {
  memset(out_module, 0, sizeof(*out_module));
  IREE_RETURN_IF_ERROR(check_kind(artifact, kind));
  IREE_RETURN_IF_ERROR(check_contract(artifact, options));
  out_module->device = device;
  out_module->artifact = artifact;
  iree_status_t status = create_bare_module(out_module);
  if (iree_status_is_ok(status)) status = check_exports(out_module);
  if (!iree_status_is_ok(status)) mlxcel_loaded_module_close(out_module);
  return status;
}

iree_status_t mlxcel_loaded_module_find(const mlxcel_loaded_module_t* module, const char* name, iree_vm_function_t* out_function) {
  iree_status_t status =
      iree_vm_module_lookup_function_by_name(module->bytecode_module, IREE_VM_FUNCTION_LINKAGE_EXPORT, iree_make_cstring_view(name), out_function);
  if (iree_status_is_ok(status)) return status;
  return iree_status_annotate_f(status, "the module lacks function %s that its manifest names; remove the artifact from the cache", name);
}

// --- the context -----------------------------------------------------------------------------------------------------------------------------

static iree_status_t create_parameters(mlxcel_loaded_module_t* module, const mlxcel_checkpoint_t* checkpoint) {
  const mlxcel_program_interface_t* interface = &module->artifact->interface;
  if (interface->parameter_count == 0) return iree_ok_status();
  if (!checkpoint) {
    return iree_make_status(IREE_STATUS_INVALID_ARGUMENT, "the module has %zu parameters and no checkpoint was given; give the one it was made for",
                            interface->parameter_count);
  }
  return mlxcel_parameters_module_create(module->device, interface, checkpoint, &module->copied_parameter_bytes, &module->parameters_module);
}

static iree_status_t create_context(mlxcel_loaded_module_t* module) {
  mlxcel_device_t* device = module->device;
  iree_vm_module_t* modules[3];
  iree_host_size_t count = 0;
  modules[count++] = module->hal_module;
  if (module->parameters_module) modules[count++] = module->parameters_module;
  modules[count++] = module->bytecode_module;
  device->imports.missing[0] = 0;
  iree_status_t status = iree_vm_context_create_with_modules(device->instance, IREE_VM_CONTEXT_FLAG_NONE, count, modules, device->allocator, &module->context);
  if (iree_status_is_ok(status) || !device->imports.missing[0]) return status;
  iree_status_ignore(status);  // it blames the executable's format
  return iree_make_status(IREE_STATUS_UNIMPLEMENTED,
                          "the module calls host functions that this build doesn't have: %s; remove the artifact from the cache, it is compiled again",
                          device->imports.missing);
}

static iree_status_t start_locked(mlxcel_loaded_module_t* module, const mlxcel_checkpoint_t* checkpoint) {
  mlxcel_device_t* device = module->device;
  IREE_RETURN_IF_ERROR(create_parameters(module, checkpoint));
  IREE_RETURN_IF_ERROR(iree_hal_module_create(device->instance, iree_hal_module_device_policy_default(), device->group, IREE_HAL_MODULE_FLAG_NONE,
                                              iree_hal_module_debug_sink_null(), device->allocator, &module->hal_module));
  return create_context(module);
}

iree_status_t mlxcel_loaded_module_start(mlxcel_loaded_module_t* module, const mlxcel_checkpoint_t* checkpoint) {
  pthread_mutex_lock(&load_mutex);
  iree_status_t status = start_locked(module, checkpoint);
  pthread_mutex_unlock(&load_mutex);
  return status;
}

void mlxcel_loaded_module_close(mlxcel_loaded_module_t* module) {
  iree_vm_context_release(module->context);
  iree_vm_module_release(module->bytecode_module);
  iree_vm_module_release(module->parameters_module);
  iree_vm_module_release(module->hal_module);
  memset(module, 0, sizeof(*module));
}
