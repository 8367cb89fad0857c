// api_capability.h: the gate between a compiled module and everything that runs it.
#ifndef MLXCEL_API_API_CAPABILITY_H_
#define MLXCEL_API_API_CAPABILITY_H_

#include "api/api_build.h"

// Whether the module that |build| has obtained may run on the device of |settings|: its contract's clauses have valid evidence here (qualify/capability.h).
// FAILED_PRECONDITION: closed. Called after mlxcel_api_build_compile and before anything of the module is loaded; there is no way round it.
iree_status_t mlxcel_api_capability_check(const mlxcel_api_settings_t* settings, mlxcel_api_build_t* build);

#endif  // MLXCEL_API_API_CAPABILITY_H_
