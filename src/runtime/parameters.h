// parameters.h: a checkpoint's tensors as IREE parameters: one host allocation a tensor, zero-copy where it is 64-byte aligned. For the runtime's own sources.
#ifndef MLXCEL_RUNTIME_PARAMETERS_H_
#define MLXCEL_RUNTIME_PARAMETERS_H_

#include "runtime/device.h"

// A VM module that serves every parameter of |interface| from |checkpoint| (dtype and size compared). |*out_copied_bytes|: tensors that IREE will copy because
// they are unaligned.
iree_status_t mlxcel_parameters_module_create(mlxcel_device_t* device, const mlxcel_program_interface_t* interface, const mlxcel_checkpoint_t* checkpoint,
                                              uint64_t* out_copied_bytes, iree_vm_module_t** out_module);

#endif  // MLXCEL_RUNTIME_PARAMETERS_H_
