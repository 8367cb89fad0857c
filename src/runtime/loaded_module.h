// loaded_module.h: a compiled module on a device: first bare, with its contract checked, then in a VM context. What programs and operations share; for the
// runtime's own sources.
//
// Until mlxcel_loaded_module_start nothing of the module has run: everything that can refuse it does so before. Loading is serialized inside.
#ifndef MLXCEL_RUNTIME_LOADED_MODULE_H_
#define MLXCEL_RUNTIME_LOADED_MODULE_H_

#include "runtime/device.h"

typedef struct mlxcel_loaded_module_t {
  mlxcel_device_t* device;
  const mlxcel_artifact_t* artifact;
  iree_vm_module_t *bytecode_module, *hal_module, *parameters_module;  // parameters_module: NULL without parameters
  iree_vm_context_t* context;                                          // NULL until started
  uint64_t copied_parameter_bytes;
} mlxcel_loaded_module_t;

// Compares the kind of |artifact| with |kind| and its contract with the one asked for, makes the bare module, and looks at every function that it exports: each
// must carry the contract's fingerprint and version. On error |out_module| is closed. FAILED_PRECONDITION: another kind or contract than asked for (with
// |options->expected_contract| the message names the first clause and field). DATA_LOSS: the module's inside doesn't fit its manifest.
iree_status_t mlxcel_loaded_module_open(mlxcel_device_t* device, const mlxcel_artifact_t* artifact, const char* kind, const mlxcel_program_options_t* options,
                                        mlxcel_loaded_module_t* out_module);

// An exported function of the bare module. NOT_FOUND names it.
iree_status_t mlxcel_loaded_module_find(const mlxcel_loaded_module_t* module, const char* name, iree_vm_function_t* out_function);

// Binds the parameters to |checkpoint| (NULL: INVALID_ARGUMENT if there are any) and creates the VM context: from here on the module's code runs.
iree_status_t mlxcel_loaded_module_start(mlxcel_loaded_module_t* module, const mlxcel_checkpoint_t* checkpoint);

// A zeroed one is fine.
void mlxcel_loaded_module_close(mlxcel_loaded_module_t* module);

#endif  // MLXCEL_RUNTIME_LOADED_MODULE_H_
